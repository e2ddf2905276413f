"""Tests that a known incident is seen in the lines that people would paste of it, and that these blame nobody wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rules.case.case import Case
from rules.case.reading import open_paths
from rules.judging.evaluate import judge
from rules.judging.truth import compare
from tests.rules.incidents.excerpts import Known, excerpt, known
from tests.rules.library import library

CASES = Path(__file__).parents[2] / "cases"
AROUND = 2
SILENT = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))["silent"]

pytestmark = pytest.mark.drawn(9)  # each judges a case, two seconds


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in known(CASES)])
def test_an_excerpt_is_seen(case: Known, tmp_path: Path) -> None:
    truth = excerpt(case, tmp_path / "excerpt", AROUND)
    spec, _ = open_paths([tmp_path / "excerpt"], None, tmp_path / "read", [])
    made = compare(truth, judge(Case(spec, None), library()))
    assert made.wrong == ()
    words = "list it in the file beside this test, or take it off"
    assert (made.result == "right") is (case.name not in SILENT), words


def test_the_list_names_cases_that_are_there() -> None:
    assert set(SILENT) <= {case.name for case in known(CASES)}
