"""Incidents on a real PostgreSQL: dead rows that a forgotten transaction keeps, and a sort that goes to disk."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from config.embedded import Postgres, running
from lab.incident import Incident
from lab.scene import Scene, needs, plain

FORGOTTEN = """
    import sys, time
    import psycopg
    c = psycopg.connect(sys.argv[1], application_name="month-end")
    c.execute("set transaction isolation level repeatable read")
    c.execute("select count(*) from account").fetchone()
    if sys.argv[2] == "ends":
        c.rollback()
    time.sleep(50)
"""

POSTINGS = """
    import sys
    import psycopg
    with psycopg.connect(sys.argv[1], application_name="postings", autocommit=True) as c:
        for n in range(40):
            c.execute("update account set balance = balance + 1")
            if n % 10 == 9:
                c.execute("vacuum account")
"""


def _psql(stage: Scene, file: str, *statements: str, options: tuple[str, ...] = ()) -> None:
    """Append the output of psql and its notices to a file, as a terminal shows them."""
    said = [word for statement in statements for word in ("-c", statement)]
    argv = ["psql", "-X", "-h", str(stage.work / "run"), "-U", "exhibit", "-d", "postgres", *options, *said]
    with (stage.out / file).open("ab") as into:
        subprocess.run(argv, stdout=into, stderr=subprocess.STDOUT, env=plain(), check=True, timeout=50)


def _server(stage: Scene) -> Postgres:
    run = stage.work / "run"
    run.mkdir(mode=0o700)
    return Postgres(stage.work / "data", run, stage.work / "postgres.log", durable=False)


def dead_rows(stage: Scene) -> None:
    import psycopg

    needs("psql")
    url = f"host={stage.work / 'run'} user=exhibit dbname=postgres"
    with running(_server(stage)):
        with psycopg.connect(url) as own:
            own.execute("create table account (id int primary key, balance int, note text)")
            own.execute("insert into account select n, 0, repeat('x', 80) from generate_series(1, 8000) n")
        stage.start(
            [sys.executable, stage.script("forgotten.py", FORGOTTEN)[-1], url, "stays" if stage.bad else "ends"]
        )
        time.sleep(2.0)
        stage.start([sys.executable, stage.script("postings.py", POSTINGS)[-1], url]).wait(timeout=50)
        time.sleep(1.5)
        activity = (
            "select pid, application_name, state, now() - xact_start as xact_age, now() - state_change as state_age, "
            "wait_event_type, wait_event, backend_xmin, query from pg_stat_activity where backend_type = 'client backend'"
        )
        _psql(stage, "activity.txt", activity, options=("-x",))
        tables = (
            "select relname, n_live_tup, n_dead_tup, n_tup_upd, n_tup_hot_upd, last_vacuum, vacuum_count, "
            "pg_size_pretty(pg_relation_size(relid)) as size from pg_stat_user_tables"
        )
        _psql(stage, "tables.txt", tables, options=("-x",))
        _psql(stage, "vacuum.txt", "vacuum (verbose) account")
        _psql(stage, "plan.txt", "explain (analyze, buffers) select sum(balance) from account")


def sort_on_disk(stage: Scene) -> None:
    import psycopg

    needs("psql")
    url = f"host={stage.work / 'run'} user=exhibit dbname=postgres"
    with running(_server(stage)):
        with psycopg.connect(url, autocommit=True) as own:
            own.execute("create table movement (id int, account int, booked timestamp, note text)")
            own.execute(
                "insert into movement select n, (n::bigint * 7919) % 50021, timestamp '2026-01-01' + n * interval '1 second', "
                "md5(n::text) || repeat('x', 60) from generate_series(1, 300000) n"
            )
            own.execute("analyze movement")
            memory = "1MB" if stage.bad else "256MB"
            for setting in (f"work_mem = '{memory}'", "log_temp_files = 0", "max_parallel_workers_per_gather = 0"):
                own.execute(f"alter system set {setting}")
            own.execute("select pg_reload_conf()")
        time.sleep(0.5)
        from_here = (stage.work / "postgres.log").stat().st_size
        report = "select account, booked, note from movement order by note, account"
        _psql(stage, "plan.txt", f"explain (analyze, buffers) {report}")
        _psql(stage, "plan.txt", "show work_mem")
        time.sleep(1.5)
        _psql(
            stage,
            "database.txt",
            "select datname, numbackends, xact_commit, blks_read, blks_hit, temp_files, temp_bytes, deadlocks "
            "from pg_stat_database where datname = 'postgres'",
            options=("-x",),
        )
        log = Path(stage.work / "postgres.log").read_bytes()[from_here:]
    (stage.out / "postgres-log.txt").write_bytes(log)


INCIDENTS = (
    Incident("dead-rows", "A forgotten transaction keeps PostgreSQL from cleaning away the dead rows of a table.", dead_rows,
             {"layer": "client_app", "also": ["database"], "mechanism": "idle-in-transaction"},
             {"symptom": {"text": "the sum over all accounts gets slower during the day"}}, {}),
    Incident("sort-on-disk", "A report of PostgreSQL sorts 30 MB with 1 MB of memory for it.", sort_on_disk,
             {"layer": "database", "also": ["configuration"], "mechanism": "sort-spill"},
             {"symptom": {"text": "the report of movements is slow"}}, {}),
)  # fmt: skip
