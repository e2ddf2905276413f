"""Tests of phase order, of the changes between two phases, and of a change that was reverted."""

from __future__ import annotations

import pytest

from rules.case import phases
from rules.model import CaseSpec, Marker
from tests.rules.statistics.test_statistics import A, B

SGA = Marker("change", "sga_target", between=("before", "after-1"), changed=("memory_target off", "SGA 40 to 18 GB"), hypothesis="H-OS-SHM")  # fmt: skip
SHARED = Marker("change", "shared server", between=("after-1", "after-2"), changed=("shared server",))
BACK = Marker("change", "rolled back", between=("after-1", "after-2"), changed=("memory_target on again", "SGA 18 to 40 GB"))  # fmt: skip


def spec(*markers):
    return CaseSpec(markers=markers)


def test_a_restart_is_added_and_several_changes_cannot_be_told_apart():
    made = spec(SGA, SHARED)
    ordered = phases.in_order(made, ["after-2", "before", "after-1"])
    assert ordered == ["before", "after-1", "after-2"]
    first, second = phases.neighbours(made, ordered)
    assert first.changed == ("memory_target off", "SGA 40 to 18 GB", "restart")
    assert (first.n_changes, first.restart_added, first.hypotheses) == (3, True, ("H-OS-SHM",))
    assert "3 things changed at once" in first.words
    assert "cannot be told apart" in first.words
    assert "restart is added" in first.words
    assert "restart (added" in first.listed
    assert (second.words, second.restart_added) == ("One thing changed: shared server.", False)


def test_a_span_of_two_borders_counts_both_whichever_way_it_is_asked():
    made = spec(SGA, SHARED)
    ordered = ["before", "after-1", "after-2"]
    assert phases.between(made, ordered, "before", "after-2").n_changes == 4
    assert phases.between(made, ordered, "after-2", "before") == phases.between(made, ordered, "before", "after-2")


def test_a_border_without_a_marker_has_no_reason():
    border = phases.between(spec(), ["before", "after-1"], "before", "after-1")
    assert (border.n_changes, border.places) == (None, ())
    assert "No marker says" in border.words
    assert "no marker" in border.listed


def test_a_bare_instant_parts_the_only_two_phases():
    instant = Marker("change", "rebooted", at="2026-01-01T00:00:00Z")
    assert phases.between(spec(instant), ["before", "after-1"], "before", "after-1").changed == ("rebooted",)
    assert phases.between(spec(instant), ["before", "after-1", "x"], "before", "after-1").n_changes is None


def test_an_unknown_phase_is_refused():
    with pytest.raises(ValueError, match="no such phase"):
        phases.between(spec(), ["before"], "before", "after-1")


def test_a_change_that_was_taken_back_with_its_effect():
    made = spec(SGA, BACK)
    ordered = ["before", "after-1", "after-2"]
    assert phases.between(made, ordered, "before", "after-1").taken_back_by == "rolled back"
    assert phases.between(spec(SGA, SHARED), ordered, "before", "after-1").taken_back_by is None
    assert phases.reversal(made, ordered, "before", "after-1", {"before": A, "after-1": B, "after-2": A})
    assert not phases.reversal(made, ordered, "before", "after-1", {"before": A, "after-1": B, "after-2": B})
    assert not phases.reversal(made, ordered, "after-1", "after-2", {"after-1": B, "after-2": A})
