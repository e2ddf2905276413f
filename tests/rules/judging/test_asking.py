"""Tests that at most three asks are chosen: those that tell most about what stands out, for systems of the case."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from parsers.kinds import kinds
from rules.case.case import Case
from rules.case.reading import open_paths
from rules.judging.asking import MOST, asks, command, settling
from rules.judging.evaluate import evaluate
from rules.judging.explaining import Explanation
from rules.judging.here import ANYTHING, EVERY, Here
from rules.model import ArtifactSpec, Ask, CaseSpec, PartSpec
from rules.observers.observer import observers
from rules.signatures.mechanisms import Step, mechanisms
from tests.rules.judging.test_observing import row


def asked(*rows: dict[str, Any], os: str | None = "linux") -> list[str]:
    made, _ = asks(Case.of_tables({}), {"db1": os}, (), (), (), (), None, [{"asks": [], **r} for r in rows])
    return [a.ask for a in made]


def test_what_a_signature_asks_for_comes_before_the_general_next_step() -> None:
    known = row(1, asks=["iostat -x 1", "the log of that minute"], mechanism="disk-latency")
    assert asked(known) == ["iostat -x 1", observers()["long-waits"].OBSERVER.next["linux"]]


def test_what_stands_out_unknown_still_has_a_next_step_of_its_system() -> None:
    (linux,) = asked(row(1, observer="consumers"))
    (solaris,) = asked(row(1, observer="consumers"), os="solaris")
    assert linux.startswith("perf top")
    assert solaris.startswith("prstat")
    assert asked(row(1, observer="failures"), os="hpux") == [], "no command is known there"


def test_a_database_administrator_answers_what_a_database_is_asked() -> None:
    rows = [{**row(1, observer=name), "asks": []} for name in ("database-report", "consumers")]
    made, _ = asks(Case.of_tables({}), {"db1": "linux"}, (), (), (), (), None, rows)
    assert {a.ask.split()[0]: a.who for a in made} == {"an": "DBA", "perf": "system administrator"}
    told = row(1, asks=["explain analyze of the statement"])
    made, _ = asks(Case.of_tables({}), {"db1": "linux"}, (), (), (), (), None, [told])
    assert {a.ask.split()[0]: a.who for a in made}["explain"] == "DBA"


def test_idle_ones_ask_for_nothing_and_three_are_the_most() -> None:
    assert asked(row(1, idle="waits for work", asks=["iostat -x 1"])) == []
    many = [row(n, asks=[f"tool{n} -x"], observer="difference") for n in range(1, 6)]
    assert asked(*many) == [f"tool{n} -x" for n in range(1, MOST + 1)]


def test_where_the_system_is_unknown_one_tracer_is_asked_for() -> None:
    rows = [row(1, asks=["truss -f -p PID", "timeout -s INT 60 strace -f -p PID", "vmstat 5 12"])]
    made, _ = asks(Case.of_tables({}), {"db1": None}, (), (), (), (), None, [{"asks": [], **r} for r in rows])
    assert [a.ask.split()[0] for a in made][:2] == ["truss", "vmstat"]
    rows = [row(1, asks=["ipcs -a", "ps -ef", "netstat -s"])]
    made, _ = asks(Case.of_tables({}), {"db1": None}, (), (), (), (), None, [{"asks": [], **r} for r in rows])
    assert [a.ask for a in made] == ["ipcs -a", "ps -ef", "netstat -s"], "these are three things"


def test_a_database_that_takes_no_part_is_not_asked() -> None:
    rows = [
        row(1, asks=["sqlplus / as sysdba", "psql -c 'select 1', mysql -e 'select 1'", "iostat -x 1"], observer="x")
    ]

    def of(present: Here) -> list[str]:
        made, _ = asks(Case.of_tables({}), {"db1": "linux"}, (), (), (), (), None, rows, present)
        return [a.ask.split()[0] for a in made]

    assert of(ANYTHING) == ["sqlplus", "psql", "iostat"]
    assert of(Here(frozenset())) == ["iostat"], "a host without any database"
    assert of(Here(frozenset({"mysql"}), frozenset({"mysql"}))) == ["psql", "iostat"], (
        "one of the two commands is for it"
    )
    assert of(Here(EVERY)) == ["iostat", "sqlplus", "psql"], "one may take part, which one nobody says"


def test_the_waits_and_sessions_of_a_database_are_asked_for_in_its_own_way() -> None:
    waits, sessions = Step(table="db_waits"), Step(table="sessions")
    for name, words in (("postgres", "psql -c"), ("mysql", "mysql -e")):
        here = Here(frozenset({name}), frozenset({name}))
        for step in (waits, sessions):
            made = command(step, "linux", here)
            assert made
            assert made[0].startswith(words)
            assert here.share(made[0]) == 1
    made = command(waits, "linux", Here(EVERY))
    assert made
    assert "AWR" in made[0]


def after(*names: str, os: str = "linux") -> list[str]:
    parts = tuple(PartSpec(n, 1, 9, host="db1") for n in range(1, len(names) + 1))
    case = Case.of_tables({}, CaseSpec(artifacts=(ArtifactSpec(1, "paste.txt", "0" * 64, parts=parts),)))
    case.manifests = {1: {"parts": [{"part": n, "kind": kind} for n, kind in enumerate(names, 1)]}}
    return [a.ask for a in asks(case, {"db1": os}, (), (), (), ())[0]]


def test_each_kind_has_next_steps_even_if_nothing_stands_out() -> None:
    assert after("vmstat") == list(kinds()["vmstat"].next["linux"])[:MOST]
    assert after("vmstat", os="solaris") == list(kinds()["vmstat"].next["solaris"])[:MOST]
    assert after("vmstat", os="beos") == []
    assert "vmstat -t 5 12" in after("pmap")
    assert "vmstat -t 5 12" not in after("pmap", "vmstat"), "it was uploaded"


def test_the_same_dump_is_asked_for_once_more() -> None:
    assert after("pstack", os="solaris")[0].startswith("pstack PID, three times")


def test_every_next_step_is_for_a_known_system() -> None:
    for name, kind in kinds().items():
        assert set(kind.next) <= {"*", "linux", "solaris", "aix", "hpux", "freebsd", "macos", "windows"}, name
        assert all(ask == ask.strip() and len(ask) < 200 for asked in kind.next.values() for ask in asked), name


def test_evidence_of_one_system_is_asked_for_on_that_system_though_no_host_is_named(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text(
        "".join(f"7 179525457{n}.647573 fdatasync(3) = 0 <0.175887>\n" for n in range(9)), encoding="utf-8"
    )
    report = evaluate(open_paths([trace], None, tmp_path)[0], tmp_path)
    assert report.asks
    assert not any(re.match("truss|prstat|iostat -xn|pstack", a.ask) for a in report.asks)


def test_what_settles_a_lead_is_the_first_step_of_its_own_mechanism() -> None:
    known = mechanisms()["lock-contention"]
    lead = Explanation(known, known.layer, known.hypothesis, "h", (), 1.0, felt=True, named=True, independent=False)
    own = command(known.next[0], "linux", ANYTHING)
    assert own is not None
    general, first = (
        Ask(text, "x", "h", "linux", ("lock-contention",), "a moment", "") for text in ("perf record -a", own[0])
    )
    assert settling(lead, [general, first], "linux", ANYTHING) == own[0]
    assert settling(lead, [general], "linux", ANYTHING) == "perf record -a"
    assert settling(lead, [], "linux", ANYTHING) is None


def test_a_report_of_the_kernel_is_not_settled_by_the_log_that_holds_it() -> None:
    made = command(mechanisms()["kernel-stall"].next[0], "linux", ANYTHING)
    assert made is not None
    assert "/proc/sysrq-trigger" in made[0]
