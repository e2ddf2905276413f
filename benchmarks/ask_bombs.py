"""Measure a room's pages while ten people run endless queries, and the answers that these people get.

    python benchmarks/ask_bombs.py --askers 10 --seconds 30 --json

Starts Exhibit in a folder of its own with the sample room, fetches the room's pages one after the other for some
seconds, then again while every asker posts one such query after the other (endless joins, lists that double, endless
rows). The promise: p95 of the pages is at most twice as long. Every answer to such a query must be 422 (stopped, with
an explanation) or 429 (no free slot, with an explanation); the last question, an ordinary one, must be answered. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import inside, machine
from tests.served import Served, served

PROMISE = 2.0
BOMBS = (
    "select count(*) from range(1000000) a(i) join range(1000000) b(j) on a.i <> b.j join range(1000000) c(k) on b.j <> c.k",
    "with a as (select range(1000000) as l) select len(list_filter(l, lambda x: len(list_filter(l, lambda y: y > x)) > 5)) from a",
    "select a.i, b.j from range(1000000) a(i) join range(1000) b(j) on a.i <> b.j order by a.i % 7, b.j desc",
    "select list(a.i + b.j) from range(100000) a(i) join range(100000) b(j) on a.i <> b.j group by a.i % 2",
)
PAGES = ("", "evidence/", "findings/", "notes/", "plan/", "ask/", "timeline/data?px=1000")
SET_UP = """
import json
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from incidents import access
from incidents.actions import artifacts, rooms
from incidents.models.people.membership import Membership
from pathlib import Path
made = []
for place in range({people}):
    user = User.objects.create(username=f"person{{place}}")
    user.set_unusable_password()
    user.save()
    session = SessionStore()
    session["_auth_user_id"] = str(user.pk)
    session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
    session["_auth_user_hash"] = user.get_session_auth_hash()
    session.create()
    if place == 0:
        incident = rooms.create(user, rooms.Answers(title="Logins take 3.9 s"))
        room = access.enter(user, incident.slug)
        for file in sorted(Path("incidents/sample").rglob("*.txt"))[:8]:
            artifacts.receive_stream(room, file.name, [file.read_bytes()])
    else:
        Membership.objects.create(incident=incident, user=user, role="viewer", team="dba")
    made.append(session.session_key)
print("RESULT" + json.dumps({{"slug": incident.slug, "sessions": made}}))
"""
WAITING = """
import json
from incidents.models.room.job import Job
print("RESULT" + json.dumps(Job.objects.filter(state__in=("queued", "running")).count()))
"""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


OPENER = urllib.request.build_opener(NoRedirect)


def call(url: str, session: str, said: dict[str, str] | None = None) -> tuple[int, float]:
    """Fetch a page, or post a form; return status and seconds."""
    token = "a" * 32
    request = urllib.request.Request(url, urllib.parse.urlencode(said).encode() if said else None)
    request.add_header("Cookie", f"sessionid={session}; csrftoken={token}")
    if said:
        request.add_header("X-CSRFToken", token)
        request.add_header("HX-Request", "true")
        request.add_header("Referer", url)
    began = time.monotonic()
    try:
        with OPENER.open(request, timeout=120) as answer:
            answer.read()
            return int(answer.status), time.monotonic() - began
    except urllib.error.HTTPError as error:
        error.read()
        return error.code, time.monotonic() - began


def walk(room: str, session: str, seconds: float) -> list[float]:
    """Fetch the room's pages in turn for this many seconds; return the seconds of each."""
    took = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for page in PAGES:
            status, one = call(room + page, session)
            assert status in (200, 302), (page, status)
            took.append(one)
        time.sleep(0.2)  # people read
    return took


def measure(running: Served, askers: int, seconds: float) -> dict[str, object]:
    made = inside.run(running, SET_UP.format(people=askers + 1))
    room = f"{running.url.rstrip('/')}/rooms/{made['slug']}/"
    reader, *others = made["sessions"]
    while inside.run(running, WAITING):
        time.sleep(1)
    walk(room, reader, 3)  # warm
    quiet = walk(room, reader, seconds)
    told: Counter[int] = Counter()
    waited: list[float] = []
    stop = threading.Event()

    def bomb(number: int, session: str) -> None:
        n = number
        while not stop.is_set():
            status, took = call(room + "ask/", session, {"sql": BOMBS[n % len(BOMBS)]})
            told[status] += 1
            waited.append(took)
            n += 1

    threads = [threading.Thread(target=bomb, args=one, daemon=True) for one in enumerate(others)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    loud = walk(room, reader, seconds)
    stop.set()
    for thread in threads:
        thread.join()
    status, _ = call(room + "ask/", reader, {"sql": "select count(*) as n from syscalls"})
    before, during = (statistics.quantiles(one, n=20)[-1] for one in (quiet, loud))
    return {
        "askers": askers,
        "pages_quiet": len(quiet),
        "pages_with_bombs": len(loud),
        "p50_quiet_s": round(statistics.median(quiet), 4),
        "p50_with_bombs_s": round(statistics.median(loud), 4),
        "p95_quiet_s": round(before, 4),
        "p95_with_bombs_s": round(during, 4),
        "ratio_p95": round(during / before, 2),
        "promise": PROMISE,
        "bombs": dict(told),
        "longest_wait_of_an_asker_s": round(max(waited), 1),
        "ordinary_question_after": status,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--askers", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep the figures in benchmarks/results")
    options = parser.parse_args()
    with served() as running:
        made: dict[str, Any] = measure(running, options.askers, options.seconds)
    kept = made["ratio_p95"] <= PROMISE and set(made["bombs"]) <= {422, 429} and made["ordinary_question_after"] == 200
    if not options.json:
        for name, value in made.items():
            print(f"{name:28} {value}")
    if options.keep:
        machine.keep("ask_bombs", made | {"kept": kept})
    print(json.dumps(made | {"kept": kept}))
    raise SystemExit(0 if kept else 1)


if __name__ == "__main__":
    main()
