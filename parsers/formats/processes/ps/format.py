r"""Process listings: ps of every system, and ptree.

Tools: ps(1) of Solaris, Linux, AIX, HP-UX, FreeBSD, NetBSD and macOS in any column set whose header names PID (-ef, -elf, aux, -o
lists, forests), without a header the forms of -ef and aux, and what the command above asks for with -o;
ptree(1) of Solaris and Linux-like trees by indent; snapshots
under collectors' marks. Capture: `ps -eo user,pid,ppid,nlwp,vsz,rss,pcpu,etime,s,args` or `ps -elf`.

Samples::

    UID         PID   PPID  C STIME TTY          TIME CMD
    root          1      0  0 Oct25 ?        00:00:03 /usr/lib/systemd/systemd --switched-root
     root 295074 270496  0              0:00 <defunct>
    10026  /usr/bin/perl ps.pl
      10030  /bin/sh -c true

Tables: ps. Clock: none; wall-local under marks (`zzz ***`, a `date` line).
Traps: the start is one word (`Jan23`, `07:22:43`) or two (`Mar 09`). TIME of two numbers is minutes and seconds. Zombies leave
cells blank (AIX: no start, no terminal) or shift them: words that do not fill the header are placed by type and position,
with a note. A repeated header begins a new sample only where the process numbers start over. `comm` is the
program's name taken from the command line. A wait channel that is an address (AIX, Solaris) is not stored.
SZ has another unit on every system and is not read. Passwords in command lines
are masked. A line for each thread (LID, `ps -s` of NetBSD) repeats TIME and %CPU of the process. Known gaps: columns without a header in an unusual order.
"""

from __future__ import annotations

import re
from itertools import pairwise

import polars as pl

from parsers.clocks.snapshots import MARK, marked
from parsers.columns import grid
from parsers.declarations import Claim, Format
from parsers.formats.processes.shared.process_columns import (
    HEADING,
    facts,
    heading_of,
    rows,
    secrets,
    typed_heading,
)
from parsers.tables.rows import State, Tables, line_span
from parsers.text.source import Head, Source

_EF = "UID PID PPID C STIME TTY TIME CMD"
_AUX = "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND"
_TIME = r"(?:[0-9]+-)?[0-9]+(?::[0-9]{2}){1,2}(?:\.[0-9]+)?"
EF = rf"^[ \t]*[^ \t]+ +[0-9]+ +[0-9]+ +[0-9]+ +(?:[^ \t0-9]{{3,5}} +[0-9]{{1,2}}|[^ \t]+) +[^ \t]+ +{_TIME} +[^ \t]"
EF_GONE = rf"^[ \t]*[^ \t]+ +[0-9]+ +[0-9]+ +[0-9]+ .*[ \t]{_TIME} +<(?:defunct|exiting|idle)>$"
AUX = (
    rf"^[ \t]*[^ \t]+ +[0-9]+ +[0-9]+\.[0-9] +[0-9]+\.[0-9] +[0-9]+ +[0-9]+ +[^ \t]+ +[A-Za-z][A-Za-z<+]* +"
    rf"(?:[^ \t0-9]{{3,5}} +[0-9]{{1,2}}|[^ \t]+) +{_TIME} +[^ \t]"
)
TREE = r"^((?: {2})*)([0-9]+) {1,6}([^ \t0-9|:].*)$"

FORMATS = (
    *(
        Format(
            kind="ps",
            variant=system,
            version="1",
            systems=systems,
            tables=("ps",),
            man="ps(1)",
            example="ps -eo user,pid,ppid,nlwp,vsz,rss,pcpu,etime,s,args",
            clocks=("none", "wall-local"),
            own="(?:" + "|".join((HEADING, EF, EF_GONE, AUX)) + ")",
        )
        for system, systems in (
            ("solaris", ("solaris", "illumos")),
            ("linux", ("linux",)),
            ("aix", ("aix",)),
            ("bsd", ("freebsd", "macos")),
            ("netbsd", ("netbsd",)),
            ("hpux", ("hpux",)),
        )
    ),
    Format(
        kind="ps",
        variant="tree",
        version="1",
        systems=("solaris", "illumos"),
        tables=("ps",),
        man="ptree(1)",
        example="ptree PID",
        own=TREE,
    ),
)

LOOKED_AT = 200

# Headings that only top and prstat have.
_FOREIGN = {
    "TIME+",
    "VIRT",
    "RES",
    "WCPU",
    "THR",
    "SHARE",
    "USERNAME",
    "#TH",
    "%VSZ",
    "PROCESS/NLWP",
    "PROCESS/LWPID",
    "CPU%",
}


def claim(head: Head) -> Claim | None:
    """Claim by a header with PID whose words are all known, else by rows of -ef or aux, else by a tree of numbers."""
    lines = enumerate(head.lines, start=1) if "PID" in head.text else ()
    for number, line in lines:
        if "PID" not in line or not re.match(HEADING, line):
            continue
        words = line.split()
        if heading_of(words) and not _FOREIGN & set(words):
            below = [x for x in head.lines[number : number + 6] if x]
            if not below or any(re.search(r"(?:^|[ \t])[0-9]+(?:[ \t]|$)", x) for x in below):
                return Claim(0.93 if below else 0.6, f"header of ps in line {number}", _system(words, head.text))
    if "ps " in head.command and (asked := _asked(head)):
        return asked
    filled = [x for x in head.lines[:LOOKED_AT] if x and not re.match(MARK, x)]
    probe = filled[:4]
    if not any(re.match(EF, x) or re.match(AUX, x) or re.match(EF_GONE, x) or re.match(TREE, x) for x in probe):
        return None
    if not filled or not re.match(r"^[ \t]*[^ \t]*[ \t]*[0-9]", filled[-1]):
        return None
    for pattern, form in ((EF, _EF), (AUX, _AUX)):
        hits = sum(1 for x in filled if re.match(pattern, x) or (pattern is EF and re.match(EF_GONE, x)))
        if hits * 2 > len(filled):
            return Claim(
                0.8 if hits > 1 else 0.6,
                f"{hits} rows of {'ps -ef' if pattern is EF else 'ps aux'}",
                _system(form.split(), head.text),
            )
    return _tree(filled)


def _asked(head: Head) -> Claim | None:
    """Claim rows with the columns that the command above requests, if a filter (grep) removed their header."""
    heading = typed_heading(head.command)
    below = [x for x in head.lines[:LOOKED_AT] if x]
    if heading is None or not below:
        return None
    lines = pl.DataFrame({"line_no": range(1, len(below) + 1), "line": below}, {"line_no": pl.Int64, "line": pl.String})
    hits = len(rows(lines, heading, None)[0])
    if hits == 0 or hits * 2 <= len(below):
        return None
    asleep = any(re.search(r"(?:^|[ \t])D[sl+<NL]*(?:[ \t]|$)", x) for x in below)
    system = _system(heading.split(), head.text)
    return Claim(
        0.85 if hits > 1 else 0.7,
        f"{hits} rows with the columns of the command",
        "linux" if asleep and system == "solaris" else system,  # no state of Solaris is called D
    )


def _tree(filled: list[str]) -> Claim | None:
    """Claim a ptree: every line is a number and a command, indents grow by one step, there is at least one child."""
    found = [m for m in (re.match(TREE, x) for x in filled) if m]
    if len(found) < len(filled) or len(found) < 2:
        return None
    indents = [len(m[1]) for m in found]
    if indents[0] != 0 or max(indents) == 0 or any(b - a > 4 for a, b in pairwise(indents)):
        return None
    # Numbers that end in one column belong to a table, and so do rows with several numbers.
    if len({m.end(2) for m in found}) == 1 or sum(
        len(re.findall(r" [0-9.]+(?= |$)", m[3])) > 2 for m in found
    ) * 3 > len(found):
        return None
    # Lists of numbered sections look alike; but process numbers do not repeat and are not 1, 2, 3.
    numbers = [int(m[2]) for m in found]
    if len(set(numbers)) < len(numbers) or max(numbers) < 20:
        return None
    return Claim(0.75, f"{len(found)} processes as a tree", "tree")


def _system(words: list[str], text: str) -> str:
    """Return the system; it changes no column, only the variant of the part."""
    if "LID" in words:
        return "netbsd"
    if "[kthreadd]" in text or "systemd" in text or re.search(r"\] <defunct>|/[0-9]+:[0-9]H?\]|/0\]", text):
        return "linux"
    if "/sbin/launchd" in text or " ??  " in text or {"TT", "STARTED"} <= set(words):
        return "bsd"
    if re.search(
        r"(?m)^ *[^ ]+ +[0-9]+ +[0-9]+ +[0-9]+ {8,}[0-9:]+ <|[0-9] A +root|/etc/init$|/usr/sbin/srcmstr|sv:/|<exiting>|<idle>",
        text,
    ):
        return "aix"
    if {"TID", "BND"} <= set(words):
        return "aix"
    if "swapper" in text and "vxfsd" in text:
        return "hpux"
    # Only Linux prints Nov09 and a time of hours, minutes and seconds.
    if re.search(
        r"(?m)^ *[^ ]+ +[0-9]+ +[0-9]+ +[0-9]+ +(?:[A-Z][a-z]{2}[0-9]{2}|[0-9]{2}:[0-9]{2}|[0-9]{4}) [^ ]+ +(?:[0-9]+-)?[0-9]{2}:[0-9]{2}:[0-9]{2} ",
        text,
    ):
        return "linux"
    if {"STAT", "START", "VSZ"} <= set(words) or "THCNT" in words or "PSR" in words:
        return "linux"
    return "solaris"


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the header, the sample and the last process number (for a tree: the open parents)."""
    for frame in grid.frames(source):
        for number, begin, end in secrets(frame):
            out.secret(number, begin, end, "password")
        if state["variant"] == "tree":
            _parse_tree(frame, out, state)
            continue
        frame = marked(frame, out, state)
        if "heading" not in state and (asked_for := typed_heading(source.hints.command or "")):
            state["heading"] = asked_for
        is_header = pl.col("line").str.contains(HEADING)
        lines = grid.under(frame.filter(~pl.col("is_mark")), pl.when(is_header).then(pl.col("line")), state)
        heads = lines.filter("is_heading")
        out.read(heads["line_no"])
        raw = dict(state.get("raw", {})) | {
            " ".join(x.split()): x for x in heads["line"].unique(maintain_order=True)[:50]
        }
        state["raw"] = {k: v for k, v in raw.items() if k == state.get("heading")}
        found = []
        for heading, group in grid.tables(lines):
            for name, part in _by_form(group, heading):
                cells, placed = rows(part, name, raw.get(name))
                for number in placed:
                    out.note(
                        number,
                        number,
                        "repaired",
                        "cells are blank: words placed by their type and the header's positions",
                    )
                if len(cells):
                    found.append(facts(cells).join(part.select("line_no", "table", "t_local"), on="line_no"))
        if found:
            _write(pl.concat(found, how="diagonal_relaxed").sort("line_no"), out, state)
    return state


def _by_form(group: pl.DataFrame, heading: str | None) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows with their header; lines without one are rows of -ef or aux by their form."""
    if heading is not None:
        return [(heading, group)]
    line = pl.col("line")
    aux = group.filter(line.str.contains(AUX))
    ef = group.filter(~line.str.contains(AUX) & (line.str.contains(EF) | line.str.contains(EF_GONE)))
    return [(_EF, ef), (_AUX, aux)]


def _write(found: pl.DataFrame, out: Tables, state: State) -> None:
    """Number the samples and write the rows: a header begins a sample where the process numbers start over or a mark stands between."""
    if "lwp" in found.columns:
        # Threads of AIX's `-m -o THREAD` stand below their process and do not name it.
        mine = pl.col("pid").forward_fill().fill_null(pl.lit(state.get("pid"), pl.Int64))
        found = found.with_columns(pid=pl.when(pl.col("lwp").is_not_null()).then(mine).otherwise("pid"))
    last = pl.DataFrame(
        {"pid": [state.get("pid")], "table": [state.get("of_table")], "t_local": [state.get("of_t")]},
        schema={"pid": pl.Int64, "table": pl.Int64, "t_local": pl.Float64},
    )
    before = pl.concat([last, found.select("pid", "table", "t_local")])[:-1]
    begun = (
        (found["table"] != before["table"]).fill_null(True)
        & ((found["pid"] <= before["pid"]).fill_null(True) | (found["t_local"] != before["t_local"]).fill_null(False))
        if len(found)
        else pl.Series([], dtype=pl.Boolean)
    )
    found = found.with_columns(new=begun).with_columns(sample=grid.counted(pl.col("new"), state))
    grid.carry(found, state)
    state |= {"pid": found["pid"][-1], "of_table": found["table"][-1], "of_t": found["t_local"][-1]}
    out.add("ps", found.drop("table", "new"))


def _parse_tree(frame: pl.DataFrame, out: Tables, state: State) -> None:
    """Read a ptree line by line, because its order is the tree: the parent is the line above with a smaller indent."""
    groups = pl.col("line").str.extract_groups(TREE).struct.rename_fields(["indent", "pid", "args"])
    nodes = frame.with_columns(groups.alias("g")).unnest("g").filter(pl.col("pid").is_not_null())
    stack: list[list[int]] = state.get("stack", [])
    parents: list[int | None] = []
    for indent, pid in nodes.select(
        pl.col("indent").str.len_chars(), pl.col("pid").cast(pl.Int64, strict=False)
    ).iter_rows():
        while stack and stack[-1][0] >= indent:
            stack.pop()
        parents.append(stack[-1][1] if stack else None)
        stack.append([indent, pid])
    state["stack"] = stack
    if len(nodes) > 1 and nodes["indent"].n_unique() == 1:
        first, last = line_span(nodes)
        out.note(first, last, "remark", "all stand at one indent: if blanks in front were lost, parents are unknown")
    if len(nodes):
        found = facts(nodes.select("line_no", "pid", "args")).with_columns(
            ppid=pl.Series(parents, dtype=pl.Int64), sample=pl.lit(1, pl.Int64)
        )
        out.add("ps", found)
