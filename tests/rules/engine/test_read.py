"""Tests of the pages' own queries: views with host and clock joined, and only the named tables."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from parsers.reading import read
from parsers.text.source import Hints
from rules.engine import read as read_only
from rules.engine import views
from rules.engine.read import ReadOnly
from rules.errors import TablesBusy, TablesTooLarge
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


def test_text_that_no_format_knows_is_shown_to_who_asks_for_it(tmp_path: Path) -> None:
    original = tmp_path / "app.log"
    original.write_text("2026-11-28 02:14:07.100 INFO one\n2026-11-28 02:15:07.100 ERROR two\n")
    read(original, Hints(), tmp_path / "reading")
    part = PartSpec(1, 1, 2, host="app1")
    spec = CaseSpec(
        artifacts=(
            ArtifactSpec(1, "app.log", original=str(original), reading=str(tmp_path / "reading"), parts=(part,)),
        )
    )
    for with_text, lines in ((False, []), (True, [1, 2])):
        with ReadOnly(spec, ["logs"], with_text=with_text) as source:
            assert [row["line_no"] for row in source.query("select line_no from logs order by 1")] == lines


def test_only_named_evidence_tables_are_there(spec: CaseSpec) -> None:
    with ReadOnly(spec, ["conn_times"]) as source, pytest.raises(Exception, match="sqlnet"):
        source.query("select * from sqlnet")
    for name in ("no_such_table", "hosts"):
        with pytest.raises(KeyError, match=name):
            ReadOnly(spec, [name])


def many(spec: CaseSpec, n: int) -> CaseSpec:
    """Return a case of `n` artifacts with one file, whose lines belong to two hosts each."""
    first = spec.artifacts[0]
    parts = (PartSpec(1, 1, 5, host="a", phase="good"), PartSpec(1, 6, 20, host="b", phase="bad"))
    return replace(spec, artifacts=tuple(replace(first, id=number, parts=parts) for number in range(1, n + 1)))


def test_rows_of_one_file_get_the_host_and_phase_of_their_stretch(spec: CaseSpec) -> None:
    with ReadOnly(many(spec, 1), ["conn_times"]) as source:
        found = source.query(
            "select host, phase, count(*) as n, min(line_no) as first from conn_times group by 1, 2 order by 1"
        )
    assert [tuple(row.values()) for row in found] == [("a", "good", 5, 1), ("b", "bad", 15, 6)]


def test_a_room_of_many_artifacts_is_one_scan_and_stays_in_its_memory(spec: CaseSpec) -> None:
    with ReadOnly(many(spec, 700), ["conn_times"]) as source:
        found = source.query(
            "select host, list(distinct phase) as phases, median(elapsed_s) as middle from conn_times group by 1"
        )
        assert len(found) == 2
        (plan,) = {
            row["explain_value"]
            for row in source.query("explain select count(elapsed_s) from conn_times where host = 'a'")
        }
        assert plan.count("READ_PARQUET") == 1


def test_a_query_out_of_memory_says_so(spec: CaseSpec) -> None:
    with ReadOnly(spec, ["conn_times"]) as source:
        source.query("set memory_limit = '20MB'")
        with pytest.raises(TablesTooLarge):
            source.query("select list(a.range) as x from range(9000000) a, conn_times b group by a.range % 7")
        assert len(source.query("select line_no from conn_times")) == 20, "the next question is answered"


def test_few_queries_run_at_once_and_a_thread_that_has_a_turn_keeps_it(
    spec: CaseSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_only, "WAIT_S", 0.05)
    free, taken = threading.Event(), threading.Barrier(read_only.AT_ONCE + 1)

    def hold() -> None:
        with read_only._turn(), read_only._turn():
            taken.wait(10)
            free.wait(10)

    holders = [threading.Thread(target=hold) for _ in range(read_only.AT_ONCE)]
    for one in holders:
        one.start()
    taken.wait(10)
    with ReadOnly(spec, ["conn_times"]) as source:
        with pytest.raises(TablesBusy):
            source.query("select 1 from conn_times")
        free.set()
        for one in holders:
            one.join(10)
        assert len(source.query("select line_no from conn_times")) == 20


def test_a_row_in_no_stretch_keeps_its_artifact(spec: CaseSpec) -> None:
    parts = (PartSpec(1, 1, 5, host="a"), PartSpec(1, 6, 10, host="b"))
    with ReadOnly(replace(spec, artifacts=(replace(spec.artifacts[0], parts=parts),)), ["conn_times"]) as source:
        found = source.query(
            "select artifact_id, host, count(*) as n from conn_times group by 1, 2 order by 2 nulls last"
        )
    assert [tuple(row.values()) for row in found] == [(7, "a", 5), (7, "b", 5), (7, None, 10)]


def test_one_artifact_after_the_other_opens_its_own_files_only(spec: CaseSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    build = views.build

    def watched(case, wanted, scratch, filled=None):
        built.append((tuple(wanted), tuple(filled or ())))
        return build(case, wanted, scratch, filled)

    monkeypatch.setattr(views, "build", watched)
    counted = "select artifact_id, count(*) as n from conn_times group by all order by all"
    with ReadOnly(many(spec, 5), ["conn_times", "syscalls"]) as source:
        assert built == [], "no view is made before a query needs it"
        with source.over({2, 4, 99}):
            assert source.query(counted) == [{"artifact_id": 2, "n": 20}, {"artifact_id": 4, "n": 20}]
            assert source.query("select * from syscalls") == []
        with source.over({3}):
            assert source.query(counted) == [{"artifact_id": 3, "n": 20}]
        assert len(source.query(counted)) == 5
        assert len(source.query(counted)) == 5
    assert built == [
        (("conn_times",), (2, 4)),
        (("syscalls",), (2, 4)),
        (("conn_times",), (3,)),
        (("conn_times",), (1, 2, 3, 4, 5)),
        ((), (1, 2, 3, 4, 5)),
    ]
