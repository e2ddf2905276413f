"""Read tables of workload reports about statements, segments and sessions: cells to rows of `counters` and `sessions`.

The rows have the report's words: `grp` is the section (`sql ordered by gets`, `segments by logical reads`, `top sessions`),
`item` the subject of the row (an SQL id, `OWNER.OBJECT (TYPE)`, a session), `name` the heading of the figure, or the event
before it in a row of an ASH report.
"""

from __future__ import annotations

import re
from typing import Any

from parsers.formats.oracle.shared.figures import figure

SQL_ID = re.compile(r"^(?:[0-9a-z]{13}|[0-9]{6,10})$")
"""An SQL id, or the hash value of Statspack."""
WITH_TEXT = ("sql ordered by", "top sql", "complete list of sql")
"""Sections whose rows have the statement's text below them."""
OWNER = ["owner", "tablespace name"]
"""Headings of the first line of a segment, where it has two lines."""
_NAMED = ("event", "event caused", "action")
_QUOTED = re.compile(r"'")
_SECRET = re.compile(r"(?i)\bidentified\s+by\s+(\"?[^\s\";']+)")


def _counter(grp: str, item: str, name: str, head: str, value: float) -> dict[str, Any]:
    share = "%" in head
    unit = "%" if share else "s" if "(s)" in head else "samples" if head.endswith("count") else None
    rate = share or "per " in head or "avg" in head
    return {"grp": grp, "item": item, "name": name, "value": value, "unit": unit, "mode": "level" if rate else "total"}


def statement(section: str, heads: list[str], cells: list[str]) -> list[dict[str, Any]] | None:
    """Read a row of `SQL ordered by ...`: figures, then the statement's id; return None if it is not such a row.

    >>> statement("sql ordered by gets", ["buffer gets", "sql id"], ["1,204", "5vx5qmyh3hj7v"])[0]["value"]
    1204.0
    """
    if not heads[-1].endswith(("sql id", "hash value")) or SQL_ID.match(cells[-1]) is None:
        return None
    return _figures(section, cells[-1], heads[:-1], cells[:-1])


def segment(section: str, heads: list[str], cells: list[str]) -> list[dict[str, Any]] | None:
    """Read a row of `Segments by ...`; None if it is not one. A partition is `OWNER.OBJECT.PARTITION`; names are cut to their columns.

    >>> heads = ["owner", "tablespace name", "object name", "subobject name", "obj. type", "logical reads", "%total"]
    >>> segment("segments by logical reads", heads, ["SYS", "SYSTEM", "I_OBJ1", "", "INDEX", "5,936", "12.54"])[0]["item"]
    'SYS.I_OBJ1 (INDEX)'
    """
    if heads[0] != "owner" or "object name" not in heads:
        return None
    pairs = [(h, c) for h, c in zip(heads, cells, strict=True) if h not in ("obj#", "dataobj#")]
    heads, cells = [h for h, _ in pairs], [c for _, c in pairs]
    of = dict(zip(heads, cells, strict=True))
    name = ".".join(of[h] for h in ("owner", "object name", "subobject name") if of.get(h))
    kind = of.get("obj. type")
    first = heads.index("obj. type") + 1 if kind is not None else len(heads) - 2
    return _figures(section, f"{name} ({kind})" if kind else name, heads[first:], cells[first:])


def _figures(grp: str, item: str, heads: list[str], cells: list[str]) -> list[dict[str, Any]] | None:
    values = [(h, figure(c)) for h, c in zip(heads, cells, strict=True)]
    rows = [_counter(grp, item, h, h, value) for h, value in values if value is not None]
    return rows if rows and not any(v is None and c for (_, v), c in zip(values, cells, strict=True)) else None


def activity(section: str, heads: list[str], cells: list[str], above: str) -> tuple[str, list[dict[str, Any]]] | None:
    """Read a row of an ASH report: return its subject and its figures. `above` is the subject of the row above.

    A figure after an event is that event's share; a row without a first cell has the subject of the row above.

    >>> heads = ["sid, serial#", "% activity", "event", "% event"]
    >>> item, rows = activity("top sessions", heads, ["146,   11", "40.16", "CPU + Wait for CPU", "38.90"], "")
    >>> item, [(r["name"], r["value"]) for r in rows]
    ('146,11', [('% activity', 40.16), ('CPU + Wait for CPU', 38.9)])
    """
    if not {"% activity", "% event"} & set(heads):
        return None
    item = re.sub(r", +", ",", cells[0])
    keys = 1
    if heads[0] == "service" and heads[1] == "module":
        item, keys = "/".join(c for c in cells[:2] if c), 2
    elif heads[1] in ("planhash", "sql plan hash", "plan hash"):
        keys = 2
    item = item or above
    named: str | None = None
    rows = []
    for head, cell in list(zip(heads, cells, strict=True))[keys:]:
        value = figure(cell)
        if value is None and (head in _NAMED or head.startswith("p1 value")):
            named = cell or named
        elif value is not None:
            rows.append(_counter(section, item, named or head, head, value))
        elif cell:
            return None
    return (item, rows) if rows and item else None


def session(heads: list[str], cells: list[str], item: str) -> dict[str, Any] | None:
    """Read the second line of a session in an ASH report: user and program of the session `146,11`; None if it is not one.

    >>> session(["user", "program", "# samples active"], ["SHOP", "java@app1", "1,030/3,600 [ 29%]"], "146,11")
    {'sid': 146, 'serial': 11, 'db_user': 'SHOP', 'program': 'java@app1'}
    """
    match = re.fullmatch(r"([0-9]+),([0-9]+)", item)
    if match is None or heads[:2] != ["user", "program"] or not heads[2].startswith("# samples") or not cells[0]:
        return None
    if re.fullmatch(r"[0-9,]+/[0-9,]+ +\[ *<? *[0-9]+%\]", cells[2]) is None:
        return None
    return {"sid": int(match[1]), "serial": int(match[2]), "db_user": cells[0], "program": cells[1] or None}


def event(heads: list[str], cells: list[str]) -> str | None:
    """Return the event in a row of an ASH report; a figure under the heading (the columns slipped) is not an event."""
    named = (c for h, c in zip(heads, cells, strict=True) if h == "event" and c and figure(c) is None)
    return next(named, None)


def secrets(text: str, inside: bool) -> tuple[list[tuple[int, int]], bool]:
    """Return the places of literals and passwords in a line of a statement, and whether a literal is open at its end.

    >>> secrets("where a = 'x y' and b = 'z", False)
    ([(11, 14), (25, 26)], True)
    >>> secrets("w' and c = :1", True), secrets("identified by abc", False)
    (([(0, 1)], False), ([(14, 17)], False))
    """
    spots, begin = [], 0
    for quote in _QUOTED.finditer(text):
        if inside and quote.start() > begin:
            spots.append((begin, quote.start()))
        inside, begin = not inside, quote.end()
    if inside and begin < len(text):
        spots.append((begin, len(text)))
    spots += [secret.span(1) for secret in _SECRET.finditer(text)]
    return sorted(spots), inside


_SAMPLED = re.compile(r"([0-9,]+/[0-9,]+ +\[ *<? *[0-9]+%\])(?: +([0-9]+))?$")


def apart(line: str, heads: list[str]) -> list[str] | None:
    """Split the second line of a row of an ASH report that does not fit its columns: at its blanks, or as one long name.

    >>> apart("SYS                  oracle@db1 (J000)         2,465/2,700 [  9%]        1", ["user", "program", "# samples active", "xids"])
    ['SYS', 'oracle@db1 (J000)', '2,465/2,700 [  9%]', '1']
    """
    if heads[0] in ("object name (type)", "file name"):
        return [line.strip(), *("" for _ in heads[1:])]
    sampled = _SAMPLED.search(line)
    if sampled is None or len(heads) < 3:
        return None
    names = [n for n in re.split(r" {2,}", line[: sampled.start()].strip()) if n] or ["", ""]
    return [*names, sampled[1], *([sampled[2] or ""] if len(heads) == 4 else [])] if len(names) == 2 else None


def headings(above: list[str], edges: list[tuple[int, int]]) -> list[str]:
    """Return the heading of each column: the words above it, joined in the order of the lines."""
    return [re.sub(r"\s+", " ", " ".join(over(t, a, b) for t in above)).strip().lower() for a, b in edges]


def over(text: str, begin: int, end: int) -> str:
    """Return the words of a heading line above a column; a word belongs to the column that most of it is above."""
    words = [(m[0], m.start(), m.end()) for m in re.finditer(r"\S+", text)]
    return " ".join(w for w, a, b in words if min(b, end) - max(a, begin) > (b - a) / 2 and not set(w) <= {"~"})
