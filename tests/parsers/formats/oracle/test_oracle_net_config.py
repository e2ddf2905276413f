"""Tests of Oracle Net configuration beyond the corpus."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

WORD = st.from_regex(r"[A-Za-z][a-z0-9]{1,7}", fullmatch=True)
ENTRY = st.tuples(WORD, WORD, st.integers(1, 65535), WORD)
HINTS = Hints(kind="oracle_net_config", variant="tnsnames")
LAYOUTS = (
    "{0} = (DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST={1})(PORT={2}))(CONNECT_DATA=(SERVICE_NAME={3})))",
    "{0} =\n  (description =\n    (address = (protocol = tcp)(host = {1})\n      (port = {2}))\n    (connect_data =\n      (service_name =\n        {3}))\n  )",
)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(ENTRY, min_size=1, max_size=6), st.sampled_from(LAYOUTS))
def test_leaves_come_back_from_the_columns(entries, layout):
    text = "\n".join(layout.format(*entry) for entry in entries)
    rows = read_bytes(text.encode(), HINTS).table("params")
    told = rows.select("entity", "name", "value").rows()
    wanted = []
    for alias, host, port, service in entries:
        leaves = {
            "address.protocol": "tcp",
            "address.host": host,
            "address.port": str(port),
            "connect_data.service_name": service,
        }
        wanted += [(alias, f"description.{name}", value) for name, value in leaves.items()]
    assert told == wanted


def test_an_entry_cut_by_runs_is_the_same():
    text = "\n".join(LAYOUTS[1].format(f"a{i}", "h", i, "s") for i in range(5)).encode()
    whole, cut = read_bytes(text, HINTS), read_bytes(text, HINTS, Limits(block_bytes=16, run_bytes=50))
    assert whole.table("params").equals(cut.table("params"))
    assert whole.account.account == cut.account.account


@pytest.mark.parametrize(
    "line",
    [
        "PASSWORDS_LISTENER = (abcde123)",
        "PASSWORDS_LISTENER = abcde123",
        "X = (DESCRIPTION=(SECURITY=(PASSWORD=abcde123))(CONNECT_DATA=(SID=a)))",
    ],
)
def test_a_password_is_masked_everywhere(line):
    reading = read_bytes(
        f"LISTENER = (ADDRESS = (PORT = 1))\n{line}\nabcde\n".encode(),
        Hints(kind="oracle_net_config", variant="listener"),
    )
    assert "abcde123" not in str(reading.tables["params"].to_dicts())
    assert "********" in str(reading.tables["params"].to_dicts())


def test_open_brackets_are_noted_with_the_line_of_their_entry():
    text = b"A =\n (DESCRIPTION = (ADDRESS = (HOST = x)\nB = (DESCRIPTION = (ADDRESS = (HOST = y)))\nC = (DESCRIPTION = (ADDRESS = (HOST = z))))\n"
    reading = read_bytes(text, HINTS)
    assert [(n.line_from, n.kind, n.text[:2]) for n in reading.account.notes] == [
        (1, "damaged", "2 "),
        (4, "damaged", "mo"),
    ]
    assert reading.table("params")["value"].to_list() == ["x", "y", "z"]


HANDLER = st.tuples(
    WORD, st.sampled_from(["READY", "UNKNOWN", "BLOCKED", "RESTRICTED"]), st.integers(0, 10**9), st.integers(0, 9999)
)


def _services(told):
    lines = ["LSNRCTL for Linux: Version 19.0.0.0.0 - Production on 19-NOV-2021 09:57:17", "", "Services Summary..."]
    for service, status, established, refused in told:
        lines += [
            f'Service "{service}" has 1 instance(s).',
            f'  Instance "i{service}", status {status}, has 1 handler(s) for this service...',
        ]
        lines += [
            "    Handler(s):",
            f'      "DEDICATED" established:{established} refused:{refused} state:ready',
            "         LOCAL SERVER",
        ]
    return "\n".join([*lines, "The command completed successfully"]).encode()


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(HANDLER, min_size=1, max_size=6))
def test_services_come_back_from_the_columns(told):
    reading = read_bytes(_services(told), Hints(kind="oracle_net_config", variant="lsnrctl"))
    rows = reading.table("params").select("entity", "name", "value").rows()
    assert rows == [(service, f"instance.i{service}", status) for service, status, _, _ in told]
    counted = reading.table("counters").select("item", "name", "value").rows()
    wanted = [
        [(f"{s}/i{s}/DEDICATED", "established", float(e)), (f"{s}/i{s}/DEDICATED", "refused", float(r))]
        for s, _, e, r in told
    ]
    assert counted == [row for rows in wanted for row in rows]
    assert reading.account.account.unknown == 0


def test_services_cut_by_runs_are_the_same():
    text = _services([(f"s{i}", "READY", i, 0) for i in range(5)])
    hints = Hints(kind="oracle_net_config", variant="lsnrctl")
    whole, cut = read_bytes(text, hints), read_bytes(text, hints, Limits(block_bytes=16, run_bytes=60))
    assert whole.table("params").equals(cut.table("params"))
    assert whole.table("counters").equals(cut.table("counters"))
    assert whole.account.account == cut.account.account


def test_a_listener_that_does_not_answer_is_one_row():
    text = (
        b"LSNRCTL for Solaris: Version 11.2.0.4.0 - Production on 19-NOV-2021 09:57:17\n\nCopyright (c) 1991, 2013, Oracle.  All rights reserved.\n\n"
        b"Connecting to (ADDRESS=(PROTOCOL=tcp)(HOST=)(PORT=1521))\nTNS-12541: TNS:no listener\n TNS-12560: TNS:protocol adapter error\n"
        b"  TNS-00511: No listener\n   Solaris Error: 146: Connection refused\n"
    )
    reading = read_bytes(text)
    assert reading.account.kind == "oracle_net_config"
    assert reading.table("params").select("name", "value").rows() == [("listener.error", "TNS-12541")]
    assert reading.account.account.unknown == 0
    assert reading.account.parts[0].facts["os"] == "solaris"


def test_a_handler_that_is_not_ready_says_so():
    text = b'Services Summary...\nService "a" has 1 instance(s).\n  Instance "b", status READY, has 1 handler(s) for this service...\n    Handler(s):\n'
    text += b'      "D000" established:7 refused:1 current:2 max:1022 state:blocked\n         DISPATCHER <machine: h, pid: 12>\n'
    reading = read_bytes(text, Hints(kind="oracle_net_config", variant="lsnrctl"))
    assert reading.table("params").select("name", "value").rows() == [
        ("instance.b", "READY"),
        ("instance.b.d000", "blocked"),
    ]
    assert dict(reading.table("counters").select("name", "value").rows()) == {
        "established": 7,
        "refused": 1,
        "current": 2,
        "max": 1022,
    }
