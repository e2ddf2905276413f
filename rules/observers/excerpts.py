"""What excerpts of traces show that are too short for rounds, times and shares of a trace.

Standing out: at least `LEAST` calls of a thread of which most fail with the same error although hardly anything else is done, the same
few calls again and again; a signal that interrupts the program at least `SIGNALS` times, with half of all calls those that return from
it; at least `THREADS` threads that wait for one lock of the C library (a futex whose value is 2: locked, and somebody waits).
Normal: longer traces, which `rounds`, `repetition` and `failures` judge by their times; errors that say to wait (EAGAIN), and searches
for files, which fail at other paths each time; a thread that waits between its calls; single signals.
Worked example: 8 calls of ioctl that all fail with ENOTTY, in 17 lines of kdump: "8 of 8 calls failed with ENOTTY: ioctl".
Cost: artifacts with at most `MOST` calls. Source: futex(7); glibc nptl, low-level locks (2: locked with waiters); sigreturn(2).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, place
from rules.signatures.signatures import Seen
from rules.walking.targets import POLLS, SLEEPS

OBSERVER = Observer(
    "excerpts",
    "What does an excerpt of a trace do over and over?",
    ("syscalls", "open_calls", "signals"),
    {"linux": "strace -f -T -tt -p PID for 10 s; gdb -p PID -batch -ex 'thread apply all bt'"},
    alone=True,
    like="rounds",
)

MOST = 400
"""Maximum number of calls of an excerpt: longer traces tell more by their times and rounds."""

LEAST, FAILED, KINDS, EACH = 8, 0.6, 3, 3
"""Minimum number of calls, part of them that failed, maximum number of different ones, and how often each was made on average."""

SIGNALS, RETURNS = 4, 0.4
"""Minimum number of the same signal, and part of all calls that return from handlers."""

THREADS = 3
"""Minimum number of threads at one lock."""

WAITED_S = 0.005
"""Minimum time of a call that waits: a loop with such a pause spends its time there."""

CITED = 6

SOON = ("EAGAIN", "EWOULDBLOCK", "EINTR", "EINPROGRESS", "EALREADY", "ETIMEDOUT", "ECHILD", "ERESTARTSYS")
"""Errors that say to wait or to come again."""

OWN = ("SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPOLL", "SIGSEGV", "SIGTRAP", "SIGFPE", "SIGURG")
"""Signals that a timer, a descriptor or a fault of the program itself sends, and that handlers take in its way."""

LOCKED = re.compile(r"(?P<address>0x[0-9a-f]+), FUTEX_WAIT(?:_PRIVATE)?(?:\|\w+)*, 2, ")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what the excerpts of a case do over and over."""
    calls = _few(case, "syscalls", ["pid", "lwp", "name", "args", "err", "elapsed_s"])
    for _, of in _by_artifact(calls):
        yield from _failing(of)
        yield from _signals(case, of)
    yield from _convoys(case, calls)


def _few(case: CaseTables, table: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of artifacts that have at most `MOST` of them."""
    count = pl.len().over("artifact_id")
    rows = case.scan(table, [*PLACE_COLUMNS, "line_no", *columns]).filter(count <= MOST)
    return rows.sort("artifact_id", "line_no").collect(engine="streaming").to_dicts()


def _by_artifact(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    held: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        held.setdefault(row["artifact_id"], []).append(row)
    yield from held.items()


def _failing(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield calls of an excerpt that fail again and again while nothing else is done."""
    threads: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for row in rows:
        threads.setdefault((row["pid"], row["lwp"]), []).append(row)
    for held in threads.values():
        failed = [r for r in held if r["err"] is not None and r["err"] not in SOON]
        if len(held) < LEAST or len(failed) < FAILED * len(held):
            continue
        if any(r["name"] in (*POLLS, *SLEEPS) and (r["elapsed_s"] or 0.0) >= WAITED_S for r in held):
            continue
        if len({(r["name"], r["args"], r["err"]) for r in held if r["args"]}) * EACH > len(held):
            continue
        names = Counter((r["name"], r["err"]) for r in failed)
        if len(names) > KINDS:
            continue
        says = ", ".join(f"{name} with {err} {n} times" for (name, err), n in names.most_common())
        yield _sighting(
            failed,
            "failing",
            names.most_common(1)[0][0][0],
            f"{len(failed)} of {len(held)} calls failed, and were made again: {says}",
            len(failed),
            len(failed) / len(held),
            "fails-again-and-again",
        )


def _signals(case: CaseTables, rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield a signal that interrupts the program all the time."""
    artifact = rows[0]["artifact_id"]
    of = (pl.col("artifact_id") == artifact) & pl.col("signal").is_in(OWN)
    taken = (
        case.scan("signals", [*PLACE_COLUMNS, "line_no", "signal"], of)
        .head(MOST)
        .collect(engine="streaming")
        .to_dicts()
    )
    for name, n in Counter(r["signal"] for r in taken).most_common(1):
        back = sum(1 for r in rows if r["name"] in ("rt_sigreturn", "sigreturn"))
        if n < SIGNALS or back < RETURNS * len(rows):
            return
        held = [r for r in taken if r["signal"] == name]
        text = (
            f"{name} interrupted the program {n} times among {len(rows)} calls, {back} of them returns from its handler"
        )
        yield _sighting(held, "signals", name, text, n, max(back / len(rows), RETURNS), "interrupted-by-signal")


def _convoys(case: CaseTables, calls: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield locks of the C library that several threads wait for at once or in turn."""
    counted = case.scan("syscalls", ["artifact_id"]).group_by("artifact_id").len().filter(pl.col("len") > MOST)
    long = set(counted.collect(engine="streaming")["artifact_id"])
    begun = [r for r in _few(case, "open_calls", ["pid", "lwp", "name", "args"]) if r["artifact_id"] not in long]
    waits: dict[tuple[int, str], list[dict[str, Any]]] = {}
    # Where times are known, they tell how long a lock is waited for; a moment at a lock of a pool's queue is no convoy.
    timed = {r["artifact_id"] for r in calls if r["elapsed_s"] is not None}
    for row in (*calls, *begun):
        if row["artifact_id"] not in timed and row["name"] == "futex" and (found := LOCKED.match(row["args"] or "")):
            waits.setdefault((row["artifact_id"], found["address"]), []).append(row)
    for (_, address), held in waits.items():
        threads = {(r["pid"], r["lwp"]) for r in held}
        if len(threads) < THREADS:
            continue
        artifact = held[0]["artifact_id"]
        others = [r for r in (*calls, *begun) if r["artifact_id"] == artifact and r["name"] == "futex"]
        everybody = {(r["pid"], r["lwp"]) for r in (*calls, *begun) if r["artifact_id"] == artifact}
        text = f"{len(threads)} of {len(everybody)} threads wait for the lock at {address}, {len(held)} times in the excerpt"
        share = max(len(threads) / len(everybody), min(1.0, len(held) / max(1, len(others))))
        yield _sighting(
            sorted(held, key=lambda r: r["line_no"]), "lock", address, text, len(held), share, "threads-at-one-lock"
        )


def _sighting(
    rows: Sequence[dict[str, Any]], kind: str, subject: str, text: str, n: int, share: float, event: str
) -> Sighting:
    return Sighting(
        kind,
        subject,
        text,
        f"{kind}_count",
        float(n),
        "count",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], kind) for r in rows[:CITED]),
        **place(rows[0]),
        against="all calls of the excerpt",
        share=share,
        n=n,
        seen=(Seen(event=event),),
    )
