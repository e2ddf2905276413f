"""The flame graph in a real browser: names that fit at any width, keys, zoom, and the way to it from the evidence."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in
from tests.browser.test_story import new_room
from tests.served import Served

FOLDED = b"main;serve;org.example.Parser.parse 60\nmain;serve;org.example.Codec.encode 30\nmain;tick 10\n"
# The width of a character on the screen must not be larger than the one that scripts and server count with.
TOO_LONG = """() => [...document.querySelectorAll("[data-flames] text")].filter((text) =>
  text.getBoundingClientRect().right > text.parentElement.querySelector("rect").getBoundingClientRect().right + 0.5
).map((text) => text.textContent)"""


@pytest.fixture
def profiled(ada: Page, exhibit: Served) -> str:
    """Give the address of a room with one profile that is read."""
    room = new_room(ada, exhibit.url, "A profile")
    ada.goto(f"{room}evidence/add/")
    ada.locator("input[type=file]").first.set_input_files(
        {"name": "out.folded", "mimeType": "text/plain", "buffer": FOLDED}
    )
    ada.locator(".sending a", has_text="out.folded").wait_for()
    ada.goto(f"{room}evidence/")
    row = ada.locator("tbody[id^=artifact-]").first
    expect(row.locator(".badge").first).to_have_text("read", timeout=60_000)
    return room


def test_a_room_without_stacks_fits_a_phone(ada: Page, exhibit: Served) -> None:
    room = new_room(ada, exhibit.url, "No profile yet")
    ada.set_viewport_size({"width": 390, "height": 900})
    ada.goto(room + "flame-graph/")
    expect(ada.locator(".empty pre")).to_be_visible()
    assert ada.evaluate("document.documentElement.scrollWidth") == 390


def focused(page: Page) -> str:
    name: str = page.evaluate("document.activeElement.getAttribute('aria-label')")
    return name.partition(":")[0]


def test_from_the_evidence_to_a_block_and_its_lines_by_keys(ada: Page, profiled: str) -> None:
    ada.locator("tbody[id^=artifact-] details.menu summary").first.click()
    ada.get_by_role("link", name="Flame graph").locator("visible=true").first.click()
    ada.locator("[data-flames] a").first.focus()
    for key, name in (
        ("ArrowDown", "main"),
        ("ArrowDown", "serve"),
        ("ArrowRight", "tick"),
        ("ArrowLeft", "serve"),
        ("ArrowDown", "org.example.Parser.parse"),
        ("ArrowDown", "org.example.Parser.parse"),
        ("ArrowUp", "serve"),
    ):
        ada.keyboard.press(key)
        assert focused(ada) == name
    assert ada.locator("[data-flames] a[tabindex='0']").count() == 1
    ada.keyboard.press("Enter")
    expect(ada.locator("#focus")).to_contain_text(re.compile("serve: 90 samples, 90 % of the profile"))
    ada.locator("#graph").get_by_role("link", name="line 1").click()
    ada.wait_for_url("**/evidence/1/#L1")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_names_fit_and_the_page_is_accessible(
    person: Callable[..., Page], profiled: str, admin_state: StorageState, width: int, scheme: str
) -> None:
    page = person(width, 900, scheme)
    sign_in(page.context, admin_state)
    page.goto(profiled + "flame-graph/")
    expect(page.locator("[data-flames] text", has_text="main")).to_have_count(1)
    assert page.evaluate(TOO_LONG) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert axe_violations(page) == []
    shot(page, f"flame-graph-{width}-{scheme}")
    page.set_viewport_size({"width": 700, "height": 900})
    parser = page.locator("[data-flames] [data-forms^='org.example.Parser'] text")
    expect(parser).to_have_text("org.example.Parser.parse")
    page.set_viewport_size({"width": 240, "height": 900})
    expect(parser).to_have_text("parse")
    assert page.evaluate(TOO_LONG) == []
