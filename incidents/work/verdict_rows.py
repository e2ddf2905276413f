"""Write each room's verdict row, for lists, recurring causes and similar rooms. Only a judgement updates it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incidents.models.judging.finding import Evaluation
from incidents.models.judging.verdict import Verdict

Json = Mapping[str, Any]

#: Verdict states that name whose seconds they are: with the first of them the room knows where to look.
LEADS = ("cause", "suspect")
_SEVERITIES = ("critical", "major", "minor", "info")
_STEPS = {"none": 0, "weak": 1, "fair": 2, "good": 3, "strong": 4}


def keep(evaluation: Evaluation) -> Verdict:
    """Write the row of an accepted evaluation; inside the transaction that accepts it.

    `first_at`, the end of "time to verdict", is set by the first verdict of `LEADS` and never changes.
    """
    fields = summary(evaluation.report)
    earlier = Verdict.objects.filter(incident_id=evaluation.incident_id).values_list("first_at", flat=True).first()
    fields["first_at"] = earlier or (evaluation.made_at if fields["state"] in LEADS else None)
    fields |= {"evaluation": evaluation, "judged_at": evaluation.made_at}
    kept, _ = Verdict.objects.update_or_create(incident_id=evaluation.incident_id, defaults=fields)
    return kept


def summary(report: Json) -> dict[str, Any]:
    """Return the row's values from a report, cut to the width of their columns.

    `recurs_by` is what two verdicts must share to count as a recurrence: the leading hypothesis (the rule if there is
    none) on one host (or for one subject if no host is known). Only causes and suspects recur.

    >>> found = {"rule": "SHM-001", "key": "567a2367f67fd405", "host": "db1", "subject": "pid 3731"}
    >>> kept = summary({"verdict": {"state": "cause", "rules": ["SHM-001"], "hypothesis": "H-OS-SHM"}, "findings": [found]})
    >>> kept["recurs_by"], kept["carriers"], kept["support"]
    ('H-OS-SHM db1', ['567a2367f67fd405'], 'none')
    >>> summary({"verdict": {"state": "undecided", "rules": ["SHM-001"]}, "findings": [found]})["recurs_by"]
    ''
    """
    verdict = report.get("verdict") or {}
    rules = verdict.get("rules") or []
    carriers = [found for found in report.get("findings") or [] if found.get("rule") in rules]
    lead = carriers[0] if carriers else {}
    state, support = str(verdict.get("state") or "cannot tell"), str(verdict.get("support") or "none")
    hypothesis = str(verdict.get("hypothesis") or "")
    what, where = hypothesis or str(lead.get("rule") or ""), str(lead.get("host") or lead.get("subject") or "")
    cleared: dict[str, list[str]] = {}
    for entry in report.get("cleared") or []:
        cleared.setdefault(str(entry.get("layer") or ""), []).append(str(entry.get("bound") or ""))
    return {
        "state": state[:20],
        "support": support[:40],
        "support_step": _STEPS.get(support.split(" ")[0], 0),
        "severity": severity_of(report),
        # What every list prints behind the label; a report from before headlines has its sentence alone.
        "sentence": str(verdict.get("headline") or verdict.get("sentence") or ""),
        "layer": str(verdict.get("layer") or "")[:40],
        "hypothesis": hypothesis[:40],
        "host": str(lead.get("host") or "")[:100],
        "recurs_by": f"{what} {where}".strip()[:240] if what and state in LEADS else "",
        "carriers": [str(found.get("key") or "") for found in carriers],
        "cleared": [
            {"layer": layer, "bound": "; ".join(dict.fromkeys(filter(None, bounds)))}
            for layer, bounds in cleared.items()
        ],
        "cleared_count": len(cleared),
        "compared": list(report.get("compared") or []),
    }


def severity_of(report: Json) -> str:
    """Return the worst severity of the findings that carry the verdict, else of all findings; "" without any.

    >>> found = [{"rule": "A", "severity": "minor"}, {"rule": "B", "severity": "critical", "kind": "clear"}]
    >>> severity_of({"findings": found}), severity_of({})
    ('minor', '')
    """
    rules = (report.get("verdict") or {}).get("rules") or []
    found = [one for one in report.get("findings") or [] if one.get("kind") != "clear"]
    carriers = [one for one in found if one.get("rule") in rules]
    severities = {str(one.get("severity") or "") for one in carriers or found}
    return next((one for one in _SEVERITIES if one in severities), "")


def told(content: Json) -> dict[str, str]:
    """Return what a finding's row copies from its current version: host, subject, and the text for the search."""
    words = (str(content.get(name) or "") for name in ("headline", "expert", "rule"))
    return {
        "host": str(content.get("host") or "")[:100],
        "subject": str(content.get("subject") or "")[:200],
        "said": " ".join(filter(None, words)),
    }
