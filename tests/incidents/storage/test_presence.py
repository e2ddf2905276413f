"""Tests of presence: who is in a room on which page, over the real broker, from more than one web process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.urls import reverse

from incidents.access import Room
from incidents.actions import members
from incidents.pages.room import presence
from incidents.storage import live
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import client_of
from tests.incidents.storage.test_live import kinds, open_page

ROOT = Path(__file__).resolve().parents[3]

# A second web process: it opens the room's stream for somebody, says when it hears of presence, and who it sees.
OTHER = """
import asyncio, json, os, sys, django
django.setup()
from asgiref.sync import sync_to_async
from incidents.storage import live
room, user = int(sys.argv[1]), int(sys.argv[2])
async def story():
    listener = live.Listener(room, user, "")
    async with live.hub().listen(listener):
        await sync_to_async(live.come, thread_sensitive=False)(room, user, listener.id)
        live.look_at(room, user, sys.argv[3])
        print("here", flush=True)
        end = asyncio.get_running_loop().time() + 20
        while asyncio.get_running_loop().time() < end:
            try:
                async with asyncio.timeout(0.5):
                    await listener.news.wait()
            except TimeoutError:
                pass
            listener.news.clear()
            ended = listener.ended
            if ended:
                await asyncio.sleep(0.5)
            print(json.dumps([one.user_id for one in live.present_in([room])[room]] + [ended]), flush=True)
            if ended:
                return
asyncio.run(story())
"""


def run(story: Callable[[], Any]) -> None:
    async def told() -> None:
        try:
            await asyncio.wait_for(story(), 60)
        finally:
            await sync_to_async(connections.close_all)()

    asyncio.run(told())


def seen_by(room: Room) -> list[tuple[str, str]]:
    return [(one.user.get_username(), one.page) for one in presence.people(room)]


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
class TestHere:
    def test_it_says_which_page_somebody_looks_at_and_forgets_it_with_the_stream(self, broker: str) -> None:
        room = make_room()
        guest = make_member(room.incident, user=make_user(f"nils{time.time_ns()}"))
        path = reverse("evidence", args=[room.incident.slug])
        name = guest.user.get_username()

        async def story() -> None:
            page = await open_page(guest)
            await page.sees(lambda got: "presence" in kinds(got))
            assert await sync_to_async(seen_by)(room) == [(name, "")]
            client = await sync_to_async(client_of)(guest)
            answer = await sync_to_async(client.post)(reverse("here", args=[room.incident.slug]), {"path": path})
            assert answer.status_code == 204
            await page.sees(lambda got: kinds(got).count("presence") >= 2)
            assert await sync_to_async(seen_by)(room) == [(name, "evidence")]
            await page.close()
            await asyncio.sleep(0.2)
            assert await sync_to_async(seen_by)(room) == []
            again = await open_page(guest)
            await again.sees(lambda got: "presence" in kinds(got))
            assert await sync_to_async(seen_by)(room) == [(name, "")]
            await again.close()

        run(story)

    def test_a_removed_member_vanishes_at_once(self, broker: str) -> None:
        room = make_room()
        guest = make_member(room.incident)

        async def story() -> None:
            page = await open_page(guest)
            await page.sees(lambda got: "presence" in kinds(got))
            live_people = await sync_to_async(live.present)(room.incident.pk)
            assert live_people == [guest.user.pk]
            began = time.monotonic()
            await sync_to_async(members.remove)(room, guest.user.pk)
            assert await sync_to_async(live.present)(room.incident.pk) == []
            await asyncio.wait_for(page.ended.wait(), 1)
            assert time.monotonic() - began < 1
            await page.close()

        run(story)

    def test_a_second_web_process_changes_nothing(self, broker: str) -> None:
        room = make_room()
        guest = make_member(room.incident)
        path = reverse("case", args=[room.incident.slug])
        env = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": str(ROOT)}
        other = subprocess.Popen(
            [sys.executable, "-c", OTHER, str(room.incident.pk), str(guest.user.pk), path],
            cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert other.stdout is not None
        stdout = other.stdout
        lines: list[Any] = []

        async def heard(condition: Callable[[], bool]) -> None:
            while not condition():
                lines.append(json.loads(await asyncio.to_thread(stdout.readline)))

        async def story() -> None:
            page = await open_page(room)
            assert (await asyncio.to_thread(stdout.readline)).strip() == "here"
            await page.sees(lambda got: kinds(got).count("presence") >= 2)
            assert await sync_to_async(seen_by)(room) == [
                (room.user.get_username(), ""),
                (guest.user.get_username(), "the case"),
            ]
            await heard(lambda: bool(lines) and lines[-1][:2] == [room.user.pk, guest.user.pk])
            # Removed here, the stream over there ends, and both see that nobody but the lead is left.
            await sync_to_async(members.remove)(room, guest.user.pk)
            await heard(lambda: lines[-1] == [room.user.pk, True])
            assert await sync_to_async(live.present)(room.incident.pk) == [room.user.pk]
            await page.close()

        try:
            run(story)
        finally:
            other.kill()
            other.wait()
            stdout.close()

    def test_nobody_is_shown_who_is_no_member(self, broker: str) -> None:
        room = make_room()
        stranger, admin = make_user(), make_user(is_superuser=True)
        for user in (stranger, admin):
            live.come(room.incident.pk, user.pk, "a")
        assert [one.user for one in presence.people(room)] == [admin]

    def test_whoever_stopped_renewing_is_gone(self, broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
        room = make_room()
        live.come(room.incident.pk, room.user.pk, "a")
        now = time.time()
        monkeypatch.setattr("incidents.storage.live.time.time", lambda: now + live.PRESENT_S + 1)
        assert live.present(room.incident.pk) == []

    def test_many_rooms_are_asked_about_in_one_trip(self, broker: str) -> None:
        rooms = [make_room() for _ in range(5)]
        for room in rooms:
            live.come(room.incident.pk, room.user.pk, "a")
        found = live.present_in([room.incident.pk for room in rooms])
        assert [[one.user_id for one in found[room.incident.pk]] for room in rooms] == [
            [room.user.pk] for room in rooms
        ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["", "/", "/rooms/another-room-abcdefgh/", "/admin/", "https://example.com/", "x" * 999]
)
def test_a_page_outside_the_room_is_not_noted(path: str) -> None:
    room = make_room()
    answer = client_of(room).post(reverse("here", args=[room.incident.slug]), {"path": path})
    assert answer.status_code == 400
