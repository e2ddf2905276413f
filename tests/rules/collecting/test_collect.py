"""Tests of what is requested where something is missing: every statement that rules read has a unit and words, and no
other is listed.
"""

from __future__ import annotations

import re

from rules.collecting.commands import STATEMENTS, SYMPTOM, request
from rules.registry import LIBRARY
from rules.writing.rule import Need
from tests.rules.library import shipped_rules

SQL = re.compile(r"\b(\w+)\.name = '(\w+)'")
ALIAS = re.compile(r"\b(?:from|join) statements(?: as)? (\w+)")
OWN = {"symptom_bad", "symptom_normal"}
"""Statements that the engine derives from the case's symptom: nobody enters them."""


def read_by_rules() -> set[str]:
    """Return names in the requirements of rules and in their SQL over `statements`; derived tables use `name ==`."""
    found = set()
    for rule in shipped_rules():
        needs = (*rule.requires.all, *rule.requires.any, *rule.requires.confirms)
        found |= {n.statement for n in needs if n.statement}
        aliases = set(ALIAS.findall(rule.sql))
        found |= {name for alias, name in SQL.findall(rule.sql) if alias in aliases}
        for words in re.findall(r"from statements\b(?! \w+ on)[^()]*", rule.sql):
            found |= set(re.findall(r"\bname = '(\w+)'", words))
    for file in (LIBRARY.parent / "derived").glob("*.py"):
        text = file.read_text(encoding="utf-8")
        if '"statements"' in text:
            found |= {name for name in STATEMENTS if f'"{name}"' in text}
    return found - OWN


def test_the_list_of_statements_is_what_rules_read() -> None:
    assert read_by_rules() == set(STATEMENTS)


def test_the_symptom_is_asked_for_in_words() -> None:
    assert set(SYMPTOM) == OWN
    for name, words in SYMPTOM.items():
        asked = request([Need(f"statement:{name}", "statements", statement=name)], None, 3)
        assert asked.ask == words
        assert name not in words


def test_each_statement_is_asked_for_in_words() -> None:
    for name, said in STATEMENTS.items():
        asked = request([Need(f"statement:{name}", "statements", statement=name)], None, 3)
        assert asked.ask == said.ask
    assert {name: said.unit for name, said in STATEMENTS.items() if said.unit} == {
        "work_rate": "per minute",
        "client_start": "s",
        "rss_kb": "kB",
        "hist_unit_s": "s",
        "sga_kb": "kB",
    }
