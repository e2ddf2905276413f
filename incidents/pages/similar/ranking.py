"""Rooms like this one: those that share rules and places with it, rare ones weighing more, and what was done there.

Everything is counted over the rooms that the asking person may see, the rarity too: rooms of strangers change no
number.

A feature is a rule that found something (a cause, along the way or contributing; more than a remark), a host or a subject of a finding, or
both at once. It weighs `ln((1 + N) / df)`, with N visible judged rooms and df of them that have it; causes weigh
double. Rooms are similar only if they share at least one rule: many have a host called db1.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import F, Q, Value
from django.db.models.functions import Concat

from incidents.access import Room, visible_to
from incidents.models.judging.case import Marker, MarkerKind
from incidents.models.judging.finding import ALIKE, Finding
from incidents.models.judging.verdict import Verdict
from incidents.models.plan.action import Action, ActionState
from incidents.models.plan.decision import Decision
from incidents.models.room.incident import Incident

FOUND = ALIKE & Q(kind="finding")
MOST = 5
MOST_REASONS = 3
_MOST_DEEDS = 60
# Numbers of one run or one room: that two rooms share them means nothing.
_OF_ONE_RUN = re.compile(r"(pid|lwp|artifact|connection of|set|0x)\s*[0-9a-f]")

Kind = Literal["rule", "host", "subject", "both"]
Feature = tuple[Kind, str]


@dataclass(frozen=True)
class Deed:
    """Something done or decided in a room. `effect`: the measured effect, if its confidence interval excludes zero."""

    kind: str  # done, changed, decided
    text: str
    effect: str = ""


@dataclass(frozen=True)
class Similar:
    """A room like the one asked about; `both` lists the shared features, heaviest first."""

    incident: Incident
    verdict: Verdict
    score: float
    both: list[str]
    deeds: list[Deed] = field(default_factory=list)


def similar(room: Room) -> list[Similar]:
    """Return the visible rooms most like this one, at most `MOST`, the most similar first."""
    # A rule that cleared something, or that only remarked on it, found nothing that two rooms could have in common.
    own = Finding.objects.filter(FOUND, incident=room.incident).order_by("rank")
    own = own.exclude(current__content__severity="info")
    rows = list(own.values_list("rule", "host", "subject", "group", "current__content__title")[:200])
    if not rows:
        return []
    titles = {rule: str(title or rule) for rule, _, _, _, title in reversed(rows)}
    causes = {rule for rule, _, _, group, _ in rows if group == "cause"}
    mine = _features(*zip(*((rule, host, subject) for rule, host, subject, _, _ in rows), strict=True))
    mine |= _both([f"{rule}\n{host}" for rule, host, _, _, _ in rows])
    have = _sharing(room, mine)
    judged = Verdict.objects.filter(incident__in=visible_to(room.user)).count()
    seen_in = Counter(feature for features in have.values() for feature in features)
    weights = {
        one: math.log((1 + max(judged, n)) / n) * (2 if one[0] == "rule" and one[1] in causes else 1)
        for one, n in seen_in.items()
    }
    scored = sorted(
        (
            (sum(weights[one] for one in features), id, features)
            for id, features in have.items()
            if id != room.incident.pk and any(kind == "rule" for kind, _ in features)
        ),
        key=lambda entry: (-entry[0], -entry[1]),
    )[:MOST]
    ids = [id for _, id, _ in scored]
    found = Incident.objects.filter(pk__in=ids, verdict__isnull=False).select_related("verdict").in_bulk()
    deeds = _deeds(found)
    return [
        Similar(found[id], found[id].verdict, score, _reasons(features, weights, titles), deeds[id])
        for score, id, features in scored
        if id in found
    ]


def _sharing(room: Room, mine: set[Feature]) -> dict[int, set[Feature]]:
    """Return the id of each visible room, this one included, with the features of `mine` that it has too."""
    named = {kind: sorted({value for k, value in mine if k == kind}) for kind in ("rule", "host", "subject")}
    rows = (
        Finding.objects.filter(FOUND, incident__in=visible_to(room.user))
        .filter(
            Q(rule__in=named["rule"])
            | Q(host__in=named["host"]) & ~Q(host="")
            | Q(subject__in=named["subject"]) & ~Q(subject="")
        )
        .order_by()
        .values_list("incident")
        .annotate(
            rules=ArrayAgg("rule", distinct=True, default=Value([])),
            hosts=ArrayAgg("host", distinct=True, default=Value([])),
            subjects=ArrayAgg("subject", distinct=True, default=Value([])),
            pairs=ArrayAgg(Concat(F("rule"), Value("\n"), F("host")), distinct=True, default=Value([])),
        )
    )
    return {id: mine & (_features(rules, hosts, subjects) | _both(pairs)) for id, rules, hosts, subjects, pairs in rows}


def _features(rules: Sequence[str], hosts: Sequence[str], subjects: Sequence[str]) -> set[Feature]:
    found: set[Feature] = {("rule", rule) for rule in rules}
    lasting = {subject for subject in subjects if subject and not _OF_ONE_RUN.match(subject)}
    return found | {("host", host) for host in hosts if host} | {("subject", subject) for subject in lasting}


def _both(pairs: Sequence[str]) -> set[Feature]:
    return {("both", pair) for pair in pairs if not pair.endswith("\n")}


def _reasons(features: set[Feature], weights: dict[Feature, float], titles: dict[str, str]) -> list[str]:
    """Say what two rooms share: each rule once, with its host if that is the same, then subjects."""
    hosts = {pair.split("\n")[0]: pair.split("\n")[1] for kind, pair in sorted(features) if kind == "both"}
    reasons = []
    for kind, value in sorted(features, key=lambda one: (-weights[one], one)):
        if kind == "rule":
            reasons.append(f"{titles[value]} on {hosts[value]}" if value in hosts else titles[value])
        elif kind == "subject":
            reasons.append(value)
    return list(dict.fromkeys(reasons))[:MOST_REASONS]


def _deeds(rooms: dict[int, Incident]) -> dict[int, list[Deed]]:
    """Return what was done in these rooms: changes with measured effect first, then other actions, then decisions."""
    found: dict[int, list[Deed]] = {id: [] for id in rooms}
    actions = Action.objects.filter(incident__in=rooms, state=ActionState.DONE, deleted_at__isnull=True)
    done = list(actions.select_related("marker").order_by("-done_at")[:_MOST_DEEDS])
    markers = Marker.objects.filter(incident__in=rooms, kind=MarkerKind.CHANGE).order_by("-pk")
    of_actions = {action.marker_id for action in done}
    deeds = [
        (action.incident_id, Deed("done", action.text, _effect(rooms[action.incident_id], action.marker)))
        for action in done
    ]
    deeds += [
        (marker.incident_id, Deed("changed", marker.label, _effect(rooms[marker.incident_id], marker)))
        for marker in markers[:_MOST_DEEDS]
        if marker.pk not in of_actions
    ]
    for id, deed in sorted(deeds, key=lambda entry: not entry[1].effect):
        found[id].append(deed)
    decided = Decision.objects.filter(incident__in=rooms, outcome__isnull=False, deleted_at__isnull=True)
    for decision in decided.order_by("-decided_at")[:_MOST_DEEDS]:
        found[decision.incident_id].append(Deed("decided", decision.outcome or ""))
    return found


def _effect(incident: Incident, marker: Marker | None) -> str:
    """Return the effect of a change from the comparison of its two phases, if the shift's interval excludes zero."""
    if marker is None or not (marker.from_phase and marker.to_phase):
        return ""
    compared: list[dict[str, Any]] = incident.verdict.compared
    for row in compared:
        low, high = row.get("ci") or (0, 0)
        if (row.get("from"), row.get("to")) == (marker.from_phase, marker.to_phase) and low * high > 0:
            return str(row.get("text") or "").split("; mean ")[0]
    return ""
