"""Figures that log lines state: what a program set, memory zones below their minimum, who was killed and how large it was.

Stands out: a limit or setting that a line says was changed to a number; a process that a program killed for its memory
(earlyoom, systemd-oomd, lmkd) or that a signal ended; a zone of memory in the kernel's report whose free
memory is below its minimum (or low) mark, or most of whose memory is held by nobody that the report lists; a process that
was killed with its memory. Normal: zones above their marks.
Worked example: "Node 0 Normal free:53856kB min:66192kB": 53,856 kB free, its minimum is 66,192 kB: 81 %.
Cost: one streaming pass. Source: Linux mm/page_alloc.c (show_free_areas), mm/oom_kill.c (oom_kill_process).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.log_times import quoted
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "log-figures",
    "Which figures do the lines of logs state?",
    ("logs",),
    {"linux": "free -m; cat /proc/meminfo /proc/zoneinfo; dmesg -T", "*": "the whole report around those lines"},
)

SET = (
    r"(?i)\b(?:setting|set|changing|changed|raising|raised|lowering|lowered|increasing|increased|decreasing|decreased|reducing|reduced"
    r"|limit(?:ed|ing)|adjust(?:ed|ing)|capp(?:ed|ing)|resiz(?:ed|ing))\b ([ -~]{0,60}?[A-Za-z_][A-Za-z0-9_./-]{2,60})[\"']? ?(?:[ -~]{0,30}? )?"
    r"(?:to|at|=) \"?([0-9]{1,18})\b"
)
"""A program sets something to a number."""

IS_SET = (
    r"(?i)\b([A-Za-z_][A-Za-z0-9_./-]{2,60}) (?:is |was |now |has been )?(?:set|changed|raised|lowered|increased|reduced) "
    r"(?:from \S+ )?to \"?([0-9]{1,18})\b"
)
"""It says of something that it is set to a number."""

ZONE = r"\bNode (\d+) (\w+) free:(\d{1,15})kB (?:boost:\d+kB )?min:(\d{1,15})kB low:(\d{1,15})kB"
MANAGED = r"\bNode (\d+) (\w+) free:(\d{1,15})kB (.*?\bmanaged:(\d{1,15})kB.*)"
LISTED = re.compile(
    r"\b(?:(?:in)?active_(?:anon|file)|unevictable|slab_(?:un)?reclaimable|kernel_stack|(?:sec_)?pagetables|bounce|free_pcp):(\d{1,15})kB"
)
"""What a zone's line says who holds its memory."""

HUGE_PAGES = (
    r"\bNode (\d+) hugepages_total=(\d{1,12}) hugepages_free=\d+ hugepages_surp=\d+ hugepages_size=(\d{1,12})kB"
)
"""Pages that are set aside; a zone's line does not list them."""

UNLISTED_PART, UNLISTED_KB = 0.5, 1024.0 * 1024
"""Minimum part of a zone that nobody is listed for, and its minimum size: 1 GiB."""

KILLED = r"Killed process (\d+)[,:]? \(?([^()]{1,60}?)\)?,? (?:.*?)\banon-rss:(\d{1,15})kB"

KILLERS = (
    r"(?i)^\W*(?:killing process|sending SIG(?:TERM|KILL) to process|kill(?:ed|ing)? process) (\d+)(?: uid \d+)? [(\"']([^()\"']{1,60})[)\"']"
    r"|^\W*(?:Kill(?:ing)?|lowmemorykiller: Kill(?:ing)?) '([^']{1,80})' \((\d+)\), (?:uid|adj)"
    r"|^\W*Killed (/\S{1,200}) due to memory (?:pressure|used)"
)
"""What watches memory for the kernel kills: earlyoom, nohang, lmkd of Android (pid behind the name), systemd-oomd (a group)."""

SIGNALLED = (
    r"(?i)\b(?:child|worker|process|pid)(?: process)?(?: \d+)?[ :#(]{1,2}(?:pid[ :=]?)?(\d{1,10})\)?[^.;]{0,40}?\b(?:killed|terminated|exited|exit|died)\b"
    r"[^.;]{0,20}?\bsignal[ :]?(?:\w+ ){0,3}?\(?(\d{1,2})\b"
    r"|\bprocess exited, code=(?:killed|dumped), status=(\d{1,2})"
)
"""A program says that one of its processes was ended by a signal."""

MOST_FIGURES = 6
"""Maximum number of figures of each sort per log: the first ones."""

KILLED_SHARE, SIGNALLED_SHARE = 0.4, 0.25
"""Share of a process that was killed for its memory, and of one that a signal ended for any reason."""

SIGNALS = {"4": "SIGILL", "6": "SIGABRT", "8": "SIGFPE", "9": "SIGKILL", "11": "SIGSEGV", "15": "SIGTERM"}
"""Names of signals that have the same number on every system."""

REMARK_SHARE = 0.1
"""Share of what a program set: nobody has seen it to cost anything."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield zones below their minimum, killed processes, then what programs set."""
    yield from _zones(case)
    yield from _unlisted(case)
    yield from _killed(case)
    yield from _by_programs(case)
    yield from _signalled(case)
    yield from _settings(case)


def _found(case: CaseTables, pattern: str, names: list[str], more: Sequence[str] = ()) -> pl.DataFrame:
    rows = case.scan(
        "logs", [*PLACE_COLUMNS, "line_no", "t_local", "text", *more], pl.col("text").str.contains(pattern)
    )
    groups = pl.col("text").str.extract_groups(pattern).struct.rename_fields(names)
    return (
        rows.with_columns(groups.alias("g"))
        .unnest("g")
        .sort("artifact_id", "line_no")
        .group_by("artifact_id", maintain_order=True)
        .head(1_000)
        .collect(engine="streaming")
    )


def _zones(case: CaseTables) -> Iterator[Sighting]:
    rows = _found(case, ZONE, ["node", "zone", "free", "low_mark", "low"])
    for _, part in rows.group_by("artifact_id", maintain_order=True):
        found = [r for r in part.iter_rows(named=True) if int(r["low_mark"]) > 0 and int(r["free"]) < int(r["low"])]
        for row in sorted(found, key=lambda r: int(r["free"]) / int(r["low_mark"]))[:MOST_FIGURES]:
            free, least = int(row["free"]), int(row["low_mark"])
            below = free < least
            yield Sighting(
                "limit",
                f"Node {row['node']} {row['zone']}",
                f"Node {row['node']} {row['zone']} had {free:,} kB free, {'below its minimum' if below else 'below its low mark, the minimum is'}"
                f"{' of' if below else ''} {least:,} kB",
                "free_kb",
                float(free),
                "kB",
                (Lines(row["artifact_id"], row["line_no"], row["line_no"], "free and min of the zone"),),
                **place(row),
                against="its minimum",
                against_value=float(least),
                share=0.5 if below else 0.2,
                seen=({"counter": "zone_free_below_min" if below else "zone_free_below_low"},),
            )


def _unlisted(case: CaseTables) -> Iterator[Sighting]:
    """Yield memory zones of which most is neither free nor listed under any use, the worst of each node."""
    rows = _found(case, MANAGED, ["node", "zone", "free", "rest", "managed"])
    if rows.is_empty():
        return
    aside: dict[tuple[int, str], int] = {}
    for row in _found(case, HUGE_PAGES, ["node", "pages", "size"]).iter_rows(named=True):
        key = (row["artifact_id"], row["node"])
        aside[key] = max(aside.get(key, 0), int(row["pages"]) * int(row["size"]))
    found: dict[tuple[int, str], tuple[int, dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        key = (row["artifact_id"], row["node"])
        listed = int(row["free"]) + sum(int(kb) for kb in LISTED.findall(row["rest"])) + aside.get(key, 0)
        nobodys = int(row["managed"]) - listed
        if nobodys >= max(UNLISTED_KB, UNLISTED_PART * int(row["managed"])) and nobodys > found.get(key, (0, {}))[0]:
            found[key] = nobodys, row
    for nobodys, row in list(found.values())[:MOST_FIGURES]:
        managed, name = int(row["managed"]), f"Node {row['node']} {row['zone']}"
        yield Sighting(
            "limit",
            f"{name}: nobody's",
            f"Of the {managed:,} kB that {name} manages, {figure(100 * nobodys / managed, '%')} ({nobodys:,} kB) are neither free nor"
            " listed for programs, files, slabs or page tables: drivers of the kernel or pages set aside hold them",
            "unlisted_kb",
            float(nobodys),
            "kB",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "managed, and who holds it"),),
            **place(row),
            against="what the zone manages",
            against_value=float(managed),
            share=nobodys / managed,
            seen=({"counter": "zone_unlisted_kb"},),
        )


def _killed(case: CaseTables) -> Iterator[Sighting]:
    rows = _found(case, KILLED, ["victim", "comm", "rss"])
    for _, part in rows.group_by("artifact_id", maintain_order=True):
        names = part["comm"].n_unique()
        for row in sorted(part.iter_rows(named=True), key=lambda r: -int(r["rss"]))[:2]:
            yield Sighting(
                "killed",
                f"{row['comm']} ({row['victim']})",
                f"The kernel killed {row['comm']} (pid {row['victim']}), which held {int(row['rss']):,} kB of its own"
                + (f"; {part.height:,} were killed, of {names:,} names" if part.height > 1 else ""),
                "rss_kb",
                float(row["rss"]),
                "kB",
                (Lines(row["artifact_id"], row["line_no"], row["line_no"], "killed"),),
                **place(row),
                share=KILLED_SHARE,
                n=part.height,
                seen=({"log": str(row["text"])},),
            )


def _by_programs(case: CaseTables) -> Iterator[Sighting]:
    """Yield processes killed by programs that watch the memory in place of the kernel."""
    rows = _found(case, KILLERS, ["victim", "comm", "app", "app_pid", "cgroup"], ["program"])
    rows = rows.filter(~pl.col("text").str.contains(r"total-vm:\d"))  # the kernel's own
    for _, part in rows.group_by("artifact_id", maintain_order=True):
        for row in part.head(MOST_FIGURES).iter_rows(named=True):
            pid, name = row["victim"] or row["app_pid"], row["comm"] or row["app"] or row["cgroup"]
            who = name + (f" (pid {pid})" if pid else "")
            by = row["program"] or "A program that watches memory"
            yield Sighting(
                "killed",
                who,
                f"{by} killed {who}" + (f"; {part.height:,} were killed" if part.height > 1 else ""),
                "killed_count",
                float(part.height),
                "count",
                (Lines(row["artifact_id"], row["line_no"], row["line_no"], quoted(row["text"], 80)),),
                **place(row),
                share=KILLED_SHARE,
                n=part.height,
            )


def _signalled(case: CaseTables) -> Iterator[Sighting]:
    """Yield the processes that were ended by a signal according to a program's message, by signal."""
    rows = _found(case, SIGNALLED, ["victim", "number", "status"], ["program"])
    rows = rows.with_columns(pl.coalesce("number", "status").alias("number"))
    for _, part in rows.group_by("artifact_id", "number", maintain_order=True):
        row, n = part.row(0, named=True), part.height
        name = SIGNALS.get(row["number"], "")
        number = f"signal {row['number']}" + (f" ({name})" if name else "")
        who = f"Process {row['victim']}" if row["victim"] else "The main process of a service"
        yield Sighting(
            "killed",
            who,
            f"{who} was ended by {number}, as its parent says" if n == 1 else f"{n:,} processes were ended by {number}",
            "ended_count",
            float(n),
            "count",
            tuple(
                Lines(r["artifact_id"], r["line_no"], r["line_no"], quoted(r["text"], 80))
                for r in part.head(3).to_dicts()
            ),
            **place(row),
            share=SIGNALLED_SHARE,
            n=n,
        )


def _settings(case: CaseTables) -> Iterator[Sighting]:
    sets = _found(case, SET, ["what", "number"]).filter(~pl.col("what").str.contains(r"(?i)^(?:to|at|by|from)\b"))
    rows = pl.concat([_found(case, IS_SET, ["what", "number"]), sets]).unique(["artifact_id", "line_no"], keep="first")
    for _, part in rows.sort("artifact_id", "line_no").group_by("artifact_id", maintain_order=True):
        first = part.unique(["what", "number"], keep="first", maintain_order=True)
        for row in first.head(MOST_FIGURES).iter_rows(named=True):
            yield _setting(row)


def _setting(row: dict[str, Any]) -> Sighting:
    what = quoted(row["what"], 80).strip("\"' ")
    number = int(row["number"])
    return Sighting(
        "remark",
        what,
        f'A line says that {what} was set to {figure(number, "count")}: "{quoted(row["text"], 100)}"',
        "value_count",
        float(number),
        "count",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], "setting"),),
        **place(row),
        share=REMARK_SHARE,
    )
