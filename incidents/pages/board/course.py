"""How the scores of the causes changed over a room's evaluations: a small chart, and the same as a table. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

MOST_LINES = 5
WIDTH, HEIGHT = 760, 190
LEFT, RIGHT, TOP, BOTTOM = 34, 250, 10, 24
LINE_GAP = 13
MARKS = (10, 20)  # decibans from which a cause is suspected, and from which it may be the cause


@dataclass(frozen=True)
class Judged:
    """One evaluation: its time, the state of its verdict, the score of each cause on its board."""

    number: int
    made_at: datetime
    state: str
    scores: Mapping[str, int]

    @classmethod
    def of(cls, number: int, made_at: datetime, kept: Sequence[object] | None) -> Judged:
        """Read the content of `Evaluation.scores`: the state (if there was one), then all codes, then all scores."""
        rest = list(kept or [])
        state = str(rest.pop(0)) if len(rest) % 2 else ""
        half = len(rest) // 2
        scores = {str(code): int(str(score)) for code, score in zip(rest[:half], rest[half:], strict=True)}
        return cls(number, made_at, state, scores)


@dataclass(frozen=True)
class Line:
    """A cause's score over the evaluations as an SVG path, with the cause's name at the end."""

    code: str
    path: str
    end_x: float
    end_y: float
    label_y: float
    label: str
    look: int


@dataclass(frozen=True)
class Level:
    """A horizontal line of the chart at a number of decibans."""

    y: float
    text: str


@dataclass(frozen=True)
class Change:
    """A row of the table: an evaluation in which a shown score or the state differs from the one before."""

    judged: Judged
    cells: list[int | None]


@dataclass(frozen=True)
class Course:
    """The parts of the chart. There are no lines with fewer than two evaluations to compare."""

    lines: list[Line]
    levels: list[Level]
    changes: list[Change]
    codes: list[str]
    first: int
    last: int
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT

    @property
    def foot(self) -> int:
        return self.height - 4


def course_of(judged: Sequence[Judged], names: Mapping[str, str]) -> Course:
    """Draw the evaluations, oldest first: at most five causes that lead now or led once.

    >>> course_of([], {}).lines
    []
    """
    if not judged:
        return Course([], [], [], [], 0, 0)
    codes = _chosen(judged)
    changes = []
    before: tuple[str, list[int | None]] | None = None
    for one in judged:
        cells = [one.scores.get(code) for code in codes]
        if (one.state, cells) != before:
            changes.append(Change(one, cells))
        before = (one.state, cells)
    if len(judged) < 2:
        return Course([], [], changes, codes, judged[0].number, judged[-1].number)
    values = [value for one in judged for code in codes if (value := one.scores.get(code)) is not None]
    low, high = min([-5, *values]), max([25, *values])

    def x(place: int) -> float:
        return round(LEFT + place * (WIDTH - LEFT - RIGHT) / (len(judged) - 1), 1)

    def y(value: int) -> float:
        return round(TOP + (high - value) * (HEIGHT - TOP - BOTTOM) / (high - low), 1)

    drawn = []
    for look, code in enumerate(codes):
        points = [(x(n), y(value)) for n, one in enumerate(judged) if (value := one.scores.get(code)) is not None]
        if points:
            drawn.append((code, look, points))
    drawn.sort(key=lambda line: line[2][-1][1])
    places = _apart([points[-1][1] for _, _, points in drawn])
    lines = [
        Line(code, _steps(points), *points[-1], place, names.get(code, code), look)
        for (code, look, points), place in zip(drawn, places, strict=True)
    ]
    levels = [Level(y(value), str(value)) for value in (0, *MARKS)]
    return Course(lines, levels, changes, codes, judged[0].number, judged[-1].number)


def _chosen(judged: Sequence[Judged]) -> list[str]:
    """Choose the causes to draw: those that led in some evaluation, newest leaders first, then the best of now."""
    led = [
        code
        for one in reversed(judged)
        if (best := max(one.scores.values(), default=0)) > 0
        for code, score in one.scores.items()
        if score == best
    ]
    now = sorted(judged[-1].scores, key=lambda code: -judged[-1].scores[code])
    return list(dict.fromkeys([*led, *(code for code in now if judged[-1].scores[code])]))[:MOST_LINES]


def _steps(points: Sequence[tuple[float, float]]) -> str:
    """Draw a score as steps: it holds until the next evaluation changes it."""
    path = [f"M{points[0][0]:g} {points[0][1]:g}"]
    path += [f"H{x:g}V{y:g}" for x, y in points[1:]]
    return "".join(path)


def _apart(places: Sequence[float]) -> list[float]:
    """Move labels, ordered from the top down, so that none covers another; those at the bottom are pushed up again."""
    made: list[float] = []
    for place in places:
        made.append(max(place, made[-1] + LINE_GAP) if made else max(place, TOP + LINE_GAP / 2))
    floor = float(HEIGHT - BOTTOM)
    for n in range(len(made) - 1, -1, -1):
        made[n] = min(made[n], floor)
        floor = made[n] - LINE_GAP
    return [round(place, 1) for place in made]
