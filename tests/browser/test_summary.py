"""The summary: on a phone, as a PDF that is looked at, behind a link in a browser without account, then taken back."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pypdfium2
import pytest
from playwright.sync_api import Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in
from tests.served import Served


def whole(page: Page, name: str) -> None:
    """Keep a picture of the whole page where SHOTS names a folder."""
    if folder := os.environ.get("SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def fits(page: Page) -> bool:
    wide: int = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide <= 0


def write(ada: Page, room: str, section: str, text: str) -> None:
    ada.goto(f"{room}summary/edit/{section}/")
    ada.get_by_label("Your words").fill(text)
    ada.get_by_role("button", name="Save").click()
    ada.locator("#summary-sheet").wait_for()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_is_accessible(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState, width: int, scheme: str
) -> None:
    page = person(width, 960 if width > 1000 else 844, scheme)
    sign_in(page.context, admin_state)
    page.goto(f"{sample_room}summary/")
    expect(page.locator("#s-cause")).to_contain_text("database")
    assert fits(page)
    assert axe_violations(page) == []
    whole(page, f"summary-{width}-{scheme}")
    for path in ("summary/edit/cause/", "summary/versions/", "summary/links/"):
        page.goto(sample_room + path)
        assert fits(page), path
        assert axe_violations(page) == [], path
        whole(page, f"{path.strip('/').replace('/', '-')}-{width}-{scheme}")


def test_words_appear_in_another_window_and_what_differs_is_marked(
    ada: Page, person: Callable[..., Page], sample_room: str, admin_state: StorageState
) -> None:
    phone = person(390, 844)
    sign_in(phone.context, admin_state)
    phone.goto(f"{sample_room}summary/")
    expect(phone.locator("#live")).to_have_attribute("data-state", "on")
    write(ada, sample_room, "cause", "Each login pauses for 2.1 s on the database host. The network is the culprit.")
    cause = phone.locator("#s-cause")
    expect(cause).to_contain_text("The text says 2.1 s; the evidence 2.473 s.", timeout=5_000)
    expect(cause).to_contain_text("blames the network")
    cause.get_by_text("Exhibit’s own words").click()
    expect(cause.locator("details.machine")).to_contain_text("up to 2.5 seconds")
    assert fits(phone)
    assert axe_violations(phone) == []
    whole(phone, "summary-edited-390")
    # A number opens the finding that it stands for.
    cause.locator("a.ref").first.click()
    expect(phone.locator("#drawer")).to_contain_text("0x3C0000000")
    # Keys lead here from anywhere in the room.
    ada.goto(sample_room)
    ada.locator("#verdict").wait_for()
    ada.keyboard.press("g")
    ada.keyboard.press("s")
    ada.wait_for_url(re.compile("/summary/$"))
    ada.goto(f"{sample_room}summary/edit/cause/")
    ada.get_by_label("Your words").fill("")
    ada.get_by_role("button", name="Save").click()
    expect(phone.locator("body")).to_be_visible()


def test_a_draft_outlives_a_reload(ada: Page, sample_room: str) -> None:
    ada.goto(f"{sample_room}summary/edit/next/")
    ada.get_by_label("Your words").fill("Half a thought")
    ada.wait_for_timeout(500)  # the draft is kept a moment after the last key
    ada.reload()
    expect(ada.get_by_label("Your words")).to_have_value("Half a thought")
    ada.get_by_role("link", name="Cancel").click()


def test_the_pdf_is_one_page_and_its_lines(ada: Page, sample_room: str, tmp_path: Path) -> None:
    ada.goto(f"{sample_room}summary/")
    with ada.expect_download() as waiting:
        ada.get_by_role("link", name="PDF").click()
    file = tmp_path / "summary.pdf"
    waiting.value.save_as(file)
    document = pypdfium2.PdfDocument(file)
    try:
        texts = [document[i].get_textpage().get_text_range() for i in range(len(document))]
        pictures = [document[i].render(scale=1.5).to_pil() for i in range(len(document))]
    finally:
        document.close()
    assert "Next" in texts[0]
    assert texts[1].startswith("Evidence cited")
    assert "0x3C0000000" in "".join(texts[1:])
    # Ink down to the last third of the first page, and nothing at its very edge.
    first = pictures[0].convert("L")
    assert first.crop((0, first.height // 2, first.width, first.height * 2 // 3)).getextrema()[0] < 100
    assert first.crop((0, 0, 20, first.height)).getextrema()[0] > 200
    if folder := os.environ.get("SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for i, picture in enumerate(pictures[:3], 1):
            picture.save(Path(folder) / f"summary-pdf-{i}.png")


def test_a_link_opens_without_an_account_until_it_is_taken_back(
    ada: Page, person: Callable[..., Page], sample_room: str, exhibit: Served
) -> None:
    ada.goto(f"{sample_room}summary/links/")
    ada.get_by_role("button", name="Freeze the page as it is now").click()
    ada.get_by_label("Whom is it for?").fill("the board")
    ada.get_by_role("button", name="Make a link").click()
    link = ada.locator("pre.command").inner_text()
    assert link.startswith(f"{exhibit.url}/shared/")
    assert axe_violations(ada) == []
    whole(ada, "summary-link-made")
    boss = person(390, 844)
    boss.goto(link)
    expect(boss.locator("#s-cause")).to_contain_text("database")
    boss.locator("#s-cause a.ref").first.click()  # opens the lines within the page itself
    expect(boss.locator("#source-1")).to_be_in_viewport()
    expect(boss.locator("#source-1")).to_contain_text("0x3C0000000")
    assert boss.url.startswith(link)
    assert fits(boss)
    assert axe_violations(boss) == []
    whole(boss, "summary-shared-390")
    boss.goto(f"{exhibit.url}{sample_room.removeprefix(exhibit.url)}")
    expect(boss.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    ada.goto(f"{sample_room}summary/links/")
    expect(ada.locator("table")).to_contain_text("1 time")
    ada.get_by_role("button", name="Take back").click()
    answer = boss.goto(link)
    assert answer is not None
    assert answer.status == 410
    expect(boss.locator("main")).to_contain_text("taken back")
    assert axe_violations(boss) == []
    shot(boss, "summary-shared-gone")
