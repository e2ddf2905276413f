"""Find parts of one file that show one trace, and so share a clock: a process born in one part is at work in another.

Three `grep`s of one truss file, quoted with prose between them, are three parts with one clock. Parts are tied by a
fork in one part and the child's own "returning as child" in another, or by a message that names its writer, written in
one and read in another; both within 1 ms, which traces of two runs do not show by accident with the same pids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from parsers.tables import parquet
from rules.walking.threads import FORK_NAME, READ_NAMES, WRITE_NAMES

SAME_S: Final = 0.001

TRACED = ["part", "line_no", "t_local", "pid", "name", "child_pid", "state", "data"]


def shared(names: Mapping[tuple[int, int], str], parts: Iterable[Mapping[str, Any]], reading: Path) -> dict[str, str]:
    """Return clock -> earlier clock for the clocks of one artifact that show the same trace as an earlier part.

    `names` maps (part, domain) to the id of its clock.
    """
    domains = [
        (part["part"], first, last, names[part["part"], d["domain"]])
        for part in parts
        for d in part.get("domains") or []
        if d["kind"] == "trace-relative"
        for first, last in d["lines"]
    ]
    if len({part for part, *_ in domains}) < 2 or "syscalls" not in parquet.tables(reading):
        return {}
    fork = pl.col("name").str.contains(FORK_NAME)
    messages = pl.col("name").is_in([*READ_NAMES, *WRITE_NAMES]) & pl.col("data").str.contains(r"\d")
    rows = (
        parquet.scan(reading, "syscalls")
        .filter((fork | messages) & pl.col("t_local").is_not_null())
        .select(TRACED)
        .collect()
    )
    spans = pl.DataFrame(domains, schema=["part", "first", "last", "clock"], orient="row").cast(
        {"part": rows.schema["part"]}
    )
    rows = rows.join(spans, on="part").filter(pl.col("line_no").is_between("first", "last"))
    begun = rows.filter(pl.col("child_pid").is_not_null()).select(pl.col("child_pid").alias("key"), "t_local", "clock")
    born = rows.filter(pl.col("state") == "child_start").select(pl.col("pid").alias("key"), "t_local", "clock")
    writes = pl.col("name").is_in(WRITE_NAMES)
    named = pl.col("data").str.contains(pl.col("pid").cast(pl.String), literal=True)
    sent = rows.filter(writes & named).select(pl.col("data").alias("key"), "t_local", "clock")
    heard = rows.filter(~writes & ~fork).select(pl.col("data").alias("key"), "t_local", "clock")
    found: dict[str, str] = {}
    for one, other in ((begun, born), (sent, heard)):
        ties = one.join(other, on="key", suffix="_b").filter(
            (pl.col("clock") != pl.col("clock_b")) & ((pl.col("t_local") - pl.col("t_local_b")).abs() <= SAME_S)
        )
        for a, b in ties.select("clock", "clock_b").unique(maintain_order=True).iter_rows():
            first, last = sorted((_root(found, a), _root(found, b)), key=list(names.values()).index)
            if first != last:
                found[last] = first
    return {name: _root(found, name) for name in found}


def _root(found: Mapping[str, str], name: str) -> str:
    while name in found:
        name = found[name]
    return name
