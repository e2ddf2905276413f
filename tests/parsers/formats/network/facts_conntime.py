"""Checks of the facts stored beside the corpus samples of connection times."""

from __future__ import annotations

import statistics

import pytest

from tests.parsers.formats.evidence import Reading


def _seconds(reading: Reading) -> list[float]:
    return [float(x) for x in reading.table("conn_times")["elapsed_s"].drop_nulls()]


def samples(reading: Reading, value: int) -> None:
    assert len(reading.table("conn_times")) == value


def smallest(reading: Reading, value: float) -> None:
    assert min(_seconds(reading)) == pytest.approx(value)


def largest(reading: Reading, value: float) -> None:
    assert max(_seconds(reading)) == pytest.approx(value)


def mean(reading: Reading, value: float) -> None:
    assert round(statistics.fmean(_seconds(reading)), 4) == value


def over_1s(reading: Reading, value: int) -> None:
    assert sum(x > 1 for x in _seconds(reading)) == value


def over_1s_lines(reading: Reading, value: list[int]) -> None:
    rows = reading.table("conn_times")
    assert rows.filter(rows["elapsed_s"] > 1)["line_no"].to_list() == value


def unit(reading: Reading, value: str) -> None:
    assert value == "s"
    assert max(_seconds(reading)) < 60


def elision_lines(reading: Reading, value: list[int]) -> None:
    assert reading.account.account.elided == len(value)
    noted = [n for n in reading.account.notes if n.kind == "elided"]
    assert [line for n in noted for line in range(n.line_from, n.line_to + 1)] == value


def ms(reading: Reading, value: list[float]) -> None:
    assert [round(x * 1000, 3) for x in _seconds(reading)] == value


def clock(reading: Reading, value: str) -> None:
    from datetime import UTC, datetime

    at = datetime.strptime(value, "%d-%b-%Y %H:%M:%S").replace(tzinfo=UTC)
    assert reading.table("conn_times")["t_local"].to_list()[0] == at.timestamp()
    said = reading.account.parts[0].clock
    assert said is not None
    assert said["kind"] == "wall-local"


def utc(reading: Reading, value: str) -> None:
    from datetime import UTC, datetime

    at = datetime.fromisoformat(value).replace(tzinfo=UTC)
    assert reading.table("conn_times")["t_local"].to_list()[0] == pytest.approx(at.timestamp(), abs=1e-6)
    said = reading.account.parts[0].clock
    assert said is not None
    assert (said["kind"], said["zone"]) == ("wall-utc", "UTC")


def host(reading: Reading, value: str) -> None:
    assert reading.table("conn_times")["series"].to_list()[0].split(":")[0] == value


def series(reading: Reading, value: list[str | None]) -> None:
    assert reading.table("conn_times")["series"].unique(maintain_order=True).to_list() == value


def errors(reading: Reading, value: dict[str, str]) -> None:
    rows = reading.table("conn_times")
    found = rows.filter(~rows["ok"])
    assert {str(k): v for k, v in found.select("line_no", "err").iter_rows()} == value
    assert found["elapsed_s"].null_count() == len(found)


def broken_lines(reading: Reading, value: list[int]) -> None:
    rows = reading.table("conn_times")
    assert rows.filter(rows["contiguous"] == "broken")["line_no"].to_list() == value


def seconds(reading: Reading, value: list[float]) -> None:
    assert _seconds(reading) == pytest.approx(value)


CHECKERS = {
    "samples": samples,
    "min": smallest,
    "max": largest,
    "mean": mean,
    "over_1s": over_1s,
    "over_1s_lines": over_1s_lines,
    "unit": unit,
    "elision_lines": elision_lines,
    "ms": ms,
    "clock": clock,
    "utc": utc,
    "host": host,
    "series": series,
    "errors": errors,
    "broken_lines": broken_lines,
    "seconds": seconds,
}
WAIVED = {
    "decimal": "the sign of the text is not stored; min, max and mean prove that it was read rightly",
}

AHEAD = ("elapsed_s",)
AHEAD_IF = rb"[1-9],[0-9]{3}\b"
"""A number whose comma may separate thousands or decimals: the other lines of the file decide, also later ones."""
