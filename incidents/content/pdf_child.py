"""A page of HTML on standard input becomes a PDF on standard output: `python -m incidents.content.pdf_child`.

A process of its own with limits, since what it lays out holds other people's texts. It loads nothing: every address,
also `file:` and `data:`, is refused. Exit status: 0 done, 3 the library that lays out text is missing, 4 anything else.
"""

from __future__ import annotations

import logging
import resource
import sys
from typing import Any

MEMORY, SECONDS, LARGEST = 1536 * 2**20, 30, 64 * 2**20
NO_LIBRARY, FAILED = 3, 4


def main() -> int:
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, LARGEST),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    logging.disable()  # what it remarks about a text is no news for anybody
    try:
        from weasyprint import HTML
        from weasyprint.urls import FatalURLFetchingError, URLFetcher
    except OSError as error:
        print(error, file=sys.stderr)
        return NO_LIBRARY

    class Nothing(URLFetcher):  # type: ignore[misc]  # the library has no types
        def fetch(self, url: str, headers: Any = None) -> Any:
            raise FatalURLFetchingError("this page loads nothing")

    try:
        page = sys.stdin.buffer.read(LARGEST).decode()
        sys.stdout.buffer.write(HTML(string=page, url_fetcher=Nothing()).write_pdf(pdf_tags=True))
    except (Exception, MemoryError) as error:  # the parent has no use for a traceback; it says what failed
        print(type(error).__name__, error, file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
