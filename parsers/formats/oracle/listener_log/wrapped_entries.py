"""Repair entries of a listener's log that a paste wrapped or joined: each entry must have a stamp and a return code.

    06-FEB-2025 10:56:39 * (CONNECT_DATA=(SERVICE_NAME=hr)(CID=(PROGRAM=sqlplus)
    (HOST=app1)(USER=u))) * (ADDRESS=(PROTOCOL=tcp)(HOST=192.0.2.4)(PORT=61809)) * establish * hr * 0

A wrapped entry is joined up to the line that ends it. A line with several stamps is split if each piece is complete; two
entries written into each other are reported as damaged and never split.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import oracle_stamps
from parsers.secrets import connect_descriptors
from parsers.tables.rows import Tables

_STAMP = r"[0-9]{1,2}-[^ *]{1,12} ?-[0-9]{2,4} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:[:.][0-9]{3})? \* "
BEGINS = f"^{_STAMP}"
ENDS = r"\* [0-9]{1,5}$"
ENTRY = rf"{BEGINS}(?:.*\* )?[0-9]{{1,5}}$"
"""A whole entry, which fits both BEGINS and ENDS; a stamp contains no asterisk."""
_SECOND = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[:.][0-9]{3})? \* "
_CUT = re.compile(
    rf"\s+(?={_STAMP}|(?:{oracle_stamps.WEEKDAY[1:-1]}|{oracle_stamps.ISO[1:-1]})(?:\s|$)|TNS-[0-9]{{5}}: |TIMESTAMP \* CONNECT"
    r"|(?:(?:32|64)-bit Windows|Linux|Solaris|HPUX) Error: [0-9]+:)"
)
_WHOLE = re.compile(ENTRY)
_BEGIN = re.compile(BEGINS)
_LIMIT_LINES = 20
"""Maximum number of lines into which a paste breaks one entry."""
_LIMIT_REPAIRS = 20_000
"""Maximum number of lines of a block that are repaired; the rest stays unknown, because such a block is not a paste."""
_ROWS = {"line_no": pl.Int64, "line_end": pl.Int64, "line": pl.String}


def mend(lines: pl.DataFrame, out: Tables, *, final: bool) -> tuple[pl.DataFrame, int | None]:
    """Return rows (line_no, line_end, line), one for each entry or other line, and the line of an entry that the block cut, if any."""
    line = pl.col("line")
    begins = line.str.contains(BEGINS)
    odd = lines.with_row_index("at").filter(
        (begins & ~line.str.contains(ENDS)) | line.str.slice(24).str.contains(_SECOND)
    )
    rows = lines.with_columns(line_end=pl.col("line_no")).select(*_ROWS)
    if odd.is_empty():
        return rows, None
    cut, gone, fresh = None, [], []
    texts, numbers = lines["line"], lines["line_no"]
    taken = -1
    for at, line_no, text in odd.select("at", "line_no", "line").head(_LIMIT_REPAIRS).rows():
        if at <= taken:
            continue
        if re.search(_SECOND, text[24:]):
            pieces = _CUT.split(text)
            if all(_WHOLE.match(p) for p in pieces if _BEGIN.match(p)) and len(pieces) > 1:
                fresh += [(line_no, line_no, p) for p in pieces]
                gone.append(at)
                out.note(line_no, line_no, "repaired", f"{len(pieces)} records on one line, taken apart")
            else:
                gone.append(at)
                out.account("damaged", [line_no])
                out.note(line_no, line_no, "damaged", "two entries written into each other")
            continue
        joined, last = _joined(texts, at)
        if joined is not None:
            span = [(int(numbers[i]), str(texts[i])) for i in range(at, last + 1)]
            out.secrets(connect_descriptors.places(connect_descriptors.wrapped_spans(span)))
            fresh.append((line_no, int(numbers[last]), connect_descriptors.masked(joined)))
            gone += range(at, last + 1)
            out.read([line_no for line_no, _ in span])
            out.note(
                line_no,
                int(numbers[last]),
                "repaired",
                "an entry wrapped onto further lines, joined; a blank at a seam may be lost",
            )
            taken = last
        elif not final and last == len(texts) - 1:
            cut = line_no
            break
        else:
            out.account("damaged", [line_no])
    rows = rows.with_row_index("at").filter(~pl.col("at").is_in(gone)).drop("at")
    return pl.concat([rows, pl.DataFrame(fresh, schema=_ROWS, orient="row")]).sort("line_no", maintain_order=True), cut


def _joined(texts: pl.Series, at: int) -> tuple[str | None, int]:
    """Join the lines from `at` on until they are an entry; None if another entry begins first. Also return the last line examined."""
    whole = str(texts[at])
    last = at
    for last in range(at + 1, min(at + _LIMIT_LINES, len(texts))):
        piece = str(texts[last]).strip()
        if not piece or _BEGIN.match(piece) or re.match(oracle_stamps.CLOCK, piece):
            return None, at
        glue = " " if whole.endswith("*") or piece.startswith("*") or whole.count("(") == whole.count(")") else ""
        whole = f"{whole}{glue}{piece}"
        if _WHOLE.match(whole):
            return whole, last
    return None, last
