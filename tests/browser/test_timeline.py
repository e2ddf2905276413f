"""The timeline as people use it: select, look at a span's lines, choose and keep lanes, save, share a link, the wall."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import axe_violations, sign_in


def frame_of_calls(page: Page) -> Locator:
    page.locator("[data-timeline][data-painted]").wait_for()
    return page.locator(".tl-frame:not([data-frame=people])").last


def drag(page: Page, frame: Locator, begin: float, end: float) -> None:
    canvas = frame.locator("canvas.tl-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] * begin, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, box["y"] + 10, steps=5)
    page.mouse.up()
    page.keyboard.up("Shift")


def test_a_selected_range_answers_and_its_link_opens_the_same(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    drag(ada, frame, 0.3, 0.8)
    panel = frame.locator(".tl-panel")
    expect(panel).to_contain_text("Calls by process")
    expect(panel).to_contain_text("shmat")
    expect(panel).to_contain_text("Findings inside")
    assert axe_violations(ada) == []
    assert "sel=" in ada.url
    again = ada.context.new_page()
    again.goto(ada.url)
    expect(frame_of_calls(again).locator(".tl-panel")).to_contain_text("Calls by process")
    frame.get_by_role("button", name="Forget it").click()
    expect(panel).to_be_hidden()
    assert "sel=" not in ada.url


def test_the_keyboard_walks_through_spans_and_shows_their_lines(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    frame.locator("canvas.tl-canvas").focus()
    for _ in range(40):
        ada.keyboard.press(".")
        if "shmat" in frame.locator(".tl-strip").inner_text():
            break
    expect(frame.locator(".tl-panel")).to_contain_text("shmat(16777281, 0x3C0000000, IPC_ALLOC)")
    assert "span=" in ada.url
    ada.keyboard.press("s")
    expect(frame.locator(".tl-panel")).to_contain_text("Whose seconds")
    ada.keyboard.press("Escape")
    expect(frame.locator(".tl-panel")).to_be_hidden()


def test_lanes_are_hidden_added_moved_and_kept(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    names = frame.locator(".tl-names li")
    before = names.count()
    frame.get_by_role("button", name="Lanes").click()
    dialog = ada.get_by_role("dialog", name=re.compile("Lanes of"))
    dialog.get_by_role("checkbox", name=re.compile("3728.1$")).uncheck()
    expect(names).to_have_count(before - 1)
    dialog.get_by_role("searchbox").fill("failed")
    dialog.get_by_role("checkbox", name="System calls that failed").check()
    expect(frame.locator(".tl-names")).to_contain_text("failed")
    dialog.get_by_role("button", name=re.compile("Pin .*3731.1$")).click()
    expect(names.first).to_contain_text("3731/1")
    assert axe_violations(ada) == []
    dialog.get_by_role("button", name="Keep for me").click()
    expect(dialog).to_contain_text("Kept for you.")
    ada.goto(sample_room)  # a fresh address: what was kept holds
    expect(frame_of_calls(ada).locator(".tl-names")).to_contain_text("failed")
    expect(frame_of_calls(ada).locator(".tl-names li").first).to_contain_text("3731/1")
    frame_of_calls(ada).get_by_role("button", name="Lanes").click()
    ada.get_by_role("button", name="As it was").click()
    expect(ada.get_by_role("dialog", name=re.compile("Lanes of"))).to_contain_text("Forgotten")


def test_lanes_shared_with_the_room_arrive_by_themselves(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame_of_calls(ada)
    other = ada.context.new_page()
    other.goto(sample_room)
    frame = frame_of_calls(other)
    frame.get_by_role("button", name="Lanes").click()
    dialog = other.get_by_role("dialog", name=re.compile("Lanes of"))
    dialog.get_by_role("checkbox", name="System calls that failed").check()
    dialog.get_by_role("button", name="Share with the room").click()
    expect(dialog).to_contain_text("The room sees these lanes now")
    expect(frame_of_calls(ada).locator(".tl-names")).to_contain_text("failed")


def test_the_window_is_saved_as_picture_rows_and_trace(ada: Page, sample_room: str, tmp_path: Path) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    made: dict[str, bytes] = {}
    for words, name in (
        ("Picture (SVG)", "svg"),
        ("Picture (PNG)", "png"),
        ("Rows (CSV)", "csv"),
        ("Trace for Perfetto", "trace"),
    ):
        frame.locator(".tl-save").evaluate("menu => { menu.open = true; }")
        with ada.expect_download() as waiting:
            frame.locator(".tl-save").get_by_text(words, exact=True).click()
        path = tmp_path / name
        waiting.value.save_as(path)
        made[name] = path.read_bytes()
    assert b"shmat at most 2.473 s" in made["svg"]
    assert made["png"].startswith(b"\x89PNG")
    assert b"shmat" in made["csv"]
    assert any(event["name"] == "shmat" and event["ph"] == "X" for event in json.loads(made["trace"])["traceEvents"])


def test_the_waits_are_drawn_on_demand(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame_of_calls(ada)
    frame = ada.locator(".tl-frame").first
    with ada.expect_response(re.compile("timeline/waits")) as waiting:
        frame.get_by_role("button", name="Show waits").click()
    assert [edge["kind"] for edge in waiting.value.json()["waits"]] == ["socket"]
    expect(frame.get_by_role("button", name="Hide waits")).to_have_attribute("aria-pressed", "true")


def test_the_wall_is_large_and_has_nothing_to_press(ada: Page, sample_room: str) -> None:
    ada.goto(f"{sample_room}?wall")
    ada.locator("[data-timeline][data-painted]").wait_for()
    expect(ada.locator("#wall")).to_contain_text("attach")
    assert ada.locator("#wall button, #wall form").count() == 0
    assert ada.locator(".tl-frame button:visible").count() == 0
    assert axe_violations(ada) == []


def test_without_scripts_the_timeline_is_a_picture(ada: Page, sample_room: str) -> None:
    browser = ada.context.browser
    assert browser
    plain = browser.new_context(java_script_enabled=False)
    sign_in(plain, ada.context.storage_state())
    page = plain.new_page()
    page.goto(sample_room)
    picture = page.get_by_role("img", name="Timeline of this room")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box
    assert box["height"] > 100
    plain.close()
