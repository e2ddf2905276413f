"""Tests of actions on notes: threads, versions, repeated posts, conflicts, resolving, notifications."""

from __future__ import annotations

import pytest
from django.core import mail
from django.utils import timezone

from incidents import tasks
from incidents.actions import findings, members, notes, notices
from incidents.content import discussions, inbox, references
from incidents.errors import NotAllowed, Refused, RoomClosed
from incidents.models.people.notification import Mail, Notification, Told
from incidents.models.room.activity import Activity
from incidents.models.room.event import Event
from incidents.models.words.note import Note
from incidents.work import mails
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, judged  # noqa: F401

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return make_room(make_user("ada", email="ada@example.com"))


@pytest.fixture
def nils(lead):
    return make_member(lead.incident, user=make_user("nils", email="nils@example.com"))


def events(room, kind):
    return [event.object for event in Event.objects.filter(incident=room.incident, kind=kind).order_by("seq")]


class TestThreads:
    def test_a_reply_to_a_reply_belongs_to_the_thread(self, lead, nils):
        root = notes.add(lead, "The gap ends at the large segment.")
        first = notes.reply(nils, root.pk, "Which one?")
        second = notes.reply(lead, first.pk, "0x3C0000000.")
        assert first.reply_to == second.reply_to == root
        (thread,) = discussions.threads(lead, list(discussions.roots(lead)))
        assert [item.note for item in thread.replies] == [first, second]

    def test_the_newest_replies_are_shown_and_the_others_counted(self, lead, django_assert_max_num_queries):
        for _ in range(12):
            root = notes.add(lead, "Root, see #artifact-1")
            for n in range(8):
                notes.reply(lead, root.pk, f"Reply {n} of @ada on #note-{root.pk}")
        with django_assert_max_num_queries(6):
            shown = discussions.threads(lead, list(discussions.roots(lead)))
        assert {(thread.earlier, len(thread.replies)) for thread in shown} == {(3, 5)}
        assert [item.note.text[:7] for item in shown[0].replies] == [f"Reply {n}" for n in range(3, 8)]

    def test_a_deleted_first_note_keeps_its_replies(self, lead, nils):
        root = notes.add(nils, "A secret slip")
        notes.reply(lead, root.pk, "Careful.")
        notes.delete(nils, root.pk)
        (thread,) = discussions.threads(lead, list(discussions.roots(lead)))
        assert thread.first.deleted
        assert "slip" not in thread.first.html
        assert "Careful." in thread.replies[0].html
        with pytest.raises(Refused):
            notes.edit(nils, root.pk, "Back")

    def test_a_deleted_note_without_replies_is_gone_for_the_others_and_can_come_back(self, lead, nils):
        root = notes.add(nils, "Wrong")
        notes.delete(nils, root.pk)
        assert list(discussions.roots(lead)) == []
        assert list(discussions.roots(nils)) == [root]  # with the undo
        notes.restore(nils, root.pk)
        assert list(discussions.roots(lead)) == [root]

    def test_resolving_is_told_recorded_and_undone(self, lead, nils):
        root = notes.add(lead, "Done?")
        version = notes.resolve(nils, root.pk).version
        assert notes.resolve(lead, root.pk).version == version  # said already
        root.refresh_from_db()
        assert root.resolved_by == nils.user
        assert notes.reopen(lead, root.pk).resolved_at is None
        verbs = list(
            Activity.objects.filter(incident=lead.incident, object=f"note {root.pk}").values_list("verb", flat=True)
        )
        assert verbs == ["wrote", "resolved", "reopened"]
        assert len(events(lead, "note")) == 3
        with pytest.raises(Refused):
            notes.resolve(lead, notes.reply(nils, root.pk, "No").pk)

    def test_who_may_not_write_may_not_reply_or_resolve(self, lead):
        viewer = make_member(lead.incident, "viewer")
        root = notes.add(lead, "A note")
        for deed in (lambda: notes.reply(viewer, root.pk, "x"), lambda: notes.resolve(viewer, root.pk)):
            with pytest.raises(NotAllowed):
                deed()

    def test_a_closed_room_takes_no_notes(self, lead, nils):
        root = notes.add(lead, "Before")
        lead.incident.status, lead.incident.closed_at = "closed", timezone.now()
        lead.incident.save()
        for deed in (
            lambda: notes.add(nils, "x"),
            lambda: notes.reply(nils, root.pk, "x"),
            lambda: notes.edit(lead, root.pk, "x"),
        ):
            with pytest.raises(RoomClosed):
                deed()

    def test_a_note_of_another_room_cannot_be_answered(self, lead):
        elsewhere = make_room()
        root = notes.add(elsewhere, "Theirs")
        with pytest.raises(Refused, match="no such note"):
            notes.reply(lead, root.pk, "x")


class TestPlaces:
    def test_on_lanes_times_lines_and_artifacts(self, lead):
        make_artifact(lead)
        on_lane = notes.add(lead, "a", lane="syscalls:3731", lane_label="server 3731", clock="1.1:1", times=(1.0, 2.0))
        alone = notes.add(lead, "b", lane="syscalls:3731")
        whole = notes.add(lead, "c", artifact=1)
        lines = notes.add(lead, "d", artifact=1, lines=(2, 3))
        places = {t.pk: t.first.place for t in discussions.threads(lead, list(discussions.roots(lead)))}
        assert places[on_lane.pk].text == "lane server 3731, clock 1.1:1, 1.000 to 2.000 s"
        assert "lane=syscalls%3A3731" in places[on_lane.pk].href
        assert places[alone.pk].text == "lane syscalls:3731"
        assert places[whole.pk].text == "times.txt"
        assert places[lines.pk].href.endswith("#L2-L3")

    @pytest.mark.parametrize("lane", ["", " ", "x" * 201, "a)b", "a\nb"])
    def test_a_lane_that_cannot_be_written_as_a_link_is_refused(self, lead, lane):
        with pytest.raises(Refused):
            notes.add(lead, "x", lane=lane)


class TestTexts:
    def test_every_text_is_kept_with_its_author(self, lead, nils):
        note = notes.add(nils, "One")
        notes.edit(nils, note.pk, "Two", 1)
        notes.edit(lead, note.pk, "Three", 2)
        kept = [(v.text, v.author.username) for v in note.versions.order_by("number")]
        assert kept == [("One", "nils"), ("Two", "nils"), ("Three", "ada")]

    def test_the_second_writer_gets_all_three_texts(self, lead, nils):
        note = notes.add(nils, "The gap ends here.")
        notes.edit(nils, note.pk, "The gap ends there.", 1)
        with pytest.raises(notes.Conflict) as caught:
            notes.edit(lead, note.pk, "The hole ends here.", 1)
        assert (caught.value.base, caught.value.note.text) == ("The gap ends here.", "The gap ends there.")
        assert caught.value.name == "nils"
        assert Note.objects.get(pk=note.pk).text == "The gap ends there."

    def test_deleting_and_resolving_between_is_no_conflict_of_texts(self, lead, nils):
        note = notes.add(nils, "One")
        notes.resolve(lead, note.pk)
        notes.delete(lead, note.pk)
        notes.restore(lead, note.pk)
        assert notes.edit(nils, note.pk, "Two", 1).text == "Two"

    def test_an_edit_repeated_after_a_lost_answer_is_no_conflict(self, nils):
        note = notes.add(nils, "One")
        notes.edit(nils, note.pk, "Two", 1)
        assert notes.edit(nils, note.pk, "Two", 1).version == 2
        assert note.versions.count() == 2

    def test_a_post_repeated_writes_once(self, lead, nils):
        first = notes.add(nils, "Once", client_id="page-1")
        assert notes.add(nils, "Once", client_id="page-1") == first
        reply = notes.reply(nils, first.pk, "Me too", client_id="page-2")
        assert notes.reply(nils, first.pk, "Me too", client_id="page-2") == reply
        assert Note.objects.filter(incident=lead.incident).count() == 2
        assert len(events(lead, "note")) == 2
        # Another person's page may have the same name for its own.
        assert notes.add(lead, "Once", client_id="page-1") != first

    def test_words_added_before_it_was_sent_again_are_not_lost_and_not_doubled(self, nils):
        first = notes.add(nils, "Sent", client_id="page-1")
        assert notes.add(nils, "Sent, and more", client_id="page-1", again=True) == first
        assert Note.objects.get().text == "Sent, and more"
        # A page taken from the history writes another note.
        assert notes.add(nils, "Something else", client_id="page-1") != first
        assert Note.objects.count() == 2

    def test_a_megabyte_is_refused(self, nils):
        with pytest.raises(Refused, match="upload longer texts"):
            notes.add(nils, "x" * 2**20)


class TestTold:
    def test_mentioned_people_are_told_once(self, lead, nils, hints, on_commit):
        note = notes.add(lead, "@Nils look, @nobody too, and `@vera`")
        notes.edit(lead, note.pk, "@nils look again", 1)
        (row,) = Notification.objects.all()
        assert (row.user, row.kind, row.actor, row.note) == (nils.user, Told.MENTION, lead.user, note)
        assert events(lead, "notice") == [str(nils.user.pk)]
        assert inbox.unread_count(nils.user) == 1

    def test_the_workers_hear_of_a_mail(self, lead, nils, hints, django_capture_on_commit_callbacks):
        with django_capture_on_commit_callbacks(execute=True):
            notes.add(lead, "@nils")
        assert tasks.MAILS in hints

    def test_a_reply_tells_those_of_the_thread_but_not_its_writer(self, lead, nils):
        vera = make_member(lead.incident, user=make_user("vera"))
        root = notes.add(lead, "Who knows?")
        notes.reply(nils, root.pk, "Not me.")
        notes.reply(vera, root.pk, "@ada me.")
        told = set(Notification.objects.values_list("user__username", "kind", "actor__username"))
        assert told == {("ada", "reply", "nils"), ("ada", "mention", "vera"), ("nils", "reply", "vera")}

    def test_only_members_are_told(self, lead):
        make_user("stranger")
        notes.add(lead, "@stranger")
        assert not Notification.objects.exists()

    def test_a_removed_member_sees_none_of_it(self, lead, nils):
        notes.add(lead, "@nils")
        members.remove(lead, nils.user.pk)
        assert inbox.unread_count(nils.user) == 0
        assert not inbox.notifications_of(nils.user).exists()

    def test_a_deleted_note_tells_nobody_any_more(self, lead, nils):
        note = notes.add(lead, "@nils")
        notes.delete(lead, note.pk)
        assert inbox.unread_count(nils.user) == 0

    def test_reading_marks_read(self, lead, nils):
        root = notes.add(lead, "@nils")
        notices.seen(nils, thread=root.pk)
        assert inbox.unread_count(nils.user) == 0
        notes.add(lead, "@nils again")
        assert notices.mark_read(lead.user) == 0  # not hers
        assert notices.mark_read(nils.user) == 1


class TestMails:
    def test_one_mail_for_what_waits_in_a_room(self, lead, nils):
        notes.add(lead, "@nils a secret sentence")
        notes.add(lead, "@nils another")
        assert mails.send_waiting() == 1
        (sent,) = mail.outbox
        assert sent.to == ["nils@example.com"]
        assert sent.subject == "ada mentioned you in Exhibit"
        assert sent.body.count("/thread/") == 2
        assert "secret" not in sent.body + sent.subject
        assert lead.incident.title not in sent.body + sent.subject
        assert mails.send_waiting() == 0
        assert set(Notification.objects.values_list("mail", flat=True)) == {Mail.SENT}

    def test_who_wants_none_gets_none(self, lead, nils):
        notes.add(lead, "@nils")
        notices.choose_mail(nils.user, False)
        notes.add(lead, "@nils")
        assert mails.send_waiting() == 0
        assert inbox.unread_count(nils.user) == 2
        assert not notices.wants_mail(nils.user)

    def test_a_removed_member_gets_no_mail(self, lead, nils):
        notes.add(lead, "@nils")
        members.remove(lead, nils.user.pk)
        mails.send_waiting()
        assert mail.outbox == []

    def test_a_mail_server_that_refuses_is_asked_again_and_given_up(self, lead, nils, monkeypatch):
        def refuse(*_, **__):
            raise ConnectionRefusedError("no mail server")

        monkeypatch.setattr(mails, "send_mail", refuse)
        notes.add(lead, "@nils")
        for attempt in range(1, mails.ATTEMPTS + 1):
            Notification.objects.update(mail_after=timezone.now())
            assert mails.waiting()
            assert mails.send_waiting() == 1
            row = Notification.objects.get()
            assert row.mail_attempts == attempt
            assert not mails.waiting()
        assert (row.mail, row.mail_cause) == (Mail.FAILED, "no mail server")

    def test_a_name_cannot_write_a_header(self, lead, nils):
        lead.user.first_name = "A\r\nBcc: all@example.com"
        lead.user.save()
        notes.add(lead, "@nils")
        mails.send_waiting()
        assert "\n" not in mail.outbox[0].subject
        assert mail.outbox[0].recipients() == ["nils@example.com"]


class TestReferences:
    def test_nothing_of_another_room_is_found(self, lead):
        elsewhere = make_room()
        make_artifact(elsewhere, name="secret.txt")
        note = notes.add(elsewhere, "secret note")
        add_report(elsewhere, reports.report())
        texts = [f"#artifact-1 #note-{note.pk} #finding-{reports.CAUSE_KEY} @{elsewhere.user.username}"]
        (html,) = discussions.render(references.Known(lead), texts)
        assert html.count("not in this room") == 4
        offers = references.things(lead, "") + references.people(lead, elsewhere.user.username)
        assert offers == []

    def test_the_completion_offers_what_is_there(self, judged):  # noqa: F811
        kinds = {offer.kind for offer in references.things(judged.lead, "")}
        assert kinds == {"finding", "artifact", "note"}
        (line,) = [offer for offer in references.things(judged.lead, "truss-listener:91-107") if offer.kind == "lines"]
        assert line.insert.startswith("#artifact-")
        assert line.insert.endswith(":91-107")
        assert [offer.insert for offer in references.people(judged.lead, "NIL")] == ["@nils"]
        notes.add(judged.lead, "x", lane="a lane", lane_label="server (3731)")
        assert [o.insert for o in references.things(judged.lead, "3731") if o.kind == "lane"] == [
            "#lane(a lane|server  3731)"
        ]


class TestDisputes:
    def test_an_answer_settles_it_and_both_stay(self, judged):  # noqa: F811
        dispute = judged.lead.incident.disputes.get()
        with pytest.raises(Refused, match="take it back"):
            findings.answer(judged.investigator, dispute.pk, "Mine")
        findings.answer(judged.lead, dispute.pk, "It was counted.")
        assert findings.answer(judged.lead, dispute.pk, "It was counted.").answered_by == judged.lead.user  # said twice
        with pytest.raises(Refused, match="answered meanwhile"):
            findings.answer(judged.lead, dispute.pk, "Other words")
        (row,) = discussions.objections(judged.viewer, reports.CHURN_KEY)
        assert "It was counted." in row.answer
        assert "keeps its connections" in row.reason
        assert not row.dispute.open
        assert Notification.objects.get().kind == Told.ANSWER
        # A person who disagrees with the answer disputes again; the first dispute stays.
        findings.dispute(judged.investigator, reports.CHURN_KEY, "Not by us.")
        assert [item.dispute.open for item in discussions.objections(judged.viewer, reports.CHURN_KEY)] == [True, False]

    def test_taken_back_it_stays_to_be_read(self, judged):  # noqa: F811
        findings.withdraw(judged.investigator, reports.CHURN_KEY)
        (row,) = discussions.objections(judged.viewer, reports.CHURN_KEY)
        assert row.dispute.withdrawn_at is not None
        with pytest.raises(Refused, match="taken back"):
            findings.answer(judged.lead, row.dispute.pk, "x")

    def test_a_dispute_sent_twice_is_one(self, judged):  # noqa: F811
        first = findings.dispute(judged.lead, reports.CAUSE_KEY, "No.")
        assert findings.dispute(judged.lead, reports.CAUSE_KEY, "No.") == first
