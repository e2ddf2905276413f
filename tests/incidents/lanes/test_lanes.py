"""Every lane has a drawing beside it, and what is thinned keeps its extremes."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest

from incidents.lanes.drawing import Window
from incidents.lanes.registry import lanes

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(lanes()))
def test_a_lane_draws_what_stands_beside_it(name: str) -> None:
    case = json.loads((HERE / f"{name}.json").read_text())
    _, draw = lanes()[name]
    assert [drawing.as_json() for drawing in draw(case["rows"], Window(**case["window"]))] == case["drawings"]


def query(name: str, table: pl.DataFrame, window: Window) -> list[dict]:
    lane, _ = lanes()[name]
    connection = duckdb.connect()
    connection.register(lane.table, table)
    sql = f"with clocks(clock, shift) as (values ('1.1:1', 0.0)), {lane.query}"
    cursor = connection.execute(sql, {"start": window.start, "end": window.end, "pixel": window.pixel})
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def calls(durations: list[float]) -> pl.DataFrame:
    """One thread whose calls follow each other without a pause."""
    frame = pl.DataFrame({"dur_hi_s": durations}).with_columns(t_local=pl.col("dur_hi_s").cum_sum())
    return frame.with_columns(
        pl.lit("1.1:1").alias("clock"),
        pl.lit("db1").alias("host"),
        pl.lit(7).alias("pid"),
        pl.lit(1).alias("lwp"),
        pl.lit(1).alias("artifact_id"),
        pl.int_range(1, pl.len() + 1).alias("line_no"),
        pl.int_range(0, pl.len()).alias("prev_line"),
        pl.lit("read").alias("name"),
        pl.lit("proven").alias("contiguous"),
        pl.lit("gap").alias("dur_kind"),
    )


def test_no_spike_is_thinned_away() -> None:
    durations = [0.00001] * 50_000
    durations[33_333] = 0.00031  # one call, a seventh of a pixel longer than nothing
    durations[44_444] = 0.2
    table = calls(durations)
    window = Window(0.0, sum(durations), 300)
    rows = query("syscalls", table, window)
    assert len(rows) < 2 * window.px
    assert sum(row["n"] for row in rows) == len(durations)
    assert sum(row["total_s"] for row in rows) == pytest.approx(sum(durations))
    by_worst = {row["line_to"]: row for row in rows}
    assert by_worst[33_334]["worst_s"] == pytest.approx(0.00031), "the longest of its pixel, with its line"
    assert by_worst[44_445]["n"] == 1, "wider than a pixel: drawn alone"
    assert (by_worst[44_445]["t0"], by_worst[44_445]["t1"]) == pytest.approx((0.44475, 0.64475), abs=1e-3)


def test_a_window_holds_what_reaches_into_it_and_nothing_else() -> None:
    table = calls([1.0, 2.0, 4.0])  # [0,1] [1,3] [3,7]
    rows = query("syscalls", table, Window(2.5, 2.9, 100))
    assert [row["line_to"] for row in rows] == [2]


def test_a_waiting_record_bears_the_function_that_waited() -> None:
    table = pl.DataFrame(
        {
            "clock": ["1.1:1"] * 2,
            "host": ["gw"] * 2,
            "side": ["client"] * 2,
            "thread": pl.Series([None, None], dtype=pl.Int64),
            "artifact_id": [1, 1],
            "line_no": [3, 4],
            "prev_line": [None, 3],
            "contiguous": ["proven"] * 2,
            "gap_s": [None, 1.872],
            "t_local": [39.329, 41.201],
            "func": ["nttrd", "nttfoo"],
        }
    )
    rows = query("sqlnet", table, Window(39.0, 42.0, 100))
    assert [(row["func"], row["line_from"], row["line_to"]) for row in rows] == [("nttrd", 3, 3), ("nttrd", 3, 4)]
