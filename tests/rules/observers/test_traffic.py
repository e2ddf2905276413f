"""Tests of shares of the traffic: only growth counts, zero since boot is zero, and few segments prove nothing."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.traffic import LEAST_SENT, measures


def of(table: str, *rows: dict[str, Any]) -> list[Sighting]:
    return list(measures(Case.of_tables({table: [{"line_no": n, **row} for n, row in enumerate(rows, 1)]})))


def tcp(name: str, value: float, **more: Any) -> dict[str, Any]:
    return {"grp": "tcp", "name": name, "mode": "total", "value": value, **more}


@pytest.mark.parametrize(("again", "normal"), [(100.0, False), (99.0, True)])
def test_one_in_a_hundred_sent_again_stands_out(again: float, normal: bool) -> None:
    (made,) = of(
        "counters", tcp("TcpRetransSegs", 9e5), tcp("TcpOutSegs", 1e9),
        tcp("TcpRetransSegs", 9e5 + again), tcp("TcpOutSegs", 1e9 + 1e4),
    )  # fmt: skip
    assert (made.name, made.value, made.normal) == ("packet_retransmit_pct", again / 100, normal)
    assert [c.line_from for c in made.lines] == [3, 4]


def test_a_share_since_boot_says_nothing_but_zero() -> None:
    assert of("counters", tcp("segments retransmitted", 50.0), tcp("segments sent out", 1e6)) == []
    (made,) = of("counters", tcp("segments retransmitted", 0.0), tcp("segments sent out", 1e6))
    assert (made.value, made.normal) == (0.0, True)


def test_rates_of_sar_are_growth_already() -> None:
    (made,) = of(
        "counters", {"grp": "atmptf/s", "name": "retrseg/s", "mode": "rate", "value": 4.0},
        {"grp": "active/s", "name": "oseg/s", "mode": "rate", "value": 80.0},
    )  # fmt: skip
    assert made.value == 5.0


@pytest.mark.parametrize(("n", "length"), [(LEAST_SENT, 1), (LEAST_SENT - 1, 0)])
def test_connections_in_packets(n: int, length: int) -> None:
    made = of("tcp_flows", {"n_packets": n - 10, "retransmits": 0}, {"n_packets": 10, "retransmits": 2})
    assert len(made) == length
    assert all((m.value, m.lines[0].line_from) == (2.0, 2) for m in made)


def test_drops_of_interfaces_are_a_rate() -> None:
    eth = {"grp": "iface", "item": "eth0", "name": "RX dropped", "mode": "total"}
    (made,) = of("counters", {**eth, "value": 5.0}, {**eth, "value": 65.0, "delta": 60.0, "interval_s": 30.0})
    assert (made.name, made.value) == ("interface_drops_ps", 2.0)
    (made,) = of("counters", {**eth, "value": 0.0})
    assert made.value == 0.0
    assert of("counters", {**eth, "value": 5.0}) == []
    assert of("counters", {**eth, "value": float("nan")}, {**eth, "value": -1.0}) == []


@pytest.mark.parametrize(
    ("again", "sent", "told"), [(500.0, 10_000.0, True), (499.0, 10_000.0, False), (4_000.0, 9_999.0, False)]
)
def test_a_twentieth_since_the_counters_began_is_no_bad_hour(again: float, sent: float, told: bool) -> None:
    made = of("counters", tcp("data packets retransmitted", again), tcp("packets sent", sent))
    assert [s.name for s in made] == ["sent_again_total_pct"] * told
    assert all([c.line_from for c in s.lines] == [1, 2] for s in made)


@pytest.mark.parametrize(
    ("ordered", "unordered"), [("packets received in-sequence", "out-of-order packets"), ("InSegs", "TCPOFOQueue")]
)
def test_segments_out_of_order_are_a_measure(ordered: str, unordered: str) -> None:
    (made,) = of("counters", tcp(ordered, 4_000.0), tcp(unordered, 20.0))
    assert (made.normal, made.name) == (True, "out_of_order_pct")
    assert made.headline.startswith(f"4,000 segments were received ({ordered}) and 20 came out of order, 0.50 %")
    before = [tcp(ordered, 4_000.0), tcp(unordered, 20.0)]
    (now,) = of("counters", *before, tcp(ordered, 5_000.0), tcp(unordered, 60.0))
    assert not now.normal
    assert of("counters", tcp(ordered, 60.0), tcp(unordered, 20.0)) == [], "few segments say nothing"


def test_an_interface_that_counted_no_error() -> None:
    eth = {"grp": "iface", "item": "eth0", "mode": "total"}
    rows = [
        {**eth, "name": n, "value": v} for n, v in (("rx_packets", 9e5), ("rx_errors", 0.0), ("rx_missed_errors", 0.0))
    ]
    made = [s for s in of("counters", *rows) if s.name == "counters_at_0"]
    assert [s.headline for s in made] == [
        "2 counters of errors and drops of eth0 stand at 0 (rx_errors, rx_missed_errors)"
    ]
    assert [c.line_from for c in made[0].lines] == [2, 3]
    for other in ({"name": "rx_packets", "value": 0.0}, {"name": "rx_errors", "value": 1.0}):
        changed = [{**r, **other} if r["name"] == other["name"] else r for r in rows]
        assert not any(s.name == "counters_at_0" for s in of("counters", *changed))


def test_an_interface_whose_drops_have_no_time_is_not_outvoted_by_one_without_drops() -> None:
    lo, eth = ({"grp": "iface", "item": item, "name": "RX dropped", "mode": "total"} for item in ("lo", "eth0"))
    assert [m.value for m in of("counters", {**lo, "value": 0.0})] == [0.0]
    assert of("counters", {**lo, "value": 0.0}, {**eth, "value": 70_000.0}) == []
