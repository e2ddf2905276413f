"""Find the layer that what stands out is about by its words, where no mechanism is a lead.

The observations that stand out most are held against the vocabulary of the signatures. Words of a layer, and a layer
that a signature names for one of these observations, speak for it. If one layer is ahead of every other by `AHEAD_DB`,
it is a lead with weak support: to whose things it looks, not to what goes on there.
Measured in decision record 0028.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rules.judging.explaining import Explanation, explanations
from rules.model import Finding, Hypothesis
from rules.observers.observer import observers
from rules.signatures.mechanisms import mechanisms
from rules.signatures.vocabulary import vocabulary, words

Row = Mapping[str, Any]

ROWS = 3
"""Number of observations, most outstanding first, whose words count."""

NAMED_DB = 13.0
"""Decibans of an observation for the layer that a signature names outright, although it is no lead by itself."""

AHEAD_DB = 26.0
"""Minimum decibans by which a layer is ahead of every other."""

SHOWN = 5
"""Number of words that are shown as reasons, those that most entries hold first."""

REASON_DB = 5.0
"""Minimum decibans of a word that is shown as a reason."""

QUOTED = re.compile(r'"([^"]*)"?')
"""A quotation in a headline; one that was cut may lack its end."""


def lead_by_words(
    rows: Sequence[Row],
    measures: Sequence[Row],
    findings: Sequence[Finding] = (),
    hypotheses: Sequence[Hypothesis] = (),
    quiet: Mapping[str, Sequence[str]] | None = None,
    clients: Collection[str] = (),
    traces: Collection[int] = (),
) -> Explanation | None:
    """Return an explanation that names the layer alone, or None if no layer is far ahead or something contradicts it.

    The arguments are those of `explanations`; `rows` are those that are shown, in their order, `traces` the artifacts
    that list every call of a program.
    """
    first = [row for row in rows if not row["idle"] and not row["normal"]][:ROWS]
    first = [row for row in first if row["artifact_id"] not in traces and _speaks(row)]
    known = vocabulary()
    spoken = frozenset[str]().union(*(words(_text(row)) for row in first)) & known.keys()
    unnamed = {one.layer: one for one in mechanisms().values() if one.unnamed}
    evidence = {
        layer: sum(known[word].evidence[layer] for word in spoken) + NAMED_DB * _named(first, layer)
        for layer in unnamed
    }
    if not spoken or len(evidence) < 2:
        return None
    ahead, next_ = sorted(evidence, key=lambda layer: -evidence[layer])[:2]
    if evidence[ahead] - evidence[next_] < AHEAD_DB:
        return None
    about = [row for row in first if _is_about(row, ahead)]
    named = [{**row, "mechanism": unnamed[ahead].mechanism, "layer": None, "strength": "shape"} for row in about]
    made = explanations(named, measures, findings, hypotheses, quiet, clients)
    if not made or made[0].against:
        return None
    return replace(
        made[0],
        independent=False,
        rivals=(unnamed[next_].is_,),
        words=tuple(_reasons(spoken, ahead)),
    )


def _speaks(row: Row) -> bool:
    """Return whether the words of an observation may say whose it is.

    They do not where an entry knows it as something harmless, or as what fits a mechanism that is no lead: this was
    weighed already. Nor does a wait for somebody else, or who sleeps at the moment of a listing.
    """
    known = observers().get(row["observer"])
    if (known is not None and known.OBSERVER.wordless) or row["kind"] == "asleep":
        return False
    if not row["mechanism"]:
        return not row["signatures"]
    return row["strength"] == "mechanism" and not mechanisms()[row["mechanism"]].follow


def _text(row: Row) -> str:
    """Return the evidence's own words of an observation: its subject and what is quoted; else all that is shown of it."""
    shown = "; ".join(filter(None, (row["headline"], row["beside"], row.get("also"))))
    quotes = QUOTED.findall(shown)
    return " ".join([row["subject"] or "", *(quotes or [shown])])


def _named(rows: Sequence[Row], layer: str) -> int:
    return sum(row["layer"] == layer for row in rows)


def _is_about(row: Row, layer: str) -> bool:
    """Return whether an observation speaks for a layer by itself, so that it is cited for it."""
    known = vocabulary()
    return row["layer"] == layer or sum(known[w].evidence[layer] for w in words(_text(row)) & known.keys()) > 0


def _reasons(spoken: Collection[str], layer: str) -> list[str]:
    known = vocabulary()
    telling = [word for word in spoken if known[word].evidence[layer] >= REASON_DB]
    return sorted(telling, key=lambda word: (-known[word].entries, word))[:SHOWN]
