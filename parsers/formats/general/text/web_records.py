"""Read requests in IIS logs (W3C Extended Log File Format), whose line `#Fields:` names the fields.

Only logs with the field sc-win32-status are read, because only IIS has it: other servers print time-taken in seconds,
IIS in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

HEAD = "#Fields: "
OF_IIS = "sc-win32-status"
FAILED = 500
"""Lowest HTTP status that counts as a failure of the server."""


def fields_of(line: str) -> list[str] | None:
    """Return the field names in a line `#Fields:` of IIS; None for any other line.

    >>> fields_of("#Fields: date time cs-method sc-status sc-win32-status time-taken")
    ['date', 'time', 'cs-method', 'sc-status', 'sc-win32-status', 'time-taken']
    >>> fields_of("#Fields: date time x-edge-location time-taken")
    """
    if not line.startswith(HEAD):
        return None
    names = line.removeprefix(HEAD).split()
    return names if OF_IIS in names and "time-taken" in names else None


def request_of(names: Sequence[str], line: str) -> tuple[str, float, bool] | None:
    """Return method and path, elapsed seconds, and whether the status is below 500; None for a line with other fields.

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
