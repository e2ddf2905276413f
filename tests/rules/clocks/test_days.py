"""Tests that stamps without a day get the day of dated evidence if exactly one fits, else the reason why not."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import pytest

from rules.clocks.clock_map import align
from rules.clocks.days import fitting_days, fitting_years, with_days
from rules.clocks.readings import absolute, base_of, epoch
from rules.clocks.ties import of_hosts
from rules.judging.evaluate import evaluate
from rules.model import Clock
from rules.reporting import html_page, terminal
from tests.rules.clocks import dated_rooms as rooms

HOUR = 3600.0
JUNE = epoch("2025-06-01")
assert JUNE is not None


def undated(begin: float, end: float, host: str | None = "db1", lacks: str = "day", **more) -> Clock:
    kind, zone = more.get("kind", "wall-local"), more.get("zone")
    return Clock("1.1:1", 1, 1, kind, None, zone, host, ((1, 9),), begin, end, "1.1:1", lacks=lacks)  # type: ignore[arg-type]


def dated(begin: float, end: float, number: int = 2, host: str | None = "db1", kind="wall-local", zone=None) -> Clock:
    """Return a clock whose stamps count from 2025-06-01."""
    name = f"{number}.1:1"
    return Clock(name, number, 1, kind, "2025-06-01T00:00:00", zone, host, ((1, 9),), begin, end, name)


def first(*clocks: Clock) -> Clock:
    return with_days(clocks)[0]


def test_the_one_day_that_fits_becomes_the_base_with_its_reason():
    found = first(undated(10 * HOUR, 10.5 * HOUR), dated(9 * HOUR, 11 * HOUR), dated(9 * HOUR, 12 * HOUR, 3))
    assert (found.base, found.lacks) == ("2025-06-01T00:00:00", None)
    assert found.base_why == (
        "no date is printed; 2025-06-01 is the only day on which these times meet the dated times of db1 (artifacts 2 and 3)"
    )
    assert base_of(found) == JUNE


@pytest.mark.parametrize(
    ("span", "days"),
    [
        ((9.5, 10.0), ["2025-06-01"]),  # within
        ((8.0, 9.0), ["2025-06-01"]),  # they touch
        ((11.0, 12.0), ["2025-06-01"]),
        ((8.0, 8.9), []),  # over before it began
        ((11.1, 12.0), []),
        ((8.0, 32.0), ["2025-06-01"]),  # around it
        ((8.0, 34.0), ["2025-05-31", "2025-06-01"]),  # more than a day long: begun on either
    ],
)
def test_times_of_day_fit_where_they_meet_the_dated_span(span, days):
    found = fitting_days((span[0] * HOUR, span[1] * HOUR), (JUNE + 9 * HOUR, JUNE + 11 * HOUR))
    assert [fit.name for fit in found] == days


def test_a_trace_past_midnight_counts_for_the_day_it_began_on():
    night = dated(23.9 * HOUR, 24.1 * HOUR)
    assert first(undated(23.95 * HOUR, 24.05 * HOUR), night).base == "2025-06-01T00:00:00"
    assert first(undated(0.01 * HOUR, 0.05 * HOUR), night).base == "2025-06-02T00:00:00"


def test_two_days_that_fit_or_none_leave_it_open_with_the_reason():
    two = first(undated(10 * HOUR, 11 * HOUR), dated(9 * HOUR, 35 * HOUR))
    assert (two.base, two.lacks) == (None, "day")
    assert two.base_why == (
        "no date is printed, and these times meet the dated times of db1 (artifact 2) on 2025-06-01 and 2025-06-02"
    )
    none = first(undated(15 * HOUR, 16 * HOUR), dated(9 * HOUR, 11 * HOUR))
    assert (none.base, str(none.base_why)[-9:]) == (None, "on no day")
    month = first(undated(10 * HOUR, 11 * HOUR), dated(0, 30 * 24 * HOUR))
    assert "30 days from 2025-06-01 to 2025-06-30" in str(month.base_why)
    alone = first(undated(10 * HOUR, 11 * HOUR))
    assert alone.base_why == "no date is printed, and no evidence beside it tells the day"


def test_two_recordings_of_one_host_span_the_days_between_them():
    ends = dated(9 * HOUR, 11 * HOUR), dated(33 * HOUR, 35 * HOUR, 3)
    assert first(undated(10 * HOUR, 10.1 * HOUR), *ends).lacks == "day"
    assert first(undated(15 * HOUR, 15.1 * HOUR), *ends).base == "2025-06-01T00:00:00"


def test_the_host_decides_before_the_room():
    far = dated(33 * HOUR, 35 * HOUR, 3, "web1")
    assert first(undated(10 * HOUR, 11 * HOUR), dated(9 * HOUR, 11 * HOUR), far).base == "2025-06-01T00:00:00"
    room = first(undated(10 * HOUR, 11 * HOUR), far)
    assert (room.base, "of web1 (artifact 3)" in str(room.base_why)) == ("2025-06-02T00:00:00", True)
    # The host's own evidence speaks against the day of another host.
    assert first(
        undated(15 * HOUR, 16 * HOUR), dated(9 * HOUR, 11 * HOUR), dated(14 * HOUR, 17 * HOUR, 3, "web1")
    ).lacks
    nobody = first(undated(10 * HOUR, 11 * HOUR, None), dated(9 * HOUR, 11 * HOUR, host=None))
    assert (nobody.base, "of the room (artifact 2)" in str(nobody.base_why)) == ("2025-06-01T00:00:00", True)


def test_instants_in_utc_have_a_day_only_in_a_known_zone():
    utc = dated(23 * HOUR, 23.5 * HOUR, kind="wall-utc")
    assert (
        first(undated(8 * HOUR, 8.2 * HOUR), utc).base_why
        == "no date is printed, and no evidence beside it tells the day"
    )
    assert first(undated(8 * HOUR, 8.2 * HOUR, zone="Asia/Tokyo"), utc).base == "2025-06-02T00:00:00"
    local = dated(17 * HOUR, 17.5 * HOUR, zone="America/Denver")
    assert first(undated(8 * HOUR, 8.2 * HOUR, zone="Asia/Tokyo"), local).base == "2025-06-02T00:00:00"
    base = first(undated(1 * HOUR, 1.2 * HOUR, zone="Europe/Warsaw"), utc)
    assert (base.base, base_of(base) + HOUR) == ("2025-06-02T00:00:00", JUNE + 23 * HOUR)


def test_a_borrowed_day_is_not_lent_on():
    chain = [undated(10 * HOUR, 30 * HOUR), dated(9 * HOUR, 11 * HOUR)]
    third = Clock("3.1:1", 3, 1, "wall-local", None, None, "db1", ((1, 2),), 2 * HOUR, 3 * HOUR, "3.1:1", lacks="day")
    made = with_days([*chain, third])
    assert (made[0].base, made[2].base) == ("2025-06-01T00:00:00", None)


def test_parts_of_one_clock_share_their_day():
    one, other = undated(9.5 * HOUR, 9.6 * HOUR), undated(10 * HOUR, 12 * HOUR)
    made = with_days([one, other, dated(11.5 * HOUR, 13 * HOUR)])
    assert [clock.base for clock in made[:2]] == ["2025-06-01T00:00:00"] * 2


@pytest.mark.parametrize(
    ("day", "years"),
    [
        (151, ["2025"]),  # 31 May: the days of 1972 are counted, with 29 February
        (152, ["2025"]),
        (40, []),
    ],
)
def test_days_without_a_year_fit_the_year_of_dated_evidence(day, years):
    dated_span = (epoch("2025-05-31") or 0.0, (epoch("2025-06-01") or 0.0) + 3600)
    found = fitting_years((day * 86400.0, day * 86400.0 + 60), dated_span)
    assert [fit.name for fit in found] == years


def test_days_without_a_year_keep_their_date_in_every_year():
    may = {
        year: fitting_years((152 * 86400.0, 152 * 86400.0), (at, at))
        for year in (2024, 2025)
        if (at := epoch(f"{year}-06-01"))
    }
    assert {year: [(str(f.base), f.name) for f in fits] for year, fits in may.items()} == {
        2024: [("2024-01-01", "2024")],
        2025: [("2024-12-31", "2025")],
    }
    leap_day = epoch("2025-03-01") or 0.0
    assert fitting_years((59 * 86400.0, 59 * 86400.0 + 60), (leap_day - 86400, leap_day + 86400)) == []
    across = (58 * 86400.0, 61 * 86400.0)  # 28 February to 2 March, counted with a 29th
    assert fitting_years(across, (leap_day - 86400, leap_day + 86400)) == []
    new_year = fitting_years((364 * 86400.0, 367 * 86400.0), (epoch("2025-12-31") or 0.0,) * 2)
    assert [fit.name for fit in new_year] == ["2025"]


def test_a_clock_out_of_the_calendar_breaks_nothing():
    ages = first(undated(10 * HOUR, 11 * HOUR), dated(-1e14, 1e14))
    assert (ages.lacks, str(ages.base_why).endswith(" on 1000 days or more")) == ("day", True)
    assert first(undated(10 * HOUR, 11 * HOUR, lacks="year"), dated(-1e14, 1e14)).lacks == "year"


def test_only_clocks_that_lack_the_same_are_tied_on_one_host():
    day, year = undated(10 * HOUR, 11 * HOUR), dated(9 * HOUR, 11 * HOUR, 3)
    assert of_hosts([day, year]) == []
    assert [tie.accepted for tie in of_hosts(with_days([day, year]))] == [True]
    assert not absolute(undated(1.0, 2.0, kind="wall-utc"))


# --- artifacts of one host, read from text ----------------------------------------------------------------------------


def places(case):
    made = align(case)
    return {clock.artifact: made.places[clock.clock] for clock in case.clocks}


def test_a_trace_of_times_of_day_stands_beside_dated_samples_of_its_host(tmp_path):
    case = rooms.case_of(
        tmp_path / "room", {"a.strace": (rooms.strace_tt(), "db1"), "b.vmstat": (rooms.vmstat_t(), "db1")}
    )
    trace, samples = places(case).values()
    assert trace.frame == samples.frame
    begun = case.clocks[0].t_begin + trace.add, case.clocks[1].t_begin + samples.add
    assert begun[0] - begun[1] == pytest.approx(60.25, abs=0.002), "the samples begin a minute before"
    assert [clock.base for clock in case.clocks] == ["2025-06-01T00:00:00", "1970-01-01T00:00:00"]


def test_a_syslog_without_a_year_stands_beside_dated_samples_of_its_host(tmp_path):
    case = rooms.case_of(tmp_path / "room", {"a.log": (rooms.syslog(), "db1"), "b.vmstat": (rooms.vmstat_t(), "db1")})
    log, samples = places(case).values()
    assert log.frame == samples.frame
    assert case.clocks[0].t_begin + log.add - case.clocks[1].t_begin - samples.add == pytest.approx(60, abs=0.002)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("two days fit", {"a": (rooms.strace_tt(), "db1"), "b": (rooms.vmstat_t(n=30, step_s=10800), "db1")}),
        ("no day fits", {"a": (rooms.strace_tt(15 * 3600), "db1"), "b": (rooms.vmstat_t(), "db1")}),
        ("day and year", {"a": (rooms.strace_tt(), "db1"), "b": (rooms.syslog(), "db1")}),
        ("no zone", {"a": (rooms.strace_tt(), "db1"), "b": (rooms.strace_ttt(), "db1")}),
    ],
)
def test_clocks_that_no_day_ties_stay_apart(tmp_path, name, files):
    one, other = places(rooms.case_of(tmp_path / "room", files)).values()
    assert one.frame != other.frame, name


def test_epoch_stamps_and_times_of_day_meet_in_the_zone_of_the_host(tmp_path):
    files = {"a": (rooms.strace_tt(12 * 3600), "db1"), "b": (rooms.strace_ttt(), "db1")}
    case = rooms.case_of(tmp_path / "room", files, {"db1": "Europe/Warsaw"})
    one, other = places(case).values()
    assert one.frame == other.frame
    assert case.clocks[0].t_begin + one.add == pytest.approx(case.clocks[1].t_begin + other.add, abs=0.002)


def test_the_reports_say_which_day_was_borrowed(tmp_path):
    files = {"a.strace": (rooms.strace_tt(), "db1"), "b.vmstat": (rooms.vmstat_t(), "db1")}
    made = evaluate(rooms.case_of(tmp_path / "room", files).spec, rules=())
    words = "a.strace: no date is printed; 2025-06-01 is the only day on which these times meet the dated times of db1"
    assert words in " ".join(terminal.report(made).split())
    assert words in html_page.page(made)
    assert made.clocks[0].base == "2025-06-01T00:00:00"
    assert (made.clocks[0].lacks, made.clocks[1].base_why) == (None, None)


def test_a_thousand_traces_beside_a_thousand_dated_files_take_no_long():
    many = [replace(undated(10 * HOUR, 11 * HOUR), clock=f"{n}.1:1", artifact=n) for n in range(1, 1500)]
    beside = [dated(9 * HOUR, 11 * HOUR, n) for n in range(2000, 3500)]
    began = perf_counter()
    made = with_days([*many, *beside])
    assert perf_counter() - began < 2
    assert {clock.base for clock in made} == {"2025-06-01T00:00:00"}
    assert str(made[0].base_why).endswith("(artifacts 2000, 2001, 2002 and 1497 more)")
