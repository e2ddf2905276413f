"""A lane for every column of every counter table: `vmstat.r`, `iostat.busy_pct`, `counters:tcp||retransmits`.

A sample covers the interval before its stamp, so its step ends there. Values that a tool prints for each CPU become one
strip with the lowest, highest and mean over the CPUs; devices, processes, interfaces, nodes, locks and symbols have
strips of their own. Averages since boot are not samples. Without a clock the samples stand in their order; lock reports
and perf top screens always do, since they print no time.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from incidents.drawing.lane import Draw, Drawing, Lane, Row, Window, counted, sample, strips
from parsers.tables import schema

_GROUPS = {
    "vmstat": "Host",
    "mpstat": "CPUs",
    "iostat": "Disks",
    "microstates": "Threads",
    "ps": "Processes",
    "sockets": "Sockets",
    "locks": "Locks",
    "profile_meta": "Profiles",
    "profile_symbols": "Profiles",
}
_KEYS = {
    "vmstat": (),
    "mpstat": (),
    "iostat": ("device",),
    "microstates": ("pid", "lwp"),
    "ps": ("pid",),
    "sockets": (),
    "locks": ("event", "lock", "caller"),
    "profile_meta": ("event",),
    "profile_symbols": ("event", "comm", "symbol"),
}
#: Columns that count the places of tables without samples: the reports of a file, the screens of perf top.
_ORDERS = {"locks": "s.part", "profile_meta": "s.frame", "profile_symbols": "s.frame"}
#: Numeric columns that are names, not counters.
_NAMES = frozenset(
    "part line_no line_end t_local sample frame interval_s cpu set_id pid ppid lwp uid cpu_no local_port peer_port".split()
)
#: Counters shown by default: run queue, paging, disks, locks (CPU shares are the lane `cpu`).
SHOWN = frozenset({"vmstat.r", "vmstat.sr", "vmstat.po_kbps", "vmstat.so_kbps", "iostat.busy_pct", "mpstat.smtx"})

_ROWS = """
      select s.clock, s.host, s.artifact_id, {keys} {{t}} - {{dt}} as t0, {{t}} as t1, s.line_no as line_from, s.line_no as line_to,
             {value} as low, {value} as high, {value} as value
      from {table} s where {{here}} and {value} is not null and {measured}"""
_OVER_CPUS = """
      select s.clock, s.host, s.artifact_id, min({{t}} - {{dt}}) as t0, max({{t}}) as t1, min(s.line_no) as line_from,
             arg_max(s.line_no, {value}) as line_to, min({value}) as low, max({value}) as high, avg({value}) as value
      from {table} s where {{here}} and {value} is not null and {measured}
      group by s.clock, s.host, s.artifact_id, s.part, s.sample, s.t_local"""


def _lane(table: str, column: schema.Column) -> Lane:
    keys = _KEYS[table]
    measured = "coalesce(not s.first, true)" if any(c.name == "first" for c in schema.TABLES[table].columns) else "true"
    rows = (_OVER_CPUS if table in ("mpstat", "sockets") else _ROWS).format(
        keys="".join(f"s.{key}, " for key in keys), value=f"s.{column.name}", table=table, measured=measured
    )
    return Lane(
        title=f"{table} {column.name}: {column.meaning}",
        group=_GROUPS[table],
        table=table,
        unit=column.unit,
        kind="counter",
        keys=keys,
        fields=(),
        rows=rows,
        order=_ORDERS.get(table, "s.sample"),
        shown=f"{table}.{column.name}" in SHOWN,
    )


def _numbers(table: str) -> list[schema.Column]:
    return [c for c in schema.TABLES[table].columns if c.dtype in (pl.Float64(), pl.Int64()) and c.name not in _NAMES]


LANES: dict[str, Lane] = {
    f"{table}.{column.name}": _lane(table, column) for table in _KEYS for column in _numbers(table)
}
LANES["counters"] = Lane(
    title="Counter",
    group="Counters",
    table="counters",
    unit="",
    kind="counter",
    keys=("grp", "item", "name"),
    fields=("unit", "mode"),
    rows="""
      select *, shown as value, shown as low, shown as high from (
        select s.clock, s.host, s.artifact_id, s.grp, s.item, s.name, {t} - {dt} as t0, {t} as t1, s.line_no as line_from,
               s.line_no as line_to, s.unit, s.mode,
               case when s.mode = 'total' then s.delta / coalesce(nullif(s.interval_s, 0), 1) else s.value end as shown
        from counters s where {here} and coalesce(not s.first, true))
      where shown is not null""",
    order="s.sample",
    args=("grp", "item", "name"),
    shown=False,
)
LANES["meminfo"] = Lane(
    title="Memory figure",
    group="Memory",
    table="meminfo",
    unit="",
    kind="counter",
    keys=("name",),
    fields=("unit",),
    rows="""
      select s.clock, s.host, s.artifact_id, s.name, {t} as t0, {t} as t1, s.line_no as line_from, s.line_no as line_to, s.unit,
             s.value as low, s.value as high, s.value
      from meminfo s where {here} and s.value is not null""",
    order="s.sample",
    args=("name",),
    shown=False,
)
LANES["numa"] = Lane(
    title="Memory of a node",
    group="Memory",
    table="numa",
    unit="",
    kind="counter",
    keys=("metric", "node", "node2"),
    fields=("unit",),
    rows="""
      select s.clock, s.host, s.artifact_id, s.metric, s.node, s.node2, {t} - {dt} as t0, {t} as t1, s.line_no as line_from,
             s.line_no as line_to, case when ends_with(s.metric, '_kb') then 'kB' end as unit, s.value as low, s.value as high, s.value
      from numa s where {here} and s.value is not null""",
    order="s.sample",
    args=("metric",),
    shown=False,
)


def drawer(name: str) -> Draw:
    """Return the function that draws the counter lane `name`: one strip for each of its keys."""
    lane = LANES[name]

    def draw(rows: Sequence[Row], window: Window) -> list[Drawing]:
        return [
            Drawing(
                lane=name if not lane.args else f"{name}:{'|'.join(str(first[key] or '') for key in lane.args)}",
                clock=first["clock"],
                host=first["host"],
                label=label(name, [first[key] for key in lane.keys]),
                unit=lane.unit or unit(first),
                samples=[sample(row) for row in strip],
                rows=counted(strip),
                kind="counter",
            )
            for first, strip in strips(rows, lane.keys)
        ]

    return draw


def label(name: str, keys: Sequence[object]) -> str:
    """Return the label of a strip from the lane's name and the strip's keys.


    >>> label("iostat.busy_pct", ["sd0"]), label("vmstat.r", []), label("counters", ["tcp", None, "retransmits"])
    ('sd0 busy_pct', 'vmstat r', 'tcp retransmits')
    >>> label("numa", ["distance", 0, 1])
    'distance node 0 node 1'
    """
    table, _, column = name.partition(".")
    named = [f"node {key}" if name == "numa" and isinstance(key, int) else str(key) for key in keys if key is not None]
    if not column:
        return " ".join(named)
    return " ".join([*(named or [table]), column])


def unit(row: Row) -> str:
    return f"{row.get('unit') or ''}{'/s' if row.get('mode') == 'total' else ''}"
