"""Tests of ss: rows rebuilt from the columns, and the effect of damage."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

HEAD = "Netid State      Recv-Q Send-Q Local Address:Port               Peer Address:Port\n"
ADDRESS = st.sampled_from(["10.0.0.1", "[::1]", "[fe80::2]%eth0", "*", "0.0.0.0"])
ROW = st.tuples(
    st.sampled_from(["tcp", "udp"]),
    st.sampled_from(["ESTAB", "LISTEN", "UNCONN", "CLOSE-WAIT", "SYN-RECV"]),
    st.integers(0, 9999),
    st.integers(0, 9999),
    ADDRESS,
    st.integers(0, 65535),
    ADDRESS,
    st.one_of(st.just("*"), st.integers(0, 65535).map(str)),
)
BARE = {"10.0.0.1": "10.0.0.1", "[::1]": "::1", "[fe80::2]%eth0": "fe80::2", "*": None, "0.0.0.0": "0.0.0.0"}


@settings(max_examples=examples(60), deadline=None, database=None)
@given(rows=st.lists(ROW, min_size=1, max_size=8))
def test_the_tokens_come_out_of_the_columns_again(rows):
    text = HEAD + "".join(f"{n:5} {s:10} {r:<6} {q:<6} {a}:{p}   {b}:{o}\n" for n, s, r, q, a, p, b, o in rows)
    found = parse_bytes(text.encode(), "ss", "linux").tables["sockets"]
    columns = ("proto", "state", "recvq", "sendq", "local_ip", "local_port", "peer_ip", "peer_port")
    assert found.select(columns).rows() == [
        (n, s, r, q, BARE[a], p, BARE[b], None if o == "*" else int(o)) for n, s, r, q, a, p, b, o in rows
    ]


def test_a_detail_belongs_to_the_socket_above_it():
    text = (
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
        "ESTAB 0 0 10.0.0.1:1521 10.0.0.2:40000\n\t cubic rto:204 rtt:0.5/0.25 retrans:0/3\n"
        "ESTAB 0 0 10.0.0.1:1521 10.0.0.3:40001\n\t cubic rto:408 rtt:7/1\n"
    )
    rows = read_bytes(text.encode()).table("counters")
    assert rows.filter(pl.col("name") == "rtt_ms").select("item", "value", "mode").rows() == [
        ("10.0.0.1:1521 > 10.0.0.2:40000", 0.5, "level"),
        ("10.0.0.1:1521 > 10.0.0.3:40001", 7.0, "level"),
    ]
    assert rows.filter(pl.col("name") == "retrans_total").select("value", "mode").rows() == [(3.0, "total")]


def test_retransmissions_of_two_captures_are_compared():
    one = "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 10.0.0.1:1521 10.0.0.2:40000\n\t cubic rto:204 retrans:0/{}\n"
    rows = read_bytes((one.format(3) + one.format(8)).encode()).table("counters")
    assert rows.filter(pl.col("name") == "retrans_total").select("sample", "delta").rows() == [(1, None), (2, 5.0)]


def test_a_detail_without_its_socket_and_a_wrapped_row_are_unknown():
    reading = parse_bytes(b"\t cubic rto:204 rtt:0.5/0.25\nESTAB 0 0\n10.0.0.1:1521 10.0.0.2:4\n", "ss", "linux")
    assert reading.batch.account.unknown == 3
    assert reading.tables.keys() == {"notes"}
