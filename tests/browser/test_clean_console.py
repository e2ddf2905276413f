"""Every page of a full room: nothing in the console, no report of the content policy, no request that is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, Response, StorageState, expect

from benchmarks import inside
from tests.browser.conftest import sign_in
from tests.gallery import SHOTS
from tests.served import Served

#: Pages of the sample room that its address alone opens; the gallery names every page, the rest needs what a room holds.
ALONE = sorted({shot.name for shot in SHOTS if shot.args == ("{full}",) and shot.who == "ada" and not shot.address})
OUTSIDE = (
    "rooms",
    "room-new",
    "search",
    "help",
    "signatures",
    "rules",
    "notifications",
    "account-close",
    "devices",
    "site",
    "sign-ins",
)


@pytest.fixture
def heard(person: Callable[..., Page], admin_state: StorageState) -> tuple[Page, list[str]]:
    """Give a signed-in page and the list of what went wrong on it: console, content policy, scripts, answers."""
    page = person()
    sign_in(page.context, admin_state)
    wrong: list[str] = []

    def answered(response: Response) -> None:
        if response.status >= 400:
            wrong.append(f"{response.status} {response.request.method} {response.url}")

    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("response", answered)
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation', (event) =>"
        " console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`))"
    )
    return page, wrong


def addresses(exhibit: Served, names: tuple[str, ...], *args: str) -> dict[str, str]:
    """Return the path of each page by its name, as the running application has it."""
    told: Any = inside.run(
        exhibit,
        "import json\nfrom django.urls import reverse\n"
        f"print('RESULT' + json.dumps({{name: reverse(name, args={list(args)!r}) for name in {list(names)!r}}}))",
    )
    return dict(told)


def test_no_page_has_an_error_or_a_refused_request(
    exhibit: Served, sample_room: str, heard: tuple[Page, list[str]]
) -> None:
    page, wrong = heard
    slug = sample_room.rstrip("/").rsplit("/", 1)[1]
    paths = addresses(exhibit, OUTSIDE) | addresses(exhibit, ("room", *ALONE), slug)
    paths["search in the room"] = f"{paths['search']}?q=wait&room={slug}"
    assert len(paths) > 30
    faults: dict[str, list[str]] = {}
    for name, path in paths.items():
        page.goto(exhibit.url + path)
        if slug in path:
            # Presence is told when the stream is up; each page has a place in it.
            expect(page.locator("#live")).to_have_attribute("data-state", "on")
            page.wait_for_timeout(400)
        if wrong:
            faults[name] = wrong.copy()
            wrong.clear()
    assert faults == {}


def test_files_keep_the_order_in_which_they_were_chosen(exhibit: Served, heard: tuple[Page, list[str]]) -> None:
    page, wrong = heard
    page.goto(f"{exhibit.url}/rooms/new/")
    page.get_by_label("Title").fill("In order")
    page.get_by_role("button", name="Open the room").click()
    page.locator("#verdict").wait_for()
    expect(page.locator("#start")).to_contain_text("No evidence yet")
    first = b"".join(b"%d a line of a text that is long\n" % n for n in range(60_000))
    texts = {"0-large.txt": first} | {f"{n}.txt": b"file %d\n" % n * 9 for n in range(1, 6)}
    files = [FilePayload(name=name, mimeType="text/plain", buffer=text) for name, text in texts.items()]
    room = page.url.split("?")[0]
    page.goto(room + "evidence/add/")
    page.locator("input[type=file][data-send]").set_input_files(files)
    rows = page.locator("#sending li .name a")
    expect(rows).to_have_count(6, timeout=60_000)
    numbers = [int(re.findall(r"/evidence/(\d+)/", str(row.get_attribute("href")))[0]) for row in rows.all()]
    assert rows.all_inner_texts()[0] == "0-large.txt"
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert wrong == []


def test_a_room_shows_its_very_first_file_without_a_reload(exhibit: Served, heard: tuple[Page, list[str]]) -> None:
    page, wrong = heard
    page.goto(f"{exhibit.url}/rooms/new/")
    page.get_by_label("Title").fill("First file")
    page.get_by_role("button", name="Open the room").click()
    page.locator("#verdict").wait_for()
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    verdict = page.locator("#verdict").bounding_box()
    times = b"".join(b"time elapsed : 0,%02d\n" % (30 + n % 7) for n in range(20))
    page.evaluate(
        """(text) => {
          const files = new DataTransfer();
          files.items.add(new File([text], "times.txt", { type: "text/plain" }));
          dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
        }""",
        times.decode(),
    )
    expect(page.locator("#sending li")).to_be_visible()
    now = page.locator("#verdict").bounding_box()
    assert verdict
    assert now
    assert now["y"] == verdict["y"], "the rows of uploads push nothing down"
    expect(page.locator("#start")).not_to_contain_text("No evidence yet", timeout=30_000)
    expect(page.locator("#sending li")).to_have_count(0, timeout=60_000)  # read: the row has gone
    assert wrong == []


def test_a_phone_has_the_pages_at_the_foot(
    person: Callable[..., Page], admin_state: StorageState, sample_room: str
) -> None:
    page = person(390, 844)
    sign_in(page.context, admin_state)
    page.goto(sample_room + "board/")
    bar = page.locator(".room-nav")
    expect(bar.get_by_role("link")).to_have_text(["Room", re.compile("Evidence"), "Requests", "Summary"])
    box = bar.bounding_box()
    assert box
    assert round(box["y"] + box["height"]) == 844
    more = bar.locator("summary")
    expect(more).to_have_attribute("data-current-narrow", "")
    more.click()
    expect(bar.get_by_role("link", name="Board")).to_have_attribute("aria-current", "page")
    expect(bar.get_by_role("link", name="Clocks")).to_be_in_viewport()
