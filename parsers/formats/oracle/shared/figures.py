"""Convert figures of Oracle's reports: `.7`, `35,732`, `10.2K`, `2.31ms`, `7.57h`, `26%`; a retyped figure may have a decimal comma."""

from __future__ import annotations

import re

_FIGURE = re.compile(r"^(-?[0-9]*[.,]?[0-9][0-9.,]*) ?(us|ms|ns|s|m|h|[KMGT]|%)?$")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_THOUSANDS = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def figure(text: str | None) -> float | None:
    """Convert a number with separated thousands and a suffix; return None for text and for blanks.

    >>> figure("35,732"), figure(".7"), figure("10.2K"), figure("0,31"), figure("1.234.567,5"), figure("#####")
    (35732.0, 0.7, 10200.0, 0.31, 1234567.5, None)
    """
    match = _FIGURE.match((text or "").strip())
    if match is None:
        return None
    digits = match[1]
    if re.fullmatch(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?", digits) or (
        "," in digits and digits.rfind(".") > digits.rfind(",")
    ):
        digits = digits.replace(",", "")
    elif "," in digits:
        whole, _, part = digits.rpartition(",")
        digits = (
            f"{whole.replace('.', '').replace(',', '')}.{part}" if digits.count(",") == 1 else digits.replace(",", "")
        )
    try:
        value = float(digits)
    except ValueError:
        return None
    return value * _THOUSANDS.get(match[2] or "", 1.0)


def seconds(text: str | None, unit: str | None = None) -> float | None:
    """Convert a time to seconds by the unit after it, else by `unit` (ms, s ...); return None if neither is known.

    >>> seconds("137.38us"), seconds("55.26m"), seconds("184", "ms"), seconds("184")
    (0.00013738, 3315.6, 0.184, None)
    """
    value = figure(text)
    match = _FIGURE.match((text or "").strip())
    unit_found = match[2] if match and match[2] in _SECONDS else unit
    return None if value is None or unit_found is None else round(value * _SECONDS[unit_found], 12)
