"""Measured times that cannot be right: longer than the command that measured them, in the wrong order, or a counter that ran over.

Standing out: a figure of `curl -w` that exceeds the real time that the shell measured for the same call; one that is 2^32
microseconds (4,294.967 s) and up to `OVER_S` more while another figure of the same request is short; a step that ends after the whole
request. Other observers leave such figures out (`doubtful`). Normal: figures that rise from step to step up to the total.
Worked example: time_connect 4295.046 beside real 0.2 s: "time_connect of curl cannot be 1 h 11 min: the shell measured 0.200 s
for the same call".
Cost: one pass over the figures of curl. Source: curl(1), -w: each time counts from the start of the request; 32-bit counters of
microseconds run over after 4,294.967296 s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "impossible-times",
    "Which measured times cannot be right?",
    ("conn_times",),
    {"*": "curl --version; the same call with time(1) in front"},
)

CURLS = r"^%?\{?(?:time_)?(?:namelookup|connect|appconnect|pretransfer|starttransfer|total)\b"
"""Figures of curl itself that count from the beginning of the request."""

ONLY_CURLS = "namelookup|appconnect|pretransfer|starttransfer"
"""Words of `curl -w` that no other tool has: connect and total alone may be anybody's."""

RAN_OVER_S = 2**32 * 1e-6
"""Seconds after which 32 bits of microseconds begin again."""

OVER_S = 60.0
"""Maximum seconds above `RAN_OVER_S`: a request takes less, and most that really take 72 minutes are none of these."""

WITHIN = 40
"""Maximum number of lines between a figure and the times of the command that printed it."""

SPARE, SPARE_S = 1.05, 0.05
"""Ratio and seconds by which a part may exceed its whole: clocks tick and tools round."""

SHARE = 1.0
"""Share of such a figure: a reader must know it before any other of the same request."""


def doubtful(case: CaseTables) -> pl.DataFrame:
    """Return impossible figures, in line order: artifact_id, line_no, series, elapsed_s, why, by_s, by_line.

    `why` is `real` (longer than the command, which took `by_s` according to line `by_line`), `over` (a counter that
    overflowed, shown by another figure of the request) or `order` (later than the end of the request).
    """
    curl = pl.col("series").str.contains(CURLS).fill_null(value=False)
    columns = [*PLACE_COLUMNS, "part", "series", "seq", "line_no", "elapsed_s", "cpu_s"]
    rows = case.scan("conn_times", columns, (curl | pl.col("cpu_s").is_not_null()) & pl.col("elapsed_s").is_finite())
    rows = rows.with_columns(curl.alias("curl"))
    known = pl.col("series").str.contains(ONLY_CURLS).fill_null(value=False).any().over("artifact_id", "part", "seq")
    held = rows.filter((known & pl.col("curl")) | ~pl.col("curl")).sort("artifact_id", "line_no")
    command = pl.when(~pl.col("curl"))
    figures = (
        held.with_columns(
            command.then("line_no").backward_fill().over("artifact_id").alias("real_line"),
            command.then("elapsed_s").backward_fill().over("artifact_id").alias("real_s"),
        )
        .filter("curl")
        .with_columns(
            pl.col("elapsed_s").min().over("artifact_id", "part", "seq").alias("least_s"),
            pl.col("line_no").get(pl.col("elapsed_s").arg_min()).over("artifact_id", "part", "seq").alias("least_line"),
            *(
                pl.col(c).filter(pl.col("series").str.contains("time_total")).first()
                .over("artifact_id", "part", "seq").alias(f"total_{c}")
                for c in ("elapsed_s", "line_no")
            ),
        )
    )  # fmt: skip
    took = pl.col("elapsed_s")
    near = pl.col("real_line") - pl.col("line_no") <= WITHIN
    real = near & (took > SPARE * pl.col("real_s") + SPARE_S)
    over = took.is_between(RAN_OVER_S, RAN_OVER_S + OVER_S) & (pl.col("least_s") < OVER_S)
    order = took > SPARE * pl.col("total_elapsed_s") + 1e-3
    why = pl.when(real).then(pl.lit("real")).when(over).then(pl.lit("over")).when(order).then(pl.lit("order"))
    by = {"s": ("real_s", "least_s", "total_elapsed_s"), "line": ("real_line", "least_line", "total_line_no")}
    return (
        figures.with_columns(why.alias("why"))
        .filter(pl.col("why").is_not_null())
        .with_columns(
            pl.when(pl.col("why") == "real").then(a).when(pl.col("why") == "over").then(b).otherwise(pl.col(c)).alias(f"by_{name}")
            for name, (a, b, c) in by.items()
        )
        .collect()
        .sort("artifact_id", "line_no")
    )  # fmt: skip


def believable(rows: pl.LazyFrame, case: CaseTables) -> pl.LazyFrame:
    """Return rows of `conn_times` without the figures that cannot be right."""
    wrong = doubtful(case)
    return rows if wrong.is_empty() else rows.join(wrong.lazy(), on=["artifact_id", "line_no"], how="anti")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield one sighting per request with such figures, the largest first."""
    rows = doubtful(case)
    for _, held in rows.group_by("artifact_id", "part", "seq", "why", maintain_order=True):
        row = held.sort("elapsed_s", descending=True).row(0, named=True)
        more = f" (nor what it prints of {held.height - 1:,} more steps)" if held.height > 1 else ""
        yield Sighting(
            "measurement",
            str(row["series"]),
            f"{row['series']} of curl cannot be {figure(row['elapsed_s'], 's')}{more}: {_why(row)}",
            "doubtful_s",
            row["elapsed_s"],
            "s",
            (
                *(Lines(row["artifact_id"], n, n, "cannot be right") for n in held["line_no"].to_list()[:MOST]),
                Lines(row["artifact_id"], row["by_line"], row["by_line"], "what it is compared with"),
            ),
            **place(row),
            against="what it is part of" if row["why"] != "over" else "the shortest figure of the same request",
            against_value=row["by_s"],
            share=SHARE,
            n=held.height,
        )


def _why(row: dict[str, Any]) -> str:
    left = row["elapsed_s"] - RAN_OVER_S
    over = f"it is 2^32 microseconds and {figure(left, 's')} more, as of a counter that ran over"
    if row["why"] == "real":
        measured = f"the shell measured {figure(row['by_s'], 's')} for the same call"
        return f"{measured}; {over}" if 0 <= left <= OVER_S else measured
    if row["why"] == "over":
        return over
    return f"the whole request took {figure(row['by_s'], 's')}, and both count from its beginning"
