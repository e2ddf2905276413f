"""Members, invitations, joining."""

from __future__ import annotations

import re

from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from incidents import access
from incidents.actions import members
from incidents.models.people.membership import Membership
from incidents.storage import live
from tests.incidents.conftest import make_user
from tests.incidents.pages.conftest import client_of


def invite(judged, **fields):
    data = {"role": "investigator", "team": "network"} | fields
    answer = client_of(judged.lead).post(reverse("invite", args=[judged.slug]), data)
    assert answer.status_code == 200
    found = re.search(r"http://testserver(/join/[\w-]+/)</pre>", answer.content.decode())
    assert found
    return found[1]


def test_an_invitation_shows_its_link_once_and_lets_one_person_in(judged):
    link = invite(judged)
    assert link not in client_of(judged.lead).get(reverse("members", args=[judged.slug])).content.decode()
    client, user = Client(), make_user("newcomer")
    client.force_login(user)
    page = client.get(link)
    assert page["Referrer-Policy"] == "strict-origin"  # the path, which is the secret, goes nowhere
    assert "noindex" in page["X-Robots-Tag"]
    assert "Join the room" in page.content.decode()
    assert not Membership.objects.filter(user=user).exists()  # looking uses nothing up
    assert client.post(link)["Location"] == reverse("room", args=[judged.slug])
    assert access.enter(user, judged.slug).role == "investigator"
    assert client.get(link).status_code == 401


def test_a_newcomer_is_sent_to_make_an_account(judged):
    link = invite(judged)
    client = Client()
    text = client.get(link).content.decode()
    assert f"{reverse('account_signup')}?next={link}" in text
    assert "QPROD" not in text
    assert client.session["invitation"]
    assert client.get(reverse("account_signup")).status_code == 200


def sign_up(client: Client, name: str):
    words = {
        "username": name,
        "email": f"{name}@example.com",
        "password1": "a-long-word-9",
        "password2": "a-long-word-9",
    }
    return client.post(reverse("account_signup"), words)


def test_an_invitation_makes_one_account(judged):
    link = invite(judged)
    first, second = Client(), Client()
    for client in (first, second):
        client.get(link)
        assert client.get(reverse("account_signup")).status_code == 200
    assert sign_up(first, "newcomer").status_code == 302
    assert "each invitation makes one" in sign_up(second, "another").content.decode()
    assert _people("newcomer")
    assert not _people("another")
    page = second.get(link).content.decode()
    assert "An account was made with this link" in page
    assert reverse("account_signup") not in page
    assert first.post(link)["Location"] == reverse("room", args=[judged.slug])


def test_two_who_sign_up_at_the_same_moment_make_one_account(judged, monkeypatch):
    """Let both forms pass their check before either account is made."""
    link = invite(judged)
    monkeypatch.setattr(members, "may_sign_up", lambda secret: True)
    for name, status in (("newcomer", 302), ("another", 401)):
        client = Client()
        client.get(link)
        assert sign_up(client, name).status_code == status
    assert not _people("another")


def test_a_revoked_invitation_makes_no_account(judged):
    link = invite(judged)
    client = Client()
    client.get(link)
    judged.lead.incident.invitations.update(revoked_at=timezone.now())
    sign_up(client, "newcomer")
    assert not _people("newcomer")


def _people(name: str) -> bool:
    return User.objects.filter(username=name).exists()


def test_an_invitation_is_mailed_without_the_rooms_title(judged):
    link = invite(judged, email="net@example.com")
    assert mail.outbox[0].to == ["net@example.com"]
    assert link in mail.outbox[0].body
    assert "QPROD" not in mail.outbox[0].body + mail.outbox[0].subject


def test_a_wrong_address_keeps_the_form(judged):
    answer = client_of(judged.lead).post(
        reverse("invite", args=[judged.slug]), {"role": "lead", "team": "dba", "email": "x@"}
    )
    assert answer.status_code == 422
    assert 'value="x@"' in answer.content.decode()


def test_a_revoked_invitation_is_useless(judged):
    link = invite(judged)
    row = judged.lead.incident.invitations.get()
    client = client_of(judged.lead)
    assert (
        client.post(reverse("members", args=[judged.slug]), {"do": "revoke", "invitation": row.pk}).status_code == 302
    )
    assert client.get(link).status_code == 401


def test_a_role_is_changed_and_a_member_removed(judged):
    client = client_of(judged.lead)
    address = reverse("members", args=[judged.slug])
    id = judged.viewer.user.pk
    assert client.post(address, {"do": "change", "member": id, "role": "lead", "team": "dba"}).status_code == 302
    assert access.enter(judged.viewer.user, judged.slug).role == "lead"
    assert client.post(address, {"do": "change", "member": id, "role": "king", "team": "dba"}).status_code == 400
    assert client.post(address, {"do": "remove", "member": id}).status_code == 302
    assert client_of(judged.viewer).get(address).status_code == 404


def test_anybody_may_leave_but_the_last_lead(judged):
    address = reverse("members", args=[judged.slug])
    answer = client_of(judged.viewer).post(address, {"do": "remove", "member": judged.viewer.user.pk})
    assert answer["Location"] == reverse("rooms")
    answer = client_of(judged.lead).post(address, {"do": "remove", "member": judged.lead.user.pk})
    assert answer.status_code == 409
    assert "A room needs a lead" in answer.content.decode()


def test_people_inside_are_named(judged, monkeypatch):
    page = reverse("evidence", args=[judged.slug])
    here = [live.Here(judged.viewer.user.pk, page), live.Here(judged.lead.user.pk, "")]
    monkeypatch.setattr(live, "present_in", lambda ids: dict.fromkeys(ids, here))
    answer = client_of(judged.lead).get(reverse("members", args=[judged.slug]), {"part": "people"})
    assert re.findall(r'title="([^"]+)"', answer.content.decode()) == ["vera: evidence", "anna"]
    assert f'href="{page}"' in answer.content.decode()
