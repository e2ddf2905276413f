"""Sizes that a room keeps: the height of its head in each window, and what a finger must hit on a phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in
from tests.served import Served

#: What can be pressed, with its height: a badge counts with the area around it that belongs to it.
TARGETS = """() => [...document.querySelectorAll(".primary, .small, .bell, .standing a.badge")]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width)
  .map((one) => [one.textContent.trim() || one.className,
    one.getBoundingClientRect().height - 2 * Math.min(0, parseFloat(getComputedStyle(one, "::after").top) || 0)])"""


def entered(page: Page, state: StorageState, room: str) -> None:
    sign_in(page.context, state)
    page.goto(room)
    page.locator("[data-timeline][data-painted]").wait_for()


@pytest.mark.parametrize(("width", "height", "most"), [(1440, 900, 190), (1024, 768, 260)])
def test_the_head_of_a_room_leaves_place_for_what_the_evidence_shows(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState, width: int, height: int, most: int
) -> None:
    page = person(width, height)
    entered(page, admin_state, sample_room)
    shot(page, f"head-{width}")
    parts = page.evaluate(
        "() => [...document.querySelectorAll('.vmain > *, .next li')].map((one) => [one.className, one.offsetHeight])"
    )
    assert page.locator("#verdict").evaluate("one => one.offsetHeight") <= most, parts


def test_on_a_phone_everything_can_be_pressed_with_a_finger(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState
) -> None:
    page = person(390, 844)
    entered(page, admin_state, sample_room)
    shot(page, "phone-targets")
    found = page.evaluate(TARGETS)
    assert len(found) > 8, "it finds them"
    assert [one for one in found if one[1] < 36] == []
    assert axe_violations(page) == []


def test_on_a_phone_the_name_of_the_open_page_is_in_sight(
    person: Callable[..., Page], exhibit: Served, admin_state: StorageState
) -> None:
    page = person(390, 844)
    sign_in(page.context, admin_state)
    page.goto(f"{exhibit.url}/account/tokens/")
    shot(page, "phone-tokens")
    expect(page.locator(".top .pages [aria-current=page]")).to_be_in_viewport(ratio=0.99)
