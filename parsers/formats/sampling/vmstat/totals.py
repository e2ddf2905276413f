"""Lists that vmstat prints beside its table: sums since boot (-s, -v) and counters of disks (Linux -d)."""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.sample_stamps import report
from parsers.columns.grid import NUMBER, cut, numbers
from parsers.tables.rows import State, Tables
from parsers.tables.schema import schema

_KNOWN = (
    r"(?i)\b(?:pages?|paged|memory|swap\w*|faults?|cpu|cache\w*|buffers?|interrupts?|context|ticks|boot|forks?|traps?|syscalls?|calls|percentage|pageouts"
    r"|revolutions|waits|start I/Os|mpc (?:sends|receives)|lookups?|fsbuf|psbuf|pbuf|backtracks|iodones?|perm|minperm|maxperm|numperm"
    r"|reclaims?|blocks?|blocked|lock misses|devices)\b"
)
TOTAL = rf"^[ \t]*({NUMBER})[ \t]+(?:(K)[ \t]+)?([A-Za-z%].*)$"
_SAID = r"\((?:[^ )]+ ){3,}"
"""Three words or more in brackets, which no list prints: a person's remark."""

_OF_MEMORY = (
    r"(?i)memory|\b(?:lruable|minperm|maxperm|numperm|numclient|maxclient|fsbuf|psbuf|pbuf|percentage|pinned|compressed"
    r"|free pages|(?:file|client) pages|pageouts scheduled)"
)
_SURE = (
    r"(?m)^ *[0-9.]+ (?:K )?(?:total memory|used memory|cpu context switches|memory pages|lruable pages|pages paged in"
    r"|(?:[a-z]+ ){1,3}I/Os blocked with no [a-z]{1,3}buf|address trans\. faults|total address trans|swap ins|device interrupts|total name lookups)"
)

DISK_HEADING = r"^[ \t]*(total[ \t]+merged[ \t]+sectors[ \t]+ms.*)$"
DISK_GROUP = r"^[ \t]*disk-[ \t]*-+reads"
_DISK = "device reads_total reads_merged reads_sectors reads_ms writes_total writes_merged writes_sectors writes_ms io_cur io_sec".split()
_STAMP = r"[ \t]+([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[ \t]+[A-Z]{1,5})?$"


def listed(text: str) -> tuple[str, int] | None:
    """Recognise a list of -s or -v in a head: return its system and the number of lines that are certain."""
    if not any(
        word in text
        for word in (" memory", " switches", " pages", " swap ins", " trans", " lookups", " interrupts", " blocked")
    ):
        return None
    found = len(re.findall(_SURE, text))
    if found < 2:
        return None
    if "lruable" in text or "paging space page ins" in text or "I/Os blocked with no " in text:
        return "aix", found
    if " K " in text or "IO-wait cpu ticks" in text:
        return "linux", found
    return ("bsd" if "device interrupts" in text and "zero fill" not in text else "solaris"), found


def is_total(line: pl.Expr) -> pl.Expr:
    """Return which lines are totals of -s and -v (`123 total memory`), not a person's sentence after a number."""
    return line.str.contains(TOTAL) & line.str.contains(_KNOWN) & ~line.str.contains(_SAID)


def totals(lines: pl.DataFrame, system: str, state: State) -> list[pl.DataFrame]:
    """Return rows of `counters` (grp vmstat_s or vmstat_v) for lines that match `is_total`; a repeated name begins a new sample."""
    if lines.is_empty():
        return []
    parts = lines.with_columns(
        pl.col("line").str.extract_groups(TOTAL).struct.rename_fields(["value", "k", "name"]).alias("g")
    ).unnest("g")
    parts = numbers(parts, ["value"], state)
    seen = state.setdefault("totals", {})
    before = pl.col("name").replace_strict(seen, default=0, return_dtype=pl.Int64) if seen else pl.lit(0, pl.Int64)
    parts = parts.with_columns(sample=pl.int_range(1, pl.len() + 1).over("name") + before)
    for name, sample in parts.group_by("name").agg(pl.col("sample").max()).iter_rows():
        seen[name] = sample
    of_memory = pl.col("name").str.contains(_OF_MEMORY) if system == "aix" else pl.lit(False)
    level = pl.col("name").str.contains(
        r"(?i)memory|swap$|(?:total|used|free) swap|buffer memory|cache$|percentage|pages$"
    )
    return [
        parts.select(
            "row",
            "line_no",
            "sample",
            "name",
            "value",
            pl.when(of_memory).then(pl.lit("vmstat_v")).otherwise(pl.lit("vmstat_s")).alias("grp"),
            pl.when(pl.col("k").is_not_null()).then(pl.lit("kB")).alias("unit"),
            pl.when(level).then(pl.lit("level")).otherwise(pl.lit("total")).alias("mode"),
        )
    ]


def disks(rows: pl.DataFrame, out: Tables, state: State) -> dict[str, list[pl.DataFrame]]:
    """Return rows for the lines under the header of -d: `counters` since boot (grp disk), and `iostat`.

    `iostat` has the I/O in service, and rates where two samples have stamps. A sector is 512 bytes. The sum of seconds in service is a
    whole number, so busy_pct is rough below a minute.
    """
    stamp = pl.col("line").str.extract(_STAMP).str.replace("T", " ").str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False)
    rows = rows.with_columns(
        t=stamp.dt.epoch("ms").cast(pl.Float64) / 1000, line=pl.col("line").str.replace(_STAMP, "")
    )
    cells = {_DISK[0]: r"[A-Za-z][^ \t]*"} | dict.fromkeys(_DISK[1:], NUMBER)
    rows = cut(rows, cells).drop_nulls("device")
    if rows.is_empty():
        return {}
    rows = numbers(rows, _DISK[1:], state)
    for (zone,), run in rows.drop_nulls("t").group_by("zone", maintain_order=True):
        timed = run.with_columns(t_local="t", line_end="line_no")
        report(timed, "wall-local", str(zone) if zone else None, out, state)
    seen = state.setdefault("disks", {})
    names = _DISK[1:]
    old = pl.DataFrame(
        [(d, *v) for d, v in seen.items()],
        schema={"device": pl.String, "sample": pl.Int64, "t": pl.Float64, **dict.fromkeys(names, pl.Float64)},
        orient="row",
    )
    both = pl.concat(
        [old.with_columns(line_no=pl.lit(None, pl.Int64)), rows.select("row", "line_no", "device", "t", *names)],
        how="diagonal",
    )
    first = pl.col("sample").first().over("device").fill_null(1)
    both = both.with_columns(sample=first + pl.int_range(pl.len()).over("device"))
    since = {n: pl.col(n) - pl.col(n).shift().over("device") for n in [*names, "t"]}
    both = both.with_columns(**{f"{n} since": e for n, e in since.items()})
    for row in both.group_by("device", maintain_order=True).last().select("device", "sample", "t", *names).iter_rows():
        seen[row[0]] = list(row[1:])
    fresh = both.filter(pl.col("line_no").is_not_null())
    span = pl.when(pl.col("t since") > 0).then(pl.col("t since"))
    rate = {n: pl.when(pl.col(f"{n} since") >= 0).then(pl.col(f"{n} since") / span) for n in names}
    served = {
        n: pl.when(pl.col(f"{n}s_total since") > 0).then(pl.col(f"{n}s_ms since") / pl.col(f"{n}s_total since"))
        for n in ("read", "write")
    }
    rates = fresh.select(
        "row",
        "line_no",
        "device",
        "sample",
        pl.col("t").alias("t_local"),
        (pl.col("sample") == 1).alias("first"),
        span.alias("interval_s"),
        pl.col("io_cur").alias("actv"),
        rate["reads_total"].alias("r_ps"),
        rate["writes_total"].alias("w_ps"),
        (rate["reads_sectors"] / 2).alias("r_kbps"),
        (rate["writes_sectors"] / 2).alias("w_kbps"),
        served["read"].alias("r_resp_ms"),
        served["write"].alias("w_resp_ms"),
        (rate["io_sec"] * 100).alias("busy_pct"),
        (pl.col("device").str.contains(r"^(?:dm-|md)[0-9]|^(?:sd|hd|vd|xvd)[a-z]+[0-9]")).alias("part_of"),
    )
    long = fresh.select("row", "line_no", "sample", "t", "device", *names, *[f"{n} since" for n in names])
    counted = [
        long.select(
            "row",
            "line_no",
            "sample",
            pl.col("t").alias("t_local"),
            pl.lit("disk").alias("grp"),
            pl.col("device").alias("item"),
            pl.lit(n).alias("name"),
            pl.col(n).alias("value"),
            pl.lit({"ms": "ms", "ors": "sectors", "sec": "s"}.get(n[-3:].removeprefix("_")), pl.String).alias("unit"),
            pl.lit("level" if n == "io_cur" else "total").alias("mode"),
            pl.col(f"{n} since").alias("delta"),
        )
        for n in names
    ]
    return {"iostat": [rates], "counters": [pl.concat(counted)]}


def partitions(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of workload partitions for `counters`, under their names: `vmstat` is of the whole host."""
    names = [c for c in rows.columns if c in schema("vmstat") or c.startswith("other ")]
    keys = ["row", "line_no", "line_end", "wpar"]
    names = [c for c in names if c not in keys]
    long = rows.select(*keys, *names).unpivot(names, index=keys, variable_name="name").drop_nulls("value")
    printed = pl.col("name").str.split("\t").list.get(1, null_on_oob=True)
    return (
        long.sort("row", "name")
        .with_columns(name=pl.coalesce(printed, "name"), grp=pl.lit("wpar"), mode=pl.lit("rate"))
        .rename({"wpar": "item"})
    )
