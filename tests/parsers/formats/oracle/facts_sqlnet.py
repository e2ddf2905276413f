"""Checks of the facts stored beside the corpus samples of Oracle Net traces, sqlnet.log and Trace Assistant reports."""

from __future__ import annotations

import re

import polars as pl
import pytest

from tests.parsers.formats.evidence import Reading


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("sqlnet")


def _worst(reading: Reading) -> dict:
    """Return the record that ends the largest gap; the first one of equals."""
    rows = _rows(reading).filter(pl.col("gap_s").is_not_null())
    return rows.sort("gap_s", descending=True, maintain_order=True).row(0, named=True)


def _before(reading: Reading) -> dict:
    return _rows(reading).filter(pl.col("line_no") == _worst(reading)["prev_line"]).row(-1, named=True)


def _only(reading: Reading, column: str) -> list:
    return _rows(reading)[column].drop_nulls().unique(maintain_order=True).to_list()


def lines_with_timestamp(reading: Reading, value: int) -> None:
    """Check the number of lines with a stamp; rows of dumps belong to their packet, so lines are counted, not rows."""
    rows = _rows(reading).filter(pl.col("t_local").is_not_null())
    below = rows.filter(pl.col("nt_events").list.len().fill_null(0) + pl.col("ns_events").list.len().fill_null(0) > 0)
    many = rows.filter(pl.col("text").str.contains("\n", literal=True) | pl.col("text").str.starts_with("env["))
    parts = pl.concat([below, many]).unique("seq")
    covered = set()
    for first, last in rows.select("line_no", "line_end").iter_rows():
        covered |= set(range(first, last + 1))
    for first, last in parts.select("line_no", "line_end").iter_rows():
        covered -= set(range(first + 1, last + 1))
    assert len(covered) == value


def timestamps(reading: Reading, value: int) -> None:
    assert _rows(reading)["t_local"].is_not_null().sum() == value


def gaps_computable(reading: Reading, value: bool) -> None:
    assert bool(_rows(reading)["gap_s"].is_not_null().any()) is value


def no_timestamps(reading: Reading, value: bool) -> None:
    assert bool(_rows(reading)["t_local"].is_null().all()) is value


def largest_gap_ms(reading: Reading, value: float) -> None:
    assert _worst(reading)["gap_s"] * 1000 == pytest.approx(value, abs=1e-6)


def gap_starts_at_line(reading: Reading, value: int) -> None:
    assert _worst(reading)["prev_line"] == value


def gap_ends_at_line(reading: Reading, value: int) -> None:
    assert _worst(reading)["line_no"] == value


def gap_starts_with(reading: Reading, value: str) -> None:
    row = _before(reading)
    shown = row["text"] if row["func"] is None else f"{row['func']}: {row['text']}"
    assert shown.startswith(re.sub(r"^(\w+):(?! )", r"\1: ", value))


def gap_function(reading: Reading, value: str) -> None:
    func = _before(reading)["func"]
    # The script that wrote the facts took the first word of a line without a function for a function.
    assert func == value or (func is None and _before(reading)["text"].startswith(value))


def gap_is_inside(reading: Reading, value: str) -> None:
    assert _worst(reading)["func"] == _before(reading)["func"] == value


def nsres_ns_codes(reading: Reading, value: list[int]) -> None:
    found = _rows(reading).filter(pl.col("func") == "nserror")["err"].drop_nulls()
    assert sorted(set(found)) == sorted(f"TNS-{code}" for code in value)


def nt_codes(reading: Reading, value: list[list[int]]) -> None:
    found = {tuple(int(c) for c in s[1:3]) for s in _rows(reading)["secondary"].drop_nulls()}
    assert {tuple(pair) for pair in value} <= found


def thread(reading: Reading, value: int) -> None:
    assert _only(reading, "thread") == [str(value)]


def socket(reading: Reading, value: int) -> None:
    assert _only(reading, "socket") == [value]


def bytes_read(reading: Reading, value: int | None) -> None:
    rows = _rows(reading).filter((pl.col("direction") == "in") & pl.col("socket").is_not_null())
    assert rows["bytes"].drop_nulls().to_list() == ([] if value is None else [value])


def version(reading: Reading, value: str) -> None:
    assert f"version={value}" in reading.account.parts[0].facts["tool_opts"]


def trace_level(reading: Reading, value: int) -> None:
    assert f"level={value}" in reading.account.parts[0].facts["tool_opts"]


def header_lines_without_timestamp(reading: Reading, value: int) -> None:
    assert _rows(reading)["line_no"].min() == value + 1


def config_lines_carry_no_function_name(reading: Reading, value: bool) -> None:
    config = _rows(reading).filter(pl.col("text").str.contains("^---|^New trace|Parameter source|^Attempted load"))
    assert len(config) > 5
    assert bool(config["func"].is_null().all()) is value
    assert len(reading.table("params")) >= 7


def last_line_truncated(reading: Reading, value: bool) -> None:
    last = reading.account.lines
    rows = _rows(reading)
    cut_off = {n.line_from for n in reading.account.notes if n.kind == "damaged"}
    # A line cut inside its stamp is not a record; one cut inside its text looks like a complete record.
    assert (last in cut_off) is (last not in rows["line_end"])


def first_line_lost_its_first_character(reading: Reading, value: bool) -> None:
    first = _rows(reading).row(0, named=True)
    assert (first["line_no"], first["thread"], first["func"]) == (1, "1124419328", "ntt2err")


def spawn(reading: Reading, value: dict) -> None:
    rows = _rows(reading)
    (answer,) = rows.filter(pl.col("child_pid").is_not_null()).rows(named=True)
    assert answer["child_pid"] == value["child_pid"]
    assert answer["text"] == value["child_answer"]
    stamps = {}
    for key, start in (
        ("sntpcall_entry", "entry"),
        ("additional_fork_line", "detaching"),
        ("pipe_handles_line", "hdl["),
    ):
        (row,) = rows.filter((pl.col("func") == "sntpcall") & pl.col("text").str.starts_with(start)).rows(named=True)
        stamps[key] = row["t_local"]
        hour, minute, second = value[key].split(":")
        assert row["t_local"] % 86_400 == pytest.approx(int(hour) * 3600 + int(minute) * 60 + float(second), abs=1e-6)
    woken = rows.filter(
        (pl.col("func") == "nsevwait")
        & pl.col("text").str.contains("newly-posted")
        & (pl.col("line_no") < answer["line_no"])
    ).row(-1, named=True)
    assert woken["gap_s"] * 1000 == pytest.approx(value["wait_for_child_ms"], abs=1e-6)


def wait_for_child_ends_with(reading: Reading, value: str) -> None:
    rows = _rows(reading)
    answer = rows.filter(pl.col("child_pid").is_not_null())["line_no"][0]
    lists = rows.filter((pl.col("func") == "nsevfnt") & (pl.col("line_no") < answer)).tail(2)
    assert lists["nt_events"].to_list() == [["READ"], None]
    assert lists["ns_events"].to_list() == [None, []]


def wait_ended_by(reading: Reading, value: str) -> None:
    lists = _rows(reading).filter(pl.col("func") == "nsevfnt")
    assert lists["nt_events"].to_list() == [["READ"], None]
    assert lists["ns_events"].to_list() == [None, []]


def accept_line(reading: Reading, value: str) -> None:
    row = _worst(reading)
    lists = _rows(reading).filter((pl.col("func") == "nsevfnt") & (pl.col("line_no") > row["line_no"])).head(2)
    assert lists["nt_events"][0].to_list() == ["CONNECTION REQUEST"]
    assert lists["ns_events"][1].to_list() == ["INCOMING CALL"]


def misleading_error_words(reading: Reading, value: list[str]) -> None:
    rows = _rows(reading)
    assert rows.filter(pl.col("event") == "error_exit")["func"].to_list() == ["nsbeqaddr", "nsbequeath"]
    assert rows["err"].drop_nulls().to_list() == ["TNS-12586"]


def error_code_only_inside_packet_dump(reading: Reading, value: int) -> None:
    (row,) = _rows(reading).filter(pl.col("err").is_not_null()).rows(named=True)
    assert (row["err"], row["func"], row["ptype"]) == (f"TNS-{value}", "nspsend", "refuse")
    assert row["line_end"] > row["line_no"]


def refuse_packet(reading: Reading, value: str) -> None:
    rows = _rows(reading).filter((pl.col("ptype") == "refuse") & pl.col("bytes").is_not_null())
    assert rows["bytes"].unique().to_list() == [103]
    assert rows["direction"].unique().to_list() == ["out"]


def no_sntpcall_in_the_excerpt(reading: Reading, value: bool) -> None:
    assert ("sntpcall" not in _rows(reading)["func"].to_list()) is value


def connections_allocated_nsglhc(reading: Reading, value: int) -> None:
    assert len(_rows(reading).filter(pl.col("text").str.starts_with("Allocating cxd"))) == value
    assert _rows(reading).filter(pl.col("text").str.starts_with("Allocating cxd"))["conn_key"].null_count() == 0


def establish_commands(reading: Reading, value: int) -> None:
    assert len(_rows(reading).filter(pl.col("text") == "command = establish")) == value


def orphan_continuation_at_line(reading: Reading, value: int) -> None:
    assert value in {n.line_from for n in reading.account.notes if n.kind == "damaged"}
    assert reading.account.account.damaged == 1


def elision_lines(reading: Reading, value: list[int]) -> None:
    assert [n.line_from for n in reading.account.notes if n.kind == "elided"] == value
    assert reading.account.account.elided == len(value)


def html_tags_inside_lines(reading: Reading, value: list[int]) -> None:
    assert [n.line_from for n in reading.account.notes if n.kind == "repaired"] == value
    assert not any("<" in text for text in _rows(reading)["text"])


def starts_without_header(reading: Reading, value: bool) -> None:
    assert (_rows(reading)["line_no"].min() == 1) is value
    assert set(_only(reading, "contiguous")) == {"broken", "assumed"}


def gap_is_waiting_for_the_client(reading: Reading, value: bool) -> None:
    assert _only(reading, "side") == ["server"]
    assert _before(reading)["event"] == "entry"


def end(reading: Reading, value: str) -> None:
    (row,) = _rows(reading).filter(pl.col("text").str.contains("unexpected EOF")).rows(named=True)
    assert row["socket"] == 14


def dump_rows(reading: Reading, value: int) -> None:
    (row,) = _rows(reading).rows(named=True)
    assert row["line_end"] - row["line_no"] == value


def announced_packet_length(reading: Reading, value: int) -> None:
    assert _only(reading, "bytes") == [value]


def secret_key_names_split_over_rows(reading: Reading, value: list[str]) -> None:
    text = _rows(reading)["text"][0]
    for key in value:
        assert key.split(" ")[0] in text


def account(reading: Reading, value: str) -> None:
    name = value.split(",")[0]
    for table in reading.tables.values():
        for column in table.columns:
            if table.schema[column] == pl.String:
                assert not table[column].fill_null("").str.contains(name, literal=True).any()


def connect_packets(reading: Reading, value: list[str]) -> None:
    assert _only(reading, "ptype") == ["connect", "redirect"]


def no_entry_exit_lines(reading: Reading, value: bool) -> None:
    assert (_only(reading, "event") == ["info"]) is value


def client_error(reading: Reading, value: int) -> None:
    assert str(value) in _rows(reading)["text"][-1]


def packet_type(reading: Reading, value: int) -> None:
    assert value == 11
    assert _only(reading, "ptype") == ["resend"]


def getaddrinfo_error(reading: Reading, value: int) -> None:
    assert len(_rows(reading).filter(pl.col("text").str.ends_with(f"failed with error {value}"))) == 1


def entry_without_exit(reading: Reading, value: list[str]) -> None:
    rows = _rows(reading)
    entered = set(rows.filter(pl.col("event") == "entry")["func"])
    left = set(rows.filter(pl.col("event").is_in(["exit", "error_exit"]))["func"])
    assert sorted(entered - left) == value


def addresses_in_the_list(reading: Reading, value: int) -> None:
    (row,) = _rows(reading).filter(pl.col("text").str.starts_with("Calling address")).rows(named=True)
    assert row["text"].count("(ADDRESS=") == value
    assert (row["peer_ip"], row["peer_port"], row["service"], row["program"]) == (
        "10.100.210.1", 1527, "OCI_TM6", "sqlplus",
    )  # fmt: skip


def looks_failed_but_succeeded(reading: Reading, value: str) -> None:
    assert _only(reading, "err") == []


def blocks(reading: Reading, value: int) -> None:
    assert len(reading.table("logs")) == value


def headline_code(reading: Reading, value: int) -> None:
    assert reading.table("logs")["code"].unique().to_list() == [f"TNS-{value}"]


def ns_main_code(reading: Reading, value: int) -> None:
    assert all(f"ns main err code: {value}" in text for text in reading.table("logs")["text"])


def times(reading: Reading, value: list[str]) -> None:
    found = reading.table("logs")["t_local"]
    shown = pl.select((found * 1e6).cast(pl.Int64).cast(pl.Datetime("us")).dt.strftime("%d-%b-%Y %H:%M:%S")).to_series()
    assert [s.upper() for s in shown] == value


def ns(reading: Reading, value: list[int]) -> None:
    (row,) = _rows(reading).rows(named=True)
    assert (row["err"], row["secondary"][0]) == (f"TNS-{value[0]}", str(value[1]))


def nt(reading: Reading, value: int) -> None:
    assert _rows(reading)["secondary"][0][1] == str(value)


def packets_received(reading: Reading, value: int) -> None:
    assert len(_rows(reading).filter(pl.col("direction") == "in")) == value


def packets_sent(reading: Reading, value: int) -> None:
    assert len(_rows(reading).filter(pl.col("direction") == "out")) == value


def timestamp_misses_first_digit(reading: Reading, value: str) -> None:
    clock = reading.account.parts[0].clock
    assert clock is not None
    assert clock["t_begin"] == pytest.approx(1416069846.389016, abs=1e-6)


def wrapped_at(reading: Reading, value: int) -> None:
    rows = _rows(reading)
    assert "db/bin/tnslsnr)" in rows["text"][0]
    assert set(rows["service"].drop_nulls()) == {"js03", "junk"}


def crlf(reading: Reading, value: bool) -> None:
    assert not _rows(reading)["text"].str.contains("\r").any()


CHECKERS = {
    key: check
    for key, check in list(globals().items())
    if callable(check) and not key.startswith("_") and getattr(check, "__module__", "") == __name__
}

WAIVED = {
    "client-10g-hpux-thread-11-eof:version": "known from the sqlnet.log of the same moment, not from the excerpt",
    "lines_without_timestamp": "the account of lines says it: all lines are counted by the corpus walk",
    "separator_after_function": "how it is written, not what; the texts would begin with a colon otherwise",
    "timestamp_digits": "gaps in microseconds show it",
    "getaddrinfo_minus_2_is_not_the_end": "a remark: `err` stays empty, checked by other facts",
    "no_final_newline": "of the bytes, not of the rows",
    "os_errno": "the second number of nt_codes",
    "os_errno_name": "errno values of the writing host are never translated",
    "trace_level_set": "stands in the story, not in the excerpt",
    "socket_number_reused": "checked in tests/rules/derived/test_sqlnet_conns.py",
    "configured_timeout_ms": "stands in the text of a row; no table has it",
    "cause": "a judgement",
    "packet_name": "packet_type says it",
    "spelling": "the row is read whatever the spelling",
    "idle_is_the_largest_gap": "checked in tests/rules/derived/test_sqlnet_waits.py",
    "trailing_blanks_at_line": "the source takes them off",
    "ends_157_ms_after_the_client_has_its_answer": "a matter of two clocks",
    "os_read_function": "gap_function says it",
    "dump_shorter_than_announced": "announced_packet_length and dump_rows say it",
    "codes": "ns_main_code says it",
    "headline_and_struct_differ": "headline_code and ns_main_code say it",
}

AHEAD = ("side", "peer_ip", "peer_port", "scope")
"""Columns that later lines decide: the first 2,000 lines decide the side of the trace, and so which address is the peer's."""
