"""Known incidents as people paste them: the lines that matter, a few beside them, and the head of their block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from rules.judging.truth import CASE, TRUTH, Fact, Truth, load_truth

HEAD = 3
"""Number of first lines of a file that are kept: they name the tool."""


@dataclass(frozen=True)
class Known:
    """A case of tests/cases whose lines show a cause."""

    folder: Path
    truth: Truth

    @property
    def name(self) -> str:
        return str(self.folder).rsplit("/cases/", 1)[1]


def known(cases: Path) -> list[Known]:
    """List the cases with a cause whose evidence lies beside their truth and whose facts name its lines."""
    found = []
    for path in sorted(cases.rglob(TRUTH)):
        truth = load_truth(path.read_text("utf-8"), str(path))
        blames = not truth.healthy and truth.state not in ("cannot tell", "nothing wrong seen", "undecided")
        if blames and truth.facts and all((path.parent / fact.file).is_file() for fact in truth.facts):
            found.append(Known(path.parent, truth))
    return found


def excerpt(case: Known, folder: Path, around: int) -> Truth:
    """Write the excerpt of a case to `folder`, with its case file; return its truth, whose facts name the new lines.

    Of each file are kept the lines of the facts, `around` lines on either side, the first two lines of the block that
    a fact stands in, and the first lines of the file. Files without facts, statements and the rules of the truth go.
    """
    places: dict[str, dict[int, int]] = {}
    for file in sorted({fact.file for fact in case.truth.facts}):
        lines = (case.folder / file).read_text("utf-8", "replace").split("\n")
        wanted = set(range(1, HEAD + 1))
        for first, last in (fact.range for fact in case.truth.facts if fact.file == file):
            wanted |= set(range(first - around, last + around + 1))
            for no in range(first, last + 1):
                wanted |= set(range(block_of(lines, no), block_of(lines, no) + 2))
        kept = sorted(no for no in wanted if 1 <= no <= len(lines))
        places[file] = {no: new for new, no in enumerate(kept, 1)}
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("".join(f"{lines[no - 1]}\n" for no in kept), "utf-8")
    if (case.folder / CASE).is_file():
        spec = yaml.safe_load((case.folder / CASE).read_text("utf-8"))
        spec["artifacts"] = [entry for entry in spec.get("artifacts", []) if entry["file"] in places]
        spec.pop("statements", None)
        (folder / CASE).write_text(yaml.safe_dump(spec), "utf-8")
    facts = tuple(replace(fact, lines=moved(fact, places[fact.file])) for fact in case.truth.facts)
    return replace(case.truth, facts=facts, rules={}, quiet=(), not_evaluable=(), whole=None)


def block_of(lines: list[str], no: int) -> int:
    """Return the number of the first line of the block of lines, ended by blank ones, that line `no` stands in."""
    while no > 1 and lines[no - 2].strip():
        no -= 1
    return no


def moved(fact: Fact, places: dict[int, int]) -> str:
    first, last = fact.range
    return f"{places[first]}-{places[last]}"
