"""Tests of axes for dated and undated artifacts: no longer than their data, true times, no axis for a single sample."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from incidents.content import pictures
from incidents.drawing import frames
from incidents.drawing.axis_times import day, time_of_day, zone_shift_at
from incidents.drawing.exports import trace
from incidents.drawing.frames import Frame
from incidents.drawing.lane import Drawing, Sample, Span, Window
from rules.clocks.clock_map import align
from rules.engine.read import ReadOnly
from tests.rules.clocks import dated_rooms as rooms

DB1 = "db1"
MINUTE = 60.0


def drawn(folder: Path, files, zones=None) -> list[tuple[Frame, list[Drawing]]]:
    """Return the frames of a room as its page gets them, with their strips."""
    case = rooms.case_of(folder / "room", files, zones)
    made = align(case)
    clocks = []
    for clock in case.clocks:
        place = made.places[clock.clock]
        clocks.append(asdict(replace(clock, frame=place.frame, add=place.add, err=place.err)))
    report = {
        "artifacts": [{"id": a.id, "kind": a.file} for a in case.spec.artifacts],
        "clocks": clocks,
        "clock_map": [],
    }
    found = []
    with ReadOnly(case.spec, frames.tables(), case.cache) as source:
        every = [*frames.frames_of(report), frames.in_order(report, source)]
        for frame in filter(None, every):
            strips, _ = frames.draw(frame, source, Window(frame.t0, frame.t1, 1000))
            if fit := frames.fitted(frame, strips):
                found.append((fit, strips))
    return found


def labels(frame: Frame) -> list[str]:
    return [text for _, text in pictures.ticks(Window(frame.t0, frame.t1, 600), frame.axis, 600, frame.zero)]


def test_times_of_day_beside_dated_samples_draw_minutes_and_not_59_years(tmp_path):
    [(frame, strips)] = drawn(tmp_path, {"a": (rooms.strace_tt(), DB1), "b": (rooms.vmstat_t(), DB1)})
    assert frame.t1 - frame.t0 == pytest.approx(110 * 1.04)
    assert {strip.label: len(strip.spans or strip.samples) for strip in strips}["4117/4117"] == 30
    assert (frame.axis, frame.dated, frame.when) == ("clock", True, "2025-06-01")
    assert labels(frame)[0] == "09:59:00"
    assert "2025-06-01 is the only day" in frames.why(frame, {})


def test_a_trace_past_midnight_is_drawn_across_it(tmp_path):
    files = {"a": (rooms.strace_tt(86385), DB1), "b": (rooms.vmstat_t("2025-06-01T23:59:00"), DB1)}
    [(frame, _)] = drawn(tmp_path, files)
    assert frame.t1 - frame.t0 == pytest.approx(110 * 1.04)
    assert (frame.when, "00:00:00" in labels(frame)) == ("2025-06-01 to 2025-06-02", True)


@pytest.mark.parametrize("beside", [rooms.vmstat_t(n=30, step_s=10800), rooms.vmstat_t("2025-06-01T17:00:00")])
def test_where_no_single_day_fits_the_trace_has_an_axis_of_its_own_without_a_day(tmp_path, beside):
    found = drawn(tmp_path, {"a": (rooms.strace_tt(), DB1), "b": (beside, DB1)})
    trace = next(frame for frame, _ in found if frame.clocks[0]["artifact"] == 1)
    assert len(found) == 2
    assert trace.t1 - trace.t0 == pytest.approx(29 * 1.04, rel=1e-3)
    assert (trace.dated, trace.when, trace.epoch, labels(trace)[1]) == (False, "the day is not known", None, "10:00:10")


def test_days_without_a_year_show_no_year(tmp_path):
    [(frame, _)] = drawn(tmp_path, {"a.log": (rooms.syslog(), DB1)})
    assert (frame.when, labels(frame)[0]) == ("06-01, the year is not known", "10:00:00")
    (tmp_path / "one").mkdir()
    [(frame, _)] = drawn(tmp_path / "one", {"a.log": (rooms.syslog(n=1), DB1)})
    assert frame.moment() == "06-01 10:00:00"


def test_epoch_stamps_are_written_as_the_times_that_they_are(tmp_path):
    [(frame, _)] = drawn(tmp_path, {"a": (rooms.strace_ttt(), DB1)})
    assert (frame.when, labels(frame)[1]) == ("2025-06-01, UTC", "10:00:10")
    assert frame.written(0.25, 3) == "10:00:00.250"
    assert frame.epoch == rooms.JUNE_TEN


def test_epoch_stamps_are_written_in_the_zone_of_the_host_or_the_only_one_of_the_room(tmp_path):
    zones = {"db1": "Europe/Warsaw"}
    [(frame, _)] = drawn(tmp_path, {"a": (rooms.strace_ttt(), DB1)}, zones)
    assert (frame.when, labels(frame)[1]) == ("2025-06-01, Europe/Warsaw", "12:00:10")
    (tmp_path / "two").mkdir()
    both = {"a": (rooms.strace_ttt(), "web1"), "b": (rooms.vmstat_t(), DB1)}
    shown = {frame.clocks[0]["host"]: frame.shown_zone for frame, _ in drawn(tmp_path / "two", both, zones)}
    assert shown["web1"] == "Europe/Warsaw"


def test_an_axis_over_a_change_of_clocks_is_in_utc(tmp_path):
    october = 1761436800  # 2025-10-26 00:00 UTC, an hour before Warsaw's clocks go back
    text = rooms.strace_ttt(october, 2) + rooms.strace_ttt(october + 7200, 2)
    [(frame, _)] = drawn(tmp_path, {"a": (text, DB1)}, {"db1": "Europe/Warsaw"})
    assert frame.when == "2025-10-26, UTC"


def test_epoch_stamps_lend_their_day_to_a_trace_of_the_same_zone(tmp_path):
    files = {"a": (rooms.strace_tt(12 * 3600), DB1), "b": (rooms.strace_ttt(), DB1)}
    [(frame, _)] = drawn(tmp_path, files, {"db1": "Europe/Warsaw"})
    assert frame.t1 - frame.t0 == pytest.approx(29 * 1.04, rel=1e-3)
    assert (frame.when, labels(frame)[1]) == ("2025-06-01, Europe/Warsaw", "12:00:10")


@pytest.mark.parametrize(("text", "length"), [(rooms.strace_r(), 0.029), (rooms.truss_d(), 1.9)])
def test_relative_stamps_stay_on_seconds_of_their_own(tmp_path, text, length):
    found = {frame.axis: frame for frame, _ in drawn(tmp_path, {"a": (text, DB1), "b": (rooms.vmstat_t(), DB1)})}
    assert set(found) == {"seconds", "clock"}
    trace = found["seconds"]
    assert trace.t1 - trace.t0 == pytest.approx(length * 1.04, rel=0.01)
    assert (trace.zero, trace.when, trace.dated) == (0.0, "", False)
    assert frames.why(trace, {}) == "its own clock, seconds since the trace began"


def test_a_sample_alone_is_a_value_with_its_moment_and_no_axis(tmp_path):
    [(frame, strips)] = drawn(tmp_path, {"b": (rooms.vmstat_t(n=2), DB1)})  # the first row is the average since boot
    assert (frame.axis, frame.t0 == frame.t1, {len(strip.samples) for strip in strips}) == ("value", True, {1})
    assert frame.moment() == "2025-06-01 09:59:10"


def test_an_event_alone_is_a_moment_and_no_axis(tmp_path):
    found = drawn(tmp_path, {"a.log": (rooms.syslog(n=1), DB1), "b": (rooms.vmstat_t(), "web1")})
    frame, strips = next(one for one in found if one[0].axis == "value")
    assert ([strip.lane for strip in strips], frame.moment()) == (["logs"], "2025-06-01 10:00:00")


def test_a_lone_average_since_boot_draws_no_frame(tmp_path):
    assert drawn(tmp_path, {"b": (rooms.vmstat_alone(), DB1)}) == []
    (tmp_path / "stamped").mkdir()
    assert drawn(tmp_path / "stamped", {"b": (rooms.vmstat_t(n=1), DB1)}) == []


def test_a_call_alone_is_as_long_as_itself(tmp_path):
    [(frame, _)] = drawn(tmp_path, {"a": (rooms.strace_ttt(n=1).replace("0.000100", "5.000000"), DB1)})
    assert frame.t1 - frame.t0 == pytest.approx(5 * 1.04)
    assert frame.axis == "clock"


def test_the_last_call_lies_on_the_axis_to_its_end(tmp_path):
    text = rooms.strace_ttt(n=3) + f'4117 {rooms.JUNE_TEN + 3}.250000 read(3, "x", 4096) = 1 <60.000000>\n'
    [(frame, _)] = drawn(tmp_path, {"a": (text, DB1)})
    assert frame.t1 - frame.t0 == pytest.approx(63 * 1.04)


def test_a_picture_of_a_moment_writes_values(tmp_path):
    found = drawn(tmp_path, {"a.log": (rooms.syslog(n=1), DB1), "b": (rooms.vmstat_t(), "web1")})
    frame, strips = next(one for one in found if one[0].axis == "value")
    window = Window(frame.t0, frame.t1, 100)
    made = pictures.svg(
        [pictures.Picture("t", "w", frame.axis, window, strips, (), (), frame.zero, frame.moment())], 800
    )
    assert "2025-06-01 10:00:00; w" in made
    assert "request 0 was served" in made
    assert '<path d="M8' not in made


def test_a_trace_export_of_undated_times_does_not_pretend_a_day(tmp_path):
    [(frame, _)] = drawn(tmp_path, {"a": (rooms.strace_tt(), DB1)})
    row = {"lane": "syscalls", "strip": "4117", "host": "db1", "artifact": 1, "line_from": 1, "line_to": 1, "clock": "1.1:1",
           "begin_s": 36000.25, "end_s": 36000.2501, "label": "read", "value": None, "unit": None, "at_most": False}  # fmt: skip
    text = "".join(trace.events(frame, [row], {}))
    assert '"ts": 36000250000.0' in text


def test_an_order_of_one_place_is_a_value_and_of_several_an_axis():
    clock = {"clock": "1.1:1", "artifact": 1, "kind": "interval", "t_begin": None, "t_end": None}
    frame = Frame(frames.ORDER, (clock,), 0.0, 2.5)
    strips = [
        Drawing("vmstat.r", "1.1:1", None, "r", "", samples=[Sample(k, k + 1.0, 1, 1, 1, 1, 3, 1) for k in at])
        for at in ((1.0,), (0.0, 1.0))
    ]
    assert (one := frames.fitted(frame, strips[:1])) is not None
    assert (one.axis, one.scale, one.moment()) == ("value", "order", "")
    assert frames.fitted(frame, strips[1:]) is frame
    assert frames.fitted(frame, []) is None


def line(at: float) -> Span:
    return Span(at, at, "a line", "rest", 1, 1, 1, False, 1, 0.0, 0.0)


def test_a_clock_that_draws_nothing_makes_no_axis_longer():
    clocks = tuple(
        {
            "clock": f"{n}.1:1",
            "artifact": n,
            "kind": "wall-utc",
            "base": "2025-06-01",
            "t_begin": begin,
            "t_end": begin + 10,
        }
        for n, begin in ((1, 0.0), (2, 80000.0))
    )
    frame = Frame("A", clocks, 0.0, 80010.0)
    fit = frames.fitted(frame, [Drawing("logs", "1.1:1", None, "log", "s", [line(0.0), line(10.0)])])
    assert fit is not None
    assert (fit.t0, fit.t1) == pytest.approx((-0.2, 10.2))


def test_seconds_since_1970_keep_their_microseconds():
    assert time_of_day(0.123456, 1748772000.0, 6) == "10:00:00.123456"
    assert time_of_day(-1.5, 86400.0 * 20000, 1) == "23:59:58.5"
    assert day(1e18) == "a day out of the calendar"
    assert zone_shift_at("UTC", 1e18) is None
    assert zone_shift_at(None, 0.0) is None


def test_places_of_a_scale_are_written_alike_everywhere():
    clock = {"clock": "1.1:1", "host": None, "kind": "boot-relative", "t_begin": 3.0, "t_end": 3.0}
    frame = Frame("A", (clock,), 3.0, 3.0)
    assert (frame.axis, frame.moment()) == ("value", "3.000 s")
    assert frames.why(frame, {}) == "its own clock, seconds since the host started"


def test_a_picture_says_how_many_axes_it_leaves_out():
    assert "676 more axes are not drawn here." in pictures.svg([], 800, 676)
    assert "not drawn here" not in pictures.svg([], 800)
