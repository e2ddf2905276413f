"""Tests that an overview gives the same drawing as the rows: nothing is lost, every extreme is kept."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from incidents.drawing import frames, overviews, windows
from incidents.drawing.lane import Span, Window
from incidents.drawing.registry import lanes
from incidents.work import judge_process
from rules.case.reading import open_paths
from rules.engine.read import ReadOnly
from rules.model import CaseSpec

CALLS = 30_000


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CaseSpec, Path]]:
    """Yield a case with a trace of two processes (a few spikes among short calls) and the folder of its overviews."""
    folder = tmp_path_factory.mktemp("trace")
    chance = random.Random(7)
    clocks = [0.0, 0.0]
    with (folder / "big.truss").open("w", encoding="ascii") as out:
        for n in range(CALLS):
            who = n % 2
            step = 0.5 if n in (4_000, 21_001) else 0.02 if n % 977 == 0 else chance.choice((0.0001, 0.0002, 0.0003))
            clocks[who] += step
            out.write(
                f"{700 + who}/1:\t{clocks[who]:8.4f}\t{step:7.4f}\t{0.0001:7.4f}\tread(5, 0x10034, 8192)\t= {n % 512}\n"
            )
    spec, _ = open_paths([folder / "big.truss"], None, folder / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overviews, "LEAST_ROWS", 1_000)
        patch.setattr(overviews, "SLICE_ROWS", 7_000)
        patch.setattr(overviews, "BUCKETS", (4_096, 1_024, 256))
        assert overviews.make_all(spec, folder / "cache") >= 1
        assert overviews.make_all(spec, folder / "cache") == 0, "what is there is not made again"
        yield spec, folder / "cache"


def spans(spec: CaseSpec, cache: Path | None, window: Window, name: str = "syscalls") -> list[Span]:
    chosen = windows.choice(name)
    assert chosen is not None
    with ReadOnly(spec, frames.tables(), cache) as source:
        clock = source.case.clocks[0]
        axis = windows.Axis({clock.clock: 0.0}, {})
        strips, _ = windows.draw([chosen], axis, window, source, cache)
        return [span for strip in strips for span in strip.spans]


@pytest.mark.parametrize(("share", "px"), [(2.0, 200), (2.0, 1_500), (0.3, 150), (0.01, 800)])
def test_a_drawing_from_the_overview_holds_what_the_rows_hold(
    trace: tuple[CaseSpec, Path], share: float, px: int
) -> None:
    spec, cache = trace
    window = Window(0.9, 0.9 + 4.5 * share, px) if share < 1 else Window(-0.001, 9.0, px)
    near, far = spans(spec, None, window), spans(spec, cache, window)
    if share > 1:  # all of it: at the edges of a part merged marks reach out of the window
        assert sum(s.n for s in far) == sum(s.n for s in near)
        assert sum(s.total_s for s in far) == pytest.approx(sum(s.total_s for s in near))
    longest = sorted((round(s.worst_s, 6), s.line_to) for s in near if s.worst_s >= 0.02)
    assert longest, "there is a spike in the window"
    assert sorted((round(s.worst_s, 6), s.line_to) for s in far if s.worst_s >= 0.02) == longest
    wide = [s for s in near if s.n == 1 and s.end - s.start >= 2 * window.pixel]
    assert {(s.start, s.end, s.line_to) for s in wide} <= {(s.start, s.end, s.line_to) for s in far if s.n == 1}


def test_far_away_it_is_drawn_from_the_coarsest_level_and_near_from_the_rows(trace: tuple[CaseSpec, Path]) -> None:
    spec, cache = trace
    with ReadOnly(spec, ["syscalls"], cache) as source:
        (kept,) = overviews.overviews(source.case, cache, lanes()["syscalls"][0])
    widths = [level.width for level in kept.levels]
    assert widths == sorted(widths), "finest first"
    coarsest = kept.level(1.0)
    assert coarsest is not None
    assert coarsest.width == max(widths)
    assert kept.level(min(widths) / 2) is None
    assert kept.longest >= 0.5


def test_another_host_or_clock_asks_for_a_new_overview(trace: tuple[CaseSpec, Path]) -> None:
    spec, cache = trace
    said = json.loads(json.dumps(spec.as_json()))
    said["artifacts"][0]["parts"][0]["host"] = "db7"
    with ReadOnly(CaseSpec.from_json(said), ["syscalls"], cache) as source:
        assert overviews.overviews(source.case, cache, lanes()["syscalls"][0]) == []


def test_the_worker_makes_them_for_a_large_artifact_and_lives_with_a_fault(settings: Any, tmp_path: Path) -> None:
    settings.EVIDENCE_ROOT = tmp_path  # the child reaches nothing else
    lines = [f"7/1:\t{n / 1000:8.4f}\t 0.0010\t 0.0001\tread(5, 0x10034, 8192)\t= {n % 512}" for n in range(1, 151_001)]
    (tmp_path / "big.truss").write_text("\n".join(lines) + "\n", encoding="ascii")
    spec, _ = open_paths([tmp_path / "big.truss"], None, tmp_path / "out")
    judge_process.overlook(spec, None, tmp_path / "cache")
    with ReadOnly(spec, ["syscalls"]) as source:
        (kept,) = overviews.overviews(source.case, tmp_path / "cache", lanes()["syscalls"][0])
        assert kept.level(0.05) is not None
    (tmp_path / "a file").write_text("in the way of a folder")
    with capture_logs() as logs:
        judge_process.overlook(spec, None, tmp_path / "a file")
    assert [entry["event"] for entry in logs] == ["analysis.overviews_failed"]
