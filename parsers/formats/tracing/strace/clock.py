"""Compute the time of strace records: stamps (time of day or epoch), midnight, differences alone, and where a clock domain ends.

One strace writes all lines of a file, so stamps rise from line to line whatever the thread. A time of day that falls by more than twelve
hours is the next day; another fall is a clock that was set back or another excerpt, and begins a new domain. Differences (-r) count from
the previous line, whatever its thread. Where they are the only stamps, their running sum is the time, and a mark of elision begins a new
domain.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl

from parsers.formats.tracing.shared.trace_clock import Longs
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.inline_polars import where
from parsers.text.source import Hints
from parsers.text.times import span_s

DAY, HALF = 86400.0, 43200.0
FALL_S = 0.001
"""Maximum fall of the stamp in seconds that counts as lines out of order, not as a new domain."""
MAX_DOMAINS = 1000


class Clock:
    """The clock of one part, carried from block to block: `source` (epoch, clock, since, none), base, day, last time, domain."""

    def __init__(self, out: Tables, state: State, hints: Hints) -> None:
        self.out = out
        self.hints = hints
        self.state: dict[str, Any] = {
            "source": None,
            "base": None,
            "day": 0,
            "last": None,
            "domain": 1,
            "dated": False,
            **state,
        }

    def stamp(self, records: pl.DataFrame, gaps: Longs) -> pl.DataFrame:
        """Add `t` and `domain` to records in file order, and report the domains."""
        state = self.state
        if state["source"] is None:
            there = [c for c in ("epoch", "clock", "since") if records[c].null_count() < len(records)]
            if not there:
                return records.with_columns_seq(t=pl.lit(None, pl.Float64), domain=pl.lit(1, pl.Int64))
            state["source"] = there[0]
        raw = {"epoch": self._epoch, "clock": _time_of_day, "since": _difference}[state["source"]](records)
        t = raw.to_numpy().astype(float)
        lines = records["line_no"].to_numpy()
        known = np.flatnonzero(~np.isnan(t))
        domain = np.full(len(t), state["domain"], np.int64)
        if len(known):
            if state["source"] == "since":
                fallen = _behind(gaps, lines[known], state.get("line"))
                t[known] = np.cumsum(t[known]) + (state["last"] or 0.0)
            else:
                if state["source"] == "clock":
                    t[known] += DAY * self._days(t[known], lines[known])
                steps = np.diff(t[known], prepend=t[known[0]] if state["last"] is None else state["last"])
                fallen = steps < -FALL_S
                self._note_falls(lines[known][fallen], -steps[fallen])
            jumps = np.zeros(len(t), np.int64)
            jumps[known[fallen]] = 1
            domain = np.minimum(state["domain"] + np.cumsum(jumps), MAX_DOMAINS)
            state |= {"last": float(t[known[-1]]), "line": int(lines[known[-1]]), "domain": int(domain[-1])}
        stamped = records.with_columns_seq(pl.Series("t", t).fill_nan(None).round(9), pl.Series("domain", domain))
        self._report(stamped)
        return stamped

    def _epoch(self, records: pl.DataFrame) -> pl.Series:
        """Return seconds since the first whole second of the file: a float keeps nanoseconds there, but not since 1970."""
        parts = records["epoch"].str.splitn(".", 2).struct.unnest()
        whole = parts["field_0"].cast(pl.Int64, strict=False)
        if self.state["base"] is None:
            self.state["base"] = int(whole.drop_nulls()[0])
        behind = parts.select_seq((pl.lit("0.") + pl.col("field_1")).cast(pl.Float64, strict=False)).to_series()
        since = (whole - int(self.state["base"])).cast(pl.Float64)
        return since + behind.fill_null(0.0)

    def _days(self, t: np.ndarray[Any, np.dtype[np.float64]], lines: Longs) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Count midnights: a fall by more than half a day is the next day, a rise by as much is a line of the previous day."""
        state = self.state
        last = t[0] if state["last"] is None else state["last"] - DAY * state["day"]
        steps = np.diff(t, prepend=last)
        turns = (steps < -HALF).astype(float)
        day: np.ndarray[Any, np.dtype[np.float64]] = np.cumsum(turns) + float(state["day"])
        late = np.flatnonzero(steps > HALF)
        for i in late:  # made before midnight, printed after it
            if day[i] > 0:
                day[i:] -= 1
        for i in np.flatnonzero(turns):
            self.out.note(int(lines[i]), int(lines[i]), "remark", "the time of day begins anew: taken as the next day")
        state["day"] = float(day[-1])
        return day

    def _note_falls(self, lines: Longs, by: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        for line, seconds in zip(lines[:100].tolist(), by[:100].tolist(), strict=True):
            text = f"time falls back by {seconds:.6f} s: the clock was set, or another trace begins"
            self.out.note(line, line, "remark", text)

    def _report(self, stamped: pl.DataFrame) -> None:
        state, hints = self.state, self.hints
        base, zone = None, hints.tz
        kind = {"epoch": "wall-utc", "clock": "wall-local"}.get(state["source"], "trace-relative")
        if kind == "wall-utc":
            base, zone = datetime.fromtimestamp(state["base"], UTC).isoformat(), None
        elif kind == "wall-local":
            day = _day(hints.date)
            base = f"{day}T00:00:00" if day else None
            if not state["dated"]:
                line = int(stamped["line_no"][0])
                text = (
                    f"the date {day} was said, not printed"
                    if day
                    else "times of day without a date: the day is unknown"
                )
                self.out.note(line, line, "remark", text)
                state["dated"] = True
        domain = stamped["domain"].to_numpy()
        for number in np.unique(domain).tolist():
            some = where(stamped, pl.Series(domain == number))
            self.out.domain(Domain(number, kind, base, zone, *span_s(some["t"]), [line_span(some)]))


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _behind(gaps: Longs, lines: Longs, before: int | None) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return for each line whether a mark of elision stands between it and the previous line."""
    earlier = np.concatenate([[lines[0] if before is None else before], lines[:-1]])
    marked: np.ndarray[Any, np.dtype[np.bool_]] = np.searchsorted(gaps, lines) > np.searchsorted(gaps, earlier)
    return marked


def _time_of_day(records: pl.DataFrame) -> pl.Series:
    text = pl.col("clock")
    hours, minutes, seconds = (
        text.str.slice(*place).cast(pl.Float64, strict=False) for place in ((0, 2), (3, 2), (6,))
    )
    return records.select_seq(hours * 3600 + minutes * 60 + seconds).to_series()


def _difference(records: pl.DataFrame) -> pl.Series:
    return records["since"]
