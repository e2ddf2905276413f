"""Write the events of a Kubernetes cluster, printed as JSON, as one line each: what happened when, to what, how often.

    2024-03-05T09:09:00Z Warning BackOff pod/orders-7d9 in shop, kubelet on node-3: Back-off restarting ... [41 times since 2024-03-05T09:01:00Z]

Files: `events.json` of `kubectl cluster-info dump`, `kubectl get events -o json`; the API versions v1 and
events.k8s.io/v1. The line numbers are those of this text: events in the order of their last time, those without a time
at the end. A file that turns out not to be a list of events is copied unchanged. A file is held in memory, so one
larger than MOST_BYTES is read as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from typing import Any, BinaryIO

HEAD_BYTES = 4096
MOST_BYTES = 16 * 1024 * 1024
SIGNATURE = re.compile(rb'\A\s*\{(?=.{0,4000}?"kind": ?"Event(?:List)?")(?=.{0,4000}?"items": ?\[)', re.DOTALL)
"""An audit log has lines of kind Event too, but no items."""

OWN = "events of a Kubernetes cluster, one a line; line numbers are those of this text, not of the JSON"
AS_IT_IS = "looked like events of a Kubernetes cluster, but is no list of them: its lines as they are"


def fits(head: bytes, size: int) -> bool:
    """Decide by its first HEAD_BYTES and its size whether a file is such a list."""
    return size <= MOST_BYTES and SIGNATURE.match(head[:HEAD_BYTES]) is not None


def transcribe(stream: BinaryIO) -> Generator[str, None, str]:
    """Yield the lines; return the note on them."""
    text = stream.read().decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    listed = document.get("items") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or not all(isinstance(event, Mapping) for event in listed):
        yield from text.removesuffix("\n").split("\n")
        return AS_IT_IS
    for _, line in sorted((_order(event), _line(event)) for event in listed):
        yield line
    return OWN


def _order(event: Mapping[str, Any]) -> tuple[bool, str]:
    last = _last(event)
    return not last, last


def _last(event: Mapping[str, Any]) -> str:
    moments = (
        _text(_under(event, "series"), "lastObservedTime"),
        _text(event, "lastTimestamp"),
        _text(event, "deprecatedLastTimestamp"),
        _text(event, "eventTime"),
        _text(event, "firstTimestamp"),
        _text(_under(event, "metadata"), "creationTimestamp"),
    )
    return next((moment for moment in moments if moment), "")


def _line(event: Mapping[str, Any]) -> str:
    subject = _under(event, "involvedObject") or _under(event, "regarding")
    source = _under(event, "source") or _under(event, "deprecatedSource")
    component = _text(source, "component") or _text(event, "reportingComponent") or _text(event, "reportingController")
    node = _text(source, "host")
    space = _text(subject, "namespace")
    count = _under(event, "series").get("count") or event.get("count") or event.get("deprecatedCount")
    first = _text(event, "firstTimestamp") or _text(event, "deprecatedFirstTimestamp")
    last = _last(event)
    words = [
        last,
        _text(event, "type"),
        _text(event, "reason"),
        f"{_text(subject, 'kind').lower()}/{_text(subject, 'name')}",
        f"in {space}," if space and (component or node) else f"in {space}" if space else "",
        component,
        f"on {node}" if node else "",
    ]
    line = f"{' '.join(word for word in words if word)}: {_text(event, 'message') or _text(event, 'note')}"
    if isinstance(count, int) and count > 1:
        line += f" [{count} times{f' since {first}' if first and first != last else ''}]"
    return " ".join(line.split())


def _under(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""
