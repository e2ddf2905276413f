"""Tests of Oracle parameters beyond the corpus."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

NAME = st.from_regex(r"[a-z]{3,8}_[a-z]{3,12}", fullmatch=True)
VALUE = st.from_regex(r"[0-9]{1,6}[KMG]?|[A-Z]{1,9}|/[a-z/]{2,9}", fullmatch=True)
PFILE, SHOW = Hints(kind="oracle_params", variant="pfile"), Hints(kind="oracle_params", variant="show")


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["*", "PROD1"]), NAME, VALUE, st.booleans()), min_size=1, max_size=12))
def test_settings_come_back_from_the_columns(written):
    text = "\n".join(f"{'' if on else '#'}{sid}.{name}={value}" for sid, name, value, on in written)
    rows = read_bytes(text.encode(), PFILE).table("params")
    told = [(sid if sid != "*" else None, name, value, on) for sid, name, value, on in written]
    assert rows.select("entity", "name", "value", "active").rows() == told


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(NAME, st.sampled_from(["big integer", "string", "boolean"]), VALUE), min_size=1, max_size=12))
def test_rows_of_show_come_back_with_blanks_kept_or_collapsed(written):
    for line in ("{0:<36} {1:<11} {2}", "{0} {1} {2}", "{0}\t{1}\t{2}"):
        text = "\n".join(["NAME TYPE VALUE", "---- ---- -----", *(line.format(*row) for row in written)])
        rows = read_bytes(text.encode(), SHOW).table("params")
        assert rows.select("name", "value").rows() == [(name, value) for name, _, value in written]


def test_a_value_that_goes_on_is_joined_over_blocks_and_runs():
    text = b"*.processes=10\n*.control_files=('/a',\n '/b',\n '/c')\n*.sessions=20\n"
    for limits in (Limits(), Limits(block_bytes=8, run_bytes=24)):
        reading = read_bytes(text, PFILE, limits)
        rows = reading.table("params")
        assert rows.select("name", "line_no", "line_end").rows()[1] == ("control_files", 2, 4)
        assert rows["value"][1] == "('/a', '/b', '/c')"
        assert reading.account.account.read == 5


@pytest.mark.parametrize("line", ["*.wallet_password='geheim7'", "*.wallet_password=geheim7"])
def test_a_password_is_masked_in_rows_and_quotes(line):
    reading = read_bytes(f"*.processes=1\n*.sessions=2\n{line}\ngeheim7?\n".encode())
    assert "geheim7" not in str(reading.tables)
    assert "geheim7" not in str(reading.account.notes)


def test_a_remark_with_an_equals_sign_is_no_setting():
    text = b"# processes: see ticket = 12\n#memory_target = 5G\n*.processes=10\n*.sga_target=1G\n"
    rows = read_bytes(text).table("params")
    assert rows.select("name", "active").rows() == [("memory_target", False), ("processes", True), ("sga_target", True)]


def test_a_hash_inside_quotes_is_no_comment():
    rows = read_bytes(b"*.log_archive_format='a#b' # why\n*.processes=10 # x 'y\n", PFILE).table("params")
    assert rows["value"].to_list() == ["a#b", "10"]


def test_what_is_no_setting_is_unknown():
    reading = read_bytes(b"*.processes=10\n*.sga_target=1G\nfoo bar\n")
    assert [(n.line_from, n.kind) for n in reading.account.notes] == [(3, "unknown")]
