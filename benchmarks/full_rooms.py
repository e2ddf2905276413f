"""Look at every page of full rooms, as many people at once: no page may answer 5xx, however many artifacts a room holds.

    python -m benchmarks.full_rooms --artifacts 60 500 2000 --people 50 --seconds 120 --json

Starts Exhibit in a folder of its own on the loopback and stops it again. Each room holds so many artifacts, taken from
the tests' samples of every kind; each is read and each room judged before anybody looks. First every page is opened once
and alone; then people walk the pages in an order of their own, each the next as soon as the last has come, with a pause of
two seconds. The last line is one JSON object: times by page, statuses, and the memory of the programs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import inside
from benchmarks.machine import facts
from benchmarks.room_load import WAITING, Cost, Load, Person
from config import embedded
from tests.served import Served, served

PAUSE_S = 2.0
READ_S = 3600.0  # seconds within which everything must be read and judged
PAGES = (
    "", "activity/", "ask/", "board/", "case/", "case.yaml", "clocks/", "compare/", "compare/figure", "compare/ledger.csv",
    "connect-times", "evidence/", "evidence/?page=2", "evidence/add/", "evidence/questions/", "evidence/1/", "evidence/{last}/",
    "evidence/1/lines?from=1&to=50", "findings/", "members/", "notes/", "plan/", "requests/", "requests/collect/", "similar/",
    "status/", "summary/", "thresholds/", "timeline/data", "timeline/lanes", "timeline/picture.svg",
    "timeline/waits", "/search/?q=error", "/", "/rules/", "/help/",
)  # fmt: skip

SET_UP = """
import json
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from incidents import access
from incidents.actions import artifacts, rooms
from incidents.models.people.membership import Membership
from pathlib import Path
files = sorted(f for f in Path("tests/corpus").glob("*/*.txt") if f.stat().st_size < 40_000)
made, n = [], 0
for size in {sizes}:
    people = []
    for place in range({people}):
        n += 1
        user = User.objects.create(username=f"person{{n}}")
        user.set_unusable_password()
        user.save()
        session = SessionStore()
        session["_auth_user_id"] = str(user.pk)
        session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
        session["_auth_user_hash"] = user.get_session_auth_hash()
        session.create()
        people.append(session.session_key)
        if place == 0:
            incident = rooms.create(user, rooms.Answers(title=f"A room of {{size}}"))
            room = access.enter(user, incident.slug)
            # Every file once, then again with one more empty line: the same content twice is refused.
            for number in range(size):
                file, again = files[number * 7 % len(files)], number // len(files)
                artifacts.receive_stream(room, f"{{number}}-{{file.name}}", [file.read_bytes() + b"\\n" * again])
        else:
            Membership.objects.create(incident=incident, user=user, role="investigator", team="dba")
    made.append({{"slug": incident.slug, "artifacts": size, "sessions": people}})
print("RESULT" + json.dumps(made))
"""


class Walk:
    """Results of people's requests: seconds by page, and answers that are not a page."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.took: dict[tuple[int, str], list[float]] = defaultdict(list)
        self.bad: Counter[str] = Counter()

    async def look(self, person: Person, artifacts: int, page: str) -> None:
        path = page if page.startswith("/") else f"/rooms/{person.slug}/{page.replace('{last}', str(artifacts))}"
        began = time.monotonic()
        try:
            status, _, content = await self.load.ask("GET", path, self.load.cookies(person) | {"Accept": "text/html"})
        except (OSError, TimeoutError, ValueError, IndexError) as error:
            self.bad[f"{artifacts} {page} {type(error).__name__}"] += 1
            return
        self.took[artifacts, page].append(time.monotonic() - began)
        if status not in (200, 302) or not (content or status == 302):
            self.bad[f"{artifacts} {page} {status}"] += 1

    async def often(self, person: Person, artifacts: int, until: float) -> None:
        while time.monotonic() < until:
            await self.look(person, artifacts, random.choice(PAGES))
            await asyncio.sleep(PAUSE_S)


async def measure(running: Served, sizes: list[int], people: int, seconds: float) -> dict[str, Any]:
    """Fill the rooms, open each page alone, then let all people request pages; return the results."""
    began = time.monotonic()
    each = max(people // len(sizes), 1)
    made = await asyncio.to_thread(inside.run, running, SET_UP.format(sizes=sizes, people=each))
    sent = time.monotonic()
    while await asyncio.to_thread(inside.run, running, WAITING):
        if time.monotonic() - sent > READ_S:
            raise RuntimeError(f"not everything was read and judged within {READ_S:g} s")
        await asyncio.sleep(5)
    read = time.monotonic()
    parts = urlsplit(running.url)
    load = Load((parts.hostname or "127.0.0.1", parts.port or 80), [])
    cost = Cost(embedded.database_url(running.var), running.var)
    watching = asyncio.create_task(cost.watch(load.ended))
    alone, together = Walk(load), Walk(load)
    for room in made:
        first = Person(0, room["slug"], room["sessions"][0], "x")
        for page in PAGES:
            await alone.look(first, room["artifacts"], page)
    until = time.monotonic() + seconds
    await asyncio.gather(
        *(
            together.often(Person(0, room["slug"], session, "x"), room["artifacts"], until)
            for room in made
            for session in room["sessions"]
        )
    )
    load.ended.set()
    await watching
    times = sorted(took for several in together.took.values() for took in several)
    return {
        "artifacts": sizes,
        "people": each * len(sizes),
        "send_s": round(sent - began, 1),
        "read_and_judge_s": round(read - sent, 1),
        "alone_s": {f"{size} {page}": round(took[0], 2) for (size, page), took in alone.took.items()},
        "alone_bad": dict(alone.bad),
        "pages": len(times),
        "p50_s": round(statistics.median(times), 2),
        "p95_s": round(times[len(times) * 95 // 100], 2),
        "slowest_s": {
            f"{size} {page}": round(max(took), 2)
            for (size, page), took in sorted(together.took.items(), key=lambda one: -max(one[1]))[:10]
        },
        "bad": dict(together.bad),
        "web_mb": cost.flat("web"),
        "workers_mb": cost.flat("workers"),
        "connections_max": max(cost.connections, default=0),
        "machine": facts(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--artifacts", type=int, nargs="+", default=[60, 500, 2000], metavar="N")
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result into this file")
    arguments = parser.parse_args()
    with served() as running:
        result = asyncio.run(measure(running, arguments.artifacts, arguments.people, arguments.seconds))
    text = json.dumps(result, indent=1)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 1 if result["bad"] or result["alone_bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
