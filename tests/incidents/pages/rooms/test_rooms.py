"""The list of rooms and a new room."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from incidents.access import enter
from incidents.actions import findings, standing
from incidents.actions import rooms as actions
from incidents.actions.sample import SAMPLES
from incidents.models.judging.verdict import Verdict
from incidents.models.people.membership import Membership, Role
from incidents.models.plan.action import Action
from incidents.models.plan.review import FollowUp
from incidents.models.room.incident import Incident
from incidents.pages.rooms import listing
from incidents.storage import live
from tests.incidents.conftest import make_artifact, make_room, make_user, run_jobs
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of
from tests.incidents.pages.pages import unbroken
from tests.incidents.pages.room.test_room import connection

EMPTY = {"hosts-TOTAL_FORMS": 2, "hosts-INITIAL_FORMS": 0}


@pytest.fixture
def client(db):
    client: Any = Client()
    client.user = make_user("olga")
    client.force_login(client.user)
    return client


def test_without_rooms_it_says_what_to_do(client):
    text = client.get(reverse("rooms")).content.decode()
    assert "No rooms yet" in text
    assert "Open the sample room" in text


def test_each_room_shows_its_leading_cause_and_what_is_cleared(judged):
    text = client_of(judged.viewer).get(reverse("rooms")).content.decode()
    assert "New server processes wait up to 2.473 s" in text
    assert "good support" in text
    assert '<span class="face cause">Cause</span>' in text


def test_it_shows_only_rooms_that_one_may_know_of(client, judged):
    make_room(client.user, "My own room")
    text = client.get(reverse("rooms")).content.decode()
    assert "My own room" in text
    assert "QPROD" not in text
    assert listed(client, q="QPROD") == []


def test_search_state_and_sort(client):
    make_room(client.user, "Batch runs late")
    make_room(client.user, "Logins are slow")
    text = client.get(reverse("rooms"), {"q": "batch"}).content.decode()
    assert "Batch runs late" in text
    assert "Logins are slow" not in text
    assert "No room matches" in client.get(reverse("rooms"), {"status": "closed"}).content.decode()
    by_title = client.get(reverse("rooms"), {"sort": "title"}).content.decode()
    assert by_title.index("Batch runs late") < by_title.index("Logins are slow")
    for nonsense in ({"sort": "password"}, {"page": "x"}, {"q": "\x00"}, {"status": "'"}):
        assert client.get(reverse("rooms"), nonsense).status_code == 200


def test_the_list_asks_no_more_when_it_holds_more(client):
    def queries():
        with CaptureQueriesContext(connection()) as caught:
            client.get(reverse("rooms"))
        return len(caught)

    add_report(make_room(client.user, "One"))
    before = queries()
    assert before <= 12
    for n in range(10):
        add_report(make_room(client.user, f"Room {n}"))
    assert queries() <= before


def test_a_room_needs_only_a_title(client):
    answer = client.post(reverse("room-new"), EMPTY | {"title": "Slow"})
    incident = Incident.objects.get()
    assert answer["Location"] == reverse("room", args=[incident.slug])
    assert incident.symptom_bad is None
    assert incident.symptom_text is None


def test_all_answers_are_kept(client):
    data = EMPTY | {"title": "Slow", "symptom_text": "logins", "symptom_bad": "3.9", "symptom_unit": "s"}
    data |= {"since": "2016-04-14T05:58", "ongoing": "false", "hosts-0-name": "db1", "hosts-0-os": "solaris"}
    data |= {"hosts-0-ncpu": "16", "hosts-0-mem_gib": "64"}
    assert client.post(reverse("room-new"), data).status_code == 302
    incident = Incident.objects.get()
    assert (incident.symptom_bad, incident.ongoing) == (3.9, False)
    assert incident.since.isoformat() == "2016-04-14T05:58:00+00:00"
    assert [(h.name, h.ncpu, h.mem_gib) for h in incident.hosts.all()] == [("db1", 16, 64.0)]


def test_the_severity_is_asked_for_and_undoing_a_later_one_puts_it_back(client):
    assert client.post(reverse("room-new"), EMPTY | {"title": "Slow", "severity": "2"}).status_code == 302
    incident = Incident.objects.get()
    assert incident.severity == 2
    room = enter(client.user, incident.slug)
    standing.put(room, {"severity": 1})
    later = standing.undoable(incident)
    assert later is not None
    assert standing.undo(room, later).severity == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": ""},
        {"title": "x", "severity": "5"},
        {"title": "x", "symptom_bad": "slow"},
        {"title": "x", "symptom_bad": "nan"},
    ],
)
def test_errors_keep_what_was_typed(client, wrong):
    answer = client.post(reverse("room-new"), EMPTY | {"measured_how": "with a stop watch"} | wrong)
    assert answer.status_code == 422
    assert "with a stop watch" in answer.content.decode()
    assert not Incident.objects.exists()


def test_two_hosts_of_one_name_are_refused_in_the_form(client):
    answer = client.post(reverse("room-new"), EMPTY | {"title": "x", "hosts-0-name": "db1", "hosts-1-name": "db1"})
    assert answer.status_code == 422
    assert "Two hosts have the same name." in answer.content.decode()


def again(user, title: str, days: int = 0, **changed: Any):
    """Make a judged room with a report like `reports.report()`, opened `days` days ago."""
    room = make_room(user, title)
    report = reports.report()
    report["verdict"] |= changed
    add_report(room, report)
    opened = timezone.now() - timedelta(days=days)
    Incident.objects.filter(pk=room.incident.pk).update(created_at=opened)
    Verdict.objects.filter(pk=room.incident.pk).update(first_at=opened + timedelta(minutes=95, seconds=10))
    return room


def listed(client, **asked: str) -> list[str]:
    """Return the titles of the rooms in the order of the list."""
    text = client.get(reverse("rooms"), asked).content.decode()
    return re.findall(r'<a class="title" href="[^"]*">([^<]*)</a>', text)


def test_time_to_verdict_runs_from_the_opening_to_the_first_cause_or_suspect(client):
    room = make_room(client.user, "Slow")
    report = reports.report()
    add_report(room, report | {"verdict": report["verdict"] | {"state": "undecided"}})
    assert Verdict.objects.get().first_at is None
    add_report(room, report | {"verdict": report["verdict"] | {"state": "suspect"}})
    first = Verdict.objects.get().first_at
    assert first is not None
    add_report(room, report)
    assert Verdict.objects.get().first_at == first
    add_report(room, report | {"verdict": report["verdict"] | {"state": "cannot tell"}})
    kept = Verdict.objects.get()
    assert (kept.first_at, kept.state, kept.recurs_by) == (first, "cannot tell", "")
    Verdict.objects.update(first_at=room.incident.created_at + timedelta(hours=2, minutes=3))
    assert "2 h 3 min" in client.get(reverse("rooms")).content.decode()


def test_what_is_judged_in_a_closed_room_reaches_the_list_when_a_lead_takes_it_over(client):
    room = again(client.user, "Slow")
    actions.close(room)
    room = enter(room.user, room.incident.slug)
    report = reports.report()
    add_report(room, report | {"verdict": report["verdict"] | {"sentence": "Something else."}})
    assert Verdict.objects.get().sentence != "Something else."
    actions.accept_evaluation(room)
    assert Verdict.objects.get().sentence == "Something else."


def test_it_says_how_often_a_cause_came_in_the_rooms_one_may_see(client, monkeypatch):
    now = datetime(2026, 11, 21, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: now)
    for title, days in (("A", 200), ("B", 30), ("C", 20), ("D", 10)):
        again(client.user, title, days)
    for n in range(5):
        again(make_user(f"stranger{n}"), f"Hidden {n}", 15)
    again(client.user, "Other host", 5, hypothesis="H-NSS")
    text = client.get(reverse("rooms"), {"sort": "title"}).content.decode()
    assert re.findall(r'class="badge again"[^>]*>([^<]*)<', text) == [
        "one of 4 rooms with this cause",
        "one of 4 rooms with this cause",
        "second time this quarter",
        "third time this quarter",
    ]
    slug = Incident.objects.get(title="D").slug
    assert listed(client, same=slug, sort="title") == ["A", "B", "C", "D"]
    hidden = Incident.objects.get(title="Hidden 1").slug
    assert listed(client, same=hidden) == []
    assert "Hidden" not in client.get(reverse("rooms"), {"same": hidden}).content.decode()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(days=120))
    client.force_login(client.user)
    assert "third time in quarter 4 of 2026" in client.get(reverse("rooms")).content.decode()


def test_it_is_narrowed_by_state_and_layer(client):
    again(client.user, "Memory")
    again(client.user, "Names", layer="name_service")
    shut = again(client.user, "Shut")
    put_away = again(client.user, "Put away")
    actions.close(shut)
    actions.close(put_away)
    actions.archive(enter(client.user, put_away.incident.slug))
    assert listed(client, sort="title") == ["Memory", "Names"]
    assert listed(client, status="going", sort="title") == ["Memory", "Names"]
    assert listed(client, status="all", sort="title") == ["Memory", "Names", "Shut"]
    assert listed(client, status="closed") == ["Shut"]
    assert listed(client, status="archived") == ["Put away"]
    assert listed(client, layer="name_service") == ["Names"]
    assert listed(client, layer="os_kernel", status="closed") == ["Shut"]
    assert listed(client, layer="nonsense") == []
    assert listed(client, q="server processes wait", sort="title") == ["Memory", "Names", "Shut"]


def test_every_column_sorts_both_ways_and_what_is_unknown_comes_last(client):
    quick, slow = again(client.user, "b quick"), again(client.user, "A slow", support="weak")
    Verdict.objects.filter(pk=slow.incident.pk).update(first_at=slow.incident.created_at + timedelta(days=9))
    Verdict.objects.filter(pk=quick.incident.pk).update(first_at=quick.incident.created_at + timedelta(minutes=9))
    make_room(client.user, "c never")
    assert listed(client, sort="title") == ["A slow", "b quick", "c never"]
    assert listed(client, sort="took") == ["b quick", "A slow", "c never"]
    assert listed(client, sort="-took") == ["A slow", "b quick", "c never"]
    assert listed(client, sort="-cause") == ["b quick", "A slow", "c never"]
    for column in listing.COLUMNS:
        for sort in (column, f"-{column}"):
            assert sorted(listed(client, sort=sort), key=str.lower) == ["A slow", "b quick", "c never"], sort
    text = unbroken(client.get(reverse("rooms"), {"sort": "-took"}))
    assert '<a href="?sort=-took" aria-current="true">time to verdict ↓</a>' in text
    assert "Burning" not in text


def test_who_is_inside_sorts_the_list(client, monkeypatch):
    empty, full = make_room(client.user, "Empty"), make_room(client.user, "Full")
    here = {full.incident.pk: [live.Here(client.user.pk, "/")], empty.incident.pk: []}
    monkeypatch.setattr(live, "present_in", lambda ids: {id: here[id] for id in ids})
    assert listed(client, sort="-inside") == ["Full", "Empty"]
    assert listed(client, sort="inside") == ["Empty", "Full"]


def test_the_csv_is_the_list_and_no_cell_is_a_formula(client):
    room = again(client.user, "=HYPERLINK(1)")
    again(client.user, "Another", layer="name_service")
    again(make_user("stranger"), "Hidden")
    answer = client.get(reverse("rooms-csv"), {"sort": "title"})
    assert answer["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["title"] for row in rows] == ["'=HYPERLINK(1)", "Another"]
    assert rows[0]["address"] == f"http://testserver{reverse('room', args=[room.incident.slug])}"
    assert rows[0]["minutes to verdict"] == "95.2"
    assert rows[0]["again"] == "one of 2 rooms with this cause"
    assert (rows[0]["support"], rows[0]["cause layer"]) == ("good", "operating system")
    narrowed = client.get(reverse("rooms-csv"), {"layer": "name_service"}).content.decode()
    assert "HYPERLINK" not in narrowed
    assert "Another" in narrowed


def test_a_disputed_cause_says_so(judged):
    text = client_of(judged.viewer).get(reverse("rooms")).content.decode()
    assert "under dispute" not in text
    findings.dispute(judged.investigator, reports.CAUSE_KEY, "It is not.")
    assert "under dispute" in client_of(judged.viewer).get(reverse("rooms")).content.decode()


def test_five_sample_rooms_are_offered_and_one_that_is_none_is_refused(client):
    text = client.get(reverse("rooms")).content.decode()
    for one in SAMPLES:
        assert f'name="number" value="{one.number}"' in text
        assert escape(one.source) in text
    answer = client.post(reverse("sample"), {"number": "004"})
    room = Incident.objects.get()
    assert answer["Location"] == reverse("room", args=[room.slug])
    assert room.title.startswith("Nobody can log in while the batch starts (published example: ")
    assert client.post(reverse("sample"), {"number": "004"})["Location"] == answer["Location"]
    refused = client.post(reverse("sample"), {"number": "../004"})
    assert refused.status_code == 404
    assert "no such sample room" in refused.content.decode()


@contextmanager
def long_ago(**ago: Any) -> Iterator[None]:
    """Date everything done in this context back by some time."""
    then = timezone.now() - timedelta(**ago)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: then)
        yield


def grouped(client, **asked: str) -> dict[str, list[str]]:
    """Return heading of each group -> titles of its rooms, in order."""
    text = unbroken(client.get(reverse("rooms"), asked))
    found = {}
    for part in text.split("<section>")[1:]:
        heading = re.search(r'<h2>([^<]*) <span class="n">(\d+)</span></h2>', part)
        titles = re.findall(r'<a class="title" href="[^"]*">([^<]*)</a>', part)
        assert heading
        assert int(heading[2]) == len(titles)
        found[heading[1]] = titles
    return found


def test_rooms_burn_are_watched_or_are_quiet_the_worst_first(client):
    minor, major = reports.report(), reports.report()
    for report, severity in ((minor, "minor"), (major, "critical")):
        report["verdict"] |= {"state": "suspect"}
        for found in report["findings"]:
            found["severity"] = severity
    for title, report in (("Minor", minor), ("Critical", major), ("Answered", reports.report())):
        add_report(make_room(client.user, title), report)
    make_room(client.user, "Not judged")
    mitigated = again(client.user, "Mitigated", state="suspect")
    Incident.objects.filter(pk=mitigated.incident.pk).update(status="mitigated")
    with long_ago(hours=25):
        again(client.user, "Yesterday", state="suspect")
    with long_ago(hours=26):
        again(client.user, "Nothing seen", state="nothing wrong seen")
    with long_ago(days=8):
        again(client.user, "Last week", state="suspect")
    resolved = again(client.user, "Resolved")
    Incident.objects.filter(pk=resolved.incident.pk).update(status="resolved")
    client.force_login(client.user)
    found = grouped(client)
    assert found["Burning"] == ["Critical", "Minor", "Not judged"]
    assert sorted(found["Being watched"]) == ["Answered", "Mitigated", "Yesterday"]
    assert sorted(found["Quiet"]) == ["Last week", "Nothing seen", "Resolved"]
    head = unbroken(client.get(reverse("rooms")))
    assert "3 rooms without an answer, 1 of them critical" in head


def test_a_row_says_what_its_room_says(client):
    room = again(client.user, "Slow", state="lead")
    text = unbroken(client.get(reverse("rooms")))
    sentence = Verdict.objects.get(pk=room.incident.pk).sentence
    assert '<span class="face lead">Points to</span>' in text
    assert f'<p class="sentence">{escape(sentence)}</p>' in text
    inside = client.get(reverse("room", args=[room.incident.slug])).content.decode()
    assert escape(sentence) in inside.replace("\u00a0", " ").replace("<wbr>", "")


@pytest.mark.usefixtures("evidence", "on_commit")
def test_a_row_names_files_that_nobody_understood_as_its_room_does(client):
    room = make_room(client.user, "Unread")
    make_artifact(room, b"quxx blorb fnord\n" * 5, "strange.txt")
    run_jobs()
    label = '<span class="face unread">1 file not read</span>'
    assert label in unbroken(client.get(reverse("rooms")))
    assert "1 file not read" in unbroken(client.get(reverse("room", args=[room.incident.slug])))
    Verdict.objects.filter(pk=room.incident.pk).update(state="lead")
    assert label not in unbroken(client.get(reverse("rooms")))


def test_a_room_that_is_not_judged_says_what_it_waits_for(client):
    make_room(client.user, "Empty")
    text = unbroken(client.get(reverse("rooms")))
    assert '<span class="face cannot">No evidence yet</span>' in text
    assert "no figures given" in text


def test_a_symptom_is_two_bars_with_their_values(client):
    room = make_room(client.user, "Slow")
    Incident.objects.filter(pk=room.incident.pk).update(symptom_bad=4.0, symptom_normal=1.0, symptom_unit="s")
    text = unbroken(client.get(reverse("rooms")))
    assert 'width="112.0" height="7"' in text
    assert 'width="28.0" height="5"' in text
    assert "normally 1.000 s" in text


def test_filters_are_links_with_counts(client):
    mine = make_room(client.user, "Mine")
    other = make_room(make_user("lead"), "Of another")
    Membership.objects.create(incident=other.incident, user=client.user, role=Role.VIEWER)
    shut = make_room(client.user, "Shut")
    actions.close(shut)
    Action.objects.create(incident=other.incident, text="Restart it", owner=client.user, author=other.user)
    text = unbroken(client.get(reverse("rooms")))
    pills = re.findall(r'<a class="pill" href="\?([^"]*)"[^>]*>([^<]*)</a>', text)
    assert [words for _, words in pills] == ["Open 2", "Mine 1", "Needs me 1", "Closed 1", "Archived 0", "All 3"]
    assert listed(client, status="mine") == [mine.incident.title]
    assert listed(client, status="needed") == ["Of another"]
    assert sorted(listed(client, q="m")) == ["Mine"]
    assert sorted(listed(client, q="t", status="closed")) == ["Shut"]


def test_a_follow_up_needs_its_owner_until_it_is_done_also_in_a_closed_room(client):
    room = make_room(client.user, "Shut")
    actions.close(room)
    follow_up = FollowUp.objects.create(
        incident=room.incident, text="Write it up", owner=client.user, author=client.user
    )
    FollowUp.objects.create(incident=make_room(client.user, "Of nobody").incident, text="x", author=client.user)
    assert listed(client, status="needed") == ["Shut"]
    FollowUp.objects.filter(pk=follow_up.pk).update(deleted_at=timezone.now(), deleted_by=client.user)
    assert listed(client, status="needed") == []
    FollowUp.objects.filter(pk=follow_up.pk).update(deleted_at=None, deleted_by=None)
    FollowUp.objects.filter(pk=follow_up.pk).update(done_at=timezone.now(), done_by=client.user)
    assert listed(client, status="needed") == []


def test_the_wall_is_the_same_list_without_controls(client):
    again(client.user, "Slow")
    text = unbroken(client.get(reverse("rooms"), {"wall": ""}))
    assert "rooms-page large" in text
    assert "New room" not in text
    assert listed(client, wall="") == ["Slow"]
