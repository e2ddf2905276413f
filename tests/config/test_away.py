"""While the database is away, pages are refused at once: what comes then, and what already waits."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from config import away
from incidents.storage import pulse


@pytest.fixture
def silence(monkeypatch):
    """Yield the word that says whether the database is away."""
    event = asyncio.Event()
    monkeypatch.setattr(pulse, "_silence", event)
    return event


def answered(path: str) -> HttpResponse:
    page = away.at_once(lambda request: HttpResponse("the page"))
    answer = page(RequestFactory().get(path))
    assert isinstance(answer, HttpResponse)
    return answer


def test_pages_are_refused_in_words_while_the_database_is_away(silence):
    assert answered("/rooms/").content == b"the page"
    silence.set()
    refused = answered("/rooms/")
    assert (refused.status_code, refused["Retry-After"], refused["Refresh"]) == (503, "5", "5")
    assert "The database does not answer just now." in refused.content.decode()
    assert json.loads(answered("/api/rooms/").content)["error"].startswith("The database does not answer just now.")
    assert answered("/healthz").content == b"the page", "it says so itself"


def test_health_says_so_without_asking_the_database(silence, client):
    silence.set()  # a test without the mark django_db fails if it asks
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"ok": False, "database": "away"})


class Conversation:
    """One request of a browser that stays, and the application behind it, which hangs as long as `released` is unset."""

    def __init__(self, method: str) -> None:
        self.scope = {"type": "http", "method": method}
        self.sent: list[Any] = []
        self.incoming: list[Any] = [{"type": "http.request", "body": b"", "more_body": False}]
        self.released = asyncio.Event()
        self.attempts = 0

    async def receive(self) -> Any:
        if not self.incoming:
            await asyncio.Event().wait()
        return self.incoming.pop()

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"
        self.attempts += 1
        if pulse.away():
            await send("refused")
        else:
            await self.released.wait()
            await send("late")

    async def go(self) -> None:
        await away.not_waiting(self.scope, self.receive, self.send, self.answer)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_page_that_waits_is_refused_when_the_database_falls_silent(silence, method):
    async def follow() -> Conversation:
        talk = Conversation(method)
        asking = asyncio.create_task(talk.go())
        await asyncio.sleep(0.01)
        assert talk.sent == []
        silence.set()
        await asking
        talk.released.set()
        await asyncio.sleep(0.01)
        return talk

    talk = asyncio.run(follow())
    assert (talk.sent, talk.attempts) == (["refused"], 2), "the answer of the first is thrown away"
    assert away._hanging == set()


def test_what_changes_something_is_left_to_end(silence):
    async def follow() -> Conversation:
        talk = Conversation("POST")
        asking = asyncio.create_task(talk.go())
        await asyncio.sleep(0.01)
        silence.set()
        await asyncio.sleep(0.01)
        talk.released.set()
        await asking
        return talk

    talk = asyncio.run(follow())
    assert (talk.sent, talk.attempts) == (["late"], 1)


def test_an_answer_that_has_begun_goes_on(silence):
    async def follow() -> list[Any]:
        talk = Conversation("GET")

        async def in_two(scope: Any, receive: Any, send: Any) -> None:
            await send("first")
            silence.set()
            await asyncio.sleep(0.01)
            await send("second")

        await away.not_waiting(talk.scope, talk.receive, talk.send, in_two)
        return talk.sent

    assert asyncio.run(follow()) == ["first", "second"]


def test_an_error_of_the_page_reaches_the_server(silence):
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("a fault")

    talk = Conversation("GET")
    with pytest.raises(LookupError):
        asyncio.run(away.not_waiting(talk.scope, talk.receive, talk.send, broken))


def test_where_nobody_watches_a_page_simply_answers(monkeypatch):
    monkeypatch.setattr(pulse, "_silence", None)
    talk = Conversation("GET")
    talk.released.set()
    asyncio.run(talk.go())
    assert talk.sent == ["late"]
