"""In what order several processes take the tests, and what a run tells of its time."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import BROWSER, HERE, group_of, is_tried_twice, seconds_of_parts, turn_of


@pytest.mark.parametrize(
    ("nodeid", "group", "turn"),
    [
        ("tests/browser/test_story.py::test_one", BROWSER, 0),
        ("tests/browser/test_notes.py::test_one[dark]", BROWSER, 0),
        ("tests/config/test_up.py::test_one", "tests/config/test_up.py", 1),
        ("tests/parsers/formats/test_corpus.py::test_one[truss/plain]", "kind truss", 2),
    ],
)
def test_the_browser_s_tests_are_one_group_that_begins_first(nodeid, group, turn):
    assert group_of(nodeid) == group
    assert turn_of(group) == turn


@pytest.mark.parametrize(
    ("ci", "name", "twice"),
    [
        ("true", "browser/test_story.py", True),
        ("true", "rules/judging/test_scoring.py", False),
        ("", "browser/test_story.py", False),
    ],
)
def test_only_a_browser_s_test_on_the_build_machine_is_tried_twice(monkeypatch, ci, name, twice):
    monkeypatch.setenv("CI", ci)
    assert is_tried_twice(HERE / name) is twice


def report(nodeid: str, seconds: float) -> pytest.TestReport:
    return pytest.TestReport(nodeid, (nodeid, 0, ""), {}, "passed", None, "call", duration=seconds)


def test_seconds_are_summed_by_folder():
    reports = [
        report("tests/rules/test_a.py::x", 1.5),
        report("tests/rules/b/test_b.py::y", 2),
        report("tests/lab/test_c.py::z", 3),
    ]
    assert seconds_of_parts([*reports, "no report"]) == {"rules": 3.5, "lab": 3}


def test_processes_share_no_module():
    """Run two modules on two processes and look which process had which test."""
    modules = ["tests/house/test_order.py", "tests/parsers/columns/test_grid.py"]
    call = [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"]
    call += ["--deselect", f"{modules[0]}::test_processes_share_no_module", *modules]
    told = subprocess.run(call, cwd=HERE.parent, capture_output=True, text=True, check=True).stdout
    processes = {module: set(re.findall(rf"\[(gw\d)\].* PASSED {re.escape(module)}::", told)) for module in modules}
    assert [len(found) for found in processes.values()] == [1, 1], told
