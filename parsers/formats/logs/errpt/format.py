r"""Hardware and software faults: errpt of AIX, fmdump of Solaris.

Tools: AIX errpt(1) short and -a; Solaris fmdump(1M), -e. Capture: `errpt -a`, `fmdump`, `fmdump -e`.

Samples::

    IDENTIFIER TIMESTAMP  T C RESOURCE_NAME  DESCRIPTION
    A924A5FC   0414055816 P S SYSPROC        SOFTWARE PROGRAM ABNORMALLY TERMINATED
    LABEL:          CORE_DUMP
    Date/Time:       Thu Apr 14 05:58:16 MEST 2016
    TIME                 UUID                                 SUNW-MSG-ID EVENT
    Apr 14 05:58:39.2345 4d3a1f2e-0b1c-4e5d-8f90-a1b2c3d4e5f6 SUN4V-8000-E2 Diagnosed

Table: logs, source errpt: code = identifier, SUNW-MSG-ID or class of the report; severity = type (P, PERM ...), op = class (H, S ...),
program = resource, text = label and description. Clock: wall-local; newest first in errpt, oldest first in fmdump. Traps: the stamp of
errpt is MMDDhhmmYY; fmdump and errpt -a of AIX 5.1 and before print no year (a question); a record of -a spans many lines and is one row.
Known gaps: detail data of -a, the FRU lines of fmdump -v.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from parsers.clocks import stamp_falls, yearless
from parsers.columns.small_texts import Rows, share, whole
from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, month, span_s, wall_seconds

SHORT_HEAD = r"^IDENTIFIER +TIMESTAMP +T +C +RESOURCE_NAME"
SHORT = r"^([0-9A-F]{8})[ \t]+([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})[ \t]+([PTIU])[ \t]+([HSOU])[ \t]+(\S+)[ \t]+(\S.*)$"
FULL = (
    r"^(?:LABEL|IDENTIFIER|Date/Time|Sequence Number|Machine Id|Node Id|Class|Type|WPAR|Resource Name|Resource Class|Resource Type|Location|VPD):[ \t]+\S"
    r"|^(?:Description|Probable Causes|User Causes|Failure Causes|Install Causes|Recommended Actions|Detail Data)$"
)
FMDUMP_HEAD = r"^TIME +(?:UU?ID +SUNW-MSG-ID|CLASS)"
FMDUMP = (
    r"^([A-Z][a-z]{2}) +([0-9]{1,2}) (?:([0-9]{4}) )?([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]{1,9})?) +"
    r"(?:[0-9a-f]{8}-[0-9a-f-]{14,28} +([A-Z0-9]+-[0-9A-Z]+-[0-9A-Z]+)(?: +(\S.*))?|((?:e?report|fault|defect|list|resource|upset)\.[A-Za-z0-9._@-]+).*)$"
)
FORMATS = tuple(
    Format(
        kind="errpt",
        variant=variant,
        version="1",
        systems=systems,
        tables=("logs",),
        man=man,
        example=example,
        clocks=("wall-local",),
        own=own,
    )
    for variant, systems, man, example, own in (
        ("short", ("aix",), "errpt(1)", "errpt", rf"{SHORT_HEAD}|{SHORT}"),
        ("full", ("aix",), "errpt(1)", "errpt -a", FULL),
        ("fmdump", ("solaris",), "fmdump(1M)", "fmdump -e", rf"{FMDUMP_HEAD}|{FMDUMP}"),
    )
)

_PATTERNS = {f.variant: re.compile(f.own) for f in FORMATS}
FIELD = re.compile(r"(LABEL|IDENTIFIER|Date/Time|Class|Type|Resource Name):[ \t]+(\S.*)")
DATE = re.compile(
    r"(?:\S+ +)?([A-Za-z]{3,9}) +([0-9]{1,2}) +([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?: +([A-Z][A-Za-z0-9:+-]*))?(?: +([0-9]{4}))?"
)
RULE = re.compile(r"-{20,}")


def claim(head: Head) -> Claim | None:
    """Claim by headers, field names and rows."""
    text = head.text
    words = ("IDENTIFIER", "LABEL:", "SUNW-MSG-ID", "report.")
    if not any(w in text for w in words) and not any(re.match(SHORT, x) for x in head.lines[:2]):
        return None
    for variant, pattern in _PATTERNS.items():
        if not any(pattern.match(x) for x in head.lines[:40]):
            continue
        count, fraction = share(head, pattern)
        if variant == "full" and "LABEL:" in text and "Date/Time:" in text and fraction >= 0.15:
            return Claim(0.95, f"{count} fields of errpt -a", variant)
        if variant != "full" and fraction >= 0.5:
            headed = re.search(rf"(?m){SHORT_HEAD}|{FMDUMP_HEAD}", text)
            return Claim((0.5 if headed else 0.45) + 0.45 * fraction, f"{count} lines of {variant}", variant)
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open record of -a and the year of fmdump."""
    for block in source.blocks():
        if state["variant"] == "short":
            _short(block.frame, out)
        elif state["variant"] == "fmdump":
            _fmdump(block.frame, source, out, state)
        else:
            _full(block.frame, source, out, state)
    if source.last and state["variant"] == "full":
        rows = Rows()
        _close(rows, out, state)
        rows.give(out)
    if span := state.get("span"):
        first, last, lowest, highest = span
        out.domain(Domain(1, "wall-local", WALL_BASE, state.get("zone"), lowest, highest, [(first, last)]))
    return state


def _short(frame: pl.DataFrame, out: Tables) -> None:
    line = pl.col("line")
    out.read(frame.filter(line.str.contains(SHORT_HEAD))["line_no"])
    names = ["code", "mon", "day", "h", "m", "year", "severity", "op", "program", "text"]
    rows = frame.with_columns(g=line.str.extract_groups(SHORT).struct.rename_fields(names)).unnest("g")
    rows = rows.filter(pl.col("code").is_not_null())
    if rows.is_empty():
        return
    number = {n: pl.col(n).cast(pl.Int32, strict=False) for n in ("mon", "day", "h", "m", "year")}
    # A year of two digits is 1970 or later, because the tool is.
    year = number["year"] + pl.when(number["year"] < 70).then(2000).otherwise(1900)
    valid = (number["h"] < 24) & (number["m"] < 60)
    seconds = (
        yearless.day_seconds(year, number["mon"], number["day"])
        + number["h"].cast(pl.Float64) * 3600
        + number["m"].cast(pl.Float64) * 60
    )
    rows = rows.with_columns(t_local=pl.when(valid).then(seconds))
    _domain(rows, out, 60.0)
    out.add(
        "logs", rows.select("line_no", "t_local", "code", "severity", "op", "program", "text", source=pl.lit("errpt"))
    )


def _fmdump(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    line = pl.col("line")
    out.read(frame.filter(line.str.contains(FMDUMP_HEAD))["line_no"])
    names = ["mon", "day", "year", "h", "m", "s", "id", "event", "class"]
    rows = frame.with_columns(g=line.str.extract_groups(FMDUMP).struct.rename_fields(names)).unnest("g")
    rows = rows.filter(pl.col("mon").is_not_null()).with_columns(line_end=pl.col("line_no"))
    if rows.is_empty():
        return
    # The first stamp decides whether stamps have a year; a stamp of the other sort gives no time.
    if not state.setdefault("dated", rows["year"][0] is not None):
        seconds = yearless.seconds(rows, source.hints, state)
        rows = rows.with_columns(t_local=pl.when(pl.col("year").is_null()).then(seconds))
        yearless.report(rows, source.hints, out, state)
    else:
        at = [_seconds(*r) if r[0] else None for r in rows.select("year", "mon", "day", "h", "m", "s").iter_rows()]
        rows = rows.with_columns(t_local=pl.Series(at, dtype=pl.Float64))
        stamp_falls.remark(rows, out, state.setdefault("falls", {}))
        _domain(rows, out, None)
    logs = rows.select(
        "line_no",
        "t_local",
        code=pl.coalesce("id", "class"),
        op="event",
        text=pl.coalesce("event", "class"),
        source=pl.lit("errpt"),
    )
    out.add("logs", logs)


def _seconds(year: str, mon: str, day: str, h: str, m: str, s: str) -> float | None:
    number = month(mon)
    return wall_seconds(int(year), number, int(day), int(h), int(m), float(s)) if number else None


def _full(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    """Read errpt -a: a record begins with LABEL and extends to the next one."""
    rows = Rows()
    for line_no, line in zip(frame["line_no"].to_list(), frame["line"].to_list(), strict=True):
        text = line.strip()
        record: dict[str, Any] | None = state.get("record")
        if not text:
            # A blank line within a record belongs to it, so that the end of a run makes no difference.
            out.read([line_no] if record else [])
            continue
        match = FIELD.fullmatch(text)
        if (match and match[1] == "LABEL") or RULE.fullmatch(text):
            _close(rows, out, state)
            out.read([line_no])
            state["record"] = record = {"line_no": line_no, "line_end": line_no, "text": ""} if match else None
        if record is None:
            continue
        out.read([line_no])
        record["line_end"] = line_no
        if match:
            _field(record, match[1], match[2], source, out, state)
        elif record.pop("described", False):
            record["text"] = f"{record['text']}: {text}"
        elif text == "Description":
            record["described"] = True
    rows.give(out)


def _field(record: dict[str, Any], name: str, value: str, source: Source, out: Tables, state: State) -> None:
    if name == "LABEL":
        record["text"] = value
    elif name == "Date/Time":
        date = DATE.fullmatch(value)
        number = month(date[1]) if date else None
        # errpt of AIX 5.1 and before prints no year (`Sun Jan  9 03:44:04 BEIS`).
        year = (date[7] if date else None) or source.hints.year or (source.hints.date or "")[:4]
        if date and number and year:
            record["t_local"] = wall_seconds(int(year), number, int(date[2]), int(date[3]), int(date[4]), int(date[5]))
            record["zone"] = date[6]
        else:
            line_no = record["line_end"]
            out.note(line_no, line_no, "remark", f"no time could be read from {value!r}")
            if date and number and not state.get("asked"):
                state["asked"] = True
                out.ask(yearless.question(line_no))
    else:
        record[{"IDENTIFIER": "code", "Class": "op", "Type": "severity", "Resource Name": "program"}[name]] = value


def _close(rows: Rows, out: Tables, state: State) -> None:
    record = state.pop("record", None)
    if record is None:
        return
    record.pop("described", None)
    zone, t = record.pop("zone", None), record.get("t_local")
    if t is not None:
        # Report one domain for all records: reported record by record, its ranges would be merged anew each time.
        first, _, lowest, highest = state.get("span") or [record["line_no"], 0, t, t]
        state["span"] = [first, record["line_end"], min(lowest, t), max(highest, t)]
        state["zone"] = state.get("zone") or zone
    rows.add("logs", **record, source="errpt")


def _domain(rows: pl.DataFrame, out: Tables, step_s: float | None) -> None:
    begin, end = span_s(rows["t_local"])
    if begin is not None:
        ends = (whole(str(rows["line_no"][0])) or 0, whole(str(rows["line_no"][-1])) or 0)
        out.domain(Domain(1, "wall-local", WALL_BASE, None, begin, end, [ends], resolution_s=step_s))
