"""Tests of editing the case: all changes are saved or none, typed values stay on errors, the room is judged again."""

from __future__ import annotations

import pytest
import yaml
from django.urls import reverse

from incidents import access
from incidents.actions import case as actions
from incidents.models.room.job import Job, JobKind
from tests.incidents.pages.conftest import client_of

LISTS = ("hosts", "markers", "phases", "statements", "names")


def form(**fields):
    data: dict[str, object] = {
        "form": "case",
        "title": "Logins to QPROD take 3.9 s",
        "symptom_text": "connect time",
        "symptom_unit": "s",
    }
    for name in LISTS:
        data[f"{name}-TOTAL_FORMS"] = data[f"{name}-INITIAL_FORMS"] = 0
    return data | {key.replace("__", "-"): value for key, value in fields.items()}


def save(room, **fields):
    return client_of(room).post(reverse("case", args=[room.incident.slug]), form(**fields))


def row(of, n=0, **fields):
    return {f"{of}-{n}-{key}": value for key, value in fields.items()}


def test_symptom_hosts_markers_phases_and_statements_are_saved_together(judged):
    data = form(symptom_bad="3.9", symptom_normal="0.3", ongoing="true")
    for name in LISTS:
        data[f"{name}-TOTAL_FORMS"] = 1
    data |= row("hosts", name="db1", os="solaris", ncpu="16", mem_gib="64", tz="Europe/Warsaw")
    data |= row(
        "markers", label="sga_target set", kind="change", from_phase="before", to_phase="after-1", changed="a\nb\n"
    )
    data |= row("phases", artifact="1", line_from="1", line_to="6", phase="before")
    data |= row("statements", name="sessions", num="300", text="about 300 sessions", author_label="DBA")
    data |= row("names", kind="port", name="7001", text="our order service")
    answer = client_of(judged.investigator).post(reverse("case", args=[judged.slug]), data)
    assert answer.status_code == 302
    incident = access.enter(judged.lead.user, judged.slug).incident
    assert (incident.symptom_bad, incident.symptom_normal, incident.ongoing) == (3.9, 0.3, True)
    assert incident.hosts.get().ncpu == 16
    assert incident.markers.get().changed == ["a", "b"]
    assert incident.phases.get().line_to == 6
    assert incident.statements.get().num == 300
    assert Job.objects.filter(incident=incident, kind=JobKind.JUDGE, state="queued").count() == 1
    exported = client_of(judged.viewer).get(reverse("case-yaml", args=[judged.slug]))
    assert exported["Content-Disposition"] == 'attachment; filename="case.yaml"'
    case = yaml.safe_load(exported.content)
    assert case["hosts"]["db1"]["ncpu"] == 16
    assert case["statements"][0]["num"] == 300
    assert case["names"][0] | {"at": ""} == {
        "kind": "port",
        "name": "7001",
        "text": "our order service",
        "author": "nils",
        "at": "",
    }


def test_an_error_anywhere_saves_nothing_and_keeps_what_was_typed(judged):
    data = form(title="Another title", statements__TOTAL_FORMS=1)
    data |= row("statements", name="sessions", num="many", text="about 300", author_label="DBA")
    answer = client_of(judged.investigator).post(reverse("case", args=[judged.slug]), data)
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "Another title" in text
    assert "about 300" in text
    assert access.enter(judged.lead.user, judged.slug).incident.title == "Logins to QPROD take 3.9 s"


def test_a_refusal_of_a_later_list_takes_the_earlier_ones_back(judged):
    data = form(hosts__TOTAL_FORMS=1, phases__TOTAL_FORMS=2)
    data |= row("hosts", name="db1")
    data |= row("phases", 0, artifact="1", line_from="1", line_to="6", phase="before")
    data |= row("phases", 1, artifact="1", line_from="5", line_to="9", phase="after-1")
    answer = client_of(judged.investigator).post(reverse("case", args=[judged.slug]), data)
    assert answer.status_code == 409
    assert not judged.lead.incident.hosts.exists()
    assert not judged.lead.incident.phases.exists()


def test_a_marker_needs_a_place(judged):
    data = form(markers__TOTAL_FORMS=1) | row("markers", label="restart", kind="change")
    answer = client_of(judged.investigator).post(reverse("case", args=[judged.slug]), data)
    assert answer.status_code == 422
    assert "Say when it was, or between which two phases." in answer.content.decode()


def test_rows_are_changed_renamed_and_removed(judged):
    host = actions.put_host(judged.lead, "db1", {"ncpu": 16})
    statement = actions.put_statement(judged.lead, {"name": "sessions", "num": 300.0, "text": "about 300"})
    data = form(hosts__TOTAL_FORMS=1, hosts__INITIAL_FORMS=1, statements__TOTAL_FORMS=1, statements__INITIAL_FORMS=1)
    data |= row("hosts", id=host.pk, name="db2", ncpu="16")
    data |= row("statements", id=statement.pk, name="sessions", num="300.0", text="about 300", DELETE="on")
    data["statements-0-author_label"] = statement.author_label
    answer = client_of(judged.investigator).post(reverse("case", args=[judged.slug]), data)
    assert answer.status_code == 302
    assert [(h.name, h.ncpu) for h in judged.lead.incident.hosts.all()] == [("db2", 16)]
    assert not judged.lead.incident.statements.exists()


def test_saving_without_a_change_records_nothing(judged):
    before = judged.lead.incident.activity.count()
    assert save(judged.investigator).status_code == 302
    assert judged.lead.incident.activity.count() == before


def test_a_viewer_reads_but_gets_no_button(judged):
    text = client_of(judged.viewer).get(reverse("case", args=[judged.slug])).content.decode()
    assert "Save and judge again" not in text
    assert '<fieldset class="form" disabled>' in text


def test_only_a_lead_closes_and_opens(judged):
    address = reverse("case", args=[judged.slug])
    assert client_of(judged.investigator).post(address, {"form": "status", "status": "closed"}).status_code == 403
    client = client_of(judged.lead)
    assert client.post(address, {"form": "status", "status": "closed"}).status_code == 302
    assert "Open the room again" in client.get(reverse("status", args=[judged.slug])).content.decode()
    assert save(judged.investigator, title="x").status_code == 409
    assert client.post(address, {"form": "status", "status": "open"}).status_code == 302
    assert client.post(address, {"form": "status", "status": "nonsense"}).status_code == 400


def test_the_names_that_rules_read_are_listed_with_unit_and_words(judged):
    page = client_of(judged.lead).get(reverse("case", args=[judged.slug])).content.decode()
    assert "<code>hist_unit_s</code> (s)" in page
    assert "Say what one unit of the printed values is, in seconds." in page


@pytest.mark.parametrize("many", [201, 10**6, 10**9])
def test_a_list_of_a_million_rows_is_refused_before_any_is_made(judged, many):
    answer = save(judged.investigator, hosts__TOTAL_FORMS=many, title="Another title")
    assert answer.status_code == 400
    assert "at most 200 rows" in answer.content.decode()
    assert access.enter(judged.lead.user, judged.slug).incident.title != "Another title"
