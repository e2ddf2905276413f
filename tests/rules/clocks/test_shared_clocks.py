"""Tests that parts of one text share a clock if they show the same trace, and do not if they show two traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from rules.case.case import Case
from rules.case.reading import open_paths

PARENT = """100: 1.0000 0.1000 0.0000 pollsys(0x1, 1, 0x0, 0x0) = 1
100: 1.2000 0.2000 0.1000 fork1() = 101
100: 1.3000 0.1000 0.0000 read(4, " N T P 0   1 0 1\\n", 64) = 9
"""
CHILD = """101: 1.2000 1.2000 0.0000 fork1() (returning as child ...) = 100
101: 1.2500 0.0500 0.0000 getpid() = 101 [100]
101: 1.2999 0.0499 0.0000 write(5, " N T P 0   1 0 1\\n", 9) = 9
"""
PROSE = "\nAnd this is what the child did in the same file, as far as I could see from the trace:\n\n"


def clocks(folder: Path, text: str) -> list[str]:
    (folder / "mail.txt").write_text(text, encoding="utf-8")
    first = PARENT.count("\n")
    last = text.count("\n")
    (folder / "case.yaml").write_text(
        f"artifacts:\n  - {{file: mail.txt, lines: 1-{first}}}\n  - {{file: mail.txt, lines: {first + 4}-{last}}}\n",
        encoding="utf-8",
    )
    spec, status = open_paths([folder], None, folder / ".out")
    assert status == 0
    return [c.clock for c in Case(spec).clocks]


def test_a_fork_and_its_child_tie_two_parts(tmp_path: Path) -> None:
    assert clocks(tmp_path, PARENT + PROSE + CHILD) == ["1.1:1", "1.1:1"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("101: 1.2000 1.2000 0.0000 fork1() (returning as child ...) = 100\n", ""),  # the message alone is enough
        ('write(5, " N T P 0   1 0 1\\n", 9) = 9', "close(5) = 0"),  # so is the fork alone
    ],
)
def test_one_of_the_two_is_enough(tmp_path: Path, old: str, new: str) -> None:
    assert old in CHILD
    assert clocks(tmp_path, PARENT + PROSE + CHILD.replace(old, new)) == ["1.1:1", "1.1:1"]


def test_a_child_of_another_time_is_another_trace(tmp_path: Path) -> None:
    later = CHILD.replace("1.2000 1.2000", "7.2000 7.2000").replace("1.2500", "7.2500").replace("1.2999", "7.2999")
    assert clocks(tmp_path, PARENT + PROSE + later) == ["1.1:1", "1.2:1"]
