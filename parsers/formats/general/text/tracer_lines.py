r"""Read what tracers of the kernel and run-times state in lines of their own, without a table around them.

Tools: ftrace (irqsoff, preemptoff, wakeup, hwlat, function_graph), cyclictest, the futex script of SystemTap, perf c2c, heap listings of Java
(jcmd GC.heap_info, jmap -heap, a crash report), lines of its collector that begin in the middle, spindump of macOS. Each figure
becomes a row as in `stated_lines`: what is counted, of whom, how much, of how much (None: unknown). `state` keeps what the lines above
named. Source: Linux Documentation/trace/ftrace.rst, hwlat_detector.rst; cyclictest(8); SystemTap Beginners Guide, 5.5.5; perf-c2c(1);
jmap(1), jcmd(1); spindump(8).
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

OFF, WOKEN, STOLEN, SLOW = (
    "time with interrupts or preemption off",
    "delay of a wake-up",
    "time that the hardware took",
    "function of the kernel",
)
PAUSED = "time paused for collections"
LOCK, LINE, HELD, PAUSE, STANDS = (
    "waits for a lock of a program",
    "cache line that processors fight for",
    "old generation of Java",
    "pause of a collector",
    "heaviest stack",
)

_TRACER = re.compile(r"# tracer: (?P<name>\w{2,30})[ \t]*")
_LATENCY = re.compile(r"# latency: (?P<us>[0-9]{1,12}) us, .{1,120}")
_TASK = re.compile(r"#[ \t]+\| task: (?P<who>\S{1,60}) \(.{0,120}\)[ \t]*")
_BEGAN = re.compile(r"#[ \t]+=> (?:started|ended) at:[ \t]+(?P<who>\S{1,120})[ \t]*")
_HWLAT = re.compile(r".{1,120}?inner/outer\(us\):[ \t]*(?P<inner>[0-9]{1,9})/(?P<outer>[0-9]{1,9})[ \t].*")
_GRAPH = re.compile(
    r"(?:[ \t]*[0-9.]{1,20} \|)?[ \t]*(?P<cpu>[0-9]{1,4})\)[ \t]+(?:\S{1,40}[ \t]+\|[ \t]*)?(?:[+!#*@$][ \t]+)?"
    r"(?:(?P<us>[0-9]{1,12}(?:\.[0-9]{1,6})?) us)?[ \t]*\|(?P<deep>[ \t]*)(?:(?P<fn>[A-Za-z_][\w.]{1,120})(?: \[\w{1,60}\])?\(\)(?P<end> \{|;)|\}.*)[ \t]*"
)
_CYCLIC = re.compile(
    r"T:[ \t]*(?P<who>[0-9]{1,4}) \([ \t]*[0-9]{1,9}\) P:[ \t]*[0-9]{1,3} I:[0-9]{1,12} C:[ \t]*[0-9]{1,12} Min:[ \t]*[0-9]{1,9}"
    r"(?: Act:[ \t]*[0-9]{1,9})? Avg:[ \t]*[0-9]{1,9} Max:[ \t]*(?P<us>[0-9]{1,12})[ \t]*"
)
_FUTEX = re.compile(
    r"(?P<who>[^\[\]]{1,60}\[[0-9]{1,9}\]) lock (?P<lock>0x[0-9a-f]{1,16}) contended (?P<n>[0-9]{1,12}) times, (?P<us>[0-9]{1,15}) avg us[ \t]*"
)
_SHARED = re.compile(r"[ \t]*Shared Data Cache Line Table.*")
_SHARED_ROW = re.compile(
    r"[ \t]*[0-9]{1,6}[ \t]+(?P<who>0x[0-9a-f]{4,16})[ \t]+\S{1,8}[ \t]+[0-9]{1,12}[ \t]+[0-9]{1,12}[ \t]+(?P<pct>[0-9]{1,3}\.[0-9]{1,2})%[ \t].*"
)
_HEAP = re.compile(
    r"[ \t]*(?P<who>ParOldGen|PSOldGen|concurrent mark-sweep generation|tenured generation|def new generation|garbage-first heap)[ \t]+"
    r"total (?P<total>[0-9]{1,15})K, used (?P<used>[0-9]{1,15})K\b.*"
)
_REGIONS = re.compile(
    r"[ \t]*region size (?P<region>[0-9]{1,9})K, (?P<young>[0-9]{1,9}) young \((?P<kb>[0-9]{1,15})K\), .*"
)
_GENERATION = re.compile(
    r"(?P<who>concurrent mark-sweep generation|PS Old Generation|G1 Old Generation|tenured generation|Old Generation):?[ \t]*"
)
_CAPACITY = re.compile(r"[ \t]+(?P<name>capacity|used|free)[ \t]+= (?P<bytes>[0-9]{1,18}) \([0-9.]{1,20}MB\)[ \t]*")
_USED = re.compile(r"[ \t]+[0-9.]{1,20}% used[ \t]*")
_CUT_PAUSE = re.compile(
    r"[ \t]*(?:\(concurrent mode failure\)|\(promotion failed\)|\[(?:CMS|Tenured|PSYoungGen|ParOldGen|ParNew|DefNew)"
    r"(?: \([^()]{1,40}\))?): [0-9]{1,15}K->[0-9]{1,15}K\([0-9]{1,15}K\).{0,300}"
    r"\[Times: user=[0-9.]{1,12} sys=[0-9.]{1,12}, real=(?P<s>[0-9.]{1,12}) secs\][ \t]*"
)
_STOPPED = re.compile(
    r"Total time for which application threads were stopped: (?P<s>[0-9]{1,6}\.[0-9]{1,9}) seconds(?:, Stopping threads took: [0-9.]{1,16} seconds)?[ \t]*"
)
_OF_J9 = re.compile(r"<exclusive-end .{0,200}\bdurationms=\"(?P<ms>[0-9]{1,9}(?:\.[0-9]{1,6})?)\".*")
_OF_PYTHON = re.compile(
    r"gc: done, [0-9]{1,12} unreachable, [0-9]{1,12} uncollectable, (?P<s>[0-9]{1,6}\.[0-9]{1,9})s elapsed\.?[ \t]*"
)
_PAUSED = re.compile(r"[ \t]*% Time paused for Garbage Collection:[ \t]*(?P<pct>[0-9]{1,3}(?:\.[0-9]{1,3})?)%?[ \t]*")
_HEAVIEST = re.compile(r"[ \t]*Heaviest stack for the .{1,80}:[ \t]*")
_FRAME = re.compile(
    r"[ \t*]*(?P<n>[0-9]{1,9})[ \t]+(?P<fn>\S.{0,200}?) \+ [0-9]{1,12}(?: \(.{1,120}\))?(?: \[0x[0-9a-f]+\])?[ \t]*"
)

_DEEPEST = 0.01
"""Minimum seconds of a function of the kernel that is kept: a tree of thousands of short calls says nothing by each of them."""


def stated(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the figures in a line; an empty list for a line of a report without figures, None for any other line.

    >>> state = {}
    >>> [stated(x, state) for x in ("# tracer: irqsoff", "# latency: 7100 us, #4/4, CPU#2 | (M:preempt VP:0)")]
    [[], [('time with interrupts or preemption off', 'irqsoff', 0.0071, None)]]
    >>> stated("T: 0 ( 2210) P:80 I:1000 C: 100000 Min:      3 Act:    5 Avg:    6 Max:   48000", {})
    [('delay of a wake-up', 'real-time thread 0', 0.048, None)]
    >>> stated("shopd[71] lock 0x00ab contended 90 times, 400000 avg us", {})
    [('waits for a lock of a program', 'shopd[71] 0x00ab', 36.0, 90.0)]
    >>> stated("ParOldGen       total 4000K, used 3990K [0x1, 0x2, 0x3)", {})
    [('old generation of Java', 'ParOldGen', 3990.0, 4000.0)]
    """
    if line.startswith("#"):
        return _of_comments(line, state)
    if "tracer" in state and (made := _of_ftrace(line, state)) is not None:
        return made
    if "hot line" in state and (found := _SHARED_ROW.fullmatch(line)):
        return [(LINE, found["who"], float(found["pct"]), None)]
    if "heaviest" in state:
        if found := _FRAME.fullmatch(line):
            state["heaviest"] += 1
            return [(STANDS, found["fn"], float(found["n"]), float(state["heaviest"]))]
        state.pop("heaviest")
    if line.startswith("T:") and (found := _CYCLIC.fullmatch(line)):
        return [(WOKEN, f"real-time thread {found['who']}", float(found["us"]) / 1e6, None)]
    if "contended" in line and (found := _FUTEX.fullmatch(line)):
        n = float(found["n"])
        return [(LOCK, f"{found['who'].strip()} {found['lock']}", n * float(found["us"]) / 1e6, n)]
    if "Shared Data Cache Line" in line and _SHARED.fullmatch(line):
        state["hot line"] = True
        return []
    if "Heaviest stack" in line and _HEAVIEST.fullmatch(line):
        state["heaviest"] = 0
        return []
    if ") " in line[:30] and "|" in line[:60] and line.lstrip(" \t")[:1].isdigit():
        return _of_graph(line, state)
    return _of_pauses(line) or _of_java(line, state)


def _of_pauses(line: str) -> list[Stated] | None:
    """Return the pause of a run-time that a line of its own tells; None for any other line."""
    if line.startswith("Total time for which") and (found := _STOPPED.fullmatch(line)):
        return [(PAUSE, "all threads", float(found["s"]), None)]
    if line.startswith("<exclusive-end") and (found := _OF_J9.fullmatch(line)):
        return [(PAUSE, "all threads", float(found["ms"]) / 1e3, None)]
    if line.startswith("gc: done") and (found := _OF_PYTHON.fullmatch(line)):
        return [(PAUSE, "Python", float(found["s"]), None)]
    if "Time paused for" in line and (found := _PAUSED.fullmatch(line)):
        return [(PAUSED, "the program", float(found["pct"]), None)]
    return None


def _of_comments(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return what a comment of ftrace states."""
    if found := _TRACER.fullmatch(line):
        state["tracer"] = found["name"]
        return []
    if found := _LATENCY.fullmatch(line):
        name = str(state.get("tracer", "latency tracer"))
        return [(WOKEN if name.startswith("wakeup") else OFF, name, float(found["us"]) / 1e6, None)]
    if _TASK.fullmatch(line) or _BEGAN.fullmatch(line):
        return []
    return [] if "tracer" in state else None


def _of_ftrace(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return what a line below the name of a tracer states."""
    if "inner/outer" in line and (found := _HWLAT.fullmatch(line)):
        return [(STOLEN, "hwlat", max(float(found["inner"]), float(found["outer"])) / 1e6, None)]
    return _of_graph(line, state)


def _of_graph(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the time of a function that calls nobody; an empty list for any other line of the trace."""
    found = _GRAPH.fullmatch(line)
    if found is None:
        return None
    seconds = float(found["us"] or 0.0) / 1e6
    if found["end"] == ";" and seconds >= _DEEPEST:
        return [(SLOW, found["fn"], seconds, None)]
    return []


def _of_java(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return how much of Java's old generation is used, or a pause whose line begins in the middle."""
    if "total" in line and (found := _HEAP.fullmatch(line)):
        state["java heap"] = (found["who"], float(found["used"]), float(found["total"]))
        if found["who"] in ("garbage-first heap", "def new generation"):
            return []
        return [(HELD, found["who"], float(found["used"]), float(found["total"]))]
    if "java heap" in state and "region size" in line and (found := _REGIONS.fullmatch(line)):
        who, used, total = state.pop("java heap")
        return [(HELD, who, max(0.0, used - float(found["kb"])), total)]
    if line[:1] in "cPGtO" and (found := _GENERATION.fullmatch(line)):
        state["generation"] = {"who": found["who"]}
        return []
    if (of := state.get("generation")) is not None:
        if found := _CAPACITY.fullmatch(line):
            of[found["name"]] = float(found["bytes"]) / 1024
            if found["name"] == "used" and "capacity" in of:
                return [(HELD, of["who"], of["used"], of["capacity"])]
            return []
        state.pop("generation")
        if _USED.fullmatch(line):
            return []
    if "[Times:" in line and (found := _CUT_PAUSE.fullmatch(line)) and found["s"].count(".") < 2:
        return [(PAUSE, "the collector", float(found["s"]), None)]
    return None
