"""Compute the times of sar and pidstat: a date in the banner, and times of day that start again in every section.

A section is the set of rows under equal headers below one banner. Within it times rise, so a fall by more than half a day is
midnight; a smaller fall is a clock set back (or two files joined), which a note reports and nothing repairs.
"""

from __future__ import annotations

import polars as pl

from parsers.clocks.sample_stamps import DAY, HALF_DAY
from parsers.tables.clock_domains import set_back
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Source
from parsers.text.times import WALL_BASE, span_s

EPOCH = 1e8
"""Smallest stamp that counts seconds of UTC since 1970; a time of day in seconds is smaller."""


def placed(lines: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add `sample`, `first`, `interval_s`, `t_local` to rows; report the domains.

    `lines` (headers and rows, in order): row, line_no, heading, table, is_heading, banner, midnight, at (seconds of the day,
    or an epoch, NULL where the time is left blank), utc, printed_s (interval as printed, sadf). Returns the rows only.
    """
    if lines.is_empty():
        return lines.with_columns(
            sample=pl.lit(None, pl.Int64),
            first=pl.lit(None, pl.Boolean),
            interval_s=pl.lit(None, pl.Float64),
            t_local=pl.lit(None, pl.Float64),
        )
    held = state.get("sections", {})
    banner = state.get("sections_of")
    carried = pl.DataFrame(
        [(banner, k, *v) for k, v in held.items()],
        schema={
            "banner": pl.Int64,
            "heading": pl.String,
            "last": pl.Float64,
            "days": pl.Float64,
            "restarts": pl.Int64,
            "n": pl.Int64,
            "row_t": pl.Float64,
        },
        orient="row",
    )
    by = ["banner", "heading"]
    table = state.get("table_at") or [None, None, None]
    lines = lines.join(carried, on=by, how="left", maintain_order="left").with_columns(pl.col("n").fill_null(0))
    own_table = pl.when(pl.col("table") == pl.lit(table[0], pl.Int64)).then(pl.lit(table[1], pl.Float64))
    # A blank time repeats that of the row above; the header's time is the beginning of the interval.
    row_at = pl.when(~pl.col("is_heading")).then(pl.col("at"))
    lines = lines.with_columns(at_row=row_at.forward_fill().over("table").fill_null(own_table))
    lines = lines.with_columns(seen=pl.when(pl.col("is_heading")).then(pl.col("at")).otherwise(pl.col("at_row")))
    before = pl.coalesce(pl.col("seen").forward_fill().shift().over(by), pl.col("last"))
    lines = lines.with_columns(fall=(before - pl.col("seen")).fill_null(0.0))
    lines = lines.with_columns(
        day=(pl.col("fall") > HALF_DAY).cum_sum().over(by).cast(pl.Float64) + pl.col("days").fill_null(0.0)
    )
    lines = lines.with_columns(t=pl.col("seen") + pl.col("day") * DAY, fallen=_fallen(lines, source, out))
    lines = lines.with_columns(restart=pl.col("fallen").cum_sum().over(by) + pl.col("restarts").fill_null(0))
    head_t = pl.when(pl.col("is_heading")).then(pl.col("t")).forward_fill().over("table")
    lines = lines.with_columns(head_t=head_t.fill_null(own_head(table)))
    rows = _numbered(lines.filter(~pl.col("is_heading")), by, state)
    rows = rows.with_columns(
        t_local=pl.when(pl.col("utc")).then(pl.col("t")).otherwise(pl.col("t") + pl.col("midnight").fill_null(0.0))
    )
    _carry(lines, rows, state)
    _domains(rows, source, out)
    return rows


def own_head(table: list[float | None]) -> pl.Expr:
    """Return the beginning of the interval for the table that continues from the previous block."""
    same_table = pl.col("table") == pl.lit(table[0], pl.Int64)
    return pl.when(same_table).then(pl.lit(table[2], pl.Float64))


def _numbered(rows: pl.DataFrame, by: list[str], state: State) -> pl.DataFrame:
    """Number the samples: rows at equal places of all sections below one banner are one sample."""
    before = pl.coalesce(pl.col("t").shift().over(by), pl.col("row_t"))
    new = pl.col("t").ne_missing(before) | (
        pl.col("t").is_null() & (pl.col("n") == 0) & (pl.int_range(pl.len()).over(by) == 0)
    )
    rows = rows.with_columns(new=new)
    rows = rows.with_columns(place=pl.col("new").cum_sum().over(by).cast(pl.Int64, strict=False) + pl.col("n"))
    highest = rows.group_by("banner", maintain_order=True).agg(pl.col("place").max())
    base = int(state.get("base", 0))
    if state.get("numbered") is not None:
        known = pl.DataFrame({"banner": [state["numbered"]], "place": [state["highest"]]})
        highest = pl.concat([known.cast({"banner": pl.Int64, "place": pl.Int64}), highest])
        highest = highest.group_by("banner", maintain_order=True).agg(pl.col("place").max())
    highest = highest.with_columns(base=pl.col("place").cum_sum().shift(fill_value=0) + base)
    if not highest.is_empty():
        state["numbered"], state["highest"] = int(highest["banner"][-1]), int(highest["place"][-1])
        state["base"] = int(highest["base"][-1])
    rows = rows.join(highest.drop("place"), on="banner", how="left", maintain_order="left", nulls_equal=True)
    rows = rows.with_columns(sample=pl.col("place") + pl.col("base"))
    # The first sample below a header began at the header's time, any other at the previous sample.
    table, _, _, first, place, step, boot = state.get("table_at") or [None] * 7
    same = pl.col("table") == pl.lit(table, pl.Int64)
    lowest = pl.min_horizontal(pl.col("place").min().over("table"), pl.when(same).then(pl.lit(first, pl.Int64)))
    rows = rows.with_columns(lowest=lowest, since=pl.col("t") - before)
    rows = rows.with_columns(span=pl.when(pl.col("place") == pl.col("lowest")).then(pl.col("t") - pl.col("head_t")))
    within, going_on = [*by, "place"], same & (pl.col("place") == pl.lit(place, pl.Int64))
    rows = rows.with_columns(
        step=pl.when(pl.col("new")).then(pl.coalesce("span", "since")),
        boot=pl.when(pl.col("new")).then(pl.col("span") == 0),
    )
    rows = rows.with_columns(
        step=pl.coalesce(pl.col("step").forward_fill().over(within), pl.when(going_on).then(pl.lit(step, pl.Float64))),
        boot=pl.coalesce(
            pl.col("boot").forward_fill().over(within), pl.when(going_on).then(pl.lit(boot, pl.Boolean)), pl.lit(False)
        ),
    )
    length = pl.coalesce("printed_s", "step")
    return rows.with_columns(first=pl.col("boot"), interval_s=pl.when(~pl.col("boot") & (length > 0)).then(length))


def _carry(lines: pl.DataFrame, rows: pl.DataFrame, state: State) -> None:
    """Store in the state, for each section below the last banner, its last time, days and samples."""
    last = lines["banner"][-1]
    same = state.get("sections_of") == last
    sections: dict[str, list[float | int | None]] = dict(state.get("sections", {})) if same else {}
    mine = lines.filter(pl.col("banner") == last)
    times = mine.group_by("heading").agg(
        pl.col("seen").drop_nulls().last(), pl.col("day").last(), pl.col("restart").last()
    )
    places = rows.filter(pl.col("banner") == last).group_by("heading").agg(pl.col("place").max(), pl.col("t").last())
    for heading, seen, day, restart, place, t in (
        times.join(places, on="heading", how="left").sort("heading").iter_rows()
    ):
        old = sections.get(heading, [None, 0.0, 0, 0, None])
        rest = old[3:] if place is None else [place, t]
        sections[heading] = [old[0] if seen is None else seen, day, restart, *rest]
    state["sections"], state["sections_of"] = sections, last
    table = lines["table"][-1]
    position = [table, lines["at_row"][-1], lines["head_t"][-1], None, None, None, None]
    mine = rows.filter(pl.col("table") == table)
    if not mine.is_empty():
        position[3:] = list(mine.select("lowest", "place", "step", "boot").row(-1))
    elif (state.get("table_at") or [None])[0] == table:
        position[3:] = state["table_at"][3:]
    state["table_at"] = position


def _fallen(lines: pl.DataFrame, source: Source, out: Tables) -> pl.Series:
    """Return 1 where a section's clock fell, not at midnight, and a new clock domain begins; note all falls."""
    back = (pl.col("fall") > 0) & (pl.col("fall") <= HALF_DAY)
    fallen = [0] * len(lines)
    places = lines.with_row_index("place").filter(back)
    for place, line_no, fall, seen, midnight in places.select(
        "place", "line_no", "fall", "seen", "midnight"
    ).iter_rows():
        t = seen + (midnight or 0.0)
        zone = None if lines["utc"][place] else source.hints.tz
        if midnight is not None and set_back(t + fall, t, zone):
            text = f"the clock goes back by {fall:g} s: the end of daylight saving time"
        else:
            text = f"the clock goes back by {fall:g} s: it was set, or another recording begins; a clock of its own"
            fallen[place] = 1
        out.note(line_no, line_no, "remark", text)
    return pl.Series("fallen", fallen, dtype=pl.Int64)


def _domains(rows: pl.DataFrame, source: Source, out: Tables) -> None:
    timed = rows.filter(pl.col("t_local").is_not_null())
    timed = timed.with_columns(stretch=pl.struct("utc", "restart").rle_id())
    for (utc, restart), mine in timed.group_by("utc", "restart", maintain_order=True):
        dated = utc or mine["midnight"].null_count() < len(mine)
        # Sections follow each other, so lines after a restart may stand between lines of the domain before it.
        spans = mine.group_by("stretch", maintain_order=True).agg(a=pl.col("line_no").min(), b=pl.col("line_no").max())
        out.domain(
            Domain(
                2 * int(str(restart)) + (2 if utc else 1),
                "wall-utc" if utc else "wall-local",
                WALL_BASE if dated else None,
                "UTC" if utc else source.hints.tz,
                *span_s(mine["t_local"]),
                list(spans.select("a", "b").iter_rows()),
                stamps="end",
            )
        )
