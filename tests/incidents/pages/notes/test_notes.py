"""Notes: written where they belong, edited without overwriting, deleted with undo."""

from __future__ import annotations

from django.urls import reverse

from incidents.actions import notes as actions
from incidents.models.words.note import Note
from tests.incidents.conftest import make_member
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import NOTE, client_of

HTMX = {"HX-Request": "true"}


def test_a_note_on_lines_links_to_them_in_the_room(judged):
    text = client_of(judged.viewer).get(reverse("room", args=[judged.slug])).content.decode()
    assert NOTE in text
    assert f"/rooms/{judged.slug}/evidence/1/?at=11#L11" in text


def test_a_note_is_written_on_a_finding_and_answers_with_its_part(judged):
    answer = client_of(judged.investigator).post(
        reverse("notes", args=[judged.slug]),
        {"text": "Ask for a map.", "finding_key": reports.CAUSE_KEY},
        headers=HTMX | {"HX-Target": "finding-notes"},
    )
    assert answer.status_code == 200
    assert 'id="finding-notes"' in answer.content.decode()
    assert Note.objects.get(text="Ask for a map.").finding_key == reports.CAUSE_KEY


def test_a_note_is_written_on_a_stretch_of_time(judged):
    answer = client_of(judged.investigator).post(
        reverse("notes", args=[judged.slug]), {"text": "Here.", "clock": "1.1:1", "t_from": "9.5", "t_to": "11.25"}
    )
    assert answer.status_code == 302
    note = Note.objects.get(text="Here.")
    assert (note.clock, note.t_from, note.t_to) == ("1.1:1", 9.5, 11.25)


def test_half_a_place_is_refused_and_the_text_kept(judged):
    for place in ({"clock": "1.1:1"}, {"artifact": 1, "line_from": 5}, {"artifact": 1, "line_from": 5, "line_to": 4}):
        answer = client_of(judged.investigator).post(
            reverse("notes", args=[judged.slug]), {"text": "Kept words", **place}
        )
        assert answer.status_code == 422
        assert "Kept words" in answer.content.decode()


def test_a_note_of_nothing_is_refused(judged):
    answer = client_of(judged.investigator).post(reverse("notes", args=[judged.slug]), {"text": " \n "}, headers=HTMX)
    assert answer.status_code == 422
    assert "This field is required" in answer.content.decode()


def test_an_edit_shows_who_and_when(judged):
    address = reverse("note", args=[judged.slug, judged.note.pk])
    client = client_of(judged.investigator)
    assert NOTE in client.get(address, headers=HTMX).content.decode()
    part = client.post(address, {"text": "Better words.", "version": 1}, headers=HTMX).content.decode()
    assert "Better words." in part
    assert "edited" in part


def test_an_edit_does_not_overwrite_somebody_elses(judged):
    actions.edit(judged.lead, judged.note.pk, "The lead's words.")
    address = reverse("note", args=[judged.slug, judged.note.pk])
    answer = client_of(judged.investigator).post(address, {"text": "Mine.", "version": 1}, headers=HTMX)
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "Mine." in text
    assert "The lead" in text  # her words beside his, and both together (test_threads.py)
    assert 'name="merged"' in text
    judged.note.refresh_from_db()
    assert judged.note.text == "The lead's words."


def test_a_deleted_note_offers_undo_and_comes_back(judged):
    client = client_of(judged.investigator)
    gone = client.post(reverse("note-delete", args=[judged.slug, judged.note.pk]), headers=HTMX).content.decode()
    assert "Undo" in gone
    assert NOTE not in gone
    assert NOTE not in client.get(reverse("room", args=[judged.slug])).content.decode()
    back = client.post(reverse("note-restore", args=[judged.slug, judged.note.pk]), headers=HTMX).content.decode()
    assert NOTE in back


def test_another_investigator_may_not_touch_it(judged):
    other = make_member(judged.lead.incident)
    client = client_of(other)
    for name in ("note-delete", "note-restore"):
        assert client.post(reverse(name, args=[judged.slug, judged.note.pk])).status_code == 403
    assert (
        client.post(reverse("note", args=[judged.slug, judged.note.pk]), {"text": "x", "version": 1}).status_code == 403
    )


def test_a_note_of_another_room_is_not_found(judged):
    from tests.incidents.conftest import make_room

    elsewhere = make_room()
    answer = client_of(elsewhere).get(reverse("note", args=[elsewhere.incident.slug, judged.note.pk]))
    assert answer.status_code == 404


def test_line_notes_answer_with_the_margin(judged):
    answer = client_of(judged.investigator).post(
        reverse("notes", args=[judged.slug]),
        {"text": "On two lines.", "artifact": 1, "line_from": 2, "line_to": 3},
        headers=HTMX | {"HX-Target": "margin-notes"},
    )
    assert answer.status_code == 200
    assert 'id="margin-notes"' in answer.content.decode()
    assert NOTE in answer.content.decode()
