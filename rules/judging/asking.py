"""Choose the few pieces of evidence that would settle most: at most three, each one command for one host.

Candidates are what would prove or exclude the explanations, then what would confirm findings or overturn the board,
then what the rules lack. Each is worth the weight of what it decides between. Nothing is asked for that a host's system
does not have, or that was uploaded already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from parsers.kinds import kinds
from rules.case.case import Case
from rules.collecting import commands, costs
from rules.judging.explaining import Explanation
from rules.judging.here import ANYTHING, ORACLE, Here
from rules.model import FIRST_SHOWN, Ask, Finding, NotEvaluable, Wanted
from rules.observers.observer import observers
from rules.signatures.mechanisms import Step, mechanisms
from rules.writing.rule import Need

MOST = 3
EXPLAINED = 6
"""Number of explanations, heaviest first, whose next steps are candidates."""

BY_RULE = 0.3
"""Worth of what one more decided rule would tell, per 20 decibans, against an explanation that accounts for everything."""

BY_LEADER = 0.5
"""Worth of a mechanism of the leading cause whose every word stands in the findings that carry it."""

EVERYWHERE = 0.3
"""Factor for a wish that concerns no host: it takes several teams at once."""

BY_SIGHT = 0.6
"""Worth of what people look at next after the first observation; each later one counts 0.8 of the one before."""

HINT = re.compile(r"(?:the|which|what|how|whether|an?|in|of|number|load|order|state|size|length|log) ")
"""How a signature's ask begins that is advice to a reader, no command."""

BY_KIND = 0.5
"""Worth of what people who have read such an artifact ask for next; each later one counts 0.8 of the one before."""

DATABASES = re.compile(
    r"(?i)sqlplus|mysql|psql|lsnrctl|the alert log|the slow log|an AWR|explain\b|show (?:index|create|engine|full|processlist)"
    r"|rows_sent|the sessions (?:that|of)|the definition and statistics of|select\b|v\$|pg_"
)
"""How an ask begins that a database administrator answers."""

KNOWN = 0.5
"""Factor for the general next step of an observation whose mechanism has steps of its own."""

COMMON = frozenset(
    "that with from another much many more than into time takes take waits wait which have been their some they".split()
)
"""Words that say nothing of a mechanism."""

ALIKE = 0.4
"""Worth of a look-alike of an explanation, as part of the explanation's own."""


@dataclass(frozen=True)
class Candidate:
    """A possible ask with its worth; `tools` are the programs that it names."""

    ask: str
    who: str
    host: str | None
    os: str | None
    decides: tuple[str, ...]
    worth: float
    reasons: tuple[str, ...] = ()
    again: frozenset[str] = frozenset()
    """Programs that it names to be run once more, although their output is there."""

    @property
    def why(self) -> str:
        """Describe what the ask decides: the first two reasons and how many more there are."""
        more = len(self.reasons) - 2
        return "; or: ".join(self.reasons[:2]) + (f" (and {more} more)" if more > 0 else "")

    @property
    def tools(self) -> frozenset[str]:
        """Return the first word of each command that it names."""
        return tools_of(self.ask)


def tools_of(command: str) -> frozenset[str]:
    """Return the first word of each command of a line.

    >>> sorted(tools_of("timeout -s INT 60 strace -f -p PID; /usr/sbin/ss -tan"))
    ['ss', 'strace']
    """
    return frozenset(
        m[1].rpartition("/")[2] for m in re.finditer(r"(?:^|[;&] *)(?:timeout .*?\d+ )?([\w./-]+)", command)
    )


def asks(
    case: Case,
    systems: Mapping[str, str | None],
    explained: Sequence[Explanation],
    findings: Sequence[Finding],
    wanted: Sequence[Wanted],
    not_evaluable: Sequence[NotEvaluable],
    leader: tuple[str, str] | None = None,
    observed: Sequence[Mapping[str, Any]] = (),
    present: Here = ANYTHING,
) -> tuple[tuple[Ask, ...], int]:
    """Return the asks, best first, and how many further distinct ones there are. `systems` maps hosts to systems.

    `leader` is the hypothesis and the layer that the verdict names, `observed` what stands out, most first, `present`
    the databases that take part.
    """
    uploaded = _uploaded(case)
    listed = _merged(
        replace(c, worth=c.worth * share)
        for c in [
            *_of_explanations(explained, systems, present),
            *_of_leader(leader, findings, systems, present),
            *_of_observations(observed, systems),
            *_of_kinds(case, systems),
            *_of_board(findings, wanted),
            *_of_rules(not_evaluable),
        ]
        if not _there(c, uploaded) and (share := present.share(c.ask))
    )
    chosen: list[Candidate] = []
    for c in sorted(listed, key=lambda c: (-c.worth, c.ask, c.host or "")):
        if len(chosen) < MOST and not any(o.host == c.host and _same(o, c) for o in chosen):
            chosen.append(c)
    made = tuple(Ask(c.ask, c.who, c.host, c.os, c.decides, costs.words_of(c.ask), c.why) for c in chosen)
    return made, len(listed) - len(chosen)


def settling(one: Explanation, chosen: Sequence[Ask], os: str | None, present: Here) -> str | None:
    """Return the chosen ask that proves or excludes an explanation, None if none does.

    The earliest step of the explanation's own mechanism comes first.
    """
    name = one.mechanism.mechanism
    fitting = [a.ask for a in chosen if name in a.decides]
    steps = [made[0] for step in one.mechanism.next if (made := command(step, os, present))]
    return next((ask for ask in steps if ask in fitting), next(iter(fitting), None))


def _same(one: Candidate, other: Candidate) -> bool:
    """Return whether two asks for a host bring the same evidence.

    They do if they share a command or a program; if the system of `other` is unknown, also if they fill the same table.
    """
    if one.tools & other.tools or one.ask == other.ask:
        return True
    return other.os is None and bool(_tables(one.tools) & _tables(other.tools))


def _tables(tools: frozenset[str]) -> frozenset[str]:
    """Return the tables that one of the programs alone fills on some system."""
    return frozenset(table for table, programs in _programs().items() if programs & tools)


@cache
def _programs() -> Mapping[str, frozenset[str]]:
    known = frozenset[str]().union(*(kind.tools for kind in kinds().values()))
    found = {
        table: [known & tools_of(command) for command in of_systems.values()]
        for table, (of_systems, _) in commands.COMMANDS.items()
    }
    return {table: frozenset().union(*(one for one in tools if len(one) == 1)) for table, tools in found.items()}


def _of_explanations(
    explained: Sequence[Explanation], systems: Mapping[str, str | None], present: Here
) -> Iterator[Candidate]:
    for one in explained[:EXPLAINED]:
        if one.against:
            continue
        alike = [(name, ALIKE * one.weight) for name in one.mechanism.looks_like]
        for name, worth in ((one.mechanism.mechanism, one.weight), *alike):
            for n, step in enumerate(mechanisms()[name].next):
                made = command(step, systems.get(one.host or ""), present)
                if made:
                    yield Candidate(
                        made[0],
                        made[1],
                        one.host,
                        systems.get(one.host or ""),
                        (name,),
                        worth * 0.8**n,
                        (mechanisms()[name].is_,),
                    )


def _of_observations(observed: Sequence[Mapping[str, Any]], systems: Mapping[str, str | None]) -> Iterator[Candidate]:
    """Yield what the signatures of the first observations ask for, then the general next step of each observer."""
    for n, row in enumerate([r for r in observed if not r["idle"]][:FIRST_SHOWN]):
        host, os = row["host"], systems.get(row["host"] or "")
        worth = BY_SIGHT * 0.8**n
        for k, ask in enumerate(a for a in row["asks"] or () if not HINT.match(a)):
            yield Candidate(ask, _who(ask), host, os, (row["subject"],), worth * 0.8**k, (row["headline"],))
        observer = observers().get(row["observer"])
        general = commands.of_system(observer.OBSERVER.next, os) if observer else None
        if general:
            known = KNOWN if row["mechanism"] else 1.0
            yield Candidate(general, _who(general), host, os, (row["subject"],), worth * known, (row["headline"],))


def _of_kinds(case: Case, systems: Mapping[str, str | None]) -> Iterator[Candidate]:
    """Yield what readers of a kind of artifact usually ask for next, once per kind and host."""
    for host, held in _kinds(case).items():
        os = systems.get(host or "")
        for kind in sorted(held & kinds().keys()):
            known = kinds()[kind]
            title = known.title or kind
            for n, ask in enumerate(commands.of_system(known.next, os) or ()):
                worth = BY_KIND * 0.8**n
                yield Candidate(
                    ask,
                    _who(ask),
                    host,
                    os,
                    (kind,),
                    worth,
                    (f"what {title} alone does not tell",),
                    frozenset(known.tools),
                )


def _who(ask: str) -> str:
    """Return who runs a command that an observer or a kind asks for: the DBA or the system administrator."""
    return commands.DBA if DATABASES.match(ask) else commands.SYSADMIN


def _of_leader(
    leader: tuple[str, str] | None, findings: Sequence[Finding], systems: Mapping[str, str | None], present: Here
) -> Iterator[Candidate]:
    """Yield the asks that distinguish the mechanisms of the leading cause, on the hosts of its findings."""
    if leader is None:
        return
    code, layer = leader
    speaking = [f for f in findings if f.cells.get(code, 0) > 0 and f.kind == "finding"]
    hosts = list(dict.fromkeys(f.host for f in speaking if f.host))[:2]
    fitting = [m for m in mechanisms().values() if (m.hypothesis, m.layer, m.unnamed) == (code, layer, False)]
    text = " ".join(f"{f.headline} {f.title} {f.expert}".lower() for f in speaking)
    for m in fitting:
        words = {w for w in re.findall(r"[a-z]{4,}", m.is_.lower()) if w not in COMMON}
        alike = sum(w in text for w in words) / max(len(words), 1)
        for host in hosts:
            os = systems.get(host)
            for n, step in enumerate(m.next):
                if (made := command(step, os, present)) is not None:
                    yield Candidate(made[0], made[1], host, os, (m.mechanism,), BY_LEADER * alike * 0.8**n, (m.is_,))


def command(step: Step, os: str | None, present: Here) -> tuple[str, str] | None:
    """Return the command of a step on a system and who runs it; None if the system has none.

    A step for a table that databases fill is the command of the one that takes part, Oracle's if that is not known.
    """
    if step.ask is not None:
        text = commands.of_system(step.ask, os)
        return (text, step.who or commands.SYSADMIN) if text else None
    own = {} if step.value else commands.OF_DATABASES.get(step.table or "", {})
    if (others := sorted(present.seen & own.keys())) and ORACLE not in present.seen:
        return own[others[0]], commands.DBA
    need = Need(step.table or "", step.table or "", where=(("name", "=", step.value),) if step.value else ())
    known = commands.COMMANDS.get(need.table, ({}, ""))[0]
    if os and known and not step.value and not commands.of_system(known, os):
        return None
    return commands.command(need, os)


def _of_board(findings: Sequence[Finding], wanted: Sequence[Wanted]) -> Iterator[Candidate]:
    by_key = {f.key: f for f in findings}
    for w in wanted:
        if w.finding is not None:
            about = by_key.get(w.finding)
            decides = tuple(dict.fromkeys([*(about.cells if about else ()), *([w.towards] if w.towards else [])]))
            worth = BY_RULE * w.shift / 10 + (0.2 if w.overturns else 0.0)
            yield Candidate(w.ask, w.who, w.host, w.os, decides, worth, (about.headline if about else w.title,))


def _of_rules(not_evaluable: Sequence[NotEvaluable]) -> Iterator[Candidate]:
    for n in not_evaluable:
        worth = BY_RULE * n.worth / 20 / 10 * (1.0 if n.host else EVERYWHERE)
        yield Candidate(n.ask, n.who, n.host, n.os, (n.rule,), worth, (n.title,))


def _merged(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Merge equal commands for a host into one candidate, which decides what each of them does; add up their worth."""
    made: dict[tuple[str, str | None], Candidate] = {}
    for c in candidates:
        held = made.get((c.ask, c.host))
        made[c.ask, c.host] = (
            replace(
                held,
                worth=held.worth + c.worth,
                decides=tuple(dict.fromkeys([*held.decides, *c.decides])),
                reasons=tuple(dict.fromkeys([*held.reasons, *c.reasons])),
                again=held.again | c.again,
            )
            if held
            else c
        )
    return list(made.values())


def _uploaded(case: Case) -> Mapping[str | None, frozenset[str]]:
    """Return for each host the kinds that were uploaded and the programs that print them."""
    return {
        host: held.union(*(kinds()[kind].tools for kind in held if kind in kinds()))
        for host, held in _kinds(case).items()
    }


def _kinds(case: Case) -> Mapping[str | None, frozenset[str]]:
    """Return for each host the kinds that were uploaded."""
    found: dict[str | None, set[str]] = {}
    for artifact in case.spec.artifacts:
        of = {p["part"]: p.get("kind") for p in case.manifests.get(artifact.id, {}).get("parts", [])}
        for part in artifact.parts:
            kind = of.get(part.part)
            if kind:
                found.setdefault(part.host, set()).add(kind)
    return {host: frozenset(held) for host, held in found.items()}


def _there(c: Candidate, uploaded: Mapping[str | None, frozenset[str]]) -> bool:
    """Return whether everything that a candidate asks for was uploaded for its host."""
    have = uploaded.get(c.host, frozenset()) | (uploaded.get(None, frozenset()) if c.host is None else frozenset())
    return bool(c.tools) and c.tools <= have - c.again
