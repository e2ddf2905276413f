"""A text of no known kind in the room: shown, masked, searched, cited, annotated, asked, and its table opened."""

from __future__ import annotations

import html
import re

import pytest
from django.urls import reverse

from incidents.access import Room
from incidents.models.evidence.artifact import Artifact
from incidents.models.judging.finding import Evaluation
from incidents.models.words.note import Note
from tests.incidents.asking import patient, shared_child  # noqa: F401
from tests.incidents.conftest import make_artifact, make_room, run_jobs
from tests.incidents.pages.conftest import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("patient")]

TEXT = (
    b"sessions_count   97\nsessions_max   100\npassword=tiger99\n\n"
    b"NAME    CPU(cores)   MEMORY(bytes)\napi-1   998m         1890Mi\n<b>x</b>  12m          210Mi\n"
)


@pytest.fixture
def room() -> Room:
    room = make_room()
    make_artifact(room, TEXT, "top.txt")
    run_jobs()
    return room


def words(answer) -> str:
    assert answer.status_code == 200
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode())))


def test_it_is_read_and_says_that_nobody_knows_it(room):
    artifact = Artifact.objects.get()
    assert (artifact.state, artifact.reading.kind) == ("read", "text")
    page = client_of(room).get(reverse("lines", args=[room.incident.slug, 1]))
    assert "read as plain text. Say its kind" in words(page)
    assert "Say what it is" in words(page)


def test_its_table_opens_as_a_table_with_its_lines(room):
    page = client_of(room).get(reverse("lines", args=[room.incident.slug, 1])).content.decode()
    assert re.findall(r"<th>(.*?)</th>", page) == ["line", "NAME", "CPU(cores)", "MEMORY(bytes)"]
    assert re.findall(r"<td>(.*?)</td>", page)[:4] == ['<a href="?at=6#L6">6</a>', "api-1", "998m", "1890Mi"]
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x</b>" not in page


def test_its_secrets_are_masked_everywhere(room):
    client = client_of(room)
    for page in (
        client.get(reverse("lines", args=[room.incident.slug, 1])),
        client.get(reverse("lines-data", args=[room.incident.slug, 1])),
        client.post(reverse("ask", args=[room.incident.slug]), {"sql": "select * from params"}),
    ):
        assert page.status_code == 200
        assert b"tiger99" not in page.content


def test_it_is_searched(room):
    found = client_of(room).get(reverse("search"), {"q": "api-1", "kind": "line", "room": room.incident.slug})
    assert "api-1 998m" in words(found)


def test_a_note_stands_on_its_lines(room):
    answer = client_of(room).post(
        reverse("notes", args=[room.incident.slug]),
        {"text": "Full.", "artifact": "1", "line_from": "1", "line_to": "2"},
    )
    assert answer.status_code in (200, 302)
    note = Note.objects.get()
    assert (note.line_from, note.line_to) == (1, 2)


def test_what_stands_out_in_it_is_cited_and_no_rule_speaks(room):
    report = Evaluation.objects.latest("pk").report
    (seen,) = [one for one in report["observations"] if one["observer"] == "near-limit"]
    assert sorted((c["artifact"], c["line_from"]) for c in seen["citations"]) == [(1, 1), (1, 2)]
    assert report["findings"] == []


def test_it_answers_questions(room):
    answer = client_of(room).post(
        reverse("ask", args=[room.incident.slug]), {"sql": "select name, value from counters"}
    )
    assert "sessions_count" in words(answer)
