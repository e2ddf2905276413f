"""Tests of a room with invalid team rules and statements: its page names file and key, and all else is judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from django.test import Client
from django.urls import reverse

from incidents import access
from incidents.access import Room
from incidents.actions import case, rooms
from incidents.actions.sample import open_sample
from incidents.models.judging.finding import Evaluation
from incidents.storage import store
from parsers.tables import parquet
from parsers.tables.schema import schema
from rules.__main__ import main
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_room, make_user, run_jobs
from tests.incidents.pages.conftest import client_of
from tests.incidents.pages.filled import post_form
from tests.rules.writing.test_packs import TEAM, until, write

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
            {"rule": "SHM-001", "param": "min_stall_s", "value": 1e9, "reason": "r", "author": "A", "scope": "site"}
        ]
    },
}
"""File name -> content: not YAML, an unknown key, a text for a number, a threshold beyond its bounds."""

ABSURD = "overrides[0].value: SHM-001.min_stall_s: must be 0.01 to 60, not 1000000000.0 (said by A): not applied"
FINE: dict[str, Any] = {
    **TEAM,
    "requires": {"all": ["conn_times"]},
    "query": "select 'times' as subject, count(*)::double as magnitude, any_value(host) as host, "
    "[ev(min(artifact_id), min(line_no), min(line_no), 'row')] as evidence from conn_times having count(*) >= $least",
    "messages": {"headline": "The team's own finding", "expert": "e", "manager": "m"},
}
"""A team's rule that fires in a room with connection times."""

NOBODY = "'s' as subject, 1.0 as magnitude, null as host, [ev(1, 1, 1, 'row')] as evidence"
SLOW = (
    f"select {NOBODY} from (select count(*) as n from conn_times p join range(1000000) a(i) on a.i >= p.line_no "
    "join range(1000000) b(j) on b.j > a.i where a.i + b.j >= $least) where n >= 0"
)
LARGE = (
    f"select {NOBODY} from (select list(p.series || a.i || b.j) as l from conn_times p join range(3000) a(i) on a.i >= $least "
    "join range(3000) b(j) on b.j > a.i) where len(l) >= 0"
)


def page(room: Room, name: str = "room", **more: Any) -> str:
    answer = client_of(room).get(reverse(name, args=[room.incident.slug], **more))
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def failed(room: Room) -> dict[str, str]:
    report = room.incident.evaluations.latest("number").report
    return {fault["rule"]: fault["error"] for fault in report["failed"]}


def headlines(room: Room) -> set[str]:
    return {finding["headline"] for finding in room.incident.evaluations.latest("number").report["findings"]}


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
    text = page(room)
    assert "6 left out; the rest was judged" in text
    for words in (
        "<b>team/half.yaml</b>: line 2",
        "evidnce_group: unknown key (did you mean evidence_group?)",
        "<b>TEAM-dba-003</b>: team/wrong.yaml: query: result row 's': magnitude must be a number",
        f"<b>team/overrides.yaml</b>: {ABSURD}",
        "case.yaml</a>: artifacts.more.txt.host: 'bd1' is not among the hosts (db1, gateway); did you mean db1?; it stands as a host of its own",
        "case.yaml</a>: statements.sessions: is said to be 250 (by of 250) and 300 (by of 300): none of them is used",
    ):
        assert words in text, words
    client = Client()
    client.force_login(user)
    rules = unescape(client.get(reverse("rules")).content.decode())
    assert "team/half.yaml cannot be used: line 2" in rules
    assert f"team/overrides.yaml cannot be used: {ABSURD}" in rules


@pytest.fixture
def team(settings: Any, tmp_path: Path) -> Callable[..., None]:
    """Put a rule file of the team into the folder that the settings name; one query may take 3 s and 96 MB."""
    settings.EXHIBIT_RULES = [tmp_path / "team"]
    settings.EXHIBIT_RULE_SECONDS, settings.EXHIBIT_RULE_MB = 3, 96

    def put(slug: str = "busy", number: int = 1, **changed: Any) -> None:
        write(tmp_path / "team", f"{slug}.yaml", {**FINE, "id": f"TEAM-dba-{number:03d}", "slug": slug, **changed})

    return put


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (SLOW, "team/bad.yaml: query: stopped after 3 s, the most that one query may take"),
        (LARGE, "team/bad.yaml: query: the memory limit of 96 MB was reached"),
    ],
    ids=["slow", "large"],
)
def test_a_rule_over_its_limits_is_left_out_and_what_it_found_is_not_called_gone(
    team: Callable[..., None], query: str, why: str
) -> None:
    team()
    team("bad", 2, messages={**FINE["messages"], "headline": "Found by the other rule"})
    room = make_room()
    make_artifact(room)
    run_jobs()
    assert headlines(room) >= {"The team's own finding", "Found by the other rule"}
    key = room.incident.findings.get(rule="TEAM-dba-002").key

    team("bad", 2, messages={**FINE["messages"], "headline": "Found by the other rule"}, query=query)
    rooms.rejudge(room)
    run_jobs()
    assert failed(room) == {"TEAM-dba-002": why}
    assert "The team's own finding" in headlines(room)
    text = page(room)
    assert "1 left out; the rest was judged" in text
    assert f"<b>TEAM-dba-002</b>: {why}" in text
    assert f"its rule was left out, {why}" in text
    assert "no longer found" not in text
    assert "not judged, its rule was left out: Found by the other rule" in text
    drawer = unescape(client_of(room).get(reverse("finding", args=[room.incident.slug, key])).content.decode())
    assert f"its rule was left out. {why}" in drawer
    assert "1 part of the judgement failed and was left out." in page(room, "summary")

    team("bad", 2, messages={**FINE["messages"], "headline": "Found by the other rule"})
    rooms.rejudge(room)
    run_jobs()
    assert failed(room) == {}
    assert "left out" not in page(room)


def test_a_threshold_that_a_rules_new_bounds_no_longer_allow_is_named_and_not_applied(
    team: Callable[..., None],
) -> None:
    team()
    room = make_room()
    make_artifact(room)
    client = client_of(room)
    address = reverse("thresholds", args=[room.incident.slug])
    said = {"rule": "TEAM-dba-001", "param": "least", "value": "1e12", "reason": "quiet here", "until": until(9)}
    answer = client.post(address, said)
    assert answer.status_code == 422
    assert "least must be 0.5 to 60, not 1000000000000" in unescape(answer.content.decode())
    assert client.post(address, said | {"value": "50"}).status_code == 302
    run_jobs()
    assert "The team's own finding" not in headlines(room)

    team(params={"least": {**FINE["params"]["least"], "max": 30}})
    rooms.rejudge(room)
    run_jobs()
    why = "rules.overrides[0].value: TEAM-dba-001.least: must be 0.5 to 30, not 50 (said by {}): not applied"
    assert failed(room) == {"CASE": why.format(room.user.username)}
    assert "The team's own finding" in headlines(room), "by the rule's own value"
    assert f"case.yaml</a>: {failed(room)['CASE']}" in page(room)
    assert 'not applied</span> <span class="meta">must be 0.5 to 30, not 50' in page(room, "thresholds")


def test_unknown_hosts_and_contradictions_typed_into_a_room_are_named_as_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    room = make_room()
    client, slug = client_of(room), room.incident.slug
    address = reverse("case", args=[slug])
    typed = {"hosts-TOTAL_FORMS": "1", "statements-TOTAL_FORMS": "2"}
    rows = {"hosts-0-name": "db1"}
    for n, number in enumerate((250, 300)):
        rows |= {
            f"statements-{n}-name": "sessions",
            f"statements-{n}-num": str(number),
            f"statements-{n}-author_label": "DBA",
            f"statements-{n}-text": "they end together",
        }
    answer = client.post(address, {**post_form(client, address), **typed, **rows})
    assert answer.status_code == 302, unescape(answer.content.decode())
    times = "".join(f"time elapsed : 0,{n}\n" for n in range(30, 50))
    client.post(reverse("evidence-add", args=[slug]), {"name": "t.txt", "text": times})
    run_jobs()
    correct = reverse("correct", args=[slug, 1])
    assert client.post(correct, {"host": "bd1"}).status_code == 302
    run_jobs()
    named = (
        "artifacts.t.txt.host: 'bd1' is not among the hosts (db1); did you mean db1?; it stands as a host of its own",
        "statements.sessions: is said to be 250 (by DBA) and 300 (by DBA): none of them is used",
    )
    text = page(room)
    faults = room.incident.evaluations.latest("number").report["failed"]
    assert [fault["error"] for fault in faults] == list(named)
    assert "2 left out; the rest was judged" in text
    for words in named:
        assert f"case.yaml</a>: {words}" in text
    (tmp_path / "case.yaml").write_bytes(client.get(reverse("case-yaml", args=[slug])).content)
    (tmp_path / "t.txt").write_text(times, encoding="utf-8")
    capsys.readouterr()
    main([str(tmp_path), "--json"])
    told = json.loads(capsys.readouterr().out)["failed"]
    assert [fault["error"] for fault in told] == list(named)


CASE_FILE = """hosts: {db1: {os: linux}}
artifacts: [{file: a.txt, lines: 1-5, host: db1}, {file: a.txt, lines: 6-9, host: bd1}]
statements: [{name: sessions, num: 1}, {name: sessions, num: 2}]
"""


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "night.yaml",
            CASE_FILE,
            [
                "A case file is no evidence: nothing of it was taken over. Say it on the page Case of this room.",
                "night.yaml: artifacts.a.txt.host: 'bd1' is not among the hosts (db1); did you mean db1?",
                "night.yaml: statements.sessions: is said to be 1 (by unknown) and 2 (by unknown): none of them is used.",
            ],
        ),
        ("case.yaml", "hosts: {db1: {os: linux}}\nhots: 1\n", ["A case file is no evidence", "case.yaml: line 2: hots: unknown key"]),
        ("values.yaml", "replicas: 3\nimage: shop\n", ["Kind unknown"]),
    ],
)  # fmt: skip
def test_a_case_file_that_is_uploaded_says_what_it_is_and_what_is_wrong_in_it(
    name: str, text: str, words: list[str]
) -> None:
    room = make_room()
    make_artifact(room, text.encode(), name)
    make_artifact(room)
    run_jobs()
    shown = page(room, "evidence")
    for said in words:
        assert said in shown
    assert not room.incident.hosts.exists()
    assert room.incident.evaluations.exists(), "the other file is judged"


def test_a_million_rows_of_nothing_blame_and_clear_nobody(team: Callable[..., None]) -> None:
    """Write the rows as a format would that understood a million lines and no value in them."""
    team()
    room = make_room(symptom_text="logins", symptom_bad=3.9, symptom_unit="s")
    make_artifact(room)
    empty = make_artifact(room, CONNECT_TIMES * 2, "nothing.txt", host="db1")
    run_jobs("small")
    empty.refresh_from_db()
    assert empty.reading is not None
    reading = store.reading_dir(empty.reading)
    manifest = parquet.load_manifest(reading)
    assert manifest is not None
    count = 1_000_000
    rows = pl.DataFrame({"part": [1] * count, "line_no": range(1, count + 1), "line_end": range(1, count + 1)})
    for table in ("syscalls", "vmstat", "conn_times"):
        nulls = [pl.lit(None, t).alias(c) for c, t in schema(table).items() if c not in rows.columns]
        file = parquet.batch_file(reading, table, 1)
        file.parent.mkdir(exist_ok=True)
        rows.with_columns(nulls).select(schema(table).keys()).write_parquet(file)
        manifest["batches"][0]["tables"][table] = count
    manifest["lines"] = count
    parquet.save_manifest(reading, manifest)
    run_jobs()
    assert failed(room) == {}
    report = room.incident.evaluations.latest("number").report
    cited = {c["artifact"] for f in (*report["findings"], *report["cleared"]) for c in f["citations"]}
    assert empty.number not in cited
    assert report["verdict"]["rules"] == ["TEAM-dba-001"]
    assert "The team's own finding" in headlines(room)
    needs = {need for entry in report["not_evaluable"] for need in entry["needs"]}
    assert {"syscalls.dur_hi_s", "vmstat.r"} <= needs or needs, "what has no value is asked for"
    text = page(room)
    assert "left out" not in text
    assert "had nothing to look at" in text
    for name in ("summary", "board", "compare", "evidence", "clocks", "timeline-data", "timeline-waits"):
        page(room, name)
