"""Tests that functions with much of a profile stand out, flat profiles do not; idle parts are left out, noted once."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.frames import bare, idle_reason, known, named, names_of_leaf
from rules.observers.observer import Sighting
from rules.observers.profile_weight import observe


def seen(**tables: list[dict[str, Any]]) -> list[Sighting]:
    rows = {name: [{"line_no": n, **row} for n, row in enumerate(held, 1)] for name, held in tables.items()}
    return list(observe(Case.of_tables(rows)))


def stack(weight: float, *frames: str, **more: Any) -> dict[str, Any]:
    """Make a stack, leaf first."""
    return {"weight": weight, "unit": "samples", "event": "cycles", "frames": list(frames), "leaf": frames[0], **more}


@pytest.mark.parametrize(("pct", "stands"), [(10.0, True), (9.99, False)])
def test_a_function_owns_a_profile_from_a_tenth(pct: float, stands: bool) -> None:
    made = seen(profile_symbols=[{"symbol": "f", "pct": pct}, {"symbol": "g", "pct": 1.0}])
    assert [(s.subject, s.normal) for s in made] == [("f", not stands)]


def test_a_function_that_each_thread_has_is_told_once_of_a_flat_listing() -> None:
    rows = [{"symbol": "queue_lock", "pct": pct, "comm": f"till{n}"} for n, pct in enumerate((1.5, 1.25, 1.0))]
    (made,) = seen(profile_symbols=rows)
    assert (
        made.headline
        == "queue_lock itself has 3.75 % of the samples, in 3 lines, 1.50 % at most: no function has a tenth"
    )
    assert made.normal


def test_its_own_share_counts_and_not_that_of_what_it_calls() -> None:
    made = seen(profile_symbols=[
        {"symbol": "main", "pct": 100.0, "self_pct": 0.0},
        {"symbol": "__ticket_spin_lock", "pct": 68.0, "self_pct": 67.8, "kernel": True},
    ])  # fmt: skip
    assert [(s.subject, s.value, s.seen) for s in made] == [
        ("__ticket_spin_lock", 67.8, ({"stack": "__ticket_spin_lock"},))
    ]
    assert made[0].headline == "__ticket_spin_lock itself has 67.8 % of the samples"
    assert made[0].share == pytest.approx(0.678)
    assert [(c.line_from, c.role) for c in made[0].lines] == [(2, "largest")]


def test_the_same_function_of_several_programs_and_screens_is_one() -> None:
    made = seen(profile_symbols=[
        {"symbol": "f", "pct": 8.0, "comm": "a", "frame": 1},
        {"symbol": "f", "pct": 6.0, "comm": "b", "frame": 1},
        {"symbol": "f", "pct": 16.0, "comm": "a", "frame": 2},
    ])  # fmt: skip
    assert [(s.value, s.n) for s in made] == [(15.0, 3)]
    assert "in the mean of 2 screens" in made[0].headline


def test_the_idle_loop_is_left_out_and_told_once() -> None:
    made = seen(profile_symbols=[
        {"symbol": "intel_idle", "pct": 80.0, "kernel": True},
        {"symbol": "anything", "pct": 5.0, "comm": "swapper"},
        {"symbol": "work", "pct": 9.0},
    ])  # fmt: skip
    work, idle = made
    assert work.subject == "work"
    assert work.share == pytest.approx(9 / 15)
    assert "(60 % without the idle loop)" in work.headline
    assert idle.idle
    assert idle.headline == "85 % of the samples are the idle loop"


@pytest.mark.parametrize("pct", [None, float("nan"), float("inf"), -3.0])
def test_a_figure_that_is_none_is_no_share(pct: float | None) -> None:
    assert seen(profile_symbols=[{"symbol": "f", "pct": pct}, {"symbol": None, "pct": 50.0}]) == []


# --- stacks -----------------------------------------------------------------------------------------------------------


def test_leaves_and_the_narrowest_caller_of_stacks() -> None:
    made = seen(profile_stacks=[
        stack(40, "a", "hash", "serve", "main"), stack(30, "b", "hash", "serve", "main"), stack(30, "c", "main"),
    ])  # fmt: skip
    assert [(s.kind, s.subject, s.value) for s in made] == [
        ("profile", "a", 40.0), ("caller", "hash", 70.0), ("profile", "b", 30.0), ("profile", "c", 30.0),
    ]  # fmt: skip
    assert made[0].headline == "a itself has 40 % of the samples (40), called by hash"
    assert (
        made[1].headline
        == "70 % of the samples pass through hash, spread over 2 functions that it calls: a 40 %, b 30 %"
    )


@pytest.mark.parametrize(("below", "stands"), [(50, True), (49, False)])
def test_a_caller_owns_a_profile_from_half(below: int, stands: bool) -> None:
    small = [stack(1, f"f{i}", "hash", "main") for i in range(below)]
    rest = [stack(1, f"g{i}", f"h{i}", "main") for i in range(100 - below)]
    assert [s.subject for s in seen(profile_stacks=[*small, *rest])] == ["hash"] * stands


@pytest.mark.parametrize(("one", "stands"), [(89, True), (90, False)])
def test_a_caller_that_passes_nearly_all_on_is_not_the_place(one: int, stands: bool) -> None:
    held = [stack(one, "a", "hash", "main"), stack(100 - one, "b", "hash", "main")]
    assert ("hash" in [s.subject for s in seen(profile_stacks=held)]) is stands


@pytest.mark.parametrize(("weight", "stands"), [(5.0, True), (4.9, False)])
def test_fewer_than_ten_samples_are_chance(weight: float, stands: bool) -> None:
    assert bool(seen(profile_stacks=[stack(weight, "a"), stack(weight, "b")])) is stands


def test_stacks_of_one_moment_are_no_profile() -> None:
    dump = [stack(1, "poll", "main", event=None, pid=7, lwp=n) for n in range(20)]
    assert seen(profile_stacks=dump) == []


def test_one_stack_is_an_example() -> None:
    assert seen(profile_stacks=[stack(500, "a", "main")]) == []


def test_off_the_processor_all_callers_are_named() -> None:
    held = [stack(9e9, "schedule", "a", "b", "c", "d", "main", unit="ns"), stack(1e9, "schedule", "x", unit="ns")]
    first = seen(profile_stacks=held)[0]
    assert {"symbol": "d"} in first.seen
    assert first.headline.startswith("schedule itself has 100 % of the time")


# --- locks and events -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "stands"), [(10, True), (9, False)])
def test_a_lock_owns_the_waiting_from_a_tenth(n: int, stands: bool) -> None:
    held = [{"lock": "mmap", "caller": "as_map+0x1c", "n": n, "mean_ns": 1e8, "event": "block"}]
    held += [{"lock": f"l{i}", "n": 1, "mean_ns": 1e8, "event": "block"} for i in range(100 - n)]
    made = seen(locks=held)
    assert [s.subject for s in made] == ["mmap from as_map"] * stands
    if made:
        assert made[0].seen[:2] == ({"stack": "mmap"}, {"symbol": "mmap"})


@pytest.mark.parametrize(("mean_ns", "stands"), [(1e8, True), (0.9e8, False)])
def test_waiting_for_locks_that_nobody_feels_is_normal(mean_ns: float, stands: bool) -> None:
    assert (
        bool(seen(locks=[{"lock": "a", "n": 1, "mean_ns": mean_ns}, {"lock": "b", "n": 0, "mean_ns": 1.0}])) is stands
    )


def test_long_waits_for_a_lock_of_the_kernel_name_it() -> None:
    """The class of lockdep names the structure too; 5 ms each may pass beside the work that a listing does not show."""
    long, short = (
        seen(
            locks=[
                {"lock": "&mm->mmap_lock-W", "n": 2_000, "mean_ns": mean, "event": "wait"},
                {"lock": "b", "n": 1, "mean_ns": 1.0, "event": "wait"},
            ]
        )[0]
        for mean in (2e7, 5e6)
    )
    assert [long.share, short.share] == pytest.approx([1.0, 0.5], abs=1e-6)
    assert [{"event": "kernel-lock-waits-long"} in one.seen for one in (long, short)] == [True, False]
    assert long.seen[0] == {"stack": "mmap_lock"}


def test_holding_a_lock_is_not_waiting_for_it() -> None:
    assert seen(locks=[{"lock": "a", "n": 9, "mean_ns": 1e9, "event": "hold"}, {"lock": "b", "n": 1}]) == []


def test_wait_events_without_the_idle_ones() -> None:
    made = seen(db_waits=[
        {"event": "db file sequential read", "total_s": 750.0, "n": 1000, "avg_ms": 750.0},
        {"event": "log file sync", "total_s": 250.0},
        {"event": "SQL*Net message from client", "total_s": 9000.0},
        {"event": "something", "wait_class": "Idle", "total_s": 1.0},
    ])  # fmt: skip
    assert [(s.subject, s.share) for s in made if not s.idle] == [
        ("db file sequential read", 0.75), ("log file sync", 0.25),
    ]  # fmt: skip
    assert made[0].headline == (
        "db file sequential read has 75 % of the waiting listed, idle events left out, 12 min 30 s in 1,000 waits of 0.750 s"
    )
    assert [s.subject for s in made if s.idle] == ["SQL*Net message from client"]


@pytest.mark.parametrize(
    ("seconds", "told"), [(60.0, ["latch free"]), (400.0, ["latch free", "log file parallel write"])]
)
def test_a_percentage_of_the_background_is_none_of_the_database(seconds: float, told: list[str]) -> None:
    made = seen(db_waits=[
        {"event": "latch free", "total_s": 500.0, "pct": 50.0},
        {"event": "log file parallel write", "total_s": seconds, "pct": 60.0},
    ])  # fmt: skip
    assert sorted(s.subject for s in made) == told


@pytest.mark.parametrize(("pct", "stands"), [(10.0, True), (9.9, False)])
def test_an_event_owns_database_time_from_a_tenth(pct: float, stands: bool) -> None:
    assert bool(seen(db_waits=[{"event": "latch free", "pct": pct}])) is stands


def test_nothing_gives_nothing() -> None:
    assert seen() == []
    assert seen(db_waits=[{"event": None, "pct": 50.0}], locks=[{"n": 3}], profile_stacks=[{"weight": None}]) == []


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        ("libc.so.1`poll+0x15", "poll"),
        ("[<0>] jbd2_log_wait_commit+0xa5/0x110 [jbd2]", "jbd2_log_wait_commit"),
        ("std::vector<int>::push_back", "std::vector<int>::push_back"),
        ("operator<<(std::ostream&)", "operator<<(std::ostream&)"),
    ],
)
def test_a_function_is_named_without_its_decoration(frame: str, name: str) -> None:
    assert bare(frame) == name


def test_frames_without_a_name() -> None:
    assert not any(map(named, ("[unknown]", "[unknown] (/bin/x)", "0x7f0012345678", "??", None)))
    assert idle_reason(({"stack": "jbd2_log_wait_commit"},)) is None


def test_the_way_into_the_kernel_as_the_owner_means_very_many_calls() -> None:
    (made,) = seen(profile_symbols=[{"symbol": "entry_SYSCALL_64", "pct": 60.0, "kernel": True}])
    assert made.seen[0] == {"event": "syscall-entry"}
    (other,) = seen(profile_symbols=[{"symbol": "do_sys_poll", "pct": 60.0, "kernel": True}])
    assert {"event": "syscall-entry"} not in other.seen


def test_a_call_tree_cites_the_callers_of_its_leaf() -> None:
    (made,) = seen(profile_stacks=[stack(2543.0, "task_for_pid", "scan", "main", frame_lines=[10, 9, 8])])
    assert made.headline.startswith("task_for_pid itself has 100 % of the samples (2,543), called by scan")
    assert [(c.line_from, c.role) for c in made.lines] == [(1, "heaviest stack"), (9, "scan"), (8, "main")]


def test_the_largest_function_below_a_tenth_says_how_far_the_owner_stands_out() -> None:
    made = seen(profile_symbols=[
        {"symbol": "spin", "pct": 61.0}, {"symbol": "walk", "pct": 4.5}, {"symbol": "put", "pct": 3.0},
    ])  # fmt: skip
    assert [s.beside for s in made] == ["the largest below a tenth, walk, has 4.50 %"]
    assert [(c.line_from, c.role) for c in made[0].lines] == [(1, "largest"), (2, "the next: walk")]


def test_printed_percents_of_a_call_graph_are_told_and_small_callees_are_not() -> None:
    more = {"unit": "pct", "event": None}
    made = seen(profile_stacks=[
        stack(30.0, "spin", "walk", "open", "serve", "main", pcts=[30.0, 33.3, 54.0, 88.8, None], **more),
        stack(19.4, "add", "open", "serve", "main", pcts=[19.4, 54.0, 88.8, None], **more),
        stack(34.4, "close", "serve", "main", pcts=[34.4, 88.8, None], **more),
        stack(0.5, "tick", "serve", "main", pcts=[0.5, 88.8, None], **more),
    ])  # fmt: skip
    assert [s.headline for s in made if s.kind == "caller"] == [
        "88.8 % of the samples pass through serve, spread over 3 functions that it calls: open 54 %, close 34.4 %"
    ]
    assert [c.line_from for s in made if s.kind == "caller" for c in s.lines] == [3, 1, 4]


def interrupts(*rows: tuple[str, float]) -> list[dict[str, Any]]:
    event = "Profiling interrupt"
    return [{"event": event, "lock": "cpu[3]", "caller": f"{c}+0x1c", "pct": p, "n": 100, "mean_ns": 4e7} for c, p in rows]  # fmt: skip


def test_a_profile_of_lockstat_is_no_waiting_for_locks() -> None:
    work, idle = seen(locks=interrupts(("cpu_halt", 70.0), ("bzero", 20.0), ("copyin", 1.0)))
    assert work.headline == "bzero itself has 20 % of the samples of Profiling interrupt (66.7 % without the idle loop)"
    assert idle.headline == "70 % of the samples are the idle loop"


def test_an_idle_machine_in_a_profile_of_lockstat_is_idle() -> None:
    (idle,) = seen(locks=interrupts(("cpu_halt", 98.0), ("bzero", 0.1)))
    assert idle.idle == "the processors had nothing to do"


def test_a_profile_of_lockstat_with_stacks_is_told_from_these() -> None:
    held = [stack(90, "bzero", "main"), stack(10, "copyin", "main")]
    made = seen(locks=interrupts(("main", 90.0)), profile_stacks=[{**one, "event": "lock"} for one in held])
    assert [s.subject for s in made] == ["bzero", "copyin"]


def test_a_lock_in_several_rows_is_told_with_its_largest_row_and_its_longest_wait() -> None:
    (made,) = seen(locks=[
        {"event": "rwsem:W", "caller": "map", "n": 10, "mean_ns": 4e8, "max_ns": 5e8},
        {"event": "rwsem:W", "caller": "map", "n": 2, "mean_ns": 1e8, "max_ns": 7e8},
    ])  # fmt: skip
    assert made.headline.endswith("12 times of 0.400 s, 4.200 s together in 2 rows, the largest 4.000 s")
    assert made.beside == "the longest single wait was 0.700 s"


def test_a_call_tree_names_its_thread() -> None:
    tree = {"comm": "main-thread", "frame_lines": [9, 8, 7], "line_no": 9}
    (made,) = seen(profile_stacks=[stack(400, "wait", "draw", "main", **tree)])
    assert made.headline.endswith(", called by draw, in the thread main-thread")
    assert (6, "thread main-thread") in [(c.line_from, c.role) for c in made.lines]


def tree(*frames: str) -> dict[str, Any]:
    lines = list(range(len(frames) + 1, 1, -1))
    return {**stack(900, *frames), "event": "sample", "frame_lines": lines}


def test_parked_threads_of_a_sample_by_the_clock_do_not_dilute_a_busy_one() -> None:
    parked = [tree("__workq_kernreturn", "start_wqthread") for _ in range(8)]
    (made,) = seen(profile_stacks=[*parked, tree("bake", "kitchen", "main")])
    assert (made.subject, made.share) == ("bake", 1.0)


def test_a_sample_by_the_clock_of_parked_threads_alone_is_told_as_it_is() -> None:
    (made,) = seen(profile_stacks=[tree("mach_msg_trap", "mach_msg", "__CFRunLoopServiceMachPort", "main")])
    assert (made.subject, made.share) == ("mach_msg_trap", 1.0)


def test_a_function_that_is_called_within_itself_is_told_with_both_lines() -> None:
    (made,) = seen(profile_stacks=[tree("wait", "again", "other", "again", "main")])
    assert made.beside == "on the way to it again is called again within itself"
    assert [line.line_from for line in made.lines if line.role.startswith("again")][-2:] == [5, 3]


@pytest.mark.parametrize("frames", [("wait", "a", "b", "main"), ("wait", "walk", "walk", "main")])
def test_a_plain_path_and_a_recursion_are_not(frames: tuple[str, ...]) -> None:
    assert seen(profile_stacks=[tree(*frames)])[0].beside is None


def kernel(*rows: tuple[str, float]) -> list[Sighting]:
    made = seen(profile_symbols=[{"symbol": name, "pct": pct, "kernel": True} for name, pct in rows])
    return [s for s in made if s.kind == "work"]


def test_functions_that_do_one_kind_of_work_are_added_up() -> None:
    (one,) = kernel(("isolate_freepages_block", 31.0), ("tcp_sendmsg", 12.0), ("compaction_alloc", 24.0))
    assert (one.value, one.share, [c.line_from for c in one.lines]) == (55.0, 0.55, [1, 3])
    assert one.headline == (
        "2 functions of one kind have 55 % of the samples together: isolate_freepages_block 31 %, compaction_alloc 24 %"
    )
    known = names_of_leaf("isolate_freepages_block", True)[0]
    assert known in one.seen


@pytest.mark.parametrize(("second", "told"), [(4.0, True), (3.9, False)])
def test_the_largest_function_alone_is_told_once(second: float, told: bool) -> None:
    assert bool(kernel(("isolate_freepages_block", 40.0), ("compaction_alloc", second))) is told
    assert kernel(("isolate_freepages_block", 40.0), ("tcp_sendmsg", 20.0)) == []


@pytest.mark.parametrize(("first", "told"), [(16.0, True), (15.9, False)])
def test_a_kind_of_work_owns_a_profile_from_a_fifth(first: float, told: bool) -> None:
    assert bool(kernel(("isolate_freepages_block", first), ("compaction_alloc", 4.0))) is told


@pytest.mark.parametrize(("outright", "named_by"), [(10.0, "flush_tlb_func"), (9.9, "smp_call_function_many_cond")])
def test_a_small_function_does_not_name_what_large_ones_do(outright: float, named_by: str) -> None:
    (one,) = kernel(("smp_call_function_many_cond", 50.0), ("flush_tlb_func", outright))
    assert one.seen == names_of_leaf(named_by, True)


@pytest.mark.parametrize(
    ("row", "whose"),
    [
        ({"kernel": False, "comm": "shopd"}, {"event": "function-of-program", "process": "shopd"}),
        ({"kernel": True, "comm": "shopd", "event": "cycles:P"}, {"event": "function-of-kernel"}),
        ({"kernel": False, "event": "page-faults"}, None),  # not of time on processors
        ({"kernel": None}, None),  # the profile does not tell whose it is
    ],
)
def test_a_function_is_the_programs_or_the_kernels(row: dict[str, Any], whose: dict[str, str] | None) -> None:
    (one,) = seen(profile_symbols=[{"symbol": "rebalance_shelves", "pct": 60.0, "part": 1, "line_no": 1, **row}])
    assert [s for s in one.seen if "event" in s] == ([whose] if whose else [])


def test_a_function_that_a_signature_knows_is_what_that_says() -> None:
    (one,) = seen(profile_symbols=[{"symbol": "_raw_spin_lock", "pct": 60.0, "kernel": True, "part": 1, "line_no": 1}])
    found = known(one.seen)
    assert found is not None
    assert found.mechanism == "kernel-lock"


@pytest.mark.parametrize(("pct", "told"), [(50.0, True), (49.0, False)])
def test_the_busiest_thread_of_a_server_at_rest_is_not_busy(pct: float, told: bool) -> None:
    at_rest = stack(4.0, "org.example.Merge.run", event="hot threads")
    made = seen(profile_stacks=[*[stack(pct, "org.example.Query.run", event="hot threads")] * 2, at_rest])
    assert [s.subject for s in made] == ["org.example.Query.run"] * told


def test_types_of_locks_of_the_kernel_are_parts_of_one_listing() -> None:
    """perf lock contention has a type in each row, and no type has a list of its own."""
    rows = [
        {"event": "spinlock", "caller": "till_add", "n": 900, "mean_ns": 1e6},
        {"event": "rwsem:W", "caller": "till_map", "n": 100, "mean_ns": 1e6},
    ]
    made = [s for s in seen(locks=rows) if s.kind == "lock"]
    assert [(s.subject, s.value) for s in made] == [("till_add", 90.0), ("till_map", 10.0)]
    assert {"event": "kernel-lock-contended"} in made[0].seen
