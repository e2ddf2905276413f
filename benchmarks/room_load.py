"""Measure many people in many rooms at once: which events reach whom, how soon, and the load on the server.

    python benchmarks/room_load.py --people 200 --rooms 20 --seconds 300 --json

Starts Exhibit in a folder of its own on the loopback and stops it again. Each person has a stream open, fetches a page
every ten seconds and writes a note every sixty; every fifteen seconds somebody uploads 50 MB, which the workers read
and judge meanwhile. The largest room holds 30 people if there are that many. The last line is one JSON object.

`lost` and `doubled` are counted by the clients: each note carries an id from its writer, and everybody in the room must
receive it exactly once. `push_*` runs from the moment the event was created in the database (before its transaction is
committed) to the moment a client has read it; `note_p95_s` is the time that the writer waits.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import sys
import tempfile
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import inside, shapes
from config import embedded
from tests.served import Served, served

PAGE_EVERY_S = 10.0
NOTE_EVERY_S = 60.0
UPLOAD_EVERY_S = 15.0
UPLOAD_BYTES = 50 * 10**6
LARGEST_ROOM = 30
PATIENCE_S = 60.0
GRACE_S = 20.0
# Weighted as people use it: mostly the room page, then its other pages.
PAGES = ("", "", "", "evidence/", "notes/", "plan/", "status/", "members/", "activity/", "case/")

SET_UP = """
import json
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from incidents import access
from incidents.actions import artifacts, rooms, tokens
from incidents.models.people.membership import Membership
from pathlib import Path
sizes = {sizes}
made, n = [], 0
files = sorted(Path("incidents/sample").glob("*.txt"))
for number, size in enumerate(sizes):
    people = []
    for place in range(size):
        n += 1
        user = User.objects.create(username=f"person{{n}}")
        user.set_unusable_password()
        user.save()
        session = SessionStore()
        session["_auth_user_id"] = str(user.pk)
        session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
        session["_auth_user_hash"] = user.get_session_auth_hash()
        session.create()
        if place == 0:
            incident = rooms.create(user, rooms.Answers(title=f"Logins take 3.9 s in system {{number + 1}}"))
            room = access.enter(user, incident.slug)
            for file in files:
                artifacts.receive_stream(room, file.name, [file.read_bytes()])
            token = tokens.create(room, "load")
        else:
            Membership.objects.create(incident=incident, user=user, role="investigator", team="dba")
        people.append(session.session_key)
    made.append({{"slug": incident.slug, "id": incident.pk, "token": token, "sessions": people}})
print("RESULT" + json.dumps(made))
"""
WAITING = """
import json
from incidents.models.room.job import Job
print("RESULT" + json.dumps(Job.objects.filter(state__in=("queued", "running")).count()))
"""
EVENTS = """
import json
from incidents.models.room.event import Event
from incidents.models.words.note import Note
at = {{}}
for room, note, when in Event.objects.filter(kind="note").values_list("incident_id", "object", "made_at"):
    at[note] = when.timestamp()
kept = dict((str(pk), text) for pk, text in Note.objects.filter(text__startswith="load ").values_list("pk", "text"))
print("RESULT" + json.dumps({{"at": at, "kept": kept}}))
"""


@dataclass
class Person:
    room: int
    slug: str
    session: str
    csrf: str
    heard: dict[str, list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )  # note -> times at which it was received
    seqs: set[int] = field(default_factory=set)
    listening: bool = False
    events: int = 0


@dataclass
class Load:
    """Results at the clients. `written`: number of a note -> its room and the id that its writer gave it."""

    address: tuple[str, int]
    people: list[Person]
    pages: list[float] = field(default_factory=list)
    notes: list[float] = field(default_factory=list)
    uploads: list[float] = field(default_factory=list)
    written: dict[str, tuple[int, str]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes | list[bytes] = b""
    ) -> tuple[int, dict[str, str], bytes]:
        """Send one HTTP request over a connection of its own and read the whole answer."""
        pieces = [body] if isinstance(body, bytes) else body
        length = sum(map(len, pieces))
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.address[0]}:{self.address[1]}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()] + [f"Content-Length: {length}", "", ""]
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(*self.address)
            try:
                writer.write("\r\n".join(lines).encode())
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                answer = await reader.read()
            finally:
                writer.close()
        head, _, content = answer.partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        return int(first.split(" ")[1]), dict(line.lower().split(": ", 1) for line in rest if ": " in line), content

    def cookies(self, person: Person) -> dict[str, str]:
        return {"Cookie": f"sessionid={person.session}; csrftoken={person.csrf}"}

    # --- what people do -------------------------------------------------------------------------------------------

    async def look(self, person: Person) -> None:
        """Fetch a page now and then; one in twenty is the list of rooms."""
        page = random.choice(PAGES)
        path = "/" if random.random() < 0.05 else f"/rooms/{person.slug}/{page}"
        began = time.monotonic()
        status, _, _ = await self.ask("GET", path, self.cookies(person) | {"Accept": "text/html"})
        self.pages.append(time.monotonic() - began)
        if status != 200:
            self.errors[f"page {page or 'room'} {status}"] += 1

    async def write(self, person: Person) -> None:
        """Write a note; a note without an answer is sent again under the writer's own id, as the page does."""
        own = str(uuid.uuid4())
        body = urlencode({"text": f"load {own}", "client": own}).encode()
        headers = self.cookies(person) | {
            "X-CSRFToken": person.csrf,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        began = time.monotonic()
        for _ in range(3):
            try:
                status, answer, _ = await self.ask("POST", f"/rooms/{person.slug}/notes/", headers, body)
            except (OSError, TimeoutError, ValueError, IndexError) as error:
                self.errors[f"note {type(error).__name__}"] += 1
                continue
            self.notes.append(time.monotonic() - began)
            found = re.search(r"#note-(\d+)$", answer.get("location", ""))
            if status != 302 or not found:
                self.errors[f"note {status}"] += 1
            else:
                self.written[found[1]] = (person.room, own)
            return

    async def upload(self, room: dict[str, Any], content: bytes, number: int) -> None:
        """Send 50 MB the way `curl -T` does; its last line makes it differ from the previous file."""
        tail = f"01-AUG-2024 00:00:00 * {shapes.LISTENER.format(s=1, h=number % 250, p=number, code=0)}\n".encode()
        pieces = [content[at : at + 2**18] for at in range(0, len(content), 2**18)] + [tail]
        began = time.monotonic()
        path = f"/api/rooms/{room['slug']}/uploads/{quote(f'listener-{number}.log')}"
        status, _, answer = await self.ask("PUT", path, {"Authorization": f"Bearer {room['token']}"}, pieces)
        self.uploads.append(time.monotonic() - began)
        if status != 201:
            self.errors[f"upload {status} {answer[:80]!r}"] += 1

    async def listen(self, person: Person) -> None:
        """Keep the stream open as a browser does: after a cut it resumes from the last number it has seen."""
        cursor = ""
        while not self.ended.is_set():
            try:
                reader, writer = await asyncio.open_connection(*self.address)
            except OSError as error:
                self.errors[f"stream {type(error).__name__}"] += 1
                await asyncio.sleep(1)
                continue
            last = f"Last-Event-ID: {cursor}\r\n" if cursor else ""
            writer.write(
                f"GET /rooms/{person.slug}/stream HTTP/1.1\r\nHost: {self.address[0]}:{self.address[1]}\r\n{last}"
                f"Cookie: sessionid={person.session}\r\nAccept: text/event-stream\r\n\r\n".encode()
            )
            try:
                cursor = await self._frames(person, reader, cursor)
            except (OSError, asyncio.IncompleteReadError) as error:
                self.errors[f"stream {type(error).__name__}"] += 1
            finally:
                writer.close()
            if not self.ended.is_set():
                self.errors["stream cut"] += 1
                await asyncio.sleep(1)

    async def _frames(self, person: Person, reader: asyncio.StreamReader, cursor: str) -> str:
        kind = number = ""
        while not self.ended.is_set():
            try:
                async with asyncio.timeout(1):
                    line = (await reader.readline()).decode().rstrip("\r\n")
            except TimeoutError:
                if reader.at_eof():
                    return cursor
                continue
            if not line and reader.at_eof():
                return cursor
            name, _, value = line.partition(": ")
            if name == "id":
                number = cursor = value
                person.listening = True
            elif name == "event":
                kind = value
                if kind in ("reload", "gone"):
                    self.errors[f"stream {kind}"] += 1
            elif name == "data" and number and kind not in ("presence", "progress", "late", "reload"):
                person.events += 1
                if kind == "note":
                    person.heard[json.loads(value)["object"]].append(time.time())
            elif not line:
                kind = number = ""
        return cursor

    async def often(self, deed: Callable[[], Awaitable[None]], every: float, what: str) -> None:
        """Repeat an action, first after a random share of the pause so that people do not act in step."""
        pause = random.uniform(0, every)
        while not self.stop.is_set():
            try:
                async with asyncio.timeout(pause):
                    await self.stop.wait()
                return
            except TimeoutError:
                pass
            began = time.monotonic()
            try:
                await deed()
            except (OSError, TimeoutError, ValueError, IndexError) as error:
                self.errors[f"{what} {type(error).__name__}"] += 1
            pause = max(0.0, every - (time.monotonic() - began))


# --- what it costs ------------------------------------------------------------------------------------------------


@dataclass
class Cost:
    """Samples once a second: connections of the database, resident memory of the programs."""

    dsn: str
    var: Path
    connections: list[int] = field(default_factory=list)
    rss: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    async def watch(self, until: asyncio.Event) -> None:
        programs: dict[int, str] = {}
        with psycopg.connect(self.dsn, autocommit=True) as database:
            looked = 0.0
            while not until.is_set():
                if time.monotonic() - looked > 10:  # workers replace their children now and then
                    programs, looked = programs_of(self.var), time.monotonic()
                row = database.execute(
                    "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
                ).fetchone()
                self.connections.append(row[0] if row else 0)
                now: dict[str, float] = defaultdict(float)
                for pid, name in programs.items():
                    now[name] += resident_mb(pid)
                for name, amount in now.items():
                    self.rss[name].append(amount)
                await asyncio.sleep(1)

    def flat(self, name: str) -> dict[str, float]:
        """Return the memory of a program in MB: after a minute of warming up, at the end, and the maximum."""
        samples = self.rss.get(name) or [0.0]
        warm = samples[min(60, len(samples) // 4)]
        return {"warm": round(warm, 1), "end": round(statistics.median(samples[-5:]), 1), "max": round(max(samples), 1)}


def programs_of(var: Path) -> dict[int, str]:
    """Return the processes (pid -> `web` or `workers`) of the Exhibit whose data is in a folder."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            if f"EXHIBIT_VAR={var}".encode() not in (folder / "environ").read_bytes().split(b"\0"):
                continue
        except OSError:
            continue
        if b"config.asgi:application" in command:
            found[int(folder.name)] = "web"
        elif b"config.celery" in command:
            found[int(folder.name)] = "workers"
    return found


def resident_mb(pid: int) -> float:
    try:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


# --- the run ------------------------------------------------------------------------------------------------------


def sizes_of(people: int, rooms: int) -> list[int]:
    """Distribute people: up to 30 in the first room, the others evenly, at least one each.

    >>> sizes_of(200, 20)[:3], sum(sizes_of(200, 20)), sizes_of(3, 3)
    ([30, 9, 9], 200, [1, 1, 1])
    """
    rooms = min(rooms, people)
    if rooms == 1:
        return [people]
    first = max(1, min(LARGEST_ROOM, people - (rooms - 1), max(people // rooms, people * 3 // 20)))
    rest = people - first
    return [first] + [rest // (rooms - 1) + (number < rest % (rooms - 1)) for number in range(rooms - 1)]


async def measure(running: Served, people: int, rooms: int, seconds: float) -> dict[str, Any]:
    sizes = sizes_of(people, rooms)
    made = await asyncio.to_thread(inside.run, running, SET_UP.format(sizes=sizes))
    until = time.monotonic() + 300
    while await asyncio.to_thread(inside.run, running, WAITING) and time.monotonic() < until:
        await asyncio.sleep(3)
    parts = urlsplit(running.url)
    everybody = [
        Person(number, room["slug"], session, uuid.uuid4().hex)
        for number, room in enumerate(made)
        for session in room["sessions"]
    ]
    load = Load((parts.hostname or "127.0.0.1", parts.port or 80), everybody)
    cost = Cost(embedded.database_url(running.var), running.var)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "listener.log"
        shapes.write("listener_log", path, UPLOAD_BYTES)
        content = path.read_bytes()
    watching = asyncio.create_task(cost.watch(load.ended))
    streams = [asyncio.create_task(load.listen(person)) for person in everybody]
    while not all(person.listening for person in everybody):
        await asyncio.sleep(0.1)
    began = time.monotonic()
    busy = []
    for person in everybody:
        busy.append(asyncio.create_task(load.often(partial(load.look, person), PAGE_EVERY_S, "page")))
        busy.append(asyncio.create_task(load.often(partial(load.write, person), NOTE_EVERY_S, "note")))
    uploads: set[asyncio.Task[None]] = set()
    number = 0
    while time.monotonic() - began < seconds:
        if time.monotonic() - began >= number * UPLOAD_EVERY_S:
            number += 1
            task = asyncio.create_task(_tried(load, random.choice(made), content, number))
            uploads.add(task)
            task.add_done_callback(uploads.discard)
        await asyncio.sleep(0.2)
    load.stop.set()
    await asyncio.gather(*busy, *uploads)
    await _all_heard(load)
    load.ended.set()
    await asyncio.gather(watching, *streams)
    told = await asyncio.to_thread(inside.run, running, EVENTS.format())
    return result(
        load, cost, told, {"people": people, "rooms": len(sizes), "largest_room": sizes[0], "seconds": seconds}
    )


async def _tried(load: Load, room: dict[str, Any], content: bytes, number: int) -> None:
    try:
        await load.upload(room, content, number)
    except (OSError, TimeoutError, ValueError, IndexError) as error:
        load.errors[f"upload {type(error).__name__}"] += 1


async def _all_heard(load: Load) -> None:
    """Wait until all clients have received all notes, at most GRACE_S seconds."""
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until:
        if all(note in p.heard for note, (room, _) in load.written.items() for p in load.people if p.room == room):
            return
        await asyncio.sleep(0.5)


def result(load: Load, cost: Cost, told: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Count lost and doubled notes by the writers' ids: each stored note must reach each member of its room once."""
    lost = doubled = 0
    late = []
    for note, (room, own) in load.written.items():
        if told["kept"].get(note) != f"load {own}":
            lost += 1  # answered as stored, but it is missing
        for person in load.people:
            if person.room != room:
                doubled += len(person.heard.get(note, ()))  # another room must not receive it at all
                continue
            times = person.heard.get(note, [])
            lost += not times
            doubled += max(0, len(times) - 1)
            late += [times[0] - told["at"][note]] if times and note in told["at"] else []
    kept = Counter(told["kept"].values())
    doubled += sum(n - 1 for n in kept.values())  # sent twice under one id, stored twice
    return asked | {
        "events": sum(person.events for person in load.people),
        "lost": lost,
        "doubled": doubled,
        "push_p50_s": _share(late, 50),
        "push_p99_s": _share(late, 99),
        "page_p95_s": _share(load.pages, 95),
        "errors": sum(load.errors.values()),
        "pg_connections_max": max(cost.connections, default=0),
        "rss_mb_max": cost.flat("web")["max"],
        "rss_mb": {name: cost.flat(name) for name in ("web", "workers")},
        "pages": len(load.pages),
        "page_p50_s": _share(load.pages, 50),
        "notes": len(load.written),
        "note_p95_s": _share(load.notes, 95),
        "uploads": len(load.uploads),
        "upload_p50_s": _share(load.uploads, 50),
        "what_went_wrong": dict(load.errors),
    }


def _share(samples: list[float], share: int) -> float | None:
    if not samples:
        return None
    ordered = sorted(samples)
    return round(ordered[min(len(ordered) - 1, len(ordered) * share // 100)], 4)


def main() -> None:
    about = argparse.ArgumentParser(description="People in rooms: pages, notes, uploads, streams.")
    about.add_argument("--people", type=int, default=200)
    about.add_argument("--rooms", type=int, default=20)
    about.add_argument("--seconds", type=float, default=300)
    about.add_argument(
        "--json", action="store_true", help="only the JSON object; without it, the figures line by line first"
    )
    said = about.parse_args()
    if said.people < 1 or said.rooms < 1 or said.seconds <= 0:
        about.error("at least one person, one room and a second are needed")
    with served() as running:
        found = asyncio.run(measure(running, said.people, said.rooms, said.seconds))
    if not said.json:
        for name, value in found.items():
            print(f"{name:20} {value}")
    print(json.dumps(found), flush=True)
    sys.exit(0)


if __name__ == "__main__":
    main()
