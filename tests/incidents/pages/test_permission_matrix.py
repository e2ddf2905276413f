"""Who may call which address: every address of the application, every kind of person.

An address without a row fails the test, so that nobody adds one without saying who may come in. Left out by rule:
`admin/` (Django's administration: asks for staff, shown below) and `accounts/` (allauth: sign-in itself, holds nothing
of any room). The ASGI application for uploads has no entry in the resolver; tests/incidents/doors/test_uploads.py is its matrix.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.http import FileResponse
from django.test import Client, override_settings
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from incidents import access
from incidents.access import Room
from incidents.actions import (
    accounts,
    board,
    keeping,
    members,
    names,
    notes,
    plan,
    quarantine,
    queries,
    requests,
    thresholds,
    tokens,
    webhooks,
)
from incidents.actions import review as reviews
from incidents.actions import summary as summaries
from incidents.content import rulebook
from incidents.models.evidence.archive import NOT_RECOGNISED, ArchiveMember
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.request import EvidenceRequest
from incidents.models.people.membership import Role
from incidents.models.room.bundle import Export
from incidents.models.room.incident import Incident
from incidents.models.words.note import Note
from incidents.storage import store
from tests.incidents.conftest import make_member, make_room, make_user, undone
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import NOTE, Judged, make_judged

LEFT_OUT = {
    "admin/": "Django's administration asks for staff itself",
    "accounts/": "allauth: sign-in, nothing of a room",
    "api/v1/": "its own matrix, by operations: tests/incidents/doors/rest/test_matrix.py",
}

# From least to most: each role has all permissions of those before it.
ROLES = ("viewer", "investigator", "lead", "admin")
OUTSIDE = ("anonymous", "stranger", "other team")
# Texts of the room: none of them may stand in an answer to somebody who is refused.
SECRETS = (
    "Logins to QPROD",
    "truss-listener",
    NOTE,
    "DISM",
    "at most 0.080 s",
    "keeps its connections",
    "Restart in the night",
    "T0HOOKPATH",
    "pings to the gateway",
    "connect time",
)


@dataclass(frozen=True)
class Row:
    """`least`: the role that may, "site": administrators only; None: everybody who is signed in; "open": everybody at all.

    `ok`: what they get.
    """

    least: str | None
    method: str = "get"
    ok: tuple[int, ...] = (200,)
    args: Callable[[Judged], tuple[Any, ...]] = lambda room: (room.slug,)
    data: dict[str, Any] = field(default_factory=dict)
    anonymous: int = 302
    # Words of the glossary and the rules that stand on these pages whatever rooms hold.
    public: tuple[str, ...] = ()


def left_out(room: Judged) -> tuple[Any, ...]:
    """Return a file of an archive that no format recognises."""
    archive = Artifact.objects.get(incident__slug=room.slug, number=1)
    fields = {"path": "notes.bin", "size": 3, "why": NOT_RECOGNISED}
    ArchiveMember.objects.get_or_create(archive=archive, position=1, defaults=fields)
    return (room.slug, 1, 1)


def in_room(*more: Any) -> Callable[[Judged], tuple[Any, ...]]:
    return lambda room: (room.slug, *more)


def of_note(room: Judged) -> tuple[Any, ...]:
    return (room.slug, room.note.pk)


def of_dispute(room: Judged) -> tuple[Any, ...]:
    """Return the investigator's own dispute, whose author gets 422 and must withdraw it instead."""
    return (room.slug, room.lead.incident.disputes.get().pk)


def removed_name(room: Judged) -> tuple[Any, ...]:
    row = names.put(room.lead, "port", "7001", "our order service")
    names.remove(room.lead, row.pk)
    return (room.slug, row.pk)


def held(room: Judged) -> tuple[Any, ...]:
    """A room under a legal hold of its lead."""
    if not Incident.objects.get(slug=room.slug).held:
        keeping.hold(room.lead, "letter of the court")
    return (room.slug,)


def leaving(room: Judged) -> tuple[Any, ...]:
    """A room that is to be deleted."""
    if not Incident.objects.get(slug=room.slug).to_be_deleted:
        keeping.announce(room.lead, "by contract")
    return (room.slug,)


def nothing(room: Judged) -> tuple[Any, ...]:
    return ()


def upload_token(room: Judged) -> tuple[Any, ...]:
    tokens.create(room.lead, "db1")
    return (room.slug, room.lead.incident.upload_tokens.get().pk)


def invitation(room: Judged) -> tuple[Any, ...]:
    # Made in another room: it shows the title of that room to whoever holds it, and nothing of this one.
    return (members.invite(make_room(title="Another room"), Role.VIEWER),)


def first_link(room: Judged) -> tuple[Any, ...]:
    path = accounts.first_admin_link()
    return (path.split("/")[2] if path else "none",)


def deleted_note(room: Judged) -> tuple[Any, ...]:
    notes.delete(room.lead, room.note.pk)
    return of_note(room)


def decision(*more: Any) -> Callable[[Judged], tuple[Any, ...]]:
    """Return a function that makes the investigator's decision and returns `more`, then its number."""
    return lambda room: (room.slug, *more, plan.put_decision(room.investigator, {"question": PLANNED}).pk)


def action(*more: Any) -> Callable[[Judged], tuple[Any, ...]]:
    return lambda room: (room.slug, *more, plan.put_action(room.investigator, {"text": PLANNED}).pk)


def taken_away(room: Judged) -> tuple[Any, ...]:
    row = plan.put_action(room.investigator, {"text": PLANNED})
    return (room.slug, "actions", plan.delete_action(room.lead, row.pk).pk)


def entry(*more: Any) -> Callable[[Judged], tuple[Any, ...]]:
    """Return a function that makes the investigator's log entry and returns `more`, then its number."""
    return lambda room: (room.slug, *more, plan.put_entry(room.investigator, {"kind": "step", "text": PLANNED}).pk)


def followed_up(room: Judged) -> tuple[Any, ...]:
    """Make a follow-up of the investigator."""
    return (room.slug, reviews.put_follow_up(room.investigator, {"text": PLANNED}).pk)


def frozen(*more: Any) -> Callable[[Judged], tuple[Any, ...]]:
    """Return a function that freezes a version and returns its number, then `more`."""
    return lambda room: (room.slug, summaries.freeze(room.lead, "").number, *more)


def share_link(room: Judged) -> tuple[Any, ...]:
    # Of another room: it shows that room's summary to whoever holds it, and nothing of this one.
    other = make_room(title="Another room")
    return (summaries.share(other, summaries.freeze(other, "").number, "the board"),)


def hook(room: Judged) -> tuple[Any, ...]:
    made = webhooks.add(room.lead, "https://chat.example.com/hooks/" + HOOK_PATH, ["verdict"])
    return (room.slug, made.pk)


def wanted(room: Judged) -> EvidenceRequest:
    """Make a request of the investigator."""
    return requests.put(room.investigator, {"what": "A trace of one login", "command": "vmstat 5 12"})


def request(*more: Any) -> Callable[[Judged], tuple[Any, ...]]:
    return lambda room: (room.slug, wanted(room).pk, *more)


def give_link(room: Judged) -> tuple[Any, ...]:
    # Of this very room: whoever holds it must learn nothing of it.
    return (quarantine.make_link(room.lead, wanted(room).pk),)


def quarantined(room: Judged) -> tuple[Any, ...]:
    row = wanted(room)
    link = quarantine.look_at(quarantine.make_link(room.lead, row.pk))
    incoming = store.receive_all([b"what a stranger sent"])
    file = quarantine.enter(link, incoming, "sent.txt")
    incoming.discard()
    return (room.slug, row.pk, file.pk)


def argument(room: Judged) -> tuple[Any, ...]:
    """Make a board row of the investigator: only its author may edit it, a lead may remove it."""
    said = board.Said(ARGUED, {"H-NET": "for"})
    row = room.lead.incident.arguments.filter(reason=ARGUED, removed_at=None).first()
    return (room.slug, (row or board.argue(room.investigator, said)).pk)


def argument_off(room: Judged) -> tuple[Any, ...]:
    return (room.slug, board.take_off(room.lead, argument(room)[1]).pk)


def cause(room: Judged) -> tuple[Any, ...]:
    return (room.slug, board.put_cause(room.investigator, "H-TAPE", "the tape", None).pk)


def cause_off(room: Judged) -> tuple[Any, ...]:
    return (room.slug, board.take_cause_off(room.lead, cause(room)[1]).pk)


ARGUED = "pings to the gateway were slow"


def shared_query(room: Judged) -> tuple[Any, ...]:
    return (room.slug, queries.save(room.lead, "Calls", "select 1", shared=True).pk)


def set_value(room: Judged) -> tuple[Any, ...]:
    rule = rulebook.rule_of("SHM-001")
    assert rule is not None
    until = timezone.now().date() + timedelta(days=3)
    made = thresholds.set_threshold(room.investigator, rule, "min_stall_s", 0.2, "fast host", until)
    return (room.slug, "values", made.pk)


def ready_bundle(room: Judged) -> tuple[Any, ...]:
    incident = room.lead.incident
    now = timezone.now()
    row = Export.objects.create(
        incident=incident,
        holds="tables",
        state="ready",
        size=3,
        ready_at=now,
        expires_at=now + timedelta(days=7),
        made_by=room.lead.user,
    )
    path = store.bundle_path(incident.pk, row.pk)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"tar")
    return (room.slug, row.pk)


def redacted(room: Judged) -> tuple[Any, ...]:
    slug, id = ready_bundle(room)
    Export.objects.filter(pk=id).update(holds="redacted", names={"host-0123456789": ["host", "truss-listener"]})
    return (slug, id)


PLANNED = "Restart in the night?"
HOOK_PATH = "T0HOOKPATH"
FIRST = reports.CAUSE_KEY
NO_ROWS = {
    f"{name}-{field}": n
    for name in ("hosts", "markers", "phases", "statements", "names")
    for field, n in (("TOTAL_FORMS", 0), ("INITIAL_FORMS", 0))
}

MATRIX: dict[str, list[Row]] = {
    "help": [Row(None, args=nothing, public=("DISM", "connect time"))],
    "signatures": [Row(None, args=nothing, public=("DISM", "connect time"))],
    "help-term": [Row(None, args=lambda room: ("call.shmat",))],
    "rules": [Row(None, args=nothing, public=("DISM", "connect time"))],
    "rule": [Row(None, args=lambda room: ("LSN-012",))],
    "finding-explain": [Row("viewer", args=in_room(FIRST))],
    "rooms": [Row(None, args=nothing)],
    "room-new": [
        Row(None, args=nothing),
        Row(None, "post", (302,), nothing, {"title": "Slow", "hosts-TOTAL_FORMS": 0, "hosts-INITIAL_FORMS": 0}),
    ],
    "rooms-csv": [Row(None, args=nothing)],
    "sample": [Row(None, "post", (302,), nothing), Row(None, "post", (404,), nothing, {"number": "../001"})],
    # Results and counts of a search: views/test_search.py. Within a room that one may not know of: 404 like any other.
    "search": [
        Row(None, args=nothing, data={"q": "wait"}),
        Row(None, args=nothing, data={"q": "wait", "kind": "note"}),
        Row(None, args=nothing, data={"q": "wait", "kind": "line"}),
        Row(
            None, ok=(404,), args=nothing, data={"q": "wait", "kind": "line", "room": "x", "artifact": "1", "page": "1"}
        ),
    ],
    "similar": [Row("viewer")],
    "flame-graph": [Row("viewer"), Row("viewer", data={"view": "callers", "find": "read"})],
    "join": [Row("open", args=invitation, anonymous=200), Row(None, "post", (302,), invitation, anonymous=200)],
    # Once there is an administrator, as in the last of the calls, the link is dead (test_accounts.py).
    "first-admin": [Row("open", ok=(200, 401), args=first_link, anonymous=200)],
    "site": [Row("site", args=nothing)],
    "sign-ins": [Row("site", args=nothing), Row("site", args=nothing, data={"q": "ada", "only": "refused"})],
    "site-rooms": [Row("site", args=nothing)],
    "policy": [Row("site", args=nothing), Row("site", "post", (302,), nothing)],
    # Browsers send it by themselves; what is no report is refused.
    "policy-reports": [Row("open", "post", (415,), nothing, anonymous=415)],
    # With the setting: pages/site/test_metrics.py. It asks for a token, and for no account.
    "metrics": [Row("open", ok=(404,), args=nothing, anonymous=404)],
    "healthz": [
        Row("open", args=nothing, anonymous=200),
        Row("open", args=nothing, data={"backup": ""}, anonymous=200),
    ],
    "room": [Row("viewer")],
    "findings": [Row("viewer", ok=(302,))],
    "finding": [Row("viewer", args=in_room(FIRST))],
    # The room of these tests observes nothing; test_observation.py opens one.
    "observation": [Row("viewer", ok=(404,), args=in_room(FIRST))],
    "dispute": [Row("investigator", "post", (302,), in_room(FIRST), {"reason": "No."})],
    "finding-copy": [Row("viewer", args=in_room(FIRST, "text")), Row("viewer", args=in_room(FIRST, "markdown"))],
    "verdict-copy": [Row("viewer", args=in_room("text")), Row("viewer", args=in_room("markdown"))],
    "board": [Row("viewer")],
    "board-say": [
        Row("investigator"),
        Row("investigator", "post", (302,), data={"reason": ARGUED, "word_H-NET": "for"}),
    ],
    # Its author alone (the investigator): a lead may take it off, but not change somebody's words.
    "board-said": [Row("investigator", ok=(200, 403), args=argument)],
    "board-said-off": [Row("investigator", "post", (302,), argument)],
    "board-said-back": [Row("investigator", "post", (302,), argument_off)],
    "board-cause-new": [
        Row("investigator"),
        Row("investigator", "post", (302,), data={"code": "H-TAPE", "cause": "the tape"}),
    ],
    "board-cause": [Row("investigator", args=cause)],
    "board-cause-off": [Row("investigator", "post", (302,), cause)],
    "board-cause-back": [Row("investigator", "post", (302,), cause_off)],
    "take-over": [Row("lead", "post", (409,))],
    "timeline-data": [Row("viewer")],
    "timeline-lanes": [Row("viewer")],
    "timeline-waits": [Row("viewer")],
    "timeline-picture": [Row("viewer")],
    "timeline-rows": [
        *(
            Row("viewer", ok=(404,), args=in_room(form), data={"frame": "A"})
            for form in ("csv", "parquet", "trace", "jsonl", "otlp")
        ),
        *(Row("viewer", args=in_room(form)) for form in ("jsonl", "otlp")),
    ],
    # Nothing is read yet, so there is no frame to look at; test_ranges.py asks in a judged room.
    "timeline-range": [Row("viewer", ok=(404,), data={"frame": "A"})],
    "timeline-calls": [Row("viewer", ok=(404,), data={"frame": "A"})],
    "timeline-span": [Row("viewer", ok=(409,), args=in_room(), data={"artifact": "1", "from": "1"})],  # not read yet
    "timeline-bad": [
        Row(
            "investigator",
            "post",
            (302,),
            data={"clock": "1.1:1", "from": "9", "to": "10", "text": "slow", "bad": "3.9"},
        )
    ],
    # One's own choice of lanes is no word to the others; the room's is.
    "timeline-keep": [
        Row("viewer", "post", data={"lanes": '{"A": {"add": ["cpu"]}}'}),
        Row("investigator", "post", data={"lanes": '{"A": {"add": ["cpu"]}}', "shared": "true"}),
    ],
    "figure-conn-times": [Row("viewer")],
    "evidence": [Row("viewer")],
    "evidence-add": [
        Row("investigator"),
        Row("investigator", "post", (302,), data={"name": "a.txt", "text": "a line"}),
    ],
    "collector": [Row("investigator", data={"system": "aix"}), Row("investigator", ok=(404,), data={"system": "x"})],
    "lines": [Row("viewer", args=in_room(1))],
    "lines-data": [Row("viewer", ok=(409,), args=in_room(1))],  # not read yet
    "original": [Row("lead", args=in_room(1))],
    "correct": [
        Row("investigator", args=in_room(1)),
        Row("investigator", "post", (302,), in_room(1), {"host": "db1"}),
    ],
    "take-in": [Row("investigator", "post", (302,), left_out)],
    "questions": [Row("viewer"), Row("investigator", "post", (409,), data={"host": "db1", "tz": "UTC"})],
    "question": [
        Row("viewer", args=in_room(1)),
        Row("investigator", "post", (409,), in_room(1), {"part": "1", "ask": "year", "value": "2016"}),
    ],
    "kind": [
        Row("viewer", args=in_room(1)),
        Row("investigator", "post", (302,), in_room(1), {"kind": "truss"}),
    ],
    "borders": [
        Row("investigator", "post", (302,), in_room(1), {"do": "prose", "line_from": 1, "line_to": 2}),
        Row("investigator", "post", (409,), in_room(1), {"do": "undo"}),
    ],
    "masks": [Row("lead", "post", (404,), in_room(1), {"line": 1, "begin": 0, "end": 4, "reason": "needed"})],
    "stop": [Row("investigator", "post", (302,), in_room(1))],
    "retry": [Row("investigator", "post", (302,), in_room(1))],
    "purge": [Row("lead", args=in_room(1)), Row("lead", "post", (302,), in_room(1), {"reason": "by mistake"})],
    "notes": [Row("viewer"), Row("investigator", "post", (302,), data={"text": "A remark."})],
    "note-new": [Row("investigator", data={"clock": "1.1:1", "from": "1", "to": "2", "lane": "syscalls"})],
    "note-thread": [
        Row("viewer", args=of_note),
        Row("investigator", "post", (302,), of_note, {"text": "A reply."}),
    ],
    "note-history": [Row("viewer", args=of_note)],
    "note-resolve": [Row("investigator", "post", (302,), of_note)],
    "note-reopen": [Row("investigator", "post", (302,), of_note)],
    "complete": [Row("viewer", data={"sign": "#", "q": ""}), Row("viewer", data={"sign": "@", "q": "a"})],
    "dispute-answer": [Row("investigator", "post", (302, 422), of_dispute, {"answer": "It does not."})],
    # The password is asked for again first (test_former_members.py).
    "account-close": [Row(None, ok=(302,), args=nothing), Row(None, "post", (302,), nothing, {"username": "?"})],
    # Everybody sees and ends their own only (test_devices.py).
    "devices": [Row(None, args=nothing), Row(None, "post", (404,), nothing, {"do": "end", "device": "0"})],
    # Everybody sees and revokes their own only (test_access_tokens.py).
    "access-tokens": [
        Row(None, args=nothing),
        Row(None, "post", (422,), nothing, {"label": "the dashboard"}),
        Row(None, "post", (404,), nothing, {"do": "revoke", "token": "0"}),
    ],
    "api-reference": [Row("open", args=nothing, anonymous=200)],
    "notifications": [Row(None, args=nothing), Row(None, "post", (302,), nothing, {"do": "all"})],
    # The note is an investigator's own: leads may change it, another investigator may not (test_notes.py).
    "note": [
        Row("investigator", args=of_note),
        Row("investigator", "post", (302,), of_note, {"text": "Other words.", "version": 1}),
    ],
    "note-delete": [Row("investigator", "post", (200,), of_note)],
    "note-restore": [Row("investigator", "post", (302,), deleted_note)],
    "case": [
        Row("viewer"),
        Row("investigator", "post", (302,), data={"form": "case", "title": "Slow", **NO_ROWS}),
        Row("investigator", "post", (302,), data={"form": "status", "status": "mitigated"}),
        Row("lead", "post", (302,), data={"form": "status", "status": "closed"}),
    ],
    # Without a judged reading there is nothing to compare: the page says so (views/test_compare.py has the rest).
    "compare": [Row("viewer"), Row("viewer", ok=(422,), data={"a": "phase:x", "b": "phase:y"})],
    "compare-figure": [Row("viewer")],
    "compare-ledger": [Row("viewer", args=in_room("csv")), Row("viewer", args=in_room("md"))],
    "compare-border": [
        Row("investigator", ok=(404,), data={"artifact": "1", "line": "3"}),
        Row(
            "investigator", "post", (404,), data={"artifact": "1", "line": "3", "first": "before", "second": "after-1"}
        ),
        Row("investigator", "post", (404,), data={"do": "undo", "made": "1.2-3"}),
    ],
    "case-yaml": [Row("viewer")],
    "name-back": [Row("investigator", "post", (302,), removed_name)],
    "clocks": [
        Row("viewer"),
        Row(
            "viewer", ok=(404,), data={"part": "try", "clock": "1.1:1", "ref": "2.1:1", "at": "3"}
        ),  # nothing is tied yet
        Row("investigator", "post", (422,)),
        Row("investigator", "post", (404,), data={"do": "remove"}),
    ],
    "plan": [Row("viewer")],
    "update": [
        Row("viewer"),
        Row("investigator", "post", (409,), data={"do": "give"}),  # none is promised
    ],
    "review": [Row("viewer")],
    "review-edit": [Row("investigator"), Row("investigator", "post", (302,), data={"helped": "A trace."})],
    "review-export": [Row("viewer", args=in_room(form)) for form in ("md", "pdf")],
    # What is listed: rooms that one may know of (test_follow_ups.py).
    "follow-ups": [Row(None, args=nothing, data={"show": show}) for show in ("", "open", "done")],
    "follow-up-new": [Row("investigator"), Row("investigator", "post", (302,), data={"text": "Replace it"})],
    "follow-up": [
        Row("investigator", args=followed_up),
        Row("investigator", "post", (302,), followed_up, {"text": "Replace both"}),
    ],
    "follow-up-do": [Row("investigator", "post", (302,), followed_up, {"do": "done"})],
    "log": [Row("viewer"), Row("viewer", data={"kind": "decision"})],
    "log-new": [
        Row("investigator"),
        Row("investigator", "post", (422,), data={"kind": "step", "text": "Looked"}),
    ],
    "log-entry": [
        Row("investigator", args=entry()),
        Row("investigator", "post", (422,), entry(), {"kind": "step", "text": "Looked twice"}),
    ],
    "decision-new": [Row("investigator"), Row("investigator", "post", (302,), data={"question": "Now?"})],
    "decision": [
        Row("investigator", args=decision()),
        Row("investigator", "post", (302,), decision(), {"question": "Now?", "outcome": "Yes."}),
    ],
    "action-new": [Row("investigator"), Row("investigator", "post", (302,), data={"text": "Trace it"})],
    "action": [
        Row("investigator", args=action()),
        Row("investigator", "post", (302,), action(), {"text": "Trace it twice"}),
    ],
    "action-done": [
        Row("investigator", args=action()),
        Row("investigator", "post", (302,), action(), {"at": "2016-04-14T08:00:00", "changed": "sga_target"}),
    ],
    "action-state": [Row("investigator", "post", (302,), action(), {"state": "doing"})],
    # The investigator's own: a lead may take it away, another investigator may not (views/test_plan.py).
    "plan-delete": [
        Row("investigator", "post", (302,), action("actions")),
        Row("investigator", "post", (302,), decision("decisions")),
        Row("investigator", "post", (302,), entry("entries")),
    ],
    "plan-restore": [Row("investigator", "post", (302,), taken_away)],
    "summary": [Row("viewer")],
    "summary-versions": [
        Row("viewer"),
        Row("lead", "post", (302,), data={"why": "For the board"}),
    ],
    "summary-version": [Row("viewer", args=frozen())],
    "summary-changes": [Row("viewer", ok=(404,), data={"from": "1"})],  # nothing is frozen yet
    "summary-export": [
        Row("viewer", args=in_room(0, "html")),
        Row("viewer", args=in_room(0, "md")),
        Row("viewer", args=frozen("html")),
    ],
    "summary-edit": [
        Row("lead", args=in_room("cause")),
        Row("lead", "post", (302,), in_room("cause"), {"text": "Mine.", "way": "instead", "seen": 0}),
    ],
    "summary-links": [
        Row("lead"),
        Row("lead", "post", (422,), data={"do": "share", "label": "the board", "version": 1, "days": 7}),
        Row("lead", "post", (404,), data={"do": "revoke", "link": 0}),
    ],
    "shared-summary": [Row("open", args=share_link, anonymous=200)],
    "requests": [Row("viewer")],
    "request-new": [Row("investigator"), Row("investigator", "post", (302,), data={"what": "A trace"})],
    "request": [Row("viewer", args=request())],
    "request-edit": [
        Row("investigator", args=request()),
        Row("investigator", "post", (302,), request(), {"what": "Another trace"}),
    ],
    # The investigator's own: a lead may take it back, another investigator may not (views/test_requests.py).
    "request-state": [Row("investigator", "post", (302,), request(), {"do": "withdraw"})],
    "request-answer": [
        Row("investigator", "post", (302,), request(), {"do": "artifact", "artifact": 1}),
        Row("investigator", "post", (302,), request(), {"do": "text", "text": "procs memory"}),
        Row("investigator", "post", (302,), request(), {"do": "decline", "artifact": 1}),
    ],
    "request-link": [
        Row("investigator", "post", (200,), request(), {"hours": 1, "most": 1, "mib": 1}),
        Row("investigator", "post", (404,), request(), {"do": "revoke", "link": 0}),
    ],
    "request-file": [
        Row("investigator", "post", (302,), quarantined, {"do": "take"}),
        Row("investigator", "post", (302,), quarantined, {"do": "refuse", "reason": "Not ours."}),
    ],
    "collect": [Row("viewer"), Row("viewer", data={"system": "aix", "symptom": "disk", "download": "1"})],
    "give": [
        Row("open", args=give_link, anonymous=200),
        Row("open", "post", (302,), give_link, {"text": "procs memory"}, anonymous=302),
        Row("open", ok=(401,), args=lambda room: ("nonsense",), anonymous=401),
    ],
    # Questions themselves cost a child each: test_ask.py asks, as viewer, in closed and archived rooms, too.
    "ask": [Row("viewer"), Row("viewer", "post", (422,), data={"sql": ""})],
    "ask-rows": [Row("viewer", "post", (413,), in_room(form), {"sql": "x" * 70_000}) for form in ("csv", "parquet")],
    "ask-stop": [Row("viewer", "post", (302,))],
    "ask-rule": [Row("viewer", "post", (422,), data={"sql": "select 1"})],
    # One's own queries are no word to the others; what the room shares is.
    "ask-save": [
        Row("viewer", "post", (302,), data={"sql": "select 1", "title": "Mine"}),
        Row("investigator", "post", (302,), data={"sql": "select 1", "title": "Ours", "shared": "on"}),
    ],
    # The lead's own, shared: an investigator may not take it away (403 from `people`), a private one is not there (test_ask.py).
    "ask-saved": [Row("lead", "post", (302,), shared_query, {"do": "delete"})],
    "thresholds": [
        Row("viewer"),
        Row("investigator", "post", (422,), data={"rule": "SHM-001", "param": "min_stall_s", "value": "-1"}),
    ],
    "threshold": [
        Row("investigator", "post", (302,), set_value),
        Row("investigator", "post", (404,), in_room("hidden", 0)),
    ],
    "status": [
        Row("viewer"),
        Row("investigator", "post", (302,), data={"now": "detected"}),
        Row("investigator", "post", (302,), data={"mitigated": "2016-04-14T08:10:00"}),
    ],
    "close": [Row("lead", "post", (302,), data={"do": "close"}), Row("lead", "post", (409,), data={"do": "reopen"})],
    "ask-next": [Row("investigator", "post", (409,), data={"ask": "0" * 16})],
    "here": [Row("viewer", "post", (400,), data={"path": "/rooms/another/"})],
    "webhooks": [
        Row("lead"),
        Row("lead", "post", data={"url": "https://chat.example.com/hooks/x", "kinds": ["verdict"]}),
    ],
    "webhook": [Row("lead", args=hook), Row("lead", "post", (302,), hook, {"do": "pause"})],
    "handover": [
        Row("lead", "post", (422,), data={"do": "offer", "to": "0"}),
        Row("viewer", "post", (409,), data={"do": "accept"}),
        Row("lead", "post", (409,), data={"do": "withdraw"}),
    ],
    "members": [
        Row("viewer"),
        Row("lead", "post", (404,), data={"do": "remove", "member": 0}),
        Row("lead", "post", (404,), data={"do": "change", "member": 0, "role": "lead", "team": "dba"}),
        Row("lead", "post", (404,), data={"do": "revoke", "invitation": 0}),
    ],
    "invite": [Row("lead", "post", data={"role": "viewer", "team": "dba"})],
    "activity": [Row("viewer")],
    "activity-verify": [Row("viewer", "post")],
    "keeping": [
        Row("viewer"),
        Row("lead", "post", (302,), data={"do": "days", "which": "days", "days": "30"}),
        Row("lead", "post", (302,), data={"do": "hold", "reason": "letter of the court"}),
        Row("lead", "post", (302,), held, {"do": "lift", "reason": "settled"}),
        Row("lead", "post", (302,), data={"do": "delete", "reason": "by contract"}),
        Row("lead", "post", (302,), leaving, {"do": "undo"}),
    ],
    "export": [
        Row("viewer"),
        Row("lead", "post", (302,), data={"do": "make", "holds": "tables"}),
        Row("lead", "post", (404,), data={"do": "remove", "bundle": "0"}),
    ],
    "export-bundle": [Row("lead", args=ready_bundle)],
    "export-names": [
        Row("lead", args=redacted),
        Row("lead", "post", (200,), redacted, {"text": "host-0123456789"}),
        Row("lead", ok=(404,), args=ready_bundle),
    ],
    "export-found": [
        Row("viewer", args=in_room("findings", "csv")),
        Row("viewer", args=in_room("observations", "csv")),
        Row("viewer", args=in_room("found", "sarif")),
        Row("viewer", args=in_room("annotations", "json")),
        Row("viewer", ok=(404,), args=in_room("secrets", "csv")),
    ],
    # This room came from no bundle; test_export.py brings one.
    "origin": [Row("viewer", ok=(404,))],
    "room-import": [Row(None, args=nothing), Row(None, "post", (422,), nothing, {"key": "RW"})],
    "stream": [Row("viewer", anonymous=404)],
    "api-report": [Row("viewer", anonymous=401)],
    "api-observations": [Row("viewer", anonymous=401)],
    # With an upload token too: tests/incidents/doors/api/test_wanted.py.
    "api-wanted": [Row("investigator", anonymous=401, data={"os": "linux", "release": "5.14", "host": "db1"})],
    "api-tokens": [
        Row("lead", anonymous=401),
        Row("lead", "post", (201,), data={"label": "db1", "hours": "1"}, anonymous=401),
    ],
    "api-token": [Row("lead", "delete", (204,), upload_token, anonymous=401)],
}


def addresses(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, str | None]]:
    for entry in resolver.url_patterns:
        route = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from addresses(entry, route)
        elif isinstance(entry, URLPattern):
            yield route, entry.name


def test_every_address_has_a_row():
    known = {
        name for route, name in addresses(get_resolver()) if not any(route.startswith(prefix) for prefix in LEFT_OUT)
    }
    assert None not in known, "an address without a name cannot be in the matrix"
    assert known == set(MATRIX)


def caller(who: str, room: Judged) -> Client:
    client = Client()
    match who:
        case "anonymous":
            return client
        case "stranger":
            client.force_login(make_user())
        case "other team":
            client.force_login(make_room(title="Another team's room").user)
        case "admin":
            client.force_login(make_user(is_superuser=True, is_staff=True))
        case "lead":
            client.force_login(make_member(room.lead.incident, Role.LEAD).user)
        case "investigator":
            client.force_login(room.investigator.user)
        case "viewer":
            client.force_login(room.viewer.user)
    return client


def body_of(answer: Any) -> str:
    return "" if answer.streaming else answer.content.decode(errors="replace")


def check(name: str, row: Row, who: str, room: Judged) -> None:
    client = caller(who, room)
    answer = getattr(client, row.method)(reverse(name, args=row.args(room)), row.data or None)
    where = f"{name} {row.method} as {who}: {answer.status_code}"
    if who == "anonymous":
        assert answer.status_code == row.anonymous, where
        if answer.status_code == 302 and row.least != "open":
            assert answer["Location"].startswith(reverse("account_login")), where
        refused = True
    elif row.least in (None, "open"):
        assert answer.status_code in row.ok, where
        refused = who in OUTSIDE
    elif row.least == "site":
        assert answer.status_code in (row.ok if who == "admin" else (403,)), where
        refused = who != "admin"
    elif who in OUTSIDE:
        assert answer.status_code == 404, where
        refused = True
    elif ROLES.index(who) < ROLES.index(row.least):
        assert answer.status_code == 403, where
        refused = True
    else:
        assert answer.status_code in row.ok, where
        refused = False
    if refused:
        body = body_of(answer)
        assert [text for text in SECRETS if text in body and text not in row.public] == [], where
    if isinstance(answer, FileResponse):
        assert answer.getvalue()  # read to its end, the test client closes the file


@pytest.fixture(scope="module")
def made(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Judged, Path]]:
    """Make the room once, for four hundred tests ask for it; return it and the folder of its evidence."""
    folder = tmp_path_factory.mktemp("made") / "evidence"
    with undone(django_db_blocker), override_settings(EVIDENCE_ROOT=folder, EXHIBIT_MIN_FREE_BYTES=0):
        room = make_judged()
        connection.check_constraints()
        yield room, folder


@pytest.fixture
def judged(db: None, made: tuple[Judged, Path], evidence: Path) -> Judged:
    """Return the room as nobody has seen it yet, with its evidence in the folder of this test."""
    room, folder = made
    shutil.copytree(folder, evidence, dirs_exist_ok=True)

    def seen_by(one: Room) -> Room:
        return access.enter(User.objects.get(pk=one.user.pk), room.slug)

    return Judged(
        seen_by(room.lead), seen_by(room.investigator), seen_by(room.viewer), Note.objects.get(pk=room.note.pk)
    )


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(MATRIX))
def test_who_may_call(name, judged):
    for row in MATRIX[name]:
        for who in (*OUTSIDE, *ROLES):
            with transaction.atomic():
                check(name, row, who, judged)
                transaction.set_rollback(True)


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(MATRIX))
def test_a_nul_in_whatever_is_sent_is_no_fault(name, judged):
    """Send NUL in every field of a row, as tools do and people do not."""
    for row in MATRIX[name]:
        for field_name in row.data:
            with transaction.atomic():
                client = caller("admin", judged)
                sent = row.data | {field_name: "a\x00b"}
                answer = getattr(client, row.method)(reverse(name, args=row.args(judged)), sent)
                assert answer.status_code < 500, f"{name} {field_name}"
                transaction.set_rollback(True)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name in MATRIX
        if name not in ("stream", "figure-conn-times", "timeline-data", "timeline-lanes", "timeline-waits")
    ),
)
def test_a_stranger_cannot_tell_a_room_from_nonsense(name, judged):
    row = next((row for row in MATRIX[name] if row.least not in (None, "open", "site")), None)
    if row is None:
        return
    client = caller("stranger", judged)
    args = row.args(judged)
    there = getattr(client, row.method)(reverse(name, args=args), row.data or None)
    nowhere = getattr(client, row.method)(reverse(name, args=("no-such-room-abcdefgh", *args[1:])), row.data or None)
    assert there.status_code == nowhere.status_code == 404
    assert there.headers["Content-Type"] == nowhere.headers["Content-Type"]

    def plain(answer: Any) -> str:
        token = client.cookies["csrftoken"].value if "csrftoken" in client.cookies else ""
        lines = [line for line in body_of(answer).splitlines() if "csrf" not in line.lower()]
        return "\n".join(lines).replace(token or "\0", "")

    assert plain(there) == plain(nowhere)


@pytest.mark.django_db
def test_administration_asks_for_staff(judged):
    for who in ("anonymous", "stranger", "lead"):
        answer = caller(who, judged).get("/admin/incidents/incident/")
        assert answer.status_code in (302, 403), who
        assert "QPROD" not in body_of(answer)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, rows in MATRIX.items()
        if any(row.method == "post" for row in rows) and name != "policy-reports"  # browsers have no token for it
    ),
)
def test_a_post_without_a_token_is_refused(name, judged):
    row = next(row for row in MATRIX[name] if row.method == "post")
    client = Client(enforce_csrf_checks=True)
    client.force_login(judged.lead.user)
    answer = client.post(reverse(name, args=row.args(judged)), row.data)
    assert answer.status_code == 403
    assert [text for text in SECRETS if text in body_of(answer)] == []
