"""The tour of the sample room: begun by a person, led by keys, ended by Escape, and a list without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in
from tests.served import Served

STEPS = (
    "What is known.",
    "Whose seconds.",
    "Do next.",
    "What the evidence shows.",
    "The timeline.",
    "What speaks for it and against it.",
)


def begun(page: Page, room: str) -> None:
    page.goto(room)
    page.locator("[data-timeline][data-painted]").wait_for()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Show me around").press("Enter")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_keys_lead_from_step_to_step_and_escape_ends_it(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState, scheme: str
) -> None:
    page = person(1440, 900, scheme)
    sign_in(page.context, admin_state)
    begun(page, sample_room)
    for number, title in enumerate(STEPS, 1):
        box = page.get_by_role("dialog", name=title)
        expect(box).to_be_visible()
        expect(box).to_contain_text(f"{number} of {len(STEPS)}")
        expect(page.locator("#said")).to_contain_text(title)
        expect(box.locator("button:focus")).to_have_count(1)
        assert axe_violations(page) == [], title
        shot(page, f"tour-{number}-{scheme}")
        if number < len(STEPS):
            page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("dialog", name=STEPS[-2])).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("dialog").locator("button:focus")).to_have_count(1)
    address = page.url
    page.keyboard.press("u")  # a letter of the page: it acts on nothing while the tour runs
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Show me around")).to_be_focused()
    assert page.url == address
    expect(page.locator("#drawer h2")).to_be_visible()  # Escape ended the tour, it did not close the drawer too


def test_it_never_begins_by_itself_and_its_offer_can_be_hidden(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState
) -> None:
    page = person()
    sign_in(page.context, admin_state)
    page.goto(sample_room)
    page.get_by_role("button", name="Hide", exact=True).click()
    page.reload()
    page.locator("[data-timeline][data-painted]").wait_for()
    expect(page.get_by_role("button", name="Show me around")).to_be_hidden()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("?")
    page.locator("dialog#keys").get_by_role("button", name="Start").click()
    expect(page.get_by_role("dialog", name=STEPS[0])).to_be_visible()
    page.get_by_role("button", name="End the tour").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_on_a_phone_it_has_as_many_steps_and_counts_them(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState
) -> None:
    page = person(390, 844)
    sign_in(page.context, admin_state)
    begun(page, sample_room)
    seen = []
    while True:
        box = page.get_by_role("dialog")
        place = box.bounding_box()
        assert place
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= 390
        seen.append(box.locator(".driver-popover-title").inner_text())
        expect(box).to_contain_text(f"{len(seen)} of {len(STEPS)}")
        shot(page, f"tour-phone-{len(seen)}")
        last = box.get_by_role("button", name="End", exact=True)
        if last.count():
            last.click()
            break
        box.get_by_role("button", name="Next").click()
        expect(box.locator(".driver-popover-title")).not_to_have_text(seen[-1])
    assert seen == list(STEPS)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_without_scripts_the_same_steps_are_a_list(
    chromium: Browser, exhibit: Served, sample_room: str, admin_state: StorageState
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    sign_in(context, admin_state)
    page = context.new_page()
    page.goto(sample_room)
    page.get_by_text("How to read this room, in six steps").click()
    for title in STEPS:
        expect(page.locator("#tour li").filter(has_text=re.compile(f"^\\s*{re.escape(title)}"))).to_be_visible()
    expect(page.get_by_role("button", name="Show me around")).to_be_hidden()
    context.close()
