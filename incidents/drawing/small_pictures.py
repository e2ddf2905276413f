"""Pictures of 68 by 18 pixels beside an observation: plain shapes with a tone, which a template writes as SVG.

Each function draws figures that the caller has; where there are none, there is no picture. Tones: `usual`, `odd` (what
stands out), `ground` (the whole that a share is of).
"""

from __future__ import annotations

from dataclasses import dataclass

WIDTH, HEIGHT = 68.0, 18.0
LEAST = 1.5
"""Minimum length of a bar that stands for something above zero: a shorter one would not be seen."""


@dataclass(frozen=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    tone: str


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    r: float
    tone: str


@dataclass(frozen=True)
class Picture:
    """Shapes in the order in which they are drawn."""

    kind: str
    rects: tuple[Rect, ...] = ()
    dots: tuple[Dot, ...] = ()

    @property
    def width(self) -> int:
        return int(WIDTH)

    @property
    def height(self) -> int:
        return int(HEIGHT)


def share(part: float) -> Picture:
    """Draw a part of a whole, 0 to 1, as a bar on its ground.

    >>> [(r.tone, r.width) for r in share(0.75).rects]
    [('ground', 68.0), ('odd', 51.0)]
    """
    return Picture("share", (Rect(0, 5, WIDTH, 8, "ground"), Rect(0, 5, _length(part), 8, "odd")))


def pair(odd: float, usual: float) -> Picture | None:
    """Draw two values as two bars of one scale, the usual one above; None unless both are above zero.

    >>> [(r.tone, r.width) for r in pair(2.0, 1.0).rects]
    [('usual', 34.0), ('odd', 68.0)]
    """
    if not (odd > 0 and usual > 0):
        return None
    most = max(odd, usual)
    return Picture("pair", (Rect(0, 2, _length(usual / most), 6, "usual"), Rect(0, 10, _length(odd / most), 6, "odd")))


def sample() -> Picture:
    """Draw the dot of a single sample: a value without a course."""
    return Picture("sample", dots=(Dot(WIDTH / 2, 9, 2.0, "usual"),))


def _length(part: float) -> float:
    part = min(max(part, 0.0), 1.0)
    return round(max(part * WIDTH, LEAST), 1) if part > 0 else 0.0
