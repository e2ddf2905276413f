r"""mpstat of Solaris, Linux and AIX: one row for each sample and CPU.

Tools: Solaris and illumos mpstat(1M), plain, -a (by processor set), -p, -T u, -T d; sysstat mpstat(1) of all versions,
plain, -P ALL, -A, -I, -N, -T, -U, --dec, -o JSON, 24 and 12 h clocks; AIX mpstat, plain, -h, -d, -i. Capture:
`mpstat -P ALL 5 12` (Linux), `mpstat -T d 5 12` (Solaris).

Samples::

    CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl
      0 1058  21    0   309  224 1029   65    0    5    0  2825   16  35   0  49
    12:53:20     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
    03:14:20 PM  all    0.23    0.00    0.37    0.01    0.00    0.00    0.00    0.00    0.00   99.39
      0  0.00 750666 13711321

Tables: mpstat; vmstat (rows `all` and AIX `ALL`); counters (interrupts: grp sum, irq, softirq; grp node; AIX columns and
`U`); hosts (banner); logs (state changes of Solaris). Clock: interval; wall-local with sysstat, -T d; wall-utc with -T u,
-U. The time of a sysstat row is the end of its interval, that of its header the beginning; where both are equal the row is
since boot. Traps: with one CPU Solaris prints its header once, so a sample also begins where the number of the CPU does
not rise; CPU numbers have gaps and are never positions. The `all` row of -T leaves CORE SOCK NODE blank. `Average:` rows, in
any language, cover the whole run: they are remarks, and become samples only where no sample stands above. The date of the banner may
have month or day first: a note states the reading. Columns that an author wrote as `..` are left out, and `first` is NULL then: the
first sample shown need not be the tool's first. Known gaps: clocks with am and pm in other words than AM, PM.
"""

from __future__ import annotations

import itertools
import re

import polars as pl

from parsers.clocks.sample_stamps import DAY, STAMP, of_day, place, running, stamped
from parsers.columns import grid
from parsers.declarations import Claim, Counter, Format
from parsers.formats.sampling.mpstat import json_output as mpstat_json
from parsers.formats.sampling.mpstat.columns import (
    AVERAGE,
    LABEL,
    SOLARIS,
    TIME,
    adds_up,
    cells_of,
    places_of,
    table_of,
)
from parsers.formats.sampling.mpstat.lines import BANNER, STATE_CHANGE, TITLE, banners, mended, without_dots
from parsers.formats.sampling.shared import aix_configuration, whole_numbers
from parsers.formats.sampling.shared.aix_configuration import CONFIGURATION
from parsers.tables.rows import State, Tables
from parsers.tables.schema import schema
from parsers.text.source import Head, Source

_HEADING = r"(?:^|[ \t])((?:CPU|SET)[ \t]+(?:\.\.|minf\b)?.*\bicsw[ \t].*|(?:CPU|NODE)(?:[ \t]+(?:%[a-z]+|[^ \t]+/s|CORE|SOCK|NODE))+)$"
_AIX_HEADING = r"^[ \t]*(cpu[ \t]+(?:min[ \t]+maj|pc[ \t]+ilcs|cs[ \t]+ics|mpcs)\b.*)$"
_VALUES = r"(?:[ \t]-?[0-9][0-9.,]*){4}"
_ROW = rf"^[ \t]*(?:(?:{TIME}|{AVERAGE})[ \t]+)?{LABEL}(?:[ \t]+[0-9][0-9.]*){{9,}}$"
_OWN = rf"{_ROW}|{STAMP}|{BANNER}|{_AIX_HEADING}|\bsmtx[ \t]+srw\b|%iowait[ \t]+%irq|[ \t]CPU[ \t]+(?:intr/s|HI/s)"
_COUNTERS = (
    Counter(("sample", "sampled.0"), ("sample",)),
    Counter(("table", "last.1")),
    Counter(("nth.1",)),
    Counter(("segment", "nth.0", "placed.1", "last.3")),
    Counter(("day.1", "clock.0")),
)

FORMATS = tuple(
    Format(
        kind="mpstat",
        variant=variant,
        version="1",
        systems=systems,
        tables=("mpstat", "vmstat", "counters", "hosts", "logs"),
        man=man,
        example=example,
        split="none" if variant == "json" else "lines",
        clocks=("interval", "wall-local", "wall-utc"),
        own=own,
        counters=_COUNTERS,
    )
    for variant, systems, man, example, own in (
        ("solaris", ("solaris", "illumos"), "mpstat(1M)", "mpstat -T d 5 12", _OWN),
        ("linux", ("linux",), "mpstat(1)", "mpstat -P ALL 5 12", _OWN),
        ("aix", ("aix",), "mpstat", "mpstat 5 12", _OWN),
        ("json", ("linux",), "mpstat(1)", "mpstat -A -o JSON 5 12", mpstat_json.OWN),
    )
)


_NUMBERS = re.compile(r"[ \t]*[0-9]+(?:[ \t]+[0-9]+){15}$")


def claim(head: Head) -> Claim | None:
    """Claim by a header, because no other tool prints these words in this order; else by rows of 16 numbers with rising CPUs."""
    text = head.text
    of_linux = (
        r"(?:CPU|NODE)\b.*(?:%iowait[ \t]+%irq\b|%idle[ \t]+intr/s)|[ \t](?:CPU|NODE)[ \t]+(?:intr/s|[0-9]+/s|HI/s)"
    )
    for word, pattern, system in (
        ("smtx", r"(?m)(?:^|[ \t])(?:CPU|SET)\b.*\bicsw[ \t]+migr[ \t]+smtx\b", "solaris"),
        ("CPU" if "CPU" in text else "NODE", of_linux, "linux"),
        ("cpu ", rf"(?m){_AIX_HEADING}", "aix"),
    ):
        match = re.search(pattern, text) if word in text and head.shows(pattern) else None
        if match:
            number = text.count("\n", 0, match.start() + 1) + 1
            # Only mpstat of sysstat prints these full headers; sar prints tables of interrupts too.
            sure = 1.0 if "%iowait" in match[0] or re.search(r"[ \t](?:HI|LOC)/s", text) else 0.95
            return Claim(sure, f"column names of mpstat in line {number}", system)
    if mpstat_json.is_mpstat(text):
        return Claim(0.95, "statistics of mpstat as JSON", "json")
    if not any(_NUMBERS.match(x) for x in head.lines[:5]):
        return None
    rows = [x.split() for x in head.lines[:30] if _NUMBERS.match(x)]
    good = [r for r in rows if adds_up(SOLARIS.split(), r) and r[14] == "0"]
    filled = sum(1 for x in head.lines[:30] if x and not re.match(STAMP, x))
    rising = sum(1 for a, b in itertools.pairwise(good) if int(b[0]) > int(a[0]))
    if len(good) >= 3 and len(good) * 10 >= filled * 9 and rising * 2 >= len(good) - 1:
        return Claim(0.7, f"{len(good)} rows of 16 numbers with rising CPUs", "solaris")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state`: header, number of samples, label and time of the last row, last stamp, known clocks."""
    if state["variant"] == "json":
        return mpstat_json.parse(source, out, state)
    for frame in grid.frames(source):
        headings = frame.filter(pl.col("line").str.contains("CPU", literal=True))["line"]
        if "edited" not in state and len(headings):  # an author who left out columns may have left out samples too
            state["edited"] = ".." in headings[0]
        frame = without_dots(frame, out)
        if grid.is_small(source) and state["variant"] == "solaris":
            frame = mended(frame, out)
        lines = _located(frame.with_row_index("row"), source, out, state)
        found = []
        for heading, rows in grid.tables(lines):
            if heading is not None:
                found += _under(rows, heading, out, state)
            elif state["variant"] == "solaris":
                found += _without_heading(rows, out, state)
        _add(found, source, out, state)
        _rest(lines, found, out)
    return state


def _located(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add to each line the header, the run of the tool, the stamp and the banner it stands under."""
    line = pl.col("line")
    names = pl.coalesce(line.str.extract(_HEADING), line.str.extract(_AIX_HEADING))
    look = line.str.contains("CPU|SET|NODE|cpu")  # for few short words seven times faster than contains_any
    heading = grid.sparse(frame, look, pl.when(~line.str.contains(_VALUES)).then(names))
    lines = grid.under(stamped(frame), heading, state)
    lines, hosts = banners(lines, source.hints, out, state)
    partitions = aix_configuration.hosts(frame)
    out.add("hosts", pl.concat([hosts, partitions], how="diagonal").sort("line_no"))
    head_time = pl.when("is_heading").then(line.str.extract(rf"^[ \t]*({TIME})[ \t]").fill_null(""))
    is_stamp = pl.col("stamp").is_not_null()
    kind = pl.when(pl.col("stamp_kind") == "epoch").then(pl.lit("wall-utc")).when(is_stamp).then(pl.lit("wall-local"))
    starts = (pl.col("stamp_kind") == "zzz").fill_null(False) | pl.col("is_banner") | line.str.contains(CONFIGURATION)
    lines = lines.with_columns(
        segment=starts.cum_sum().cast(pl.Int64, strict=False) + state.get("segment", 0),
        is_stamp=is_stamp,
        head_time=head_time,
    )
    zone = pl.when("is_stamp").then(pl.col("zone").fill_null(""))
    held = lines.select("stamp", kind.alias("clock_kind"), zone.alias("zone"), "head_time")
    types = (pl.Float64(), pl.String(), pl.String(), pl.String())
    carried = zip(held.columns, state.get("stamp", [None] * 4), types, strict=True)
    held = held.select(pl.col(c).forward_fill().fill_null(pl.lit(v, t)) for c, v, t in carried)
    state["segment"], state["stamp"] = lines["segment"][-1], list(held.row(-1))
    return lines.drop("stamp", "zone", "stamp_kind", "head_time").with_columns(
        held.with_columns(pl.col("zone").replace("", None))
    )


def _under(rows: pl.DataFrame, heading: str, out: Tables, state: State) -> list[pl.DataFrame]:
    """Return the rows under one header as numbers under its column names, with the texts of label and time."""
    cells = cells_of(heading)
    names = list(cells)
    before = "" if state["variant"] != "linux" else rf"(?:(?:{TIME}|{AVERAGE})[ \t]+)?"
    plain, rows = whole_numbers.part(rows, names)
    plain = plain.with_columns(pl.col("line").str.extract(r"^[ \t]*([0-9]+)").alias(names[0]))
    whole = grid.cut(rows, cells, before=before)
    fit = whole.filter(pl.col(names[0]).is_not_null())
    if len(fit) < len(rows):
        left = whole.filter(pl.col(names[0]).is_null())
        topology = [n for n in ("CORE", "SOCK", "NODE") if n in names[1:]]
        if topology:
            # The row of all CPUs leaves the topology columns blank.
            short = grid.cut(left.drop(names), {n: p for n, p in cells.items() if n not in topology}, before=before)
            short = short.filter(pl.col(names[0]) == "all")
            fit = pl.concat([fit, short], how="diagonal_relaxed")
            left = left.filter(~pl.col("row").is_in(short["row"].implode()))
        damaged = left.filter(pl.col("line").str.contains(rf"^[ \t]*(?:(?:{TIME}|{AVERAGE})[ \t]+)?{LABEL}[ \t]+[0-9]"))
        out.account("damaged", damaged["line_no"])
        text = pl.concat_str(pl.lit(f"row has not the {len(names)} words of its header: "), "line")
        out.notes(damaged.select("line_no", pl.lit("damaged").alias("kind"), text.alias("text")))
    texts, fit = fit, grid.numbers(fit, names[1:], state)
    out.notes(grid.undecided(texts, fit, names[1:]))
    fit, notes = grid.implausible(fit, names[1:])
    if len(notes):
        out.notes(notes)
    fit = pl.concat([plain, fit], how="diagonal_relaxed") if len(fit) else plain
    prefix = pl.lit(None, pl.String)
    if state["variant"] == "linux":
        prefix = pl.col("line").str.extract(rf"^[ \t]*({TIME}|{AVERAGE})[ \t]+{LABEL}[ \t]")
    end = pl.col("line_end") if "line_end" in fit.columns else pl.col("line_no")
    fit = fit.with_columns(label=pl.col(names[0]), prefix=prefix, line_end=end)
    return [fit.drop("line", "is_heading", "is_banner", names[0], "stamp_kind", "interval", strict=False)]


def _without_heading(rows: pl.DataFrame, out: Tables, state: State) -> list[pl.DataFrame]:
    """Read rows of Solaris above the first header: 16 numbers whose shares of CPU add up to 100."""
    some = rows.filter(pl.col("line").str.contains(r"^[ \t]*[0-9]+(?:[ \t]+[0-9]+){15}$"))
    proved = pl.Series([adds_up(SOLARIS.split(), x.split()) for x in some["line"]], dtype=pl.Boolean)
    good = some.filter(proved)
    if good.is_empty():
        return []
    note = "no header above: columns of mpstat by their number, 16"
    out.notes(good.select("line_no", pl.lit("repaired").alias("kind"), pl.lit(note).alias("text")))
    return _under(good.with_columns(heading=pl.lit(None, pl.String)), SOLARIS, out, state)


def _add(found: list[pl.DataFrame], source: Source, out: Tables, state: State) -> None:
    """Number the samples, place them on their clock and write the rows of all tables."""
    found = [f for f in found if len(f)]
    if not found:
        return
    keys = ["row", "line_no", "line_end", "label", "prefix", "table", "heading", "segment", "head_time"]
    keys += ["stamp", "clock_kind", "zone", "day", "dated"]
    rows = pl.concat([f.select(keys) for f in found]).sort("row")
    average = pl.col("prefix").is_not_null() & ~pl.col("prefix").str.contains(rf"^{TIME}$")
    # Averages become samples only where a paste has no other rows before them.
    timed = rows.filter(~average)["row"]
    alone = average & (pl.col("row") < (timed[0] if len(timed) else 1 << 40))
    rows = rows.with_columns(alone=alone if grid.is_small(source) else pl.lit(False))
    averages_used = rows.filter("alone")["line_no"]
    if len(averages_used):
        out.note(averages_used[0], averages_used[-1], "remark", "averages without the samples they are made of")
        rows = rows.with_columns(prefix=pl.when(~pl.col("alone")).then("prefix"))
        average = average & ~pl.col("alone")
    averages = rows.filter(average)
    if len(averages):
        out.read(averages["line_no"])
        words = pl.lit("average of the whole run, no sample of its own: ") + pl.col("prefix")
        out.notes(averages.select("line_no", pl.lit("remark").alias("kind"), words.alias("text")))
        rows = rows.filter(~average)
    if rows.is_empty():
        return
    rows = _sampled(rows, source, out, state)
    clocked = rows.select("row", "sample", "first", "t_local", "interval_s")
    written: dict[str, list[pl.DataFrame]] = {}
    for frame in found:
        joined = frame.join(clocked, on="row", how="inner", maintain_order="left")
        for name, part in _tables(joined) if len(joined) else ():
            written.setdefault(name, []).append(part)
    for name, parts in written.items():
        full = [p for p in parts if len(p)]
        if full:
            out.add(name, pl.concat(full, how="diagonal_relaxed").sort("row", maintain_order=True).drop("row"))


def _sampled(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add to each row the number of its sample, and the sample's clock."""
    number = pl.when(pl.col("label").str.contains(r"^-?[0-9]+$")).then(pl.col("label").cast(pl.Int64, strict=False))
    rank = number.otherwise(pl.when(pl.col("label") == "all").then(-1).otherwise(1 << 40))
    rows = rows.with_columns(rank=rank)
    before = state.get("last", [None, None, None, None])
    columns = {"prefix": pl.String(), "table": pl.Int64(), "rank": pl.Int64(), "segment": pl.Int64()}
    first = pl.int_range(pl.len()) == 0
    was = {
        c: pl.when(first).then(pl.lit(v, t)).otherwise(pl.col(c).shift())
        for (c, t), v in zip(columns.items(), before, strict=True)
    }
    by_label = (
        (pl.col("table") != was["table"])
        | (pl.col("rank") < was["rank"])
        | ((pl.col("rank") == was["rank"]) & (pl.col("rank") < 1 << 40))
    )
    begins = (
        pl.when(pl.col("prefix").is_not_null()).then(pl.col("prefix").ne_missing(was["prefix"])).otherwise(by_label)
    )
    begins = (begins | (pl.col("segment") != was["segment"])).fill_null(True)
    rows = rows.with_columns(begins=begins)
    rows = rows.with_columns(sample=grid.counted(pl.col("begins"), state))
    state["last"] = list(rows.select(list(columns)).row(-1))
    grid.carry(rows, state)
    samples = rows.filter("begins")
    old = state.get("nth", [None, 0])
    going_on = pl.when(pl.col("segment") == pl.lit(old[0], pl.Int64)).then(old[1]).otherwise(0)
    samples = samples.with_columns(nth=pl.int_range(1, pl.len() + 1).over("segment") + going_on)
    if len(samples):
        state["nth"] = [samples["segment"][-1], samples["nth"][-1]]
    # Where sysstat's header has the same time as the row, the row is since boot; on AIX that depends on release and options.
    timed = pl.col("prefix").is_not_null() & (pl.col("head_time") != "")
    later = pl.when(pl.col("nth") > 1).then(False)
    untimed = (
        later.otherwise(pl.lit(None if state["variant"] == "aix" or state.get("edited") else True))
        if state["variant"] != "linux"
        else later.otherwise(None)
    )
    samples = samples.with_columns(
        first=pl.when(timed)
        .then(pl.col("head_time") == pl.col("prefix"))
        .when(pl.col("heading").is_null() | pl.col("alone"))
        .then(False)
        .otherwise(untimed)
    )
    samples = place(_clocks(samples, state), source, out, state)
    known = ["sample", "first", "t_local", "interval_s"]
    carried = state.get("sampled", [None] * 4)
    types = (pl.Int64(), pl.Boolean(), pl.Float64(), pl.Float64())
    every = pl.concat(
        [pl.DataFrame([carried], schema=dict(zip(known, types, strict=True)), orient="row"), samples.select(known)],
        how="vertical_relaxed",
    )
    state["sampled"] = list(every.row(-1))
    return rows.join(every.drop_nulls("sample"), on="sample", how="left", maintain_order="left")


def _clocks(samples: pl.DataFrame, state: State) -> pl.DataFrame:
    """Compute `t` and `since` from the times before rows and headers, or from a stamp above."""
    if samples["prefix"].null_count() == len(samples):
        return samples.with_columns(t=pl.col("stamp"))
    texts = {}
    for name in ("prefix", "head_time"):
        groups = pl.col(name).str.extract_groups(r"^([0-9]{1,2})[:时時]([0-9]{2})[:分]([0-9]{2})秒?(?: ([AaPp])[Mm])?$")
        parts = samples.select(groups.struct.rename_fields(["h", "m", "s", "ap"]).alias("g")).unnest("g")
        epoch = samples[name].str.extract(r"^([0-9]{10})$").cast(pl.Float64)
        texts[name] = (parts.select(of_day()).to_series(), epoch)
    clock, epoch = texts["prefix"]
    ran = running(clock, samples["dated"], state)
    day = samples["day"].fill_null(0.0) * DAY
    began = clock - texts["head_time"][0]
    began = began + (began < 0).cast(pl.Float64) * DAY
    if samples.filter(pl.Series(clock.is_not_null()) & pl.col("day").is_null()).height:
        state["no_date"] = True
    t = pl.DataFrame({"a": epoch, "b": ran + day}).select(pl.coalesce("a", "b")).to_series()
    since = pl.DataFrame({"a": texts["head_time"][1], "b": ran + day - began}).select(pl.coalesce("a", "b")).to_series()
    kind = pl.when(pl.Series(epoch.is_not_null())).then(pl.lit("wall-utc")).otherwise(pl.lit("wall-local"))
    kind = pl.when(pl.Series(t.is_not_null())).then(kind).otherwise(pl.col("clock_kind"))
    return samples.with_columns(t=t, since=since, clock_kind=kind)


def _tables(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Split the rows under one header by table: CPUs, the whole host, and columns that are in neither."""
    heading = rows["heading"][0] or SOLARIS
    table = table_of(heading)
    places, others = places_of(heading)
    keys = ["row", "line_no", "line_end", "sample", "first", "t_local", "interval_s"]
    number = pl.col("label").str.contains(r"^-?[0-9]+$")
    if table not in ("cpu", "set"):
        return [("counters", _long(rows, keys, list(cells_of(heading))[1:], table))]
    cpus = rows.filter(number)
    named = {"set_id" if table == "set" else "cpu": pl.col("label").cast(pl.Int64, strict=False)}
    if "set" in rows.columns and table == "cpu" and "set" in cells_of(heading):
        named["set_id"] = pl.col("set").cast(pl.Int64, strict=False)
    fields = {target: pl.col(n) for n, target in places.items()}
    parts = [("mpstat", cpus.select(*keys, **named, **fields))]
    host = rows.filter(pl.col("label").is_in(["all", "ALL"]))
    if len(host):
        of_host = {t: e for t, e in fields.items() if t in schema("vmstat")} | {
            t: pl.col(n) for n, p in places.items() for t in _HOST.get(p, ())
        }
        parts.append(("vmstat", host.select(*keys, **of_host)))
    left = rows.filter(~number & (pl.col("label") == "U"))
    if len(left):
        parts.append(("counters", _long(left, keys, list(places), "mpstat")))
    if others:
        parts.append(("counters", _long(rows, keys, others, "mpstat")))
    return parts


_HOST = {"csw": ("cs",), "minf": ("mf",), "rq": ("r",)}
"""Columns that have another name in `vmstat` than in `mpstat`."""


def _long(rows: pl.DataFrame, keys: list[str], names: list[str], group: str) -> pl.DataFrame:
    """Return one row of `counters` for each cell, in the order of the line."""
    long = (
        rows.select(*keys, "label", *names)
        .unpivot(names, index=[*keys, "label"], variable_name="name")
        .drop_nulls("value")
    )
    unit = (
        pl.when(pl.col("name").str.starts_with("%"))
        .then(pl.lit("%"))
        .when(pl.col("name").str.ends_with("/s"))
        .then(pl.lit("/s"))
    )
    mode = pl.when(pl.col("name").str.ends_with("/s")).then(pl.lit("rate")).otherwise(pl.lit("level"))
    return (
        long.sort("row", maintain_order=True)
        .rename({"label": "item"})
        .with_columns(grp=pl.lit(group), unit=unit, mode=mode)
    )


def _rest(lines: pl.DataFrame, found: list[pl.DataFrame], out: Tables) -> None:
    """Account for lines that are not rows: headers, stamps, banners, configuration, state changes."""
    line = pl.col("line")
    out.read(
        lines.filter(pl.col("is_heading") | pl.col("is_stamp") | pl.col("is_banner") | line.str.contains(TITLE))[
            "line_no"
        ]
    )
    changed = lines.filter(line.str.contains(STATE_CHANGE))
    if len(changed):
        out.add("logs", changed.select("line_no", line.str.strip_chars().alias("text"), pl.lit("tool").alias("source")))
