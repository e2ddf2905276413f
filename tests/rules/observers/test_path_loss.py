"""Tests that loss at the end of a path is reported with its first hop, and loss only at routers on the way is not."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.path_loss import observe
from tests.parsers.formats.evidence import read_bytes

HEADING = ["HOST: app1", "Loss%", "Snt", "Avg"]


def mtr(*losses: str, sent: str = "10", avg: str = "?") -> list[Sighting]:
    hops = [
        [f"{n}.|-- {'???' if loss == '100.0' else f'10.0.0.{n}'}", loss, sent, avg.split()[n % len(avg.split())]]
        for n, loss in enumerate(losses, 1)
    ]
    rows = [
        {"part": 1, "line_no": n, "table_no": 1, "row_no": n, "heading": HEADING, "cells": cells}
        for n, cells in enumerate(hops, 1)
    ]
    return list(observe(Case.of_tables({"rows": rows})))


def test_loss_at_the_end_is_told_with_its_beginning() -> None:
    (made,) = mtr("0.0%", "50.0%", "0.0%", "20.0%", "30.0%")
    assert made.headline == "10.0.0.5, the last of 5 hops, lost 30 % of 10 packets; loss begins at 10.0.0.4"
    assert [c.line_from for c in made.lines] == [5, 4]


@pytest.mark.parametrize("losses", [("0.0%", "50.0%", "0.0%"), ("?",), ()])
def test_routers_that_do_not_answer_are_normal(losses: tuple[str, ...]) -> None:
    assert mtr(*losses) == []


@pytest.mark.parametrize(
    ("losses", "sent", "share"),
    [
        (("0.0%", "20.0%", "20.0%"), "100", 0.6),
        (("0.0%", "4.0%", "4.0%"), "100", 0.04),
        (("0.0%", "40.0%", "40.0%"), "9", 0.4),
        (("0.0%", "0.0%", "20.0%"), "100", 0.2),
        (("0.0%", "100.0", "20.0%"), "100", 0.2),
    ],
)
def test_loss_decides_if_it_is_large_and_begins_before_the_end(
    losses: tuple[str, ...], sent: str, share: float
) -> None:
    (made,) = mtr(*losses, sent=sent)
    assert made.share == pytest.approx(share)


def test_a_path_behind_whose_last_answer_nobody_answers() -> None:
    (made,) = mtr("0.0%", "50.0%", "0.0%", "100.0", avg="0.0 9.0 500.0 20.0")
    assert made.headline == (
        "behind hop 3, 10.0.0.3, nobody answers (100 % of 10 packets lost);"
        " a filter or a host that does not answer such questions looks the same"
    )
    assert made.beside == (
        "10.0.0.3 itself lost 0 %, so that what 1 router before it did not answer is no loss of the path;"
        " the 500 ms of hop 2 do not last: it answers after 20.0 ms (mean)"
    )
    assert made.seen == ()
    (all_silent,) = mtr("100.0", "100.0")
    assert all_silent.headline.startswith("nobody on the path answered (100 % of 10 packets lost)")


def test_a_path_that_answers_is_normal() -> None:
    (made,) = mtr("0.0%", avg="41.5")
    assert (made.normal, made.headline) == (
        True,
        "10.0.0.1, the only hop, lost none of 10 packets and answered after 41.5 ms (mean)",
    )


REPORT = """Start: 2026-03-01T10:00:00+0000
HOST: app1                        Loss%   Snt   Last   Avg  Best  Wrst StDev
{rows}"""


@pytest.mark.parametrize(
    ("rows", "hosts"),
    [
        ("  1.|-- gw1.example.com            0.0%    10    0.4   0.5   0.4   0.9   0.1\n", ["1.|-- gw1.example.com"]),
        (
            "  7. AS???    ???                 100.0    30    0.0   0.0   0.0   0.0   0.0\n"
            "  8. AS64500  192.0.2.7            0.0%    30    2.1   2.0   1.8   2.5   0.2\n",
            ["7.|-- ???", "8.|-- 192.0.2.7"],
        ),
        ("  1.|-- gw1.example.com            0.0%     2  1000. 400.5 100.5 1000. 350.0\n", ["1.|-- gw1.example.com"]),
    ],
)
def test_reports_of_one_hop_and_with_autonomous_systems_are_read(rows: str, hosts: list[str]) -> None:
    made = read_bytes(REPORT.format(rows=rows).encode()).tables["rows"].to_dicts()
    assert [r["cells"][0] for r in made] == hosts
    assert [r["heading"][:3] for r in made] == [["HOST: app1", "Loss%", "Snt"]] * len(hosts)


@pytest.mark.parametrize(("rows", "told"), [(3, True), (2, False)])
def test_missing_answers_of_ping_are_told(rows: int, told: bool) -> None:
    made: list[dict[str, Any]] = [
        {"line_no": n, "series": "ping", "contiguous": "broken" if n == 2 else "proven"} for n in range(1, rows + 1)
    ]
    found = list(observe(Case.of_tables({"conn_times": made})))
    assert [s.headline for s in found] == (["Answers to ping are missing before 1 of 3 that came"] if told else [])


def test_missing_answers_are_counted_by_their_numbers() -> None:
    rows = [{"line_no": n, "series": "ping", "contiguous": "broken" if n == 2 else "proven"} for n in range(1, 17)]
    holes = [{"part": 1, "line_no": 2, "sample": 1, "grp": "ping", "item": "app1", "name": "missing", "value": 4.0}]
    (made,) = list(observe(Case.of_tables({"conn_times": rows, "counters": holes})))
    assert made.headline == "16 of 20 pings were answered, 4 are missing: 20 % lost"
    assert (made.share, made.seen) == (0.6, ({"event": "echoes-lost"},))
    (run,) = pinged(("db1", None, 40, 30))
    assert (run.share, run.seen) == (0.625, ({"event": "echoes-lost"},))
    (silent,) = pinged(("db1", None, 40, 0))
    assert (silent.share, silent.seen) == (0.5, ())
    few = [{**holes[0], "value": 2.0}]
    (made,) = list(observe(Case.of_tables({"conn_times": rows, "counters": few})))
    assert (made.n, made.seen) == (2, ())


def runs(*of: tuple[str, int | None, int, int]) -> list[dict[str, Any]]:
    """Return counters of runs of ping: host, size, sent, answered."""
    made = []
    for n, (host, size, sent, got) in enumerate(of, 1):
        common = {"part": 1, "sample": n, "grp": "ping", "item": host}
        if size is not None:
            made.append({**common, "line_no": 10 * n, "name": "packet bytes", "value": float(size)})
        made.append({**common, "line_no": 10 * n + 5, "name": "transmitted", "value": float(sent)})
        made.append({**common, "line_no": 10 * n + 5, "name": "received", "value": float(got)})
    return made


def pinged(*of: tuple[str, int | None, int, int]) -> list[Sighting]:
    return list(observe(Case.of_tables({"counters": runs(*of)})))


def test_a_size_that_is_lost_is_told_beside_one_that_is_answered() -> None:
    (made,) = pinged(("10.0.0.8", 92, 5, 5), ("10.0.0.9", 84, 4, 4), ("10.0.0.8", 1480, 5, 0))
    assert made.headline == "10.0.0.8 answered 0 of 5 pings of 1,480 bytes: 100 % lost"
    assert made.beside == "5 of 5 pings of 92 bytes were answered, 0 % lost"
    assert [c.line_from for c in made.lines] == [30, 35, 10, 15]
    assert made.seen == ({"event": "only-small-packets-pass"},)


def test_loss_without_a_smaller_size_that_passes_has_no_name() -> None:
    (alone,) = pinged(("db1", None, 4, 1))
    assert alone.headline == "db1 answered 1 of 4 pings: 75 % lost"
    assert (alone.seen, alone.beside) == ((), None)
    for other in (("db1", 1500, 4, 4), ("db1", 84, 4, 3), ("db2", 84, 4, 4)):
        assert {s.seen for s in pinged(("db1", 1480, 4, 0), other)} == {()}
    (some,) = pinged(("db1", 84, 4, 4), ("db1", 1480, 4, 1))
    assert some.seen == ()


def test_runs_that_are_answered_or_too_short_are_normal() -> None:
    assert pinged(("db1", 84, 4, 4), ("db1", 1500, 2, 0)) == []


def test_a_run_with_an_end_is_told_once() -> None:
    series = [{"line_no": n, "series": "ping", "contiguous": "broken" if n == 2 else "proven"} for n in (1, 2, 3, 4)]
    made = list(observe(Case.of_tables({"conn_times": series, "counters": runs(("db1", 84, 5, 4))})))
    assert [s.headline for s in made] == ["db1 answered 4 of 5 pings of 84 bytes: 20 % lost"]


def test_the_display_of_mtr_without_a_report() -> None:
    pasted = """\
                                       Packets               Pings
 Host                                Loss%   Snt   Last   Avg  Best  Wrst StDev
 1. gw.one.example                    0.0%    40    0.5   0.6   0.4   2.1   0.3
 2. core.two.example                 20.0%    40    9.5   9.6   8.4  12.1   0.9
10. web.two.example                  25.0%    40   30.5  31.9  29.4  94.1   9.3
"""
    rows = read_bytes(pasted.encode()).tables["rows"].to_dicts()
    (made,) = observe(Case.of_tables({"rows": rows}))
    assert (
        made.headline == "web.two.example, the last of 3 hops, lost 25 % of 40 packets; loss begins at core.two.example"
    )
