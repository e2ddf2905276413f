"""Match the two ends of connections in several traces: by mirrored addresses, never by closeness in time."""

from __future__ import annotations

from typing import Final

import polars as pl

LOOPBACK: Final = r"^(127\.|::1:)"
"""Matches addresses that mean a different machine on each machine."""

END: Final = ["artifact_id", "domain", "net", "local", "peer"]
"""Columns that identify an end, whichever processes of the trace use it; `domain` is the clock, "" for none."""


def completed(ends: pl.DataFrame, fdmap: pl.DataFrame, sockets: pl.DataFrame) -> pl.DataFrame:
    """Fill in own addresses that the trace does not show, from lists of descriptors or sockets; drop ends without an
    address.

    Descriptors match by host, pid, fd and peer, sockets by host, pid and peer; only a unique match is used. `shown`
    preserves what the trace itself shows.
    """
    ends = ends.with_columns(pl.col("local").alias("shown"))
    for listed, keys in ((fdmap, ["host", "pid", "fd", "peer"]), (sockets, ["host", "pid", "peer"])):
        known = (
            listed.with_columns(
                pl.format("{}:{}", "local_ip", "local_port").alias("listed"),
                pl.format("{}:{}", "peer_ip", "peer_port").alias("peer"),
            )
            .drop_nulls([*keys, "listed"])
            .group_by(keys)
            .agg(pl.col("listed").unique())
            .filter(pl.col("listed").list.len() == 1)
            .with_columns(pl.col("listed").list.first())
        )
        ends = ends.join(known, on=keys, how="left", maintain_order="left").with_columns(
            pl.coalesce("local", "listed").alias("local")
        )
        ends = ends.drop("listed")
    return ends.filter(pl.col("local").is_not_null())


def mirrored(ends: pl.DataFrame, listening: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of a client's and a server's end (`end`, `to_end`) whose addresses mirror each other.

    `from_start` is true if both traces saw the connection made. `ends` has one row per end with a number `end`;
    `listening` has host and port of sockets that wait for connections.
    """
    served = ends.with_columns(pl.col("local").str.extract(r":(\d+)$").cast(pl.Int64, strict=False).alias("port")).join(
        listening.select("host", "port", pl.lit(value=True).alias("listens")), on=["host", "port"], how="left"
    )
    clients = ends.filter(pl.col("side").fill_null("client") == "client")
    servers = served.filter(pl.col("side").fill_null("server") == "server").select(
        pl.all().name.prefix("to_"), pl.col("local").alias("peer"), pl.col("peer").alias("local"), "net"
    )
    both = clients.join(servers, on=["net", "local", "peer"])
    trace = (pl.col("artifact_id") == pl.col("to_artifact_id")) & (pl.col("domain") == pl.col("to_domain"))
    near = trace | (pl.col("host") == pl.col("to_host")).fill_null(value=False)
    bound = (pl.col("net") == "unix") | pl.col("local").str.contains(LOOPBACK)
    known = pl.col("side").is_not_null() | pl.col("to_side").is_not_null() | pl.col("to_listens").fill_null(value=False)
    phase = (pl.col("phase") == pl.col("to_phase")).fill_null(value=True)
    return both.filter(known & phase & (near | ~bound)).select(
        "end", "to_end", (pl.col("made") & pl.col("to_made")).alias("from_start")
    )


def numbered(ends: pl.DataFrame) -> pl.DataFrame:
    """Number the ends, and combine the facts of their descriptors in all processes of the trace."""
    sides = pl.col("side").drop_nulls().unique()
    return (
        ends.group_by(END, maintain_order=True)
        .agg(
            pl.col("host", "phase", "clock").first(),
            # If one pair of addresses was both accepted and connected, the side is unknown.
            pl.when(sides.len() == 1).then(sides.first()).alias("side"),
            pl.col("made").any(),
            sides.len().alias("_sides"),
        )
        .filter(pl.col("_sides") < 2)
        .drop("_sides")
        .with_row_index("end")
    )
