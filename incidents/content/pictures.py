"""Draw a frame as an SVG picture for reports and pages without scripts, with the page's strips in light colours."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from incidents.content.visible import visible
from incidents.drawing.axis_times import time_of_day
from incidents.drawing.lane import Drawing, Sample, Span, Window

NAMES, MARGIN, AXIS, HEAD, LINE = 150, 8, 24, 40, 18
HIGH = {"span": 26, "event": 20, "counter": 42}
BAR = 18
TOKENS = Path(__file__).resolve().parents[2] / "static" / "css" / "tokens.css"
FILLS = {"culprit": "h-hot", "wait": "h-wait2", "rest": "h-call", "error": "h-hot"}
STACK = ("h-call", "h-hot", "h-wait2", "h-wait")
FONT = "system-ui, sans-serif"

Json = Mapping[str, Any]


@cache
def colours() -> dict[str, str]:
    """Read the light colours by token name from the page's CSS, the only file that holds them."""
    return dict(re.findall(r"--([\w-]+): var\(--light, (#[0-9a-f]{3,6})\)", TOKENS.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Picture:
    """What a picture shows: one frame's strips for a window.

    `axis` is how times are written (`clock`, `seconds`, `order`), `value` for strips of one moment, which have no axis.
    `zero`: what to add to times of a `clock` to get what it showed, in seconds since 1970.
    """

    title: str
    why: str
    axis: str
    window: Window
    strips: Sequence[Drawing]
    bands: Sequence[Json]
    culprits: Sequence[Json]
    zero: float = 0.0
    moment: str = ""


def svg(pictures: Sequence[Picture], width: int, more: int = 0) -> str:
    """Draw frames below each other; `width` in pixels is that of the whole picture.

    `more` frames are not drawn: a line says so.
    """
    parts: list[str] = []
    top = 0.0
    for picture in pictures:
        drawn, high = _frame(picture, width, top)
        parts += drawn
        top += high
    if more:
        axes = f"{more:,} more axes are" if more > 1 else "One more axis is"
        parts.append(
            _text(MARGIN, top + 20, f"{axes} not drawn here. The room's timeline shows each when it comes into view.")
        )
        top += 32
    if not pictures:
        parts.append(_text(MARGIN, 20, "Nothing here has a place in time yet."))
        top = 32
    lines = f'<rect width="6" height="6" fill="{colours()["hatch-1"]}"/><path d="M0 6L6 0" stroke="{colours()["hatch-2"]}"/>'
    hatch = f'<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">{lines}</pattern></defs>'
    ground = f'<rect width="{width}" height="{top:.0f}" fill="{colours()["ground"]}"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top:.0f}" viewBox="0 0 {width} {top:.0f}" font-family="{FONT}" font-size="12">'
    return f"{head}<title>Timeline</title>{hatch}{ground}{''.join(parts)}</svg>"


def _values(picture: Picture, top: float) -> tuple[list[str], float]:
    """Write the values measured at one moment, one per line."""
    ink = colours()
    parts = [
        _text(MARGIN, top + 16, picture.title, weight="600"),
        _text(MARGIN, top + 31, "; ".join(filter(None, (picture.moment, picture.why))), ink["ink-2"], 11),
    ]
    at = top + HEAD
    for strip in picture.strips:
        name = f"{strip.host} {strip.label}" if strip.host else strip.label
        values = [f"{one.high:.4g} {strip.unit}".strip() for one in strip.samples] or [one.label for one in strip.spans]
        parts.append(_text(MARGIN, at + 14, f"{name}: {', '.join(values)}"))
        at += LINE
    return parts, at + MARGIN - top


def _frame(picture: Picture, width: int, top: float) -> tuple[list[str], float]:
    if picture.axis == "value":
        return _values(picture, top)
    ink = colours()
    left, wide = NAMES + MARGIN, width - NAMES - 2 * MARGIN
    window = picture.window
    scale = wide / (window.end - window.start)

    def x(t: float) -> float:
        return left + min(max((t - window.start) * scale, -1.0), wide + 1.0)

    parts = [
        _text(MARGIN, top + 16, picture.title, weight="600"),
        _text(MARGIN, top + 31, picture.why, ink["ink-2"], 11),
    ]
    rows = []
    at = top + HEAD
    for strip in picture.strips:
        rows.append((strip, at))
        at += HIGH[strip.kind]
    base = at
    for t, label in ticks(window, picture.axis, wide, picture.zero):
        parts.append(f'<path d="M{x(t):.1f} {top + HEAD:.1f}V{base + 4:.1f}" stroke="{ink["rule"]}"/>')
        parts.append(_text(x(t), base + 17, label, ink["ink-2"], 11, anchor="middle"))
    for band in picture.bands:
        fill = ink.get(f"sev-{band['severity']}", ink["ink-3"])
        cited = {tuple(strip) for strip in band.get("strips", ())}
        for strip, y in rows:
            if strip.clock in band["clocks"] and (not cited or (strip.lane, strip.label) in cited):
                parts.append(
                    _rect(
                        x(band["start"]), y, max(2.0, x(band["end"]) - x(band["start"])), HIGH[strip.kind], fill, 0.13
                    )
                )
    causes = {(c["artifact"], c["line_from"], c["line_to"]) for c in picture.culprits}
    for strip, y in rows:
        parts.append(f'<path d="M{left} {y:.1f}h{wide}" stroke="{ink["rule"]}"/>')
        name = f"{strip.host} {strip.label}" if strip.host else strip.label
        parts.append(
            _text(MARGIN, y + HIGH[strip.kind] / 2 + 4, name if len(name) < 26 else f"{name[:25]}…", ink["ink-2"], 11)
        )
        if strip.kind == "counter":
            parts += _counter(strip, y, x)
        else:
            parts += [_span(strip, span, y, x, causes) for span in strip.spans]
    return parts, base + AXIS + MARGIN - top


def _span(strip: Drawing, span: Span, y: float, x: Any, causes: set[tuple[int, int, int]]) -> str:
    ink = colours()
    bar = 12 if strip.kind == "event" else BAR
    top = y + (HIGH[strip.kind] - bar) / 2
    x0, x1 = x(span.start), x(span.end)
    wide = max(1.0, x1 - x0)
    many = f"{span.n} here, together {span.total_s:.6g} s; the longest " if span.n > 1 else ""
    told = f"<title>{escape(visible(f'{many}{span.label} {span.worst_s:.6g} s, line {span.line_to}'))}</title>"
    if span.n > 1:
        high = max(3.0, bar * min(1.0, span.total_s / max(span.end - span.start, 1e-12)))
        return f"<g>{told}{_rect(x0, top + bar - high, wide, high, ink['ink-3'])}</g>"
    cls = "culprit" if (span.artifact, span.line_from, span.line_to) in causes else span.cls
    fill = "url(#hatch)" if cls == "untraced" else ink[FILLS[cls]]
    bound = span.at_most and wide > 6 and cls != "untraced"
    body = _rect(x0, top, wide, bar, fill, 0.62 if bound else 1.0) + (_rect(x1 - 3, top, 3, bar, fill) if bound else "")
    room = int((wide - 8) / 6.2)
    label = next((text for text in map(visible, span.labels) if len(text) <= room), None)
    if label and strip.kind != "event":
        body += _text(x0 + 4, top + bar / 2 + 4, label, ink["h-ink"], 11)
    return f"<g>{told}{body}</g>"


def _counter(strip: Drawing, y: float, x: Any) -> list[str]:
    ink = colours()
    if not strip.samples:
        return []
    most = max([100.0 if strip.unit == "%" else 0.0, *(one.high for one in strip.samples)])
    least = min(0.0, *(one.low for one in strip.samples)) if strip.samples else 0.0
    whole = (most - least) or 1.0
    room = HIGH["counter"] - 6

    def place(value: float) -> float:
        return y + 3 + room * (1 - (value - least) / whole)

    return [_step(one, x, place) for one in strip.samples] + [
        _text(x(math.inf) - 4, y + 13, f"{most:.4g} {strip.unit}", ink["ink-2"], 11, anchor="end")
    ]


def _step(one: Sample, x: Any, place: Any) -> str:
    ink = colours()
    x0, wide = x(one.start), max(1.0, x(one.end) - x(one.start))
    made = ""
    low = 0.0
    for k, value in enumerate(one.stacked):
        made += _rect(
            x0, place(low + value), wide, max(0.0, place(low) - place(low + value)), ink[STACK[k % len(STACK)]]
        )
        low += value
    if not one.stacked:
        made += _rect(x0, place(max(one.mean, 0.0)), wide, max(1.0, abs(place(0.0) - place(one.mean))), ink["h-call"])
    return made + _rect(x0, place(one.high), wide, max(1.0, min(3.0, place(one.low) - place(one.high))), ink["ink-3"])


def ticks(window: Window, axis: str, wide: float, zero: float = 0.0) -> list[tuple[float, str]]:
    """Return positions and labels of round values about a hundred pixels apart.

    >>> ticks(Window(0, 10, 1), "seconds", 250)
    [(0.0, '0'), (5.0, '5'), (10.0, '10')]
    >>> ticks(Window(0.5, 10.5, 1), "clock", 250, 1748772002.0)
    [(3.0, '10:00:05'), (8.0, '10:00:10')]
    """
    rough = (window.end - window.start) / max(wide / 100, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    off = math.fmod(zero, step) if step >= 1 else math.fmod(zero % 1, step)
    first, last = math.ceil((window.start + off) / step - 1e-9), math.floor((window.end + off) / step + 1e-9)
    return [(k * step - off, label(k * step - off, axis, digits, zero)) for k in range(first, last + 1)]


def label(t: float, axis: str, digits: int, zero: float = 0.0) -> str:
    return time_of_day(t, zero, digits) if axis == "clock" else f"{t:.{digits}f}"


def _rect(x: float, y: float, wide: float, high: float, fill: str, opacity: float = 1.0) -> str:
    pale = f' fill-opacity="{opacity}"' if opacity < 1 else ""
    return f'<rect x="{x:.2f}" y="{y:.2f}" width="{wide:.2f}" height="{high:.2f}" fill="{fill}"{pale}/>'


def _text(x: float, y: float, said: str, fill: str | None = None, size: int = 12, anchor: str = "start", weight: str = "400") -> str:  # fmt: skip
    colour = quoteattr(fill or colours()["ink"])
    return f'<text x="{x:.1f}" y="{y:.1f}" fill={colour} font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">{escape(visible(said))}</text>'
