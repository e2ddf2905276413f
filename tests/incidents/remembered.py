"""Judge the same room once per process, and without a child process: most tests look at what judging gave. Those of judging
itself are in tests/incidents/work.

A judgement takes four seconds of processor time in a child process, half of them for its start. What it gives follows from the case
and from what was read, so a room like one that was judged before gets the same report, and the same derived tables beside its
evidence.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from incidents.work import analysis, judge_process
from rules import model as rules
from rules.case.case import Case
from rules.engine.sandbox import Fence, Sandbox
from rules.judging.evaluate import judge as judge_case
from rules.writing.packs import open_library

LARGEST = 5_000_000
"""A reading of more bytes is judged anew each time."""


def fingerprint(spec: rules.CaseSpec, cache: Path) -> str | None:
    """Return a hash of a judgement's inputs, without the room's folder and reading times; None if they are large."""
    said = json.dumps(spec.as_json(), sort_keys=True).replace(str(cache.parent), "ROOM")
    limits = (
        settings.EXHIBIT_RULES,
        settings.EXHIBIT_RULE_SECONDS,
        settings.EXHIBIT_RULE_MB,
        judge_process.CHILD_MEMORY,
    )
    seen = hashlib.sha256(f"{said} {limits} {judge_process.CHILD_SECONDS}".encode())
    rules_files = [
        file for folder in settings.EXHIBIT_RULES for file in sorted(Path(folder).rglob("*")) if file.is_file()
    ]
    readings = [
        file
        for artifact in spec.artifacts
        if artifact.reading
        for file in sorted(Path(artifact.reading).rglob("*"))
        if file.is_file()
    ]
    if any(file.stat().st_size > LARGEST for file in readings):
        return None
    for file in (*rules_files, *readings):
        content = file.read_bytes()
        if file.name == "manifest.json":
            content = json.dumps(json.loads(content) | {"seconds": 0}, sort_keys=True).encode()
        seen.update(file.name.encode() + content)
    return seen.hexdigest()


def judge_here(spec: rules.CaseSpec, cache: Path) -> str:
    """Judge a case in this process, as `rules.judge_child` does, and return the report's JSON text."""
    sandbox = Sandbox(Fence().of_query(settings.EXHIBIT_RULE_SECONDS, settings.EXHIBIT_RULE_MB))
    library = open_library(*map(Path, settings.EXHIBIT_RULES))
    return json.dumps(judge_case(Case(spec, cache), library, sandbox).as_json())


@contextmanager
def remembering() -> Iterator[Callable[[pytest.MonkeyPatch], None]]:
    """Yield a function that caches the results of `analysis.judge` during one test."""
    judge = analysis.judge
    reports: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="exhibit-judged-") as folder:

        def remembered(
            spec: rules.CaseSpec, each_second: Callable[[], None] | None = None, cache: Path | None = None
        ) -> dict[str, Any]:
            known = fingerprint(spec, cache) if cache else None
            if known is None or cache is None:
                return judge(spec, each_second, cache)
            if known not in reports:
                reports[known] = judge_here(spec, cache)
                if cache.exists():
                    shutil.copytree(cache, Path(folder) / known)
            elif (Path(folder) / known).exists():
                shutil.copytree(Path(folder) / known, cache, dirs_exist_ok=True)
            report: dict[str, Any] = json.loads(reports[known])
            return report

        yield lambda patch: patch.setattr(analysis, "judge", remembered)
