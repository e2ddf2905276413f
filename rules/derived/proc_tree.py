"""One row per process whose creation a system call trace shows: parent, fork, exec and exit.

Inputs: `syscalls` (fork family with `child_pid`, "returning as child" rows, exec family, exits).
Columns: pid, ppid; `line_fork`, `t_fork` (s, from the parent's line, else the child's own first line); `fork_cpu_s` (s,
system CPU of that fork, NULL if only the child's line exists); `line_exec` and `path` of the first exec that succeeded
after the birth (NULL: not seen, which proves nothing); `line_exit`, `t_exit`.
Worked example (a listener's double fork): 22626 forks 3728 at 8.6926, 3728 forks 3731 at 8.7229. Two rows: (3728,
parent 22626) and (3731, parent 3728); 22626 was born before the trace and has none.
Pids may be reused: an exec or exit belongs to the latest birth before it, with 1 ms of slack for stamps of two
processors.
Cost: n log n in the fork, exec and exit rows. Source: truss(1), strace(1).
"""

from __future__ import annotations

from typing import Final

import polars as pl

from rules.derived.derived_table import (
    PLACE,
    PLACE_COLUMNS,
    CaseTables,
    DerivedTable,
    Scope,
    nanoseconds,
    number,
    seconds,
)
from rules.walking.threads import DONE_S, EXEC_NAMES, EXIT_NAMES, FORK_NAME, SUCCEEDED

TABLE = DerivedTable(
    "proc_tree",
    {
        **PLACE,
        "pid": pl.Int64(),
        "ppid": pl.Int64(),
        "line_fork": pl.Int64(),
        "t_fork": pl.Float64(),
        "fork_cpu_s": pl.Float64(),
        "line_exec": pl.Int64(),
        "path": pl.String(),
        "line_exit": pl.Int64(),
        "t_exit": pl.Float64(),
    },
)
NEEDS = ("syscalls",)
SCOPE: Scope = "artifact"
VERSION = "1"

SLACK_NS = 1_000_000
DEPTH: Final = 8  # generations between a listener and its server process: two in practice


BIRTH = pl.col("child_pid").is_not_null() & SUCCEEDED
CHILD = (pl.col("state") == "child_start") & pl.col("name").str.contains(FORK_NAME)
LATER = pl.col("name").is_in([*EXEC_NAMES, *EXIT_NAMES]) & pl.col("err").is_null()


def births(syscalls: pl.DataFrame) -> pl.DataFrame:
    """Return one row per birth, sorted by `fork_ns`; if both sides of a fork were seen, the parent's line is used."""
    rows = syscalls.with_columns(nanoseconds(DONE_S).alias("fork_ns"))
    keep = [*PLACE_COLUMNS, "fork_ns"]
    forks = rows.filter(BIRTH).select(
        *keep,
        pl.col("child_pid").alias("pid"),
        pl.col("pid").alias("ppid"),
        pl.col("line_no").alias("line_fork"),
        pl.col("cpu_s").alias("fork_cpu_s"),
    )
    starts = rows.filter(CHILD).select(
        *keep,
        "pid",
        pl.col("ret").alias("ppid"),
        pl.col("line_no").alias("line_fork"),
        pl.lit(None, pl.Float64).alias("fork_cpu_s"),
    )
    lone = starts.join(forks, on=["artifact_id", "clock", "pid", "ppid"], how="anti", nulls_equal=True)
    return pl.concat([forks, lone], how="vertical_relaxed").sort("fork_ns", "line_fork", nulls_last=True)


def tree(syscalls: pl.DataFrame) -> pl.DataFrame:
    """Return `proc_tree` for a data frame of system calls."""
    born = births(syscalls)
    rows = syscalls.filter(LATER).select(
        *PLACE_COLUMNS, "pid", "name", "path", "line_no", nanoseconds(DONE_S).alias("at_ns")
    )
    both = number(pl.concat([born, rows], how="diagonal_relaxed"), ["artifact_id", "clock", "pid"], "process")
    life = both.filter(pl.col("line_fork").is_not_null()).with_row_index("birth")
    dated = life.filter(pl.col("fork_ns").is_not_null()).select(
        "process", "birth", (pl.col("fork_ns") - SLACK_NS).alias("at_ns")
    )
    later = (
        both.filter(pl.col("line_fork").is_null() & pl.col("at_ns").is_not_null())
        .select("process", "name", "path", "line_no", "at_ns")
        .sort("at_ns", "line_no")
        .join_asof(dated.sort("at_ns"), on="at_ns", by="process", strategy="backward", check_sortedness=False)
        .filter(pl.col("birth").is_not_null())
    )
    execs = (
        later.filter(pl.col("name").is_in(EXEC_NAMES))
        .group_by("birth", maintain_order=True)
        .agg(pl.col("line_no").first().alias("line_exec"), pl.col("path").first())
    )
    exits = (
        later.filter(pl.col("name").is_in(EXIT_NAMES))
        .group_by("birth", maintain_order=True)
        .agg(pl.col("line_no").last().alias("line_exit"), seconds(pl.col("at_ns").last()).alias("t_exit"))
    )
    found = (
        life.drop("path")
        .with_columns(seconds(pl.col("fork_ns")).alias("t_fork"))
        .join(execs, on="birth", how="left")
        .join(exits, on="birth", how="left")
        .sort("artifact_id", "fork_ns", "line_fork", nulls_last=True)
    )
    return TABLE.shape(found)


def ancestry(processes: pl.DataFrame) -> pl.DataFrame:
    """Return every (process, ancestor) pair of a `proc_tree`, up to eight generations apart.

    Columns artifact_id, clock, pid, t_birth (s, the process's own birth), ancestor, line_fork and t_fork: the
    *ancestor's* fork through which the process descends. A parent's birth must not lie after its child's.
    """
    edges = processes.select("artifact_id", "clock", "pid", "ppid", "line_fork", "t_fork")
    level = edges.rename({"ppid": "ancestor"}).with_columns(pl.col("t_fork").alias("t_birth"))
    levels = [level]
    for _ in range(DEPTH - 1):
        level = (
            level.join(
                edges.rename({"pid": "ancestor", "line_fork": "line_up", "t_fork": "t_up"}),
                on=["artifact_id", "clock", "ancestor"],
                nulls_equal=True,
            )
            .filter((pl.col("t_up") <= pl.col("t_fork") + SLACK_NS / 1e9).fill_null(True))
            .sort("t_up", nulls_last=False)
            .unique(["artifact_id", "clock", "pid", "t_birth", "ancestor"], keep="last", maintain_order=True)
            .drop("ancestor", "line_fork", "t_fork")
            .rename({"ppid": "ancestor", "line_up": "line_fork", "t_up": "t_fork"})
            .select(level.columns)
        )
        if level.is_empty():
            break
        levels.append(level)
    return pl.concat(levels)


def build(case: CaseTables) -> pl.DataFrame:
    """Return `proc_tree` for all system call traces of the case."""
    columns = [*PLACE_COLUMNS, "pid", "line_no", "name", "path", "ret", "err", "state", "child_pid", "cpu_s"]
    columns += ["t_local", "stamp", "dur_hi_s"]
    return tree(case.table("syscalls", columns, BIRTH | CHILD | LATER))
