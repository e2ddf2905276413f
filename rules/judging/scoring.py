"""Compute the board of hypotheses, the standing of its leader and the page groups from weighed findings.

Weights are decibans: 10 times the logarithm of the likelihood ratio. A hypothesis's score is the sum over *units* of
evidence of the entry with the largest absolute value; a unit is an evidence group, or several groups that explain the
same seconds of one wait chain (they count once). The sum is clamped to -40..40. The rules for rivals and states are one
list each, in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rules.case.statements import opinion_of
from rules.model import Against, FreeHypothesis, Group, Hypothesis, State, Statement, Symptom, support_word
from rules.writing.rule import weight

MOST = 40
MARGIN = 10
CAUSE = 20
SUSPECT = 10
SHARE = 0.5


@dataclass(frozen=True)
class Cause:
    """A column of the board. `part_of` is the cause that contains it, `why_of` the cause that it is a reason for."""

    text: str
    layer: str | None
    starts: bool = False
    part_of: str | None = None
    why_of: str | None = None


CAUSES: Mapping[str, Cause] = {
    "H-CLIENT": Cause("client program or host is slow", "client_host", True),
    "H-CONN-CHURN": Cause("a connection per unit of work", "client_app"),
    "H-NET": Cause("network path is slow", "network", True),
    "H-NET-LOSS": Cause("packets are lost", "network", part_of="H-NET"),
    "H-LISTENER": Cause("listener saturated, leaking or slow", "listener", True),
    "H-ADAPTER": Cause("probing for optional adapter libraries", "configuration", part_of="H-LISTENER"),
    "H-NSS": Cause("name service", "name_service", True),
    "H-OS-SHM": Cause("attaching or detaching shared memory", "os_kernel", True),
    "H-CFG-DISM": Cause("parameters select dynamic shared memory", "configuration", why_of="H-OS-SHM"),
    "H-CFG-NUMA": Cause("NUMA option splits segments", "configuration", why_of="H-OS-SHM"),
    "H-OS-CPU": Cause("CPU overload, thrash, capped or stolen CPU", "os_kernel", True),
    "H-OS-LOCK": Cause("contention on a kernel lock", "os_kernel"),
    "H-OS-SEM": Cause("contention on one semaphore set", "os_kernel", part_of="H-OS-LOCK"),
    "H-FORK-STORM": Cause("process creation and exit consume the host", "client_app"),
    "H-OS-MEM": Cause("memory shortage, paging, page tables", "os_kernel"),
    "H-STORAGE": Cause("storage is slow", "storage", True),
    "H-SINGLE-FILE": Cause("many processes wait on one file", "storage", part_of="H-STORAGE"),
    "H-DB-SQL": Cause("work inside the database", "database", True),
    "H-CFG": Cause("a limit or setting not named elsewhere", "configuration", True),
    "H-SERVER-SLOW": Cause("the delay is on the database host, part unknown", None),
    "H-OTHER": Cause("something not listed", None, True),
}
"""All hypotheses of the library; those with `starts` are on every board. People may add others, which have no
relations.
"""

UMBRELLA, DEMAND = "H-SERVER-SLOW", "H-CONN-CHURN"


def is_rate(symptom: Symptom | None) -> bool:
    """Return whether the symptom is a rate (`40/min`): only then is a demand a rival."""
    return bool(symptom and symptom.unit and "/" in symptom.unit)


@dataclass(frozen=True)
class Entry:
    """What one finding or one person's opinion contributes to the board: cells per hypothesis, evidence group, keys of
    its wait chain.
    """

    finding: str
    group: str
    cells: Mapping[str, int]
    chain: tuple[str, ...] = ()
    said: bool = False


def cells_of(
    hypotheses: Mapping[str, object], tier: str, decibans: int, facts: Mapping[str, object], tested: str | None
) -> dict[str, int]:
    """Return the cells of a finding.

    The value `tier` gives the finding's own decibans, a class its weight; `only` names a column that must be true.
    """
    cells: dict[str, int] = {}
    for code, given in hypotheses.items():
        value = given
        if isinstance(given, Mapping):
            if given.get("only") and not facts.get(str(given["only"])):
                continue
            value = given.get(tier)
        name = tested if code == "tested" else code
        if value is None or name is None:
            continue
        cells[name] = decibans if value == "tier" else weight(str(value))
    return cells


def opinions(statements: Iterable[Statement]) -> list[Entry]:
    """Return what people's opinions about causes contribute to the board: one group for each reason of each author."""
    made: dict[str, dict[str, int]] = {}
    for s in statements:
        weight_ = opinion_of(s)
        if weight_ is not None:
            made.setdefault(f"said by {s.author or 'unknown'}: {weight_[1]}", {})[s.name] = weight_[0]
    return [Entry(group, group, cells, said=True) for group, cells in made.items()]


def units(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group the entries that count once: those of one evidence group, and those whose wait chains share a key."""
    whole = list(range(len(entries)))

    def first_of(n: int) -> int:
        while whole[n] != n:
            whole[n] = whole[whole[n]]
            n = whole[n]
        return n

    seen: dict[str, int] = {}
    for n, entry in enumerate(entries):
        for key in (f"group {entry.group}", *entry.chain):
            one, other = sorted((first_of(n), first_of(seen.setdefault(key, n))))
            whole[other] = one
    found: dict[int, list[Entry]] = {}
    for n, entry in enumerate(entries):
        found.setdefault(first_of(n), []).append(entry)
    return list(found.values())


def board(
    entries: Sequence[Entry], free: Sequence[FreeHypothesis] = (), *, rests: bool = True, demand: bool = False
) -> tuple[Hypothesis, ...]:
    """Return the board, best first; ties by the order of CAUSES. It holds only counted cells.

    `free` are causes that people added, which are on every board like the `starts` ones. `rests` tells whether to
    compute what the leader rests on. `demand` is true if the symptom is a rate, so that a demand is a rival like the
    others.
    """
    starting = _starting(free)
    scores = _scores(units(entries), starting)
    opinions = {e.group for e in entries if e.said}
    machine = _scores(units([e for e in entries if not e.said]), starting) if opinions else scores
    people = _scores(units([e for e in entries if e.said]), starting)
    leader = _leader(scores) if rests else None
    resting: list[str] = []
    if leader is not None:
        for group in sorted({e.group for e in entries}):  # opinions too: a verdict may rest on them
            without = _scores(units([e for e in entries if e.group != group]), starting)
            if without.get(leader, (0, {}))[0] < scores[leader][0] and (
                _leader(without) != leader or any(without[leader][0] < x <= scores[leader][0] for x in (CAUSE, SUSPECT))
            ):
                resting.append(group)
    order = [*CAUSES, *(f.code for f in free)]
    free_causes = {f.code: Cause(f.cause, f.layer) for f in reversed(free) if f.code not in CAUSES}
    made = []
    for code, (score, cells) in scores.items():
        cause = CAUSES.get(code) or free_causes.get(code) or Cause(code, None)
        worst = min(((e.cells[code], e.group, e) for e in entries if e.cells.get(code, 0) < 0), key=lambda w: w[:2], default=None)  # fmt: skip
        made.append(
            Hypothesis(
                code,
                cause.text,
                score,
                cells,
                tuple(resting) if code == leader else (),
                sum(value for group, value in cells.items() if group in opinions),
                cause.layer,
                cause.part_of,
                cause.why_of,
                "umbrella" if code == UMBRELLA else "demand" if code == DEMAND and not demand else "other" if code == "H-OTHER" else "rival",
                "fixed" if cause.starts else "free" if code not in CAUSES else "named",
                machine.get(code, (0, {}))[0],
                people.get(code, (0, {}))[0],
                Against(worst[0], worst[1], None if worst[2].said else worst[2].finding) if worst else None,
            )
        )  # fmt: skip
    return tuple(sorted(made, key=lambda h: (-h.score, order.index(h.code) if h.code in order else len(order), h.code)))


def _starting(free: Sequence[FreeHypothesis]) -> list[str]:
    return [*(c for c, cause in CAUSES.items() if cause.starts), *(f.code for f in free)]


def counted(unit: Sequence[Entry]) -> dict[str, tuple[int, str]]:
    """Return code -> weight and group of the entry of a unit that counts: the largest; among equals the one against."""
    made: dict[str, tuple[int, str]] = {}
    for code in dict.fromkeys(c for e in unit for c in e.cells):
        held = [(e.cells[code], e.group) for e in unit if code in e.cells]
        # Among equal weights for and against, the one against counts: nobody is blamed on a tie.
        made[code] = max(held, key=lambda h: (abs(h[0]), -h[0]))
    return made


def _scores(evidence: Sequence[Sequence[Entry]], starting: Sequence[str]) -> dict[str, tuple[int, dict[str, int]]]:
    cells: dict[str, dict[str, int]] = {code: {} for code in starting}
    for unit in evidence:
        for code, (value, group) in counted(unit).items():
            of = cells.setdefault(code, {})
            of[group] = of.get(group, 0) + value
    return {code: (max(-MOST, min(MOST, sum(of.values()))), of) for code, of in cells.items()}


def _leader(scores: Mapping[str, tuple[int, object]], demand: bool = False) -> str | None:
    """Return the best hypothesis that may lead; a part comes before its whole.

    The umbrella hypothesis, reasons (`why_of`) and the demand (unless the symptom is a rate) may not lead.
    """
    able = [
        c
        for c in scores
        if c not in (UMBRELLA, "H-OTHER") and (demand or c != DEMAND) and not (c in CAUSES and CAUSES[c].why_of)
    ]
    best = max((scores[c][0] for c in able), default=0)
    if best <= 0:
        return None
    tied = [c for c in able if scores[c][0] == best]
    return next((c for c in tied if c in CAUSES and CAUSES[c].part_of in tied), tied[0])


def rivals(
    leader: str, hypotheses: Iterable[Hypothesis], demand: bool = False, together: Sequence[str] = ()
) -> list[Hypothesis]:
    """Return the hypotheses that compete with the leader. `together` are causes of other seconds of the same request."""
    mine = CAUSES.get(leader, Cause("", None))
    out = {leader, UMBRELLA, mine.part_of, mine.why_of, *together} | (set() if demand else {DEMAND})
    return [
        h
        for h in hypotheses
        if h.code not in out
        and (h.code not in CAUSES or (CAUSES[h.code].part_of != leader and CAUSES[h.code].why_of is None))
    ]


@dataclass(frozen=True)
class Standing:
    """The outcome of the board alone. `margin` is the distance to the best rival."""

    state: State | None
    leader: Hypothesis | None
    margin: int | None
    support: str


def standing(
    hypotheses: Sequence[Hypothesis], *, two_kinds: bool, demand: bool = False, together: Sequence[str] = ()
) -> Standing:
    """Return cause, undecided, suspect, or no state if the evidence is too weak; `two_kinds`: two kinds of evidence
    agree.

    `together` are causes of different seconds of one request, larger share first; the first of them leads and the
    others are not rivals.
    """
    code = together[0] if together else _leader({h.code: (h.score, None) for h in hypotheses}, demand)
    leader = next((h for h in hypotheses if h.code == code), None)
    if leader is None:
        return Standing(None, None, None, "none")
    margin = leader.score - max((h.score for h in rivals(leader.code, hypotheses, demand, together)), default=0)
    state: State | None = None
    if leader.score >= CAUSE and margin >= MARGIN and two_kinds:
        state = "cause"
    elif leader.score >= SUSPECT and margin < MARGIN:
        state = "undecided"
    elif leader.score >= SUSPECT:
        state = "suspect"
    return Standing(state, leader, margin, support_word(leader.score))


def group_of(
    kind: str, layer: str, evidence_group: str, cells: Mapping[str, int], own: bool, leader: str | None, in_chain: bool
) -> Group:
    """Return the page group of a finding.

    `own`: its own weight is for the leader; `in_chain`: its seconds are the leader's.
    """
    if kind == "clear":
        return "cleared"
    if evidence_group == "data-quality":
        return "quality"
    if layer == "measurement" or evidence_group in ("before-after", "remainder"):
        return "contributing"
    if own and leader is not None and cells.get(leader, 0) > 0:
        return "cause"
    if in_chain or UMBRELLA in cells:
        return "along"
    return "contributing"
