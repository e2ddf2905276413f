"""Tests of refused requests for pages: size, whether the caller could wait, who called; other lines are ignored."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.allocation_failures import observe
from rules.observers.observer import Sighting


def seen(*texts: str) -> list[Sighting]:
    rows: list[dict[str, Any]] = [{"line_no": n, "text": text} for n, text in enumerate(texts, 1)]
    return list(observe(Case.of_tables({"logs": rows})))


ARM = (
    "[   12.000001] warn_alloc_failed: 44 callbacks suppressed",
    "[   12.000002] swapper: page allocation failure: order:2, mode:0x20",
    "[   12.000003] [<c0010000>] (warn_alloc_failed+0xc4/0x11c) from [<c0020000>] (__alloc_pages_nodemask+0x1/0x2)",
    "[   12.000004] [<c0030000>] (__alloc_skb+0x48/0xe8) from [<c0040000>] (ring_refill+0x24/0x1fc)",
)


def test_the_size_the_mode_and_the_asker_are_told_with_what_was_left_out() -> None:
    (made,) = seen(*ARM)
    assert made.headline == (
        "4 pages in one piece (order 2) were refused to swapper; the asker could not wait for memory to be freed;"
        " ring_refill asked"
    )
    assert made.beside == (
        "free memory in smaller pieces does not help such a request; 44 more reports were left out by the log"
    )
    assert [(line.line_from, line.role) for line in made.lines] == [(2, "refused"), (4, "ring_refill"), (1, "left out before")]  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("0x40cc0(GFP_KERNEL|__GFP_COMP)", "; the asker could wait"),
        ("0x480020(GFP_ATOMIC)", "; the asker could not wait for memory to be freed"),
        ("0xd0", "; the asker could wait"),
        ("0x24000c0", "; the asker could wait"),
        ("0x0", ""),
    ],
)
def test_the_mode_tells_whether_the_asker_could_wait(mode: str, words: str) -> None:
    (made,) = seen(f"kworker/0:1: page allocation failure: order:0, mode:{mode}, nodemask=(null)")
    assert made.headline == f"1 page was refused to kworker/0:1{words}"
    assert made.beside is None


def test_reports_of_one_size_and_asker_are_one() -> None:
    report = "php: page allocation failure: order:3, mode:0x40cc0(GFP_KERNEL|__GFP_COMP)"
    (made,) = seen(report, " kmalloc_order+0x1/0x2", " open_pipe+0x3/0x4", report, " open_pipe+0x3/0x4")
    assert "refused to php, 2 times" in made.headline
    assert made.headline.endswith("; open_pipe asked")
    assert made.lines[-1].line_from == 4


def test_the_asker_is_not_looked_for_below_the_next_report() -> None:
    report = "php: page allocation failure. order:1, mode:0x20"
    assert seen(report, report)[0].lines[0].line_from == 1
    assert "asked" not in seen(report, report)[0].headline


def test_other_lines_say_nothing() -> None:
    assert seen("php: page allocation stalls for 10s", "net_ratelimit: 3 callbacks suppressed") == []
