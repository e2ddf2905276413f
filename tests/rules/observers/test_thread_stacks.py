"""Locks with holders, circles of locks, threads that run on, and frames cited one by one."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import MOST_LINES, Sighting
from rules.observers.thread_stacks import CONVOY, EXCERPT, LIVED_S, LONG_S, RUNS, threads


def seen(*rows: dict[str, Any]) -> list[Sighting]:
    return list(threads(Case.of_tables({"profile_stacks": list(rows)}).with_text()))


def stack(at: int, name: str | None, *frames: str, **more: Any) -> dict[str, Any]:
    """Make a stack of the general reader whose head is on line `at`, with a frame on each line below it."""
    return {
        "line_no": at, "line_end": at + len(frames), "source": "text", "weight": 1.0, "unit": "samples", "comm": name,
        "frames": list(frames), "leaf": frames[0] if frames else None, "frame_lines": [at + n for n in range(1, len(frames) + 1)],
        **more,
    }  # fmt: skip


BLOCKED = "BLOCKED (on object monitor)"


def test_a_lock_is_told_with_those_who_wait_and_the_place_of_its_holder():
    made = seen(
        stack(1, "a", "shop.Log.write", "shop.A.run", state=BLOCKED, waits_for="0x6b"),
        stack(11, "b", "shop.Log.write", "shop.B.run", state=BLOCKED, waits_for="0x6b"),
        stack(21, "c", "shop.Disk.write", "shop.Log.write", state="RUNNABLE", holds=["0x6b"]),
    )
    lock = made[0]
    assert (lock.kind, lock.subject, lock.value, lock.share) == ("lock", "0x6b", 2.0, 1.0)
    assert lock.headline == (
        '2 threads wait for 0x6b, which "c" holds; it stands in shop.Disk.write [RUNNABLE], called by shop.Log.write'
    )
    assert lock.seen[0] == {"event": "java-thread-blocked"}
    assert [(c.line_from, c.role) for c in lock.lines] == [
        (1, f'"a", {BLOCKED}'), (11, f'"b", {BLOCKED}'), (21, 'holds it: "c", RUNNABLE'), (22, "shop.Disk.write"), (23, "shop.Log.write"),
    ]  # fmt: skip


def test_one_that_waits_for_a_lock_of_nobody_is_only_a_place():
    (made,) = seen(stack(1, "a", "pthread_mutex_lock", "get", waits_for="0x6b"))
    assert (made.kind, made.headline) == ("standing", '"a" stands in pthread_mutex_lock, called by get')


def test_a_circle_of_locks_and_who_waits_behind_it():
    made = seen(
        stack(3, "c", waits_for="0x1", held_by="a"),
        stack(6, "a", waits_for="0x2", held_by="b"),
        stack(9, "b", waits_for="0x1", held_by="a"),
    )
    assert [s.kind for s in made] == ["lock-cycle"]
    assert made[0].value == 2
    assert made[0].headline == (
        '2 threads wait for each other (deadlock): "a" waits for 0x2 of "b"; "b" waits for 0x1 of "a"; '
        '1 more behind them, the first "c"'
    )
    assert [c.line_from for c in made[0].lines] == [6, 9, 3]


def test_a_chain_without_an_end_is_no_circle():
    made = seen(stack(3, "a", waits_for="0x1", held_by="b"), stack(6, "b", waits_for="0x2", held_by="x"))
    assert made == []


@pytest.mark.parametrize(
    ("waited", "outright"), [(LONG_S - 1, False), (LONG_S, True), (None, False), (float("nan"), False)]
)
def test_a_wait_for_a_lock_is_one_after_a_minute(waited: float | None, outright: bool):
    (made,) = seen(stack(1, "goroutine 7", "sync.(*Mutex).Lock", "main.get", state="semacquire", waited_s=waited))
    assert ({"event": "goroutine-blocked"} in made.seen) is outright
    assert [(c.line_from, c.role) for c in made.lines][1:] == [(2, "sync.(*Mutex).Lock"), (3, "main.get")]


def test_the_place_is_above_the_sleep_and_the_programs_own_function_is_named():
    (made,) = seen(
        stack(
            1, "main", "jdk.internal.misc.Unsafe.park", "java.util.concurrent.locks.LockSupport.park", "java.util.concurrent.Foo.get",
            "java.util.concurrent.Bar.get", "shop.Main.main", state="WAITING (parking)",
        )
    )  # fmt: skip
    assert made.headline == (
        '"main" stands in jdk.internal.misc.Unsafe.park [WAITING (parking)], called by java.util.concurrent.Foo.get, '
        "called by java.util.concurrent.Bar.get; first of the program itself: shop.Main.main"
    )


def test_goroutines_that_wait_for_messages_are_idle_beside_one_that_does_not():
    made = seen(
        stack(1, "goroutine 1", "main.loop", state="select, 5 minutes"),
        stack(11, "goroutine 2", "main.send", state="chan send, 5 minutes"),
    )
    assert [(s.kind, s.value) for s in made] == [("standing", 1.0), ("idle", 1.0)]
    (alone,) = seen(stack(1, "goroutine 1", "main.loop", state="select, 5 minutes"))
    assert (alone.kind, alone.idle) == ("standing", None)


def test_a_pools_thread_alone_is_idle_and_says_where():
    (made,) = seen(
        stack(1, "w", "sun.misc.Unsafe.park", "java.util.concurrent.LinkedBlockingQueue.take", state="WAITING")
    )
    assert made.headline == "The only thread is idle in java.util.concurrent.LinkedBlockingQueue.take [WAITING]"
    assert made.idle
    assert made.lines[-1].role == "java.util.concurrent.LinkedBlockingQueue.take"


@pytest.mark.parametrize(
    ("cpu", "age", "runs"),
    [
        (RUNS * LIVED_S, LIVED_S, True),
        (RUNS * LIVED_S - 0.1, LIVED_S, False),
        (RUNS * LIVED_S, LIVED_S - 0.1, False),
        (None, 20.0, False),
        (float("inf"), 20.0, False),
    ],
)
def test_a_thread_that_was_on_a_processor_for_half_of_its_life(cpu: float | None, age: float, runs: bool):
    made = seen(stack(1, "w", "shop.Hash.sum", state="RUNNABLE", cpu_s=cpu, age_s=age))
    assert [s.kind for s in made] == ["standing", *["running"] * runs]


def test_the_same_place_in_two_dumps_on_a_processor_is_a_loop():
    made = seen(
        stack(1, "w", "shop.Hash.sum", state="RUNNABLE", lwp=7, cpu_s=100.0, age_s=1000.0),
        stack(11, "w", "shop.Hash.sum", state="RUNNABLE", lwp=7, cpu_s=109.0, age_s=1010.0),
    )
    assert made[0].headline == '"w" stands in shop.Hash.sum [RUNNABLE], the same in 2 dumps'
    assert made[1].headline.startswith('"w" was on a processor for 9.000 s of the 10.000 s between 2 dumps')
    assert made[1].seen[0] == {"event": "thread-spins"}


def test_what_a_read_waits_for_says_its_caller():
    (made,) = seen(stack(1, None, "__read", "sock_read", "BIO_read", "ssl23_connect", "fetch"))
    assert made.seen[0] == {"event": "thread-in-handshake"}
    (old,) = seen(stack(1, None, "read", "BIO_read", "PySSL_SSLdo_handshake.4031", "fetch"))
    assert old.seen[0] == {"event": "thread-in-handshake"}
    (other,) = seen(stack(1, None, "memcpy", "SSL_connect", "fetch"))
    assert {"event": "thread-in-handshake"} not in other.seen


def test_one_entry_may_stand_for_many_threads_and_few_lines_are_cited():
    made = seen(
        stack(1, None, *[f"main.f{n}" for n in range(40)], weight=400.0), stack(60, None, "main.g", weight=100.0)
    )
    assert [(s.value, s.share) for s in made] == [(400.0, 0.8), (100.0, 0.2)]
    assert sum(c.line_to - c.line_from + 1 for c in made[0].lines) <= MOST_LINES


@pytest.mark.parametrize(("waiting", "busy", "sure"), [(1, EXCERPT - 2, True), (1, EXCERPT, False), (CONVOY, 9, True)])
def test_a_wait_in_passing_is_none_outright(waiting: int, busy: int, sure: bool):
    made = seen(
        stack(1, "holder", "shop.Disk.write", state="RUNNABLE", holds=["0x6b"]),
        *(stack(10 * n, f"w{n}", "shop.Log.write", state=BLOCKED, waits_for="0x6b") for n in range(1, waiting + 1)),
        *(stack(1000 * n, f"b{n}", f"shop.Busy.f{n}", state="RUNNABLE") for n in range(1, busy + 1)),
    )
    event = "java-thread-blocked" if sure else "thread-blocked-in-passing"
    lock = next(s for s in made if s.kind == "lock")
    assert lock.seen[0] == {"event": event}
    places = [s for s in made if s.kind == "standing" and s.subject == "shop.Log.write"]
    assert places[0].seen[0] == {"event": event}


def test_the_switch_of_a_kernel_is_no_place_and_its_functions_are_no_program():
    (made,) = seen(
        stack(1, "nfsd", "mi_switch+0xe1", "sleepq_wait+0x2c", "_sleep+0x1f0", "some_driver_wait+0x64", kernel=True)
    )
    assert made.headline == '"nfsd" stands in _sleep, called by some_driver_wait'


TAKE = ("jdk.internal.misc.Unsafe.park", "java.util.concurrent.LinkedBlockingQueue.take")
WORKER = ("java.util.concurrent.ThreadPoolExecutor.runWorker", "java.lang.Thread.run")
AT_REST = (*TAKE, "java.util.concurrent.ThreadPoolExecutor.getTask", *WORKER)


def test_who_takes_out_of_a_pool_waits_though_the_queue_below_is_a_place_of_rest():
    rows = [stack(1 + 10 * n, f"exec-{n}", *TAKE, "shop.ConnectionPool.borrow", *WORKER) for n in range(4)]
    rows += [stack(51, "exec-9", *AT_REST)]
    waits, rest = seen(*rows)
    assert (waits.kind, waits.value, waits.share) == ("standing", 4.0, 1.0)
    assert {"symbol": "shop.ConnectionPool.borrow"} in waits.seen
    assert (rest.kind, rest.value) == ("idle", 1.0)


@pytest.mark.parametrize(("workers", "inside", "idle"), [(3, (), True), (2, (), False), (3, WORKER, False)])
def test_one_that_sleeps_alone_beside_workers_at_rest_is_idle(workers: int, inside: tuple[str, ...], idle: bool):
    rows = [stack(1 + 10 * n, f"exec-{n}", *AT_REST) for n in range(workers)]
    rows += [stack(51, "clock", "java.lang.Thread.sleep", "shop.Clock.main", *inside)]
    rows += [stack(61, "other", "java.lang.Object.wait", "java.lang.ref.ReferenceQueue.remove", "java.lang.Thread.run")]
    kinds = {s.kind: s for s in seen(*rows)}
    assert ("standing" not in kinds) == idle
    assert kinds["idle"].value == workers + 1 + idle


def test_two_that_sleep_in_a_whole_dump_are_told():
    rows = [stack(1 + 10 * n, f"exec-{n}", *AT_REST) for n in range(3)]
    rows += [stack(51 + 10 * n, f"w-{n}", "java.lang.Thread.sleep", "shop.Retry.pause") for n in range(2)]
    assert [s.value for s in seen(*rows) if s.kind == "standing"] == [2.0]


WAITS = ("__lll_lock_wait_private", "malloc", "fill", "on_alarm")


@pytest.mark.parametrize(
    ("frames", "held"),
    [
        ((*WAITS, "<signal handler called>", "_int_free", "free", "main"), "the signal interrupted _int_free, which holds the lock of the allocator"),
        (("__lll_lock_wait_private", "vsyslog", "on_term", "<signal handler called>", "send", "__vsyslog_internal", "main"),
         "the signal interrupted __vsyslog_internal, which holds the lock of the system log's client"),
    ],
)  # fmt: skip
def test_a_handler_that_waits_for_what_it_interrupted_waits_for_itself(frames: tuple[str, ...], held: str) -> None:
    (made,) = seen(stack(1, "a", *frames))
    assert (made.kind, made.share, made.seen) == ("lock-cycle", 1.0, ({"event": "handler-waits-for-interrupted"},))
    assert made.headline.startswith(f'"a" waits for itself: it stands in {frames[0]}')
    assert made.headline.endswith(held)


@pytest.mark.parametrize(
    "frames",
    [
        (*WAITS, "<signal handler called>", "compute", "main"),
        ("_int_malloc", "malloc", "on_alarm", "<signal handler called>", "_int_free", "free", "main"),
        (*WAITS, "main"),
    ],
    ids=["another holds the lock", "the handler does not wait", "no handler"],
)
def test_a_handler_that_interrupted_something_else_is_only_a_place(frames: tuple[str, ...]) -> None:
    (made,) = seen(stack(1, "a", *frames))
    assert made.kind == "standing"


@pytest.mark.parametrize(
    ("frames", "event"),
    [
        (("call_rwsem_down_write_failed+0x13/0x20", "cm_clean_all+0xe9/0xa60 [cachemod]", "kthread+0xf2/0x130"), True),
        (("call_rwsem_down_write_failed", "cachemod`cm_clean_all", "kthread"), True),
        (("__mutex_lock.isra.2+0x13/0x20", "mutex_lock+0x1/0x2", "cm_write+0xe9/0xa60 [cachemod]"), True),
        (("call_rwsem_down_write_failed+0x13/0x20", "xfs_ilock+0xe9/0xa60 [xfs]"), False),
        (("call_rwsem_down_write_failed+0x13/0x20", "some_core_function+0xe9/0xa60"), False),
        (("cm_clean_all+0xe9/0xa60 [cachemod]", "kthread+0xf2/0x130"), False),
    ],
    ids=["semaphore", "as readers write it", "mutex", "known to a signature", "of the kernel itself", "no lock"],
)
def test_a_wait_for_a_lock_inside_an_unknown_module_says_so(frames: tuple[str, ...], event: bool) -> None:
    (made,) = seen(stack(1, None, *frames, lwp=7, kernel=True))
    assert ({"event": "kernel-module-lock"} in made.seen) is event


@pytest.mark.parametrize(
    ("own", "state", "waited", "told"),
    [
        ("example.com/shop.(*Journal).Flush", "syscall, 400 minutes", 24_000.0, True),
        ("example.com/shop.(*Journal).Flush", "syscall, 59 minutes", 3_540.0, False),
        ("example.com/shop.(*Journal).Flush", "select, 400 minutes", 24_000.0, False),
        ("example.com/shop.(*Journal).watchLoop", "syscall, 400 minutes", 24_000.0, False),
        ("example.com/shop.(*Device).ReadRequest", "syscall, 400 minutes", 24_000.0, False),
    ],
)
def test_a_goroutine_that_stands_in_a_call_for_hours(own: str, state: str, waited: float, told: bool) -> None:
    row = stack(
        1,
        "goroutine 7",
        "syscall.Syscall",
        "syscall.read",
        own,
        "example.com/shop.(*Shop).Close",
        state=state,
        waited_s=waited,
    )
    found = seen(row)
    assert any({"event": "goroutine-in-call"} in s.seen for s in found) is told


def test_in_a_whole_dump_such_a_call_is_only_a_place() -> None:
    row = stack(
        1,
        "goroutine 7",
        "syscall.Syscall",
        "example.com/shop.(*Journal).Flush",
        state="syscall, 400 minutes",
        waited_s=24_000.0,
    )
    others = [
        stack(10 * n, f"goroutine {n + 7}", "example.com/shop.work", state="running") for n in range(1, EXCERPT + 2)
    ]
    assert not any({"event": "goroutine-in-call"} in s.seen for s in seen(row, *others))


@pytest.mark.parametrize(
    ("state", "waited", "told"),
    [
        ("chan send, 60 minutes", 3_600.0, True),
        ("chan send (nil chan), 2 minutes", 120.0, True),
        ("chan send", None, False),
        ("chan receive, 60 minutes", 3_600.0, False),
        ("select, 60 minutes", 3_600.0, False),
    ],
)
def test_a_goroutine_that_nobody_takes_anything_from(state: str, waited: float | None, told: bool) -> None:
    rows = [
        stack(10 * n, f"goroutine {n}", "example.com/shop.fill.func1", state=state, waited_s=waited) for n in (1, 2)
    ]
    assert any({"event": "goroutine-cannot-send"} in s.seen for s in seen(*rows)) is told


@pytest.mark.parametrize(
    ("frames", "state", "event"),
    [
        (
            (
                "sun.misc.Unsafe.park",
                "java.util.concurrent.locks.LockSupport.park",
                "java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock",
                "com.shop.Cache.get",
            ),
            None,
            "java-thread-blocked",
        ),
        (("runtime.futex", "runtime.futexsleep", "runtime.lock", "runtime.addtimer"), None, "thread-blocked"),
        (("acquire (bars.py)", "run (bars.py)"), "hangs", "thread-blocked"),
        (("acquire (bars.py)", "run (bars.py)"), "active", None),  # it may be there in passing
        (("sun.misc.Unsafe.park", "java.util.concurrent.FutureTask.get", "com.shop.Cache.get"), None, None),
    ],
)
def test_a_sleep_below_a_lock_says_outright_what_it_waits_for(
    frames: tuple[str, ...], state: str | None, event: str | None
) -> None:
    (made,) = seen(stack(1, "a", *frames, state=state))
    assert [s["event"] for s in made.seen if "event" in s] == ([event] if event else [])


def test_threads_of_which_only_a_rest_is_listed_are_idle_beside_those_at_a_lock() -> None:
    rows = [stack(n, None, "pthread_cond_wait", lwp=n) for n in (1, 2, 3)]
    at_lock = [stack(n, None, "__lll_lock_wait", lwp=n) for n in (4, 5)]
    made = seen(*rows, *at_lock)
    assert [(s.kind, s.value) for s in made] == [("standing", 2.0), ("idle", 3.0)]
    assert [s.kind for s in seen(*rows)] == ["standing"]  # nothing says that they rest


@pytest.mark.parametrize(
    ("leaf", "state", "locked"),
    [
        ("synchronize", "sleep", True),
        ("Thread::Mutex#synchronize", "sleep_forever", True),
        ("synchronize", "run", False),
        ("pop", "sleep", False),
    ],
)
def test_a_thread_of_ruby_asleep_in_a_mutex_waits_for_it(leaf: str, state: str, locked: bool) -> None:
    row = {
        "frames": [leaf, "take", "add"],
        "leaf": leaf,
        "weight": 1.0,
        "unit": "samples",
        "state": state,
        "lwp": 1,
        "line_no": 1,
    }
    (made,) = threads(Case.of_tables({"profile_stacks": [row]}))
    assert any(name.get("event") == "thread-blocked" for name in made.seen) == locked


@pytest.mark.parametrize(
    ("state", "frames", "waits"),
    [
        ("slow request", ("mysqli_query", "count"), True),
        (None, ("async_exec (postgresql_adapter.rb)", "count (stock.rb)"), True),
        ("slow request", ("usleep", "mysqli_query"), False),
        (None, ("mysqli_query", "count"), False),
    ],
)
def test_a_script_in_a_call_of_a_database_waits_for_it(state: str | None, frames: tuple[str, ...], waits: bool) -> None:
    """The read below the call is no function of the script; a slow log says that the request is late."""
    (made,) = seen(stack(1, "till", *frames, state=state))
    assert any(name.get("event") == "threads-wait-for-database" for name in made.seen) == waits
