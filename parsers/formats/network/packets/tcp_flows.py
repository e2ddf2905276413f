"""Measure TCP connections in a list of packets: handshake, retransmitted segments, closed windows, time to the first byte.

A connection is a state machine, so its packets are read one by one, in the order of the capture; everything else about
packets works on columns. The state has a few numbers for each connection.

Definitions. `handshake_rtt_s`: from the last SYN before the SYN/ACK to the ACK of the SYN/ACK, which is one round trip
wherever the capture was made. `retransmits`: segments with payload (or SYN/ACK) that begin before the highest byte seen from
that side, and come at least one handshake (3 ms where it was not seen) after that byte: a segment that comes sooner was
overtaken, or was captured twice. One byte just before the highest byte is a keep-alive probe. `zero_window_s`: from a packet
that closes the window to the next packet of the same side. `request_to_first_byte_s`: from the last new byte that the opener
sent before the first answer to that answer; NULL where the other side sends first. `capture_side`: decided by which half of the
handshake is the short one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

OPEN_CAP = 20_000
"""Maximum number of connections carried to the next run; above it closed ones, then the oldest, are written early."""

OVERTAKEN_S = 0.003
"""Maximum delay in seconds of an overtaken segment where the handshake was not seen."""

BEHIND = 1 << 26
"""Maximum distance in bytes (64 MiB) of an earlier sequence number; a greater one is of another numbering (relative after absolute)."""

PACKETS = ("line_no", "line_end", "t_local", "src", "sport", "dst", "dport", "flags", "seq", "len", "win")
"""Columns that `Flows.add` reads; flags as tcpdump prints them (`S.`)."""

_SCHEMA = {
    "line_no": pl.Int64,
    "line_end": pl.Int64,
    "t_local": pl.Float64,
    "src": pl.String,
    "sport": pl.Int64,
    "dst": pl.String,
    "dport": pl.Int64,
    "handshake_rtt_s": pl.Float64,
    "retransmits": pl.Int64,
    "syn_retransmits": pl.Int64,
    "zero_window_s": pl.Float64,
    "request_to_first_byte_s": pl.Float64,
    "n_packets": pl.Int64,
    "capture_side": pl.String,
    "complete": pl.Boolean,
}


@dataclass(slots=True)
class Side:
    """Sender state of one end: the highest byte sent and its time, the last packet's time and window."""

    end: int | None = None
    t_end: float | None = None
    t_last: float | None = None
    shut: bool = False
    fin: bool = False


@dataclass(slots=True)
class Flow:
    """One connection; `ends` are address and port of the opener, then of the other side; `opened` is true if a SYN was seen."""

    ends: list[Any]
    first: int
    last: int
    t_first: float | None
    opened: bool = False
    syn: int | None = None
    t_syn: float | None = None
    t_syn_ack: float | None = None
    t_ack: float | None = None
    t_request: float | None = None
    first_byte: float | None = None
    n: int = 0
    again: int = 0
    syn_again: int = 0
    zero: float = 0.0
    reset: bool = False
    sides: list[Side] = field(default_factory=lambda: [Side(), Side()])
    t_last: float | None = None

    @property
    def closed(self) -> bool:
        return self.reset or (self.sides[0].fin and self.sides[1].fin)

    @property
    def rtt(self) -> float | None:
        return _span(self.t_syn, self.t_ack)

    def row(self) -> tuple[Any, ...]:
        """Return the row of `tcp_flows`; a window that is still closed counts until the last packet."""
        zero = self.zero + sum(_span(s.t_last, self.t_last) or 0.0 for s in self.sides if s.shut)
        (src, sport), (dst, dport) = self.ends
        timed = self.t_first is not None
        return (
            self.first,
            self.last,
            self.t_first,
            src,
            sport,
            dst,
            dport,
            self.rtt,
            self.again,
            self.syn_again,
            zero if timed else None,
            self.first_byte,
            self.n,
            _capture_side(_span(self.t_syn, self.t_syn_ack), _span(self.t_syn_ack, self.t_ack)),
            self.syn is not None and self.closed,
        )


class Flows:
    """Connections of a part. `state` is the result of `carried` at the end of the previous run, or empty."""

    def __init__(self, state: dict[str, list[dict[str, Any]]]) -> None:
        self.done = [_flow(saved) for saved in state.get("done", [])]
        self.open = {_key(*flow.ends[0], *flow.ends[1]): flow for flow in map(_flow, state.get("open", []))}

    def carried(self) -> dict[str, list[dict[str, Any]]]:
        return {"done": [asdict(f) for f in self.done], "open": [asdict(f) for f in self.open.values()]}

    def add(self, packets: pl.DataFrame) -> None:
        """Add TCP packets with ports, in the order of the capture; columns PACKETS."""
        columns = [packets[name].to_list() for name in PACKETS]
        for number, end, t, src, sport, dst, dport, flags, seq, size, win in zip(*columns, strict=True):
            key = _key(src, sport, dst, dport)
            flow = self.open.get(key)
            syn, ack, rst = "S" in flags, "." in flags, "R" in flags
            if flow is None or (syn and not ack and not _same_attempt(flow, seq)):
                if flow is not None:
                    self.done.append(flow)
                flow = Flow(_ends(src, sport, dst, dport, syn, ack), number, end, t, opened=syn)
                self.open[key] = flow
            flow.n += 1
            flow.last, flow.t_last = end, t
            mine = 0 if flow.ends[0][0] == src and flow.ends[0][1] == sport else 1
            side = flow.sides[mine]
            if side.shut:
                flow.zero += _span(side.t_last, t) or 0.0
            side.t_last = t
            side.shut = win == 0 and not rst and not syn
            side.fin = side.fin or "F" in flags
            flow.reset = flow.reset or rst
            if syn:
                _handshake(flow, ack, seq, t)
            elif mine == 0 and ack and flow.t_syn_ack is not None and flow.t_ack is None:
                flow.t_ack = t
            if size and not syn:
                _payload(flow, mine, seq, size, t)

    def take(self, last: bool) -> tuple[pl.DataFrame, int, list[int]]:
        """Remove the connections that will not change any more (with `last` all of them) and return their rows.

        Returns the rows sorted by first line, the number of connections without a SYN, and the first lines of those
        that begin with the SYN/ACK.
        """
        gone: list[Flow] = []
        if last:
            gone, self.open = [*self.done, *self.open.values()], {}
        elif len(self.done) + len(self.open) > OPEN_CAP:
            ranked = sorted(self.open.items(), key=lambda pair: (not pair[1].closed, pair[1].last))
            early = ranked[: max(len(ranked) - OPEN_CAP // 2, 0)]
            gone = [*self.done, *(flow for _, flow in early)]
            for key, _ in early:
                del self.open[key]
        if gone:
            self.done = []
        rows = sorted((flow.row() for flow in gone), key=lambda row: row[0])
        answered = sorted(flow.first for flow in gone if flow.opened and flow.syn is None)
        return pl.DataFrame(rows, schema=_SCHEMA, orient="row"), sum(not flow.opened for flow in gone), answered


def _flow(saved: dict[str, Any]) -> Flow:
    return Flow(**(saved | {"sides": [Side(**side) for side in saved["sides"]]}))


def _key(src: str, sport: int, dst: str, dport: int) -> tuple[Any, ...]:
    return (src, sport, dst, dport) if (src, sport) <= (dst, dport) else (dst, dport, src, sport)


def _same_attempt(flow: Flow, seq: int | None) -> bool:
    """Decide whether a SYN is a repetition of this connection's SYN, before the opener has finished the handshake."""
    return (
        flow.syn is not None
        and flow.syn == seq
        and flow.t_ack is None
        and not flow.closed
        and flow.sides[0].end is None
    )


def _ends(src: str, sport: int, dst: str, dport: int, syn: bool, ack: bool) -> list[Any]:
    """Return the opener's end first. The SYN decides; without one a low port is the service, else the first sender opened."""
    service_sends = ack if syn else sport < dport and sport < 32768
    return [[dst, dport], [src, sport]] if service_sends else [[src, sport], [dst, dport]]


def _handshake(flow: Flow, ack: bool, seq: int | None, t: float | None) -> None:
    if ack:
        if flow.t_syn_ack is not None and flow.t_ack is None:
            flow.again += 1
        elif flow.t_syn_ack is None:
            flow.t_syn_ack = t
        return
    if flow.syn is not None:
        flow.syn_again += 1
    flow.syn = seq if seq is not None else -1
    if flow.t_syn_ack is None:
        flow.t_syn = t


def _payload(flow: Flow, mine: int, seq: int | None, size: int, t: float | None) -> None:
    """Track the highest byte of a side, count retransmitted segments, and time the first answer."""
    side = flow.sides[mine]
    fresh = True
    if seq is not None:
        ahead = 0 if side.end is None else (seq - side.end + (1 << 31)) % (1 << 32) - (1 << 31)
        if side.end is not None and -BEHIND < ahead < 0:
            fresh = ahead + size > 0
            waited = _span(side.t_end, t)
            probe = size == 1 and ahead == -1
            rtt = flow.rtt
            if not probe and (waited is None or waited >= (rtt if rtt is not None else OVERTAKEN_S)):
                flow.again += 1
        if fresh:
            side.end, side.t_end = (seq + size) % (1 << 32), t
    if mine == 0 and fresh and flow.first_byte is None:
        flow.t_request = t
    elif mine == 1 and flow.first_byte is None and flow.t_request is not None:
        flow.first_byte = _span(flow.t_request, t)


def _span(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def _capture_side(out: float | None, back: float | None) -> str:
    """Return where the capture was made: near the client SYN/ACK -> ACK is short, near the server SYN -> SYN/ACK."""
    if out is None or back is None:
        return "unknown"
    if back * 4 < out:
        return "client"
    if out * 4 < back:
        return "server"
    # Where both halves are short, the two hosts may be in one rack, where their processing takes as long as the wire.
    return "between" if min(out, back) > 0.001 else "unknown"
