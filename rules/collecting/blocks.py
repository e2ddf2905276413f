"""Copy-paste blocks for the shell: what to collect for a symptom on a system, made from the tables of `commands`.

Plain POSIX sh that ksh88 and dash accept: no bashisms, nothing installed, nothing filtered. Each tool's output is
between two marks with the UTC time, which `parsers/provenance/collect_marks.py` reads as borders; a missing tool is
reported and skipped, and one that hangs is stopped; time and size of the whole are limited and printed before it
begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rules.collecting.commands import COMMANDS, NARROWER, of_system, variant_of
from rules.collecting.costs import NoCost, cost_of, seconds_of

SYSTEMS: dict[str, str] = {
    "linux": "Linux (iproute2)",
    "linux-old": "Linux, old (net-tools)",
    "solaris-11": "Solaris 11",
    "solaris-10": "Solaris 10",
    "aix": "AIX",
    "hpux": "HP-UX",
}
"""System -> the name that people choose."""

SYMPTOMS: dict[str, str] = {
    "connects": "connecting is slow",
    "cpu": "everything is slow, processors busy",
    "memory": "memory is short, paging",
    "disk": "disks are slow",
    "network": "packets are lost, the network is suspected",
    "locks": "sessions wait for locks or semaphores",
}

ALWAYS = ("artifacts", "hosts")
OF_SYMPTOM: dict[str, tuple[str, ...]] = {
    "connects": ("vmstat", "mpstat", "counter_growth", "sockets", "ps", "ipcs_shm", "ipcs_sem"),
    "cpu": ("vmstat", "mpstat", "ps", "fork", "counter_growth"),
    "memory": ("vmstat", "meminfo", "ps", "ipcs_shm", "numa"),
    "disk": ("vmstat", "iostat", "meminfo", "mpstat"),
    "network": ("counter_growth", "iface", "sockets", "mpstat", "vmstat"),
    "locks": ("vmstat", "mpstat", "ipcs_sem", "ps", "ipcs_shm"),
}
NARROW = {"fork": ("counters", "fork"), "iface": ("counters", "iface")}
_SH = {"solaris-10": "/usr/xpg4/bin/sh"}
"""Shell to use on systems whose default shell is not POSIX."""

_FILE_MIB = 32
_APART_S = 20
_SLACK_S = 15
_NEEDS_NAMES = re.compile(r"\b(?:PID|FILE|ADDRESS|PORT|SID|PATH)\b")
_PROSE = re.compile(r"^(?:say\b|anything\b|a\b|an\b)")
_REPEATED = re.compile(r",? twice, \d+ s apart$")
END = "END_OF_EXHIBIT"
_WORDS = (
    ("connects", r"connect|log[ -]?ins?\b|log[ -]?on|sign[ -]in|session start"),
    ("locks", r"\block|latch|semaphore|mutex|deadlock|enqueue"),
    ("memory", r"memory|swap|pages\b|paging|oom\b|thrash"),
    ("disk", r"disk|\bio\b|i/o|storage|\bsan\b|filesystem|writes? (?:are|is)"),
    ("network", r"network|packet|retrans|\blan\b|\bwan\b|\btcp\b|timeout|dropped"),
    ("cpu", r"cpu|processor|\bload\b|\bslow\b|everything|hang"),
)


@dataclass(frozen=True)
class Step:
    """One tool: its command line, the time limit after which it is stopped, and whether it is run twice."""

    command: str
    limit_s: int
    usual_s: int
    twice: bool = False

    @property
    def tool(self) -> str:
        return self.command.split()[0]


@dataclass(frozen=True)
class Block:
    """A script, with its cost in words and figures: usual and maximum time, maximum output."""

    text: str
    steps: tuple[Step, ...]
    usual_s: int
    most_s: int
    most_mib: int
    risk: str
    needs: str


def block(system: str, symptom: str) -> Block:
    """Return the block for a system and a symptom (keys of SYSTEMS and SYMPTOMS); KeyError for others."""
    name, why = SYSTEMS[system], SYMPTOMS[symptom]
    steps = tuple(_steps(system, symptom))
    usual, most = sum(s.usual_s for s in steps), sum(s.limit_s for s in steps)
    costs = [cost_of(s.command) for s in steps]
    risk = max((cost.risk for cost in costs), key=("none", "low", "some", "high").index)
    needs = "any user; as root some tools tell more"
    os = system.split("-")[0]
    shell = _SH.get(system, "sh")
    lines = [
        f"{shell} <<'{END}'",
        f"# Exhibit: {name}; {why}. Reads counters and lists, installs nothing, changes nothing.",
        *(f"# {word}" for word in dict.fromkeys(word for cost in costs for word in cost.words)),
        "LC_ALL=C; LANG=C; TZ=UTC0; S_TIME_FORMAT=ISO; export LC_ALL LANG TZ S_TIME_FORMAT",
        "PATH=$PATH:/usr/bin:/bin:/usr/sbin:/sbin:/usr/proc/bin; export PATH",
        "umask 077",
        "host=$(uname -n)",
        f"release=$({'oslevel' if os == 'aix' else 'uname -r'})",
        "out=${TMPDIR:-/tmp}/exhibit-$host-$(date -u +%Y%m%dT%H%M%SZ)-$$.txt",
        ': > "$out" || exit 1',
        f"ulimit -f {_FILE_MIB * 2048}",
        f'echo "cost: risk {risk}; needs {needs}; takes about {usual} s, at most {most} s; writes at most {_FILE_MIB} MiB"',
        'echo "to: $out"',
        'echo "stop: Ctrl-C; what is there by then can be sent"',
        'echo "collected by Exhibit" >> "$out"',
        "run() {",
        "  limit=$1; times=$2; shift 2",
        '  if command -v "$1" > /dev/null 2>&1; then :; else',
        '    echo "not here: $1"; echo "not here: $1" >> "$out"; return',
        "  fi",
        '  echo "$*"',
        f'  echo "#-- exhibit begin $(date -u +%Y-%m-%dT%H:%M:%SZ) tz=UTC os={os} release=$release host=$host run: $*" >> "$out"',
        '  if test "$times" = 2; then',
        f'    (date -u; "$@"; sleep {_APART_S}; date -u; "$@") < /dev/null >> "$out" 2>&1 &',
        "  else",
        '    "$@" < /dev/null >> "$out" 2>&1 &',
        "  fi",
        "  tool=$!",
        '  (sleep "$limit"; kill "$tool") > /dev/null 2>&1 &',
        "  watch=$!",
        '  wait "$tool" 2> /dev/null',
        "  status=$?",
        '  kill "$watch" 2> /dev/null',
        '  echo "#-- exhibit end $(date -u +%Y-%m-%dT%H:%M:%SZ) status=$status" >> "$out"',
        "}",
        *(_line(step) for step in steps),
        'echo "done. Send this file: $out"',
        END,
    ]
    return Block("\n".join(lines) + "\n", steps, usual, most, _FILE_MIB, risk, needs)


def system_of(os: str | None, release: str | None) -> str:
    """Return the block's system for a host; Linux if unknown.

    >>> system_of("solaris", "5.10"), system_of("illumos", None), system_of("HP-UX", "B.11.31"), system_of(None, None)
    ('solaris-10', 'solaris-11', 'hpux', 'linux')
    """
    plain = re.sub(r"[^a-z]", "", (os or "").lower())
    variant = variant_of({"illumos": "solaris", "sunos": "solaris"}.get(plain, plain), release) or ""
    return variant if variant in SYSTEMS else "solaris-11" if variant == "solaris" else "linux"


def symptom_of(*texts: str | None) -> str:
    """Guess the symptom from what people wrote about the case; slow connects if the text shows nothing else.

    >>> symptom_of("Logins take 3.9 s"), symptom_of(None, "The host pages"), symptom_of("retransmits on the LAN")
    ('connects', 'memory', 'network')
    """
    written = " ".join(text for text in texts if text).lower()
    return next((symptom for symptom, words in _WORDS if re.search(words, written)), "connects")


def _line(step: Step) -> str:
    return f"run {step.limit_s} {2 if step.twice else 1} {step.command}"


def _steps(system: str, symptom: str) -> Iterator[Step]:
    seen: set[str] = set()
    for table in (*ALWAYS, *OF_SYMPTOM[symptom]):
        commands, _ = NARROWER[NARROW[table]] if table in NARROW else COMMANDS[table]
        text = of_system(commands, system)
        for step in _of_text(text or ""):
            if step.command not in seen:
                seen.add(step.command)
                yield step


def _of_text(text: str) -> Iterator[Step]:
    """Yield the steps of one evidence request; skip parts that need values or statements from a person, and pipes,
    which would filter.
    """
    whole = bool(_REPEATED.search(text))
    for part in text.split(";"):
        command = _REPEATED.sub("", part).strip()
        if not command or command == "date" or _PROSE.match(command) or _NEEDS_NAMES.search(command):
            continue
        if re.search(r"[|&<>`$'\"*]", command):
            continue
        try:
            cost_of(command)
        except NoCost:
            continue
        twice = whole and part.strip() != "date" and bool(_REPEATED.search(part))
        seconds = (seconds_of(command) or 0) + (_APART_S if twice else 0)
        yield Step(command, seconds + _SLACK_S, seconds + 1, twice)
