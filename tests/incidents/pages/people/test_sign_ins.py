"""Tests of the record of sign-ins: people see their own, administrators all; it contains nothing that was typed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from incidents import tasks
from incidents.actions.closing_accounts import close_account
from incidents.models.people.sign_in import SignIn
from tests.incidents.conftest import make_user

pytestmark = pytest.mark.django_db

RIGHT, WRONG = "a long enough one", "not the one at all"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@pytest.fixture
def ada() -> User:
    return make_user("ada", email="ada@example.com")


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(make_user("root", is_superuser=True))
    SignIn.objects.all().delete()
    return client


def try_in(login: str, password: str, agent: str = FIREFOX) -> Client:
    client = Client(headers={"user-agent": agent}, REMOTE_ADDR="203.0.113.9")
    client.post(reverse("account_login"), {"login": login, "password": password})
    return client


def rows() -> list[tuple[str | None, str]]:
    return [(row.user.username if row.user else None, row.outcome) for row in SignIn.objects.order_by("pk")]


def test_what_came_in_and_what_was_refused_is_recorded(ada: User) -> None:
    for login, password in (("ada", WRONG), ("ada@example.com", WRONG), ("ada", RIGHT), ("ada@example.com", RIGHT)):
        try_in(login, password)
    assert rows() == [("ada", "password"), ("ada", "password"), ("ada", "in"), ("ada", "in")]
    assert {(row.address, row.agent) for row in SignIn.objects.all()} == {("203.0.113.9", FIREFOX)}


def test_a_wrong_second_factor_is_recorded_after_the_right_password(ada: User) -> None:
    Authenticator.objects.create(user=ada, type="totp", data={"secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"})
    client = try_in("ada", RIGHT)
    assert rows() == [("ada", "half")]  # nobody is in yet
    client.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert sorted(rows()) == [("ada", "code"), ("ada", "half")]


def test_a_name_that_nobody_has_is_not_kept(ada: User) -> None:
    """Check an unknown user name, which may be a password typed into the wrong field."""
    try_in("correct horse battery staple", WRONG)
    (row,) = SignIn.objects.values()
    assert row["user_id"] is None
    assert "horse" not in str(row)


def test_who_asks_without_a_browser_is_not_recorded(ada: User) -> None:
    assert authenticate(username="ada", password=WRONG) is None
    assert rows() == []


def test_everybody_sees_their_own(ada: User) -> None:
    make_user("eve")
    try_in("eve", WRONG, "curl/8.5")
    try_in("ada", WRONG, "Wget/1.21")
    text = try_in("ada", RIGHT).get(reverse("devices")).content.decode()
    assert "wrong password" in text
    assert "wget" in text
    assert "curl" not in text


def test_many_are_shown_in_pages(ada: User) -> None:
    SignIn.objects.bulk_create(SignIn(user=ada, outcome="in") for _ in range(50))
    client = try_in("ada", RIGHT)
    first = client.get(reverse("devices"))
    assert "page 1 of 3" in first.content.decode()
    assert len(client.get(reverse("devices"), {"page": 3}).context["rows"]) == 11


def test_administrators_see_all_and_find_what_was_refused(ada: User, admin: Client) -> None:
    try_in("ada", RIGHT)
    try_in("ada", WRONG)
    try_in("somebody", WRONG)
    everything = admin.get(reverse("sign-ins"))
    assert len(everything.context["rows"]) == 3
    assert "nobody of that name" in everything.content.decode()
    assert [row.outcome for row in admin.get(reverse("sign-ins"), {"only": "refused"}).context["rows"]] == [
        "password",
        "password",
    ]
    assert [row.outcome for row in admin.get(reverse("sign-ins"), {"q": "AD"}).context["rows"]] == ["password", "in"]
    nothing = admin.get(reverse("sign-ins"), {"q": "x\0y"}).content.decode()
    assert "No such sign-in" in nothing
    assert 'value="xy"' in nothing


def test_old_lines_go_and_so_do_those_of_a_closed_account(ada: User) -> None:
    try_in("ada", RIGHT)
    old = SignIn.objects.create(user=ada, outcome="in")
    SignIn.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(days=91))
    tasks.sweep()
    assert rows() == [("ada", "in")]
    close_account(ada)
    assert rows() == []
