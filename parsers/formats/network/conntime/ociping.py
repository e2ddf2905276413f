r"""Logins and round trips to Oracle measured by connping and ociping of RWP*Load Simulator (3.0 to 3.2 seen).

Manual: oracle.github.io/rwloadsim/refman (connping, ociping). Capture: `connping -l user@//host/service --period=60`, likewise ociping.

    RWP*Connect/OCIPing Release 3.2.1.0 Production on Thu, 13 Nov 2025 17:23:24 UTC
    connect:110.78 ms, ociping:1.204 ms, dualping:1.267 ms, sid=28207, inst#=3, time=1.1
    RWP*OCIPing Release 3.0.2.2 Production on Thu, 11 Aug 2022 09:50:37 UTC
    0.450 0.0
    ociping mean=0.525 stddev=0.094

Tables: conn_times; each figure is a series (`connect`, `ociping`, `dualping`). A line of ociping has its milliseconds and the seconds
since the tool began.
Clock: the banner's time plus those seconds; UTC where the banner names it. Without a banner only the seconds are known.
Traps: the statistics at the end summarise all values and are not a value; warnings (`RWL-094:`) belong to the tool.
Known gaps: --unixepoch, --utctime, --no-timestamp, the histograms of -ss, the files of --csvoutput.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, month, span_s, wall_seconds

BANNER = (
    r"^[ \t]*RWP\*(?:Connect/)?OCIPing Release ([0-9.]+) Production on [A-Z][a-z]{2}, "
    r"([0-9]{1,2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([A-Z]{2,5})$"
)
CONNPING = r"^[ \t]*connect:[0-9.]+ ms, ociping:[0-9.]+ ms\b"
FIGURES = r"\b(connect|ociping|dualping):([0-9.]+) ms\b"
SINCE = r"\btime=([0-9.]+)$"
OCIPING = r"^[ \t]*([0-9]+\.[0-9]{3}) ([0-9]+\.[0-9])$"
SUMMARY = r"^[ \t]*(?:connect|ociping|dualping)(?: \(ms\))? mean=[0-9.]+,? stddev="
BESIDE = r"^[ \t]*(?:Connected default database (?:with reconnect )?to:|Oracle Database .*Release |RWL-[0-9]{3}: )"

FORMAT = Format(
    kind="conntime",
    variant="ociping",
    version="1",
    systems=("linux", "solaris", "macos"),
    tables=("conn_times",),
    man="connping, ociping (rwloadsim)",
    example="connping -l user@//host/service --period=60",
    clocks=("wall-utc", "wall-local", "interval", "none"),
    own=rf"{BANNER}|{CONNPING}|{SUMMARY}",
)


def claim(head: Head) -> Claim | None:
    """Claim by the banner, a line of connping or the statistics at the end."""
    if "ping" not in head.text:
        return None
    for number, line in enumerate(head.lines, start=1):
        if "RWP*" in line and re.match(BANNER, line):
            return Claim(0.98, f"banner of ociping in line {number}")
    rows = len(head.fitting(f"{CONNPING}|{SUMMARY}"))
    return Claim(0.95 * rows / len(head.lines), f"{rows} lines of connping") if rows else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the banner's time and zone and the position in each series."""
    frame = pl.concat(
        [pl.DataFrame(schema={"line_no": pl.Int64, "line": pl.String}), *(b.frame for b in source.blocks())]
    )
    line = pl.col("line")
    banner = line.str.extract_groups(BANNER).struct.rename_fields(
        ["release", "day", "month", "year", "h", "m", "s", "zone"]
    )
    banners = frame.with_columns(banner.alias("b")).unnest("b").filter(pl.col("release").is_not_null())
    begun = []
    for row in banners.iter_rows(named=True):
        number = month(row["month"])
        parts = [int(row[k]) for k in ("h", "m", "s")]
        begun.append(wall_seconds(int(row["year"]), number, int(row["day"]), *parts) if number else None)
    if len(banners) and "zone" not in state:
        state["zone"] = banners["zone"][0]
        out.fact("tool_version", banners["release"][0])
    stamps = pl.DataFrame(
        {"line_no": banners["line_no"], "begun": begun}, schema={"line_no": pl.Int64, "begun": pl.Float64}
    )
    lines = frame.join(stamps, on="line_no", how="left", maintain_order="left")
    lines = lines.with_columns(
        begun=pl.col("begun").forward_fill().fill_null(pl.lit(state.get("begun"), pl.Float64)),
        value=line.str.extract(OCIPING, 1),
        since=pl.coalesce(line.str.extract(OCIPING, 2), line.str.extract(SINCE)).cast(pl.Float64, strict=False),
        figures=pl.when(line.str.contains(CONNPING)).then(line.str.extract_all(FIGURES)),
    )
    one = lines.filter(pl.col("value").is_not_null()).with_columns(series=pl.lit("ociping"))
    more = lines.filter(pl.col("figures").is_not_null()).explode("figures")
    more = more.with_columns(
        series=pl.col("figures").str.extract(FIGURES, 1), value=pl.col("figures").str.extract(FIGURES, 2)
    )
    rows = pl.concat([one.drop("figures"), more.drop("figures")]).sort("line_no", maintain_order=True)
    seen: dict[str, int] = state.setdefault("counts", {})
    rows = rows.with_columns(
        elapsed_s=(pl.col("value").cast(pl.Float64, strict=False) / 1000).round(9),
        t_local=pl.col("begun").fill_null(0.0) + pl.col("since"),
        seq=pl.int_range(pl.len()).over("series") + 1 + pl.col("series").replace_strict(seen, default=0, return_dtype=pl.Int64),
    ).filter(pl.col("elapsed_s").is_not_null())  # fmt: skip
    columns = ["line_no", "t_local", "series", "seq", "elapsed_s"]
    out.add("conn_times", rows.select(*columns, ok=pl.lit(True), contiguous=pl.lit("assumed")))
    seen.update(dict(rows.group_by("series").agg(pl.col("seq").max()).iter_rows()))
    out.read(lines.filter(line.str.contains(f"{BANNER}|{SUMMARY}|{BESIDE}"))["line_no"])
    state["begun"] = lines["begun"][-1] if len(lines) else state.get("begun")
    begin, end = span_s(rows["t_local"])
    if begin is not None:
        dated = rows["begun"].null_count() < len(rows)
        utc = state.get("zone") in ("UTC", "GMT")
        kind = "interval" if not dated else "wall-utc" if utc else "wall-local"
        zone = "UTC" if kind == "wall-utc" else source.hints.tz if dated else None
        spans = [(source.first_line, source.next_line - 1)]
        out.domain(Domain(1, kind, WALL_BASE if dated else None, zone, begin, end, spans))
    return state
