"""Tests of the child process: views for shipped rules, memory and a lock for drafts, and an end to every endless query."""

from __future__ import annotations

import io
import json
import signal
import time
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from rules.engine import child
from rules.engine.check import Refused
from rules.engine.sandbox import DRAFT, Fence, Sandbox, plain_cause
from rules.errors import RuleFailed, RuleTooLarge, RuleTooSlow

FENCE = Fence(limit_s=1.0, max_rows=10)


@pytest.fixture
def table(tmp_path: Path) -> str:
    file = tmp_path / "t.parquet"
    pl.DataFrame({"pid": range(100), "args": ["x"] * 100}).write_parquet(file)
    return f"select * from read_parquet('{file}')"


def test_views_answer_and_rows_beyond_the_limit_are_counted(table: str) -> None:
    with Sandbox(FENCE) as sandbox:
        sandbox.open({"t": table})
        made = sandbox.query("R", "select pid from t where pid >= $low order by pid", {"low": 50, "unused": 1})
        assert made.columns == ("pid",)
        assert [r["pid"] for r in made.rows] == list(range(50, 60))
        assert made.more == 40
        sandbox.open({"t": table, "u": "select 1 as a"})
        assert sandbox.query("R", "select a from u").rows == ({"a": 1},)
        sandbox.open({"u": "select 2 as a"})
        assert sandbox.query("R", "select a from u").rows == ({"a": 2},)
        with pytest.raises(RuleFailed):
            sandbox.query("R", "select pid from t")


def test_a_statement_that_is_not_allowed_never_runs(table: str) -> None:
    with Sandbox(FENCE) as sandbox:
        sandbox.open({"t": table})
        with pytest.raises(RuleFailed, match="not allowed"):
            sandbox.query("R", "select * from duckdb_views()")


def test_a_query_without_end_is_stopped_and_the_next_one_runs(table: str) -> None:
    with Sandbox(FENCE) as sandbox:
        sandbox.open({"t": table})
        began = time.monotonic()
        with pytest.raises(RuleTooSlow):
            sandbox.query("R", "select count(*) from t a join t b on a.pid <> b.pid join t c on c.pid <> b.pid join t d on d.pid <> c.pid "
                          "join t e on e.pid <> d.pid join t f on f.pid <> e.pid join t g on g.pid <> f.pid where a.args = g.args")  # fmt: skip
        assert time.monotonic() - began < 15
        assert sandbox.query("R", "select count(*) as n from t").rows == ({"n": 100},)


def test_a_child_that_does_not_react_is_killed(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Sandbox(FENCE) as sandbox:
        sandbox.open({"t": table})
        monkeypatch.setattr("rules.engine.sandbox._line", _never)
        child = sandbox._process
        assert child is not None
        with pytest.raises(RuleTooSlow, match="stopped after"):
            sandbox.query("R", "select 1 as a")
        assert child.returncode == -signal.SIGKILL
        monkeypatch.undo()
        assert sandbox.query("R", "select 1 as a").rows == ({"a": 1},)


def _never(descriptor: int, until: float) -> bytes:
    raise TimeoutError


def test_a_child_that_dies_is_a_failed_rule(table: str) -> None:
    with Sandbox(FENCE) as sandbox:
        sandbox.open({"t": table})
        assert sandbox._process is not None
        sandbox._process.kill()
        sandbox._process.wait()
        with pytest.raises(RuleTooLarge, match="SIGKILL"):
            sandbox.query("R", "select 1 as a")
        assert sandbox.query("R", "select 1 as a").rows == ({"a": 1},)


def test_memory_has_an_end(table: str) -> None:
    with Sandbox(Fence(memory_mb=64, address_mb=1200, limit_s=10)) as sandbox:
        sandbox.open({"t": table})
        with pytest.raises(RuleTooLarge):
            sandbox.query(
                "R",
                "select list(a.pid || b.pid || c.pid || d.pid) from t a join t b on a.args = b.args join t c on c.args = b.args join t d on d.args = c.args",
            )


def test_a_draft_sees_only_what_it_names_and_nothing_can_be_unlocked(table: str) -> None:
    with Sandbox(DRAFT) as sandbox:
        sandbox.draft({"t": table, "u": table}, {"t": ["pid"]}, rows=20)
        assert sandbox.query("draft", "select count(*) as n, max(pid) as top from t").rows == ({"n": 20, "top": 19},)
        with pytest.raises(RuleFailed):
            sandbox.query("draft", "select args from t")
        with pytest.raises(RuleFailed, match="no table"):
            sandbox.query("draft", "select * from u")


ESCAPES = {
    "read a file": "select * from read_text('/etc/hostname')",
    "read a file as table": "select * from '/etc/hostname'",
    "read the environment": "select * from read_text('/proc/self/environ')",
    "list files": "select * from glob('/*')",
    "write a file": "copy (select 1) to '/tmp/exhibit-escape.csv'",
    "overwrite a file": "copy (select 1) to '/tmp/exhibit-escape.csv' (use_tmp_file false)",
    "attach a file": "attach '/tmp/exhibit-escape.db'",
    "export": "export database '/tmp/exhibit-escape'",
    "install": "install httpfs",
    "load": "load httpfs",
    "more memory": "set memory_limit = '10GB'",
    "unlock": "set lock_configuration = false",
    "reset": "reset enable_external_access",
    "access": "set enable_external_access = true",
    "secret": "create persistent secret s (type s3)",
    "profile to a file": "pragma profiling_output = '/tmp/exhibit-escape'",
    "a Python variable": "select * from frame",
}


@pytest.mark.parametrize("sql", ESCAPES.values(), ids=ESCAPES.keys())
def test_a_locked_engine_refuses_even_what_the_check_would_have_stopped(sql: str, table: str) -> None:
    """Check the settings alone, without the static check: the second barrier."""
    frame = pl.DataFrame({"a": [1]})
    assert frame.height == 1
    engine = child.Engine()
    engine.draft({"t": table}, {"t": None}, 10, 256)
    assert engine.connection is not None
    with pytest.raises(duckdb.Error):
        engine.connection.execute(sql).fetchall()
    assert not Path("/tmp/exhibit-escape.csv").exists()


def test_the_child_answers_in_json_lines(table: str) -> None:
    requests = [
        {"op": "open", "views": {"t": table}, "memory_mb": 128},
        {
            "op": "add",
            "views": {
                "u": "select 1.5::decimal(9, 2) as d, 'nan'::double as n, date '2020-01-02' as day, {'a': [1]} as s, interval 2 second as i, '\\xAA'::blob as b"
            },
        },
        {"op": "query", "sql": "select * from u", "params": {}, "limit_s": 5, "max_rows": 5},
        {"op": "query", "sql": "select pid from nosuch", "params": {}, "limit_s": 5, "max_rows": 5},
        {"op": "query", "sql": "select nosuch from t", "params": {}, "limit_s": 5, "max_rows": 5},
        {"op": "query", "sql": "select pid from t where pid = $p", "params": {}, "limit_s": 5, "max_rows": 5},
        {"op": "draft", "views": {"t": table}, "load": {"t": ["nosuch"]}, "rows": 3, "memory_mb": 128},
        {"op": "query", "sql": "select count(*) as n from t", "params": {}, "limit_s": 5, "max_rows": 5},
    ]
    answers = io.StringIO()
    child.serve(io.StringIO("".join(json.dumps(r) + "\n" for r in requests)), answers)
    made = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert made[0] == made[1] == made[6] == {"rows": [], "columns": [], "more": 0}
    assert made[2]["rows"][0][:5] == [1.5, None, "2020-01-02", {"a": [1]}, 2.0]
    assert made[3]["error"]["kind"] == "refused"
    assert made[4]["error"]["kind"] == made[5]["error"]["kind"] == "failed"
    assert made[7]["rows"] == [[3]]


ASKED: dict[str, Any] = {"params": {}, "limit_s": 20.0, "max_rows": 5}


def test_a_connection_goes_on_with_other_views_but_not_after_a_draft(table: str, tmp_path: Path) -> None:
    engine = child.Engine()
    engine.open({"t": table}, 128, str(tmp_path / "a"))
    first = engine.connection
    engine.open({"u": "select 1 as a"}, 128, str(tmp_path / "b"))
    assert engine.connection is first
    assert engine.query("select a from u", **ASKED)["rows"] == [[1]]
    with pytest.raises(Refused):
        engine.query("select pid from t", **ASKED)
    engine.draft({"t": table}, {"t": ["pid"]}, 3, 128)
    engine.open({"u": "select 2 as a"}, 128, str(tmp_path / "b"))
    assert engine.connection is not first
    assert engine.query("select a from u", **ASKED)["rows"] == [[2]]


def test_after_a_spill_a_new_connection_uses_another_folder(tmp_path: Path) -> None:
    engine = child.Engine()
    sort = "select count(*) from (select i, row_number() over (order by h) as n from t) where n = i"
    for name in ("a", "b"):
        folder = tmp_path / name
        engine.open({"t": "select i, hash(i) as h from range(6000000) r(i)"}, 64, str(folder))
        assert engine.connection is not None
        assert engine.connection.execute("select current_setting('temp_directory')").fetchone() == (str(folder),)
        engine.query(sort, **ASKED)
        with pytest.raises(duckdb.Error, match="temporary directory"):  # it has put something there
            engine.connection.execute("set temp_directory = ''")


def test_a_page_never_shows_the_engines_words() -> None:
    assert [plain_cause(e("R", "/home/x")) for e in (RuleTooSlow, RuleTooLarge, RuleFailed)] == [
        "took too long and was stopped",
        "needed too much memory and was stopped",
        "failed while it ran",
    ]
