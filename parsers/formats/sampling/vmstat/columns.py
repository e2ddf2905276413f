"""Columns of vmstat by system: `sy` means two things, `free` has three units, disk columns are named after disks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from parsers.columns.grid import NUMBER, NUMBER_OR_NONE, keys

CLOCK = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}"
SIZE = rf"{NUMBER}[KMGTP]?"
PAGE_KB = 4.0
"""Page size in kB: AIX and HP-UX count pages of 4096 bytes here, whatever page sizes a process uses."""

_SAME = {c: c for c in ("r", "b", "re", "mf", "sr", "cs", "wa", "st", "gu", "pc", "ec")}
_CPU = _SAME | {"in": "intr", "int": "intr", "us": "usr", "id": "idle"}
_MEANING: dict[str, dict[str, str]] = {
    "solaris": _CPU
    | {"w": "w", "swap": "swap_free_kb", "free": "free_kb", "pi": "pi_kbps", "po": "po_kbps", "fr": "fr_kbps"}
    | {"de": "de_kb", "api": "api_kbps", "apo": "apo_kbps", "si": "si_kbps", "so": "so_kbps"},
    "linux": _CPU
    | {"w": "w", "swpd": "swap_used_kb", "free": "free_kb", "buff": "buff_kb", "cache": "cache_kb"}
    | {"active": "active_kb", "inact": "inact_kb"}
    | {"si": "si_kbps", "so": "so_kbps", "bi": "bi_kbps", "bo": "bo_kbps"},
    "aix": _CPU | {"p": "p", "avm": "avm_kb", "fre": "free_kb", "pi": "pi_kbps", "po": "po_kbps", "fr": "fr_kbps"},
    "hpux": _CPU | {"w": "w", "avm": "avm_kb", "free": "free_kb", "pi": "pi_kbps", "po": "po_kbps", "fr": "fr_kbps"},
    "bsd": _CPU | {"w": "w", "avm": "avm_kb", "fre": "free_kb", "flt": "mf"},
}
_PAGES = {"avm", "fre", "free", "pi", "po", "fr"}
_UNITS = {
    # Units of columns that `vmstat` does not have: they go to `counters` unconverted.
    "aix": {"fi": "pages/s", "fo": "pages/s", "cy": "cycles", "alp": "pages", "flp": "pages", "w": "threads"},
    "bsd": {"pi": "pages/s", "po": "pages/s", "fr": "pages/s", "s": "threads"},
    "solaris": dict.fromkeys(("epi", "epo", "epf", "apf", "fpi", "fpo", "fpf"), "kB/s"),
}
_WORDS = {w for m in _MEANING.values() for w in m} | {w for m in _UNITS.values() for w in m}
VOCABULARY = _WORDS | {"sy", "sys", "flt", "at", "hr", "mi", "se", "hr:mi:se", "phc", "app", "lbusy", "rc"}
LINUX_MEMORY = frozenset({"swpd", "free", "buff", "cache", "active", "inact"})
"""Columns that `-S` scales."""

BY_COUNT = {
    ("solaris", 22): "r b w swap free re mf pi po fr de sr 1 2 3 4 in sy cs us sy id",
    ("solaris", 21): "r b w swap free re mf pi po fr de sr 1 2 3 in sy cs us sy id",
    ("solaris", 20): "r b w swap free re mf pi po fr de sr 1 2 in sy cs us sy id",
    ("solaris", 19): "r b w swap free re mf pi po fr de sr 1 in sy cs us sy id",
    ("linux", 16): "r b swpd free buff cache si so bi bo in cs us sy id wa",
    ("linux", 17): "r b swpd free buff cache si so bi bo in cs us sy id wa st",
    ("linux", 18): "r b swpd free buff cache si so bi bo in cs us sy id wa st gu",
    ("aix", 17): "r b avm fre re pi po fr sr cy in sy cs us sy id wa",
    ("aix", 19): "r b avm fre re pi po fr sr cy in sy cs us sy id wa pc ec",
}
"""Column names of rows without a header, by system and number of columns."""

TWO_SYSTEMS = ("solaris", 19)
"""Number of columns that Solaris with one disk and FreeBSD with two have in common."""

DIFFERENT = ("swap_free_kb", "re", "mf", "pi_kbps", "po_kbps", "fr_kbps", "de_kb", "sr")
"""Columns that the two print at different places (the second column of memory and those after the disks are the same)."""


@dataclass(frozen=True)
class Columns:
    """The columns of one header.

    `cells`: column key -> pattern; `places`: key -> (column of `vmstat`, factor to its unit); `others`: key -> (printed name, unit)
    for `counters`; `disks`: key -> device; `zone` from a header with a clock; `each`: key, CPU and column of `mpstat` where the shares
    of every CPU stand side by side (-P).
    """

    system: str
    cells: dict[str, str]
    places: dict[str, tuple[str, float]]
    others: dict[str, tuple[str, str | None]]
    disks: dict[str, str]
    percents: tuple[str, ...]
    zone: str | None = None
    each: tuple[tuple[str, int, str], ...] = ()


def system_of(words: Sequence[str], default: str) -> str:
    """Return the system by its column names; the group line above does not identify it (`kthr` is Solaris and AIX)."""
    names = set(words)
    if "swpd" in names or {"bi", "bo"} <= names:
        return "linux"
    if "epi" in names or {"swap", "free"} <= names:
        return "solaris"
    if {"avm", "flt"} <= names:
        return "bsd"
    if {"avm", "free"} <= names:
        return "hpux"
    if "avm" in names or "pc" in names or "hr:mi:se" in names:
        return "aix"
    return default


@lru_cache(256)
def columns_of(heading: str, default: str, unit_kb: float = 1.0) -> Columns:
    """Return the columns of a header; the result is cached, so do not change it.

    `default` is the system where the names do not show it, `unit_kb` the unit of Linux -S.
    """
    words = re.sub(r"\bhr mi se\b", "hr:mi:se", heading).split()
    system = system_of(words, default)
    zone = None
    if system == "linux" and words[-1] not in VOCABULARY:
        zone = words.pop()
    names = keys(" ".join(words))
    disks = _disks(words)
    cell = NUMBER_OR_NONE if system == "aix" else SIZE if system == "bsd" else NUMBER
    cells = {n: CLOCK if n == "hr:mi:se" else cell for n in names}
    meaning = _MEANING[system]
    places: dict[str, tuple[str, float]] = {}
    others: dict[str, tuple[str, str | None]] = {}
    device: dict[str, str] = {}
    for place, name in enumerate(names):
        word = words[place]
        factor = PAGE_KB if system in ("aix", "hpux") and word in _PAGES else 1.0
        if place in disks:
            device[name] = name if word != "--" else str(place - disks.start + 1)
        elif word == "sy" or (word == "sys" and "sy" in words):
            # The faults stand before the shares of CPU: `in sy cs us sy id`, OpenBSD `int sys cs us sy id`.
            places[name] = ("sys" if "us" in words[:place] else "scall", 1.0)
        elif word in meaning:
            places[name] = (meaning[word], unit_kb if system == "linux" and word in LINUX_MEMORY else factor)
        elif name != "hr:mi:se":
            others[name] = (word, _UNITS.get(system, {}).get(word))
    begins = [i for i in range(len(words)) if words[i : i + 3] == ["us", "sy", "id"]] if system == "bsd" else []
    each: tuple[tuple[str, int, str], ...] = ()
    if len(begins) > 1:
        each = tuple(
            (names[i + n], cpu, w) for cpu, i in enumerate(begins) for n, w in enumerate(("usr", "sys", "idle"))
        )
        places = {n: place for n, place in places.items() if n not in {key for key, _, _ in each}}
    shares = tuple(n for n in names if places.get(n, ("",))[0] in ("usr", "sys", "idle", "wa", "st", "gu"))
    return Columns(system, cells, places, others, device, shares, zone, each)


def _disks(words: Sequence[str]) -> range:
    """Return the places of disk columns: between the pages (`sr`) and the faults (`in`), under any names."""
    if "sr" not in words:
        return range(0)
    begin = words.index("sr") + 1
    end = next((i for i in range(begin, len(words)) if words[i] in ("in", "int")), begin)
    return range(begin, end) if words[begin:end] != ["cy"] else range(0)


def heading_length(words: Sequence[str]) -> int:
    """Return how many of the first words are column names, 0 if no header begins here."""
    if not words or words[0] not in ("r", "swpd", "us"):
        return 0
    size = 0
    while size < len(words):
        word = words[size]
        after_scan = "sr" in words[:size] and "in" not in words[:size] and "int" not in words[:size]
        named = after_scan and re.fullmatch(r"[a-z]{1,5}[0-9]{1,3}|--|[a-z]{2}", word)
        if word not in VOCABULARY and not named:
            break
        size += 1
    return size if {"us", "sy", "id"} <= set(words[:size]) else 0


def adds_up(names: Sequence[str], words: Sequence[str]) -> bool:
    """Verify a row: numbers only, and the shares of CPU add up to 100 (rounded, so 98 to 102)."""
    columns = columns_of(" ".join(names), "linux")
    if len(words) != len(columns.cells) or not all(map(re.fullmatch, columns.cells.values(), words)):
        return False
    of = dict(zip(keys(" ".join(names)), words, strict=False))
    if not {"usr", "sys", "idle"} <= {columns.places[p][0] for p in columns.percents}:
        return False
    shares = [float(of[p].replace(",", ".")) for p in columns.percents if re.fullmatch(r"[0-9]+([.,][0-9]+)?", of[p])]
    guest = [float(of["gu"])] if "gu" in of and of["gu"].isdigit() else [0.0]
    total = sum(shares)
    return len(shares) == len(columns.percents) and (98 <= total <= 102 or 98 <= total - guest[0] <= 102)
