"""Turn lines of call stacks into rows of `profile_stacks`; shared by perf, dtrace, pstack, collapsed stacks and
lockstat.

A stack is a stretch of lines, numbered by a cumulative count of first lines; its entries become one list, without a
Python object per entry. Chains are stored leaf first whatever order the tool prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl
import pyarrow as pa

from parsers.tables.rows import State, Tables
from parsers.text.source import Source

MOST = 5000
"""Maximum number of lines of one record that are carried over the end of a block; a longer record is not a stack."""

KERNEL_DSO = r"^\[(?:kernel|guest\.kernel|hypervisor)|vmlinux|/lib/modules/|\.ko(?:\.[a-z]+)?$|^\[[a-z][a-z0-9_]*\]$"
USER_DSO = r"^\[(?:vdso|vsyscall|heap|stack|anon|unknown|uprobes|\.)"
KERNEL_MODULE = r"^(?:unix|genunix|mach_kernel|kernel|krtld|zfs|ip|sockfs|ufs|lofs|nfs|procfs|specfs|doorfs|namefs|FSS|TS|SDC|SUNW,[^`]*)`"
LOCK = (
    r"(?i)spin_?lock|spin_?unlock|_lock_slowpath|mutex|rwsem|rw_?lock|osq_lock|futex|lll_lock|lll_unlock|rt_spin"
    r"|^(?:down|up)_(?:read|write|trylock|timeout)|semaphore|ipc_lock|lock_spin|lock_set|turnstile|qspin|lock_clear"
)
"""Symbols of functions that take, wait for or release a lock."""

_HELD = pl.Schema({"line_no": pl.Int64(), "line": pl.String()})


def records(
    source: Source,
    out: Tables,
    state: State,
    begins: pl.Expr,
    belongs: pl.Expr,
    frames: Iterable[pl.DataFrame] | None = None,
) -> Iterator[tuple[pl.DataFrame, bool]]:
    """Yield pieces of whole records (line_no, line), each with whether further lines of the part follow it.

    `begins` is true for the first line of a record. The lines of a record that the run cuts are carried in
    `state["held"]`; those for which `belongs` is true count as read already. `frames`: data frames to read instead of
    the source's blocks, if lines were removed from them.
    """
    held = pl.DataFrame(state.pop("held", []), schema=_HELD, orient="row")
    for frame in frames or (block.frame for block in source.blocks()):
        lines = pl.concat([held, frame]) if len(held) else frame
        first = lines.select(begins.alias("begins")).to_series().arg_true()
        cut = first[-1] if len(first) else 0
        if len(lines) - cut > MOST:
            cut = len(lines)
        if cut:
            yield lines[:cut], True
        held = lines[cut:]
    if source.last:
        if len(held):
            yield held, False
        return
    out.read(held.filter(belongs)["line_no"])
    state["held"] = [list(row) for row in held.iter_rows()]


def nested(values: pl.Series, owner: pl.Series, count: int) -> pl.Series:
    """Return `count` lists; list i holds the values whose owner is i. `owner` ascends.

    >>> nested(pl.Series(["a", "b", "c"]), pl.Series([0, 0, 2]), 3).to_list()
    [['a', 'b'], [], ['c']]
    """
    offsets = np.searchsorted(owner.to_numpy(), np.arange(count + 1))
    array = values.to_arrow(compat_level=pl.CompatLevel.oldest())
    lists = pl.from_arrow(pa.LargeListArray.from_arrays(offsets, array))
    assert isinstance(lists, pl.Series)
    return lists


def is_kernel(dso: pl.Expr) -> pl.Expr:
    """Return whether an object is the kernel, by perf's name for it; NULL if that is unknown."""
    kernel = dso.str.contains(KERNEL_DSO) & ~dso.str.contains(USER_DSO)
    return pl.when(dso.is_null() | dso.eq("[unknown]")).then(pl.lit(None, pl.Boolean)).otherwise(kernel)
