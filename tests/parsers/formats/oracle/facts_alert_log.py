"""Checks of the facts stored beside the corpus samples of alert logs."""

from __future__ import annotations

import re

import polars as pl

from tests.parsers.formats.evidence import Reading


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("logs")


def _params(reading: Reading) -> dict[str, str]:
    return dict(reading.table("params").select("name", "value").rows())


def codes(reading: Reading, value: list[str]) -> None:
    """Check codes as spelt in the text: rows have them without leading zeros, so both forms are compared."""
    found = {c for text in _rows(reading)["text"] for c in re.findall(r"\b(?:ORA|TNS|CRS)-[0-9]+", text)}
    assert found == set(value)
    rows = _rows(reading).filter(pl.col("op").fill_null("") != "connect")
    told = set(rows["code"].drop_nulls()) | {c for some in rows["secondary"].drop_nulls() for c in some}
    plain = {re.sub("-0+", "-", c) for text in rows["text"] for c in re.findall(r"\b(?:ORA|TNS|CRS)-[0-9]+", text)}
    assert told == plain


def headline_code(reading: Reading, value: int) -> None:
    assert _rows(reading).filter(pl.col("op") == "connect")["code"].to_list() == [f"TNS-{value}"]


def ns(reading: Reading, value: list[int]) -> None:
    block = _rows(reading).filter(pl.col("op") == "connect").row(0, named=True)
    assert f"ns main err code: {value[0]}" in block["text"]
    assert block["secondary"][0] == str(value[1])


def nt(reading: Reading, value: list[int]) -> None:
    block = _rows(reading).filter(pl.col("op") == "connect").row(0, named=True)
    assert block["secondary"][1:] == [str(v) for v in value]


def kind_of_timeout(reading: Reading, value: str) -> None:
    codes = re.findall(r"[0-9]{4,}", value)
    rows = _rows(reading)
    assert rows["secondary"][0][0] == codes[0]
    assert f"ORA-{codes[1]}" in rows["code"].to_list()


def time_of_the_block(reading: Reading, value: bool) -> None:
    # The time of the block is on its `Time:` line, not in the stamp after it.
    assert (_rows(reading)["t_local"][0] is not None) is value
    assert _rows(reading)["t_local"][1] is None


def client_port(reading: Reading, value: int) -> None:
    assert _rows(reading)["peer_port"].drop_nulls().to_list() == [value]


def ora_609_events(reading: Reading, value: int) -> None:
    rows = _rows(reading).filter((pl.col("code") == "ORA-609") & (pl.col("op") == "abort"))
    assert rows["pid"].n_unique() == value
    assert rows["pid"].null_count() == 0


def forms_of_ospid(reading: Reading, value: list[str]) -> None:
    told = [int(m[1]) for m in (re.match(r"([0-9]+)_", v) for v in value) if m]
    assert set(told) <= set(_rows(reading)["pid"].drop_nulls())


def not_in_time_order(reading: Reading, value: bool) -> None:
    assert _rows(reading)["t_local"].drop_nulls().is_sorted() is not value


def steps_back(reading: Reading, value: int) -> None:
    assert sum("written late" in n.text for n in reading.account.notes) == value


def step_back_at(reading: Reading, value: int) -> None:
    assert [n.line_from for n in reading.account.notes if "written late" in n.text] == [value]


def instance_start(reading: Reading, value: str) -> None:
    rows = _rows(reading).filter(pl.col("op") == "startup")
    assert pl.Series([value]).str.to_datetime().dt.epoch("s").to_list() == rows["t_local"].to_list()


def version(reading: Reading, value: str) -> None:
    assert any(f"Release {value}" in text for text in _rows(reading)["text"])


def parameters_listed(reading: Reading, value: int) -> None:
    assert len(reading.table("params")) == value


def memory_target(reading: Reading, value: str) -> None:
    rows = reading.table("params").filter(pl.col("name") == "memory_target")
    assert rows["value"].to_list() == [value]
    assert rows["num"].to_list() == [int(value[:-1]) * 1024**2]


def shared_servers(reading: Reading, value: int) -> None:
    assert _params(reading)["shared_servers"] == str(value)


def equals_without_blank(reading: Reading, value: list[str]) -> None:
    assert set(value) <= set(_params(reading))


def msg_elements(reading: Reading, value: int) -> None:
    assert len(_rows(reading)) == value


def ospid(reading: Reading, value: int) -> None:
    assert _rows(reading)["pid"].to_list() == [value]


def pids(reading: Reading, value: list[int | None]) -> None:
    assert _rows(reading)["pid"].to_list() == value


def zone(reading: Reading, value: str) -> None:
    assert value == "+01:00"
    assert _rows(reading)["t_local"].to_list() == [1451621360.742]  # 2016-01-01T04:09:20.742Z
    assert reading.account.parts[0].domains[0].kind == "wall-utc"


def no_time_at_first(reading: Reading, value: bool) -> None:
    assert (_rows(reading)["t_local"][0] is None) is value


def first_five(reading: Reading, value: bool) -> None:
    assert _rows(reading).filter(pl.col("line_end") <= 5)["t_local"].is_null().all() is value
    assert _rows(reading).filter(pl.col("line_no") > 6)["t_local"].is_null().any() is not value


def stamps(reading: Reading, value: int) -> None:
    # The lines that are read but belong to no row are the stamps.
    covered = sum(b - a + 1 for a, b in _rows(reading).select("line_no", "line_end").rows())
    assert reading.account.account.read - covered == value


def spellings(reading: Reading, value: list[str]) -> None:
    assert {re.sub("-0+", "-", v) for v in value} <= set(_rows(reading)["code"].drop_nulls())


def entries(reading: Reading, value: int) -> None:
    assert len(_rows(reading)) == value


def start_timeouts(reading: Reading, value: int) -> None:
    assert (_rows(reading)["code"] == "CRS-5014").sum() == value


def zone_stated(reading: Reading, value: bool) -> None:
    assert (reading.account.parts[0].domains[0].zone is not None) is value


def fragments(reading: Reading, value: int) -> None:
    assert sum("fragment" in n.text for n in reading.account.notes) == value


def starts(reading: Reading, value: int) -> None:
    assert (_rows(reading)["op"] == "startup").sum() == value


def aborted_pids(reading: Reading, value: list[int]) -> None:
    assert _rows(reading).filter(pl.col("op") == "abort")["pid"].to_list() == value


def offset(reading: Reading, value: str) -> None:
    assert reading.account.parts[0].facts["tz"] == value
    assert reading.account.parts[0].domains[0].kind == "wall-utc"


def first_at(reading: Reading, value: float) -> None:
    assert _rows(reading)["t_local"][0] == value


def programs(reading: Reading, value: dict[str, int]) -> None:
    assert dict(_rows(reading).group_by("program").len().rows()) == value


CHECKERS = {
    "codes": codes,
    "headline_code": headline_code,
    "ns": ns,
    "nt": nt,
    "kind_of_timeout": kind_of_timeout,
    "timestamp_line_after_the_block": time_of_the_block,
    "client_port": client_port,
    "ora_609_events": ora_609_events,
    "forms_of_ospid": forms_of_ospid,
    "not_in_time_order": not_in_time_order,
    "steps_back_in_time": steps_back,
    "step_back_at_line": step_back_at,
    "instance_start": instance_start,
    "version": version,
    "parameters_listed": parameters_listed,
    "memory_target": memory_target,
    "shared_servers": shared_servers,
    "equals_sign_without_blank_before": equals_without_blank,
    "msg_elements": msg_elements,
    "ospid": ospid,
    "pids": pids,
    "zone": zone,
    "starts_without_a_timestamp": no_time_at_first,
    "first_five_lines_have_no_time": first_five,
    "timestamp_lines": stamps,
    "spellings_of_one_code": spellings,
    "entries": entries,
    "process_start_timeouts_CRS_5014": start_timeouts,
    "zone_stated": zone_stated,
    "fragments": fragments,
    "starts": starts,
    "aborted_pids": aborted_pids,
    "offset": offset,
    "first_at": first_at,
    "programs": programs,
}
WAIVED = {
    "nt_secondary_is_errno": "what the page says of other systems; the number itself is checked in nt",
    "session_was_established_at": "stands in another sample",
    "age_of_the_connection_s": "needs the listener's log beside it: a rule's work",
}
