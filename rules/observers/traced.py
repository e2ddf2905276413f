"""System calls with what they were about, for observers: read in batches, so that memory is bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Unpack
from weakref import WeakKeyDictionary

import polars as pl

from rules.derived.derived_table import CaseTables, nanoseconds
from rules.signatures.signatures import Seen
from rules.walking.targets import CALL, CPU_TIME, UNKNOWN_LOCK, makers, with_targets
from rules.walking.threads import DONE_S, OWN_S, TIMED, batches

COLUMNS = list(dict.fromkeys([*TIMED, *CALL, "line_end", "bytes"]))
KEPT = [
    "artifact_id",
    "host",
    "phase",
    "clock",
    "pid",
    "lwp",
    "line_no",
    "line_end",
    "seq",
    "name",
    "kind",
    "target",
    "side",
]
KEPT += ["conv", "path", "err", "ret", "bytes", "args", "own_s", "done_s"]


BATCH_ROWS = 500_000
"""Maximum number of calls of a batch, unless one process has more: with their targets a million took 500 MB."""

STEP_LINES = 20_000
"""Number of lines by which a batch ends; few enough not to matter beside `BATCH_ROWS`."""

_MAKERS: WeakKeyDictionary[CaseTables, pl.DataFrame] = WeakKeyDictionary()
"""What each descriptor was made for, of the cases that are being looked at: six observers ask for it."""


def _makers(case: CaseTables) -> pl.DataFrame:
    if case not in _MAKERS:
        _MAKERS[case] = makers(case)
    return _MAKERS[case]


def calls(case: CaseTables, where: pl.Expr, *, whole: bool = False) -> Iterator[pl.DataFrame]:
    """Yield the system calls for which `where` holds, with `kind`, `target`, `side`, `own_s` and `done_s` (s).

    They come in batches of consecutive lines, so that each row is read once, or with `whole` in batches of whole
    processes. Without stamps the line number replaces the time for the order, and `done_s` is NULL.
    """
    made: pl.DataFrame | None = None
    births = case.derived("proc_tree")
    for batch in batches(case, where, BATCH_ROWS) if whole else _stretches(case, where):
        rows = case.table("syscalls", COLUMNS, where & batch)
        if rows.is_empty():
            continue
        if made is None:
            made = _makers(case)
        at = pl.coalesce(nanoseconds(DONE_S), pl.col("line_no"))
        found = with_targets(rows.with_columns(at.alias("done_ns")), made, births)
        own, done = (pl.when(time.is_finite()).then(time) for time in (OWN_S, DONE_S))
        yield found.with_columns(own.alias("own_s"), done.alias("done_s")).select(KEPT)


def _stretches(case: CaseTables, where: pl.Expr) -> Iterator[pl.Expr]:
    """Yield conditions that divide the calls for which `where` holds into lines that follow each other."""
    step = (pl.col("line_no") // STEP_LINES).alias("step")
    sizes = case.scan("syscalls", ["line_no"], where).group_by(step).len().collect(engine="streaming").sort("step")
    begin, rows = 0, 0
    for at, n in sizes.iter_rows():
        if rows and rows + n > BATCH_ROWS:
            yield pl.col("line_no").is_between(begin, at * STEP_LINES - 1)
            begin, rows = at * STEP_LINES, 0
        rows += n
    if rows:
        yield pl.col("line_no") >= begin


def on(row: Mapping[str, Any]) -> str:
    """Return a call and its target as one subject: `poll on 10.0.0.53:53`, `futex (lock at 0x7f35)`.

    >>> on({"name": "futex", "target": "lock at 32565"})
    'futex (lock at 0x7f35)'
    """
    target = row.get("target")
    if target == UNKNOWN_LOCK:
        return str(row["name"])
    if target and str(target).startswith("lock "):
        address = str(target).removeprefix("lock at ")
        return f"{row['name']} ({f'lock at {int(address):#x}' if address.isdigit() else target})"
    if not target and row.get("kind") == "pipe":
        return f"{row['name']} on a pipe"
    return f"{row['name']} on {target}" if target else str(row["name"])


def seen(row: Mapping[str, Any], **more: Unpack[Seen]) -> tuple[Seen, ...]:
    """Return the names of a call for signatures, those that belong together first."""
    target, call = row.get("target"), row["name"]
    if target == CPU_TIME:  # of the clocks only these take a system call on every system
        return ({"event": "processor-time-read"},)
    port = str(target).rpartition(":")[2] if target else ""
    whole: Seen = {"call": call}
    if port.isdigit() and not str(target).startswith("/"):
        whole["port"] = int(port)
    elif target and str(target).startswith("/"):
        whole["path"] = str(target)
    plain: Seen = {"call": call}
    forms: list[Seen] = [{**whole, **more}, whole, {**plain, **more}, plain]
    return tuple(form for n, form in enumerate(forms) if form not in forms[:n])


def middle(values: pl.Series) -> float:
    """Return the median of a column of numbers, 0 if it has none."""
    found = values.median()
    return float(found) if isinstance(found, (int, float)) else 0.0


def union(rows: pl.DataFrame) -> float:
    """Return the seconds that intervals (`done_s` - `own_s` to `done_s`) cover together; their sum if any has no time.

    >>> union(pl.DataFrame({"done_s": [2.0, 3.0], "own_s": [2.0, 2.0]}))
    3.0
    """
    if rows["done_s"].null_count():
        return float(rows["own_s"].sum())
    begin = pl.col("done_s") - pl.col("own_s")
    reach = pl.col("done_s").cum_max().shift(1)
    own = pl.col("done_s") - pl.max_horizontal(begin, reach)
    return float(rows.sort(begin).select(own.clip(lower_bound=0).sum()).item() or 0.0)
