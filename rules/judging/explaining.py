"""Explain observations by mechanisms, and decide whether one of them is a lead.

An explanation collects the observations of one host and artifact that signatures recognised as one mechanism, with the
part of the seconds, of a resource or of the failures that it accounts for (its weight, 0 to 1). It becomes a lead if it
accounts for at least half, is named outright or seen twice independently, is contradicted by nothing, has no rival with
more than half of its weight, and is large enough to be felt. A lead adds no decibans and never stands beside a cause,
a suspect or an undecided board.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rules.judging import headlines
from rules.judging.scoring import CAUSES
from rules.model import Finding, Hypothesis, Verdict
from rules.observers.observer import FELT_S, observers
from rules.signatures.mechanisms import Mechanism, mechanisms

Row = Mapping[str, Any]

HALF = 0.5
"""Minimum part that a lead accounts for, and maximum part of its weight that a rival may have."""

LITTLE = 0.25
"""Maximum part of the weight of a lead by one fitting name that an explanation of another layer may have."""

FELT_TOGETHER_S = 1.0
"""Minimum seconds together of waits that nobody would feel one by one: 25 flushes of 6 ms are what flushes take."""

FELT_EACH_S = 0.02
"""Minimum seconds of each of many like waits from which they are felt although they are few: a disk answers within 10 ms."""

REPEATED = 2
"""Minimum number of times that somebody waited for the other end."""

FELT_SHARE = 0.2
"""Minimum part of a resource that is large enough to be felt."""

OF_ONE_WHOLE = ("log-complaints", "consumers", "database-sessions")
"""Observers whose shares are parts of the same whole, so that they add up."""

OF_ONE_LISTING = (
    ("standing-still", "standing"),
    ("standing-still", "slow-request"),
    ("standing-still", "asleep"),
    ("profile-weight", "profile"),
)
"""Observers and kinds whose shares are those of the threads, processes or functions of one listing.

A function has a share of each event of a profile: one subject counts once, by the larger.
"""

HUNG = "hung"
"""Kind of a task that the kernel reports after two minutes."""

SLOW_REQUEST = "slow-request"
"""Kind of a stack that was written because its request had taken a second or longer: its wait was no hiccup."""

IN_SLEEP = {"asleep": 3, "lockup": 2, "standing": 2, SLOW_REQUEST: 2}
"""Least number of processes, tasks or stacks at one place by the kind of the observation: a single one may pass."""

IN_PROGRAM = 3
"""Least number of threads of a program that stand at one place of their own program: locks are free again in a moment."""

CLEARED_DB = -10
"""Decibans of a clearing finding from which it excludes what it clears."""

OTHERWISE_DB = 6
"""Decibans of a finding from which it explains its lines otherwise than a lead of another layer."""


@dataclass(frozen=True)
class Explanation:
    """One mechanism, the observations (rows of the table) that it explains in one scope, and what speaks against it.

    `weight` is 0 to 1, `felt` whether it is large enough to be noticed, `against` sentences, `weak` reasons for which the
    support is weak although nothing contradicts it, `words` those that alone led to it (`by_words`).
    """

    mechanism: Mechanism
    layer: str
    hypothesis: str
    host: str | None
    rows: tuple[Row, ...]
    weight: float
    felt: bool
    named: bool
    independent: bool
    against: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    rivals: tuple[str, ...] = field(default=())
    words: tuple[str, ...] = field(default=())

    @property
    def best(self) -> Row:
        """Return the observation that accounts for most of the explanation's weight."""
        return self.rows[0]


def explanations(
    rows: Iterable[Row],
    measures: Iterable[Row],
    findings: Sequence[Finding] = (),
    hypotheses: Sequence[Hypothesis] = (),
    quiet: Mapping[str, Sequence[str]] | None = None,
    clients: Collection[str] = (),
) -> tuple[Explanation, ...]:
    """Return all explanations, heaviest first.

    `rows` are ranked observations that are not idle, `measures` rows with host, name and value (also normal ones),
    `quiet` maps a hypothesis to the rules for it that ran and stayed quiet. On the hosts `clients`, what belongs to the
    system is assigned to the layer of the client's host.
    """
    listed = [r for r in rows if not r["idle"] and r["mechanism"]]
    known = list(measures)
    every = [r for r in rows if not r["idle"]]
    groups: dict[tuple[str | None, str], list[Row]] = {}
    for row in listed:
        groups.setdefault((row["host"], row["mechanism"]), []).append(row)
    weights = {key: _weight(held, every) for key, held in groups.items()}
    made = []
    for (host, name), held in groups.items():
        weight, felt = weights[host, name]
        heavier = {n for (h, n), (w, _) in weights.items() if h == host and w > weight}
        mechanism = mechanisms()[name]
        layer = next((r["layer"] for r in held if r["layer"]), mechanism.layer)
        owed = (layer, mechanism.hypothesis)
        if host in clients and layer == "os_kernel":
            owed = ("client_host", "H-CLIENT")
        against = [*_contradictions(mechanism, host, held, every, known, heavier)]
        against += _excluded(*owed, held, findings, hypotheses)
        made.append(_explanation(mechanism, owed, host, held, weight, felt, against, quiet or {}))
    return tuple(sorted(made, key=lambda e: -e.weight))


def lead(made: Sequence[Explanation]) -> Explanation | None:
    """Return the explanation that is a lead, with its rivals, or None.

    A wait for somebody else (`follow`) is one only if nothing else is, and if a name says who that is (a database, a
    directory, the server behind a proxy): a lead to a layer, not to a reason. What another lead brings along is not one
    beside it. A rival is named or seen twice too, or is heavier. If none is sure, see `_alone`.
    """
    sure = [o for o in made if o.felt and not o.against and (o.named or o.independent)]
    fitting = [o for o in made if o in sure or (o.felt and not o.against and o.weight >= HALF)]
    able = [o for o in sure if _together(o, fitting) >= HALF]
    able = [o for o in able if not o.mechanism.follow] or [o for o in able if _says_who(o)]
    brought = {name for o in able for name in o.mechanism.brings}
    able = [o for o in able if o.mechanism.mechanism not in brought]
    for one in able:
        together = _together(one, fitting)
        others = [o for o in made if o is not one and not o.mechanism.follow and not o.against]
        rivals = [o for o in others if (o in sure or o.weight > one.weight) and o.mechanism.mechanism not in brought]
        # An explanation that brings the lead along, and is not sure itself, is a reason for the lead and no rival.
        rivals = [o for o in rivals if o in sure or one.mechanism.mechanism not in o.mechanism.brings]
        if any(o.weight > HALF * together and o.layer != one.layer for o in rivals):
            return None
        names = tuple(o.mechanism.is_ for o in others) or tuple(mechanisms()[n].is_ for n in one.mechanism.looks_like)
        return replace(one, rivals=names)
    return None if able else _alone(made)


def _says_who(one: Explanation) -> bool:
    """Return whether a wait for somebody else names the other end: by what was asked, or because it is of such a kind.

    One that may have been a single hiccup of the other end says too little.
    """
    repeated = (one.best["n"] or 0) >= REPEATED or (one.best["seconds"] or 0.0) >= FELT_TOGETHER_S
    repeated = repeated or one.best["kind"] == SLOW_REQUEST
    return one.layer != one.mechanism.layer or (one.mechanism.far_end and repeated)


def _alone(made: Sequence[Explanation]) -> Explanation | None:
    """Return the heaviest explanation that rests on a single fitting observation, if no other layer has much weight.

    The observation must be a part of a measured whole (`alone` of its observer): half of a profile, of a listing or of
    a duration leaves little for another cause; a long wait says less.
    """
    open_ = [o for o in made if not o.against and not o.mechanism.follow]
    for one in open_:
        if one.mechanism.ordinary:
            continue
        # What it brings along is no other explanation: a program that spins for a lock of the kernel fills a processor.
        others = [o for o in open_ if o.mechanism.mechanism not in one.mechanism.brings]
        small = all(o.layer == one.layer or o.weight <= LITTLE * one.weight for o in others)
        if one.felt and one.weight >= HALF and small and _measures_parts(one):
            names = tuple(o.mechanism.is_ for o in open_ if o is not one)
            return replace(one, rivals=names or tuple(mechanisms()[n].is_ for n in one.mechanism.looks_like))
    return None


def _measures_parts(one: Explanation) -> bool:
    known = observers().get(one.best["observer"])
    return known is not None and known.OBSERVER.alone


def _together(one: Explanation, fitting: Sequence[Explanation]) -> float:
    """Return the part (0 to 1) that an explanation accounts for, with those of the same cause that cite other lines.

    Heavy ones count although they are not sure: waits for latches fit a parse storm that two observations show.
    """
    if one.weight < HALF / 2:
        return one.weight
    same = [
        o for o in fitting if (o.host, o.hypothesis, o.layer) == (one.host, one.hypothesis, one.layer) and o is not one
    ]
    apart = [o for o in same if not any(_same_lines(a, b) for a in o.rows for b in one.rows)]
    return min(1.0, one.weight + sum(o.weight for o in apart))


def as_verdict(one: Explanation, missing: tuple[str, ...], settled_by: str | None) -> Verdict:
    """Return the verdict of a lead; `settled_by` is the command that would prove or exclude it."""
    sentence = f"Not proven: {one.best['headline']}. What fits: {one.mechanism.is_}."
    if one.words:
        sentence = f"{sentence.rstrip('.')} ({', '.join(one.words)})."
    rival = one.rivals[0] if one.rivals else None
    if rival:
        sentence += f" Another explanation: {rival}."
    if settled_by:
        sentence += f" This would settle it: {settled_by}."
    fair = one.independent and not one.weak
    return Verdict(
        "lead",
        (),
        one.layer,
        one.hypothesis,
        "fair" if fair else "weak",
        sentence,
        missing,
        share=round(one.weight, 4),
        mechanism=one.mechanism.mechanism,
        rival=rival,
        # The largest observation says nothing of what only its words lead to.
        headline=headlines.sentence(one.mechanism.is_)
        if one.words
        else headlines.lead_headline(one.mechanism.is_, one.best),
    )


def _explanation(
    mechanism: Mechanism,
    owed: tuple[str, str],
    host: str | None,
    rows: list[Row],
    weight: float,
    felt: bool,
    against: Sequence[str],
    quiet: Mapping[str, Sequence[str]],
) -> Explanation:
    layer, hypothesis = owed
    named = any(r["strength"] == "mechanism" or _is_plain(mechanism, r) for r in rows)
    silent = quiet.get(hypothesis, ())
    weak = (f"{', '.join(silent)} looked at the same host and stayed quiet",) if silent else ()
    return Explanation(
        mechanism,
        layer,
        hypothesis,
        host,
        tuple(rows),
        weight,
        felt,
        named,
        _independent(rows),
        tuple(dict.fromkeys(against)),
        weak,
    )


def _is_plain(mechanism: Mechanism, row: Row) -> bool:
    """Return whether a place of sleep names its mechanism outright because most of those with work sleep there.

    A single task is enough if the kernel reports it as hung, which it does only after minutes.
    """
    if not mechanism.plain_asleep or row["observer"] != "standing-still":
        return False
    least = max(IN_SLEEP.get(row["kind"], 9), IN_PROGRAM if mechanism.layer == "client_app" else 0)
    several = (row["n"] or 0) >= least and (row["share"] or 0.0) >= HALF
    return several or row["kind"] == HUNG


def _weight(rows: Sequence[Row], every: Sequence[Row]) -> tuple[float, bool]:
    """Return the largest part that the rows account for, and whether that is enough to be felt."""
    found, felt = 0.0, False
    for artifact in {r["artifact_id"] for r in rows}:
        held = _apart([r for r in rows if r["artifact_id"] == artifact and r["seconds"] is not None])
        seconds = sum(r["seconds"] for r in held)
        scope = max((r["of_s"] or 0.0 for r in held), default=0.0)
        if scope > 0:
            found = max(found, min(1.0, seconds / scope))
            longest = max(r["value"] if r["unit"] == "s" else 0.0 for r in held)
            late = any(r["n"] and r["seconds"] >= FELT_EACH_S * r["n"] for r in held)
            felt |= seconds >= FELT_S and (longest >= FELT_S or seconds >= FELT_TOGETHER_S or late)
        parts = [r for r in rows if r["artifact_id"] == artifact and r["share"] is not None and r["seconds"] is None]
        if parts:
            # Shares of several lines of one log, or of several processes of one listing, are parts of the same whole.
            added = [min(1.0, sum(r["share"] for r in parts if r["observer"] == name)) for name in OF_ONE_WHOLE]
            added += [_of_listing([r for r in parts if (r["observer"], r["kind"]) == one]) for one in OF_ONE_LISTING]
            share = max(*(r["share"] for r in parts), *added)
            found = max(found, share)
            felt |= share >= FELT_SHARE
        ended = sum(r["n"] or 1 for r in rows if r["artifact_id"] == artifact and r["failure"])
        if ended:
            all_ended = sum(r["n"] or 1 for r in every if r["artifact_id"] == artifact and r["failure"])
            found = max(found, ended / all_ended)
            felt = True
    return found, felt


def _of_listing(rows: Sequence[Row]) -> float:
    """Return the sum of the shares of rows of one observer and kind, at most 1."""
    of: dict[tuple[str, int | None], float] = {}
    for row in rows:
        key = (row["subject"], None if row["kind"] == "profile" else row["evidence"][0]["line_from"])
        of[key] = max(row["share"], of.get(key, 0.0))
    return min(1.0, sum(of.values()))


def _apart(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, longest first, without those that cite lines of a longer one: their seconds are the same."""
    made: list[Row] = []
    # Of two that tell the same time of one line, the one that knows of how much comes first.
    for row in sorted(rows, key=lambda r: (-round(r["seconds"], 3), r["of_s"] is None)):
        if not any(_same_lines(row, other) for other in made):
            made.append(row)
    return made


def _same_lines(one: Row, other: Row) -> bool:
    return any(
        a["artifact_id"] == b["artifact_id"] and a["line_from"] <= b["line_to"] and b["line_from"] <= a["line_to"]
        for a in one["evidence"]
        for b in other["evidence"]
    )


def _independent(rows: Sequence[Row]) -> bool:
    """Return whether two observations share no line and come from different artifacts or observers."""

    def source(row: Row) -> tuple[Any, str]:
        known = observers().get(row["observer"])
        return row["artifact_id"], (known.OBSERVER.like if known else None) or row["observer"]

    return any(source(a) != source(b) and not _same_lines(a, b) for n, a in enumerate(rows) for b in rows[n + 1 :])


def _contradictions(
    mechanism: Mechanism,
    host: str | None,
    rows: Sequence[Row],
    every: Sequence[Row],
    measures: Sequence[Row],
    heavier: Collection[str],
) -> Iterable[str]:
    """Yield what contradicts a mechanism; another mechanism on the same lines does so only if it is in `heavier`."""
    for c in mechanism.contradicted_by:
        if c.measure is not None:
            values = [
                m["value"] for m in measures if m["name"] == c.measure and m["host"] == host and m["value"] is not None
            ]
            if values and (
                (c.below is not None and max(values) < c.below) or (c.above is not None and min(values) > c.above)
            ):
                yield c.because
        if c.mechanism in heavier and any(
            o["mechanism"] == c.mechanism and _same_lines(o, r) for o in every for r in rows
        ):
            yield c.because


def _excluded(
    layer: str,
    hypothesis: str,
    rows: Sequence[Row],
    findings: Sequence[Finding],
    hypotheses: Sequence[Hypothesis],
) -> Iterable[str]:
    """Yield the reasons why the board or the findings exclude an explanation."""
    whole = CAUSES[hypothesis].part_of
    for h in hypotheses:
        if h.code in (hypothesis, whole) and h.score < 0:
            yield f"the board speaks against it: {h.cause} has {h.score} dB"
    for finding in findings:
        cites = any(
            c.artifact == e["artifact_id"] and c.line_from <= e["line_to"] and e["line_from"] <= c.line_to
            for c in finding.citations
            for r in rows
            for e in r["evidence"]
        )
        if not cites:
            continue
        if finding.kind == "clear" and finding.decibans <= CLEARED_DB and any(c.layer == layer for c in finding.clears):
            yield f"cleared: {finding.headline}"
        other = (
            finding.kind == "finding"
            and finding.decibans >= OTHERWISE_DB
            and finding.layer not in (layer, "measurement")
        )
        if other and layer not in finding.contributing:
            yield f"explained otherwise: {finding.headline}"
