"""One row per end of a connection in a system call trace: the process's descriptor, its own address and the peer's
address.

Inputs: `syscalls`, `proc_tree`. Two rows are ends of one connection if the address of each is the peer of the other;
whether other rows fit as well is decided in `answered_by`.
Columns: pid, fd; `net` (tcp, unix); `local`, `peer` ("ip:port", of unix sockets "inode N"; `local` is NULL if the trace
shows the peer only: a list of descriptors or sockets may have it); `side` (server after accept, client after connect,
NULL if neither was seen); `made` (true: the trace shows how the connection was made, so its first bytes are seen too);
line_no, line_end (first and last data); n (calls with data).
Sources of addresses: strace -yy annotates descriptors with both ends; accept, connect and truss's detail lines give the
peer.
Worked example: `sendto(4<TCP:[192.0.2.1:48740->192.0.2.2:15210]>, ...)` after a connect on 4: local 192.0.2.1:48740, peer 192.0.2.2:15210,
client, made.
An IPv4 address in IPv6 notation (::ffff:192.0.2.1) is treated as that IPv4 address. A descriptor that was opened
several times for the same peer, and whose own address is not shown, is left out: it is unclear which of its connections
is meant.
Cost: one scan of the reads and writes with an address. Source: strace(1) -yy, unix(7), proc_pid_fd(5).
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope, nanoseconds
from rules.derived.requests import READS, WRITES
from rules.walking.targets import CALL, DOMAIN, makers, with_targets
from rules.walking.threads import DONE_S

TABLE = DerivedTable(
    "socket_ends",
    {
        **PLACE,
        "pid": pl.Int64(),
        "fd": pl.Int64(),
        "net": pl.String(),
        "local": pl.String(),
        "peer": pl.String(),
        "side": pl.String(),
        "made": pl.Boolean(),
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
        "n": pl.Int64(),
    },
)
NEEDS = ("syscalls", "proc_tree")
SCOPE: Scope = "artifact"
VERSION = "1"

TCP = r"^\d+<TCP(?:v6)?:\[\[?(?P<local_ip>[0-9a-fA-F.:]+?)\]?:(?P<local_port>\d+)->\[?(?P<peer_ip>[0-9a-fA-F.:]+?)\]?:(?P<peer_port>\d+)\]>"
UNIX = r"^\d+<UNIX(?:-STREAM|-SEQPACKET)?:\[(?P<local>\d+)->(?P<peer>\d+)"
END = ["net", "local", "peer"]
NO_PID = -1


def plain(ip: pl.Expr) -> pl.Expr:
    """Convert an IPv4 address in IPv6 notation to IPv4 notation."""
    return ip.str.replace(r"^(?i)::ffff:(\d+\.\d+\.\d+\.\d+)", "${1}")


PLAIN = plain(pl.col("target")).alias("target")


def address(ip: pl.Expr, port: pl.Expr) -> pl.Expr:
    """Format an address as in `local` and `peer`; NULL if either part is unknown."""
    return pl.format("{}:{}", plain(ip), port)


def addressed(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add `net`, `local` and `peer` to calls with `args`, `peer_ip`, `peer_port`; rows without a known peer are
    dropped.
    """
    shown = rows.with_columns(
        pl.col("args").str.extract_groups(TCP).alias("_tcp"), pl.col("args").str.extract_groups(UNIX).alias("_unix")
    )
    tcp, unix = pl.col("_tcp").struct, pl.col("_unix").struct
    inode = {side: pl.format("inode {}", unix.field(side)) for side in ("local", "peer")}
    return (
        shown.with_columns(
            pl.coalesce(address(tcp.field("local_ip"), tcp.field("local_port")), inode["local"]).alias("local"),
            pl.coalesce(
                address(tcp.field("peer_ip"), tcp.field("peer_port")),
                inode["peer"],
                address(pl.col("peer_ip"), pl.col("peer_port")),
            ).alias("peer"),
            pl.when(unix.field("peer").is_not_null()).then(pl.lit("unix")).otherwise(pl.lit("tcp")).alias("net"),
        )
        .filter(pl.col("peer").is_not_null())
        .drop("_tcp", "_unix")
    )


TALKS = pl.col("name").is_in([*READS, *WRITES]) & pl.col("fd").is_not_null() & pl.col("t_local").is_not_null()
MOVED = pl.col("bytes").fill_null(pl.col("ret")) > 0
NAMED = pl.col("peer_port").is_not_null() | pl.col("args").str.contains("<UNIX", literal=True)


def build(case: CaseTables) -> pl.DataFrame:
    """Return `socket_ends` for all system call traces of the case."""
    talk = addressed(case.scan("syscalls", [*CALL, "bytes"], TALKS & MOVED & NAMED))
    held = [*PLACE_COLUMNS, "pid", "fd", *END]
    ends = (
        talk.with_columns(nanoseconds(DONE_S).alias("done_ns"))
        .group_by(held)
        .agg(
            pl.col("line_no").min(),
            pl.col("line_no").max().alias("line_end"),
            pl.col("done_ns").min(),
            pl.col("done_ns").max().alias("last_ns"),
            pl.len().alias("n"),
        )
        .collect(engine="streaming")
        .sort("artifact_id", "line_no", "pid", "fd", "local")
    )
    if ends.is_empty():
        return TABLE.rows([])
    # A trace of one process may print no pid, and NULL joins with nothing: here NO_PID stands for that one process.
    one = pl.col("pid").fill_null(NO_PID)
    made = makers(case).with_columns(one)
    ends = ends.with_columns(one)
    # A row as of a read call that has only its descriptor: its target is whatever that descriptor was opened for.
    known = {name: kind for name, kind in case.scan("syscalls", CALL).collect_schema().items() if name not in held}
    bare = ends.with_columns(
        pl.lit(None, kind).alias(name) if name != "name" else pl.lit("read").alias(name)
        for name, kind in known.items() if name != "line_no"
    )  # fmt: skip
    found = with_targets(bare, made, case.derived("proc_tree")).with_columns(PLAIN)
    stale = ((pl.col("net") == "tcp") & (pl.col("target") != pl.col("peer"))).fill_null(value=False)
    found = found.with_columns(
        pl.when(~stale).then("side").alias("side"),
        (~stale & pl.col("side").is_not_null() & pl.col("conv").is_not_null()).alias("made"),
    )
    again = (
        made.filter(pl.col("side").is_not_null())
        .select("artifact_id", "domain", "pid", pl.col("made").alias("fd"), pl.col("of").alias("target"))
        .with_columns(PLAIN, pl.col("target").alias("peer"))
        .group_by("artifact_id", "domain", "pid", "fd", "peer")
        .agg(pl.len().alias("times"))
    )
    several = found.with_columns(DOMAIN).join(
        again, on=["artifact_id", "domain", "pid", "fd", "peer"], how="left", maintain_order="left"
    )
    several = several.with_columns(pl.col("pid").replace(NO_PID, None))
    return TABLE.shape(several.filter(pl.col("local").is_not_null() | (pl.col("times").fill_null(1) == 1)))
