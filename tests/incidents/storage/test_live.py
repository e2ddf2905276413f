"""Tests of live events: numbers without gaps, replay after an interruption, streams that end with a person's rights."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from typing import Any, cast

import pytest
import redis
from asgiref.sync import sync_to_async
from django.contrib.auth import logout
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection, connections, transaction
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client, RequestFactory
from django.utils import timezone

from incidents.access import Room
from incidents.actions import members, notes
from incidents.models.room.event import Event
from incidents.models.room.incident import RoomCounter
from incidents.pages.room import live as view
from incidents.storage import live
from tests.incidents.conftest import make_member, make_room, make_user


@pytest.mark.django_db
class TestTable:
    def test_numbers_have_no_holes_and_are_the_rooms_own(self) -> None:
        first, second = make_room().incident, make_room().incident
        for incident in (first, second, first, first):
            live.tell(incident.pk, "note", 1)
        assert list(Event.objects.filter(incident=first).values_list("seq", flat=True)) == [1, 2, 3]
        assert list(Event.objects.filter(incident=second).values_list("seq", flat=True)) == [1]

    def test_a_deed_that_fails_says_nothing(self, published: list[Any]) -> None:
        room = make_room()

        def fails() -> None:
            with transaction.atomic():
                live.tell(room.incident.pk, "note", 1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fails()
        live.tell(room.incident.pk, "note", 2)
        assert list(Event.objects.values_list("seq", "object")) == [(1, "2")]
        assert published == []

    def test_an_event_carries_no_content(self, published: list[Any], django_capture_on_commit_callbacks: Any) -> None:
        room = make_room()
        with django_capture_on_commit_callbacks(execute=True):
            note = notes.add(room, "the password is secret")
        assert published == [{"room": room.incident.pk, "seq": 1, "kind": "note", "object": str(note.pk), "version": 1}]
        assert "secret" not in str(list(Event.objects.values()))

    def test_replay_gives_what_came_after(self) -> None:
        incident = make_room().incident
        for n in range(5):
            live.tell(incident.pk, "note", n)
        missed = live.replay(incident.pk, 3)
        assert ([e.seq for e in missed.events], missed.reload, missed.newest) == ([4, 5], False, 5)
        assert live.replay(incident.pk, 5) == live.replay(incident.pk, None) == live.Replay((), False, 5)

    @pytest.mark.parametrize("cursor", [0, 2, 99])
    def test_a_cursor_older_than_what_is_kept_or_of_another_time_gets_reload(self, cursor: int) -> None:
        incident = make_room().incident
        for n in range(5):
            live.tell(incident.pk, "note", n)
        Event.objects.filter(seq__lte=3).update(made_at=timezone.now() - live.KEPT - timedelta(minutes=1))
        assert live.forget_old() == 3
        assert live.replay(incident.pk, cursor) == live.Replay((), True, 5)
        assert [e.seq for e in live.replay(incident.pk, 3).events] == [4, 5]

    def test_too_much_to_replay_is_a_reload(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(live, "MOST_REPLAYED", 3)
        incident = make_room().incident
        for n in range(4):
            live.tell(incident.pk, "note", n)
        assert live.replay(incident.pk, 0).reload
        assert len(live.replay(incident.pk, 1).events) == 3


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_commits_late_is_not_skipped() -> None:
    """Check two writers: the second waits for the first one's commit, so no lower number appears after a higher one."""
    incident = make_room().incident
    began, seen = threading.Event(), []

    def second() -> None:
        began.wait(5)
        try:
            with transaction.atomic():
                seen.append(live.tell(incident.pk, "note", "second").seq)
        finally:
            connections.close_all()

    thread = threading.Thread(target=second)
    thread.start()
    with transaction.atomic():
        first = live.tell(incident.pk, "note", "first").seq
        began.set()
        time.sleep(0.3)
        assert seen == []
    thread.join(5)
    assert (first, seen) == (1, [2])


class TestListener:
    def listener(self) -> live.Listener:
        return live.Listener(incident_id=1, user_id=7, session="s", lost=False)

    @pytest.mark.parametrize(
        ("message", "ended"),
        [
            ({"end": 7, "room": None, "session": None}, True),
            ({"end": 7, "room": 1, "session": None}, True),
            ({"end": 7, "room": 2, "session": None}, False),
            ({"end": 8, "room": None, "session": None}, False),
            ({"end": 7, "room": None, "session": "s"}, True),
            ({"end": 7, "room": None, "session": "another"}, False),
        ],
    )
    def test_an_end_is_for_whom_it_is_meant(self, message: dict[str, Any], ended: bool) -> None:
        listener = self.listener()
        listener.hear(message)
        assert listener.ended is ended

    def test_another_rooms_news_is_not_heard(self) -> None:
        listener = self.listener()
        listener.hear({"room": 2, "seq": 1, "kind": "note", "object": "1", "version": 1})
        assert not listener.heard
        assert not listener.news.is_set()

    def test_a_reader_that_is_too_slow_is_served_from_the_table(self) -> None:
        listener = self.listener()
        for n in range(live.MOST_HEARD + 1):
            listener.hear({"room": 1, "seq": n, "kind": "note", "object": "1", "version": 1})
        assert listener.lost
        assert not listener.heard

    def test_only_the_newest_progress_of_an_artifact_is_passed_on(self) -> None:
        listener = self.listener()
        for lines in (1, 2, 3):
            listener.hear({"room": 1, "kind": "progress", "data": {"artifact": 5, "lines": lines}})
        assert list(listener.passing.values()) == [("progress", {"artifact": 5, "lines": 3})]


# --- through the real broker and the real view ----------------------------------------------------------------------


def frames(text: str) -> list[dict[str, str]]:
    return [
        dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
        for block in text.split("\n\n")
        if block and not block.startswith(":")
    ]


class Page:
    """A browser's open stream."""

    def __init__(self, body: AsyncGenerator[bytes, None], session: str) -> None:
        self.body = body
        self.session = session
        self.got: list[dict[str, str]] = []
        self.ended = asyncio.Event()
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for chunk in self.body:
                self.got += frames(chunk.decode())
        finally:
            self.ended.set()

    async def sees(self, condition: Callable[[list[dict[str, str]]], bool], seconds: float = 5) -> None:
        end = time.monotonic() + seconds
        while not condition(self.got):
            assert time.monotonic() < end, self.got
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.body.aclose()


async def open_page(room: Room, after: int | None = None, cursor: str | None = None) -> Page:
    client = AsyncClient()
    await sync_to_async(client.force_login)(room.user)
    address = f"/rooms/{room.incident.slug}/stream" + (f"?after={after}" if after is not None else "")
    answer = await client.get(address, headers={"Last-Event-ID": cursor} if cursor else None)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/event-stream"
    assert answer["Cache-Control"] == "no-cache"
    assert isinstance(answer, StreamingHttpResponse)
    page = Page(cast("AsyncGenerator[bytes, None]", answer.streaming_content), client.cookies["sessionid"].value)
    await page.sees(lambda got: bool(got) and "id" in got[0])
    return page


def seqs(got: list[dict[str, str]]) -> list[int]:
    return [int(frame["id"]) for frame in got if "event" in frame and "id" in frame]


def kinds(got: list[dict[str, str]]) -> list[str]:
    return [frame["event"] for frame in got if "event" in frame]


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
class TestStream:
    def run(self, story: Callable[[], Any]) -> None:
        async def told() -> None:
            try:
                await asyncio.wait_for(story(), 30)
            finally:
                await sync_to_async(connections.close_all)()

        asyncio.run(told())

    def test_two_pages_hear_a_note_within_a_second_and_who_is_here(self, broker: str) -> None:
        room = make_room()
        guest = make_member(room.incident)

        async def story() -> None:
            one, two = await open_page(room), await open_page(guest)
            began = time.monotonic()
            note = await sync_to_async(notes.add)(room, "look")
            for page in (one, two):
                await page.sees(lambda got: "note" in kinds(got))
                frame = next(f for f in page.got if f.get("event") == "note")
                assert json.loads(frame["data"]) == {"object": str(note.pk), "version": 1}
            assert time.monotonic() - began < 1
            assert "presence" in kinds(one.got)
            here = await sync_to_async(live.present)(room.incident.pk)
            assert here == sorted([room.user.pk, guest.user.pk])
            await two.close()
            await asyncio.sleep(0.2)
            assert await sync_to_async(live.present)(room.incident.pk) == [room.user.pk]
            await one.close()

        self.run(story)

    def test_nothing_is_lost_over_a_cut(self, broker: str) -> None:
        room = make_room()

        async def story() -> None:
            page = await open_page(room)
            await sync_to_async(notes.add)(room, "1")
            await page.sees(lambda got: seqs(got) == [1])
            await page.close()
            for n in range(2, 5):
                await sync_to_async(notes.add)(room, str(n))
            again = await open_page(room, cursor="1")
            await again.sees(lambda got: seqs(got) == [2, 3, 4])
            await sync_to_async(notes.add)(room, "5")
            await again.sees(lambda got: seqs(got) == [2, 3, 4, 5])
            await again.close()
            new = await open_page(room)
            assert new.got[0]["id"] == "5"
            assert seqs(new.got) == []
            await new.close()

        self.run(story)

    def test_nothing_is_lost_when_the_broker_swallows_it(self, broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Lose messages: the next message shows the gap; if there is none, the regular check finds it."""
        room = make_room()
        monkeypatch.setattr(view, "CHECK_S", 6.0)
        monkeypatch.setattr(view, "HEARTBEAT_S", 0.2)

        async def story() -> None:
            page = await open_page(room)
            publish = live._publish
            monkeypatch.setattr(live, "_publish", lambda message: None)
            await sync_to_async(notes.add)(room, "1")
            monkeypatch.setattr(live, "_publish", publish)
            await sync_to_async(notes.add)(room, "2")
            await page.sees(lambda got: seqs(got) == [1, 2], 1)
            monkeypatch.setattr(live, "_publish", lambda message: None)
            await sync_to_async(notes.add)(room, "3")
            await page.sees(lambda got: seqs(got) == [1, 2, 3], 8)
            await page.close()

        self.run(story)

    def test_nothing_is_lost_when_the_subscription_is_cut(self, broker: str) -> None:
        room = make_room()

        async def story() -> None:
            page = await open_page(room)
            client = redis.Redis.from_url(broker)
            await sync_to_async(lambda: client.client_kill_filter(_type="pubsub"))()
            for n in range(3):
                await sync_to_async(notes.add)(room, str(n))
            await page.sees(lambda got: seqs(got) == [1, 2, 3])
            await page.close()
            client.close()

        self.run(story)

    def test_a_page_is_told_while_the_broker_does_not_answer(
        self, broker: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Keep the connection open but silent: the page must show that it is not live."""
        monkeypatch.setattr(live, "SILENCE_S", 0.3)
        room = make_room()

        def told(page: Page) -> list[bool]:
            return [json.loads(f["data"])["late"] for f in page.got if f.get("event") == "late"]

        async def story() -> None:
            page = await open_page(room)
            await asyncio.sleep(1)
            assert True not in told(page)  # idle, not away
            client = redis.Redis.from_url(broker)
            await sync_to_async(lambda: client.client_pause(2500))()
            await page.sees(lambda _: told(page)[-1:] == [True])
            await page.sees(lambda _: told(page)[-1:] == [False])
            await sync_to_async(notes.add)(room, "caught up")
            await page.sees(lambda got: seqs(got) == [1])
            await page.close()
            client.close()

        self.run(story)

    def test_a_removed_member_hears_no_more(self, broker: str) -> None:
        room = make_room()
        guest = make_member(room.incident)

        async def story() -> None:
            page = await open_page(guest)
            await sync_to_async(members.remove)(room, guest.user.pk)
            await asyncio.wait_for(page.ended.wait(), 1)
            assert kinds(page.got)[-1] == "gone"
            await sync_to_async(notes.add)(room, "without you")
            await asyncio.sleep(0.2)
            assert "note" not in kinds(page.got)
            await page.close()

        self.run(story)

    def test_signing_out_ends_this_sessions_streams_only(self, broker: str) -> None:
        room = make_room()

        async def story() -> None:
            one, two = await open_page(room), await open_page(room)
            request = RequestFactory().get("/")
            request.session = SessionStore(one.session)
            request.user = room.user
            await sync_to_async(logout)(request)
            await asyncio.wait_for(one.ended.wait(), 1)
            assert not two.ended.is_set()
            await one.close()
            await two.close()

        self.run(story)

    def test_the_regular_check_finds_who_lost_access_without_a_word(
        self, broker: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        room = make_room()
        monkeypatch.setattr(view, "CHECK_S", 5.5)
        monkeypatch.setattr(view, "HEARTBEAT_S", 0.1)

        async def story() -> None:
            page = await open_page(room)
            await sync_to_async(lambda: type(room.user).objects.update(is_active=False))()
            await asyncio.wait_for(page.ended.wait(), 7)
            assert kinds(page.got)[-1] == "gone"
            await page.close()

        self.run(story)

    def test_an_old_cursor_gets_reload(self, broker: str) -> None:
        room = make_room()
        for n in range(3):
            notes.add(room, str(n))
        Event.objects.all().delete()

        async def story() -> None:
            page = await open_page(room, after=1)
            await page.sees(lambda got: "reload" in kinds(got))
            assert page.got[0]["id"] == "3"
            await page.close()

        self.run(story)

    def test_many_streams_hold_no_connections(self, broker: str) -> None:
        room = make_room()

        async def story() -> None:
            pages = [await open_page(room) for _ in range(20)]
            await asyncio.sleep(0.5)
            held = await sync_to_async(connections_of_this_test)()
            assert held <= 7
            await sync_to_async(notes.add)(room, "to all")
            for page in pages:
                await page.sees(lambda got: "note" in kinds(got))
            for page in pages:
                await page.close()

        self.run(story)


def connections_of_this_test() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        [count] = cursor.fetchone()
        return int(count)


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["nobody", "a stranger"])
def test_strangers_get_no_stream(who: str, client: Client) -> None:
    room = make_room()
    if who == "a stranger":
        client.force_login(make_user())
    answers = [client.get(f"/rooms/{slug}/stream") for slug in (room.incident.slug, "nonsense")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content == b""
    assert RoomCounter.objects.get(incident=room.incident).event_seq == 0
