"""Questions in the log of systemd-resolved: which got no answer, which failed, and how soon others were answered.

Stands out: a question whose transaction ran into its time-out, and one that ended with a failure or "no such name". Beside
them stands how many other questions were answered there. Normal: a question that is answered.
The lines of a transaction are put together by its number, so a time-out is told with the question, although its line has none.
Worked example: transaction 7 asks for db1 IN AAAA and times out twice, 5 s each; db1 IN A was answered within 1 s.
Cost: the lines that name a transaction, at most `MOST_LINES_READ`. Source: systemd src/resolve/resolved-dns-transaction.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "name-transactions",
    "Which questions of the resolver stayed without an answer?",
    ("logs",),
    {"*": "resolvectl status; dig NAME TYPE @SERVER with each server and both types; tcpdump -ni any port 53"},
)

NAMES_ONE = r"(?i)\btransaction [0-9]+\b|^Sending query packet with id [0-9]+"
MOST_LINES_READ = 50_000
"""Maximum number of lines that are looked at."""

CITED = 3
"""Maximum number of time-outs of one question that are cited."""

_ASKED = re.compile(r"(?:Firing (?:regular )?)?[Tt]ransaction ([0-9]+) for <([^>]+)>")
_ENDED = re.compile(r"(?:\w+ )?[Tt]ransaction ([0-9]+) for <([^>]+)> on scope .* now complete with <([\w-]+)>")
_SENT = re.compile(r"Sending (?:query )?packet with id ([0-9]+)\b")
_LATE = re.compile(r"Timeout reached on transaction ([0-9]+)\b")
_AGAIN = re.compile(r"Retrying transaction ([0-9]+)(, after switching servers)?")
_CODE = re.compile(r"Processing incoming packet (?:of size [0-9]+ )?on transaction ([0-9]+).*\(rcode=(\w+)")

GOOD = ("success", "SUCCESS")


@dataclass
class Transaction:
    """One question on its way: when it was asked, its time-outs, its end."""

    number: str
    question: str = ""
    asked: int | None = None
    t_asked: float | None = None
    sent: tuple[int, float | None] | None = None
    waits: list[float] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    sendings: list[int] = field(default_factory=list)
    switched: int | None = None
    code: str = ""
    code_line: int | None = None
    end: str = ""
    ended: int | None = None
    t_ended: float | None = None


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield questions without an answer, then those that failed."""
    text = pl.col("text")
    ours = text.str.contains(NAMES_ONE) & pl.col("program").fill_null("systemd-resolved").str.contains("resolved")
    columns = [*PLACE_COLUMNS, "part", "line_no", "t_local", "pid", "program", "text"]
    rows = case.scan("logs", columns, ours).head(MOST_LINES_READ).collect(engine="streaming")
    for _, part in rows.sort("artifact_id", "line_no").group_by("artifact_id", "pid", maintain_order=True):
        found = _read(part)
        yield from list(_told(found, part.row(0, named=True)))[:MOST]


def _read(rows: pl.DataFrame) -> list[Transaction]:
    """Return the transactions of one resolver in order."""
    held: dict[str, Transaction] = {}
    done: list[Transaction] = []
    for line, t, text in rows.select("line_no", "t_local", "text").iter_rows():
        ended = _ENDED.match(text)
        found = ended or next((m for p in (_ASKED, _SENT, _LATE, _AGAIN, _CODE) if (m := p.match(text))), None)
        if found is None:
            continue
        one = held.setdefault(found[1], Transaction(found[1]))
        if ended:
            one.question, one.end, one.ended, one.t_ended = ended[2], ended[3], line, t
            done.append(held.pop(found[1]))
        else:
            _take(one, found, line, t)
    return [*done, *held.values()]


def _take(one: Transaction, found: re.Match[str], line: int, t: float | None) -> None:
    if found.re is _ASKED:
        one.question = found[2]
        one.asked, one.t_asked = (line, t) if one.asked is None else (one.asked, one.t_asked)
    elif found.re is _SENT:
        one.sent = (line, t)
        one.t_asked = t if one.t_asked is None else one.t_asked
    elif found.re is _LATE:
        one.late.append(line)
        if one.sent is not None:
            one.sendings.append(one.sent[0])
            if t is not None and one.sent[1] is not None:
                one.waits.append(t - one.sent[1])
    elif found.re is _AGAIN:
        one.switched = line if found[2] else one.switched
    else:
        one.code, one.code_line = found[2], line


def _told(found: list[Transaction], where: Mapping[str, Any]) -> Iterator[Sighting]:
    answered = [one for one in found if not one.late and one.question and (one.end in GOOD or one.code)]
    asked: dict[str, list[Transaction]] = {}
    for one in found:
        if one.late:
            asked.setdefault(one.question or f"transaction {one.number}", []).append(one)
    for question, held in asked.items():
        yield _unanswered(question, held, len(found), answered, where)
    failed: dict[tuple[str, str], list[Transaction]] = {}
    for one in found:
        if not one.late and one.end not in ("", *GOOD):
            failed.setdefault((one.question, one.code or one.end), []).append(one)
    for (question, code), held in failed.items():
        yield _failed(question, code, held, len(found), where)


def _unanswered(
    question: str, held: list[Transaction], whole: int, answered: list[Transaction], where: Mapping[str, Any]
) -> Sighting:
    artifact = where["artifact_id"]
    n = sum(len(one.late) for one in held)
    waits = [w for one in held for w in one.waits if w >= 0]
    each = f", {figure(median(waits), 's')} after it was sent{' (median)' if len(waits) > 1 else ''}" if waits else ""
    known = bool(held[0].question)
    number = f" (transaction {held[0].number})" if known and len(held) == 1 else ""
    unknown = "" if known else ", of which the log does not tell the question,"
    switched = next((one.switched for one in held if one.switched is not None), None)
    lines = [
        *(Lines(artifact, one.asked, one.asked, f"asks for {question}") for one in held[:1] if one.asked is not None),
        *(Lines(artifact, x, x, "sent") for one in held[:1] for x in one.sendings[:CITED]),
        *(Lines(artifact, x, x, f"no answer to transaction {one.number}") for one in held[:2] for x in one.late[:CITED]),
        *((Lines(artifact, switched, switched, "asks another server"),) if switched is not None else ()),
        *(c for one in answered[:1] for c in _cited(one, artifact)),
    ]  # fmt: skip
    times = "once" if n == 1 else f"{n:,} times"
    return Sighting(
        "failure",
        question,
        f"{question}{number}{unknown} ran into its time-out {times}{each}",
        "timeouts_count",
        float(n),
        "count",
        tuple(lines),
        **place(where),
        against="all questions there",
        against_value=float(whole),
        seconds=max(sum(one.waits) for one in held) or None,
        share=len(held) / whole,
        n=n,
        seen=({"log": f"Timeout reached on transaction {held[0].number}."},),
        beside="; ".join(filter(None, (_others(answered), "it was asked of another server too" if switched is not None else ""))) or None,
    )  # fmt: skip


def _others(answered: Sequence[Transaction]) -> str:
    if not answered:
        return ""
    first, n = answered[0], len(answered)
    code = f" ({first.code or first.end})" if first.end not in GOOD else ""
    return (
        f"{n:,} other question{'s were' if n > 1 else ' was'} answered, the first {first.question}{code}{_after(first)}"
    )


def _after(one: Transaction) -> str:
    """Return how long after its question an answer came; most logs have whole seconds only."""
    took = one.t_ended - one.t_asked if one.t_ended is not None and one.t_asked is not None else None
    return "" if took is None else f" {figure(took, 's')} after it was asked" if took > 0 else " in the same second"


def _failed(question: str, code: str, held: list[Transaction], whole: int, where: Mapping[str, Any]) -> Sighting:
    first = held[0]
    means = " (no such name)" if code == "NXDOMAIN" else ""
    again = f"; {len(held):,} times in all" if len(held) > 1 else ""
    result = f"was answered {code}{means}" if first.code else f"ended with {code}"
    return Sighting(
        "failure",
        question,
        f"{question} {result}{_after(first)}{again}",
        "failed_count",
        float(len(held)),
        "count",
        tuple(_cited(first, where["artifact_id"])),
        **place(where),
        against="all questions there",
        against_value=float(whole),
        share=0.3 * len(held) / whole,
        n=len(held),
    )


def _cited(one: Transaction, artifact: int) -> Iterator[Lines]:
    """Yield the lines that say what was asked, with which code it was answered and how it ended."""
    code = f"rcode={one.code}"
    for line, role in (
        (one.asked, f"asks for {one.question}"),
        (one.code_line, code),
        (one.ended, f"ends with {one.end}"),
    ):
        if line is not None:
            yield Lines(artifact, line, line, role)
