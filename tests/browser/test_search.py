"""The five sample rooms in one list, what they have in common, and the search over all of them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from incidents.actions.sample import SAMPLES
from tests.browser.conftest import axe_violations, shot, sign_in
from tests.served import Served

A_MINUTE = 60_000
SENTENCES = {
    "000": "asks the cluster framework",
    "001": "attach dynamic shared memory",
    "002": "detaching 10 shared segments",
    "003": "spin on the lock of semaphore set",
    "004": "Undecided between",
}


@pytest.fixture(scope="module")
def five(exhibit: Served, chromium: Browser, admin_state: StorageState) -> dict[str, str]:
    """Open each sample room from the list, wait until it is judged, a minute at most; return their addresses."""
    context = chromium.new_context()
    sign_in(context, admin_state)
    page = context.new_page()
    opened: dict[str, str] = {}
    for one in SAMPLES:
        page.goto(exhibit.url)
        if opened:
            page.get_by_label("All five sample rooms").click()
        page.get_by_role("button", name=one.title).click()
        expect(page.locator("#verdict")).to_contain_text(SENTENCES[one.number], timeout=A_MINUTE)
        opened[one.number] = page.url.split("?")[0]
    context.close()
    return opened


def test_the_list_tells_a_manager_of_five_rooms(ada: Page, exhibit: Served, five: dict[str, str]) -> None:
    ada.goto(exhibit.url)
    rows = ada.locator(".room-row")
    expect(rows).to_have_count(5)
    row = rows.filter(has_text="Logins take 3.9 seconds")
    expect(row).to_contain_text("good support")
    expect(row).to_contain_text(re.compile(r"after \d+ (s|min)"))
    causes = ada.locator("details", has=ada.locator("summary", has_text="Cause in"))
    causes.locator("summary").click()
    causes.get_by_role("link", name="name service").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Connecting to the database")
    ada.goto(exhibit.url)
    orders = ada.locator("details", has=ada.locator("summary", has_text="Sort:"))
    orders.locator("summary").click()
    orders.get_by_role("link", name="time to verdict ↑").click()
    ada.wait_for_url(re.compile("sort=took"))
    expect(rows).to_have_count(5)


def test_a_slash_a_word_and_a_line_of_evidence(ada: Page, exhibit: Served, five: dict[str, str]) -> None:
    ada.goto(f"{five['001']}evidence/")
    ada.locator("body").press("/")
    ada.keyboard.type("0x3c0000")
    ada.keyboard.press("Enter")
    expect(ada.locator(".scope")).to_contain_text("In this room")
    hit = ada.locator(".found-lines li", has_text="truss-listener.txt:30")
    expect(hit.locator("mark").first).to_have_text("0x3C0000")
    hit.get_by_role("link").click()
    expect(ada.locator(".line", has_text="0x3C0000000").first).to_be_visible()
    ada.go_back()
    ada.get_by_role("link", name="Search all rooms").click()
    expect(ada.locator(".scope")).to_contain_text("In all your rooms")


def test_similar_rooms_come_by_themselves(ada: Page, five: dict[str, str]) -> None:
    ada.goto(five["002"])
    expect(ada.locator("#similar")).to_contain_text("Kernel time dominates")
    expect(ada.locator("#similar")).to_contain_text("Nobody can log in while the batch starts")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_and_are_accessible(
    person: Callable[..., Page],
    exhibit: Served,
    admin_state: StorageState,
    five: dict[str, str],
    width: int,
    scheme: str,
) -> None:
    page = person(width, 960 if width > 1000 else 844, scheme)
    sign_in(page.context, admin_state)
    slug = five["001"].rstrip("/").rsplit("/", 1)[1]
    for name, address in {
        "rooms": exhibit.url,
        "rooms-none": f"{exhibit.url}/?q=zzzz",
        "rooms-same": f"{exhibit.url}/?same={slug}",
        "search": f"{exhibit.url}/search/?q=shmat",
        "search-room": f"{exhibit.url}/search/?q=dism&room={slug}",
        "search-lines": f"{exhibit.url}/search/?q=read&kind=line",
        "search-none": f"{exhibit.url}/search/?q=zzzzyx",
        "search-refused": f"{exhibit.url}/search/?q=%2D%3E",
        "search-blank": f"{exhibit.url}/search/",
        "similar": f"{five['002']}similar/",
    }.items():
        page.goto(address)
        expect(page.get_by_text("Looking through the lines")).to_have_count(0)
        assert axe_violations(page) == [], name
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is {wide} px too wide at {width}"
        shot(page, f"{name}-{width}-{scheme}")
