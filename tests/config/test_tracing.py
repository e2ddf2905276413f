"""Traces: off by default and at no cost; on, they tell of requests, tasks and statements, and of nothing that is secret."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import tracing

ROOT = Path(__file__).resolve().parents[2]
SECRET = "Zp9SECRETzz"


def run(code: str, **variables: str) -> str:
    known = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    environment = known | {"DJANGO_SETTINGS_MODULE": "tests.settings"} | variables
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("variables", "on"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "exhibit"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, False),
    ],
)
def test_the_standard_variables_switch_them_on(variables: dict[str, str], on: bool) -> None:
    assert tracing.switched_on(variables) is on


@pytest.mark.parametrize("module", ["config.asgi", "config.celery"])
def test_off_nothing_of_it_is_imported(module: str) -> None:
    """But the interface and the metrics, which redis-py imports by itself wherever they are installed."""
    told = run(f"import sys, {module}; print([name for name in sys.modules if name.startswith('opentelemetry.')])")
    assert not {"opentelemetry.sdk.trace", "opentelemetry.instrumentation", "opentelemetry.exporter"} & set(
        told.strip().splitlines()[-1].strip("[]").replace("'", "").split(", ")
    )


@pytest.mark.parametrize(
    "variables", [{"OTEL_TRACES_EXPORTER": "zipkin"}, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}], ids=str
)
def test_what_is_not_here_stops_the_start(variables: dict[str, str]) -> None:
    with pytest.raises(ImproperlyConfigured, match=next(iter(variables.values()))):
        tracing._exporter(variables)


class Collector(ThreadingHTTPServer):
    """Keeps the bodies that it was sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        kept = self.bodies

        class Keep(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                kept.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        super().__init__(("127.0.0.1", 0), Keep)

    def spans(self) -> list[Any]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        return [
            (span, resource.resource)
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(collector: Collector, code: str) -> str:
    address = f"http://127.0.0.1:{collector.server_port}"
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
    return run(
        code + "\nfrom opentelemetry import trace\nassert trace.get_tracer_provider().force_flush()\n", **endpoint
    )


WEB = f"""
import asyncio
from config.asgi import application

async def get(path):
    scope = dict(
        type="http", asgi=dict(version="3.0"), http_version="1.1", method="GET", scheme="http", path=path,
        raw_path=path.encode(), query_string=b"q={SECRET}", root_path="", server=("127.0.0.1", 80),
        client=("127.0.0.1", 9), headers=[(b"host", b"127.0.0.1"), (b"user-agent", b"{SECRET}"),
        (b"cookie", b"sessionid={SECRET}"), (b"authorization", b"Bearer {SECRET}")])
    told = asyncio.Event()
    body = [dict(type="http.request", body=b"", more_body=False)]
    async def receive():
        if body:
            return body.pop()
        await told.wait()
        return dict(type="http.disconnect")
    answers = []
    async def send(message):
        answers.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            told.set()
    await application(scope, receive, send)
    return answers[0]["status"]

for path in ("/join/{SECRET}/", "/shared/{SECRET}/", "/rooms/{SECRET}/keeping/", "/nowhere/{SECRET}", "/healthz"):
    print(path, asyncio.run(get(path)))
"""


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_a_request_and_its_statements_are_told_without_anything_secret(collector: Collector) -> None:
    from django.db import connection

    known = connection.settings_dict
    name = f"import django.conf; django.conf.settings.DATABASES['default']['NAME'] = {known['NAME']!r}\n"
    send(collector, name + WEB)
    spans = collector.spans()
    names = {span.name for span, _ in spans}
    assert {"GET join/<str:token>/", "GET rooms/<slug:slug>/keeping/", "SELECT"} <= names
    assert not any("healthz" in name for name in names)
    assert all(SECRET.encode() not in body for body in collector.bodies)
    for span, resource in spans:
        assert {attribute.key for attribute in span.attributes} <= tracing.ATTRIBUTES
        assert span.status.message == ""
        (service,) = (pair.value.string_value for pair in resource.attributes if pair.key == "service.name")
        assert service == "exhibit-web"
    requests = {span.span_id: span for span, _ in spans if span.name.startswith("GET ")}
    assert any(span.parent_span_id in requests for span, _ in spans if span.name == "SELECT"), (
        "one belongs to the other"
    )


TASK = f"""
from config import celery, tracing
import django
django.setup()
tracing.begin("worker")

@celery.app.task(name="tests.fails")
def fails(word):
    raise ValueError("quotes evidence: {SECRET}")

celery.app.conf.task_always_eager = True
fails.delay("{SECRET}")
"""


def test_a_task_that_fails_tells_the_class_of_its_error_and_no_word_of_it(collector: Collector) -> None:
    send(collector, TASK)
    spans = [span for span, _ in collector.spans()]
    assert any("tests.fails" in span.name for span in spans)
    assert {event.name for span in spans for event in span.events} <= {"exception"}
    told = [pair.value.string_value for span in spans for event in span.events for pair in event.attributes]
    assert told == ["ValueError"]
    assert all(SECRET.encode() not in body for body in collector.bodies)


def test_whatever_a_span_holds_only_the_list_leaves() -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(tracing.only_listed(memory)))
    tracer = provider.get_tracer("x")

    def work() -> None:
        with tracer.start_as_current_span(f"/join/{SECRET}/", attributes={"http.url": SECRET, "x": 1}) as at:
            at.set_attribute("db.statement", f"SELECT '{SECRET}'")
            at.set_attribute("http.route", "join/<token>/")
            at.add_event("note", {"said": SECRET})
            raise RuntimeError(SECRET)

    with pytest.raises(RuntimeError):
        work()
    (span,) = memory.get_finished_spans()
    assert SECRET not in span.to_json()
    assert dict(span.attributes or {}) == {"http.route": "join/<token>/"}
    assert [dict(event.attributes or {}) for event in span.events] == [{"exception.type": "RuntimeError"}]
    assert span.name == "span"
