"""Tests of further escapes from the sandbox, one case each: those the check refuses, and those that only the limits
stop.
"""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
import pytest

from rules.case.case import Case
from rules.engine.check import Refused, check
from rules.engine.run import Runner
from rules.engine.sandbox import Fence, Sandbox
from rules.errors import RuleTooLarge, RuleTooSlow
from rules.judging.evaluate import judge
from tests.rules.judging.test_verdict import rule

TABLES = frozenset({"syscalls", "pmap"})

REFUSED = {
    "a positional join": "select * from syscalls positional join pmap",
    "a join that an alternative undoes": "select * from syscalls s join pmap p on s.pid = p.pid or true",
    "a join that a comparison undoes": "select * from syscalls s join pmap p on s.pid = p.pid or 1 = 1",
    "a join with itself alone": "select * from syscalls s join pmap p on s.pid = s.pid",
    "a semi join on nothing": "select * from syscalls semi join pmap on true",
    "an anti join on nothing": "select * from syscalls anti join pmap on true",
    "two subqueries side by side": "select * from (select * from syscalls) a, (select * from pmap) b",
    "a lateral product": "select * from syscalls s, lateral (select * from pmap) p",
    "a product of ranges": "select count(*) from range(1000000) a, range(1000000) b",
    "a product of ranges in parts": "select count(*) from (select * from range(1000000)) a cross join (select * from range(1000000)) b",
    "a part named like a table, deep inside": "select * from (with syscalls as (select 1) select * from syscalls) x",
    "a table in foreign letters": 'select * from "\u0455yscalls"',
    "a part in foreign letters": 'with "\u0430" as (select 1) select * from "\u0430"',
    "a table in capitals": "select * from SYSCALLS",
    "a part in capitals": "with A as (select 1) select * from A",
    "a second statement behind a comment": "select 1 /* */ -- x\n; select 2",
    "only a comment": "/* select 1 */ --",
    "a nested comment": "select /* /* */ */ 1; drop table syscalls",
    "an aggregate by name": "select list_aggregate([args], 'string_agg', args) from syscalls",
    "an aggregate by short name": "select list_aggr([1], 'sum')",
    "an aggregate of arrays": "select array_aggregate([1], 'sum')",
    "a fold": "select reduce([1], lambda a, b: a + b)",
    "a comprehension": "select [x for x in range(1000000)]",
    "a range inside a lambda": "select list_transform(range(1000000), lambda x: range(1000000))",
    "a series inside a lambda": "select list_filter([1], x -> len(generate_series(1, 1000000)) > x)",
    "a long series": "select * from generate_series(1, 1000000000000)",
    "a computed range": "select * from range(1000000 * 1000000)",
    "a range of a cast": "select * from range('10000000000'::bigint)",
    "a negative range": "select * from range(-1000000000000, 1)",
    "a range of tiny steps": "select * from range(0, 1000000, 0.0000001::double)",
    "a range with underscores": "select * from range(1_000_000_000_000)",
    "a range of a power": "select * from range(1e12::bigint)",
    "a range of a query": "select * from range((select 1000000000000))",
    "a range by names": "select * from range(start := 1, stop := 1000000000000)",
    "a range of a parameter": "select * from range($n)",
    "replace by a long text": "select replace(args, 'x', '" + "y" * 81 + "') from syscalls",
    "replace by a column": "select replace(args, 'x', args) from syscalls",
    "nested growing replace": "select " + "replace(" * 12 + "'xxxxxxxxxx'" + ", 'x', 'xxxxxxxxxx')" * 12,
    "replace by pattern": "select regexp_replace(args, '', 'xxxxxxxxxx', 'g') from syscalls",
    "all matches": "select regexp_extract_all(args, '.') from syscalls",
    "a list made longer": "select list_resize([1], 1000000000, 1)",
    "bits": "select bitstring('1', 1000000000)",
    "a cast into the catalogue": "select 'syscalls'::regclass",
    "a cast to an extension's type": "select '{}'::json",
    "a cast to an enum": "select 'a'::enum('a')",
    "a huge array": "select [1]::int[1000000000]",
    "a cast to a file's type": "select 'a'::blob",
    "a cube of many columns": "select count(*) from syscalls group by cube(pid, lwp, seq, line_no, fd, ret, name, args)",
    "pivot as a source": "select * from (pivot syscalls on name using count(*))",
    "pivot in its other form": "from syscalls pivot (count(*) for name in ('a'))",
    "unpivot": "select * from (unpivot syscalls on pid, lwp)",
    "columns by a lambda": "select columns(c -> c like 'p%') from syscalls",
    "all columns unpacked": "select coalesce(*columns(*)) from syscalls",
    "order by all": "select * from syscalls order by all",
    "a method": "select args.repeat(1000000000) from syscalls",
    "an operator of a schema": "select 1 operator(pg_catalog.+) 2",
    "a collation": "select args collate nocase from syscalls",
    "a time zone": "select timestamp '2020-01-01' at time zone 'UTC'",
    "the day": "select current_date",
    "the time in capitals": "select CURRENT_TIMESTAMP",
    "the user": "select current_user",
    "the schema": "select current_schema()",
    "the version": "select version()",
    "a uuid": "select uuid()",
    "a transaction": "select txid_current()",
    "privileges": "select has_table_privilege('syscalls', 'select')",
    "an error on purpose": "select error('x')",
    "the environment": "select getenv('PATH')",
    "set a variable": "set variable x = (select 1)",
    "a variable": "select getvariable('x')",
    "the catalogue in a condition": "select 1 where exists (select * from duckdb_settings())",
    "describe in a part": "with a as (describe syscalls) select * from a",
    "all tables": "select * from (show all tables)",
    "a file's name as a table": 'select * from "syscalls.parquet"',
    "a pattern of files": "select * from '*.parquet'",
    "a sample of percent": "select * from syscalls tablesample 10%",
}

ALLOWED = {
    "an alternative that compares": "select * from syscalls s join pmap p on s.pid = p.pid or s.arg_addr = p.addr",
    "an unknown host": "select * from syscalls s join pmap p on s.host = p.host or (s.host is null and s.pid = p.pid)",
    "a small cube": "select count(*) from syscalls group by cube(pid, lwp)",
    "replace that shrinks": "select replace(args, '_', ' '), replace(args, ', ', ',') from syscalls",
    "usual casts": "select pid::varchar, args::double, 1::decimal(18, 2), null::struct(a int)[], [1]::bigint[] from syscalls",
    "a column called like a moment": "select s.user from syscalls s",
    "a range beside a table": "select * from syscalls, range(10)",
    "a lambda": "select list_transform([1, 2], x -> x + 1), list_filter(range(10), lambda e: e > 3)",
}


@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED.keys())
def test_the_check_refuses(sql: str) -> None:
    with pytest.raises(Refused):
        check(sql, TABLES)


@pytest.mark.parametrize("sql", ALLOWED.values(), ids=ALLOWED.keys())
def test_the_check_lets_through(sql: str) -> None:
    check(sql, TABLES)


LONG = {
    "a product by inequality": "select count(*) from range(1000000) a(i), range(1000000) b(j) where a.i > b.j",
    "lambdas in lambdas": "with a as (select range(1000000) as l) "
    "select len(list_filter(l, lambda x: len(list_filter(l, lambda y: y > x)) > 5)) from a",
    "one text doubled on and on": "with "
    + ", ".join(f"a{n} as (select {'args' if n == 0 else 's'} || {'args' if n == 0 else 's'} as s from {'t' if n == 0 else f'a{n - 1}'})" for n in range(40))
    + " select max(length(s)) from a39",
    "one list doubled on and on": "with "
    + ", ".join(f"a{n} as (select list_concat(l, l) as l from {'(select range(1000000) as l) x' if n == 0 else f'a{n - 1}'})" for n in range(20))
    + " select len(l) from a19",
    "a list in every window": "select max(len(l)) from (select list(a.pid) over (order by a.pid) as l from t a join t b on a.args = b.args)",
    "a text of texts": "select string_agg(a.args, 'b') from t a join t b on a.args = b.args join t c on c.args = a.args join t d on d.args = a.args",
    "the largest of a million": "select len(max(a.pid + b.pid * 1000 + c.pid * 1000000, 999999)) from t a join t b on a.args = b.args "
    "join t c on c.args = a.args",
    "a slow pattern on long texts": "with a as (select string_agg(x.args, 'a') as s from t x join t y on x.args = y.args) "
    "select count(*) from a join t u on length(u.args) < length(a.s) join t v on v.args = u.args join t w on w.args = u.args "
    "where regexp_matches(a.s || u.pid || v.pid, '(a|a)*(a|a)*(a|a)*b')",
}  # fmt: skip

SMALL = Fence(memory_mb=256, address_mb=1200, cpu_s=30, limit_s=1.0, max_rows=50)
"""The limits of a draft with half the time, because the tests wait for it."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("table") / "t.parquet"
    pl.DataFrame({"pid": range(1000), "args": ["a" * 40] * 1000}).write_parquet(file)
    return f"select * from read_parquet('{file}')"


@pytest.mark.parametrize("sql", LONG.values(), ids=LONG.keys())
def test_the_limits_end_what_the_check_lets_through(sql: str, table: str) -> None:
    """Check that the parent kills the child a second after the limit: whatever the engine does, the next query can run."""
    with Sandbox(SMALL) as sandbox:
        sandbox.draft({"t": table}, {"t": None})
        began = time.monotonic()
        with pytest.raises((RuleTooSlow, RuleTooLarge)):
            sandbox.query("draft", sql)
        took = time.monotonic() - began
        assert took < SMALL.limit_s + 30, "a loaded machine may need long, but not forever"
        assert sandbox.query("draft", "select count(*) as n from t").rows == ({"n": 1000},)


def test_a_rule_over_its_time_fails_by_name_and_the_others_go_on() -> None:
    slow = rule(901, {}, query="select 's' as subject, count(*)::double as magnitude, null as host, [ev(1, 1, 1, 'x')] as evidence from ps "
                "join range(1000000) a(i) on a.i >= ps.line_no join range(1000000) b(j) on b.j > a.i")  # fmt: skip
    fine = rule(902, {"H-OS-LOCK": "tier"})
    case = Case.of_tables({"ps": [{"artifact_id": 1, "host": "db", "line_no": 1}]})
    made = judge(case, [slow, fine], Sandbox(Fence(limit_s=1.0)))
    assert [f.rule for f in made.findings] == ["CPU-902"]
    (failed,) = made.failed
    assert failed.rule == "CPU-901"
    assert "after" in failed.error
    assert "s" in failed.error


def test_a_rule_over_its_memory_fails_by_name_and_the_others_go_on(tmp_path: Path) -> None:
    large = rule(901, {}, query="select 's' as subject, sum(len(l))::double as magnitude, null as host, [ev(1, 1, 1, 'x')] as evidence from "
                 "(select list(a.i + b.j) as l from ps join range(100000) a(i) on a.i >= ps.line_no "
                 "join range(100000) b(j) on b.j > a.i group by a.i % 2)")  # fmt: skip
    case = Case.of_tables({"ps": [{"artifact_id": 1, "host": "db", "line_no": 1}]})
    made = judge(case, [large, rule(902, {})], Sandbox(Fence(memory_mb=128, limit_s=60.0)))
    assert [f.rule for f in made.findings] == ["CPU-902"]
    assert [(f.rule, "memory" in f.error) for f in made.failed] == [("CPU-901", True)]


def test_more_rows_than_wanted_are_counted_and_folded() -> None:
    rows = [{"artifact_id": 1, "host": "db", "line_no": n} for n in range(1, 301)]
    made = judge(Case.of_tables({"ps": rows}), [rule(901, {}, max_rows=5)])
    assert len(made.findings) == 6
    assert [f.more for f in made.findings if f.more] == [295]
    assert any("and 294 more" in f.subject for f in made.findings)


def test_a_million_rows_of_nothing(tmp_path: Path) -> None:
    """Check that a table with a million rows of NULLs fires no rule, fails none and does not count as evidence."""
    from tests.rules.library import library

    rows = pl.DataFrame({"artifact_id": [1] * 1_000_000, "line_no": range(1, 1_000_001)})
    case = Case.of_tables({"ps": []})
    wide = rows.select(
        *(
            pl.col(c).cast(t) if c in rows.columns else pl.lit(None, t).alias(c)
            for c, t in case.table("syscalls").schema.items()
        )
    )
    assert case._frames is not None
    case._frames["syscalls"] = wide
    chosen = [r for r in library().rules if any(n.table == "syscalls" for n in r.requires.all)]
    assert chosen
    with Sandbox() as sandbox:
        outcomes = Runner(case, sandbox, tmp_path).run(chosen)
    assert [(o.rule.id, o.failed) for o in outcomes if o.failed] == []
    assert [o.rule.id for o in outcomes if o.drafts] == []
