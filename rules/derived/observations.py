"""What stands out in the evidence: one row per sighting of an observer, with what it was recognised as.

Inputs: every table that an observer reads. Columns: observer, kind, subject, headline (one sentence, no cause), name,
value, unit (the quantity), against, against_value (what it is compared with), seconds (wall time on somebody's way),
share (0 to 1), of_s (non-idle seconds of the artifact in its scope), n, failure (ended a step), idle (reason why nobody
loses time, NULL if somebody may), normal (a measure within its bounds), beside (what else the same lines tell), joins,
short (those with the same word are told as one, and what each adds), signatures (names of mechanisms, else words), asks
(what its signatures ask for), means (what the subject stands for), mechanism, layer, strength (of the best signature),
t_from, t_to (s, of the clock),
line_no, line_end (first citation), evidence (all citations, at most 20 lines).
Worked example: a poll of 5.005 s on a socket to port 53 among looks-up of 2 ms: observer long-waits, value 5.005, unit
s, against "the other calls of the same kind" 0.002, mechanism resolver-timeout.
Observers that look across artifacts have their rows in `comparisons`, of the same columns.
An observer that fails or takes longer than its time gives one row of kind `failed` with the reason, and keeps what it
had found: once its time is over it reads no more rows, and what it has ready is still taken. Cost: that of the observers;
each reads its tables once. Source: the USE method (Gregg) and response time as
residence (Millsap and Holt) for what counts as standing out; each observer names its own.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from parsers.secrets.words import without_secrets
from rules.derived.derived_table import FAULTS, PLACE, CaseTables, DerivedTable, Scope
from rules.judging.findings_table import EVIDENCE
from rules.model import Clock
from rules.observers.observer import MOST, ObserverModule, OutOfTime, Sighting, observers
from rules.signatures import signatures

TABLE = DerivedTable(
    "observations",
    {
        **PLACE,
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
        "observer": pl.String(),
        "kind": pl.String(),
        "subject": pl.String(),
        "headline": pl.String(),
        "name": pl.String(),
        "value": pl.Float64(),
        "unit": pl.String(),
        "against": pl.String(),
        "against_value": pl.Float64(),
        "seconds": pl.Float64(),
        "share": pl.Float64(),
        "of_s": pl.Float64(),
        "n": pl.Int64(),
        "failure": pl.Boolean(),
        "idle": pl.String(),
        "normal": pl.Boolean(),
        "beside": pl.String(),
        "joins": pl.String(),
        "short": pl.String(),
        "signatures": pl.List(pl.String()),
        "asks": pl.List(pl.String()),
        "means": pl.String(),
        "mechanism": pl.String(),
        "layer": pl.String(),
        "strength": pl.String(),
        "t_from": pl.Float64(),
        "t_to": pl.Float64(),
        "evidence": EVIDENCE,
    },
)
NEEDS = tuple(
    sorted({"artifacts", *(t for o in observers().values() if not o.OBSERVER.across for t in o.OBSERVER.tables)})
)
SCOPE: Scope = "artifact"

SECONDS = 30.0
"""Maximum seconds that one observer may take on one artifact; what it found until then is kept."""


def version(rules: Path) -> str:
    """Return a hash of the observers and the signatures in a folder of rules: rows change when these do."""
    made = hashlib.sha256()
    for path in sorted([*(rules / "observers").glob("*.py"), *(rules / "signatures").rglob("*.yaml")]):
        made.update(path.read_bytes())
    return made.hexdigest()[:12]


READY_S = 0.1
"""Maximum seconds from one sighting to the next for the next to be taken when the time is over: it was ready."""

QUOTES = ("headline", "subject", "beside", "short")
"""Columns that may quote the evidence."""

MOST_ASKS = 3
"""Maximum number of asks of signatures that are kept per sighting, the nearest first."""

VERSION = version(Path(__file__).parents[1])


def build(case: CaseTables) -> pl.DataFrame:
    """Return the rows of all observers of single artifacts, in order of their names.

    These observers also see rows that the general reader took from text.
    """
    return TABLE.rows(watched(case.with_text(), across=False))


def watched(case: CaseTables, *, across: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of the observers that look across artifacts, or of all others, in order of their names."""
    systems = {
        (row["artifact_id"], row["part"]): row["os"]
        for row in case.table("artifacts", ["artifact_id", "part", "os"]).iter_rows(named=True)
    }
    os = next(iter(set(systems.values())), None) if len(set(systems.values())) == 1 else None
    timed = Timed(case)
    for one in observers().values():
        if one.OBSERVER.across == across and any(case.may_have(table) for table in one.OBSERVER.tables):
            yield from _watch(one, timed, os)


class Timed:
    """The tables of a case, which nobody may read once the time is over (`OutOfTime`)."""

    def __init__(self, case: CaseTables) -> None:
        self._case = case
        self.ends = math.inf

    def _may_read(self) -> CaseTables:
        if time.monotonic() > self.ends:
            raise OutOfTime
        return self._case

    def scan(self, name: str, columns: Sequence[str] | None = None, where: pl.Expr | None = None) -> pl.LazyFrame:
        return self._may_read().scan(name, columns, where)

    def table(self, name: str, columns: Sequence[str] | None = None, where: pl.Expr | None = None) -> pl.DataFrame:
        return self._may_read().table(name, columns, where)

    def derived(self, name: str) -> pl.DataFrame:
        return self._may_read().derived(name)

    def only(self, artifacts: Collection[int]) -> CaseTables:
        return self._may_read().only(artifacts)

    def may_have(self, name: str) -> bool:
        return self._case.may_have(name)

    def with_text(self) -> CaseTables:
        return self._case.with_text()

    @property
    def clocks(self) -> tuple[Clock, ...]:
        return self._case.clocks


def _watch(one: ObserverModule, case: Timed, os: str | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of one observer: its largest sightings, and one that says so if it failed or was cut."""
    name, found, failed = one.OBSERVER.name, [], None
    case.ends = time.monotonic() + SECONDS
    try:
        before = time.monotonic()
        for sighting in one.observe(case):
            found.append(sighting)
            now = time.monotonic()
            if now > case.ends and before > case.ends and now - before > READY_S:
                raise OutOfTime
            before = now
    except OutOfTime:
        failed = f"took longer than {SECONDS:.0f} s; what it had not looked at yet is missing"
    except FAULTS as error:
        failed = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
    found = settled(found)
    shown = [s for s in found if not s.normal]
    for sighting in [*shown[:MOST], *(s for s in found if s.normal)]:
        yield {"observer": name, **_row(sighting, name, os)}
    if failed:
        yield {"observer": name, "kind": "failed", "subject": name, "headline": failed, "evidence": [], "normal": True}


def settled(found: Iterable[Sighting]) -> list[Sighting]:
    """Return sightings with equal ones beside each other in the order of their lines.

    Polars gives equal rows in the order in which its threads were ready, so which of them comes first is chance.
    """

    def place(s: Sighting) -> tuple[int, int, str]:
        return (s.lines[0].artifact, s.lines[0].line_from, s.subject) if s.lines else (0, 0, s.subject)

    runs = groupby(found, key=lambda s: (s.kind, s.normal, s.value, s.seconds, s.share, s.n))
    return [s for _, equal in runs for s in sorted(equal, key=place)]


def _row(s: Sighting, observer: str, os: str | None) -> dict[str, Any]:
    """Return the row of a sighting. It quotes the evidence, so its secrets are masked: mails and webhooks show it too."""
    roles: dict[tuple[int, int, int], dict[str, None]] = {}
    for c in s.lines:  # a line that plays two roles is quoted once
        roles.setdefault((c.artifact, c.line_from, c.line_to), {})[without_secrets(c.role)] = None
    cited = [
        {"artifact_id": artifact, "line_from": first, "line_to": last, "role": ", ".join(held)}
        for (artifact, first, last), held in roles.items()
    ]
    plain = {k: getattr(s, k) for k in TABLE.columns if hasattr(s, k)}
    return {
        **plain,
        **{k: without_secrets(text) if (text := getattr(s, k)) else text for k in QUOTES},
        "artifact_id": s.lines[0].artifact if s.lines else None,
        "line_no": s.lines[0].line_from if s.lines else None,
        "line_end": s.lines[0].line_to if s.lines else None,
        "evidence": cited,
        **_recognised(s, observer, os),
    }


def _recognised(s: Sighting, observer: str, os: str | None) -> Mapping[str, Any]:
    """Return the columns of the strongest signature that recognises a sighting; of equals the nearest to the leaf."""
    found: list[signatures.Signature] = []
    for seen in s.seen:
        whole: signatures.Seen = {**seen, "observer": observer}
        if os:
            whole.setdefault("os", os)
        found += signatures.recognise(**whole)
    if not found:
        return {"signatures": [], "asks": []}
    best = min(found, key=lambda one: signatures.ORDER.index(one.strength))
    named = dict.fromkeys(one.mechanism or one.is_ for one in found)
    idle = s.idle or (best.is_ if best.strength in ("idle", "harmless") else None)
    return {
        "signatures": list(named),
        "asks": list(dict.fromkeys(ask for one in found for ask in one.ask))[:MOST_ASKS],
        "means": best.is_,
        "mechanism": best.mechanism,
        "layer": best.blamed_layer,
        "strength": best.strength,
        "idle": idle,
    }
