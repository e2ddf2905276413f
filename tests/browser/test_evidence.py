"""What people do with evidence that is not plain: move a border, answer a question, look into an unknown file or an archive."""

from __future__ import annotations

import io
import re
import tarfile

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import axe_violations, shot
from tests.browser.test_story import new_room
from tests.served import Served

A_MINUTE = 60_000
TIMES = "".join(f"time elapsed : 0,{30 + n % 7}\n" for n in range(10))
MAIL = f"Hello all, this is what we measured before lunch on the old gateway.\n\n{TIMES}"
TABLE = "when;what;took\n" + "".join(f"{n:02d}/04/2008 10:15:00;x;{300 + n}\n" for n in range(3, 12))


@pytest.fixture
def bring(ada: Page, exhibit: Served):
    """Open a room and bring one file; gives the room's address and the file's row once it has the state."""

    def brought(name: str, content: bytes, state: str) -> tuple[str, Locator]:
        room = new_room(ada, exhibit.url, f"About {name}")
        ada.goto(f"{room}evidence/add/")
        ada.locator("input[type=file]").first.set_input_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        )
        ada.locator(".sending a", has_text=name).wait_for()  # received: it has a number
        ada.goto(f"{room}evidence/")
        row = ada.locator("tbody[id^=artifact-]", has_text=name).first
        expect(row.locator(".badge").first).to_have_text(state, timeout=A_MINUTE)
        return room, row

    return brought


def test_a_border_is_moved_and_moved_back(ada: Page, bring) -> None:
    room, row = bring("mail.txt", MAIL.encode(), "read")
    expect(row).to_contain_text("prose between the outputs")
    ada.goto(f"{room}evidence/1/")
    ada.locator("#L5").click()
    ada.locator("#L6").click(modifiers=["Shift"])
    ada.get_by_text("Make lines a part", exact=True).click()
    expect(ada.get_by_label("From line")).to_have_value("5")
    assert axe_violations(ada) == []
    ada.get_by_role("button", name="Not evidence: prose").click()
    parts = ada.locator("#parts li:not(.meta)")
    expect(parts).to_have_count(2, timeout=A_MINUTE)
    expect(ada.locator("#parts")).to_contain_text("5–6 prose")
    expect(ada.locator("#L5")).to_have_class(re.compile("outside"))
    shot(ada, "evidence-border-moved")
    ada.get_by_role("button", name="Undo the last border").click()
    expect(parts).to_have_count(1, timeout=A_MINUTE)


def test_news_during_a_fetch_is_fetched_again(ada: Page, bring) -> None:
    """The part of a page that is replaced by its own fetch must not take the next event away with it."""
    room, _ = bring("mail.txt", MAIL.encode(), "read")
    ada.goto(f"{room}evidence/1/")
    held: list[Route] = []
    ada.route(lambda url: url.endswith("/evidence/1/"), lambda route: held.append(route))

    def until(count: int) -> None:
        for _ in range(100):
            if len(held) == count:
                return
            ada.wait_for_timeout(100)
        raise AssertionError(f"{len(held)} fetches, not {count}")

    event = "document.body.dispatchEvent(new CustomEvent('room:artifact', {detail: {}}))"
    ada.evaluate(event)
    until(2)  # two parts of the page listen
    ada.evaluate(event)  # while their answers are on the way
    for route in held[:2]:
        route.continue_()
    until(4)
    for route in held[2:]:
        route.continue_()
    ada.wait_for_timeout(1000)
    ada.evaluate(event)
    until(6)  # and after they were replaced
    for route in held[4:]:
        route.continue_()


def test_a_question_is_answered_by_comparing_both_readings(ada: Page, bring) -> None:
    _, row = bring("probe.csv", TABLE.encode(), "read")
    expect(ada.locator(".asked")).to_contain_text("3 questions")
    row.get_by_role("link", name=re.compile("questions")).click()
    side = ada.locator(".side", has_text="month first")
    expect(side).to_contain_text("begins Tuesday 4 March 2008")
    assert axe_violations(ada) == []
    shot(ada, "evidence-question")
    side.get_by_role("button", name="Use this reading").click()
    expect(ada.locator(".asked")).to_contain_text("2 questions", timeout=A_MINUTE)


def test_lines_of_an_unknown_kind_are_there_and_masked(ada: Page, bring) -> None:
    room, row = bring("unknown.log", b"nothing that anybody knows\nuser=scott password=tiger99xx\n", "read")
    row.locator("a.name").click()
    expect(ada.locator("#L1")).to_contain_text("nothing that anybody knows")
    expect(ada.locator("body")).not_to_contain_text("tiger99xx")
    ada.locator("#L2 .no").click()
    expect(ada.locator("#explain")).to_contain_text("password, 9 characters, masked")
    ada.get_by_label("Why must it be seen?").fill("Is it the old one?")
    ada.get_by_role("button", name="Lift the mask").click()
    expect(ada.locator("#L2")).to_contain_text("tiger99xx")
    assert axe_violations(ada) == []
    shot(ada, "evidence-mask-lifted")
    ada.goto(f"{room}evidence/1/kind/")
    expect(ada.get_by_role("heading", name="Something else")).to_be_visible()
    expect(ada.locator("body")).not_to_contain_text("tiger99xx")


def test_an_archive_lists_what_is_inside(ada: Page, bring) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in (("db1/times.txt", TIMES.encode()), ("db1/empty.txt", b"")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    _, row = bring("case.tar.gz", packed.getvalue(), "unpacked")
    row.locator("a.name").click()
    inside = ada.locator("table tbody tr")
    expect(inside).to_have_count(2)
    expect(inside.nth(1)).to_contain_text("left out: empty")
    assert axe_violations(ada) == []
    inside.nth(0).get_by_role("link", name="artifact 2").click()
    expect(ada.locator("#L1")).to_contain_text("time elapsed", timeout=A_MINUTE)
