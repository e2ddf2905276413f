"""Tests that samples of tests/corpus without trouble blame nobody, neither alone nor by the sum of weak signs.

Which samples show trouble was decided by reading them; the list with reasons is in the file beside this test. All
samples of some formats are judged as one room in which every sample is a host of its own: rules join on the host, so
none affects another, and one run of the library serves dozens. A sample gets a room of its own only if its weak signs
could add up to a verdict.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.case.case import Case
from rules.case.reading import open_paths
from rules.judging.evaluate import judge
from rules.judging.truth import BLAMES, FAIR
from rules.model import Finding, Report
from tests.draw import drawn
from tests.rules.library import library

CORPUS = Path(__file__).parents[2] / "corpus"
TROUBLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))["trouble"]
COMPLAINT = {"text": "some logins take three seconds", "unit": "s", "bad": 3.0, "normal": 0.1}
"""A complaint in the room; none of these seconds are in the samples. With it rules have their full weight."""
LIBRARY = library()

ROOMS = (
    ("vmstat",),
    ("mpstat", "iostat"),
    ("sar", "nmon", "prstat", "ps"),
    ("strace", "truss"),
    ("sqlnet", "listener_log", "alert_log", "syslog", "errpt", "packets"),
    ("perf", "dtrace", "flamegraph", "lockstat", "pstack"),
    ("ipcs", "pmap", "meminfo", "numa", "slabtop", "svmon", "cgroup"),
    ("nsswitch", "sysctl", "oracle_params", "oracle_net_config", "resolv_conf", "hostinfo", "fdmap"),
    ("netstat", "netdev", "ss", "ping", "conntime", "time", "csv", "json_lines", "awr", "oracle_trace"),
    ("postgres", "mysql", "kstat"),
    ("text", "procfs"),
)  # fmt: skip
"""Kinds that are judged together."""

BY_DAY = 8
"""One of so many samples is judged by day, drawn by the commit; at night all."""

FEWEST = 4
"""Samples of a room by day, if there are so many."""


def samples(kinds: Iterable[str]) -> list[Path]:
    every = [path for kind in kinds for path in sorted((CORPUS / kind).glob("*.txt"))]
    return [path for path in every if sample(path) not in TROUBLE]


def sample(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def room(chosen: Sequence[Path], scratch: Path) -> Report:
    """Judge samples as one room, each on a host named after it; the system is that of its facts."""
    texts = scratch / "texts"
    entries: list[dict[str, Any]] = []
    hosts: dict[str, dict[str, str]] = {}
    for path in chosen:
        facts = json.loads(path.with_suffix(".json").read_text("utf-8"))
        system = facts.get("os") if facts.get("os") in ("linux", "solaris", "aix") else None
        hosts[sample(path)] = {"os": system} if system else {}
        file = texts / path.parent.name / path.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(path)
        entries.append({"file": sample(path), "host": sample(path), "kind": path.parent.name})
    told = scratch / "case.yaml"
    told.write_text(yaml.safe_dump({"symptom": COMPLAINT, "hosts": hosts, "artifacts": entries}), "utf-8")
    spec, _ = open_paths([texts], told, scratch / "read")
    return judge(Case(spec, None), LIBRARY)


def blames(finding: Finding) -> bool:
    return finding.kind == "finding" and finding.layer != "measurement"


def could_add_up(findings: Iterable[Finding]) -> bool:
    """Return whether the signs for one hypothesis, the largest of each evidence group, reach what a verdict needs."""
    largest: dict[tuple[str, str], int] = defaultdict(int)
    for finding in findings:
        for code, cell in finding.cells.items():
            largest[code, finding.evidence_group] = max(largest[code, finding.evidence_group], cell)
    sums: dict[str, int] = defaultdict(int)
    for (code, _), cell in largest.items():
        sums[code] += cell
    return any(total >= FAIR for total in sums.values())


@pytest.mark.parametrize("kinds", ROOMS, ids=[kinds[0] for kinds in ROOMS])
def test_nobody_is_blamed(kinds: tuple[str, ...], tmp_path: Path) -> None:
    every = samples(kinds)
    chosen = drawn(every, max(FEWEST, len(every) // BY_DAY), sample)
    report = room(chosen, tmp_path)
    assert not report.failed
    wrong = [f"{f.host}: {f.rule} blames {f.layer} at {f.decibans} dB: {f.headline}"
             for f in report.findings if blames(f) and f.decibans >= FAIR]  # fmt: skip
    by_host: dict[str | None, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        by_host[finding.host].append(finding)
    for path in chosen:
        if could_add_up(by_host[sample(path)]):
            alone = room([path], tmp_path / path.stem).verdict
            if alone.state in BLAMES:
                wrong.append(f"{sample(path)}: {alone.state} {alone.hypothesis}")
    assert wrong == []


def test_every_sample_is_judged_or_shows_trouble() -> None:
    every = {sample(path) for path in CORPUS.glob("*/*.txt")}
    judged = {sample(path) for kinds in ROOMS for path in samples(kinds)}
    assert set(TROUBLE) <= every
    assert every - judged - set(TROUBLE) == set()
    assert len(judged) > 300


def test_the_measure_is_not_blind(tmp_path: Path) -> None:
    """Check that judging in the same way does blame somebody if a sample shows trouble."""
    report = room([CORPUS / "truss" / "dbakevin-shmat-dism.txt", CORPUS / "ss" / "derived-tanpiem.txt"], tmp_path)
    assert {f.host for f in report.findings if blames(f) and f.decibans >= FAIR} == {
        "truss/dbakevin-shmat-dism.txt",
        "ss/derived-tanpiem.txt",
    }
