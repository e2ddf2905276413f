"""Test recognition over the whole corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.layout.recognition import recognise
from parsers.reference.confusion import ASKED, Seen, confusion, matrix
from parsers.text.source import Head
from tests.parsers.formats.evidence import read_bytes

CORPUS = Path(__file__).parents[2] / "corpus"
NAMED = ("csv", "json_lines")
"""Kinds whose columns a person names: no format takes such a file without asking."""

MAP = "2767: ora_smon_QPROD\nAddress Kbytes RSS Anon Locked Pgsz Mode Mapped File\n" + (
    "0000000380000000 45056 45056 - - 8K rwxs- [ dism shmid=0x100001e ]\n" * 300
)


def test_no_sample_is_taken_for_another_kind():
    seen = confusion(CORPUS)
    assert len(seen) > 50
    assert [s for s in seen if not s.right and s.got != ASKED and s.kind not in NAMED] == []
    assert sum(1 for s in seen if s.got == ASKED) <= 0.02 * len(seen)


@pytest.mark.parametrize(
    "text",
    [
        "Linux man-pages 6.03              2023-02-05                       UNAME(2)\n",
        "Takes a boolean argument.\na string with the name\na boolean argument or auto\nan integer in seconds\nthe string given above\n",
    ],
    ids=["footer", "sentences"],
)
def test_a_manual_page_is_nobodys_output(text):
    account = read_bytes(text.encode()).account
    assert (account.kind, account.tables) == ("text", {})


def test_the_matrix_names_what_went_wrong():
    text = "\n".join(matrix([Seen("a/1", "a", "a"), Seen("a/2", "a", "b"), Seen("b/1", "b", ASKED)]))
    assert "3 samples" in text
    assert "1 right, 1 asked, 1 wrong" in text
    assert "| a | 2 | 1 | 0 | b 1 |" in text
    assert "| b | 1 | 0 | 1 |  |" in text


def test_a_head_is_recognised_without_its_prompt():
    found = recognise(Head(["$ pmap 2767", *MAP.split("\n")[:9]]))
    assert found.lead.command == "pmap 2767"
    assert found.claims[0].format.kind == "pmap"
    assert found.note is None
