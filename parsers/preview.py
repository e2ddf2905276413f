"""Preview of a reading: the first lines of a part, read with given hints, so that a person can compare choices."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from parsers.errors import ParserError
from parsers.lines import LineReader
from parsers.reading import account_of, read
from parsers.tables import parquet
from parsers.text.source import Hints
from parsers.text.spelling import visible

LINES = 200
ROWS = 6
COLUMNS = 8
LONGEST_CELL = 60
MOST_CHARACTERS = 1_000_000
_LEFT_OUT = ("part", "line_end", "raw")


@dataclass(frozen=True)
class Preview:
    """Result of reading the first lines: line account, row counts by table, first rows of the fullest table as texts.

    `first_at` is the first time of the first wall clock, as local time. `error` is the reason if the lines cannot be
    read with these hints.
    """

    hints: Hints
    lines: int
    account: dict[str, int]
    tables: dict[str, int]
    table: str | None = None
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    first_at: str | None = None
    error: str | None = None

    @property
    def read_share(self) -> int:
        """Percentage of the filled lines that were read."""
        filled = sum(self.account.get(name, 0) for name in ("read", "unknown", "damaged"))
        return round(100 * self.account.get("read", 0) / filled) if filled else 0


def preview(reader: LineReader, name: str, hints: Hints, line_from: int = 1, line_to: int | None = None) -> Preview:
    """Read the first 200 lines of [line_from, line_to] with these hints into a temporary folder."""
    last = min(line_to or reader.count, line_from + LINES - 1)
    texts: list[str] = []
    size = 0
    for _, text in reader.texts(line_from, last):
        size += len(text)
        if texts and size > MOST_CHARACTERS:
            break
        texts.append(text)
    with tempfile.TemporaryDirectory(prefix="exhibit-preview-") as folder:
        file, out = Path(folder) / "lines", Path(folder) / "reading"
        file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", newline="")
        error = None
        try:
            account = read(file, hints, out, name=name)
            error = "; ".join(map(str, account.misfits)) or None
        except ParserError as failed:
            error = str(failed)
            account = failed.account or account_of(parquet.load_manifest(out) or {}, name)
        table = max(account.tables, key=lambda t: account.tables[t], default=None)
        columns, rows = first_rows(out, table, line_from) if table else ([], [])
        return Preview(
            hints, len(texts), asdict(account.account), account.tables, table, columns, rows, _first_at(account), error
        )


def first_rows(reading: Path, table: str, line_from: int = 1) -> tuple[list[str], list[list[str]]]:
    """Return the columns of a table that are not empty in its first rows, and those rows as texts for display.

    Of tables that no format knows, the first one's own columns are shown.

    Works during a reading too: it sees the batches that the manifest counts. `line_from` is the number, in the whole
    file, of the first line that was read.
    """
    frame = parquet.scan(reading, table).head(ROWS).collect()
    frame = frame.with_columns(pl.col("line_no") + line_from - 1)
    if table == "rows" and frame.height:
        heading = frame["heading"][0].to_list()[:COLUMNS]
        cells = frame.filter(pl.col("table_no") == frame["table_no"][0])["cells"].to_list()
        return [_cell(name) for name in heading], [[_cell(cell) for cell in row[:COLUMNS]] for row in cells]
    filled = [name for name in frame.columns if name not in _LEFT_OUT and frame[name].null_count() < frame.height]
    frame = frame.select(filled[:COLUMNS])
    return frame.columns, [[_cell(value) for value in row] for row in frame.iter_rows()]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    return visible(text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + "\u2026")


def _first_at(account: Any) -> str | None:
    from parsers.text.times import WALL_BASE

    for part in account.parts:
        for domain in part.domains:
            if domain.base == WALL_BASE and domain.t_begin is not None:
                stamp = pl.select(
                    pl.from_epoch(pl.lit(int(domain.t_begin)), time_unit="s").dt.to_string("%A %-d %B %Y %H:%M:%S")
                )
                return f"{stamp.item()}{' ' + domain.zone if domain.zone else ''}"
    return None
