"""Test the properties that every format has for any input."""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from parsers.layout.recognition import recognise
from parsers.registry import all_formats
from parsers.text.source import Head, Hints, Limits
from tests.draw import NIGHT, drawn, examples, shuffled
from tests.parsers.formats.evidence import Run, facts_of, parse_bytes, read_bytes, same_tables, without_notes

CORPUS = Path(__file__).parents[2] / "corpus"
FORMATS = [(form.kind, form.variant) for form, _ in all_formats()]
EVERY = pytest.mark.parametrize(("kind", "variant"), FORMATS, ids=lambda x: x)
BY_TURNS = pytest.mark.drawn(3)
"""Marks a property that reads whole samples: by day it is tried with a third of the dialects, others for each commit."""
FEW = settings(
    max_examples=examples(int(os.environ.get("EXHIBIT_EXAMPLES", "15"))),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

BY_DAY = 3
"""Number of texts of each dialect that are tried by day; at night all texts that it reads are tried."""

LONG = set(drawn(FORMATS, 24))
"""Dialects whose joined texts are read in one block and in several; at night all dialects."""

NOTED = ("unknown", "damaged", "elided")


def exceptions(kind: str, name: str) -> Any:
    """Return an exception of a kind from its `facts_<kind>.py`; () if it has none.

    AHEAD: columns whose values depend on later lines of the file. AHEAD_IF: a pattern that the bytes must contain for
    AHEAD to apply. HEAD_DECIDES: whether the first lines decide how all others are read. REPAIRED: whether a paste that
    is one run is repaired and sorted.
    """
    return getattr(facts_of(kind), name, ())


@cache
def of_dialects(kind: str) -> dict[str, str]:
    """Return the smaller corpus texts of a kind by name, each with the dialect that claims it most."""
    found = {}
    for path in sorted((CORPUS / kind).glob("*.txt")):
        if path.stat().st_size < 20_000:
            lines = path.read_bytes().decode("utf-8", "replace").splitlines()
            claims = recognise(Head(lines), kinds=[kind]).claims
            found[path.name] = str(claims[0].variant) if claims else ""
    return found


def reads(text: bytes, kind: str, variant: str) -> bool:
    run = parse_bytes(text, kind, variant)
    return run is not None and bool(run.tables.keys() - {"notes"})


@cache
def every_sample(kind: str, variant: str) -> tuple[bytes, ...]:
    """Return the smaller corpus texts that this variant reads."""
    texts = ((CORPUS / kind / name).read_bytes() for name in of_dialects(kind))
    return tuple(text for text in texts if reads(text, kind, variant))


@cache
def samples(kind: str, variant: str) -> tuple[bytes, ...]:
    """Return the texts for testing a property: at night all, by day a few, first those of this dialect."""
    if NIGHT:
        return every_sample(kind, variant)
    dialects = of_dialects(kind)
    names = shuffled(list(dialects), lambda name: f"{kind}/{name} {variant}")
    names.sort(key=lambda name: dialects[name] != variant)
    texts = ((CORPUS / kind / name).read_bytes() for name in names)
    return tuple(islice((text for text in texts if reads(text, kind, variant)), BY_DAY))


def check(run: Run | None, content: bytes) -> None:
    """Assert that every line is in the account once and that notes cover all lines that were not read."""
    if run is None:
        return
    account = run.batch.account
    assert account.lines == run.lines
    if not content.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\n" in content:
        assert run.lines == content.count(b"\n") + (not content.endswith(b"\n"))
    noted = {line for n in run.batch.notes if n.kind in NOTED for line in range(n.line_from, n.line_to + 1)}
    assert len(noted) >= account.unknown + account.damaged + account.elided
    for rows in run.tables.values():
        assert (rows["line_no"] >= 1).all()
        assert (rows["line_end"] >= rows["line_no"]).all()
        assert (rows["line_end"] <= run.lines).all()


def rows_of(content: bytes, kind: str, variant: str, **limits: int) -> dict[str, pl.DataFrame]:
    run = parse_bytes(content, kind, variant, dress=(), **limits)
    assert run is not None
    return run.tables


@cache
def plain_rows(content: bytes, kind: str, variant: str) -> dict[str, pl.DataFrame]:
    """Read a sample unchanged, once for all tests that compare another reading with it."""
    return rows_of(content, kind, variant)


@EVERY
@FEW
@given(content=st.one_of(st.binary(max_size=600), st.text(max_size=400).map(str.encode)))
def test_no_bytes_crash_it(kind, variant, content):
    check(parse_bytes(content, kind, variant), content)


@EVERY
@BY_TURNS
@FEW
@given(data=st.data())
def test_no_damage_crashes_it_and_every_line_is_accounted_for(kind, variant, data):
    content = data.draw(st.sampled_from(samples(kind, variant)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        size = data.draw(st.integers(0, 40))
        content = content[:at] + data.draw(st.binary(max_size=20)) + content[at + size :]
    check(parse_bytes(content, kind, variant), content)


@EVERY
@BY_TURNS
@FEW
@given(data=st.data())
def test_shuffled_lines_crash_nothing(kind, variant, data):
    lines = data.draw(st.sampled_from(samples(kind, variant))).splitlines(keepends=True)
    content = b"".join(data.draw(st.lists(st.sampled_from(lines), max_size=30)))
    check(parse_bytes(content, kind, variant), content)


@EVERY
@BY_TURNS
@FEW
@given(data=st.data())
def test_a_cut_changes_only_the_tail(kind, variant, data):
    if exceptions(kind, "HEAD_DECIDES"):
        return  # the samples are shorter than the deciding lines: the kind's own test cuts a longer one
    content = data.draw(st.sampled_from(samples(kind, variant)))
    cut = data.draw(st.integers(1, len(content)))
    whole, part = plain_rows(content, kind, variant), rows_of(content[:cut], kind, variant)
    if "syscalls" in whole:  # in sorted excerpts, rows before the cut depend on lines after it
        assume(whole["syscalls"].sort("seq")["line_no"].is_sorted())
    border = content[:cut].count(b"\n")
    # A record that the cut goes through belongs to the tail from its first line on.
    every = [*whole.values(), *part.values()]
    open_rows = [r.filter((pl.col("line_no") <= border) & (pl.col("line_end") > border))["line_no"] for r in every]
    # Lines that a mail program broke are joined by the evidence of all breaks in the paste.
    notes = [r["notes"] for r in (whole, part) if "notes" in r]
    open_rows += [n.filter(pl.col("kind") == "repaired")["line_no"] for n in notes]
    tail = min([border + 1, *(int(x) for numbers in open_rows for x in numbers)])
    for name in (whole.keys() | part.keys()) - {"notes"}:
        condition = exceptions(kind, "AHEAD_IF")
        ahead = exceptions(kind, "AHEAD") if not condition or re.search(condition, content) else ()
        before, after = (
            r[name].filter(pl.col("line_end") < tail).drop(c for c in ahead if c in r[name].columns)
            if name in r
            else None
            for r in (whole, part)
        )
        if before is None or after is None:
            assert (0 if before is None else len(before)) == (0 if after is None else len(after))
        else:
            assert before.equals(after), (name, border)


@EVERY
@BY_TURNS
def test_line_ends_and_trailing_blanks_change_nothing(kind, variant):
    for content in samples(kind, variant):
        plain = plain_rows(content, kind, variant)
        windows = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        blanks = content.replace(b"\r\n", b"\n").replace(b"\n", b" \t \n")
        assert same_tables(plain, rows_of(windows, kind, variant))
        assert same_tables(plain, rows_of(blanks, kind, variant))


@EVERY
@BY_TURNS
def test_block_sizes_give_identical_tables(kind, variant):
    for content in samples(kind, variant):
        plain = plain_rows(content, kind, variant)
        assert same_tables(plain, rows_of(content, kind, variant, block_bytes=len(content) // 5))
    if (kind, variant) not in LONG:
        return
    many = b"".join(every_sample(kind, variant))
    many = many * (120_000 // len(many) + 1)
    one = parse_bytes(many, kind, variant)
    other = parse_bytes(many, kind, variant, block_bytes=30_000)
    assert one is not None
    assert other is not None
    assert same_tables(one.tables, other.tables)
    assert one.batch == other.batch


@EVERY
@BY_TURNS
def test_runs_give_the_same_rows(kind, variant):
    """Runs end in the middle of the text, and the state carried between them is converted to JSON and back."""
    for content in samples(kind, variant):
        if len(content) < 400 or exceptions(kind, "REPAIRED"):
            continue
        hints = Hints(kind=kind, variant=variant)
        one = read_bytes(content, hints)
        if any(note.kind == "repaired" for note in one.account.notes):
            continue  # a paste is repaired only if all of it is in one run
        if any("of another program" in note.text for note in one.account.notes):
            continue  # lines of another program in a paste are read with the whole paste
        many = read_bytes(content, hints, Limits(run_bytes=len(content) // 4))
        assert one.account.account == many.account.account
        assert same_tables(without_notes(one.tables), without_notes(many.tables))


@EVERY
@BY_TURNS
def test_encodings_change_no_row(kind, variant):
    for content in samples(kind, variant):
        try:
            text = content.decode()
        except UnicodeDecodeError:
            continue
        plain = without_notes(plain_rows(content, kind, variant))
        assert same_tables(plain, without_notes(rows_of(text.encode("utf-8-sig"), kind, variant)))
        assert same_tables(plain, without_notes(rows_of(text.encode("utf-16"), kind, variant)))
