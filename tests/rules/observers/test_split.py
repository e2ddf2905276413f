"""Tests that a part with at least half of a duration stands out; short durations and even splits do not."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.split import HIGH_PCT, LOW_PCT, cpu_bounds, observe, parts_of
from rules.signatures.signatures import recognise


def all_of(**tables: list[dict[str, Any]]) -> list[Sighting]:
    numbered = {t: [{"line_no": n, **row} for n, row in enumerate(rows, 1)] for t, rows in tables.items()}
    return list(observe(Case.of_tables(numbered)))


def shown(**tables: list[dict[str, Any]]) -> list[Sighting]:
    return [s for s in all_of(**tables) if not s.normal]


def measures(**tables: list[dict[str, Any]]) -> list[float]:
    return [s.value for s in all_of(**tables) if s.normal and s.name == "request_cpu_pct"]


# --- commands


def test_a_command_that_waited_is_told_with_its_share() -> None:
    (made,) = shown(conn_times=[{"series": "make", "elapsed_s": 12.4, "cpu_s": 0.5, "line_end": 3}])
    assert made.headline == "make: real 12.400 s, of which 0.500 s was user and system together: 96.0 % was waiting"
    assert (made.name, round(made.value, 3), made.against_value) == ("waiting_s", 11.9, 12.4)
    assert [(c.line_from, c.line_to) for c in made.lines] == [(1, 3)]
    assert made.seen == ()


def test_a_command_that_computes_is_recognised_as_such() -> None:
    (made,) = shown(conn_times=[{"series": "make", "elapsed_s": 10.0, "cpu_s": 9.7}])
    assert "97 % was on a processor" in made.headline
    assert recognise(**made.seen[0])[0].mechanism == "program-compute"


def test_several_processors_are_said() -> None:
    (made,) = shown(conn_times=[{"series": "make", "elapsed_s": 10.0, "cpu_s": 34.0}])
    assert "it kept 3.4 processors busy" in made.headline
    assert made.seconds == 10.0


@pytest.mark.parametrize(("real", "n"), [(0.1, 1), (0.099, 0)])
def test_the_bound_of_a_duration_is_what_a_person_notices(real: float, n: int) -> None:
    assert len(shown(conn_times=[{"elapsed_s": real, "cpu_s": 0.0}])) == n


def test_a_command_on_a_processor_is_a_measure_one_that_waits_is_none() -> None:
    # Others on the same host may compute while it waits for them.
    assert measures(conn_times=[{"elapsed_s": 10.0, "cpu_s": 9.0}]) == [90.0]
    assert measures(conn_times=[{"elapsed_s": 10.0, "cpu_s": 34.0}]) == [100.0]
    assert measures(conn_times=[{"elapsed_s": 10.0, "cpu_s": 0.1}]) == []


def test_runs_of_one_command_are_one_sighting() -> None:
    (made,) = shown(conn_times=[{"series": "x", "elapsed_s": s, "cpu_s": 0.01} for s in (1.0, 3.0, 2.0)])
    assert "(3 of 0.1 s or more, 6.000 s together)" in made.headline
    assert [c.line_from for c in made.lines] == [2, 3, 1]


# --- requests of curl


def curl(seq: int = 1, **figures: float) -> list[dict[str, Any]]:
    return [{"series": name, "seq": seq, "elapsed_s": s} for name, s in figures.items()]


def test_figures_of_curl_count_from_the_beginning() -> None:
    rows = curl(time_namelookup=5.1, time_connect=5.12, time_appconnect=0.0, time_starttransfer=5.3, time_total=5.31)
    (made,) = shown(conn_times=rows)
    assert made.headline == "Of a request of 5.310 s, 5.100 s (96.0 %) went into looking the name up"
    assert recognise(**made.seen[1])[0].mechanism == "name-server-slow"
    assert [c.line_from for c in made.lines] == [1, 5]


def test_labels_of_ones_own_may_be_parts_already() -> None:
    (made,) = shown(conn_times=curl(dns=0.01, connect=1.0, ttfb=0.2, total=1.25))
    assert (made.subject, made.value) == ("request, connecting", 1.0)
    (made,) = shown(conn_times=curl(dns=0.01, connect=0.2, ttfb=1.2, total=1.25))
    assert (made.subject, round(made.value, 3)) == ("request, waiting for the first byte of the answer", 1.0)


def test_a_request_of_equal_steps_and_steps_that_do_not_add_up_say_nothing() -> None:
    assert shown(conn_times=curl(time_namelookup=0.4, time_connect=0.8, time_starttransfer=0.9, time_total=1.2)) == []
    assert shown(conn_times=curl(time_namelookup=0.9, time_connect=0.8, time_starttransfer=1.0, time_total=1.2)) == []
    assert shown(conn_times=curl(connect=1.0, total=1.2)) == []


# --- SQL traces


def test_a_cursor_is_divided_into_calls_and_processor() -> None:
    rows = [
        {"pid": 1, "cursor": "#3", "call": "parse", "elapsed_s": 0.1, "cpu_s": 0.1},
        {"pid": 1, "cursor": "#3", "call": "fetch", "elapsed_s": 12.0, "cpu_s": 0.2},
        {"pid": 1, "cursor": "#3", "call": "exec", "elapsed_s": 0.3, "cpu_s": 0.1},
    ]
    (made,) = shown(db_calls=rows)
    assert made.headline == (
        "cursor #3 took 12.400 s, 12.000 s (96.8 %) in fetch; 0.400 s of it on a processor: 96.8 % was waiting"
    )
    assert made.lines[0].line_from == 2
    assert [round(v, 1) for v in measures(db_calls=rows)] == [3.2]


def test_a_cursor_on_a_processor_is_recognised() -> None:
    (made,) = shown(db_calls=[{"cursor": "#1", "call": "exec", "elapsed_s": 2.0, "cpu_s": 1.9}])
    assert recognise(**made.seen[0])[0].mechanism == "database-cpu"


def test_short_cursors_are_normal() -> None:
    assert all_of(db_calls=[{"cursor": "#1", "call": "exec", "elapsed_s": 0.09, "cpu_s": 0.01}]) == []


# --- listeners


@pytest.mark.parametrize(("wait", "log", "words"), [
    (0.5, 0.0, "for starting and awaiting the process that serves it"),
    (0.0, 0.5, "for writing and flushing files"),
])  # fmt: skip
def test_a_listener_is_divided_by_what_it_does_meanwhile(wait: float, log: float, words: str) -> None:
    rows = [
        {"artifact_id": 1, "pid": 7, "lwp": 1, "line_accept": n, "line_end": n + 5, "cycle_s": 0.6, "wait_child_s": wait,
         "log_s": log, "complete": True}
        for n in (10, 20)
    ]  # fmt: skip
    case = Case.of_tables({"syscalls": [{"line_no": 1, "name": "accept"}], "listener_cycles": rows})
    (made,) = [s for s in observe(case) if s.subject.startswith("listener")]
    assert made.headline.endswith(words)
    assert (made.value, made.n, made.of_s) == (0.6, 2, 1.2)


def test_a_listener_that_does_several_things_says_nothing() -> None:
    row = {
        "artifact_id": 1,
        "pid": 7,
        "line_accept": 1,
        "line_end": 2,
        "cycle_s": 0.6,
        "wait_child_s": 0.2,
        "log_s": 0.2,
        "complete": True,
    }
    assert (
        list(observe(Case.of_tables({"syscalls": [{"line_no": 1, "name": "accept"}], "listener_cycles": [row]}))) == []
    )


# --- traced requests


def of_request(*parts: dict[str, Any], wall: float = 1.0) -> list[Sighting]:
    request = {
        "artifact_id": 1,
        "request": 1,
        "kind": "command",
        "pid": 7,
        "line_from": 1,
        "line_to": 99,
        "wall_s": wall,
        "idle": False,
    }
    rows = [
        {"artifact_id": 1, "request": 1, "pid": 7, "n": 5, "max_s": 0.005, "line_max": 10 + n, "followed": False, **p}
        for n, p in enumerate(parts)
    ]
    case = Case.of_tables({"syscalls": [{"line_no": 1, "name": "read"}], "requests": [request], "request_parts": rows})
    return list(observe(case))  # fmt: skip


def test_the_kind_that_holds_a_request_is_told() -> None:
    (made,) = of_request(
        {"kind": "file", "name": "read", "target": "/a", "dur_s": 0.4}, {"kind": "file", "name": "read", "target": "/b", "dur_s": 0.3},
        {"kind": "sync", "name": "fsync", "dur_s": 0.3},
    )  # fmt: skip
    assert made.headline == (
        "Of the 1.000 s of command of process 7, 0.700 s (70 %) went into calls on files, 10 times,"
        " 0.300 s (30 %) into writing through to the disk"
    )
    assert [c.role for c in made.lines] == ["longest of /a", "longest of /b"]


def test_like_requests_are_told_once() -> None:
    of = [
        {"artifact_id": 1, "request": n, "kind": "cycle", "pid": 7, "line_from": n, "line_to": 99, "wall_s": w}
        for n, w in ((1, 1.0), (2, 2.0))
    ]
    rows = [
        {"artifact_id": 1, "request": n, "pid": 7, "n": 9, "kind": "sync", "name": "fsync", "dur_s": 0.9, "line_max": 10 * n, "followed": False}
        for n in (1, 2)
    ]  # fmt: skip
    rows[1]["dur_s"] = 1.9
    case = Case.of_tables({"syscalls": [{"line_no": 1, "name": "read"}], "requests": of, "request_parts": rows})
    (made,) = [s for s in observe(case) if not s.normal]
    assert (made.kind, made.value, made.lines[0].line_from) == ("split", 1.9, 20)


def test_one_long_call_is_left_to_long_waits_and_a_mixed_request_says_nothing() -> None:
    assert [s for s in of_request({"kind": "file", "n": 1, "dur_s": 1.0}) if not s.normal] == []
    assert [s for s in of_request({"kind": "file", "dur_s": 0.4}, {"kind": "sync", "dur_s": 0.4}) if not s.normal] == []


def test_the_time_on_a_processor_is_bounded_from_both_sides() -> None:
    away = {
        "part_kind": "socket",
        "target": "10.0.0.9:1521",
        "dur_s": 0.9,
        "cpu_s": None,
        "max_s": 0.5,
        "contiguous": None,
    }
    own = {"part_kind": "own code", "target": None, "dur_s": 0.1, "cpu_s": None, "max_s": 0.001, "contiguous": None}
    assert cpu_bounds([away, own], 1.0) == pytest.approx((0.1, 0.1))
    assert cpu_bounds([{**away, "target": "127.0.0.1:1521"}, own], 1.0) == pytest.approx((0.1, 1.0))
    # A long gap may be a stop, so that it proves no computing.
    assert cpu_bounds([{**own, "max_s": 0.05}], 0.1) == pytest.approx((0.0, 0.1))
    assert cpu_bounds([{**own, "cpu_s": 0.08, "max_s": 0.05}], 0.1) == pytest.approx((0.08, 0.1))
    assert cpu_bounds([{**away, "contiguous": "broken"}], 1.0) == pytest.approx((0.0, 0.9))


@pytest.mark.parametrize(("own", "away", "expected"), [
    (0.10, 0.90, [10.0]), (0.20, 0.80, [LOW_PCT]), (0.21, 0.79, []), (0.49, 0.51, []), (0.50, 0.50, [HIGH_PCT]), (0.9, 0.1, [90.0]),
])  # fmt: skip
def test_a_measure_is_kept_only_where_it_decides(own: float, away: float, expected: list[float]) -> None:
    made = of_request({"kind": "own code", "dur_s": own}, {"kind": "socket", "target": "10.0.0.9:80", "dur_s": away})
    assert [round(s.value, 6) for s in made if s.normal] == expected


# --- lines of logs


def test_a_collection_that_waited_is_told() -> None:
    (made,) = shown(logs=[{"text": "[Times: user=0.03 sys=0.01, real=2.20 secs]"}, {"text": "user=0.03 real=0.09"}])
    assert made.headline == "A line tells of 2.200 s, 2.160 s (98.2 %) waiting"


@pytest.mark.parametrize(
    "text", ["[Times: user=9.21 sys=0.03, real=4.71 secs]", "GC(7) User=9.21s Sys=0.03s Real=4.71s"]
)
def test_the_processor_time_of_a_collector_is_not_that_of_a_request(text: str) -> None:
    assert shown(logs=[{"text": text}]) == []


def test_a_page_whose_time_is_the_databases_is_told() -> None:
    (made,) = shown(logs=[{"text": "Completed 200 OK in 812ms (Views: 12.3ms | ActiveRecord: 790.1ms)"}])
    assert made.headline == "A line tells of 0.812 s, 0.790 s (97.3 %) in the database"


def test_a_checkpoint_is_spread_on_purpose() -> None:
    text = "checkpoint complete: wrote 9 buffers; write=269.9 s, sync={} s, total=270.1 s"
    (made,) = shown(logs=[{"text": text.format("0.01")}])
    assert made.idle
    (made,) = shown(logs=[{"text": "checkpoint complete: write=1.0 s, sync=30.0 s, total=31.1 s"}])
    assert not made.idle


@pytest.mark.parametrize("text", ["total 5", "sync=5", "", "real", "the total was read 5 times"])
def test_a_line_without_whole_and_part_is_none(text: str) -> None:
    assert parts_of(text) is None


# --- databases


def test_the_time_model_of_a_database_is_divided() -> None:
    rows = [{"grp": "time_model", "name": n, "value": v} for n, v in (("DB time", 53.4), ("DB CPU", 0.4))]
    (made,) = shown(counters=rows)
    assert made.headline == "Of 53.400 s of DB time, 0.400 s (0.75 %) was DB CPU: 99.3 % was waiting"
    assert shown(counters=rows[:1]) == []


def test_nothing_and_odd_values_give_nothing() -> None:
    assert all_of() == []
    nan, inf = float("nan"), float("inf")
    assert (
        all_of(
            conn_times=[
                {"elapsed_s": v, "cpu_s": c} for v, c in ((nan, 1.0), (inf, 1.0), (-1.0, 1.0), (5.0, nan), (5.0, None))
            ]
        )
        == []
    )


def test_a_run_of_less_than_a_second_is_not_accounted_for() -> None:
    short = [{"series": "java A", "elapsed_s": 0.13, "cpu_s": 0.14}]
    assert [s.seen for s in shown(conn_times=short)] == [()]
    assert measures(conn_times=short) == [], "it speaks against nobody who waits elsewhere"


def ended(cpu_s: float, *calls: dict[str, Any]) -> list[Sighting]:
    child = {"event": "received", "signal": "SIGCHLD", "sender_pid": 8, "cpu_s": cpu_s, "t_local": 1.0}
    return [s for s in shown(signals=[child], syscalls=list(calls)) if s.subject == "child 8"]


def test_an_ended_child_that_nobody_traced_tells_its_processor_time() -> None:
    (made,) = ended(0.6, {"pid": 7, "name": "clone", "t_local": 0.0})
    assert made.headline == (
        "The child 8 had used 0.600 s of a processor when it ended, 60 % of the 1.000 s of the trace; its own calls are not in the trace"
    )
    assert [f.mechanism for f in recognise(**made.seen[0])] == ["program-compute"]


@pytest.mark.parametrize(("cpu_s", "calls"), [(0.09, ()), (0.6, ({"pid": 8, "name": "read", "t_local": 0.5},))])
def test_short_children_and_those_in_the_trace_are_not_told(cpu_s: float, calls: tuple[dict[str, Any], ...]) -> None:
    assert ended(cpu_s, *calls) == []


def shown_of_text(**tables: list[dict[str, Any]]) -> list[Sighting]:
    return [s for s in observe(Case.of_tables(tables).with_text()) if not s.normal]


def of_curl(unit: str | None, **steps: float) -> list[dict[str, Any]]:
    return [
        {"grp": "text", "name": name, "value": value, "unit": unit, "sample": 1, "line_no": 4}
        for name, value in steps.items()
    ]


def test_the_figures_of_curl_on_one_line() -> None:
    (made,) = shown_of_text(counters=of_curl(None, namelookup=0.001, connect=0.004, starttransfer=2.004, total=2.01))
    assert made.headline.startswith("Of a request of 2.010 s, 2.000 s (99.5 %) went into waiting for the first byte")
    assert made.seen == ({"event": "server-answers-late"},)
    (made,) = shown_of_text(counters=of_curl("ms", time_namelookup=900.0, time_connect=901.0, time_total=950.0))
    assert made.headline.startswith("Of a request of 0.950 s, 0.900 s (94.7 %) went into looking the name up")


def test_figures_without_a_word_of_curl_are_something_else() -> None:
    assert shown_of_text(counters=of_curl(None, lookup=0.001, connect=0.004, first=2.0, total=2.01)) == []
    assert shown_of_text(counters=of_curl("MB", namelookup=0.001, connect=0.004, starttransfer=2.0, total=2.01)) == []


def test_the_figures_of_curl_under_the_words_of_who_asked() -> None:
    (made,) = shown_of_text(counters=of_curl(None, dns=5.01, conn=5.02, tls=5.06, ttfb=5.1, total=5.1))
    assert made.headline.startswith("Of a request of 5.100 s, 5.010 s (98.2 %) went into looking the name up")
    quick = of_curl(None, dns=0.01, conn=0.02, tls=0.06, ttfb=0.09, total=0.1)
    assert shown_of_text(counters=quick) == []
    whole_numbers = of_curl(None, dns=12.0, conn=30.0, tls=31.0, ttfb=200.0, total=230.0)
    assert shown_of_text(counters=whole_numbers) == []


def test_a_request_that_nobody_feels_is_normal_and_told_with_its_parts() -> None:
    rows = curl(
        time_namelookup=0.005, time_connect=0.009, time_appconnect=0.0, time_starttransfer=0.021, time_total=0.022
    )
    (made,) = list(observe(Case.of_tables({"conn_times": rows})))
    assert made.normal
    words = "12 ms waiting for the first byte of the answer, 5 ms looking the name up, 4 ms connecting"
    assert made.headline == f"The request took 22 ms: {words}"
    slow = curl(2, time_namelookup=0.4, time_connect=0.8, time_starttransfer=0.9, time_total=1.2)
    assert shown(conn_times=[*rows, *slow]) == []
    assert [s for s in observe(Case.of_tables({"conn_times": [*rows, *slow]})) if s.subject == "a quick request"] == []


@pytest.mark.parametrize(
    ("took", "mechanism"), [(5.006, "resolver-timeout"), (10.02, "resolver-timeout"), (5.2, "name-server-slow")]
)
def test_a_look_up_of_a_time_out_names_it(took: float, mechanism: str) -> None:
    rows = curl(time_namelookup=took, time_connect=took + 0.01, time_starttransfer=took + 0.02, time_total=took + 0.03)
    (made,) = shown(conn_times=rows)
    assert recognise(**made.seen[0])[0].mechanism == mechanism


@pytest.mark.parametrize(("took", "named"), [(1.0, True), (0.99, False)])
def test_a_name_that_is_looked_up_for_a_second_is_named_outright(took: float, named: bool) -> None:
    rows = curl(time_namelookup=took, time_connect=took + 0.01, time_starttransfer=took + 0.02, time_total=took + 0.03)
    (one,) = shown(conn_times=rows)
    found = [f for seen in one.seen for f in recognise(**seen) if f.strength == "mechanism"]
    assert bool([f for f in found if f.mechanism == "name-server-slow"]) is named


@pytest.mark.parametrize(
    ("sys_s", "event"), [(4.0, True), (3.9, False), (None, False), (float("inf"), False), (float("nan"), False)]
)
def test_a_command_whose_time_is_the_kernels_is_no_computing_program(sys_s: float | None, event: bool) -> None:
    (made,) = shown(conn_times=[{"series": "unpack", "elapsed_s": 7.0, "cpu_s": 6.0, "sys_s": sys_s}])
    assert ({"event": "command-in-kernel"} in made.seen) == event
    assert ("4.000 s of it in the kernel" in made.headline) == event


@pytest.mark.parametrize(("connect", "first"), [(0.3, 2.3), (0.004, 0.904)])
def test_a_first_byte_after_few_round_trips_or_soon_is_not_the_server(connect: float, first: float) -> None:
    (made,) = shown_of_text(
        counters=of_curl(None, namelookup=0.001, connect=connect, starttransfer=first, total=first + 0.01)
    )
    assert {one["counter"] for one in made.seen} == {"time_starttransfer"}


@pytest.mark.parametrize(
    ("line", "who"),
    [
        ("Completed 200 OK in 1000ms (Views: 900.0ms | ActiveRecord: 9.0ms)", "program-compute"),
        ("Completed 200 OK in 1000ms (Views: 9.0ms | ActiveRecord: 900.0ms)", "database-cpu"),
        ("Completed 200 OK in 999ms (Views: 900.0ms | ActiveRecord: 9.0ms)", None),
    ],
)
def test_the_step_that_holds_a_long_request_is_somebodys(line: str, who: str | None) -> None:
    (made,) = shown(logs=[{"text": line}])
    events = [seen["event"] for seen in made.seen if "event" in seen]
    known = [r.mechanism for event in events for r in recognise(event=event, observer="split")]
    assert known == ([who] if who else [])
