"""Tests of Oracle Net traces: forms of the prefix, records of several lines, secrets, gaps, sides, sizes of blocks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.oracle.sqlnet import packets as net_packets
from parsers.formats.oracle.sqlnet import records as net_records
from parsers.lines import LineReader
from parsers.reading import read
from parsers.secrets import connect_descriptors
from parsers.tables.parquet import scan
from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

CORPUS = Path(__file__).parents[3] / "corpus" / "sqlnet"
TRACE = Hints(kind="sqlnet", variant="trace")


def trace(text, **limits):
    content = text if isinstance(text, bytes) else text.encode()
    return read_bytes(content, TRACE, Limits(**limits) if limits else None)


def rows(text, **limits):
    return trace(text, **limits).tables["sqlnet"]


def sample(name):
    return (CORPUS / f"{name}.txt").read_bytes()


# forms of the prefix

FORMS = {
    "A": ("nttbnd2addr: {}", None, None),
    "B": ("nttbnd2addr:{}", None, None),
    "C": ("[14-APR-2016 05:58:39:329] nttbnd2addr: {}", None, 1460613519.329),
    "D": ("(3084) [14-APR-2016 05:58:39:329] nttbnd2addr: {}", "3084", 1460613519.329),
    "E": ("[000001 14-APR-2016 05:58:39:329] nttbnd2addr: {}", None, 1460613519.329),
    "F": ("(3084) [000001 14-APR-2016 05:58:39:329] nttbnd2addr: {}", "3084", 1460613519.329),
    "G": ("2016-04-14 05:58:39.329524 : nttbnd2addr:{}", None, 1460613519.329524),
    "H": ("2016-04-14 05:58:39.329 : nttbnd2addr:{}", None, 1460613519.329),
    "indented": ("\t  [14-APR-2016 05:58:39:329] nttbnd2addr: {}", None, 1460613519.329),
    "quoted": ("> [14-APR-2016 05:58:39:329] nttbnd2addr: {}", None, 1460613519.329),
    "escaped": (r"\[14-APR-2016 05:58:39:329\] nttbnd2addr: {}", None, 1460613519.329),
    "bracket lost": ("3084) [14-APR-2016 05:58:39:329] nttbnd2addr: {}", "3084", 1460613519.329),
}


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_form_of_the_prefix(form):
    pattern, thread, t = FORMS[form]
    found = rows("\n".join(pattern.format(text) for text in ("entry", "using ::1", "exit")))
    assert found["func"].to_list() == ["nttbnd2addr"] * 3
    assert found["text"].to_list() == ["entry", "using ::1", "exit"]
    assert found["event"].to_list() == ["entry", "info", "exit"]
    assert found["thread"].to_list() == [thread] * 3
    assert found["t_local"].to_list() == [t] * 3
    assert found["seq"].to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    ("month", "t"), [("OKT", 10), ("MÄRZ", 3), ("AOÛT", 8), ("DEZ", 12), ("ЯНВ", 1), ("2月", 2), ("DIC", 12)]
)
def test_a_localised_month(month, t):
    (found,) = rows(f"[14-{month}-2016 05:58:39:329] nscon: entry\n").rows(named=True)
    assert pl.select(pl.from_epoch(pl.lit(int(found["t_local"])))).item().month == t


def test_a_day_that_does_not_exist_is_no_time():
    found = rows("[31-FEB-2016 05:58:39:329] nscon: entry\n[01-MAR-2016 00:00:00:000] nscon: exit\n")
    assert found["t_local"].is_null().to_list() == [True, False]
    assert found["gap_s"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("entry", "entry"), ("entry: oln/tot=0", "entry"), ("exit", "exit"), ("normal exit", "exit"), ("exit (0)", "exit"),
        ("exit: oln=0, dln=11, tot=21, rc=0", "exit"), ("error exit", "error_exit"), ("exit (-1)", "error_exit"),
        ("exit: oln=0, dln=0, tot=0, rc=-1", "error_exit"), ("exiting now", "info"),
    ],
)  # fmt: skip
def test_a_phase_word(text, event):
    assert rows(f"[14-APR-2016 05:58:39:329] nsbasic_brc: {text}\n")["event"].to_list() == [event]


def test_two_records_on_one_line_are_two_rows():
    found = rows(
        "2014-11-15 16:44:06.399690 : nsglcrstrc:createMessage: alloc mtype=0x131aa40\n"
        " mname=0x131aa602014-11-15 16:44:06.399701 : nsglcrstrc:exit\n"
        "2014-11-15 16:44:06.399720 : nsglcrstrc:Exiting clscrsmsgCreate2014-11-15 16:44:06.399729 : nsglcrstrc:exit\n"
    )
    assert found["line_no"].to_list() == [1, 2, 3, 3]
    assert found["line_end"].to_list() == [2, 2, 3, 3]
    assert found["text"].to_list() == [
        "createMessage: alloc mtype=0x131aa40\nmname=0x131aa60",
        "exit",
        "Exiting clscrsmsgCreate",
        "exit",
    ]


STAMPS = {
    "C": "[{day}-{month}-2016 05:58:{second}:329]{blank}",
    "D": "({thread}) [{day}-{month}-2016 05:58:{second}:329]{blank}",
    "E": "[00000{thread} {day}-{month}-2016 05:58:{second}:329]{blank}",
    "G": "2016-04-{day} 05:58:{second}.32952{thread} :{blank}",
}


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), form=st.sampled_from(sorted(STAMPS)))
def test_stamps_in_columns_are_what_the_pattern_reads(data, form):
    """Check that both ways agree: indented lines do not fit the columns, so the pattern reads them."""
    drawn = st.tuples(
        st.fixed_dictionaries(
            {
                "day": st.sampled_from(["14", "14", "31", "4", "1x", "99"]),
                "month": st.sampled_from(["APR", "APR", "JUN", "XYZ", "MÄRZ"]),
                "second": st.sampled_from(["39", "39", "40", "4x", "00"]),
                "thread": st.sampled_from(["1", "2", "7", "-7"]),
                "blank": st.sampled_from([" ", " ", "", "  "]),
            }
        ),
        st.sampled_from(
            ["nttrd: entry", "Some text: all of it", "nttrd:exit", "a: b", "nscon: 2 : 3", "READ", "", "nscon"]
        ),
    )
    lines = [STAMPS[form].format(**stamp) + said for stamp, said in data.draw(st.lists(drawn, min_size=1, max_size=25))]
    first = STAMPS[form].format(day="14", month="APR", second="39", thread="1", blank=" ") + "nscon: entry"
    frame = pl.DataFrame({"line_no": range(1, len(lines) + 2), "line": [first, *(line.rstrip() for line in lines)]})
    shape = net_records.shape_of(frame["line"].head(1))
    columns = ["line_no", "sub", "stamped", "thread", "day", "micro", "func"]
    straight = net_records.split(frame, shape)
    indented = net_records.split(frame.with_columns(line="\t" + pl.col("line")), shape)
    assert straight.select(columns).rows() == indented.select(columns).rows()
    assert straight["text"].str.strip_chars().to_list() == indented["text"].str.strip_chars().to_list()
    assert straight["record"][0]


# records of several lines

LISTENER = "2014-11-15 16:13:28.29{} : nsevfnt:cxd: 0xf1b9c8 stage 0: N{} events set:\n"


def test_an_empty_list_is_not_a_missing_list():
    text = LISTENER.format("8212", "T") + "\tREAD\n\tWRITE\n" + LISTENER.format("8226", "S")
    nt, ns = rows(text).rows(named=True)
    assert (nt["nt_events"], nt["ns_events"], nt["line_end"]) == (["READ", "WRITE"], None, 3)
    assert (ns["nt_events"], ns["ns_events"], ns["conn_key"]) == (None, [], "0xf1b9c8")


def test_a_list_that_an_author_left_out_is_unknown():
    reading = trace(LISTENER.format("8226", "S") + "...\n" + LISTENER.format("8230", "T") + "\tREAD\n")
    first, second = reading.tables["sqlnet"].rows(named=True)
    assert first["ns_events"] is None
    assert second["nt_events"] == ["READ"]
    assert second["contiguous"] == "broken"
    assert reading.account.account.elided == 1


def test_a_wrapped_descriptor_is_one_text_and_masked_across_the_wrap():
    reading = trace(
        "[14-APR-2016 05:58:39:329] nsc2addr: (DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=prod)(CID=(PROGRAM=sqlplus)(HOST=app1)(US\n"
        "ER=sco\ntt)))(ADDRESS=(PROTOCOL=TCP)(HOST=10.1.2.3)(PORT=1521)))\n"
        "[14-APR-2016 05:58:39:330] nsc2addr: normal exit\n"
    )
    call, leaves = reading.tables["sqlnet"].rows(named=True)
    assert (call["line_no"], call["line_end"], leaves["line_no"]) == (1, 3, 4)
    assert call["text"].endswith("(USER=*****)))(ADDRESS=(PROTOCOL=TCP)(HOST=10.1.2.3)(PORT=1521)))")
    assert (call["service"], call["program"], call["peer_ip"], call["peer_port"]) == (
        "prod",
        "sqlplus",
        "10.1.2.3",
        1521,
    )


def test_rows_of_two_threads_make_two_packets():
    stamp = "({}) [14-APR-2016 05:58:39:329] nspsend: "
    one, two = stamp.format(1), stamp.format(2)
    found = rows(
        f"{one}packet dump\n{two}packet dump\n{one}00 0B 00 00 0C 00 00 00  |........|\n"
        f"{two}00 08 00 00 0B 00 00 00  |........|\n{one}01 00 02                 |...     |\n"
    )
    assert found.select("thread", "line_no", "line_end", "bytes", "ptype", "direction").rows() == [
        ("1", 1, 5, 11, "marker", "out"),
        ("2", 2, 4, 8, "resend", "out"),
    ]


def test_a_large_packet_has_its_length_in_four_bytes():
    found = rows(
        "[14-APR-2016 05:58:39:329] nsprecv: packet dump\n"
        "[14-APR-2016 05:58:39:329] nsprecv: 00 00 20 1A 06 00 00 00  |........|\n"
    )
    assert found.select("bytes", "ptype", "direction").rows() == [(0x201A, "data", "in")]


def test_prose_between_two_excerpts_is_no_record_and_breaks_the_chain():
    reading = trace(
        "[14-APR-2016 05:58:39:329] nttrd: entry\n\nFor the same connection, the other trace reveals that it waits:\n\n"
        "[14-APR-2016 05:58:41:201] nttrd: exit\n"
    )
    assert reading.account.account.prose == 1
    assert reading.account.account.blank == 2
    assert reading.tables["sqlnet"]["contiguous"].to_list() == ["broken", "broken"]


DUMP = "nspsend: packet dump\n[14-APR-2016 05:58:39:329] nspsend: "


@pytest.mark.parametrize(
    ("last", "cut"),
    [
        ("nttrd: ent", True), ("nttrd: entry", False),
        ("nttrd: socket 516 had bytes re", True), ("nttrd: socket 516 had bytes read=8", False),
        ("nsc2addr: (DESCRIPTION=(CONNECT_DATA=(SID=A", True), ("nsc2addr: (DESCRIPTION=(CONNECT_DATA=(SID=A)))", False),
        ("nsc2addr: (DESCRIPTION=(CON\nNECT_DATA=(SID=A", True), ("nserror: nsres: id=0, op=65, ns=12537, ns2=12560; nt[0", True),
        (DUMP + "01 50 00 0", True), (DUMP + "01 50 00 00 06 00 00 00  |.P....", True),
        (DUMP + "01 50 00 00 06 00 00 00  |.(......|", False), ("nsevfnt: cxd: 0xf stage 0: NT events se", True),
        ("nioqer:  incoming err = 1", False),
    ],
)  # fmt: skip
def test_a_text_that_is_cut_at_the_end_is_noted_provably_or_perhaps(last, cut):
    text = f"[14-APR-2016 05:58:39:329] nscon: entry\n[14-APR-2016 05:58:39:329] {last}"
    ended, torn = trace(text + "\n"), trace(text)
    assert torn.account.account == ended.account.account
    assert torn.tables["sqlnet"].equals(ended.tables["sqlnet"])
    assert not ended.account.notes
    number = text.count("\n") + 1
    said = "the file ends inside this line" if cut else "the last line has no end: it may be cut"
    [note] = torn.account.notes
    assert (note.line_from, note.line_to, note.kind) == (number, number, "remark")
    assert note.text.startswith(said)


# gaps


def test_gaps_are_those_of_the_thread():
    stamp = "({}) [14-APR-2016 05:58:{}] nttrd: {}\n"
    found = rows(
        stamp.format(7, "39:000", "entry") + stamp.format(8, "39:500", "entry") + stamp.format(8, "40:000", "exit")
        + stamp.format(7, "41:250", "exit")
    )  # fmt: skip
    assert found["prev_line"].to_list() == [None, None, 2, 1]
    assert found["gap_s"].to_list() == [None, None, 0.5, 2.25]


def test_a_step_of_the_clock_is_marked_and_nothing_is_sorted():
    reading = trace(
        "[30-OCT-2016 02:59:59:900] nttrd: entry\n[30-OCT-2016 02:00:00:100] nttrd: exit\n[30-OCT-2016 02:00:00:200] nscon: entry\n"
    )
    found = reading.tables["sqlnet"]
    assert found["line_no"].to_list() == [1, 2, 3]
    assert found["gap_s"].to_list() == [None, None, 0.1]
    assert found["contiguous"].to_list() == ["broken", "broken", "assumed"]
    (note,) = reading.account.notes
    assert (note.kind, note.line_from, note.line_to) == ("remark", 1, 2)
    assert "3599.8 s" in note.text


def test_only_a_file_with_its_head_proves_that_nothing_is_missing():
    head = (
        "Trace file /u01/ora_1_2.trc\n\nTNSLSNR for Linux: Version 11.2.0.4.0 - Production on 15-NOV-2014 16:12:24\n\n"
    )
    body = "2014-11-15 16:12:24.302416 : nlstdipi:entry\n2014-11-15 16:12:24.302495 : nlstdipi:exit\n"
    assert rows(head + body)["contiguous"].to_list() == ["broken", "proven"]
    assert rows(body)["contiguous"].to_list() == ["broken", "assumed"]
    assert rows(head + body + "...\n" + body.replace(":24.", ":25."))["contiguous"].to_list() == [
        "broken", "proven", "broken", "assumed",
    ]  # fmt: skip


# sides


@pytest.mark.parametrize(
    ("line", "side"),
    [
        ("nsglhe: entry", "listener"),
        ("nsinh_hoff: error recving request", "server"),
        ("nscon: sending NSPTCN packet", "client"),
        ("nscon: got NSPTRS packet", "client"),
        ("nsc2addr: (DESCRIPTION=(CONNECT_DATA=(SID=A))(ADDRESS=(PROTOCOL=TCP)(HOST=a)(PORT=1)))", "client"),
        ("nttrd: socket 5 had bytes read=8", "client"),
        ("nttrd: socket 5 had bytes read=9", None),
    ],
)
def test_whose_trace_it_is(line, side):
    found = rows(f"[14-APR-2016 05:58:39:329] nioqrc: entry\n[14-APR-2016 05:58:39:329] {line}\n")
    assert found["side"].to_list() == [side, side]


@pytest.mark.parametrize(("func", "call", "side"), [("nsbasic_bsd", "03", "client"), ("nsbasic_brc", "03", "server"),
                                                  ("nsbasic_bsd", "10", "server"), ("nsbasic_brc", "08", "client")])  # fmt: skip
def test_the_first_byte_of_a_message_tells_who_speaks(func, call, side):
    stamp = f"[14-APR-2016 05:58:39:329] {func}: "
    found = rows(
        f"{stamp}packet dump\n{stamp}01 50 00 00 06 00 00 00  |.P......|\n{stamp}00 00 {call} 17 00 00 00 13  |........|\n"
    )
    assert found["side"].to_list() == [side]


# secrets


def quotes(content, tmp_path, kind=TRACE, **limits):
    """Return everything that is stored for a text besides the original: tables, notes, state, and the quoted lines."""
    path = tmp_path / "original"
    path.write_bytes(content)
    out = tmp_path / "reading"
    read(path, kind, out, limits=Limits(**limits) if limits else None)
    import pyarrow.parquet as pq

    stored = [json.dumps(pq.read_table(f).to_pylist(), default=str) for f in sorted(out.rglob("*.parquet"))]
    reader = LineReader(path, out)
    shown = [line.text for line in reader.lines(1, reader.count)]
    return "\n".join([*stored, (out / "manifest.json").read_text()]), shown


def test_a_login_leaves_only_the_names_of_its_keys(tmp_path):
    stored, shown = quotes(sample("client-11g-support-login-dump-redacted"), tmp_path)
    assert "AUTH_PASSWORD" in stored
    hexes = " ".join(shown)
    assert "61 70 70" not in hexes
    assert "AUTH" not in hexes
    assert "pts" not in hexes
    assert shown[1] == "nsbasic_bsd: 02 EA 00 00 06 00 00 00  |........|"
    assert shown[2].startswith("nsbasic_bsd: 00 00 ")
    assert set(shown[2][len("nsbasic_bsd: 00 00 ") :]) <= set("* |.")
    assert all(
        len(a) == len(b)
        for a, b in zip(shown, sample("client-11g-support-login-dump-redacted").decode().splitlines(), strict=True)
    )


@pytest.mark.parametrize(
    "limits", [{}, {"block_bytes": 3000, "run_bytes": 20_000}, {"block_bytes": 900, "run_bytes": 1500}]
)
def test_a_fork_leaves_names_of_variables_and_no_account(tmp_path, limits):
    content = sample("listener-11g-adr-healthy-dedicated-spawn")
    stored, shown = quotes(content, tmp_path, **limits)
    everything = stored + "\n".join(shown)
    assert "env[10] = ORACLE_SID=" in everything
    # The account is split over two rows of a dump, in hex and in text.
    assert "appuser" not in everything
    for secret in ("gnome-ssh-askpass", "(USER=a", "70 70 75 73 65 72", "ignoredups", "DIR2LOAD"):
        assert secret in content.decode()
        assert secret not in everything
    assert [len(line) for line in shown] == [len(line.rstrip()) for line in content.decode().splitlines()]
    assert "(SERVICE_NAME=js03)" in stored


def test_a_server_trace_keeps_lengths_and_types_only(tmp_path):
    content = sample("server-11g-switched-on-mid-session")
    stored, shown = quotes(content, tmp_path, block_bytes=5000, run_bytes=30_000)
    payload = re.compile(r"\|[^|*]*[A-Za-z]{4}[^|*]*\|")
    heads = [i for i, line in enumerate(shown) if "packet dump" in line]
    assert heads
    assert not [line for i, line in enumerate(shown) if payload.search(line) and i - 1 not in heads]
    assert "8155" in stored


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("nscon: connecting to scott/tiger@//db1:1521/prod", "scott/tiger"),
        ("nsc2addr: (DESCRIPTION=(CONNECT_DATA=(SID=A)(CID=(PROGRAM=x)(HOST=y)(USER=alice))))", "alice"),
        ("nsc2addr: (SECURITY=(PASSWORD=s3cr3t))", "s3cr3t"),
        ("nlstddt: (METHOD_DATA=(DIRECTORY=/home/bob/wallet))", "bob"),
        ("nlstdtr: file is /opt/oradiag_alice/diag/clients/user_alice/host_1", "alice"),
    ],
)
def test_accounts_and_passwords_are_masked_in_place(tmp_path, line, secret):
    text = f"[14-APR-2016 05:58:39:329] {line}\n[14-APR-2016 05:58:39:329] nscon: exit\n"
    stored, shown = quotes(text.encode(), tmp_path)
    assert secret not in stored + "\n".join(shown)
    assert len(shown[0]) == len(text.splitlines()[0])


def test_a_log_and_a_report_show_no_account(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for name, variant in (("sqlnet-log-11g-three-refusals", "log"), ("trcasst-11g-listener-report", "trcasst")):
        stored, shown = quotes(
            sample(name), tmp_path / ("a" if variant == "log" else "b"), Hints(kind="sqlnet", variant=variant)
        )
        assert "appuser" not in stored + "\n".join(shown)


def test_an_account_split_over_rows_of_a_dump_is_masked_in_both():
    text = "(USER=appuser)"
    body = bytes([0, 8 + len(text), 0, 0, 1, 0, 0, 0]) + text.encode()
    lines = [
        " ".join(f"{b:02X}" for b in body[i : i + 8]).ljust(23)
        + "  |"
        + body[i : i + 8].decode("latin-1").replace("\0", ".")
        + "|"
        for i in range(0, len(body), 8)
    ]
    frame = pl.DataFrame({"text": lines}).with_columns(
        packet=pl.lit(1),
        headed=pl.lit(True),
        direction=pl.lit("in"),
        line=pl.col("text"),
        line_no=pl.int_range(1, len(lines) + 1),
    )
    packets = net_packets.join_rows(frame)
    places = net_packets.secret_columns(frame, packets).rows()
    hidden = [
        net_packets.mask_row(line, [(a, b) for n, a, b, _ in places if n == i]) for i, line in enumerate(lines, 1)
    ]
    assert not any("a" in line or "61" in line for line in hidden)
    assert net_packets.describe(packets)["descriptor"].to_list() == ["(USER=*******)"]


# rebuilding

WORDS = st.sampled_from(
    ["entry", "exit", "reading from transport...", "socket 14 had bytes read=21", "cid=5", "got NSPTRD packet"]
)
RECORDS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 86_399_999), st.sampled_from(["nsprecv", "nttrd", "nscon"]), WORDS),
    min_size=1,
    max_size=40,
)


@settings(max_examples=examples(25), deadline=None)
@given(records=RECORDS, block=st.integers(60, 900))
def test_the_columns_rebuild_the_lines(records, block):
    lines = []
    for thread, ms, func, text in records:
        second, milli = divmod(ms, 1000)
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}:{milli:03}"
        lines.append(f"({thread}) [14-APR-2016 {clock}] {func}: {text}")
    found = rows("\n".join(lines) + "\n", block_bytes=block)
    rebuilt = []
    for row in found.rows(named=True):
        milli = round((row["t_local"] - 1460592000) * 1000)
        second, milli = divmod(milli, 1000)
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}:{milli:03}"
        rebuilt.append(f"({row['thread']}) [14-APR-2016 {clock}] {row['func']}: {row['text']}")
        if row["socket"] is not None:
            assert f"socket {row['socket']} had bytes read={row['bytes']}" == row["text"]
    assert rebuilt == lines
    assert found["line_no"].to_list() == list(range(1, len(lines) + 1))


@settings(max_examples=examples(15), deadline=None)
@given(payload=st.binary(min_size=1, max_size=60), kind=st.sampled_from([1, 4, 5, 6, 11, 12]))
def test_any_packet_is_one_row_and_hides_its_payload(payload, kind):
    body = (len(payload) + 10).to_bytes(2, "big") + bytes([0, 0, kind, 0, 0, 0, 0, 0]) + payload
    stamp = "[14-APR-2016 05:58:39:329] nspsend: "
    dump = [
        stamp + " ".join(f"{b:02X}" for b in body[i : i + 8]).ljust(23) + "  |"
        + "".join(chr(b) if 32 < b < 127 else "." for b in body[i : i + 8]).ljust(8) + "|"
        for i in range(0, len(body), 8)
    ]  # fmt: skip
    found = rows("\n".join([stamp + "packet dump", *dump, stamp + "normal exit"]) + "\n", block_bytes=150)
    packet, leaves = found.rows(named=True)
    assert (packet["line_no"], packet["line_end"], packet["bytes"]) == (1, len(dump) + 1, len(body))
    assert packet["ptype"] == net_packets.PACKET_TYPES[kind]
    assert leaves["prev_line"] == 1


def test_descriptors_in_other_spellings():
    frame = pl.DataFrame(
        {
            "t": [
                "(description = (address = (protocol = tcp)(host = 10.0.0.1)(port = 1521))(connect_data = (sid = ORCL)))",
                "(ADDRESS=(PROTOCOL=beq)(PROGRAM=/u01/bin/tnslsnr)(ENVS=)(ARGV0=))",
                "(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=a)(CID=(PROGRAM=C:\\Program Files (x86)\\x.exe)(HOST=h)(USER=u))))",
                "(CONNECT_DATA=(CID=(PROGRAM=)(HOST=h)(USER=u))(COMMAND=status)(SERVICE=LISTENER))",
                "(ADDRESS=(PROTOCOL=TCP)(HOST=10.0.0.1)(PORT=1))(ADDRESS=(PROTOCOL=TCP)(HOST=10.0.0.2)(PORT=1))",
            ]
        }
    )
    t = pl.col("t")
    found = frame.select(
        s=connect_descriptors.service(t),
        p=connect_descriptors.program(t),
        i=connect_descriptors.peer_ip(t),
        n=connect_descriptors.peer_port(t),
    )
    assert found.rows() == [
        ("ORCL", None, "10.0.0.1", 1521),
        (None, None, None, None),
        ("a", r"C:\Program Files (x86)\x.exe", None, None),
        (None, None, None, None),
        (None, None, None, 1),
    ]


# sqlnet.log


def test_a_block_of_sqlnet_log_without_descriptor():
    text = (
        "***********************************************************************\nFatal NI connect error 12170.\n\n  VERSION INFORMATION:\n"
        "\tTNS for Linux: Version 11.2.0.4.0 - Production\n  Time: 15-NOV-2014 16:12:05\n  Tracing not turned on.\n  Tns error struct:\n"
        "    ns main err code: 12535\n    \n    TNS-12535: TNS:operation timed out\n    ns secondary err code: 12560\n    nt main err code: 505\n"
        "    \n    TNS-00505: Operation timed out\n    nt secondary err code: 110\n    nt OS err code: 0\n"
        "  Client address: (ADDRESS=(PROTOCOL=tcp)(HOST=10.1.2.3)(PORT=61809))\n"
    )
    reading = read_bytes(text.encode() * 2, Hints(kind="sqlnet"))
    first, second = reading.tables["logs"].rows(named=True)
    assert (first["line_no"], first["line_end"], second["line_no"]) == (2, 18, 20)
    assert (first["code"], first["secondary"], first["ok"]) == ("TNS-12170", ["12560", "505", "110", "0"], False)
    assert (first["peer_ip"], first["peer_port"], first["service"]) == ("10.1.2.3", 61809, None)
    assert reading.account.parts[0].variant == "log"


@pytest.mark.parametrize("keep", [2, 3, 5, 20, 26, 30])
def test_bytes_of_a_dump_that_the_end_of_the_file_cut_are_masked(tmp_path: Path, keep: int) -> None:
    rows = (CORPUS / "client-11g-support-login-dump-redacted.txt").read_text().splitlines(keepends=True)
    begin = "nsbasic_bsd: "
    last = rows[5]
    original = tmp_path / "cut.trc"
    original.write_text("".join(rows[:5]) + last[: len(begin) + keep])
    read(original, Hints(), tmp_path / "reading")
    shown = LineReader(original, tmp_path / "reading").lines(6, 6)[0].text
    assert shown.startswith(begin)
    assert set(shown[len(begin) :]) <= set("* |")
    stored = scan(tmp_path / "reading", "sqlnet").collect()["text"].drop_nulls().to_list()
    assert not any(last[len(begin) :][: max(keep, 5)].strip() in text for text in stored)
