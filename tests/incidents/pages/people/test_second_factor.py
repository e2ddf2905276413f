"""A second factor: turned on with a code of the shown secret, asked for at the next sign-in."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.apps import apps
from django.test import Client
from django.urls import reverse

from incidents.models.people.sign_in import SignIn
from incidents.storage import seals
from tests.incidents.conftest import make_user

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def code(secret: str) -> str:
    """Return the code that an authenticator shows now."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


@pytest.mark.django_db
def test_it_is_turned_on_and_asked_for_at_the_next_sign_in() -> None:
    # An account made by invitation has an address that nobody verified: this server sends no mail.
    EmailAddress.objects.create(user=make_user("ada"), email="ada@example.com", primary=True, verified=False)
    browser = Client()
    browser.post(reverse("account_login"), {"login": "ada", "password": "a long enough one"})
    asked = browser.get(reverse("mfa_activate_totp"))
    assert asked.status_code == 302, "whoever finds an open browser does not get to change the factors"
    browser.post(asked["Location"], {"password": "a long enough one"})
    page = browser.get(reverse("mfa_activate_totp"))
    secret = page.context["form"].secret
    assert secret in page.content.decode()
    assert '<img class="code-image" src="data:image/svg' in page.content.decode(), (
        "dark on white in the dark scheme, too"
    )
    wrong = browser.post(reverse("mfa_activate_totp"), {"code": "000000"})
    assert wrong.status_code == 200, "a wrong code turns nothing on"
    secret = wrong.context["form"].secret
    done = browser.post(reverse("mfa_activate_totp"), {"code": code(secret)})
    assert done.status_code == 302

    other = Client()
    asked = other.post(reverse("account_login"), {"login": "ada", "password": "a long enough one"})
    assert asked["Location"] == reverse("mfa_authenticate"), "the password alone opens nothing"
    assert other.get(reverse("rooms")).status_code == 302
    assert other.post(reverse("mfa_authenticate"), {"code": "000000"}).status_code == 200
    other.post(reverse("mfa_authenticate"), {"code": code(secret)})
    assert other.get(reverse("rooms")).status_code == 200


@pytest.mark.django_db
def test_who_leaves_at_the_second_factor_stands_in_the_record_and_who_gives_it_stands_there_once() -> None:
    user = make_user("ada")
    TOTP.activate(user, SECRET)

    def record() -> list[str]:
        return [row.outcome for row in SignIn.objects.filter(user=user).order_by("pk")]

    leaves, comes = Client(), Client()
    for browser in (leaves, comes):
        browser.post(reverse("account_login"), {"login": "ada", "password": "a long enough one"})
    assert record() == ["half", "half"]
    comes.post(reverse("mfa_authenticate"), {"code": "000000"})
    comes.post(reverse("mfa_authenticate"), {"code": code(SECRET)})
    assert record() == ["half", "in", "code"]
    shown = comes.get(reverse("devices")).content.decode()
    assert "right password, no second factor" in shown
    assert comes.post(reverse("account_logout")).status_code == 302
    comes.post(reverse("account_login"), {"login": "ada", "password": "wrong"})
    assert record() == ["half", "in", "code", "password"], "no second factor is asked of whom the password stops"


@pytest.mark.django_db
def test_its_secret_is_sealed_and_with_another_key_no_code_fits(settings: Any) -> None:
    user = make_user("ada")
    TOTP.activate(user, SECRET)
    RecoveryCodes.activate(user)
    rows = {row.type: row for row in Authenticator.objects.all()}
    assert all(
        text.startswith("sealed:") for row in rows.values() for text in row.data.values() if isinstance(text, str)
    )
    assert TOTP(rows["totp"]).validate_code(code(SECRET))
    codes = RecoveryCodes(rows["recovery_codes"]).get_unused_codes()
    settings.SECRET_KEY = "another key " * 5
    assert not TOTP(rows["totp"]).validate_code(code(SECRET))
    assert not TOTP(rows["totp"]).validate_code(code("")), "an empty secret would be known to everybody"
    assert set(RecoveryCodes(rows["recovery_codes"]).generate_codes()).isdisjoint(codes)


@pytest.mark.django_db
def test_secrets_of_an_earlier_release_work_and_are_sealed_by_the_migration() -> None:
    user = make_user("ada")
    row = Authenticator.objects.create(user=user, type="totp", data={"secret": SECRET})
    assert TOTP(row).validate_code(code(SECRET))
    migration = import_module("incidents.migrations.0028_seal_second_factors")
    migration.seal(apps, None)
    row.refresh_from_db()
    sealed = row.data["secret"]
    assert SECRET not in sealed
    assert seals.unseal(sealed) == SECRET
    migration.seal(apps, None)
    row.refresh_from_db()
    assert row.data["secret"] == sealed, "twice is once"
    migration.unseal(apps, None)
    row.refresh_from_db()
    assert row.data["secret"] == SECRET
