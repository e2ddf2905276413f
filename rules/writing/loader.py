"""Load a rule from YAML text: check types, keys, templates, weights, requirements; compile the level-1 form.

Everything that can be checked without running the query is checked here and reported with file and key.
`rules.engine.check` decides whether SQL is allowed at all, because that needs DuckDB's parser.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from rules import registry
from rules.errors import RuleInvalid
from rules.model import CLASSES
from rules.writing.decoding import decode
from rules.writing.messages import BadTemplate, fields
from rules.writing.rule import Need, Requires, Rule, RuleFile, weight
from rules.writing.yaml_text import load_yaml

MAX_BYTES = 128 * 1024
ID = re.compile(r"[A-Z]{2,4}-[0-9]{3}|TEAM-[a-z0-9]+-[0-9]{3}")
SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
SEMVER = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
NAME = re.compile(r"[a-z_][a-z0-9_]*")
BOUND = re.compile(r"\$([a-z_][a-z0-9_]*)")
HYPOTHESIS = re.compile(r"H-[A-Z]+(-[A-Z]+)*|tested")
TIERS = ("base", "corroborated", "contradicted", "clear")
"""Keys of weights and texts: the tiers, and `clear` for the clearing rows of a rule that also fires."""
OPERATORS = {
    "=": "=",
    "!=": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "in": "in",
    "between": "between",
    "like": "like",
}
AGGREGATES = {"count": "count", "sum": "sum", "avg": "avg", "median": "median", "min": "min", "max": "max"}
MANAGER_MAX = 160
FINDINGS = "findings"
"""The table that only stage 2 may read; `rules.judging.findings_table` has its columns."""


@functools.cache
def _columns(table: str) -> frozenset[str]:
    """Return the columns of a table or of its view without since-boot rows; the caller turns KeyError into RuleInvalid."""
    from rules.case.case import columns_of

    return frozenset(
        columns_of(table.removesuffix("_i") if table in ("vmstat_i", "mpstat_i", "iostat_i", "counters_i") else table)
    )


def load(text: str, path: str = "rule") -> Rule:
    """Return the rule of a file's text; RuleInvalid(file, key) for the first fault."""

    def fail(where: str, why: str) -> RuleInvalid:
        return RuleInvalid(path, where, why)

    raw = load_yaml(text, fail, limit=MAX_BYTES)
    file = decode(RuleFile, raw, fail)
    patterns = (("id", ID, file.id), ("slug", SLUG, file.slug), ("version", SEMVER, file.version))
    for key, pattern, value in patterns:
        if not pattern.fullmatch(value):
            raise fail(key, f"{value!r} does not match {pattern.pattern}")
    if (file.query is None) == (file.when is None):
        raise fail("query", "a rule has either query or when")
    _check_params(file, fail)
    _check_weights(file, fail)
    _check_messages(file, fail)
    requires = _requires(file.requires, fail)
    for key in ("all", "any", "confirms"):
        for n, need in enumerate(getattr(requires, key)):
            if file.stage == 1 and need.table == FINDINGS:
                raise fail(f"requires.{key}[{n}]", f"only a rule of stage 2 may read {FINDINGS}")
    sql = file.query or compile_when(file, fail)
    if file.stage == 1 and _reads(sql, FINDINGS):
        raise fail("stage", f"only a rule of stage 2 may read {FINDINGS}")
    _check_parts(file, sql, fail)
    used = {name for text_ in (sql, *file.parts.values()) for name in BOUND.findall(text_)}
    for name in sorted(used ^ set(file.params)):
        raise fail(
            f"params.{name}",
            "is not used by the query" if name in file.params else "is used by the query but not declared",
        )
    for n, cleared in enumerate(file.exonerates):
        for column in (cleared.seconds, "clear_n", "clear_scope"):
            if re.search(rf"\b{column}\b", sql) is None:
                raise fail(
                    f"exonerates[{n}]",
                    f"clears only with the columns {cleared.seconds}, clear_n and clear_scope; {column} is not in the query",
                )
    if len(file.tests) < 3:
        raise fail("tests", "at least three: one positive, one negative, one without the confirming artifact")
    if not any(t.expect for t in file.tests) or not any(t.expect == () for t in file.tests):
        raise fail("tests", "need one that fires and one that stays quiet (expect: [])")
    names = [t.name for t in file.tests]
    if len(set(names)) < len(names):
        raise fail("tests", "two tests have the same name")
    for n, test in enumerate(file.tests):
        if (test.expect is None) == (test.expect_not_evaluable is None):
            raise fail(f"tests[{n}]", "has either expect or expect_not_evaluable")
        for name in test.params:
            if name not in file.params:
                raise fail(f"tests[{n}].params.{name}", "is no parameter of this rule")
    if file.max_rows < 1:
        raise fail("max_rows", "must be at least 1")
    whole = "\0".join([sql, *(f"{name}={part}" for name, part in sorted(file.parts.items()))])
    return Rule(file, requires, sql, hashlib.sha256(whole.encode()).hexdigest()[:16], path)


def _check_parts(file: RuleFile, sql: str, fail: Any) -> None:
    if file.scope == "artifact":
        if file.stage == 2 or file.parts:
            raise fail("scope", "artifact: such a rule is of stage 1 and has no parts")
        _check_separable(sql, "query", fail)
    begins = f"{file.slug.replace('-', '_')}_"
    for name, part in file.parts.items():
        where = f"parts.{name}"
        if not NAME.fullmatch(name) or not name.startswith(begins):
            raise fail(where, f"must be a lower-case name that begins with {begins}")
        _check_separable(part, where, fail)
        if not re.search(r"\bartifact_id\b", part):
            raise fail(where, "must give artifact_id")
        if file.query is None or not _reads(file.query, name):
            raise fail(where, "is not read by the query")


def _check_separable(sql: str, where: str, fail: Any) -> None:
    """Refuse SQL run per artifact that reads anything which another artifact, a person or the common axis could change."""
    from parsers.tables import schema
    from rules.case.case import separable

    for table in sorted({*schema.TABLES, *registry.derived(), FINDINGS}):
        if _reads(sql, table) and not separable(table):
            raise fail(where, f"may not read {table}, which is of the whole room")
    alias = re.sub(r"(\b(?:from|join)\s+\w+|,\s*\w+)\s+(?:as\s+)?t\b(?!\s*\.)|\bt\.(?=[\w*])", r"\1.", sql)
    if re.search(r"\b(?:t|t_err)\b", alias):
        raise fail(where, "may not read t or t_err: clocks are aligned only in the room; use t_local and clock")


def _reads(sql: str, table: str) -> bool:
    """Return whether a statement names a table outside texts and comments; may be true too often, never too rarely."""
    bare = re.sub(r"'(?:[^']|'')*'|--[^\n]*", " ", sql)
    return re.search(rf"\b(?:from|join|,)\s*\(*\s*\"?{table}\b", bare, re.I) is not None


def _check_params(file: RuleFile, fail: Any) -> None:
    for name, param in file.params.items():
        if not NAME.fullmatch(name):
            raise fail(f"params.{name}", "must be a lower-case name")
        if param.type in ("number", "int") and (param.min is None or param.max is None):
            raise fail(f"params.{name}", "a number needs min and max")
        if param.type == "enum" and not param.values:
            raise fail(f"params.{name}.values", "an enum needs values")
        why = param.refuse(param.default)
        if why:
            raise fail(f"params.{name}.default", why)


def _strength(value: object, where: str, fail: Any) -> None:
    if not isinstance(value, str) or value.removeprefix("-") not in CLASSES:
        raise fail(where, f"must be one of {', '.join(CLASSES)} (with - before it when against), not {value!r}")


def _check_weights(file: RuleFile, fail: Any) -> None:
    if "base" not in file.confidence:
        raise fail("confidence.base", "is required")
    for tier, value in file.confidence.items():
        if tier not in TIERS:
            raise fail(f"confidence.{tier}", f"must be one of {', '.join(TIERS)}")
        if isinstance(value, str):
            _strength(value, f"confidence.{tier}", fail)
        if abs(weight(value)) > 20:
            raise fail(f"confidence.{tier}.dB", "must be -20 to 20")
    steps = [s for s in (file.severity.minor, file.severity.major, file.severity.critical) if s is not None]
    if steps != sorted(steps):
        raise fail("severity", "minor, major and critical must ascend")
    for code, cell in file.hypotheses.items():
        if not HYPOTHESIS.fullmatch(code):
            raise fail(f"hypotheses.{code}", "is no hypothesis code")
        if cell == "tier":
            continue
        if isinstance(cell, Mapping):
            for tier, value in cell.items():
                if tier == "only":
                    if not isinstance(value, str) or not NAME.fullmatch(value):
                        raise fail(f"hypotheses.{code}.only", "must name a column")
                elif tier in file.confidence:
                    if value != "tier":
                        _strength(value, f"hypotheses.{code}.{tier}", fail)
                else:
                    raise fail(f"hypotheses.{code}.{tier}", "is no tier of this rule")
        else:
            _strength(cell, f"hypotheses.{code}", fail)


def _check_messages(file: RuleFile, fail: Any) -> None:
    for which in ("headline", "expert", "manager"):
        text: str | Mapping[str, str] = getattr(file.messages, which)
        if isinstance(text, Mapping):
            for tier in file.confidence:
                if tier not in text:
                    raise fail(f"messages.{which}.{tier}", "is missing: one text per tier")
            for tier in text:
                if tier not in file.confidence:
                    raise fail(f"messages.{which}.{tier}", "is no tier of this rule")
        for tier in file.confidence:
            try:
                fields(file.messages.template(cast(Any, which), tier))
            except BadTemplate as error:
                raise fail(f"messages.{which}", str(error)) from None


# --- requirements and the level-1 form --------------------------------------------------------------------------------


def _requires(raw: object, fail: Any) -> Requires:
    if not isinstance(raw, Mapping):
        raise fail("requires", "must be {all, any, confirms}")
    unknown = set(raw) - {"all", "any", "confirms"}
    if unknown:
        raise fail(f"requires.{min(unknown)}", "unknown key; known are all, any, confirms")
    found = {
        key: tuple(_need(entry, f"requires.{key}[{n}]", fail) for n, entry in enumerate(raw.get(key) or []))
        for key in ("all", "any", "confirms")
    }
    return Requires(found["all"], found["any"], found["confirms"])


def _need(entry: object, where: str, fail: Any) -> Need:
    if isinstance(entry, str):
        if entry.startswith("statement:"):
            return Need(entry, "statements", statement=entry.removeprefix("statement:"))
        table, _, column = entry.partition(".")
        _known(table, [column] if column else [], where, fail)
        return Need(entry, table, column or None)
    if not isinstance(entry, Mapping) or not isinstance(entry.get("table"), str):
        raise fail(where, "must be table, table.column, statement:name or {table, where, min_rows}")
    unknown = set(entry) - {"table", "where", "min_rows"}
    if unknown:
        raise fail(f"{where}.{min(unknown)}", "unknown key; known are table, where, min_rows")
    conditions = _conditions(entry.get("where") or [], f"{where}.where", fail)
    _known(entry["table"], [c for c, _, _ in conditions], where, fail)
    min_rows = entry.get("min_rows", 1)
    if isinstance(min_rows, bool) or not isinstance(min_rows, int) or min_rows < 1:
        raise fail(f"{where}.min_rows", "must be a whole number from 1")
    shown = ", ".join(f"{column} {op} {value}" for column, op, value in conditions)
    return Need(
        entry["table"] + (f"[{shown}]" if shown else "") + (f" x {min_rows}" if min_rows > 1 else ""),
        entry["table"],
        None,
        None,
        conditions,
        min_rows,
    )


def _known(table: str, columns: Iterable[str], where: str, fail: Any) -> None:
    try:
        known = _columns(table)
    except KeyError:
        raise fail(where, f"there is no table {table!r}{_near(table, _tables())}") from None
    for column in columns:
        if column not in known:
            raise fail(where, f"{table} has no column {column!r}{_near(column, known)}")


@functools.cache
def _tables() -> frozenset[str]:
    from parsers.tables import schema

    return frozenset(schema.TABLES) | frozenset(registry.derived())


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), 1)
    return f" (did you mean {near[0]}?)" if near else ""


def _conditions(raw: object, where: str, fail: Any) -> tuple[tuple[str, str, Any], ...]:
    if not isinstance(raw, (list, tuple)):
        raise fail(where, "must be a list of [column, operator, value]")
    found = []
    for n, entry in enumerate(raw):
        if (
            not isinstance(entry, (list, tuple))
            or len(entry) != 3
            or not isinstance(entry[0], str)
            or not NAME.fullmatch(entry[0])
        ):
            raise fail(f"{where}[{n}]", "must be [column, operator, value]")
        if entry[1] not in OPERATORS:
            raise fail(f"{where}[{n}]", f"operator must be one of {' '.join(OPERATORS)}")
        found.append((entry[0], entry[1], entry[2]))
    return tuple(found)


def literal(value: object) -> str:
    """Return the SQL text of a plain value: text quoted, `@usr` a column, `$name` a parameter; ValueError for anything
    else.
    """
    if isinstance(value, str):
        if value.startswith("@") and NAME.fullmatch(value[1:]):
            return f'"{value[1:]}"'
        if BOUND.fullmatch(value):
            return value
        return "'" + value.replace("'", "''") + "'"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    raise ValueError(f"{value!r} cannot stand in a condition")


def condition(column: str, operator: str, value: object) -> str:
    """Return the SQL of one [column, operator, value]; `in` takes a list, `between` two values, `= null` means unknown."""
    if operator == "in":
        return f'"{column}" in ({", ".join(literal(v) for v in cast(Iterable[object], value))})'
    if operator == "between":
        low, high = cast(Iterable[object], value)
        return f'"{column}" between {literal(low)} and {literal(high)}'
    if value is None:
        return f'"{column}" is {"not " if operator == "!=" else ""}null'
    return f'"{column}" {OPERATORS[operator]} {literal(value)}'


def conditions(where: Iterable[tuple[str, str, Any]]) -> str:
    """Return the SQL of all conditions together, `true` for none."""
    return " and ".join(f"({condition(*c)})" for c in where) or "true"


def compile_when(file: RuleFile, fail: Any) -> str:
    """Return the level-2 query of a level-1 form: one row per group that holds at least `min_rows` matching rows.

    A row cites the matching rows of the group from the first to the last; with `min_rows: 0` and a `having` that counts
    none (absence) it cites all rows of the group. A row of `corroborate` on the same host raises the tier and is cited
    too.
    """
    when = file.when
    assert when is not None
    where = _conditions([list(c) for c in when.where], "when.where", fail)
    _known(
        when.table,
        [*(c for c, _, _ in where), *when.group_by, when.magnitude[1], *(h[1] for h in when.having)],
        "when",
        fail,
    )
    keys = list(dict.fromkeys(["artifact_id", "host", *when.group_by]))
    try:
        passing = conditions(where)
        having = [f"count(*) filter (where {passing}) >= {when.min_rows}"]
        for n, (agg, column, op, value) in enumerate(when.having):
            if op not in ("=", "!=", "<", "<=", ">", ">="):
                raise fail(f"when.having[{n}]", f"operator {op!r} cannot stand here")
            having.append(
                f"{_aggregate(agg, column, passing, f'when.having[{n}]', fail)} {OPERATORS[op]} {literal(value)}"
            )
        tier, confirming = _corroborate(when.corroborate, fail)
        if when.corroborate is not None and "corroborated" not in file.confidence:
            raise fail("confidence.corroborated", "is required with when.corroborate")
        if when.min_rows < 0:
            raise fail("when.min_rows", "must be a whole number from 0")
    except (ValueError, TypeError) as error:
        raise fail("when", str(error)) from None
    named = [k for k in keys if k not in ("artifact_id", "host")]
    subject = (
        " || ', ' || ".join(f"'{k} ' || coalesce(\"{k}\"::varchar, 'unknown')" for k in named)
        or f"'{when.table.removesuffix('_i')}'"
    )
    listed = ", ".join(f'"{k}"' for k in keys)
    return f"""with grouped as (
  select {listed}, {_aggregate(*when.magnitude, passing, "when.magnitude", fail)}::double as magnitude,
         count(*) filter (where {passing}) as n, count(*) as n_all,
         coalesce(min(line_no) filter (where {passing}), min(line_no)) as line_from,
         coalesce(max(coalesce(line_end, line_no)) filter (where {passing}), max(coalesce(line_end, line_no))) as line_to
  from {when.table} group by {listed}
  having {" and ".join(having)})
select {subject} as subject, magnitude, {listed}, n, n_all, {tier} as tier,
       list_concat([ev(artifact_id, line_from, line_to, 'rows')], {confirming}) as evidence
from grouped g order by artifact_id, line_from, subject"""


def _aggregate(agg: str, column: str, passing: str, where: str, fail: Any) -> str:
    if agg == "share":
        return f'100.0 * count("{column}") filter (where {passing}) / nullif(count(*), 0)'
    if agg not in AGGREGATES:
        raise fail(where, f"aggregate must be one of share {' '.join(AGGREGATES)}")
    return f'{AGGREGATES[agg]}("{column}") filter (where {passing})'


def _corroborate(form: Mapping[str, Any] | None, fail: Any) -> tuple[str, str]:
    """Return the SQL of the tier, and of the list with the confirming row's citation."""
    if form is None:
        return "'base'", "[]"
    if set(form) - {"table", "where"} or not isinstance(form.get("table"), str):
        raise fail("when.corroborate", "must be {table, where}")
    where = _conditions(form.get("where") or [], "when.corroborate.where", fail)
    _known(form["table"], [c for c, _, _ in where], "when.corroborate", fail)
    rows = f"from {form['table']} c where c.host = g.host and {conditions(where)}"
    return (
        f"case when exists (select 1 {rows}) then 'corroborated' else 'base' end",
        f"coalesce((select [ev(arg_min(c.artifact_id, c.line_no), min(c.line_no), arg_min(coalesce(c.line_end, c.line_no), c.line_no), 'confirms')]"
        f" {rows} having count(c.line_no) > 0), [])",
    )


# --- files ------------------------------------------------------------------------------------------------------------


def load_file(path: Path) -> Rule:
    """Return the rule of a file; the file's name must be the rule's slug. RuleInvalid as in `load`."""
    if path.stat().st_size > MAX_BYTES:
        raise RuleInvalid(str(path), "", "is larger than 128 KiB")
    rule = load(path.read_text("utf-8"), f"{path.parent.name}/{path.name}")
    if path.stem != rule.file.slug:
        raise RuleInvalid(path.name, "slug", f"{rule.file.slug!r} is not the file's name")
    return rule


def load_library(*folders: Path) -> tuple[Rule, ...]:
    """Return the shipped rules and those of further folders, by id. RuleInvalid for a bad file or a duplicate id."""
    found: dict[str, Rule] = {}
    for folder in (registry.LIBRARY, *folders):
        for path in sorted(folder.rglob("*.yaml")):
            rule = load_file(path)
            if rule.id in found:
                raise RuleInvalid(path.name, "id", f"{rule.id} is also in {found[rule.id].path}")
            found[rule.id] = rule
    return tuple(found[k] for k in sorted(found))
