"""What the stacks of one moment show: in which places threads stand, who waits for whose lock, who runs on and on.

`standing-still` yields these sightings. A place is the leaf with the first two functions above the sleep that every
wait goes through. A lock is told with those who wait for it, who holds it, and where its holder stands; locks whose
holders wait for each other are a cycle, and so is a signal handler that waits for a lock which the code holds that the
signal interrupted. A thread runs on if it used half of its life, or of the time between two
dumps, on a processor.
Worked example: 2 threads BLOCKED in `Log.append` for <0x6b>, which "exec-3" holds in `writeBytes`: "2 threads wait for
<0x6b>, which "exec-3" holds; it stands in writeBytes, called by Log.append". A goroutine [semacquire, 906 minutes]:
"goroutine 7 stands in sync.(*Mutex).Lock for 15 h 6 min".
Cost: linear in the stacks. Source: OpenJDK src/hotspot/share/runtime/vmOperations.cpp, services/threadService.cpp;
Go src/runtime/traceback.go, runtime2.go (waitReasonStrings).
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.frames import (
    NAMED_FRAMES,
    ON_THE_WAY,
    SUFFIX,
    bare,
    callers_first,
    finite,
    idle_reason,
    known,
    moments,
    named,
    names_of,
    stack_names,
)
from rules.observers.observer import MOST, Lines, Sighting, figure, place
from rules.signatures.signatures import Seen

ROWS = 20_000
"""Maximum number of stacks of one artifact that are looked at."""

PLACE_FRAMES = 3
"""Number of named frames, leaf first, by which threads stand in the same place."""

CITED_FRAMES = 12
"""Maximum number of frames of a stack that are cited one by one: with heads and other stacks within 20 lines."""

CITED_LINES = 6
"""Maximum number of lines of a cited stack whose frames have no lines of their own: three stay within the limit."""

CITED = 3
"""Maximum number of stacks that a sighting cites."""

RUNS = 0.5
"""Minimum part of its life, or of the time between two dumps, in which a thread that runs on was on a processor."""

LIVED_S = 10.0
"""Minimum age of a thread, in seconds, whose part on a processor says anything: starting takes some."""

AT_LOCKS = ("lock-contention", "allocator", "kernel-lock")
"""Mechanisms of functions that wait for a lock, whoever calls them."""

CONVOY = 3
"""Minimum number of threads that wait for one lock in a whole dump: one or two may wait in passing."""

EXCERPT = 3
"""Maximum number of stacks of an excerpt: who pasted so few chose them, so that no wait in it is one in passing."""

LONG_S = 60.0
"""Minimum seconds after which a wait for a lock is none in passing; Go tells only whole minutes."""

HOURS_S = 3600.0
"""Minimum seconds in one call of the system after which it does not return by itself: time-outs of programs are shorter."""

IN_CALL = re.compile(r"syscall\b.*")
"""States of a goroutine in a call of the system."""

SENDS = re.compile(r"chan send\b.*")
"""States of a goroutine that hands something to another one, which does not take it."""

FOR_A_LIVING = re.compile(
    r"(?i)loop|listen|serve|accept|watch|recv|receive|poll|wait|scan|tail|notif|netlink|signal|subscri|read|worker|pump|copy|forward|tty|stdin|console|run$"
)
"""Words in the names of functions that stand in a call until something comes, and that is what they are for."""

SWITCH = frozenset(
    """
    __schedule schedule schedule_timeout io_schedule schedule_preempt_disabled io_schedule_timeout
    schedule_timeout_interruptible schedule_timeout_killable schedule_timeout_uninterruptible schedule_timeout_idle
    schedule_hrtimeout schedule_hrtimeout_range schedule_hrtimeout_range_clock freezable_schedule
    freezable_schedule_timeout schedule_rtlock context_switch __switch_to __switch_to_asm _switch
    swtch swtch_to resume _resume_from_idle mi_switch sleepq_switch sleepq_wait sleepq_wait_sig sleepq_timedwait
    sleepq_timedwait_sig sleepq_catch_signals
    """.split()
)
"""Functions in which every sleeper of Linux, illumos or FreeBSD stands: they say nothing about what it waits for."""

SLEEP = re.compile(
    r"(?:[\w.]+/)?(?:(?:jdk\.internal\.misc|sun\.misc)\.Unsafe\.park|java\.util\.concurrent\.locks\.LockSupport\.park\w*"
    r"|java\.util\.concurrent\.locks\.Abstract\w*Synchronizer(?:\$\w+)?\.\w+|java\.lang\.Object\.wait0?"
    r"|java\.util\.concurrent\.ForkJoinPool\.(?:un)?managedBlock|java\.lang\.VirtualThread\.park\w*)"
    r"|runtime\.(?:futex\w*|gopark\w*|goparkunlock|park_m|semacquire\w*|netpollblock|selectgo|chanrecv\w*|chansend\w*)"
    r"|(?:internal/)?sync\.runtime_\w+|internal/poll\.runtime_\w+|sync\.\(\*\w+\)\.\w*Slow"
    r"|_{0,2}(?:GI_+)?(?:lll_lock_wait\w*|futex_\w+|futex|syscall|kernel_vsyscall|lwp_park|cond_wait_queue|thread_wait)"
    r"|cv_wait_sig_swap_core"
    r"|(?:(?:Thread::)?ConditionVariable#|Kernel#|MonitorMixin::ConditionVariable#|Monitor#)?(?:block (?:\([0-9] levels\) )?in )?"
    r"(?:sleep|wait|wait_while|wait_until|wait_for_cond|handle_interrupt|mon_synchronize|synchronize) \((?:monitor|thread|thread_sync)(?:\.rb)?\)"
)
"""Functions that every wait of a runtime goes through: the place is above them."""

LIBRARY = re.compile(
    r"(?:[\w.]+/)?(?:java|javax|jdk|sun|com\.sun|com\.ibm\.(?:ws\.util|oti|jvm|io\.async)|kotlinx?|scala|groovy|clojure|akka)\."
    r"|(?:runtime|sync|internal|syscall|net|os|io|bufio|time|context|reflect|crypto|encoding|database|fmt|log|testing|sort|strings"
    r"|bytes|math|errors|vendor|golang\.org)(?:/[\w.-]+)*\.[\w(]"
    r"|System\.|Microsoft\.|(?:ntdll|kernel32|KERNELBASE|ntoskrnl)!|(?:std|boost|__gnu_cxx|__gnu|core|alloc|tokio|mio)::"
    r"|.* \((?:threading|queue|socket|ssl|subprocess|selectors|_base|thread|process|base_events|connection|client|connectionpool"
    r"|http|urllib\w*|asyncio\w*|runners|events|sessions|adapters)\.py\)"
    r"|_?Py[A-Z_]|_{2}|lib[\w.+-]*\.(?:so|dylib)\S*`"
)
"""How functions of a runtime or of its standard library are named."""

ROOT = re.compile(
    r"_?_?(?:start|libc_start_\w+|start_thread|clone3?|lwp_start|thrp_setup|pthread_(?:start|body)|thread_start)"
    r"|(?:[\w.]+/)?java\.lang\.Thread\.run\w*|runtime\.(?:goexit|main)|ret_from_fork\w*|entry_SYSCALL\w*|_bootstrap\w*"
)
"""Where programs and threads begin."""

LOCK_STATE = re.compile(r"BLOCKED\b.*|B|sync\.(?:RW)?Mutex\.R?Lock\b.*|waiting for monitor entry.*")
"""States that say that a lock is waited for which another thread holds."""

LOCK_FRAME = re.compile(
    r"(?:internal/)?sync\.\(\*(?:RW)?Mutex\)\.(?:R?Lock|lockSlow|rLockSlow)"
    r"|_{0,2}(?:GI_+)?(?:pthread_(?:mutex|rwlock)_\w*lock\w*|lll_lock_wait\w*|psynch_mutexwait|mutex_lock_impl)"
    r"|(?:[\w.]+/)?java\.util\.concurrent\.locks\.(?:ReentrantLock|ReentrantReadWriteLock|StampedLock)(?:\$\w+)?\.\w*[lL]ock\w*"
    r"|System\.Threading\.Monitor\.(?:Reliable)?Enter|runtime\.lock(?:2|WithRank)?"
    r"|acquire \([\w.]+\.py\)|__enter__ \(threading\.py\)"
)
"""Functions that take a lock."""

AT_LOCK = 8
"""Number of frames from the leaf within which the function stands that takes the lock a thread sleeps for."""

RUBY_LOCK = re.compile(
    r"(?:(?:Thread::)?(?:Mutex|Monitor|Queue)[#.])?(?:mon_)?(?:synchronize|lock|enter)(?: \([\w-]+(?:\.rb)?\))?"
)
"""Methods of Ruby that take a lock: of Mutex and Monitor, with their class since Ruby 3.4."""

SLOW_REQUEST = "slow request"
"""State of a stack in the slow log of PHP-FPM."""

HANGS = "hangs"
"""State of a thread that stood in one line for too long, as hanging_threads says it."""

BARE_REST = re.compile(
    r"_{0,2}(?:GI_+)?(?:pthread_cond_(?:timed)?wait\w*|futex_abstimed_wait_\w+|do_futex_wait\w*|sem_(?:timed)?wait|(?:clock_)?nanosleep"
    r"|sigwait\w*|e?poll(?:_p?wait)?|ppoll|p?select|accept4?|mach_msg(?:2|_overwrite)?(?:_trap)?|workq_kernreturn|kevent\w*)"
)
"""Calls in which threads without work rest; without their callers, nothing says that they wait for more than work."""

BARE = "rests, as far as a stack of one function tells, while others wait for locks"
"""Why a thread is idle of which only the innermost function is listed."""

READ = re.compile(
    r"_{0,2}(?:GI_)*(?:libc_)?(?:read|recv|recvfrom|recvmsg|poll|ppoll|select|pselect|so_recv\w*|pollsys|epoll_wait|port_getn?)"
    r"|(?:[\w.]+/)?java\.net\.SocketInputStream\.socketRead0?|(?:[\w.]+/)?java\.io\.FileInputStream\.read\w*"
    r"|(?:[\w.]+/)?sun\.nio\.ch\.(?:Net\.poll|NioSocketImpl\.\w+|SocketDispatcher\.read0?)|internal/poll\.runtime_pollWait"
    r"|sk_wait_data|tcp_recvmsg\w*|(?:readinto|recv|recv_into|read) \((?:socket|ssl)\.py\)"
)
"""Calls that wait for data of a descriptor."""

HANDSHAKE = re.compile(
    r"(?:(?:ossl_|wolf|mbedtls_)?(?:SSL|ssl\d*|tls\d*)_(?:do_handshake|connect|accept|handshake\w*)|ssl23_get_server_hello"
    r"|_?gnutls_handshake\w*|SSL_ForceHandshake|_?PySSL_SSLdo_?handshake|_ssl__SSLSocket_do_handshake\w*"
    r"|(?:[\w.]+/)?sun\.security\.ssl\.SSLSocketImpl\.(?:startHandshake|performInitialHandshake)"
    r"|crypto/tls\.\(\*Conn\)\.\w*[hH]andshake\w*|do_handshake \(ssl\.py\))(?:\.\d+)?"
)
"""Functions that set up an encrypted connection."""

SEED = re.compile(
    r"(?:[\w.]+/)?sun\.security\.provider\.(?:SeedGenerator|NativePRNG|SecureRandom)\b.*"
    r"|(?:[\w.]+/)?java\.security\.SecureRandom\.(?:generateSeed|getSeed)"
)
"""Functions that ask for a seed of random numbers."""

MODULE = re.compile(r"\+0x[0-9a-f]+(?:/0x[0-9a-f]+)? \[(\w[\w-]*)\]$|^(\w[\w-]*)`")
"""The module behind a function of a stack of Linux, or in front of it as readers write it."""

HANDLER = re.compile(
    r"<signal handler called>|_sigtramp|sigacthandler|__sighndlr|_sighndlr|call_user_handler|_?thr_sighandler"
)
"""Frames between a signal handler and the code that the signal interrupted: of gdb, the BSDs, macOS and illumos."""

HELD_INSIDE = (
    ("the allocator", re.compile(
        r"_*(?:GI_+)?(?:libc_)?(?:[mc]alloc|free|cfree|realloc|memalign|posix_memalign|aligned_alloc|valloc)(?:_unlocked)?"
        r"|_int_(?:malloc|free|realloc|memalign)\w*|malloc_consolidate|sysmalloc\w*|systrim\w*|arena_get\w*|operator (?:new|delete)\b.*"
        r"|(?:je|tc)_(?:malloc|calloc|free|realloc)\w*|_malloc_zone_\w+|szone_\w+|tiny_\w+"
    )),
    ("a stream of the C library", re.compile(
        r"_*(?:GI_+)?(?:vf?printf|printf|fprintf|fputs|puts|fwrite|fflush|fputc|putc|fclose|fread|fgets)(?:_chk|_internal|_unlocked)?|_IO_\w+"
    )),
    ("the system log's client", re.compile(r"_*(?:GI_+)?v?syslog(?:_chk|_internal)?|openlog\w*|closelog")),
    ("the time zone", re.compile(r"_*(?:GI_+)?(?:tz_convert|tzset\w*|localtime(?:_r)?|mktime|gmtime(?:_r)?)")),
    ("the loader's list of libraries", re.compile(r"_*(?:GI_+)?dl_iterate_phdr|_dl_(?:open|close|map_object|lookup)\w*|dl(?:open|close|sym)")),
)  # fmt: skip
"""What has a lock of its own inside, by its functions; none of them may be called in a handler (signal-safety(7))."""

NEAR = 3
"""Number of frames from the leaf, and from the interrupted one, in which the wait and the holder of its lock stand."""

PARKED_STATE = re.compile(
    r"(?:select|chan receive|IO wait|sleep|select \(no cases\)|chan receive \(nil chan\)|GC (?:sweep|scavenge) wait"
    r"|GC worker \(idle\)|force gc \(idle\)|finalizer wait|cleanup wait|timer goroutine \(idle\))(?:,.*)?"
)
"""States of goroutines of which a program has many: they wait for the next message."""

PARKED = "waits for the next message or moment, while others stand elsewhere"
"""Why a goroutine is idle that no signature knows."""

TAKES = frozenset({"pool-exhausted"})
"""Mechanisms of waits that look at rest by their leaf: a pool is made of a queue, in which workers wait for work as well."""

ROUNDS = frozenset({"fixed-sleep"})
"""Mechanisms of a thread that sleeps until its next round."""

BETWEEN_ROUNDS = "sleeps until its next round, beside workers that wait for work"
"""Why a thread is idle that sleeps alone in a whole dump: many programs have such a clock of their own."""

TASK = re.compile(
    r"(?:[\w.]+/)?java\.util\.concurrent\.(?:ThreadPoolExecutor\.runWorker|FutureTask\.run\w*|ForkJoinTask\.doExec)"
    r"|run \(thread\.py\)|System\.Threading\.ThreadPoolWorkQueue\.Dispatch|net/http\.\(\*conn\)\.serve"
)
"""Functions of a pool's thread below which it does a piece of work."""

RUNNING = re.compile(r"RUNNABLE\b.*|running\b.*|runnable\b.*|active\S*|R|run", re.I)
"""States of threads that run, or that stand in a call of which the runtime does not know that it waits."""


@dataclass(frozen=True, eq=False)
class Thread:
    """One stack of a dump: its row, its named frames leaf first and their lines, and how many threads it stands for."""

    row: Mapping[str, Any]
    frames: tuple[str, ...]
    at: tuple[int, ...]
    n: int
    modules: tuple[str | None, ...] = ()
    """Module of the kernel that each frame names behind itself."""

    @property
    def who(self) -> str | None:
        """Return the name of the thread, None if it has none."""
        name, number = self.row["comm"], self.row["lwp"] or self.row["pid"]
        if name:
            return str(name) if str(name).startswith("goroutine ") else f'"{name}"'
        return f"Thread {number}" if number is not None else None

    @property
    def identity(self) -> tuple[Any, ...] | None:
        """Return the key by which the thread is found in the next dump, None if it has no name."""
        found = (self.row["pid"], self.row["lwp"], self.row["comm"])
        return found if found != (None, None, None) and self.n == 1 else None

    @property
    def waits_for_lock(self) -> bool:
        """Return whether it waits for a lock, not for a condition."""
        state = self.row["state"] or ""
        ruby = state.startswith("sleep") and bool(self.frames) and RUBY_LOCK.fullmatch(self.frames[0]) is not None
        return ruby or bool(LOCK_STATE.fullmatch(state)) or any(LOCK_FRAME.fullmatch(f) for f in self.frames[:6])

    @property
    def sleeps_at_lock(self) -> bool:
        """Return whether the stack shows a wait for a lock: a general sleep, or a reported hang, in a lock function."""
        if not self.waits_for_lock or not self.frames:
            return False
        if RUBY_LOCK.fullmatch(self.frames[0]):
            return True
        below = any(LOCK_FRAME.fullmatch(f) for f in self.frames[:AT_LOCK])
        return below and (
            self.row["state"] == HANGS or bool(SLEEP.fullmatch(self.frames[0]) and not _mechanism(self.frames[0]))
        )

    @functools.cached_property
    def place(self) -> tuple[str, ...]:
        """Return the leaf and its first callers above the general sleep functions, which all waits share."""
        above = [f for f in self.frames[1:] if not SLEEP.fullmatch(f)]
        return (self.frames[0], *above[: PLACE_FRAMES - 1])

    @functools.cached_property
    def own(self) -> str | None:
        """Return the first function of the program itself: of no library, and known to no signature."""
        return next((f for f in self.frames if not LIBRARY.match(f) and not ROOT.fullmatch(f) and not _known(f)), None)

    @functools.cached_property
    def mechanisms(self) -> frozenset[str]:
        """Return the mechanisms that signatures name for the functions near the leaf."""
        found = (_mechanism(f) for f in self.frames[:NAMED_FRAMES])
        return frozenset(m for m in found if m is not None)

    @functools.cached_property
    def asks_database(self) -> bool:
        """Return whether it waits for data in a call of a database's client library.

        A script's own function does not show the read below it: in a slow request, and in Ruby, the call itself tells.
        """
        script = self.row["state"] == SLOW_REQUEST or bool(self.frames and self.frames[0].endswith(".rb)"))
        if script and any(map(_asks, self.frames[:1])):
            return True
        return any(READ.fullmatch(f) for f in self.frames[:NEAR]) and any(map(_asks, self.frames[:NAMED_FRAMES]))

    @property
    def sleeps_alone(self) -> bool:
        """Return whether it sleeps and is not inside a task of a pool."""
        leaf = _mechanism(self.frames[0]) if self.frames else None
        return leaf in ROUNDS and not any(TASK.fullmatch(f) for f in self.frames)

    def names(self) -> tuple[Seen, ...]:
        """Return the names of the stack for signatures; those of the leaf are of kernel or program only, if known."""
        frames = callers_first(self.frames) if self.row["kernel"] else self.frames
        return (*names_of(frames[0], self.row["kernel"]), *stack_names(frames[1:])) if frames else ()


@functools.lru_cache(maxsize=20_000)
def _known(frame: str) -> bool:
    return known(names_of(frame)) is not None


@functools.lru_cache(maxsize=20_000)
def _mechanism(frame: str) -> str | None:
    found = known(names_of(frame))
    return found.mechanism if found else None


@functools.lru_cache(maxsize=20_000)
def _asks(frame: str) -> bool:
    """Return whether a function belongs to a database client."""
    found = known(names_of(frame))
    return found is not None and found.mechanism == "peer-wait" and found.layer == "database"


def threads(case: CaseTables) -> Iterator[Sighting]:
    """Yield cycles, locks, places and running threads of each dump, and once how many threads are idle."""
    columns = [
        *PLACE_COLUMNS,
        "part",
        "line_no",
        "line_end",
        "pid",
        "lwp",
        "comm",
        "frames",
        "kernel",
        "weight",
        "frame_lines",
    ]
    columns += ["state", "waited_s", "waits_for", "held_by", "holds", "cpu_s", "age_s"]
    rows = (
        case.scan("profile_stacks", columns)
        .join(moments(case), on=["artifact_id", "part"], how="semi")
        .head(ROWS)
        .collect(engine="streaming")
    )
    for _, held in rows.group_by("artifact_id", maintain_order=True):
        listed = [_thread(row) for row in held.sort("line_no").iter_rows(named=True)]
        yield from _of_dump([t for t in listed if t.frames], [t for t in listed if t.row["held_by"]])


def _thread(row: Mapping[str, Any]) -> Thread:
    names, lines = row["frames"] or (), row["frame_lines"] or ()
    at = lines if len(lines) == len(names) else [None] * len(names)
    kept = [(bare(f), line, f) for f, line in zip(names, at, strict=True) if f and named(f) and bare(f) not in SWITCH]
    weight = finite(row, "weight") or 1.0
    cited = tuple(line for _, line, _ in kept if line is not None)
    modules = (MODULE.search(f) for _, _, f in kept)
    return Thread(
        row,
        tuple(f for f, _, _ in kept),
        cited if len(cited) == len(kept) else (),
        max(1, int(min(weight, 1e9))),
        tuple(m[1] or m[2] if m else None for m in modules),
    )


def _of_dump(listed: Sequence[Thread], told: Sequence[Thread]) -> Iterator[Sighting]:
    idle: list[tuple[str, Thread]] = []
    stand: list[Thread] = []
    for thread in listed:
        reason = idle_reason(stack_names(thread.frames))
        if reason and not thread.waits_for_lock and not thread.mechanisms & TAKES and not thread.asks_database:
            idle.append((reason, thread))
        else:
            stand.append(thread)
    parked = [t for t in stand if PARKED_STATE.fullmatch(t.row["state"] or "")]
    if len(parked) < len(stand):
        idle += [(PARKED, t) for t in parked]
        stand = [t for t in stand if t not in set(parked)]
    bare_ = [t for t in stand if len(t.frames) == 1 and BARE_REST.fullmatch(t.frames[0])]
    if bare_ and any(t.waits_for_lock for t in stand):
        idle += [(BARE, t) for t in bare_]
        stand = [t for t in stand if t not in set(bare_)]
    chosen = len(listed) <= EXCERPT
    sleepers = [t for t in stand if t.sleeps_alone]
    if not chosen and len(_count(sleepers)) == 1 and _workers_at_rest(idle):
        idle += [(BETWEEN_ROUNDS, t) for t in sleepers]
        stand = [t for t in stand if t not in set(sleepers)]
    of = sum(_count(stand).values())
    selves = {t: found for t in stand if (found := _interrupted(t))}
    for thread, (name, held) in selves.items():
        yield _waits_for_itself(thread, name, held, of)
    stand = [t for t in stand if t not in selves]
    yield from _locks(stand, listed, told, of, chosen)
    yield from _places(stand, of, bool(idle), chosen)
    yield from _running(stand)
    if idle:
        yield _idle(idle, of)


def _workers_at_rest(idle: Iterable[tuple[str, Thread]]) -> bool:
    """Return whether several threads are idle in the same place, as workers of a pool are."""
    places: dict[tuple[str, ...], list[Thread]] = {}
    for _, thread in idle:
        places.setdefault(thread.place, []).append(thread)
    return any(sum(_count(held).values()) >= CONVOY for held in places.values())


def _count(held: Iterable[Thread]) -> dict[Any, int]:
    """Return thread -> number of threads that it stands for; a thread that occurs in several dumps counts once."""
    return {t.identity or id(t): t.n for t in held}


# --- a handler that waits for what it interrupted ---------------------------------------------------------------------


def _interrupted(thread: Thread) -> tuple[str, int] | None:
    """Return what holds the lock that a signal handler waits for, and the index of the interrupted frame.

    None unless the leaf waits inside one of `HELD_INSIDE` and the interrupted code was inside the same one.
    """
    frames = thread.frames
    at = next((n for n, f in enumerate(frames) if HANDLER.fullmatch(f)), None)
    if at is None or not any(SLEEP.fullmatch(f) or LOCK_FRAME.fullmatch(f) for f in frames[: min(NEAR, at)]):
        return None
    below = next((n for n, f in enumerate(frames[at:], at) if not HANDLER.fullmatch(f)), len(frames))
    for name, inside in HELD_INSIDE:
        asks = any(inside.fullmatch(f) for f in frames[: min(2 * NEAR, at)])
        holds = next((n for n in range(below, min(below + NEAR, len(frames))) if inside.fullmatch(frames[n])), None)
        if asks and holds is not None:
            return name, holds
    return None


def _waits_for_itself(thread: Thread, name: str, holds: int, of: int) -> Sighting:
    at = next(n for n, f in enumerate(thread.frames) if HANDLER.fullmatch(f))
    handler = thread.frames[at - 1]
    again = f", called in the signal handler {handler}" if handler not in thread.place else ", in a signal handler"
    return Sighting(
        kind="lock-cycle",
        subject=thread.place[0],
        headline=f"{thread.who or 'The thread'} waits for itself: it stands in {_where(thread)}{again},"
        f" and the signal interrupted {thread.frames[holds]}, which holds the lock of {name}",
        name="threads_count",
        value=1.0,
        unit="count",
        lines=_cited([thread]),
        **place(thread.row),
        against="threads that are not idle",
        against_value=float(max(1, of)),
        share=1.0,
        n=1,
        seen=({"event": "handler-waits-for-interrupted"},),
    )


# --- places -----------------------------------------------------------------------------------------------------------


def _places(stand: Sequence[Thread], of: int, beside_idle: bool, chosen: bool) -> Iterator[Sighting]:
    """Yield the places in which threads stand; `chosen`: the dump is an excerpt."""
    groups: dict[tuple[str, ...], list[Thread]] = {}
    for thread in stand:
        groups.setdefault(thread.place, []).append(thread)
    counted = [(sum(_count(held).values()), where, held) for where, held in groups.items()]
    yield from _same_end(groups, of)
    # The holder of a lock that others wait for only briefly is at work, and would be among these threads.
    nobody_works = all(t.waits_for_lock for t in stand)
    for n, where, held in sorted(counted, key=lambda x: (-x[0], _pressing(x[2])))[:MOST]:
        first = max(held, key=lambda t: (finite(t.row, "waited_s") or 0.0, -t.row["line_no"]))
        waited = finite(first.row, "waited_s")
        than = " that are not idle" if beside_idle else ""
        among = f"{n:,} of {of:,} threads{than}"
        if of == 1:
            who, among = f"{first.who or 'The thread'} stands", ""
        elif n == 1 and first.row["comm"]:
            who, among = f"{first.who} stands", f", one of {of:,} threads{than}"
        else:
            who, among = f"{among} {'stands' if n == 1 else 'stand'}", ""
        again = max(Counter(t.identity for t in held if t.identity).values(), default=1)
        slow = all(t.row["state"] == SLOW_REQUEST for t in held)
        yield Sighting(
            kind="slow-request" if slow else "standing",
            subject=where[0],
            headline=f"{who} in {_where(first)}{_first_own(first)}{among}"
            + (f", the same in {again} dumps" if again > 1 else ""),
            name="threads_count",
            value=float(n),
            unit="count",
            lines=_cited([first, *(t for t in held if t is not first)]),
            **place(first.row),
            against="threads that are not idle",
            against_value=float(of),
            share=n / of,
            n=n,
            seen=(
                *_says(first, waited, sure=chosen or n >= CONVOY or again > 1 or nobody_works, chosen=chosen),
                *first.names(),
            ),
        )


def _same_end(groups: Mapping[tuple[str, ...], list[Thread]], of: int) -> Iterator[Sighting]:
    """Yield a wait for a lock in which threads end that came to it by several ways, if no way has most of them."""
    ends: dict[str, list[Thread]] = {}
    for where, held in groups.items():
        if _mechanism(where[0]) in AT_LOCKS:
            ends.setdefault(where[0], []).extend(held)
    for end, held in ends.items():
        n = sum(_count(held).values())
        ways = [where for where in groups if where[0] == end]
        if n < CONVOY or n * 2 < of or len(ways) < 2 or any(sum(_count(groups[w]).values()) * 2 > n for w in ways):
            continue
        first = held[0]
        yield Sighting(
            kind="standing",
            subject=f"{end} by {len(ways):,} ways",
            headline=f"{n:,} of {of:,} threads stand in {end}, to which {len(ways):,} ways lead",
            name="threads_count",
            value=float(n),
            unit="count",
            lines=_cited(held),
            **place(first.row),
            against="threads that are not idle",
            against_value=float(of),
            share=n / of,
            n=n,
            seen=names_of(end),
        )


def _pressing(held: Sequence[Thread]) -> tuple[bool, float]:
    """Return the sort key of places with equally many threads: those at a lock first, then the longest stated wait."""
    return not any(t.waits_for_lock for t in held), -max(finite(t.row, "waited_s") or 0.0 for t in held)


def _where(thread: Thread) -> str:
    """Describe the place of a thread: leaf, how long it has been there, state, callers."""
    waited = finite(thread.row, "waited_s")
    lasted = f" for {figure(waited, 's')}" if waited else ""
    state = f" [{thread.row['state']}]" if thread.row["state"] else ""
    called = "".join(f", called by {f}" for f in thread.place[1:])
    return f"{thread.place[0]}{lasted}{state}{called}"


def _first_own(thread: Thread) -> str:
    """Return the first function of the program itself in words, if the place does not name it."""
    own = None if thread.row["kernel"] else thread.own
    return f"; first of the program itself: {own}" if own and own not in thread.place else ""


def _says(thread: Thread, waited: float | None, sure: bool, chosen: bool = False) -> tuple[Seen, ...]:
    """Return events that the dump states outright: a wait for another thread's lock, a call that does not return.

    `sure`: the wait is not just a brief one; `chosen`: the dump is an excerpt, whose stacks somebody selected.
    """
    blocked = bool(LOCK_STATE.fullmatch(thread.row["state"] or ""))
    long = (waited or 0.0) >= LONG_S
    if thread.waits_for_lock and (blocked or long or thread.sleeps_at_lock):
        return (_blocked(thread, sure or long),)
    if _module_lock(thread):
        return ({"event": "kernel-module-lock"},)
    if SENDS.fullmatch(thread.row["state"] or "") and long:
        return ({"event": "goroutine-cannot-send"},)
    if sure and thread.asks_database:
        return ({"event": "threads-wait-for-database"},)
    if chosen and IN_CALL.fullmatch(thread.row["state"] or "") and (waited or 0.0) >= HOURS_S and thread.own:
        callers = thread.frames[thread.frames.index(thread.own) :][:PLACE_FRAMES]
        if not any(FOR_A_LIVING.search(f.rpartition("/")[2].partition(".")[2] or f) for f in callers):
            return ({"event": "goroutine-in-call"},)
    return tuple(_composed(thread.frames))


def _module_lock(thread: Thread) -> str | None:
    """Return the kernel module whose function waits for a lock, None if a signature knows this function."""
    if not thread.frames or not ON_THE_WAY.fullmatch(SUFFIX.sub("", thread.frames[0])):
        return None
    above = zip(thread.frames, thread.modules or (None,) * len(thread.frames), strict=True)
    asks, module = next(((f, m) for f, m in above if not ON_THE_WAY.fullmatch(SUFFIX.sub("", f))), ("", None))
    return module if module and not _known(asks) else None


def _blocked(thread: Thread, sure: bool) -> Seen:
    """Return the event for a wait for a lock, by runtime, because the next commands to ask for differ."""
    if not sure:
        return {"event": "thread-blocked-in-passing"}
    go = str(thread.row["comm"] or "").startswith("goroutine ")
    java = str(thread.row["state"] or "").startswith("BLOCKED") or any("java." in f for f in thread.frames[:NEAR])
    return {"event": "goroutine-blocked" if go else "java-thread-blocked" if java else "thread-blocked"}


def _composed(frames: Sequence[str]) -> Iterator[Seen]:
    """Yield events that follow from leaf and callers together: the caller of a read shows what it waits for."""
    if not any(READ.fullmatch(f) for f in frames[:4]):
        return
    for event, callers in (("thread-in-handshake", HANDSHAKE), ("thread-reads-random-seed", SEED)):
        if any(callers.fullmatch(f) for f in frames[: 3 * PLACE_FRAMES]):
            yield {"event": event}


def _cited(held: Sequence[Thread]) -> tuple[Lines, ...]:
    """Return the head and the frames of the first stack, and the heads of others."""
    first = held[0]
    if not first.at:
        return _whole_stacks(held)
    artifact = int(first.row["artifact_id"])
    made = [*_head(first)]
    made += [
        Lines(artifact, line, line, f) for f, line in list(zip(first.frames, first.at, strict=True))[:CITED_FRAMES]
    ]
    for other in held[1:CITED]:
        begin = int(other.row["line_no"])
        made.append(Lines(artifact, begin, begin, other.who or "another thread"))
    return tuple(made)


def _head(thread: Thread) -> list[Lines]:
    """Return the lines above the first frame, at most three."""
    begin, artifact = int(thread.row["line_no"]), int(thread.row["artifact_id"])
    above = min(thread.at) - 1
    if above < begin:
        return []
    said = ", ".join(x for x in (thread.who, thread.row["state"]) if x)
    return [Lines(artifact, begin, min(above, begin + 2), said or "thread")]


def _whole_stacks(held: Iterable[Thread], role: str = "stack") -> tuple[Lines, ...]:
    made: dict[int, Lines] = {}
    for thread in held:
        if len(made) == CITED:
            break
        first = int(thread.row["line_no"])
        last = max(first, min(int(thread.row["line_end"] or first), first + CITED_LINES - 1))
        made.setdefault(first, Lines(int(thread.row["artifact_id"]), first, last, role))
    return tuple(made.values())


def _idle(idle: Sequence[tuple[str, Thread]], of: int) -> Sighting:
    count = sum(_count(t for _, t in idle).values())
    reasons = Counter(reason for reason, _ in idle)
    most = reasons.most_common(1)[0][0]
    held = [t for reason, t in idle if reason == most]
    first = held[0]
    headline = f"{count:,} of {of + count:,} threads {'is' if count == 1 else 'are'} idle"
    if of + count == 1:
        known_by = next((f for f in first.frames if idle_reason(names_of(f))), first.frames[0])
        state = f" [{first.row['state']}]" if first.row["state"] else ""
        headline = f"The only thread is idle in {known_by}{state}"
    where, n = Counter(t.place for t in held).most_common(1)[0]
    return Sighting(
        kind="idle",
        subject="idle threads",
        headline=headline,
        name="idle_count",
        value=float(count),
        unit="count",
        lines=_cited(held) if of + count == 1 else _whole_stacks(held, "idle thread"),
        **place(first.row),
        n=count,
        idle=most,
        beside=f"{n:,} of them in {where[0]}{''.join(f', called by {f}' for f in where[1:])}"
        if of + count > 1
        else None,
    )


# --- locks ------------------------------------------------------------------------------------------------------------


def _locks(
    stand: Sequence[Thread], listed: Sequence[Thread], told: Sequence[Thread], of: int, chosen: bool
) -> Iterator[Sighting]:
    """Yield the cycles of threads that wait for each other, then locks by how many wait for them."""
    by_name: dict[str, Thread] = {}
    holders: dict[str, Thread] = {}
    for thread in (*listed, *told):
        if thread.row["comm"]:
            by_name.setdefault(thread.row["comm"], thread)
        for lock in thread.row["holds"] or ():
            holders.setdefault(lock, thread)
    waiting: dict[str, list[Thread]] = {}
    edges: dict[str, tuple[str, Thread, str]] = {}
    for thread in dict.fromkeys((*told, *stand)):
        lock, owner = thread.row["waits_for"], thread.row["held_by"]
        holder = by_name.get(owner) if owner else holders.get(lock or "")
        if lock and (owner or holder or thread.waits_for_lock) and thread.frames:
            waiting.setdefault(lock, []).append(thread)
        name = owner or (holder.row["comm"] if holder else None)
        if thread.row["comm"] and name:
            edges.setdefault(thread.row["comm"], (name, thread, lock or "?"))
    rings = list(_rings(edges))
    yield from (_cycle(ring, edges) for ring in rings)
    in_ring = {name for ring in rings for name in ring}
    for lock, held in sorted(waiting.items(), key=lambda x: -len(x[1]))[:MOST]:
        owner = held[0].row["held_by"]
        holder = holders.get(lock) or (by_name.get(owner) if owner else None)
        n = sum(_count(held).values())
        if (holder is None and owner is None and n < 2) or all(t.row["comm"] in in_ring for t in held):
            continue
        long = any((finite(t.row, "waited_s") or 0.0) >= LONG_S for t in held)
        yield _lock(lock, held, holder, owner, n, of, chosen or long or n >= CONVOY)


def _lock(
    lock: str, held: Sequence[Thread], holder: Thread | None, owner: str | None, n: int, of: int, sure: bool
) -> Sighting:
    first = held[0]
    who = holder.who if holder and holder.who else f'"{owner}"' if owner else None
    stands = f"; it stands in {_where(holder)}{_first_own(holder)}" if holder and holder.frames else ""
    one = f"{first.who or 'A thread'} waits" if n == 1 else f"{n:,} threads wait"
    by = f", which {who} holds{stands}" if who else ", and none of the stacks says who holds it"
    artifact = int(first.row["artifact_id"])
    lines: list[Lines] = []
    for thread in held[:CITED]:
        lines += _head(thread) if thread.at else _whole_stacks([thread], "waits for it")
    if holder is not None and holder.at:
        lines += [Lines(artifact, x.line_from, x.line_from, f"holds it: {x.role}") for x in _head(holder)]
        lines += [Lines(artifact, no, no, f) for f, no in list(zip(holder.frames, holder.at, strict=True))[:6]]
    elif first.at:
        lines += [Lines(artifact, no, no, f) for f, no in list(zip(first.frames, first.at, strict=True))[:6]]
    return Sighting(
        kind="lock",
        subject=lock,
        headline=f"{one} for {lock}{by}",
        name="waiting_count",
        value=float(n),
        unit="count",
        lines=tuple(lines[:18]),
        **place(first.row),
        against="threads that are not idle",
        against_value=float(of),
        share=min(1.0, (n + (holder is not None)) / max(1, of)),
        n=n,
        seen=(_blocked(first, sure), *(holder.names() if holder else ())),
    )


def _rings(edges: Mapping[str, tuple[str, Thread, str]]) -> Iterator[list[str]]:
    """Yield each ring of threads (by name) in which every thread waits for a lock of the next one."""
    seen: set[str] = set()
    for start in edges:
        path: dict[str, None] = {}
        at = start
        while at in edges and at not in seen:
            seen.add(at)
            path[at] = None
            at = edges[at][0]
        if at in path:
            names = list(path)
            yield names[names.index(at) :]


def _cycle(ring: Sequence[str], edges: Mapping[str, tuple[str, Thread, str]]) -> Sighting:
    """Return the sighting of a ring, with those that wait behind it."""
    behind = [name for name, (of, _, _) in edges.items() if of in ring and name not in ring]
    names = [*ring[:4], *behind[:2]]
    said = "; ".join(f'"{name}" waits for {edges[name][2]} of "{edges[name][0]}"' for name in ring[:4])
    more = f", and {len(ring) - 4:,} more" if len(ring) > 4 else ""
    others = f'; {len(behind):,} more behind them, the first "{behind[0]}"' if behind else ""
    lines = []
    for name in names:
        row = edges[name][1].row
        begin = int(row["line_no"])
        end = min(begin + 2, int(row["line_end"] or begin))
        lines.append(Lines(int(row["artifact_id"]), begin, end, f'"{name}" waits for a lock of "{edges[name][0]}"'))
    return Sighting(
        kind="lock-cycle",
        subject=ring[0],
        headline=f"{len(ring)} threads wait for each other (deadlock): {said}{more}{others}",
        name="threads_count",
        value=float(len(ring)),
        unit="count",
        lines=tuple(lines),
        **place(edges[ring[0]][1].row),
        against="threads that wait in a circle",
        against_value=0.0,
        share=1.0,
        n=len(ring),
        seen=({"event": "thread-deadlock"},),
    )


# --- threads that run on ----------------------------------------------------------------------------------------------


def _running(stand: Sequence[Thread]) -> Iterator[Sighting]:
    """Yield threads that used half of their life, or of the time between two dumps, on a processor."""
    dumps: dict[tuple[Any, ...], list[Thread]] = {}
    for thread in stand:
        if thread.identity and RUNNING.fullmatch(thread.row["state"] or ""):
            dumps.setdefault(thread.identity, []).append(thread)
    for held in dumps.values():
        first, last = held[0], held[-1]
        cpu, age = finite(last.row, "cpu_s"), finite(last.row, "age_s")
        since, over = 0.0, "that it has lived"
        if cpu is None or age is None:
            continue
        if len(held) > 1 and (before := finite(first.row, "cpu_s")) is not None and first.row["age_s"] is not None:
            cpu, age, since = cpu - before, age - float(first.row["age_s"]), 1.0
            over = f"between {len(held)} dumps"
        if age < (since or LIVED_S) or cpu < RUNS * age:
            continue
        same = len(held) > 1 and len({t.place for t in held}) == 1
        yield Sighting(
            kind="running",
            subject=last.who or "thread",
            headline=f"{last.who} was on a processor for {figure(cpu, 's')} of the {figure(age, 's')} {over}, and stands in {_where(last)}{_first_own(last)}",
            name="cpu_s",
            value=cpu,
            unit="s",
            lines=_cited([last, *held[:-1]]),
            **place(last.row),
            against=f"the time {over}",
            against_value=age,
            share=min(1.0, cpu / age),
            n=len(held),
            seen=(*(({"event": "thread-spins"},) if same else ()), *last.names()),
        )
