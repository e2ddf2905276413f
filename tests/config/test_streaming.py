from __future__ import annotations

import asyncio
import io

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.test import AsyncRequestFactory, RequestFactory

from config.streaming import PIECE, in_pieces

pytestmark = pytest.mark.django_db  # a closed answer looks at the connections of its thread


class Watched(io.BytesIO):
    """A file that knows how far it was read."""

    name = "a.txt"

    def read(self, size=-1):
        assert 0 <= size <= PIECE, "read as a whole"
        return super().read(size)


def through(response):
    """Give a response to the middleware as the web server's request brings it about."""
    return in_pieces(lambda request: response)(AsyncRequestFactory().get("/"))


def test_a_file_is_read_while_it_is_sent_and_closed_at_the_end():
    content = bytes(range(256)) * (3 * PIECE // 256) + b"end"
    file = Watched(content)
    response = through(FileResponse(file, as_attachment=True, filename="a.txt"))
    assert response.is_async
    assert response["Content-Length"] == str(len(content))

    async def send():
        sent, read = [], []
        async for piece in response:
            sent.append(piece)
            read.append(file.tell())
        return sent, read

    sent, read = asyncio.run(send())
    assert b"".join(sent) == content
    assert read[0] == PIECE, "nothing was read ahead"
    response.close()
    assert file.closed


def test_other_streams_come_whole_and_plain_answers_stay_as_they_are():
    async def send(response):
        return [piece async for piece in response]

    assert asyncio.run(send(through(StreamingHttpResponse(iter([b"a", b"b"]))))) == [b"a", b"b"]
    plain = HttpResponse("x")
    assert through(plain) is plain


def test_a_stream_that_is_asynchronous_already_is_left_alone():
    async def events():
        yield b"data: 1\n\n"

    async def send(response):
        return [piece async for piece in response]

    assert asyncio.run(send(through(StreamingHttpResponse(events())))) == [b"data: 1\n\n"]


def test_without_asgi_everything_stays_as_it_is():
    response = FileResponse(Watched(b"x"), filename="a.txt")
    assert in_pieces(lambda request: response)(RequestFactory().get("/")) is response
    assert not response.is_async
    response.close()
