"""Tests that judging writes the same verdict row for a room as the migration does."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps

from incidents.models.judging.finding import Finding
from incidents.models.judging.verdict import Verdict
from incidents.work import verdict_rows
from tests.incidents.conftest import make_room, make_user
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report

pytestmark = pytest.mark.django_db

TOLD = ("key", "host", "subject", "said")


def rows() -> tuple[list[Any], list[tuple[Any, ...]]]:
    return list(Verdict.objects.order_by("pk").values()), list(Finding.objects.order_by("pk").values_list(*TOLD))


def test_the_migration_carries_over_what_judging_writes() -> None:
    olga, report = make_user("olga"), reports.report()
    first = make_room(olga, "One")
    add_report(first, report | {"verdict": report["verdict"] | {"state": "undecided"}})
    add_report(first, report)
    add_report(first, report | {"verdict": report["verdict"] | {"support": "weak (one line)"}})
    add_report(make_room(olga, "Two"), {"findings": [], "artifacts": []})
    make_room(olga, "Never judged")
    judged = rows()
    assert [row["support_step"] for row in judged[0]] == [1, 0]
    assert any(told[3] for told in judged[1])
    Verdict.objects.all().delete()
    Finding.objects.update(host="", subject="", said="")
    migration = import_module("incidents.migrations.0016_search_and_verdicts")
    severities = import_module("incidents.migrations.0023_verdict_severity")
    for _ in range(2):
        migration.carry_over(apps, None)
        severities.fill(apps, None)
        assert rows() == judged


def test_a_layer_is_cleared_once_with_all_its_bounds() -> None:
    cleared = [{"layer": "storage", "bound": "at most 1 s"}, {"layer": "storage", "bound": "at most 2 s"}]
    kept = verdict_rows.summary({"cleared": [*cleared, cleared[0], {"layer": "network"}]})
    assert kept["cleared"] == [
        {"layer": "storage", "bound": "at most 1 s; at most 2 s"},
        {"layer": "network", "bound": ""},
    ]
    assert (kept["cleared_count"], kept["state"], kept["recurs_by"]) == (2, "cannot tell", "")


def test_what_recurs_is_named_by_its_host_else_by_its_subject_and_cut_to_its_column() -> None:
    def named(**found: str) -> str:
        report = {"verdict": {"state": "suspect", "rules": ["CPU-002"]}, "findings": [{"rule": "CPU-002", **found}]}
        return str(verdict_rows.summary(report)["recurs_by"])

    assert named(host="db1", subject="pid 7") == "CPU-002 db1"
    assert named(subject="ora_smon") == "CPU-002 ora_smon"
    assert named() == "CPU-002"
    assert len(named(host="x" * 500)) == 240
