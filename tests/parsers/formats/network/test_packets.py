"""Tests of packets: facts of connections, and lines of the tools rebuilt from the columns."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.network.packets.tcp_flows import OPEN_CAP, Flows
from parsers.text.pcap import transcribe
from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import Reading, parse_bytes, read_bytes, same_tables
from tests.parsers.text.captures import CLIENT, SERVER, pcap, pcapng, tcp, tns

S = 10**9
AT = 1_433_926_800 * S


def capture(*steps: tuple[float, str, dict]) -> bytes:
    """Return a capture of one connection from packets of seconds, sender, and the other arguments of `tcp`."""
    ends: dict[str, dict[str, Any]] = {
        "c": {"src": CLIENT, "sport": 40000, "dst": SERVER, "dport": 1521},
        "s": {"src": SERVER, "sport": 1521, "dst": CLIENT, "dport": 40000},
    }
    return pcapng([(AT + round(t * S), tcp(**ends[who], **rest)) for t, who, rest in steps])


def flow_of(*steps: tuple[float, str, dict]) -> dict:
    reading = read_bytes(capture(*steps))
    assert reading.error is None
    assert len(reading.table("packets")) == len(steps)
    return reading.table("tcp_flows").row(0, named=True)


SHAKE = [
    (0.0, "c", {"flags": "S", "seq": 99}),
    (0.040, "s", {"flags": "S.", "seq": 499, "ack": 100}),
    (0.0401, "c", {"flags": ".", "seq": 100, "ack": 500}),
]


def test_a_capture_is_read_as_a_file():
    reading = read_bytes(capture(*SHAKE, (0.05, "c", {"flags": "P.", "seq": 100, "payload": tns(1)})), name="x.pcap")
    assert (reading.account.kind, reading.account.parts[0].variant) == ("packets", "pcap")
    assert reading.table("packets")["payload"].to_list() == [None, None, None, "TNS CONNECT"]
    assert reading.table("packets")["t_local"].to_list() == [32400.0, 32400.04, 32400.0401, 32400.05]
    (domain,) = reading.account.parts[0].domains
    assert (domain.kind, domain.base, domain.zone) == ("wall-utc", "2015-06-10T00:00:00", "UTC")


def test_nanoseconds_survive():
    frames = [(AT + 1, tcp()), (AT + 2, tcp())]
    t = read_bytes(pcap(frames, nano=True)).table("packets")["t_local"]
    assert round((t[1] - t[0]) * 1e9, 1) == 1.0 or abs(t[1] - t[0] - 1e-9) < 1e-11


def test_the_handshake_is_one_round_trip_and_tells_the_side():
    flow = flow_of(*SHAKE)
    assert flow["handshake_rtt_s"] == pytest.approx(0.0401)
    assert (flow["src"], flow["dport"], flow["capture_side"], flow["complete"]) == (CLIENT, 1521, "client", False)
    server = [SHAKE[0], (0.0001, *SHAKE[1][1:]), (0.0401, *SHAKE[2][1:])]
    assert flow_of(*server)["capture_side"] == "server"
    between = [SHAKE[0], (0.02, *SHAKE[1][1:]), (0.0401, *SHAKE[2][1:])]
    assert flow_of(*between)["capture_side"] == "between"
    rack = [SHAKE[0], (0.0001, *SHAKE[1][1:]), (0.0002, *SHAKE[2][1:])]
    assert flow_of(*rack)["capture_side"] == "unknown"


def test_a_syn_that_is_sent_again_is_counted_and_not_part_of_the_round_trip():
    flow = flow_of(*SHAKE[:1], (1.0, *SHAKE[0][1:]), (1.04, *SHAKE[1][1:]), (1.0401, *SHAKE[2][1:]))
    assert flow["syn_retransmits"] == 1
    assert flow["retransmits"] == 0
    assert flow["handshake_rtt_s"] == pytest.approx(0.0401)


def test_a_segment_sent_again_is_told_from_one_overtaken_and_from_a_probe():
    def sent(t: float, seq: int, size: int) -> tuple[float, str, dict]:
        return (t, "c", {"flags": "P.", "seq": seq, "payload": b"\xfe" * size})

    assert flow_of(*SHAKE, sent(1.0, 100, 50), sent(1.3, 100, 50))["retransmits"] == 1
    assert flow_of(*SHAKE, sent(1.0, 150, 50), sent(1.001, 100, 50))["retransmits"] == 0
    assert flow_of(*SHAKE, sent(1.0, 150, 50), sent(1.3, 100, 50))["retransmits"] == 1
    assert flow_of(*SHAKE, sent(1.0, 100, 50), sent(9.0, 149, 1))["retransmits"] == 0
    assert flow_of(*SHAKE, sent(1.0, 2**32 - 20, 50), sent(2.0, 30, 50))["retransmits"] == 0
    assert flow_of(*SHAKE, sent(1.0, 2**32 - 20, 50), sent(2.0, 2**32 - 20, 50))["retransmits"] == 1


def test_a_shut_window_is_timed_until_it_opens_or_the_capture_ends():
    shut = (1.0, "s", {"ack": 150, "win": 0})
    assert flow_of(*SHAKE, shut, (1.2, "s", {"ack": 150, "win": 0}), (1.5, "s", {"ack": 150}))[
        "zero_window_s"
    ] == pytest.approx(0.5)
    assert flow_of(*SHAKE, shut, (3.0, "c", {"seq": 150}))["zero_window_s"] == pytest.approx(2.0)
    assert flow_of(*SHAKE, (1.0, "s", {"flags": "R", "win": 0}), (3.0, "c", {}))["zero_window_s"] == 0.0


def test_request_to_first_byte_counts_from_the_first_sending_of_the_last_request_byte():
    request = (1.0, "c", {"flags": "P.", "seq": 100, "payload": b"q" * 10})
    again = (1.3, "c", {"flags": "P.", "seq": 100, "payload": b"q" * 10})
    answer = (3.5, "s", {"flags": "P.", "seq": 500, "payload": b"a"})
    assert flow_of(*SHAKE, request, again, answer)["request_to_first_byte_s"] == pytest.approx(2.5)
    assert flow_of(*SHAKE, answer)["request_to_first_byte_s"] is None


def test_a_connection_is_complete_with_both_ends_or_a_reset():
    fin = {"flags": "F."}
    assert flow_of(*SHAKE, (1.0, "c", fin))["complete"] is False
    assert flow_of(*SHAKE, (1.0, "c", fin), (1.1, "s", fin))["complete"] is True
    assert flow_of(*SHAKE, (1.0, "s", {"flags": "R."}))["complete"] is True
    assert flow_of((0.0, "c", fin), (1.0, "s", fin))["complete"] is False


def test_a_port_used_again_is_another_connection():
    steps: list[tuple[float, str, dict]] = [
        *SHAKE,
        (1.0, "s", {"flags": "R."}),
        (2.0, "c", {"flags": "S", "seq": 777}),
        (2.1, "c", {"flags": "S", "seq": 777}),
    ]
    flows = read_bytes(capture(*steps)).table("tcp_flows")
    assert flows.select("n_packets", "syn_retransmits").rows() == [(4, 0), (2, 1)]
    assert flows.select("line_no", "line_end").rows() == [(1, 4), (5, 6)]


def test_who_opened_a_connection_without_a_syn_is_said_to_be_a_guess():
    reading = read_bytes(capture((0.0, "s", {"payload": b"a"}), (0.1, "c", {})))
    assert reading.table("tcp_flows").select("src", "dport").rows() == [(CLIENT, 1521)]
    assert any("began before the capture" in n.text for n in reading.account.notes)


def test_connections_over_run_borders_are_one():
    steps = [(float(i), "cs"[i % 2], {"flags": "P.", "seq": i // 2, "payload": b"\xfe"}) for i in range(400)]
    content = "\n".join(transcribe(io.BytesIO(capture(*SHAKE, *((t + 1, w, r) for t, w, r in steps))))).encode()
    one = read_bytes(content)
    many = read_bytes(content, Hints(), Limits(run_bytes=len(content) // 7))
    assert same_tables({"f": one.table("tcp_flows")}, {"f": many.table("tcp_flows")})
    assert one.table("tcp_flows")["n_packets"].to_list() == [403]


def test_the_connections_that_are_carried_are_bounded():
    flows = Flows({})
    count = OPEN_CAP + 10
    flows.add(
        pl.DataFrame(
            {
                "line_no": range(1, count + 1),
                "line_end": range(1, count + 1),
                "t_local": [float(i) for i in range(count)],
                "src": [CLIENT] * count,
                "sport": range(count),
                "dst": [SERVER] * count,
                "dport": [1521] * count,
                "flags": ["S"] * count,
                "seq": [1] * count,
                "len": [0] * count,
                "win": [1] * count,
            }
        )
    )
    early, *_ = flows.take(False)
    rest, *_ = flows.take(True)
    assert len(early) > 0
    assert len(early) + len(rest) == count
    assert early["line_no"].to_list() == list(range(1, len(early) + 1))


FLAGS = ["S", "S.", ".", "P.", "F.", "FP.", "R", "R."]
PACKET = st.tuples(
    st.integers(0, 86_399_999_999),
    st.tuples(*[st.integers(1, 254)] * 4),
    st.integers(1, 65535),
    st.integers(1, 65535),
    st.sampled_from(FLAGS),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 65535),
    st.integers(0, 1460),
)


def tcpdump_line(p) -> str:
    at, ip, sport, dport, flags, seq, ack, win, size = p
    clock = f"{at // 3600_000_000:02d}:{at // 60_000_000 % 60:02d}:{at // 1_000_000 % 60:02d}.{at % 1_000_000:06d}"
    acked = f" ack {ack}," if "." in flags else ""
    span = f"{seq}:{seq + size}" if size else f"{seq}"
    src = ".".join(map(str, ip))
    return f"{clock} IP {src}.{sport} > 10.9.9.9.{dport}: Flags [{flags}], seq {span},{acked} win {win}, length {size}"


def snoop_line(p) -> str:
    at, ip, sport, dport, flags, seq, ack, win, size = p
    clock = f"{at // 3600_000_000}:{at // 60_000_000 % 60:02d}:{at // 1_000_000 % 60:02d}.{at % 1_000_000:06d}"
    names = "".join({"F": " Fin", "S": " Syn", "R": " Rst", "P": " Push", ".": ""}[f] for f in flags)
    acked = f" Ack={ack}" if "." in flags else ""
    src = ".".join(map(str, ip))
    return f"  1 {clock}  {src} -> 10.9.9.9     TCP D={dport} S={sport}{names}{acked} Seq={seq} Len={size} Win={win}"


@pytest.mark.parametrize("write", [tcpdump_line, snoop_line])
@settings(max_examples=examples(40), deadline=None, database=None)
@given(packets=st.lists(PACKET, min_size=1, max_size=8))
def test_the_tokens_come_out_of_the_columns_again(write, packets):
    run = parse_bytes("\n".join(map(write, packets)).encode(), "packets", "text")
    rows = run.tables["packets"]
    got = rows.select("src", "sport", "dport", "flags", "seq", "ack", "win", "len").rows()
    assert got == [
        (".".join(map(str, ip)), s, d, flags, seq, ack if "." in flags else None, win, size)
        for _, ip, s, d, flags, seq, ack, win, size in packets
    ]
    first = packets[0][0] / 1e6
    if first:
        assert rows["t_local"][0] == pytest.approx(first, abs=1e-5)
    days = rows["t_local"] // 86400
    assert (days.diff().drop_nulls() >= 0).all() or (rows["t_local"].diff().drop_nulls() > -43200).all()


def text(content: str, **hints: Any) -> Reading:
    return read_bytes(content.encode(), Hints(kind="packets", variant="text", **hints))


def test_midnight_is_a_new_day_and_a_step_back_is_not():
    line = "{} IP 10.0.0.1.1 > 10.0.0.2.2: UDP, length 3\n"
    times = ["23:59:59.900000", "00:00:00.100000", "00:00:00.050000", "00:00:01.000000"]
    reading = text("".join(line.format(t) for t in times), date="2015-06-10", tz="Europe/Warsaw")
    assert reading.table("packets")["t_local"].to_list() == [86399.9, 86400.1, 86400.05, 86401.0]
    (domain,) = reading.account.parts[0].domains
    assert (domain.kind, domain.base, domain.zone) == ("wall-local", "2015-06-10T00:00:00", "Europe/Warsaw")


def test_stamps_from_zero_are_judged_by_the_command_the_twenty_first_or_the_default():
    line = "  {} {:.5f} a -> b TCP D=1 S=2 Syn Seq=1 Len=0 Win=1\n"
    few = "".join(line.format(i, i * 0.1) for i in range(4))
    many = "".join(line.format(i, i * 0.1) for i in range(30))
    assert text(few).table("packets")["t_local"][-1] == pytest.approx(0.6)
    assert text(few, command="snoop -t r -i x").table("packets")["t_local"][-1] == pytest.approx(0.3)
    assert text(many).table("packets")["t_local"][-1] == pytest.approx(2.9)
    assert any("since the packet before" in n.text for n in text(few).account.notes)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1433926800.000001 IP6 fe80::1.40000 > fe80::2.1521: Flags [S], seq 7, win 1, length 0", ("tcp", "fe80::1", 40000, "fe80::2", 1521, 0)),
        ("09:00:00.000001 eth0  In  IP 10.0.0.1.1 > 10.0.0.2.2: UDP, length 64", ("udp", "10.0.0.1", 1, "10.0.0.2", 2, 64)),
        ("09:00:00.000001 IP 10.0.0.1.5 > 10.0.0.2.6: tcp 12", ("tcp", "10.0.0.1", 5, "10.0.0.2", 6, 12)),
        ("09:00:00.000001 00:11:22:33:44:55 > 66:77:88:99:aa:bb, ethertype 802.1Q (0x8100), length 78: "
            "vlan 5, p 0, ethertype IPv4 (0x0800), 10.0.0.1.5 > 10.0.0.2.6: Flags [.], ack 3, win 9, length 0", ("tcp", "10.0.0.1", 5, "10.0.0.2", 6, 0)),
        ("09:00:00.000001 IP 10.0.0.1 > 10.0.0.2: ICMP 10.0.0.2 udp port 33 unreachable, length 36", ("icmp", "10.0.0.1", None, "10.0.0.2", None, 36)),
        ("09:00:00.000001 arp who-has 10.0.0.2 tell 10.0.0.1", ("arp", "10.0.0.1", None, "10.0.0.2", None, None)),
    ],
)  # fmt: skip
def test_forms_of_tcpdump(line, expected):
    reading = read_bytes(f"{line}\n".encode() * 2)
    assert reading.account.kind == "packets"
    assert reading.table("packets").select("proto", "src", "sport", "dst", "dport", "len").row(0) == expected
    assert reading.account.account.unknown == 0


@pytest.mark.parametrize("block_bytes", [150, 400, 1_000_000])
def test_a_packet_of_snoop_v_counts_once_wherever_its_layers_are_cut(block_bytes):
    path = Path(__file__).parents[3] / "corpus" / "packets" / "derived-snoop-V-layers-cut.txt"
    hints, limits = Hints(kind="packets", variant="text"), Limits(block_bytes=block_bytes, run_bytes=2 * block_bytes)
    rows = read_bytes(path.read_bytes(), hints, limits).table("packets")
    assert rows["t_local"].to_list() == pytest.approx([0, 0.00041, 0.0005, 0.0015, 0.5015, 0.7015, 0.8015])
    assert rows["sport"].to_list() == [41612, 1521, 41612, 41612, 1521, None, None]


def test_an_address_of_snoop_is_no_port():
    text = "  1   0.00000 a -> b IP  D=10.1.1.2 S=10.1.1.1 LEN=60, ID=4711, TOS=0x0, TTL=64\n"
    text += "  2   0.00100 a -> b TCP D=1521 S=40000 Syn Seq=1000 Len=0 Win=49640\n"
    rows = read_bytes(text.encode(), Hints(kind="packets", variant="text")).table("packets")
    assert rows.select("proto", "sport", "dport").rows() == [("ip", None, None), ("tcp", 40000, 1521)]


A, B = "00:16:3e:00:00:01", "00:16:3e:00:00:02"
ASKED = "Request who-has 10.1.1.2 tell 10.1.1.1, length 28"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{A} > ff:ff:ff:ff:ff:ff, ethertype ARP (0x0806), length 42: {ASKED}", ("10.1.1.1", "10.1.1.2", None)),
        (
            f"{A} > ff:ff:ff:ff:ff:ff, ethertype 802.1Q (0x8100), length 64: vlan 7, p 0, ethertype ARP (0x0806), Ethernet (len 6), IPv4 (len 4), {ASKED}",
            ("10.1.1.1", "10.1.1.2", 7),
        ),
        (
            f"{B} > {A}, ethertype ARP (0x0806), length 42: Reply 10.1.1.2 is-at {B}, length 28",
            ("10.1.1.2", None, None),
        ),
        (
            "ARP, Ethernet (len 6), IPv4 (len 4), Request who-has db1 tell 10.1.1.1, length 28",
            ("10.1.1.1", "db1", None),
        ),
    ],
)
def test_arp_of_tcpdump_with_e_and_v(line, expected):
    rows = read_bytes(f"09:15:05.001000 {line}\n09:15:06.001000 {line}\n".encode()).table("packets")
    assert rows.select("src", "dst", "vlan").row(0) == expected
    assert set(rows["proto"]) == {"arp"}


def test_snoop_counts_the_head_of_udp_and_knows_icmp6():
    text = b"  1   0.00000   client -> db1   UDP D=53 S=40000 LEN=8\n  2   0.10000  fe80::1 -> ff02::1   ICMPv6 Neighbor solicitation\n"
    rows = read_bytes(text).table("packets")
    assert rows.select("proto", "len").rows() == [("udp", 0), ("icmp6", None)]


def test_an_indented_copy_of_tcpdump_v_keeps_its_stamps():
    lines = [
        line
        for n in range(4)
        for line in (
            f"11:51:3{n}.656705 IP (tos 0x0, ttl 64, id 5979{n}, offset 0, flags [DF], proto TCP (6), length 52)",
            "    10.0.0.1.39274 > 10.0.0.2.80: Flags [S], cksum 0xe849 (correct), seq 2295512834, win 43690, length 0",
        )
    ]
    plain, indented = (read_bytes("\n".join(front + x for x in lines).encode()) for front in ("", "    "))
    assert indented.table("packets")["t_local"].to_list() == plain.table("packets")["t_local"].to_list() != [None] * 4


@pytest.mark.parametrize(
    ("line", "mss"),
    [
        ("09:00:00.000001 IP 10.0.0.1.5 > 10.0.0.2.6: Flags [S], seq 7, win 64, options [mss 8960,nop,wscale 2], length 0", 8960),
        ("09:00:00.000001 IP 10.0.0.1.5 > 10.0.0.2.6: S 7:7(0) win 64 <nop,mss 536>", 536),
        ("09:00:00.000001 IP 10.0.0.1.5 > 10.0.0.2.6: Flags [.], ack 3, win 9, length 0", None),
        ("  1   0.00000 10.0.0.1 -> 10.0.0.2 TCP D=6 S=5 Syn Seq=7 Len=0 Win=64 Options=<mss 1380,nop>", 1380),
        ("    1   0.000000     10.0.0.1 → 10.0.0.2     TCP 66 5 → 6 [SYN] Seq=0 Win=64 Len=0 MSS=1220 WS=4", 1220),
        ("2015-06-10T09:00:00.000001Z tcp 10.0.0.1:5 > 10.0.0.2:6 [S] seq=17 ack=0 win=64 len=0 opts=mss:1400,ws:7", 1400),
    ],
)  # fmt: skip
def test_the_announced_size_of_segments(line, mss):
    reading = read_bytes(f"{line}\n".encode() * 2)
    assert reading.account.kind == "packets"
    assert reading.table("packets")["mss"].to_list() == [mss] * 2


@pytest.mark.parametrize(
    ("rest", "payload"),
    [
        ("[bad udp cksum 0x0a1b -> 0x2c3d!] UDP, length 9", "wrong checksum: bad udp cksum 0x0a1b -> 0x2c3d!"),
        ("Flags [.], cksum 0xfe28 (incorrect -> 0x1c2a), ack 3, win 9, length 0", "wrong checksum: cksum 0xfe28 (incorrect -> 0x1c2a)"),
        ("[no cksum] UDP, length 9", "no checksum: no cksum"),
        ("[udp sum ok] UDP, length 9", None),
        ("Flags [.], cksum 0xfe28 (correct), ack 3, win 9, length 0", None),
    ],
)  # fmt: skip
def test_what_tcpdump_says_of_checksums(rest, payload):
    reading = read_bytes(f"09:00:00.000001 IP 10.0.0.1.5 > 10.0.0.2.6: {rest}\n".encode() * 2)
    assert reading.table("packets")["payload"].to_list() == [payload] * 2


def test_a_packet_of_which_only_the_first_bytes_were_kept_is_one():
    line = (
        "10:00:00.5 IP truncated-ip - 1200 bytes missing! alpha.8443 > beta.50000:"
        " Flags [.], seq 1:1401, ack 9, win 500, length 1400\n"
    )
    made = read_bytes(line.encode()).table("packets").row(0, named=True)
    assert (made["src"], made["dport"], made["seq"], made["len"]) == ("alpha", 50000, 1, 1400)
