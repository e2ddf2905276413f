"""Read lines in which tools print the duration of something with a name.

Tools: systemd-analyze blame and critical-chain (units); ab, wrk, hey, redis-benchmark (percentiles of load tests); the
time of zsh among other output; fs_usage (calls).
"""

from __future__ import annotations

import re

from parsers.formats.general.text.network_lines import UNITS, Measured

_SPAN = r"(?:[0-9]{1,5}(?:y|month|w|d|h|min) ){0,6}[0-9]{1,9}(?:\.[0-9]{1,6})?(?:us|ms|s|min|h|d|w|month|y)"
_UNIT = r"(?P<unit>\S{1,200}\.(?:service|target|mount|automount|device|socket|timer|path|slice|scope|swap))"
_BLAME = re.compile(rf"[ \t]*(?P<took>{_SPAN})[ \t]+{_UNIT}[ \t]*")
_CHAIN = re.compile(rf"[ \t│├└─|`-]*{_UNIT}(?: @(?P<at>{_SPAN}))?(?: \+(?P<took>{_SPAN}))?[ \t]*")
_PIECE = re.compile(r"([0-9.]+)(us|ms|month|min|s|h|d|w|y)")
_LONG = {"min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "month": 2629800.0, "y": 31557600.0}
"""Units of systemd (src/basic/time-util.h): a month is a twelfth of a year of 365.25 days."""

_STARTUP = re.compile(
    rf"Startup finished in (?:{_SPAN} \([a-z]{{1,20}}\)(?: \+ )?){{1,6}} ?= ?(?P<took>{_SPAN})[ \t]*\.?"
)
STARTUP = "the system's start"
"""Name of the operation in systemd's line about the whole start; the text of the line has the stages."""

_SHELL = re.compile(
    r"(?P<command>\S.{0,200}?)[ \t]+[0-9.]+s user [0-9.]+s system [0-9]+% cpu (?P<took>(?:[0-9]+:){0,2}[0-9]+(?:\.[0-9]+)?) total"
)
_TITLE = re.compile(r"[^():]{3,80}\((?P<unit>us|usec|ms|msec|s|sec|secs|seconds|milliseconds|microseconds)\):?")
_PART = re.compile(
    r"[ \t]*(?P<part>[0-9]{1,3}(?:\.[0-9]{1,5})?)%[ \t]+(?:in[ \t]+|<=[ \t]*)?(?P<number>[0-9]{1,12}(?:\.[0-9]{1,9})?)[ \t]?"
    r"(?P<unit>us|ms|s|secs|seconds|milliseconds|microseconds)?(?:[ \t]*\(longest request\))?[ \t]*"
)
_PHASE = re.compile(
    r"(?P<name>Connect|Processing|Waiting|Total):[ \t]+[0-9.]+[ \t]+[0-9.]+[ \t]+[0-9.]+[ \t]+(?P<middle>[0-9.]+)[ \t]+(?P<most>[0-9.]+)[ \t]*"
)
"""A row of ab: least, mean, deviation, median, most."""

_CALL = re.compile(
    r"(?P<call>[A-Za-z][A-Za-z0-9_]{1,40}(?:\[[A-Z0-9]{1,8}\])?)[ \t]{2,}.*[ \t](?P<took>[0-9]{1,6}\.[0-9]{6})(?: W)?[ \t]+\S.{0,60}\.[0-9]{1,9}[ \t]*"
)
"""Text after the stamp of a line of fs_usage -w: call, file, seconds, W if the thread slept, program and thread."""

_SQUID = re.compile(
    r"(?P<ms>[0-9]{1,9}) \S{1,45} (?P<result>(?:TCP|UDP|NONE)_[A-Z_]{2,40}|NONE)/[0-9]{3} [0-9]{1,15} (?P<method>[A-Z]{3,12}) (?P<url>\S{1,400}) .*"
)
"""What stands behind the stamp of squid's own access log: milliseconds, client, how it was answered and with which status, bytes."""

UNITS_TOO = {"milliseconds": 1e-3, "microseconds": 1e-6, "secs": 1.0}


def unit_of(line: str) -> str | None:
    """Return the unit of the times below a title such as `Connection Times (ms)`, None for any other line.

    >>> unit_of("Percentage of the requests served within a certain time (ms)"), unit_of("Time (UTC)")
    ('ms', None)
    """
    found = _TITLE.fullmatch(line.strip()) if "(" in line and len(line) <= 100 else None
    return found["unit"] if found else None


def call_of(text: str) -> tuple[str, float] | None:
    """Return call and seconds of a line of fs_usage or of a request of squid, from the text after the stamp; None for any other.

    >>> call_of("open    F=9    (R_____)  /Users/kim/notes         0.250000 W Editor.81022"), call_of("took 0.250000 s")
    (('open', 0.25), None)
    >>> call_of("4100 192.0.2.3 TCP_MISS/200 912 GET http://one.example/a?b=1 - HIER_DIRECT/192.0.2.9 text/html")
    ('GET http://one.example/a', 4.1)
    """
    if ("/" in text and text[:1].isdigit()) and (asked := _SQUID.fullmatch(text)):
        return f"{asked['method']} {asked['url'].partition('?')[0]}", int(asked["ms"]) / 1e3
    found = _CALL.fullmatch(text) if "  " in text and len(text) <= 600 else None
    return (found["call"], float(found["took"])) if found else None


def timed(line: str, unit: str | None) -> Measured | None:
    """Return name and duration in a line, None for any other line; `unit` is the unit in the title above it.

    >>> timed("1min 1.609s NetworkManager.service", None)[:2]
    ('the start of NetworkManager.service', 61.609)
    >>> timed("Startup finished in 1.5s (kernel) + 1min 2s (userspace) = 1min 3.500s", None)[:2]
    ("the system's start", 63.5)
    >>> timed("  50%  12012", "ms")[:2], timed("  50%  12012", None)
    (('a request of the load test', 12.012), None)
    >>> timed("make -j4  0.01s user 0.00s system 0% cpu 1:07.50 total", None)[:2]
    ('make -j4', 67.5)
    """
    if len(line) > 300:
        return None
    text = line.strip()
    if line.endswith(" total") and (found := _SHELL.fullmatch(text)):
        parts = [float(part) for part in found["took"].split(":")]
        return found["command"], sum(part * 60.0**n for n, part in enumerate(reversed(parts))), None, text
    if "." in line and (found := _BLAME.fullmatch(line)):
        return f"the start of {found['unit']}", _span(found["took"]), None, text
    if line.startswith("Startup finished in ") and (found := _STARTUP.fullmatch(text)):
        return STARTUP, _span(found["took"]), None, text
    if (" @" in line or " +" in line) and (found := _CHAIN.fullmatch(line)) and (found["at"] or found["took"]):
        if found["took"]:
            return f"the start of {found['unit']}", _span(found["took"]), None, text
        return f"the way to {found['unit']}", _span(found["at"]), None, text
    if "%" in line and (found := _PART.fullmatch(line)) and (found["unit"] or unit):
        return "a request of the load test", _scaled(found["number"], found["unit"] or unit or "s"), None, text
    if unit and (found := _PHASE.fullmatch(line)):
        return f"{found['name']} of a request", _scaled(found["middle"], unit), None, text
    return None


def _scaled(number: str, unit: str) -> float | None:
    try:
        return float(number) * (UNITS | UNITS_TOO)[unit]
    except ValueError:
        return None


def _span(text: str) -> float:
    """Convert a time as systemd prints it (`1min 1.609s`) to seconds."""
    return sum(float(number) * (_LONG | UNITS)[unit] for number, unit in _PIECE.findall(text))
