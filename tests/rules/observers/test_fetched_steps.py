"""Tests of steps that bring something from a registry: the gap behind their line is the registry's or the way's."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.long_waits import observe
from rules.signatures.signatures import recognise


def test_the_time_behind_a_line_that_begins_a_download_is_that_of_the_download() -> None:
    rows = [
        {"line_no": 1, "t_local": 0.0, "text": "Downloading artifacts for build (71) ..."},
        {"line_no": 2, "t_local": 400.0, "text": "Using the artifacts of build (71)"},
    ]
    (gap,) = [s for s in observe(Case.of_tables({"logs": rows})) if s.kind == "gap"]
    assert (gap.seconds, gap.of_s, gap.seen[-2]["step"], gap.seen[-2]["value"]) == (
        400.0,
        400.0,
        rows[0]["text"],
        "400.000",
    )


@pytest.mark.parametrize(
    ("step", "layer"),
    [
        ("Pulling fs layer", "network"),
        ("fetching package list took 71.2 s", "network"),
        ("Cloning into 'shop'...", "network"),
        ("pulling the plug took 8 s", None),
    ],
)
def test_the_words_of_such_steps(step: str, layer: str | None) -> None:
    assert [s.layer for s in recognise(step=step, value="91.2") if s.mechanism == "peer-wait"] == (
        [layer] if layer else []
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("slow sql [7123ms] update a set b = 1", True),
        ("slow query (7.2 s): select 1", True),
        ("slow query (812 ms): select 1", False),
        ("slow query (7412 ms): select pg_sleep(7)", False),
        ("slow query (7412 ms): select sleep (7)", False),
        ("fail: A.B[20102] Executed DbCommand (31,004ms) [Parameters=[]", True),
        ("info: A.B[20101] Executed DbCommand (104ms) [Parameters=[]", False),
    ],
)
def test_a_statement_of_seconds_is_a_slow_statement(text: str, named: bool) -> None:
    assert any(s.mechanism == "slow-statement" for s in recognise(log=text)) == named


@pytest.mark.parametrize(("seconds", "named"), [("59.9", False), ("60.0", True)])
def test_to_fetch_for_some_seconds_is_usual(seconds: str, named: bool) -> None:
    assert bool(recognise(step="Pulling fs layer", value=seconds)) == named
