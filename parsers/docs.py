"""Make docs/formats.md and docs/tables.md from the formats' docstrings and the schema, so that they cannot rot."""

from __future__ import annotations

import inspect
from pathlib import Path

from parsers.confusion import confusion, matrix
from parsers.registry import all_formats
from parsers.schema import COMMON, TABLES, Column

_WORDS = {
    "Int64": "BIGINT",
    "UInt64": "UBIGINT",
    "Float64": "DOUBLE",
    "String": "VARCHAR",
    "Boolean": "BOOL",
    "List(String)": "VARCHAR[]",
    "List(Float64)": "DOUBLE[]",
}


def tables_text() -> str:
    """Write the evidence tables as Markdown."""
    lines = [
        "# Evidence tables",
        "",
        "Made by `python -m parsers --docs docs` from `parsers/schema.py`; change that file, not this one.",
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


CORPUS = Path(__file__).parents[1] / "tests" / "corpus"


def formats_text(corpus: Path = CORPUS) -> str:
    """Write the formats as Markdown: a table of all, how the samples are recognised, the docstring of each module."""
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


def write_docs(folder: Path, corpus: Path = CORPUS) -> None:
    """Write `formats.md` and `tables.md` into a folder; the samples of `corpus` are recognised for it."""
    (folder / "formats.md").write_text(formats_text(corpus), encoding="utf-8")
    (folder / "tables.md").write_text(tables_text(), encoding="utf-8")
