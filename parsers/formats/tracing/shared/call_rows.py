"""Turn events of a trace, in file order, into rows of `syscalls`, for tracers that stamp a call's start or print its duration.

Used by strace, perf trace, dtruss and the truss of FreeBSD. (The truss of Solaris stamps ends and prints no duration: see
`truss/state.py`.) An event is a call or a signal of one thread. A thread does one thing at a time, so its events stand in the order of
their last lines.

The columns of events are `EVENT`. `who` identifies the thread. `t` is seconds in the trace's clock (NULL = no stamp), `domain` the clock
domain. `measured` is true if the tool printed `elapsed` itself, false if it is the difference of two stamps of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from parsers.formats.tracing.shared.peers import peers
from parsers.formats.tracing.shared.trace_clock import Longs
from parsers.tables.rows import State, Tables
from parsers.text.inline_polars import neighbours, rows_or_null, where, without

EVENT = {
    "line_no": pl.Int64,
    "line_end": pl.Int64,
    "pos": pl.Int64,
    "seq": pl.Int64,
    "kind": pl.String,
    "who": pl.Int64,
    "pid": pl.Int64,
    "lwp": pl.Int64,
    "comm": pl.String,
    "t": pl.Float64,
    "domain": pl.Int64,
    "stamp": pl.String,
    "delta": pl.Float64,
    "name": pl.String,
    "args": pl.String,
    "ret_text": pl.String,
    "val": pl.String,
    "err": pl.String,
    "elapsed": pl.Float64,
    "measured": pl.Boolean,
    "cpu": pl.Float64,
    "state": pl.String,
    "traced_f": pl.Boolean,
}
"""Columns of events. `kind`: call, signal, exit (the thread's last). `stamp`: whether `t` is the start or the end of the call."""

_LINKS = {"prev_line": pl.Int64, "prev_name": pl.String, "gap_s": pl.Float64, "emitted": pl.Boolean}
_CARRIED = {**EVENT, **_LINKS}

MAX_THREADS = 20_000
"""Maximum number of threads whose last event is carried to the next block; the earliest thread is dropped first."""

_SYSCALLS: list[str | pl.Expr] = [
    "line_no", "line_end", pl.col("t").alias("t_local"), "seq", "pid", "lwp", "comm", "name", "args", "fd", "fd2", "path", "arg_id",
    "sem_num", "arg_addr", "peer_ip", "peer_port", "bytes", "data", "ret", "ret2", "ret_text", "err", "state", "child_pid", "prev_line",
    "prev_name", "gap_s", pl.col("delta").alias("delta_s"), pl.col("elapsed").alias("elapsed_s"), pl.col("cpu").alias("cpu_s"),
    "dur_hi_s", "dur_kind", "stamp", "contiguous", "traced_f",
]  # fmt: skip

Fill = Callable[[pl.DataFrame], pl.DataFrame]
"""Adds the columns that one line alone determines: ret, ret2, fd, fd2, path, arg_id, sem_num, arg_addr, bytes, data, child_pid, `peer`.

`peer` is a text as `peers.PEER` has it; columns `direct_ip`, `direct_port`, if there, hold an address that the call itself shows.
"""


class CallRows:
    """Makes rows of `syscalls` block by block; carries the last event of each thread and the addresses of descriptors."""

    def __init__(self, out: Tables, state: State, fill: Fill) -> None:
        self.out = out
        self.fill = fill
        self.carried = pl.DataFrame(state.get("carried", []), schema=_CARRIED, orient="row")
        self.peers: dict[str, dict[str, list[Any]]] = state.get("peers", {})

    def state(self) -> State:
        return {"carried": [list(row) for row in self.carried.iter_rows()], "peers": self.peers}

    def add(self, events: pl.DataFrame, gaps: Longs, *, last: bool) -> None:
        """Add the calls of `events` (sorted by line_end) as rows.

        A call that needs the thread's next event waits for it, unless this is the `last` block. `gaps`: lines, ascending, that mark
        lines left out.
        """
        fresh = events.select_seq(list(EVENT)).with_columns_seq(
            pl.lit(False if c == "emitted" else None, t).alias(c) for c, t in _LINKS.items()
        )
        both = pl.concat([self.carried, fresh]) if len(self.carried) else fresh
        del events, fresh
        if both.is_empty():
            return
        old = pl.int_range(pl.len()) < len(self.carried)
        # One pass over the threads finds all neighbours.
        beside = (rows_or_null(name, rows) for name, rows in zip("bn", neighbours(both["who"]), strict=True))
        both = both.with_columns_seq(old.alias("old"), *beside)
        before, behind = ({c: pl.col(c).gather(pl.col(x)) for c in ("line_no", "name", "t", "domain")} for x in "bn")
        gap = pl.when(before["domain"] == pl.col("domain")).then((pl.col("t") - before["t"]).round(9))
        until = pl.when(behind["domain"] == pl.col("domain")).then((behind["t"] - pl.col("t")).round(9))
        both = both.with_columns_seq(
            pl.when("old").then("prev_line").otherwise(before["line_no"]).alias("prev_line"),
            pl.when("old").then("prev_name").otherwise(before["name"]).alias("prev_name"),
            pl.when("old").then("gap_s").otherwise(gap).alias("gap_s"),
            until.alias("until"),
            behind["line_no"].alias("next_line"),
        )
        call, starts = pl.col("kind") == "call", pl.col("stamp") == "start"
        waits = call & starts & pl.col("elapsed").is_null() & pl.col("t").is_not_null() & pl.col("n").is_null()
        both = both.with_columns_seq((~waits | pl.lit(last)).alias("ready"))
        ready = [where(both, call & pl.col("ready") & ~pl.col("emitted"))]
        ends = where(both, pl.col("n").is_null() & (pl.col("kind") != "exit"))
        ends, gone = ends.tail(MAX_THREADS), ends.head(-MAX_THREADS)
        del both
        self._rows(ready.pop(), gaps)
        if len(gone):
            self._rows(where(gone, call & ~pl.col("ready") & ~pl.col("emitted")), gaps)
        ends = ends.with_columns_seq((pl.col("ready") | pl.col("emitted")).alias("emitted"))
        self.carried = ends.with_columns_seq(
            # A row that is written already needs no text any more.
            pl.when(~pl.col("emitted")).then(c).alias(c) for c in ("args", "ret_text", "val", "comm")
        ).select_seq(list(_CARRIED))  # fmt: skip

    def _rows(self, calls: pl.DataFrame, gaps: Longs) -> None:
        if calls.is_empty():
            return
        elapsed, starts = pl.col("elapsed").is_not_null(), pl.col("stamp") == "start"
        bound = pl.when(elapsed).then("elapsed").when(starts).then("until").otherwise("gap_s")
        calls = calls.with_columns_seq(
            bound.alias("dur_hi_s"),
            pl.when(elapsed).then(pl.lit("elapsed")).when(bound.is_null()).then(pl.lit("none")).otherwise(pl.lit("gap")).alias("dur_kind"),
            # The interval of dur_hi_s as lines: within the call, up to the next event, or since the previous one.
            pl.when(elapsed | ~starts).then("line_end").otherwise("next_line").alias("to"),
            pl.when(elapsed | starts).then("line_no").otherwise("prev_line").alias("from"),
        )  # fmt: skip
        cut: pl.Expr = pl.lit(False)
        if len(gaps):
            places = calls.select_seq(pl.col("from").fill_null(0), pl.col("to").fill_null(0))
            inside = np.searchsorted(gaps, places["to"].to_numpy()) > np.searchsorted(gaps, places["from"].to_numpy())
            cut = pl.lit(pl.Series(inside))
        calls = calls.with_columns_seq(
            pl.when(pl.col("dur_hi_s").is_null())
            .then(None)
            .when("measured")
            .then(pl.lit("proven"))
            .when(cut)
            .then(pl.lit("broken"))
            .otherwise(pl.lit("assumed"))
            .alias("contiguous")
        )
        calls = peers(self.fill(without(calls, "b", "n")), self.peers)
        if "direct_ip" in calls.columns:
            calls = calls.with_columns_seq(
                pl.coalesce("direct_ip", "peer_ip").alias("peer_ip"),
                pl.when(pl.col("direct_ip").is_null()).then("peer_port").otherwise("direct_port").alias("peer_port"),
            )
        # Lines of other threads stand between the two halves of a call: only the first and last line are counted.
        self.out.add("syscalls", calls.select_seq(_SYSCALLS), span="ends")
