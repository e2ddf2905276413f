"""Tests of the pages' own queries: views with host and clock joined, and only the named tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.reading import read
from parsers.text.source import Hints
from rules.engine.read import ReadOnly
from rules.model import ArtifactSpec, CaseSpec, PartSpec

TIMES = "".join(f"time elapsed : 0,{n:02d}\n" for n in range(10, 30))


@pytest.fixture
def spec(tmp_path: Path) -> CaseSpec:
    original = tmp_path / "times.txt"
    original.write_text(TIMES)
    read(original, Hints(), tmp_path / "reading")
    part = PartSpec(1, 1, 20, host="gateway", phase="before")
    artifact = ArtifactSpec(7, "times.txt", original=str(original), reading=str(tmp_path / "reading"), parts=(part,))
    waiting = ArtifactSpec(8, "later.txt", reading=str(tmp_path / "nothing"))
    return CaseSpec(artifacts=(artifact, waiting))


def test_rows_come_with_what_the_case_knows(spec: CaseSpec) -> None:
    with ReadOnly(spec, ["conn_times", "syscalls"]) as source:
        assert source.has("conn_times")
        assert not source.has("syscalls")
        rows = source.query(
            "select artifact_id, host, phase, line_no, elapsed_s from conn_times where line_no between $a and $b order by line_no",
            {"a": 2, "b": 3},
        )
        assert rows == [
            {"artifact_id": 7, "host": "gateway", "phase": "before", "line_no": 2, "elapsed_s": 0.11},
            {"artifact_id": 7, "host": "gateway", "phase": "before", "line_no": 3, "elapsed_s": 0.12},
        ]
        assert source.query("select * from syscalls") == []


def test_only_named_evidence_tables_are_there(spec: CaseSpec) -> None:
    with ReadOnly(spec, ["conn_times"]) as source, pytest.raises(Exception, match="sqlnet"):
        source.query("select * from sqlnet")
    for name in ("no_such_table", "hosts"):
        with pytest.raises(KeyError, match=name):
            ReadOnly(spec, [name])
