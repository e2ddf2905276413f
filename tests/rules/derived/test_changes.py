"""Tests of proposed boundaries and comparisons of phases."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.derived import changes as module
from tests.rules.statistics.test_statistics import A, B, C

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
    assert [r["line_no"] for r in found] == [1, 1]  # both levels begin in a file of their own
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


# --- a change that is taken back --------------------------------------------------------------------------------------

#  before |####    |    A: 0.31 s
#  after-1|##      |    B: 0.13 s, the change
#  after-2|####    |    A again: the change reverted, the time with it
BACK = {**MARKER, "from_phase": "after-1", "to_phase": "after-2", "changed": ["rolled back"], "hypothesis": None}


def reversals(phases, *markers):
    return {pair: row["reversal"] for pair, row in compared(series(phases), [*markers]).items()}


def test_a_reversal_is_recognised():
    found = reversals({"before": A, "after-1": B, "after-2": A}, MARKER, BACK)
    assert found == {("before", "after-1"): True, ("before", "after-2"): False, ("after-1", "after-2"): False}


def test_setting_the_same_thing_again_takes_it_back():
    made = {**MARKER, "changed": ["memory_target off", "restart"]}
    again = {**BACK, "changed": ["memory_target on", "restart"]}
    other = {**BACK, "changed": ["shared_servers 20"]}
    phases = {"before": A, "after-1": B, "after-2": A}
    assert reversals(phases, made, again)["before", "after-1"] is True
    assert reversals(phases, made, other)["before", "after-1"] is False


def test_a_time_that_does_not_go_back_is_no_reversal():
    assert not any(reversals({"before": A, "after-1": B, "after-2": C}, MARKER, BACK).values())
    assert not any(reversals({"before": A, "after-1": B, "after-2": B}, MARKER, BACK).values())
    part_of_the_way = [b + 0.05 for b in B]  # a little more than a quarter of 0.17 s
    assert not any(reversals({"before": A, "after-1": B, "after-2": part_of_the_way}, MARKER, BACK).values())


def test_seven_values_reverse_nothing():
    assert not any(reversals({"before": A, "after-1": B, "after-2": A[:7]}, MARKER, BACK).values())


def test_a_change_that_had_no_effect_cannot_be_reversed():
    assert not any(reversals({"before": A, "after-1": A, "after-2": A}, MARKER, BACK).values())


# --- other series -----------------------------------------------------------------------------------------------------


def host_samples(column="sys", phases=PHASES, scale=100.0, **more):
    return [
        {"artifact_id": 7, "line_no": k + 1, "host": "db1", "phase": p, column: v * scale, **more}
        for k, (p, v) in enumerate((p, v) for p, values in phases.items() for v in values)
    ]


def of(**tables):
    return Case.of_tables(tables).derived("changes").to_dicts()


def test_columns_of_vmstat_are_series_too():
    rows = of(vmstat=host_samples())
    assert {r["metric"] for r in rows} == {"vmstat.sys"}
    assert [(r["at_seq"], r["artifact_id"]) for r in rows if r["proposed"]] == [(21, 7), (41, 7)]
    pair = {(r["from_phase"], r["to_phase"]): r for r in rows if not r["proposed"]}["before", "after-1"]
    assert (pair["n1"], pair["n2"], pair["shift"], pair["host"]) == (21, 20, -17, "db1")


def test_since_boot_samples_are_in_no_series():
    first = {"artifact_id": 7, "line_no": 0, "host": "db1", "phase": "before", "sys": 99.0, "first": True}
    pair = [r for r in of(vmstat=[first, *host_samples()]) if r["to_phase"] == "after-1"]
    assert [r["n1"] for r in pair] == [21]


def test_two_files_are_two_series_for_proposals():
    two = [{**r, "artifact_id": 8 if r["phase"] == "after-2" else 7} for r in host_samples()]
    assert [(r["artifact_id"], r["at_seq"]) for r in of(vmstat=two) if r["proposed"]] == [(7, 21)]


def test_long_phases_are_thinned_and_keep_their_counts():
    long = {"before": [float(i % 7) for i in range(900)], "after-1": [10.0 + i % 7 for i in range(400)]}
    rows = [r for r in of(vmstat=host_samples("r", long, 1.0)) if not r["proposed"]]
    assert [(r["n1"], r["n2"], r["shift"]) for r in rows] == [(900, 400, 10.0)]


def counted(values, name="retransmits", mode="rate", artifact_id=7, **more):
    column = "delta" if mode == "total" else "value"
    return [
        {
            "artifact_id": artifact_id,
            "line_no": k + 1,
            "host": "db1",
            "grp": "tcp",
            "name": name,
            "mode": mode,
            column: v,
        }
        | more
        for k, v in enumerate(values)
    ]


def test_counters_are_series_by_name_and_totals_count_by_what_they_grew():
    rows = of(counters=[*counted([*A, *B]), *counted([*B, *C], "drops", "total", item="net0")])
    assert {(r["metric"], r["series"], r["at_seq"]) for r in rows} == {
        ("counters.tcp.retransmits", None, 21),
        ("counters.tcp.drops", "net0", 20),
    }


def test_a_total_without_differences_and_a_constant_give_nothing():
    assert of(counters=[*counted(A, mode="total", delta=None), *counted([5.0] * 40, "still")]) == []


def test_of_many_counters_those_that_move_most_are_looked_at():
    calm = [r for i in range(60) for r in counted([100 + (k % 2) for k in range(40)], f"calm{i}")]
    moved = counted([1.0 + k % 2 for k in range(20)] + [50.0 + k % 2 for k in range(20)], "zz_moves")
    assert {r["metric"] for r in of(counters=[*calm, *moved])} == {"counters.tcp.zz_moves"}


def test_of_very_long_tables_every_nth_sample_is_taken(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 34)
    rows = [{**r, "sample": i + 1} for i, r in enumerate(host_samples())]
    found = of(vmstat=rows)
    assert [(r["n1"], r["n2"]) for r in found if r["to_phase"] == "after-1"] == [(10, 10)]
    assert [r["at_seq"] for r in found if r["proposed"]] == [20]  # ten values are too few for the strict test
