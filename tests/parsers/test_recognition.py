"""Recognition over the whole corpus, its speed, and the two answers of a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.confusion import ASKED, Seen, confusion, matrix
from parsers.errors import UnknownFormat
from parsers.preview import LINES, ROWS, preview
from parsers.recognition import recognise
from parsers.source import Head

CORPUS = Path(__file__).parent.parent / "corpus"
NAMED = ("csv", "json_lines")
"""Kinds whose columns a person names: nobody takes such a file unasked."""

MAP = "2767: ora_smon_QPROD\nAddress Kbytes RSS Anon Locked Pgsz Mode Mapped File\n" + (
    "0000000380000000 45056 45056 - - 8K rwxs- [ dism shmid=0x100001e ]\n" * 300
)


def test_no_sample_is_taken_for_another_kind():
    seen = confusion(CORPUS)
    assert len(seen) > 50
    assert [s for s in seen if not s.right and s.got != ASKED and s.kind not in NAMED] == []
    assert sum(1 for s in seen if s.got == ASKED) <= 0.02 * len(seen)


def test_the_matrix_names_what_went_wrong():
    text = "\n".join(matrix([Seen("a/1", "a", "a"), Seen("a/2", "a", "b"), Seen("b/1", "b", ASKED)]))
    assert "3 samples" in text
    assert "1 right, 1 asked, 1 wrong" in text
    assert "| a | 2 | 1 | 0 | b 1 |" in text
    assert "| b | 1 | 0 | 1 |  |" in text


def test_a_preview_shows_the_first_rows_of_a_part(tmp_path):
    path = tmp_path / "map.txt"
    path.write_text("Hello all.\n\n" + MAP)
    shown = preview(path, (3, None), "pmap")
    assert (shown.kind, shown.variant) == ("pmap", "solaris")
    assert shown.account.lines == LINES
    assert shown.tables["pmap"] == LINES - 2
    assert len(shown.rows["pmap"]) == ROWS
    assert shown.rows["pmap"][0]["line_no"] == 5
    other = preview(path, (3, 10), "conntime", "list")
    assert other.account.lines == 8
    assert other.tables.get("conn_times", 0) == 0
    assert other.account.unknown > 0


def test_a_preview_of_a_page(tmp_path):
    path = tmp_path / "map.txt"
    path.write_text(f"<html><pre>\n{MAP}</pre></html>")
    assert preview(path, (1, None), "pmap").tables["pmap"] > 100


def test_a_preview_of_nonsense(tmp_path):
    path = tmp_path / "map.txt"
    path.write_text(MAP)
    with pytest.raises(UnknownFormat):
        preview(path, (1, None), "nonsense")


def test_a_head_is_recognised_without_its_prompt():
    found = recognise(Head(["$ pmap 2767", *MAP.split("\n")[:9]]))
    assert found.lead.command == "pmap 2767"
    assert found.claims[0].format.kind == "pmap"
    assert found.note is None
