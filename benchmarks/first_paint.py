"""Measure how long a room with a million system calls takes in Chromium to paint its lanes and to answer a zoom.

`python -m benchmarks.first_paint [rows]` starts Exhibit in a folder of its own, uploads a generated truss of that many
calls, waits until it is read and judged, then opens the room five times. It also measures the seconds from `up` to the
first page (`up_s`). Writes results/first_paint.json.
"""

from __future__ import annotations

import statistics
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks import inside
from benchmarks.machine import keep
from tests.chromium import launch
from tests.served import Served, served

MEMORY_TOLD = "--enable-precise-memory-info"
UPLOAD = """
import json
from django.contrib.auth.models import User
from incidents import access
from incidents.actions import artifacts
room = access.enter(User.objects.get(username="bench"), {slug!r})
with open({path!r}, "rb") as file:
    artifacts.receive_stream(room, "big.truss", iter(lambda: file.read(1 << 20), b""))
print("RESULT1")
"""
STATE = """
import json
from incidents.models.room.incident import Incident
room = Incident.objects.get(slug={slug!r})
last = room.evaluations.order_by("-number").first()
print("RESULT" + json.dumps({{"state": room.artifacts.get().state, "cause": room.artifacts.get().cause, "clocks": len(last.report["clocks"]) if last else 0}}))
"""
SHOWS = 5


def made_truss(path: Path, rows: int, processes: int = 8) -> None:
    """Write a trace of `rows` calls by some processes: mostly short ones, sometimes a slow one."""
    names = ("read(5, 0x10034, 8192)", "write(6, 0x10034, 512)", "lseek(7, 0, SEEK_CUR)", "pollsys(0x1004, 3, 0, 0)")
    clocks = [0.0] * processes
    with path.open("w", encoding="ascii") as out:
        for number in range(rows):
            who = number % processes
            step = 1.25 if number % 50_021 == 0 else 0.0009 + (number % 13) / 10_000
            clocks[who] += step
            cpu = min(step, 0.0004)
            out.write(
                f"{20_000 + who}/1:\t{clocks[who]:8.4f}\t{step:7.4f}\t{cpu:7.4f}\t{names[number % 4]}\t= {number % 512}\n"
            )


def open_room(page: Page, url: str) -> dict[str, float]:
    """Open the room afresh; return seconds to painted lanes, seconds to a refined zoom, megabytes of script memory."""
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.locator("[data-timeline][data-painted]").wait_for(timeout=120_000)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    painted = time.perf_counter() - began
    frame = page.locator(".tl-frame").first
    canvas = frame.locator("canvas.tl-canvas")
    canvas.focus()
    zooms = []
    for _ in range(3):
        before = frame.get_attribute("data-fetched") or "0"
        at = time.perf_counter()
        page.keyboard.press("+")
        while (frame.get_attribute("data-fetched") or "0") == before:
            if time.perf_counter() - at > 60:
                raise RuntimeError("a zoom was never refined")
            page.wait_for_timeout(5)
        zooms.append(time.perf_counter() - at)
    heap = page.evaluate("() => performance.memory ? performance.memory.usedJSHeapSize : 0") / 2**20
    return {"painted_s": painted, "zoom_s": statistics.median(zooms), "heap_mb": heap}


def measure(running: Served, rows: int) -> dict[str, Any]:
    made = inside.room(running)
    trace = running.var / "big.truss"
    made_truss(trace, rows)
    began = time.perf_counter()
    inside.run(running, UPLOAD.format(slug=made["slug"], path=str(trace)))
    while True:
        now = inside.run(running, STATE.format(slug=made["slug"]))
        if now["state"] == "failed" or time.perf_counter() - began > 900:
            raise RuntimeError(f"the trace was not read: {now}")
        if now["state"] == "read" and now["clocks"]:
            break
        time.sleep(1)
    judged = time.perf_counter() - began
    with sync_playwright() as playwright:
        browser = launch(playwright, MEMORY_TOLD)
        context = browser.new_context(viewport={"width": 1440, "height": 960})
        context.add_cookies([{"name": "sessionid", "value": made["session"], "url": running.url}])
        page = context.new_page()
        url = f"{running.url}/rooms/{made['slug']}/"
        open_room(page, url)  # the caches of browser and server are warm, as in a war room
        shown = [open_room(page, url) for _ in range(SHOWS)]
        browser.close()
    middle = {name: round(statistics.median(one[name] for one in shown), 3) for name in shown[0]}
    return {
        "rows": rows,
        "bytes": trace.stat().st_size,
        "uploaded_read_judged_s": round(judged, 1),
        "median_of": SHOWS,
        **middle,
        "all": shown,
    }


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    began = time.perf_counter()
    with served() as running:
        with urllib.request.urlopen(running.first_link) as page:
            page.read()
        up = round(time.perf_counter() - began, 1)
        keep("first_paint", {"up_s": up} | measure(running, rows))


if __name__ == "__main__":
    main()
