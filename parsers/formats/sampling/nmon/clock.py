"""Read the head of an nmon recording and the times of its snapshots."""

from __future__ import annotations

import re

import polars as pl

from parsers.tables.clock_domains import set_back
from parsers.tables.rows import State, Tables
from parsers.text.source import Source
from parsers.text.times import month, wall_seconds

STAMP = (
    r"^ZZZZ,(T[0-9]{4,9}),([0-9]{1,2}):([0-9]{2})[:.]([0-9]{2})(?:,([0-9]{1,2})-([A-Za-z]{3})-([0-9]{4}))?[ \t]*(?:,|$)"
)


def head(line_nos: list[int], texts: list[str], out: Tables, state: State) -> None:
    """Read the head: facts about the recording, and a row of hosts for each run of AAA records."""
    if not texts:
        return
    records: dict[str, list[str]] = {}
    for text in texts:
        key, *values = text.split(",")[1:]
        records[key] = [v.strip() for v in values]
    first_of = {key: values[0] for key, values in records.items() if values}
    if state.get("stamp"):
        state["stamp"]["snap"] = None
    state["head"] = {k: first_of[k] for k in ("date", "time", "interval") if k in first_of} | {
        k: v for k, v in state.get("head", {}).items() if k not in first_of
    }
    system = first_of["OS"].lower() if "OS" in first_of else "aix" if "AIX" in first_of else None
    release = records["OS"][1] if len(records.get("OS", [])) > 1 else first_of.get("AIX")
    if first_of.get("interval", "").isdecimal():
        out.fact("interval_s", int(first_of["interval"]))
    facts = {
        "host": first_of.get("host"),
        "os": system,
        "os_release": release,
        "tool_opts": first_of.get("command", "").split(),
    }
    for name, value in facts.items():
        if value:
            out.fact(name, value)
    cpus = [int(v) for v in records.get("cpus", []) if v.isdecimal()]
    model = ",".join(records["MachineType"]) if "MachineType" in records else None
    row = {"os": system, "os_release": release, "model": model, "ncpu": cpus[-1] if cpus else None}
    if any(row.values()):
        spread = {"line_no": line_nos[0], "line_end": line_nos[-1]}
        texts_of = {k: pl.Int64 if k in ("line_no", "line_end", "ncpu") else pl.String for k in spread | row}
        out.add("hosts", pl.DataFrame([spread | row], schema=texts_of))


def stamped(lines: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add to each record the time, the number and the length of its snapshot."""
    head = state.get("head", {})
    found = lines.filter(pl.col("tag") == "ZZZZ")
    times: list[tuple[int, str, int, float | None, float | None, int]] = []
    last: dict[str, float | int | str | None] = state.get("stamp") or {"sample": 0, "t": None}
    restart = int(last.get("restart") or 0)
    if state.get("stamp"):
        known_one = int(last["sample"] or 0), _number(last["t"]), _number(last["interval"])
        times.append((0, str(last["snap"]), *known_one, int(last.get("restart") or 0)))
    for line_no, line in found.select("line_no", "line").iter_rows():
        match = re.match(STAMP, line)
        t = _wall(match, head, last, line_no, out) if match else None
        if match is None:
            out.account("damaged", [line_no])
            continue
        before = _number(last["t"])
        nominal = _number(head.get("interval"))
        step = t - before if t is not None and before is not None else nominal
        if step is not None and step <= 0:
            if t is not None and before is not None and t < before:
                restart += _restarts(line_no, t, before, source, out)
            step = nominal
        number = int(last["sample"] or 0) + 1
        last = {"snap": match[1], "sample": number, "t": t, "interval": step, "restart": restart}
        times.append((line_no, match[1], number, t, step, restart))
        state.setdefault("steps", [])
        if len(state["steps"]) < 2 and "interval" not in head and before is not None and step is not None:
            state["steps"].append(step)
            out.fact("interval_s", step)
    if times and times[-1][0]:
        state["stamp"] = last
    columns = {"at": pl.Int64, "snap": pl.String, "sample": pl.Int64, "t_local": pl.Float64, "interval_s": pl.Float64}
    columns["restart"] = pl.Int64
    stamps = pl.DataFrame(times, schema=columns, orient="row")
    known = ("sample", "t_local", "interval_s", "restart")
    if state.get("sorted"):
        sides = [
            lines.join_asof(stamps, left_on="line_no", right_on="at", by="snap", strategy=way, check_sortedness=False)
            for way in ("backward", "forward")
        ]
        joined = sides[0].with_columns(pl.coalesce(pl.col(c), sides[1][c]) for c in known)
    else:
        joined = lines.join_asof(stamps, left_on="line_no", right_on="at", suffix="_of")
        same = pl.col("snap") == pl.col("snap_of")
        joined = joined.with_columns(pl.when(same).then(pl.col(c)).alias(c) for c in known).drop("snap_of")
    return _guessed(joined, out, state)


def _guessed(joined: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Set the time of records without a stamp to start + interval x (snapshot - 1), with one note."""
    bare = joined.filter(pl.col("snap").is_not_null() & pl.col("sample").is_null())
    if bare.is_empty():
        return joined
    head = state.get("head", {})
    start, interval = _start(head), _number(head.get("interval"))
    number = pl.col("snap").str.slice(1).cast(pl.Int64, strict=False)
    known = start is not None and interval is not None
    if not state.get("said_bare"):
        state["said_bare"] = True
        words = "start + interval x (snapshot - 1), not measured" if known else "unknown"
        line = int(bare["line_no"][0])
        out.note(line, line, "remark", f"no ZZZZ record for snapshot {bare['snap'][0]}: times are {words}")
    time = (number - 1) * pl.lit(interval, pl.Float64) + pl.lit(start, pl.Float64)
    missing = pl.col("sample").is_null()
    return joined.with_columns(
        t_local=pl.when(missing).then(time).otherwise(pl.col("t_local")),
        interval_s=pl.when(missing).then(pl.lit(interval, pl.Float64)).otherwise(pl.col("interval_s")),
        sample=pl.when(missing).then(number).otherwise(pl.col("sample")),
    )


def _restarts(line_no: int, t: float, before: float, source: Source, out: Tables) -> bool:
    """Note that the clock fell; return whether a new clock domain begins: not at the end of summer time."""
    summer = set_back(before, t, source.hints.tz)
    why = "the end of daylight saving time" if summer else "it was set, or another recording begins; a clock of its own"
    out.note(line_no, line_no, "remark", f"the clock goes back by {before - t:g} s: {why}")
    return not summer


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _start(head: dict[str, str]) -> float | None:
    """Return the start time from `AAA,date` and `AAA,time` (`13:18.31`)."""
    day = re.fullmatch(r"([0-9]{1,2})-([A-Za-z]{3})-([0-9]{4})", head.get("date", ""))
    time = re.fullmatch(r"([0-9]{1,2})[:.]([0-9]{2})[:.]([0-9]{2})", head.get("time", ""))
    name = month(day[2]) if day else None
    if not day or not time or not name:
        return None
    return wall_seconds(int(day[3]), name, int(day[1]), int(time[1]), int(time[2]), int(time[3]))


def _wall(
    match: re.Match[str], head: dict[str, str], last: dict[str, float | int | str | None], line_no: int, out: Tables
) -> float | None:
    """Read a stamp; one without a date has the date of the head, a day later after midnight."""
    time = int(match[2]), int(match[3]), int(match[4])
    if match[5]:
        name = month(match[6])
        t = wall_seconds(int(match[7]), name, int(match[5]), *time) if name else None
        if t is None:
            out.note(line_no, line_no, "damaged", f"no such date: {match[0]}")
        return t
    start, before = _start(head), _number(last["t"])
    if start is None:
        return None
    t = start // 86400 * 86400 + time[0] * 3600 + time[1] * 60 + time[2]
    while before is not None and t < before - 43200:
        t += 86400
    return t
