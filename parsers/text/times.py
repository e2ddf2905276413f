"""Parse time texts: localised months, decimal commas, wall clocks, hours that a zone has twice or never.

A wall clock counts the seconds that its digits show since 1970-01-01T00:00:00 (`WALL_BASE`), whatever the zone. So
times of one host can be subtracted, and a zone is a property of the domain, never of the rows.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl

WALL_BASE = "1970-01-01T00:00:00"

_MONTHS = {
    1: "jan january januar januari janvier janv janeiro gennaio gen enero ene ocak oca styczeń sty янв января led tammi",
    2: "feb february februar februari février févr fevrier fev fevereiro febbraio febrero şubat şub luty lut фев helmi",
    3: "mar march märz mär mrz maart mrt mars março marzo mart marzec марта bře maalis",
    4: "apr april avril avr abril abr aprile nisan nis kwiecień kwi апр апреля dub huhti",
    5: "may mai mei maio mag maggio mayo mayıs maj мая май kvě touko",
    6: "jun june juni juin junho jun giugno giu junio haziran haz czerwiec cze июн июня čvn kesä",
    7: "jul july juli juillet juil julho luglio lug julio temmuz tem lipiec lip июл июля čvc heinä",
    8: "aug august augustus août aou agosto ago ağustos ağu sierpień sie авг августа srp elo",
    9: "sep sept september septembre setembro set settembre septiembre eylül eyl wrzesień wrz сен сентября zář syys",
    10: "oct october oktober okt octobre outubro out ottobre ott octubre ekim eki październik paź окт октября říj loka",
    11: "nov november novembre novembro noviembre kasım kas listopad lis ноя ноября marras",
    12: "dec december dezember dez décembre déc dezembro dicembre dic diciembre aralık ara grudzień gru дек декабря joulu",
}
MONTHS: dict[str, int] = {name: number for number, names in _MONTHS.items() for name in names.split()}
"""Month numbers 1..12 by name, in lower case without dots."""


def month(text: str) -> int | None:
    """Return the number of a month: English and other names in any case, numbers, `2월` and `2月`.

    >>> month("AUG"), month("2월 "), month("Mär."), month("13"), month("xyz")
    (8, 2, 3, None, None)
    """
    word = text.strip().strip(".").rstrip("월月").strip().lower()
    number = int(word) if word.isdecimal() else MONTHS.get(word)
    return number if number is not None and 1 <= number <= 12 else None


def wall_seconds(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: float = 0.0) -> float | None:
    """Return the seconds of a wall clock since WALL_BASE, None if there is no such date or time.

    >>> wall_seconds(1970, 1, 2, 0, 0, 1.5), wall_seconds(2015, 2, 30)
    (86401.5, None)
    """
    try:
        at = datetime(year, month, day, hour, minute)
    except (ValueError, OverflowError):
        return None
    return (at - datetime(1970, 1, 1)).total_seconds() + second if 0 <= second < 61 else None


def span_s(stamps: pl.Series) -> tuple[float | None, float | None]:
    """Return the earliest and latest of a column of stamps, both None if there is none.

    >>> span_s(pl.Series([2.5, None, 1.0])), span_s(pl.Series([None], dtype=pl.Float64))
    ((1.0, 2.5), (None, None))
    """
    earliest, latest = stamps.min(), stamps.max()
    return (earliest, latest) if isinstance(earliest, float) and isinstance(latest, float) else (None, None)


def wall_text(seconds: float) -> str:
    """Return the seconds of a wall clock as ISO text without a zone.

    >>> wall_text(86401.5)
    '1970-01-02T00:00:01.500000'
    """
    return (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()


def zone_trouble(seconds: float, zone: str) -> str | None:
    """Return `ambiguous` if a wall clock's hour comes twice in a zone, `missing` if the zone skips it, else None.

    Raises zoneinfo.ZoneInfoNotFoundError for a zone that is unknown.

    >>> zone_trouble(wall_seconds(2016, 10, 30, 2, 30), "Europe/Warsaw")
    'ambiguous'
    >>> zone_trouble(wall_seconds(2016, 3, 27, 2, 30), "Europe/Warsaw")
    'missing'
    """
    at = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    first = at.replace(tzinfo=ZoneInfo(zone), fold=0).utcoffset()
    second = at.replace(tzinfo=ZoneInfo(zone), fold=1).utcoffset()
    if first is None or second is None or first == second:
        return None
    return "ambiguous" if first > second else "missing"


_PART_HOURS = {
    # Zones that have had this offset in winter and summer for as long as there are logs.
    -34200: "Pacific/Marquesas",
    16200: "Asia/Kabul",
    19800: "Asia/Kolkata",
    20700: "Asia/Kathmandu",
    23400: "Asia/Yangon",
    31500: "Australia/Eucla",
    34200: "Australia/Darwin",
}


def zone_name(seconds: int) -> str | None:
    """Return the name of a zone that always has this offset, None if there is none.

    >>> zone_name(28800), zone_name(-14400), zone_name(0), zone_name(19800), zone_name(1)
    ('Etc/GMT-8', 'Etc/GMT+4', 'UTC', 'Asia/Kolkata', None)
    """
    if seconds in _PART_HOURS:
        return _PART_HOURS[seconds]
    hours, rest = divmod(seconds, 3600)
    if rest or not -12 <= hours <= 14:
        return None
    return "UTC" if not hours else f"Etc/GMT{-hours:+d}"


SIGN_CLEAR = {
    # A number is clear by itself if it has both signs, not three digits after the sign, or a leading zero.
    ",": r"^(?:[0-9]+(?:\.[0-9]{3})+,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})|0+,[0-9]+|[0-9]+(?:\.[0-9]{3}){2,})$",
    ".": r"^(?:[0-9]+(?:,[0-9]{3})+\.[0-9]+|[0-9]+\.(?:[0-9]{1,2}|[0-9]{4,})|0+\.[0-9]+|[0-9]+(?:,[0-9]{3}){2,})$",
}


def decimal_sign(numbers: pl.Series) -> str | None:
    """Return a file's decimal sign from all its numbers: "," or "."; None if there are only numbers like `1,234`.

    If both signs are used, the one with more clear numbers decides the ambiguous ones. Numbers without any sign, or
    like `1.234` with no comma anywhere, mean ".".

    >>> [decimal_sign(pl.Series(x)) for x in (["1,234", "0,31"], ["1,234"], ["1.234"])]
    [',', None, '.']
    """
    votes = {sign: int(numbers.str.contains(clear).sum()) for sign, clear in SIGN_CLEAR.items()}
    if votes["."] == votes[","] == 0:
        return None if numbers.str.contains(",", literal=True).any() else "."
    return "," if votes[","] > votes["."] else "."


def decimal(column: str, sign: str | None) -> pl.Expr:
    """Convert number texts to Float64: a clear one by its own sign, an ambiguous one by `sign` (None gives NULL)."""
    text = pl.col(column)
    comma = text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    point = text.str.replace_all(",", "", literal=True)
    open_one = text if sign is None else comma if sign == "," else point
    by_sign = (
        pl.when(text.str.contains(SIGN_CLEAR[","]))
        .then(comma)
        .when(text.str.contains(SIGN_CLEAR["."]))
        .then(point)
        .otherwise(open_one)
    )
    # The caller's pattern only ensures digits and signs: `1,2,3` becomes NULL and is left to the notes.
    return by_sign.cast(pl.Float64, strict=False)
