"""Tests of the MCP server over stdio and HTTP: it shows what the token's owner may see, and marks its notes."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from incidents.access import Room
from incidents.actions import access_tokens
from incidents.models.people.access_token import Scope
from incidents.models.words.note import Note
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_room, run_jobs
from tests.incidents.doors.test_collector import Door, door  # noqa: F401  # a fixture
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report

pytestmark = pytest.mark.django_db(transaction=True)
FILE = Path(__file__).resolve().parents[4] / "client" / "exhibit_mcp.py"

Work = Callable[[Client], Awaitable[Any]]


def token(room: Room, *scopes: str) -> str:
    return access_tokens.create(
        room.user, "the model", scopes or (Scope.READ, Scope.ASK, Scope.WRITE), 1, room.incident.slug
    )


def by_stdio(door: Door, secret: str, work: Work) -> Any:  # noqa: F811
    env = {"EXHIBIT_URL": f"http://127.0.0.1:{door.port}", "EXHIBIT_TOKEN": secret}

    async def run() -> Any:
        server = StdioServerParameters(command=sys.executable, args=[str(FILE)], env=env)
        async with Client(server) as client:
            return await work(client)

    return asyncio.run(run())


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return answer.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return str(answer.content[0].text)


def judged() -> Room:
    room = make_room()
    make_artifact(room, CONNECT_TIMES)
    run_jobs("small")
    add_report(room)
    return room


def test_it_reads_a_room_and_proposes_a_note(door: Door):  # noqa: F811
    room, other = judged(), make_room()
    slug = room.incident.slug

    async def work(client: Client) -> dict[str, Any]:
        tools = (await client.list_tools()).tools
        return {
            "reads": {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint},
            "all": {tool.name for tool in tools},
            "rooms": await called(client, "list_rooms"),
            "verdict": await called(client, "read_verdict", room=slug),
            "findings": await called(client, "read_findings", room=slug),
            "summary": await called(client, "read_summary", room=slug),
            "lines": await called(client, "read_lines", room=slug, artifact=1, first=2, most=1),
            "answer": await called(client, "ask_in_sql", room=slug, sql="select count(*) as n from conn_times"),
            "note": await called(client, "propose_note", room=slug, text="Slow here.", artifact=1),
            "fence": await refused(client, "ask_in_sql", room=slug, sql="select * from '/etc/passwd'"),
            "other": await refused(client, "read_room", room=other.incident.slug),
            "escape": await refused(client, "read_room", room=f"../rooms/{slug}/notes"),
        }

    told = by_stdio(door, token(room), work)
    assert told["all"] - told["reads"] == {"propose_note"}
    assert [one["slug"] for one in told["rooms"]["items"]] == [slug]
    assert told["verdict"]["verdict"] == reports.report()["verdict"]
    assert told["findings"]["items"][0]["content"]["citations"]
    assert told["summary"]["content"]["title"] == room.incident.title
    assert told["summary"]["content"]["sources"]
    assert told["lines"]["lines"] == [{"line": 2, "text": "time elapsed : 0,31"}]
    assert told["answer"]["rows"] == [[20]]
    assert (Note.objects.get().program, told["note"]["program"]) == ("the model", "the model")
    assert "Not found" in told["other"]
    assert "pattern" in told["escape"]
    assert told["fence"]


def test_a_token_that_only_reads_proposes_nothing(door: Door):  # noqa: F811
    room = make_room()

    async def work(client: Client) -> str:
        return await refused(client, "propose_note", room=room.incident.slug, text="x")

    assert "lacks the scope “write”" in by_stdio(door, token(room, Scope.READ), work)
    assert not Note.objects.exists()


@contextmanager
def serving(door: Door, secret: str) -> Iterator[str]:  # noqa: F811
    """Start the server over HTTP with a token in its environment; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    env = os.environ | {"EXHIBIT_URL": f"http://127.0.0.1:{door.port}", "EXHIBIT_TOKEN": secret}
    process = subprocess.Popen(
        [sys.executable, str(FILE), "--http", "--port", str(port)], env=env, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


def test_over_http_each_caller_has_eyes_of_their_own(door: Door):  # noqa: F811
    mine, theirs = make_room(), make_room(title="Theirs")
    own = token(theirs)

    async def rooms(address: str, headers: dict[str, str]) -> Any:
        async with (
            httpx2.AsyncClient(headers=headers) as line,
            Client(streamable_http_client(address, http_client=line)) as client,
        ):
            return await client.call_tool("list_rooms", {})

    with serving(door, token(mine)) as address:
        told = asyncio.run(rooms(address, {"Authorization": f"Bearer {own}"}))
        nobody = asyncio.run(rooms(address, {}))
    assert [one["title"] for one in told.structured_content["items"]] == ["Theirs"]
    assert nobody.is_error
    assert mine.incident.title not in str(nobody)
