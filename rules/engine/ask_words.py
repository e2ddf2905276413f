"""Translate the engine's error messages about a person's SQL into our own words, with line and column of the text.

Messages of the engine may contain paths, settings and names of files. So none is passed on: each known message is
reworded using the names in it, and all others become one general sentence.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass

NAME = r"[\w$. ]{1,80}"
# Pattern of an engine message -> our words; {0}, {1} are the names in it.
_KNOWN = (
    (rf'Referenced column "({NAME})" not found', "There is no column “{0}” in these tables."),
    (rf'Table "({NAME})" does not have a column named "({NAME})"', "“{0}” has no column “{1}”."),
    (rf'Referenced table "({NAME})" not found', "“{0}” stands in no FROM of this query."),
    (rf'Ambiguous reference to column name "({NAME})"', "Several tables have a column “{0}”: write which one is meant, as in s.{0}."),
    (rf'column "({NAME})" must appear in the GROUP BY', "“{0}” stands beside an aggregate: put it into GROUP BY, or into any_value({0})."),
    (r"(WHERE|GROUP BY|JOIN|FILTER)[a-z ]* clause cannot contain aggregates", "{0} cannot hold an aggregate such as count(*): use HAVING."),
    (r"(WHERE|GROUP BY|JOIN) clause cannot contain window functions", "{0} cannot hold a window function: use QUALIFY."),
    (
        r"No function matches the given name and argument types '([^'()]{1,80})\(([A-Z_, \[\]()0-9]{0,200})\)",
        "“{0}” does not take these types: {1}. A cast such as x::double may help.",
    ),
    (rf"Scalar Function with name ({NAME}) does not exist", "There is no function “{0}”."),
    (r"Subquery returns (\d+) columns - expected 1", "A query in brackets gives {0} columns where one is expected."),
    (r"More than one row returned by a subquery", "A query in brackets gives more than one row where one is expected."),
    (r"ORDER term out of range", "ORDER BY names a column by a number that there is not."),
    (r"Overflow in ", "A number became larger than its type holds: cast it to double first."),
    (
        r"(?:Could not convert|failed to cast|out of range)",
        "A value cannot be turned into the type that is asked for: try_cast(x as double) gives NULL there.",
    ),
    (r"Cannot compare values of type ([A-Z\[\]]{1,40}) and type ([A-Z\[\]]{1,40})", "{0} and {1} cannot be compared: cast one of them."),
    (
        r"Set operations can only apply to expressions with the same number of result columns",
        "Both sides of UNION, INTERSECT or EXCEPT need the same number of columns.",
    ),
    (r"(?:missing|invalid|unexpected|bad) [a-z ]{0,40}[)\]:]", "The pattern of a regular expression cannot be read."),
    (r"aggregate function calls cannot be nested", "An aggregate cannot hold another one: group twice, in a WITH part."),
    (r"syntax error at or near", "The text stops making sense as SQL here."),
    (r"syntax error at end of input", "The text ends too early: something is missing."),
    (r"unterminated (?:string literal|quoted)", "A quote is opened here and not closed."),
)  # fmt: skip
LINE = re.compile(r"^LINE (\d+): (.*)\n( *)\^", re.M)
OTHER = "The engine could not run this. Look at types, brackets and names."


@dataclass(frozen=True)
class Complaint:
    """An error in our own `words`; `line` and `column` count from 1 and are None if the engine reports no place."""

    words: str
    line: int | None = None
    column: int | None = None
    hint: str = ""

    @property
    def where(self) -> str:
        return f"line {self.line}, column {self.column}" if self.line else ""


def complaint(text: str, names: Collection[str] = ()) -> Complaint:
    """Return our own words for an engine's message.

    `names` holds the existing columns and tables, for "did you mean".
    """
    words, missing = OTHER, ""
    for pattern, wording in _KNOWN:
        found = re.search(pattern, text)
        if found:
            words = wording.format(*found.groups())
            missing = found.groups()[-1] if "There is no column" in words or "has no column" in words else ""
            break
    near = difflib.get_close_matches(missing.lower(), sorted(names), 1) if missing else []
    line, column = _place(text)
    return Complaint(words, line, column, f"Did you mean {near[0]}?" if near else "")


def _place(text: str) -> tuple[int | None, int | None]:
    """Return line and column that the engine points at; only the line if the engine abbreviated it with dots."""
    found = LINE.search(text)
    if found is None:
        return None, None
    shift = len(found[3]) - len(f"LINE {found[1]}: ")
    if shift < 0 or found[2].startswith("..."):
        return int(found[1]), None
    return int(found[1]), shift + 1


def place_of(sql: str, offset: int) -> tuple[int, int]:
    """Return line and column, both from 1, of an offset in a text.

    >>> place_of("select a\\nfrom", 11)
    (2, 3)
    """
    before = sql[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
