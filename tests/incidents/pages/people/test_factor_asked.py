"""Tests of a site that requires a second factor: without one, only the pages to set one up are open."""

from __future__ import annotations

import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from incidents import access
from incidents.access import Room
from incidents.actions import members, tokens
from incidents.errors import FactorNeeded
from incidents.models.people.membership import Role, Team
from tests.incidents.conftest import make_room, make_user
from tests.incidents.pages.conftest import client_of

pytestmark = pytest.mark.django_db

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


@pytest.fixture
def lead(settings: Any) -> Room:
    room = make_room(make_user("ada"))
    settings.EXHIBIT_SECOND_FACTOR = "everybody"
    return room


def test_pages_lead_to_where_it_is_set_up_and_say_why(lead: Room) -> None:
    client = Client()
    client.post(reverse("account_login"), {"login": "ada", "password": "a long enough one"})
    for name in ("rooms", "notifications", "devices", "search", "room-new"):
        answer = client.get(reverse(name))
        assert (answer.status_code, answer["Location"]) == (302, reverse("mfa_index")), name
    page = client.get(reverse("room", args=[lead.incident.slug]), follow=True)
    assert "This site asks for a second factor" in page.content.decode()
    client.post(reverse("account_reauthenticate"), {"password": "a long enough one"})  # as whenever it is changed
    page = client.get(reverse("mfa_activate_totp"))
    code = format_hotp_value(hotp_value(page.context["form"].secret, int(time.time()) // 30))
    client.post(reverse("mfa_activate_totp"), {"code": code})
    assert client.get(reverse("room", args=[lead.incident.slug])).status_code == 200


def test_parts_and_scripts_are_refused_in_words(lead: Room) -> None:
    client, room = client_of(lead), [lead.incident.slug]
    part = client.get(reverse("room", args=room), headers={"HX-Request": "true"})
    assert (part.status_code, FactorNeeded().message in part.content.decode()) == (403, True)
    for slug in (lead.incident.slug, "no-such-room"):
        for what in ("report.json", "observations/", "tokens/"):
            answer = client.get(f"/api/rooms/{slug}/{what}")
            assert (answer.status_code, answer.json()["error"]) == (403, FactorNeeded().message), what


def test_no_door_is_left_open_but_that_of_tokens(lead: Room) -> None:
    """Streams and uploads begin with `enter` (incidents/pages/room/live.py, incidents/doors/uploads.py)."""
    secret = tokens.create(lead, "db1")
    with pytest.raises(FactorNeeded):
        access.enter(lead.user, lead.incident.slug)
    with pytest.raises(FactorNeeded):
        access.enter(lead.user, "no-such-room")
    assert client_of(lead).get(f"/rooms/{lead.incident.slug}/stream").status_code == 404
    assert access.enter_with_token(lead.incident.slug, secret).incident == lead.incident


def test_an_invitation_waits_until_there_is_one(lead: Room) -> None:
    invitation = members.invite(lead, Role.VIEWER, Team.DBA, "")
    newcomer = Client()
    newcomer.force_login(make_user("nils"))
    address = reverse("join", args=[invitation])
    assert newcomer.post(address).status_code == 403
    TOTP.activate(User.objects.get(username="nils"), SECRET)
    assert newcomer.post(address)["Location"] == reverse("room", args=[lead.incident.slug])


def test_who_has_one_or_comes_by_the_identity_provider_is_let_in(lead: Room) -> None:
    codes = Authenticator.objects.create(user=lead.user, type="recovery_codes", data={})
    assert client_of(lead).get(reverse("rooms")).status_code == 302, "codes alone are none"
    codes.delete()
    TOTP.activate(lead.user, SECRET)
    assert client_of(lead).get(reverse("rooms")).status_code == 200
    other = make_user("eve")
    other.set_unusable_password()
    other.save()
    client = Client()
    client.force_login(other)
    assert client.get(reverse("rooms")).status_code == 200


def test_it_may_be_asked_of_administrators_only(lead: Room, settings: Any) -> None:
    settings.EXHIBIT_SECOND_FACTOR = "administrators"
    assert client_of(lead).get(reverse("rooms")).status_code == 200
    client = Client()
    client.force_login(make_user("root", is_superuser=True, is_staff=True))
    assert client.get(reverse("site"))["Location"] == reverse("mfa_index")
    assert client.get(reverse("admin:index")).status_code != 200
    settings.EXHIBIT_SECOND_FACTOR = ""
    assert client.get(reverse("site")).status_code == 200
    assert client.get(reverse("admin:index")).status_code == 200


def test_the_form_of_the_admin_lets_nobody_past_a_second_factor(settings: Any) -> None:
    """Check that Django's own form, which asks for no second factor, signs nobody in."""
    careful = make_user("root", is_superuser=True, is_staff=True)
    TOTP.activate(careful, SECRET)
    asking = Client()
    asking.force_login(make_user("eve", is_staff=True))
    typed = {"username": "root", "password": "a long enough one", "next": "/admin/"}
    for asked, client in (("", Client()), ("", asking), ("everybody", Client()), ("everybody", asking)):
        settings.EXHIBIT_SECOND_FACTOR = asked
        answer = client.post(reverse("admin:login"), typed)
        assert answer.status_code == 302
        assert client.session.get("_auth_user_id") != str(careful.pk)
    assert answer["Location"] == reverse("mfa_index")
    assert Client().get(reverse("admin:index"), follow=True).redirect_chain[-1][0].startswith(reverse("account_login"))
