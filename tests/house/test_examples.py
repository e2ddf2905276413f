"""The examples in docstrings say what the code does."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest

PACKAGES = ("config", "incidents", "parsers", "rules")
LEFT_OUT = ("__main__", ".migrations")


def modules(package: str) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not any(part in found.name for part in LEFT_OUT):
            yield importlib.import_module(found.name)


@pytest.mark.parametrize("package", PACKAGES)
def test_examples_of_docstrings_hold(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    results = [doctest.testmod(module) for module in modules(package)]
    assert sum(result.failed for result in results) == 0, capsys.readouterr().out
    assert package == "config" or sum(result.attempted for result in results) > 5
