r"""vmstat of Solaris, Linux, AIX, HP-UX and the BSDs: one row for each sample of the whole host.

Tools: Solaris and illumos vmstat(1M), plain, -S, -p, -T u, -T d, -q; Linux procps 2 to 4 vmstat(8), plain, -a, -t, -w, -n,
-S, -d, -s; AIX vmstat, plain, -t, -w, -I, -I -W, -v, -s, -@ (WPAR), shared and dedicated LPARs; HP-UX vmstat, plain, -S;
FreeBSD, NetBSD, OpenBSD vmstat(8); files of ExaWatcher and OSWatcher. Capture: `vmstat 5 12`.

Samples::

     kthr      memory            page            disk          faults      cpu
     r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 --   in   sy   cs us sy id
     5 3 0 2876068 2470716 77 324 0 0  0  0 89 21  0  1  0  580 2862  904  3  5 92
     2  0      0 2794716 295968 312724    0    0     1     3   29   57  0  0 99  0  0 2021-09-16 20:33:13
     2  0 393884 91900   0   0   0   0    0   0 104 4201 515 40  9 51  0  0.16  81.2

Tables: vmstat; iostat (disk columns of Solaris and BSD: io_ps; Linux -d); counters (columns that no other table has,
with their unit, -s, -v, -d, WPARs); hosts (AIX configuration line); logs (state changes of Solaris). Clock: interval;
wall-local with -t, -T d, OSWatcher and ExaWatcher; wall-utc with -T u. A stamp is the end of its sample.
Traps: the header names the columns; `sy` before `us` is system calls, after it CPU. free is kB (Solaris), KiB or the unit of -S
(Linux, known only from the command at the prompt), pages of 4 kB (AIX, HP-UX). BSD pages are of unknown size: they are counters. The
first row below a header at the start is since boot; on AIX that depends on release and options, so `first` is NULL.
Solaris has no wa and Linux no system calls: NULL. Unused disk slots (`--`) become devices named by their place. Impossible values
(`-268`, 19 digits) are NULL with a note. Known gaps: HP-UX -n and -d, Solaris 11.4 -w, Linux -p and -m, AIX -l's
physical volumes, macOS vm_stat; Tru64 is recognised and refused.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from parsers.clocks.sample_stamps import DAY, STAMP, STARTING, day_number, of_day, place, running, stamped
from parsers.columns import grid
from parsers.declarations import Claim, Counter, Format
from parsers.formats.sampling.shared import aix_configuration, whole_numbers
from parsers.formats.sampling.shared.aix_configuration import CONFIGURATION
from parsers.formats.sampling.vmstat import totals as vmstat_totals
from parsers.formats.sampling.vmstat.columns import (
    BY_COUNT,
    CLOCK,
    DIFFERENT,
    TWO_SYSTEMS,
    VOCABULARY,
    Columns,
    adds_up,
    columns_of,
    heading_length,
)
from parsers.formats.sampling.vmstat.lines import (
    GROUP,
    GROUP_REST,
    ROW,
    STATE_CHANGE,
    TRU64,
    mended,
    misfits,
    refuse,
    sizes,
)
from parsers.tables.rows import State, Tables
from parsers.tables.schema import schema
from parsers.text.source import Head, Source

_OWN = rf"{ROW}|{GROUP}|{STAMP}|{CONFIGURATION}|[ \t]us[ \t]+sy[ \t]+(?:wa[ \t]+)?id(?:[ \t]|$)|^# (?:Starting Time|Collection)"
_COUNTERS = (
    Counter(("sample",), ("sample",)),
    Counter(("table",)),
    Counter(("nth.1",)),
    Counter(("segment", "nth.0", "placed.1")),
    Counter(("day.1", "clock.0")),
)

FORMATS = tuple(
    Format(
        kind="vmstat",
        variant=variant,
        version="1",
        systems=systems,
        tables=("vmstat", "mpstat", "iostat", "counters", "hosts", "logs"),
        man=man,
        example=example,
        split="lines",
        clocks=("interval", "wall-local", "wall-utc"),
        own=_OWN,
        counters=_COUNTERS,
    )
    for variant, systems, man, example in (
        ("solaris", ("solaris", "illumos"), "vmstat(1M)", "vmstat -T d 5 12"),
        ("linux", ("linux",), "vmstat(8)", "vmstat -t 5 12"),
        ("aix", ("aix",), "vmstat", "vmstat -t 5 12"),
        ("hpux", ("hpux",), "vmstat(1)", "vmstat 5 12"),
        ("bsd", ("freebsd", "netbsd", "openbsd"), "vmstat(8)", "vmstat 5"),
        ("exawatcher", ("linux",), "vmstat(8)", "ExaWatcher VmstatExaWatcher"),
        ("tru64", ("tru64",), "vmstat(1)", "refused"),
    )
)

US_SY_ID = r"(?:^|[ \t])us[ \t]+sy[ \t]+(?:wa[ \t]+)?id(?:[ \t]|$)"
SOLARIS_P = r"[ \t]epi[ \t]+epo[ \t]"
VALUES = r"(?:[ \t]-?[0-9][0-9.,]*){4}"
LEAD = r"^[ \t]*(?:--time--[ \t]+)?(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[ T])?(?:[0-9:]{5,8}[ \t]+)?"
_LEAD_TIME = rf"^[ \t]*(?:([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})[ T])?({CLOCK})[ \t]"
_TAIL_TIME = rf"[ \t]+([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})[ \tT]+({CLOCK})(?:[ \t]+([A-Z]{{1,5}}|[+-][0-9]{{2,4}}))?$"
REMARK = r"[ \t]+((?:<+[-=]*|[-=]+>|#|//|\(|\*|;)[ \t]*[A-Za-z].*)$"


_SHARES = r"us[ \t]+sy[ \t]+(?:wa[ \t]+)?id\b"
_LINE = re.compile(r".*")
_NUMBERS = re.compile(r"[ \t]*[0-9]+(?:[ \t]+-?[0-9][0-9.,]*){15,21}$")


def claim(head: Head) -> Claim | None:
    """Claim by a line of column names, else by lists of -s and -d, else by rows of a known width whose shares add up to 100."""
    text = head.text
    if "Virtual Memory Statistics" in text and re.search(rf"(?m){TRU64}", text):
        return Claim(0.95, "the title of Tru64 vmstat", "tru64")
    for found in re.finditer(_SHARES if "epo" not in text else rf"(?:{_SHARES}|epi[ \t]+epo)\b", text):
        begin = text.rfind("\n", 0, found.start()) + 1
        match = _LINE.match(text, begin)
        assert match is not None
        words = re.sub(LEAD, "", match[0][:2000]).split()
        if words[0] in VOCABULARY - {"r", "swpd"}:
            # A mail program wrapped the line of titles.
            above = text[text.rfind("\n", 0, max(begin - 1, 0)) + 1 : begin]
            words = [*above[:2000].split(), *words]
        if "epi" not in words:
            # A flattened paste may have other titles and text before its header.
            words = next((words[i:] for i in range(len(words)) if heading_length(words[i:])), words)
        length = heading_length(words) if "epi" not in words else len(words)
        if length >= 5 and {"r", "free", "fre", "swpd", "in", "cs"} & set(words):
            system = columns_of(" ".join(words[:length]), "solaris" if "w" in words else "linux").system
            if "VmstatExaWatcher" in text or "--time--" in text:
                system = "exawatcher"
            return Claim(0.95, f"column names of vmstat in line {text.count(chr(10), 0, match.start()) + 1}", system)
    if "disk-" in text and re.search(rf"(?m){vmstat_totals.DISK_GROUP}", text):
        return Claim(0.95, "titles of vmstat -d", "linux")
    listed = vmstat_totals.listed(text)
    if listed:
        return Claim(0.9, f"{listed[1]} lines of vmstat -s", listed[0])
    return _by_rows(head)


def _by_rows(head: Head) -> Claim | None:
    if not any(_NUMBERS.match(x) for x in head.lines[:5]):
        return None
    rows = [x.split() for x in head.lines[:30] if _NUMBERS.match(x)]
    for (system, count), heading in BY_COUNT.items():
        wide = [r for r in rows if len(r) == count]
        good = [r for r in wide if adds_up(heading.split(), r)]
        filled = sum(1 for x in head.lines[:30] if x and not re.match(rf"{STAMP}|{GROUP}", x))
        if len(good) >= 2 and len(good) * 10 >= filled * 9:
            return Claim(0.6, f"{len(good)} rows of {count} numbers as vmstat of {system} prints them", system)
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state`: header, number of samples, place in the run of the tool, last stamp, known clocks."""
    if state["variant"] == "tru64":
        return refuse(source, out, state)
    unit_kb = _unit(source.hints.command)
    for frame in grid.frames(source):
        if grid.is_small(source):
            frame = mended(frame, out)
        lines = _located(frame.with_row_index("row"), source, state)
        found, listed, disks = [], [], []
        for heading, rows in grid.tables(lines):
            if heading is None:
                found += _headless(rows, source, out, state)
            elif re.match(vmstat_totals.DISK_HEADING, heading):
                zone = heading.split()[-1]
                disks.append(rows.with_columns(zone=pl.lit(zone if zone != "sec" else None, pl.String)))
            else:
                found.append(_under(rows, columns_of(heading, _system(state), unit_kb), heading, out, state))
        tables = vmstat_totals.disks(pl.concat(disks).sort("row"), out, state) if disks else {}
        if found:
            listed = _samples(pl.concat(found, how="diagonal_relaxed").sort("row"), source, out, state)
        for name, frames in (("iostat", listed[:1]), ("counters", listed[1:])):
            tables[name] = [*tables.get(name, []), *frames]
        tables["counters"] += _rest(lines, found, tables, out, state)
        for name, frames in tables.items():
            full = [f for f in frames if len(f)]
            if full:
                out.add(name, pl.concat(full, how="diagonal_relaxed").sort("row", maintain_order=True).drop("row"))
    return state


def _system(state: State) -> str:
    return "linux" if state["variant"] == "exawatcher" else str(state["variant"])


def _unit(command: str | None) -> float:
    """Return the unit of memory that Linux -S uses, in kB, from the command at the prompt."""
    match = re.search(r"vmstat\b.*\s-\w*S ?([kKmM])\b", command or "")
    return {"k": 1000 / 1024, "K": 1.0, "m": 1e6 / 1024, "M": 1024.0}[match[1]] if match else 1.0


def _located(frame: pl.DataFrame, source: Source, state: State) -> pl.DataFrame:
    """Add to each line the header, the run of the tool and the stamp it stands under."""
    line = pl.col("line")
    named = (line.str.contains(US_SY_ID) | line.str.contains(SOLARIS_P)) & ~line.str.contains(VALUES)
    names = pl.when(named).then(line.str.replace(LEAD, "")).otherwise(line.str.extract(vmstat_totals.DISK_HEADING))
    heading = grid.sparse(frame, line.str.contains_any(["us", "epi", "merged"]), names)
    lines = grid.under(stamped(frame), heading, state)
    starts = (pl.col("stamp_kind") == "zzz").fill_null(False) | line.str.contains(CONFIGURATION)
    lines = lines.with_columns(
        segment=starts.cum_sum().cast(pl.Int64, strict=False) + state.get("segment", 0),
        is_stamp=pl.col("stamp").is_not_null(),
    )
    kind = (
        pl.when(pl.col("stamp_kind") == "epoch")
        .then(pl.lit("wall-utc"))
        .when(pl.col("is_stamp"))
        .then(pl.lit("wall-local"))
    )
    carried = state.get("stamp", [None, None, None])
    types = (pl.Float64(), pl.String(), pl.String())
    held = lines.select(
        "stamp", kind.alias("clock_kind"), pl.when(pl.col("is_stamp")).then(pl.col("zone").fill_null("")).alias("zone")
    )
    held = held.select(
        pl.col(c).forward_fill().fill_null(pl.lit(v, t)) for c, v, t in zip(held.columns, carried, types, strict=True)
    )
    state["segment"], state["stamp"] = lines["segment"][-1], list(held.row(-1))
    year, month, day = (line.str.extract(STARTING, place).cast(pl.Int64, strict=False) for place in (3, 1, 2))
    days = grid.sparse(lines, line.str.starts_with("# Starting"), day_number(year, month, day))
    known_day = state.get("day", [None, 0])
    if known_day[0] is None and source.hints.date:
        known_day = [float(pl.Series([source.hints.date]).str.to_date().cast(pl.Int32, strict=False)[0]), 0]
    lines = lines.with_columns(days.alias("day"))
    lines = lines.with_columns(
        dated=pl.col("day").is_not_null().cum_sum().cast(pl.Int64, strict=False) + known_day[1],
        day=pl.col("day").forward_fill().fill_null(pl.lit(known_day[0], pl.Float64)),
    )
    state["day"] = [lines["day"][-1], lines["dated"][-1]]
    return lines.drop("stamp", "zone", "stamp_kind").with_columns(held.with_columns(pl.col("zone").replace("", None)))


def _under(rows: pl.DataFrame, columns: Columns, heading: str | None, out: Tables, state: State) -> pl.DataFrame:
    """Return the rows under one header as numbers: columns of `vmstat`, `other N` for counters, `disk N`, and clocks."""
    rows = _timed(rows, columns)
    names = list(columns.cells)
    plain, rows = whole_numbers.part(rows, names) if "hr:mi:se" not in names else (None, rows)
    whole = grid.cut(rows, columns.cells)
    fit = whole.filter(pl.col(names[0]).is_not_null())
    left = whole.filter(pl.col(names[0]).is_null()) if len(fit) < len(rows) else whole.clear()
    left = left.filter(pl.col("line").str.contains("[0-9]"))
    if len(left):
        spoken = left.filter(pl.col("line").str.contains(REMARK)).drop(names)
        spoken = spoken.with_columns(
            remark=pl.col("line").str.extract(REMARK), line=pl.col("line").str.replace(REMARK, "")
        )
        spoken = grid.cut(spoken, columns.cells).filter(pl.col(names[0]).is_not_null())
        if len(spoken):
            out.notes(spoken.select("line_no", pl.lit("remark").alias("kind"), pl.col("remark").alias("text")))
            fit = pl.concat([fit, spoken.drop("remark")])
        left = left.filter(~pl.col("row").is_in(spoken["row"].implode()))
        fit = pl.concat([fit, misfits(left, columns, out)], how="diagonal_relaxed")
    if "hr:mi:se" in names:
        fit = fit.with_columns(clock=pl.col("hr:mi:se"))
    if columns.system == "bsd":
        fit = sizes(fit, names)
    fit = grid.numbers(fit, [n for n in names if n != "hr:mi:se"], state)
    fit, notes = grid.implausible(fit, [n for n in names if n != "hr:mi:se"])
    if len(notes):
        out.notes(notes)
    if plain is not None:
        fit = pl.concat([plain, fit], how="diagonal_relaxed") if len(fit) else plain
    places = {
        target: pl.col(n) * factor if factor != 1 else pl.col(n) for n, (target, factor) in columns.places.items()
    }
    for share in ("usr", "sys", "idle") if columns.each else ():
        places[share] = pl.mean_horizontal(n for n, _, what in columns.each if what == share)
    places |= {f"cpu {number}\t{what}": pl.col(n) for n, number, what in columns.each}
    at = {n: f"{i:03}" for i, n in enumerate(names)}
    others = {f"other {at[n]}\t{word}\t{unit or ''}": pl.col(n) for n, (word, unit) in columns.others.items()}
    # NaN means "printed, but no such value", so the device keeps its row; NULL means a disk of another header.
    disks = {f"disk {at[n]}\t{device}": pl.col(n).fill_null(float("nan")) for n, device in columns.disks.items()}
    end = pl.col("line_end") if "line_end" in fit.columns else pl.col("line_no")
    boot = None if columns.system == "aix" else heading is not None and state["variant"] != "exawatcher"
    extra = [c for c in ("wpar",) if c in fit.columns]
    keys = ["row", "line_no", "segment", "stamp", "clock_kind", "zone", "date", "clock", "day", "dated"]
    return fit.select(*keys, end.alias("line_end"), pl.lit(boot).alias("boot"), *extra, **places, **others, **disks)


def _timed(rows: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Move times from the lines to `date` and `clock` (texts): `-t` prints them at the end, ExaWatcher and wrappers in front."""
    none = {n: pl.lit(None, pl.String) for n in ("date", "clock")}
    colon = rows["line"].str.contains(":", literal=True)
    if not colon.any():
        return rows.with_columns(**none)
    parts = [rows.filter(~colon).with_columns(**none)]
    timed = rows.filter(colon)
    at_end = timed["line"].str.contains(_TAIL_TIME)
    for pattern, fields, some in (
        (_TAIL_TIME, ["date", "clock", "printed"], timed.filter(at_end)),
        (_LEAD_TIME, ["date", "clock"], timed.filter(~at_end)),
    ):
        groups = pl.col("line").str.extract_groups(pattern).struct.rename_fields(fields)
        some = some.with_columns(groups.alias("g"), line=pl.col("line").str.replace(pattern, "")).unnest("g")
        zone = pl.col("printed") if "printed" in fields else pl.lit(None, pl.String)
        printed = pl.when(pl.col("clock").is_not_null()).then(pl.coalesce(zone, pl.lit(columns.zone, pl.String)))
        parts.append(some.with_columns(zone=pl.coalesce(printed, "zone")).select([*rows.columns, "date", "clock"]))
    return pl.concat(parts).sort("row")


def _clocks(rows: pl.DataFrame, state: State) -> pl.DataFrame:
    """Compute `t` from date, clock and stamp; a clock without a date counts from the known day, else from its midnight."""
    if rows["clock"].null_count() == len(rows):
        return rows.with_columns(t=pl.col("stamp"))
    parts = pl.col("clock").str.extract_groups(r"^([0-9]+):([0-9]+):([0-9]+)$").struct.rename_fields(["h", "m", "s"])
    timed = rows.with_columns(parts.alias("g"), ap=pl.lit(None, pl.String)).unnest("g").with_columns(at=of_day())
    alone = pl.when(pl.col("date").is_null()).then(pl.col("at"))
    timed = timed.with_columns(since=running(timed.select(alone).to_series(), timed["dated"], state))
    day = pl.col("date").str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32, strict=False).cast(pl.Float64) * DAY
    since = pl.col("since") + pl.col("day").fill_null(0.0) * DAY
    t = timed.select(t=pl.coalesce(day + pl.col("at"), since, "stamp"))["t"]
    if timed.filter(pl.col("since").is_not_null() & pl.col("day").is_null()).height:
        state["no_date"] = True
    wall = pl.when(pl.col("clock").is_not_null()).then(pl.lit("wall-local")).otherwise(pl.col("clock_kind"))
    return rows.with_columns(t=t, clock_kind=wall)


def _headless(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> list[pl.DataFrame]:
    """Read rows above the first header by the number of their words, where their shares of CPU add up to 100."""
    rows = rows.filter(pl.col("line").str.contains(ROW))
    found = []
    counted = rows.with_columns(count=pl.col("line").str.count_matches(grid.WORD))
    for (count,), group in counted.group_by("count", maintain_order=True):
        heading = BY_COUNT.get((_system(state), count if isinstance(count, int) else 0))
        if heading is None:
            continue
        names = heading.split()
        proved = pl.Series([adds_up(names, x.split()) for x in group["line"]], dtype=pl.Boolean)
        good = group.filter(proved).drop("count")
        if good.is_empty():
            continue
        read = _under(good, columns_of(heading, _system(state)), None, out, state)
        disks = [c for c in read.columns if c.startswith("disk ")]
        notes = [("repaired", f"no header above: columns of vmstat by their number, {count}")]
        if (_system(state), count) == TWO_SYSTEMS and source.hints.os is None:
            notes.append(
                ("damaged", "FreeBSD with two disks prints as many: only what both print at one place is read")
            )
            read = read.drop(*disks, *(c for c in DIFFERENT if c in read.columns))
        elif disks:
            notes.append(("damaged", "no header names the disks: they are numbered by their place"))
        out.notes(pl.concat([good.select("line_no", kind=pl.lit(k), text=pl.lit(text)) for k, text in notes]))
        found.append(read)
    return found


def _samples(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> list[pl.DataFrame]:
    """Number the samples, place them on their clock, write them; return the rows for `iostat` and `counters`."""
    partitions = pl.DataFrame()
    if "wpar" in rows.columns:
        host = pl.col("wpar").is_null() | (pl.col("wpar") == "System")
        partitions = vmstat_totals.partitions(rows.filter(~host))
        rows = rows.filter(host).drop("wpar")
    if rows.is_empty():
        return [pl.DataFrame(), pl.DataFrame(), partitions]
    last_segment, last_nth = state.get("nth", [None, 0])
    going_on = pl.when(pl.col("segment") == pl.lit(last_segment, pl.Int64)).then(last_nth).otherwise(0)
    rows = rows.with_columns(
        sample=pl.int_range(1, pl.len() + 1) + state.get("sample", 0),
        nth=pl.int_range(1, pl.len() + 1).over("segment") + going_on,
    )
    rows = rows.with_columns(first=pl.when(pl.col("nth") > 1).then(False).otherwise(pl.col("boot")))
    state["sample"], state["nth"] = rows["sample"][-1], [rows["segment"][-1], rows["nth"][-1]]
    rows = place(_clocks(rows, state), source, out, state)
    keys = ["row", "line_no", "line_end", "sample", "first", "t_local", "interval_s"]
    columns = [c for c in rows.columns if c in keys[1:] or c in schema("vmstat")]
    out.add("vmstat", rows.select(columns))
    for_each = sorted({int(c.split("\t")[0][4:]) for c in rows.columns if c.startswith("cpu ")})
    shares = ("usr", "sys", "idle")
    cpus = [rows.select(*keys, cpu=pl.lit(n), **{s: pl.col(f"cpu {n}\t{s}") for s in shares}) for n in for_each]
    if cpus:
        out.add("mpstat", pl.concat(cpus).drop_nulls("usr").sort("row", "cpu").drop("row"))
    disks = [c for c in rows.columns if c.startswith("disk ")]
    others = [c for c in rows.columns if c.startswith("other ")]
    long = rows.select(*keys, *disks).unpivot(disks, index=keys, variable_name="device", value_name="io_ps")
    long = long.sort("row", "device").drop_nulls("io_ps").with_columns(pl.col("device").str.split("\t").list.last())
    return [long if disks else pl.DataFrame(), _long(rows, others, keys) if others else pl.DataFrame(), partitions]


def _long(rows: pl.DataFrame, others: list[str], keys: list[str]) -> pl.DataFrame:
    """Return the columns that `vmstat` does not have as rows of `counters`, in the order of the lines."""
    long = rows.select(*keys, *others).unpivot(others, index=keys, variable_name="name")
    parts = pl.col("name").str.split("\t")
    long = long.sort("row", "name")
    long = long.with_columns(name=parts.list.get(1), unit=parts.list.get(2).replace("", None), grp=pl.lit("vmstat"))
    return long.drop_nulls("value").with_columns(mode=pl.lit("rate"))


def _rest(
    lines: pl.DataFrame, found: list[pl.DataFrame], tables: dict[str, list[pl.DataFrame]], out: Tables, state: State
) -> list[pl.DataFrame]:
    """Account for lines that are not rows (headers, titles, stamps, configuration, state changes); return the lists of -s."""
    line = pl.col("line")
    rest = np.ones(len(lines), bool)
    for frame in [*found, *tables.get("iostat", [])]:
        if len(frame):
            rest[frame["row"].to_numpy()] = False
    left = lines.filter(pl.Series(rest))
    named = pl.col("is_heading") | pl.col("is_stamp")
    out.read(left.filter(named | line.str.contains(GROUP) | line.str.contains(GROUP_REST))["line_no"])
    if "line_end" in left.columns:
        broken = left.filter(pl.col("is_heading") & (pl.col("line_end") > pl.col("line_no")))
        for first, last in broken.select("line_no", "line_end").iter_rows():
            out.read(range(first, last + 1))
    left = left.filter(~named & (line != ""))
    out.add("hosts", aix_configuration.hosts(left))
    changed = left.filter(line.str.contains(STATE_CHANGE))
    if len(changed):
        text = pl.col("line").str.strip_chars()
        out.add("logs", changed.select("line_no", text.alias("text"), pl.lit("tool").alias("source")))
    started = left.filter(line.str.contains(STARTING))
    if len(started):
        remark = "the date is read as month/day/year, as ExaWatcher prints it"
        out.notes(started.select("line_no", pl.lit("remark").alias("kind"), pl.lit(remark).alias("text")))
    return vmstat_totals.totals(left.filter(vmstat_totals.is_total(line)), _system(state), state)
