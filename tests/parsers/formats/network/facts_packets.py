"""Checks of the facts stored beside the corpus samples of packets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import asks, notes, rows_of


def packets(reading: Reading, value: int) -> None:
    assert len(reading.table("packets")) == value


def by_proto(reading: Reading, value: dict[str, int]) -> None:
    assert dict(reading.table("packets").group_by("proto").len().iter_rows()) == value


def flows(reading: Reading, value: int) -> None:
    assert len(reading.table("tcp_flows")) == value


def _flow(column: str) -> Any:
    def check(reading: Reading, value: Any) -> None:
        (found,) = reading.table("tcp_flows")[column].to_list()
        assert found == (pytest.approx(value, abs=2e-6) if isinstance(value, float) else value)

    return check


def server(reading: Reading, value: list[Any]) -> None:
    assert reading.table("tcp_flows").select("dst", "dport").rows() == [tuple(value)]


def dropped_noted(reading: Reading, value: int) -> None:
    assert [n.line_from for n in reading.account.notes if "the capture has gaps" in n.text] == [value]


def first_t(reading: Reading, value: float) -> None:
    assert reading.table("packets")["t_local"][0] == pytest.approx(value, abs=1e-9)


def last_t(reading: Reading, value: float) -> None:
    assert reading.table("packets")["t_local"][-1] == pytest.approx(value, abs=1e-9)


def payloads(reading: Reading, value: list[str]) -> None:
    assert set(value) <= set(reading.table("packets")["payload"].to_list())


def base(reading: Reading, value: str) -> None:
    assert [d.base for d in reading.account.parts[0].domains] == [value]


def clock(reading: Reading, value: str) -> None:
    assert [d.kind for d in reading.account.parts[0].domains] == [value]


COLUMNS = "line_no line_end t_local proto src sport dst dport flags seq ack len win payload".split()
CHECKERS = {
    "rows": rows_of("packets", *COLUMNS),
    "asks": asks,
    "notes": notes,
    "packets": packets,
    "by_proto": by_proto,
    "flows": flows,
    "server": server,
    "dropped_noted": dropped_noted,
    "first_t": first_t,
    "last_t": last_t,
    "payloads": payloads,
    "base": base,
    "clock": clock,
    **{
        name: _flow(name)
        for name in (
            "handshake_rtt_s",
            "retransmits",
            "syn_retransmits",
            "zero_window_s",
            "request_to_first_byte_s",
            "capture_side",
            "complete",
        )
    },
}
WAIVED: dict[str, str] = {}
