"""Pages that say that something does not work: each has a heading, the look of the others, and needs nothing that failed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import reverse

from config.urls import handler500
from incidents.pages.shell import HEADINGS
from tests.served import ROOT

HEADS = {
    "400": "Not understood",
    "413": "Not taken",
    "429": "Wait a little",
    "500": "Something went wrong",
    "503": "Just a moment",
}
STYLES = "/static/css/base"
#: Statuses of the protocol for uploads in pieces, which scripts speak.
TO_SCRIPTS = {405, 411, 412, 415, 423}


@pytest.mark.parametrize(("name", "heading"), HEADS.items())
def test_it_needs_no_database_and_looks_like_the_others(name: str, heading: str) -> None:
    # A test without the mark django_db fails if it asks the database.
    shown = render_to_string(f"{name}.html", {"words": "The disk is full.", "request": HttpRequest()})
    assert f"<h1>{heading}</h1>" in shown
    assert f"<title>{heading} · Exhibit</title>" in shown
    assert STYLES in shown
    assert 'class="logo" href="/"' in shown
    assert "data-refusal" in shown


def test_it_has_the_light_that_somebody_chose() -> None:
    request = RequestFactory().get("/rooms/")
    request.COOKIES["theme"] = "dark"
    path, name = handler500.rsplit(".", 1)
    answer: HttpResponse = getattr(__import__(path, fromlist=[name]), name)(request)
    assert answer.status_code == 500
    assert 'data-theme="dark"' in answer.content.decode()


@pytest.mark.django_db
def test_too_many_mails_for_a_new_password_are_refused_in_our_words() -> None:
    client = Client()
    answers = [client.post(reverse("account_reset_password"), {"email": "a@example.com"}) for _ in range(6)]
    assert answers[-1].status_code == 429
    assert "<h1>Wait a little</h1>" in answers[-1].content.decode()


def _statuses(path: Path) -> set[int]:
    """Return the statuses that a module refuses with: `Refused(words, 409)`, `status = 409`."""
    found: set[object] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Refused", "OverQuota"):
            found |= {n.value for arg in node.args[1:] for n in ast.walk(arg) if isinstance(n, ast.Constant)}
        elif isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["status"]:
            found |= {node.value.value} if isinstance(node.value, ast.Constant) else set()
    return {status for status in found if isinstance(status, int) and 400 <= status < 600}


def test_every_refusal_has_a_heading() -> None:
    found = set().union(*(_statuses(path) for path in (ROOT / "incidents").rglob("*.py")))
    assert found >= {400, 409, 429, 503, 507}, "it finds them"
    assert found - set(HEADINGS) == TO_SCRIPTS
