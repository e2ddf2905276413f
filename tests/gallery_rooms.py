"""Make the rooms that the pictures show, inside a running Exhibit (benchmarks/inside.py): full, empty, closed, with a failed rule.

Each function prints what it found as one JSON object; `make` needs the evidence that `begin` brought to be judged.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction
from django.urls import reverse

from incidents import access
from incidents.access import Room
from incidents.actions import artifacts, board, exports, members, policy_reports, quarantine, rooms, sample, summary
from incidents.models.people.membership import Membership, Role, Team
from incidents.models.room.bundle import Export
from incidents.models.room.incident import Incident
from incidents.models.room.job import Job
from incidents.models.site.policy_report import FURTHER, Seen
from incidents.storage import store
from incidents.work import analysis
from rules.case.case_yaml import load_case_yaml
from tests.gallery import SHOTS
from tests.incidents.full_room import fill
from tests.served import ROOT

FAILED = {"rule": "LSN-001", "host": None, "error": "the query was stopped after 60 s"}

CASES = ROOT / "tests" / "cases"
#: Verdict states -> the incident whose room is in that state.
IN_STATE = {
    "suspect": "produced/dead-resolver",
    "lead": "produced/expired-certificate",
    "cannot-tell": "healthy/gcc-builds",
    "nothing-wrong": "healthy/machine-sar-idle",
}

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
REPORTS = {
    Seen("script-src-elem", "inline", "lines", ""): 3,
    Seen("connect-src", "https://metrics.of-an-extension.example:8443", "timeline-data", "moz-extension"): 41,
    Seen("style-src-attr", "inline", "room", "js/page.js"): 1,
    FURTHER: 2,
}


def begin() -> None:
    """Open the rooms whose evidence the workers have to read first."""
    ada = User.objects.get(username="ada")
    made = {"full": sample.open_sample(ada), "closed": sample.open_sample(ada, "000")}
    made["failed"] = rooms.create(ada, rooms.Answers(title="Connects hang"))
    made["empty"] = rooms.create(ada, rooms.Answers(title="Nothing is here yet"))
    made["undecided"] = sample.open_sample(ada, "004")
    made |= {state: _of_case(ada, CASES / name) for state, name in IN_STATE.items()}
    made["unread"] = rooms.create(ada, rooms.Answers(title="The dump says nothing"))
    unread = access.enter(ada, made["unread"].slug)
    artifacts.receive_stream(unread, "core.bin", [bytes(range(256)) * 64])
    lead = access.enter(ada, made["failed"].slug)
    artifacts.receive_stream(
        lead, "times.txt", [b"".join(b"time elapsed : 0,%02d\n" % (30 + n % 7) for n in range(20))]
    )
    _told({name: room.slug for name, room in made.items()})


def _of_case(user: User, folder: Path) -> Incident:
    """Open a room with a recorded incident: its symptom, hosts and files."""
    told = load_case_yaml((folder / "case.yaml").read_text(encoding="utf-8"))
    symptom = told.symptom
    answers = rooms.Answers(
        title=told.title or folder.name,
        symptom_text=symptom.text if symptom else None,
        symptom_unit=symptom.unit if symptom else None,
        symptom_bad=symptom.bad if symptom else None,
        symptom_normal=symptom.normal if symptom else None,
        hosts=tuple(rooms.HostAnswer(name, host.os) for name, host in told.hosts.items()),
    )
    room = access.enter(user, rooms.create(user, answers).slug)
    for entry in told.artifacts:
        artifacts.receive_stream(room, entry.file, [(folder / entry.file).read_bytes()])
    return room.incident


def settled() -> None:
    """Say how many jobs are left."""
    _told({"left": Job.objects.exclude(state__in=("done", "failed")).count()})


def make(slugs: dict[str, str]) -> None:
    """Fill, close and break the rooms that `begin` opened; say what the addresses name."""
    ada = User.objects.get(username="ada")
    full = access.enter(ada, slugs["full"])
    fill(full)
    vera = User.objects.create_user("vera", password="a long enough one")
    Membership.objects.create(incident=full.incident, user=vera, role=Role.VIEWER, team=Team.NETWORK)
    new = User.objects.create_user("newcomer", password="a long enough one")
    for seen, times in REPORTS.items():
        for _ in range(times):
            policy_reports.note(seen, AGENT)
    _fail(access.enter(ada, slugs["failed"]).incident)
    rooms.close(access.enter(ada, slugs["closed"]))
    found = slugs | _inside(full) | {"brought": _brought(full), "redacted": str(_exported(full, "redacted").pk)}
    found |= {"vera": _session(vera), "new": _session(new), "ada": _session(ada)}
    _told(found)


def key() -> None:
    _told({"ada": _session(User.objects.get(username="ada"))})


def addresses(names: dict[str, Any]) -> None:
    """Say the path of each picture, with what the rooms hold in its places."""
    _told(
        {
            shot.label: reverse(shot.name, args=[arg.format(**names) for arg in shot.args])
            + shot.address.format(**names)
            for shot in SHOTS
        }
    )


def _brought(full: Room) -> str:
    """Have the workers make a bundle of a room, open another room from it, and say its slug."""
    export = _exported(full, "tables")
    with store.bundle_path(full.incident.pk, export.pk).open("rb") as file:
        incoming = store.receive_all(iter(lambda: file.read(2**20), b""))
    try:
        return exports.bring(full.user, incoming).slug
    finally:
        incoming.discard()


def _exported(full: Room, holds: str) -> Export:
    export = exports.ask(full, holds)
    until = time.monotonic() + 120
    while export.going and time.monotonic() < until:
        time.sleep(1)
        export.refresh_from_db()
    return export


def _inside(full: Room) -> dict[str, Any]:
    room = full.incident
    request = room.requests.filter(state="open").order_by("pk")[0]
    names = {artifact.name: artifact.number for artifact in room.artifacts.all()}
    return {
        "finding": room.findings.filter(gone_since=None, group="cause").values_list("key", flat=True)[0],
        "observation": room.evaluations.order_by("-number")[0].report["observations"][0]["key"],
        "truss": names["truss-listener.txt"],
        "asks": names["messages-0"],
        "unknown": names["unknown-0.txt"],
        "note": room.notes.filter(reply_to=None).order_by("pk")[0].pk,
        "decision": room.decisions.order_by("pk")[0].pk,
        "action": room.actions.exclude(state="done").order_by("pk")[0].pk,
        "entry": room.entries.order_by("pk")[0].pk,
        "follow_up": room.follow_ups.order_by("pk")[0].pk,
        "argument": board.argue(full, board.Said("Pings stayed at 0.2 ms all night.", {"H-NET": "against"})).pk,
        "cause": room.free_causes.order_by("pk")[0].pk,
        "request": request.pk,
        "version": room.summary_versions.order_by("number")[0].number,
        "hook": room.webhooks.order_by("pk")[0].pk,
        "invitation": members.invite(full, Role.INVESTIGATOR),
        "gift": quarantine.make_link(full, request.pk),
        "share": summary.share(full, 1, "the board"),
        **_frame(room),
    }


def _frame(room: Incident) -> dict[str, Any]:
    """A stretch of the first frame of the timeline, for the page of a range."""
    report = room.evaluations.order_by("-number")[0].report
    clock = next(c for c in report["clocks"] if c["t_begin"] is not None)
    return {"frame": clock["frame"], "from": clock["t_begin"], "to": clock["t_end"]}


def _fail(room: Incident) -> None:
    """Store a report in which a rule failed, as the judging worker does."""
    report = room.evaluations.order_by("-number")[0].report | {"failed": [FAILED]}
    with transaction.atomic():
        analysis.save_report(room, analysis.case_of(room), report)


def _session(user: User) -> str:
    session = SessionStore()
    session["_auth_user_id"] = str(user.pk)
    session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
    session["_auth_user_hash"] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key)


def _told(found: dict[str, Any]) -> None:
    print("RESULT" + json.dumps(found))
