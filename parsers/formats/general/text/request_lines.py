r"""Read requests of access logs whose line ends with the time that the request took, or names it in words.

Forms: the request in quotation marks with status and size, and behind them a time with a unit or, as the last word, seconds with
a fraction (Django, gunicorn's `%(L)s`, Traefik, Caddy, CherryPy); uWSGI's `generated N bytes in N msecs`; Envoy, whose third
figure behind the flags is the whole time in ms; Gin, Fiber and Echo with `|` between the fields. A last integer without a unit
is none: servers print seconds, milliseconds and microseconds there. Lines in which a proxy splits its time are `proxy_queues`'.
Source: gunicorn, access_log_format; Traefik, Access logs; uWSGI, core/logging.c; Envoy, Access logging, default format; gin
logger.go; Elastic and nginx name the request's time request_time.
"""

from __future__ import annotations

import re

LONGEST = 2_000

_METHOD = r"(?P<method>GET|POST|PUT|HEAD|DELETE|PATCH|OPTIONS|PROPFIND|REPORT)"
_PATH = r"(?P<path>(?:https?://|/)[^\s\"']{0,500})"
_UNIT = r"(?P<unit>µs|us|ms|msecs?|milliseconds|s|secs?|seconds)"
_QUOTED = re.compile(rf"\"{_METHOD} {_PATH}(?: HTTP/[0-9.]{{1,3}})?\"(?P<rest>.*)")
_WITH_UNIT = re.compile(rf"(?:^|[ \t(=])(?P<n>[0-9]{{1,12}}(?:\.[0-9]{{1,9}})?) ?{_UNIT}\)?[ \t]*")
_LAST = re.compile(r"[ \t](?P<n>[0-9]{1,7}\.[0-9]{3,9})[ \t]*")
_NAMED = re.compile(r"(?:^|[ \t])(?:request_time|rt)[=:]\"?(?P<n>[0-9]{1,7}\.[0-9]{3})\"?(?:[ \t,]|$)")
_STATUS = re.compile(r"[ \t](?P<status>[1-5][0-9]{2})[ \t]")
_ENVOY = re.compile(
    r"[ \t](?P<status>[0-9]{3}) (?:-|[A-Z]{2,5}(?:,[A-Z]{2,5}){0,3})(?: \S{1,80} - \"[^\"]{0,100}\")? "
    r"[0-9]{1,15} [0-9]{1,15} (?P<n>[0-9]{1,9}) (?:-|[0-9]{1,9}) .*"
)
_UWSGI = re.compile(
    rf".{{0,300}}[\] ]{_METHOD} {_PATH} => generated [0-9]{{1,15}} bytes in (?P<n>[0-9]{{1,12}}) (?P<unit>msecs|micros)\b.*"
)
_UWSGI_STATUS = re.compile(r"\(HTTP/[0-9.]{1,3} (?P<status>[0-9]{3})\)")
_BARS = re.compile(
    rf".{{0,80}}\|[ \t]*(?P<status>[1-5][0-9]{{2}})[ \t]*\|[ \t]*(?P<n>(?:[0-9]{{1,3}}m)?[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?){_UNIT}[ \t]*\|.{{0,80}}\|"
    rf"[ \t]*{_METHOD}[ \t|]{{1,10}}\"?{_PATH}.*"
)
_SECONDS = {"m": 1e-3, "u": 1e-6, "µ": 1e-6, "s": 1.0}
FAILED = 500
"""Lowest HTTP status that counts as a failure of the server."""

Request = tuple[str, float, bool]


def requested(text: str) -> Request | None:
    """Return method and path, seconds, and whether the status is below 500; None for any other line.

    >>> requested('"GET /catalog/?page=2 HTTP/1.1" 200 48123 (took 11.82s)')
    ('GET /catalog/', 11.82, True)
    >>> requested('"GET /export HTTP/1.1" 200 81231 "-" "python-requests/2.28" 24.118203')
    ('GET /export', 24.118203, True)
    >>> requested('"GET /v1/items HTTP/1.1" 504 UT 0 24 15001 - "192.0.2.9" "okhttp" "a1b2" "items" "192.0.2.7:80"')
    ('GET /v1/items', 15.001, False)
    >>> requested("[pid: 31|app: 0] 192.0.2.4 () GET /export => generated 81 bytes in 24118 msecs (HTTP/1.1 200) 3 headers")
    ('GET /export', 24.118, True)
    >>> requested('| 200 |  9.211s |  192.0.2.9 | GET "/v1/items"')
    ('GET /v1/items', 9.211, True)
    >>> requested('"GET /v1/items HTTP/1.1" 200 512'), requested('"GET /v1/items HTTP/1.1" 200 512 "-" "-" 9211331')
    (None, None)
    """
    if len(text) > LONGEST or "/" not in text:
        return None
    if " => generated " in text:
        if (found := _UWSGI.fullmatch(text)) is None:
            return None
        return _of(found, _UWSGI_STATUS.search(text), "us" if found["unit"] == "micros" else "ms")
    if "|" in text and (found := _BARS.fullmatch(text)):
        return _of(found, found, found["unit"])
    if '"' not in text or (asked := _QUOTED.search(text)) is None:
        return None
    rest = asked["rest"]
    status = _STATUS.match(rest)
    if status is None:
        return None
    if figure := _ENVOY.fullmatch(rest):
        return _of(asked, status, "ms", figure["n"])
    if "urt=" in rest or "upstream_response_time" in rest:
        return None
    if figure := _NAMED.search(rest):
        return _of(asked, status, "s", figure["n"])
    end = rest[-40:]
    for shape in (_WITH_UNIT, _LAST):
        for figure in shape.finditer(end):
            if figure.end() == len(end):
                return _of(asked, status, figure["unit"] if shape is _WITH_UNIT else "s", figure["n"])
    return None


def _of(asked: re.Match[str], status: re.Match[str] | None, unit: str, n: str | None = None) -> Request:
    figure = asked["n"] if n is None else n
    minutes, _, seconds = figure.rpartition("m")
    elapsed = float(minutes or 0) * 60.0 + float(seconds) * _SECONDS[unit[0]]
    answered = status is None or int(status["status"]) < FAILED
    return f"{asked['method']} {asked['path'].partition('?')[0]}", round(elapsed, 9), answered
