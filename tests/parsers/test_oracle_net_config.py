"""Oracle Net's configuration beyond the corpus."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.source import Hints, Limits
from tests.parsers.evidence import read_bytes

WORD = st.from_regex(r"[A-Za-z][a-z0-9]{1,7}", fullmatch=True)
ENTRY = st.tuples(WORD, WORD, st.integers(1, 65535), WORD)
HINTS = Hints(kind="oracle_net_config", variant="tnsnames")
LAYOUTS = (
    "{0} = (DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST={1})(PORT={2}))(CONNECT_DATA=(SERVICE_NAME={3})))",
    "{0} =\n  (description =\n    (address = (protocol = tcp)(host = {1})\n      (port = {2}))\n    (connect_data =\n      (service_name =\n        {3}))\n  )",
)


@settings(max_examples=40, deadline=None)
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
