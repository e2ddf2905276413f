"""Mask secrets (passwords, accounts, keys) in tables, notes and quotes with asterisks of the same length.

Only the original file keeps them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from parsers.secrets.views import plain_of

SECRETS = pl.Schema({"line_no": pl.Int64(), "from": pl.Int64(), "to": pl.Int64(), "kind": pl.String()})
"""Columns of secrets: half-open character ranges within the decoded line."""

SHORT = 4
"""Minimum length of a piece of a secret that is masked elsewhere in its row too: shorter ones would erase numbers and
words.
"""

LONGEST = 1024
"""Maximum length of a secret that is searched for in all rows of the run; a longer one is masked in its own lines only."""

MANY = 2_000_000
"""Secrets times characters from which they are searched for all at once."""

_MADE_UP = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])\S.{5,}\Z", re.DOTALL)
_LONG = 20
_TRIM = " \t:;,.)(/\"'"
_WORD = re.compile(r"[\w.-]+")
_PIECE = re.compile(r"[^\s:;,/()\"'=@&\\]+")


def distinctive(secret: str) -> bool:
    """Decide whether a secret is not an ordinary word or number, so that its text can be masked wherever it occurs.

    >>> distinctive("t1ger9"), distinctive("tiger"), distinctive("linux"), distinctive("20131202")
    (True, False, False, False)
    """
    return bool(_MADE_UP.match(secret)) or (len(secret) >= _LONG and not secret.replace(" ", "").isdigit())


def forms_of(secret: str) -> set[str]:
    """Return the forms in which tables may hold a secret: unchanged, without a buffer's blanks or escapes, trimmed."""
    forms = {secret, secret.strip(_TRIM)}
    # In a buffer of truss, a blank stands before each character; tables hold it without.
    if len(secret) > 2 and set(secret[1::2]) == {" "}:
        forms.add(secret[::2])
    if "\\" in secret or "%" in secret:
        forms |= {plain_of(form) for form in list(forms)}
    return {form for form in forms if form}


def pieces_of(secret: str) -> set[str]:
    """Return the pieces into which a format may have split a secret at its punctuation, also in lower case.

    They are masked only in rows of the secret's own lines.
    """
    pieces = {piece for form in forms_of(secret) for piece in _PIECE.findall(form) if len(piece) >= SHORT}
    return pieces | {piece.lower() for piece in pieces}


def mask_text(text: str, spans: list[tuple[int, int]]) -> str:
    """Mask half-open character ranges with asterisks.

    >>> mask_text("user=scott", [(5, 10)])
    'user=*****'
    """
    pieces, at = [], 0
    for begin, end in sorted(spans):
        begin, end = max(begin, at), min(end, len(text))
        if end > begin:
            pieces += [text[at:begin], "*" * (end - begin)]
            at = end
    return "".join((*pieces, text[at:]))


class Masks:
    """Secrets found in one block run; masks them in everything that is stored."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, int, int, str]] = []
        self._places: list[pl.DataFrame] = []
        self._everywhere: dict[str, str] = {}
        self._in_line: dict[int, set[str]] = {}
        self._plain: dict[int, set[str]] = {}
        """By line: ordinary words that are a secret at one place of the line but not at others, such as the login
        `oracle`.
        """
        self._short: dict[int, str] = {}
        """Lines with a secret that is too short to search for alone; in carried state it is found with the words around
        it.
        """
        self._reach: dict[int, tuple[int, int]] = {}
        """By line: where its first secret begins and its last one ends."""
        self._words: tuple[str, dict[str, list[int]]] = "", {}
        """The line of the last recorded secret, and where its words begin."""

    def __bool__(self) -> bool:
        return bool(self.spans)

    def keep(self, line_no: int, begin: int, end: int, kind: str, line: str, *, everywhere: bool = True) -> None:
        """Record a secret at characters [begin, end) of `line`.

        Its text is masked in the rows of its line and, unless it is an ordinary word or a person's name, in all rows of
        the run.
        """
        secret = line[begin:end]
        self._found(line_no, begin, end, kind)
        if not secret:
            return
        if len(secret) < SHORT:
            self._short[line_no] = line
        for form in forms_of(secret):
            if everywhere and distinctive(form) and len(form) <= LONGEST:
                self._everywhere[form] = "*" * len(form)
        self._in_line.setdefault(line_no, set()).update(forms_of(secret) | (pieces_of(secret) if everywhere else set()))
        if not distinctive(secret) and self._stands_elsewhere(secret, begin, end, line):
            self._plain.setdefault(line_no, set()).add(secret)

    def _found(self, line_no: int, begin: int, end: int, kind: str) -> None:
        self.spans.append((line_no, begin, end, kind))
        first, last = self._reach.get(line_no, (begin, end))
        self._reach[line_no] = min(first, begin), max(last, end)

    def _stands_elsewhere(self, secret: str, begin: int, end: int, line: str) -> bool:
        """Decide whether a secret is also a word of its line outside of [begin, end); a line may hold thousands."""
        if self._words[0] != line:
            words: dict[str, list[int]] = {}
            for word in _WORD.finditer(line):
                words.setdefault(word[0], []).append(word.start())
            self._words = line, words
        places = self._words[1].get(secret, ())
        if places and (places[0] + len(secret) <= begin or places[-1] >= end):
            return True
        # A word that touches the secret is found only if the line is split at the ends of the secret.
        around = len(secret) + 1
        before, behind = line[max(begin - around, 0) : begin], line[end : end + around]
        return secret in (*_WORD.findall(before)[-1:], *_WORD.findall(behind)[:1])

    def keep_torn(self, places: list[tuple[int, int, int]], kind: str, secret: str) -> None:
        """Record a secret that a line break has split; rows of these lines hold it whole.

        `places` (line_no, from, to) are its pieces.
        """
        for line_no, begin, end in places:
            self._found(line_no, begin, end, kind)
            self._in_line.setdefault(line_no, set()).update(forms_of(secret))

    @property
    def found(self) -> bool:
        return bool(self.spans or self._places)

    def keep_places(self, frame: pl.DataFrame) -> None:
        """Record secrets that are masked where they stand and nowhere else; columns as in `SECRETS`."""
        if len(frame):
            self._places.append(frame.select_seq(pl.col(c).cast(t) for c, t in SECRETS.items()))

    def by_place(self, lines: dict[int, str]) -> dict[int, str]:
        """Mask the secrets of lines, which are given by number, at their recorded places."""
        if not self.found or not lines:
            return lines
        spans: dict[int, list[tuple[int, int]]] = {}
        for number, begin, end, _ in self.spans:
            if number in lines:
                spans.setdefault(number, []).append((begin, end))
        for places in self._places:
            for number, begin, end in places.filter(pl.col("line_no").is_in(list(lines)))[
                "line_no", "from", "to"
            ].iter_rows():
                spans.setdefault(number, []).append((begin, end))
        return lines | {number: mask_text(lines[number], found) for number, found in spans.items()}

    def in_lines(self, first: int, last: int, text: str) -> str:
        few = range(first, last + 1) if last - first < len(self._in_line) else sorted(self._in_line)
        bound = [self._in_line[number] for number in few if first <= number <= last and number in self._in_line]
        return _starred(text, set(self._everywhere).union(*bound)) or "" if self._everywhere or bound else text

    def apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        longest_first = sorted(self._everywhere, key=len, reverse=True)
        if longest_first:
            stars = [self._everywhere[s] for s in longest_first]
            for name, dtype in frame.schema.items():
                if dtype == pl.String:
                    frame = frame.with_columns_seq(pl.col(name).str.replace_many(longest_first, stars, leftmost=True))
                elif dtype == pl.List(pl.String):
                    inner = pl.element().str.replace_many(longest_first, stars, leftmost=True)
                    frame = frame.with_columns_seq(pl.col(name).list.eval(inner))
        return self._by_line(frame) if self._in_line and len(frame) else frame

    def _by_line(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Mask secrets that belong to single lines; only the few rows with such lines are processed in Python."""
        lines = np.array(sorted(self._in_line))
        first = np.searchsorted(lines, frame["line_no"].to_numpy(), "left")
        behind = np.searchsorted(lines, frame["line_end"].to_numpy(), "right")
        touched = np.flatnonzero(behind > first)
        if not len(touched):
            return frame
        rows = frame[touched]
        held = [lines[first[i] : behind[i]] for i in touched]
        secrets = [set().union(*(self._in_line[n] for n in numbers)) for numbers in held]
        plain = [set().union(*(self._plain.get(n, ()) for n in numbers)) for numbers in held]
        for name, dtype in frame.schema.items():
            if dtype == pl.String:
                cells = zip(rows[name], secrets, plain, strict=True)
                masked: list[Any] = [v if v in p else _starred(v, s) for v, s, p in cells]
            elif dtype == pl.List(pl.String):
                many = zip(rows[name].to_list(), secrets, strict=True)
                masked = [None if v is None else [_starred(x, s) for x in v] for v, s in many]
            else:
                continue
            frame = frame.with_columns_seq(_put(frame[name], touched, masked))
        return frame

    def apply_json(self, value: Any) -> Any:
        """Mask secrets in all texts and keys of a JSON value (a format's state, facts), which may carry lines.

        An ordinary word is left where it is the whole text, since it then is a word of the format itself.
        """
        bound = {s for secrets in self._in_line.values() for s in secrets if len(s) >= SHORT}
        short = dict(filter(None, (self._surrounded(number, line) for number, line in self._short.items())))
        return _without(value, set(self._everywhere), bound, short) if self._everywhere or bound or short else value

    def _surrounded(self, number: int, line: str) -> tuple[str, str] | None:
        """Return the words of a line from its first to its last secret, and the same words masked."""
        first, last = self._reach[number]
        before, behind = line[:first].split(" ")[-1], line[last:].split(" ", 1)[0]
        piece = f"{before}{line[first:last]}{behind}"
        masked = _starred(piece, self._in_line[number]) or ""
        return (piece, masked) if len(piece) >= SHORT else None

    def frame(self) -> pl.DataFrame:
        single = pl.DataFrame(self.spans, schema=SECRETS, orient="row").unique(maintain_order=True)
        return pl.concat([single, *self._places], rechunk=False)


def _without(value: Any, secrets: set[str], bound: set[str], short: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for piece, masked in short.items():
            value = value.replace(piece, masked)
        return _starred(value, secrets if value in bound else secrets | bound)
    if isinstance(value, list):
        return [_without(v, secrets, bound, short) for v in value]
    if isinstance(value, dict):
        return {_without(k, secrets, bound, short): _without(v, secrets, bound, short) for k, v in value.items()}
    return value


def _starred(text: str | None, secrets: set[str]) -> str | None:
    if text is None:
        return None
    if len(secrets) * len(text) > MANY:
        return _starred_at_once(text, secrets)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "*" * len(secret))
    return text


def _starred_at_once(text: str, secrets: set[str]) -> str:
    """Mask thousands of secrets in one pass over the text."""
    one, words = pl.Series([text]), list(secrets)
    begins = one.str.find_many(words, overlapping=True).explode().to_list()  # in bytes
    found = one.str.extract_many(words, overlapping=True).explode().to_list()
    raw = text.encode()
    hidden = np.zeros(len(raw) + 1, dtype=np.int64)
    for begin, secret in zip(begins, found, strict=True):
        if secret is not None:
            hidden[begin] += 1
            hidden[begin + len(secret.encode())] -= 1
    covered = np.cumsum(hidden)[:-1] > 0
    starts = np.flatnonzero((np.frombuffer(raw, dtype=np.uint8) & 0xC0) != 0x80)  # the first byte of each character
    return "".join("*" if hide else char for char, hide in zip(text, covered[starts].tolist(), strict=True))


def _put(column: pl.Series, at: npt.NDArray[np.int64], values: list[Any]) -> pl.Series:
    """Replace elements of a column."""
    new = pl.DataFrame({"at": at, "new": pl.Series(values, dtype=column.dtype), "hit": True})
    both = pl.DataFrame({"at": np.arange(len(column)), "old": column}).join(
        new, on="at", how="left", maintain_order="left"
    )
    return both.select_seq(pl.when("hit").then("new").otherwise("old").alias(column.name)).to_series()
