"""Masks that a lead lifts: for a reason, one at a time, on the Lines page alone."""

from __future__ import annotations

import pytest
from django.urls import reverse

from incidents import analysis
from incidents.actions import artifacts, masks, purge
from incidents.errors import NotAllowed, Refused
from incidents.models.activity import Activity
from incidents.models.artifact import LiftedMask
from incidents.models.membership import Role
from tests.incidents.conftest import make_artifact, make_member, make_room, run_jobs
from tests.incidents.views.conftest import client_of

SECRET = "Geheim1234"
OTHER = "Anders9876"
TEXT = (
    f"06-JAN-2024 10:15:01 * (CONNECT_DATA=(SID=Q)(PASSWORD={SECRET})) * establish * Q * 0\nconnect app/{OTHER}@QPROD\n"
).encode()


@pytest.fixture
def room(db):
    room = make_room()
    make_artifact(room, TEXT, "session.txt")
    run_jobs("small", "large")
    return room


def lines_of(who):
    answer = client_of(who).get(reverse("lines-data", args=[who.incident.slug, 1]))
    assert answer.status_code == 200
    return answer.json()["lines"]


def place_of(room, line):
    return tuple(lines_of(room)[line - 1]["masks"][0]["place"])


def test_masks_say_their_kind_and_length(room):
    first, second = lines_of(room)
    assert SECRET not in first["text"]
    assert OTHER not in second["text"]
    mask = first["masks"][0]
    assert first["text"][mask["from"] : mask["to"]] == "*" * len(SECRET)
    assert f"{len(SECRET)} characters, masked" in mask["words"]


def test_a_lead_lifts_one_mask_and_every_member_sees_who_and_why(room):
    viewer = make_member(room.incident, Role.VIEWER)
    masks.lift(room, 1, 1, place_of(room, 1), "Is it the old password?")
    first, second = lines_of(viewer)
    assert SECRET in first["text"]
    assert OTHER not in second["text"]
    words = first["masks"][0]["words"]
    assert room.user.get_username() in words
    assert "Is it the old password?" in words
    page = client_of(viewer).get(reverse("lines", args=[room.incident.slug, 1])).content.decode()
    assert SECRET in page
    row = Activity.objects.filter(incident=room.incident, verb="lifted a mask").get()
    assert row.detail["reason"] == "Is it the old password?"
    assert SECRET not in str(row.detail)
    masks.put_back(room, 1, 1, place_of(room, 1))
    assert SECRET not in lines_of(viewer)[0]["text"]
    assert Activity.objects.filter(incident=room.incident, verb="put a mask back").exists()


def test_a_lifted_mask_shows_nowhere_else(room):
    masks.lift(room, 1, 1, place_of(room, 1), "needed")
    artifacts.reread(room, 1)
    run_jobs("small")
    slug = room.incident.slug
    client = client_of(room)
    for name, args in (
        ("evidence", ()),
        ("room", ()),
        ("activity", ()),
        ("case", ()),
        ("case-yaml", ()),
        ("timeline-data", ()),
        ("api-report", ()),
        ("kind", (1,)),
        ("question", (1,)),
        ("questions", ()),
        ("correct", (1,)),
    ):
        answer = client.get(reverse(name, args=[slug, *args]))
        assert answer.status_code in (200, 404, 409), name
        assert SECRET not in answer.content.decode(), name
    report = analysis.judge(analysis.case_of(room.incident))
    assert SECRET not in str(report)
    from incidents import store
    from parsers import parquet

    artifact = room.incident.artifacts.select_related("reading").get()
    reading = store.shown_reading(artifact)
    assert reading is not None
    folder = store.reading_dir(reading)
    for table in parquet.tables(folder):
        assert SECRET not in str(parquet.scan(folder, table).collect().to_dicts()), table
    # And not in another room that holds the same bytes.
    other = make_room(title="Another room")
    make_artifact(other, TEXT, "session.txt")
    run_jobs("small")
    assert SECRET not in lines_of(other)[0]["text"]
    assert SECRET in lines_of(room)[0]["text"]


def test_only_a_lead_lifts_and_only_what_is_a_mask(room):
    place = place_of(room, 1)
    with pytest.raises(NotAllowed):
        masks.lift(make_member(room.incident, Role.INVESTIGATOR), 1, 1, place, "curious")
    with pytest.raises(Refused, match="no such mask"):
        masks.lift(room, 1, 1, (place[0] - 3, place[1]), "more of it")
    with pytest.raises(Refused, match="Say in a few words"):
        masks.lift(room, 1, 1, place, "  ")
    with pytest.raises(Refused, match="not lifted"):
        masks.put_back(room, 1, 1, place)
    masks.lift(room, 1, 1, place, "needed")
    with pytest.raises(Refused, match="already"):
        masks.lift(room, 1, 1, place, "again")
    assert LiftedMask.objects.get().sha256 == room.incident.artifacts.get().sha256


def test_a_purge_forgets_what_was_lifted(room):
    masks.lift(room, 1, 1, place_of(room, 1), "needed")
    purge.purge(room, 1, "should not have come here")
    assert not LiftedMask.objects.exists()
