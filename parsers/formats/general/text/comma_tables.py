r"""Tables whose cells are parted by commas, inside other text: an export of a database client that stands below its command.

The heading has `LEAST` names or more, all lines below have as many cells, and one column holds numbers. A file that is such a table
as a whole is of the kind csv. Source: RFC 4180.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

LEAST = 3
MOST = 60
LONGEST = 2_000
_NAME = re.compile(r"\"?[A-Za-z_#][\w .%/()#$-]{0,40}\"?")
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,9})?%?")


def heading_of(first: str, below: Sequence[str]) -> list[str] | None:
    """Return the names of the columns if these lines are a table with commas, else None.

    >>> heading_of("id,state,secs", ["7,waiting,91", "8,late,2"])
    ['id', 'state', 'secs']
    >>> heading_of("First, second, third", ["one, two, three", "four, five, six"])
    >>> heading_of("id,state,secs", ["7,waiting,91"])
    """
    if first.count(",") < LEAST - 1 or len(first) > LONGEST:
        return None
    heading = cells_of(first)
    if not LEAST <= len(heading) <= MOST or len(set(heading)) < len(heading):
        return None
    if not all(_NAME.fullmatch(name) and name.count(" ") < 4 for name in heading):
        return None
    rows = [cells for line in below if len(cells := cells_of(line)) == len(heading)]
    if len(rows) < 2 or len(rows) < len(below):
        return None
    return (
        heading if any(all(_NUMBER.fullmatch(cell) for cell in column) for column in zip(*rows, strict=True)) else None
    )


def cells_of(line: str) -> list[str]:
    """Return the cells of a line; a comma in quotation marks parts none."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line.strip()]))]
    except (csv.Error, StopIteration):
        return [line]
