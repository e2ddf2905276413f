"""Plotly figures of the room: distributions and comparisons. Colours are CSS tokens that the page's script resolves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import median
from typing import Any

import plotly.graph_objects as go

from incidents.content.report import brief_seconds

SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x")
MOST_POINTS = 4000
TICKS = [base * 10.0**power for power in range(-4, 4) for base in (1, 3)]

Row = Mapping[str, Any]


def connect_times(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Draw timings in order, one phase after the other, with the median of each; seconds on a log axis.

    Rows, in order: phase, artifact_id, line_no, elapsed_s (None: the attempt failed), series. Return None without rows
    to draw.
    """
    figure = go.Figure()
    at = 0
    notes: list[dict[str, Any]] = []
    borders: list[float] = []
    for number, ((phase, series, artifact), group) in enumerate(
        groupby(rows, key=lambda row: (row["phase"], row["series"], row["artifact_id"]))
    ):
        timed = [row for row in group if row["elapsed_s"] is not None and row["elapsed_s"] > 0]
        if not timed:
            continue
        if at:
            borders.append(at - 0.5)
        places = range(at, at + len(timed))
        middle = median(row["elapsed_s"] for row in timed)
        shown = extremes_kept([row["elapsed_s"] for row in timed], MOST_POINTS)
        label = phase or series or f"list {artifact}"
        figure.add_scatter(
            x=[places[k] for k in shown],
            y=[timed[k]["elapsed_s"] for k in shown],
            customdata=[[timed[k]["artifact_id"], timed[k]["line_no"]] for k in shown],
            mode="markers",
            name=label,
            marker={"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 6},
            meta={"token": "--ink-2"},
            hovertemplate="%{y:.4~r} s, line %{customdata[1]}<extra>" + label.replace("<", "&lt;") + "</extra>",
        )
        figure.add_scatter(
            x=[at, at + len(timed) - 1],
            y=[middle, middle],
            mode="lines",
            line={"width": 1.5},
            meta={"token": "--ink-3"},
            hoverinfo="skip",
        )
        notes.append(
            {
                "x": at,
                "y": 0,
                "xref": "x",
                "yref": "paper",
                "yshift": -6,
                "xanchor": "left",
                "yanchor": "top",
                "showarrow": False,
                "text": f"{label.replace('<', '&lt;')}<br>n {len(timed)} · {brief_seconds(middle)}",
                "align": "left",
                "font": {"size": 11},
            }
        )
        at += len(timed) + 1
    if not at:
        return None
    figure.update_layout(
        height=204,
        margin={"l": 48, "r": 8, "t": 8, "b": 42},
        showlegend=False,
        hovermode="closest",
        template="none",
        xaxis={"showticklabels": False, "showgrid": False, "zeroline": False, "fixedrange": False},
        yaxis={"type": "log", "tickvals": TICKS, "ticktext": [f"{tick:g} s" for tick in TICKS]},
        annotations=notes,
        shapes=[
            {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": {"width": 1, "dash": "dash"}}
            for x in borders
        ],
    )
    drawn: dict[str, Any] = figure.to_plotly_json()
    return drawn


def two_sides(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Draw the values of both sides of a comparison as dots in order, with the median of each side and its interval.

    `result` has `names`, `unit`, `first`, `second` (median, median_lo, median_hi, n), `two` (populations) and `dots`:
    place, value, artifact and line of each. The axis is logarithmic if there are two populations and all values are
    positive. Return None without values to draw.
    """
    figure = go.Figure()
    positive = all(dot[1] > 0 for dots in result["dots"] for dot in dots)
    spread = [dot[1] for dots in result["dots"] for dot in dots]
    wide = bool(spread) and positive and max(spread) > 20 * min(spread)
    unit = str(result["unit"])
    at = 0.0
    notes: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    for number, (name, side, dots) in enumerate(
        zip(result["names"], (result["first"], result["second"]), result["dots"], strict=True)
    ):
        if not dots or side is None:
            continue
        label = str(name).replace("<", "&lt;")
        width = 100.0 / max(1, dots[-1][0] + 1)
        figure.add_scatter(
            x=[round(at + (dot[0] + 0.5) * width, 3) for dot in dots],
            y=[dot[1] for dot in dots],
            customdata=[[dot[2], dot[3]] for dot in dots],
            mode="markers",
            name=label,
            marker={
                "symbol": SYMBOLS[number],
                "size": 7 if len(dots) < 200 else 5,
                "opacity": 1 if len(dots) < 200 else 0.6,
            },
            meta={"token": "--ink-2"},
            hovertemplate="%{y:.4g} "
            + unit.replace("<", "&lt;")
            + ", artifact %{customdata[0]} line %{customdata[1]}<extra>"
            + label
            + "</extra>",
        )
        figure.add_scatter(
            x=[at, at + 100],
            y=[side["median"], side["median"]],
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [max(0.0, side["median_hi"] - side["median"]), 0],
                "arrayminus": [max(0.0, side["median"] - side["median_lo"]), 0],
                "thickness": 1.5,
                "width": 5,
            },
            mode="lines",
            line={"width": 1.5},
            meta={"token": "--accent"},
            hoverinfo="skip",
        )
        notes.append(
            {
                "x": at,
                "y": 0,
                "xref": "x",
                "yref": "paper",
                "yshift": -6,
                "xanchor": "left",
                "yanchor": "top",
                "showarrow": False,
                "text": f"{label}<br>n {side['n']} · median {side['median']:.4g} {unit}".rstrip(),
                "align": "left",
                "font": {"size": 11},
            }
        )
        at += 115
    if not notes:
        return None
    if len(notes) > 1:
        shapes.append({"type": "line", "x0": 107.5, "x1": 107.5, "y0": 0, "y1": 1, "yref": "paper", "line": {"width": 1, "dash": "dash"}})  # fmt: skip
    log = positive and (result["two"] or wide)
    figure.update_layout(
        height=280,
        margin={"l": 64, "r": 8, "t": 8, "b": 46},
        showlegend=False,
        hovermode="closest",
        template="none",
        xaxis={"showticklabels": False, "showgrid": False, "zeroline": False, "range": [-4, at - 11]},
        yaxis={"type": "log", "tickvals": TICKS, "ticktext": [f"{tick:g} {unit}" for tick in TICKS]}
        if log
        else {"ticksuffix": f" {unit}".rstrip(), "rangemode": "tozero" if positive else "normal"},
        annotations=notes,
        shapes=shapes,
    )
    drawn: dict[str, Any] = figure.to_plotly_json()
    return drawn


def extremes_kept(values: Sequence[float], most: int) -> list[int]:
    """Choose about `most` indices of `values`: those of the smallest and largest value of each stretch.

    >>> extremes_kept([1, 2, 9, 2, 1, 0], 4)
    [0, 2, 3, 5]
    >>> extremes_kept([1, 2], 10)
    [0, 1]
    """
    if len(values) <= most:
        return list(range(len(values)))
    width = -(-len(values) * 2 // most)
    kept: set[int] = set()
    for start in range(0, len(values), width):
        stretch = range(start, min(start + width, len(values)))
        kept.add(min(stretch, key=values.__getitem__))
        kept.add(max(stretch, key=values.__getitem__))
    return sorted(kept)
