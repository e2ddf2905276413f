"""Test the marks of supportconfig and snap: each output is a part of its own, and no other line counts as a mark."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from parsers.provenance.collect_marks import MOST
from parsers.provenance.tree_marks import tree_sections
from parsers.reading import read
from parsers.text.source import Hints, Limits, open_text
from tests.parsers.containers import trees

SCC = trees.SUPPORTCONFIG[f"{trees.SCC}/basic-environment.txt"]
SNAP = trees.SNAP["./general/general.snap"]


def commands(folder: Path, text: str, limits: Limits | None = None) -> list[tuple[str, int, int]]:
    file = folder / "a.txt"
    file.write_text(text)
    with open_text(file, limits or Limits()) as opened:
        return [(one.command, one.line_from, one.line_to) for one in tree_sections(opened)]


def test_each_mark_names_the_command_below_it(tmp_path: Path) -> None:
    found = commands(tmp_path, SCC)
    assert [command for command, _, _ in found] == [
        "/bin/date",
        "/bin/uname -a",
        "/usr/bin/free -m",
        "cat /etc/os-release",
        "/usr/bin/vmstat 1 2",
    ]
    lines = SCC.split("\n")
    assert lines[found[1][1] - 1] == trees.UNAME.rstrip("\n")
    assert found[-1][2] == SCC.count("\n")
    assert [command for command, _, _ in commands(tmp_path, SNAP)] == ["lsps -a", "vmstat -v", "lsattr -El sys0"]


@pytest.mark.parametrize("text", [SCC, SNAP])
def test_marks_are_found_across_pieces_of_a_file(tmp_path: Path, text: str) -> None:
    whole = commands(tmp_path, text)
    for size in (64, 100, 333):
        assert commands(tmp_path, text, Limits(block_bytes=size)) == whole


@pytest.mark.parametrize(
    "text",
    [
        "# /usr/bin/free -m\n" + trees.FREE_M,
        "waiting .....\n.....\ndone\n",
        ".....\n.....\n.....\n",
        "#==[ Command ]====#\nno name below\n",
        "..... words\n..... more words\n..... still\n",
        trees.VMSTAT,
    ],
)
def test_other_lines_are_no_marks(tmp_path: Path, text: str) -> None:
    assert commands(tmp_path, text) == []


def test_words_of_the_tool_itself_are_no_output(tmp_path: Path) -> None:
    note = "#==[ Note ]===========================================#\n# see memory.txt\nnothing\n"
    found = commands(tmp_path, note + SCC)
    assert "see memory.txt" not in [command for command, _, _ in found]


def test_thousands_of_settings_are_read_as_one_text(tmp_path: Path) -> None:
    one = "#==[ Configuration File ]===========================#\n# /sys/block/sda/queue/nr_{n}\n{n}\n\n"
    assert commands(tmp_path, "".join(one.replace("{n}", str(n)) for n in range(MOST + 10))) == []


def test_a_missing_output_between_two_marks_leaves_no_part(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(trees.SUPPORTCONFIG[f"{trees.SCC}/memory.txt"])
    account = read(file, Hints(), None)
    assert [part.kind for part in account.parts] == ["meminfo"]
    assert account.parts[0].facts["command"] == "cat /proc/meminfo"
    assert account.account.unknown == 0


def test_looking_for_marks_takes_time_in_proportion(tmp_path: Path) -> None:
    def seconds(n: int) -> float:
        text = ("." * 5000 + "\n# " + "x" * 5000 + "\n") * n + "#==[ Command ]===#\n"
        began = time.perf_counter()
        commands(tmp_path, text)
        return time.perf_counter() - began

    assert seconds(400) < 12 * seconds(100) + 0.5
