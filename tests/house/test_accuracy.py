"""docs/accuracy.md is of the cases that stand in the repository, and blames nobody wrongly. Making it anew takes minutes; this does not."""

from __future__ import annotations

import re
from pathlib import Path

from rules.judging.truth import TRUTH, fingerprint
from rules.reporting.score_page import FINGERPRINT

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
AGAIN = "make it anew: python -m rules --score tests/cases --docs docs/accuracy.md"


def page() -> str:
    return (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")


def test_the_page_is_of_these_truths() -> None:
    assert f"{FINGERPRINT}{fingerprint(CASES)}`" in page(), AGAIN


def test_every_case_stands_in_the_page_or_is_left_out() -> None:
    named = set(re.findall(r"^(?:\| |- )([\w./-]+)(?= \||:)", page(), flags=re.M))
    cases = {path.parent.relative_to(CASES).as_posix() for path in CASES.rglob(TRUTH)}
    assert cases - named == set(), AGAIN


def test_nobody_is_blamed_wrongly() -> None:
    assert "## Wrong blame\n\nNone.\n" in page()


def test_four_of_five_produced_incidents_are_right() -> None:
    row = re.search(r"^\| Incidents: produced \| (\d+) \| (\d+) \(", page(), flags=re.M)
    assert row is not None
    assert int(row[2]) >= 0.8 * int(row[1])
