"""OpenTelemetry traces of requests, tasks and statements: off unless the standard variables switch them on.

On are they with OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (over HTTP), or OTEL_TRACES_EXPORTER=otlp or
console; never with OTEL_SDK_DISABLED=true or OTEL_TRACES_EXPORTER=none. Off, we import nothing of
OpenTelemetry; redis-py imports its metrics by itself, which takes 65 ms.

A trace leaves this site, so it holds what is on the list below and nothing else: no address but its route, no query, no
header, no text of an error, no value of a statement. What a later release of a library adds is left out too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

ATTRIBUTES = frozenset(
    {
        *("http.method", "http.request.method", "http.status_code", "http.response.status_code", "http.route"),
        *("http.scheme", "url.scheme", "http.flavor", "network.protocol.version", "error.type"),
        *("db.system", "db.system.name", "db.name", "db.namespace", "db.operation.name"),
        *("celery.action", "celery.state", "celery.task_name", "messaging.system", "messaging.destination"),
        *("messaging.destination_kind", "messaging.operation"),
    }
)
"""Attributes that leave. Their values are words of ours or of a protocol: methods, routes, statuses, queues, tasks."""
EXCEPTION = "exception.type"
"""What leaves of an exception: its class. Its words may quote evidence."""
QUIET = "healthz,metrics"
"""Routes that are asked every few seconds, and are no request of a person."""


def switched_on(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether traces are asked for, by the standard variables.

    >>> switched_on({}), switched_on({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
    (False, True)
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter:
        return exporter != "none"
    return any(environment.get(f"OTEL_EXPORTER_OTLP_{of}ENDPOINT", "").strip() for of in ("", "TRACES_"))


def begin(part: str) -> None:
    """Trace this process, if traces are asked for. Call it once, before Django loads its middleware, after a fork."""
    if not switched_on():
        return
    from opentelemetry import trace
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = os.environ.get("OTEL_SERVICE_NAME") or SERVICE_NAME in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    provider = TracerProvider(resource=Resource.create(None if named else {SERVICE_NAME: f"exhibit-{part}"}))
    provider.add_span_processor(BatchSpanProcessor(only_listed(_exporter(os.environ))))
    trace.set_tracer_provider(provider)
    instrument()


def instrument() -> None:
    """Have the libraries that do the work tell of it."""
    os.environ.setdefault("OTEL_PYTHON_DJANGO_EXCLUDED_URLS", QUIET)
    from opentelemetry.instrumentation.celery import CeleryInstrumentor
    from opentelemetry.instrumentation.django import DjangoInstrumentor
    from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor

    DjangoInstrumentor().instrument()
    CeleryInstrumentor().instrument()  # type: ignore[no-untyped-call]  # its constructor has no types
    PsycopgInstrumentor().instrument()


def _exporter(environment: Mapping[str, str]) -> SpanExporter:
    """Return the exporter that the variables name. Raises ImproperlyConfigured for one that is not here."""
    name = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    if name != "otlp":
        raise ImproperlyConfigured(f"OTEL_TRACES_EXPORTER={name}: otlp, console or none")
    protocol = (
        environment.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/protobuf"
    )
    if protocol.strip().lower() != "http/protobuf":
        raise ImproperlyConfigured(f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: only http/protobuf is here")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def only_listed(exporter: SpanExporter) -> SpanExporter:
    """Return an exporter that hands on what may leave of each span."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class Listed(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return exporter.export([listed(span) for span in spans])

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30000) -> bool:
            return exporter.force_flush(timeout_millis)

    return Listed()


def listed(span: ReadableSpan) -> ReadableSpan:
    """Return a copy of a span that holds nothing but what may leave."""
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import Link, Status

    kept: dict[str, Any] = {name: value for name, value in (span.attributes or {}).items() if name in ATTRIBUTES}
    return ReadableSpan(
        name=_name(span, kept),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=kept,
        events=[
            Event(event.name, {EXCEPTION: str((event.attributes or {}).get(EXCEPTION, ""))}, event.timestamp)
            for event in span.events
            if event.name == "exception"
        ],
        links=[Link(link.context) for link in span.links],
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _name(span: ReadableSpan, kept: Mapping[str, Any]) -> str:
    """Return the name of a span without an address: the route of a request, the task, or the first word of a statement."""
    method = kept.get("http.method") or kept.get("http.request.method")
    if method:
        return f"{method} {kept.get('http.route', '')}".strip()
    if task := kept.get("celery.task_name"):
        return f"{kept.get('celery.action', 'task')}/{task}"
    first = span.name.split(maxsplit=1)[:1]
    return first[0] if first and first[0].isalpha() else "span"
