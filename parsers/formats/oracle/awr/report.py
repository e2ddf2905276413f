r"""Workload reports of Oracle databases as text: AWR and ASH (10g and later), Statspack (8i and later).
Source: Database Performance Tuning Guide, "Automatic Performance Statistics"; `@?/rdbms/admin/awrrpt.sql`, `spreport.sql`, `ashrpt.sql`.

    Event                                 Waits     Time(s)   (ms)   time Wait Class
    ------------------------------ ------------ ----------- ------ ------ ----------
    db file sequential read              35,732       6,575    184   77.5 User I/O

Tables: db_waits (tables of events), counters (grp load_profile, time_model, os_stats, host_cpu, instance_activity, snapshot; the sections
`SQL ordered by`, `Segments by`, those of ASH and every other table of names and figures under their titles: item is the SQL id,
segment, session or name), params (scope oracle, the init.ora section), resource_use, hist (wait histograms: n is waits times
percent), sessions (ASH), hosts. Clock: wall-local, t_local is the end of the interval; rows above the line of the interval have none.
Traps: the dashes mark the columns; event names are cut to their column's width; an average printed as 0 is computed from time and waits;
`%WIO` is part of `%Idle`; DB CPU has no waits; a table may continue on the next page; `OUTPUT` heads each page if the report was selected
in SQL*Plus, even between headings and dashes; since 12.1 a segment has two lines; the waits printed in the detail of a histogram are not
the total of its percentages; the share of an event in ASH counts samples and has neither waits nor seconds. Literals of statements are
masked, also across line ends. Known gaps: the texts of statements fill no table; headings that stand beside their dashes (a retyped
report) give no rows; HTML reports are read as transcripts of their tables.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import polars as pl

from parsers.clocks import oracle_stamps
from parsers.declarations import Claim, Format
from parsers.formats.oracle.awr import sections as awr_sections
from parsers.formats.oracle.awr import tables as awr_tables
from parsers.formats.oracle.awr import waits as awr_waits
from parsers.formats.oracle.shared import sqlplus
from parsers.formats.oracle.shared.figures import figure
from parsers.tables.rows import Domain, State, Tables
from parsers.tables.schema import schema
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE

_TITLE = r"(?m)^\s*(?:WORKLOAD REPOSITORY (?:report|RAC|PDB|COMPARE)|STATSPACK report for|ASH Report For|WORKLOAD REPOSITORY)"
FORMAT = Format(
    kind="awr", variant="report", version="5", systems=("solaris", "linux", "aix", "hpux", "windows"),
    tables=("db_waits", "counters", "params", "resource_use", "hist", "sessions", "hosts"), man="Oracle Database Performance Tuning Guide, AWR reports",
    example="sqlplus / as sysdba @?/rdbms/admin/awrrpt.sql", clocks=("wall-local", "none"),
    own=(
        r"^\s*(?:WORKLOAD REPOSITORY|STATSPACK report for|ASH Report For)|DB/Inst: |^ *(?:Begin|End) Snap: |^ +(?:Elapsed|DB Time): +[0-9.,]+ \(mins\)"
        r"|^[-~ ]{8,}$|^->|^(?:Load Profile|Top [0-9]+ .*Events|Event +Waits|Host CPU|Statistic|DB Name +DB Id|Host Name +Platform|Cache Sizes|Instance Eff)"
        r"|^ *[A-Za-z][A-Za-z0-9%*:()/ &$#_.-]{2,64}? {2,}-?[0-9.,]+(?:[KMG%]|us|ms|s)?(?: +[0-9.,%KMGusm-]+)*(?: +[A-Z@]\S*(?: \S+)?)?$"
        r"|^OUTPUT$|^ +(?:No data exists for this section of the report|statements called by the code)\.$|^(?:Module: |   PDB: )"
        r"|^ *[0-9.,]+(?: +(?:[0-9.,]+|N/A)){3,} +[0-9a-z]{13}$"
        r"|^[A-Z][A-Z0-9_$#]+ +(?:INDEX|TABLE|LOB|CLUSTER)[A-Z ]* +[0-9]+ +[0-9]+ +[0-9.,]+ +[0-9.]+$"
        r"|^ {12,}[A-Z(%][A-Za-z%/()]*(?: +[A-Za-z%/()]+)*$|^ {10,}[0-9.,]+(?: +[0-9.,]+)+$"
    ),
)  # fmt: skip

_DASHES = re.compile(r"^[ ]*(?:-+|~{3,})(?: +-+)+ *$|^ *-{8,} *$")
_SNAP = re.compile(r"^\s*(Begin|End) Snap: +([0-9]+) +(\S+) +([0-9:]{8}) +([0-9,]+)?(?: +([0-9.,]+))?")
_BEGIN_END = re.compile(r"^([A-Z][A-Za-z ]{3,40}?) {2,}Begin +End *$")
_SPAN = re.compile(r"^\s*(Elapsed|DB Time|DB time): +([0-9.,]+) \(min(?:s|utes)?\)")
_SECTION = re.compile(
    r"^(\S.*?) *DB/Inst: (\S+?)/(\S+)|^(Top [0-9]+ .*Events.*|Load Profile.*|Host CPU.*|init.ora Parameters.*"
    r"|Wait Event Histogram.*|Global Cache and Enqueue Services.*)$"
)
_BESIDE = re.compile(r"^ *DB/Inst: (\S+?)/(\S+) +\(")
"""The names of the instance on a separate line, below the title."""
_TOP = re.compile(r"^Top .*?Events(?: by [A-Z][A-Za-z ]*?(?=  |$))?")
_PAGE = "OUTPUT"
_ASH = re.compile(
    r"^\s*(Analysis (?:Begin|End) Time|Elapsed Time|Sample Count|Average Active Sessions|Avg\. Active Session per CPU|Report Target): +(\S.*)$"
)
_COPIED = (-1, -1)
"""Column of a table whose cells are parted by tabs or blanks."""

_FOREIGN = re.compile(r"^([^0-9]*(?:[0-9][0-9.,]*|\.[0-9]+)) +(\S+)$")


def claim(head: Head) -> Claim | None:
    """Claim by the title of a report, its page headers, or a table that only such reports have."""
    if not any(
        key in head.text
        for key in (
            "WORKLOAD REP",
            "STATSPACK",
            "ASH Report",
            "DB/Inst",
            " Snap: ",
            "Timed",
            "Foreground",
            "Load Profile",
        )
    ):
        return None
    if re.search(_TITLE, head.text):
        return Claim(0.97, "title of a workload report", "report")
    headers = re.findall(r"DB/Inst: \S+/\S+ +(?:Snaps?: |\([A-Z][a-z]{2} )", head.text)
    if headers:
        return Claim(0.95, f"{len(headers)} page headers of a workload report", "report")
    if re.search(
        r"(?m)^Top [0-9]+ (?:Timed|Foreground).*Events|^\s*Begin Snap: +[0-9]+ |^Load Profile\b.*(?:\n~+)? +Per Second\b",
        head.text,
    ):
        return Claim(0.85, "a table of a workload report", "report")
    return None


@dataclass
class _Carry:
    """State carried from block to block and from run to run."""

    section: str = ""
    columns: list[tuple[int, int]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    above: list[tuple[int, str]] = field(default_factory=list)
    begin: float | None = None
    end: float | None = None
    under: list[tuple[int, int]] = field(default_factory=list)
    under_heads: list[str] = field(default_factory=list)
    """Headings of the second line of a row, where a row has two lines (ASH)."""
    fresh: bool = False
    """True until a row stands under the dashes."""
    item: str = ""
    item_line: int = 0
    item_event: str | None = None
    remark: bool = False
    literal: bool = False
    """True if a literal of a statement continues on the next line."""
    page_above: list[tuple[int, str]] = field(default_factory=list)
    page_remark: bool = False
    """`above` and `remark` before a blank line: a page of SQL*Plus may begin after it."""
    page: bool = False
    lead: str = ""
    """Heading of the first line of a row, where the names stand on separate lines."""


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the fields of `_Carry`."""
    saved = {f.name: state[f.name] for f in fields(_Carry) if f.name in state}
    saved |= {name: [tuple(c) for c in saved.get(name, [])] for name in ("columns", "under")}
    reader = _Reader(out, _Carry(**saved))
    for block in source.blocks():
        for line_no, line in block.frame.rows():
            if not reader.copied(line_no, line):
                reader.feed(line_no, line.expandtabs(8))
        reader.flush()
    carry = reader.carry
    if source.next_line > source.first_line:
        span = [(source.first_line, source.next_line - 1)]
        if carry.end is None and carry.begin is None:
            out.domain(Domain(1, "none", lines=span))
        else:
            out.domain(Domain(1, "wall-local", WALL_BASE, None, carry.begin, carry.end, span))
            if carry.begin is not None and carry.end is not None and carry.begin < carry.end:
                out.fact("interval_s", carry.end - carry.begin)
    return state | asdict(carry)


class _Reader:
    """Reader of lines; it collects rows by table until `flush`."""

    def __init__(self, out: Tables, carry: _Carry) -> None:
        self.out, self.carry = out, carry
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.plain: list[int] = []

    def add(self, table: str, line_no: int, **cells: Any) -> None:
        self.rows.setdefault(table, []).append({"line_no": line_no, "t_local": self.carry.end, **cells})

    def flush(self) -> None:
        self.out.read(self.plain)
        for table, rows in self.rows.items():
            columns = schema(table)
            self.out.add(
                table, pl.DataFrame(rows, schema={c: columns[c] for c in dict.fromkeys(k for r in rows for k in r)})
            )
        self.rows, self.plain = {}, []

    def copied(self, line_no: int, line: str) -> bool:
        """Read a line of a table of events that was copied from the page of a report; return whether it is one.

        Such a table has no dashes: its cells are parted by tabs, or by two blanks or more, which loses empty cells.
        """
        carry = self.carry
        if (heads := awr_waits.copied_heads(line)) is not None:
            carry.columns, carry.heads, carry.under, carry.fresh = [_COPIED], heads, [], True
            carry.above = [*carry.above[-3:], (line_no, line.expandtabs(8))]  # dashes may follow after all
            return True
        if carry.columns != [_COPIED] or not line.strip():
            return False
        cells = awr_waits.copied_cells(carry.heads, line)
        if cells is None or not self.dispatch(line_no, cells, dict(zip(carry.heads, cells, strict=True))):
            carry.columns, carry.heads = [], []
            return False
        self.plain += [n for n, _ in carry.above]
        carry.above = []
        return True

    def feed(self, line_no: int, line: str) -> None:
        carry, text = self.carry, line.strip()
        begun, carry.page = carry.page, text == _PAGE
        if not text:
            carry.page_above, carry.page_remark = carry.above, carry.remark
            carry.above, carry.remark = [], False
            return
        above, carry.page_above = carry.page_above, []
        if carry.page or (begun and re.match(r"^-+$", line)):
            # The report is the only column of a query: its heading is repeated on each page.
            if carry.page and above:
                carry.above = above
            carry.remark = carry.remark or (carry.page and carry.page_remark)
            self.plain.append(line_no)
        elif _DASHES.match(line):
            self.rule(line_no, line)
        elif snapshot := _SNAP.match(line):
            self.snap(line_no, snapshot)
        elif span := _SPAN.match(line):
            self.add(
                "counters",
                line_no,
                grp="snapshot",
                name=span[1].lower().replace(" ", "_"),
                value=round((figure(span[2]) or 0) * 60, 6),
                unit="s",
                mode="total",
            )
        elif ash_line := _ASH.match(line):
            self.ash(line_no, ash_line)
        elif section := _SECTION.match(line):
            self.title((section[1] or section[4]).lower(), [line_no])
            if section[4] and line.startswith(("Load Profile", "Top ")):
                carry.above = [(line_no, _TOP.sub(lambda m: " " * len(m[0]), line))]
            if section[3]:
                self.out.fact("label", f"{section[2]}/{section[3]}")
        elif carry.above and (beside := _BESIDE.match(line)):
            self.title(carry.above[-1][1].strip().lower(), [n for n, _ in carry.above[-1:]] + [line_no])
            self.out.fact("label", f"{beside[1]}/{beside[2]}")
        elif (
            re.match(_TITLE, line)
            or text.startswith(("->", "~~~", "^L", "\x0c", "End of Report"))
            or text == awr_tables.NO_DATA
            or re.match(r"^-+$", text)
            or (carry.remark and line.startswith(" "))
        ):
            self.plain.append(line_no)
            carry.remark = carry.remark or text.startswith("->")
            if carry.section.startswith(("top ", "load profile")) and text.startswith("~") and not carry.columns:
                # Text beside the tildes belongs to the headings.
                carry.above.append((line_no, line.replace("~", " ")))
            elif text.startswith("~~~") and carry.above:
                self.title(carry.above[-1][1].strip().lower(), [carry.above[-1][0]])
        elif carry.columns and self.row(line_no, line):
            carry.fresh = False
        elif carry.columns and carry.section.startswith(awr_sections.WITH_TEXT):
            self.statement_text(line_no, line)
        elif pairs := awr_tables.labelled(carry.section, text):
            for table, row in pairs:
                self.add(table, line_no, **row)
        else:
            carry.above = [*carry.above[-3:], (line_no, line)]

    def title(self, section: str, lines: list[int]) -> None:
        """Begin a section with this title."""
        carry = self.carry
        carry.section, carry.item, carry.lead, carry.literal = section, "", "", False
        carry.columns, carry.heads, carry.under, carry.above = [], [], [], []
        self.plain += lines

    def statement_text(self, line_no: int, line: str) -> None:
        """Read a line of a statement (or its module): mask its literals; it fills no table."""
        spots, self.carry.literal = awr_sections.secrets(line, self.carry.literal)
        for begin, end in spots:
            self.out.secret(line_no, begin, end, "literal")
        self.plain.append(line_no)

    def ash(self, line_no: int, match: re.Match[str]) -> None:
        """Read a line of an ASH report's head: the interval and the number of samples."""
        self.plain.append(line_no)
        name, text = match[1].lower(), match[2]
        stamp = re.match(r"([0-9]{1,2}-[^ -]{1,9}-[0-9]{2,4}) ([0-9:]{8})", text)
        if stamp:
            at = oracle_stamps.entry_seconds(pl.Series([stamp[1]]), pl.Series([stamp[2]]))[0]
            self.stamp(line_no, at, begins="begin" in name)
            return
        if (row := awr_tables.ash_head(name, text)) is not None:
            self.add("counters", line_no, **row)

    def rule(self, line_no: int, line: str) -> None:
        """Read a line of dashes: it defines columns and their headings; a single run of dashes ends a table."""
        carry = self.carry
        runs = [(m.start(), m.end()) for m in re.finditer(r"-+|~+", line)]
        if carry.section.startswith("load profile") and runs[0][0] > 20:  # 10g: no dashes under the names
            runs.insert(0, (0, runs[0][0] - 1))
        self.plain.append(line_no)
        carry.literal = False
        if len(runs) < 2:
            # A single run below a heading: names stand on separate lines, their figures on the next line.
            titles = carry.above if not carry.columns else []
            carry.lead = titles[-1][1].strip().lower() if titles and runs[0][0] == 0 else ""
            within = titles and runs[0][0] <= len(titles[-1][1].rstrip()) <= runs[0][1]
            self.plain += [n for n, _ in titles] if carry.lead or within else []
            carry.columns, carry.heads, carry.above, carry.under = [], [], [], []
            return
        starts = [0 if i == 0 and runs[0][0] < 4 else a for i, (a, _) in enumerate(runs)]
        above = [(n, t) for n, t in carry.above if _DASHES.match(t) is None]
        if carry.section.startswith("top ") and (flat := awr_waits.flat_heads([t for _, t in above])):
            # Blanks were collapsed: the order of the headings identifies the columns.
            carry.columns, carry.heads, carry.under, carry.fresh, carry.above = [(0, 0)], flat, [], True, []
            self.plain += [n for n, _ in above]
            return
        if len(runs) == 2 and above and (ends := _BEGIN_END.match(above[-1][1])):
            # Names with a colon stand left of the rules, each with its figure at the beginning and at the end.
            self.title(ends[1].lower(), [n for n, _ in above])
            return
        edges = [(a, b) for a, (_, b) in zip(starts, runs, strict=True)]
        # Names of a load profile extend beyond their underline; the figures after them are aligned to the right.
        edges[0] = (edges[0][0], edges[1][0])
        heads = awr_sections.headings([t for _, t in above], edges)
        if any("~" in line[a:b] for a, b in runs[:1]) and heads[0]:
            carry.section = heads[0]
        twice = any(h.startswith("% ") for h in carry.heads) or carry.heads == awr_sections.OWNER
        if carry.columns and carry.fresh and twice:
            carry.under, carry.under_heads = edges, heads
        else:
            carry.columns, carry.heads, carry.under, carry.fresh = edges, heads, [], True
        self.plain += [n for n, _ in above]
        carry.above = []

    def row(self, line_no: int, line: str) -> bool:
        """Read a line under dashes; return False if it is not a row of this table."""
        carry = self.carry
        if carry.under and carry.heads == awr_sections.OWNER:
            return self.owned(line_no, line)
        if carry.columns == [(0, 0)]:
            flat = awr_waits.flat_cells(carry.heads, line)
            return flat is not None and self.dispatch(line_no, flat, dict(zip(carry.heads, flat, strict=True)))
        cells = sqlplus.cut(line, [(h, a, b) for h, (a, b) in zip(carry.heads, carry.columns, strict=True)])
        if carry.lead:
            return self.led(line_no, line, cells)
        if cells is None:
            return self.second(line_no, line)
        foreign = _FOREIGN.match(cells[-1])
        last = carry.heads[-1]
        if (
            foreign
            and ("%" in last or "time" in last or "value" in last or "per " in last)
            and figure(cells[-1]) is None
            and figure(foreign[1]) is not None
        ):
            self.out.note(line_no, line_no, "remark", f"behind the row stands: {foreign[2]}")
            cells[-1] = foreign[1]
        of = dict(zip(carry.heads, cells, strict=True))
        return self.dispatch(line_no, cells, of) or self.second(line_no, line)

    def owned(self, line_no: int, line: str) -> bool:
        """Read a line of a segment (12.1 and later): owner and tablespace, then its name and figures, then its container."""
        carry = self.carry
        if line.lstrip().startswith("PDB: "):
            self.plain.append(line_no)
            return True
        under = sqlplus.cut(line, [(h, a, b) for h, (a, b) in zip(carry.under_heads, carry.under, strict=True)])
        heads = [*awr_sections.OWNER, *carry.under_heads]
        rows = awr_sections.segment(carry.section, heads, [carry.item, "", *under]) if under and carry.item else None
        for row in rows or ():
            self.add("counters", line_no, **row)
        if not rows:
            names = re.match(r"^(\S+) +\S+$", line)
            carry.item, carry.item_line = names[1] if names else "", line_no
            self.plain += [line_no] if names else []
            return names is not None
        return True

    def led(self, line_no: int, line: str, cells: list[str] | None) -> bool:
        """Read a line of a table whose names stand on separate lines: a name, or its figures."""
        carry = self.carry
        if cells and not re.match(r"\S*[A-Za-z]", line):
            rows = awr_tables.named(carry.section, [carry.lead, *carry.heads], [carry.item, *cells])
            for table, row in rows or ():
                self.add(table, line_no, **row)
            return bool(rows)
        carry.item = line.strip()
        self.plain.append(line_no)
        return True

    def second(self, line_no: int, line: str) -> bool:
        """Read the second line of a row of an ASH report, where rows have two lines; return whether it is one."""
        carry = self.carry
        if not carry.under or not carry.item or line_no > carry.item_line + 2:
            return False
        cells = sqlplus.cut(line, [(h, a, b) for h, (a, b) in zip(carry.under_heads, carry.under, strict=True)])
        cells = cells or awr_sections.apart(line, carry.under_heads)
        if cells is None:
            return False
        session = awr_sections.session(carry.under_heads, cells, carry.item)
        if session is not None and carry.section == "top sessions":
            self.add("sessions", carry.item_line, line_end=line_no, event=carry.item_event, **session)
        self.plain.append(line_no)
        return True

    def listed(self, line_no: int, cells: list[str]) -> bool:
        """Read a row about a statement, a segment, or activity in ASH; return whether it is one."""
        carry = self.carry
        rows = awr_sections.statement(carry.section, carry.heads, cells) or awr_sections.segment(
            carry.section, carry.heads, cells
        )
        seen = None if rows else awr_sections.activity(carry.section, carry.heads, cells, carry.item)
        if seen is not None:
            carry.item, rows = seen
            carry.item_line, carry.item_event = line_no, awr_sections.event(carry.heads, cells)
        for row in rows or ():
            self.add("counters", line_no, **row)
        return bool(rows)

    def dispatch(self, line_no: int, cells: list[str], of: dict[str, str]) -> bool:
        heads, section = self.carry.heads, self.carry.section
        first = heads[0]
        if (not first.startswith("event") or "p1 value" in " ".join(heads)) and self.listed(line_no, cells):
            return True
        if first.startswith("event") and any(h.endswith(("1ms", "<1us")) or h == "<2s" for h in heads):
            buckets = awr_waits.histogram(heads, cells)
            for bucket in buckets or ():
                self.add("hist", line_no, **bucket)
            return buckets is not None
        if first.startswith("event") or "wait event" in first or first == "top 5 timed events":
            waited = awr_waits.event(heads, cells)
            if waited is not None:
                self.add("db_waits", line_no, **waited)
            return waited is not None
        rows = awr_tables.rows(section, heads, cells)
        if rows is None and self.head(line_no, of):
            return True
        if not rows and not section.startswith((*awr_sections.WITH_TEXT, *awr_tables.WITH_KNOWN_COLUMNS)):
            rows = awr_tables.named(section, heads, cells)
        for table, row in rows or ():
            self.add(table, line_no, **row)
        self.plain += [line_no] if rows == [] else []
        return rows is not None

    def head(self, line_no: int, of: dict[str, str]) -> bool:
        """Read a row of the tables at the top, about database and host; return whether it is one."""
        if "host name" in of or "cpus" in of:
            host = awr_tables.host(of)
            if host is not None:
                self.add("hosts", line_no, **host)
            return host is not None
        if "release" in of and figure(of.get("db id")) is not None:
            self.out.fact("tool_opts", [f"release={of['release']}"])
            self.plain.append(line_no)
            return True
        for begins, name in ((True, "begin snap time"), (False, "end snap time")):
            if stamped := re.match(r"([0-9]{1,2}-[^ -]{1,9}-[0-9]{2,4}) ([0-9]{2}:[0-9]{2})$", of.get(name, "")):
                at = oracle_stamps.entry_seconds(pl.Series([stamped[1]]), pl.Series([f"{stamped[2]}:00"]))[0]
                self.stamp(line_no, at, begins=begins)
        is_about = awr_tables.is_about(list(of)) and any(figure(c) is not None for c in of.values())
        if is_about and not all(figure(c) is not None for c in of.values() if c):
            self.plain.append(line_no)
            return True
        return False

    def stamp(self, line_no: int, at: float | None, *, begins: bool) -> None:
        """Set the beginning or the end of the interval; the beginning of another report clears the end of the one above."""
        if begins:
            self.carry.begin, self.carry.end = at, None
            return
        if at is not None and self.carry.begin is not None and at < self.carry.begin:
            self.out.note(line_no, line_no, "remark", "the report ends before it begins: a clock was set back")
        self.carry.end = at

    def snap(self, line_no: int, match: re.Match[str]) -> None:
        date, time = pl.Series([match[3]]), pl.Series([match[4]])
        at = oracle_stamps.entry_seconds(date, time)[0]
        self.stamp(line_no, at, begins=match[1] == "Begin")
        for name, cell in (("sessions", match[5]), ("cursors_per_session", match[6])):
            if (value := figure(cell)) is not None:
                self.add(
                    "counters", line_no, grp="snapshot", item=match[1].lower(), name=name, value=value, mode="level"
                )
        self.plain.append(line_no)
