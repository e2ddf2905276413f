r"""Kernel memory caches: slabtop and /proc/slabinfo (Linux), ::kmastat (Solaris).

Files and tools: slabtop(1) -o, /proc/slabinfo (slabinfo(5)), `echo ::kmastat | mdb -k`; also below `zzz ***` marks (OSWatcher).
Capture: `slabtop -o`, `cat /proc/slabinfo`.

Samples::

      OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME
    204120 194803  95%    0.19K   9720       21     38880K dentry
    kmalloc-8192  260  260  8192  4  8 : tunables  0  0  0 : slabdata  65  65  0
    kmem_magazine_1               16    3371    3556      57344      3371     0

Tables: counters, grp slab, item = cache; names objects, active, objects_per_slab, slabs (mode level), object_kb, cache_kb
(kb); alloc_succeed and alloc_fail of ::kmastat are totals. Clock: none, or the wall clock of the marks. Traps: sizes are printed with
and without suffix; slabinfo prints bytes of an object and pages of a slab. Known gaps: the sums in slabtop's head, tunables.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import MARK, marked
from parsers.columns.small_texts import share
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_N = r"[ \t]+([0-9]{1,18})"
TOP_HEAD = r"^[ \t]*OBJS[ \t]+ACTIVE[ \t]+USE[ \t]+OBJ SIZE"
TOP = (
    r"^[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,3})%[ \t]+([0-9.]{1,12})K"
    + _N
    + _N
    + r"[ \t]+([0-9.]{1,18})K?[ \t]+(\S+)$"
)
TOP_SUMS = (
    r"^[ \t]*(?:Active / Total (?:Objects|Slabs|Caches|Size) \(% used\)|Minimum / Average / Maximum Object)[ \t]*:"
)
INFO_HEAD = r"^(?:slabinfo - version:|# ?name +<active_objs>)"
INFO = rf"^\**([^\s*]\S*){_N}{_N}{_N}{_N}{_N} : tunables(?:{_N})+ : slabdata{_N}{_N}{_N}.*$"
KMA_HEAD = r"^cache +buf +buf +buf +memory +alloc +alloc|^name +size +in use +total +in use +succeed +fail"
KMA = rf"^(\S+){_N}{_N}{_N}[ \t]+([0-9]{{1,18}})([BKMGT]?){_N}{_N}$"
KMA_SUM = r"^Total \[\S+\][ \t]+[0-9]+[BKMGT]?[ \t]+[0-9]+[ \t]+[0-9]+$|^>? ?::kmastat(?: -[kmg])?$"
KMA_SURE = (
    r"^(?:(?:kmem|zio|streams|seg|umem)_\S+|\S+_cache)[ \t]+[0-9]+[ \t]|^\S+(?:[ \t]+[0-9]+){3}[ \t]+[0-9]+[BKMGT][ \t]"
)
"""A row of ::kmastat that fits no other tool's table, even without the header."""
_OWNS = {
    "slabtop": (rf"{TOP_HEAD}|{TOP}|{TOP_SUMS}", "linux", "slabtop(1)", "slabtop -o"),
    "slabinfo": (rf"{INFO_HEAD}|{INFO}", "linux", "slabinfo(5)", "cat /proc/slabinfo"),
    "kmastat": (rf"{KMA_HEAD}|{KMA}|{KMA_SUM}", "solaris", "mdb(1)", "echo ::kmastat | mdb -k"),
}
FORMATS = tuple(
    Format(
        kind="slabtop",
        variant=variant,
        version="2",
        systems=(system,),
        tables=("counters",),
        man=man,
        example=example,
        clocks=("none", "wall-local"),
        own=own,
    )
    for variant, (own, system, man, example) in _OWNS.items()
)

_PATTERNS = {name: re.compile(own) for name, (own, *_) in _OWNS.items()}
RULE = r"^[- ]*-{5,}[- ]*$"
_SUFFIX = {"": 1 / 1024, "B": 1 / 1024, "K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3}


def claim(head: Head) -> Claim | None:
    """Claim by headers, or by rows that fit no other tool."""
    text = head.text[:16384]
    if (
        "OBJ" not in text
        and "slabdata" not in text
        and "K " not in text
        and "magazine" not in text
        and "kmem_" not in text
        and "_cache" not in text
    ):
        return None
    for variant, pattern in _PATTERNS.items():
        if not any(pattern.match(x) for x in head.lines[:60]):
            continue
        count, fraction = share(Head([x for x in head.lines if not re.match(MARK, x)]), pattern)
        headed = re.search(rf"(?m){TOP_HEAD}|{INFO_HEAD}|{KMA_HEAD}", text)
        sure = headed or variant != "kmastat" or sum(1 for x in head.lines[:60] if re.match(KMA_SURE, x)) * 2 > count
        if fraction >= (0.4 if headed or variant != "kmastat" else 0.8) and count >= 2 and sure:
            return Claim((0.5 if headed else 0.4) + 0.45 * fraction, f"{count} lines of {variant}", variant)
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the sample and the mark above."""
    read = {"slabtop": _top, "slabinfo": _info, "kmastat": _kmastat}[state["variant"]]
    heads = {"slabtop": TOP_HEAD, "slabinfo": INFO_HEAD, "kmastat": KMA_HEAD}[state["variant"]]
    for block in source.blocks():
        frame = marked(block.frame, out, state).filter(~pl.col("is_mark"))
        line = pl.col("line")
        is_head = line.str.contains(heads)
        # A header has two lines: only the first begins a sample.
        begins = is_head & ~is_head.shift().fill_null(bool(state.get("after_head")))
        begun = pl.lit(state.get("sample", 0)) + begins.cum_sum().cast(pl.Int64, strict=False)
        frame = frame.with_columns(sample=begun, is_head=is_head)
        if len(frame):
            state |= {"sample": int(frame["sample"][-1]), "after_head": bool(frame["is_head"][-1])}
        frame = frame.with_columns(pl.col("sample").clip(1))
        known = line.str.contains(TOP_SUMS) | line.str.contains(RULE) | line.str.contains(KMA_SUM) | pl.col("is_head")
        out.read(frame.filter(known)["line_no"])
        rows = read(frame.filter(~known))
        if not rows.is_empty():
            _write(rows, out)
    return state


def _write(rows: pl.DataFrame, out: Tables) -> None:
    """Write one row for each figure; the end of a name gives its unit, and `alloc_` names count since boot."""
    names = [c for c in rows.columns if c not in ("line_no", "t_local", "sample", "item")]
    long = rows.unpivot(names, index=["line_no", "t_local", "sample", "item"], variable_name="name")
    long = long.with_columns(place=pl.col("name").replace_strict({n: i for i, n in enumerate(names)}))
    name = pl.col("name")
    unit = pl.when(name.str.ends_with("_kb")).then(pl.lit("kb")).when(name.str.ends_with("_pct")).then(pl.lit("pct"))
    mode = pl.when(name.str.starts_with("alloc_")).then(pl.lit("total")).otherwise(pl.lit("level"))
    long = long.sort("line_no", "place").drop("place").filter(pl.col("value").is_not_null())
    out.add("counters", long.with_columns(grp=pl.lit("slab"), unit=unit, mode=mode))


def _groups(frame: pl.DataFrame, pattern: str, names: list[str]) -> pl.DataFrame:
    matched = frame.with_columns(g=pl.col("line").str.extract_groups(pattern).struct.rename_fields(names)).unnest("g")
    return matched.filter(pl.col("item").is_not_null())


def _top(frame: pl.DataFrame) -> pl.DataFrame:
    names = ["objects", "active", "used_pct", "object_kb", "slabs", "objects_per_slab", "cache_kb", "item"]
    rows = _groups(frame, TOP, names)
    return rows.select(
        "line_no", "t_local", "sample", "item", *(pl.col(n).cast(pl.Float64, strict=False) for n in names[:-1])
    )


def _info(frame: pl.DataFrame) -> pl.DataFrame:
    names = [
        "item",
        "active",
        "objects",
        "bytes",
        "objects_per_slab",
        "pages",
        "tunable",
        "active_slabs",
        "slabs",
        "shared",
    ]
    rows = _groups(frame, INFO, names)
    number = {n: pl.col(n).cast(pl.Float64) for n in names[1:]}
    return rows.select(
        "line_no",
        "t_local",
        "sample",
        "item",
        number["objects"],
        number["active"],
        number["slabs"],
        number["active_slabs"],
        number["objects_per_slab"],
        object_kb=number["bytes"] / 1024,
        pages_per_slab=number["pages"],
    )


def _kmastat(frame: pl.DataFrame) -> pl.DataFrame:
    names = ["item", "bytes", "active", "objects", "memory", "suffix", "alloc_succeed", "alloc_fail"]
    rows = _groups(frame, KMA, names)
    number = {n: pl.col(n).cast(pl.Float64) for n in names if n not in ("item", "suffix")}
    return rows.select(
        "line_no",
        "t_local",
        "sample",
        "item",
        number["objects"],
        number["active"],
        number["alloc_succeed"],
        number["alloc_fail"],
        object_kb=number["bytes"] / 1024,
        cache_kb=number["memory"] * pl.col("suffix").replace_strict(_SUFFIX, return_dtype=pl.Float64),
    )
