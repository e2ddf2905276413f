"""Fill a database as after years of use (many rooms, artifacts, findings and notes) and measure its list pages.

`seed(...)` fills the database of the process it runs in (tests/incidents/models/test_query_plans.py uses a share of
it). `python -m benchmarks.seeding [--share 1.0]` starts Exhibit in a folder of its own, fills it and fetches every list
page; the last line is one JSON object: per page the queries and the milliseconds, for a member, and for somebody who is
in all rooms.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

FULL = {"rooms": 1_000, "artifacts": 20_000, "findings": 100_000, "notes": 100_000}
MEASURE = """
import json
from benchmarks import seeding
made = seeding.seed(**{sizes})
print("RESULT" + json.dumps(seeding.fetch(made)))
"""
OBSERVATIONS = 12
"""Number of observations of a room: the seven shown first, and further ones."""
PAGES = ("room", "evidence", "notes", "plan", "status", "members", "activity", "case", "questions")
_REPORT = {
    "verdict": {"state": "cause", "sentence": "New server processes wait up to 2.47 s.", "support": "good", "rules": []},
    "findings": [], "cleared": [], "not_evaluable": [], "artifacts": [], "clocks": [], "clock_map": [], "failed": [],
}  # fmt: skip


def seed(rooms: int, artifacts: int, findings: int, notes: int) -> dict[str, Any]:
    """Insert that many rows, distributed realistically: one room in fifty is ten times as large. Return whom to sign in
    as.

    Rows are written in bulk, bypassing the actions: they cause no events, jobs or files. Statistics are collected at
    the end.
    """
    from django.contrib.auth.models import User
    from django.db import connection
    from django.utils import timezone

    from incidents.models.people.membership import Membership
    from incidents.models.room.activity import Activity
    from incidents.models.room.incident import Incident, RoomCounter, Status
    from incidents.models.room.standing import Milestone

    now = timezone.now().replace(microsecond=0)
    first = User.objects.count()
    users = User.objects.bulk_create(
        User(username=f"seeded{first + n}", password="!", email=f"seeded{first + n}@example.com")
        for n in range(max(20, rooms // 10))
    )
    everywhere = users[0]
    made = Incident.objects.bulk_create(
        Incident(
            slug=f"seeded-{first}-{n}-abcdefgh",
            title=f"Logins to system {n} take {n % 90 / 10} s",
            symptom_text="connect time",
            created_by=users[n % len(users)],
            status=Status.OPEN if n % 10 else Status.CLOSED,
            closed_at=None if n % 10 else now,
            archived_at=now if n % 40 == 0 else None,
        )
        for n in range(rooms)
    )
    people = {
        (room.pk, user.pk): "lead" if place == 0 else "investigator"
        for n, room in enumerate(made)
        for place, user in enumerate(
            [users[n % len(users)], *(users[(n * 7 + k) % len(users)] for k in range(1, 6)), everywhere]
        )
    }
    Membership.objects.bulk_create(
        (Membership(incident_id=room, user_id=user, role=role, team="dba") for (room, user), role in people.items()),
        batch_size=5_000,
    )
    counters = []
    for n, room in enumerate(made):
        head, rows = "", []
        for seq in range(1, 13):
            at = now - timedelta(days=n % 700, minutes=60 - seq)
            rows.append(_deed(Activity, room.pk, seq, at, users[n % len(users)], head))
            head = rows[-1].hash
        Activity.objects.bulk_create(rows)
        counters.append(
            RoomCounter(incident=room, artifact_number=artifacts, event_seq=0, activity_seq=12, activity_head=head)
        )
    RoomCounter.objects.bulk_create(counters)
    Milestone.objects.bulk_create(
        Milestone(incident=room, kind="started", at=now, set_by=users[n % len(users)]) for n, room in enumerate(made)
    )
    _content(made, users, _spread(rooms, artifacts), _spread(rooms, findings), _spread(rooms, notes), now)
    with connection.cursor() as cursor:
        cursor.execute("analyze")
    return {"large": made[0].slug, "small": made[1].slug, "member": users[1].pk, "everywhere": everywhere.pk}


def _deed(model: Any, room: int, seq: int, at: datetime, user: Any, head: str) -> Any:
    row = model(
        incident_id=room, seq=seq, at=at, actor=user, actor_name=user.username, verb="wrote", object=f"note {seq}",
        detail={}, previous=head,
    )  # fmt: skip
    row.hash = row.computed_hash()
    return row


def _claim(n: int) -> dict[str, Any]:
    """Return the first finding of a room, as its newest report has it."""
    said = {"kind": "finding", "group": "contributing", "severity": "minor", "headline": "The CPUs are full"}
    return said | {"rule": "cpu-full", "key": f"{n:06x}{0:010x}", "citations": []}


def _spread(rooms: int, rows: int) -> list[int]:
    """Distribute rows over rooms; each fiftieth, the first among them, gets ten shares.

    >>> _spread(4, 26)
    [20, 2, 2, 2]
    """
    weights = [10 if n % 50 == 0 else 1 for n in range(rooms)]
    each = rows / sum(weights)
    return [round(each * weight) for weight in weights]


def _content(
    rooms: list[Any], users: list[Any], artifacts: list[int], findings: list[int], notes: list[int], now: datetime
) -> None:
    from incidents.models.evidence.artifact import Artifact
    from incidents.models.evidence.reading import Part, Reading
    from incidents.models.judging.finding import Evaluation, Finding, FindingVersion
    from incidents.models.judging.observation import Observation
    from incidents.models.judging.verdict import Verdict
    from incidents.models.plan.action import Action
    from incidents.models.plan.decision import Decision
    from incidents.models.words.note import Note

    evaluations = Evaluation.objects.bulk_create(
        Evaluation(
            incident=room, number=1, inputs_hash="0" * 64, version="seeded", report=_REPORT | {"findings": [_claim(n)]}
        )
        for n, room in enumerate(rooms)
    )
    Verdict.objects.bulk_create(
        Verdict(
            incident=room, evaluation=evaluations[n], state="cause", support="good", support_step=3, layer="os_kernel",
            sentence="New server processes wait up to 2.47 s.", recurs_by=f"H-OS-SHM db{n % 97}", judged_at=now, first_at=now,
        )
        for n, room in enumerate(rooms)
    )  # fmt: skip
    for n, room in enumerate(rooms):
        user = users[n % len(users)]
        held = Artifact.objects.bulk_create(
            Artifact(
                incident=room, number=k + 1, sha256=f"{n:032x}{k:032x}", name=f"vmstat-{k}.out", size=10_000 + k,
                way="page", uploader=user, state="read",
            )
            for k in range(artifacts[n])
        )  # fmt: skip
        read = Reading.objects.bulk_create(
            Reading(artifact=one, number=1, state="complete", kind="vmstat", lines=100, account={"read": 100})
            for one in held
        )
        Part.objects.bulk_create(
            Part(reading=one, part=1, line_from=1, line_to=100, kind="vmstat", account={"read": 100}) for one in read
        )
        for one, reading in zip(held, read, strict=True):
            one.reading = reading
        Artifact.objects.bulk_update(held, ["reading"], batch_size=1_000)
        kept = Finding.objects.bulk_create(
            (
                Finding(
                    incident=room, key=f"{n:06x}{k:010x}", rule="cpu-full", kind="finding", group="contributing", rank=k,
                    gone_since=now if k % 5 else None, host=f"db{n % 97}", said=f"The CPUs of db{n % 97} are full. cpu-full",
                )
                for k in range(findings[n])
            ),
            batch_size=5_000,
        )  # fmt: skip
        said = FindingVersion.objects.bulk_create(
            (
                FindingVersion(
                    finding=one, number=1, evaluation=evaluations[n], content_hash="0" * 64,
                    content={"rule": one.rule, "key": one.key, "headline": "The CPUs are full", "kind": "finding"},
                )
                for one in kept
            ),
            batch_size=5_000,
        )  # fmt: skip
        for finding, version in zip(kept, said, strict=True):
            finding.current = version
        Finding.objects.bulk_update(kept, ["current"], batch_size=1_000)
        Note.objects.bulk_create(
            (
                Note(
                    incident=room, text=f"Seen on db{k % 9}.", author=users[(n + k) % len(users)],
                    finding_key=kept[k % len(kept)].key if kept and k % 3 == 0 else None,
                )
                for k in range(notes[n])
            ),
            batch_size=5_000,
        )  # fmt: skip
        Observation.objects.bulk_create(
            Observation(
                incident=room, rank=k, key=f"{n:06x}{k:010x}", headline=f"login on db{k} waits", said=f"login on db{k} waits",
                artifact_no=1, line_no=k, cited=[1],
            )
            for k in range(1, OBSERVATIONS + 1)
        )  # fmt: skip
        several = max(1, notes[n] // 50)
        Decision.objects.bulk_create(
            Decision(incident=room, question=f"Restart {k}?", author=user) for k in range(several)
        )
        Action.objects.bulk_create(
            Action(incident=room, text=f"Trace login {k}", author=user, owner=user, due_at=now + timedelta(hours=k))
            for k in range(several)
        )


def fetch(made: dict[str, Any]) -> dict[str, Any]:
    """Fetch every list page as a member of few rooms and as one of all; return queries, the slowest one and
    milliseconds.
    """
    import time

    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext
    from django.urls import reverse

    found: dict[str, Any] = {}
    for who in ("member", "everywhere"):
        client = Client(SERVER_NAME="127.0.0.1")
        client.force_login(User.objects.get(pk=made[who]))
        slug = made["large"] if who == "everywhere" else made["small"]
        paths = {page: reverse(page, args=[slug]) for page in (*PAGES, "similar")}
        paths |= {"rooms": "/", "rooms by time": "/?sort=-took", "search common": "/search/?q=seen+on+db7"}
        paths |= {"search rare": "/search/?q=system+77", "search letters": "/search/?q=db"}
        for name, path in paths.items():
            client.get(path)
            with CaptureQueriesContext(
                connection,
            ) as queries:
                began = time.perf_counter()
                answer = client.get(path, follow=True)
                took = time.perf_counter() - began
            slowest = max((float(query["time"]) for query in queries.captured_queries), default=0.0)
            found[f"{who} {name}"] = {
                "status": answer.status_code,
                "queries": len(queries),
                "ms": round(took * 1000),
                "slowest_query_ms": round(slowest * 1000, 1),
            }
    return found


def main() -> None:
    from benchmarks import inside
    from tests.served import served

    about = argparse.ArgumentParser(description="Fill a database and fetch its list pages.")
    about.add_argument(
        "--share", type=float, default=1.0, help="of 1,000 rooms, 20,000 artifacts, 200,000 findings and notes"
    )
    said = about.parse_args()
    sizes = {name: max(2, round(n * said.share)) for name, n in FULL.items()}
    with served() as running:
        found = inside.run(running, MEASURE.format(sizes=sizes))
    for name, cost in found.items():
        print(f"{name:24} {cost}")
    print(json.dumps(sizes | {"pages": found}))


if __name__ == "__main__":
    main()
