"""Tests of tshark -T fields: generated tables of fields, and tables that must not be read as such."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

NAMES = [
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.flags",
    "tcp.seq",
    "tcp.ack",
    "tcp.len",
]
PORT = st.integers(1, 65535)
ROWS = st.lists(
    st.tuples(PORT, PORT, st.sampled_from([0x02, 0x12, 0x10, 0x18, 0x14]), st.integers(0, 2**31)),
    min_size=1,
    max_size=6,
)
FLAGS = {0x02: "S", 0x12: "S.", 0x10: ".", 0x18: "P.", 0x14: "R."}


@pytest.mark.parametrize("sign", ["\t", ",", ";", "|"])
@settings(max_examples=examples(15), deadline=None, database=None)
@given(rows=ROWS)
def test_fields_come_out_of_the_columns_again(sign, rows):
    lines = [sign.join(NAMES)]
    for n, (sport, dport, flags, seq) in enumerate(rows):
        cells = [f"1795328872.{n:09}", "10.0.0.1", "10.0.0.2", sport, dport, f"0x{flags:04x}", seq, 7, 0]
        lines.append(sign.join(map(str, cells)))
    got = parse_bytes("\n".join(lines).encode(), "packets", "tshark_fields").tables["packets"]
    acks = [None if flags == 0x02 else 7 for _, _, flags, _ in rows]
    assert got.select("sport", "dport", "flags", "seq", "ack").rows() == [
        (sport, dport, FLAGS[flags], seq, ack) for (sport, dport, flags, seq), ack in zip(rows, acks, strict=True)
    ]


def test_quoted_cells_ipv6_udp_and_packets_that_are_neither():
    text = (
        '"frame.time","ip.src","ipv6.src","ip.dst","ipv6.dst","udp.srcport","udp.dstport","udp.length","_ws.col.Protocol"\n'
        '"2024-04-07T01:15:13.081514186Z","10.0.0.1","","10.0.0.2","","40000","53","40","DNS"\n'
        '"2024-04-07T01:15:14.000000000Z","","fe80::1","","ff02::1","","","","ICMPv6"\n'
    )
    reading = read_bytes(text.encode())
    assert reading.account.kind == "packets"
    rows = reading.table("packets").select("t_local", "proto", "src", "sport", "dport", "len").rows()
    assert rows == [
        (pytest.approx(4513.081514186), "udp", "10.0.0.1", 40000, 53, 32),
        (4514.0, "icmp6", "fe80::1", None, None, None),
    ]


def test_lines_whose_last_cells_are_empty_are_whole_but_for_the_last():
    text = "ip.src\tip.dst\ttcp.srcport\ttcp.dstport\n10.0.0.1\t10.0.0.2\n10.0.0.1\t10.0.0.2\t1\t2\n10.0.0.1\t10.0.\n"
    reading = read_bytes(text.encode())
    assert reading.table("packets").select("dst", "dport").rows() == [("10.0.0.2", None), ("10.0.0.2", 2)]
    assert reading.account.account.unknown == 1


@pytest.mark.parametrize("head", ["a.b,c.d,e.f", "java.lang,java.util,com.example", "app.name\tapp.version"])
def test_names_with_dots_are_no_fields(head):
    assert read_bytes(f"{head}\n1,2,3\n4,5,6\n".encode()).account.kind != "packets"
