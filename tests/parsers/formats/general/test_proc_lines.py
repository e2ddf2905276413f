"""Sockets of /proc/net are read with their queues; those of UDP with their drops."""

from __future__ import annotations

from parsers.formats.general.text.proc_lines import counted

UDP6 = (
    "  113: 00000000000000000000000000000000:14E9 00000000000000000000000000000000:0000 07 00000000:00000240 00:00000000 00000000"
    "   115        0 21033 2 ffff8a1c0 42"
)
TCP = "   3: 0A00000A:0016 0200000A:C350 01 00000024:00000000 01:00000017 00000000     0        0 30211 4 ffff9b2 21 4 30 10 -1"


def test_a_socket_of_udp_ends_with_its_drops() -> None:
    assert counted(UDP6) == [
        ("udp sockets", "[::]:5353", "drops", 42.0),
        ("socket queues", "[::]:5353", "received bytes waiting", 576.0),
        ("socket queues", "[::]:5353", "sent bytes waiting", 0.0),
    ]


def test_what_ends_a_socket_of_tcp_are_no_drops() -> None:
    assert [(group, value) for group, _, _, value in counted(TCP)] == [("socket queues", 0.0), ("socket queues", 36.0)]
    assert counted(TCP)[0][1] == "10.0.0.10:22 > 10.0.0.2:50000"


def test_a_cut_line_is_no_socket() -> None:
    assert counted(UDP6[:100]) == []
