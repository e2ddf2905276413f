"""Tests of series, profiles, queues and counters of two sides, on published cases, by the functions that pages call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from incidents.drawing import series
from incidents.drawing.frames import Frame
from incidents.drawing.series import Side
from incidents.work import comparisons
from rules.case.case import Case
from rules.case.reading import open_paths
from rules.engine.read import ReadOnly
from rules.judging.evaluate import evaluate

named: Any = series.named  # every name here is one
CASES = Path(__file__).parents[2] / "cases"
BEFORE, AFTER = (Side(f"phase:{name}", name, phase=name) for name in ("before", "after-1"))


@pytest.fixture(scope="module")
def listener(tmp_path_factory):
    """Return source and report of published incident 000, judged."""
    folder = tmp_path_factory.mktemp("listener")
    spec, _ = open_paths([CASES / "000"], CASES / "000" / "case.yaml", folder / "read")
    report = evaluate(spec, cache=folder / "cache").as_json()
    with ReadOnly(spec, comparisons.tables(), folder / "cache") as source:
        yield source, report


@pytest.fixture(scope="module")
def connects(tmp_path_factory):
    folder = tmp_path_factory.mktemp("connects")
    spec, _ = open_paths([CASES / "001"], CASES / "001" / "case.yaml", folder / "read")
    case = Case(spec, folder / "cache")
    for name in ("changes", "predictions"):
        case.derived(name)
    with ReadOnly(spec, comparisons.tables(), folder / "cache") as source:
        yield source


def test_the_profile_of_seed000_to_the_digit(listener):
    source, _ = listener
    found = comparisons.profile(BEFORE, AFTER, source)
    assert (found["first_s"], found["second_s"], found["cycles"]) == (0.2962, 0.2012, (1, 1))
    rows = {row["call"]: row for row in found["changes"]}
    told = {
        name: (rows[name]["first"]["n"], rows[name]["first"]["seconds"], rows[name]["second"]["n"], rows[name]["second"]["seconds"])
        for name in ("read", "waitid", "fork1", "lwp_sigmask", "lseek")
    }  # fmt: skip
    assert told == {
        "read": (4, 0.1995, 4, 0.0959),
        "waitid": (1, 0.0542, 1, 0.0547),
        "fork1": (1, 0.0300, 1, 0.0358),
        "lwp_sigmask": (1, 0.0055, 1, 0.0051),
        "lseek": (1, 0.0024, 1, 0.0024),
    }
    assert (rows["fork1"]["first"]["cpu_s"], rows["fork1"]["second"]["cpu_s"]) == (0.0299, 0.0357)
    others = [sum(row[side]["seconds"] for name, row in rows.items() if name not in told) for side in ("first", "second")]  # fmt: skip
    assert others == pytest.approx([0.0046, 0.0073], abs=1e-9)
    # The largest difference stands first, and leads to its lines.
    assert (found["changes"][0]["call"], found["changes"][0]["difference"]) == ("read", -0.1036)
    assert found["changes"][0]["first"]["line_from"] < found["changes"][0]["first"]["line_to"]
    served = found["served"]
    assert [(s["cycle_s"], s["child_s"], round(s["capacity_ps"], 2)) for s in served] == [
        (0.2962, 0.2806, 3.38),
        (0.2012, 0.1832, 4.97),
    ]
    assert [round(100 * s["child_s"] / s["cycle_s"], 1) for s in served] == [94.7, 91.1]


def test_the_queue_of_seed000(listener):
    source, report = listener
    (queue,) = comparisons.queues(BEFORE, AFTER, source, report)
    words = " ".join(queue.step.words)
    for figure in ("13.2 callers", "0.930 with 3.14", "0.964 with 3.25", "0.345 s (M/M/1)", "0.191 s (M/D/1)", "roughly 11 to 20 times"):  # fmt: skip
        assert figure in words
    assert "not a forecast" in words
    assert round(queue.step.in_queue, 1) == 12.3
    assert any("27 %" in text for text in queue.against)


def test_two_artifacts_are_sides_too(listener):
    source, _ = listener
    sides = [Side(f"artifact:{n}", f"artifact {n}", artifact=n) for n in (2, 5)]
    assert comparisons.profile(sides[0], sides[1], source)["first_s"] == 0.2962
    reads = series.values("call:read", sides[0], source)
    assert reads.n == len(reads.values) >= 4
    assert max(reads.values) == pytest.approx(0.1298)
    assert series.values("cycle", sides[1], source).values == [0.2012]


def test_a_profile_needs_calls_on_both_sides(listener):
    source, _ = listener
    nobody = Side("artifact:4", "nsswitch", artifact=4)
    assert comparisons.profile(BEFORE, nobody, source) is None


def test_one_value_a_side_is_no_comparison(listener):
    source, report = listener
    found = comparisons.measured(named("cycle"), BEFORE, AFTER, source)
    assert (found["verdict"], found["title"], found["of"]) == ("single", "One value is no sample", [1, 1])
    assert found["p"] is None
    assert "one value says nothing" in found["words"][0]
    assert comparisons.caveats(BEFORE, AFTER, report, found)


def test_the_connects_of_seed001(connects):
    found = comparisons.measured(named("connects"), BEFORE, AFTER, connects)
    assert found["headline"].startswith("Two populations; before: 19 around 0.3 s and 2 around 3.875 s")
    assert [round(v, 2) for v in (found["shift"], found["shift_lo"], found["shift_hi"])] == [-0.17, -0.19, -0.15]
    assert [len(dots) for dots in found["dots"]] == [21, 20]
    place, value, artifact, line = found["dots"][0][0]
    assert (place, value) == (0, 0.31)
    assert connects.case.at(artifact, line).phase == "before"


def test_the_mechanism_of_seed001_in_words(connects):
    first, second = comparisons.mechanism(connects)
    assert "60.3 a minute would be expected [44.7, 124]; 60 were reported" in first
    assert "66.6 a minute would be expected [48" in second
    assert "155]; 100 were reported. 0.30 s an item more were gained than connect time explains" in second


def test_many_values_are_thinned_by_a_fixed_rule_and_counted(connects):
    everything = series.values("connects", BEFORE, connects)
    few = series.values("connects", BEFORE, connects, most=8)
    assert (few.n, few.thinned, everything.thinned) == (21, True, False)
    assert 0 < len(few.values) < 21
    assert few.values == series.values("connects", BEFORE, connects, most=8).values
    assert few.quantiles == everything.quantiles


def test_series_are_offered_with_their_phases(connects):
    offered = {one.name: one for one in series.offers(connects)}
    assert offered["connects"].phases == ("after-1", "after-2", "before")
    assert offered["call:shmat"].phases == ("before",)


@pytest.mark.parametrize("name", ["", "x", "vmstat", "vmstat.nothing", "call", "counters", "connects:a|b", "cpu", "iostat.busy_pct:a|b"])  # fmt: skip
def test_names_of_no_series(name):
    assert named(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *"connects|connects:logon'; drop|vmstat.r|iostat.busy_pct:sd0|call:read|cycle".split("|"),
        *("counters:tcp||retransmits", "call:read|8197", "wait:peer|nsprecv"),
    ],
)
def test_names_of_series_ask_without_harm(name, connects):
    assert named(name) is not None
    assert series.values(name, BEFORE, connects, host="no'host").values == []


def test_a_stretch_of_time_takes_the_rows_inside(listener):
    source, report = listener
    from incidents.drawing.frames import frames_of

    frame = next(f for f in frames_of(report) if f.clocks[0]["artifact"] == 2)
    whole = Side("range", "all of it", frame=frame, start=frame.t0, end=frame.t1)
    part = Side("range", "a part", frame=frame, start=1.7, end=frame.t1)
    n = series.values("call:read", whole, source).n
    assert n == series.values("call:read", Side("artifact:2", "2", artifact=2), source).n
    assert 0 < series.values("call:read", part, source).n < n
    found = comparisons.profile(Side("range", "begin", frame=frame, start=frame.t0, end=1.7), part, source)
    assert found["cycles"] is None
    assert found["changes"]
    # Rows without a place on a clock are left out.
    assert series.values("connects", whole, source).values == []
    ordered = Frame("order", frame.clocks, 0, 10)
    assert series.values("call:read", Side("range", "o", frame=ordered, start=0, end=5), source).values == []


def test_a_border_within_a_list_and_between_two(connects):
    case = connects.case
    (number,) = [a.id for a in case.spec.artifacts if "sga" in a.file]
    first = case.stretches[[s.artifact for s in case.stretches].index(number)]
    inside = comparisons.cut_at(case, number, first.line_from + 4)
    assert [(p.line_from, p.line_to) for p in inside.pieces] == [
        (first.line_from, first.line_from + 3),
        (first.line_from + 4, first.line_to),
    ]
    assert (inside.first, inside.second, inside.there_already) == ("after-1", "after-3", False)
    between = comparisons.cut_at(case, number, first.line_from)
    assert (between.first, between.second, between.there_already) == ("before", "after-1", True)
    assert comparisons.cut_at(case, number, 10**6) is None
    assert comparisons.cut_at(case, 1, 1) is None


VMSTAT = """ kthr      memory            page            disk          faults      cpu
 r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 s3   in   sy   cs us sy id
"""


def test_counters_side_by_side(tmp_path):
    for name, run in (("before", 9), ("after", 2)):
        rows = "".join(f" {run + k % 3} 0 0 90000 {5000 + k} 0 5 0 0 0 0 0 0 0 0 0 400 900 300 10 20 70\n" for k in range(12))  # fmt: skip
        (tmp_path / f"{name}.txt").write_text(VMSTAT + rows)
    (tmp_path / "case.yaml").write_text(
        "hosts: {db1: {os: solaris}}\nartifacts:\n  - {file: before.txt, host: db1, phase: before}\n  - {file: after.txt, host: db1, phase: after-1}\n"
    )
    spec, _ = open_paths([tmp_path / "before.txt", tmp_path / "after.txt"], tmp_path / "case.yaml", tmp_path / "read")
    with ReadOnly(spec, comparisons.tables()) as source:
        found = comparisons.counters(BEFORE, AFTER, series.offers(source), source)
        assert found[0]["name"] == "vmstat.r"
        first, second = found[0]["sides"]
        assert (first["p50"], first["max"], second["p50"], second["n"]) == (10.0, 11.0, 3.0, 11)
        made = comparisons.measured(named("vmstat.r"), BEFORE, AFTER, source)
        assert (made["verdict"], made["title"]) == ("lower", "Lower")
        opinion = comparisons.second_opinion(named("vmstat.r"), ["before", "after-1"], source)
        assert [(row["at"], row["before"], row["phase"]) for row in opinion if row["taken"]] == [
            (11, "before", "after-1")
        ]


def test_what_is_kept_is_made_once_and_not_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(comparisons, "MOST_KEPT", 3)
    kept = comparisons.Kept(tmp_path, "state")
    made = []

    def make():
        made.append(1)
        return {"n": len(made)}

    assert [kept.ask(make, "a", 1) for _ in range(2)] == [{"n": 1}] * 2
    assert comparisons.Kept(tmp_path, "another state").get("a", 1) is None
    for k in range(6):
        kept.ask(lambda: k, "b", k)  # noqa: B023  # called at once
    assert len(list(tmp_path.glob("*.json"))) == 3
    kept.path("b", 5).write_text("{half")
    assert kept.ask(lambda: "anew", "b", 5) == "anew"
