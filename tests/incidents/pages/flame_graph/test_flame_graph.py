"""Tests of the flame graph's page: choice of profiles, zoom, callers, a difference, invalid addresses."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents.access import Room, enter
from incidents.actions import purge
from tests.incidents.conftest import make_artifact, make_room, run_jobs
from tests.incidents.pages.conftest import client_of

pytestmark = pytest.mark.django_db

SAMPLE = "app {pid} [001] {at:.6f}:     250000 cpu-clock: \n{frames}\n"


def script(*stacks: str) -> bytes:
    """Return output of `perf script`: one sample for each `main;f;g`, ten milliseconds apart."""
    made = []
    for n, path in enumerate(stacks):
        frames = "\n".join(f"        ffff{n:04x} {name}+0x1{n % 10} (/opt/app)" for name in reversed(path.split(";")))
        made.append(SAMPLE.format(pid=77, at=100 + n / 100, frames=frames + "\n"))
    return "".join(made).encode()


def filled(*files: bytes) -> Room:
    room = make_room()
    for n, data in enumerate(files):
        make_artifact(room, data, f"perf-{n}.txt")
    run_jobs("small")
    return enter(room.user, room.incident.slug)


def page(room: Room, status: int = 200, /, **query: str) -> str:
    answer = client_of(room).get(reverse("flame-graph", args=[room.incident.slug]), query)
    assert answer.status_code == status
    return html.unescape(answer.content.decode())


def blocks(text: str) -> list[str]:
    return re.findall(r"<title>(.*?)</title><rect", text)


BEFORE = script(*["main;serve;parse"] * 6, *["main;serve;wait"] * 2, "main;tick", "main;tick")
AFTER = script(*["main;serve;parse"] * 1, *["main;serve;lock<T>"] * 9)


def test_a_room_without_stacks_says_how_to_record_some() -> None:
    text = page(make_room())
    assert "perf script > perf.txt" in text
    assert '<svg class="flames"' not in text


def test_widths_are_shares_and_a_block_leads_to_its_lines() -> None:
    room = filled(BEFORE)
    text = page(room)
    assert blocks(text)[:4] == [
        "all: 10 samples, 100 %",
        "main: 10 samples, 100 %",
        "serve: 8 samples, 80 %",
        "tick: 2 samples, 20 %, 20 % itself",
    ]
    zoomed = page(room, at="0.0.0")
    assert blocks(zoomed) == ["parse: 6 samples, 60 %, 60 % itself"]
    lines = reverse("lines", args=[room.incident.slug, 1])
    assert f'<a href="{lines}#L1-L4">lines 1-4</a> (6 samples)' in zoomed
    assert re.findall(r'<a href="[^"]*#graph">([^<]*)</a> ›', zoomed) == ["all", "main"]


def test_in_order_of_time_and_by_caller() -> None:
    room = filled(script("main;a", "main;b", "main;a"))
    in_order = page(room, view="in-order")
    assert [title.partition(":")[0] for title in blocks(in_order)] == ["all", "main", "a", "b", "a"]
    around = page(room, view="callers", function="a")
    assert blocks(around) == [
        "a: 2 samples, 66.7 %",
        "main: 2 samples, 66.7 %, 66.7 % itself",
        "a: 2 samples, 66.7 %, 66.7 % itself",
    ]
    assert "No stack of this profile holds the function “nowhere”" in page(
        room, 404, view="callers", function="nowhere"
    )


def test_one_profile_against_another() -> None:
    room = filled(BEFORE, AFTER)
    text = page(room, of="2-1", **{"with": "1-1"})
    assert "lock<T>: 9 samples, 90 %, 90 % itself, +90 points" in blocks(text)
    assert "parse: 1 sample, 10 %, 10 % itself, -50 points" in blocks(text)
    gone = re.search(r"tick\s*</td>.*?</tr>", text, re.DOTALL)
    assert gone is not None
    assert re.findall(r'num">([^<]*)<', gone[0]) == ["0 %", "0 %", "20 %", "-20"]


def test_a_thread_dump_that_no_format_knows_is_drawn_too() -> None:
    dump = b"""
"main" #1 prio=5 os_prio=0 tid=0x00007f0a nid=0x1 runnable [0x00007f0b]
   java.lang.Thread.State: RUNNABLE
\tat org.example.Codec.encode(Codec.java:12)
\tat org.example.Main.main(Main.java:3)

"worker" #2 prio=5 os_prio=0 tid=0x00007f0c nid=0x2 runnable [0x00007f0d]
   java.lang.Thread.State: RUNNABLE
\tat org.example.Parser.parse(Parser.java:40)
\tat org.example.Main.main(Main.java:3)
"""
    titles = blocks(page(filled(dump)))
    assert titles[0] == "all: 2 stacks, 100 %"
    assert {title.partition(":")[0] for title in titles[1:]} == {
        "org.example.Main.main",
        "org.example.Codec.encode",
        "org.example.Parser.parse",
    }


def test_finding_says_how_much_passes_through() -> None:
    room = filled(BEFORE)
    assert "8 samples, 80 % of the profile, pass through functions with “SERVE”" in page(room, find="SERVE")
    nothing = page(room, find="<b>&")
    assert "No function of this profile holds “<b>&”" in nothing


@pytest.mark.parametrize(
    "query",
    [
        {"of": "9-9"},
        {"of": "x"},
        {"view": "upside-down"},
        {"with": "1-1"},
        {"page": "x"},
        {"page": "-3"},
        {"find": "\n"},
    ],
)
def test_a_wrong_word_in_the_address_shows_the_usual_graph(query: dict[str, str]) -> None:
    assert blocks(page(filled(BEFORE), **query))[0] == "all: 10 samples, 100 %"


def test_a_wrong_place_shows_the_whole_and_says_so() -> None:
    assert "names a block that this profile has not" in page(filled(BEFORE), at="0.9.9")


def test_names_of_functions_are_shown_and_never_run() -> None:
    room = filled(script("main;<script>alert(1)</script>"))
    answer = client_of(room).get(reverse("flame-graph", args=[room.incident.slug]))
    assert b"<script>alert" not in answer.content


def test_a_purged_profile_is_gone() -> None:
    room = filled(BEFORE)
    purge.purge(room, 1, "It holds names of customers.")
    run_jobs("small")
    assert "No artifact of this room holds stacks" in page(room)


def test_the_number_of_queries_does_not_grow_with_profiles() -> None:
    def queries(client: Client, room: Room) -> int:
        with CaptureQueriesContext(
            connection,
        ) as counted:
            client.get(reverse("flame-graph", args=[room.incident.slug]))
        return len(counted)

    one, many = filled(BEFORE), filled(*[BEFORE + script(f"main;f{n}") for n in range(8)])
    assert queries(client_of(many), many) == queries(client_of(one), one)


def test_evidence_leads_to_the_graph_of_what_holds_stacks() -> None:
    room = filled(BEFORE, b"hello\n")
    answer: Any = client_of(room).get(reverse("evidence", args=[room.incident.slug]))
    address = reverse("flame-graph", args=[room.incident.slug])
    assert re.findall(rf'href="{address}\?of=([^"]*)"', answer.content.decode()) == ["1-1"]
