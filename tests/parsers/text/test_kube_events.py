"""Test that cluster events printed as JSON become lines, and that similar files stay unchanged."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from parsers.reading import read
from parsers.text import kube_events
from parsers.text.source import Hints
from parsers.text.transcripts import scribe_of
from tests.parsers.containers.trees import EVENTS

NEW = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "a.1", "namespace": "shop", "creationTimestamp": "2024-03-05T08:59:00Z"},
    "regarding": {"kind": "Pod", "namespace": "shop", "name": "orders-7d9"},
    "reason": "Unhealthy",
    "note": "Readiness probe failed:\n  timeout",
    "reportingController": "kubelet",
    "eventTime": "2024-03-05T08:58:00.000001Z",
    "series": {"count": 9, "lastObservedTime": "2024-03-05T09:00:00.500000Z"},
    "type": "Warning",
}


def lines(document: Any) -> tuple[list[str], str]:
    text = document if isinstance(document, str) else json.dumps(document, indent=4)
    made, found = kube_events.transcribe(io.BytesIO(text.encode())), []
    while True:
        try:
            found.append(next(made))
        except StopIteration as end:
            return found, end.value


def test_each_event_is_a_line_in_the_order_of_time() -> None:
    found, note = lines(EVENTS)
    assert note == kube_events.OWN
    assert found == [
        "2024-03-05T09:08:30Z Warning OOMKilling pod/orders-7d9 in shop, kernel-monitor on node-3: Memory cgroup out of memory:"
        " Killed process 4711 (orders) [7 times since 2024-03-05T09:00:30Z]",
        "2024-03-05T09:09:00Z Warning BackOff pod/orders-7d9 in shop, kubelet on node-3: Back-off restarting failed container"
        " orders [41 times since 2024-03-05T09:01:00Z]",
    ]


def test_the_newer_version_and_events_without_time_are_read_too() -> None:
    bare = {"kind": "Event", "reason": "Created", "message": "no time"}
    found, _ = lines({"apiVersion": "v1", "items": [bare, NEW], "kind": "List"})
    assert found == [
        "2024-03-05T09:00:00.500000Z Warning Unhealthy pod/orders-7d9 in shop, kubelet: Readiness probe failed: timeout [9 times]",
        "Created /: no time",
    ]


def test_a_file_of_events_is_read_with_its_times(tmp_path: Any) -> None:
    file = tmp_path / "events.json"
    file.write_text(json.dumps({"apiVersion": "v1", "items": [NEW] * 5, "kind": "List"}, indent=4))
    account = read(file, Hints(), None)
    assert account.account.read == account.lines == 5
    assert [domain.kind for domain in account.parts[0].domains] == ["wall-utc"]


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata"}\n' * 3,
        '{"kind": "PodList", "items": []}\n',
        "Event list: {}\n",
        '["kind", "Event"]\n',
    ],
)
def test_other_json_stays_as_it_is(tmp_path: Any, text: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    assert scribe_of(file) is None


@pytest.mark.parametrize(
    "text", ['{"kind": "EventList", "items": [\n{"a": 1},\n', '{"kind": "EventList", "items": [\n1, 2]}\n', "{" * 9]
)
def test_what_is_no_list_after_all_keeps_its_lines(text: str) -> None:
    found, note = lines(text)
    assert note == kube_events.AS_IT_IS
    assert found == text.removesuffix("\n").split("\n")


def test_values_of_another_sort_are_no_fault() -> None:
    odd: dict[str, Any] = {
        "involvedObject": [],
        "source": None,
        "count": "many",
        "message": 7,
        "series": "x",
        "lastTimestamp": {},
    }
    assert lines({"kind": "EventList", "items": [odd]})[0] == ["/:"]
