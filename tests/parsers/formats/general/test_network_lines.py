"""Test that lines of network tools, of logs without a year, of logfmt and of tables of events give rows of logs."""

from __future__ import annotations

import pytest

from parsers.formats.general.text.network_lines import measured
from parsers.formats.general.text.single_lines import COMPLAINT, stamp_of
from parsers.formats.general.text.tables import message_of, severity_of


@pytest.mark.parametrize(
    ("line", "op", "elapsed", "ok"),
    [
        ("DNS request timed out.", "a DNS request", None, False),
        ("    timeout was 2 seconds.", "a DNS request that timed out", 2.0, None),
        (";; Query time: 5003 msec", "the DNS query", 5.003, None),
        ("-- Information acquired via protocol DNS in 7.5512s.", "the look-up by DNS", 7.5512, None),
        ("-- Information acquired via protocol DNS in 1.2ms.", "the look-up by DNS", 0.0012, None),
        ("** server can't find a.b: SERVFAIL", "the look-up of a.b:", None, False),
        ("** server can't find a.b: NXDOMAIN", "the look-up of a.b:", None, None),
        (";; connection timed out; no servers could be reached", "the DNS query", None, False),
        (" 4  wan (10.9.1.1)  181.3 ms  180.2 ms *", "hop 4 wan (10.9.1.1)", 0.1802, None),
        ("  3    12 ms    *   11 ms  10.0.0.1", "hop 3 10.0.0.1", 0.011, None),
    ],
)
def test_a_step_is_measured(line: str, op: str, elapsed: float | None, ok: bool | None) -> None:
    made = measured(line)
    assert made is not None
    assert (made[0].rstrip(":"), made[2], made[3]) == (op.rstrip(":"), ok, line.strip())
    assert made[1] == (None if elapsed is None else pytest.approx(elapsed))


@pytest.mark.parametrize("line", ["timeout was long", " 3  * * *", "1 row in set", ";; flags: qr", "x" * 999, "12 ms"])
def test_other_lines_are_no_step(line: str) -> None:
    assert measured(line) is None


@pytest.mark.parametrize(
    ("line", "clock", "t", "rest"),
    [
        ("I0102 00:00:01.5 1 a.go:3] x", "no-year", 86401.5, "1 a.go:3] x"),
        ("Jan  2 00:00:01 app started", "no-year", 86401.0, "app started"),
        ("[12.5s][info][gc] x", "uptime", 12.5, "[info][gc] x"),
        ("--2024-01-02 03:04:05--  http://a/", "wall-local", 1704164645.0, "http://a/"),
        (
            'level=error ts=2024-01-02T03:04:05Z msg="x"',
            "wall-utc",
            1704164645.0,
            'level=error ts=2024-01-02T03:04:05Z msg="x"',
        ),
    ],
)
def test_a_stamp_may_lack_its_year_or_stand_in_a_field(line: str, clock: str, t: float, rest: str) -> None:
    made = stamp_of(line)
    assert made is not None
    assert (made.clock, made.t, made.rest) == (clock, t, rest)


@pytest.mark.parametrize("line", ["I9902 00:00:01.5 x", "Feb 30 00:00:01 x", "a=1 b=2", "ts=later level=info", "[x] y"])
def test_what_is_no_stamp_is_none(line: str) -> None:
    assert stamp_of(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "* connect to 10.0.0.1 port 443 failed: Connection refused",
        "db1.example.org: resolve call failed: Connection timed out",
        "Connection closed by 10.0.0.1 port 22",
        "Resolving db1... failed: Temporary failure in name resolution.",
        "Error response from daemon: no such container",
        " Main PID: 12 (code=exited, status=1/FAILURE)",
        "      Reason:       OOMKilled",
        "      Exit Code:    137",
        "removable cutoff: 90211, which was 17 XIDs old when operation ended",
        "The connection to the server 10.0.0.1:6443 was refused",
    ],
)
def test_tools_complain_without_a_stamp(line: str) -> None:
    assert COMPLAINT.match(line)


@pytest.mark.parametrize(
    "line",
    [
        "* Connected to db1",
        "status: NOERROR",
        " Main PID: 12 (app)",
        "timeout = 30",
        "Exit Code:  0",
        "removable cutoff: 90211, which was 0 XIDs old when operation ended",
        "Reason: Completed",
    ],
)
def test_other_lines_are_no_complaint(line: str) -> None:
    assert not COMPLAINT.match(line)


def test_an_event_is_a_message_with_its_severity() -> None:
    heading = ["Type", "Reason", "Age", "From", "Message"]
    cells = ["Warning", "Unhealthy", "60s (x22 over 10m)", "kubelet", "Readiness probe failed"]
    assert message_of(heading, cells) == "Unhealthy: Readiness probe failed (x22 over 10m)"
    assert severity_of(heading, cells) == "Warning"
    assert message_of(["NAME", "READY", "STATUS"], ["web", "1/1", "Running"]) is None
    assert message_of(["NAME", "READY", "STATUS"], ["web", "0/1", "CrashLoopBackOff"]) == "web: CrashLoopBackOff"
    assert message_of(["NAME", "STATUS"], ["web", "Exited (0) 3 hours ago"]) is None
