"""Tests that blocked tasks stand out with the place where they wait; idle places are noted once, short sleeps not."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers import standing_still, thread_stacks
from rules.observers.observer import Sighting
from rules.observers.standing_still import observe
from rules.signatures.signatures import Seen


def seen(**tables: list[dict[str, Any]]) -> list[Sighting]:
    rows = {name: [{"line_no": n, **row} for n, row in enumerate(held, 1)] for name, held in tables.items()}
    return list(observe(Case.of_tables(rows)))


def process(pid: int, state: str, sample: int = 1, comm: str = "cp") -> dict[str, Any]:
    return {"pid": pid, "state": state, "sample": sample, "comm": comm}


def thread(lwp: int, *frames: str, **more: Any) -> dict[str, Any]:
    """Make a thread of a dump, leaf first."""
    return {"pid": 7, "lwp": lwp, "weight": 1.0, "unit": "samples", "frames": list(frames), "leaf": frames[0], **more}


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the signatures by two idle places, so that the lists of signatures do not matter."""

    def reason(names: tuple[Seen, ...]) -> str | None:
        places = ({"symbol": "accept"}, {"call": "accept"})
        return "waits for connections" if any(n in places for n in names) else None

    monkeypatch.setattr(standing_still, "idle_reason", reason)
    monkeypatch.setattr(thread_stacks, "idle_reason", reason)


# --- ps ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "stands"), [(1, False), (2, True)])
def test_two_sleepers_of_one_sample_stand_out_and_one_does_not(n: int, stands: bool) -> None:
    made = seen(ps=[*(process(i, "D+") for i in range(n)), process(90, "R"), process(91, "Ss")])
    assert [s.headline for s in made] == ["2 processes of cp stood in uninterruptible sleep"] * stands


def test_one_sleeper_of_two_samples_stands_out() -> None:
    made = seen(ps=[process(4, "D", 1), process(4, "Ds", 2), process(5, "S", 3)])
    assert [(s.subject, s.value, s.n) for s in made] == [("cp (4)", 1.0, 2)]
    assert made[0].headline == "1 process of cp stood in uninterruptible sleep, in 2 of 3 samples"
    assert made[0].share == pytest.approx(2 / 3)


def test_the_only_process_of_a_listing_was_asked_for() -> None:
    (made,) = seen(ps=[process(4, "D", comm="kpolld")])
    assert made.headline == "kpolld (4), the only process that is listed, stood in uninterruptible sleep"
    assert (made.share, made.seen) == (0.2, ())
    assert seen(ps=[process(4, "S")]) == []


@pytest.mark.parametrize("state", ["S", "R", "Z", "O", "T", None])
def test_other_states_are_normal(state: str | None) -> None:
    assert seen(ps=[{**process(i, "S"), "state": state} for i in range(9)]) == []


def test_sleepers_of_different_programs_are_told_once() -> None:
    named = [process(n, "D", comm=f"prog{n}") for n in range(7)]
    (made,) = seen(ps=[*named, process(50, "S")])
    assert made.headline == (
        "7 processes of 7 programs stood in uninterruptible sleep at the same time: prog0, prog1, prog2, prog3, prog4 and 2 more"
    )
    assert (made.value, made.share, made.seen) == (7.0, 0.2, ())
    assert seen(ps=[*named[:2], process(50, "S")]) == [], "one or two read a block"
    assert seen(ps=[process(n, "D", sample=n, comm=f"prog{n}") for n in range(7)]) == [], "each in another sample"
    assert [s.subject for s in seen(ps=[process(n, "D") for n in range(5)])] == ["cp"], "they are told by their name"


# --- threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("idle")
def test_threads_stand_by_place_and_idle_ones_are_one() -> None:
    made = seen(profile_stacks=[
        *(thread(n, "accept", "main") for n in range(14)), thread(20, "lock", "log"), thread(21, "lock", "log"),
    ])  # fmt: skip
    assert [s.headline for s in made] == [
        "2 of 2 threads that are not idle stand in lock, called by log", "14 of 16 threads are idle",
    ]  # fmt: skip
    assert made[0].share == 1.0
    assert made[0].seen == ({"stack": "lock"}, {"symbol": "lock"}, {"stack": "log"}, {"symbol": "log"})
    assert [made[0].idle, made[1].idle] == [None, "waits for connections"]
    assert [c.line_from for c in made[1].lines] == [1, 2, 3]


def test_the_switch_to_another_thread_is_no_place() -> None:
    made = seen(profile_stacks=[thread(5, "__schedule", "schedule", "ext4_sync+0x3/0x9 [ext4]", kernel=True)])
    assert [(s.subject, s.headline) for s in made] == [("ext4_sync", "Thread 5 stands in ext4_sync")]


def test_a_long_stack_is_cited_by_its_first_lines() -> None:
    made = seen(profile_stacks=[thread(n, "a", "b", line_no=100 * n, line_end=100 * n + 60) for n in (1, 2, 3, 4)])
    assert [(c.line_from, c.line_to) for c in made[0].lines] == [(100, 105), (200, 205), (300, 305)]


def test_samples_of_a_profile_are_no_threads() -> None:
    assert seen(profile_stacks=[thread(n, "a", event="cycles") for n in range(9)]) == []
    assert seen(profile_stacks=[thread(n, "a", weight=7.0) for n in range(9)]) == []


# --- logs -------------------------------------------------------------------------------------------------------------


def test_a_hung_task_with_the_place_from_its_call_trace() -> None:
    made = seen(logs=[
        {"text": "INFO: task jbd2/sda2-8:349 blocked for more than 120 seconds.", "t_local": 9.0},
        {"text": "Call Trace:"},
        {"text": " [<ffffffff81>] schedule+0x29/0x70"},
        {"text": " ? dead_end+0x1/0x2"},
        {"text": " [<ffffffff82>] wait_on_buffer+0x29/0x70"},
    ])  # fmt: skip
    assert [(s.kind, s.subject, s.seconds, s.seen[0]) for s in made] == [
        ("hung", "jbd2/sda2-8", 120.0, {"stack": "wait_on_buffer"})
    ]
    assert made[0].headline == (
        "jbd2/sda2-8 was blocked in wait_on_buffer for more than 2 min 0 s, as the kernel reports"
    )
    assert made[0].t_from == 9.0


def test_reports_of_the_same_place_are_one() -> None:
    text = "INFO: task cp:{} blocked for more than {} seconds."
    made = seen(logs=[{"text": text.format(n, 120 * n)} for n in (1, 2, 3)])
    assert [(s.n, s.value) for s in made] == [(3, 360.0)]
    assert "reported 3 times" in made[0].headline


def test_a_stuck_processor_and_a_stall_without_a_duration() -> None:
    made = seen(logs=[
        {"text": "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [java:4711]"},
        {"text": "rcu: INFO: rcu_sched self-detected stall on CPU"},
        {"text": "all is well"},
    ])  # fmt: skip
    assert [(s.kind, s.subject, s.seconds, s.share) for s in made] == [
        ("lockup", "java", 22.0, None),
        ("lockup", "rcu: INFO: rcu_sched self-detected stall", None, 0.5),
    ]


# --- open calls -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ends", "stands"), [(0.1, True), (0.099, False)])
def test_a_call_that_never_ends_stands_from_a_tenth_of_a_second(ends: float, stands: bool) -> None:
    made = seen(
        open_calls=[{"name": "flock", "args": '"/var/lock/a"', "pid": 1, "t_local": 0.0}],
        syscalls=[{"name": "read", "pid": 1, "t_local": t} for t in (-9.9, ends)],
    )
    assert [s.subject for s in made] == ['flock("/var/lock/a")'] * stands
    if made:
        assert (made[0].seconds, made[0].of_s) == (0.1, 10.0)
        assert made[0].seen[1:] == ({"call": "flock", "path": "/var/lock/a"}, {"call": "flock"})


def test_a_call_that_was_open_before_has_a_part_of_the_threads_and_no_seconds() -> None:
    made = seen(open_calls=[
        {"name": "futex", "args": "0x1", "pid": 1, "lwp": 1}, {"name": "futex", "args": "0x1", "pid": 1, "lwp": 2},
        {"name": "read", "args": "3", "pid": 1, "lwp": 3}, {"name": "read", "args": "3", "pid": 1, "lwp": 4, "done_line": 9},
    ])  # fmt: skip
    assert [(s.subject, s.seconds) for s in made] == [("futex(0x1)", None), ("read(3)", None)]
    assert [s.share for s in made] == pytest.approx([2 / 3, 1 / 3])


def test_the_end_of_a_process_never_returns() -> None:
    opened = [{"name": name, "args": "0", "pid": n, "lwp": n} for n, name in enumerate(("exit_group", "flock"))]
    assert [s.subject for s in seen(open_calls=opened)] == ["flock(0)"]


@pytest.mark.usefixtures("idle")
def test_idle_calls_are_one() -> None:
    made = seen(open_calls=[{"name": "accept", "args": str(n), "lwp": n} for n in range(3)])
    assert [(s.n, s.idle) for s in made] == [(3, "waits for connections")]


@pytest.mark.parametrize(("same", "idle"), [(1, True), (2, False)])
def test_a_thread_alone_at_rest_since_before_is_idle_while_others_work(same: int, idle: bool) -> None:
    made = seen(
        open_calls=[{"name": "futex", "args": "0x1", "pid": 1, "lwp": n} for n in range(same)],
        syscalls=[{"name": "read", "pid": 1, "lwp": 9, "t_local": 1.0}],
    )
    assert [bool(s.idle) for s in made] == [idle]


@pytest.mark.parametrize(("call", "idle"), [("futex", True), ("flock", False)])
def test_a_thread_that_worked_is_idle_only_where_threads_are_parked(call: str, idle: bool) -> None:
    made = seen(
        open_calls=[{"name": call, "args": "0x1", "pid": 1, "lwp": 1, "t_local": 1.0}],
        syscalls=[{"name": "read", "pid": 1, "lwp": n, "t_local": 4.0 * n - 4.0} for n in (1, 2)],
    )
    assert [bool(s.idle) for s in made] == [idle]


def test_the_only_thread_of_a_trace_is_never_parked() -> None:
    made = seen(
        open_calls=[{"name": "futex", "args": "0x1", "pid": 1, "lwp": 1, "t_local": 1.0}],
        syscalls=[{"name": "read", "pid": 1, "lwp": 1, "t_local": t} for t in (0.0, 4.0)],
    )
    assert [(s.idle, s.seconds) for s in made] == [(None, 3.0)]


def test_nothing_gives_nothing() -> None:
    assert seen() == []
    odd = {"name": None, "state": None, "t_local": None}
    assert seen(open_calls=[odd], logs=[{"text": None}], ps=[{"pid": None, "state": "D"}], profile_stacks=[{}]) == []


def test_tasks_that_the_kernel_was_asked_to_list() -> None:
    texts = [
        "task:nfsd            state:R  running task     stack:    0 pid: 5329 ppid:     2 flags:0x00004008",
        "Call Trace:",
        " ? list_lru_walk_node+0x35/0xc0",
        "task:nfsd            state:D stack:    0 pid: 5330 ppid:     2 flags:0x00004008",
        " schedule+0x3c/0xa0",
        " ? guessed+0x1/0x2",
        " rwsem_down_write_slowpath+0x2ed/0x690",
        "task:bash            state:S stack:    0 pid: 7 ppid:     2 flags:0x00004008",
    ]
    rows = [{"line_no": n, "text": text} for n, text in enumerate(texts, 1)]
    made = {s.headline: s for s in observe(Case.of_tables({"logs": rows}))}
    assert list(made) == [
        "nfsd was running in list_lru_walk_node, as the kernel reports",
        "nfsd was waiting in rwsem_down_write_slowpath, as the kernel reports",
    ]
    waiting = made["nfsd was waiting in rwsem_down_write_slowpath, as the kernel reports"]
    assert waiting.share == 0.5
    assert [(c.line_from, c.role) for c in waiting.lines] == [
        (4, "report of the kernel"),
        (7, "rwsem_down_write_slowpath"),
    ]


def test_the_state_below_a_report_belongs_to_it() -> None:
    made = seen(logs=[
        {"text": "INFO: task java:4711 blocked for more than 120 seconds."}, {"text": "      Not tainted 5.10.0 #1"},
        {"text": "task:java            state:D stack:    0 pid: 4711"}, {"text": "Call Trace:"},
        {"text": " schedule+0x46/0xb0"}, {"text": " rwsem_down_write_slowpath+0x257/0x4d0"},
        {"text": "task:java            state:D stack:    0 pid: 4712"}, {"text": " do_exit+0x1/0x2"},
    ])  # fmt: skip
    assert [s.headline for s in made] == [
        "java was blocked in rwsem_down_write_slowpath for more than 2 min 0 s, as the kernel reports",
        "java was waiting in do_exit, as the kernel reports",
    ]


@pytest.mark.usefixtures("idle")
def test_idle_threads_are_told_with_where_most_of_them_are() -> None:
    made = seen(profile_stacks=[
        *(thread(n, "accept", "serve", "main") for n in range(3)), thread(9, "accept", "admin"), thread(10, "burn"),
    ])  # fmt: skip
    assert [s.beside for s in made if s.idle] == ["3 of them in accept, called by serve, called by main"]


@pytest.mark.parametrize(("more", "idle"), [(0, 0), (30, 1)])
def test_a_thread_in_its_round_when_an_untimed_trace_ends_is_not_at_rest(more: int, idle: int) -> None:
    calls = [
        {"name": "futex", "pid": 1, "lwp": 1 + n % 2, "line_no": 3 * n + 1, "line_end": 3 * n + 6} for n in range(10)
    ]
    calls += [{"name": "write", "pid": 1, "lwp": 1, "line_no": 40 + n} for n in range(more)]
    made = seen(syscalls=calls, open_calls=[{"name": "futex", "args": "0x1", "pid": 1, "lwp": 2, "line_no": 38}])
    assert len([s for s in made if s.idle]) == idle, "others must have worked for longer than the thread's calls take"


def asleep(*rows: dict[str, Any]) -> list[Sighting]:
    return [s for s in seen(ps=list(rows)) if s.kind == "asleep"]


def test_sleepers_are_told_by_the_place_that_the_listing_names() -> None:
    held = [{**process(n, "D"), "wchan": "jbd2_log_wait_commit"} for n in (2, 3)]
    others = [{**process(n, "S"), "wchan": "hrtimer_nanosleep"} for n in (4, 5, 6)]
    (one,) = asleep(*held, *others)
    assert one.headline == "2 processes (cp) sleep uninterruptibly in jbd2_log_wait_commit"
    assert (one.share, [c.line_from for c in one.lines], one.seen) == (
        1.0,
        [1, 2],
        ({"stack": "jbd2_log_wait_commit"},),
    )
    assert [s.kind for s in seen(ps=[*held, *others])] == ["asleep"]  # not once more by the program's name
    assert asleep(held[0], *others) == []  # one may be reading a block


def test_the_column_state_of_bsd_names_the_place_of_a_sleep() -> None:
    waits = [
        process(n, state) for n, state in enumerate(("swread", "swread", "tx->tx", "CPU3", "select", "sleep", "run"))
    ]
    busy = [process(90 + n, "RUN") for n in range(8)]
    made = [s for s in seen(ps=[*waits, *busy]) if s.kind == "asleep"]
    assert [(s.subject, s.headline) for s in made] == [("swread", "2 processes (cp) sleep uninterruptibly in swread")]


def test_a_few_chosen_processes_are_told_whatever_their_sleep() -> None:
    held = [{**process(2, "S", comm="tar"), "wchan": "flock_lock_inode_wait"}]
    (one,) = asleep(*held)
    assert one.headline == "1 process (tar) sleeps in flock_lock_inode_wait"
    assert asleep(*held, *(process(n, "S") for n in (3, 4, 5))) == []
    assert asleep({**process(2, "S"), "wchan": "ep_poll"}) == []  # rests


@pytest.mark.parametrize(
    ("ppid", "wchan", "circle"), [(2, "pipe_write", True), (9, "pipe_write", False), (2, "pipe_read", False)]
)
def test_parent_and_child_that_both_write_wait_for_each_other(ppid: int, wchan: str, circle: bool) -> None:
    parent = {**process(2, "S", comm="collect"), "ppid": 1, "wchan": wchan}
    told = asleep(parent, {**process(3, "S", comm="pack"), "ppid": ppid, "wchan": wchan})[:1]
    event = {"event": "parent-and-child-write"}
    assert any(event in one.seen for one in told) is circle
    if circle:
        assert told[0].headline.endswith("; 2 is the parent of 3: what each writes, the other does not read")


def test_open_calls_of_two_traces_in_one_file_are_two() -> None:
    one, two = ({"name": "write", "args": f"{n}, 4096", "part": n, "state": "unfinished"} for n in (1, 2))
    assert [s.subject for s in seen(open_calls=[one, two])] == ["write(1, 4096)", "write(2, 4096)"]


def test_threads_in_calls_of_a_database_are_not_idle() -> None:
    names = ("poll", "vio_io_wait", "vio_read", "my_net_read", "cli_safe_read", "mysql_real_query", "find_bill")
    rows = [thread(n, *names, pid=7) for n in (1, 2, 3)]
    (one,) = seen(profile_stacks=[*rows, thread(4, "epoll_wait", "loop")])[:1]
    assert (one.kind, one.value, one.seen[0]) == ("standing", 3.0, {"event": "threads-wait-for-database"})
    # A server's own thread reads in the same functions, for its next command.
    server = ("poll", "vio_io_wait", "vio_read", "my_net_read", "do_command", "handle_connection")
    assert [s.kind for s in seen(profile_stacks=[thread(n, *server, pid=7) for n in (1, 2, 3)])] == ["idle"]


@pytest.mark.parametrize(
    "state",
    [
        "nfsd            D ffff8801fb354000     0  2145      2 0x00000000",
        "nfsd            D    0 2145      2 0x80004000",
        "nfsd            D ffff8801     0  2145      2 0x00000000",
    ],
)
def test_older_kernels_list_a_task_without_words(state: str) -> None:
    texts = [state, "Call Trace:", " schedule+0x3c/0xa0", " fuse_wait_aborted+0x62/0x90"]
    (made,) = seen(logs=[{"line_no": n, "text": text} for n, text in enumerate(texts, 1)])
    assert made.headline == "nfsd was waiting in fuse_wait_aborted, as the kernel reports"


def test_the_caller_says_whose_lock_a_task_waits_for() -> None:
    texts = [
        "INFO: task cp:7 blocked for more than 120 seconds.",
        "cp              D ffff8801fb354000     0  7      2 0x00000000",
    ]
    lock = [" __mutex_lock_slowpath+0x1/0x2", " mutex_lock+0x1/0x2"]
    rows = [{"line_no": n, "text": t} for n, t in enumerate([*texts, *lock, " nfs4_set_client+0x1/0x2"], 1)]
    (made,) = seen(logs=rows)
    assert made.seen[0] == {"stack": "nfs4_set_client"}
    rows = [{"line_no": n, "text": t} for n, t in enumerate([*texts, *lock, " my_driver_ask+0x1/0x2"], 1)]
    (made,) = seen(logs=rows)
    assert made.seen[0] == {"stack": "__mutex_lock_slowpath"}


def test_the_module_says_what_is_waited_for_where_no_signature_knows_the_functions() -> None:
    texts = ["INFO: task nfsd:7 blocked for more than 120 seconds.", " schedule+0x1/0x2"]
    rows = [{"line_no": n, "text": t} for n, t in enumerate([*texts, " my_unheard_of_wait+0x1/0x2 [spl]"], 1)]
    (made,) = seen(logs=rows)
    assert {"event": "stands-in-module", "group": "spl"} in made.seen
    rows = [{"line_no": n, "text": t} for n, t in enumerate([*texts, " jbd2_log_wait_commit+0x1/0x2 [jbd2]"], 1)]
    (made,) = seen(logs=rows)
    assert not any("group" in one for one in made.seen)


@pytest.mark.parametrize(
    ("args", "said", "event"),
    [
        ("0x7f10, FUTEX_WAIT, 5120, NULL", ", which waits for the end of thread 5120, was", "waits-for-end-of-thread"),
        (
            "0x7f10, FUTEX_WAIT_BITSET|FUTEX_CLOCK_REALTIME, 5120, NULL, FUTEX_BITSET_MATCH_ANY",
            ", which waits for the end of thread 5120, was",
            "waits-for-end-of-thread",
        ),
        ("0x7f10, FUTEX_WAIT_PRIVATE, 2, NULL", "NULL) was", "waits-for-held-mutex"),
        ("0x7f10, FUTEX_WAIT_PRIVATE, 0, NULL", "NULL) was", None),
        ("0x7f10, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, NULL", "NULL) was", None),
    ],
)
def test_a_futex_says_what_its_thread_waits_for(args: str, said: str, event: str | None) -> None:
    call = {"name": "futex", "args": args, "pid": 4, "lwp": 4, "state": "unfinished"}
    (made,) = seen(open_calls=[call])
    assert said in made.headline
    assert next((s["event"] for s in made.seen if "event" in s), None) == event


@pytest.mark.parametrize(("ends", "stuck"), [(11.0, True), (10.9, False)])
def test_a_mutex_that_is_waited_for_in_passing_is_no_stuck_one(ends: float, stuck: bool) -> None:
    row = {"pid": 4, "lwp": 4, "state": "done"}
    calls = [{**row, "name": "read", "t_local": t, "line_no": n} for n, t in ((1, 9.0), (3, ends))]
    held = {**row, "name": "futex", "args": "0x1, FUTEX_WAIT_PRIVATE, 2, NULL", "t_local": 10.0, "state": "unfinished"}
    found = observe(Case.of_tables({"syscalls": calls, "open_calls": [{**held, "line_no": 2}]}))
    (made,) = [s for s in found if s.kind == "open-call"]
    assert ({"event": "waits-for-held-mutex"} in made.seen) == stuck


def test_a_name_that_ps_cuts_is_that_of_the_whole_function() -> None:
    cut = [{**process(n, "D"), "wchan": "rpc_wa"} for n in range(1, 4)] + [{**process(9, "S"), "wchan": "poll_s"}]
    (made,) = [s for s in seen(ps=cut) if s.kind == "asleep"]
    assert "rpc_wa" in made.headline
    assert made.seen == ({"stack": "rpc_wait_bit_killable"},)
