r"""Sessions of MySQL and MariaDB: SHOW [FULL] PROCESSLIST, `mysqladmin processlist`, information_schema.processlist; all versions.
Source: MySQL Reference Manual, SHOW PROCESSLIST. Printed as a box, as tab-separated lines (`mysql -B`) or by `\G`.

    +----+----------------------+-----------------+------+---------+------+-------+------------------+
    | Id | User                 | Host            | db   | Command | Time | State | Info             |
    +----+----------------------+-----------------+------+---------+------+-------+------------------+
    |  5 | unauthenticated user | 192.0.2.7:53456 | NULL | Connect | NULL | login | NULL             |

    *************************** 1. row ***************************
         Id: 5
       User: app

Tables: sessions: sid = Id, db_user = User, db_name = db, machine = Host without its port, state = Command (Sleep, Query, Connect ...), event = State
(login, Waiting for table metadata lock, Sending data ...; the thread's activity, not only its waits), last_call_s = Time. Clock: none.
Traps: a listing shows one instant; Time counts since the thread entered its present state; `Waiting for ...` names the kind of the lock,
not its holder. Rows without headings are read by the order of the columns that all versions have. Of the statement (Info) only
the first words are stored (verb); a statement of several lines continues below its row.
Known gaps: JSON of `mysqlsh`.
"""

from __future__ import annotations

import re
from typing import Any

from parsers.columns.small_texts import Rows, by_lines, number, whole
from parsers.columns.statement_verbs import verb
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

BOX = r"^\+-{2,}(?:\+-+){4,}\+?$"
HEADING = (
    r"(?i:^\|? *Id *[|\t] *User *[|\t] *Host *[|\t] *db *[|\t] *Command *[|\t] *Time *[|\t] *State *[|\t] *Info\b.*$)"
)
RECORD = r"^\*{10,} ?[0-9]+\. row ?\*{10,}$"
FIELD = (
    r"(?i:^ *(Id|User|Host|db|Command|Time|State|Info|Progress|Time_ms|Stage|Max_stage|Memory_used|Max_memory_used"
    r"|Examined_rows|Query_id|Info_binary|Tid|Sent_rows|Rows_sent|Rows_examined): ?(.*)$)"
)
BARE = (
    r"^\|? *[0-9]+ *[|\t][^|\t]*[|\t][^|\t]*[|\t][^|\t]*[|\t] *(?:Sleep|Query|Connect|Daemon|Execute|Binlog Dump(?: GTID)?|Killed|Prepare"
    r"|Field List|Init DB|Quit|Slave_(?:IO|SQL|worker)) *[|\t] *(?:-?[0-9]+|NULL) *[|\t].*$"
)
"""A session by itself: people paste the rows of the box without its headings."""
FOOTER = r"^[0-9]+ rows? in set\b.*$"
PROMPT = r"^ {4}->(?: .*)?$"
"""Prompt of the client for the rest of a statement."""
FORMATS = tuple(
    Format(
        kind="mysql", variant=variant, version="2", systems=("linux", "solaris", "aix", "freebsd", "macos", "windows"), tables=("sessions",),
        man="MySQL Reference Manual, SHOW PROCESSLIST", example=example, own=own,
    )
    for variant, example, own in (
        ("processlist", "mysqladmin --verbose processlist", rf"{BOX}|{HEADING}|{BARE}|^\| *[0-9]+ \| .*\|$"),
        ("processlist_g", r"mysql -e 'show full processlist\G'", rf"{RECORD}|{FIELD}"),
    )
)  # fmt: skip
_HEADING, _RECORD, _FIELD, _BARE = re.compile(HEADING), re.compile(RECORD), re.compile(FIELD), re.compile(BARE)
_CUT_HEADING = re.compile(r"(?i)^\|? *Id *[|\t] *User\b")
USUAL = ("id", "user", "host", "db", "command", "time", "state", "info")
"""Columns of every version, for rows without headings; further ones (progress, rows) stand behind them."""


def claim(head: Head) -> Claim | None:
    """Claim by the eight headings that every version prints, by records with the same names, or by rows alone."""
    text = head.text
    if sum(_BARE.match(x) is not None for x in head.lines[:40]) >= 2 and not any(_HEADING.match(x) for x in head.lines):
        return Claim(0.93, "rows of SHOW PROCESSLIST without their headings", "processlist")
    if "Command" not in text and "COMMAND" not in text:
        return None
    if any(_HEADING.match(x) for x in head.lines):
        return Claim(0.97, "headings of SHOW PROCESSLIST", "processlist")
    if any(_RECORD.match(x) for x in head.lines):
        names = {m[1].lower() for x in head.lines if (m := _FIELD.match(x))}
        if {"id", "user", "host", "command", "time"} <= names:
            return Claim(0.96, "records of SHOW PROCESSLIST", "processlist_g")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the headings and an open record."""
    return by_lines(source, out, state, _record if state["variant"] == "processlist_g" else _row, _close)


def _row(line_no: int, line: str, rows: Rows, plain: list[int], state: State) -> None:
    if _HEADING.match(line):
        state |= {"names": [x.lower() for x in _cells(line)], "sign": "|" if "|" in line else "\t", "open": False}
        plain.append(line_no)
    elif _CUT_HEADING.match(line):
        state["cut"] = True  # which columns the rows have is not known
    elif "names" not in state and "cut" not in state and _BARE.match(line):
        _add(rows, line_no, line_no, dict(zip(USUAL, _cells(line), strict=False)))
    elif re.match(BOX, line) or re.match(FOOTER, line) or re.match(PROMPT, line):
        state["open"] = False
        plain.append(line_no)
    elif "names" in state and (line.startswith("|") if state["sign"] == "|" else "\t" in line):
        # In a box a statement may continue on the next line; the columns after it stand at its end.
        state["open"] = state["sign"] == "|" and not line.rstrip().endswith("|")
        cells, names = _cells(line), state["names"]
        if len(cells) != len(names):
            if "info" not in names:
                return
            names = names[: names.index("info")]  # cells in front of the statement, which may contain a separator
        if len(cells) >= len(names):
            _add(rows, line_no, line_no, dict(zip(names, cells, strict=False)))
    elif state.get("open"):
        state["open"] = not line.rstrip().endswith("|")
        plain.append(line_no)


def _cells(line: str) -> list[str]:
    if "|" in line:
        return [x.strip() for x in line.strip().removeprefix("|").removesuffix("|").split("|")]
    return line.split("\t")


def _record(line_no: int, line: str, rows: Rows, plain: list[int], state: State) -> None:
    if _RECORD.match(line):
        _close(rows, state)
        state["record"] = {"lines": [line_no], "of": {}}
        return
    if re.match(FOOTER, line) or re.match(PROMPT, line):
        _close(rows, state)
        plain.append(line_no)
        return
    record = state.get("record")
    field = _FIELD.match(line)
    if record is not None and field is not None and field[1].lower() not in record["of"]:
        record["lines"].append(line_no)
        record["of"][field[1].lower()] = field[2].strip()
    elif record is not None and next(reversed(record["of"]), "") == "info":
        record["lines"].append(line_no)  # the statement continues


def _close(rows: Rows, state: State) -> None:
    record: dict[str, Any] | None = state.pop("record", None)
    if record is not None:
        _add(rows, record["lines"][0], record["lines"][-1], record["of"])


def _add(rows: Rows, line_no: int, line_end: int, of: dict[str, str]) -> None:
    """Add the row of a session; NULL and empty cells are unknown."""
    values = {k: None if v in ("NULL", "<null>", "") else v for k, v in of.items()}
    sid = whole(values.get("id"))
    if sid is None:
        return
    host = values.get("host")
    machine = re.sub(r":[0-9]{1,5}$", "", host) if host and host != "connecting host" else None
    taken = number(values.get("time_ms"))
    rows.add(
        "sessions", line_no, line_end=line_end, sid=sid, db_user=values.get("user"), machine=machine, state=values.get("command"),
        event=values.get("state"), db_name=values.get("db"), last_call_s=taken / 1000 if taken is not None else number(values.get("time")),
        verb=verb(values.get("info")),
    )  # fmt: skip
