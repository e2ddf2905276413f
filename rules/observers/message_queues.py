"""Which process of Erlang has many messages waiting, as a crash dump or a listing of processes says.

Standing out: 10,000 messages or more in the queue of one process, told with its name where the lines above have it.
Normal: shorter queues; the longest is kept as a measure.
Worked example: `Name: shop_events`, below it `Message queue length: 812345`: 812,345 messages wait for the process shop_events.
Cost: one filter by name over the counters, one over the params where a queue is long. Source: Erlang/OTP documentation, How to
interpret the Erlang crash dumps (Message queue length); Erlang Efficiency Guide, Processes; erlang:system_monitor
(long_message_queue); etop of its observer application (column MsgQ).
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.function_lists import PROCESSES
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "message-queues",
    "Which process does not take its messages?",
    ("counters", "rows"),
    {
        "*": "the stack and the first messages of the process with the longest queue (crashdump_viewer, or process_info of a live one)"
    },
)

LONG = 10_000.0
"""Minimum number of messages: a process that keeps up has next to none, and each receive looks through all of them."""

MOST = 5
ABOVE = 12
"""Maximum number of lines between a process's name and its queue in a dump."""

HOPELESS = 100_000.0
"""Number of messages from which nobody needs to ask for another reason: the process falls further behind with each it looks for."""

QUEUE = r"(?i)^message[ _]queue[ _]len(?:gth)?$"
NAME = r"(?i)^(?:name|registered[ _]name|spawned as|initial call)$"


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the longest queues of each artifact, or the longest one as a measure; of dumps, then of listings of etop."""
    yield from _listed(case)
    columns = [*PLACE_COLUMNS, "line_no", "value"]
    rows = case.scan(
        "counters", [*columns, "name"], pl.col("name").str.contains(QUEUE) & pl.col("value").is_between(1, 1e15)
    )
    top = rows.group_by("artifact_id").agg(pl.struct(*columns[1:]).top_k_by("value", MOST).alias("top"))
    for of in top.collect(engine="streaming").sort("artifact_id").iter_rows(named=True):
        a = of["artifact_id"]
        held = [{**row, "artifact_id": a} for row in sorted(of["top"], key=lambda r: (-r["value"], r["line_no"]))]
        long = [row for row in held if row["value"] >= LONG]
        for row in long or held[:1]:
            named = case.scan(
                "params",
                ["artifact_id", "line_no", "name", "value"],
                (pl.col("artifact_id") == a)
                & pl.col("line_no").is_between(row["line_no"] - ABOVE, row["line_no"])
                & pl.col("name").str.contains(NAME),
            )
            near = named.sort(
                pl.col("name").str.to_lowercase().is_in(["name", "registered name"]), "line_no", descending=True
            )
            found = near.head(1).collect().to_dicts()
            who = f"the process {found[0]['value']}" if found else "one process"
            yield Sighting(
                "queue",
                who,
                f"{figure(row['value'], 'count')} messages wait in the queue of {who}",
                "messages_waiting",
                row["value"],
                "count",
                (
                    Lines(a, row["line_no"], row["line_no"], "messages that wait"),
                    *(Lines(a, f["line_no"], f["line_no"], "the process") for f in found),
                ),
                **place(row),
                against="a process that keeps up",
                against_value=LONG,
                share=_share(row["value"]),
                seen=({"event": "message-queue-hopeless" if row["value"] >= HOPELESS else "message-queue-long"},),
                normal=row["value"] < LONG,
            )


def _listed(case: CaseTables) -> Iterable[Sighting]:
    """Yield the longest queues of listings of processes (etop): a row has the name and the function that the process is in."""
    columns = [*PLACE_COLUMNS, "line_no", "heading", "cells"]
    listing = pl.col("heading").list.get(5, null_on_oob=True) == PROCESSES[5]
    rows = (
        case.scan("rows", columns, listing.fill_null(False) & (pl.col("cells").list.len() == len(PROCESSES)))
        .with_columns(pl.col("cells").list.get(5).cast(pl.Float64, strict=False).alias("value"))
        .filter(pl.col("value") >= LONG)
        .top_k(MOST, by="value")
        .collect(engine="streaming")
    )
    for row in rows.sort("value", descending=True).iter_rows(named=True):
        who = f"the process {row['cells'][1]}"
        yield Sighting(
            "queue",
            who,
            f"{figure(row['value'], 'count')} messages wait in the queue of {who}, which is in {row['cells'][6]}",
            "messages_waiting",
            row["value"],
            "count",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "messages that wait"),),
            **place(row),
            against="a process that keeps up",
            against_value=LONG,
            share=_share(row["value"]),
            seen=({"event": "message-queue-hopeless" if row["value"] >= HOPELESS else "message-queue-long"},),
        )


def _share(messages: float) -> float | None:
    """Return the part of a lead that a queue is worth; None for a short one."""
    return 0.6 if messages >= HOPELESS else 0.4 if messages >= LONG else None
