r"""Counters of perf: perf stat of Linux.

Tool: perf 2.6.3x to 6.x. Manual: perf-stat(1). Capture: `perf stat -o FILE CMD`, also -r N, -I MS, -x SEP, -A and
--per-core/--per-socket.

Samples::

    11.63 msec task-clock                       #    0.244 CPUs utilized
    <not supported>      cycles
         0.100235696                  1      context-switches                 #    1.281 K/sec
    0,399472,,task-clock,399472,100,00
    77,,page-faults,947503,100.00,81.266,K/sec
    0.047754829 seconds time elapsed

Tables: counters (grp perf_stat; with -I also `sample`, `interval_s` and `delta`; derived values after `#` are rows of grp
perf_stat_metric; item = CPU, core or socket). Clock: trace-relative with -I (seconds since perf began, ends of intervals).
Traps: `<not counted>` and `<not supported>` are NULL, not 0. A share in brackets, `(70.01%)` or `(scaled from 70.01%)`,
means that the counter was active for that part of the time only and the value is scaled: a note states it. `4,138,410,900` has
thousands separators and `0,399472` a decimal comma: this is decided once from all numbers of a run, and a value that stays ambiguous
is NULL with a note. With -x the first line decides whether a comma in numbers is also the separator.
A second derived value is printed on a line of its own: it belongs to the event above, or has a name (`tma_retiring`).
Known gaps: --json, --topdown tables, metric-only.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import decimal, decimal_sign

NUMBER = r"(?:[0-9][0-9.,  ’']*[0-9]|[0-9])"
VALUE = rf"(?:{NUMBER}|<not (?:counted|supported)>)"
ITEM = r"(?:CPU[0-9]+|S[0-9]+(?:-D[0-9]+)?(?:-C[0-9]+)?|N[0-9]+|[A-Za-z_][A-Za-z0-9_.:/]*-[0-9]+)"
EVENT = r"[A-Za-z][A-Za-z0-9_./:,=@%\\{}<>*+-]*"
ROW = (
    rf"^[ \t]*(?:([0-9]+[.,][0-9]{{6,9}})[ \t]+)?(?:({ITEM})[ \t]+(?:[0-9]+[ \t]+)?)?({VALUE})[ \t]+"
    rf"(?:(msec|sec|ns|usec|MiB|KiB|GiB|Bytes|Joules|C|ms|%)[ \t]+)?"
    rf"({EVENT})(?:[ \t]+\((msec|sec|ns|Joules)\))?(?:[ \t]+#[ \t]*(.*?))?"
    r"(?:[ \t]+\([ ]*\+-[ ]*([0-9.,]+)%[ ]*\))?(?:[ \t]+[(\[](?:scaled from )?([0-9.,]+)%[)\]])?$"
)
"""A counter row: time (-I), CPU or core, value, unit, event, unit after the event (before 4.16), derived text, spread (-r), share of the
time counted.
"""

NAMES = ["time", "item", "value", "unit", "name", "unit_behind", "metric", "spread", "share"]
MORE = rf"^[ \t]{{10,}}(?:([0-9]+[.,][0-9]{{6,9}})[ \t]+)?(?:({ITEM})[ \t]+(?:[0-9]+[ \t]+)?)?(?:[A-Z][A-Za-z0-9_]*[ \t]+)?#[ \t]+({NUMBER}[ \t%].*)$"
"""A line with only a derived value: of the event above, or a named metric, `TopdownL1  #  68.7 %  tma_backend_bound`."""
ENDED = r"^[ \t]*([0-9.,]+)(?:[ \t]*\+-[ \t]*[0-9.,]+)?[ \t]+seconds[ \t]+(time elapsed|user|sys)(?:[ \t]+\([ ]*\+-[ ]*[0-9.,]+%[ ]*\))?$"
BANNER = r"^[ \t]*Performance counter stats for (.*?):?$"
COLUMNS = r"^#[ \t]+time(?:[ \t]+\S+)*[ \t]+counts[ \t]+unit[ \t]+events$|^# started on "
FIELDS = (
    rf"^(?:[ \t]*([0-9]+[.,][0-9]{{6,9}})([,;|:\t]))?(?:({ITEM})[,;|:\t](?:[0-9]+[,;|:\t])?)?"
    rf"([0-9]+(?:[.,][0-9]+)?|<not (?:counted|supported)>)([,;|:\t])([a-zA-Z%]*)[,;|:\t]([A-Za-z][A-Za-z0-9_./:=@-]*)"
    r"(?:[,;|:\t](?:[0-9.]+%[,;|:\t])?([0-9]+)[,;|:\t]([0-9]+[.,][0-9]+)(?:[,;|:\t](-?[0-9.,]*)[,;|:\t](.*))?)?[,;|:\t]*$"
)
"""A line of -x: time, separator, item, value, separator, unit, event, run time, share, derived value and its unit."""

FORMAT = Format(
    kind="perf",
    variant="stat",
    version="1",
    systems=("linux",),
    tables=("counters",),
    man="perf-stat(1)",
    example="perf stat CMD",
    clocks=("none", "trace-relative"),
    own=rf"{BANNER}|{ENDED}|{COLUMNS}|^[ \t]*{VALUE}[ \t]+(?:msec[ \t]+)?[a-z][A-Za-z0-9_:.-]*[ \t]+#[ \t]|^[ \t]*<not (?:counted|supported)>[ ,;]",
)
_CUT = re.compile(
    r"[ \t]{2,40}[0-9][0-9,.]{0,30}[ \t]+(?:task-clock|cpu-clock|context-switches|cpu-migrations|(?:page|major|minor)-faults|cycles|instructions"
    r"|branches|branch-misses|cache-(?:references|misses)|(?:L1-[di]cache|LLC|dTLB|iTLB)-(?:load|store)(?:s|-misses))\b"
)
"""A row of an excerpt without its banner and without derived values."""

_EVENTS = ("task-clock", "cpu-clock", "context-switches", "page-faults", "cycles", "instructions", "<not supported>")


def claim(head: Head) -> Claim | None:
    """Claim by the banner, else by rows of -I or -x."""
    text = head.text
    if "Performance counter stats for" in text:
        return Claim(0.97, "banner of perf stat", "stat")
    if "counts" in text and re.search(r"(?m)^#[ \t]+time(?:[ \t]+\S+)*[ \t]+counts[ \t]+unit[ \t]+events[ \t]*$", text):
        return Claim(0.97, "header of perf stat -I", "stat")
    if not head.any_of(_EVENTS):
        return None
    first = [x for x in head.lines[:100] if x and not x.startswith("#")]
    rows = [x for x in first if re.match(FIELDS, x)]
    filled = len(first)
    if rows and len(rows) * 10 >= filled * 9:
        return Claim(0.9, f"{len(rows)} lines of perf stat -x", "stat")
    # Behind its number, an event of this shape has a derived value, or is one that nothing else counts by that name.
    plain = [x for x in first if ("#" in x or "<not" in x or _CUT.match(x)) and re.match(ROW, x)]
    if len(plain) >= 2 and len(plain) * 2 >= filled:
        return Claim(0.8, f"{len(plain)} counters of perf stat", "stat")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the number and time of the last sample (-I) and the decimal sign."""
    text = pl.col("line")
    every = re.search(r"\bperf stat .*-I *([0-9]+)\b", source.hints.command or "")
    state["step"] = int(every[1]) / 1000 if every else None
    for block in source.blocks():
        lines = _unfolded(block.frame, out)
        banners = lines.filter(text.str.contains(BANNER) | text.str.contains(COLUMNS) | text.str.contains(r"^#"))
        out.read(banners["line_no"])
        for name in banners["line"].str.extract(r"for '(?:system wide|process id)?([^']*)'", 1).drop_nulls().head(1):
            out.fact("tool_opts", name.split())
        fields = lines.filter(text.str.contains(FIELDS))
        cells = text.str.extract_groups(ROW).struct.rename_fields(NAMES)
        rows = (
            lines.filter(~text.str.contains(FIELDS) & ~text.str.contains(ENDED))
            .with_columns(cells.alias("g"))
            .unnest("g")
        )
        ended = lines.select("line_no", value=text.str.extract(ENDED, 1), name=text.str.extract(ENDED, 2))
        ended = ended.drop_nulls("value").with_columns(unit=pl.lit("s"), grp=pl.lit("perf_stat"))
        rows = rows.with_columns(unit=pl.coalesce("unit", "unit_behind"))
        more = _more(rows, state)
        rows = pl.concat([rows.drop_nulls("name"), _separated(fields, state)], how="diagonal").sort("line_no")
        parts = [rows.with_columns(grp=pl.lit("perf_stat")), _metrics(rows), _metrics(more), ended]
        found = pl.concat(parts, how="diagonal_relaxed")
        found = found.sort("line_no", maintain_order=True)
        _write(found, out, state)
    return state


def _unfolded(lines: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Split an output that lost its line ends into one line for each counter again: each has a value, a name and `#`."""
    flat = lines.filter(pl.col("line").str.contains("Performance counter stats for .*:.*#.*#"))
    if flat.is_empty():
        return lines
    pieces: list[tuple[int, str]] = []
    start = re.compile(
        rf" (?={VALUE} (?:msec |[a-z]+ )?{EVENT} +#|<not (?:counted|supported)> |[0-9]+[.,][0-9]+ seconds (?:time|user|sys))"
    )
    for number, line in flat.select("line_no", "line").iter_rows():
        banner, _, rest = line.partition(":")
        pieces += [(number, f"{banner}:"), *((number, x) for x in start.split(f" {rest.strip()}") if x.strip())]
        out.note(number, number, "repaired", "line ends were lost: cut before each value that a name and `#` follow")
    new = pl.DataFrame(pieces, schema=lines.schema, orient="row")
    return pl.concat([lines.filter(~pl.col("line_no").is_in(flat["line_no"].implode())), new]).sort(
        "line_no", maintain_order=True
    )


def _separated(rows: pl.DataFrame, state: State) -> pl.DataFrame:
    """Split lines of -x; the unit after a value shows which comma is a decimal comma and which the separator."""
    names = ["time", "sep", "item", "value", "sep2", "unit", "name", "ran", "share", "metric_value", "metric"]
    cells = rows.with_columns(pl.col("line").str.extract_groups(FIELDS).struct.rename_fields(names).alias("g")).unnest(
        "g"
    )
    empty = pl.col("unit").replace("", None)
    value = pl.col("metric_value").replace("", None)
    metric = pl.when(value.is_not_null()).then(pl.concat_str([value, pl.lit(" "), pl.col("metric").fill_null("")]))
    return cells.select("line_no", "time", "item", "value", "name", "share", unit=empty, metric=metric)


def _more(lines: pl.DataFrame, state: State) -> pl.DataFrame:
    """Return the lines that hold only a derived value; `state` keeps the event they may belong to."""
    names = ["time", "item", "metric"]
    shaped = lines.with_columns(
        pl.col("line").str.extract_groups(MORE).struct.rename_fields([f"more_{n}" for n in names]).alias("m")
    ).unnest("m")
    metric_name = pl.col("more_metric").str.extract(r"^[0-9.,]+ *%[ \t]+([a-z]+_[a-z0-9_]+)[ \t]*$")
    shaped = shaped.with_columns(of=pl.col("name").forward_fill().fill_null(pl.lit(state.get("of"), pl.String)))
    if len(shaped):
        state["of"] = shaped["of"].item(-1)
    return shaped.filter(pl.col("name").is_null() & pl.col("more_metric").is_not_null()).select(
        "line_no",
        time="more_time",
        item="more_item",
        metric=pl.when(metric_name.is_not_null())
        .then(pl.col("more_metric").str.extract(r"^([0-9.,]+ *%)"))
        .otherwise("more_metric"),
        name=pl.coalesce(metric_name, "of"),
    )


def _metrics(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the derived values after `#`: the value and its description."""
    metric = pl.col("metric").str.strip_chars()
    split = rows.select(
        "line_no",
        "time",
        "item",
        value=metric.str.extract(rf"^({NUMBER})[ \t%]", 1),
        text=metric.str.extract(r"^[0-9.,]+[ \t]*(%?[ \t]*\S.*?|%)(?:[ \t]+[(\[].*[)\]])?$", 1),
        of="name",
    ).drop_nulls("value")
    return split.select("line_no", "time", "item", "value", name="of", unit="text", grp=pl.lit("perf_stat_metric"))


def _write(found: pl.DataFrame, out: Tables, state: State) -> None:
    if found.is_empty():
        return
    for name in ("time", "item", "share"):
        if name not in found.columns:
            found = found.with_columns(pl.lit(None, pl.String).alias(name))
    bare = found.with_columns(pl.col("value", "share").str.replace_all(r"[  ’']", ""))
    texts = bare["value"].drop_nulls()
    sign = (
        decimal_sign(texts.filter(texts.str.contains(r"^[0-9].*[.,]")))
        if texts.str.contains(r"^[0-9].*[.,]").any()
        else None
    )
    state["decimal"] = state.get("decimal") or sign
    comma = state["decimal"] == ","
    is_time = pl.col("time").str.replace(",", ".", literal=True).cast(pl.Float64)
    rows = bare.with_columns(num=decimal("value", state["decimal"]), t_local=is_time)
    last, number = state.get("time", 0.0), state.get("sample", 0)
    # Rows without a time, such as those of a summary, may stand between.
    before = pl.col("t_local").forward_fill().shift(1).fill_null(last)
    marks = rows.select((pl.col("t_local") != before).fill_null(False).cum_sum()).to_series()
    timed = pl.col("t_local").is_not_null()
    rows = rows.with_columns(sample=pl.when(timed).then(marks.cast(pl.Int64, strict=False) + number))
    steps = rows.filter(timed).group_by("sample", maintain_order=True).agg(pl.col("t_local").first())
    fresh = (pl.col("t_local") - pl.col("t_local").shift(1).fill_null(last)).round(9)
    fresh = pl.when(fresh < 0).then("t_local").otherwise(fresh)  # the time fell: another perf began
    # An excerpt may begin with any interval; the first one is counted from the start of perf unless -I gives the step.
    if number == 0 and state.get("step"):
        fresh = pl.when(fresh > 1.5 * state["step"]).then(state["step"]).otherwise(fresh)
    # A sample that continues from the previous block keeps its interval.
    goes_on = pl.col("sample") == number
    steps = steps.with_columns(
        interval_s=pl.when(goes_on).then(pl.lit(state.get("interval"), pl.Float64)).otherwise(fresh)
    )
    rows = rows.join(steps.select("sample", "interval_s"), on="sample", how="left", maintain_order="left")
    if len(steps):
        state["interval"] = steps["interval_s"].item(-1)
        state["time"], state["sample"] = steps["t_local"].item(-1), int(steps["sample"].item(-1))
        low, high = float(steps["t_local"].item(0)), float(steps["t_local"].item(-1))
        first, final = int(rows["line_no"].item(0)), int(rows["line_no"].item(-1))
        out.domain(Domain(1, "trace-relative", None, None, low, high, [(first, final)], stamps="end"))
        out.fact("stamp", "end")
    of_time = (pl.col("grp") == "perf_stat_metric") | (pl.col("unit") == "s")
    out.add(
        "counters",
        rows.select(
            "line_no",
            "t_local",
            "sample",
            "interval_s",
            "grp",
            "item",
            "name",
            "unit",
            value="num",
            mode=pl.when(of_time & (pl.col("grp") == "perf_stat_metric"))
            .then(pl.lit("rate"))
            .otherwise(pl.lit("total")),
            delta=pl.when(timed & (pl.col("grp") == "perf_stat")).then("num"),
        ),
    )
    share = pl.col("share").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    scaled = rows.filter((share < 100) & (pl.col("grp") == "perf_stat"))
    out.notes(
        scaled.select(
            "line_no",
            kind=pl.lit("remark"),
            text=pl.format("{} was counted {} % of the time and scaled", "name", "share"),
        )
    )
    lost = rows.filter(pl.col("num").is_null() & pl.col("value").str.contains("^[0-9]"))
    out.notes(
        lost.select(
            "line_no",
            kind=pl.lit("unknown"),
            text=pl.format("is {} a decimal number or one with thousands separators?", "value"),
        )
    )
    if comma:
        out.note(
            int(rows["line_no"].item(0)),
            int(rows["line_no"].item(-1)),
            "remark",
            "decimal comma, as other numbers here show",
        )
