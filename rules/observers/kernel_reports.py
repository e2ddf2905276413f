"""Tasks and processors that the kernel of Linux reports as hung or stuck: who, in which function, on what machine.

`standing-still` yields these sightings. Below the first line of a report stand the task and the release of the kernel,
the machine (`Hardware name`, which names the hypervisor or emulator of a guest), the work of a kernel's worker, for a
stall of RCU the ticks that each processor got in its period, then the place of the processor (`RIP`, `pc`, `epc`, `NIP`)
and the call trace. Functions between `<IRQ>` and `</IRQ>` belong to the interrupt that reports.
Worked example: `rcu_sched self-detected stall`, `1-....: (2098 ticks this GP)`, `(t=2100 jiffies ... ncpus=8)`: CPU 1 had
2,098 ticks in a period of 2,100 jiffies, so it ran; `3 ticks` would say that it did not run, or kept interrupts off.
Cost: one pass for the first lines, and `TRACE_ROWS` lines for each of at most that many reports.
Source: Linux kernel/hung_task.c, kernel/watchdog.c, kernel/rcu/tree_stall.h, lib/dump_stack.c (dump_stack_print_info);
Documentation/RCU/stallwarn.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.frames import NAMED_FRAMES, ON_THE_WAY, SUFFIX, callers_first, names_of
from rules.observers.log_times import KERNEL_REPORT, quoted
from rules.observers.observer import MOST_LINES, Lines, Sighting, figure, place
from rules.observers.thread_stacks import SWITCH
from rules.signatures.signatures import Seen, recognise

ROWS = 20_000
"""Maximum number of first lines of reports of one artifact that are looked at."""

TRACE_ROWS = 60
"""Maximum number of log lines after a kernel's report in which its call trace is looked for."""

HEADER = 6
"""Maximum number of lines between the report of a blocked task and the line with its state."""

REPORTED = 0.5
"""Share of a report that tells no duration: a stall is reported after 10 s or more."""

REPORT = re.compile(
    r"task (?P<task>.+?):(?P<pid>\d+) (?:is )?blocked (?:on .+? )?for more than (?P<s>\d+) seconds"
    r"|soft lockup - (?P<cpu>CPU ?#?\d+) stuck for (?P<s2>\d+) ?s!?(?: \[(?P<task2>.+?):(?P<pid2>\d+)\])?"
    r"|task:(?P<dumped>\S+)\s+state:(?P<state>[DR])\b"
    r"|(?<!\S)(?P<dumped2>\S{1,15})\s+(?P<state2>[DR])\s+(?:[0-9a-f]{8,16}\s+|running task\s+)?\d+\s+\d+\s+\d+\s+0x[0-9a-f]{8}\b"
    r"|(?P<hard>hard LOCKUP on cpu \d+)|(?P<rcu>rcu\w*:? .*?(?:self-)?detected (?:expedited )?stalls?)",
    re.I,
)
"""What the kernel of Linux reports of a task or processor that stands still, or of tasks when it was asked to."""

FRAME = re.compile(r"(?:^|[\s(]|RIP: 0010:)(?:\? )?([A-Za-z_.][\w.$]*)\+0x[0-9a-f]+/0x[0-9a-f]+")
"""A function in a call trace of a log; 32-bit ARM names each as the caller of the one before: `(schedule) from (io_wait+0x1/0x2)`."""

INTERRUPTED = re.compile(
    r"--- ?(?:interrupt|Exception): \w+ at (?P<at>[A-Za-z_.][\w.$]*)\+0x"
    r"|[\s(](?:__irq_svc|__irq_usr|el1_irq|el1h_64_irq(?:_handler)?|ext_int_handler|io_int_handler|(?:asm_)?sysvec_\w+"
    r"|(?:smp_)?apic_timer_interrupt|asm_common_interrupt|handle_int)\+0x"
)
"""Where an interrupt began, for which not all processors have a mark: what stands above it is of the interrupt that reports."""

REPORTING = frozenset(
    """
    sched_show_task show_stack show_regs dump_stack dump_stack_lvl __dump_stack dump_backtrace unwind_backtrace
    nmi_cpu_backtrace nmi_trigger_cpumask_backtrace arch_trigger_cpumask_backtrace rcu_dump_cpu_stacks print_cpu_stall
    check_cpu_stall rcu_check_callbacks rcu_sched_clock_irq rcu_pending watchdog_timer_fn update_process_times
    tick_sched_handle tick_sched_timer tick_nohz_handler tick_periodic tick_handle_periodic __run_hrtimer
    __hrtimer_run_queues hrtimer_run_queues hrtimer_interrupt __timer_interrupt timer_interrupt
    local_apic_timer_interrupt smp_apic_timer_interrupt __sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt
    asm_sysvec_apic_timer_interrupt apic_timer_interrupt arch_timer_handler_phys arch_timer_handler_virt
    handle_percpu_devid_irq generic_handle_irq generic_handle_domain_irq __handle_domain_irq handle_domain_irq
    gic_handle_irq restore_check_irq_replay
    """.split()
)
"""Functions of the clock's interrupt in which a stall or lockup is found and printed (kernel/rcu/tree_stall.h, kernel/watchdog.c)."""

IN_MODULE = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+ \[(\w+)")
"""The module behind a function of a call trace."""

PROCESSOR_AT = re.compile(r"\b(?:RIP: 0010:|EIP:|(?:e?pc|PC) (?:is at|:) |NIP \[)")
"""The line that says which function a processor was in."""

TASK = re.compile(
    r"\bCPU: (?P<cpu>\d+) (?:UID: \d+ )?PID: (?P<pid>\d+) Comm: (?P<comm>.+?) (?:Kdump: loaded )?"
    r"(?:Not tainted|Tainted: [^\d]{1,80}?) (?P<release>\d\S*)"
)
KERNEL = re.compile(r"^(?:\[[ \d.]+\] )?\s*(?:Not tainted|Tainted: [A-Z ]+?) (?P<release>\d+\.\d\S*)")
"""The line of the kernel's release in the report of a blocked task, which names no processor."""

CALLERS = 2
"""Number of callers above such functions that a sentence names."""

HARDWARE = re.compile(r"\bHardware name: (?P<name>\S.*)")
WORK = re.compile(r"\bWorkqueue: (?P<queue>\S+) (?P<work>\S+)")
TICKS = re.compile(r"(?:^|\s)(?P<cpu>\d+)-\S{1,6}:? \((?:(?P<ticks>\d+) ticks this GP|\d+ GPs behind)\)")
PERIOD = re.compile(r"\((?:detected by \d+, )?t=(?P<jiffies>\d+) jiffies\b(?:.*\bncpus=(?P<ncpus>\d+))?")

LEVEL = r"^rcu: (?:INFO: )?"

DUMPED = ("waiting", "running")
"""What tasks do in a list of all tasks that somebody asked the kernel for; the share is of those that are listed."""

REPORTS = 3
"""Maximum number of reports that are cited, besides the functions of a trace."""

TICKS_CITED = 4
"""Maximum number of processors whose ticks are cited."""

NAMED_CPUS = 3
"""Maximum number of processors that a sentence names."""


@dataclass
class Below:
    """The content below a report's first line: functions with their lines, leaf first, and the lines of its head."""

    frames: dict[str, int] = field(default_factory=dict)
    head: dict[str, tuple[int, str, Mapping[str, str]]] = field(default_factory=dict)
    """Line, text and parts of the lines `task`, `kernel`, `hardware`, `work` and `period`."""
    modules: list[str] = field(default_factory=list)
    """Modules of the kernel in which the functions of the trace are, leaf first."""
    found_by: list[str] = field(default_factory=list)
    """Functions of the clock's interrupt that found the stall: they say that it is one, not where it is."""
    ticks: list[tuple[int, int, int | None]] = field(default_factory=list)
    """Line, processor, and ticks that it got in the period (None where the kernel says only that it is behind)."""


@dataclass
class Reported:
    """One report: its row, its task or processor, its limit in seconds, and the content below it."""

    row: Mapping[str, Any]
    who: str
    limit: float | None
    below: Below


def kernel_reports(case: CaseTables) -> Iterator[Sighting]:
    """Yield tasks and processors that the kernel reports as hung or stuck, grouped by kind and place."""
    columns = [*PLACE_COLUMNS, "line_no", "line_end", "t_local", "text"]
    text = pl.col("text")
    rows = case.scan("logs", columns, text.is_not_null() & text.str.contains(KERNEL_REPORT)).head(ROWS)
    groups: dict[tuple[Any, ...], list[Reported]] = {}
    last, at = (None, ""), 0
    for row in rows.collect(engine="streaming").iter_rows(named=True):
        if not (made := REPORT.search(row["text"])):
            continue
        dumped_ = made["dumped"] or made["dumped2"]
        who = made["task"] or made["task2"] or made["cpu"] or made["hard"] or made["rcu"] or dumped_
        state = (made["state"] or made["state2"] or "").upper()
        what = "blocked" if made["task"] else {"D": "waiting", "R": "running"}.get(state, "stuck")
        if dumped_ and (row["artifact_id"], dumped_) == last and row["line_no"] - at <= HEADER:
            last = (None, "")
            continue  # the kernel says the state of the task below the report of it
        if made["task"]:
            last, at = (row["artifact_id"], made["task"]), row["line_no"]
        limit = made["s"] or made["s2"]
        below = _below(case, row) if len(groups) < TRACE_ROWS else Below()
        where = next(iter(below.frames), None) or re.sub(r"[\d/:-]+", "#", who)
        key = (row["artifact_id"], row["host"], what, where)
        groups.setdefault(key, []).append(Reported(row, who, float(limit) if limit else None, below))
    dumped = sum(len(held) for (_, _, what, _), held in groups.items() if what in DUMPED)
    told: dict[int, float] = {}
    for (artifact, _, _, _), held in groups.items():
        told[artifact] = told.get(artifact, 0.0) + max((one.limit or 0.0 for one in held), default=0.0)
    for (artifact, _, what, _), held in groups.items():
        yield _report(what, held, len(held) / dumped if what in DUMPED else REPORTED, told[artifact])


def _below(case: CaseTables, row: Mapping[str, Any]) -> Below:
    """Parse the lines below a report, up to the next report.

    Functions marked with `?` were only found on the stack, and those of an interrupt belong to the reporting code;
    either kind counts only if there are no other functions. The function of the processor comes first.
    """
    of = (pl.col("artifact_id") == row["artifact_id"]) & (pl.col("line_no") > row["line_no"])
    near = of & (pl.col("line_no") <= row["line_no"] + TRACE_ROWS)
    below = Below()
    at: dict[str, int] = {}
    sure: dict[str, int] = {}
    guessed: dict[str, int] = {}
    interrupt: dict[str, int] = {}
    interrupted = False
    lines = case.scan("logs", ["line_no", "text"], near & pl.col("text").is_not_null()).sort("line_no")
    for line, text in lines.collect(engine="streaming").iter_rows():
        if found := REPORT.search(text):
            if (found["dumped"] or found["dumped2"]) and line - row["line_no"] <= HEADER and not sure and not guessed:
                continue
            break
        if "IRQ>" in text:
            interrupted = "</IRQ>" not in text
        _take_head(below, line, text)
        if begins := INTERRUPTED.search(text):
            interrupt |= {k: v for k, v in sure.items() if k not in interrupt}
            sure.clear()
            if begins["at"]:
                sure[begins["at"]] = line
            continue
        here = PROCESSOR_AT.search(text)
        held = at if here else guessed if " ? " in f" {text}" else interrupt if interrupted else sure
        for name in FRAME.findall(text):
            if SUFFIX.sub("", name) in REPORTING:
                below.found_by.append(name)
            elif name not in SWITCH:
                held.setdefault(name, line)
        if held is sure and (module := IN_MODULE.search(text)):
            below.modules.append(module[1])
    below.frames = {**at, **(sure or ({} if at else interrupt or guessed))}
    return below


def _take_head(below: Below, line: int, text: str) -> None:
    for name, pattern in (
        ("task", TASK),
        ("kernel", KERNEL),
        ("hardware", HARDWARE),
        ("work", WORK),
        ("period", PERIOD),
    ):
        if name not in below.head and (found := pattern.search(text)):
            below.head[name] = line, text, {k: v for k, v in found.groupdict().items() if v}
    if found := TICKS.search(text):
        below.ticks.append((line, int(found["cpu"]), int(found["ticks"]) if found["ticks"] else None))


def _report(what: str, held: Sequence[Reported], share: float, told_s: float) -> Sighting:
    rows = [one.row for one in held]
    limits = [one.limit for one in held if one.limit is not None]
    below = next((one.below for one in held if one.below.frames), held[0].below)
    frames = list(below.frames)
    longest = max(limits, default=None)
    names = list(dict.fromkeys(one.who for one in held))
    who = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    stall = "stall" in names[0]
    said, by = (_processors(below), f" ({re.sub(LEVEL, '', who)})") if stall else (who, "")
    were = "were" if said.startswith("CPUs") else "was"
    where = f" in {frames[0]}{_called_by(held)}" if frames else ""
    at_least = "more than " if what == "blocked" else ""
    lasted = f" for {at_least}{figure(longest, 's')}" if longest is not None else ""
    times = f", reported {len(rows):,} times" if len(rows) > 1 else ""
    stamps = [row["t_local"] for row in rows if row["t_local"] is not None]
    at = [seen for f in callers_first(frames[:NAMED_FRAMES]) for seen in names_of(f, kernel=True)]
    if (
        what in ("blocked", "waiting")
        and below.modules
        and not any(s.mechanism for one in at for s in recognise(**one))
    ):
        at.append({"event": "stands-in-module", "group": below.modules[0]})
    artifact = int(rows[0]["artifact_id"])
    head = [Lines(artifact, r["line_no"], r["line_no"], "report of the kernel") for r in rows[:REPORTS]]
    head += [Lines(artifact, line, line, quoted(text, 80)) for line, text, _ in below.head.values()]
    head += [Lines(artifact, line, line, f"ticks of CPU {cpu}") for line, cpu, _ in below.ticks[:TICKS_CITED]]
    trace = list(below.frames.items())[: min(NAMED_FRAMES, MOST_LINES - len(head))]
    return Sighting(
        kind="hung" if what == "blocked" else "lockup",
        subject=who,
        headline=f"{said} {were} {what}{where}{lasted}{times}, as the kernel reports{by}",
        name=f"{what}_s" if longest is not None else "reports_count",
        value=longest if longest is not None else float(len(rows)),
        unit="s" if longest is not None else "count",
        lines=(*head, *(Lines(artifact, line, line, name) for name, line in trace)),
        **place(rows[0]),
        t_from=min(stamps, default=None),
        t_to=max(stamps, default=None),
        against="no report",
        against_value=0.0,
        seconds=longest,
        of_s=told_s if longest is not None else None,
        share=None if longest is not None else share,
        n=len(rows),
        seen=(*at, *_stall_names(below), {"log": str(rows[0]["text"])}),
        beside="; ".join(filter(None, (_period(below), _task(below)))) or None,
    )


def _stall_names(below: Below) -> tuple[Seen, ...]:
    """Return the names of the functions that detected the stall, if no other functions are known."""
    return () if below.frames else tuple({"stack": name} for name in below.found_by[:NAMED_FRAMES])


def _called_by(held: Sequence[Reported]) -> str:
    """Describe the callers that wait for the lock or event, if they are the same in all reports; else return ""."""
    found = {_callers(list(one.below.frames)) for one in held if one.below.frames}
    return "".join(f", called by {f}" for f in found.pop()) if len(found) == 1 else ""


def _callers(frames: Sequence[str]) -> tuple[str, ...]:
    """Return the first callers above general wait functions; none if the leaf is not a wait function.

    >>> _callers(["__mutex_lock.isra.3", "mutex_lock", "tree_lock_node", "tree_lookup", "path_openat"])
    ('tree_lock_node', 'tree_lookup')
    >>> _callers(["wait_transaction_locked", "add_transaction_credits"])
    ()
    """
    if not frames or not ON_THE_WAY.fullmatch(SUFFIX.sub("", frames[0])):
        return ()
    above = [f for f in frames if not ON_THE_WAY.fullmatch(SUFFIX.sub("", f))]
    return tuple(above[:CALLERS])


def _processors(below: Below) -> str:
    """Describe the processors that a stall report of RCU names."""
    cpus = [cpu for _, cpu, _ in below.ticks]
    return _named(cpus) if cpus else "A processor or task"


def _named(cpus: Sequence[int]) -> str:
    """Return the names of processors in words.

    >>> _named([3]), _named([0, 1]), _named([0, 1, 2, 3])
    ('CPU 3', 'CPUs 0 and 1', 'CPUs 0, 1 and 2 more')
    """
    if len(cpus) == 1:
        return f"CPU {cpus[0]}"
    shown = list(cpus if len(cpus) <= NAMED_CPUS else cpus[: NAMED_CPUS - 1])
    more = f"{len(cpus) - len(shown)} more" if len(cpus) > len(shown) else str(shown.pop())
    return f"CPUs {', '.join(map(str, shown))} and {more}"


def _period(below: Below) -> str:
    """Return the ticks of the processors in the period of a stall: few ticks mean that they did not run, or took no interrupt."""
    if "period" not in below.head:
        return ""
    known = [ticks for _, _, ticks in below.ticks if ticks is not None]
    if not known:
        return f"a period of {int(below.head['period'][2]['jiffies']):,} jiffies"
    least, most = min(known), max(known)
    ticks = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    each = " each" if len(known) > 1 else ""
    if len(known) < len(below.ticks):
        each += f" of {_named([cpu for _, cpu, ticks in below.ticks if ticks is not None])}"
    parts = below.head["period"][2]
    of = f", on {int(parts['ncpus']):,} processors" if "ncpus" in parts else ""
    return f"{ticks} ticks{each} in a period of {int(parts['jiffies']):,} jiffies{of}"


def _task(below: Below) -> str:
    """Describe the task of a report, its work, the release of the kernel and the machine."""
    head = {name: parts for name, (_, _, parts) in below.head.items()}
    made = []
    if task := head.get("task"):
        made.append(f"pid {task['pid']} ({task['comm']}) on CPU {task['cpu']}")
    if work := head.get("work"):
        made.append(f"at work on {work['work']}")
    if release := (task or head.get("kernel") or {}).get("release"):
        made.append(f"kernel {release}")
    if hardware := head.get("hardware"):
        made.append(f"machine {quoted(hardware['name'], 60)}")
    return ", ".join(made)
