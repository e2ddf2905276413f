"""Pages of notes: lists, threads, history, merging, completion, notifications; disputes wherever a verdict is shown."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from incidents.actions import findings, notes
from incidents.models.people.notification import Notification
from incidents.models.words.note import Note
from tests.incidents.conftest import make_member, make_user
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import NOTE, Judged, client_of
from tests.incidents.pages.pages import page_in, unbroken

HTMX = {"HX-Request": "true"}
MOST_QUERIES = 15


def text_of(answer):
    return unbroken(answer)


def test_a_resolved_note_stays_folded_beside_a_finding_that_is_compared(judged):
    root = notes.add(judged.lead, "Looked at, and quiet.")
    notes.resolve(judged.lead, root.pk)
    page = page_in(client_of(judged.investigator).get(reverse("finding", args=[judged.slug, reports.CAUSE_KEY])))
    assert page.select("#drawer .versus")
    assert page.part(f"[data-thread='{root.pk}'] > details.settled > summary .begins").text == "Looked at, and quiet."


def test_notes_are_listed_newest_first_paged_filtered_and_searched(judged, django_assert_max_num_queries):
    for n in range(35):
        root = notes.add(judged.lead, f"Thread {n:02d} @nils #artifact-1")
        notes.reply(judged.investigator, root.pk, f"Answer {n:02d}")
    notes.resolve(judged.lead, root.pk)
    client = client_of(judged.investigator)
    address = reverse("notes", args=[judged.slug])
    with django_assert_max_num_queries(MOST_QUERIES):
        page = text_of(client.get(address))
    assert page.index("Thread 33") < page.index("Thread 10")
    assert "page 1 of 2" in page
    assert "Thread 02" in text_of(client.get(address, {"page": 2}))
    assert "Thread 34" not in text_of(client.get(address, {"state": "open"}))
    resolved = text_of(client.get(address, {"state": "resolved"}))
    assert "Thread 34" in resolved
    assert "Thread 33" not in resolved
    found = text_of(client.get(address, {"q": "Answer 07"}))
    assert "Thread 07" in found
    assert "Thread 08" not in found
    assert "Thread 01" in text_of(client.get(address, {"whose": "mentions", "page": "2"}))
    assert "No note matches" in text_of(client.get(address, {"q": "nothing has this"}))
    assert NOTE in text_of(client.get(address, {"artifact": 1}))
    # The room's own page shows the newest and says how many came before.
    room = text_of(client.get(reverse("room", args=[judged.slug])))
    assert "16 earlier threads" in room
    assert "Thread 33" in room


def test_a_room_without_notes_says_what_to_do(judged):
    Note.objects.all().delete()
    assert "No notes yet" in text_of(client_of(judged.lead).get(reverse("notes", args=[judged.slug])))


def test_a_thread_has_a_page_whichever_of_its_notes_is_named(judged, django_assert_max_num_queries):
    replies = [notes.reply(judged.lead, judged.note.pk, f"Reply {n:02d} #note-{judged.note.pk}") for n in range(60)]
    client = client_of(judged.viewer)
    with django_assert_max_num_queries(MOST_QUERIES):
        page = text_of(client.get(reverse("note-thread", args=[judged.slug, replies[-1].pk])))
    assert NOTE in page
    assert "Reply 59" in page
    assert "page 2 of 2" in page
    assert "Reply</summary>" not in page  # a viewer is offered nothing that would be refused
    part = text_of(client.get(reverse("note-thread", args=[judged.slug, replies[-1].pk]), headers=HTMX))
    assert "55 earlier replies" in part


def test_a_reply_without_scripts_leads_back_to_it(judged):
    client = client_of(judged.investigator)
    address = reverse("note-thread", args=[judged.slug, judged.note.pk])
    answer = client.post(address, {"text": "Indeed."})
    assert answer.status_code == 302
    assert "Indeed." in text_of(client.get(answer["Location"]))
    refused = client.post(address, {"text": "y" * 10_001})
    assert refused.status_code == 422
    assert "y" * 10_001 in text_of(refused)


def test_a_thread_that_is_gone_is_an_empty_part_and_a_page_that_says_so(judged):
    notes.delete(judged.investigator, judged.note.pk)
    address = reverse("note-thread", args=[judged.slug, judged.note.pk])
    client = client_of(judged.viewer)
    assert text_of(client.get(address, headers=HTMX)) == ""
    gone = client.get(address)
    assert gone.status_code == 410
    assert NOTE not in text_of(gone)
    assert client.get(reverse("note-history", args=[judged.slug, judged.note.pk])).status_code == 410


def test_the_history_shows_who_when_and_what_changed(judged):
    notes.edit(judged.lead, judged.note.pk, "The gap ends at the 17.875 GiB segment.")
    page = text_of(client_of(judged.viewer).get(reverse("note-history", args=[judged.slug, judged.note.pk])))
    assert "<ins> 17.875 GiB</ins>" in page
    assert "<del> 18 GB</del>" in page
    assert "<b>anna</b> changed it" in page
    assert "<b>nils</b> wrote it" in page


def test_the_second_writer_sees_all_three_texts_and_saves_one(judged):
    """Check it with forms alone, as without scripts."""
    notes.edit(judged.lead, judged.note.pk, "The gap ends at the 17.875 GiB segment.", 1)
    client = client_of(judged.investigator)
    address = reverse("note", args=[judged.slug, judged.note.pk])
    mine = "The gap ends at the 18 GB DISM segment, surely."
    answer = client.post(address, {"text": mine, "version": 1})
    assert answer.status_code == 422
    page = text_of(answer)
    assert mine in page
    assert "17.875 GiB" in page
    assert "⟦anna:" in page
    assert Note.objects.get(pk=judged.note.pk).text == "The gap ends at the 17.875 GiB segment."
    proposal = re.search(r"<textarea[^>]*>\s*(.*?)</textarea>", page, re.S)[1]
    undecided = client.post(address, {"text": proposal, "version": 2, "merged": "1"})
    assert undecided.status_code == 422
    assert "Decide the places" in text_of(undecided)
    assert client.post(address, {"text": "Both.", "version": 2, "merged": "1"}).status_code == 302
    assert Note.objects.get(pk=judged.note.pk).text == "Both."


def test_a_megabyte_is_refused_and_all_of_it_kept(judged):
    text = "word " * 200_000 + "the end"
    for headers in ({}, HTMX):
        answer = client_of(judged.investigator).post(
            reverse("notes", args=[judged.slug]), {"text": text}, headers=headers
        )
        assert answer.status_code == 422
        page = text_of(answer)
        assert "10,000 are the most" in page
        assert text in page
    assert not Note.objects.filter(text__startswith="word").exists()


def test_no_text_field_cuts_what_is_pasted(judged):
    page = text_of(client_of(judged.investigator).get(reverse("room", args=[judged.slug])))
    assert not re.search(r"<textarea[^>]*maxlength", page)


def test_hostile_notes_are_shown_not_obeyed(judged):
    notes.add(judged.investigator, "<script>alert(1)</script> [x](javascript:alert(2)) ![p](http://e.example/p.png)")
    client = client_of(judged.viewer)
    for name in ("room", "notes"):
        page = text_of(client.get(reverse(name, args=[judged.slug])))
        assert "<script>alert" not in page
        assert 'href="javascript' not in page
        assert not re.search(r"<img[^>]*e\.example", page)


def test_a_room_closed_meanwhile_keeps_what_was_typed(judged):
    incident = judged.lead.incident
    incident.status, incident.closed_at = "closed", timezone.now()
    incident.save()
    client = client_of(judged.investigator)
    answer = client.post(reverse("notes", args=[judged.slug]), {"text": "Typed before it was closed"})
    assert answer.status_code == 422
    assert "Typed before it was closed" in text_of(answer)
    assert "This room is closed" in text_of(answer)
    part = client.post(reverse("notes", args=[judged.slug]), {"text": "Kept by the page"}, headers=HTMX)
    assert part.status_code == 409  # htmx leaves the form as it is


def test_a_new_note_says_where_it_will_hang(judged):
    client = client_of(judged.investigator)
    address = reverse("note-new", args=[judged.slug])
    said = {"clock": "1.1:1", "from": "9.5", "to": "11.25", "lane": "syscalls:3731", "label": "server 3731"}
    page = text_of(client.get(address, said))
    assert "On lane server 3731, clock 1.1:1, 9.500 to 11.250 s" in page
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    fields.pop("csrfmiddlewaretoken")
    client.post(reverse("notes", args=[judged.slug]), fields | {"text": "Here."})
    note = Note.objects.get(text="Here.")
    assert (note.lane, note.lane_label, note.clock, note.t_from) == ("syscalls:3731", "server 3731", "1.1:1", 9.5)
    assert "on the finding" in text_of(client.get(address, {"finding": reports.CAUSE_KEY})).lower()
    assert "line 3 to 5" in text_of(client.get(address, {"artifact": 1, "line_from": 3, "line_to": 5}))
    for bad in (
        {"clock": "1.1:1", "from": "2"},
        {"from": "1"},
        {"artifact": 99},
        {"clock": "1:1", "from": "nan", "to": "1"},
    ):
        assert client.get(address, bad).status_code in (400, 404), bad


def test_the_completion_asks_for_a_sign(judged, django_assert_max_num_queries):
    client = client_of(judged.viewer)
    address = reverse("complete", args=[judged.slug])
    with django_assert_max_num_queries(10):
        offers = client.get(address, {"sign": "#", "q": "shm"}).json()["offers"]
    assert {"insert", "text", "detail", "kind"} == set(offers[0])
    assert client.get(address, {"q": "x"}).status_code == 400
    assert client.get(address, {"sign": "#", "q": "\x00%_'\"" + "x" * 500}).json() == {"offers": []}


class TestNotifications:
    def test_listed_counted_and_marked(self, judged):
        note = notes.add(judged.lead, "**@nils** see `line` #artifact-1:3")
        client = client_of(judged.investigator)
        page = text_of(client.get(reverse("room", args=[judged.slug])))
        assert "Notifications, 1 unread" in page
        listed = text_of(client.get(reverse("notifications")))
        assert "mentioned you" in listed
        assert "@nils see line artifact 1, line 3" in listed
        assert f"/notes/{note.pk}/thread/#note-{note.pk}" in listed
        row = Notification.objects.get()
        client_of(judged.lead).post(reverse("notifications"), {"do": "read", "id": row.pk})
        assert "1 unread" in text_of(
            client.get(reverse("notifications") + "?part=bell", headers=HTMX)
        )  # not hers to mark
        client.get(reverse("note-thread", args=[judged.slug, note.pk]))
        assert "unread" not in text_of(client.get(reverse("notifications") + "?part=bell", headers=HTMX))
        assert "Nothing unread" in text_of(client.get(reverse("notifications"), {"show": "unread"}))

    def test_paged_with_few_queries(self, judged, django_assert_max_num_queries):
        for n in range(45):
            notes.add(judged.lead, f"@nils {n}")
        client = client_of(judged.investigator)
        with django_assert_max_num_queries(MOST_QUERIES):
            page = text_of(client.get(reverse("notifications")))
        assert "page 1 of 2" in page

    def test_mails_are_chosen(self, judged):
        client = client_of(judged.investigator)
        client.post(reverse("notifications"), {"do": "mail"})
        assert 'name="mentions">' in text_of(client.get(reverse("notifications")))
        client.post(reverse("notifications"), {"do": "mail", "mentions": "on"})
        assert 'name="mentions" checked>' in text_of(client.get(reverse("notifications")))
        assert client.post(reverse("notifications"), {"do": "read", "id": "x"}).status_code == 404
        assert client.post(reverse("notifications"), {"do": "nonsense"}).status_code == 400

    def test_an_answer_to_a_dispute_is_seen_with_the_finding(self, judged):
        findings.answer(judged.lead, judged.lead.incident.disputes.get().pk, "Counted.")
        client = client_of(judged.investigator)
        assert "answered your dispute" in text_of(client.get(reverse("notifications")))
        client.get(reverse("finding", args=[judged.slug, reports.CHURN_KEY]))
        assert Notification.objects.get().read_at is not None


class TestDisputes:
    def test_a_verdict_under_dispute_says_so_wherever_it_is_shown(self, judged):
        client = client_of(judged.viewer)
        places = [
            reverse("room", args=[judged.slug]),
            reverse("rooms"),
            reverse("verdict-copy", args=[judged.slug, "text"]),
            reverse("verdict-copy", args=[judged.slug, "markdown"]),
        ]
        report = reverse("api-report", args=[judged.slug])
        for place in places:
            assert "under dispute" not in text_of(client.get(place)).lower(), place
        findings.dispute(judged.investigator, reports.CAUSE_KEY, "Another start of the instance.")
        for place in places:
            assert "under dispute" in text_of(client.get(place)).lower(), place
        assert reports.CAUSE_KEY in client.get(report)["Exhibit-Disputed"]
        copied = text_of(client.get(reverse("finding-copy", args=[judged.slug, reports.CAUSE_KEY, "text"])))
        assert "under dispute" in copied
        drawer = text_of(client.get(reverse("finding", args=[judged.slug, reports.CAUSE_KEY]), headers=HTMX))
        assert "Another start of the instance." in drawer
        row = judged.lead.incident.disputes.get(finding__key=reports.CAUSE_KEY)
        findings.answer(judged.lead, row.pk, "The mechanism is the same.")
        for place in places:
            assert "under dispute" not in text_of(client.get(place)).lower(), place
        assert reports.CAUSE_KEY not in client.get(report)["Exhibit-Disputed"]
        after = text_of(client.get(reverse("finding", args=[judged.slug, reports.CAUSE_KEY]), headers=HTMX))
        assert "The mechanism is the same." in after  # both stay beside it

    def test_an_answer_is_given_by_form_and_an_empty_one_keeps_the_page(self, judged):
        row = judged.lead.incident.disputes.get()
        client = client_of(judged.lead)
        address = reverse("dispute-answer", args=[judged.slug, row.pk])
        assert client.post(address, {"answer": " "}).status_code == 422
        answer = client.post(address, {"answer": "It does **not**."}, headers=HTMX)
        assert answer.status_code == 200
        assert "It does <strong>not</strong>." in text_of(answer)
        again = client_of(make_member(judged.lead.incident)).post(address, {"answer": "Me too."})
        assert again.status_code == 422
        assert "answered meanwhile" in text_of(again)
        assert "Me too." in text_of(again)


def test_who_has_no_account_any_more_is_a_former_member(judged):
    User.objects.filter(pk=judged.investigator.user.pk).update(is_active=False)
    page = text_of(client_of(judged.viewer).get(reverse("notes", args=[judged.slug])))
    assert NOTE in page
    assert f"former member {judged.investigator.user.pk}" in page
    assert "nils" not in page


@pytest.mark.parametrize("name", ["room", "notes", "finding", "lines"])
def test_no_page_with_notes_asks_more_than_it_may(read: Judged, name: str, django_assert_max_num_queries: Any) -> None:
    for n in range(30):
        places: list[dict[str, Any]] = [
            {},
            {"finding_key": reports.CAUSE_KEY},
            {"artifact": 1, "lines": (n + 1, n + 2)},
        ]
        root = notes.add(
            read.lead, f"@nils #artifact-1 #note-{read.note.pk} #finding-{reports.CAUSE_KEY}", **places[n % 3]
        )
        notes.reply(read.investigator, root.pk, "@anna")
    make_user()
    more: dict[str, list[Any]] = {"finding": [reports.CAUSE_KEY], "lines": [1]}
    args = more.get(name, [])
    client = client_of(read.investigator)
    client.get(reverse(name, args=[read.slug, *args]))  # what is unread is marked by the first look
    with django_assert_max_num_queries(1000) as asked:
        client.get(reverse(name, args=[read.slug, *args]))
    assert len(asked) <= MOST_QUERIES
