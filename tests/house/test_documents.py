"""Documents name files, tests and each other: what they name must be there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from rules.writing.inline_tests import run_tests
from rules.writing.loader import load

ROOT = Path(__file__).resolve().parents[2]
TEST = re.compile(r"(tests/[\w/]+\.py)(?:::([\w:]+))?")
RESULT = re.compile(r"benchmarks/[\w/.-]+")
# A path that stands alone between backquotes: no placeholder such as <kind>, no pattern such as *.
# After a colon stands a function, class or constant of that module.
PLACE = re.compile(r"`((?:config|incidents|rules|parsers|lab|scripts|templates|static)/[\w/.-]+)(?:: ?(\w+)[^`]*)?`")
# Decisions are records: they name the tree as it was then.
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def names_in(file: Path) -> set[str]:
    """Return the functions, classes and constants of a file, methods as Class::method."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
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


def test_documents_name_only_tests_and_results_that_exist():
    named = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in DOCUMENTS}
    assert any(TEST.search(text) for text in named.values())
    assert any(RESULT.search(text) for text in named.values())
    assert {name: missing for name, text in named.items() if (missing := broken(text))} == {}


def absent(text: str) -> list[str]:
    """List the modules, folders and names in modules that a text names and that do not exist."""
    missing = []
    for path, name in PLACE.findall(text):
        if not (ROOT / path).exists():
            missing.append(path)
        elif name and path.endswith(".py") and name not in names_in(ROOT / path):
            missing.append(f"{path}: {name}")
    return missing


def test_documents_name_only_modules_and_names_that_exist():
    named = {str(file.relative_to(ROOT)): absent(file.read_text(encoding="utf-8")) for file in DOCUMENTS}
    assert {name: missing for name, missing in named.items() if missing} == {}


def test_what_is_missing_is_seen():
    here = "tests/house/test_documents.py"
    assert broken(f"`{here}::test_what_is_missing_is_seen`, {here}") == []
    assert broken("tests/house/test_none.py and benchmarks/none.json") == [
        "benchmarks/none.json",
        "tests/house/test_none.py",
    ]
    assert broken(f"{here}::test_none") == [f"{here}::test_none"]
    assert absent("`rules/registry.py: derived()`, `rules/none.py`, `rules/registry.py: none`, `parsers/<a>.py`") == [
        "rules/none.py",
        "rules/registry.py: none",
    ]


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_links_lead_somewhere(file):
    prose = re.sub(r"`[^`\n]*`", "", file.read_text())  # a pattern in code may look like a link
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", prose) if "://" not in target]
    assert [target for target in targets if not (file.parent / target).exists()] == []


def test_the_folders_that_the_readme_judges_exist():
    judged = re.findall(r"python -m rules ([a-z]\S+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert judged
    assert [path for path in judged if not (ROOT / path / "case.yaml").exists()] == []


def test_readme_stays_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_license_is_whole():
    text = (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert "limitations under the License." in text


def test_the_rule_of_the_recipe_passes_its_own_tests():
    text = (ROOT / "docs" / "add-a-rule.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, flags=re.M | re.S)
    assert len(blocks) == 1
    rule = load(blocks[0])
    assert [(result.test, result.problems) for result in run_tests([rule]) if not result.passed] == []
