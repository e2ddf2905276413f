"""Lines of short evidence are quoted where little else is told of it, those that say most first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rules.__main__ import main
from rules.judging import quoting
from rules.model import FIRST_SHOWN

STATED = """\
Widget store of the second hall
shelf 3 holds 17 boxes
shelf 4 holds 18 boxes
the lift is blocked and refused the load
load of the belt is 93 %
"""


def observations(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> list[dict[str, Any]]:
    path = tmp_path / "hall.txt"
    path.write_text(text, encoding="utf-8")
    main(["--json", str(path)])
    listed: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["observations"]
    return listed


def quoted(listed: list[dict[str, Any]]) -> list[int]:
    return [one["citations"][0]["line_from"] for one in listed if one["kind"] == "line"]


def test_what_complains_is_quoted_first_then_figures_with_units_then_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = observations(tmp_path, capsys, STATED)
    assert quoted(listed) == [4, 5, 2]  # line 1 has no figure, line 3 differs from line 2 in numbers alone
    first = listed[0]
    assert first["headline"] == '"the lift is blocked and refused the load"'
    assert (first["normal"], first["mechanism"], first["layer"], first["host"]) == (True, None, None, None)
    assert first["citations"][0]["text"] == "the lift is blocked and refused the load"


def test_lines_that_are_told_already_are_not_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "2026-01-02 10:00:00 ERROR the lift is blocked\n2026-01-02 10:00:01 INFO 14 boxes moved\n"
    listed = observations(tmp_path, capsys, text)
    told = {c["line_from"] for one in listed if one["kind"] != "line" for c in one["citations"]}
    assert 1 in told
    assert not told & set(quoted(listed))


def test_long_evidence_is_not_quoted_and_no_more_than_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("box", "belt", "lift", "shelf", "hall", "door", "lamp", "rack", "cart", "hook")
    many = "".join(f"the {word} of the {other} weighs {len(word)} kg\n" for word in words for other in words[:6])
    assert len(quoted(observations(tmp_path, capsys, many))) == FIRST_SHOWN
    assert quoted(observations(tmp_path, capsys, many + "the end of 1 list\n")) == []


def test_of_many_short_files_only_so_many_lines_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quoting, "MOST_READ", 7)
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(STATED, encoding="utf-8")
    main(["--json", str(tmp_path)])
    listed = json.loads(capsys.readouterr().out)["observations"]
    assert {c["file"] for one in listed for c in one["citations"]} == {"a.txt"}


def test_a_command_at_a_prompt_is_not_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert quoted(observations(tmp_path, capsys, "app@box:~$ widgets --count 3\n17 boxes in the hall\n")) == [2]


def test_a_quotation_is_within_no_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hall.txt"
    path.write_text(STATED, encoding="utf-8")
    main([str(path)])
    assert "within its bounds" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        (STATED, 'A line says: "the lift is blocked and refused the load". What it means is not known here.'),
        ("shelf 3 holds 17 boxes\n", "Nothing stands out in 1 file. Why it is slow is not visible yet."),
    ],
)
def test_the_headline_quotes_a_complaint_of_which_nothing_else_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, headline: str
) -> None:
    path = tmp_path / "hall.txt"
    path.write_text(text, encoding="utf-8")
    main(["--json", str(path)])
    assert json.loads(capsys.readouterr().out)["verdict"]["headline"] == headline
