"""Tests of the largest consumers; a listing without one still gives a measure within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.consumers import observe
from rules.observers.observer import Sighting


def listing(*rows: dict[str, Any]) -> list[Sighting]:
    numbered = [{"line_no": n, "sample": 1, "pid": 100 + n, "comm": "server", **r} for n, r in enumerate(rows, 2)]
    return list(observe(Case.of_tables({"ps": numbered})))


def test_the_process_with_most_of_the_processors() -> None:
    made = listing({"comm": "mysqld", "cpu_pct": 780.0}, {"cpu_pct": 12.0})
    assert made[0].headline == "mysqld (pid 102) took 780 % of a processor, 98.5 % of what the 2 listed took"
    assert made[0].lines[0].line_from == 2
    assert made[0].share == pytest.approx(780 / 792)
    assert len(made) == 1, "12 % is not worth a word beside it"


@pytest.mark.parametrize(("percent", "normal"), [(50.0, False), (49.9, True)])
def test_half_a_processor_stands_out(percent: float, normal: bool) -> None:
    (made,) = listing({"cpu_pct": percent})
    assert made.normal is normal


def test_a_listing_in_which_nobody_works_tells_the_busiest_within_bounds() -> None:
    (made,) = listing({"cpu_pct": 0.1}, {"cpu_pct": 0.3, "comm": "top"}, {"cpu_pct": 0.0})
    assert made.normal
    assert made.subject == "top (pid 103)"


def test_nobody_works_at_all() -> None:
    assert listing({"cpu_pct": 0.0}, {"cpu_pct": None}, {"cpu_pct": float("nan")}) == []


@pytest.mark.parametrize(("percent", "normal"), [(30.0, False), (20.0, True)])
def test_a_share_of_all_processors_counts_as_often_as_there_are_some(percent: float, normal: bool) -> None:
    made = listing({"cpu_pct": percent, "cpu_all": True, "cpu_no": 0}, {"cpu_pct": 0.5, "cpu_all": True, "cpu_no": 1})
    assert made[0].normal is normal
    both = f"{2 * percent:.0f} % of one (there are 2 processors or more)"
    assert f"took {percent:.0f} % of all processors, at least {both}" in made[0].headline


def test_a_share_of_all_processors_of_which_nobody_knows_how_many_there_are() -> None:
    made = listing({"cpu_pct": 60.0, "cpu_all": True}, {"cpu_pct": 1.0, "cpu_all": True})
    assert "took 60 % of all processors, 98.4 % of what the 2 listed took" in made[0].headline


@pytest.mark.parametrize(("kb", "normal"), [(1000.0, False), (300.0, True)])
def test_a_third_of_the_memory(kb: float, normal: bool) -> None:
    made = listing({"rss_kb": kb}, *[{"rss_kb": 200.0} for _ in range(8)])
    assert made[0].normal is normal


def test_threads_of_the_kernel_and_the_filter_of_the_listing_are_no_whole() -> None:
    kernel = {"comm": "[flusher/9]", "rss_kb": 0.0, "vsz_kb": 0.0}
    assert listing(kernel, kernel, {"comm": "grep", "rss_kb": 640.0, "mem_pct": 0.0}) == []
    (made,) = listing(kernel, {"rss_kb": 900.0}, {"rss_kb": 300.0}, {"comm": "ps", "rss_kb": 9000.0})
    assert made.headline.endswith("holds 900 kB of memory, 75 % of what the 2 listed hold")
    held = listing({"rss_kb": 900.0}, {"comm": "grep", "rss_kb": 9000.0, "mem_pct": 60.0})
    assert held[0].subject.startswith("grep"), "one that has much of the host is no mere filter"


def test_the_memory_of_the_host_counts_too() -> None:
    made = listing({"rss_kb": 500.0, "mem_pct": 61.0}, *[{"rss_kb": 400.0} for _ in range(8)])
    assert not made[0].normal
    assert made[0].share == pytest.approx(0.61)


@pytest.mark.parametrize(
    ("percent", "normal", "named"), [(0.6, True, False), (12.0, False, False), (40.0, False, True)]
)
def test_most_of_a_short_listing_may_be_little_of_the_machine(percent: float, normal: bool, named: bool) -> None:
    made = listing({"rss_kb": 48_000.0, "mem_pct": percent}, *[{"rss_kb": 20_000.0, "mem_pct": 0.2} for _ in range(4)])
    assert made[0].normal is normal
    assert any("counter" in one for one in made[0].seen) is named


def test_the_memory_of_the_machine_stands_in_the_head_of_the_listing() -> None:
    rows = [{"line_no": n, "pid": n, "comm": f"c{n}", "rss_kb": kb} for n, kb in ((3, 48_000.0), (4, 9_000.0))]
    for machine, normal in ((8_000_000.0, True), (64_000.0, False)):
        head = [{"line_no": 1, "name": "MemTotal", "value": machine, "unit": "kb"}]
        made = [s for s in observe(Case.of_tables({"ps": rows, "meminfo": head})) if s.name == "rss_kb"]
        assert made[0].normal is normal


def test_samples_are_told_by_their_median_with_the_worst_line() -> None:
    rows = [
        {"line_no": n, "sample": n, "pid": 7, "comm": "java", "cpu_pct": v}
        for n, v in ((1, 90.0), (2, 99.0), (3, 60.0))
    ]
    (made,) = observe(Case.of_tables({"ps": rows}))
    assert made.headline == "java (pid 7) took 90 % of a processor, 99 % at most in 3 samples"
    assert made.lines[0].line_from == 2


@pytest.mark.parametrize(("n", "stands"), [(5, True), (4, False)])
def test_zombies(n: int, stands: bool) -> None:
    made = listing(*[{"ending": "defunct"} for _ in range(n)])
    assert [s.headline for s in made] == ([f"{n} processes have ended and are not waited for"] if stands else [])


def test_many_processes_of_one_program() -> None:
    made = listing(*[{"comm": "httpd"} for _ in range(50)], *[{"comm": "kworker/0:1"} for _ in range(200)])
    assert [s.headline for s in made] == ["50 processes of httpd are listed"]


def test_a_thread_that_waits_for_a_processor() -> None:
    rows = [{"line_no": 3, "pid": 9, "comm": "oracle", "lat": 62.0, "lck": 0.1, "dfl": None, "tfl": 0.0}]
    made = list(observe(Case.of_tables({"microstates": rows})))
    assert made[0].headline == "oracle (pid 9) waited for a processor 62 % of its time (62 % at worst)"
    assert [s.normal for s in made] == [False, True, True]


def test_the_largest_segment_and_mapping_are_measures() -> None:
    segments: list[dict[str, Any]] = [{"line_no": n, "shmid": n, "bytes": 1024 * n, "nattch": n} for n in (4, 5)]
    maps: list[dict[str, Any]] = [
        {"line_no": 2, "pid": 1, "kbytes": 900.0, "mapping": "[ heap ]"},
        {"line_no": 3, "pid": 1, "kbytes": 100.0},
    ]
    made = {s.headline: s.normal for s in observe(Case.of_tables({"ipcs_shm": segments, "pmap": maps}))}
    assert made == {
        "[ heap ] takes 900 kB": True,
        "The largest of 2 shared memory segments, 5, has 5,120 bytes, 5 attachments hold it": True,
    }


def test_empty() -> None:
    assert list(observe(Case.of_tables({"ps": []}))) == []


def test_the_kernel_holds_little_programs_may_hold_all() -> None:
    values = {"MemTotal": 1000.0, "SUnreclaim": 480.0, "PageTables": 49.0, "AnonPages": 900.0}
    row = {"part": 1, "sample": 1, "unit": "kb"}
    rows = [{**row, "line_no": n, "name": k, "value": v} for n, (k, v) in enumerate(values.items(), 1)]
    made = {s.subject: s for s in observe(Case.of_tables({"meminfo": rows}))}
    assert made["SUnreclaim"].headline == "SUnreclaim holds 480 kB, 48 % of the memory"
    assert [name for name, s in made.items() if not s.normal] == ["SUnreclaim"]
    assert made["SUnreclaim"].share == 1.0
    assert "MemTotal" not in made
    unitless = observe(Case.of_tables({"meminfo": [{**row, "unit": None} for row in rows]}))
    assert "SUnreclaim holds 480 (no unit is printed), 48 % of the memory" in [s.headline for s in unitless]


def test_processes_of_one_program_are_told_together_with_their_parent() -> None:
    made = listing(*({"cpu_pct": 25.0, "comm": "worker", "ppid": 7} for _ in range(4)), {"cpu_pct": 9.0, "ppid": 1})
    (told,) = [s for s in made if s.subject.startswith("worker")]
    assert told.beside == "4 processes of worker took 100 % together, all children of process 7"


def test_threads_of_the_kernel_are_told_apart_from_programs() -> None:
    none = {"rss_kb": 0.0, "vsz_kb": 0.0}
    made = listing(
        *({"comm": "nfsd", "cpu_pct": 100.0, **none} for _ in range(3)), {"cpu_pct": 60.0, "rss_kb": 9.0, "vsz_kb": 9.0}
    )
    nfsd = next(s for s in made if s.subject.startswith("nfsd"))
    assert {"event": "kernel-thread-busy"} in nfsd.seen
    assert nfsd.share == pytest.approx(300 / 360), "what the three take together"
    assert "27.8 % of what the 4 listed took" in nfsd.headline, "and what this one takes"
    assert not any({"event": "kernel-thread-busy"} in s.seen for s in made if s.subject.startswith("server"))


@pytest.mark.parametrize("more", [{"rss_kb": None}, {"state": "Z"}, {"cpu_pct": 40.0}])
def test_nobody_is_taken_for_the_kernel(more: dict[str, Any]) -> None:
    made = listing({"cpu_pct": 90.0, "rss_kb": 0.0, "vsz_kb": 0.0, **more})
    assert not any({"event": "kernel-thread-busy"} in s.seen for s in made)


def test_a_thread_that_waits_is_told_with_how_much_it_ran() -> None:
    rows = [
        {"line_no": n, "sample": n, "pid": 9, "comm": "worker", "usr": usr, "sys": 2.0, "lat": 70.0}
        for n, usr in enumerate((10.0, 12.0, 14.0), 3)
    ]
    made = list(observe(Case.of_tables({"microstates": rows})))
    assert made[0].beside == "meanwhile it ran 14 %"
    threads = [{**row, "lwp": n} for n, row in enumerate(rows, 1)]
    assert next(iter(observe(Case.of_tables({"microstates": [*rows, *threads]})))).beside is None


@pytest.mark.parametrize(("n", "joined"), [(3, True), (2, False)])
def test_threads_that_wait_for_the_same_are_told_together(n: int, joined: bool) -> None:
    rows = [
        {"line_no": i, "pid": i, "comm": f"job{i}", "usr": 10.0, "sys": 1.0, "lat": 60.0 + i} for i in range(1, n + 1)
    ]
    rows.append({"line_no": 9, "pid": 9, "comm": "calm", "usr": 10.0, "sys": 1.0, "lat": 1.0})
    made = [s for s in observe(Case.of_tables({"microstates": rows})) if s.name == "lat_pct"]
    assert {s.joins for s in made if not s.normal} == ({"lat"} if joined else {None})
    assert {s.joins for s in made if s.normal} == {None}
    if joined:
        assert {s.short for s in made if not s.normal} >= {"job3 (pid 3) 63 %"}


def test_threads_alike_are_told_together_and_only_their_time_says_what_they_work_at() -> None:
    rows = [{"comm": f"GC Thread#{n}", "cpu_pct": 96.0, "mem_pct": 61.0, "rss_kb": 9e6} for n in range(5)]
    made = [s for s in listing(*rows, {"comm": "sshd", "cpu_pct": 1.0, "mem_pct": 0.1, "rss_kb": 9e3}) if not s.normal]
    (busy,) = [s for s in made if s.name == "cpu_pct"]
    assert (busy.subject, busy.seen[-1]) == ("GC Thread (pid 102)", {"process": "GC Thread"})
    assert busy.share == pytest.approx(480 / 481)
    assert {frozenset(n) for s in made if s.name == "rss_kb" for n in s.seen} == {frozenset({"counter"})}


@pytest.mark.parametrize(
    ("row", "fills"),
    [
        ({"comm": "shopd", "cpu_pct": 99.0}, True),
        ({"comm": "shopd", "cpu_pct": 80.0}, False),
        ({"comm": "[kworker/3:1]", "cpu_pct": 99.0}, False),  # a thread of the kernel, told as one
    ],
)
def test_a_program_that_nobody_knows_fills_a_processor(row: dict[str, Any], fills: bool) -> None:
    (made,) = listing(row)
    assert ({"process": row["comm"], "event": "process-fills-processor"} in made.seen) is fills


@pytest.mark.parametrize(("percent", "event"), [
    (55.0, "reclaim-threads-fill-processor"), (20.0, "reclaim-threads-work"), (4.0, None),
])  # fmt: skip
def test_threads_of_the_kernel_that_free_memory_are_told_together(percent: float, event: str | None) -> None:
    made = listing(
        {"comm": "kswapd0", "cpu_pct": percent},
        {"comm": "[kswapd1]", "cpu_pct": 28.0 * (percent > 4)},
        {"cpu_pct": 2.0},
    )
    found = [s for s in made if s.subject == "threads that free memory"]
    assert [s.seen for s in found] == ([({"event": event},)] if event else [])
    if found:
        assert (found[0].value, found[0].n, len(found[0].lines)) == (percent + 28.0, 2, 2)
