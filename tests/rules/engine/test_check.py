"""Tests of the static check: the constructs that a rule may use, and one case for every known escape."""

from __future__ import annotations

import duckdb
import pytest

from rules.engine.check import Refused, check
from rules.engine.views import names

TABLES = frozenset({"syscalls", "pmap"})

REFUSED = {
    "read_csv": "select * from read_csv('/etc/passwd')",
    "read_text": "select * from read_text('/etc/passwd')",
    "read_blob": "select * from read_blob('/etc/passwd')",
    "read_parquet": "select * from read_parquet('x.parquet')",
    "parquet_metadata": "select * from parquet_metadata('x.parquet')",
    "read_json": "select * from read_json('x.json')",
    "sniff_csv": "select * from sniff_csv('x.csv')",
    "glob": "select * from glob('/*')",
    "a file as table": "select * from '/etc/passwd'",
    "a file url": "select * from 'file:///etc/passwd'",
    "an environment file": "select * from '/proc/self/environ'",
    "standard input": "select * from '/dev/stdin'",
    "a parent folder": "select * from '../../x.csv'",
    "http": "select * from 'https://example.com/x.csv'",
    "s3": "select * from 's3://bucket/x'",
    "copy to": "copy syscalls to '/tmp/x'",
    "copy from": "copy syscalls from '/tmp/x'",
    "copy to without temporary file": "copy (select 1) to '/tmp/x' (use_tmp_file false)",
    "export": "export database '/tmp/x'",
    "import": "import database '/tmp/x'",
    "attach a file": "attach '/tmp/x.db'",
    "attach memory": "attach ':memory:' as m",
    "install": "install httpfs",
    "load": "load httpfs",
    "create secret": "create secret s (type s3)",
    "duckdb_secrets": "select * from duckdb_secrets()",
    "which_secret": "select * from which_secret('s3://x', 's3')",
    "set": "set memory_limit = '10GB'",
    "reset": "reset memory_limit",
    "pragma": "pragma threads = 8",
    "pragma table function": "select * from pragma_table_info('syscalls')",
    "getenv": "select getenv('HOME')",
    "query": "select * from query('select 1')",
    "query_table": "select * from query_table('syscalls')",
    "serialised sql": "select * from json_execute_serialized_sql('{}')",
    "serialise": "select json_serialize_sql('select 1')",
    "create table": "create table t as select 1",
    "create macro": "create macro upper(x) as 1",
    "create view": "create view v as select 1",
    "drop": "drop table syscalls",
    "delete": "delete from syscalls",
    "insert": "insert into syscalls values (1)",
    "update": "update syscalls set pid = 1",
    "comment": "comment on table syscalls is 'x'",
    "set variable": "set variable x = 1",
    "get variable": "select getvariable('x')",
    "use": "use memory",
    "begin": "begin",
    "prepare": "prepare p as select 1",
    "checkpoint": "checkpoint",
    "call": "call duckdb_tables()",
    "explain": "explain select 1",
    "two statements": "select 1 from syscalls; select 2",
    "no statement": "",
    "no sql": "selec pid from syscalls",
    "pivot": "pivot syscalls on name using count(*)",
    "summarize": "summarize syscalls",
    "describe": "describe syscalls",
    "show": "show tables",
    "show inside": "select * from (describe syscalls)",
    "duckdb_settings": "select * from duckdb_settings()",
    "duckdb_functions": "select * from duckdb_functions()",
    "duckdb_views": "select * from duckdb_views()",
    "catalogue": "select * from pg_catalog.pg_tables",
    "information schema": "select * from information_schema.tables",
    "another catalogue": "select * from memory.main.syscalls",
    "a schema": "select * from main.syscalls",
    "current_setting": "select current_setting('threads')",
    "write_log": "select write_log('x')",
    "sleep": "select sleep_ms(100000)",
    "nextval": "select nextval('s')",
    "a function in a schema": "select main.upper('x')",
    "recursive": "with recursive a as (select 1 as i union all select i + 1 from a) select * from a",
    "recursive with key": "with recursive a(i, j) using key (i) as (select 1, 1 union all select i + 1, j from a) select * from a",
    "repeat": "select repeat('x', 1000000000)",
    "lpad": "select lpad('x', 2000000000, 'y')",
    "rpad": "select rpad('x', 2000000000, 'y')",
    "format": "select format('{:>2000000000}', 1)",
    "printf": "select printf('%2000000000d', 1)",
    "levenshtein": "select levenshtein(args, args) from syscalls",
    "a long range": "select * from range(10000000000)",
    "a long list": "select range(1000000001)",
    "a range of a column": "select range(pid) from syscalls",
    "a series of dates": "select * from generate_series(date '1-1-1', date '9999-1-1', interval 1 second)",
    "list_reduce": "select list_reduce([1], lambda a, b: a + b)",
    "random": "select random() from syscalls",
    "now": "select now()",
    "an unlinked join": "select * from syscalls, pmap",
    "a cross join": "select * from syscalls cross join pmap",
    "a join on true": "select * from syscalls join pmap on true",
    "a join on one side only": "select * from syscalls s join pmap p on s.pid = 1",
    "an unlinked join in a part": "with a as (select 1 from syscalls x, syscalls y) select * from a",
    "a part named like a table": "with pmap as (select 1) select * from pmap",
    "a part named like a view of the engine": "with pg_settings as (select 1 as a) select a from pg_settings",
    "a part that is out of sight": (
        "select * from duckdb_tables where table_oid in (with duckdb_tables as (select 1 as a) select a from duckdb_tables)"
    ),
    "a part with another name": 'with "A b" as (select 1) select * from "A b"',
    "sampling": "select * from syscalls using sample 10",
    "columns by pattern": "select columns('.*') from syscalls",
    "another table": "select * from nosuch",
    "time travel": "select * from syscalls at (version => 1)",
}

ALLOWED = [
    "select 1",
    "select pid, count(*) from syscalls group by pid having count(*) > $n order by 2 desc",
    "with a as (select pid from syscalls) select * from a join pmap p on p.pid = a.pid",
    "select * from syscalls s left join pmap p on s.arg_addr between p.addr and p.addr + p.kbytes",
    "select * from syscalls s, pmap p where s.pid = p.pid",
    "select * from syscalls s asof join pmap p on s.pid = p.pid and s.line_no >= p.line_no",
    "select * from syscalls join pmap using (pid)",
    "select u from syscalls, unnest([1, 2]) t(u)",
    "select list_filter([1, 2], lambda e: e > 1), ev(1, 2, 3, 'x'), share(1, 2), pow2bucket(5)",
    "select row_number() over (partition by pid order by line_no) from syscalls qualify row_number() over (order by pid) = 1",
    "select case when pid in (select pid from pmap) then 'a' else 'b' end, pid::varchar, median(pid) filter (where pid > 1) from syscalls group by all",
    "select * from range(10)",
    "select pid from syscalls union all select pid from pmap",
]


@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED.keys())
def test_it_refuses(sql: str) -> None:
    with pytest.raises(Refused):
        check(sql, TABLES)


def test_no_view_that_the_engine_finds_by_its_bare_name_can_be_a_part() -> None:
    with duckdb.connect() as connection:
        views = [name for (name,) in connection.execute("select distinct view_name from duckdb_views()").fetchall()]
        found = 0
        for name in views:
            try:
                connection.execute(f"select * from {name} limit 0")
            except duckdb.Error:
                continue
            found += 1
            with pytest.raises(Refused, match="a view of the engine"):
                check(f"with {name} as (select 1 as a) select a from {name}", TABLES)
    assert found > 20


@pytest.mark.parametrize("sql", ALLOWED)
def test_it_allows(sql: str) -> None:
    check(sql, TABLES)


def test_it_tells_what_a_statement_uses() -> None:
    used = check(
        "with a as (select pid from syscalls where line_no > $from) select addr from pmap join a on a.pid = pmap.pid",
        TABLES,
    )
    assert used.tables == {"syscalls", "pmap"}
    assert used.columns is not None
    assert {"pid", "line_no", "addr"} <= used.columns
    assert used.params == {"from"}
    assert check("select * from pmap", TABLES).columns is None


def test_it_refuses_long_and_strange_texts() -> None:
    with pytest.raises(Refused, match="64 KiB"):
        check("select 1 " + " " * 70_000, TABLES)
    with pytest.raises(Refused, match="NUL"):
        check("select '\0'", TABLES)


def test_a_deeply_nested_statement_does_not_break_the_checker() -> None:
    with pytest.raises(Refused):
        check("select " + "(" * 5000 + "1" + ")" * 5000, TABLES)


def test_no_part_may_have_a_name_of_a_table() -> None:
    assert {"syscalls", "pipe_pairs", "vmstat_i"} <= names()
