"""Walk the corpus: every fact beside a sample is checked against the tables, or waived with a reason.

A kind's checkers stand in `facts_<kind>.py`: `CHECKERS` (fact key -> function of the reading and the stated value, asserting)
and `WAIVED` (fact key, or `sample:key` -> reason). A fact key that neither names fails.

The result of each text's first reading is stored beside it: `first_reading` in a sample's facts (right, wrong with the
error, or null if it was not recorded), and `first_readings.json` of each kind with the counts of each search, including
texts that are not in the corpus.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import FACTS
from tests.parsers.formats.evidence import facts_of, read_sample
from tests.parsers.formats.vocabulary import kept, words_of

HERE = Path(__file__).parent
CORPUS = HERE.parents[1] / "corpus"
KINDS = {path.stem.removeprefix("facts_") for path in HERE.glob("*/facts_*.py")}
SAMPLES = sorted(CORPUS.glob("*/*.txt"))
counted: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def totals(request):
    """Pass the numbers of checked and waived facts to the summary of the run, which prints them."""
    yield
    request.config.stash[FACTS].update(counted)
    counted.clear()


def test_there_are_samples():
    assert {"conntime", "pmap"} <= {path.parent.name for path in SAMPLES}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_sample_is_recognised_and_accounted_for(path):
    told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    reading = read_sample(path)
    account = reading.account
    assert account.kind == told["kind"] == path.parent.name
    assert reading.error is None
    assert account.lines == told["lines"]
    assert account.account.lines == account.lines
    counts = {name: len(rows) for name, rows in reading.tables.items() if name not in ("notes", "artifacts")}
    assert account.tables == counts
    if "account" in told:
        assert {k: v for k, v in vars(account.account).items() if v} == told["account"]
    written = kept()
    new = {f"{what} {word}" for what, words in words_of(reading.tables).items() for word in words - written[what]}
    assert new == set(), "words that the glossary's test does not know: run python -m tests.parsers.formats.vocabulary"


@pytest.mark.parametrize(
    "path", [p for p in SAMPLES if p.parent.name in KINDS], ids=lambda p: f"{p.parent.name}/{p.stem}"
)
def test_a_sample_says_what_its_facts_say(path):
    told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    module = facts_of(path.parent.name)
    reading = read_sample(path)
    for key, value in told["facts"].items():
        if key in module.WAIVED or f"{path.stem}:{key}" in module.WAIVED:
            counted["waived"] += 1
            continue
        assert key in module.CHECKERS, f"no checker knows the fact {key!r}"
        module.CHECKERS[key](reading, value)
        counted["checked"] += 1


def test_no_kind_goes_unchecked():
    """The facts of each kind are checked here or by a test module of the kind's own."""
    for kind in {path.parent.name for path in SAMPLES} - KINDS:
        assert any(HERE.glob(f"*/test_{kind}.py")), f"facts of {kind} are checked nowhere"


def test_every_text_has_its_facts_and_a_source():
    for path in SAMPLES:
        told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        assert told["source"], path


@pytest.mark.parametrize("kind", sorted({path.parent.name for path in SAMPLES}))
def test_first_readings_agree_with_the_samples(kind):
    searches = json.loads((CORPUS / kind / "first_readings.json").read_text(encoding="utf-8"))
    assert searches
    at_first = {
        path.stem: facts["first_reading"]
        for path in sorted((CORPUS / kind).glob("*.txt"))
        if "first_reading" in (facts := json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
    }
    for search in searches:
        assert {"when", "texts", "right", "kept"} <= set(search) <= {"when", "texts", "right", "kept", "note"}
        assert search["texts"] or search["note"], "nothing was set aside: say why"
        right = sum(at_first[name]["right"] is True for name in search["kept"])
        wrong = sum(at_first[name]["right"] is False for name in search["kept"])
        assert right <= search["right"], search
        assert wrong <= search["texts"] - search["right"], search
        assert len(search["kept"]) <= search["texts"], search
    assert Counter(name for search in searches for name in search["kept"]) == Counter(at_first.keys())
    assert [name for name, reading in at_first.items() if reading["right"] is False and not reading.get("note")] == []
