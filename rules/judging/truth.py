"""Compare the library's verdicts with cases whose answer is known: `python -m rules --score DIR`.

A case is a folder with evidence, a case.yaml and a truth.yaml, which was written before the library saw the evidence.
Two results differ in meaning: *silent* means that the library does not reach the answer, *wrong blame* that it accuses
the innocent, which is the worst that can happen.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import yaml

from rules.errors import CaseInvalid
from rules.judging.scoring import CAUSES
from rules.judging.telling import asked_for, told
from rules.model import CaseSpec, Finding, Layer, Report, State
from rules.signatures.mechanisms import mechanisms
from rules.writing.decoding import decode
from rules.writing.packs import Library
from rules.writing.rule import Rule
from rules.writing.yaml_text import load_yaml

Result = Literal["right", "partly", "silent", "wrong blame"]
RESULTS: tuple[Result, ...] = ("right", "partly", "silent", "wrong blame")
BLAMES = ("cause", "suspect", "lead")
FAIR = 10
"""Minimum decibans from which a finding has fair support and counts as blame."""

SEEDS = Path(__file__).resolve().parents[2].parent / "shared" / "seeds"
"""Default folder of published texts that are not in the repository."""

TRUTH, CASE, FIRST = "truth.yaml", "case.yaml", "first.yaml"


@dataclass(frozen=True)
class Expected:
    """What a rule must find; fields that are None are not compared.

    Any finding of the rule may match. `facts` are compared to 1e-9.
    """

    subject: str | None = None
    severity: str | None = None
    tier: str | None = None
    decibans: int | None = None
    kind: str | None = None
    layer: str | None = None
    host: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def differs(self, finding: Finding) -> tuple[str, ...]:
        """Return the keys in which a finding differs from what is expected."""
        named = ("subject", "severity", "tier", "decibans", "kind", "layer", "host")
        out = [n for n in named if getattr(self, n) is not None and getattr(self, n) != getattr(finding, n)]
        return (*out, *(k for k, want in self.facts.items() if not _same(want, finding.facts.get(k))))


@dataclass(frozen=True)
class Whole:
    """The same incident as one published text outside the repository, with its own case file (beside truth.yaml)."""

    evidence: str
    case: str


@dataclass(frozen=True)
class Fact:
    """Something that a good reader points at: lines of a file (`12` or `12-14`), what they say, and the figure.

    `subject` is the thing it is about as the lines name it; it is compared if there is no quantity.
    """

    file: str
    lines: str | int
    says: str
    subject: str | None = None
    quantity: Amount | None = None

    @property
    def range(self) -> tuple[int, int]:
        """Return the first and last line."""
        first, _, last = str(self.lines).partition("-")
        return int(first), int(last or first)


@dataclass(frozen=True)
class Amount:
    """A figure with its unit, as the lines give it."""

    value: float
    unit: str | None = None


@dataclass(frozen=True)
class Asked:
    """A tool whose output an experienced person would ask for next, on a host (by name or role)."""

    tool: str
    host: str | None = None
    ask: str | None = None


@dataclass(frozen=True)
class Truth:
    """The known answer of a case.

    Without `state` and `layer` only the rules are compared; without `state` a suspect is as right as a cause. `healthy`
    means that nothing may be blamed. `layers` are further layers that may be blamed too, such as that of a true
    consequence. `mechanism` is one of `rules/signatures/mechanisms.yaml`, `facts` are what a good reader points at, `asked`
    what such a reader asks for next. `exception` is the reason why a result that is not right is admitted; it stays in the table and is
    counted.
    """

    state: State | None = None
    layer: Layer | None = None
    layers: tuple[Layer, ...] = ()
    hypothesis: str | None = None
    rules: Mapping[str, Expected] = field(default_factory=dict)
    quiet: tuple[str, ...] = ()
    not_evaluable: tuple[str, ...] = ()
    forbidden_layers: tuple[Layer, ...] = ()
    healthy: bool = False
    source: str | None = None
    evidence: str | None = None
    whole: Whole | None = None
    exception: str | None = None
    first: Result | None = None
    mechanism: str | None = None
    facts: tuple[Fact, ...] = ()
    asked: tuple[Asked, ...] = ()


@dataclass(frozen=True)
class Compared:
    """How one run agrees with the truth: the verdict, each rule, wrong blames, and the overall result.

    `told` says for each fact of the truth whether it is told, `asked` whether the asks name what was wanted (None if the
    truth wants nothing).
    """

    state: str
    hypothesis: str | None
    verdict: Result | None
    rules: Mapping[str, Result]
    wrong: tuple[str, ...]
    notes: tuple[str, ...] = ()
    told: tuple[bool, ...] = ()
    asked: bool | None = None
    layer: str | None = None

    @property
    def result(self) -> Result:
        """Return wrong blame if there is any; else the result of the verdict if the truth has one; else that of all
        rules together.
        """
        if self.wrong:
            return "wrong blame"
        if self.verdict is not None:
            return self.verdict
        found = set(self.rules.values())
        return "right" if found <= {"right"} else "silent" if found == {"silent"} else "partly"


@dataclass(frozen=True)
class Scored:
    """One case: the result of the run, that of the run without people's statements (None if there are none), and its
    first result.
    """

    name: str
    truth: Truth
    now: Compared
    unstated: Compared | None
    first: Result | None


def load_truth(text: str, name: str = TRUTH) -> Truth:
    """Parse a truth.yaml; CaseInvalid names file, line and key of what is wrong."""

    def fail(where: str, why: str) -> CaseInvalid:
        return CaseInvalid(f"{name}: {where}" if where else name, why)

    made = decode(Truth, load_yaml(text, fail, limit=1024 * 1024) or {}, fail)
    if made.healthy and (made.state in BLAMES or made.layer or made.layers):
        raise fail("healthy", "a healthy case blames nobody: no layer, and no state that blames")
    if made.mechanism is not None and made.mechanism not in mechanisms():
        raise fail("mechanism", f"there is no {made.mechanism} in rules/signatures/mechanisms.yaml")
    if made.layer in made.forbidden_layers:
        raise fail("layer", f"{made.layer} is also forbidden")
    return made


def compare(truth: Truth, report: Report) -> Compared:
    """Compare a report with the truth."""
    fired: dict[str, list[Finding]] = {}
    for finding in report.findings:
        fired.setdefault(finding.rule, []).append(finding)
    lacking = {n.rule for n in report.not_evaluable}
    broken = {f.rule for f in report.failed}

    def became(rule: str) -> str:
        kinds = ((broken, "failed"), (fired, "fired"), (lacking, "not evaluable"), (report.quiet, "quiet"))
        return next((word for held, word in kinds if rule in held), "no such rule")

    rules: dict[str, Result] = {}
    notes: list[str] = []
    for rule, want in truth.rules.items():
        found = fired.get(rule, [])
        differing = min((want.differs(f) for f in found), key=len, default=None)
        rules[rule] = "silent" if differing is None else "partly" if differing else "right"
        if differing:
            notes.append(f"{rule}: other {', '.join(differing)} than expected")
        elif differing is None:
            notes.append(f"{rule}: {became(rule)}, expected to fire")
    for rule in truth.quiet:
        rules[rule] = "right" if became(rule) in ("quiet", "not evaluable") else "partly"
        if rules[rule] != "right":
            notes.append(f"{rule}: {became(rule)}, expected to stay quiet")
    for rule in truth.not_evaluable:
        rules[rule] = "right" if rule in lacking else "partly"
        if rules[rule] != "right":
            notes.append(f"{rule}: {became(rule)}, expected not to be evaluable")
    wrong = [*_blamed_by_verdict(truth, report)]
    for rule, found in fired.items():
        for finding in found:
            if rule not in truth.rules and _blames_wrongly(truth, finding):
                wrong.append(f"{rule} blames {finding.layer} at {finding.decibans} dB: {finding.headline}")
                rules[rule] = "wrong blame"
    return Compared(
        report.verdict.state,
        report.verdict.hypothesis,
        _verdict(truth, report),
        dict(sorted(rules.items())),
        tuple(wrong),
        tuple(notes),
        tuple(told(fact, report) for fact in truth.facts),
        asked_for(truth.asked, report),
        report.verdict.layer,
    )


def _innocent(truth: Truth, layer: str | None) -> bool:
    """Return whether the truth forbids blaming a layer."""
    if truth.healthy or layer in truth.forbidden_layers:
        return True
    known = truth.layer is not None and truth.state in (None, *BLAMES)
    return known and layer not in (truth.layer, *truth.layers)


def _blames_wrongly(truth: Truth, finding: Finding) -> bool:
    if finding.kind == "clear" or finding.layer == "measurement" or finding.decibans < FAIR:
        return False
    return _innocent(truth, finding.layer)


def _blamed_by_verdict(truth: Truth, report: Report) -> Iterator[str]:
    v = report.verdict
    nobody = truth.state in ("cannot tell", "nothing wrong seen") and v.layer not in (truth.layer, *truth.layers)
    if v.state in BLAMES and (nobody or _innocent(truth, v.layer)):
        yield f"verdict {v.state} {v.hypothesis} blames {v.layer}"


def _verdict(truth: Truth, report: Report) -> Result | None:
    """Return the result of the verdict alone: right, partly if it leans the right way, silent if it does not reach the
    answer.
    """
    v = report.verdict
    if any(_blamed_by_verdict(truth, report)):
        return "wrong blame"
    if truth.healthy:
        return "right"
    if truth.state is None and truth.layer is None and truth.hypothesis is None:
        return None
    if truth.state in ("cannot tell", "nothing wrong seen"):
        return "right" if v.state == truth.state else "partly"
    named = truth.hypothesis is None or truth.hypothesis in (v.hypothesis, _whole(v.hypothesis))
    there = truth.layer is None or v.layer in (truth.layer, *truth.layers)
    if named and there and (v.state == truth.state if truth.state else v.state in BLAMES):
        return "right"
    # Neither leader nor layer matches, or nobody is named: the library did not reach the answer.
    leans = v.hypothesis is not None and (named if truth.hypothesis else there)
    return "partly" if leans or (v.layer is not None and v.layer in (truth.layer, *truth.layers)) else "silent"


def _whole(hypothesis: str | None) -> str | None:
    """Return the hypothesis of which another is a part: naming the part names the whole, and more exactly."""
    cause = CAUSES.get(hypothesis or "")
    return cause.part_of if cause else None


def _same(want: Any, got: Any) -> bool:
    numbers = (int, float)
    if (
        isinstance(want, numbers)
        and isinstance(got, numbers)
        and not isinstance(want, bool)
        and not isinstance(got, bool)
    ):
        return abs(want - got) <= 1e-9
    return bool(type(want) is type(got) and want == got)


# --- a folder of cases ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    """A case that can be judged here: its evidence, its case file, and the folder of its first result."""

    name: str
    truth: Truth
    evidence: Path
    case: Path
    home: Path

    @property
    def size(self) -> int:
        """Return the bytes of evidence, which indicate how long judging takes."""
        files = self.evidence.rglob("*") if self.evidence.is_dir() else (self.evidence,)
        return sum(f.stat().st_size for f in files if f.is_file())


def score(
    folder: Path, rules: Sequence[Rule] | Library | None = None, texts: Path = SEEDS, jobs: int | None = None
) -> Iterator[Scored | str]:
    """Yield the result of each case under a folder, by name; a text with the reason for one that cannot be judged here.

    The first result of a case is stored in its first.yaml: written when a case is scored for the first time, never
    again. `jobs` is the number of parallel processes, default one per processor; the result does not depend on it.
    """
    from rules.writing.packs import open_library

    listed = [g for path in sorted(folder.rglob(TRUTH)) for g in _candidates(folder, path, texts)]
    cases = [g for g in listed if isinstance(g, _Candidate)]
    several = min(jobs or len(os.sched_getaffinity(0)), len(cases))
    library = open_library() if rules is None else rules
    if several <= 1:
        for candidate in listed:
            yield candidate if isinstance(candidate, str) else _scored(candidate, *_judged(candidate, library))
        return
    # Do not fork: Polars has threads, and a forked process may inherit a lock that is never released.
    with ProcessPoolExecutor(several, multiprocessing.get_context("spawn"), _set_library, (library,)) as pool:
        waiting = {g.name: pool.submit(_judged, g) for g in sorted(cases, key=lambda g: -g.size)}
        for candidate in listed:
            yield candidate if isinstance(candidate, str) else _scored(candidate, *waiting[candidate.name].result())


def fingerprint(folder: Path) -> str:
    """Return a short hash of all truths under a folder with their names.

    A different hash means that an accuracy page is out of date.
    """
    made = hashlib.sha256()
    for path in sorted(folder.rglob(TRUTH)):
        made.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return made.hexdigest()[:16]


def _candidates(folder: Path, path: Path, texts: Path) -> Iterator[_Candidate | str]:
    """Yield the cases of a truth file: the case itself and, if it names one, the same incident as one published text."""
    home = path.parent
    name = home.relative_to(folder).as_posix()
    truth = load_truth(path.read_text("utf-8"), f"{name}/{TRUTH}")
    if truth.evidence:
        yield _outside(_Candidate(name, truth, Path(truth.evidence), home / CASE, home), texts)
    elif any(p.is_file() and p.suffix not in (".yaml", ".yml") for p in home.rglob("*")):
        yield _Candidate(name, truth, home, home / CASE, home)
    else:
        yield f"{name}: nothing has been recorded yet"
    if truth.whole:
        case_file = home / truth.whole.case
        yield _outside(_Candidate(f"{name} whole", truth, Path(truth.whole.evidence), case_file, home), texts)


def _outside(candidate: _Candidate, texts: Path) -> _Candidate | str:
    """Return the case with the published text that it names (patterns are allowed), or why that cannot be read."""
    pattern = candidate.evidence.as_posix()
    found = sorted(texts.glob(pattern.removeprefix("seeds/"))) if texts.is_dir() else []
    return (
        replace(candidate, evidence=found[0])
        if found
        else f"{candidate.name}: {pattern} is not present (--texts names its folder)"
    )


_library: Sequence[Rule] | Library = ()
"""The rules of a process that judges in parallel with others."""


def _set_library(library: Sequence[Rule] | Library) -> None:
    global _library
    _library = library


def _judged(candidate: _Candidate, library: Sequence[Rule] | Library | None = None) -> tuple[Compared, Compared | None]:
    """Judge one case, and again without people's statements."""
    from rules.case.reading import open_paths
    from rules.judging.evaluate import evaluate

    rules = _library if library is None else library
    with tempfile.TemporaryDirectory(prefix="exhibit-score-") as out, redirect_stderr(StringIO()):
        try:
            spec: CaseSpec = open_paths(
                [candidate.evidence], candidate.case if candidate.case.is_file() else None, Path(out)
            )[0]
        except CaseInvalid as error:
            raise CaseInvalid(f"{candidate.name}: {error.where}", error.why) from None
        now = compare(candidate.truth, evaluate(spec, Path(out), rules=rules))
        unstated = None
        if spec.statements:
            unstated = compare(candidate.truth, evaluate(replace(spec, statements=()), Path(out), rules=rules))
    return now, unstated


def _scored(candidate: _Candidate, now: Compared, unstated: Compared | None) -> Scored:
    which = "whole" if candidate.name.endswith(" whole") else "case"
    return Scored(
        candidate.name,
        candidate.truth,
        now,
        unstated,
        candidate.truth.first or _first(candidate.home / FIRST, which, now),
    )


def _first(path: Path, which: str, now: Compared) -> Result | None:
    """Return the first result of a case; if none is stored, store the present one as the first."""
    known: dict[str, Any] = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else {}
    if which in known:
        found: Result = known[which]["result"]
        return found
    known[which] = {
        "result": now.result,
        "state": now.state,
        "hypothesis": now.hypothesis,
        "layer": now.layer,
        "rules": dict(now.rules),
        **({"told": sum(now.told), "facts": len(now.told)} if now.told else {}),
        **({"asked": now.asked} if now.asked is not None else {}),
        "wrong": list(now.wrong),
    }
    path.write_text(
        "# What the library first said of this case; written by `python -m rules --score`, never changed.\n"
        + yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=120),
        encoding="utf-8",
    )
    return now.result
