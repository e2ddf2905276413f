r"""Memory of a host: /proc/meminfo, free, buddyinfo (Linux), lsps (AIX), swap and ::memstat (Solaris), swapinfo (HP-UX), vmstat -m (FreeBSD).

Files and tools: /proc/meminfo and /proc/buddyinfo (proc(5)), free(1), lsps(1) -a -s, swap(1M) -s -l, `echo ::memstat | mdb -k`;
also as OSWatcher and ExaWatcher collect them, below `zzz ***` marks. Capture: `cat /proc/meminfo`, `free -k`.

Samples::

    HugePages_Total:    1024
    PageTables:       524288 kB
                  total        used        free      shared  buff/cache   available
    Mem:       32642820    29145832     2336788
    Node 0, zone   Normal   4381   1093    185
    total: 6291456k bytes allocated + 524288k reserved = 6815744k used, 1048576k available
    Kernel                     124251               485   12%
    TYPE      AVAIL    USED    FREE  USED   LIMIT RESERVE  PRI  NAME
    dev        4096      40    4056    1%       0       -    1  /dev/vg00/lvol2
    total      8192    8180      12   99%       -       0    -
           Type InUse MemUse HighUse Requests  Size(s)
        CAM path   120     5K       -   540021  32

Tables: meminfo (unit kb or pages; pct for the used share of lsps), with the names of /proc/meminfo where a figure of free means the
same; counters: grp buddyinfo (item node and zone, name order0 ...), grp swap (item = file or device, kb).
vmstat -m: grp malloc (item = type, names in_use, memory in kB, requests).
swapinfo: the row `total` as `swap used` and `swap available`, `reserve` as `swap reserved`, `memory` as `pseudo swap ...`.
Clock: none, or the wall clock of the marks.
Traps: free prints kB unless an option chooses another unit, and does not print the unit: with small numbers it stays unknown. swap -l
counts blocks of 512 bytes. ::memstat prints pages (8 kB on SPARC, 4 kB on x86) and beside them MB or rounded bytes, which tell how
large a page is: its figures are kB. With -v (11.4) it prints also the parts of a use, named `use/part`. free prints its
labels in the language of the session (`Speicher:`, `Échange:`). `buffers/cache` was a separate line up to procps 3.2 (`buffers` in
busybox). free -b is recognised by figures that are all multiples of 1024.
Known gaps: shares (%) of ::memstat are not stored; figures of free -h are rounded; a stamp that a loop prints before the
heading of free is not read.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import MARK, marked
from parsers.columns.small_texts import share
from parsers.declarations import Claim, Format
from parsers.formats.memory.meminfo.translated import HEAD, LABEL, LABELS, NAMES, headings
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

PROC = r"^[ \t]*([A-Z][A-Za-z0-9_]*(?:\([a-z_]+\))?):[ \t]+([0-9]{1,18})(?:[ \t]+([kK]B))?$"
STAMP = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}[ \t]*-?[ \t]*"
"""Stamp that a loop prints before the heading of free, without a line break."""

_SIZE = r"[0-9][0-9.,]*(?:[KMGTPE]i?|B)?"
FREE_HEAD = rf"^(?:{STAMP})?(?:[ \t]*total[ \t]+used[ \t]+free(?:[ \t]+(?:shared|buffers|cached|cache|buff/cache|available))*$|{HEAD})"
FREE = rf"^[ \t]*(?:(Mem|Swap|Total|Low|High|Comm|-/\+ [^ \t0-9:]+):((?:[ \t]+{_SIZE})+)|({LABEL})[:：]((?:[ \t]*{_SIZE})(?:[ \t]+{_SIZE}){{2,}}))$"
"""A row of free: groups 1 and 2 in English, 3 and 4 in other languages, where wide figures stand next to the colon."""

BUDDY = r"^[ \t]*Node ([0-9]{1,4}), zone[ \t]+([A-Za-z0-9]+)((?:[ \t]+[0-9]+)+)$"
LSPS_HEAD = r"^(?:Page Space +Physical Volume|Total Paging Space +Percent Used)"
LSPS = r"^[ \t]*(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+([0-9]{1,15})(MB|GB)[ \t]+([0-9]{1,3})[ \t]+(?:yes|no)\b.*$"
LSPS_SUM = r"^[ \t]*([0-9]{1,15})(MB|GB)[ \t]+([0-9]{1,3})%$"
SWAP_S = r"^[ \t]*total: ([0-9]{1,15})k bytes allocated \+ ([0-9]{1,15})k reserved = ([0-9]{1,15})k used, ([0-9]{1,15})k available"
SWAP_HEAD = r"^swapfile +dev +swaplo +[^ 0-9]+ +[^ 0-9]+"
"""Heading of swap -l; its last two words (`blocks free`) are in the language of the session."""

SWAP_L = r"^(\S+)[ \t]+([0-9]+,[0-9]+|-)[ \t]+([0-9]+)(K?)[ \t]+([0-9]{1,15})K?[ \t]+([0-9]{1,15})K?(?:[ \t].*)?$"
MEMSTAT_HEAD = r"^[ \t]*(?:Page Summary|Usage Type/Subtype) +Pages +"
MEMSTAT = (
    r"^[ \t]*([A-Za-z](?:[^ \t]|[ \t][A-Za-z(])*)[ \t]{2,}([0-9]{1,15})(?:[ \t]+([0-9.]+)([kKmMgGtT]?))?"
    r"(?:[ \t]+[0-9.]+%(/ *[0-9.]+%)?)?$"
)
SWAPINFO_HEAD = r"^TYPE[ \t]+AVAIL[ \t]+USED[ \t]+FREE[ \t]+USED"
SWAPINFO_UNIT = r"^[ \t]*([KM])b[ \t]+[KM]b[ \t]+[KM]b[ \t]+PCT[ \t]+START/"
SWAPINFO = (
    r"^(dev|localfs|network|fs|reserve|memory|total)[ \t]+([0-9]{1,15}|-)[ \t]+([0-9]{1,15}|-)[ \t]+(-?[0-9]{1,15})"
    r"(?:[ \t]+[0-9]+%(?:[ \t]+[^ \t]+[ \t]+[^ \t]+[ \t]+[^ \t]+(?:[ \t]+([^ \t]+))?)?)?[ \t]*$"
)
"""A row of swapinfo: type, available, used, free; of a device or file system also its name."""
_SWAPINFO_NAMES = {
    ("total", "used"): "swap used",
    ("total", "free"): "swap available",
    ("reserve", "used"): "swap reserved",
    ("memory", "avail"): "pseudo swap",
    ("memory", "used"): "pseudo swap used",
}
"""Names of swapinfo's figures of the whole host, by the row's type and the column."""

MALLOC_HEAD = (
    r"^[ \t]*Type[ \t]+(?:InUse[ \t]+MemUse[ \t]+(?:HighUse[ \t]+)?Requests|Use[ \t]+Memory[ \t]+Req)[ \t]+Size\(s\)"
)
MALLOC = (
    r"^[ \t]*([^ \t](?:[^\t]{0,40}[^ \t])?)[ \t]+([0-9]{1,15})[ \t]+([0-9]{1,15})(K?)[ \t]+(?:(?:-|[0-9]+K)[ \t]+)?"
    r"([0-9]{1,18})(?:[ \t]+[0-9]+(?:,[0-9]+)*)?[ \t]*$"
)
"""A row of vmstat -m: type (its name may have blanks), blocks in use, memory (with K, else bytes), requests."""

PAGE_FROM = 4096
"""Minimum number of pages in a row of ::memstat for computing the page size from its rounded size."""

_OWNS = {
    "proc": (PROC, "linux", "proc(5)", "cat /proc/meminfo"),
    "free": (rf"{FREE_HEAD}|{FREE}", "linux", "free(1)", "free -k"),
    "buddyinfo": (BUDDY, "linux", "proc(5)", "cat /proc/buddyinfo"),
    "lsps": (rf"{LSPS_HEAD}|{LSPS}|{LSPS_SUM}", "aix", "lsps(1)", "lsps -a"),
    "swap": (rf"{SWAP_S}|{SWAP_HEAD}|{SWAP_L}", "solaris", "swap(1M)", "swap -s; swap -l"),
    "swapinfo": (rf"{SWAPINFO_HEAD}|{SWAPINFO_UNIT}|{SWAPINFO}", "hpux", "swapinfo(1M)", "swapinfo -tam"),
    "malloc": (rf"{MALLOC_HEAD}|{MALLOC}", "freebsd", "vmstat(8)", "vmstat -m"),
    "memstat": (
        rf"{MEMSTAT_HEAD}|^-{{8,}} +-{{8,}} +-{{8,}}"
        r"|^(?:Kernel|ZFS|(?:User/)?Anon|Exec and libs|Page [Cc]ache|Free \(|Total|Physical|Defdump|Boot pages|Retired|OSM|Other)"
        r"\b.*[ \t]{2,}[0-9]+|^Free {2,}[0-9]+ +[0-9.]+[kmgt]? +[0-9.]+%$|^ *[A-Z][A-Za-z ]+ {2,}[0-9]+ .*[0-9]%/ *[0-9.]+%$",
        "solaris",
        "mdb(1)",
        "echo ::memstat | mdb -k",
    ),
}
FORMATS = tuple(
    Format(
        kind="meminfo",
        variant=variant,
        version="2" if variant in ("memstat", "proc") else "1",
        systems=(system,),
        tables=("counters",)
        if variant in ("buddyinfo", "malloc")
        else ("meminfo", "counters")
        if variant in ("swap", "swapinfo")
        else ("meminfo",),
        man=man,
        example=example,
        clocks=("none", "wall-local"),
        own=own,
    )
    for variant, (own, system, man, example) in _OWNS.items()
)

_PATTERNS = {name: re.compile(own) for name, (own, *_) in _OWNS.items()}
_WORDS = {
    "proc": (
        *("MemTotal:", "MemFree:", "MemAvailable:", "HugePages_Total:", "PageTables:", "SwapTotal:", "AnonPages:"),
        *("SUnreclaim:", "SReclaimable:", "KReclaimable:", "Committed_AS:"),
    ),
    "free": ("Mem:", "buffers/cache:", "buffers:", *(f"{said}{colon}" for said in LABELS["Mem"] for colon in ":：")),
    "buddyinfo": (", zone ",),
    "lsps": ("Paging Space", "Page Space"),
    "swap": ("k bytes allocated", "swapfile "),
    "swapinfo": ("AVAIL",),
    "malloc": ("InUse", "Size(s)"),
    "memstat": ("Page Summary", "Usage Type/Subtype"),
}
RULE = r"^[- ]*-{8,}[- ]*$"
# By row of free: its heading, and the name that /proc/meminfo has for the figure.
_FREE_NAMES = {
    "Mem": {"total": "MemTotal", "used": "MemUsed", "free": "MemFree", "shared": "Shmem", "buffers": "Buffers", "cached": "Cached", "cache": "Cached",
            "buff/cache": "BuffCache", "available": "MemAvailable"},
    "Swap": {"total": "SwapTotal", "used": "SwapUsed", "free": "SwapFree"},
    "Low": {"total": "LowTotal", "used": "LowUsed", "free": "LowFree"},
    "High": {"total": "HighTotal", "used": "HighUsed", "free": "HighFree"},
    "Comm": {"total": "CommitLimit", "used": "Committed_AS", "free": "CommitFree"},
    "Total": {"total": "Total", "used": "TotalUsed", "free": "TotalFree"},
}  # fmt: skip
_FREE_UNITS = {"b": 1 / 1024, "k": 1.0, "m": 1024.0, "g": 1024.0**2, "t": 1024.0**3, "p": 1024.0**4}
_DECIMAL_UNITS = {
    "b": 1 / 1024,
    "k": 1000 / 1024,
    "m": 1000**2 / 1024,
    "g": 1000**3 / 1024,
    "t": 1000**4 / 1024,
    "p": 1000**5 / 1024,
}
_SUFFIX = {"B": 1 / 1024, "K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4, "E": 1024.0**5}
PLAIN_KB = 1_000_000
"""Minimum total from which figures of free without a unit are read as kB: read as MB it would be a terabyte."""


_MARK = re.compile(MARK)


def claim(head: Head) -> Claim | None:
    """Claim by names and headers that only these tools and files have."""
    text = head.text[:16384]
    without_marks = None
    for variant, pattern in _PATTERNS.items():
        if not any(word in text for word in _WORDS[variant]):
            continue
        if not any(pattern.match(x) for x in head.lines[:60]):
            continue
        without_marks = without_marks or Head([x for x in head.lines if not _MARK.match(x)])
        count, fraction = share(without_marks, pattern)
        # A single row of free or lsps is too little without its header.
        if count >= (1 if variant in ("proc", "buddyinfo", "swap") else 2) and fraction >= 0.4:
            return Claim(min(0.95, 0.5 + 0.45 * fraction), f"{count} lines of {variant}", variant)
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the sample, the header of free and the mark above."""
    variant = state["variant"]
    for block in source.blocks():
        frame = marked(block.frame, out, state).filter(~pl.col("is_mark"))
        if variant == "proc":
            _proc(frame, out, state)
        elif variant == "free":
            _free(frame, source, out, state)
        elif variant == "buddyinfo":
            _buddy(frame, out, state)
        elif variant == "lsps":
            _lsps(frame, out, state)
        elif variant == "swap":
            _swap(frame, out, state)
        elif variant == "malloc":
            _malloc(frame, out, state)
        elif variant == "swapinfo":
            _swapinfo(frame, out, state)
        else:
            _memstat(frame, out, state)
    return state


def _sampled(rows: pl.DataFrame, begins: pl.Expr, state: State) -> pl.DataFrame:
    """Number the samples: each row for which `begins` is true starts one; rows before the first start belong to sample 1."""
    begun = pl.lit(state.get("sample", 0)) + begins.fill_null(False).cum_sum().cast(pl.Int64, strict=False)
    rows = rows.with_columns(sample=begun)
    if len(rows):
        state["sample"] = int(rows["sample"][-1])
    rows = rows.with_columns(pl.col("sample").clip(1))
    return rows


def _proc(frame: pl.DataFrame, out: Tables, state: State) -> None:
    groups = pl.col("line").str.extract_groups(PROC).struct.rename_fields(["name", "value", "kb"])
    rows = frame.with_columns(g=groups).unnest("g").filter(pl.col("name").is_not_null())
    if rows.is_empty():
        return
    # A complete file begins with MemTotal; in a cut one a sample begins where the first name repeats.
    first = state.setdefault("first", "MemTotal" if (rows["name"] == "MemTotal").any() else rows["name"][0])
    rows = _sampled(rows, pl.col("name") == first, state)
    unit = pl.when(pl.col("kb").is_not_null()).then(pl.lit("kb")).otherwise(pl.lit("pages"))
    out.add(
        "meminfo",
        rows.select("line_no", "t_local", "sample", "name", value=pl.col("value").cast(pl.Float64), unit=unit),
    )


def _free(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    line = pl.col("line")
    rows = frame.with_columns(is_head=line.str.contains(FREE_HEAD)).filter(pl.col("is_head") | line.str.contains(FREE))
    rows = _sampled(rows, pl.col("is_head"), state)
    out.read(rows["line_no"])
    option = _unit_of_options(source.hints.command or "")
    rows_found = []
    for line_no, t_local, text, is_head, sample in rows.select(
        "line_no", "t_local", "line", "is_head", "sample"
    ).iter_rows():
        if is_head:
            state["columns"] = headings(re.sub(f"^{STAMP}", "", text))
            continue
        match = re.match(FREE, text)
        columns = state.get("columns") or ["total", "used", "free"]
        if match is None or (match[1] or "").startswith("-"):
            continue
        row, figures = NAMES[match[1] or match[3]], match[2] or match[4]
        cells = figures.split()
        factor = option
        if factor is None and not re.search(r"[A-Z]", figures):
            factor = _assumed_unit(line_no, row, cells, out, state)
        for column, cell in zip(columns, cells, strict=False):
            name = _FREE_NAMES[row].get(column)
            value, known = _size(cell, factor)
            if name is not None and value is not None:
                rows_found.append((line_no, t_local, sample, name, value, "kb" if known else None))
    columns = {
        "line_no": pl.Int64,
        "t_local": pl.Float64,
        "sample": pl.Int64,
        "name": pl.String,
        "value": pl.Float64,
        "unit": pl.String,
    }
    out.add("meminfo", pl.DataFrame(rows_found, schema=columns, orient="row"))


def _unit_of_options(command: str) -> float | None:
    """Return the factor that converts free's figures to kB, by its options (-m, --mega, --si); None without one."""
    options = re.search(r"\bfree\b(.*)", command)
    if options is None:
        return None
    short = re.search(r" -[a-z0-9]*?([bkmg])[a-z0-9]*(?: |$)", options[1])
    long = re.search(r" --(?:(bytes)|([kmgtp])(?:ilo|ega|iga|era|eta)|([kmgtp])(?:i|e)bi)\b", options[1])
    if long:
        return 1 / 1024 if long[1] else _DECIMAL_UNITS[long[2]] if long[2] else _FREE_UNITS[long[3]]
    if short:
        return (_DECIMAL_UNITS if " --si" in options[1] else _FREE_UNITS)[short[1]]
    return None


def _assumed_unit(line_no: int, row: str, cells: list[str], out: Tables, state: State) -> float | None:
    """Return the factor that converts figures of free, printed without a unit, to kB; None if the unit is unknown.

    The first total decides the unit for the part (kB unless bytes or a larger unit are likely), and a note states it.
    """
    if "factor" not in state:
        sizes = [_size(cell, 1.0)[0] or 0.0 for cell in cells]
        # Memory is counted in pages, so all figures of free -b are multiples of 1024; those in kB hardly ever are.
        bytes_ = sizes[0] >= PLAIN_KB * 1024 and len(sizes) > 2 and not any(x % 1024 for x in sizes)
        state["factor"] = 1 / 1024 if bytes_ else 1.0 if row != "Mem" or sizes[0] >= PLAIN_KB else None
        words = (
            "unknown: so small a total may be kB, MB or GB (free -m, -g)"
            if state["factor"] is None
            else "bytes: all figures are whole kB (free -b)"
            if bytes_
            else "kB, free's own unit"
        )
        out.note(line_no, line_no, "remark", f"free does not print its unit: {words}")
    factor: float | None = state["factor"]
    return factor


def _size(text: str, factor: float | None) -> tuple[float | None, bool]:
    """Return a cell in kB and True, or the figure as printed and False if it has no suffix and `factor` is None."""
    match = re.fullmatch(r"([0-9]{1,18}(?:[.,][0-9]{1,6})?)([BKMGTPE]?)i?", text)
    if match is None:
        return None, False
    if not match[2] and re.search(r"[1-9][0-9]{0,2}(?:[.,][0-9]{3})+$", match[1]):
        # Without a suffix these tools print whole numbers: points and commas separate thousands.
        value = float(re.sub("[.,]", "", match[1]))
    else:
        value = float(match[1].replace(",", "."))
    if match[2]:
        return value * _SUFFIX[match[2]], True
    return (value, False) if factor is None else (value * factor, True)


def _buddy(frame: pl.DataFrame, out: Tables, state: State) -> None:
    groups = pl.col("line").str.extract_groups(BUDDY).struct.rename_fields(["node", "zone", "cells"])
    rows = frame.with_columns(g=groups).unnest("g").filter(pl.col("node").is_not_null())
    if rows.is_empty():
        return
    rows = rows.with_columns(item=pl.format("node {} {}", "node", "zone"))
    first = state.setdefault("first", rows["item"][0])
    rows = _sampled(rows, pl.col("item") == first, state)
    long = rows.with_columns(value=pl.col("cells").str.extract_all(r"[0-9]+")).explode("value")
    long = long.with_columns(name=pl.format("order{}", pl.int_range(pl.len()).over("line_no")))
    out.add(
        "counters",
        long.select(
            "line_no",
            "t_local",
            "sample",
            "item",
            "name",
            grp=pl.lit("buddyinfo"),
            mode=pl.lit("level"),
            value=pl.col("value").cast(pl.Float64, strict=False),
        ),
    )


def _lsps(frame: pl.DataFrame, out: Tables, state: State) -> None:
    line = pl.col("line")
    rows = _sampled(
        frame.filter(line.str.contains(rf"{LSPS_HEAD}|{LSPS}|{LSPS_SUM}")), line.str.contains(LSPS_HEAD), state
    )
    out.read(rows.filter(line.str.contains(LSPS_HEAD))["line_no"])
    unit = {"MB": 1024.0, "GB": 1048576.0}
    tables = []
    for pattern, name, size, percent in ((LSPS, "paging space {}", 4, 6), (LSPS_SUM, "paging space", 1, 3)):
        mine = rows.filter(line.str.contains(pattern))
        title = pl.format(name, line.str.extract(LSPS, 1)) if "{}" in name else pl.lit(name)
        kb = line.str.extract(pattern, size).cast(pl.Float64) * line.str.extract(pattern, size + 1).replace_strict(
            unit, return_dtype=pl.Float64
        )
        common = [pl.col("line_no"), pl.col("t_local"), pl.col("sample")]
        sizes = mine.select(*common, name=title, value=kb, unit=pl.lit("kb"))
        used = mine.select(
            *common,
            name=pl.format("{} used", title),
            value=line.str.extract(pattern, percent).cast(pl.Float64),
            unit=pl.lit("pct"),
        )
        tables += [sizes, used]
    out.add("meminfo", pl.concat(tables).sort("line_no", maintain_order=True))


def _swap(frame: pl.DataFrame, out: Tables, state: State) -> None:
    line = pl.col("line")
    out.read(frame.filter(line.str.contains(SWAP_HEAD))["line_no"])
    rows = frame.filter(line.str.contains(f"{SWAP_S}|{SWAP_HEAD}|{SWAP_L}"))
    if rows.is_empty():
        return
    # A sample begins with the output of -s or -l, whichever comes first in the file.
    first = state.setdefault("first", SWAP_S if re.match(SWAP_S, rows["line"][0]) else SWAP_HEAD)
    rows = _sampled(rows, line.str.contains(first), state)
    names = ["swap allocated", "swap reserved", "swap used", "swap available"]
    sums = rows.with_columns(line.str.extract_groups(SWAP_S).struct.rename_fields(names).alias("g")).unnest("g")
    sums = sums.filter(pl.col(names[0]).is_not_null())
    long = sums.unpivot(names, index=["line_no", "t_local", "sample"], variable_name="name")
    long = long.sort("line_no", maintain_order=True)
    out.add("meminfo", long.with_columns(value=pl.col("value").cast(pl.Float64), unit=pl.lit("kb")))
    parts = line.str.extract_groups(SWAP_L).struct.rename_fields(["item", "dev", "lo", "k", "size", "free"])
    files = rows.with_columns(g=parts).unnest("g").filter(pl.col("item").is_not_null())
    files = files.with_columns(factor=pl.when(pl.col("k") == "K").then(1.0).otherwise(0.5))
    long = files.unpivot(
        ["size", "free"], index=["line_no", "t_local", "sample", "item", "factor"], variable_name="name"
    )
    long = long.sort("line_no", maintain_order=True).with_columns(
        value=pl.col("value").cast(pl.Float64) * pl.col("factor")
    )
    out.add("counters", long.drop("factor").with_columns(grp=pl.lit("swap"), unit=pl.lit("kb"), mode=pl.lit("level")))


def _malloc(frame: pl.DataFrame, out: Tables, state: State) -> None:
    """Read the types of the kernel's malloc: blocks in use, memory in kB, requests since boot."""
    line = pl.col("line")
    head = line.str.contains(MALLOC_HEAD)
    rows = _sampled(frame.filter(head | line.str.contains(MALLOC)), head, state)
    out.read(rows.filter(line.str.contains(MALLOC_HEAD))["line_no"])
    names = ["item", "in_use", "memory", "k", "requests"]
    groups = line.str.extract_groups(MALLOC).struct.rename_fields(names)
    rows = rows.filter(~line.str.contains(MALLOC_HEAD)).with_columns(g=groups).unnest("g")
    rows = rows.with_columns(factor=pl.when(pl.col("k") == "K").then(1.0).otherwise(1 / 1024))
    long = rows.unpivot(
        ["in_use", "memory", "requests"], index=["line_no", "t_local", "sample", "item", "factor"], variable_name="name"
    )
    sized = pl.col("name") == "memory"
    long = long.sort("line_no", maintain_order=True).with_columns(
        value=pl.col("value").cast(pl.Float64) * pl.when(sized).then(pl.col("factor")).otherwise(1.0),
        unit=pl.when(sized).then(pl.lit("kb")),
        mode=pl.when(pl.col("name") == "requests").then(pl.lit("total")).otherwise(pl.lit("level")),
        grp=pl.lit("malloc"),
    )
    out.add("counters", long.drop("factor"))


def _swapinfo(frame: pl.DataFrame, out: Tables, state: State) -> None:
    """Read swapinfo of HP-UX: the whole host into meminfo, each device into counters; kB unless the heading has Mb."""
    line = pl.col("line")
    rows = frame.filter(line.str.contains(rf"{SWAPINFO_HEAD}|{SWAPINFO_UNIT}|{SWAPINFO}"))
    rows = _sampled(rows, line.str.contains(SWAPINFO_HEAD), state)
    out.read(rows.filter(~line.str.contains(SWAPINFO))["line_no"])
    unit = line.str.extract(SWAPINFO_UNIT).replace_strict({"K": 1.0, "M": 1024.0}, return_dtype=pl.Float64)
    rows = rows.with_columns(unit_kb=unit.forward_fill().fill_null(state.get("swapinfo_kb", 1.0)))
    if rows.is_empty():
        return
    state["swapinfo_kb"] = rows["unit_kb"][-1]
    names = ["type", "avail", "used", "free", "item"]
    rows = rows.with_columns(line.str.extract_groups(SWAPINFO).struct.rename_fields(names).alias("g")).unnest("g")
    rows = rows.filter(pl.col("type").is_not_null())
    long = rows.unpivot(
        ["avail", "used", "free"],
        index=["line_no", "t_local", "sample", "type", "item", "unit_kb"],
        variable_name="column",
    )
    value = pl.col("value").replace("-", None).cast(pl.Float64, strict=False) * pl.col("unit_kb")
    long = long.with_columns(value).drop_nulls("value").sort("line_no", maintain_order=True)
    host = [
        pl.when((pl.col("type") == row) & (pl.col("column") == column)).then(pl.lit(name))
        for (row, column), name in _SWAPINFO_NAMES.items()
    ]
    of_host = long.with_columns(name=pl.coalesce(host)).drop_nulls("name")
    out.add("meminfo", of_host.select("line_no", "t_local", "sample", "name", "value", unit=pl.lit("kb")))
    devices = long.filter(pl.col("type").is_in(["dev", "localfs", "fs", "network"]) & pl.col("item").is_not_null())
    out.add(
        "counters",
        devices.select(
            "line_no",
            "t_local",
            "sample",
            "item",
            "value",
            name=pl.col("column").replace("avail", "size"),
            grp=pl.lit("swap"),
            unit=pl.lit("kb"),
            mode=pl.lit("level"),
        ),
    )


def _memstat(frame: pl.DataFrame, out: Tables, state: State) -> None:
    """Read memory by use, in kB if the page size follows from this row or one above, else in pages.

    A row with two shares (`%Tot/%Subt`) is a part of the use above it and named `ZFS/ZFS Metadata`.
    """
    line = pl.col("line")
    head = line.str.contains(MEMSTAT_HEAD)
    rows = _sampled(frame, head, state)
    out.read(rows.filter(head | line.str.contains(RULE))["line_no"])
    fields = ["name", "value", "size", "suffix", "share"]
    groups = line.str.extract_groups(MEMSTAT).struct.rename_fields(fields)
    rows = rows.with_columns(groups.alias("g")).unnest("g")
    rows = rows.filter(pl.col("name").is_not_null() & ~head).with_columns(pl.col("value").cast(pl.Float64))
    page_kb = pl.coalesce(_page_kb().forward_fill(), pl.lit(state.get("page_kb"), pl.Float64))
    rows = rows.with_columns(page_kb=page_kb)
    part = pl.col("share").is_not_null()
    use = pl.when(~part).then(pl.col("name")).forward_fill()
    rows = rows.with_columns(use=pl.coalesce(use, pl.lit(state.get("use"), pl.String)))
    if len(rows):
        state["use"], state["page_kb"] = rows["use"][-1], rows["page_kb"][-1]
    out.add(
        "meminfo",
        rows.select(
            "line_no",
            "t_local",
            "sample",
            name=pl.when(part).then(pl.concat_str("use", "name", separator="/")).otherwise(pl.col("name")),
            value=pl.col("value") * pl.col("page_kb").fill_null(1.0),
            unit=pl.when(pl.col("page_kb").is_null()).then(pl.lit("pages")).otherwise(pl.lit("kb")),
        ),
    )


def _page_kb() -> pl.Expr:
    """Return the page size in kB: the power of two nearest to the printed size (MB if it has no suffix) per page.

    NULL for rows with few pages, because the size is rounded.
    """
    factor = pl.col("suffix").str.to_uppercase().replace_strict(_SUFFIX, default=None, return_dtype=pl.Float64)
    factor = pl.when(pl.col("suffix") != "").then(factor).otherwise(_SUFFIX["M"])
    ratio = pl.col("size").cast(pl.Float64, strict=False) * factor / pl.col("value")
    known = (pl.col("value") >= PAGE_FROM) & ratio.is_between(2.0, 1024.0)
    return pl.when(known).then(pl.lit(2.0) ** ratio.log(2).round())
