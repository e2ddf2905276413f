"""What the web process counts of its answers: the route by its name, the status, and the seconds until they began."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import AsyncRequestFactory
from django.urls import resolve

from config import asgi, meters
from incidents.storage import meters as counts
from tests.house.test_settings import run


@pytest.fixture
def counted(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """What is counted, without the seconds."""
    settings.EXHIBIT_METRICS_TOKEN = "a-token-for-this-test-only"
    found: list[tuple[str, str, str]] = []

    def note(route: str, method: str, status: str, seconds: float) -> None:
        assert 0 <= seconds < 60
        found.append((route, method, status))

    monkeypatch.setattr(counts, "answered", note)
    return found


def ask(answer: Any, path: str = "/rooms/x/", method: str = "GET") -> list[Any]:
    """Let `answer` answer one request; return what was sent."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "method": method, "headers": [], "query_string": b""}
    asyncio.run(meters.measured(scope, receive, send, answer))
    return sent


def answering(status: int, route: str | None = None) -> Any:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if route:
            scope[meters.ROUTE] = route
        await send({"type": "http.response.start", "status": status})
        for _ in range(2):
            await send({"type": "http.response.body", "body": b"x"})

    return answer


def test_an_answer_is_counted_once_by_route_and_status(counted: list[Any]) -> None:
    assert len(ask(answering(200, "room"))) == 3, "all of it is handed on"
    ask(answering(404, "room"), method="POST")
    assert counted == [("room", "GET", "200"), ("room", "POST", "404")]


def test_what_no_view_answered_has_no_name_of_its_own(counted: list[Any]) -> None:
    ask(answering(404), "/wp-login.php")
    ask(answering(200), "/static/js/page.js")
    assert [route for route, *_ in counted] == ["other", "static"]


def test_an_answer_that_never_begins_counts(counted: list[Any]) -> None:
    async def leaves(scope: Any, receive: Any, send: Any) -> None:
        return

    async def breaks(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("ours")

    ask(leaves)
    with pytest.raises(RuntimeError):
        ask(breaks)
    assert [status for *_, status in counted] == ["gone", "500"]


def test_an_answer_that_breaks_off_keeps_the_status_that_was_sent(counted: list[Any]) -> None:
    async def breaks(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})
        raise RuntimeError("ours")

    with pytest.raises(RuntimeError):
        ask(breaks)
    assert [status for *_, status in counted] == ["200"]


def test_nothing_is_counted_where_nobody_reads_it(counted: list[Any], settings: Any) -> None:
    settings.EXHIBIT_METRICS_TOKEN = ""
    ask(answering(200))
    assert counted == []


@pytest.mark.parametrize("path", ["/rooms/a-room-abcdefgh/status/", "/give/secret-token/"])
def test_a_route_is_named_and_not_its_address(path: str) -> None:
    request = AsyncRequestFactory().get(path)

    def view(request: HttpRequest) -> HttpResponse:
        request.resolver_match = resolve(request.path)
        return HttpResponse()

    meters.routed(view)(request)
    assert request.scope[meters.ROUTE] == resolve(path).view_name
    assert request.scope[meters.ROUTE] in {"status", "give"}


def test_a_strange_method_makes_no_series_of_its_own() -> None:
    counts.answered("other", "BREW", "405", 0.1)
    assert counts.ANSWERS.get_sample_value(
        "exhibit_requests_total", {"route": "other", "method": "other", "status": "405"}
    )


@pytest.mark.parametrize(
    ("path", "method", "route"),
    [("/api/rooms/x/uploads/", "POST", "uploads"), ("/give/x/a.txt", "PUT", "give")],
)
def test_the_doors_for_uploads_say_themselves_which_they_are(
    counted: list[Any], monkeypatch: pytest.MonkeyPatch, path: str, method: str, route: str
) -> None:
    from incidents.doors import upload_links, uploads

    for door in (uploads, upload_links):
        monkeypatch.setattr(door, "application", answering(201))
    ask(asgi._answer, path, method)
    assert counted == [(route, method, "201")]


def test_a_token_that_can_be_guessed_stops_the_start() -> None:
    for token in ("short", "x" * 23, "with a blank in it, but long"):
        refused = run(["-c", "import config.settings"], EXHIBIT_METRICS_TOKEN=token)
        assert "at least 24" in refused.stderr, token
