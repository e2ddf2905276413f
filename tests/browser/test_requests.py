"""A request answered by link: made by a member, answered in a second browser without account, taken in, closed, told."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import FilePayload, Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in

VMSTAT = b"""procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 812340  20480 400123    0    0     1     2  110  220  3  1 96  0  0
 2  0      0 812100  20480 400125    0    0     0     8  130  260  5  1 94  0  0
"""


def ask(page: Page, room: str, what: str) -> str:
    """Ask somebody without an account; returns the link that this makes."""
    page.goto(room + "requests/new/")
    page.get_by_label("What is needed").fill(what)
    page.get_by_label("Command").fill("vmstat 5 12")
    page.get_by_label("Ask", exact=True).select_option("link")
    page.get_by_role("button", name="Ask", exact=True).click()
    return page.locator("#made-link pre.command").inner_text()


def test_a_request_is_answered_by_link_and_the_asker_is_told(
    ada: Page, sample_room: str, person: Callable[..., Page]
) -> None:
    ada.goto(sample_room)
    ada.keyboard.press("g")
    ada.keyboard.press("q")
    ada.wait_for_url(re.compile(r"/requests/$"))
    link = ask(ada, sample_room, "Samples of the host while it is slow")
    assert axe_violations(ada) == []

    stranger = person()
    stranger.goto(link)
    body = stranger.locator("body").inner_text()
    assert "Logins" not in body
    assert "ada" not in body.replace("database", "")
    assert "Samples of the host while it is slow" in body
    assert axe_violations(stranger) == []
    stranger.set_input_files("input[type=file]", FilePayload(name="vmstat.txt", mimeType="text/plain", buffer=VMSTAT))
    stranger.get_by_role("button", name="Send this file").click()
    expect(stranger.locator("#given li.ok")).to_contain_text("SHA-256")
    shot(stranger, "give-sent")

    # The member's page hears of it by itself, on whichever page of the request it stands.
    expect(ada.locator("#quarantine")).to_contain_text("vmstat.txt")
    evidence = ada.locator("#evidence-count").inner_text()
    assert axe_violations(ada) == []
    shot(ada, "request-quarantine")
    ada.get_by_role("button", name="Take in vmstat.txt").click()
    expect(ada.locator("#request-live")).to_contain_text("Answered by")
    expect(ada.locator("#request-live")).to_contain_text("What it changed:", timeout=60_000)
    expect(ada.locator("#evidence-count")).to_have_text(str(int(evidence) + 1))
    shot(ada, "request-answered")
    ada.goto(sample_room.split("/rooms/")[0] + "/notifications/")
    expect(ada.locator(".notices")).to_contain_text("has judged what you asked for")

    answer = stranger.goto(link)
    assert answer is not None
    assert answer.status == 410
    expect(stranger.locator("main")).to_contain_text("What was asked for here has arrived")
    assert axe_violations(stranger) == []


def test_the_upload_page_works_without_scripts(ada: Page, sample_room: str, person: Callable[..., Page]) -> None:
    link = ask(ada, sample_room, "The listener's log")
    browser = person().context.browser
    assert browser is not None
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(link)
    page.set_input_files("input[type=file]", FilePayload(name="l.log", mimeType="text/plain", buffer=b"a line\n"))
    page.get_by_role("button", name="Send this file").click()
    expect(page.locator("main")).to_contain_text("Received")
    expect(page.locator("main")).to_contain_text("SHA-256")
    page.get_by_label("Text").fill("pasted words\n")
    page.get_by_role("button", name="Send this text").click()
    expect(page.locator("main")).to_contain_text("pasted.txt")
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_pages_fit_and_are_accessible(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState, width: int, scheme: str
) -> None:
    page = person(width, 900, scheme)
    sign_in(page.context, admin_state)
    for path in ("requests/", "requests/?show=all", "requests/new/", "requests/collect/"):
        page.goto(sample_room + path)
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is {wide} px too wide at {width}"
        assert axe_violations(page) == [], path
    page.get_by_label("System").select_option("aix")
    expect(page.locator("#collect-block")).to_contain_text("lparstat -i")
    page.locator("summary", has_text="Show the block").click()
    assert axe_violations(page) == []
    shot(page, f"collect-{width}-{scheme}")
