"""Test of seed 001 as one whole text whose case.yaml names the parts: citations are lines of the published text."""

from __future__ import annotations

from pathlib import Path

from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from tests.rules.traces import SEEDS

CASE = """
hosts: {gateway: {os: windows, role: client}, db1: {os: solaris, role: db}}
artifacts:
  - {file: seed.txt, lines: 21-43, kind: conntime, host: gateway, phase: before}
  - {file: seed.txt, lines: 78-108, kind: truss, host: db1, phase: before, role: listener}
  - {file: seed.txt, lines: 114-121, kind: pmap, host: db1, phase: before}
  - {file: seed.txt, lines: 136-155, kind: conntime, host: gateway, phase: after-1}
markers:
  - {between: [before, after-1], changed: [memory_target off, SGA 40 to 18 GB], hypothesis: H-OS-SHM}
"""


def test_parts_of_one_text_are_judged_like_files(tmp_path: Path) -> None:
    (text,) = SEEDS.glob("001_*.txt")
    (tmp_path / "seed.txt").write_bytes(text.read_bytes())
    (tmp_path / "case.yaml").write_text(CASE, encoding="utf-8")
    spec, status = open_paths([tmp_path], None, tmp_path / ".out")
    assert status == 0
    made = evaluate(spec)
    cited = {f.rule: [(c.line_from, c.line_to) for c in f.citations] for f in made.findings}
    assert cited["SHM-001"] == [(91, 107), (119, 120)]
    assert cited["LSN-003"] == [(78, 83)]
    assert cited["CMP-001"] == [(21, 41), (136, 155)]
    assert (made.verdict.state, made.verdict.hypothesis, made.verdict.share) == ("cause", "H-OS-SHM", 0.7422)
    assert {n.rule for n in made.not_evaluable} >= {"LSN-006", "NET-001", "NET-002"}
