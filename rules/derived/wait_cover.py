"""One row per client wait and the server wait that may explain it: how much of it the server covers, and the evidence
that ties the two.

Inputs: `sqlnet_waits`, `sqlnet`, `statements`, `fdmap`, `sockets`. A client's wait for its peer [c0, c1] can be caused
by a server wait [l0, l1] only if that one is not longer (2 ms of slack for millisecond stamps); this compares no
clocks.
Columns: client_artifact, client_from, client_to, server_artifact, server_from, server_to (lines); client_s, server_s
(s); `cover` = server_s / client_s, at most 1; `off_lo`, `off_hi` (s): the offsets (server clock minus client clock)
for which the server wait lies inside the client's, [l1 - c1, l0 - c0]. If the request left before the client's read
began, off_hi grows by as much.
`same_conn`: id (a connection id on both sides), address (the listener's peer is a socket of the client's host),
statement (a person states it, and only one client trace and one server trace of the phase can be meant), none.
`residence`: proven (the request is seen to arrive before the wait, and an answer sent or a child's answer ends it),
partly (one of the two), none. A server wait that ends with a connection request or the client's own bytes is idle:
residence none, it explains nothing and clears nobody. `client_clock`, `server_clock`; `ended_by` as in
`sqlnet_waits`.
Worked example: client 39.329 -> 41.201, listener 39.566 -> 41.358, ended by a child's answer, arrival not in the
excerpt: client_s 1.872, server_s 1.792, cover 0.9573, offsets [0.157, 0.237], same_conn statement, residence partly.
Of several server waits the best one (by identity, residence, cover) is taken, each at most once per client trace; only
the 300 longest waits of 10 ms or more of each side are compared.
Cost: quadratic in those. Source: interval form of Cristian's and NTP's bounds.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from rules.clocks.readings import bases
from rules.derived.derived_table import PLACE, CaseTables, DerivedTable, Scope

TABLE = DerivedTable(
    "wait_cover",
    {
        **PLACE,
        "client_artifact": pl.Int64(),
        "client_from": pl.Int64(),
        "client_to": pl.Int64(),
        "server_artifact": pl.Int64(),
        "server_from": pl.Int64(),
        "server_to": pl.Int64(),
        "client_s": pl.Float64(),
        "server_s": pl.Float64(),
        "cover": pl.Float64(),
        "off_lo": pl.Float64(),
        "off_hi": pl.Float64(),
        "same_conn": pl.String(),
        "residence": pl.String(),
        "ended_by": pl.String(),
        "kind": pl.String(),
        "contiguous": pl.String(),
        "client_clock": pl.String(),
        "server_clock": pl.String(),
        "client_host": pl.String(),
        "server_host": pl.String(),
        "c0": pl.Float64(),
        "c1": pl.Float64(),
    },
)
NEEDS = ("sqlnet_waits", "sqlnet", "statements", "fdmap", "sockets", "artifacts")
SCOPE: Scope = "room"
VERSION = "2"

RESOLUTION_S = 0.002
SHORTEST_S = 0.010
MOST_WAITS = 300
LEAST_COVER = 0.5
DIGITS = 6  # stamps are milliseconds or microseconds

COMES = (
    pl.col("nt_events").list.contains("CONNECTION REQUEST").fill_null(False)
    | pl.col("ns_events").list.contains("INCOMING CALL").fill_null(False)
    | ((pl.col("direction") == "in") & (pl.col("bytes") > 0)).fill_null(False)
)
DOMAIN = pl.col("clock").fill_null("").alias("domain")
GOES = ((pl.col("direction") == "out") & (pl.col("bytes") > 0)).fill_null(False)
RECORD = ["artifact_id", "clock", "line_no", "t_local", "conn_key", "peer_ip", "peer_port"]
RECORD += ["nt_events", "ns_events", "direction", "bytes", "child_pid"]

IDENTITY = ("id", "address", "statement", "none")
RESIDENCE = ("proven", "partly", "none")


def timed(waits: pl.DataFrame, sqlnet: pl.DataFrame, base: dict[str, float]) -> pl.DataFrame:
    """Add begin and end (s, reading of the clock) and the connection of the row that ends the wait.

    Waits without both stamps are dropped.
    """
    at = sqlnet.select("artifact_id", "line_no", "t_local").unique(["artifact_id", "line_no"], keep="first")
    zero = pl.col("clock").replace_strict(base, default=0.0, return_dtype=pl.Float64) if base else pl.lit(0.0)
    ends = sqlnet.select("artifact_id", pl.col("line_no").alias("line_to"), "conn_key", "peer_ip", "peer_port").unique(
        ["artifact_id", "line_to"], keep="first"
    )
    return (
        waits.join(at.rename({"line_no": "line_from", "t_local": "begin"}), on=["artifact_id", "line_from"], how="left")
        .join(at.rename({"line_no": "line_to", "t_local": "end"}), on=["artifact_id", "line_to"], how="left")
        .join(ends, on=["artifact_id", "line_to"], how="left")
        .filter(
            pl.col("begin").is_not_null()
            & pl.col("end").is_not_null()
            & (pl.col("contiguous").fill_null("assumed") != "broken")
        )
        .with_columns((pl.col("begin") + zero), (pl.col("end") + zero))
        .with_columns((pl.col("end") - pl.col("begin")).alias("length"))
        .filter(pl.col("length") >= SHORTEST_S)
    )


def with_residence(server: pl.DataFrame, sqlnet: pl.DataFrame) -> pl.DataFrame:
    """Add `residence` to server waits: whether the request arrived before the wait, and an answer ended or followed it."""
    place = ["artifact_id", "domain"]  # one document may hold both sides of a connection
    server = server.with_columns(DOMAIN)
    lines = sqlnet.select(
        "artifact_id",
        DOMAIN,
        "line_no",
        COMES.alias("comes"),
        GOES.alias("goes"),
        pl.col("child_pid").is_not_null().alias("answered"),
    ).sort("line_no")
    before = lines.filter(pl.col("comes") | pl.col("answered")).select(
        *place, pl.col("line_no").alias("line_from"), pl.col("comes").alias("arrived")
    )
    after = lines.filter(pl.col("comes") | pl.col("goes")).select(
        *place, pl.col("line_no").alias("line_to"), pl.col("goes").alias("sent")
    )
    looked = (
        server.sort("line_from")
        .join_asof(before, on="line_from", by=place, strategy="backward", check_sortedness=False)
        .sort("line_to")
        .join_asof(after, on="line_to", by=place, strategy="forward", check_sortedness=False)
    )
    asked = pl.col("ended_by").str.contains("connection request|client's bytes|end of file").fill_null(False)
    idle = pl.col("kind").is_in(["idle", "peer"]) | asked
    answer = (pl.col("kind") == "spawn") | pl.col("sent").fill_null(False)
    arrived = pl.col("arrived").fill_null(False)
    return looked.with_columns(
        pl.when(idle)
        .then(pl.lit("none"))
        .when(arrived & answer)
        .then(pl.lit("proven"))
        .when(arrived | answer)
        .then(pl.lit("partly"))
        .otherwise(pl.lit("none"))
        .alias("residence")
    ).drop("arrived", "sent", "domain")


def local_sockets(fdmap: pl.DataFrame, sockets: pl.DataFrame) -> set[tuple[str, str, int]]:
    """Return (host, ip, port) of every local end in the lists of descriptors and sockets."""
    both = pl.concat([f.select("host", "local_ip", "local_port") for f in (fdmap, sockets)]).drop_nulls().unique()
    return set(both.iter_rows())


Pair = tuple[int, str | None, int, str | None]
"""A client trace and a server trace, each by artifact and clock."""

PAIR = ["client_artifact", "client_clock", "server_artifact", "server_clock"]


def meant(candidates: pl.DataFrame) -> set[Pair]:
    """Return the pairs of traces that a statement can mean: those of a phase with no second trace of either side."""
    sides = candidates.select(*PAIR, "phase", "side").unique()
    found: set[Pair] = set()
    for (_phase, _side), rows in sides.group_by("phase", "side"):
        if rows.height == 1:
            found.add(rows.select(PAIR).row(0))
    return found


def identify(row: dict[str, Any], ends: set[tuple[str, str, int]]) -> str:
    """Return the evidence that the two waits are of one connection: id, address or none.

    Memory addresses (0x...) identify nothing.
    """
    key = row["client_key"]
    if key is not None and key == row["server_key"] and not key.lower().startswith("0x"):
        return "id"
    if row["peer_ip"] is not None and (row["client_host"], row["peer_ip"], row["peer_port"]) in ends:
        return "address"
    return "none"


def cover(
    waits: pl.DataFrame,
    sqlnet: pl.DataFrame,
    statements: pl.DataFrame,
    ends: set[tuple[str, str, int]],
    base: dict[str, float],
) -> pl.DataFrame:
    """Return `wait_cover` for data frames of waits, trace records and statements.

    `base` is the reading of each clock's zero (s).
    """
    spans = timed(waits, sqlnet, base)
    client = _longest(spans.filter((pl.col("side") == "client") & (pl.col("kind") == "peer"))).select(
        "phase",
        pl.col("artifact_id").alias("client_artifact"),
        pl.col("line_from").alias("client_from"),
        pl.col("line_to").alias("client_to"),
        pl.col("begin").alias("c0"),
        pl.col("end").alias("c1"),
        pl.col("length").alias("client_s"),
        pl.col("conn_key").alias("client_key"),
        pl.col("clock").alias("client_clock"),
        pl.col("host").alias("client_host"),
        pl.col("contiguous").alias("client_contiguous"),
    )
    server = _longest(with_residence(spans.filter(pl.col("side").is_in(["listener", "server"])), sqlnet)).select(
        "phase",
        "side",
        "kind",
        "residence",
        "ended_by",
        "peer_ip",
        "peer_port",
        pl.col("artifact_id").alias("server_artifact"),
        pl.col("line_from").alias("server_from"),
        pl.col("line_to").alias("server_to"),
        pl.col("begin").alias("l0"),
        pl.col("end").alias("l1"),
        pl.col("length").alias("server_s"),
        pl.col("conn_key").alias("server_key"),
        pl.col("clock").alias("server_clock"),
        pl.col("host").alias("server_host"),
        "contiguous",
    )
    fits = client.join(server, on="phase", how="inner", nulls_equal=True).filter(
        (
            (pl.col("client_artifact") != pl.col("server_artifact"))
            | pl.col("client_clock").ne_missing(pl.col("server_clock"))
        )
        & (pl.col("server_s") <= pl.col("client_s") + RESOLUTION_S)
        & (pl.col("server_s") >= LEAST_COVER * pl.col("client_s"))
    )
    if fits.is_empty():
        return TABLE.rows([])
    stated = meant(fits) if statements.filter(pl.col("name") == "same_connection").height else set()
    rows = fits.to_dicts()
    for row in rows:
        lo, hi = sorted((row["l1"] - row["c1"], row["l0"] - row["c0"]))
        row["off_lo"], row["off_hi"] = round(lo, DIGITS), round(hi, DIGITS)
        row["same_conn"] = identify(row, ends)
    rows.sort(key=_preference)
    return TABLE.rows(_as_row(row) for row in _matched(rows, stated))


def _longest(waits: pl.DataFrame) -> pl.DataFrame:
    return waits.sort("length", "line_from", descending=[True, False]).head(MOST_WAITS)


def _preference(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        -row["client_s"],
        row["client_artifact"],
        row["client_from"],
        IDENTITY.index(row["same_conn"]),
        RESIDENCE.index(row["residence"]),
        -row["server_s"],
        row["server_artifact"],
        row["server_from"],
    )


def _matched(rows: list[dict[str, Any]], stated: set[Pair]) -> list[dict[str, Any]]:
    """Take the best partner of each client wait per server trace, longest waits first.

    A statement holds only for pairs that agree on one clock offset.
    """
    taken: set[tuple[Any, ...]] = set()
    offsets: dict[Pair, tuple[float, float]] = {}
    found = []
    for row in rows:
        pair = row["client_artifact"], row["client_clock"], row["server_artifact"], row["server_clock"]
        client, server = (*pair, "client", row["client_from"]), (*pair, "server", row["server_from"])
        if client in taken or server in taken:
            continue
        if row["same_conn"] == "none" and pair in stated:
            lo, hi = offsets.get(pair, (row["off_lo"], row["off_hi"]))
            lo, hi = max(lo, row["off_lo"]), min(hi, row["off_hi"])
            if lo <= hi:
                offsets[pair] = lo, hi
                row["same_conn"] = "statement"
        taken |= {client, server}
        found.append(row)
    return found


def _as_row(row: dict[str, Any]) -> dict[str, Any]:
    both = {row["contiguous"] or "assumed", row["client_contiguous"] or "assumed"}
    return {
        **row,
        "artifact_id": row["client_artifact"],
        "host": row["server_host"],
        "clock": row["client_clock"],
        "client_s": round(row["client_s"], DIGITS),
        "server_s": round(row["server_s"], DIGITS),
        "cover": round(min(row["server_s"] / row["client_s"], 1.0), DIGITS),
        "contiguous": "proven" if both == {"proven"} else "assumed",
    }


def build(case: CaseTables) -> pl.DataFrame:
    """Return `wait_cover` for all Oracle Net traces of the case."""
    waits = case.derived("sqlnet_waits")
    border = pl.col("line_no").is_in(pl.concat([waits["line_from"], waits["line_to"]]).unique().implode())
    return cover(
        waits,
        case.table("sqlnet", RECORD, border | COMES | GOES | pl.col("child_pid").is_not_null()),
        case.table("statements"),
        local_sockets(case.table("fdmap"), case.table("sockets")),
        bases(case),
    )
