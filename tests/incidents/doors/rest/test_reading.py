"""Read operations: pages of everything that a room holds, each list in few queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from incidents.access import Room
from incidents.actions import notes, plan, purge, requests
from incidents.storage import pulse
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.doors.rest.programs import at, program
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import Judged, add_report, judged  # noqa: F401  # a fixture
from tests.incidents.pages.room import test_lead

pytestmark = pytest.mark.django_db


@pytest.fixture
def client_of_viewer(judged: Judged) -> Client:  # noqa: F811
    return program(judged.viewer.user)


def items(client: Client, address: str, **asked: Any) -> list[dict]:
    answer = client.get(address, asked)
    assert answer.status_code == 200, answer.content
    return answer.json()["items"]


def test_a_room_says_what_is_slow_and_what_the_caller_may(judged: Judged, client_of_viewer: Client):  # noqa: F811
    shown = client_of_viewer.get(at(judged.viewer)).json()
    assert (shown["symptom"]["text"], shown["role"]) == ("connect time", "viewer")
    assert shown["may"] == ["ask the evidence tables", "read"]
    assert shown["verdict"]["state"] == reports.report()["verdict"]["state"]
    investigator = program(judged.investigator.user, "read").get(at(judged.viewer)).json()
    assert investigator["may"] == ["read"]


def test_artifacts_have_their_states_and_lines(judged: Judged, client_of_viewer: Client):  # noqa: F811
    listed = items(client_of_viewer, at(judged.lead, "/artifacts"))
    assert [one["number"] for one in listed] == [1, 2, 3, 4]
    assert {one["state"] for one in listed} == {"queued"}
    assert client_of_viewer.get(at(judged.lead, "/artifacts/1/lines")).status_code == 409
    run_jobs("small")
    first = client_of_viewer.get(at(judged.lead, "/artifacts/1")).json()
    text = next(iter(reports.FILES.values()))
    assert (first["state"], first["lines"]) == ("read", len(text))
    lines = client_of_viewer.get(at(judged.lead, "/artifacts/1/lines"), {"first": 2, "most": 2}).json()
    assert (lines["count"], [one["line"] for one in lines["lines"]]) == (len(text), [2, 3])
    assert lines["lines"][0]["text"].split() == text[1].split()


def test_a_purged_artifact_is_a_tombstone(judged: Judged, client_of_viewer: Client):  # noqa: F811
    purge.purge(judged.lead, 1, "by mistake")
    assert client_of_viewer.get(at(judged.lead, "/artifacts/1")).json()["state"] == "purged"
    assert client_of_viewer.get(at(judged.lead, "/artifacts/1/lines")).status_code == 410
    assert client_of_viewer.get(at(judged.lead, "/artifacts/99")).status_code == 404


def test_secrets_stay_masked():
    room = make_room()
    make_artifact(room, b"user=scott password=tiger42x\n" * 3, "notes.txt")
    run_jobs("small")
    shown = program(room.user).get(at(room, "/artifacts/1/lines")).content.decode()
    assert "password=" in shown
    assert "tiger42x" not in shown


def test_findings_come_with_their_citations_and_disputes(judged: Judged, client_of_viewer: Client):  # noqa: F811
    listed = items(client_of_viewer, at(judged.lead, "/findings"))
    expected = [one["key"] for one in reports.report()["findings"]]
    assert [one["key"] for one in listed] == expected
    assert [one["key"] for one in listed if one["disputed"]] == [reports.CHURN_KEY]
    assert listed[0]["content"]["citations"]
    assert items(client_of_viewer, at(judged.lead, "/findings"), gone=True) == []


def test_the_verdict_is_that_of_the_report(judged: Judged, client_of_viewer: Client):  # noqa: F811
    shown = client_of_viewer.get(at(judged.lead, "/verdict")).json()
    assert shown["verdict"] == reports.report()["verdict"]
    assert (shown["evaluation"], shown["disputed"]) == (1, [reports.CHURN_KEY])


def test_observations_come_with_their_lines():
    room = make_room()
    add_report(room, {**test_lead.report(), "observations": [test_lead.observation(rank) for rank in range(1, 8)]})
    client = program(room.user)
    second = client.get(at(room, "/observations"), {"page": 2, "size": 3}).json()
    assert ([one["rank"] for one in second["items"]], second["count"], second["pages"]) == ([4, 5, 6], 7, 3)
    assert second["items"][0]["citations"] == test_lead.observation(4)["citations"]


@pytest.mark.parametrize("rest", ["/verdict", "/observations", "/timeline", "/timeline/rows?frame=A"])
def test_a_room_that_was_not_judged_says_so(rest: str):
    room = make_room()
    answer = program(room.user).get(at(room, rest))
    assert (answer.status_code, answer.json()["detail"]) == (409, "This room was not judged yet.")


def test_rows_of_the_timeline_name_their_lines():
    room = make_room()
    make_artifact(room)
    make_artifact(room, b"".join(reports_of_vmstat()), "vmstat.txt")
    run_jobs()
    client = program(room.user)
    frames = items(client, at(room, "/timeline"))
    assert frames
    frame = frames[0]["frame"]
    first = client.get(at(room, "/timeline/rows"), {"frame": frame, "size": 5}).json()
    second = client.get(at(room, "/timeline/rows"), {"frame": frame, "size": 5, "page": 2}).json()
    assert first["count"] > 5
    rows = first["items"] + second["items"]
    assert len({str(row) for row in rows}) == len(rows)
    assert all(row["artifact"] and row["line_from"] for row in rows)
    assert [row["begin_s"] for row in rows] == sorted(row["begin_s"] for row in rows)
    assert client.get(at(room, "/timeline/rows"), {"frame": "nonsense"}).status_code == 404
    assert client.get(at(room, "/timeline/rows"), {"frame": frame, "lane": "nonsense"}).status_code == 404
    assert client.get(at(room, "/timeline/rows"), {"frame": frame, "begin": 5, "end": 1}).status_code == 422


def reports_of_vmstat() -> list[bytes]:
    head = b"""procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
"""
    return [head, *(b" 1  0      0 812340  10244 402%03d    0    0     5    1%d  101  202  3  1 96  0  0\n" % (n, n) for n in range(9))]  # fmt: skip


def test_notes_come_with_replies_and_their_places(judged: Judged, client_of_viewer: Client):  # noqa: F811
    notes.reply(judged.lead, judged.note.pk, "Agreed.")
    gone = notes.add(judged.lead, "Wrong.")
    notes.delete(judged.lead, gone.pk)
    (note,) = items(client_of_viewer, at(judged.lead, "/notes"))
    assert (note["artifact"], note["line_from"], note["line_to"], note["program"]) == (1, 11, 11, None)
    assert [reply["text"] for reply in note["replies"]] == ["Agreed."]
    notes.delete(judged.lead, judged.note.pk)
    (note,) = items(client_of_viewer, at(judged.lead, "/notes"))
    assert (note["deleted"], note["text"], len(note["replies"])) == (True, "", 1)


def test_requests_activity_and_the_log(judged: Judged, client_of_viewer: Client):  # noqa: F811
    row = requests.put(judged.investigator, {"what": "A trace", "command": "vmstat 5 12"})
    requests.answer(judged.investigator, row.pk, [2])
    plan.put_entry(judged.investigator, {"kind": "step", "text": "Looked", "at": row.created_at})
    (shown,) = items(client_of_viewer, at(judged.lead, "/requests"))
    assert (shown["state"], shown["answers"], shown["asked_by"]) == ("answered", [2], "nils")
    assert client_of_viewer.get(at(judged.lead, f"/requests/{row.pk}")).json() == shown
    activity = items(client_of_viewer, at(judged.lead, "/activity"), size=3)
    assert [one["seq"] for one in activity] == sorted((one["seq"] for one in activity), reverse=True)
    assert "Looked" in [one["text"] for one in items(client_of_viewer, at(judged.lead, "/log"))]


def test_archived_rooms_are_listed_when_asked_for():
    room = make_room()
    client = program(room.user)
    assert [len(items(client, "/api/v1/rooms", archived=which)) for which in (False, True)] == [1, 0]


# --- pages and their cost -----------------------------------------------------------------------------------------


def add_artifact(room: Room, n: int) -> None:
    make_artifact(room, f"line {n}\n".encode(), f"{n}.txt")


def add_finding(room: Room, n: int) -> None:
    report = reports.report()
    add_report(room, {**report, "findings": report["findings"][: 1 + n % 100]})


def add_note(room: Room, n: int) -> None:
    note = notes.add(make_member(room.incident), f"note {n}", artifact=1)
    notes.reply(room, note.pk, "a reply")


def add_request(room: Room, n: int) -> None:
    row = requests.put(room, {"what": f"trace {n}", "asked_of": room.user.pk})
    requests.answer(room, row.pk, [1])


def add_entry(room: Room, n: int) -> None:
    plan.put_entry(room, {"kind": "step", "text": f"step {n}", "at": room.incident.created_at})


ADDING: dict[str, Callable[[Room, int], None]] = {
    "/artifacts": add_artifact,
    "/findings": add_finding,
    "/notes": add_note,
    "/requests": add_request,
    "/activity": add_entry,
    "/log": add_entry,
}


@pytest.mark.parametrize("rest", sorted(ADDING))
def test_more_rows_cost_no_more_queries(rest: str):
    room = make_room()
    make_artifact(room)
    client = program(room.user)
    counts = []
    for upto in (1, 6):
        for n in range(upto):
            ADDING[rest](room, upto * 100 + n)
        client.get(at(room, rest))
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(at(room, rest))
        counts.append((answer.json()["count"], len(queries)))
    assert counts[0][0] < counts[1][0]
    assert counts[0][1] == counts[1][1]


def test_more_rooms_cost_no_more_queries():
    user = make_user()
    client = program(user)
    counts = []
    for many in (1, 6):
        for _ in range(many):
            add_report(make_room(user))
        client.get("/api/v1/rooms")
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/api/v1/rooms").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_pages_follow_each_other_without_gap_or_repeat():
    room = make_room()
    for n in range(7):
        add_artifact(room, n)
    client = program(room.user)
    pages = [client.get(at(room, "/artifacts"), {"page": page, "size": 3}).json() for page in (1, 2, 3)]
    assert [[one["number"] for one in page["items"]] for page in pages] == [[1, 2, 3], [4, 5, 6], [7]]
    assert {(page["count"], page["pages"]) for page in pages} == {(7, 3)}
    past = client.get(at(room, "/artifacts"), {"page": 4, "size": 3})
    assert (past.status_code, past.json()["detail"]) == (404, "There are only 3 pages of them.")


@pytest.mark.parametrize("asked", [{"page": "0"}, {"page": "x"}, {"page": "9" * 40}, {"size": "201"}, {"size": ""}])
def test_a_page_that_is_none_is_refused_by_name(asked: dict[str, str]):
    room = make_room()
    answer = program(room.user).get(at(room, "/artifacts"), asked)
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert [one["where"] for one in answer.json()["errors"]] == [f"query.{next(iter(asked))}"]


# --- problems -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [
        ("get", "/api/v1/nonsense", 404),
        ("post", "/api/v1/nonsense", 404),
        ("get", "/api/v1/", 404),
        ("put", "/api/v1/rooms", 405),
        ("get", "/api/v1/rooms/no-such-room", 404),
        ("get", "/api/v1/rooms?page=1&page=2", 400),
        ("get", "/api/v1/rooms/a\x00b/notes", 400),
        ("get", f"/api/v1/rooms/x/notes/{9**30}", 422),
    ],
)
def test_every_refusal_is_a_problem(method: str, address: str, status: int):
    answer = getattr(program(make_user()), method)(address)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert answer.json().keys() >= {"type", "title", "status", "detail"}
    assert answer.json()["status"] == status
    assert "no-store" in answer["Cache-Control"]
    assert (answer.status_code == 405) == ("Allow" in answer)


def test_a_database_that_is_away_is_a_problem_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pulse, "away", lambda: True)
    answer = Client().get("/api/v1/rooms")
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
    assert answer["Retry-After"]


def test_a_stranger_cannot_tell_a_room_from_nonsense():
    room = make_room()
    client = program(make_user())
    answers = [client.get(f"/api/v1/rooms/{slug}/notes") for slug in (room.incident.slug, "nonsense")]
    assert answers[0].content == answers[1].content
    assert answers[0].status_code == 404
    nobody = [Client().get(f"/api/v1/rooms/{slug}/notes") for slug in (room.incident.slug, "nonsense")]
    assert nobody[0].content == nobody[1].content
    assert nobody[0].status_code == 401


def test_a_failure_that_nobody_foresaw_is_a_problem_without_details(monkeypatch: pytest.MonkeyPatch):
    room = make_room()
    client = program(room.user)
    client.raise_request_exception = False

    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("secret place /srv/exhibit")

    monkeypatch.setattr("incidents.access.enter_as", fail)
    answer = client.get(at(room))
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert "no-store" in answer["Cache-Control"]
    assert answer.json()["title"] == "Internal Server Error"
    assert b"srv" not in answer.content
    monkeypatch.setattr("incidents.access.visible_to", fail)
    monkeypatch.setattr("incidents.pages.rooms.listing.visible_to", fail)
    page = Client(raise_request_exception=False)
    page.force_login(room.user)
    shown = page.get("/")
    assert (shown.status_code, shown["Content-Type"].split(";")[0]) == (500, "text/html")
