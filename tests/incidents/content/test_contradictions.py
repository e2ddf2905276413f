"""Tests of a person's text compared with the evidence: what is marked as a contradiction, and what must not be."""

from __future__ import annotations

import pytest

from incidents.content.contradictions import Evidence, contradictions, figures

STALL = (2.4734, "s", "stall")
SHARE = (74.22, "%", "share")
KNOWN = [STALL, SHARE, (3.3326, "s", "request"), (0.08, "s", "network"), (1.872, "s", "client")]
EVIDENCE = Evidence(
    KNOWN,
    {"network": "at most 0.080 s of 1.872 s", "configuration": "at most 0.0003 s"},
    "os_kernel",
    "operating system",
)


def said(text: str) -> list[str]:
    return contradictions(text, [STALL, SHARE], EVIDENCE)


@pytest.mark.parametrize(
    "text",
    [
        "The attach takes 2.5 s.",
        "The attach takes 2.47 seconds, 74 % of it.",
        "The attach takes 2,473 s.",
        "It takes 2473 ms.",
        "At most 80 milliseconds of 1.87 s.",
        "About 2 s.",  # as exact as it is written
        "It began at 10:00 on 2016-04-14, 3 people watched, version 2.1.",
        "Two of 21 were slow.",
        "Restart before 18:00.",
        "",
    ],
)
def test_what_agrees_is_left_alone(text):
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The attach takes 2.1 s.", "The text says 2.1 s; the evidence 2.473 s."),
        ("The attach takes 2100 ms.", "The text says 2100 ms; the evidence 2.473 s."),
        ("It is 90 % of the time.", "The text says 90 %; the evidence 74.2 %."),
        ("It is 90 percent of the time.", "The text says 90 percent; the evidence 74.2 %."),
        ("2.1 of 3.333 s", "The text says 2.1 s; the evidence 2.473 s."),
        ("It took 5 minutes.", "The text says 5 minutes; the evidence 2.473 s."),
    ],
)
def test_a_number_that_differs_is_shown_beside_the_evidence(text, words):
    assert said(text) == [words]


def test_without_a_figure_of_its_own_the_nearest_is_named():
    assert contradictions("It took 5 s.", [], EVIDENCE) == ["The text says 5 s; nearest in the evidence is 3.333 s."]
    assert contradictions("It took 5 s.", [], Evidence()) == []  # nothing to compare with


@pytest.mark.parametrize(
    "text",
    [
        "The network is the culprit.",
        "It was caused by the network.",
        "All this is due to a slow network.",
        "The switch is to blame.",
    ],
)
def test_blaming_what_is_cleared_is_marked(text):
    assert said(text) == ["The text blames the network; the evidence clears it: at most 0.080 s of 1.872 s."]


def test_another_layer_than_the_verdict_s_is_marked():
    assert said("The storage is the problem.") == [
        "The text blames the storage; the verdict names the operating system."
    ]


@pytest.mark.parametrize(
    "text", ["It is not the operating system.", "The kernel is fine.", "We can exclude the operating system."]
)
def test_clearing_what_is_blamed_is_marked(text):
    assert said(text) == ["The text clears the operating system; the verdict blames it."]


@pytest.mark.parametrize(
    "text",
    [
        "It is not the network.",
        "The network was ruled out.",
        "The network team looked at it. The operating system is the cause.",
        "Each login pauses while the server attaches the database's memory.",
        "Users on the network wait.",
    ],
)
def test_layers_that_agree_or_are_only_named_are_left_alone(text):
    assert said(text) == []


def test_where_nothing_is_blamed_only_clearings_speak():
    undecided = Evidence(KNOWN, {"network": "at most 0.080 s"})
    assert contradictions("The storage is the problem.", [], undecided) == []
    assert contradictions("The network is the problem.", [], undecided) == [
        "The text blames the network; the evidence clears it: at most 0.080 s."
    ]


def test_numbers_are_read_with_thin_spaces_and_units():
    assert figures("1\u2009250 ms and 12 %") == [(1.25, "s", ""), (12.0, "%", "")]
    assert figures("10 sessions, 3 seconds") == [(3.0, "s", "")]
