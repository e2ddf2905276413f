"""Tests that error counters stand out if they grow; a growth that is small beside the traffic is normal."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.still_counters import FEW_PAGES_PS, observe


def seen(*rows: dict[str, Any]) -> list[Sighting]:
    made = [{"line_no": n, "grp": "tcp", "mode": "total", **row} for n, row in enumerate(rows, 1)]
    return list(observe(Case.of_tables({"counters": made})))


def test_two_samples_tell_how_much_it_moved() -> None:
    (made,) = seen({"name": "TcpOddDrops", "value": 10.0}, {"name": "TcpOddDrops", "value": 52.0})
    assert made.headline == "tcp TcpOddDrops went up by 42 between the samples, to 52"
    assert (made.value, made.lines[0].line_from) == (42.0, 2)


def test_a_delta_of_the_tool_counts_with_its_interval() -> None:
    (made,) = seen({"name": "TcpOddDrops", "value": 52.0, "delta": 42.0, "interval_s": 60.0})
    assert "went up by 42 in 1 min 0 s" in made.headline


def test_one_sample_stands_at_a_total() -> None:
    (made,) = seen({"name": "TcpOddDrops", "value": 7.0})
    assert made.headline == "tcp TcpOddDrops stands at 7; one sample does not tell since when"
    assert made.share == 0.1


@pytest.mark.parametrize(("sent", "stands"), [(10_000.0, True), (10_001.0, False)])
def test_a_thousandth_of_the_traffic_is_normal(sent: float, stands: bool) -> None:
    (made,) = seen({"name": "TcpOddDrops", "value": 10.0}, {"name": "OutSegs", "value": sent})
    assert made.normal is not stands
    if made.normal:
        assert made.headline == "tcp TcpOddDrops stands at 10, 0.10 % of the traffic (OutSegs at 10,001)"
        assert [c.line_from for c in made.lines] == [1, 2]


def test_a_small_part_of_the_traffic_is_that_of_its_direction() -> None:
    rows = [("RX packets", 9e6), ("TX packets", 1e5), ("TX oddDrops", 20.0), ("RX something", 5.0)]
    (made,) = seen(*({"grp": "iface", "item": "eth0", "name": n, "value": v} for n, v in rows))
    assert "0.02 % of the traffic (TX packets at 100,000)" in made.headline


@pytest.mark.parametrize(
    ("grp", "name", "taken"),
    [("tcp", "tcpListenDrop", "tcpPassiveOpens"), ("tcpext", "ListenOverflows", "PassiveOpens")],
)
def test_connections_that_were_not_taken_are_a_part_of_those_that_were(grp: str, name: str, taken: str) -> None:
    rows = [{"grp": "tcp", "name": "OutSegs", "value": 1e9}, {"grp": "tcp", "name": taken, "value": 4000.0}]
    made = seen(*rows, {"grp": grp, "name": name, "value": 200.0})
    (told,) = [s for s in made if name in s.headline]
    assert told.headline.endswith("stands at 200; one sample does not tell since when, 5 % of the accepted connections")
    assert (told.share, told.beside) == (0.5, f"accepted connections: {taken} at 4,000")
    (rare,) = [s for s in seen(*rows, {"grp": grp, "name": name, "value": 2.0}) if name in s.headline]
    assert rare.normal
    assert "0.05 % of the accepted connections" in rare.headline


def test_the_traffic_is_told_in_both_directions() -> None:
    (made,) = seen(
        *({"grp": "udp", "name": n, "value": a} for n, a in (("InDatagrams", 70.0), ("OutDatagrams", 20.0), ("OddDrops", 5.0))),
        *({"grp": "udp", "name": n, "value": b} for n, b in (("InDatagrams", 270.0), ("OutDatagrams", 90.0), ("OddDrops", 45.0))),
    )  # fmt: skip
    assert made.headline.endswith("went up by 40 between the samples, to 45, 20 % of the traffic")
    assert made.beside == "traffic meanwhile: InDatagrams by 200 to 270 and OutDatagrams by 70 to 90"
    assert [(c.line_from, c.role) for c in made.lines] == [(6, "counter"), (4, "traffic"), (5, "traffic")]


def test_a_percentage_above_a_hundred_is_not_told() -> None:
    rows = ({"grp": "iface", "name": n, "value": v} for n, v in (("RX packets", 70.0), ("RX oddDrops", 90.0)))
    (made,) = seen(*rows)
    assert made.headline.endswith(", more than the traffic")


@pytest.mark.parametrize(("received", "compared"), [(180.0, True), (181.0, False), (89.0, False)])
def test_most_of_what_ip_received(received: float, compared: bool) -> None:
    ip = {"grp": "ip", "name": "InReceives", "value": received}
    (made,) = seen({"grp": "udp", "name": "OddDrops", "value": 90.0}, ip)
    assert ("50 % of the traffic" in made.headline) is compared
    (sent,) = seen({"grp": "udp", "name": "OutOddDrops", "value": 90.0}, ip)
    assert sent.beside is None, "what was sent is no part of what was received"


@pytest.mark.parametrize(
    "row",
    [
        {"name": "TcpOddDrops", "value": 0.0},
        {"name": "TcpOddSegments", "value": 7.0},  # nothing bad in its name
        {"name": "TcpOddDrops", "value": 7.0, "mode": "level"},
        {"name": "TcpOddDrops", "value": None},
        {"name": "TcpOddDrops", "value": float("nan")},
    ],
)
def test_what_stands_still_or_counts_something_else_is_normal(row: dict[str, Any]) -> None:
    assert seen(row) == []


def test_a_counter_that_did_not_move_is_silent() -> None:
    assert seen({"name": "TcpOddDrops", "value": 7.0}, {"name": "TcpOddDrops", "value": 7.0}) == []


def test_rates_are_told_as_rates() -> None:
    (made,) = seen(*({"name": "oddDrops/s", "value": v, "mode": "rate"} for v in (2.0, 4.0)))
    assert made.headline == "tcp oddDrops/s: 3 per s in the mean of 2 samples, 4 per s at most"
    (made,) = seen(*({"grp": "oddDrops/s", "name": "oddDrops/s", "value": v, "mode": "rate"} for v in (2.0, 4.0)))
    assert made.subject == "oddDrops/s", "sar has no other name for the group"


def test_counters_of_one_group_are_told_together() -> None:
    two = seen(*({"name": f"TcpOddDrops{n}", "value": v * n} for n in (1, 2) for v in (10.0, 52.0)))
    assert {s.joins for s in two} == {"tcp count moved"}
    assert sorted(str(s.short) for s in two) == ["TcpOddDrops1 by 42 to 52", "TcpOddDrops2 by 84 to 104"]


def test_bytes_are_no_part_of_packets() -> None:
    rows = [
        {"grp": "tcp", "name": n, "mode": "total", "value": v}
        for n, v in (("packets sent", 9e5), ("data packets bytes retransmitted", 7e6))
    ]
    (made,) = observe(Case.of_tables({"counters": [{"line_no": n, **r} for n, r in enumerate(rows, 1)]}))
    assert "of the traffic" not in made.headline


def test_a_rate_of_work_is_none_of_time() -> None:
    rows = [
        {"item": f"per {unit}", "name": "oddDrops", "value": 3.0, "mode": "rate"} for unit in ("second", "transaction")
    ]
    (made,) = seen(*rows)
    assert made.headline == "tcp oddDrops: 3 per s"


def test_the_group_is_told_in_words() -> None:
    (made,) = seen({"grp": "load_profile", "item": "per second", "name": "oddDrops", "value": 3.0, "mode": "rate"})
    assert made.headline == "load profile oddDrops: 3 per s"
    assert seen({"grp": "tcp_ext", "name": "odd_drops", "value": 9.0})[0].headline.startswith(
        "tcp ext odd_drops stands"
    )


@pytest.mark.parametrize(
    ("name", "of", "share"),
    [("CRC", 1e6, 0.5), ("CRC", 9e6, None), ("rx_missed_errors", 2e4, 0.5), ("rx_missed_errors", 5e5, 0.01)],
)
def test_what_a_signature_names_outright_decides_from_a_part_of_the_traffic(
    name: str, of: float, share: float | None
) -> None:
    """Check 1 % of packets dropped and 0.01 % of frames damaged: good links have next to none."""
    rows = ((name, 500.0), ("packets received", of))
    made = seen(*({"grp": "iface", "item": "p1", "name": n, "value": v} for n, v in rows))
    assert [s.share for s in made if not s.normal] == ([share] if share else [])


def test_a_handful_of_damaged_frames_is_normal() -> None:
    made = seen(
        *({"grp": "iface", "item": "p1", "name": n, "value": v} for n, v in (("CRC", 9.0), ("packets received", 5e4)))
    )
    assert all(s.normal for s in made)


@pytest.mark.parametrize(("rate", "share"), [(FEW_PAGES_PS, 0.6), (FEW_PAGES_PS - 1, 0.1)])
def test_a_few_pages_that_programs_scan_themselves_weigh_little(rate: float, share: float) -> None:
    made = seen(*({"grp": "sar", "name": "pgscand/s", "mode": "rate", "value": rate} for _ in range(3)))
    assert [s.share for s in made] == [share]


def test_pages_between_two_samples_are_a_rate_too() -> None:
    few, many = (
        seen({"grp": "vmstat", "name": "pgscan_direct", "value": 9e6, "delta": delta, "interval_s": 60.0})[0].share
        for delta in (6_000.0, 600_000.0)
    )
    assert (few, many) == (0.1, 0.6)


@pytest.mark.parametrize(("name", "share"), [("memory.events.oom_kill", 0.5), ("memory.events.max", 0.1)])
def test_a_process_that_a_limit_ended_did_end_whenever_it_was(name: str, share: float) -> None:
    (made,) = seen({"grp": "cgroup", "name": name, "value": 3.0})
    assert made.share == share


def test_packets_that_a_processor_dropped_are_compared_with_those_it_processed() -> None:
    rows = [
        {"grp": "softnet", "item": "CPU9", "name": name, "value": n}
        for name, n in (("processed", 1e6), ("dropped", 2e4))
    ]
    (made,) = seen(*rows)
    assert made.share == 0.5
    assert "2 % of the traffic" in made.headline


def test_a_total_of_delayed_acknowledgements_tells_nothing() -> None:
    """Each connection delays some; their share of the traffic is large on any host."""
    made = seen(
        {"grp": "tcp", "name": "ack-only packets delayed", "value": 900_000.0, "mode": "total"},
        {"grp": "tcp", "name": "packets sent", "value": 4_000_000.0, "mode": "total"},
    )
    assert [s.share for s in made] == [0.1]
