r"""Memory by page size and segment: svmon of AIX.

Tool: AIX svmon(1), -G (whole host) and -P (processes, with their segments). Capture: `svmon -G`, `svmon -P PID`.

Samples::

                   size       inuse        free         pin     virtual   mmode
    memory      1048576      425275      623301       66521      159191     Ded
    pg space     262144       31995
         Pid Command          Inuse      Pin     Pgsp  Virtual 64-bit Mthrd  16MB
      344254 oracle          123456    10240        0   120000      Y     N     N
        Vsid      Esid Type Description              PSize  Inuse   Pin Pgsp Virtual
       20002         0 work kernel segment               m    590   580    0     590

Tables: meminfo (`memory inuse`, `pg space size`, `pin work`, `in use clnt` ..., unit pages of 4 kB, or kb where the report
prints its unit), ps (rss_kb = Inuse, vsz_kb = Virtual of a process), pmap (one row for each segment: rss_kb = Inuse, kbytes = Virtual,
locked_kb = Pin, swap_kb = Pgsp, mapping = description). Clock: none. Traps: figures of a segment and of a page size count
pages of that size (s 4 kB, m 64 kB, L 16 MB, S 16 GB), those of the process always pages of 4 kB. Known gaps: -S, -U, -W
reports; the Vsid and Esid of a segment; rows by page size are read but not stored (the segments add up to them).
"""

from __future__ import annotations

import re

from parsers.columns.small_texts import Rows, number, share, whole
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

OWN = (
    r"^ *(?:size +inuse +free +pin +virtual|(?:memory|pg space) +[0-9.]+ +[0-9.]+|work +pers +clnt|(?:pin|in use) +[0-9.]+ +[0-9.]+ +[0-9.]+"
    r"|PageSize +(?:PoolSize +)?[Ii]nuse|Pid +Command +Inuse|[0-9]+ +[^ ]+(?: +\*?[0-9]+\*?){4} +[YN]\b|Vsid +Esid +Type|[smLS] +[0-9]+ [KMG]B +[0-9-]"
    r"|[0-9a-f]+ +[0-9a-f-]+ +(?:work|clnt|pers|mmap|rmap)\b)"
)
FORMAT = Format(
    kind="svmon",
    variant="svmon",
    version="3",
    systems=("aix",),
    tables=("meminfo", "ps", "pmap"),
    man="svmon(1)",
    example="svmon -P PID",
    own=OWN,
)

_OWN = re.compile(OWN)
UNIT = re.compile(r"Unit: *(page|KB|MB|GB)", re.IGNORECASE)
HEADS = {"size": "whole", "work": "kinds", "PageSize": "sizes", "Pid": "process", "Vsid": "segments"}
NUMBERS = re.compile(r"(memory|pg space|pin|in use)((?: +(?:[0-9.]+|-))+)(?: +[A-Za-z-]+)?")
PROCESS = re.compile(r"([0-9]+) +(\S+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+)(?: +[YN])*")
_CELL = r"([0-9]+(?:\.[0-9]+)*|-)"
RANGE = r"[0-9]+\.\.[0-9]+(?: *:)?"
"""Range of pages of a segment, printed by svmon -r; a colon means that the next line continues it."""
SEGMENT = re.compile(
    rf"([0-9a-f]+) +([0-9a-f]+|-) +([a-z]+) +(?:(\S.*?) +)??(?:([smLS]{{1,2}}) +)?{_CELL} +{_CELL} +{_CELL} +{_CELL}(?: +{RANGE})?"
)
SUMS = re.compile(r"(?:SYSTEM|EXCLUSIVE|SHARED|UNSHARED) segments +Inuse +Pin +Pgsp +Virtual|Addr Range: [0-9]+\.\..*")
"""Headings above a sum of segments, and lines with the pages of a segment that are in use."""
EMPHASIS = re.compile(r"(?<![^ ])\*([0-9.]+)\*(?![^ ])")
REST = re.compile(r"(?:(?:64-bit|Mthrd|(?:LPage|16MB|16GB)|[YN]) *)+")
"""End of a process's row or of its heading that a mail program wrapped onto a separate line."""
PAGES = re.compile(r"[smLS] +[0-9]+ [KMG]B +.*")
_PAGE_KB = {"s": 4.0, "m": 64.0, "L": 16384.0, "S": 16777216.0}
_UNIT_KB = {"kb": 1.0, "mb": 1024.0, "gb": 1048576.0}


def claim(head: Head) -> Claim | None:
    """Claim by a header and the share of lines that fit svmon."""
    text = head.text
    if "inuse" not in text and "Inuse" not in text and "pg space" not in text:
        return None
    count, fraction = share(head, _OWN)
    headed = re.search(
        r"(?m)^ *(?:size +inuse +free|Pid +Command +Inuse|Vsid +Esid +Type|memory +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+)",
        text,
    )
    if not headed or fraction < 0.4:
        return None
    return Claim(0.5 + 0.45 * fraction, f"{count} lines of svmon")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the table's header, the unit and the process."""
    rows = Rows()
    for block in source.blocks():
        for line_no, line in zip(block.frame["line_no"].to_list(), block.frame["line"].to_list(), strict=True):
            # Authors of pages print a figure bold: `*1412*`.
            if text := EMPHASIS.sub(r"\1", line.strip()):
                _line(line_no, text, rows, out, state)
        rows.give(out)
    return state


def _line(line_no: int, text: str, rows: Rows, out: Tables, state: State) -> None:
    first = text.split(maxsplit=1)[0]
    table = HEADS.get(first) if re.match(r"size +inuse|work +pers|PageSize|Pid +Command|Vsid +Esid", text) else None
    if match := UNIT.match(text):
        state["unit"] = None if match[1].lower() == "page" else match[1].lower()
        out.read([line_no])
    elif table:
        state["table"] = table
        if table in ("whole", "kinds"):
            state["columns"] = [c for c in text.split() if c != "mmode"]
        out.read([line_no])
    elif (
        re.fullmatch(rf"[-=.]{{8,}}|{RANGE}", text)
        or PAGES.fullmatch(text)
        or (state.get("table") == "process" and REST.fullmatch(text))
    ):
        out.read([line_no])
    elif SUMS.fullmatch(text):
        state["summed"] = not text.startswith("Addr")
        out.read([line_no])
    elif state.pop("summed", False) and re.fullmatch(r"[0-9.]+(?: +[0-9.]+){3}", text):
        out.read([line_no])
    elif match := NUMBERS.fullmatch(text):
        _whole(line_no, match, rows, state)
    elif state.get("table") == "process" and (match := PROCESS.fullmatch(text)):
        unit = _UNIT_KB[state["unit"]] if state.get("unit") else 4.0
        state |= {"pid": whole(match[1]), "command": match[2]}
        kb = [_kb(x, unit) for x in match.groups()[2:]]
        rows.add("ps", line_no, sample=1, pid=state["pid"], comm=match[2], rss_kb=kb[0], vsz_kb=kb[3])
    elif state.get("table") == "segments" and (match := SEGMENT.fullmatch(text)):
        page = _PAGE_KB.get((match[5] or "s")[:1])
        each = _UNIT_KB[state["unit"]] if state.get("unit") else page
        inuse, pin, swapped, virtual = (_kb(x, each) for x in match.groups()[5:])
        rows.add(
            "pmap",
            line_no,
            pid=state.get("pid"),
            command=state.get("command"),
            mode=None,
            kbytes=virtual,
            rss_kb=inuse,
            locked_kb=pin,
            swap_kb=swapped,
            pgsz_kb=page,
            mapping=match[4] or match[3],
            region=_region(match[3], match[4] or ""),
        )


def _whole(line_no: int, match: re.Match[str], rows: Rows, state: State) -> None:
    """Read a row of -G: one figure for each column; rows other than memory have fewer."""
    columns = state.get("columns") or []
    defaults = (
        ["size", "inuse", "free", "pin", "virtual"]
        if match[1] in ("memory", "pg space")
        else ["work", "pers", "clnt", "other"]
    )
    names = columns if columns and (columns[0] == "size") == (defaults[0] == "size") else defaults
    factor = _UNIT_KB.get(state.get("unit") or "", 1.0)
    if match[1] == "memory" and "size" in names:
        state["sample"] = state.get("sample", 0) + 1
    cells = match[2].split()
    # Figures are whole pages: points separate thousands if three digits follow each point in all cells that have one.
    pointed = [c for c in cells if "." in c]
    if len(pointed) > 1 and all(re.fullmatch(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+", c) for c in pointed):
        cells = [c.replace(".", "") for c in cells]
    for name, text in zip(names, cells, strict=False):
        value = number(text)
        if value is not None:
            labels = {"name": f"{match[1]} {name}", "unit": "kb" if state.get("unit") else "pages"}
            rows.add("meminfo", line_no, sample=max(state.get("sample", 1), 1), value=value * factor, **labels)


def _region(kind: str, description: str) -> str:
    text = description.lower()
    if "shared memory" in text or "shmat" in text or "mmap" in text:
        return "shm"
    if "stack" in text:
        return "stack"
    return "file" if kind in ("clnt", "pers") or "text" in text or "library" in text else "other"


def _kb(text: str, unit: float | None) -> float | None:
    value = number(text)
    return None if value is None or unit is None else value * unit
