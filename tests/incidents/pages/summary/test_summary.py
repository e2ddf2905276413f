"""The summary page: what it says in each state, who may write, freeze, export and share it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from incidents import access
from incidents.actions import case, findings, plan, purge, rooms, standing
from incidents.actions import summary as actions
from incidents.content.summary import gathering as summary
from incidents.content.summary.content import digest, plain, shown
from incidents.errors import NotAllowed, Refused
from incidents.models.people.membership import Role
from incidents.models.room.event import Event
from incidents.models.room.incident import Incident
from incidents.models.words.summary import ShareLink, ShareOpening, SummaryText, SummaryVersion, Way
from incidents.work import closing
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import Judged, add_files, add_report, client_of, judged  # noqa: F401

HOSTILE = "\u202eevil\u202c <script>alert(1)</script> \x1b[31m"


def page(room: Judged, who: str = "viewer", name: str = "summary", *args: Any) -> str:
    answer = client_of(getattr(room, who)).get(reverse(name, args=[room.slug, *args]))
    assert answer.status_code == 200, answer.status_code
    text: str = answer.content.decode()
    return text


def section(room: Judged, key: str) -> dict[str, Any]:
    content = summary.gather(Incident.objects.get(pk=room.lead.incident.pk)).content
    return next(one for one in shown(content) if one["key"] == key)


def again(room: Judged, **changes: Any) -> None:
    """Judge the room again with another verdict."""
    report = reports.report()
    report["verdict"] |= changes
    add_report(room.lead, report)


# --- what it says -------------------------------------------------------------------------------------------------


def test_it_says_all_in_the_order_of_the_design(judged):  # noqa: F811
    body = page(judged)
    places = [
        body.index(f'id="s-{key}"')
        for key in (
            "status",
            "impact",
            "decision",
            "update",
            "cause",
            "seconds",
            "sure",
            "not",
            "effect",
            "open",
            "next",
        )
    ]
    assert places == sorted(places)
    assert "Logins to QPROD take 3.9 s" in body


def test_each_sentence_leads_to_evidence_or_is_signed(judged):  # noqa: F811
    case.put_statement(judged.investigator, {"name": "impact", "text": "Messages are late", "author_label": "DBA"})
    content = summary.gather(Incident.objects.get(pk=judged.lead.incident.pk)).content
    numbers = {source["n"] for source in content["sources"]}
    for one in shown(content):
        for said in one["sentences"]:
            assert set(said["refs"]) <= numbers
            assert (
                said["refs"]
                or said["by"]
                or said["missing"]
                or said["small"]
                or said["ask"]
                or one["key"] in ("status", "update", "decision")
            ), said
    assert all(source["citations"] for source in content["sources"])
    assert "“" not in plain(section(judged, "impact"))
    assert section(judged, "impact")["sentences"][0]["by"] == "DBA"


def test_links_open_the_finding_and_the_lines(judged):  # noqa: F811
    body = page(judged)
    assert reverse("finding", args=[judged.slug, reports.CAUSE_KEY]) in body
    assert f"{reverse('lines', args=[judged.slug, 1])}?at=7#L7-L11" in body


def test_it_stays_within_the_queries(judged):  # noqa: F811
    standing.put(judged.lead, {"detected": timezone.now(), "next_update_at": timezone.now() + timedelta(hours=1)})
    plan.put_decision(judged.lead, {"question": "Restart?", "needed_by": timezone.now() + timedelta(hours=2)})
    plan.put_action(judged.lead, {"text": "Trace a login", "owner": judged.investigator.user.pk})
    rooms.edit(judged.lead, {"affected": "all branches"})
    actions.put_text(judged.lead, "cause", "Mine.", Way.BESIDE, 0)
    actions.freeze(judged.lead, "")
    pages: list[tuple[str, list[Any], dict[str, int]]] = [
        ("summary", [], {}),
        ("summary-version", [1], {}),
        ("summary-versions", [], {}),
        ("summary-changes", [], {"from": 1}),
        ("summary-links", [], {}),
        ("summary-edit", ["cause"], {}),
    ]
    client = client_of(judged.lead)
    for name, args, query in pages:
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(reverse(name, args=[judged.slug, *args]), query)
        assert answer.status_code == 200
        assert len(asked) <= 15, (name, [query["sql"][:120] for query in asked.captured_queries])


def test_people_are_named_with_what_they_said(judged):  # noqa: F811
    now = timezone.now().replace(microsecond=0)
    standing.put(
        judged.lead,
        {"mitigated": now, "next_update_at": now + timedelta(hours=1), "next_update_by": judged.investigator.user.pk},
    )
    rooms.edit(judged.investigator, {"affected": "tens of thousands of messages"})
    plan.put_decision(
        judged.investigator,
        {
            "question": "Restart for good settings?",
            "needed_by": now + timedelta(hours=2),
            "asked_of": judged.lead.user.pk,
        },
    )
    plan.put_action(
        judged.investigator,
        {"text": "Trace one normal login", "owner": judged.investigator.user.pk, "due_at": now + timedelta(days=1)},
    )
    assert [one["text"] for one in section(judged, "status")["sentences"]] == ["Mitigated", "anna"]
    assert section(judged, "impact")["sentences"][0]["by"] == "nils"
    decision = section(judged, "decision")["sentences"]
    assert (decision[0]["text"], decision[0]["by"]) == ("Restart for good settings?", "nils")
    assert decision[1]["at"] == (now + timedelta(hours=2)).isoformat()
    assert (decision[2]["lead"], decision[2]["text"]) == ("Of:", "anna")
    assert section(judged, "update")["sentences"][1]["text"] == "nils"
    step = section(judged, "next")["sentences"][0]
    assert (step["text"], step["note"], step["at"]) == (
        "Trace one normal login",
        "nils",
        (now + timedelta(days=1)).isoformat(),
    )


@pytest.mark.parametrize(
    ("changes", "title", "words"),
    [
        ({"state": "suspect"}, "Suspected cause", "This is a suspicion"),
        ({"state": "undecided", "sentence": "Undecided between a and b: it is so."}, "Cause, undecided", "Undecided between a and b."),
        ({"state": "cannot tell", "rules": [], "sentence": "The evidence ends.", "support": "none"}, "Cause, not known yet", "The evidence ends."),
        ({"state": "nothing wrong seen", "rules": [], "sentence": "Nothing wrong seen.", "support": "none"}, "Cause", "does not say that nothing is wrong"),
    ],
)  # fmt: skip
def test_every_verdict_says_what_it_is(judged, changes, title, words):  # noqa: F811
    again(judged, **changes)
    cause = section(judged, "cause")
    assert cause["title"] == title
    assert words in plain(cause)
    assert words in page(judged)


def test_a_room_without_evidence_says_so(db):
    room = make_room(title="Nothing here yet")
    body = client_of(room).get(reverse("summary", args=[room.incident.slug])).content.decode()
    assert "Nothing was judged yet" in body
    assert "Nobody has taken on a next step yet" in body
    for form in ("html", "md"):
        answer = client_of(room).get(reverse("summary-export", args=[room.incident.slug, 0, form]))
        assert answer.status_code == 200
        assert "Nothing was judged yet" in answer.content.decode()


def test_a_report_without_findings_says_so(judged):  # noqa: F811
    report = reports.report() | {
        "findings": [],
        "cleared": [],
        "compared": [],
        "whose_seconds": None,
        "not_evaluable": [],
    }
    report["verdict"] |= {
        "state": "cannot tell",
        "rules": [],
        "sentence": "The evidence is not enough to name a cause.",
        "support": "none",
    }
    add_report(judged.lead, report)
    body = page(judged)
    for words in (
        "is not enough to name a cause",
        "Nothing can be excluded",
        "No finding carries a verdict",
        "No request was traced",
    ):
        assert words in body


def test_a_verdict_under_dispute_says_who_objects(judged):  # noqa: F811
    findings.dispute(judged.investigator, reports.CAUSE_KEY, "The gap may be the tracer's own.")
    said = section(judged, "cause")["sentences"][-1]
    assert (said["lead"], said["text"], said["by"]) == ("Under dispute:", "The gap may be the tracer's own.", "nils")


def test_purged_evidence_is_not_quoted_any_more(judged):  # noqa: F811
    actions.freeze(judged.lead, "")
    secret = actions.share(judged.lead, 1, "the board")
    purge.purge(judged.lead, 1, "by mistake")
    live = page(judged)
    assert "withdrawn" in live
    for body in (
        live,
        page(judged, "viewer", "summary-version", 1),
        client_of(judged.viewer).get(reverse("shared-summary", args=[secret])).content.decode(),
    ):
        assert "shmat(16777281" not in body
        assert "2.473" not in body
    row = SummaryVersion.objects.get()
    assert row.struck_at is not None
    assert digest(row.content) != row.content_hash  # the hash is that of what was frozen


def test_what_is_missing_leads_to_the_place_to_say_it(judged):  # noqa: F811
    for text in ("Say it in the case", "Ask for one", "Promise one", "Plan a step"):
        assert text in page(judged, "investigator")
        assert text not in page(judged, "viewer")
    plan.put_decision(judged.lead, {"question": "Restart?"})
    assert "Ask for one" not in page(judged, "investigator")


# --- the lead's words ---------------------------------------------------------------------------------------------


def test_the_lead_writes_and_takes_back(judged):  # noqa: F811
    client, address = client_of(judged.lead), reverse("summary-edit", args=[judged.slug, "cause"])
    assert "What Exhibit says here now" in client.get(address).content.decode()
    answer = client.post(address, {"text": "The memory is slow to attach.\nAgain & again", "way": "instead", "seen": 0})
    assert answer.status_code == 302
    body = page(judged)
    assert "The memory is slow to attach.<br>Again &amp; again" in body
    assert "— anna" in body
    assert "Exhibit’s own words" in body
    assert Event.objects.filter(incident=judged.lead.incident, kind="summary").exists()
    client.post(address, {"text": "", "way": "instead", "seen": 1})
    assert "The memory is slow to attach" not in page(judged)
    assert [row.number for row in SummaryText.objects.order_by("number")] == [1, 2]
    verbs = list(judged.lead.incident.activity.filter(object="summary section cause").values_list("verb", flat=True))
    assert verbs == ["wrote", "took back"]


def test_words_beside_leave_the_machine_s(judged):  # noqa: F811
    actions.put_text(judged.lead, "open", "We wait for the vendor.", Way.BESIDE, 0)
    body = page(judged)
    assert "We wait for the vendor." in body
    assert "Exhibit’s own words" not in body


def test_a_text_that_contradicts_is_marked(judged):  # noqa: F811
    text = "Logins pause for 2.1 s. The network is the culprit."
    actions.put_text(judged.lead, "cause", text, Way.INSTEAD, 0)
    warnings = section(judged, "cause")["words"]["warnings"]
    assert warnings[0] == "The text says 2.1 s; the evidence 2.473 s."
    assert warnings[1].startswith("The text blames the network; the evidence clears it:")
    assert "The text says 2.1 s; the evidence 2.473 s." in page(judged)


def test_a_text_that_agrees_is_not_marked(judged):  # noqa: F811
    text = "Each login pauses up to 2.5 seconds. It is not the network: at most 80 ms of 1.87 s."
    actions.put_text(judged.lead, "cause", text, Way.INSTEAD, 0)
    words = section(judged, "cause")["words"]
    assert words["warnings"] == []
    assert words["stale"] is None


def test_words_from_before_a_change_say_so(judged):  # noqa: F811
    actions.put_text(judged.lead, "sure", "We are sure.", Way.BESIDE, 0)
    again(judged, support="weak")
    stale = section(judged, "sure")["words"]["stale"]
    assert any(piece["what"] == "added" and "Weak" in piece["text"] for piece in stale)
    assert "Written before the evidence changed" in page(judged)


def test_two_writers_lose_nothing(judged):  # noqa: F811
    address = reverse("summary-edit", args=[judged.slug, "cause"])
    second = make_member(judged.lead.incident, Role.LEAD, make_user("lea")).user
    actions.put_text(judged.lead, "cause", "The memory is slow.", Way.INSTEAD, 0)
    actions.put_text(judged.lead, "cause", "The large memory is slow.", Way.INSTEAD, 1)
    client = client_of(access.enter(second, judged.slug))
    answer = client.post(address, {"text": "The memory is slow at logins.", "way": "instead", "seen": 1})
    body = answer.content.decode()
    assert answer.status_code == 409
    assert "The large memory is slow at logins." in body  # both changes in the form
    assert "anna" in body
    fields = {name: re.search(rf'name="{name}" value="(\d+)"', body)[1] for name in ("seen", "merged")}
    answer = client.post(address, {"text": "The large memory is slow at logins.", "way": "instead", **fields})
    assert answer.status_code == 302
    assert SummaryText.objects.order_by("-number")[0].text == "The large memory is slow at logins."


def test_marks_of_a_merge_are_decided_first(judged):  # noqa: F811
    address = reverse("summary-edit", args=[judged.slug, "cause"])
    actions.put_text(judged.lead, "cause", "one two three", Way.INSTEAD, 0)
    actions.put_text(judged.lead, "cause", "one 2 three", Way.INSTEAD, 1)
    client = client_of(judged.lead)
    body = client.post(address, {"text": "one zwei three", "way": "instead", "seen": 1}).content.decode()
    assert "⟦anna: 2 ‖ you: zwei⟧" in body
    answer = client.post(address, {"text": "one ⟦anna: 2 ‖ you: zwei⟧ three", "way": "instead", "seen": 2, "merged": 1})
    assert answer.status_code == 422
    assert "Decide the places" in answer.content.decode()


def test_what_was_typed_stays_when_it_is_too_long(judged):  # noqa: F811
    answer = client_of(judged.lead).post(
        reverse("summary-edit", args=[judged.slug, "cause"]), {"text": "word " * 500, "way": "instead", "seen": 0}
    )
    assert answer.status_code == 422
    assert "word word word" in answer.content.decode()


@pytest.mark.parametrize("name", ["status", "seconds", "nonsense"])
def test_only_prose_is_written(judged, name):  # noqa: F811
    assert client_of(judged.lead).get(reverse("summary-edit", args=[judged.slug, name])).status_code == 404
    with pytest.raises(Refused):
        actions.put_text(judged.lead, name, "x", Way.INSTEAD, 0)


def test_an_investigator_writes_nothing(judged):  # noqa: F811
    with pytest.raises(NotAllowed):
        actions.put_text(judged.investigator, "cause", "x", Way.INSTEAD, 0)
    assert "summary/edit" not in page(judged, "investigator")


# --- versions -----------------------------------------------------------------------------------------------------


def test_closing_freezes_and_later_changes_are_a_new_version(judged):  # noqa: F811
    rooms.close(judged.lead)
    first = SummaryVersion.objects.get()
    assert (first.number, first.why) == (1, "The room was closed.")
    assert first.content_hash == digest(first.content)
    assert [one["sha256"] for one in first.content["artifacts"]] == list(
        judged.lead.incident.artifacts.order_by("number").values_list("sha256", flat=True)
    )
    assert first.content["evaluation"]["number"] == first.evaluation.number
    assert plain(next(one for one in shown(first.content) if one["key"] == "status")).startswith("Closed")
    actions.put_text(judged.lead, "cause", "It was the memory.", Way.INSTEAD, 0)
    second = SummaryVersion.objects.get(number=2)
    assert "It was the memory." in str(second.content)
    assert "It was the memory." not in str(SummaryVersion.objects.get(number=1).content)
    answer = client_of(judged.viewer).get(reverse("summary-changes", args=[judged.slug]), {"from": 1, "to": 2})
    body = answer.content.decode()
    assert re.search(r"<ins>[^<]*It was the memory", body)
    assert "<del>" in body
    froze = judged.lead.incident.activity.filter(verb="froze")
    assert [row.detail["sha256"] for row in froze.order_by("seq")] == [first.content_hash, second.content_hash]


def test_a_room_that_closes_by_itself_is_frozen_too(judged, monkeypatch):  # noqa: F811
    monkeypatch.setattr(closing, "under_way", lambda id: closing.UnderWay(1, 0, 0))
    rooms.close(judged.lead, wait=True)
    assert not SummaryVersion.objects.exists()
    monkeypatch.setattr(closing, "under_way", lambda id: closing.UnderWay(0, 0, 0))
    assert closing.close_what_waits() == 1
    assert SummaryVersion.objects.get().made_by == judged.lead.user


def test_what_is_taken_over_after_the_close_is_a_new_version(judged):  # noqa: F811
    rooms.close(judged.lead)
    judged.lead.incident.refresh_from_db()
    again(judged, support="weak")
    assert "no lead has taken the new judgement over" in page(judged)
    rooms.accept_evaluation(judged.lead)
    assert SummaryVersion.objects.get(number=2).why == "A newer judgement was taken over."


def test_the_same_page_is_not_frozen_twice(judged):  # noqa: F811
    actions.freeze(judged.lead, "For the board")
    with pytest.raises(Refused, match="Nothing has changed since version 1"):
        actions.freeze(judged.lead, "")
    assert SummaryVersion.objects.count() == 1


def test_the_database_keeps_a_version_as_it_is(judged):  # noqa: F811
    row = actions.freeze(judged.lead, "")
    for change in (
        lambda: SummaryVersion.objects.filter(pk=row.pk).update(content={}),
        lambda: SummaryVersion.objects.filter(pk=row.pk).update(content_hash="0" * 64, struck_at=timezone.now()),
        lambda: SummaryVersion.objects.filter(pk=row.pk)._raw_delete("default"),
    ):
        with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
            change()


def test_the_live_page_says_what_reads_otherwise(judged):  # noqa: F811
    actions.freeze(judged.lead, "")
    assert "It differs from version" not in page(judged)
    again(judged, support="weak")
    body = page(judged)
    assert "It differs from version 1: How sure" in re.sub(r"\s+", " ", body)


def test_versions_are_paged_and_empty_says_what_to_do(judged):  # noqa: F811
    assert "Nothing is frozen yet" in page(judged, "viewer", "summary-versions")
    assert client_of(judged.viewer).get(reverse("summary-version", args=[judged.slug, 9])).status_code == 404
    assert (
        client_of(judged.viewer).get(reverse("summary-changes", args=[judged.slug]), {"from": "x"}).status_code == 404
    )
    for i in range(21):
        actions.put_text(judged.lead, "cause", f"Text {i}.", Way.INSTEAD, i)
        actions.freeze(judged.lead, HOSTILE)
    body = page(judged, "viewer", "summary-versions")
    assert "page 1 of 2" in body
    assert "<script>alert" not in body
    assert "\u202e" not in body


# --- links --------------------------------------------------------------------------------------------------------


def shared(judged_room: Judged, days: int = 7) -> str:
    actions.freeze(judged_room.lead, "")
    return reverse("shared-summary", args=[actions.share(judged_room.lead, 1, "the board", days)])


def test_a_link_shows_the_page_and_nothing_else(judged, client):  # noqa: F811
    other = make_room(title="Another team's secret room")
    address = shared(judged)
    answer = client.get(address)
    body = answer.content.decode()
    assert answer.status_code == 200
    assert "New server processes" in body or "database" in body
    assert "shmat(16777281, 0x3C0000000" in body  # the cited lines are there
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "noindex" in answer["X-Robots-Tag"]
    assert "no-store" in answer["Cache-Control"]
    hrefs = re.findall(r'href="([^"]*)"', body)
    assert [one for one in hrefs if not one.startswith(("#source-", "/static/"))] == []
    assert judged.slug not in body
    assert other.incident.title not in body
    assert "<script" not in body
    assert "<form" not in body
    assert not answer.cookies
    for name in ("nils", "vera"):  # people who are not in the version
        assert name not in body


def test_a_link_is_pinned_and_says_that_there_is_a_newer_one(judged, client):  # noqa: F811
    address = shared(judged)
    assert "A newer version" not in client.get(address).content.decode()
    actions.put_text(judged.lead, "cause", "Something newer.", Way.INSTEAD, 0)
    actions.freeze(judged.lead, "")
    body = client.get(address).content.decode()
    assert "A newer version" in body
    assert "Something newer." not in body


def test_a_link_ends_and_is_taken_back(judged, client):  # noqa: F811
    address = shared(judged)
    ShareLink.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    answer = client.get(address)
    assert answer.status_code == 410
    assert "expired" in answer.content.decode()
    ShareLink.objects.update(expires_at=timezone.now() + timedelta(days=1))
    assert client.get(address).status_code == 200
    body = client_of(judged.lead).post(
        reverse("summary-links", args=[judged.slug]), {"do": "revoke", "link": ShareLink.objects.get().pk}, follow=True
    )
    assert "taken back" in body.content.decode()
    answer = client.get(address)
    assert answer.status_code == 410
    assert "taken back" in answer.content.decode()
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "QPROD" not in answer.content.decode()


def test_an_archived_room_can_still_take_a_link_back(judged, client):  # noqa: F811
    address = shared(judged)
    rooms.close(judged.lead)
    rooms.archive(judged.lead)
    lead = client_of(judged.lead)
    assert "Take back" in lead.get(reverse("summary-links", args=[judged.slug])).content.decode()
    with pytest.raises(Refused):
        actions.share(judged.lead, 1, "another")
    actions.revoke(judged.lead, ShareLink.objects.get().pk)
    assert client.get(address).status_code == 410


def test_openings_are_counted_by_masked_address_and_hour(judged, client):  # noqa: F811
    address = shared(judged)
    for caller in ("203.0.113.77", "203.0.113.78", "2001:db8:1:2::3"):
        assert client.get(address, REMOTE_ADDR=caller).status_code == 200
    rows = {row.address: row.count for row in ShareOpening.objects.all()}
    assert rows == {"203.0.113.0/24": 2, "2001:db8:1::/48": 1}
    assert ShareLink.objects.get().opened == 3
    told = judged.lead.incident.activity.filter(verb="opened", object__startswith="share link")
    assert sorted(row.detail["address"] for row in told) == ["2001:db8:1::/48", "203.0.113.0/24"]
    body = client_of(judged.lead).get(reverse("summary-links", args=[judged.slug])).content.decode()
    assert "3 times" in body
    assert "203.0.113.77" not in body
    assert judged.lead.incident.activity.model.objects.first_broken(judged.lead.incident.pk) is None


def test_secrets_are_hashed_and_guessing_is_slow(judged, client, monkeypatch):  # noqa: F811
    address = shared(judged)
    secret = address.split("/")[2]
    assert secret not in str(ShareLink.objects.values())
    assert client.get(reverse("shared-summary", args=["no-such-secret"])).status_code == 401
    monkeypatch.setattr(actions, "MOST_OPENED", 3)
    codes = [
        client.get(reverse("shared-summary", args=[f"guess{i}"]), REMOTE_ADDR="198.51.100.9").status_code
        for i in range(6)
    ]
    assert codes[-1] == 429


def test_the_form_of_links_keeps_what_was_typed(judged):  # noqa: F811
    client, address = client_of(judged.lead), reverse("summary-links", args=[judged.slug])
    assert "There is no version to share yet" in client.get(address).content.decode()
    answer = client.post(reverse("summary-versions", args=[judged.slug]), {"then": "links"})
    assert answer["Location"] == f"{address}?version=1"
    answer = client.post(address, {"do": "share", "label": HOSTILE, "version": 1, "days": 91})
    assert answer.status_code == 422
    assert "script&gt;" in answer.content.decode()
    answer = client.post(address, {"do": "share", "label": HOSTILE, "version": 1, "days": 90})
    body = answer.content.decode()
    assert re.search(r"http://testserver/shared/[\w-]{32}/", body)
    assert "\u202e" not in body
    for days in (0, 91):
        with pytest.raises(Refused):
            actions.share(judged.lead, 1, "x", days)
    with pytest.raises(Refused):
        actions.share(judged.lead, 7, "x")
    with pytest.raises(NotAllowed):
        actions.share(judged.investigator, 1, "x")
    assert client.post(address, {"do": "revoke", "link": "1x"}).status_code == 404
