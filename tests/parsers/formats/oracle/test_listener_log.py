"""Tests of listener logs beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

WORD = st.text("abcdefghij0123456789_", min_size=1, max_size=8)
ENTRY = st.tuples(
    st.integers(1, 28), st.sampled_from(["JAN", "Feb", "AUG", "DEC"]), st.integers(0, 23), st.integers(0, 59), WORD, WORD, WORD,
    st.integers(1, 254), st.integers(1, 65535), st.sampled_from([0, 12505, 12518]),
)  # fmt: skip


def written(entry: tuple) -> str:
    day, month, hour, minute, service, program, host, ip, port, code = entry
    data = f"(CONNECT_DATA=(SERVICE_NAME={service})(CID=(PROGRAM={program})(HOST={host})(USER=someone)))"
    address = f"(ADDRESS=(PROTOCOL=tcp)(HOST=192.0.2.{ip})(PORT={port}))"
    return f"{day:02d}-{month}-2021 {hour:02d}:{minute:02d}:07 * {data} * {address} * establish * {service} * {code}"


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(ENTRY, min_size=1, max_size=12))
def test_entries_come_back_from_the_columns(entries):
    reading = read_bytes("\n".join(map(written, entries)).encode())
    rows = reading.table("logs")
    assert reading.account.account.read == len(entries)
    told = rows.select("service", "program", "client_host", "peer_ip", "peer_port", "ok").rows()
    assert told == [(e[4], e[5], e[6], f"192.0.2.{e[7]}", e[8], e[9] == 0) for e in entries]
    assert rows["code"].to_list() == [f"TNS-{e[9]}" if e[9] else None for e in entries]
    assert [t % 86400 for t in rows["t_local"]] == [e[2] * 3600 + e[3] * 60 + 7 for e in entries]


def test_who_connected_is_masked_everywhere():
    text = written((1, "JAN", 1, 1, "hr", "sqlplus", "app", 4, 1521, 0)).encode() + b"\n"
    wrapped = text.replace(b"(USER=someone", b"(USER=some\none")
    for content in (text * 3, wrapped, text.replace(b"CID=", b"cid=").replace(b"USER=", b"user=")):
        reading = read_bytes(content)
        assert "omeone" not in "".join(reading.table("logs")["text"])
        assert "(USER=*******" in reading.table("logs")["text"][0].upper()
        assert len(reading.tables["logs"]) == content.count(b"establish")


def test_an_entry_cut_by_a_block_is_joined():
    text = (
        written((1, "JAN", 1, 1, "hr", "sqlplus", "app", 4, 1521, 12518)) + "\nTNS-12518: TNS:x\n TNS-12547: TNS:y\n"
    ).encode() * 9
    whole = read_bytes(text)
    cut = read_bytes(text, Hints(), Limits(block_bytes=64, run_bytes=300))
    assert cut.table("logs").equals(whole.table("logs"))
    assert whole.table("logs")["secondary"].to_list() == [["TNS-12518", "TNS-12547"]] * 9


def test_a_stack_without_an_entry_is_a_row_of_its_own():
    text = (
        b"TNS-12541: TNS:no listener\n TNS-511: bad\n" + written((1, "JAN", 1, 1, "hr", "p", "h", 4, 1, 0)).encode() * 1
    )
    rows = read_bytes(text, Hints(kind="listener_log")).table("logs")
    assert rows["code"].to_list() == ["TNS-12541", None]
    assert rows["t_local"][0] is None


def test_a_flattened_paste_is_taken_apart():
    entries = [written((d, "JAN", 3, 4, "hr", "p", "h", 4, 1521, 0)) for d in (1, 2, 3)]
    reading = read_bytes(" ".join(entries).encode())
    assert reading.table("logs")["line_no"].to_list() == [1, 1, 1]
    assert [n.kind for n in reading.account.notes] == ["repaired"]


def test_a_clock_that_steps_back_is_noted_and_nothing_is_sorted():
    text = "".join(written((1, "JAN", h, 4, "hr", "p", "h", 4, 1521, 0)) + "\n" for h in (2, 1)).encode()
    reading = read_bytes(text)
    assert reading.table("logs")["t_local"].is_sorted(descending=True)
    assert [(n.line_from, n.kind) for n in reading.account.notes] == [(2, "remark")]


def test_the_zone_of_clock_lines_may_change():
    entry = "31-MAR-2024 0{}:30:00 * service_update * hr * 0\n"
    text = (
        "2024-03-31T01:30:00.1+01:00\n" + entry.format(1) + "2024-03-31T03:30:00.1+02:00\n" + entry.format(3)
    ).encode()
    domains = read_bytes(text).account.parts[0].domains
    assert [(d.zone, d.lines) for d in domains] == [("Etc/GMT-1", [(1, 2)]), ("Etc/GMT-2", [(3, 4)])]


def test_xml_counts_in_utc_and_rows_without_time_follow():
    msg = "<msg time='2024-03-31T{}' comp_id='tnslsnr'>\n <txt>{} * ping * 0\n </txt>\n</msg>\n"
    text = msg.format("01:30:00.250+01:00", "31-MAR-2024 01:30:00") + msg.format(
        "03:30:00.250+02:00", "31-MAR-2024 03:30:00"
    )
    text += "<msg comp_id='tnslsnr'>\n <txt>31-MAR-2024 03:30:01 * ping * 12508\n </txt>\n</msg>\n"
    reading = read_bytes(text.encode())
    assert reading.table("logs")["t_local"].diff().to_list() == [None, 3600.0, 0.75]
    assert reading.account.parts[0].domains[0].kind == "wall-utc"
    assert reading.table("logs")["line_end"].to_list() == [4, 8, 12]


def test_shapes_of_refused_entries():
    data = "(CONNECT_DATA=(CID=(PROGRAM=)(HOST=h)(USER=u)))"
    address = "(ADDRESS=(PROTOCOL=tcp)(HOST=192.0.2.1)(PORT=9))"
    stamp = "01-JAN-2021 00:00:00"
    text = "\n".join([
        f"{stamp} * {data} * {address} * establish * 12504",
        f"{stamp} * <unknown connect data> * {address} * establish * <unknown sid> * 12525",
        f"{stamp} * {address} * <unknown connect data> * 12537",
        f"{stamp} * http * {address} * handoff * http * 12518",
        f"{stamp} * service_register * 12508",
    ])  # fmt: skip
    rows = read_bytes(text.encode()).table("logs")
    assert rows["op"].to_list() == ["establish", "establish", None, "handoff", "service_register"]
    assert rows["code"].to_list() == ["TNS-12504", "TNS-12525", "TNS-12537", "TNS-12518", "TNS-12508"]
    assert rows["peer_port"].to_list() == [9, 9, 9, 9, None]
    assert rows["program"].null_count() == 5
    assert rows["service"].to_list() == [None, None, None, "http", None]
