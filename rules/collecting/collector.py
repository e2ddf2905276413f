"""Collectors: one POSIX shell script per system that runs what a room wants and sends it there.

A script is put together from `scripts/<system>.sh` (what differs: shell, process list, zone), the steps of the tables
of `commands`, and `scripts/common.sh` (plan, limits, marks, server's clock, upload). Its output has the marks of a
collect block (`blocks`). A server never sends a command: it names steps by their codes, and a script runs only what
stands in it, so neither a room nor a stolen token can make a host run anything else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rules.collecting import blocks
from rules.collecting.commands import COMMANDS, NARROWER, of_system
from rules.collecting.costs import DBA, NOBODY, ROOT, NoCost, cost_of, parts, seconds_of

SCRIPTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "linux": ("Linux", ("linux", "linux-old")),
    "solaris": ("Solaris 10 and newer, illumos", ("solaris-11", "solaris-10")),
    "aix": ("AIX 7", ("aix",)),
    "hpux": ("HP-UX 11", ("hpux",)),
    "bsd": ("FreeBSD, OpenBSD, NetBSD", ("freebsd",)),
}
"""Script -> the name that people choose, and the variants of `commands` between which it decides on the host."""

_FOLDER = Path(__file__).parent / "scripts"
_APART_S, _SLACK_S = 20, 15
_TOOLS = frozenset(
    "cat date dmesg dtrace echo errpt free grep intrstat iostat ip ipcs journalctl kstat lgrpinfo lockstat lparstat"
    " lscpu lsof lsps mpstat netstat nstat numactl numastat perf pfiles pmap procfiles procmap procstat prstat prtconf"
    " ps psrinfo sar ss strace svmon swap swapinfo sysctl tail timeout top tprof truss tusc uname vmstat".split()
)
"""First words of texts that are commands; others are words for a person, or tools of a database."""
_REPEATED = re.compile(r",? twice, \d+ s apart$")
_FOR_PEOPLE = re.compile(
    r"\b(?:ADDRESS|PORT|PATH|INTERFACE)\b|_SID\b|, (?:of|while|and|or|each)\b|^\w+ or |\bevery \d|-w FILE|/\{"
)
"""Names that only a person can fill in, prose behind a command, captures that are no text, and braces that sh does
not expand."""
_KEEPS_LOCAL_TIMES = re.compile(r"^tail\b")
"""Commands that print times as another program wrote them: in the host's own zone, whatever TZ says."""


@dataclass(frozen=True)
class CollectStep:
    """A command of a script. `apart`: it runs twice, so many seconds apart; `limit_s`: it is stopped after that."""

    command: str
    apart: int
    limit_s: int
    risk: str
    root: bool

    @property
    def code(self) -> str:
        return hashlib.sha256(f"{self.command}|{self.apart}".encode()).hexdigest()[:8]

    @property
    def row(self) -> str:
        """Return the step as a line of the script's catalogue."""
        zone = "own" if _KEEPS_LOCAL_TIMES.search(self.command) else "utc"
        fields = (self.code, self.limit_s, self.apart, self.risk, "root" if self.root else "any", zone, self.command)
        return "|".join(str(field) for field in fields)


def steps_of(text: str) -> Iterator[CollectStep]:
    """Yield the steps in the text of an evidence request that a script can run; the rest is for a person.

    >>> [(step.command, step.apart) for step in steps_of("date; netstat -s, twice, 60 s apart; say it in the room")]
    [('netstat -s', 20)]
    """
    for part in parts(text):
        command = _REPEATED.sub("", part)
        if command == "date" or command.split()[0] not in _TOOLS or _FOR_PEOPLE.search(command):
            continue
        try:
            cost = cost_of(part)
        except NoCost:
            continue
        if cost.privilege in (DBA, NOBODY):
            continue
        apart = _APART_S if command != part else 0
        yield CollectStep(
            command, apart, (seconds_of(command) or 0) + apart + _SLACK_S, cost.risk, cost.privilege == ROOT
        )


@dataclass(frozen=True)
class Wanted:
    """What a host must collect: codes of steps, and the number of requests that only a person can answer."""

    codes: tuple[str, ...]
    by_hand: int


def wanted_of(texts: Iterable[str]) -> Wanted:
    """Return the steps for the texts of evidence requests, each once.

    >>> wanted_of(["uname -a; say in the room which system the host runs", "listener.log of the hour"]).by_hand
    1
    """
    codes: list[str] = []
    by_hand = 0
    for text in texts:
        found = [step.code for step in steps_of(text)]
        codes += found
        by_hand += not found
    return Wanted(tuple(dict.fromkeys(codes)), by_hand)


def standard(variant: str) -> tuple[CollectStep, ...]:
    """Return the steps that a script runs by default: those of the collect blocks and of logs, if of low risk."""
    tables = (*blocks.ALWAYS, *dict.fromkeys(table for some in blocks.OF_SYMPTOM.values() for table in some), "logs")
    found: list[CollectStep] = []
    for table in tables:
        commands, _ = NARROWER[blocks.NARROW[table]] if table in blocks.NARROW else COMMANDS[table]
        found += steps_of(of_system(commands, variant) or "")
    usual = [step for step in found if step.risk in ("none", "low") and "PID" not in step.command]
    return tuple({step.code: step for step in usual}.values())


@cache
def _catalogue(script: str) -> tuple[CollectStep, ...]:
    """Return every step that a script knows."""
    found: dict[str, CollectStep] = {}
    for variant in SCRIPTS[script][1]:
        for commands, _ in (*COMMANDS.values(), *NARROWER.values()):
            found |= {step.code: step for step in steps_of(of_system(commands, variant) or "")}
    return tuple(found.values())


def collector(script: str, room: str = "") -> str:
    """Return the text of a script (a key of SCRIPTS, else KeyError); `room`: address of the room's API, without token.

    Raises ValueError for an address that a shell might not read as a single word.
    """
    name, variants = SCRIPTS[script]
    if not re.fullmatch(r"(?:https?://[A-Za-z0-9.:\[\]-]+/api/rooms/[A-Za-z0-9_-]+)?", room):
        raise ValueError(f"no address of a room: {room[:200]!r}")
    lines = [
        "#!/bin/sh",
        f"# Exhibit's collector for {name}. It prints what it will run and asks before it does; -h shows how.",
        *_text(script),
        "# The room's address. Its token never stands here: export EXHIBIT_TOKEN, name a file with -k, or type it.",
        f"room='{room}'",
        "# code, time limit, seconds apart if twice, risk, who, zone of its times, command",
        "catalogue() {",
        "  cat <<'STEPS'",
        *(step.row for step in _catalogue(script)),
        "STEPS",
        "}",
        "standard() {",
        "  case $variant in",
        *(f"    {one}) echo {' '.join(step.code for step in standard(one))} ;;" for one in variants),
        "  esac",
        "}",
        *_text("common"),
    ]
    return "\n".join(lines) + "\n"


def _text(name: str) -> list[str]:
    return (_FOLDER / f"{name}.sh").read_text(encoding="ascii").splitlines()
