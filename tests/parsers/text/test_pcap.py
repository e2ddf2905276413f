"""Test captures as lines: every file framing, every damage, no invented packet."""

from __future__ import annotations

import io
import re
import struct
from datetime import datetime, timedelta

import dpkt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.pcap import RECORD_CAP, SIGNATURE, transcribe
from tests.draw import examples
from tests.parsers.text.captures import SERVER, ethernet, pcap, pcapng, snoop, tcp, tns, udp

AT = 1_433_926_800_000_001_234
SYN = tcp(flags="S", seq=17, win=64240, opts=b"\x02\x04\x05\xb4\x01\x03\x03\x07")


def lines(content: bytes) -> list[str]:
    return list(transcribe(io.BytesIO(content)))


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_framing_gives_the_same_lines(order):
    frames = [(AT, SYN), (AT + 5_000_000_000, tcp(flags="P.", seq=18, ack=9, payload=b"x" * 30))]
    micro = [
        "2015-06-10T09:00:00.000001Z tcp 10.1.1.1:40000 > 10.1.1.2:1521 [S] seq=17 ack=0 win=64240 len=0 opts=mss:1460,ws:7",
        "2015-06-10T09:00:05.000001Z tcp 10.1.1.1:40000 > 10.1.1.2:1521 [P.] seq=18 ack=9 win=500 len=30",
    ]
    nano = [line.replace(".000001Z", ".000001234Z") for line in micro]
    assert lines(pcap(frames, order=order)) == micro
    assert lines(pcap(frames, order=order, nano=True)) == nano
    assert lines(pcapng(frames, order=order)) == nano
    assert lines(pcapng(frames, order=order, resolution=6)) == micro
    assert lines(snoop(frames)) == micro


@pytest.mark.parametrize("content", [pcap([(AT, SYN)]), pcapng([(AT, SYN)]), snoop([(AT, SYN)])])
def test_a_signature_is_what_a_capture_begins_with(content):
    assert content.startswith(SIGNATURE)


def test_another_file_is_refused():
    with pytest.raises(ValueError, match="no capture"):
        lines(b"procs memory page")


@pytest.mark.parametrize("make", [pcap, pcapng, snoop])
@settings(max_examples=examples(60), deadline=None, database=None)
@given(data=st.data())
def test_a_cut_keeps_the_packets_before_it(make, data):
    frames = [(AT + i, tcp(seq=i, payload=b"p" * i)) for i in range(5)]
    content = make(frames)
    whole = lines(content)
    assert len(whole) == 5
    cut = data.draw(st.integers(24, len(content) - 1))
    got = lines(content[:cut])
    packets = [x for x in got if not x.startswith("# damaged: ")]
    assert packets == whole[: len(packets)]
    borders = {len(make(frames[:n])) for n in range(6)}
    if cut in borders:
        assert got == packets
    elif cut > min(borders):
        assert got[-1].startswith("# damaged: ")


@settings(max_examples=examples(200), deadline=None, database=None)
@given(data=st.data())
def test_no_damage_crashes_it(data):
    content = bytearray(data.draw(st.sampled_from([pcap, pcapng, snoop]))([(AT, SYN), (AT, tcp(payload=tns(1)))]))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(8, len(content) - 1))] = data.draw(st.integers(0, 255))
    for line in lines(bytes(content)):
        assert "\n" not in line
        assert line.isprintable()


def test_a_record_that_claims_gigabytes_is_damage_and_not_read():
    class Counting(io.BytesIO):
        most = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.most = max(self.most, size or 0)
            return super().read(size)

    stream = Counting(pcap([(AT, SYN)]) + struct.pack("<4I", 1, 1, 2**31, 2**31) + bytes(100))
    got = list(transcribe(stream))
    assert len(got) == 2
    assert got[1].startswith(f"# damaged: a packet claims {2**31} bytes")
    assert stream.most <= RECORD_CAP


def test_the_length_is_that_of_the_payload_sent_not_kept():
    frame = tcp(flags="P.", payload=b"z" * 1400)
    assert re.search(r" len=1400\b", lines(pcap([(AT, frame)], snap=80))[0])


def test_six_vlan_udp_arp_icmp_and_strangers():
    question = bytes(dpkt.dns.DNS(id=1, qd=[dpkt.dns.DNS.Q(name="db1.example", type=1)]))
    ping = dpkt.icmp.ICMP(type=8, data=dpkt.icmp.ICMP.Echo(id=7, seq=2, data=b"abc"))
    arp = dpkt.arp.ARP(op=1, spa=bytes([10, 1, 1, 1]), tpa=bytes([10, 1, 1, 2]))
    frames = [
        tcp("fe80::1", 40000, "fe80::2", 1521, flags="R", vlan=None),
        tcp(vlan=5),
        udp("10.1.1.1", 40001, SERVER, 53, question),
        ethernet("10.1.1.1", SERVER, 1, ping, None),
        bytes(12) + b"\x08\x06" + bytes(arp),
        bytes(12) + b"\x88\xcc" + b"lldp",
        b"short",
    ]
    got = [line.split(" ", 1)[1] for line in lines(pcap((AT, f) for f in frames))]
    assert got == [
        "tcp [fe80::1]:40000 > [fe80::2]:1521 [R] seq=0 ack=0 win=500 len=0",
        "tcp 10.1.1.1:40000 > 10.1.1.2:1521 [.] seq=0 ack=0 win=500 len=0 vlan=5",
        "udp 10.1.1.1:40001 > 10.1.1.2:53 len=29 | DNS A? db1.example",
        "icmp 10.1.1.1 > 10.1.1.2 len=11 | echo request id 7 seq 2",
        "arp 10.1.1.1 > 10.1.1.2 len=28 | who-has 10.1.1.2 tell 10.1.1.1",
        "ether88cc - > - len=18",
        "link1 - > - len=5 | not decoded",
    ]


@pytest.mark.parametrize("link", [12, 101, 228])
def test_frames_without_a_link_header(link):
    assert "tcp 10.1.1.1:40000 > 10.1.1.2:1521" in lines(pcap([(AT, tcp()[14:])], link=link))[0]


def test_linux_any_and_loopback_frames():
    cooked = struct.pack(">HHH8sH", 0, 1, 6, bytes(8), 0x0800) + tcp()[14:]
    assert "tcp 10.1.1.1:40000" in lines(pcap([(AT, cooked)], link=113))[0]
    assert "tcp 10.1.1.1:40000" in lines(pcap([(AT, struct.pack("<I", 2) + tcp()[14:])], link=0))[0]


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (tns(1, b"\x01" * 50 + b"(CONNECT_DATA=(SERVICE_NAME=orcl)(CID=(PROGRAM=sqlplus)(USER=anna)))"), "TNS CONNECT service=orcl program=sqlplus"),
        (tns(4, b"\x22\x00\x00\x20(DESCRIPTION=(ERR=12514))"), "TNS REFUSE err=12514"),
        (tns(6, b"abc"), "TNS DATA"),
        (tns(11), "TNS RESEND"),
        (struct.pack(">IBBH", 12, 6, 0, 0) + b"long", "TNS DATA"),
        (b"GET /a/b?token=s3cret HTTP/1.1\r\n", "HTTP GET /a/b"),
        (b"HTTP/1.1 503 Service Unavailable\r\n", "HTTP 503"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "TLS ClientHello"),
        (b"\x17\x03\x03\x00\x10abcdef", "TLS data"),
    ],
)  # fmt: skip
def test_a_payload_names_its_request_and_no_secret(payload, words):
    assert lines(pcap([(AT, tcp(payload=payload))]))[0].split(" | ")[1] == words


@pytest.mark.parametrize("payload", [b"\x00\x0a\x00\x00\x06\x00\x00\x00xx trailing", b"random words", b"\xff" * 20])
def test_an_unknown_payload_is_not_named(payload):
    assert " | " not in lines(pcap([(AT, tcp(payload=payload))]))[0]


def test_two_interfaces_and_a_second_section_keep_their_own_clocks():
    one = pcapng([(AT, SYN)], resolution=6)
    two = pcapng([(AT, SYN)], order=">", resolution=9)
    assert [x.split()[0] for x in lines(one + two)] == ["2015-06-10T09:00:00.000001Z", "2015-06-10T09:00:00.000001234Z"]


def test_a_simple_packet_has_no_time():
    head = pcapng([])
    body = struct.pack("<I", len(SYN)) + SYN + bytes(-len(SYN) % 4)
    block = struct.pack("<II", 3, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))
    assert lines(head + block)[0].startswith("- tcp 10.1.1.1:40000 > ")


@settings(max_examples=examples(100), deadline=None, database=None)
@given(
    at=st.integers(0, 4_000_000_000 * 10**9),
    seq=st.integers(0, 2**32 - 1),
    ack=st.integers(0, 2**32 - 1),
    win=st.integers(0, 65535),
    flags=st.sets(st.sampled_from("FSRP.UEW")),
    size=st.integers(0, 50),
)
def test_a_line_holds_what_the_packet_held(at, seq, ack, win, flags, size):
    spelled = "".join(f for f in "FSRP.UEW" if f in flags)
    frame = tcp(flags=spelled, seq=seq, ack=ack, win=win, payload=b"\xfe" * size)
    (line,) = lines(pcap([(at, frame)], nano=True))
    when = (datetime(1970, 1, 1) + timedelta(seconds=at // 10**9)).isoformat()
    assert line == (
        f"{when}.{at % 10**9:09d}Z tcp 10.1.1.1:40000 > 10.1.1.2:1521 [{spelled}] seq={seq} ack={ack} win={win} len={size}"
    )
