r"""Memory counters of the Linux kernel: /proc/vmstat, whole or by grep, once or several times below `date` lines or collectors' marks.

File: /proc/vmstat (proc(5); the names are those of the kernel's mm/vmstat.c). Capture: `date -u; cat /proc/vmstat`, twice, 60 s apart.

Samples::

    nr_free_pages 4139425
    pgscan_direct 1187
    compact_stall 40
    thp_fault_fallback 9

Tables: counters (grp vm; `nr_...` and workingset_nodes are levels in pages, all others are totals since boot with their growth as `delta`).
Clock: none, or the wall clock of the marks. Traps: nr_dirtied, nr_written, nr_vmscan_write and nr_vmscan_immediate_reclaim count since
boot in spite of their names; which counters exist depends on the kernel; memory.stat of a control group has some of the same names and
is not read here. Known gaps: per-node /sys/devices/system/node/node0/vmstat without its path.
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

_NAMED = (
    r"nr_|pg(?:pgin|pgout|alloc|free|fault|majfault|scan|steal|refill|activate|deactivate|migrate|inodesteal|rotated|skip|lazyfree|reuse|promote|demote|outrun|cluster)"
    r"|pswp(?:in|out)|swp?(?:in|out)_|swap_ra|compact_|thp_|htlb_|workingset_|numa_|allocstall|kswapd_|kcompactd_|pageoutrun|slabs_scanned|zone_reclaim|drop_(?:pagecache|slab)"
    r"|unevictable_|balloon_|oom_kill|zswp|cma_|direct_map_|ksm_|cow_ksm|vma_lock_|nr_tlb"
)
LINE = rf"^((?:{_NAMED})[a-z0-9_]*) ([0-9]{{1,20}})$"
FALSE_LEVELS = ("nr_dirtied", "nr_written", "nr_vmscan_write", "nr_vmscan_immediate_reclaim", "nr_tlb_remote_flush")
SURE = ("nr_free_pages ", "pgpgin ", "compact_stall ", "allocstall", "kswapd_", "pgscan_direct")

FORMAT = Format(
    kind="meminfo",
    variant="vmstat",
    version="1",
    systems=("linux",),
    tables=("counters",),
    man="proc(5)",
    example="date -u; cat /proc/vmstat",
    clocks=("none", "wall-local"),
    own=LINE,
)
_LINE = re.compile(LINE)


def claim(head: Head) -> Claim | None:
    """Claim by names of the kernel's counters, of which a control group's memory.stat has only some."""
    text = head.text[:16384]
    if not any(word in text for word in SURE) or re.search(r"(?m)^(?:anon|kernel_stack) [0-9]+$", text[:2048]):
        return None
    count, fraction = share(Head([x for x in head.lines if not re.match(MARK, x)]), _LINE)
    if count >= 2 and fraction >= 0.6:
        return Claim(min(0.95, 0.5 + 0.45 * fraction), f"{count} counters of /proc/vmstat", "vmstat")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the mark above and the last values."""
    for block in source.blocks():
        frame = marked(block.frame, out, state).filter(~pl.col("is_mark"))
        groups = pl.col("line").str.extract_groups(LINE).struct.rename_fields(["name", "value"])
        rows = frame.with_columns(g=groups).unnest("g").filter(pl.col("name").is_not_null())
        name = pl.col("name")
        level = (name.str.starts_with("nr_") & ~name.is_in(FALSE_LEVELS)) | (name == "workingset_nodes")
        rows = rows.select(
            "line_no",
            "t_local",
            "name",
            grp=pl.lit("vm"),
            item=pl.lit(None, pl.String),
            value=pl.col("value").cast(pl.Float64),
            unit=pl.when(level).then(pl.lit("pages")),
            mode=pl.when(level).then(pl.lit("level")).otherwise(pl.lit("total")),
        )
        counter_rows.add(rows, out, state)
    return state
