"""Generate texts of any size that may make a reader slow: repeated markers, nesting, one long line, equal lines,
distinct lines, lines that nearly match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[1] / "corpus"

LINES = (
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEvgIBADANBgkqhkiG9w0BAQEFAASC",
    "-----END PRIVATE KEY-----",
    "password=",
    "password=ab",
    "password=ab{n}",
    "user/secret{n}@",
    "key{n}: value{n}",
    "{n} {n}",
    "host{n} app[{n}]: took {n} ms",
    "user/secret@",
    "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)",
    "<div>",
    "<div><p><b>",
    "<!--",
    "<pre>",
    "```",
    "> > > >",
    "$ vmstat 1",
    "user@host:~$ ",
    "From: a@b.c\nSubject: x",
    "[1/3]",
    "{",
    '{"a": [',
    '"a": "',
    "'",
    '"',
    "\\",
    "a=b c=d e=f",
    "2024-01-01 00:00:00",
    "Jan  1 00:00:00 host app[1]: ",
    "12:00:00",
    "12:00:00.000000 read(3, ",
    "  at a.b.c(D.java:1)",
    '"main" #1 prio=5 tid=0x1 nid=0x1 runnable',
    "#0  0x00007f in a () from b",
    "* 1 2 3",
    "| a | b |",
    "+---+---+",
    "a;b;c;d",
    "a\tb\tc",
    "1 2 3 4 5 6 7 8",
    "0x1234567890abcdef",
    "=" * 20,
    "-- ",
    "...",
    "Begin of file",
    "SELECT * FROM t WHERE a = 'b' AND (",
    "PARSING IN CURSOR #1 len=1",
    "a: b",
    "procs -----------memory----------",
    "^C",
    "\x1b[31m",
    "\x1b[",
    "&lt;&amp;",
    "ä€",
)
"""Lines that begin a block without ending it, end one without a beginning, or nearly match a pattern."""

PIECES = (*"<>()[]{}\"'`=:;,|/\\ \t-_.%#@$&*0a\x1b", "ab ", "1 ", "a=", "(a", '{"', "<a ", "&#", "0x", "1:", "\x1b[")
"""Pieces that are repeated to form a long line."""


@dataclass(frozen=True)
class Attack:
    """A text to repeat, as lines (`lines`) or within one line, below `head`; `{n}` becomes the running number."""

    unit: str
    lines: bool
    kind: str = ""
    head: str = ""

    def __str__(self) -> str:
        return f"{self.kind}-{'lines' if self.lines else 'line'}-{self.unit[:40]!r}"

    def text(self, size: int) -> str:
        """Return about `size` characters of units, below the head.

        >>> Attack("a{n}", True).text(9)
        'a0\\na1\\na2\\n'
        """
        whole = self.unit + "\n" if self.lines else self.unit
        times = max(size // len(whole.replace("{n}", "0")), 1)
        if "{n}" not in whole:
            return self.head + whole * times
        return self.head + "".join(whole.replace("{n}", str(n)) for n in range(times))


def of_any_kind() -> list[Attack]:
    """Return the attacks without a sample of a kind above them."""
    return [
        *(Attack(line, lines) for line in LINES for lines in (True, False)),
        *(Attack(piece, False) for piece in PIECES),
        *(Attack(piece * 40, True) for piece in PIECES),
        *(Attack(line, lines, "html", HTML) for line in MARKUP for lines in (True, False)),
    ]


def of_kind(kind: str) -> list[Attack]:
    """Return attacks below a sample of a kind: near misses of its lines, and lines that begin a block in any text."""
    sample = sample_of(kind)
    if sample is None:
        return []
    head = sample[:20_000].rstrip("\n") + "\n"
    units = [*near_misses(sample), *LINES]
    return [Attack(unit, lines, kind, head) for unit in units for lines in (True, False)]


HTML = "<!DOCTYPE html><html><head><title>a</title></head><body>\n"
MARKUP = (
    "<div>",
    "<p>a",
    "<pre>a",
    "<table><tr><td>",
    "<tr><td>1</td></tr>",
    "<!-- ",
    "<a b='",
    "</div>",
    "&amp;",
    "<br>a",
)


def sample_of(kind: str) -> str | None:
    """Return the shortest sample of a kind with at least ten lines, else the longest; None if there is none."""
    texts = [file.read_bytes().decode("utf-8", "replace") for file in sorted((CORPUS / kind).glob("*.txt"))]
    texts.sort(key=len)
    return next((text for text in texts if text.count("\n") >= 10), texts[-1] if texts else None)


def near_misses(sample: str) -> Iterator[str]:
    """Yield lines of a sample and variants that nearly match: cut, doubled, or with letters instead of digits."""
    lines = [line for line in sample.split("\n")[:400] if line.strip()]
    seen: set[str] = set()
    for line in lines:
        shape = re.sub(r"\d+", "0", line)[:40]
        if shape in seen or len(seen) >= 6:
            continue
        seen.add(shape)
        yield line
        yield line[: len(line) * 2 // 3]
        yield re.sub(r"\d", "x", line)
        yield line + line
