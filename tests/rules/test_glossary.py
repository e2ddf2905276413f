"""Tests that the glossary explains every column of every derived table, and no other."""

from __future__ import annotations

from parsers.reference import glossary
from parsers.tables.schema import COMMON, TABLES
from rules.judging.findings_table import TABLE as FINDINGS
from rules.registry import derived
from rules.reporting import rule_words
from tests.rules.library import library


def _tables() -> dict[str, list[str]]:
    return {name: list(d.TABLE.columns) for name, d in derived().items()} | {"findings": list(FINDINGS.columns)}


def test_every_column_of_every_derived_table_is_explained():
    missing = [f"{table}.{name}" for table, names in _tables().items() for name in names]
    missing = [name for name in missing if glossary.column(*name.split(".")) is None]
    assert missing == [], f"columns without an entry: {missing}"
    assert [name for name in _tables() if glossary.explain("table", name) is None] == []


def test_no_column_is_explained_that_no_table_has():
    known = _tables() | {t.name: [c.name for c in (*COMMON, *t.columns)] for t in TABLES.values()}
    view = {"artifact_id", "host", "phase", "clock", "t", "t_err"}
    every = {name for names in known.values() for name in names} | view
    columns = [e for e in glossary.glossary().values() if e.what == "column"]
    lost = [e.key for e in columns if e.name not in (every if e.place == "*" else known.get(e.place, []))]
    assert lost == []
    assert [e.name for e in glossary.glossary().values() if e.what == "table" and e.name not in known] == []


def test_every_table_that_a_rule_names_is_explained():
    for rule in library().rules:
        for need in (*rule.requires.all, *rule.requires.any, *rule.requires.confirms):
            if need.statement is None:
                assert glossary.explain("table", need.table.removesuffix("_i")), f"{rule.id}: {need.table}"
        assert rule_words.tables(rule), rule.id
