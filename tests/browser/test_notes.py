"""People write on it together: two edit one text, a connection is lost while typing, a keyboard, a phone."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from email import message_from_bytes, policy
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Route, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in
from tests.browser.test_story import invited
from tests.served import Served

LOST_S = 30.0
AT_ONCE_S = 1.0
Scheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def nils_state(exhibit: Served, chromium: Browser, admin_state: StorageState, sample_room: str) -> StorageState:
    """A second member of the sample room, who joined by an invitation."""
    ours, theirs = chromium.new_context(), chromium.new_context()
    sign_in(ours, admin_state)
    ada, nils = ours.new_page(), theirs.new_page()
    invited(ada, nils, sample_room, "nils")
    state = theirs.storage_state()
    ours.close()
    theirs.close()
    return state


@pytest.fixture
def both(person: Callable[..., Page], admin_state: StorageState, nils_state: StorageState, sample_room: str):
    """Ada, the lead, and Nils, an investigator, on the room's page, both hearing its news."""
    pages = []
    for state in (admin_state, nils_state):
        page = person()
        sign_in(page.context, state)
        page.goto(sample_room)
        expect(page.locator("#live")).to_have_attribute("data-state", "on")
        pages.append(page)
    return pages


def write(page: Page, text: str) -> None:
    box = page.locator("#note-new")
    if box.get_attribute("open") is None:
        box.locator("summary").click()
    box.locator("textarea").fill(text)
    box.get_by_role("button", name="Save note").click()


def note_of(page: Page, text: str) -> int:
    row = page.locator("#notes [data-note]", has_text=text).last
    expect(row).to_be_visible()
    return int(row.get_attribute("data-note") or 0)


def edit(page: Page, id: int, text: str) -> None:
    page.locator(f"#notes [data-note='{id}']").get_by_label("Edit note").click()
    page.locator(f"#notes form[data-editing='{id}'] textarea").fill(text)


def save(page: Page, id: int) -> None:
    page.locator(f"#notes form[data-editing='{id}']").get_by_role("button", name="Save").click()


def test_two_edit_one_note_at_once_and_no_word_is_lost(both: list[Page], sample_room: str) -> None:
    ada, nils = both
    write(nils, "The gap ends at the 18 GB segment. Ask the DBA team. (both)")
    id = note_of(nils, "(both)")
    assert note_of(ada, "(both)") == id
    edit(nils, id, "The gap ends at the 17.875 GiB segment, not the small one. Ask the DBA team. (both)")
    edit(ada, id, "The gap ends at the 18 GB DISM segment. Ask the DBA team on call, today. (both)")
    save(nils, id)
    expect(ada.locator(".meanwhile")).to_contain_text("nothing is lost")
    save(ada, id)
    merge = ada.locator("#notes form.merge")
    expect(merge).to_contain_text("nils changed this note while you wrote")
    expect(merge.locator("ins", has_text="17.875 GiB segment, not the small one.")).to_be_visible()
    proposal = merge.locator("textarea")
    assert "nils: 17.875 GiB segment, not the small one. ‖ you: 18 GB DISM segment." in proposal.input_value()
    assert "on call, today. (both)" in proposal.input_value()
    assert axe_violations(ada) == []
    shot(ada, "notes-merge")

    # A reload in the middle of deciding loses nothing either: the page says so and leads back.
    decided = re.sub("⟦.*?⟧", "the 17.875 GiB DISM segment", proposal.input_value())
    proposal.fill(decided)
    ada.reload()
    ada.locator("#unsent").get_by_role("link", name="Go on writing").click()
    expect(ada.locator("form[data-editing] textarea")).to_have_value(decided)
    expect(ada.locator(".restored")).to_contain_text("not sent yet")
    ada.get_by_role("button", name="Save").click()
    expect(nils.locator(f"#notes [data-note='{id}']")).to_contain_text("DISM segment Ask the DBA team on call, today.")
    ada.goto(f"{sample_room}notes/{id}/history/")
    expect(ada.locator(".history > li")).to_have_count(3)
    expect(ada.locator("#unsent")).to_have_count(0)


def test_a_draft_survives_a_reload_and_half_a_minute_without_connection(
    both: list[Page], chromium: Browser, admin_state: StorageState, sample_room: str
) -> None:
    nils = both[1]
    context = chromium.new_context()  # not `person`: htmx reports a request that found no network as an error
    sign_in(context, admin_state)
    page = context.new_page()
    page.goto(sample_room)
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    page.locator("#note-new > summary").click()
    text = page.locator("#note-new textarea")
    text.press_sequentially("Begun before a reload,")
    page.reload()
    expect(text).to_have_value("Begun before a reload,")
    expect(page.locator("#note-new .restored")).to_contain_text("Restored what you typed")
    expect(page.locator("#live")).to_have_attribute("data-state", "on")

    context.set_offline(True)
    lost = time.monotonic()
    text.press("End")
    text.press_sequentially(" typed while it was lost,", delay=30)
    page.get_by_role("button", name="Save note").click()
    expect(page.locator("#note-new .restored")).to_contain_text("sent by itself when the connection is back")
    while time.monotonic() - lost < LOST_S:
        text.press_sequentially(" on", delay=20)
        time.sleep(2)
    typed = text.input_value()
    context.set_offline(False)
    expect(nils.locator("#notes .note-text", has_text=typed)).to_have_count(1, timeout=20_000)
    expect(text).to_have_value("")
    page.reload()
    expect(page.locator("#notes .note-text", has_text="typed while it was lost")).to_have_count(1)
    expect(page.locator("#note-new textarea")).to_have_value("")
    context.close()


def test_a_note_whose_answer_got_lost_is_written_once(
    both: list[Page], chromium: Browser, admin_state: StorageState, sample_room: str
) -> None:
    nils = both[1]
    context = chromium.new_context()
    sign_in(context, admin_state)
    page = context.new_page()
    page.goto(sample_room)
    lost: list[int] = []
    back: list[bool] = []

    def swallow(route: Route) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch().status)  # the server has it, the page will never know
            route.abort("connectionreset")
        elif route.request.method == "POST" and not back:
            route.abort("connectionreset")  # it tries again every four seconds, also while this test reads
        else:
            route.continue_()

    page.route("**/notes/", swallow)
    write(page, "Sent once, answered never.")
    expect(nils.locator("#notes .note-text", has_text="Sent once, answered never.")).to_have_count(1)
    page.locator("#note-new textarea").press_sequentially(" And more.")
    back.append(True)
    expect(nils.locator("#notes .note-text", has_text="Sent once, answered never. And more.")).to_have_count(
        1, timeout=20_000
    )
    assert lost == [200]
    nils.reload()
    expect(nils.locator("#notes .note-text", has_text="Sent once, answered never.")).to_have_count(1)
    context.close()


def test_what_is_typed_while_a_note_is_stored_stays(
    both: list[Page], chromium: Browser, admin_state: StorageState, sample_room: str
) -> None:
    context = chromium.new_context()
    sign_in(context, admin_state)
    page = context.new_page()
    page.goto(sample_room)
    held: list[Route] = []
    page.route("**/notes/", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    write(page, "Sent on a slow line.")
    text = page.locator("#note-new textarea")
    text.press_sequentially(" The next thought.")
    late = time.monotonic() + LOST_S
    while not held and time.monotonic() < late:
        page.wait_for_timeout(50)  # the browser asks before it sends
    assert len(held) == 1
    held[0].continue_()
    expect(both[1].locator("#notes .note-text", has_text="Sent on a slow line.")).to_have_text("Sent on a slow line.")
    expect(text).to_have_value("The next thought.")
    page.unroute("**/notes/")
    page.reload()
    expect(text).to_have_value("The next thought.")
    page.get_by_role("button", name="Save note").click()
    expect(both[1].locator("#notes .note-text", has_text="The next thought.")).to_have_count(1)
    context.close()


def test_by_keyboard_alone(both: list[Page], exhibit: Served) -> None:
    """Write, link, mention, reply, resolve: no pointer. What is written arrives at the other within a second."""
    ada, nils = both
    ada.keyboard.press("n")  # on the finding in the drawer
    expect(ada.locator("textarea:focus")).to_have_count(1)
    ada.keyboard.type("Keyboard: see #", delay=30)
    offers = ada.get_by_role("listbox", name="Suggestions")
    expect(offers.get_by_role("option").nth(8)).to_be_attached()  # more than it shows without scrolling
    assert axe_violations(ada) == []
    ada.keyboard.type("shm", delay=30)
    expect(offers.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    shot(ada, "notes-completion")
    ada.keyboard.press("ArrowDown")
    ada.keyboard.press("ArrowUp")
    ada.keyboard.press("Enter")
    expect(offers).to_be_hidden()
    ada.keyboard.type("and @ni", delay=30)
    expect(offers.get_by_role("option")).to_have_count(1)
    ada.keyboard.press("Tab")
    ada.keyboard.type("please #truss:91-107", delay=30)
    expect(offers.get_by_role("option").first).to_be_visible()
    ada.keyboard.press("Enter")
    sent = time.monotonic()
    ada.keyboard.press("Control+Enter")
    expect(nils.locator("#notes .note-text", has_text="Keyboard: see").first).to_be_visible()
    expect(nils.locator("#bell")).to_have_attribute("aria-label", re.compile("unread"))
    assert time.monotonic() - sent < AT_ONCE_S + 1  # the second is the polling of this test
    text = nils.locator("#notes .note-text", has_text="Keyboard: see").first
    expect(text.locator("a.finding")).to_be_visible()
    expect(text.locator("a.lines")).to_have_text(re.compile("91–107"))
    expect(text.locator(".person")).to_have_text("@nils")

    thread = nils.locator("#notes .thread", has_text="Keyboard: see").first
    thread.locator("summary", has_text="Reply").focus()
    nils.keyboard.press("Enter")
    nils.keyboard.press("Tab")
    nils.keyboard.type("I looked.")
    nils.keyboard.press("Control+Enter")
    expect(ada.locator("#notes .note.reply", has_text="I looked.").first).to_be_visible()
    expect(ada.locator("#bell")).to_have_attribute("aria-label", re.compile("unread"))
    thread.get_by_role("button", name="Resolve").focus()
    nils.keyboard.press("Enter")
    expect(ada.locator("#notes .thread.resolved", has_text="Keyboard: see")).to_be_visible()

    def mailed() -> list[str]:
        files = (exhibit.var / "mail").glob("*")
        return [str(message_from_bytes(file.read_bytes(), policy=policy.default)["To"]) for file in files]

    until = time.monotonic() + 40
    while "nils@example.com" not in mailed() and time.monotonic() < until:
        time.sleep(0.5)
    assert "nils@example.com" in mailed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_pages_fit_and_can_be_read(
    width: int,
    scheme: Scheme,
    person: Callable[..., Page],
    admin_state: StorageState,
    nils_state: StorageState,
    exhibit: Served,
    sample_room: str,
) -> None:
    page = person(width, 844, scheme)
    sign_in(page.context, admin_state)
    page.goto(f"{sample_room}notes/new/?clock=3.1:1&from=9.5&to=11.25&lane=server-3731&label=server%203731")
    expect(page.locator("main")).to_contain_text("On lane server 3731, clock 3.1:1, 9.500 to 11.250 s")
    page.locator("main textarea").fill(
        f"**{scheme} {width}** @nils\n\n- `{'x' * 80}`\n- {'long' * 40}\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    page.get_by_role("button", name="Save note").click()
    page.locator("#verdict").wait_for()
    expect(page.locator("#unsent")).to_have_count(0)  # sent, so no draft is left
    expect(page.locator("#live")).to_have_attribute("data-state", "on")  # until then the page may still move
    page.locator("#notes .thread", has_text=f"{scheme} {width}").locator("a.when").click()
    page.locator("h1", has_text="Thread").wait_for()
    thread = page.url
    for name, address in (
        ("thread", thread),
        ("notes", f"{sample_room}notes/"),
        ("notes-none", f"{sample_room}notes/?q=no+note+says+this"),
        ("notifications", f"{exhibit.url}/notifications/"),
    ):
        page.goto(address)
        page.locator("h1").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        assert axe_violations(page) == [], name
        shot(page, f"{name}-{width}-{scheme}")


def test_reading_needs_no_scripts(
    chromium: Browser, nils_state: StorageState, both: list[Page], sample_room: str
) -> None:
    write(both[0], "Read without scripts, see #artifact-3:1-5.")
    note_of(both[0], "Read without scripts")
    context = chromium.new_context(java_script_enabled=False)
    sign_in(context, nils_state)
    page = context.new_page()
    page.goto(f"{sample_room}notes/")
    expect(page.locator(".note-text a.lines").first).to_be_visible()
    page.goto(f"{sample_room}notes/new/?artifact=3&line_from=2")
    page.locator("main textarea").fill("Written without scripts.")
    page.get_by_role("button", name="Save note").click()
    page.goto(f"{sample_room}notes/?q=Written+without")
    expect(page.locator(".note-text")).to_have_text("Written without scripts.")
    page.locator("a.when").click()
    page.locator("summary", has_text="Reply").click()
    page.locator("main textarea").fill("Answered without scripts.")
    page.get_by_role("button", name="Send reply").click()
    expect(page.locator(".note.reply .note-text")).to_have_text("Answered without scripts.")
    page.get_by_role("button", name="Resolve").click()
    expect(page.locator("main")).to_contain_text("Resolved by nils")
    context.close()


def test_notes_on_lines_come_to_who_reads_them(both: list[Page], sample_room: str) -> None:
    ada, nils = both
    ada.goto(f"{sample_room}evidence/3/#L14-L16")
    nils.goto(f"{sample_room}evidence/3/")
    expect(nils.locator("#live")).to_have_attribute("data-state", "on")
    form = ada.locator("#line-note")
    for text in ("The attach begins here.", "And ends in line 30."):
        form.locator("textarea").fill(text)
        form.get_by_role("button", name="Save note").click()
        expect(nils.locator("#margin-notes .note-text", has_text=text)).to_have_count(1)
        expect(form.locator("textarea")).to_have_value("")  # ready for the next
    expect(ada.locator("#margin-notes .place").last).to_have_text("truss-listener.txt 14–16")


def test_a_hostile_note_does_nothing_at_the_others(both: list[Page]) -> None:
    ada, nils = both
    heard: list[str] = []
    ada.on("dialog", lambda dialog: heard.append(dialog.message))
    ada.on("request", lambda request: heard.append(request.url) if "evil.example" in request.url else None)
    write(
        nils, "Hostile <img src=x onerror=alert(1)> [x](javascript:alert(2)) ![p](http://evil.example/p.png) \u202egnp"
    )
    row = ada.locator("#notes .note-text", has_text="Hostile").last
    expect(row).to_contain_text("<img src=x onerror=alert(1)>")
    expect(row).to_contain_text("⟨U+202E⟩")
    assert row.locator("img, [onerror]").count() == 0
    assert heard == []


def test_a_disputed_verdict_says_so_at_once(both: list[Page]) -> None:
    ada, nils = both
    nils.locator("#drawer a", has_text="Dispute").first.click()
    nils.locator("#dispute-box textarea").fill("The ids differ: another start, see #artifact-3:1.")
    nils.locator("#dispute-box").get_by_role("button", name="Dispute").click()
    expect(ada.locator("#verdict")).to_contain_text("Under dispute")
    expect(ada.locator("#drawer #under-dispute")).to_contain_text("1 open objection")
    assert axe_violations(ada) == []
    shot(ada, "verdict-disputed")
    ada.locator("#under-dispute").get_by_role("link", name="Read it").click()
    ada.locator("#dispute summary", has_text="Answer it").click()
    ada.locator("#dispute textarea").first.fill("Of another start, yes; the mechanism is the same.")
    ada.get_by_role("button", name="Answer", exact=True).click()
    expect(nils.locator("#dispute")).to_contain_text("the mechanism is the same")
    expect(nils.locator("#verdict")).not_to_contain_text("Under dispute")
    expect(nils.locator("#dispute")).to_contain_text("another start")


def test_what_was_typed_a_moment_before_a_swap_is_kept(ada: Page, sample_room: str) -> None:
    """A draft is written 200 ms after the last key; a part may be swapped away sooner."""
    ada.goto(sample_room)
    kept = ada.evaluate(
        """() => {
          const area = document.querySelector("#dispute-box textarea");
          area.value = "typed just now";
          area.dispatchEvent(new InputEvent("input", { bubbles: true }));
          const detail = { elt: document.body, requestConfig: { verb: "get", elt: document.body }, xhr: { status: 200 } };
          document.body.dispatchEvent(new CustomEvent("htmx:beforeSwap", { detail }));
          return Object.values({ ...localStorage }).some((draft) => draft.includes("typed just now"));
        }"""
    )
    assert kept
    ada.reload()
    expect(ada.locator("#dispute-box textarea")).to_have_value("typed just now")
    ada.locator("#drawer").get_by_role("tab", name="Discussion").click()
    ada.get_by_role("button", name="Throw it away").click()


def test_the_forms_of_a_finding_open_in_its_discussion(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    ada.locator(".claim > a").first.click()
    ada.wait_for_url("**/findings/*/")
    for button, form in (("Dispute", "#dispute-box"), ("Note", "#note-here")):
        ada.locator("#drawer").get_by_role("tab", name="Lines").click()
        ada.locator("#see-lines").get_by_role("link", name=button, exact=True).click()
        area = ada.locator(f"{form} textarea")
        expect(area).to_be_focused()
        expect(area).to_be_in_viewport()
        area.fill("half a sentence")
    ada.locator("#note-here textarea").fill("A whole sentence.")
    ada.get_by_role("button", name="Save note").locator("visible=true").first.click()
    expect(ada.locator("#finding-notes")).to_contain_text("A whole sentence.")
    expect(ada.locator("#note-here")).to_have_count(1)
    expect(ada.locator("#dispute-box textarea")).to_have_value("half a sentence")
