"""Test rows, notes, the line account and masks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from parsers.tables.rows import Batch, Domain, State, Tables
from parsers.text.notes import LINE_ACCOUNT, NOTE_CHARS
from parsers.text.source import Hints, Limits, Position, Source, open_text
from tests.parsers.formats.evidence import Memory, read_bytes

TEXT = "one\ntwo\n\nfour t1ger9\n....\nsix\nseven\n"


Parse = Callable[[Source, Tables], None]


def run(
    tmp_path: Path, parse: Parse, text: str = TEXT, state: State | None = None, *, last: bool = True
) -> tuple[Batch, State, Memory]:
    path = tmp_path / "a"
    path.write_text(text, encoding="utf-8")
    sink = Memory()
    with open_text(path, Limits(notes_per_batch=50)) as opened:
        source = Source(opened, Position(1, 0), opened.size, part=1, hints=Hints(), last=last, whole=last)
        for _ in source.blocks():
            pass
        tables = Tables(source, sink)
        parse(source, tables)
        batch, state = tables.finish(state or {})
    return batch, state, sink


def rows(*numbers: int, **columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"line_no": list(numbers), **columns})


def counts(batch: Batch) -> tuple[int, ...]:
    return tuple(getattr(batch.account, kind) for kind in LINE_ACCOUNT)


def test_what_nobody_named_is_judged(tmp_path):
    batch, _, _ = run(tmp_path, lambda source, out: None)
    assert counts(batch) == (0, 5, 1, 0, 1, 0)
    assert [(n.line_from, n.line_to, n.kind, n.text) for n in batch.notes] == [
        (1, 2, "unknown", "one\ntwo"),
        (4, 4, "unknown", "four t1ger9"),
        (5, 5, "elided", "...."),
        (6, 7, "unknown", "six\nseven"),
    ]


def test_rows_outrank_a_formats_word_and_that_outranks_the_rest(tmp_path):
    def parse(source, out):
        out.account("prose", [1, 2, 3, 4])
        out.read([2])
        out.add("logs", rows(3, line_end=[5]))

    batch, _, _ = run(tmp_path, parse)
    assert counts(batch) == (4, 2, 0, 0, 0, 1)


def test_halves_do_not_swallow_strangers(tmp_path):
    batch, _, _ = run(tmp_path, lambda source, out: out.add("logs", rows(1, line_end=[7]), span="ends"))
    assert counts(batch) == (2, 3, 1, 0, 1, 0)


def test_missing_columns_are_null_and_nan_too(tmp_path):
    _, _, sink = run(tmp_path, lambda source, out: out.add("conn_times", rows(1, 2, elapsed_s=[0.5, float("nan")])))
    frame = sink.frame("conn_times")
    assert frame["elapsed_s"].to_list() == [0.5, None]
    assert frame["part"].to_list() == [1, 1]
    assert frame["line_end"].to_list() == [1, 2]
    assert frame["series"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pl.DataFrame({"line_no": [1], "speed": [1]}), "no column speed"),
        (pl.DataFrame({"seq": [1]}), "without line_no"),
        (pl.DataFrame({"line_no": [None]}), "without line_no"),
        (pl.DataFrame({"line_no": [1], "seq": ["many"]}), "do not fit"),
    ],
)
def test_what_is_not_in_the_schema_is_refused(frame, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        run(tmp_path, lambda source, out: out.add("conn_times", frame))


def test_a_line_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ValueError, match="does not have"):
        run(tmp_path, lambda source, out: out.add("logs", rows(8)))


def test_notes_of_unknown_kind_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no such kind"):
        run(tmp_path, lambda source, out: out.note(1, 1, "strange", "x"))


def test_neighbours_that_say_the_same_become_one(tmp_path):
    def parse(source, out):
        out.notes(pl.DataFrame({"line_no": [1, 2, 4], "kind": ["repaired"] * 3, "text": ["x", "x", "x"]}))
        out.read(range(1, 8))

    batch, _, _ = run(tmp_path, parse)
    told = [(n.line_from, n.line_to, n.kind) for n in batch.notes if n.kind == "repaired"]
    assert told == [(1, 2, "repaired"), (4, 4, "repaired")]


def test_the_number_of_notes_is_bounded(tmp_path):
    text = "".join(f"line {n}\n\n" for n in range(500))
    batch, _, sink = run(tmp_path, lambda source, out: None, text)
    assert len(batch.notes) == 51
    assert "not listed" in batch.notes[-1].text
    assert batch.notes[-1].line_to == 999
    assert len(sink.frame("notes")) == 51
    assert batch.account.unknown == 500


def test_a_note_is_cut(tmp_path):
    batch, _, _ = run(tmp_path, lambda source, out: None, "x" * 5000 + "\n")
    assert len(batch.notes[0].text) == NOTE_CHARS


def test_a_secret_stands_nowhere_but_in_the_original(tmp_path):
    def parse(source, out):
        out.secret(4, 5, 11, "password")
        out.add("sqlnet", rows(4, text=["four t1ger9"], nt_events=[["t1ger9", "x"]]))
        out.add("sqlnet", rows(7, text=["the t1ger9 again"]))
        out.note(6, 6, "remark", "was t1ger9")
        out.fact("label", "t1ger9")

    batch, state, sink = run(tmp_path, parse, state={"carry": ["t1ger9"]}, last=False)
    assert sink.frame("sqlnet")["text"].to_list() == ["four ******", "the ****** again"]
    assert sink.frame("sqlnet")["nt_events"].to_list()[0] == ["******", "x"]
    assert [n.text for n in batch.notes if n.kind == "remark"] == ["was ******"]
    assert state == {"carry": ["******"]}
    assert sink.frame("secrets").rows() == [(4, 5, 11, "password")]
    assert "t1ger9" not in str(sink.parts)


def test_behind_the_last_run_nothing_is_carried(tmp_path):
    carry: State = {"carry": [1]}
    assert run(tmp_path, lambda source, out: None, state=carry, last=False)[1] == carry
    assert run(tmp_path, lambda source, out: None, state=carry, last=True)[1] == {}


def test_a_short_secret_is_masked_in_its_own_line_only(tmp_path):
    def parse(source, out):
        out.secret(1, 0, 2, "pin")
        out.add("logs", rows(1, 2, text=["on one", "on two"], secondary=[["on"], ["on"]]))

    _, _, sink = run(tmp_path, parse)
    assert sink.frame("logs")["text"].to_list() == ["** **e", "on two"]
    assert sink.frame("logs")["secondary"].to_list() == [["**"], ["on"]]


def test_a_secret_after_its_rows_is_refused(tmp_path):
    def parse(source, out):
        out.add("logs", rows(3, line_end=[5], text=["four tiger"]))
        out.secret(4, 5, 10, "password")

    with pytest.raises(ValueError, match="after its rows"):
        run(tmp_path, parse)


def test_domains_of_one_number_are_united():
    one = Domain(1, "wall-local", base="2016", t_begin=2.0, t_end=3.0, lines=[(1, 4), (9, 9)])
    two = Domain(1, "wall-local", t_begin=1.0, t_end=None, lines=[(5, 6)])
    assert one.unite(two) == Domain(1, "wall-local", "2016", None, 1.0, 3.0, [(1, 6), (9, 9)])


@pytest.mark.parametrize(
    ("line", "doubted"),
    [
        (f"(2026-03-01  8:25:49): [daemon] [child_ended] (0x0020): Child [4711] ('{'x' * 100}') was ended", False),
        (f"2026-03-01T08:25:49Z the worker says {'x' * 120}", False),
        (f"2026-03-01T08:25:49Z one {'x' * 80} 2026-03-01T08:25:50Z two", True),
    ],
)
def test_one_long_line_of_a_log_is_whole(line: str, doubted: bool):
    notes = read_bytes(f"{line}\n".encode()).tables.get("notes")
    texts = notes["text"].to_list() if notes is not None else []
    assert any("all on one line" in text for text in texts) is doubted
