"""Reading of traces in which every call stands on one line with its duration: truss of FreeBSD, dtruss, perf trace."""

from __future__ import annotations

import numpy as np
import polars as pl

from parsers.formats.tracing.shared.call_rows import EVENT, CallRows, Fill
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.notes import ELISION
from parsers.text.times import span_s


class FlatTrace:
    """Numbers events, reports their clock domain and passes them to `CallRows`."""

    def __init__(self, out: Tables, state: State, fill: Fill) -> None:
        self.out = out
        self.seq = int(state.get("seq", 0))
        self.rows = CallRows(out, state.get("rows", {}), fill)

    def add(self, frame: pl.DataFrame, events: pl.DataFrame, **fixed: pl.Expr) -> pl.DataFrame:
        """Number events, pass them to `CallRows` and return them.

        `frame` holds the lines of the block, `events` any subset of the columns of `EVENT`, in file order. `who` is computed from pid
        and lwp; `fixed` are further columns as expressions.
        """
        marks = frame.filter((pl.col("line").str.len_bytes() <= 40) & pl.col("line").str.contains(ELISION))[
            "line_no"
        ].to_numpy()
        self.out.account("elided", marks)
        events = events.with_columns(**fixed)
        filled = events.with_columns(pl.lit(None, t).alias(c) for c, t in EVENT.items() if c not in events.columns)
        who = (pl.col("pid").fill_null(0) * 2**32 + pl.col("lwp").fill_null(0)).alias("who")
        numbered = filled.with_columns(
            who,
            pl.col("line_end").fill_null(pl.col("line_no")),
            pl.lit(0, pl.Int64).alias("pos"),
            pl.col("domain").fill_null(1),
            pl.col("kind").fill_null("call"),
            pl.col("state").fill_null("done"),
            pl.col("measured").fill_null(pl.col("elapsed").is_not_null()),
            (pl.int_range(pl.len(), dtype=pl.Int64) + self.seq + 1).alias("seq"),
        ).select(pl.col(c).cast(t) for c, t in EVENT.items())
        self.seq += len(numbered)
        self.rows.add(numbered, np.asarray(marks, np.int64), last=False)
        return numbered

    def domain(self, events: pl.DataFrame, kind: str) -> None:
        """Report the clock domain of these events; `kind` is its kind, "none" if there are no stamps."""
        if events.is_empty():
            return
        begin, end = span_s(events["t"])
        self.out.domain(Domain(1, "none" if begin is None else kind, None, None, begin, end, [line_span(events)]))

    def state(self, *, last: bool) -> State:
        """End a run and return the state; with `last`, write the calls that still wait for a next event."""
        if last:
            self.rows.add(pl.DataFrame(schema=EVENT), np.zeros(0, np.int64), last=True)
        return {"seq": self.seq, "rows": self.rows.state()}
