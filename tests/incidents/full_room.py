"""Fill a room with some of everything that it can hold, to measure the cost of full pages and to look at them."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from incidents import access
from incidents.access import Room
from incidents.actions import (
    artifacts,
    board,
    case,
    findings,
    handover,
    members,
    names,
    notes,
    plan,
    quarantine,
    queries,
    requests,
    review,
    standing,
    summary,
    thresholds,
    tokens,
    webhooks,
)
from incidents.content import rulebook
from incidents.models.people.membership import Membership, Role, Team
from incidents.models.room.webhook import Delivery
from incidents.storage import store

AT = datetime(2016, 4, 14, 5, 58, tzinfo=UTC)
LOG = "Apr 14 05:5{n}:12 db1 kernel: [  1{n}.5] Out of memory: Kill process 3731 (oracle) score 9{n}\n"
VMSTAT = """procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 {n}  0      0 805{n} 12 44    0    0     1     2   90  110  3  1 96  0  0
"""


def fill(lead: Room, places: range = range(3)) -> None:
    """Add one row of each kind for each place to a judged room, as its people would, with references to findings.

    Kinds of which a room has a single row are added with place 0.
    """
    people = {place: _member(lead, place) for place in places}
    key = lead.incident.findings.filter(kind="finding", gone_since=None).values_list("key", flat=True)[0]
    _evidence(lead, places)
    for place, member in people.items():
        case.put_host(lead, f"db{place + 2}", {"os": "solaris", "tz": "Europe/Warsaw"})
        case.put_marker(lead, {"label": f"change {place}", "kind": "change", "at": AT, "changed": ["sga_target"]})
        case.put_statement(lead, {"name": "users_hit", "text": f"{place + 1} of 9 sites", "author_label": "the desk"})
        names.put(lead, "port", str(7001 + place), "our order service")
        names.remove(lead, names.put(lead, "path", f"/u0{place}/orders", "the order files").pk)
        note = notes.add(member, f"Seen by @{lead.user.username} too, number {place}.", finding_key=key)
        notes.reply(lead, note.pk, f"Yes, @{member.user.username}.")
        notes.edit(member, note.pk, f"Seen by @{lead.user.username} as well, number {place}.")
        notes.resolve(lead, notes.add(member, f"On a line, {place}.", artifact=1, lines=(2, 3)).pk)
        findings.dispute(member, key, f"Not on my host, says {member.user.username}.")
        decided = plan.put_decision(
            member, {"question": f"Restart {place}?", "outcome": "Yes." if place else None, "finding_key": key}
        )
        deed = plan.put_action(
            member, {"text": f"Trace login {place}", "owner": lead.user.pk, "decision": decided.pk, "finding_key": key}
        )
        if place:
            plan.finish_action(member, deed.pk, AT, [f"parameter {place}"])
        review.put(member, {"surprised": f"Nobody knew of switch {place}."})
        review.put_follow_up(member, {"text": f"Replace switch {place}", "owner": lead.user.pk, "due_on": AT.date()})
        plan.put_entry(member, {"kind": ("step", "change", "update")[place % 3], "at": AT, "text": f"Did {place}"})
        board.argue(
            member, board.Said(f"Pings were fast at hour {place}.", {"H-NET": "against"}, artifact=1, lines=(2, 3))
        )
        board.put_cause(member, f"H-TAPE-{chr(65 + place)}", "the tape", None)
        queries.save(member, f"Calls {place}", "select 1", shared=True)
        queries.save(lead, f"My calls {place}", "select 1", shared=False)
        hook = webhooks.add(lead, f"https://chat{place}.example.invalid/hooks/x", ["verdict", "note"])
        Delivery.objects.bulk_create(Delivery(webhook=hook, kind="note", object=str(note.pk)) for _ in range(3))
        members.invite(lead, Role.VIEWER, Team.OTHER)
        tokens.create(lead, f"db{place}")
        _asked(lead, member, place)
        summary.put_text(lead, "cause", f"It waits for memory, {place}.", "beside", _last_text(lead))
        version = summary.freeze(lead, f"For the board, part {place}")
        summary.open_link(summary.share(lead, version.number, f"the board, {place}"), f"192.0.{place}.7")
    if 0 in people:
        soon = timezone.now().replace(microsecond=0) + timedelta(hours=2)
        standing.put(lead, {"started": AT, "detected": AT + timedelta(minutes=9), "next_update_at": soon})
        standing.put(lead, {"next_update_by": people[0].user.pk})
        _tuned(lead)
        handover.offer(lead, people[0].user.pk, "Everything is on the board.")


def _last_text(lead: Room) -> int:
    """Return the number of the newest text on the cause, which the page's form sends."""
    return lead.incident.summary_texts.filter(section="cause").count()


def _member(lead: Room, place: int) -> Room:
    user = User.objects.create_user(f"member-{lead.incident.pk}-{place}", password="a long enough one")
    role = (Role.INVESTIGATOR, Role.INVESTIGATOR, Role.LEAD)[place % 3]
    Membership.objects.create(incident=lead.incident, user=user, role=role, team=Team.DBA)
    return access.enter(user, lead.incident.slug)


def _evidence(lead: Room, places: range) -> None:
    """Add files with questions, files not understood, archives with members, and files with corrections."""
    for place in places:
        asks = artifacts.receive_stream(lead, f"messages-{place}", [LOG.format(n=place).encode()])
        artifacts.correct(lead, asks.number, {"host": f"db{place + 2}", "role": "server"})
        artifacts.receive_stream(lead, f"vmstat-{place}.out", [VMSTAT.format(n=place).encode()])
        artifacts.receive_stream(lead, f"unknown-{place}.txt", [f"no tool prints this, {place}\n".encode()])
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"vmstat-in-{place}.out", VMSTAT.format(n=place + 5))
            archive.writestr(f"notes-{place}.bin", bytes(range(256)))
        artifacts.receive_stream(lead, f"collected-{place}.zip", [packed.getvalue()])


def _asked(lead: Room, member: Room, place: int) -> None:
    """Add two requests: an open one with a link and a file in quarantine, and an answered one."""
    row = requests.put(member, {"what": f"A map of db{place}", "command": "pmap -xs 3731", "asked_of": lead.user.pk})
    secret = quarantine.make_link(member, row.pk)
    incoming = store.receive_all([f"sent by a stranger, {place}".encode()])
    try:
        quarantine.enter(quarantine.look_at(secret), incoming, f"sent-{place}.txt")
    finally:
        incoming.discard()
    answered = requests.put(member, {"what": f"A trace of db{place}"})
    requests.answer(member, answered.pk, [1])


def _tuned(lead: Room) -> None:
    rule = rulebook.rule_of("SHM-001")
    if rule is None:
        raise AssertionError("the library has no rule SHM-001")
    until = timezone.now().date() + timedelta(days=3)
    thresholds.set_threshold(lead, rule, "min_stall_s", 0.2, "a fast host", until)
    thresholds.hide(lead, rule, "pid 9*", "db1", "an exercise", until)
