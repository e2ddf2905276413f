"""Tests of rules that take too long or too much memory, or cannot be read: each is named with its reason, and the
others judge.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rules.case.case import Case
from rules.engine.sandbox import Fence, Sandbox
from rules.judging.evaluate import judge
from rules.model import Report
from rules.writing.packs import open_library
from tests.rules.writing.test_packs import TEAM, write

ROWS = {"ps": [{"artifact_id": 1, "host": "db", "line_no": n, "pid": n, "rss_kb": n % 10} for n in range(1, 101)]}
RESULT = "'s' as subject, 1.0 as magnitude, 'db' as host, [ev(1, 1, 1, 'row')] as evidence"
EACH = " ".join(f"join ps p{n} on p{n}.host = p0.host and p{n}.pid <> p{n - 1}.pid" for n in range(1, 4))


@pytest.fixture(autouse=True)
def nothing_shipped(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rules.registry.LIBRARY", tmp_path_factory.mktemp("library"))


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., Report]:
    """Return a function that judges with one good team rule and others; a query may take `limit_s` seconds and 64 MB."""

    def run(*queries: str, limit_s: float = 0.5, **files: Any) -> Report:
        write(tmp_path / "team", "busy.yaml", TEAM)
        for n, query in enumerate(queries, start=2):
            changed = {"id": f"TEAM-dba-{n:03d}", "slug": f"bad{n}", "query": query, "params": {}}
            write(tmp_path / "team", f"bad{n}.yaml", {**TEAM, **changed})
        for name, text in files.items():
            write(tmp_path / "team", f"{name}.yaml", text)
        fence = Fence(memory_mb=64, address_mb=1200, limit_s=limit_s)
        return judge(Case.of_tables(ROWS), open_library(tmp_path / "team"), Sandbox(fence))

    return run


def test_a_rule_over_its_time_is_named_and_the_others_go_on(judged: Callable[..., Report]) -> None:
    slow = f"select {RESULT} from (select count(*) as n from ps p0 {EACH} where p0.rss_kb + p1.rss_kb + p2.rss_kb + p3.rss_kb < 0) where n >= 0"
    made = judged(slow)
    assert [f.rule for f in made.failed] == ["TEAM-dba-002"]
    assert made.failed[0].error == "team/bad2.yaml: query: stopped after 0.5 s, the most that one query may take"
    assert [f.rule for f in made.findings[:1]] == ["TEAM-dba-001"]


def test_a_rule_over_its_memory_is_named_and_the_others_go_on(judged: Callable[..., Report]) -> None:
    texts = "p0.pid || p1.pid || p2.pid || p3.pid"
    made = judged(f"select {RESULT} from (select list({texts}) as l from ps p0 {EACH}) where len(l) >= 0", limit_s=20)
    assert [f.rule for f in made.failed] == ["TEAM-dba-002"]
    assert made.failed[0].error == "team/bad2.yaml: query: the memory limit of 64 MB was reached"
    assert [f.rule for f in made.findings[:1]] == ["TEAM-dba-001"]


def test_all_at_once(judged: Callable[..., Report]) -> None:
    """Check a broken file, an absurd threshold, a text for a number, and two refused queries: five names, and one rule
    that judges.
    """
    absurd = {
        "overrides": [
            {"rule": "TEAM-dba-001", "param": "least", "value": 1e12, "reason": "r", "author": "A", "scope": "team"}
        ]
    }
    made = judged(
        f"select {RESULT.replace('1.0', chr(39) + 'many' + chr(39))} from ps",
        f"select {RESULT} from read_csv('/etc/passwd')",
        half="id: [",
        overrides=absurd,
    )
    failed = {f.rule: f.error for f in made.failed}
    assert failed["TEAM-dba-002"] == "team/bad2.yaml: query: result row 's': magnitude must be a number"
    assert "read_csv" in failed["TEAM-dba-003"]
    assert failed["team/half.yaml"].startswith("line 2")
    assert any("least: must be 0.5 to 60" in error for error in failed.values())
    assert len(failed) == 4
    assert {f.rule for f in made.findings} == {"TEAM-dba-001"}
