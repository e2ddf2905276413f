r"""Data on a descriptor around a wait: the question that was sent before it, the answer that ended it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from parsers.secrets.words import without_secrets
from rules.derived.derived_table import CaseTables
from rules.observers.traced import calls
from rules.signatures.mechanisms import mechanisms
from rules.signatures.signatures import Seen, recognise
from rules.walking.threads import READ_NAMES, WRITE_NAMES

NEAR = 400
"""Maximum number of lines between a wait and what was said around it."""

SHOWN = 60
"""Maximum number of characters of a message that are told."""

ESCAPED = re.compile(r"\\(?:x[0-9a-fA-F]{2}|[0-7]{1,3}|[abfnrtv\\\"])")
TEXT = re.compile(r"[ -~]{3,}")
LETTERS = re.compile(r"[A-Za-z]{2}")


_NONE, _ONE = r"\\x?0{1,3}", r"\\x?0{0,2}1"
NAME_QUESTION = re.compile(rf"{_ONE}(?:{_NONE}| ){_NONE}{_ONE}(?:{_NONE}){{5}}(?:{_NONE}|{_ONE})")
"""Flags and counts of a question to a name server (RFC 1035, 4.1.1): one question, no answer, perhaps EDNS behind it."""

STATEMENT = re.compile(
    r"(?i)(?:select|insert into|update|delete from|replace into|merge into|with|call|exec(?:ute)?|declare|copy|lock tables?"
    r"|alter (?:table|index|system)|create (?:table|index|unique)|drop (?:table|index)|truncate(?: table)?|vacuum|analyze) \S"
    r"|(?:begin|commit|rollback)(?: work| transaction)?;?$"
)
"""How the text of a statement for a database begins."""

WEB_REQUEST = re.compile(r"(?:GET|POST|PUT|HEAD|DELETE|PATCH|OPTIONS|PROPFIND|REPORT) (?:/|https?://)")
"""How a request of HTTP/1 begins."""

RESOLVER_POLL = re.compile(r"\[\{fd=\d+, events=POLLIN\}\], 1, (?:5000|3333|6666|10000|2500|1000|2000|3000)\b")
"""A wait for one datagram with a time limit of the resolver: 5 s, options timeout, and their parts for several servers."""

NEXT = 12
"""Number of lines below a wait in which the resolver asks anew: it closes the socket and looks at its file before."""

LATE_S = 1.0
"""Minimum seconds after which a late answer names the other end: what takes less may be its ordinary work."""


@dataclass(frozen=True)
class Said:
    """A message on a descriptor: its line and the readable part of it, and the payload as the trace prints it."""

    line: int
    text: str
    raw: str = ""


@dataclass(frozen=True)
class Talk:
    """What was sent before a wait and what came after it."""

    asked: Said | None = None
    answered: Said | None = None

    @property
    def words(self) -> str:
        """Return question and answer as the end of a sentence."""
        asked = f', after "{self.asked.text}" was sent' if self.asked else ""
        return asked + (f'; "{self.answered.text}" came' if self.answered else "")


def readable(data: str | None) -> str:
    r"""Return the readable part of a payload as a trace prints it, secrets masked.

    >>> readable(r"Q\0\0\0:update t set a = 1\0")
    'update t set a = 1'
    >>> readable(r"\24\\\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1")
    'www example com'
    >>> readable(r"\1\2\3"), readable(None)
    ('', '')
    """
    plain = ESCAPED.sub("\n", (data or "")[:2000])
    runs = [run.strip(" !#$%&',.:;?@^_`|~") for run in TEXT.findall(plain) if LETTERS.search(run)]
    text = without_secrets(" ".join(runs))
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3].rstrip()}..."


def around(case: CaseTables, waits: Iterable[Mapping[str, Any]]) -> dict[tuple[int, int], Talk]:
    """Return (artifact, line) of each wait -> the data sent before it and received after it; one pass for all waits."""
    listed = list(waits)
    if not listed:
        return {}
    near = pl.any_horizontal(
        (pl.col("artifact_id") == w["artifact_id"])
        & pl.col("pid").eq_missing(pl.lit(w["pid"], pl.Int64))
        & pl.col("line_no").is_between(w["line_no"] - NEAR, w["line_no"] + NEAR)
        for w in listed
    )
    talks = pl.col("name").is_in([*WRITE_NAMES, *READ_NAMES]) & pl.col("data").is_not_null() & (pl.col("ret") > 0)
    columns = ["artifact_id", "pid", "lwp", "line_no", "name", "fd", "data"]
    rows = case.scan("syscalls", columns, talks & near).sort("line_no").collect(engine="streaming").to_dicts()
    return {(w["artifact_id"], w["line_no"]): _around(rows, w) for w in listed}


def _around(rows: list[dict[str, Any]], wait: Mapping[str, Any]) -> Talk:
    same = [r for r in rows if r["artifact_id"] == wait["artifact_id"] and r["lwp"] == wait["lwp"]]
    # The wait of a poll ends with a read; what was sent before went to the same descriptor.
    after = next((r for r in same if r["line_no"] >= wait["line_no"] and r["name"] in READ_NAMES), None)
    before = next((r for r in reversed(same) if r["line_no"] < wait["line_no"]), None)
    if before is not None and (
        before["name"] not in WRITE_NAMES or (after is not None and after["fd"] != before["fd"])
    ):
        before = None
    if before is None:
        return Talk()
    asked, answered = readable(before["data"]), readable(after["data"]) if after else ""
    return Talk(
        Said(before["line_no"], asked, str(before["data"])[:2000]) if asked else None,
        Said(after["line_no"], answered) if after and answered else None,
    )


NO_ANSWER: Seen = {"event": "name-question-unanswered"}


def peer(talk: Talk, wait: Mapping[str, Any], seconds: float | None) -> tuple[Seen, ...]:
    """Return the event that the question before a long wait shows; () if nothing was asked or the wait is short.

    `wait` has `ret`: 0 of a poll says that its time limit ended it.
    """
    if talk.asked is None or seconds is None:
        return ()
    of_name = NAME_QUESTION.search(talk.asked.raw) is not None
    if of_name and _ended_by_limit(wait):
        return (NO_ANSWER,)
    if seconds < LATE_S:
        return ()
    if of_name:
        return ({"event": "name-answer-late"},)
    if STATEMENT.match(talk.asked.text):
        return ({"event": "statement-answered-late"},)
    return ({"event": "web-request-answered-late"},) if WEB_REQUEST.match(talk.asked.text) else ()


def _ended_by_limit(wait: Mapping[str, Any]) -> bool:
    return wait["ret"] == 0 and wait["name"] not in READ_NAMES


def resolver_waits(case: CaseTables, waits: Iterable[Mapping[str, Any]]) -> set[tuple[int, int]]:
    """Return (artifact, line) of polls by a resolver: they timed out, and it then opened a new datagram socket."""
    listed = [w for w in waits if _ended_by_limit(w) and RESOLVER_POLL.match(str(w["args"] or ""))]
    if not listed:
        return set()
    near = pl.any_horizontal(
        (pl.col("artifact_id") == w["artifact_id"])
        & pl.col("pid").eq_missing(pl.lit(w["pid"], pl.Int64))
        & pl.col("lwp").eq_missing(pl.lit(w["lwp"], pl.Int64))
        & pl.col("line_no").is_between(w["line_no"] + 1, w["line_no"] + NEXT)
        for w in listed
    )
    made = (pl.col("name") == "socket") & pl.col("args").str.contains(r"AF_INET6?, SOCK_DGRAM")
    rows = case.scan("syscalls", ["artifact_id", "line_no"], near & made).collect(engine="streaming").rows()
    return {
        (w["artifact_id"], w["line_no"])
        for w in listed
        if any(a == w["artifact_id"] and w["line_no"] < n <= w["line_no"] + NEXT for a, n in rows)
    }


IN_VAIN: Seen = {"event": "answer-timed-out"}
"""The event of a wait that its own time limit ended after a question."""


def in_vain(case: CaseTables, waits: Iterable[Mapping[str, Any]]) -> set[tuple[int, int]]:
    """Return (artifact, line) of waits that ended by their time limit while a question was unanswered.

    The data sent need not be printed. A peer that has answered, answers a later wait, or was never asked owes no
    answer.
    """
    listed = [w for w in waits if w["ret"] == 0 and w["conv"] is not None]
    if not listed:
        return set()
    near = pl.any_horizontal(
        (pl.col("artifact_id") == w["artifact_id"])
        & pl.col("pid").eq_missing(pl.lit(w["pid"], pl.Int64))
        & pl.col("line_no").is_between(w["line_no"] - NEAR, w["line_no"] + NEAR)
        for w in listed
    )
    talks = pl.col("name").is_in([*WRITE_NAMES, *READ_NAMES]) & (pl.col("ret") > 0)
    before: dict[tuple[int, int], tuple[int, str]] = {}
    after: dict[tuple[int, int], tuple[int, str]] = {}
    for batch in calls(case, talks & near):
        for row in batch.select("artifact_id", "conv", "line_no", "name").iter_rows(named=True):
            said = (row["line_no"], row["name"])
            for w in listed:
                key = (w["artifact_id"], w["line_no"])
                if (row["artifact_id"], row["conv"]) != (w["artifact_id"], w["conv"]):
                    continue
                if said[0] < key[1]:
                    before[key] = max(before.get(key, said), said)
                else:
                    after[key] = min(after.get(key, said), said)
    late = {key for key, (_, name) in after.items() if name in READ_NAMES}
    return {key for key, (_, name) in before.items() if name in WRITE_NAMES and key not in late}


def owed(found: tuple[Seen, ...]) -> tuple[Seen, ...]:
    """Add the event `IN_VAIN` to the names of a wait, unless signatures know a mechanism that is more than a wait."""
    named = [s.mechanism for one in found for s in recognise(**one) if s.mechanism]
    return found if any(not mechanisms()[m].follow for m in named) else (*found, IN_VAIN)
