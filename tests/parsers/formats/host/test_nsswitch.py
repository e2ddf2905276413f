"""Tests of nsswitch.conf and netsvc.conf beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

DATABASE = st.sampled_from(["passwd", "group", "hosts", "netmasks", "services", "ipnodes"])
ENTRY = st.sampled_from(
    [
        "files",
        "nis",
        "dns",
        "ldap",
        "cluster",
        "[NOTFOUND=return]",
        "[SUCCESS=return]",
        "[!UNAVAIL=return TRYAGAIN=continue]",
    ]
)


@settings(max_examples=examples(40), deadline=None, database=None)
@given(
    rows=st.dictionaries(DATABASE, st.lists(ENTRY, min_size=1, max_size=5).map(lambda x: ["files", *x]), min_size=1),
    gap=st.sampled_from([" ", "\t", "      "]),
)
def test_tokens_of_a_line_come_out_of_the_columns(rows, gap):
    text = "".join(f"{name}:{gap}{gap.join(entries)}\n" for name, entries in rows.items())
    table = read_bytes(text.encode()).table("params")
    assert table.select("name", "list").rows() == list(rows.items())
    assert table["active"].all()


def test_a_later_line_overrides_and_a_comment_is_an_alternative():
    table = read_bytes(b"#hosts: cluster files\nhosts: files\nhosts: files dns # both\n").table("params")
    assert table.select("list", "active").rows() == [
        (["cluster", "files"], False),
        (["files"], False),
        (["files", "dns"], True),
    ]


def test_prose_behind_a_comment_sign_is_no_alternative():
    reading = read_bytes(b"# hosts: see the manual page\nhosts: files dns\npasswd: files\n")
    assert reading.table("params")["name"].to_list() == ["hosts", "passwd"]
    assert reading.account.account.read == 3


def test_netsvc_has_commas_and_equals():
    table = read_bytes(b"hosts = local , bind4=auth\n").table("params")
    assert table.select("name", "list").rows() == [("hosts", ["local", "bind4=auth"])]
