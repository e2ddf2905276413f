"""What the columns of known tools say that no format reads: gstat, esxtop, dstat, ntpq, arcstat, turbostat, Ceph, atop, atopsar, vm_stat,
zpool iostat -l, plockstat, Get-Process.

Standing out: a column whose meaning its manual states, beyond the bound that stands beside it below. Rows of the same name are samples
of one thing, of which the median counts; the largest thing is told, with the middle one of the others. Normal: below the bound: nothing.
Worked example: gstat, `ms/r` of ada2 412.1, of three others 10.9 to 12.0: "ada2 answered reads in 412 ms (ms/r), the middle one of the
3 others 11.2 ms".
Cost: at most `MOST_ROWS` rows. Source: gstat(8); dstat(1); ntpq(8) (offset in ms; 128 ms is the step threshold of ntpd(8)); arcstat(1);
turbostat(8) (Bzy_MHz: clock while not idle; TSC_MHz: nominal clock); Ceph, Monitoring OSDs (osd perf); atop(1), DSK; atopsar(1), -c, -d, -s; vm_stat(1) of
macOS (the first line counts since the boot); zpool-iostat(8), -l; plockstat(1M); Microsoft Learn, Get-Process; MongoDB Database
Tools, mongostat, and WiredTiger, eviction_trigger (95 %) and eviction_dirty_trigger (20 %), from which operations evict pages; VMware,
vSphere Monitoring and Performance, esxtop: %RDY and %CSTP of a group are sums over its worlds (NWLD), DAVG is the time of the device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "tool-tables",
    "What do the columns of a known tool say?",
    ("rows",),
    {"*": "the same command for a minute, and what the tool calls the thing that stands out"},
)

MOST_ROWS = 20_000

Row = dict[str, float]
"""Figures of a row by the word of the heading."""


@dataclass(frozen=True)
class Column:
    """A figure of a row, its bound, and a sentence with {who} and {value}.

    `value` computes the figure from the words of a row, None if it does not apply (an idle processor has no clock
    rate). `share` computes the part (0 to 1) that the figure takes of what the row is about.
    """

    name: str
    unit: str
    bound: float
    says: str
    value: Callable[[Row], float | None]
    seen: Seen
    share: Callable[[Row, float], float]
    kind: str = "saturation"


@dataclass(frozen=True)
class Listing:
    """The words by which a heading is recognised, the word of the column with names, and the columns to read."""

    words: tuple[str, ...]
    who: str | None
    columns: tuple[Column, ...]
    thing: str = ""
    totals_first: bool = False
    """Whether the first row counts since the boot, so that it is no sample."""


def _of(word: str, *, idle: str | None = None) -> Callable[[Row], float | None]:
    """Return a function that reads one column; with `idle`, a column of operations, rows without any have no figure."""

    def read(row: Row) -> float | None:
        if idle is not None and row.get(idle, 0.0) < 1:
            return None
        return row.get(word)

    return read


def _each(word: str, among: str) -> Callable[[Row], float | None]:
    """Return a function that divides one column, a sum, by another column, the number of members."""
    return lambda row: row[word] / row[among] if word in row and row.get(among, 0.0) >= 1 else None


def _always(share: float) -> Callable[[Row, float], float]:
    return lambda row, value: share


def _percent(row: Row, value: float) -> float:
    return value / 100.0


def _waited(row: Row, value: float) -> float:
    """Return the part (0 to 1) of the time in which a virtual machine wanted processors and did not get them."""
    waited = row.get("%RDY", 0.0) + row.get("%CSTP", 0.0)
    return waited / (waited + row.get("%RUN", 0.0)) if waited else 0.0


def _not_run(row: Row) -> float | None:
    """Return in % how much of the time in which a virtual machine was ready it did not run.

    None for one that wants little, and for one whose mean over all its worlds is told.
    """
    ready, worlds = row.get("%RDY", 0.0), row.get("NWLD", 0.0)
    return 100.0 * _waited(row, 0.0) if LEAST_READY_PCT <= ready < READY_PCT * worlds else None


def _busy_guest(row: Row, value: float) -> float:
    """Return which part of the processors that a guest may use it used."""
    return min(1.0, value / 100.0)


def _below_clock(row: Row) -> float | None:
    nominal, busy = row.get("TSC_MHz", 0.0), row.get("Busy%", 0.0)
    return 100.0 * row["Bzy_MHz"] / nominal if busy >= MOSTLY and nominal and "Bzy_MHz" in row else None


MOSTLY = 50.0
"""Minimum part of the time in % in which a processor works before its clock tells something: an idle one may be slow."""

SLOW_MS, BUSY_PCT, WAITING_PCT, STOLEN_PCT = 20.0, 90.0, 20.0, 10.0
"""Bounds of devices and processors as of `saturation`."""

WAITED_PCT, LEAST_READY_PCT = 25.0, 20.0
"""Minimum part in % of the time in which a virtual machine was ready and did not run, and the least %RDY of all its worlds together."""

READY_PCT = 10.0
"""Minimum %RDY per world that is felt: practice of VMware's administrators."""

SWAPPED = 1_000.0
"""Minimum number of pages of 4 or 16 kB that went to or came from swap between two samples of vm_stat."""

HANDLES = 100_000.0
"""Minimum number of handles of a process that is no ordinary one any more: most have less than 10,000 (Russinovich, Pushing the limits
of Windows: handles)."""

HALF = 0.5
"""Part of the time of a request from which one stage of it holds it."""

CALLERS_CITED = 5
"""Maximum number of callers of a lock that are cited, those that waited longest first."""

_BTT = ["ALL", "MIN", "AVG", "MAX", "N"]
_SLOW: Seen = {"counter": "disk_response_ms"}
_BUSY: Seen = {"counter": "disk_busy_pct"}


def _of_processors(*words: str) -> Callable[[Row], float | None]:
    """Return a function that computes columns of atopsar in % of all processors; row `all` sums up percentages."""

    def read(row: Row) -> float | None:
        if "cpu" in row:
            return None  # one processor
        whole = sum(row.get(w, 0.0) for w in ("%usr", "%nice", "%sys", "%irq", "%softirq", "%steal", "%wait", "%idle"))
        return 100.0 * sum(row.get(w, 0.0) for w in words) / whole if whole > 0 else None

    return read


LISTINGS = (
    Listing(
        ("cpu", "%usr", "%sys", "%softirq", "%wait", "%idle"),
        "cpu",
        (
            Column(
                "cpu_sys_pct",
                "%",
                40.0,
                "The kernel took {value} of the processors (%sys, %irq, %softirq of {who})",
                _of_processors("%sys", "%irq", "%softirq"),
                {"counter": "cpu_sys_pct"},
                _percent,
            ),
            Column(
                "cpu_wait_io_pct",
                "%",
                WAITING_PCT,
                "Processors ({who}) were idle with reads or writes under way {value} of the time",
                _of_processors("%wait"),
                {"counter": "cpu_wait_io_pct"},
                _percent,
            ),
            Column(
                "cpu_steal_pct",
                "%",
                STOLEN_PCT,
                "Somebody else took {value} of the processors ({who}, %steal)",
                _of_processors("%steal"),
                {"counter": "cpu_steal_pct"},
                _percent,
            ),
        ),
        "processor",
    ),
    Listing(
        ("disk", "busy", "avque", "avserv"),
        "disk",
        (
            Column("disk_busy_pct", "%", BUSY_PCT, "{who} was {value} busy (busy)", _of("busy"), _BUSY, _percent),
            Column(
                "disk_response_ms",
                "ms",
                SLOW_MS,
                "{who} took {value} for each request (avserv)",
                _of("avserv"),
                _SLOW,
                _always(0.6),
            ),
        ),
        "disk",
    ),
    Listing(
        ("pagescan/s", "swapin/s", "swapout/s"),
        None,
        (
            Column(
                "swap_in_kbps",
                "kB per s",
                1_000.0,
                "{value} came back from swap (swapin/s, in pages of 4 kB)",
                lambda row: 4.0 * row["swapin/s"] if "swapin/s" in row else None,
                {"counter": "swap_in_kbps"},
                _always(0.6),
            ),
        ),
    ),
    Listing(
        ("L(q)", "ops/s", "%busy", "Name"),
        "Name",
        (
            Column(
                "disk_response_ms",
                "ms",
                SLOW_MS,
                "{who} answered reads in {value} (ms/r)",
                _of("ms/r", idle="r/s"),
                _SLOW,
                _always(0.6),
            ),
            Column(
                "disk_write_ms",
                "ms",
                SLOW_MS,
                "{who} answered writes in {value} (ms/w)",
                _of("ms/w", idle="w/s"),
                _SLOW,
                _always(0.6),
            ),
            Column(
                "disk_busy_pct",
                "%",
                BUSY_PCT,
                "{who} was {value} busy (%busy)",
                _of("%busy", idle="ops/s"),
                _BUSY,
                _percent,
            ),
        ),
        "disk",
    ),
    Listing(
        ("NAME", "NWLD", "%RDY"),
        "NAME",
        (
            Column(
                "vm_ready_pct",
                "%",
                READY_PCT,
                "{who} was ready to run and got no processor for {value} of the time, per world (%RDY by NWLD)",
                _each("%RDY", "NWLD"),
                {"event": "vm-ready"},
                _waited,
            ),
            Column(
                "vm_waited_pct",
                "%",
                WAITED_PCT,
                "{who} waited for processors {value} of the time in which it wanted them (%RDY beside %RUN)",
                _not_run,
                {"event": "vm-ready"},
                _always(0.6),
            ),
            Column(
                "vm_costop_pct",
                "%",
                3.0,
                "{who} was stopped until its other virtual processors had run for {value} of the time, per world (%CSTP by NWLD)",
                _each("%CSTP", "NWLD"),
                {"event": "vm-costop"},
                _waited,
            ),
            Column(
                "vm_limited_pct",
                "%",
                1.0,
                "{who} was ready to run and held back by its limit for {value} of the time, per world (%MLMTD by NWLD)",
                _each("%MLMTD", "NWLD"),
                {"event": "vm-limited"},
                _always(0.6),
            ),
            Column(
                "vm_swap_wait_pct",
                "%",
                5.0,
                "{who} waited for memory that the host had swapped out for {value} of the time (%SWPWT)",
                _of("%SWPWT"),
                {"event": "vm-swapped"},
                _always(0.6),
            ),
        ),
        "virtual machine",
    ),
    Listing(
        ("NAME", "STATE", "CPU(%)", "VCPUS"),
        "NAME",
        (
            Column(
                "vm_busy_pct",
                "%",
                95.0,
                "{who} used {value} of its virtual processors (CPU(%) by VCPUS)",
                _each("CPU(%)", "VCPUS"),
                {"event": "vm-busy"},
                _busy_guest,
            ),
        ),
        "virtual machine",
    ),
    Listing(
        ("DAVG/cmd", "KAVG/cmd"),
        None,
        (
            Column(
                "disk_response_ms",
                "ms",
                SLOW_MS,
                "{who} answered in {value} (DAVG)",
                _of("DAVG/cmd"),
                _SLOW,
                _always(0.6),
            ),
            Column(
                "host_queue_ms",
                "ms",
                2.0,
                "a command to {who} waited {value} in the hypervisor itself (KAVG)",
                _of("KAVG/cmd"),
                {"counter": "wsvc_ms"},
                _always(0.4),
            ),
        ),
        "device",
    ),
    Listing(
        ("usr", "sys", "idl", "wai"),
        None,
        (
            Column(
                "cpu_wait_io_pct",
                "%",
                WAITING_PCT,
                "Processors were idle with reads or writes under way {value} of the time (wai)",
                _of("wai"),
                {"counter": "cpu_wait_io_pct"},
                _percent,
            ),
            Column(
                "cpu_steal_pct",
                "%",
                STOLEN_PCT,
                "The hypervisor gave the processors to others {value} of the time (stl)",
                _of("stl"),
                {"counter": "cpu_steal_pct"},
                _percent,
            ),
        ),
    ),
    Listing(
        ("remote", "refid", "reach", "offset", "jitter"),
        "remote",
        (
            Column(
                "clock_offset_ms",
                "ms",
                128.0,
                "the clock is {value} away from {who} (offset)",
                lambda row: abs(row["offset"]) if row.get("reach") and "offset" in row else None,
                {"event": "clock-offset"},
                _always(0.6),
                "clock",
            ),
        ),
        "server of time",
    ),
    Listing(
        ("time", "read", "miss", "miss%"),
        None,
        (
            Column(
                "arc_miss_pct",
                "%",
                30.0,
                "{value} of the reads missed the cache of ZFS (ARC, miss%)",
                _of("miss%", idle="read"),
                {"event": "arc-misses"},
                _percent,
            ),
        ),
    ),
    Listing(
        ("CPU", "Busy%", "Bzy_MHz", "TSC_MHz"),
        None,
        (
            Column(
                "cpu_clock_missing_pct",
                "%",
                30.0,
                "busy processors ran {value} below their nominal clock (Bzy_MHz against TSC_MHz)",
                lambda row: 100.0 - x if (x := _below_clock(row)) is not None else None,
                {"event": "processor-below-clock"},
                _always(0.6),
                "clock",
            ),
        ),
    ),
    Listing(
        ("free", "wired", "cmprssor", "swapins", "swapouts"),
        None,
        (
            Column(
                "swap_outs",
                "pages",
                SWAPPED,
                "{value} went to swap between two samples (swapouts)",
                _of("swapouts"),
                {"counter": "swap_out_kbps"},
                _always(0.6),
            ),
            Column(
                "swap_ins",
                "pages",
                SWAPPED,
                "{value} came back from swap between two samples (swapins)",
                _of("swapins"),
                {"counter": "swap_in_kbps"},
                _always(0.6),
            ),
        ),
        totals_first=True,
    ),
    Listing(
        ("#Name", "KBytes", "IOs", "QLen", "SvcTim", "Util"),
        "#Name",
        (
            Column("disk_busy_pct", "%", BUSY_PCT, "{who} was {value} busy (Util)", _of("Util"), _BUSY, _percent),
            Column(
                "disk_response_ms",
                "ms",
                SLOW_MS,
                "{who} took {value} for each request (Wait)",
                _of("Wait"),
                _SLOW,
                _always(0.6),
            ),
        ),
        "disk",
    ),
    Listing(
        ("DeviceId", "ReadErrorsUncorrected"),
        "DeviceId",
        (
            Column(
                "read_errors_count",
                "count",
                1.0,
                "{who} counts {value} reads that could not be corrected (ReadErrorsUncorrected)",
                _of("ReadErrorsUncorrected"),
                {"counter": "media errors"},
                _always(0.5),
                "failure",
            ),
        ),
        "disk",
    ),
    Listing(
        ("Handles", "NPM(K)", "PM(K)", "ProcessName"),
        "ProcessName",
        (
            Column(
                "handles_count",
                "count",
                HANDLES,
                "{who} has {value} handles open",
                _of("Handles"),
                {"event": "handles-of-a-process"},
                _always(0.5),
                "limit",
            ),
        ),
        "process",
    ),
    Listing(
        ("insert", "query", "update", "delete", "getmore", "dirty", "used", "vsize"),
        None,
        (
            Column(
                "cache_used_pct",
                "%",
                95.0,
                "{value} of the cache of MongoDB was in use (used): operations have to make room themselves",
                _of("used"),
                {"event": "engine-cache-full"},
                _percent,
            ),
            Column(
                "cache_dirty_pct",
                "%",
                20.0,
                "{value} of the cache of MongoDB was not written yet (dirty): operations have to write themselves",
                _of("dirty"),
                {"event": "engine-cache-dirty"},
                _always(0.6),
            ),
        ),
    ),
    Listing(
        ("osd", "commit_latency(ms)", "apply_latency(ms)"),
        "osd",
        (
            Column(
                "osd_commit_ms",
                "ms",
                100.0,
                "{who} needed {value} to commit (commit_latency)",
                _of("commit_latency(ms)"),
                {"event": "osd-slow"},
                _always(0.6),
            ),
        ),
        "osd",
    ),
)

_NUMBER = re.compile(r"([-+]?[0-9]+(?:\.[0-9]*)?)([KMGTPE]?)%?")
_POWERS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}

_ATOP = ("DSK", "LVM", "MDD")
"""First cells of lines of atop about disks and volumes."""
_ATOP_BUSY, _ATOP_AVIO = re.compile(r"busy +([0-9]{1,3})%"), re.compile(r"avio +([0-9.]+) ?(ms|us|µs|s|ns)")
_IN_MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}

_ZPOOL = ["pool", "alloc", "free", "read", "write", "read", "write"]
"""Beginning of the heading of `zpool iostat -l`."""

_OF_ZPOOL: tuple[tuple[int, str, str, Seen, float], ...] = (
    (9, "disk_response_ms", "{who} itself answered reads in {value} (disk_wait)", _SLOW, 0.6),
    (10, "disk_write_ms", "{who} itself answered writes in {value} (disk_wait)", _SLOW, 0.6),
    (
        7,
        "disk_waiting_ms",
        "reads of {who} took {value} with their time in queues (total_wait)",
        {"counter": "disk_queue"},
        0.3,
    ),
)
"""Columns of `zpool iostat -l`, several of which have the same name. A scrub waits in queues on purpose, so that this alone is a sign."""

LONG_LOCK_S, LONG_LOCKS_S = 0.01, 10.0
"""Minimum mean seconds of a wait for a lock of a program, and seconds of all of them, that somebody feels: see `profile_weight`."""

_PLOCKSTAT = ["Count", "nsec", "Lock", "Caller"]

Figures = list[tuple[str, float, Row, dict[str, Any]]]
"""Name of a thing, its figure, the words of its row, and the row."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield figures beyond their bounds, the largest share first."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    filled = (pl.col("heading").list.len() > 0) & (pl.col("cells").list.len() > 0)
    rows = (
        case.scan("rows", columns, filled)
        .head(MOST_ROWS)
        .collect(engine="streaming")
        .sort("artifact_id", "part", "line_no")
    )
    found: list[Sighting] = []
    for _, table in groupby(rows.to_dicts(), lambda r: (r["artifact_id"], r["part"], r["heading"])):
        listed = list(table)
        words = [w for cell in listed[0]["heading"] for w in (cell or "").replace("|", " ").split()]
        for listing in LISTINGS:
            if set(listing.words) <= set(words):
                found.extend(_listed(listing, words, listed[listing.totals_first :]))
        found.extend(_atop(listed))
        found.extend(_zpool(words, listed))
        found.extend(_user_locks(words, listed))
        found.extend(_disk_stages(words, listed))
        found.extend(_start_jobs(words, listed))
    yield from sorted(found, key=lambda s: (-(s.share or 0.0), s.lines[0].line_from))


def _listed(listing: Listing, words: Sequence[str], rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    cut = [(row, cells) for row in rows if (cells := _cells(row)) is not None and len(cells) == len(words)]
    for column in listing.columns:
        figures: Figures = []
        for row, cells in cut:
            named = {w: x for w, cell in zip(words, cells, strict=True) if (x := _figure(cell)) is not None}
            value = column.value(named)
            if value is not None:
                name = (
                    cells[words.index(listing.who)].lstrip("*+#ox- ")
                    if listing.who
                    else _first_name(cells, listing.thing)
                )
                figures.append((f"{listing.thing} {name}" if name.isdigit() else name, value, named, row))
        if figures:
            yield from _largest(column, figures)


def _start_jobs(words: Sequence[str], rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the unit of systemd whose start still runs while others wait for it (systemctl list-jobs)."""
    if list(words) != ["JOB", "UNIT", "TYPE", "STATE"]:
        return
    starts = [row for row in rows if list(row["cells"][2:3]) == ["start"]]
    running = [row for row in starts if row["cells"][3] == "running"]
    waiting = [row for row in starts if row["cells"][3] == "waiting"]
    if not running or not waiting:
        return
    names = ", ".join(str(row["cells"][1]) for row in running[:3])
    yield Sighting(
        "wait",
        str(running[0]["cells"][1]),
        f"The start of {names} still runs, and {len(waiting):,} other{'s wait' if len(waiting) > 1 else ' waits'} for it",
        "jobs_waiting_count",
        float(len(waiting)),
        "count",
        tuple(
            Lines(row["artifact_id"], row["line_no"], row["line_no"], f"{row['cells'][1]} {row['cells'][3]}")
            for row in (*running[:3], *waiting[:2])
        ),
        **place(running[0]),
        share=HALF,
        seen=({"event": "start-job-runs"},),
    )


def _first_name(cells: Sequence[str], thing: str) -> str:
    """Return the first cell that is a name, where rows are about things."""
    return next((c for c in cells if _figure(c) is None and re.search(r"[A-Za-z]", c)), "") if thing else ""


def _largest(column: Column, figures: Figures) -> Iterator[Sighting]:
    """Yield the thing with the largest figure, if that is beyond the bound in the median of its samples."""
    things: dict[str, Figures] = {}
    for one in figures:
        things.setdefault(one[0], []).append(one)
    middles = {name: median(value for _, value, _, _ in held) for name, held in things.items()}
    name = max(middles, key=lambda n: middles[n])
    value = middles[name]
    if value < column.bound:
        return
    at = min(things[name], key=lambda one: abs(one[1] - value))
    others = [v for n, v in middles.items() if n != name]
    held = [
        Lines(at[3]["artifact_id"], at[3]["line_no"], at[3]["line_no"], f"{name} {figure(value, column.unit)}".strip())
    ]
    beside = ""
    if others:
        middle = median(others)
        usual = min((one for one in figures if one[0] != name), key=lambda one: abs(one[1] - middle))
        which = f"the middle one of the {len(others):,} others" if len(others) > 1 else "the other one"
        beside = f", {which} {figure(middle, column.unit)}"
        held.append(Lines(usual[3]["artifact_id"], usual[3]["line_no"], usual[3]["line_no"], "a usual one"))
    samples = len(things[name])
    over = sum(v >= column.bound for _, v, _, _ in things[name])
    times = f", in {over} of {samples} samples" if samples > 1 else ""
    yield Sighting(
        column.kind,
        name or column.name,
        column.says.format(who=name, value=figure(value, column.unit)) + beside + times,
        column.name,
        value,
        column.unit,
        tuple(held),
        **place(at[3]),
        against="its bound",
        against_value=column.bound,
        share=min(1.0, column.share(at[2], value)),
        n=samples,
        seen=(column.seen,),
    )


def _atop(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the busiest disk of atop, whose lines have cells with a name and a value."""
    figures: Figures = []
    for row in rows:
        cells = [str(c or "").strip() for c in row["cells"]]
        busy = next((m for c in cells if (m := _ATOP_BUSY.fullmatch(c))), None)
        if cells and cells[0] in _ATOP and busy and len(cells) > 1:
            avio = next((m for c in cells if (m := _ATOP_AVIO.fullmatch(c))), None)
            took = float(avio[1]) * _IN_MS[avio[2]] if avio else None
            figures.append((cells[1], float(busy[1]), {} if took is None else {"avio": took}, row))
    if not figures:
        return
    busy_column = Column("disk_busy_pct", "%", BUSY_PCT, "{who} was {value} busy", lambda row: None, _BUSY, _percent)
    yield from _largest(busy_column, figures)
    timed: Figures = [
        (name, words["avio"], words, row) for name, busy, words, row in figures if "avio" in words and busy >= 1
    ]
    if timed:
        took_column = Column(
            "disk_response_ms",
            "ms",
            SLOW_MS,
            "{who} took {value} for each request (avio)",
            lambda row: None,
            _SLOW,
            _always(0.6),
        )
        yield from _largest(took_column, timed)


_WAITS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s)")


def _zpool(words: Sequence[str], rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the slowest device of `zpool iostat -l`, which lists total and own times of reads and writes."""
    if words[:7] != _ZPOOL or len(words) < len(_ZPOOL) + 4:
        return
    for at, name, says, seen, share in _OF_ZPOOL:
        figures: Figures = []
        for row in rows:
            cells = [str(c or "").strip() for c in row["cells"]]
            found = _WAITS.fullmatch(cells[at]) if len(cells) == len(words) else None
            if found:
                figures.append((cells[0], float(found[1]) * _IN_MS[found[2]], {}, row))
        if figures:
            yield from _largest(Column(name, "ms", SLOW_MS, says, lambda row: None, seen, _always(share)), figures)


def _disk_stages(words: Sequence[str], rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield how long requests took by btt, and the longest stage: Q2C is the whole, D2C the device's part of it."""
    if list(words) != _BTT:
        return
    stages: dict[str, tuple[float, float, float, dict[str, Any]]] = {}
    for row in rows:
        cells = _cells(row)
        figures = [_figure(cell) for cell in cells[2:5]] if cells and len(cells) == len(words) else []
        if cells and len(figures) == 3 and None not in figures:
            average, most, n = (float(x or 0.0) for x in figures)
            stages.setdefault(cells[0], (average, most, n, row))
    if "Q2C" not in stages or "D2C" not in stages or not stages["Q2C"][0]:
        return
    (whole, most, n, all_row), (device, _, _, row) = stages["Q2C"], stages["D2C"]
    part = min(1.0, device / whole)
    before = "D2C, the device" if part >= HALF else "before it was sent to the device"
    held = part if part >= HALF else 1.0 - part
    slow = 1e3 * whole >= SLOW_MS
    yield Sighting(
        "stages",
        "D2C" if part >= HALF else "Q2D",
        f"A request to the disk took {figure(whole, 's')} on average (Q2C, at most {figure(most, 's')}, {n:,.0f} requests),"
        f" {figure(100 * held, '%')} of it {before}",
        "response_ms",
        1e3 * (device if part >= HALF else whole - device),
        "ms",
        tuple(
            Lines(r["artifact_id"], r["line_no"], r["line_no"], name) for r, name in ((row, "D2C"), (all_row, "Q2C"))
        ),
        **place(row),
        against="the whole time of a request",
        against_value=1e3 * whole,
        share=held if slow else None,
        n=int(n),
        seen=(_SLOW if part >= HALF else {"event": "requests-wait-before-device"},),
        normal=not slow,
    )


def _user_locks(words: Sequence[str], rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the lock of a program for which its threads waited longest, of plockstat."""
    if list(words) != _PLOCKSTAT:
        return
    held: dict[str, list[tuple[float, float, dict[str, Any]]]] = {}
    for row in rows:
        cells = _cells(row)
        if (
            cells is not None
            and len(cells) == len(words)
            and (n := _figure(cells[0]))
            and (ns := _figure(cells[1])) is not None
        ):
            held.setdefault(cells[2], []).append((n, n * ns / 1e9, row))
    waited = {lock: sum(s for _, s, _ in of) for lock, of in held.items()}
    whole = sum(waited.values())
    if not whole:
        return
    lock = max(waited, key=lambda name: waited[name])
    times, most = sum(n for n, _, _ in held[lock]), max(held[lock], key=lambda one: one[1])
    callers = sorted(held[lock], key=lambda one: -one[1])[:CALLERS_CITED]
    of = f"; {most[0]:,.0f} times for {(_cells(most[2]) or ['?'])[-1]}" if len(held[lock]) > 1 else ""
    long = waited[lock] >= LONG_LOCKS_S and waited[lock] >= LONG_LOCK_S * times
    yield Sighting(
        "lock",
        lock,
        f"Threads waited {times:,.0f} times for the lock {lock}, {figure(waited[lock], 's')} together, {figure(100 * waited[lock] / whole, '%')} of all{of}",
        "lock_waits_s",
        waited[lock],
        "",
        tuple(Lines(row["artifact_id"], row["line_no"], row["line_no"], lock) for _, _, row in callers),
        **place(most[2]),
        against="all waits for locks that are listed",
        against_value=whole,
        share=waited[lock] / whole,
        n=int(times),
        seen=({"event": "user-lock-waits-long" if long else "user-lock-waits"},),
        normal=waited[lock] < FELT_S,
    )


def _cells(row: dict[str, Any]) -> list[str] | None:
    """Return the words of a row, one per word of its heading; None if a cell has more or fewer words."""
    made: list[str] = []
    for name, cell in zip(row["heading"], row["cells"], strict=False):
        names, words = (name or "").replace("|", " ").split(), (cell or "").replace("|", " ").split()
        if len(names) == 1 and len(words) > 1 and ("|" in cell or name == "time"):
            words = [cell]
        if words and len(words) != len(names):
            return None
        made += words or [""] * len(names)
    return made


def _figure(cell: str) -> float | None:
    found = _NUMBER.fullmatch(cell)
    return float(found[1]) * _POWERS[found[2]] if found else None
