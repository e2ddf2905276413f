"""What owns a profile that a run-time's own tool prints as a list of functions: pprof, cProfile, node --prof, ltrace -c.

Standing out: a function that has a tenth of the profile itself; one that has a quarter of it with what it calls, if a signature
knows it, or else half, where this is no way through which nearly all passes; a function of Python that took a tenth of a second each
time and was called again and again; a collector of V8 with a fifth of the ticks. Normal: flat profiles; waits of an event loop and
for other threads of the program are idle.
What the figures are parts of is said as far as the tool says it: of processor time (pprof of type cpu), of waiting (mutex, block), of
memory (heap), of time by the clock (cProfile, waits included), of ticks (V8).
Functions that signatures know as one kind of work are added up: their own parts, or what the largest has with what it calls.
Worked example: `3.10s 9.50% 9.50% 11.40s 35.00% runtime.mallocgc`: 35 % with what it calls, 9.5 % itself.
`9000 3.001 0.000 3.001 0.000 {posix.stat}` below a root of 5 s: 60 % of the time, 9,000 calls of 0.333 ms.
A function with half of a profile that fills a processor is named as the program's own work, if nothing else knows it.
`500 29.7% 33.0% GC`: 29.7 % of the ticks are in the collector.
Cost: the first `MOST_ROWS` rows of such lists of each artifact. Source: pprof documentation (flat, cum); Python library reference,
The Python Profilers (tottime, cumtime); V8 documentation, Using V8's sample-based profiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.frames import names_of
from rules.observers.kindred import kindred
from rules.observers.observer import CONTEXT, FELT_S, Lines, Observer, Sighting, figure, place
from rules.observers.profile_weight import OWNS, OWNS_BELOW, PASSES_ON
from rules.signatures.signatures import Seen, recognise

OBSERVER = Observer(
    "function-lists",
    "What owns the profile that a run-time's own tool prints?",
    ("rows", "params", "counters"),
    {"*": "the callers of the largest functions (pprof -peek FUNCTION; print_callers() of pstats)"},
    alone=True,
)

MOST_ROWS = 5_000
"""Maximum number of rows of an artifact: the tools print the largest first."""

TOLD = 5
"""Maximum number of functions of a list that are told."""

KNOWN_BELOW = 0.25
"""Minimum part of a profile with what a function calls, if it is one that a signature knows."""

COLLECTING = 0.2
"""Minimum part of the ticks in a collector: a fifth of a resource is felt."""

FILLED = 0.8
"""Minimum processors that a profile uses: a program that uses less waits for something else most of the time."""

HALF = 0.5
"""Minimum part of such a profile of one function with what it calls."""

OF_SCRIPT = re.compile(r"(?:LazyCompile|Function|Script|Eval|JS): ")
"""Functions of the program's own JavaScript in a list of V8: its ticks are those of a processor at work."""

AGAIN = 5
"""Minimum number of calls of a function that took long each time."""

LEAST_S = 0.1
"""Minimum seconds of a profile of Python: starting a program takes as long."""

FLAT = ("flat", "flat%", "sum%", "cum", "cum%", "function")
CALLS = ("ncalls", "tottime", "percall", "cumtime", "percall", "filename:lineno(function)")
TICKS = ("ticks", "total", "nonlib", "name")
PARENTS = ("ticks", "parent", "name")
STACKPROF = ("TOTAL", "(pct)", "SAMPLES", "(pct)", "FRAME")
GPROF = ("time", "seconds", "seconds", "calls", "s/call", "s/call", "name")
CALLGRIND = ("Ir", "file:function")
LTRACE = ("% time", "seconds", "usecs/call", "calls", "function")
PY_SPY = ("%Own", "%Total", "OwnTime", "TotalTime", "Function (filename:line)")
RBSPY = ("% self", "% total", "name")
DOTNET_TRACE = ("Functions", "Inclusive", "Exclusive")
ASYNC = ("ns", "percent", "samples", "top")
CLASSES = (("num", "#instances", "#bytes", "class name"), ("MT", "Count", "TotalSize", "Class Name"))
PROCESSES = ("Pid", "Name or Initial Func", "Time", "Reds", "Memory", "MsgQ", "Current Function")
HEADINGS = (
    FLAT,
    CALLS,
    TICKS,
    PARENTS,
    ("ticks", "cpp", "total", "name"),
    STACKPROF,
    GPROF,
    CALLGRIND,
    LTRACE,
    PY_SPY,
    RBSPY,
    DOTNET_TRACE,
    ASYNC,
    *CLASSES,
    PROCESSES,
)
"""Headings of such lists: other observers of listings leave them alone."""

TYPES = {
    "cpu": "of the processor time",
    "delay": "of the waiting",
    "inuse_space": "of the memory in use",
    "alloc_space": "of the memory that was ever taken",
    "inuse_objects": "of the objects in use",
    "alloc_objects": "of the objects that were ever made",
    "goroutine": "of the goroutines",
    "contentions": "of the waits for locks",
}
"""What a profile of pprof counts, by the type that its head names."""

OF_WAITING = (TYPES["delay"], TYPES["contentions"])
"""What profiles of waiting count: the function that waits names for what, as in a profile of processor time."""

SEVERAL, MORE, LEAST_WORK, NAMED, CITED_WORK = 2, 1.1, 0.2, 3, 6
"""Functions of one kind of work: minimum number, by how much they outweigh the largest, minimum part, how many are named and cited."""

MOST_OF_IT = 0.5
"""Part of what gprof or callgrind counts from which one function owns it."""

LEAST_OWNED_S = 1.0
"""Minimum seconds of a function that owns what a program computes: less is felt by nobody."""

SPENT = re.compile(r"(?:\(| took )([0-9.]{1,12}) ?s\b")
"""Seconds of a function in its sentence."""

DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)s, Total samples = ([0-9]+(?:\.[0-9]+)?)s \(")
"""How long a profile of pprof lasted and how much processor time its samples are: both in seconds up to a minute."""

SUMMARY = ("JavaScript", "C++", "GC", "Shared libraries", "Unaccounted")
"""Rows of V8's summary: parts of a program, no functions."""

IDLE = re.compile(
    r"(?:runtime\.(?:futex|futexsleep|notesleep|mcall|schedule|findRunnable|findrunnable|park_m|netpoll|epollwait|usleep)|internal/runtime/syscall\.EpollWait"
    r"|runtime/internal/syscall\.(?:EpollWait|Syscall6))(?: \(.*\))?"
    r"|System\.Threading\.(?:Monitor\.(?:ObjWait|Wait)|WaitHandle\.Wait\w*|Thread\.Sleep\w*|LowLevelLifoSemaphore\.\w+|SemaphoreSlim\.Wait\w*)"
    r"|CPU_TIME|UNMANAGED_CODE_TIME"
    r"|\{.*(?:'(?:poll|acquire|wait|control)' of '|select\.(?:select|poll|epoll)|time\.sleep|_thread\.lock).*\}|epoll_p?wait\S*|uv__io_poll"
)
"""Functions in which a program waits for work, for a time or for another of its threads."""

BUILT_IN = re.compile(r"\{(?:built-in method )?(?:[a-z_]+\.)*(?P<call>\w+)\}")
METHOD = re.compile(r"\{method '(?P<name>\w+)' of '(?P<of>[\w.]+)' objects\}")
_OF_FILE = {
    "_socket.socket": "socket.py",
    "_ssl._SSLSocket": "ssl.py",
    "_thread.lock": "threading.py",
    "_thread.RLock": "threading.py",
}
"""Files of Python's library that wrap classes of C: their methods do the same as those of the file."""
FUNCTION = r"(?:function|subroutine|symbol|routine)"
"""How a column of functions is called in the tables of profilers: pmcstat, tprof, hotkernel, xperf."""

PERCENT = r"(?i:%(?: ?(?:samp|samples|weight|cpu|time|total))?|pcnt|pct|percent|(?:weight|samples|cpu|time) ?%)"
MOST_PCT = 101.0
"""Largest sum of the parts of one whole, with what rounding adds."""

PLACE = re.compile(r"(?:.*[/\\])?(?P<file>[^/\\:]+):[0-9]+\((?P<name>.+)\)")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what owns the lists of functions, the largest share first."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    lists = pl.col("heading").list.first().is_in(sorted({heading[0] for heading in OF_FUNCTIONS})) | pl.col(
        "heading"
    ).list.join(" ").str.contains(rf"(?i)\b{FUNCTION}\b")
    rows = (
        case.scan("rows", columns, lists)
        .sort("artifact_id", "part", "table_no", "line_no", nulls_last=True)
        .group_by("artifact_id", maintain_order=True)
        .head(MOST_ROWS)
        .collect(engine="streaming")
        .to_dicts()
    )
    heads = _heads(case) if rows else {}
    found: list[Sighting] = []
    for (_, _, _, heading), group in groupby(
        rows, key=lambda r: (r["artifact_id"], r["part"], r["table_no"], tuple(r["heading"]))
    ):
        held = [r for r in group if len(r["cells"]) == len(heading) and None not in r["cells"]]
        if not held:
            continue
        if heading == FLAT:
            found += _flat(held, heads.get((held[0]["artifact_id"], held[0]["part"]), {}))
        elif heading in AS_FLAT:
            like = [{**r, "cells": AS_FLAT[heading](r["cells"])} for r in held]
            as_flat = list(_flat(like, {}))
            if heading in OF_COMPUTING:
                as_flat = [*map(_computed, as_flat), *_own_work(like)]
            found += as_flat
        elif heading == CALLS:
            found += _calls(held)
        elif heading == TICKS:
            found += _ticks(held)
        elif heading == PARENTS:
            found += _tops(held)
        elif as_rows := [{**r, "cells": cells} for r in held if (cells := _any_as_flat(heading, r["cells"]))]:
            found += _flat(as_rows, {})
    found += _counted(case)
    yield from sorted(found, key=lambda s: (s.idle is not None, -(s.share or 0.0), s.lines[0].line_from))


def _as_flat(cells: Sequence[str]) -> list[str]:
    """Return a row of stackprof as pprof would print it: own share first.

    >>> _as_flat(["501", "60.1%", "400", "48.0%", "A::B#c"])
    ['400', '48.0%', '', '501', '60.1%', 'A::B#c']
    """
    total, total_pct, own, own_pct, name = cells
    return [own, own_pct, "", total, total_pct, name]


def _gprof_as_flat(cells: Sequence[str]) -> list[str]:
    """Return a row of gprof's flat profile as pprof would print it; it does not contain the time of callees.

    >>> _gprof_as_flat(["61.32", "14.11", "14.11", "918", "0.01", "0.01", "compare_keys"])
    ['14.11s', '61.32%', '', '14.11s', '61.32%', 'compare_keys']
    """
    own, pct = f"{cells[2]}s", f"{cells[0]}%"
    return [own, pct, "", own, pct, cells[-1]]


def _callgrind_as_flat(cells: Sequence[str]) -> list[str]:
    """Return a row of callgrind_annotate as pprof would print it: instructions, their share, function without its file.

    >>> _callgrind_as_flat(["5,411,229 (59.33%)", "./src/sort.c:compare_keys [/srv/app]"])
    ['5,411,229', '59.33%', '', '5,411,229', '59.33%', 'compare_keys']
    """
    count, _, pct = cells[0].partition("(")
    own, part = count.strip(), pct.strip(" )") or "0%"
    return [own, part, "", own, part, cells[1].partition(" [")[0].rpartition(":")[2] or cells[1]]


def _any_as_flat(heading: Sequence[str], cells: Sequence[str]) -> list[str] | None:
    """Return a row of any other table with a column of functions and one of percents so; None where it has none.

    Two columns that one blank separates share a heading and a cell.

    >>> _any_as_flat(["%SAMP IMAGE", "FUNCTION"], ["31.0 kernel", "sched_pickcpu"])
    ['31.0%', '31.0%', '', '31.0%', '31.0%', 'sched_pickcpu']
    >>> _any_as_flat(["Function", "Calls"], ["main", "1"])
    """
    names: list[tuple[str, str]] = []
    for name, cell in zip(heading, cells, strict=False):
        parts = (name.split(), cell.split())
        names += zip(*parts, strict=True) if len(parts[0]) == len(parts[1]) == 2 else [(name, cell)]
    function = next((cell for name, cell in names if re.fullmatch(rf"(?i){FUNCTION}(?: name)?", name)), "")
    pct = next((cell for name, cell in names if re.fullmatch(PERCENT, name)), "").rstrip("%")
    if not function or not re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{1,6})?", pct):
        return None
    own = f"{pct}%"
    return [own, own, "", own, own, function]


def _counted(case: CaseTables) -> list[Sighting]:
    """Return what owns lists of functions that were read as counters: those of DTrace's scripts, and tables with commas."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "grp", "item", "name", "value"]
    ours = pl.col("grp").is_in(["function", "csv"]) & pl.col("name").str.contains(rf"^(?:{PERCENT})$")
    rows = (
        case.scan("counters", columns, ours & pl.col("item").str.contains(r"^[A-Za-z_.~?][\w.`:!~<>*&$@?-]+$"))
        .sort("artifact_id", "part", "line_no")
        .group_by("artifact_id", maintain_order=True)
        .head(MOST_ROWS)
        .collect(engine="streaming")
        .to_dicts()
    )
    found: list[Sighting] = []
    for _, group in groupby(rows, key=lambda r: (r["artifact_id"], r["part"])):
        held = [r for r in group if 0 <= (r["value"] or -1.0) <= 100]
        if held and (held[0]["grp"] == "function" or sum(r["value"] for r in held) <= MOST_PCT):
            parts = [(r, f"{r['value']:g}%") for r in held]
            found += _flat([{**r, "table_no": 0, "cells": [p, p, "", p, p, r["item"]]} for r, p in parts], {})
    return found


def _computed(one: Sighting) -> Sighting:
    """Return a function of a list that counts only what a program computes with that event, if it has half of it, and a second."""
    took = SPENT.search(one.headline)
    owns = one.idle is None and (one.share or 0.0) >= MOST_OF_IT and (took is None or float(took[1]) >= LEAST_OWNED_S)
    return replace(one, seen=(*one.seen, {"event": "function-owns-computing"})) if owns else one


def _own_work(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield that the largest functions of the program have most of what it computes together, where no single one has half.

    Functions that a signature knows as something else than computing (a lock, a copy, a collector) are none of them.
    """
    largest = sorted(rows, key=lambda r: -_number(r["cells"][1]))
    if not largest or _number(largest[0]["cells"][1]) >= 100 * MOST_OF_IT:
        return
    own = [r for r in largest if not IDLE.fullmatch(r["cells"][5]) and not _else_known(r["cells"][5])][:CITED_WORK]
    pct = sum(_number(r["cells"][1]) for r in own)
    seconds = sum(_number(r["cells"][0]) for r in own if r["cells"][0].endswith("s"))
    if len(own) < SEVERAL or pct < 100 * MOST_OF_IT or 0 < seconds < LEAST_OWNED_S:
        return
    named = ", ".join(f"{r['cells'][5]} {figure(_number(r['cells'][1]), '%')}" for r in own[:NAMED])
    more = f" and {len(own) - NAMED:,} more" if len(own) > NAMED else ""
    yield Sighting(
        "work",
        "functions of the program",
        f"{len(own):,} functions of the program have {figure(pct, '%')} of what it computes together: {named}{more}",
        "work_pct",
        pct,
        "%",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], r["cells"][5]) for r in own),
        **place(own[0]),
        against="the largest of them",
        against_value=_number(own[0]["cells"][1]),
        share=min(1.0, pct / 100),
        n=len(own),
        seen=({"event": "functions-own-computing"},),
    )


def _else_known(name: str) -> bool:
    """Return whether a signature knows a function as something else than the program's own computing."""
    known = {found.mechanism for seen in names_of(name, False) for found in recognise(**seen) if found.mechanism}
    return bool(known - {"program-compute"})


def _ltrace_as_flat(cells: Sequence[str]) -> list[str]:
    """Return a row of `ltrace -c` so: the seconds of a function of a library, waits included, with what it calls.

    >>> _ltrace_as_flat(["71.20", "21.204410", "212", "100001", "strlen"])
    ['21.204410s, 100001 calls', '71.20%', '', '21.204410s', '71.20%', 'strlen']
    """
    pct = f"{cells[0]}%"
    return [f"{cells[1]}s, {cells[3]} calls", pct, "", f"{cells[1]}s", pct, cells[-1]]


def _py_spy_as_flat(cells: Sequence[str]) -> list[str]:
    """Return a row of `py-spy top` so; the number of the line is no part of the name.

    >>> _py_spy_as_flat(["71.00%", "71.00%", "22.10s", "22.10s", "compile (sre_compile.py:764)"])
    ['22.10s', '71.00%', '', '22.10s', '71.00%', 'compile (sre_compile.py)']
    """
    own_pct, total_pct, own, total, name = cells
    return [own, own_pct, "", total, total_pct, re.sub(r":[0-9]{1,9}\)$", ")", name)]


def _rbspy_as_flat(cells: Sequence[str]) -> list[str]:
    """Return a row of the summary of rbspy so.

    >>> _rbspy_as_flat(["40.55", "61.20", "match - /srv/app/rules.rb:12"])
    ['40.55%', '40.55%', '', '61.20%', '61.20%', 'match - /srv/app/rules.rb:12']
    """
    own, total = f"{cells[0]}%", f"{cells[1]}%"
    return [own, own, "", total, total, cells[-1]]


def _dotnet_as_flat(cells: Sequence[str]) -> list[str]:
    """Return a row of `dotnet-trace report topN` so; its arguments are no part of the name.

    >>> _dotnet_as_flat(["A.B.Wait(object,int)", "61.2%", "60.1%"])
    ['60.1%', '60.1%', '', '61.2%', '61.2%', 'A.B.Wait']
    """
    name, total, own = cells
    return [own, own, "", total, total, name.partition("(")[0] or name]


def _async_as_flat(cells: Sequence[str]) -> list[str]:
    """Return a row of async-profiler's flat profile so: the time of the function itself.

    >>> _async_as_flat(["9100200300", "61.30%", "910", "java.util.HashMap.getNode"])
    ['9.100s', '61.30%', '', '9.100s', '61.30%', 'java.util.HashMap.getNode']
    """
    own = f"{int(cells[0]) / 1e9:.3f}s"
    return [own, cells[1], "", own, cells[1], cells[-1]]


AS_FLAT = {
    STACKPROF: _as_flat,
    GPROF: _gprof_as_flat,
    CALLGRIND: _callgrind_as_flat,
    LTRACE: _ltrace_as_flat,
    PY_SPY: _py_spy_as_flat,
    RBSPY: _rbspy_as_flat,
    DOTNET_TRACE: _dotnet_as_flat,
    ASYNC: _async_as_flat,
}
OF_COMPUTING = (GPROF, CALLGRIND, PY_SPY)
"""Lists that count what a program computes: samples of the program counter, instructions, threads of Python that are not idle."""

OF_FUNCTIONS = (FLAT, CALLS, TICKS, PARENTS, *AS_FLAT)


def _heads(case: CaseTables) -> dict[tuple[int, int], dict[str, tuple[int, str]]]:
    """Return (artifact, part) -> line and value of `Type` and `Duration` in the head of a pprof profile."""
    columns = ["artifact_id", "part", "line_no", "name", "value"]
    named = case.scan("params", columns, pl.col("name").is_in(["Type", "Duration"])).head(1000).collect()
    made: dict[tuple[int, int], dict[str, tuple[int, str]]] = {}
    for r in named.iter_rows(named=True):
        made.setdefault((r["artifact_id"], r["part"]), {})[r["name"]] = (r["line_no"], str(r["value"]))
    return made


def _number(cell: str) -> float:
    found = re.match(r"-?[0-9]+(?:\.[0-9]+)?", cell)
    return float(found[0]) if found else 0.0


def _made(
    row: dict[str, Any],
    headline: str,
    name: str,
    pct: float,
    seen: tuple[Seen, ...],
    n: int = 1,
    share: float | None = None,
) -> Sighting:
    subject = row["cells"][-1].strip()
    return Sighting(
        "profile",
        subject,
        headline,
        name,
        pct,
        "%",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], "a large part of the profile"),),
        **place(row),
        against="a flat profile, in which nothing has a tenth",
        against_value=100 * OWNS,
        share=min(1.0, (pct / 100) if share is None else share),
        n=n,
        seen=seen,
        idle="it waits for work, for a time or for another thread" if IDLE.fullmatch(subject) else None,
    )


# --- pprof ------------------------------------------------------------------------------------------------------------


def _flat(rows: Sequence[dict[str, Any]], head: dict[str, tuple[int, str]]) -> Iterator[Sighting]:
    """Yield functions of a pprof list with a large share, own or with callees; if none has, the largest as normal."""
    kind = head.get("Type", (0, ""))[1]
    of = TYPES.get(kind, "of the samples")
    order = sorted(rows, key=lambda r: -max(_number(r["cells"][1]), _number(r["cells"][4])))
    line, text = head.get("Duration", (0, ""))
    lasted = DURATION.match(text) if kind == "cpu" else None
    busy = lasted is not None and float(lasted[2]) >= FILLED * float(lasted[1])
    told = ((row, _function(row, of, kind in ("", "cpu"))) for row in order)
    made = [(row, one) for row, one in told if one is not None][:TOLD]
    yield from (_filling(one, _number(row["cells"][4])) if busy else one for row, one in made)
    yield from _same_work(order, of)
    if not made:
        row = max(rows, key=lambda r: _number(r["cells"][1]))
        pct = _number(row["cells"][1])
        headline = f"The function with most {of}, {row['cells'][5]}, has {figure(pct, '%')}"
        yield replace(_made(row, headline, "self_pct", pct, ()), normal=True)
    if lasted is not None:
        took, used = float(lasted[1]), float(lasted[2])
        yield Sighting(
            CONTEXT,
            "processors of the profile",
            f"The profile has {figure(used, 's')} of processor time in {figure(took, 's')}: {used / took:.2f} processors were used",
            "processors_used",
            used / took,
            "count",
            (Lines(rows[0]["artifact_id"], line, line, "duration and samples"),),
            **place(rows[0]),
            normal=True,
        )


def _same_work(rows: Sequence[dict[str, Any]], of: str) -> Iterator[Sighting]:
    """Yield work that several functions of a list do: what signatures know as one mechanism, if that is a fifth of the profile.

    Their own parts add up; what the largest has with what it calls contains some of these, so the larger figure counts.
    """
    works: dict[str, list[tuple[dict[str, Any], tuple[Seen, ...], bool]]] = {}
    for row in rows:
        name = row["cells"][5].removesuffix(" (inline)").removesuffix(" (partial-inline)")
        if IDLE.fullmatch(name):
            continue
        seen = names_of(name, False)
        found = next((s for one in seen for s in recognise(**one) if s.mechanism), None)
        if found is not None and found.mechanism is not None:
            works.setdefault(found.mechanism, []).append((row, seen, found.strength == "mechanism"))
    for held in (*works.values(), *kindred(works)):
        own = sum(_number(row["cells"][1]) for row, _, _ in held)
        below = max((p for row, _, _ in held if (p := _number(row["cells"][4])) < 100 * PASSES_ON), default=0.0)
        pct = min(100.0, max(own, below))
        largest = max(max(_number(row["cells"][1]) for row, _, _ in held), below / 2)
        if len(held) < SEVERAL or pct < 100 * LEAST_WORK or pct < MORE * largest:
            continue
        outright = [one for one in held if one[2]]
        # A small function that names the mechanism does not name what large ones do that only fit it.
        weighty = sum(_number(row["cells"][1]) for row, _, _ in outright) >= 100 * OWNS
        asked = outright if weighty else [one for one in held if not one[2]] or held
        names = [f"{row['cells'][5]} {row['cells'][1]}" for row, _, _ in held[:NAMED]]
        more = f" and {len(held) - NAMED:,} more" if len(held) > NAMED else ""
        through = f", {figure(below, '%')} with what they call" if below > own else ""
        first = held[0][0]
        yield Sighting(
            "work",
            f"{first['cells'][5]} and {len(held) - 1:,} more",
            f"{len(held):,} functions of one kind have {figure(own, '%')} {of} together{through}: {', '.join(names)}{more}",
            "work_pct",
            pct,
            "%",
            tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], r["cells"][5]) for r, _, _ in held[:CITED_WORK]),
            **place(first),
            against="the largest of them",
            against_value=largest,
            share=pct / 100,
            n=len(held),
            seen=tuple(name for _, seen, _ in asked for name in seen),
        )


def _filling(one: Sighting, pct: float) -> Sighting:
    """Mark a function that fills a processor: it has half (`pct`) of the profile and no known mechanism of its own.

    A lock, a copy or a collector keeps its mechanism; all other functions are the program's own work.
    """
    known = {found.mechanism for seen in one.seen for found in recognise(**seen) if found.mechanism}
    if pct < 100 * HALF or one.idle or known - {"program-compute"}:
        return one
    return replace(one, share=min(1.0, pct / 100), seen=({"event": "function-fills-processor"},))


def _function(row: dict[str, Any], of: str, cpu: bool) -> Sighting | None:
    """Return the sighting of one pprof function; None if its share is small, or nearly everything passes through it."""
    name = row["cells"][5].removesuffix(" (inline)").removesuffix(" (partial-inline)")
    own, below = _number(row["cells"][1]), _number(row["cells"][4])
    seen = names_of(name, False)
    least = KNOWN_BELOW if any(s.mechanism for s in recognise(**seen[0])) else OWNS_BELOW
    if own < 100 * OWNS and not 100 * least <= below < 100 * PASSES_ON:
        return None
    headline = f"{name} itself has {figure(own, '%')} {of} ({row['cells'][0]})"
    if below > 1.05 * own:
        headline = (
            f"{name} has {figure(below, '%')} {of} with what it calls ({row['cells'][3]}), {figure(own, '%')} itself"
        )
    if own >= 100 * OWNS:
        return _made(row, headline, "self_pct", own, seen if cpu or of in OF_WAITING else ())
    # What a function calls may be told on its own: the place above it weighs half, as in any profile.
    return _made(row, headline, "total_pct", below, seen if cpu else (), share=below / 200)


# --- Python -----------------------------------------------------------------------------------------------------------


def _python(name: str) -> tuple[Seen, ...]:
    """Return the names for signatures of a function as cProfile prints it.

    >>> _python("{posix.stat}"), _python("/usr/lib/python3/json/decoder.py:353(raw_decode)")
    (({'symbol': 'stat'},), ({'symbol': 'raw_decode (decoder.py)'},))
    """
    if built_in := BUILT_IN.fullmatch(name):
        return ({"symbol": built_in["call"]},)
    if method := METHOD.fullmatch(name):
        wrapped = _OF_FILE.get(method["of"])
        plain: tuple[Seen, ...] = ({"symbol": f"{method['name']} ({wrapped})"},) if wrapped else ()
        return ({"symbol": f"{method['of']}.{method['name']}"}, *plain)
    found = PLACE.fullmatch(name)
    return ({"symbol": f"{found['name']} ({found['file']})"},) if found else ()


def _calls(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield Python functions by their own time, and those that took long in each of many calls."""
    own = [_number(r["cells"][1]) for r in rows]
    whole = max([sum(own), *(_number(r["cells"][3]) for r in rows)], default=0.0)
    if whole < LEAST_S:
        return
    order = sorted(zip(own, rows, strict=True), key=lambda x: -x[0])
    for took, row in [x for x in order if x[0] >= OWNS * whole][:TOLD]:
        n = int(row["cells"][0].split("/")[0])
        each = f", in {n:,} calls of {figure(took / n, 's')}" if n > 1 else ""
        headline = (
            f"{row['cells'][5]} itself took {figure(took, 's')} of the {figure(whole, 's')}"
            f" ({figure(100 * took / whole, '%')}){each}"
        )
        one = _made(row, headline, "self_pct", 100 * took / whole, _python(row["cells"][5]), n)
        yield _computed(one) if PLACE.fullmatch(row["cells"][5]) else one
    again = [
        (total, n, row)
        for row in rows
        if (n := int(row["cells"][0].split("/")[0])) >= AGAIN
        and FELT_S * n <= (total := _number(row["cells"][3]))
        and KNOWN_BELOW * whole <= total < PASSES_ON * whole
        and _number(row["cells"][1]) < OWNS * whole
    ]
    for total, n, row in sorted(again, key=lambda x: -x[0])[:TOLD]:
        headline = (
            f"{row['cells'][5]} was called {n:,} times and took {figure(total / n, 's')} each with what it calls: {figure(total, 's')}"
            f" of the {figure(whole, 's')} ({figure(100 * total / whole, '%')})"
        )
        yield _made(row, headline, "total_pct", 100 * total / whole, _python(row["cells"][5]), n, total / whole / 2)


# --- V8 ---------------------------------------------------------------------------------------------------------------


def _ticks(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the collector's share from a summary of V8, or the top functions of a list of V8."""
    summary = [r for r in rows if r["cells"][3] in SUMMARY]
    if len(summary) < 2:
        for row in sorted(rows, key=lambda r: -_number(r["cells"][1]))[:TOLD]:
            yield from _top(row)
        return
    gc = next((r for r in summary if r["cells"][3] == "GC"), None)
    if gc is None:
        return
    pct = _number(gc["cells"][1])
    script = next((r for r in summary if r["cells"][3] == "JavaScript"), None)
    beside = f", {figure(_number(script['cells'][1]), '%')} in the program's own JavaScript" if script else ""
    yield Sighting(
        "profile",
        "the collector of V8",
        f"{figure(pct, '%')} of the ticks of V8 are in the collector of garbage (GC){beside}",
        "v8_gc_pct",
        pct,
        "%",
        tuple(
            Lines(r["artifact_id"], r["line_no"], r["line_no"], role)
            for r, role in ((gc, "the collector"), (script, "the program's own code"))
            if r is not None
        ),
        **place(gc),
        against="a fifth of the ticks",
        against_value=100 * COLLECTING,
        share=min(1.0, pct / 100),
        n=int(_number(gc["cells"][0])) or 1,
        seen=({"counter": "v8_gc_pct"},),
        normal=pct < 100 * COLLECTING,
    )


def _tops(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the functions on the outer level of a list of callers; inner levels have percentages of their callee."""
    outermost = [r for r in rows if not r["cells"][2].startswith(" ")]
    for row in sorted(outermost, key=lambda r: -_number(r["cells"][1]))[:TOLD]:
        yield from _top(row)


def _top(row: dict[str, Any]) -> Iterator[Sighting]:
    pct = _number(row["cells"][1])
    if pct >= 100 * OWNS:
        ticks = int(_number(row["cells"][0]))
        headline = f"{row['cells'][-1]} itself has {figure(pct, '%')} of the ticks of V8 ({ticks:,})"
        made = _made(row, headline, "self_pct", pct, names_of(row["cells"][-1], False), ticks or 1)
        yield _filling(made, pct) if OF_SCRIPT.match(row["cells"][-1].lstrip()) else made
