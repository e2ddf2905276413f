"""Settings that a signature knows as a risk: a remark, until another observation shows their effect.

Standing out: a parameter, a figure of memory or a limit that a signature with `parameter` knows by its name and value.
Normal: all others, those that were commented out or overridden, and what a signature calls harmless. The share is small
whatever the setting, so that what was measured comes first, and no setting alone becomes a lead.
Traces: what calls set (limits, scheduling, timers, time-outs, sizes of queues and segments), as the lines have it; no
signature is asked.
Worked example: `vm.zone_reclaim_mode = 1` and a signature for it with value "1": "vm.zone_reclaim_mode is 1".
Cost: one aggregation per table and one look-up per different setting. Source: that of each signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, lines_of, place
from rules.signatures.signatures import Seen, Signature, recognise

OBSERVER = Observer("settings", "Which settings are a risk?", ("params", "meminfo", "syscalls"))

SHARE = 0.05
"""Share of a setting that nobody has seen to cost anything: below every measure that stands out."""

RISKS = ("mechanism", "shape", "remark")
"""Strengths of signatures that say more of a setting than that it is all right."""

SETTERS = (
    "setrlimit", "sched_setscheduler", "sched_setaffinity", "sched_setattr", "sched_setparam", "setpriority", "nice", "priocntl",
    "ioprio_set", "setitimer", "timer_settime", "alarm", "listen", "semget", "shmget", "mlockall",
)  # fmt: skip
"""Calls by which a program sets limits, scheduling, timers or the size of something."""

OPTIONS = r"SO_(SND|RCV)(TIMEO|BUF)|SO_LINGER|TCP_(NODELAY|USER_TIMEOUT|QUICKACK|CORK|SYNCNT)|SO_BUSY_POLL"
"""Options of sockets that change when or how long a program waits."""

OPENING = r"^0, |, 0x[0-9a-f]+$"
"""Arguments that say nothing: the process itself, an address."""

CALLS = 6
"""Maximum number of different calls that are told per trace, the first ones."""

QUOTED = 120
"""Maximum number of characters of arguments in a headline."""

MOST_SETTINGS = 20_000
"""Maximum number of different settings that are looked at."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield settings that a signature knows as a risk, those that name a mechanism outright first."""
    found = [*_params(case), *_meminfo(case)]
    found.sort(key=lambda x: (RISKS.index(x[0].strength), x[1].lines[0].line_from))
    return [*(sighting for _, sighting in found), *_set_by_calls(case)]


def _set_by_calls(case: CaseTables) -> Iterator[Sighting]:
    """Yield what calls of a trace set, each once."""
    name, args = pl.col("name"), pl.col("args").fill_null("")
    sets = (
        name.is_in(SETTERS)
        | (name.is_in(["prlimit64", "prlimit"]) & args.str.contains(r"RLIMIT_\w+, \{"))
        | ((name == "setsockopt") & args.str.contains(OPTIONS))
    )
    done = pl.col("err").is_null() & pl.col("args").is_not_null()
    rows = case.scan("syscalls", [*PLACE_COLUMNS, "line_no", "name", "args"], sets & done)
    key = [*PLACE_COLUMNS, "name", "what"]
    first = (
        rows.with_columns(args.str.replace_all(OPENING, "").str.slice(0, QUOTED).alias("what"))
        .group_by(key)
        .agg(pl.len().alias("n"), pl.col("line_no").min())
        .sort("artifact_id", "line_no", nulls_last=True)
        .group_by("artifact_id", maintain_order=True)
        .head(CALLS)
        .collect(engine="streaming")
    )
    for _, held in first.group_by("artifact_id", maintain_order=True):
        yield _said(held.to_dicts())


def _said(rows: list[dict[str, Any]]) -> Sighting:
    """Return what the calls of one trace set, as one sighting: a reader takes them in together."""
    first = rows[0]
    words = [f"{r['name']}({r['what']})" + (f", {r['n']:,} times" if r["n"] > 1 else "") for r in rows]
    return Sighting(
        kind="setting",
        subject="; ".join(words)[:QUOTED],
        headline=f"The program's calls set: {'; '.join(words)}",
        name="calls_count",
        value=float(sum(r["n"] for r in rows)),
        unit="count",
        lines=tuple(
            Lines(r["artifact_id"], r["line_no"], r["line_no"], word) for r, word in zip(rows, words, strict=True)
        ),
        **place(first),
        share=SHARE,
        n=len(rows),
    )


def _params(case: CaseTables) -> Iterator[tuple[Signature, Sighting]]:
    group = [*PLACE_COLUMNS, "scope", "entity", "name", "value"]
    named = pl.col("name").is_not_null() & pl.col("active").fill_null(True)
    rows = (
        case.scan("params", [*group, "num", "line_no", "line_end"], named)
        .group_by(group)
        .agg(
            pl.col("num").filter(pl.col("num").is_finite()).first(),
            pl.col("line_no").min(),
            pl.col("line_end").get(pl.col("line_no").arg_min()),
        )
        .sort(*PLACE_COLUMNS, "line_no", "name", nulls_last=True)
        .head(MOST_SETTINGS)
        .collect(engine="streaming")
    )
    for row in rows.iter_rows(named=True):
        yield from _risk(row, f" of {row['entity']}" if row["entity"] else "")


def _meminfo(case: CaseTables) -> Iterator[tuple[Signature, Sighting]]:
    group = [*PLACE_COLUMNS, "name"]
    number = pl.col("value").is_finite() & pl.col("name").is_not_null()
    at = pl.col("line_no").arg_max()
    rows = (
        case.scan("meminfo", [*group, "value", "unit", "line_no", "line_end"], number)
        .group_by(group)
        .agg(pl.col(c).get(at) for c in ("value", "unit", "line_no", "line_end"))
        .sort(*PLACE_COLUMNS, "line_no", "name", nulls_last=True)
        .head(MOST_SETTINGS)
        .collect(engine="streaming")
    )
    for row in rows.iter_rows(named=True):
        yield from _risk({**row, "num": row["value"], "value": f"{row['value']:.15g}"}, "")


def _risk(row: Mapping[str, Any], whose: str) -> Iterator[tuple[Signature, Sighting]]:
    """Yield the sighting of a setting if a signature knows it, as printed or as a number."""
    value = None if row["value"] is None else str(row["value"]).strip()
    number = None if row["num"] is None else f"{row['num']:.15g}"
    for form in dict.fromkeys((value, number)):
        seen: Seen = {"parameter": row["name"]}
        if row.get("scope"):
            seen["group"] = row["scope"]
        if form is not None:
            seen["value"] = form
        found = next((s for s in recognise(**seen) if "parameter" in s.match), None)
        if found is not None:
            if found.strength in RISKS:
                yield found, _sighting(row, value, whose, seen)
            return


def _sighting(row: Mapping[str, Any], value: str | None, whose: str, seen: Seen) -> Sighting:
    shown = "set, its value is not shown" if value is None else value or "empty"
    number = row["num"]
    return Sighting(
        kind="setting",
        subject=row["name"],
        headline=f"{row['name']}{whose} is {shown}",
        name=row["name"],
        # A word has no figure: 1 stands for "it is set so".
        value=float(number) if number is not None else 1.0,
        unit="",
        lines=lines_of(row, "setting"),
        **place(row),
        share=SHARE,
        seen=(seen,),
    )
