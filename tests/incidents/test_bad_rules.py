"""A room whose team rules and words are bad: its page names each with file and key, and everything else is judged."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from incidents import access
from incidents.actions import case
from incidents.actions.sample import open_sample
from incidents.models.finding import Evaluation
from tests.incidents.conftest import make_artifact, make_user, run_jobs
from tests.rules.test_packs import TEAM, write

pytestmark = pytest.mark.django_db

BAD: dict[str, Any] = {
    "half.yaml": "id: [",
    "typo.yaml": {**TEAM, "id": "TEAM-dba-002", "slug": "typo", "evidnce_group": "x"},
    "wrong.yaml": {
        **TEAM,
        "id": "TEAM-dba-003",
        "slug": "wrong",
        "requires": {"all": ["conn_times"]},
        "params": {},
        "query": "select 's' as subject, 'many' as magnitude, host, [ev(artifact_id, line_no, line_no, 'row')] as evidence from conn_times",
    },
    "overrides.yaml": {
        "overrides": [
            {"rule": "SHM-001", "param": "min_stall_s", "value": 1e9, "reason": "r", "author": "A", "scope": "team"}
        ]
    },
}
"""File name -> content: not YAML, an unknown key, a text for a number, a threshold beyond its bounds."""


def test_the_room_names_what_is_bad_and_judges_by_the_rest(settings: Any, tmp_path: Path) -> None:
    for name, made in BAD.items():
        write(tmp_path / "team", name, made)
    settings.EXHIBIT_RULES = [tmp_path / "team"]
    user = make_user()
    room = access.enter(user, open_sample(user).slug)
    for number in (250, 300):
        case.put_statement(
            room,
            {"name": "sessions", "num": float(number), "text": "they end together", "author_label": f"of {number}"},
        )
    make_artifact(room, name="more.txt", host="bd1")
    run_jobs("small")
    run_jobs()
    report = Evaluation.objects.latest("number").report
    assert (report["verdict"]["state"], report["verdict"]["hypothesis"]) == ("cause", "H-OS-SHM")
    client = Client()
    client.force_login(user)
    page = unescape(client.get(reverse("room", args=[room.incident.slug])).content.decode())
    assert "6 left out; the rest was judged" in page
    for words in (
        "team/half.yaml</b>: line 2",
        "evidnce_group: unknown key (did you mean evidence_group?)",
        "result row 's': magnitude must be a number",
        "SHM-001.min_stall_s: must be 0.01 to 60, not 1000000000.0: not applied",
        "host of more.txt: 'bd1' is not among the hosts (db1, gateway); did you mean db1?; it stands as a host of its own",
        "statements.sessions: is said to be 250 (by of 250) and 300 (by of 300): none of them is used",
    ):
        assert words in page, words
