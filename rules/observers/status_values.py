"""What the values of a server's status say by themselves, whatever tool printed them: queues, waits, means and shares of known names.

The names and their bounds stand in `rules/signatures/status`, so that a new name needs no code. A name is compared in its plain form (`plain`),
in whole or by its last parts (`cluster.pay.upstream_rq_timeout`). A quotient is that of two values of one row, or else of the two nearest lines.
A cell `9/10` or `91%/70%` is the quotient of its first and last figure, under its name with ` of`. `a @ b` is a value `a` of
a listing that has `b` too. Standing out: a value that a signature
matches. Of several rows of one name the worst is told, with their number. Normal: less.
Worked example: `Server thread count: 256`: "Server thread count is 256; from 200 on ...".
Cost: at most `MOST_ROWS` rows of each table, a look-up for each name. Source: that of each signature.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Signature, index, recognise

OBSERVER = Observer(
    "status-values",
    "What do known values of a server's status say?",
    ("params", "counters", "rows", "logs"),
    {"*": "the same status once more, 60 s later"},
)

MOST_ROWS = 20_000
MOST_CELLS = 400
LONGEST = 200
"""Maximum number of characters of a name or value: what is longer is a text."""

SHARE = 0.6

SHORT, SAMPLE = 100, r"^[A-Za-z][\w.%]{2,60}[ :=]+-?[0-9.]+(?: [A-Za-z/%]{1,20})?$"
"""Maximum length and form of a stamped line that is one sample of a monitor: `2031-09-08 07:00 DiskQueueDepth 9.1`."""

LEAST = 10.0
"""Minimum of what a value is divided by: a mean or a part of fewer tells nothing."""

MUCH = 10_000.0
"""Minimum of traffic: of fewer packets, some percent are a handful."""

TOLD = 3
"""Number of values of one listing that are told, those of the strongest signatures first."""

BY, OF, WITH = " / ", " of", " @ "

_WORDS = ("true", "false", "null", "NULL", "NaN")

_PLAIN = re.compile(r"[^a-z0-9%]+")
_PARTS = re.compile(r"[.:/\\]+")
_FIGURE = re.compile(r"(-?[0-9]{1,18}(?:,[0-9]{3}){0,6}(?:\.[0-9]{1,9})?)[ ]?([A-Za-zµ%]{0,12}(?:/[A-Za-z]{1,6})?)")
_OF_CELL = re.compile(
    r"([0-9]{1,12}(?:\.[0-9]{1,6})?)%?(?: ?/ ?[0-9]{1,12}){0,2}(?: ?/ ?| of )([0-9]{1,12}(?:\.[0-9]{1,6})?)%?(?: [A-Za-z]{1,12})?"
)
_SPAN = re.compile(
    r"(?:([0-9]{1,5}) ?d(?:ays?)? ?)?(?:([0-9]{1,5}) ?h(?:ours?)? ?)?(?:([0-9]{1,6}(?:\.[0-9]{1,3})?) ?m(?:in(?:utes?)?)? ?)?"
    r"(?:([0-9]{1,9}(?:\.[0-9]{1,9})?) ?s(?:ec(?:onds?)?)?)?"
)
_SIZES = {letter: 1024.0**n for n, letter in enumerate("bkmgtp")}
_SIZE = re.compile(r"(?i)[kmgtp]i?b|b(?:ytes)?|[KGTP]i?")
_BOUND = re.compile(r"([<>])=? *(-?[0-9.]+)")
_LETTERS = re.compile(r"[A-Za-z]")

Row = dict[str, Any]


@dataclass(frozen=True)
class Value:
    """A value of a listing: its plain name, the name as printed, the number (None for a word), the text, and its row."""

    key: str
    name: str
    number: float | None
    text: str
    row: Row
    place: tuple[int, int]
    """Number of its line and of its cell."""


@functools.cache
def plain(name: str) -> str:
    """Return the plain form of a name: small letters, figures and % signs, one blank between its words.

    >>> plain("Total buffer pool read time (milliseconds)"), plain('"tcp_clients":'), plain("CPU%")
    ('total buffer pool read time milliseconds', 'tcp clients', 'cpu%')
    """
    return _PLAIN.sub(" ", name.lower()).strip()


def number_of(text: str) -> float | None:
    """Return a figure in its own unit, a size in bytes, a span of time in seconds; None for a word.

    >>> number_of("1,024"), number_of("97 %"), number_of("2 KiB"), number_of("2h 14m"), number_of("green")
    (1024.0, 97.0, 2048.0, 8040.0, None)
    """
    found = _FIGURE.fullmatch(text)
    if found:
        value, unit = float(found[1].replace(",", "")), found[2]
        if unit and _SIZE.fullmatch(unit):
            return value * _SIZES[unit[0].lower()]
        if unit not in ("d", "h", "m", "min", "minutes", "hours", "days"):
            return value if not unit or unit[0] in "%µnumsCBP" else None
    span = _SPAN.fullmatch(text) if text[:1].isdigit() else None
    if span is None or not any(span.groups()):
        return None
    return sum(float(part or 0) * by for part, by in zip(span.groups(), (86400, 3600, 60, 1), strict=True))


@functools.cache
def _known() -> tuple[frozenset[str], Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]:
    """Return the names that a signature knows, the divisors of each, and the names that must stand beside each."""
    literal, tried = index("status")
    if tried:  # a pattern would be tried against every name of every listing
        raise ValueError(f"status names are plain names: {tried[0].entry.match['status']}")
    by: dict[str, tuple[str, ...]] = {}
    beside: dict[str, tuple[str, ...]] = {}
    for name in literal:
        for sign, held in ((BY, by), (WITH, beside)):
            if sign in name:
                value, other = name.split(sign)
                held[value] = (*held.get(value, ()), other)
    names = {part for name in literal for whole in name.split(BY) for part in whole.split(WITH)}
    return frozenset(names), by, beside


@functools.lru_cache(maxsize=50_000)
def _key(name: str) -> str | None:
    """Return the plain form of a name or of its last parts that a signature knows; None if none does.

    >>> _key("Server thread count:"), _key("a.b.Server thread count"), _key("no such name 9")
    ('server thread count', 'server thread count', None)
    """
    names, _, _ = _known()
    if len(name) > LONGEST:
        return None
    parts = _PARTS.split(name.strip('" :'))
    for n in range(min(len(parts), 4)):
        for ending in ("", OF):
            key = plain(" ".join(parts[n if n == 0 else -n :])) + ending
            if key in names:
                return key.removesuffix(OF)
    words = plain(parts[-1]).split()
    for n in range(
        1, len(words) - 1 if "_" in name and " " not in name.strip() else 0
    ):  # `redis_`, `envoy_cluster_` of exporters
        if (key := " ".join(words[n:])) in names:
            return key
    return None


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield values of which a signature says that they tell of a want; of the same signature the worst."""
    for held in _listed(case).values():
        found: dict[int, list[tuple[Signature, Sighting]]] = {}
        for value in held:
            for key, number, text, lines, words in _offered(value, held):
                if known := recognise(status=key, value=f"{number:.9g}" if number is not None else text):
                    made = _told(value, key, number, text, lines, words, known[0])
                    found.setdefault(id(known[0]), []).append((known[0], made))
        worst = []
        for several in found.values():
            entry, first = max(several, key=lambda pair: (_worse(*pair), -pair[1].lines[0].line_from))
            worst.append((entry.strength, first if len(several) == 1 else _counted(first, len(several))))
        worst.sort(key=lambda pair: pair[0] != "mechanism")  # stable: then as they stand
        yield from (made for _, made in worst[:TOLD])


def _worse(entry: Signature, made: Sighting) -> float:
    return -made.value if str(entry.match.get("value", ""))[:1] == "<" else made.value


def _counted(made: Sighting, n: int) -> Sighting:
    return replace(made, n=n, headline=f"{made.headline} ({n:,} such values)")


Offer = tuple[str, float | None, str, tuple[Row, ...], str]


def _offered(value: Value, held: Sequence[Value]) -> Iterator[Offer]:
    """Yield what signatures may match: the value itself, that of a cell with two figures, and quotients."""
    yield value.key, value.number, value.text, (value.row,), value.name.strip()
    if found := _OF_CELL.fullmatch(value.text):
        part, whole = float(found[1]), float(found[2])
        if whole > 0:
            yield value.key + OF, part / whole, value.text, (value.row,), f"{value.name.strip()} ({value.text})"
    _, divisors, companions = _known()
    for name in companions.get(value.key, ()):
        if _nearest(value, name, held) is not None:
            yield value.key + WITH + name, value.number, value.text, (value.row,), value.name.strip()
    for divisor in divisors.get(value.key, ()):
        other = _nearest(value, divisor, held)
        if other is None or value.number is None or other.number is None or other.number < _least(divisor, value):
            continue
        rows = (value.row,) if other.row is value.row else (value.row, other.row)
        words = f"{value.name.strip()} ({value.text}) by {other.name.strip()} ({other.text})"
        yield value.key + BY + divisor, value.number / other.number, "", rows, words


def _least(divisor: str, value: Value) -> float:
    """Return the minimum of a divisor: `LEAST` of a count that grows, `MUCH` of traffic; a limit may be any above 0."""
    if _TRAFFIC.search(divisor):
        return MUCH
    return 1.0 if _LIMIT.search(divisor) else LEAST


_TRAFFIC = re.compile(r"packets|segs|segments|rx ok")
"""Divisors that count what a network carries: a value divided by them is a part of it."""

_LIMIT = re.compile(r"max|limit|total|size|slim|capacity|maximum|threads|workers|servers|provisioned")


def _nearest(value: Value, key: str, held: Sequence[Value]) -> Value | None:
    """Return the value of another name in the same row, else that of the nearest line."""
    others = [one for one in held if one.key == key]
    if len(others) > 8:
        at = bisect_left(others, value.place, key=lambda one: one.place)
        others = others[max(0, at - 4) : at + 4]
    return min(others, key=lambda one: abs(one.place[0] - value.place[0]), default=None)


def _told(
    value: Value, key: str, number: float | None, text: str, rows: tuple[Row, ...], words: str, known: Signature
) -> Sighting:
    bound = _BOUND.fullmatch(str(known.match.get("value", "")))
    limit = float(bound[2]) if bound else None
    of = f" of {value.row['of']}" if value.row["of"] else ""
    divisor = key.split(BY)[1] if BY in key else ""
    part = key.endswith(OF) or _LIMIT.search(divisor) is not None or _TRAFFIC.search(divisor) is not None
    unit, times = ("%", 100.0) if part else ("" if BY in key else "count", 1.0)
    says = text if number is None else figure(number * times, unit)
    if bound and limit is not None:
        says += f"; {'from' if bound[1] == '>' else 'down to'} {figure(limit * times, unit)} it tells of a want"
    name = value.name.strip()
    return Sighting(
        "status",
        name,
        f"{words}{of} is {says}",
        "status_value",
        1.0 if number is None else number * times,
        unit,
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], name) for r in rows),
        **place(value.row),
        against="its bound",
        against_value=1.0 if limit is None else limit * times,
        share=SHARE,
        seen=({"status": key, "value": text if number is None else f"{number:.9g}"},),
    )


def _listed(case: CaseTables) -> dict[tuple[Any, Any], list[Value]]:
    """Return the values with known names of each part, in the order of their lines."""
    made: dict[tuple[Any, Any], list[Value]] = {}

    def keep(row: Row, name: object, cell: object, at: int = 0, of: str = "", *, table_of_names: bool = False) -> None:
        key = (_key(f"{of}.{name}") if of and table_of_names else None) or _key(str(name or ""))
        text = str(cell if cell is not None else "").strip().strip('",')
        if key is None or not text or len(text) > LONGEST:
            return
        held = made.setdefault((row["artifact_id"], row["part"]), [])
        named = {**row, "of": of}
        held.append(Value(key, str(name).strip('" :'), number_of(text), text, named, (row["line_no"], at)))

    for table, title in (("params", "entity"), ("counters", "item")):
        columns = [*PLACE_COLUMNS, "part", "line_no", title, "name", "value"]
        for row in case.scan(table, columns).head(MOST_ROWS).collect(engine="streaming").iter_rows(named=True):
            value = row["value"]
            cell = f"{value:.15g}" if isinstance(value, float) else value
            keep(row, row["name"], cell, of=str(row[title] or ""), table_of_names=True)
    columns = [*PLACE_COLUMNS, "part", "line_no", "text"]
    short = (pl.col("text").str.len_bytes() < SHORT) & pl.col("text").str.contains(SAMPLE)
    for row in case.scan("logs", columns, short).head(MOST_ROWS).collect(engine="streaming").iter_rows(named=True):
        name, value = re.split(r"[ :=]+", row["text"], maxsplit=1)
        keep(row, name, value.split(" ")[0])
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    for row in _rows(case, columns):
        pairs = list(zip(row["heading"], row["cells"], strict=False))[:MOST_CELLS]
        of = next((str(c) for _, c in pairs if c and _LETTERS.match(str(c)) and str(c) not in _WORDS), "")
        before = {(k, len(v)) for k, v in made.items()}
        for at, (name, cell) in enumerate(pairs):
            keep(row, name, cell, at, of)
        if {(k, len(v)) for k, v in made.items()} != before:
            continue
        for at, ((_, first), (_, second)) in enumerate(pairwise(pairs)):  # a table of names and values
            keep(row, first, second, at)
        if len(pairs) >= 2:  # a table of names and values without a heading: its first row was taken for one
            keep(row, row["heading"][0], row["heading"][1])
    for held in made.values():
        held.sort(key=lambda one: one.place)
    return made


def _rows(case: CaseTables, columns: list[str]) -> Iterator[Row]:
    filled = pl.col("heading").is_not_null() & pl.col("cells").is_not_null() & (pl.col("heading").list.len() > 1)
    yield from case.scan("rows", columns, filled).head(MOST_ROWS).collect(engine="streaming").iter_rows(named=True)
