"""The board in a browser: it fits and is accessible, its numbers need no script, and what one adds the other sees."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_board_fits_and_is_accessible(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState, width: int, scheme: str
) -> None:
    page = person(width, 960 if width > 1000 else 844, scheme)
    sign_in(page.context, admin_state)
    for path in ("board/?numbers", "board/say/", "board/cause/"):
        page.goto(sample_room + path)
        assert axe_violations(page) == [], path
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is {wide} px too wide at {width}"
    page.goto(sample_room + "board/")
    expect(page.locator(".leading")).to_be_visible()
    expect(page.locator(".weights")).not_to_be_visible()
    page.locator("#matrix > summary").click()
    expect(page.locator(".weights")).to_be_visible(visible=width > 900)
    expect(page.locator(".causes ul.cells").first).to_be_visible(visible=width <= 900)
    shot(page, f"board-{width}-{scheme}")


def test_a_row_of_one_arrives_at_the_other_and_is_undone(
    ada: Page, sample_room: str, chromium: Browser, admin_state: StorageState
) -> None:
    ada.goto(sample_room + "board/?numbers")
    total = ada.locator("tr.total td").first
    expect(total).to_have_text("good 25")
    other = chromium.new_context(storage_state=admin_state, java_script_enabled=False).new_page()
    other.goto(sample_room + "board/say/")
    other.get_by_label("Why").fill("the switch counts no errors")
    other.locator("[name='word_H-OS-SHM']").select_option("slightly against")
    other.get_by_role("button", name="Put it on the board").click()
    expect(other.locator("#board")).to_contain_text("the switch counts no errors")
    expect(ada.locator("#board")).to_contain_text("the switch counts no errors")  # by itself, before it is judged
    expect(total).to_have_text("good 22", timeout=60_000)  # and judged
    assert ada.url.endswith("?numbers")
    ada.get_by_role("button", name="Take off: the switch").click()
    ada.get_by_role("button", name="Undo").click()
    expect(ada.get_by_role("button", name="Take off: the switch")).to_be_visible()
    ada.get_by_role("button", name="Take off: the switch").click()
    ada.goto(sample_room + "board/?numbers")
    expect(total).to_have_text("good 25", timeout=60_000)
    other.context.close()


def test_numbers_without_a_script(sample_room: str, chromium: Browser, admin_state: StorageState) -> None:
    context = chromium.new_context(storage_state=admin_state, java_script_enabled=False)
    page = context.new_page()
    page.goto(sample_room + "board/")
    expect(page.locator("tr.total td").first).to_have_text("good")
    page.get_by_role("link", name="With numbers").click()
    assert page.url.endswith("board/?numbers")
    expect(page.locator("tr.total td").first).to_have_text(re.compile("good 2[0-9]"))
    page.get_by_role("link", name="Words only").click()
    assert page.url.endswith("board/")
    context.close()
