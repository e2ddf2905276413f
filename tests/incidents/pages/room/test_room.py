"""The room page: what the first screen answers, live parts, the drawer, escapes, and that nothing is asked twice."""

from __future__ import annotations

import re

import pytest
from django.db import transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents import access
from incidents.actions import notes, purge, rooms
from incidents.models.room.incident import Status
from tests.incidents.conftest import make_artifact, make_room
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of
from tests.incidents.pages.pages import unbroken

HTMX = {"HX-Request": "true"}


def page(room, name="room", *args, **headers):
    answer = client_of(room).get(reverse(name, args=(room.incident.slug, *args)), headers=headers or None)
    assert answer.status_code == 200
    return unbroken(answer)


def test_the_first_screen_says_what_is_wrong_how_sure_and_what_next(judged):
    text = re.sub(r"<[^>]+>", "", page(judged.viewer))  # words may be links to what they mean
    assert "New server processes wait up to 2.473\u00a0s" in text
    assert "Good support" in text
    assert "one trace of system calls, one memory map" in text
    assert "at most 0.080\u00a0s of 1.872\u00a0s" in text
    assert "Use sga_target" in text.split("Do next")[1].split("had nothing to look at")[0], "the remedy of the cause"


def test_findings_say_their_part_and_stand_worst_first(judged):
    text = page(judged.viewer)
    assert "How it fits together" in text
    parts = re.findall(r"<b>(Cause|On the way|Adds to it|Cleared|Also seen):</b>", text.split('id="explanations"')[1])
    assert parts == ["Cause", *["On the way"] * 2, *["Adds to it"] * 2, "Cleared"]
    assert text.index("One connection per message") < text.index("Memory settings select DISM")
    assert "operating system · good support" in text, "layers are words"


def test_what_carries_a_suspect_is_called_so_in_the_column_too(judged):
    report = reports.report()
    report["verdict"]["state"] = "suspect"
    add_report(judged.lead, report)
    text = page(judged.viewer)
    assert "<h3>Explanations</h3>" in re.sub(r">\s+|\s+<", lambda found: found[0].strip(), text)
    assert "<b>Suspect:</b>" in text
    assert "<b>Cause:</b>" not in text


def test_what_was_looked_at_and_what_could_not_be_is_folded_with_counts(judged):
    report = reports.report()
    report["quiet"] = ["CPU-001", "NET-004"]
    add_report(judged.lead, report)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page(judged.viewer)))
    assert "Looked at and quiet 2 rules CPU-001, NET-004" in text
    assert "Could not look 2 rules" in text


def test_the_bar_adds_up_to_the_whole_and_each_piece_opens_its_lines(judged):
    bar = re.search(r'<svg class="shares".*?</svg>\s*</div>', page(judged.viewer), re.S)
    assert bar
    pieces = re.findall(r'<svg x="([\d.]+)%" width="([\d.]+)%"', bar[0])
    assert len(pieces) == 4
    assert sum(float(width) for _, width in pieces) == pytest.approx(100, abs=0.01)
    assert float(pieces[-1][0]) + float(pieces[-1][1]) == pytest.approx(100, abs=0.01)
    assert f"/rooms/{judged.slug}/evidence/1/?at=7#L7-L11" in bar[0]
    assert 'class="untraced"' in bar[0]
    assert "url(#hatch)" in bar[0]


def test_a_finding_is_the_whole_room_or_just_the_drawer(judged):
    whole = page(judged.viewer, "finding", reports.CAUSE_KEY)
    part = page(judged.viewer, "finding", reports.CAUSE_KEY, **HTMX)
    assert 'class="columns chosen"' in whole
    assert "<html" not in part
    for text in (whole, part):
        assert "The gap since its last call ends with this attach" in text
        assert "The map&#x27;s segment ids differ" in text
        assert "Assumes that no line is missing" in text
        assert "truss -f -d -D -E -o FILE -p 22626" in text
        assert "The SGA can then not grow online" in text
        words = re.sub(r"<[^>]+>", "", text)  # a remedy's parameters are links that explain them
        assert words.index("Use sga_target") < words.index("The SGA can then not grow online")


def test_going_back_in_the_history_gives_the_whole_page(judged):
    back = page(judged.viewer, "finding", reports.CAUSE_KEY, **HTMX, **{"HX-History-Restore-Request": "true"})
    assert "<html" in back


def test_a_new_judgement_swaps_the_verdict_with_its_seconds_and_the_column(judged):
    part = page(judged.viewer, "findings", **HTMX)
    assert 'id="seconds"' in part
    for id in ("verdict", "findings"):
        assert re.search(rf'id="{id}"[^>]*hx-swap-oob="true"', part), id
    assert "<html" not in part


def test_it_says_what_a_new_judgement_changed(judged):
    report = reports.report()
    report["verdict"]["support"] = "strong"
    report["findings"] = [f for f in report["findings"] if f["key"] != reports.SETTINGS_KEY]
    report["artifacts"].append({"id": 5, "file": "ipcs.txt", "kind": "ipcs"})
    add_report(judged.lead, report)
    text = page(judged.viewer)
    assert "ipcs ipcs.txt arrived: support good → strong" in text
    assert "no longer found: Memory settings select DISM" in text
    assert "no longer found since" in text  # and it stays, folded
    assert page(judged.viewer, "finding", reports.SETTINGS_KEY).count("It is kept because people may refer to it") == 1


def test_a_claim_that_never_was_is_not_found(judged):
    answer = client_of(judged.viewer).get(reverse("finding", args=[judged.slug, "0" * 16]))
    assert answer.status_code == 404


def test_an_empty_room_says_what_to_do(db):
    room = make_room(hosts=(rooms.HostAnswer("db9", "solaris"),))
    text = page(room)
    assert "No evidence yet" in text
    assert "vmstat -T d 5 12" in text, "the collect block of its system"
    assert "sample room" in text


def test_a_viewer_gets_no_buttons_that_would_be_refused(judged):
    viewer, lead = page(judged.viewer), page(judged.lead)
    for name in ("evidence-add", "dispute"):
        assert reverse(name, args=(judged.slug, *((reports.CAUSE_KEY,) if name == "dispute" else ()))) not in viewer
        assert reverse(name, args=(judged.slug, *((reports.CAUSE_KEY,) if name == "dispute" else ()))) in lead
    assert "data-uploads" not in viewer


def test_a_closed_room_says_so_and_offers_no_writing(judged):
    rooms.set_status(judged.lead, Status.CLOSED)
    text = page(access.enter(judged.lead.user, judged.slug))
    assert "This room is closed" in text
    assert "Write a note" not in text


def test_a_lead_takes_over_what_was_judged_after_closing(judged):
    rooms.set_status(judged.lead, Status.CLOSED)
    room = access.enter(judged.lead.user, judged.slug)
    report = reports.report()
    report["verdict"]["sentence"] = "A later sentence."
    add_report(room, report)
    assert "A later sentence." not in page(room)
    client = client_of(room)
    assert client.post(reverse("take-over", args=[judged.slug])).status_code == 302
    assert "A later sentence." in page(room)


def test_withdrawn_evidence_is_said_and_not_quoted(judged, on_commit):
    purge.purge(judged.lead, 4, "by mistake")
    text = page(judged.viewer, "finding", reports.CAUSE_KEY)
    assert "Evidence withdrawn" in text
    assert "9699328" not in text


NASTY = "a\x1b[31mb\u202etxt.exe<script>alert(1)</script>"


def test_escapes_and_markup_in_names_and_lines_are_shown_not_obeyed(judged):
    make_artifact(judged.lead, b"some other text\n", NASTY)
    report = reports.report()
    claim = report["findings"][0]
    claim["headline"] = NASTY
    claim["citations"][0]["text"] = NASTY
    report["verdict"]["sentence"] = NASTY
    report["whose_seconds"]["pieces"][0]["label"] = NASTY
    report["not_evaluable"][0]["ask"] = NASTY
    add_report(judged.lead, report)
    notes.add(judged.lead, NASTY)
    rooms.edit(judged.lead, {"title": NASTY})
    for name, args in (
        ("room", ()),
        ("finding", (reports.CAUSE_KEY,)),
        ("evidence", ()),
        ("activity", ()),
        ("lines", (5,)),
    ):
        text = page(judged.viewer, name, *args)
        assert "\x1b" not in text, name
        assert "\u202e" not in text, name
        assert "<script>alert" not in text, name
    assert "a␛[31mb⟨U+202E⟩txt.exe&lt;script&gt;" in page(judged.viewer)


INLINE = re.compile(
    r"<style|\sstyle=|<script(?![^>]*\s(?:src=|type=.application/json))|\son[a-z]+=|hx-on|javascript:|hx-vals=.js:",
    re.I,
)


def test_no_page_needs_more_than_the_content_policy_allows(read):
    for name, args in (
        ("room", ()),
        ("finding", (reports.CAUSE_KEY,)),
        ("evidence", ()),
        ("evidence-add", ()),
        ("lines", (1,)),
        ("case", ()),
        ("members", ()),
        ("activity", ()),
    ):
        text = page(read.lead, name, *args)
        assert INLINE.findall(text) == [], name
        for quoted in re.findall(r"hx-config='([^']*)'|content='(\{[^']*)'", text):
            assert '"allowEval":false' in "".join(quoted)


def queries(room, name="room", *args):
    client = client_of(room)
    client.get(reverse(name, args=(room.incident.slug, *args)))
    with CaptureQueriesContext(connection()) as caught:
        client.get(reverse(name, args=(room.incident.slug, *args)))
    return len(caught)


def connection():
    return transaction.get_connection()


def test_the_room_asks_no_more_when_it_holds_more(judged):
    notes.add(judged.investigator, "the first", finding_key=reports.CAUSE_KEY)
    before = queries(judged.viewer)
    assert before <= 15
    for n in range(6):
        make_artifact(judged.lead, b"time elapsed : 0,3%d\n" % n, f"{n}.txt")
        notes.add(judged.lead, f"note {n}", artifact=5 + n, lines=(1, 1))
        notes.add(judged.investigator, f"note {n}", finding_key=reports.CAUSE_KEY)
    report = reports.report()
    report["findings"] += [reports.claim(f"{n:016x}", "XX-001", "along", f"more {n}") for n in range(12)]
    add_report(judged.lead, report)
    assert queries(judged.viewer) <= before
    assert queries(judged.viewer, "finding", reports.CAUSE_KEY) <= 15


def test_what_could_not_be_judged_and_what_is_hidden_is_named(judged):
    report = reports.report()
    report["failed"] = [
        {"rule": "team/half.yaml", "error": "line 3: <b>bad</b>", "host": None},
        {"rule": "SHM-001", "error": "stopped after 30.0 s", "host": "db1"},
    ]
    report["hidden"] = [
        {"rule": "CPU-002", "host": None, "subject": "cpu 1", "headline": "Kernel time", "key": "0" * 16, "reason": "known here",
         "author": "DBA", "until": "2026-12-31"}
    ]  # fmt: skip
    add_report(judged.lead, report)
    text = page(judged.viewer)
    assert "2 left out; the rest was judged" in text
    assert "<b>team/half.yaml</b>: line 3: &lt;b&gt;bad&lt;/b&gt;" in text
    assert "<b>SHM-001</b> on db1: stopped after 30.0 s" in text
    assert "1 finding hidden" in text
    assert "known here (DBA, until 2026-12-31)" in text
