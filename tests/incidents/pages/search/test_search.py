"""Tests of the search: what it finds and how, what it must not find, and that it discloses nothing to strangers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents.access import Room, enter
from incidents.actions import case, masks, notes, plan, purge, rooms
from incidents.models.judging.finding import Finding
from incidents.models.room.incident import Incident
from incidents.models.words.note import Note
from incidents.pages.search import line_scan
from incidents.pages.search.line_scan import Place, Scan, scan
from incidents.pages.search.rooms_search import Query, around, scope
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of
from tests.incidents.pages.room.test_lead import observation
from tests.incidents.pages.room.test_room import connection

pytestmark = pytest.mark.django_db


def page(room: Room, q: str, /, **more: Any) -> str:
    answer = client_of(room).get(reverse("search"), {"q": q, **more})
    assert answer.status_code == 200, answer.content.decode()
    return answer.content.decode()


def counts(room: Room, q: str, /, **more: Any) -> dict[str, int]:
    """Return the number of hits of each kind that the page shows."""
    text = page(room, q, **more)
    return {kind: int(n) for kind, n in re.findall(r'<h2 id="of-(\w+)">[^<]*<span class="n">(\d+)', text)}


@pytest.fixture
def room() -> Room:
    """Make a room in which each kind of thing contains `0x7f3aDISM`."""
    room = make_room(make_user("olga"), "Attach at 0x7f3aDISM is slow", symptom_text="connect time")
    report = reports.report()
    report["findings"][0]["expert"] += " It waits at 0x7f3aDISM."
    report["observations"] = [observation(1, headline="A wait at 0x7f3aDISM takes 1.5 s")]
    add_report(room, report)
    notes.add(room, "Look at 0x7f3aDISM, says the vendor.")
    plan.put_decision(room, {"question": "Move 0x7f3aDISM?"})
    plan.put_action(room, {"text": "Trace it", "expected": "no wait at 0x7f3aDISM"})
    case.put_statement(room, {"name": "seen", "text": "0x7f3aDISM is the SGA", "author_label": "DBA"})
    make_artifact(room, b"line one\n", "pmap-0x7f3aDISM.txt")
    return room


def test_every_kind_is_found_by_a_piece_of_a_code(room: Room) -> None:
    everything = dict.fromkeys(
        ("room", "finding", "observation", "note", "decision", "action", "statement", "artifact"), 1
    )
    assert counts(room, "7f3adi") == everything
    assert counts(room, "0X7F3A") == everything
    assert counts(room, "0x7f3aDISM", room=room.incident.slug) == everything
    text = page(room, "7f3aDISM")
    assert "waits at 0x<mark>7f3aDISM</mark>" in text
    assert reverse("finding", args=[room.incident.slug, report_key()]) in text


def test_an_observation_is_found_by_its_words_and_leads_to_its_lines(room: Room) -> None:
    report = reports.report()
    harmless = observation(3, headline="14 of 16 threads were idle", idle=True, idle_reason="a worker waits for work")
    report["observations"] = [
        observation(1, headline="openat of /etc/shadows failed 48 times", means="looks for a password", host="db7"),
        observation(2, headline="Wait for host db8 takes 2 s"),
        harmless,
    ]
    add_report(room, report)
    assert counts(room, "0x7f3aDISM", kind="observation") == {}  # the judgement before had it
    for typed in ("openat shadows", '"failed 48 times"', "password", "db7"):
        assert counts(room, typed, kind="observation") == {"observation": 1}, typed
    assert counts(room, "threads idle", kind="observation") == {}  # the room does not show it either
    text = page(room, "openat")
    assert f'href="/rooms/{room.incident.slug}/evidence/1/?at=1#L1"' in text
    assert "<mark>openat</mark>" not in text.partition("What the evidence shows")[0]
    assert counts(room, "openat", room=room.incident.slug)["observation"] == 1
    assert counts(enter(make_room(make_user("else")).user, Incident.objects.latest("pk").slug), "openat") == {}
    rooms.set_status(room, "closed")
    rooms.archive(enter(room.user, room.incident.slug))
    assert counts(room, "openat") == {}


def test_an_observation_of_purged_evidence_is_not_found(room: Room) -> None:
    second = make_artifact(room, b"another\n", "second.txt")
    report = reports.report()
    both = [reports.cite(1, reports.TRUSS, 1, 1, "wait"), reports.cite(second.number, reports.TRUSS, 2, 2, "wait")]
    report["observations"] = [
        observation(1, headline="A secret of the first", citations=both),
        observation(2, headline="A secret of the second", citations=both[1:]),
    ]
    add_report(room, report)
    assert counts(room, "secret", kind="observation") == {"observation": 2}
    purge.purge(room, 1, "by mistake")
    assert counts(room, "secret", kind="observation") == {"observation": 1}
    purge.purge(room, second.number, "by mistake")
    assert counts(room, "secret", kind="observation") == {}


def report_key() -> str:
    return str(reports.report()["findings"][0]["key"])


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("vendor", 1),
        ("VENDOR look", 1),
        ('"says the vendor"', 1),
        ('"vendor says"', 0),
        ("vendor -says", 0),
        ("vendor -nothing", 1),
        ("nowhere or vendor", 1),
        ("at", 1),  # the beginning of a word
        ("oo", 0),  # two letters inside of one
        ('"vendor', 1),  # a quote that nobody closed
        ("ven%or", 0),
        ("ven_or", 0),
        ("'; drop table incidents_note; --", 0),
        ("vendor & !:*", 0),
    ],
)
def test_what_is_typed_is_understood_forgivingly(room: Room, typed: str, found: int) -> None:
    assert counts(room, typed, kind="note").get("note", 0) == found


def test_names_of_calls_errors_and_hypotheses_are_found_whole(room: Room) -> None:
    for code in (
        "ORA-12170",
        "H-OS-SHM",
        "shmat(16777281, 0x3C0000000)",
        "/etc/nsswitch.conf",
        "__ticket_spin_lock",
        "пам’ять",
        "C++",
    ):
        notes.add(room, f"About {code}: see there.")
        assert counts(room, f'"{code}"', kind="note") == {"note": 1}, code


@pytest.mark.parametrize(
    ("typed", "words"),
    [("x" * 201, "at most 200 characters"), ("->", "three characters"), ("a b c d e f g h i", "at most 8 words"), ("-pmap", "consist only of exclusions")],
)  # fmt: skip
def test_odd_input_is_told_in_words(room: Room, typed: str, words: str) -> None:
    answer = client_of(room).get(reverse("search"), {"q": typed})
    assert answer.status_code == 422
    assert words in answer.content.decode()


@pytest.mark.parametrize(
    "asked",
    [
        {"q": "vendor\x00"},
        {"q": "vendor", "page": "x"},
        {"q": "vendor", "kind": "note", "page": "999999"},
        {"q": "vendor", "kind": "'"},
        {"q": ""},
        {},
    ],
)
def test_nonsense_beside_it_is_as_good_as_none(room: Room, asked: dict[str, str]) -> None:
    assert client_of(room).get(reverse("search"), asked).status_code == 200


def test_what_was_deleted_withdrawn_purged_or_replaced_is_not_found(room: Room) -> None:
    notes.delete(room, Note.objects.get().pk)
    plan.delete_decision(room, room.incident.decisions.get().pk)
    plan.delete_action(room, room.incident.actions.get().pk)
    case.remove_statement(room, room.incident.statements.get().pk)
    purge.purge(room, 1, "by mistake")
    Finding.objects.update(withdrawn=True)
    rooms.edit(room, {"title": "Attach is slow"})
    assert counts(room, "7f3aDISM") == {}
    Finding.objects.update(withdrawn=False)
    add_report(room)
    assert counts(room, "7f3aDISM") == {}, "an earlier version of a finding"


def test_an_archived_room_is_found_by_nobody_but_its_own_things_in_it(room: Room) -> None:
    rooms.close(room)
    rooms.archive(room)
    assert counts(room, "7f3aDISM") == {}
    assert counts(room, "7f3aDISM", room=room.incident.slug)["note"] == 1


def test_a_stranger_finds_nothing_and_no_count_tells(room: Room) -> None:
    stranger = make_room(make_user("stranger"), "Of my own")
    notes.add(stranger, "0x7f3aDISM here, too")
    assert counts(stranger, "7f3aDISM") == {"note": 1}
    assert counts(room, "7f3aDISM")["note"] == 1
    make_member(room.incident, user=stranger.user)
    assert counts(stranger, "7f3aDISM")["note"] == 2
    other = Client()
    other.force_login(make_user("nobody"))
    text = other.get(reverse("search"), {"q": "7f3aDISM"}).content.decode()
    assert "Nothing found" in text
    assert "says the" not in text
    for asked in ({"q": "vendor", "room": room.incident.slug}, {"q": "vendor", "room": "no-such-room"}):
        answer = other.get(reverse("search"), asked)
        assert answer.status_code == 404
        assert "says the" not in answer.content.decode()


def test_the_other_room_is_named_where_several_are_searched_and_one_room_stays_alone(room: Room) -> None:
    other = make_room(room.user, "Another one")
    notes.add(other, "vendor again")
    assert "Another one" in page(room, "vendor")
    assert counts(room, "vendor") == {"note": 2}
    assert counts(room, "vendor", room=room.incident.slug) == {"note": 1}


def test_one_kind_is_paged_and_counted(room: Room) -> None:
    Note.objects.bulk_create(
        Note(incident=room.incident, text=f"Seen {n} on db7.", author=room.user) for n in range(45)
    )
    assert counts(room, "db7") == {"note": 45}
    first, last = page(room, "db7", kind="note"), page(room, "db7", kind="note", page="3")
    assert first.count('class="snippet"') == 20
    assert last.count('class="snippet"') == 5
    assert 'rel="next"' in first
    assert 'rel="next"' not in last


def test_better_matches_come_first(room: Room) -> None:
    notes.add(room, "listener listener listener")
    notes.add(room, "The listener, among very many other words that a person may write about an incident.")
    text = page(room, "listener", kind="note")
    assert text.index("<mark>listener</mark> <mark>listener</mark>") < text.index("among very many")


def test_hostile_text_is_shown_and_never_obeyed(room: Room) -> None:
    notes.add(room, '<script>alert(1)</script> sought "onload=\u202egnp.exe')
    text = page(room, "sought")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; <mark>sought</mark>" in text
    assert "\u202e" not in text
    typed = page(room, '"><svg onload=alert(1)>')
    assert "<svg onload" not in typed


def test_a_page_of_results_asks_at_most_fifteen_times(room: Room) -> None:
    for asked in ({"q": "7f3aDISM"}, {"q": "7f3aDISM", "room": room.incident.slug}, {"q": "line", "kind": "line"}):
        client = client_of(room)
        with CaptureQueriesContext(connection()) as caught:
            client.get(reverse("search"), asked)
        assert len(caught) <= 15, asked


def test_a_search_in_a_room_finds_its_own_symptom(room: Room) -> None:
    slug = room.incident.slug
    assert reverse("room", args=[slug]) in page(room, "7f3aDISM", room=slug, kind="room")
    assert "<mark>" not in page(room, "7f3aDISM -slow", room=slug, kind="room")


class TestLines:
    @pytest.fixture
    def room(self) -> Room:
        room = make_room(make_user("olga"))
        text = "".join(f"time elapsed : 0,{n % 90 + 10}\n" for n in range(5_000))
        make_artifact(room, text.encode(), "times.txt")
        make_artifact(room, b"ORA-12170: TNS:Connect timeout occurred\nfn(a)\tx  y\nend\n", "alert.txt")
        run_jobs("small")
        return room

    def test_lines_are_found_with_their_place(self, room: Room) -> None:
        text = page(room, "ora-12170", kind="line")
        assert "alert.txt:1" in text
        assert "<mark>ORA-12170</mark>: TNS:Connect" in text
        assert f"{reverse('lines', args=[room.incident.slug, 2])}?at=1#L1" in text
        assert "looked through 5\u2009003 lines of 2 files, of 2 in all, to the end" in text
        assert "alert.txt:2" in page(room, '"fn(a) x y"', kind="line")

    def test_a_scan_that_is_cut_says_so_and_goes_on_to_the_end(self, room: Room) -> None:
        rooms_, query = scope(room.user, None), Query.of("end")
        first = scan(rooms_, query, seconds=0)
        assert first.hits == []
        assert first.next == Place(room.incident.pk, 1, 2_001)
        steps: list[Scan] = [first]
        at: Place | None = first.next
        while at is not None:
            steps.append(scan(rooms_, query, at, seconds=0))
            at = steps[-1].next
        assert sum(step.lines for step in steps) == 5_003
        assert [hit.line_no for step in steps for hit in step.hits] == [3]

    def test_many_hits_come_in_portions_and_none_twice(self, room: Room) -> None:
        client, found, after = client_of(room), [], ""
        for _ in range(3):
            text = client.get(reverse("search"), {"q": "elapsed", "kind": "line", "after": after}).content.decode()
            found += re.findall(r"times\.txt:(\d+)", text)
            after = re.findall(r"after=([\d.]+)", text)[0]
        assert found == [str(n) for n in range(1, 3 * line_scan.MOST_HITS + 1)]

    def test_two_scan_and_the_third_is_asked_to_wait(self, room: Room) -> None:
        assert line_scan._AT_ONCE.acquire(timeout=1)
        assert line_scan._AT_ONCE.acquire(timeout=1)
        try:
            waiting = scan(scope(room.user, None), Query.of("end"), seconds=0)
        finally:
            line_scan._AT_ONCE.release()
            line_scan._AT_ONCE.release()
        assert (waiting.busy, waiting.hits) == (True, [])

    def test_a_masked_secret_is_not_found_by_its_text_nor_by_leaving_it_out(self, room: Room) -> None:
        make_artifact(
            room, b"connect system/Tiger2016@QPROD\nalter user scott identified by hunter2secret;\n", "login.sql"
        )
        run_jobs("small")
        rooms_ = scope(room.user, None)
        assert scan(rooms_, Query.of("identified")).hits
        for guess in ("hunter2secret", "hunter2", "Tiger2016", '"by hunter2"'):
            looked = scan(rooms_, Query.of(guess))
            assert (looked.hits, looked.next) == ([], None), guess
            text = page(room, guess, kind="line")
            assert "No line found" in text
            assert "<mark>" not in text
            assert "secret;" not in text
            assert counts(room, guess) == {}
        both = [len(scan(rooms_, Query.of(f"identified {without}")).hits) for without in ("-hunter2secret", "-nothing")]
        assert both[0] == both[1] == 1

    def test_strangers_purged_and_archived_are_not_looked_into(self, room: Room) -> None:
        stranger = make_room(make_user("stranger"))
        looked = scan(scope(stranger.user, None), Query.of("elapsed"))
        assert (looked.files, looked.lines, looked.hits) == (0, 0, [])
        purge.purge(room, 1, "by mistake")
        looked = scan(scope(room.user, None), Query.of("elapsed"))
        assert (looked.files, looked.lines, looked.hits) == (1, 3, [])
        rooms.close(room)
        rooms.archive(enter(room.user, room.incident.slug))
        assert scan(scope(room.user, None), Query.of("ora")).files == 0

    def test_a_place_that_is_none_is_refused_and_one_of_a_strangers_room_tells_nothing(self, room: Room) -> None:
        client = client_of(room)
        for after in ("x", "1.2", "1.2.3.4", "1.-2.3", "9" * 40 + ".1.1"):
            answer = client.get(reverse("search"), {"q": "elapsed", "kind": "line", "after": after})
            assert answer.status_code == 422
            assert "where the search stopped" in answer.content.decode()
        hidden = make_room(make_user("stranger"), "Hidden")
        make_artifact(hidden, b"elapsed secretly\n", "hidden.txt")
        run_jobs("small")
        text = page(room, "secretly", kind="line", after=f"{hidden.incident.pk}.1.1")
        assert "hidden.txt" not in text
        assert "No line found" in text

    def test_a_lifted_mask_is_a_mask_for_the_search(self, room: Room) -> None:
        artifact = make_artifact(room, b"alter user scott identified by hunter2secret;\n", "login.sql")
        run_jobs("small")
        artifact.refresh_from_db()
        mask = artifacts_mask(room, artifact.number)
        masks.lift(room, artifact.number, 1, mask, "to compare")
        assert scan(scope(room.user, None), Query.of("hunter2secret")).hits == []


def artifacts_mask(room: Room, number: int) -> tuple[int, int]:
    from incidents.storage import store

    reader = store.lines_of(room.incident.artifacts.get(number=number))
    assert reader is not None
    [mask] = reader.lines(1, 1)[0].masks
    return mask.place


def test_the_field_stands_in_the_header_and_begins_in_the_room_one_is_in(room: Room) -> None:
    client = client_of(room)
    inside = client.get(reverse("room", args=[room.incident.slug])).content.decode()
    assert f'<input type="hidden" name="room" value="{room.incident.slug}">' in inside
    assert 'aria-label="Search all rooms"' in client.get(reverse("rooms")).content.decode()
    assert "data-find" not in Client().get(reverse("account_login")).content.decode()


def test_a_snippet_shows_the_match_however_long_the_text_is() -> None:
    pieces = around("x" * 5_000 + " SHMAT " + "y" * 5_000, Query.of("shmat"))
    assert ("SHMAT", True) in pieces
    assert sum(len(piece) for piece, _ in pieces) < 200
    assert around("", Query.of("shmat")) == []
