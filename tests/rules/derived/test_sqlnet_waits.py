"""Tests of waits in Oracle Net traces: the event that ends a wait decides its kind."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from parsers.text.source import Hints
from rules.case.case import Case
from tests.parsers.formats.evidence import read_path

CORPUS = Path(__file__).parents[2] / "corpus" / "sqlnet"


def rows_of(name):
    return read_path(CORPUS / f"{name}.txt", Hints(kind="sqlnet", variant="trace")).table("sqlnet")


def waits(records):
    return Case.of_tables({"sqlnet": records}).derived("sqlnet_waits")


def test_the_published_incident():
    (client,) = waits(rows_of("seed001-client-1872ms")).to_dicts()
    assert (client["side"], client["func"], client["kind"], client["ended_by"]) == (
        "client", "nttrd", "peer", "the peer's bytes",
    )  # fmt: skip
    assert (client["line_from"], client["line_to"], client["contiguous"]) == (3, 4, "assumed")
    assert client["wait_s"] == pytest.approx(1.872, abs=1e-9)
    (listener,) = waits(rows_of("seed001-listener-1792ms")).to_dicts()
    assert (listener["side"], listener["kind"], listener["ended_by"]) == ("listener", "spawn", "a child's answer")
    assert (listener["line_from"], listener["line_to"]) == (3, 4)
    assert listener["wait_s"] == pytest.approx(1.792, abs=1e-9)


def test_the_largest_gap_of_a_healthy_listener_is_idle():
    found = waits(rows_of("listener-11g-adr-healthy-dedicated-spawn")).sort("wait_s", descending=True)
    idle, spawn = found.head(2).to_dicts()
    assert (idle["kind"], idle["ended_by"], idle["wait_s"]) == ("idle", "a connection request", 3.350009)
    assert (spawn["kind"], spawn["ended_by"], spawn["wait_s"]) == ("spawn", "a child's answer", 0.011816)
    assert (spawn["line_from"], spawn["line_to"]) == (547, 548)


def test_a_whole_trace_without_a_dedicated_connection_has_no_spawn():
    found = waits(rows_of("listener-11g-adr-whole"))
    worst = found.sort("wait_s", descending=True).row(0, named=True)
    assert (worst["kind"], worst["wait_s"], worst["contiguous"]) == ("idle", 24.109982, "proven")
    assert found.filter(pl.col("kind") == "spawn").is_empty()
    assert len(found.filter(pl.col("ended_by") == "a connection request")) == 19


def test_a_server_that_waits_for_its_client_is_idle():
    worst = waits(rows_of("server-11g-switched-on-mid-session")).sort("wait_s", descending=True).row(0, named=True)
    assert (worst["kind"], worst["ended_by"], worst["wait_s"]) == ("idle", "end of file", 109.632)


def test_a_connect_that_is_not_answered():
    (found,) = waits(rows_of("client-19c-scan-redirect-60s-timeout")).to_dicts()
    assert (found["kind"], found["ended_by"], found["wait_s"]) == ("tcp_connect", "timeout or error", 60.054)


def record(line, func, text, gap=None, **more):
    event = text if text in ("entry", "exit") else "info"
    known = {"side": "listener", "event": event, "contiguous": "assumed", "t_local": float(line)}
    return {"line_no": line, "seq": line, "func": func, "text": text, "gap_s": gap, **known, **more}


def waking(events, gap=5.0, posted="1 newly-posted event(s)"):
    return [
        record(1, "nsevwait", "waiting for transport event (1 thru 5)..."),
        record(2, "nsevwait", posted, gap),
        *(
            record(3 + i, "nsevfnt", "cxd: 0x1 stage 0: events set:", 0.0, **({"nt_events": e} if i % 2 == 0 else {"ns_events": e}))
            for i, e in enumerate(events)
        ),
        record(20, "nsevwait", "exit (0)", 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "kind", "ended_by"),
    [
        ([["CONNECTION REQUEST"], ["INCOMING CALL"]], "idle", "a connection request"),
        ([["READ"], ["OUTGOING CALL COMPLETE"]], "idle", "the client's bytes"),
        ([["READ"], ["INCOMING SEND"]], "idle", "the client's bytes"),
        ([["WRITE"], ["READY FOR SEND"]], "peer", "room to send"),
        ([["READ"], []], "spawn", "a child's answer"),
        ([["READ"], None], "unknown", None),
        ([["READ"]], "unknown", None),
        ([], "unknown", None),
        (
            [["READ"], [], ["CONNECTION REQUEST"], ["INCOMING CALL"]],
            "unknown",
            "a child's answer and a connection request",
        ),
    ],
)
def test_what_wakes_a_listener(events, kind, ended_by):
    (found,) = waits(waking(events)).to_dicts()
    assert (found["kind"], found["ended_by"], found["wait_s"]) == (kind, ended_by, 5.0)


def test_a_timeout_tells_nothing():
    (found,) = waits(waking([], posted="0 newly-posted event(s)")).to_dicts()
    assert (found["kind"], found["ended_by"]) == ("unknown", "a timeout")


def test_events_of_the_next_waking_do_not_count():
    rows = waking([])
    later = [{**r, "line_no": r["line_no"] + 30, "seq": r["seq"] + 30} for r in waking([["READ"], []], gap=0.5)]
    found = waits([*rows, *later]).to_dicts()
    assert [(w["kind"], w["wait_s"]) for w in found] == [("unknown", 5.0), ("spawn", 0.5)]


@pytest.mark.parametrize(
    ("side", "kind", "ended_by"),
    [
        ("client", "peer", "the peer's bytes"),
        ("server", "idle", "the client's bytes"),
        ("listener", "idle", "the client's bytes"),
        (None, "unknown", "the client's bytes"),
    ],
)
def test_whose_read_it_is(side, kind, ended_by):
    rows = [
        record(1, "nttfprd", "entry", side=side),
        record(2, "nttfprd", "socket 5 had bytes read=8", 0.5, side=side, bytes=8, direction="in", socket=5),
    ]
    (found,) = waits(rows).to_dicts()
    assert found["kind"] == kind
    if side is not None:
        assert found["ended_by"] == ended_by


def test_threads_are_kept_apart_and_missing_lines_stay_marked():
    rows = [
        record(1, "nttrd", "entry", side="client", thread="7"),
        record(2, "snlinGetAddrInfo", "entry", side="client", thread="8"),
        record(3, "snlinGetAddrInfo", "exit", 2.0, side="client", thread="8"),
        record(4, "nttrd", "socket 5 had bytes read=8", 3.0, side="client", thread="7", bytes=8, direction="in", contiguous="broken"),
    ]  # fmt: skip
    found = {w["thread"]: w for w in waits(rows).to_dicts()}
    assert (found["8"]["kind"], found["8"]["wait_s"], found["8"]["ended_by"]) == ("name_lookup", 2.0, "an answer")
    assert (found["7"]["kind"], found["7"]["line_from"], found["7"]["contiguous"]) == ("peer", 1, "broken")


def test_a_gap_in_the_middle_of_work_is_unknown_and_short_ones_are_left_out():
    rows = [
        record(1, "nsglonsterm", "entry"),
        record(2, "nsglonsterm", "exit", 2.0),
        record(3, "nsmal", "entry", 0.009),
    ]
    (found,) = waits(rows).to_dicts()
    assert (found["kind"], found["func"], found["wait_s"]) == ("unknown", "nsglonsterm", 2.0)


def test_no_trace_no_waits():
    assert waits([]).is_empty()
