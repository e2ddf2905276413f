r"""Scheduling delays and lock waits by perf: perf sched and perf lock of Linux.

Tools: perf 3.x to 6.x. Manuals: perf-sched(1), perf-lock(1). Capture: `perf sched record; perf sched latency`, `perf sched
timehist`; `perf lock record; perf lock report`, `perf lock contention` (-b, -t, -l).

Samples::

    sleep:23490           |      1.636 ms |        1 | avg:   0.046 ms | max:   0.046 ms | max start: 11779.233000 s | ...
       11779.234937 [0000]  sleep[23490]                        0.000      0.046      1.317
    &mm->mmap_lock       1000         10      1.2 us       12.0 us      3.0 us       0.5 us
             2    182.58 us    137.85 us     91.29 us     spinlock   rcu_core+0xc7

Tables: counters (grp perf_sched: run, wait and delay of each task; item `task:pid`), locks (n, mean_ns, max_ns, lock, caller; rate_ps where the
length of the recording is known: an interval that a person entered, or `sleep 10` in the command). Clock: boot-relative for timehist;
latency prints only the moment of the worst delay.
Traps: delay is the time from runnable to running, wait is the time asleep before. A row of timehist is printed at the end of the run.
`avg wait` of older versions is in nanoseconds without a unit. A file of perf sched map is refused with
the command that prints rows from the same recording.
Known gaps: timehist -s tables, call chains of timehist, -w wake-up events.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Hints, Source

LATENCY = (
    r"^(?:\+[ \t])?[ \t]*(\S.*?):(\(?[0-9]+\)?)[ \t]*\|[ \t]*([0-9]+\.[0-9]+) ms[ \t]*\|[ \t]*([0-9]+)[ \t]*\|[ \t]*avg:?[ \t]*([0-9]+\.[0-9]+) ms[ \t]*"
    r"\|[ \t]*max:?[ \t]*([0-9]+\.[0-9]+) ms[ \t]*\|(?:[ \t]*max (?:start|at):[ \t]*([0-9]+\.[0-9]+) s[ \t]*\|?.*)?$"
)
"""A row of perf sched latency: task, process, run time, switches, mean and worst delay, start of the worst delay."""

TOTAL = r"^[ \t]*TOTAL:[ \t]*\|[ \t]*([0-9]+\.[0-9]+) ms[ \t]*\|[ \t]*([0-9]+)[ \t]*\|"
LATENCY_HEAD = r"^(?:\+[ \t])?[ \t]*Task[ \t]*\|[ \t]*Runtime ms"
TIMEHIST = (
    r"^[ \t]*([0-9]+\.[0-9]{6})[ \t]+\[([0-9]{4})\][ \t]+(?:[.isI]+[ \t]+)?(\S.*?)(?:\[([0-9]+)(?:/([0-9]+))?\])?[ \t]+"
    r"([0-9]+\.[0-9]+)[ \t]+([0-9]+\.[0-9]+)[ \t]+([0-9]+\.[0-9]+)(?:[ \t]+\S.*)?$"
)
"""A row of perf sched timehist: time, CPU, task, thread, process, wait, delay, run."""

TIMEHIST_HEAD = r"^[ \t]*time[ \t]+cpu[ \t]+.*task name|^[ \t]+\[tid/pid\][ \t]+\(msec\)"
NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[ \t](?:ns|us|ms|s|m|h))?"
REPORT_HEAD = r"^[ \t]*Name[ \t]+acquired[ \t]+contended[ \t]+"
REPORT = (
    rf"^[ \t]*(\S.*?)[ \t]+([0-9]+)[ \t]+([0-9]+)[ \t]+({NUMBER})[ \t]+({NUMBER})[ \t]+({NUMBER})(?:[ \t]+({NUMBER}))?$"
)
CONTENTION_HEAD = r"^[ \t]*contended[ \t]+total wait[ \t]+max wait[ \t]+avg wait[ \t]+"
CALL_FRAME = r"^[ \t]{12,}0x[0-9a-f]{8,16}[ \t]+\S"
CONTENTION = rf"^[ \t]*([0-9]+)[ \t]+({NUMBER})[ \t]+({NUMBER})[ \t]+({NUMBER})[ \t]+(\S.*)$"
FURNITURE = (
    r"^(?:\+[ \t])?[ \t]*-{5}[- ]*$|^Samples do not have callchains|^=== output for debug|^bad: |^bad rate|^histogram of"
    r"|^[ \t]+(?:acquire|acquired|contended|release): [0-9]+$"
)

FORMATS = tuple(
    Format(
        kind="perf",
        variant=variant,
        version="3",
        systems=("linux",),
        tables=tables,
        man=f"perf-{variant}(1)",
        example=example,
        clocks=clocks,
        own=own,
    )
    for variant, tables, example, clocks, own in (
        (
            "sched",
            ("counters",),
            "perf sched latency",
            ("boot-relative", "none"),
            rf"{LATENCY_HEAD}|{LATENCY}|{TOTAL}|{TIMEHIST_HEAD}|{TIMEHIST}",
        ),
        ("lock", ("locks",), "perf lock contention -b", ("none",), rf"{REPORT_HEAD}|{CONTENTION_HEAD}"),
    )
)


def claim(head: Head) -> Claim | None:
    """Claim by the headers, or by rows whose cells carry labels."""
    text = head.text
    if "contended" not in text and "[000" not in text and " ms |" not in text and "cpu" not in text[:4000]:
        return None
    first = head.lines[:200]
    if "contended" in text and any(re.match(CONTENTION_HEAD, x) or re.match(REPORT_HEAD, x) for x in first):
        return Claim(0.95, "header of perf lock", "lock")
    if ("Runtime ms" in text or "task name" in text) and any(
        re.match(LATENCY_HEAD, x) or re.match(r"[ \t]*time[ \t]+cpu[ \t]+.*task name", x) for x in first
    ):
        return Claim(0.95, "header of perf sched", "sched")
    if " ms |" in text or "ms | avg:" in text:
        rows = sum(1 for x in head.lines if re.match(LATENCY, x))
        if rows:
            return Claim(0.9, f"{rows} rows of perf sched latency", "sched")
    if "[000" in text:
        rows = sum(1 for x in head.lines if re.match(TIMEHIST, x))
        if rows * 2 > sum(1 for x in head.lines if x):
            return Claim(0.85, f"{rows} rows of perf sched timehist", "sched")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the heading of perf lock."""
    read = _sched if state["variant"] == "sched" else _lock
    state["seconds"] = _seconds(source.hints)
    text = pl.col("line")
    for block in source.blocks():
        furniture = text.str.contains(FURNITURE) | text.str.contains(TIMEHIST_HEAD) | text.str.contains(LATENCY_HEAD)
        out.read(block.frame.filter(furniture)["line_no"])
        read(block.frame, out, state)
    return state


def _seconds(hints: Hints) -> float | None:
    """Return the length of the recording in seconds: perf does not print it, but the command does if it ran `sleep`."""
    asleep = re.search(r"\bperf .*\bsleep +([0-9]+(?:\.[0-9]+)?)\b", hints.command or "")
    return hints.interval_s or (float(asleep[1]) if asleep else None)


def _sched(lines: pl.DataFrame, out: Tables, state: State) -> None:
    text = pl.col("line")
    names = ["task", "id", "run_ms", "switches", "delay_avg_ms", "delay_max_ms", "at"]
    tasks = lines.with_columns(text.str.extract_groups(LATENCY).struct.rename_fields(names).alias("g")).unnest("g")
    item = pl.concat_str(["task", pl.col("id").str.strip_chars("()")], separator=":")
    latency = tasks.drop_nulls("id").with_columns(item=item)
    total = lines.with_columns(
        text.str.extract_groups(TOTAL).struct.rename_fields(["run_ms", "switches"]).alias("g")
    ).unnest("g")
    total = total.drop_nulls("run_ms").with_columns(item=pl.lit("TOTAL"))
    names = ["time", "cpu", "task", "tid", "tgid", "wait_ms", "delay_ms", "run_ms"]
    runs = lines.with_columns(text.str.extract_groups(TIMEHIST).struct.rename_fields(names).alias("g")).unnest("g")
    runs = runs.drop_nulls("time").with_columns(
        item=pl.concat_str(["task", "tid"], separator=":", ignore_nulls=True), t_local=pl.col("time").cast(pl.Float64)
    )
    parts = [
        _long(latency, ["run_ms", "switches", "delay_avg_ms", "delay_max_ms"]),
        _long(total, ["run_ms", "switches"]),
        _long(runs, ["wait_ms", "delay_ms", "run_ms"]),
    ]
    out.add("counters", pl.concat(parts, how="diagonal").sort("line_no", maintain_order=True))
    if len(runs):
        out.fact("stamp", "end")
        low, high = float(runs["t_local"].item(0)), float(runs["t_local"].item(-1))
        span = (int(runs["line_no"].item(0)), int(runs["line_no"].item(-1)))
        out.domain(Domain(1, "boot-relative", None, None, low, high, [span]))


def _long(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return one counter row for each of these columns, row by row."""
    keys = [c for c in ("line_no", "t_local", "item") if c in rows.columns]
    values = rows.select(*keys, *names).unpivot(names, index=keys, variable_name="name").drop_nulls("value")
    order = pl.col("name").replace_strict({n: i for i, n in enumerate(names)}, return_dtype=pl.Int64)
    milliseconds = pl.col("name").str.ends_with("_ms")
    return values.sort("line_no", order).select(
        *keys,
        "name",
        grp=pl.lit("perf_sched"),
        value=pl.col("value").cast(pl.Float64),
        unit=pl.when(milliseconds).then(pl.lit("ms")),
        mode=pl.when(pl.col("name").str.contains("avg|max")).then(pl.lit("level")).otherwise(pl.lit("total")),
    )


def nanoseconds(text: pl.Expr) -> pl.Expr:
    """Convert `182.58 us` to nanoseconds; a number without a unit is in nanoseconds already."""
    factor = (
        text.str.extract(r"(ns|us|ms|s|m|h)$", 1)
        .fill_null("ns")
        .replace_strict({"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 6e10, "h": 3.6e12})
    )
    return text.str.extract(r"^([0-9.]+)", 1).cast(pl.Float64) * factor


def _lock(lines: pl.DataFrame, out: Tables, state: State) -> None:
    text = pl.col("line")
    out.read(lines.filter(text.str.contains(CALL_FRAME))["line_no"])
    is_head = text.str.contains(REPORT_HEAD) | text.str.contains(CONTENTION_HEAD)
    shaped = lines.with_columns(
        heading=pl.when(is_head).then(text).forward_fill().fill_null(pl.lit(state.get("heading"), pl.String)),
        head=is_head,
    )
    out.read(shaped.filter("head")["line_no"])
    if len(shaped):
        state["heading"] = shaped["heading"].item(-1)
    parts = []
    for (heading,), rows in (
        shaped.filter(~pl.col("head")).drop_nulls("heading").group_by("heading", maintain_order=True)
    ):
        reader = _contention if re.match(CONTENTION_HEAD, str(heading)) else _report
        parts.append(reader(rows, str(heading)))
    if parts:
        seconds = pl.lit(state["seconds"], pl.Float64)
        out.add(
            "locks",
            pl.concat(parts, how="diagonal").sort("line_no").with_columns(rate_ps=(pl.col("n") / seconds).round(6)),
        )


def _contention(rows: pl.DataFrame, heading: str) -> pl.DataFrame:
    names = ["n", "total", "max", "avg", "rest"]
    cells = rows.with_columns(
        pl.col("line").str.extract_groups(CONTENTION).struct.rename_fields(names).alias("g")
    ).unnest("g")
    cells = cells.drop_nulls("rest")
    rest, none = pl.col("rest"), pl.lit(None, pl.String)
    word, behind = rest.str.extract(r"^(\S+)", 1), rest.str.extract(r"^\S+[ \t]+(.*)$", 1)
    kind, lock, caller = word, none, behind
    if re.search(r"address[ \t]+symbol", heading):
        kind = behind.str.extract(r"[ \t]+\(([a-z]+(?:[:-][A-Za-z]+)*)\)$", 1)
        lock, caller = pl.coalesce(behind.str.replace(r"[ \t]+\([A-Za-z:-]+\)$", ""), word), none
    elif re.search(r"pid[ \t]+comm", heading):
        kind, caller = none, pl.concat_str([behind, word], separator=":")
    elif not re.search(r"type[ \t]+caller", heading):
        kind, caller = none, rest
    return cells.select(
        "line_no",
        n=pl.col("n").cast(pl.Int64, strict=False),
        mean_ns=nanoseconds(pl.col("avg")),
        max_ns=nanoseconds(pl.col("max")),
        event=kind,
        lock=lock,
        caller=caller,
    )


def _report(rows: pl.DataFrame, heading: str) -> pl.DataFrame:
    """Return `locks` rows of `perf lock report`; older versions print no average, so it is total over contended."""
    names = ["lock", "acquired", "n", "w1", "w2", "w3", "w4"]
    cells = rows.with_columns(pl.col("line").str.extract_groups(REPORT).struct.rename_fields(names).alias("g")).unnest(
        "g"
    )
    cells = cells.drop_nulls("w3").with_columns(n=pl.col("n").cast(pl.Int64, strict=False))
    mean, longest = nanoseconds(pl.col("w1")), nanoseconds(pl.col("w3"))
    if "avg wait" not in heading:
        longest = nanoseconds(pl.col("w2"))
        mean = pl.when(pl.col("n") > 0).then(mean / pl.col("n"))
    return cells.select("line_no", "n", "lock", mean_ns=mean, max_ns=longest, event=pl.lit("contended"))
