"""Measure how soon after the end of a large upload its first rows are visible in the room.

`python -m benchmarks.first_rows [megabytes]` starts Exhibit in a folder of its own, sends a generated truss with `curl
-T`, and polls the room's lines (`.../evidence/<n>/lines`) and its evidence page until the first returns a line and the
second shows rows. Seconds count from the moment when `curl` has its answer: the bytes are safe on disk. It runs three
times, each in a room of its own; the first reading is the first job of its worker. Writes results/first_rows.json.
"""

from __future__ import annotations

import statistics
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks import inside
from benchmarks.first_paint import made_truss
from benchmarks.machine import keep
from benchmarks.uploads import TOKEN, put
from tests.served import Served, served

TIMES = 3
LONGEST_S = 120.0
STOP = """
import json
from django.contrib.auth.models import User
from incidents import access
from incidents.actions import artifacts
room = access.enter(User.objects.get(username="bench"), {slug!r})
artifact = artifacts.stop(room, {number})
job = artifact.jobs.order_by("pk").last()
print("RESULT" + json.dumps([artifact.cause, (job.started_at - job.created_at).total_seconds()]))
"""


def ask(running: Served, session: str, path: str) -> str:
    """Return the room's answer to a member's request; "" if it is refused because there are no lines yet."""
    request = urllib.request.Request(f"{running.url}{path}", headers={"Cookie": f"sessionid={session}"})
    try:
        with urllib.request.urlopen(request, timeout=LONGEST_S) as answer:
            text: str = answer.read().decode()
            return text
    except urllib.error.HTTPError as refused:
        if refused.code not in (404, 409):
            raise
        return ""


def until(seen: Any, began: float) -> float:
    """Poll until `seen` is true; return the seconds since `began`."""
    while not seen():
        if time.perf_counter() - began > LONGEST_S:
            raise RuntimeError("nothing was seen")
        time.sleep(0.02)
    return time.perf_counter() - began


def one(running: Served, number: int, big: Path) -> dict[str, Any]:
    """Send the file into a room of its own, so that all lines and rows there are of this file."""
    made = inside.room(running)
    token = inside.run(running, TOKEN.format(slug=made["slug"]))
    with big.open("a", encoding="ascii") as out:
        out.write(f"{20_000 + number}/1:\t99999.0000\t 0.0001\t 0.0001\tgetpid()\t= {number}\n")
    took = put(running, made["slug"], token, big)
    began = time.perf_counter()
    room = f"/rooms/{made['slug']}/evidence/"
    rows = until(lambda: "First rows of syscalls" in ask(running, made["session"], room), began)
    lines = until(lambda: '"n": 1,' in ask(running, made["session"], f"{room}1/lines?from=1&to=5"), began)
    # The next run must not wait until all of this file is read.
    cause, waited = inside.run(running, STOP.format(slug=made["slug"], number=1))
    time.sleep(5)
    return {
        "upload_s": round(took, 1),
        "job_waited_s": round(waited, 3),
        "first_rows_s": round(rows, 2),
        "first_lines_s": round(lines, 2),
        "then": cause,
    }


def measure(running: Served, big: Path) -> dict[str, Any]:
    shown = [one(running, number, big) for number in range(1, TIMES + 1)]
    return {
        "megabytes": round(big.stat().st_size / 2**20),
        "first_rows_s": statistics.median(s["first_rows_s"] for s in shown),
        "median_of": TIMES,
        "all": shown,
    }


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with served() as running:
        big = running.var / "big.truss"
        made_truss(big, megabytes * 2**20 // 63)
        keep("first_rows", measure(running, big))


if __name__ == "__main__":
    main()
