"""Draw one lane for one window: choose its rows or the level of its overview, and write the SQL that thins them.

Rows narrower than two pixels are merged per strip and pixel (number, sum, the longest with its line); wider rows are
never merged. So there are at most about one and a half marks per pixel and strip, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incidents.drawing.lane import Drawing, Lane, Row, Window
from incidents.drawing.overviews import Overview, merged, overviews, rows_of, weighted
from incidents.drawing.registry import lanes
from rules.engine.read import ReadOnly

#: Maximum number of strips of a lane in a window; of the 3,000 threads of a connection storm those with the longest
#: calls.
MOST_STRIPS = 40
#: Maximum number of marks; with more, dense strips merge two or more pixels, since painting would take too long.
MOST_MARKS = 12_000


@dataclass(frozen=True)
class Choice:
    """A lane as somebody chose it: its name, and the values of its `args` (`counters:tcp|lo|in`)."""

    name: str
    lane: Lane
    args: tuple[str, ...] = ()

    @property
    def condition(self) -> str:
        """Return SQL that selects the rows of the chosen values; an empty value stands for NULL."""
        pairs = zip(self.lane.args, self.args, strict=False)
        return "".join(f" and coalesce(s.{column}, '') = {quoted(value)}" for column, value in pairs)


def choice(name: str) -> Choice | None:
    """Return the lane that a name in an address stands for; None for an unknown name."""
    base, _, args = name.partition(":")
    found = lanes().get(base)
    if found is None or (found[0].args and not args):
        return None
    return Choice(name, found[0], tuple(args.split("|")) if args else ())


def quoted(value: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


@dataclass(frozen=True)
class Axis:
    """The clocks of a frame with the seconds added to each, and where each ends; `ordered`: places, no seconds."""

    shifts: Mapping[str, float]
    ends: Mapping[str, float]
    ordered: bool = False

    def values(self) -> str:
        return ", ".join(f"({quoted(clock)}, {shift!r}::double)" for clock, shift in self.shifts.items())

    def clocks(self) -> str:
        return f"s.clock in ({', '.join(map(quoted, self.shifts))})"

    @property
    def end(self) -> str:
        whens = " ".join(f"when {quoted(clock)} then {end!r}" for clock, end in self.ends.items())
        return f"(case s.clock {whens} end)" if whens else "null"


def relation(
    chosen: Choice, axis: Axis, window: Window, source: ReadOnly, cache: Path | None, *, single: bool = False
) -> str:
    """Return a SELECT of the weighted rows of a window on the frame's axis; with `single`, rows are not merged.

    Large artifacts are read from their overviews: the coarsest level that the window's pixels allow, else the rows,
    pruned by time.
    """
    lane = chosen.lane
    kept: list[Overview] = []
    if cache is not None and not axis.ordered and not chosen.args:
        kept = overviews(source.case, cache, lane)
    pieces = []
    others = axis.clocks() + chosen.condition
    if kept:
        others += f" and s.artifact_id not in ({', '.join(str(o.artifact) for o in kept)})"
    pieces.append(weighted(lane, rows_of(lane, others, others, axis.end, ordered=axis.ordered)))
    low, high = min(axis.shifts.values(), default=0.0), max(axis.shifts.values(), default=0.0)
    for overview in kept:
        first, last = window.start - high - overview.longest, window.end - low + overview.longest
        level = overview.level(0.0 if single else window.pixel)
        if level is None:
            here = f"{axis.clocks()} and s.artifact_id = {overview.artifact} and {lane.time} between {first!r} and {last!r}"
            pieces.append(weighted(lane, rows_of(lane, here, here, axis.end)))
        else:
            files = ", ".join(quoted(str(file)) for file in level.files)
            pieces.append(
                f"select s.* from read_parquet([{files}]) s where {axis.clocks()} and s.t1 between {first!r} and {last!r}"
            )
    every = " union all by name ".join(f"({piece})" for piece in pieces)
    return (
        f"select e.* replace (e.t0 + c.shift as t0, e.t1 + c.shift as t1) from ({every}) e"
        f" join (values {axis.values()}) c(clock, shift) on c.clock = e.clock"
        f" where e.t1 + c.shift >= {window.start!r} and e.t0 + c.shift <= {window.end!r}"
    )


def query(
    chosen: Choice, axis: Axis, window: Window, source: ReadOnly, cache: Path | None, most: int = MOST_STRIPS
) -> tuple[list[dict[str, Any]], int]:
    """Return the merged rows of a lane for a window, by strip and time, and the number of strips before the limit."""
    lane = chosen.lane
    names = (*lane.fields, "line_from", "line_to")
    flat = ", ".join(f"m.top.{name} as {name}" for name in names)
    keys = ", ".join(("clock", "host", *lane.keys))
    same = " and ".join(f"m.{key} is not distinct from best.{key}" for key in ("clock", "host", *lane.keys))
    counter = lane.kind == "counter"
    sizes = ", m.low, m.worst_s as high, m.total_s / m.n as mean" if counter else ""
    sizes += "".join(f", m.s{k}" for k in range(len(lane.stack)))
    order = ", ".join(f"{key} nulls first" for key in ("clock", "host", *lane.keys))
    pixel = repr(window.pixel)
    sql = f"""
      with m as materialized ({merged(lane, f"({relation(chosen, axis, window, source, cache)})", pixel)}),
      best as materialized (select {keys}, count(*) over () as strips from m group by {keys}
               order by max({"worst_s" if counter else "t1 - t0"}) desc, min(t0) limit {int(most)}),
      b as materialized (select m.* from m join best on {same}),
      wide as materialized (select {pixel} * greatest(1, ceil(count(*) / {MOST_MARKS}.0)) as s from b),
      r as ({merged(lane, "(select b.*, wide.s as bucket_s from b, wide)", "bucket_s")}),
      p as (select m.clock, m.host, m.artifact_id, {"".join(f"m.{key}, " for key in lane.keys)}m.t0, m.t1, m.n, m.total_s, m.worst_s,
                   {flat}, (select max(strips) from best) as strips{sizes} from r m)
      select * from ({lane.finish}) order by {order}, t0, t1, line_to"""
    rows = source.query(sql)
    return rows, rows[0]["strips"] if rows else 0


def draw(
    chosen: Iterable[Choice], axis: Axis, window: Window, source: ReadOnly, cache: Path | None
) -> tuple[list[Drawing], int]:
    """Draw lanes of a frame; return the strips, and the number of strips before the limit."""
    strips: list[Drawing] = []
    in_all = 0
    for one in chosen:
        if source.has(one.lane.table) and (one.lane.order if axis.ordered else one.lane.timed):
            rows, n = query(one, axis, window, source, cache)
            drawn: Sequence[Drawing] = lanes()[one.name.partition(":")[0]][1](_plain(rows), window)
            strips += drawn
            in_all += n
    return strips, in_all


def _plain(rows: Sequence[dict[str, Any]]) -> Sequence[Row]:
    return rows
