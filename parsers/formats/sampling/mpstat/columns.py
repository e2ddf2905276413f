"""Columns of mpstat by system: which table column each is, headers as words, and the arithmetic that verifies a row."""

from __future__ import annotations

import re
from collections.abc import Sequence

from parsers.columns.grid import NUMBER, NUMBER_OR_NONE, keys

TIME = r"(?:[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?: [AaPp][Mm])?|[0-9]{10}|[0-9]{2}[时時][0-9]{2}分[0-9]{2}秒)"
AVERAGE = r"[^ \t0-9][^ \t]*(?: :)?"
"""`Average:` in any language: a word that is not a time; French has a blank before its colon."""

LABEL = r"(?:all|ALL|U|-?[0-9]+)"

_SOLARIS = "minf mjf xcal ithr csw icsw migr smtx srw".split()
MEANING: dict[str, str] = {
    **{c: c for c in _SOLARIS},
    "intr": "intr",
    "syscl": "scall",
    "sysc": "scall",
    "usr": "usr",
    "sys": "sys",
    "wt": "wa",
    "st": "st",
    "idl": "idle",
    "%usr": "usr",
    "%user": "usr",
    "%nice": "nice",
    "%sys": "sys",
    "%system": "sys",
    "%iowait": "wa",
    "%irq": "irq",
    "%soft": "soft",
    "%steal": "st",
    "%guest": "gu",
    "%gnice": "gnice",
    "%idle": "idle",
    "intr/s": "intr",
}
_AIX = {
    "min": "minf",
    "maj": "mjf",
    "int": "intr",
    "cs": "csw",
    "ics": "icsw",
    "rq": "rq",
    "mig": "migr",
    "sysc": "scall",
    "us": "usr",
    "sy": "sys",
    "wa": "wa",
    "id": "idle",
    "pc": "pc",
    "%ec": "ec",
}
VOCABULARY = frozenset([*MEANING, "CPU", "SET", "set", "sze"])
_SHARES = ("usr", "sys", "wt", "st", "idl")
SOLARIS = "CPU minf mjf xcal intr ithr csw icsw migr smtx srw syscl usr sys wt idl"
"""The header of every release since Solaris 2, for rows whose header is missing."""


def table_of(heading: str) -> str:
    """Return which table stands under a header: cpu, set, node, sum (`intr/s`), irq or softirq.

    >>> table_of("CPU HI/s TIMER/s"), table_of("SET minf mjf")
    ('softirq', 'set')
    """
    words = heading.split()
    if words[0] in ("SET", "NODE"):
        return words[0].lower()
    if words[1:] == ["intr/s"]:
        return "sum"
    if all(w.endswith("/s") for w in words[1:]):
        return "softirq" if {"TIMER/s", "NET_RX/s", "SCHED/s"} & set(words) else "irq"
    return "cpu"


def cells_of(heading: str) -> dict[str, str]:
    """Return a cell pattern for each column."""
    words = heading.split()
    number = NUMBER_OR_NONE if words[0] == "cpu" else NUMBER
    return dict(zip(keys(heading), [LABEL, *[number] * (len(words) - 1)], strict=True))


def places_of(heading: str) -> tuple[dict[str, str], list[str]]:
    """Return a map from printed column to column of `mpstat`, and the columns that `mpstat` does not have.

    CORE, SOCK and NODE of -T are in neither: they name the CPU.
    """
    meaning = _AIX if heading.startswith("cpu ") else MEANING
    names = keys(heading)[1:]
    skipped = {"CORE", "SOCK", "NODE", "set"}
    return {n: meaning[n] for n in names if n in meaning}, [n for n in names if n not in meaning and n not in skipped]


def heading_length(words: Sequence[str]) -> int:
    """Return how many of the first words are column names of Solaris, 0 if no header begins here."""
    if not words or words[0] not in ("CPU", "SET"):
        return 0
    size = next((i for i, w in enumerate(words) if w not in VOCABULARY), len(words))
    return size if {"usr", "sys", "idl"} <= set(words[:size]) else 0


def adds_up(names: Sequence[str], words: Sequence[str]) -> bool:
    """Verify a row of Solaris: whole numbers whose shares of CPU add up to 100 (rounded, so 98 to 102)."""
    if len(names) != len(words) or not all(re.fullmatch(r"[0-9]+", w) for w in words):
        return False
    return 98 <= sum(int(w) for n, w in zip(names, words, strict=True) if n in _SHARES) <= 102
