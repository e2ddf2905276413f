r"""vmstat -n of HP-UX: memory and CPU as two tables, one row for each sample and one for each CPU.

Tool: HP-UX vmstat(1) -n, with or without an interval. Capture: `vmstat -n 5 12`.

Samples::

    VM
          memory                     page                          faults
        avm    free   re   at    pi   po    fr   de    sr     in     sy    cs
       8660  1202711   5    1     0    0     2    0     0    1078    778   120
    CPU
       cpu          procs
    us sy id    r     b     w
     1  0 99    0     0     0
     0  0 99

Tables: vmstat (memory, paging, faults; r, b, w of the first CPU row), mpstat (usr, sys, idle, one row for each CPU, numbered in printed
order). Clock: interval. Traps: the first row of the CPU table has the processes of the whole host beside it; pages are 4 kB. Known gaps:
at and de are read but not stored.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from parsers.clocks.sample_stamps import unstamped
from parsers.clocks.snapshots import marked
from parsers.columns import grid
from parsers.declarations import Claim, Counter, Format
from parsers.tables.rows import State, Tables
from parsers.tables.schema import schema
from parsers.text.source import Head, Source

MEMORY = "avm free re at pi po fr de sr in sy cs"
CPU = "us sy id r b w"
TITLE = r"^[ \t]*(?:VM|CPU|memory[ \t]+page[ \t]+faults|cpu[ \t]+procs)[ \t]*$"
HEADING = rf"^[ \t]*(?:{MEMORY.replace(' ', '[ ]+')}|{CPU.replace(' ', '[ ]+')})[ \t]*$"
ROW = r"^[ \t]*[0-9]+(?:[ \t]+[0-9]+){2,11}[ \t]*$"
PAGE_KB = 4.0
FORMAT = Format(
    kind="vmstat",
    variant="hpux_n",
    version="1",
    systems=("hpux",),
    tables=("vmstat", "mpstat"),
    man="vmstat(1)",
    example="vmstat -n 5 12",
    clocks=("interval", "wall-local"),
    own=f"{TITLE}|{HEADING}",  # rows of a few numbers can be of any tool
    counters=(Counter(("sample",), ("sample",)),),
)


def claim(head: Head) -> Claim | None:
    """Claim by both headings: the shares of CPU stand in a separate table."""
    if "avm" not in head.text or "procs" not in head.text:
        return None
    number = 0
    found = set()
    for at, line in enumerate(head.lines[:200], start=1):
        if re.match(HEADING, line):
            found.add(line.split()[0])
            number = number or at
    return Claim(0.97, f"headings of vmstat -n in line {number}", "hpux_n") if found >= {"avm", "us"} else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open table, the sample, its row of memory and the number of the CPU."""
    step = source.hints.interval_s
    for frame in grid.frames(source):
        frame = marked(frame, out, state).filter(~pl.col("is_mark"))
        plain: list[int] = []
        hosts: list[dict[str, Any]] = []
        cpus: list[dict[str, Any]] = []
        for line_no, t_local, line in frame.select("line_no", "t_local", "line").iter_rows():
            if re.match(HEADING, line):
                state["heading"] = "memory" if line.split()[0] == "avm" else "cpu"
                plain.append(line_no)
            elif re.match(TITLE, line):
                plain.append(line_no)
            elif re.match(ROW, line):
                words = [float(w) for w in line.split()]
                if state.get("heading") == "memory" and len(words) == len(MEMORY.split()):
                    hosts += _closed(state)
                    state["sample"] = state.get("sample", 0) + 1
                    clock = _clock(line_no, t_local, state["sample"], step)
                    state["open"], state["clock"] = clock | _memory(words), clock
                    plain.append(line_no)
                elif state.get("heading") == "cpu" and len(words) in (3, 6) and "clock" in state:
                    if len(words) == 6 and "open" in state:
                        processes = dict(zip("rbw", words[3:], strict=True))
                        hosts.append(state.pop("open") | processes | {"line_end": line_no})
                        state["cpu"] = 0
                    cpu, state["cpu"] = state.get("cpu", 0), state.get("cpu", 0) + 1
                    shares = {"cpu": cpu, "usr": words[0], "sys": words[1], "idle": words[2]}
                    cpus.append(state["clock"] | {"line_no": line_no} | shares)
        if grid.at_end(source):
            hosts += _closed(state)
        out.read(plain)
        _domain(cpus, hosts, step, out)
        for table, rows in (("vmstat", hosts), ("mpstat", cpus)):
            if rows:
                columns = {n: t for n, t in schema(table).items() if any(n in row for row in rows)}
                listed = {n: [row.get(n) for row in rows] for n in columns}
                out.add(table, pl.DataFrame(listed, schema=columns, strict=False), span="ends")
    return state


def _clock(line_no: int, t_local: float | None, sample: int, step: float | None) -> dict[str, Any]:
    if t_local is None and step is not None:
        t_local = (sample - 1) * step
    times = {"line_no": line_no, "sample": sample, "first": sample == 1, "t_local": t_local}
    return times | {"interval_s": step if sample > 1 else None}


def _memory(words: list[float]) -> dict[str, float]:
    cells = dict(zip(MEMORY.split(), words, strict=True))
    sizes = {"avm_kb": "avm", "free_kb": "free", "pi_kbps": "pi", "po_kbps": "po", "fr_kbps": "fr"}
    same = {"re": "re", "sr": "sr", "intr": "in", "scall": "sy", "cs": "cs"}
    return {n: cells[c] * PAGE_KB for n, c in sizes.items()} | {n: cells[c] for n, c in same.items()}


def _closed(state: State) -> list[dict[str, Any]]:
    """Return a row of memory whose CPU table is missing."""
    row = state.pop("open", None)
    return [] if row is None else [row | {"line_end": row["line_no"]}]


def _domain(cpus: list[dict[str, Any]], hosts: list[dict[str, Any]], step: float | None, out: Tables) -> None:
    """Report the interval clock where no mark has a date."""
    seen = sorted((r["line_no"], r["sample"]) for r in [*cpus, *hosts] if r["t_local"] is None or step is not None)
    if seen:
        lines = pl.DataFrame(seen, schema={"line_no": pl.Int64, "sample": pl.Int64}, orient="row")
        unstamped(lines, step, out)
