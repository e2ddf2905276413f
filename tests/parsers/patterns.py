"""Find the patterns in the code of `parsers`: those of Python's `re`, which may backtrack, and those of Polars, which
cannot.

Compiled patterns are found in the attributes of modules, however deep; patterns given as text are found by walking the
calls in the source and evaluating the argument with the names of the module.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import parsers

RE_CALLS = {"compile", "match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
COLUMN_CALLS = {
    "contains", "extract", "extract_all", "extract_groups", "replace", "replace_all", "count_matches", "find",
}  # fmt: skip
"""Methods of Polars' `.str` whose first argument is a pattern."""


@dataclass(frozen=True)
class Found:
    """A pattern and where it stands."""

    where: str
    pattern: str
    flags: int


@dataclass(frozen=True)
class Unknown:
    """A call whose pattern is built at run time from local names."""

    where: str
    source: str


def modules() -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(parsers.__path__, "parsers."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def compiled() -> Iterator[Found]:
    """Return the compiled patterns in module attributes, also inside tuples, dicts and sets."""
    for module in modules():
        for name, value in vars(module).items():
            for pattern in _inside(value, 4):
                if isinstance(pattern.pattern, str):
                    yield Found(f"{module.__name__}.{name}", pattern.pattern, pattern.flags)


def _inside(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict):
        for inner in (*value, *value.values()):
            yield from _inside(inner, depth - 1)
    elif depth and isinstance(value, (tuple, list, set, frozenset)):
        for inner in value:
            yield from _inside(inner, depth - 1)
    elif depth and hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for field in value.__dataclass_fields__:
            yield from _inside(getattr(value, field), depth - 1)


@cache
def called() -> tuple[list[Found], list[Found], list[Unknown]]:
    """Return the patterns in calls of `re`, those in calls of `.str`, and the calls that cannot be evaluated."""
    python: list[Found] = []
    columns: list[Found] = []
    unknown: list[Unknown] = []
    for module in modules():
        for call in ast.walk(ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
                continue
            of_re = isinstance(call.func.value, ast.Name) and call.func.value.id == "re" and call.func.attr in RE_CALLS
            of_column = (
                isinstance(call.func.value, ast.Attribute)
                and call.func.value.attr == "str"
                and call.func.attr in COLUMN_CALLS
            )
            literal = any(k.arg == "literal" for k in call.keywords)
            if not (of_re or (of_column and not literal)):
                continue
            where = f"{module.__name__}:{call.lineno}"
            try:
                pattern = _value(call.args[0], module)
                flags = _flags(call, module) if of_re else 0
            except Exception:  # an expression with local names cannot be evaluated, whatever it raises
                unknown.append(Unknown(where, ast.unparse(call)))
                continue
            if isinstance(pattern, str):
                (python if of_re else columns).append(Found(where, pattern, flags))
    return python, columns, unknown


def _value(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), module.__name__, "eval"), vars(module))


def _flags(call: ast.Call, module: ModuleType) -> int:
    places = {
        "compile": 1,
        "match": 2,
        "search": 2,
        "fullmatch": 2,
        "findall": 2,
        "finditer": 2,
        "sub": 4,
        "subn": 4,
        "split": 3,
    }
    assert isinstance(call.func, ast.Attribute)
    place = places[call.func.attr]
    given = [k.value for k in call.keywords if k.arg == "flags"] or call.args[place : place + 1]
    return int(_value(given[0], module)) if given else 0
