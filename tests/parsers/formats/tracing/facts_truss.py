"""Checks of the facts stored beside the corpus samples of truss."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from parsers.formats.tracing.truss.errno_names import FREEBSD
from tests.parsers.formats.evidence import Reading, read_path

CORPUS = Path(__file__).parents[3] / "corpus" / "truss"

WAIVED = {
    "attribution": "words: which call the time belongs to is the fact `slowest`",
    "blog_says_cladm_calls": "the author's own count; ours is `cladm_calls`",
    "note_on_author_figure": "words about a slip of the author",
    "max_gap_unusable": "words: the gap marks are checked by `other_lines` and in test_truss",
    "max_delta_is_user_time": "words: no column says what happened in user time",
}


def _calls(reading: Reading) -> pl.DataFrame:
    return reading.tables.get(
        "syscalls", pl.DataFrame(schema={"name": pl.String, "line_no": pl.Int64, "err": pl.String})
    )


def _open(reading: Reading, state: str) -> pl.DataFrame:
    if "open_calls" not in reading.tables:
        return pl.DataFrame(schema={"line_no": pl.Int64, "pid": pl.Int64, "lwp": pl.Int64, "name": pl.String})
    return reading.table("open_calls").filter(pl.col("state") == state)


def _named(reading: Reading, name: str) -> pl.DataFrame:
    return _calls(reading).filter(pl.col("name") == name)


def _all(reading: Reading) -> pl.DataFrame:
    """Return the prefixes of all rows except a last one that is cut."""
    columns = ["line_no", "pid", "lwp"]
    tables = [reading.table(t).select(columns) for t in ("syscalls", "signals", "libcalls") if t in reading.tables]
    return pl.concat([*tables, _open(reading, "sleeping").select(columns)])


def calls(reading: Reading, value: int) -> None:
    assert len(_calls(reading)) == value


def calls_by_name(reading: Reading, value: dict[str, int]) -> None:
    assert Counter(_calls(reading)["name"]) == value


def sleeping(reading: Reading, value: int) -> None:
    assert len(_open(reading, "sleeping")) == value


def pids(reading: Reading, value: list[int]) -> None:
    assert sorted(set(_all(reading)["pid"].drop_nulls())) == sorted(value)


def lwps(reading: Reading, value: list[str]) -> None:
    seen = _all(reading).with_columns(pl.col("pid").cast(pl.String).fill_null(""))
    assert {f"{pid}/{lwp}" for _, pid, lwp in seen.iter_rows()} == set(value)


def fork_edges(reading: Reading, value: list[list[int]]) -> None:
    parents = _calls(reading).filter(pl.col("child_pid").is_not_null()).select("pid", "child_pid").rows()
    assert sorted(map(list, parents)) == sorted(value)


def first_ts(reading: Reading, value: float) -> None:
    assert _calls(reading)["t_local"].min() == value


def last_ts(reading: Reading, value: float) -> None:
    assert _calls(reading)["t_local"].max() == value


def max_gap_same_lwp(reading: Reading, value: dict[str, Any]) -> None:
    rows = _calls(reading).filter(pl.col("gap_s") == pl.col("gap_s").max())
    assert rows.select("gap_s", "line_no", "name").row(0) == (value["seconds"], value["line"], value["name"])


def stall_seconds(reading: Reading, value: float) -> None:
    born = _calls(reading).filter((pl.col("state") == "child_start") & (pl.col("pid") == 3731))["t_local"].item()
    write = _named(reading, "write")["t_local"].item()
    assert round(write - born, 4) == value


def _token_line(reading: Reading, name: str, value: int) -> None:
    rows = _named(reading, name).filter(pl.col("data").str.starts_with("NTP0"))
    assert rows["line_no"].to_list() == [value]


def errors(reading: Reading, value: dict[str, int]) -> None:
    """Check the names of errors; where a tool prints only numbers, the facts have the names of FreeBSD."""
    assert Counter(_calls(reading)["err"].drop_nulls()) == {
        FREEBSD[int(k)] if k.isdigit() else k: n for k, n in value.items()
    }


def errors_by_number(reading: Reading, value: dict[str, int]) -> None:
    printed = _calls(reading)["ret_text"].str.extract(r"^ERR#([0-9]+) ", 1).drop_nulls()
    assert Counter(printed) == value


def pid(reading: Reading, value: int) -> None:
    assert _calls(reading)["pid"].unique().to_list() == [value]


def tids(reading: Reading, value: list[int]) -> None:
    assert sorted(_calls(reading)["lwp"].unique()) == value


def exec_failures(reading: Reading, value: int) -> None:
    assert len(_named(reading, "execve").filter(pl.col("err") == "ENOENT")) == value


def exec_success_line(reading: Reading, value: int) -> None:
    assert _named(reading, "execve").filter(pl.col("err").is_null())["line_no"].to_list() == [value]


def max_elapsed_us(reading: Reading, value: int) -> None:
    assert _calls(reading)["elapsed_s"].max() == value / 1e6
    assert set(_calls(reading)["dur_kind"]) == {"elapsed"}


def max_line(reading: Reading, value: int) -> None:
    rows = _calls(reading)
    assert rows.filter(pl.col("elapsed_s") == rows["elapsed_s"].max())["line_no"].to_list() == [value]


def dtruss_open(reading: Reading, value: dict[str, int]) -> None:
    row = _named(reading, "open").row(0, named=True)
    times = [row[c] for c in ("t_local", "elapsed_s", "cpu_s")]
    assert times == pytest.approx([value[k] / 1e6 for k in ("relative_us", "elapsed_us", "cpu_us")])
    assert (row["ret"], row["err"]) == (value["ret"], None)
    assert value["errno"] == 0
    assert row["path"] == "/dev/dtracehelper"


def slowest(reading: Reading, value: dict[str, Any]) -> None:
    row = _calls(reading).filter(pl.col("line_no") == value["line"]).row(0, named=True)
    assert row["dur_hi_s"] == value["gap_seconds"] == _calls(reading)["dur_hi_s"].max()
    found = (row["pid"], row["lwp"], row["name"], row["arg_id"], row["arg_addr"])
    assert found == (value["pid"], value["lwp"], value["name"], value["shmid"], int(value["segment"], 16))


def same_as(reading: Reading, value: str) -> None:
    other = read_path(CORPUS / f"{value}.txt")
    lines = {"line_no", "line_end", "prev_line", "seq", "done_line"}
    for table in ("syscalls", "open_calls"):
        assert (table in reading.tables) == (table in other.tables)
        if table in reading.tables:
            mine, theirs = reading.table(table), other.table(table)
            assert mine.drop(lines, strict=False).equals(theirs.drop(lines, strict=False))


def fork1_delta(reading: Reading, value: float) -> None:
    assert _named(reading, "fork1").filter(pl.col("state") == "done")["delta_s"].to_list() == [value]


def fork1_sys_cpu(reading: Reading, value: float) -> None:
    assert _named(reading, "fork1").filter(pl.col("state") == "done")["cpu_s"].to_list() == [value]


def last_line_truncated(reading: Reading, value: bool) -> None:
    cut = _open(reading, "truncated")
    assert (cut["line_no"].to_list() == [reading.account.lines]) == value


def nested_paren_lines(reading: Reading, value: list[int]) -> None:
    both = pl.concat([reading.table(t).select("line_no", "args") for t in ("syscalls", "open_calls")])
    nested = both.filter(pl.col("args").str.contains(r"\(\(.*\)"))
    assert sorted(nested["line_no"]) == value


def lines_without_return(reading: Reading, value: list[list[Any]]) -> None:
    rows = _calls(reading).filter(pl.col("state") == "no_return").select("line_no", "name", "ret_text").rows()
    assert rows == [(line, name, None) for line, name in value]


def max_delta(reading: Reading, value: float) -> None:
    assert _calls(reading)["delta_s"].max() == value


def _longest(reading: Reading) -> dict[str, Any]:
    return _calls(reading).filter(pl.col("delta_s") == pl.col("delta_s").max()).row(0, named=True)


def max_delta_line(reading: Reading, value: int) -> None:
    assert _longest(reading)["line_no"] == value


def max_delta_name(reading: Reading, value: str) -> None:
    assert _longest(reading)["name"] == value


def first_delta_is_absolute(reading: Reading, value: bool) -> None:
    row = _calls(reading).row(0, named=True)
    assert (row["delta_s"] == row["t_local"] and row["gap_s"] is None and row["dur_hi_s"] is None) == value


def parent(reading: Reading, value: int) -> None:
    assert _calls(reading).filter(pl.col("state") == "child_start")["ret"].to_list() == [value]


def child(reading: Reading, value: int) -> None:
    assert _calls(reading)["child_pid"].drop_nulls().to_list() == [value]


def exit_(reading: Reading, value: int) -> None:
    assert _named(reading, "_exit")["args"].to_list() == [str(value)]


def other_lines(reading: Reading, value: int) -> None:
    """Check the number of lines that are neither call nor signal: details, comments, marks, blanks, a cut last line."""
    records = set(_calls(reading)["line_no"]) | set(_open(reading, "sleeping")["line_no"])
    if "signals" in reading.tables:
        records |= set(reading.table("signals")["line_no"])
    assert reading.account.lines - len(records) == value


def exec_(reading: Reading, value: dict[str, Any]) -> None:
    row = _named(reading, "execve").row(0, named=True)
    assert (row["path"], row["ret_text"], row["delta_s"]) == (value["path"], f"argc = {value['argc']}", value["delta"])


def _detail(reading: Reading, text: str, call: str) -> None:
    """Check that a detail line counts as read and extends its call."""
    sample = next(
        p for p in CORPUS.glob("*.txt") if text in p.read_text() and p.stem == "milek-child-8197-cladm-annotated"
    )
    lines = [n for n, line in enumerate(sample.read_text().splitlines(), 1) if line.endswith(text)]
    rows = _named(reading, call).filter(pl.col("line_end").is_in(lines))
    assert len(lines) == len(rows) == 1
    assert rows["line_no"].item() == lines[0] - 1


def cladm_calls(reading: Reading, value: int) -> None:
    assert len(_named(reading, "cladm")) == value


def cladm_delta_sum(reading: Reading, value: float) -> None:
    rows = _named(reading, "cladm")
    assert round(rows["delta_s"].sum(), 4) == round(rows["dur_hi_s"].sum(), 4) == value


def cladm_sys_cpu_sum(reading: Reading, value: float) -> None:
    assert round(_named(reading, "cladm")["cpu_s"].sum(), 4) == value


def fields(reading: Reading, value: dict[str, Any]) -> None:
    row = _calls(reading).row(0, named=True)
    assert [row[c] for c in ("t_local", "delta_s", "cpu_s", "ret")] == [
        value[k] for k in ("ts", "delta", "sys_cpu", "ret")
    ]


def detail(reading: Reading, value: dict[str, Any]) -> None:
    row = _calls(reading).row(0, named=True)
    assert (row["peer_ip"], row["peer_port"], row["line_end"]) == (value["addr"], value["port"], 2)
    assert value["family"] == "AF_INET"


def fork1(reading: Reading, value: dict[str, Any]) -> None:
    row = _named(reading, "fork1").row(0, named=True)
    assert [row[c] for c in ("child_pid", "delta_s", "cpu_s")] == [value[k] for k in ("child", "delta", "sys_cpu")]


def listener_wait_for_child_sum(reading: Reading, value: float) -> None:
    born = _named(reading, "fork1")["seq"].item()
    read_end = _named(reading, "pipe")["fd"].to_list()[1]
    reads = _named(reading, "read").filter((pl.col("seq") > born) & (pl.col("fd") == read_end)).head(2)
    total = pl.concat([_named(reading, "fork1"), _named(reading, "waitid"), reads])["dur_hi_s"].sum()
    assert round(total, 4) == value


def accept_to_next_pollsys_return(reading: Reading, value: float) -> None:
    accept = _named(reading, "accept").row(0, named=True)
    polled = _named(reading, "pollsys").filter((pl.col("seq") > accept["seq"]) & (pl.col("fd") == 12))
    assert round(polled["t_local"][0] - accept["t_local"], 4) == value


def pipes(reading: Reading, value: list[list[int]]) -> None:
    assert list(map(list, _named(reading, "pipe").select("fd", "fd2").rows())) == value


def getpid_pid_ppid(reading: Reading, value: list[int]) -> None:
    assert list(_named(reading, "getpid").select("ret", "ret2").row(0)) == value


def shmdt(reading: Reading, value: int) -> None:
    assert len(_named(reading, "shmdt")) == value


def shmdt_deltas(reading: Reading, value: list[float]) -> None:
    assert _named(reading, "shmdt")["gap_s"].to_list() == value


def shmdt_total_seconds(reading: Reading, value: float) -> None:
    assert round(_named(reading, "shmdt")["gap_s"].sum(), 4) == value


def no_return_calls(reading: Reading, value: list[str]) -> None:
    assert _calls(reading).filter(pl.col("state") == "no_return")["name"].to_list() == value


def signals(reading: Reading, value: int) -> None:
    assert len(reading.table("signals").filter(pl.col("event") == "received")) == value


def faults(reading: Reading, value: int) -> None:
    rows = reading.table("signals").filter(pl.col("event") == "fault")
    assert len(rows) == value
    assert rows["code"].str.starts_with("FLT").all()


def detail_lines(reading: Reading, value: list[int]) -> None:
    rows = _calls(reading)
    ends = [n for first, last in rows.select("line_no", "line_end").rows() for n in range(first + 1, last + 1)]
    assert ends == value


def aiowrite_bytes(reading: Reading, value: int) -> None:
    written = _named(reading, "kaio").filter(pl.col("args").str.starts_with("AIOWRITE"))
    assert written["args"].str.split(", ").list.get(3).cast(pl.Int64).sum() == value


def argc(reading: Reading, value: int) -> None:
    done = _named(reading, "execve").filter(pl.col("err").is_null())["ret_text"].to_list()
    assert done in ([f"argc = {value}"], [f"argc: {value}"])


def exec_path(reading: Reading, value: str) -> None:
    assert _named(reading, "execve")["path"].item().rsplit("/", 1)[-1] == value


def read_bytes_total(reading: Reading, value: int) -> None:
    assert _named(reading, "read")["bytes"].sum() == value


def unescaped_quote_line(reading: Reading, value: int) -> None:
    row = _calls(reading).filter(pl.col("line_no") == value).row(0, named=True)
    assert row["data"] == '{\n  "version'
    assert row["args"].endswith("6629")


def second_value(reading: Reading, value: int) -> None:
    assert _calls(reading)["ret2"].to_list() == [value]


def rows(reading: Reading, value: int) -> None:
    table = reading.table("syscall_totals")
    assert len(table) == value
    assert table["complete"].all()
    assert set(table["total_kind"]) == {"cpu"}


def cut_totals(reading: Reading, value: list[list[Any]]) -> None:
    """Check a table that lost its end: section, name, count, seconds of each row; the open section is not complete."""
    table = reading.table("syscall_totals")
    assert [list(r) for r in table.select("section", "name", "n", "total_s").iter_rows()] == value
    assert not table["complete"][-1]


def sum_calls_rows(reading: Reading, value: int) -> None:
    assert reading.table("syscall_totals")["n"].sum() == value == _facts(reading)["counts_calls"]


def errors_total(reading: Reading, value: int) -> None:
    assert reading.table("syscall_totals")["errors"].sum() == value == _facts(reading)["counts_errors"]


def unfinished(reading: Reading, value: list[list[Any]]) -> None:
    assert list(map(list, _open(reading, "unfinished").select("line_no", "name").rows())) == value


def paths(reading: Reading, value: dict[str, str]) -> None:
    rows = _calls(reading).filter(pl.col("path").is_not_null()).select("line_no", "path").rows()
    assert rows == [(int(line), path) for line, path in value.items()]


def kdump_data(reading: Reading, value: dict[str, str]) -> None:
    rows = _calls(reading).filter(pl.col("data").is_not_null()).select("line_no", "data").rows()
    assert rows == [(int(line), text) for line, text in value.items()]


def longest(reading: Reading, value: dict[str, Any]) -> None:
    rows = _calls(reading).filter(pl.col("elapsed_s") == pl.col("elapsed_s").max())
    assert rows.select("line_no", "elapsed_s").rows() == [(value["line"], value["seconds"])]


def refused(reading: Reading, value: list[int]) -> None:
    """Check the lines of logs: capability failures, broken pledges, dropped events."""
    assert reading.table("logs")["line_no"].to_list() == value


def _facts(reading: Reading) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(json.dumps(reading.account.parts[0].facts))
    return facts


def libcalls(event: str) -> Any:
    def check(reading: Reading, value: int) -> None:
        assert len(reading.table("libcalls").filter(pl.col("event") == event)) == value

    return check


def function_seconds(func: str) -> Any:
    def check(reading: Reading, value: float) -> None:
        t = reading.table("libcalls").filter(pl.col("func") == func)["t_local"].to_list()
        assert len(t) == 2
        assert round(t[1] - t[0], 4) == value

    return check


def total(name: str) -> Any:
    def check(reading: Reading, value: float) -> None:
        assert _facts(reading)[name] == pytest.approx(value)

    return check


CHECKERS = {
    "cut_totals": cut_totals,
    "errors_by_number": errors_by_number, "pid": pid, "tids": tids, "exec_failures": exec_failures, "exec_success_line": exec_success_line,
    "max_elapsed_us": max_elapsed_us, "max_line": max_line, "open": dtruss_open,
    "calls": calls, "calls_by_name": calls_by_name, "names": calls_by_name, "records": calls, "sleeping": sleeping, "pids": pids,
    "lwps": lwps, "fork_edges": fork_edges, "first_ts": first_ts, "last_ts": last_ts, "max_gap_same_lwp": max_gap_same_lwp,
    "stall_seconds": stall_seconds, "ntp_write_line": lambda r, v: _token_line(r, "write", v),
    "ntp_read_line": lambda r, v: _token_line(r, "read", v), "errors": errors, "slowest": slowest, "same_as": same_as,
    "fork1_delta": fork1_delta, "fork1_sys_cpu": fork1_sys_cpu, "last_line_truncated": last_line_truncated,
    "nested_paren_lines": nested_paren_lines, "lines_without_return": lines_without_return, "max_delta": max_delta,
    "max_delta_line": max_delta_line, "max_delta_name": max_delta_name, "first_delta_is_absolute": first_delta_is_absolute,
    "parent": parent, "child": child, "exit": exit_, "other_lines": other_lines, "exec": exec_,
    "nodeid": lambda r, v: _detail(r, f": nodeid={v}", "cladm"), "highest_nodeid": lambda r, v: _detail(r, f": nodeid={v}", "cladm"),
    "cladm_calls": cladm_calls, "cladm_delta_sum": cladm_delta_sum, "cladm_sys_cpu_sum": cladm_sys_cpu_sum, "fields": fields,
    "detail": detail, "fork1": fork1, "listener_wait_for_child_sum": listener_wait_for_child_sum,
    "accept_to_next_pollsys_return": accept_to_next_pollsys_return, "pipes": pipes, "getpid_pid_ppid": getpid_pid_ppid,
    "shmdt": shmdt, "shmdt_deltas": shmdt_deltas, "shmdt_total_seconds": shmdt_total_seconds, "no_return_calls": no_return_calls,
    "signals": signals, "faults": faults, "detail_lines": detail_lines, "aiowrite_bytes": aiowrite_bytes, "argc": argc,
    "exec_path": exec_path, "read_bytes_total": read_bytes_total, "unescaped_quote_line": unescaped_quote_line,
    "second_value": second_value, "rows": rows, "sum_calls_rows": sum_calls_rows, "errors_total": errors_total,
    "sys_total_seconds": total("counts_sys_s"), "usr_seconds": total("counts_usr_s"), "elapsed_seconds": total("counts_elapsed_s"),
    "entries": libcalls("entry"), "returns": libcalls("exit"), "malloc_seconds": function_seconds("malloc"),
    "free_seconds": function_seconds("free"), "unfinished": unfinished, "paths": paths, "kdump_data": kdump_data, "longest": longest,
    "refused": refused,
}  # fmt: skip

AHEAD = ("done_line", "complete")
"""Columns that a later line decides: the line that completes an open call."""

REPAIRED = True
