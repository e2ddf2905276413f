"""Bad input as a person meets it in the page: each gets a clear message, and nothing else in the room suffers."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable

from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import axe_violations, shot
from tests.browser.test_story import SAMPLE, new_room
from tests.served import Served

A_MINUTE = 60_000
TRUSS = (SAMPLE / "truss-listener.txt").read_text(encoding="utf-8")
ONE_LINE = 20 * 2**20

# Name, content, the words in the row of its upload, the words in the list of evidence.
FILES = (
    ("empty.txt", b"", "The file is empty. Nothing was stored.", None),
    ("core", bytes(range(256)) * 64, "not read: Not text but binary", "Add the text itself"),
    (
        "bomb.gz",
        gzip.compress(bytes(200 * 2**20)),
        "unpacked more than 1000 times the packed size",
        "Not everything was unpacked",
    ),
    ("utf16.txt", TRUSS.encode("utf-16"), "recognised as truss; 31 lines read", "truss"),
    (
        "cut.txt",
        TRUSS.encode()[: TRUSS.index("shmat") + 12],
        "The last line stops in the middle",
        "add the whole file",
    ),
    ("one-line.txt", b"x" * ONE_LINE, "1 line read. Kind unknown", "read as plain text"),
    (
        "../../etc/pa\x1b[31mss\u202egnp.<b>txt",
        b"nothing that a tool would print\n",
        "read. Kind unknown",
        "Say its kind",
    ),
)


def choose(page: Page, room: str, *files: FilePayload) -> None:
    page.goto(f"{room}evidence/add/")
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    page.locator("input[type=file][data-send]").set_input_files(list(files))


def judged_room(page: Page, exhibit: Served, title: str) -> str:
    """Make a room that holds one good artifact, and wait until its finding stands."""
    room = new_room(page, exhibit.url, title)
    choose(page, room, {"name": "truss-listener.txt", "mimeType": "text/plain", "buffer": TRUSS.encode()})
    expect(page.locator("#sending [data-words]")).to_contain_text("recognised as truss", timeout=A_MINUTE)
    page.goto(room)
    page.locator(".claim", has_text="2.473").first.wait_for(timeout=A_MINUTE)
    return room


def test_each_bad_file_gets_a_clear_message_and_harms_no_other(ada: Page, exhibit: Served) -> None:
    room = judged_room(ada, exhibit, "Bad files")
    payloads: list[FilePayload] = [
        {"name": name, "mimeType": "application/octet-stream", "buffer": content} for name, content, _, _ in FILES
    ]
    choose(ada, room, *payloads)
    rows = ada.locator("#sending li")
    expect(rows).to_have_count(len(FILES))
    for n, (_, _, words, _) in enumerate(FILES):
        expect(rows.nth(n).locator("[data-words]")).to_contain_text(words, timeout=A_MINUTE)
    assert axe_violations(ada) == []
    shot(ada, "bad-input-rows")

    # The name: no path, no escape, no turned text, no markup; in the row as in the list.
    ada.goto(f"{room}evidence/")
    names = ada.locator("tr.artifact .name").all_inner_texts()
    assert "pa␛[31mss⟨U+202E⟩gnp.<b>txt" in names, names
    assert "empty.txt" not in names
    for name, _, _, words in FILES[1:-1]:
        if words is not None:
            expect(ada.locator("tr.artifact").filter(has_text=name)).to_contain_text(words)
    assert axe_violations(ada) == []
    shot(ada, "bad-input-evidence")

    # The good one is what it was: read, judged, its lines open.
    expect(ada.locator("tr.artifact").filter(has_text="truss-listener.txt")).to_contain_text("read")
    ada.goto(room)
    expect(ada.locator(".claim", has_text="2.473").first).to_be_visible()
    expect(ada.locator("#verdict")).to_contain_text("attach")
    ada.goto(f"{room}evidence/1/")
    expect(ada.locator(".line").first).to_contain_text("fork1()")


def test_pasted_html_is_kept_as_text_and_nothing_of_it_runs(ada: Page, exhibit: Served) -> None:
    new_room(ada, exhibit.url, "Pasted HTML")
    ada.evaluate(
        """() => {
            const carried = new DataTransfer();
            carried.setData("text/plain", '<script>window.ran = 1</script>\\n<img src="x" onerror="window.ran = 1">\\n</pre>');
            carried.setData("text/html", '<img src="x" onerror="window.ran = 1">');
            document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: carried, bubbles: true }));
        }"""
    )
    expect(ada.locator("#paste-text")).to_contain_text("<script>window.ran = 1</script>")
    ada.locator("#paste-name").fill("<b>page.html")
    ada.get_by_role("button", name="Keep it as evidence").click()
    words = ada.locator("#sending [data-words]")
    expect(words).to_contain_text("not read: The page holds no text", timeout=A_MINUTE)  # a page without any text
    ada.locator("#sending a").click()
    expect(ada.locator("h1").first).to_have_text("<b>page.html")
    expect(ada.locator("#main")).to_contain_text("The file is kept as it is")
    assert ada.evaluate("() => window.ran") is None
    shot(ada, "bad-input-html")


def test_a_page_whose_token_is_gone_says_what_to_do(ada: Page, exhibit: Served) -> None:
    room = new_room(ada, exhibit.url, "No token")
    ada.goto(room)
    ada.context.clear_cookies(name="csrftoken")
    ada.get_by_text("Write a note", exact=True).first.click()
    ada.locator("#note-new textarea").fill("Typed for an hour.")
    ada.get_by_role("button", name="Save note").click()
    expect(ada.locator("#refused")).to_contain_text(re.compile("load", re.IGNORECASE))
    expect(ada.locator("#note-new textarea")).to_have_value("Typed for an hour.")
    ada.locator("#note-new textarea").fill("")

    ada.goto(f"{room}evidence/add/")
    ada.context.clear_cookies(name="csrftoken")
    ada.locator("input[type=file][data-send]").set_input_files(
        {"name": "a.txt", "mimeType": "text/plain", "buffer": b"words\n"}
    )
    expect(ada.locator("#sending [data-words]")).to_contain_text("load it again, then send the file again")
    ada.goto(f"{room}evidence/")
    expect(ada.locator("tr.artifact")).to_have_count(0)


def test_a_strangers_address_tells_nothing(ada: Page, person: Callable[..., Page], exhibit: Served) -> None:
    room = new_room(ada, exhibit.url, "Not for strangers")
    stranger = person()
    stranger.goto(room)
    expect(stranger.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    expect(stranger.locator("body")).not_to_contain_text("Not for strangers")
    ada.goto(f"{exhibit.url}/rooms/no-such-room-abcdefgh/")
    expect(ada.locator("h1")).to_be_visible()
    expect(ada.locator("body")).to_contain_text(re.compile("room", re.IGNORECASE))
    assert axe_violations(ada) == []
    shot(ada, "bad-input-no-room")
