r"""truss of Solaris 2.5 to 11.3, illumos and AIX 5 to 7: system calls, signals, faults, library calls (-u) and summary tables (-c).

Manual: truss(1), section 1. Capture: `truss -f -l -d -D -E -v all -o FILE -p PID`. Understood: -f -l -p (prefix), -d -D -E (stamps), -v
(details), -a (argv), -r -w -x (buffers, raw arguments), -u (functions), -c (totals).

    Base time stamp:  1310009834.7781  [ Wed Jul  6 22:37:14 CDT 2011 ]
    22626/2:	10.2773	connect(14, 0x100341D88, 16, SOV_DEFAULT)	Err#146 ECONNREFUSED
    22626/1:	pollsys(0x100333970, 4, 0x00000000, 0x00000000) (sleeping...)
    15697:	 1.5463	 0.0021	 0.0020	accept(12, 0xFFFFFFFF7FFF889C, 0xFFFFFFFF7FFF88AC, SOV_DEFAULT) = 13
    15697:	AF_INET  name = 10.44.29.32  port = 41612
    8195:	 1.5798	 1.5798	 0.0000	fork1()		(returning as child ...) = 15697

Fills syscalls, open_calls, signals, libcalls, syscall_totals, logs (messages of truss itself).

Traps. The stamp of -d is taken when the call RETURNS, and the time in the call is not printed: `gap_s` is user time plus call, an upper
bound. -E is CPU time of the LWP in the call, not elapsed. The first -D of an LWP equals its -d. A sleeping call is printed twice, the
first time without stamps. Quotes in buffers are not escaped. Order is strict within a process only.

A small part that is complete is sorted and repaired (pastes, excerpts of one trace). A larger one is read block by block in file order,
where a fall of the stamp within an LWP begins a new clock domain.
AIX: prefix `pid: tid:` (tid is the kernel thread, `lwp` here), `Err#2  ENOENT`, `argc: 1`, `0.0012:` with -d, a line with the date of the
start (its zone is unknown, so the clock stays trace-relative).

    56361298: 83624347: kread(16, "\0\0\0\0\0\0\0\v\0\0\001".., 1024) = 1
    execve("/usr/bin/hello.bin", 0x2FF22B84, 0x20016D28) Err#2  ENOENT

A time of day in the place of the seconds of -d (-A of Solaris 11.4) is recognised by its form and read as the end of the call: no sample
was available.
Known gaps: the output of -G, -I and -N of 11.4 before a call (no manual with samples was found); times in the texts of details; the
layout of AIX -d -D is from memory.
"""

from __future__ import annotations

import re

from parsers.declarations import Claim, Counter, Format
from parsers.formats.tracing.truss.counts import HEADERS
from parsers.formats.tracing.truss.patterns import NAME, PREFIX, STAMPS, TAIL
from parsers.formats.tracing.truss.state import Trace
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_OWN = (
    r"^[\t ]*(?:[0-9]+(?:(?:/|: )[0-9]+)?(?:@[0-9]+)?:|/[0-9]+(?:@[0-9]+)?:)?[\t ]*(?:(?:[0-9]{2}:[0-9]{2}:)?[0-9]+[.,][0-9]{4}:?[\t ]+){0,3}"
    r"(?:[a-z_][A-Za-z0-9_]*\(.*(?:\)[\t ]*(?:= ?[0-9A-Zx-].*|Err#.*)|argc(?: =|:) [0-9]+|\.\.\.\).*)|(?:->|<-) [\w.+-]+:[\w.$]+\(.*"
    r"|(?:Received|Stopped by|Continued with) signal #.*|Incurred fault #.*|siginfo: SIG.*|AF_INET6? +(?:name|to|from) = .*)$"
    r"|^Base time stamp: |^syscall +seconds +calls +errors$|^sys totals: "
    r"|^(?:usr time|elapsed): +[0-9.]+$|^[a-z_0-9]+ +[0-9]*\.[0-9]{2,3} +[0-9]+(?: +[0-9]+)?$"
)
_TABLES = ("syscalls", "open_calls", "signals", "libcalls", "syscall_totals", "logs")

FORMATS = (
    Format(
        kind="truss",
        variant="solaris",
        version="2",
        systems=("solaris", "illumos"),
        tables=_TABLES,
        man="truss(1)",
        example="truss -f -l -d -D -E -v all -o FILE -p PID",
        split="lines",
        counters=(Counter(("seq", "sleeping.*.seq"), ("seq",)),),
        clocks=("trace-relative", "wall-utc", "wall-local", "none"),
        own=_OWN,
    ),
    Format(
        kind="truss",
        variant="aix",
        version="1",
        systems=("aix",),
        tables=_TABLES,
        man="truss(1) of AIX",
        example="truss -f -l -d -D -o FILE -p PID",
        split="lines",
        counters=(Counter(("seq", "sleeping.*.seq"), ("seq",)),),
        clocks=("trace-relative", "none"),
        own=_OWN,
    ),
)

_COUNTED = re.compile(r"[\t ]*[A-Za-z_][A-Za-z0-9_]*[\t ]+[0-9]*\.[0-9]{2,3}[\t ]+[0-9]+(?:[\t ]+[0-9]+)?$")
"""A row of -c; its seconds have two or three decimals (FreeBSD: nine)."""

SAMPLE = 50
"""Number of non-blank lines that vote on the kind."""

_FRONT = rf"^[\t ]*(?:[>|#*] ?)*{PREFIX}[\t ]*{STAMPS}"
_CALL = re.compile(rf"{_FRONT}(?:[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}[.,][0-9]{{4}}[\t ]+)?(?:({NAME})\(|$)")
_ENDED = re.compile(rf"{TAIL}")
_STAMPED = re.compile(r"(?:^|[\t :])[0-9]+[.,][0-9]{4}[\t ]+(?:[0-9]+[.,][0-9]{4}[\t ]+){0,2}[a-z_]\w*\(")
_SOLARIS = re.compile(
    r"Base time stamp:|\(sleeping\.\.\.\)|Err#[0-9]+ [A-Z]|argc = [0-9]|\(returning as (?:child|new lwp)"
    r"|^[\t >]*(?:[0-9]+)?/[0-9]+:[\t ]"
    r"|\b(?:fork1|forkx|lwp_\w+|pollsys|portfs|port_getn|schedctl|cladm|kaio|so_socket|memcntl|doorfs|lgrpsys|setustack|llseek|sigaction)\("
    r"|Incurred fault #|Received signal #|siginfo: SIG|^[\t ]*(?:[0-9]+:[\t ]+)?AF_INET6? +name = "
    r"|= 0x(?:[0-9A-F]{8}|[0-9A-F]{16})$|= [0-9]+ \[[0-9]+\]$|[(, ]0x(?:0[0-9A-F]{7}(?:[0-9A-F]{8})?|[0-9]*[A-F][0-9A-F]{0,15})[,)]"
)
_FUNCTIONS = re.compile(r"(?:->|<-) [\w.+-]+:[\w.$]+\(")
_AIX = re.compile(
    r"Err#[0-9]  [A-Z]|argc: [0-9]|^[\t ]*[0-9]+: [0-9]+: "
    r"|\b(?:kfork|kread|kwrite|kioctl|kfcntl|statx|__loadx|sbrk|_getpid|thread_tsleep|thread_twakeup|_pollset_poll)\("
)
_OTHERS = {
    "strace": re.compile(
        r"= -1 E[A-Z0-9]+ \(|<unfinished \.\.\.>|<\.\.\. \w+ resumed|\+\+\+ exited|--- SIG\w+ \{|\) += .*<[0-9]+\.[0-9]{6}>$"
        r"|^\[pid +\d+\]|NULL|[(,] ?\[|0x[0-9a-f]{1,3}\b|0x[0-9A-F]*[a-f]"
    ),
    "FreeBSD": re.compile(r"ERR#[0-9]+ '|= -?[0-9]+ \(0x[0-9a-f]+\)|\b(?:__sysctl|thr_self|issetugid|sigfastblock)\("),
    "dtruss": re.compile(
        r"SYSCALL\(args\)|\) *\t* = -?[0-9a-fx]+ (?:[0-9]+|Err#-?[0-9]+)$|/0x[0-9a-f]+:|\\0\"|^dtrace: "
    ),
}


def claim(head: Head) -> Claim | None:
    """Claim by a vote of the first lines: Solaris truss, another tracer, or neither."""
    lines = [line for line in head.lines if line.strip()]
    for line in lines[:SAMPLE]:
        if line.startswith("Base time stamp:"):
            return Claim(1.0, "begins with a base time stamp line as truss -d prints it")
    table = [line for line in lines[:SAMPLE] if HEADERS["call"].match(line)]
    if table and any("sys totals:" in line for line in lines):
        return Claim(0.95, "a table of truss -c: syscall, seconds, calls, errors, sys totals")
    if table and (counted := sum(1 for line in lines if _COUNTED.match(line))):
        return Claim(0.9, f"a table of truss -c, cut before its totals: {counted} rows")
    # In a mail an excerpt may begin anywhere: only lines with calls vote.
    calls = [line for line in lines if "(" in line and _is_call(line)]
    sample = calls[:SAMPLE]
    if not sample:
        return None
    variant = "aix" if sum(1 for line in sample if _AIX.search(line)) * 5 >= len(sample) else "solaris"
    printed = [line for line in sample if not _FUNCTIONS.search(line)]
    foreign = {name: sum(1 for line in printed if sign.search(line)) for name, sign in _OTHERS.items()}
    system, against = max(foreign.items(), key=lambda pair: pair[1])
    window = lines[: max(SAMPLE, lines.index(sample[-1]) + 1)]
    votes = len(Head(window).fitting(f"{_SOLARIS.pattern}|{_AIX.pattern}"))
    votes += sum(
        1
        for line in sample
        if not (_SOLARIS.search(line) or _AIX.search(line)) and (_STAMPED.search(line) or _FUNCTIONS.search(line))
    )
    share = len(calls) / len(lines)
    if against >= max(votes, 1) or against > len(sample) / 2:
        return Claim(0.1, f"calls, but {against} of {len(sample)} look like {system}")
    if not votes:
        return Claim(0.25, f"{len(sample)} calls without any sign of Solaris truss")
    strength = min(0.97, 0.55 + 0.45 * min(1.0, votes / len(sample)) * min(1.0, 2 * share))
    return Claim(
        round(strength, 2),
        f"{len(sample)} calls, {votes} lines with signs of truss ({variant}), {against} of {system}",
        variant,
    )


def _is_call(line: str) -> bool:
    found = _CALL.match(line.strip())  # strip: three repeats of the pattern could match leading blanks
    return bool(
        (found and found[7] and (_ENDED.search(line) or line.endswith(")")))
        or _STAMPED.search(line)
        or _FUNCTIONS.search(line)
    )


def parse(source: Source, out: Tables, state: State) -> State:
    """Read one run of blocks; state: options, number of the next event, last event and sleeping call of each LWP, addresses, held lines."""
    trace = Trace(out, state)
    source.feed(trace)
    return trace.close(last=source.last)


_LINE = re.compile(r"^[ \t]*([0-9]+)(?:/[0-9]+)?:[ \t]+([0-9]+\.[0-9]+)?")
_BIRTH = re.compile(r"fork[0-9a-z]*\([^)]*\)[ \t]*=[ \t]*([0-9]+)[ \t]*$")


def continues(before: list[str], behind: list[str]) -> bool:
    """Decide whether two excerpts show one trace: a process that is born in one of them runs later in the other."""
    return any(_born_here(a, b) for a, b in ((before, behind), (behind, before)))


def _born_here(lines: list[str], others: list[str]) -> bool:
    born: dict[int, float] = {}
    for line in lines:
        head, birth = _LINE.match(line), _BIRTH.search(line)
        if head and head[2] and birth:
            born[int(birth[1])] = float(head[2])
    for line in others:
        head = _LINE.match(line)
        if head and head[2] and int(head[1]) in born:
            return float(head[2]) >= born[int(head[1])]
    return False
