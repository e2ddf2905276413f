"""Describe a rule in words for people: its condition, severity, weights and tests.

Plain text; nothing here runs a rule or loads Polars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parsers.reference.glossary import explain
from rules.writing.rule import Rule, RuleTest, When, weight

_OPERATORS = {
    "=": "is",
    "!=": "is not",
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
    "in": "is one of",
    "between": "lies between",
    "like": "is like",
}
_AGGREGATES = {
    "count": "the number of rows",
    "sum": "the sum of {}",
    "avg": "the mean of {}",
    "median": "the median of {}",
    "min": "the smallest {}",
    "max": "the largest {}",
    "share": "the share of rows in which {} holds",
}
_FIELD = re.compile(r"\{(\w+)[^{}]*\}")
_TABLES = re.compile(r"\b(?:from|join)\s+([a-z_]+)\b")
_VALUE = re.compile(r"\$([a-z_][a-z0-9_]*)")


def condition(rule: Rule) -> list[str]:
    """Return sentences on when a rule fires.

    A level-1 form is put into words; for SQL, the sentences name the tables that it reads and its headlines.
    """
    f = rule.file
    if f.when is not None:
        return list(_form(f.when))
    read = tables(rule)
    sentences = [f"It {'joins' if len(read) > 1 else 'reads'} {_and(read)}."] if read else []
    sentences += [f"Where its condition holds, it says: {template(headline)}." for headline in _headlines(rule)]
    return sentences


def tables(rule: Rule) -> list[str]:
    """Return the evidence and derived tables that a rule reads, each once, in the order of its SQL."""
    named = (name.removesuffix("_i") for name in dict.fromkeys(_TABLES.findall(rule.sql)))
    return [name for name in dict.fromkeys(named) if explain("table", name)]


def template(text: str) -> str:
    """Return a message template with its fields shown as names: `{n} drops` becomes `‹n› drops`."""
    return _FIELD.sub(r"‹\1›", text)


def _headlines(rule: Rule) -> list[str]:
    text = rule.file.messages.headline
    return [text] if isinstance(text, str) else list(dict.fromkeys(text.values()))


def _form(when: When) -> Iterator[str]:
    where = " and ".join(comparison(*test) for test in when.where)
    each = f", for each {_and(when.group_by)}" if when.group_by else ""
    yield f"It looks at the rows of {when.table}{f' where {where}' if where else ''}{each}."
    if when.having:
        yield f"It speaks when {' and '.join(_having(*test) for test in when.having)}."
    if when.min_rows > 1:
        yield f"There must be at least {when.min_rows} such rows."
    if when.corroborate:
        tests = " and ".join(comparison(*test) for test in when.corroborate.get("where", ()))
        yield f"It weighs more where {when.corroborate['table']} agrees{f': {tests}' if tests else ''}."


def comparison(column: str, operator: str, value: Any) -> str:
    """Describe one comparison in words.

    >>> comparison("r", ">=", "$least")
    'r is at least ‹least›'
    >>> comparison("name", "in", ["poll", "select"])
    'name is one of poll, select'
    """
    return f"{column} {_OPERATORS.get(operator, operator)} {_value(value)}"


def _having(aggregate: str, column: str, operator: str, value: Any) -> str:
    subject = _AGGREGATES.get(aggregate, f"{aggregate} of {{}}").format(column)
    return f"{subject} {_OPERATORS.get(operator, operator)} {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, str) and value.startswith("$"):
        return f"‹{value[1:]}›"
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    return "yes" if value is True else "no" if value is False else str(value)


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def severity(rule: Rule) -> str:
    """Return the value from which each severity is reached.

    The unit is that of the rule's `severity` key; without steps the severity is always info.
    """
    scale = rule.file.severity
    steps = [(word, getattr(scale, word)) for word in ("minor", "major", "critical")]
    sentences = [f"{word} from {least:g} {scale.unit}" for word, least in steps if least is not None]
    return f"{', '.join(sentences)}; below that info" if sentences else "always info"


def weights(rule: Rule) -> list[tuple[str, int, str]]:
    """Return tier, decibans and strength class (or the reason for an own number) of each tier."""
    return [
        (tier, weight(value), value if isinstance(value, str) else value.reason)
        for tier, value in rule.file.confidence.items()
    ]


def example(test: RuleTest) -> tuple[str, str]:
    """Return what an inline test expects, as one word and as a sentence."""
    rows = sum(len(some) for some in test.tables.values())
    rows_given = f"{rows} row{'' if rows == 1 else 's'} of {_and(list(test.tables))}" if test.tables else "no row"
    if test.params:
        rows_given += f" and {_and([f'{name} = {value}' for name, value in test.params.items()])}"
    if test.expect_not_evaluable is not None:
        return "cannot tell", f"Given {rows_given}, it cannot tell: it lacks {_and(list(test.expect_not_evaluable))}."
    if not test.expect:
        return "quiet", f"Given {rows_given}, it stays quiet."
    claims = "; ".join(_claim(row) for row in test.expect)
    return "fires", f"Given {rows_given}, it claims {claims}."


def _claim(row: Mapping[str, Any]) -> str:
    about = f"{row['subject']}" if "subject" in row else "something"
    more = [f"{name} {row[name]}" for name in ("tier", "severity", "magnitude") if row.get(name) is not None]
    if row.get("decibans") is not None:
        more.append(f"{row['decibans']:+d} dB")
    return f"{about} ({', '.join(more)})" if more else about


def filled_in(sql: str, values: Mapping[str, Any]) -> str:
    """Return SQL with its parameters replaced by values, for reading only; it is never run.

    >>> filled_in("select 1 where r >= $least and c = $word", {"least": 3, "word": "it's"})
    "select 1 where r >= 3 and c = 'it''s'"
    """

    def written(match: re.Match[str]) -> str:
        if match[1] not in values:
            return match[0]
        value = values[match[1]]
        return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value}"

    return _VALUE.sub(written, sql)
