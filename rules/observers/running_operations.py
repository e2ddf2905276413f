"""Which operations a MongoDB server is working on, how long each has run, and which of them wait for a lock or scan.

Standing out: operations of clients that have run for `LONG_S` or longer: those that wait for a lock together, then the longest of
those that read a whole collection, then the longest other one. Normal: shorter ones. What a member of a replica set does for ever
(tailing the log of operations, waiting for a change of the topology) and the server's own threads are none.
Worked example: `"secs_running" : 97`, `"waitingForLock" : true` below `"ns" : "shop.orders"`: an operation on shop.orders has waited
for a lock for 97 s.
Cost: one filter by name over params and counters of text; at most `MOST_ROWS` rows. Source: MongoDB Manual, db.currentOp, Output
Fields (secs_running, microsecs_running, waitingForLock, planSummary).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "running-operations",
    "Which operations of a MongoDB server run long?",
    ("params", "counters"),
    {
        "*": 'db.currentOp({"secs_running": {$gte: 3}}) again after 10 s; the plan of the longest (explain), and its indexes'
    },
)

LONG_S = 1.0
"""Minimum seconds of an operation that is told: the server logs what takes a tenth of that as slow."""

NAMES = (
    "secs_running",
    "microsecs_running",
    "op",
    "ns",
    "planSummary",
    "waitingForLock",
    "desc",
    "opid",
    "active",
    "maxAwaitTimeMS",
    "isMaster",
    "ismaster",
)

FELT_LONG_S = 5.0
"""Minimum seconds from which an operation that waits or scans says by itself why the server is slow."""

APART = 400
"""Maximum number of lines of one operation: a document with its locks and its command."""

MOST_ROWS = 50_000
CITED = 4
LEADS = 0.6

_NUMBER = re.compile(r"(?:NumberLong\()?\"?([0-9]{1,18}(?:\.[0-9]+)?)\"?\)?")
_FOR_EVER = re.compile(r"local\.oplog\..*|.*\$cmd\.aggregate")
_CLIENT = re.compile(r"conn[0-9]+.*")


@dataclass(frozen=True)
class Operation:
    """An operation: its seconds, and the values and lines that the listing has of it."""

    seconds: float
    of: dict[str, str]
    at: dict[str, dict[str, Any]]

    @property
    def words(self) -> str:
        """Describe the operation, as far as the listing does."""
        what, where = self.of.get("op", "operation"), self.of.get("ns")
        article = "an" if what[:1] in "aeiou" else "a"
        return f"{article} {what}" + f" on {where}" * bool(where)

    @property
    def waits(self) -> bool:
        """Return whether it waits for a lock."""
        return self.of.get("waitingForLock") == "true"

    @property
    def scans(self) -> bool:
        """Return whether it reads a whole collection for a query; fetching batches (mongodump) does not count."""
        return self.of.get("planSummary", "").startswith("COLLSCAN") and self.of.get("op") != "getmore"


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield waits for locks, then scans, then the longest other operation, per artifact."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "name", "value"]
    named = pl.col("name").is_in(NAMES)
    listed = [
        case.scan(table, columns, named & (pl.col(of) == "text")).with_columns(pl.col("value").cast(pl.String))
        for table, of in (("params", "scope"), ("counters", "grp"))
    ]
    rows = pl.concat(listed).head(MOST_ROWS).collect(engine="streaming").sort("artifact_id", "part", "line_no")
    for _, part in rows.group_by("artifact_id", maintain_order=True):
        yield from _sightings(list(_operations(part.to_dicts())))


def _operations(rows: list[dict[str, Any]]) -> Iterator[Operation]:
    """Yield the operations of clients that run long; a repeated name begins the next operation."""
    held: dict[str, dict[str, Any]] = {}
    for row in [*rows, None]:
        far = row is not None and held and row["line_no"] - next(iter(held.values()))["line_no"] > APART
        if held and (row is None or row["name"] in held or far):
            if (one := _operation(held)) is not None:
                yield one
            held = {}
        if row is not None:
            held[row["name"]] = row


def _operation(at: dict[str, dict[str, Any]]) -> Operation | None:
    of = {name: str(row["value"]).strip() for name, row in at.items()}
    seconds = _number(of.get("microsecs_running"), 1e-6)
    seconds = _number(of.get("secs_running"), 1.0) if seconds is None else seconds
    if seconds is None or seconds < LONG_S or of.get("active") == "false" or of.get("op") == "none":
        return None
    if _FOR_EVER.fullmatch(of.get("ns", "")) or any(name in of for name in ("maxAwaitTimeMS", "isMaster", "ismaster")):
        return None
    return None if "desc" in of and not _CLIENT.fullmatch(of["desc"]) else Operation(seconds, of, at)


def _number(text: str | None, scale: float) -> float | None:
    found = _NUMBER.fullmatch(text) if text else None
    return float(found[1]) * scale if found else None


def _sightings(every: list[Operation]) -> Iterator[Sighting]:
    order = sorted(every, key=lambda o: -o.seconds)
    waiting = [o for o in order if o.waits]
    scanning = [o for o in order if o.scans and not o.waits]
    others = [o for o in order if not o.waits and not o.scans]
    for some, does, event in (
        (waiting, "has waited for a lock or run before it for", "operations-wait-for-lock"),
        (scanning, "that reads the whole collection (COLLSCAN) has run for", "operation-scans"),
        (others, "has run for", None),
    ):
        if not some:
            continue
        top = some[0]
        more = f"; {len(some):,} such operations" if len(some) > 1 else ""
        yield Sighting(
            "wait",
            top.of.get("ns", "operation"),
            f"{top.words[0].upper()}{top.words[1:]} {does} {figure(top.seconds, 's')}{more}",
            "running_s",
            top.seconds,
            "s",
            tuple(line for one in some[:CITED] for line in _lines(one)),
            **place(next(iter(top.at.values()))),
            seconds=None if event and top.seconds >= FELT_LONG_S else top.seconds,
            share=LEADS if event and top.seconds >= FELT_LONG_S else None,
            n=len(some),
            seen=({"event": event},) if event else (),
        )


def _lines(one: Operation) -> Iterator[Lines]:
    for name in ("secs_running", "microsecs_running", "waitingForLock" if one.waits else "planSummary", "ns"):
        if row := one.at.get(name):
            yield Lines(row["artifact_id"], row["line_no"], row["line_no"], f"{name}: {row['value']}")
