"""Write evidence tables to disk and read them: one immutable file per table and batch, counted by the manifest."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from parsers.containers.disk import sync
from parsers.tables.schema import schema

if TYPE_CHECKING:
    import pyarrow.parquet as pq

GROUP_ROWS = 25_000
"""Number of waiting rows at which a row group is written; the end of a batch also writes one."""

GROUP_MAX = 120_000
RISING = ("line_no", "line_end", "seq", "prev_line", "sample", "offset")
"""Integer columns whose values rise from row to row."""

SAMPLE_ROWS = 4000
FEW = 20
"""Minimum number of rows per distinct value, in the first SAMPLE_ROWS, for a column to get a dictionary."""

# Arrow's default allocator keeps the memory used for a row group: 40 MB more at the peak, and no faster.
pa.set_memory_pool(pa.system_memory_pool())

OWN_FOLDERS = ("line_index", "secrets")
"""Folders of a reading that are not evidence tables."""


class Writer:
    """Writes the files of one batch in a thread of its own.

    After `close` everything is on disk, but nothing counts until the manifest lists the batch.
    """

    def __init__(self, reading: Path, batch: int) -> None:
        self._reading = reading
        self._batch = batch
        self._queue: Queue[tuple[str, pa.Table] | None] = Queue(maxsize=1)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="parquet", daemon=True)
        self._thread.start()

    def write(self, table: str, rows: pa.Table) -> None:
        """Pass rows to the thread; wait while it writes others. Raises the error that the thread met, if any."""
        self._raise()
        self._queue.put((table, rows))

    def close(self) -> None:
        """Wait until all files are written and synced."""
        self._queue.put(None)
        self._thread.join()
        self._raise()

    def abandon(self) -> None:
        """Stop writing: the manifest will not count this batch."""
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
            # Raised again in the caller's thread. Keep emptying the queue, or that thread waits for ever.
            self._error = error
            while job is not None:
                job = self._queue.get()

    def _group(self, table: str, group: list[pa.Table], open_files: dict[str, pq.ParquetWriter]) -> None:
        if not group:
            return
        import pyarrow.parquet as pq  # with the clients of all its file systems: not for a reading that writes nothing

        rows = pa.concat_tables(group)
        group.clear()
        if table not in open_files:
            file = batch_file(self._reading, table, self._batch)
            file.parent.mkdir(parents=True, exist_ok=True)
            # Statistics are for pruning by line and time. Delta encoding of rising numbers and byte-stream split of
            # floats halve their size or better, in three quarters of the time.
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
    """Return the columns that deserve a dictionary because their first rows hold few distinct values.

    For numbers that differ (lines, stamps) a dictionary doubles time and size; for texts that differ (arguments) it
    costs half as much.
    """
    sample = rows.slice(0, SAMPLE_ROWS)
    kinds = (pa.types.is_large_string, pa.types.is_integer)
    some = [f.name for f in rows.schema if any(is_kind(f.type) for is_kind in kinds)]
    return [name for name in some if pl.Series(sample[name]).drop_nulls().n_unique() * FEW <= len(sample)]


def _encoding(field: pa.Field) -> str | None:
    if pa.types.is_floating(field.type):
        return "BYTE_STREAM_SPLIT"
    return "DELTA_BINARY_PACKED" if field.name in RISING else None


def batch_file(reading: Path, table: str, batch: int) -> Path:
    return reading / table / f"{batch:06}.parquet"


def load_manifest(reading: Path) -> dict[str, Any] | None:
    """Return the manifest of a reading directory, None if it has none."""
    try:
        manifest: dict[str, Any] = json.loads((reading / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return manifest


def save_manifest(reading: Path, manifest: dict[str, Any]) -> None:
    """Replace the manifest atomically: from now on exactly its batches count."""
    fresh = reading / "manifest.json.new"
    with fresh.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(manifest, ensure_ascii=False, allow_nan=False))  # `dump` would take ten times as long
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(reading / "manifest.json")
    sync(reading)


def drop_uncounted(reading: Path, batches: int) -> None:
    """Remove files of batches that a killed process left behind and the manifest does not count."""
    for file in reading.glob("*/*.parquet"):
        if int(file.stem) > batches:
            file.unlink()


def tables(reading: Path) -> list[str]:
    """Return the names of the evidence tables that have rows in a reading."""
    manifest = load_manifest(reading) or {"batches": []}
    return sorted({name for batch in manifest["batches"] for name, n in batch["tables"].items() if n})


def files(reading: Path, table: str) -> list[Path]:
    """Return the files of a table that the manifest counts, in file order."""
    manifest = load_manifest(reading) or {"batches": []}
    numbers = [b["batch"] for b in manifest["batches"] if table in OWN_FOLDERS or b["tables"].get(table)]
    return [f for f in (batch_file(reading, table, n) for n in numbers) if table not in OWN_FOLDERS or f.exists()]


def rows(file: Path) -> int:
    """Return the number of rows of a Parquet file; only its footer is read."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(file).num_rows)


def scan(reading: Path, table: str) -> pl.LazyFrame:
    """Open a table lazily, rows in file order; an evidence table without rows is an empty data frame of its schema."""
    found = files(reading, table)
    if found:
        return pl.scan_parquet(found)
    return pl.LazyFrame(schema=schema(table))
