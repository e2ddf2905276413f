"""Read texts that are small by nature (settings, listings of a host) line by line.

Large texts (logs, counters, address maps) are read as columns instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import polars as pl

from parsers.tables.rows import Domain, State, Tables
from parsers.tables.schema import schema
from parsers.text.notes import ELISION
from parsers.text.source import Head, Source

LOOK_LINES = 400
_SIZE = re.compile(r"([0-9]+(?:[.,][0-9]+)?) ?([kKMGTPE]?)(i?[bB]?)")
_KB = {"": 1 / 1024, "k": 1.0, "K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4, "E": 1024.0**5}


class Rows:
    """Collects rows by table; `give` adds them to the part. Values have the names of the table's columns."""

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def add(self, table: str, line_no: int, **values: Any) -> None:
        self._rows.setdefault(table, []).append({"line_no": line_no, **values})

    def last(self, table: str) -> dict[str, Any] | None:
        """Return the latest row, which may still be changed, or None."""
        rows = self._rows.get(table)
        return rows[-1] if rows else None

    def give(self, out: Tables, ends: Collection[str] = ()) -> None:
        """Add the rows to the part; of tables in `ends`, only the first and last line of a row count as read."""
        for table, rows in self._rows.items():
            columns = schema(table)
            names = dict.fromkeys(name for row in rows for name in row)
            frame = {name: [row.get(name) for row in rows] for name in names}
            made = pl.DataFrame(frame, schema={name: columns[name] for name in names}, strict=False)
            out.add(table, made, span="ends" if table in ends else "all")
        self._rows.clear()


class Settings:
    """Rows of `params` of one run; of several active rows for one setting, only the last stays active.

    Rows are for one setting if scope, entity, name and privilege are equal. `many` holds the names of parameters that
    may be set several times; None means all.
    """

    KEY = ("scope", "entity", "name", "privilege")
    COLUMNS = ("line_no", "line_end", *KEY, "value", "num", "list", "active")

    def __init__(self, many: frozenset[str] | None = frozenset()) -> None:
        self._many = many
        self._rows: list[dict[str, Any]] = []
        self._frames: list[pl.DataFrame] = []

    def add(self, line_no: int, **values: Any) -> None:
        """Add a row; `line_end` defaults to `line_no`, `active` to true."""
        self._rows.append({"line_no": line_no, "line_end": line_no, "active": True, **values})

    @property
    def last(self) -> dict[str, Any] | None:
        """The latest row since `settle`, which may still be changed."""
        return self._rows[-1] if self._rows else None

    def settle(self, keep: int = 0) -> None:
        """Convert all rows but the last `keep` to columns, which need less memory; call it once a block."""
        columns = schema("params")
        rows, self._rows = (self._rows[:-keep], self._rows[-keep:]) if keep else (self._rows, [])
        frame = {name: [row.get(name) for row in rows] for name in self.COLUMNS}
        self._frames.append(pl.DataFrame(frame, schema={n: columns[n] for n in self.COLUMNS}, strict=False))

    def frame(self, frame: pl.DataFrame) -> None:
        """Add rows that are a data frame already."""
        self._frames.append(frame)

    def give(self, out: Tables) -> None:
        self.settle()
        rows = pl.concat(self._frames, how="diagonal_relaxed").sort("line_no", maintain_order=True)
        self._frames = []
        if self._many is not None:
            keys = [k for k in self.KEY if k in rows.columns]
            place = pl.col("place")
            last = place == pl.when(pl.col("active")).then(place).max().over(keys)
            counts = last | pl.col("name").is_in(list(self._many))
            rows = rows.with_row_index("place").with_columns(active=pl.col("active") & counts).drop("place")
        out.add("params", rows)


def whole(text: str | None, base: int = 10) -> int | None:
    """Parse an integer that fits a column; None for anything else.

    >>> whole("16"), whole("0x10", 16), whole("99999999999999999999"), whole("-"), whole("1_0")
    (16, 16, None, None, None)
    """
    if text is None or not re.fullmatch(r"[+-]?(?:0[xX])?[0-9a-fA-F]{1,20}", text):
        return None
    try:
        value = int(text, base)
    except ValueError:
        return None
    return value if -(2**63) <= value < 2**63 else None


def number(text: str | None) -> float | None:
    """Parse a decimal or 0x number as Float64 (large ones lose their last digits); None for anything else.

    >>> number("18446744073692774399"), number("0x10"), number("-1"), number("4 4 1 7")
    (1.8446744073692774e+19, 16.0, -1.0, None)
    """
    if text is None:
        return None
    if re.fullmatch(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?", text):
        return float(text)
    return float(int(text, 16)) if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", text) else None


def kilobytes(text: str | None) -> float | None:
    """Parse a size with its unit (`9.6G`, `512 MB`, `0B`, `64,0GB`) as kB of 1024 bytes; without a unit it is bytes.

    >>> kilobytes("1.5G"), kilobytes("8K"), kilobytes("64,0GB"), kilobytes("2048"), kilobytes("none")
    (1572864.0, 8.0, 67108864.0, 2.0, None)
    """
    match = _SIZE.fullmatch(text.strip()) if text else None
    return float(match[1].replace(",", ".")) * _KB[match[2]] if match else None


_ELISION = re.compile(ELISION)


def share(head: Head, pattern: re.Pattern[str]) -> tuple[int, float]:
    """Return the number of lines that match a pattern and their share of the filled lines (of the first few hundred)."""
    if (filled := head.known.get("filled")) is None:
        filled = [x for x in head.lines[:LOOK_LINES] if x and not x.isspace() and not _ELISION.match(x)]
        head.known["filled"] = filled
    found = sum(1 for x in filled if pattern.search(x))
    return found, found / len(filled) if filled else 0.0


Take = Callable[[int, str, Rows, list[int], State], None]
"""Function that takes a line (its number and text) and adds rows, or adds the number to the lines read without a row.
"""


def by_lines(source: Source, out: Tables, state: State, take: Take, close: Callable[[Rows, State], None]) -> State:
    """Read a run of a small text without dates, line by line.

    `state["record"]` is a record that is still open, whose `lines` count as read; `close` ends it.
    """
    rows = Rows()
    plain: list[int] = []
    for block in source.blocks():
        for line_no, line in block.frame.rows():
            take(line_no, line, rows, plain, state)
    if source.last:
        close(rows, state)
    elif "record" in state:
        plain += state["record"]["lines"]
    out.read(plain)
    rows.give(out)
    if source.next_line > source.first_line:
        out.domain(Domain(1, "none", lines=[(source.first_line, source.next_line - 1)]))
    return state
