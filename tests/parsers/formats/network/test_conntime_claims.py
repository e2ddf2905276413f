"""Test that a list of counts per duration is not claimed as a list of connection times."""

from __future__ import annotations

import pytest

from tests.parsers.formats.evidence import read_bytes


def test_a_number_of_routines_by_their_time_is_no_time() -> None:
    text = "DPC count (execution time <250 µs):     90210\nDPC count (execution time 250-500 µs):  77\n"
    assert "conn_times" not in read_bytes(text.encode()).tables


def test_a_report_in_microseconds_is_no_list_of_times() -> None:
    text = "Highest measured interrupt to DPC latency (µs):   900.25\nAverage measured interrupt to DPC latency (µs):   4.5\n"
    assert "conn_times" not in read_bytes(text.encode()).tables


def test_places_in_sources_are_no_times() -> None:
    text = "0  0x000000000042f1e8 in runtime.gopark\n   at /go/src/runtime/proc.go:292\n1  0x0000000000406bcd in main.main\n   at ./m.go:33\n"
    assert "conn_times" not in read_bytes(text.encode()).tables


def test_bare_figures_of_speeds_and_sizes_are_no_times() -> None:
    text = "".join(f"fan{n}\nfan speed : {5400 + n}.0\n" for n in range(4))
    assert "conn_times" not in read_bytes(text.encode()).tables
    text = "".join(f"connect : 0.{n}1\n" for n in range(1, 5))
    assert read_bytes(text.encode()).tables["conn_times"].height == 4


def test_the_port_of_a_peer_is_no_time() -> None:
    text = "connect failed: connection refused to rates.acme.example:9071\n" * 3
    made = read_bytes(text.encode()).tables
    assert "conn_times" not in made
    assert made["logs"].height == 3
    text = "connect to rates.acme.example: 71\n" * 3
    assert read_bytes(text.encode()).tables["conn_times"].height == 3


@pytest.mark.parametrize(
    "line",
    [
        "\\\\APP9\\Processor(_Total)\\% Processor Time: 71.2",
        "se.sum_exec_runtime                          :        9033.412331",
        "Duration (in milliseconds): 31022",
    ],
)
def test_a_counter_whose_name_has_a_word_of_time_is_no_connect(line: str) -> None:
    assert "conn_times" not in read_bytes(f"{line}\n{line}\n".encode()).tables
