"""Read requests in logs of the W3C Extended Log File Format, whose line `#Fields:` names the fields: IIS and CloudFront.

The unit of time-taken depends on who writes: milliseconds if there is sc-win32-status, which only IIS has; seconds if there is
x-edge-location, which only CloudFront has. Logs without either are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HEAD = "#Fields: "
OF_IIS = "sc-win32-status"
OF_CLOUDFRONT = "x-edge-location"
_FIGURE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
FAILED = 500
"""Lowest HTTP status that counts as a failure of the server."""


def fields_of(line: str) -> list[str] | None:
    """Return the field names in a line `#Fields:` of IIS or CloudFront; None for any other line.

    >>> fields_of("#Fields: date time cs-method sc-status sc-win32-status time-taken")
    ['date', 'time', 'cs-method', 'sc-status', 'sc-win32-status', 'time-taken']
    >>> fields_of("#Fields: date time cs-uri-stem time-taken")
    """
    if not line.startswith(HEAD):
        return None
    names = line.removeprefix(HEAD).split()
    return names if (OF_IIS in names or OF_CLOUDFRONT in names) and "time-taken" in names else None


def request_of(names: Sequence[str], line: str) -> tuple[str, float, bool] | None:
    """Return method and path, elapsed seconds, and whether the status is below 500; None for a line with other fields.

    >>> request_of(["date", "time", "cs-method", "cs-uri-stem", "sc-status", "time-taken"], "2024-01-02 03:04:05 GET /a 200 1250")
    ('GET /a', 1.25, True)
    >>> request_of(["date", "time", "x-edge-location", "cs-method", "cs-uri-stem", "sc-status", "time-taken"], "2024-01-02 03:04:05 AMS1 GET /a 504 30.5")
    ('GET /a', 30.5, False)
    """
    cells = line.split("\t") if "\t" in line else line.split()
    if len(cells) != len(names):
        return None
    row = dict(zip(names, cells, strict=True))
    taken, status = row["time-taken"], row.get("sc-status", "")
    if not _FIGURE.fullmatch(taken):
        return None
    asked = " ".join(row[n] for n in ("cs-method", "cs-uri-stem") if n in row)
    return (
        asked,
        float(taken) / (1.0 if OF_CLOUDFRONT in row else 1e3),
        not (status.isascii() and status.isdigit() and int(status) >= FAILED),
    )
