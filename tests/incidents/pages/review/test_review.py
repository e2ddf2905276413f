"""The review: written once the room is closed, with follow-ups that somebody owns, and handed out as a file."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from incidents.actions import plan, review, rooms, standing
from incidents.content import pdf
from incidents.errors import NotAllowed, Refused, RoomClosed
from incidents.models.plan.review import FollowUp, Review
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import Judged, client_of, judged  # noqa: F401
from tests.incidents.pages.filled import post_form
from tests.incidents.pages.pages import page_in

pytestmark = pytest.mark.django_db
AT = datetime(2016, 4, 14, 6, 0, tzinfo=UTC)


@pytest.fixture
def room():
    return make_room(make_user("anna"))


@pytest.fixture
def nils(room):
    return make_member(room.incident, "investigator", make_user("nils"))


def url(name: str, room, *more: object) -> str:
    return reverse(name, args=[room.incident.slug, *more])


def main_of(room, name: str = "review") -> str:
    return page_in(client_of(room).get(url(name, room))).part("main").text


class TestTexts:
    def test_it_is_written_after_closing_and_not_in_the_archive(self, room, nils):
        rooms.close(room)
        assert "What was learned is written in its Review" in main_of(room, "evidence")
        client, address = client_of(nils), url("review-edit", room)
        sent = post_form(
            client, address, surprised="Nobody knew of the second switch.", helped="A trace within minutes"
        )
        assert client.post(address, sent).status_code == 302
        text = main_of(room)
        assert "Nobody knew of the second switch." in text
        assert "Last written by nils" in text
        assert room.incident.events.filter(kind="review", object="").exists()
        rooms.archive(room)
        with pytest.raises(RoomClosed):
            review.put(nils, {"helped": "x"})
        assert "A trace within minutes" in main_of(nils)

    def test_a_viewer_reads_it_and_a_stranger_does_not(self, room):
        viewer = make_member(room.incident, "viewer")
        review.put(room, {"helped": "A trace"})
        page = page_in(client_of(viewer).get(url("review", room)))
        assert "A trace" in page.part("main").text
        assert not page.select("main form")
        with pytest.raises(NotAllowed):
            review.put(viewer, {"helped": "x"})
        assert client_of(make_room()).get(url("review", room)).status_code == 404

    def test_two_people_writing_are_both_heard(self, room, nils):
        review.put(room, {"surprised": "The switch."})
        first, second, address = client_of(nils), client_of(room), url("review-edit", room)
        mine = post_form(second, address, surprised="The switch. And the cable.")
        theirs = post_form(first, address, surprised="The old switch.", helped="Tracing")
        assert first.post(address, theirs).status_code == 302
        answer = second.post(address, mine)
        assert answer.status_code == 409
        assert "nils changed it meanwhile" in page_in(answer).text
        assert Review.objects.get().surprised == "The old switch."

    def test_the_record_does_not_hold_the_words(self, room):
        review.put(room, {"surprised": "Secret words"})
        row = room.incident.activity.get(verb="wrote")
        assert (row.object, row.detail) == ("review", {"parts": ["surprised"]})


class TestFollowUps:
    def test_one_has_an_owner_and_a_day_and_is_done_or_not_after_all(self, room, nils):
        client = client_of(room)
        sent = {"text": "Replace the old switch", "owner": nils.user.pk, "due_on": "2016-05-01"}
        assert client.post(url("follow-up-new", room), sent).status_code == 302
        row = FollowUp.objects.get()
        assert (row.owner, row.due_on) == (nils.user, date(2016, 5, 1))
        assert "overdue" in main_of(room)
        client_of(nils).post(url("follow-up-do", room, row.pk), {"do": "done"})
        text = main_of(room)
        assert "Done by nils" in text
        assert "overdue" not in text
        client.post(url("follow-up-do", room, row.pk), {"do": "open"})
        row.refresh_from_db()
        assert (row.done_at, row.done_by) == (None, None)

    def test_it_can_be_taken_away_and_brought_back(self, room, nils):
        row = review.put_follow_up(room, {"text": "Replace the switch"})
        with pytest.raises(NotAllowed):
            review.delete_follow_up(nils, row.pk)
        client = client_of(room)
        client.post(url("follow-up-do", room, row.pk), {"do": "delete"})
        page = page_in(client.get(url("review", room))).part("#review")
        assert "Replace the switch" not in page.text
        client.post(page.part(".told form")["action"], {"do": "restore"})
        assert "Replace the switch" in main_of(room)

    def test_nonsense_is_refused(self, room):
        stranger = make_user()
        for said, words in (({"text": " "}, "Say what"), ({"text": "x", "owner": stranger.pk}, "must be a member")):
            with pytest.raises(Refused, match=words):
                review.put_follow_up(room, said)
        client = client_of(room)
        assert client.post(url("follow-up-new", room), {"text": "x", "due_on": "soon"}).status_code == 422
        assert client.post(url("follow-up-do", room, 1), {"do": "done"}).status_code == 404
        row = review.put_follow_up(room, {"text": "x"})
        assert client.post(url("follow-up-do", room, row.pk), {"do": "dance"}).status_code == 400
        assert client.get(url("follow-up", room, row.pk + 1)).status_code == 404

    def test_two_people_editing_are_both_heard(self, room, nils):
        row = review.put_follow_up(room, {"text": "Replace the switch"})
        first, second, address = client_of(nils), client_of(room), url("follow-up", room, row.pk)
        mine = post_form(second, address, text="Replace both switches")
        theirs = post_form(first, address, text="Replace the old switch")
        assert first.post(address, theirs).status_code == 302
        answer = second.post(address, mine)
        assert answer.status_code == 409
        assert "nils changed it meanwhile" in page_in(answer).text

    def test_open_ones_come_first_and_the_earliest_due(self, room):
        for text, due in (("late", "2016-06-01"), ("no day", None), ("early", "2016-05-01"), ("done", "2016-01-01")):
            row = review.put_follow_up(room, {"text": text, "due_on": date.fromisoformat(due) if due else None})
        review.set_done(room, row.pk)
        rows = [one.text for one in page_in(client_of(room).get(url("review", room))).select("#review tr[id] td.said")]
        assert [text.split()[0] for text in rows] == ["early", "late", "no", "done"]


class TestFiles:
    @pytest.fixture
    def full(self, judged: Judged):  # noqa: F811
        lead = judged.lead
        standing.put(lead, {"severity": 2, "scribe": judged.investigator.user.pk})
        times = {"started": AT, "detected": AT + timedelta(minutes=20), "mitigated": AT + timedelta(minutes=95)}
        standing.put(lead, times)
        plan.put_decision(
            lead, {"question": "Fail over?", "outcome": "Yes | now", "decided_at": AT + timedelta(hours=1)}
        )
        review.put(lead, {"surprised": "The *old* switch.\n\n<b>It was on.</b>"})
        review.put_follow_up(lead, {"text": "Replace the switch", "owner": lead.user.pk, "due_on": date(2016, 5, 1)})
        return lead

    def test_markdown_holds_the_whole(self, full):
        answer = client_of(full).get(url("review-export", full, "md"))
        text = answer.content.decode()
        assert answer.headers["Content-Disposition"] == f'attachment; filename="review-{full.incident.slug}.md"'
        for line in (
            "# Logins to QPROD take 3.9 s",
            "- **Severity:** 2, work is badly hindered",
            "- **Lead:** anna",
            "- **Scribe:** nils",
            "- **Until noticed:** 20 min",
            "- **From noticed to mitigated:** 1 h 15 min",
            "The \\*old\\* switch.",
            "&lt;b&gt;It was on.&lt;/b&gt;",
            "- [ ] Replace the switch (anna, by 2016-05-01)",
            "| 2016-04-14 07:00 | decision | Fail over?: Yes \\| now | anna |",
        ):
            assert line in text.split("\n"), line
        verdict = page_in(client_of(full).get(url("review", full))).part("#review .prose b").text
        assert verdict in text.replace("\\", "")

    def test_the_page_for_paper_names_its_times_in_utc_whatever_the_readers_zone(self, full, monkeypatch):
        pages: list[str] = []

        def keep(page: str) -> bytes:
            pages.append(page)
            return b"%PDF"

        monkeypatch.setattr(pdf, "pdf_of", keep)
        client = client_of(full)
        client.cookies["zone"] = "Europe/Warsaw"
        answer = client.get(url("review-export", full, "pdf"))
        assert answer.headers["Content-Type"] == "application/pdf"
        assert "2016-04-14 07:00" in pages[0]
        assert "&lt;b&gt;It was on.&lt;/b&gt;" in pages[0]

    def test_it_becomes_a_pdf(self, full):
        answer = client_of(full).get(url("review-export", full, "pdf"))
        assert answer.status_code == 200
        assert answer.content.startswith(b"%PDF")

    def test_an_empty_room_says_so(self, room):
        text = client_of(room).get(url("review-export", room, "md")).content.decode()
        assert "Nothing was judged." in text
        assert "Nobody has written this yet." in text
        assert "Nothing was written down." in text
        assert timezone.now().strftime("as of %Y-%m-%d") in text
