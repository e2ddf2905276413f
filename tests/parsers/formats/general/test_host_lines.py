"""Lines of a host's own accounts without a heading: files of /sys and /proc, threads of nfsd, counters and events of Windows."""

from __future__ import annotations

import pytest

from parsers.formats.general.text.host_lines import event_row, host_counters
from tests.parsers.formats.evidence import read_bytes


def test_totals_of_an_interface_by_their_path() -> None:
    text = b"/sys/class/net/net7/statistics/rx_packets:9000\n/sys/class/net/net7/statistics/rx_missed_errors:71\n"
    rows = read_bytes(text).table("counters")
    assert rows.select("grp", "item", "name", "value", "mode").rows() == [
        ("iface", "net7", "rx_packets", 9000.0, "total"),
        ("iface", "net7", "rx_missed_errors", 71.0, "total"),
    ]


def test_three_numbers_are_times_of_a_process_only_below_their_command() -> None:
    named = read_bytes(b"$ cat /proc/91/schedstat\n9000 81000 70\n").table("counters")
    assert named.select("item", "name", "value").rows() == [
        ("91", "time running", 9000.0),
        ("91", "time waiting", 81000.0),
    ]
    assert "counters" not in read_bytes(b"$ cat numbers\n9000 81000 70\n").tables


def test_threads_of_the_file_server_and_counters_of_windows_with_their_value() -> None:
    text = (
        "rc 0 90 900\nth 16 70000 9.100 4.200 0.000 0.000 0.000 0.000 0.000 0.000 0.000 71.200\n"
        "\\\\APP9\\Memory\\Available MBytes: 70\n\\\\app9\\physicaldisk(_total)\\avg. disk sec/read :\n   0.219033120331\n"
    )
    rows = read_bytes(text.encode()).table("counters").select("name", "value").rows()
    assert ("times all nfsd threads were busy", 70000.0) in rows
    assert ("\\\\APP9\\Memory\\Available MBytes", 70.0) in rows
    assert ("\\\\app9\\physicaldisk(_total)\\avg. disk sec/read", 0.219033120331) in rows


@pytest.mark.parametrize(
    ("line", "severity", "code", "program"),
    [
        ("Warning 9/8/2031 7:00:01 AM  stor9 129   Reset to shelf 7 was issued.", "Warning", "129", "stor9"),
        ("9/8/2031 7:00:01 AM  Error  30977  No answer came from the server.", "Error", "30977", None),
        ("2031-09-08 07:00:01 30977 Error          No answer came from the server.", "Error", "30977", None),
    ],
)
def test_a_row_of_an_event_list_in_any_order(line: str, severity: str, code: str, program: str | None) -> None:
    found = event_row(line)
    assert found is not None
    assert (found["severity"], found["code"], found["program"]) == (severity, code, program)


@pytest.mark.parametrize(
    "line", ["th 1 is full", "/srv/data:71", "9/8/2031 7:00:01 AM the Error came late", "\\new\\line: none"]
)
def test_other_lines_are_none_of_these(line: str) -> None:
    assert host_counters(line, None) == []
    assert event_row(line) is None


def test_pressure_below_a_heading_belongs_to_the_resource_that_it_names() -> None:
    text = (
        "E Manager: ----- Output from /proc/pressure/io -----\n"
        "E Manager: some avg10=88.20 avg60=71.12 avg300=40.10 total=217319\n"
        "E Manager: ----- End output from /proc/pressure/io -----\n"
        "E Manager: some avg10=1.20 avg60=1.12 avg300=1.10 total=217\n"
    )
    rows = read_bytes(text.encode()).table("counters").filter(name="some.avg10")
    assert rows.select("item", "value").rows() == [("io", 88.2)]


def test_smoothed_times_of_a_file_server() -> None:
    text = b"/data7 from nas7:/vol7\n Lookups: srtt=91 (227ms), dev=9 (90ms), cur=7 (140ms)\n Reads:   srtt=310 (775ms), dev=9 (90ms), cur=7 (140ms)\n"
    rows = read_bytes(text).table("counters")
    assert rows.select("name", "value").rows() == [("nfs lookups srtt ms", 227.0), ("nfs reads srtt ms", 775.0)]
