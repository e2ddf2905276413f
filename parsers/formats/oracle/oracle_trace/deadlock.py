r"""Deadlock graphs in traces of Oracle server processes (ORA-00060), also as an excerpt; 8i to 23ai.
Source: Oracle Database Error Messages, ORA-00060; Administrator's Guide, trace files. The alert log names the file.

    DEADLOCK DETECTED ( ORA-00060 )
    Deadlock graph:
                           ---------Blocker(s)--------  ---------Waiter(s)---------
    Resource Name          process session holds waits  process session holds waits
    TX-00070015-00000abc        21      52     X             34     118           X
    Rows waited on:
      Session 52: obj - rowid = 0001A2B3 - AAAaKzAAEAAAAJ7AAA
    ----- Current SQL Statement for this session (sql_id=8xk2v0abcdefg) -----
    update stock set n = :1 where id = :2

Tables: logs, source oracle: a row of code ORA-00060 for each resource of the graph (who holds it, who waits for it), one of severity
DETAIL for each statement. Clock: none; the stamp above belongs to the whole trace. Traps: a session is both blocker and waiter; the
graph of a trace of 11g and later has two more groups in the name of a resource; the statement of this session stands before or
behind those of the others. Literals of statements are masked. Known gaps: call stacks and process state below.
"""

from __future__ import annotations

import re
from typing import Any

from parsers.columns.small_texts import Rows, by_lines
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

RESOURCE = (
    r"^(?P<name>[A-Z]{2}-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{8})?) +[0-9]+ +(?P<blocker>[0-9]+)(?P<holds>(?: +[SX]{1,3})*)"
    r" +[0-9]+ +(?P<waiter>[0-9]+)(?P<waits>(?: +[SX]{1,3})*) *$"
)
STATEMENT = r"^(?:----- Current SQL Statement for this session\b.*|Current SQL [Ss]tatement for this session.*:| *current SQL: *)$"
PLAIN = (
    r"^(?:DEADLOCK DETECTED\b.*|\[Transaction Deadlock\]|The following deadlock is not an ORACLE error\b.*|deadlock due to user error in the design\b.*"
    r"|or from issuing incorrect ad-hoc SQL\b.*|information may aid in determining the deadlock:|Deadlock graph:| +-+Blocker\(s\)-+ .*"
    r"|Resource Name +process session .*|[Ss]ession [0-9]+:(?: DID .*)?|Rows waited on:| +Session [0-9]+: (?:obj\b|no row).*|-{5} .* -{5}|={10,}"
    r"|Information (?:for|on) (?:THIS|the OTHER)\b.*| *\(dictionary objn - .*"
    r"| +(?:sid|pid|image|client details|O/S info|program|application name|action name|machine|user): .*|\*\*\* [0-9]{4}-.*)$"
)
_ROW = re.sub(r"\?P<[a-z]+>", "?:", RESOURCE)
FORMAT = Format(
    kind="oracle_trace",
    variant="deadlock",
    version="1",
    systems=("solaris", "linux", "aix", "hpux", "windows"),
    tables=("logs",),
    man="Oracle Database Error Messages, ORA-00060",
    example="the trace file that the alert log names beside ORA-00060",
    own=f"{_ROW}|{STATEMENT}|{PLAIN}",
)
_RESOURCE, _STATEMENT, _PLAIN = re.compile(RESOURCE), re.compile(STATEMENT), re.compile(PLAIN)
_LITERAL = re.compile(r"'([^']+)'")
LONGEST = 1000
"""Maximum number of characters of a statement that are stored."""


def claim(head: Head) -> Claim | None:
    """Claim by a graph with a resource; a trace with waits and calls is a SQL trace."""
    if "Resource Name" not in head.text or "Waiter(s)" not in head.text or "WAIT #" in head.text:
        return None
    count = sum(1 for line in head.lines if _RESOURCE.match(line))
    return Claim(0.93, f"{count} resources of a deadlock graph", "deadlock") if count else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps an open statement."""

    def line(line_no: int, text: str, rows: Rows, plain: list[int], state: State) -> None:
        _line(line_no, text, rows, plain, state, out)

    return by_lines(source, out, state, line, _close)


def _line(line_no: int, line: str, rows: Rows, plain: list[int], state: State, out: Tables) -> None:
    if found := _RESOURCE.match(line):
        _close(rows, state)
        rows.add(
            "logs", line_no, line_end=line_no, source="oracle", code="ORA-00060", text=(
                f"deadlock graph: session {found['blocker']} holds {found['name']} ({found['holds'].strip() or 'no mode'}),"
                f" session {found['waiter']} waits for it ({found['waits'].strip() or 'no mode'})"
            ),
        )  # fmt: skip
    elif _STATEMENT.match(line):
        _close(rows, state)
        whose = "this session" if "this session" in line else "another session"
        state["record"] = {"lines": [], "whose": whose, "text": []}
        plain.append(line_no)
    elif _PLAIN.match(line):
        _close(rows, state)
        plain.append(line_no)
    elif state.get("record") is not None and line.strip():
        for literal in _LITERAL.finditer(line):
            out.secret(line_no, literal.start(1), literal.end(1), "literal")
        state["record"]["lines"].append(line_no)
        state["record"]["text"].append(line.strip())


def _close(rows: Rows, state: State) -> None:
    statement: dict[str, Any] | None = state.pop("record", None)
    if statement and statement["lines"]:
        text = f"current SQL of {statement['whose']}: {' '.join(statement['text'])}"[:LONGEST]
        rows.add(
            "logs",
            statement["lines"][0],
            line_end=statement["lines"][-1],
            source="oracle",
            severity="DETAIL",
            text=text,
        )
