"""Pages that the kernel of Linux could not give: how many in one piece, whether the asker could wait, and who asked.

Standing out: each group of reports of one size, mode and asker. A report is `page allocation failure: order:N, mode:M`,
2^N pages in one piece; below it stands the call trace, in which the first function outside of the allocators is the asker.
Normal: logs without such a report. Free memory in small pieces does not help a large request, so the line alone does not
say that little is free.
Worked example: `swapper: page allocation failure: order:2, mode:0x20`, below it `__alloc_skb`, `ring_refill`: "4 pages in
one piece were refused; the asker could not wait; ring_refill asked".
Cost: one pass for the reports and `TRACE_ROWS` lines for each of at most `REPORTS`.
Source: Linux mm/page_alloc.c (warn_alloc), include/linux/gfp.h (before 4.4: __GFP_WAIT 0x10; from 4.4 __GFP_DIRECT_RECLAIM
0x400000; from 4.6 the flags are printed by name), lib/ratelimit.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST_LINES, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "allocation-failures",
    "Which requests for memory did the kernel refuse?",
    ("logs",),
    {"linux": "cat /proc/buddyinfo /proc/pagetypeinfo; sysctl vm.min_free_kbytes; cat /proc/meminfo"},
    like="log-complaints",
)

REPORTS = 2_000
"""Maximum number of reports of one case that are looked at."""

TRACE_ROWS = 40
"""Maximum number of log lines below a report in which the asker is looked for."""

HIT = r"page allocation failure[.:]? ?order:[0-9]+, ?mode:"
REPORT = re.compile(
    r"(?:^|\s)(?P<who>\S+): page allocation failure[.:]? ?order:(?P<order>\d+), ?mode:(?P<mode>0x[0-9a-f]+)"
    r"(?:\((?P<flags>[A-Z_|]+)\))?",
    re.I,
)
FRAME = re.compile(r"(?:^|[\s(])([A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+")
"""Functions of a line of a call trace, also of the form `(callee) from [<address>] (caller)`."""

ALLOCATORS = re.compile(
    r"(?:dump_stack|show_stack|dump_backtrace|unwind_backtrace|warn_alloc|_*alloc_pages|get_page_from_freelist|_*get_free_page"
    r"|_*kmalloc|kvmalloc|_*kmem_cache_alloc|_*cache_(?:alloc|grow)|fallback_alloc|new_slab|allocate_slab|_*slab_alloc"
    r"|_*alloc_skb|_*(?:netdev|napi|dev)_alloc_skb|page_frag|_*vmalloc|_*dma_\w*alloc|kzalloc|alloc_slab|_*folio_alloc)"
)
"""Beginnings of functions that hand a request for memory on: who asked stands above them."""

CANNOT_WAIT = ("GFP_ATOMIC", "GFP_NOWAIT")

WAITS_OLD, WAITS_NEW = 0x10, 0x400000
"""Bits of a mode without names that let the asker wait: __GFP_WAIT before 4.4, __GFP_DIRECT_RECLAIM from then on."""

SUPPRESSED = r"^(?:\[ *[0-9.]+\] )?[a-z_]*warn_alloc[a-z_]*: ([0-9]+) callbacks suppressed"
"""Line with which the kernel says how many reports it left out before the next one."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield refused requests by size, mode and asker, the most frequent first."""
    columns = [*PLACE_COLUMNS, "line_no", "t_local", "text"]
    wanted = pl.col("text").is_not_null() & pl.col("text").str.contains(rf"{HIT}|{SUPPRESSED}")
    rows = case.scan("logs", columns, wanted).head(REPORTS).collect(engine="streaming").sort("artifact_id", "line_no")
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    left_out: dict[int, tuple[int, int]] = {}
    for row in rows.iter_rows(named=True):
        if left := re.search(SUPPRESSED, row["text"]):
            left_out[row["artifact_id"]] = (row["line_no"], int(left[1]))
        elif made := REPORT.search(row["text"]):
            asker, line = _asker(case, row)
            before = left_out.pop(row["artifact_id"], None)
            key = (row["artifact_id"], row["host"], int(made["order"]), _waits(made), asker)
            groups.setdefault(key, []).append({**row, "who": made["who"], "asker_line": line, "left_out": before})
    for key, held in sorted(groups.items(), key=lambda x: -len(x[1])):
        yield _sighting(key, held)


def _waits(made: re.Match[str]) -> bool | None:
    """Return whether the asker could wait for memory, None if the mode does not tell."""
    if made["flags"]:
        return not any(flag in made["flags"].upper() for flag in CANNOT_WAIT)
    mode = int(made["mode"], 16)
    return None if mode == 0 else bool(mode & (WAITS_OLD | WAITS_NEW))


def _asker(case: CaseTables, row: dict[str, Any]) -> tuple[str | None, int | None]:
    """Return the first function in the call trace below a report that is not an allocator, and its line."""
    below = (pl.col("artifact_id") == row["artifact_id"]) & (pl.col("line_no") > row["line_no"])
    below &= pl.col("line_no") <= row["line_no"] + TRACE_ROWS
    lines = case.scan("logs", ["line_no", "text"], below & pl.col("text").is_not_null()).collect(engine="streaming")
    for line_no, text in lines.sort("line_no").iter_rows():
        if REPORT.search(text):
            break
        for name in FRAME.findall(text):
            if not ALLOCATORS.match(name):
                return name, line_no
    return None, None


def _sighting(key: tuple[Any, ...], held: list[dict[str, Any]]) -> Sighting:
    _, _, order, waits, asker = key
    row, pages = held[0], 2**order
    size = "1 page was" if pages == 1 else f"{pages:,} pages in one piece (order {order}) were"
    n = len(held)
    text = f"{size} refused to {row['who']}" + (f", {n:,} times" if n > 1 else "")
    text += {None: "", True: "; the asker could wait", False: "; the asker could not wait for memory to be freed"}[
        waits
    ]
    text += f"; {asker} asked" if asker else ""
    left = [one["left_out"] for one in held if one["left_out"]]
    more = sum(count for _, count in left)
    cited = [Lines(row["artifact_id"], row["line_no"], row["line_no"], "refused")]
    cited += [Lines(row["artifact_id"], row["asker_line"], row["asker_line"], str(asker))] if row["asker_line"] else []
    cited += [Lines(row["artifact_id"], line, line, "left out before") for line, _ in left[:1]]
    cited += [Lines(one["artifact_id"], one["line_no"], one["line_no"], "refused again") for one in held[-1:] if n > 1]
    small = "free memory in smaller pieces does not help such a request" if order >= 2 else None
    notes = [small, f"{figure(float(more), 'count')} more reports were left out by the log" if more else None]
    return Sighting(
        "refused",
        f"allocation of order {order}",
        text,
        "refused_pages_count",
        float(pages),
        "count",
        tuple(cited)[:MOST_LINES],
        **place(row),
        t_from=row["t_local"],
        t_to=held[-1]["t_local"],
        against="one page",
        against_value=1.0,
        share=0.5,
        n=n + more,
        seen=({"log": row["text"]},),
        beside="; ".join(filter(None, notes)) or None,
    )
