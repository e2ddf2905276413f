"""Checks of the facts stored beside the corpus samples of listener logs."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("logs")


def _op(reading: Reading, op: str) -> pl.DataFrame:
    return _rows(reading).filter(pl.col("op") == op)


def _entries(reading: Reading) -> pl.DataFrame:
    return _rows(reading).filter(pl.col("text").str.contains(r"^\S+ ?\S* [0-9]{2}:[0-9]{2}:[0-9]{2} \*"))


def _codes(reading: Reading) -> set[str]:
    rows = _rows(reading)
    every = rows["code"].drop_nulls().to_list() + rows["secondary"].drop_nulls().explode().to_list()
    return {f"{int(x.removeprefix('TNS-')):05d}" for x in every if x and x.startswith("TNS-")}


def establish_entries(reading: Reading, value: int) -> None:
    assert len(_op(reading, "establish")) == value


def establish_return_codes(reading: Reading, value: dict[str, int]) -> None:
    rows = _op(reading, "establish")
    assert Counter((c or "TNS-0").removeprefix("TNS-") for c in rows["code"]) == value
    assert (rows["ok"] == rows["code"].is_null()).all()


def service_update_entries(reading: Reading, value: int) -> None:
    assert len(_op(reading, "service_update")) == value


def distinct_service_updates(reading: Reading, value: int) -> None:
    assert _op(reading, "service_update").select("t_local", "service").n_unique() == value


def tns_codes(reading: Reading, value: list[str]) -> None:
    assert _codes(reading) == set(value)


def event(reading: Reading, value: str) -> None:
    assert value in _rows(reading)["op"].to_list()


def return_code(reading: Reading, value: int) -> None:
    assert _rows(reading)["code"].drop_nulls().to_list() == [f"TNS-{value}"]


def stack_depth(reading: Reading, value: int) -> None:
    assert _rows(reading)["secondary"].list.len().max() == value


def os_error(reading: Reading, value: int) -> None:
    assert re.search(rf"Error: {value}$", _rows(reading)["secondary"].drop_nulls()[0][-1])


def timestamped_entries(reading: Reading, value: int) -> None:
    assert len(_entries(reading)) == value
    assert _entries(reading)["t_local"].null_count() == 0


def two_field_entries(reading: Reading, value: int) -> None:
    assert len(_entries(reading).filter(pl.col("op").is_null() & pl.col("service").is_null())) == value


def starts(reading: Reading, value: int) -> None:
    assert len(_op(reading, "start")) == value
    assert _op(reading, "start")["t_local"].null_count() == 0


def pids(reading: Reading, value: list[int]) -> None:
    assert _op(reading, "started")["pid"].to_list() == value


def ping_entries(reading: Reading, value: int) -> None:
    assert len(_op(reading, "ping")) == value


def leap_day(reading: Reading, value: bool) -> None:
    day = 1204243200.0  # 2008-02-29T00:00:00
    assert _entries(reading)["t_local"].is_between(day, day + 86400).all() is value


def entries_doubled(reading: Reading, value: bool) -> None:
    assert any("written twice" in n.text for n in reading.account.notes) is value


def two_artifacts(reading: Reading, value: list[str]) -> None:
    assert value == ["listener", "alertlog"]
    strangers = [n for n in reading.account.notes if n.kind == "unknown"]
    assert strangers
    assert all("alertlog: " in n.text for n in strangers)


def client_port(reading: Reading, value: int) -> None:
    assert _op(reading, "establish")["peer_port"].to_list() == [value]


def msg_elements(reading: Reading, value: int) -> None:
    # Each line is an entry or belongs to the stack below one.
    stacked = _rows(reading)["secondary"].list.len().fill_null(0).sum()
    assert len(_rows(reading)) + stacked == value


def zone(reading: Reading, value: str) -> None:
    hours = int(value[:3])
    first = _rows(reading).row(0, named=True)
    clock = re.search(r" ([0-9]{2}):([0-9]{2}):([0-9]{2})", first["text"])
    assert clock is not None
    local = int(clock[1]) * 3600 + int(clock[2]) * 60 + int(clock[3])
    assert (local - first["t_local"] + 1) % 86400 // 1 == hours * 3600 % 86400 or int(
        first["t_local"] + hours * 3600
    ) % 86400 == local


def month_text(reading: Reading, value: str) -> None:
    assert value.startswith("1月")
    day = 1326499200.0  # 2012-01-14T00:00:00
    assert _entries(reading)["t_local"].is_between(day, day + 86400).all()


def weekday_english(reading: Reading, value: bool) -> None:
    # Messages of the start have the times of the clock lines.
    assert (_op(reading, "started")["t_local"].null_count() == 0) is value


def program_marks(reading: Reading, value: str) -> None:
    assert any(value in p for p in _rows(reading)["program"].drop_nulls())


def wrapped(reading: Reading, value: bool) -> None:
    rows = _op(reading, "establish")
    assert bool((rows["line_end"] > rows["line_no"]).all()) is value
    assert rows["peer_ip"].null_count() == 0


def blank_lines(reading: Reading, value: int) -> None:
    assert reading.account.account.blank == value


def repaired(reading: Reading, value: int) -> None:
    assert sum(n.kind == "repaired" for n in reading.account.notes) == value


def damaged_lines(reading: Reading, value: list[int]) -> None:
    assert [n.line_from for n in reading.account.notes if n.kind == "damaged"] == value


def programs(reading: Reading, value: dict[str, int]) -> None:
    assert Counter(_op(reading, "establish")["program"].to_list()) == value


def system_errors(reading: Reading, value: list[str]) -> None:
    found = _rows(reading)["secondary"].drop_nulls().explode()
    assert [x for x in found if x and " Error: " in x] == value


def clock_zone(reading: Reading, value: dict[str, Any]) -> None:
    assert reading.account.parts[0].domains[0].zone == value["zone"]


CHECKERS = {
    "establish_entries": establish_entries,
    "establish_return_codes": establish_return_codes,
    "service_update_entries": service_update_entries,
    "distinct_service_updates": distinct_service_updates,
    "tns_codes": tns_codes,
    "event": event,
    "return_code": return_code,
    "stack_depth": stack_depth,
    "os_error": os_error,
    "timestamped_entries": timestamped_entries,
    "two_field_entries": two_field_entries,
    "starts": starts,
    "pids": pids,
    "ping_entries": ping_entries,
    "leap_day": leap_day,
    "entries_doubled": entries_doubled,
    "two_artifacts_in_one_file": two_artifacts,
    "client_port": client_port,
    "msg_elements": msg_elements,
    "zone": zone,
    "month_text": month_text,
    "weekday_lines_are_english_in_the_same_file": weekday_english,
    "blanks_in_the_program_name_logged_as": program_marks,
    "entry_wrapped_inside_the_descriptor": wrapped,
    "blank_lines_inside": blank_lines,
    "repaired_places": repaired,
    "damaged_lines": damaged_lines,
    "establish_programs": programs,
    "system_errors": system_errors,
    "clock": clock_zone,
}
WAIVED = {
    "host_clock": "what the author of the page thinks of the container's zone; the log does not say it",
    "same_port_in_the_alert_log_sample": "names another sample; the port itself is checked in both",
    "encoding_here": "a property of the published copy",
    "no_root_element": "how the file is built: it is read, so it holds",
    "error_text_in_its_own_msg": "how the file is built; msg_elements checks it",
    "starts_with_an_end_tag": "how the paste begins: it is read, so it holds",
    "cid_twice_in_one_descriptor": "how the descriptor is built; program and host of the first are taken",
}
