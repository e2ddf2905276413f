"""What counts as the same between two recordings of Exhibit (python -m lab.same)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lab.same import commands, comparing, recording
from lab.same.comparing import Allowed, Difference
from lab.same.placeholders import Placeholders
from lab.same.plain_page import page_lines

PAGE = """<main><svg class="icon"><use href="#bell"/></svg><section id="verdict"><p class="say"><b>cause</b> It waits
  2.473 s for memory.</p><a href="/rooms/ROOM-001/evidence/3/?at=14" title="stall">lines 14 to 30</a></section></main>"""


def write(
    folder: Path, seconds: float = 0.5, page: str = PAGE, address: str = "/rooms/ROOM-001/", **report: Any
) -> Path:
    """Write a recording of one file, one case and one page."""
    (folder / "pages" / "001").mkdir(parents=True)
    file = {"kind": "truss", "tables": {"syscalls": 7}, "seconds": seconds}
    finding = {"headline": "Attaching took 2.5 s", "decibans": 15, "citations": [{"line_from": 3, "text": "shmat()"}]}
    case = {"verdict": {"state": "cause"}, "findings": [finding | report], "seconds": seconds}
    (folder / "parsers.jsonl").write_text(json.dumps({"at": "tests/corpus/truss/a.txt", "said": file}) + "\n")
    (folder / "rules.jsonl").write_text(json.dumps({"at": "tests/cases/001", "status": 0, "said": case}) + "\n")
    lines = "\n".join(page_lines(page))
    (folder / "pages" / "001" / "index.txt").write_text(f"{address}\n200 text/html {address}\n{lines}\n")
    (folder / recording.ABOUT).write_text("{}")
    return folder


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old")


def found(old: Path, new: Path, **allowed: Any) -> list[Difference]:
    return list(comparing.differences(old, new, Allowed(**allowed)))


def test_seconds_are_no_difference(old, tmp_path):
    assert found(old, write(tmp_path / "new", seconds=7.1)) == []


def test_seconds_that_the_evidence_holds_are_one(tmp_path):
    old = write(tmp_path / "old", cleared=[{"seconds": 1.7}])
    (one,) = found(old, write(tmp_path / "new", cleared=[{"seconds": 1.8}]))
    assert (one.old, one.new) == ("1.7", "1.8")


@pytest.mark.parametrize("words", [False, True])
def test_a_changed_number_is_told_with_its_place(old, tmp_path, words):
    (one,) = found(old, write(tmp_path / "new", decibans=16), words=words)
    assert one == Difference("fault", "rules tests/cases/001: said.findings[0].decibans", "15", "16")


def test_a_key_that_is_gone_and_one_that_is_new_are_told(tmp_path):
    old, new = write(tmp_path / "old", magnitude=2.4), write(tmp_path / "new", size=2.4)
    assert [(one.old, one.new) for one in found(old, new)] == [("2.4", "nothing"), ("nothing", "2.4")]


def test_a_key_that_is_named_is_left_out(old, tmp_path):
    new = write(tmp_path / "new", decibans=16)
    assert found(old, new, ignored=frozenset({"findings[].decibans"})) == []


def test_another_sentence_is_a_fault_or_another_word(old, tmp_path):
    new = write(tmp_path / "new", headline="The attach took 2.5 s")
    assert [one.sort for one in found(old, new)] == ["fault"]
    (one,) = found(old, new, words=True)
    assert one.sort == "word"
    assert (one.old, one.new) == ("Attaching took 2.5 s", "The attach took 2.5 s")


def test_another_sentence_with_another_number_stays_a_fault(old, tmp_path):
    assert [one.sort for one in found(old, write(tmp_path / "new", headline="It took 2.6 s"), words=True)] == ["fault"]


@pytest.mark.parametrize(
    "changed", [{"citations": [{"line_from": 3, "text": "shmget()"}]}, {"citations": []}, {"decibans": "15"}]
)
def test_evidence_citations_and_types_are_no_words(old, tmp_path, changed):
    assert {one.sort for one in found(old, write(tmp_path / "new", **changed), words=True)} == {"fault"}


def test_a_page_laid_out_in_another_way_is_the_same(old, tmp_path):
    page = PAGE.replace("</p><a", "</p>\n  <a").replace("<section", "\n<section").replace("waits\n ", "waits")
    assert found(old, write(tmp_path / "new", page=page)) == []


def test_a_space_between_inline_elements_is_seen_and_may_be_allowed(old, tmp_path):
    new = write(tmp_path / "new", page=PAGE.replace("</b> It", "</b>It"))
    assert [one.sort for one in found(old, new)] == ["fault"]
    assert [one.sort for one in found(old, new, words=True)] == ["fault"]
    assert [one.sort for one in found(old, new, spaces=True)] == ["space"]


def test_a_reworded_page_lists_the_text_with_its_element(old, tmp_path):
    new = write(tmp_path / "new", page=PAGE.replace("It waits", "The login waits").replace('"stall"', '"the stall"'))
    text, title = found(old, new, words=True)
    assert text.sort == title.sort == "word"
    assert text.place == "001 /rooms/ROOM-001/: main > section#verdict > p.say"
    assert "It waits 2.473 s" in text.old
    assert "The login waits 2.473 s" in text.new
    assert "title='the stall'" in title.new


@pytest.mark.parametrize(
    "page",
    [
        PAGE.replace("2.473", "2.474"),
        PAGE.replace("at=14", "at=15"),
        PAGE.replace('"say"', '"said"'),
        PAGE.replace("<b>cause</b>", "<i>cause</i>"),
        PAGE.replace("<b>cause</b>", ""),
    ],
)
def test_numbers_addresses_and_elements_of_a_page_are_no_words(old, tmp_path, page):
    assert "fault" in {one.sort for one in found(old, write(tmp_path / "new", page=page), words=True)}


def test_a_page_that_is_gone_is_told(old, tmp_path):
    places = [(one.place, one.old) for one in found(old, write(tmp_path / "new", address="/rooms/ROOM-001/board/"))]
    assert ("001 /rooms/ROOM-001/board/", "no such page") in places
    assert len(places) == 2


def test_the_report_ends_with_the_counts_and_fails_for_faults(old, tmp_path, capsys):
    new = write(tmp_path / "new", headline="The attach took 2.5 s")
    assert comparing.report(old, new, Allowed(words=True), 10) == 0
    assert "1 files, 1 cases, 1 pages: 0 differences, 1 other words" in capsys.readouterr().out
    assert comparing.report(old, new, Allowed(), 10) == 1


def test_a_recording_of_cases_that_was_cut_short_is_gone_on_with(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / "tests" / "cases" / name).mkdir(parents=True)
        (tmp_path / "tests" / "cases" / name / "case.yaml").write_text("title: x")
    asked: list[str] = []

    def run(checkout, python, package, evidence, files):
        asked.extend(map(str, files))
        return 0, '{"findings": []}', ""

    monkeypatch.setattr(commands, "_run", run)
    out = tmp_path / "rules.jsonl"
    out.write_text('{"at": "tests/cases/a", "status": 0, "said": {"findings": [1]}}\n{"at": "tests/ca')
    assert commands.record_rules(tmp_path, "python", tmp_path, out, 1) == {"cases": 2, "kinds": 0}
    assert asked == ["tests/cases/b"]
    said = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["at"], one["said"]["findings"]) for one in said] == [("tests/cases/a", [1]), ("tests/cases/b", [])]


class TestPlaceholders:
    here = Placeholders(datetime(2026, 11, 22, 22, 40, tzinfo=UTC), "http://127.0.0.1:38505")

    @pytest.mark.parametrize(
        ("text", "left"),
        [
            ("it is 2026-11-22 22:52 there", "it is NOW there"),
            ("until 2026-12-22", "until TODAY+30"),
            ("2016-04-14T05:58:00Z and 2026-13-40", "2016-04-14T05:58:00Z and 2026-13-40"),
            ("http://127.0.0.1:38505/give/", "http://EXHIBIT/give/"),
        ],
    )
    def test_moments_of_the_recording_go_and_those_of_the_evidence_stay(self, text, left):
        assert self.here.replace(text) == left

    def test_a_time_without_its_date_goes_with_its_element(self):
        page = (
            '<p><time datetime="2026-11-22T22:38:13+00:00">22:38 UTC</time> <time datetime="2008-11-07">7:03</time></p>'
        )
        assert self.here.replace_page(page) == '<p><time>NOW</time> <time datetime="2008-11-07">7:03</time></p>'

    @pytest.mark.parametrize(
        ("page", "left"),
        [
            ('<td data-label="Time to verdict">19 s</td>', '<td data-label="Time to verdict">SECONDS</td>'),
            ('<body data-seq="54">', '<body data-seq="N">'),
            ('<input name="csrfmiddlewaretoken" value="Ab9">', '<input name="csrfmiddlewaretoken" value="TOKEN">'),
            ('<link href="/static/css/base.edd89170fe5e.css">', '<link href="/static/css/base.css">'),
            ('<p id="changed">22:38: a file arrived</p>', '<p id="changed">CHANGED</p>'),
        ],
    )
    def test_tokens_counters_and_hashes_of_files_go(self, page, left):
        assert self.here.replace_page(page) == left

    def test_the_hash_of_a_file_is_noted(self):
        self.here.replace_page('<link href="/static/css/base.edd89170fe5e.css">')
        assert self.here.static["/static/css/base.css"] == "edd89170fe5e"

    def test_hashes_and_seconds_that_hold_the_moment_go(self):
        page = f'<td class="sha" title="{"a1" * 32}">a1a1a1a1a1</td><td class="hash">{"b2" * 32}</td>'
        assert self.here.replace_page(page) == f'<td class="sha" title="HASH"></td><td class="hash">{"b2" * 32}</td>'
        seconds = {"t0": self.here.first_s + 9.5, "t1": 1226012345.5, "n": 7, "ok": True}
        assert self.here.replace_json(seconds) == {"t0": "NOW", "t1": 1226012345.5, "n": 7, "ok": True}

    def test_names_that_a_form_makes_up_go(self):
        page = '<input name="client_id" value="c7e317b7-a5b1-4fb4-931f-e43748114cc7">'
        assert self.here.replace_page(page) == '<input name="client_id" value="UUID">'
