"""Which file is looked for in one folder after the other: chains of stat, access or open of one name, and tables full of look-ups.

Standing out: a name looked for in vain in `FOLDERS` folders or more, told with how many and where it was found at last, and look-ups of
paths that take half of the time of a table of counted calls (strace -c) in `MANY` calls or more. Normal: fewer folders; the loader's
search for a library (`.so`) is left out.
The share is the part of all calls of the trace that such searches are, and of the seconds of the table.
Worked example: nine calls access(".../Notes.php") in nine folders, all ENOENT, of nine calls: share 1.
`stat` 52,799 and `lstat` 52,735 times, 5.9 s of 6.0 s: 105,534 look-ups of paths have 99 % of the time of the calls.
Cost: one aggregation over the failed look-ups of a trace. Source: path_resolution(7), stat(2), ENOENT; Node.js documentation, Modules:
loading from node_modules folders; Ruby, $LOAD_PATH; PHP, autoloading; strace(1), -c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.failures import LOOK_UPS
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, gathered, place

OBSERVER = Observer(
    "path-searches",
    "Which file is looked for in one folder after the other?",
    ("syscalls", "syscall_totals"),
    {
        "linux": "strace -c -f -p PID; strace -f -e trace=%file -p PID",
        "*": "the list of folders in which the program searches",
    },
    alone=True,
)

FOLDERS = 6
"""Minimum number of folders: a shell looks through as many of PATH for each command."""

SEARCHES = 5
"""Maximum number of names that are told and cited: those with most folders."""

LIBRARY = r"\.so(?:\.[0-9]+)*$|\.dylib$"
MANY = 10_000
"""Minimum number of look-ups in a table of counted calls: a program that starts makes some thousands."""

STORM, STORM_PART = 50_000, 0.8
"""Number of look-ups, and part of the time of all calls, from which the table tells of nothing else."""

HALF = 0.5


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield searches of traces, and tables of calls that are full of look-ups."""
    found = gathered(case, (_searches, _tables))
    yield from found.found
    if found.late:
        raise found.late


def _searches(case: CaseTables) -> Iterator[Sighting]:
    key = [*PLACE_COLUMNS]
    rows = case.scan("syscalls", [*key, "line_no", "name", "err", "path"], pl.col("name").is_not_null())
    everything = rows.group_by(key).agg(pl.len().alias("all"))
    path = pl.col("path")
    missed = (
        rows.filter(pl.col("name").is_in(sorted(LOOK_UPS)) & (pl.col("err") == "ENOENT") & path.str.contains("/"))
        .with_columns(path.str.extract(r"([^/]+)$").alias("file"), path.str.extract(r"^(.*)/").alias("folder"))
        .filter(pl.col("file").is_not_null() & ~pl.col("file").str.contains(LIBRARY))
        .group_by([*key, "file"])
        .agg(
            pl.len().alias("n"),
            pl.col("folder").n_unique().alias("folders"),
            pl.col("line_no").min().alias("first"),
            pl.col("line_no").max().alias("last"),
            pl.col("name").first(),
        )
        .filter(pl.col("folders") >= FOLDERS)
        .join(everything, on=key, nulls_equal=True)
        .collect(engine="streaming")
        .sort("folders", "first", descending=[True, False])
    )
    for _, held in missed.group_by("artifact_id", maintain_order=True):
        first = held.row(0, named=True)
        calls, names = int(held["n"].sum()), held.height
        also = f"; {names - 1:,} more names likewise, {calls:,} calls together" if names > 1 else ""
        told = held.head(SEARCHES)
        yield Sighting(
            "search",
            first["file"],
            f"{first['file']} was looked for in vain in {first['folders']:,} folders ({first['name']}, ENOENT){also}",
            "folders_count",
            float(first["folders"]),
            "count",
            tuple(
                Lines(first["artifact_id"], no, no, f"{role} of {file}")
                for file, begin, end in told.select("file", "first", "last").iter_rows()
                for no, role in ((begin, "first"), (end, "last"))
            ),
            **place(first),
            against="folders that a search may need",
            against_value=float(FOLDERS),
            share=min(1.0, calls / max(1, int(first["all"]))),
            n=calls,
            seen=({"event": "path-search"},),
        )


def _tables(case: CaseTables) -> Iterator[Sighting]:
    key = [*PLACE_COLUMNS, "part", "pid"]
    total = pl.col("total_s")
    rows = (
        case.scan("syscall_totals", [*key, "line_no", "section", "name", "n", "total_s"])
        .filter(pl.col("section").fill_null("call") == "call")
        .with_columns(pl.when(total.is_between(0, 1e12)).then(total).otherwise(0.0).alias("total_s"))
        .with_columns(pl.col("name").is_in(sorted(LOOK_UPS)).alias("look_up"))
    )
    made = (
        rows.group_by(key)
        .agg(
            total.sum().alias("of"),
            total.filter(pl.col("look_up")).sum().alias("took"),
            pl.col("n").filter(pl.col("look_up")).sum().alias("n"),
            pl.col("name").filter(pl.col("look_up")).head(4).alias("names"),
            pl.col("line_no").filter(pl.col("look_up")).head(4).alias("lines"),
        )
        .filter((pl.col("n") >= MANY) & (pl.col("took") >= HALF * pl.col("of")) & (pl.col("took") >= FELT_S))
        .collect(engine="streaming")
        .sort("artifact_id", "took", descending=[False, True])
    )
    for row in made.iter_rows(named=True):
        share = row["took"] / row["of"]
        storm = row["n"] >= STORM and share >= STORM_PART
        names = ", ".join(row["names"])
        yield Sighting(
            "look-ups",
            names,
            f"{row['n']:,} look-ups of paths ({names}) have {figure(100 * share, '%')} of the time of all calls: {figure(row['took'], 's')}",
            "calls_count",
            float(row["n"]),
            "count",
            tuple(Lines(row["artifact_id"], no, no, name) for no, name in zip(row["lines"], row["names"], strict=True)),
            **place(row),
            against="look-ups of a program that starts",
            against_value=float(MANY),
            share=share,
            n=row["n"],
            seen=({"event": "path-lookups-only" if storm else "path-lookups-most"},),
        )
