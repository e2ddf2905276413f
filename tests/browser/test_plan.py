"""Plan, status and members as two people use them: by keyboard, at the same time, on a phone, in a zone of their own."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in
from tests.browser.test_story import invited, new_room
from tests.served import Served

A_MINUTE = 60_000


def live(page: Page, address: str) -> None:
    """Open a page and wait until it hears of the room."""
    page.goto(address)
    expect(page.locator("#live")).to_have_attribute("data-state", "on")


def reach(page: Page, name: str, role: str = "link", most: int = 80) -> None:
    """Tab on until a link, button or field has the focus; the focus must be seen on it."""
    for _ in range(most):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "() => { const at = document.activeElement, style = getComputedStyle(at);"
            " if (at === document.body) return ['', true];"  # nothing has the focus yet; its text is that of the page
            " const label = at.labels?.[0]?.textContent ?? at.getAttribute('aria-label') ?? at.textContent;"
            " return [label.trim(), style.outlineStyle !== 'none' || style.borderColor]; }"
        )
        if name in found[0]:
            assert found[1], f"the focus on {name} cannot be seen"
            return
    raise AssertionError(f"{role} {name} is not reached by Tab")


def test_two_people_plan_and_see_each_other_do_it(ada: Page, person: Callable[..., Page], exhibit: Served) -> None:
    room = new_room(ada, exhibit.url, "Two people plan")
    bob = person()
    invited(ada, bob, room, "planner")
    live(bob, f"{room}plan/")
    expect(bob.locator("#plan-list")).to_contain_text("Nothing is planned yet")

    # Ada asks for a decision; it stands in Bob's open page by itself, and he decides.
    ada.goto(f"{room}plan/decisions/new/")
    ada.get_by_label("What must be decided").fill("Restart db1 tonight?")
    ada.get_by_role("button", name="Save").click()
    question = bob.locator("tr", has_text="Restart db1 tonight?")
    question.wait_for(timeout=A_MINUTE)
    assert axe_violations(bob) == []
    live(ada, f"{room}plan/")
    question.get_by_role("link", name="Decide").click()
    bob.get_by_label("What was decided").fill("Yes, at ten.")
    bob.get_by_role("button", name="Save").click()
    expect(ada.locator("tr", has_text="Restart db1 tonight?")).to_contain_text("Yes, at ten.", timeout=A_MINUTE)

    # Both open the same action; who saves second sees the words of the other and loses none of their own.
    bob.goto(f"{room}plan/actions/new/")
    bob.get_by_label("What is to be done").fill("Trace a login.")
    bob.get_by_role("button", name="Save").click()
    for page in (ada, bob):
        page.locator("tr", has_text="Trace a login.").wait_for(timeout=A_MINUTE)
    for page in (ada, bob):
        page.goto(f"{room}plan/")
        row = page.locator("tr", has_text="Trace a login.")
        row.locator("summary").click()
        row.get_by_role("link", name="Edit").click()
    ada.get_by_label("What is to be done").fill("Trace a login.\nOn db1.")
    ada.get_by_role("button", name="Save").click()
    ada.locator("#plan-list").wait_for()
    bob.get_by_label("What is to be done").fill("By noon: Trace a login.")
    bob.get_by_role("button", name="Save").click()
    expect(bob.locator("main")).to_contain_text("ada changed it meanwhile")
    kept = bob.get_by_label("What is to be done").input_value()
    assert "On db1." in kept, kept
    assert "By noon" in kept, kept
    assert axe_violations(bob) == []
    shot(bob, "plan-overtaken")
    bob.get_by_role("button", name="Save").click()
    expect(bob.locator("#plan-list")).to_contain_text("On db1.")

    # Who is removed sees nothing of the room any more.
    ada.goto(f"{room}members/")
    ada.locator("tr", has_text="planner").get_by_role("button", name="Remove").click()
    expect(ada.locator("tr", has_text="planner")).to_have_count(0)
    bob.goto(f"{room}plan/")
    expect(bob.locator("h1")).to_contain_text(re.compile("not found|nothing here", re.IGNORECASE))


def test_status_is_set_in_the_readers_zone_and_seen_in_the_other_window(
    ada: Page, chromium: Browser, admin_state: StorageState, exhibit: Served
) -> None:
    room = new_room(ada, exhibit.url, "Two zones")
    live(ada, f"{room}status/")
    expect(ada.locator("#standing")).to_contain_text("Nobody has said yet")
    context = chromium.new_context(timezone_id="Asia/Tokyo")
    sign_in(context, admin_state)
    there = context.new_page()
    there.goto(room)  # the first page tells the server the zone
    there.goto(f"{room}status/")
    started = there.get_by_label("Started (Asia/Tokyo)")
    expect(there.locator("#zone")).to_contain_text("your browser’s zone")
    started.fill("2016-04-14T14:58:00")
    there.get_by_role("button", name="Save").click()
    expect(there.locator("#standing time").first).to_have_attribute("datetime", "2016-04-14T05:58:00+00:00")
    expect(started).to_have_value("2016-04-14T14:58")  # without seconds that are none
    # The other window shows the same instant in its own zone, without being loaded again.
    expect(ada.locator("#standing time").first).to_have_attribute(
        "datetime", "2016-04-14T05:58:00+00:00", timeout=A_MINUTE
    )
    there.get_by_role("link", name="UTC", exact=True).click()
    expect(there.get_by_label("Started (UTC)")).to_have_value("2016-04-14T05:58")
    there.get_by_label("Detected (UTC)").fill("2016-04-14T05:00:00")
    there.get_by_role("button", name="Save").click()
    expect(there.locator("main")).to_contain_text("lies before")
    assert axe_violations(there) == []
    context.close()


def test_plan_status_and_members_by_keyboard_alone(ada: Page, exhibit: Served) -> None:
    room = new_room(ada, exhibit.url, "By keyboard")
    ada.goto(f"{room}plan/")
    reach(ada, "Add an action")
    ada.keyboard.press("Enter")
    ada.get_by_label("What is to be done").wait_for()
    reach(ada, "What is to be done", "field")
    ada.keyboard.type("Ask the network team.")
    reach(ada, "Save", "button")
    ada.keyboard.press("Enter")
    expect(ada.locator("tr", has_text="Ask the network team.")).to_have_count(1)
    reach(ada, "More about this action", "summary")
    ada.keyboard.press("Enter")
    reach(ada, "Begin", "button", most=3)
    ada.keyboard.press("Enter")
    expect(ada.locator("tr", has_text="Ask the network team.")).to_contain_text("doing")
    ada.goto(f"{room}status/")
    reach(ada, "Detected now", "button")
    ada.keyboard.press("Space")
    expect(ada.locator("#standing")).to_contain_text("Detected")
    ada.goto(f"{room}members/")
    reach(ada, "Make a link", "button")
    ada.keyboard.press("Enter")
    expect(ada.locator("pre.command")).to_contain_text("/join/")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_they_fit_a_phone_and_every_word_can_be_read(
    person: Callable[..., Page], admin_state: StorageState, exhibit: Served, scheme: str
) -> None:
    page = person(390, 844, scheme)
    sign_in(page.context, admin_state)
    room = new_room(page, exhibit.url, f"On a phone, {scheme}")
    page.goto(f"{room}plan/actions/new/")
    page.get_by_label("What is to be done").fill("Trace a login on db1 with truss -feald, and send the file. " * 4)
    page.get_by_label("Expected effect").fill("Logins below a second.")
    page.get_by_role("button", name="Save").click()
    for name in ("plan/", "plan/decisions/new/", "plan/actions/new/", "status/", "members/", "webhooks/"):
        page.goto(room + name)
        page.locator("h1").first.wait_for()
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, (name, wide)
        small = page.evaluate(
            "() => [...document.querySelectorAll('main a, main button, main select, main input:not([type=hidden])')]"
            ".filter((one) => one.offsetParent && !one.closest('p, li, td, label') && one.getBoundingClientRect().height < 24)"
            ".map((one) => one.outerHTML.slice(0, 90))"
        )
        assert small == [], name
        assert axe_violations(page) == [], name
        shot(page, f"phone-{scheme}-{name.replace('/', '-')}")
