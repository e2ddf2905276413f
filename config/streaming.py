"""Middleware that streams files piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

PIECE = 2**18


async def _pieces(iterator: Iterator[bytes]) -> AsyncIterator[bytes]:
    while piece := await sync_to_async(lambda: next(iterator, b""), thread_sensitive=False)():
        yield piece


def in_pieces(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Return a middleware that reads a file while it is sent.

    Under ASGI Django would read the whole file first, with a warning, and an original may have gigabytes.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if isinstance(request, ASGIRequest) and isinstance(response, StreamingHttpResponse) and not response.is_async:
            file = getattr(response, "file_to_stream", None)
            # FileResponse itself would read 4 KB at a time, each in another thread.
            source = iter(lambda: file.read(PIECE), b"") if file else iter(response)
            response.streaming_content = _pieces(source)
        return response

    return middleware
