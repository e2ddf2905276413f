"""How the last run of a container ended: at its limit, with an error, and runs that ended well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rules.case.case import Case
from rules.observers.container_ends import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import parse_bytes

DESCRIBED = """\
    State:          Running
      Started:      Tue, 05 Mar 2024 10:00:50 +0000
    Last State:     Terminated
      Reason:       {reason}
      Exit Code:    {code}
      Started:      Tue, 05 Mar 2024 10:00:05 +0000
      Finished:     Tue, 05 Mar 2024 {finished} +0000
    Ready:          True
    Restart Count:  6
    {block}:
      cpu:     500m
      memory:  64Mi
    Requests:
      memory:  32Mi
    State:          Running
      Started:      Tue, 05 Mar 2024 09:00:00 +0000
    Ready:          True
    Restart Count:  0
"""


def made(text: str) -> list[Sighting]:
    run = parse_bytes(text.encode(), "text", "plain")
    assert run is not None
    tables: dict[str, Any] = {
        name: run.tables[name].to_dicts() for name in ("params", "counters", "logs") if name in run.tables
    }
    return list(observe(Case.of_tables(tables).with_text()))


def described(reason: str = "OOMKilled", code: int = 137, finished: str = "10:00:47", block: str = "Limits") -> str:
    return DESCRIBED.format(reason=reason, code=code, finished=finished, block=block)


def test_a_container_that_was_killed_at_its_limit() -> None:
    (one,) = made(described())
    assert one.headline == (
        "The last run of a container was ended (OOMKilled, exit code 137) at its memory limit of 64 MiB, 42.000 s after its start;"
        " it was started again 6 times"
    )
    assert (one.value, one.unit) == (64.0, "MiB")
    assert [c.line_from for c in one.lines] == [4, 5, 6, 7, 9, 12]
    assert recognise(**one.seen[0])[0].mechanism == "memory-limit"


def test_what_it_asked_for_is_no_limit() -> None:
    (one,) = made(described(block="Requests"))
    assert "limit" not in one.headline


def test_an_error_and_dates_that_cannot_be() -> None:
    (one,) = made(described("Error", 1, "09:59:00"))
    assert one.headline == "The last run of a container was ended (Error, exit code 1); it was started again 6 times"
    assert one.name == "restarts"


def test_a_run_that_completed_and_a_container_that_was_never_started_again() -> None:
    assert made(described("Completed", 0)) == []
    assert made("    State:          Running\n    Restart Count:  0\n") == []


def test_the_corpus_has_none() -> None:
    assert made((Path(__file__).parents[2] / "corpus" / "text" / "derived-kubectl-top.txt").read_text()) == []


INSPECTED = """\
        "State": {
            "Status": "exited",
            "OOMKilled": %s,
            "Dead": false,
            "ExitCode": 137,
            "Error": "",
            "StartedAt": "2031-03-01T10:00:00.795764356Z",
            "FinishedAt": "%s"
        },
"""


def test_the_state_of_a_container_of_docker() -> None:
    (told,) = made(INSPECTED % ("true", "2031-03-01T10:03:12.171492914Z"))
    assert told.headline == (
        "A container was ended for want of memory (OOMKilled, exit code 137), 3 min 12 s after its start"
    )
    assert recognise(**told.seen[0])[0].mechanism == "memory-limit"
    assert [line.line_from for line in told.lines] == [3, 5, 7, 8]
    (signalled,) = made(INSPECTED % ("false", "2031-03-01T10:03:12.171492914Z"))
    assert signalled.headline == (
        "A container ended with exit code 137, that is by signal 9, and not marked as ended for want of memory,"
        " 3 min 12 s after its start"
    )
    assert signalled.seen == ()
    assert made(INSPECTED.replace("137", "0") % ("false", "2031-03-01T10:03:12.171492914Z")) == []
    (running,) = made(INSPECTED % ("true", "0001-01-01T00:00:00Z"))
    assert running.headline == "A container was ended for want of memory (OOMKilled, exit code 137)"
