"""Copies of the published incidents with one thing changed: times, names, hosts, or the cause removed.

A change takes a file's name and text and returns the text; `judged` applies changes to all files of a case but its
truth, so that evidence and statements stay consistent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from rules.judging.truth import Truth, compare, load_truth
from rules.model import Finding, Report
from tests.rules.library import library

CASES = Path(__file__).parents[2] / "cases"
Change = Callable[[str, str], str]
TimeMap = Callable[[float], float]
FAIR = 10
"""Minimum decibans of a finding that counts as blame."""


def judged(number: str, folder: Path, *changes: Change) -> Report:
    """Judge a changed copy of a published case by all rules; check that nothing fails and nobody is blamed whom the
    truth forbids.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted((CASES / number).iterdir()):
        if file.name in ("truth.yaml", "first.yaml"):
            continue
        text = file.read_text(encoding="utf-8")
        for change in changes:
            text = change(file.name, text)
        if text:
            (folder / file.name).write_text(text, encoding="utf-8")
    spec, status = open_paths([folder], None, folder.with_name(folder.name + "-read"))
    assert status == 0
    made = evaluate(spec, rules=library())
    assert not made.failed, made.failed
    truth = load_truth((CASES / number / "truth.yaml").read_text(encoding="utf-8"))
    assert not compare(Truth(forbidden_layers=truth.forbidden_layers, rules=truth.rules), made).wrong
    return made


def found(report: Report, rule: str, **where: object) -> list[Finding]:
    """Return the findings of a rule with these values, strongest first."""
    return [f for f in report.findings if f.rule == rule and all(getattr(f, k) == v for k, v in where.items())]


def blamed(report: Report) -> set[tuple[str, str]]:
    """Return rule and layer of each finding that blames somebody: of fair support, and more severe than info."""
    return {
        (f.rule, f.layer)
        for f in report.findings
        if f.kind == "finding" and f.layer != "measurement" and f.decibans >= FAIR and f.severity != "info"
    }


def weights(report: Report) -> list[tuple[str, str, int, str, float]]:
    """Return the weight of each finding, without its names."""
    return sorted((f.rule, f.tier, f.decibans, f.severity, f.magnitude) for f in report.findings)


# --- changes of any text ----------------------------------------------------------------------------------------------


def renamed(names: dict[str, str], *only: str) -> Change:
    """Replace all names at once, each where it is not part of a longer word or number; only in some files if these are
    named.
    """
    pattern = re.compile(r"(?<![0-9A-Za-z])(" + "|".join(map(re.escape, names)) + r")(?![0-9A-Za-z])")

    def change(name: str, text: str) -> str:
        return pattern.sub(lambda m: names[m[1]], text) if not only or name in only else text

    return change


def rewritten(file: str, old: str, new: str, count: int = 1) -> Change:
    """Replace a pattern of one file; it must occur exactly `count` times."""

    def change(name: str, text: str) -> str:
        if name != file:
            return text
        text, n = re.subn(old, new, text, flags=re.MULTILINE)
        assert n == count, f"{file}: {old} stands {n} times"
        return text

    return change


def without_statements(name: str, text: str) -> str:
    """Remove all statements from a case."""
    return text[: text.index("statements:")] if name == "case.yaml" and "statements:" in text else text


def dropped(*files: str) -> Change:
    """Remove some artifacts from a case."""

    def change(name: str, text: str) -> str:
        if name != "case.yaml":
            return "" if name in files else text
        for file in files:
            text, n = re.subn(rf"(?m)^  - {{file: {re.escape(file)},.*\n", "", text)
            assert n == 1, file
        return text

    return change


def on_host(other: str, *files: str) -> Change:
    """Move some artifacts to another host.

    The case's hosts stay as they are; the other host is like the first one.
    """

    def change(name: str, text: str) -> str:
        if name != "case.yaml":
            return text
        for file in files:
            text, n = re.subn(rf"(- {{file: {re.escape(file)}, host: )\w+", rf"\g<1>{other}", text)
            assert n == 1, file
        return re.sub(r"(?m)^hosts:\n  (\w+): (.*)$", rf"hosts:\n  \1: \2\n  {other}: \2", text)

    return change


# --- times ------------------------------------------------------------------------------------------------------------

THREE = re.compile(r"(?m)^(\d+: )(\d+\.\d{4}) (\d+\.\d{4}) (\d+\.\d{4}) ")
"""truss -d -D -E: since the start of the trace, since the previous call, inside the call."""

ONE = re.compile(r"(\d+\.\d{4}) (?=\w+\()")
"""truss -d, wrapped into one line."""


def retimed(at: TimeMap, *only: str) -> Change:
    """Move every stamp of the truss excerpts; the differences follow, and the time inside a call keeps its share."""

    def grid(seconds: float) -> float:
        return round(at(seconds), 4)

    def three(m: re.Match[str]) -> str:
        stamp, delta, inside = float(m[2]), float(m[3]), float(m[4])
        later = grid(stamp) - grid(round(stamp - delta, 4))
        share = inside / delta if delta else 0.0
        return f"{m[1]}{grid(stamp):.4f} {later:.4f} {later * share:.4f} "

    def change(name: str, text: str) -> str:
        if not name.startswith("truss") or (only and name not in only):
            return text
        text = THREE.sub(three, text)
        return ONE.sub(lambda m: f"{grid(float(m[1])):.4f} ", text) if not THREE.search(text) else text

    return change


def scaled(factor: float) -> TimeMap:
    return lambda seconds: seconds * factor


def without(*spans: tuple[float, float]) -> TimeMap:
    """Return a time map that skips some spans, which then take no time."""
    return lambda seconds: seconds - sum(max(0.0, min(seconds, last) - first) for first, last in spans)


def scaled_statements(factor: float, *names: str) -> Change:
    """Scale numbers that people stated, and the stated symptom."""

    def number(m: re.Match[str]) -> str:
        return f"{m[1]}{float(m[2]) * factor:g}"

    def change(name: str, text: str) -> str:
        if name != "case.yaml":
            return text
        for stated in names:
            text, n = re.subn(rf"(name: {re.escape(stated)}, num: )(-?[0-9.]+)", number, text)
            assert n, stated
        return re.sub(r"(bad: |normal: )([0-9.]+)", number, text)

    return change
