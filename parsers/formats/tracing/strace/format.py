r"""strace 4.5 to 6.x: system calls, split calls, signals, exits, stacks (-k), summary tables (-c, -C). Linux.

Manual: strace(1). Capture: `strace -f -ttt -T -y -s 256 -o FILE -p PID`. Understood: -f -ff (process in the file's name) -t -tt -ttt
--absolute-timestamps -r -T -i -n -k -y -yy -Y -x -xx -v -c -C -w -U -Z -z -e read= write= (dumps), with and without -o.

    22068 1795205980.978323 execve("/usr/local/bin/ipcdemo", ["ipcdemo"], 0x7ffdc972dff8 /* 2 vars */) = 0 <0.000258>
    [pid 22379<ipcdemo>]      0.000 semtimedop(9, [{sem_num=0, sem_op=-1, sem_flg=0}], 1, {tv_sec=3, tv_nsec=0} <unfinished ...>
    [pid 22379<ipcdemo>]      0.000 <... semtimedop resumed>) = 0
    --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=22461, si_uid=0, si_status=0, si_utime=0, si_stime=0} ---
    +++ exited with 3 +++

Fills syscalls, open_calls (first halves; done_line is the line of the second half), signals, syscall_totals, profile_stacks, logs (messages
of strace itself). `lwp` is the printed number, `pid` the process that cloned it where the trace shows that, else the same number.

Traps. A stamp marks the ENTRY of a call, on a resumed line its return; -T is the time in the call, without it `dur_hi_s` reaches up to the
thread's next event, user time included. -r counts from the previous line, of whatever thread. -t has no date. On stderr the first process
has no `[pid N]` while it is alone, and messages of strace or of the traced program are printed into the middle of records: they are taken
out. Seconds of -c are CPU time unless -w. With -Z or -z counts are not totals. Not split by byte range: halves cross borders.
Known gaps: in a file above 8 MB bare lines before the first line that shows their process keep no pid; --decode-fds=pidfd texts are not
read; ltrace prints as strace does: its output is refused by its library calls, where at least a fourth of the calls are such; lines of
strace inside a journal (`[    4.019227] strace[262]: [pid 323] ...`) are read as a log.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from parsers.declarations import Claim, Counter, Format
from parsers.formats.tracing.shared.c_results import ANY_TAIL
from parsers.formats.tracing.strace.counts import is_cut_row, is_header
from parsers.formats.tracing.strace.records import DUMP, OPENED, STACK, START
from parsers.formats.tracing.strace.state import Trace
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

FORMAT = Format(
    kind="strace",
    variant="linux",
    version="4",
    systems=("linux",),
    tables=("syscalls", "open_calls", "signals", "syscall_totals", "profile_stacks", "logs"),
    man="strace(1)",
    example="strace -f -ttt -T -y -s 256 -o FILE -p PID",
    split="lines",
    counters=(Counter(("seq", "open.*.15", "rows.carried.*.3"), ("seq",)),),
    clocks=("wall-utc", "wall-local", "trace-relative", "none"),
    own=(
        r"^[\t ]*(?:\[pid +[0-9]+[^\]]*\][\t ]*|[0-9]{1,7} +)?(?:[0-9:.,()+]+[\t ]+)*(?:\[[0-9a-f? ]+\][\t ]+)?"
        r"(?:[a-z_][a-z0-9_]*\(.*(?:\)[\t ]*= .*|<unfinished \.\.\.>)|<\.\.\. \w+ resumed>.*|--- SIG.* ---|\+\+\+ (?:exited|killed) .*)$"
        r"|^(?:strace: )?Process [0-9]+ (?:attached|detached)|^strace: \[|^ <detached \.\.\.>$|^ > \S+\(.*\) \[0x[0-9a-f]+\]$"
        r"|^(?:% time +seconds|-{4,6} -{9,} -{9,})|^ *[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{6} +[0-9]+ +[0-9]+ .*[a-z_0-9]+$"
    ),
)

SAMPLE = 60

_COUNT = re.compile(r"^[\t >|]*[0-9]{1,3}[.,][0-9]{2} +[0-9]+[.,][0-9]{6} .*[0-9] +[a-z_][a-z0-9_]*$")

_QUICK = re.compile(
    r"\) *\t*= |<unfinished \.\.\.>|resumed>|\+\+\+ (?:exited|killed)|% time|usecs/call|(?m:^(?:strace: )?Process [0-9]+ attached)"
)
_FOUND = re.compile(r"(?:strace: )?Process [0-9]+ attached(?: with [0-9]+ threads)?(?: - interrupt to quit)?$")
"""Message above the call in which strace finds a process that it is attached to."""
_SIGNS = re.compile(
    r"= -1 E[A-Z0-9]+ \(|= \? ?(?:E|$)|<unfinished \.\.\.>|<\.\.\. \w+ resumed>|\+\+\+ (?:exited with|killed by)|--- SIG\w+ \{|--- SIG\w+ \("
    r"|\) += .*<[0-9]+\.[0-9]{6}>$|^\[pid +\d+[^\]]*\] |[(,] ?NULL\b|[(,] ?[\[{]|0x[0-9]*[a-f][0-9a-f]*\b|, 0x[0-9a-f]{1,3}\)"
    r"|\bO_(?:RDONLY|WRONLY|RDWR)\||^strace: Process|\b(?:rt_sig\w+|clock_nanosleep|epoll_\w+|newfstatat|openat|arch_prctl|exit_group|futex)\("
)
_LIBRARY = re.compile(
    r"(?:^|[\t ])(?:SYS_[a-z]\w*|__\w+|_Z\w+|\w+(?:@|->)\w[\w.+-]*|[cm]alloc|realloc|free|str[a-z]+|mem(?:cpy|set|cmp|move|chr)|f?put[sc]|f?get[sc]"
    r"|v?[fs]n?printf|printf|f(?:open|close|read|write|flush|eof|error)|getenv|setlocale|errno)\("
)
"""Library calls, which ltrace prints as strace prints system calls; `SYS_brk` is ltrace's name of a system call."""
_BELONGS = re.compile(rf"{STACK}|{DUMP}|(?:strace: )?Process [0-9]+ (?:attached|detached)")
_FOREIGN = re.compile(
    r"Err#[0-9]+|ERR#[0-9]+ '|\(sleeping\.\.\.\)|Base time stamp:|argc[ :=]|0x(?:[0-9A-F]*[A-F][0-9A-F]*|[0-9A-F]{8})\b|^[\t ]*[0-9]*/[0-9]+:"
    r"|^[\t ]*[0-9]+:[\t ]|= -?[0-9]+ \(0x[0-9a-f]+\)$|\\0\"(?!\.\.\.)|^dtrace: |\) \t*\t? = \S+ (?:[0-9]+|Err#-?[0-9]+)$"
)


def claim(head: Head) -> Claim | None:
    """Claim by a vote of the first calls (signs of strace against signs of other tracers), or by the header of a table of -c."""
    filled = [line for line in head.lines[:40] if line]
    if filled and is_cut_row(filled[0]) and all(_COUNT.match(line) for line in filled):
        return Claim(0.85, f"{len(filled)} rows of a table of strace -c without its header")
    if not _QUICK.search(head.text):
        return None
    calls, signs, looked, others, library = 0, 0, 0, 0, 0
    for number, line in enumerate(head.lines[:2000], start=1):
        if is_header(line) and any(line.strip().endswith(" total") for line in head.lines[number:]):
            return Claim(0.97, f"the header of a table of strace -c in line {number}")
        if is_header(line) and any(_COUNT.match(line) for line in head.lines[number : number + 3]):
            return Claim(0.93, f"the header of a table of strace -c in line {number}, cut before its total")
        looked += 1
        if OPENED.match(line) and (re.search(ANY_TAIL, line) or line.endswith("<unfinished ...>")):
            calls += 1
            library += 1 if _LIBRARY.search(line.split("(", 1)[0] + "(") else 0
            signs += 1 if _SIGNS.search(line) else 0
        elif START.match(line) and _SIGNS.search(line):
            signs += 1
        elif line and not _BELONGS.match(line):
            others += 1
        if calls >= SAMPLE:
            break
    seen = max(calls, signs)
    if not seen and (opened := _open_call(head.lines)):
        return Claim(0.9, f"strace was attached above line {opened}, a call that is open")
    if library * 4 >= seen > 0:
        return None
    if not seen or sum(1 for line in head.lines[:looked] if _FOREIGN.search(line)) * 2 >= seen:
        return None
    if not signs:
        return Claim(0.26, f"{calls} calls without a sign of which tracer")
    share = min(1.0, 2 * seen / (seen + others))
    strength = min(0.97, (0.5 + 0.47 * min(1.0, 3 * signs / seen)) * share)
    return Claim(round(strength, 2), f"{calls} calls, {signs} lines with signs of strace")


def _open_call(lines: Sequence[str]) -> int | None:
    """Return the number of a line with an open call right below strace's message that it attached; None without one."""
    for number, line in enumerate(lines[1:], start=2):
        if OPENED.match(line) and _FOUND.match(lines[number - 2]):
            return number
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read one run of blocks; state: shape, clock, open halves, the last event of each thread, held lines, threads and their process."""
    trace = Trace(source, out, {k: v for k, v in state.items() if k != "variant"})
    source.feed(trace)
    return {**trace.close(last=source.last), "variant": "linux"}
