"""Tests of people's questions: the restricted child, its answers, refusals and messages, and the tables of a case that
can be queried.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest

from rules.engine import asked, shelf
from rules.engine.ask import Answer, Asker, Limits, NotAnswered, unique
from rules.engine.ask_words import complaint
from rules.engine.result_files import parquet
from rules.model import CaseSpec

PATIENT = Limits(limit_s=30.0, load_s=60.0)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("table") / "t.parquet"
    pl.DataFrame({"pid": range(300), "name": ["read"] * 300, "args": ["x"] * 300}).write_parquet(file)
    return f"select * from read_parquet('{file}')"


def answer(view: str, sql: str, limits: Limits = PATIENT) -> Answer:
    with Asker(limits) as asker:
        used = asker.check(sql, {"t"})
        asker.load({"t": view}, used)
        return asker.ask(sql, {"pid", "name", "args"})


def test_a_question_sees_the_columns_it_names_and_rows_beyond_the_limit_are_counted(view: str) -> None:
    with Asker(PATIENT) as asker:
        used = asker.check("select PID, t.name from t order by pid", {"t"})
        assert (used.tables, used.columns) == (("t",), ("name", "pid", "t"))
        assert asker.load({"t": view, "u": "select 1"}, used) == {"t": 300}
        made = asker.ask("select PID, t.name from t order by pid")
        assert (made.columns, made.types, len(made.rows), made.more) == (
            ("pid", "name"),
            ("BIGINT", "VARCHAR"),
            200,
            100,
        )
        with pytest.raises(NotAnswered) as refused:
            asker.ask("select args from t", {"args", "pid"})
        assert refused.value.where == "line 1, column 8"
        with pytest.raises(NotAnswered, match="is not allowed"):
            asker.ask("select * from read_text('/etc/hostname')")
        # The same child with a second load: nothing of the first load is left.
        asker.load({"t": "select 1 as one"}, asker.check("select one from t", {"t"}))
        assert asker.ask("select * from t").rows == ((1,),)


def test_an_answer_has_an_end_in_bytes_too(view: str) -> None:
    made = answer(
        view, "select list(pid) as l from t group by pid % 100", Limits(limit_s=30.0, load_s=60.0, max_bytes=300)
    )
    assert made.full
    assert 0 < len(made.rows) < 100
    assert len(made.rows) + made.more >= 100


def test_a_question_without_end_is_stopped_by_time_and_by_its_person(view: str) -> None:
    endless = "select count(*) from range(1000000) a(i) join range(1000000) b(j) on a.i <> b.j join range(1000000) c(k) on b.j <> c.k"
    with pytest.raises(NotAnswered) as slow:
        answer(view, endless, Limits(limit_s=0.2, load_s=60.0))
    assert slow.value.kind == "slow"

    def stop() -> bool:
        return True

    with Asker(PATIENT, stop) as asker, pytest.raises(NotAnswered) as stopped:
        asker.ask(endless)
    assert stopped.value.kind == "stopped"


def test_a_child_that_dies_is_an_answer(view: str) -> None:
    with Asker(PATIENT) as asker:
        asker.fences()
        assert asker._process is not None
        asker._process.kill()
        asker._process.wait()
        with pytest.raises(NotAnswered) as died:
            asker.check("select 1", ())
        assert died.value.kind == "large"
        assert asker.check("select 1", ()).tables == ()


def test_the_child_answers_in_json_lines(view: str) -> None:
    requests = [
        {"op": "check", "sql": "select $a from t", "tables": ["t"]},
        {"op": "check", "sql": "select 1 from", "tables": []},
        {"op": "load", "views": {"t": view}, "load": {"t": ["pid"]}, "rows": 10, "memory_mb": 256},
        {"op": "ask", "sql": "select nosuch from t", "limit_s": 5, "max_rows": 5, "max_bytes": 1000},
        {
            "op": "ask",
            "sql": "select 1e308 * 10 as x, sum(pid) as s from t",
            "limit_s": 5,
            "max_rows": 5,
            "max_bytes": 1000,
        },
        {"op": "fences"},
    ]
    answers = io.StringIO()
    held = {"memory_limited": True}
    asked.serve(io.StringIO("".join(json.dumps(r) + "\n" for r in requests)), answers, held)
    made = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert made[0]["params"] == ["a"]
    assert (made[1]["error"]["kind"], made[1]["error"]["at"]) == ("refused", 9)
    assert made[2] == {"rows": {"t": 10}}
    assert made[3]["error"]["kind"] == "failed"
    assert made[4]["rows"][0][1] == 45
    assert made[5]["fences"]["memory_limited"] is True


@pytest.mark.parametrize(
    ("text", "words", "where"),
    [
        ('Binder Error: Referenced column "nam" not found in FROM clause!\n\nLINE 2: nam\n        ^', "no column “nam”", "line 2, column 1"),
        ("IO Error: Cannot open file \"/srv/rooms/7/1/syscalls/000001.parquet\": No such file", "could not run this", ""),
        ("Catalog Error: whatever /home/exhibit/.duckdb\n\nLINE 1: ...long line...\n                 ^", "could not run this", "line 1"),
        ("Invalid Input Error: missing ): (", "pattern of a regular expression", ""),
        ("Out of Range Error: Overflow in addition of INT64", "larger than its type holds", ""),
    ],
)  # fmt: skip
def test_only_known_complaints_are_passed_on_and_never_a_path(text: str, words: str, where: str) -> None:
    said = complaint(text, {"name"})
    assert words in said.words
    assert said.where.startswith(where) or not where
    assert "/" not in said.words + said.hint


def test_did_you_mean() -> None:
    text = 'Binder Error: Referenced column "elapsed" not found in FROM clause!'
    assert complaint(text, {"elapsed_s", "pid"}).hint == "Did you mean elapsed_s?"


def test_the_shelf_of_an_empty_case_is_empty_and_says_what_each_table_means() -> None:
    tables = shelf.Shelf(CaseSpec(), None).described()
    assert {table.name for table in tables} >= {"syscalls", "vmstat", "listener_cycles", "statements"}
    assert [table.name for table in tables if table.rows] == []
    assert [table.name for table in tables if not table.meaning] == []
    unknown = [f"{t.name}.{c.name}" for t in tables if not t.derived for c in t.columns if not c.meaning]
    assert unknown == []
    assert shelf.columns_words("vmstat_i") == shelf.columns_words("vmstat")


def test_clocks_of_the_largest_frame_are_the_axis() -> None:
    clocks: list[dict[str, object]] = [
        {"clock": "1.1:1", "frame": "A", "add": 0.0, "err": 0.0},
        {"clock": "2.1:1", "frame": "A", "add": 1.5, "err": 0.2},
        {"clock": "3.1:1", "frame": "B", "add": 9.0, "err": None},
        {"clock": "4.1:1", "frame": None},
    ]
    assert {name: (a.add, a.err) for name, a in shelf.alignments(clocks).items()} == {
        "1.1:1": (0.0, 0.0),
        "2.1:1": (1.5, 0.2),
    }
    assert shelf.alignments([]) == {}


def test_a_file_keeps_numbers_texts_and_lists(tmp_path: Path) -> None:
    columns = unique(["a", "b", "c", "c", "d", "e"])
    rows = [(1, "x", [1, 2], 0.5, {"k": 1}, 2**64 - 1), (None, None, None, None, None, None)]
    made = pl.read_parquet(
        io.BytesIO(
            parquet(columns, ["BIGINT", "VARCHAR", "BIGINT[]", "DECIMAL(9,2)", "STRUCT(k INTEGER)", "UBIGINT"], rows)
        )
    )
    assert made.columns == ["a", "b", "c", "c_2", "d", "e"]
    assert made.row(0) == (1, "x", [1, 2], 0.5, '{"k": 1}', 2**64 - 1)
    assert made.row(1) == (None,) * 6
