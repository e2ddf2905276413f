"""The shipped rules, loaded once per process: loading them takes two seconds of processor time."""

from __future__ import annotations

from functools import cache

from rules.writing.loader import load_library
from rules.writing.packs import Library, open_library
from rules.writing.rule import Rule


@cache
def library() -> Library:
    """Return what `evaluate` judges by if no rules are named."""
    return open_library()


@cache
def shipped_rules() -> tuple[Rule, ...]:
    return load_library()
