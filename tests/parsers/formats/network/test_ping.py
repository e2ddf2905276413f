"""Tests of ping: generated answers are read back from the columns."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

MILLIS = st.decimals(min_value=0, max_value=9999, places=3)


@settings(max_examples=examples(30), deadline=None, database=None)
@given(times=st.lists(MILLIS, min_size=3, max_size=20), stamped=st.booleans())
def test_what_is_printed_comes_out_again(times, stamped):
    lines = [
        (f"[{1598877345 + n}.{n:06}] " if stamped else "")
        + f"64 bytes from db1 (192.0.2.7): icmp_seq={n + 1} ttl=64 time={ms} ms"
        for n, ms in enumerate(times)
    ]
    reading = read_bytes("\n".join(lines).encode())
    rows = reading.table("conn_times")
    assert reading.account.kind == "ping"
    assert rows["elapsed_s"].to_list() == pytest.approx([float(ms) / 1000 for ms in times])
    assert rows["seq"].to_list() == list(range(1, len(times) + 1))
    if stamped:
        assert rows["t_local"].to_list() == pytest.approx([1598877345 + n + n / 1e6 for n in range(len(times))])


@pytest.mark.parametrize(
    ("text", "err"),
    [
        ("Request timeout for icmp_seq 3", "timed out"),
        ("no answer yet for icmp_seq=3", "timed out"),
        ("Request timed out.", "timed out"),
        ("From 192.0.2.1 icmp_seq=3 Destination Host Unreachable", "Destination Host Unreachable"),
        ("Reply from 192.0.2.1: Destination host unreachable.", "Destination host unreachable."),
        ("92 bytes from gw (192.0.2.1): Destination Host Unreachable", "Destination Host Unreachable"),
        ("Délai d’attente de la demande dépassé.", "timed out"),
        ("ping: sendmsg: Network is unreachable", "Network is unreachable"),
        ("db1 : [3], timed out (NaN avg, 100% loss)", "timed out"),
    ],
)
def test_a_printed_failure_is_a_row(text, err):
    reading = read_bytes(text.encode(), Hints(kind="ping"))
    row = reading.table("conn_times").row(0, named=True)
    assert (row["ok"], row["err"], row["elapsed_s"]) == (False, err, None)


def test_fping():
    text = "db1 : [0], 84 bytes, 0.42 ms (0.42 avg, 0% loss)\ndb1 : [1], 84 bytes, 0.40 ms (0.41 avg, 0% loss)\n"
    assert read_bytes(text.encode()).table("conn_times")["elapsed_s"].to_list() == pytest.approx([0.00042, 0.0004])


@pytest.mark.parametrize(
    "line",
    [
        "64 bytes from fe80::1%eth0: icmp_seq=1 ttl=64 time=12 ms",
        "64 bytes from db1 (2001:db8::7): icmp_seq=1 ident=7 ttl=64 time=12.0 ms",
        "64 bytes from 192.0.2.7: seq=0 ttl=64 time=12.000 ms",
        "88 bytes from 2001:db8::7, icmp_seq=0 hlim=59 time=12.0 ms",
        "64 bytes from 192.0.2.7: icmp_seq=0. time=12. ms",
        "Reply from 2001:db8::7: time=12ms",
        "Respuesta desde 192.0.2.7: bytes=32 tiempo=12ms TTL=64",
        "Ответ от 192.0.2.7: число байт=32 время=12мс TTL=64",
        "192.0.2.7 からの応答: バイト数 =32 時間 =12ms TTL=64",
        "[1598877345.12345] db1 : [0], 84 bytes, 12.0 ms (12.0 avg, 0% loss)",
    ],
)
def test_an_answer_in_each_dialect(line):
    row = read_bytes(line.encode(), Hints(kind="ping")).table("conn_times").row(0, named=True)
    assert (row["ok"], row["elapsed_s"]) == (True, pytest.approx(0.012))


@pytest.mark.parametrize(
    "line",
    ["Reply from 192.0.2.69: Destination host unreachable.", "Antwort von 192.0.2.69: Zielhost nicht erreichbar."],
)
def test_a_host_that_is_not_there_is_all_that_windows_says(line):
    reading = read_bytes(f"Pinging 192.0.2.72 with 32 bytes of data:\n{line}\n{line}\n{line}\n".encode())
    assert reading.account.kind == "ping"
    assert reading.table("conn_times")["ok"].to_list() == [False] * 3


ANSWER = "64 bytes from 192.0.2.9: icmp_seq=1 ttl=64 time=0.2 ms\n"


@pytest.mark.parametrize(
    ("head", "end", "told"),
    [
        ("PING db9 (192.0.2.9) 1372(1400) bytes of data.", "10 packets transmitted, 4 received, +2 errors, 60% packet loss, time 9ms", ("db9", 1400, 10, 4)),
        ("PING db9 (192.0.2.9): 56 data bytes", "7 packets transmitted, 7 packets received, 0.0% packet loss", ("db9", 56, 7, 7)),
        ("PING db9: 64 byte packets", "3 packets transmitted, 1 packets received, 66% packet loss", ("db9", 64, 3, 1)),
        ("Pinging db9 [192.0.2.9] with 48 bytes of data:", "    Packets: Sent = 6, Received = 2, Lost = 4 (66% loss),", ("db9", 48, 6, 2)),
        ("PING ::1(::1) 56 data bytes", "5 packets transmitted, 0 received, 100% packet loss, time 4ms", ("::1", 56, 5, 0)),
    ],
)  # fmt: skip
def test_the_size_and_the_count_of_a_run(head, end, told):
    rows = read_bytes(f"{head}\n{ANSWER * 3}\n--- db9 ping statistics ---\n{end}\n".encode()).table("counters")
    values = dict(rows.select("name", "value").iter_rows())
    assert (rows["item"][0], values["packet bytes"], values["transmitted"], values["received"]) == told
    assert rows["line_no"].to_list() == [1, 7, 7]


def test_an_end_without_a_head_counts_nothing_and_a_run_without_an_end_its_size_only():
    end = "3 packets transmitted, 3 received, 0% packet loss, time 2ms\n"
    assert "counters" not in read_bytes(f"{ANSWER * 3}\n{end}".encode()).tables
    open_run = read_bytes(f"PING db9 (192.0.2.9): 56 data bytes\n{ANSWER * 3}".encode())
    assert open_run.table("counters")["name"].to_list() == ["packet bytes"]
    two = f"PING db9 (192.0.2.9): 56 data bytes\n{ANSWER}\n{end}"
    assert read_bytes((two + two).encode()).table("counters")["sample"].to_list() == [1, 1, 1, 2, 2, 2]


def test_the_end_alone_counts_for_the_host_that_it_names():
    end = "    --- db9 ping statistics ---\n    90 packets transmitted, 60 received, 33% packet loss, time 90123ms\n"
    rows = read_bytes(end.encode()).table("counters")
    assert rows.select("item", "name", "value").rows() == [("db9", "transmitted", 90.0), ("db9", "received", 60.0)]


@pytest.mark.parametrize(
    ("line", "least", "mean"),
    [
        ("rtt min/avg/max/mdev = 0.122/212.331/1888.122/408.221 ms", 0.122, 212.331),
        ("rtt min/avg/max/mdev = 0,266/0,5/0,9/0,1 ms", 0.266, 0.5),
        ("round-trip min/avg/max/stddev = 2.784/179.418/885.236/100.006 ms", 2.784, 179.418),
        ("round-trip (ms)  min/avg/max = 231/256/280", 231, 256),
        ("    Minimum = 28ms, Maximum = 577ms, Mittelwert = 257ms", 28, 257),
    ],
)
def test_the_times_below_the_end_of_a_run(line, least, mean):
    ends = "12 packets transmitted, 12 received, 0% packet loss, time 9ms"
    text = f"PING db9 (192.0.2.9) 56(84) bytes of data.\n\n--- db9 ping statistics ---\n{ends}\n{line}\n"
    rows = read_bytes(text.encode()).table("counters")
    values = dict(zip(rows["name"], rows["value"], strict=True))
    assert (values["least"], values["mean"]) == (least, mean)
    assert set(rows.filter(pl.col("name") == "mean")["item"]) == {"db9"}
