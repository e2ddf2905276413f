"""Checks of the facts stored beside the corpus samples of netstat and nstat."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("counters")


def _value(name: str, grp: str = "tcp") -> Any:
    def check(reading: Reading, value: Any) -> None:
        rows = _rows(reading).filter((pl.col("name") == name) & (pl.col("grp") == grp))
        if isinstance(value, dict):
            assert rows.select("value", "line_no").rows() == [(value["value"], value["line"])]
        else:
            assert rows["value"].to_list() == [value]

    return check


def pairs(reading: Reading, value: int) -> None:
    assert len(_rows(reading)) == value


def listen_overflow_lines(reading: Reading, value: int) -> None:
    assert len(_rows(reading).filter(pl.col("name").str.contains("(?i)listen queue|ListenOverflows"))) == value


def first_line_is_error(reading: Reading, value: bool) -> None:
    assert (_rows(reading)["line_no"][0] > 2) is value


def unparsable_line(reading: Reading, value: int) -> None:
    assert value not in _rows(reading)["line_no"]


def discarded(reading: Reading, value: int) -> None:
    assert value in _rows(reading).filter(pl.col("name").str.contains("discarded"))["value"].to_list()


def wraps(reading: Reading, value: str) -> None:
    assert "3064597202" in value
    rows = dict(_rows(reading).select("name", "value").iter_rows())
    assert rows["data packets"] == 3064597202
    assert rows["packets sent"] == 2229689213


def sockets(reading: Reading, value: int) -> None:
    assert len(reading.table("sockets")) == value


def states(reading: Reading, value: dict[str, int]) -> None:
    assert dict(reading.table("sockets")["state"].fill_null("-").value_counts().iter_rows()) == value


def first_socket(reading: Reading, value: list[Any]) -> None:
    names = ("proto", "local_ip", "local_port", "peer_ip", "peer_port", "recvq", "sendq", "pid", "comm")
    assert list(reading.table("sockets").select(names).row(0)) == value


def deltas(reading: Reading, value: dict[str, Any]) -> None:
    rows = _rows(reading).filter(pl.col("sample") == 2)
    assert {k: v for k, v in rows.select("name", "delta").iter_rows() if k in value} == value


def values(reading: Reading, value: dict[str, float]) -> None:
    assert {k: v for k, v in _rows(reading).select("name", "value").iter_rows() if k in value} == value


def groups(reading: Reading, value: list[str]) -> None:
    assert _rows(reading)["grp"].unique(maintain_order=True).to_list() == value


CHECKERS = {
    "pairs": pairs,
    "tcpListenDrop": _value("tcpListenDrop"),
    "tcpListenDropQ0": _value("tcpListenDropQ0"),
    "tcpHalfOpenDrop": _value("tcpHalfOpenDrop"),
    "tcpInSegs": _value("tcpInSegs"),
    "tcp_established": _value("connections established"),
    "segments_retransmited": _value("segments retransmited"),
    "TCPDeferAcceptDrop": _value("TCPDeferAcceptDrop"),
    "connection_accepts": _value("connection accepts"),
    "listener_queue_full": _value("discarded due to listener's queue full"),
    "listen_overflow_lines": listen_overflow_lines,
    "first_line_is_error": first_line_is_error,
    "unparsable_line": unparsable_line,
    "discarded_by_listeners": discarded,
    "counters_wrap": wraps,
    "sockets": sockets,
    "states": states,
    "first_socket": first_socket,
    "deltas": deltas,
    "values": values,
    "groups": groups,
}
WAIVED: dict[str, str] = {}
