r"""Link counters of dladm that the table reader of netdev cannot read: with an interval, and the old headings of Solaris 10.

Tool: dladm(1M) show-link, show-dev, show-aggr, show-vnic with -s, with or without -i. Capture: `dladm show-link -s -i 5 net0`.

Samples::

    LINK                IPACKETS  RBYTES  IERRORS   OPACKETS    OBYTES      OERRORS
    net0                365079    488320923 0       190053      16047649    0
    net0                9         1044    0         4           591         0
            ipackets  rbytes      opackets  obytes
    Total   16321811  7879573143  14054330  43176235359
    pxebooter0      16321811  7879573143  14054330  43176235359     100.0   100.0

Table: counters (grp iface, item = link, names IPACKETS and so on, in capitals). Clock: none; interval where it is known. Traps: the first
row of a link counts since boot, each later row counts the interval before it (growth per second where the interval is known, else the
growth); a repeated heading without -i begins another capture. Known gaps: the line `Total` and shares in percent are read but not stored.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import grid
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_UPPER = r"IPACKETS[ \t]+RBYTES(?:[ \t]+IERRORS)?[ \t]+OPACKETS[ \t]+OBYTES(?:[ \t]+OERRORS)?"
_WORDS = rf"(?:{_UPPER}|ipackets[ \t]+rbytes(?:[ \t]+ierrors)?[ \t]+opackets[ \t]+obytes(?:[ \t]+oerrors)?)"
HEAD = rf"^[ \t]*(?:LINK[ \t]+)?{_WORDS}(?:[ \t]+%ipkts[ \t]+%opkts)?[ \t]*$"
OLD = rf"^[ \t]*(?:key: [0-9]+[ \t]+)?{_WORDS}(?:[ \t]+%ipkts[ \t]+%opkts)?[ \t]*$"
"""A heading without the word LINK."""

ROW = r"^[ \t]*([A-Za-z][A-Za-z0-9_.:/-]*[0-9]|Total)((?:[ \t]+(?:[0-9]+|-)){4,6})(?:[ \t]+[0-9]+\.[0-9]+|[ \t]+-){0,2}[ \t]*$"
FORMAT = Format(
    "netdev",
    "dladm",
    "1",
    ("solaris", "illumos"),
    ("counters",),
    "dladm(1M)",
    "dladm show-link -s -i 5",
    clocks=("none", "wall-local"),
    own=f"(?:{HEAD}|{OLD}|{ROW})",
)


def claim(head: Head) -> Claim | None:
    """Claim by an old heading with a row, or by a link that stands twice under one heading."""
    if "rbytes" not in head.text and "RBYTES" not in head.text:
        return None
    lines = [x for x in head.lines[:300] if x.strip()]
    for number, line in enumerate(lines):
        if not re.match(rf"{HEAD}|{OLD}", line):
            continue
        below = []
        for row in lines[number + 1 :]:
            if not (match := re.match(ROW, row)):
                break
            below.append(match[1])
        if below and re.match(OLD, line):
            return Claim(0.95, "heading of dladm -s with rows", "dladm")
        if len(set(below)) < len(below):
            return Claim(0.97, "links of dladm -s -i that come again", "dladm")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the heading's words, the links seen since it and each link's sample."""
    interval = re.search(r" -i *([0-9]+)", source.hints.command or "")
    step = source.hints.interval_s or (float(interval[1]) if interval else None)
    samples: dict[str, int] = state.setdefault("samples", {})
    for frame in grid.frames(source):
        frame = marked(frame, out, state).filter(~pl.col("is_mark"))
        frame = frame.filter(pl.col("line").str.contains("[0-9A-Za-z]"))
        rows: list[dict[str, Any]] = []
        for line_no, t_local, line in frame.select("line_no", "t_local", "line").iter_rows():
            if re.match(rf"{HEAD}|{OLD}", line):
                state["names"] = re.findall(r"[IO]PACKETS|[RO]BYTES|[IO]ERRORS", line.upper())
                state["seen"] = state.get("seen", []) if interval else []
                out.read([line_no])
            elif (match := re.match(ROW, line)) and len(values := match[2].split()) == len(state.get("names", [])):
                item = match[1]
                if item == "Total":
                    out.read([line_no])
                    continue
                growth = item in state["seen"]
                state["seen"] = [*state["seen"], item][-1000:] if not growth else state["seen"]
                samples[item] = samples.get(item, 0) + 1
                rows += [
                    {"line_no": line_no, "t_local": t_local, "sample": samples[item], "first": not growth, "item": item, "name": name}
                    | _measured(value, growth, step)
                    for name, value in zip(state["names"], values, strict=True)
                    if value != "-"
                ]  # fmt: skip
        if rows:
            out.add("counters", pl.DataFrame(rows, schema=_SCHEMA).with_columns(grp=pl.lit("iface")))
    return state


_SCHEMA = {"line_no": pl.Int64, "t_local": pl.Float64, "sample": pl.Int64, "first": pl.Boolean, "item": pl.String, "name": pl.String,
           "value": pl.Float64, "delta": pl.Float64, "interval_s": pl.Float64, "mode": pl.String, "unit": pl.String}  # fmt: skip


def _measured(text: str, growth: bool, step: float | None) -> dict[str, Any]:
    value = float(text)
    if not growth:
        return {"value": value, "delta": None, "interval_s": None, "mode": "total", "unit": None}
    rate = round(value / step, 6) if step else None
    return {
        "value": value if rate is None else rate,
        "delta": value,
        "interval_s": step,
        "mode": None if rate is None else "rate",
        "unit": None if rate is None else "/s",
    }
