"""One running Exhibit for all browser tests, started as a user starts it, and Debian's Chromium."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    StorageState,
    expect,
    sync_playwright,
)

from tests.browser.as_new import Shared, as_new, shared
from tests.chromium import NAMES, executable, launch
from tests.served import Served

PASSWORD = "correct horse battery staple"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def shared_exhibit() -> Iterator[Shared]:
    with shared() as running:
        yield running


@pytest.fixture(scope="module")
def exhibit(shared_exhibit: Shared) -> Served:
    """Give the running Exhibit as after its first start: no people, no rooms, a link for the first administrator."""
    return as_new(shared_exhibit)


# Chromium lives as long as a module of tests, not longer: while Playwright is on, its event loop runs in this thread, and tests
# elsewhere that start a loop of their own must not find it there.


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if executable() is None:
        pytest.skip(f"Chromium is not installed: apt-get install {NAMES[0]}")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def person(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Give a page of a browser profile of its own; it fails the test for errors that the page itself reports."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        # A refused request is told by the page; what is left are faults of scripts and of the content policy.
        # The first half is Chromium's own word on a refused request, the second that of htmx.
        if message.type == "error" and not re.match("Failed to load resource|Response Status Error Code", message.text):
            complaints.append(message.text)

    def make(width: int = 1440, height: int = 960, scheme: Literal["light", "dark"] = "light") -> Page:
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


def sign_in(context: BrowserContext, state: StorageState) -> None:
    """Let a browser profile go on with the session of another one."""
    context.add_cookies(state["cookies"])  # type: ignore[arg-type]  # what it gives, it takes


@pytest.fixture(scope="module")
def admin_state(exhibit: Served, chromium: Browser) -> StorageState:
    """Sign in as the first administrator with the link that `up` printed; return what the browser keeps."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(exhibit.first_link)
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    page.get_by_role("heading", name="Rooms").first.wait_for()
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def ada(person: Callable[..., Page], exhibit: Served, admin_state: StorageState) -> Page:
    page = person()
    sign_in(page.context, admin_state)
    page.goto(exhibit.url)
    return page


@pytest.fixture(scope="module")
def sample_room(exhibit: Served, chromium: Browser, admin_state: StorageState) -> str:
    """Open the sample room and wait until it is judged; return its address."""
    context = chromium.new_context()
    sign_in(context, admin_state)
    page = context.new_page()
    page.goto(exhibit.url)
    page.get_by_role("button", name="Open the sample room").first.click()
    expect(page.locator("#verdict")).to_contain_text(re.compile("[Gg]ood support"), timeout=60_000)
    room = page.url.split("?")[0]
    context.close()
    return room


def axe_violations(page: Page) -> list[str]:
    """Run axe on what is shown; return `rule: help (first target)` for each violation."""
    # Of what passes axe need not list every node: only violations are told, and those completely.
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "resultTypes": ["violations"]}
    results = Axe().run(page, options=rules)
    return [
        f"{v['id']}: {v['help']} ({v['nodes'][0]['target']}: {v['nodes'][0].get('failureSummary', '')})"
        for v in results.response["violations"]
    ]


def shot(page: Page, name: str) -> None:
    """Keep a picture where SHOTS names a folder: for whoever looks at the pages."""
    if folder := os.environ.get("SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=False)
