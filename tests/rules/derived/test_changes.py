"""Proposed boundaries and comparisons of phases as rows."""

from __future__ import annotations

import pytest

from rules.case import Case
from tests.rules.test_statistics import A, B, C

PHASES = {"before": A, "after-1": B, "after-2": C}
MARKER = {
    "kind": "change",
    "changed": ["parameters", "40 to 18 GB", "restart"],
    "from_phase": "before",
    "to_phase": "after-1",
    "hypothesis": "H-OS-SHM",
}


def series(phases=PHASES, **more):
    return [
        {"artifact_id": i + 1, "line_no": k + 1, "seq": k + 1, "elapsed_s": v, "phase": p, "host": "app1", **more}
        for i, (p, values) in enumerate(phases.items())
        for k, v in enumerate(values)
    ]


def changes(rows, markers=()):
    return Case.of_tables({"conn_times": rows, "markers": list(markers)}).derived("changes").to_dicts()


def compared(rows, markers=()):
    return {(r["from_phase"], r["to_phase"]): r for r in changes(rows, markers) if not r["proposed"]}


def test_changes_seed001():
    found = [r for r in changes(series()) if r["proposed"]]
    assert [(r["at_seq"], r["artifact_id"]) for r in found] == [(21, 2), (41, 3)]
    assert {(r["from_phase"], r["shift"], r["n1"]) for r in found} == {(None, None, None)}


def test_every_earlier_phase_with_every_later_one():
    found = compared(series(), [MARKER])
    assert set(found) == {("before", "after-1"), ("before", "after-2"), ("after-1", "after-2")}
    row = found["before", "after-1"]
    assert (row["n_changes"], row["hypothesis"], row["n1"], row["n2"], row["tail1"], row["tail2"], row["n_needed"]) == (
        3,
        "H-OS-SHM",
        21,
        20,
        2,
        0,
        30,
    )
    assert (row["shift"], row["ci_lo"], row["ci_hi"], row["cliff"]) == (-0.17, -0.19, -0.15, -1)
    assert row["before_mean"] == pytest.approx(0.6438, abs=5e-5)
    assert row["p_zero"] == pytest.approx(0.135, abs=5e-4)


def test_changes_nobody_named_are_unknown_not_none():
    assert compared(series())["before", "after-1"]["n_changes"] is None
    assert compared(series(), [MARKER])["after-1", "after-2"]["n_changes"] is None


def test_a_span_of_two_markers_counts_both():
    second = {
        **MARKER,
        "from_phase": "after-1",
        "to_phase": "after-2",
        "changed": ["shared server"],
        "hypothesis": "H-CONN-CHURN",
    }
    row = compared(series(), [MARKER, second])["before", "after-2"]
    assert (row["n_changes"], row["hypothesis"]) == (4, None)


def test_a_bare_instant_counts_between_two_phases_only():
    bare = {"kind": "change", "changed": ["patch"]}
    two = {p: PHASES[p] for p in ("before", "after-1")}
    assert compared(series(two), [bare])["before", "after-1"]["n_changes"] == 1
    assert compared(series(), [bare])["before", "after-1"]["n_changes"] is None


def test_a_start_marker_changes_nothing():
    assert compared(series(), [{**MARKER, "kind": "start"}])["before", "after-1"]["n_changes"] is None


def test_phases_of_other_names_follow_their_marker():
    rows = series({"night": B, "day": A})
    assert set(compared(rows)) == {("night", "day")}
    assert set(compared(rows, [{**MARKER, "from_phase": "day", "to_phase": "night"}])) == {("day", "night")}


def test_failed_connects_are_no_times():
    failed = {
        "artifact_id": 1,
        "line_no": 99,
        "seq": 99,
        "elapsed_s": 60.0,
        "ok": False,
        "phase": "before",
        "host": "app1",
    }
    assert compared([*series(), failed])["before", "after-1"]["n1"] == 21


def test_series_of_one_name_are_compared_apart_and_labels_pooled():
    both = [*series(series="connect"), *series({"before": [5.0] * 8, "after-1": [5.0] * 8}, series="ping")]
    found = [(r["series"], r["from_phase"], r["n1"]) for r in changes(both) if not r["proposed"]]
    assert sorted(found) == [
        ("connect", "after-1", 20),
        ("connect", "before", 21),
        ("connect", "before", 21),
        ("ping", "before", 8),
    ]
    labels = [{**r, "series": f"list {r['artifact_id']}"} for r in series()]
    assert {r["series"] for r in changes(labels)} == {None}


def test_hosts_are_never_mixed():
    other = [{**r, "host": "app2"} for r in series({"after-1": B})]
    found = [r for r in changes([*series({"before": A}), *other]) if not r["proposed"]]
    assert found == []


def test_no_times_no_rows():
    assert changes([]) == []
