"""Formats keep the house's rules, and the documents made from them are fresh."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from parsers.__main__ import _arguments
from parsers.reading import read
from parsers.reference.docs import damage_text, formats_text, tables_text
from parsers.registry import all_formats, formats_of, modules
from parsers.tables.schema import COMMON, TABLES
from parsers.text.source import Hints
from tests.parsers.formats.evidence import read_sample

ROOT = Path(__file__).resolve().parents[2]
CLOCKS = {"wall-utc", "wall-local", "trace-relative", "boot-relative", "interval", "none"}


def test_generated_documents_are_fresh():
    """Run `python -m parsers --docs docs` when this fails."""
    assert (ROOT / "docs" / "formats.md").read_text(encoding="utf-8") == formats_text()
    assert (ROOT / "docs" / "tables.md").read_text(encoding="utf-8") == tables_text()
    assert (ROOT / "docs" / "damage.md").read_text(encoding="utf-8") == damage_text()


def test_a_format_fills_tables_that_exist():
    for form, module in all_formats():
        assert set(form.tables) <= set(TABLES), module.__name__
        assert form.split in ("lines", "none")
        assert set(form.clocks) <= CLOCKS
        needed = [f.name for f in fields(form) if f.name not in ("own", "counters", "man")]
        assert all(getattr(form, name) for name in needed), f"{module.__name__}: an empty field"


def test_kind_and_file_name_agree():
    names = [(form.kind, form.variant) for form, _ in all_formats()]
    assert len(names) == len(set(names))
    for module in modules():
        kinds = {form.kind for form in formats_of(module)}
        assert len(kinds) == 1
        assert module.__name__.split(".")[-2] == kinds.pop()


@pytest.mark.parametrize("name", [m.__name__ for m in modules()])
def test_a_format_module_is_whole_and_explains_itself(name):
    module = importlib.import_module(name)
    declares = hasattr(module, "FORMAT") or hasattr(module, "FORMATS")
    assert declares and hasattr(module, "claim") and hasattr(module, "parse")  # noqa: PT018
    text = module.__doc__ or ""
    assert "Known gaps" in text, f"{name}: the docstring names no gaps"
    assert len(re.findall(r"^ {4,}\S", text, re.MULTILINE)) >= 2, f"{name}: the docstring shows no samples"


@pytest.mark.parametrize("kind", sorted({form.kind for form, _ in all_formats()}))
def test_a_kind_has_clean_and_damaged_cases(kind):
    accounts = [read_sample(p).account for p in (ROOT / "tests" / "corpus" / kind).glob("*.txt")]
    repaired = [sum(n.kind in ("repaired", "damaged") for n in a.notes) for a in accounts]
    damage = [
        r + a.account.unknown + a.account.damaged + a.account.elided for r, a in zip(repaired, accounts, strict=True)
    ]
    assert any(n == 0 for n in damage)
    assert any(n > 0 for n in damage)


def test_columns_carry_their_unit():
    suffixes = {
        "_s": "s",
        "_ms": "ms",
        "_ns": "ns",
        "_kb": "kB",
        "_kbps": "kB/s",
        "_ps": "/s",
        "_pct": "%",
        "_hz": "Hz",
    }
    for table in TABLES.values():
        assert len({c.name for c in (*COMMON, *table.columns)}) == len(COMMON) + len(table.columns)
        for column in table.columns:
            suffix = next((s for s in sorted(suffixes, key=len, reverse=True) if column.name.endswith(s)), None)
            if suffix and column.unit:
                assert column.unit == suffixes[suffix], (table.name, column.name)


def test_the_command_line_is_documented(tmp_path):
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = text[text.index("## python -m parsers") :].split("\n## ", 1)[0]
    options = {o for action in _arguments()._actions for o in action.option_strings if o.startswith("--")} - {"--help"}
    assert options == set(re.findall(r"--[a-z-]+[a-z]", section.split("| field |")[0]))
    path = tmp_path / "a"
    path.write_text("connect: 0.5\n" * 5, encoding="utf-8")
    account = read(path, Hints()).as_json()
    fields_told = section.split("| field |")[1].split("\n\n")[0]
    documented = set(re.findall(r"`([a-z0-9_]+)`", " ".join(row.split("|")[1] for row in fields_told.splitlines()[2:])))
    assert documented | {"schema"} == account.keys()
    part = re.search(r"\| `parts` \|(.*)\|", section)
    assert part is not None
    assert set(re.findall(r"`([a-z_]+)`", part[1])) == account["parts"][0].keys()


def test_parsers_load_no_web_package():
    code = (
        "import sys; from parsers.registry import modules; modules(); import parsers.lines, parsers.reference.docs, parsers.reading;"
        "assert not {'django', 'celery', 'redis', 'psycopg', 'plotly', 'duckdb'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
