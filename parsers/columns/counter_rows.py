"""Fill `counters`: which sample a row belongs to, and the change since the sample before.

A part may hold several captures of the same counters (a collector's file, `before` and `after` in one paste). A new
sample begins where the part's first counter comes again. `delta` is the growth since the sample before; if a counter
fell, it has wrapped or its host was restarted; the line does not show which, so `delta` is NULL, with a note.
"""

from __future__ import annotations

import polars as pl

from parsers.columns import grid
from parsers.tables.rows import State, Tables

KEPT = 20_000
"""Maximum number of counters that are compared with the sample before."""

FELL = "smaller than in the sample before: wrapped or started again, so no difference is given"


def add(rows: pl.DataFrame, out: Tables, state: State) -> None:
    """Add rows to `counters`: columns line_no, grp, item, name, value, unit, mode, maybe t_local; sorted by line.

    A format that knows the samples passes the column `sample`. `state["counters"]` carries the first counter's name,
    the sample and the last values.
    """
    if rows.is_empty():
        return
    if "t_local" not in rows.columns:
        rows = rows.with_columns(t_local=pl.lit(None, pl.Float64))
    rows = rows.sort("line_no", maintain_order=True)
    rows = rows.with_columns(
        key=pl.concat_str(pl.col("grp").fill_null(""), pl.col("item").fill_null(""), pl.col("name"), separator="|")
    )
    state = state.setdefault("counters", {})
    if "sample" not in rows.columns:
        lead = state.setdefault("lead", rows["key"][0])
        rows = rows.with_columns(sample=grid.counted(pl.col("key") == lead, state))
    # A name may stand twice in one capture (AIX); each is compared with the one at the same position.
    seen = pl.DataFrame(state.get("seen", []), schema={"key": pl.String, "seen": pl.Int64}, orient="row")
    seen = seen.with_columns(sample=pl.lit(state.get("sample", 0), pl.Int64))
    rows = rows.join(seen, on=["key", "sample"], how="left", maintain_order="left")
    rows = rows.with_columns(nth=pl.int_range(pl.len()).over("key", "sample") + pl.col("seen").fill_null(0))
    grid.carry(rows, state)
    now = rows.filter(pl.col("sample") == state["sample"]).select("key", pl.col("nth") + 1)
    still = seen.filter(pl.col("sample") == state["sample"]).select("key", nth="seen")
    counted = pl.concat([still, now]).group_by("key", maintain_order=True).agg(pl.col("nth").max())
    state["seen"] = [list(row) for row in counted.head(KEPT).iter_rows()]
    rows = rows.with_columns(key=pl.col("key") + "#" + pl.col("nth").cast(pl.String))
    last = state.get("last", [])
    schema = {"key": pl.String, "value": pl.Float64, "t_local": pl.Float64}
    before = pl.DataFrame(last, schema=schema, orient="row")
    # Endless digits are not a number that a counter can show; `Tables.add` adds the note.
    shown = pl.when(pl.col("value").cast(pl.Float64).is_finite()).then(pl.col("value").cast(pl.Float64))
    both = pl.concat([before, rows.select("key", value=shown, t_local="t_local")])
    both = both.with_columns(prev=pl.col("value").shift().over("key"), t_prev=pl.col("t_local").shift().over("key"))
    tail = both[len(before) :]
    change = tail["value"] - tail["prev"]
    counting = rows["mode"].eq_missing("total") if rows["mode"].dtype == pl.String else pl.Series([False] * len(rows))
    fell = (counting & (change < 0)).fill_null(False)
    rows = rows.with_columns(
        delta=pl.select(pl.when(counting & ~fell).then(change)).to_series(), interval_s=tail["t_local"] - tail["t_prev"]
    )
    if fell.any():
        named = rows.filter(fell).select("line_no", kind=pl.lit("remark"), text=pl.col("name") + " is " + FELL)
        out.notes(named)
    newest = both.unique("key", keep="last", maintain_order=True).tail(KEPT)
    state["last"] = [list(row) for row in newest.select("key", "value", "t_local").iter_rows()]
    out.add("counters", rows.drop("key", "seen", "nth"))
