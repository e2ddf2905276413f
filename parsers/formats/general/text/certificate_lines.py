"""Read the validity dates of certificates from single lines of tools.

Tools: openssl (`x509 -dates`, `-text`, `s_client`), curl -v, keytool, nmap, certtool and gnutls-cli.
"""

from __future__ import annotations

import re

from parsers.formats.general.text.single_lines import Pair
from parsers.text.times import month, wall_seconds

NOT_BEFORE, NOT_AFTER = "NotBefore", "NotAfter"
"""Parameter names of the two dates: the names of the certificate's fields (RFC 5280, 4.1.2.5)."""

_TIME = r"(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} (?:[A-Z]{3,5} )?[0-9]{4}(?: [A-Z]{3,5})?"
_ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(?:Z| ?[A-Z]{3,5}|[+-][0-9]{2}:?[0-9]{2})?"


def _date(name: str) -> str:
    return rf"[ \t]*[`'\"]?(?P<{name}>{_TIME}|{_ISO})[`'\"]?"


_FROM = r"(?:(?:not|Not) ?(?:before|Before) ?[:=]|Not valid before:|start date:|Valid from:|activated)"
_UNTIL = r"(?:(?:not|Not) ?(?:after|After) ?[:=]|Not valid after:|expire date:|until:|expires)"
_LINE = re.compile(
    rf".{{0,40}}?(?:{_FROM}{_date('begin')}[;,]?[ \t]*(?:{_UNTIL}{_date('end')})?|{_UNTIL}{_date('only_end')})[ .]*"
)
_PARTS = re.compile(
    r"(?:[A-Z][a-z]{2} )?(?P<month>[A-Z][a-z]{2}) (?P<day>[ 0-9][0-9]) (?P<h>[0-9]{2}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2})"
    r" (?:(?P<zone>[A-Z]{3,5}) )?(?P<year>[0-9]{4})(?: (?P<zone2>[A-Z]{3,5}))?"
)


def validity(line: str) -> list[Pair]:
    """Return the validity dates in a line, each with its seconds since 1970; an empty list for any other line.

    >>> [(p.name, p.num) for p in validity("notAfter=Mar  1 00:00:00 2026 GMT")], validity("Not after: lunch")
    ([('NotAfter', 1772323200.0)], [])
    """
    found = _LINE.fullmatch(line) if len(line) <= 300 and ":" in line else None
    if found is None:
        return []
    ends = ((NOT_BEFORE, found["begin"]), (NOT_AFTER, found["end"] or found["only_end"]))
    return [Pair(name, date, _seconds(date), None, True) for name, date in ends if date]


def _seconds(date: str) -> float | None:
    """Return the seconds since 1970 of a date in UTC or without a zone; None for a date in another zone."""
    if made := _PARTS.fullmatch(date):
        if (made["zone"] or made["zone2"] or "GMT") not in ("GMT", "UTC"):
            return None
        number = month(made["month"])
        year, day = int(made["year"]), int(made["day"])
        clock = made["h"], made["m"], made["s"]
    else:
        if not re.fullmatch(r"(?:Z| ?(?:GMT|UTC)|[+-]00:?00)?", date[19:]):
            return None
        year, number, day = (int(x) for x in date[:10].split("-"))
        clock = (date[11:13], date[14:16], date[17:19])
    if not number:
        return None
    return wall_seconds(year, number, day, *(int(x) for x in clock))
