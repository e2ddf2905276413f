"""Times of sar and pidstat: a date in the banner, times of day that every section begins anew.

A section is what stands under equal headers below one banner. Within it times rise, so a fall by more than half a day is
midnight; a smaller one is a clock set back (or two files joined) and is said, not repaired.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.sample_stamps import DAY, HALF_DAY
from parsers.source import Source
from parsers.tables import Domain, State, Tables
from parsers.times import WALL_BASE, wall_seconds

EPOCH = 1e8
"""A stamp from here on counts seconds of UTC since 1970; a time of day is smaller."""


def day_of(text: str, system: str) -> tuple[float | None, str | None]:
    """Read a banner's date: seconds of its midnight, and what is doubtful about it.

    Solaris, AIX and HP-UX print month first. Linux prints it as the locale has it.

    >>> day_of("2019-04-18", "linux")[0] == day_of("18.04.2019", "linux")[0] == day_of("04/18/19", "linux")[0]
    True
    """
    numbers = re.findall(r"[0-9]+", text)
    if len(numbers) != 3:
        return None, f"date {text!r} is not understood"
    one, two, three = map(int, numbers)
    doubt = None
    if len(numbers[0]) == 4:
        year, month, day = one, two, three
    else:
        year = three if len(numbers[2]) == 4 else 2000 + three if three < 70 else 1900 + three
        day_first = "." in text or one > 12
        month, day = (two, one) if day_first else (one, two)
        if system == "linux" and not day_first and two <= 12 and one != two:
            doubt = f"date {text} is read as month/day/year: {wall_day(year, month, day)}; day and month may be swapped"
    seconds = wall_seconds(year, month, day)
    return seconds, doubt if seconds is not None else f"no such date: {text!r}"


def wall_day(year: int, month: int, day: int) -> str:
    return f"{year:04}-{month:02}-{day:02}"


def placed(lines: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add `sample`, `first`, `interval_s`, `t_local` to rows; report the domains.

    `lines` (headers and rows, in order): row, line_no, heading, table, is_heading, banner, midnight, at (seconds of the day,
    or an epoch, NULL where the time is left blank), utc, said_s (interval as printed, sadf). Rows only are given back.
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
            "n": pl.Int64,
            "row_t": pl.Float64,
        },
        orient="row",
    )
    by = ["banner", "heading"]
    table = state.get("table_at") or [None, None, None]
    lines = lines.join(carried, on=by, how="left", maintain_order="left").with_columns(pl.col("n").fill_null(0))
    own_table = pl.when(pl.col("table") == pl.lit(table[0], pl.Int64)).then(pl.lit(table[1], pl.Float64))
    # A blank time is that of the row above; the header's own time is where the interval begins.
    row_at = pl.when(~pl.col("is_heading")).then(pl.col("at"))
    lines = lines.with_columns(at_row=row_at.forward_fill().over("table").fill_null(own_table))
    lines = lines.with_columns(seen=pl.when(pl.col("is_heading")).then(pl.col("at")).otherwise(pl.col("at_row")))
    before = pl.coalesce(pl.col("seen").forward_fill().shift().over(by), pl.col("last"))
    lines = lines.with_columns(fall=(before - pl.col("seen")).fill_null(0.0))
    lines = lines.with_columns(
        day=(pl.col("fall") > HALF_DAY).cum_sum().over(by).cast(pl.Float64) + pl.col("days").fill_null(0.0)
    )
    back = lines.filter((pl.col("fall") > 0) & (pl.col("fall") <= HALF_DAY) & ~pl.col("is_heading"))
    for line_no, fall in back.select("line_no", "fall").head(50).iter_rows():
        text = f"the clock goes back by {fall:g} s: daylight saving time ended, it was set, or another recording begins"
        out.note(line_no, line_no, "remark", text)
    lines = lines.with_columns(t=pl.col("seen") + pl.col("day") * DAY)
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
    """Where the interval of the table begins that goes on from the block before."""
    own = pl.col("table") == pl.lit(table[0], pl.Int64)
    return pl.when(own).then(pl.lit(table[2], pl.Float64))


def _numbered(rows: pl.DataFrame, by: list[str], state: State) -> pl.DataFrame:
    """Number the samples: equal places of all sections below one banner are one sample."""
    before = pl.coalesce(pl.col("t").shift().over(by), pl.col("row_t"))
    new = pl.col("t").ne_missing(before) | (
        pl.col("t").is_null() & (pl.col("n") == 0) & (pl.int_range(pl.len()).over(by) == 0)
    )
    rows = rows.with_columns(new=new)
    rows = rows.with_columns(place=pl.col("new").cum_sum().over(by).cast(pl.Int64) + pl.col("n"))
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
    # The first sample below a header began at the header's time, others at the sample before.
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
    length = pl.coalesce("said_s", "step")
    return rows.with_columns(first=pl.col("boot"), interval_s=pl.when(~pl.col("boot") & (length > 0)).then(length))


def _carry(lines: pl.DataFrame, rows: pl.DataFrame, state: State) -> None:
    """Keep, for each section below the last banner, its last time, days and samples."""
    last = lines["banner"][-1]
    same = state.get("sections_of") == last
    sections: dict[str, list[float | int | None]] = dict(state.get("sections", {})) if same else {}
    mine = lines.filter(pl.col("banner") == last)
    times = mine.group_by("heading").agg(pl.col("seen").drop_nulls().last(), pl.col("day").last())
    places = rows.filter(pl.col("banner") == last).group_by("heading").agg(pl.col("place").max(), pl.col("t").last())
    for heading, seen, day, place, t in times.join(places, on="heading", how="left").sort("heading").iter_rows():
        old = sections.get(heading, [None, 0.0, 0, None])
        sections[heading] = [old[0] if seen is None else seen, day, *(old[2:] if place is None else [place, t])]
    state["sections"], state["sections_of"] = sections, last
    table = lines["table"][-1]
    said = [table, lines["at_row"][-1], lines["head_t"][-1], None, None, None, None]
    mine = rows.filter(pl.col("table") == table)
    if not mine.is_empty():
        said[3:] = list(mine.select("lowest", "place", "step", "boot").row(-1))
    elif (state.get("table_at") or [None])[0] == table:
        said[3:] = state["table_at"][3:]
    state["table_at"] = said


def _domains(rows: pl.DataFrame, source: Source, out: Tables) -> None:
    timed = rows.filter(pl.col("t_local").is_not_null())
    for number, utc in ((1, False), (2, True)):
        mine = timed.filter(pl.col("utc") == utc)
        if mine.is_empty():
            continue
        times, nos = mine["t_local"].to_list(), mine["line_no"].to_list()
        dated = utc or mine["midnight"].null_count() < len(mine)
        zone = "UTC" if utc else source.hints.tz
        base = WALL_BASE if dated else None
        kind = "wall-utc" if utc else "wall-local"
        out.domain(Domain(number, kind, base, zone, min(times), max(times), [(nos[0], nos[-1])]))
