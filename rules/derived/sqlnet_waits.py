"""One row per wait in an Oracle Net trace: from the record that names a thread's next step to the record that ends it.

Inputs: `sqlnet`. A gap was spent on what the earlier record names, so `func` and `kind` come from that record (line
`line_from`) and `ended_by` from the later one (`line_to`), for a listener from the events listed below it.
Columns: side, thread, func, line_from, line_to, `wait_s` (s), `contiguous` as in `sqlnet` (broken: lines are missing,
the seconds are a difference of times and no wait), and
`kind`: peer (a client waits for the other side's bytes, a listener for further messages of the server process that has
said hello, any side for room to send), idle (a listener or server waits for the next caller), spawn (a listener waits
for the server process it started), tcp_connect, name_lookup, unknown (the trace does not show what it waits for; such
gaps below 10 ms are left out).
Events of a listener's wait: CONNECTION REQUEST or INCOMING CALL is a request; READ with a printed and empty list of
NS events is a child's answer; READ with another NS event is bytes that a client sent. Different events at one waking:
unknown, because the trace does not show which came first.
Worked example: listener 39.566 waiting, 41.358 "1 newly-posted event(s)", NT READ, NS list empty: wait_s 1.792, spawn,
ended by a child's answer. The same listener 24.1 s waiting and then CONNECTION REQUEST: idle.
Cost: one sort and a few shifts, n log n. Source: functions and events of the traces in tests/corpus/sqlnet.
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope

TABLE = DerivedTable(
    "sqlnet_waits",
    {
        **PLACE,
        "side": pl.String(),
        "thread": pl.String(),
        "func": pl.String(),
        "line_from": pl.Int64(),
        "line_to": pl.Int64(),
        "wait_s": pl.Float64(),
        "kind": pl.String(),
        "ended_by": pl.String(),
        "contiguous": pl.String(),
    },
)
NEEDS = ("sqlnet",)
SCOPE: Scope = "artifact"
VERSION = "1"

SHORTEST_UNKNOWN_S = 0.010
READS = ("nttrd", "nttfprd", "nttmrd", "ntusread", "ntusrd")
PIPE_READS = ("ntprd",)
LOOKUPS = ("snlinGetAddrInfo", "snlinGetNameInfo")
ANSWERED_BY_NAME = ("nttbnd2addr",)
DIGITS = 6  # stamps are milliseconds or microseconds

RECORD = [
    *PLACE_COLUMNS, "part", "line_no", "seq", "side", "thread", "func", "event", "text", "bytes", "direction",
    "nt_events", "ns_events", "gap_s", "contiguous",
]  # fmt: skip

REQUEST, ANSWER, BYTES, ROOM = "a connection request", "a child's answer", "the client's bytes", "room to send"


def waits(sqlnet: pl.DataFrame) -> pl.DataFrame:
    """Return `sqlnet_waits` for a data frame of `sqlnet`."""
    if sqlnet.is_empty():
        return TABLE.rows([])
    rows = sqlnet.select(RECORD).sort("artifact_id", "part", "line_no", "seq")
    text, func = pl.col("text"), pl.col("func")
    rows = rows.with_columns(
        state=pl.when((func == "nsevwait") & text.str.starts_with("waiting for transport event"))
        .then(pl.lit("event"))
        .when(func.is_in(READS) & (pl.col("event") == "entry"))
        .then(pl.lit("read"))
        .when(func.is_in(PIPE_READS) & (pl.col("event") == "entry"))
        .then(pl.lit("pipe"))
        .when((func == "nttcni") & text.str.contains("(?i)trying to connect"))
        .then(pl.lit("tcp_connect"))
        .when(
            (func.is_in(LOOKUPS) & (pl.col("event") == "entry"))
            | (func.is_in(ANSWERED_BY_NAME) & text.str.contains("looking up"))
        )
        .then(pl.lit("name_lookup"))
    )
    thread = ["artifact_id", "part", "thread"]
    rows = rows.with_columns(
        waking=(pl.col("state") == "event").fill_null(False).cast(pl.Int64).cum_sum().over(thread),
        was=pl.col("state").shift(1).over(thread),
        of=func.shift(1).over(thread),
        line_from=pl.col("line_no").shift(1).over(thread),
        then=text.shift(-1).over(thread),
    )
    rows = rows.join(
        _wakings(rows, thread), on=[*thread, "waking"], how="left", nulls_equal=True, maintain_order="left"
    )
    ended = rows.filter(
        (pl.col("gap_s") > 0)
        & pl.col("line_from").is_not_null()
        & (pl.col("was").is_not_null() | (pl.col("gap_s") >= SHORTEST_UNKNOWN_S))
    )
    return TABLE.shape(
        ended.with_columns(kind=_kind(), ended_by=_ended_by()).with_columns(
            pl.col("of").alias("func"),
            pl.col("line_no").alias("line_to"),
            pl.col("gap_s").round(DIGITS).alias("wait_s"),
        )
    )


def _wakings(rows: pl.DataFrame, thread: list[str]) -> pl.DataFrame:
    """Return one row per waking of a listener, with the events reported before it waits again (list column `woken`)."""
    nt, ns = pl.col("nt_events"), pl.col("ns_events")
    reported = rows.filter(nt.is_not_null() | ns.is_not_null()).with_columns(
        before=nt.shift(1).over([*thread, "waking"])
    )
    word = (
        pl.when(nt.list.contains("CONNECTION REQUEST") | ns.list.contains("INCOMING CALL"))
        .then(pl.lit(REQUEST))
        .when(ns.is_not_null() & (ns.list.len() == 0) & pl.col("before").list.contains("READ"))
        .then(pl.lit(ANSWER))
        .when(ns.list.contains("READY FOR SEND"))
        .then(pl.lit(ROOM))
        .when(ns.list.len() > 0)
        .then(pl.lit(BYTES))
    )
    return reported.group_by([*thread, "waking"]).agg(
        woken=word.drop_nulls().unique(maintain_order=True),
    )


def _kind() -> pl.Expr:
    woken, side = pl.col("woken"), pl.col("side")
    only = pl.when(woken.list.len() == 1).then(woken.list.first())
    event = (
        pl.when(only == ANSWER)
        .then(pl.lit("spawn"))
        .when(only.is_in([REQUEST, BYTES]))
        .then(pl.lit("idle"))
        .when(only == ROOM)
        .then(pl.lit("peer"))
        .otherwise(pl.lit("unknown"))
    )
    read = (
        pl.when(side == "client")
        .then(pl.lit("peer"))
        .when(side.is_in(["listener", "server"]))
        .then(pl.lit("idle"))
        .otherwise(pl.lit("unknown"))
    )
    was = pl.col("was")
    return (
        pl.when(was == "event")
        .then(event)
        .when(was == "read")
        .then(read)
        .when((was == "pipe") & (side == "listener"))
        .then(pl.lit("peer"))
        .when(was.is_in(["tcp_connect", "name_lookup"]))
        .then(was)
        .otherwise(pl.lit("unknown"))
    )


def _ended_by() -> pl.Expr:
    was, side, text = pl.col("was"), pl.col("side"), pl.col("text")
    both = pl.concat_str(text.fill_null(""), pl.lit("\n"), pl.col("then").fill_null(""))
    reader = pl.when(side == "client").then(pl.lit("the peer's bytes")).otherwise(pl.lit(BYTES))
    return (
        pl.when((was == "event") & text.str.starts_with("0 newly-posted"))
        .then(pl.lit("a timeout"))
        .when(was == "event")
        .then(pl.when(pl.col("woken").list.len() > 0).then(pl.col("woken").list.join(" and ")))
        .when((was == "pipe") & (side == "listener"))
        .then(pl.lit(ANSWER))
        .when(both.str.contains("(?i)unexpected EOF"))
        .then(pl.lit("end of file"))
        .when((was == "read") & (pl.col("direction") == "in") & (pl.col("bytes") > 0))
        .then(reader)
        .when((was == "tcp_connect") & text.str.contains("(?i)timeout or error|error on this socket"))
        .then(pl.lit("timeout or error"))
        .when((was == "tcp_connect") & text.str.contains("(?i)connected"))
        .then(pl.lit("a connection"))
        .when((was == "name_lookup") & text.str.contains("failed with error"))
        .then(pl.lit("an error"))
        .when((was == "name_lookup") & pl.col("event").is_in(["exit", "info"]))
        .then(pl.lit("an answer"))
        .when(pl.col("func").is_in(["ntt2err", "nserror", "ntus2err"]))
        .then(pl.lit("an error"))
        .when(pl.col("func").is_not_null())
        .then(pl.concat_str("func", pl.lit(" "), "event"))
    )


def build(case: CaseTables) -> pl.DataFrame:
    """Return `sqlnet_waits` for all Oracle Net traces of the case."""
    return waits(case.table("sqlnet", RECORD))
