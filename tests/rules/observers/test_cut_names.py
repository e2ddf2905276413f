"""Tests that a cut name is completed only if all known names that begin with it have the same meaning."""

from __future__ import annotations

import pytest

from rules.observers.cut_names import CUT, WHOLE, uncut
from rules.signatures.signatures import recognise


@pytest.mark.parametrize("name", WHOLE.values())
def test_the_whole_name_is_known(name: str) -> None:
    assert recognise(stack=name)


def test_only_names_of_that_length_are_cut() -> None:
    assert (uncut("io_sch"), uncut("io_sche"), uncut("no_wch")) == ("io_schedule", "io_sche", "no_wch")
    assert all(len(cut) == CUT for cut in WHOLE)
