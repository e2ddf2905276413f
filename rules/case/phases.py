"""The phases of a case in order, and what lies at the border between two of them, in words.

A marker lists all that changed; where a change takes effect at a start only, the restart is added and said to be. Several
things that changed at once cannot be told apart; a change that was taken back, the metric with it, can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from rules.case.case import with_restart
from rules.derived.changes import lying_between, phase_order, reversed_after, takes_back
from rules.model import CaseSpec, Marker


@dataclass(frozen=True)
class Border:
    """What the markers between two phases say. `changed` is empty where no marker lies there: nothing is known then."""

    first: str
    second: str
    labels: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    restart_added: bool = False
    hypotheses: tuple[str, ...] = ()
    places: tuple[int, ...] = ()  # of the markers in the case
    taken_back_by: str | None = None  # label of the marker right after that says so

    @property
    def n_changes(self) -> int | None:
        return len(self.changed) or None

    @property
    def listed(self) -> str:
        """List what changed, the restart that was added marked as such."""
        if not self.places:
            return "no marker says what changed here"
        return ", ".join(self.changed) + (
            " (added: such a change takes effect at a start)" if self.restart_added else ""
        )

    @property
    def words(self) -> str:
        """Say what may have made a difference here, and what may not be concluded from it."""
        if not self.places:
            return "No marker says what changed here: a difference has no known reason."
        if len(self.changed) == 1:
            return f"One thing changed: {self.changed[0]}."
        listed = ", ".join(self.changed)
        added = " The restart is added: such a change takes effect at a start only." if self.restart_added else ""
        return f"{len(self.changed)} things changed at once: {listed}. Their effects cannot be told apart.{added}"


def rows_of(markers: Iterable[Marker]) -> list[dict[str, Any]]:
    """Return markers as rows of the table `markers`, the restart added; no times."""
    return [
        {
            "kind": m.kind,
            "label": m.label,
            "hypothesis": m.hypothesis,
            "changed": with_restart(m),
            "from_phase": m.between[0] if m.between else None,
            "to_phase": m.between[1] if m.between else None,
        }
        for m in markers
    ]


def table_of(markers: Iterable[Marker]) -> pl.DataFrame:
    kinds = {name: pl.String() for name in ("kind", "label", "hypothesis", "from_phase", "to_phase")}
    return pl.DataFrame(rows_of(markers), schema=kinds | {"changed": pl.List(pl.String())})


def in_order(spec: CaseSpec, seen: Sequence[str]) -> list[str]:
    """Return the phases that evidence has (`seen`, as they appear) and those that markers name, in time."""
    named = [phase for m in spec.markers if m.between for phase in m.between]
    return phase_order(list(dict.fromkeys([*seen, *named])), table_of(spec.markers))


def between(spec: CaseSpec, ordered: Sequence[str], first: str, second: str) -> Border:
    """Return what lies between two phases, the earlier one first whatever order is asked for. ValueError for an unknown phase."""
    if first not in ordered or second not in ordered:
        raise ValueError("no such phase")
    if ordered.index(first) > ordered.index(second):
        first, second = second, first
    rows = rows_of(spec.markers)
    places = tuple(lying_between(ordered, first, second, rows))
    here = [rows[place] for place in places]
    changed = [text for row in here for text in (row["changed"] or [row["label"] or "a change"])]
    after = ordered[ordered.index(second) + 1] if ordered.index(second) + 1 < len(ordered) else None
    neighbours = ordered.index(second) == ordered.index(first) + 1
    back = [
        row["label"] or "a later marker"
        for row in rows
        if neighbours and row["kind"] == "change" and (row["from_phase"], row["to_phase"]) == (second, after)
        and any(takes_back(made, row) for made in here)
    ]  # fmt: skip
    return Border(
        first,
        second,
        labels=tuple(row["label"] or "change" for row in here),
        changed=tuple(changed),
        restart_added=any(len(rows[p]["changed"]) > len(spec.markers[p].changed) for p in places),
        hypotheses=tuple(sorted({row["hypothesis"] for row in here if row["hypothesis"]})),
        places=places,
        taken_back_by=back[0] if back else None,
    )


def neighbours(spec: CaseSpec, ordered: Sequence[str]) -> list[Border]:
    """Return the borders between phases that follow each other."""
    return [between(spec, ordered, first, second) for first, second in pairwise(ordered)]


def reversal(
    spec: CaseSpec, ordered: Sequence[str], first: str, second: str, values: Mapping[str, Sequence[float]]
) -> bool:
    """Tell whether what changed between two neighbouring phases was taken back by the next, the metric with it (A-B-A).

    `values` of the three phases; the interval of the way back must exclude zero and cover half of the way there.
    """
    place = ordered.index(second) + 1
    if place >= len(ordered) or ordered[place] not in values:
        return False
    return reversed_after(ordered, first, second, values, table_of(spec.markers))
