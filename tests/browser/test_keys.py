"""Security keys and passkeys: set up, asked for, signed in with, and words where a browser gives none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import CDPSession, Page, StorageState, expect

from tests.browser.conftest import PASSWORD, axe_violations, shot
from tests.served import Served


@pytest.fixture
def site(exhibit: Served) -> str:
    """Return the address of the server by a name: a key belongs to a name, never to a number."""
    return exhibit.url.replace("127.0.0.1", "localhost")


@pytest.fixture
def key(person: Callable[..., Page]) -> Iterator[tuple[Page, CDPSession]]:
    """Give a browser with a key of its own that knows its owner, and the way to that key."""
    page = person()
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    yield page, session
    session.detach()


def with_password(page: Page, site: str) -> None:
    page.goto(f"{site}/accounts/login/")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def confirm(page: Page) -> None:
    """Give the password again where the page before asks for it: some minutes after it was given."""
    expect(page.get_by_role("heading", name=re.compile("Confirm Access|(Add|Remove) Security Key"))).to_be_visible()
    if "reauthenticate" in page.url:
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Confirm").click()


def set_up(page: Page, site: str, name: str, passkey: bool) -> None:
    page.goto(f"{site}/accounts/2fa/webauthn/add/")
    confirm(page)
    page.get_by_label("Name").fill(name)
    page.get_by_label("As a passkey").set_checked(passkey)
    assert axe_violations(page) == []
    shot(page, "key-add")
    page.get_by_role("button", name="Add", exact=True).click()


def sign_out(page: Page, site: str) -> None:
    page.goto(f"{site}/accounts/logout/")
    page.locator("main").get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()


def test_a_passkey_is_set_up_signs_in_without_a_password_and_is_removed(
    key: tuple[Page, CDPSession], site: str, admin_state: StorageState
) -> None:
    page, _ = key
    with_password(page, site)
    set_up(page, site, "my laptop", passkey=True)
    expect(page.locator("main")).to_contain_text("recovery codes")  # the way in once the key is lost

    sign_out(page, site)
    assert axe_violations(page) == []
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("heading", name="Rooms").first).to_be_visible()
    page.goto(f"{site}/devices/")
    expect(page.locator("main")).not_to_contain_text("no second factor")

    sign_out(page, site)
    with_password(page, site)
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    assert axe_violations(page) == []
    shot(page, "key-asked")
    page.get_by_role("button", name="Use a security key").click()
    expect(page.get_by_role("heading", name="Rooms").first).to_be_visible()

    page.goto(f"{site}/accounts/2fa/webauthn/")
    expect(page.locator("main")).to_contain_text("my laptop")
    assert axe_violations(page) == []
    shot(page, "key-list")
    page.get_by_role("link", name="Remove").click()
    confirm(page)
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("main")).to_contain_text("No security keys have been added")
    sign_out(page, site)
    with_password(page, site)
    expect(page.get_by_role("heading", name="Rooms").first).to_be_visible()


def test_a_key_that_is_not_used_leaves_words_and_what_was_typed(
    key: tuple[Page, CDPSession], site: str, admin_state: StorageState
) -> None:
    page, session = key
    with_password(page, site)
    session.send("WebAuthn.disable")
    page.add_init_script(
        "navigator.credentials.create = async () => { throw new DOMException('no', 'NotAllowedError'); };"
    )
    set_up(page, site, "the blue one", passkey=False)
    expect(page.get_by_role("alert")).to_contain_text("it took too long. Try again")
    expect(page.get_by_label("Name")).to_have_value("the blue one")
    assert axe_violations(page) == []


def test_at_an_address_without_a_name_the_page_says_where_keys_work(
    person: Callable[..., Page], exhibit: Served, admin_state: StorageState
) -> None:
    page = person()
    page.goto(f"{exhibit.url}/accounts/login/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("has a name and https")
