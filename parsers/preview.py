"""What a part would be as another kind: its first lines read in memory, for a question with both answers shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from parsers.notes import LineAccount, Note
from parsers.parquet import OWN_FOLDERS
from parsers.recognition import recognise
from parsers.registry import choose
from parsers.source import Hints, Limits, Position, Source, open_text
from parsers.tables import Tables
from parsers.transcripts import transcribed

LINES = 200
ROWS = 20


@dataclass(frozen=True)
class Preview:
    """The first lines of a part read as one kind: the account, how many rows each table would get, the first of them."""

    kind: str
    variant: str
    account: LineAccount
    tables: dict[str, int]
    rows: dict[str, list[dict[str, Any]]]
    notes: list[Note]


class _Memory:
    def __init__(self) -> None:
        self.parts: dict[str, list[pa.Table]] = {}

    def write(self, table: str, rows: pa.Table) -> None:
        if table not in OWN_FOLDERS:
            self.parts.setdefault(table, []).append(rows)


def preview(path: Path, lines: tuple[int, int | None], kind: str, variant: str | None = None) -> Preview:
    """Read at most LINES lines of a part (`lines`: its first and last, None for the end of the file) as a kind.

    Secrets are masked as in a reading. Raises UnknownFormat for a kind that does not exist, NotText, OSError.
    """
    limits = Limits()
    first, last = lines
    with (
        transcribed(path, None, limits) as transcript,
        open_text(transcript.path if transcript else path, limits) as text,
    ):
        start = Position(1, text.start)
        begin = text.line_offset(start, first)
        behind = min(first + LINES, last + 1) if last is not None else first + LINES
        end = text.line_offset(start, behind)
        found = recognise(text.head(begin, end))
        chosen = choose(found.claims, Hints(kind=kind, variant=variant))
        hints = found.lead.fill(Hints(kind=kind, variant=chosen.variant))
        at = Position(first, begin)
        source = Source(text, at, end, part=1, hints=hints, last=True, whole=True, dress=found.dress)
        sink = _Memory()
        out = Tables(source, sink)
        state = chosen.module.parse(source, out, {"variant": chosen.variant})
        out.prompts = True
        for _ in source.blocks():
            pass
        batch, _ = out.finish(state)
    rows = {name: pl.from_arrow(pa.concat_tables(parts)) for name, parts in sink.parts.items() if name != "notes"}
    shown = {name: frame.head(ROWS).to_dicts() for name, frame in rows.items() if isinstance(frame, pl.DataFrame)}
    tables = {name: count for name, count in batch.tables.items() if name != "notes"}
    return Preview(kind, chosen.variant, batch.account, tables, shown, batch.notes)
