"""Tests of profiles: the published ones, and that the parts always add up to the whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.case.case import Case
from rules.walking import threads
from tests.draw import examples
from tests.rules import traces


def profile(rows):
    return Case.of_tables({"syscalls": rows}).derived("call_profile").to_dicts()


@pytest.mark.parametrize(
    ("ranges", "total", "expected"),
    [
        (
            traces.BEFORE_000,
            0.2962,
            {
                "read": (4, 0.1995),
                "waitid": (1, 0.0542),
                "fork1": (1, 0.0300),
                "lwp_sigmask": (1, 0.0055),
                "lseek": (1, 0.0024),
            },
        ),
        (
            traces.AFTER_000,
            0.2012,
            {
                "read": (4, 0.0959),
                "waitid": (1, 0.0547),
                "fork1": (1, 0.0358),
                "lwp_sigmask": (1, 0.0051),
                "lseek": (1, 0.0024),
            },
        ),
    ],
)
def test_profile_sums(ranges, total, expected):
    found = [r for r in profile(traces.truss("000", *ranges)) if r["cycle"] == 1]
    assert sum(r["dur_s"] for r in found) == pytest.approx(total, abs=1e-12)
    assert sum(r["share"] for r in found) == pytest.approx(1, abs=1e-12)
    calls = {r["name"]: (r["n"], r["dur_s"]) for r in found}
    assert {k: calls[k] for k in expected} == expected
    assert calls.keys().isdisjoint({"not traced", "user"})


def test_batches_of_processes_give_the_profile_of_the_whole(monkeypatch):
    rows = traces.truss("000", *traces.BEFORE_000)
    whole = profile(rows)
    monkeypatch.setattr(threads.batches, "__defaults__", (None, 10, None))
    parted = profile(rows)

    assert sorted(parted, key=repr) == sorted(whole, key=repr)


def test_seed000_profile_says_who_burns():
    found = {r["name"]: r for r in profile(traces.truss("000", *traces.BEFORE_000)) if r["cycle"] == 1}
    assert sum(r["n"] for r in found.values()) == 33  # lines 56 to 95, without the accept itself
    assert (found["fork1"]["verdict"], found["read"]["verdict"], found["waitid"]["verdict"]) == (
        "burning",
        "blocked",
        "blocked",
    )
    assert found["fork1"]["cpu_s"] == pytest.approx(0.0299)
    assert (found["read"]["line_no"], found["read"]["line_end"], found["read"]["max_s"]) == (72, 90, 0.1298)
    others = total_of(found) - sum(found[k]["dur_s"] for k in ("read", "waitid", "fork1", "lwp_sigmask", "lseek"))
    assert others == pytest.approx(0.0046, abs=1e-9)


def total_of(found):
    return sum(r["dur_s"] for r in found.values())


def test_the_child_of_seed000():
    found = {r["name"]: r for r in profile(traces.truss("000", *traces.BEFORE_000)) if r["pid"] == 8197}
    cladm = found["cladm"]
    assert (cladm["n"], cladm["verdict"]) == (75, "burning")
    assert (cladm["dur_s"], cladm["cpu_s"]) == pytest.approx((0.1172, 0.1138), abs=1e-9)
    assert found["execve"]["dur_s"] == pytest.approx(0.0139)
    assert total_of(found) == pytest.approx(1.8397 - 1.6115)


def test_elided_gap_never_blamed():
    found = {r["name"]: r for r in profile(traces.truss("001", *traces.TRUSS_001)) if r["pid"] == 3731}
    # 8.7229 born |..0.5958 broken..| 9.3187 shmat |..2.4734..| 11.7921 shmat | 0.0010 | mprotect |..0.2318 broken..| 12.0249
    assert found["not traced"]["dur_s"] == pytest.approx(0.8276)
    assert found["not traced"]["verdict"] == "not traced"
    assert (found["shmat"]["n"], found["shmat"]["dur_s"]) == (1, pytest.approx(2.4734))
    assert total_of(found) == pytest.approx(3.3020)


def row(line, t, name="x", **more):
    return {
        "line_no": line,
        "seq": line,
        "pid": 1,
        "t_local": t,
        "name": name,
        "state": "done",
        "stamp": "end",
        "clock": "c",
        **more,
    }


def test_a_printed_difference_holds_over_missing_lines():
    #  1.0 a |--- 0.5 missing, then execve 0.2 by its own -D ---| 1.5
    rows = [row(1, 1.0), row(2, 1.5, "execve", delta_s=0.2, dur_hi_s=0.5, contiguous="broken")]
    found = {r["name"]: r["dur_s"] for r in profile(rows)}
    assert found == pytest.approx({"execve": 0.2, "not traced": 0.3})


def test_a_measured_call_leaves_user_time():
    #  strace -T: starts 1.0 and 2.0, each call 0.1: 0.9 s of user time between
    rows = [row(i, float(i), "read", stamp="start", elapsed_s=0.1, dur_hi_s=0.1, contiguous="proven") for i in (1, 2)]
    found = {r["name"]: (r["n"], r["dur_s"]) for r in profile(rows)}
    assert found == {"read": (2, pytest.approx(0.2)), "user": (1, pytest.approx(0.9))}
    assert {r["verdict"] for r in profile(rows)} == {None}


def test_half_cpu_is_mixed():
    rows = [row(1, 1.0), row(2, 2.0, "read", dur_hi_s=1.0, cpu_s=0.5, contiguous="proven")]
    assert profile(rows)[0]["verdict"] == "mixed"


def test_a_lone_event_has_no_profile():
    assert profile([row(1, 1.0)]) == []


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5_000), st.sampled_from(["proven", "broken"]), st.booleans()), min_size=2, max_size=30
    )
)
def test_the_parts_make_the_whole(steps):
    t, rows = 1.0, []
    for i, (ticks, contiguous, printed) in enumerate(steps):
        t = round(t + ticks / 10_000, 4)
        gap = ticks / 10_000 if i else None
        rows.append(
            row(i + 1, t, f"call{i % 3}", dur_hi_s=gap, contiguous=contiguous, delta_s=gap if printed and i else None)
        )
    found = profile(rows)
    first = rows[0]["t_local"]
    assert sum(r["dur_s"] for r in found) == pytest.approx(t - first, abs=1e-9)


@settings(max_examples=examples(20), deadline=None)
@given(st.floats(-1e6, 1e6))
def test_shifting_a_clock_changes_no_duration(shift):
    rows = traces.truss("000", *traces.AFTER_000)
    moved = [{**r, "t_local": r["t_local"] + 2e6 + shift} for r in rows]
    assert [(r["name"], r["n"], pytest.approx(r["dur_s"], abs=1e-6)) for r in sorted_rows(rows)] == [
        (r["name"], r["n"], r["dur_s"]) for r in sorted_rows(moved)
    ]


def sorted_rows(rows):
    return sorted(profile(rows), key=lambda r: (r["cycle"] or 0, r["name"]))
