"""The first administrator, health, and pages of errors."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core import mail
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from incidents.actions import accounts
from tests.incidents.conftest import make_user
from tests.incidents.pages.pages import page_in

GOOD = {"username": "root", "email": "", "password": "correct horse battery"}


@pytest.mark.django_db
def test_the_link_makes_an_administrator_once_and_signs_in():
    link = str(accounts.first_admin_link())
    client = Client()
    page = client.get(link)
    assert page.status_code == 200
    assert page["Referrer-Policy"] == "strict-origin"  # the path, which is the secret, goes nowhere
    assert client.post(link, GOOD)["Location"] == "/"
    assert User.objects.get().is_superuser
    assert client.get("/").status_code == 200
    assert Client().get(link).status_code == 401


@pytest.mark.django_db
def test_a_weak_password_is_refused_and_the_name_kept():
    link = str(accounts.first_admin_link())
    answer = Client().post(link, GOOD | {"password": "short"})
    assert answer.status_code == 422
    assert 'value="root"' in answer.content.decode()
    assert "short" not in answer.content.decode().replace("too short", "")
    assert not User.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("password", ["adminadmin", "Password123!", "exhibit2026", "rootrootroot"])
def test_a_password_that_is_guessed_soon_is_refused_with_a_hint(password):
    answer = Client().post(str(accounts.first_admin_link()), GOOD | {"password": password})
    assert answer.status_code == 422
    assert "This password is guessed soon. " in answer.content.decode()
    assert not User.objects.exists()


@pytest.mark.django_db
def test_a_long_password_is_estimated_too():
    validate_password("correct horse battery staple " * 40)
    with pytest.raises(ValidationError, match="guessed soon"):
        validate_password("ab" * 400)


@pytest.mark.django_db
def test_a_stranger_who_knows_a_name_locks_nobody_out():
    make_user("ada")
    stranger, ada = Client(REMOTE_ADDR="192.0.2.1"), Client(REMOTE_ADDR="192.0.2.2")
    wrong = [
        stranger.post(reverse("account_login"), {"login": "ada", "password": f"wrong number {n}"}) for n in range(12)
    ]
    assert "Too many failed login attempts" in wrong[-1].content.decode(), "the stranger has to wait"
    assert ada.post(reverse("account_login"), {"login": "ada", "password": "a long enough one"}).status_code == 302


@pytest.mark.django_db
def test_the_link_is_dead_once_there_is_an_administrator():
    link = str(accounts.first_admin_link())
    make_user(is_superuser=True)
    assert Client().get(link).status_code == 401
    assert Client().post(link, GOOD).status_code == 401


@pytest.mark.django_db
def test_too_many_tries_are_refused():
    client = Client()
    statuses = [client.get("/first/nonsense/").status_code for _ in range(22)]
    assert statuses[0] == 401
    assert statuses[-1] == 429


@pytest.mark.django_db
def test_health_is_told_to_anybody():
    assert Client().get("/healthz").json() == {"ok": True}


@pytest.mark.django_db
def test_a_new_password_is_mailed_to_accounts_only_and_the_page_does_not_tell():
    make_user("ada", email="ada@example.com")
    words = set()
    for address in ("ada@example.com", "nobody@example.com"):
        answer = Client().post(reverse("account_reset_password"), {"email": address}, follow=True)
        words.add(page_in(answer).part("main").text)
    assert [m.to for m in mail.outbox] == [["ada@example.com"]]
    assert len(words) == 1


@pytest.mark.django_db
def test_forms_errors_and_mails_call_the_name_of_a_person_alike(settings):
    settings.EXHIBIT_OPEN_SIGNUP = True
    make_user("ada", email="ada@example.com")
    sign_in, sign_up = reverse("account_login"), reverse("account_signup")
    twice = {"username": "ada", "email": "b@example.com", "password1": GOOD["password"], "password2": GOOD["password"]}
    answers = {
        "User name": Client().get(sign_in),
        "The user name or the password is not right.": Client().post(sign_in, {"login": "ada", "password": "not it"}),
        "User name:": Client().get(sign_up),
        "Somebody has this user name already.": Client().post(sign_up, twice),
    }
    Client().post(reverse("account_reset_password"), {"email": "ada@example.com"})
    told = {words: page_in(answer).part("main") for words, answer in answers.items()}
    texts = [main.text for main in told.values()]
    placeholders = [i.attributes.get("placeholder", "") for main in told.values() for i in main.select("input")]
    for text in [*texts, *placeholders, str(mail.outbox[0].body)]:
        assert "username" not in text.lower()
        assert "login" not in text.lower()
    assert "Your user name is ada." in mail.outbox[0].body
    for words, main in told.items():
        assert words.rstrip(":") in main.text, words


@pytest.mark.django_db
def test_sign_in_pages_wear_the_house_style_and_no_inline_code():
    from tests.incidents.pages.room.test_room import INLINE

    for address in ("/accounts/login/", "/accounts/password/reset/", "/nothing/here/"):
        text = Client().get(address).content.decode()
        assert "css/tokens.css" in text, address
        assert INLINE.findall(text) == [], address
    client = Client()
    client.force_login(make_user())
    for address in ("/accounts/email/", "/accounts/password/change/", "/accounts/2fa/", "/accounts/logout/"):
        answer = client.get(address, follow=True)
        assert answer.status_code == 200, address
        assert INLINE.findall(answer.content.decode()) == [], address
