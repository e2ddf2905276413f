"""Which operations of MongoDB run long, wait for a lock or scan, as people paste db.currentOp."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.running_operations import observe
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

OPERATION = """\t\t{{
\t\t\t"desc" : "{desc}",
\t\t\t"active" : true,
\t\t\t"opid" : {opid},
\t\t\t"secs_running" : {seconds},
\t\t\t"op" : "{op}",
\t\t\t"ns" : "{ns}",
\t\t\t"planSummary" : "{plan}",
\t\t\t"waitingForLock" : {waits}
\t\t}},
"""


def operation(seconds: str, op: str = "query", ns: str = "wiki.pages", **more: str) -> str:
    held = {"desc": "conn7", "opid": "4711", "plan": "IXSCAN { a: 1 }", "waits": "false", **more}
    return OPERATION.format(seconds=seconds, op=op, ns=ns, **held)


def seen(*operations: str) -> list[Sighting]:
    text = '{\n\t"inprog" : [\n' + "".join(operations) + '\t],\n\t"ok" : 1\n}\n'
    tables = {k: v.to_dicts() for k, v in read_bytes(text.encode()).tables.items()}
    held = {k: v for k, v in tables.items() if k in ("params", "counters")}
    return list(observe(Case.of_tables(held).with_text()))


@pytest.mark.parametrize(
    ("one", "headline", "mechanism"),
    [
        (
            operation("88", "update", waits="true"),
            "An update on wiki.pages has waited for a lock or run before it for 1 min 28 s",
            "table-lock",
        ),
        (
            operation("NumberLong(31)", plan="COLLSCAN"),
            "A query on wiki.pages that reads the whole collection (COLLSCAN) has run for 31.000 s",
            "full-scan",
        ),
        (operation("5"), "A query on wiki.pages has run for 5.000 s", None),
    ],
)
def test_an_operation_that_runs_long(one: str, headline: str, mechanism: str | None) -> None:
    (made,) = seen(one)
    assert made.headline == headline
    assert [found.mechanism for name in made.seen for found in recognise(**name)] == [mechanism] * bool(mechanism)


def test_those_that_wait_are_told_together() -> None:
    waiting = [operation(str(n), "insert", waits="true", opid=str(n)) for n in (9, 70, 12)]
    made = seen(*waiting, operation("400", "command", plan="COLLSCAN"))
    assert [(s.n, s.value) for s in made] == [(3, 70.0), (1, 400.0)]
    assert made[0].headline.endswith("; 3 such operations")


@pytest.mark.parametrize(
    "one",
    [
        operation("0"),
        operation("90000", "getmore", "local.oplog.rs"),
        operation("90000", "none"),
        operation("90000", desc="rsSync-0"),
        operation("90000").replace('"active" : true', '"active" : false'),
        operation("90000", "command").replace('"op"', '"maxAwaitTimeMS" : 10000,\n\t\t\t"op"'),
    ],
)
def test_what_runs_for_ever_or_shortly_says_nothing(one: str) -> None:
    assert seen(one) == []


@pytest.mark.parametrize(
    ("one", "share"),
    [
        (operation("5", plan="COLLSCAN"), 0.6),
        (operation("4", plan="COLLSCAN"), None),
        (operation("50", "getmore", plan="COLLSCAN"), None),
    ],
)
def test_a_scan_leads_once_it_is_long_and_no_copy(one: str, share: float | None) -> None:
    assert [s.share for s in seen(one)] == [share]
