r"""Put samples of vmstat, mpstat, iostat, prstat ... on their clock, by stamps between them or times of day in front.

Lines that hold only a stamp; they belong to the sample below::

    Mon Dec  2 11:00:00 EST 2013                     Solaris -T d, date(1)
    Mon 02 Dec 2013 11:00:00 AM EST                  date(1) with another locale
    1418763773                                       Solaris -T u
    zzz ***Wed Feb 29 11:01:52 EST 2012              OSWatcher: the tool starts anew below it
    # Starting Time:  04/12/2019 18:16:32            ExaWatcher, month first

A wall clock counts from `times.WALL_BASE`; an epoch counts from the same instant, but in UTC.
"""

from __future__ import annotations

import polars as pl

from parsers.tables.clock_domains import interval_question, set_back
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.source import Source
from parsers.text.times import MONTHS, WALL_BASE, span_s

DAY = 86400.0
HALF_DAY = DAY / 2

_CLOCK = r"([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?: ?([AaPp])[Mm])?"
_ZONE = r"(?: +([A-Z]{1,5}|[+-][0-9]{2,4}))?"
_NAME = r"[^\s0-9:,]{2,12}"
DATE = rf"{_NAME},? +({_NAME}) +([0-9]{{1,2}}),? +{_CLOCK}{_ZONE} +([0-9]{{4}})"
"""`Mon Dec  2 11:00:00 EST 2013`: month, day, hour, minute, second, a or p, zone, year."""

DAY_FIRST = rf"{_NAME},? +([0-9]{{1,2}}) +({_NAME}),? +([0-9]{{4}}),? +{_CLOCK}{_ZONE}"
"""`Mon 02 Dec 2013 11:00:00 AM EST`: day, month, year, hour, minute, second, a or p, zone."""

EPOCH = r"^[ \t]*([0-9]{9,10})$"
ZZZ = r"^zzz \*\*\*"
STARTING = rf"^# Starting Time:[ \t]+([0-9]{{2}})/([0-9]{{2}})/([0-9]{{4}}) {_CLOCK}$"

STAMP = rf"^(?:zzz \*\*\*)?(?:{DATE}|{DAY_FIRST})(?: +Sample interval: ?[0-9]+ ?\w*)?$|{EPOCH}"
"""A line that holds only a stamp, for claims and `Format.own` (its groups are not used)."""

_STAMP_COLUMNS = {"stamp": pl.Float64(), "zone": pl.String(), "stamp_kind": pl.String(), "interval": pl.Float64()}


def stamped(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the columns below to lines that are stamps, NULL on all others.

    `stamp` (Float64): seconds of the wall clock, or of UTC for an epoch; `zone`: as printed; `stamp_kind`: `date`,
    `epoch` or `zzz` (the tool starts anew); `interval`: seconds where a `zzz` line names them.
    """
    line = pl.col("line")
    # Most lines are rows of numbers: two cheap tests keep the patterns away from them.
    few = frame.select("line_no", "line").filter(
        (line.str.contains(":", literal=True) & line.str.contains(r"^[^ \t0-9#]")) | line.str.contains(EPOCH)
    )
    if few.is_empty():
        return frame.with_columns(pl.lit(None, t).alias(n) for n, t in _STAMP_COLUMNS.items())
    groups = (
        line.str.extract_groups(rf"^(?:zzz \*\*\*)?{DATE}").struct.rename_fields(
            ["mon", "day", "h", "m", "s", "ap", "zone", "year"]
        ),
        line.str.extract_groups(rf"^(?:zzz \*\*\*)?{DAY_FIRST}").struct.rename_fields(
            ["day", "mon", "year", "h", "m", "s", "ap", "zone"]
        ),
    )
    found = []
    for group in groups:
        parts = few.select("line_no", "line", group.alias("g")).unnest("g")
        found.append(parts.filter(pl.col("day").is_not_null()).select("line_no", wall(parts), "zone", "line"))
    epochs = few.select("line_no", line.str.extract(EPOCH).cast(pl.Float64).alias("stamp"), "line").drop_nulls("stamp")
    dates = pl.concat(found).unique("line_no", keep="first").drop_nulls("stamp")
    marks = pl.concat(
        [
            dates.with_columns(
                stamp_kind=pl.when(line.str.contains(ZZZ)).then(pl.lit("zzz")).otherwise(pl.lit("date")),
                interval=line.str.extract(r"interval: ?([0-9]+)").cast(pl.Float64),
            ),
            epochs.with_columns(stamp_kind=pl.lit("epoch")),
        ],
        how="diagonal",
    ).drop("line")
    if marks.is_empty():
        return frame.with_columns(pl.lit(None, t).alias(n) for n, t in _STAMP_COLUMNS.items())
    return frame.join(marks.select("line_no", *_STAMP_COLUMNS), on="line_no", how="left", maintain_order="left")


def wall(parts: pl.DataFrame) -> pl.Expr:
    """Return `stamp`, the wall seconds of columns year, mon (name or number), day, h, m, s, ap; NULL for an invalid
    time.
    """
    number = (
        pl.col("mon")
        .str.to_lowercase()
        .str.strip_chars(".")
        .replace_strict(MONTHS, default=None, return_dtype=pl.Int64)
    )
    whole = {n: pl.col(n).cast(pl.Int64, strict=False) for n in ("year", "day", "h", "m", "s")}
    days = day_number(whole["year"], pl.coalesce(number, pl.col("mon").cast(pl.Int64, strict=False)), whole["day"])
    return (days * DAY + of_day()).alias("stamp")


def day_number(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Return days since 1970-01-01 (Float64); an invalid date is NULL, where `pl.date` would raise."""
    text = pl.format("{}-{}-{}", year, month, day)
    return text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32, strict=False).cast(pl.Float64)


def of_day(hour: str = "h", minute: str = "m", second: str = "s", half: str = "ap") -> pl.Expr:
    """Return seconds of the day from text columns; `half` is `a`, `p` or NULL for a 24 h clock. 12 AM is midnight."""
    h, m, s = (pl.col(n).cast(pl.Float64, strict=False) for n in (hour, minute, second))
    ap = pl.col(half).str.to_lowercase().str.slice(0, 1)
    twelve = (h % 12) + pl.when(ap == "p").then(12.0).otherwise(0.0)
    hours = pl.when(ap.is_null()).then(h).when((h >= 1) & (h <= 12)).then(twelve)
    return pl.when((hours < 24) & (m < 60) & (s < 61)).then(hours * 3600 + m * 60 + s)


def running(seconds: pl.Series, runs: pl.Series, state: State, name: str = "clock") -> pl.Series:
    """Convert times of day, in line order, to seconds since midnight of the first day of their run.

    `runs` numbers the stretches that have a date of their own. A fall by more than half a day is a new day. A smaller
    fall is not corrected: either the clock was changed or another program wrote the line. `state[name]` carries run,
    time and days.
    """
    run, last, days = state.get(name, [None, None, 0.0])
    frame = pl.DataFrame({"at": seconds, "run": runs})
    frame = frame.with_columns(
        held=pl.col("at").forward_fill().over("run"), going_on=pl.col("run").eq_missing(pl.lit(run, runs.dtype))
    )
    carried = pl.when("going_on").then(pl.lit(last, pl.Float64))
    frame = frame.with_columns(pl.coalesce("held", carried))
    before = pl.coalesce(pl.col("held").shift().over("run"), carried)
    frame = frame.with_columns(fell=(before - pl.col("held") > HALF_DAY).fill_null(False))
    day = pl.col("fell").cum_sum().over("run").cast(pl.Float64) + pl.when("going_on").then(days).otherwise(0.0)
    frame = frame.with_columns(day=day)
    if len(frame):
        state[name] = [frame["run"][-1], frame["held"][-1], frame["day"][-1]]
    return frame.select((pl.col("at") + pl.col("day") * DAY).alias(seconds.name)).to_series()


def place(samples: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Put samples on their clock and report its domains; adds `t_local` and `interval_s`.

    `samples` (one row each, in order): line_no, line_end, sample, first, segment (number of the run of the tool), t
    (seconds of the stamp, NULL if none), clock_kind (wall-local or wall-utc, NULL if none), zone; and `since`, if the
    tool prints when the sample began. Several samples under one stamp follow it at the interval from a person or a
    prompt; without an interval all carry the stamp. Without any stamp the clock counts intervals from the first sample.
    """
    if samples.is_empty():
        return samples.with_columns(t_local=pl.lit(None, pl.Float64), interval_s=pl.lit(None, pl.Float64))
    known_step = source.hints.interval_s
    step = pl.lit(known_step, pl.Float64)
    if samples["t"].null_count() == len(samples):
        since_boot = pl.col("first").fill_null(False)
        placed = samples.with_columns(t_local=(pl.col("sample") - 1) * step, interval_s=pl.when(~since_boot).then(step))
        report(placed, None, None, out, state)
        number = int(samples["sample"].to_numpy().max())
        if known_step is None and number > 1:
            out.ask(interval_question(int(samples["line_no"][0]), number))
        return placed
    seen = state.get("under", [None, 0])
    changed = pl.col("t").ne_missing(pl.col("t").shift(fill_value=pl.lit(seen[0], pl.Float64)))
    samples = samples.with_columns(mark=changed.cum_sum())
    behind = pl.int_range(pl.len()).over("mark") + pl.when(pl.col("mark") == 0).then(seen[1]).otherwise(0)
    samples = samples.with_columns(behind=behind).drop("mark")
    state["under"] = [samples["t"][-1], samples["behind"][-1] + 1]
    placed = samples.with_columns(t_local=pl.col("t") + pl.col("behind") * pl.lit(known_step or 0.0))
    last_t, last_segment = state.get("placed", [None, None])
    since = pl.col("t_local") - pl.col("t_local").shift(fill_value=pl.lit(last_t, pl.Float64))
    same = pl.col("segment") == pl.col("segment").shift(fill_value=pl.lit(last_segment, pl.Int64))
    measured = pl.when(same & (since > 0)).then(since).otherwise(None)
    if "since" in placed.columns:
        began = pl.col("t_local") - pl.col("since")
        measured = pl.coalesce(measured, pl.when(began > 0).then(began))
    placed = placed.with_columns(
        interval_s=pl.when(~pl.col("first").fill_null(False)).then(pl.coalesce(measured, step)),
        change=pl.concat_str("clock_kind", pl.col("zone").fill_null(""), separator=" ").fill_null("interval ").rle_id(),
    )
    placed = _restarted(placed, source, out, state)
    shared = placed.filter((pl.col("behind") > 0) & pl.col("t").is_not_null())
    if known_step is None and "shared" not in state and len(shared):
        state["shared"] = True
        words = "samples below one mark carry its stamp, which is that of the first: the interval is unknown"
        out.note(int(shared["line_no"][0]), int(shared["line_no"][0]), "remark", words)
    state["placed"] = [placed["t_local"][-1], placed["segment"][-1]]
    for _, run in placed.group_by("change", "restart", maintain_order=True):
        report(run, run["clock_kind"][0], run["zone"][0], out, state, int(run["restart"][0]))
    return placed.drop("change", "behind", "restart")


def unstamped(lines: pl.DataFrame, step: float | None, out: Tables) -> pl.DataFrame:
    """Return lines of numbered samples (line_no, sample) that have no stamp, with the clock of their interval.

    `t_local` counts from the first sample; if `step` (s) is unknown, it is NULL and a question asks for the interval.
    The domain has number 2, because marks with a date, which have number 1, may follow.
    """
    behind = pl.when(pl.col("sample") > 0).then(pl.col("sample") - 1)
    lines = lines.with_columns(t_local=behind * pl.lit(step, pl.Float64))
    last = max(lines["sample"].to_list(), default=0)
    if last > 0:
        first = int(lines["line_no"][0])
        span = (first, int(lines["line_no"][-1]))
        out.domain(Domain(2, "interval", None, None, *span_s(lines["t_local"]), [span]))
        if step is None and last > 1:
            out.ask(interval_question(first, int(last)))
    return lines


def _restarted(placed: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add `restart`, the number of clock restarts so far: falls of the time that are not the end of summer time.

    Each fall gives a note.
    """
    held = state.get("fallen", [None, None, 0])
    key = pl.concat_str("clock_kind", pl.col("zone").fill_null(""))
    seen = placed.select("line_no", "zone", t=pl.col("t_local").forward_fill(), key=key)
    before = seen.with_columns(
        was=pl.col("t").shift(fill_value=pl.lit(held[0], pl.Float64)),
        was_key=pl.col("key").shift(fill_value=pl.lit(held[1], pl.String)),
    )
    falls = before.with_row_index("at").filter((pl.col("t") < pl.col("was")) & (pl.col("key") == pl.col("was_key")))
    starts = [0] * len(placed)
    for at, line_no, zone, t, was in falls.select("at", "line_no", "zone", "t", "was").iter_rows():
        if not state.get("no_date") and set_back(was, t, zone or source.hints.tz):
            words = f"the clock goes back by {was - t:g} s: the end of daylight saving time"
        else:
            words = (
                f"the clock goes back by {was - t:g} s: it was set, or the tool was started anew; a clock of its own"
            )
            starts[at] = 1
        out.note(line_no, line_no, "remark", words)
    restart = pl.Series("restart", starts, dtype=pl.Int64).cum_sum() + int(held[2])
    last = seen.row(-1, named=True)
    state["fallen"] = [last["t"], last["key"], int(restart[-1])]
    return placed.with_columns(restart)


def report(run: pl.DataFrame, kind: str | None, zone: str | None, out: Tables, state: State, restart: int = 0) -> None:
    """Report a stretch of samples as (part of) a domain: one for each kind of clock with each printed zone and each
    restart.
    """
    known = state.setdefault("clocks", [])
    if [kind, zone, restart] not in known:
        known.append([kind, zone, restart])
    begin, end = span_s(run["t_local"])
    out.domain(
        Domain(
            known.index([kind, zone, restart]) + 1,
            kind or "interval",
            base=None if kind is None or state.get("no_date") else WALL_BASE,
            zone="UTC" if kind == "wall-utc" else zone,
            t_begin=begin,
            t_end=end,
            lines=[line_span(run)],
            stamps=None if kind is None else "end",
        )
    )
