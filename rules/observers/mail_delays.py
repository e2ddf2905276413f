"""Where mails wait on their way through a mail server, as the line of each delivery says.

Standing out: of mails that were on the way for `LONG_S` or longer, the step that holds at least half of their time together:
before this attempt (arrival, and all earlier attempts), in the queue of messages that are ready, setting up the connection
(name look-ups, greeting, TLS), and sending the message. A few slow mails among
many are told by their part. Normal: quicker mails; the slowest is told with its step.
Postfix prints the four steps (`delays=a/b/c/d`), sendmail and Exim how long a mail was on the way and how long this attempt took
(`delay=, xdelay=`; `QT=, DT=`): the rest was waiting before it.
Worked example: `delay=6351, delays=0.22/6286/0.14/65`: 6,286 s of 6,351 s in the active queue.
Cost: one filter by shape; at most `MOST_ROWS` rows. Source: Postfix RELEASE_NOTES 2.3 and QSHAPE_README (active queue
congestion); Sendmail Installation and Operation Guide, 2.1.1; Exim specification, log files (QT, DT; deliver_time).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.observers.split import HALF, percent

OBSERVER = Observer(
    "mail-delays",
    "Where do mails wait on their way through the server?",
    ("logs",),
    {"*": "postqueue -p; qshape active; qshape deferred, of the mail server; the log of the server that it sends to"},
)

LONG_S = 30.0
"""Minimum time of a mail in seconds that its reader notices: a look for new mail every minute is usual."""

MANY, RARE = 50, 0.02
"""Minimum number of mails, and maximum part of them that are slow, before the slow ones say nothing of the server."""

CONNECT_S, OVER_S = 30.0, 2.0
"""Time limit of Postfix for one address (smtp_connect_timeout), and how much longer the next one takes that answers."""

LONGEST_S = 30 * 86_400.0

MOST_ROWS = 50_000

CITED = 5
"""Number of the slowest mails that are cited."""

SHAPE = r"delays=[0-9.]+/[0-9.]+/[0-9.]+/[0-9.]+|\bdelay=[0-9:+]+, (?:mailer=\S+, )?xdelay=|\bQT=[0-9dhms.]+"

_POSTFIX = re.compile(r"delays=([0-9]+(?:\.[0-9]+)?)/([0-9]+(?:\.[0-9]+)?)/([0-9]+(?:\.[0-9]+)?)/([0-9]+(?:\.[0-9]+)?)")
_SENDMAIL = re.compile(r"\bdelay=((?:[0-9]+\+)?[0-9:]+), xdelay=((?:[0-9]+\+)?[0-9:]+)")
_EXIM = re.compile(r"\bQT=([0-9dhms.]+)(?: DT=([0-9dhms.]+))?")
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}

_STATUS = re.compile(r"\b(?:status|stat)=([A-Za-z]+)")
_RELAY = re.compile(r"\brelay=([^ ,\[]+)")


@dataclass(frozen=True)
class Step:
    """A step of a mail's way: its name for signatures and its words."""

    event: str
    words: str


BEFORE = Step("mail-before", "before this attempt (arrival and earlier attempts)")
QUEUED = Step("mail-queued", "in the queue of messages that are ready")
CONNECTING = Step("mail-connecting", "setting up the connection (name look-up, greeting, TLS)")
SENDING = Step("mail-sending", "sending the message and waiting for the answer")
WAITING = Step("mail-waiting", "waiting before this attempt")
ATTEMPT = Step("mail-attempt", "in this attempt (connection and transmission)")


@dataclass(frozen=True)
class Mail:
    """One delivery: seconds of each step, and where its line is."""

    row: dict[str, Any]
    steps: tuple[tuple[Step, float], ...]

    @property
    def seconds(self) -> float:
        """Return how long the mail was on the way."""
        return sum(s for _, s in self.steps)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the step that holds most of the time of slow mails, per artifact."""
    shaped = pl.col("text").str.contains(SHAPE).fill_null(value=False)
    rows = case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], shaped).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", maintain_order=True):
        mails = [mail for row in part.to_dicts() if (mail := _mail(row)) is not None]
        yield from _sightings(mails)


def _event(step: Step, seconds: float, status: str | None) -> str:
    """Return the event of the step that holds most of the time of the slowest mail, which took `seconds` there.

    >>> _event(CONNECTING, 30.2, "sent"), _event(CONNECTING, 41.0, "sent"), _event(BEFORE, 91.0, "deferred")
    ('mail-connect-timeout', 'mail-connecting', 'mail-before-deferred')
    """
    if step is CONNECTING and seconds >= CONNECT_S and seconds % CONNECT_S <= OVER_S:
        return "mail-connect-timeout"
    return f"{step.event}-deferred" if status == "deferred" and step is BEFORE else step.event


def _mail(row: dict[str, Any]) -> Mail | None:
    text = str(row["text"])
    if found := _POSTFIX.search(text):
        seconds = [float(x) for x in found.groups()]
        steps = tuple(zip((BEFORE, QUEUED, CONNECTING, SENDING), seconds, strict=True))
    elif (found := _SENDMAIL.search(text)) or (found := _EXIM.search(text)):
        whole, last = _clock(found[1]), _clock(found[2] or "0s")
        if whole is None or last is None:
            return None
        steps = ((WAITING, max(0.0, whole - last)), (ATTEMPT, min(whole, last)))
    else:
        return None
    mail = Mail(row, steps)
    return mail if 0 < mail.seconds <= LONGEST_S else None


def _clock(text: str) -> float | None:
    """Return a span as sendmail (days+hours:minutes:seconds) or Exim (1d2h3m4s) prints it in seconds.

    >>> _clock("1+02:03:04"), _clock("00:00:07"), _clock("2h3m4s"), _clock("0.25s"), _clock("x")
    (93784.0, 7.0, 7384.0, 0.25, None)
    """
    if clock := re.fullmatch(r"(?:([0-9]+)\+)?([0-9]+):([0-9]{2}):([0-9]{2})", text):
        days, hours, minutes, seconds = (float(x or 0) for x in clock.groups())
        return days * 86_400 + hours * 3_600 + minutes * 60 + seconds
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([dhms])", text)
    return sum(float(n) * _UNITS[u] for n, u in parts) if parts else None


def _said(seconds: float) -> str:
    """Write a time in seconds, however long, as the log does.

    >>> _said(6286.0), _said(0.25)
    ('6,286 s', '0.250 s')
    """
    return f"{seconds:,.0f} s" if seconds >= 60 else figure(seconds, "s")


def _sightings(mails: list[Mail]) -> Iterator[Sighting]:
    if not mails:
        return
    slow = sorted((m for m in mails if m.seconds >= LONG_S), key=lambda m: -m.seconds)
    rare = len(mails) >= MANY and len(slow) <= RARE * len(mails)
    chosen = slow or [max(mails, key=lambda m: m.seconds)]
    worst = chosen[0]
    together: dict[Step, float] = {}
    for mail in chosen:
        for step, seconds in mail.steps:
            together[step] = together.get(step, 0.0) + seconds
    step, held = max(together.items(), key=lambda x: x[1])
    whole = sum(together.values())
    ofs = dict(worst.steps)
    least = "; ".join(f"{_said(s)} {st.words}" for st, s in worst.steps if st is not step and s >= HALF)
    text = str(worst.row["text"])
    relay = found[1] if (found := _RELAY.search(text)) else None
    status = found[1].lower() if (found := _STATUS.search(text)) else None
    where = f" to {relay}" * (relay is not None and relay != "none")
    begins = (
        f"A mail{where} was on the way for {_said(worst.seconds)}"
        if len(chosen) == 1
        else f"{len(chosen):,} mails were on the way for {LONG_S:.0f} s or longer, the slowest{where} for {_said(worst.seconds)}"
    )
    inside = f"{_said(ofs.get(step, 0.0))} of it {step.words}"
    beside = f", {percent(held, whole)} of all their time there" if len(chosen) > 1 else ""
    yield Sighting(
        "wait",
        relay or "mail",
        f"{begins}: {inside}{beside}" + (f"; {least}" if least else ""),
        "delay_s",
        worst.seconds,
        "s",
        tuple(
            Lines(m.row["artifact_id"], m.row["line_no"], m.row["line_no"], f"{_said(m.seconds)} on the way")
            for m in chosen[:CITED]
        ),
        **place(worst.row),
        against="a mail that is delivered at once",
        seconds=worst.seconds if slow and not rare else None,
        of_s=worst.seconds if slow and not rare else None,
        share=held / whole * (len(slow) / len(mails) if rare else 1.0),
        n=len(chosen),
        seen=({"event": _event(step, ofs.get(step, 0.0), status)},),
        normal=not slow or held < HALF * whole,
    )
