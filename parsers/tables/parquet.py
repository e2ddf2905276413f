"""Tables to and from disk: one immutable file per table and batch, counted by the manifest."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from queue import Queue
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from parsers.containers.disk import sync
from parsers.tables.schema import schema

GROUP_ROWS = 25_000
"""A row group is written when so many rows wait (or at the end of a batch)."""

GROUP_MAX = 120_000
RISING = ("line_no", "line_end", "seq", "prev_line", "sample", "offset")
"""Whole numbers that rise from row to row."""

SAMPLE_ROWS = 4000
FEW = 20
"""A column has few values where its first SAMPLE_ROWS have at most one for each so many rows."""

# Arrow's own allocator keeps what writing a row group took: 40 MB more at the peak, and no faster.
pa.set_memory_pool(pa.system_memory_pool())

OWN_FOLDERS = ("line_index", "secrets")
"""Folders of a reading that are no evidence tables."""


class Writer:
    """Writes the files of one batch in a thread of its own. After `close` everything is on the disk; nothing counts
    before the manifest says so.
    """

    def __init__(self, reading: Path, batch: int) -> None:
        self._reading = reading
        self._batch = batch
        self._queue: Queue[tuple[str, pa.Table] | None] = Queue(maxsize=1)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="parquet", daemon=True)
        self._thread.start()

    def write(self, table: str, rows: pa.Table) -> None:
        """Hand rows to the thread; waits while another one is under way. Raises what the thread met."""
        self._raise()
        self._queue.put((table, rows))

    def close(self) -> None:
        """Wait until all files are written and synced."""
        self._queue.put(None)
        self._thread.join()
        self._raise()

    def abandon(self) -> None:
        """Stop without promising anything: the manifest will not count this batch."""
        self._queue.put(None)
        self._thread.join()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        waiting: dict[str, list[pa.Table]] = {}
        open_files: dict[str, pq.ParquetWriter] = {}
        try:
            while (job := self._queue.get()) is not None:
                table, rows = job
                group = waiting.setdefault(table, [])
                group.append(rows)
                if sum(len(r) for r in group) >= GROUP_ROWS:
                    self._group(table, group, open_files)
            for table, group in waiting.items():
                self._group(table, group, open_files)
            for table, writer in open_files.items():
                writer.close()
                sync(batch_file(self._reading, table, self._batch))
                sync(self._reading / table)
        except BaseException as error:
            # Raised again where the rows come from. Keep emptying the queue, or that side waits for ever.
            self._error = error
            while job is not None:
                job = self._queue.get()

    def _group(self, table: str, group: list[pa.Table], open_files: dict[str, pq.ParquetWriter]) -> None:
        if not group:
            return
        rows = pa.concat_tables(group)
        group.clear()
        if table not in open_files:
            file = batch_file(self._reading, table, self._batch)
            file.parent.mkdir(parents=True, exist_ok=True)
            # Statistics serve to prune by line and time. Differences of what rises and bytes of floats by their place are
            # packed to a half or less, in three quarters of the time.
            few = _repeating(rows)
            open_files[table] = pq.ParquetWriter(
                file,
                rows.schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=few,
                column_encoding={f.name: kind for f in rows.schema if f.name not in few and (kind := _encoding(f))},
                write_statistics=[f.name for f in rows.schema if f.name in ("line_no", "line_end", "t_local")],
            )
        open_files[table].write_table(rows, row_group_size=GROUP_MAX)


def _repeating(rows: pa.Table) -> list[str]:
    """Name the columns that deserve a dictionary, by the first rows: those of few values.

    Of numbers that differ (lines, stamps) it costs twice the time and size, of texts that differ (arguments) half as much.
    """
    sample = rows.slice(0, SAMPLE_ROWS)
    kinds = (pa.types.is_large_string, pa.types.is_integer)
    some = [f.name for f in rows.schema if any(is_kind(f.type) for is_kind in kinds)]
    return [name for name in some if pc.count_distinct(sample[name]).as_py() * FEW <= len(sample)]


def _encoding(field: pa.Field) -> str | None:
    if pa.types.is_floating(field.type):
        return "BYTE_STREAM_SPLIT"
    return "DELTA_BINARY_PACKED" if field.name in RISING else None


def batch_file(reading: Path, table: str, batch: int) -> Path:
    return reading / table / f"{batch:06}.parquet"


def load_manifest(reading: Path) -> dict[str, Any] | None:
    """Give the manifest of a reading directory, None if it has none."""
    try:
        manifest: dict[str, Any] = json.loads((reading / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return manifest


def save_manifest(reading: Path, manifest: dict[str, Any]) -> None:
    """Replace the manifest atomically: from now on its batches count, and no others."""
    fresh = reading / "manifest.json.new"
    with fresh.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(manifest, ensure_ascii=False, allow_nan=False))  # `dump` takes ten times as long
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(reading / "manifest.json")
    sync(reading)


def drop_uncounted(reading: Path, batches: int) -> None:
    """Remove files of batches that a killed process left and the manifest does not count."""
    for file in reading.glob("*/*.parquet"):
        if int(file.stem) > batches:
            file.unlink()


def tables(reading: Path) -> list[str]:
    """Name the evidence tables that a reading has rows of."""
    manifest = load_manifest(reading) or {"batches": []}
    return sorted({name for batch in manifest["batches"] for name, n in batch["tables"].items() if n})


def files(reading: Path, table: str) -> list[Path]:
    """Give the files of a table that the manifest counts, in file order."""
    manifest = load_manifest(reading) or {"batches": []}
    numbers = [b["batch"] for b in manifest["batches"] if table in OWN_FOLDERS or b["tables"].get(table)]
    return [f for f in (batch_file(reading, table, n) for n in numbers) if table not in OWN_FOLDERS or f.exists()]


def rows(file: Path) -> int:
    """Count the rows of a Parquet file, of which only the footer is read."""
    return int(pq.read_metadata(file).num_rows)


def scan(reading: Path, table: str) -> pl.LazyFrame:
    """Open a table lazily, rows in file order; an evidence table without rows is an empty frame of its schema."""
    found = files(reading, table)
    if found:
        return pl.scan_parquet(found)
    return pl.LazyFrame(schema=schema(table))
