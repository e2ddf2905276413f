"""Where no mechanism is a lead, the words of what stands out may lead to a layer, if no other is near."""

from __future__ import annotations

from typing import Any

import pytest

from rules.judging import by_words
from rules.judging.by_words import lead_by_words
from rules.judging.explaining import as_verdict
from rules.signatures.vocabulary import Word
from tests.rules.judging.test_observing import row

DISK = {"storage": 9.0, "network": -6.0, "name_service": -6.0, "database": -6.0, "os_kernel": -6.0, "client_app": -6.0}
LINK = {"storage": -6.0, "network": 9.0, "name_service": -6.0, "database": -6.0, "os_kernel": -6.0, "client_app": -6.0}
KNOWN = {
    "platter": Word(DISK, 9),
    "head": Word(DISK, 30),
    "cable": Word(LINK, 5),
    "took": Word(dict.fromkeys(DISK, 0.0), 90),
}

OUTRIGHT = (("disk-error", "storage"), ("link-flap", "network"))


@pytest.fixture(autouse=True)
def _vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_words, "vocabulary", lambda: KNOWN)


def led(*rows: dict[str, Any], measures: tuple[dict[str, Any], ...] = ()) -> str | None:
    made = lead_by_words(rows, measures)
    return made.layer if made else None


def test_words_of_one_layer_lead_to_it_with_weak_support_and_are_shown() -> None:
    made = lead_by_words([row(1, headline="The platter took long", share=0.5), row(2, headline="a head took 3 s")], [])
    assert made is not None
    assert (made.layer, made.mechanism.mechanism, made.independent) == ("storage", "unnamed-storage", False)
    assert made.words == ("head", "platter")
    verdict = as_verdict(made, (), None)
    assert verdict.headline == "Trouble with the storage, told by its words alone."
    assert "(head, platter)" in verdict.sentence
    assert [r["line_no"] for r in made.rows] == [1, 2]


def test_a_word_that_is_repeated_counts_once() -> None:
    assert led(row(1, headline="platter"), row(2, headline="platter"), row(3, headline="Platter")) is None


def test_words_of_two_layers_lead_nowhere() -> None:
    assert led(row(1, headline="platter head cable")) is None


def test_a_layer_that_a_signature_names_counts_more_than_a_word() -> None:
    assert led(row(1, headline="platter")) is None
    disk, link = ({"mechanism": name, "layer": layer, "strength": "mechanism"} for name, layer in OUTRIGHT)
    assert led(row(1, headline="platter"), *(row(n, headline="took", **disk) for n in (2, 3))) == "storage"
    assert led(row(1, headline="platter head", **link)) is None


@pytest.mark.parametrize("hidden", [{"idle": "waits for the next request"}, {"normal": True}])
def test_what_is_idle_or_within_its_bounds_does_not_speak(hidden: dict[str, Any]) -> None:
    assert led(row(1, headline="platter"), row(2, headline="head", **hidden)) is None


def test_only_what_stands_out_most_speaks() -> None:
    first = [row(n, headline="took") for n in (1, 2)]
    assert led(*first, row(3, headline="platter head")) == "storage"
    assert led(*first, row(3, headline="took"), row(4, headline="platter head")) is None


def test_words_of_the_evidence_speak_and_not_those_around_a_quotation() -> None:
    assert led(row(1, headline='The head said "the platter is stuck"')) is None
    assert led(row(1, subject="head", headline='It said "the platter is stuck"')) == "storage"
    assert led(row(1, headline='It said "the head of the platter that was cut...')) == "storage"


@pytest.mark.parametrize(
    "silent",
    [
        {"observer": "saturation"},
        {"kind": "asleep"},
        {"mechanism": "peer-wait", "strength": "mechanism"},
        {"mechanism": "disk-error", "strength": "shape"},
        {"signatures": ["a harmless thing"]},
        {"artifact_id": 2},
    ],
)
def test_figures_waits_for_others_what_is_known_and_traces_do_not_speak(silent: dict[str, Any]) -> None:
    assert lead_by_words([row(1, headline="platter head")], [], traces=[2]) is not None
    assert lead_by_words([row(1, headline="platter head", **silent)], [], traces=[2]) is None


def test_what_is_shown_beside_a_headline_speaks_too() -> None:
    assert led(row(1, headline="platter", beside="meanwhile its head stood still")) == "storage"


def test_a_measure_that_contradicts_excludes_the_layer() -> None:
    quick = {"host": "db1", "name": "disk_response_ms", "value": 0.4}
    assert led(row(1, headline="platter head"), measures=(quick,)) is None


def test_nothing_seen_leads_nowhere() -> None:
    assert led() is None
    assert led(row(1, headline="took")) is None
