"""Test that web pages become lines: what a reader sees, never what a browser would run."""

from __future__ import annotations

import io
import time

import pytest

from parsers.errors import NotText
from parsers.reading import read
from parsers.text import html
from parsers.text.source import Hints

PAGE = """<!DOCTYPE html>
<html><head><title>ignored</title>
<script>var a = "<pre>no</pre>";</script><style>p { color: red }</style></head>
<body><p>First
paragraph &amp; more.</p>
<pre class="x">
 r b   w   swap
 0 0   0 &lt;1000
</pre><p>Bye.</p></body></html>
"""


def page(text: str | bytes) -> tuple[list[str], str]:
    """Return the lines of a page and the note on their numbers."""
    lines = html.transcribe(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
    found = []
    while True:
        try:
            found.append(next(lines))
        except StopIteration as end:
            return found, end.value


def test_preformatted_lines_keep_their_numbers_in_the_source():
    lines, note = page(PAGE)
    assert note == html.SAME
    assert lines[6:8] == [" r b   w   swap", " 0 0   0 <1000"] == [" r b   w   swap", " 0 0   0 <1000"]
    assert PAGE.split("\n")[6] == lines[6]
    assert [x for x in lines if x] == ["First paragraph & more.", *lines[6:8], "Bye."]


def test_windows_line_ends_change_nothing():
    assert page(PAGE.replace("\n", "\r\n")) == page(PAGE)


def test_several_listings_keep_their_numbers_around_tags_of_several_lines():
    text = "<div\nclass=a>x</div>\n<pre\nid=1>one\ntwo</pre>\n<p>p\n</p>\n<pre><b\n>three</b>\nfour</pre>"
    lines, note = page(text)
    assert note == html.SAME
    assert [(n, x) for n, x in enumerate(lines, 1) if x] == [
        (2, "x"),
        (4, "one"),
        (5, "two"),
        (7, "p"),
        (8, "three"),
        (10, "four"),
    ]


def test_breaks_in_a_listing_number_their_own_lines():
    lines, note = page("<p>a</p><pre>one<br>two<br/>three</pre>")
    assert note == html.OWN
    assert lines == ["a", "", "one", "two", "three"]


def test_prose_in_front_on_the_same_line_moves_the_numbers():
    assert page("<p>one</p><p>two</p><pre>three\nfour</pre>")[1] == html.OWN


def test_paragraphs_that_lack_room_share_a_line():
    lines, note = page("<div>\n<p>one</p><p>two</p><p>three</p>\n<pre>a\nb</pre></div>")
    assert note == html.SAME
    assert lines[:4] == ["one", "two three", "a", "b"]


def test_a_table_of_values_stands_in_columns():
    lines, note = page("<table><tr><th>r<th>b<th>swap<tr><td>0<td>1<td>233<tr><td>10<td><td>2</table>")
    assert note == html.OWN
    assert [x for x in lines if x] == ["r   b  swap", " 0  1   233", "10        2"]


def test_a_spanning_cell_widens_no_column():
    lines, _ = page("<table><tr><td colspan=2>kthr and more<td>cpu<tr><td>1<td>2<td>3</table>")
    assert [x.split() for x in lines if x] == [["kthr", "and", "more", "cpu"], ["1", "2", "3"]]


def test_a_table_that_only_lays_out_is_none():
    lines, _ = page("<table><tr><td><pre>1\n2</pre></td><td><pre>vmstat 5\n r b w</pre></td></tr></table>")
    assert [x for x in lines if x] == ["vmstat 5", " r b w"]


def test_breaks_and_no_break_blanks():
    assert page("a&nbsp;&nbsp;b  c<br>&#160; d &lt;e&gt;<br><br>f")[0] == ["a  b c", "  d <e>", "", "f"]


@pytest.mark.parametrize("tag", ["div", "b", "table", "pre", "span"])
def test_a_page_that_nests_deeper_than_browsers_go_is_read_as_it_is(tag):
    lines, note = page(f"<html>\n{f'<{tag}>' * 1100}\nr b w swap free\n")
    assert lines[2] == "r b w swap free"
    assert note == html.AS_IT_IS


@pytest.mark.parametrize("tag", ["div", "b", "span", "table><tr><td", "ul><li"])
def test_deep_nesting_neither_crashes_nor_takes_long(tag):
    began = time.perf_counter()
    lines, _ = page(f"<{tag}>" * 20_000 + "end")
    assert "end" in lines[-1]
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize(
    "encoded",
    [
        "<p>größe</p>".encode(),
        "<meta charset=iso-8859-1><p>größe</p>".encode("latin-1"),
        "<p>größe</p>".encode("cp1252"),
        "\ufeff<p>größe</p>".encode("utf-16-le"),
        "\ufeff<p>größe</p>".encode(),
    ],
)
def test_encodings(encoded):
    assert html.fits(encoded, len(encoded))
    assert page(encoded)[0][0] == "größe"


@pytest.mark.parametrize(
    "text",
    [
        "< 0 |       0",
        "<msg time='2015-06-10T09:00:00.000+02:00' org_id='oracle'>",
        "<?xml version='1.0'?><log/>",
        "<prefix>",
        "plain <pre> text",
        "",
    ],
)
def test_what_is_no_page(text):
    assert not html.fits(text.encode(), len(text))


def test_a_page_too_large_for_memory_is_left_as_text():
    assert not html.fits(PAGE.encode(), html.PAGE_BYTES + 1)


@pytest.mark.parametrize("text", ["<html><head><title>x</title></head><body><img src=a></body></html>", "<p> </p>"])
def test_a_page_without_text_says_so(text, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NotText, match="the page holds no text"):
        read(path, Hints(), tmp_path / "r")
