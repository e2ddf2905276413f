"""Static check of a statement: a single SELECT over evidence tables that uses only listed constructs.

DuckDB's own parser produces the tree (`json_serialize_sql`), so checker and executor cannot disagree about what was
written. Everything that is not listed here is refused: node kinds, expressions, functions, table functions. Settings of
the engine block files and network; this check blocks what settings do not: hidden SQL (`query`), the catalogue,
statements that write, and functions that build gigabytes from one row.
"""

from __future__ import annotations

import atexit
import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb

MAX_CHARS = 64 * 1024
MAX_RANGE = 1_000_000
CTE_NAME = re.compile(r"[a-z_][a-z0-9_]*")
MACROS: Mapping[str, str] = {
    "ev": "ev(a, f, l, r) as {'artifact_id': a, 'line_from': f, 'line_to': l, 'role': r}",
    "blocked": "blocked(c, d) as c / nullif(d, 0) <= 0.1",
    "burning": "burning(c, d) as c / nullif(d, 0) >= 0.8",
    "share": "share(x, total) as x / nullif(total, 0)",
    "pow2bucket": "pow2bucket(x) as case when x > 0 then pow(2, floor(log2(x))) end",
}
"""Macros of the rule language, versioned with its schema."""

RANGES = frozenset({"range", "generate_series"})
TABLE_FUNCTIONS = RANGES | {"unnest"}
_FUNCTIONS = """
+ - * / // % ^ ** || ~~ !~~ ~~* !~~* ~~~ & | << >> @> <@ &&
abs ceil ceiling floor round trunc sign sqrt exp ln log log2 log10 pow power greatest least mod isnan isinf isfinite
length len strlen lower upper trim ltrim rtrim substring substr left right replace contains starts_with ends_with prefix suffix
position strpos instr split_part string_split str_split regexp_matches regexp_full_match regexp_extract concat concat_ws
like_escape not_like_escape ilike_escape not_ilike_escape chr ascii reverse hex bin to_base coalesce nullif ifnull if
list_value list_filter list_transform list_contains list_has list_has_any list_has_all list_distinct list_sort list_concat
list_extract list_element list_slice list_position list_sum list_min list_max list_avg list_count list_unique list_any_value
array_extract array_slice array_length array_contains array_to_string list_to_string flatten unnest range generate_series
struct_pack struct_extract row map map_from_entries map_keys map_values map_extract element_at cardinality
count count_star sum avg mean median min max mode stddev stddev_samp stddev_pop variance var_samp var_pop mad quantile_cont
quantile_disc quantile percentile_cont percentile_disc arg_min arg_max min_by max_by first last any_value bool_and bool_or count_if
countif fsum product corr covar_pop covar_samp regr_slope regr_intercept regr_r2 skewness kurtosis entropy
list array_agg string_agg group_concat listagg approx_count_distinct
row_number rank dense_rank rank_dense percent_rank cume_dist ntile lag lead first_value last_value nth_value
extract epoch date_part
"""
FUNCTIONS = frozenset(_FUNCTIONS.split()) | frozenset(MACROS)
"""Allowed functions. None of them builds large values from one row (repeat, lpad, format, levenshtein), reads settings
or runs hidden SQL.
"""

TYPES = frozenset(
    """varchar text string char bool boolean tinyint smallint integer int bigint hugeint utinyint usmallint uinteger uint ubigint
    double float real decimal numeric date time timestamp interval list struct map""".split()
)
"""Types that a value may be cast to.

None reads the catalogue (regclass), and none is an array whose length the type name sets.
"""

MOMENTS = frozenset(
    "current_date current_time current_timestamp localtime localtimestamp current_user session_user current_role user "
    "current_catalog current_schema".split()
)
"""Names that act as functions; their values differ from run to run."""

MAX_PUT = 80
MAX_SETS = 16
"""Maximum number of grouping sets of one SELECT; a cube of twenty columns has a million."""

NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE"})
SOURCES = frozenset({"BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EMPTY", "EXPRESSION_LIST"})
EXPRESSIONS = frozenset({
    "COLUMN_REF", "CONSTANT", "FUNCTION", "COMPARISON", "CONJUNCTION", "OPERATOR", "CASE", "CAST", "BETWEEN", "SUBQUERY", "LAMBDA",
    "LAMBDA_REF", "PARAMETER", "STAR", "WINDOW", "TYPE",
})  # fmt: skip


class Refused(ValueError):
    """Raised when a statement is not allowed; the message tells its author why. `at` is the offset in the text, if the
    parser reports it.
    """

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True)
class Checked:
    """What an allowed statement uses: evidence tables, column names (None: all, through a star) and bound parameters."""

    tables: frozenset[str]
    columns: frozenset[str] | None
    params: frozenset[str]


def check(sql: str, tables: frozenset[str] | set[str]) -> Checked:
    """Return what a statement uses, or raise Refused or MemoryError.

    `tables` are the names it may read; nothing is executed.
    """
    if len(sql) > MAX_CHARS:
        raise Refused("the statement is longer than 64 KiB")
    if "\0" in sql:
        raise Refused("the statement holds a NUL character")
    row = _parser().execute("select json_serialize_sql(?::varchar)", [sql]).fetchone()
    tree: dict[str, Any] = json.loads(row[0] if row else '{"error": true}')
    if tree.get("error"):
        kind = tree.get("error_type")
        if kind == "out of memory":
            raise MemoryError
        if kind != "parser":
            raise Refused("only a SELECT is allowed")
        raise Refused(f"the parser says: {tree.get('error_message')}", int(tree.get("position") or 0))
    statements = tree["statements"]
    if len(statements) != 1:
        raise Refused(f"exactly one statement, not {len(statements)}")
    return _Walk(frozenset(tables)).run(statements[0])


_of_thread = threading.local()


def _parser() -> duckdb.DuckDBPyConnection:
    """Return a connection that only parses, one per thread: opening one takes ten times as long as parsing."""
    if not hasattr(_of_thread, "connection"):
        _of_thread.connection = duckdb.connect(config={"python_enable_replacements": "false", "threads": "1"})
        atexit.register(_of_thread.connection.close)
    connection: duckdb.DuckDBPyConnection = _of_thread.connection
    return connection


@cache
def _catalogue() -> frozenset[str]:
    """Return the views that the engine finds without a schema: its settings, tables and types."""
    own = "select view_name from duckdb_views() where internal and schema_name <> 'information_schema'"
    return frozenset(name for (name,) in _parser().execute(own).fetchall())


class _Walk:
    def __init__(self, tables: frozenset[str]) -> None:
        self.allowed = tables
        self.ctes: set[str] = set()
        self.tables: set[str] = set()
        self.columns: set[str] = set()
        self.star = False
        self.params: set[str] = set()

    def run(self, statement: Mapping[str, Any]) -> Checked:
        for part in _dicts(statement):
            for entry in (part.get("cte_map") or {}).get("map") or []:
                self._cte(entry["key"])
        for part in _dicts(statement):
            self._part(part)
        return Checked(frozenset(self.tables), None if self.star else frozenset(self.columns), frozenset(self.params))

    def _cte(self, name: str) -> None:
        if not CTE_NAME.fullmatch(name):
            raise Refused(f"the name {name!r} of a WITH part must be lower-case letters, digits and _")
        if name in self.allowed:
            raise Refused(f"the WITH part {name!r} has the name of a table")
        if name in _catalogue():  # outside of its WITH the name would mean the engine's own view
            raise Refused(f"the WITH part {name!r} has the name of a view of the engine")
        self.ctes.add(name)

    def _part(self, part: Mapping[str, Any]) -> None:
        kind, expression = part.get("type"), part.get("class")
        if expression is not None:
            if expression not in EXPRESSIONS:
                raise Refused(f"expressions of kind {expression} are not allowed")
            self._expression(part, expression)
        elif isinstance(kind, str) and kind.endswith("_NODE"):
            if kind not in NODES:
                raise Refused("recursive WITH is not allowed" if "RECURSIVE" in kind else f"{kind} is not allowed")
            if part.get("sample"):
                raise Refused("SAMPLE is not allowed: results must be repeatable")
            if kind == "SELECT_NODE":
                _linked(part)
                if len(part.get("group_sets") or []) > MAX_SETS:
                    raise Refused(f"more than {MAX_SETS} grouping sets are not allowed")
        elif "sample" in part and "query_location" in part:
            if kind not in SOURCES:
                raise Refused(
                    f"{'SHOW, DESCRIBE and SUMMARIZE are' if kind == 'SHOW_REF' else str(kind) + ' is'} not allowed"
                )
            if part.get("sample"):
                raise Refused("SAMPLE is not allowed: results must be repeatable")
            if kind == "BASE_TABLE":
                self._table(part)
            elif kind == "TABLE_FUNCTION":
                name = part["function"].get("function_name", "")
                if name not in TABLE_FUNCTIONS:
                    raise Refused(f"the table function {name!r} is not allowed")

    def _table(self, part: Mapping[str, Any]) -> None:
        name = part["table_name"]
        if part.get("catalog_name") or part.get("schema_name") or part.get("at_clause"):
            raise Refused(f"tables are named without catalogue and schema: {name!r}")
        if name in self.allowed:
            self.tables.add(name)
        elif name not in self.ctes:
            raise Refused(f"there is no table {name!r}")

    def _expression(self, part: Mapping[str, Any], expression: str) -> None:
        if expression in ("FUNCTION", "WINDOW"):
            name = str(part.get("function_name", "")).lower()
            if part.get("schema") or part.get("catalog"):
                raise Refused(f"functions are named without schema: {name!r}")
            if name and name not in FUNCTIONS:
                raise Refused(f"the function {name!r} is not allowed")
            if name in RANGES:
                _bounded(part)
            if name == "replace":
                _shrinking(part)
        elif expression == "LAMBDA":
            if any(d.get("function_name") in RANGES for d in _dicts(part)):
                raise Refused("no range inside a lambda: it would be built for each element")
        elif expression == "TYPE":
            if part.get("schema") or part.get("catalog") or str(part.get("type_name")).lower() not in TYPES:
                raise Refused(f"a cast to {part.get('type_name')!r} is not allowed")
        elif expression == "COLUMN_REF":
            if len(part["column_names"]) == 1 and part["column_names"][0].lower() in MOMENTS:
                raise Refused(f"{part['column_names'][0]!r} is not allowed: results must be repeatable")
            self.columns |= set(part["column_names"])
        elif expression == "STAR":
            if part.get("columns"):
                raise Refused("COLUMNS(...) is not allowed")
            self.star = True
        elif expression == "PARAMETER":
            self.params.add(part["identifier"])


def _dicts(tree: object) -> Iterator[Mapping[str, Any]]:
    """Yield all mappings of a tree without recursion, because a statement may be nested deeply."""
    waiting = [tree]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            yield here
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here


def _bounded(part: Mapping[str, Any]) -> None:
    for argument in part.get("arguments") or []:
        literal = argument["expression"].get("literal") or {}
        try:
            value = float(literal.get("text", "x"))
        except ValueError:
            raise Refused("range and generate_series take plain numbers only") from None
        if abs(value) > MAX_RANGE:
            raise Refused("range and generate_series go up to 1,000,000")


def _shrinking(part: Mapping[str, Any]) -> None:
    """Refuse a `replace` that could build gigabytes.

    It may insert only short plain text, and, if nested, no more characters than it removes.
    """
    taken, put = (a["expression"].get("literal") or {} for a in (part.get("arguments") or [])[1:3])
    texts = [x.get("text") if x.get("kind") == "STRING" else None for x in (taken, put)]
    longer = len(texts[1] or "") > max(len(texts[0] or ""), 1)
    if None in texts or (longer and any(d.get("function_name") == "replace" for d in _dicts(part["arguments"][0]))):
        raise Refused(
            "replace takes two plain texts; around another replace the second may be no longer than the first"
        )
    if len(texts[1] or "") > MAX_PUT:
        raise Refused(f"replace puts in at most {MAX_PUT} characters")


def _tables_in(source: object) -> bool:
    return any(d.get("type") == "BASE_TABLE" for d in _dicts(source))


def _ranges_in(source: object) -> bool:
    return any(d.get("function_name") in RANGES for d in _dicts(source))


def _qualifiers(expression: object) -> set[str]:
    return {
        d["column_names"][0] if len(d["column_names"]) > 1 else ""
        for d in _dicts(expression)
        if d.get("class") == "COLUMN_REF"
    }


def _links(expression: object) -> bool:
    """Return whether a condition compares columns of one side with columns of another, and no OR branch makes it always
    true.
    """
    if isinstance(expression, dict) and expression.get("class") == "CONJUNCTION":
        parts = [_links(child) for child in expression["children"]]
        always = expression.get("type") == "CONJUNCTION_OR" and not all(_qualifiers(c) for c in expression["children"])
        return any(parts) and not always
    if isinstance(expression, dict) and expression.get("class") == "COMPARISON":
        left, right = _qualifiers(expression["left"]), _qualifiers(expression["right"])
        return bool(left and right) and (left != right or len(left) > 1 or left == {""})
    return _compares(expression)


def _compares(expression: object) -> bool:
    """Return whether any part of an expression compares columns with columns."""
    for part in _dicts(expression):
        if part.get("class") == "COMPARISON":
            sides = [any(d.get("class") == "COLUMN_REF" for d in _dicts(part[side])) for side in ("left", "right")]
            if all(sides):
                return True
        if (
            part.get("class") in ("BETWEEN", "FUNCTION")
            and len({tuple(d["column_names"]) for d in _dicts(part) if d.get("class") == "COLUMN_REF"}) > 1
        ):
            return True
    return False


def _linked(select: Mapping[str, Any]) -> None:
    """Refuse a join of two tables without a linking condition: its rows would be the product."""
    waiting = [select.get("from_table")]
    while waiting:
        source = waiting.pop()
        if not isinstance(source, dict) or source.get("type") != "JOIN":
            continue
        waiting += [source["left"], source["right"]]
        if source.get("ref_type") == "POSITIONAL":
            raise Refused("a positional join is not allowed: rows must be joined by what they say")
        if source.get("using_columns") or source.get("ref_type") == "NATURAL":
            continue
        if any(inside(source["left"]) and inside(source["right"]) for inside in (_tables_in, _ranges_in)) and not (
            _links(source.get("condition")) or _links(select.get("where_clause"))
        ):
            raise Refused("two tables are joined without a link: name the columns that must agree")
