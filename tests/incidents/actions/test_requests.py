"""Tests of actions on evidence requests, and of telling the asker after the next judgement what an answer changed."""

from __future__ import annotations

import copy
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from incidents.actions import artifacts, purge, requests
from incidents.content import request_words
from incidents.content.report import Ask
from incidents.errors import NotAllowed, Refused
from incidents.models.evidence.artifact import ArtifactState
from incidents.models.evidence.request import EvidenceRequest, RequestState
from incidents.models.people.membership import Role
from incidents.models.people.notification import Notification, Told
from incidents.models.room.activity import Activity
from incidents.models.room.event import Event
from incidents.models.room.job import Job
from incidents.work import analysis, arrivals
from rules.collecting.blocks import block
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.pages import reports
from tests.rules.collecting.test_collect_block import run_block

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Any:
    return make_room(make_user("anna"))


def ask_for(room: Any, **said: Any) -> EvidenceRequest:
    return requests.put(room, {"what": "The memory map", **said})


def keep(room: Any, report: dict[str, Any]) -> None:
    """Store a report as the worker does, with no job left in the room."""
    Job.objects.all().update(state="done")
    with transaction.atomic():
        analysis.save_report(room.incident, analysis.case_of(room.incident), report)


def report_with(*numbers: int, state: str = "cause") -> dict[str, Any]:
    report = copy.deepcopy(reports.report())
    report["artifacts"] = [{"id": n, "file": f"a{n}.txt", "kind": "pmap"} for n in numbers]
    report["verdict"]["state"] = state
    return report


def test_each_deed_is_recorded_and_heard(room):
    row = ask_for(room)
    requests.put(room, {"what": "The map"}, row.pk)
    requests.withdraw(room, row.pk)
    requests.reopen(room, row.pk)
    make_artifact(room)
    requests.answer(room, row.pk, [1])
    verbs = list(Activity.objects.filter(object=f"request {row.pk}").values_list("verb", flat=True))
    assert verbs == ["asked for", "changed", "took back", "opened again", "answered"]
    heard = Event.objects.filter(incident=room.incident, kind="request", object=str(row.pk))
    assert list(heard.order_by("seq").values_list("version", flat=True)) == [1, 2, 3, 4, 5]
    assert Activity.objects.first_broken(room.incident.pk) is None


def test_a_form_sent_twice_asks_once(room):
    id = uuid.uuid4()
    first = requests.put(room, {"what": "It"}, client_id=id)
    assert requests.put(room, {"what": "It"}, client_id=id) == first


def test_viewers_ask_for_nothing_and_others_take_nothing_back(room):
    viewer, other = make_member(room.incident, Role.VIEWER), make_member(room.incident)
    row = ask_for(room)
    with pytest.raises(NotAllowed):
        ask_for(viewer)
    with pytest.raises(NotAllowed):
        requests.answer(viewer, row.pk, [1])
    with pytest.raises(NotAllowed, match="who asked"):
        requests.withdraw(other, row.pk)
    assert requests.withdraw(room, row.pk).state == RequestState.WITHDRAWN
    with pytest.raises(Refused, match="not open"):
        requests.withdraw(room, row.pk)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"what": " "}, "Say what is needed"),
        ({"what": "x", "command": "y" * 20_001}, "too long"),
        ({"what": "x", "colour": "red"}, "nothing called colour"),
    ],
)
def test_nonsense_is_refused(room, said, words):
    with pytest.raises(Refused, match=words):
        requests.put(room, said)


def test_what_is_not_there_is_not_found(room):
    row = ask_for(room)
    for deed in (
        lambda: requests.withdraw(room, row.pk + 1),
        lambda: requests.answer(room, row.pk, [7]),
        lambda: requests.answer(room, row.pk, []),
        lambda: requests.decline(room, row.pk, 7),
    ):
        with pytest.raises(Refused) as refused:
            deed()
        assert refused.value.status == 404


def test_an_answer_to_what_was_taken_back_is_refused(room):
    row = ask_for(room)
    make_artifact(room)
    requests.withdraw(room, row.pk)
    with pytest.raises(Refused, match="taken back"):
        requests.answer(room, row.pk, [1])


def test_answering_twice_with_the_same_changes_nothing(room):
    row = ask_for(room)
    make_artifact(room)
    before = requests.answer(room, row.pk, [1]).version
    assert requests.answer(room, row.pk, [1]).version == before


def test_an_answer_is_judged_with_the_room(room):
    row = ask_for(room)
    make_artifact(room)
    Job.objects.all().update(state="done")
    requests.answer(room, row.pk, [1])
    assert Job.objects.filter(kind="judge", state="queued").exists()


# --- what it changed ----------------------------------------------------------------------------------------------


def test_the_asker_is_told_what_changed_when_the_next_judgement_stands(room):
    nils = make_member(room.incident)
    row = ask_for(nils)
    make_artifact(room, b"first\n")
    keep(room, report_with(1, state="cannot tell"))
    make_artifact(room, b"second\n")
    requests.answer(room, row.pk, [2])
    assert arrivals.tell_what_changed() == 0, "the room is still reading and judging"
    keep(room, report_with(1, 2, state="cause"))
    assert arrivals.tell_what_changed() == 1
    row.refresh_from_db()
    assert row.changed == "pmap a2.txt arrived: verdict cannot tell → cause"
    assert Notification.objects.get(user=nils.user, kind=Told.CHANGED).actor is None
    assert arrivals.tell_what_changed() == 0
    assert Activity.objects.get(verb="judged", object=f"request {row.pk}").actor_name == "Exhibit"


def test_what_came_long_before_is_compared_with_the_judgement_before_it(room):
    row = ask_for(room)
    for content in (b"first\n", b"second\n"):
        make_artifact(room, content)
    keep(room, report_with(1, state="undecided"))
    keep(room, report_with(1, 2, state="cause"))
    changed = report_with(1, 2, state="cause")
    changed["verdict"]["sentence"] = "Said anew."
    keep(room, changed)
    requests.answer(room, row.pk, [2])
    Job.objects.all().update(state="done")
    arrivals.tell_what_changed()
    row.refresh_from_db()
    assert row.changed.startswith("pmap a2.txt arrived: verdict undecided → cause")


def test_a_first_judgement_and_one_that_changes_nothing_say_so(room):
    first, second = ask_for(room), ask_for(room)
    make_artifact(room, b"first\n")
    requests.answer(room, first.pk, [1])
    keep(room, report_with(1))
    arrivals.tell_what_changed()
    make_artifact(room, b"second\n")
    requests.answer(room, second.pk, [2])
    keep(room, report_with(1, 2))
    arrivals.tell_what_changed()
    first.refresh_from_db()
    second.refresh_from_db()
    assert first.changed.startswith("First judgement of the room. Cause: ")
    assert second.changed == "pmap a2.txt arrived, nothing else changed"


def test_what_could_not_be_read_says_so(room):
    row = ask_for(room)
    make_artifact(room, b"\x00\x01\x02")
    requests.answer(room, row.pk, [1])
    Job.objects.all().update(state="done")
    keep(room, report_with())
    arrivals.tell_what_changed()
    row.refresh_from_db()
    assert row.changed == arrivals.UNREAD


def test_workers_tell_by_themselves(room):
    """Check the whole sequence: request, answer with a file, reading, judgement, notification."""
    row = ask_for(room)
    artifact = artifacts.receive_stream(room, "times.txt", [CONNECT_TIMES])
    requests.answer(room, row.pk, [artifact.number])
    run_jobs()
    row.refresh_from_db()
    assert row.state == RequestState.ANSWERED
    assert row.changed
    assert Notification.objects.filter(user=room.user, kind=Told.CHANGED).exists()


def test_a_purge_takes_the_words_of_the_judgement_out_of_the_request(room):
    row = ask_for(room)
    make_artifact(room)
    requests.answer(room, row.pk, [1])
    keep(room, report_with(1))
    arrivals.tell_what_changed()
    row.refresh_from_db()
    words = row.changed
    purge.purge(room, 1, "by mistake")
    row.refresh_from_db()
    assert (row.state, row.changed) == (RequestState.ANSWERED, "Evidence withdrawn.")
    assert row.answers.get().artifact.state == ArtifactState.PURGED
    assert not any(words in str(deed.detail) for deed in Activity.objects.all()), "the record never held them"


def test_who_left_is_not_told(room):
    nils = make_member(room.incident)
    row = ask_for(nils)
    make_artifact(room)
    room.incident.memberships.filter(user=nils.user).delete()
    requests.answer(room, row.pk, [1])
    assert not Notification.objects.exists()


def test_a_draft_without_a_report_takes_its_host_from_the_case(room):
    room.incident.hosts.create(name="db1", os="aix", os_release="7.2")
    drafted = request_words.draft(room.incident, None, list(room.incident.hosts.all()))
    assert (drafted.initial["host"], drafted.initial["os"], drafted.hidden) == ("db1", "aix", {})
    ask = Ask("why", "vmstat -t 5 12", "aix", "somebody", 5, "rule", "0" * 16, "db1", ("vmstat_i",))
    drafted = request_words.draft(room.incident, ask, list(room.incident.hosts.all()))
    assert drafted.hidden["tables"] == ["vmstat"]
    assert drafted.initial["symptom"] == "cpu"


# --- a collect block in a room ------------------------------------------------------------------------------------


def test_a_linux_block_is_read_in_a_room_without_a_question(room, tmp_path: Path):
    file, _ = run_block(block("linux", "memory"), tmp_path)
    artifact = artifacts.receive_stream(room, file.name, [file.read_bytes()])
    run_jobs("small")
    artifact.refresh_from_db()
    assert artifact.state == ArtifactState.READ
    assert artifact.reading is not None
    parts = list(artifact.reading.parts.all())
    assert {part.kind for part in parts} >= {"hostinfo", "vmstat", "meminfo", "ps", "ipcs"}
    assert [part.facts.get("questions") for part in parts] == [None] * len(parts)
    assert len({part.host for part in parts}) == 1
    assert parts[0].host
    assert {part.os for part in parts} == {"linux"}
    assert artifact.cause is None
