r"""Shared memory, semaphores and message queues: ipcs of Linux, Solaris, AIX, HP-UX, macOS.

Tools: util-linux ipcs(1) with -m -s -q -a -t -p -c -l -u -i ID; Solaris ipcs(1) with any of -a -A -b -c -i -J -o -p -t -z;
AIX and HP-UX ipcs(1), macOS ipcs(1). Capture: `ipcs -a` (Solaris, AIX), `ipcs -a; ipcs -l; ipcs -u` (Linux).

Samples::

    ------ Shared Memory Segments --------
    key        shmid      owner      perms      bytes      nattch     status
    0x0052e2c1 0          postgres   600        37879808   26
    IPC status from <running system> as of Tuesday, July 24, 2018 04:19:42 PM CST
    T         ID      KEY        MODE        OWNER    GROUP  CREATOR   CGROUP NATTCH      SEGSZ   CPID  LPID   ATIME ...
    m  486539323   0x70425e70 --rw-r-----   oracle asmadmin   oracle asmadmin   1434      16384 23161 18364 16:19:19 ...

Tables: ipcs_shm, ipcs_sem, ipcs_msg; -l fills params (scope ipc), -u resource_use, -i counters (grp ipcs_sem).
Clock: the banner has one wall-local stamp for all rows under it; its zone is a word that several zones share.
Traps: columns are named by the header and split at blanks (a SEGSZ of more than ten digits shifts them); section titles are
translated, so the header decides; key 0 means private; a set and a segment may have the same id; ATIME, DTIME, OTIME have
no date; headings and the lines of -l are in the language of the session, in a fixed order. Repaired with a note: rows
without a header (by their number of columns), rows wrapped by a mail program, several rows on one line.
Known gaps: ATIME, DTIME, GROUP, QBYTES have no column.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from parsers.columns.small_texts import Rows, number, share, whole
from parsers.declarations import Claim, Format
from parsers.formats.memory.ipcs.columns import (
    BY_COUNT,
    COLUMNS,
    HAS,
    ID,
    LIMITED,
    LIMITS,
    NUMBERS,
    STANDARD,
    STATES,
    TABLE,
    TIMED,
    TITLES,
)
from parsers.tables.clock_domains import question
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, month, wall_seconds

OWN = (
    r"^[ \t]*(?:IPC status from (?:.* as of |running system$)|T +ID +KEY +MODE"
    r"|[qms][ \t]+-?[0-9]+[ \t]+(?:0x[0-9a-fA-F]+|0)[ \t]+[-RSDC]{1,2}[-rwa]{6,}"
    r"|[-\u2013\u2014]{2,} ?(?:Message|Messages|Shared|Semaphore)s? .*[-\u2013\u2014]{2,}"
    r"|(?:key +)?(?:shmid|semid|msqid) +(?:owner|perms) |0x[0-9a-fA-F]{8}[ \t]+[0-9]+[ \t]+\S+[ \t]+[0-7]{3,4}[ \t]+[0-9]+"
    r"|[^ \t0-9=:-][^ \t=:]* +(?:[Ss]hm|[Ss]em|[Mm]sq)-?(?:id|ID) +[^ \t0-9=:]+ +[^ \t0-9=:]+"
    r"|(?:Message Queues|Shared Memory|Semaphores):$|(?:Semaphore Array|Shared memory Segment|Message Queue) (?:sem|shm|msq)id="
    r"|(?:max|min|default max|used|allocated|semaphore max) [a-z ()]+ = [0-9]+|(?:segments|pages) (?:allocated|resident|swapped) +[0-9]+$"
    r"|semnum +value +ncount|uid=[0-9]+[ \t]+gid=[0-9]+|mode=0[0-7]+,?[ \t]+access_perms=0[0-7]+$)"
)
FORMATS = tuple(
    Format(
        kind="ipcs",
        variant=variant,
        version="1",
        systems=systems,
        tables=("ipcs_shm", "ipcs_sem", "ipcs_msg", "params", "resource_use", "counters"),
        man="ipcs(1)",
        example=example,
        clocks=clocks,
        own=OWN,
    )
    for variant, systems, example, clocks in (
        ("linux", ("linux",), "ipcs -a; ipcs -l; ipcs -u", ("none",)),
        ("solaris", ("solaris", "aix", "hpux", "macos"), "ipcs -a", ("wall-local", "none")),
    )
)

_OWN = re.compile(OWN)
BANNER = re.compile(r"IPC status from (.*?) as of (.*)|IPC status from running system")
_SYSTEM_BY_DEVICE = {"/dev/mem": "aix", "/dev/kmem": "hpux"}
"""System whose banner names this device."""
DATE = re.compile(
    r"(?:\w+,? +)?(?P<month>[^\W\d]+)\.? +(?P<day>[0-9]{1,2}),? +(?:(?P<year>[0-9]{4}) +)?"
    r"(?P<h>[0-9]{1,2}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2})(?: +(?P<half>[AP]M))?(?: +(?P<zone>[A-Z][A-Za-z+0-9:-]*))?"
    r"(?: +(?P<year2>[0-9]{4}))?"
)
SECTION = re.compile(r"(?:[-\u2013\u2014]{2,} ?([^-\u2013\u2014]\S.*?) ?[-\u2013\u2014]{2,}|([^:=]+):)")
PLAIN_TITLES = ("Message Queues", "Shared Memory", "Semaphores")
ABSENT = re.compile(r".*(?:facility )?not (?:in system|configured).*")
HEADER = re.compile(r"(?:T +ID +KEY|key +(?:shm|sem|msq)id|(?:shm|sem|msq)id +(?:owner|perms)|semnum +value)\b")
FOREIGN = re.compile(
    r"[^\s0-9=:-][^\s=:]* +(shm|sem|msq)-?id +[^\s0-9=:]+ +[^\s0-9=:]+(?: +[^\s0-9=:]\S*){1,4}", re.IGNORECASE
)
"""A heading of util-linux in another language: only the id's name is not translated."""

FOREIGN_LIMITS = re.compile(rf"(?m)^[ \t]*-{{1,12}} ?[^-\n]*(?:{LIMITED})[^-\n]*-{{2,12}}[ \t]*$")
SETTING = re.compile(r"(\S[^=]*?) *= *(\S+)(?: (bytes))?")
USED = re.compile(r"((?:segments|pages) [a-z]+) +([0-9]+)|(Swap performance: .*)")
DETAIL = re.compile(r"(?:Semaphore Array|Shared memory Segment|Message Queue) (sem|shm|msq)id=([0-9]+)")
PAIR = re.compile(r"([a-z_]+) *= *(\S+?)(?:,|$|\s)")
ROW_T = r"[qms][ \t]+-?[0-9]+[ \t]+(?:0x[0-9a-fA-F]+|0+|IPC_PRIVATE)[ \t]+[-RSDC]{1,2}[-rwa]{6,}"
KEYED = re.compile(r"(?m)^[ \t]*0x[0-9a-f]{8}[ \t]+[0-9]+[ \t]+[a-z]")
START = re.compile(rf"(?:^|(?<=\s))(?={ROW_T}|0x[0-9a-fA-F]{{8}}[ \t]+[0-9])")
TIME_L = re.compile(r"Not set|(?:\w{3} )?\w{3} +[0-9]{1,2} [0-9:]{8}(?: [0-9]{4})?")


def claim(head: Head) -> Claim | None:
    """Claim by the banner or a header with rows under it, else by several rows."""
    text = head.text[:8192]
    words = ("IPC status", "shmid", "semid", "msqid", "MODE", "--rw-", "--ra-", "Semaphore")
    limits = FOREIGN_LIMITS.search(text) is not None
    if not limits and not any(w in text for w in words) and not KEYED.search(text):
        return None
    count, fraction = share(head, _OWN)
    detail = any(DETAIL.match(x.strip()) for x in head.lines[:3])
    lines = [x.strip() for x in head.lines if x]
    # Rows of -p are four words, which fit anything: a title with a header right below it is enough.
    if any(_OWN.match(title) and HEADER.match(below) for title, below in pairwise(lines[:5])):
        fraction = max(fraction, 0.6)
    if any(FOREIGN_LIMITS.match(title) and SETTING.fullmatch(below) for title, below in pairwise(lines[:5])):
        count, fraction = count + 1, max(fraction, 0.6)
    if not count or (fraction < 0.3 and not detail):
        return None
    mark = next((x for x in lines if BANNER.match(x) or HEADER.search(x) or DETAIL.match(x)), None)
    solaris = any(re.match(rf"IPC status|T +ID|{ROW_T}", x) for x in lines)
    limits = limits or any(SECTION.match(x) and re.search(r"(?:Limits|Status) -", x) for x in lines)
    if mark is None and not limits and count < 2:
        return None
    strength = (0.95 if mark or limits else 0.75) * min(1.0, fraction * (3 if detail else 1.6))
    return Claim(
        strength,
        f"{count} lines of ipcs" + (f", header {mark[:60]!r}" if mark else ""),
        "solaris" if solaris else "linux",
    )


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps section, header, stamp of the banner, the object of -i and the first half of a row."""
    reader = _Reader(out, state, source.hints.year)
    for block in source.blocks():
        for line_no, line in zip(block.frame["line_no"].to_list(), block.frame["line"].to_list(), strict=True):
            if line and not line.isspace():
                reader.line(line_no, line.strip())
        reader.rows.give(out)
    reader.drop_half()
    reader.rows.give(out)
    if reader.timed_from:
        # Report the domain once for each run: ranges reported row by row would be merged anew each time.
        lines = (reader.timed_from, reader.timed_to)
        out.domain(Domain(1, "wall-local", WALL_BASE, lines=[lines]))
    return reader.state


def _limits(title: str) -> list[str]:
    """Return the English names of the lines under a translated title of -l; none if the title is English."""
    if "Limits -" in f"{title} -":
        return []
    return list(next(names for what, names in LIMITS.items() if re.search(TITLES[what], title)))


class _Reader:
    """Reader of a listing, line by line."""

    def __init__(self, out: Tables, state: State, year: int | None) -> None:
        self.out, self.state, self.year = out, state, year
        self.rows = Rows()
        self.timed_from, self.timed_to = 0, 0

    def line(self, line_no: int, line: str) -> None:
        state = self.state
        if line == ".":
            # Authors mark rows that they left out with single full stops under each other.
            self.out.account("elided", [line_no])
            return
        starts = [m.start() for m in START.finditer(line)]
        head = HEADER.search(line)
        if len(starts) > 1 or (starts and head):
            starts = sorted({*starts, *([head.start()] if head and head.start() else [])})
            pieces = [x for a, b in zip([0, *starts], [*starts, len(line)], strict=True) if (x := line[a:b].strip())]
            self.out.note(line_no, line_no, "repaired", f"{len(pieces)} lines on one line: line ends were lost")
            for piece in pieces:
                self.line(line_no, piece)
            return
        if half := state.get("half"):
            words = line.split()
            if (
                not starts
                and not HEADER.match(line)
                and not BANNER.match(line)
                and len(half["words"]) + len(words) <= half["want"]
            ):
                half["words"] += words
                self.out.read([line_no])
                if len(half["words"]) == half["want"]:
                    state["half"] = None
                    self.out.note(half["line_no"], line_no, "repaired", "row wrapped over several lines, joined")
                    self.row(half["line_no"], line_no, half["words"], half["columns"], "")
                return
            self.drop_half()
        if match := BANNER.match(line):
            if system := _SYSTEM_BY_DEVICE.get(match[1]):
                self.out.fact("os", system)
            if match[2] is None:
                self.out.read([line_no])
            else:
                self.banner(line_no, match)
        elif HEADER.match(line):
            state["header"], state["header_line"] = line.lower().split(), line_no
            state["guessed"] = {}
            self.out.read([line_no])
        elif match := FOREIGN.fullmatch(line):
            state["header"], state["header_line"] = STANDARD[match[1].lower()], line_no
            state["guessed"] = {}
            self.out.read([line_no])
        elif match := DETAIL.match(line):
            state["item"] = {"kind": f"{match[1]}id", "id": whole(match[2]), "line_no": line_no}
            state["header"] = None
            self.out.read([line_no])
        elif line.rstrip(":") in PLAIN_TITLES or line[:2] in ("--", "\u2014\u2014", "\u2013\u2013"):
            match = SECTION.fullmatch(line)
            state["section"] = (match[1] or match[2]) if match else line
            state["item"] = None
            state["limits"] = _limits(state["section"]) if FOREIGN_LIMITS.match(line) else []
            if line[:2] in ("--", "\u2014\u2014", "\u2013\u2013"):
                state["header"] = None
            self.out.read([line_no])
        elif starts and starts[0] == 0:
            self.found(line_no, line)
        elif state.get("header_line") == line_no - 1 and re.fullmatch(r"(?:[A-Z]{4,9}\s*)+", line):
            # The header was wrapped: its second half is a line of capitals alone.
            state["header"] = [*state["header"], *line.lower().split()]
            state["header_line"] = line_no
            self.out.read([line_no])
        elif state.get("header"):
            self.found(line_no, line)
        else:
            self.named(line_no, line)

    def drop_half(self) -> None:
        """Note the first half of a wrapped row whose second half is missing."""
        half = self.state.pop("half", None)
        if half:
            self.out.note(
                half["line_no"],
                half["line_no"],
                "damaged",
                f"row with {len(half['words'])} of {half['want']} columns: its rest is missing",
            )

    def banner(self, line_no: int, match: re.Match[str]) -> None:
        self.out.read([line_no])
        self.state |= {"t": None, "header": None, "item": None}
        date = DATE.search(match[2])
        if date is None:
            self.out.note(line_no, line_no, "remark", f"no time could be read from {match[2]!r}")
            return
        hour, year = int(date["h"]), whole(date["year"] or date["year2"]) or self.year
        if date["half"]:
            hour = hour % 12 + (12 if date["half"] == "PM" else 0)
        number_of = month(date["month"])
        t = (
            wall_seconds(year, number_of, int(date["day"]), hour, int(date["m"]), int(date["s"]))
            if year and number_of
            else None
        )
        if t is None:
            self.out.note(line_no, line_no, "remark", f"no time could be read from {match[2]!r}")
            if not year:
                reason = "the banner has no year: its time is left out until it is said"
                self.out.ask(question("year", "Which year was this listing taken in?", reason, line_no))
            return
        self.state["t"] = t
        if date["zone"]:
            self.out.note(
                line_no, line_no, "remark", f"the zone is the word {date['zone']!r} only; several zones may share it"
            )
        self.out.domain(Domain(1, "wall-local", WALL_BASE, date["zone"], t, t, [(line_no, line_no)]))

    def found(self, line_no: int, line: str) -> None:
        """Read a row under a header, or one whose columns follow from its number of words."""
        columns: list[str] | None = self.state.get("header")
        words = line.split()
        if columns and columns[0] == "semnum":
            self.semaphore(line_no, words, columns)
            return
        letter = words[0] if words[0] in ("q", "m", "s") else "0"
        if columns and (columns[0] == "t") != (letter != "0"):
            columns = None
        if columns is None:
            columns = self.guessed(line_no, letter, len(words))
            if columns is None:
                return
        if TIMED & set(columns) and columns[0] != "t":
            columns, words = self.timed(columns, line)
        want = len(columns)
        if "status" in columns and columns[0] != "t" and len(words) == want - 1:
            words.append("")
        if len(words) < want and len(words) >= 3 and whole(words[1 if columns[0] in ("t", "key") else 0]) is not None:
            self.state["half"] = {"line_no": line_no, "words": words, "columns": columns, "want": want}
            self.out.account("damaged", [line_no])
        elif len(words) == want:
            self.row(line_no, line_no, words, columns, line)

    def guessed(self, line_no: int, letter: str, count: int) -> list[str] | None:
        """Return the columns of a row without a header, chosen by the first such row; a shorter row later was cut."""
        guessed: dict[str, str] = self.state.setdefault("guessed", {})
        if letter not in guessed:
            if (letter, count) not in BY_COUNT:
                return None
            guessed[letter] = BY_COUNT[letter, count]
            self.out.note(line_no, line_no, "repaired", f"no header: {count} columns are read as {guessed[letter]}")
        return guessed[letter].split()

    def timed(self, columns: list[str], line: str) -> tuple[list[str], list[str]]:
        """Split a row of Linux -t, whose times contain blanks."""
        times = TIME_L.findall(line)
        first = line[: m.start()].split() if (m := TIME_L.search(line)) else line.split()
        return columns, [*first, *times]

    def row(self, line_no: int, line_end: int, words: list[str], columns: list[str], line: str) -> None:
        cells = dict(zip(columns, words, strict=True))
        if columns[0] == "t":
            table, ident = TABLE.get(cells["t"], ""), cells["id"]
        else:
            id_column = next((c for c in columns if c in ("shmid", "semid", "msqid")), "")
            table, ident = TABLE.get(id_column, ""), cells.get(id_column, "")
        if not table or whole(ident) is None:
            return
        values: dict[str, Any] = {ID[table]: whole(ident), "t_local": self.state.get("t")}
        for name, text in cells.items():
            column = COLUMNS.get(name)
            if column in HAS[table] and text not in ("", "-"):
                values[column] = whole(text) if column in NUMBERS else STATES.get(text, text)
        self.rows.add(table, line_no, line_end=line_end, **values)
        if self.state.get("t") is not None:
            self.timed_from = min(self.timed_from or line_no, line_no)
            self.timed_to = line_end

    def semaphore(self, line_no: int, words: list[str], columns: list[str]) -> None:
        """Read a row of the table of -i: one counter for each cell."""
        item = self.state.get("item") or {}
        if len(words) != len(columns) or any(whole(w) is None for w in words):
            return
        if number(words[0]) != item.get("next", 0):
            self.out.note(
                line_no,
                line_no,
                "remark",
                f"semnum is {words[0]}, expected {item.get('next', 0)}: the column is not in order",
            )
        item["next"] = item.get("next", 0) + 1
        for name, text in zip(columns, words, strict=True):
            if name in ("value", "ncount", "zcount"):
                where = f"{item.get('id', '')}/{words[0]}"
                self.rows.add(
                    "counters",
                    line_no,
                    sample=1,
                    grp="ipcs_sem",
                    item=where,
                    name=name,
                    value=number(text),
                    mode="level",
                )

    def named(self, line_no: int, line: str) -> None:
        """Read a setting of -l or -u, or a detail of -i."""
        section, item = self.state.get("section") or "", self.state.get("item")
        if ABSENT.fullmatch(line):
            self.out.read([line_no])
        elif item is not None:
            self.detail(line_no, line, item)
        elif match := USED.fullmatch(line):
            if match[1]:
                self.rows.add("resource_use", line_no, scope="ipc", name=match[1], used=number(match[2]))
            else:
                self.out.read([line_no])
        elif match := SETTING.fullmatch(line):
            if re.match(r"used |allocated ", match[1]) or "Status" in section:
                self.rows.add("resource_use", line_no, scope="ipc", name=match[1], used=number(match[2]))
            elif section:
                names = self.state.get("limits")
                name = names.pop(0) if names else match[1]
                self.rows.add(
                    "params", line_no, scope="ipc", name=name, value=match[2], num=number(match[2]), active=True
                )

    def detail(self, line_no: int, line: str, item: dict[str, Any]) -> None:
        """Read a line `name=value` of -i: sizes and owners become one row of the object."""
        pairs = dict(PAIR.findall(line))
        if not pairs:
            return
        self.out.read([line_no])
        table = TABLE[item["kind"]]
        perms = pairs.get("mode")
        if perms:
            item["perms"] = perms
        if {"uid", "cuid"} <= pairs.keys():
            item |= {"owner": pairs["uid"], "creator": pairs["cuid"]}
        main = {"ipcs_sem": "nsems", "ipcs_shm": "bytes", "ipcs_msg": "cbytes"}[table]
        if main not in pairs:
            return
        values = {COLUMNS[k]: whole(v) for k, v in pairs.items() if COLUMNS.get(k) in NUMBERS & HAS[table]}
        values |= {k: item[k] for k in ("perms", "owner", "creator") if k in item and k in HAS[table]}
        self.rows.add(table, item["line_no"], line_end=line_no, **{ID[table]: item["id"]}, **values)
