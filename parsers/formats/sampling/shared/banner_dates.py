"""Read dates in banners of sysstat and similar tools, which have no month names: `07/04/07` can be two days.

Linux 5.4.0 (db1)   06/01/20   _x86_64_   (8 CPU)         as the locale has it: US, `2018-12-18`, `21.02.2025`
SunOS db1 5.10 Generic sun4u    08/19/2010                month first on Solaris, AIX, HP-UX
"""

from __future__ import annotations

import re

from parsers.tables.clock_domains import question
from parsers.tables.rows import Tables
from parsers.text.source import Hints
from parsers.text.times import wall_seconds, wall_text


def banner_day(text: str, order: str | None, month_first: bool) -> tuple[float | None, tuple[str, str] | None]:
    """Return a banner's date as wall seconds of its midnight (None if it is not a date), and both readings if two are possible.

    `order` is what a person stated (`dmy`, `mdy`); without it three bare numbers are month first, as in most locales of sysstat,
    unless that is not a date. `month_first`: the system prints no other order. A year of four digits in first place is the year.

    >>> banner_day("2018-12-18", None, False)[0] == banner_day("18.12.2018", None, False)[0]
    True
    >>> banner_day("07/04/07", None, False)[1], banner_day("07/04/07", "dmy", False)[1], banner_day("07/13/07", None, False)[1]
    (('2007-07-04', '2007-04-07'), None, None)
    """
    numbers = re.findall(r"[0-9]+", text)
    if len(numbers) != 3:
        return None, None
    first, second, third = map(int, numbers)
    if len(numbers[0]) == 4:
        return wall_seconds(first, second, third), None
    year = third if len(numbers[2]) == 4 else 2000 + third if third < 70 else 1900 + third
    by_month, by_day = wall_seconds(year, first, second), wall_seconds(year, second, first)
    if "." in text or (order == "dmy" and not month_first):
        return by_day, None
    if month_first or order == "mdy" or by_month is None or by_day is None or by_month == by_day:
        return (by_day if by_month is None and not month_first else by_month), None
    return by_month, (wall_text(by_month)[:10], wall_text(by_day)[:10])


def read_banner_day(text: str, line_no: int, hints: Hints, out: Tables, *, month_first: bool = False) -> float | None:
    """Return a banner's date in the order a person stated or in the usual one; note what is doubtful, and ask once for each part."""
    day, readings = banner_day(text, hints.date_order, month_first=month_first)
    if day is None:
        out.note(line_no, line_no, "remark", f"no such date: {text}: times count from midnight")
    if readings is not None:
        words = f"date {text} is read as month/day/year: {readings[0]}; day/month/year would be {readings[1]}"
        out.note(line_no, line_no, "remark", words)
        out.ask(
            question(
                "date_order",
                f"Is {text} {readings[0]} (month first) or {readings[1]} (day first)?",
                "both are days; the tool prints the month first unless its locale says otherwise",
                line_no,
                default="mdy",
                choices=["mdy", "dmy"],
            )
        )
    return day
