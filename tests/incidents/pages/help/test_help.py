"""The glossary's pages, and words that explain themselves on other pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.template import Context, Template
from django.test import Client
from django.urls import reverse

from parsers.reference import glossary
from rules.model import LABELS
from tests.incidents.conftest import make_user
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import Judged, client_of

ROOT = Path(__file__).resolve().parents[4]
KEYS = re.compile(r"\{% term \"([^\"|]+)\"")


@pytest.fixture
def reader(db) -> Client:
    client = Client()
    client.force_login(make_user())
    return client


def text_of(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    return answer.content.decode()


def rendered(source: str, **values: object) -> str:
    return Template("{% load terms exhibit %}" + source).render(Context(values))


def test_the_list_is_searched_and_paged(reader):
    page = text_of(reader, "/help/")
    assert "page 1 of" in page
    assert "page 2 of" in text_of(reader, "/help/?page=2")
    found = text_of(reader, "/help/?q=segment&what=call")
    assert "/help/call.shmat/" in found
    assert "/help/error." not in found
    assert "No word matches" in text_of(reader, "/help/?q=nonsenseword")


def test_a_term_says_what_it_is_its_unit_and_its_source(reader):
    page = text_of(reader, "/help/vmstat.r/")
    assert "column of vmstat" in page
    assert "unit: threads" in page
    assert "vmstat(1M) Solaris" in page
    assert "/help/vmstat.b/" in page  # its neighbours
    assert "/rules/CPU-" in page  # rules that read the table


def test_names_with_blanks_slashes_and_stars_have_pages(reader):
    for key in (
        "wait.SQL*Net message from client",
        "wait.Disk file operations I/O",
        "~iostat.r/s",
        "error.Linux Error: 110",
    ):
        entry = glossary.entry(key)
        assert entry is not None
        assert entry.text.split(".")[0].split("<")[0][:20] in text_of(
            reader, rendered(f'{{% url "help-term" "{key}" %}}')
        )


def test_a_bare_name_leads_to_its_page_or_to_all_that_it_means(reader):
    assert "error code" in text_of(reader, "/help/EAGAIN/")
    answer = reader.get("/help/exit/")
    assert (answer.status_code, answer["Location"]) == (302, "/help/?q=exit")
    assert "no entry for" in text_of(reader, "/help/nonsenseword/", 404)


def test_a_term_is_a_link_with_its_explanation():
    made = rendered('{% term "vmstat.r" %}')
    assert made.startswith('<a class="term" href="/help/vmstat.r/" data-help="Threads that run')
    assert 'data-kind="column of vmstat, threads"' in made
    assert made.endswith(">r</a>")
    assert rendered('{% term "word.support" "good support" %}').endswith(">good support</a>")
    assert rendered('{% column "changes" "p" %}').endswith(">p</a>")
    assert "column of vmstat" in rendered("{% column tables name %}", tables=("hosts", "vmstat_i"), name="r")


def test_an_unknown_term_stays_a_word():
    assert rendered('{% term "no.such" label %}', label="<b>") == "&lt;b&gt;"
    assert rendered('{% column "vmstat" "no_such" %}') == "no_such"
    assert rendered("{% column tables name %}", tables=(), name="<i>\u202e") == "&lt;i&gt;⟨U+202E⟩"


def test_texts_are_marked_once_and_escaped():
    made = rendered(
        "{{ text|explained }}", text="shmat <3> and shmat; EAGAIN, ORA-03136, vmstat.r, LSN-012, kernel.shmmax"
    )
    assert made.count("data-help") == 5
    assert "&lt;3&gt;" in made
    assert '<a class="rule" href="/rules/LSN-012/">LSN-012</a>' in made
    assert "/help/error.ORA-3136/" in made


def test_ordinary_words_are_no_system_calls():
    assert "data-help" not in rendered(
        "{{ text|explained }}", text="They read, write and open files; we accept and wait. No exit."
    )
    assert "data-help" in rendered("{{ text|explained }}", text="It waits in read(3) for long.")


def test_what_an_uploader_wrote_cannot_break_out():
    made = rendered("{{ text|seen|explained }}", text='EAGAIN"><script>alert(1)</script> \u202e')
    assert "<script>" not in made
    assert "⟨U+202E⟩" in made


def test_every_term_that_a_template_names_exists():
    named = {
        key for file in (ROOT / "templates").rglob("*.html") for key in KEYS.findall(file.read_text(encoding="utf-8"))
    }
    assert {"word.support", "word.decibans"} <= named
    assert [key for key in sorted(named) if not key.endswith(".") and glossary.entry(key) is None] == []


def test_the_drawer_explains_the_words_of_a_finding(judged: Judged):
    page = text_of(client_of(judged.viewer), f"/rooms/{judged.slug}/findings/{reports.CAUSE_KEY}/")
    expert = page[page.index('class="expert"') :]
    assert "/help/call.shmat/" in expert[: expert.index("</p>")] or "data-help" in expert
    assert "/help/word.decibans/" in page
    assert f"/rooms/{judged.slug}/findings/{reports.CAUSE_KEY}/explain/" in page


def test_words_on_lines_are_explained(read: Judged):
    trace = read.lead.incident.artifacts.get(name__contains="truss")
    data = client_of(read.viewer).get(f"/rooms/{read.slug}/evidence/{trace.number}/lines").json()
    assert data["words"].keys() >= {"shmat", "IPC_ALLOC"}, (data["parts"], data["lines"][:3], data["words"].keys())
    address, text, kind, source = data["words"]["shmat"]
    assert (address, kind) == ("/help/call.shmat/", "system call")
    assert text.startswith("Attaches a shared memory segment")
    assert source


def test_signatures_are_listed_searched_and_kept_to_one_kind(reader):
    assert "Functions and wait channels of kernels" in text_of(reader, reverse("signatures"))
    found = reader.get(reverse("signatures"), {"q": "jbd2_log_wait_commit", "of": "stack"}).content.decode()
    assert "journal-wait: " in found
    assert "Source: " in found
    nothing = reader.get(reverse("signatures"), {"q": "no such thing at all"}).content.decode()
    assert "No signature matches" in nothing


def test_help_begins_with_how_to_read_a_room_and_how_sure_it_is(reader):
    text = " ".join(reader.get(reverse("help")).content.decode().split())
    assert text.index("How to read a room") < text.index("How sure is it") < text.index('id="words"')
    guide = text.split("How sure is it")[1].split('id="words"')[0]
    assert [label for label in LABELS.values() if label not in guide] == []
    found = " ".join(reader.get(reverse("help"), {"q": "shmat"}).content.decode().split())
    assert "How sure is it" not in found, "who searches wants words"


def test_words_of_letters_come_before_patterns():
    names = [entry.name for entry in glossary.search("")]
    assert names[0][0].isalpha()
    assert not names[-1][0].isalpha()
