"""Tests of a closed account: the person is removed, what they wrote stays."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from incidents.actions import notes
from incidents.actions.closing_accounts import close_account
from incidents.errors import Refused
from incidents.models.people.membership import Membership
from incidents.models.people.notification import Notification
from incidents.models.room.activity import Activity
from incidents.models.words.note import Note
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return make_room(make_user("ada"))


@pytest.fixture
def nils(lead):
    return make_member(
        lead.incident, user=make_user("nils", email="nils@example.com", first_name="Nils", last_name="N.")
    )


def test_notes_stay_and_the_name_goes(lead, nils, published, django_capture_on_commit_callbacks):
    note = notes.add(nils, "The gap ends at the large segment.")
    notes.add(lead, "@nils look")
    with django_capture_on_commit_callbacks(execute=True):
        close_account(nils.user)
    for name in ("room", "notes"):
        page = client_of(lead).get(reverse(name, args=[lead.incident.slug])).content.decode()
        assert "The gap ends at the large segment." in page
        assert f"former member {nils.user.pk}" in page
        assert "Nils N." not in page
    assert Note.objects.get(pk=note.pk).author_id == nils.user.pk
    nils.user.refresh_from_db()
    assert (nils.user.email, nils.user.first_name, nils.user.is_active) == ("", "", False)
    assert not nils.user.has_usable_password()
    assert not Membership.objects.filter(user=nils.user).exists()
    assert not Notification.objects.filter(user=nils.user).exists()
    # The record names who left, with the name at that time, and its chain is intact.
    row = Activity.objects.get(verb="left")
    assert (row.actor_name, row.detail) == ("Nils N.", {"account": "closed"})
    assert Activity.objects.first_broken(lead.incident.pk) is None
    assert {"end": nils.user.pk, "room": None, "session": None} in published
    # Nobody has the name any more: a mention of it refers to nobody, and another person may take it.
    assert "not in this room" in client_of(lead).get(reverse("notes", args=[lead.incident.slug])).content.decode()
    make_user("nils")


def known_again(user: User) -> Client:
    """Sign in and enter the password once more, as pages require before an action that cannot be undone."""
    client = Client()
    client.force_login(user)
    answer = client.post(reverse("account_reauthenticate"), {"password": "a long enough one"})
    assert answer.status_code == 302
    return client


def test_whoever_finds_an_open_browser_does_not_get_to_close_the_account(nils):
    client = client_of(nils)
    for call in (client.get, client.post):
        answer = call(reverse("account-close"), {"username": "nils"})
        assert answer.status_code == 302
        assert answer["Location"].startswith(reverse("account_reauthenticate"))
    nils.user.refresh_from_db()
    assert nils.user.is_active


def test_it_is_closed_by_its_owner_who_types_the_name(lead, nils):
    client = known_again(nils.user)
    address = reverse("account-close")
    assert client.post(address, {"username": "ada"}).status_code == 422
    nils.user.refresh_from_db()
    assert nils.user.is_active
    assert client.post(address, {"username": "nils"}).status_code == 302
    assert client.get(reverse("room", args=[lead.incident.slug])).status_code == 302  # signed out
    assert not Client().login(username="nils", password="a long enough one")
    close_account(nils.user)  # twice is once


def test_the_only_lead_hands_over_first(lead, nils):
    with pytest.raises(Refused, match="only lead of “Logins"):
        close_account(lead.user)
    answer = known_again(lead.user).post(reverse("account-close"), {"username": "ada"})
    assert answer.status_code == 422
    assert "only lead" in answer.content.decode()
    Membership.objects.filter(user=nils.user).update(role="lead")
    close_account(lead.user)


def test_the_only_administrator_stays():
    admin = make_user("root", is_superuser=True, is_staff=True)
    with pytest.raises(Refused, match="only administrator"):
        close_account(admin)


def test_administrators_close_accounts_and_cannot_delete_them(lead, nils):
    client = Client()
    client.force_login(make_user("root", is_superuser=True, is_staff=True))
    listed = client.get("/admin/auth/user/").content.decode()
    assert "Close the chosen accounts" in listed
    assert "delete_selected" not in listed
    assert client.get(f"/admin/auth/user/{nils.user.pk}/delete/").status_code == 403
    chosen = {"action": "close_accounts", "_selected_action": [nils.user.pk, lead.user.pk]}
    said = client.post("/admin/auth/user/", chosen, follow=True).content.decode()
    assert "only lead" in said
    nils.user.refresh_from_db()
    lead.user.refresh_from_db()
    assert (nils.user.is_active, lead.user.is_active) == (False, True)
