"""Debian's Chromium as tests, pictures and benchmarks start it."""

from __future__ import annotations

import shutil

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium-headless-shell", "chromium")
"""The first that is here is taken. The shell lacks the windows of a desktop, and shows a page for half the processor time."""

ARGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync", "--no-first-run")  # fmt: skip


def executable() -> str | None:
    """Return the path of the browser, None if none is installed."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def launch(playwright: Playwright, *args: str) -> Browser:
    """Start the browser; FileNotFoundError if there is none."""
    path = executable()
    if path is None:
        raise FileNotFoundError(f"No Chromium here: apt-get install {NAMES[0]}")
    return playwright.chromium.launch(executable_path=path, args=[*ARGS, *args])
