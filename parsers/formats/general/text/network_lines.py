"""Read single steps that network commands print: look-ups, hops and copies, with their time or their failure.

Tools: nslookup (Windows, BIND), dig, host, resolvectl, traceroute, tracert, dd.
"""

from __future__ import annotations

import re

UNITS = {"ms": 1e-3, "msec": 1e-3, "usec": 1e-6, "us": 1e-6, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0}

_BEGINS = re.compile(
    r"[ \t]*(?:timeout was|DNS request|;; (?:Query time|connection|communications|Warning)|\*\* server can|-- Information|[0-9]{1,2}[ .]"
    r"|[0-9]{1,20} bytes )"
)
_COPIED = re.compile(
    r"[ \t]*([0-9]{1,20}) bytes (?:\([^)]{1,60}\) )?(?:copied|transferred),? (?:in )?([0-9]{1,9}(?:[.,][0-9]{1,9})?) s(?:ecs?|econds)?\b.*"
)
"""Last line of dd; its decimal sign depends on the user's language."""

_TIMEOUT = re.compile(r"[ \t]*timeout was ([0-9]+) (seconds?)\.?[ \t]*")
_QUERY = re.compile(r"[ \t]*;; Query time: ([0-9]+) (msec|usec|ms|us)\b.*")
_LINK = re.compile(r"[ \t]*-- Information acquired via protocol (\S+) in ([0-9.]+)(ms|us|s)\..*")
_REFUSED = re.compile(r"[ \t]*\*\* server can't find (\S+): (SERVFAIL|REFUSED|NOTIMP|FORMERR|NXDOMAIN|NOTAUTH)[ \t]*")
_SILENT = re.compile(
    r"[ \t]*;; (?:connection timed out; (?:no servers could be reached|trying next origin)|communications error to \S+: .*"
    r"|no servers could be reached.*)"
)
_HOP = re.compile(
    r"[ \t]*([0-9]{1,2})\.?[ \t]{1,6}(?:\[AS[0-9]+\] )?([\w.:-]{1,80}(?: \([0-9a-fA-F.:]{2,45}\))?)((?:[ \t]{1,4}(?:\*|[0-9.]+ ms))+)[ \t]*(?:![A-Z]\S*)?[ \t]*"
)
_TRACERT = re.compile(
    r"[ \t]*([0-9]{1,2})[ \t]{1,6}((?:(?:<?[0-9]+ ms|\*)[ \t]{1,6}){3})([\w.:-]{1,80}(?: \[[0-9a-fA-F.:]{2,45}\])?)[ \t]*"
)
_MS = re.compile(r"<?([0-9.]+) ms")

Measured = tuple[str, float | None, bool | None, str]
"""The step in words, its seconds, whether it was answered (None: unknown), the line."""


def measured(line: str) -> Measured | None:
    """Return the step that a line reports, None for any other line; the time of a hop is its shortest one.

    >>> measured("    timeout was 2 seconds.")
    ('a DNS request that timed out', 2.0, None, 'timeout was 2 seconds.')
    >>> measured("511705088 bytes (512 MB, 488 MiB) copied, 232,651 s, 2,2 MB/s")[:2]
    ('a copy of 511,705,088 bytes', 232.651)
    >>> measured(" 4  wan (10.9.1.1)  181.3 ms  180.2 ms *")[:3], measured("  3    12 ms    *   11 ms  10.0.0.1")[:3]
    (('hop 4 wan (10.9.1.1)', 0.1802, None), ('hop 3 10.0.0.1', 0.011, None))
    """
    if len(line) > 300 or not _BEGINS.match(line):
        return None
    text = line.strip()
    if found := _COPIED.fullmatch(line):
        return f"a copy of {int(found[1]):,} bytes", float(found[2].replace(",", ".")), None, text
    if found := _TIMEOUT.fullmatch(line):
        return "a DNS request that timed out", float(found[1]), None, text
    if text == "DNS request timed out.":
        return "a DNS request", None, False, text
    if found := _QUERY.fullmatch(line):
        return "the DNS query", float(found[1]) * UNITS[found[2]], None, text
    if found := _LINK.fullmatch(line):
        return f"the look-up by {found[1]}", _seconds(found[2], found[3]), None, text
    if found := _REFUSED.fullmatch(line):
        return f"the look-up of {found[1]}", None, False if found[2] != "NXDOMAIN" else None, text
    if _SILENT.fullmatch(line):
        return "the DNS query", None, False, text
    if (found := _HOP.fullmatch(line)) and (times := _MS.findall(found[3])):
        return f"hop {found[1]} {found[2]}", _least(times), None, text
    if (found := _TRACERT.fullmatch(line)) and (times := _MS.findall(found[2])):
        return f"hop {found[1]} {found[3]}", _least(times), None, text
    return None


def _seconds(number: str, unit: str) -> float | None:
    try:
        return float(number) * UNITS[unit]
    except ValueError:
        return None


def _least(times: list[str]) -> float | None:
    made = [t for t in (_seconds(x, "ms") for x in times) if t is not None]
    return min(made, default=None)
