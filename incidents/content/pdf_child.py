"""Turn an HTML page on standard input into a PDF on standard output: `python -m incidents.content.pdf_child`.

It is a process with resource limits of its own, since the page holds texts of strangers. It loads nothing: every
address is refused, `file:` and `data:` too. Exit status: 0 done, 3 the library that lays out text is missing, 4 any
other failure.
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
    logging.disable()  # nobody reads the library's warnings about a text
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
    except (Exception, MemoryError) as error:  # the parent needs no traceback, only what failed
        print(type(error).__name__, error, file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
