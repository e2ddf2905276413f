"""What the metrics of a program say: pools, descriptors, held back processors, late flushes."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.exposed_metrics import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise


def metrics(*named: tuple[str, str, float]) -> list[Sighting]:
    rows = [
        {"line_no": n, "grp": "metrics", "item": item, "name": name, "value": value}
        for n, (item, name, value) in enumerate(named, 1)
    ]
    return list(observe(Case.of_tables({"counters": rows})))


def test_a_pool_of_which_all_are_taken_says_who_waits() -> None:
    pool = 'pool="till"'
    (one,) = metrics(
        (pool, "till_connections_active", 25), (pool, "till_connections_max", 25), (pool, "till_connections_pending", 7)
    )
    assert one.headline == "25 of 25 till connections are taken, and 7 wait for one"
    assert [line.line_from for line in one.lines] == [1, 2, 3]
    assert [found.mechanism for found in recognise(**one.seen[0])] == ["pool-exhausted"]


def test_names_of_several_libraries_are_understood() -> None:
    (threads,) = metrics(("", "tomcat_threads_busy_threads", 200), ("", "tomcat_threads_config_max_threads", 200))
    assert threads.headline == "200 of 200 tomcat threads threads are taken"
    (go,) = metrics(("", "go_sql_in_use_connections", 12), ("", "go_sql_max_open_connections", 12))
    assert go.seen == ({"event": "exposed-connections-full"},)


@pytest.mark.parametrize(
    "named",
    [
        (("a", "till_connections_active", 24), ("a", "till_connections_max", 25), ("a", "till_connections_pending", 0)),
        (("a", "till_connections_active", 25), ("b", "till_connections_max", 25)),
        (("a", "till_requests_active", 25), ("a", "till_requests_max", 25)),
        (("Eden", "jvm_memory_pool_bytes_used", 25), ("Eden", "jvm_memory_pool_bytes_max", 25)),
        (("", "process_open_fds", 900), ("", "process_max_fds", 1024)),
        (("c", "container_cpu_cfs_throttled_periods_total", 9), ("c", "container_cpu_cfs_periods_total", 1000)),
    ],
)
def test_room_left_other_labels_and_other_things_say_nothing(named: tuple[tuple[str, str, float], ...]) -> None:
    assert metrics(*named) == []


def test_descriptors_at_their_limit_and_a_container_that_was_held_back() -> None:
    (files,) = metrics(("", "process_open_fds", 1020), ("", "process_max_fds", 1024))
    assert (files.value, files.seen) == (1020, ({"event": "exposed-descriptors-full"},))
    (held,) = metrics(
        ("c", "container_cpu_cfs_throttled_periods_total", 400), ("c", "container_cpu_cfs_periods_total", 1000)
    )
    assert held.headline == "The container was held back in 40 % of its periods (400 of 1,000)"


@pytest.mark.parametrize(("quick", "late"), [(600, True), (800, False)])
def test_a_histogram_of_flushes_tells_how_many_were_late(quick: float, late: bool) -> None:
    name = "store_wal_fsync_duration_seconds_bucket"
    made = metrics(('le="0.064"', name, quick), ('le="1.0"', name, 990), ('le="+Inf"', name, 1000))
    assert [one.headline for one in made] == (
        ["40 % of 1,000 flushes took longer than 64 ms (store_wal_fsync_duration_seconds)"] if late else []
    )


@pytest.mark.parametrize(("pct", "told"), [(62, True), (4, False)])
def test_the_part_of_the_collector_is_told_from_a_fifth(pct: float, told: bool) -> None:
    made = metrics(("System.Runtime", "% Time in GC since last GC (%)", pct))
    assert [one.value for one in made] == ([pct] if told else [])
