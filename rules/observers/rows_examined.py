"""Which statements of a slow log read far more than they return, and what the log says of their plan.

The slow logs of MySQL (`Rows_sent: 3  Rows_examined: 8100000`) and MongoDB (`docsExamined`, `nreturned`) count what a statement
read. Standing out: a statement that took a tenth of a second or longer (where its time is known) and read a thousand rows or more,
a hundred times what it returned. A sum over many rows (count, group by) and a change of rows read them all by right: they are told, and
blamed only where the log says that a table was read whole (Full_scan, type ALL of explain, COLLSCAN). Normal: less.
What MongoDB's explain("executionStats") sums up (nReturned, executionTimeMillis, totalDocsExamined) is told alike.
Worked example: 4 rows sent and 5,200,000 examined in 7.3 s: 1,300,000 rows read for each that was wanted.
Cost: one filter by text over the logs; 20,000 entries at most. Source: MySQL Reference Manual, The Slow Query Log; MongoDB
Manual, Log Messages, Slow Operations; MariaDB knowledge base, EXPLAIN in the Slow Query Log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from parsers.columns.statement_verbs import verb
from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, MOST_LINES, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "rows-examined",
    "Which statements read far more than they return?",
    ("logs", "counters", "params"),
    {"*": "EXPLAIN ANALYZE of the statement; the indexes of its tables (SHOW INDEX, getIndexes)"},
)

LEAST = 1000.0
"""Minimum number of rows read that costs something."""

TIMES = 100.0
"""Minimum factor between rows read and rows returned from which an index is missing or not used (as for plans)."""

TOLD = 3
"""Number of statements that are told, those that read most first."""

MOST_ENTRIES = 20_000

READ = re.compile(r"Rows_sent: (?P<sent>\d{1,15})\s+Rows_examined: (?P<read>\d{1,15})")
DOCUMENTS = re.compile(r"\bdocsExamined[=:](?P<read>\d{1,15})\b.*?\bnreturned[=:](?P<sent>\d{1,15})\b")
WHOLE = re.compile(r"\bCOLLSCAN\b|\bFull_scan: Yes\b")
EXPLAINED = re.compile(
    r"explain: \d+\t[^\t]*\t(?P<table>[^\t]*)\tALL\t[^\t]*\t(?P<key>[^\t]*)\t[^\t]*\t[^\t]*\t(?P<rows>\d{1,15})\t"
)
NAMESPACE = re.compile(r"\bns[=:] ?(\S{1,120})|command (\S{1,120}) command:")
SUMS = re.compile(r"(?i)\b(?:count|sum|avg|min|max|group_concat)\s*\(|\bgroup\s+by\b|\bdistinct\b|\baggregate\b")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the statements that read most for what they return."""
    text = pl.col("text")
    says = text.str.contains(r"Rows_examined: |docsExamined[=:]|^QC_[Hh]it: |^Full_scan: |^explain: ")
    columns = [*PLACE_COLUMNS, "part", "line_no", "line_end", "op", "elapsed_s", "text"]
    rows = (
        case.scan("logs", columns, says | (pl.col("op") == "slow_query")).head(MOST_ENTRIES).collect(engine="streaming")
    )
    entries = [entry for entry in _entries(rows.sort("artifact_id", "line_no").iter_rows(named=True)) if _far(entry)]
    told = [_sighting(entry) for entry in sorted(entries, key=lambda e: -e["read"])[:TOLD]]
    return [*told, *_explained(case)]


def _explained(case: CaseTables) -> Iterator[Sighting]:
    """Yield statements of MongoDB whose explain("executionStats") says that they read far more than they return.

    The sums of the whole statement come before those of its stages.
    """
    key = [*PLACE_COLUMNS, "part", "line_no", "name"]
    sums = ("nReturned", "executionTimeMillis", "totalDocsExamined")
    counters = case.scan("counters", [*key, "value"], pl.col("name").is_in(list(sums))).head(MOST_ENTRIES)
    stages = case.scan("params", [*key, "value"], pl.col("name").is_in(["stage", "namespace"])).head(MOST_ENTRIES)
    said = stages.collect(engine="streaming").sort("artifact_id", "line_no").to_dicts()
    of: dict[str, dict[str, Any]] = {}
    for row in counters.collect(engine="streaming").sort("artifact_id", "line_no").iter_rows(named=True):
        of = of if of and row["artifact_id"] == next(iter(of.values()))["artifact_id"] else {}
        if row["name"] != "totalDocsExamined":
            of[row["name"]] = row
            continue
        above, of = of, {}
        if len(above) < len(sums) - 1 or above["executionTimeMillis"]["value"] < FELT_S * 1e3:
            continue
        read, sent = row["value"], above["nReturned"]["value"]
        if read is None or sent is None or read < max(LEAST, TIMES * max(sent, 1.0)):
            continue
        before = [x for x in said if x["artifact_id"] == row["artifact_id"] and x["line_no"] < row["line_no"]]
        whole = next((x for x in reversed(before) if x["name"] == "stage" and x["value"] == "COLLSCAN"), None)
        names = [x["value"] for x in before if x["name"] == "namespace"]
        took = figure(above["executionTimeMillis"]["value"] / 1e3, "s")
        lines = [
            (row, "documents read"),
            (above["nReturned"], "documents returned"),
            (above["executionTimeMillis"], "time"),
        ]
        lines += [(whole, "COLLSCAN: no index")] if whole else []
        yield Sighting(
            "statement",
            f"statement on line {row['line_no']}" + (f" of {names[-1]}" if names else ""),
            f"A statement{f' of {names[-1]}' if names else ''} read {read:,.0f} documents to return {sent:,.0f} in {took}",
            "rows_examined_count",
            read,
            "count",
            tuple(Lines(x["artifact_id"], x["line_no"], x["line_no"], role) for x, role in lines),
            **place(row),
            against="documents returned",
            against_value=sent,
            share=0.6,
            seen=({"log": f"read {'whole tables' if whole else 'many rows'} to return few"},),
            beside="it used no index (COLLSCAN)" if whole else None,
        )


def _entries(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield statements with the numbers of rows read and returned, and the lines on their plan."""
    statement: dict[str, Any] | None = None
    entry: dict[str, Any] | None = None
    for row in rows:
        if row["op"] == "slow_query":
            statement = row
            continue
        own = statement if statement is not None and _within(row, statement) else None
        if found := READ.search(row["text"]) or DOCUMENTS.search(row["text"]):
            if entry is not None:
                yield entry
            entry = {"row": row, "of": own, "read": float(found["read"]), "sent": float(found["sent"]), "plan": []}
        elif entry is not None and own is not None and entry["of"] is own:
            entry["plan"].append(row)
    if entry is not None:
        yield entry


def _within(row: dict[str, Any], statement: dict[str, Any]) -> bool:
    same = row["artifact_id"] == statement["artifact_id"] and row["part"] == statement["part"]
    return bool(same and statement["line_no"] <= row["line_no"] <= (statement["line_end"] or statement["line_no"]))


def _far(entry: dict[str, Any]) -> bool:
    took = entry["of"]["elapsed_s"] if entry["of"] else None
    return (took is None or took >= FELT_S) and bool(entry["read"] >= max(LEAST, TIMES * max(entry["sent"], 1.0)))


def _sighting(entry: dict[str, Any]) -> Sighting:
    row, of = entry["row"], entry["of"]
    read, sent = entry["read"], entry["sent"]
    scanned = [(r, m) for r in entry["plan"] if (m := EXPLAINED.search(r["text"]))]
    whole = [r for r in (row, *entry["plan"]) if WHOLE.search(r["text"])]
    statement = str(of["text"] or "") if of else row["text"]
    selects = not of or verb(statement) in ("SELECT", "SELECT FOR UPDATE", "WITH")
    needs_all = SUMS.search(statement) is not None or not selects
    took = f" in {figure(of['elapsed_s'], 's')}" if of and of["elapsed_s"] is not None else ""
    place_ = NAMESPACE.search(row["text"])
    of_what = f" of {place_[1] or place_[2]}" if place_ else ""
    said = [
        f"{m['table']} is read whole (type ALL): {float(m['rows']):,.0f} rows by estimate" for _, m in scanned[:TOLD]
    ]
    if whole and not said:
        said = [
            "the log says that no index was used (COLLSCAN)"
            if "COLLSCAN" in whole[0]["text"]
            else "a table was read whole (Full_scan: Yes)"
        ]
    lines = [Lines(row["artifact_id"], row["line_no"], row["line_no"], "rows read and returned")]
    for r in [*whole, *(r for r, _ in scanned)]:
        if r is not row and len(lines) < MOST_LINES:
            lines.append(Lines(r["artifact_id"], r["line_no"], r["line_no"], "what it says of the plan"))
    if of:
        lines.append(Lines(of["artifact_id"], of["line_no"], of["line_no"], "the statement"))
    blamed = bool(whole or scanned) or not needs_all
    return Sighting(
        "statement",
        f"statement on line {of['line_no'] if of else row['line_no']}{of_what}",
        f"A statement{of_what} read {read:,.0f} rows to return {sent:,.0f}{took}",
        "rows_examined_count",
        read,
        "count",
        tuple(lines[:MOST_LINES]),
        **place(row),
        against="rows returned",
        against_value=sent,
        share=0.6,
        seen=({"log": f"read {'whole tables' if whole or scanned else 'many rows'} to return few"},) if blamed else (),
        beside="; ".join(said) or None,
    )
