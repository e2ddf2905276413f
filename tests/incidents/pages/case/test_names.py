"""Tests of names of a site: entered on the case page or by an administrator, shown in observations, unused by rules."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents.access import Room, enter
from incidents.actions import names, rooms
from incidents.errors import NotAllowed, Refused
from incidents.models.judging.finding import Evaluation
from incidents.models.judging.site_name import NameKind, SiteName
from incidents.models.people.membership import Role
from incidents.models.room.job import Job, JobKind
from incidents.work import analysis
from rules.case.site_names import KINDS
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.pages.case.test_case import form, row
from tests.incidents.pages.conftest import client_of

pytestmark = pytest.mark.django_db

RESOLVED = b"""\
Feb 18 11:23:28 laptop systemd-resolved[1102]: Sending query packet with id 6096 of size 51 to 10.0.0.7:7001.
Feb 18 11:23:33 laptop systemd-resolved[1102]: Timeout reached on transaction 6096.
Feb 18 11:23:33 laptop systemd-resolved[1102]: Retrying transaction 6096, after switching servers.
Feb 18 11:23:33 laptop systemd-resolved[1102]: Sending query packet with id 6097 of size 51 to 10.0.0.7:7001.
Feb 18 11:23:38 laptop systemd-resolved[1102]: Timeout reached on transaction 6097.
"""


@pytest.fixture
def room() -> Room:
    return make_room(make_user("anna"), "Orders take five seconds")


def save(room: Room, *typed: dict[str, Any], initial: int = 0) -> Any:
    data = form(names__TOTAL_FORMS=len(typed), names__INITIAL_FORMS=initial, title=room.incident.title)
    for n, one in enumerate(typed):
        data |= row("names", n, **one)
    return client_of(room).post(reverse("case", args=[room.incident.slug]), data, follow=True)


def page(room: Room) -> str:
    return client_of(room).get(reverse("case", args=[room.incident.slug])).content.decode()


def plain(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


ORDER = {"kind": "port", "name": "7001", "text": "our order service"}


def test_a_name_is_typed_shown_with_author_and_day_changed_removed_and_put_back(room: Room) -> None:
    nils = make_member(room.incident, Role.INVESTIGATOR, make_user("nils"))
    assert save(nils, ORDER).status_code == 200
    saved = room.incident.site_names.get()
    assert (saved.kind, saved.name, saved.text, saved.author) == ("port", "7001", "our order service", nils.user)
    assert Job.objects.filter(incident=room.incident, kind=JobKind.JUDGE, state="queued").exists()
    assert "said by nils" in plain(page(room))
    save(room, {**ORDER, "id": saved.pk, "text": "the order service of Poland"}, initial=1)
    saved.refresh_from_db()
    assert (saved.text, saved.author_label) == ("the order service of Poland", "anna")
    save(room, {**ORDER, "id": saved.pk, "text": saved.text, "DELETE": "on"}, initial=1)
    text = plain(page(room))
    assert "Removed names" in text
    assert "7001 : the order service of Poland" in text
    assert analysis.case_of(room.incident).names == ()
    answer = client_of(nils).post(reverse("name-back", args=[room.incident.slug, saved.pk]), follow=True)
    assert "Back again: port 7001: the order service of Poland." in answer.content.decode()
    assert [name.text for name in analysis.case_of(room.incident).names] == ["the order service of Poland"]
    said = room.incident.activity.filter(object="port 7001").order_by("seq").values_list("verb", "actor_name")
    assert list(said) == [("named", "nils"), ("changed", "anna"), ("removed", "anna"), ("put back", "nils")]


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ({"name": "99999"}, "A port is a whole number from 1 to 65535; 99999 is not."),
        ({"name": ""}, "Type the name as the evidence writes it."),
        ({"text": ""}, "Say what it is."),
        ({"text": "   "}, "Say what it is."),
        ({"text": "z" * 10_000}, "This has 10,000 characters; at most 200 are kept."),
        ({"kind": "path", "name": "/" + "y" * 9_999}, "This has 10,000 characters"),
        ({"kind": "log text", "name": "ORD-.* refused"}, "a pattern is not searched for"),
        ({"kind": "host", "name": "10.0.0.*"}, "a pattern is not searched for"),
        ({"kind": "planet", "name": "Mars"}, "Select a valid choice."),
        ({"text": "turned \u202e round"}, "without control characters"),
    ],
)
def test_bad_input_is_refused_in_words_and_stays_as_typed(room: Room, typed: dict[str, str], why: str) -> None:
    other = {"kind": "process", "name": "mqbroker", "text": "takes orders <b>"}
    answer = save(room, {**ORDER, **typed}, other)
    text = answer.content.decode()
    assert answer.status_code == 422
    assert why in text
    assert not SiteName.objects.exists()
    for kept in (typed.get("name") or "7001", typed.get("text", "").strip() or "7001", "takes orders &lt;b&gt;"):
        assert kept in text


def test_a_thing_has_one_name_in_a_room(room: Room) -> None:
    save(room, ORDER)
    answer = save(room, ORDER | {"id": room.incident.site_names.get().pk}, {**ORDER, "text": "another"}, initial=1)
    assert answer.status_code == 422
    assert "port 7001 has a name already: our order service. Change that one." in answer.content.decode()
    assert "another" in answer.content.decode()
    assert room.incident.site_names.count() == 1
    elsewhere = make_room()
    names.put(elsewhere, "port", "7001", "their own")
    with pytest.raises(IntegrityError), transaction.atomic():
        SiteName.objects.create(incident=room.incident, kind="port", name="7001", text="x", author=room.user, said_at=room.incident.created_at)  # fmt: skip


def test_a_removed_name_does_not_come_back_beside_a_new_one(room: Room) -> None:
    old = names.put(room, "port", "7001", "old")
    names.remove(room, old.pk)
    names.remove(room, old.pk)  # sent twice
    names.put(room, "port", "7001", "new")
    with pytest.raises(Refused, match="has a name already: new"):
        names.put_back(room, old.pk)
    with pytest.raises(Refused, match="no such name"):
        names.put_back(make_room(), old.pk)


def test_there_is_a_maximum(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "MOST", 2)
    rows = [names.put(room, "port", str(port), "x") for port in (1, 2)]
    with pytest.raises(Refused, match="2 names already"):
        names.put(room, "port", "3", "x")
    names.put(room, "port", "1", "changed", rows[0].pk)
    names.remove(room, rows[0].pk)
    names.put(room, "port", "3", "x")
    with pytest.raises(Refused, match="2 names already"):
        names.put_back(room, rows[0].pk)


def test_a_viewer_reads_names_and_changes_none(room: Room) -> None:
    saved = names.put(room, "port", "7001", "our order service")
    names.remove(room, names.put(room, "port", "7002", "gone").pk)
    vera = make_member(room.incident, Role.VIEWER, make_user("vera"))
    text = page(vera)
    assert "our order service" in text
    assert "Put back" not in text
    assert save(vera, {**ORDER, "name": "7003"}).status_code == 403
    assert client_of(vera).post(reverse("name-back", args=[room.incident.slug, saved.pk])).status_code == 403
    assert SiteName.objects.count() == 2


def test_more_names_cost_no_more_queries(room: Room) -> None:
    counts = []
    for ports in (range(1, 2), range(2, 12)):
        for port in ports:
            names.put(room, "port", str(port), "x")
            names.remove(room, names.put(room, "port", str(100 + port), "x").pk)
        client = client_of(room)
        client.get(reverse("case", args=[room.incident.slug]))
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("case", args=[room.incident.slug]))
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_observations_tell_names_and_the_verdict_stays(room: Room) -> None:
    make_artifact(room, RESOLVED, "resolved.txt")
    run_jobs()
    before = Evaluation.objects.latest("number").report
    names.put(room, "log text", "Timeout reached on transaction", "known <since> the move")
    run_jobs()
    after = Evaluation.objects.latest("number").report
    told = [one for one in after["observations"] if one["names"]]
    assert told
    assert all("; “Timeout reached on transaction”: known <since> the move" in one["headline"] for one in told)
    assert told[0]["names"][0]["author"] == "anna"
    # The headline may quote what stands out most, with its names; nothing else of the verdict tells any.
    assert after["verdict"] | {"headline": ""} == before["verdict"] | {"headline": ""}
    assert [one["key"] for one in after["observations"]] == [one["key"] for one in before["observations"]]
    shown = client_of(room).get(reverse("room", args=[room.incident.slug])).content.decode()
    assert "known &lt;since&gt; the move" in shown
    assert f'href="/rooms/{room.incident.slug}/case/#names"' in shown
    searched = client_of(room).get(reverse("search"), {"q": "since the move", "kind": "observation"}).content.decode()
    assert "Timeout reached" in searched
    exported = yaml.safe_load(client_of(room).get(reverse("case-yaml", args=[room.incident.slug])).content)
    assert exported["names"][0]["text"] == "known <since> the move"


# --- of the whole site ------------------------------------------------------------------------------------------------


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(make_user("root", is_superuser=True, is_staff=True))
    return client


def test_an_administrator_names_things_for_all_rooms(room: Room, admin: Client) -> None:
    add = reverse("admin:incidents_sitename_add")
    assert admin.post(add, ORDER).status_code == 302
    saved = SiteName.objects.get()
    assert (saved.incident, saved.author_label, saved.text) == (None, "root", "our order service")
    assert "For all rooms" in plain(page(room))
    assert [name.text for name in analysis.case_of(room.incident).names] == ["our order service"]
    own = names.put(room, "port", "7001", "our test service")
    assert [name.text for name in analysis.case_of(room.incident).names] == ["our order service", "our test service"]
    names.remove(room, own.pk)
    change = reverse("admin:incidents_sitename_change", args=[saved.pk])
    assert admin.post(change, {**ORDER, "text": "orders"}).status_code == 302
    saved.refresh_from_db()
    assert saved.text == "orders"
    listed = reverse("admin:incidents_sitename_changelist")
    for action, there in (("remove", []), ("put_back", ["orders"])):
        assert admin.post(listed, {"action": action, "_selected_action": [saved.pk]}).status_code == 302
        assert [name.text for name in analysis.case_of(room.incident).names] == there


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ({"name": "99999"}, "A port is a whole number"),
        ({"text": ""}, "This field is required."),
        ({"name": "7000"}, "This has a name already"),
        ({"text": "x" * 201}, "at most 200 characters"),
    ],
)
def test_an_administrator_is_told_what_is_wrong(admin: Client, typed: dict[str, str], why: str) -> None:
    admin.post(reverse("admin:incidents_sitename_add"), {**ORDER, "name": "7000"})
    answer = admin.post(reverse("admin:incidents_sitename_add"), {**ORDER, **typed})
    assert answer.status_code == 200
    assert why in answer.content.decode()
    assert SiteName.objects.count() == 1


def test_nobody_else_names_things_for_all_rooms(room: Room, admin: Client) -> None:
    admin.post(reverse("admin:incidents_sitename_add"), ORDER)
    saved = SiteName.objects.get()
    with pytest.raises(NotAllowed):
        names.put_for_all(room.user, "port", "7002", "mine")
    with pytest.raises(NotAllowed):
        names.remove_for_all(room.user, saved.pk)
    with pytest.raises(Refused, match="no such name"):
        names.remove(room, saved.pk)  # a room's lead does not reach it by its number
    staff = Client()
    staff.force_login(make_user("staff", is_staff=True))
    for address in ("add", "changelist"):
        assert staff.get(reverse(f"admin:incidents_sitename_{address}")).status_code == 403
    assert client_of(room).get(reverse("admin:incidents_sitename_changelist")).status_code == 302


def test_rooms_do_not_see_each_others_names(room: Room) -> None:
    names.put(make_room(), "port", "7001", "a secret of others")
    assert "a secret of others" not in page(room)
    assert analysis.case_of(room.incident).names == ()


def test_a_closed_room_keeps_its_names(room: Room) -> None:
    saved = names.put(room, "port", "7001", "our order service")
    rooms.set_status(room, "closed")
    closed = enter(room.user, room.incident.slug)
    with pytest.raises(Refused):
        names.remove(closed, saved.pk)
    assert "our order service" in page(closed)


def test_kinds_are_those_of_the_rules() -> None:
    assert NameKind.values == list(KINDS)
