"""Files of what a room found, and the page that translates names back."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from incidents.models.room.bundle import Export
from tests.incidents.conftest import make_artifact, make_room, run_jobs
from tests.incidents.pages.conftest import client_of
from tests.incidents.pages.pages import unbroken
from tests.rules.clocks import dated_rooms as rooms

pytestmark = pytest.mark.django_db


def test_the_page_links_every_file_and_each_answers(judged):
    client = client_of(judged.viewer)
    page = unbroken(client.get(reverse("export", args=[judged.slug])))
    for what, form, kind in (
        ("findings", "csv", "text/csv; charset=utf-8"),
        ("observations", "csv", "text/csv; charset=utf-8"),
        ("found", "sarif", "application/sarif+json"),
        ("annotations", "json", "application/json"),
    ):
        address = reverse("export-found", args=[judged.slug, what, form])
        assert f'href="{address}"' in page
        answer = client.get(address)
        assert answer["Content-Type"] == kind
        assert answer["Content-Disposition"] == f'attachment; filename="{judged.slug}-{what}.{form}"'
    report = judged.lead.incident.evaluations.get().report
    rows = list(
        csv.DictReader(
            io.StringIO(client.get(reverse("export-found", args=[judged.slug, "findings", "csv"])).content.decode())
        )
    )
    assert [row["key"] for row in rows] == [finding["key"] for finding in report["findings"]]
    log = json.loads(client.get(reverse("export-found", args=[judged.slug, "found", "sarif"])).content)
    assert log["runs"][0]["tool"]["driver"]["informationUri"].endswith(f"/rooms/{judged.slug}/")


def test_the_page_links_files_of_rows_that_answer_and_names_frames_without_a_date(db):
    room = make_room()
    for name, text in (
        ("a.strace", rooms.strace_ttt()),
        ("b.truss", rooms.truss_d()),
        ("c.vmstat", rooms.vmstat_alone()),
    ):
        make_artifact(room, text.encode(), name, host="db1")
    run_jobs()
    client = client_of(room)
    page = unbroken(client.get(reverse("export", args=[room.incident.slug])))
    addresses = [html.unescape(one) for one in re.findall(r'href="([^"]*/timeline/rows\.[^"]*)"', page)]
    assert [one.rpartition("/")[2] for one in addresses] == [
        *("rows.jsonl", "rows.otlp", "rows.trace?frame=A", "rows.trace?frame=B"),
    ]
    for address in addresses:
        assert client.get(address).status_code == 200, address
    assert "its own. Without a date: frame B. Their rows" in page
    assert "So far it would show nothing" in page, "nothing that was found has a date"
    assert f"/api/v1/rooms/{room.incident.slug}/annotations?from=${{__from}}&amp;to=${{__to}}" in page


def test_an_unjudged_room_has_nothing_to_hand_out(db):
    room = make_room()
    assert client_of(room).get(reverse("export-found", args=[room.incident.slug, "found", "sarif"])).status_code == 409
    assert "was not judged yet" in unbroken(client_of(room).get(reverse("export", args=[room.incident.slug])))


def test_a_lead_asks_for_further_names_and_translates_back(db):
    room = make_room()
    url = reverse("export", args=[room.incident.slug])
    client_of(room).post(url, {"do": "make", "holds": "redacted", "also": "Project Gnu\n\n  Okapi \n"})
    row = Export.objects.get(incident=room.incident)
    assert row.also == ["Project Gnu", "Okapi"]
    now = timezone.now()
    replaced = {"host-00ff00ff00": ["host", "db1"], "10.9.8.7": ["address", "192.0.2.4"]}
    Export.objects.update(state="ready", size=1, ready_at=now, expires_at=now + timedelta(days=7), names=replaced)
    assert reverse("export-names", args=[room.incident.slug, row.pk]) in unbroken(client_of(room).get(url))
    names = reverse("export-names", args=[room.incident.slug, row.pk])
    answer = client_of(room).post(names, {"text": "host-00ff00ff00 asked 10.9.8.7, <b>10.9.8.70</b>"})
    assert '<pre class="command" id="translated">db1 asked 192.0.2.4, &lt;b&gt;10.9.8.70&lt;/b&gt;</pre>' in unbroken(
        answer
    )
    filtered = unbroken(client_of(room).get(names, {"q": "DB"}))
    assert "host-00ff00ff00" in filtered
    assert "10.9.8.7" not in filtered


def test_too_many_names_are_refused_in_words(db):
    room = make_room()
    also = "\n".join(f"name{n}" for n in range(300))
    answer = client_of(room).post(reverse("export", args=[room.incident.slug]), {"holds": "redacted", "also": also})
    assert answer.status_code == 400
    assert "At most 200" in unbroken(answer)
