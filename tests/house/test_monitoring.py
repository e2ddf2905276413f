"""docs/monitoring: alerts and dashboard ask for figures that there are, in expressions that Prometheus understands."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from django.urls import get_resolver

from config import parts
from incidents.content import metrics
from incidents.models.site.backup import Backup, BackupState
from incidents.storage import meters
from tests.incidents.pages.test_permission_matrix import addresses

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "monitoring"
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
#: What Prometheus itself makes of the name of a figure, by its type, and what it knows by itself.
ENDS = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
EVERYWHERE = {"job", "instance", "le"}


def expressions() -> list[tuple[str, str]]:
    """Every expression with the place where it stands."""
    alerts = [(rule["alert"], rule["expr"]) for rule in RULES]
    return alerts + [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]


def parsed(expression: str) -> Any:
    return promql_parser.parse(expression.replace("$__rate_interval", "5m").replace("$job", "exhibit"))


def nodes(expression: Any) -> Iterator[Any]:
    """Yield an expression and all that it is made of."""
    yield expression
    for name in ("lhs", "rhs", "expr", "param", "vs", "vector_selector"):
        below = getattr(expression, name, None)
        if isinstance(below, promql_parser.Expr):
            yield from nodes(below)
    for below in getattr(expression, "args", None) or ():
        yield from nodes(below)


def selectors(expression: str) -> list[Any]:
    return [node for node in nodes(parsed(expression)) if isinstance(node, promql_parser.VectorSelector)]


@pytest.fixture
def figures(db: None, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Every figure that a working site gives, with its labels: a backup, parts and counts of workers are there."""
    settings.EXHIBIT_PARTS = tmp_path / parts.FILE
    settings.EXHIBIT_PARTS.write_text('{"web": {"pid": 7, "since": "2026-01-01T00:00:00+00:00", "ends": []}}')
    settings.EVIDENCE_ROOT = tmp_path
    Backup.objects.create(
        scheduled=True, state=BackupState.DONE, folder="x", started_at="2026-01-01T00:00:00Z",
        finished_at="2026-01-01T00:00:00Z", files=1, bytes=1,
    )  # fmt: skip
    counted = meters.Counted({("sweep", "success"): 1.0}, {("judge", "done"): meters.Jobs()})
    monkeypatch.setattr(meters, "of_workers", lambda: counted)
    meters.answered("room", "GET", "200", 0.1)
    found: dict[str, set[str]] = {}
    for family in metrics._Figures().collect():
        for end in ENDS[family.type]:
            found[family.name + end] = set(family.samples[0].labels)
    return found


def test_there_are_five_alerts_that_say_what_to_do() -> None:
    assert len(RULES) == 5
    for rule in RULES:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"Exhibit[A-Z]\w+", rule["alert"])
        assert re.fullmatch(r"\d+m", rule["for"])
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["alert"] in (ROOT / "docs" / "operations.md").read_text(), "the operators' page explains it"


def test_every_expression_is_one() -> None:
    for place, expression in expressions():
        assert selectors(expression), place
    with pytest.raises(ValueError, match="unclosed"):
        parsed("sum by (queue) (exhibit_jobs")


def test_every_figure_that_is_asked_for_is_there_with_its_labels(figures: dict[str, set[str]]) -> None:
    for place, expression in expressions():
        for selector in selectors(expression):
            if selector.name == "up":
                continue
            assert selector.name in figures, f"{place}: {selector.name}"
            asked = {matcher.name for matcher in selector.matchers.matchers}
            assert asked <= figures[selector.name] | EVERYWHERE, f"{place}: {selector.name}"


def test_what_is_grouped_by_is_a_label_of_something_in_it(figures: dict[str, set[str]]) -> None:
    for place, expression in expressions():
        for node in nodes(parsed(expression)):
            if isinstance(node, promql_parser.AggregateExpr) and node.modifier:
                known = {
                    label
                    for below in nodes(node)
                    if isinstance(below, promql_parser.VectorSelector)
                    for label in figures.get(below.name or "", set())
                }
                assert set(node.modifier.labels) <= known | EVERYWHERE, place


def test_the_operators_page_names_every_figure(figures: dict[str, set[str]]) -> None:
    told = set(re.findall(r"`(exhibit_\w+)`", (ROOT / "docs" / "operations.md").read_text()))
    names = {family.name + ("_total" if family.type == "counter" else "") for family in metrics._Figures().collect()}
    assert told == names


def test_routes_and_states_that_are_asked_for_exist() -> None:
    routes = {name for _, name in addresses(get_resolver())} | {"static", "uploads", "other"}
    found = 0
    for _, expression in expressions():
        for selector in selectors(expression):
            for matcher in selector.matchers.matchers:
                if matcher.name == "route":
                    assert set(matcher.value.split("|")) <= routes
                    found += 1
    assert found


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {"datasource", "job"}
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, f"{panel['title']} lies over another"
        taken |= cells
    for panel in PANELS:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert [target["refId"] for target in panel["targets"]] == list("ABCDEF"[: len(panel["targets"])])
        for target in panel["targets"]:
            assert 'job="$job"' in target["expr"], panel["title"]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("words", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")])
def test_promtool_understands_them_and_they_fire(words: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *words], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    cases = (FOLDER / "alerts_test.yml").read_text()
    assert [rule["alert"] for rule in RULES if f'alertname="{rule["alert"]}"' not in cases] == []
