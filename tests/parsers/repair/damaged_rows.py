"""Compare a damaged sample with the clean one: rows that are left, lost with a note, or wrong."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from parsers.layout.recognition import recognise
from parsers.text.source import Head
from tests.parsers.formats.evidence import Run, parse_bytes
from tests.parsers.repair.damages import Anatomy, Damage

PLACES = {
    "line_no", "line_end", "frame_lines", "part", "sample", "first", "seq", "prev_line", "prev_name", "done_line", "contiguous", "gap_s", "delta_s",
    "interval_s", "dur_hi_s", "delta", "mode", "complete", "frame", "agg", "traced_f",
}  # fmt: skip
"""Columns that depend on the position among other rows, so they change with the lines around."""

TOLD = {"unknown", "damaged", "repaired", "elided", "remark"}


@dataclass
class Outcome:
    """Result of the comparison.

    `lost`: rows of the clean text that are missing. `wrong`: rows that match no row of the clean text. `partly`:
    whether some rows lack values, or a note on their line marks them as doubtful.
    """

    lost: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    wrong: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    untold: str = ""
    partly: bool = False

    @property
    def state(self) -> str:
        return "left unknown" if self.lost or self.partly else "recovered"


def read(lines: list[str], kind: str, variant: str, end: str = "\n") -> Run:
    """Read a text as this kind; the claims decide the dialect, as for an upload."""
    found = recognise(Head(lines), kinds=[kind])
    chosen = found.claims[0].variant if found.claims else variant
    run = parse_bytes(("\n".join(lines) + end).encode(), kind, chosen, dress=found.dress)
    assert run is not None
    return run


def anatomy(lines: list[str], run: Run) -> Anatomy:
    spans = set()
    figures: dict[int, set[float]] = defaultdict(set)
    for name, rows in run.tables.items():
        if name in ("notes", "hosts", "profile_meta", "open_calls"):
            continue
        ends = rows["line_end"].fill_null(rows["line_no"]) if "line_end" in rows.columns else rows["line_no"]
        measured = [c for c, t in rows.schema.items() if t == pl.Float64 and c not in ("t_local", "lo", "hi", "num")]
        for column in measured:
            for line_no, value in zip(rows["line_no"], rows[column], strict=True):
                figures[line_no - 1].add(value)
        spans |= set(zip(rows["line_no"].to_list(), ends.to_list(), strict=True))
    timed = any("t_local" in rows.columns and rows["t_local"].count() > 0 for name, rows in run.tables.items())
    boot = any("first" in rows.columns and bool(rows["first"].any()) for rows in run.tables.values())
    places = tuple(sorted((first - 1, last - 1) for first, last in spans))
    return Anatomy(lines, min((first for first, _ in places), default=0), places, dict(figures), timed, boot)


def compare(sample: Anatomy, clean: Run, damaged: Run, damage: Damage) -> Outcome:
    """Pair rows by their values; NULL matches any value, and a note must report what is lost or cut."""
    found = Outcome()
    exempt = {n + 1 for n in damage.exempt(sample)}
    nulls = False
    for name in sorted(clean.tables.keys() | damaged.tables.keys()):
        if name == "notes":
            continue
        before = _rows(clean.tables.get(name), damage)
        after = _rows(damaged.tables.get(name), damage)
        spare: dict[Any, list[Any]] = defaultdict(list)
        for place, row in enumerate(before):
            spare[_key(row)].append(place)
        used: set[int] = set()
        odd = []
        for row in after:
            places = spare.get(_key(row))
            if places:
                used.add(places[0])
                if len(places) > 1 or not damage.twice:
                    places.pop(0)
            else:
                odd.append(row)
        for row in odd:
            # A cell with another value is accepted if a note marks it as impossible; a value derived from it may differ
            # too.
            others = 2 if damage.cell and row["line_no"] in exempt and _noted(damaged, row["line_no"]) else 0
            free = (n for n in range(len(before)) if damage.twice or n not in used)
            at = next((n for n in free if _like(row, before[n], others)), None)
            if at is None and (row.get("state") == "truncated" or (name == "tcp_flows" and found.lost)):
                continue  # the row itself shows the loss; a flow is computed from the remaining packets
            own = {row["line_no"], row["line_end"] or row["line_no"]}
            ends = damage.name == "cut" and own & {1, damaged.lines}
            spared = bool(ends) or (at is not None and before[at]["line_no"] in exempt)
            if at is None and any(_noted(damaged, n, *(() if ends else ("damaged", "elided"))) for n in own):
                found.partly |= not spared
                nulls = True  # a note on its line marks it as doubtful
                continue
            if at is None:
                found.wrong.append((name, row))
            else:
                used.add(at)
                nulls = True
                found.partly |= not spared
        found.lost += [(name, row) for n, row in enumerate(before) if n not in used and row["line_no"] not in exempt]
    kinds = {note.kind for note in damaged.batch.notes}
    lost = [name for name, _ in found.lost if not (damage.nulls and name in ("hosts", "profile_meta"))]
    if (lost or (nulls and not damage.nulls)) and not kinds & TOLD and not damaged.asks:
        found.untold = "rows or values are lost, and no note says so"
    if damage.told and not kinds & set(damage.told):
        found.untold = f"no note of {damage.told}: {kinds}"
    if damage.name == "since_boot":
        for rows in (r for r in damaged.tables.values() if "first" in r.columns and r["first"].any()):
            if (
                rows.filter("first")["sample"].n_unique() > 1
                or rows.filter("first")["sample"].min() != rows["sample"].min()
            ):
                found.untold = "samples behind the first are said to count since boot"
    if damaged.batch.account.lines != damaged.lines:
        found.untold = f"the account does not add up: {damaged.batch.account} for {damaged.lines} lines"
    return found


def _noted(run: Run, line_no: int, *kinds: str) -> bool:
    notes = (note for note in run.batch.notes if not kinds or note.kind in kinds)
    return any(note.line_from <= line_no <= note.line_to for note in notes)


def _rows(frame: pl.DataFrame | None, damage: Damage) -> list[dict[str, Any]]:
    """Return the rows with their values as they are compared; `line_no` and `line_end` stay."""
    if frame is None:
        return []
    left_out = (
        PLACES - {"line_no", "line_end"}
        | ({"t_local"} if damage.clock else set())
        | ({"active"} if damage.twice else set())
    )
    rows = frame.drop(left_out, strict=False).to_dicts()
    return [{c: _plain(v, damage, c) for c, v in row.items()} for row in rows]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(v for c, v in row.items() if c not in PLACES)


def _plain(value: Any, damage: Damage, column: str) -> Any:
    if value in ("none", "unknown"):
        return None
    if isinstance(value, str):
        return re.sub(r"\s", "", damage.plain(value))
    if isinstance(value, float):
        if column == "t_local":
            return round(value % 86400 if damage.undated else value, 3)
        return float(f"{value:.6g}")
    return tuple(_plain(v, damage, column) for v in value) if isinstance(value, list) else value


def _like(row: dict[str, Any], old: dict[str, Any], others: int) -> bool:
    """Decide whether all values of a row are those of the old row, or beginnings of its texts.

    Values may be missing, and up to `others` values may differ.
    """
    same = 0
    for column, value in row.items():
        if column in PLACES or value is None:
            continue
        known = old.get(column)
        if value == known or (isinstance(value, str) and isinstance(known, str) and known.startswith(value)):
            same += 1
        elif others:
            others -= 1
        else:
            return False
    return same > 0
