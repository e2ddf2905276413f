"""Tests of exported summaries (PDF, HTML, Markdown): they contain all citations, load nothing, and escape all texts."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

import pypdfium2
import pytest
from django.urls import reverse
from markdown_it import MarkdownIt

from incidents.access import Room
from incidents.actions import case, plan
from incidents.actions import summary as actions
from incidents.content import pdf, pdf_child
from incidents.content.summary import gathering as summary
from incidents.errors import Refused
from incidents.models.room.incident import Incident
from incidents.models.words.summary import Way
from tests.incidents.conftest import make_artifact, make_room
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import Judged, add_report, client_of, judged  # noqa: F401
from tests.incidents.summaries import CASES, ROOT, report_of

HEBREW, ARABIC = "שלום", "مرحبا"
HOSTILE = (
    f'\u202eexe.txt\u202c <img src=x onerror="alert(1)"> </style><script>alert(1)</script> {HEBREW} {ARABIC} \x1b[31m'
)


def folded(text: str) -> str:
    """Remove all white space, since files break lines in different places."""
    return re.sub(r"\s+", "", text.replace("\ufffe", "-"))


def room_of(name: str) -> Room:
    room = make_room(title=f"Incident {name}")
    add_report(room, report_of(name))
    return room


def export(room: Room, form: str, number: int = 0) -> bytes:
    answer = client_of(room).get(reverse("summary-export", args=[room.incident.slug, number, form]))
    assert answer.status_code == 200, answer.content
    assert answer["Content-Disposition"].startswith("attachment;")
    assert answer["X-Content-Type-Options"] == "nosniff"
    body: bytes = answer.content
    return body


def cited(room: Room) -> list[str]:
    """Return everything that the live content cites: places and lines."""
    content = summary.gather(Incident.objects.get(pk=room.incident.pk)).content
    told = []
    for source in content["sources"]:
        told.append(source["label"])
        for one in source["citations"]:
            told.append(one["file"])
            told += [text for _, text in one["lines"]]
    return told


@contextmanager
def opened(content: bytes) -> Iterator[list[str]]:
    document = pypdfium2.PdfDocument(content)
    try:
        yield [document[i].get_textpage().get_text_range() for i in range(len(document))]
    finally:
        document.close()


class Words(HTMLParser):
    """Collects the text of a page, and every address that it would load or link to."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.tags: set[str] = set()
        self.skip = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.skip += tag in ("style", "title")
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster", "background") or (tag == "link" and name == "href"):
                self.loads.append(value)
            elif name == "href":
                self.leads.append(value)
            assert not name.startswith("on"), name

    def handle_endtag(self, tag: str) -> None:
        self.skip -= tag in ("style", "title")

    def handle_data(self, data: str) -> None:
        if not self.skip:
            self.text.append(data)


def read(page: str) -> Words:
    words = Words()
    words.feed(page)
    return words


@pytest.mark.django_db
@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", CASES)
def test_the_published_incidents_hold_every_citation(name):
    room = room_of(name)
    wanted = cited(room)
    assert wanted
    page = export(room, "html").decode()
    words = read(page)
    text = folded("".join(words.text))
    assert [one for one in wanted if folded(one) not in text] == []
    assert words.loads == []
    assert "script" not in words.tags
    assert "@import" not in page
    assert "url(" not in page
    base = f"http://testserver/rooms/{room.incident.slug}/evidence/"
    assert [one for one in words.leads if not one.startswith(("#source-", base))] == []
    anchors = set(re.findall(r'id="(source-\d+)"', page))
    assert {one[1:] for one in words.leads if one.startswith("#")} <= anchors

    with opened(export(room, "pdf")) as pages:
        assert pages[1].startswith("Evidence cited"), "the summary itself is one page"
        in_pdf = folded("".join(pages))
        assert [one for one in wanted if folded(one) not in in_pdf] == []
        # The page says the same in both: compared sentence by sentence.
        content = summary.gather(room.incident).content
        for section in [*content["cells"], *content["sections"]]:
            for said in section["sentences"]:
                assert folded(said["text"]) in folded(pages[0]), said["text"]

    markdown = export(room, "md").decode()
    # Rendered as GitHub and most trackers do; what remains is the text.
    rendered = folded(html.unescape(re.sub(r"<[^>]+>", "", MarkdownIt("commonmark").enable("table").render(markdown))))
    assert [one for one in wanted if folded(one) not in rendered] == []


@pytest.fixture
def hostile(judged: Judged) -> Judged:  # noqa: F811
    """Return the judged room with names and texts that look like markup."""
    room = judged.lead
    Incident.objects.filter(pk=room.incident.pk).update(title=HOSTILE[:190])
    report = reports.report()
    report["findings"][0] |= {
        "manager": f"# {HOSTILE} [click](javascript:alert(1)) `x` **b** | c",
        "headline": f"``` {HOSTILE}",
    }
    report["findings"][0]["citations"][0]["text"] = f"```\n{HOSTILE}\n</code>{'W' * 3000}"
    report["findings"][0]["citations"][0] |= {"line_from": 7, "line_to": 9}
    add_report(room, report)
    make_artifact(room, b"x", f"{HOSTILE}.txt")
    case.put_statement(room, {"name": "impact", "text": HOSTILE, "author_label": HOSTILE[:60]})
    plan.put_action(room, {"text": f"- {HOSTILE} {'long' * 900}"})
    actions.put_text(room, "open", f"{HOSTILE}\n\n# heading\n> quote", Way.BESIDE, 0)
    return judged


def test_hostile_words_stay_words(hostile):
    room = hostile.lead
    page = export(room, "html").decode()
    words = read(page)
    assert words.tags & {"script", "img", "iframe", "form", "object"} == set()
    text = "".join(words.text)
    assert "⟨U+202E⟩" in text
    assert not set("\u202e\u202c\x1b") & set(text)
    assert HEBREW in text
    assert ARABIC in text
    markdown = export(room, "md").decode()
    assert not set("\u202e\u202c\x1b") & set(markdown)
    rendered = MarkdownIt("commonmark").enable("table").render(markdown)
    hrefs = re.findall(r'href="([^"]*)"', rendered)
    assert [one for one in hrefs if not one.startswith("http://testserver/")] == []
    assert "<h1>heading" not in rendered
    assert rendered.count("<h1>") == 1
    assert not re.search(r"<(script|img)", rendered)


def test_hostile_words_stay_words_on_paper(hostile):
    with opened(export(hostile.lead, "pdf")) as pages:
        text = "".join(pages)
        assert "⟨U+202E⟩" in text
        assert not set("\u202e\x1b") & set(text)
        assert set(HEBREW) <= set(text)
        # A word of 3,000 letters is broken, not cut off.
        assert text.count("W") >= 3000


def test_a_frozen_version_is_exported_as_it_was(judged):  # noqa: F811
    row = actions.freeze(judged.lead, "")
    actions.put_text(judged.lead, "cause", "Something newer.", Way.INSTEAD, 0)
    page = export(judged.lead, "html", 1).decode()
    assert "Something newer." not in page
    assert row.content_hash in page
    assert row.content_hash in export(judged.lead, "md", 1).decode()
    assert "Something newer." in export(judged.lead, "html").decode()
    assert client_of(judged.lead).get(reverse("summary-export", args=[judged.slug, 9, "pdf"])).status_code == 404


def test_the_lead_s_words_and_exhibit_s_are_both_in_the_files(judged):  # noqa: F811
    actions.put_text(judged.lead, "cause", "It takes 2.1 s.", Way.INSTEAD, 0)
    texts = [export(judged.lead, "md").decode(), "".join(read(export(judged.lead, "html").decode()).text)]
    with opened(export(judged.lead, "pdf")) as pages:
        texts.append("".join(pages))
    for text in texts:
        plain = folded(text.replace("\\", ""))
        assert folded("It takes 2.1 s.") in plain
        assert folded("The text says 2.1 s; the evidence 2.473 s.") in plain
        assert folded("Exhibit’s own words") in plain


@pytest.mark.parametrize(
    "page",
    [
        "<img src='http://127.0.0.1:9/x.png'>",
        "<link rel=stylesheet href='file:///etc/passwd'>",
        "<img src='data:image/svg+xml,<svg/>'>",
        "<object data='file:///etc/passwd'></object>",
    ],
)
def test_the_pdf_loads_nothing(page):
    with pytest.raises(Refused) as refused:
        pdf.pdf_of(f"<!doctype html>{page}")
    assert refused.value.status == 503


def test_what_takes_too_long_takes_nobody_with_it(monkeypatch):
    monkeypatch.setattr(pdf, "WALL_S", 1)
    with pytest.raises(Refused, match="could not be turned into a PDF"):
        pdf.pdf_of("<div>" * 20_000)
    monkeypatch.undo()
    assert pdf.pdf_of("<p>Still here.</p>").startswith(b"%PDF")


def test_the_child_has_limits():
    """Check that the child's memory is limited to one and a half gigabytes."""
    program = (
        "import resource, sys; from incidents.content import pdf_child; sys.stdin.close();"
        "\ntry: pdf_child.main()\nexcept ValueError: pass\n"
        "print(resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CPU)[0])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(pdf_child.MEMORY), str(pdf_child.SECONDS)]


def test_without_pango_it_says_what_to_install(judged, tmp_path, monkeypatch):  # noqa: F811
    folder = tmp_path / "weasyprint"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise OSError('cannot load library libpango-1.0-0')")
    real = subprocess.run

    def without(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        options["env"] = {**options["env"], "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
        return real(command, **options)

    monkeypatch.setattr(subprocess, "run", without)
    answer = client_of(judged.viewer).get(reverse("summary-export", args=[judged.slug, 0, "pdf"]))
    assert answer.status_code == 503
    body = answer.content.decode()
    assert "libpango-1.0-0" in body
    assert "libpangoft2-1.0-0" in body


def test_too_many_at_once_are_told_to_wait(monkeypatch):
    monkeypatch.setattr(pdf, "WAIT_S", 0.01)
    with pdf._turns, pdf._turns, pytest.raises(Refused, match="in a minute"):
        pdf.pdf_of("<p>x</p>")


def test_a_stranger_takes_nothing_along(judged):  # noqa: F811
    stranger = client_of(make_room(title="Elsewhere"))
    for form in ("pdf", "html", "md"):
        assert stranger.get(reverse("summary-export", args=[judged.slug, 0, form])).status_code == 404
