"""What profilers of a program's heap state stands out from the size on that fills a machine; small leftovers do not."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.system_reports import observe
from tests.parsers.formats.evidence import read_bytes


def seen(text: str) -> list[Sighting]:
    return list(observe(Case.of_tables({k: v.to_dicts() for k, v in read_bytes(text.encode()).tables.items()})))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("==71==    definitely lost: 100,000,000 bytes in 41,200 blocks", True),
        ("==71==    definitely lost: 99,000,000 bytes in 41,200 blocks", False),
        ("==71==    possibly lost: 900,000,000 bytes in 41,200 blocks", False),
        ("SUMMARY: LeakSanitizer: 250000000 byte(s) leaked in 712 allocation(s).", True),
        ("total memory leaked: 1.10GB", True),
        ("total memory leaked: 90.00MB", False),
        ("\t120000000 bytes in 9100 allocations from stack", True),
    ],
)
def test_memory_that_a_program_lost(line: str, told: bool) -> None:
    made = seen(f"report of the run\n{line}\nend of the report\n")
    assert [one.seen for one in made] == [({"counter": "memory lost"},)] * told


@pytest.mark.parametrize(("part", "size", "told"), [("75.0", 600, True), ("74.9", 600, False), ("99.0", 499, False)])
def test_a_function_that_took_most_of_a_large_heap(part: str, size: int, told: bool) -> None:
    text = f"Total: {size}.0 MB\n     0.0   0.0%   0.0%    {size - 1}.0  {part}% tile_cache::insert\n"
    made = seen(text + "     1.0   0.1%   0.1%      1.0   0.1% operator new\n")
    assert [one.headline for one in made] == [
        f"tile_cache::insert took {float(part):g} % of the {size} MB of the heap"
    ] * told
