"""Read figures in the text format of Prometheus, which most servers and libraries print of themselves (`curl HOST/metrics`).

Only lines with labels are read here; a name with a value alone is read as any other. Source: Prometheus documentation, Exposition
formats.
"""

from __future__ import annotations

import re

METRICS, METRICS_TOTAL = "metrics", "metrics since the start"
"""Groups of counters: figures of an instant, and what a program has counted since its start."""

_LABEL = r"[A-Za-z_]\w{0,60}=\"(?:[^\"\\]|\\.){0,300}\""
_LINE = re.compile(
    rf"(?P<name>[A-Za-z_:][\w:]{{2,160}})\{{(?P<labels>{_LABEL}(?:, ?{_LABEL}){{0,30}}),?\}}[ \t]{{1,8}}"
    r"(?P<value>[-+]?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,3})?)(?:[ \t]{1,4}[0-9]{10,13})?[ \t]*"
)
_SINCE_START = re.compile(r".*_(?:total|count|sum|bucket)")

Exposed = tuple[str, str, str, float]
"""Group, labels, name and value of a counter."""


def exposed(line: str) -> list[Exposed]:
    """Return the figure in a line; an empty list for any other line.

    >>> exposed('pool_active{pool="a",} 9.0'), exposed('http_seconds_bucket{le="0.1"} 12')
    ([('metrics', 'pool="a"', 'pool_active', 9.0)], [('metrics since the start', 'le="0.1"', 'http_seconds_bucket', 12.0)])
    >>> exposed("pool_active 9"), exposed('x{a=1} 2')
    ([], [])
    """
    if "{" not in line or '="' not in line or len(line) > 2000 or (found := _LINE.fullmatch(line.strip(" \t"))) is None:
        return []
    group = METRICS_TOTAL if _SINCE_START.fullmatch(found["name"]) else METRICS
    return [(group, found["labels"], found["name"], float(found["value"]))]
