"""Tests of a room's thresholds: bounds, reason, last day, remarks in findings, parity with the command line, end."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from incidents.access import Room
from incidents.actions import rooms
from incidents.models.judging.threshold import Suppression, Threshold
from incidents.models.room.job import Job, JobKind
from incidents.work import analysis, expiring
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import client_of
from tests.incidents.work.test_analysis import lasting, on_the_command_line

pytestmark = pytest.mark.django_db
RULE, PARAM = "SHM-001", "min_stall_s"


def day(ahead: int) -> str:
    return (timezone.now().date() + timedelta(days=ahead)).isoformat()


def said(**more: str) -> dict[str, str]:
    return {"rule": RULE, "param": PARAM, "value": "0.2", "reason": "fast host", "until": day(30)} | more


def post(room: Room, **more: str):
    return client_of(room).post(reverse("thresholds", args=[room.incident.slug]), said(**more))


@pytest.fixture
def room() -> Room:
    return make_room(make_user("anna"), "Logins take 3.9 s")


def test_a_threshold_is_set_kept_in_the_case_and_judged_again(room, hints, on_commit):
    answer = post(room)
    assert answer.status_code == 302
    row = Threshold.objects.get()
    assert (row.rule, row.param, row.value, row.reason, row.until.isoformat()) == (
        RULE,
        PARAM,
        0.2,
        "fast host",
        day(30),
    )
    (override,) = analysis.case_of(room.incident).rules.overrides
    assert (override.value, override.scope, override.author, override.expires) == (0.2, "room", "anna", day(30))
    assert "min_stall_s" in analysis.case_yaml(room.incident)
    assert Job.objects.filter(incident=room.incident, kind=JobKind.JUDGE).exists()
    assert room.incident.activity.filter(verb="set", object=f"threshold {RULE} {PARAM}").exists()
    assert room.incident.events.filter(kind="case").exists()
    body = client_of(room).get(answer["Location"]).content.decode()
    assert "instead of 0.5 s" in body
    assert "fast host" in body


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"value": "-1"}, "must be 0."),
        ({"value": "1e9"}, "min_stall_s must be"),
        ({"value": "0,2"}, "must be a number written like 0.25"),
        ({"value": "nan"}, "min_stall_s must be"),
        ({"value": "inf"}, "min_stall_s must be"),
        ({"value": ""}, "must be a number"),
        ({"reason": " "}, "Give a reason"),
        ({"until": "2020-01-01"}, "The last day must be from"),
        ({"until": "soon"}, "Write the day like"),
        ({"until": "9999-12-31"}, "The last day must be from"),
    ],
)
def test_out_of_range_names_the_bounds_and_keeps_what_was_typed(room, typed, words):
    answer = post(room, **typed)
    assert answer.status_code == 422
    body = answer.content.decode()
    assert words in body
    assert "the rule&#x27;s own value is" in body or "the rule's own value is" in body
    assert f'value="{(said() | typed)["value"]}"' in body
    assert not Threshold.objects.exists()


@pytest.mark.parametrize("typed", [{"rule": "NO-999"}, {"param": "nosuch"}])
def test_what_no_rule_has_is_not_found(room, typed):
    assert post(room, **typed).status_code == 404


def test_a_viewer_reads_and_sets_nothing(room):
    viewer = make_member(room.incident, "viewer")
    assert client_of(viewer).get(reverse("thresholds", args=[room.incident.slug])).status_code == 200
    assert post(viewer).status_code == 403
    rooms.close(room)
    assert post(room).status_code == 409


def test_a_second_value_replaces_the_first_and_undo_brings_it_back(room):
    post(room)
    post(room, value="0.3")
    first, second = Threshold.objects.order_by("pk")
    assert (first.deleted_at is not None, second.deleted_at) == (True, None)
    client, slug = client_of(room), room.incident.slug
    client.post(reverse("threshold", args=[slug, "values", second.pk]))
    assert analysis.case_of(room.incident).rules.overrides == ()
    client.post(reverse("threshold", args=[slug, "values", second.pk]), {"do": "restore"})
    assert [o.value for o in analysis.case_of(room.incident).rules.overrides] == [0.3]
    assert client.post(reverse("threshold", args=[slug, "values", first.pk]), {"do": "restore"}).status_code == 409
    assert client.post(reverse("threshold", args=[slug, "values", 0])).status_code == 404


def test_findings_are_hidden_for_at_most_ninety_days(room):
    hide = {"do": "hide", "subject": "pid 37*", "host": "", "reason": "known here"}
    assert post(room, **hide, until=day(91)).status_code == 422
    assert "90 days ahead at most" in post(room, **hide, until=day(91)).content.decode()
    assert post(room, **hide, until=day(90)).status_code == 302
    assert post(room, **hide, until=day(80)).status_code == 409
    row = Suppression.objects.get()
    (suppression,) = analysis.case_of(room.incident).rules.suppressions
    assert (suppression.rule, suppression.subject, suppression.host, suppression.scope) == (
        RULE,
        "pid 37*",
        None,
        "incident",
    )
    client = client_of(room)
    page = client.get(reverse("thresholds", args=[room.incident.slug])).content.decode()
    assert "The last judgement has no finding that these hide." in page
    client.post(reverse("threshold", args=[room.incident.slug, "hidden", row.pk]))
    assert analysis.case_of(room.incident).rules.suppressions == ()
    client.post(reverse("threshold", args=[room.incident.slug, "hidden", row.pk]), {"do": "restore"})
    assert len(analysis.case_of(room.incident).rules.suppressions) == 1


def test_what_is_past_its_day_ends_and_the_room_is_judged_again(room):
    post(room)
    post(room, do="hide", subject="*", until=day(5))
    Threshold.objects.update(until=day(-1))
    Suppression.objects.update(until=day(-1))
    Job.objects.all().delete()
    closed = make_room()
    Threshold.objects.create(
        incident=closed.incident,
        rule=RULE,
        param=PARAM,
        value=1,
        reason="r",
        until=day(-1),
        author=closed.user,
        author_label="x",
    )
    rooms.close(closed)
    Job.objects.all().delete()
    assert expiring.end_what_is_past() == 2
    assert expiring.end_what_is_past() == 0, "a second sweep finds nothing"
    assert [job.incident_id for job in Job.objects.filter(kind=JobKind.JUDGE)] == [room.incident.pk]
    assert analysis.case_of(room.incident).rules.overrides == ()
    assert room.incident.activity.filter(actor=None, verb="ended").count() == 2
    assert client_of(room).get(reverse("thresholds", args=[room.incident.slug])).status_code == 200


def test_the_page_asks_the_database_seldom(room, django_assert_max_num_queries):
    for name in ("min_stall_s",):
        post(room, param=name)
    for n in range(20):
        post(room, do="hide", subject=f"pid {n}", until=day(5))
    client = client_of(room)
    with django_assert_max_num_queries(15):
        answer = client.get(reverse("thresholds", args=[room.incident.slug]), {"rule": RULE, "q": "stall"})
    assert answer.status_code == 200


def test_a_room_with_thresholds_and_its_export_say_the_same(tmp_path: Path):
    """Check that the room's report equals that of its exported case, and that its text names what was set."""
    room = make_room(make_user("anna"), "Logins take 3.9 s")
    for name, lines in reports.FILES.items():
        make_artifact(room, "".join(f"{line}\n" for line in lines).encode(), name, host="db1")
    run_jobs("small")
    post(room, value="0.2")
    run_jobs("judge")
    report = room.incident.evaluations.order_by("-number").first().report
    (told,) = [finding for finding in report["findings"] if finding["rule"] == RULE]
    assert told["params"][PARAM] == {"value": 0.2, "unit": "s", "origin": f"room anna until {day(30)}: fast host"}
    assert (
        f"Changed threshold: {PARAM} is 0.2 s instead of 0.5 s, set by room anna until {day(30)}: fast host."
        in told["expert"]
    )
    page = client_of(room).get(reverse("finding", args=[room.incident.slug, told["key"]])).content.decode()
    assert "Changed threshold" in page
    assert reverse("thresholds", args=[room.incident.slug]) + f"?rule={RULE}" in page
    post(room, do="hide", subject="*", until=day(5), reason="known")
    run_jobs("judge")
    hidden = room.incident.evaluations.order_by("-number").first().report
    assert RULE not in {finding["rule"] for finding in hidden["findings"]}
    assert [(h["rule"], h["reason"], h["author"]) for h in hidden["hidden"]] == [(RULE, "known", "anna")]
    assert "known" in client_of(room).get(reverse("thresholds", args=[room.incident.slug])).content.decode()
    assert lasting(on_the_command_line(room.incident, tmp_path / "export")) == lasting(hidden)
