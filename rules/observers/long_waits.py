"""What waits longest: single calls, gaps, elapsed times.

Stands out: a system call, Oracle Net wait, database call, connect or log line of `FELT_S` (0.1 s) or more, and a gap
in a log that is unlike the others (`log_times`), steps and absences that lines name (`log_steps`). Normal: what is shorter, compared with the other
calls of the same name and target. A wait for the next request (accept, a server's read of its own connection, a poll of a
process that accepts, a parked thread) is idle and told once per artifact. Functions of libraries and the time of a thread
outside of calls are looked at in `library_waits`, connections in lists of packets in `packet_silence`, calls
without a duration that ended by their own time limit in `time_limits`. Calls that were never seen
to end are told by standing-still.
Worked example: poll on 10.20.0.53:53 of 5.005 s among 212 of 2 ms: value 5.005, against 0.002; seconds 5.005 of the command's 6.2.
Cost: one pass over the calls of names that have a long one. Source: Method R (Millsap, Holt): response time is where it waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.impossible_times import believable
from rules.observers.library_waits import functions, outside_calls
from rules.observers.log_steps import absences, named_steps
from rules.observers.log_times import (
    LONGEST_S,
    LONGEST_STEP,
    STEP_S,
    brief,
    gaps,
    quoted,
    step_of,
    step_seen,
    steps,
    texts,
)
from rules.observers.observer import FELT_S, MOST, Lines, Observer, Sighting, figure, gathered, place
from rules.observers.packet_silence import handshakes, silences, turns
from rules.observers.request_times import late_request, stays_open
from rules.observers.talk import NO_ANSWER, Talk, around, in_vain, owed, peer, resolver_waits
from rules.observers.time_limits import time_limits
from rules.observers.timed_steps import STARTUP
from rules.observers.traced import calls, middle, on, seen, union
from rules.signatures.signatures import Seen, recognise
from rules.walking.targets import ACCEPTS, POLLS
from rules.walking.threads import OWN_S, READ_NAMES, among

OBSERVER = Observer(
    "long-waits",
    "What waits longest?",
    ("syscalls", "libcalls", "sqlnet", "logs", "db_calls", "conn_times", "packets"),
    {
        "linux": "cat /proc/PID/stack while it waits; ss -tnpi",
        "solaris": "pstack PID while it waits; pfiles PID",
        "aix": "procstack PID while it waits; procfiles -n PID",
    },
)

MOST_CITED = 10
"""Maximum number of waits of a group that are cited, the longest first."""

QUOTED = 60
"""Maximum number of characters of arguments that are quoted."""

TALKS = ("socket", "pipe", "name service", "poll")
"""Kinds of waits in which somebody was asked before; so are reads of a descriptor of which nothing is known."""

PARKED = 0.8
"""Minimum part of a thread's time that a lock, sleep or poll holds for the thread to be called parked."""

EVENT_LOOPS = ["epoll_wait", "epoll_pwait", "epoll_pwait2", "kevent", "port_getn", "port_get"]
"""Waits on many descriptors at once: one that ends without an event lasted as long as the program chose."""

RANDOM_CALLS = ("getrandom", "getentropy")
RANDOM_DEVICE = re.compile(r"/dev/random|/devices/pseudo/random@0:random")
RANDOM_BYTES = 4096
"""Calls and devices that give random numbers, and the most of them that are made in no time once the kernel has a seed."""

GROUP = [*PLACE_COLUMNS, "name", "kind", "target"]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the waits of all tables, the longest first."""
    sources = (
        _calls,
        time_limits,
        functions,
        outside_calls,
        _sqlnet,
        _elapsed,
        silences,
        turns,
        handshakes,
        texts,
        steps,
        gaps,
        brief,
        named_steps,
        absences,
    )
    seen_ = gathered(case, sources)
    yield from sorted((s for s in seen_.found if not s.idle), key=lambda s: -(s.seconds or 0.0))
    yield from (s for s in seen_.found if s.idle)
    if seen_.late:
        raise seen_.late


def _calls(case: CaseTables) -> Iterator[Sighting]:
    long = (OWN_S >= FELT_S) & (OWN_S < LONGEST_S)
    names = case.scan("syscalls", ["name"], long).unique().collect(engine="streaming")["name"].drop_nulls().to_list()
    if not names:
        return
    longest, others = [], []
    for rows in calls(case, pl.col("name").is_in(names)):
        timed = rows.filter(pl.col("own_s").is_between(0, LONGEST_S))
        longest.append(timed.filter(pl.col("own_s") >= FELT_S))
        others.append(
            timed.filter(pl.col("own_s") < FELT_S).group_by(GROUP).agg(pl.len().alias("n"), pl.col("own_s").median())
        )
    waits, rest = pl.concat(longest), pl.concat(others)
    waits = waits.with_columns(_idle(case, waits).alias("idle"))
    yield from _idle_threads(waits.filter("idle"))
    spans = _spans(case, waits)
    groups = [
        rows.sort("own_s", descending=True)
        for _, rows in waits.filter(~pl.col("idle")).group_by(GROUP, maintain_order=True)
    ]
    groups.sort(key=lambda rows: -rows["own_s"][0])
    said = around(case, [g.row(0, named=True) for g in groups[:MOST] if _may_talk(g.row(0, named=True))])
    made = _made(case, [g.row(0, named=True) for g in groups[:MOST]])
    polled = [row for g in groups[:MOST] if (row := g.row(0, named=True))["name"] in POLLS]
    vain, resolver = in_vain(case, polled), resolver_waits(case, polled)
    for rows in groups:
        worst = rows
        first = worst.row(0, named=True)
        same = rest.filter(*(pl.col(c).eq_missing(pl.lit(first[c], rest.schema[c])) for c in GROUP))
        usual = None if same.is_empty() else middle(same["own_s"])
        n_same = int(same["n"].sum())
        headline = f"{on(first)} waited {figure(first['own_s'], 's')}"
        if rows.height > 1:
            headline += f", {rows.height:,} calls {figure(union(rows), 's')} together"
        if usual is not None:
            headline += f", the other {n_same:,} there {figure(usual, 's')} (median)"
        talk = said.get((first["artifact_id"], first["line_no"]), Talk())
        headline += talk.words
        whole = spans.get((first["artifact_id"], first["pid"]))
        seconds = union(rows)
        at = (first["artifact_id"], first["line_no"])
        known_by = (NO_ANSWER,) if at in resolver else peer(talk, first, first["own_s"])
        known_by = (*known_by, *seen(first, seconds=round(first["own_s"], 6)))
        yield Sighting(
            "wait",
            on(first),
            headline,
            "duration_s",
            first["own_s"],
            "s",
            (
                *_row(first, f"longest wait: {as_printed(first)}"),
                *made.get((first["artifact_id"], first["conv"]), ()),
                *(
                    Lines(first["artifact_id"], one.line, one.line, f"{role}: {one.text}")
                    for one, role in ((talk.asked, "asked"), (talk.answered, "answered"))
                    if one is not None
                ),
                *(c for r in worst[1:MOST_CITED].iter_rows(named=True) for c in _row(r, f"long wait: {as_printed(r)}")),
            )[:MOST_CITED],
            **place(first),
            t_from=None if first["done_s"] is None else first["done_s"] - first["own_s"],
            t_to=first["done_s"],
            against=None if usual is None else "the other calls of the same name and target",
            against_value=usual,
            seconds=seconds,
            of_s=max(whole, seconds) if whole else None,
            n=rows.height,
            seen=(*_random(first), *(owed(known_by) if at in vain else known_by)),
        )


def _may_talk(row: dict[str, Any]) -> bool:
    return row["kind"] in TALKS or (
        row["name"] in READ_NAMES and row["path"] is None and row["kind"] not in ("lock", "sleep")
    )


def _random(row: dict[str, Any]) -> tuple[Seen, ...]:
    """Return the event for a long wait for a few random numbers, which the kernel did not have."""
    few = row["ret"] is None or row["ret"] <= RANDOM_BYTES
    device = row["name"] in READ_NAMES and RANDOM_DEVICE.fullmatch(str(row["target"] or ""))
    return ({"event": "random-numbers-awaited"},) if few and (device or row["name"] in RANDOM_CALLS) else ()


def as_printed(row: dict[str, Any]) -> str:
    """Return a call with the beginning of its arguments, as the line has it."""
    args = " ".join(str(row["args"] or "").split())
    return f"{row['name']}({args if len(args) <= QUOTED else args[: QUOTED - 3] + '...'})"


def _row(row: dict[str, Any], role: str) -> tuple[Lines, ...]:
    """Return the lines of a call: begin and end separately if other lines are between them."""
    first, last = int(row["line_no"]), int(row["line_end"] or row["line_no"])
    if last <= first + 1:
        return (Lines(row["artifact_id"], first, last, role),)
    return (Lines(row["artifact_id"], last, last, f"{role} ends"), Lines(row["artifact_id"], first, first, "it begins"))


def _made(case: CaseTables, waits: list[dict[str, Any]]) -> dict[tuple[int, int], tuple[Lines, ...]]:
    """Return (artifact, line) -> the call that made a wait's descriptor: its pipe, connection or opened file."""
    wanted = {(w["artifact_id"], w["conv"]) for w in waits if w["conv"] is not None and w["conv"] != w["line_no"]}
    if not wanted:
        return {}
    at = pl.any_horizontal((pl.col("artifact_id") == a) & (pl.col("line_no") == n) for a, n in wanted)
    rows = case.scan("syscalls", ["artifact_id", "line_no", "name", "args"], at).collect(engine="streaming")
    return {
        (r["artifact_id"], r["line_no"]): (
            Lines(r["artifact_id"], r["line_no"], r["line_no"], f"what it waits for was made by {as_printed(r)}"),
        )
        for r in rows.iter_rows(named=True)
    }


def _idle(case: CaseTables, waits: pl.DataFrame) -> pl.Series:
    """Return for each wait whether it is idle: a wait for the next request, see the module."""
    serving = case.scan("syscalls", ["pid"], pl.col("name").is_in([*ACCEPTS, "listen"])).unique().collect()["pid"]
    thread = ["artifact_id", "clock", "pid", "lwp"]
    times = (
        case.scan("syscalls", [*thread, "t_local"], among("pid", waits["pid"]))
        .group_by(thread)
        .agg((pl.col("t_local").max() - pl.col("t_local").min()).alias("span"))
        .collect(engine="streaming")
    )
    threads = times.group_by("artifact_id", "clock", "pid").agg(pl.len().alias("threads"))
    held = waits.join(times, on=thread, how="left", nulls_equal=True, maintain_order="left")
    held = held.join(threads, on=thread[:3], how="left", nulls_equal=True, maintain_order="left")
    name, kind = pl.col("name"), pl.col("kind")
    reads = name.is_in([*READ_NAMES, *POLLS])
    parked = pl.col("own_s").sum().over(
        [*thread, "name"],
    ) >= PARKED * pl.col("span")
    worker = (pl.col("threads") > 1) & (pl.col("lwp") != pl.col("pid")) & kind.is_in(["lock", "sleep", "poll"]) & parked
    idle = (
        (kind == "accept")
        | (reads & (pl.col("side") == "server").fill_null(value=False))
        | (name.is_in(POLLS) & (kind == "poll") & among("pid", serving))
        | worker
        | (name.is_in(EVENT_LOOPS) & (pl.col("ret") == 0))
        | (reads & (pl.col("path").fill_null("").str.contains(r"^/dev/(tty|pts)")))
    )
    return held.select(idle.fill_null(value=False).alias("idle"))["idle"]


def _idle_threads(waits: pl.DataFrame) -> Iterator[Sighting]:
    for _, rows in waits.group_by("artifact_id", maintain_order=True):
        first = rows.sort("own_s", descending=True).row(0, named=True)
        n = rows.select("pid", "lwp").unique().height
        text = f"{n:,} thread{'s' if n != 1 else ''} waited for work in {rows.height:,} long calls, the longest {figure(first['own_s'], 's')}"
        yield Sighting(
            "idle",
            on(first),
            text,
            "duration_s",
            first["own_s"],
            "s",
            _row(first, "longest idle wait"),
            **place(first),
            n=rows.height,
            idle="a wait for the next request or piece of work",
        )


def _spans(case: CaseTables, waits: pl.DataFrame) -> dict[tuple[int, int | None], float]:
    """Return the non-idle seconds of each process: those of its command if known, else its span without idle waits.

    Without stamps, the sum of the busiest thread's calls is the minimum that the trace covers.
    """
    pids = among("pid", waits["pid"])
    columns = [
        "artifact_id",
        "pid",
        "lwp",
        "t_local",
        "dur_hi_s",
        "elapsed_s",
        "delta_s",
        "contiguous",
        "stamp",
        "state",
    ]
    own = pl.when(OWN_S.is_between(0, LONGEST_S)).then(OWN_S)
    stamped = pl.col("t_local").is_finite()
    rows = (
        case.scan("syscalls", columns, pids)
        .with_columns(pl.when(stamped).then("t_local").alias("t_local"))
        .group_by("artifact_id", "pid", "lwp")
        .agg(pl.col("t_local").min().alias("from"), pl.col("t_local").max().alias("to"), own.sum().alias("own"))
        .group_by("artifact_id", "pid")
        .agg(pl.coalesce(pl.col("to").max() - pl.col("from").min(), pl.col("own").max()).alias("span"))
        .collect(engine="streaming")
    )
    less = {key: union(part) for key, part in waits.filter("idle").group_by("artifact_id", "pid")}
    found = {(a, p): max(0.0, (s or 0.0) - less.get((a, p), 0.0)) for a, p, s in rows.iter_rows()}
    commands = case.scan("requests", ["artifact_id", "pid", "wall_s"], (pl.col("kind") == "command") & pids).collect()
    found.update({(a, p): w for a, p, w in commands.iter_rows() if w and (a, p) not in less})
    return found


def _sqlnet(case: CaseTables) -> Iterator[Sighting]:
    rows = case.scan(
        "sqlnet_waits", None, pl.col("wait_s").is_between(FELT_S, LONGEST_S) & (pl.col("contiguous") != "broken")
    ).collect()
    for _, part in rows.group_by("artifact_id", "func", "kind", maintain_order=True):
        worst = part.sort("wait_s", descending=True)
        first = worst.row(0, named=True)
        lines = tuple(
            Lines(r["artifact_id"], r[c], r[c], role)
            for r in worst.head(3).iter_rows(named=True)
            for c, role in (("line_from", "before the wait"), ("line_to", "after the wait"))
        )
        more = (
            f", {part.height:,} such waits {figure(float(part['wait_s'].sum()), 's')} together"
            if part.height > 1
            else ""
        )
        yield Sighting(
            "wait",
            str(first["func"]),
            f"{first['func']} waited {figure(first['wait_s'], 's')} ({first['kind']}){more}",
            "duration_s",
            first["wait_s"],
            "s",
            lines,
            **place(first),
            seconds=float(part["wait_s"].sum()),
            n=part.height,
            seen=({"symbol": str(first["func"]), "seconds": round(first["wait_s"], 6)}, {"symbol": str(first["func"])}),
            idle="waits for the next caller" if first["kind"] == "idle" else None,
        )


OF_TIME = re.compile(r"(?i)(?:\b|_)(?:elapsed|(?:time|duration|latency)(?:_m?s)?)$|^(?:elapsed|duration|latency)\b")
"""Names of a series that are those of a time and not of what takes it: such a time is long, it does not take long."""


def _elapsed(case: CaseTables) -> Iterator[Sighting]:
    """Yield long calls, connects and log steps of tables with a column of elapsed times."""
    for table, series in (("db_calls", "call"), ("conn_times", "series"), ("logs", "op")):
        column = pl.col("elapsed_s").is_between(0, LONGEST_S)
        if table == "logs":  # how long a system may take to start, `timed_steps` knows
            column &= pl.col("op").ne_missing(pl.lit(STARTUP))
        names = [*PLACE_COLUMNS, "line_no", "line_end", series, "elapsed_s", *(["text"] if table == "logs" else [])]
        said = pl.col("text") if table == "logs" else pl.lit(None, pl.String)
        rows = case.scan(table, names, column)
        rows = (believable(rows, case) if table == "conn_times" else rows).with_columns(
            pl.col(series).fill_null("a step").alias("name"), said.alias("text")
        )
        key = [*PLACE_COLUMNS, "name"]
        middle = (
            rows.group_by(key)
            .agg(pl.len().alias("all"), pl.col("elapsed_s").median().alias("middle"))
            .with_columns(pl.col("all").sum().over("artifact_id").alias("timed"))
        )
        long = (
            rows.filter(pl.col("elapsed_s") >= FELT_S)
            .group_by(key)
            .agg(
                pl.len().alias("n"),
                pl.col("elapsed_s").sum().alias("sum"),
                pl.col("elapsed_s").filter(pl.col("elapsed_s") >= STEP_S).sum().alias("late"),
                (pl.col("elapsed_s") >= STEP_S).sum().alias("n_late"),
                pl.struct("line_no", "line_end", "elapsed_s", "text").top_k_by("elapsed_s", 3).alias("worst"),
            )
            .with_columns(pl.col("name").map_elements(stays_open, return_dtype=pl.Boolean).alias("open"))
            .with_columns(pl.col("sum").filter(~pl.col("open")).sum().over("artifact_id").alias("whole"))
        )
        for row in (
            long.join(middle, on=key, nulls_equal=True).sort("sum", descending=True).head(MOST).collect().to_dicts()
        ):
            top = row["worst"][0]
            step = step_of(str(top["text"] or ""), top["elapsed_s"]) or ""
            if table == "conn_times" and top["elapsed_s"] >= STEP_S and len(row["name"]) <= LONGEST_STEP:
                step = str(row["name"])  # a list of calls names what each was for
            request = (
                late_request(row["name"], row["middle"], row["n_late"], row["late"], row["timed"])
                if top["text"]
                else ()
            )
            named = bool(request or (step and recognise(**step_seen(step, top["elapsed_s"]))))
            of_time = bool(OF_TIME.search(row["name"]))
            text = f"{row['name']} {'is' if of_time else 'took'} {figure(top['elapsed_s'], 's')}"
            if of_time and row["all"] > 1:
                text = f"the longest {text}"
            if top["text"]:
                text += f': "{quoted(top["text"], 100)}"'
            if row["all"] > 1:
                took = "are" if of_time else "took"
                text += f", {row['n']:,} of {row['all']:,} {took} 0.1 s or more, {figure(row['middle'], 's')} (median)"
            yield Sighting(
                "wait",
                str(row["name"]),
                text,
                "duration_s",
                top["elapsed_s"],
                "s",
                tuple(c for w in row["worst"] for c in _row({**w, "artifact_id": row["artifact_id"]}, "longest")),
                **place(row),
                against="the middle one" if row["all"] > 1 else None,
                against_value=row["middle"] if row["all"] > 1 else None,
                seconds=row["late"] if named else row["sum"],
                of_s=row["whole"] if named else None,
                n=row["n"],
                seen=(
                    *request,
                    *(({"log": f"{row['name']}: {top['text']}"},) if top["text"] else ()),
                    *((step_seen(step, top["elapsed_s"]),) if step and named else ()),
                    {"seconds": round(top["elapsed_s"], 6)},
                ),
                idle="stays open until there is news" if row["open"] else None,
            )
