"""Tests of selecting a range or span, marking it bad, saving lanes, exporting rows, on the published incident."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents.access import Room, enter
from incidents.actions.sample import open_sample
from incidents.drawing import ranges
from incidents.drawing.frames import Frame, tables
from incidents.models.people.membership import Role
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident
from incidents.models.room.layout import Layout
from rules.case.reading import open_paths
from rules.engine.read import ReadOnly
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.drawing.exports.test_trace import check
from tests.incidents.pages.conftest import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Room:
    user = make_user()
    room = enter(user, open_sample(user).slug)
    run_jobs()
    return room


def words(answer: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


def get(client: Client, room: Room, name: str, *args: Any, **query: Any) -> Any:
    return client.get(reverse(name, args=[room.incident.slug, *args]), query, headers={"HX-Request": "true"})


def frames(client: Client, room: Room) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = get(client, room, "timeline-data").json()["frames"]
    return found


def test_everything_about_the_selected_range_and_only_for_members(room: Room) -> None:
    client = client_of(room)
    shared, alone, said_by_people = frames(client, room)
    assert "statements" in {lane["label"] for lane in said_by_people["lanes"]}
    within = {"frame": alone["frame"], "from": 9.4, "to": 11.7}

    answer = get(client, room, "timeline-range", **within)
    assert answer.status_code == 200
    said = words(answer)
    assert "shmat 0x3C0000000 1 ≤ 2.300 s ≤ 2.300 s ≤ 2.473 s 100" in said, "calls by name and target"
    assert "shmat ≤ 2.300 s" in said, "whose seconds"
    assert "attach dynamic shared memory" in said, "findings inside"
    assert "connect ECONNREFUSED" in said, "errors"
    assert "Artifact 3, lines" in said, "lines"
    assert (
        f"clock={alone['clocks'][0]['clock']}&amp;from=9.4&amp;to=11.7".replace(":", "%3A") in answer.content.decode()
    )

    between = words(
        get(
            client,
            room,
            "timeline-range",
            frame=shared["frame"],
            **{"from": shared["t0"] + 0.2, "to": shared["t1"] - 0.2},
        )
    )
    assert "nttrd" in between
    assert "shmat" not in between, "another clock's calls are no part of this range"

    for name, args, query in (
        ("timeline-range", (), within),
        ("timeline-calls", (), within),
        ("timeline-rows", ("csv",), within),
        ("timeline-waits", (), {}),
        ("timeline-span", (), {"artifact": 3, "from": 4}),
        ("timeline-picture", (), {}),
    ):
        viewer = client_of(make_member(room.incident, Role.VIEWER))
        assert get(viewer, room, name, *args, **query).status_code == 200, name
        stranger = Client()
        stranger.force_login(make_user())
        refused = get(stranger, room, name, *args, **query)
        assert refused.status_code == 404, name
        assert b"shmat" not in refused.content

    for query in ({"frame": "nonsense"}, {}):
        assert get(client, room, "timeline-range", **query).status_code == 404
    assert get(client, room, "timeline-range", frame=alone["frame"], **{"from": "5", "to": "1"}).status_code == 400

    for name, args, query in (
        ("timeline-data", (), {}),
        ("timeline-range", (), within),
        ("timeline-calls", (), within),
        ("timeline-rows", ("csv",), within),
        ("timeline-picture", (), {}),
    ):
        with CaptureQueriesContext(connection) as asked:
            get(client, room, name, *args, **query)
        assert len(asked) <= 18, (name, len(asked))

    # A span shows its own lines.
    quoted = get(client, room, "timeline-span", artifact=3, **{"from": 14, "to": 30})
    assert "shmat(16777281, 0x3C0000000, IPC_ALLOC)" in words(quoted)
    assert "#L14-L30" in quoted.content.decode()
    assert get(client, room, "timeline-span", artifact=99).status_code == 404

    # Bands lie over the strips that the finding cites.
    attach = next(band for band in alone["bands"] if band["start"] == pytest.approx(9.3187))
    assert ["syscalls", "3731/1"] in attach["strips"]
    assert ["syscalls", "3728/1"] not in attach["strips"]
    assert all(band["clocks"] == [alone["clocks"][0]["clock"]] for band in alone["bands"])

    # Arrows lead from the waiting strip to the one waited for.
    (client_wait,) = [edge for edge in get(client, room, "timeline-waits").json()["waits"] if edge["kind"] == "socket"]
    assert (client_wait["from"], client_wait["to"]) == (["sqlnet", "client"], ["sqlnet", "listener"])
    assert client_wait["wait_s"] == pytest.approx(1.792)

    # Exported rows.
    csv_rows = list(csv.DictReader(io.StringIO(b"".join(get(client, room, "timeline-rows", "csv", **within)).decode())))
    (attached,) = [row for row in csv_rows if row["label"] == "shmat"]
    assert (attached["strip"], attached["at_most"], attached["line_to"]) == ("3731 1", "True", "30")
    assert float(attached["length_s"]) == pytest.approx(2.4734)
    handed = get(client, room, "timeline-rows", "parquet", **within)
    table = pl.read_parquet(io.BytesIO(handed.getvalue()))
    assert table.height == len(csv_rows)
    assert handed["Content-Disposition"].startswith("attachment")
    trace = json.loads(b"".join(get(client, room, "timeline-rows", "trace", frame=shared["frame"])))
    check(trace)
    waits = {event["name"]: event for event in trace["traceEvents"] if event["ph"] == "X"}
    clocks = trace["otherData"]["clocks"]
    assert sorted(round(c["added_s"], 3) for c in clocks.values()) == [-0.197, 0.0], "our offset, and said"
    assert max(event["dur"] for event in waits.values()) == pytest.approx(1.872e6)
    picture = get(client, room, "timeline-picture").content.decode()
    assert "shmat 0x3C0000000 · at most 2.473 s" in picture
    assert "<script" not in picture
    assert "style=" not in picture


def test_a_range_marked_bad_is_the_symptom_and_stands_on_the_timeline(room: Room) -> None:
    client = client_of(room)
    alone = frames(client, room)[1]
    clock = alone["clocks"][0]["clock"]
    url = reverse("timeline-bad", args=[room.incident.slug])
    said = {"clock": clock, "from": "9.3187", "to": "11.7921", "text": "the attach", "bad": "2.47", "unit": "s"}
    for _ in range(2):
        assert client.post(url, said).status_code == 302
    incident = Incident.objects.get(pk=room.incident.pk)
    assert (incident.symptom_text, incident.symptom_bad, incident.symptom_clock) == ("the attach", 2.47, clock)
    assert Activity.objects.filter(incident=incident, verb="edited").count() == 1, "the same again changes nothing"
    assert frames(client, room)[1]["bad"] == {"start": 9.3187, "end": 11.7921, "label": "the attach"}
    assert frames(client, room)[0]["bad"] is None, "never on another clock"
    offered = get(client, room, "timeline-range", frame=frames(client, room)[1]["frame"])
    assert b"Unmark the bad range" in offered.content
    for nonsense in ({"from": "x"}, {"to": "1"}, {"bad": "much"}, {"from": "nan"}):
        assert client.post(url, said | nonsense, headers={"Accept": "application/json"}).status_code == 400, nonsense
    assert client.post(url, {"clear": "1"}).status_code == 302
    assert frames(client, room)[1]["bad"] is None
    assert Incident.objects.get(pk=room.incident.pk).symptom_text == "the attach", "what was said of it stays"


def test_counters_are_compared_with_the_rest() -> None:
    room = make_room()
    lines = ["procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----"]
    lines.append(" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC")
    for k in range(60):
        run, user = (30 + k % 5, 80) if 20 <= k < 40 else (k % 3, 10)
        at = f"2026-03-14 10:{k // 12:02}:{k % 12 * 5:02}"
        lines.append(f"{run:2d} 0 0 800000 12000 3400000 0 0 {k % 7} {k % 11} 300 500 {user} 5 {95 - user} 0 0 {at}")
    make_artifact(room, "\n".join(lines).encode() + b"\n", "vmstat.txt")
    run_jobs()
    client = client_of(room)
    (frame,) = frames(client, room)
    assert {"CPU", "vmstat r"} <= {lane["label"] for lane in frame["lanes"]}
    begin = frame["lanes"][0]["samples"][0][1]  # the end of the first sample drawn
    said = words(get(client, room, "timeline-range", frame=frame["frame"], **{"from": begin + 94, "to": begin + 191}))
    assert re.search(r"vmstat\.r 3\d\S* \S* ?1", said), said
    assert "1.00 < 0.0001" in html.unescape(said), "every value of the range above every other: delta 1"
    assert "corrected for that (Holm)" in said
    offered = {one["name"]: one["shown"] for one in get(client, room, "timeline-lanes").json()["lanes"]}
    assert offered["vmstat.cs"] is False
    assert "vmstat.st" in offered
    assert "mpstat.smtx" not in offered, "no rows, no lane"
    added = get(client, room, "timeline-data", add="vmstat.cs").json()["frames"][0]["lanes"]
    assert "vmstat cs" in {lane["label"] for lane in added}
    hidden = get(client, room, "timeline-data", frame=frame["frame"], hide="cpu").json()["frames"][0]["lanes"]
    assert "CPU" not in {lane["label"] for lane in hidden}


def test_lanes_are_kept_for_oneself_or_for_the_room() -> None:
    room = make_room()
    viewer = make_member(room.incident, Role.VIEWER)
    url = reverse("timeline-keep", args=[room.incident.slug])
    choice = {"A": {"add": ["vmstat.cs"], "hide": ["logs"], "pin": [], "order": []}}
    kept = {"A": {"add": ["vmstat.cs"], "hide": ["logs"]}}
    assert client_of(viewer).post(url, {"lanes": json.dumps(choice)}).status_code == 200
    assert Layout.objects.get().lanes == kept
    assert get(client_of(viewer), room, "timeline-data").json()["layouts"] == {"mine": kept}
    assert "layouts" not in get(client_of(room), room, "timeline-data").json(), "somebody else's own"
    assert client_of(viewer).post(url, {"lanes": json.dumps(choice), "shared": "true"}).status_code == 403
    assert client_of(room).post(url, {"lanes": json.dumps(choice), "shared": "true"}).status_code == 200
    assert get(client_of(viewer), room, "timeline-data").json()["layouts"] == {"mine": kept, "room": kept}
    assert client_of(viewer).post(url, {"lanes": "{}"}).status_code == 200
    assert get(client_of(viewer), room, "timeline-data").json()["layouts"] == {"room": kept}
    for nonsense in ("", "[]", '{"A": 3}', '{"A": {"paint": ["x"]}}', '{"A": {"add": [3]}}'):
        answer = client_of(room).post(url, {"lanes": nonsense}, headers={"Accept": "application/json"})
        assert answer.status_code == 400, nonsense
    much = json.dumps({"A": {"add": ["x" * 100] * 300}})
    assert client_of(room).post(url, {"lanes": much}, headers={"Accept": "application/json"}).status_code == 413
    assert [a.object for a in Activity.objects.filter(verb="kept")] == ["own lanes", "lanes for the room"]


def test_the_wall_shows_the_room_and_offers_nothing_to_press(room: Room) -> None:
    viewer = make_member(room.incident, Role.VIEWER)
    page = client_of(viewer).get(reverse("room", args=[room.incident.slug]), {"wall": ""}).content.decode()
    assert "attach" in page
    assert "Whose seconds" in page
    body = page[page.index('id="wall"') : page.index('id="timeline"')]
    assert "<form" not in body
    assert "<button" not in body
    stranger = Client()
    stranger.force_login(make_user())
    assert stranger.get(reverse("room", args=[room.incident.slug]), {"wall": ""}).status_code == 404


def test_calls_that_are_more_frequent_here_are_named(tmp_path: Path) -> None:
    lines, at = [], 0.0
    for n in range(400):
        at += 0.001
        name = "semop(65538, 0x1000, 1)" if 200 <= n < 300 else "read(5, 0x10034, 8192)"
        lines.append(f"700/1:\t{at:8.4f}\t 0.0010\t 0.0001\t{name}\t= 0")
    (tmp_path / "a.truss").write_text("\n".join(lines) + "\n")
    spec, _ = open_paths([tmp_path / "a.truss"], None, tmp_path / "out")
    with ReadOnly(spec, tables()) as source:
        clock = source.case.clocks[0]
        row = {
            "clock": clock.clock,
            "artifact": 1,
            "kind": clock.kind,
            "host": None,
            "frame": "A",
            "t_begin": 0.0,
            "t_end": 0.4,
        }
        frame = Frame("A", (row,), 0.0, 0.4)
        seen = ranges.look(frame, 0.2005, 0.2995, source, {"findings": []}, None)
        assert [(one.label, one.n_rest) for one in seen.mixes] == [("call semop", 0), ("call read", 300)]
        assert seen.mixes[0].inside == 100.0
        assert seen.mixes[0].p < 1e-6
        nothing = ranges.look(frame, 0.05, 0.15, source, {"findings": []}, None).mixes
        assert [one.label for one in nothing] == ["call read", "call semop"], "where they are missing differs, too"
        assert nothing[1].inside == 0.0


def test_the_table_of_a_range_groups_its_calls_and_says_what_totals_may_do(room: Room) -> None:
    client = client_of(room)
    alone = frames(client, room)[1]
    within = {"frame": alone["frame"], "from": 9.4, "to": 11.7}
    said = words(get(client, room, "timeline-calls", **within))
    assert "13 calls · 2 threads" in said
    assert said.index("shmat") < said.index("connect"), "by total"
    assert "2 threads side by side: totals exceed the range." in said
    assert "≤: the tool shows only the end of these calls." in said
    by_thread = words(get(client, room, "timeline-calls", by="thread", **within))
    assert "db1 3731/1 1 ≤ 2.300 s" in by_thread
    assert "db1 22626/2 12 ≤ " in by_thread
    assert "13 ≤" in words(get(client, room, "timeline-calls", by="host", **within))
    slow = words(get(client, room, "timeline-calls", band="10-11", **within))
    assert "1 call ·" in slow
    assert "connect" not in slow, "only calls of at least a second"
    assert "threads side by side" not in slow
    assert "No call in this range." in words(get(client, room, "timeline-calls", band="11", **within))
    for nonsense in ({"by": "colour"}, {"band": "x"}, {"band": "3-x"}, {"band": "9" * 5000}, {"page": "x"}):
        assert get(client, room, "timeline-calls", **within, **nonsense).status_code == 400, nonsense
    assert get(client, room, "timeline-calls", frame="nonsense").status_code == 404
    page = client.get(reverse("timeline-calls", args=[room.incident.slug]), within).content.decode()
    assert "<!doctype html>" in page, "a page of its own without scripts"
    assert "0x3C0000000" in page


def test_many_calls_become_a_heat_map_of_bounded_size_in_which_a_slow_one_stands_alone() -> None:
    room = make_room()
    fast = "".join(f'4117 10:00:{n / 100:09.6f} read(3, "x", 64) = 64 <0.000100>\n' for n in range(4000))
    slow = '4117 10:00:41.000000 connect(7, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.20.0.53")}, 16) = 0 <5.005000>\n'
    make_artifact(room, (fast + slow).encode(), "many.strace", host="app-02")
    run_jobs()
    client = client_of(room)
    [frame] = frames(client, room)
    [lane] = [lane for lane in frame["lanes"] if lane["kind"] == "heat"]
    assert lane["calls"] == sum(n for _, _, n in lane["cells"]) == 4001
    assert lane["columns"] <= 200
    assert len(lane["cells"]) <= 200 * 12
    [alone] = [cell for cell in lane["cells"] if cell[1] == 11]
    assert alone[2] == 1, "5 s above thousands of 0.1 ms"
    [few] = get(
        client, room, "timeline-data", frame=frame["frame"], **{"from": frame["t1"] - 3, "to": frame["t1"]}
    ).json()["frames"]
    assert all(lane["kind"] != "heat" for lane in few["lanes"]), "fewer than 500 in view are seen one by one"
    whole = {"frame": frame["frame"], "from": frame["t0"], "to": frame["t1"]}
    table = words(get(client, room, "timeline-calls", band="11", **whole))
    assert "connect 10.20.0.53:53 1 5.005 s 5.005 s 5.005 s" in table
    by_duration = words(get(client, room, "timeline-calls", by="duration", **whole))
    assert by_duration.index("3.162 s and more") < by_duration.index("4000"), "sorted by total, not by number"
