"""Render message templates: `{name}`, `{name:.3f}`, `{name|dur}`. No attributes, no indices, nothing executable.

A template that names an absent column or prints an empty value raises BadTemplate: use one text per tier instead. The
page escapes the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

MESSAGES: tuple[Literal["headline", "expert", "manager"], ...] = ("headline", "expert", "manager")
"""The texts that every rule has."""

FORMAT_SPEC = re.compile(r"[<>]?[0-9]*,?(\.[0-9]+)?[dfs%]?")
FIELD = re.compile(r"\{([a-z_][a-z0-9_]*)(?:\|([a-z]+)|:([^{}|]*))?\}")


class BadTemplate(ValueError):
    """Raised when a template is wrong, or values do not fill it."""


def fields(template: str) -> list[str]:
    """Return the names that a template prints, in order; BadTemplate for anything but plain fields, known filters and
    specs.
    """
    rest = FIELD.sub("", template)
    if "{" in rest or "}" in rest:
        raise BadTemplate(f"braces outside {{name}}, {{name:.3f}} or {{name|dur}}: {template!r}")
    names = []
    for name, filtered, spec in FIELD.findall(template):
        if filtered and filtered not in FILTERS:
            raise BadTemplate(f"unknown filter {filtered!r}; known are {', '.join(sorted(FILTERS))}")
        if spec and not FORMAT_SPEC.fullmatch(spec):
            raise BadTemplate(f"format {spec!r} is not allowed")
        names.append(name)
    return names


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template; BadTemplate if a value is absent, unknown or empty, or does not fit its format."""
    fields(template)

    def one(match: re.Match[str]) -> str:
        name, filtered, spec = match.group(1), match.group(2), match.group(3)
        value = values.get(name)
        if value is None or value == "" or value == []:
            raise BadTemplate(f"{name} is empty or absent in {template!r}")
        try:
            return FILTERS[filtered](value) if filtered else format(value, spec or "")
        except (TypeError, ValueError) as error:
            raise BadTemplate(f"{name}: {error}") from None

    return FIELD.sub(one, template)


def duration(seconds: float) -> str:
    """Return seconds in a readable form: `0.3 ms`, `2.473 s`, `4 min 12 s`.

    >>> duration(0.0003), duration(2.4734), duration(252)
    ('0.3 ms', '2.473 s', '4 min 12 s')
    """
    if abs(seconds) < 0.1:
        return f"{seconds * 1000:.3g} ms"
    if abs(seconds) < 60:
        return f"{seconds:.3f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size(count: float) -> str:
    """Return bytes with a binary unit.

    >>> size(512), size(19193135104)
    ('512 B', '17.875 GiB')
    """
    step = 0
    while abs(count) >= 1024 and step < 5:
        count, step = count / 1024, step + 1
    unit = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")[step]
    return f"{count:.0f} {unit}" if step == 0 else f"{count:.3f} {unit}"


def percent(share: float) -> str:
    """Return a share of 1 as percent.

    >>> percent(0.9573)
    '95.7 %'
    """
    return f"{share * 100:.1f} %"


def times(count: float) -> str:
    """Return how often something happened.

    >>> times(1), times(1200)
    ('once', '1,200 times')
    """
    return "once" if count == 1 else f"{count:,.0f} times"


FILTERS = {"dur": duration, "bytes": size, "pct": percent, "times": times}
