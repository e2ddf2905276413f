"""What can go wrong when rules judge a case. A missing artifact is no error: it is the outcome *not evaluable*."""

from __future__ import annotations


class RuleError(Exception):
    """Base of all. Each keeps what it was made of under the names of its arguments, so that it can cross to another process."""

    def __reduce__(self) -> tuple[type[RuleError], tuple[object, ...]]:
        return type(self), tuple(vars(self).values())


class RuleInvalid(RuleError):
    """A rule file does not keep to the language. `file` and `key` say where, the key dotted (`params.min_s.unit`)."""

    def __init__(self, file: str, key: str, why: str) -> None:
        super().__init__(f"{file}: {key}: {why}" if key else f"{file}: {why}")
        self.file = file
        self.key = key
        self.why = why


class CaseInvalid(RuleError):
    """A case (JSON or case.yaml) is not what it must be. `where` is a dotted path, with the line in front where known."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}" if where else why)
        self.where = where
        self.why = why


class RuleFailed(RuleError):
    """A rule broke at run time or broke the result contract; the others are not concerned."""

    def __init__(self, rule: str, cause: str) -> None:
        super().__init__(f"{rule}: {cause}")
        self.rule = rule
        self.cause = cause


class RuleTooSlow(RuleFailed):
    """The time limit ended the query."""


class RuleTooLarge(RuleFailed):
    """The memory limit ended the query, or it returned more than it may."""
