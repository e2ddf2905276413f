"""Tests of the board and the verdict, with the numbers of the published boards."""

from __future__ import annotations

from typing import Any

import pytest

from rules.judging.scoring import Entry, board, cells_of, group_of, rivals, standing, units
from rules.model import Hypothesis, support_word

CHAIN = ("db1/server start",)
SEED001 = [
    Entry("NET-001", "wait-cover", {"H-SERVER-SLOW": 10, "H-NSS": 3, "H-OS-SHM": 3}, CHAIN),
    Entry("NET-002", "wait-cover", {"H-NET": -10, "H-CLIENT": -10}, CHAIN),
    Entry(
        "LSN-003",
        "child-wait",
        {"H-SERVER-SLOW": 15, "H-LISTENER": -3, "H-NSS": 3, "H-OS-SHM": 3, "H-OS-CPU": 3, "H-STORAGE": 3},
        (*CHAIN, "t/pid 3731"),
    ),
    Entry("SHM-001", "shm-attach", {"H-OS-SHM": 15, "H-NSS": -6}, ("t/pid 3731",)),
    Entry("NET-004", "syn-ladder", {"H-NET": -3, "H-NET-LOSS": -3}),
    Entry("CMP-001", "before-after", {"H-OS-SHM": 10}),
    Entry("CMP-002", "before-after", {"H-OS-SHM": 3}),
    Entry("said", "sql fast", {"H-NET": -3, "H-DB-SQL": -10}),
    Entry("LSN-005", "spawn-cost", {"H-CONN-CHURN": 6}),
    Entry("LSN-006", "conn-churn", {"H-CONN-CHURN": 10}),
    Entry("SHM-002", "shm-config", {"H-CFG-DISM": 6}),
]


def scores(entries: list[Entry]) -> dict[str, int]:
    return {h.code: h.score for h in board(entries)}


def test_board_seed001() -> None:
    made = scores(SEED001)
    assert [made[c] for c in ("H-OS-SHM", "H-NET", "H-CLIENT", "H-LISTENER", "H-NSS", "H-DB-SQL")] == [
        25,
        -16,
        -10,
        -3,
        -6,
        -10,
    ]
    assert (made["H-SERVER-SLOW"], made["H-CONN-CHURN"], made["H-CFG-DISM"], made["H-OS-CPU"]) == (15, 16, 6, 3)
    stand = standing(board(SEED001), two_kinds=True)
    assert (stand.state, stand.margin, stand.support) == ("cause", 22, "good")
    assert stand.leader is not None
    assert stand.leader.rests_on == ("before-after", "shm-attach")


@pytest.mark.parametrize(("group", "score"), [("shm-attach", 13), ("before-after", 15)])
def test_sensitivity_seed001(group: str, score: int) -> None:
    left = board([e for e in SEED001 if e.group != group])
    stand = standing(left, two_kinds=True)
    assert stand.leader is not None
    assert (stand.leader.code, stand.leader.score, stand.state) == ("H-OS-SHM", score, "suspect")


def test_board_seed004() -> None:
    entries = [
        Entry("CPU-005", "cpu-load", {"H-OS-CPU": 10}),
        Entry("CPU-002", "cpu-load", {"H-OS-CPU": 6}),
        Entry("CPU-006", "fork-storm", {"H-FORK-STORM": 6}),
        Entry("said", "oracle low", {"H-DB-SQL": -3}),
    ]
    made = board(entries)
    assert [scores(entries)[c] for c in ("H-OS-CPU", "H-FORK-STORM", "H-STORAGE", "H-DB-SQL")] == [10, 6, 0, -3]
    assert standing(made, two_kinds=False).state == "undecided"


def test_chain_counts_once() -> None:
    assert [sorted(e.finding for e in unit) for unit in units(SEED001[:4])] == [
        ["LSN-003", "NET-001", "NET-002", "SHM-001"]
    ]
    assert {h.code: dict(h.cells) for h in board(SEED001[:4])}["H-OS-SHM"] == {"shm-attach": 15}


def test_without_two_kinds_a_leader_is_suspected_only() -> None:
    assert standing(board(SEED001), two_kinds=False).state == "suspect"


def test_a_weak_leader_has_no_state() -> None:
    stand = standing(board([Entry("a", "g", {"H-NET": 6})]), two_kinds=True)
    assert (stand.state, stand.leader.code if stand.leader else None, stand.support) == (None, "H-NET", "weak")
    assert standing(board([]), two_kinds=True).leader is None


def test_the_sum_is_held_and_a_tie_counts_against() -> None:
    assert scores([Entry(str(n), f"g{n}", {"H-NET": 20}) for n in range(3)])["H-NET"] == 40
    assert scores([Entry("a", "g", {"H-NET": 6}), Entry("b", "g", {"H-NET": -6})])["H-NET"] == -6


def test_a_free_hypothesis_stands_last_among_equals() -> None:
    assert board([Entry("a", "g", {"H-COFFEE": 0})])[-1].code == "H-COFFEE"


def test_parts_wholes_whys_and_demands_are_no_rivals() -> None:
    codes = {"H-NET": 20, "H-NET-LOSS": 20, "H-CONN-CHURN": 30, "H-SERVER-SLOW": 30, "H-CFG-DISM": 30, "H-LISTENER": 5}
    made = [Hypothesis(c, c, n, {}) for c, n in codes.items()]
    stand = standing(made, two_kinds=True)
    assert stand.leader is not None
    assert (stand.leader.code, stand.margin, stand.state) == ("H-NET-LOSS", 15, "cause")
    assert [h.code for h in rivals("H-NET", made)] == ["H-LISTENER"]
    rate = standing(made, two_kinds=True, demand=True)
    assert rate.leader is not None
    assert rate.leader.code == "H-CONN-CHURN"


def test_cells() -> None:
    given = {
        "H-A": "tier",
        "H-B": "-counter",
        "H-C": {"base": "shape"},
        "H-D": {"base": "counter", "only": "spawn"},
        "tested": "tier",
    }
    assert cells_of(given, "base", 10, {"spawn": True}, "H-T") == {"H-A": 10, "H-B": -3, "H-C": 6, "H-D": 3, "H-T": 10}
    assert cells_of(given, "corroborated", -15, {"spawn": False}, None) == {"H-A": -15, "H-B": -3}


def test_support_words() -> None:
    assert [support_word(n) for n in (0, 9, 10, 19, 20, 29, 30, -10, -25)] == [
        "none", "weak", "fair", "fair", "good", "good", "strong", "fair against", "good against",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "group"),
    [
        (("clear", "measurement", "wait-cover", {}, False, None, False), "cleared"),
        (("finding", "measurement", "data-quality", {}, False, None, False), "quality"),
        (("finding", "measurement", "before-after", {"H-X": 10}, True, "H-X", False), "contributing"),
        (("finding", "os_kernel", "g", {"H-X": 10}, True, "H-X", False), "cause"),
        (("finding", "os_kernel", "g", {"H-X": -10}, True, "H-X", False), "contributing"),
        (("finding", "os_kernel", "g", {"H-SERVER-SLOW": 10}, False, "H-X", False), "along"),
        (("finding", "os_kernel", "g", {}, False, None, True), "along"),
        (("finding", "client_app", "g", {}, False, None, False), "contributing"),
    ],
)
def test_groups_of_the_page(arguments: tuple[Any, ...], group: str) -> None:
    assert group_of(*arguments) == group
