"""The record: complete, filtered, paged, verified."""

from __future__ import annotations

from django.db import connection
from django.urls import reverse

from incidents.actions import notes
from tests.incidents.pages.conftest import client_of


def show(room, **query):
    answer = client_of(room).get(reverse("activity", args=[room.incident.slug]), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_names_who_did_what(judged):
    text = show(judged.viewer)
    for verb in ("opened", "uploaded", "wrote", "disputed"):
        assert f"<td>{verb}</td>" in text
    assert text.index("<td>disputed</td>") < text.index("<td>opened</td>")


def test_it_is_filtered_by_person_verb_and_text(judged):
    by = show(judged.viewer, who=str(judged.investigator.user.pk))
    assert "<td>opened</td>" not in by
    assert "<td>disputed</td>" in by
    assert "<td>disputed</td>" not in show(judged.viewer, verb="uploaded")
    assert "pmap-smon" in show(judged.viewer, q="pmap-smon")
    assert "No row matches this filter" in show(judged.viewer, q="nothing like it")
    for nonsense in ({"who": "x"}, {"verb": "'"}, {"page": "-1"}, {"q": "\x00"}):
        show(judged.viewer, **nonsense)


def test_it_is_paged(judged):
    for n in range(100):
        notes.add(judged.investigator, f"note {n}")
    assert "page 1 of 2" in show(judged.viewer)
    assert "<td>opened</td>" in show(judged.viewer, page="2")


def test_a_whole_chain_verifies_and_a_changed_row_is_named(judged):
    client = client_of(judged.viewer)
    address = reverse("activity-verify", args=[judged.slug])
    assert "The record holds" in client.post(address).content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE incidents_activity DISABLE TRIGGER USER")
        cursor.execute("UPDATE incidents_activity SET verb = 'nothing' WHERE seq = 2")
        cursor.execute("ALTER TABLE incidents_activity ENABLE TRIGGER USER")
    part = client.post(address, headers={"HX-Request": "true"}).content.decode()
    assert "does not hold from row 2 on" in part
    assert "<html" not in part
