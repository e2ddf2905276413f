"""Checks of the facts stored beside the corpus samples of process listings."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import notes, rows_of


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("ps")


def processes(reading: Reading, value: int) -> None:
    assert len(_rows(reading)) == value


def defunct(reading: Reading, value: int) -> None:
    assert (_rows(reading)["ending"] == "defunct").sum() == value


def defunct_pids(reading: Reading, value: list[int]) -> None:
    assert _rows(reading).filter(pl.col("ending") == "defunct")["pid"].to_list() == value


def zombie(reading: Reading, value: dict[str, int]) -> None:
    (row,) = _rows(reading).filter(pl.col("ending") == "defunct").to_dicts()
    assert (row["pid"], row["ppid"], row["line_no"]) == (value["pid"], value["ppid"], value["line"])


def header(reading: Reading, value: bool) -> None:
    assert (_rows(reading)["line_no"][0] == 2) is value


def pid1(reading: Reading, value: str) -> None:
    assert _rows(reading).filter(pl.col("pid") == 1)["args"].to_list() == [value]


def stime_forms(reading: Reading, value: list[str]) -> None:
    assert _rows(reading)["start_text"].fill_null("-").to_list() == value


def shifted_row(reading: Reading, value: int) -> None:
    row = _rows(reading).filter(pl.col("line_no") == value).row(0, named=True)
    assert (row["rss_kb"], row["cpu_time_s"]) == (143632.0, 4738.0)


def row_with_dash_ni(reading: Reading, value: str) -> None:
    assert _rows(reading).filter(pl.col("nice").is_null())["args"].to_list() == [value]


def pri(reading: Reading, value: int) -> None:
    assert value in _rows(reading)["pri"].to_list()


def rss_missing_on_defunct(reading: Reading, value: bool) -> None:
    rows = _rows(reading)
    gone = rows.filter(pl.col("ending") == "defunct")
    assert (gone["rss_kb"].null_count() == len(gone) > 0) is value
    assert rows.filter(pl.col("ending").is_null())["rss_kb"].null_count() == 0


def zombies(reading: Reading, value: Any) -> None:
    gone = _rows(reading).filter((pl.col("ending") == "defunct") | pl.col("state").str.contains("Z"))
    if isinstance(value, int):
        assert len(gone) == value
        return
    named = [f"{a.removesuffix(' <defunct>')} pid {p}" for a, p in gone.select("args", "pid").iter_rows()]
    assert named == value


def parents(reading: Reading, value: dict[str, int | None]) -> None:
    assert {str(p): pp for p, pp in _rows(reading).select("pid", "ppid").iter_rows()} == value


def samples(reading: Reading, value: int) -> None:
    assert _rows(reading)["sample"].max() == value


def stamps(reading: Reading, value: list[float]) -> None:
    assert _rows(reading)["t_local"].unique(maintain_order=True).to_list() == value


def masked(reading: Reading, value: str) -> None:
    assert value not in str(_rows(reading).to_dicts())


def ancestry(reading: Reading, value: dict[str, int | None]) -> None:
    """Check the parent of each process, without threads."""
    rows = _rows(reading).filter(pl.col("lwp").is_null())
    assert {str(p): pp for p, pp in rows.select("pid", "ppid").iter_rows()} == value


def threads(reading: Reading, value: dict[str, int]) -> None:
    """Check how many threads of each process have a row; "null" where the process is unknown."""
    found = _rows(reading).filter(pl.col("lwp").is_not_null()).group_by("pid").len()
    assert {"null" if pid is None else str(pid): n for pid, n in found.iter_rows()} == value


CHECKERS = {
    "rows": rows_of("ps", "line_no", "pid", "ppid", "lwp", "login", "state", "pri", "comm"),
    "ancestry": ancestry,
    "threads": threads,
    "notes": notes,
    "processes": processes,
    "defunct": defunct,
    "defunct_pids": defunct_pids,
    "zombie": zombie,
    "zombie_pids": defunct_pids,
    "zombies": zombies,
    "header": header,
    "pid1": pid1,
    "stime_forms": stime_forms,
    "shifted_row": shifted_row,
    "row_with_dash_NI": row_with_dash_ni,
    "PRI": pri,
    "rss_missing_on_defunct": rss_missing_on_defunct,
    "parents": parents,
    "samples": samples,
    "stamps": stamps,
    "masked": masked,
}
WAIVED: dict[str, str] = {}
