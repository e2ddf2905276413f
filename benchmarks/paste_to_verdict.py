"""Measure how long people wait on an open page: from the last byte of a small artifact to the room's verdict, and from the
click on a sample room to its first verdict.

`python -m benchmarks.paste_to_verdict [--times N] [--before FOLDER]` starts Exhibit in a folder of its own and opens the
room in Chromium. N times (default and at most 5) it sends 20 KB of a trace with curl into a new room, then a second artifact
of 20 KB into the same room, and opens a sample room that was not opened before. Seconds count from curl's answer, or from the
click, until the page shows a verdict; that of the sample room may be the verdict of its first files. With `--before` another
source tree is measured first. Writes results/paste_to_verdict.json.

Goal: 1.5 s (95th percentile 2.5 s) for an artifact.
"""

from __future__ import annotations

import argparse
import itertools
import re
import statistics
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks import inside, shapes
from benchmarks.machine import keep
from benchmarks.uploads import TOKEN, put
from tests.chromium import launch
from tests.served import ROOT, Served, served

SIZE = 20_000
SAMPLES = ("001", "000", "002", "003", "004")
"""Numbers of the sample rooms; each is opened once, because the second request finds the room already made."""

WAIT_MS = 120_000
#: Whether the page shows a verdict of a judging with this number or a later one, and no file on its way.
SETTLED = """(number) => {
  const verdict = document.querySelector("#verdict");
  return verdict && Number(verdict.dataset.evaluation) >= number && !verdict.classList.contains("v-judging");
}"""
#: When the room's evidence was received, read and judged, in seconds since the first of these.
STEPS = """
import json
from incidents.models.room.incident import Incident
room = Incident.objects.get(slug={slug!r})
jobs = [(j.kind, j.created_at.timestamp(), j.started_at.timestamp(), j.finished_at.timestamp())
        for j in room.jobs.order_by("pk") if j.finished_at and j.started_at]
zero = min([j[1] for j in jobs])
print("RESULT" + json.dumps([[j[0], *(round(t - zero, 2) for t in j[1:])] for j in jobs]))
"""


def written(path: Path, lines: Iterable[str]) -> Path:
    """Write the first 20 KB of a shape and return the file."""
    text = itertools.chain.from_iterable(part.splitlines(keepends=True) for part in lines)
    with path.open("w", encoding="ascii") as out:
        while out.tell() < SIZE:
            out.write(next(text))
    return path


def sent(running: Served, page: Page, room: dict[str, str], token: str, file: Path, judging: int) -> float:
    """Send a file and return the seconds until the open page shows the verdict of this judging."""
    put(running, room["slug"], token, file)
    began = time.perf_counter()
    page.wait_for_function(SETTLED, arg=judging, timeout=WAIT_MS, polling=10)
    return time.perf_counter() - began


def sample(running: Served, page: Page, number: str) -> float:
    """Open a sample room from the list of rooms; return the seconds until a first verdict is shown."""
    page.goto(running.url)
    form = page.locator(f'form[action$="/sample/"]:has(input[name="number"][value="{number}"])').first
    began = time.perf_counter()
    form.evaluate("form => form.requestSubmit()")
    page.wait_for_url(re.compile(r"/rooms/[^/]+/$"))
    page.wait_for_function(SETTLED, arg=1, timeout=WAIT_MS, polling=10)
    return time.perf_counter() - began


def measure(running: Served, folder: Path, times: int) -> dict[str, Any]:
    trace = written(folder / "login.strace", shapes.strace())
    samples = written(folder / "vmstat.txt", shapes.vmstat())
    first, further, sampled, steps = [], [], [], []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        for number in range(times):
            room = inside.room(running)
            token = inside.run(running, TOKEN.format(slug=room["slug"]))
            context.add_cookies([{"name": "sessionid", "value": room["session"], "url": running.url}])
            page = context.new_page()
            page.goto(f"{running.url}/rooms/{room['slug']}/")
            page.wait_for_timeout(1500)  # the page is live by then, as that of a person who pastes is
            first.append(sent(running, page, room, token, trace, 1))
            page.wait_for_timeout(1500)
            further.append(sent(running, page, room, token, samples, 2))
            steps.append(inside.run(running, STEPS.format(slug=room["slug"])))
            sampled.append(sample(running, page, SAMPLES[number]))
            page.close()
        browser.close()
    seconds = {"artifact_s": first, "further_artifact_s": further, "sample_room_first_verdict_s": sampled}
    return {
        "median_of": times,
        **{name: round(statistics.median(values), 2) for name, values in seconds.items()},
        "all": {name: [round(value, 2) for value in values] for name, values in seconds.items()},
        "jobs": steps,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, choices=range(1, len(SAMPLES) + 1))
    parser.add_argument("--before", type=Path, help="another source tree, measured in turn with this one")
    options = parser.parse_args()
    made = {}
    for name, tree in (("before", options.before), ("now", ROOT)):
        if tree is None:
            continue
        with served(checkout=tree) as running:
            made[name] = measure(running, running.var, options.times)
    print(made, file=sys.stderr)
    keep("paste_to_verdict", made)


if __name__ == "__main__":
    main()
