"""By day a part of the cases is tried, at night all; what the last night gave stands in the tree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import draw, night

ROOT = Path(__file__).resolve().parents[2]
CASES = [f"case {n}" for n in range(50)]
TEXT = "import pytest\n\n@pytest.mark.night\ndef test_long():\n    pass\n\ndef test_short():\n    pass\n"
MANY = "import pytest\n\n@pytest.mark.drawn(4)\n@pytest.mark.parametrize('n', range(200))\ndef test_one(n):\n    pass\n"


@pytest.fixture
def by_day(monkeypatch):
    monkeypatch.setattr(draw, "NIGHT", False)
    monkeypatch.setenv("EXHIBIT_DRAW", "one commit")
    draw.seed.cache_clear()
    yield
    draw.seed.cache_clear()


def test_a_commit_draws_the_same_cases_and_another_one_others(by_day, monkeypatch):
    first = draw.drawn(CASES, 5)
    assert len(first) == 5
    assert first == [case for case in CASES if case in first], "in their own order"
    assert draw.drawn(CASES, 5) == first
    assert set(first) <= set(draw.drawn(CASES, 6))
    monkeypatch.setenv("EXHIBIT_DRAW", "another commit")
    draw.seed.cache_clear()
    assert draw.drawn(CASES, 5) != first


def test_the_night_takes_all(by_day, monkeypatch):
    assert (draw.examples(40), draw.examples(3)) == (8, 1)
    monkeypatch.setattr(draw, "NIGHT", True)
    assert draw.drawn(CASES, 5) == CASES
    assert draw.examples(40) == 40


def test_of_many_tests_about_so_many_are_drawn_and_at_night_all(by_day, monkeypatch):
    def tried() -> list[str]:
        return [case for case in map(str, range(1000)) if draw.is_drawn(case, 4)]

    by_one_commit = tried()
    assert 200 < len(by_one_commit) < 300
    assert tried() == by_one_commit
    monkeypatch.setenv("EXHIBIT_DRAW", "another commit")
    draw.seed.cache_clear()
    assert tried() != by_one_commit
    monkeypatch.setattr(draw, "NIGHT", True)
    assert len(tried()) == 1000


def test_without_git_the_draw_is_a_fixed_one(by_day, monkeypatch, tmp_path):
    monkeypatch.delenv("EXHIBIT_DRAW")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert draw.seed() == draw.WITHOUT_GIT


def last_line_of_a_run(file: Path, at_night: str, *words: str) -> str:
    options = [
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(ROOT),
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-q", *words],
        cwd=ROOT,
        # DATABASE_URL is in it, so no second PostgreSQL is started
        env=os.environ | {"EXHIBIT_NIGHT": at_night, "EXHIBIT_DRAW": "one commit"},
        capture_output=True,
        text=True,
    )
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("at_night", "words", "expected"),
    [("", (), "1 passed, 1 deselected"), ("", ("-m", "night"), "1 passed, 1 deselected"), ("1", (), "2 passed")],
)
def test_what_is_marked_for_the_night_is_left_to_it(tmp_path, at_night, words, expected):
    file = tmp_path / "test_made.py"
    file.write_text(TEXT)
    assert expected in last_line_of_a_run(file, at_night, *words, str(file))


def test_of_what_is_drawn_a_part_is_run_by_day_and_each_that_is_named(tmp_path):
    file = tmp_path / "test_many.py"
    file.write_text(MANY)
    by_day = last_line_of_a_run(file, "", str(file))
    passed, left = (int(re.search(rf"(\d+) {word}", by_day)[1]) for word in ("passed", "deselected"))
    assert passed + left == 200
    assert 25 < passed < 75
    assert "200 passed" in last_line_of_a_run(file, "1", str(file))
    assert "200 passed" in last_line_of_a_run(file, "", f"{file}::test_one")


def test_a_night_is_written_down_when_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(night, "FILE", tmp_path / "night.json")
    assert night.main(["no", "suite=12=true"]) == 0
    assert not night.FILE.exists()
    assert night.main(["yes", "suite=12=true", "fuzz=7=false"]) == 1
    assert "FAILED" in capsys.readouterr().out
    written = json.loads(night.FILE.read_text())
    assert written["passed"] is False
    assert written["parts"] == {"suite": {"seconds": 12, "passed": True}, "fuzz": {"seconds": 7, "passed": False}}
