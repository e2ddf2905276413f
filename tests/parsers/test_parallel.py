"""Test that several processes give the same files, manifest and account for a large part as one process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import shapes
from parsers import parallel
from parsers.declarations import Counter
from parsers.progress import Progress
from parsers.reading import read
from parsers.text.source import Hints, Limits

SIZE = 600_000
LIMITS = Limits(run_bytes=100_000, block_bytes=32_768, ahead_bytes=0)
"""A file of six runs, each read ahead."""

Reading = tuple[dict[str, bytes], dict[str, Any]]


def reading_of(out: Path) -> Reading:
    """Return all files of a reading except the manifest, and the manifest without the entries that may differ."""
    files = {str(f.relative_to(out)): f.read_bytes() for f in sorted(out.rglob("*")) if f.is_file()}
    manifest = json.loads(files.pop("manifest.json"))
    return files, {k: v for k, v in manifest.items() if k not in ("seconds", "state")}


def read_with(count: int, path: Path, out: Path, **more: Any) -> Reading:
    limits = replace(LIMITS, processes=count) if count > 1 else replace(LIMITS, ahead_bytes=Limits.ahead_bytes)
    read(path, Hints(), out, limits=limits, **more)
    return reading_of(out)


class Guesses:
    """Counts the right and wrong guesses of states."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.good = self.wrong = 0
        settle = parallel.settle

        def counted(*args: Any) -> Any:
            settled = settle(*args)
            self.good, self.wrong = self.good + (settled is not None), self.wrong + (settled is None)
            return settled

        monkeypatch.setattr(parallel, "settle", counted)


AHEAD = [kind for kind in shapes.SHAPES if kind != "text"]
"""Kinds whose runs are read ahead; what the general reader carries on follows from all lines before."""


@pytest.mark.parametrize("kind", AHEAD)
def test_rows_are_those_of_one_process(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.txt"
    shapes.write(kind, path, SIZE)
    alone = read_with(1, path, tmp_path / "alone")
    guesses = Guesses(monkeypatch)
    together = read_with(2, path, tmp_path / "together")
    assert guesses.good >= 4
    assert guesses.wrong == 0
    assert together == alone


def rare_thread(lines: Iterator[str], every: int) -> Iterator[str]:
    """Insert a line of another thread every `every` lines: early in each run, never among its last lines."""
    for number, line in enumerate(lines, start=1):
        yield line
        if number % every == 400:
            stamp = line.split("\t")[1]
            yield f"900/9:\t{stamp}\t 0.0001\t 0.0000\tgetpid()\t= 900\n"


def write_lines(path: Path, lines: Iterator[str], size: int) -> None:
    with path.open("w", encoding="ascii") as stream:
        written = 0
        while written < size:
            written += stream.write(next(lines))


def test_wrong_guesses_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "truss.txt"
    write_lines(path, rare_thread(shapes.truss(), 1250), SIZE)
    alone = read_with(1, path, tmp_path / "alone")
    guesses = Guesses(monkeypatch)
    together = read_with(2, path, tmp_path / "together")
    assert guesses.wrong > 0
    assert together == alone


def test_another_output_behind_ends_the_part_where_one_process_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    shapes.write("truss", path, 9_000_000)  # watched
    tail = tmp_path / "tail.txt"
    shapes.write("vmstat", tail, SIZE)
    path.write_bytes(path.read_bytes() + tail.read_bytes())
    limits = {"run_bytes": 2_000_000, "block_bytes": 200_000}
    read(path, Hints(), tmp_path / "alone", limits=Limits(**limits))
    read(path, Hints(), tmp_path / "together", limits=Limits(**limits, ahead_bytes=0, processes=2))
    alone, together = reading_of(tmp_path / "alone"), reading_of(tmp_path / "together")
    assert [p["kind"] for p in together[1]["parts"]] == ["truss", "vmstat"]
    assert together == alone


SHORT = b"""
That was the listener. And this is what the machine did meanwhile:

 kthr      memory            page            disk          faults      cpu
 r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 s3   in   sy   cs us sy id
 0 0 0 9137208 1127584 5 27 0 0  0  0  0  2  0  0  0  402  611  350  1  1 98
 0 0 0 9136904 1127112 0  3 0 0  0  0  0  0  0  0  0  398  520  341  0  1 99
"""


def test_a_short_output_at_the_end_is_a_part_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    shapes.write("truss", path, 9_000_000)  # watched
    lines = path.read_bytes().count(b"\n")
    path.write_bytes(path.read_bytes() + SHORT)
    limits = {"run_bytes": 2_000_000, "block_bytes": 200_000}
    read(path, Hints(), tmp_path / "alone", limits=Limits(**limits))
    read(path, Hints(), tmp_path / "together", limits=Limits(**limits, ahead_bytes=0, processes=2))
    alone, together = reading_of(tmp_path / "alone"), reading_of(tmp_path / "together")
    assert together == alone
    assert [(p["kind"], p["line_from"], p["line_to"]) for p in alone[1]["parts"]] == [
        ("truss", 1, lines),
        ("vmstat", lines + 4, lines + 7),
    ]


def test_a_lost_worker_costs_time_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vmstat.txt"
    shapes.write("vmstat", path, SIZE)
    alone = read_with(1, path, tmp_path / "alone")
    outcome: Callable[[Any], parallel.Outcome] = parallel._Worker.outcome
    seen: list[Any] = []

    def killed(worker: Any) -> parallel.Outcome:
        seen.append(worker)
        if len(seen) == 3:
            worker._process.kill()
        return outcome(worker)

    monkeypatch.setattr(parallel._Worker, "outcome", killed)
    assert read_with(2, path, tmp_path / "together") == alone
    assert len(seen) == 3


def test_a_reading_that_was_cut_goes_on_ahead(tmp_path: Path) -> None:
    path = tmp_path / "truss.txt"
    shapes.write("truss", path, SIZE)
    alone = read_with(1, path, tmp_path / "alone")

    def cut(progress: Progress) -> None:
        if progress.bytes > SIZE / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_with(2, path, tmp_path / "together", progress=cut)
    assert read_with(2, path, tmp_path / "together") == alone


def test_only_what_came_after_the_seed_is_moved() -> None:
    counters = [Counter(("seq", "open.*.0"), ("seq",))]
    seed = {"seq": 10, "open": [[4]]}
    assumed = {"seq": 15, "open": [[4], [13]]}
    true = {"seq": 115, "open": [[4], [113]]}
    end = {"seq": 20, "open": [[4], [17]]}
    assert parallel.settle(seed, assumed, true, end, counters) == (
        {"seq": 120, "open": [[4], [117]]},
        {"seq": (10, 100)},
    )
    assert parallel.settle(seed, assumed, {**true, "open": [[5], [113]]}, end, counters) is None
