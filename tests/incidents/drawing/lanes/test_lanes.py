"""Every lane module has drawings beside it, and what is thinned keeps its extremes."""

from __future__ import annotations

import json
import random
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pytest

import incidents.drawing.lanes
from incidents.drawing import windows
from incidents.drawing.lane import Drawing, Window
from incidents.drawing.registry import lanes
from parsers.tables import schema
from rules.case.case import columns_of
from rules.engine import views

HERE = Path(__file__).parent
MODULES = sorted(
    entry.name
    for entry in iter_modules(incidents.drawing.lanes.__path__)
    if any(hasattr(import_module(f"incidents.drawing.lanes.{entry.name}"), name) for name in ("LANE", "LANES"))
)


class Tables:
    """Tables in memory, as the page's queries see them."""

    def __init__(self, **tables: pl.DataFrame) -> None:
        self._connection = duckdb.connect()
        self._names = set(tables)
        self.case = SimpleNamespace(manifests={})
        for name, frame in tables.items():
            have = set(frame.columns)
            listed = ", ".join(
                f'{c if c in have else "null"}::{views.sql_type(kind)} as "{c}"' for c, kind in columns_of(name).items()
            )
            self._connection.register(f"given_{name}", frame)
            self._connection.execute(f"create view {name} as select {listed} from given_{name}")

    def has(self, name: str) -> bool:
        return name in self._names

    def query(self, sql: str) -> list[dict[str, Any]]:
        cursor = self._connection.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def drawn(name: str, window: Window, ordered: bool = False, **tables: pl.DataFrame) -> list[Drawing]:
    clocks = {c for frame in tables.values() for c in frame["clock"].to_list()}
    axis = windows.Axis(dict.fromkeys(sorted(clocks), 0.0), dict.fromkeys(clocks, window.end), ordered)
    chosen = windows.choice(name)
    assert chosen is not None
    strips, in_all = windows.draw([chosen], axis, window, Tables(**tables), None)  # type: ignore[arg-type]  # answers as ReadOnly does
    assert in_all == len(strips)
    return strips


@pytest.mark.parametrize("module", MODULES)
def test_a_lane_draws_what_stands_beside_it(module: str) -> None:
    for case in json.loads((HERE / f"{module}.json").read_text()):
        (table, rows), *_ = case["tables"].items()
        frame = pl.DataFrame(rows, schema={c: k for c, k in columns_of(table).items() if any(c in row for row in rows)})
        strips = drawn(case["lane"], Window(**case["window"]), case.get("ordered", False), **{table: frame})
        assert [strip.as_json() for strip in strips] == case["drawings"], case["lane"]


def test_every_query_of_every_lane_runs() -> None:
    """Run each query over an empty table with its columns, also those without an expected drawing."""
    for name, (lane, _) in lanes().items():
        empty = pl.DataFrame(schema=columns_of(lane.table))
        axis = windows.Axis({"1.1:1": 0.0}, {"1.1:1": 9.0})
        chosen = windows.choice(f"{name}:x|y|z" if lane.args else name)
        assert chosen is not None
        for ordered in [False] * lane.timed + [True] * bool(lane.order):
            laid = windows.Axis(axis.shifts, axis.ends, ordered)
            assert windows.query(chosen, laid, Window(0, 9, 100), Tables(**{lane.table: empty}), None) == ([], 0)  # type: ignore[arg-type]


#: Numeric columns that are not counters: they name something, or number the samples.
NO_COUNTERS = frozenset(
    "part line_no line_end t_local sample frame interval_s cpu set_id pid ppid lwp uid cpu_no node node2 local_port peer_port".split()
)


def test_every_number_of_every_counter_table_is_a_lane() -> None:
    """Check all counter tables: those with samples, screens or reports, except descriptors, which count nothing."""
    counting = {name for name, table in schema.TABLES.items() if {"sample", "frame"} & {c.name for c in table.columns}}
    by_table: dict[str, set[str]] = {}
    for name, (lane, _) in lanes().items():
        column = name.partition(".")[2]
        by_table.setdefault(lane.table, set()).update(["value", "delta"] if lane.args else [column])
    for table in (counting | {"locks"}) - {"fdmap"}:
        numbers = {c.name for c in schema.TABLES[table].columns if c.dtype.is_numeric()} - NO_COUNTERS
        assert numbers - by_table.get(table, set()) == set(), table


def test_columns_without_a_unit_are_drawn() -> None:
    row = {"clock": "1.1:1", "host": None, "artifact_id": 1, "part": 1, "line_no": 4, "sample": 1, "pid": 7, "t_local": 3.0, "nlwp": 12}  # fmt: skip
    frame = pl.DataFrame([row], schema={c: k for c, k in columns_of("ps").items() if c in row})
    [strip] = drawn("ps.nlwp", Window(0, 9, 100), ps=frame)
    assert (strip.label, strip.unit, strip.samples[0].high) == ("7 nlwp", "", 12)


def calls(durations: list[float]) -> pl.DataFrame:
    """Return the calls of one thread, each directly after the one before."""
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
    window = Window(0.0, sum(durations), 300)
    (strip,) = drawn("syscalls", window, syscalls=calls(durations))
    assert len(strip.spans) < 2 * window.px
    assert sum(span.n for span in strip.spans) == len(durations) == strip.rows
    assert sum(span.total_s for span in strip.spans) == pytest.approx(sum(durations))
    by_worst = {span.line_to: span for span in strip.spans}
    assert by_worst[33_334].worst_s == pytest.approx(0.00031), "the longest of its pixel, with its line"
    assert by_worst[44_445].n == 1, "wider than a pixel: drawn alone"
    assert (by_worst[44_445].start, by_worst[44_445].end) == pytest.approx((0.44475, 0.64475), abs=1e-3)
    assert by_worst[44_445].at_most, "a gap before a completion stamp is an upper bound"


def test_the_extremes_of_a_thinned_counter_are_those_of_its_rows() -> None:
    chance = random.Random(6)
    values = [chance.gauss(10, 1) for _ in range(20_000)]
    values[777], values[15_001] = 99.0, -50.0
    table = pl.DataFrame({"r": values}).with_columns(
        pl.lit("1.1:1").alias("clock"),
        pl.lit(1).alias("artifact_id"),
        pl.int_range(1, pl.len() + 1).alias("line_no"),
        pl.int_range(1, pl.len() + 1).cast(pl.Float64).alias("t_local"),
        pl.lit(1.0).alias("interval_s"),
    )
    window = Window(0, 20_000, 400)
    (strip,) = drawn("vmstat.r", window, vmstat=table)
    assert len(strip.samples) <= window.px + 1
    assert max(s.high for s in strip.samples) == 99.0
    assert min(s.low for s in strip.samples) == -50.0
    assert next(s.line for s in strip.samples if s.high == 99.0) == 778
    for s in strip.samples:
        own = values[round(s.start) : round(s.end)]
        assert (s.low, s.high) == (min(own), max(own)), "of every pixel"
        assert s.mean == pytest.approx(sum(own) / len(own))


def test_a_window_holds_what_reaches_into_it_and_nothing_else() -> None:
    table = calls([1.0, 2.0, 4.0])  # [0,1] [1,3] [3,7]
    (strip,) = drawn("syscalls", Window(2.5, 2.9, 100), syscalls=table)
    assert [span.line_to for span in strip.spans] == [2]


def test_a_stamp_of_the_call_draws_its_length_after_it() -> None:
    table = calls([1.0, 2.0]).with_columns(pl.lit("start").alias("stamp"))  # called at 1 and 3
    (strip,) = drawn("syscalls", Window(0, 9, 100), syscalls=table)
    assert [(span.start, span.end) for span in strip.spans] == [(1.0, 2.0), (3.0, 5.0)]


def test_a_waiting_record_bears_the_function_that_waited() -> None:
    table = pl.DataFrame(
        {
            "clock": ["1.1:1"] * 2,
            "host": ["gw"] * 2,
            "side": ["client"] * 2,
            "artifact_id": [1, 1],
            "line_no": [3, 4],
            "prev_line": [None, 3],
            "contiguous": ["proven"] * 2,
            "gap_s": [None, 1.872],
            "t_local": [39.329, 41.201],
            "func": ["nttrd", "nttfoo"],
        }
    )
    (strip,) = drawn("sqlnet", Window(39.0, 42.0, 100), sqlnet=table)
    assert [(span.label, span.line_from, span.line_to) for span in strip.spans] == [
        ("nttrd waits", 3, 3),
        ("nttrd waits", 3, 4),
    ]


def test_of_too_many_strips_those_with_the_longest_calls_are_drawn() -> None:
    many = pl.concat([calls([0.001 * n]).with_columns(pl.lit(n, pl.Int64).alias("pid")) for n in range(1, 101)])
    axis = windows.Axis({"1.1:1": 0.0}, {})
    chosen = windows.choice("syscalls")
    assert chosen is not None
    strips, in_all = windows.draw([chosen], axis, Window(0, 1, 500), Tables(syscalls=many), None)  # type: ignore[arg-type]
    assert in_all == 100
    assert sorted(strip.process or 0 for strip in strips) == list(range(61, 101))


def test_many_dense_strips_are_drawn_coarser_and_lose_nothing() -> None:
    durations = [0.001] * 2_000
    durations[777] = 0.0015
    many = pl.concat([calls(durations).with_columns(pl.lit(n, pl.Int64).alias("pid")) for n in range(1, 41)])
    strips = drawn("syscalls", Window(0, 2, 1_000), syscalls=many)
    assert sum(len(strip.spans) for strip in strips) < 1.2 * windows.MOST_MARKS
    for strip in strips:
        assert sum(span.n for span in strip.spans) == len(durations)
        assert max((span.worst_s, span.line_to) for span in strip.spans) == pytest.approx((0.0015, 778))
