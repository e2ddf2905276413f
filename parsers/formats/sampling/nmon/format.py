r"""nmon of Linux and AIX: comma-separated records of a whole host.

Tools: nmon of Linux (10 to 16) and AIX (topas_nmon). Man page: nmon(1). Capture: `nmon -F FILE -s 10 -c 360 -t`.

Samples::

    AAA,host,the-gibson
    CPU_ALL,CPU Total the-gibson,User%,Sys%,Wait%,Idle%,Busy,CPUs
    ZZZZ,T0001,13:18:32,07-DEC-2012
    CPU_ALL,T0001,6.5,3.2,0.0,90.3,,6
    DISKBUSY,T0001,0.7,0.0,0.0
    TOP,0002131,T0002,12.50,10.00,2.50,23400,8120,44,9000,3100,12,0,firefox

Tables: vmstat (CPU_ALL, MEM, PROC, PAGE, LPAR of one snapshot are one row), mpstat (CPUnn), iostat (DISK* of one
snapshot are one row for each device), ps (TOP, UARG), counters (every other value; `grp` is the tag), hosts (AAA).
Clock: wall-local, the ZZZZ record of the snapshot: the end of its interval.
Traps: the interval is nominal, so times come from ZZZZ and `interval_s` from their differences; `sample` counts ZZZZ
records. A file that was sorted with sort(1) has ZZZZ after all data: read in one run the records are joined by snapshot, else (and without
any ZZZZ) times are start + interval x (snapshot - 1), with a note. Negative values, `-0.0` and `-nan` mean "not available". VM of
Linux counts per interval, its first snapshot since boot. CPU numbers are as printed, from 1.
Known gaps: the text of BBB sections is not parsed.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns import grid
from parsers.declarations import Claim, Format
from parsers.formats.sampling.nmon import clock as nmon_clock
from parsers.formats.sampling.nmon.columns import IOSTAT, MPSTAT, PS, VMSTAT, base_of, figure
from parsers.formats.sampling.shared.disk_names import part_of
from parsers.repair.rewrap import rejoin
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE

RECORD = r"^([A-Z][A-Z0-9_]{1,19}),"
SNAPSHOT = r"^[A-Z][A-Z0-9_]{1,19},(?:[0-9]{1,10},)?(T[0-9]{4,9})(?:,|$)"
VALUE = r"^[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"
BARE = ["", "User%", "Sys%", "Wait%", "Idle%"]
"""Column names of a CPU record without a title line: its first four values are the same in all versions, and add up to 100."""

TITLE_OF_VM = r"^(VM,)T[0-9]{4,9},(Paging and Virtual Memory,)"
"""The title of VM, in which some releases for Linux name the snapshot too."""

CPU = "CPU[0-9]{1,4}"
KEYS = ("line_no", "snap", "sample", "t_local", "interval_s")
_WHOLE = ("pid", "ppid", "nlwp")
_RESIDENT = ("ResText", "ResData")
"""Resident memory on AIX, which prints text and data separately: it is their sum."""

RowsByTable = dict[str, list[pl.DataFrame]]
"""Rows of a block, by table."""

FORMATS = tuple(
    Format(
        kind="nmon",
        variant=system,
        version="1",
        systems=(system,),
        tables=("vmstat", "mpstat", "iostat", "ps", "counters", "hosts"),
        man="nmon(1)",
        example="nmon -F FILE -s 10 -c 360 -t",
        clocks=("wall-local",),
        own=r"^(?:[A-Z][A-Z0-9_]{1,19},(?:[0-9]{1,10},)?T[0-9]{4,9}(?:,|$)|AAA,[a-z]|BBB[A-Z],[0-9]{3,})",
    )
    for system in ("linux", "aix")
)


def claim(head: Head) -> Claim | None:
    """Claim by AAA and ZZZZ records, else by records with snapshot names."""
    if ",T0" not in head.text and "AAA," not in head.text and "ZZZZ,T" not in head.text:
        return None
    stamps = re.findall(r"(?m)^ZZZZ,T[0-9]{4,9},", head.text)
    about = re.findall(r"(?m)^AAA,[A-Za-z]\w*,", head.text)
    rows = re.findall(r"(?m)^[A-Z][A-Z0-9_]{1,19},(?:[0-9]{1,10},)?T[0-9]{4,9},", head.text)
    filled = sum(1 for x in head.lines if x)
    aix = re.search(
        r"(?m)^AAA,(?:AIX|TL|LPARNumberName|VIOS),|^(?:LPAR|PAGE|MEMNEW|MEMUSE|PCPU\d+|SCPU\d+),", head.text
    )
    linux = re.search(r"(?m)^AAA,OS,Linux|^(?:VM,|CPUUTIL_ALL,|MEM,.*memtotal|BBBP,.*/proc/)", head.text)
    variant = "aix" if aix or not linux else "linux"
    if len(about) >= 3 or (about and rows):
        return Claim(0.97, f"{len(about)} AAA records of nmon", variant)
    if len(rows) * 2 >= filled and (stamps or len(rows) >= 3):
        return Claim(0.9 if stamps else 0.8, f"{len(rows)} records with snapshot names", variant)
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps titles, head, the last stamp and the lines of the snapshot that is not complete yet."""
    begin = "begun" not in state
    blocks = source.blocks()
    held = pl.DataFrame(state.pop("held", []), schema={"line_no": pl.Int64, "line": pl.String}, orient="row")
    for block in blocks:
        frame = rejoin(block.frame, source, out, RECORD).select("line_no", "line")
        frame = frame.with_columns(pl.col("line").str.replace(TITLE_OF_VM, "$1$2"))
        if begin and not frame.is_empty():
            begin, state["begun"] = False, True
            if _sorted(frame):
                state["sorted"] = True
                if source.whole:
                    frame = pl.concat([frame, *(b.frame for b in blocks)])
        _read(frame, held, out, state)
        held = _block(pl.concat([held, frame]), source, out, state)
    if source.last:
        _block(held, source, out, state, closing=True)
        held = held.clear()
    return state | {"held": [list(x) for x in held.rows()]}


def _read(frame: pl.DataFrame, held: pl.DataFrame, out: Tables, state: State) -> None:
    """Account records as read: head, listings, titles, stamps, and data whose title is known."""
    tag, snap = pl.col("line").str.extract(RECORD), pl.col("line").str.extract(SNAPSHOT)
    records = frame.with_columns(tag=tag, snap=snap).filter(pl.col("tag").is_not_null())
    titles = pl.concat([held, frame]).select(tag=tag, snap=snap).filter(pl.col("snap").is_null())["tag"].drop_nulls()
    titled = [*state.get("titles", {}), *titles.unique(), "ZZZZ"]
    known = pl.col("snap").is_null() | pl.col("tag").is_in(titled) | pl.col("tag").str.contains("^CPU(?:[0-9]+|_ALL)$")
    out.read(records.filter(known)["line_no"])


def _sorted(frame: pl.DataFrame) -> bool:
    """Decide whether data stand before the stamp of their snapshot, as after sort(1)."""
    snap = frame.filter(pl.col("line").str.contains(SNAPSHOT))["line"]
    return not snap.is_empty() and not snap[0].startswith("ZZZZ")


def _block(frame: pl.DataFrame, source: Source, out: Tables, state: State, closing: bool = False) -> pl.DataFrame:
    """Read lines and return those of the open snapshot, to be read again together with the rest of it."""
    lines = frame.with_columns(
        tag=pl.col("line").str.extract(RECORD),
        snap=pl.col("line").str.extract(SNAPSHOT),
    ).filter(pl.col("tag").is_not_null())
    together = closing or (source.whole and state.get("sorted"))
    held = lines.clear() if together else _open(lines)
    if not held.is_empty():
        lines = lines.join(held.select("line_no"), on="line_no", how="anti", maintain_order="left")
    begins = (pl.col("tag") == "AAA") & (pl.col("tag").shift() != "AAA").fill_null(True)
    for _, recording in lines.with_columns(recording=begins.cum_sum()).group_by("recording", maintain_order=True):
        _recording(recording.drop("recording"), source, out, state)
    return held.select("line_no", "line")


def _recording(lines: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    """Read the lines under one head."""
    about = lines.filter(pl.col("tag") == "AAA")
    nmon_clock.head(about["line_no"].to_list(), about["line"].to_list(), out, state)
    lines = lines.filter(~pl.col("tag").str.contains("^(?:AAA|BBB[A-Z])$"))
    stamped = nmon_clock.stamped(lines, source, out, state)
    titles: dict[str, list[str]] = state.setdefault("titles", {})
    _negative(stamped, out, state)
    by_table: RowsByTable = {name: [] for name in ("vmstat", "mpstat", "iostat", "ps", "counters", "hosts")}
    for (tag,), group in stamped.group_by("tag", maintain_order=True):
        for title, rows in _titled(str(tag), group, titles):
            if tag in ("TOP", "UARG"):
                _processes(str(tag), title, rows, by_table, out)
            elif tag != "ZZZZ" and title:
                _section(str(tag), title, _cells(title, rows, source, out), by_table, state)
            elif tag != "ZZZZ":
                text = pl.lit(f"no title line says what {tag} means")
                out.notes(rows.select("line_no", kind=pl.lit("unknown"), text=text))
    by_table["vmstat"] = _merged(by_table["vmstat"], ("sample", "snap"))
    by_table["iostat"] = _merged(by_table["iostat"], ("sample", "snap", "device"))
    for table, frames in by_table.items():
        if frames:
            rows = pl.concat(frames, how="diagonal").sort("line_no", maintain_order=True)
            out.add(table, rows.drop("snap", strict=False), span="ends")
    if not stamped.is_empty():
        # Records before the first stamp belong to the clock domain that it begins.
        clocked = stamped.with_columns(pl.col("restart").forward_fill().fill_null(strategy="backward").fill_null(0))
        for (restart,), mine in clocked.group_by("restart", maintain_order=True):
            times = mine["t_local"].drop_nulls().to_list()
            begin, end = (min(times), max(times)) if times else (None, None)
            lines_of = [(mine["line_no"].to_list()[0], mine["line_no"].to_list()[-1])]
            number = int(str(restart)) + 1
            out.domain(Domain(number, "wall-local", WALL_BASE, source.hints.tz, begin, end, lines_of, stamps="end"))


def _open(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines at the end that later ones may complete: those of the head, or of the last snapshot."""
    if lines.is_empty():
        return lines
    if lines["tag"][-1] == "AAA":
        behind = lines.filter(pl.col("tag") != "AAA")["line_no"]
        return lines if behind.is_empty() else lines.filter(pl.col("line_no") > behind[-1])
    named = lines.filter(pl.col("snap").is_not_null())
    if named.is_empty():
        return lines.clear()
    other = named.filter((pl.col("snap") != named["snap"][-1]) | (pl.col("tag") == "ZZZZ"))["line_no"]
    return lines if other.is_empty() else lines.filter(pl.col("line_no") > other[-1])


def _titled(tag: str, group: pl.DataFrame, titles: dict[str, list[str]]) -> list[tuple[list[str], pl.DataFrame]]:
    """Split a section's rows at its title lines; `titles` keeps the last title line (title text, columns)."""
    heads = group.filter(pl.col("snap").is_null())
    pieces = []
    begin = 0
    bounds = [(int(n), line) for n, line in heads.select("line_no", "line").iter_rows()]
    current = titles.get(tag)
    for line_no, line in [*bounds, (None, "")]:
        inside = pl.col("snap").is_not_null() & (pl.col("line_no") >= begin)
        rows = group.filter(inside if line_no is None else inside & (pl.col("line_no") < line_no))
        if not rows.is_empty():
            pieces.append((current or (BARE if re.fullmatch(CPU + "|CPU_ALL", tag) else []), rows))
        if line_no is not None:
            fields = [f.strip() for f in line.split(",")[1:]]
            # TOP has two title lines; the line with columns begins with +PID.
            current = titles[tag] = fields if tag not in ("TOP", "UARG") else [tag, *(f.lstrip("+") for f in fields)]
            begin = line_no
    return pieces


def _negative(stamped: pl.DataFrame, out: Tables, state: State) -> None:
    """Note once that negative values are stored as NULL."""
    odd = stamped.filter(pl.col("snap").is_not_null() & ~pl.col("tag").is_in(["TOP", "UARG"]))
    odd = odd.filter(pl.col("line").str.contains(",-(?:[0-9]|nan)"))
    if not odd.is_empty() and not state.get("said_negative"):
        state["said_negative"] = True
        line = int(odd["line_no"][0])
        out.note(line, line, "remark", "negative values, -0.0 and -nan mean not available: left empty")


def _cells(title: list[str], rows: pl.DataFrame, source: Source, out: Tables) -> pl.DataFrame:
    """Split records into cells: one row for each value, `at` is its column. Without a title the CPU shares must add up to 100."""
    size = len(title) - 1
    wide = rows.select(*KEYS, cells=pl.col("line").str.split(",").list.slice(2, size))
    if grid.at_end(source) and wide["cells"].list.len()[-1] < size - (not title[-1]):
        wide = _cut(wide, source, out)
    long = wide.with_columns(at=pl.int_ranges(0, pl.col("cells").list.len())).explode("cells", "at")
    text = pl.col("cells")
    value = pl.when(text.str.contains(VALUE)).then(text.cast(pl.Float64, strict=False))
    long = long.select(*KEYS, "at", value=value, first=pl.lit(False)).drop_nulls("value")
    if title[0]:
        return long
    proved = (pl.col("value").sum().over("line_no") - 100).abs() < 1
    words = ("no title line: columns User, Sys, Wait, Idle proved by their sum", "no title line, and no sum of 100")
    for kind, text_of, fits in (("repaired", words[0], proved), ("unknown", words[1], ~proved)):
        lines = long.filter(fits).select("line_no").unique(maintain_order=True)
        out.notes(lines.with_columns(kind=pl.lit(kind), text=pl.lit(text_of)))
    return long.filter(proved)


def _section(tag: str, title: list[str], long: pl.DataFrame, by_table: RowsByTable, state: State) -> None:
    """Put the cells of one section into the tables."""
    base, names = base_of(tag), title[1:]
    if re.fullmatch(CPU, tag):
        rows = _wide(long, dict(enumerate(map(MPSTAT.get, names))))
        by_table["mpstat"].append(rows.with_columns(cpu=pl.lit(int(tag[3:]))))
        return
    if base in IOSTAT:
        device = pl.DataFrame({"at": range(len(names)), "device": names}, schema={"at": pl.Int64, "device": pl.String})
        values = long.join(device, on="at", maintain_order="left").rename({"value": IOSTAT[base]}).drop("at")
        by_table["iostat"].append(values.with_columns(part_of=part_of(pl.col("device")), line_end=pl.col("line_no")))
        return
    if base in VMSTAT:
        columns = {i: VMSTAT[base].get(n, (None, 1)) for i, n in enumerate(names)}
        used = {i: c for i, (c, _) in columns.items()}
        factor = pl.col("at").replace_strict({i: f for i, (_, f) in columns.items()}, return_dtype=pl.Float64)
        rows = _wide(long.with_columns(value=pl.col("value") * factor), used)
        if base == "LPAR" and {"entitled", "PhysicalCPU"} <= set(names):
            rows = _entitled(long, rows, names, by_table, state)
        by_table["vmstat"].append(rows)
        long = long.filter(pl.col("at").is_in([i for i, c in used.items() if c is None]))
    if title[0]:
        by_table["counters"].append(_counters(base, title[0].rsplit(" ", 1)[0], names, long))


def _entitled(
    long: pl.DataFrame, rows: pl.DataFrame, names: list[str], by_table: RowsByTable, state: State
) -> pl.DataFrame:
    """Write entitlement and cap of a partition to `hosts`, once; return the cells with the share of it that was consumed."""
    wide = _wide(long, {names.index(n): n for n in ("entitled", "Capped") if n in names})
    if not state.get("said_lpar") and not wide.is_empty():
        state["said_lpar"] = True
        capped = (pl.col("Capped") == 1) if "Capped" in names else pl.lit(None, pl.Boolean)
        by_table["hosts"].append(wide.head(1).select("line_no", ent=pl.col("entitled"), capped=capped))
    ent = wide.select("line_no", "entitled")
    share = pl.when(pl.col("entitled") > 0).then(pl.col("pc") / pl.col("entitled") * 100)
    return rows.join(ent, on="line_no", how="left", maintain_order="left").with_columns(ec=share).drop("entitled")


def _counters(base: str, title: str, names: list[str], long: pl.DataFrame) -> pl.DataFrame:
    figures = [figure(base, title, n) for n in names]
    texts = {k: [getattr(f, k) for f in figures] for k in ("item", "name", "unit", "mode")}
    what = pl.DataFrame({"at": range(len(names)), **texts}, schema={"at": pl.Int64} | dict.fromkeys(texts, pl.String))
    long = long.join(what, on="at", maintain_order="left").drop("at").with_columns(grp=pl.lit(base))
    if base != "VM":
        return long
    flow = ~pl.col("name").str.starts_with("nr_")
    boot = flow & (pl.col("snap") == "T0001")
    return long.with_columns(
        first=boot,
        mode=pl.when(boot).then(pl.lit("total")).when(~flow).then(pl.col("mode")),
        delta=pl.when(flow & ~boot).then(pl.col("value")),
    )


def _cut(wide: pl.DataFrame, source: Source, out: Tables) -> pl.DataFrame:
    """Drop the last cell of the file's last record if the record has too few cells: the number may have been cut."""
    line = int(wide["line_no"][-1])
    if line != source.next_line - 1:
        return wide
    out.note(line, line, "damaged", "the last record is cut: its last value is left out")
    cells = pl.when(pl.col("line_no") == line).then(pl.col("cells").list.head(pl.col("cells").list.len() - 1))
    return wide.with_columns(cells=cells.otherwise(pl.col("cells")))


def _wide(long: pl.DataFrame, columns: dict[int, str | None]) -> pl.DataFrame:
    """Pivot the cells of each record into columns named as in a table."""
    value = pl.col("value")
    once = {c: i for i, c in reversed(columns.items()) if c}
    picked = [value.filter(pl.col("at") == i).first().alias(c) for c, i in once.items()]
    rows = long.group_by([*KEYS, "first"], maintain_order=True).agg(*picked)
    return rows.with_columns(line_end=pl.col("line_no"))


def _merged(frames: list[pl.DataFrame], by: tuple[str, ...]) -> list[pl.DataFrame]:
    """Merge the records of a snapshot into one row."""
    if not frames:
        return []
    rest = pl.exclude(*by, "line_no", "line_end").drop_nulls().first()
    rows = pl.concat(frames, how="diagonal").group_by(by, maintain_order=True)
    return [rows.agg(pl.col("line_no").min(), pl.col("line_end").max(), rest)]


def _processes(tag: str, title: list[str], rows: pl.DataFrame, by_table: RowsByTable, out: Tables) -> None:
    """Read TOP (pid before the snapshot) and UARG; the last column may contain commas."""
    names = [n for n in title[1:] if n not in ("Time",)] if len(title) > 3 else []
    if tag == "TOP" and names:
        names = ["PID", *names[1:]]
    if not names or "PID" not in names:
        out.account("unknown", rows["line_no"])
        return
    rest = r"^(?:TOP,([0-9]+),T[0-9]+,|UARG,T[0-9]+,)"
    pid = pl.col("line").str.extract(rest, 1).fill_null("")
    lead = pl.concat_str([pid, pl.col("line").str.replace(rest, "")], separator=",")
    cells = (lead.str.strip_prefix(",") if tag == "UARG" else lead).str.splitn(",", len(names))
    fields = [f"cell {i}" for i in range(len(names))]
    wide = rows.with_columns(cells.struct.rename_fields(fields).alias("cells")).unnest("cells")
    facts: dict[str, pl.Expr] = {}
    for field, name in zip(fields, names, strict=True):
        text, column = pl.col(field).str.strip_chars(), PS.get(name)
        if column in ("comm", "login", "args"):
            facts.setdefault(column, text.str.strip_chars(' "'))
        elif column:
            number = pl.when(text.str.contains(VALUE)).then(text.cast(pl.Float64, strict=False))
            facts.setdefault(column, number.cast(pl.Int64, strict=False) if column in _WHOLE else number)
    resident = [pl.col(fields[names.index(n)]).cast(pl.Float64, strict=False) for n in _RESIDENT if n in names]
    if "rss_kb" not in facts and len(resident) == len(_RESIDENT):
        facts["rss_kb"] = resident[0] + resident[1]
    rows = wide.select("line_no", "t_local", "sample", pl.lit(False).alias("first"), **facts)
    by_table["ps"].append(rows.filter(pl.col("pid").is_not_null()))
