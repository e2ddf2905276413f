"""Which rows of a PostgreSQL are dead and stay: what a vacuum could not remove, and dead rows beside live ones.

Standing out: a vacuum that leaves as dead a fifth or more of the row versions of a table because somebody may still see
them, from `MANY` on; a table of a listing (pg_stat_user_tables) with as many dead as live rows, from `MANY` on. Normal:
fewer, which are not shown: a vacuum comes when a fifth of a table is dead (autovacuum_vacuum_scale_factor).
Worked example: "tuples: 0 removed, 328000 remain, 320000 are dead but not yet removable": 97.6 % of what remains.
Cost: a filter by text over the logs, and the rows of general listings. Source: PostgreSQL documentation, Routine
Vacuuming; src/backend/access/heap/vacuumlazy.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "dead-rows",
    "Which dead rows of a database stay?",
    ("logs", "rows"),
    {
        "*": "psql -c 'select pid, state, xact_start, backend_xmin, query from pg_stat_activity where backend_xmin is not null'"
    },
)

MANY = 1000
"""Minimum number of dead rows that are told: fewer cost nothing."""

OF_ALL = 0.2
"""Minimum part of a table's row versions that a vacuum leaves as dead."""

LEFT = re.compile(r"tuples: (\d+) removed, (?P<all>\d+) remain, (?P<dead>\d+) are dead but not yet removable")
"""PostgreSQL 9.5 and newer, in its log and in what VACUUM VERBOSE of 14 and newer prints."""

OLD_LEFT = re.compile(r"(?P<dead>\d+) dead row versions cannot be removed yet")
"""VACUUM VERBOSE of older ones; the number of all is on the line before."""

OLD_ALL = re.compile(r"found \d+ removable, (?P<all>\d+) nonremovable row versions")

HORIZON = re.compile(
    r"removable cutoff: (?P<xid>\d+), which was (?P<age>\d+) XIDs old|cannot be removed yet, oldest xmin: (?P<xmin>\d+)"
)
"""Up to which transaction dead rows may be removed, and how many transactions ago that one began (15 and newer)."""

BEHIND = 4
"""Maximum number of lines between the two figures of one vacuum."""

LISTED = 200
"""Maximum number of lines or rows that are looked at."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what vacuums left, then tables with dead rows, those with most dead rows first."""
    return sorted([*_left(case), *_listed(case)], key=lambda s: -s.value)


def _left(case: CaseTables) -> Iterator[Sighting]:
    says = pl.col("text").str.contains(
        r"are dead but not yet removable|dead row versions cannot be removed yet|nonremovable row versions|^\s*removable cutoff: "
    )
    rows = case.scan("logs", [*PLACE_COLUMNS, "line_no", "line_end", "text"], says).head(LISTED)
    found = rows.collect(engine="streaming").sort("artifact_id", "line_no").to_dicts()
    for n, row in enumerate(found):
        made = LEFT.search(row["text"]) or OLD_LEFT.search(row["text"])
        if made is None:
            continue
        near = [
            r for r in found if r["artifact_id"] == row["artifact_id"] and abs(r["line_no"] - row["line_no"]) <= BEHIND
        ]
        dead = int(made["dead"])
        above = found[max(0, n - 1) : n]
        whole = made if "all" in made.re.groupindex else _first(OLD_ALL, (row, *above))
        all_of = above[0] if whole and whole is not made and not OLD_ALL.search(row["text"]) else None
        upto = _horizon((row, *(r for r in near if r["line_no"] > row["line_no"])))
        of = int(whole["all"]) if whole else dead
        if dead >= MANY and dead >= OF_ALL * of:
            yield _sighting(row, dead, of, upto, all_of)


def _horizon(rows: Iterable[dict[str, Any]]) -> tuple[str, dict[str, Any]] | None:
    """Describe the oldest transaction whose rows a vacuum had to keep, with the row that says so; None if none does."""
    for row in rows:
        if (made := HORIZON.search(row["text"])) is None:
            continue
        age = f", {int(made['age']):,} transactions back" if made["age"] and int(made["age"]) else ""
        return f"; rows are removed only up to transaction {made['xid'] or made['xmin']}{age}", row
    return None


def _first(shape: re.Pattern[str], rows: Iterable[dict[str, Any]]) -> re.Match[str] | None:
    return next((made for row in rows if (made := shape.search(row["text"]))), None)


def _sighting(
    row: dict[str, Any], dead: int, of: int, upto: tuple[str, dict[str, Any]] | None, all_of: dict[str, Any] | None
) -> Sighting:
    horizon = [(upto[1], "up to which rows are removed")] if upto and upto[1] is not row else []
    return Sighting(
        "dead-rows",
        "dead rows",
        f"A vacuum left {dead:,} of {of:,} row versions that are dead and cannot be removed yet{upto[0] if upto else ''}",
        "dead_rows",
        float(dead),
        "rows",
        tuple(
            Lines(r["artifact_id"], r["line_no"], r["line_end"] or r["line_no"], role)
            for r, role in (*([(all_of, "all row versions")] if all_of else []), (row, "what a vacuum left"), *horizon)
        ),
        **place(row),
        against="all row versions that remain",
        against_value=float(of),
        share=min(1.0, dead / of) if of else 1.0,
        n=1,
        seen=({"event": "dead-rows-kept"},),
    )


def _listed(case: CaseTables) -> Iterator[Sighting]:
    named = pl.col("heading").list.contains("n_dead_tup") & pl.col("heading").list.contains("n_live_tup")
    rows = case.scan("rows", [*PLACE_COLUMNS, "line_no", "line_end", "heading", "cells"], named).head(LISTED)
    for row in rows.collect(engine="streaming").iter_rows(named=True):
        cells = dict(zip(row["heading"], row["cells"], strict=False))
        dead, live = (_number(cells.get(name)) for name in ("n_dead_tup", "n_live_tup"))
        if dead is None or live is None or dead < MANY or dead < live:
            continue
        table = str(cells.get("relname") or "a table").strip()
        vacuums = [_number(cells.get(name)) or 0.0 for name in ("vacuum_count", "autovacuum_count") if name in cells]
        yield Sighting(
            "dead-rows",
            table,
            f"{table} has {dead:,.0f} dead rows beside {live:,.0f} live ones ({figure(100 * dead / (dead + live), '%')})",
            "dead_rows",
            dead,
            "rows",
            (Lines(row["artifact_id"], row["line_no"], row["line_end"] or row["line_no"], "dead and live rows"),),
            **place(row),
            against="its live rows",
            against_value=live,
            share=dead / (dead + live),
            n=1,
            seen=({"counter": "n_dead_tup"},),
            beside=_vacuumed(sum(vacuums)) if vacuums else None,
        )


def _vacuumed(times: float) -> str:
    return f"it was vacuumed {f'{times:,.0f} times' if times > 1 else 'once' if times else 'never'}"


def _number(cell: object) -> float | None:
    text = str(cell or "").replace(",", "").strip()
    return float(text) if re.fullmatch(r"\d{1,18}", text) else None
