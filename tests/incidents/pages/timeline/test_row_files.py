"""Files of the timeline's rows for other tools: Timesketch and OpenTelemetry. Dated, undated and unaligned clocks."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from incidents.access import Room
from incidents.drawing.exports import flat
from tests.incidents.conftest import make_artifact, make_room, run_jobs
from tests.incidents.pages.conftest import client_of
from tests.rules.clocks import dated_rooms as rooms

pytestmark = pytest.mark.django_db

#: Samples without a time: they have an order only.
UNSTAMPED = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
) + "".join(f" {n}  0      0 805{n} 12 44    0    0     1     2   90  110  3  1 96  0  0\n" for n in range(4))
FILES = {
    "epoch.strace": (rooms.strace_ttt(), "web1"),
    "dated.vmstat": (rooms.vmstat_t(), "db1"),
    "relative.truss": (rooms.truss_d(), "db1"),
    "unstamped.vmstat": (UNSTAMPED, "db2"),
}


@pytest.fixture
def room(db: None) -> Room:
    room = make_room()
    for name, (text, host) in FILES.items():
        make_artifact(room, text.encode(), name, host=host)
    run_jobs()
    return room


def written(client: Client, room: Room, form: str, **asked: Any) -> str:
    answer = client.get(reverse("timeline-rows", args=[room.incident.slug, form]), asked)
    assert answer.status_code == 200, answer.content
    return str(answer.getvalue().decode())


def lines(room: Room, **asked: Any) -> list[dict[str, Any]]:
    text = written(client_of(room), room, "jsonl", **asked)
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def remarks(found: list[dict[str, Any]]) -> list[str]:
    return [line["message"] for line in found if line["data_type"] == "exhibit:timeline:remark"]


def test_each_line_has_what_timesketch_requires(room: Room):
    found = lines(room)
    for line in found:
        assert line["message"]
        assert line["timestamp_desc"]
        at = datetime.fromisoformat(line["datetime"])
        assert line["datetime"].endswith("+00:00")
        assert len(line["datetime"].partition(".")[2]) == len("123456+00:00")
        assert round(at.timestamp() * 1e6) == line["timestamp"]


def test_a_row_has_its_instant_and_its_lines(room: Room):
    calls = [line for line in lines(room) if line.get("lane") == "syscalls"]
    assert len(calls) == 30, "those of the trace without a date are left out"
    first = calls[0]
    assert first["datetime"] == "2025-06-01T10:00:00.250000+00:00"
    assert first["end"] == "2025-06-01T10:00:00.250100+00:00"
    assert first["message"] == "read, 100 µs (syscalls 4117 4117)"
    assert (first["host"], first["file"], first["artifact"]) == ("web1", "epoch.strace", 1)
    assert (first["line_from"], first["line_to"], first["clock"]) == (1, 1, "1.1:1")
    assert [line["line_to"] for line in calls] == list(range(1, 31))


def test_a_sample_is_a_value_at_its_end(room: Room):
    sample = next(line for line in lines(room) if line.get("lane") == "vmstat.r")
    assert (sample["message"], sample["value"]) == ("vmstat.r: 1 threads", 1.0)
    assert sample["timestamp_desc"] == "End of the sample"
    assert sample["datetime"] == "2025-06-01T09:59:10.000000+00:00", "the first row is the average since boot"
    assert "the time zone is not known: times are taken as UTC" in sample["clock_note"]


def test_what_has_no_date_is_counted_in_words_and_clocks_apart_are_named(room: Room):
    told = remarks(lines(room))
    assert any("no clock, only an order" in text for text in told)
    assert "20 rows of “db1, system calls” left out: seconds since the trace began, whose date is not known." in told
    assert any(text.startswith("These clocks are not aligned with each other") for text in told)
    apart = next(text for text in told if text.startswith("These clocks"))
    assert "“web1, system calls”" in apart
    assert "“db1, vmstat”" in apart


def test_a_frame_alone_has_its_window_only(room: Room):
    found = client_of(room).get(reverse("timeline-data", args=[room.incident.slug])).json()["frames"]
    frame = next(one for one in found if "web1" in one["title"])
    begin = frame["t0"]
    few = lines(room, frame=frame["frame"], **{"from": begin, "to": begin + 5})
    assert 0 < len(few) < 10
    assert {line["lane"] for line in few} == {"syscalls"}


def test_nonsense_is_refused_in_words(room: Room):
    client = client_of(room)
    for form in ("jsonl", "otlp"):
        address = reverse("timeline-rows", args=[room.incident.slug, form])
        assert client.get(address, {"frame": "no such"}).status_code == 404
        assert client.get(address, {"frame": "A", "from": "x"}).status_code in (400, 404)
    unjudged = make_room()
    answer = client_of(unjudged).get(reverse("timeline-rows", args=[unjudged.incident.slug, "jsonl"]))
    assert answer.status_code == 409


def test_too_many_rows_are_refused_before_the_first_byte(room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(flat, "MOST_ROWS", 10)
    answer = client_of(room).get(reverse("timeline-rows", args=[room.incident.slug, "jsonl"]))
    assert (answer.status_code, b"at most 10" in answer.content) == (413, True)


def spans_of(room: Room, **asked: Any) -> ExportTraceServiceRequest:
    """Read an export by OpenTelemetry's own messages. OTLP writes ids as hex where JSON of protobuf wants base64."""
    document = json.loads(written(client_of(room), room, "otlp", **asked))
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId"):
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return json_format.ParseDict(document, ExportTraceServiceRequest())


def attributes(of: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of}


def test_opentelemetry_reads_the_spans_back(room: Room):
    read = spans_of(room)
    resources = {attributes(one.resource.attributes)["exhibit.file"]: one for one in read.resource_spans}
    assert set(resources) == {"epoch.strace", "relative.truss"}, "samples and log lines are no spans"
    dated = resources["epoch.strace"]
    about = attributes(dated.resource.attributes)
    assert (about["service.name"], about["host.name"]) == ("web1: epoch.strace", "web1")
    assert (about["exhibit.artifact"], about["exhibit.clock"]) == (1, "1.1:1")
    assert "exhibit.clock.unknown" not in about
    (scope,) = dated.scope_spans
    assert scope.scope.name == "syscalls"
    assert [span.name for span in scope.spans] == ["read"] * 30
    first = scope.spans[0]
    assert first.start_time_unix_nano == (rooms.JUNE_TEN * 1000 + 250) * 10**6
    assert first.end_time_unix_nano - first.start_time_unix_nano == 100_000
    assert attributes(first.attributes) == {"exhibit.strip": "4117 4117", "exhibit.line_from": 1, "exhibit.line_to": 1}


def test_every_span_has_ids_of_its_own_and_ends_after_its_begin(room: Room):
    spans = [span for one in spans_of(room).resource_spans for scope in one.scope_spans for span in scope.spans]
    assert len({(span.trace_id, span.span_id) for span in spans}) == len(spans) == 50
    for span in spans:
        assert (len(span.trace_id), len(span.span_id), span.parent_span_id) == (16, 8, b"")
        assert 0 <= span.start_time_unix_nano <= span.end_time_unix_nano


def test_spans_without_a_date_begin_at_1970_and_their_resource_says_so(room: Room):
    read = spans_of(room)
    undated = next(
        one for one in read.resource_spans if "relative" in attributes(one.resource.attributes)["exhibit.file"]
    )
    about = attributes(undated.resource.attributes)
    assert about["exhibit.clock.unknown"] == "seconds since the trace began, whose date is not known"
    first, *_, last = undated.scope_spans[0].spans
    assert last.end_time_unix_nano - first.end_time_unix_nano == pytest.approx(1.9e9)
    assert first.end_time_unix_nano < 60 * 10**9


def test_a_second_export_is_the_same_and_another_room_has_other_ids(room: Room):
    client = client_of(room)
    assert written(client, room, "otlp") == written(client, room, "otlp")
    other = make_room()
    make_artifact(other, rooms.strace_ttt().encode(), "epoch.strace", host="web1")
    run_jobs()
    ids = [
        {span.span_id for one in spans_of(of).resource_spans for scope in one.scope_spans for span in scope.spans}
        for of in (room, other)
    ]
    assert ids[0] & ids[1] == set()
