"""Read the per-command totals that Redis and its forks print: `cmdstat_get:calls=152,usec=1052`."""

from __future__ import annotations

import re

_FIELDS = re.compile(
    r"[ \t]*(?P<item>[A-Za-z_][\w|.-]{0,80}):(?P<fields>[a-z_][\w.]*=[^,=\s]+(?:,[a-z_][\w.]*=[^,=\s]+)+)[ \t]*"
)
_NUMBER = re.compile(r"-?[0-9]{1,19}(?:\.[0-9]{1,9})?")

COMMANDS = "commands of a store"
"""Group of the totals of commands since the start or the last reset (INFO commandstats)."""

Fielded = tuple[str, str, float]
"""Item, name and value of a counter."""


def fielded(line: str) -> list[Fielded]:
    """Return the totals of a command as counters; an empty list for any other line.

    >>> fielded("cmdstat_get:calls=152,usec=1052,usec_per_call=6.92")
    [('get', 'calls', 152.0), ('get', 'usec', 1052.0), ('get', 'usec_per_call', 6.92)]
    >>> fielded("db0:keys=600000,expires=0,avg_ttl=0"), fielded("see: a=1,b=2")
    ([], [])
    """
    if line.lstrip()[:8].lower() != "cmdstat_" or not (found := _FIELDS.fullmatch(line)):
        return []
    item = found["item"][len("cmdstat_") :].lower()
    pairs = (field.split("=", 1) for field in found["fields"].split(","))
    return [(item, name, float(value)) for name, value in pairs if _NUMBER.fullmatch(value)]
