r"""Read records printed by database clients: a numbered head, then one name and value per line.

psql prints `-[ RECORD 1 ]---` and `name | value`, or `name: value` below a head; MySQL prints stars around
`1. row` and `Name: value` (`\G`); psql's old alignment prints `* Record 1`. A record is one row of `rows` with one cell
per line: cell n is from line `line_no + n`, so that a page can show the line of a name. A line that continues the value
above it has an empty name.
"""

from __future__ import annotations

import re
from typing import Any

from parsers.formats.general.text.tables import FOOTER

MOST_CELLS = 200
"""Maximum number of lines of a record; a longer one ends there."""

_HEAD = re.compile(r"[ \t]*(?:-\[ RECORD [0-9]+ \][-+]*|\* ?Record [0-9]+|\*{5,} ?[0-9]+\. row ?\*{5,})[ \t]*")
_BARRED = re.compile(r"[ \t]*(?P<name>[A-Za-z_?][\w ?().$/-]{0,62}?)?[ \t]*\|(?: (?P<value>.*))?")
_COLON = re.compile(r"[ \t]*(?P<name>[A-Za-z_@][\w@().$/*-]{0,62}(?: [\w()]{1,20}){0,3}):(?:[ \t]+(?P<value>.*))?")
_SPACED = re.compile(r"[ \t]*(?P<name>[A-Z][A-Z0-9_#$]{1,40})[ \t]{1,40}:(?:[ \t]+(?P<value>.*))?")

_BARE = re.compile(
    r"[ \t]*(?:Slave|Replica)_(?:IO|SQL)_(?:State|Running): .*|[ \t]*Seconds_Behind_(?:Master|Source): .*"
    r"|[ \t]*(?:INST_ID|SID|SERIAL#|SESSION_ID|SPID|USERNAME|SQL_ID|EVENT|WAIT_EVENT|WAIT_CLASS|BLOCKING_SESSION|SECONDS_IN_WAIT)[ \t]{1,40}: .*"
)
"""Lines that identify a record without its head: SHOW REPLICA STATUS, of which people paste the middle; a session of
Oracle whose columns a script prints one below the other, names in capitals and colons in one column."""

Record = dict[str, Any]
"""An open record: line_no of its first cell, heading, cells, sign. JSON-able."""


def opens(line: str) -> bool:
    """Return whether a line is the head of a record.

    >>> opens("-[ RECORD 1 ]---+----"), opens("*********** 1. row ***********"), opens("*** (1) TRANSACTION:")
    (True, True, False)
    """
    return line.lstrip()[:1] in ("-", "*") and _HEAD.fullmatch(line) is not None


def opens_bare(line: str) -> bool:
    """Return whether a line belongs to a record whose head was not pasted.

    >>> opens_bare("   Slave_IO_Running: Yes"), opens_bare("SID       : 9"), opens_bare("Status: 1")
    (True, True, False)
    """
    return ("_" in line or " : " in line) and _BARE.fullmatch(line) is not None


def open_at(line_no: int) -> Record:
    """Return an empty record whose head is line `line_no`."""
    return {"line_no": line_no + 1, "heading": [], "cells": [], "sign": None}


def goes_on(record: Record, line: str) -> bool:
    """Add a line to an open record; return False and change nothing if the line does not belong to it."""
    if len(record["cells"]) >= MOST_CELLS or opens(line) or FOOTER.fullmatch(line):
        return False
    sign = record["sign"]
    found = _BARRED.fullmatch(line) if sign in (None, "|") else None
    if found is None and sign in (None, " :"):
        found = _SPACED.fullmatch(line)
    if found is None and sign in (None, ":"):
        found = _COLON.fullmatch(line)
        if found is not None and found["name"] in record["heading"]:
            found = None
    if found is not None:
        record["sign"] = sign or ("|" if found.re is _BARRED else " :" if found.re is _SPACED else ":")
        name, value = found["name"] or "", (found["value"] or "").strip()
    elif sign == ":" and record["cells"]:
        name, value = "", line.strip()
    else:
        return False
    record["heading"].append(name.strip())
    record["cells"].append(value)
    return True
