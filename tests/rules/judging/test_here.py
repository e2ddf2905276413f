"""Tests that evidence of a system or tool that the case does not have is neither asked for nor counted as missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rules.case.case import Case
from rules.judging.here import Here, here
from rules.model import ArtifactSpec, CaseSpec, HostSpec, PartSpec, Statement, Symptom
from rules.writing.rule import Need, Requires

TRACE, AWR, PRSTAT = Need("syscalls", "syscalls"), Need("db_waits", "db_waits"), Need("microstates", "microstates")
LISTENER = Need("logs[source = listener]", "logs", where=(("source", "=", "listener"),))


PG_LOG = Need("logs[source = postgres]", "logs", where=(("source", "=", "postgres"),))
SESSIONS = Need("sessions", "sessions")
EVERY, NONE, PG = frozenset(("oracle", "postgres", "mysql")), frozenset[str](), frozenset(("postgres",))


@pytest.mark.parametrize(
    ("databases", "os", "every", "either", "lacks"),
    [
        (NONE, "linux", (TRACE,), (), False),
        (NONE, "linux", (AWR,), (), True),
        (NONE, "linux", (LISTENER,), (), True),
        (NONE, "linux", (SESSIONS,), (), True),
        (EVERY, "linux", (AWR, LISTENER, PG_LOG), (), False),
        (PG, "linux", (PG_LOG, SESSIONS), (), False),
        (PG, "linux", (AWR,), (), True),  # PostgreSQL has no AWR report
        (EVERY, "linux", (PRSTAT,), (), True),  # prstat is a tool of Solaris
        (EVERY, None, (PRSTAT,), (), False),
        (NONE, "linux", (), (AWR, TRACE), False),  # one of them would do
        (NONE, "linux", (), (AWR, LISTENER), True),
    ],
)
def test_what_a_host_can_never_have(
    databases: frozenset[str], os: str | None, every: tuple[Need, ...], either: tuple[Need, ...], lacks: bool
) -> None:
    assert Here(databases).lacks(Requires(every, either), (*every, *either), os) is lacks


@pytest.mark.parametrize(
    ("spec", "databases"),
    [
        (CaseSpec(), NONE),
        (CaseSpec(symptom=Symptom("everything is slow")), NONE),
        (CaseSpec(symptom=Symptom("logins take 4 s")), EVERY),
        (CaseSpec(title="The database is slow"), EVERY),
        (CaseSpec(title="PostgreSQL is slow since the database moved"), PG),
        (CaseSpec(hosts={"a": HostSpec(role="db")}), EVERY),
        (CaseSpec(hosts={"a": HostSpec(role="client")}), NONE),
        (
            CaseSpec(artifacts=(ArtifactSpec(1, "a", parts=(PartSpec(1, 1, 2, role="listener"),)),)),
            frozenset(("oracle",)),
        ),
        (CaseSpec(statements=(Statement("sga_kb", 4000),)), frozenset(("oracle",))),
    ],
)
def test_which_databases_take_part(spec: CaseSpec, databases: frozenset[str]) -> None:
    plain = (ArtifactSpec(9, "vmstat.txt", parts=(PartSpec(1, 1, 9),)),)
    assert here(Case(replace(spec, artifacts=(*spec.artifacts, *plain)))).databases == databases


def test_without_any_artifact_nothing_is_left_out() -> None:
    assert here(Case(CaseSpec())).databases == EVERY
