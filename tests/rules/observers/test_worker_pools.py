"""Pools of workers by their status pages: full with a queue, full, idle, and what was at its limit before."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.worker_pools import observe
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes


def made(**figures: float) -> list[Sighting]:
    rows = [
        {"grp": "text", "name": name.replace("_", " "), "value": value, "line_no": n}
        for n, (name, value) in enumerate(figures.items(), 1)
    ]
    return list(observe(Case.of_tables({"counters": rows}).with_text()))


def fpm(idle: float, busy: float, queue: float, reached: float = 0, slow: float = 0, most: float = 9) -> list[Sighting]:
    return made(
        listen_queue=queue,
        max_listen_queue=queue,
        idle_processes=idle,
        active_processes=busy,
        total_processes=idle + busy,
        max_active_processes=most,
        max_children_reached=reached,
        slow_requests=slow,
    )


def test_a_full_pool_with_a_queue_names_the_mechanism() -> None:
    (one,) = fpm(0, 25, 41, reached=7, slow=3, most=25)
    assert one.headline == "All 25 workers of PHP-FPM are busy and 41 requests wait in the queue"
    assert one.beside == (
        "the limit on them was reached 7 times since the start; at most 25 were busy at once; at most 41 requests waited;"
        " 3 requests were slow"
    )
    (entry,) = recognise(**one.seen[0])
    assert (entry.mechanism, entry.strength) == ("pool-of-threads", "mechanism")
    assert [c.line_from for c in one.lines] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_full_pool_without_a_queue_may_be_full_for_a_moment() -> None:
    (one,) = fpm(0, 25, 0)
    assert one.headline == "All 25 workers of PHP-FPM are busy"
    assert recognise(**one.seen[0])[0].strength == "shape"


def test_idle_workers_are_normal_and_told() -> None:
    (one,) = fpm(8, 2, 0, most=10)
    assert one.normal
    assert one.headline == "8 of 10 workers of PHP-FPM are idle and no request waits"
    assert one.beside == "at most 10 were busy at once; no request was slow"


def test_a_pool_that_was_full_before_is_told_without_a_reason() -> None:
    (one,) = fpm(8, 2, 0, reached=3)
    assert not one.normal
    assert recognise(**one.seen[0])[0].mechanism is None


def test_requests_that_wait_beside_idle_workers_are_told() -> None:
    (one,) = fpm(3, 7, 2)
    assert one.headline == "2 requests wait although 3 of 10 workers of PHP-FPM are idle"


def test_other_status_pages() -> None:
    (one,) = made(BusyWorkers=150, IdleWorkers=0)
    assert one.headline == "All 150 workers of Apache are busy"
    (one,) = made(BusyWorkers=5, IdleWorkers=45)
    assert one.normal
    (one,) = made(backlog=6, pool_capacity=0, max_threads=5)
    assert one.headline == "All 5 threads of Puma are busy and 6 requests wait in the queue"


@pytest.mark.parametrize(
    "figures",
    [
        {},
        {"idle_processes": 4},
        {"idle_processes": 0, "active_processes": 0},
        {"pool_capacity": 9, "backlog": 1},
        {"total_processes": 4},
    ],
)
def test_what_tells_no_state_says_nothing(figures: dict[str, float]) -> None:
    assert made(**figures) == []


def test_more_busy_than_there_are_is_no_pool() -> None:
    assert made(idle_processes=1, active_processes=9, total_processes=5) == []


def test_work_that_waits_for_threads_of_dotnet() -> None:
    (one,) = made(ThreadPool_Queue_Length=977, ThreadPool_Thread_Count=61)
    assert one.headline == "977 pieces of work wait for one of the 61 threads of .NET's pool"
    assert recognise(**one.seen[0])[0].mechanism == "pool-of-threads"
    assert [s.normal for s in made(ThreadPool_Queue_Length=3, ThreadPool_Thread_Count=14)] == [True]
    assert made(ThreadPool_Thread_Count=977) == []


def test_a_queue_of_dotnet_without_the_number_of_its_threads() -> None:
    lines = [f"2021/02/03 4:25:{s},System.Runtime,ThreadPool Queue Length,Metric,{n}" for s, n in ((31, 7), (33, 410))]
    counters = read_bytes("\n".join(lines).encode()).tables["counters"].to_dicts()
    (made,) = observe(Case.of_tables({"counters": counters}).with_text())
    assert made.headline == "410 pieces of work wait for a thread of .NET's pool"
    assert made.share == 1.0


def test_the_names_of_the_pool_since_net_9() -> None:
    text = """    dotnet.thread_pool.queue.length ({work_item})                   1,410
    dotnet.thread_pool.thread.count ({thread})                         48
"""
    counters = read_bytes(text.encode()).tables["counters"].to_dicts()
    (made,) = observe(Case.of_tables({"counters": counters}).with_text())
    assert made.headline == "1,410 pieces of work wait for one of the 48 threads of .NET's pool"
