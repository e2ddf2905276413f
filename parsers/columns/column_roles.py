"""Assign roles to the columns of a table, from a person's answer or from the cells.

An answer is a text such as `time=1 elapsed=3:ms label=2` or `time=ts values=cpu,run_queue`: each role with the name of
a column or its number from 1; for `elapsed`, a unit may follow a colon (s, ms, us, ns; default s).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from parsers.tables.rows import State
from parsers.text.source import Source
from parsers.text.times import wall_seconds

LOOKED_AT = 200
"""Number of lines from which the roles of the columns are decided."""

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
ROLES = ("time", "elapsed", "label", "values", "ok", "message", "severity")

EPOCH = r"^1[0-9]{9}(?:\.[0-9]+)?$|^1[0-9]{12}$|^1[0-9]{15}$|^1[0-9]{18}$"
ISO = r"^([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}(?:[.,][0-9]+)?))? ?(Z|UTC|[+-][0-9]{2}:?[0-9]{2})?$"
SLASHED = (
    r"^([0-9]{1,2})[/.]([0-9]{1,2})[/.]([0-9]{4}|[0-9]{2})[ T,]+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?"
    r"(?: ?([AaPp])\.?[Mm]\.?)?$"
)
CLOCK = r"^([0-9]{1,2}):([0-9]{2}):([0-9]{2}(?:[.,][0-9]+)?)(?: ?([AaPp])\.?[Mm]\.?)?$"
NUMBER = r"^[+-]?(?:[0-9]+(?:[.,][0-9]+)*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?%?$"
STAMPS = {"epoch": EPOCH, "iso": ISO, "slashed": SLASHED, "clock": CLOCK}
ELAPSED_WORDS = r"(?i)elapsed|connect|latency|duration|response|(?:^|_)rt(?:$|_)|time_?total|took|dauer|laufzeit"
IDENTIFIER = r"(?i)(?:^|[_ .-])ids?$"
"""End of the name of a column whose numbers are names, such as `connection_id`."""

TIMED_WORDS = r"(?i)elapsed|latency|duration|(?:^|_)rt(?:$|_)|time_?total|took|dauer|laufzeit"
"""The words of ELAPSED_WORDS that always mean a time; in a wide table `connect` or `response` may be a count."""

_UNIT_WORDS = (
    r"(?P<ms>ms|msecs?|millis(?:ec(?:onds?|s)?)?)|(?P<us>us|µs|usecs?|micros(?:ec(?:onds?|s)?)?)"
    r"|(?P<ns>ns|nsecs?|nanos(?:ec(?:onds?|s)?)?)|(?P<s>s|secs?|seconds?)"
)
_UNIT_APART = re.compile(rf"[(_\[ ./-](?:{_UNIT_WORDS})[)\] ]?$", re.IGNORECASE)
_UNIT_JOINED = re.compile(
    r"(?:(?<=[a-z0-9])(?:(?P<ms>M[sS]|Msecs?|Millis(?:econds)?)|(?P<us>U[sS]|Usecs?|Micros(?:econds)?)"
    r"|(?P<ns>N[sS]|Nsecs?|Nanos(?:econds)?)|(?P<s>S|Secs?|Seconds))"
    r"|(?:elapsed|latency|duration|time)(?P<ms_>ms|millis))$"
)

NARROW = 12
"""Maximum number of columns of a list of timed connects; a wider table is a program's export of its metrics."""

JMETER = {"timeStamp", "elapsed", "label"}


@dataclass(frozen=True)
class Columns:
    """Positions from 0 of the columns by role; `unit_s` converts elapsed to seconds."""

    time: int | None = None
    elapsed: int | None = None
    unit_s: float = 1.0
    label: int | None = None
    ok: int | None = None
    message: int | None = None
    severity: int | None = None
    values: tuple[int, ...] = field(default=())

    def words(self, names: Sequence[str]) -> str:
        """Return the roles as a text in the form of a person's answer."""
        unit = next((u for u, s in UNITS.items() if s == self.unit_s), "s")
        words = []
        for role in ROLES:
            at = getattr(self, role)
            if role == "values":
                words += [f"values={','.join(_name(names, n) for n in self.values)}"] if self.values else []
            elif at is not None:
                words.append(f"{role}={_name(names, at)}" + (f":{unit}" if role == "elapsed" else ""))
        return " ".join(words)


def parse_columns(text: str, names: Sequence[str]) -> Columns:
    """Parse a person's answer. Raises ValueError with the first word that is invalid."""
    found: dict[str, int] = {}
    values: tuple[int, ...] = ()
    unit_s = 1.0
    for word in re.findall(r"[a-z]+=(?:\"[^\"]*\"|[^\s\"])+", text) or [text]:
        role, equals, which = word.partition("=")
        if not equals or role not in ROLES:
            raise ValueError(f"{word!r} is no `role=column`; roles are {', '.join(ROLES)}")
        if role == "values":
            values = tuple(_position(name, names) for name in which.split(","))
            continue
        if role == "elapsed" and ":" in which and which.rpartition(":")[2] in UNITS:
            which, _, unit = which.rpartition(":")
            unit_s = UNITS[unit]
        found[role] = _position(which, names)
    return Columns(unit_s=unit_s, values=values, **found)


def gathered(source: Source, state: State, read: Callable[[pl.DataFrame, State], State]) -> State:
    """Call `read` with the blocks of a run; first blocks are joined until it can decide the columns from enough lines.

    The columns are decided once the state holds `names`. Returns the last state.
    """
    waiting: list[pl.DataFrame] = []
    for block in source.blocks():
        waiting.append(block.frame)
        if "names" in state or sum(len(frame) for frame in waiting) >= 2 * LOOKED_AT:
            state = read(pl.concat(waiting), state)
            waiting = []
    return read(pl.concat(waiting), state) if waiting else state


def _position(text: str, names: Sequence[str]) -> int:
    text = text.strip('"')
    lower = [name.lower() for name in names]
    if text.lower() in lower:
        return lower.index(text.lower())
    if text.isdecimal() and 1 <= int(text) <= max(len(names), 1):
        return int(text) - 1
    raise ValueError(f"there is no column {text!r}; there are {', '.join(names)}")


def _name(names: Sequence[str], at: int) -> str:
    name = names[at] if at < len(names) else str(at + 1)
    return name if re.fullmatch(r"[^\s\",:=]+", name) and not name.isdecimal() else str(at + 1)


def kind_of(cells: Sequence[str]) -> str:
    """Return what a column holds, judged by its cells: one of STAMPS, `number`, `text`, or `empty`."""
    filled = [c for c in cells if c]
    if not filled:
        return "empty"
    for name, pattern in (*STAMPS.items(), ("number", NUMBER)):
        if sum(re.match(pattern, c) is not None for c in filled) * 5 >= 4 * len(filled):
            return name
    return "text"


def unit_of(name: str) -> str | None:
    """Return the unit (a key of UNITS) at the end of a column's name, None if there is none.

    The unit stands apart (`_ms`, `(ms)`, `.millis`) or begins with a capital, as in names of programs.

    >>> [unit_of(name) for name in ("wait_ms", "tookMillis", "latency (us)", "elapsedSeconds", "durationms", "status", "elapsed")]
    ['ms', 'ms', 'us', 's', 'ms', None, None]
    """
    found = _UNIT_APART.search(name) or _UNIT_JOINED.search(name)
    return found.lastgroup.rstrip("_") if found and found.lastgroup else None


def suggested(kinds: Sequence[str], names: Sequence[str]) -> tuple[Columns, str]:
    """Guess the roles of columns from the kinds of their cells and their names; return them with the reason in words."""
    time = next((n for n, kind in enumerate(kinds) if kind in STAMPS), None)
    numbers = [n for n, kind in enumerate(kinds) if (kind == "number" or kind in STAMPS) and n != time]
    texts = [n for n, kind in enumerate(kinds) if kind == "text"]
    if set(names) >= JMETER and time == names.index("timeStamp"):
        ok = names.index("success") if "success" in names else None
        columns = Columns(time, names.index("elapsed"), UNITS["ms"], names.index("label"), ok=ok)
        return columns, "the names are those of JMeter's list of results, whose times are in ms"
    wide = len(names) > NARROW
    timed = [
        n
        for n in numbers
        if re.search(ELAPSED_WORDS, names[n])
        and not re.search(IDENTIFIER, names[n])
        and not (wide and not re.search(TIMED_WORDS, names[n]) and unit_of(names[n]) is None)
    ]
    elapsed = timed[0] if timed else None
    label = texts[0] if len(texts) == 1 else None
    clock = "no column holds stamps" if time is None else f"column {time + 1} holds stamps"
    if elapsed is not None:
        return Columns(
            time, elapsed, UNITS[unit_of(names[elapsed]) or "s"], label
        ), f"{clock}; {names[elapsed]!r} sounds like a time taken"
    return Columns(time=time, label=label, values=tuple(numbers)), f"{clock}; the other numbers are taken as counters"


def wall(kind: str, cell: pl.Expr, date: str | None, order: str | None) -> pl.Expr:
    """Convert stamps to seconds of their clock: since 1970, or of the day if no date is known; NULL if it is not a
    stamp.
    """
    if kind == "epoch":
        digits = cell.str.extract(r"^([0-9]+)").str.len_chars()
        scale = pl.when(digits == 13).then(1e3).when(digits == 16).then(1e6).when(digits == 19).then(1e9).otherwise(1.0)
        # Division by a scalar and by a column may differ in the last digit; a double holds microseconds here.
        return pl.when(cell.str.contains(EPOCH)).then((cell.cast(pl.Float64, strict=False) / scale).round(6))
    groups = cell.str.extract_groups(STAMPS[kind]).struct

    def number(group: int) -> pl.Expr:
        return groups[str(group)].str.replace(",", ".", literal=True).cast(pl.Float64)

    def of_day(hour: pl.Expr, half: int) -> pl.Expr:
        """Return hours since midnight; if a group holds AM or PM, the hour is one of twelve."""
        afternoon = groups[str(half)].str.to_lowercase() == "p"
        return pl.when(groups[str(half)].is_null()).then(hour).when(hour <= 12).then(hour % 12 + 12 * afternoon)

    if kind == "clock":
        day = wall_seconds(*map(int, date.split("-"))) if date else 0.0
        hour = of_day(number(1), 4)
        seconds = hour * 3600 + number(2) * 60 + number(3) + (day or 0.0)
        return pl.when((hour < 24) & (number(2) < 60)).then(seconds)
    if kind == "iso":
        year, month, day_of = number(1), number(2), number(3)
        hour, minute, second, zone = number(4), number(5), number(6), groups["7"]
    else:
        first, second_ = number(1), number(2)
        day_of, month = (second_, first) if order == "mdy" else (first, second_)
        year = number(3) + pl.when(number(3) < 100).then(2000).otherwise(0)
        hour, minute, second, zone = of_day(number(4), 7), number(5), number(6), pl.lit(None, pl.String)
    text = pl.format(
        "{}-{}-{}",
        year.cast(pl.Int32, strict=False),
        month.cast(pl.Int32, strict=False),
        day_of.cast(pl.Int32, strict=False),
    )
    days = text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32, strict=False).cast(pl.Float64)
    at = days * 86400 + hour * 3600 + minute * 60 + second.fill_null(0)
    sign = pl.when(zone.str.starts_with("-")).then(-1).otherwise(1)
    offset = (
        zone.str.extract(r"([0-9]{2}):?[0-9]{2}$").cast(pl.Float64) * 3600
        + zone.str.extract(r"([0-9]{2})$").cast(pl.Float64) * 60
    )
    return pl.when((hour < 24) & (minute < 60)).then(at - sign * offset.fill_null(0))
