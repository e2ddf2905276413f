"""What the logs of collectors say: stopped time, a heap that stays full, large objects, Go's share, and normal twins."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.collections import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise

PARALLEL = (
    "[Full GC (Ergonomics) [PSYoungGen: 90000K->{}K(95000K)] [ParOldGen: {}K->{}K(200000K)] {}K->{}K(295000K), {} secs]"
    " [Times: user=9.1 sys=0.0, real=4.5 secs]"
)
UNIFIED = "[info][gc] GC({}) Pause {} {}M->{}M({}M) {}ms"


def made(*lines: tuple[float | None, str]) -> list[Sighting]:
    rows = [{"t_local": t, "text": text, "line_no": n} for n, (t, text) in enumerate(lines, 1)]
    return list(observe(Case.of_tables({"logs": rows})))


def parallel(t: float, old: int, pause: float) -> tuple[float, str]:
    return t, PARALLEL.format(0, old, old, old + 90000, old, pause)


def test_a_program_that_stands_still_for_half_of_the_time_is_told() -> None:
    stopped, full = made(*(parallel(10.0 * n, 199500, 5.0) for n in range(4)))
    assert stopped.headline == (
        "The collector stopped the program for 20.000 s of the 35.000 s that the log covers (57.1 %): 4 pauses, 4 of them full"
        " collections, the longest 5.000 s"
    )
    assert recognise(**stopped.seen[0])[0].mechanism == "garbage-collection"
    assert (stopped.of_s, stopped.seconds) == (35.0, 20.0)
    assert full.headline == (
        "After the last of 4 full collections 195 MB of the 195 MB of the old generation are still in use (99.8 %)"
    )
    assert recognise(**full.seen[0])[0].mechanism == "heap-full"
    assert not full.normal


def test_short_pauses_and_a_heap_with_room_are_normal() -> None:
    stopped, full = made(*(parallel(600.0 * n, 80000, 0.4) for n in range(4)))
    assert stopped.normal
    assert full.normal
    assert round(full.value) == 40


def test_a_heap_that_is_full_once_may_still_grow() -> None:
    (full,) = made(parallel(1.0, 199500, 0.2))
    assert full.normal
    assert full.headline.startswith("After a full collection 195 MB of the 195 MB of the old generation are in use")
    assert [s.normal for s in made(parallel(1.0, 199500, 0.01), parallel(900.0, 60000, 0.01))] == [True]


def test_the_worst_minute_of_a_long_log_is_told() -> None:
    quiet = [(60.0 * n, UNIFIED.format(n, "Young (Normal)", 90, 20, 256, "5.125")) for n in range(100)]
    busy = [
        (3000.0 + 6 * n, UNIFIED.format(n, "Full (G1 Compaction Pause)", 250, 100, 256, "5100.500")) for n in range(8)
    ]
    stopped, _ = made(*sorted([*quiet, *busy]))
    assert "of the 1 min 0 s of one minute" in stopped.headline
    assert not stopped.normal
    assert stopped.n == 8
    (calm,) = made(*quiet)
    assert calm.normal


def test_a_large_object_for_which_nothing_is_freed_is_told() -> None:
    tried = (1.3, "[info][gc,start] GC(8) Pause Full (G1 Humongous Allocation)")
    found = made((1.2, UNIFIED.format(7, "Full (G1 Humongous Allocation)", 300, 300, 400, "7.250")), tried)
    (large,) = [s for s in found if not s.normal]
    assert (large.subject, large.n) == ("a very large object", 2)
    assert large.headline == (
        "2 full collections in turn were made for one very large object (Humongous Allocation) and freed nothing:"
        " 300 MB of the 400 MB of the heap stay in use"
    )
    assert recognise(**large.seen[0])[0].mechanism == "heap-full"
    assert [c.line_from for c in large.lines] == [1, 2]


def test_many_short_pauses_of_the_first_moment_are_normal() -> None:
    (one,) = made(*((0.1 + 0.02 * n, UNIFIED.format(n, "Young (Normal)", 20, 5, 64, "8.125")) for n in range(9)))
    assert one.normal


@pytest.mark.parametrize("cause", ["G1 Humongous Allocation", "System.gc()"])
def test_a_collection_that_frees_much_or_was_asked_for_is_normal(cause: str) -> None:
    after = 40 if cause.startswith("G1") else 300
    assert all(s.normal for s in made((1.2, UNIFIED.format(7, f"Full ({cause})", 300, after, 400, "7.250"))))


def test_one_collection_for_a_large_object_fits_other_reasons_too() -> None:
    found = made((1.2, UNIFIED.format(7, "Full (G1 Humongous Allocation)", 300, 300, 400, "7.250")))
    (large,) = [s for s in found if s.subject == "a very large object"]
    assert recognise(**large.seen[0])[0].strength == "shape"


@pytest.mark.parametrize(("pct", "normal"), [(42, False), (25, False), (24, True), (1, True)])
def test_the_share_of_the_collector_of_go(pct: int, normal: bool) -> None:
    text = "gc {} @{}s {}%: 0.2+90+0.1 ms clock, 0.4+9/9/9+0.1 ms cpu, 90->91->45 MB, 92 MB goal, 4 P"
    (one,) = made((3.0, text.format(6, "3.000", 2)), (9.5, text.format(7, "9.500", pct)))
    assert (one.value, one.normal, one.lines[0].line_from) == (float(pct), normal, 2)
    assert one.headline.endswith("in the 9.500 s since the start (collection 7)")


def test_pauses_of_v8_are_counted() -> None:
    text = (
        "Mark-sweep (reduce) 900.1 (910.5) -> 899.9 (911.0) MB, 700.5 / 0.0 ms  (average mu = 0.1) allocation failure"
    )
    (one,) = made(*((float(n), text) for n in range(1, 5)))
    assert "4 of them full collections" in one.headline
    assert not one.normal


def test_other_lines_and_odd_figures_give_nothing() -> None:
    lines = [
        (1.0, "Pause of the player 3->4 took 9.0 secs]"),
        (None, UNIFIED.format(1, "Young", 9, 1, 20, "1.5")),
        (2.0, "x -> y ms"),
    ]
    assert made(*lines) == []


def sampled(*rows: tuple[float, float, float]) -> list[Sighting]:
    heading = ["S0", "S1", "E", "O", "M", "YGC", "YGCT", "FGC", "FGCT", "GCT"]
    made = [
        {
            "table_no": 1,
            "row_no": n,
            "line_no": n + 1,
            "heading": heading,
            "cells": ["0.00", "0.00", "71.5", str(old), "94.0", "88", "2.100", str(fulls), str(fulls_s), "9.0"],
        }
        for n, (old, fulls, fulls_s) in enumerate(rows, 1)
    ]
    return list(observe(Case.of_tables({"rows": made}).with_text()))


def test_samples_of_an_old_generation_that_full_collections_do_not_empty() -> None:
    (full,) = sampled((99.7, 71, 140.0), (99.9, 72, 142.5), (99.8, 74, 147.0))
    assert full.headline == (
        "The old generation is at least 99.7 % full in all 3 samples, with 3 full collections among them, which took 7.000 s"
    )
    assert recognise(**full.seen[0])[0].mechanism == "heap-full"
    assert not full.normal


def test_samples_of_a_heap_that_fills_and_is_emptied_are_normal() -> None:
    assert [s.normal for s in sampled((97.0, 4, 1.0), (98.0, 4, 1.0))] == [True]
    assert [s.normal for s in sampled((97.0, 4, 1.0), (31.0, 6, 1.4))] == [True]


def test_one_pause_of_many_seconds_is_told_though_the_rest_of_the_log_is_calm() -> None:
    quiet = [(60.0 * n, UNIFIED.format(n, "Young (Normal)", 90, 20, 256, "5.125")) for n in range(100)]
    (stopped, long) = made(*quiet, (6100.0, UNIFIED.format(100, "Young (Mixed)", 250, 240, 256, "7250.500")))
    assert stopped.normal
    assert (long.headline, long.name) == ("The collector stopped the program for 7.250 s in one pause", "gc_pause_s")
    assert [long.t_from, long.t_to, long.of_s] == pytest.approx([6092.7495, 6100.0, 7.2505])
    assert recognise(**long.seen[0])[0].mechanism == "garbage-collection"
    assert made(*quiet, (6100.0, UNIFIED.format(100, "Young (Mixed)", 250, 240, 256, "4950.500")))[0].normal


def test_the_first_line_of_the_old_report_of_g1_tells_its_pause() -> None:
    long, failed = made((None, "[GC pause (G1 Evacuation Pause) (young) (to-space exhausted), 6.5012345 secs]"))
    assert (long.value, long.t_from) == (6.5012345, None)
    assert (failed.name, failed.value) == ("gc_without_room_s", 6.5012345)


def test_a_collection_without_room_is_told_with_the_pause_of_its_number() -> None:
    def of(ms: str) -> list[Sighting]:
        lines = ["[info][gc] GC(71) To-space exhausted", UNIFIED.format(71, "Young (Normal)", 900, 700, 999, ms)]
        return [s for s in made(*enumerate(lines)) if not s.normal]

    (failed,) = of("410.000")
    assert failed.headline == "A collection found no room to copy into, and stopped the program for 0.410 s"
    assert recognise(**failed.seen[0])[0].mechanism == "garbage-collection"
    assert of("41.000") == []


def test_pauses_of_the_old_collectors_are_read_without_the_beginning_of_their_report() -> None:
    cut = "[CMS: 90000K->{}K(91000K), 9.1 secs] 98000K->{}K(99000K), [Metaspace: 7K->7K(9K)], {} secs] [Times: user=9.1 real=9.9 secs]"
    first, second = (made((1.0, cut.format(89000, 89000, pause))) for pause in ("9.9100000", "0.9100000"))
    assert [s.name for s in first if not s.normal] == ["gc_pause_s"]
    assert [s.name for s in second if not s.normal] == []


def test_the_time_that_v8_leaves_to_the_program_is_read_of_one_line() -> None:
    line = "Mark-sweep (reduce) 901.2 (950.1) -> 899.8 (949.9) MB, {} / 0.1 ms  (average mu = {}, current mu = 0.900) allocation failure"
    (taken,) = (s for s in made((1.0, line.format("811.2", "0.090"))) if not s.normal)
    assert round(taken.value) == 91
    assert taken.share == pytest.approx(0.91)
    assert [s for s in made((1.0, line.format("1.2", "0.990"))) if not s.normal] == []


def test_threads_that_have_to_help_the_collector_of_go_wait_for_it() -> None:
    line = "gc 91 @943.925s 9%: 4.9+{}+0.54 ms clock, 93+{}/753/408+26 ms cpu, 189->508->319 MB, 509 MB goal, 8 P"
    (helps,) = (s for s in made((943.9, line.format(1397, 4310))) if not s.normal)
    assert (helps.name, helps.value, helps.seconds) == ("gc_assists_s", 1.397, 1.397)
    assert recognise(**helps.seen[0])[0].mechanism == "garbage-collection"
    assert [s for s in made((943.9, line.format(1397, 1310))) if not s.normal] == []


def test_the_list_of_collections_of_ruby_is_read() -> None:
    heading = ["Index", "Invoke Time(sec)", "Use Size(byte)", "Total Size(byte)", "Total Object", "GC Time(ms)"]

    def of(ms: float) -> Sighting:
        cells = [[str(n), str(7.0 + n), "9", "9", "9", str(ms)] for n in range(5)]
        rows = [{"table_no": 1, "line_no": n, "heading": heading, "cells": c} for n, c in enumerate(cells, 2)]
        return next(iter(observe(Case.of_tables({"rows": rows}))))

    assert of(410.0).value == pytest.approx(41.0)
    assert not of(410.0).normal
    assert of(41.0).normal


def test_what_a_server_logs_of_its_collectors_is_read() -> None:
    text = "INFO [Service Thread] GCInspector.java:294 - G1 Old Generation GC in {}ms.  G1 Old Gen: 900 -> 890;"
    (long,) = made((100.0, text.format(6100)), (120.0, text.format(7200)))
    assert long.headline == (
        "The collector stopped the program for 7.200 s in one pause; 2 pauses of 5.000 s or more, 13.300 s together"
    )
    assert made((1.0, "INFO GCInspector.java:294 - G1 Young Generation GC in 212ms.  G1 Eden Space: 9 -> 0;")) == []


def test_a_concurrent_collection_is_no_pause_but_tells_how_full_the_heap_is() -> None:
    text = (
        "INFO GCInspector:133 - GC for ConcurrentMarkSweep: {} ms, 84000 reclaimed leaving {} used; max is 1048576000"
    )
    (full,) = made((100.0, text.format(9000, 1038090240)), (160.0, text.format(9900, 1038090240)))
    assert full.headline == (
        "After the last of 2 full collections 990 MB of the 1,000 MB of the heap are still in use (99 %)"
    )
    assert not full.normal
    assert not made((100.0, text.format(9000, 1038090240)))[0].normal
    freed = text.replace("84000", "94371840")
    assert made((100.0, freed.format(9000, 1038090240)))[0].normal
    calm = made((100.0, text.format(9000, 438090240)), (160.0, text.format(9900, 438090240)))
    assert [s.normal for s in calm] == [True]


def go_runs(*collections: tuple[float, float]) -> list[Sighting]:
    line = "gc {} @{}s 9%: 0.500+{}+0.500 ms clock, 2.0+40/900/30+2.0 ms cpu, 700->720->350 MB, 710 MB goal, 8 P"
    found = made(*((None, line.format(n, at, ms)) for n, (at, ms) in enumerate(collections, 7)))
    return [s for s in found if s.name == "gc_running_pct"]


def test_collections_of_go_that_follow_each_other() -> None:
    (runs,) = go_runs((100.0, 999.0), (102.5, 999.0), (105.0, 999.0), (107.5, 1199.0))
    assert runs.headline == "A collection of Go ran for 40 % of the 7.500 s of 4 collections, the longest for 1.200 s"
    assert recognise(**runs.seen[0])[0].mechanism == "garbage-collection"
    assert not runs.normal


def test_collections_of_go_that_rest_or_begin_a_program_are_normal() -> None:
    assert [s.normal for s in go_runs((100.0, 899.0), (102.5, 999.0), (105.0, 999.0), (107.5, 9000.0))] == [True]
    assert go_runs((0.1, 900.0), (1.1, 900.0), (2.1, 900.0), (3.1, 900.0)) == []
    assert go_runs((100.0, 999.0), (102.5, 999.0), (107.5, 999.0)) == []
