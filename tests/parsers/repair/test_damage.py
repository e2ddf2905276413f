"""Test the damage of pastes: each damage of `damages.py` to each kind, on real samples.

`damage.json` holds the outcome of each: `recovered` (all rows with equal values), `left unknown` (some rows or values
are missing, or a note on their line marks them as doubtful; both if dialects differ), or that the damage cannot happen
to the kind. `docs/damage.md` is generated from it. Nothing may change silently: the test fails for a row that matches
no row of the undamaged sample, a loss without a note, or an account that does not add up. `open` lists known
shortcomings with their reason, `cannot_show` losses that no text can show; the test fails if a listed one is gone.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from parsers.layout.recognition import recognise
from parsers.reference.docs import DAMAGES as DAMAGE_WORDS
from parsers.reference.docs import damage_of_kinds
from parsers.registry import all_formats
from parsers.text.source import Head, Hints
from tests.parsers.formats.evidence import Run, read_bytes
from tests.parsers.repair.damaged_rows import Outcome, anatomy, compare, read
from tests.parsers.repair.damages import DAMAGES, Anatomy, Damage

HERE = Path(__file__).parent
CORPUS = HERE.parents[1] / "corpus"
TABLE = damage_of_kinds()
NO_LINES = {"pcap", "text"}
"""Kinds without damage tests: binary files, which nobody pastes, and text without a known form of its lines."""


@cache
def sample(kind: str, name: str) -> tuple[Anatomy, Run]:
    lines = (CORPUS / kind / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    run = read(lines, kind, variant(kind, name))
    return anatomy(lines, run), run


@cache
def variant(kind: str, name: str) -> str:
    """Return the dialect of the undamaged sample, which a person would choose if the damaged text does not show it."""
    lines = (CORPUS / kind / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return str(recognise(Head(lines), kinds=[kind]).claims[0].variant)


def damaged(kind: str, name: str, damage: Damage) -> Outcome | None:
    clean, run = sample(kind, name)
    lines = damage.work(clean)
    if lines is None or damage.name in TABLE[kind].get("never", {}):
        return None
    # A damage that cuts the last line also removes its end.
    return compare(clean, run, read(lines, kind, variant(kind, name), "" if damage.name == "cut" else "\n"), damage)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.name)
@pytest.mark.parametrize("kind", sorted(TABLE))
def test_a_damage_to_a_kind(kind: str, damage: Damage) -> None:
    known = {
        w: why for key in ("open", "cannot_show") for w, why in TABLE[kind].get(key, {}).get(damage.name, {}).items()
    }
    states = set()
    # For some damages the first samples lack what they need.
    for name in [*TABLE[kind]["samples"], *TABLE[kind].get("also", {}).get(damage.name, [])]:
        found = damaged(kind, name, damage)
        if found is None:
            continue
        if name in known:
            assert found.wrong or found.untold, f"{kind}/{name}: no longer falls short of {known[name]!r}"
            assert "account" not in found.untold
            continue
        assert not found.wrong, f"{kind}/{name}: rows that the undamaged text has not: {found.wrong[:3]}"
        assert not found.untold, f"{kind}/{name}: {found.untold}: {found.lost[:3]}"
        states.add(found.state)
    states |= {"left unknown"} if known else set()
    assert TABLE[kind]["cells"][damage.name] == (sorted(states, reverse=True) or ["cannot happen"])


def test_the_table_has_every_kind_and_every_damage():
    assert set(TABLE) == {form.kind for form, _ in all_formats()} - NO_LINES
    for kind, said in TABLE.items():
        assert list(said["cells"]) == [d.name for d in DAMAGES], kind
        assert said["samples"], kind


def test_the_words_of_the_page_are_those_of_the_damages():
    words = json.loads(DAMAGE_WORDS.read_text(encoding="utf-8"))
    assert words == {d.name: {"words": d.words, "needs": d.needs} for d in DAMAGES}
    assert {name for table in TABLE.values() for name in table.get("never", {})} <= words.keys()


@pytest.mark.parametrize(
    ("kind", "name", "stamp"),
    [
        ("vmstat", "linux-1s-repeated-header", "Sat Feb 30 11:00:00 EST 2013"),
        ("mpstat", "smartos-16cpu-shifted-ids", "Sat Feb 30 11:00:00 EST 2013"),
        ("vmstat", "linux-1s-repeated-header", "# Starting Time:  02/30/2019 18:16:32"),
        ("vmstat", "linux-1s-repeated-header", "Sat 31 Apr 2013 11:00:00 AM EST"),
    ],
)
def test_a_day_that_no_calendar_has_is_left_unknown(kind, name, stamp):
    text = (CORPUS / kind / f"{name}.txt").read_text(encoding="utf-8")
    clean, dated = (read_bytes(t.encode(), Hints(kind=kind)) for t in (text, f"{stamp}\n{text}"))
    measured = [c for c in clean.table(kind).columns if c not in ("line_no", "line_end", "t_local")]
    assert dated.error is None
    assert dated.table(kind).select(measured).equals(clean.table(kind).select(measured))
    assert dated.account.account.lines == len(text.splitlines()) + 1


@pytest.mark.parametrize(
    ("kind", "name"),
    [("vmstat", "linux-1s-repeated-header"), ("mpstat", "smartos-16cpu-shifted-ids"), ("ps", "macos-ef-40")],
)
@pytest.mark.parametrize(
    "worn",
    [lambda x: f"> {x}\n", lambda x: f"{x}\r\n", lambda x: f"{x}\n\n", lambda x: f"{x}\n{x}\n"],
    ids=["quoted", "windows", "blank lines", "doubled"],
)
def test_what_a_paste_wears_is_taken_off(kind, name, worn):
    """Read a file completely: dress, parts, notes."""
    lines = (CORPUS / kind / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    clean = read_bytes("".join(f"{line}\n" for line in lines).encode(), Hints(kind=kind)).table(kind)
    dressed = read_bytes("".join(worn(line) for line in lines).encode(), Hints(kind=kind)).table(kind)
    left_out = ["line_no", "line_end"]
    assert dressed.drop(left_out).equals(clean.drop(left_out))
