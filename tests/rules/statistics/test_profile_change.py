"""Tests of pairing the profiles of two sides by process role and call."""

from __future__ import annotations

from rules.statistics.profile_change import compare


def row(name, dur_s, process="listener", pid=1, n=1, artifact_id=1, line_no=1, cpu_s=None):
    place = {"artifact_id": artifact_id, "line_no": line_no, "line_end": line_no + 1}
    return {"process": process, "pid": pid, "name": name, "n": n, "dur_s": dur_s, "cpu_s": cpu_s, **place}


def test_the_largest_difference_comes_first_and_all_adds_up():
    found = compare(
        [row("read", 0.2, n=4), row("fork", 0.03)], [row("read", 0.1, n=4, pid=9), row("write", 0.01, pid=9)]
    )
    assert [(c.call, c.difference) for c in found.changes] == [("read", -0.1), ("fork", -0.03), ("write", 0.01)]
    assert (found.first_s, found.second_s, found.difference) == (0.23, 0.11, -0.12)
    assert found.processes == {"listener": ((1,), (9,))}
    assert found.changes[2].first.artifact is None


def test_cycles_are_averaged():
    found = compare([row("read", 0.2), row("read", 0.4, line_no=9)], [row("read", 0.1)], (2, 1))
    (read,) = found.changes
    assert (read.first.n, read.first.seconds, read.second.seconds) == (1.0, 0.30000000000000004, 0.1)
    assert (read.first.line_from, read.first.line_to) == (1, 10)


def test_a_link_leads_into_the_artifact_with_more_seconds_and_cpu_is_kept():
    found = compare([row("read", 0.2, cpu_s=0.1), row("read", 0.4, artifact_id=2, line_no=5)], [])
    part = found.changes[0].first
    assert (part.artifact, part.line_from, part.line_to, part.cpu_s) == (2, 5, 6, 0.1)
    assert found.second_s == 0


def test_a_call_without_a_name_says_so():
    assert compare([row(None, 0.1)], []).changes[0].call == "call with a lost name"
