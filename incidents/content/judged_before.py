"""Compare the other site's judgement of a room that came in a bundle with the judgement made here.

Only words and keys are taken from the other site's report, checked one by one: nothing else of it reaches a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_WORDS = ("rule", "version", "headline", "group", "severity", "tier", "host", "subject")
#: Differences in these words of a finding are told; headlines may differ in a figure or a name only.
_COMPARED = ("group", "severity", "tier", "headline", "version")
MOST_FINDINGS = 2000
MOST_CHARS = 500


def digest(report: Any) -> Json:
    """Return the verdict's words and the findings of a report; values of an unexpected shape are left out.

    >>> digest({"verdict": {"state": "cause", "sentence": "Disks."}, "findings": [{"key": "a" * 16, "rule": "X-1"}, 7]})
    {'state': 'cause', 'sentence': 'Disks.', 'findings': [{'key': 'aaaaaaaaaaaaaaaa', 'rule': 'X-1'}]}
    >>> digest(None)
    {}
    """
    if not isinstance(report, dict) or not isinstance(report.get("verdict"), dict):
        return {}
    listed = report.get("findings")
    found = [_finding(one) for one in (listed if isinstance(listed, list) else [])[:MOST_FINDINGS]]
    verdict = {name: _words(report["verdict"].get(name)) for name in ("state", "sentence")}
    return {**{name: value for name, value in verdict.items() if value}, "findings": [one for one in found if one]}


def _finding(told: Any) -> Json | None:
    if not isinstance(told, dict) or not isinstance(told.get("key"), str) or len(told["key"]) != 16:
        return None
    return {"key": told["key"], **{name: words for name in _WORDS if (words := _words(told.get(name)))}}


def _words(value: Any) -> str | None:
    return value.replace("\0", "")[:MOST_CHARS] if isinstance(value, str) else None


@dataclass(frozen=True)
class Change:
    """A finding of both judgements whose words differ: `what` lists the words before and now."""

    now: Json
    what: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Difference:
    """Two judgements of one room: the other site's, and the newest one here."""

    verdict_before: Json
    verdict_now: Json
    only_before: tuple[Json, ...]
    only_now: tuple[Json, ...]
    changed: tuple[Change, ...]
    same: int

    @property
    def verdict_same(self) -> bool:
        return self.verdict_before == self.verdict_now

    @property
    def none(self) -> bool:
        return self.verdict_same and not (self.only_before or self.only_now or self.changed)


def difference(before: Mapping[str, Any], report: Any) -> Difference:
    """Compare what `digest` took from the other site with the newest report here."""
    now = digest(report)
    theirs = {one["key"]: one for one in before.get("findings", [])}
    ours = {one["key"]: one for one in now.get("findings", [])}
    changed = []
    for key in theirs.keys() & ours.keys():
        pairs = ((name, theirs[key].get(name, ""), ours[key].get(name, "")) for name in _COMPARED)
        what = tuple(pair for pair in pairs if pair[1] != pair[2])
        if what:
            changed.append(Change(ours[key], what))
    order = list(ours)
    return Difference(
        {name: before.get(name) for name in ("state", "sentence")},
        {name: now.get(name) for name in ("state", "sentence")},
        tuple(one for key, one in theirs.items() if key not in ours),
        tuple(one for key, one in ours.items() if key not in theirs),
        tuple(sorted(changed, key=lambda change: order.index(change.now["key"]))),
        len(theirs.keys() & ours.keys()) - len(changed),
    )
