"""Pages of failures, brought about as they happen: they have the look of all pages, fit every window, and pass axe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from benchmarks import inside
from tests.browser.conftest import axe_violations, shot
from tests.browser.test_outage import still
from tests.served import Served

WINDOWS: tuple[tuple[int, int, Literal["light", "dark"]], ...] = (
    (1440, 900, "light"),
    (390, 844, "dark"),
    (390, 844, "light"),
    (1440, 900, "dark"),
)
#: More than a request to sign in may hold.
SEND_TOO_MUCH = """() => {
  const form = document.createElement("form");
  form.method = "post";
  form.action = "/accounts/login/";
  const place = document.createElement("textarea");
  place.name = "login";
  place.value = "x".repeat(4 * 2 ** 20);
  form.append(place);
  document.body.append(form);
  form.submit();
}"""
MOVE = 'from django.db import connection\nconnection.cursor().execute("ALTER TABLE {} RENAME TO {}")\nprint("RESULT1")'
TABLE = "incidents_notification"


@contextmanager
def broken(exhibit: Served) -> Iterator[None]:
    """Take a table away that every page of somebody signed in reads: a fault that nobody foresaw."""
    inside.run(exhibit, MOVE.format(TABLE, "aside"))
    try:
        yield
    finally:
        inside.run(exhibit, MOVE.format("aside", TABLE))


def looked_at(page: Page, heading: str, name: str) -> None:
    """Look at the page in each window; it stays the same answer, so nothing is asked again."""
    for width, height, scheme in WINDOWS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        assert page.locator("header.top").evaluate("bar => getComputedStyle(bar).display") == "flex", (
            "it has its styles"
        )
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0
        assert axe_violations(page) == []
        shot(page, f"failure-{name}-{width}-{scheme}")


def test_a_body_that_is_too_large(person: Callable[..., Page], exhibit: Served) -> None:
    page = person()
    page.goto(f"{exhibit.url}/accounts/login/")
    with page.expect_response(lambda got: got.request.method == "POST") as sent:
        page.evaluate(SEND_TOO_MUCH)
    assert sent.value.status == 413
    looked_at(page, "Not taken", "413")


@pytest.mark.usefixtures("admin_state")  # who signs in first is not one of those who try too often
def test_too_many_tries(person: Callable[..., Page], exhibit: Served) -> None:
    page = person()
    for _ in range(21):
        page.request.get(f"{exhibit.url}/first/nonsense/")
    answer = page.goto(f"{exhibit.url}/first/nonsense/")
    assert answer
    assert answer.status == 429
    looked_at(page, "Wait a little", "429")


def test_a_fault_and_a_database_that_is_away(ada: Page, exhibit: Served) -> None:
    with broken(exhibit):
        answer = ada.goto(exhibit.url)
        assert answer
        assert answer.status == 500
        looked_at(ada, "Something went wrong", "500")
    with still(exhibit.var, "postgres"):
        answer = ada.goto(exhibit.url)
        assert answer
        assert answer.status == 503
        ada.evaluate("() => stop()")  # it would come again by itself
        looked_at(ada, "Just a moment", "503")
    ada.goto(exhibit.url)
    expect(ada.get_by_role("heading", name="Rooms").first).to_be_visible(timeout=30_000)
