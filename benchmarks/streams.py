"""Measure how fast and how completely 200 open streams receive the events of a room; half of them are cut once and
resume.

`python -m benchmarks.streams [clients] [events]` starts Exhibit in a folder of its own and writes results/streams.json.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import inside
from benchmarks.machine import keep
from tests.served import Served, served

PUBLISH = """
import json, time
from django.contrib.auth.models import User
from incidents import access
from incidents.actions import notes
from incidents.models.room.event import Event
room = access.enter(User.objects.get(username="bench"), {slug!r})
at = {{}}
for number in range({events}):
    before = Event.objects.filter(incident=room.incident).count()
    notes.add(room, f"note {{number}}")
    told = time.time()
    for seq in Event.objects.filter(incident=room.incident).order_by("seq").values_list("seq", flat=True)[before:]:
        at[seq] = told
    time.sleep(0.1)
print("RESULT" + json.dumps(at))
"""


async def listen(address: tuple[str, int], slug: str, session: str, heard: dict[int, float], cut_after: float | None, stop: asyncio.Event) -> int:  # fmt: skip
    """Keep one stream open and record when each sequence number arrived.

    The stream is cut once after some seconds, then resumes. Returns the number of duplicates.
    """
    cursor, twice = "", 0
    began = time.time()
    while not stop.is_set():
        reader, writer = await asyncio.open_connection(*address)
        after = f"?after={cursor}" if cursor else ""
        writer.write(
            f"GET /rooms/{slug}/stream{after} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
            f"Cookie: sessionid={session}\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        try:
            while not stop.is_set():
                try:
                    line = await asyncio.wait_for(reader.readline(), 0.5)
                except TimeoutError:
                    line = b""
                    if reader.at_eof():
                        break
                else:
                    if not line:
                        break
                if found := re.match(rb"id: (\d+)", line):
                    seq = int(found[1])
                    cursor = str(seq)
                    twice += seq in heard
                    heard.setdefault(seq, time.time())
                if cut_after is not None and time.time() - began > cut_after:
                    cut_after = None
                    break
        finally:
            writer.close()
        await asyncio.sleep(0.2)
    return twice


def memory_mb(served_: Served) -> dict[str, float]:
    """Return resident memory of the web process, in MB."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
            environ = (folder / "environ").read_bytes()
        except OSError:
            continue
        if b"config.asgi:application" in line and str(served_.var).encode() in environ:
            kb = int(re.search(r"VmRSS:\s+(\d+)", (folder / "status").read_text())[1])
            return {"web": round(kb / 1024, 1)}
    return {}


async def measure(running: Served, clients: int, events: int) -> dict[str, Any]:
    made = await asyncio.to_thread(inside.room, running)
    parts = urlsplit(running.url)
    address = (parts.hostname or "127.0.0.1", parts.port or 80)
    idle = memory_mb(running)
    heard: list[dict[int, float]] = [{} for _ in range(clients)]
    stop = asyncio.Event()
    half = clients // 2
    tasks = [
        asyncio.create_task(listen(address, made["slug"], made["session"], heard[n], 5.0 + n % 7 / 5 if n < half else None, stop))
        for n in range(clients)
    ]  # fmt: skip
    while sum(bool(one) for one in heard) < clients:
        await asyncio.sleep(0.1)
    at = await asyncio.to_thread(inside.run, running, PUBLISH.format(slug=made["slug"], events=events))
    await asyncio.sleep(3)
    full = memory_mb(running)
    stop.set()
    # The cursor with which a stream begins may repeat the newest number after a resume; that is not a second delivery.
    await asyncio.gather(*tasks)
    told = {int(seq): when for seq, when in at.items()}
    late = [one[seq] - told[seq] for one in heard for seq in told if seq in one]
    missing = sum(seq not in one for one in heard for seq in told)
    kept = [one[seq] - told[seq] for one in heard[half:] for seq in told if seq in one]
    return {
        "clients": clients,
        "cut_once": half,
        "events": len(told),
        "deliveries": len(late),
        "lost": missing,
        "uncut_ms": {
            "p50": round(statistics.median(kept) * 1000, 1),
            "p99": round(statistics.quantiles(kept, n=100)[98] * 1000, 1),
            "max": round(max(kept) * 1000, 1),
        },
        "rss_mb_idle": idle,
        "rss_mb_full": full,
    }


def main() -> None:
    clients = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    events = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    with served() as running:
        keep("streams", asyncio.run(measure(running, clients, events)))


if __name__ == "__main__":
    main()
