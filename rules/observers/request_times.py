"""Which requests of an access log are answered late, and which stay open because their caller waits for news.

A server's own log has one time for each request, without parts: it says which request is late, not for what. Requests
of one path are late if the middle one takes `LATE_S` or longer and there are `LEAST` of them, or one of `SURELY_S`.
Left out: a few among many requests, paths whose names say that the answer waits for an event (long polls, streams,
sockets), and transfers, whose time the client's line makes.
"""

from __future__ import annotations

import re

from rules.signatures.signatures import Seen

LATE_S = 1.0
LEAST = 2
SURELY_S = 5.0
"""Length in seconds from which a single request is late: a hiccup is shorter."""

MANY, RARE = 50, 0.02
"""Number of requests of a log, and the part of them up to which late ones say nothing of the server: a report takes its time."""

_REQUEST = re.compile(r"(?:GET|POST|PUT|HEAD|DELETE|PATCH|OPTIONS) (?:https?://[^/ ]+)?/.*")
_OPEN = re.compile(
    r"(?i)(?:long|event|msg|message|_)?poll(?:ing|er)?\b"
    r"|\bsignalr\b|\bsock(?:et|js)|websocket|/wss?\b|/hubs?\b|\bsse\b|event-?(?:stream|source)"
    r"|\bstreams?\b|/events?\b|\bsubscri|\bcomet\b|\blive(?:reload)?\b"
    r"|[?&/]watch\b|\bfollow\b|keep-?alive|\b(?:bosh|cometd|eventbus)\b"
    r"|\btail\b|/attach\b|/exec\b|/wait\b"
)
_TRANSFER = re.compile(
    r"(?i)\b(?:up|down)loads?\b|/blobs?/|/attachments?\b|^PUT "
    r"|\.(?:iso|zip|t?gz|bz2|xz|mp4|mkv|mov|avi|exe|msi|dmg|rpm|deb|pdf|jar|war)$"
)


def stays_open(op: str) -> bool:
    """Return whether a request waits for news by its name, so that its time is nobody's.

    >>> stays_open("GET /signalr/poll"), stays_open("GET /polls/7"), stays_open("GET /api/orders")
    (True, False, False)
    """
    return bool(_REQUEST.fullmatch(op) and _OPEN.search(op))


def late_request(op: str, middle_s: float, late: int, late_s: float, timed: int) -> tuple[Seen, ...]:
    """Return what names requests that are answered late: `late` of `LATE_S` or longer, of `timed` in the log.

    `late_s`: the seconds of the late ones together.

    >>> late_request("GET /api/orders", 9.2, 2, 18.4, 3), late_request("GET /api/orders", 0.2, 2, 18.4, 3)
    (({'event': 'request-late'},), ())
    >>> late_request("GET /a.iso", 9.2, 2, 18.4, 3), late_request("GET /api/orders", 9.2, 2, 18.4, 900)
    ((), ())
    """
    if timed >= MANY and late <= RARE * timed:
        return ()
    if not _REQUEST.fullmatch(op) or _OPEN.search(op) or _TRANSFER.search(op):
        return ()
    return ({"event": "request-late"},) if middle_s >= LATE_S and (late >= LEAST or late_s >= SURELY_S) else ()
