"""The evidence list, uploads through forms, corrections, purging, and the lines themselves."""

from __future__ import annotations

import re

from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents.actions import notes
from incidents.models.evidence.artifact import Artifact, ArtifactState, Correction
from incidents.models.evidence.reading import Part
from rules.collecting.collector import SCRIPTS
from tests.incidents.conftest import make_artifact, run_jobs
from tests.incidents.pages.conftest import NOTE, client_of
from tests.incidents.pages.pages import unbroken
from tests.incidents.pages.room.test_room import connection

HTMX = {"HX-Request": "true"}


def get(room, name, *args, **query):
    answer = client_of(room).get(reverse(name, args=(room.incident.slug, *args)), query)
    assert answer.status_code == 200
    return answer


def post(room, name, *args, data=None, **headers):
    return client_of(room).post(reverse(name, args=(room.incident.slug, *args)), data or {}, headers=headers or None)


# --- the list -----------------------------------------------------------------------------------------------------


def test_each_artifact_says_what_it_is_and_how_it_was_read(read):
    text = get(read.viewer, "evidence").content.decode()
    assert "truss/solaris" in text
    assert "sqlnet/" in text
    assert "4 of 4 read" in text
    sha256 = read.lead.incident.artifacts.get(number=1).sha256
    assert sha256 in text
    bar = re.search(r'<svg class="account".*?</svg>', text, re.S)
    assert bar
    assert sum(float(w) for w in re.findall(r'width="([\d.]+)%"', bar[0])) == 100


def test_the_list_asks_no_more_when_it_holds_more(read):
    address = reverse("evidence", args=[read.slug])

    def queries():
        client = client_of(read.viewer)
        client.get(address)
        with CaptureQueriesContext(connection()) as caught:
            client.get(address)
        return len(caught)

    before = queries()
    assert before <= 18
    for n in range(8):
        make_artifact(read.lead, b"time elapsed : 0,3%d\n" % n, f"{n}.txt", host="db1")
    run_jobs("small")
    assert queries() <= before


def test_an_artifact_that_cannot_be_read_says_why_and_offers_to_try_again(judged):
    make_artifact(judged.lead, bytes(range(256)) * 20, "picture.jpg")
    run_jobs("small")
    text = get(judged.investigator, "evidence").content.decode()
    assert "not read" in text
    assert "Try again" in text
    artifact = judged.lead.incident.artifacts.get(number=5)
    assert artifact.state == ArtifactState.FAILED
    assert artifact.cause in text.replace("&#x27;", "'").replace("&quot;", '"')


def test_a_script_asks_for_a_few_words(read):
    assert get(read.viewer, "evidence", part="count").content == b"4"
    words = get(read.viewer, "evidence", part="state", n="1").content.decode()
    assert words == "recognised as truss; 12 lines read"
    Artifact.objects.filter(incident=read.lead.incident, number=1).update(cause="It ends in the middle.")
    words = get(read.viewer, "evidence", part="state", n="1").content.decode()
    assert words == "recognised as truss; 12 lines read. It ends in the middle."
    answer = client_of(read.viewer).get(reverse("evidence", args=[read.slug]), {"part": "state", "n": "99"})
    assert answer.status_code == 404


def test_the_list_is_paged(judged):
    for n in range(50):
        make_artifact(judged.lead, b"time elapsed : 1,%02d\n" % n, f"{n}.txt")
    first = get(judged.viewer, "evidence").content.decode()
    second = get(judged.viewer, "evidence", page=2).content.decode()
    assert first.count("<tbody id=") == 50
    assert second.count("<tbody id=") == 4


# --- in and out ---------------------------------------------------------------------------------------------------


def test_parts_of_one_artifact_are_paged(read):
    artifact = read.lead.incident.artifacts.get(number=1)
    one = artifact.reading.parts.get()
    one.delete()
    Part.objects.bulk_create(
        Part(reading=artifact.reading, part=n, line_from=2 * n, line_to=2 * n + 1, kind="vmstat", domains=[], facts={}, account={})
        for n in range(1, 121)
    )  # fmt: skip
    listed = get(read.viewer, "evidence").content.decode()
    assert re.findall(r">part (\d+),", listed) == [str(n) for n in range(1, 51)]
    assert 'href="?of=1&amp;parts=2"' in listed
    second = get(read.viewer, "evidence", of=1, parts=2).content.decode()
    assert re.findall(r">part (\d+),", second) == [str(n) for n in range(51, 101)]
    assert "artifact 1, 120 parts" in second
    assert 'href="?of=1&amp;parts=3"' in second
    assert "More parts" not in second
    last = get(read.viewer, "evidence", of=1, parts=3).content.decode()
    assert re.findall(r">part (\d+),", last) == [str(n) for n in range(101, 121)]
    assert client_of(read.viewer).get(reverse("evidence", args=[read.slug]), {"of": "7 or 1=1"}).status_code == 404


def test_a_pasted_text_is_kept_byte_for_byte(judged):
    answer = post(judged.investigator, "evidence-add", data={"name": "paste.txt", "text": " first\r\n\r\nlast "})
    assert answer.status_code == 302
    artifact = judged.lead.incident.artifacts.get(name="paste.txt")
    original = client_of(judged.lead).get(reverse("original", args=[judged.slug, artifact.number]))
    assert original.getvalue() == b" first\r\n\r\nlast "


def test_the_same_text_twice_says_already_here_and_keeps_what_was_typed(judged):
    data = {"name": "twice.txt", "text": "the same words"}
    post(judged.investigator, "evidence-add", data=data)
    again = post(judged.investigator, "evidence-add", data=data)
    assert again.status_code == 422
    assert "Already here: artifact 5" in again.content.decode()
    assert "the same words" in again.content.decode()


def test_a_file_goes_in_without_scripts(judged):
    from django.core.files.uploadedfile import SimpleUploadedFile

    file = SimpleUploadedFile("../../etc/pass\x1bwd", b"time elapsed : 0,31\n")
    answer = post(judged.investigator, "evidence-add", data={"file": file, "host": "db1", "phase": "before"})
    assert answer.status_code == 302
    artifact = judged.lead.incident.artifacts.get(number=5)
    assert "/" not in artifact.name
    assert "\x1b" not in artifact.name
    assert dict(artifact.corrections.values_list("field", "value")) == {"host": "db1", "phase": "before"}


def test_nonsense_said_about_a_file_is_refused_in_place(judged):
    from django.core.files.uploadedfile import SimpleUploadedFile

    file = SimpleUploadedFile("a.txt", b"time elapsed : 0,31\n")
    answer = post(judged.investigator, "evidence-add", data={"file": file, "tz": "Warsaw/Europe"})
    assert answer.status_code == 422
    assert "does not fit as time zone" in answer.content.decode()
    assert judged.lead.incident.artifacts.count() == 4


def test_an_empty_file_gets_a_clear_message(judged):
    from django.core.files.uploadedfile import SimpleUploadedFile

    answer = post(judged.investigator, "evidence-add", data={"file": SimpleUploadedFile("a.txt", b"")})
    assert answer.status_code == 422
    assert "The file is empty." in answer.content.decode()


def test_a_full_disk_is_said_in_the_page(judged, settings):
    settings.EXHIBIT_MIN_FREE_BYTES = 2**62
    answer = post(judged.investigator, "evidence-add", data={"name": "a", "text": "words to keep"})
    assert answer.status_code == 422
    assert "disk for evidence is full" in answer.content.decode()
    assert "words to keep" in answer.content.decode()


def test_pasted_html_is_shown_as_text(judged):
    post(
        judged.lead, "evidence-add", data={"name": "a.html", "text": "<script>alert(1)</script>\n" * 3, "kind": "html"}
    )
    run_jobs("small")
    text = get(judged.viewer, "lines", 5).content.decode()
    assert "<script>alert" not in text


def test_an_original_is_an_attachment_that_nothing_renders(judged):
    answer = client_of(judged.lead).get(reverse("original", args=[judged.slug, 1]))
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"] == 'attachment; filename="truss-listener.txt"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]
    answer.getvalue()
    assert judged.lead.incident.activity.filter(verb="downloaded").count() == 1


def test_a_collector_has_the_address_of_the_room_and_no_token(judged):
    post(judged.lead, "evidence-add", data={"make": "token", "label": "db1", "hours": "2"})
    page = get(judged.investigator, "evidence-add").content.decode()
    for system in SCRIPTS:
        assert f"/evidence/collector/?system={system}" in page
        answer = get(judged.investigator, "collector", system=system)
        assert answer["Content-Disposition"] == f'attachment; filename="exhibit-{system}.sh"'
        assert answer["X-Content-Type-Options"] == "nosniff"
        script = answer.content.decode()
        assert f"room='http://testserver/api/rooms/{judged.slug}'" in script
        assert '-H "Authorization' not in script


def test_a_token_is_shown_once_with_the_command(judged):
    answer = post(judged.lead, "evidence-add", data={"make": "token", "label": "db1", "hours": "2"})
    text = answer.content.decode()
    assert answer.status_code == 200
    command = re.search(
        r"curl --fail-with-body -H &#x27;Authorization: Bearer ([\w-]+)&#x27; -T FILE (\S+)</pre>", text
    )
    assert command
    assert command[2] == f"http://testserver/api/rooms/{judged.slug}/uploads/"
    later = get(judged.lead, "evidence-add").content.decode()
    assert command[1] not in later
    assert "Revoke" in later
    refused = post(judged.investigator, "evidence-add", data={"make": "token", "label": "x", "hours": "2"})
    assert refused.status_code == 403


def test_a_correction_holds_and_empty_takes_it_back(read):
    answer = post(read.investigator, "correct", 1, data={"host": "db1", "phase": "before", "kind": ""})
    assert answer.status_code == 302
    assert dict(Correction.objects.values_list("field", "value")) == {"host": "db1", "phase": "before"}
    text = unbroken(get(read.viewer, "evidence"))
    assert 'title="said by a person">before<' in text
    post(read.investigator, "correct", 1, data={"host": "db1", "phase": ""})
    assert dict(Correction.objects.values_list("field", "value")) == {"host": "db1"}
    post(read.investigator, "correct", 1, data={"host": "?"})
    assert dict(Correction.objects.values_list("field", "value")) == {"host": None}


def test_a_part_is_corrected_by_its_lines(read):
    address = reverse("correct", args=[read.slug, 1]) + "?part=1"
    assert client_of(read.investigator).post(address, {"role": "listener"}, headers=HTMX).content == b""
    correction = Correction.objects.get()
    assert (correction.line_from, correction.line_to, correction.field) == (1, 12, "role")
    assert client_of(read.investigator).get(address.replace("part=1", "part=9")).status_code == 404


def test_a_wrong_correction_keeps_the_form(read):
    answer = post(read.investigator, "correct", 1, data={"kind": "NO SUCH KIND", "host": "kept"}, **HTMX)
    assert answer.status_code == 422
    assert "does not fit as kind" in answer.content.decode()
    assert "kept" in answer.content.decode()


def test_reading_again_queues_a_job(read):
    assert post(read.investigator, "retry", 1).status_code == 302
    assert Artifact.objects.get(number=1).state == ArtifactState.QUEUED


def test_a_purge_needs_a_reason_and_leaves_a_tombstone(read, django_capture_on_commit_callbacks):
    assert post(read.lead, "purge", 1, data={"reason": ""}).status_code == 422
    with django_capture_on_commit_callbacks(execute=True):
        assert post(read.lead, "purge", 1, data={"reason": "names of customers"}).status_code == 302
    text = get(read.viewer, "evidence").content.decode()
    assert "names of customers" in text
    lines = get(read.viewer, "lines", 1).content.decode()
    assert "Evidence withdrawn" in lines
    assert "IPC_ALLOC" not in lines
    assert client_of(read.viewer).get(reverse("lines-data", args=[read.slug, 1])).status_code == 410
    assert client_of(read.lead).get(reverse("original", args=[read.slug, 1])).status_code == 410


# --- lines --------------------------------------------------------------------------------------------------------


def test_lines_are_readable_without_scripts(read):
    text = unbroken(get(read.viewer, "lines", 1))
    row = re.search(r'<li class="line[^>]*id="L11".*?</li>', text, re.S)
    assert row
    assert "cited" in row[0]
    assert "noted" in row[0]
    assert "11.7921 shmat(16777281" in row[0]
    assert 'id="L7-L11"' in text  # the link of the citation finds it
    assert NOTE in text


def test_lines_are_paged_without_scripts(judged):
    make_artifact(judged.lead, b"".join(b"time elapsed : 0,%02d\n" % (n % 90 + 10) for n in range(1000)), "many.txt")
    run_jobs("small")
    text = get(judged.viewer, "lines", 5, at="450").content.decode()
    assert 'id="L401"' in text
    assert 'id="L800"' in text
    assert 'id="L400"' not in text
    assert '?at=1"' in text
    assert "?at=801" in text


def test_lines_that_were_not_read_yet_say_so(judged):
    text = get(judged.viewer, "lines", 1).content.decode()
    assert "Not read yet" in text
    assert client_of(judged.viewer).get(reverse("lines-data", args=[judged.slug, 1])).status_code == 409


def test_data_of_lines_have_citations_notes_and_words(read):
    notes.add(read.lead, "Two\nlines.", artifact=1, lines=(2, 3))
    data = get(read.viewer, "lines-data", 1, **{"from": "2", "to": "7"}).json()
    assert data["count"] == 12
    assert [line["n"] for line in data["lines"]] == [2, 3, 4, 5, 6, 7]
    assert data["lines"][-1]["text"].startswith("3731/1: 9.3187 shmat(16777280")
    assert {(c["from"], c["to"]) for c in data["cited"]} == {(1, 6), (7, 11), (1, 4), (4, 7)} & {
        (c["from"], c["to"]) for c in data["cited"]
    }
    assert any(c["headline"].startswith("Server process 3731") for c in data["cited"])
    assert [(n["from"], n["to"], n["text"]) for n in data["notes"]] == [(2, 3, "Two\nlines.")]
    assert data["words"]["shmat"][1].startswith("Attaches a shared memory segment")


def test_unread_lines_say_how(judged):
    text = b"22626/1: 8.6926 fork1() = 3728\n:::: what is this\n22626/1: 8.7000 close(3) = 0\n"
    make_artifact(judged.lead, text, "odd.txt", kind="truss")
    run_jobs("small")
    data = get(judged.viewer, "lines-data", 5).json()
    assert [(r["from"], r["to"]) for r in data["read"]] == [(2, 2)]
    assert "what is this" in get(judged.viewer, "lines", 5).content.decode()


def test_nonsense_in_the_address_shows_the_nearest_lines(read):
    for at in ("-5", "0", "99999999999999999999", "x", "١"):
        assert 'id="L1"' in get(read.viewer, "lines", 1, at=at).content.decode()
    assert client_of(read.viewer).get(reverse("lines", args=[read.slug, 99])).status_code == 404
    data = get(read.viewer, "lines-data", 1, **{"from": "5", "to": "2"}).json()
    assert [line["n"] for line in data["lines"]] == [5]


def test_a_line_without_end_is_cut_with_its_length(judged):
    make_artifact(
        judged.lead, b"time elapsed : 0,31\n" + b"x" * 50_000 + b"\ntime elapsed : 0,32\n", "long.txt", kind="conntime"
    )
    run_jobs("small")
    data = get(judged.viewer, "lines-data", 5).json()
    assert len(data["lines"][1]["text"]) < 4_100
    assert "50,000 characters" in data["lines"][1]["text"]


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000)
def test_a_text_too_large_to_paste_is_refused_not_lost_silently(judged):
    answer = post(judged.investigator, "evidence-add", data={"name": "a", "text": "x" * 2000})
    assert answer.status_code in (400, 413)
