"""Read lines without a stamp in which a program says how long a step or a request of it took, in any tool's words.

A person who writes "it took 20 seconds" is none: the figure has a unit below a second or a fraction, and the line says
what took so long. A request is told by its method and address, with its time behind them (morgan of Node.js, npm, curl
wrappers, loggers of web frameworks).
"""

from __future__ import annotations

import re

from parsers.formats.general.text.network_lines import Measured

LONGEST = 400

_FIGURE = (
    r"(?P<n>[0-9]{1,12}(?:\.[0-9]{1,9})?)[ ]?(?P<unit>ms|msecs?|milliseconds?|us|usecs?|µs|microseconds?)\b"
    r"|(?P<whole>[0-9]{1,9}\.[0-9]{1,9})[ ]?(?:s|secs?|seconds?)\b"
)
_WORDS = r"(?:took|lasted|waited|waited for|spent|elapsed|(?:finished|completed|done|succeeded|ready|executed|ran|returned) (?:in|after))"
_STEP = re.compile(rf"[ \t]*(?P<what>\S.{{1,200}}?),?[ \t]+{_WORDS}:?[ \t]+(?:{_FIGURE})(?P<rest>.*)")
_ADDRESS = r"(?P<method>GET|POST|PUT|HEAD|DELETE|PATCH) (?:[0-9]{3} )?(?P<url>(?:https?://|/)[^\s\"']{0,300})"
_REQUEST = re.compile(
    rf"(?:[^\"']{{0,80}}[ \t\"'|\[(])?{_ADDRESS}[\"']?[ \t].{{0,80}}?(?<![\w.-])(?:{_FIGURE})(?P<rest>.*)"
)
_SPEAKER = re.compile(r"(?i)(?:.*\b)?(?:i|we|you|it|this|that|which|he|she|they|also|only|just|usually|sometimes)")
_SEVERAL = re.compile(r"[0-9] ?(?:ms|us|µs|s|secs?|seconds?)\b")
"""A time among the words before the time: a line of several figures, none of which is that of a step."""

_SECONDS = {"m": 1e-3, "u": 1e-6, "µ": 1e-6}


def lasted(line: str) -> Measured | None:
    """Return name and duration of what a line says to have lasted, None for any other line.

    >>> lasted("Printer Settings Extension took 91200 milliseconds to complete.")[:2]
    ('Printer Settings Extension', 91.2)
    >>> lasted("GET /api/baskets 200 7012.250 ms - 512")[:2], lasted("pkg http fetch GET 200 https://one.example/a?x=1 9100ms (miss)")[:2]
    (('GET /api/baskets', 7.01225), ('GET https://one.example/a', 9.1))
    >>> lasted("In my test it took 500 ms."), lasted("The import took 20 seconds."), lasted("GET /api/baskets 200 512")
    (None, None, None)
    """
    if len(line) > LONGEST:
        return None
    if "/" in line and (found := _REQUEST.fullmatch(line)):
        return f"{found['method']} {found['url'].partition('?')[0]}", _seconds(found), None, line.strip()
    if not any(word in line for word in ("took", "lasted", "waited", "spent", "elapsed", " in ", " after ")):
        return None
    found = _STEP.fullmatch(line)
    if found is None or _SPEAKER.fullmatch(found["what"]) or _SEVERAL.search(found["what"]):
        return None
    return found["what"].strip(" :-").strip(), _seconds(found), None, line.strip()


def _seconds(found: re.Match[str]) -> float:
    if found["whole"]:
        return float(found["whole"])
    return round(float(found["n"]) * _SECONDS[found["unit"][0]], 9)
