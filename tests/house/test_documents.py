"""Documents name files, tests and each other: what they name must be there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEST = re.compile(r"(tests/[\w/]+\.py)(?:::([\w:]+))?")
RESULT = re.compile(r"benchmarks/[\w/.-]+")


def names_in(file: Path) -> set[str]:
    """Return the test functions and classes of a file, methods as Class::method."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return found


def broken(text: str) -> list[str]:
    """List the proofs that a text names and that do not exist."""
    missing = [path for path in RESULT.findall(text) if not (ROOT / path.rstrip(".")).exists()]
    for path, name in TEST.findall(text):
        file = ROOT / path
        if not file.exists():
            missing.append(path)
        elif name and name not in names_in(file):
            missing.append(f"{path}::{name}")
    return missing


def test_done_names_only_proofs_that_exist():
    text = (ROOT / "docs" / "done.md").read_text(encoding="utf-8")
    assert TEST.search(text)
    assert broken(text) == []


def test_every_demand_in_done_has_a_proof_or_a_reason():
    rows = [
        line for line in (ROOT / "docs" / "done.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
    demands = [row for row in rows if not re.match(r"^\| *(demand|-+)", row, flags=re.I)]
    assert len(demands) > 20
    assert [
        row for row in demands if not (TEST.search(row) or RESULT.search(row) or "left out, because" in row.lower())
    ] == []


def test_what_is_missing_is_seen():
    here = "tests/house/test_documents.py"
    assert broken(f"`{here}::test_what_is_missing_is_seen`, {here}") == []
    assert broken("tests/house/test_none.py and benchmarks/none.json") == [
        "benchmarks/none.json",
        "tests/house/test_none.py",
    ]
    assert broken(f"{here}::test_none") == [f"{here}::test_none"]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/operations.md"])
def test_links_lead_somewhere(name):
    file = ROOT / name
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", file.read_text()) if "://" not in target]
    assert [target for target in targets if not (file.parent / target).exists()] == []


def test_readme_stays_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_license_is_whole():
    text = (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert "limitations under the License." in text
