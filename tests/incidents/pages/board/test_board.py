"""Tests of the board page: the report's hypotheses side by side, and the rows and causes that people add."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from incidents.access import enter
from incidents.actions import board as actions
from incidents.actions import findings, rooms
from incidents.models.judging.argument import Argument
from incidents.models.room.job import Job, JobKind
from tests.incidents.conftest import make_room, make_user
from tests.incidents.pages.conftest import Judged, add_report, client_of
from tests.incidents.pages.pages import Tag, page_in
from tests.rules.incidents import seed001

Json = dict[str, Any]
MOST_QUERIES = 15


RULES = "SHM-001,NET-001,NET-002,LSN-003,CMP-001"


@pytest.fixture(scope="module")
def report() -> Json:
    """Return the report of the published incident by a few rules, with its board, from the command line."""
    command = [sys.executable, "-m", "rules", str(seed001.CASE), "--json", "--only", RULES]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=settings.BASE_DIR)
    made: Json = json.loads(answer.stdout)
    return made


@pytest.fixture
def room(judged: Judged, report: Json) -> Judged:
    add_report(judged.lead, report)
    return judged


def page_of(client: Client, slug: str, query: str = "") -> Tag:
    answer = client.get(reverse("board", args=[slug]) + query)
    assert answer.status_code == 200
    return page_in(answer)


def weights(soup: Tag, row: str) -> dict[str, str]:
    """Return code -> mark of a row of the table, named by a piece of its title."""
    codes = [th.part("small").text for th in soup.select(".weights thead th[scope=col]:not(.what)")]
    (found,) = [tr for tr in soup.select(".weights tbody tr, .weights tfoot tr") if row in tr.part("th").text]
    cells = [td.part(".weight").text if td.select(".weight") else td.text for td in found.select("td")]
    return {code: cell for code, cell in zip(codes, cells, strict=True) if cell}


def test_causes_across_evidence_down_in_words(room: Judged) -> None:
    soup = page_of(client_of(room.viewer), room.slug)
    assert weights(soup, "New server process stalls attaching") == {"H-OS-SHM": "++", "H-NSS": "−"}
    covered = weights(soup, "wait is covered")
    assert (covered["H-NET"], covered["H-CLIENT"], covered["H-NSS"], covered["H-OS-SHM"]) == ("−−", "−−", "(+)", "(+)")
    assert weights(soup, "together, counted once")["H-NSS"] == "−"
    assert "same seconds as the rows below: counts once" in soup.part(".joint-first").text
    assert len(soup.select("tr.joint-first ~ tr.joint-end")) == 1
    heads = [th.part("small").text for th in soup.select(".weights thead th[scope=col]:not(.what)")]
    assert {"H-CLIENT", "H-NET", "H-LISTENER", "H-NSS", "H-OS-SHM", "H-OS-CPU", "H-STORAGE", "H-DB-SQL", "H-CFG", "H-OTHER"} <= set(heads)  # fmt: skip
    assert heads[0] == "H-OS-SHM"
    assert heads.index("H-SERVER-SLOW") > heads.index("H-NET"), "the umbrella stands beside the contest"
    assert not re.search(r"probab\w+ of|\d %|odds of", soup.part(".weights").text)
    assert soup.select(".weights small.num") == []
    sums = [weights(soup, name) for name in ("Together", "Findings alone", "People alone")]
    assert [s["H-OS-SHM"] for s in sums] == ["good", "good", "none"]
    assert [s["H-DB-SQL"] for s in sums] == ["fair against", "none", "fair against"]


def test_numbers_are_there_on_demand_and_stay_in_the_address(room: Judged) -> None:
    client = client_of(room.viewer)
    plain = page_of(client, room.slug)
    assert plain.part("#numbers")["href"] == reverse("board", args=[room.slug]) + "?numbers"
    assert plain.part("tr.total td").select("small") == []
    soup = page_of(client, room.slug, "?numbers")
    assert soup.part("tr.total td").text == "good 25"
    assert soup.part("#numbers")["href"] == reverse("board", args=[room.slug])
    again = soup.part("[hx-select='#board']")
    assert str(again["hx-get"]).endswith("?numbers"), "news ask for the same view"
    assert {"room:verdict", "room:case"} <= {t.split(" ")[0] for t in str(again["hx-trigger"]).split(", ")}


def test_what_speaks_against_it_comes_first_with_its_lines(room: Judged) -> None:
    soup = page_of(client_of(room.viewer), room.slug)
    sections = [h2.text for h2 in soup.select("#board section:not(.narrow) > h2")]
    assert sections[:4] == [
        "Why it leads, and against what",
        "What speaks against each",
        "The evidence, row by row",
        "What the lead rests on",
    ]
    of = {li.part("code").text: li for li in soup.select(".causes > li")}
    network = of["H-NET"]
    assert "Strongly against:" in network.text
    assert network.part("p a:not(.cited)")["href"].startswith(f"/rooms/{room.slug}/findings/")
    assert "#L" in str(network.part("a.cited")["href"])
    assert "No row of the board weighs against it" in of["H-OS-SHM"].text
    assert "ids of the two artifacts differ" in of["H-OS-SHM"].text
    assert "said by DBA" in of["H-DB-SQL"].text
    assert next(iter(of)) == "H-OS-SHM"
    assert "something not listed" in soup.part(".silent").text


def test_what_the_lead_rests_on_in_plain_words(room: Judged) -> None:
    soup = page_of(client_of(room.viewer), room.slug, "?numbers")
    said = [li.text for li in soup.select(".what-ifs li")]
    assert (
        "Without “New server process stalls attaching dynamic shared memory”, its support would be fair and it would only be suspected (13 instead of 25) ."
        in said
    )
    assert any(s.startswith("Without “The change had an effect") and "(15 instead of 25)" in s for s in said)
    assert any(s.startswith("Without the memory map pmap-smon.txt, it would stay good") for s in said)


def test_what_could_overturn_the_leader_is_asked_for_with_a_button(room: Judged) -> None:
    client = client_of(room.investigator)
    soup = page_of(client, room.slug)
    rows = soup.select(".turning li")
    assert rows
    assert "could overturn" in rows[0].text
    for row in rows:
        link = str(row.part("a.small")["href"])
        assert link.startswith(reverse("request-new", args=[room.slug]) + "?ask=")
    asked = client.get(str(rows[0].part("a.small")["href"]))
    assert asked.status_code == 200
    command = rows[0].part("pre").text
    assert command.split("\n")[0][:20] in asked.content.decode()
    assert page_of(client_of(room.viewer), room.slug).select(".turning a.small") == []


def test_a_dispute_shows_where_it_bears(room: Judged, report: Json) -> None:
    key = next(f["key"] for f in report["findings"] if f["rule"] == "SHM-001")
    findings.dispute(room.investigator, key, "The map is of another start.")
    soup = page_of(client_of(room.viewer), room.slug)
    assert "under dispute" in soup.part(".disputed").text
    assert "under dispute" in soup.part("tr.joint-first th").text


def test_a_manager_reads_first_who_leads_by_what_against_what(room: Judged) -> None:
    soup = page_of(client_of(room.viewer), room.slug)
    leading = soup.part(".leading")
    reasons = [li.text for li in leading.select(".cells li")]
    assert reasons[0].startswith("++ strongly for New server process stalls attaching")
    assert len(reasons) <= 3
    assert "No row of the board weighs against it" in leading.text
    assert "ids of the two artifacts differ" in leading.text
    assert "weak support" in leading.text
    matrix = soup.part("details#matrix")
    assert "open" not in matrix.attributes, "the matrix is one click away"
    assert matrix.select(".weights")
    assert matrix.select(".causes")
    assert not leading.select(".weights")
    assert "open" in page_of(client_of(room.viewer), room.slug, "?numbers").part("details#matrix").attributes


def test_narrow_screens_have_a_block_for_each_cause(room: Judged) -> None:
    soup = page_of(client_of(room.viewer), room.slug)
    shm = next(li for li in soup.select(".causes > li") if "H-OS-SHM" in li.text)
    cells = [li.text for li in shm.select("ul.narrow.cells li")]
    assert any(c.startswith("++ strongly for New server process stalls") for c in cells)
    assert any("counts within its chain" in c for c in cells)


def test_few_queries(room: Judged, django_assert_max_num_queries: Callable[..., Any]) -> None:
    for n in range(5):
        actions.argue(room.investigator, actions.Said(f"reason {n}", {"H-NET": "for"}))
        actions.put_cause(room.lead, f"H-{'ABCDE'[n]}", f"cause {n}", None)
    client = client_of(room.lead)
    page_of(client, room.slug)
    with django_assert_max_num_queries(MOST_QUERIES):
        page_of(client, room.slug)
    with django_assert_max_num_queries(MOST_QUERIES):
        assert client.get(reverse("board-say", args=[room.slug])).status_code == 200


def test_the_course_is_drawn_and_told(room: Judged) -> None:
    soup = page_of(client_of(room.viewer), room.slug)
    svg = soup.part("svg.course")
    assert svg["role"] == "img"
    assert svg.select("path.line")
    table = soup.part("#course ~ details table, section[aria-labelledby=course] table")
    assert "H-OS-SHM" in table.part("thead").text
    assert len(table.select("tbody tr")) == 2


def test_an_old_report_without_a_board_still_opens(judged: Judged) -> None:
    soup = page_of(client_of(judged.viewer), judged.slug)
    assert soup.select(".weights") == []
    assert "Nothing speaks for or against a cause yet" in soup.text or "What speaks against each" in soup.text


def test_nothing_judged_says_what_to_do() -> None:
    lead = make_room(make_user("ada"))
    soup = page_of(client_of(lead), lead.incident.slug)
    assert "Nothing was judged yet" in soup.text
    assert soup.part(".empty a.primary")["href"] == reverse("evidence-add", args=[lead.incident.slug])
    Job.objects.ask_judge(lead.incident.pk)
    assert "Evidence is being read and judged" in page_of(client_of(lead), lead.incident.slug).text


test_nothing_judged_says_what_to_do = pytest.mark.django_db(test_nothing_judged_says_what_to_do)


def test_judging_again_says_whose_board_this_is(room: Judged) -> None:
    actions.argue(room.investigator, actions.Said("pings were slow", {"H-NET": "for"}))
    assert Job.objects.filter(incident=room.lead.incident, kind=JobKind.JUDGE).exists()
    said = page_of(client_of(room.viewer), room.slug).text
    assert "Judging again now: this is the board of the last evaluation" in said
    assert "1 change of people is not on it yet" in said


# --- people's rows ----------------------------------------------------------------------------------------------------


def typed(**more: str) -> dict[str, str]:
    return {"reason": "pings were slow", "word_H-NET": "for", **more}


def test_a_person_adds_edits_and_takes_off_a_row(room: Judged) -> None:
    client, slug = client_of(room.investigator), room.slug
    soup = page_in(client.get(reverse("board-say", args=[slug])))
    assert {"H-NET", "H-OTHER", "H-OS-SEM"} <= {code.text for code in soup.select(".words code")}
    client_id = str(soup.part("input[name=client_id]")["value"])
    answer = client.post(reverse("board-say", args=[slug]), typed(lines="1:2-3", client_id=client_id))
    row = Argument.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/rooms/{slug}/board/#said-{row.pk}")
    client.post(reverse("board-say", args=[slug]), typed(client_id=client_id))
    assert Argument.objects.count() == 1
    listed = page_of(client, slug).part(f"#said-{row.pk}")
    assert "“pings were slow”" in listed.text
    assert "for: network path is slow" in listed.text
    assert listed.part("p a")["href"] == f"/rooms/{slug}/evidence/1/?at=2#L2-L3"
    form = page_in(client.get(reverse("board-said", args=[slug, row.pk])))
    assert form.part("select[name=word_H-NET] option[selected]")["value"] == "for"
    answer = client.post(reverse("board-said", args=[slug, row.pk]), typed(reason="pings took 80 ms", version="1"))
    assert answer.status_code == 302
    row.refresh_from_db()
    assert (row.reason, row.artifact) == ("pings took 80 ms", None)
    assert client.post(reverse("board-said-off", args=[slug, row.pk])).status_code == 302
    gone = page_of(client, slug).part(f"#said-{row.pk}")
    assert "was taken off the board" in gone.text
    assert client.post(str(gone.part("form")["action"])).status_code == 302
    row.refresh_from_db()
    assert row.removed_at is None
    assert client_of(room.lead).get(reverse("board-said", args=[slug, row.pk])).status_code == 403


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"reason": " "}, "Say why"),
        ({"word_H-NET": ""}, "Choose a word"),
        ({"word_H-NET": "maybe"}, "Select a valid choice"),
        ({"lines": "line 3"}, "Write artifact and lines"),
        ({"lines": "9:1-2"}, "no artifact 9"),
        ({"lines": "1:5-2"}, "first to last"),
    ],
)
def test_bad_input_is_said_and_what_was_typed_is_kept(room: Judged, more: dict[str, str], why: str) -> None:
    answer = client_of(room.investigator).post(reverse("board-say", args=[room.slug]), typed(**more))
    soup = page_in(answer)
    assert answer.status_code == 422
    assert why in soup.text
    assert "Not saved yet" in soup.text
    if "reason" not in more:
        assert soup.part("textarea[name=reason]").text == "pings were slow"
    assert not Argument.objects.exists()


def test_a_room_closed_meanwhile_refuses_and_keeps_what_was_typed(room: Judged) -> None:
    client = client_of(room.investigator)
    rooms.close(room.lead)
    answer = client.post(reverse("board-say", args=[room.slug]), typed())
    soup = page_in(answer)
    assert answer.status_code == 409
    assert "This room is closed" in soup.part(".errorlist").text
    assert soup.part("textarea[name=reason]").text == "pings were slow"
    answer = client.post(reverse("board-cause-new", args=[room.slug]), {"code": "tape", "cause": "the tape"})
    assert answer.status_code == 409
    assert 'value="the tape"' in answer.content.decode()
    assert client.get(reverse("board-say", args=[room.slug])).status_code == 409
    assert page_of(client, room.slug).select("a.primary[href$='/say/']") == []


def test_a_free_cause_stands_on_the_board_with_its_author(room: Judged, report: Json) -> None:
    client = client_of(room.investigator)
    answer = client.post(
        reverse("board-cause-new", args=[room.slug]), {"code": "backup", "cause": "the backup", "layer": "storage"}
    )
    assert answer.status_code == 302
    row = room.lead.incident.free_causes.get()
    free = {"code": "H-BACKUP", "cause": "the backup", "score": 0, "cells": {}, "layer": "storage", "origin": "free"}
    add_report(room.lead, report | {"hypotheses": [*report["hypotheses"], free]})
    held = page_of(client, room.slug).part(f"#cause-{row.pk}")
    assert "The backup" in held.text
    assert "Put here by nils, storage" in held.text
    assert "Nobody has said anything for or against it yet" in held.text
    again = client.post(reverse("board-cause-new", args=[room.slug]), {"code": "H-NET", "cause": "the net"})
    assert again.status_code == 422
    assert "every board" in again.content.decode()
    edit = client.get(reverse("board-cause", args=[room.slug, row.pk])).content.decode()
    assert "disabled" in edit
    assert (
        client.post(reverse("board-cause", args=[room.slug, row.pk]), {"cause": "the nightly backup"}).status_code
        == 302
    )
    assert client.post(reverse("board-cause-off", args=[room.slug, row.pk])).status_code == 302
    assert "was taken off the board" in page_of(client, room.slug).text


def test_a_row_is_begun_elsewhere(room: Judged, report: Json) -> None:
    key = report["findings"][0]["key"]
    client = client_of(room.investigator)
    form = page_in(
        client.get(
            reverse("board-say", args=[room.slug]),
            {"finding": key, "lines": "1:2-3", "cause": "H-NET", "word": "against"},
        )
    )
    assert form.part("select[name=finding_key] option[selected]")["value"] == key
    assert form.part("input[name=lines]")["value"] == "1:2-3"
    assert form.part("select[name=word_H-NET] option[selected]")["value"] == "against"
    for nonsense in ("\0", "x" * 3000, "0" * 16):
        answer = client.get(
            reverse("board-say", args=[room.slug]), {"finding": nonsense, "lines": nonsense, "cause": nonsense}
        )
        assert answer.status_code == 200


def test_hostile_words_are_seen_and_do_nothing(room: Judged) -> None:
    actions.argue(room.investigator, actions.Said("a\u202eb <script>alert(1)</script>", {"H-NET": "for"}))
    html = client_of(room.viewer).get(reverse("board", args=[room.slug])).content.decode()
    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "⟨U+202E⟩" in html
    assert enter(room.viewer.user, room.slug)
