"""Tests of netstat and nstat: lines rebuilt from the columns, and the effect of damage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

NAME = st.sampled_from(
    ["tcpListenDrop", "tcpListenDropQ0", "udpInErrors", "ipv6InReceives", "sctpListenDrop", "tcpMaxConn"]
)


@settings(max_examples=examples(60), deadline=None, database=None)
@given(pairs=st.lists(st.tuples(NAME, st.integers(-1, 2**62), st.booleans()), min_size=1, max_size=9))
def test_pairs_come_out_of_the_columns_again(pairs):
    cells = [f"{n}{' ' * (20 - len(n)) if wide else ''}={'     ' if wide else ''}{v}" for n, v, wide in pairs]
    text = "\n".join("\t" + "  ".join(cells[i : i + 2]) for i in range(0, len(cells), 2))
    rows = parse_bytes(text.encode(), "netstat", "s").tables["counters"]
    assert rows.select("name", "value").rows() == [(n, float(v)) for n, v, _ in pairs]
    assert rows["grp"].to_list() == [n.split("L")[0].split("I")[0].split("M")[0] for n, _, _ in pairs]


@settings(max_examples=examples(60), deadline=None, database=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["segments send out", "fast retransmits"]), st.integers(0, 2**62)),
        min_size=1,
        max_size=6,
    )
)
def test_words_come_out_of_the_columns_again(rows):
    text = "Tcp:\n" + "".join(f"    {v} {n}\n" for n, v in rows)
    got = parse_bytes(text.encode(), "netstat", "s").tables["counters"].select("grp", "name", "value").rows()
    assert got == [("tcp", n, float(v)) for n, v in rows]


def test_headings_and_numbers_inside_and_at_the_end():
    text = """tcp:
\t100 packets sent
\t\t60 data packets (5000 bytes)
\t7 discarded due to listener's queue full
Icmp:
    ICMP input histogram:
        echo requests: 4
    261 ICMP messages sent
TcpExt:
    Quick ack mode was activated 9 times
    TCPLossProbes: 12
"""
    rows = read_bytes(text.encode()).table("counters")
    assert rows.select("grp", "item", "name", "value").rows() == [
        ("tcp", None, "packets sent", 100.0),
        ("tcp", None, "data packets", 60.0),
        ("tcp", None, "data packets bytes", 5000.0),
        ("tcp", None, "discarded due to listener's queue full", 7.0),
        ("icmp", "ICMP input histogram", "echo requests", 4.0),
        ("icmp", None, "ICMP messages sent", 261.0),
        ("tcp", "TcpExt", "Quick ack mode was activated times", 9.0),
        ("tcp", "TcpExt", "TCPLossProbes", 12.0),
    ]


def test_a_counter_that_fell_has_no_difference_and_a_note():
    text = "TCP tcpListenDrop = {}  tcpInSegs = {}\n"
    reading = read_bytes((text.format(5, 4294967290) + text.format(9, 10)).encode())
    rows = reading.table("counters")
    assert rows.select("sample", "name", "delta").rows() == [
        (1, "tcpListenDrop", None),
        (1, "tcpInSegs", None),
        (2, "tcpListenDrop", 4.0),
        (2, "tcpInSegs", None),
    ]
    assert [(n.line_from, n.kind) for n in reading.account.notes] == [(2, "remark")]


def test_the_time_between_two_captures_is_their_interval():
    block = "Mon Dec  2 11:00:{:02d} EST 2013\nTCP tcpListenDrop = {}  tcpInSegs = 1\n"
    rows = read_bytes((block.format(0, 5) + block.format(30, 9)).encode()).table("counters")
    assert rows["interval_s"].to_list() == [None, None, 30.0, 30.0]


def test_nstat_is_a_total_only_where_the_command_says_so():
    text = b"#kernel\nIpInReceives                    3405107            0.0\nTcpExtListenDrops               4                  0.0\n"
    assert read_bytes(text).table("counters")["mode"].to_list() == [None, None]
    assert read_bytes(text, Hints(command="nstat -az")).table("counters")["mode"].to_list() == ["total"] * 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tcp4       0      0  *.22                   *.*                    LISTEN", ("tcp4", "LISTEN", None, 22, None, None)),
        ("tcp6       0      0 ::1:631                 :::*                    LISTEN      -", ("tcp6", "LISTEN", "::1", 631, "::", None)),
        ("tcp        0      0  10.0.0.1.ncube-lm       10.0.0.2.40000          CLOSE_WAIT", ("tcp", "CLOSE_WAIT", "10.0.0.1", 1521, "10.0.0.2", 40000)),
        ("  TCP    10.0.0.1:1521     10.0.0.2:40000     ESTABLISHED     4711", ("tcp", "ESTABLISHED", "10.0.0.1", 1521, "10.0.0.2", 40000)),
    ],
)  # fmt: skip
def test_sockets_of_other_systems(line, expected):
    rows = read_bytes(f"Active Internet connections\n{line}\n{line}\n".encode()).table("sockets")
    assert rows.select("proto", "state", "local_ip", "local_port", "peer_ip", "peer_port").row(0) == expected


def test_a_cut_row_is_no_counter():
    reading = read_bytes(b"Tcp:\n    139 connections established\n    2886370 segments received\n    28903")
    assert len(reading.table("counters")) == 2
    assert reading.account.account.unknown == 1


@settings(max_examples=examples(40), deadline=None, database=None)
@given(
    told=st.dictionaries(
        st.sampled_from(["RetransSegs", "ListenDrops", "TW", "MaxConn"]), st.integers(-1, 2**53), min_size=1
    )
)
def test_names_of_proc_net_come_together_with_their_values(told):
    text = f"TcpExt: {' '.join(told)}\nTcpExt: {' '.join(map(str, told.values()))}\nTcpExt: 1 2 3 4 5 6 7\n"
    rows = parse_bytes(text.encode(), "netstat", "proc").tables["counters"]
    assert rows.select("grp", "name", "value").rows() == [("tcp", f"TcpExt{n}", float(v)) for n, v in told.items()]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tcp        0      0 10.0.0.1:1521   10.0.0.2:40000   ESTABLISHED 4711/tnslsnr", (4711, "tnslsnr")),
        ("tcp        0      0 10.0.0.1:1521   10.0.0.2:40000   ESTABLISHED 4711/sshd: oracle    keepalive (7193.25/0/0)", (4711, "sshd: oracle")),
        ("tcp        0      0 10.0.0.1:1521   10.0.0.2:40000   ESTABLISHED 1000       123456     4711/tnslsnr", (4711, "tnslsnr")),
        ("tcp        0      0 10.0.0.1:1521   10.0.0.2:40000   TIME_WAIT   0          0          -                    timewait (31.10/0/0)", (None, None)),
        ("tcp        0      0 10.0.0.1:1521   10.0.0.2:40000   TIME_WAIT   off (0.00/0/0)", (None, None)),
        ("tcp4       0      0  10.0.0.1.8080         *.*                    LISTEN       131072  131072  4242      0", (4242, None)),
    ],
)  # fmt: skip
def test_what_stands_behind_the_state(line, expected):
    rows = read_bytes(f"Active Internet connections\n{line}\n{line}\n".encode()).table("sockets")
    assert rows.select("pid", "comm").row(0) == expected


def test_numbers_in_brackets_are_counters_of_their_own():
    text = b"tcp:\n\t10 acks (for 2000 bytes)\n\t7 connections closed (including 3 drops)\n\t4 connections established (including accepts)\n"
    rows = read_bytes(text).table("counters")
    assert rows.select("name", "value", "mode").rows() == [
        ("acks", 10.0, "total"),
        ("acks bytes", 2000.0, "total"),
        ("connections closed", 7.0, "total"),
        ("connections closed drops", 3.0, "total"),
        ("connections established (including accepts)", 4.0, "total"),
    ]


WORDS = st.sampled_from(["Active Opens", "Segments Retransmitted", "Datagrams Failing Fragmentation"])


@settings(max_examples=examples(30), deadline=None, database=None)
@given(
    st.dictionaries(WORDS, st.integers(0, 2**53), min_size=1), st.tuples(st.integers(0, 10**9), st.integers(0, 10**9))
)
def test_counters_of_windows(told, both):
    text = "\nTCP Statistics for IPv4\n\n" + "".join(f"  {n:<36}= {v}\n" for n, v in told.items())
    text += f"\nICMPv6 Statistics\n\n                            Received    Sent\n  Time Exceeded             {both[0]:<12}{both[1]}\n"
    rows = parse_bytes(text.encode(), "netstat", "windows_s").tables["counters"]
    expected: list[tuple[str, str | None, str, float]] = [("tcp", "IPv4", n, float(v)) for n, v in told.items()]
    expected += [
        ("icmp6", None, f"{side} Time Exceeded", float(v)) for side, v in zip(("Received", "Sent"), both, strict=True)
    ]
    assert rows.select("grp", "item", "name", "value").rows() == expected
