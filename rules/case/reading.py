"""Turn files and folders into a CaseSpec: parse each file into a directory of its own, then apply the case file."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from parsers.containers.archives import HEAD_BYTES, LeftOut, container_of, open_members
from parsers.containers.collectors import SMALL, MemberFacts, Tree, names_a_zone
from parsers.errors import AmbiguousFormat, LimitExceeded, NotText, ParserError, UnknownFormat, WrongFormat
from parsers.layout.parts import PartHint
from parsers.provenance.members import with_member_facts
from parsers.reading import read
from parsers.text.source import Hints
from rules.case.case_yaml import CaseFile, FileEntry, load_case_yaml
from rules.errors import CaseInvalid
from rules.model import ArtifactSpec, CaseSpec, Failed, PartSpec

UNKNOWN, LIMIT = 3, 5


def open_paths(
    paths: Sequence[Path], case_path: Path | None, out: Path, problems: list[Failed] | None = None
) -> tuple[CaseSpec, int]:
    """Read all files into `out` and return the case and the exit status so far (0, 3 or 5).

    A file that could not be read stays in the case without tables. Without `case_path` the case.yaml of a folder is
    used. Files are ordered as in the case file, the rest by name. An archive counts as the files in it, named
    `archive!inside`. Files that the case file names but that do not exist are appended to `problems`, and the rest of
    the case file applies; without that list the first of them raises CaseInvalid.
    """
    folders = [p for p in paths if p.is_dir()]
    if case_path is None:
        case_path = next((f / "case.yaml" for f in folders if (f / "case.yaml").is_file()), None)
    case_file = _case_file(case_path) if case_path else CaseFile()
    files_by_name = dict(_files(paths))
    tree = Tree()
    files = {inner: path for name, path in files_by_name.items() for inner, path in _unpacked(name, path, out, tree)}
    places = {**dict(_places(paths)), **{name: name for name in files if name not in files_by_name}}
    for name, path in files.items():
        if names_a_zone(places[name]) and path.stat().st_size <= SMALL:
            tree.learn(places[name], path.read_text(encoding="utf-8", errors="replace"))
    faults = list(case_file.absent(files))
    case_file = case_file.within(files)
    order = list(dict.fromkeys([e.file for e in case_file.artifacts] + sorted(files)))
    ids = _ids(case_file, order)
    status = 0
    artifacts = []
    for name in order:
        facts = tree.facts_of(places[name])
        artifact, failed = _read(ids[name], name, files[name], facts, case_file, out / str(ids[name]))
        artifacts.append(artifact)
        status = max(status, failed)
    spec = case_file.spec(sorted(artifacts, key=lambda a: a.id))
    for where, why in faults:
        if problems is None:
            raise CaseInvalid(where, why)
        problems.append(Failed("CASE", f"{case_path.name if case_path else 'case.yaml'}: {where}: {why}"))
    return spec, status


def _case_file(path: Path) -> CaseFile:
    """Read a case file; raise CaseInvalid if it cannot be read or is not UTF-8."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CaseInvalid(str(path), error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise CaseInvalid(str(path), f"is no text in UTF-8, from byte {error.start}") from None
    return load_case_yaml(text)


def _unpacked(name: str, path: Path, out: Path, tree: Tree) -> Iterable[tuple[str, Path]]:
    """Yield a file, or all files that an archive holds; links in the archive are recorded in `tree`.

    Unpacked files are in `out` under numbers and are named `archive!inside`.
    """
    try:
        with path.open("rb") as stream:
            container = container_of(stream.read(HEAD_BYTES), path.stat().st_size)
    except (NotText, OSError):  # the reading that follows reports the error
        container = None
    if container is None:
        yield name, path
        return
    folder = out / "unpacked" / hashlib.sha256(name.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for number, member in enumerate(open_members(path, name), start=1):
            if isinstance(member, LeftOut):
                tree.learn_link(f"{name}!{member.path}", member.why)
                print(f"rules: {name}!{member.path}: left out: {member.why}", file=sys.stderr)
                continue
            target = folder / str(number)
            with target.open("wb") as spool:
                shutil.copyfileobj(member.stream, spool)
            if member.damage:
                print(f"rules: {name}!{member.path}: {member.damage}", file=sys.stderr)
            if target.stat().st_size:
                yield f"{name}!{member.path}", target
    except LimitExceeded as error:
        print(f"rules: {name}: {error}; the files before it are judged", file=sys.stderr)


def _ids(case_file: CaseFile, order: Sequence[str]) -> dict[str, int]:
    """Number the artifacts: as in the case file, the others from the lowest free number."""
    ids = {e.file: e.id for e in case_file.artifacts if e.id is not None}
    if len(set(ids.values())) < len(ids):
        raise CaseInvalid("artifacts", "two files have the same id")
    free = iter(n for n in range(1, len(order) + len(ids) + 1) if n not in ids.values())
    return {name: ids[name] if name in ids else next(free) for name in order}


def _files(paths: Iterable[Path]) -> Iterable[tuple[str, Path]]:
    """Yield name and path of every evidence file.

    Names are relative to the folder. Hidden files and YAML files are not evidence.
    """
    for path in paths:
        if path.is_dir():
            for file in sorted(f for f in path.rglob("*") if f.is_file()):
                inside = file.relative_to(path)
                if file.suffix not in (".yaml", ".yml") and not any(p.startswith(".") for p in inside.parts):
                    yield inside.as_posix(), file
        else:
            yield path.name, path


def _places(paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
    """Yield each file's name as `_files` has it, and its path from the folder that was named."""
    for path in paths:
        for name, _ in _files([path]):
            yield name, f"{path.resolve().name}/{name}" if path.is_dir() else name


def _hints(entry: FileEntry | None, case_file: CaseFile) -> Hints:
    if entry is None:
        return Hints()
    kind, _, variant = (entry.kind or "").partition("/")
    host = case_file.hosts.get(entry.host) if entry.host else None
    return Hints(
        kind=kind or None,
        variant=variant or None,
        host=entry.host,
        os=entry.os or (host.os if host else None),
        tz=entry.tz or (host.tz if host else None),
        interval_s=entry.interval,
        year=entry.year,
        date=entry.date,
        date_order=entry.date_order,
        columns=entry.columns,
        command=entry.command,
    )


def _read(
    number: int, name: str, path: Path, facts: MemberFacts, case_file: CaseFile, out: Path
) -> tuple[ArtifactSpec, int]:
    entries = case_file.entries(name)
    known = [PartHint(*e.span, _hints(e, case_file)) for e in entries if e.span]
    whole = next((e for e in entries if not e.span), None)
    status = 0
    try:
        account = read(path, with_member_facts(_hints(whole, case_file), facts), out, known=known, name=name)
    except ParserError as error:
        status = UNKNOWN if isinstance(error, (UnknownFormat, AmbiguousFormat, WrongFormat, NotText)) else LIMIT
        print(f"rules: {name}: {error}", file=sys.stderr)
        if error.account is None:
            return ArtifactSpec(number, name), status
        account = error.account
    except OSError as error:
        print(f"rules: {name}: {error.strerror}", file=sys.stderr)
        return ArtifactSpec(number, name), LIMIT
    for misfit in account.misfits:
        print(f"rules: {name}: {misfit}", file=sys.stderr)
    # What a collecting tool wrote names its host; else its place in such a tool's tree does.
    parts = tuple(
        PartSpec(
            p.part,
            p.line_from,
            p.line_to,
            (p.facts.get("host") or facts.host) if facts.host or "began" in p.facts else None,
        )
        for p in account.parts
    )
    return ArtifactSpec(number, name, account.sha256, str(path.resolve()), str(out), parts), status
