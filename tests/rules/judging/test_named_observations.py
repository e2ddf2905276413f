"""Names of a site change the words of observations and nothing else of a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from rules.model import CaseSpec, Report, SiteName

CASES = Path(__file__).parents[2] / "cases"
LEAD = "harvest/05/name-takes-ninety-seconds"
CAUSE = "001"
NAMES = (
    SiteName("host", "192.168.1.1", "the router of the branch", "nils", "2026-11-28"),
    SiteName("log text", "Timeout reached on transaction", "known since the move", "anna", "2026-11-27"),
    SiteName("port", "1521", "the listener of production", "anna"),
    SiteName("process", "oracle", "the database of orders"),
)


def judged(spec: CaseSpec, names: tuple[SiteName, ...]) -> Report:
    return evaluate(replace(spec, names=names))


def without_words(report: Report) -> dict[str, Any]:
    made = report.as_json()
    del made["seconds"]
    for one in made["observations"]:
        del one["headline"], one["names"]
    return made


@pytest.mark.parametrize(("case", "state"), [(LEAD, "lead"), (CAUSE, "cause")])
def test_the_verdict_and_all_else_stay_the_same(case: str, state: str, tmp_path: Path) -> None:
    spec, _ = open_paths([CASES / case], None, tmp_path)
    plain, named = judged(spec, ()), judged(spec, NAMES)
    assert plain.verdict.state == state
    assert named.verdict == plain.verdict
    assert without_words(named) == without_words(plain)
    if case == LEAD:
        told = {one.headline: one.names for one in named.observations if one.names}
        assert any(
            head.startswith("time host gatevpn.br.example.com 192.168.1.1 (the router of the branch)") for head in told
        )
        assert any(head.endswith("; “Timeout reached on transaction”: known since the move") for head in told)
        assert {name.author for names in told.values() for name in names} == {"nils", "anna"}
        assert [one.headline for one in plain.observations] != [one.headline for one in named.observations]
        assert not any(one.names for one in plain.observations)


def test_a_name_that_cannot_be_used_is_said_and_left_out(tmp_path: Path) -> None:
    spec, _ = open_paths([CASES / LEAD], None, tmp_path)
    report = judged(spec, (SiteName("port", "99999", "nothing"), *NAMES))
    assert [f.error for f in report.failed] == ["names[0]: A port is a whole number from 1 to 65535; 99999 is not."]
    assert any(one.names for one in report.observations)
