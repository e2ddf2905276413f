"""Tests of TCP segment sizes: those that both ends announce, those that pass, and those that never arrive."""

from __future__ import annotations

from typing import Any

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.segment_sizes import observe

NEAR, FAR = ("10.0.0.7", 50100), ("10.0.0.8", 389)


def row(t: float, ours: bool, **more: Any) -> dict[str, Any]:
    (src, sport), (dst, dport) = (NEAR, FAR) if ours else (FAR, NEAR)
    made = {"t_local": t, "proto": "tcp", "src": src, "sport": sport, "dst": dst, "dport": dport}
    return {**made, "flags": ".", "seq": None, "ack": None, "len": 0, "mss": None, **more}


def seen(*rows: dict[str, Any]) -> list[Sighting]:
    return list(observe(Case.of_tables({"packets": [{"line_no": n, "part": 1, **r} for n, r in enumerate(rows, 1)]})))


SYN = row(0.0, True, flags="S", seq=7_000_000, mss=8960)
ANSWER = row(0.02, False, flags="S.", seq=4_000_000, ack=7_000_001, mss=1360)
SMALL = row(0.03, True, seq=1, len=300)
PASSED = row(0.05, False, ack=301)
LARGE = {"seq": 301, "len": 8948}


def test_what_both_ends_announce_is_a_measure_with_the_largest_that_passed() -> None:
    (made,) = seen(SYN, ANSWER, SMALL, PASSED)
    assert made.normal
    assert made.headline == (
        "10.0.0.7 takes segments of up to 8,960 bytes, 10.0.0.8:389 of up to 1,360, as they say when they connect"
    )
    assert made.beside == "the largest segment that 10.0.0.8 acknowledged, after 20 ms, has 300 bytes"
    assert [(c.line_from, c.role) for c in made.lines] == [
        (1, "announces mss 8960"), (2, "announces mss 1360"), (3, "passed: 300 bytes"), (4, "acknowledged: ack 301"),
    ]  # fmt: skip
    (same,) = seen(SYN, {**ANSWER, "mss": 8960})
    assert same.headline == (
        "10.0.0.7 and 10.0.0.8:389 both take segments of up to 8,960 bytes, as they say when they connect"
    )
    assert same.beside is None


def test_a_segment_that_never_arrives_while_smaller_ones_pass_stands_out() -> None:
    made = seen(SYN, ANSWER, SMALL, PASSED, *(row(t, True, **LARGE) for t in (0.1, 0.3, 0.7, 1.5)))
    assert [s.normal for s in made] == [False, True]
    assert made[0].headline == (
        "10.0.0.7:50100 sent a segment of 8,948 bytes to 10.0.0.8:389 4 times in 1.400 s and no acknowledgement came;"
        " the largest that 10.0.0.8 acknowledged to it has 300 bytes"
    )
    assert [c.line_from for c in made[0].lines] == [5, 6, 7, 8, 3, 4]
    assert made[0].seen == ({"event": "only-small-packets-pass"},)


def test_loss_of_any_size_is_no_matter_of_size() -> None:
    lost = [row(t, True, **LARGE) for t in (0.1, 0.3, 0.7)]
    early = seen(SYN, ANSWER, SMALL, PASSED, *lost[:2])
    late = seen(SYN, ANSWER, SMALL, PASSED, *lost, row(1.5, False, ack=301 + 8948))
    small = seen(SYN, ANSWER, SMALL, PASSED, *(row(t, True, seq=301, len=200) for t in (0.1, 0.3, 0.7)))
    both = seen(SYN, ANSWER, SMALL, PASSED, *lost, *(row(t, True, seq=9249, len=100) for t in (0.1, 0.3, 0.7)))
    nothing = seen(SYN, ANSWER, *lost)
    assert [s.normal for made in (early, late, small, both, nothing) for s in made] == [True] * 5


def test_lists_without_connects_or_data_say_nothing() -> None:
    assert seen() == []
    assert seen(row(0.0, True), row(0.1, False, ack=1)) == []
    assert seen(SYN, {**ANSWER, "mss": None}) == []
    assert seen(SYN) == []


def arrives(*, filled: bool, behind: int = 500, for_s: float = 20.0) -> list[Sighting]:
    """Return what is seen where two large segments of the far end are missing and a small one behind them came."""
    rows = [
        row(0.0, True, flags="S", seq=7_000_000, mss=1460),
        row(0.02, False, flags="S.", seq=4_000_000, ack=7_000_001, mss=1460),
        row(0.03, True, seq=1, ack=1, len=300),
        row(0.05, False, seq=2_897, ack=301, len=behind),
        row(0.06, True, ack=1),
    ]
    if filled:
        rows += [row(0.3, False, seq=1, ack=301, len=1_448), row(0.31, True, ack=1_449)]
    return seen(*rows, row(for_s, True, ack=3_397 if filled else 1))


def test_large_segments_that_never_arrive_while_a_small_one_does() -> None:
    made = [s for s in arrives(filled=False) if not s.normal]
    assert [s.headline for s in made] == [
        "2,896 bytes of 10.0.0.8:389 (from 1 on) did not arrive at 10.0.0.7:50100 in 19.950 s, and 500 bytes sent behind them"
        " did; the largest segment that came has 500 bytes"
    ]
    assert [c.line_from for c in made[0].lines] == [4, 6]


def test_a_segment_that_was_lost_and_came_again_or_is_awaited_is_no_matter_of_size() -> None:
    assert [s for s in arrives(filled=True) if not s.normal] == []
    assert [s for s in arrives(filled=False, for_s=1.0) if not s.normal] == []
