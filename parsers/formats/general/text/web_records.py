"""Requests in the logs of IIS: fields with the names that a line above them gives (`#Fields:`, W3C Extended Log File Format).

Only such logs are read whose fields say that they are of IIS (sc-win32-status): others count the time taken in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

HEAD = "#Fields: "
OF_IIS = "sc-win32-status"
FAILED = 500
"""Status from which a server says that it could not answer."""


def fields_of(line: str) -> list[str] | None:
    """Return the names that a line gives to the fields of the lines below it, None for any other line.

    >>> fields_of("#Fields: date time cs-method sc-status sc-win32-status time-taken")
    ['date', 'time', 'cs-method', 'sc-status', 'sc-win32-status', 'time-taken']
    >>> fields_of("#Fields: date time x-edge-location time-taken")
    """
    if not line.startswith(HEAD):
        return None
    names = line.removeprefix(HEAD).split()
    return names if OF_IIS in names and "time-taken" in names else None


def request_of(names: Sequence[str], line: str) -> tuple[str, float, bool] | None:
    """Return what was asked for, the seconds taken, and whether it was answered; None for a line with other fields.

    >>> request_of(["date", "time", "cs-method", "cs-uri-stem", "sc-status", "time-taken"], "2024-01-02 03:04:05 GET /a 200 1250")
    ('GET /a', 1.25, True)
    """
    cells = line.split()
    if len(cells) != len(names):
        return None
    row = dict(zip(names, cells, strict=True))
    taken, status = row["time-taken"], row.get("sc-status", "")
    if not (taken.isascii() and taken.isdigit()):
        return None
    asked = " ".join(row[n] for n in ("cs-method", "cs-uri-stem") if n in row)
    return asked, int(taken) / 1e3, not (status.isascii() and status.isdigit() and int(status) >= FAILED)
