"""The drawer: its tabs by pointer and keyboard, what is typed in it, its place at three widths, and without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in
from tests.served import Served

TABS = ("Lines", "Why", "Against", "Do", "Discussion")


def tab(page: Page, name: str) -> Locator:
    return page.locator("#drawer").get_by_role("tab", name=re.compile(f"^{name}"))


def opened(page: Page, room: str, n: int = 0) -> None:
    """Open the nth explanation of the room in the drawer."""
    if not page.url.startswith(room):
        page.goto(room)
    link = page.locator(".findings .claim > a[hx-get]").nth(n)
    address = link.get_attribute("href")
    link.click()
    page.wait_for_url(f"**{address}")


def test_each_tab_shows_its_part_alone_and_says_so_to_a_screen_reader(ada: Page, sample_room: str) -> None:
    opened(ada, sample_room)
    for name in TABS:
        tab(ada, name).click()
        expect(tab(ada, name)).to_have_attribute("aria-selected", "true")
        expect(ada.locator("#drawer").get_by_role("tabpanel")).to_have_count(1)
        expect(ada.locator("#drawer").get_by_role("tabpanel", name=re.compile(f"^{name}"))).to_be_visible()
        assert axe_violations(ada) == [], name
        shot(ada, f"drawer-{name.lower()}")


def test_the_tab_chosen_last_stays_chosen_for_the_next_finding_and_after_a_reload(ada: Page, sample_room: str) -> None:
    opened(ada, sample_room)
    tab(ada, "Against").click()
    opened(ada, sample_room, 1)
    expect(tab(ada, "Against")).to_have_attribute("aria-selected", "true")
    ada.reload()
    expect(tab(ada, "Against")).to_have_attribute("aria-selected", "true")


def test_keys_turn_the_tabs(ada: Page, sample_room: str) -> None:
    opened(ada, sample_room)
    tab(ada, "Lines").click()
    turns = {"ArrowRight": "Why", "End": "Discussion", "Home": "Lines", "ArrowLeft": "Discussion"}
    for key, name in turns.items():
        ada.keyboard.press(key)
        expect(tab(ada, name)).to_be_focused()
        expect(tab(ada, name)).to_have_attribute("aria-selected", "true")
    tab(ada, "Lines").click()
    ada.locator(".findings .on a").first.focus()
    ada.keyboard.press("]")
    expect(tab(ada, "Why")).to_have_attribute("aria-selected", "true")
    expect(ada.locator(".findings .on a").first).to_be_focused()  # who reads the list stays in it
    ada.keyboard.press("[")
    expect(tab(ada, "Lines")).to_have_attribute("aria-selected", "true")
    tab(ada, "Discussion").click()
    ada.locator("#note-here summary").click()
    ada.locator("#note-here textarea").focus()
    ada.keyboard.press("]")
    expect(ada.locator("#note-here textarea")).to_have_value("]")
    ada.locator("#note-here textarea").fill("")


def test_half_written_text_outlives_another_tab_another_finding_and_closing(ada: Page, sample_room: str) -> None:
    opened(ada, sample_room)
    ada.keyboard.press("n")
    note = ada.locator("#note-here textarea")
    expect(note).to_be_focused()
    note.fill("half a sentence")
    expect(tab(ada, "Discussion")).to_contain_text("draft")
    tab(ada, "Lines").click()
    tab(ada, "Discussion").click()
    expect(note).to_have_value("half a sentence")
    opened(ada, sample_room, 1)
    expect(note).to_have_value("")
    opened(ada, sample_room, 0)
    expect(note).to_have_value("half a sentence")
    expect(tab(ada, "Discussion")).to_contain_text("draft")
    ada.keyboard.press("Escape")
    expect(ada.locator("#drawer")).to_be_hidden()
    opened(ada, sample_room, 0)
    expect(note).to_have_value("half a sentence")
    ada.locator("#note-here").get_by_role("button", name="Throw it away").click()
    expect(tab(ada, "Discussion")).not_to_contain_text("draft")


def test_a_note_is_counted_at_its_tab(ada: Page, sample_room: str) -> None:
    opened(ada, sample_room, 1)
    tab(ada, "Discussion").click()
    expect(tab(ada, "Discussion")).to_have_text(re.compile(r"^Discussion\s*$"))
    ada.locator("#note-here summary").click()
    ada.locator("#note-here textarea").fill("Seen on the twin, too.")
    ada.get_by_role("button", name="Save note").locator("visible=true").first.click()
    expect(ada.locator("#finding-notes")).to_contain_text("Seen on the twin, too.")
    expect(tab(ada, "Discussion")).to_have_text(re.compile(r"^Discussion 1\s*$"))


def test_an_observation_opens_by_its_number_or_a_click_on_its_row(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    ada.keyboard.press("2")
    ada.wait_for_url("**/observations/*/")
    row = ada.locator(".observation").nth(1)
    expect(row).to_have_class(re.compile(r"\bon\b"))
    expect(ada.locator("#drawer .dhead")).to_contain_text("Observation 2")
    tab(ada, "Lines").click()
    expect(ada.locator("#see-lines mark").first).to_be_visible()
    assert axe_violations(ada) == []
    shot(ada, "observed-lines")
    for name in TABS[1:]:
        tab(ada, name).click()
        shot(ada, f"observed-{name.lower()}")
    first = ada.locator(".observation").first
    first.click(position={"x": 60, "y": 12})  # beside the sentence, on the figure
    expect(first).to_have_class(re.compile(r"\bon\b"))
    expect(row).not_to_have_class(re.compile(r"\bon\b"))
    ada.reload()
    expect(first).to_have_class(re.compile(r"\bon\b"))
    first.locator(".w a").first.click()  # the lines themselves
    ada.wait_for_url("**/evidence/**")


def test_it_says_when_a_thing_was_and_leads_the_timeline_there(
    ada: Page, sample_room: str, person: Callable[..., Page], admin_state: StorageState
) -> None:
    ada.goto(sample_room)
    ada.locator("[data-timeline][data-painted]").wait_for()
    link = ada.locator("#drawer .when a")
    expect(link).to_be_visible()
    expect(ada.locator("#drawer .when")).to_contain_text(re.compile(r"\d s .*(own clock|other clocks)"))
    before = ada.url
    link.focus()
    ada.keyboard.press("Enter")
    expect(ada.locator("#said")).to_contain_text("The timeline shows")
    assert "view=" in ada.url
    assert "view=" not in before
    assert "#clock" not in ada.url
    expect(ada.locator("#drawer h2")).to_be_visible()
    address = link.get_attribute("href")
    phone = person(390, 844)
    sign_in(phone.context, admin_state)
    phone.goto(before.split("?")[0])
    finding = ada.locator(".findings .claim > a[hx-get]").first.get_attribute("href")
    phone.goto(sample_room.split("/rooms/")[0] + str(finding))
    phone.locator("#drawer .when a").click()
    phone.wait_for_url(f"**{address}")
    expect(phone.locator("[data-timeline]")).to_be_visible()


def test_a_note_on_the_lines_of_an_observation_appears_for_the_others(
    ada: Page, person: Callable[..., Page], sample_room: str, admin_state: StorageState
) -> None:
    other = person()
    sign_in(other.context, admin_state)
    for page in (ada, other):
        page.goto(sample_room)
        expect(page.locator("#live")).to_have_attribute("data-state", "on")
        page.keyboard.press("2")
        page.wait_for_url("**/observations/*/")
        tab(page, "Discussion").click()
    ada.locator("#note-here summary").click()
    ada.locator("#note-here textarea").fill("This attach is the long one.")
    ada.locator("#note-here").get_by_role("button", name="Save note").click()
    for page in (ada, other):
        expect(page.locator("#range-notes")).to_contain_text("This attach is the long one.")
        expect(tab(page, "Discussion")).to_have_text(re.compile(r"^Discussion 1\s*$"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_head_and_tabs_stay_while_the_drawer_scrolls(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState, scheme: str
) -> None:
    page = person(1440, 500, scheme)
    sign_in(page.context, admin_state)
    opened(page, sample_room)
    drawer = page.locator("#drawer")
    page.locator("#drawer .panel:not([hidden])").hover()
    page.evaluate("scrollTo(0, 200)")
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 400)
    page.wait_for_function("document.getElementById('drawer').scrollTop > 50")
    assert page.evaluate("scrollY") == before, "the page stays where it is"
    box, head = drawer.bounding_box(), page.locator(".dhead").bounding_box()
    assert box
    assert head
    assert abs(head["y"] - box["y"]) < 2
    expect(tab(page, "Lines")).to_be_in_viewport()
    shot(page, f"drawer-scrolled-{scheme}")


def test_it_docks_below_the_timeline_of_a_narrow_window(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState
) -> None:
    page = person(1024, 768)
    sign_in(page.context, admin_state)
    page.goto(sample_room)
    expect(page.locator("#drawer")).to_be_hidden()
    opened(page, sample_room)
    box, middle = page.locator("#drawer").bounding_box(), page.locator(".middle").bounding_box()
    assert box
    assert middle
    assert box["height"] == pytest.approx(0.34 * 768, abs=2)
    assert box["y"] + box["height"] == pytest.approx(768, abs=2)
    assert (box["x"], box["width"]) == pytest.approx((middle["x"], middle["width"]), abs=2)
    assert axe_violations(page) == []
    shot(page, "drawer-1024")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    notes = page.locator("#similar").bounding_box()
    docked = page.locator("#drawer").bounding_box()
    assert notes
    assert docked
    assert notes["y"] + notes["height"] <= docked["y"] + 1, "the end of the page can be read above it"


def test_the_height_of_the_dock_is_dragged_or_set_by_keys_and_kept(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState
) -> None:
    page = person(1024, 768)
    sign_in(page.context, admin_state)
    page.goto(sample_room)
    grip = page.get_by_role("separator", name="Height of the drawer")
    expect(grip).to_be_hidden()
    opened(page, sample_room)

    def share() -> float:
        box = page.locator("#drawer").bounding_box()
        assert box
        assert box["y"] + box["height"] == pytest.approx(768, abs=2)
        return round(100 * box["height"] / 768)

    assert share() == 34
    box = grip.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 24
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"], 768 * 0.4, steps=4)
    page.mouse.up()
    assert share() == 60
    expect(grip).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(grip).to_have_attribute("aria-valuenow", "58")
    page.reload()
    assert share() == 58
    assert axe_violations(page) == []
    for key, height in {"End": 75, "ArrowUp": 75, "Home": 15, "PageUp": 25, "Enter": 34}.items():
        grip.press(key)
        assert share() == height, key
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(grip).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(grip).to_be_hidden()


def test_a_phone_shows_three_observations_then_the_timeline_then_the_explanations(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState
) -> None:
    phone = person(390, 844)
    sign_in(phone.context, admin_state)
    phone.goto(sample_room)
    rows = phone.locator(".shows > ol > .observation")
    seen = phone.locator(".shows > ol > .observation:visible")
    expect(seen).to_have_count(3)
    tops = [phone.locator(part).bounding_box() for part in (".shows", "#timeline", "#explanations", "#similar")]
    places = [top["y"] for top in tops if top]
    assert len(places) == 4
    assert places == sorted(places)
    assert places[1] < 2 * 844, "it begins before the end of the second screen"
    wide = phone.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide == 0
    assert axe_violations(phone) == []
    shot(phone, "room-390")
    phone.get_by_role("button", name=re.compile(r"^Show \d more$")).click()
    expect(seen).to_have_count(rows.count())
    expect(rows.nth(3).locator("a").first).to_be_focused()
    expect(phone.get_by_role("button", name=re.compile(r"^Show \d more$"))).to_be_hidden()


def test_on_a_phone_it_is_a_page_with_a_way_back(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState
) -> None:
    phone = person(390, 844)
    sign_in(phone.context, admin_state)
    opened(phone, sample_room)
    expect(phone.locator("#verdict")).to_be_hidden()
    expect(phone.locator("#timeline")).to_be_hidden()
    expect(tab(phone, "Lines")).to_be_in_viewport()
    wide = phone.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    assert axe_violations(phone) == []
    shot(phone, "drawer-390")
    phone.get_by_role("link", name="Back to the room").click()
    expect(phone.locator("#verdict")).to_be_visible()
    expect(phone.locator("#drawer")).to_be_hidden()
    expect(phone.locator(".findings .on a").first).to_be_in_viewport()


def test_without_scripts_it_is_a_page_with_all_parts_under_headings(
    chromium: Browser, exhibit: Served, sample_room: str, admin_state: StorageState
) -> None:
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 1024, "height": 768})
    sign_in(context, admin_state)
    page = context.new_page()
    page.goto(sample_room)
    page.locator(".findings .claim > a").first.click()
    expect(page.locator("#verdict")).to_be_hidden()
    for name in TABS:
        expect(page.locator("#drawer").get_by_role("heading", name=name, exact=True)).to_be_visible()
    page.locator("#drawer nav").get_by_role("link", name=re.compile("^Do")).click()
    expect(page.locator("#head-do")).to_be_in_viewport()
    expect(page.locator("#dispute-box")).to_be_visible()
    page.get_by_role("link", name="Back to the room").click()
    expect(page.locator("#verdict")).to_be_visible()
    context.close()
