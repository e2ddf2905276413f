r"""Limits of users and processes, and transparent huge pages.

Files and tools: `ulimit -a` of bash, ksh, mksh, dash, busybox and sh (Linux, Solaris, AIX), `limit` of csh,
/etc/security/limits.conf and limits.d (limits.conf(5)),
AIX /etc/security/limits, /proc/PID/limits; /sys/kernel/mm/transparent_hugepage/*. Capture: `ulimit -a`, `cat /proc/PID/limits`,
`grep . /sys/kernel/mm/transparent_hugepage/{enabled,defrag}`.

Samples::

    open files                      (-n) 1024
    nofiles(descriptors)  256
    oracle   soft   nofile    1024
    Max open files            1024                 4096                 files
    [always] madvise never

Tables: params, scope limits: entity = user or group of limits.conf, privilege soft or hard (NULL: a shell does not print it),
name in the words of the tool, value as printed with its unit, num without unit (NULL for unlimited); scope thp: name =
enabled, defrag ..., value = the word in brackets, list = all words. Clock: none.
Traps: bash prints kbytes or blocks and names the unit in brackets; AIX sh prints blocks of 512 bytes; a later line of limits.conf for
the same user overrides an earlier one; the file name in front of thp words may be missing: then the words decide between enabled and
defrag, with a note. Known gaps: order of the files in limits.d.
"""

from __future__ import annotations

import re

from parsers.columns.small_texts import Settings, number, share
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_ITEMS = "core|data|fsize|memlock|nofile|rss|stack|cpu|nproc|as|maxlogins|maxsyslogins|nonewprivs|priority|locks|sigpending|msgqueue|nice|rtprio|chroot"
_SHELL = (
    r"(?:core file size|data seg size|scheduling priority|file size|pending signals|max locked memory|max memory size|open files|pipe size"
    r"|POSIX message queues|real-time priority|real-time non-blocking time|stack size|cpu time|max user processes|virtual memory|file locks)"
)
_OLD = (
    r"(?:time|file|data|stack|coredump|nofiles|vmemory|memory|threads|processes|core file size|core)[ \t]*"
    r"\((?:cpu-)?(?:seconds|blocks|kbytes|descriptors|per process|per user|MB)[^)]*\)"
)
_WORD = r"(?:always|defer|defer\+madvise|madvise|never|within_size|advise|deny|force|inherit)"
_VALUE = r"(?:[0-9]+|unlimited|not supported|hard|soft)"
# Names of the limits that `limit` of csh and tcsh prints.
_CSH = (
    r"(?:cputime|filesize|datasize|stacksize|coredumpsize|memoryuse|memorylocked|vmemoryuse|descriptors|openfiles|maxproc|maxlocks|maxsignal|maxmessage"
    r"|maxnice|maxrtprio|maxrttime|heapsize|concurrency|sbsize|swapsize|pseudoterminals|kqueues|threads)"
)
BASH = (
    rf"^(?:{_SHELL}[ \t]+\([^)]*-[a-zA-Z]\)[ \t]+\S+|{_OLD}[ \t]+\S+|[a-zA-Z][a-zA-Z ]{{2,40}}(?:\([a-zA-Z]+\))?[ \t]+\(-[a-zA-Z]\)[ \t]+{_VALUE}"
    rf"|-[a-zA-Z]: [a-zA-Z][a-zA-Z -]{{2,40}}(?:\([a-zA-Z-]+\))?[ \t]+{_VALUE}|locked memory\([a-z]+\)[ \t]+\S+"
    rf"|(?:process|nofiles|locks|rtprio)[ \t]{{2,}}{_VALUE}|{_CSH}[ \t]+(?:unlimited|[0-9][0-9.:]*(?: [a-z]+)?)[ \t]*)$"
)
CONF = (
    rf"^[ \t]*(?:#[ \t]*)?(?:[@%]?[A-Za-z0-9_.*:-]+|\*)[ \t]+(?:soft|hard|-)[ \t]+(?:{_ITEMS})[ \t]+\S+(?:[ \t]*#.*)?$"
)
PROC = r"^(?:Limit[ \t]+Soft Limit[ \t]+Hard Limit|Max [a-z -]+[ \t]{2,}(?:[0-9]+|unlimited)[ \t]+(?:[0-9]+|unlimited))"
AIX = r"^[ \t]+(?:fsize|core|cpu|data|rss|stack|nofiles|threads|nproc)(?:_hard)?[ \t]*=[ \t]*-?[0-9]+$"
LIMITS = rf"(?:{BASH}|{CONF}|{PROC}|{AIX})"
THP = rf"^(?:.*hugepage[a-z_/.-]*:?[ \t]*)?(?:{_WORD}[ \t]+)*\[{_WORD}\](?:[ \t]+{_WORD})*$"
FORMATS = (
    Format(
        kind="sysctl",
        variant="limits",
        version="1",
        systems=("linux", "solaris", "aix"),
        tables=("params",),
        man="ulimit(1)",
        example="ulimit -a",
        own=LIMITS,
    ),
    Format(
        kind="sysctl",
        variant="thp",
        version="1",
        systems=("linux",),
        tables=("params",),
        man="transhuge.rst",
        example="grep . /sys/kernel/mm/transparent_hugepage/enabled",
        own=THP,
    ),
)

_LIMITS, _THP = re.compile(LIMITS), re.compile(THP)
_WORDS = (
    "limit",
    "Limit",
    "soft",
    "hard",
    "(-",
    "-n)",
    "-c)",
    "descriptors",
    "nofile",
    "coredump",
    "fsize",
    "[always]",
    "[never]",
    "[madvise]",
    "[defer",
    "[within_size]",
)
_FIELDS = {
    "bash": re.compile(r"(?P<name>[a-zA-Z][a-zA-Z -]*?)[ \t]+\((?P<unit>[^)]*)-[a-zA-Z]\)[ \t]+(?P<value>\S+)"),
    "flag": re.compile(
        rf"(?P<name>[a-zA-Z][a-zA-Z ]*?)[ \t]+(?:\((?P<unit>[a-zA-Z]+)\)[ \t]+)?\(-[a-zA-Z]\)[ \t]+(?P<value>{_VALUE})"
    ),
    "dash": re.compile(
        rf"-[a-zA-Z]: (?P<name>[a-zA-Z]+(?:[ -][a-zA-Z]+)*)(?:[ \t]?\((?P<unit>[a-zA-Z-]+)\))?[ \t]+(?P<value>{_VALUE})"
    ),
    "bare": re.compile(
        rf"(?P<name>process|nofiles|locks|rtprio|{_CSH})[ \t]+(?P<value>unlimited|[0-9][0-9.:]*)(?: (?P<unit>[a-z]+))?"
    ),
    "old": re.compile(r"(?P<name>[a-z][a-z ]*?)[ \t]*\((?P<unit>[^)]*)\)[ \t]+(?P<value>\S+)"),
    "conf": re.compile(
        rf"(?P<mark>#?)[ \t]*(?P<entity>\S+)[ \t]+(?P<privilege>soft|hard|-)[ \t]+(?P<name>{_ITEMS})[ \t]+(?P<value>\S+)(?:[ \t]*#.*)?"
    ),
    "proc": re.compile(r"Max (?P<name>[a-z -]+?)[ \t]{2,}(?P<soft>\S+)[ \t]+(?P<hard>\S+)(?:[ \t]+(?P<unit>[a-z]+))?"),
    "aix": re.compile(r"(?P<name>[a-z]+?)(?P<hard>_hard)?[ \t]*=[ \t]*(?P<value>-?[0-9]+)"),
}
STANZA = re.compile(r"([A-Za-z0-9_.-]+):")
THP_LINE = re.compile(r"(?:(\S.*?)[ \t:]+)?((?:[a-z_+]+[ \t]+)*\[([a-z_+]+)\](?:[ \t]+[a-z_+]+)*)")


def claim(head: Head) -> Claim | None:
    """Claim by lines of limits, or by the bracketed word of a setting of huge pages."""
    lines, text = head.lines, head.text[:8192]
    if not any(word in text for word in _WORDS):
        return None
    if not any(_LIMITS.match(x) or _THP.match(x) for x in lines[:120]):
        return None
    bare = Head([x for x in lines if not x.lstrip().startswith(("#", "*")) or _LIMITS.match(x)])
    limits, fraction = share(bare, _LIMITS)
    words, thp = share(bare, _THP)
    if thp > fraction:
        return Claim(0.5 + 0.45 * thp, f"{words} settings of huge pages", "thp") if thp >= 0.4 else None
    return Claim(0.5 + 0.45 * fraction, f"{limits} lines of limits", "limits") if fraction >= 0.3 else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the user of AIX stanzas."""
    settings = Settings()
    for block in source.blocks():
        for line_no, line in zip(block.frame["line_no"].to_list(), block.frame["line"].to_list(), strict=True):
            text = line.strip()
            if not text:
                continue
            if state["variant"] == "thp":
                _thp(line_no, text, settings, out, source.hints.command or "")
            else:
                _limit(line_no, text, settings, out, state)
        settings.settle()
    settings.give(out)
    return state


def _limit(line_no: int, text: str, settings: Settings, out: Tables, state: State) -> None:
    if match := _FIELDS["conf"].fullmatch(text):
        soft_hard = {"-": ("soft", "hard")}.get(match["privilege"], (match["privilege"],))
        for privilege in soft_hard:
            settings.add(
                line_no,
                scope="limits",
                entity=match["entity"],
                name=match["name"],
                privilege=privilege,
                value=match["value"],
                num=number(match["value"]),
                active=not match["mark"],
            )
    elif text.startswith(("#", "*")) or re.match(r"Limit[ \t]+Soft Limit", text):
        out.read([line_no])
    elif match := _FIELDS["proc"].fullmatch(text):
        for privilege in ("soft", "hard"):
            shown = f"{match[privilege]} {match['unit'] or ''}".strip()
            settings.add(
                line_no,
                scope="limits",
                name=match["name"],
                privilege=privilege,
                value=shown,
                num=number(match[privilege]),
            )
    elif match := next(
        filter(None, (_FIELDS[f].fullmatch(text) for f in ("flag", "bash", "old", "dash", "bare"))), None
    ):
        unit = (match["unit"] or "").strip().rstrip(",")
        settings.add(
            line_no,
            scope="limits",
            name=match["name"],
            value=f"{match['value']} {unit}".strip(),
            num=number(match["value"]),
        )
    elif match := STANZA.fullmatch(text):
        state["entity"] = match[1]
        out.read([line_no])
    elif match := _FIELDS["aix"].fullmatch(text):
        # -1 is unlimited.
        value = number(match["value"])
        settings.add(
            line_no,
            scope="limits",
            entity=state.get("entity"),
            name=match["name"],
            privilege="hard" if match["hard"] else "soft",
            value=match["value"],
            num=None if value == -1 else value,
        )


def _thp(line_no: int, text: str, settings: Settings, out: Tables, command: str) -> None:
    match = THP_LINE.fullmatch(text)
    if match is None:
        return
    words = re.findall(r"[a-z_+]+", match[2])
    path = re.search(r"(enabled|defrag|shmem_enabled)", (match[1] or "").rpartition("/")[2] or command)
    name = (
        path[1]
        if path
        else "shmem_enabled"
        if "advise" in words
        else "defrag"
        if {"defer", "defer+madvise"} & set(words)
        else "enabled"
    )
    if "shmem" in (match[1] or command):
        name = "shmem_enabled"
    if path is None:
        out.note(line_no, line_no, "remark", f"no file name: read as {name} by its words")
    settings.add(line_no, scope="thp", name=name, value=match[3], list=words)
