"""One row per connection in an Oracle Net trace: the service asked for, and the result.

Inputs: `sqlnet`. A listener's connection runs from `nsglhc: Allocating cxd` to its refusal, redirection or hand-off and
up to `Deallocating cxd`; the listener reuses addresses, so `conn_key` does not identify a connection, lines do.
A client's runs from `nscall: connecting...` to the next one; conn_key is then NULL.
Columns: line_from, line_to (first and last record known to belong to it), `service` (the one requested), peer_ip,
peer_port,
child_pid, `spawn_s` (s from the listener's `sntpcall: entry` to the answer of the process that it started, NULL without
both stamps or across missing lines), `result`: accepted, refused TNS-n, redirected ADDRESS, timed out, failed TNS-n,
open (its end is not in the trace).
Worked example: healthy listener trace, cxd 0xf0bb20: service js03, peer 127.0.0.1, sntpcall entered at 28.306667, NTP0
4165 at 28.320771: spawn_s 0.014104, child_pid 4165, accepted.
A child's answer carries an address that differs from the connection's (a few bytes above its context, which `ctx=`
lines print); where that is not printed, the answer goes to the only connection that waits for one.
Cost: linear in the records that name a connection, a packet, a descriptor or a child. Source: the same traces as
`sqlnet_waits`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope

TABLE = DerivedTable(
    "sqlnet_conns",
    {
        **PLACE,
        "conn_key": pl.String(),
        "line_from": pl.Int64(),
        "line_to": pl.Int64(),
        "service": pl.String(),
        "peer_ip": pl.String(),
        "peer_port": pl.Int64(),
        "spawn_s": pl.Float64(),
        "child_pid": pl.Int64(),
        "result": pl.String(),
    },
)
NEEDS = ("sqlnet",)
SCOPE: Scope = "artifact"
VERSION = "1"

DIGITS = 6
REACH = 0x100
"""Maximum distance in bytes of an event's address above the context of its connection."""

TEXT, FUNC = pl.col("text"), pl.col("func")
TELLING = (
    pl.col("conn_key").is_not_null()
    | pl.col("service").is_not_null()
    | pl.col("peer_ip").is_not_null()
    | pl.col("child_pid").is_not_null()
    | pl.col("err").is_not_null()
    | pl.col("ptype").is_not_null()
    | (FUNC.is_in(["nscall", "nsc2addr", "nttcni"]) & (pl.col("event") == "info"))
    | ((FUNC == "sntpcall") & (pl.col("event") == "entry"))
    | ((FUNC == "nsevwait") & TEXT.str.starts_with("waiting for"))
    | TEXT.str.contains("ctx=", literal=True)
)
"""Records that hold a fact about a connection."""

_CONTEXT = re.compile(r"ctx=(?:0x)*([0-9a-f]+)")
_ADDRESS = re.compile(r"\(HOST *= *([^()]+)\) *\(PORT *= *([0-9]+)\)|\(KEY *= *([^()]+)\)", re.IGNORECASE)


@dataclass
class _Connection:
    place: dict[str, Any]
    key: str | None
    line_from: int
    line_to: int
    contexts: set[int] = field(default_factory=set)
    service: str | None = None
    peer_ip: str | None = None
    peer_port: int | None = None
    started: float | None = None
    waiting: bool = False
    spawn_s: float | None = None
    child_pid: int | None = None
    result: str | None = None

    def learn(self, row: dict[str, Any]) -> None:
        self.line_to = max(self.line_to, row["line_end"] or row["line_no"])
        for name in ("service", "peer_ip", "peer_port"):
            if getattr(self, name) is None and row[name] is not None:
                setattr(self, name, row[name])
        found = _CONTEXT.search(row["text"] or "")
        if found:
            self.contexts.add(int(found[1], 16))

    def as_row(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in TABLE.columns if name not in (*PLACE, "conn_key", "result")}
        return {**self.place, **own, "conn_key": self.key, "result": self.result or "open"}


def connections(sqlnet: pl.DataFrame) -> pl.DataFrame:
    """Return `sqlnet_conns` for a frame of `sqlnet`."""
    telling = sqlnet.filter(TELLING).sort("artifact_id", "part", "line_no", "seq")
    found: list[_Connection] = []
    for (_artifact, _part), rows in telling.group_by("artifact_id", "part", maintain_order=True):
        listens = bool((rows["side"] == "listener").any())
        found += _of_listener(rows.iter_rows(named=True)) if listens else _of_client(rows.iter_rows(named=True))
    return TABLE.rows(c.as_row() for c in sorted(found, key=lambda c: (c.place["artifact_id"], c.line_from)))


def _place(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in PLACE_COLUMNS}


def _of_listener(rows: Iterator[dict[str, Any]]) -> list[_Connection]:
    """Follow a listener: each record belongs to the connection whose event its thread is handling."""
    found: list[_Connection] = []
    alive: dict[str, _Connection] = {}
    now: dict[str | None, _Connection | None] = {}
    for row in rows:
        thread, text, key = row["thread"], row["text"] or "", row["conn_key"]
        if row["func"] == "nsevwait" and text.startswith("waiting for"):
            now[thread] = None
            continue
        if text.startswith("Allocating cxd"):
            begun = _Connection(_place(row), key, row["line_no"], row["line_end"] or row["line_no"])
            now[thread] = alive[key] = begun
            found.append(begun)
            continue
        if key is not None:
            now[thread] = alive.get(key) or _of_context(int(key, 16), alive)
        if text.startswith("Deallocating cxd") and key in alive:
            alive.pop(key).learn(row)
            continue
        connection = now.get(thread)
        if row["child_pid"] is not None and (connection is None or not connection.waiting):
            waiting = [c for c in alive.values() if c.waiting]
            connection = waiting[0] if len(waiting) == 1 else None
            now[thread] = connection
        if connection is not None:
            connection.learn(row)
            _judge(connection, row)
    return found


def _of_context(address: int, alive: dict[str, _Connection]) -> _Connection | None:
    near = [c for c in alive.values() if any(0 <= address - context < REACH for context in c.contexts)]
    return near[0] if len(near) == 1 else None


def _judge(connection: _Connection, row: dict[str, Any]) -> None:
    """Set the result from what the listener starts, receives and sends."""
    if row["func"] == "sntpcall" and row["event"] == "entry":
        connection.started, connection.waiting = row["t_local"], True
    if row["child_pid"] is not None:
        connection.child_pid, connection.waiting = row["child_pid"], False
        connection.result = "accepted"
        if connection.started is not None and row["t_local"] is not None:
            connection.spawn_s = round(row["t_local"] - connection.started, DIGITS)
    sent = row["direction"] == "out"
    if sent and row["ptype"] in ("accept", "resend"):
        connection.result = connection.result or "accepted"
    elif sent and row["ptype"] == "refuse":
        connection.result = f"refused {row['err']}" if row["err"] else (connection.result or "refused")
    elif sent and row["ptype"] == "redirect":
        address = _address(row["text"])
        if address or connection.result is None:
            connection.result = f"redirected {address}" if address else "redirected"


def _address(text: str | None) -> str | None:
    found = _ADDRESS.search(text or "")
    return None if not found else found[3] or f"{found[1]}:{found[2]}"


def _of_client(rows: Iterator[dict[str, Any]]) -> list[_Connection]:
    """Follow a client: `nscall: connecting...` begins a connection, the answer's packet or an error ends it."""
    found: list[_Connection] = []
    now: dict[str | None, _Connection | None] = {}
    for row in rows:
        thread, text = row["thread"], row["text"] or ""
        connection = now.get(thread)
        begins = row["func"] == "nscall" and text.startswith("connecting")
        if connection is None and (begins or row["func"] in ("nttcni", "nsc2addr") or row["ptype"] == "connect"):
            now[thread] = connection = _Connection(_place(row), None, row["line_no"], row["line_end"] or row["line_no"])
            found.append(connection)
        elif connection is not None and begins and connection.result is not None:
            # After a failure the message appears once more without a call behind it: then a connection begins with its
            # address.
            now[thread] = None
            continue
        if connection is None:
            continue
        connection.learn(row)
        _conclude(connection, row)
        if row["func"] == "nsc2addr" and len(found) > 1 and found[-2].result == "redirected":
            # The packet was not printed: the address of the next call is the one that it was redirected to.
            found[-2].result = f"redirected {_address(text) or ''}".rstrip()
    return found


def _conclude(connection: _Connection, row: dict[str, Any]) -> None:
    received = row["direction"] == "in"
    if received and row["ptype"] == "accept":
        connection.result = "accepted"
    elif received and row["ptype"] == "refuse":
        connection.result = f"refused {row['err']}" if row["err"] else (connection.result or "refused")
    elif received and row["ptype"] == "redirect":
        address = _address(row["text"])
        connection.result = f"redirected {address}" if address else (connection.result or "redirected")
    elif row["err"] and connection.result is None:
        connection.result = "timed out" if row["err"] in ("TNS-12535", "TNS-12170") else f"failed {row['err']}"


def build(case: CaseTables) -> pl.DataFrame:
    """Return `sqlnet_conns` for all Oracle Net traces of the case."""
    return connections(case.table("sqlnet", where=TELLING))
