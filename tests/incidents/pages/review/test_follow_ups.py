"""Follow-ups of all rooms on one page: whose they are, what is overdue, who may say that one is done; and the search."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from incidents.actions import review, rooms
from incidents.models.plan.review import FollowUp
from incidents.pages.review.views import A_PAGE
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import client_of
from tests.incidents.pages.pages import page_in
from tests.incidents.pages.room.test_room import connection

pytestmark = pytest.mark.django_db


@pytest.fixture
def room():
    return make_room(make_user("anna"), "Logins take 3.9 s")


def listed(room, **asked: Any) -> list[str]:
    """Return the text of each row without its room's title, in their order."""
    page = page_in(client_of(room).get(reverse("follow-ups"), asked))
    return [row.text.split(" Logins")[0] for row in page.select("td.said")]


def put(room, text: str, owner=None, due: date | None = None) -> FollowUp:
    return review.put_follow_up(room, {"text": text, "owner": owner and owner.user.pk, "due_on": due})


class TestList:
    def test_mine_are_those_that_i_own_the_earliest_due_first_in_closed_rooms_too(self, room):
        nils = make_member(room.incident, "investigator", make_user("nils"))
        today = timezone.now().date()
        put(room, "Without a day", room)
        put(room, "Tomorrow", room, today + timedelta(days=1))
        put(room, "Yesterday", room, today - timedelta(days=1))
        put(room, "Of Nils", nils, today)
        put(room, "Of nobody")
        review.set_done(room, put(room, "Done already", room).pk)
        rooms.close(room)
        assert listed(room) == ["Yesterday", "Tomorrow", "Without a day"]
        assert listed(room, show="overdue") == ["Yesterday"]
        assert listed(room, show="nobodys") == ["Of nobody"]
        assert len(listed(room, show="open")) == 5
        assert listed(room, show="done") == ["Done already"]
        assert listed(nils) == ["Of Nils"]
        assert listed(nils, show="nonsense") == ["Of Nils"]

    def test_words_of_the_text_or_of_the_room_narrow_it_and_pages_keep_them(self, room):
        other = make_room(room.user, "Backups hang")
        for place in range(A_PAGE + 1):
            put(room, f"Replace switch {place}", room)
        put(other, "Replace the tape", room)
        assert len(listed(room, q="TAPE")) == 1
        assert len(listed(room, q="backups")) == 1
        assert len(listed(room, q="logins")) == A_PAGE
        page = page_in(client_of(room).get(reverse("follow-ups"), {"q": "logins"}))
        assert page.part(".paging a[rel=next]").attributes["href"] == "?show=mine&q=logins&page=2"
        assert len(listed(room, q="logins", page=2)) == 1
        assert listed(room, q="nosuch\x00word") == []

    def test_what_was_taken_away_and_rooms_of_others_are_not_listed(self, room):
        review.delete_follow_up(room, put(room, "A slip", room).pk)
        stranger = make_room(make_user("eve"), "A secret")
        put(stranger, "Hide it")
        assert listed(room, show="open") == []
        assert listed(room, show="open", q="secret") == []

    def test_one_is_done_in_the_list_by_those_who_may(self, room):
        viewer = make_member(room.incident, "viewer", make_user("vera"))
        row = put(room, "Replace the switch", room)
        rooms.close(room)
        client, address = client_of(room), reverse("follow-up-do", args=[room.incident.slug, row.pk])
        assert page_in(client.get(reverse("follow-ups"))).select("td.do button")
        answer = client.post(address, {"do": "done", "next": "mine"})
        assert answer["Location"] == f"{reverse('follow-ups')}?show=mine"
        row.refresh_from_db()
        assert row.done_by == room.user
        assert listed(viewer, show="done")
        seen = page_in(client_of(viewer).get(reverse("follow-ups"), {"show": "done"}))
        assert not seen.select("td.do button")
        rooms.archive(room)
        seen = page_in(client.get(reverse("follow-ups"), {"show": "done"}))
        assert seen.select("td.said")
        assert not seen.select("td.do button")

    def test_many_ask_the_database_no_more_than_few(self, room):
        def queries() -> int:
            with CaptureQueriesContext(connection()) as caught:
                client.get(reverse("follow-ups"))
            return len(caught)

        client = client_of(room)
        put(room, "One", room)
        few = queries()
        for place in range(5):
            put(make_room(room.user, f"Room {place}"), "One more", room)
        assert queries() <= few


def test_the_search_finds_follow_ups_and_leads_to_the_review(room):
    kept, gone = put(room, "Replace the blue switch"), put(room, "Paint the blue switch")
    review.delete_follow_up(room, gone.pk)
    page = page_in(client_of(room).get(reverse("search"), {"q": "blue", "kind": "follow-up"}))
    hrefs = [link.attributes["href"] for link in page.select("a.title")]
    assert hrefs == [f"{reverse('review', args=[room.incident.slug])}#follow-up-{kept.pk}"]
