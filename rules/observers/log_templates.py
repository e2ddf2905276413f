"""Templates of log lines: what stays of a message when its numbers, addresses, paths, names and quoted words are masked.

A template miner (drain3 0.9) was looked at: it takes lines one by one in Python, where this is one streaming pass of
Polars, and it pins old versions of its own packages.

>>> import polars as pl
>>> text = 'connect to 10.0.0.7:1521 failed after 5.2 ms: "orcl" at /u01/app, pid 4711'
>>> pl.select(template(pl.lit(text))).item()
'connect to <addr> failed after <n> ms: <q> at <path>, pid <n>'
"""

from __future__ import annotations

import polars as pl

MASKS = (
    (r"^\s*\[\s*\d+\.\d+\]\s*", ""),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?", "<time>"),
    (r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?: \w+)? \d{4}", "<time>"),
    (r'"[^"]*"|\B\'[^\']*\'\B|`[^`]*[`\']', "<q>"),
    (r"<q> [45]\d\d\b", "<q> <failed>"),  # the status behind a request in an access log
    (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", "<addr>"),
    (r"(?i)\b(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}\b", "<addr>"),
    (r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>"),
    (r"(^|[\s=(\[,:<])(?:/[\w.@%+~#:-]+)+/?", "${1}<path>"),
    (r"(?i)\b0x[0-9a-f]+\b", "<hex>"),
    (r"(?i)\b[0-9a-f]*(?:\d[a-f]|[a-f]\d)[0-9a-f]{4,}\b", "<hex>"),
    (r"\b[A-Za-z]+\d+[A-Za-z]+\d[0-9A-Za-z]*\b", "<id>"),  # letters and figures in turn: s1f3a9
    (r"(^|[^A-Za-z0-9_<-])[+-]?\d+(?:[.,:]\d+)*", "${1}<n>"),
    (r"([A-Za-z_#/:=<>-])\d+(?:\.\d+)*\b", "${1}<n>"),
)
"""Patterns of what changes from line to line, with what takes its place, in this order."""

CUT = 400
"""Maximum number of characters of a line by which it is grouped."""


def template(text: pl.Expr) -> pl.Expr:
    """Return the template of a text. Numbers of error codes are masked too: group by the code beside it."""
    made = text.str.slice(0, CUT)
    for pattern, by in MASKS:
        made = made.str.replace_all(pattern, by)
    return made.str.replace_all(r"\s+", " ").str.strip_chars()
