"""What tools state of the system in one line: full tables, refused buffers, drivers that hold a processor, slow file servers.

Standing out: a table that is full or has refused, buffers that were denied, late collisions or half duplex, an interrupt routine
that ran `ROUTINE_S` or longer, a file server that answered after `SLOW_MS`, a disk that counts errors, requests that found no resource of their
adapter, an interrupt that comes `STORM` times a second, the driver that a debugger names for a stop, memory that a program lost, the function that took most of
a large heap, a clock that is `OFF_S` off, packets lost on a link of a
path, processors whose speed the firmware limits, little free memory, a lock that threads wait for, a thread with a minute of processor
time, work that waits in a pool of threads. Normal: figures within those bounds; they are not shown.
A module of the kernel itself is no driver to blame: the debugger names it where it found nobody else.
Worked example: "0/700/9 requests for mbufs denied": 709 requests for network buffers were denied.
Cost: the first `MOST_ROWS` rows of each artifact. Source: nfsiostat(8); iostat(1M), -En, Solaris;
fcstat, AIX; netstat(1), vmstat(8), FreeBSD; sar(1M), lanadmin(1M), HP-UX; pmset(1); Microsoft
Learn: pathping, w32tm, Bug Check Code Reference, DPC guidelines (a routine should take 100 µs at most).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.frames import NAMED_FRAMES, bare, names_of
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen, recognise

OBSERVER = Observer(
    "system-reports",
    "What do tools state of the system?",
    ("rows",),
    {
        "windows": "Get-WinEvent -LogName System -MaxEvents 200; Get-Counter '\\Memory\\*','\\PhysicalDisk(*)\\*'",
        "macos": "sudo powermetrics -n 3; pmset -g therm; vm_stat 5",
        "*": "the same report once more, 60 s later",
    },
)

REPORT = "system report"
"""Heading under which the general reader keeps the figures."""

MOST_ROWS = 2_000
FULL = 0.95
"""Part of a table from which it is full: what is free at that moment is about to be used."""

ROUTINE_S = 0.001
"""Minimum time of an interrupt routine: ten times what Microsoft's guidelines allow a driver."""

OFF_S = 1.0
"""Minimum difference of two clocks: programs that compare stamps are wrong by then; Kerberos refuses at 300 s."""

KERBEROS_S = 300.0

SLOW_MS = 20.0
"""Minimum time of a request to a file server that is felt: as of a disk (`saturation`)."""

BUSY_PCT = 80.0
"""Minimum part of the time in % that a volume works before requests wait in its queue (`saturation`)."""

MANY = 1_000.0
"""Minimum number of requests that found no resource of an adapter since its counters began: single ones are nothing."""

STORM = 30_000.0
"""Minimum rate of one interrupt: cards bundle theirs below 20,000 a second and line; timers run at 1,000 to 4,000."""
_OWN = re.compile(
    r"(?i)nt(?:oskrnl|krnl\w*)?(?:\.(?:exe|sys|wrong\.symbols\.exe))?|hal\.dll|win32k\w*\.sys|(?:memory_corruption|unknown_image|unknown_module)\S*|.*\.(?:exe|dll)"
)
"""Modules that are no driver: the debugger names them where it found nobody else, or for a program that ended."""
_OF_PROCESSOR = re.compile(r"(?i)^(?:core|package|physical id|cpu|tdie|tctl|tccd|proc)")
_PROCESSORS = re.compile(r"(?i)(?:GenuineIntel|AuthenticAMD|hardware)\S*")


OUTRIGHT = 0.5
"""Share of what leaves no doubt that somebody waited or was refused; how long, no report says."""

LOST = 0.05
"""Minimum part of the packets that is surely felt: TCP halves its pace at each loss."""


WEAK_DBM = 82.0
"""Signal below -82 dBm: what the slowest rate of a channel of 20 MHz needs (IEEE 802.11-2016, table 19-22)."""

LEFT_OPEN = 1_000.0
"""Minimum number of connections that only the peer closed: nearly all of the usual 1,024 descriptors."""

LOST_MB = 100.0
"""Minimum size in MB of memory that a program lost: what is left over at its end is often less and no harm."""

HEAP_MB, HEAP_PCT = 500.0, 75.0
"""Minimum size of a heap, and part of it that one function took, from which that function is who fills the memory."""

OFF_LONG_S, WOKEN_S, STOLEN_S = 0.005, 0.001, 0.0005
"""Minimum time with interrupts off: a tick lasts 1 to 10 ms; delay of a real-time thread: kernels for it stay below 0.1 ms; time
that the firmware takes: the tracer's own bound is 10 us."""

KERNEL_ADDRESS = len("0xffff000000000000")
"""Length of an address of the kernel: those of programs begin with zeros, which are not printed."""

LOCKED_S, LOCKED_EACH_S = 10.0, 0.01
"""Minimum seconds that threads waited for one lock of a program, all together and each time."""

A_FEW = 0.01
"""Minimum part of calls or packets that is worth a word."""


@dataclass(frozen=True)
class Says:
    """The sentence for a figure of at least `least` (or at most `most`), and its share as evidence."""

    sentence: str
    least: float = 1.0
    most: float | None = None
    unit: str = "count"
    share: float = OUTRIGHT


SAYS = {
    "table is full": Says('The kernel reports: "{who}: table is full"'),
    "proc table overflows": Says("The table of processes overflowed {value} times"),
    "file table overflows": Says("The table of open files overflowed {value} times"),
    "mbufs denied": Says("{value} requests for network buffers (mbufs) were denied"),
    "Late Collisions": Says("{who} counts {value} late collisions", share=0.3),
    "late collisions at half duplex": Says("{who} works at half duplex and counts {value} late collisions"),
    "FCS Errors": Says("{who} counts {value} frames with a wrong checksum", share=0.3),
    "half duplex": Says("{who} works at half duplex", unit="", share=0.2),
    "DPC": Says("A deferred routine (DPC) of {who} ran for {value} without a break", ROUTINE_S, unit="s"),
    "ISR": Says("An interrupt routine (ISR) of {who} ran for {value} without a break", ROUTINE_S, unit="s"),
    "routines too long": Says("The tool concludes that routines of a driver ({who}) run for too long", unit=""),
    "DPCs of 4 ms or longer": Says("{value} deferred routines (DPC) ran for 4 ms or longer", share=0.3),
    "clock offset": Says("The clock is {value} apart from that of {who}", OFF_S, unit="s"),
    "clock not synchronised": Says("The clock is not synchronised with any other", share=0.2, unit=""),
    "domain controller": Says("The connection to the domain's controller has status {value}: {who}", unit=""),
    "CPU_Speed_Limit": Says("The processors may run at {value} of their speed", 0.0, 99.0, "%"),
    "CPU Plimit": Says("The firmware limits the processors (Plimit {value})", 1.0, unit=""),
    "nfs read": Says(
        "Reads of {who} were answered in {value} by the file server (avg RTT)", SLOW_MS, unit="ms", share=0.6
    ),
    "nfs write": Says(
        "Writes to {who} were answered in {value} by the file server (avg RTT)", SLOW_MS, unit="ms", share=0.6
    ),
    "volume read": Says("Reads of {who} took {value} on average (filemon)", SLOW_MS, unit="ms", share=0.6),
    "volume write": Says("Writes to {who} took {value} on average (filemon)", SLOW_MS, unit="ms", share=0.6),
    "volume busy": Says("{who} was busy {value} of the time (filemon)", BUSY_PCT, unit="%", share=0.8),
    "logical volume busy": Says("The logical volume {who} was busy {value} of the time (filemon)", BUSY_PCT, unit="%"),
    "hard errors": Says("The disk {who} counts {value} hard errors"),
    "media errors": Says("The disk {who} counts {value} media errors"),
    "failures predicted": Says("The disk {who} predicts its failure ({value} times)"),
    "transport errors": Says("The disk {who} counts {value} transport errors", 10.0, share=0.3),
    "No Command Resource Count": Says(
        "{value} requests found no free command of the adapter {who} (num_cmd_elems)", MANY
    ),
    "No DMA Resource Count": Says(
        "{value} requests found no memory for transfers of the adapter {who} (max_xfer_size)", MANY
    ),
    "No Adapter Elements Count": Says("{value} requests found no free element of the adapter {who}", MANY, share=0.3),
    "interrupts of one line": Says("{who} interrupts {value} times a second", STORM, share=0.6),
    "threads wait for a lock": Says("Threads waiting for {who}: {value}", 2.0, share=0.6),
    "processor time of a thread": Says(
        "{who} has used {value} of a processor since its start", 60.0, unit="s", share=0.4
    ),
    "work items of .NET's pool": Says("{value} pieces of work wait in the queue of {who}", 100.0, share=0.8),
    "memory free percentage": Says("{value} of the memory can still be given out", 0.0, 10.0, "%"),
    "board temperature critical": Says("The board reports a critical temperature: {who}", 0.0, unit=""),
    "board sensor critical": Says("The board reports a critical state: {who}", 0.0, unit=""),
    "memory errors corrected": Says("The memory {who} counts {value} corrected errors", share=0.2),
    "memory errors not corrected": Says("The memory {who} counts {value} errors that could not be corrected"),
    "machine check": Says("The processor reported: {who}", unit=""),
    "fault": Says("The fault manager names the fault {who}", unit=""),
    "thin pool refuses": Says("{who} takes no new blocks", unit=""),
    "write cache off": Says("The write cache of {who} is off", unit=""),
    "hits of the cache of ZFS": Says("{value} of the reads were answered by the cache of ZFS ({who})", 0.0, 70.0, "%"),
    "nfs operation": Says(
        "{who} was answered in {value} by the file server (rtt by ops)", SLOW_MS, unit="ms", share=0.6
    ),
    "btrfs write_io_errs": Says("The disk {who} counts {value} writes that failed"),
    "btrfs read_io_errs": Says("The disk {who} counts {value} reads that failed"),
    "btrfs flush_io_errs": Says("The disk {who} counts {value} flushes that failed"),
    "btrfs corruption_errs": Says("The disk {who} gave {value} blocks with a wrong checksum"),
    "clock that is allowed": Says("The policy lets {who} run at {value} of their highest clock", 0.0, 60.0, "%"),
    "memory lost": Says(
        "{who} lost {value} MB of memory: nothing points at it any more", LOST_MB, unit="MB", share=0.6
    ),
    "test of a disk": Says("Requests to {who} took {value} on average (ioping)", SLOW_MS, unit="ms", share=0.6),
    "buffered disk reads": Says("{who} gave {value} MB per second (hdparm -t)", 0.0, 20.0, "MB"),
    "hypervisor memory soft": Says(
        "The memory of the hypervisor is in the state {who}: it takes back what guests hold", unit=""
    ),
    "hypervisor memory hard": Says("The memory of the hypervisor is in the state {who}: it swaps guests out", unit=""),
    "hypervisor memory low": Says(
        "The memory of the hypervisor is in the state {who}: it swaps guests out and stops some", unit=""
    ),
    "hypervisor swaps in": Says(
        "The hypervisor reads {value} MB of guests back from its swap per second", 1.0, unit="MB"
    ),
    "hypervisor busy": Says("The processors of the hypervisor were {value} busy", 90.0, unit="%", share=0.9),
    "weak signal": Says("The signal of {who} is at -{value} dBm", WEAK_DBM, unit=""),
    "packets given up after many tries": Says("{who} gave up {value} packets after all its tries", 1_000.0, share=0.3),
    "last handshake of a tunnel": Says(
        "The last handshake with {who} was {value} ago, although packets are sent again and again", 600.0, unit="s"
    ),
    "processors of htop": Says("The {who} were {value} busy (htop)", 90.0, unit="%", share=0.9),
    "median time of a recursion": Says(
        "Half of what {who} asked other name servers took {value} or more", 1.0, unit="s"
    ),
    "queries that found the list of requests full": Says(
        "{value} queries found the list of requests of {who} full", 1_000.0, share=0.3
    ),
    "sessions that wait for a thread": Says("{value} sessions of {who} wait for a thread", 20.0),
    "sockets in CLOSE_WAIT": Says(
        "{value} sockets stand in {who}: closed by the peer and not by the program", LEFT_OPEN, share=0.6
    ),
    "sockets in SYN_RECV": Says(
        "{value} sockets stand in {who}: the last step of a connect is missing", 100.0, share=0.3
    ),
    "sockets in SYN_SENT": Says("{value} sockets stand in {who}: nobody has answered", 20.0, share=0.3),
    "sockets in TIME_WAIT": Says("{value} sockets stand in {who}: ended, and kept for a while", 1_000.0, share=0.1),
    "time with interrupts or preemption off": Says(
        "The tracer {who} found a time of {value} in which nothing else could run on a processor", OFF_LONG_S, unit="s"
    ),
    "delay of a wake-up": Says("A thread began to run {value} late at worst ({who})", WOKEN_S, unit="s"),
    "time that the hardware took": Says(
        "The hardware or firmware took the processor away for {value} at worst ({who})", STOLEN_S, unit="s"
    ),
    "function of the kernel": Says("The function {who} of the kernel took {value}, and calls nobody", 0.1, unit="s"),
    "pause of a collector": Says(
        "The collector of the run-time stopped the program for {value} in one pause", 1.0, unit="s"
    ),
    "time paused for collections": Says("{value} of the time the program stood still for collections", 20.0, unit="%"),
    "cache line that processors fight for": Says(
        "{value} of what processors took from another one's cache are of the line {who}", 30.0, unit="%"
    ),
}
"""By what is counted. Bounds: memory_pressure(1)."""

OMVS = "limit of z/OS UNIX"
"""Beginning of the names of z/OS UNIX's limits."""

FEW_PACKETS = 10.0
"""Minimum number of packets from which their loss is a rate (`path_loss`)."""

TABLES = ("proc table", "file table", "inod table", "mbuf clusters")

MANY_ERRORS = 1_000.0
"""Number of corrected errors of one piece of memory from which it is no single event: makers replace one at some per day."""

PARTS = {
    "temperature": (0.97, "{who} is {used} °C hot, its limit is {limit} °C"),
    "thin pool data": (0.98, "{who} has used {used} of its {limit} blocks of data"),
    "thin pool metadata": (0.98, "{who} has used {used} of its {limit} blocks of metadata"),
    "metadata of btrfs": (
        FULL,
        "The metadata of Btrfs fill {used} of {limit} bytes, and nothing is left to give them more",
    ),
    "swap device": (FULL, "The swap {who} is used up: {used} of {limit} bytes"),
    "physical memory of Windows": (0.98, "Of {limit} MB of memory, {used} are in use"),
    "virtual memory of Windows": (0.98, "Of {limit} MB of virtual memory (with the page file), {used} are promised"),
    "ipc limit MSG": (FULL, "Of {limit} allowed, {used} are in use: {who}"),
    "ipc limit SHM": (FULL, "Of {limit} allowed, {used} are in use: {who}"),
    "ipc limit SEM": (FULL, "Of {limit} allowed, {used} are in use: {who}"),
    "rpc calls sent again": (LOST, "Of {limit} calls to file servers, {used} were sent again (retrans)"),
    "rpc calls that timed out": (LOST, "Of {limit} calls to file servers, {used} timed out"),
    "connections that nginx closed at once": (
        LOST,
        "Of {limit} connections that nginx accepted, it closed {used} at once (accepts less handled)",
    ),
    "workers of Apache busy": (1.0, "Of {limit} workers of Apache, {used} are busy and none is idle"),
    "queue of uWSGI": (FULL, "In the queue of uWSGI, which takes {limit} connections, {used} wait"),
    "pings without an answer": (LOST, "Of {limit} pings to {who}, {used} were not answered"),
    "descriptors of Squid": (FULL, "Of {limit} descriptors that Squid may have, {used} are in use"),
    "sessions that Varnish dropped": (LOST, "Beside {limit} sessions that it took, Varnish dropped {used}"),
    "memory of htop": (0.98, "Of {limit} bytes of memory, programs hold {used}"),
    "swap of htop": (FULL, "Of {limit} bytes of swap, {used} are in use"),
    "limit of z/OS UNIX": (FULL, "{who} is at {used}, its limit is {limit}"),
    "old generation of Java": (0.98, "Of {limit} kB of Java's old generation ({who}), {used} are in use"),
}
"""What is compared with its own limit or whole: the part from which it stands out, and the sentence. Bounds: a processor slows down a few
degrees before its critical temperature; nfsstat(1M), more than 5 % of calls."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the figures that stand out, artifact by artifact."""
    ours = (pl.col("heading").list.first() == REPORT).fill_null(value=False)
    rows = case.scan("rows", [*PLACE_COLUMNS, "line_no", "heading", "cells"], ours)
    kept = rows.sort("artifact_id", "line_no").group_by("artifact_id", maintain_order=True).head(MOST_ROWS)
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in kept.collect(engine="streaming").iter_rows(named=True):
        found.setdefault((row["artifact_id"], row["cells"][0], row["cells"][1]), []).append(row)
    yield from _stacks([r for (_, counter, _), same in found.items() if counter == "heaviest stack" for r in same])
    for (_, counter, who), same in found.items():
        if (sighting := _sighting(counter, who, same)) is not None:
            yield sighting


def _sighting(counter: str, who: str, rows: list[dict[str, Any]]) -> Sighting | None:
    """Return the sighting for the worst row of one figure, None if it is within its bound."""
    if counter in TABLES:
        worst = max(rows, key=lambda r: _part(r))
        return _table(counter, who, worst)
    if counter == "workers of .NET's pool busy":
        worst = max(rows, key=_part)
        used, whole = (float(cell or 0) for cell in worst["cells"][2:4])
        words = f"All {whole:,.0f} workers of {who} are busy"
        full = whole > 1 and used >= whole
        return _made(worst, counter, who, words, used, "count", OUTRIGHT, {"counter": counter}, 1) if full else None
    if counter.startswith(OMVS):
        counter = OMVS
    if counter == "heap held":
        return _held(who, max(rows, key=lambda r: float(r["cells"][2])))
    if counter == "waits for a lock of a program":
        return _locked(rows)
    if counter == "heaviest stack":
        return None  # its frames are told together, see `_stacks`
    if counter in PARTS:
        return _against(counter, who, max(rows, key=_part))
    if counter == "lost on a link":
        return _link(who, max(rows, key=lambda r: _part(r)))
    says = SAYS.get(counter)
    sign = -1.0 if says is not None and says.most is not None else 1.0
    row = max(rows, key=lambda r: sign * abs(float(r["cells"][2])))
    value = abs(float(row["cells"][2]))
    if says is not None:
        if value < says.least or (says.most is not None and value > says.most):
            return None
        shown = f"{value:,.0f}" if says.unit in ("count", "", "MB") else figure(value, says.unit)
        headline, seen = says.sentence.format(who=who, value=shown), Seen(counter=_name(counter, who, value))
        if counter == "cache line that processors fight for" and len(who) == KERNEL_ADDRESS:
            seen = Seen(event="kernel-lock-waits-long")
        if counter == "function of the kernel" and any(s.mechanism for s in recognise(stack=who)):
            seen = Seen(stack=who)
        share = OUTRIGHT if seen.get("counter") == "memory errors corrected again and again" else says.share
        return _made(row, counter, who, headline, value, says.unit, share, seen, len(rows))
    if counter == "bugcheck image":
        return _image(row, who)
    if re.fullmatch(r"[A-Z][A-Z0-9_]+ \([0-9a-f]{1,8}\)", counter):
        return _made(
            row,
            counter,
            who,
            f"Windows stopped with {counter}",
            value,
            "",
            OUTRIGHT,
            {"log": f"Windows stopped: {counter}"},
            1,
        )
    return None


def _name(counter: str, who: str, value: float) -> str:
    """Return the name by which signatures know a figure."""
    if counter == "table is full":
        return f"{who}: table is full"
    if counter == "clock offset" and value >= KERBEROS_S:
        return "clock offset beyond Kerberos"
    if counter == "fault":
        return f"fault {who}"
    if counter == "memory errors corrected" and value >= MANY_ERRORS:
        return "memory errors corrected again and again"
    return f"domain controller {who}" if counter == "domain controller" else counter


def _part(row: dict[str, Any]) -> float:
    """Return the part of a limit that is used; 0 where there is no limit."""
    used, limit = row["cells"][2:4]
    return float(used) / float(limit) if limit and float(limit) > 0 else 0.0


def _table(counter: str, who: str, row: dict[str, Any]) -> Sighting | None:
    if _part(row) < FULL:
        return None
    used, limit = (float(cell) for cell in row["cells"][2:4])
    clusters = counter == "mbuf clusters"
    words = f"Of {limit:,.0f} {who if clusters else counter + ' entries'}, {used:,.0f} are in use"
    name = counter if clusters else f"{counter} full"
    return _made(row, counter, who, words, 100.0 * used / limit, "%", OUTRIGHT, {"counter": name}, 1)


def _against(counter: str, who: str, row: dict[str, Any]) -> Sighting | None:
    """Return what is at its limit, or a large part of its whole."""
    least, sentence = PARTS[counter]
    part = _part(row)
    if part < (A_FEW if least == LOST else least):
        return None
    used, limit = (float(cell) for cell in row["cells"][2:4])
    if counter == "pings without an answer" and limit < FEW_PACKETS:
        return None
    words = sentence.format(who=who, used=f"{used:,.0f}", limit=f"{limit:,.0f}")
    name = f"{counter} {who}" if counter == OMVS else counter
    if counter == "temperature" and not _OF_PROCESSOR.search(who):
        name = "temperature of a device"
    unit = "°C" if counter == "temperature" else "count"
    share = OUTRIGHT if part >= least else 0.3
    return _made(row, counter, who, words, used, unit, share, {"counter": name}, 1)


def _held(who: str, row: dict[str, Any]) -> Sighting | None:
    """Return the function that took most of a large heap."""
    part, heap = (float(cell or 0) for cell in row["cells"][2:4])
    if part < HEAP_PCT or heap < HEAP_MB:
        return None
    words = f"{who} took {figure(part, '%')} of the {heap:,.0f} MB of the heap"
    return _made(row, "heap held", who, words, part, "%", part / 100.0, {"counter": "heap held"}, 1)


def _locked(rows: list[dict[str, Any]]) -> Sighting | None:
    """Return the lock of a program that its threads waited for longest."""
    row = max(rows, key=lambda r: float(r["cells"][2]))
    who, (waited, n) = row["cells"][1], (float(cell or 1) for cell in row["cells"][2:4])
    if waited < LOCKED_S or waited < LOCKED_EACH_S * n:
        return None
    words = f"Threads waited {n:,.0f} times for a lock ({who}), {figure(waited, 's')} together"
    return _made(row, "lock", who, words, waited, "s", OUTRIGHT, {"event": "user-lock-waits-long"}, int(n))


def _stacks(rows: list[dict[str, Any]]) -> Iterable[Sighting]:
    """Yield where the heaviest stack of a report ends: its frames in order, the innermost last."""
    held: list[dict[str, Any]] = []
    for row in [*sorted(rows, key=lambda r: (r["artifact_id"], r["line_no"])), None]:
        if held and (row is None or float(row["cells"][3]) == 1.0):
            leaf, whole = held[-1], float(held[0]["cells"][2])
            frames = [bare(r["cells"][1]) for r in reversed(held)]
            share = float(leaf["cells"][2]) / max(whole, 1.0)
            words = f"{frames[0]} is where the heaviest stack ends, in {figure(100 * share, '%')} of its {whole:,.0f} samples"
            seen = tuple(s for frame in frames[:NAMED_FRAMES] for s in names_of(frame))
            yield replace(
                _made(leaf, "stack", frames[0], words, 100 * share, "%", share, {}, 1), kind="standing", seen=seen
            )
            held = []
        if row is not None:
            held.append(row)


def _link(who: str, row: dict[str, Any]) -> Sighting | None:
    lost, sent = float(row["cells"][2]), float(row["cells"][3] or 0)
    if not sent or lost / sent < 0.02:
        return None
    words = f"On the link behind {who}, {lost:,.0f} of {sent:,.0f} packets were lost ({figure(100 * lost / sent, '%')})"
    share = OUTRIGHT if lost / sent >= LOST else 0.3
    return _made(row, "lost on a link", who, words, 100 * lost / sent, "%", share, {"counter": "lost on a link"}, 1)


def _image(row: dict[str, Any], who: str) -> Sighting | None:
    if _PROCESSORS.fullmatch(who):
        named, words = "bugcheck by hardware", f"The debugger names no driver for the stop, but {who}"
    elif _OWN.fullmatch(who):
        return None
    else:
        named, words = "bugcheck driver", f"The debugger names the driver {who} for the stop"
    return _made(row, "bugcheck image", who, words, 1.0, "", 0.5, {"counter": named}, 1)


def _made(
    row: dict[str, Any], counter: str, who: str, words: str, value: float, unit: str, share: float, seen: Seen, n: int
) -> Sighting:
    return Sighting(
        "report",
        f"{counter}: {who}" if who else counter,
        words,
        counter,
        value,
        unit,
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], counter),),
        **place(row),
        share=share,
        n=n,
        seen=(seen,),
    )
