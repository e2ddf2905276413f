"""The shared memory segments of one instance: their number, sizes and address steps.

Inputs: `pmap` (segments a process has mapped), `ipcs_shm` (segments by their creator), `syscalls` (shmat, or shmdt for
a process that only detaches). One row per segment; the rows of one group share `source` (pmap, ipcs, syscalls),
`subject` and `n_seg`. `subject` is `pid 2767` (for ipcs the creating process), `owner oracle` where ipcs names no
process, `one process` where a trace names none. Groups of one `artifact_id` and `clock` never mix.
Columns: seg_no from 1 by address (ipcs: by line); shmid (NULL if not printed); base_addr; size_kb; rss_kb and locked_kb
(NULL where the tool did not print them, never 0 for unknown); shm_kind; stride_kb (from the base address
of the segment before, NULL for the first and where addresses are unknown); n_seg; n_equal_strides (how many strides
have the commonest size; 0 without addresses); n_packed (strides that equal the size of the segment below, rounded up to
4 MiB: these come from the allocator, not from a design; NULL without sizes); line_no, line_end (rows of the segment).
Worked example: ten detaches from 0x380000000, 0x440000000 and on in steps of 0x200000000: n_seg 10, stride_kb
3,145,728 once and 8,388,608 eight times, n_equal_strides 8. A map of 0x380000000 (131,072 kB in three rows) and
0x3C0000000 (18,743,296 kB in two): n_seg 2, stride_kb 1,048,576.
Cost: n log n in the mapped rows and the attaches. Source: sunmanagers summary of 2007-07-23 on segments per locality
group (one each, one over all, one small).
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope

TABLE = DerivedTable(
    "seg_groups",
    {
        **PLACE,
        "source": pl.String(),
        "subject": pl.String(),
        "seg_no": pl.Int64(),
        "shmid": pl.Int64(),
        "base_addr": pl.UInt64(),
        "size_kb": pl.Float64(),
        "rss_kb": pl.Float64(),
        "locked_kb": pl.Float64(),
        "shm_kind": pl.String(),
        "stride_kb": pl.Float64(),
        "n_seg": pl.Int64(),
        "n_equal_strides": pl.Int64(),
        "n_packed": pl.Int64(),
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
    },
)
NEEDS = ("pmap", "ipcs_shm", "syscalls")
SCOPE: Scope = "artifact"
VERSION = "1"

GROUP = [*PLACE_COLUMNS, "source", "subject"]
ROUNDED_KB = 4096  # largest page size or alignment to which an allocator rounds a segment up, on the supported systems
KB = 1024


def known_sum(column: str) -> pl.Expr:
    """Sum the known values; NULL if none is known, because a sum of nothing is not zero."""
    return pl.when(pl.col(column).is_not_null().any()).then(pl.col(column).sum()).alias(column)


def mapped(pmap: pl.DataFrame) -> pl.DataFrame:
    """Return one row per process and segment of address maps; a segment that spans several rows is merged."""
    rows = pmap.filter(pl.col("shm_kind").is_not_null()).with_columns(
        pl.coalesce(pl.format("pid {}", "pid"), pl.lit("one process")).alias("subject"),
        pl.when(pl.col("shmid").is_null()).then(pl.col("addr")).alias("_apart"),
    )
    return (
        rows.group_by(*PLACE_COLUMNS, "subject", "shmid", "shm_kind", "_apart", maintain_order=True)
        .agg(
            pl.col("addr").min().alias("base_addr"),
            known_sum("kbytes"),
            known_sum("rss_kb"),
            known_sum("locked_kb"),
            pl.col("line_no").min(),
            pl.col("line_end").max(),
        )
        .rename({"kbytes": "size_kb"})
        .with_columns(pl.lit("pmap").alias("source"))
    )


def listed(ipcs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per segment of ipcs listings, grouped by the process that created it, else by its owner."""
    owner = pl.coalesce("creator", "owner")
    return ipcs.select(
        *PLACE_COLUMNS,
        pl.coalesce(pl.format("pid {}", "cpid"), pl.format("owner {}", owner), pl.lit("one owner")).alias("subject"),
        "shmid",
        (pl.col("bytes") / KB).alias("size_kb"),
        "line_no",
        "line_end",
        pl.lit("ipcs").alias("source"),
    )


def attached(syscalls: pl.DataFrame) -> pl.DataFrame:
    """Return one row per address that a process attached, or, if it attached none, that it detached."""
    # Where the caller leaves the address to the kernel, only the return value shows it.
    answered = pl.when((pl.col("name") == "shmat") & (pl.col("ret") > 0)).then(pl.col("ret").cast(pl.UInt64))
    rows = (
        syscalls.filter(pl.col("err").is_null())
        .with_columns(
            pl.coalesce(pl.col("arg_addr").replace({0: None}), answered).alias("arg_addr"),
            pl.coalesce(pl.format("pid {}", "pid"), pl.lit("one process")).alias("subject"),
            (pl.col("name") == "shmat").alias("_attach"),
        )
        .filter(pl.col("arg_addr").is_not_null())
    )
    whose = [*PLACE_COLUMNS, "subject"]
    return (
        rows.filter(pl.col("_attach") == pl.col("_attach").any().over(whose))
        .group_by(*whose, "arg_addr", maintain_order=True)
        .agg(
            pl.when(pl.col("_attach")).then(pl.col("arg_id")).drop_nulls().last().alias("shmid"),
            pl.col("line_no").min(),
            pl.col("line_end").max(),
        )
        .rename({"arg_addr": "base_addr"})
        .with_columns(pl.lit("syscalls").alias("source"))
    )


def grouped(segments: pl.DataFrame) -> pl.DataFrame:
    """Number the segments of each group by address (then by line) and count equal and packed strides."""
    rows = segments.sort(*GROUP, "base_addr", "line_no", nulls_last=True)
    below = pl.col("base_addr").shift(1).over(GROUP)
    rows = rows.with_columns(
        ((pl.col("base_addr") - below).cast(pl.Float64) / KB).alias("stride_kb"),
        pl.col("size_kb").shift(1).over(GROUP).alias("_below_kb"),
    )
    alike = pl.col("stride_kb").is_not_null().sum().over([*GROUP, "stride_kb"])
    spare = pl.col("stride_kb") - pl.col("_below_kb")
    return rows.with_columns(
        pl.int_range(1, pl.len() + 1).over(GROUP).alias("seg_no"),
        pl.len().over(GROUP).alias("n_seg"),
        alike.alias("_alike"),
        spare.is_between(0, ROUNDED_KB, closed="left").alias("_packed"),
    ).with_columns(
        pl.col("_alike").max().over(GROUP).alias("n_equal_strides"),
        pl.when(pl.col("_packed").is_not_null().any().over(GROUP))
        .then(pl.col("_packed").sum().over(GROUP))
        .alias("n_packed"),
    )


def build(case: CaseTables) -> pl.DataFrame:
    """Return the segments of all maps, listings and traces of the case."""
    calls = case.table(
        "syscalls",
        [*PLACE_COLUMNS, "pid", "line_no", "line_end", "name", "arg_addr", "arg_id", "ret", "err"],
        pl.col("name").is_in(["shmat", "shmdt"]),
    )
    found = [mapped(case.table("pmap")), listed(case.table("ipcs_shm")), attached(calls)]
    return TABLE.shape(grouped(pl.concat([TABLE.shape(f) for f in found])))
