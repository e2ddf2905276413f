"""Write figures as people read them. It loads nothing: pages use it in processes that must not load Polars."""

from __future__ import annotations

from rules.writing.messages import duration


def figure(value: float, unit: str) -> str:
    """Return a figure as people read it: three significant digits at least, thousands apart, a unit.

    >>> figure(5.0052, "s"), figure(0.00213, "s"), figure(12345, "count"), figure(91.24, "%"), figure(0.5, "per s")
    ('5.005 s', '2.13 ms', '12,345', '91.2 %', '0.50 per s')
    """
    if unit == "s":
        return duration(value)
    digits = 0 if float(value).is_integer() or abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    text = f"{value:,.{digits}f}"
    return text if unit in ("count", "") else f"{text} {unit}"
