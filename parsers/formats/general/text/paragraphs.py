"""Read text of no known tool line by line: split it into paragraphs and choose a reader for each of them.

The state between two lines is small and JSON-able. Up to `LOOK` lines of a paragraph are collected before it is decided
whether the paragraph is a table.
"""

from __future__ import annotations

import re
from typing import Any

from parsers.formats.general.text import (
    call_trees,
    event_records,
    gates,
    json_rows,
    lookups,
    profile_lists,
    records,
    replies,
    reports,
    stacked_tables,
    stacks,
    tables,
)
from parsers.formats.general.text.certificate_lines import validity
from parsers.formats.general.text.database_lines import announces_message, severity_of_database
from parsers.formats.general.text.field_lines import COMMANDS, fielded
from parsers.formats.general.text.filter_lines import filtered
from parsers.formats.general.text.host_lines import event_row, host_counters
from parsers.formats.general.text.json_entries import MOST_LINES as MOST_OF_ENTRY
from parsers.formats.general.text.json_entries import Entry, entry_of, may_follow
from parsers.formats.general.text.json_entries import goes_on as entry_goes_on
from parsers.formats.general.text.json_objects import OPEN, closed_by
from parsers.formats.general.text.lasting_lines import lasted
from parsers.formats.general.text.metrics_lines import METRICS, exposed
from parsers.formats.general.text.mounts import options_of
from parsers.formats.general.text.network_lines import measured
from parsers.formats.general.text.platform_lines import severity_of_platform
from parsers.formats.general.text.proc_lines import DOTNET, LINES, QUEUES, counted
from parsers.formats.general.text.program_lines import severity_of_program
from parsers.formats.general.text.queue_lines import BACKLOG, queued
from parsers.formats.general.text.request_lines import requested
from parsers.formats.general.text.single_lines import (
    ADVICE,
    ATTRIBUTION,
    CODE,
    CODED,
    COMPLAINT,
    DISK_FAILS,
    LONGEST,
    MAIL_HEADER,
    MAIL_WAITS,
    QUOTED,
    RESOLVED,
    REST_IS_QUOTED,
    SEVERITY,
    Pair,
    Stamp,
    pairs_of,
    severity_of,
    stamp_of,
)
from parsers.formats.general.text.stated_lines import REPORT, event, stated
from parsers.formats.general.text.storage_lines import state_of
from parsers.formats.general.text.timing_lines import call_of, timed, unit_of
from parsers.formats.general.text.transfer_lines import TRANSFER, transferred
from parsers.formats.general.text.value_lines import TEXT, listed, opens_block, pairs_in
from parsers.formats.general.text.web_records import fields_of, request_of
from parsers.provenance.prompts import is_lead, prompt_of
from parsers.tables.rows import State
from parsers.text.prose import FENCE
from parsers.text.times import wall_seconds

NAMES_COUNTED = 2000
"""Maximum number of names whose samples are numbered; samples of further names have no number."""

_TITLE = re.compile(
    r"\[(?P<section>[A-Za-z][\w. :/-]{0,60})\]|(?:[=#*-]{2,} ?)(?P<ruled>[A-Za-z][^=#*]{1,60}?)(?: ?[=#*-]{2,}):?"
    r"|(?P<capitals>[A-Z][A-Z0-9]+(?:[ /&,_-]+[A-Z0-9]+){0,7}):?"
)
_CODE_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
LISTED = "listed name"
"""Heading of a name in capitals that stands alone on its line: a list of waits that was cut to one column, or a title."""
_BLOCK = re.compile(r"[ \t]*(?P<name>Limits|Requests):[ \t]*")
"""Head of a block of a container's resources; lines with a larger indent belong to the block."""

_SECTION = re.compile(r"(?:Conditions|Events|Allocated resources|Non-terminated Pods):(?: +\([0-9]+ in total\))?[ \t]*")
"""Head of a table in the output of `kubectl describe`, which prints no blank line above it."""

_COUNTER = re.compile(r"(?:.{0,60}?[ \t])?(?P<path>\\\\[^\\]{1,100}\\[^\\]{1,200}\\[^\\]{1,200}?)[ \t]*:?[ \t]*")
"""Name of a counter as Get-Counter of PowerShell prints it; its value stands on the next line."""

_NUMBER = re.compile(r"[ \t]*[0-9]{1,18}(?:\.[0-9]{1,18})?[ \t]*")
"""A number alone on its line, as `wc -l` or a file of /proc/sys prints it."""

COMMAND = 120
"""Maximum number of characters of a command that are stored as the name of the number it printed."""

_COMMAND = re.compile(r"\$ [a-z./~][\w./-]*(?:[ \t].*)?")
_COMMENT = re.compile(r"[ \t]*(?:#|;|//)")
_NAMES = re.compile(
    r"(?:variable|parameter|setting|counter|metric|stat|key|option|property|name)(?:[_ ]?name)?s?", re.I
)
_VALUES = re.compile(r"(?:current[_ ]?)?(?:values?|settings?|counts?|totals?)", re.I)
_FENCED = re.compile(FENCE)
_DAY_S = 86400.0

_DOTNET = re.compile(
    r"[ \t]{0,12}(?P<level>trce|dbug|info|warn|fail|crit): [\w.+`<>-]{1,200}\[[0-9]{1,9}\](?P<text> \S.*)?"
)
"""First line of an entry of .NET's console logger (Microsoft.Extensions.Logging.Console); its message stands below, further in,
or on the same line (SingleLine)."""

_DOTNET_LEVELS = {"trce": "TRACE", "dbug": "DEBUG", "info": "INFO", "warn": "WARN", "fail": "ERROR", "crit": "CRITICAL"}

_ERLANG = re.compile(
    r"=(?P<level>ERROR|WARNING|INFO|NOTICE|CRITICAL|CRASH|SUPERVISOR|PROGRESS) REPORT==== (?P<day>[0-9]{1,2})-(?P<month>[A-Z][a-z]{2})"
    r"-(?P<year>[0-9]{4})::(?P<h>[0-9]{2}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2}(?:\.[0-9]{1,6})?)(?P<utc> UTC)? ===[ \t]*"
)
"""Head of a report of Erlang's logger (RabbitMQ, ejabberd, CouchDB, Riak); its message stands below, to the next blank line."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ERLANG_LEVELS = {"WARNING": "WARN", "PROGRESS": "INFO", "CRASH": "ERROR", "SUPERVISOR": "ERROR"}

_SAID = gates.PROGRAM | gates.DATABASE | gates.PLATFORM

SHAPES = 5000
"""Maximum number of shapes of lines that are remembered; a log has some hundred."""

_ANY_DIGIT = str.maketrans("023456789", "111111111")
_ZERO = re.compile(r"(?<![0-9])0")
"""The first digit of a number, if it is zero: "0 errors" is no complaint."""

_TELLING = re.compile(r"(?<![0-9])(?:408|425|429|[0-9](?=[0-9]{2}(?![0-9])))|(?<=[A-Za-z])[0-9](?![0-9A-Za-z])")
"""Digits that mean something: the first one of a number that may be the status of an answer, of some statuses all, and the last
one of a name such as FIN_WAIT2."""

_UNREAD, _NOTHING = range(2)
"""What is known of a shape: no reader of `_is_read` knows its lines, or nobody does."""

_IDLE = frozenset((
    "mode", "shape", "row_no", "table_no", "title", "samples", "now", "clock", "last", "days", "other_stamps", "variant",
    "command", "pid", "looked_up", "filter", "queue", "pressure", "listed", "stated",
))  # fmt: skip
"""Keys of a state in which a line of a known shape that nobody knew is known by nobody again."""

_CALM = _IDLE | {"after_log", "slow", "numbered", "dotnet", "time_unit", "block", "fields"}
"""Keys of a state in which `_is_read` depends on nothing but the line, its groups and the command."""

_NOTED = ("filter", "queue", "pressure", "listed", "stated")
"""Keys of what readers carry from line to line; empty if they carry nothing."""

Row = dict[str, Any]
Line = tuple[int, str, bool, Stamp | None, int]
"""Number, text, whether it is a sentence, the stamp that it begins with, and the groups that could know it (`gates`)."""


class Paragraphs:
    """Reads the lines of a run in order; collects rows by table, and which other lines were read or are prose.

    `state` is carried from run to run.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.rows: dict[str, list[Row]] = {}
        self.read: list[int] = []
        self.prose: list[int] = []
        self.remarks: list[tuple[int, str]] = []
        self._lines: list[Line] = []
        self._shapes: dict[tuple[object, ...], int] = {}

    # --- lines ---------------------------------------------------------------------------------------------------------

    def take(self, no: int, line: str, written: bool, groups: int = gates.ALL) -> None:
        """Read the next line; `written` is True if it is a sentence, `groups` are those that could know it (`gates`)."""
        if "entry" in self.state and self._goes_on_entry(no, line):
            return
        if self._is_of_erlang(no, line):
            return
        if (OPEN in self.state or line[-1:] in "{[") and not self.state.get("advice"):
            self._object(no, line)
        if not line.strip():
            if (event := self.state.get("event")) is not None and "text" in event and not event["text"]:
                return  # the message of an event may stand below a blank line
            if self._lines and tables.waits_for_rows(*(text for _, text, *_ in self._lines[-2:])):
                return
            self._close_event()
            self._close_record()
            self._close_reply()
            self._close_tree()
            if stack := self.state.get("stack"):
                stack["blank"] = True
            else:
                self.end_paragraph()
            return
        if self.state.get("quoting") and prompt_of(line) is None:
            self.prose.append(no)
            return
        if (tree := self.state.get("tree")) is not None:
            if (done := call_trees.goes_on(tree, line, no)) is not None:
                self._stacks(done)
                self.read.append(no)
                return
            self._close_tree()
        elif call_trees.opens(line):
            self.end_paragraph()
            self.state["tree"] = call_trees.new()
            self.read.append(no)
            return
        elif not self.state.get("stack") and call_trees.goes_without_heading(line):
            self.end_paragraph()
            self.state["tree"] = tree = call_trees.new()
            self._stacks(call_trees.goes_on(tree, line, no) or [])
            self.read.append(no)
            return
        if stack := self.state.get("stack"):
            if len(line) <= LONGEST * 10 and stacks.goes_on(stack, line, no):
                self.read.append(no)
                return
            self._close_stack()
        stamp = stamp_of(line)
        shape = self._shape(line, stamp, written, groups)
        known = self._shapes.get(shape) if shape else None
        if known == _NOTHING and self.state.keys() <= _IDLE:
            return
        if known is None:
            if self._is_read(no, line, groups):
                return
            if shape and self._is_calm():
                self._remember(shape, _UNREAD)
        if self._is_request(no, line, stamp) or ('{"' in line[:COMMAND] and self._is_entry(no, line)):
            return
        if (
            stamp
            and "Thread" in line
            and ("TID-" in line or "#<Thread" in line)
            and len(line) <= LONGEST
            and (opened := stacks.in_log(line, no))
        ):
            self.end_paragraph()
            self.state["stack"] = opened
            self.read.append(no)
            return
        if stamp and stamp.rest and self.state.get("mode") == "lines" and not self.state.get("advice"):
            self._log(no, self._time(stamp.clock, stamp.t, no), stamp.rest, severity_of(line))  # most lines of a log
            self._after_log(no, stamp.rest, groups)
            return
        if not ("Call Site" in line and line.lstrip(" \t").startswith("#")) and self._is_border(no, line, stamp):
            return  # the heading of a debugger's stack looks like a prompt
        if len(line) <= LONGEST and "deadlock" in line and stacks.DEADLOCK.fullmatch(line):
            self.end_paragraph()
            self._add("logs", no, t_local=self.state.get("now"), source="text", severity="error", text=line.strip())
            return
        if len(line) <= LONGEST and (opened := stacks.opens(line, no, self.state.get("pid"), self._stack_may_begin())):
            self.end_paragraph()
            self.state["stack"] = opened
            self.read.append(no)
            return
        if (said := self.state.get("slow")) and (opened := stacks.below_log(line, no, tuple(said))):
            self.state.pop("slow")
            self.state["stack"] = opened
            self.read.append(no)
            return
        if "mode" in self.state:
            before = self._counts() if shape and self.state.keys() <= _IDLE else None
            self._one(no, line, written, stamp, groups)
            if shape and before == self._counts():
                self._remember(shape, _NOTHING)
            return
        self._lines.append((no, line, written, stamp, groups))
        if len(self._lines) >= tables.LOOK or (
            stamp and groups & gates.STUCK and stacks.SLOW.search(stamp.rest[:LONGEST])
        ):
            self._decide()

    def _is_read(self, no: int, line: str, groups: int) -> bool:
        """Offer a line to the readers that look at each line, in any paragraph; return whether one took it."""
        return (
            self._is_lookup(no, line)
            or self._is_reply(no, line)
            or self._is_event(no, line)
            or self._is_record(no, line)
            or self._is_report(no, line)
            or self._is_performance_counter(no, line)
            or self._is_stated(no, line, groups)
            or self._is_counted(no, line)
            or self._is_profile_list(no, line)
        )

    # --- shapes: a large log has few, and what was tried in vain on one line need not be tried on the next one ----------

    def _is_calm(self) -> bool:
        state = self.state
        return state.get("mode") == "lines" and state.keys() <= _CALM and not any(state.get(name) for name in _NOTED)

    def _shape(self, line: str, stamp: Stamp | None, written: bool, groups: int) -> tuple[object, ...] | None:
        """Return what readers can tell apart of a line; None if the state, too, decides what they do.

        Digits are alike, but for those of `_ZERO` and `_TELLING`; those of a stamp are all alike.
        """
        if len(line) > LONGEST or not self._is_calm():
            return None
        rest = stamp.rest if stamp and line.endswith(stamp.rest) else line
        begin = line[: len(line) - len(rest)].translate(_ANY_DIGIT)
        beside = (self.state.get("command"), written, groups, stamp is None)
        return (begin, _ZERO.sub("o", rest).translate(_ANY_DIGIT), *beside, *_TELLING.findall(rest))

    def _remember(self, shape: tuple[object, ...], known: int) -> None:
        if len(self._shapes) >= SHAPES:
            self._shapes.clear()
        self._shapes[shape] = known

    def _counts(self) -> tuple[object, ...]:
        """Return what changes if a reader makes anything of a line."""
        made = sum(map(len, self.rows.values()))
        return (made, len(self.read), len(self.prose), len(self.remarks), self.state.get("title"), *self.state)

    def _object(self, no: int, line: str) -> None:
        """Follow the objects of a JSON document over several lines; add the row of one that ends on this line."""
        if (found := closed_by(self.state, no, line)) is not None:
            first, heading, cells = found
            cut = {"table_no": 0, "row_no": first, "heading": heading, "cells": cells}
            self._add("rows", first, line_end=no, t_local=self.state.get("now"), **cut)

    def _is_of_erlang(self, no: int, line: str) -> bool:
        """Read the head of an Erlang report or a line of its message; return whether it is one.

        The first line of the message becomes a row of `logs`; if it ends in a colon, the second line is added to it.
        """
        head = _ERLANG.fullmatch(line) if line.startswith("=") and len(line) <= COMMAND else None
        if head is None and "erlang" not in self.state:
            return False
        report = self.state.pop("erlang", None)
        if report and report["text"] and (head or not line.strip() or not report["announces"]):
            self._log_of_erlang(report)
        if head:
            self.end_paragraph()
            month = _MONTHS.index(head["month"]) + 1 if head["month"] in _MONTHS else 0
            day = (int(head["year"]), month, int(head["day"]))
            t = wall_seconds(*day, int(head["h"]), int(head["m"]), float(head["s"]))
            level = _ERLANG_LEVELS.get(head["level"], head["level"])
            at = None if t is None else self._time("wall-utc" if head["utc"] else "wall-local", t, no)
            self.state["erlang"] = {"level": level, "t": at, "no": no, "text": "", "announces": True}
            self.read.append(no)
            return True
        if not line.strip():
            return False
        if report["announces"]:
            said = line.strip()[:LONGEST]
            first = not report["text"]
            report["text"] = said if first else f"{report['text']} {said}"
            report["no"] = no if first else report["no"]
            report["announces"] = first and said.endswith(":")
            if not report["announces"]:
                self._log_of_erlang(report, no)
                report["text"] = ""
        else:
            self.read.append(no)
        self.state["erlang"] = report
        return True

    def _log_of_erlang(self, report: State, until: int | None = None) -> None:
        found = {"source": "text", "severity": report["level"], "code": None, "text": report["text"]}
        self._add(
            "logs",
            report["no"],
            t_local=report["t"],
            line_end=until or report["no"],
            **found,
            op=None,
            elapsed_s=None,
            ok=None,
        )

    def _after_log(self, no: int, text: str, groups: int) -> None:
        """Remember that the last line was a log line, and its text if it reports a stuck thread: a stack may follow."""
        self.state["after_log"] = True
        self.state.pop("slow", None)
        if groups & gates.STUCK and stacks.SLOW.search(text[:LONGEST]):
            self.state["slow"] = [no, text[:LONGEST]]

    def _stack_may_begin(self) -> bool:
        """Return whether a frame on this line begins a stack; below an exception's message it does not."""
        if self.state.get("after_log") or self.state.get("advice"):
            return False
        return "mode" not in self.state and (not self._lines or self._lines[-1][2] or self._lines[-1][1].endswith(":"))

    def end_paragraph(self) -> None:
        """End the paragraph and drop the state that only applies to it."""
        self._close_stack()
        self._close_tree()
        self._close_record()
        self._close_event()
        self._close_reply()
        self._decide()
        if self.state.pop("held", None):  # a paragraph of rows came after the words of advice
            self.state.pop("advice", None)
        self.state.pop("mode", None)
        self.state.pop("after_log", None)
        self.state.pop("slow", None)
        self.state.pop("time_unit", None)
        self.state.pop("block", None)

    def end_run(self, last: bool) -> None:
        """Read the collected lines; if this is the `last` run of the part, close all that is open."""
        if last:
            if (held := self.state.pop("entry", None)) is not None:
                self._close_entry(held)
            if (report := self.state.pop("erlang", None)) and report["text"]:
                self._log_of_erlang(report)
            self.end_paragraph()
        else:
            self._decide()

    def _is_border(self, no: int, line: str, stamp: Stamp | None) -> bool:
        """Handle a line that ends a paragraph (quotation, fence, prompt, bare date); return whether it is one."""
        if QUOTED.match(line):
            self.end_paragraph()
            self.prose.append(no)
            return True
        if len(line) > LONGEST:
            return False
        if _SECTION.fullmatch(line):
            self.end_paragraph()
            self.read.append(no)
            return True
        if REST_IS_QUOTED.fullmatch(line):
            self.end_paragraph()
            self.state["quoting"] = True
            self.prose.append(no)
            return True
        if stamp is not None and not stamp.rest:
            self.end_paragraph()
            self.state["now"] = self._time(stamp.clock, stamp.t, no)
            self.read.append(no)
            return True
        if stamp is None and (is_lead(line) or _COMMAND.fullmatch(line)):
            self.end_paragraph()
            for name in ("advice", "title", "quoting", "now", "pid", "command", "filter", "pressure"):
                self.state.pop(name, None)
            if (prompt := prompt_of(line)) and prompt.command:
                self.state["command"] = prompt.command[:COMMAND]
            self._asks(no, prompt.command if prompt else line)
            if of := stacks.OF_PROCESS.search(line):
                self.state["pid"] = int(of["pid"])
            self.read.append(no)
            return True
        if line.startswith("#!"):  # the lines of a script are commands, not facts
            self.end_paragraph()
            self.state |= {"advice": True, "held": True}
            self.prose.append(no)
            return True
        if _FENCED.match(line) or MAIL_HEADER.match(line) or ATTRIBUTION.fullmatch(line):
            self.end_paragraph()
            self.prose.append(no)
            return True
        return False

    def _is_profile_list(self, no: int, line: str) -> bool:
        """Read the heading of a list of functions; return whether it is one.

        A row that identifies its list opens the list without a heading. A list of callers continues below a blank line.
        """
        if self.state.get("advice"):
            return False
        heading = profile_lists.heading_of(line)
        cut = None if heading or self.state.get("mode") == "table" else profile_lists.headless(line)
        if cut is not None:
            self.end_paragraph()
            shape = {"mode": "profile", "heading": cut, "starts": []}
            self.state |= {"mode": "table", "shape": shape, "row_no": 0, "table_no": self.state.get("table_no", 0) + 1}
            return False  # the line itself is a row
        if heading is None:
            callers = self.state.get("callers")
            if callers is None or "mode" in self.state or self._lines:
                return False
            if profile_lists.cells_of(callers["heading"], line) is None:
                self.state.pop("callers")
                return False
            self.state |= {"mode": "table", "shape": callers}
            return False
        self._decide()
        if self.state.get("advice"):  # the line above the heading has just been read as advice
            return False
        self.end_paragraph()
        shape = {"mode": "profile", "heading": heading, "starts": []}
        self.state |= {"mode": "table", "shape": shape, "row_no": 0, "table_no": self.state.get("table_no", 0) + 1}
        if heading == list(profile_lists.TICKS_OF_PARENT):
            self.state["callers"] = shape
        self.read.append(no)
        return True

    # --- what clients of databases print -----------------------------------------------------------------------------

    def _is_record(self, no: int, line: str) -> bool:
        """Read a line of a record; return whether it is one. Its name and value are stored as a pair too."""
        if not self.state.get("advice") and len(line) <= LONGEST and records.opens(line):
            self.end_paragraph()
            self.state["record"] = records.open_at(no)
            self.read.append(no)
            return True
        record = self.state.get("record")
        if record is None:
            if self.state.get("advice") or len(line) > LONGEST or not records.opens_bare(line):
                return False
            self._decide()
            record = self.state["record"] = records.open_at(no - 1)
        if len(line) > LONGEST or not records.goes_on(record, line):
            self._close_record()
            return False
        name, value = record["heading"][-1], record["cells"][-1]
        if name and value:
            self._pairs(no, pairs_of(f"{line.replace('|', ':').split(':', 1)[0].strip()}: {value}"))
        return True

    def _is_event(self, no: int, line: str) -> bool:
        """Read a line of a Windows event that is a record of several lines; return whether it is one."""
        if (event := self.state.get("event")) is not None:
            if not event_records.opens(line) and event_records.goes_on(event, line, no):
                self.read.append(no)
                return True
            self._close_event()
        if self.state.get("advice") or not event_records.opens(line):
            return False
        self.end_paragraph()
        self.state["event"] = event_records.open_at(no)
        event_records.goes_on(self.state["event"], line, no)
        self.read.append(no)
        return True

    def _close_event(self) -> None:
        event = self.state.pop("event", None)
        if event is None or (made := event_records.row_of(event)) is None:
            return
        stamp, no = event_records.stamp(event), event["line_end"]  # cite the message, which says what happened
        now = self._time(stamp.clock, stamp.t, no) if stamp else self.state.get("now")
        found = {"t_local": now, "code": None, "op": None, "elapsed_s": None, "ok": None, **made}
        self._add("logs", no, line_end=no, source="text", **found)

    def _close_record(self) -> None:
        record = self.state.pop("record", None)
        if record is None or not record["cells"]:
            return
        self.state["table_no"] = self.state.get("table_no", 0) + 1
        first, cells = record["line_no"], record["cells"]
        made = {"table_no": self.state["table_no"], "row_no": 1, "heading": record["heading"], "cells": cells}
        self._add("rows", first, line_end=first + len(cells) - 1, t_local=self.state.get("now"), **made)

    def _is_reply(self, no: int, line: str) -> bool:
        """Read a line of a nested reply of redis-cli; return whether it is one.

        Lines of a list that `replies` does not know give no row and count as unknown.
        """
        if (reply := self.state.get("reply")) is not None:
            if replies.goes_on(reply, no, line):
                return True
            self._close_reply()
        if self.state.get("advice") or len(line) > LONGEST or not replies.opens(line):
            return False
        self._decide()
        self.state["reply"] = replies.open_at(no)
        return replies.goes_on(self.state["reply"], no, line)

    def _close_reply(self) -> None:
        reply = self.state.pop("reply", None)
        if reply is None or (made := replies.row_of(reply)) is None:
            return
        at, op, elapsed, text = made
        now = self._time("wall-utc", at, reply["line_no"])
        found = {
            "t_local": now,
            "severity": None,
            "code": None,
            "text": text,
            "op": op,
            "elapsed_s": elapsed,
            "ok": None,
        }
        self._add("logs", reply["line_no"], line_end=reply["line_end"], source="text", **found)

    def _is_report(self, no: int, line: str) -> bool:
        """Read a line of a free-text report (see `reports`); return whether it is one."""
        if self.state.get("advice") or QUOTED.match(line):
            return False
        if self.state.get("mode") == "table" and self.state["shape"]["mode"] != "bar":
            return False
        report = reports.report_of(line, self.state.get("report"))
        if report is None:
            if self.state.get("report") != reports.PLAN or line[:1] not in " \t":
                self.state.pop("report", None)
            return False
        self._decide()
        self.state["report"] = report
        if report in (reports.INNODB, reports.SERVICE):
            self._pairs(no, pairs_of(line))
        if report == reports.SERVICE and COMPLAINT.match(line):
            self._log(no, self.state.get("now"), line.strip())
        made = {"table_no": 0, "row_no": no, "heading": [report], "cells": [line[: reports.LONGEST].rstrip()]}
        self._add("rows", no, line_end=no, t_local=self.state.get("now"), **made)
        return True

    # --- commands that ask for names ---------------------------------------------------------------------------------

    def _asks(self, no: int, command: str | None) -> None:
        """Read a command line: if it calls a look-up tool, the lines below it may be the answer."""
        self.state.pop("lookup", None)
        if command is not None and len(command) <= LONGEST and (tool := lookups.tool_of_command(command)):
            self.state["lookup"] = self.state["looked_up"] = tool
            self._lookup(no, f"$ {command.strip().removeprefix('$ ')}")
        elif command is not None and self.state.get("looked_up") and len(command) <= COMMAND:
            self._lookup(no, f"{lookups.BETWEEN}{command.strip().removeprefix('$ ')}")

    def _is_lookup(self, no: int, line: str) -> bool:
        """Store a line of a name look-up; return whether nothing else must read it.

        A line that is also a measured step or a complaint returns False, so that it becomes a row of `logs` too.
        """
        if self.state.get("advice") or len(line) > LONGEST:
            return False
        tool = lookups.tool_of(line, self.state.get("lookup"))
        if tool is None:
            self.state.pop("lookup", None)
            return False
        self.state["lookup"] = tool
        self._lookup(no, line.rstrip())
        if measured(line) or COMPLAINT.match(line):
            return False
        self._decide()
        return True

    def _lookup(self, no: int, text: str) -> None:
        made = {"table_no": 0, "row_no": no, "heading": [lookups.LOOKUP], "cells": [text]}
        self._add("rows", no, line_end=no, t_local=self.state.get("now"), **made)

    # --- paragraphs ----------------------------------------------------------------------------------------------------

    def _decide(self) -> None:
        """Decide whether the collected lines are a table, and read them."""
        lines, self._lines = self._lines, []
        if not lines:
            return
        texts = [line for _, line, *_ in lines]
        self.state["mode"] = "lines"
        if not self.state.get("advice") and (setting := tables.one_value(texts)):
            self.read.extend(no for no, *_ in lines if no != lines[2][0])
            self.state.pop("title", None)
            self._pairs(lines[2][0], pairs_of(f"{setting[0]} = {setting[1]}"))
            return
        if not self.state.get("advice") and (cut := stacked_tables.cut_in(texts, [line[2] for line in lines])):
            for part in (lines[:cut], lines[cut:]):
                self._lines = part
                self._decide()
                self.state.pop("mode", None)
            self.state["mode"] = "lines"
            return
        for at in range(min(tables.ABOVE, len(lines) - 1)):
            # A sentence has no cells; a table below words of advice is not a fact about the host.
            if lines[at][2] or self.state.get("advice") or (shape := tables.table_at(texts[at:])) is None:
                continue
            for line in lines[:at]:
                self._one(*line)
            self.state |= {"mode": "table", "shape": shape, "row_no": 0, "table_no": self.state.get("table_no", 0) + 1}
            self.read.append(lines[at][0])
            lines = lines[at + 1 :]
            break
        else:
            lines = self._below_two_lines(lines)
        for line in lines:
            self._one(*line)

    def _below_two_lines(self, lines: list[Any]) -> list[Any]:
        """Return the lines that are still to be read: those below a heading of two lines if the paragraph has one."""
        for at in range(min(tables.ABOVE, len(lines) - 2)):
            if lines[at][2] or self.state.get("advice"):
                continue
            if shape := tables.two_lines_at([line for _, line, *_ in lines[at:]]):
                for line in lines[:at]:
                    self._one(*line)
                self.state |= {
                    "mode": "table",
                    "shape": shape,
                    "row_no": 0,
                    "table_no": self.state.get("table_no", 0) + 1,
                }
                self.read += [lines[at][0], lines[at + 1][0]]
                return lines[at + 2 :]
        return lines

    def _one(self, no: int, line: str, written: bool, stamp: Stamp | None, groups: int) -> None:
        """Read one line of a paragraph of which it is decided whether it is a table."""
        if tables.RULE.fullmatch(line) or (self.state["mode"] == "table" and tables.FOOTER.fullmatch(line)):
            self.read.append(no)
        elif (
            self.state["mode"] != "table"
            or (written and not tables.tells(self.state["shape"]["heading"]))
            or not self._row(no, line)
        ):
            self._single(no, line, written, stamp, groups)

    def _row(self, no: int, line: str) -> bool:
        shape = self.state["shape"]
        cells = tables.row_of(shape, line)
        if cells is None:
            return False
        if cells == shape["heading"]:
            self.read.append(no)
            return True
        self.state["row_no"] += 1
        made = {
            "table_no": self.state["table_no"],
            "row_no": self.state["row_no"],
            "heading": shape["heading"],
            "cells": cells,
        }
        stamp = stamp_of(line.lstrip(" |"))
        now = self._time(stamp.clock, stamp.t, no) if stamp else self.state.get("now")
        self._add("rows", no, line_end=no, t_local=now, **made)
        if text := tables.message_of(shape["heading"], cells):
            kind = tables.severity_of(shape["heading"], cells)
            found = {"t_local": now, "severity": kind, "code": None, "text": text}
            self._add("logs", no, source="text", **found, op=None, elapsed_s=None, ok=None)
        # A table of names and values has the same facts as lines of them.
        if len(cells) == 2 and _NAMES.fullmatch(shape["heading"][0]) and _VALUES.fullmatch(shape["heading"][1]):
            self._pairs(no, pairs_of(f"{cells[0]}: {cells[1]}"))
        return True

    # --- lines by themselves -------------------------------------------------------------------------------------------

    def _single(self, no: int, line: str, written: bool, stamp: Stamp | None, groups: int) -> None:
        state = self.state
        for heading, cells in () if state.get("advice") else json_rows.rows_of(line):
            cut = {"table_no": 0, "row_no": no, "heading": heading, "cells": cells}
            self._add("rows", no, line_end=no, t_local=state.get("now"), **cut)
        if stamp is None and not state.get("advice"):
            if unit := unit_of(line):
                state["time_unit"] = unit
                self.read.append(no)
                return
            if dates := validity(line):
                self._pairs(no, dates)
                return
            if ("/s" in line or "bytes/sec" in line) and (moved := transferred(line)):
                row = {"table_no": 0, "row_no": no, "heading": [TRANSFER], "cells": moved}
                self._add("rows", no, line_end=no, t_local=state.get("now"), **row)
                return
            if made := measured(line) or timed(line, state.get("time_unit")) or lasted(line):
                self._measured(no, *made)
                return
            if request := requested(line):
                self._measured(no, *request, line.strip())
                return
            if groups & _SAID and (
                said := severity_of_program(plain := line.strip())
                or severity_of_database(plain)
                or severity_of_platform(plain)
            ):
                self._log(no, state.get("now"), line.strip(), said)
                self._after_log(no, line.strip(), groups)
                return
            if announces_message(line):
                self._log(no, state.get("now"), line.strip(), "ERROR")
                state["numbered"] = no
                return
            if state.pop("numbered", None) == no - 1:
                self._log(no, state.get("now"), line.strip(), "ERROR")
                return
            if DISK_FAILS.fullmatch(line.strip()):
                self._log(no, state.get("now"), line.strip(), "FATAL")
                return
            if len(line) <= 2 * LONGEST and MAIL_WAITS.fullmatch(line.strip()):
                self._log(no, state.get("now"), line.strip(), "ERROR")
                return
            if said := state_of(line):
                self._log(no, state.get("now"), line.strip(), said)
                return
            if len(line) <= LONGEST and (coded := CODED.fullmatch(line.strip())):
                self._log(no, state.get("now"), line.strip(), "ERROR" if coded["code"] else None)
                return
            of_resolved = "transaction" in line or line.lstrip(" \t").startswith("Sending ")
            if of_resolved and len(line) <= LONGEST and RESOLVED.fullmatch(line.strip()):
                self._log(no, state.get("now"), line.strip())
                return
        if (written or (line.endswith((":", ",")) and line.count(" ") >= 2 and ADVICE.search(line))) and stamp is None:
            state["advice"] = bool(ADVICE.search(line)) or None
            state.pop("held", None)
            self.prose.append(no)
            return
        if state.get("advice"):
            state["held"] = True
            self.prose.append(no)
            return
        if stamp is not None:
            self._log(no, self._time(stamp.clock, stamp.t, no), stamp.rest, severity_of(line))
            self._after_log(no, stamp.rest, groups)
            return
        if (level := state.pop("dotnet", None)) and line[0] in " \t":
            self._log(no, state.get("now"), line.strip(), level)
            state["after_log"] = True
            return
        if entry := _DOTNET.fullmatch(line):
            if entry["text"]:
                self._log(no, state.get("now"), line.strip(), _DOTNET_LEVELS[entry["level"]])
                return
            state["dotnet"] = _DOTNET_LEVELS[entry["level"]]
            self.read.append(no)
            return
        if state.get("after_log") and line[0] in " \t":
            self.read.append(no)  # a message of several lines
            return
        state.pop("after_log", None)
        if len(line) > LONGEST:
            return
        if COMPLAINT.match(line) and not ADVICE.search(line):
            self._log(no, state.get("now"), line.strip())
            return
        title = _TITLE.fullmatch(line.strip())
        if title is not None:
            state["title"] = next(filter(None, title.groups())).strip()
            if title["capitals"] and _CODE_NAME.fullmatch(title["capitals"]):
                listed = {"table_no": 0, "row_no": no, "heading": [LISTED], "cells": [title["capitals"]]}
                self._add("rows", no, line_end=no, t_local=state.get("now"), **listed)
                return
            self.read.append(no)
            return
        if _COMMENT.match(line):
            self.prose.append(no)
            return
        if (command := state.get("command")) and _NUMBER.fullmatch(line):
            level = {
                "grp": "command",
                "item": None,
                "name": command,
                "value": float(line),
                "unit": None,
                "mode": "level",
            }
            self._add("counters", no, t_local=state.get("now"), sample=self._sample("command", command), **level)
            return
        if mounted := options_of(line):
            self._pairs(no, mounted[1], title=mounted[0])
            return
        indent = len(line) - len(line.lstrip(" \t"))
        if (block := state.get("block")) and indent <= block[1]:
            state.pop("block")
        if head := _BLOCK.fullmatch(line) or opens_block(line):
            state["block"] = [head["name"], indent]
            self.read.append(no)
            return
        self._pairs(no, pairs_in(line))

    def _measured(self, no: int, op: str, elapsed: float | None, ok: bool | None, text: str) -> None:
        """Add a row of `logs` for one step with its elapsed time in seconds: see `network_lines` and `timing_lines`."""
        found = {"t_local": self.state.get("now"), "severity": None, "code": None, "text": text}
        self._add("logs", no, source="text", **found, op=op, elapsed_s=elapsed, ok=ok)

    def _log(self, no: int, t: float | None, text: str, said: str | None = None) -> None:
        severity = None if said else SEVERITY.search(text[:200])
        code = CODE.search(text) if "ORA-" in text or "TNS-" in text else None
        call = call_of(text)
        request = requested(text) if call is None else None
        complaint = None if severity or said else COMPLAINT.match(text[:200])
        named = (
            next(filter(None, severity.groups()), None) if severity else complaint["severity"] if complaint else said
        )
        self._add(
            "logs",
            no,
            t_local=t,
            source="text",
            severity=named,
            code=f"{code[1]}{code[2]}" if code else None,
            text=text,
            op=call[0] if call else request[0] if request else None,
            elapsed_s=call[1] if call else request[1] if request else None,
            ok=request[2] if request else None,
        )

    def _pairs(self, no: int, pairs: list[Pair], title: str | None = None) -> None:
        block = self.state.get("block")
        now, title = self.state.get("now"), title or (block[0] if block else self.state.get("title"))
        for pair in pairs:
            if pair.setting or pair.num is None:
                # A size such as 128M compares with no other number.
                num = pair.num if pair.unit in (None, "%") else None
                made = {"scope": "text", "entity": pair.of or title, "name": pair.name, "value": pair.value, "num": num}
                self._add("params", no, t_local=now, active=True, **made)
                continue
            made = {
                "grp": "text",
                "item": title,
                "name": pair.name,
                "value": pair.num,
                "unit": pair.unit,
                "mode": "level",
            }
            self._add("counters", no, t_local=now, sample=self._sample(title, pair.name), **made)

    def _sample(self, title: str | None, name: str) -> int | None:
        counted: dict[str, int] = self.state.setdefault("samples", {})
        key = f"{title or ''}\0{name}"
        if key not in counted and len(counted) >= NAMES_COUNTED:
            return None
        counted[key] = counted.get(key, 0) + 1
        return counted[key]

    def _is_counted(self, no: int, line: str) -> bool:
        """Read counters of /proc, a packet filter, a packet queue or a store; return whether the line is of them."""
        if self.state.get("advice") or (":" in line[:12] and profile_lists.headless(line)):
            return False  # a row of a list of classes begins as one of /proc/interrupts does
        of_filter: State = self.state.setdefault("filter", {})
        ruled = filtered(line, of_filter)
        if ruled is None:
            ruled = queued(line, self.state.setdefault("queue", {}))
        counts = ruled or counted(line) or [(COMMANDS, *field) for field in fielded(line)] or exposed(line)
        counts = counts or host_counters(line, self.state.get("command"), self.state.setdefault("pressure", {}))
        counts = counts or listed(line, self.state.setdefault("listed", {}))
        if not counts:
            if ruled is not None:
                self._decide()
                self.read.append(no)
            return ruled is not None
        self._decide()
        stamp = stamp_of(line) if counts[0][0] == DOTNET else None
        now = self._time(stamp.clock, stamp.t, no) if stamp else self.state.get("now")
        for group, item, name, value in counts:
            made = {
                "grp": group,
                "item": item,
                "name": name,
                "value": value,
                "unit": None,
                "mode": "level" if group in (LINES, QUEUES, BACKLOG, DOTNET, METRICS, TEXT) else "total",
            }
            sample = self._sample(f"{group} {item}", name)
            self._add("counters", no, t_local=now, sample=sample, **made)
        return True

    def _is_request(self, no: int, line: str, stamp: Stamp | None) -> bool:
        """Read the field names of an IIS log, or a request below them; return whether the line is one of these."""
        if "#Fields:" in line[:40] and (names := fields_of(line.lstrip(" \t"))):
            self._decide()
            self.state["fields"] = names
            self.read.append(no)
            return True
        if stamp is None and "fields" in self.state and "\t" in line:
            stamp = stamp_of(line.replace("\t", " ", 1))
        if stamp is None or (held := self.state.get("fields")) is None or len(line) > LONGEST * 10:
            return False
        if (request := request_of(held, line)) is None:
            return False
        self._decide()
        asked, elapsed, answered = request
        found = {"severity": None, "code": None, "text": stamp.rest, "op": asked, "elapsed_s": elapsed, "ok": answered}
        self._add("logs", no, t_local=self._time(stamp.clock, stamp.t, no), source="text", **found)
        return True

    def _is_entry(self, no: int, line: str) -> bool:
        """Read an entry of a JSON log; return whether the line is one."""
        if self.state.get("advice") or QUOTED.match(line) or (entry := entry_of(line)) is None:
            return False
        self._decide()
        if entry_goes_on(line):
            self.state["entry"] = {"first": no, "last": no, "text": line}
        else:
            self._entry(no, entry)
        return True

    def _goes_on_entry(self, no: int, line: str) -> bool:
        """Read a further line of an entry that is broken between two members; return whether the line is one."""
        held = self.state.pop("entry")
        if no - held["first"] < MOST_OF_ENTRY and may_follow(line):
            held["last"], held["text"] = no, held["text"] + line.strip()
            self.read.append(no)
            if entry_goes_on(held["text"]):
                self.state["entry"] = held
            else:
                self._close_entry(held)
            return True
        self._close_entry(held)
        return False

    def _close_entry(self, held: State) -> None:
        if (entry := entry_of(held["text"])) is not None:
            self._entry(held["first"], entry)

    def _entry(self, no: int, entry: Entry) -> None:
        stamp = entry.stamp
        now = self._time(stamp.clock, stamp.t, no) if stamp else self.state.get("now")
        self._log(no, now, entry.text, entry.severity)

    def _is_performance_counter(self, no: int, line: str) -> bool:
        """Read the name of a Windows performance counter, or the value below it; return whether the line is one."""
        if (path := self.state.pop("counter", None)) is not None and _NUMBER.fullmatch(line):
            level = {"grp": "text", "item": None, "name": path, "value": float(line), "unit": None, "mode": "level"}
            self._add("counters", no, t_local=self.state.get("now"), sample=self._sample("", path), **level)
            return True
        if "\\\\" not in line or self.state.get("advice") or len(line) > LONGEST:
            return False
        if (named := _COUNTER.fullmatch(line)) is None or not line.rstrip().endswith(":"):
            return False
        self._decide()
        if stamp := stamp_of(line):
            self.state["now"] = self._time(stamp.clock, stamp.t, no)
        self.state["counter"] = named["path"]
        self.read.append(no)
        return True

    def _is_stated(self, no: int, line: str, groups: int) -> bool:
        """Read a line with figures of the system, or a row of a list of events; return whether it is one.

        See `stated_lines`. Such lines are read below words of advice too, because some of these tools print advice.
        """
        if QUOTED.match(line):
            return False
        if found := event(line) or event_row(line):
            self._decide()
            said = {"code": found["code"], "text": found["text"], "severity": found["severity"]}
            unknown = {"t_local": None, "op": None, "elapsed_s": None, "ok": None}  # day and month in either order
            self._add("logs", no, source="text", program=found["program"], **said, **unknown)
            return True
        made = stated(line, self.state.setdefault("stated", {}), groups)
        if made is None:
            return False
        self._decide()
        for counter, whose, value, most in made:
            cells = [counter, whose, f"{value:.15g}", "" if most is None else f"{most:.15g}"]
            row = {"table_no": 0, "row_no": no, "heading": [REPORT], "cells": cells}
            self._add("rows", no, line_end=no, t_local=self.state.get("now"), **row)
        if not made:
            self.read.append(no)
        return True

    def _stacks(self, done: list[Row]) -> None:
        if done:
            self.rows.setdefault("profile_stacks", []).extend(done)

    def _close_tree(self) -> None:
        if tree := self.state.pop("tree", None):
            self._stacks(call_trees.closed(tree))

    def _close_stack(self) -> None:
        stack = self.state.pop("stack", None)
        made = stacks.row_of(stack) if stack else None
        if made is not None:
            self.rows.setdefault("profile_stacks", []).append(made)

    def _add(self, table: str, no: int, **cells: Any) -> None:
        self.rows.setdefault(table, []).append({"line_no": no, **cells})

    def _time(self, clock: str, t: float, no: int) -> float | None:
        """Return `t` on the part's clock, whose kind the first stamp decides; None for a stamp of another kind."""
        state = self.state
        if state.setdefault("clock", clock) != clock:
            if not state.get("other_stamps"):
                state["other_stamps"] = True
                self.remarks.append((no, "a stamp of another form than the first: its lines have no time"))
            return None
        if clock == "time-of-day":
            # A fall by more than half a day means that midnight has passed.
            if t + state.get("days", 0) * _DAY_S < state.get("last", 0.0) - _DAY_S / 2:
                state["days"] = state.get("days", 0) + 1
            t += state.get("days", 0) * _DAY_S
            state["last"] = t
        return t
