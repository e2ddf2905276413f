"""Damage to a tool's output on its way into a room: each damage is a function of the lines of a sample.

A damage returns the damaged lines, or None if it cannot happen to this sample. What a sample must have for it is
declared with it and printed in the table of damages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

Lines = list[str]


@dataclass(frozen=True)
class Anatomy:
    """A sample's lines and their parts.

    `head`: number of lines before the first row. `rows`: first and last line of each row, from 0. `figures`: measured
    values, by line. `timed`: whether rows have a time. `boot`: whether a row counts since boot.
    """

    lines: Lines
    head: int
    rows: tuple[tuple[int, int], ...]
    figures: dict[int, set[float]]
    timed: bool
    boot: bool

    @property
    def middle(self) -> int:
        """Return the line nearest to the middle on which a row begins and no other row continues."""
        inside = {n for first, last in self.rows for n in range(first + 1, last + 1)}
        free = sorted({first for first, _ in self.rows[1:]} - inside)
        return free[len(free) // 2] if free else len(self.lines)


@dataclass(frozen=True)
class Damage:
    """A damage and its exceptions.

    `told`: kinds of notes, one of which must be present. `exempt`: lines of the sample whose rows may be lost or cut.
    """

    name: str
    words: str
    needs: str
    work: Callable[[Anatomy], Lines | None]
    told: tuple[str, ...] = ()
    exempt: Callable[[Anatomy], set[int]] = lambda sample: set()
    twice: bool = False
    """Rows are doubled, so of two equal settings the other one may be active."""
    undated: bool = False
    """The line with the date may be lost, so only times of day are compared."""
    clock: bool = False
    """Stamps are changed, so rows are matched by their other values."""
    cell: bool = False
    """One value of an exempt row is changed."""
    nulls: bool = False
    """Values may be NULL without a note, because the line that would carry it is missing."""
    plain: Callable[[str], str] = str
    """Removes from a text what the damage changes in texts, so that the rest can be compared."""


DAMAGES: list[Damage] = []


def damage(words: str, needs: str, **more: object) -> Callable[[Callable[[Anatomy], Lines | None]], None]:
    def add(work: Callable[[Anatomy], Lines | None]) -> None:
        DAMAGES.append(Damage(work.__name__, words, needs, work, **more))  # type: ignore[arg-type]  # fields of Damage

    return add


def _each(sample: Anatomy, change: Callable[[str], str]) -> Lines | None:
    done = [change(line) for line in sample.lines]
    return None if done == sample.lines else done


# --- blanks and line ends ---------------------------------------------------------------------------------------------


@damage("lost newlines", "more than one line", undated=True)
def flattened(sample: Anatomy) -> Lines | None:
    return [" ".join(" ".join(sample.lines).split())] if len(sample.lines) > 1 else None


@damage("lost leading blanks and tabs", "a line that begins with a blank")
def unindented(sample: Anatomy) -> Lines | None:
    return _each(sample, str.lstrip)


@damage("collapsed blanks", "several blanks or a tab in a row")
def collapsed(sample: Anatomy) -> Lines | None:
    return _each(sample, lambda line: " ".join(line.split()))


def _hard(width: int) -> Callable[[Anatomy], Lines | None]:
    def cut(sample: Anatomy) -> Lines | None:
        if all(len(line) <= width for line in sample.lines):
            return None
        return [line[at : at + width] for line in sample.lines for at in range(0, max(len(line), 1), width)]

    return cut


def _soft(sample: Anatomy) -> Lines | None:
    """Wrap lines as a mail program does: at the last blank before column 72."""
    done: Lines = []
    for line in sample.lines:
        while len(line) > 72 and line.rfind(" ", 1, 73) > len(line) - len(line.lstrip()):
            at = line.rfind(" ", 1, 73)
            done.append(line[:at])
            line = line[at + 1 :]
        done.append(line)
    return None if done == sample.lines else done


for _width in (72, 80):
    DAMAGES.append(
        Damage(f"wrapped_{_width}", f"wrapped lines at {_width} columns", f"a line longer than {_width}", _hard(_width))
    )
DAMAGES.append(Damage("wrapped_softly", "wrapped at a blank before column 72", "a line longer than 72", _soft))


# --- lines too many and too few ---------------------------------------------------------------------------------------


def _filler(mark: str) -> Callable[[Anatomy], Lines | None]:
    def put(sample: Anatomy) -> Lines | None:
        at = sample.middle
        return [*sample.lines[:at], mark, *sample.lines[at:]] if at < len(sample.lines) else None

    return put


def _without_marks(text: str) -> str:
    return re.sub(r"\. ?\. ?\.|\[\.\.\.\]|\(snip\)", "", text)


for _name, _mark in (("dots", ". . ."), ("brackets", "[...]"), ("snip", "(snip)")):
    DAMAGES.append(
        Damage(
            f"filler_{_name}",
            f"filler `{_mark}`",
            "two rows",
            _filler(_mark),
            told=("elided", "damaged"),
            plain=_without_marks,
        )
    )


@damage("doubled lines", "five different lines: fewer a tool may well say twice")
def doubled(sample: Anatomy) -> Lines | None:
    if len(set(sample.lines)) < 5:
        return None
    return [line for line in sample.lines for _ in range(2)]


@damage("missing header", "lines in front of the first row", undated=True, nulls=True)
def headless(sample: Anatomy) -> Lines | None:
    return sample.lines[sample.head :] if sample.head else None


@damage("header repeated in the middle", "lines in front of the first row, and two rows", twice=True)
def headed_again(sample: Anatomy) -> Lines | None:
    """Repeat the lines above the first row before the last of the consecutive rows below them."""
    at = sample.head
    free = {first for first, _ in sample.rows} - {n for first, last in sample.rows for n in range(first + 1, last + 1)}
    while at + 1 in free:
        at += 1
    if not sample.head or at == sample.head:
        return None
    return [*sample.lines[:at], *sample.lines[: sample.head], *sample.lines[at:]]


def _ends(sample: Anatomy) -> set[int]:
    last = len(sample.lines) - 1
    return {n for first, end in sample.rows for n in range(first, end + 1) if first == 0 or end == last} | {0, last}


@damage("cut first and last line", "two lines", exempt=_ends, undated=True)
def cut(sample: Anatomy) -> Lines | None:
    first, last = sample.lines[0], sample.lines[-1]
    if len(sample.lines) < 2:
        return None
    return [first[len(first) // 2 :], *sample.lines[1:-1], last[: len(last) // 2]]


OPEN_ENDED = ("cut",)
"""Damages that also remove the end of the last line."""


@damage("two writers in one file", "two rows")
def interleaved(sample: Anatomy) -> Lines | None:
    """Insert another program's lines between the rows, as `tool >> log & other >> log` does."""
    foreign = _FOREIGN_TABLE if re.search(r"\bsy +id\b|\bsy +cs +us\b", " ".join(sample.lines)) else _FOREIGN_NUMBERS
    rows = sorted({first for first, _ in sample.rows})[1:]
    if not rows:
        return None
    inside = {n for first, last in sample.rows for n in range(first + 1, last + 1)}
    done: Lines = []
    left = list(foreign)
    for number, line in enumerate(sample.lines):
        if left and number in rows and number not in inside:
            done.append(left.pop(0))
        done.append(line)
    return done


_FOREIGN_NUMBERS = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----",
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st",
    " 1  0      0 515068 102520 809384    0    0     3     5   49   98  1  0 99  0  0",
    " 0  0      0 515052 102520 809384    0    0     0     0   82  166  0  1 99  0  0",
    " 2  0      0 515044 102528 809384    0    0     0    28   94  181  2  1 96  1  0",
)
_FOREIGN_TABLE = (
    "CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl",
    "  0    1   0   27   300  100  400   10    5    3    0   500   10   5   0  85",
    "  1    2   0   28   301  101  401   11    6    4    0   501   11   5   0  84",
)


# --- columns ----------------------------------------------------------------------------------------------------------


@damage("column order changed by version", "a header with one word for each column")
def reordered(sample: Anatomy) -> Lines | None:
    """Swap two neighbouring columns in the header and in all rows with the same number of words."""
    starts = {first for first, last in sample.rows}
    for at in range(len(sample.lines) - 1):
        names = sample.lines[at].split()
        if at in starts or len(names) < 4 or not all(re.match(r"[%A-Za-z]", n) for n in names):
            continue
        heads = {n for n, line in enumerate(sample.lines) if line == sample.lines[at]}
        under = []
        for head in heads:
            rest = range(head + 1, len(sample.lines))
            under += [n for n in rest if n in starts and not any(head < other < n for other in heads)]
        rows = [sample.lines[n].split() for n in under]
        text_last = names[-1] in ("CMD", "COMMAND", "ARGS", "Mapping")
        if len(rows) < 2 or min(under) > at + 2 or any(len(row) < len(names) for row in rows):
            continue
        if not text_last and any(len(row) != len(names) for row in rows):
            continue
        numeric = [all(re.fullmatch(r"[0-9]+", row[c]) for row in rows) for c in range(len(names))]
        alone = [names.count(name) == 1 for name in names]
        pairs = [c for c in range(1, len(names) - 1) if alone[c] and alone[c + 1] and numeric[c] and numeric[c + 1]]
        pair = next((c for c in pairs if any(row[c] != row[c + 1] for row in rows)), None)
        if pair is not None:
            return [_swapped(line, pair) if n in heads or n in under else line for n, line in enumerate(sample.lines)]
    return None


def _swapped(line: str, at: int) -> str:
    """Swap two words; both end where columns of numbers end."""
    words = [(m.start(), m.end()) for m in re.finditer(r"\S+", line)]
    (a, b), (c, d) = words[at], words[at + 1]
    begin = words[at - 1][1] if at else 0
    one, two = line[a:b], line[c:d]
    return line[:begin] + " " + two.rjust(b - begin - 1) + " " + one.rjust(d - b - 1) + line[d:]


# --- numbers ----------------------------------------------------------------------------------------------------------


def _is_parted_by_commas(sample: Anatomy) -> bool:
    """Decide whether numbers may be written in another way: JSON and comma-separated lists have only one."""
    return any(re.search(r"\w,\w*,\w|^[\t ]*[{\"]", line) for line in sample.lines[: sample.head + 3])


def _without_signs(text: str) -> str:
    return re.sub(r"(?<=[0-9])[.,](?=[0-9])", "", text)


_POINT = re.compile(r"(?<![\w.:/-])([0-9]+)\.([0-9]+)(?![\w.:/-])")
_LARGE = re.compile(r"(?<![\w.:/,<-])([1-9][0-9]{3,11})(?![\w.:/,>-])")


@damage("decimal comma", "a number with a decimal point in a text that commas do not part", plain=_without_signs)
def decimal_comma(sample: Anatomy) -> Lines | None:
    if _is_parted_by_commas(sample):
        return None
    return _each(sample, lambda line: _POINT.sub(r"\1,\2", line))


def _grouped(sign: str) -> Callable[[Anatomy], Lines | None]:
    def group(sample: Anatomy) -> Lines | None:
        """Change measured values only: no program separates the digits of an identifier."""
        if _is_parted_by_commas(sample):
            return None
        done = []
        for number, line in enumerate(sample.lines):
            figures = sample.figures.get(number, set())

            if sign == ".":
                # Points between thousands go with a decimal comma.
                line = _POINT.sub(r"\1,\2", line)

            def parted(m: re.Match[str], figures: set[float] = figures) -> str:
                return f"{int(m[1]):,}".replace(",", sign) if float(m[1]) in figures else m[0]

            done.append(_LARGE.sub(parted, line))
        return None if done == sample.lines else done

    return group


_MEASURED = "a measured number above 999 in a text that commas do not part"
DAMAGES.append(Damage("thousands", "thousands separators `1,234`", _MEASURED, _grouped(","), plain=_without_signs))
DAMAGES.append(
    Damage("thousands_points", "thousands separators `1.234`", _MEASURED, _grouped("."), plain=_without_signs)
)


def _cell(sample: Anatomy, text: str) -> Lines | None:
    """Replace the last measured number above 1 (`Anatomy.figures`) of the middle row by `text`."""
    at = sample.middle if sample.middle < len(sample.lines) else (sample.rows[-1][0] if sample.rows else -1)
    if at < 0:
        return None
    numbers = re.finditer(r"(?<!\S)[0-9]+(?!\S)", sample.lines[at])
    found = [m for m in numbers if float(m.group()) > 1 and float(m.group()) in sample.figures.get(at, ())]
    if not found:
        return None
    place = found[-1]
    line = sample.lines[at]
    done = line[: place.start()] + text.rjust(place.end() - place.start()) + line[place.end() :]
    return [*sample.lines[:at], done, *sample.lines[at + 1 :]]


def _middle_row(sample: Anatomy) -> set[int]:
    at = sample.middle if sample.middle < len(sample.lines) else (sample.rows[-1][0] if sample.rows else -1)
    return {at}


for _name, _words, _text in (
    ("wrapped_counter", "a counter that wrapped", "18446744073709551613"),
    ("negative", "a negative value", "-268"),
    ("dash", "a `-` for a value", "-"),
):
    DAMAGES.append(
        Damage(
            _name,
            _words,
            "a whole number that was measured",
            partial(_cell, text=_text),
            exempt=_middle_row,
            cell=True,
            nulls=_name == "dash",
        )
    )


# --- clocks -----------------------------------------------------------------------------------------------------------

_TIME = re.compile(r"(?<![\w:.,/-])([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?![\w:]| ?[AaPp][Mm])")
_DATED = re.compile(
    r"(?:\b[A-Z][a-z]{2} +[0-9]{1,2}|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[/.-][0-9A-Za-z]{2,3}[/.-][0-9]{2,4})\b.{0,3}$"
)
_MONTHS = {
    "Jan": "Jän", "Feb": "Févr", "Mar": "Mär", "Apr": "Avr", "May": "Mai", "Jun": "Giu", "Jul": "Lug", "Aug": "Août", "Sep": "Set", "Oct": "Okt",
    "Nov": "Noviembre", "Dec": "Dez",
}  # fmt: skip
_DAYS = {"Mon": "Mo", "Tue": "Di", "Wed": "mié", "Thu": "jeu", "Fri": "ven", "Sat": "Sa", "Sun": "dim"}


def _without_names(text: str) -> str:
    return re.sub("|".join([*_MONTHS, *_MONTHS.values(), *_DAYS, *_DAYS.values()]), "", text)


@damage("localized months", "a month's name", plain=_without_names)
def foreign_months(sample: Anatomy) -> Lines | None:
    return _each(
        sample,
        lambda line: re.sub(
            r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b(?=[ -]+[0-9]|-)", lambda m: _MONTHS[m[1]], line
        ),
    )


@damage("localized days of the week", "a day's name", plain=_without_names)
def foreign_days(sample: Anatomy) -> Lines | None:
    return _each(sample, lambda line: re.sub(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b(?=,? )", lambda m: _DAYS[m[1]], line))


@damage("localized words", "a word of the tool that systems translate", plain=lambda text: "")
def foreign_words(sample: Anatomy) -> Lines | None:
    words = {
        "Average:": "Durchschn.:", "time elapsed": "Zeit vergangen", "bytes from": "Bytes von", "Command being timed": "Gemessenes Kommando",
        "total": "gesamt", "Killed": "Getötet", "No such file or directory": "Datei oder Verzeichnis nicht gefunden",
        "Resource temporarily unavailable": "Die Ressource ist zur Zeit nicht verfügbar", "real\t": "reell\t",
    }  # fmt: skip

    def spoken(line: str) -> str:
        for word, foreign in words.items():
            line = line.replace(word, foreign)
        return line

    return _each(sample, spoken)


def _without_times(text: str) -> str:
    return re.sub(r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}( ?[AP]M)?", "", text)


@damage("12-hour clock", "a time of day with seconds", plain=_without_times)
def twelve_hours(sample: Anatomy) -> Lines | None:
    if not sample.timed:
        return None

    def spoken(m: re.Match[str]) -> str:
        hour = int(m[1])
        return f"{hour % 12 or 12:02d}:{m[2]}:{m[3]} {'PM' if hour >= 12 else 'AM'}"

    return _each(sample, lambda line: _TIME.sub(spoken, line))


def _shifted(lines: Sequence[str], seconds: int, *, since: int) -> Lines:
    def later(m: re.Match[str]) -> str:
        at = (int(m[1]) * 3600 + int(m[2]) * 60 + int(m[3]) + seconds) % 86400
        return f"{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"

    return [_TIME.sub(later, line) if n >= since else line for n, line in enumerate(lines)]


def _times(sample: Anatomy) -> list[tuple[int, int]]:
    """Return line and second of the day of each stamp at a row or before rows."""
    if not sample.timed:
        return []
    return [
        (n, int(m[1]) * 3600 + int(m[2]) * 60 + int(m[3]))
        for n, line in enumerate(sample.lines)
        for m in [_TIME.search(line)]
        if m
    ]


@damage(
    "the hour that clocks are set back",
    "two times of day with seconds",
    clock=True,
    told=("remark",),
    plain=_without_times,
)
def set_back(sample: Anatomy) -> Lines | None:
    """Move all stamps to between 2:00 and 3:00; from the middle of the text on, the same hour comes again."""
    times = _times(sample)
    if (
        len({t for _, t in times}) < 2
        or times[-1][1] - times[0][1] > 1800
        or any(b < a for (_, a), (_, b) in pairwise(times))
    ):
        return None
    moved = _shifted(sample.lines, 2 * 3600 + 1800 - times[0][1], since=0)
    return _shifted(moved, -3600, since=times[len(times) // 2][0])


@damage("leap into a new day", "two times of day without a date", clock=True, plain=_without_times)
def new_day(sample: Anatomy) -> Lines | None:
    times = _times(sample)
    stamped = [(sample.lines[n], m) for n, _ in times for m in [_TIME.search(sample.lines[n])] if m]
    behind = r" *[A-Z]{3,4} +[0-9]{4}|,? [A-Z][a-z]{2} "
    dated = any(_DATED.search(line[: m.start()]) or re.match(behind, line[m.end() :]) for line, m in stamped)
    if (
        len({t for _, t in times}) < 2
        or times[-1][1] - times[0][1] > 43200
        or any(b < a for (_, a), (_, b) in pairwise(times))
        or dated
    ):
        return None
    return _shifted(sample.lines, 86400 - times[len(times) // 2][1], since=0)


@damage("the trace starts again", "a second run below the first", twice=True, clock=True)
def restarted(sample: Anatomy) -> Lines | None:
    return [*sample.lines, *sample.lines]


@damage("the first sample since boot", "a first sample that the tool counts since boot")
def since_boot(sample: Anatomy) -> Lines | None:
    """Return the text unchanged: no other sample may be taken for one since boot."""
    return list(sample.lines) if sample.boot else None
