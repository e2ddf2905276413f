"""Tests of interface counters: rows rebuilt from the columns, and the effect of damage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.network.netdev.format import DEV_NAMES
from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

COUNT = st.integers(0, 2**53)
FACES = st.lists(st.sampled_from(["eth0", "lo", "bond0.5", "net0"]), min_size=1, max_size=4, unique=True)


@settings(max_examples=examples(40), deadline=None, database=None)
@given(faces=FACES, data=st.data())
def test_proc_net_dev_comes_out_of_the_columns_again(faces, data):
    told = {f: data.draw(st.lists(COUNT, min_size=16, max_size=16)) for f in faces}
    text = "Inter-|   Receive  |  Transmit\n face |bytes    packets\n"
    text += "".join(f"{f:>6}:{' '.join(map(str, v))}\n" for f, v in told.items())
    rows = parse_bytes(text.encode(), "netdev", "table").tables["counters"]
    want = [(f, n, float(v)) for f, values in told.items() for n, v in zip(DEV_NAMES, values, strict=True)]
    assert rows.select("item", "name", "value").rows() == want


@settings(max_examples=examples(40), deadline=None, database=None)
@given(st.lists(COUNT, min_size=12, max_size=12))
def test_ip_link_comes_out_of_the_columns_again(values):
    rx, tx = values[:6], values[6:]
    text = (
        "2: eth0@if3: <BROADCAST,UP> mtu 1500 qdisc mq state UP\n    link/ether 00:16:3e:00:00:01 brd ff:ff:ff:ff:ff:ff\n"
        f"    RX:  bytes packets errors dropped  missed   mcast\n    {' '.join(map(str, rx))}\n"
        f"    TX:  bytes packets errors dropped carrier collsns\n    {' '.join(map(str, tx))}\n"
    )
    reading = read_bytes(text.encode())
    rows = reading.table("counters")
    names = [
        f"{s} {n}"
        for s, ns in (("RX", "missed mcast"), ("TX", "carrier collsns"))
        for n in f"bytes packets errors dropped {ns}".split()
    ]
    assert rows.select("item", "name", "value").rows() == [
        ("eth0", n, float(v)) for n, v in zip(names, values, strict=True)
    ]
    assert reading.account.account.unknown == 0


def test_numbers_that_do_not_fit_their_header_are_no_counters():
    text = "2: eth0: <UP> mtu 1500\n    RX: bytes  packets  errors\n    1 2\n    TX: bytes packets errors\n    1 2 3\n"
    reading = read_bytes(text.encode())
    assert reading.table("counters")["name"].to_list() == ["TX bytes", "TX packets", "TX errors"]
    assert reading.account.account.unknown == 1


def test_the_interface_of_ethtool_comes_from_its_command():
    text = b"NIC statistics:\n     rx_packets: 34\n     rx_missed_errors: 17\n"
    assert read_bytes(text).table("counters")["item"].to_list() == [None, None]
    told = read_bytes(text, Hints(command="ethtool -S eth0")).table("counters")
    assert told["item"].to_list() == ["eth0", "eth0"]


def test_growth_between_two_captures_is_given():
    block = "Inter-|   Receive\n face |bytes\n  eth0: {} 2 3 4 0 0 0 0 9 10 0 0 0 0 0 0\n"
    rows = read_bytes((block.format(100) + block.format(250)).encode()).table("counters")
    assert rows.filter(rows["name"] == "RX bytes")["delta"].to_list() == [None, 150.0]


@pytest.mark.parametrize("dash", ["-", "0"])
def test_a_dash_is_no_value(dash):
    text = (
        "Name  Mtu   Network     Address           Ipkts Ierrs    Opkts Oerrs  Coll\n"
        f"en0   1500  link#2      0.11.25.0.0.1     3405107     {dash}  2886201     2     0\n"
    )
    rows = read_bytes(text.encode()).table("counters")
    assert ("Ierrs" in rows["name"].to_list()) is (dash == "0")
    assert dict(rows.select("name", "value").iter_rows())["Opkts"] == 2886201.0


SAMPLES = st.lists(st.lists(st.integers(0, 10**9), min_size=5, max_size=5), min_size=1, max_size=8)


@settings(max_examples=examples(30), deadline=None)
@given(samples=SAMPLES, total=st.booleans(), block_bytes=st.sampled_from([80, 1_000_000]))
def test_intervals_come_out_of_the_columns_again(samples, total, block_bytes):
    faces = "    input   (en0)   output" + ("       input  (Total)    output" if total else "")
    words = "packets errs  packets errs  colls" + ("  packets errs  packets errs  colls" if total else "")
    rows = ["  ".join(map(str, s + s if total else s)) for s in samples]
    text = "\n".join([faces, words, *rows]) + "\n"
    hints = Hints(kind="netdev", variant="interval", interval_s=5.0)
    reading = read_bytes(text.encode(), hints, Limits(block_bytes=block_bytes))
    found = reading.table("counters").filter(item="en0").select("sample", "first", "name", "value", "delta").rows()
    names = ("input packets", "input errs", "output packets", "output errs", "colls")
    assert found == [
        (n, n == 1, name, float(v) if n == 1 else round(v / 5, 6), None if n == 1 else float(v))
        for n, values in enumerate(samples, start=1)
        for name, v in zip(names, values, strict=True)
    ]
    assert reading.account.account.unknown == 0


def test_a_heading_with_bytes_has_no_row_since_boot():
    text = "            input        (Total)           output\n   packets  errs idrops      bytes    packets  errs      bytes colls\n"
    text += "       120     0     0      90410        100     0      15000     0\n"
    row = read_bytes(text.encode()).table("counters").filter(name="output bytes").row(0, named=True)
    assert (row["item"], row["first"], row["value"], row["delta"], row["mode"]) == (
        "Total",
        False,
        15000.0,
        15000.0,
        None,
    )


def test_digits_without_end_are_no_counter_and_stop_nothing():
    text = "LINK            IPACKETS  RBYTES      IERRORS  OPACKETS     OBYTES      OERRORS\n"
    text += f"net0            3405107   865450302   7        2886201     {'9' * 400}   0\n"
    text += "net0            3405108   865450309   7        2886209     12   0\n"
    run = parse_bytes(text.encode(), "netdev", "table")
    assert run is not None
    rows = run.tables["counters"].filter(name="OBYTES")
    assert rows.select("value", "delta").rows() == [(None, None), (12.0, None)]
    assert [n.text for n in run.batch.notes] == ["value is beyond 2^63: a counter that fell below zero, left out"]


@settings(max_examples=examples(40), deadline=None, database=None)
@given(faces=FACES, data=st.data(), old=st.booleans())
def test_ifconfig_comes_out_of_the_columns_again(faces, data, old):
    text, want = "", []
    for face in faces:
        a, b, c, d = (data.draw(COUNT) for _ in range(4))
        if old:
            text += f"{face:<9} Link encap:Ethernet  HWaddr 02:42:AC:16:00:03\n          RX packets:{a} errors:{b} dropped:0 overruns:0 frame:0\n"
            text += (
                f"          collisions:{c} txqueuelen:1000\n          RX bytes:{d} (1.0 B)  TX bytes:{a} (1.0 B)\n\n"
            )
            names = [
                "RX packets",
                "RX errors",
                "RX dropped",
                "RX overruns",
                "RX frame",
                "TX collisions",
                "RX bytes",
                "TX bytes",
            ]
            values = [a, b, 0, 0, 0, c, d, a]
        else:
            text += f"{face}: flags=4163<UP,RUNNING>  mtu 1500\n        RX packets {a}  bytes {b} (1.0 B)\n"
            text += f"        TX errors {c}  dropped {d} overruns 0  carrier 0  collisions 0\n\n"
            names = ["RX packets", "RX bytes", "TX errors", "TX dropped", "TX overruns", "TX carrier", "TX collisions"]
            values = [a, b, c, d, 0, 0, 0]
        want += [(face, n, float(v)) for n, v in zip(names, values, strict=True)]
    rows = parse_bytes(text.encode(), "netdev", "ifconfig").tables["counters"]
    assert rows.select("item", "name", "value").rows() == want


def test_the_lines_that_grep_left_of_ethtool_are_counters():
    reading = read_bytes(b"     rx_missed_errors: 17\n     rx_no_dma_resources: 17\n")
    assert reading.table("counters")["name"].to_list() == ["rx_missed_errors", "rx_no_dma_resources"]


def test_rows_of_a_bond_have_flags_in_small_letters():
    text = (
        b"Kernel Interface table\nIface             MTU    RX-OK RX-ERR RX-DRP RX-OVR    TX-OK TX-ERR TX-DRP TX-OVR Flg\n"
        b"bond7            1500 90071234      0   8123 0      71234567      0      0      0 BMmRU\n"
        b"net7             1500 90071234      0   8123 0      71234567      0      0      0 BMsRU\n"
    )
    rows = read_bytes(text).table("counters").filter(name="RX-DRP")
    assert rows.select("item", "value").rows() == [("bond7", 8123.0), ("net7", 8123.0)]
