"""Test that pseudonyms hide names and keep their relations."""

from __future__ import annotations

import ipaddress
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.secrets.pseudonyms import Pseudonyms, translated

NAMES = {"db1": "host", "app-02": "host", "corp.example.com": "name", "anna": "user", "orders.trc": "file"}


def made(key: bytes = b"one export") -> Pseudonyms:
    return Pseudonyms(key, NAMES)


def common(one: str, other: str) -> int:
    """Return the number of leading octets that two addresses share."""
    pairs = zip(one.split("."), other.split("."), strict=True)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), 4)


@pytest.mark.parametrize(
    ("text", "gone", "stays"),
    [
        ("bounced for ****@mail.example.org, gone", ["example"], "bounced for"),
        ("login on DB1.corp.example.com failed", ["db1", "corp", "example"], "failed"),
        ("db1_listener up, db12 down", ["db1_"], "db12 down"),
        ("ssh anna@db1 and anna.berg@mail.example.org", ["anna", "berg", "db1", "example"], "ssh"),
        ("connect from 10.20.0.53:1521", ["10.20", "0.53"], ":1521"),
        ("peer fe80:12::9a and 2001:db8::7", ["2001:db8", "12::9a"], "peer"),
        ("eth0 00:1B:21:3c:4d:5e up", ["1B:21", "3c:4d"], "eth0"),
        ("open /u01/app/PAYROLL/orders.dbf", ["PAYROLL", "orders", "/app"], "/u01/"),
        ("exec /usr/bin/awk", [], "/usr/bin/"),
        ("GET http://10.1.2.3/payroll/list?id=7", ["10.1.2.3", "payroll", "list"], "GET http://"),
        (r"C:\Users\Anna\payroll.xls", ["Anna", "payroll"], ".xls"),
        ("select name from emp where name = 'MILLER' and id = 7788", ["MILLER", "7788"], "select name from emp"),
        ("insert into t values ('O''Brien', 1234.50)", ["O''Brien", "Brien", "1234"], "insert into t"),
        ("uid=1003(bertha) gid=100(staff2)", ["bertha", "staff2"], "uid=1003("),
    ],
)
def test_names_go_and_the_rest_stays(text: str, gone: list[str], stays: str):
    p = made()
    p.learn([text])
    told = p.text(text)
    assert [word for word in gone if word.lower() in told.lower()] == [], told
    assert stays in told


@pytest.mark.parametrize(
    "text",
    [
        "r b swpd free buff cache",
        "80 KB/s, 1/2 and/or n/a",
        "127.0.0.1 0.0.0.0 255.255.255.255 ::1 224.0.0.251",
        "at 10:11:12.345 it took 1.234567 s",
        "user time 3.2 s, don't 'stop'",
        "shmat(7, 0, 0) = 0x3C0000000",
        "/usr/lib /proc/123/fd /var/log",
        "",
    ],
)
def test_what_is_no_name_stays(text: str):
    assert made().text(text) == text


def test_a_user_learned_in_one_text_goes_in_all():
    p = made()
    p.learn(["sshd: session opened for user bertha(uid=1003)", "user=carl"])
    assert re.fullmatch(r"user-\w+ killed the job of user-\w+", p.text("bertha killed the job of Carl"))


def test_equal_names_are_equal_and_another_export_is_another():
    p, q = made(), made()
    assert p.text("db1 /data/x 10.1.1.1") == q.text("db1 /data/x 10.1.1.1")
    assert p.text("db1") == p.text("DB1") != p.text("app-02")
    assert p.text("db1 10.1.1.1") != made(b"another").text("db1 10.1.1.1")


def test_files_of_one_folder_stay_in_one_folder():
    one, other = made().text("/data/payroll/a.dbf"), made().text("/data/payroll/b.dbf")
    assert one.rpartition("/")[0] == other.rpartition("/")[0]
    assert one != other
    assert one.endswith(".dbf")


ADDRESS = st.tuples(st.integers(1, 223).filter(lambda n: n != 127), *[st.integers(0, 255)] * 3).map(
    lambda four: ".".join(map(str, four))
)


@given(ADDRESS, ADDRESS)
def test_subnets_stay_together(one: str, other: str):
    p = made()
    assert common(p.text(one), p.text(other)) == common(one, other)
    assert not ipaddress.ip_address(p.text(one)).is_loopback


def test_every_address_of_a_network_has_its_own():
    p = made()
    assert len({p.text(f"10.1.2.{n}") for n in range(256)}) == 256
    assert len({p.text(f"{n}.1.1.1").split(".")[0] for n in range(1, 224) if n != 127}) == 222


@given(st.integers(1, 2**16 - 1), st.integers(0, 2**16 - 1))
def test_networks_of_ipv6_stay_together(one: int, other: int):
    p = made()
    told = [ipaddress.ip_address(p.text(f"2001:db8:{one:x}::{n:x}:1")).packed for n in (one, other)]
    assert told[0][:6] == told[1][:6]
    assert (told[0] == told[1]) == (one == other)


def test_a_lead_translates_back():
    p = made()
    text = "db1 (10.20.0.53) read /data/payroll/a.dbf for anna; select 'MILLER' from x"
    told = p.text(text)
    assert translated(told, p.replaced) == text
    assert translated("nothing of it", p.replaced) == "nothing of it"
    assert translated("db1", {}) == "db1"


def test_json_is_replaced_in_its_texts():
    assert made().json({"host": ["127.0.0.1", 7, None], "x": {"y": "db1"}})["host"] == ["127.0.0.1", 7, None]
    assert "db1" not in str(made().json({"x": {"y": "db1"}}))


@given(st.text())
def test_no_text_is_too_odd(text: str):
    assert isinstance(made().text(text), str)
