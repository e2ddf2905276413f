"""Exceptions raised while rules judge a case.

A missing artifact is not an error: it gives the outcome *not evaluable*.
"""

from __future__ import annotations


class RuleError(Exception):
    """Base class. Each subclass stores its constructor arguments as attributes of the same names, so that it can be
    pickled.
    """

    def __reduce__(self) -> tuple[type[RuleError], tuple[object, ...]]:
        return type(self), tuple(vars(self).values())


class RuleInvalid(RuleError):
    """A rule file breaks the rule language. `file` and `key` say where; the key is dotted (`params.min_s.unit`)."""

    def __init__(self, file: str, key: str, why: str) -> None:
        super().__init__(f"{file}: {key}: {why}" if key else f"{file}: {why}")
        self.file = file
        self.key = key
        self.why = why


class CaseInvalid(RuleError):
    """A case (JSON or case.yaml) is invalid. `where` is a dotted path, preceded by the line if it is known."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}" if where else why)
        self.where = where
        self.why = why


class RuleFailed(RuleError):
    """A rule failed at run time or broke the result contract; other rules are not affected."""

    def __init__(self, rule: str, cause: str) -> None:
        super().__init__(f"{rule}: {cause}")
        self.rule = rule
        self.cause = cause


class RuleTooSlow(RuleFailed):
    """The time limit ended the rule's query."""


def stopped_after(limit_s: float) -> str:
    """Return the cause of a query that took too long, whether it stopped by itself or its process had to be killed."""
    return f"stopped after {limit_s:g} s, the most that one query may take"


class RuleTooLarge(RuleFailed):
    """The memory limit ended the rule's query, or the query returned more than it may."""


class TablesTooLarge(RuleError):
    """A page's own query needs more memory than it may have."""


class TablesBusy(RuleError):
    """All turns of this process to query evidence tables were taken for too long."""
