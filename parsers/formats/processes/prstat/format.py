r"""prstat of Solaris, top of Linux, FreeBSD, macOS, Solaris and HP-UX, topas of AIX: the busiest processes.

Tools: prstat(1M) with -a -c -m -L -v -n -s -t -J -T -Z -H, top(1) of procps 2 to 4 (batch or a pasted screen, any fields
and units), FreeBSD, macOS, Solaris and HP-UX, topas (its full screen, and -P). Capture: `prstat -mLc 5 12`, `top -b -n 3 -w 512`.

Samples::

       PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP
      2023 root     4800K 3424K run     20    0   0:18:51  37% qq10/1
     74241 root     4.9 4.9 0.0 0.0 0.0 0.0  90 0.5 917  15 11K   0 dnx/29
    ZONEID    NPROC  SWAP   RSS MEMORY      TIME  CPU ZONE
    Total: 19 processes, 133 lwps, load averages: 0.25, 0.51, 0.38
    top - 11:24:50 up 2 min,  2 users,  load average: 0.23, 0.22, 0.09
    %Cpu(s):  5.9 us,  5.9 sy,  0.0 ni, 88.2 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st

Tables: ps; microstates (-m); counters (tables of -a -t -J -T -Z: grp prstat_user, prstat_project, prstat_task, prstat_zone, item = name;
topas: grp topas, iface, filesystem); vmstat (load1, and top's lines of CPU, memory and swap); meminfo (top of Linux: its figures of
memory by their names in /proc/meminfo; FreeBSD and illumos: `Mem Wired`, `ARC Total`, by line and word); mpstat (`%Cpu0`); iostat, hosts (topas).
Clock: top prints a time of day (wall-local; the date only on macOS, or where a mark or a prompt shows it), topas a date too; prstat has none.
Traps: each line of a head is a separate row of vmstat, with the same sample. `Total:` belongs to the report above it, so a
leading one is a report whose rows were cut off. SIZE and RSS carry K, M, G; top's cells without a suffix are KiB.
PROCESS/NLWP is split at the last slash; names may contain slashes and blanks. The counts of -m are those of one interval:
they become rates only where the interval is known. The first report of prstat -m covers the process's whole life: `first` is set
where the command stands above. The tool cuts long names of zones and users and ends them with `*`.
CPU of prstat and %CPU of BusyBox's top (which also prints %VSZ) are shares of all processors together: see cpu_all.
Known gaps: topas -D, -L and -C, PgSp and RES of its processes, top's bars (key t), prstat -H's table of groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from parsers.clocks.sample_stamps import unstamped
from parsers.clocks.snapshots import marked
from parsers.columns import grid
from parsers.declarations import Claim, Format
from parsers.formats.processes.prstat import cpu_head, topas
from parsers.formats.processes.shared.process_columns import (
    HEADING,
    SUM_CELLS,
    facts,
    heading_of,
    kilobytes,
    rows,
    seconds,
    secrets,
)
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source

MAC = r"^Processes: +[0-9]+ total, "
"""The beginning of each screen of macOS; a wide one has its time at the end, `top -l` a date and a time on the next line."""

FORMATS = tuple(
    Format(
        kind="prstat",
        variant=variant,
        version="4" if variant == "top" else "3",
        systems=systems,
        tables=("ps", "microstates", "vmstat", "meminfo", "mpstat", "iostat", "counters", "hosts"),
        man=man,
        example=example,
        clocks=("none", "wall-local"),
        own="(?:"
        + "|".join(
            (
                HEADING,
                r"^Total: [0-9]+ processes, ",
                r"^top - [0-9]",
                r"^last pid: *[0-9]+;",
                r"^%?Cpu(?:\(s\)|[0-9]+ *):",
                r"^CPU[0-9]* *states:",
                r"^[0-9]+ processes: [0-9]+ sleeping",
                MAC,
                r"^(?:Load Avg: [0-9]|CPU usage: [0-9]|SharedLibs: [0-9]|MemRegions: [0-9]|PhysMem: [0-9]|Networks: packets: )",
                topas.OWN,
            )
        )
        + ")",
    )
    for variant, systems, man, example in (
        ("prstat", ("solaris", "illumos"), "prstat(1M)", "prstat -mLc 5 12"),
        ("top", ("linux", "freebsd", "macos", "solaris", "hpux"), "top(1)", "top -b -n 3 -w 512"),
        ("topas", ("aix",), "topas", "topas -P"),
    )
)

_OF_PRSTAT = {"PROCESS/NLWP", "PROCESS/LWPID", "PROCESS/LWP"}
_OF_ALL = {*_OF_PRSTAT, "%VSZ"}
"""Words of headings under which the CPU share is one of all processors together: prstat, and top of BusyBox."""
_OF_TOP = {"TIME+", "VIRT", "RES", "WCPU", "%WCPU", "THR", "#TH", "%VSZ", "SHARE"}
GROUPS = {"USERNAME": "prstat_user", "ZONE": "prstat_zone", "PROJECT": "prstat_project"}
GROUP_HEADING = (
    r"^[ \t]*(?:(?:ZONEID|PROJID|TASKID)[ \t]+)?NPROC(?:[ \t]+USERNAME)?[ \t]+(?:SWAP|SIZE)[ \t]+RSS[ \t]+MEMORY[ \t]+TIME"
    r"[ \t]+CPU(?:[ \t]+(?:ZONE|PROJECT))?$"
)
TOTAL = r"^Total: ([0-9]+) processes, ([0-9]+) lwps, load averages: ([0-9.,]+), ([0-9.,]+), ([0-9.,]+)$"
BANNER = r"^(?:top -)? *([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))? ?([ap])?m? +up .*load average: ([0-9]+[.,][0-9]+)"
"""The first line of top; before procps 3.1 it is the line of uptime."""

LAST_PID = r"^last pid: *[0-9]+;.*load av(?:erages?|g):? *([0-9]+[.,][0-9]+)"
LOAD = r"^[Ll]oad (?:averages?|Avg): *([0-9]+[.,][0-9]+)"
AT_END = r"^(?:last pid: *[0-9]+;|Processes: +[0-9]+ total,|load averages: ).*[ \t]([0-9]{2}):([0-9]{2}):([0-9]{2})$"
DATED = r"^([0-9]{4})/([0-9]{2})/([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})$"
BARE = (
    r"^ *[0-9]{1,10} +[\w.+-]+ +(?:-?[0-9]{1,3}|rt) +-?[0-9]{1,2}(?: +[0-9.]+[kmgtp]?){3} +[A-Za-z]"
    r" +[0-9]{1,5}[.,][0-9] +[0-9]{1,3}[.,][0-9] +[0-9]+:[0-9]{2}[.,][0-9]{2} +\S"
)
BARE_HEADING = "PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND"
"""A row of top of Linux, which people paste without its heading, and the heading that it has unless somebody changed it."""

FIRST_LINE = r"^load averages: |^Mem: [0-9]+K used, [0-9]+K free, [0-9]+K shrd"
CPU = r"^(?:%?Cpu\(s\):|CPU(?: states)?:|(?:Load Avg: [0-9., ]+)?CPU usage:) "
STATES_LINE = r"^CPU states: +(?:cpu +user|[0-9.,]+% (?:user|usr|idle))"
MEMORY = r"^(KiB|MiB|GiB|TiB|[kKMGT])?i?B? ?(Mem|Swap)(?:ory)? ?: "
FIGURES = {
    ("Mem", "total"): "MemTotal",
    ("Mem", "used"): "MemUsed",
    ("Mem", "free"): "MemFree",
    ("Mem", "buff/cache"): "BuffCache",
    ("Mem", "buffers"): "Buffers",
    ("Swap", "total"): "SwapTotal",
    ("Swap", "used"): "SwapUsed",
    ("Swap", "free"): "SwapFree",
    ("Swap", "cached"): "Cached",
    ("Swap", "avail Mem"): "MemAvailable",
}
"""Names of /proc/meminfo by the line of top and the word behind the figure."""

BSD = r"^(Mem|ARC|Swap): +[0-9.]+[KMGT]? [A-Z]"
"""Lines of top of FreeBSD and illumos, whose words begin with a capital: `Mem: 414M Active, 942M Inact, 2G Wired, 3550M Free`."""
BSD_CELL = r"([0-9.]+)([KMGT]?) ([A-Z][A-Za-z]+)"
BSD_NAMES = (
    *(f"Mem {word}" for word in ("Active", "Inact", "Laundry", "Wired", "Cache", "Buf", "Free")),
    *(f"ARC {word}" for word in ("Total", "MFU", "MRU", "Anon", "Header", "Other")),
    *(f"Swap {word}" for word in ("Total", "Used", "Free")),
)
"""Figures of these lines by the line's word and their own; the names of `meminfo`."""

DETAIL = (
    r"^(?:Tasks: |Threads: |[0-9]+ (?:processes|threads)|Mem(?:ory)?: |Swap:|ARC: |DB (?:activity|I/O|disk): |Please wait"
    r"|%?Cpu[0-9]+ *:|CPU ?[0-9]+: |CPU[0-9]* *states: "
    r"|Kernel: |[ \t]+[0-9.]+[KMGTk]? (?:Compressed|actv|active|shrd|buff|cached)\b"
    r"|[ \t]+(?:total|cpu[0-9]+)(?:[ \t]+[0-9.,]+%){4,7}$)"
    rf"|{MAC}|^(?:SharedLibs|MemRegions|PhysMem|VM|Networks|Disks): [^ ]|{DATED}"
)
STATES = ("usr", "sys", "trp", "tfl", "dfl", "lck", "slp", "lat")
COUNTS = ("vcx", "icx", "scl", "sig")


def claim(head: Head) -> Claim | None:
    """Claim by a header of prstat or top, by `top - ` with its time, or by prstat's `Total:` with rows of it."""
    text = head.text
    if ("Topas Monitor" in text or "Cswitch" in text) and (screen := topas.signs(head.lines[:400])) >= 2:
        return Claim(0.95, f"{screen} lines of a screen of topas", "topas")
    if not any(word in text for word in ("PID", "top - ", "NPROC", "last pid: ", "CPU states: ", "Load Avg: ")):
        filled = [line for line in head.lines if line.strip()]
        bare = sum(1 for line in filled[:50] if re.match(BARE, line))
        return Claim(0.85, f"{bare} rows of top without their heading", "top") if bare * 2 > len(filled[:50]) else None
    for number, line in enumerate(head.lines, start=1):
        if line.startswith(("top - ", "last pid:")) and (re.match(BANNER, line) or re.match(LAST_PID, line)):
            return Claim(0.95, f"banner of top in line {number}", "top")
        if line.startswith("Processes: ") and re.match(MAC, line) and "Load Avg: " in text:
            return Claim(0.95, f"head of top as macOS prints it in line {number}", "top")
        if line.startswith("CPU states: ") and re.match(STATES_LINE, line):
            return Claim(0.9, f"states of processors as top prints them in line {number}", "top")
        if "NPROC" in line and re.match(GROUP_HEADING, line):
            return Claim(0.9, f"header of prstat's sums in line {number}", "prstat")
        if "PID" not in line or not re.match(HEADING, line):
            continue
        words = line.split()
        if not heading_of(words):
            continue
        if _OF_PRSTAT & set(words):
            return Claim(0.97, f"header of prstat in line {number}", "prstat")
        if _OF_TOP & set(words):
            return Claim(0.95, f"header of top in line {number}", "top")
        if {"DATA", "PgSp"} & set(words) or "CPU%" in words:
            return Claim(0.9, f"header of topas in line {number}", "topas")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the header, the sample, the last kind of mark and the clock."""
    interval = _interval(source)
    if interval:
        out.fact("interval_s", interval)
    for frame in grid.frames(source):
        if state["variant"] == "topas" and ("screen" in state or topas.looks(frame)):
            topas.read(frame, source.hints, out, state)
            continue
        for number, begin, end in secrets(frame):
            out.secret(number, begin, end, "password")
        frame = marked(frame, out, state)
        line = pl.col("line")
        heads = pl.when(line.str.contains(HEADING) | line.str.contains(GROUP_HEADING)).then(line)
        if "heading" not in state and frame.select(line.str.contains(BARE).any() & heads.is_null().all()).item():
            state["heading"] = BARE_HEADING
        lines = _sampled(grid.under(frame.filter(~pl.col("is_mark")), heads, state), state)
        headers = lines.filter("is_heading")
        out.read(headers["line_no"])
        out.read(lines.filter(line.str.contains(DETAIL))["line_no"])
        raw = dict(state.get("raw", {})) | {
            " ".join(x.split()): x for x in headers["line"].unique(maintain_order=True)[:50]
        }
        state["raw"] = {k: v for k, v in raw.items() if k == state.get("heading")}
        lines = _timed(lines, source, out, state)
        _host(lines, out, state)
        cpu_head.add_processors(lines, out)
        found, states, sums = [], [], []
        plain = pl.any_horizontal(line.str.contains(p) for p in (TOTAL, BANNER, LAST_PID, LOAD, CPU, MEMORY, DETAIL))
        for heading, group in grid.tables(lines.with_columns(is_heading=pl.col("is_heading") | plain)):
            if heading is None:
                continue
            if "NPROC" in heading:
                sums.append(_sums(group, heading))
                continue
            cells, placed = rows(group, heading, raw.get(heading))
            for number in placed:
                out.note(
                    number, number, "repaired", "cells are blank: words placed by their type and the header's positions"
                )
            if cells.is_empty():
                continue
            base = group.select("line_no", "sample", "t_local")
            process = _process(cells, "LWP" in heading.split()[-1].replace("NLWP", ""))
            if "cpu_pct" in process.columns and _OF_ALL & set(heading.split()):
                process = process.with_columns(cpu_all=pl.when(pl.col("cpu_pct").is_not_null()).then(pl.lit(True)))
            found.append(process.join(base, on="line_no"))
            if "usr" in cells.columns:
                states.append(_microstates(cells, process, interval).join(base, on="line_no"))
        first = bool(source.hints.command)
        if found:
            known = pl.concat(found, how="diagonal_relaxed").sort("line_no")
            out.add("ps", known)
        if states:
            _add_states(pl.concat(states, how="diagonal_relaxed").sort("line_no"), first, interval, out, state)
        if sums:
            out.add("counters", pl.concat(sums).sort("line_no", maintain_order=True))
    return state


def _sampled(lines: pl.DataFrame, state: State) -> pl.DataFrame:
    """Number the reports.

    A banner begins a report; so does a header of processes unless its banner did, and a header of sums after another table. `Total:` closes
    a report of prstat; where it stands first, it belongs to a report whose rows were cut off.
    """
    line = pl.col("line")
    shape = (
        pl.when(pl.any_horizontal(line.str.contains(p) for p in (BANNER, LAST_PID, FIRST_LINE, MAC)))
        .then(pl.lit("B"))
        .when(line.str.contains(TOTAL))
        .then(pl.lit("T"))
        .when(pl.col("is_heading") & line.str.contains("NPROC", literal=True))
        .then(pl.lit("A"))
        .when(pl.col("is_heading"))
        .then(pl.lit("H"))
    )
    lines = lines.with_columns(shape=shape)
    before = pl.col("shape").forward_fill().shift().fill_null(pl.lit(state.get("shape", "-")))
    new = (
        (pl.col("shape") == "B")
        | ((pl.col("shape") == "H") & (before != "B"))
        | ((pl.col("shape") == "A") & before.is_in(["T", "A", "-"]))
        | ((pl.col("shape") == "T") & (before == "-"))
    )
    lines = lines.with_columns(sample=grid.counted(new.fill_null(False), state))
    grid.carry(lines, state)
    marks = lines["shape"].drop_nulls()
    if len(marks):
        state["shape"] = marks[-1]
    return lines


def _timed(lines: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add to the lines under a `top - ` banner its time: the time of day alone, unless a mark above has more."""
    line = pl.col("line")
    clocks = [
        line.str.extract_groups(BANNER).struct.rename_fields(["h", "m", "s", "half", "load"]),
        line.str.extract_groups(AT_END).struct.rename_fields(["h", "m", "s"]),
        line.str.extract_groups(DATED).struct.rename_fields(["y", "mo", "d", "h", "m", "s"]),
    ]
    timed = lines.with_columns(clock.alias(f"clock {n}") for n, clock in enumerate(clocks))
    printed = {f: pl.coalesce(pl.col(f"clock {n}").struct.field(f) for n in range(len(clocks))) for f in "hms"}
    half = pl.col("clock 0").struct.field("half")
    dates = timed["clock 2"].struct.unnest().drop_nulls("y")
    timed = timed.with_columns(**printed, half=half).drop(f"clock {n}" for n in range(len(clocks)))
    if len(dates) and "date" not in state:
        state["date"] = "{y}-{mo}-{d}".format(**dates.row(0, named=True))
    here = timed["h"].is_not_null().any()
    if "t_mark" in state or not (here or "t_top" in state):
        clockless = "t_mark" not in state and state["variant"] == "prstat"
        return unstamped(timed, _interval(source), out) if clockless else timed
    hms = [pl.col(f).cast(pl.Float64) for f in "hms"]
    half = pl.col("half")
    hour = pl.when(half.is_null()).then(hms[0]).otherwise(hms[0] % 12 + pl.when(half == "p").then(12.0).otherwise(0.0))
    timed = timed.with_columns(at=hour * 3600 + hms[1] * 60 + hms[2].fill_null(0.0))
    before = pl.col("at").forward_fill().shift().fill_null(pl.lit(state.get("t_top")))
    fall = (pl.col("at") - before < -43200).fill_null(False).cum_sum() + state.get("days", 0)
    # Without a date nothing distinguishes the end of summer time from another start of the tool.
    back = ((pl.col("at") < before) & (pl.col("at") - before >= -43200)).fill_null(False)
    text = pl.lit("the clock goes back: it was set, or the tool was started anew; a clock of its own")
    out.notes(timed.filter(back).select("line_no", kind=pl.lit("remark"), text=text))
    timed = timed.with_columns(
        restart=back.cum_sum().cast(pl.Int64, strict=False) + state.get("restarts", 0),
        t_local=pl.when(pl.col("at").is_not_null()).then(pl.col("at") + 86400.0 * fall),
        day=fall,
        at=pl.col("at").forward_fill().fill_null(pl.lit(state.get("t_top"))),
    )
    timed = timed.with_columns(pl.col("t_local").forward_fill().fill_null(pl.lit(state.get("t_last"), pl.Float64)))
    known = timed.filter(pl.col("t_local").is_not_null())
    state |= {
        "t_top": timed["at"][-1],
        "days": timed["day"][-1],
        "t_last": timed["t_local"][-1],
        "restarts": timed["restart"][-1],
    }
    date = state.get("date") or source.hints.date
    base = f"{date}T00:00:00" if date else None
    for (restart,), mine in known.group_by("restart", maintain_order=True):
        ends = float(mine["t_local"][0]), float(mine["t_local"][-1])
        spans = [(int(mine["line_no"][0]), int(mine["line_no"][-1]))]
        out.domain(Domain(int(str(restart)) + 1, "wall-local", base, source.hints.tz, *ends, spans, stamps="end"))
    return timed.drop("at", "day", "restart")


def _host(lines: pl.DataFrame, out: Tables, state: State) -> None:
    """Write one row of vmstat for each line about the whole host: load, CPU, memory, swap."""
    line = pl.col("line")
    loads = pl.coalesce(
        line.str.extract(TOTAL, 3),
        line.str.extract(BANNER, 5),
        line.str.extract(LAST_PID, 1),
        line.str.extract(LOAD, 1),
    )
    loaded = lines.with_columns(load1=loads.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False))
    total = line.str.contains(cpu_head.TABLE_ROW) & line.str.contains("total", literal=True)
    physical = line.str.contains("PhysMem: ", literal=True)
    host = loaded.filter(
        pl.any_horizontal(
            pl.col("load1").is_not_null(),
            line.str.contains(CPU),
            line.str.contains(MEMORY),
            line.str.contains(BSD),
            total,
            physical,
        )
    )
    if host.is_empty():
        return
    cells = cpu_head.shares_of(line.str.contains(CPU))
    cells |= {name: pl.coalesce(cells[name], share) for name, share in cpu_head.table_shares().items()}
    what, unit = line.str.extract(MEMORY, 2), line.str.extract(MEMORY, 1).str.slice(0, 1)

    def amount(words: str) -> pl.Expr:
        """Read `1144832 free`, `7630208k free`, `12G Free`: by the number's suffix, else by the unit at the start of the line."""
        pattern = rf"([0-9]+(?:[.,][0-9]+)?)([kKMGT]?)(?:\+| )? ?{words}"
        number = line.str.extract(pattern, 1).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        suffix = pl.coalesce(line.str.extract(pattern, 2).replace("", None), unit).str.to_lowercase()
        return number * suffix.replace_strict({"k": 1.0, "m": 1024.0, "g": 1024.0**2, "t": 1024.0**3}, default=None)

    cells |= {
        "free_kb": pl.when(what == "Mem")
        .then(amount("[Ff]ree(?:[, ]|$)"))
        .otherwise(pl.when(physical).then(amount(r"(?:unused|free)\."))),
        "swap_free_kb": pl.coalesce(
            pl.when(what == "Swap").then(amount("[Ff]ree(?:[., ]|$)")), pl.when(what == "Mem").then(amount("free swap"))
        ),
        "swap_used_kb": pl.when(what == "Swap").then(amount("[Uu]sed(?:[.,]|$)")),
    }
    _memory(host.with_columns(what=what), amount, out)
    host = host.with_columns(**cells)
    measured = ["load1", *cells]
    out.add(
        "vmstat",
        host.filter(pl.any_horizontal(pl.col(measured).is_not_null())).select(
            "line_no", "sample", "t_local", *measured
        ),
    )


def _memory(host: pl.DataFrame, amount: Callable[[str], pl.Expr], out: Tables) -> None:
    """Write the figures of a head that prints the memory's total, as top of Linux does, by their names in /proc/meminfo."""
    of_bsd = _bsd_memory(host)
    memory = host.filter(pl.col("what") == "Mem")
    whole = host.filter(pl.col("what").is_not_null() & amount("total,").is_not_null())
    foreign = memory.filter(
        pl.col("line").str.contains(r"^[KMGT]iB Mem ?: ") & ~pl.col("line").str.contains("total", literal=True)
    )
    for line_no in foreign["line_no"].head(1):
        out.note(line_no, line_no, "remark", "the figures of memory have names in another language and are not read")
    if whole.is_empty():
        if not of_bsd.is_empty():
            out.add("meminfo", of_bsd)
        return
    figures = [amount(f"{word}(?:[., ]|$)").alias(word) for word in {w for _, w in FIGURES}]
    rows = whole.with_columns(figures).select(
        "line_no",
        "sample",
        "t_local",
        *(pl.when(pl.col("what") == on).then(pl.col(word)).alias(name) for (on, word), name in FIGURES.items()),
    )
    long = rows.unpivot(list(FIGURES.values()), index=["line_no", "sample", "t_local"], variable_name="name")
    long = long.drop_nulls("value").with_columns(unit=pl.lit("kb"))
    out.add("meminfo", pl.concat([long, of_bsd], how="diagonal_relaxed").sort("line_no", maintain_order=True))


def _bsd_memory(host: pl.DataFrame) -> pl.DataFrame:
    """Return the figures of memory, ARC and swap of FreeBSD's and illumos' top in kB, in the order in which they are printed."""
    line = pl.col("line")
    lines = host.filter(line.str.contains(BSD)).with_columns(
        of=line.str.extract(BSD), cell=line.str.extract_all(BSD_CELL)
    )
    groups = pl.col("cell").str.extract_groups(BSD_CELL)
    scale = groups.struct.field("2").replace_strict(
        {"": 1 / 1024, "K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3}, default=None, return_dtype=pl.Float64
    )
    return (
        lines.explode("cell")
        .select(
            "line_no",
            "sample",
            "t_local",
            name=pl.concat_str("of", groups.struct.field("3"), separator=" "),
            value=groups.struct.field("1").cast(pl.Float64, strict=False) * scale,
            unit=pl.lit("kb"),
        )
        .filter(pl.col("name").is_in(BSD_NAMES) & pl.col("value").is_not_null())
    )


def _process(cells: pl.DataFrame, by_thread: bool) -> pl.DataFrame:
    """Return the columns of `ps`; the last word after the slash is the number of threads, or the thread itself."""
    process = facts(cells)
    if "process" in cells.columns and "lwp" not in process.columns:  # illumos has a column LWPID: `204 PROGRAM/method`
        last = cells.select("line_no", tail=pl.col("process").str.extract(r"/([0-9]+)$").cast(pl.Int64, strict=False))
        process = process.join(last, on="line_no").rename({"tail": "lwp" if by_thread else "nlwp"})
    return process


def _microstates(cells: pl.DataFrame, process: pl.DataFrame, interval: float | None) -> pl.DataFrame:
    """Return the microstate shares as printed, and counts of the interval as rates where its length is known, else NULL."""
    numbers = cells.select(
        "line_no",
        *(
            pl.col(c).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
            for c in STATES
            if c in cells.columns
        ),
        *(
            ((_count(pl.col(c)) / interval) if interval else pl.lit(None, pl.Float64)).alias(c)
            for c in COUNTS
            if c in cells.columns
        ),
    )
    ids = [c for c in ("line_no", "pid", "lwp", "comm") if c in process.columns]
    return numbers.join(process.select(ids), on="line_no")


def _count(text: pl.Expr) -> pl.Expr:
    """Convert `917` or `11K`: the tool counts thousands, not 1024."""
    number = text.str.extract(r"^([0-9]+(?:[.,][0-9]+)?)").str.replace(",", ".", literal=True).cast(pl.Float64)
    return number * text.str.extract(r"([KMG]?)$").replace_strict({"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}, default=None)


def _add_states(found: pl.DataFrame, first: bool, interval: float | None, out: Tables, state: State) -> None:
    if first:
        found = found.with_columns(first=pl.col("sample") == 1)
    if not interval and not state.get("said"):
        number = int(found["line_no"][0])
        out.note(
            number,
            number,
            "remark",
            "VCX ICX SCL SIG count one interval, whose length is not known: name it, and they become rates",
        )
        state["said"] = True
    out.add("microstates", found)


def _interval(source: Source) -> float | None:
    """Return the interval that a person entered, else the first number after the command."""
    if source.hints.interval_s:
        return source.hints.interval_s
    words = (source.hints.command or "").split()
    numbers: list[str] = []
    while words and words[-1].isdecimal() and len(numbers) < 2:
        numbers.insert(0, words.pop())
    # `-n 10 5`: the first number belongs to the option.
    if words and words[-1] in ("-n", "-p", "-P", "-u", "-z", "-j", "-d"):
        numbers = numbers[1:]
    return float(numbers[0]) if numbers and any("prstat" in w for w in words) else None


def _sums(group: pl.DataFrame, heading: str) -> pl.DataFrame:
    """Return the tables of -a -t -J -T -Z as counters: one for each cell, item = user, zone or project."""
    words = heading.split()
    rows = grid.cut(group, {w: SUM_CELLS[w] for w in words}).filter(pl.col(words[0]).is_not_null())
    owner = next(w for w in ("USERNAME", "ZONE", "PROJECT") if w in words)
    grp = "prstat_task" if "TASKID" in words else GROUPS[owner]
    values = {
        "processes": (pl.col("NPROC").cast(pl.Float64), "processes"),
        "swap": (kilobytes(pl.col("SWAP" if "SWAP" in words else "SIZE")), "kB"),
        "rss": (kilobytes(pl.col("RSS")), "kB"),
        "memory_pct": (_percent(pl.col("MEMORY")), "%"),
        "cpu_time": (seconds(pl.col("TIME")), "s"),
        "cpu_pct": (_percent(pl.col("CPU")), "%"),
    }
    parts = [
        rows.select(
            "line_no",
            "sample",
            "t_local",
            grp=pl.lit(grp),
            item=pl.col(owner),
            name=pl.lit(name),
            value=value,
            unit=pl.lit(unit),
            mode=pl.lit("level"),
        )
        for name, (value, unit) in values.items()
    ]
    return pl.concat(parts)


def _percent(text: pl.Expr) -> pl.Expr:
    return text.str.replace("%", "", literal=True).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
