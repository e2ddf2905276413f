"""Read from an address which series and which two sides of it to compare, as far as the room has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.utils.functional import cached_property

from incidents.access import Room
from incidents.content.visible import visible
from incidents.drawing import frames, series
from incidents.drawing.series import Series, Side
from incidents.errors import Refused
from incidents.pages.compare import ledgers
from incidents.storage import store
from incidents.storage.database import let_go
from incidents.work import analysis, comparisons
from incidents.work.comparisons import Kept
from incidents.work.drawable import newest_report
from rules.case import phases
from rules.engine.read import ReadOnly
from rules.model import CaseSpec

Json = dict[str, Any]

#: Kinds of series offered first if two phases have them.
FIRST_CHOICE = ("connects", "cycle", "request", "dbcall", "wait", "call")


@dataclass
class Asked:
    """The comparison that an address asks for; `faults` say in words what cannot be compared."""

    room: Room
    spec: CaseSpec
    report: Json
    source: ReadOnly
    kept: Kept
    query: Mapping[str, str]
    faults: list[str] = field(default_factory=list)

    @cached_property
    def offers(self) -> list[Series]:
        rows = self.kept.ask(lambda: [vars(one) for one in series.offers(self.source)], "offers")
        return [Series(**{**row, "phases": tuple(row["phases"])}) for row in rows]

    @cached_property
    def phases(self) -> list[str]:
        """Return the phases that have evidence, in time order, without those that only a marker names."""
        seen = list(dict.fromkeys(s.phase for s in self.source.case.stretches if s.phase))
        return [phase for phase in phases.in_order(self.spec, seen) if phase in seen]

    @cached_property
    def series(self) -> Series | None:
        wanted = (self.query.get("named") or self.query.get("series") or "").strip()
        if not wanted:
            return self._usual
        if known := next((one for one in self.offers if one.name == wanted), None):
            return known
        found = series.named(wanted[:300])
        if found is None:
            self.faults.append(f"There is no series “{visible(wanted[:80])}”. Choose one from the list.")
        return found

    @cached_property
    def _usual(self) -> Series | None:
        def rank(one: Series) -> tuple[bool, int]:
            base = one.name.partition(":")[0]
            return len(one.phases) < 2, FIRST_CHOICE.index(base) if base in FIRST_CHOICE else len(FIRST_CHOICE)

        return min(self.offers, key=rank, default=None)

    @cached_property
    def host(self) -> str | None:
        return (self.query.get("host") or "")[:100] or None

    @cached_property
    def frames(self) -> list[frames.Frame]:
        found = frames.frames_of(self.report)
        ordered = frames.in_order(self.report, self.source)
        return [*found, ordered] if ordered else found

    @cached_property
    def sides(self) -> tuple[Side | None, Side | None]:
        asked = [self.query.get(name, "").strip()[:200] for name in ("a", "b")]
        if not any(asked):
            have = [phase for phase in self.phases if self.series is not None and phase in self.series.phases]
            chosen = (have if len(have) > 1 else self.phases)[:2]
            asked = [f"phase:{phase}" for phase in chosen] + [""] * (2 - len(chosen))
        one, other = (self._side(text) if text else None for text in asked)
        if one is not None and other is not None and one.key == other.key:
            self.faults.append(f"Both sides are {one.title}. Choose two different ones.")
            return one, None
        return one, other

    def _side(self, text: str) -> Side | None:
        kind, _, rest = text.partition(":")
        if kind == "phase" and rest in self.phases:
            return Side(text, rest, phase=rest)
        if kind == "artifact" and rest.isascii() and rest.isdigit() and len(rest) < 10:
            held = next((a for a in self.spec.artifacts if a.id == int(rest)), None)
            if held is not None:
                return Side(text, f"artifact {held.id} ({visible(held.file)[:60]})", artifact=held.id)
            self.faults.append(f"Artifact {int(rest)} cannot be compared: it was purged, or it has not been read yet.")  # fmt: skip
            return None
        if kind == "range" and (side := self._stretch(text, rest)):
            return side
        words = f"“{visible(text[:60])}” is not a phase, artifact or range of time of this room."
        self.faults.append(
            f"No evidence belongs to a phase called “{visible(rest[:60])}”." if kind == "phase" else words
        )
        return None

    def _stretch(self, text: str, rest: str) -> Side | None:
        """Read `FRAME:from,to`, seconds or places on the frame's axis."""
        name, _, ends = rest.rpartition(":")
        frame = next((one for one in self.frames if one.name == name), None)
        try:
            start, end = (float(part) for part in ends.split(","))
        except ValueError:
            return None
        if frame is None or not (math.isfinite(start) and math.isfinite(end) and start < end):
            return None
        range_text = f"{start:g} to {end:g}" + ("" if frame.ordered else " s")
        return Side(text, f"{frames.title(frame, self.report)} {range_text}", frame=frame, start=start, end=end)

    @property
    def ready(self) -> bool:
        return self.series is not None and None not in self.sides and not self.faults

    @cached_property
    def both(self) -> tuple[Side, Side]:
        one, other = self.sides
        if one is None or other is None:
            raise Refused("Choose two different sides first.", 422)
        return one, other

    @cached_property
    def words(self) -> str:
        """Return the query part of the address, for links to other parts of the page."""
        given = {name: self.query.get(name, "") for name in ("series", "named", "host")}
        given |= {name: side.key for name, side in zip(("a", "b"), self.sides, strict=True) if side}
        given |= {"series": self.series.name if self.series is not None else "", "named": ""}
        return urlencode({name: value for name, value in given.items() if value})

    def measured(self, one: Side, other: Side) -> Json:
        found = self.series
        if found is None:
            raise Refused("There is no series to compare yet.", 404)
        result: Json = self.kept.ask(
            lambda: comparisons.measured(found, one, other, self.source, self.host), "series", found.name, one.key, other.key, self.host or ""
        )  # fmt: skip
        return result

    def known(self) -> Json | None:
        """Return the comparison if it was computed before."""
        one, other = self.both
        name = self.series.name if self.series else ""
        found: Json | None = self.kept.get("series", name, one.key, other.key, self.host or "")
        return found

    @cached_property
    def ledger(self) -> list[ledgers.Entry]:
        """Return the room's changes and actions, measured with the chosen series; empty without a series."""
        found, incident = self.series, self.room.incident
        symptom = found is not None and ledgers.is_symptom(incident, found.name, found.title)
        return ledgers.entries(incident, self.spec, self.phases, self.across, symptom=symptom) if found else []

    def across(self, first: str, second: str) -> Json:
        """Compare the chosen series across a border, for the ledger."""
        return self.measured(*(Side(f"phase:{phase}", phase, phase=phase) for phase in (first, second)))


def opened(room: Room, query: Mapping[str, str]) -> Asked:
    incident = room.incident
    spec, report = analysis.case_of(incident, judged=False), newest_report(incident) or {}
    cache = store.cache_dir(incident.pk)
    let_go()  # whoever compares may wait for a turn
    source = ReadOnly(spec, comparisons.tables(), cache)
    return Asked(room, spec, report, source, comparisons.kept(cache, spec, report), query)
