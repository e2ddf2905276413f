"""Tests that what the lab can produce and what was recorded agree: names, truths, and the lines that truths cite."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.__main__ import TWIN, incidents
from rules.judging.truth import TRUTH, load_truth

PRODUCED = Path(__file__).parents[1] / "cases" / "produced"
SCENES = incidents()
RECORDED = sorted(p.parent.name for p in PRODUCED.glob(f"*/{TRUTH}"))


@pytest.mark.parametrize("name", RECORDED)
def test_recording_can_be_made_again(name: str) -> None:
    assert name.removesuffix(TWIN) in SCENES


@pytest.mark.parametrize("name", RECORDED)
def test_truth_cites_lines_that_exist(name: str) -> None:
    truth = load_truth((PRODUCED / name / TRUTH).read_text("utf-8"), name)
    assert truth.healthy == name.endswith(TWIN)
    for fact in truth.facts:
        first, last = fact.range
        lines = (PRODUCED / name / fact.file).read_text("utf-8", "replace").splitlines()
        assert 1 <= first <= last <= len(lines), f"{fact.file} has {len(lines)} lines, {fact.lines} are cited"


@pytest.mark.parametrize("name", sorted(SCENES))
def test_truth_of_the_scene_is_the_truth_of_its_recording(name: str) -> None:
    path = PRODUCED / name / TRUTH
    if not path.exists():
        pytest.skip("not recorded yet")
    truth = load_truth(path.read_text("utf-8"), name)
    planned = SCENES[name].truth
    assert truth.layer == planned.get("layer")
    assert truth.mechanism == planned.get("mechanism", truth.mechanism)
