"""Which container has very many processes and threads, as docker stats or podman stats list them.

Standing out: 4,096 or more, an eighth of what a whole host may have by default (32,768). Normal: fewer; the most is kept as a measure.
Worked example: `NAME PIDS`, `shop 9120`: the container shop has 9,120 processes and threads.
Cost: the first `MOST_ROWS` rows of listings with such a column. Source: docker stats (PIDS: processes and kernel threads of the
container); Linux Documentation/admin-guide/sysctl/kernel.rst, pid_max.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "container-tasks",
    "Which container has very many processes and threads?",
    ("rows",),
    {"linux": "ps -eLf --sort=-nlwp; cat /sys/fs/cgroup/PATH/pids.current /sys/fs/cgroup/PATH/pids.max"},
)

MANY = 4096.0
MOST_ROWS = 5_000
TOLD = 3
COLUMN, NAMES = "PIDS", ("NAME", "CONTAINER", "CONTAINER ID", "ID")
COUNT = re.compile(r"[0-9]{1,9}")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield containers with many tasks, the most first, or the one with most as a measure."""
    columns = [*PLACE_COLUMNS, "line_no", "heading", "cells"]
    rows = (
        case.scan("rows", columns, pl.col("heading").list.contains(COLUMN)).head(MOST_ROWS).collect(engine="streaming")
    )
    for _, held in rows.sort("artifact_id", "line_no").group_by("artifact_id", maintain_order=True):
        found = []
        for row in held.iter_rows(named=True):
            cells = dict(zip(row["heading"], row["cells"], strict=False))
            count = cells.get(COLUMN) or ""
            name = next((cells[n] for n in NAMES if cells.get(n)), None)
            if COUNT.fullmatch(count) and name and int(count) > 0:
                found.append((float(count), name, row))
        found.sort(key=lambda x: (-x[0], x[2]["line_no"]))
        many = [x for x in found if x[0] >= MANY][:TOLD]
        for count, name, row in many or found[:1]:
            yield Sighting(
                "level",
                f"tasks of {name}",
                f"The container {name} has {figure(count, 'count')} processes and threads (PIDS)",
                "tasks_count",
                count,
                "count",
                (Lines(row["artifact_id"], row["line_no"], row["line_no"], "processes and threads"),),
                **place(row),
                against="an eighth of what a host may have by default",
                against_value=MANY,
                share=min(1.0, count / 32_768.0) if count >= MANY else None,
                seen=({"event": "container-many-tasks"},),
                normal=count < MANY,
            )
