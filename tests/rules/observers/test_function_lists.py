"""Lists of functions of pprof, cProfile and node --prof: what owns them, flat ones, and what is idle."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from parsers.formats.general.text import profile_lists
from rules.case.case import Case
from rules.observers import listed_values
from rules.observers.function_lists import CALLGRIND, CALLS, FLAT, GPROF, HEADINGS, PARENTS, TICKS, observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise


def case(heading: Sequence[str], *cells: Sequence[str], **params: str) -> Case:
    rows = [
        {"part": 1, "table_no": 1, "row_no": n, "line_no": n + 10, "heading": list(heading), "cells": list(row)}
        for n, row in enumerate(cells, 1)
    ]
    named = [
        {"part": 1, "line_no": n, "scope": "text", "name": k, "value": v} for n, (k, v) in enumerate(params.items(), 1)
    ]
    return Case.of_tables({"rows": rows, "params": named}).with_text()


def made(heading: Sequence[str], *cells: Sequence[str], **params: str) -> list[Sighting]:
    return list(observe(case(heading, *cells, **params)))


def test_the_headings_are_those_that_the_reader_knows() -> None:
    assert all(profile_lists.is_heading(heading) for heading in HEADINGS)


def test_a_known_function_is_told_with_what_it_calls() -> None:
    (one,) = made(
        FLAT,
        ("0.9s", "9.00%", "9.00%", "4.1s", "41.00%", "runtime.mallocgc"),
        ("0.8s", "8.00%", "17.00%", "4.1s", "41.00%", "example.com/shop.unknownName"),
        Type="cpu",
    )
    assert one.headline == "runtime.mallocgc has 41 % of the processor time with what it calls (4.1s), 9 % itself"
    assert (one.name, one.value, one.share, one.lines[0].line_from) == ("total_pct", 41.0, 0.205, 11)
    assert recognise(**one.seen[0])[0].mechanism == "allocator"


def test_a_function_that_owns_a_tenth_is_told_and_the_root_is_none() -> None:
    cells = (
        ("3s", "30.00%", "30.00%", "3s", "30.00%", "example.com/shop.price (inline)"),
        ("0", "0%", "30%", "9.9s", "99.00%", "main.main"),
    )
    (one, context) = made(FLAT, *cells, Type="cpu", Duration="20.00s, Total samples = 10.00s (50.00%)")
    assert one.headline == "example.com/shop.price itself has 30 % of the processor time (3s)"
    assert context.normal
    assert context.headline == "The profile has 10.000 s of processor time in 20.000 s: 0.50 processors were used"


def test_a_flat_profile_is_normal() -> None:
    (one,) = made(FLAT, *((f"0.{n}s", f"{n}.00%", "9%", f"0.{n}s", f"{n}.00%", f"f{n}") for n in range(1, 6)))
    assert one.normal
    assert one.headline == "The function with most of the samples, f5, has 5 %"


def test_a_profile_of_memory_names_no_mechanism_of_a_processor() -> None:
    (one,) = made(FLAT, ("512MB", "51.00%", "51.00%", "512MB", "51.00%", "bytes.growSlice"), Type="inuse_space")
    assert one.headline == "bytes.growSlice itself has 51 % of the memory in use (512MB)"
    assert one.seen == ()


@pytest.mark.parametrize("name", ["runtime.futex", "runtime.epollwait", "internal/runtime/syscall.EpollWait"])
def test_waits_for_work_are_idle(name: str) -> None:
    (one,) = made(FLAT, ("5s", "50.00%", "50.00%", "5s", "50.00%", name), Type="cpu")
    assert one.idle


def test_calls_of_python_are_told_by_their_own_time_and_by_what_each_took() -> None:
    looked, checked = made(
        CALLS,
        ("1", "0.100", "0.100", "20.000", "20.000", "run.py:3(<module>)"),
        ("10", "0.500", "0.050", "12.500", "1.250", "/srv/app/watch.py:7(check)"),
        ("9000", "11.250", "0.001", "11.250", "0.001", "{built-in method posix.stat}"),
        ("10/2", "0.300", "0.030", "0.900", "0.450", "/srv/app/watch.py:9(walk)"),
    )
    assert looked.headline == (
        "{built-in method posix.stat} itself took 11.250 s of the 20.000 s (56.2 %), in 9,000 calls of 1.25 ms"
    )
    assert recognise(**looked.seen[0])[0].mechanism == "repeated-lookup"
    assert checked.headline == (
        "/srv/app/watch.py:7(check) was called 10 times and took 1.250 s each with what it calls: 12.500 s of the 20.000 s (62.5 %)"
    )


def test_a_short_run_and_even_times_of_python_say_nothing() -> None:
    assert made(CALLS, ("1", "0.050", "0.050", "0.050", "0.050", "{time.sleep}")) == []
    assert made(CALLS, *(("3", "0.500", "0.167", "0.500", "0.167", f"a.py:{n}(f)") for n in range(20))) == []


def test_python_that_sleeps_or_waits_for_its_threads_is_idle() -> None:
    found = made(
        CALLS,
        ("9", "30.000", "3.333", "30.000", "3.333", "{method 'acquire' of '_thread.lock' objects}"),
        ("9", "10.000", "1.111", "10.000", "1.111", "{built-in method time.sleep}"),
    )
    assert [bool(s.idle) for s in found] == [True, True]


def test_the_collector_of_v8_is_told_from_a_fifth() -> None:
    rows = ("500", "50.0%", "60.0%", "JavaScript"), ("300", "{}%", "1.0%", "GC"), ("90", "9.0%", "", "Shared libraries")
    for pct, normal in (("30.0", False), ("19.9", True)):
        (one,) = made(TICKS, rows[0], ("300", f"{pct}%", "1.0%", "GC"), rows[2])
        assert (
            one.headline
            == f"{pct.removesuffix('.0')} % of the ticks of V8 are in the collector of garbage (GC), 50 % in the program's own JavaScript"
        )
        assert one.normal is normal
        assert recognise(**one.seen[0])[0].mechanism == "garbage-collection"
    assert made(TICKS, rows[0], rows[2]) == []


def test_only_the_outermost_level_of_callers_is_a_part_of_the_whole() -> None:
    (one,) = made(PARENTS, ("600", "60.0%", "/usr/lib/libc.so.6"), ("590", "98.0%", "  LazyCompile: *f /srv/a.js:1:2"))
    assert one.headline == "/usr/lib/libc.so.6 itself has 60 % of the ticks of V8 (600)"
    (one,) = made(TICKS, ("250", "25.0%", "30.0%", "LazyCompile: *f /srv/a.js:1:2"), ("20", "2.0%", "3.0%", "g"))
    assert one.value == 25.0


def test_odd_rows_are_passed_over_and_other_observers_leave_the_lists_alone() -> None:
    odd = case(
        FLAT,
        ("1s", "2%"),
        ("9s", "90.00%", "90.00%", "9s", "90.00%", "f"),
        *[("1s", "1.00%", "1%", "1s", "1.00%", "g")] * 4,
    )
    assert [s.subject for s in observe(odd)] == ["f"]
    assert list(listed_values.observe(odd)) == []
    assert made(FLAT, ("1s", "2%")) == []
    assert made(("flat", "number"), ("1", "2")) == []


def test_a_function_that_fills_a_processor_is_the_programs_own_work() -> None:
    cells = (
        ("0", "0%", "0%", "29s", "96.67%", "main.main"),
        ("9s", "30.00%", "30.00%", "21s", "70.00%", "example.com/shop.price"),
    )
    busy, *_ = made(FLAT, *cells, Type="cpu", Duration="30.00s, Total samples = 30.00s (100.0%)")
    assert recognise(**busy.seen[0])[0].mechanism == "program-compute"
    assert (recognise(**busy.seen[0])[0].strength, busy.subject) == ("mechanism", "example.com/shop.price")
    calm, *_ = made(FLAT, *cells, Type="cpu", Duration="30.00s, Total samples = 3.00s (10.00%)")
    assert not any(found.strength == "mechanism" for seen in calm.seen for found in recognise(**seen))


def test_a_function_of_javascript_with_half_of_the_ticks_is_the_programs_own_work() -> None:
    (one,) = made(TICKS, ("700", "70.0%", "71.0%", "LazyCompile: *price /srv/shop.js:7:3"))
    assert one.seen == ({"event": "function-fills-processor"},)
    (waits,) = made(TICKS, ("700", "70.0%", "71.0%", "epoll_wait"))
    assert waits.seen != ({"event": "function-fills-processor"},)


def test_a_list_of_stackprof_is_read_like_one_of_pprof() -> None:
    heading = ["TOTAL", "(pct)", "SAMPLES", "(pct)", "FRAME"]
    (one,) = made(heading, ("700", "70.0%", "100", "10.0%", "Shop::Cart#sum"))
    assert one.headline == "Shop::Cart#sum has 70 % of the samples with what it calls (700), 10 % itself"


@pytest.mark.parametrize(("pct", "owns"), [("50.00", True), ("49.90", False)])
def test_half_of_what_gprof_or_callgrind_counts_is_what_a_program_computes(pct: str, owns: bool) -> None:
    listed = made(GPROF, (pct, "14.11", "14.11", "918", "0.01", "0.01", "count_stock"))
    listed += made(CALLGRIND, (f"5,411,229 ({pct}%)", "./src/till.c:count_stock [/srv/till]"))
    assert [one.subject for one in listed] == ["count_stock"] * 2
    assert [{"event": "function-owns-computing"} in one.seen for one in listed] == [owns] * 2


def test_functions_of_one_kind_add_up() -> None:
    """What the largest has with what it calls contains some of the others: the larger of both figures is the share."""
    cells = (
        ("4s", "20.00%", "20.00%", "5s", "25.00%", "runtime.greyobject"),
        ("3s", "15.00%", "35.00%", "3s", "15.00%", "runtime.heapBitsForAddr"),
        ("3s", "15.00%", "50.00%", "11s", "55.00%", "runtime.gcDrain"),
        ("1s", "5.00%", "55.00%", "1s", "5.00%", "example.com/shop.price"),
    )
    work = next(s for s in made(FLAT, *cells, Type="cpu") if s.kind == "work")
    assert (work.share, work.value, work.n) == (0.55, 55.0, 3)
    assert work.headline.startswith(
        "3 functions of one kind have 50 % of the processor time together, 55 % with what they call"
    )
    assert recognise(**work.seen[0])[0].mechanism == "garbage-collection"


def test_one_function_of_a_kind_is_no_sum() -> None:
    cells = (("4s", "40.00%", "40.00%", "4s", "40.00%", "runtime.greyobject"),)
    assert [s.kind for s in made(FLAT, *cells, Type="cpu")] == ["profile"]


def test_what_waits_in_a_profile_of_waiting_is_named() -> None:
    cells = (("88.1mins", "95.74%", "95.74%", "88.1mins", "95.74%", "sync.(*RWMutex).RLock"),)
    (one,) = made(FLAT, *cells, Type="delay")
    assert recognise(**one.seen[0])[0].mechanism == "lock-contention"


def test_calls_of_libraries_are_a_list_of_functions() -> None:
    heading = ("% time", "seconds", "usecs/call", "calls", "function")
    (one, _) = made(
        heading, ("60.10", "9.012", "90", "100132", "strstr"), ("12.00", "1.800", "18", "100000", "compose")
    )
    assert one.headline == "strstr itself has 60.1 % of the samples (9.012s, 100132 calls)"
    assert recognise(**one.seen[0])[0].mechanism == "program-compute"


def test_a_method_of_a_class_in_c_is_known_by_the_file_that_wraps_it() -> None:
    (one,) = made(CALLS, ("12", "9.600", "0.800", "9.600", "0.800", "{method 'recv' of '_socket.socket' objects}"))
    assert {"symbol": "recv (socket.py)"} in one.seen


def test_a_function_of_the_program_that_has_half_owns_what_it_computes() -> None:
    """A built-in may wait; a function of Python itself only computes in the time that is its own, if it is a second."""
    long = made(CALLS, ("900", "6.100", "0.007", "6.200", "0.007", "/srv/shop/price.py:12(match)"))[0]
    short = made(CALLS, ("900", "0.610", "0.001", "0.620", "0.001", "/srv/shop/price.py:12(match)"))[0]
    assert {"event": "function-owns-computing"} in long.seen
    assert {"event": "function-owns-computing"} not in short.seen


def test_waits_in_a_list_of_all_threads_are_idle() -> None:
    heading = ("Functions", "Inclusive", "Exclusive")
    found = made(
        heading, ("System.Threading.Monitor.Wait(object,int)", "71.2%", "71.2%"), ("A.B.Price(int32)", "20.1%", "18.0%")
    )
    assert [(s.subject, s.idle is not None) for s in found] == [
        ("A.B.Price", False),
        ("System.Threading.Monitor.Wait", True),
    ]


def test_several_functions_of_the_program_have_together_what_no_single_one_has() -> None:
    rows = (
        ("31.0", "3.10", "3.10", "9", "0.1", "0.1", "sort_till"),
        ("22.0", "5.30", "2.20", "9", "0.1", "0.1", "sum_till"),
    )
    one = next(s for s in made(GPROF, *rows) if s.name == "work_pct")
    assert (
        one.headline
        == "2 functions of the program have 53 % of what it computes together: sort_till 31 %, sum_till 22 %"
    )
    assert (one.seen, one.share) == (({"event": "functions-own-computing"},), 0.53)


def test_few_functions_of_a_flat_profile_and_a_short_run_are_no_sum() -> None:
    assert not [
        s
        for s in made(
            GPROF, ("24.0", "2.4", "2.4", "9", "0.1", "0.1", "a"), ("20.0", "4.4", "2.0", "9", "0.1", "0.1", "b")
        )
        if s.name == "work_pct"
    ]
    assert not [
        s
        for s in made(
            GPROF, ("40.0", "0.4", "0.4", "9", "0.1", "0.1", "a"), ("30.0", "0.7", "0.3", "9", "0.1", "0.1", "b")
        )
        if s.name == "work_pct"
    ]


def test_a_flat_profile_of_async_profiler_is_a_list_of_functions() -> None:
    (one,) = made(["ns", "percent", "samples", "top"], ("9100200300", "61.30%", "910", "com.till.Rules.match"))
    assert one.headline == "com.till.Rules.match itself has 61.3 % of the samples (9.100s)"


@pytest.mark.parametrize(
    ("heading", "row", "told"),
    [
        (("%SAMP IMAGE", "FUNCTION", "CALLERS"), ("71.5 kernel", "ip_output", "tcp_output"), True),
        (("Subroutine", "%", "Source"), (".ip_output", "71.50", "net.c"), True),
        (("Module", "Symbol", "% Weight"), ("tcpip.sys", "IpOutput", "71.5"), True),
        (("Symbol", "Calls"), ("ip_output", "71"), False),
        (("Name", "%"), ("ip_output", "71.5"), False),
    ],
)
def test_any_table_with_functions_and_percents_is_a_profile(
    heading: tuple[str, ...], row: tuple[str, ...], told: bool
) -> None:
    assert [one.share for one in made(heading, row)] == [pytest.approx(0.715)] * told


@pytest.mark.parametrize(
    ("grp", "parts", "told"), [("function", (61.0, 9.0), 1), ("csv", (61.0, 60.0), 0), ("other", (61.0,), 0)]
)
def test_functions_that_were_read_as_counters(grp: str, parts: tuple[float, ...], told: int) -> None:
    rows = [
        {"part": 1, "line_no": n, "grp": grp, "item": f"genunix`fn_{n}", "name": "pcnt", "value": value}
        for n, value in enumerate(parts, 2)
    ]
    found = list(observe(Case.of_tables({"counters": rows})))
    assert [one.subject for one in found] == ["genunix`fn_2"] * told
