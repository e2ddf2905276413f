"""What machine it is: its processors and memory, its memory nodes. What everything else is measured against.

Nothing here stands out: these are measures without a bound, shown where little else is.
Worked example: `numactl --hardware` of two nodes: "2 memory nodes: 459 of 502 MB free on node 0, 428 of 471 on node 1;
a distance of 20 to another node, of 10 within one".
Cost: one pass over two small tables. Source: numactl(8); Linux Documentation/mm/numa.rst (ACPI SLIT: 10 is local).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import CONTEXT, MOST_LINES, Lines, Observer, Sighting, figure, place

OBSERVER = Observer("machine", "What machine is it?", ("hosts", "numa"))

MOST_NODES = 4
"""Maximum number of memory nodes that are told one by one; more are told by the one with the least free memory."""

NODE_METRICS = ["mem_kb", "free_kb", "distance"]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the description of each machine from listings, memory nodes first, since few listings name them."""
    yield from _nodes(case)
    yield from _hosts(case)


def _hosts(case: CaseTables) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "line_no", "line_end", "ncpu", "cores", "mem_kb", "model"]
    rows = case.scan("hosts", columns).filter((pl.col("ncpu") > 0) & pl.col("line_no").is_not_null()).sort("line_no")
    first = rows.collect(engine="streaming").unique("artifact_id", keep="first", maintain_order=True)
    for row in first.iter_rows(named=True):
        parts = [_several(row["ncpu"], "processor")]
        if row["cores"] and row["cores"] != row["ncpu"]:
            parts[0] += f" ({_several(row['cores'], 'core')})"
        if row["mem_kb"]:
            parts.append(f"{figure(row['mem_kb'], 'kB')} of memory")
        last = min(row["line_end"] or row["line_no"], row["line_no"] + MOST_LINES - 1)
        yield Sighting(
            CONTEXT,
            row["model"] or "processors",
            f"The machine has {' and '.join(parts)}",
            "processors_count",
            float(row["ncpu"]),
            "count",
            (Lines(row["artifact_id"], row["line_no"], last, "processors of the machine"),),
            **place(row),
            normal=True,
        )


def _several(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _nodes(case: CaseTables) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "part", "sample", "line_no", "node", "node2", "metric", "value"]
    wanted = pl.col("metric").is_in(NODE_METRICS) & pl.col("value").is_finite() & pl.col("node").is_not_null()
    rows = case.scan("numa", columns, wanted).collect(engine="streaming").sort("line_no")
    for _, listing in rows.group_by("artifact_id", "part", "sample", maintain_order=True):
        said = listing.to_dicts()
        free = {r["node"]: r for r in said if r["metric"] == "free_kb"}
        size = {r["node"]: r for r in said if r["metric"] == "mem_kb"}
        both = sorted(free.keys() & size.keys())
        if len(both) > 1:
            yield _listed(said, [(free[node], size[node]) for node in both])


def _listed(said: list[dict[str, Any]], nodes: list[tuple[dict[str, Any], dict[str, Any]]]) -> Sighting:
    """Return the sighting for one listing of memory nodes, from the rows with free memory and size per node."""
    least = min((free for free, _ in nodes), key=lambda row: row["value"])
    shown = nodes if len(nodes) <= MOST_NODES else [n for n in nodes if n[0] is least]
    words = [
        f"{figure(free['value'], 'kB')} of {figure(size['value'], 'kB')} free on node {free['node']}"
        for free, size in shown
    ]
    text = f"{len(nodes)} memory nodes: {', '.join(words)}"
    far = [r for r in said if r["metric"] == "distance" and r["node"] != r["node2"]]
    own = [r for r in said if r["metric"] == "distance" and r["node"] == r["node2"]]
    if far and own:
        farthest, near = max(far, key=lambda r: r["value"]), own[0]
        text += f"; a distance of {farthest['value']:.0f} to another node, of {near['value']:.0f} within one"
    lines = [Lines(r["artifact_id"], r["line_no"], r["line_no"], f"free on node {r['node']}") for r, _ in shown]
    lines += [Lines(r["artifact_id"], r["line_no"], r["line_no"], "node distances") for r in far[:1]]
    return Sighting(
        CONTEXT,
        "memory nodes",
        text,
        "least_free_kb",
        float(least["value"]),
        "kB",
        tuple(lines),
        **place(least),
        normal=True,
        n=len(nodes),
    )
