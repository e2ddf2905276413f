"""The whole story as two teams live it: sign in, upload, see the finding arrive, open its lines, write a note, see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, StorageState, expect

from tests.browser.conftest import PASSWORD, axe_violations, shot, sign_in
from tests.served import Served

SAMPLE = Path(__file__).resolve().parents[2] / "incidents" / "sample" / "001"
A_MINUTE = 60_000


def new_room(page: Page, url: str, title: str) -> str:
    page.goto(f"{url}/rooms/new/")
    page.get_by_label("Title").fill(title)
    assert axe_violations(page) == []
    page.get_by_role("button", name="Open the room").click()
    page.locator("#verdict").wait_for()
    page.wait_for_load_state()  # its scripts run before that ends
    return page.url


def invited(ada: Page, other: Page, room: str, name: str) -> None:
    """Ada makes a link; somebody without an account follows it and is in the room."""
    ada.goto(f"{room}members/")
    ada.get_by_role("button", name="Make a link").click()
    link = ada.locator("pre.command").inner_text()
    assert axe_violations(ada) == []
    other.goto(link)
    other.get_by_role("link", name="Make an account").click()
    other.get_by_label("User name").fill(name)
    other.get_by_label("Email").fill(f"{name}@example.com")
    other.get_by_label(re.compile(r"^Password( \(again\))?")).nth(0).fill(PASSWORD)
    other.get_by_label(re.compile(r"^Password( \(again\))?")).nth(1).fill(PASSWORD)
    assert axe_violations(other) == []
    other.get_by_role("button", name=re.compile("sign up|make", re.IGNORECASE)).click()
    other.get_by_role("button", name="Join the room").click()
    other.locator("#verdict").wait_for()


def upload(page: Page, room: str, *names: str) -> None:
    page.goto(f"{room}evidence/add/")
    page.locator("input[type=file]").first.set_input_files([str(SAMPLE / name) for name in names])


def test_two_teams_end_an_argument(ada: Page, person: Callable[..., Page], exhibit: Served) -> None:
    room = new_room(ada, exhibit.url, "Logins take 3.9 s")
    bob = person()
    invited(ada, bob, room, "bob")

    # Bob watches; Ada brings the truss. The finding arrives in his window by itself.
    bob.goto(room)
    expect(bob.locator("#live")).to_have_attribute("data-state", "on")
    upload(ada, room, "truss-listener.txt")
    claim = bob.locator(".claim", has_text=re.compile("2\\.473"))
    claim.first.wait_for(timeout=A_MINUTE)
    shot(bob, "story-finding-arrived")

    # He opens it and the lines that it cites.
    claim.first.get_by_role("link").first.click()
    expect(bob.locator("#drawer")).to_contain_text("0x3C0000000")
    bob.locator("#drawer a", has_text="truss-listener.txt").first.click()
    expect(bob.locator(".line.cited", has_text="0x3C0000000").first).to_be_visible()
    assert axe_violations(bob) == []
    shot(bob, "story-lines")

    # He writes a note; Ada, in the room, sees it within a moment and without reloading.
    ada.goto(room)
    expect(ada.locator("#live")).to_have_attribute("data-state", "on")
    bob.goto(room)
    bob.get_by_text("Write a note", exact=True).first.click()
    bob.locator("#note-new textarea").fill("The gap ends at the 18 GB segment.")
    bob.get_by_role("button", name="Save note").click()
    expect(ada.locator("#notes")).to_contain_text("The gap ends at the 18 GB segment.", timeout=3_000)
    expect(ada.locator("#people")).to_contain_text(re.compile("b", re.IGNORECASE))

    # She removes him: his stream ends and the room is gone for him.
    ada.goto(f"{room}members/")
    ada.locator("tr", has_text="bob").get_by_role("button", name="Remove").click()
    expect(bob.locator("body")).not_to_contain_text("The gap ends at the 18 GB segment.", timeout=5_000)
    bob.goto(room)
    expect(bob.locator("body")).not_to_contain_text("Logins take 3.9 s")


def test_the_sample_room_is_complete_within_a_minute(ada: Page, sample_room: str) -> None:
    """The fixture waits a minute at most for the verdict; everything else must be there with it."""
    ada.goto(sample_room)
    expect(ada.locator("#verdict")).to_contain_text("attach")
    ada.locator("[data-timeline][data-painted]").wait_for()
    expect(ada.locator(".tl-frame:not([data-frame=people])")).to_have_count(2)
    ada.set_viewport_size({"width": 1440, "height": 500})
    ada.reload()
    ada.locator("[data-timeline][data-painted]").wait_for()
    bundles = "performance.getEntriesByType('resource').filter((one) => one.name.includes('plotly-')).length"
    assert ada.evaluate(bundles) == 0  # large, and not needed for what is seen first
    figure = ada.locator("[data-figure]")
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_attribute("data-state", "drawn")
    assert ada.evaluate(bundles) == 1
    ada.set_viewport_size({"width": 1440, "height": 960})
    assert axe_violations(ada) == []
    for page in ("evidence/", "evidence/1/", "compare/", "case/", "members/", "activity/"):
        ada.goto(sample_room + page)
        assert axe_violations(ada) == [], page


def test_the_address_holds_the_view(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    ada.locator("[data-timeline][data-painted]").wait_for()
    frame = ada.locator(".tl-frame:not([data-frame=people])").last
    frame.locator("canvas.tl-canvas").focus()
    ada.keyboard.press("+")
    expect(frame).to_have_attribute("data-fetched", re.compile("[1-9]"))
    assert "view=" in ada.url
    again = ada.context.new_page()
    again.goto(ada.url)
    again.locator("[data-timeline][data-painted]").wait_for()
    expect(again.locator(".tl-frame:not([data-frame=people])").last.locator("canvas.tl-overview")).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_and_are_accessible(
    person: Callable[..., Page], sample_room: str, exhibit: Served, admin_state: StorageState, width: int, scheme: str
) -> None:
    page = person(width, 960 if width > 1000 else 844, scheme)
    sign_in(page.context, admin_state)
    page.goto(exhibit.url)
    assert axe_violations(page) == []
    shot(page, f"rooms-{width}-{scheme}")
    page.goto(sample_room)
    page.locator("[data-timeline][data-painted]").wait_for()
    assert axe_violations(page) == []
    shot(page, f"room-{width}-{scheme}")
    for path in ("evidence/", "evidence/1/", "compare/", "case/", "members/", "activity/"):
        page.goto(sample_room + path)
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is {wide} px too wide at {width}"
        shot(page, f"{path.strip('/').replace('/', '-')}-{width}-{scheme}")
