"""Generate docs/formats.md, docs/tables.md and docs/damage.md from docstrings, the schema and test results."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from parsers.kinds import folders
from parsers.reference.confusion import confusion, matrix
from parsers.registry import all_formats
from parsers.tables.schema import COMMON, TABLES, Column

_WORDS = {
    "Int64": "BIGINT",
    "UInt64": "UBIGINT",
    "Float64": "DOUBLE",
    "String": "VARCHAR",
    "Boolean": "BOOL",
    "List(String)": "VARCHAR[]",
    "List(Float64)": "DOUBLE[]",
    "List(Int64)": "BIGINT[]",
}


def tables_text() -> str:
    """Return the evidence tables as Markdown."""
    lines = [
        "# Evidence tables",
        "",
        "Made by `python -m parsers --docs docs` from `parsers/tables/schema.py`; change that file, not this one.",
        "",
        "A case view puts `artifact_id, host, phase, clock, t, t_err` in front. Unknown is NULL.",
        "",
        "## Common columns",
        "",
        *_rows(COMMON),
    ]
    for table in TABLES.values():
        lines += [
            "",
            f"## {table.name}",
            "",
            f"{table.meaning[0].upper()}{table.meaning[1:]}.",
            "",
            *_rows(table.columns),
        ]
    return "\n".join(lines) + "\n"


def _rows(columns: tuple[Column, ...]) -> list[str]:
    body = [f"| {c.name} | {_WORDS[str(c.dtype)]} | {c.unit} | {c.meaning} |" for c in columns]
    return ["| column | type | unit | meaning |", "|---|---|---|---|", *body]


CORPUS = Path(__file__).parents[2] / "tests" / "corpus"


def formats_text(corpus: Path = CORPUS) -> str:
    """Return the formats as Markdown: a table of all, how the samples are recognised, the docstring of each module."""
    lines = [
        "# Formats",
        "",
        "Made by `python -m parsers --docs docs` from the docstrings of `parsers/formats/`; change those instead.",
        "",
        "| kind | variant | version | systems | tables | clocks | example |",
        "|---|---|---|---|---|---|---|",
    ]
    modules = {}
    for form, module in all_formats():
        cells = (form.kind, form.variant, form.version, _list(form.systems), _list(form.tables), _list(form.clocks))
        lines.append("| " + " | ".join(cells) + f" | `{form.example}` |")
        modules[module.__name__] = (form.kind, module)
    if corpus.is_dir():
        lines += ["", *matrix(confusion(corpus))]
    for kind, module in modules.values():
        lines += ["", f"## {kind}", "", inspect.cleandoc(module.__doc__ or "")]
    return "\n".join(lines) + "\n"


def _list(words: tuple[str, ...]) -> str:
    return ", ".join(words)


DAMAGES = Path(__file__).with_name("damages.json")
"""The damages in words, and what each requires; `damage.json` in the folder of a kind has their effects."""


def damage_of_kinds() -> dict[str, dict[str, Any]]:
    """Return the effects of damage by kind, sorted by kind; `tests/parsers/repair/test_damage.py` proves them."""
    files = (folder / "damage.json" for folder in folders())
    found = {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()}
    return dict(sorted(found.items()))


_SHORT = {
    "open": (),
    "cannot_show": ("Nothing in the text tells that it is not whole, so no reader could know.", ""),
}


def damage_text() -> str:
    """Return the effects of damage on each kind as Markdown: a table of all, then each loss with its reason."""
    damages = json.loads(DAMAGES.read_text(encoding="utf-8"))
    kinds = damage_of_kinds()
    lines = [
        "# Damage",
        "",
        "Made by `python -m parsers --docs docs` from `damage.json` in the folder of each kind;",
        "`tests/parsers/repair/test_damage.py` proves it on real samples.",
        "",
        "**Recovered**: all rows are there with equal values. **Left unknown**: some rows or values are missing or cannot be trusted, and a note says so.",
        "In both, no row is made up and the line account adds up. **Cannot happen**: for the reason in brackets, or because",
        "no sample has what the damage needs. A kind stands in two columns if its dialects differ. For kinds in *italics* see the tables below.",
        "",
        "| damage | recovered | left unknown | cannot happen |",
        "|---|---|---|---|",
    ]
    for name, damage in damages.items():
        by_state: dict[str, list[str]] = {"recovered": [], "left unknown": [], "cannot happen": []}
        for kind, table in kinds.items():
            never = table.get("never", {})
            why = f" ({never[name]})" if name in never else ""
            for state in table["cells"][name]:
                short = state == "left unknown" and (name in table["open"] or name in table.get("cannot_show", {}))
                by_state[state].append(f"*{kind}*" if short else kind + why)
        without = f"; needs {damage['needs']}" if by_state["cannot happen"] else ""
        cells = [_list(tuple(by_state[state])) for state in by_state]
        lines.append(f"| {damage['words']} | {cells[0]} | {cells[1]} | {cells[2]}{without} |")
    for key, heading in (("open", "What falls short"), ("cannot_show", "What cannot show")):
        rows = [
            f"| {kind} | {damages[name]['words']} | {sample} | {why} |"
            for kind, table in kinds.items()
            for name, samples in table.get(key, {}).items()
            for sample, why in samples.items()
        ]
        if rows:
            lines += [
                "",
                f"## {heading}",
                "",
                *_SHORT[key],
                "| kind | damage | sample | why |",
                "|---|---|---|---|",
                *rows,
            ]
    return "\n".join(lines) + "\n"


def write_docs(folder: Path, corpus: Path = CORPUS) -> None:
    """Write `formats.md`, `tables.md` and `damage.md` into a folder; the samples of `corpus` are recognised for
    `formats.md`.
    """
    (folder / "formats.md").write_text(formats_text(corpus), encoding="utf-8")
    (folder / "tables.md").write_text(tables_text(), encoding="utf-8")
    (folder / "damage.md").write_text(damage_text(), encoding="utf-8")
