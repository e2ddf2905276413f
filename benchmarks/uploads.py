"""Measure the memory that a large upload adds to the web process, and how long a small paste waits while the file is
read.

`python -m benchmarks.uploads [megabytes]` starts Exhibit in a folder of its own, sends a generated truss with `curl
-T`, watches the memory of the web process, then pastes 3 KB while the large file is being read. Writes
results/uploads.json.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks import inside
from benchmarks.first_paint import made_truss
from benchmarks.machine import keep
from benchmarks.streams import memory_mb
from tests.served import ROOT, Served, served

TOKEN = """
import json
from django.contrib.auth.models import User
from incidents import access
from incidents.actions import tokens
room = access.enter(User.objects.get(username="bench"), {slug!r})
print("RESULT" + json.dumps(tokens.create(room, "bench")))
"""
STATE = """
import json
from incidents.models.room.incident import Incident
room = Incident.objects.get(slug={slug!r})
last = room.evaluations.order_by("-number").first()
print("RESULT" + json.dumps({{
    "states": {{a.name: [a.state, a.lines_read] for a in room.artifacts.all()}},
    "judged": [a["file"] for a in last.report["artifacts"]] if last else [],
}}))
"""
SMALL = ROOT / "incidents" / "sample" / "truss-listener.txt"


def put(running: Served, slug: str, token: str, path: Path) -> float:
    """Send a file with curl; return the seconds it took."""
    began = time.perf_counter()
    url = f"{running.url}/api/rooms/{slug}/uploads/{path.name}"
    done = subprocess.run(
        ["curl", "-sS", "--fail-with-body", "-T", str(path), "-H", f"Authorization: Bearer {token}", url],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"curl: {done.stdout} {done.stderr}")
    return time.perf_counter() - began


def measure(running: Served, megabytes: int) -> dict[str, Any]:
    made = inside.room(running)
    token = inside.run(running, TOKEN.format(slug=made["slug"]))
    big = running.var / "big.truss"
    made_truss(big, megabytes * 2**20 // 63)
    put(running, made["slug"], token, ROOT / "incidents" / "sample" / "pmap-smon.txt")  # warms up the upload path
    before = memory_mb(running)["web"]
    peak = [before]
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.05):
            peak.append(memory_mb(running).get("web", 0.0))

    watcher = threading.Thread(target=watch)
    watcher.start()
    took = put(running, made["slug"], token, big)
    stop.set()
    watcher.join()
    # Now the large file is being read; a paste at this time must not wait for it.
    began = time.perf_counter()
    put(running, made["slug"], token, SMALL)
    judged = None
    while time.perf_counter() - began < 120:
        now = inside.run(running, STATE.format(slug=made["slug"]))
        if any(SMALL.stem in name for name in now["judged"]):
            judged = time.perf_counter() - began
            break
    state = now["states"][big.name][0]
    while now["states"][big.name][0] not in ("read", "failed"):
        time.sleep(2)
        now = inside.run(running, STATE.format(slug=made["slug"]))
    return {
        "megabytes": round(big.stat().st_size / 2**20),
        "upload_s": round(took, 1),
        "upload_mb_per_s": round(big.stat().st_size / 2**20 / took, 1),
        "web_rss_mb_before": before,
        "web_rss_mb_added": round(max(peak) - before, 1),
        "small_judged_after_s": judged and round(judged, 1),
        "large_state_then": state,
        "large_state_at_last": now["states"][big.name],
    }


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with served() as running:
        keep("uploads", measure(running, megabytes))


if __name__ == "__main__":
    main()
