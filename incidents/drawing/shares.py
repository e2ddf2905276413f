"""Bars that add up to a whole: where each piece begins and how wide it is, in percent for SVG attributes.

The content security policy allows no inline style, so a piece is an SVG element with `x` and `width` in percent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ACCOUNT = ("read", "unknown", "elided", "damaged", "blank", "prose")


@dataclass(frozen=True)
class Share:
    """One piece of a bar. `x` and `width` are percents with the sign, as SVG needs them; `share` is 0 to 100."""

    label: str
    amount: float
    share: float
    x: str
    width: str

    @property
    def narrow(self) -> bool:
        """Return whether the piece is too narrow for a text of its own (the legend below names it)."""
        return self.share < 7.5


def shares(pieces: Sequence[tuple[str, float]]) -> list[Share]:
    """Lay pieces side by side over the whole width; they add up to 100 %. Return [] if nothing is above zero.

    >>> [(s.label, s.x, s.width) for s in shares([("a", 1), ("b", 3)])]
    [('a', '0%', '25%'), ('b', '25%', '75%')]
    """
    total = sum(max(amount, 0.0) for _, amount in pieces)
    if total <= 0:
        return []
    laid, begin = [], 0.0
    for label, amount in pieces:
        share = 100.0 * max(amount, 0.0) / total
        laid.append(Share(label, amount, share, _percent(begin), _percent(share)))
        begin += share
    return laid


def account_shares(account: dict[str, int]) -> list[Share]:
    """Lay a line account (read, unknown, elided, damaged, blank, prose) side by side, leaving out what is zero."""
    return shares([(name, float(account[name])) for name in ACCOUNT if account.get(name)])


def _percent(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".") + "%"
