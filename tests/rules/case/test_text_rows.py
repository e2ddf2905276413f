"""Rows of the general reader: rules and derived tables do not see them, observers and questions do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rules.case.case import MARKED_TEXT, Case
from rules.case.reading import open_paths
from rules.engine import views
from rules.engine.read import ReadOnly
from rules.engine.shelf import Shelf
from tests.parsers.formats.general.test_text import MAIL

TEXT = (
    "2024-01-02 03:04:05 ERROR pool: connection refused\n\nsessions_count   97\nsessions_max   100\n\n"
    "pool.size = 5\n\ngoroutine 7 [sync.Mutex.Lock]:\nmain.(*Pool).Take()\n\t/src/pool.go:33 +0x45\n\n"
    "NAME   CPU\na      1\nb      2\n"
)
SYSLOG = "".join(f"Jan  2 03:04:0{n} db1 sshd[{n}]: connection refused\n" for n in range(1, 6))


@pytest.fixture
def case(tmp_path: Path) -> Case:
    for name, text in (("a.txt", TEXT), ("b.txt", SYSLOG), ("mail.txt", MAIL)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    spec, status = open_paths([tmp_path / "a.txt", tmp_path / "b.txt"], None, tmp_path / "out")
    assert status == 0
    return Case(spec)


def counts(case: Case) -> dict[str, int]:
    return {name: case.table(name).height for name in (*MARKED_TEXT, "rows")}


def test_one_door_hides_them(case):
    assert counts(case) == {"logs": 5, "params": 0, "counters": 0, "profile_stacks": 0, "rows": 2}
    assert case.scan("logs", ["source"]).unique().collect()["source"].to_list() == ["syslog"]
    assert not case.has("params")


def test_they_are_shown_to_those_who_ask(case):
    shown = case.with_text()
    assert counts(shown) == {"logs": 6, "params": 1, "counters": 2, "profile_stacks": 1, "rows": 2}
    assert shown.with_text() is shown
    assert counts(shown.only([1])) == {"logs": 1, "params": 1, "counters": 2, "profile_stacks": 1, "rows": 2}
    assert counts(case) == {"logs": 5, "params": 0, "counters": 0, "profile_stacks": 0, "rows": 2}


def test_rows_in_memory_are_hidden_too():
    found = Case.of_tables({"logs": [{"line_no": 1, "source": "text"}, {"line_no": 2, "source": None}]})
    assert found.table("logs")["line_no"].to_list() == [2]
    assert found.with_text().table("logs")["line_no"].to_list() == [1, 2]


def test_derived_tables_stay_those_without_them(case):
    hidden = case.derived("trends")
    assert case.with_text().derived("trends") is hidden


def test_rules_do_not_see_them(case, tmp_path):
    made = views.build(case, ["logs", "params"], tmp_path)
    assert "is distinct from 'text'" in made["logs"]
    with ReadOnly(case.spec, ["logs", "params", "rows"]) as tables:
        assert tables.query("select count(*) as n from logs")[0]["n"] == 5


def test_questions_see_them(case, tmp_path):
    made = Shelf(case.spec, None).views(["logs"], tmp_path)
    assert "is distinct from" not in made["logs"]


def test_observers_see_them(case):
    found = {row["observer"]: row for row in case.derived("observations").to_dicts() if not row["normal"]}
    assert found["near-limit"]["value"] == 97.0
    assert "Pool" in found["standing-still"]["subject"]
    assert "log-complaints" in found


def test_what_a_mail_quotes_convicts_nobody(tmp_path):
    (tmp_path / "mail.txt").write_text(MAIL, encoding="utf-8")
    spec, status = open_paths([tmp_path / "mail.txt"], None, tmp_path / "out")
    assert status == 3
    assert json.loads((tmp_path / "out" / "1" / "manifest.json").read_text())["parts"][0]["kind"] == "text"
    assert Case(spec).derived("observations").is_empty()
