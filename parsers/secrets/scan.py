"""Find secrets in any text by their shape or by the word in front of them, where no format knows of them.

Passes over whole columns select the few lines that may hold one (some 3 ms a MB), and only those are searched in
Python. The patterns of secrets are in `parsers/secrets/words.py`; other forms of text (spaced buffers, escapes, dumps)
are in `parsers/secrets/views.py`.

Words that look like secrets but are none stay: `passwd: files ldap` of nsswitch.conf, PWD and OLDPWD of an environment,
`remote_login_passwordfile = EXCLUSIVE`, PASSWORD_LIFE_TIME.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise

import numpy as np
import polars as pl

from parsers.secrets import connect_descriptors
from parsers.secrets.masks import LONGEST, distinctive, mask_text
from parsers.secrets.views import DUMP, ESCAPED_WORDS, SPACED, dump_row, joined, row_text, views
from parsers.secrets.words import CLOSER, HASHED, MADE_UP, PREFIXES, SERVICES, SHAPES, WORDS, Span, in_text
from parsers.text.dress import FEW
from parsers.text.inline_polars import where

GROUPED = r"[3-6][0-9]{3}[ -][0-9]{4}[ -][0-9]{4}[ -][0-9]"
QUOTED = r"\"(?:[3-6][0-9]{12,18}\\?\"|[^\"]*[3-6](?: [0-9]){12})"
LITERAL = r"'[3-6][0-9]{12,18}'"
MAILS = r"[A-Za-z0-9]@[A-Za-z0-9][A-Za-z0-9-]*\.[A-Za-z]"
LOGINS = r"://[^\s/@:]+:[^\s/@]+@|/[^\s/@\"'=:]{1,60}@[A-Za-z/(]|/ (?:[^ \"] ){1,60}@| @ [A-Za-z0-9]"

OF_ITS_LINE = frozenset({"person", "user"})
"""Kinds of secrets that are masked in their own line only: a name is often an ordinary word."""

_SHAPE = re.compile(f"{SHAPES}|{HASHED}")
_ROW = re.compile(DUMP)
_LOGIN = re.compile(f"{LOGINS}|{MAILS}")
_LOWER = [word.lower() for word in WORDS]
_SERVICE = rf"\b(?:{'|'.join(SERVICES)})@"
_DESCRIPTOR = ["(user=", "oradiag_", "clients/user_"]
_HEADS = "|".join(map(re.escape, PREFIXES))
_BEGIN, _END = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY"), re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
_BASE64 = re.compile(r"[A-Za-z0-9+/=]{8,}|Proc-Type:|DEK-Info:|[A-Za-z0-9+/]{2,}={1,2}$")
_KEY_RUN = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}|[A-Za-z0-9+/=]+$")
_KEY_LINES = 400
_WINDOW, _OVERLAP = 4096, 512
_WIDTHS = frozenset({72, 76, 78, 79, 80, 100, 120, 132})
"""Line lengths at which a terminal or an editor may have broken a line within a word."""
_OPEN = re.compile(r"(?:identified[ \t]+by(?:[ \t]+values)?|passw(?:or)?d[\"']?[ \t]*[=:])[ \t]*$", re.IGNORECASE)
_TOKEN = re.compile(r"[ \t]*[\"']?([^\s\"'`,;()&|<>{}@]{1,200})")
_KEYWORD = 24
"""Maximum length of a keyword."""
_IS_WIDTH = np.isin(np.arange(max(_WIDTHS) + 2), sorted(_WIDTHS))
_AGAIN = 200
"""Maximum number of secrets of a run that are searched for elsewhere in it."""


def _words(names: bool) -> list[str]:
    return [*WORDS, *_DESCRIPTOR] if names else WORDS


_PAIRS = sorted({word[at : at + 2].lower() for word in _words(True) for at in range(len(word) - 1)})
"""Neighbours within a keyword: the characters above and below a break that has split one."""


@cache
def _any_of(names: bool) -> str:
    """Return one pattern for all that the first pass searches: one pass takes a third of the time of six."""
    words = "|".join(map(re.escape, _words(names)))
    escaped = "|".join(map(re.escape, ESCAPED_WORDS))
    return f"(?i-u:{words})|{escaped}|{_HEADS}|{GROUPED}|{QUOTED}|{LITERAL}|{HASHED}|@"


_SPACED_PERHAPS = r"^[ \t]{2,8}[!-~]?(?: [!-~]|  |\\[0-9A-Za-z]|[0-9A-F]{2})*$"
"""Matches every line that `SPACED` matches, and some more; in Python `SPACED` would backtrack over its pairs of
letters.
"""

_CARD_OR_DUMP = re.compile(f"{GROUPED}|{QUOTED}|{LITERAL}|{HASHED}|{DUMP}|{_SPACED_PERHAPS}", re.MULTILINE)


def _is_harmless(lines: list[str], names: bool) -> bool:
    """Decide whether the passes over these lines can find nothing; takes microseconds, the passes take milliseconds.

    It may return False for harmless lines, but never True for others.
    """
    text = "\n".join(lines)
    if "@" in text or _CARD_OR_DUMP.search(text):
        return False
    seams = (
        f"{line[-_KEYWORD:]}{' ' * line.endswith('IDENTIFIED')}{below[:_KEYWORD]}"
        for line, below in pairwise(lines)
        if line.endswith("IDENTIFIED") or len(line.encode()) in _WIDTHS
    )
    lower = "\n".join((text, *seams)).lower()
    words = (*_LOWER, *_DESCRIPTOR) if names else _LOWER
    return not any(word in lower for word in words) and not any(sign in text for sign in (*PREFIXES, *ESCAPED_WORDS))


class Scanner:
    """Searches a text block by block; a private key that began in one block continues in the next.

    `names`: search names in connect descriptors too.
    """

    def __init__(self, key_lines: int = 0, *, names: bool = True) -> None:
        self.key_lines = key_lines
        """Number of lines of the current private key so far, 0 outside of one. This is the only state."""
        self.names = names
        self._words = _words(names)
        self.known: dict[str, str] = {}
        """Secrets that are no ordinary words, with their kinds: from now on they are masked wherever they stand."""

    def scan(self, frame: pl.DataFrame) -> Iterator[tuple[int, int, int, str]]:
        """Yield (line_no, from, to, kind) of each secret in a data frame with line_no and line; positions in
        characters.
        """
        if frame.is_empty():
            return
        if (
            len(frame) <= FEW
            and not self.key_lines
            and not self.known
            and _is_harmless(frame["line"].to_list(), self.names)
        ):
            return
        first, lines = int(frame["line_no"][0]), frame["line"]
        seen = set()
        for number, begin, end, kind in self._scan(frame):
            yield number, begin, end, kind
            seen.add((number, begin, end))
            secret = lines[number - first][begin:end]
            if kind not in OF_ITS_LINE and len(self.known) < _AGAIN and len(secret) <= LONGEST and distinctive(secret):
                self.known.setdefault(secret, kind)
        if self.known:
            yield from (found for found in self._again(frame) if found[:3] not in seen)

    def _scan(self, frame: pl.DataFrame) -> Iterator[tuple[int, int, int, str]]:
        hits, rows, near = self._hits(frame)
        begins = [int(n) for n, line in hits.iter_rows() if _BEGIN.search(line)]
        yield from self._keys(frame, begins)
        following: list[tuple[int, str]] = []
        for number, line in hits.iter_rows():
            last = 0
            for begin, end, kind in spans(line, names=self.names):
                yield number, begin, end, kind
                last = end
            if (last == len(line) and last in _WIDTHS) or _OPEN.search(line):
                following.append((number, line))
        yield from _wrapped(frame, following)
        yield from self._torn(frame, near)
        yield from _dumped(frame, rows, self.names)

    def _torn(self, frame: pl.DataFrame, near: pl.Series) -> Iterator[tuple[int, int, int, str]]:
        """Yield secrets whose keyword a break has split: `passw` at the end of a line of a usual width, `ord=...`
        below.
        """
        for number, line, next_line, _, blank in self._seams(frame, near).iter_rows():
            if _begins_alike(line, next_line) or _ROW.match(next_line):
                continue
            behind = len(line) + len(blank)
            for begin, end, kind in spans(f"{line}{blank}{next_line}", names=self.names):
                if end > behind:
                    yield int(number) + 1, max(begin - behind, 0), end - behind, kind

    def _seams(self, frame: pl.DataFrame, near: pl.Series) -> pl.DataFrame:
        """Return the lines at whose end a break may have split a keyword, with the line below, the seam and its blank.

        `near` holds the numbers of lines with a whole keyword. If neither line has one, the last character above and the
        first below must be neighbours in a keyword, which leaves hardly any line of a trace.
        """
        lines = frame["line"]
        size = np.minimum(lines.str.len_bytes().to_numpy(), max(_WIDTHS) + 1)
        identified = lines.str.ends_with("IDENTIFIED").to_numpy()
        at = np.flatnonzero(_IS_WIDTH[size] | identified)
        at = at[at + 1 < len(lines)]
        if not len(at):
            return frame.clear()
        above = lines.gather(at).str.tail(1).scatter(np.flatnonzero(identified[at]), " ")
        pairs = (above + lines.gather(at + 1).str.head(1)).str.to_lowercase()
        open_ = pairs.is_in(_PAIRS).to_numpy()
        if len(near):
            numbers, whole = frame["line_no"].to_numpy(), near.to_numpy()
            open_ |= np.isin(numbers[at], whole) | np.isin(numbers[at + 1], whole)
        at = at[open_]
        if not len(at):
            return frame.clear()
        text, below = pl.col("line"), pl.col("below")
        cut = frame.select_seq("line_no", "line")[at].with_columns_seq(below=lines.gather(at + 1))
        glue = pl.when(text.str.ends_with("IDENTIFIED")).then(pl.lit(" ")).otherwise(pl.lit(""))
        seam = pl.concat_str(text.str.slice(-_KEYWORD), glue, below.str.slice(0, _KEYWORD))
        cut = where(cut, below != "").with_columns_seq(seam=seam, glue=glue)
        return where(cut, cut["seam"].str.contains_any(self._words, ascii_case_insensitive=True))

    def _hits(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series, pl.Series]:
        """Return the lines that Python must search, the numbers of rows of dumps, and the numbers of lines that passed
        the first test.
        """
        text = pl.col("line")
        rows = where(frame, text.str.contains(f"{DUMP}|{SPACED}"))["line_no"]
        # Every column below is as strict as the first test, which costs more than it saves on few lines.
        near = frame if len(frame) <= FEW else where(frame, text.str.contains(_any_of(self.names)))
        if near.is_empty():
            return near.select_seq("line_no", "line"), rows, near["line_no"]
        seen = near.select_seq(
            "line_no",
            "line",
            word=text.str.contains_any(self._words, ascii_case_insensitive=True),
            shape=text.str.contains(_HEADS),
            grouped=text.str.contains(GROUPED),
            sure=text.str.contains(f"{QUOTED}|{LITERAL}|{HASHED}") | text.str.contains_any(ESCAPED_WORDS),
            at=text.str.contains("@", literal=True),
        )
        # Few lines are left, so stricter tests pay.
        sure = seen["sure"]
        if seen["grouped"].any():
            sure |= seen["grouped"] & seen["line"].str.contains(rf"(?-u:\b)(?:{GROUPED})[0-9]*(?-u:\b)")
        if seen["word"].any():
            closer = f"{CLOSER}|{'|'.join(map(re.escape, _DESCRIPTOR))}" if self.names else CLOSER
            sure |= seen["word"] & seen["line"].str.contains(closer)
        if seen["at"].any():
            person = text.str.replace_all(_SERVICE, "").str.contains(MAILS)
            sure |= seen["at"] & seen.select_seq(text.str.contains(LOGINS) | person).to_series()
        if seen["shape"].any():
            sure |= pl.Series(
                [has and _SHAPE.search(line) is not None for has, line in seen.select_seq("shape", "line").iter_rows()]
            )
        return seen.filter(sure).select_seq("line_no", "line"), rows, near["line_no"]

    def _again(self, frame: pl.DataFrame) -> Iterator[tuple[int, int, int, str]]:
        """Yield places of secrets found earlier in this text that have no keyword or shape here."""
        words = list(self.known)
        for number, line in frame.filter(pl.col("line").str.contains_any(words)).iter_rows():
            for word, kind in self.known.items():
                at = line.find(word)
                while at >= 0:
                    yield int(number), at, at + len(word), kind
                    at = line.find(word, at + len(word))

    def _keys(self, frame: pl.DataFrame, begins: list[int]) -> Iterator[tuple[int, int, int, str]]:
        """Yield the lines between BEGIN and END of private keys; each line is examined once, also after many BEGINs.

        A BEGIN inside a key begins another one.
        """
        first, lines = int(frame["line_no"][0]), frame["line"]
        opened, at = {number - first for number in begins}, 0
        waiting = iter(sorted(opened))
        while True:
            if not self.key_lines:
                at = next((begin for begin in waiting if begin >= at), len(lines))
            if at >= len(lines):
                return
            line = lines[at]
            if at in opened:
                self.key_lines = 0 if _END.search(line) else 1  # the whole key may be on one line
            elif _END.search(line) or self.key_lines > _KEY_LINES or (line.strip() and not _BASE64.search(line)):
                self.key_lines = 0
            else:
                self.key_lines += 1
                for run in _KEY_RUN.finditer(line):
                    yield first + at, *run.span(), "private key"
            at += 1


def spans(line: str, *, names: bool = True) -> list[Span]:
    """Return the secrets in one line: [from, to) and kind, ascending, without overlaps.

    `names`: include those in connect descriptors.
    """
    found: list[Span] = []
    for at in range(0, max(len(line), 1), _WINDOW - _OVERLAP):
        window = line[at : at + _WINDOW]
        found += [(begin + at, end + at, kind) for begin, end, kind in _in_all(window, names)]
        for view in views(window):
            for begin, end, kind in _in_all(view.text, names):
                found += [(a + at, b + at, kind) for _, a, b in view.spots(begin, end)]
        if at + _WINDOW >= len(line):
            break
    return _apart(found)


def masked(text: str) -> str:
    """Return a short text (a command, a file name) with asterisks over its secrets.

    >>> masked("mysql -u app -pS3cret shop")
    'mysql -u app -p****** shop'
    """
    return mask_text(text, [(begin, end) for begin, end, _ in spans(text)])


def _in_all(text: str, names: bool) -> Iterator[Span]:
    yield from in_text(text)
    lower = text.lower() if names else ""
    if any(word in lower for word in _DESCRIPTOR):
        yield from connect_descriptors.secret_spans(text)


def _apart(found: Sequence[Span]) -> list[Span]:
    apart: list[Span] = []
    for begin, end, kind in sorted(found):
        if apart and begin < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]), apart[-1][2])
        else:
            apart.append((begin, end, kind))
    return apart


def _wrapped(frame: pl.DataFrame, cut: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int, int, str]]:
    """Yield the rest of secrets that continue in the next line: the line was wrapped, or the value stands below its
    keyword.
    """
    for number, line in cut:
        at = number - int(frame["line_no"][0]) + 1
        below = frame["line"][at] if at < len(frame) else ""
        if not below or _begins_alike(line, below) or _ROW.match(below):
            continue
        token = _TOKEN.match(below)
        open_ = _OPEN.search(line)
        sure = (
            open_ is None or open_[0][0] in "iI" or (MADE_UP.match(token[1]) and "=" not in token[1])
            if token
            else False
        )
        if token and sure and (open_ or below[0] not in " \t"):
            yield number + 1, *token.span(1), "password"


def _begins_alike(line: str, below: str) -> bool:
    """Decide whether two lines begin like two records of one kind: letters, digits and punctuation at the same places
    of their first five characters.
    """

    def shape(text: str) -> str:
        return "".join("9" if c.isdigit() else "a" if c.isalpha() else c for c in text[:5])

    return shape(line) == shape(below)


def _dumped(frame: pl.DataFrame, numbers: pl.Series, names: bool) -> Iterator[tuple[int, int, int, str]]:
    """Yield secrets in dumps, where one may begin in one row and end in the next."""
    if numbers.is_empty():
        return
    rows: list[tuple[int, str]] = []
    pieces: list[str] = []
    for number, line in frame.filter(pl.col("line_no").is_in(numbers.implode())).iter_rows():
        if rows and number != rows[-1][0] + 1:
            yield from _in_dump(rows, pieces, names)
            rows, pieces = [], []
        rows.append((number, line))
        pieces.append(row_text(line))
    yield from _in_dump(rows, pieces, names)


def _in_dump(rows: list[tuple[int, str]], pieces: list[str], names: bool) -> Iterator[tuple[int, int, int, str]]:
    text, ends = "".join(pieces), list(accumulate(len(piece) for piece in pieces))
    for at in range(0, len(text), _WINDOW - _OVERLAP):
        window = text[at : at + _WINDOW]
        lower = window.lower()
        shaped = _LOGIN.search(window) or _SHAPE.search(window)
        if not shaped and not any(word in lower for word in _LOWER):
            continue
        for begin, end, kind in _in_all(window, names):
            first, last = bisect_right(ends, at + begin), bisect_left(ends, at + end)
            view = joined([dump_row(line, number) for number, line in rows[first : last + 1]])
            base = ends[first] - len(pieces[first])
            for number, a, b in view.spots(begin + at - base, end + at - base):
                yield number, a, b, kind
