"""Rules whose system or tool is not here are neither asked for nor counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rules.case.case import Case
from rules.judging.here import Here, here
from rules.model import ArtifactSpec, CaseSpec, HostSpec, PartSpec, Statement, Symptom
from rules.writing.rule import Need, Requires

TRACE, AWR, PRSTAT = Need("syscalls", "syscalls"), Need("db_waits", "db_waits"), Need("microstates", "microstates")
LISTENER = Need("logs[source = listener]", "logs", where=(("source", "=", "listener"),))


@pytest.mark.parametrize(
    ("database", "os", "every", "either", "lacks"),
    [
        (False, "linux", (TRACE,), (), False),
        (False, "linux", (AWR,), (), True),
        (False, "linux", (LISTENER,), (), True),
        (True, "linux", (AWR, LISTENER), (), False),
        (True, "linux", (PRSTAT,), (), True),  # prstat is a tool of Solaris
        (True, None, (PRSTAT,), (), False),
        (False, "linux", (), (AWR, TRACE), False),  # one of them would do
        (False, "linux", (), (AWR, LISTENER), True),
    ],
)
def test_what_a_host_can_never_have(
    database: bool, os: str | None, every: tuple[Need, ...], either: tuple[Need, ...], lacks: bool
) -> None:
    assert Here(database).lacks(Requires(every, either), (*every, *either), os) is lacks


@pytest.mark.parametrize(
    ("spec", "database"),
    [
        (CaseSpec(), False),
        (CaseSpec(symptom=Symptom("everything is slow")), False),
        (CaseSpec(symptom=Symptom("logins take 4 s")), True),
        (CaseSpec(title="The database is slow"), True),
        (CaseSpec(hosts={"a": HostSpec(role="db")}), True),
        (CaseSpec(hosts={"a": HostSpec(role="client")}), False),
        (CaseSpec(artifacts=(ArtifactSpec(1, "a", parts=(PartSpec(1, 1, 2, role="listener"),)),)), True),
        (CaseSpec(statements=(Statement("sga_kb", 4000),)), True),
    ],
)
def test_whether_a_database_takes_part(spec: CaseSpec, database: bool) -> None:
    plain = (ArtifactSpec(9, "vmstat.txt", parts=(PartSpec(1, 1, 9),)),)
    assert here(Case(replace(spec, artifacts=(*spec.artifacts, *plain)))).database is database


def test_without_any_artifact_nothing_is_left_out() -> None:
    assert here(Case(CaseSpec())).database
