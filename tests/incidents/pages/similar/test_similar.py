"""Tests of similar rooms: what they share, how rare it is, what was done there; rooms of strangers do not count."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from incidents.access import Room
from incidents.actions import case, plan, rooms
from incidents.models.judging.finding import Finding
from incidents.pages.similar.ranking import similar
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of

pytestmark = pytest.mark.django_db

CAUSE = next(f for f in reports.report()["findings"] if f["key"] == reports.CAUSE_KEY)
COMPARED = {
    "series": "time elapsed", "from": "before", "to": "after-1", "n": [21, 20], "median": [0.31, 0.13], "hl_shift": -0.17,
    "ci": [-0.19, -0.15], "text": "time elapsed: median 0.31 s (n 21, before) to 0.13 s (n 20, after-1); mean 0.6 to 0.1 s",
}  # fmt: skip


def report(*rules: str, host: str = "db1", **more: Any) -> dict[str, Any]:
    """Return a report with one cause for each rule."""
    made: dict[str, Any] = copy.deepcopy(reports.report()) | {"findings": [], "cleared": [], "not_evaluable": []}
    for n, rule in enumerate(rules):
        key = f"{abs(hash((rule, host, n))) % 16**8:016x}"
        found = CAUSE | {"rule": rule, "title": f"Title of {rule}", "host": host, "subject": f"pid {n}", "key": key}
        made["findings"].append(found | {"citations": []})
    made["verdict"] = made["verdict"] | {"rules": list(rules)[:1], "hypothesis": f"H-{rules[0]}" if rules else None}
    return made | more


def judged(user: Any, title: str, *rules: str, **more: Any) -> Room:
    room = make_room(user, title)
    add_report(room, report(*rules, **more))
    return room


def test_rooms_are_alike_by_the_rules_they_share_the_rare_ones_first() -> None:
    olga = make_user("olga")
    room = judged(olga, "Now", "SHM-001", "CPU-002")
    common = [judged(olga, f"Common {n}", "CPU-002", host=f"other{n}") for n in range(3)]
    rare = judged(olga, "Rare", "SHM-001", host="db9")
    judged(olga, "Unlike", "NET-001", host="db1")
    found = similar(room)
    assert found[0].incident == rare.incident
    assert {one.incident.pk for one in found[1:]} == {one.incident.pk for one in common}
    assert found[0].both == ["Title of SHM-001"]


@pytest.mark.parametrize("nothing", [{"kind": "clear"}, {"severity": "info"}])
def test_a_rule_that_found_nothing_makes_no_rooms_alike(nothing: dict[str, str]) -> None:
    olga = make_user("olga")
    made = [report("SHM-001", "NET-009"), report("CPU-002", "NET-009")]
    for one in made:
        one["findings"][1] |= nothing | {"group": "along"}
    room, other = make_room(olga, "Now"), make_room(olga, "Other")
    add_report(room, made[0])
    add_report(other, made[1])
    assert similar(room) == []
    made[1]["findings"][1] |= {"kind": "finding", "severity": "minor"}
    made[0]["findings"][1] |= {"kind": "finding", "severity": "minor"}
    add_report(room, made[0])
    add_report(other, made[1])
    assert [one.incident for one in similar(room)] == [other.incident]


def test_the_same_subject_counts_but_not_the_same_process_number() -> None:
    olga = make_user("olga")
    room = judged(olga, "Now", "SHM-001")
    by_number = judged(olga, "Same pid", "SHM-001", host="db2")
    by_name = judged(olga, "Same process", "SHM-001", host="db3")
    Finding.objects.exclude(incident=by_number.incident).update(subject="ora_smon_QPROD")
    found = similar(room)
    assert [one.incident for one in found] == [by_name.incident, by_number.incident]
    assert found[0].both == ["ora_smon_QPROD", "Title of SHM-001"]
    Finding.objects.update(subject="pid 3731")
    assert {tuple(one.both) for one in similar(room)} == {("Title of SHM-001",)}


def test_a_rule_on_the_same_host_is_more_than_the_rule_alone() -> None:
    olga = make_user("olga")
    room = judged(olga, "Now", "SHM-001")
    elsewhere = judged(olga, "Elsewhere", "SHM-001", host="db2")
    same = judged(olga, "Same place", "SHM-001")
    found = similar(room)
    assert [one.incident for one in found] == [same.incident, elsewhere.incident]
    assert found[0].both[0] == "Title of SHM-001 on db1"


def test_what_was_done_there_stands_with_its_measured_effect() -> None:
    olga = make_user("olga")
    room = judged(olga, "Now", "SHM-001")
    past = judged(olga, "Past", "SHM-001", compared=[COMPARED])
    case.put_marker(
        past, {"label": "sga_target instead of memory_target", "from_phase": "before", "to_phase": "after-1"}
    )
    row = plan.put_action(past, {"text": "Restart <b>in the night</b>"})
    plan.finish_action(past, row.pk)
    gone = plan.put_action(past, {"text": "Taken back"})
    plan.finish_action(past, gone.pk)
    plan.delete_action(past, gone.pk)
    plan.put_decision(past, {"question": "When?", "outcome": "At midnight."})
    plan.put_decision(past, {"question": "Not decided yet?"})
    [one] = similar(room)
    assert [(deed.kind, deed.text, deed.effect) for deed in one.deeds] == [
        (
            "changed",
            "sga_target instead of memory_target",
            "time elapsed: median 0.31 s (n 21, before) to 0.13 s (n 20, after-1)",
        ),
        ("done", "Restart <b>in the night</b>", ""),
        ("decided", "At midnight.", ""),
    ]
    text = client_of(room).get(reverse("similar", args=[room.incident.slug])).content.decode()
    assert "Restart &lt;b&gt;in the night&lt;/b&gt;" in text
    assert "effect not measured" in text
    assert "Taken back" not in text


def test_an_effect_whose_interval_holds_zero_is_none() -> None:
    olga = make_user("olga")
    room = judged(olga, "Now", "SHM-001")
    past = judged(olga, "Past", "SHM-001", compared=[COMPARED | {"ci": [-0.19, 0.01]}])
    case.put_marker(past, {"label": "shared server", "from_phase": "before", "to_phase": "after-1"})
    assert [deed.effect for deed in similar(room)[0].deeds] == [""]


def test_a_room_that_one_may_not_see_is_not_similar_and_changes_no_weight() -> None:
    olga, stranger = make_user("olga"), make_user("stranger")
    room = judged(olga, "Now", "SHM-001", "CPU-002")
    judged(olga, "Mine", "SHM-001")
    before = [(one.incident.pk, one.score, one.both) for one in similar(room)]
    hidden = judged(stranger, "Secret customer", "SHM-001", "CPU-002")
    assert [(one.incident.pk, one.score, one.both) for one in similar(room)] == before
    make_member(hidden.incident, user=olga)
    assert hidden.incident in [one.incident for one in similar(room)]


def test_what_is_gone_or_withdrawn_or_only_about_the_data_makes_no_room_alike() -> None:
    olga = make_user("olga")
    room = judged(olga, "Now", "SHM-001")
    other = judged(olga, "Other", "SHM-001")
    Finding.objects.filter(incident=other.incident).update(withdrawn=True)
    assert similar(room) == []
    Finding.objects.filter(incident=other.incident).update(withdrawn=False, group="quality")
    assert similar(room) == []
    Finding.objects.filter(incident=other.incident).update(group="cause")
    add_report(other, report("NET-001"))
    assert similar(room) == []


def test_archived_rooms_are_the_past_that_one_looks_for() -> None:
    olga = make_user("olga")
    room = judged(olga, "Now", "SHM-001")
    past = judged(olga, "Past", "SHM-001")
    rooms.close(past)
    rooms.archive(past)
    page = client_of(room).get(reverse("similar", args=[room.incident.slug])).content.decode()
    assert "Past" in page
    assert "archived" in page


def test_the_page_says_when_there_is_none_and_the_part_stays_empty() -> None:
    room = make_room(make_user("olga"))
    address = reverse("similar", args=[room.incident.slug])
    assert "shares a rule with this one yet" in client_of(room).get(address).content.decode()
    assert client_of(room).get(address, headers={"HX-Request": "true"}).content.strip() == b""


def test_it_refuses_a_stranger() -> None:
    room = judged(make_user("olga"), "Now", "SHM-001")
    stranger = Client()
    stranger.force_login(make_user("stranger"))
    assert stranger.get(reverse("similar", args=[room.incident.slug])).status_code == 404
