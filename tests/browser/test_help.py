"""Help beside the thing: hover, keyboard and finger explain a word; pages of words and rules; all of them pass axe."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in
from tests.served import Served


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")])
def test_pages_of_words_and_rules_fit_and_are_accessible(
    person: Callable[..., Page], exhibit: Served, admin_state: StorageState, width: int, scheme: str
) -> None:
    page = person(width, 960, scheme)
    sign_in(page.context, admin_state)
    for path in ("help/", "help/vmstat.r/", "help/?q=nonsenseword", "rules/", "rules/LSN-012/", "rules/?state=team"):
        page.goto(f"{exhibit.url}/{path}")
        assert axe_violations(page) == [], path
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is {wide} px too wide at {width}"
        shot(page, f"{path.strip('/').replace('/', '-').replace('?', '-')}-{width}-{scheme}")


def test_a_word_is_explained_by_hover_and_by_keyboard(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    word = ada.locator("#seconds .term").first
    box = ada.locator("#help")
    word.hover()
    expect(box).to_be_visible()
    expect(box).to_contain_text("One traced request")
    expect(word).to_have_attribute("aria-describedby", "help")
    box.get_by_role("link", name="More").hover()  # the explanation can be walked into
    expect(box).to_be_visible()
    ada.keyboard.press("Escape")
    expect(box).to_be_hidden()
    ada.mouse.move(5, 5)
    word.focus()
    expect(box).to_be_visible()
    ada.keyboard.press("Enter")
    expect(ada.get_by_role("heading", name="whose seconds")).to_be_visible()
    assert axe_violations(ada) == []


def test_a_finding_is_explained_in_its_drawer(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    ada.locator(".findings .claim > a").first.click()
    ada.wait_for_url("**/findings/**")
    ada.locator("#drawer").get_by_role("tab", name="Why").click()
    why = ada.locator("#drawer .why")
    why.locator("summary").click()
    expect(ada.locator("#drawer #explained")).to_contain_text("Values that it found")
    assert axe_violations(ada) == []
    ada.locator("#drawer .rule-id").click()
    expect(ada.locator("#fired")).to_contain_text("Logins take 3.9 seconds")


def test_a_finger_taps_a_word_and_reads(chromium, exhibit: Served, admin_state: StorageState, sample_room: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    sign_in(context, admin_state)
    page = context.new_page()
    page.goto(sample_room)
    word = page.locator("#seconds .term").first
    word.tap()
    expect(page.locator("#help")).to_be_visible()
    assert page.url.rstrip("/") == sample_room.rstrip("/")  # a tap explains and does not leave
    word.tap()
    expect(page.locator("#help")).to_be_hidden()
    word.tap()
    page.locator("#help").get_by_role("link", name="More").tap()
    expect(page.get_by_role("heading", name="whose seconds")).to_be_visible()
    context.close()


def test_without_a_script_a_word_is_a_link(
    chromium, exhibit: Served, admin_state: StorageState, sample_room: str
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    sign_in(context, admin_state)
    page = context.new_page()
    page.goto(sample_room)
    page.locator("#seconds .term").first.click()
    expect(page.get_by_role("heading", name="whose seconds")).to_be_visible()
    context.close()


def test_words_on_lines_say_what_they_mean(ada: Page, sample_room: str) -> None:
    ada.goto(f"{sample_room}evidence/3/#L14")
    ada.locator(".gloss", has_text="shmat").first.hover()
    expect(ada.locator("#help")).to_contain_text("Attaches a shared memory segment")
    expect(ada.locator("#explain")).to_contain_text("Use a segment or set that exists already")
