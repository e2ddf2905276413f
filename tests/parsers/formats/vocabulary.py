"""Collect the words of the samples that the glossary must explain: calls, errors, signals, parameters, waits, states,
packets.

`vocabulary.json` beside this file holds the words of all samples and cases; `python -m
tests.parsers.formats.vocabulary` generates it (two minutes). The test of each sample checks that its words are listed,
so the glossary's test need not read the samples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl

HERE = Path(__file__).parent
FILE = HERE / "vocabulary.json"
CORPUS, CASES = HERE.parents[1] / "corpus", HERE.parents[1] / "cases"
# Sort of words -> columns that hold such words.
COLUMNS = {
    "call": ("syscalls.name", "syscalls.prev_name", "open_calls.name"),
    "error": ("syscalls.err", "conn_times.err", "sqlnet.err", "sqlnet.secondary", "logs.code", "logs.secondary"),
    "signal": ("signals.signal", "signals.code"),
    "parameter": ("params.name", "resource_use.name"),
    "wait": ("db_waits.event", "sessions.event"),
    "state": ("ps.state", "ps.ending", "sockets.state", "sessions.state"),
    "packet": ("sqlnet.ptype", "sqlnet.nt_events", "sqlnet.ns_events"),
}
_CALL = re.compile(r"^(?:\[pid +\d+\] |\d+(?:/\d+)?:? +)?[\d.: +*-]*([a-z_][a-z0-9_]+)\(.*\)", re.MULTILINE)
_ERROR = re.compile(r"(?:Err#\d+ |= -1 )(E[A-Z0-9]+)")


def words_of(tables: dict[str, pl.DataFrame]) -> dict[str, set[str]]:
    """Return the words of a reading, by sort."""
    found: dict[str, set[str]] = {what: set() for what in COLUMNS}
    for what, columns in COLUMNS.items():
        for table, column in (place.split(".") for place in columns):
            if table in tables and column in tables[table].columns:
                rows = tables[table]
                # Names in text that no format knows need no entry.
                values = (rows.filter(pl.col("scope").ne_missing("text")) if "scope" in rows.columns else rows)[column]
                values = values.explode() if isinstance(values.dtype, pl.List) else values
                found[what] |= {str(value) for value in values.unique() if value not in (None, "")}
    totals = tables.get("syscall_totals")
    if totals is not None:
        for row in totals.select("section", "name").iter_rows():
            found["signal" if row[0] == "signal" else "call"] |= {row[1]} if row[0] in ("call", "signal") else set()
    return found


@cache
def kept() -> dict[str, set[str]]:
    """Return the words of all samples and cases from `vocabulary.json`."""
    return {what: set(words) for what, words in json.loads(FILE.read_text(encoding="utf-8")).items()}


def of_traces(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield file, sort and word for traces under a folder, by text search: reading all cases would take too long."""
    for path in sorted(folder.rglob("*.txt")):
        if re.search(r"truss|strace", path.name):
            text = path.read_text(encoding="utf-8", errors="replace")
            yield from ((path, "call", word) for word in sorted(set(_CALL.findall(text))))
            yield from ((path, "error", word) for word in sorted(set(_ERROR.findall(text))))


def main() -> None:
    from tests.parsers.formats.evidence import read_path

    found: dict[str, set[str]] = {what: set() for what in COLUMNS}
    for path in (*sorted(CORPUS.glob("*/*.txt")), *sorted(CASES.rglob("*.txt"))):
        for what, words in words_of(read_path(path).tables).items():
            found[what] |= words
    text = json.dumps({what: sorted(words) for what, words in found.items()}, indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
