"""The timeline's data over the published incident: frames, lanes, bands, and the figure."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from incidents.access import Room, enter
from incidents.actions import notes, purge
from incidents.actions.sample import open_sample
from incidents.pages.timeline import views as timeline
from tests.incidents.conftest import make_artifact, make_room, make_user, run_jobs
from tests.incidents.pages.conftest import client_of
from tests.rules.clocks import dated_rooms as rooms

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Room:
    user = make_user()
    room = enter(user, open_sample(user).slug)
    run_jobs()
    return room


def data(client: Client, room: Room, **query: Any) -> dict[str, Any]:
    answer = client.get(reverse("timeline-data", args=[room.incident.slug]), query)
    assert answer.status_code == 200, answer.content
    got: dict[str, Any] = answer.json()
    return got


def test_each_clock_has_a_frame_and_aligned_ones_share_it(room: Room) -> None:
    client = client_of(room)
    shared, alone, _ = data(client, room)["frames"]
    assert [lane["label"] for lane in shared["lanes"]] == ["client", "listener"]
    assert shared["axis"] == "clock"
    assert "1.5406 s" in alone["why"], "why the truss stands apart"
    labels = [lane["label"] for lane in alone["lanes"]]
    assert {label for label in labels if "/" in label} == {"3728/1", "3731/1", "22626/1", "22626/2"}
    assert {label for label in labels if " of " in label} == {"3728 of 22626", "3731 of 3728"}, "the tree of forks"
    client_wait = max(shared["lanes"][0]["spans"], key=lambda span: span[10])
    assert client_wait[2:7] == ["nttrd waits", "wait", 1, 3, 4]
    assert client_wait[10] == pytest.approx(1.872)
    listener_wait = max(shared["lanes"][1]["spans"], key=lambda span: span[10])
    assert client_wait[0] < listener_wait[0], "shifted by the offset: the client waits first"
    assert listener_wait[1] < client_wait[1], "and longest"


def test_the_attach_is_the_culprit_and_its_band_lies_on_its_own_clock(room: Room) -> None:
    client = client_of(room)
    shared, alone, _ = data(client, room)["frames"]
    thread = next(lane for lane in alone["lanes"] if lane["label"] == "3731/1")
    attach = max(thread["spans"], key=lambda span: span[10])
    assert (attach[2], attach[10], attach[7], attach[11]) == ("shmat", pytest.approx(2.4734), 1, "0x3C0000000")
    assert {"artifact": attach[4], "line_from": attach[5], "line_to": attach[6]} in alone["culprits"]
    band = next(band for band in alone["bands"] if band["start"] == pytest.approx(9.3187))
    assert band["end"] == pytest.approx(11.7921)
    assert {clock for b in shared["bands"] for clock in b["clocks"]} <= {c["clock"] for c in shared["clocks"]}


def test_a_window_of_one_frame_is_refined(room: Room) -> None:
    client = client_of(room)
    name = data(client, room)["frames"][1]["frame"]
    (frame,) = data(client, room, frame=name, **{"from": "10.26", "to": "10.28"}, px="500")["frames"]
    (errand,) = [lane for lane in frame["lanes"] if lane["label"] == "22626/2"]
    whole = data(client, room)["frames"][1]
    (before,) = [lane for lane in whole["lanes"] if lane["label"] == "22626/2"]
    assert len(errand["spans"]) > len(before["spans"])
    assert sum(span[8] for span in before["spans"]) == before["rows"] == 13


def test_nonsense_in_the_window_is_refused_in_words(room: Room) -> None:
    client = client_of(room)
    for query in ({"from": "x"}, {"to": "nan"}, {"px": "inf"}, {"from": "2", "to": "1"}):
        answer = client.get(
            reverse("timeline-data", args=[room.incident.slug]), query, headers={"Accept": "application/json"}
        )
        assert answer.status_code == 400, query
        assert b"must" in answer.content, query


def test_notes_on_a_stretch_of_time_stand_in_their_frame(room: Room) -> None:
    client = client_of(room)
    clock = data(client, room)["frames"][1]["clocks"][0]["clock"]
    note = notes.add(room, "here", clock=clock, times=(9.4, 9.5))
    shared, alone, _ = data(client, room)["frames"]
    assert [n["id"] for n in alone["notes"]] == [note.pk]
    assert shared["notes"] == []


def test_an_empty_room_has_no_frames_and_no_figure() -> None:
    room = make_room()
    client = client_of(room)
    assert data(client, room) == {"frames": [], "rows": 0}
    assert client.get(reverse("figure-conn-times", args=[room.incident.slug])).json()["figure"] is None


def test_the_figure_shows_three_phases_with_their_medians(room: Room) -> None:
    figure = client_of(room).get(reverse("figure-conn-times", args=[room.incident.slug])).json()["figure"]
    assert [note["text"] for note in figure["layout"]["annotations"]] == [
        "before<br>n 21 · 0.31 s",
        "after-1<br>n 20 · 0.13 s",
        "after-2<br>n 27 · 0.050 s",
    ]


def test_of_many_frames_the_strips_of_the_first_come_at_once(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "AT_ONCE", 1)
    client = client_of(room)
    first, second, _ = data(client, room)["frames"]
    assert first["lanes"]
    assert (second["later"], second["lanes"]) == (True, [])
    (looked_at,) = data(client, room, frame=second["frame"])["frames"]
    assert looked_at["lanes"]
    assert "later" not in looked_at


def test_what_was_purged_is_gone_from_the_timeline_at_once(room: Room) -> None:
    client = client_of(room)
    before = data(client, room)["frames"][1]
    assert any(c["artifact"] == 3 for c in before["culprits"])
    purge.purge(room, 3, "by mistake")
    for frame in data(client, room)["frames"]:  # which lines were cited stays, what they said does not
        assert not any(span[4] == 3 for lane in frame["lanes"] for span in lane["spans"])
        assert not any("shared memory" in band["label"] for band in frame["bands"])


@pytest.mark.parametrize("day", ["2025-06-01T09:59:00", "2025-06-01T17:00:00"])
def test_times_of_day_beside_dated_samples_make_no_axis_of_59_years(day: str) -> None:
    room = make_room()
    for name, text in (("a.strace", rooms.strace_tt()), ("b.vmstat", rooms.vmstat_t(day))):
        make_artifact(room, text.encode(), name, host="db1")
    run_jobs()
    shown = data(client_of(room), room)["frames"]
    assert {frame["axis"] for frame in shown} == {"clock"}
    assert max(frame["t1"] - frame["t0"] for frame in shown) < 120
    by_day = {frame["when"]: frame for frame in shown}
    if "17:00" in day:  # no day fits: an axis of its own, without a day
        assert set(by_day) == {"2025-06-01", "the day is not known"}
        assert (by_day["the day is not known"]["dated"], by_day["the day is not known"]["zero"]) == (False, 0.0)
    else:
        [(when, frame)] = by_day.items()
        begin = min(span[0] for lane in frame["lanes"] for span in lane["spans"])
        assert (when, begin + frame["zero"]) == ("2025-06-01", pytest.approx(rooms.JUNE_TEN + 0.25, abs=0.002))


def test_a_single_sample_comes_as_a_value_with_its_moment() -> None:
    room = make_room()
    make_artifact(room, rooms.vmstat_t(n=2).encode(), "b.vmstat", host="db1")  # the first row is the average since boot
    run_jobs()
    [frame] = data(client_of(room), room)["frames"]
    assert (frame["axis"], frame["at"], frame["t0"] == frame["t1"]) == ("value", "2025-06-01 09:59:10", True)
    assert all(len(lane["samples"]) == 1 for lane in frame["lanes"])
    picture = client_of(room).get(reverse("timeline-picture", args=[room.incident.slug])).content.decode()
    assert "2025-06-01 09:59:10" in picture


def test_a_log_that_no_format_knows_is_drawn_line_by_line() -> None:
    room = make_room()
    log = "".join(f"2026-11-28 02:1{n}:07.100 {level} order {n} sent\n" for n, level in enumerate(("INFO", "ERROR")))
    make_artifact(room, log.encode(), "app.log")
    run_jobs()
    (frame,) = data(client_of(room), room)["frames"]
    (lane,) = frame["lanes"]
    assert (lane["label"], lane["rows"]) == ("log text", 2)
    assert [span[3:7] for span in lane["spans"]] == [["rest", 1, 1, 1], ["error", 1, 2, 2]]


def test_a_moment_that_draws_nothing_has_no_frame() -> None:
    room = make_room()
    make_artifact(room, rooms.vmstat_t(n=1).encode(), "b.vmstat", host="db1")
    run_jobs()
    assert data(client_of(room), room)["frames"] == []
    assert client_of(room).get(reverse("timeline-picture", args=[room.incident.slug])).status_code == 200
