"""The evidence behind the board: each evidence group with its cells, what counts once, the verdict without it, and what
could change it.

Only `rules/judging/scoring.py` weighs; this module presents the same entries so that people can argue with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rules.case.statements import opinion_of
from rules.judging import scoring
from rules.judging.scoring import CAUSES, Entry
from rules.model import (
    Board,
    Chain,
    EvidenceGroup,
    Finding,
    Hypothesis,
    NotEvaluable,
    Statement,
    Wanted,
    Without,
    WithoutArtifact,
)
from rules.writing.rule import Rule

DISCRIMINATES = 6
"""Minimum difference in decibans between the largest and the smallest cell from which a group discriminates between
hypotheses.
"""


class _Always(dict[str, object]):
    """Facts of a finding that does not exist yet: whatever a cell asks for counts as true."""

    def get(self, key: str, default: object = None) -> object:
        return True


def made_of(
    entries: Sequence[Entry],
    findings: Sequence[Finding],
    statements: Iterable[Statement],
    hypotheses: Sequence[Hypothesis],
    without: Callable[[str], Without],
    artifacts: tuple[WithoutArtifact, ...],
    wanted: Sequence[Wanted],
) -> Board:
    """Return the board's evidence; `without` returns the verdict without one group."""
    speaking = [e for e in entries if e.cells]
    codes = [h.code for h in hypotheses]
    opinions = {
        f"said by {s.author or 'unknown'}: {weight[1]}": (s.author or "unknown", weight[1])
        for s in statements
        if (weight := opinion_of(s)) is not None
    }
    titles = {f.key: f.title for f in findings}
    groups: dict[str, EvidenceGroup] = {}
    for name in dict.fromkeys(e.group for e in speaking):
        its = [e for e in speaking if e.group == name]
        cells = {code: value for code, (value, _) in scoring.counted(its).items()}
        column = [cells.get(code, 0) for code in codes]
        spread = max(column) - min(column)
        author, reason = opinions.get(name, (None, None))
        groups[name] = EvidenceGroup(
            name,
            reason or _title(its, titles) or name,
            tuple(dict.fromkeys(e.finding for e in its if not e.said)),
            cells,
            spread,
            spread >= DISCRIMINATES,
            without(name),
            author,
            reason,
        )
    made: list[tuple[list[EvidenceGroup], Chain | None]] = []
    for unit in scoring.units(entries):
        its_groups = [groups[name] for name in dict.fromkeys(e.group for e in unit if e.cells)]
        its_groups.sort(key=lambda g: -g.spread)
        once = {code: value for code, (value, _) in scoring.counted(unit).items()}
        chain = Chain(tuple(g.name for g in its_groups), once) if len(its_groups) > 1 else None
        if its_groups:
            made.append((its_groups, chain))
    made.sort(key=lambda m: -m[0][0].spread)
    return Board(
        tuple(g for of_unit, _ in made for g in of_unit),
        tuple(c for _, c in made if c is not None),
        artifacts,
        tuple(wanted),
    )


def _title(entries: Sequence[Entry], titles: Mapping[str, str]) -> str:
    """Return the title of the finding with the largest weight in a group, and the number of others."""
    strongest = sorted(entries, key=lambda e: -max(abs(v) for v in e.cells.values()))
    distinct = list(dict.fromkeys(titles[e.finding] for e in strongest if e.finding in titles))
    return f"{distinct[0]} (and {len(distinct) - 1} more)" if len(distinct) > 1 else distinct[0] if distinct else ""


# --- what could turn it -----------------------------------------------------------------------------------------------


def wanted(
    rules: Mapping[str, Rule],
    findings: Sequence[Finding],
    not_evaluable: Sequence[NotEvaluable],
    hypotheses: Sequence[Hypothesis],
    leader: str | None,
    rivals: Sequence[Hypothesis],
) -> list[Wanted]:
    """Return the missing evidence that could overturn the leader or, if nobody leads, raise somebody; largest shift
    first.

    The weights are upper bounds: those of the rules' best case, as if no other evidence explained the same seconds.
    """
    view = _View({h.code: h.score for h in hypotheses}, _able(hypotheses, leader, rivals), leader)
    made = []
    for n in not_evaluable:
        if turn := view.turn(rules[n.rule], {}):
            made.append(Wanted(n.rule, n.title, n.host, None, n.needs, n.ask, n.os, n.who, n.worth, *turn))
    for f in findings:
        if f.would_help and (turn := view.turn(rules[f.rule], f.cells)):
            made += [
                Wanted(f.rule, f.title, f.host, f.key, r.needs, r.ask, r.os, r.who, r.worth, *turn)
                for r in f.would_help
            ]
    return sorted(made, key=lambda w: (-w.shift, -w.worth, w.rule, w.host or ""))


def _able(hypotheses: Sequence[Hypothesis], leader: str | None, rivals: Sequence[Hypothesis]) -> frozenset[str]:
    """Return the codes that could take the leader's place, on the board or not yet."""
    there = {h.code for h in hypotheses}
    mine = CAUSES.get(leader or "", scoring.Cause("", None))
    new = {
        code
        for code, cause in CAUSES.items()
        if code not in {*there, leader, mine.part_of, mine.why_of, scoring.UMBRELLA, scoring.DEMAND}
        and cause.why_of is None
        and (leader is None or cause.part_of != leader)
    }
    return frozenset(new | {h.code for h in rivals} - {"H-OTHER"})


@dataclass(frozen=True)
class _View:
    """The present board, to compute what a rule's answer would change."""

    scores: Mapping[str, int]
    able: frozenset[str]
    leader: str | None

    def turn(self, rule: Rule, present: Mapping[str, int]) -> tuple[int, str | None, bool] | None:
        """Return how much the leader's margin could shrink, who would gain and whether the leader would lose; None if
        not at all.
        """
        before = self._margin({})[0]
        best: tuple[int, str | None, bool] | None = None
        for tier in rule.file.confidence:
            cells = scoring.cells_of(rule.file.hypotheses, tier, rule.decibans(tier), _Always(), None)
            change = {c: cells.get(c, 0) - present.get(c, 0) for c in {*cells, *present}}
            after, rival = self._margin(change)
            gains = rival if rival is not None and change.get(rival, 0) > 0 else None
            if after < before and (best is None or before - after > best[0]):
                best = (before - after, gains, after <= 0)
        return best

    def _margin(self, change: Mapping[str, int]) -> tuple[int, str | None]:
        """Return the leader's margin after a change over the best code that could take its place; without a leader,
        over nothing.
        """

        def score(code: str) -> int:
            return max(-scoring.MOST, min(scoring.MOST, self.scores.get(code, 0) + change.get(code, 0)))

        rival = max(sorted(self.able), key=score, default=None)
        most = score(rival) if rival is not None else 0
        return (score(self.leader) if self.leader else scoring.SUSPECT) - max(most, 0), rival
