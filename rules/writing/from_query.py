"""Make a rule file from a query that somebody asked, with tests made from the rows they chose.

The query is kept unchanged inside a WITH part; around it stands what a rule must return for each row: subject,
magnitude, cited lines. So it needs the columns `artifact_id` and `line_no` (and `line_end` for ranges). The result was
run: a file that does not pass its own tests is not returned, and `CannotBeRule` says what to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rules.engine.run import CONTRACT
from rules.engine.sandbox import Fence, Sandbox
from rules.errors import RuleError
from rules.model import Layer
from rules.writing.inline_tests import run_tests
from rules.writing.loader import MANAGER_MAX, NAME, load

Rows = list[dict[str, Any]]
PLACE = ("artifact_id", "line_no", "line_end", "host", "part", "phase", "clock", "t", "t_err", "t_local")
MOST_ROWS = 50
LONGEST_TITLE = 100
SEVERAL_S = 8.0
NEEDS_LINES = (
    "A finding cites lines, and this query does not select them. Add the columns artifact_id and line_no (for a range also "
    "line_end) to the SELECT; where rows are grouped, any_value(artifact_id) as artifact_id, min(line_no) as line_no and "
    "max(line_end) as line_end with artifact_id in the GROUP BY."
)
NO_ROW = "Choose at least one row of the answer: the tests of the rule are made of it."


class CannotBeRule(ValueError):
    """Raised when a query cannot be a rule yet; the message tells its author why."""


@dataclass(frozen=True)
class Span:
    """Lines of one artifact that a chosen row represents."""

    artifact: int
    line_from: int
    line_to: int


@dataclass(frozen=True)
class Wish:
    """What only a person can state about the rule. Without `subject` or `magnitude` a column is chosen."""

    team: str
    number: int
    title: str
    layer: Layer = "measurement"
    subject: str = ""
    magnitude: str = ""
    author: str = ""

    @property
    def id(self) -> str:
        return f"TEAM-{self.team}-{self.number:03d}"

    @property
    def slug(self) -> str:
        """Return the file's name, made from the title.

        >>> Wish("dba", 1, "Slow reads: 10 ms and more").slug
        'slow-reads-10-ms-and-more'
        """
        return "-".join(re.findall(r"[a-z0-9]+", self.title.lower())).lstrip("0123456789-") or "asked"


class Fenced(Sandbox):
    """A sandbox for SQL that people wrote: where a rule's views would be opened, it loads rows into memory and locks
    itself.
    """

    def open(self, views: Mapping[str, str], spill: Path | None = None) -> None:
        self.draft(views, dict.fromkeys(views))


FENCE = Fence(memory_mb=256, address_mb=1200, cpu_s=30, limit_s=SEVERAL_S, max_rows=MOST_ROWS * 4)


@dataclass(frozen=True)
class Query:
    """A query that ran: its text, the tables and columns it names (None: a star), and the columns of its answer with
    their types.
    """

    sql: str
    tables: Sequence[str]
    used: Sequence[str] | None
    columns: Sequence[str]
    types: Sequence[str]


def parts_of(query: Query, wish: Wish) -> str:
    """Return the SQL of the rule; CannotBeRule if the columns do not allow one."""
    if not query.tables:
        raise CannotBeRule("The query names no table of evidence, so it would say the same of every incident.")
    if not {"artifact_id", "line_no"} <= set(query.columns):
        raise CannotBeRule(NEEDS_LINES)
    for name in query.columns:
        if not NAME.fullmatch(name):
            raise CannotBeRule(f"The column “{name}” needs a plain name: write AS and small letters, digits and _.")
        if query.columns.count(name) > 1:
            raise CannotBeRule(f"Two columns are called {name}: give one of them another name with AS.")
    facts = [c for c in query.columns if c not in PLACE]
    for name in (wish.subject, wish.magnitude):
        if name and name not in query.columns:
            raise CannotBeRule(f"The query has no column {name} any more.")
    kinds = dict(zip(query.columns, query.types, strict=True))
    subject = wish.subject or next((c for c in facts if kinds[c] == "VARCHAR"), "") or next(iter(facts), "")
    magnitude = wish.magnitude or next((c for c in facts if is_number(kinds[c]) and c != subject), "")
    if magnitude and not is_number(kinds[magnitude]):
        raise CannotBeRule(f"The size of a finding must be a number; {magnitude} is {kinds[magnitude]}.")
    name = next(
        n for n in ("asked", *(f"asked_{i}" for i in range(2, 100))) if re.search(rf"\b{n}\b", query.sql) is None
    )
    last = "coalesce(line_end, line_no)" if "line_end" in query.columns else "line_no"
    subject_sql = _text(wish.title) if not subject else _subject(subject, kinds[subject])
    listed = [
        f"{subject_sql} as subject",
        f'"{magnitude}"::double as magnitude' if magnitude else "1.0::double as magnitude",
        *(["host"] if "host" in query.columns else []),
        f"[ev(artifact_id, line_no, {last}, 'row')] as evidence",
        *(f'"{c}" as {c}_seen' if c in CONTRACT else f'"{c}"' for c in facts),
    ]
    where = "artifact_id is not null and line_no is not null" + (f' and "{magnitude}" is not null' if magnitude else "")
    inner = query.sql.rstrip().rstrip(";").rstrip()
    return (
        f"with {name} as (\n{inner}\n)\nselect "
        + ",\n       ".join(listed)
        + f"\nfrom {name}\nwhere {where}\norder by artifact_id, line_no, subject"
    )


def is_number(kind: str) -> bool:
    """Return whether a type of the engine is a number.

    >>> [is_number(k) for k in ("BIGINT", "DOUBLE", "DECIMAL(18,3)", "VARCHAR", "BIGINT[]")]
    [True, True, True, False, False]
    """
    return re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL(\(.*\))?", kind) is not None


def write(
    query: Query,
    wish: Wish,
    spans: Sequence[Span],
    rows_of: Callable[[Sequence[str], Sequence[Span]], Mapping[str, Rows]],
    ask: Callable[[str, Mapping[str, Rows]], Rows],
) -> str:
    """Return the text of the rule file.

    `rows_of` returns rows of tables on these lines; `ask` returns the result of a statement over such rows alone.
    """
    if not spans:
        raise CannotBeRule(NO_ROW)
    sql = parts_of(query, wish)
    rows = {name: _needed_columns(found, query) for name, found in rows_of(query.tables, spans).items()}
    found = ask(sql, rows)
    if not found:
        raise CannotBeRule(
            "Over the chosen rows alone the query finds nothing: it counts or compares with rows that were not chosen. "
            "Choose more rows, or give each row its whole range of lines (line_no, line_end)."
        )
    if len(found) > MOST_ROWS:
        raise CannotBeRule(
            f"Over the chosen lines the query finds {len(found)} rows; a test holds {MOST_ROWS}. Choose fewer."
        )
    text = _yaml(query, wish, sql, rows, found)
    _tried(text, wish)
    return text


def _tried(text: str, wish: Wish) -> None:
    try:
        rule = load(text, f"{wish.slug}.yaml")
        with Fenced(FENCE) as sandbox:
            wrong = [(r.test, problem) for r in run_tests([rule], sandbox) for problem in r.problems]
    except RuleError as error:
        raise CannotBeRule(f"The rule file would not be valid: {error}") from None
    for test, problem in wrong:
        if test == QUIET and problem.startswith("expected 0"):
            raise CannotBeRule(
                "It speaks of every row, even of one that says nothing: add a condition (WHERE or HAVING)."
            )
        if "failed" in problem:
            raise CannotBeRule("Over the chosen rows the rule could not be run. Look at the types of the columns.")
        raise CannotBeRule(f"Its test “{test}” does not pass: {problem}.")


FIRES, QUIET, LACKS = "the chosen rows", "a row that says nothing", "no evidence of this kind"


def _yaml(query: Query, wish: Wish, sql: str, rows: Mapping[str, Rows], found: Rows) -> str:
    hosts = {row.get("host") for one in rows.values() for row in one}
    host = next(iter(sorted(h for h in hosts if h)), None) if "host" in query.columns else None
    blank = {"artifact_id": 1, "line_no": 1, **({"host": host} if host else {})}
    expected = [
        {
            "subject": row["subject"],
            "magnitude": row["magnitude"],
            "tier": "base",
            "severity": "info",
            "evidence_lines": [f"{e['artifact_id']}:{e['line_from']}-{e['line_to']}" for e in row["evidence"]],
        }
        for row in found
    ]
    title = re.sub(r"[{}|]", " ", wish.title).strip()[:LONGEST_TITLE]
    whole = {
        "schema": 1,
        "id": wish.id,
        "slug": wish.slug,
        "title": title,
        "version": "0.1.0",
        "status": "experimental",
        "authors": [wish.author] if wish.author else [],
        "layer": wish.layer,
        "requires": {"all": list(query.tables)},
        "evidence_group": wish.slug,
        "query": sql + "\n",
        "severity": {"from": "magnitude", "unit": ""},
        "confidence": {"base": "counter"},
        "messages": {
            "headline": f"{title}: {{subject}}",
            "expert": f"{title}: {{subject}}, {{magnitude:.6f}}.",
            "manager": f"{title}."[:MANAGER_MAX],
        },
        "remedy": [],
        "false_positives": [],
        "contraindications": [],
        "verify": {"metric": "magnitude", "statistic": "median", "expect": "decrease"},
        "tests": [
            {"name": FIRES, "tables": dict(rows), "expect": expected},
            {"name": QUIET, "tables": {name: [_fitting(blank, name)] for name in query.tables}, "expect": []},
            {"name": LACKS, "tables": {}, "expect_not_evaluable": [query.tables[0]]},
        ],
    }
    head = (
        "# Made from a query of the Ask page. Before you trust it: steps of severity, a fitting class in `confidence`, texts,\n"
        "# `false_positives` and `remedy`; constants of the query as `params` (docs/add-a-rule.md).\n"
    )
    return head + yaml.dump(whole, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _fitting(row: Mapping[str, Any], table: str) -> dict[str, Any]:
    from rules.case.case import columns_of

    known = columns_of(table)
    return {name: value for name, value in row.items() if name in known}


def _needed_columns(rows: Rows, query: Query) -> Rows:
    """Return the rows without columns that the query does not read, and without unknown values."""
    always = {"artifact_id", "line_no", "line_end"} | ({"host"} if "host" in query.columns else set())
    wanted = None if query.used is None else {*query.used, *always}
    without = (
        set() if "host" in query.columns else {"host"}
    )  # without a host in the answer the engine takes that of the lines
    return [
        {k: v for k, v in row.items() if v is not None and k not in without and (wanted is None or k in wanted)}
        for row in rows
    ]


def _subject(column: str, kind: str) -> str:
    if kind == "VARCHAR":
        return f"coalesce(nullif(\"{column}\", ''), 'unknown')"
    return f"'{column} ' || coalesce(\"{column}\"::varchar, 'unknown')"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


class _Dumper(yaml.SafeDumper):
    """Writes multi-line texts as blocks, and never an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _block)
