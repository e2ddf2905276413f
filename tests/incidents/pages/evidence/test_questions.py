"""Tests of questions that only a person can answer (counted, previewed, answered once), and of stopped readings."""

from __future__ import annotations

import pytest
from django.urls import reverse

from incidents.actions import artifacts, case
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact
from incidents.models.people.membership import Role
from incidents.models.room.job import Job, LeaseLost
from incidents.work import ingest
from parsers import reader, reader_child
from parsers.reader import Outcome
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_member, make_room, run_jobs
from tests.incidents.pages.conftest import client_of
from tests.incidents.pages.pages import unbroken
from tests.rules.clocks import dated_rooms as rooms

TABLE = b"when;what;took\n" + b"".join(b"%02d/04/2008 10:15:00;x;%d\n" % (n, 300 + n) for n in range(3, 12))


@pytest.fixture
def room(db):
    room = make_room()
    make_artifact(room, TABLE, "probe.csv")
    run_jobs("small")
    return room


def page(room, name, *args, **query):
    answer = client_of(room).get(reverse(name, args=[room.incident.slug, *args]), query)
    assert answer.status_code == 200
    return unbroken(answer)


def post(room, name, *args, **data):
    return client_of(room).post(reverse(name, args=[room.incident.slug, *args]), data)


def kind_of(room, number=1):
    artifact = Artifact.objects.select_related("reading").get(incident=room.incident, number=number)
    return artifact.state, artifact.reading.kind if artifact.reading else None


def test_questions_are_counted_and_shown_with_what_was_taken(room):
    text = page(room, "evidence")
    assert "<strong>3 questions</strong>" in text
    assert "Assumed: day first." in text
    assert "In which time zone are the stamps" in text


def test_both_readings_of_a_date_stand_side_by_side_and_one_click_takes_one(room):
    text = page(room, "question", 1)
    assert "begins Thursday 3 April 2008" in text
    assert "begins Tuesday 4 March 2008" in text
    assert post(room, "question", 1, part="1", ask="date_order", value="mdy").status_code == 302
    run_jobs("small")
    text = page(room, "question", 1)  # the columns are still asked for, and shown under the answer
    assert "begins Tuesday 4 March 2008" in text
    assert "Use this reading" not in text
    assert "<strong>2 questions</strong>" in page(room, "evidence")
    assert post(room, "question", 1, part="1", ask="date_order", value="dmy").status_code == 409


def test_columns_are_answered_by_a_role_for_each(room):
    said = {"part": "1", "ask": "columns", "role-0": "time", "role-1": "label", "role-2": "elapsed", "unit": "ms"}
    assert post(room, "question", 1, **said).status_code == 302
    correction = Artifact.objects.get().corrections.get(field="columns")
    assert correction.value == "time=when elapsed=took:ms label=what"
    run_jobs("small")
    artifact = Artifact.objects.select_related("reading").get()
    assert artifact.reading is not None
    assert artifact.reading.tables == {"conn_times": 9}


def test_two_columns_cannot_have_one_role(room):
    answer = post(room, "question", 1, part="1", ask="columns", **{"role-0": "time", "role-1": "time"})
    assert answer.status_code == 400
    assert "cannot both be time" in answer.content.decode()


def test_the_zone_is_asked_once_for_a_host(room):
    make_artifact(room, TABLE.replace(b"x", b"y"), "second.csv")
    case.put_host(room, "db1", {"os": "linux"})
    for number in (1, 2):
        artifacts.correct(room, number, {"host": "db1"})
    run_jobs("small")
    text = page(room, "questions")
    assert text.count("In which time zone does db1 keep its clock?") == 1
    assert post(room, "questions", host="db1", tz="Nowhere/Land").status_code == 400
    assert post(room, "questions", host="db1", tz="Europe/Zagreb").status_code == 302
    assert room.incident.hosts.get().tz == "Europe/Zagreb"
    run_jobs("small")
    assert "In which time zone" not in page(room, "questions")


def test_a_host_of_the_room_offers_its_zone(room):
    case.put_host(room, "gw1", {"tz": "Europe/Zagreb"})
    text = page(room, "questions")
    assert "gw1 keeps Europe/Zagreb" in text
    assert 'value="Europe/Zagreb" placeholder' in text
    assert post(room, "questions", host="", tz="?").status_code == 302
    assert "In which time zone" not in page(room, "questions")


def test_it_is_something_else_lists_claims_and_reads_as_was_picked(room):
    text = page(room, "kind", 1, part="1", **{"try": "conntime"})
    assert "parted by a semicolon" in text or "parted by" in text
    assert "It is conntime: read it this way" in text
    assert post(room, "kind", 1, kind="vmstat").status_code == 302
    run_jobs("small")
    assert kind_of(room) == ("read", "csv")  # a kind that does not fit is an opinion
    assert "not of kind vmstat" in page(room, "evidence").lower()
    assert "Say what it is" in page(room, "evidence")
    assert post(room, "kind", 1, kind="").status_code == 302
    run_jobs("small")
    assert kind_of(room) == ("read", "csv")


def read_here(path, hints, out, *, progress, processes, known, name, sha256):
    """Read an artifact in this process, because the test has changed the claims here."""
    request = {"path": path, "out": out, "hints": hints, "known": known, "name": name, "processes": 1, "sha256": sha256}
    end = reader_child.read_one(request, progress)
    return Outcome(end["report"], reader._error(end["error"]), tuple(end["misfits"]), end["cut_off"])


def test_a_close_race_is_a_question_with_both_readings(room, monkeypatch):
    from parsers import registry
    from parsers.declarations import Claim

    rival = registry.modules()[
        [m.__name__ for m in registry.modules()].index("parsers.formats.own_tables.json_lines.format")
    ]
    monkeypatch.setattr(rival, "claim", lambda head: Claim(0.9, "looks like one") if "elapsed" in head.text else None)
    conntime = next(m for m in registry.modules() if m.__name__.endswith("conntime.format"))
    monkeypatch.setattr(conntime, "claim", lambda head: Claim(0.9, "a list") if "elapsed" in head.text else None)
    monkeypatch.setattr(ingest._READER, "read", read_here)
    make_artifact(room, CONNECT_TIMES)
    run_jobs("small")
    assert kind_of(room, 2) == ("failed", None)
    text = page(room, "evidence")
    assert "Two kinds claim" in text
    assert "Compare both readings" in text
    text = page(room, "kind", 2)
    assert "It is conntime: read it this way" in text
    assert "It is json_lines: read it this way" in text
    assert post(room, "kind", 2, kind="conntime").status_code == 302
    run_jobs("small")
    assert kind_of(room, 2) == ("read", "conntime")


def test_lines_of_an_unknown_kind_are_shown_masked_with_what_to_do(room):
    make_artifact(room, b"nothing known\nuser=scott password=tiger99xx\n", "unknown.log")
    run_jobs("small")
    text = page(room, "lines", 2)
    assert "nothing known" in text
    assert "tiger99xx" not in text
    assert "9 characters, masked" in text
    assert "Say what it is" in text


def test_a_colour_leads_to_its_first_line(room):
    lines = CONNECT_TIMES.splitlines(keepends=True)
    make_artifact(room, b"".join([*lines[:5], b"garbage @@ here\n", *lines[5:]]), "odd.txt")
    run_jobs("small")
    assert "?first=unknown" in page(room, "evidence")
    answer = client_of(room).get(reverse("lines", args=[room.incident.slug, 2]), {"first": "unknown"})
    assert answer.status_code == 302
    assert answer["Location"].endswith("?at=6&notes=unknown#L6")


def test_a_stopped_reading_keeps_what_it_has_and_goes_on(room, monkeypatch):
    make_artifact(room, CONNECT_TIMES, "times.txt")
    viewer = make_member(room.incident, Role.VIEWER)

    def stopped_meanwhile(job, artifact, reading):
        def report(progress):
            Artifact.objects.filter(pk=artifact.pk).update(lines_read=progress.lines)
            assert post(room, "stop", 2).status_code == 302
            with pytest.raises(LeaseLost):
                job.renew()
            raise LeaseLost

        return report

    monkeypatch.setattr(ingest, "_reporter", stopped_meanwhile)
    run_jobs("small")
    state, kind = kind_of(room, 2)
    assert (state, kind) == ("stopped", None)
    artifact = Artifact.objects.get(incident=room.incident, number=2)
    assert artifact.cause is not None
    assert artifact.cause.startswith("Stopped by ")
    assert "20 lines" in artifact.cause
    assert "time elapsed" in page(viewer, "lines", 2)
    evidence = page(viewer, "evidence").replace("\u2009", "")
    assert "20 rows of conn_times so far" in evidence
    assert "First rows of conn_times" in evidence
    assert "<th>line_no</th>" in evidence
    assert not Job.objects.filter(artifact=artifact, state__in=("queued", "running")).exists()
    with pytest.raises(Refused, match="not being read"):
        artifacts.stop(room, 2)
    monkeypatch.undo()
    assert post(room, "retry", 2).status_code == 302
    run_jobs("small")
    assert kind_of(room, 2) == ("read", "conntime")
    assert artifact.readings.count() == 1


def judged_room(*files: tuple[bytes, str]):
    room = make_room()
    for text, name in files:
        make_artifact(room, text, name)
    run_jobs()
    for number in range(1, len(files) + 1):
        artifacts.correct(room, number, {"host": "db1"})
    run_jobs()
    return room


@pytest.mark.django_db
def test_a_day_that_other_evidence_gives_is_not_asked_for():
    room = judged_room((rooms.strace_tt().encode(), "a.strace"), (rooms.vmstat_t().encode(), "b.vmstat"))
    assert "Which day does it begin on?" not in page(room, "evidence")
    assert "Which day does it begin on?" not in page(room, "question", 1)
    assert post(room, "question", 1, part="1", ask="date", value="2025-06-01").status_code == 409
    assert "2025-06-01 10:00:00.250" in page(room, "clocks")


@pytest.mark.django_db
def test_a_day_that_nothing_decides_is_asked_for_with_the_days_that_fit():
    days = rooms.vmstat_t(n=10, step_s=10800).encode()
    room = judged_room((rooms.strace_tt().encode(), "a.strace"), (days, "b.vmstat"))
    text = page(room, "question", 1)
    assert "Which day does it begin on?" in text
    assert "these times meet the dated times of db1 (artifact 2) on 2025-06-01 and 2025-06-02" in text
    assert post(room, "question", 1, part="1", ask="date", value="2025-06-02").status_code == 302
    run_jobs()
    assert "Which day does it begin on?" not in page(room, "evidence")
    assert "2025-06-02 10:00:00.250" in page(room, "clocks")
