"""Read and write case.yaml: what a person writes beside the files, and what a room exports.

A case.yaml names files, a CaseSpec numbers artifacts: `CaseFile` holds the content of the text, `CaseFile.spec` joins
it with what was read, and `dump_case_yaml` writes a CaseSpec back. An unknown key is an error that names its line.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import yaml

from rules.case import site_names, statements
from rules.errors import CaseInvalid
from rules.model import (
    ArtifactSpec,
    CaseSpec,
    FreeHypothesis,
    HostSpec,
    Marker,
    Offset,
    PartSpec,
    PhaseSpec,
    RuleChoices,
    SiteName,
    Statement,
    Symptom,
)
from rules.writing.decoding import decode, encode, line_of
from rules.writing.yaml_text import load_yaml

LINES = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")


@dataclass(frozen=True)
class FileEntry:
    """An artifact or, with `lines`, one part of a longer text. A file may be named several times with different lines.

    `id` preserves the number that the artifact had in an exported room.
    """

    file: str
    lines: str | None = None
    kind: str | None = None
    host: str | None = None
    phase: str | None = None
    role: str | None = None
    clock: str | None = None
    os: str | None = None
    tz: str | None = None
    interval: float | None = None
    year: int | None = None
    date: str | None = None
    date_order: str | None = None
    columns: str | None = None
    command: str | None = None
    id: int | None = None

    @property
    def span(self) -> tuple[int, int] | None:
        """Return the first and last line, or None for the whole file."""
        return _span(self.lines, f"artifacts.{self.file}.lines") if self.lines else None


@dataclass(frozen=True)
class FilePhase:
    file: str
    lines: str
    phase: str


@dataclass(frozen=True)
class CaseFile:
    """The checked content of a case.yaml; files are still names."""

    schema: Literal[1] = 1
    title: str | None = None
    symptom: Symptom | None = None
    hosts: Mapping[str, HostSpec] = field(default_factory=dict)
    artifacts: tuple[FileEntry, ...] = ()
    markers: tuple[Marker, ...] = ()
    phases: tuple[FilePhase, ...] = ()
    statements: tuple[Statement, ...] = ()
    offsets: tuple[Offset, ...] = ()
    t_zero: str | None = None
    rules: RuleChoices = field(default_factory=RuleChoices)
    hypotheses: tuple[FreeHypothesis, ...] = ()
    names: tuple[SiteName, ...] = ()

    def entries(self, file: str) -> tuple[FileEntry, ...]:
        """Return the entries of a file: its parts in line order, or the one entry without lines, or nothing."""
        found = [e for e in self.artifacts if e.file == file]
        return tuple(sorted(found, key=lambda e: e.span or (0, 0)))

    def absent(self, files: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield place and reason for each entry about a file that does not exist."""
        for n, entry in enumerate(self.artifacts):
            if entry.file not in files:
                yield f"artifacts[{n}].file", f"{entry.file} is not among the files given{_near(entry.file, files)}"
        for n, phase in enumerate(self.phases):
            if phase.file not in files:
                yield f"phases[{n}].file", f"{phase.file} is not among the files given{_near(phase.file, files)}"

    def within(self, files: Collection[str]) -> CaseFile:
        """Return the case without the entries about files that do not exist."""
        return replace(
            self,
            artifacts=tuple(e for e in self.artifacts if e.file in files),
            phases=tuple(p for p in self.phases if p.file in files),
        )

    def problems(self) -> Iterator[str]:
        """Yield messages about contradictions and unknown hosts and phases, as far as the case file alone shows them."""
        files = dict.fromkeys([*(entry.file for entry in self.artifacts), *(phase.file for phase in self.phases)])
        parts = {f: [PartSpec(n, *(e.span or (1, 1))) for n, e in enumerate(self.entries(f), start=1)] for f in files}
        read = (ArtifactSpec(n, file, parts=tuple(parts[file])) for n, file in enumerate(files, start=1))
        yield from unknown_names(self.spec(read))
        yield from statements.problems(self.statements, None)
        yield from site_names.problems(self.names)

    def spec(self, artifacts: Iterable[ArtifactSpec]) -> CaseSpec:
        """Join the case file with the artifacts that were read.

        A part takes host, phase, role and clock from the entry whose lines hold the part's first line.
        """
        read = tuple(replace(a, parts=tuple(self._with_entry(a.file, p) for p in a.parts)) for a in artifacts)
        ids = {a.file: a.id for a in read}
        phases = []
        for phase in self.phases:
            if phase.file not in ids:
                raise CaseInvalid("phases", f"names {phase.file}, which is not among the files")
            first, last = _span(phase.lines, f"phases.{phase.file}.lines")
            phases.append(PhaseSpec(ids[phase.file], first, last, phase.phase))
        return CaseSpec(
            1, self.title, self.symptom, self.hosts, read, self.markers, tuple(phases), self.statements, self.offsets, self.t_zero, self.rules,
            self.hypotheses, self.names,
        )  # fmt: skip

    def _with_entry(self, file: str, part: PartSpec) -> PartSpec:
        for entry in self.entries(file):
            first, last = entry.span or (1, part.line_to)
            if first <= part.line_from <= last:
                return replace(
                    part,
                    host=entry.host or part.host,
                    phase=entry.phase or part.phase,
                    role=entry.role or part.role,
                    clock=entry.clock or part.clock,
                )
        return part


def load_case_yaml(text: str) -> CaseFile:
    """Parse a case.yaml; raise CaseInvalid with line and key of what is wrong."""
    raw = load_yaml(text, lambda where, why: CaseInvalid(where, why), limit=1024 * 1024)
    if raw is None:
        return CaseFile()
    if isinstance(raw, dict):
        for n, marker in enumerate(raw.get("markers") or []):
            if isinstance(marker, dict) and isinstance(marker.get("at"), (list, tuple)):
                raise CaseInvalid(
                    f"{line_of(marker, 'at')}markers[{n}].at", "must be one time; a border of phases is `between`"
                )
    made = decode(CaseFile, raw, CaseInvalid)
    for entry in made.artifacts:
        if len(made.entries(entry.file)) > 1 and entry.span is None:
            raise CaseInvalid(f"artifacts.{entry.file}", "is named twice, so each entry needs `lines`")
    return made


def dump_case_yaml(spec: CaseSpec, kinds: Mapping[tuple[int, int], str] | None = None) -> str:
    """Return a CaseSpec as the text of a case.yaml.

    `kinds` maps (artifact, part) to the kind (or kind/variant) where a person has set it.
    """
    names = [a.file for a in spec.artifacts]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise CaseInvalid("artifacts", f"two files have the name {', '.join(sorted(twice))}")
    entries: list[dict[str, Any]] = []
    for artifact in spec.artifacts:
        for part in artifact.parts or (PartSpec(1, 1, 1),):
            entry = FileEntry(
                artifact.file,
                f"{part.line_from}-{part.line_to}" if len(artifact.parts) > 1 or part.line_from > 1 else None,
                (kinds or {}).get((artifact.id, part.part)),
                part.host,
                part.phase,
                part.role,
                part.clock,
                id=artifact.id,
            )
            entries.append(_bare(entry))
    files = {a.id: a.file for a in spec.artifacts}
    whole: dict[str, Any] = {
        "title": spec.title,
        "symptom": _bare(spec.symptom) if spec.symptom else None,
        "hosts": {name: _bare(h) for name, h in spec.hosts.items()},
        "artifacts": entries,
        "markers": [_bare(m) for m in spec.markers],
        "phases": [
            {"file": files[p.artifact], "lines": f"{p.line_from}-{p.line_to}", "phase": p.phase} for p in spec.phases
        ],
        "statements": [_bare(s) for s in spec.statements],
        "offsets": [_bare(o) for o in spec.offsets],
        "hypotheses": [_bare(h) for h in spec.hypotheses],
        "names": [_bare(n) for n in spec.names],
        "t_zero": spec.t_zero,
        "rules": _bare(spec.rules),
    }
    return yaml.safe_dump(
        {"schema": 1, **{k: v for k, v in whole.items() if v}}, sort_keys=False, allow_unicode=True, width=120
    )


def unknown_names(spec: CaseSpec) -> Iterator[str]:
    """Yield a message for each unknown host of a file and each unknown phase of a marker.

    A host is unknown if `hosts` lists some and not this one; a phase is unknown if no evidence belongs to it.
    """
    for artifact in spec.artifacts:
        for host in dict.fromkeys(p.host for p in artifact.parts if p.host is not None):
            if spec.hosts and host not in spec.hosts:
                listed = ", ".join(spec.hosts)
                yield f"artifacts.{artifact.file}.host: {host!r} is not among the hosts ({listed}){_near(host, spec.hosts)}; it stands as a host of its own"
    known = {p.phase for a in spec.artifacts for p in a.parts if p.phase} | {p.phase for p in spec.phases}
    for n, marker in enumerate(spec.markers if spec.artifacts else ()):
        for phase in marker.between or ():
            if phase not in known:
                listed = ", ".join(sorted(known)) or "none"
                yield f"markers[{n}].between: no evidence is of the phase {phase!r} (there are: {listed}){_near(phase, known)}"


def _near(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _bare(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as a mapping without those that are unknown or empty."""
    return {k: v for k, v in encode(value).items() if v is not None and v != [] and v != {}}


def _span(lines: str, where: str) -> tuple[int, int]:
    match = LINES.fullmatch(lines)
    if match is None or int(match[1]) > int(match[2]):
        raise CaseInvalid(where, f"must be first-last such as 54-95, not {lines!r}")
    return int(match[1]), int(match[2])
