"""Tests of the table of observations: sightings become recognised rows, a broken observer does not stop the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rules.case.case import Case
from rules.derived import observations
from rules.derived.derived_table import CaseTables
from rules.observers.observer import MOST, Lines, Observer, OutOfTime, Sighting, gathered
from rules.signatures.signatures import recognise

OBSERVER = Observer("toy", "What is there?", ("logs",))


def sighting(n: int = 1, **more: object) -> Sighting:
    plain: dict[str, Any] = {
        "kind": "wait", "subject": f"thing {n}", "headline": f"Thing {n} takes 5.000 s", "name": "duration_s", "value": 5.0,
        "unit": "s", "lines": (Lines(1, n, n, "wait"),),
    }  # fmt: skip
    return Sighting(**{**plain, **more})


def build(monkeypatch: pytest.MonkeyPatch, *found: Sighting, fails: bool = False) -> list[dict[str, object]]:
    def observe(case: object) -> Iterator[Sighting]:
        yield from found
        if fails:
            raise ValueError("no such thing")

    toy = SimpleNamespace(OBSERVER=OBSERVER, observe=observe)
    monkeypatch.setattr(observations, "observers", lambda: {"toy": toy})
    return observations.build(Case.of_tables({"logs": [{"line_no": 1, "text": "x"}]})).to_dicts()


def test_a_sighting_is_recognised_by_its_strongest_name(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = build(monkeypatch, sighting(seen=({"stack": "nothing_known"}, {"stack": "jbd2_log_wait_commit"})))
    assert (row["mechanism"], row["layer"], row["strength"]) == ("journal-wait", "storage", "mechanism")
    assert row["signatures"] == ["journal-wait"]
    assert row["means"] == recognise(stack="jbd2_log_wait_commit")[0].is_
    assert row["evidence"] == [{"artifact_id": 1, "line_from": 1, "line_to": 1, "role": "wait"}]


def test_a_line_that_plays_two_roles_is_quoted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = build(
        monkeypatch, sighting(lines=(Lines(1, 3, 3, "used"), Lines(1, 3, 3, "limit"), Lines(1, 4, 4, "limit")))
    )
    cited = [
        {"artifact_id": 1, "line_from": n, "line_to": n, "role": role} for n, role in ((3, "used, limit"), (4, "limit"))
    ]
    assert row["evidence"] == cited


def test_an_unknown_name_stays_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = build(monkeypatch, sighting(seen=({"stack": "nothing_known"},)))
    assert (row["mechanism"], row["means"], row["signatures"], row["idle"]) == (None, None, [], None)


def test_a_broken_observer_keeps_what_it_found_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    first, failed = build(monkeypatch, sighting(), fails=True)
    assert first["subject"] == "thing 1"
    assert (failed["kind"], failed["headline"]) == ("failed", "ValueError: no such thing")


def slow(monkeypatch: pytest.MonkeyPatch, observe: Callable[[CaseTables], Iterator[Sighting]]) -> list[dict[str, Any]]:
    """Return the rows of an observer whose time is over before it begins."""
    monkeypatch.setattr(observations, "SECONDS", -1.0)
    monkeypatch.setattr(observations, "observers", lambda: {"toy": SimpleNamespace(OBSERVER=OBSERVER, observe=observe)})
    return observations.build(Case.of_tables({"logs": [{"line_no": 1, "text": "x"}]})).to_dicts()


def test_a_slow_observer_reads_no_more_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def observe(case: CaseTables) -> Iterator[Sighting]:
        yield sighting()
        case.table("logs")
        yield sighting(2)

    first, failed = slow(monkeypatch, observe)
    assert first["subject"] == "thing 1"
    assert str(failed["headline"]).startswith("took longer than")


def test_what_a_slow_observer_has_ready_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = slow(monkeypatch, lambda _: iter([sighting(), sighting(2)]))
    assert [row["subject"] for row in rows] == ["thing 1", "thing 2"]


def test_a_slow_observer_is_cut_where_it_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def observe(case: CaseTables) -> Iterator[Sighting]:
        yield sighting()
        time.sleep(2 * observations.READY_S)
        yield sighting(2)
        raise AssertionError("still looking")

    first, second, failed = slow(monkeypatch, observe)
    assert (first["subject"], second["subject"], failed["kind"]) == ("thing 1", "thing 2", "failed")


def test_the_sources_before_the_cut_are_kept() -> None:
    def late(case: CaseTables) -> Iterator[Sighting]:
        yield sighting(2)
        raise OutOfTime

    case = Case.of_tables({})
    made = gathered(case, (lambda _: [sighting()], late, lambda _: [sighting(3)]))
    assert [s.subject for s in made.found] == ["thing 1", "thing 2"]
    assert isinstance(made.late, OutOfTime)


def test_an_observer_without_its_tables_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def observe(case: object) -> Iterator[Sighting]:
        raise AssertionError("asked without rows")

    monkeypatch.setattr(observations, "observers", lambda: {"toy": SimpleNamespace(OBSERVER=OBSERVER, observe=observe)})
    assert observations.build(Case.of_tables({"ps": [{"line_no": 1, "pid": 1}]})).is_empty()


def test_only_the_largest_are_kept_but_every_normal_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = build(monkeypatch, *(sighting(n, normal=n > MOST + 5) for n in range(1, MOST + 8)))
    assert len(rows) == MOST + 2
    assert [r["normal"] for r in rows[-2:]] == [True, True]


def test_equal_ones_come_in_the_order_of_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that equal sightings are sorted by line, and that a larger one before them stays first."""
    rows = build(monkeypatch, sighting(9, value=7.0), *(sighting(n) for n in (8, 2, 5)))
    assert [r["line_no"] for r in rows] == [9, 2, 5, 8]


def test_rows_are_made_anew_when_signatures_or_observers_change(tmp_path: Path) -> None:
    (tmp_path / "signatures" / "stack").mkdir(parents=True)
    before = observations.version(tmp_path)
    (tmp_path / "signatures" / "stack" / "more.yaml").write_text("- match: {stack: x}\n")
    assert observations.version(tmp_path) != before


def test_secrets_that_evidence_holds_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "sqlplus scott/tiger99xx@db1"
    (row,) = build(monkeypatch, sighting(headline=f"started: {text}", subject=text, lines=(Lines(1, 1, 1, text),)))
    assert "tiger99xx" not in str(row)
    assert row["headline"] == "started: sqlplus scott/*********@db1"
