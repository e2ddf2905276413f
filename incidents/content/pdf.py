"""Turn an HTML page into a PDF in a child process (`pdf_child`), so that a crash does not end the web process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import structlog
from django.conf import settings

from incidents.content.pdf_child import NO_LIBRARY
from incidents.errors import Refused

log = structlog.get_logger(__name__)

WALL_S = 60
#: Maximum number of PDFs made at once in a web process; further requests wait and are refused after WAIT_S.
_turns = threading.BoundedSemaphore(2)
WAIT_S = 20

MISSING = (
    "This server cannot make a PDF: the library Pango is not installed. On Debian: apt install libpango-1.0-0 "
    "libpangoft2-1.0-0. You can still export the page as HTML or as Markdown."
)
FAILED = "This page could not be turned into a PDF. You can still export the page as HTML or as Markdown."
BUSY = "Other PDFs are being made just now. Try again in a minute."


def pdf_of(page: str) -> bytes:
    """Lay out a self-contained page; raise `Refused`, with a text for the reader, if that fails."""
    if not _turns.acquire(timeout=WAIT_S):
        raise Refused(BUSY, 503)
    try:
        child = subprocess.run(
            [sys.executable, "-m", "incidents.content.pdf_child"],
            input=page.encode(),
            capture_output=True,
            cwd=settings.BASE_DIR,
            env={name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "HOME") if name in os.environ},
            timeout=WALL_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        log.error("pdf.too_slow", bytes=len(page))
        raise Refused(FAILED, 503) from None
    finally:
        _turns.release()
    if child.returncode == NO_LIBRARY:
        raise Refused(MISSING, 503)
    if child.returncode or not child.stdout.startswith(b"%PDF"):
        log.error("pdf.failed", status=child.returncode, stderr=child.stderr[-2000:].decode(errors="replace"))
        raise Refused(FAILED, 503)
    return child.stdout
