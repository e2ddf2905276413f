"""A series that only rises stands out; noise, a fall and a rise of what is free do not."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.growing import observe
from rules.observers.observer import Sighting


def memory(*sizes: float | None) -> list[Sighting]:
    rows = [{"line_no": n, "pid": 7, "comm": "server", "rss_kb": v} for n, v in enumerate(sizes, 1)]
    return list(observe(Case.of_tables({"ps": rows})))


def test_a_process_that_only_grows() -> None:
    (made,) = memory(10_000, 16_000, 22_000, 28_000)
    assert made.headline == (
        "The resident memory of server (pid 7) rose by 18,000 kB in 4 samples, from 10,000 kB to 28,000 kB, 6,000 kB at a time"
    )
    assert [c.line_from for c in made.lines] == [4, 1]


@pytest.mark.parametrize(
    ("sizes", "stands"),
    [
        ((10_000, 20_000), False),  # two samples are no trend
        ((10_000, 10_500, 11_024), True),
        ((10_000, 10_500, 11_023), False),  # less than 1 MiB
        ((20_000, 21_000, 21_999), False),  # less than a tenth
        ((20_000, 21_000, 22_000), True),
        ((10_000, 9_000, 30_000), False),  # fell below its first
        ((10_000, 20_000, 30_000, 40_000, 50_000, 49_000), True),  # four of five steps go up
        ((10_000, 20_000, 30_000, 29_000, 50_000, 49_000), False),
        ((10_000, None, 30_000), False),
    ],
)
def test_bounds(sizes: tuple[float | None, ...], stands: bool) -> None:
    assert bool(memory(*sizes)) is stands


def test_free_memory_may_rise() -> None:
    rows = [{"line_no": n, "name": name, "value": 1e5 * n} for n in range(1, 5) for name in ("MemFree", "Slab")]
    (made,) = observe(Case.of_tables({"meminfo": rows}))
    assert made.subject == "Slab"


def test_used_sessions_rise() -> None:
    rows = [{"line_no": n, "scope": "oracle", "name": "sessions", "used": 100.0 * n} for n in range(1, 5)]
    (made,) = observe(Case.of_tables({"resource_use": rows}))
    assert made.value == 300


def test_nothing() -> None:
    assert list(observe(Case.of_tables({}))) == []


def test_a_number_that_a_command_printed_twice() -> None:
    rows = [
        {"line_no": n, "grp": "command", "name": "lsof -p 7 | wc -l", "mode": "level", "value": v}
        for n, v in ((3, 9107.0), (6, 13142.0))
    ]
    (made,) = observe(Case.of_tables({"counters": rows}))
    assert made.headline == (
        "What `lsof -p 7 | wc -l` printed rose by 4,035 in 2 samples, from 9,107 to 13,142, 4,035 at a time"
    )
    assert [c.line_from for c in made.lines] == [6, 3]
    assert list(observe(Case.of_tables({"counters": [{**r, "grp": "text"} for r in rows]}))) == [], (
        "any other level needs three"
    )


@pytest.mark.parametrize(
    ("command", "sizes", "leaks"),
    [
        ("lsof -p 7 | wc -l", (9_107, 13_142), True),
        ("ls /proc/7/fd | wc -l", (100, 199), False),  # fewer than a hundred more
        ("lsof -p 7 |wc -l", (9_000, 9_800), False),  # less than a tenth
        ("ls /var/spool | wc -l", (9_107, 13_142), False),
    ],
)
def test_open_files_that_only_rise_are_a_leak(command: str, sizes: tuple[int, int], leaks: bool) -> None:
    rows = [{"line_no": n, "grp": "command", "name": command, "value": float(v)} for n, v in enumerate(sizes, 1)]
    made = list(observe(Case.of_tables({"counters": rows})))
    assert any({"event": "open-files-grow"} in s.seen and (s.share or 0) >= 0.5 for s in made) is leaks


@pytest.mark.parametrize(("unit", "word"), [("kb", "kB"), ("pages", "pages")])
def test_a_figure_of_memory_rises_in_its_own_unit(unit: str, word: str) -> None:
    rows = [
        {"line_no": n, "sample": n, "part": 1, "name": "Kernel", "value": v, "unit": unit}
        for n, v in enumerate((10_000.0, 15_000.0, 20_000.0), 1)
    ]
    (made,) = observe(Case.of_tables({"meminfo": rows}))
    assert made.headline.startswith(f"Kernel rose by 10,000 {word} in 3 samples")
    assert made.unit == word
