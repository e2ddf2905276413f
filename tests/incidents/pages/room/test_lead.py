"""A lead: header, board, summary and copies name the same mechanism, the same seven observations and three asks."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.urls import reverse

from incidents.access import Room
from incidents.actions import purge, summary, webhooks
from incidents.content.webhook_words import body_of
from incidents.models.room.webhook import Delivery
from tests.incidents.conftest import make_artifact, make_room
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of

SENTENCE = "Not proven: every look-up waits 5.005 s. What fits: a name server does not answer."
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


def test_every_place_says_the_headline_of_the_verdict(room: Room) -> None:
    made = report()
    headline = made["verdict"]["headline"] = "A name server does not answer: 10.0 s in all."
    add_report(room, made)
    for said in (text(room, "room"), text(room, "board"), text(room, "summary"), text(room, "verdict-copy", "text")):
        assert headline in said


def test_seven_observations_stand_first_and_the_idle_nowhere(room: Room) -> None:
    said = text(room, "room")
    assert "What the evidence shows 7 of 9 all" in said
    first, folded = said.split("2 more", 1)
    shown = re.findall(r"Wait number (\d) takes", first)
    assert shown == list("1234567")
    assert re.findall(r"Wait number (\d) takes", folded)[:2] == ["8", "9"]
    assert "14 of 16 threads were idle" not in said
    assert said.count("a worker waits for work (1)") == 1, "idle is said once, by its reason"
    assert re.findall(r"Wait number (\d) takes", text(room, "verdict-copy", "text")) == list("1234567")
    assert re.findall(r"\d\. Wait number (\d) takes", text(room, "verdict-copy", "markdown")) == list("1234567")


def test_three_asks_are_what_to_do_next_and_the_form_of_each_says_what_it_settles(room: Room) -> None:
    page = client_of(room).get(reverse("room", args=[room.incident.slug])).content.decode()
    part = page[page.index('id="next"') : page.index("</section>", page.index('id="next"'))]
    places = [part.index(f'title="{html.escape(ask)}: ') for ask in ASKS]
    assert places == sorted(places)
    ids = re.findall(r'name="ask" value="([0-9a-f]{16})"', part)
    assert len(ids) == 3
    form = client_of(room).get(f"{reverse('request-new', args=[room.incident.slug])}?ask={ids[0]}").content.decode()
    assert "It would settle: a reason." in form
    assert re.search(r'name="what"[^>]*>\s*What dig prints on db1<', form)


def test_the_requests_page_offers_the_evidence_by_its_name(room: Room) -> None:
    said = text(room, "requests")
    assert re.search(r"What dig prints on db1 It would settle: a reason dig @10", said)


def test_the_summary_says_what_to_collect_and_what_it_would_settle(room: Room) -> None:
    said = text(room, "summary")
    for tool in ("dig", "tcpdump", "iostat"):
        assert re.search(rf"\b{tool}\b[^.]* on db1\. It would settle: a reason\.", said)


def test_a_row_has_one_link_to_its_lines_and_counts_the_others(room: Room) -> None:
    page = client_of(room).get(reverse("room", args=[room.incident.slug])).content.decode()
    rows = re.findall(r'<li\s+class="observation".*?</li>', page, re.S)
    assert [row.count("#L") for row in rows] == [1] * 9
    assert f"/rooms/{room.incident.slug}/evidence/1/?at=3#L3" in rows[2]
    assert "+ 1" in rows[2]


def test_a_row_has_its_figure_and_keeps_it_with_its_unit(room: Room) -> None:
    page = client_of(room).get(reverse("room", args=[room.incident.slug])).content.decode()
    assert "<b>1.500\u00a0s</b>" in page
    assert 'class="pic"' not in page, "one wait that is compared with nothing is not drawn"


def test_the_address_of_all_unfolds_them(room: Room) -> None:
    page = client_of(room).get(reverse("room", args=[room.incident.slug]) + "?all").content.decode()
    assert '<details id="more-shown" open>' in page


def exported(room: Room, form: str) -> str:
    answer = client_of(room).get(reverse("summary-export", args=[room.incident.slug, 0, form]))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", answer.content.decode())))


@pytest.mark.parametrize("form", ["md", "html"])
def test_exports_of_the_summary_hold_the_same_seven_with_their_lines(room: Room, form: str) -> None:
    said = exported(room, form)
    shown = said[said.rindex("What the evidence shows") :].split("Evidence cited")[0]
    assert re.findall(r"Wait number (\d) takes \d\.5 s on db1", shown) == list("1234567")
    assert reports.TRUSS[2] in shown.replace("\\", "")  # the line that the third cites
    assert "truss-listener.txt, line 3" in shown.replace("\\", "")
    assert "The same could be:" in said
    assert "a filter drops packets." in said
    assert "14 of 16 threads were idle" not in said


def test_the_page_for_managers_stays_short(room: Room) -> None:
    assert "Wait number 2 takes" not in text(room, "summary")


def test_copies_name_the_rival_and_the_lines(room: Room) -> None:
    copied = {form: text(room, "verdict-copy", form) for form in ("text", "markdown")}
    assert all("The same could be: a filter drops packets." in said.replace("*", "") for said in copied.values())
    assert "2. Wait number 2 takes 2.5 s on db1 (a wait), truss-listener.txt, line 2" in copied["markdown"]


def test_a_rival_that_the_sentence_names_is_not_said_twice(room: Room) -> None:
    made = report()
    made["verdict"]["sentence"] = f"{SENTENCE} Another explanation: a filter drops packets."
    add_report(room, made)
    assert text(room, "verdict-copy", "text").count("a filter drops packets") == 1


def test_a_frozen_summary_keeps_them_and_a_purge_strikes_them(room: Room) -> None:
    second = make_artifact(room, b"another\n", "second.txt")
    made = report()
    made["observations"][1]["citations"] = [reports.cite(second.number, reports.TRUSS, 2, 2, "wait")]
    add_report(room, made)
    version = summary.freeze(room, "for the meeting")
    purge.purge(room, second.number, "by mistake")
    version.refresh_from_db()
    assert [one["rank"] for one in version.content["observed"]] == [1, 3, 4, 5, 6, 7]
    assert version.struck_at is not None
    purge.purge(room, 1, "by mistake")
    version.refresh_from_db()
    assert version.content["observed"] == []


def test_other_systems_hear_the_same_seven(room: Room) -> None:
    hook = webhooks.add(room, "https://chat.example.invalid/hooks/x", ["verdict"])
    delivery = Delivery.objects.create(webhook=hook, kind="verdict", object="1")
    said = json.loads(body_of(delivery) or "")
    assert (said["state"], said["rival"]) == ("lead", "a filter drops packets")
    assert said["stands_out"] == [f"Wait number {n} takes {n}.5 s" for n in range(1, 8)]
