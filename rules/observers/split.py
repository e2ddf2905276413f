"""Which part of a duration holds its time: on a processor or waiting, and in which step.

Standing out: of a duration of `FELT_S` (0.1 s) or more, the part that holds at least half of it. Durations and parts:
a command (real against user and system together), an HTTP request of `curl -w` (name look-up, connect, TLS, first byte,
rest), a cursor of an SQL trace (parse, execute, fetch; CPU against elapsed), the connections of a listener (starting and
awaiting the server process, its log, the rest), a traced request (kinds of calls and own code), a line of a log that
names a whole and its parts (`user=0.03 sys=0.00, real=2.20`), the time model of a database.
Normal: durations in which no part holds half; they are left out, because nothing can be said of one part. Of requests that
nobody would feel the longest is told with its parts, as normal.
The measure `request_cpu_pct` is kept of each known duration, normal or not: it speaks against who blames a wait (or the
processors). Where a trace only bounds it, it is the bound nearer to the middle, and left out between 20 and 50 %.
Worked example: real 12.4 s, user and system 0.5 s together: 11.9 s of 12.4 s, 96 %, was waiting: waiting_s 11.9.
Cost: one aggregation per table; log lines are filtered by a pattern first. Source: Method R (Millsap, Holt): response time
is CPU service plus waits; time(1), curl(1) -w, "Using SQL Trace and TKPROF".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.impossible_times import believable
from rules.observers.observer import FELT_S, MOST, MOST_LINES, Lines, Observer, Sighting, figure, lines_of, place
from rules.signatures.signatures import Seen
from rules.walking.request_walk import IDLE, LOST, OWN
from rules.walking.targets import CHILDREN
from rules.writing.process_words import number_words

OBSERVER = Observer(
    "split",
    "Which part of a duration holds its time?",
    ("conn_times", "db_calls", "syscalls", "signals", "logs", "counters"),
    {
        "linux": "strace -f -ttt -T -o FILE COMMAND; perf record -g COMMAND",
        "solaris": "truss -f -d -D -E -o FILE COMMAND",
    },
    alone=True,
)

HALF = 0.5
"""Minimum part of a duration that holds it: of two such parts there is at most one, so that "it waited" is true."""

LONGEST_S = 30 * 86400.0
"""Maximum believable duration in seconds."""

NESTED = 0.3
"""Factor of the share of a traced request: its single waits are observed on their own and shall come first."""

SMALL_GAP_S = 0.01
"""Maximum time in seconds between two calls that is taken for computing: a longer one may be a stop or a page fault."""

LOW_PCT, HIGH_PCT = 20.0, 50.0
"""Bounds of `request_cpu_pct` of a trace: it is kept only if it is surely below the first or above the second."""

COMPUTED_S = 1.0
"""Minimum time in seconds on a processor that a command is accounted for: starting a run-time takes less."""

SUM = 1.02
"""Maximum ratio of the sum of parts to the whole for them to be parts: tools round."""

IN_KERNEL = 2 / 3
"""Minimum part of a command's processor time in the kernel from which it is the kernel that works, not the program."""

LONG_S = 1.0
"""Minimum length of a request in seconds from which the part that holds it is what is slow: a page of less is an ordinary one."""

OWNED = ("view", "db")
"""Parts of a request of which each is somebody's: making the page is the program's, a statement the database's."""

KERNEL: tuple[Seen, ...] = ({"event": "command-in-kernel"},)
CPU: tuple[Seen, ...] = ({"counter": "request_cpu_pct"},)


@dataclass(frozen=True)
class Part:
    """A named part of a duration; `seen` names it for signatures, `words` go into the sentence."""

    name: str
    words: str
    seconds: float
    seen: tuple[Seen, ...] = ()


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield splits whose larger part is known, those with the most seconds first."""
    found = [
        *_commands(case),
        *_http(case),
        *_cursors(case),
        *_listeners(case),
        *_requests(case),
        *_children(case),
        *_log_lines(case),
        *_time_models(case),
    ]
    return sorted(found, key=lambda s: (s.normal, -(s.seconds or 0.0), -(s.share or 0.0)))


def holder(parts: Sequence[Part], whole: float) -> Part | None:
    """Return the part that holds at least half of the whole, or None.

    >>> holder([Part("a", "a", 0.3), Part("b", "b", 0.7)], 1.0).name
    'b'
    """
    best = max(parts, key=lambda p: p.seconds, default=None)
    return best if best and whole >= FELT_S and HALF * whole <= best.seconds <= SUM * whole else None


def percent(part: float, whole: float) -> str:
    """Return a part of a whole in percent.

    >>> percent(11.9, 12.4)
    '96.0 %'
    """
    return figure(100 * min(1.0, part / whole), "%")


def told(parts: Sequence[Part], whole: float) -> str:
    """Return all parts in words, the largest first; those below a thousandth of the whole are left out."""
    named = sorted((p for p in parts if p.seconds >= 0.001 * whole), key=lambda p: -p.seconds)
    return ", ".join(f"{figure(p.seconds, 's')} ({percent(p.seconds, whole)}) {p.words}" for p in named)


def _measure(row: Mapping[str, Any], pct: float, subject: str, line: int) -> Sighting:
    """Return the measure `request_cpu_pct` of one duration, not shown."""
    value = min(100.0, max(0.0, pct))
    return Sighting(
        "split",
        subject,
        f"{subject} was on a processor {figure(value, '%')} of its time",
        "request_cpu_pct",
        value,
        "%",
        (Lines(row["artifact_id"], line, line, "duration"),),
        **place(row),
        normal=True,
    )


# --- commands ---------------------------------------------------------------------------------------------------------


def _commands(case: CaseTables) -> Iterator[Sighting]:
    """Yield commands, with their real time compared with user and system time."""
    real, cpu = pl.col("elapsed_s"), pl.col("cpu_s")
    known = real.is_between(FELT_S, LONGEST_S) & cpu.is_between(0, 1e3 * LONGEST_S)
    columns = ["part", "series", "line_no", "line_end", "elapsed_s", "cpu_s", "sys_s", "ok"]
    groups = (
        case.scan("conn_times", [*PLACE_COLUMNS, *columns], known)
        .with_columns(pl.when(pl.col("sys_s").is_between(0, SUM * cpu)).then("sys_s").alias("sys_s"))
        .group_by(*PLACE_COLUMNS, "series")
        .agg(
            pl.len().alias("n"),
            real.sum().alias("all_s"),
            cpu.sum().alias("all_cpu_s"),
            pl.struct("line_no", "line_end", "elapsed_s", "cpu_s", "sys_s").top_k_by("elapsed_s", 3).alias("worst"),
        )
        .top_k(MOST, by="all_s")
        .collect(engine="streaming")
    )
    for row in groups.sort("all_s", "series", descending=[True, False], nulls_last=True).iter_rows(named=True):
        top = row["worst"][0]
        real_s, cpu_s = top["elapsed_s"], top["cpu_s"]
        who = str(row["series"] or "a command")[:120]
        pct = 100 * row["all_cpu_s"] / row["all_s"]
        if pct >= HIGH_PCT and row["all_cpu_s"] >= COMPUTED_S:
            # What a command waits for may be done by others on the same host, so that a low one excludes nothing.
            yield _measure(row, pct, who, top["line_no"])
        waited = max(0.0, real_s - cpu_s)
        computing = cpu_s >= HALF * real_s
        text = f"{who}: real {figure(real_s, 's')}, of which {figure(cpu_s, 's')} was user and system together: "
        if cpu_s > 1.05 * real_s:
            text += f"it kept {cpu_s / real_s:.1f} processors busy"
        elif computing:
            text += f"{percent(cpu_s, real_s)} was on a processor"
        else:
            text += f"{percent(waited, real_s)} was waiting"
        kernel_s = top["sys_s"] or 0.0
        in_kernel = kernel_s >= IN_KERNEL * cpu_s and kernel_s >= HALF * min(real_s, cpu_s)
        if in_kernel:
            text += f", {figure(kernel_s, 's')} of it in the kernel"
        if row["n"] > 1:
            text += f" ({row['n']:,} of 0.1 s or more, {figure(row['all_s'], 's')} together)"
        held = min(real_s, cpu_s) if computing else waited
        yield Sighting(
            "split",
            who,
            text,
            "cpu_s" if computing else "waiting_s",
            cpu_s if computing else waited,
            "s",
            tuple(
                replace(c, role="longest" if n == 0 else "long")
                for n, w in enumerate(row["worst"])
                for c in _cut(lines_of({**w, "artifact_id": row["artifact_id"]}, "timing"), 6)
            ),
            **place(row),
            against="its real time",
            against_value=real_s,
            seconds=held,
            share=held / real_s,
            of_s=real_s,
            n=row["n"],
            seen=(KERNEL if in_kernel else CPU) if computing and row["all_cpu_s"] >= COMPUTED_S else (),
        )


def _cut(lines: tuple[Lines, ...], most: int) -> tuple[Lines, ...]:
    """Return lines cut to `most` each."""
    return tuple(replace(c, line_to=min(c.line_to, c.line_from + most - 1)) for c in lines)


# --- HTTP requests ----------------------------------------------------------------------------------------------------

STEPS: Mapping[str, tuple[str, str]] = {
    "time_namelookup": (r"(?i)name.?look.?up|^dns", "looking the name up"),
    "time_connect": (r"(?i)^(?:.*[^a-z])?(?:tcp.?)?connect$", "connecting"),
    "time_appconnect": (r"(?i)app.?connect|\b(?:tls|ssl)|[_ ](?:tls|ssl)", "agreeing on TLS"),
    "time_starttransfer": (r"(?i)start.?transfer|first.?byte|ttfb", "waiting for the first byte of the answer"),
    "time_total": (r"(?i)(?:^|[^a-z])total$", "receiving the rest"),
}
"""Steps of a request in order, by curl's name: the labels that mean it, and what is done until then."""

FIRST_BYTE, LATE_S, TRIPS = "time_starttransfer", 1.0, 10.0
"""Step in which a server makes its answer; from how many seconds on, and how many times the time of connecting, it is what is slow."""

LOOK_UP, SLOW_LOOK_UP_S = "time_namelookup", 1.0
"""Step in which a name is looked up, and from how many seconds on it is slow: name servers answer or fail within one."""

CURL_WORDS = ("namelookup", "appconnect", "pretransfer", "starttransfer")
"""Words of `curl -w` that no other tool has."""

LABELS = (
    (r"^(?:time_)?(?:name_?)?look_?up(?:[ _]time)?$|^dns(?:[ _](?:time|lookup))?$", "time_namelookup"),
    (r"^(?:time_)?(?:tcp[ _]?)?conn(?:ect)?(?:[ _]time)?$", "time_connect"),
    (r"^(?:time_)?app[ _]?con(?:nect)?(?:[ _]time)?$|^(?:tls|ssl)(?:[ _](?:time|handshake))?$", "time_appconnect"),
    (r"^(?:time_)?pre[ _]?transfer(?:[ _]time)?$", "time_pretransfer"),
    (r"^(?:time_)?start[ _]?transfer(?:[ _]time)?$|^ttfb$|^(?:time[ _]to[ _])?first[ _]byte$", "time_starttransfer"),
    (r"^(?:time_)?total(?:[ _]time)?$", "time_total"),
)
"""Labels that people give the figures of `curl -w`, in lower case, and curl's name of each."""

LABELLED = "|".join(words for words, _ in LABELS)
LEAST_STEPS = 4
"""Minimum number of different steps of a listing without a word of curl's own, the total among them."""

CURLS = r"^%?\{?time_[a-z]+"
"""Labels of curl itself, whose figures all count from the beginning of the request."""


def _http(case: CaseTables) -> Iterator[Sighting]:
    """Yield requests whose steps are listed as figures, such as those of `curl -w`."""
    series = pl.col("series")
    step = pl.coalesce(*(pl.when(series.str.contains(words)).then(pl.lit(name)) for name, (words, _) in STEPS.items()))
    named = pl.any_horizontal(*(series.str.contains(words) for words, _ in STEPS.values()))
    columns = ["part", "series", "seq", "line_no", "elapsed_s"]
    times = believable(case.scan("conn_times", [*PLACE_COLUMNS, *columns]), case)
    rows = pl.concat([times, _curl_lines(case)], how="diagonal_relaxed")
    rows = rows.filter(named & pl.col("elapsed_s").is_between(0, LONGEST_S))
    value, line = pl.col("elapsed_s"), pl.col("line_no")
    of = {name: pl.col("step") == name for name in STEPS}
    requests = (
        rows.with_columns(step.alias("step"))
        .group_by(*PLACE_COLUMNS, "part", "seq")
        .agg(
            *(value.filter(mask).first().alias(name) for name, mask in of.items()),
            *(line.filter(mask).first().alias(f"line_{name}") for name, mask in of.items()),
            series.str.contains(CURLS).all().alias("curl"),
        )
        .filter((pl.col("time_total") > 0) & (pl.sum_horizontal(*(pl.col(n).is_not_null() for n in STEPS)) >= 3))
        .top_k(200, by="time_total")
        .collect(engine="streaming")
    )
    groups: dict[tuple[int, str], list[tuple[Part, float, dict[str, Any]]]] = {}
    quick: dict[int, tuple[list[Part], dict[str, Any]]] = {}
    for row in requests.sort("time_total", "seq", descending=[True, False]).iter_rows(named=True):
        parts = _steps(row)
        if row["time_total"] < FELT_S:
            quick.setdefault(row["artifact_id"], (parts, row))
            continue
        quick[row["artifact_id"]] = ([], row)
        best = holder(parts, row["time_total"])
        if best:
            groups.setdefault((row["artifact_id"], best.name), []).append((best, row["time_total"], row))
    for held in groups.values():
        best, whole, row = held[0]
        more = f" ({len(held):,} such requests)" if len(held) > 1 else ""
        lines = [row[f"line_{best.name}"], row["line_time_total"], *(h[2][f"line_{best.name}"] for h in held[1:4])]
        yield Sighting(
            "split",
            f"request, {best.words}",
            f"Of a request of {figure(whole, 's')}, {figure(best.seconds, 's')} ({percent(best.seconds, whole)})"
            f" went into {best.words}{more}",
            "duration_s",
            best.seconds,
            "s",
            tuple(Lines(row["artifact_id"], n, n, best.words) for n in dict.fromkeys(lines) if n is not None),
            **place(row),
            against="the whole request",
            against_value=whole,
            seconds=best.seconds,
            share=best.seconds / whole,
            of_s=whole,
            n=len(held),
            seen=({"event": "server-answers-late"},) if _server_is_late(best, row) else best.seen,
        )

    for parts, row in quick.values():
        if parts:
            yield _quick(parts, row)


def _server_is_late(part: Part, row: Mapping[str, Any]) -> bool:
    """Return whether the first byte came so late that neither a round trip nor a hiccup is the reason."""
    begun = row["time_namelookup"] or 0.0
    trip = max(0.0, row["time_connect"] - begun) if row["time_connect"] is not None else None
    late = part.name == FIRST_BYTE and part.seconds >= LATE_S
    return late and trip is not None and part.seconds >= TRIPS * trip


def _quick(parts: Sequence[Part], row: Mapping[str, Any]) -> Sighting:
    """Return the longest request of a listing of quick requests as a normal sighting with its largest parts."""
    whole = row["time_total"]
    order = sorted((p for p in parts if p.seconds > 0), key=lambda p: -p.seconds)
    shown = ", ".join(f"{figure(p.seconds, 's')} {p.words}" for p in order[:3])
    lines = [row["line_time_total"], *(row[f"line_{p.name}"] for p in order[:3])]
    return Sighting(
        "split",
        "a quick request",
        f"The request took {figure(whole, 's')}" + (f": {shown}" if shown else ""),
        "duration_s",
        whole,
        "s",
        tuple(Lines(row["artifact_id"], n, n, "a part of the request") for n in dict.fromkeys(lines) if n is not None),
        **place(row),
        against="what a person notices",
        against_value=FELT_S,
        normal=True,
    )


def _curl_lines(case: CaseTables) -> pl.LazyFrame:
    """Return the figures of `curl -w` that the general reader found, as rows of `conn_times`.

    The labels are the author's: a listing counts if it has a total, and two other steps with one of curl's own words,
    or three other steps in seconds with a fraction. In other tools, connect and total have other units and meanings.
    """
    columns = [*PLACE_COLUMNS, "part", "line_no", "grp", "name", "value", "unit", "sample"]
    label = pl.col("name").str.to_lowercase()
    step = pl.coalesce(*(pl.when(label.str.contains(words)).then(pl.lit(name)) for words, name in LABELS))
    rows = case.scan("counters", columns, (pl.col("grp") == "text") & label.str.contains(LABELLED))
    scale = pl.col("unit").replace_strict({"ms": 1e-3, "s": 1.0}, default=None, return_dtype=pl.Float64)
    listing = ["artifact_id", "part", "sample"]
    own = label.str.strip_prefix("time_").is_in(CURL_WORDS).any()
    written = (pl.col("value") % 1 != 0).any() & (pl.col("step").n_unique() >= LEAST_STEPS)
    listed = (pl.col("step") == "time_total").any() & (own | written)
    # A listing of curl's own words may be cut anywhere; of other words only a whole one is known.
    return (
        rows.with_columns(step.alias("step"))
        .filter(pl.col("step").is_not_null())
        .filter(own.over("artifact_id", "part") | listed.over(listing))
        .select(
            *PLACE_COLUMNS, "part", pl.col("sample").alias("seq"), "line_no", pl.col("step").alias("series"),
            (pl.col("value") * pl.when(pl.col("unit").is_null()).then(1.0).otherwise(scale)).alias("elapsed_s"),
        )
    )  # fmt: skip


def _steps(row: Mapping[str, Any]) -> list[Part]:
    """Return the parts of one request. Figures of curl count from its beginning; others may be parts already."""
    values = {name: row[name] for name in STEPS if row[name] is not None}
    total = values["time_total"]
    inner = {name: v for name, v in values.items() if name != "time_total"}
    if not row["curl"] and sum(inner.values()) <= SUM * total:
        durations = inner
    else:
        durations, reached = {}, 0.0
        for name, value in values.items():
            if value == 0.0 and name != "time_namelookup":
                continue  # curl prints 0 for a step that there was not
            if value < reached:
                return []
            durations[name], reached = value - reached, value
    return [Part(name, STEPS[name][1], s, _step_seen(name, s)) for name, s in durations.items()]


def _step_seen(name: str, s: float) -> tuple[Seen, ...]:
    """Return the names of a step for signatures, with an event for a name look-up of `SLOW_LOOK_UP_S` or longer."""
    slow: tuple[Seen, ...] = (
        ({"event": "name-looked-up-for-seconds"},) if name == LOOK_UP and s >= SLOW_LOOK_UP_S else ()
    )
    return ({"counter": name, "seconds": round(s, 6)}, *slow, {"counter": name})


# --- ended children --------------------------------------------------------------------------------------------------


def _children(case: CaseTables) -> Iterator[Sighting]:
    """Yield ended children that used most of a processor, in traces of their parent only."""
    used = pl.col("cpu_s").is_between(FELT_S, LONGEST_S)
    at = pl.when(pl.col("t_local").is_finite()).then("t_local").alias("t_local")
    columns = [*PLACE_COLUMNS, "line_no", "t_local", "sender_pid", "cpu_s"]
    rows = case.scan("signals", columns, used).with_columns(at).collect(engine="streaming")
    if rows.is_empty():
        return
    calls = case.scan("syscalls", ["artifact_id", "pid", "t_local"]).with_columns(at)
    spans = calls.group_by("artifact_id").agg(
        pl.col("t_local").min().alias("begin"), pl.col("t_local").max().alias("end")
    )
    traced = calls.select("artifact_id", pl.col("pid").alias("sender_pid")).unique()
    alone = rows.join(traced.collect(engine="streaming"), on=["artifact_id", "sender_pid"], how="anti")
    held = alone.join(spans.collect(engine="streaming"), on="artifact_id", how="left")
    top = held.sort("cpu_s", "line_no", descending=[True, False]).unique(
        "artifact_id", keep="first", maintain_order=True
    )
    for row in top.iter_rows(named=True):
        ends = [t for t in (row["end"], row["t_local"]) if t is not None]
        span = max(ends) - row["begin"] if ends and row["begin"] is not None else 0.0
        span = span if span <= LONGEST_S else 0.0
        whole = max(span, row["cpu_s"])
        of = f", {percent(row['cpu_s'], whole)} of the {figure(whole, 's')} of the trace" if span > 0 else ""
        child = number_words(row["sender_pid"], "child")
        named = f"The {child}" if row["sender_pid"] is not None else "A child"
        yield Sighting(
            "split",
            child,
            f"{named} had used {figure(row['cpu_s'], 's')} of a processor when it ended{of}; its own calls are not in the trace",
            "cpu_s",
            row["cpu_s"],
            "s",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "its end, with si_utime and si_stime"),),
            **place(row),
            against="the trace",
            against_value=whole,
            seconds=row["cpu_s"],
            share=row["cpu_s"] / whole,
            of_s=whole,
            seen=({"event": "child-computes"},),
        )


# --- SQL traces -------------------------------------------------------------------------------------------------------


def _cursors(case: CaseTables) -> Iterator[Sighting]:
    """Yield cursors, with their time by kind of call, and their CPU time compared with the elapsed time."""
    key = [*PLACE_COLUMNS, "pid", "cursor"]
    took = pl.col("elapsed_s").is_between(0, LONGEST_S)
    cpu = pl.when(pl.col("cpu_s").is_between(0, LONGEST_S)).then("cpu_s")
    calls = (
        case.scan("db_calls", [*key, "call", "line_no", "elapsed_s", "cpu_s"], took)
        .group_by([*key, "call"])
        .agg(
            pl.len().alias("n"),
            pl.col("elapsed_s").sum().alias("s"),
            cpu.sum().alias("cpu"),
            cpu.is_not_null().all().alias("cpu_known"),
            pl.col("line_no").sort_by("elapsed_s").last().alias("line"),
        )
    )
    cursors = (
        calls.group_by(key)
        .agg(
            pl.col("s").sum().alias("all_s"),
            pl.col("cpu").sum().alias("all_cpu"),
            pl.col("cpu_known").all(),
            pl.struct("call", "n", "s", "line").sort_by("s", descending=True).head(5).alias("calls"),
        )
        .filter(pl.col("all_s") >= FELT_S)
        .top_k(MOST, by="all_s")
        .collect(engine="streaming")
    )
    for row in cursors.sort("all_s", "cursor", descending=[True, False], nulls_last=True).iter_rows(named=True):
        whole, top = row["all_s"], row["calls"][0]
        who = f"cursor {row['cursor']}" if row["cursor"] else "a cursor"
        parts = [Part(str(c["call"]), f"in {c['call'] or 'a call'}", c["s"]) for c in row["calls"]]
        best = holder(parts, whole)
        text = f"{who} took {figure(whole, 's')}"
        text += f", {told([best], whole)}" if best else ""
        pct = 100 * row["all_cpu"] / whole if row["cpu_known"] else None
        if pct is not None:
            yield _measure(row, pct, who, top["line"])
            waits = max(0.0, whole - row["all_cpu"])
            text += f"; {figure(row['all_cpu'], 's')} of it on a processor"
            text += f": {percent(waits, whole)} was waiting" if waits >= HALF * whole else ""
        elif best is None:
            continue
        yield Sighting(
            "split",
            who,
            text,
            "duration_s",
            best.seconds if best else whole,
            "s",
            tuple(Lines(row["artifact_id"], c["line"], c["line"], f"longest {c['call']}") for c in row["calls"][:3]),
            **place(row),
            against="the whole cursor",
            against_value=whole,
            seconds=best.seconds if best else whole,
            share=best.seconds / whole if best else 1.0,
            n=top["n"],
            seen=({"counter": "db_call_cpu_pct"},) if pct is not None and pct >= HIGH_PCT else (),
        )


# --- listeners --------------------------------------------------------------------------------------------------------


def _listeners(case: CaseTables) -> Iterator[Sighting]:
    """Yield listener threads that serve one connection after the other, with the parts of their cycles."""
    if not case.may_have("syscalls"):
        return
    cycle = pl.col("cycle_s")
    rows = case.scan("listener_cycles", None, cycle.is_between(FELT_S, LONGEST_S) & pl.col("complete"))
    parts = ("wait_child_s", "log_s")
    groups = (
        rows.group_by(*PLACE_COLUMNS, "pid", "lwp")
        .agg(
            pl.len().alias("n"),
            cycle.sum().alias("all_s"),
            cycle.median().alias("middle"),
            *(pl.col(c).fill_null(0.0).sum() for c in parts),
            pl.struct("line_accept", "line_end", "cycle_s").top_k_by("cycle_s", 3).alias("worst"),
        )
        .top_k(5, by="all_s")
        .collect(engine="streaming")
    )
    words = {
        "wait_child_s": "for starting and awaiting the process that serves it",
        "log_s": "for writing and flushing files",
    }
    forms: Mapping[str, tuple[Seen, ...]] = {"wait_child_s": tuple({"call": c} for c in CHILDREN[:1])}
    for row in groups.sort("all_s", descending=True).iter_rows(named=True):
        whole = row["all_s"]
        known = [Part(c, words[c], row[c], forms.get(c, ())) for c in parts]
        best = holder(known, whole)
        if best is None:
            continue
        who = number_words(row["lwp"] if row["lwp"] is not None else row["pid"], "listener thread")
        yield Sighting(
            "split",
            who,
            f"{who} took {figure(row['middle'], 's')} (median) for each of {row['n']:,} connections,"
            f" {percent(best.seconds, whole)} of it {best.words}",
            "service_s",
            row["middle"],
            "s",
            tuple(
                Lines(row["artifact_id"], w[c], w[c], role)
                for w in row["worst"]
                for c, role in (("line_accept", "accepted"), ("line_end", "served"))
                if w[c] is not None
            ),
            **place(row),
            against="the whole service",
            against_value=whole / row["n"],
            seconds=best.seconds,
            share=best.seconds / whole,
            of_s=whole,
            n=row["n"],
            seen=best.seen,
        )


# --- traced requests --------------------------------------------------------------------------------------------------

COMPUTING = (OWN, "memory", "process", "file", "other", "ipc")
"""Kinds of parts in which a thread may be on a processor."""

OTHERS = ("child", "pipe", "lock", "poll", "name service", "accept")
"""Kinds of waits for others of the same machine, who may be on a processor meanwhile."""

LOCAL = r"^(?:/|127\.|\[?::1|0\.0\.0\.0|lock |pid )"
"""Targets on the same machine."""

KIND_WORDS: Mapping[str, str] = {
    OWN: "into its own code between calls",
    LOST: "where lines are missing",
    "socket": "into talk over sockets",
    "child": "into waits for children",
    "file": "into calls on files",
    "sync": "into writing through to the disk",
    "lock": "into waits for locks",
    "name service": "into asking for names",
    "poll": "into waits on several descriptors",
}


def _requests(case: CaseTables) -> Iterator[Sighting]:
    """Yield the longest traced requests by kind of part, and the bounds of their time on a processor."""
    if not case.may_have("syscalls"):
        return
    asked = ["artifact_id", "request", "kind", "wall_s", "idle", "line_from", "line_to"]
    known = pl.col("wall_s").is_between(FELT_S, LONGEST_S) & ~pl.col("idle").fill_null(False)
    whole = case.scan("requests", asked, known & (pl.col("kind") != "thread"))
    keys = ["artifact_id", "request"]
    columns = ["kind", "name", "target", "n", "dur_s", "max_s", "cpu_s", "line_max", "pid", "contiguous"]
    rows = (
        case.scan("request_parts", [*PLACE_COLUMNS, "request", *columns], ~pl.col("followed").fill_null(False))
        .rename({"kind": "part_kind"})
        .join(whole, on=keys)
        .sort(*keys, "dur_s", "line_max", descending=[False, False, True, False], nulls_last=True)
        .collect(engine="streaming")
    )
    longest: dict[tuple[Any, ...], Sighting] = {}
    for _, held in rows.group_by(keys, maintain_order=True):
        for made in _request(held.to_dicts()):
            # Many requests of one server are alike, and an exchange lies within a cycle: the longest stands for them.
            key = (made.lines[0].artifact, made.name, len(longest) if made.normal else made.kind)
            before = longest.get(key)
            if before is None or (made.against_value or 0.0) > (before.against_value or 0.0):
                longest[key] = made
    yield from (replace(made, kind="split") for made in longest.values())


def _request(parts: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the processor measure and the split of one request, whose `parts` are sorted by length, longest first."""
    first = parts[0]
    wall = first["wall_s"]
    who = f"{first['kind']} of {number_words(first['pid'])}"
    low, high = cpu_bounds(parts, wall)
    surely_on, at_most = 100 * low / wall, 100 * high / wall
    if surely_on >= HIGH_PCT or at_most <= LOW_PCT:
        yield _measure(first, surely_on if surely_on >= HIGH_PCT else at_most, who, first["line_from"])
    kinds: dict[str, float] = {}
    for p in parts:
        kinds[p["part_kind"]] = kinds.get(p["part_kind"], 0.0) + (p["dur_s"] or 0.0)
    calls_of = {k: next(p["name"] for p in parts if p["part_kind"] == k) for k in kinds}
    named = [Part(k, KIND_WORDS.get(k, f"into calls such as {calls_of[k]}"), s) for k, s in kinds.items() if k != IDLE]
    best = holder(named, wall)
    if best is None or best.name == LOST:
        return
    inside = [p for p in parts if p["part_kind"] == best.name]
    calls = sum(p["n"] or 0 for p in inside)
    if calls == 1 and best.name != OWN:
        return  # one call that waits long is told as such
    others = [p for p in named if p is not best and p.seconds >= 0.05 * wall]
    rest = f", {told(others[:2], wall)}" if others else ""
    times = f", {calls:,} times" if calls and best.name != OWN else ""
    yield Sighting(
        best.name,
        f"{who}: {best.name}",
        f"Of the {figure(wall, 's')} of {who}, {told([best], wall).replace(best.words, f'went {best.words}')}{times}{rest}",
        "part_s",
        best.seconds,
        "s",
        tuple(
            Lines(
                p["artifact_id"],
                p["line_max"],
                p["line_max"],
                f"longest of {p['target'] or p['name'] or best.name}"[:80],
            )
            for p in inside[:4]
            if p["line_max"] is not None
        )
        or (Lines(first["artifact_id"], first["line_from"], first["line_from"], "begin"),),
        **place(first),
        against="the whole request",
        against_value=wall,
        share=NESTED * best.seconds / wall,
        n=max(1, calls),
    )


def cpu_bounds(parts: Sequence[Mapping[str, Any]], wall: float) -> tuple[float, float]:
    """Return the minimum and the maximum seconds that a request, or those it waits for, ran on a processor.

    Minimum: the CPU time that tracers print, and own code if no gap between calls is long. Maximum: everything except
    waits for a remote peer, a timer or the disk. Time over which lines are missing counts only for the maximum.
    """
    low, high = 0.0, 0.0
    for part in parts:
        took, kind = part["dur_s"] or 0.0, part["part_kind"]
        if kind == LOST or part["contiguous"] == "broken":
            high += took
            continue
        local = part["target"] is None or re.search(LOCAL, str(part["target"])) is not None
        if kind in COMPUTING or kind in OTHERS or (local and kind in ("socket", "connect")):
            high += took
        if part["cpu_s"] is not None:
            low += min(took, max(0.0, part["cpu_s"]))
        elif kind == OWN and (part["max_s"] or took) <= SMALL_GAP_S:
            low += took
    return min(low, wall), min(high, wall)


# --- lines of logs ----------------------------------------------------------------------------------------------------

NUMBER = r"(\d{1,9}(?:\.\d{1,9})?) ?(us|µs|ms|msec|secs?|seconds?|s)?"
WHOLE = r"real|total|elapsed|duration|request_time|response_time|query_time|total_time|took|completed \w+ \w+ in"
PARTS: Mapping[str, str] = {
    "user": "on a processor as user",
    "sys": "on a processor in the system",
    "cpu": "on a processor",
    "gc": "collecting garbage",
    "lock": "waiting for locks",
    "queue": "in a queue",
    "wait": "waiting",
    "connect": "connecting",
    "dns": "looking names up",
    "tls": "agreeing on TLS",
    "upstream": "waiting for the server behind",
    "db": "in the database",
    "view": "making the page",
    "parse": "parsing",
    "plan": "planning",
    "execute": "executing",
    "fetch": "fetching",
    "read": "reading",
    "write": "writing",
    "sync": "flushing to the disk",
    "service": "being served",
}
"""What a named part of a line stands for."""

PART_NAMES = (
    r"user|system|sys|cpu(?:_time)?|gc|lock(?:_time| wait)?|queued?(?:_time)?|wait(?:ing|_time)?|connect(?:_time)?|dns|(?:name)?lookup|tls|ssl"
    r"|upstream_response_time|db|activerecord|database|sql|views?|pars(?:e|ing)|plan(?:ning)?|exec(?:ut(?:e|ion))?|fetch|read|write|sync"
    r"|service(?:_time)?|served"
)
SAME: Sequence[tuple[str, str]] = (
    ("sys", "sys"),
    ("lookup|namelookup", "dns"),
    ("ssl", "tls"),
    ("activerecord|database|sql", "db"),
    ("exec", "execute"),
    ("serv", "service"),
)
PAIR = re.compile(rf"(?i)(?<![\w.])({WHOLE}|{PART_NAMES})(?:[ \"']*[=:][ \"']*| ){NUMBER}(?![\w.])")
SPLIT_LINE = rf"(?i)\b(?:{WHOLE})(?:[ \"']*[=:][ \"']*| )\d"
SPREAD = r"(?i)checkpoint"
"""Work that is spread over its time on purpose."""

COLLECTED = r"\[Times: user=|\bGC\([0-9]+\) User="
"""Accounts of a collection of Java: the processor time is that of the collector's threads, and the program stands still."""

FACTOR = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "msec": 1e-3}


def parts_of(text: str) -> tuple[float, list[Part]] | None:
    """Return the whole (s) and its parts that a line of a log names, or None.

    >>> parts_of("[Times: user=0.03 sys=0.01, real=2.20 secs]")[0]
    2.2
    >>> [(p.name, p.seconds) for p in parts_of("Completed 200 OK in 812ms (Views: 12.3ms | ActiveRecord: 790.1ms)")[1]]
    [('view', 0.0123), ('db', 0.7901)]
    """
    whole: float | None = None
    parts: dict[str, float] = {}
    last_unit = next((u for u in reversed([m[3] for m in PAIR.finditer(text)]) if u), None)
    for found in PAIR.finditer(text):
        name, seconds = found[1].lower(), float(found[2]) * FACTOR.get(found[3] or last_unit or "s", 1.0)
        if re.fullmatch(WHOLE, name):
            whole = seconds if whole is None else max(whole, seconds)
        else:
            key = next((to for words, to in SAME if re.match(words, name)), None)
            key = key or next((k for k in PARTS if name.startswith(k)), None) or name
            parts[key] = parts.get(key, 0.0) + seconds
    if whole is None or not parts:
        return None
    return whole, [Part(k, PARTS.get(k, k), s) for k, s in parts.items()]


def _log_lines(case: CaseTables) -> Iterator[Sighting]:
    """Yield the longest durations whose parts a line of a log names."""
    columns = [*PLACE_COLUMNS, "line_no", "line_end", "t_local", "text"]
    first = pl.col("text").str.extract(rf"(?i)\b(?:{WHOLE})(?:[ \"']*[=:][ \"']*| ){NUMBER}", 1)
    rows = (
        case.scan("logs", columns, pl.col("text").str.contains(SPLIT_LINE))
        .filter(pl.col("text").str.contains(rf"(?i)\b(?:{PART_NAMES})(?:[ \"']*[=:][ \"']*| )\d"))
        .with_columns(first.cast(pl.Float64, strict=False).alias("size"))
        .top_k(200, by="size")
        .collect(engine="streaming")
    )
    groups: dict[tuple[int, str], list[tuple[Part, float, dict[str, Any]]]] = {}
    for row in rows.iter_rows(named=True):
        made = parts_of(row["text"][:2000])
        if made is None or not FELT_S <= made[0] <= LONGEST_S or sum(p.seconds for p in made[1]) < 0:
            continue
        whole, parts = made
        names = {p.name for p in parts}
        if names <= {"user", "sys", "cpu"}:
            on = sum(p.seconds for p in parts)
            parts = [Part("cpu", "on a processor", min(whole, on), CPU), Part("off", "waiting", max(0.0, whole - on))]
        best = holder(parts, whole)
        if best and best.name == "cpu" and re.search(COLLECTED, row["text"]):
            continue  # its pause is told among the waits
        if best:
            groups.setdefault((row["artifact_id"], best.name), []).append((best, whole, row))
    for held in groups.values():
        held.sort(key=lambda h: (-h[1], h[2]["line_no"]))
        best, whole, row = held[0]
        more = f" ({len(held):,} such lines)" if len(held) > 1 else ""
        step: tuple[Seen, ...] = ({"event": f"request-{best.name}"},) if best.name in OWNED and whole >= LONG_S else ()
        yield Sighting(
            "split",
            f"{' '.join(row['text'].split())[:60]}: {best.name}",
            f"A line tells of {figure(whole, 's')}, {told([best], whole)}{more}",
            "part_s",
            best.seconds,
            "s",
            tuple(c for h in held[:4] for c in _cut(lines_of(h[2], "parts of a duration"), MOST_LINES // 4)),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="the whole",
            against_value=whole,
            seconds=best.seconds,
            share=best.seconds / whole,
            of_s=whole,
            n=len(held),
            seen=(*best.seen, *step, {"log": row["text"]}),
            idle="spread over its time on purpose" if re.search(SPREAD, row["text"]) and best.name == "write" else None,
        )


# --- time models of databases -----------------------------------------------------------------------------------------

DB_TIME = r"(?i)^db time$"
DB_CPU = r"(?i)^db cpu$"


def _time_models(case: CaseTables) -> Iterator[Sighting]:
    """Yield the time model of a database: CPU time against DB time, and its largest components."""
    key = [*PLACE_COLUMNS, "part", "sample"]
    columns = [*key, "line_no", "name", "value"]
    rows = (
        case.scan("counters", columns, (pl.col("grp") == "time_model") & pl.col("value").is_between(0, 1e12))
        .filter(pl.col("name").is_not_null())
        .head(20_000)
        .collect(engine="streaming")
    )
    for _, held in rows.group_by(key, maintain_order=True):
        named = {r["name"]: r for r in held.iter_rows(named=True)}
        whole = next((r for n, r in named.items() if re.search(DB_TIME, n)), None)
        cpu = next((r for n, r in named.items() if re.search(DB_CPU, n)), None)
        if whole is None or cpu is None or whole["value"] < FELT_S:
            continue
        pct = 100 * cpu["value"] / whole["value"]
        computing = pct >= HIGH_PCT
        yield Sighting(
            "split",
            "DB time",
            f"Of {figure(whole['value'], 's')} of DB time, {figure(cpu['value'], 's')} ({figure(min(100.0, pct), '%')}) was DB CPU"
            + ("" if computing else f": {figure(100 - pct, '%')} was waiting"),
            "db_cpu_pct" if computing else "db_wait_pct",
            min(100.0, pct) if computing else 100 - pct,
            "%",
            tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], r["name"]) for r in (whole, cpu)),
            **place(whole),
            against="DB time",
            against_value=100.0,
            share=NESTED * (min(100.0, pct) if computing else 100 - pct) / 100,
            seen=({"counter": "db_call_cpu_pct"},) if computing else (),
        )
