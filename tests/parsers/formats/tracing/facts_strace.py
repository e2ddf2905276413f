"""Checks of the facts stored beside the corpus samples of strace."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.parsers.formats.evidence import Reading, read_path

CORPUS = Path(__file__).parents[3] / "corpus" / "strace"

WAIVED = {
    "counted_after": "words: how the facts were counted",
    "table": "words: that it is a table of -c; its rows are checked",
}


def _calls(reading: Reading) -> pl.DataFrame:
    return reading.table("syscalls")


def _open(reading: Reading) -> pl.DataFrame:
    if "open_calls" not in reading.tables:
        return pl.DataFrame(schema={"lwp": pl.Int64, "name": pl.String, "done_line": pl.Int64})
    return reading.table("open_calls").filter(pl.col("state") == "unfinished")


def _signals(reading: Reading) -> pl.DataFrame:
    if "signals" not in reading.tables:
        return pl.DataFrame(schema={"event": pl.String, "signal": pl.String, "lwp": pl.Int64, "status": pl.Int64})
    return reading.table("signals")


def calls(reading: Reading, value: int) -> None:
    assert len(_calls(reading)) == value


def names(reading: Reading, value: dict[str, int]) -> None:
    counted = Counter(_calls(reading)["name"])
    assert {name: counted[name] for name in value} == value
    others = [n for name, n in counted.items() if name not in value]
    assert len(value) == 12 or not others
    assert max(others, default=0) <= min(value.values())


def unfinished(reading: Reading, value: int) -> None:
    assert len(_open(reading)) == value


def resumed(reading: Reading, value: int) -> None:
    """Check the number of second halves: those that a first half waits for, and orphans (their rows have no first line)."""
    pairs = _open(reading)["done_line"].drop_nulls()
    assert len(pairs) == value


def errors(reading: Reading, value: dict[str, int]) -> None:
    """Check the calls that returned -1; a call to be restarted (`? ERESTARTSYS`) has an error's name, but no result."""
    assert Counter(_calls(reading).filter(pl.col("ret") == -1)["err"]) == value


def signals(reading: Reading, value: dict[str, int]) -> None:
    assert Counter(_signals(reading).filter(pl.col("event") == "received")["signal"]) == value


def exits(reading: Reading, value: list[list[int | None]]) -> None:
    """Check the exits; a bare exit belongs to the first process, whose number is expected where the trace shows it."""
    rows = _signals(reading).filter(pl.col("event") == "exited").select("lwp", "status").rows()
    assert [status for _, status in rows] == [status for _, status in value]
    for (lwp, _), (expected, _) in zip(rows, value, strict=True):
        assert expected is None or lwp == expected


def pids(reading: Reading, value: list[int]) -> None:
    seen = {
        lwp for t in ("syscalls", "open_calls", "signals") if t in reading.tables for lwp in reading.table(t)["lwp"]
    }
    assert seen - {None} == set(value)


def attached(reading: Reading, value: list[int]) -> None:
    rows = reading.table("logs").filter(pl.col("text").str.contains("attached")) if value else None
    assert rows is None or sorted(rows["pid"]) == sorted(value)
    assert value or "logs" not in reading.tables


def root(reading: Reading, value: int) -> None:
    """Check that the lines without a number belong to the first process."""
    rows = _calls(reading)
    assert rows["lwp"].null_count() == 0
    assert rows["lwp"][0] == value


def slowest(reading: Reading, value: dict[str, Any]) -> None:
    row = _calls(reading).filter(pl.col("elapsed_s") == pl.col("elapsed_s").max()).row(0, named=True)
    assert (row["elapsed_s"], row["line_end"], row["name"]) == (value["seconds"], value["line"], value["name"])
    assert (row["dur_hi_s"], row["dur_kind"], row["contiguous"]) == (value["seconds"], "elapsed", "proven")


def _timed(reading: Reading) -> pl.DataFrame:
    """Return the calls whose time strace printed; halves without -T have the difference of their stamps."""
    return _calls(reading).filter(pl.col("elapsed_s").is_not_null() & (pl.col("contiguous") == "proven"))


def sum_of_t(reading: Reading, value: float) -> None:
    assert round(_timed(reading)["elapsed_s"].sum(), 6) == value


def lines_with_t(reading: Reading, value: int) -> None:
    assert len(_timed(reading)) == value


def pid_from_file_name(reading: Reading, value: int) -> None:
    named = read_path(CORPUS / "ff-child-file.txt", name=f"ffx.{value}")
    assert named.table("syscalls")["pid"].unique().to_list() == [value]
    assert _calls(reading)["pid"].unique().to_list() == [None]


def semids(reading: Reading, value: list[int]) -> None:
    assert _calls(reading)["arg_id"].unique().to_list() == value


def cmd(reading: Reading, value: str) -> None:
    assert _calls(reading)["args"].str.split(", ").list.get(2).unique().to_list() == [value]


def completed(reading: Reading, value: int) -> None:
    calls(reading, value)


def unfinished_open(reading: Reading, value: list[list[Any]]) -> None:
    rows = _open(reading).filter(pl.col("done_line").is_null())
    assert [list(r) for r in rows.select("lwp", "name").iter_rows()] == value


def truncated(reading: Reading, value: list[list[Any]]) -> None:
    """Check the calls that the end of the text, or of the trace, cuts: line and name."""
    rows = reading.table("open_calls").filter(pl.col("state") == "truncated")
    assert [list(r) for r in rows.select("line_no", "name").iter_rows()] == value


def timeouts(reading: Reading, value: int) -> None:
    rows = _calls(reading).filter(pl.col("ret_text").str.contains("(Timeout)", literal=True))
    assert len(rows) == value
    assert rows["ret"].to_list() == [0] * value
    assert rows["err"].null_count() == value


def _table(reading: Reading) -> pl.DataFrame:
    rows = reading.table("syscall_totals")
    assert rows["complete"].all()
    return rows


def rows(reading: Reading, value: int) -> None:
    assert len(_table(reading)) == value


def cut_totals(reading: Reading, value: list[list[Any]]) -> None:
    """Check a table that lost its end: name, count, errors, seconds of each row."""
    table = reading.table("syscall_totals")
    assert [list(r) for r in table.select("name", "n", "errors", "total_s").iter_rows()] == value
    assert not table["complete"].any()


def calls_sum(reading: Reading, value: int) -> None:
    assert _table(reading)["n"].sum() == value


def errors_sum(reading: Reading, value: int) -> None:
    assert _table(reading)["errors"].sum() == value


def seconds_sum(reading: Reading, value: float) -> None:
    assert _table(reading)["total_s"].sum() == pytest.approx(value)


def top(reading: Reading, value: dict[str, Any]) -> None:
    row = _table(reading).sort("total_s", descending=True).row(0, named=True)
    assert (row["name"], row["total_s"], row["n"]) == (value["name"], value["seconds"], value["calls"])


def _fact(reading: Reading, name: str) -> Any:
    return reading.account.parts[0].facts[f"counts_{name}"]


def total_row(reading: Reading, value: dict[str, Any]) -> None:
    assert _fact(reading, "s") == value["seconds"]
    assert _fact(reading, "calls") == value["calls"]
    assert _fact(reading, "errors") == value["errors"]


def total(name: str) -> Any:
    def check(reading: Reading, value: float) -> None:
        assert _fact(reading, name) == value

    return check


def stacks(reading: Reading, value: list[int]) -> None:
    assert reading.table("profile_stacks")["frames"].list.len().to_list() == value


def no_mark_in_a_value(reading: Reading) -> None:
    assert not _calls(reading)["args"].str.contains(r"<unfinished|strace: Process").any()


def peer(reading: Reading, value: list[Any]) -> None:
    found = _calls(reading).filter(pl.col("name") == value[0]).select("peer_ip", "peer_port").row(0)
    assert list(found) == value[1:]


def lwp_of_process(reading: Reading, value: dict[str, int]) -> None:
    known = dict(_calls(reading).select("lwp", "pid").unique().iter_rows())
    assert {str(k): v for k, v in known.items()} == value


def ends(reading: Reading, value: list[float]) -> None:
    domain = reading.account.parts[0].domains[0]
    assert [domain.t_begin, domain.t_end] == value


def base(reading: Reading, value: str) -> None:
    assert reading.account.parts[0].domains[0].base == value


def dur_hi(reading: Reading, value: list[float | None]) -> None:
    assert _calls(reading)["dur_hi_s"].to_list() == value


def contiguous(reading: Reading, value: list[str | None]) -> None:
    assert _calls(reading)["contiguous"].to_list() == value


def notes(reading: Reading, value: list[str]) -> None:
    assert [n.kind for n in reading.account.notes] == value


def data(reading: Reading, value: list[str]) -> None:
    assert _calls(reading)["data"].drop_nulls().to_list() == value


CHECKERS = {
    "cut_totals": cut_totals, "truncated": truncated,
    "completed_calls_on_one_line_or_resumed": calls, "calls": calls, "by_name_top12": names, "unfinished_markers": unfinished,
    "resumed_markers": resumed, "errors": errors, "signals": signals, "exits": exits, "pids_in_prefix": pids, "attached_pids": attached,
    "root_pid": root, "slowest": slowest, "sum_of_T": sum_of_t, "lines_with_T": lines_with_t, "pid_from_file_name": pid_from_file_name,
    "semids": semids, "cmd": cmd, "completed": completed, "unfinished_open": unfinished_open, "timeouts": timeouts, "rows": rows,
    "calls_sum": calls_sum, "errors_sum": errors_sum, "seconds_sum": seconds_sum, "top": top, "total_row": total_row,
    "total_seconds": total("s"), "total_calls": total("calls"), "total_errors": total("errors"), "stacks": stacks, "peer": peer,
    "process_of": lwp_of_process, "t_begin_end": ends, "base": base, "dur_hi": dur_hi, "contiguous": contiguous, "note_kinds": notes,
    "data": data,
}  # fmt: skip

AHEAD = ("done_line", "complete", "dur_hi_s", "dur_kind", "contiguous", "pid", "lwp", "traced_f")
"""Columns that later lines decide: second halves, a table's total, the thread's next event, the process of a bare line."""

REPAIRED = True
