"""Words belong to the layers whose entries hold them; none decides alone."""

from __future__ import annotations

import pytest

from rules.signatures.mechanisms import mechanisms
from rules.signatures.vocabulary import MOST_DB, vocabulary, words

LAYERS = {one.layer for one in mechanisms().values() if one.unnamed}


def test_one_mechanism_stands_for_what_no_entry_names_of_a_layer() -> None:
    unnamed = [one.layer for one in mechanisms().values() if one.unnamed]
    assert len(unnamed) == len(set(unnamed))
    assert "configuration" not in unnamed  # words accuse nobody of a wrong setting


def test_names_in_humps_and_with_numbers_fall_apart() -> None:
    assert words("ConnectionPool7 db-2.local: ORA-00060") == {"connection", "pool", "db", "local", "ora"}


@pytest.mark.parametrize(
    ("word", "layer"),
    [
        ("sector", "storage"),
        ("retransmitted", "network"),
        ("resolver", "name_service"),
        ("transaction", "database"),
        ("kernel", "os_kernel"),
        ("heap", "client_app"),
    ],
)
def test_a_word_of_a_layer_speaks_for_it_most(word: str, layer: str) -> None:
    evidence = vocabulary()[word].evidence
    assert max(evidence, key=lambda name: evidence[name]) == layer
    assert evidence[layer] > 3


def test_no_word_decides_alone_and_each_stands_in_two_entries() -> None:
    for word, known in vocabulary().items():
        assert known.evidence.keys() == LAYERS, word
        assert all(-MOST_DB <= one <= MOST_DB for one in known.evidence.values()), word
        assert known.entries > 1, word
