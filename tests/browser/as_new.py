"""Empty a running Exhibit, so that the next module of tests finds it as after its first start.

A start takes some thirty seconds of processor time, nearly all of it for the imports of its processes; emptying takes none.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import psycopg
from psycopg import sql

from config import embedded
from config.children import wait_until
from tests.prepared import fill
from tests.served import Served, served

FIRST_LINK, JOB = "incidents_firstadminlink", "incidents_job"
"""Tables by name: scripts/screenshots takes this module without Django."""
END_OF_JOBS_S = 120.0
LEFT = ("evidence/[0-9]*", "mail/*")
"""What rooms and people leave in the folder of data."""


@dataclass(frozen=True)
class Shared:
    """A running Exhibit, and the tables that had rows before anybody used it."""

    running: Served
    kept: frozenset[str]


def tables(connection: psycopg.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def connected(running: Served) -> psycopg.Connection:
    return psycopg.connect(embedded.database_url(running.var), autocommit=True)


@contextmanager
def shared() -> Iterator[Shared]:
    """Start an Exhibit that `as_new` can empty."""
    with served(fill=fill) as running:
        with connected(running) as connection:
            filled = {
                name
                for name in tables(connection)
                if connection.execute(sql.SQL("SELECT FROM {} LIMIT 1").format(sql.Identifier(name))).fetchone()
            }
        yield Shared(running, frozenset(filled - {FIRST_LINK}))


def no_jobs(connection: psycopg.Connection) -> bool:
    """Cancel the jobs that wait, and tell whether none runs; one that ends may ask for another."""
    connection.execute(sql.SQL("DELETE FROM {} WHERE state = 'queued'").format(sql.Identifier(JOB)))
    unfinished = sql.SQL("SELECT FROM {} WHERE finished_at IS NULL LIMIT 1").format(sql.Identifier(JOB))
    return connection.execute(unfinished).fetchone() is None


def as_new(exhibit: Shared) -> Served:
    """Remove people, rooms and evidence, and return Exhibit with a new link for the first administrator.

    Numbers of rows go on where they were, so nothing that a process remembers by number is mistaken for something new.
    """
    from incidents.actions.accounts import LASTS  # Django is set up where tests run
    from incidents.models.people.link import new_secret

    running = exhibit.running
    with connected(running) as connection:
        if not wait_until(lambda: no_jobs(connection), END_OF_JOBS_S):
            raise TimeoutError(f"the workers still have jobs after {END_OF_JOBS_S:.0f} s")
        names = sql.SQL(", ").join(map(sql.Identifier, sorted(tables(connection) - exhibit.kept)))
        with connection.transaction():
            connection.execute("SET LOCAL session_replication_role = replica")  # the record refuses to be emptied
            connection.execute(sql.SQL("TRUNCATE {}").format(names))
        for path in (path for pattern in LEFT for path in running.var.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        secret, hashed = new_secret()
        insert = sql.SQL("INSERT INTO {} (token_hash, created_at, expires_at) VALUES (%s, %s, %s)")
        now = datetime.now(UTC)
        connection.execute(insert.format(sql.Identifier(FIRST_LINK)), [hashed, now, now + LASTS])
    return replace(running, first_link=f"{running.url}/first/{secret}/")
