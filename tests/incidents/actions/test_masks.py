"""Tests of masks that a lead lifts: with a reason, one at a time, on the Lines page only."""

from __future__ import annotations

import logging

import pytest
from django.urls import reverse

from incidents import urls
from incidents.actions import artifacts, masks, purge
from incidents.errors import NotAllowed, Refused
from incidents.models.evidence.artifact import LiftedMask
from incidents.models.people.membership import Role
from incidents.models.room.activity import Activity
from incidents.work import analysis
from tests.incidents.conftest import make_artifact, make_member, make_room, run_jobs
from tests.incidents.pages.conftest import client_of
from tests.parsers.formats.evidence import read_path
from tests.parsers.secrets.planting import SENTENCES, WORD_LIKE, gives_away, plant, samples

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
    from incidents.storage import store
    from parsers.tables import parquet

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


PLANTED_KINDS = ("strace", "truss", "alert_log", "listener_log", "sqlnet", "oracle_params", "fdmap")


def planted(kind, start):
    """Return a real sample with secrets planted in it, and these secrets."""
    (path,) = samples(kind, 1)
    lines, plants = plant(path.read_bytes().decode("utf-8", "replace").split("\n"), read_path(path).tables, start)
    return "\n".join(lines).encode(), [one.secret for one in plants]


@pytest.fixture
def planted_room(db):
    """Make a room with planted samples of several kinds, a mail around two of them, and a secret in a file's name."""
    room = make_room()
    secrets = []
    for number, kind in enumerate(PLANTED_KINDS):
        content, found = planted(kind, 100 * number)
        make_artifact(room, content, f"{kind}-password=Zq{7000 + number}xW7k.txt")
        secrets += [*found, f"Zq{7000 + number}xW7k"]
    pieces = [planted(kind, 2000 + 100 * n) for n, kind in enumerate(("ps", "conntime"))]
    prose = [
        (form, secret_of(3000 + n)) for n, (form, secret_of) in enumerate([*SENTENCES.values(), *WORD_LIKE.values()])
    ]
    text = "\n\nand then\n\n".join(
        [*(form.format(secret) for form, secret in prose[::2]), *(content.decode() for content, _ in pieces)]
    )
    make_artifact(room, text.encode(), "mail.txt")
    secrets += [secret for _, secret in prose[::2]] + [s for _, found in pieces for s in found]
    run_jobs("small", "large", "judge")
    return room, secrets


def pages(room):
    """Return every answer that a member can fetch from a room, by name; pages of an artifact once for each artifact."""
    client, slug = client_of(room), room.incident.slug
    numbers = list(room.incident.artifacts.values_list("number", flat=True))
    client.raise_request_exception = True
    for pattern in urls.urlpatterns:
        name = getattr(pattern, "name", None)
        converters = getattr(getattr(pattern, "pattern", None), "converters", {})
        if name is None or name in ("original", "stream") or not {"slug"} <= set(converters) <= {"slug", "number"}:
            continue
        for number in numbers if "number" in converters else [None]:
            address = reverse(name, args=[slug] if number is None else [slug, number])
            yield f"{name} {number}", client.get(address)
    for number in numbers:
        for query in ("?notes=unknown", "?notes=prose", "?at=50", "?from=1&to=400"):
            view = "lines-data" if query.startswith("?from") else "lines"
            yield f"{view} {number}{query}", client.get(reverse(view, args=[slug, number]) + query)
    yield "api-report", client.get(reverse("api-report", args=[slug]))
    yield "timeline", client.get(reverse("timeline-data", args=[slug]))


def test_no_page_of_a_room_shows_a_planted_secret(planted_room, caplog):
    """Check every address of a room, the report, exports and logs: only the original, for leads, has the secrets."""
    room, secrets = planted_room
    caplog.set_level(logging.DEBUG)
    assert len(secrets) > 100
    seen = 0
    for name, answer in pages(room):
        text = answer.content.decode() if not answer.streaming else b"".join(answer.streaming_content).decode()
        given = [secret for secret in secrets if gives_away(secret, text)]
        assert not given, (name, given[:3])
        seen += answer.status_code == 200
    assert seen > 30
    report = str(analysis.judge(analysis.case_of(room.incident))) + analysis.case_yaml(room.incident)
    stored = str(list(Activity.objects.values())) + str(list(room.incident.artifacts.values()))
    for text in (report, stored, caplog.text):
        assert not [secret for secret in secrets if gives_away(secret, text)]
    viewer = make_member(room.incident, Role.VIEWER)
    number = room.incident.artifacts.get(name="mail.txt").number
    address = reverse("original", args=[room.incident.slug, number])
    assert client_of(viewer).get(address).status_code == 403
    answer = client_of(room).get(address)
    assert secrets[-1] in answer.getvalue().decode()
    searches(room, secrets)


def searches(room, secrets):
    """Check that no secret finds anything in the list of rooms, the activity, the search or its scan of lines."""
    client = client_of(room)
    for secret in secrets[::20]:
        found = client.get(reverse("rooms"), {"q": secret}).content.decode()
        assert room.incident.slug not in found
        found = client.get(reverse("search"), {"q": secret[:200], "room": room.incident.slug}).content.decode()
        found = found.partition("<main")[2]
        assert f"/rooms/{room.incident.slug}/evidence/" not in found
        assert f"/rooms/{room.incident.slug}/findings/" not in found
        rows = client.get(reverse("activity", args=[room.incident.slug]), {"q": secret}).content.decode()
        assert "uploaded" not in rows.partition("<tbody")[2]
