"""What running a command of `commands` costs a production host: slowdown, risk, time, output, privileges.

Every requested command has an entry here, and none runs forever (`tests/rules/collecting/test_collect_costs.py`). The
figures are upper bounds for a busy database host, in words that a person reads before running the command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

NONE, LOW, SOME, HIGH = "none", "low", "some", "high"
_RISKS = (NONE, LOW, SOME, HIGH)

USER, OWNER, ROOT, DBA, NOBODY = (
    "any user",
    "the owner of the process, or root",
    "root",
    "a database account that may read the v$ views",
    "nobody: nothing is run",
)
_PRIVILEGES = (NOBODY, USER, DBA, OWNER, ROOT)


@dataclass(frozen=True)
class Cost:
    """Cost of a command. `seconds` and `mib` are upper bounds; 0 seconds means a moment. `words` describe the effect on
    the host.
    """

    words: tuple[str, ...]
    risk: str
    seconds: int
    mib: int
    privilege: str

    @property
    def sentence(self) -> str:
        """Return the cost as sentences.

        >>> cost_of("vmstat 5 12").sentence
        'Reads counters of the kernel; not noticeable. Risk: low. Takes 60 s, writes at most 1 MiB. Needs any user.'
        """
        if self.privilege == NOBODY:
            return f"{' '.join(self.words)} Risk: {self.risk}."
        takes = "Takes a moment" if not self.seconds else f"Takes {_time(self.seconds)}"
        size = f", writes at most {self.mib} MiB" if self.mib else ""
        return f"{' '.join(self.words)} Risk: {self.risk}. {takes}{size}. Needs {self.privilege}."


@dataclass(frozen=True)
class _Kind:
    """A tool: its name in a command, what it costs, and whether it ends by itself without a limit in its text."""

    name: str
    words: str
    risk: str
    mib: int
    privilege: str
    ends: bool = True


_COUNTERS = "Reads counters of the kernel; not noticeable."
_STOPS = "Every system call of the traced process waits for the tracer: a busy process can run at half its speed or less while it is traced."
_SAMPLES = "Samples all processors about a hundred to a thousand times a second; a few percent of one processor."

_KINDS = (
    _Kind("^say|^anything that fills", "Nothing is run: somebody says it in the room.", NONE, 0, NOBODY),
    _Kind("truss|strace|tusc", _STOPS, SOME, 500, OWNER, ends=False),
    _Kind("Process Monitor", "Records each call of the process to files and registry; some percent of one processor.", LOW, 500, ROOT, ends=False),
    _Kind("fs_usage", "Prints each file system call of the process; some percent of one processor.", LOW, 50, ROOT, ends=False),
    _Kind("sample", "Stops the process a thousand times a second to read its stacks; some percent.", LOW, 10, OWNER, ends=False),
    _Kind("wpr", _SAMPLES, LOW, 500, ROOT),
    _Kind("a trace of the process's system calls", _STOPS, SOME, 500, OWNER, ends=False),
    _Kind("the address space of the process|the open files and sockets|procstat|vmmap", "Reads tables of the process; not noticeable.", LOW, 5, OWNER),
    _Kind("the functions in which|what each thread of|the locks of the kernel", _SAMPLES, LOW, 200, ROOT, ends=False),
    _Kind("the memory of|vm_stat|(?<!perf )top|typeperf|poolmon|Get-Process", _COUNTERS, LOW, 2, USER),
    _Kind("tcpdump|snoop", "Copies the head of each packet; a few percent of one processor.", LOW, 75, ROOT, ends=False),
    _Kind("a packet capture", "Copies the head of each packet; a few percent of one processor.", LOW, 75, ROOT, False),
    _Kind("pmap|procmap", "Stops the process while its map is read: below a second, some seconds for a large SGA.", LOW, 5, OWNER),
    _Kind("pfiles|procfiles", "Stops the process while its open files are read: below a second.", LOW, 2, OWNER),
    _Kind("lsof", "Walks the open files of the process; not noticeable.", LOW, 2, OWNER),
    _Kind("prstat", "Reads the accounting of each thread; below one percent of one processor.", LOW, 5, OWNER, ends=False),
    _Kind("lockstat", "Switches on probes in the kernel's locks; up to ten percent while it runs.", SOME, 10, ROOT),
    _Kind("dtrace", "Switches on probes; a few percent with these, and no more than the 10 s.", SOME, 20, ROOT, ends=False),
    _Kind("bpftrace", "Switches on probes; a few percent of the machine.", SOME, 20, ROOT, ends=False),
    _Kind("perf lock", "Switches on probes in the kernel's locks; up to ten percent while it runs.", SOME, 10, ROOT),
    _Kind("perf record|perf top", _SAMPLES, LOW, 200, ROOT, ends=False),
    _Kind("perf report", "Reads the file of samples; one processor for some seconds.", LOW, 10, USER),
    _Kind("tprof", _SAMPLES, LOW, 50, ROOT),
    _Kind("mdb", "Walks the kernel's pages: up to a minute of one processor on a large machine.", SOME, 1, ROOT),
    _Kind("svmon", "Walks the memory segments: some seconds of one processor.", LOW, 1, ROOT),
    _Kind("vmstat|mpstat|iostat|sar|intrstat|nstat|numastat", _COUNTERS, LOW, 1, USER, ends=False),
    _Kind("kstat", _COUNTERS, LOW, 1, USER),
    _Kind("netstat -an|ss", "Walks the list of sockets: a second of one processor for a hundred thousand.", LOW, 20, USER),
    _Kind("netstat|ip|lsps|swap|swapinfo|ipcs|numactl|lgrpinfo", _COUNTERS, LOW, 1, USER),
    _Kind("ps", "Walks the list of processes; its output has their command lines, which may name secrets.", LOW, 5, USER),
    _Kind("show parameter", "Reads the instance's parameters; not noticeable.", LOW, 1, DBA),
    _Kind(r"select\b", "Reads v$ views; a moment of one session.", LOW, 5, DBA),
    _Kind("echo [wl]", "The kernel writes a list of tasks or stacks into its log; a serial console may take seconds for it.", SOME, 1, ROOT),
    _Kind("journalctl|dmesg|errpt|tail|the log of the program", "Reads the end of a log; nothing is switched on.", NONE, 20, ROOT),
    _Kind("listener.log|the alert log|the log of PostgreSQL|the error log of MySQL", "Copies lines of a log; nothing is switched on.", NONE, 50, DBA),
    _Kind(r"trace_level_\w+", "The traced side writes a line for each packet: connects take longer, and the file grows with each.", SOME, 200, DBA, False),
    _Kind("an AWR or Statspack report|event 10046", "Reads snapshots that are there; event 10046 slows one session by some percent.", LOW, 20, DBA),
    _Kind("time 30 connects", "Opens thirty connections, one a second: as many logins more.", LOW, 1, USER, ends=False),
    _Kind("ls", "Reads the mode of one file.", NONE, 1, USER),
    _Kind("date of both hosts|the first line of the trace", "Reads a clock and a line.", NONE, 1, USER),
    _Kind("logs or traces of both hosts|the whole file", "Copies files that are there; nothing is switched on.", NONE, 500, USER),
    _Kind("uname|psrinfo|prtconf|lscpu|free|lparstat|date|sysctl|cat|grep|the system's settings", "Reads a setting or a table; not noticeable.", NONE, 1, USER),
)  # fmt: skip
_WHOLE = re.compile(
    r"-n '[^']*'|& sleep \d+; kill -INT \$!|\bfor n in .*; done|sqlnet\.ora; trace_level_LISTENER|; (?:both )?back to"
)
_HIGHER = {ROOT: re.compile(r"prtconf|lparstat -i"), OWNER: re.compile(r"prstat -mL")}
_COMPILED = tuple((re.compile(rf"(?<![\w/.-])(?:{kind.name})(?![\w-])"), kind) for kind in _KINDS)


class NoCost(ValueError):
    """Raised for a command whose cost is unknown, or that never ends."""


def cost_of(command: str) -> Cost:
    """Return the cost of a command of `commands`, or of several joined by semicolons.

    Raises `NoCost` for a command that is unknown here or that runs until somebody stops it. A command that a person
    typed may be either; then the page says that the cost is unknown.
    """
    found = [cost for part in parts(command) if (cost := _one(part)) is not None]
    if not found:
        raise NoCost(f"no cost is known of: {command}")
    words = tuple(dict.fromkeys(word for cost in found for word in cost.words if cost.privilege != NOBODY))
    return Cost(
        words=words or found[0].words,
        risk=max((cost.risk for cost in found), key=_RISKS.index),
        seconds=sum(cost.seconds for cost in found),
        mib=sum(cost.mib for cost in found),
        privilege=max((cost.privilege for cost in found), key=_PRIVILEGES.index),
    )


def words_of(command: str) -> str:
    """Return how long a command takes, in words; "a moment" if it sets no time, "not known" if nobody knows."""
    try:
        seconds = cost_of(command).seconds
    except NoCost:
        return "not known"
    return f"{seconds} s" if seconds else "a moment"


def seconds_of(command: str) -> int | None:
    """Return the limit that a command's own text sets on its time, in seconds; None if it sets none.

    >>> [seconds_of(c) for c in ("vmstat 5 12", "truss -p 1 & sleep 60; kill -INT $!", "netstat -s, twice, 60 s apart")]
    [60, 60, 60]
    >>> seconds_of("vmstat -s"), seconds_of("vmstat 5")
    (None, None)
    """
    if found := re.search(r"\btimeout (?:-s \w+ )?(\d+)\b", command):
        return int(found[1])
    if found := re.search(r"every (\d+) minutes for (\d+) hours", command):
        return int(found[2]) * 3600
    if found := re.search(r"(\d+) s apart", command):
        return int(found[1]) * max(_times(command) - 1, 1)
    if found := re.search(r"\bwithin (\d+) minutes", command):
        return int(found[1]) * 60
    if re.search(r"\btrace_level_\w+ = 16\b", command) and re.search(r"\bthen 0 again\b", command):
        return 60
    if found := re.search(r"\bfor n in ([\d ]+)[;,]", command):
        return len(found[1].split())
    if found := re.search(r"\b(?:for|at most) (\d+) s\b|\btick-(\d+)s \{ exit|\bsleep (\d+)\b", command):
        return int(next(group for group in found.groups() if group))
    if found := re.search(r"-w (\d+) -c (\d+)\b|-si (\d+) -sc (\d+)\b|-l (\d+) -s (\d+)\b|-c (\d+) (\d+)$", command):
        every, times = (int(group) for group in found.groups() if group)
        return every * times
    if found := re.search(r"\bsample PID (\d+)\b|fs_usage -w -t (\d+)\b", command):
        return int(next(group for group in found.groups() if group))
    if found := re.search(r"\btime (\d+) connects", command):
        return int(found[1]) * (2 if "before and" in command else 1)
    if found := re.search(r"(?<![\w.-])(\d{1,3}) (\d{1,4})\b", command):
        return int(found[1]) * int(found[2])
    return None


def _times(command: str) -> int:
    return 2 if "twice" in command else 1


def parts(command: str) -> Sequence[str]:
    """Split at semicolons that separate commands: a script, a loop, and a trace with its stop and reset stay whole.

    >>> parts("ss -lnt; truss -p 1 & sleep 60; kill -INT $!")
    ['ss -lnt', 'truss -p 1 & sleep 60; kill -INT $!']
    """
    whole = _WHOLE.sub(lambda found: found[0].replace(";", "\0"), command)
    return [part.strip().replace("\0", ";") for part in whole.split(";") if part.strip()]


def _one(part: str) -> Cost | None:
    matches = [kind for pattern, kind in _COMPILED if pattern.search(part)]
    if not matches:
        return None
    kind = matches[0]
    bound = seconds_of(part)
    if not kind.ends and bound is None and not re.search(r"(?:vmstat|mpstat|iostat|sar|nstat) -\w+(?:,|$)", part):
        raise NoCost(f"it runs until somebody stops it: {part}")
    cost = Cost((kind.words,), kind.risk, bound or 0, kind.mib * _times(part), kind.privilege)
    for privilege, pattern in _HIGHER.items():
        if pattern.search(part):
            cost = replace(cost, privilege=max(cost.privilege, privilege, key=_PRIVILEGES.index))
    return cost


def _time(seconds: int) -> str:
    if seconds <= 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
