"""Tests of resolver settings beyond the corpus."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

DOMAIN = st.from_regex(r"[a-z]{1,8}\.(com|org|net)", fullmatch=True)


@settings(max_examples=examples(40), deadline=None, database=None)
@given(
    servers=st.lists(st.ip_addresses().map(str), min_size=1, max_size=3),
    domains=st.lists(DOMAIN, min_size=1, max_size=4),
    timeout=st.integers(1, 30),
)
def test_tokens_come_out_of_the_columns(servers, domains, timeout):
    text = (
        f"search {' '.join(domains)}\n"
        + "".join(f"nameserver {s}\n" for s in servers)
        + f"options timeout:{timeout} rotate\n"
    )
    table = read_bytes(text.encode()).table("params")
    named = {name: rows for (name,), rows in table.group_by("name")}
    assert named["nameserver"]["value"].to_list() == servers
    assert named["search"]["list"].to_list() == [domains]
    assert named["timeout"]["num"].to_list() == [timeout]
    assert named["options"]["list"].to_list() == [[f"timeout:{timeout}", "rotate"]]


def test_only_three_nameservers_are_asked():
    text = "".join(f"nameserver 192.0.2.{n}\n" for n in range(1, 6))
    reading = read_bytes(text.encode())
    assert reading.table("params")["active"].to_list() == [True, True, True, False, False]
    assert [n.kind for n in reading.account.notes] == ["remark"]


def test_prose_about_options_is_no_resolver():
    assert read_bytes(b"options are many\nand search is hard\n").account.kind == "text"


def test_lines_of_options_add_up_and_the_last_of_each_counts():
    text = b"nameserver 192.0.2.53\noptions timeout:1\noptions rotate\noptions timeout:3\n"
    rows = read_bytes(text).table("params").filter(pl.col("name") != "nameserver")
    assert rows.select("name", "value", "active").rows() == [
        ("timeout", "1", False),
        ("options", "timeout:1", True),
        ("rotate", "on", True),
        ("options", "rotate", True),
        ("timeout", "3", True),
        ("options", "timeout:3", True),
    ]


def test_the_file_of_another_machine_has_three_nameservers_of_its_own():
    text = b"""root@node:~# cat /etc/resolv.conf
nameserver 192.0.2.53
nameserver 192.0.2.54

/ # cat /etc/resolv.conf
nameserver 10.0.0.10
nameserver 192.0.2.53
nameserver 192.0.2.54
nameserver 192.0.2.55
"""
    rows = read_bytes(text).table("params").filter(pl.col("name") == "nameserver")
    assert rows["active"].to_list() == [True, True, True, True, True, False]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("search a.svc.cluster.local svc.cluster.local .\n", "resolv_conf"),
        ("search example.com\n", "resolv_conf"),
        ("search example.com\nand then the next one\n", "text"),
        ("search again later.\n", "text"),
    ],
)
def test_a_search_list_may_stand_alone(text, kind):
    assert read_bytes(text.encode()).account.kind == kind


def test_what_dig_prints_below_is_no_comment():
    text = (
        "; made by hand\nnameserver 10.7.0.2\nnameserver 10.7.0.3\n"
        ";; connection timed out; no servers could be reached\n; <<>> DiG 9.18.1 <<>> a.example\n"
    )
    assert read_bytes(text.encode()).account.account.read == 3
