"""Pictures of 68 by 18 pixels beside an observation: plain shapes with a tone, which a template writes as SVG.

Each function draws figures that the caller has; where there are none, there is no picture. Tones: `usual`, `odd` (what
stands out), `ground` (the whole that a share is of), `line`, `base` (the axis).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

WIDTH, HEIGHT = 68.0, 18.0
FOOT = 17.0
"""Where bars stand and lines are lowest; the axis lies half a pixel below."""

TOP = 2.0
LEAST = 1.5
"""Minimum length of a bar that stands for something above zero: a shorter one would not be seen."""

MOST_POINTS = 34
"""Maximum number of points or ticks: one for every second pixel."""


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
    """Shapes in the order in which they are drawn; `course` holds the points of a line as SVG writes them."""

    kind: str
    rects: tuple[Rect, ...] = ()
    dots: tuple[Dot, ...] = ()
    course: str = ""
    base: bool = False

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


def series(values: Sequence[float]) -> Picture | None:
    """Draw values in their order as a line from the smallest to the largest; None for fewer than two."""
    if len(values) < 2:
        return None
    shown = _thinned(values)
    points = " ".join(f"{_px(x)},{_px(_y(v, values))}" for x, v in zip(_places(len(shown)), shown, strict=True))
    return Picture("series", course=points, base=True)


def requests(values: Sequence[float], slow: float | None = None) -> Picture | None:
    """Draw single measurements in their order as dots, those of `slow` and above as odd; None for fewer than two."""
    if len(values) < 2:
        return None
    shown = _thinned(values)
    dots = []
    for x, v in zip(_places(len(shown)), shown, strict=True):
        odd = slow is not None and v >= slow
        dots.append(Dot(round(2 + x * (WIDTH - 4) / WIDTH, 1), _y(v, values), 2.0 if odd else 1.3, _tone(odd)))
    return Picture("dots", dots=tuple(dots))


def histogram(counts: Sequence[int], odd_from: int | None = None) -> Picture | None:
    """Draw how many fall into each class, those from class `odd_from` on as odd; None unless two classes have any."""
    if sum(n > 0 for n in counts) < 2:
        return None
    step, most = WIDTH / len(counts), max(counts)
    bars = []
    for n, count in enumerate(counts):
        height = max(count / most * (FOOT - TOP), LEAST) if count else 0.0
        odd = odd_from is not None and n >= odd_from
        bars.append(Rect(round(n * step, 1), round(FOOT - height, 1), round(step - 1, 1), round(height, 1), _tone(odd)))
    return Picture("histogram", tuple(bars), base=True)


def ticks(moments: Sequence[float]) -> Picture | None:
    """Draw moments of one clock as ticks from the first to the last; None for fewer than two, or if all are equal."""
    if len(moments) < 2 or max(moments) <= min(moments):
        return None
    first, span = min(moments), max(moments) - min(moments)
    places = sorted({round((m - first) / span * (WIDTH - 2) / 2) * 2 for m in moments})
    return Picture("ticks", tuple(Rect(float(x), 4, 2, 13, "odd") for x in places), base=True)


def sample() -> Picture:
    """Draw the dot of a single sample: a value without a course."""
    return Picture("sample", dots=(Dot(WIDTH / 2, 9, 2.0, "usual"),), base=True)


def _tone(odd: bool) -> str:
    return "odd" if odd else "usual"


def _length(part: float) -> float:
    part = min(max(part, 0.0), 1.0)
    return round(max(part * WIDTH, LEAST), 1) if part > 0 else 0.0


def _y(value: float, values: Sequence[float]) -> float:
    low, high = min(values), max(values)
    return round(FOOT - (value - low) / (high - low) * (FOOT - TOP), 1) if high > low else (TOP + FOOT) / 2


def _thinned(values: Sequence[float]) -> list[float]:
    """Keep of many values the largest of each stretch, so that what stands out is not lost."""
    if len(values) <= MOST_POINTS:
        return list(values)
    borders = [round(n * len(values) / MOST_POINTS) for n in range(MOST_POINTS + 1)]
    return [max(values[a:b]) for a, b in pairwise(borders)]


def _places(count: int) -> list[float]:
    return [n * WIDTH / (count - 1) for n in range(count)]


def _px(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
