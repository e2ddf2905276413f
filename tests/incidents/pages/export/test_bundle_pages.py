"""The Export page, the form that takes a bundle, and the page that says where a room came from."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from incidents import access
from incidents.access import Room
from incidents.models.people.membership import Role
from incidents.models.room.bundle import BundleState, Export
from incidents.models.room.incident import Incident
from incidents.storage import signing, store
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.pages.conftest import client_of
from tests.incidents.pages.pages import unbroken

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Room:
    room = make_room(make_user("berta", first_name="Berta"))
    make_artifact(room)
    run_jobs("small")
    return room


def made(room: Room, holds: str = "originals") -> bytes:
    client = client_of(room)
    client.post(reverse("export", args=[room.incident.slug]), {"do": "make", "holds": holds})
    run_jobs("large")
    row = Export.objects.filter(incident=room.incident).latest("asked_at")
    answer = client.get(reverse("export-bundle", args=[room.incident.slug, row.pk]))
    assert answer["Content-Disposition"] == f'attachment; filename="{room.incident.slug}-{holds}.exhibit.tar"'
    content: bytes = answer.getvalue()
    return content


def test_a_lead_makes_downloads_and_removes_a_bundle(room, django_capture_on_commit_callbacks):
    content = made(room)
    url = reverse("export", args=[room.incident.slug])
    page = unbroken(client_of(room).get(url))
    row = Export.objects.get()
    assert row.sha256 in page
    assert signing.public_key() in page
    assert len(content) == row.size
    with django_capture_on_commit_callbacks(execute=True):
        client_of(room).post(url, {"do": "remove", "bundle": row.pk})
    assert not store.bundle_path(room.incident.pk, row.pk).exists()
    assert client_of(room).get(reverse("export-bundle", args=[room.incident.slug, row.pk])).status_code == 410
    verbs = list(room.incident.activity.values_list("verb", flat=True))
    assert verbs[-4:] == ["asked for", "made", "downloaded", "removed"]


def test_the_page_shows_how_far_a_bundle_is(room):
    url = reverse("export", args=[room.incident.slug])
    client_of(room).post(url, {"do": "make", "holds": "tables"})
    Export.objects.update(state=BundleState.RUNNING, done_bytes=512, total_bytes=2048)
    answer = client_of(room).get(url)
    assert 'hx-trigger="every 2s"' in answer.content.decode()
    assert '<progress max="2048" value="512">' in answer.content.decode()


def test_a_bundle_that_failed_says_why(room):
    store.original(room.incident.artifacts.get()).unlink()
    url = reverse("export", args=[room.incident.slug])
    client_of(room).post(url, {"do": "make", "holds": "originals"})
    for _ in range(3):
        room.incident.jobs.filter(kind="export").update(not_before=None)
        run_jobs("large")
    assert "did not answer" in unbroken(client_of(room).get(url))


def test_a_viewer_is_told_who_makes_bundles(room):
    viewer = make_member(room.incident, Role.VIEWER)
    page = unbroken(client_of(viewer).get(reverse("export", args=[room.incident.slug])))
    assert "Leads make bundles" in page
    assert "Make the file" not in page


def test_a_bundle_brought_by_form_opens_a_room_with_its_origin(room):
    content = made(room)
    somebody = make_user("carl")
    other = make_room(somebody, "Somewhere else")
    file = SimpleUploadedFile("room.tar", content)
    answer = client_of(other).post(reverse("room-import"), {"file": file, "key": signing.public_key()})
    assert answer.status_code == 302
    incident = Incident.objects.get(origin__isnull=False)
    assert answer["Location"] == reverse("origin", args=[incident.slug])
    assert "is being filled" in unbroken(client_of(other).get(answer["Location"]))
    run_jobs()
    page = unbroken(client_of(other).get(answer["Location"]))
    assert "by Berta" in page
    assert "chain of hashes is intact" in page
    assert "had not been judged there" in page
    assert access.enter(somebody, incident.slug).role == Role.LEAD
    assert unbroken(client_of(other).get(reverse("room", args=[incident.slug])))


def test_a_changed_bundle_is_refused_on_the_form_and_what_was_typed_stays(room):
    content = bytearray(made(room))
    content[-2000] ^= 1
    answer = client_of(room).post(
        reverse("room-import"), {"file": SimpleUploadedFile("room.tar", bytes(content)), "key": signing.public_key()}
    )
    assert answer.status_code == 422
    assert "was changed since it was signed" in unbroken(answer)
    assert signing.public_key() in answer.content.decode()
    assert not Incident.objects.filter(origin__isnull=False).exists()


def test_a_room_of_its_own_has_no_origin(room):
    assert client_of(room).get(reverse("origin", args=[room.incident.slug])).status_code == 404


def test_lines_that_did_not_come_along_are_said_so(room):
    file = SimpleUploadedFile("room.tar", made(room, "tables"))
    answer = client_of(room).post(reverse("room-import"), {"file": file})
    run_jobs("large")
    slug = answer["Location"].split("/")[2]
    shown = client_of(room).get(reverse("lines", args=[slug, 1]))
    assert shown.status_code == 410
    assert "came in a bundle of tables" in unbroken(shown)
    assert client_of(room).get(reverse("original", args=[slug, 1])).status_code == 410
    assert client_of(room).get(reverse("evidence", args=[slug])).status_code == 200


def test_the_commands_write_and_read_a_bundle(room, tmp_path: Path, capsys):
    file = tmp_path / "room.tar"
    call_command("export_room", "berta", room.incident.slug, str(file), "--tables")
    assert str(file) in capsys.readouterr().out
    call_command("import_room", "berta", str(file), key=signing.public_key())
    address = capsys.readouterr().out.strip()
    assert address == reverse("origin", args=[Incident.objects.get(origin__isnull=False).slug])
    with pytest.raises(CommandError, match="is there already"):
        call_command("export_room", "berta", room.incident.slug, str(file))
    with pytest.raises(CommandError, match="not signed by the site"):
        call_command("import_room", "berta", str(file), key="RWnobody")
    with pytest.raises(CommandError, match="nobody called"):
        call_command("import_room", "nobody", str(file))
    file.write_bytes(b"no bundle")
    with pytest.raises(CommandError, match="no room bundle"):
        call_command("import_room", "berta", str(file))
