"""Runs of iperf: loss, repeats, intervals without a byte and uneven streams stand out, a rate alone is normal."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.throughput import AGAIN_PCT, SEGMENT, STOOD_SHARE, TIMES, observe
from tests.parsers.formats.evidence import read_bytes

HEAD = "[ ID] Interval           Transfer     Bitrate         Retr\n"


def seen(*lines: str) -> list[Sighting]:
    tables = read_bytes((HEAD + "\n".join(lines) + "\n").encode()).tables
    return list(observe(Case.of_tables({"rows": tables["rows"].to_dicts()})))


def test_lost_datagrams() -> None:
    made = seen(
        "[  3] local 192.0.2.1 port 5001 connected with 192.0.2.2 port 40112",
        "[  3]  0.0- 5.0 sec  19.0 MBytes  31.9 Mbits/sec   0.020 ms  500/14000 (3.6%)",
        "[  3]  0.0-10.0 sec  38.0 MBytes  31.9 Mbits/sec   0.020 ms 7000/28000 (25%)",
    )
    assert [(s.normal, s.headline) for s in made] == [
        (False, "7,000 of 28,000 datagrams were lost: 25 %; 31.9 Mbits/sec arrived"),
        (True, "iperf carried 31.9 Mbits/sec over 10.000 s"),
    ]
    assert [c.line_from for c in made[0].lines] == [4]
    (few, _) = seen("[  3]  0.0-10.0 sec  38.0 MBytes  31.9 Mbits/sec   0.020 ms  280/28000 (1%)")
    assert (few.normal, few.seen) == (True, ())


@pytest.mark.parametrize(("again", "n"), [(int(AGAIN_PCT / 100 * 100 * 2**20 / SEGMENT) + 1, 1), (10, 0), (0, 0)])
def test_segments_sent_again(again: int, n: int) -> None:
    made = seen(
        f"[  5]   0.00-10.00  sec   100 MBytes  83.9 Mbits/sec  {again:>4}             sender",
        "[  5]   0.00-10.04  sec  99.0 MBytes  82.7 Mbits/sec                  receiver",
    )
    assert [s.name for s in made] == ["retransmitted_pct"] * n + ["iperf_bits_per_s"]
    assert made[-1].headline == "iperf carried 82.7 Mbits/sec over 10.040 s"


def test_intervals_without_a_byte() -> None:
    parts = [
        f"[  4]   {n}.00-{n + 1}.00   sec  {'84.8 KBytes   694 Kbits' if n < 1 else '0.00 Bytes  0.00 bits'}/sec    1   1.41 KBytes"
        for n in range(3)
    ]
    whole = "[  4]   0.00-3.00   sec  84.8 KBytes   231 Kbits/sec    4             sender"
    assert [s.headline for s in seen(*parts, whole) if s.kind == "stall"] == [
        "nothing went through in 2 of 3 intervals"
    ]
    assert not [s for s in seen(parts[0], parts[1], whole) if s.kind == "stall"]


@pytest.mark.parametrize(("rate", "n"), [(100 * TIMES, 1), (100 * TIMES - 1, 0)])
def test_uneven_streams(rate: float, n: int) -> None:
    made = seen(
        "[  5]   0.00-10.00  sec   112 MBytes  100 Mbits/sec    0             sender",
        f"[  7]   0.00-10.00  sec   800 MBytes  {rate:g} Mbits/sec    0             sender",
    )
    assert [s.headline for s in made if s.kind == "streams"] == [
        f"stream 5 had 100 Mbits/sec, stream 7 beside it {rate:g} Mbits/sec"
    ] * n


def interval(n: int, size: str, window: str = "") -> str:
    return f"[  5]   {n}.00-{n + 1}.00   sec  {size}/sec{window}"


BYTES, NONE = "9.50 MBytes  79.7 Mbits", "0.00 Bytes  0.00 bits"


@pytest.mark.parametrize(
    ("window", "says"),
    [
        ("    1   1.41 KBytes", "; the sender's window was one segment (1.41 KBytes)"),
        ("    0   92.0 KBytes", ""),
        ("", ""),
    ],
)
def test_a_path_that_stands_for_seconds(window: str, says: str) -> None:
    (stall, *_) = seen(*(interval(n, BYTES if n in (0, 1, 5) else NONE, window) for n in range(6)))
    assert stall.headline == f"nothing went through in 3 of 6 intervals, 3.000 s of them on end{says}"
    assert (stall.seen, stall.share) == (({"event": "path-stood-still"},), STOOD_SHARE)
    assert [line.line_from for line in stall.lines] == [4, 5, 6]


@pytest.mark.parametrize("empty", [(1, 3), (0, 1), (1, 2)])
def test_pauses_and_a_late_begin_are_not_a_path_that_stands(empty: tuple[int, ...]) -> None:
    stalls = [s for s in seen(*(interval(n, NONE if n in empty else BYTES) for n in range(5))) if s.kind == "stall"]
    assert [s.seen for s in stalls] == [({"event": "path-stands-still"},)]
