"""Which files that are deleted still take space, because a process has them open.

Standing out: such a file of `LEAST_B` and more. Normal: smaller ones, and those of a length of zero.
Worked example: lsof with `java 4410 app 1w REG 252,3 91201443127 0 131204 /var/log/app.log (deleted)`: 91.2 GB, although
nobody sees the file in its folder.
Cost: one aggregation over the descriptors. Source: unlink(2) (a file is there until the last descriptor is closed); lsof(8), +L1.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "deleted-files",
    "Which deleted files still take space?",
    ("fdmap",),
    {"linux": "lsof -nP +L1; df -k", "*": "lsof +L1; df -k"},
)

LEAST_B = float(1 << 30)
"""Minimum size in bytes (1 GiB): smaller ones are temporary files, whose programs delete them at once on purpose."""

CITED = 4
"""Maximum number of descriptors of one file that are cited."""

DELETED = r"^(.*) \(deleted\)$"


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield deleted files that processes have open, the largest first."""
    rows = case.scan("fdmap", [*PLACE_COLUMNS, "line_no", "comm", "pid", "path", "size_b"], pl.col("size_b") >= LEAST_B)
    found = (
        rows.with_columns(pl.col("path").str.extract(DELETED, 1).alias("file"))
        .filter(pl.col("file").is_not_null())
        .group_by(*PLACE_COLUMNS, "file")
        .agg(
            pl.col("size_b").max(),
            pl.struct("comm", "pid").get(pl.col("size_b").arg_max()).alias("who"),
            pl.col("pid").n_unique().alias("processes"),
            pl.col("line_no").sort().head(CITED).alias("lines"),
        )
        .sort("size_b", "file", descending=[True, False])
        .head(MOST)
        .collect(engine="streaming")
    )
    for row in found.iter_rows(named=True):
        who = f"{row['who']['comm']} ({row['who']['pid']})"
        more = f" and {row['processes'] - 1:,} more have" if row["processes"] > 1 else " has"
        yield Sighting(
            "deleted-file",
            row["file"],
            f"{who}{more} {row['file']} open, which is deleted and still takes {figure(row['size_b'] / 1024, 'kB')}",
            "deleted_b",
            row["size_b"],
            "B",
            tuple(Lines(row["artifact_id"], n, n, "deleted, and open") for n in row["lines"]),
            **place(row),
            against="temporary files",
            against_value=LEAST_B,
            n=row["processes"],
            seen=({"event": "deleted-file-open"},),
        )
