"""The pages of requests: list, form from what the report lacks, one request, its links and its quarantine."""

from __future__ import annotations

import re
import uuid
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from incidents.actions import quarantine, requests
from incidents.content import rulebook
from incidents.content.report import Outlook
from incidents.models.evidence.artifact import Artifact, Way
from incidents.models.evidence.quarantine import GiveLink, Quarantined, QuarantinedFile
from incidents.models.evidence.request import EvidenceRequest, RequestState
from incidents.models.judging.case import Host
from incidents.models.people.membership import Role
from incidents.models.people.notification import Notification, Told
from incidents.storage.store import quarantine_path
from rules.judging.scoring import CAUSES
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Any:
    room = make_room(make_user("anna"), "Logins to QPROD take 3.9 s", symptom_text="logins are slow")
    Host.objects.create(incident=room.incident, name="db1", os="solaris", os_release="5.10", role="database")
    return room


def ask_for(room: Any, **said: Any) -> EvidenceRequest:
    return requests.put(room, {"what": "The memory map of the listener", "command": "pmap -xs PID", **said})


def html(answer: Any) -> str:
    return str(answer.content.decode())


# --- the list -----------------------------------------------------------------------------------------------------


def test_an_empty_list_says_what_to_do(room):
    page = html(client_of(room).get(reverse("requests", args=[room.incident.slug])))
    assert "Nothing has been requested yet" in page
    assert reverse("request-new", args=[room.incident.slug]) in page
    assert reverse("collect", args=[room.incident.slug]) in page


def test_the_list_sorts_filters_and_pages(room, django_assert_max_num_queries):
    for n in range(28):
        ask_for(room, what=f"thing {n:02}", worth=n % 7)
    late = ask_for(room, what="overdue thing", due_at=timezone.now() - timedelta(hours=1))
    back = ask_for(room, what="taken back thing")
    requests.withdraw(room, back.pk)
    client, address = client_of(room), reverse("requests", args=[room.incident.slug])
    with django_assert_max_num_queries(15):
        page = html(client.get(address))
    found = re.findall(r"thing \d\d", re.sub(r"<code>.*?</code>", "", page))
    assert found[0] == "thing 06"
    assert "page 1 of 2" in page
    assert "taken back thing" not in page
    by_due = html(client.get(address, {"sort": "due"}))
    assert by_due.index("overdue thing") < by_due.index("thing 06")
    assert "overdue</span>" in by_due
    assert "taken back thing" in html(client.get(address, {"show": "withdrawn"}))
    assert "overdue thing" not in html(client.get(address, {"show": "mine"}))
    assert "No request matches" in html(client.get(address, {"show": "answered"}))
    assert late.overdue


def test_what_the_report_lacks_is_offered_until_somebody_is_asked(room):
    add_report(room)
    client, address = client_of(room), reverse("requests", args=[room.incident.slug])
    page = html(client.get(address))
    ids = re.findall(r"requests/new/\?ask=([0-9a-f]{16})", page)
    assert ids
    client.post(reverse("request-new", args=[room.incident.slug]), {"what": "It", "ask": ids[0]})
    assert EvidenceRequest.objects.get().ask_id == ids[0]
    assert ids[0] not in re.findall(r"new/\?ask=([0-9a-f]{16})", html(client.get(address)))


def test_the_room_page_has_a_button_at_what_cannot_be_told(room):
    add_report(room)
    page = html(client_of(room).get(reverse("room", args=[room.incident.slug])))
    known = {ask.id for ask in Outlook(reports.report(), "x").asks}
    ids = set(re.findall(r"requests/new/\?ask=([0-9a-f]{16})", page))
    assert ids
    assert ids <= known
    viewer = make_member(room.incident, Role.VIEWER)
    assert "requests/new/" not in html(client_of(viewer).get(reverse("room", args=[room.incident.slug])))


# --- the form -----------------------------------------------------------------------------------------------------


def test_a_request_is_filled_in_from_the_report(room):
    report = reports.report()
    report["not_evaluable"] = [
        {"rule": "NET-001", "title": "Network", "host": "db1", "needs": ["vmstat"],
         "ask": "vmstat -T d 5 12", "os": "solaris", "who": "system administrator", "worth": 8},
    ]  # fmt: skip
    add_report(room, report)
    ask = next(a for a in Outlook(report, room.incident.slug).asks if a.rule == "NET-001" and a.host)
    page = html(client_of(room).get(reverse("request-new", args=[room.incident.slug]), {"ask": ask.id}))
    assert ">\nvmstat 5 12</textarea>" in page, "the command of Solaris 10, not of a later one"
    assert 'value="db1"' in page
    assert "5.10" in page
    assert "system administrator" in page
    assert "Whether NET-001 holds (" in page
    assert "): it would tell much. It bears on: " in page
    rule = rulebook.rule_of("NET-001")
    assert rule is not None
    assert rule.file.title.rstrip(".") in unescape(page)
    causes = [CAUSES[code].text for code in rule.file.hypotheses if code in CAUSES]
    assert "; ".join(causes[:4]) in unescape(page)
    assert f"; {len(causes) - 4} more." in page
    assert "Takes 60 s, writes at most 1 MiB" in page


def test_an_unknown_ask_still_lets_one_ask(room):
    page = html(client_of(room).get(reverse("request-new", args=[room.incident.slug]), {"ask": "0" * 16}))
    assert "The report no longer lacks this" in page


def test_the_address_gives_a_new_request_its_words(room):
    address = reverse("request-new", args=[room.incident.slug])
    page = html(client_of(room).get(address, {"what": "A second sample of vmstat r on db1"}))
    assert re.search(r"<textarea[^>]*name=\"what\"[^>]*>\s*A second sample of vmstat r on db1", page)


def test_bad_input_keeps_what_was_typed(room):
    address = reverse("request-new", args=[room.incident.slug])
    answer = client_of(room).post(address, {"what": "", "command": "vmstat 5 12", "due_at": "tomorrow"})
    assert answer.status_code == 422
    page = html(answer)
    assert "vmstat 5 12" in page
    assert 'value="tomorrow"' in page
    assert not EvidenceRequest.objects.exists()


def test_a_member_is_asked_and_told_and_mailed_once(room):
    nils = make_member(room.incident, Role.INVESTIGATOR, make_user("nils", email="nils@example.org"))
    stranger = make_user("stranger")
    client, address = client_of(room), reverse("request-new", args=[room.incident.slug])
    data = {"what": "A trace", "asked_of": nils.user.pk, "client_id": str(uuid.uuid4())}
    assert client.post(address, data).status_code == 302
    assert client.post(address, data).status_code == 302
    request = EvidenceRequest.objects.get()
    told = Notification.objects.get(user=nils.user)
    assert (told.kind, told.request, told.mail) == (Told.COLLECT, request, "waiting")
    bell = html(client_of(nils).get(reverse("notifications")))
    assert "asked you to collect something" in bell
    assert reverse("request", args=[room.incident.slug, request.pk]) in bell
    client_of(nils).get(reverse("request", args=[room.incident.slug, request.pk]))
    told.refresh_from_db()
    assert told.read_at is not None
    assert client.post(address, {"what": "X", "asked_of": stranger.pk}).status_code == 422


def test_an_edit_changes_the_command_and_its_cost(room):
    row = ask_for(room)
    address = reverse("request-edit", args=[room.incident.slug, row.pk])
    client = client_of(room)
    assert "pmap -xs PID" in html(client.get(address))
    client.post(address, {"what": "It", "command": "frobnicate -p 1"})
    row.refresh_from_db()
    assert (row.command, row.cost) == ("frobnicate -p 1", requests.NOBODY_KNOWS)
    client.post(address, {"what": "It", "command": "truss -p 1"})
    row.refresh_from_db()
    assert "until somebody stops it" in row.cost
    requests.withdraw(room, row.pk)
    assert client.get(address).status_code == 409


# --- one request --------------------------------------------------------------------------------------------------


def test_a_request_shows_what_to_run_and_what_it_costs(room, django_assert_max_num_queries):
    row = ask_for(room, host="db1", os="solaris", os_release="5.10", symptom="memory", decides="Whether DISM is used.")
    client, address = client_of(room), reverse("request", args=[room.incident.slug, row.pk])
    with django_assert_max_num_queries(15):
        page = html(client.get(address))
    assert "Stops the process while its map is read" in page
    assert "Risk: low" in page
    assert "Whether DISM is used." in page
    assert "/usr/xpg4/bin/sh &lt;&lt;" in page
    assert '<option value="solaris-10" selected>' in page
    assert '<option value="memory" selected>' in page
    assert client.get(reverse("request", args=[room.incident.slug, row.pk + 1])).status_code == 404


def test_a_request_is_taken_back_and_brought_back(room):
    row = ask_for(room)
    other = make_member(room.incident, Role.INVESTIGATOR)
    address = reverse("request-state", args=[room.incident.slug, row.pk])
    assert client_of(other).post(address, {"do": "withdraw"}).status_code == 403
    assert client_of(room).post(address, {"do": "withdraw"}).status_code == 302
    row.refresh_from_db()
    assert row.state == RequestState.WITHDRAWN
    page = html(client_of(room).get(reverse("request", args=[room.incident.slug, row.pk])))
    assert "Undo" in page
    assert client_of(room).post(address, {"do": "reopen"}).status_code == 302
    row.refresh_from_db()
    assert (row.state, row.settled_at) == (RequestState.OPEN, None)
    assert client_of(room).post(address, {"do": "dance"}).status_code == 400


def test_a_file_answers_and_the_asker_is_told(room):
    row = ask_for(room, host="db1")
    nils = make_member(room.incident, Role.INVESTIGATOR, make_user("nils"))
    address = reverse("request-answer", args=[room.incident.slug, row.pk])
    file = SimpleUploadedFile("pmap.txt", b"4711: oracle\n")
    assert client_of(nils).post(address, {"do": "file", "file": file}).status_code == 302
    row.refresh_from_db()
    assert row.state == RequestState.ANSWERED
    artifact = Artifact.objects.get()
    assert artifact.corrections.get().value == "db1"
    assert Notification.objects.get(user=room.user).kind == Told.BROUGHT
    page = html(client_of(room).get(reverse("request", args=[room.incident.slug, row.pk])))
    assert "Answered by" in page
    assert "being read and judged" in page


def test_text_and_what_is_there_already_answer_too(room):
    there = make_artifact(room, b"the same text\n")
    first, second = ask_for(room), ask_for(room, what="Another")
    client = client_of(room)
    client.post(
        reverse("request-answer", args=[room.incident.slug, first.pk]), {"do": "text", "text": "the same text\n"}
    )
    assert first.answers.get().artifact == there
    address = reverse("request-answer", args=[room.incident.slug, second.pk])
    answer = client.post(address, {"do": "artifact", "artifact": 99})
    assert answer.status_code == 422
    assert "There is no such artifact" in html(answer)
    client.post(address, {"do": "artifact", "artifact": there.number})
    assert second.answers.get().artifact == there


@pytest.mark.parametrize("data", [{"do": "text", "text": ""}, {"do": "file"}])
def test_an_answer_without_anything_is_refused(room, data):
    row = ask_for(room)
    answer = client_of(room).post(reverse("request-answer", args=[room.incident.slug, row.pk]), data)
    assert answer.status_code == 422
    row.refresh_from_db()
    assert row.open


def test_an_empty_file_is_refused_and_said(room):
    row = ask_for(room)
    address = reverse("request-answer", args=[room.incident.slug, row.pk])
    answer = client_of(room).post(address, {"do": "file", "file": SimpleUploadedFile("a.txt", b"")})
    assert answer.status_code == 422
    assert "The file is empty" in html(answer)


VMSTAT = b"""procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 812340  20480 400123    0    0     1     2  110  220  3  1 96  0  0
 2  0      0 812100  20480 400125    0    0     0     8  130  260  5  1 94  0  0
"""


def test_what_fits_is_proposed_and_not_taken_silently(room):
    row = requests.put(room, {"what": "Samples", "host": "db1", "tables": ["vmstat"]})
    fits = make_artifact(room, VMSTAT, "vm.txt", host="db1")
    elsewhere = make_artifact(room, VMSTAT + b"\n", "vm2.txt", host="app7")
    other = make_artifact(room, name="times.txt")
    run_jobs("small")
    row.refresh_from_db()
    assert row.open
    page = html(client_of(room).get(reverse("request", args=[room.incident.slug, row.pk])))
    assert "May answer it" in page
    assert f"artifact {fits.number}, vm.txt" in page
    assert f"artifact {elsewhere.number}, vm2.txt" not in page
    assert f"artifact {other.number}, times.txt" not in page
    address = reverse("request-answer", args=[room.incident.slug, row.pk])
    client_of(room).post(address, {"do": "decline", "artifact": fits.number})
    assert "May answer it" not in html(client_of(room).get(reverse("request", args=[room.incident.slug, row.pk])))


# --- links and quarantine -----------------------------------------------------------------------------------------


def make_link(room: Any, row: EvidenceRequest, **said: Any) -> str:
    return quarantine.make_link(room, row.pk, **said)


def send(client: Any, secret: str, data: bytes = b"4711: oracle\n", name: str = "pmap.txt") -> Any:
    return client.post(
        reverse("give", args=[secret]), {"file": SimpleUploadedFile(name, data)}, REMOTE_ADDR="192.0.2.7"
    )


def test_a_link_is_shown_once_and_can_be_revoked(room):
    row = ask_for(room)
    client, address = client_of(room), reverse("request-link", args=[room.incident.slug, row.pk])
    answer = client.post(address, {"label": "Storage desk", "hours": 48, "most": 3, "mib": 10})
    assert answer["Referrer-Policy"] == "strict-origin"
    (secret,) = set(re.findall(r"/give/([\w-]+)/", html(answer)))
    link = GiveLink.objects.get()
    assert secret not in link.token_hash
    assert secret not in html(client.get(reverse("request", args=[room.incident.slug, row.pk])))
    assert client.post(address, {"label": "", "hours": 0, "most": 3, "mib": 10}).status_code == 422
    assert client.post(address, {"do": "revoke", "link": link.pk}).status_code == 302
    assert client.get(reverse("give", args=[secret])).status_code == 410
    assert client.post(address, {"do": "revoke", "link": link.pk}).status_code == 404


def test_asking_somebody_without_an_account_makes_the_link_at_once(room):
    client, address = client_of(room), reverse("request-new", args=[room.incident.slug])
    data = {"what": "A trace", "asked_of": "link", "client_id": str(uuid.uuid4())}
    answer = client.post(address, data)
    assert answer.status_code == 200
    assert answer["Referrer-Policy"] == "strict-origin"
    (secret,) = set(re.findall(r"/give/([\w-]+)/", html(answer)))
    assert Client().get(reverse("give", args=[secret])).status_code == 200
    request = EvidenceRequest.objects.get()
    assert client.post(address, data).status_code == 302  # sent twice: no second request, no second link
    assert list(request.links.values_list("most_files", flat=True)) == [quarantine.FILES]


def test_a_member_takes_in_what_came_by_link(room, client, on_commit):
    row = ask_for(room, host="db1")
    answer = send(client, make_link(room, row))
    assert answer.status_code == 302
    file = QuarantinedFile.objects.get()
    assert quarantine_path(file.pk).read_bytes() == b"4711: oracle\n"
    assert not Artifact.objects.exists()
    told = Notification.objects.get(user=room.user)
    assert (told.kind, told.actor) == (Told.WAITING, None)
    assert "sent a file by your link" in html(client_of(room).get(reverse("notifications")))
    page = html(client_of(room).get(reverse("request", args=[room.incident.slug, row.pk])))
    assert "Waiting in quarantine" in page
    assert file.sha256 in page
    assert "192.0.2.7" in page
    address = reverse("request-file", args=[room.incident.slug, row.pk, file.pk])
    assert client_of(room).post(address, {"do": "take"}).status_code == 302
    artifact = Artifact.objects.get()
    assert (artifact.way, artifact.uploader, artifact.sha256) == (Way.LINK, room.user, file.sha256)
    row.refresh_from_db()
    assert row.state == RequestState.ANSWERED
    assert client_of(room).post(address, {"do": "take"}).status_code == 409


def test_refusing_leaves_a_tombstone(room, client):
    row = ask_for(room)
    send(client, make_link(room, row))
    file = QuarantinedFile.objects.get()
    address = reverse("request-file", args=[room.incident.slug, row.pk, file.pk])
    answer = client_of(room).post(address, {"do": "refuse", "reason": ""})
    assert answer.status_code == 422
    assert "This field is required" in html(answer)
    assert client_of(room).post(address, {"do": "refuse", "reason": "Not ours."}).status_code == 302
    file.refresh_from_db()
    assert (file.state, file.reason, file.settled_by) == (Quarantined.REFUSED, "Not ours.", room.user)
    page = html(client_of(room).get(reverse("request", args=[room.incident.slug, row.pk])))
    assert "Not ours." in page
    assert file.sha256 in page
    row.refresh_from_db()
    assert row.open


def test_what_waits_is_nowhere_among_the_evidence(room, client):
    row = ask_for(room)
    send(client, make_link(room, row), name="QUARANTINED-NAME.txt")
    browser = client_of(room)
    for name in ("evidence", "room", "case-yaml"):
        assert "QUARANTINED-NAME" not in html(browser.get(reverse(name, args=[room.incident.slug])))
    report = browser.get(f"/api/rooms/{room.incident.slug}/report.json")
    assert "QUARANTINED-NAME" not in html(report)
    assert run_jobs() == 0


# --- collect blocks -----------------------------------------------------------------------------------------------


def test_the_empty_room_offers_the_block_of_its_case(room):
    page = html(client_of(room).get(reverse("room", args=[room.incident.slug])))
    assert "Not collected yet?" in page
    assert '<option value="solaris-10" selected>' in page
    assert '<option value="connects" selected>' in page
    assert 'data-copy-text="/usr/xpg4/bin/sh &lt;&lt;&#x27;END_OF_EXHIBIT' in page


def test_a_block_is_chosen_with_and_without_scripts(room):
    client, address = client_of(room), reverse("collect", args=[room.incident.slug])
    page = html(client.get(address, {"system": "aix", "symptom": "memory"}))
    assert "svmon -G" in page
    assert "<html" in page
    part = html(client.get(address, {"system": "hpux", "symptom": "disk"}, headers={"HX-Request": "true"}))
    assert "<html" not in part
    assert "swapinfo -tam" in part
    assert client.get(address, {"system": "plan9", "symptom": "?"}).status_code == 200
    file = client.get(address, {"system": "linux", "symptom": "cpu", "download": ""})
    assert file["Content-Disposition"] == 'attachment; filename="collect-linux-cpu.sh"'
    assert html(file).startswith("sh <<")


def test_hostile_names_are_made_visible(room, client):
    row = ask_for(room, what="<script>alert(1)</script> \u202egnp")
    send(client, make_link(room, row, label="\u202eevil<b>"), name="\u202etxt.exe<img src=x>")
    for page in (
        html(client_of(room).get(reverse("requests", args=[room.incident.slug]))),
        html(client_of(room).get(reverse("request", args=[room.incident.slug, row.pk]))),
    ):
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert "<img src=x" not in page
