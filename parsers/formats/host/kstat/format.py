r"""Kernel statistics of Solaris by kstat(1M): `kstat -p`, plain `kstat`; arcstats of OpenZFS on Linux.

Tools: kstat(1M) of Solaris 8 to 11.4 and illumos, with or without an interval; /proc/spl/kstat/zfs/arcstats (OpenZFS on Linux). Capture:
`kstat -p zfs:0:arcstats unix:0:system_pages`, `kstat -n arcstats`, `cat /proc/spl/kstat/zfs/arcstats`.

Samples::

    zfs:0:arcstats:size	34359738368
    module: zfs                             instance: 0
    name:   arcstats                        class:    misc
            c_max                           68719476736
    hits                            4    512345678

Table: counters. grp is arcstats, system_pages or the kstat's module (there item = `instance:name`), name the statistic. Levels in bytes:
sizes and targets of the ARC. Levels in pages (whose size is not printed): all of system_pages except what it allocated, freed and
scanned (totals) and two addresses. Totals since boot: all others of the ARC, and those of cpu, cpu_stat and vmem except the contents of
an arena. kstat does not tell levels from totals: any other number has mode NULL. `delta` is the growth since the previous sample.
Statistics that are texts (class, state, brand) are read but not stored.
Clock: none (snaptime counts from boot and is not used as a stamp), or the wall clock of the marks.
Traps: totals are since boot, so only differences are meaningful; counters of network links are read by the kind netdev.
Known gaps: -j (JSON of Solaris 11.4), kstat2.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import MARK, marked
from parsers.columns import counter_rows
from parsers.columns.small_texts import share
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

PARSED = r"^([A-Za-z][A-Za-z0-9_-]*):([0-9]+):([^:\t]{1,60}):(?:([^\t]{1,60})\t(.*)|([^ \t]{1,60}) +([^ \t]+))$"
"""A statistic of kstat -p. A paste may have blanks instead of the tab; then neither name nor value may contain a blank."""

MODULE = r"^module: ([^ \t]+)[ \t]+instance: ([0-9]+)[ \t]*$"
NAME = r"^name:[ \t]+([^ \t]+)[ \t]+class:[ \t]+([^ \t]+)[ \t]*$"
ROW = r"^[ \t]+([A-Za-z0-9][^\t]{0,59}?)(?:[ \t]{2,}|\t)([^ \t].*)$"
SPL_HEAD = r"^[0-9]+ [0-9]+ 0x[0-9a-f]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+$|^name +type +data$"
SPL = r"^([a-z0-9_]+) +[0-9] +([0-9]+)$"
NUMBER = r"^([0-9]{1,20})$"
"""A counter is a whole number; only stamps have a decimal point."""
STAMPS = ("crtime", "snaptime", "class")
BYTES = r"^(?:c|c_min|c_max|p|pd|pm|size|.*_size|arc_meta_.*|.*_limit|.*_evictable_.*|arc_sys_free|arc_need_free|memory_.*_bytes)$"
"""Levels of the ARC in bytes: its size, targets and parts."""
NUMBERS = r"^(?:hash_elements|hash_elements_max|hash_chains|hash_chain_max|duplicate_buffers|arc_no_grow|arc_tempreserve|arc_loaned_bytes)$"
"""Levels of the ARC that are not sizes; all other statistics of it count since boot."""
PAGES_SO_FAR = r"^(?:nalloc|nalloc_calls|nfree|nfree_calls|nscan)$"
"""Statistics of system_pages that count since boot."""
ADDRESSES = r"^(?:econtig|kernelbase)$"
"""Statistics of system_pages that are addresses, not counts of pages."""
ARENA = r"^mem_(?:inuse|import|total)$"
"""Levels of an arena of vmem: bytes, or identifiers."""
LINKS = re.compile(r"packets|bytes|errors|link_|collisions|multi|ifspeed|link_speed")
_SYSTEMS = {
    "parsed": (("solaris", "illumos"), "kstat(1M)", "kstat -p zfs:0:arcstats unix:0:system_pages", PARSED),
    "plain": (("solaris", "illumos"), "kstat(1M)", "kstat -n arcstats", rf"{MODULE}|{NAME}|^ {{8}}[a-zA-Z0-9_ -]+ {{2,}}[0-9.]+$"),
    "spl": (("linux",), "zfs(4), arcstats", "cat /proc/spl/kstat/zfs/arcstats", rf"{SPL_HEAD}|{SPL}"),
}  # fmt: skip
FORMATS = tuple(
    Format(
        "kstat",
        variant,
        "3",
        systems,
        ("counters",),
        man,
        example,
        clocks=("none", "wall-local"),
        own=own,
    )
    for variant, (systems, man, example, own) in _SYSTEMS.items()
)
_PARSED, _SPL = re.compile(PARSED), re.compile(SPL)


def claim(head: Head) -> Claim | None:
    """Claim by names of four parts and a tab, headings of a module, or the head of an spl file; leave links to netdev."""
    text = head.text
    if "module: " in text and any(re.match(MODULE, x) for x in head.lines):
        links = re.search(r"(?m)^name:.*class:[ \t]+net\b", text)
        return None if links else Claim(0.95, "headings of kstat", "plain")
    if "name " in text and any(re.match(r"^name +type +data$", x) for x in head.lines[:40]):
        count, fraction = share(head, _SPL)
        return Claim(0.95, f"{count} statistics of an spl kstat", "spl") if count > 2 and fraction >= 0.6 else None
    if not any(_PARSED.match(line) for line in head.spread):
        return None
    below = Head([x for x in head.lines if not re.match(MARK, x)])
    count, fraction = share(below, _PARSED)
    if not count or fraction < 0.6:
        return None
    links_here = sum(1 for x in below.lines[:200] if (m := _PARSED.match(x)) and LINKS.search(m[4] or m[6]))
    return (
        None
        if links_here * 4 > count
        else Claim(min(0.96, 0.6 + 0.36 * fraction), f"{count} statistics of kstat -p", "parsed")
    )


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the module and name above, the mark above and the last values."""
    readers = {"parsed": _parsed, "plain": _plain, "spl": _spl}
    for block in source.blocks():
        frame = marked(block.frame, out, state).filter(~pl.col("is_mark"))
        rows = readers[state["variant"]](frame, out, state)
        out.read(rows["line_no"])
        number = pl.col("value").str.strip_chars().str.extract(NUMBER, 1).cast(pl.Float64)
        rows = rows.filter(~pl.col("name").is_in(STAMPS))
        odd = rows.filter(pl.col("value").str.contains(r"^[0-9.,]*[.,][0-9.,]*$"))
        out.notes(odd.select("line_no", kind=pl.lit("damaged"), text="no whole number: " + pl.col("value")))
        rows = rows.with_columns(value=number).filter(pl.col("value").is_not_null())
        module, kstat, name = pl.col("module"), pl.col("kstat"), pl.col("name")
        arc, of_pages = kstat == "arcstats", kstat == "system_pages"
        address, so_far = of_pages & name.str.contains(ADDRESSES), of_pages & name.str.contains(PAGES_SO_FAR)
        # A kernel address is not a counter, and may exceed the range of the column.
        rows = rows.filter(~(address & (pl.col("value") >= 2.0**63)))
        pages = of_pages & ~address & ~so_far
        bytes_ = arc & name.str.contains(BYTES)
        level = bytes_ | (arc & name.str.contains(NUMBERS)) | pages | ((module == "vmem") & name.str.contains(ARENA))
        total = arc | so_far | (module.is_in(["cpu", "cpu_stat", "vmem"]) & (name != "vmem_source"))
        rows = rows.select(
            "line_no",
            "t_local",
            "name",
            "value",
            grp=pl.when(arc | of_pages).then(kstat).otherwise(module),
            item=pl.when(~(arc | of_pages)).then(pl.col("instance") + ":" + kstat),
            unit=pl.when(bytes_)
            .then(pl.lit("bytes"))
            .when(pages | (so_far & ~name.str.ends_with("_calls")))
            .then(pl.lit("pages")),
            mode=pl.when(level).then(pl.lit("level")).when(total).then(pl.lit("total")),
        )
        counter_rows.add(rows, out, state)
    return state


def _parsed(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    names = ["module", "instance", "kstat", "name", "value", "name_blanks", "value_blanks"]
    rows = frame.with_columns(g=pl.col("line").str.extract_groups(PARSED).struct.rename_fields(names)).unnest("g")
    rows = rows.with_columns(pl.coalesce(n, f"{n}_blanks") for n in ("name", "value"))
    return rows.filter(pl.col("value").is_not_null())


def _plain(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    heads = line.str.extract_groups(MODULE).struct
    rows = frame.with_columns(module=heads.field("1"), instance=heads.field("2"), kstat=line.str.extract(NAME, 1))
    out.read(rows.filter(pl.col("module").is_not_null() | pl.col("kstat").is_not_null())["line_no"])
    heads_above: dict[str, str | None] = state.setdefault("heads", {})
    rows = rows.with_columns(
        pl.col(n).forward_fill().fill_null(pl.lit(heads_above.get(n), pl.String))
        for n in ("module", "instance", "kstat")
    )
    if len(rows):
        heads_above |= {n: rows[n][-1] for n in ("module", "instance", "kstat")}
    row = line.str.extract_groups(ROW).struct.rename_fields(["name", "value"])
    rows = rows.with_columns(g=row).unnest("g")
    return rows.filter(pl.col("value").is_not_null() & pl.col("module").is_not_null() & pl.col("kstat").is_not_null())


def _spl(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    out.read(frame.filter(line.str.contains(SPL_HEAD))["line_no"])
    rows = frame.with_columns(g=line.str.extract_groups(SPL).struct.rename_fields(["name", "value"])).unnest("g")
    return rows.filter(pl.col("value").is_not_null()).with_columns(
        module=pl.lit("zfs"), instance=pl.lit("0"), kstat=pl.lit("arcstats")
    )
