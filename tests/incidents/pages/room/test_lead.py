"""A lead: header, board, summary and copies name the same mechanism, the same seven observations and three asks."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.urls import reverse

from incidents.access import Room
from tests.incidents.conftest import make_artifact, make_room
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of

SENTENCE = "A lead, not proven: every look-up waits 5.005 s. What fits: a name server does not answer."
ASKS = ["dig @10.20.0.53 db1 +time=1", "tcpdump -n port 53", "iostat -xt 5 12"]


def observation(rank: int, **more: Any) -> reports.Json:
    cited = [reports.cite(1, reports.TRUSS, rank, rank, "wait"), reports.cite(1, reports.TRUSS, 11, 12, "another")]
    return {
        "rank": rank, "observer": "long-waits", "kind": "wait", "headline": f"Wait number {rank} takes {rank}.5 s", "means": "a wait",
        "subject": f"poll {rank}", "host": "db1", "quantity": {"name": "duration_s", "value": rank + 0.5, "unit": "s"}, "against": None,
        "mechanism": "resolver-timeout" if rank == 1 else None, "idle": False, "idle_reason": None, "citations": cited, **more,
    }  # fmt: skip


def report() -> reports.Json:
    made = reports.report()
    made["findings"], made["cleared"], made["whose_seconds"] = [], [], None
    made["verdict"] = {
        "state": "lead", "rules": [], "layer": "name_service", "hypothesis": "H-NSS", "support": "fair", "sentence": SENTENCE,
        "missing": [], "mechanism": "resolver-timeout", "rival": "a filter drops packets",
    }  # fmt: skip
    idle = observation(10, idle=True, idle_reason="a worker waits for work", headline="14 of 16 threads were idle")
    made["observations"] = [*(observation(n) for n in range(1, 10)), idle]
    made["asks"] = [
        {"ask": ask, "who": "network engineer", "host": "db1", "os": "linux", "decides": ["resolver-timeout"], "cost": "60 s", "why": "a reason"}
        for ask in ASKS
    ]  # fmt: skip
    return made


@pytest.fixture
def room(db: None) -> Room:
    made = make_room(title="Starts take fifteen seconds")
    make_artifact(made, "".join(f"{line}\n" for line in reports.TRUSS).encode(), "truss-listener.txt")
    add_report(made, report())
    return made


def text(room: Room, name: str, *more: Any) -> str:
    answer = client_of(room).get(reverse(name, args=[room.incident.slug, *more]))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", answer.content.decode())))


def test_every_place_says_the_same(room: Room) -> None:
    for said in (text(room, "room"), text(room, "board"), text(room, "summary"), text(room, "verdict-copy", "text")):
        assert SENTENCE in said
    assert "Points to: name service" in text(room, "board")
    assert "leads:" not in text(room, "board")
    assert "Being looked at" in text(room, "summary")
    assert "The same could be: a filter drops packets." in text(room, "summary")


def test_seven_observations_stand_first_and_the_idle_nowhere(room: Room) -> None:
    said = text(room, "room")
    first, folded = said.split("2 more", 1)
    shown = re.findall(r"Wait number (\d) takes", first)
    assert shown == list("1234567")
    assert re.findall(r"Wait number (\d) takes", folded)[:2] == ["8", "9"]
    assert "14 of 16 threads were idle" not in said
    assert re.findall(r"Wait number (\d) takes", text(room, "verdict-copy", "text")) == list("1234567")
    assert re.findall(r"\d\. Wait number (\d) takes", text(room, "verdict-copy", "markdown")) == list("1234567")


def test_three_asks_stand_first_and_each_can_be_requested(room: Room) -> None:
    page = client_of(room).get(reverse("room", args=[room.incident.slug])).content.decode()
    places = [page.index(html.escape(ask, quote=False)) for ask in ASKS]
    assert places == sorted(places)
    link = re.search(r'href="([^"]*requests/new[^"]*ask=[0-9a-f]{16})"', page)
    assert link is not None
    form = client_of(room).get(html.unescape(link[1])).content.decode()
    assert "Would settle on db1: a reason" in form


def test_an_observation_opens_its_lines(room: Room) -> None:
    page = client_of(room).get(reverse("room", args=[room.incident.slug])).content.decode()
    assert f"/rooms/{room.incident.slug}/evidence/1/?at=3#L3" in page
