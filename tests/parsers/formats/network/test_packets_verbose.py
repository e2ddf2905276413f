"""Tests of packets in full: generated packets, printed layer by layer as each tool does, are read back."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

IP = st.tuples(*(st.integers(1, 254) for _ in range(4))).map(lambda x: ".".join(map(str, x)))
PORT, WORD = st.integers(1, 65535), st.integers(0, 2**32 - 1)
LETTERS = {"F": "FIN", "S": "SYN", "R": "RST", "P": "PSH", ".": "ACK", "U": "URG"}
TCP = st.fixed_dictionaries(
    {
        "src": IP,
        "dst": IP,
        "sport": PORT,
        "dport": PORT,
        "seq": st.integers(10**8, 2**32 - 1),
        "ack": WORD,
        "flags": st.sets(st.sampled_from("FSRP.U")).map(lambda x: "".join(c for c in LETTERS if c in x)),
        "win": st.integers(0, 65535),
        "len": st.integers(0, 1460),
        "at": st.integers(0, 86_399_999_999),
    }
)


def clock(microseconds: int, *, padded: bool = True) -> str:
    seconds, rest = divmod(microseconds, 10**6)
    h, m, s = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{h:02}:{m:02}:{s:02}.{rest:06}" if padded else f"{h}:{m:02}:{s}.{rest // 10:05}"


def snoop(p: dict) -> str:
    bits = sum(1 << "FSRP.U".index(c) for c in p["flags"])
    return f"""ETHER:  ----- Ether Header -----
ETHER:
ETHER:  Packet 1 arrived at {clock(p["at"], padded=False)}
ETHER:  Packet size = {p["len"] + 54} bytes
IP:   ----- IP Header -----
IP:   Header length = 20 bytes
IP:   Flags = 0x4
IP:   Total length = {p["len"] + 40} bytes
IP:   Protocol = 6 (TCP)
IP:   Source address = {p["src"]}, somebody
IP:   Destination address = {p["dst"]}, {p["dst"]}
TCP:  ----- TCP Header -----
TCP:  Source port = {p["sport"]}
TCP:  Destination port = {p["dport"]} (HTTP)
TCP:  Sequence number = {p["seq"]}
TCP:  Acknowledgement number = {p["ack"]}
TCP:  Data offset = 20 bytes
TCP:  Flags = 0x{bits:02x}
TCP:  Window = {p["win"]}

"""


def tshark(p: dict) -> str:
    words = ", ".join(LETTERS[c] for c in p["flags"]) or "<None>"
    day = 86400 * 20000
    return f"""Frame 1: Packet, {p["len"] + 54} bytes on wire ({p["len"] * 8} bits), 54 bytes captured (432 bits)
    Epoch Arrival Time: {day + p["at"] // 10**6}.{p["at"] % 10**6:06}000
    [Protocols in frame: eth:ethertype:ip:tcp]
Internet Protocol Version 4, Src: {p["src"]}, Dst: named.example.com ({p["dst"]})
    Flags: 0x2, Don't fragment
Transmission Control Protocol, Src Port: {p["sport"]}, Dst Port: http ({p["dport"]}), Seq: 1, Ack: 1, Len: {p["len"]}
    Sequence Number: 1    (relative sequence number)
    Sequence Number (raw): {p["seq"]}
    Acknowledgment number (raw): {p["ack"]}
    Flags: 0x0ff ({words})
    Window: {p["win"]}
    [Calculated window size: 99999]

"""


def ipreport(p: dict) -> str:
    words = " | ".join({"PSH": "PUSH"}.get(LETTERS[c], LETTERS[c]) for c in p["flags"])
    return f"""====( {p["len"] + 54} bytes received on interface en0 )==== {clock(p["at"])}
ETHERNET packet : [ b4:14:89:de:14:41 -> fa:09:6a:20:34:0a ]  type 800  (IP)
IP header breakdown:
        < SRC = {p["src"]:>15} >
        < DST = {p["dst"]:>15} >  (somebody)
        ip_v=4, ip_hl=20, ip_tos=0, ip_len={p["len"] + 40}, ip_id=28382, ip_off=0 DF
        ip_ttl=125, ip_sum=4a1c, ip_p = 6 (TCP)
TCP header breakdown:
        <source port={p["sport"]}, destination port={p["dport"]}(somewhat) >
        th_seq={p["seq"]}, th_ack={p["ack"]}
        th_off=5, flags<{words}>
        th_win={p["win"]}, th_sum=3ff7, th_urp=0

"""


@pytest.mark.parametrize(("write", "step"), [(snoop, 10), (tshark, 1), (ipreport, 1)])
@settings(max_examples=examples(20), deadline=None)
@given(packets=st.lists(TCP, min_size=1, max_size=5))
def test_a_packet_comes_back_whole(write, step, packets):
    packets = sorted(packets, key=lambda p: p["at"])
    rows = read_bytes("".join(map(write, packets)).encode()).table("packets")
    names = ["src", "sport", "dst", "dport", "flags", "seq", "ack", "len", "win"]
    told = [{**p, "ack": p["ack"] if "." in p["flags"] else None} for p in packets]
    assert rows.select(names).to_dicts() == [{n: p[n] for n in names} for p in told]
    assert (rows["t_local"] * 10**6).round().cast(pl.Int64).to_list() == [p["at"] // step * step for p in packets]
    assert set(rows["proto"]) == {"tcp"}


def test_sequence_numbers_of_ipreport_that_may_be_either_are_left_out():
    packet = {
        "src": "192.0.2.7", "dst": "192.0.2.20", "sport": 4257, "dport": 25, "flags": ".", "win": 1, "len": 0, "at": 0,
    }  # fmt: skip
    ways = {"12345678": None, "b6bfbc02": 0xB6BFBC02, "00000012": 18}
    texts = [ipreport({**packet, "seq": way, "ack": 0}) for way in ways]
    reading = read_bytes("".join(texts).encode())
    # The second number can only be hexadecimal, so the third is read as such; the first came before the radix was known.
    assert reading.table("packets")["seq"].to_list() == list(ways.values())
    assert reading.table("packets")["ack"].to_list() == [0, 0, 0]
    assert [n.line_from for n in reading.account.notes if "decimal or hexadecimal" in n.text] == [1]


def test_what_an_error_quotes_is_not_the_packet():
    quoted = snoop({"src": "192.0.2.9", "dst": "192.0.2.8", "sport": 1, "dport": 2, "flags": "S", "seq": 5, "ack": 0, "win": 1, "len": 0, "at": 0})  # fmt: skip
    head, _, rest = quoted.partition("TCP:  -----")
    error = head + "ICMP:  ----- ICMP Header -----\nICMP:  Type = 3 (Destination unreachable)\n"
    reading = read_bytes((error + head.partition("IP:   -----")[2] + "TCP:  -----" + rest).encode())
    (row,) = reading.table("packets").to_dicts()
    assert (row["proto"], row["sport"], row["flags"], row["payload"]) == ("icmp", None, None, "Destination unreachable")


def test_a_packet_whose_title_is_lost_is_a_packet():
    two = [
        snoop({"src": "192.0.2.9", "dst": "192.0.2.8", "sport": 1, "dport": 2, "flags": "S", "seq": 5, "ack": 0, "win": 1, "len": 0, "at": n})
        for n in (0, 10)
    ]  # fmt: skip
    reading = read_bytes((two[0] + two[1].partition("ETHER:\n")[2]).encode())
    assert reading.table("packets")["line_no"].to_list() == [1, 21]
