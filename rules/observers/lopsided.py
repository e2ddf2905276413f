"""What is lopsided: one processor, device, node, queue, process or peer takes most of what several share.

Standing out: of at least two that share, one takes at least twice its even share and more than half of the whole, and
the whole is worth it (a processor that is 80 % busy, a device with requests). Normal: even shares.
Worked example: eight processors, soft interrupts 0 on seven and 97 % on the eighth: cpu 3 has 100 % of them.
Counters of processors, queues and nodes: what each counted between its samples, else since the start.
A device all of whose queues interrupt one processor is told once.
Memory nodes are told by their pages: those that went to programs of another node, and a full node beside an empty one.
Cost: one aggregation over the samples. Source: Gini and Lorenz for shares; the usual practice of looking at mpstat -P ALL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.observers.samples import sampled
from rules.signatures.signatures import Seen
from rules.writing.process_words import process_named

OBSERVER = Observer(
    "lopsided",
    "Who takes most of what several share?",
    ("mpstat", "iostat", "ps", "numa", "counters"),
    {
        "linux": "mpstat -P ALL 5 6; cat /proc/interrupts, twice",
        "solaris": "mpstat 5 6; intrstat 5 6",
        "aix": "mpstat -d 5 6",
    },
    wordless=True,
)

MOST_OF_ALL = 0.5
"""Minimum part of the whole that one takes."""

TIMES_EVEN = 2.0
"""Minimum ratio to the even share: one of two takes more than half in any noise."""

BUSY_PCT = 80.0
"""Minimum use of one processor before its share is worth a word."""


@dataclass(frozen=True)
class Shared:
    """Something that several members share: its value per sample and member, and the minimum worth reporting."""

    what: str
    value: pl.Expr
    unit: str
    least: float
    seen: Seen


PROCESSORS = (
    Shared(
        "busy time",
        100.0 - pl.col("idle") - pl.col("wa").fill_null(0.0),
        "%",
        BUSY_PCT,
        {"counter": "one_cpu_busy_pct"},
    ),
    Shared("soft interrupts", pl.col("soft"), "%", 20.0, {"counter": "one_cpu_soft_pct"}),
    Shared("interrupts", pl.coalesce("irq", pl.lit(None, pl.Float64)), "%", 20.0, {"counter": "one_cpu_irq_pct"}),
)
DEVICES = (
    Shared("busy time", pl.col("busy_pct"), "%", 50.0, {"counter": "one_disk_busy_pct"}),
    Shared(
        "reads and writes",
        pl.col("r_ps").fill_null(0.0) + pl.col("w_ps").fill_null(0.0),
        "per s",
        50.0,
        {"counter": "one_disk_ops_ps"},
    ),
)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield who takes most, the most lopsided first."""
    numbered = pl.col("cpu").cast(pl.String).str.contains(r"^\d+$")
    cpus = sampled(case, "mpstat", ["cpu", "idle", "wa", "soft", "irq"]).filter(numbered)
    cpus = cpus.with_columns(pl.concat_str(pl.lit("CPU "), pl.col("cpu").cast(pl.String)).alias("member"))
    disks = sampled(case, "iostat", ["device", "part_of", "busy_pct", "r_ps", "w_ps"])
    disks = disks.filter(~pl.col("part_of").fill_null(False)).with_columns(pl.col("device").alias("member"))
    found = [s for shared in PROCESSORS for s in _uneven(cpus, shared)] + [
        s for shared in DEVICES for s in _uneven(disks, shared)
    ]
    found += [*_processes(case), *_counted(case), *_remote(case), *_missed(case), *_free(case)]
    return sorted(found, key=lambda s: -(s.share or 0.0))


def _uneven(rows: pl.LazyFrame, shared: Shared) -> Iterator[Sighting]:
    keys = [*PLACE_COLUMNS, "part", "member"]
    v = pl.col("v")
    made = (
        rows.with_columns(shared.value.cast(pl.Float64).alias("v"))
        .filter(v.is_not_null() & v.is_finite())
        .group_by(keys, maintain_order=True)
        .agg(
            v.mean().alias("mean"),
            v.max().alias("worst"),
            pl.len().alias("n"),
            pl.col("line_no").get(v.arg_max()),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .collect(engine="streaming")
    )
    for _, members in made.group_by(*PLACE_COLUMNS, "part", maintain_order=True):
        yield from _largest(members, shared)


def _largest(members: pl.DataFrame, shared: Shared) -> Iterator[Sighting]:
    total = float(members["mean"].sum())
    if members.height < 2 or total <= 0:
        return
    row = members.sort("mean", descending=True).row(0, named=True)
    share = row["mean"] / total
    if row["mean"] >= shared.least and share > MOST_OF_ALL and share * members.height >= TIMES_EVEN:
        others = (total - row["mean"]) / (members.height - 1)
        yield _sighting(row, row["member"], shared, share, others, members.height)


def _processes(case: CaseTables) -> Iterator[Sighting]:
    """Yield the process that takes most of the processor time of a listing."""
    columns = [*PLACE_COLUMNS, "part", "pid", "lwp", "comm", "cpu_pct", "line_no", "t_local"]
    rows = case.scan("ps", columns).filter(pl.col("lwp").is_null() & pl.col("pid").is_not_null())
    named = rows.with_columns(process_named().alias("member"))
    yield from _uneven(
        named, Shared("processor time", pl.col("cpu_pct"), "%", 50.0, {"counter": "one_process_cpu_pct"})
    )


MEMBERS = r"(?i)^(?:cpu|core|node|queue|rxq?|txq?|channel|ring)[-_ ]?[0-9]+$"
"""Names of those that share the work of one counter; others, such as devices, are not meant to."""

COUNTED = 10_000.0
"""Minimum of such a counter that is worth a word: less is what a processor does at the start."""

MOVED = 1_000.0
"""Minimum growth of such a counter between two samples."""

MOST_COUNTED = 5
"""Maximum number of counters that are told, those with the largest share first."""


def _counted(case: CaseTables) -> Iterator[Sighting]:
    """Yield the counters of which one of several processors, queues or nodes has most."""
    columns = [*PLACE_COLUMNS, "part", "grp", "name", "item", "value", "line_no", "t_local", "mode"]
    v = pl.col("value")
    shared = pl.col("item").str.contains(MEMBERS) & (pl.col("mode").fill_null("total") == "total")
    keys = [*PLACE_COLUMNS, "part", "grp", "name"]
    rows = (
        case.scan("counters", columns, shared & v.is_between(0, 2.0**63) & pl.col("name").is_not_null())
        .group_by([*keys, "item"], maintain_order=True)
        .agg(
            pl.when(pl.len() > 1).then(v.last() - v.first()).otherwise(v.last()).alias("mean"),
            pl.len().alias("n"),
            v.last().alias("total"),
            pl.col("line_no").last(),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .filter(pl.col("mean") >= 0)
        .collect(engine="streaming")
    )
    found: list[Sighting] = []
    together, queues = _queues_together(rows)
    yield from together
    for key, members in rows.group_by(keys, maintain_order=True):
        grp, name = key[-2], key[-1]
        if (members["artifact_id"][0], name) in queues:
            continue
        what = " ".join(str(x) for x in (grp, name) if x)
        least = MOVED if members["n"].max() > 1 else COUNTED  # type: ignore[operator]  # a count of rows
        named = Shared(what, pl.col("value"), "count", least, {"counter": f"one_of_{name}"})
        top = members.sort("mean", descending=True).row(0, named=True)
        total = f"{top['item']} stands at {figure(top['total'], 'count')}" if top["n"] > 1 else None
        found += (replace(s, beside=total) for s in _largest(members.rename({"item": "member"}), named))
    yield from sorted(found, key=lambda s: -(s.share or 0.0))[:MOST_COUNTED]


QUEUE = re.compile(
    r"[0-9]{1,4}:? (?P<device>[A-Za-z][\w.@:-]{0,30}?)(?:[-_.](?:(?i:TxRx|rx|tx|queue|input|output|req|io|ch|fp)[-_.]?)?|q)[0-9]{1,3}"
)
"""Name of the interrupt of one of several queues of a device: `27 eth0-TxRx-0`, `40 virtio0-input.1`, `52 nvme0q3`."""

QUEUES, ALL_OF_IT, WORTH = 2, 0.95, 1e6
"""Minimum number of queues of a device, part of their interrupts that one processor has, and interrupts of each."""


def _queues_together(rows: pl.DataFrame) -> tuple[list[Sighting], set[tuple[int, str]]]:
    """Return the devices all of whose queues interrupt the same processor, which queues are meant to avoid; and those queues' names."""
    names = rows.get_column("name").unique().to_list() if rows.height else []
    known = {name: found["device"] for name in names if (found := QUEUE.fullmatch(str(name)))}
    of = rows.filter(pl.col("name").is_in(list(known)) & (pl.col("grp") == "interrupts"))
    each = ["artifact_id", "part", "name"]
    of = of.with_columns(
        pl.col("mean").sum().over(each).alias("all"),
        pl.len().over(each).alias("members"),
        pl.col("name").replace_strict(known, default=None, return_dtype=pl.String).alias("device"),
    ).filter((pl.col("members") > 1) & (pl.col("all") >= WORTH))
    made: list[Sighting] = []
    told: set[tuple[int, str]] = set()
    for _, queues in of.group_by("artifact_id", "part", "device", maintain_order=True):
        most = queues.filter(pl.col("mean") >= ALL_OF_IT * pl.col("all")).sort("line_no")
        if queues["name"].n_unique() < QUEUES or most.height < queues["name"].n_unique() or most["item"].n_unique() > 1:
            continue
        row, whole = most.row(0, named=True), float(most["all"].sum())
        made.append(
            Sighting(
                "lopsided",
                f"queues of {row['device']}",
                f"All {most.height} queues of {row['device']} interrupt {row['item']}:"
                f" {figure(float(most['mean'].sum()), 'count')} of their {figure(whole, 'count')} interrupts, {row['members']} processors could share them",
                "one_of_queues",
                most.select(pl.col("mean").max()).item(),
                "count",
                tuple(Lines(row["artifact_id"], n, n, row["item"]) for n in most["line_no"].to_list()[:5]),
                **place(row),
                t_from=row["t_from"],
                t_to=row["t_to"],
                against="an even share",
                against_value=whole / row["members"],
                share=MOST_OF_ALL,
                n=most.height,
                seen=({"counter": "queues_on_one_cpu"},),
            )
        )
        told |= {(row["artifact_id"], name) for name in most["name"].to_list()}
    return made, told


NODE = [*PLACE_COLUMNS, "node"]

REMOTE = 0.2
"""Minimum part of a memory node's pages that go to programs of another node; a few are normal at every start."""

PAGES = 1000.0
"""Minimum number of such pages: 4 MB are worth no word."""

FULL_PCT, FREE_PCT = 10.0, 50.0
"""Maximum free part of a node that is full, and minimum free part of another that could have helped."""


def _numa(case: CaseTables, metrics: tuple[str, ...]) -> pl.DataFrame:
    """Return first and last value and line of these metrics, per node."""
    v = pl.col("value")
    rows = case.scan("numa", [*NODE, "metric", "value", "line_no", "t_local"], pl.col("metric").is_in(metrics))
    return (
        rows.filter(v.is_not_null() & v.is_finite() & pl.col("node").is_not_null())
        .group_by(*NODE, "metric", maintain_order=True)
        .agg(
            v.first().alias("first"),
            v.last().alias("last"),
            pl.len().alias("n"),
            pl.col("line_no").first().alias("line_first"),
            pl.col("line_no").last().alias("line_no"),
        )
        .collect(engine="streaming")
    )


def _remote(case: CaseTables) -> Iterator[Sighting]:
    """Yield the memory nodes whose pages go to programs that run on another node."""
    made = _numa(case, ("local_node", "other_node"))
    moved = pl.when(pl.col("n") > 1).then(pl.col("last") - pl.col("first")).otherwise("last").alias("moved")
    for _, node in made.with_columns(moved).group_by(NODE, maintain_order=True):
        rows = {row["metric"]: row for row in node.iter_rows(named=True)}
        if len(rows) < 2:
            continue
        other, local = rows["other_node"], rows["local_node"]
        total = other["moved"] + local["moved"]
        if other["moved"] < PAGES or other["moved"] < REMOTE * total:
            continue
        artifact = other["artifact_id"]
        lines = dict.fromkeys(
            ((other["line_no"], "to others"), (other["line_first"], "before"), (local["line_no"], "to its own"))
        )
        yield Sighting(
            kind="lopsided",
            subject=f"node {other['node']} other_node",
            headline=(
                f"{other['moved']:,.0f} of {total:,.0f} pages of memory node {other['node']} went to programs of another node,"
                f" {local['moved']:,.0f} to its own"
            ),
            name="other_node_pages",
            value=other["moved"],
            unit="count",
            lines=tuple(Lines(artifact, line, line, role) for line, role in lines),
            **place(other),
            against="its own programs",
            against_value=local["moved"],
            share=min(1.0, other["moved"] / total),
            n=other["n"],
            seen=({"counter": "other_node"},),
        )


def _missed(case: CaseTables) -> Iterator[Sighting]:
    """Yield the memory nodes that gave pages because the requested node had none."""
    made = _numa(case, ("numa_hit", "numa_miss"))
    moved = pl.when(pl.col("n") > 1).then(pl.col("last") - pl.col("first")).otherwise("last").alias("moved")
    for _, node in made.with_columns(moved).group_by(NODE, maintain_order=True):
        rows = {row["metric"]: row for row in node.iter_rows(named=True)}
        missed = rows.get("numa_miss")
        if missed is None or "numa_hit" not in rows:
            continue
        total = missed["moved"] + rows["numa_hit"]["moved"]
        if missed["moved"] < PAGES or missed["moved"] < REMOTE * total:
            continue
        yield Sighting(
            kind="lopsided",
            subject=f"node {missed['node']} numa_miss",
            headline=(
                f"{missed['moved']:,.0f} of {total:,.0f} pages that memory node {missed['node']} gave were wanted from another node"
                " (numa_miss)"
            ),
            name="missed_pages",
            value=missed["moved"],
            unit="count",
            lines=tuple(
                Lines(missed["artifact_id"], row["line_no"], row["line_no"], name)
                for name, row in reversed(rows.items())
            ),
            **place(missed),
            against="pages that were wanted from this node",
            against_value=rows["numa_hit"]["moved"],
            share=min(1.0, missed["moved"] / total),
            n=missed["n"],
            seen=({"counter": "numa_miss_part"},),
        )


def _free(case: CaseTables) -> Iterator[Sighting]:
    """Yield a node without free memory beside one that has plenty."""
    made = _numa(case, ("mem_kb", "free_kb"))
    whole = made.filter(pl.col("metric") == "mem_kb").select(*NODE, pl.col("last").alias("mem_kb"))
    free = made.filter(pl.col("metric") == "free_kb").join(whole, on=NODE, nulls_equal=True)
    free = free.filter(pl.col("mem_kb") > 0).with_columns((100 * pl.col("last") / pl.col("mem_kb")).alias("pct"))
    for _, nodes in free.sort("pct").group_by(PLACE_COLUMNS, maintain_order=True):
        full, empty = nodes.row(0, named=True), nodes.row(-1, named=True)
        if full["pct"] <= FULL_PCT and empty["pct"] >= FREE_PCT:
            yield Sighting(
                kind="lopsided",
                subject=f"node {full['node']} free",
                headline=(
                    f"Memory node {full['node']} has {figure(full['pct'], '%')} free ({figure(full['last'], 'kB')}),"
                    f" node {empty['node']} {figure(empty['pct'], '%')} ({figure(empty['last'], 'kB')})"
                ),
                name="node_free_kb",
                value=full["last"],
                unit="kB",
                lines=tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], "free") for r in (full, empty)),
                **place(full),
                against="the emptiest node",
                against_value=empty["last"],
                share=min(1.0, (empty["pct"] - full["pct"]) / 100),
                n=nodes.height,
                seen=({"counter": "node_free_kb"},),
            )


def _sighting(row: dict[str, Any], who: str, shared: Shared, share: float, others: float, members: int) -> Sighting:
    return Sighting(
        kind="lopsided",
        subject=f"{who} {shared.what}",
        headline=(
            f"{who} has {figure(100 * share, '%')} of the {shared.what} of {members}: {figure(row['mean'], shared.unit)},"
            f" the others {figure(others, shared.unit)} each"
        ),
        name="share_pct",
        value=row["mean"],
        unit=shared.unit,
        lines=(Lines(row["artifact_id"], row["line_no"], row["line_no"], "largest sample"),),
        **place(row),
        t_from=row["t_from"],
        t_to=row["t_to"],
        against="the others",
        against_value=others,
        share=min(1.0, share * min(1.0, row["mean"] / 100.0) if shared.unit == "%" else 0.5 * share),
        n=row["n"],
        seen=(shared.seen,),
    )
