"""Tests of ties, frames and refusals. Times of wall clocks are written as seconds of the minute."""

from __future__ import annotations

import polars as pl
import pytest

from rules.clocks import clock_map as clocks
from rules.clocks.readings import absolute, base_of, epoch, zone_shift
from rules.clocks.ties import (
    Start,
    Tie,
    of_anchors,
    of_covers,
    of_hosts,
    of_servers,
    of_starts,
    of_statements,
    zone_checks,
    zone_guess,
)
from rules.derived import anchors as anchors_table
from rules.derived import wait_cover
from rules.model import Clock, Offset
from rules.statistics.robust import Interval


def sure(value):
    assert value is not None
    return value


def clock(name, kind="wall-local", host=None, base=None, zone=None, begin=0.0, end=100.0):
    return Clock(name, int(name[0]), 1, kind, base, zone, host, ((1, 9),), begin, end, name)


CLIENT, LISTENER = clock("1.1:1", host="gw", begin=39.0, end=42.0), clock("2.1:1", host="db", begin=39.0, end=42.0)
TRUSS = clock("3.1:1", "trace-relative", host="db", begin=8.0, end=13.0)


def pair(c0, c1, lo, hi, same_conn="statement", residence="partly"):
    return {
        "client_clock": "1.1:1", "server_clock": "2.1:1", "c0": c0, "c1": c1, "off_lo": lo, "off_hi": hi, "same_conn": same_conn, "residence": residence,
    }  # fmt: skip


def covers(*rows):
    return wait_cover.TABLE.rows(rows)


SEED001 = pair(39.329, 41.201, 0.157, 0.237)


# --- ties


def test_one_pair_gives_its_own_interval():
    (tie,), checks = of_covers(covers(SEED001))
    assert (tie.clock, tie.ref, tie.off, tie.accepted, tie.n_pairs) == (
        "2.1:1",
        "1.1:1",
        Interval(0.157, 0.237),
        True,
        1,
    )
    assert "1 request/response pair" in tie.reason
    assert "statement" in tie.reason
    assert checks == []


@pytest.mark.parametrize("weak", [{"same_conn": "none"}, {"residence": "none"}])
def test_a_pair_that_proves_nothing_ties_nothing(weak):
    assert of_covers(covers({**SEED001, **weak})) == ([], [])


def test_several_pairs_narrow_the_offset_and_bound_the_drift():
    rows = [pair(t, t + 1.0, 0.15 - 0.001 * i, 0.24 + 0.002 * i, "id") for i, t in enumerate((0.0, 100.0, 200.0))]
    (tie,), checks = of_covers(covers(*rows))
    assert tie.accepted
    assert 0.14 < sure(tie.off).lo < sure(tie.off).hi < 0.25
    assert sure(tie.drift).lo <= 0 <= sure(tie.drift).hi
    assert (tie.first, tie.last, checks) == (0.0, 201.0, [])


def test_a_clock_that_was_set_is_refused_and_told():
    rows = [
        pair(10.0 * t, 10.0 * t + 1.0, 0.15, 0.24) if t < 4 else pair(10.0 * t, 10.0 * t + 1.0, 7.15, 7.24)
        for t in range(8)
    ]
    (tie,), (check,) = of_covers(covers(*rows))
    assert (tie.accepted, tie.off) == (False, None)
    assert "was set" in tie.reason
    assert (check.test, check.n_anchors) == ("step", 8)
    assert check.size_s == pytest.approx(7.0, abs=0.01)


def test_pairs_that_contradict_each_other_are_refused():
    (tie,), checks = of_covers(covers(pair(0.0, 1.0, 0.1, 0.2), pair(2.0, 3.0, 0.5, 0.6)))
    assert (tie.accepted, checks) == (False, [])
    assert "contradict" in tie.reason


def test_align_seed001_truss():
    # fork 8.6926 -> hello 12.0252 in the trace; the listener waited 39.566 -> 41.358
    traced = [Start("3.1:1", "db", 3.3326, 12.0252)]
    awaited = [Start("2.1:1", "db", 1.792, 41.358)]
    (tie,) = of_starts(traced, awaited, set())
    assert not tie.accepted
    assert "interval mismatch" in tie.reason
    assert "1.5406" in tie.reason
    assert "0.067" in tie.reason
    assert sure(tie.off).lo == pytest.approx(-29.3328)


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_the_refusal_holds_at_other_speeds(factor):
    (tie,) = of_starts(
        [Start("3.1:1", None, 3.3326 * factor, 12.0)], [Start("2.1:1", None, 1.792 * factor, 41.0)], set()
    )
    assert (tie.accepted, "interval mismatch" in tie.reason) == (False, True)


def test_one_equal_interval_is_not_enough_and_three_are():
    lengths = [0.5, 1.5, 2.5]
    traced = [Start("3.1:1", "db", d, 100.0 * i + d) for i, d in enumerate(lengths)]
    awaited = [Start("2.1:1", "db", d, 100.0 * i + d + 500.0) for i, d in enumerate(lengths)]
    (one,) = of_starts(traced[:1], awaited[:1], set())
    assert (one.accepted, "3 are needed" in one.reason) == (False, True)
    (three,) = of_starts(traced, awaited, set())
    assert (three.accepted, three.n_pairs) == (True, 3)
    assert sure(three.off).lo < -500 < sure(three.off).hi


def test_short_equal_starts_by_the_hundred_are_accidents():
    # 11 ms each: all starts are equally long.
    traced = [Start("3.1:1", None, 0.011, 0.1 * i) for i in range(100)]
    awaited = [Start("2.1:1", None, 0.012, 0.1 * i + 7.03) for i in range(100)]
    (tie,) = of_starts(traced, awaited, set())
    assert not tie.accepted


def test_each_start_is_used_once():
    # Two equal starts in the trace and one wait: one match, not two.
    traced = [Start("3.1:1", None, 1.0, 10.0), Start("3.1:1", None, 1.0, 10.01)]
    (tie,) = of_starts(traced, [Start("2.1:1", None, 1.0, 90.0)], set())
    assert (tie.accepted, tie.n_pairs) == (False, 1)


def test_starts_of_other_hosts_or_tied_clocks_are_left_alone():
    traced, awaited = [Start("3.1:1", "a", 1.0, 1.0)], [Start("2.1:1", "b", 1.0, 9.0)]
    assert of_starts(traced, awaited, set()) == []
    assert of_starts(traced, [Start("2.1:1", "a", 1.0, 9.0)], {frozenset(("3.1:1", "2.1:1"))}) == []


def anchor(t_a, t_b, **more):
    row = {
        "clock_a": "3.1:1",
        "clock_b": "2.1:1",
        "t_a": t_a,
        "t_b": t_b,
        "method": "pid",
        "token": "3731",
        "p_accident": 0.0001,
        "direction": "a_before_b",
    }
    return {**row, **more}


def anchors(*rows):
    return anchors_table.TABLE.rows(rows)


def test_a_process_number_in_both_ties_within_20_ms():
    (tie,) = of_anchors(anchors(anchor(12.0252, 41.3590)))
    assert tie.accepted
    assert (sure(tie.off).lo, sure(tie.off).hi) == pytest.approx((-29.3338, -29.3138))


def test_shared_identifiers_that_disagree_are_refused():
    (tie,) = of_anchors(anchors(anchor(12.0, 41.0), anchor(20.0, 50.0)))
    assert (tie.accepted, "apart" in tie.reason) == (False, True)


@pytest.mark.parametrize(
    "weak", [{"p_accident": 0.5}, {"method": "log address"}, {"method": "pipe payload", "clock_b": "3.1:1"}]
)
def test_common_identifiers_tie_nothing(weak):
    assert of_anchors(anchors(anchor(12.0, 41.0, **weak))) == []


def test_one_hosts_wall_clocks_are_one_clock():
    (tie,) = of_hosts([clock("1.1:1", host="db"), clock("2.1:1", host="db"), clock("3.1:1"), TRUSS])
    assert (tie.clock, tie.ref, tie.accepted) == ("2.1:1", "1.1:1", True)
    assert of_hosts([clock("1.1:1", host="db"), clock("2.1:1", "wall-utc", host="db")]) == []
    assert of_hosts([CLIENT, LISTENER]) == []


def test_hosts_that_read_one_servers_clock_are_tied_by_what_they_saw():
    day = "1970-01-01T00:00:00"
    db, more, app, other = (
        clock(f"{n}.1:1", "wall-utc", host, day, "UTC") for n, host in ((1, "db"), (2, "db"), (3, "app"), (4, "far"))
    )
    seen = {
        (1, 1): ("room.example.org", -149.0, -147.5),
        (2, 1): ("room.example.org", -149.0, -147.5),
        (3, 1): ("room.example.org", 0.1, 1.3),
        (4, 1): ("another.example.org", 0.0, 1.0),
    }
    (tie,) = of_servers([db, more, app, other], seen)
    assert (tie.clock, tie.ref, tie.method, tie.accepted) == ("3.1:1", "1.1:1", "server clock", True)
    assert (sure(tie.off).lo, sure(tie.off).hi) == pytest.approx((147.6, 150.3))
    assert tie.reason == "collectors on app and db both read the clock of room.example.org"
    places, _, main = clocks.place([db, more, app, other], [*of_hosts([db, more]), tie], None)
    assert main == "A"
    assert [places[one.clock].frame for one in (db, more, app)] == ["A", "A", "A"]
    assert places["4.1:1"].frame != "A"
    # A local time without a zone is no instant.
    assert of_servers([clock("1.1:1", host="db"), app], seen) == []


def test_a_statement_that_contradicts_a_measurement_is_refused():
    said = of_statements([Offset("2.1:1", "1.1:1", 3.0, 3.1, "DBA", "we saw it")])
    fitting = of_statements([Offset("1.1:1", "2.1:1", -0.2, -0.1, "DBA")])
    (measured,), _ = of_covers(covers(SEED001))
    assert [t.accepted for t in clocks.settled([measured, *said])] == [True, False]
    assert "contradicts request/response" in clocks.settled([measured, *said])[1].reason
    assert [t.accepted for t in clocks.settled([measured, *fitting])] == [True, True]


def test_zone_guess():
    assert zone_guess([(7200.4, 0.0), (7300.4, 100.0), (7400.4, 200.0)]) == 7200
    assert zone_guess([(7200.4, 0.0), (7300.4, 100.0)]) is None
    assert zone_guess([(0.4, 0.0), (100.4, 100.0), (200.4, 200.0)]) is None
    assert zone_guess([(7200.4, 0.0), (7300.4, 100.0), (11_000.0, 200.0)]) is None
    assert zone_guess([(7400.0, 0.0), (7500.0, 100.0), (7600.0, 200.0)]) is None


def test_zone_checks_speak_of_wall_clocks_only():
    rows = anchors(*(anchor(t + 7200.4, t, clock_a="1.1:1") for t in (0.0, 100.0, 200.0)))
    (check,) = zone_checks(rows, [CLIENT, LISTENER])
    assert (check.clock, check.ref, check.test, check.size_s, check.n_anchors) == ("1.1:1", "2.1:1", "zone", 7200.0, 3)
    assert zone_checks(rows, [clock("1.1:1", "trace-relative"), LISTENER]) == []
    assert (
        zone_checks(anchors(*(anchor(t + 0.4, t, clock_a="1.1:1") for t in (0.0, 100.0, 200.0))), [CLIENT, LISTENER])
        == []
    )


# --- frames


def test_unaligned_stays_unaligned():
    places, chained, main = clocks.place([CLIENT, LISTENER, TRUSS], [], None)
    assert {c: p.frame for c, p in places.items()} == {"1.1:1": "A", "2.1:1": "B", "3.1:1": "C"}
    assert (chained, main) == ([], None)


def test_seed001_draws_two_clocks_on_one_axis_and_the_third_apart():
    ties, _ = of_covers(covers(SEED001))
    refused = of_starts([Start("3.1:1", "db", 3.3326, 12.0252)], [Start("2.1:1", "db", 1.792, 41.358)], set())
    places, _, main = clocks.place([CLIENT, LISTENER, TRUSS], [*ties, *refused], None)
    assert {c: p.frame for c, p in places.items()} == {"1.1:1": "A", "2.1:1": "A", "3.1:1": "B"}
    assert main == "A"
    assert (places["1.1:1"].add, places["1.1:1"].err) == (0.0, 0.0)
    assert places["2.1:1"].add == pytest.approx(-0.197)
    assert places["2.1:1"].err == pytest.approx(0.040, abs=1e-3)
    found = clocks.ClockMap((*ties, *refused), (), places, main)
    assert set(found.aligned) == {"1.1:1", "2.1:1"}
    assert found.frames["3.1:1"] == "B"
    assert found.rows().select("clock", "ref_clock", "off_lo", "off_hi", "accepted").rows()[0] == (
        "2.1:1",
        "1.1:1",
        0.157,
        0.237,
        True,
    )
    assert found.rows().row(1, named=True)["accepted"] is False
    assert found.check_rows().is_empty()


def test_far_from_its_evidence_a_clock_gets_wider():
    ties, _ = of_covers(covers(SEED001))
    long = clock("2.1:1", host="db", begin=39.0, end=4039.0)
    places, _, _ = clocks.place([CLIENT, long], ties, None)
    assert places["2.1:1"].err == pytest.approx(0.040 + 500e-6 * 3998, abs=0.002)


def tie(one, other, lo, hi, accepted=True):
    return Tie(one, other, Interval(lo, hi), "statement", accepted)


def test_chains_add_along_the_tightest_path():
    #  4 - 1: wide (1 s); 4 - 3 - 2 - 1: 0.1 + 0.1 + 0.1
    ties = [
        tie("2.1:1", "1.1:1", 1.0, 1.1),
        tie("3.1:1", "2.1:1", 2.0, 2.1),
        tie("3.1:1", "4.1:1", -4.1, -4.0),
        tie("4.1:1", "1.1:1", 6.5, 7.5),
    ]
    known = [clock(f"{i}.1:1") for i in (1, 2, 3, 4)]
    places, chained, main = clocks.place(known, ties, None)
    ref = places["1.1:1"].ref
    off = {c: clocks.along(p) for c, p in clocks.tightest("1.1:1", ties).items()}
    assert (off["4.1:1"].lo, off["4.1:1"].hi) == pytest.approx((7.0, 7.3))
    assert {p.frame for p in places.values()} == {"A"}
    assert main == "A"
    assert all(t.method == "chain" and t.ref == ref for t in chained)


def test_refused_ties_lead_nowhere():
    assert set(clocks.tightest("1.1:1", [tie("2.1:1", "1.1:1", 0.0, 1.0, accepted=False)])) == {"1.1:1"}


def test_the_incidents_zero_needs_an_absolute_clock():
    utc = clock("1.1:1", "trace-relative", host="db", base="2016-04-14T05:58:00+00:00")
    local = clock("2.1:1", host="gw")
    places, _, main = clocks.place([local, utc], [], "2016-04-14T05:57:00Z")
    assert (places["1.1:1"].frame, places["1.1:1"].add, places["1.1:1"].since, main) == ("A", 0.0, 60.0, "A")
    assert clocks.ClockMap((), (), places, main).aligned["1.1:1"].add == 60.0
    assert clocks.place([local], [], "2016-04-14T05:57:00Z")[2] is None


def test_many_clocks_get_longer_letters():
    many = [Clock(f"{i}.1:1", i, 1, "none", None, None, None, (), None, None, "") for i in range(1, 30)]
    frames = [p.frame for p in clocks.place(many, [], None)[0].values()]
    assert (frames[0], frames[25], frames[26]) == ("A", "Z", "AA")


# --- readings


def test_readings():
    assert epoch("nonsense") is None
    assert base_of(clock("1.1:1")) == 0
    assert base_of(clock("1.1:1", base="1970-01-02")) == 86400
    assert base_of(clock("1.1:1", base="2016-07-14", zone="Europe/Warsaw")) == epoch("2016-07-14T00:00:00+02:00")
    assert zone_shift("No/Where", 0.0) is None
    assert zone_shift(None, 0.0) is None
    assert [absolute(clock("1.1:1", k)) for k in ("wall-utc", "wall-local", "trace-relative", "none")] == [
        True,
        False,
        False,
        False,
    ]
    assert absolute(clock("1.1:1", base="1970-01-01T00:00:00", zone="UTC"))
    assert not absolute(clock("1.1:1", zone="UTC")), "times of day without a date are no instants"


def test_rows_keep_their_columns_when_empty():
    empty = clocks.ClockMap((), (), {}, None)
    assert empty.rows().schema == pl.Schema(dict(clocks.CLOCK_MAP))
    assert empty.check_rows().schema == pl.Schema(dict(clocks.CLOCK_CHECKS))
