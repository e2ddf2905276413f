"""Rank what the observers saw: what a reader should see first, in words, with its lines.

An observation weighs by its seconds on the way of the symptom where these are known, else by its share, else by how far
it is from normal. What is idle or harmless comes last. Of several that say the same, the first is shown first and the
others later, so that the first seven show different things. Those of which their observer says that they belong together
(counters of one group, waits at the same place, complaints of one minute) are told as one, by the words of the largest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rules.case.case import Case
from rules.case.site_names import named, usable
from rules.derived.observations import MOST_ASKS
from rules.judging.quoting import Cite, quoted_lines
from rules.model import FIRST_SHOWN, Baseline, Failed, Observation, Quantity, SiteName
from rules.observers.observer import CONTEXT, FELT_S, KEPT, MOST_LINES

SHOWN = 60
"""Maximum number of observations in a report; the rest is counted by nobody, because it weighs next to nothing."""

AGAIN = 0.55
"""Factor per earlier observation of the same observer, so that the first seven show different things."""

SAME_THING = 0.3
"""Factor for an observation whose subject, or one of whose lines, an earlier one has."""

BY_RATIO = 0.5
"""Maximum weight of what has neither seconds nor a share: how far it is from normal is less than what it costs."""

FAILED_STEP = 0.35
"""Minimum weight of a failure that ended a step, whatever its seconds."""

REMARK = 0.08
"""Weight of a setting or total that nothing is compared with."""

LINES, MOST_OF_IT, BELOW = ("lines_count", "times_count"), 0.5, 0.99
"""Quantities that count lines of a log; weight from which a loss of seconds comes before such a count that does not
explain it; and the weight of the count as a part of that loss.
"""

ALSO = 5
"""Maximum number of observations that the sentence of the largest names too; further ones are counted."""


@dataclass(frozen=True)
class Observed:
    """What the observers saw of a case: ranked rows of what stands out, observations, measures, and failures.

    `told` holds the rows after those that belong together were joined, `observations` these and the measures within
    bounds that are shown beside them, `measures` every row with a figure.
    """

    rows: tuple[dict[str, Any], ...] = ()
    told: tuple[dict[str, Any], ...] = ()
    observations: tuple[Observation, ...] = ()
    measures: tuple[dict[str, Any], ...] = ()
    failed: tuple[Failed, ...] = ()


def observed(case: Case, cite: Cite) -> Observed:
    """Return what the observers saw, ranked."""
    tables = [name for name in ("observations", "comparisons") if case.has(name)]
    rows = [row for name in tables for row in case.scan(name).collect().to_dicts()]
    _give_keys(case, rows)
    failed = tuple(Failed(f"observer {r['observer']}", r["headline"], r["host"]) for r in rows if r["kind"] == "failed")
    cited = [r for r in rows if r["evidence"]]
    outstanding, excess_s = [r for r in cited if not r["normal"]], _excess(case)
    first = ranked(together(outstanding, excess_s), excess_s)
    busy = [r for r in first if not r["idle"]]
    fill = within_bounds([r for r in cited if r["normal"]])[: max(0, FIRST_SHOWN - len(busy))]
    shown = [*busy, *fill, *(r for r in first if r["idle"])]
    lines = quoted_lines(case, cite, shown, FIRST_SHOWN - len(shown))
    _give_keys(case, lines)
    names, kept = usable(case.spec.names), dict[str, dict[str, Any]]()
    for row in [*shown, *lines]:
        kept.setdefault(row["key"], row)
    return Observed(
        tuple({row["key"]: row for row in ranked(outstanding, excess_s)}.values()),
        tuple(row for row in kept.values() if not row["normal"]),
        tuple(_observation(n, key, row, cite, names) for n, (key, row) in enumerate(kept.items(), 1)),
        tuple(r for r in rows if r["value"] is not None),
        failed,
    )


def within_bounds(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the measures within their bounds that a reader may want to know, the nearest to its bound first.

    They fill the first lines if little stands out, so that the report says something about all readable evidence. Each
    measure of an artifact occurs once, and none that is 0. The description of a host's machine has no bound: it comes
    last, once per host.
    """

    def near(row: dict[str, Any]) -> float:
        value, bound = row["value"] or 0.0, row["against_value"] or 0.0
        return min(value / bound, bound / value) if value > 0 and bound > 0 else 0.0

    found: dict[tuple[Any, str], dict[str, Any]] = {}
    for row in sorted(rows, key=near, reverse=True):
        if row["kind"] == KEPT:
            continue
        if row["kind"] == CONTEXT:
            found.setdefault((row["host"], row["name"]), row)
        elif near(row) > 0:
            found.setdefault((row["artifact_id"], row["name"]), row)
    return list(found.values())


def _excess(case: Case) -> float | None:
    return case.spec.symptom.excess_s if case.spec.symptom else None


def weight(row: dict[str, Any], excess_s: float | None) -> float:
    """Return how much an observation weighs, from 0 to 1, before others are compared with it."""
    if row["idle"]:
        return 0.0
    made = 0.0
    if row["seconds"] is not None:
        whole = row["of_s"] or excess_s
        made = min(1.0, row["seconds"] / whole) if whole else min(1.0, row["seconds"] / (row["seconds"] + 1.0))
    elif row["share"] is not None:
        made = min(1.0, row["share"])
    elif row["against_value"] and row["value"]:
        ratio = abs(row["value"] / row["against_value"])
        made = BY_RATIO * (1 - min(ratio, 1 / ratio))
    else:
        made = REMARK
    if row["failure"]:
        made = max(made, FAILED_STEP)
    if row["strength"] == "mechanism":
        made = made + 0.25 * (1 - made)
    return made


def together(rows: Sequence[dict[str, Any]], excess_s: float | None) -> list[dict[str, Any]]:
    """Join rows that belong together (`joins`) into one row: the heaviest, which names and cites the others.

    Such rows are of the same observer, artifact, host, kind and mechanism.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for n, row in enumerate(rows):
        same = ("observer", "artifact_id", "host", "kind", "mechanism", "idle", "joins")
        key = tuple(row[k] for k in same) if row["joins"] else (n,)
        groups.setdefault(key, []).append(row)
    return [_joined(sorted(held, key=lambda r: -weight(r, excess_s))) for held in groups.values()]


def _joined(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first, others = rows[0], rows[1:]
    if not others:
        return first
    named = ", ".join(r["short"] for r in others[:ALSO])
    more = f" and {len(others) - ALSO:,} more" if len(others) > ALSO else ""
    more += f"; {len(rows):,} in all" if len(others) > 1 else ""
    evidence = list(first["evidence"])
    for cited in (c for r in others for c in r["evidence"]):
        whole = sum(c["line_to"] - c["line_from"] + 1 for c in [*evidence, cited])
        if cited not in evidence and whole <= MOST_LINES:
            evidence.append(cited)
    asks = list(dict.fromkeys(ask for r in rows for ask in r["asks"] or ()))[:MOST_ASKS]
    return {**first, "also": f"also {named}{more}", "evidence": evidence, "asks": asks}


def ranked(rows: Sequence[dict[str, Any]], excess_s: float | None) -> list[dict[str, Any]]:
    """Return the rows in the order in which they are shown, at most `SHOWN`; idle ones last."""
    left = list(zip(_weights(rows, excess_s), range(len(rows)), rows, strict=True))
    idle = [row for _, _, row in left if row["idle"]]
    left = sorted((x for x in left if not x[2]["idle"]), key=lambda x: (-x[0], x[1]))[: 4 * SHOWN]
    factor = [1.0] * len(left)
    made: list[dict[str, Any]] = []
    open_ = set(range(len(left)))
    while open_ and len(made) < SHOWN:
        best = max(open_, key=lambda i: (left[i][0] * factor[i], -left[i][1]))
        open_.remove(best)
        chosen = left[best][2]
        made.append(chosen)
        for i in open_:
            row = left[i][2]
            if row["observer"] == chosen["observer"]:
                factor[i] *= AGAIN
            if _shape(row) == _shape(chosen) or _overlap(row, chosen):
                factor[i] *= SAME_THING
    return [*made, *idle[: SHOWN - len(made)]]


def _weights(rows: Sequence[dict[str, Any]], excess_s: float | None) -> list[float]:
    """Return the weights of rows. How often a line stands in a log does not lead over most of the seconds that are lost,
    unless it names their mechanism: a share of the lines that complain is no share of the time.
    """
    plain = [weight(row, excess_s) for row in rows]
    timed = [(w, row) for w, row in zip(plain, rows, strict=True) if (row["seconds"] or 0.0) >= FELT_S]
    lost = max((w for w, _ in timed), default=0.0)
    if lost < MOST_OF_IT:
        return plain
    explained = {row["mechanism"] for _, row in timed if row["mechanism"]}
    counts = (row["name"] in LINES and row["seconds"] is None and row["mechanism"] not in explained for row in rows)
    return [min(w, BELOW * lost) if count else w for w, count in zip(plain, counts, strict=True)]


def _shape(row: dict[str, Any]) -> str:
    """Return the subject without its numbers: a message with another pid or time is the same message."""
    return re.sub(r"\d+", "#", str(row["subject"]))


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return any(
        a["artifact_id"] == b["artifact_id"] and a["line_from"] <= b["line_to"] and b["line_from"] <= a["line_to"]
        for a in one["evidence"]
        for b in other["evidence"]
    )


def _give_keys(case: Case, rows: Sequence[dict[str, Any]]) -> None:
    """Give each row its key. Two quantities of one subject on one line are two observations: the second key has its name."""
    taken: dict[str, str | None] = {}
    for row in rows:
        key = _key(case, row)
        if taken.setdefault(key, row["name"]) != row["name"]:
            key = hashlib.sha256(f"{key}\0{row['name']}".encode()).hexdigest()[:16]
        row["key"] = key


def _key(case: Case, row: dict[str, Any]) -> str:
    """Return a key that survives a new judgement: observer, subject, host, artifact and first cited line."""
    artifact = next((a for a in case.spec.artifacts if a.id == row["artifact_id"]), None)
    place = (artifact.sha256 or artifact.file) if artifact else ""
    text = "\0".join(map(str, (row["observer"], row["kind"], row["subject"], row["host"], place, row["line_no"])))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _observation(rank: int, key: str, row: dict[str, Any], cite: Cite, names: Sequence[SiteName]) -> Observation:
    against = row["against"]
    citations = tuple(
        c for e in row["evidence"] for c in cite(e["artifact_id"], e["line_from"], e["line_to"], e["role"])
    )
    # Only the words that are shown name what the site calls things: no rank, explanation or verdict is made of them.
    around = [row["subject"]] if row["subject"] else []
    plain = "; ".join(filter(None, (row["headline"], row["beside"], row.get("also"))))
    headline, used = named(plain, around, (c.text for c in citations), names)
    return Observation(
        rank=rank,
        observer=row["observer"],
        kind=row["kind"],
        headline=headline,
        means=row["means"],
        subject=row["subject"],
        host=row["host"],
        clock=row["clock"],
        t_from=row["t_from"],
        t_to=row["t_to"],
        quantity=Quantity(row["name"], row["value"], row["unit"]),
        against=Baseline(against, row["against_value"], row["unit"]) if against else None,
        seconds=row["seconds"],
        share=row["share"],
        n=row["n"] if row["n"] is not None else 1,
        key=key,
        signatures=tuple(row["signatures"] or ()),
        mechanism=row["mechanism"],
        layer=row["layer"],
        normal=bool(row["normal"]),
        idle=bool(row["idle"]),
        idle_reason=row["idle"],
        citations=citations,
        names=used,
    )
