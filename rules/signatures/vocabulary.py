"""What words belong to which layer, counted in the entries of the signatures themselves.

Each entry that names a mechanism shows, by its example and by what it `is`, how people and programs speak of a layer:
of blocks, sectors and resets where it is the storage, of statements and sessions where it is a database. So a line that
no entry knows can still be held against the words of all of them. A wait for somebody else says nothing of whose it is
and is not counted, nor are layers without a mechanism that is `unnamed`: words accuse nobody of a wrong setting.

The evidence of a word is its log odds in decibans: how much more often an entry of the layer holds it than an entry of
any other. Words are not independent of each other, so a sum of them is no probability; see `rules.judging.by_words`.
Source: Robertson and Sparck Jones, Relevance weighting of search terms (1976).

>>> sector = vocabulary()["sector"].evidence
>>> sector["storage"] > 0 > sector["database"]
True
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rules.signatures.mechanisms import FILE as MECHANISMS
from rules.signatures.mechanisms import mechanisms
from rules.signatures.signatures import FOLDER, Signature, areas, signatures
from rules.writing.compiled import compiled

MOST_DB = 9.0
"""Maximum decibans of one word for or against a layer: no word decides alone."""

ENTRIES = 2
"""Minimum number of entries that hold a word: what stands in one alone is the name of one thing."""

FEW = 10.0
"""Number of entries without any word's preference that are added to each layer, so that few entries say little."""

SAYS = ("mechanism", "shape")
"""Strengths of the entries that are counted: the others blame nobody."""

HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
WORD = re.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True)
class Word:
    """What a word says: its decibans for each layer, and how many entries hold it."""

    evidence: Mapping[str, float]
    entries: int


Vocabulary = Mapping[str, Word]
"""What each word (lower case) says."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case; names in humps (`ConnectionPool`) and with numbers fall apart.

    >>> sorted(words("ata3.00: failed ReadDma"))
    ['ata', 'dma', 'failed', 'read']
    """
    return frozenset(word.lower() for word in WORD.findall(HUMP.sub(" ", text)))


@functools.cache
def vocabulary() -> Vocabulary:
    """Return the what all known words say; kept compiled."""
    files = [MECHANISMS, *(FOLDER / key / f"{area}.yaml" for key, area in areas())]
    return compiled("vocabulary", FOLDER, files, _counted)


def _counted() -> Vocabulary:
    layers: list[str] = sorted({one.layer for one in mechanisms().values() if one.unnamed})
    held: Counter[tuple[str, str]] = Counter()
    everywhere: Counter[str] = Counter()
    entries: Counter[str] = Counter()
    for entry in (one for key, area in areas() for one in signatures(key, area)):
        layer = entry.blamed_layer
        if entry.mechanism is None or entry.strength not in SAYS or layer not in layers:
            continue
        if mechanisms()[entry.mechanism].follow:
            continue
        entries[layer] += 1
        for word in words(_said(entry)):
            held[word, layer] += 1
            everywhere[word] += 1
    total = entries.total()
    made = {}
    for word, n in everywhere.items():
        if n < ENTRIES:
            continue
        usual = FEW * (n + 0.5) / (total + 1)
        of_layers: dict[str, float] = {}
        for layer in layers:
            inside = (held[word, layer] + usual) / (entries[layer] + FEW)
            outside = (n - held[word, layer] + usual) / (total - entries[layer] + FEW)
            evidence = 10 * math.log10(inside / outside)
            of_layers[layer] = round(max(-MOST_DB, min(MOST_DB, evidence)), 2)
        made[word] = Word(of_layers, n)
    return made


def _said(entry: Signature) -> str:
    example = entry.example
    shown = " ".join(map(str, example.values())) if isinstance(example, dict) else str(example)
    return f"{shown} {entry.is_}"
