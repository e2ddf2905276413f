"""Record in the room's activity what a judgement changed: one row for a judgement, none if it changed nothing.

The record can never be changed, but evidence can be purged. So a row quotes no evidence: it names states, layers, rules
and observers, and the room shows their words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from incidents.content.report import layer_name
from incidents.models.judging.finding import Evaluation
from incidents.models.judging.observation import Observation
from incidents.models.judging.verdict import Verdict
from incidents.models.room.activity import Activity
from rules.model import FIRST_SHOWN

MOST_NAMED = 10
"""Maximum number of rules or observers that a row names; further ones are counted."""


class Judged:
    """What an evaluation changes in its room. Make it before the room's rows are replaced, and `record` afterwards.

    `found` and `lost` take the rules of findings that are new or no longer found.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.found: list[str] = []
        self.lost: list[str] = []
        incident_id = evaluation.incident_id
        before = Verdict.objects.filter(incident_id=incident_id).values_list("state", "layer").first()
        self._verdict = _verdict(*before) if before else ""
        self._known = set(Observation.objects.filter(incident_id=incident_id).values_list("key", flat=True))

    def record(self) -> None:
        """Append the row, in the transaction that accepts the evaluation; a judgement that changed nothing gets none."""
        verdict = self.evaluation.report.get("verdict") or {}
        now = _verdict(str(verdict.get("state") or "cannot tell"), str(verdict.get("layer") or ""))
        detail = {
            "verdict": f"{self._verdict} → {now}".strip(" →") if now != self._verdict else "",
            "newly found": _named(self.found),
            "no longer found": _named(self.lost),
            "newly stands out": _named(str(one.get("observer")) for one in self._new()),
        }
        changed = {name: words for name, words in detail.items() if words}
        if changed:
            what = f"evaluation {self.evaluation.number}"
            Activity.objects.append(self.evaluation.incident_id, None, "Exhibit", "judged", what, **changed)

    def _new(self) -> Iterable[dict[str, Any]]:
        """Return the observations shown by default that did not stand out before."""
        standing_out = [one for one in self.evaluation.report.get("observations") or [] if not one.get("idle")]
        shown = [one for one in standing_out[:FIRST_SHOWN] if not one.get("normal")]
        return [one for one in shown if str(one.get("key") or "") not in self._known]


def _verdict(state: str, layer: str) -> str:
    """Write a verdict without its sentence.

    >>> _verdict("lead", "name_service"), _verdict("cannot tell", "")
    ('lead, name service', 'cannot tell')
    """
    return f"{state}, {layer_name(layer)}" if layer else state


def _named(names: Iterable[str]) -> str:
    """List names in alphabetical order, each once with its number.

    >>> _named(["NET-002", "SHM-001", "NET-002"])
    'NET-002 (2), SHM-001'
    """
    counted = Counter(names)
    listed = [name if n == 1 else f"{name} ({n})" for name, n in sorted(counted.items())]
    more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
    return ", ".join(listed[:MOST_NAMED]) + more
