"""Turn packets into rows: decide the clock of their stamps, and fill the tables of packets and of TCP connections."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Literal

import polars as pl

from parsers.formats.network.packets.tcp_flows import PACKETS, Flows
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Source

PROOF = 20
"""Minimum number of stamps that never fall by which they are recognised as a running clock."""

FULL = ("snoop_v", "tshark_V", "tshark_fields", "ipreport")
"""Tools (`state["tool"]`) that print packets layer by layer."""

COLUMNS = (
    "line_no",
    "line_end",
    "t_local",
    "proto",
    "src",
    "sport",
    "dst",
    "dport",
    "flags",
    "seq",
    "ack",
    "len",
    "vlan",
    "win",
    "mss",
    "payload",
)


class Capture:
    """Packets of one run and their connections; the state carries what continues in the next run."""

    def __init__(self, source: Source, out: Tables, state: State) -> None:
        self._source, self._out, self._state = source, out, state
        self._flows = Flows(state.get("flows", {}))
        self._first = self._last = source.first_line

    def add(self, rows: pl.DataFrame, lines: tuple[int, int], span: Literal["all", "ends"] = "all") -> None:
        """Add the packets of these lines, in their order, with COLUMNS of `packets/lines.py` and `line_end`."""
        rows = timed(rows, self._source, self._out, self._state)
        self._out.add("packets", rows.select(COLUMNS), span=span)
        segments = rows.filter(
            (pl.col("proto") == "tcp")
            & pl.all_horizontal(pl.col("src", "sport", "dst", "dport", "flags").is_not_null())
        )
        self._flows.add(segments.select(PACKETS))
        self._last = lines[1]
        kind = self._state.get("clock_kind")
        if len(rows) and kind:
            times = rows["t_local"].drop_nulls()
            begin, end = (float(times[i]) if len(times) else None for i in (times.arg_min() or 0, times.arg_max() or 0))
            base, zone = self._state.get("base"), self._state.get("zone")
            self._out.domain(Domain(1, kind, base, zone, begin, end, [lines]))

    def close(self) -> None:
        """Write the connections that ended; at the end of the part, all of them."""
        done, unopened, answered = self._flows.take(self._source.last)
        self._out.add("tcp_flows", done, span="ends")
        for line_no in answered:
            text = "a connection begins with the answer to its SYN: that packet is not here"
            self._out.note(line_no, line_no, "elided", text)
        if unopened:
            text = f"{unopened} connections began before the capture: who opened them is taken from their ports"
            self._out.note(self._first, max(self._first, self._last), "remark", text)
        self._state["flows"] = self._flows.carried()


def timed(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Convert stamps to `t_local`; the first row with a stamp decides the kind of clock of the part."""
    if "clock_kind" not in state:
        stamped = rows.filter(pl.any_horizontal(pl.col("clock", "epoch", "relative").is_not_null()))
        if stamped.is_empty():
            return rows.with_columns(t_local=pl.lit(None, pl.Float64))
        _begin(stamped, source, out, state)
    kind = state["stamps"]
    time = pl.col("clock").str.split(":").list
    of_day = time.get(0, null_on_oob=True).cast(pl.Float64) * 3600 + time.get(1, null_on_oob=True).cast(pl.Float64) * 60
    of_day = of_day + time.get(2, null_on_oob=True).cast(pl.Float64)
    if kind == "epoch":
        whole = pl.col("epoch").str.extract(r"^([0-9]+)").cast(pl.Int64, strict=False) - state["day"] * 86400
        return rows.with_columns(t_local=whole + pl.col("epoch").str.extract(r"(\.[0-9]+)$").cast(pl.Float64))
    if kind == "dated":
        days = pl.col("date").str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32, strict=False) - state["day"]
        return rows.with_columns(t_local=days * 86400.0 + of_day)
    value = pl.col("relative").cast(pl.Float64) if kind.startswith("relative") else of_day
    rows = rows.with_columns(t=value)
    filled = rows["t"].drop_nulls()
    if filled.is_empty():
        return rows.with_columns(t_local=pl.lit(None, pl.Float64))
    if kind.endswith("delta"):
        # Add whole nanoseconds, so that sums do not depend on where a run began.
        total = (
            ((pl.col("t").fill_null(0.0) * 1e9).round().cast(pl.Int64, strict=False).cum_sum() + state.get("ns", 0))
            / 1e9
        ).round(9)
    elif kind == "clock":
        # A fall of more than twelve hours is midnight; a smaller one means that the clock was set, or packets are out of order.
        before = pl.col("t").forward_fill().shift().fill_null(state.get("t", filled[0]))
        step = pl.col("t") - before
        total = pl.col("t") + 86400.0 * ((step < -43200).cum_sum() + state.get("days", 0))
        falls = rows.select("line_no", (-step).alias("back")).filter(pl.col("back").is_between(60, 43200))
        for line_no, back in falls.iter_rows():
            text = f"the clock goes back by {back:g} s: it was set (the end of daylight saving time?), or another capture begins"
            out.note(line_no, line_no, "remark", text)
    else:
        total = pl.col("t")
    rows = rows.with_columns(t_local=pl.when(pl.col("t").is_not_null()).then(total))
    final = rows["t_local"].drop_nulls()[-1]
    if kind == "clock":
        state |= {"t": filled[-1], "days": int(final // 86400)}
    else:
        state["ns"] = round(final * 1e9)
    return rows.drop("t")


def _begin(stamped: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    """Decide the clock by the first stamps and store it in the state."""
    row = stamped.row(0, named=True)
    if row["epoch"] is not None:
        day = int(float(row["epoch"]) // 86400)
        state |= {"stamps": "epoch", "clock_kind": "wall-utc", "zone": "UTC", "day": day, "base": _midnight(day)}
        return
    if row["date"] is not None and row["clock"] is not None:
        day = (date.fromisoformat(row["date"]) - date(1970, 1, 1)).days
        transcript = state["tool"] == "transcript"
        zone = "UTC" if transcript else source.hints.tz
        state |= {
            "stamps": "dated",
            "clock_kind": "wall-utc" if transcript else "wall-local",
            "zone": zone,
            "day": day,
            "base": _midnight(day),
        }
        return
    column = "relative" if row["relative"] is not None else "clock"
    # Tools that print packets in full print the time of day, or name another meaning of the stamp.
    full = state["tool"] in FULL
    if column == "relative" or not (full or row[column].strip("0:.")):
        since = full or _since_first(stamped[column].drop_nulls(), column, state["tool"], source.hints.command)
        state |= {"stamps": f"{column}-{'since' if since else 'delta'}", "clock_kind": "trace-relative"}
        words = "since the first packet" if since else "since the packet before"
        out.note(row["line_no"], row["line_no"], "remark", f"stamps without a time of day are taken as {words}")
        return
    base = f"{source.hints.date}T00:00:00" if source.hints.date else None
    state |= {"stamps": "clock", "clock_kind": "wall-local", "zone": source.hints.tz, "base": base}


def _since_first(stamps: pl.Series, column: str, tool: str, command: str | None) -> bool:
    """Decide whether stamps count since the first packet (True) or since the packet before (False).

    The option -t of the command decides. Without it, twenty stamps that never fall count since the first packet, and a fall
    means the other. With fewer stamps the tool's default applies (snoop and tcpdump -ttt: since the packet before; tshark:
    since the first).
    """
    if command is not None and (option := re.search(r" -t *(r|d|tttt|tt)\b", command)):
        return option[1] in ("r", "tttt")
    if len(stamps) < PROOF:
        return tool == "tshark"
    # Texts of clock times have equal width, so they sort in the order of time.
    values = stamps[:PROOF].cast(pl.Float64) if column == "relative" else stamps[:PROOF].rank("dense").cast(pl.Float64)
    return not (values.diff() < 0).any()


def _midnight(day: int) -> str:
    return f"{date(1970, 1, 1) + timedelta(days=day)}T00:00:00"
