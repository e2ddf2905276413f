"""The Ask page in a real browser: an example, its chart, a mistake, a stop, a saved query, a rule; and the pages of thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml
from playwright.sync_api import Page, StorageState, expect

from tests.browser.conftest import axe_violations, shot, sign_in

ENDLESS = "select count(*) from range(1000000) a(i) join range(1000000) b(j) on a.i <> b.j join range(1000000) c(k) on b.j <> c.k"
PATIENCE = 60_000


def test_from_an_example_to_a_rule(ada: Page, sample_room: str) -> None:
    page = ada
    page.goto(sample_room)
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.get_by_role("heading", name="Ask the evidence")).to_be_visible()
    page.locator("#tables").get_by_text("Longest calls").first.click(timeout=PATIENCE)
    expect(page.locator("#answer tbody tr").first).to_be_visible(timeout=PATIENCE)
    assert "dur_hi_s" in page.input_value("#sql"), "the query stays where it was written"
    page.locator("#answer .chart summary").click()
    expect(page.locator("#chart .main-svg").first).to_be_visible(timeout=PATIENCE)
    page.locator("input[name=row]").first.check()
    page.locator("#as-rule summary").click()
    page.get_by_label("Title").fill("Calls of 50 ms and more")
    page.get_by_label("Team").fill("dba")
    with page.expect_download(timeout=PATIENCE) as download:
        page.get_by_role("button", name="Download the rule file").click()
    assert yaml.safe_load(download.value.path().read_text())["id"] == "TEAM-dba-001"
    page.locator("#answer tbody a").first.click()
    page.wait_for_url("**/evidence/*/**#L*")


def test_a_mistake_is_marked_a_question_is_stopped_nothing_typed_is_lost(ada: Page, sample_room: str) -> None:
    page = ada
    page.goto(sample_room + "ask/")
    page.fill("#sql", "select nosuch\nfrom syscalls")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer [role=alert]")).to_contain_text("line 1, column 8", timeout=PATIENCE)
    page.wait_for_function(  # after the answer has settled
        "() => { const t = document.getElementById('sql'); return t.value.slice(t.selectionStart, t.selectionEnd) === 'nosuch'; }"
    )
    page.fill("#sql", ENDLESS)
    page.keyboard.press("Control+Enter")
    page.locator("#stop").click(timeout=PATIENCE)
    expect(page.locator("#answer [role=alert]")).to_contain_text("stopped", timeout=PATIENCE)
    expect(page.locator("#last")).to_contain_text("range(1000000)")
    page.fill("#sql", "select artifact_id, line_no, name from syscalls limit 5")
    page.reload()
    expect(page.locator("#sql")).to_have_value("select artifact_id, line_no, name from syscalls limit 5")
    page.locator(".save summary").click()
    page.fill("#title", "Five calls")
    page.locator(".save button").first.click()
    expect(page.get_by_text("Saved. Only you see it.")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_ask_and_thresholds_fit_and_are_accessible(
    person: Callable[..., Page], sample_room: str, admin_state: StorageState, width: int, scheme: str
) -> None:
    page = person(width, 960, scheme)
    sign_in(page.context, admin_state)
    page.goto(sample_room + "ask/")
    page.locator("#tables").get_by_text("Longest calls").first.click(timeout=PATIENCE)
    expect(page.locator("#answer tbody tr").first).to_be_visible(timeout=PATIENCE)
    page.evaluate(
        "() => document.querySelectorAll('#tables details, #answer details').forEach((one) => { one.open = true; })"
    )
    for path in ("", "thresholds/?rule=SHM-001"):
        if path:
            page.goto(sample_room + path)
        assert axe_violations(page) == []
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path or 'ask'} is {wide} px too wide at {width}"
        shot(page, f"{path[:10] or 'ask'}-{width}-{scheme}".replace("/", ""))
