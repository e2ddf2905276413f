r"""Files of Linux's /proc by name: stack, wchan, syscall, sched, status, interrupts, softirqs, locks, net/sockstat, net/softnet_stat.

Systems: Linux 2.6 to 6.x. Manual pages: proc_pid_stack(5), proc_pid_wchan(5), proc_pid_syscall(5), proc_pid_status(5), proc_interrupts(5),
proc_locks(5). Capture: `cat /proc/PID/stack > proc_PID_stack.txt`, `cat /proc/interrupts`, `head -50 /proc/[0-9]*/stack`. Limits, net/snmp,
net/netstat, net/dev, meminfo and maps are read by kinds of their own.

Samples::

    [<0>] jbd2_log_wait_commit+0xa5/0x110 [jbd2]
    State:	D (disk sleep)
    nr_switches                                  :                 1535
     24:    1234567          3   PCI-MSI 512000-edge      eth0-rx-0
    1: -> POSIX  ADVISORY  WRITE 4712 08:01:131075 0 EOF
    TCP: inuse 40 orphan 3 tw 1200 alloc 55 mem 1024

Tables: profile_stacks (stack, wchan: weight 1, kernel; module`function in frames), ps and counters (status), counters (grp
sched, interrupts, softirqs, locks, sockstat, softnet; item: the process, CPU, inode or protocol), params (scope proc: syscall,
with the registers as list). Clock: none.
Traps: a process is named by the file's name or the heading `==> FILE <==` above, not by a stack itself. wchan is `0` for a running process.
The number of a system call depends on the processor. Counts of interrupts are totals since boot; a process's are since it began.
Known gaps: net/tcp; the rest of a line of /proc/softnet_stat beyond its third column.
"""

from __future__ import annotations

import re
from typing import Any

from parsers.columns.small_texts import Rows, whole
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

STACK = r"^[ \t]*\[<[0-9a-f]{1,16}>\] [A-Za-z_][^ +]*(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[[\w-]+\])?$"
UNNAMED_STACK = r"^[ \t]*\[<(?:0+>\] [A-Za-z_]|f{16}>\] 0xf{16}$)"
"""Frames that no trace of the kernel's log has: without addresses, or the end of a stack of Linux before 4.15."""
STATUS = (
    r"^(?:Name|Umask|State|Tgid|Ngid|Pid|PPid|TracerPid|Uid|Gid|FDSize|Groups|Vm[A-Z][A-Za-z]{1,4}|Rss[A-Z][a-z]+|Threads"
    r"|Sig[QPBIC][a-z]{0,3}|ShdPnd|Cap[A-Z][a-z]{2}|Cpus_allowed(?:_list)?|Mems_allowed(?:_list)?"
    r"|(?:non)?voluntary_ctxt_switches|Seccomp(?:_filters)?|NoNewPrivs):\t"
    # Pastes turn the tab into blanks, up to the next eighth column.
    r"|^Name: {3}\S|^State: {2}[A-Z] \([a-z ]+\)$|^(?:Umask|Tgid|Ngid|Pid|PPid|TracerPid|FDSize|Threads|Vm[A-Z][A-Za-z]{1,4}|Rss[A-Z][a-z]+"
    r"|(?:non)?voluntary_ctxt_switches|NoNewPrivs): {1,7}[0-9]+(?: kB)?$"
)
SCHED_HEAD = r"^[^\t]{1,64} \([0-9]{1,10}, #threads: [0-9]{1,7}\)$"
SCHED = r"^(?:se\.|nr_|mm->|clock-|avg\.|wait_|sum_|numa_|dl\.|iowait_|block_|sleep_|exec_|slice_)[A-Za-z_.>-]* +: +-?[0-9]+(?:\.[0-9]+)?$"
CPUS = r"^ +CPU[0-9]+(?: +CPU[0-9]+)* *$"
COUNTS = r"^ *[A-Za-z0-9_-]{1,12}:(?: +[0-9]+)+(?: +[A-Za-z].*)?$"
LOCKS = (
    r"^[0-9]{1,9}: (?:-> *)*(?:POSIX|FLOCK|OFDLCK|LEASE|DELEG|ACCESS) +"
    r"(?:ADVISORY|MANDATORY|MSNFS|ACTIVE|BREAKING|BREAKER|\*NOINODE\*) +(?:READ|WRITE|RW|NONE|UNLCK)"
)
SOCKSTAT = r"^(?:sockets: used [0-9]+|(?:TCP|UDP|UDPLITE|RAW|FRAG)6?: (?:inuse|memory) [0-9]+(?: [a-z]+ [0-9]+)*|FRAG6?: inuse [0-9]+ memory [0-9]+)$"
SOFTNET = r"^[0-9a-f]{8}(?: [0-9a-f]{8}){8,14}$"
SYSCALL = r"^(?:-?[0-9]{1,4}(?: 0x[0-9a-f]{1,16}){8}|-1(?: 0x[0-9a-f]{1,16}){2})$"
WCHAN = r"^(?:0|[a-z_][A-Za-z0-9_.]{2,60})$"
HEADING = re.compile(r"==> (?P<path>\S+) <==")
PROCESS = re.compile(r"(?:^|[/_.-])proc[/_.-](?P<pid>[0-9]{1,10})(?:[/_.-]task[/_.-](?P<lwp>[0-9]{1,10}))?[/_.-]")
_FILE = r"(?:^|[/_.-]){}(?:\.[a-z]+)?$"

_SHAPES = {
    "stack": (STACK, "profile_stacks", "proc_pid_stack(5)", "cat /proc/PID/stack", 1),
    "wchan": (WCHAN, "profile_stacks", "proc_pid_wchan(5)", "cat /proc/PID/wchan", 0),
    "syscall": (SYSCALL, "params", "proc_pid_syscall(5)", "cat /proc/PID/syscall", 1),
    "sched": (rf"{SCHED_HEAD}|{SCHED}", "counters", "proc_pid_sched(5)", "cat /proc/PID/sched", 3),
    "status": (STATUS, "ps", "proc_pid_status(5)", "cat /proc/PID/status", 3),
    "interrupts": (CPUS, "counters", "proc_interrupts(5)", "cat /proc/interrupts", 1),
    "softirqs": (CPUS, "counters", "proc(5)", "cat /proc/softirqs", 1),
    "locks": (LOCKS, "counters", "proc_locks(5)", "cat /proc/locks", 1),
    "sockstat": (SOCKSTAT, "counters", "proc_pid_net(5)", "cat /proc/net/sockstat", 2),
    "softnet_stat": (SOFTNET, "counters", "proc_pid_net(5)", "cat /proc/net/softnet_stat", 1),
}
"""File name -> own lines, table, manual page, capture, minimum number of own lines (0: the name must match)."""

FORMATS = tuple(
    Format(
        kind="procfs",
        variant=name,
        version="2" if name == "stack" else "1",
        systems=("linux",),
        tables=(table, "counters") if name == "status" else (table,),
        man=man,
        example=example,
        own={"wchan": "", "stack": UNNAMED_STACK}.get(name, own),
    )
    for name, (own, table, man, example, _) in _SHAPES.items()
)
_PATTERNS = {name: re.compile(own) for name, (own, *_) in _SHAPES.items()}
_SOFTIRQS = re.compile(r"^ *(?:HI|TIMER|NET_TX|NET_RX|BLOCK|IRQ_POLL|TASKLET|SCHED|HRTIMER|RCU):")
_NUMBERS = re.compile(r"(?P<name>\w+) (?P<value>[0-9]+)")
_COUNTS = re.compile(r" *(?P<name>[A-Za-z0-9_-]{1,12}):(?P<values>(?: +[0-9]+)+)(?: +(?P<of>[A-Za-z].*))?")
_LOCK = re.compile(
    r"[0-9]+: (?P<waits>(?:-> *)*)(?P<kind>[A-Z]+) +\S+ +\S+ +(?P<pid>-?[0-9]+) (?P<inode>[0-9a-f]+:[0-9a-f]+:[0-9]+|<none>:0)?.*"
)
_FRAME = re.compile(r"[ \t]*\[<[0-9a-f]+>\] (?P<f>[^ ]+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[(?P<m>[\w-]+)\])?")


def claim(head: Head) -> Claim | None:
    """Claim by lines that only this file has, more strongly if it has the file's name; wchan by its name alone."""
    lines = [line for line in head.lines[:400] if line and not HEADING.fullmatch(line)]
    if not lines:
        return None
    best: Claim | None = None
    for name, (_, _, _, _, least) in _SHAPES.items():
        named = re.search(_FILE.format(name), head.name) is not None
        fits = sum(1 for line in lines if _PATTERNS[name].match(line))
        if name == "stack" and not named and not any(re.match(UNNAMED_STACK, line) for line in lines):
            continue
        rest = sum(1 for line in lines if re.match(COUNTS, line)) if name in ("interrupts", "softirqs") and fits else 0
        if rest and (name == "softirqs") != any(_SOFTIRQS.match(line) for line in lines):
            continue
        if (
            not fits
            or (least == 0 and not (named and len(lines) <= 3))
            or (fits < least and not named)
            or (least and name in ("interrupts", "softirqs") and not rest)
        ):
            continue
        share = (fits + rest) / len(lines)
        strength = round(min(0.98, 0.5 * share + (0.45 if least == 0 or named else 0.38)), 2)
        if share >= 0.5 and (best is None or strength > best.strength):
            best = Claim(
                strength, f"{fits + rest} lines of /proc/{'PID/' if 'pid_' in _SHAPES[name][2] else ''}{name}", name
            )
    return best


class _Reader:
    """Reads lines in order; `state` has the process and the CPUs of the heading above."""

    def __init__(self, name: str, state: State) -> None:
        self.name, self.state, self.rows = name, state, Rows()
        self.read: list[int] = []
        self.open: dict[str, Any] | None = None

    def close(self) -> None:
        """End the stack or status that is open."""
        if self.open is not None:
            table = "profile_stacks" if "frames" in self.open else "ps"
            if table == "profile_stacks":
                self.open["leaf"] = self.open["frames"][0].rpartition("`")[2]
            self.rows.add(table, self.open.pop("line_no"), **self.open)
        self.open = None

    def stack(self, no: int, line: str) -> bool:
        found = _FRAME.fullmatch(line)
        if found is None:
            return False
        if found["f"].startswith("0x"):  # the end of a stack
            self.close()
            return True
        if self.open is None:
            self.open = self._stack(no, complete=True)
        self.open["frames"].append(f"{found['m']}`{found['f']}" if found["m"] else found["f"])
        self.open["frame_lines"].append(no)
        self.open["line_end"] = no
        return True

    def _stack(self, no: int, *, complete: bool) -> dict[str, Any]:
        return {
            "line_no": no, "line_end": no, "weight": 1.0, "unit": "samples", "pid": self.state.get("pid"), "lwp": self.state.get("lwp"),
            "frames": [], "frame_lines": [], "kernel": True, "complete": complete,
        }  # fmt: skip

    def wchan(self, no: int, line: str) -> bool:
        if not _PATTERNS["wchan"].match(line):
            return False
        if line != "0":
            self.open = {**self._stack(no, complete=False), "frames": [line], "frame_lines": [no]}
            self.close()
        return True

    def syscall(self, no: int, line: str) -> bool:
        if not _PATTERNS["syscall"].match(line) and line != "running":
            return False
        call, *registers = line.split()
        entity = str(self.state["pid"]) if "pid" in self.state else None
        values = {
            "value": call,
            "num": None if call == "running" else float(call),
            "list": registers or None,
            "active": True,
        }
        self.rows.add("params", no, scope="proc", entity=entity, name="syscall", **values)
        return True

    def sched(self, no: int, line: str) -> bool:
        head = re.fullmatch(r"(.+) \(([0-9]+), #threads: [0-9]+\)", line)
        if head:
            self.state["item"] = f"{head[1]} ({head[2]})"
            return True
        found = re.fullmatch(r"(\S+) +: +(-?[0-9]+(?:\.[0-9]+)?)", line)
        if found is None or (found[1].startswith("nr_") and not found[2].isdecimal()):
            return set(line) == {"-"}
        self.rows.add(
            "counters", no, grp="sched", item=self.state.get("item"), name=found[1], value=float(found[2]), mode="total"
        )
        return True

    def status(self, no: int, line: str) -> bool:
        name, colon, text = line.partition(":")
        value = text.strip()
        if not colon or not _PATTERNS["status"].match(f"{name}:\t"):
            return False
        number = whole(value.removesuffix(" kB"))
        counted = name.startswith(("Vm", "Rss", "FDSize")) or name.endswith("_switches")
        column = {"Pid": "pid", "PPid": "ppid", "VmRSS": "rss_kb", "VmSize": "vsz_kb", "Threads": "nlwp"}.get(name)
        if (counted or column) and (number is None or number < 0):
            return False
        if name == "Name":
            self.close()
        if self.open is None:
            self.open = {"line_no": no, "pid": self.state.get("pid")}
        self.open["line_end"] = no
        if name == "Name":
            self.open["comm"] = self.state["item"] = value
        elif name == "State":
            self.open["state"] = value[:1]
        elif column and number is not None:
            self.open[column] = number
        elif counted and number is not None:
            unit, mode = ("kB" if value.endswith("kB") else None), ("total" if name.endswith("_switches") else "level")
            values = {"name": name, "value": float(number), "unit": unit, "mode": mode}
            self.rows.add("counters", no, grp="status", item=self.state.get("item"), **values)
        return True

    def interrupts(self, no: int, line: str) -> bool:
        if re.match(CPUS, line):
            self.state["cpus"] = line.split()
            self.state["sample"] = self.state.get("sample", 0) + 1
            return True
        found, cpus = _COUNTS.fullmatch(line), self.state.get("cpus")
        if found is None or cpus is None or len(found["values"].split()) > len(cpus):
            return False
        name = " ".join(x for x in (found["name"], found["of"] and found["of"].split()[-1]) if x)
        values = found["values"].split()
        for cpu, value in zip(cpus if len(values) > 1 else [cpus[0] if len(cpus) == 1 else None], values, strict=False):
            made = {"item": cpu, "name": name, "value": float(value), "mode": "total", "sample": self.state["sample"]}
            self.rows.add("counters", no, grp=self.name, **made)
        return True

    softirqs = interrupts

    def locks(self, no: int, line: str) -> bool:
        found = _LOCK.fullmatch(line)
        if found is None:
            return False
        name = f"{found['kind']} {'waiting' if found['waits'] else 'held'}"
        item = f"{found['inode'] or '?'} pid {found['pid']}"
        self.rows.add("counters", no, grp="locks", item=item, name=name, value=1.0, mode="level")
        return True

    def sockstat(self, no: int, line: str) -> bool:
        if not _PATTERNS["sockstat"].match(line):
            return False
        item, _, rest = line.partition(": ")
        for found in _NUMBERS.finditer(rest):
            made = {"name": found["name"], "value": float(found["value"]), "mode": "level"}
            self.rows.add("counters", no, grp="sockstat", item=item, **made)
        return True

    def softnet_stat(self, no: int, line: str) -> bool:
        if not _PATTERNS["softnet_stat"].match(line):
            return False
        cpu = self.state["cpu"] = self.state.get("cpu", -1) + 1
        for name, value in zip(("processed", "dropped", "time_squeeze"), line.split(), strict=False):
            made = {"item": f"CPU{cpu}", "name": name, "value": float(int(value, 16)), "mode": "total"}
            self.rows.add("counters", no, grp="softnet", **made)
        return True


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` has the process, the CPUs and the number of the sample."""
    if "variant" in state and "named" not in state:
        state["named"] = True
        _name(state, source.text.name)
        _name(state, (source.hints.command or "").rpartition(" ")[2])
    reader = _Reader(state["variant"], state)
    take = getattr(reader, state["variant"])
    for block in source.blocks():
        for no, line in zip(block.frame["line_no"].to_list(), block.frame["line"].to_list(), strict=True):
            heading = HEADING.fullmatch(line)
            if heading:
                reader.close()
                for key in ("pid", "lwp", "item", "cpu"):
                    state.pop(key, None)
                _name(state, heading["path"])
                reader.read.append(no)
            elif not line.strip():
                reader.close()
            elif take(no, line):
                reader.read.append(no)
    reader.close()
    out.read(reader.read)
    reader.rows.give(out, ends=("ps", "profile_stacks"))
    return reader.state


def _name(state: State, path: str) -> None:
    """Take the process from a path: /proc/4711/stack, proc_4711_stack.txt."""
    found = PROCESS.search(path)
    if found:
        state["pid"] = int(found["pid"])
        state |= {"lwp": int(found["lwp"])} if found["lwp"] else {}
