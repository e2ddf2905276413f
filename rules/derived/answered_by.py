"""One row per wait for an answer on a connection whose other end is traced too: who answered, how long it held the
question, and the rest.

Inputs: `socket_ends`, `syscalls`, `fdmap`, `sockets`, `clock_map`. Two ends are tied only by evidence: the address of
each is the peer of the other (for unix sockets the inodes, on one host; loopback addresses too only on one host), and
accept, connect or a listening socket shows which side serves. `rules/walking/exchanges.py` decides which exchange of
one end is which of the other. If a second end or a second alignment fits as well, no server is named (`state`
undecided).
Columns: pid, lwp, line_no (the wait: the longest read or poll of the exchange), `line_asked`, `line_got` (last calls of
question and answer), `wait_s`; `away_s`: from the question's last write to the answer's last read (s, from the earliest
begin to the latest end); `net`, `local`, `peer`; `state`: followed, threads (one thread of the server read the question
and another one answered, so the walk cannot go on there), undecided; `fits`: number of answers that fit. Of the server
(NULL if undecided): to_artifact, to_host, to_clock, to_pid, to_lwp, `to_asked`, `to_answered` (lines), `server_s` (how
long it held the question), `rest_s` = away_s - server_s, at least 0: everything else, including both ways through the
network and the time unread; `off_lo`, `off_hi` (s, reading of the server's clock minus the client's). In nanoseconds of
the client's clock `asked_ns`, `got_ns` (ends of away_s); of the server's clock `to_asked_ns`, `to_answered_ns` (ends of
server_s), `to_until_ns` (end of the last write).
Worked example: a question leaves at 1.0000, its answer is read at 1.1300; the server reads it at 7.0002 and writes the answer at 7.1202:
away_s 0.130, server_s 0.120, rest_s 0.010, offsets [5.9902, 6.0002].
Only the LONGEST_WAITS longest waits of each end, of 1 ms or more. Stamps in whole seconds tie nothing.
Cost: reading the calls with data of ends that have a partner. Source: interval form of Cristian's and NTP's bounds;
correlation by residence.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.clocks.readings import bases
from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope, nanoseconds
from rules.derived.requests import WRITES
from rules.derived.socket_ends import MOVED, NAMED, TALKS, addressed
from rules.walking.connections import END, completed, mirrored, numbered
from rules.walking.exchanges import Bounds, Exchange, Thread, away, exchanges, held, offset, shifts
from rules.walking.targets import CALL, DOMAIN, ONE_FD, POLLS
from rules.walking.threads import DONE_S, OWN_S, TIMED, among

TABLE = DerivedTable(
    "answered_by",
    {
        **PLACE,
        "pid": pl.Int64(),
        "lwp": pl.Int64(),
        "line_no": pl.Int64(),
        "line_asked": pl.Int64(),
        "line_got": pl.Int64(),
        "wait_s": pl.Float64(),
        "away_s": pl.Float64(),
        "net": pl.String(),
        "local": pl.String(),
        "peer": pl.String(),
        "state": pl.String(),
        "fits": pl.Int64(),
        "to_artifact": pl.Int64(),
        "to_host": pl.String(),
        "to_clock": pl.String(),
        "to_pid": pl.Int64(),
        "to_lwp": pl.Int64(),
        "to_asked": pl.Int64(),
        "to_answered": pl.Int64(),
        "server_s": pl.Float64(),
        "rest_s": pl.Float64(),
        "off_lo": pl.Float64(),
        "off_hi": pl.Float64(),
        "asked_ns": pl.Int64(),
        "got_ns": pl.Int64(),
        "to_asked_ns": pl.Int64(),
        "to_answered_ns": pl.Int64(),
        "to_until_ns": pl.Int64(),
    },
)
NEEDS = ("socket_ends", "syscalls", "fdmap", "sockets", "clock_map")
SCOPE: Scope = "room"
VERSION = "1"

LONGEST_WAITS = 200
SHORTEST_S = 0.001  # practice: a process switch and a tracer's stop cost tenths of a millisecond
STEPS_NS = (1_000_000_000, 1_000_000, 1_000)
"""Possible steps of the stamps in nanoseconds: whole seconds, milliseconds or microseconds."""

Wait = tuple[int, int, int, Thread]
"""End and begin (ns), line and thread of a wait."""


@dataclass(frozen=True)
class End:
    """One end of a connection in one trace, with its exchanges and waits."""

    row: Mapping[str, Any]
    talk: tuple[Exchange, ...]
    waits: tuple[Wait, ...]
    step: int

    @property
    def clock(self) -> str | None:
        return self.row["clock"] or None


def build(case: CaseTables) -> pl.DataFrame:
    """Return `answered_by` for the case, by client, in line order."""
    sockets = case.table("sockets", ["host", "pid", "state", "local_ip", "local_port", "peer_ip", "peer_port"])
    described = case.table("fdmap", ["host", "pid", "fd", "local_ip", "local_port", "peer_ip", "peer_port"])
    rows = completed(case.derived("socket_ends"), described, sockets).with_columns(DOMAIN)
    ends = numbered(rows)
    listening = sockets.filter(pl.col("state").str.to_uppercase().str.starts_with("LISTEN")).select(
        "host", pl.col("local_port").alias("port")
    )
    pairs = mirrored(ends, listening.drop_nulls().unique())
    if pairs.is_empty():
        return TABLE.rows([])
    asked = set(pairs["end"])
    meant = ends.filter(pl.col("end").is_in([*asked, *pairs["to_end"]]))
    near = case.only(meant["artifact_id"].unique().to_list())
    calls = _calls(near, rows.join(meant.select("end", *END), on=END))
    polls = _polls(near, calls)
    talks: dict[int, End] = {}
    for row in meant.iter_rows(named=True):
        own, asks = calls.filter(pl.col("end") == row["end"]), row["end"] in asked
        waits = _waits(row, own, polls) if asks else ()
        talks[row["end"]] = End(row, tuple(exchanges(own, client=asks)), waits, _step(own))
    zero = bases(case)
    tied = _tied(case.derived("clock_map"))
    found: list[dict[str, Any]] = []
    for (number,), partners in pairs.sort("end", "to_end").group_by("end", maintain_order=True):
        client = talks[number]
        fits = [
            (talks[to], _shifts(client, talks[to], tied, zero, from_start))
            for to, from_start in partners.select("to_end", "from_start").iter_rows()
        ]
        found += _answers(client, fits, zero)
    return TABLE.rows(found).sort("artifact_id", "clock", "line_no", maintain_order=True)


def _calls(case: CaseTables, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with data of the ends, sorted by end and time."""
    columns = list(dict.fromkeys([*CALL, *TIMED, "bytes"]))
    mine = among("pid", rows["pid"].unique()) & pl.col("fd").is_in(rows["fd"].unique())
    calls = addressed(case.scan("syscalls", columns, TALKS & MOVED & NAMED & mine)).collect(engine="streaming")
    keys = ["artifact_id", "domain", "pid", "fd", "net", "shown", "peer"]
    return (
        calls.with_columns(DOMAIN, pl.col("local").alias("shown"))
        .join(rows.select("end", *keys), on=keys, nulls_equal=True)
        .with_columns(
            nanoseconds(DONE_S).alias("done_ns"),
            nanoseconds(OWN_S).alias("own_ns"),
            pl.coalesce("bytes", "ret").alias("bytes"),
            pl.col("name").is_in(WRITES).alias("out"),
        )
        .sort("end", "done_ns", "line_no")
    )


def _step(calls: pl.DataFrame) -> int:
    """Return the step (ns) in which the stamps count."""
    stamps = calls.select((pl.col("t_local") * 1e6).round().cast(pl.Int64) * 1000).to_series()
    return next((s for s in STEPS_NS if (stamps % s == 0).all()), STEPS_NS[-1])


def _tied(clock_map: pl.DataFrame) -> dict[str, dict[str, tuple[float, float]]]:
    """Return, per clock, the accepted bounds (s, lowest and highest) of how much more it shows than each other clock."""
    tied: dict[str, dict[str, tuple[float, float]]] = {}
    rows = clock_map.filter(pl.col("accepted") & pl.col("off_lo").is_not_null())
    for clock, ref, low, high in rows.select("clock", "ref_clock", "off_lo", "off_hi").iter_rows():
        tied.setdefault(clock, {clock: (0.0, 0.0)})[ref] = (low, high)
        tied.setdefault(ref, {ref: (0.0, 0.0)})[clock] = (-high, -low)
    return tied


def _shifts(
    client: End,
    server: End,
    tied: Mapping[str, Mapping[str, tuple[float, float]]],
    zero: Mapping[str, float],
    from_start: bool,
) -> list[int] | None:
    if max(client.step, server.step) == STEPS_NS[0]:
        return []
    slack = client.step + server.step
    known: Bounds | None = None
    mine, theirs = client.clock, server.clock
    if mine == theirs and mine is not None:
        known = (0, 0)
    elif mine is not None and theirs is not None:
        apart = zero.get(theirs, 0.0) - zero.get(mine, 0.0)
        for ref in tied.get(mine, {}).keys() & tied.get(theirs, {}).keys():
            (low, high), (mine_low, mine_high) = tied[theirs][ref], tied[mine][ref]
            bounds = round((low - mine_high - apart) * 1e9), round((high - mine_low - apart) * 1e9)
            known = bounds if known is None else (max(known[0], bounds[0]), min(known[1], bounds[1]))
    return shifts(client.talk, server.talk, slack, known, from_start=from_start)


def _polls(case: CaseTables, calls: pl.DataFrame) -> pl.DataFrame:
    """Return polls of at least SHORTEST_S by the processes that read, shaped as `calls`, with `fd` if the poll has only
    one.
    """
    pids = calls.filter(~pl.col("out"))["pid"].unique()
    long = pl.col("name").is_in(POLLS) & (pl.col("dur_hi_s") >= SHORTEST_S) & pl.col("t_local").is_not_null()
    one = pl.col("args").str.extract_groups(ONE_FD).struct
    return case.table("syscalls", list(dict.fromkeys([*CALL, *TIMED])), long & among("pid", pids)).with_columns(
        DOMAIN,
        nanoseconds(DONE_S).alias("done_ns"),
        nanoseconds(OWN_S).alias("own_ns"),
        pl.coalesce(one.field("1"), one.field("2")).cast(pl.Int64, strict=False).alias("fd"),
    )


def _waits(row: Mapping[str, Any], calls: pl.DataFrame, polls: pl.DataFrame) -> tuple[Wait, ...]:
    """Return reads and polls at a client's end, sorted by their end.

    A poll on several descriptors is a wait for this answer only if the answer is read next; the walk along the thread
    checks that by address.
    """
    here = (pl.col("artifact_id") == row["artifact_id"]) & (pl.col("domain") == row["domain"])
    mine = pl.col("fd").is_in(calls["fd"].unique()) | (pl.col("fd").is_null() & pl.lit(row["net"] == "tcp"))
    columns = ["done_ns", "own_ns", "line_no", "pid", "lwp"]
    both = pl.concat([calls.filter(~pl.col("out")).select(columns), polls.filter(here & mine).select(columns)])
    return tuple(
        (done, done - own, line, (pid, lwp))
        for done, own, line, pid, lwp in both.drop_nulls("own_ns").sort("done_ns", "line_no").iter_rows()
    )


def _wait(end: End, exchange: Exchange) -> Wait | None:
    """Return the longest wait for the answer of one exchange, None if there is no wait."""
    first = bisect.bisect_right(end.waits, exchange.asked_end, key=lambda w: w[0])
    last = bisect.bisect_right(end.waits, exchange.answer_end, key=lambda w: w[0])
    held_back = [w for w in end.waits[first:last] if w[3] == exchange.answerer and w[1] >= (exchange.asked_begin or 0)]
    return max(held_back, key=lambda w: w[0] - w[1], default=None)


def _answers(
    client: End, fits: list[tuple[End, list[int] | None]], zero: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each of the longest waits of a client's end that a server answered, if it can be identified."""
    n_fits = sum(len(found) for _, found in fits if found is not None)
    tried = all(found is not None for _, found in fits)
    if tried and n_fits == 0:
        return
    longest = sorted(range(len(client.talk)), key=lambda k: (-(away(client.talk[k]) or 0), k))[:LONGEST_WAITS]
    for k in longest:
        mine = client.talk[k]
        lost, wait = away(mine), _wait(client, mine)
        if lost is None or wait is None or wait[0] - wait[1] < SHORTEST_S * 1e9:
            continue
        place = {c: client.row[c] for c in (*PLACE_COLUMNS, "net", "local", "peer")}
        row = {
            **place, "pid": wait[3][0], "lwp": wait[3][1], "line_no": wait[2], "line_asked": mine.asked_line, "line_got": mine.answer_line,
            "wait_s": _s(wait[0] - wait[1]), "away_s": _s(lost), "asked_ns": mine.asked_begin, "got_ns": mine.answer_end,
            "state": "undecided", "fits": n_fits if tried else None,
        }  # fmt: skip
        partners = [
            (server, server.talk[k + d]) for server, found in fits for d in found or () if 0 <= k + d < len(server.talk)
        ]
        if not tried or n_fits > 1:
            yield row
        elif partners and (server := _of_server(client, mine, *partners[0], zero)):
            yield row | server


def _of_server(client: End, mine: Exchange, server: End, theirs: Exchange, zero: Mapping[str, float]) -> dict[str, Any]:
    """Return the server's columns; none if its trace does not show how long it held the question."""
    held_ns, away_ns, bounds = held(theirs), away(mine), offset(mine, theirs)
    if held_ns is None or away_ns is None or bounds is None:
        return {}
    apart = zero.get(server.clock or "", 0.0) - zero.get(client.clock or "", 0.0)
    return {
        "state": "followed" if theirs.asker == theirs.answerer else "threads",
        "to_artifact": server.row["artifact_id"], "to_host": server.row["host"], "to_clock": server.row["clock"],
        "to_pid": theirs.asker[0], "to_lwp": theirs.asker[1], "to_asked": theirs.asked_line, "to_answered": theirs.answer_line,
        "server_s": _s(held_ns), "rest_s": _s(max(away_ns - held_ns, 0)),
        "off_lo": _s(bounds[0]) + apart, "off_hi": _s(bounds[1]) + apart,
        "to_asked_ns": theirs.asked_end, "to_answered_ns": theirs.answer_begin, "to_until_ns": theirs.answer_end,
    }  # fmt: skip


def _s(ns: int) -> float:
    return round(ns / 1e9, 9)
