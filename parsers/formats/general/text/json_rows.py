r"""Rows of a table that a program prints as JSON objects, one per line: `db.currentOp()` of MongoDB, data points of CloudWatch, lists of clouds.

A document on one line gives a row for each object of its lists as well.

An object that is a record of a log (it has a level or a message) is none, nor one with fewer than three plain values.
Source: RFC 8259; MongoDB Manual, currentOp; AWS CLI, get-metric-statistics.

    >>> row_of('{"opid": 9, "active": true, "secs_running": 91, "ns": "shop9.orders"}')
    (['opid', 'active', 'secs_running', 'ns'], ['9', 'true', '91', 'shop9.orders'])
    >>> row_of('{"level": "error", "msg": "no", "code": 9}'), row_of('{"a": 1}'), row_of("{not json}")
    (None, None, None)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

LONGEST = 4000
DOCUMENT = 400_000
"""Maximum number of characters of a document on one line."""

MOST_ROWS = 1_000
MOST_CELLS = 60
LEAST = 3

_OF_LOGS = frozenset(("level", "severity", "msg", "message", "log", "error", "lvl", "loglevel", "@timestamp"))


def rows_of(line: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield names and values of an object on one line, and of those in the lists of a document on one line.

    >>> [cells for _, cells in rows_of('{"log": {"entries": [{"time": 91, "timings": {"dns": 81, "wait": 9}}]}}')]
    [['91', '81', '9']]
    """
    if line.lstrip(" \t")[:1] not in ("{", "["):
        return
    if (row := row_of(line)) is not None:
        yield row
    if len(line) > DOCUMENT or ("[{" not in line.replace(" ", "") and '"value"' not in line):
        return
    try:
        made = json.loads(line)
    except (ValueError, RecursionError):
        return
    left = MOST_ROWS
    waiting: list[tuple[Any, bool]] = [(made, False)]
    while waiting and left:
        one, listed = waiting.pop()
        if isinstance(one, list):
            waiting += [(inner, True) for inner in reversed(one)]
        elif isinstance(one, dict):
            if listed and (cut := row_of_object(one)) is not None:
                left -= 1
                yield cut
            for made_of in _of_metric(one):
                left -= 1
                yield made_of
            waiting += [(inner, False) for inner in reversed(one.values()) if isinstance(inner, (dict, list))]


def _of_metric(one: dict[str, Any]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the values of a metric: those in a list beside its label, or one in each of several objects with a `value`.

    >>> list(_of_metric({"Id": "m1", "Label": "BurstBalance", "Values": [0.5]}))
    [(['Label', 'BurstBalance'], ['BurstBalance', '0.5'])]
    >>> list(_of_metric({"a": {"value": 9, "flag": "c"}, "b": {"value": 8}}))
    [(['a', 'b'], ['9', '8'])]
    """
    label, values = one.get("Label"), one.get("Values")
    if isinstance(label, str) and isinstance(values, list):
        for value in values[:MOST_CELLS]:
            yield ["Label", label], [label, json.dumps(value)]
    inner = {name: held["value"] for name, held in one.items() if isinstance(held, dict) and "value" in held}
    if len(inner) > 1 and all(isinstance(value, (int, float)) for value in inner.values()):
        yield list(inner), [json.dumps(value) for value in inner.values()]


def row_of(line: str) -> tuple[list[str], list[str]] | None:
    """Return names and values of an object that stands on one line, values in objects below it by both names."""
    text = line.strip().rstrip(",").removeprefix("[").rstrip("]").strip().rstrip(",")
    if not (text.startswith("{") and text.endswith("}")) or len(text) > LONGEST:
        return None
    try:
        made = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row_of_object(made)


def row_of_object(made: dict[str, Any]) -> tuple[list[str], list[str]] | None:
    """Return names and values of an object, None for a record of a log and for one with too few values.

    The only reference of a span (Jaeger) is one of its values.

    >>> row_of_object({"spanID": "b", "duration": 9, "references": [{"spanID": "a"}]})
    (['spanID', 'duration', 'references.spanID'], ['b', '9', 'a'])
    """
    held: dict[str, str] = {}
    for name, value in made.items():
        if name == "references" and isinstance(value, list) and len(value) == 1:
            value = value[0]
        inner = value.items() if isinstance(value, dict) else [("", value)]
        for below, one in inner:
            if one is None or isinstance(one, (str, int, float)):
                key = f"{name}.{below}" if below else name
                held[key] = one if isinstance(one, str) else json.dumps(one)
    if not LEAST <= len(held) <= MOST_CELLS or any(name.lower() in _OF_LOGS for name in made):
        return None
    return list(held), list(held.values())
