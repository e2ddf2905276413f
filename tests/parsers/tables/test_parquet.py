"""Test the writer thread and the manifest."""

from __future__ import annotations

import json
import os

import polars as pl
import pyarrow as pa
import pytest

from parsers.reading import read
from parsers.tables import parquet
from parsers.tables.parquet import Writer, load_manifest, save_manifest
from parsers.text.source import Hints


def test_a_full_disk_is_an_error_and_nothing_counts(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("connect: 0.5\n" * 100, encoding="utf-8")

    def full(target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "sync", full)
    with pytest.raises(OSError, match="No space left"):
        read(path, Hints(), tmp_path / "r")
    assert load_manifest(tmp_path / "r") is None
    monkeypatch.undo()
    assert read(path, Hints(), tmp_path / "r").tables == {"conn_times": 100}
    assert len(parquet.scan(tmp_path / "r", "conn_times").collect()) == 100


def test_a_writer_that_failed_never_blocks_its_caller(tmp_path):
    (tmp_path / "t").write_text("a file where a folder should be", encoding="utf-8")
    writer = Writer(tmp_path, 1)
    rows = pa.table({"line_no": list(range(50_000))})
    with pytest.raises(OSError, match="t"):  # noqa: PT012
        for _ in range(20):
            writer.write("t", rows)
        writer.close()


def test_an_abandoned_batch_leaves_no_thread(tmp_path):
    writer = Writer(tmp_path, 1)
    writer.write("t", pa.table({"line_no": [1]}))
    writer.abandon()
    assert not writer._thread.is_alive()


def test_the_manifest_is_replaced_whole(tmp_path):
    save_manifest(tmp_path, {"batches": [], "n": 1})
    (tmp_path / "manifest.json.new").write_text("{half", encoding="utf-8")
    assert load_manifest(tmp_path) == {"batches": [], "n": 1}
    save_manifest(tmp_path, {"batches": [], "n": 2})
    assert json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["n"] == 2
    assert not os.path.exists(tmp_path / "manifest.json.new")
    with pytest.raises(ValueError, match="JSON compliant"):
        save_manifest(tmp_path, {"n": float("nan")})


def test_only_counted_files_are_read(tmp_path):
    save_manifest(tmp_path, {"batches": [{"batch": 1, "tables": {"logs": 1}}, {"batch": 2, "tables": {}}]})
    for batch in (1, 2, 3):
        file = parquet.batch_file(tmp_path, "logs", batch)
        file.parent.mkdir(exist_ok=True)
        pl.DataFrame({"line_no": [batch]}).write_parquet(file)
    assert parquet.tables(tmp_path) == ["logs"]
    assert [f.name for f in parquet.files(tmp_path, "logs")] == ["000001.parquet"]
    parquet.drop_uncounted(tmp_path, 2)
    assert sorted(f.name for f in (tmp_path / "logs").iterdir()) == ["000001.parquet", "000002.parquet"]


def test_a_folder_without_a_reading_is_empty(tmp_path):
    assert parquet.tables(tmp_path) == []
    assert parquet.files(tmp_path, "logs") == []
