"""A client's waits, answered in another host's trace: on the summary's bar, in the verdict, and between the strips of the timeline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.urls import reverse

from incidents.access import Room
from incidents.actions import case
from tests.incidents.conftest import make_artifact, make_room, run_jobs
from tests.incidents.pages.conftest import client_of

RECORDED = Path(__file__).parents[3] / "cases" / "produced" / "slow-answer"

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair() -> Room:
    room = make_room(symptom_text="12 orders", symptom_bad=1.6, symptom_unit="s")
    for name, host in (("client", "web1"), ("server", "db1")):
        make_artifact(room, (RECORDED / f"{name}.txt").read_bytes(), f"{name}.txt", host=host)
    run_jobs()
    return room


def waits(room: Room) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = (
        client_of(room).get(reverse("timeline-waits", args=[room.incident.slug])).json()
    )
    return found


def test_the_answer_is_followed_to_the_other_host(pair: Room) -> None:
    report = json.loads(json.dumps(pair.incident.evaluations.latest("number").report))
    bar = report["whose_seconds"]
    far = bar["pieces"][0]
    assert "fsync, on db1, in pid " in far["label"]
    assert far["layer"] == "storage"
    assert {c["file"] for c in far["citations"]} == {"server.txt"}, "a piece opens lines of the other artifact"
    (rest,) = [p for p in bar["pieces"] if p["label"].startswith("everything else of 12 waits for db1")]
    assert (rest["kind"], rest["layer"]) == ("rest", None)
    assert round(sum(p["seconds"] for p in bar["pieces"]) * 1e9) == round(bar["total_s"] * 1e9)
    assert " on web1 waits at most 1.501 of 1.544 s for pid " in report["verdict"]["sentence"]
    page = client_of(pair).get(reverse("room", args=[pair.incident.slug])).content.decode()
    assert f"/evidence/{far['citations'][0]['artifact']}/" in page

    # Nothing ties the clocks of the two hosts: no arrow, a line of words.
    found = waits(pair)
    assert found["waits"] == []
    (line,) = found["elsewhere"]
    assert " on web1 waits 12 times, 1.501 s in all, for pid " in str(line)
    assert str(line).endswith("on db1, whose clock is not tied to this one: no arrow is drawn.")

    # A person's word on the offset puts both on one frame: arrows from strip to strip.
    case.put_offset(pair, "2.1:1", "1.1:1", -0.001, 0.001, "one clock, two namespaces")
    run_jobs()
    found = waits(pair)
    assert found["elsewhere"] == []
    assert len(found["waits"]) >= 12
    assert {(w["kind"], w["from"] != w["to"]) for w in found["waits"]} == {("socket", True)}

    # An offset that no answer could have: the pairs are refused.
    case.put_offset(pair, "2.1:1", "1.1:1", 3.0, 3.001, "wrong")
    run_jobs()
    assert waits(pair) == {"waits": [], "elsewhere": []}
    bar = pair.incident.evaluations.latest("number").report["whose_seconds"]
    assert not any("everything else" in p["label"] for p in bar["pieces"])
