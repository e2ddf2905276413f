"""Tests of connections in Oracle Net traces: their lines, service, child and result."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from parsers.text.source import Hints
from rules.case.case import Case
from tests.parsers.formats.evidence import read_path

CORPUS = Path(__file__).parents[2] / "corpus" / "sqlnet"


def conns(name):
    rows = read_path(CORPUS / f"{name}.txt", Hints(kind="sqlnet", variant="trace")).table("sqlnet")
    return Case.of_tables({"sqlnet": rows}).derived("sqlnet_conns").to_dicts()


def made(rows):
    return Case.of_tables({"sqlnet": rows}).derived("sqlnet_conns").to_dicts()


def test_a_dedicated_connection():
    (found,) = conns("listener-11g-adr-healthy-dedicated-spawn")
    assert (found["conn_key"], found["line_from"], found["service"]) == ("0xf0bb20", 24, "js03")
    assert (found["peer_ip"], found["child_pid"], found["spawn_s"]) == ("127.0.0.1", 4165, 0.014104)
    assert found["result"] == "accepted"


def test_a_refused_connection_starts_no_process():
    (found,) = conns("listener-11g-adr-refused-12514")
    assert (found["service"], found["result"]) == ("junk", "refused TNS-12514")
    assert (found["child_pid"], found["spawn_s"]) == (None, None)


def test_an_address_is_used_again_and_stays_two_connections():
    found = conns("listener-11g-adr-whole")
    assert len(found) == 19
    assert len({c["conn_key"] for c in found}) == 2
    assert [c["result"] for c in found].count("redirected #6252.2") == 8
    assert {c["result"] for c in found if c["service"]} == {"refused TNS-12505", "refused TNS-12514"}
    first = [(c["line_from"], c["line_to"]) for c in found if c["conn_key"] == "0x131a340"]
    assert all(a[1] < b[0] for a, b in pairwise(first))


def test_a_redirected_call_and_its_second_connect_on_the_same_socket():
    first, second = conns("client-19c-scan-redirect-60s-timeout")
    assert first["result"] == "redirected 192.168.10.144:1521"
    assert (second["peer_ip"], second["peer_port"], second["result"]) == ("192.168.10.144", 1521, "timed out")


def test_a_call_without_an_end_is_open():
    (found,) = conns("client-windows-resend-157ms-crlf")
    assert (found["service"], found["peer_ip"], found["peer_port"]) == ("BSWD01", "10.30.194.77", 1525)
    assert found["result"] == "open"


def record(line, func, text, **more):
    known = {"side": "listener", "event": "entry" if text == "entry" else "info", "t_local": line / 10}
    return {"line_no": line, "seq": line, "func": func, "text": text, **known, **more}


def test_two_children_are_told_apart_by_their_contexts():
    rows = [
        record(1, "nsglhc", "Allocating cxd 0x1000", conn_key="0x1000"),
        record(2, "nstoSetupTimeout", "ATO enabled for ctx=0x0xa000, val=60000(millisecs)"),
        record(3, "sntpcall", "entry"),
        record(4, "nsevwait", "waiting for transport event (1 thru 5)..."),
        record(5, "nsglhc", "Allocating cxd 0x2000", conn_key="0x2000"),
        record(6, "nstoSetupTimeout", "ATO enabled for ctx=0x0xb000, val=60000(millisecs)"),
        record(7, "sntpcall", "entry"),
        record(8, "nsevwait", "waiting for transport event (1 thru 5)..."),
        record(9, "nsevfnt", "cxd: 0xb018 stage 0: NT events set:", conn_key="0xb018", nt_events=["READ"]),
        record(10, "sntpcall", "result string is NTP0 77", child_pid=77),
        record(11, "nsevwait", "waiting for transport event (1 thru 5)..."),
    ]
    one, two = made(rows)
    assert (one["child_pid"], one["result"], one["spawn_s"]) == (None, "open", None)
    assert (two["child_pid"], two["result"], two["spawn_s"]) == (77, "accepted", 0.3)


def test_an_answer_that_could_be_for_two_is_for_none():
    rows = [
        record(1, "nsglhc", "Allocating cxd 0x1000", conn_key="0x1000"),
        record(2, "sntpcall", "entry"),
        record(3, "nsevwait", "waiting for transport event (1 thru 5)..."),
        record(4, "nsglhc", "Allocating cxd 0x2000", conn_key="0x2000"),
        record(5, "sntpcall", "entry"),
        record(6, "nsevwait", "waiting for transport event (1 thru 5)..."),
        record(7, "sntpcall", "result string is NTP0 77", child_pid=77),
    ]
    assert [c["child_pid"] for c in made(rows)] == [None, None]
    assert [c["child_pid"] for c in made([*rows[:3], rows[6]])] == [77]


def test_no_trace_no_connections():
    assert made([]) == []
