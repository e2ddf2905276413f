"""Series of a room that can be compared: which ones exist, and the values of one of them on one side.

A series has a name for addresses: `connects`, `vmstat.r`, `iostat.busy_pct:sd0`, `counters:tcp||retransmits` (these are
named like the timeline's lanes), `call:read`, `call:read|8197`, `wait:peer|nsprecv`, `cycle`, `request:service`,
`dbcall:EXEC`. A side is a phase, an artifact, or a range of one frame of the timeline. Memory is bounded: of more than
`MOST_VALUES` values every k-th is taken, by a fixed rule; counts, quantiles and mean are still those of all values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incidents.drawing.frames import Frame
from incidents.drawing.lane import Lane
from incidents.drawing.overviews import rows_of
from incidents.drawing.registry import lanes
from incidents.drawing.windows import quoted
from parsers.tables.schema import TABLES
from rules.engine.read import ReadOnly

Row = Mapping[str, Any]

MOST_VALUES = 20_000
#: Maximum number of names of one kind in the chooser; others are reached by typing their name.
MOST_NAMES = 60
MOST_PROCESSES = 40

CONNECTS = "connects"
#: Lanes that are not counters of their own: connects are a series here, shares of CPUs are stacked.
LEFT_OUT = frozenset({"connects"})


@dataclass(frozen=True)
class Kind:
    """A kind of series that is not a counter lane: where its values are, and which columns its names come from."""

    title: str
    group: str
    table: str
    value: str
    line: str
    where: str
    names: tuple[str, ...] = ()
    time: str = "s.t_local"
    order: str | None = None
    join: str = ""
    at_most: bool = False


_TRACED = "coalesce(s.contiguous, 'assumed') <> 'broken'"
KINDS: dict[str, Kind] = {
    CONNECTS: Kind(
        "Connect times",
        "Connections",
        "conn_times",
        "s.elapsed_s",
        "s.line_no",
        "coalesce(s.ok, true)",
        ("series",),
        order="s.seq",
    ),
    "cycle": Kind(
        "Listener: one connection, accept to log", "Listener", "listener_cycles", "s.cycle_s", "s.line_end", "s.complete", time="s.t_end", at_most=True,
    ),
    "childwait": Kind(
        "Listener: waiting for its child", "Listener", "listener_cycles", "s.wait_child_s", "s.line_end", "s.complete", time="s.t_end", at_most=True,
    ),
    "request": Kind("Request", "Requests", "requests", "s.wall_s", "s.line_to", "true", ("kind",), time="s.t_to", at_most=True),
    "call": Kind("Call", "System calls", "syscalls", "s.dur_hi_s", "s.line_no", _TRACED, ("name", "pid"), at_most=True),
    "wait": Kind(
        "Wait", "Oracle Net waits", "sqlnet_waits", "s.wait_s", "s.line_to", _TRACED, ("kind", "func"), time="w.t_local",
        join="left join sqlnet w on w.artifact_id = s.artifact_id and w.line_no = s.line_to",
    ),
    "dbcall": Kind("Call of a SQL trace", "Database", "db_calls", "s.elapsed_s", "s.line_no", "true", ("call",)),
    "handshake": Kind("TCP handshake", "Network", "tcp_flows", "s.handshake_rtt_s", "s.line_no", "true"),
    "answer": Kind("Request to first byte of the answer", "Network", "tcp_flows", "s.request_to_first_byte_s", "s.line_no", "true"),
}  # fmt: skip


@dataclass(frozen=True)
class Series:
    """One series as the chooser shows it; `phases` are those in which it has values."""

    name: str
    title: str
    unit: str
    group: str
    phases: tuple[str, ...] = ()
    n: int = 0
    at_most: bool = False


@dataclass(frozen=True)
class Side:
    """One side of a comparison: the rows with this condition. `key` is its form in addresses, `title` its title."""

    key: str
    title: str
    phase: str | None = None
    artifact: int | None = None
    frame: Frame | None = None
    start: float = 0.0
    end: float = 0.0
    whole: bool = False

    def here(self, time: str, order: str | None) -> str | None:
        """Return the SQL condition on rows `s`; None if the series has no place on this side's axis."""
        if self.whole:
            return "true"
        if self.phase is not None:
            return f"s.phase = {quoted(self.phase)}"
        if self.artifact is not None:
            return f"s.artifact_id = {int(self.artifact)}"
        if self.frame is None:
            raise ValueError("a side is a phase, an artifact or a stretch")
        stamp = order if self.frame.ordered else time
        if stamp is None:
            return None
        shifts = self.frame.laid.shifts.items()
        pieces = [
            f"(s.clock = {quoted(clock)} and {stamp} between {self.start - shift!r} and {self.end - shift!r})"
            for clock, shift in shifts
        ]
        return f"({' or '.join(pieces)})"


@dataclass(frozen=True)
class Values:
    """The values of a series on one side, in line order; `n` counts all values, the lists may hold fewer."""

    n: int
    values: list[float]
    artifacts: list[int]
    lines: list[int]
    quantiles: tuple[float, ...] = ()  # p50, p90, p99, max of all
    mean: float | None = None

    @property
    def thinned(self) -> bool:
        return self.n > len(self.values)


def tables() -> list[str]:
    """Return the tables that series come from."""
    counters = {lane.table for _, lane in _counter_lanes()}
    return sorted(counters | {kind.table for kind in KINDS.values()} | {"sqlnet"})


def _counter_lanes() -> list[tuple[str, Lane]]:
    return [
        (name, lane)
        for name, (lane, _) in lanes().items()
        if lane.kind == "counter" and not lane.stack and name not in LEFT_OUT
    ]


# --- which series there are ---------------------------------------------------------------------------------------


def offers(source: ReadOnly) -> list[Series]:
    """Return the series of a room; within each group those with values in two phases come first."""
    found: list[Series] = []
    for name, kind in KINDS.items():
        if source.has(kind.table):
            found += _of_kind(name, kind, source)
    by_table: dict[str, list[tuple[str, Lane]]] = {}
    for name, lane in _counter_lanes():
        if source.has(lane.table):
            by_table.setdefault(lane.table, []).append((name, lane))
    for table, offered in by_table.items():
        found += _of_columns(table, offered, source) if "." in offered[0][0] else _of_names(*offered[0], source)
    return found


def _of_kind(name: str, kind: Kind, source: ReadOnly) -> list[Series]:
    """Offer a kind as a whole if its rows are alike, else by name, and for the names of processes."""
    base = f"from {kind.table} s where {kind.value} is not null and {kind.where}"
    phases = "list(distinct s.phase) filter (where s.phase is not null) as phases"
    found: list[Series] = []
    if not kind.names or name == CONNECTS:
        row = source.query(f"select count(*) as n, {phases} {base}")[0]
        if row["n"]:
            found.append(Series(name, kind.title, "s", kind.group, _sorted(row["phases"]), row["n"], kind.at_most))
    if name == CONNECTS:
        # Names that occur in only one phase are labels of lists, not series.
        rows = source.query(
            f"select s.series, count(*) as n, {phases} {base} and s.series is not null group by 1"
            f" having count(distinct s.phase) > 1 order by n desc, 1 limit {MOST_NAMES}"
        )
        if len(rows) > 1 or (rows and rows[0]["n"] < found[0].n):
            found += [
                Series(f"{name}:{row['series']}", f"{kind.title}: {row['series']}", "s", kind.group, _sorted(row["phases"]), row["n"]) for row in rows
            ]  # fmt: skip
        return found
    for depth in range(1, len(kind.names) + 1):
        if name == "wait" and depth == 1:
            continue  # a wait needs both its kind and its function
        columns = kind.names[:depth]
        listed = ", ".join(f"coalesce(s.{column}::varchar, '') as {column}" for column in columns)
        rows = source.query(
            f"select {listed}, count(*) as n, sum({kind.value}) as total, {phases} {base} and s.{columns[0]} is not null"
            f" group by {', '.join(map(str, range(1, depth + 1)))} having count(*) > 1 or {len(columns)} = 1"
            f" order by total desc limit {MOST_PROCESSES if name == 'call' and depth == 2 else MOST_NAMES}"
        )
        for row in rows:
            names = [row[column] for column in columns]
            found.append(
                Series(f"{name}:{'|'.join(names)}", _title(name, kind, names), "s", kind.group, _sorted(row["phases"]), row["n"], kind.at_most)
            )  # fmt: skip
    return found


def _title(name: str, kind: Kind, names: Sequence[str]) -> str:
    if name == "call":
        return names[0] + (f" of process {names[1]}" if len(names) > 1 else ", any process")
    if name == "wait":
        return " in ".join(filter(None, names))
    return f"{kind.title}: {' '.join(names)}" if names else kind.title


def _of_columns(table: str, offered: Sequence[tuple[str, Lane]], source: ReadOnly) -> list[Series]:
    """Offer each column that has values, for each device, process or thread that its table distinguishes."""
    keys = offered[0][1].keys
    listed = "".join(f"coalesce(s.{key}::varchar, '') as k{n}, " for n, key in enumerate(keys))
    # The columns come from the schema: no part of this SQL was typed by a person.
    columns = [name.partition(".")[2] for name, _ in offered]
    counts = ", ".join(
        f"count(s.{column}) as c{n}, list(distinct s.phase) filter (where s.{column} is not null and s.phase is not null) as p{n}"
        for n, column in enumerate(columns)
    )
    group = (
        f"group by {', '.join(map(str, range(1, len(keys) + 1)))} order by count(*) desc limit {MOST_PROCESSES}"
        if keys
        else ""
    )
    found = []
    for row in source.query(f"select {listed}{counts} from {table} s {group}"):
        key_values = [row[f"k{n}"] for n in range(len(keys))]
        for n, (name, lane) in enumerate(offered):
            if row[f"c{n}"]:
                full = name + (f":{'|'.join(key_values)}" if keys else "")
                title = " ".join(filter(None, key_values)) + (": " if any(key_values) else "") + lane.title
                found.append(Series(full, title, lane.unit, lane.group, _sorted(row[f"p{n}"]), row[f"c{n}"]))
    return found


def _of_names(name: str, lane: Lane, source: ReadOnly) -> list[Series]:
    """Offer the counters of a table of names and values, those with values in two phases first."""
    listed = ", ".join(f"coalesce(s.{key}::varchar, '') as k{n}" for n, key in enumerate(lane.args))
    groups = ", ".join(map(str, range(1, len(lane.args) + 1)))
    held = {column.name for column in TABLES[lane.table].columns}
    mode, unit = (f"any_value(s.{column})" if column in held else "null" for column in ("mode", "unit"))
    rows = source.query(
        f"select {listed}, count(*) as n, {unit} as unit, {mode} as mode, list(distinct s.phase) filter (where s.phase is not null) as phases"
        f" from {lane.table} s group by {groups} order by count(distinct s.phase) desc, n desc, {groups} limit {4 * MOST_NAMES}"
    )
    found = []
    for row in rows:
        names = [row[f"k{n}"] for n in range(len(lane.args))]
        unit = f"{row['unit'] or ''}{'/s' if row['mode'] == 'total' else ''}"
        found.append(Series(f"{name}:{'|'.join(names)}", " ".join(filter(None, names)), unit, lane.group, _sorted(row["phases"]), row["n"]))  # fmt: skip
    return found


def _sorted(phases: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(sorted(phases or ()))


# --- one series ---------------------------------------------------------------------------------------------------


def named(name: str) -> Series | None:
    """Return the series with this name, whether or not it has values; None for an unknown name."""
    base, _, rest = name.partition(":")
    key_values = rest.split("|") if rest else []
    if kind := KINDS.get(base):
        if len(key_values) > len(kind.names) or (kind.names and not key_values and base != CONNECTS):
            return None
        return Series(name, _title(base, kind, key_values), "s", kind.group, at_most=kind.at_most)
    lane = dict(_counter_lanes()).get(base)
    if lane is None or len(key_values) > len(lane.args or lane.keys) or (lane.args and not key_values):
        return None
    title = " ".join(filter(None, key_values))
    return Series(name, title if lane.args else ": ".join(filter(None, (title, lane.title))), lane.unit, lane.group)


def table_of(name: str) -> str:
    """Return the table that a series comes from; raise KeyError for an unknown series."""
    base = name.partition(":")[0]
    return KINDS[base].table if base in KINDS else dict(_counter_lanes())[base].table


def _relation(name: str, side: Side, host: str | None) -> str | None:
    """Return a SELECT of `value, artifact_id, line` of a series on one side; None if it has no place there."""
    base, _, rest = name.partition(":")
    key_values = rest.split("|") if rest else []
    kind = KINDS.get(base)
    if kind is not None:
        here = side.here(kind.time, kind.order)
        if here is None:
            return None
        chosen = "".join(
            f" and coalesce(s.{column}::varchar, '') = {quoted(value)}"
            for column, value in zip(kind.names, key_values, strict=False)
        )
        return (
            f"select {kind.value}::double as value, s.artifact_id, {kind.line} as line from {kind.table} s {kind.join}"
            f" where {here}{chosen}{_host(host)} and {kind.where} and {kind.value} is not null"
        )
    lane = dict(_counter_lanes())[base]
    ordered = side.frame.ordered if side.frame is not None else not lane.timed
    here = side.here(lane.time, lane.order)
    if here is None:
        return None
    chosen = "".join(
        f" and coalesce(s.{column}::varchar, '') = {quoted(value)}"
        for column, value in zip(lane.args or lane.keys, key_values, strict=False)
    )
    rows = rows_of(lane, f"{here}{chosen}{_host(host)}", ordered=ordered)
    return f"select value::double as value, artifact_id, line_to as line from ({rows}) where value is not null"


def _host(host: str | None) -> str:
    return f" and s.host = {quoted(host)}" if host else ""


def values(name: str, side: Side, source: ReadOnly, host: str | None = None, most: int = MOST_VALUES) -> Values:
    """Return the values of a series on one side."""
    rows = _relation(name, side, host) if source.has(table_of(name)) else None
    if rows is None:
        return Values(0, [], [], [])
    whole = source.query(
        f"select count(*) as n, avg(value) as mean, quantile_cont(value, [0.5, 0.9, 0.99]) as q, max(value) as top"
        f" from ({rows}) where isfinite(value)"
    )[0]
    n = whole["n"]
    if not n:
        return Values(0, [], [], [])
    every = math.ceil(n / most)
    # Sampled by a hash of the line instead of a sort, which is cheap and takes the same rows every time.
    kept = f"and hash(artifact_id, line) % {every} = 0" if every > 1 else ""
    found = source.query(
        f"select value, artifact_id, line from ({rows}) where isfinite(value) {kept} order by artifact_id, line, value"
    )
    return Values(
        n,
        [row["value"] for row in found],
        [row["artifact_id"] for row in found],
        [row["line"] for row in found],
        (*whole["q"], whole["top"]),
        whole["mean"],
    )


def hosts(name: str, source: ReadOnly) -> list[str]:
    """Return the hosts with rows in a series' table, for the chooser."""
    if not source.has(table := table_of(name)):
        return []
    found = source.query(
        f"select distinct s.host from {table} s where s.host is not null order by 1 limit {MOST_NAMES}"
    )
    return [row["host"] for row in found]


def quantiles(names: Sequence[str], sides: Sequence[Side], source: ReadOnly) -> list[list[dict[str, Any]]]:
    """Return number, p50, p90, p99 and maximum of many series on each side, in one pass per table and side."""
    found = [[{"n": 0} for _ in sides] for _ in names]
    for place, side in enumerate(sides):
        pieces = [
            f"select {number} as k, count(*) as n, quantile_cont(value, [0.5, 0.9, 0.99]) as q, max(value) as top from ({rows}) where isfinite(value)"
            for number, name in enumerate(names)
            if source.has(table_of(name)) and (rows := _relation(name, side, None)) is not None
        ]
        for row in source.query(" union all ".join(pieces)) if pieces else []:
            if row["n"]:
                p50, p90, p99 = row["q"]
                found[row["k"]][place] = {"n": row["n"], "p50": p50, "p90": p90, "p99": p99, "max": row["top"]}
    return found


def everything(name: str, source: ReadOnly, host: str | None = None, most: int = MOST_VALUES) -> list[dict[str, Any]]:
    """Return value, artifact, line and phase of a series over the whole room; every k-th row if there are too many."""
    rows = _relation(name, Side("whole", "the room", whole=True), host) if source.has(table_of(name)) else None
    if rows is None:
        return []
    n = source.query(f"select count(*) as n from ({rows})")[0]["n"]
    every = max(1, math.ceil(n / most))
    found = source.query(
        f"select value, artifact_id, line from ({rows}) where isfinite(value) and hash(artifact_id, line) % {every} = 0"
    )
    return [{**row, "phase": phase_at(source, row["artifact_id"], row["line"])} for row in found]


def phase_at(source: ReadOnly, artifact: int, line: int) -> str | None:
    """Return the phase that a line belongs to."""
    stretch = source.case.at(artifact, line)
    return stretch.phase if stretch else None
