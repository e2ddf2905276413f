"""Markdown of notes: hostile texts stay texts, references are found, nothing costs more than a moment."""

from __future__ import annotations

import re
import time

import nh3
import pytest

from incidents.content.markup import Ref, Target, mentions, parse

TAG = re.compile(r"<\s*/?\s*([a-zA-Z][\w-]*)([^>]*)>")

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](vbscript:msgbox)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example/a)",
    "<javascript:alert(1)>",
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    '[x](https://e.example "onmouseover=alert(1)")',
    "[x]: javascript:alert(1)\n\n[x]",
    "`<script>`",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "| a |\n|---|\n| <b onclick=x>y</b> |",
    "<style>*{display:none}</style>",
    "<iframe srcdoc='<script>'></iframe>",
    "<!-- --><script>x</script>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "a\x00b\x1b[31mred\u202egnp.exe\u200b",
    "#finding-0123456789abcdef\"><script>",
    "#lane(x\"><img src=x onerror=alert(1)>)",
    "@<b>x</b>",
]  # fmt: skip
ALLOWED = set("p br strong em s code pre blockquote ul ol li a span h4 h5 h6 table thead tbody tr th td".split())


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_become_no_markup(text):
    html = parse(text).html({ref: Target('t"><script>', "/x?a=1&b=2", '"onclick="') for ref in parse(text).refs})
    for name, attributes in TAG.findall(html):
        assert name.lower() in ALLOWED
        assert not re.search(r"\bon\w+\s*=|style\s*=|srcdoc|src\s*=", re.sub(r'"[^"]*"', '""', attributes)), html
        for address in re.findall(r'href="([^"]*)"', attributes):
            assert re.match(r"https?://|mailto:|/x\?a=1&amp;b=2$", address), html
    assert "\x1b" not in html
    assert "\u202e" not in html
    # nh3 removes nothing, because the parser let nothing harmful through.
    assert "<script" not in html.lower()
    assert nh3.is_html(html) or "<" not in html


def test_words_survive_whatever_the_nesting():
    for text in (
        ">" * 3000 + " here",
        "\n".join(" " * n * 2 + "- deep" for n in range(60)) + "\nhere",
        "* " * 50 + "here",
    ):
        assert "here" in parse(text).html({})


def test_pasted_evidence_does_not_vanish():
    html = parse("[client]: waits 2 s\nname  value\n-----  -----\nx  1").html({})
    for word in ("client", "waits 2 s", "name", "-----"):
        assert word in html
    assert "<h" not in html


def test_markdown_of_every_day():
    html = parse("**bold** `code` ~~no~~\n- one\n- two\n\n|a|b|\n|-|-|\n|1|2|\n\nhttps://e.example/a_b").html({})
    for made in ("<strong>bold</strong>", "<code>code</code>", "<s>no</s>", "<li>one</li>", "<td>1</td>"):
        assert made in html
    assert 'href="https://e.example/a_b"' in html
    assert 'rel="noopener noreferrer nofollow"' in html
    assert "<h4>" in parse("# Title").html({})


def test_references_of_every_kind_are_found():
    text = (
        "#finding-0123456789abcdef #artifact-3 #artifact-3:91-107 #artifact-3:L9 #note-12 "
        "#time(1.1:1 9.5..11.25) #lane(db1 3731|server 3731) @Nils."
    )
    assert parse(text).refs == [
        Ref("finding", "0123456789abcdef"),
        Ref("artifact", "3"),
        Ref("lines", "3", 91, 107),
        Ref("lines", "3", 9, 9),
        Ref("note", "12"),
        Ref("time", "1.1:1", 9.5, 11.25),
        Ref("lane", "db1 3731", label="server 3731"),
        Ref("person", "nils"),
    ]


@pytest.mark.parametrize(
    "text",
    ["me@example.com", "`@nils`", "a#note-12", "https://e.example/#note-12", "```\n@nils\n```", "#note-x", "@ nils"],
)
def test_what_is_no_reference(text):
    assert parse(text).refs == []


def test_what_points_nowhere_stays_readable():
    html = parse("See #note-99.").html({})
    assert "#note-99" in html
    assert "not in this room" in html


def test_mentions():
    assert mentions("@nils and @Ada, (@vera)") == {"nils", "ada", "vera"}


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 10_000, "*a " * 3300, ">" * 10_000, "`a" * 5000, "[a](b" * 2000, "#lane(" * 1600, "@a" * 5000),
        *("_a_" * 3300, "|a" * 4000 + "\n" + "|-" * 1000, "**" * 5000, "![[" * 3300, "<" * 10_000, "a:b" * 3333),
        "http://a " * 1100,
    ],
)
def test_texts_made_to_be_slow_are_not(text):
    begun = time.process_time()
    parsed = parse(text)
    parsed.html(dict.fromkeys(parsed.refs, Target("x")))
    assert time.process_time() - begun < 1.5
