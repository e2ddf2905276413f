"""The phases of a case in order, and a description of what changed at the border between two of them.

A marker lists everything that changed; where a change takes effect only at a start, the restart is added and marked as
added. The effects of several simultaneous changes cannot be told apart; a change that was reverted together with its
effect on the metric can be.
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
    """What the markers between two phases state. `changed` is empty if no marker is there: then the change is unknown."""

    first: str
    second: str
    labels: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    restart_added: bool = False
    hypotheses: tuple[str, ...] = ()
    places: tuple[int, ...] = ()  # indices of the markers in the case
    taken_back_by: str | None = None  # label of the next marker if it reverts the change

    @property
    def n_changes(self) -> int | None:
        return len(self.changed) or None

    @property
    def listed(self) -> str:
        """List what changed; an added restart is marked as added."""
        if not self.places:
            return "no marker says what changed here"
        return ", ".join(self.changed) + (
            " (added: such a change takes effect at a start)" if self.restart_added else ""
        )

    @property
    def words(self) -> str:
        """Describe what may explain a difference at this border, and what may not be concluded from it."""
        if not self.places:
            return "No marker says what changed here: a difference has no known reason."
        if len(self.changed) == 1:
            return f"One thing changed: {self.changed[0]}."
        listed = ", ".join(self.changed)
        added = " The restart is added: such a change takes effect at a start only." if self.restart_added else ""
        return f"{len(self.changed)} things changed at once: {listed}. Their effects cannot be told apart.{added}"


def rows_of(markers: Iterable[Marker]) -> list[dict[str, Any]]:
    """Return markers as rows of the table `markers`, with the restart added and without times."""
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
    """Return the phases of the evidence (`seen`, in order of appearance) and those that markers name, in order of time."""
    named = [phase for m in spec.markers if m.between for phase in m.between]
    return phase_order(list(dict.fromkeys([*seen, *named])), table_of(spec.markers))


def between(spec: CaseSpec, ordered: Sequence[str], first: str, second: str) -> Border:
    """Return the border between two phases, earlier phase first whatever the argument order. ValueError for an unknown
    phase.
    """
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
    """Return the borders between consecutive phases."""
    return [between(spec, ordered, first, second) for first, second in pairwise(ordered)]


def reversal(
    spec: CaseSpec, ordered: Sequence[str], first: str, second: str, values: Mapping[str, Sequence[float]]
) -> bool:
    """Return whether the change between two neighbouring phases was reverted in the next phase, and the metric with it
    (A-B-A).

    `values` holds the metric's values in the three phases. The confidence interval of the shift back must exclude zero
    and the shift back must cover half of the shift there.
    """
    place = ordered.index(second) + 1
    if place >= len(ordered) or ordered[place] not in values:
        return False
    return reversed_after(ordered, first, second, values, table_of(spec.markers))
