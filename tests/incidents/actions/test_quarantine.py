"""Tests of upload links for strangers and the quarantine: answers to ten senders at once, waiting files, their end."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from incidents.actions import members, quarantine, requests, rooms
from incidents.doors import upload_links
from incidents.errors import NoSpace, NotAMember, Refused, StoreError, TooLarge
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.quarantine import GiveLink, Quarantined, QuarantinedFile
from incidents.models.evidence.request import EvidenceRequest, RequestState
from incidents.models.people.membership import Role
from incidents.models.room.activity import Activity
from incidents.models.room.job import Job
from incidents.storage import store
from incidents.work import arrivals
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs

pytestmark = pytest.mark.django_db

TRACE = b"4711: /u01/oracle/bin/oracle\n"


@pytest.fixture(autouse=True)
def untried() -> None:
    cache.clear()


@pytest.fixture
def room() -> Any:
    return make_room(make_user("anna"), "A TITLE NOBODY MAY SEE")


@pytest.fixture
def asked(room: Any) -> EvidenceRequest:
    return requests.put(room, {"what": "The memory map", "command": "pmap -xs PID", "host": "db1"})


def link_of(room: Any, asked: EvidenceRequest, **said: Any) -> str:
    return quarantine.make_link(room, asked.pk, **said)


def enter(secret: str, data: bytes = TRACE, name: str = "pmap.txt") -> QuarantinedFile:
    incoming = store.receive_all([data])
    try:
        return quarantine.enter(quarantine.look_at(secret), incoming, name, "192.0.2.7")
    finally:
        incoming.discard()


# --- the page -----------------------------------------------------------------------------------------------------


def test_the_page_shows_what_is_asked_and_nothing_of_the_room(room, asked):
    make_member(room.incident, Role.INVESTIGATOR, make_user("nils.secret"))
    answer = Client().get(reverse("give", args=[link_of(room, asked, label="Storage desk")]))
    page = answer.content.decode()
    assert answer.status_code == 200
    for said in ("Storage desk", "The memory map", "pmap -xs PID", "Stops the process while its map is read", "curl"):
        assert said in page
    for hidden in ("A TITLE", "anna", "nils.secret", room.incident.slug, "Sign in", "/rooms/"):
        assert hidden not in page
    assert answer["X-Robots-Tag"] == "noindex"
    assert "no-store" in answer["Cache-Control"]


def test_the_page_has_the_block_of_its_symptom(room):
    asked = requests.put(room, {"what": "Samples", "os": "solaris", "os_release": "5.10", "symptom": "memory"})
    page = Client().get(reverse("give", args=[link_of(room, asked)])).content.decode()
    assert "/usr/xpg4/bin/sh &lt;&lt;&#x27;END_OF_EXHIBIT" in page
    assert "risk low; takes about" in page


def test_the_page_lets_its_own_forms_pass(room, asked):
    """Check the referrer policy: with no-referrer, browsers would send `Origin: null`, which the CSRF check refuses."""
    address = reverse("give", args=[link_of(room, asked)])
    client = Client(enforce_csrf_checks=True)
    page = client.get(address)
    assert page["Referrer-Policy"] == "strict-origin"
    assert 'name="referrer"' not in page.content.decode()
    token = client.cookies["csrftoken"].value
    data = {"text": "4711: oracle", "csrfmiddlewaretoken": token}
    assert client.post(address, data, headers={"Origin": "http://testserver"}).status_code == 302
    assert client.post(address, data, headers={"Origin": "null"}).status_code == 403


def test_an_invented_link_answers_401_with_words(db):
    answer = Client().get(reverse("give", args=["invented"]))
    assert answer.status_code == 401
    assert "There is no such link" in answer.content.decode()


def test_text_and_files_are_received_with_their_hash(room, asked):
    client, address = Client(), reverse("give", args=[link_of(room, asked)])
    for data in ({"text": "4711: oracle\n"}, {"file": SimpleUploadedFile("p.txt", TRACE)}):
        answer = client.post(address, data)
        assert answer.status_code == 302
        page = client.get(answer["Location"]).content.decode()
        newest = QuarantinedFile.objects.order_by("-received_at").first()
        assert newest is not None
        assert newest.sha256 in page
        assert "waits until a member of the team takes it in" in page
    assert QuarantinedFile.objects.count() == 2
    other = client.get(f"{reverse('give', args=[link_of(room, asked)])}?got={newest.pk}").content.decode()
    assert newest.sha256 not in other, "a receipt is shown behind its own link only"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"text": ""}, "This field is required"),
        ({}, "This field is required"),
        ({"file": SimpleUploadedFile("p.txt", b"")}, "The file is empty"),
    ],
)
def test_nothing_is_not_received(room, asked, data, words):
    answer = Client().post(reverse("give", args=[link_of(room, asked)]), data)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not QuarantinedFile.objects.exists()


def test_too_large_a_file_is_refused_with_the_cap(room, asked):
    GiveLink.objects.all().update(most_bytes=10)
    secret = link_of(room, asked)
    GiveLink.objects.update(most_bytes=10)
    answer = Client().post(reverse("give", args=[secret]), {"file": SimpleUploadedFile("p.txt", TRACE)})
    assert answer.status_code == 413
    assert "files of at most" in answer.content.decode()


def test_a_link_that_is_over_says_why(room, asked):
    secret = link_of(room, asked)
    address = reverse("give", args=[secret])

    def said() -> tuple[int, str]:
        answer = Client().get(address)
        return answer.status_code, answer.content.decode()

    requests.withdraw(room, asked.pk)
    assert said()[0] == 410
    assert "not needed any more" in said()[1]
    requests.reopen(room, asked.pk)
    assert said()[0] == 200
    GiveLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert said()[0] == 410
    assert "ran out" in said()[1]
    GiveLink.objects.update(expires_at=timezone.now() + timedelta(hours=1))
    make_artifact(room, TRACE)
    requests.answer(room, asked.pk, [1])
    assert said()[0] == 410
    assert "has arrived" in said()[1]
    assert "A TITLE" not in said()[1]
    post = Client().post(address, {"text": "late"})
    assert post.status_code == 410
    assert not QuarantinedFile.objects.exists()


def test_a_link_dies_with_the_rights_of_its_maker_and_sleeps_with_the_room(room, asked):
    nils = make_member(room.incident, Role.INVESTIGATOR)
    theirs, own = link_of(nils, asked), link_of(room, asked)
    members.remove(room, nils.user.pk)
    with pytest.raises(Refused, match="does not take files") as refused:
        quarantine.look_at(theirs)
    assert refused.value.status == 410
    rooms.close(room)
    with pytest.raises(Refused, match="does not take files"):
        quarantine.look_at(own)
    rooms.reopen(room)
    assert quarantine.look_at(own)


def test_whoever_sent_the_last_file_reads_its_receipt_after_the_request_is_answered(room, asked):
    secret = link_of(room, asked)
    file = enter(secret)
    quarantine.take_in(room, asked.pk, file.pk)
    page = Client().get(f"{reverse('give', args=[secret])}?got={file.pk}")
    assert page.status_code == 410
    assert "has taken it in" in page.content.decode()


# --- how often, how many ------------------------------------------------------------------------------------------


def test_tries_are_counted_per_address_and_per_link(room, asked, monkeypatch):
    monkeypatch.setattr(quarantine, "TRIES_EACH", 3)
    monkeypatch.setattr(quarantine, "TRIES_LINK", 5)
    secret = link_of(room, asked)
    for _ in range(3):
        quarantine.look_at(secret, "192.0.2.1")
    with pytest.raises(Refused) as refused:
        quarantine.look_at(secret, "192.0.2.1")
    assert refused.value.status == 429
    answer = Client().get(reverse("give", args=[secret]), REMOTE_ADDR="192.0.2.1")
    assert answer.status_code == 429
    assert "Too many tries" in answer.content.decode()
    for _ in range(3):
        with pytest.raises(NotAMember):
            quarantine.look_at("invented", "192.0.2.3")
    with pytest.raises(Refused, match="Too many tries"):
        quarantine.look_at("invented", "192.0.2.3")
    quarantine.look_at(secret, "198.51.100.1")
    quarantine.look_at(secret, "198.51.100.2")
    with pytest.raises(Refused, match="Too many tries"):
        quarantine.look_at(secret, "198.51.100.3")


@pytest.mark.django_db(transaction=True)
def test_ten_at_once_each_get_a_clear_answer(room, asked):
    secret = link_of(room, asked, files=4)
    answers: list[str] = []

    def send(n: int) -> None:
        try:
            enter(secret, TRACE + str(n).encode(), f"{n}.txt")
            answers.append("received")
        except Refused as refused:
            answers.append(f"{refused.status} {refused.message}")
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(n,)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (
        sorted(answers)
        == ["410 This link took its 4 files already. Ask whoever sent it to you for a new one."] * 6 + ["received"] * 4
    )
    assert QuarantinedFile.objects.count() == 4


def test_the_same_content_sent_again_is_the_row_that_is_there(room, asked):
    secret = link_of(room, asked, files=1)
    assert enter(secret).pk == enter(secret).pk
    with pytest.raises(Refused, match="took its 1 files"):
        enter(secret, b"another\n")


def test_the_floor_of_free_space_is_honoured(room, asked, settings):
    secret = link_of(room, asked)
    settings.EXHIBIT_MIN_FREE_BYTES = 2**62
    with pytest.raises(NoSpace):
        quarantine.require_room(quarantine.look_at(secret), 5)
    answer = Client().post(reverse("give", args=[secret]), {"file": SimpleUploadedFile("p.txt", TRACE)})
    assert answer.status_code == 507
    assert "disk for evidence is full" in answer.content.decode()


@pytest.mark.parametrize("said", [{"hours": 0}, {"hours": 400}, {"files": 0}, {"files": 99}, {"mib": 0}, {"mib": 5000}])
def test_a_link_without_bounds_is_not_made(room, asked, said):
    with pytest.raises(Refused):
        link_of(room, asked, **said)


def test_a_secret_is_stored_hashed_and_once(room, asked):
    secret = link_of(room, asked)
    link = GiveLink.objects.get()
    assert secret not in (link.token_hash, link.label)
    assert len(link.token_hash) == 64
    told = " ".join(f"{row.object} {row.detail}" for row in Activity.objects.filter(incident=room.incident))
    assert secret not in told
    assert Activity.objects.first_broken(room.incident.pk) is None


# --- what waits, what becomes of it -------------------------------------------------------------------------------


def test_nothing_of_a_waiting_file_is_read_or_counted(room, asked):
    file = enter(link_of(room, asked))
    assert not Artifact.objects.exists()
    assert not Job.objects.exists()
    assert store.quarantine_path(file.pk).parent.name == "quarantine"
    row = Activity.objects.filter(verb="sent").get()
    assert (row.actor_id, row.detail["sha256"]) == (None, file.sha256)


def test_taking_in_makes_evidence_with_the_host_of_the_request(room, asked, on_commit):
    file = enter(link_of(room, asked))
    artifact = quarantine.take_in(room, asked.pk, file.pk)
    assert store.original(artifact).read_bytes() == TRACE
    assert artifact.corrections.get().value == "db1"
    asked.refresh_from_db()
    assert asked.state == RequestState.ANSWERED
    with pytest.raises(Refused, match="taken in already"):
        quarantine.take_in(room, asked.pk, file.pk)


def test_content_that_the_room_holds_already_answers_as_well(room, asked):
    there = make_artifact(room, TRACE)
    file = enter(link_of(room, asked))
    assert quarantine.take_in(room, asked.pk, file.pk) == there
    file.refresh_from_db()
    assert (file.state, file.artifact) == (Quarantined.TAKEN, there)


def test_bytes_that_changed_on_disk_are_not_taken_in(room, asked):
    file = enter(link_of(room, asked))
    store.quarantine_path(file.pk).write_bytes(b"something else\n")
    with pytest.raises(StoreError):
        quarantine.take_in(room, asked.pk, file.pk)
    file.refresh_from_db()
    assert file.state == Quarantined.WAITING
    assert not Artifact.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_bytes_go_when_a_file_is_settled(room, asked):
    secret = link_of(room, asked)
    taken, refused = enter(secret), enter(secret, b"other\n")
    quarantine.refuse(room, asked.pk, refused.pk, "Not ours.")
    quarantine.take_in(room, asked.pk, taken.pk)
    assert not store.quarantine_path(taken.pk).exists()
    assert not store.quarantine_path(refused.pk).exists()
    row = Activity.objects.get(verb="refused")
    assert (row.detail["sha256"], row.detail["size"], row.detail["reason"]) == (refused.sha256, 6, "Not ours.")


def test_an_archive_bomb_is_caught_where_it_is_unpacked_and_not_before(room, asked, settings):
    """Check that quarantine opens no archive, and that the limits of unpacking apply to files taken in from there."""
    bomb = gzip.compress(b"\0" * 100_000_000)
    file = enter(link_of(room, asked), bomb, "trace.gz")
    assert store.quarantine_path(file.pk).stat().st_size == len(bomb)
    artifact = quarantine.take_in(room, asked.pk, file.pk)
    run_jobs("small", "large")
    artifact.refresh_from_db()
    assert [row.why for row in artifact.members.filter(became=None)] == [artifact.cause] or artifact.state == "failed"
    assert "times the packed size" in f"{artifact.cause} {list(artifact.members.values_list('why', flat=True))}"
    assert Artifact.objects.count() == 1


def test_quarantined_files_and_requests_run_out(room, asked):
    file = enter(link_of(room, asked))
    arrivals.look()
    file.refresh_from_db()
    assert file.state == Quarantined.WAITING
    QuarantinedFile.objects.update(received_at=timezone.now() - timedelta(days=arrivals.QUARANTINE_DAYS, minutes=1))
    GiveLink.objects.update(expires_at=timezone.now() - timedelta(days=12))
    arrivals.look()
    file.refresh_from_db()
    asked.refresh_from_db()
    assert file.state == Quarantined.EXPIRED
    assert not store.quarantine_path(file.pk).exists()
    assert asked.state == RequestState.EXPIRED
    assert {row.verb for row in Activity.objects.filter(actor_id=None)} >= {"let go", "expired"}


def test_a_request_with_something_waiting_or_somebody_asked_does_not_run_out(room, asked):
    enter(link_of(room, asked))
    member = make_member(room.incident, Role.INVESTIGATOR)
    other = requests.put(room, {"what": "Another", "asked_of": member.user.pk})
    link_of(room, other)
    GiveLink.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    arrivals.look()
    assert set(EvidenceRequest.objects.values_list("state", flat=True)) == {RequestState.OPEN}


def test_bytes_whose_row_never_came_are_removed_after_a_day(room, asked, monkeypatch):
    file = enter(link_of(room, asked))
    stray = store.quarantine_path(file.pk).with_name("0" * 8 + "-0000-4000-8000-" + "0" * 12)
    stray.write_bytes(b"left by a crash")
    arrivals.look()
    assert stray.exists()
    monkeypatch.setattr(arrivals, "STRAY_S", -1)
    arrivals.look()
    assert not stray.exists()
    assert store.quarantine_path(file.pk).exists()


# --- large bodies -------------------------------------------------------------------------------------------------


def call(
    application: Any, method: str, path: str, body: Iterable[bytes] = (), headers: dict[str, str] | None = None
) -> tuple[int, Any, int]:
    """Send one request to an ASGI application; returns status, body, and how many pieces it read."""
    pieces = iter(body)
    state: dict[str, Any] = {"status": 0, "read": 0, "body": b""}

    async def receive() -> dict[str, Any]:
        state["read"] += 1
        piece = next(pieces, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            state["status"] = message["status"]
        else:
            state["body"] += message["body"]

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "scheme": "http",
        "client": ("192.0.2.9", 1),
        "headers": [(k.encode(), v.encode()) for k, v in {"host": "127.0.0.1:8000", **(headers or {})}.items()],
    }
    asyncio.run(application(scope, receive, send))
    return state["status"], state["body"], state["read"]


@pytest.mark.django_db(transaction=True)
def test_a_put_streams_into_quarantine(room, asked):
    secret = link_of(room, asked)
    status, body, _ = call(upload_links.application, "PUT", f"/give/{secret}/a%2Fpmap.txt", [b"x" * 1000] * 3000)
    said = json.loads(body)
    file = QuarantinedFile.objects.get()
    assert status == 201
    assert (said["sha256"], said["size"]) == (file.sha256, 3_000_000)
    assert "quarantine" in said["next"]
    assert file.address == "192.0.2.9"


@pytest.mark.django_db(transaction=True)
def test_the_cap_holds_while_reading_and_before(room, asked):
    secret = link_of(room, asked)
    GiveLink.objects.update(most_bytes=2_000_000)
    announced = {"content-length": "2000001"}
    status, body, read = call(upload_links.application, "PUT", f"/give/{secret}/a", [b"x"], announced)
    assert (status, read) == (413, 0)
    assert b"at most 2 MiB" in body
    status, _, read = call(upload_links.application, "PUT", f"/give/{secret}/a", [b"x" * 100_000] * 100)
    assert status == 413
    assert read < 40, "it stopped reading at the cap"
    assert not QuarantinedFile.objects.exists()
    assert list((store._root() / "incoming").iterdir()) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_a_body_is_not_read_where_the_link_is_not_usable(room, asked, method):
    secret = link_of(room, asked)
    requests.withdraw(room, asked.pk)

    async def pages(*_: Any) -> None:
        raise AssertionError("Django must not see it")

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        await upload_links.guarded(scope, receive, send, pages)

    application = upload_links.application if method == "PUT" else guarded
    for path, expected in ((f"/give/{secret}/", 410), ("/give/invented/", 401)):
        status, body, read = call(application, method, path, [b"x" * 10], {"content-length": "10"})
        assert (status, read) == (expected, 0)
        assert b"A TITLE" not in body


@pytest.mark.django_db(transaction=True)
def test_a_form_above_the_cap_does_not_reach_django(room, asked):
    secret = link_of(room, asked)
    GiveLink.objects.update(most_bytes=1000)
    seen: list[int] = []

    async def pages(scope: Any, receive: Any, send: Any) -> None:
        seen.append(len((await receive()).get("body", b"")))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        await upload_links.guarded(scope, receive, send, pages)

    path = f"/give/{secret}/"
    assert call(guarded, "POST", path, [b"x"], {"content-length": str(2**20)})[0] == 413
    assert call(guarded, "POST", path, [b"x"])[0] == 411
    assert seen == []
    assert call(guarded, "POST", path, [b"x" * 10], {"content-length": "10"})[0] == 200
    assert seen == [10]


@pytest.mark.django_db(transaction=True)
def test_errors_of_a_put_are_words(room, asked):
    secret = link_of(room, asked)
    status, body, _ = call(upload_links.application, "PUT", f"/give/{secret}/a", [b""])
    assert (status, "The file is empty" in json.loads(body)["error"]) == (422 if status == 422 else 400, True)
    with pytest.raises(TooLarge):
        quarantine.require_room(quarantine.look_at(secret), 2**40)
