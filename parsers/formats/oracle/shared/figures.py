"""Figures as Oracle's reports print them: `.7`, `35,732`, `10.2K`, `2.31ms`, `7.57h`, `26%`; a retyped one may have a decimal comma."""

from __future__ import annotations

import re

_FIGURE = re.compile(r"^(-?[0-9]*[.,]?[0-9][0-9.,]*) ?(us|ms|ns|s|m|h|[KMGT]|%)?$")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_THOUSANDS = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def figure(text: str | None) -> float | None:
    """Read a number with its thousands and suffix; NULL for text and for blanks.

    >>> figure("35,732"), figure(".7"), figure("10.2K"), figure("0,31"), figure("1.234.567,5"), figure("#####")
    (35732.0, 0.7, 10200.0, 0.31, 1234567.5, None)
    """
    found = _FIGURE.match((text or "").strip())
    if found is None:
        return None
    digits = found[1]
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
    return value * _THOUSANDS.get(found[2] or "", 1.0)


def seconds(text: str | None, unit: str | None = None) -> float | None:
    """Read a time with its unit behind it, else in `unit` (ms, s ...); None where neither tells.

    >>> seconds("137.38us"), seconds("55.26m"), seconds("184", "ms"), seconds("184")
    (0.00013738, 3315.6, 0.184, None)
    """
    value = figure(text)
    found = _FIGURE.match((text or "").strip())
    told = found[2] if found and found[2] in _SECONDS else unit
    return None if value is None or told is None else round(value * _SECONDS[told], 12)
