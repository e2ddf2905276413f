"""Measure the timeline of a room with ten million system calls in Chromium: first paint, zoom, pan, selection, memory.

`python -m benchmarks.timeline [rows]` starts Exhibit in a folder of its own, uploads a generated truss of that many
calls, waits until it is read and judged, then opens the room five times. Each time it zooms from the whole trace down
to a tenth of a millisecond and pans on the way; a step ends when the refined picture is painted. The server's CPU
seconds and the machine's load are recorded too, because other work on the machine affects the load but not the CPU
seconds. Writes results/timeline.json.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks import inside
from benchmarks.first_paint import MEMORY_TOLD, STATE, UPLOAD, made_truss
from benchmarks.machine import keep
from tests.chromium import launch
from tests.served import Served, served

SHOWS = 5
JUDGED_S = 3600
TICK = os.sysconf("SC_CLK_TCK")


def cpu_of_tree(root: int) -> float:
    """Return the CPU seconds of a process and all its descendants that still run."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = (int(fields[11]) + int(fields[12])) / TICK
    total = 0.0
    for pid, seconds in used.items():
        at: int | None = pid
        while at is not None and at != root:
            at = parents.get(at)
        total += seconds if at == root else 0.0
    return total


def megabytes_of_tab(browser: Browser) -> float:
    """Return the proportional memory of the largest renderer: the cost of the tab, including its share of shared pages."""
    session = browser.new_browser_cdp_session()
    renderers = [p["id"] for p in session.send("SystemInfo.getProcessInfo")["processInfo"] if p["type"] == "renderer"]
    session.detach()
    sizes = [0.0]
    for pid in renderers:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        sizes.append(next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024)
    return max(sizes)


class Watch:
    """Times steps: wall seconds, and CPU seconds of the server meanwhile."""

    def __init__(self, page: Page, server: int) -> None:
        self.page = page
        self.server = server
        self.steps: dict[str, list[tuple[float, float]]] = {}

    def painted(self) -> None:
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def step(self, name: str, key: str) -> None:
        frame = self.page.locator(".tl-frame").first
        before = frame.get_attribute("data-fetched") or "0"
        cpu, began = cpu_of_tree(self.server), time.perf_counter()
        self.page.keyboard.press(key)
        while (frame.get_attribute("data-fetched") or "0") == before:
            if time.perf_counter() - began > 60:
                raise RuntimeError(f"{name} was never refined")
            self.page.wait_for_timeout(4)
        self.painted()
        self.steps.setdefault(name, []).append((time.perf_counter() - began, cpu_of_tree(self.server) - cpu))

    def select(self) -> None:
        panel = self.page.locator(".tl-panel").first
        before = panel.get_attribute("data-shown") or "0"
        cpu, began = cpu_of_tree(self.server), time.perf_counter()
        self.page.keyboard.press("s")
        while (panel.get_attribute("data-shown") or "0") == before:
            if time.perf_counter() - began > 60:
                raise RuntimeError("a range was never answered")
            self.page.wait_for_timeout(4)
        self.steps.setdefault("select", []).append((time.perf_counter() - began, cpu_of_tree(self.server) - cpu))


def show(page: Page, url: str, browser: Browser, server: int) -> tuple[dict[str, float], Watch]:
    """Open the room afresh and zoom in to the shortest window."""
    page.goto("about:blank")
    watch = Watch(page, server)
    cpu, began = cpu_of_tree(server), time.perf_counter()
    page.goto(url, wait_until="commit")
    page.locator("[data-timeline][data-painted]").wait_for(timeout=120_000)
    watch.painted()
    painted, used = time.perf_counter() - began, cpu_of_tree(server) - cpu
    page.locator(".tl-frame canvas.tl-canvas").first.focus()
    deepest = 0
    while deepest < 40:
        view = page.url
        watch.step("zoom", "+")
        deepest += 1
        if page.url == view:  # the shortest window is reached
            break
        if deepest % 2:
            watch.step("pan", "ArrowRight")
        if deepest == 8:
            watch.select()
    heap = page.evaluate("() => performance.memory ? performance.memory.usedJSHeapSize : 0") / 2**20
    return {"painted_s": painted, "painted_server_cpu_s": used, "zooms": deepest, "heap_mb": heap, "tab_mb": megabytes_of_tab(browser)}, watch  # fmt: skip


def measure(running: Served, rows: int) -> dict[str, Any]:
    made = inside.room(running)
    trace = running.var / "big.truss"
    made_truss(trace, rows)
    began = time.perf_counter()
    inside.run(running, UPLOAD.format(slug=made["slug"], path=str(trace)))
    while True:
        now = inside.run(running, STATE.format(slug=made["slug"]))
        if now["state"] == "failed" or time.perf_counter() - began > JUDGED_S:
            raise RuntimeError(f"the trace was not read: {now}")
        if now["state"] == "read" and now["clocks"]:
            break
        time.sleep(3)
    judged = time.perf_counter() - began
    shown: list[dict[str, float]] = []
    steps: dict[str, list[tuple[float, float]]] = {}
    with sync_playwright() as playwright:
        browser = launch(playwright, MEMORY_TOLD)
        context = browser.new_context(viewport={"width": 1440, "height": 960})
        context.add_cookies([{"name": "sessionid", "value": made["session"], "url": running.url}])
        page = context.new_page()
        url = f"{running.url}/rooms/{made['slug']}/"
        for turn in range(SHOWS + 1):  # the first turn warms the caches of browser and server, as in a war room
            facts, watch = show(page, url, browser, running.process.pid)
            if turn:
                shown.append(facts)
                for name, times in watch.steps.items():
                    steps.setdefault(name, []).extend(times)
        browser.close()
    return {
        "rows": rows,
        "bytes": trace.stat().st_size,
        "uploaded_read_judged_s": round(judged, 1),
        "overviews_mb": round(overview_bytes(running.var) / 2**20, 1),
        "median_of": SHOWS,
        **{name: round(statistics.median(one[name] for one in shown), 3) for name in shown[0]},
        **{name: of_steps(times) for name, times in steps.items()},
        "all": shown,
    }


def overview_bytes(var: Path) -> int:
    """Return the bytes of the overviews that the worker made; 0 means that the lanes were drawn from the rows."""
    return sum(file.stat().st_size for file in var.glob("evidence/*/cache/overview/*/*.parquet"))


def of_steps(times: list[tuple[float, float]]) -> dict[str, float]:
    walls, cpus = sorted(wall for wall, _ in times), [cpu for _, cpu in times]
    return {
        "n": len(times),
        "median_s": round(statistics.median(walls), 3),
        "p95_s": round(walls[int(len(walls) * 0.95)], 3),
        "max_s": round(walls[-1], 3),
        "server_cpu_median_s": round(statistics.median(cpus), 3),
        "server_cpu_max_s": round(max(cpus), 3),
    }


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with served() as running:
        keep("timeline", measure(running, rows))


if __name__ == "__main__":
    main()
