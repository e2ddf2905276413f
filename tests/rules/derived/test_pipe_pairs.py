"""Tests of messages between traced processes."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from tests.rules import traces


def pairs(rows):
    return Case.of_tables({"syscalls": rows}).derived("pipe_pairs").to_dicts()


def test_pipe_pairs_seed001():
    (found,) = pairs(traces.truss("001", *traces.TRUSS_001))
    assert (found["writer_pid"], found["reader_pid"]) == (3731, 22626)
    assert (found["line_fork"], found["line_write"], found["line_read"]) == (78, 82, 83)
    assert found["latency_s"] == pytest.approx(0.0003, abs=1e-9)
    assert found["spawn_s"] == pytest.approx(3.3326, abs=1e-9)
    assert "3731" in found["token"]


def test_pipe_pairs_seed000():
    found = pairs(traces.truss("000", *traces.BEFORE_000))
    # Hello, second and third answer of the new process; only the first marks a start.
    assert [(r["line_write"], r["line_read"]) for r in found] == [(128, 83), (213, 89), (217, 90)]
    assert [r["latency_s"] for r in found] == pytest.approx([0.0001, 0.0, 0.0], abs=1e-9)
    assert found[0]["spawn_s"] == pytest.approx(1.7063 - 1.5798)
    assert [r["spawn_s"] for r in found[1:]] == [None, None]


def io(line, pid, t, name, data, **more):
    row = {
        "line_no": line,
        "pid": pid,
        "t_local": t,
        "name": name,
        "data": data,
        "bytes": len(data),
        "stamp": "end",
        "clock": "c",
    }
    return {**row, **more}


def test_no_pair_across_clocks_or_within_a_process():
    assert pairs([io(1, 5, 1.0, "write", "NTP0 5"), io(2, 6, 1.1, "read", "NTP0 5", clock="d")]) == []
    assert pairs([io(1, 5, 1.0, "write", "NTP0 5"), io(2, 5, 1.1, "read", "NTP0 5")]) == []


def test_a_payload_that_everybody_writes_pairs_nobody():
    # 200 writers a second of the same four bytes: the next one is 5 ms away, a match within 4 ms is an accident
    rows = [io(i, 5, i * 0.005, "write", "ping") for i in range(1, 200)]
    assert pairs([*rows, io(300, 6, 0.5 + 0.004, "read", "ping")]) == []
    assert len(pairs([rows[0], io(300, 6, 0.009, "read", "ping"), io(301, 7, 1.0, "read", "other")])) == 1


def test_a_reader_that_did_not_fork_the_writer_has_no_start():
    (found,) = pairs([io(1, 5, 1.0, "write", "NTP0 5"), io(2, 6, 1.1, "read", "NTP0 5")])
    assert (found["spawn_s"], found["line_fork"]) == (None, None)


def test_a_read_long_before_its_write_is_another_message():
    assert pairs([io(1, 6, 1.0, "read", "NTP0 5"), io(2, 5, 1.1, "write", "NTP0 5")]) == []


def test_a_process_that_reads_what_it_wrote_hides_nobody():
    # 5 writes and reads its own file; 6 reads the same payload from 7, which nobody else writes.
    own = [io(1, 5, 1.0, "write", "word"), io(2, 5, 1.1, "read", "word")]
    (found,) = pairs([*own, io(3, 7, 2.0, "write", "other"), io(4, 6, 2.1, "read", "other")])
    assert (found["line_write"], found["line_read"]) == (3, 4)
    assert len(pairs([*own, io(3, 6, 1.2, "read", "word")])) == 1
