"""The bill of materials: complete, at the pinned versions, and the same for the same commit."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def sbom() -> dict[str, Any]:
    """The names of the script."""
    return runpy.run_path(str(ROOT / "scripts" / "sbom"))


@pytest.fixture(scope="module")
def bill(sbom: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = sbom["bill"]()
    return made


def wanted(file: str) -> dict[str, Requirement]:
    """The lines of a list of packages that hold here, read anew."""
    lines = [line.split("#")[0].strip() for line in (ROOT / file).read_text().splitlines()]
    read = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return {canonicalize_name(one.name): one for one in read if one.marker is None or one.marker.evaluate()}


def names(bill: dict[str, Any]) -> dict[str, str]:
    pypi = [one for one in bill["components"] if one["purl"].startswith("pkg:pypi/")]
    return {canonicalize_name(one["name"]): one["version"] for one in pypi}


def test_every_package_that_exhibit_needs_is_there_at_its_pin(bill: dict[str, Any]) -> None:
    found, pins = names(bill), wanted("constraints.txt")
    assert set(wanted("requirements.txt")) <= set(found)
    assert {"asgiref", "sqlparse", "kombu", "qrcode"} <= set(found), "what they need themselves, extras included"
    assert {name: f"=={version}" for name, version in found.items()} == {
        name: str(pins[name].specifier) for name in found
    }


def test_what_only_developers_need_is_left_out(bill: dict[str, Any]) -> None:
    assert set(names(bill)) & {"pytest", "ruff", "mypy", "playwright", "promql-parser"} == set()


def test_scripts_of_others_are_there_with_their_hash(bill: dict[str, Any]) -> None:
    ours = {one["name"]: one for one in bill["components"] if one["purl"].startswith("pkg:npm/")}
    assert set(ours) == {"htmx.org", "driver.js", "plotly.js-cartesian-dist-min"}
    for folder, name in {"htmx": "htmx.org", "driver": "driver.js"}.items():
        told = (ROOT / "static" / "vendor" / folder / "VERSION").read_text()
        assert f"sha256: {ours[name]['hashes'][0]['content']}" in told


def test_it_has_the_form_of_cyclonedx(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])
    refs = [one["bom-ref"] for one in bill["components"]]
    assert len(refs) == len(set(refs))
    graph = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert set(graph) == {*refs, "exhibit"}
    assert all(set(below) <= set(refs) for below in graph.values())
    reached, waiting = set(), ["exhibit"]
    while waiting:
        reached.add(one := waiting.pop())
        waiting += [below for below in graph[one] if below not in reached]
    assert reached == set(graph), "everything is there for a reason"
    for one in bill["components"]:
        (told,) = one["licenses"]
        assert (told.get("expression") or told["license"]["name"]) not in {"", "not told"}, one["name"]


@pytest.mark.parametrize(
    ("text", "known"),
    [("MIT", True), ("Apache-2.0 OR BSD-3-Clause", True), ("BSD License", False), ("MIT, ISC", False)],
)
def test_a_licence_is_an_expression_only_if_it_is_one(sbom: dict[str, Any], text: str, known: bool) -> None:
    assert sbom["as_licence"](text) == [{"expression": text} if known else {"license": {"name": text}}]


def test_what_is_not_as_pinned_is_told(sbom: dict[str, Any]) -> None:
    found = sbom["needed"]()["django"][0]
    with pytest.raises(sbom["Mismatch"], match=r"django is installed as .*, and pinned as 1\.0"):
        sbom["package"]("django", found, {"django": "1.0"}, {"django": ["ab"]})
    with pytest.raises(sbom["Mismatch"], match=r"django has no hash"):
        sbom["package"]("django", found, {"django": found.version}, {})


def test_every_package_has_the_hashes_of_its_wheels(bill: dict[str, Any]) -> None:
    for one in bill["components"]:
        assert one["hashes"], one["name"]
        assert all(re.fullmatch("[0-9a-f]{64}", hash["content"]) for hash in one["hashes"]), one["name"]


def test_the_script_writes_the_same_again(tmp_path: Path) -> None:
    made = []
    for name in ("a.json", "b.json"):
        done = subprocess.run(
            [sys.executable, "scripts/sbom", str(tmp_path / name)], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]
    assert json.loads(made[0])["bomFormat"] == "CycloneDX"
    told = subprocess.run([sys.executable, "scripts/sbom", "--licences"], cwd=ROOT, capture_output=True, text=True)
    assert re.search(r"^Django\t[\d.]+\tBSD-3-Clause$", told.stdout, flags=re.M)
