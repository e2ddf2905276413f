"""Where people are signed in: they see their own browsers, and end any of them at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from incidents import tasks
from incidents.actions.closing_accounts import close_account
from incidents.storage import devices
from tests.incidents.conftest import make_user

pytestmark = pytest.mark.django_db

PASSWORD = "a long enough one"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
EDGE = (
    "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0"
)


@pytest.fixture(autouse=True)
def _nothing_noted() -> None:
    devices._noted.clear()


@pytest.fixture
def ada() -> User:
    return make_user("ada", email="ada@example.com")


def browser(agent: str, address: str = "198.51.100.7") -> Client:
    """Sign in as a person does, with a form."""
    client = Client(headers={"user-agent": agent}, REMOTE_ADDR=address)
    answer = client.post(reverse("account_login"), {"login": "ada", "password": PASSWORD})
    assert answer.status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("rooms")).status_code == 200


def end(client: Client, **data: object) -> int:
    return client.post(reverse("devices"), data).status_code


def test_each_browser_is_named_with_its_address_and_this_one_is_marked(ada: User) -> None:
    here, _ = browser(FIREFOX), browser(EDGE, "203.0.113.9")
    text = here.get(reverse("devices")).content.decode()
    assert "Firefox on Linux" in text
    assert "Edge on Windows" in text
    assert "198.51.100.7" in text
    assert "203.0.113.9" in text
    assert text.index("this one") < text.index("Edge on Windows")  # this one first
    assert text.count('name="do" value="end"') == 1  # it cannot be ended here


def test_a_browser_is_signed_out_at_once_with_its_live_stream(
    ada: User, published: list[dict[str, object]], django_capture_on_commit_callbacks
) -> None:
    here, there = browser(FIREFOX), browser(EDGE)
    other = UserSession.objects.get(user_agent=EDGE)
    with django_capture_on_commit_callbacks(execute=True):
        assert end(here, do="end", device=other.pk) == 302
    assert not is_in(there)
    assert is_in(here)
    assert {"end": ada.pk, "room": None, "session": other.session_key} in published
    assert end(here, do="end", device=other.pk) == 404  # somebody clicks twice


def test_all_others_are_signed_out(ada: User) -> None:
    here, others = browser(FIREFOX), [browser(EDGE), browser(EDGE)]
    answer = here.post(reverse("devices"), {"do": "others"}, follow=True)
    assert "2 other browsers are signed out." in answer.content.decode()
    assert [is_in(client) for client in (here, *others)] == [True, False, False]
    assert "Sign out all others" not in answer.content.decode()


def test_nobody_sees_or_ends_what_is_not_theirs(ada: User) -> None:
    hers = browser(FIREFOX)
    mine = Client()
    mine.force_login(make_user("eve"))
    row = UserSession.objects.get(user=ada)
    assert "Firefox on Linux" not in mine.get(reverse("devices")).content.decode()
    assert end(mine, do="end", device=row.pk) == 404
    assert end(mine, do="others") == 302
    assert is_in(hers)


@pytest.mark.parametrize(
    "data", [{}, {"do": "end"}, {"do": "end", "device": "x"}, {"do": "end", "device": "²"}, {"do": "all"}]
)
def test_nonsense_is_refused_in_words(ada: User, data: dict[str, str]) -> None:
    answer = browser(FIREFOX).post(reverse("devices"), data)
    assert answer.status_code == 400
    assert "There is no such action here." in answer.content.decode()


def test_the_browser_in_use_is_not_ended_here(ada: User) -> None:
    here = browser(FIREFOX)
    assert end(here, do="end", device=UserSession.objects.get().pk) == 409
    assert is_in(here)


def test_a_new_password_takes_the_others_off_the_list(ada: User) -> None:
    browser(EDGE)
    ada.set_password("another long enough one")
    ada.save()
    client = Client(headers={"user-agent": FIREFOX})
    client.post(reverse("account_login"), {"login": "ada", "password": "another long enough one"})
    shown = client.get(reverse("devices")).context["devices"]
    assert [device.name for device in shown] == ["Firefox on Linux"]


def test_a_browser_signed_in_before_an_upgrade_is_listed_from_its_next_page(ada: User) -> None:
    here = browser(FIREFOX)
    UserSession.objects.all().delete()
    devices._noted.clear()
    assert is_in(here)
    assert [row.name for row in devices.devices(ada, "")] == ["Firefox on Linux"]


def test_it_is_noted_now_and_then_that_a_browser_is_in_use(ada: User) -> None:
    here = browser(FIREFOX)
    long_ago = timezone.now() - timedelta(days=3)
    UserSession.objects.update(last_seen_at=long_ago)
    assert is_in(here)
    assert UserSession.objects.get().last_seen_at == long_ago  # it has only just signed in
    devices._noted.clear()
    assert is_in(here)
    seen = UserSession.objects.get().last_seen_at
    assert seen > long_ago
    assert is_in(here)
    assert UserSession.objects.get().last_seen_at == seen


def test_what_has_ended_is_forgotten(ada: User) -> None:
    here, there = browser(FIREFOX), browser(EDGE)
    ended = UserSession.objects.get(user_agent=EDGE).session_key
    Session.objects.filter(session_key=ended).update(expire_date=timezone.now() - timedelta(seconds=1))
    assert len(devices.devices(ada, "")) == 1
    tasks.sweep()
    assert [row.user_agent for row in UserSession.objects.all()] == [FIREFOX]
    assert is_in(here)
    assert not is_in(there)


def test_a_closed_account_leaves_no_address(ada: User) -> None:
    browser(FIREFOX)
    close_account(ada)
    assert not UserSession.objects.exists()


def test_a_server_that_is_told_no_address_lets_people_sign_in(ada: User) -> None:
    here = browser(FIREFOX, "")
    assert "not known" in here.get(reverse("devices")).content.decode()


def test_of_too_many_browsers_those_seen_longest_ago_are_signed_out(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "MOST_BROWSERS", 2)
    first, second = browser(FIREFOX), browser(FIREFOX)
    UserSession.objects.update(last_seen_at=timezone.now() - timedelta(days=1))
    devices._noted.clear()
    assert is_in(first)
    third = browser(FIREFOX)
    assert [is_in(client) for client in (first, second, third)] == [True, False, True]
    assert UserSession.objects.count() == 2
