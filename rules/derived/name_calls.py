"""One row per traced call on a name service: a DNS or LDAP server, a local daemon behind a socket, a door.

Inputs: `syscalls` (calls on descriptors whose target `rules/walking/targets.py` identifies as a name service, and door
calls), `proc_tree`.
Columns: pid, lwp; line_no, line_end; `t_done` (s, completion, own clock), name; `via` (dns, ldap, daemon, door); `target`
(address or path, NULL for a door whose opening is not in the trace); `own_s` (upper bound of the call's own time, NULL
where lines are missing), `contiguous` of that time (proven where the tool printed it); `sent` (true: the call sends a
question), `reverse` (true: the question is for the name of an address), `timed_out` (a wait that ended by its own
timer), `timer_s` (that timer where it is printed); `burst`: number, within the artifact, of a run of such calls of one
thread that follow each other within a second: the look-ups of one task.
Worked example: connect to 10.0.0.53:53, sendto, poll of 5.0051 s = 0 (timer 5.0), sendto to 10.0.0.54:53, poll of 0.0004 s, recvfrom:
one burst, two questions, one timed out.
Cost: n log n in the calls on descriptors of processes that use a name service. Source: resolver(5), nscd(8), sssd(8),
door_call(3C).
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, CaseTables, DerivedTable, Scope, nanoseconds, number, seconds
from rules.walking.targets import CALL, DOORS, NAME_SERVICE_PATH, NAME_SERVICE_PORTS, POLLS, makers, with_targets
from rules.walking.threads import DONE_S, OWN_S, READ_NAMES, TIMED, WRITE_NAMES, batches

TABLE = DerivedTable(
    "name_calls",
    {
        **PLACE,
        "pid": pl.Int64(),
        "lwp": pl.Int64(),
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
        "t_done": pl.Float64(),
        "name": pl.String(),
        "via": pl.String(),
        "target": pl.String(),
        "own_s": pl.Float64(),
        "contiguous": pl.String(),
        "sent": pl.Boolean(),
        "reverse": pl.Boolean(),
        "timed_out": pl.Boolean(),
        "timer_s": pl.Float64(),
        "burst": pl.Int64(),
    },
)
NEEDS = ("syscalls", "proc_tree")
SCOPE: Scope = "artifact"
VERSION = "1"

READS = [*READ_NAMES, "recvmmsg"]
WRITES = [*WRITE_NAMES, "sendmmsg"]
TALK = pl.col("name").is_in(["connect", *READS, *WRITES, *POLLS, *DOORS])
MORE = [*TIMED, *CALL, "line_end", "data"]
TOGETHER_NS = 1_000_000_000
"""Maximum gap in nanoseconds between look-ups of one task (from practice)."""

PORTMAP = 111
"""Port of the port mapper, which is asked for the ports of programs, not for names."""

REVERSE = r"(?i)\\x07in-|\\x03ip6\\x04arp|in-addr\.arpa|ip6\.arpa"
TIMER_MS = r"^\[\{[^\]]*\}\], \d+, (\d+)$"
TIMER_S = r"\{tv_sec=(\d+), tv_(usec|nsec)=(\d+)\}"


def asking(made: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `makers` for connects to a name service; their pids are the processes that use one."""
    ports = "|".join(map(str, NAME_SERVICE_PORTS))
    known = pl.col("of").str.contains(NAME_SERVICE_PATH) | pl.col("of").str.contains(rf":({ports})$")
    return made.filter(known.fill_null(value=False) & (pl.col("side").fill_null("client") != "server"))


def calls(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `name_calls` without `burst` from targeted rows of whole processes."""
    port = pl.col("target").str.extract(r":(\d+)$").cast(pl.Int64, strict=False)
    fraction = pl.col("args").str.extract_groups(TIMER_S)
    part = fraction.struct.field("3").cast(pl.Float64, strict=False)
    printed = fraction.struct.field("1").cast(pl.Float64, strict=False) + pl.when(
        fraction.struct.field("2") == "usec"
    ).then(part / 1e6).otherwise(part / 1e9)
    wait = pl.col("name").is_in(POLLS)
    door = pl.col("name").is_in(DOORS)
    other_door = door & pl.col("target").is_not_null() & ~pl.col("target").str.contains(NAME_SERVICE_PATH)
    return rows.filter(
        (pl.col("kind") == "name service")
        & (pl.col("side").fill_null("client") != "server")
        & ~other_door.fill_null(value=False)
        & (port != PORTMAP).fill_null(value=True)
    ).with_columns(
        pl.when(door).then(pl.lit("door")).when(port.is_in([389, 636])).then(pl.lit("ldap"))
        .when(port.is_not_null()).then(pl.lit("dns")).otherwise(pl.lit("daemon")).alias("via"),
        seconds(pl.col("done_ns")).alias("t_done"),
        seconds(pl.col("own_ns")).alias("own_s"),
        pl.when(pl.col("own_ns").is_null()).then(pl.lit("broken"))
        .when(pl.col("contiguous") == "broken").then(pl.lit("proven")).otherwise("contiguous").alias("contiguous"),
        ((pl.col("name").is_in(WRITES) & pl.col("err").is_null()) | door).alias("sent"),
        (pl.col("name").is_in(WRITES) & pl.col("data").str.contains(REVERSE)).fill_null(value=False).alias("reverse"),
        (wait & (pl.col("ret") == 0) & pl.col("err").is_null()).fill_null(value=False).alias("timed_out"),
        pl.when(wait).then(pl.coalesce(pl.col("args").str.extract(TIMER_MS).cast(pl.Float64, strict=False) / 1000, printed)).alias("timer_s"),
    )  # fmt: skip


def bursts(found: pl.DataFrame) -> pl.DataFrame:
    """Add `burst`: a new one begins where a thread did something else for more than a second."""
    if found.is_empty():
        return found.with_columns(pl.lit(None, pl.Int64).alias("burst"))
    found = number(found, ["artifact_id", "clock", "pid", "lwp"], "thread").sort("thread", "done_ns", "line_no")
    begins = pl.col("done_ns") - pl.col("own_ns").fill_null(0)
    apart = (begins - pl.col("done_ns").shift(1).over("thread") > TOGETHER_NS).fill_null(value=True)
    found = found.with_columns(apart.cum_sum().over("thread").alias("run"))
    first = found.group_by("thread", "run").agg(pl.col("artifact_id").first(), pl.col("line_no").min().alias("first"))
    order = pl.col("first").rank("ordinal").over("artifact_id").cast(pl.Int64).alias("burst")
    return found.join(first.with_columns(order).drop("artifact_id", "first"), on=["thread", "run"])


def build(case: CaseTables) -> pl.DataFrame:
    """Return `name_calls` for all system call traces of the case."""
    made = makers(case)
    births = case.derived("proc_tree")
    pids = asking(made)["pid"].unique()
    ports = pl.col("peer_port").is_in(NAME_SERVICE_PORTS)
    named = pl.col("args").str.contains(NAME_SERVICE_PATH) | pl.col("path").str.contains(NAME_SERVICE_PATH)
    talk = TALK & pl.col("t_local").is_not_null()
    heirs = births.filter(pl.col("ppid").is_in(pids.implode()))["pid"].unique()
    asks = (
        pl.col("pid").is_in(pl.concat([pids, heirs]).implode()) | ports | named | pl.col("name").is_in(DOORS)
    ).fill_null(value=False)
    found = [
        TABLE.rows([]).with_columns(pl.lit(None, pl.Int64).alias("done_ns"), pl.lit(None, pl.Int64).alias("own_ns"))
    ]
    columns = list(dict.fromkeys(MORE))
    for batch in batches(case, talk & asks):
        rows = case.table("syscalls", columns, talk & asks & batch).with_columns(
            nanoseconds(DONE_S).alias("done_ns"), nanoseconds(OWN_S).alias("own_ns")
        )
        found.append(calls(with_targets(rows, made, births)))
    whole = pl.concat(
        [f.select(*(c for c in TABLE.columns if c != "burst"), "done_ns", "own_ns") for f in found],
        how="vertical_relaxed",
    )
    return TABLE.shape(bursts(whole)).sort("artifact_id", "burst", "t_done", "line_no")
