"""What observers of stacks share: bare names of functions, what signatures call them, and which places are idle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.derived.profile_kinds import ENTRY
from rules.signatures.signatures import Seen, Signature, recognise

DECORATION = re.compile(
    r"^\[<[0-9a-f]*>\]\s*|^[^\s`!(]*[`!](?=\S)|\+(?:0x)?[0-9a-f]+(?:/0x[0-9a-f]+)?(?:\s*\[\w+\])?$|@@?[A-Z]\w*_[\d.]+$"
    r"|_\[[kij]\]$|\s*\[\w+\]$",
    re.I,
)
"""Address, module, offset, version and marks around the name of a function."""

UNNAMED = re.compile(r"^(?:\[?unknown\]?(?:\s*\(.*)?|\?+|n/a|\[?\.\.\.\]?.*|0x[0-9a-f]+|[0-9a-f]{8,}|-)?$", re.I)
"""Frames without a name."""

NAMED_FRAMES = 12
"""Maximum number of frames of a stack that signatures are asked for, from the leaf: the rest is how programs start."""


def bare(frame: str) -> str:
    """Return the name of a function without module, address, offset and version.

    >>> bare("libc.so.1`poll+0x15"), bare("[<0>] ep_poll+0x2b0/0x390"), bare("pthread_cond_wait@@GLIBC_2.3.2")
    ('poll', 'ep_poll', 'pthread_cond_wait')
    """
    before = None
    while before != frame:
        before, frame = frame, DECORATION.sub("", frame.strip())
    return frame


def named(frame: str | None) -> bool:
    """Return whether a frame has a name."""
    return frame is not None and not UNNAMED.match(bare(frame))


SUFFIX = re.compile(r"\.(?:isra|constprop|part|cold|llvm)\b.*")
"""What a compiler adds to the name of a function that it made a variant of."""

ON_THE_WAY = re.compile(
    r"_*(?:mutex_lock|down_(?:read|write)|rwsem_down|call_rwsem|percpu_(?:down|rwsem)|rt_mutex|ww_mutex|down|wait_for_common"
    r"|wait_for_completion|do_wait_for_common|wait_on_bit|out_of_line_wait|bit_wait|wait_on_page|folio_wait|wait_event)\w*"
    r"|_+(?:mutex|down|rwsem)\w*"
)
"""Functions of the kernel by which everybody waits for a sleeping lock or an event: the caller says for which."""


def names_of(frame: str, kernel: bool | None = None) -> tuple[Seen, ...]:
    """Return the names of a function for signatures: as one of the kernel, of a program, or both if that is unknown.

    For a variant made by the compiler (`sum_events.isra.2`), the name of the function itself follows.
    """
    name = bare(frame)
    made: list[Seen] = []
    for one in dict.fromkeys((name, SUFFIX.sub("", name) or name)):
        if kernel is not False:
            made.append({"stack": one})
        if kernel is not True:
            made.append({"symbol": one})
    return tuple(made)


_ENTRY = re.compile("|".join(ENTRY.split()), re.IGNORECASE)


def names_of_leaf(frame: str, kernel: bool | None = None) -> tuple[Seen, ...]:
    """Return the names for signatures of a function that has samples itself.

    An entry function of the kernel is also the event `syscall-entry`, unless a signature names a mechanism for it.
    """
    names = names_of(frame, kernel)
    found = known(names)
    entry = kernel is not False and _ENTRY.search(bare(frame)) and (found is None or found.strength == "remark")
    return ({"event": "syscall-entry"}, *names) if entry else names


def stack_names(frames: Iterable[str | None]) -> tuple[Seen, ...]:
    """Return the names of the frames of a stack, leaf first."""
    held = [f for f in frames if f is not None and named(f)][:NAMED_FRAMES]
    return tuple(seen for frame in held for seen in names_of(frame))


def known(seen: Iterable[Seen]) -> Signature | None:
    """Return the best signature of the nearest name that has one."""
    return next((found[0] for one in seen if (found := recognise(**one))), None)


ASKED_CALLERS = 2
"""Number of callers above a sleeping lock or event of the kernel that are asked what is waited for."""


def callers_first(frames: Iterable[str]) -> list[str]:
    """Return kernel functions, leaf first, but the callers of a sleeping lock or event before its own functions.

    This is done if signatures know one of the nearest callers: every waiter passes through the functions of the lock,
    and only their caller shows whose lock it is.
    """
    held = list(frames)
    above = [f for f in held if not ON_THE_WAY.fullmatch(SUFFIX.sub("", f))]
    asked = [found for f in above[:ASKED_CALLERS] if (found := known(names_of(f, True))) and found.mechanism]
    return [*above, *(f for f in held if f not in above)] if asked else held


def idle_reason(seen: Iterable[Seen]) -> str | None:
    """Return why a place is idle, None if it is not: the nearest signature beyond a remark decides."""
    for one in seen:
        for found in recognise(**one):
            if found.strength == "idle":
                return found.is_
            if found.strength == "mechanism":
                return None
    return None


def moments(case: CaseTables) -> pl.LazyFrame:
    """Return the artifacts and parts whose stacks were taken at one moment: no event, and each stack counts once.

    Stacks of the general reader without an event come from dumps, whatever their number. A stack listed with one frame
    per line counts even without a thread.
    """
    stacks = case.scan(
        "profile_stacks",
        [*PLACE_COLUMNS[:1], "part", "event", "weight", "unit", "pid", "lwp", "source", "frame_lines"],
    )
    threads = pl.struct("pid", "lwp")
    whole = pl.col("plain") & pl.col("single") & pl.col("samples")
    return (
        stacks.group_by("artifact_id", "part")
        .agg(
            pl.col("event").is_null().all().alias("plain"),
            (pl.col("weight").fill_null(1.0) == 1.0).all().alias("single"),
            (pl.col("unit").fill_null("samples") == "samples").all().alias("samples"),
            pl.any_horizontal(pl.col("pid").is_not_null(), pl.col("lwp").is_not_null()).any().alias("threads"),
            pl.col("frame_lines").is_not_null().any().alias("listed"),
            pl.col("source").eq_missing(pl.lit("text")).all().alias("text"),
            (threads.n_unique() * 4 >= pl.len()).alias("apart"),
        )
        .filter((pl.col("text") & pl.col("plain")) | (whole & (pl.col("threads") | pl.col("listed")) & pl.col("apart")))
        .select("artifact_id", "part")
    )


def finite(row: Mapping[str, Any], column: str) -> float | None:
    """Return a number of a row; None if it is missing or not finite."""
    value = row.get(column)
    return float(value) if value is not None and abs(float(value)) < float("inf") else None
