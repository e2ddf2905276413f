"""What is full: processors, memory, devices, pressure, and time that somebody else took (the queue for processors: `run_queue`).

Standing out: a measure beyond its bound in at least a quarter of the samples (rows since boot do not count). Normal: all
others; they are kept as measures, because a device that was idle contradicts who blames it.
Worked example: 12 samples of vmstat with `id` 2 to 6: cpu_busy_pct 96 in the median, 98 at most, in 12 of 12 samples.
Cost: one aggregation per measure over the samples. Source: Gregg, the USE method (utilisation, saturation, errors);
bounds are its practice: 80 % for what queues at random arrivals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST_LINES, Lines, Observer, Sighting, figure
from rules.observers.samples import KEYS, SERIES, Beside, Measure, sampled, sightings
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "saturation",
    "What is full?",
    ("vmstat", "mpstat", "iostat", "counters", "meminfo", "hosts"),
    {
        "linux": "ps -eo pid,stat,wchan:32,pcpu,rss,comm --sort=-pcpu | head -40; pidstat -urd 5 6",
        "solaris": "prstat -amc 5 6",
        "aix": "ps aux | head -40; svmon -G",
        "*": "ps -ef; top",
    },
    alone=True,
    wordless=True,
)

BUSY_PCT = 80.0
"""Bound of utilisation: above it, random arrivals wait as long as they are served, and longer."""

STOLEN_PCT = 5.0
"""Bound of stolen time: a guest that loses a twentieth of its processors feels it in every burst."""

WAITING_PCT = 20.0
"""Bound of time in which processors were idle while reads or writes were under way."""

INTERRUPT_PCT = 20.0
"""Bound of time in interrupts: of four processors it is nearly one that no program can have (Linux proc_stat(5): irq, softirq)."""

SYSTEM_PCT = 40.0
"""Bound of time in the kernel: programs do their work outside of it."""

MOSTLY_PCT, TWICE = 60.0, 2.0
"""Part of all processors that the kernel takes, and its ratio to what programs take, from which the kernel itself is at work."""

PRESSURE_PCT = 10.0
"""Bound of pressure: the part of the time in which somebody waited for the resource."""

STALLED_PCT = 50.0
"""Part of the time without any work for want of memory that is the whole of a share: a fifth of it already makes a host crawl."""

SLOW_MS = 20.0
"""Bound of a device's response: a random read of a single disk takes 5 to 10 ms, of flash below 1."""

RESTS_PCT, AT_REST = 50.0, 0.75
"""Busy percentage below which a device rests most of the time, and what its slow samples count then.

Whoever waited for it waited in that part of the time at most; a machine whose processors never rest is slower by those.
"""

SINCE_BOOT = 0.5
"""Factor for how slow a device was on average since the start of the host: that says little of the bad minute."""

SWAPPED_KBPS = 1000.0
"""Rate of swapping in kB per s that programs feel: a disk brings some 250 pages a second one by one."""

SWAP_USED_PCT = 50.0
"""Bound of used swap: half of it means that memory was short for long, and it may run out."""

MEMORY = (
    Beside("free_kb", "kB", "at least {value} were free", least=True),
    Beside("w", "", "up to {value} threads were swapped out", most=True),
    Beside("bi_kbps", "kB per s", "{value} were read from devices"),
    Beside("po_kbps", "kB per s", "up to {value} were written out", most=True),
    Beside("fr_kbps", "kB per s", "up to {value} were freed", most=True),
)
"""What tells whether memory is short at all, and for whom: a limit of a group makes its programs swap while much is free."""

VMSTAT = ["r", "b", "idle", "wa", "st", "sys", "cs", "sr", "so_kbps", "si_kbps", "usr", "nice", "load1"]
VMSTAT += ["irq", "soft", "api_kbps", "apo_kbps", "swap_used_kb", "swap_free_kb", *(b.column for b in MEMORY)]
MPSTAT = ["idle", "wa", "st", "sys", "usr", "nice", "irq", "soft"]
_INTERRUPTS = pl.sum_horizontal("irq", "soft")
"""Time in hard and soft interrupts, which mpstat and top of Linux and BSD do not count as time of the kernel."""

_IDLE = pl.col("idle").fill_null(100.0 - pl.col("usr") - pl.col("sys"))

_WANTED = pl.when(pl.col("idle").is_not_null()).then(100.0 - pl.col("idle") - pl.col("wa").fill_null(0.0))
"""Part of the time in % in which a guest wanted a processor, whether it got it or not."""

_OF_WORK = pl.when(_WANTED >= BUSY_PCT).then(_WANTED).otherwise(100.0)
"""What a part of the processors is a part of, in %: all that they do, where they are full; else all that they can do."""

_OPERATIONS = pl.col("r_ps") + pl.col("w_ps")
_OF_READS_AND_WRITES = pl.when(_OPERATIONS > 0).then(
    (pl.col("r_resp_ms") * pl.col("r_ps") + pl.col("w_resp_ms") * pl.col("w_ps")) / _OPERATIONS
)
"""Mean time of all reads and writes, as iostat printed it (await) before it told them apart."""

HOST = (
    Measure(
        "cpu_busy_pct",
        100.0 - _IDLE - pl.col("wa").fill_null(0.0) - pl.col("st").fill_null(0.0),
        "%",
        BUSY_PCT,
        "The processors were {value} busy ({worst} at worst, {n} of {of} samples over the bound)",
        "CPU",
        100.0,
        seen=({"counter": "cpu_busy_pct"},),
        beside=(
            Beside("usr", "%", "programs took {value}"),
            Beside("sys", "%", "the kernel {value}"),
            Beside("irq", "%", "hard interrupts {value}"),
            Beside("soft", "%", "soft interrupts {value}"),
        ),
    ),
    Measure(
        "cpu_user_pct",
        pl.col("usr") + pl.col("nice").fill_null(0.0),
        "%",
        BUSY_PCT,
        "Programs took {value} of the processors ({worst} at worst)",
        "usr",
        100.0,
        shown=False,
        told=True,
    ),
    Measure(
        "cpu_idle_pct", _IDLE, "%", 5.0, "The processors were {value} idle", "idle", low=True, shown=False, told=True
    ),
    Measure(
        "cpu_sys_pct",
        pl.col("sys") + _INTERRUPTS,
        "%",
        SYSTEM_PCT,
        "The kernel took {value} of the processors ({worst} at worst)",
        "sys",
        100.0,
        told=True,
        seen=({"counter": "cpu_sys_pct"},),
    ),
    Measure(
        "cpu_mostly_sys_pct",
        pl.when(pl.col("sys") + _INTERRUPTS >= TWICE * (pl.col("usr") + pl.col("nice").fill_null(0.0))).then(
            pl.col("sys") + _INTERRUPTS
        ),
        "%",
        MOSTLY_PCT,
        "The kernel took {value} of the processors ({worst} at worst), more than twice what programs took",
        "sys",
        100.0,
        told=True,
        seen=({"counter": "cpu_mostly_sys_pct"},),
    ),
    Measure(
        "cpu_interrupt_pct",
        pl.when(pl.any_horizontal(pl.col("irq", "soft").is_not_null())).then(_INTERRUPTS),
        "%",
        INTERRUPT_PCT,
        "Interrupts took {value} of the processors ({worst} at worst)",
        "interrupts",
        100.0,
        _OF_WORK,
        told=True,
        seen=({"counter": "cpu_interrupt_pct"},),
        beside=(
            Beside("irq", "%", "hard interrupts took {value}"),
            Beside("soft", "%", "soft interrupts took {value}"),
            Beside("idle", "%", "the processors were idle {value}"),
        ),
    ),
    Measure(
        "cpu_wait_io_pct",
        pl.col("wa"),
        "%",
        WAITING_PCT,
        "Processors were idle with reads or writes under way {value} of the time ({worst} at worst)",
        "wa",
        100.0,
        seen=({"counter": "cpu_wait_io_pct"},),
    ),
    Measure(
        "cpu_steal_pct",
        pl.col("st"),
        "%",
        STOLEN_PCT,
        "The hypervisor gave the processors to others {value} of the time ({worst} at worst)",
        "st",
        100.0,
        of=_WANTED,
        seen=({"counter": "cpu_steal_pct"},),
    ),
    Measure(
        "context_switches_ps",
        pl.col("cs"),
        "per s",
        100_000.0,
        "Threads were switched {value} ({worst} at worst)",
        "cs",
        seen=({"counter": "context_switches_ps"},),
    ),
    Measure(
        "scan_rate_ps",
        pl.col("sr"),
        "per s",
        200.0,
        "Pages were scanned for free memory, {value} ({worst} at worst)",
        "sr",
        seen=({"counter": "scan_rate_ps"},),
        felt=200.0,
        beside=MEMORY,
    ),
    Measure(
        "swap_out_kbps",
        pl.coalesce("so_kbps", "apo_kbps"),
        "kB per s",
        1.0,
        "{value} were written to swap ({worst} at worst), in {n} of {of} samples",
        "so",
        seen=({"counter": "swap_out_kbps"},),
        felt=SWAPPED_KBPS,
        beside=MEMORY,
    ),
    Measure(
        "swap_in_kbps",
        pl.coalesce("si_kbps", "api_kbps"),
        "kB per s",
        1.0,
        "{value} were read from swap ({worst} at worst), in {n} of {of} samples",
        "si",
        seen=({"counter": "swap_in_kbps"},),
        felt=SWAPPED_KBPS,
        beside=MEMORY,
    ),
)

HOST_ONLY = (
    Measure(
        "blocked_threads",
        pl.col("b"),
        "",
        2.0,
        "Up to {worst} threads were blocked, as a rule for reads and writes ({value} in the median)",
        "b",
        seen=({"counter": "blocked_threads"},),
    ),
    Measure(
        "load_average", pl.col("load1"), "", 8.0, "The load average was {value} ({worst} at worst)", "load average"
    ),
    Measure(
        "swap_used_pct",
        100.0 * pl.col("swap_used_kb") / (pl.col("swap_used_kb") + pl.col("swap_free_kb")),
        "%",
        SWAP_USED_PCT,
        "{value} of the swap was used ({worst} at worst)",
        "swap",
        100.0,
        seen=({"counter": "swap_used_pct"},),
    ),
)

DEVICE = (
    Measure(
        "disk_busy_pct",
        pl.col("busy_pct"),
        "%",
        BUSY_PCT,
        "{who} was {value} busy ({worst} at worst; {n} of {of} samples over it)",
        "busy",
        100.0,
        seen=({"counter": "disk_busy_pct"},),
    ),
    Measure(
        "disk_response_ms",
        pl.coalesce("resp_ms", "asvc_ms", _OF_READS_AND_WRITES, "r_resp_ms", "w_resp_ms"),
        "ms",
        SLOW_MS,
        "{who} answered in {value} ({worst} in the worst of {of} samples)",
        "response",
        seen=({"counter": "disk_response_ms"},),
        felt=SLOW_MS,
        weight=pl.when(pl.col("first").fill_null(False))
        .then(SINCE_BOOT)
        .when(pl.col("busy_pct") < RESTS_PCT)
        .then(AT_REST)
        .otherwise(1.0),
        least_beyond=2,
    ),
    Measure(
        "disk_queue",
        pl.coalesce("queue", "actv"),
        "",
        4.0,
        "{value} requests stood at {who} ({worst} in the worst of {of} samples)",
        "queue",
        seen=({"counter": "disk_queue"},),
    ),
)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield measures beyond their bound, and the normal measures."""
    found = [*_host(case), *_capped(case), *_devices(case), *_pressure(case), *_memory(case)]
    return sorted(found, key=lambda s: (s.normal, -(s.share or 0.0)))


def _host(case: CaseTables) -> Iterator[Sighting]:
    rows = sampled(case, "vmstat", VMSTAT)
    yield from sightings(rows, [*HOST, *HOST_ONLY])
    yield from sightings(_all_processors(case), [m for m in HOST if m.name in OF_PROCESSORS])


def _capped(case: CaseTables) -> Iterator[Sighting]:
    """Yield how much of its entitlement a capped partition of AIX uses; it may not use more."""
    capped = case.scan("hosts", ["artifact_id", "capped"]).filter(pl.col("capped")).select("artifact_id").unique()
    rows = sampled(case, "vmstat", ["ec"]).filter(pl.col("ec").is_not_null())
    yield from sightings(rows.join(capped, on="artifact_id", how="semi"), [ENTITLED])


ENTITLED = Measure(
    "capped_entitlement_pct",
    pl.col("ec"),
    "%",
    95.0,
    "The partition may not take more than its entitlement and takes {value} of it ({worst} at worst, {n} of {of} samples over the bound)",
    "entitlement",
    100.0,
    seen=({"counter": "capped_entitlement_pct"},),
)
"""Bound: IBM, AIX performance management, lparstat: %entc of a capped partition ends at 100."""

OF_PROCESSORS = (
    "cpu_busy_pct",
    "cpu_user_pct",
    "cpu_sys_pct",
    "cpu_interrupt_pct",
    "cpu_wait_io_pct",
    "cpu_steal_pct",
)


def _all_processors(case: CaseTables) -> pl.LazyFrame:
    """Return the mean over the processors per sample, of artifacts that list only single processors."""
    listed = case.scan("vmstat", ["artifact_id", "part", "idle"]).filter(pl.col("idle").is_not_null())
    rows = sampled(case, "mpstat", MPSTAT, ["sample"]).join(listed, on=["artifact_id", "part"], how="anti")
    return rows.group_by(*SERIES, "sample").agg(
        pl.col("clock").drop_nulls().first(),
        pl.col("line_no").min(), pl.col("line_end").max(), pl.col("t_local").min(), pl.col("first").first(), pl.col(MPSTAT).mean()
    )  # fmt: skip


def _devices(case: CaseTables) -> Iterator[Sighting]:
    columns = ["busy_pct", "resp_ms", "asvc_ms", "r_resp_ms", "w_resp_ms", "queue", "actv", "r_ps", "w_ps"]
    rows = sampled(case, "iostat", columns, ["device"])
    # A device that does next to nothing may answer as slowly as it likes.
    used = (pl.col("r_ps").fill_null(0) + pl.col("w_ps").fill_null(0) >= 1) | pl.col("r_ps").is_null()
    yield from sightings(rows.filter(used), DEVICE, ["device"])


def _pressure(case: CaseTables) -> Iterator[Sighting]:
    rows = _pressures(case, "some")
    found: list[Sighting] = []
    for resource in ("cpu", "memory", "io"):
        name, says = (
            f"{resource}_pressure_pct",
            f"Somebody waited for {resource} {{value}} of the time ({{worst}} at worst)",
        )
        found += sightings(_of_resource(rows, resource), [_pressure_measure(name, says)], ["item", "name"])
    yield from _with_quiet(found)
    stalled = _pressure_measure(
        "memory_stall_pct",
        "Everybody who had work waited for memory {value} of the time ({worst} at worst)",
        STALLED_PCT,
    )
    for one in sightings(_of_resource(_pressures(case, "full"), "memory"), [stalled], ["item", "name"]):
        if not one.normal:
            yield one
    for whose, who in (("some", "Somebody"), ("full", "Everybody who had work")):
        words = f"{who} waited {{value}} of the time ({{worst}} at worst) for memory, a disk or a processor: the lines do not say for which"
        yield from sightings(
            _of_no_resource(_pressures(case, whose)),
            [_pressure_measure(f"{whose}_pressure_pct", words)],
            ["item", "name"],
        )


def _of_resource(rows: pl.LazyFrame, resource: str) -> pl.LazyFrame:
    return rows.filter(_whose().str.contains(rf"\b{resource}\b"))


def _of_no_resource(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the lines of a file of pressure that was pasted without its name."""
    return rows.filter(~_whose().str.contains(r"\b(?:cpu|memory|io|irq)\b"))


def _whose() -> pl.Expr:
    return pl.concat_str("grp", "item", "name", separator=" ", ignore_nulls=True).str.to_lowercase()


def _pressure_measure(name: str, says: str, whole: float = 100.0) -> Measure:
    return Measure(
        name,
        pl.col("value"),
        "%",
        PRESSURE_PCT,
        says,
        "pressure",
        whole,
        seen=({"counter": name},),
        beside=(
            Beside("avg60", "%", "its mean of a minute was {value}"),
            Beside("avg300", "%", "that of five minutes {value}"),
        ),
    )


def _pressures(case: CaseTables, whose: str) -> pl.LazyFrame:
    """Return the samples of pressure of one kind (`whose`: "some" or "full").

    A line has the means of 10 s, one minute and five minutes: the first is the measure, the others show its course.
    """
    span = pl.col("name").str.to_lowercase().str.extract(rf"{whose}.*(avg(?:10|60|300))$")
    return (
        sampled(case, "counters", ["value"], ["grp", "item", "name"])
        .with_columns(span.alias("span"), pl.col("name").str.replace(r"\d+$", "10"))
        .filter(pl.col("span").is_not_null())
        .group_by(*KEYS, "line_no", "grp", "item", "name")
        .agg(
            pl.col("line_end", "t_local", "first").first(),
            *(
                pl.col("value").filter(pl.col("span") == one).first().alias(name)
                for one, name in (("avg10", "value"), ("avg60", "avg60"), ("avg300", "avg300"))
            ),
        )
    )


def _with_quiet(found: Sequence[Sighting]) -> Iterator[Sighting]:
    """Yield the measures of pressure; the largest of each artifact also names the resources without any pressure."""
    quiet: dict[int, list[Sighting]] = {}
    for one in found:
        if one.value == 0 and one.beside is None:
            quiet.setdefault(one.lines[0].artifact, []).append(one)
    told: set[int] = set()
    for one in sorted(found, key=lambda s: -s.value):
        artifact = one.lines[0].artifact
        others = quiet.get(artifact, []) if one.value > 0 and artifact not in told else []
        told.add(artifact)
        words = " or ".join(dict.fromkeys(o.name.removesuffix("_pressure_pct") for o in others))
        beside = "; ".join(filter(None, (one.beside, f"nobody waited for {words}" if words else None)))
        lines = (*one.lines, *(replace(o.lines[0], role="no pressure") for o in others))[:MOST_LINES]
        yield replace(one, beside=beside or None, lines=lines)


FREE = ("MemAvailable", "MemFree")

PAGING_SPACE = Measure(
    "paging_space_pct",
    pl.col("value"),
    "%",
    90.0,
    "Of the paging space {who}, {value} are used ({worst} at worst)",
    "paging space",
    100.0,
    seen=({"counter": "paging_space_pct"},),
)
"""AIX warns programs where `npswarn` pages are left and ends them at `npskill`: by default a 32nd and a 128th of all (vmo)."""

AVAILABLE = Measure(
    "free_memory_pct",
    100.0 * pl.col("value") / pl.col("total"),
    "%",
    5.0,
    "{value} of the memory was free or could be freed (least: {worst})",
    "memory",
    low=True,
    seen=({"counter": "free_memory_pct"},),
    beside=(Beside("kb", "kB", "there were at least {value} of it", least=True),),
)

ONLY_FREE = replace(
    AVAILABLE,
    says="{value} of the memory was free, not counting what the file cache would give back (least: {worst})",
    shown=False,
)
"""Of a kernel or tool that does not print what is available: little is free on any host that reads files."""


USED_UP_PCT, SWAP_FULL_PCT = 2.0, 90.0
"""Available part of the memory up to which, and used part of the swap from which, nothing is left to give out: the kernel keeps about
1 % for itself (min_free_kbytes), and what it reads of programs it must read again."""

SHORT_PCT = 10.0
"""Available part of the memory up to which a used swap tells of a shortage that is still there."""

SWAP_USED = Measure(
    "swap_used_pct",
    pl.col("value"),
    "%",
    SWAP_USED_PCT,
    "{value} of the swap was used ({worst} at worst)",
    "swap",
    100.0,
    seen=({"counter": "swap_used_pct"},),
)
"""Of lists of memory; those of processes have it as a sample."""

VIRTUAL_SWAP = Measure(
    "virtual_swap_used_pct",
    100.0 * pl.col("value") / (pl.col("value") + pl.col("left")),
    "%",
    90.0,
    "{value} of the virtual swap, which is memory and disk together, was used or reserved ({worst} at worst)",
    "swap used",
    100.0,
    beside=(
        Beside("value", "kB", "{value} were used", most=True),
        Beside("reserved", "kB", "{value} of these were only reserved", most=True),
        Beside("left", "kB", "at least {value} were available", least=True),
    ),
)
"""Bound: where the rest is gone, fork and malloc fail. The half of it is used on any host with large programs."""


VIRTUAL_SWAP_FULL = 98.0
"""Used part from which the virtual swap counts as full: the rest is less than a large program needs to start another one
(HP-UX swapinfo(1M), Solaris swap(1M))."""

RESERVED = ("swap reserved", "pseudo swap used")
"""What fills the virtual swap although its devices may be empty."""


def _virtual_swap(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the used swap space of `swap -s` (Solaris) and `swapinfo` (HP-UX), with what is available and reserved."""
    keys = ["artifact_id", "part", "sample"]
    left = rows.filter(pl.col("name") == "swap available").select(*keys, "line_no", pl.col("value").alias("left"))
    reserved = rows.filter(pl.col("name") == "swap reserved").select(*keys, pl.col("value").alias("reserved"))
    used = rows.filter(pl.col("name") == "swap used").join(left, on=[*keys, "line_no"], nulls_equal=True)
    used = used.join(reserved.unique(keys, keep="first"), on=keys, how="left", nulls_equal=True)
    return used.filter(pl.col("value") + pl.col("left") > 0).with_columns(pl.lit(False).alias("first"))


def _memory(case: CaseTables) -> Iterator[Sighting]:
    """Yield the free part of memory; the available part (without writing anything out) if that is printed."""
    rows = case.scan(
        "meminfo",
        [*PLACE_COLUMNS, "part", "sample", "line_no", "line_end", "t_local", "name", "value", "unit"],
    ).with_columns(pl.when(pl.col("unit") == "kb").then("value").alias("kb"))  # free does not print its unit
    keys = ["artifact_id", "host", "phase", "clock", "part", "sample"]
    whole = rows.filter(pl.col("name") == "MemTotal").select(*keys, pl.col("value").alias("total"))
    free = rows.filter(pl.col("name").is_in(FREE)).with_columns(
        pl.col("name").replace_strict({n: i for i, n in enumerate(FREE)}, default=9).alias("order")
    )
    first = free.sort("order").group_by(keys).first()
    joined = (
        first.join(whole, on=keys, how="inner", nulls_equal=True)
        .filter(pl.col("total") > 0)
        .with_columns(pl.lit(False).alias("first"))
    )
    reserved = rows.filter(pl.col("name").is_in(RESERVED)).sort("line_no").collect(engine="streaming")
    for one in sightings(_virtual_swap(rows), [VIRTUAL_SWAP]):
        at = reserved.filter(pl.col("artifact_id") == one.lines[0].artifact).head(len(RESERVED))
        more = [Lines(a, line, line, name) for a, line, name in at.select("artifact_id", "line_no", "name").iter_rows()]
        more = [line for line in more if line.line_from != one.lines[0].line_from]
        full: tuple[Seen, ...] = ({"counter": "virtual_swap_full_pct"},) if one.value >= VIRTUAL_SWAP_FULL else ()
        yield replace(one, lines=(*one.lines, *more), seen=full)
    yield from sightings(_paging_spaces(rows), [PAGING_SPACE], ["space"])
    swap = _swap(rows)
    left = joined.filter(pl.col("name") == FREE[0]).group_by("artifact_id")
    part = left.agg((100.0 * pl.col("value") / pl.col("total")).median().alias("left")).collect(engine="streaming")
    short = set(part.filter(pl.col("left") <= SHORT_PCT)["artifact_id"])
    for one in sightings(swap, [SWAP_USED]):
        # With memory to give out, what lies in swap is what nobody has wanted for long.
        yield one if one.lines[0].artifact in short else replace(one, seen=())
    used = swap.group_by("artifact_id").agg(pl.col("value").median(), pl.col("total").min(), pl.col("line_no").last())
    by_artifact = {row["artifact_id"]: row for row in used.collect(engine="streaming").iter_rows(named=True)}
    for one in sightings(joined.filter(pl.col("name") == FREE[0]), [AVAILABLE]):
        yield _used_up(one, by_artifact.get(one.lines[0].artifact))
    yield from sightings(joined.filter(pl.col("name") != FREE[0]), [ONLY_FREE])


def _swap(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the used part of the swap in %, 100 with `total` 0 where a host has none, from lists of memory."""
    keys = ["artifact_id", "host", "phase", "clock", "part", "sample"]
    whole = rows.filter(pl.col("name") == "SwapTotal").select(*keys, pl.col("value").alias("total"))
    free = rows.filter(pl.col("name") == "SwapFree").join(whole, on=keys, how="inner", nulls_equal=True)
    used = pl.when(pl.col("total") > 0).then(100.0 - 100.0 * pl.col("value") / pl.col("total"))
    return free.with_columns(used.alias("value"), pl.lit(False).alias("first"))


def _used_up(one: Sighting, swap: Mapping[str, Any] | None) -> Sighting:
    """Say of a host with next to no memory left that nothing is left beside it either: its swap is full, or it has none."""
    if one.normal or one.value > USED_UP_PCT or swap is None:
        return one
    if not swap["total"]:
        more, name = "and there is no swap", "memory_used_up_pct"
    elif swap["value"] >= SWAP_FULL_PCT:
        more, name = f"and {figure(swap['value'], '%')} of the swap was used", "memory_and_swap_used_up_pct"
    else:
        return one
    line = Lines(one.lines[0].artifact, swap["line_no"], swap["line_no"], "swap")
    lines = one.lines if any(c.line_from == line.line_from for c in one.lines) else (*one.lines, line)
    seen: tuple[Seen, ...] = ({"counter": name}, *one.seen)
    return replace(one, headline=f"{one.headline} {more}", lines=lines, share=1.0 - one.value / 100.0, seen=seen)


def _paging_spaces(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the used part of each paging space in % (lsps -a), or of all together (lsps -s, svmon -G)."""
    name = pl.col("name")
    named = pl.coalesce(
        name.str.extract(r"^paging space (\S+) used$"), pl.when(name == "paging space used").then(pl.lit(ALL_SPACES))
    )
    whole = ["artifact_id", "sample"]
    sizes = rows.filter(name == "pg space size").select(*whole, pl.col("value").alias("size"))
    in_use = rows.filter(name == "pg space inuse").join(sizes, on=whole, how="inner", nulls_equal=True)
    part = in_use.filter(pl.col("size") > 0).with_columns(
        (100.0 * pl.col("value") / pl.col("size")).alias("value"), pl.lit(ALL_SPACES).alias("space")
    )
    listed = rows.with_columns(named.alias("space")).filter(pl.col("space").is_not_null())
    return pl.concat([listed, part.drop("size")], how="diagonal").with_columns(pl.lit(False).alias("first"))


ALL_SPACES = "in all"
"""What stands for the name of a paging space where a tool adds them up."""
