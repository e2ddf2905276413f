"""Data model of an incident in the lab: how it is produced, its truth, and what people would state about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.scene import Scene

COMPLAINT: Mapping[str, Any] = {"symptom": {"text": "users say that everything is slow"}}
ELSEWHERE: Mapping[str, Any] = {
    "symptom": {"text": "some logins take three seconds", "unit": "s", "bad": 3.0, "normal": 0.1}
}


@dataclass(frozen=True)
class Incident:
    """A cause that can be produced here. `truth` is written before anything judges the recording.

    `truth` holds keys of a case's truth.yaml (layer, hypothesis, rules, forbidden_layers ...). `said` holds keys of its
    case.yaml (symptom, statements ..., `at`: the host of each file, `interval`: its seconds) for the bad run;
    `said_healthy` those for the twin, which has the same programs and no cause. `calm` means that the recording holds
    counters of the whole machine: it starts when the processors are idle, and a twin is deleted if other programs used
    them meanwhile.
    """

    name: str
    about: str
    play: Callable[[Scene], None]
    truth: Mapping[str, Any]
    said: Mapping[str, Any] = field(default_factory=dict)
    said_healthy: Mapping[str, Any] = field(default_factory=dict)
    calm: bool = False


@dataclass(frozen=True)
class Healthy:
    """Healthy programs, idle or busy: the library must blame nobody. Recorded in a network and process namespace of
    their own.

    `calm` means that the recording holds counters of the whole machine: it is made only while processors are idle, and
    deleted if other programs used them meanwhile, because it would not be healthy. `said` holds keys of its case.yaml:
    a complaint as in a real room (`COMPLAINT`), or one about a time outside of this evidence (`ELSEWHERE`).
    """

    name: str
    about: str
    play: Callable[[Scene], None]
    calm: bool = False
    said: Mapping[str, Any] = field(default_factory=lambda: COMPLAINT)
