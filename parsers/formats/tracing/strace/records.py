"""Classify strace lines that are not plain records (messages, stacks, dumps, tables) and rejoin records torn by other writers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from parsers.formats.tracing.shared.c_results import ANY_TAIL
from parsers.formats.tracing.strace import patterns as sl
from parsers.formats.tracing.strace.counts import Counts
from parsers.repair import traces
from parsers.text.inline_polars import where
from parsers.text.notes import ELISION

_P = re.sub(r"(?<!\\)\((?!\?)", "(?:", sl.PREFIX)
"""`PREFIX` without groups."""

START = re.compile(
    rf"^{_P}(?:{sl.NAME}\(|<\.\.\. {sl.NAME} resumed>|--- SIG|--- stopped|\+\+\+ (?:exited|killed|superseded))"
)
"""The beginning of a record, complete or not."""
OPENED = re.compile(rf"^{_P}(?:{sl.NAME}\(|<\.\.\. {sl.NAME} resumed>)")
COMPLETE = re.compile(rf"{ANY_TAIL}|<(?:unfinished|detached) \.\.\.>$|(?:---|\+\+\+)$")
RESULT = r"\)[\t ]*= (?:\?|-?[0-9]+|0x[0-9a-f]+)(?:<[^\"<>]*>)?(?: E[A-Z0-9]+)?(?: \([^()\"]*\))*(?: <[0-9]+\.[0-9]+>)?"
BEHIND = re.compile(
    rf"(?:{RESULT}|<unfinished \.\.\.>|[}}A-Z)] ---|[0-9)] \+\+\+)[\t ]+"
    rf"(?={_P}(?:{sl.NAME}\(|<\.\.\. {sl.NAME} resumed>|--- SIG|\+\+\+ (?:exited|killed)))"
)
TWO_ROWS = rf"{RESULT}[\t ]+{_P}(?:{sl.NAME}\(|<\.\.\. )"
"""A result followed by the beginning of another record: several records on one line. Rust syntax."""

_MESSAGE = (
    r"(?:strace: )?Process ([0-9]+) (?:attached(?: \(waiting for parent\)|(?: with [0-9]+ threads)?(?: - interrupt to quit)?)|detached|resumed|suspended)|"
    r"strace: \[ Process PID=[0-9]+ runs in [0-9a-z]+ [a-z]+ mode\. \]|\[ Process PID=[0-9]+ runs in [0-9a-z]+ [a-z]+ mode\. \]"
)
ATTACHED = re.compile(rf"^(.*?)({_MESSAGE})$")
PID_DIGITS = 10
_LEFT = re.compile(r"(?:strace: )?Process [0-9]+ detached$")
INTERRUPTS = re.compile(r"(?:\^[CZ\\])+$")
"""Text that a terminal shows for the keys with which a person ends or stops a command."""
TOOL = re.compile(r"^strace: |^\[ Process PID=")
STACK = r"^ ?> \S"
DUMP = r"^ \| [0-9a-f]{4,}  "
COMMAND = re.compile(r"(?:^|[#$%>][\t ]*|sudo |[\t ])strace[\t ]+(-.*)$")

_INJECTED = re.compile(r'^([^"]*"((?:[^"\\]|\\.)*)"(?:\.\.\.)?, [0-9]+)([^0-9].*)$', re.S)
MOST_LINES = 8
"""Maximum number of lines over which a torn record continues."""


def record_starts(text: str) -> list[int]:
    """Return the places within a line where a further record begins: after a result, a half or a signal."""
    return [found.end() for found in BEHIND.finditer(text)]


GRAMMAR = traces.Grammar(
    start=START,
    # A record that a message tears is not opened here: `_rejoin` below joins it without the message.
    opened=re.compile(rf"(?!.*(?:{_MESSAGE})$)(?:{OPENED.pattern}|^{_P}--- SIG)"),
    complete=COMPLETE,
    splits=record_starts,
    more=(
        (re.compile(r"\)[\t ]*= \S+(?: E[A-Z0-9]+)?(?: \([^\"]*\))?$"), re.compile(r"<[0-9]+\.[0-9]+>$")),
        (re.compile(r"\)[\t ]*= \S+(?: E[A-Z0-9]+)?$"), re.compile(r"\([^\"()]*\)?(?: <[0-9]+\.[0-9]+>)?$")),
        (re.compile(r"\)[\t ]*= (?:-1|\?)$"), re.compile(r"E[A-Z0-9]+(?: \([^\"]*)?$")),
        (re.compile(r"\)[\t ]*= -1 E[A-Z0-9]+ \([^()]*$"), re.compile(r"[^()=]*\)(?: <[0-9]+\.[0-9]+>)?$")),
    ),
    apart=re.compile(rf"{ELISION}|{STACK}|{TOOL.pattern}|(?:{_MESSAGE})$"),
)


@dataclass
class Text:
    """The classified lines of a data frame. Lists hold line numbers unless stated otherwise.

    `stacks`: line_no, line of stack lines; `tools`: messages of strace (line_no, pid, text); `born`: processes they report as attached.
    `cut_call`: the last line, a call without an end; `interrupted`: a person ended the trace while it was open.
    """

    records: pl.DataFrame
    stacks: pl.DataFrame
    gaps: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    notes: list[tuple[int, int, str, str]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    born: list[int] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    cut_call: dict[str, Any] | None = None
    interrupted: bool = False


def classify(frame: pl.DataFrame, cut: tuple[pl.DataFrame, pl.DataFrame], counts: Counts, *, last: bool) -> Text:
    """Classify each line of a data frame (line_no, line_end, pos, line) that `patterns.cut` has split into `cut`.

    `counts` takes lines of tables; `last`: the part ends here.
    """
    records, rest = _without_two(frame, *cut)
    stack = rest["line"].str.contains(STACK)
    text = Text(records, where(rest, stack).select_seq("line_no", "line"))
    rest = where(rest, ~stack)
    pieces = [traces.Piece(*row) for row in rest.select_seq("line_no", "line_end", "line", "pos").iter_rows()]
    joined, others = _rejoin(pieces, text)
    if joined:
        schema = {"line_no": pl.Int64, "line_end": pl.Int64, "pos": pl.Int64, "line": pl.String}
        again = [(p.line_no, p.line_end, p.pos, p.text) for p in joined]
        found, left = sl.cut(pl.DataFrame(again, schema=schema, orient="row"), None)
        text.records = pl.concat([records, found]).sort(sl.KEY)
        text.unread.extend(left["line_no"])
    text.records = _uninjected(text.records, text)
    end = int(frame["line_end"][-1]) if last and len(frame) else 0
    # The message that strace prints when it detaches stands after the call that it cuts.
    for piece in reversed(others):
        if piece.line_end == end and (_LEFT.match(piece.text) or INTERRUPTS.match(piece.text)):
            text.interrupted |= bool(INTERRUPTS.match(piece.text))
            end = piece.line_no - 1
    for piece in others:
        _judge(text, counts, piece, final=piece.line_end == end)
    return text


def _without_two(frame: pl.DataFrame, records: pl.DataFrame, rest: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Move lines that look like one call but hold several records back to the rest."""
    args = pl.col("args")
    some = where(where(records, args.str.contains("= ", literal=True)), args.str.contains(r"\)[\t ]*= "))
    if some.is_empty():
        return records, rest
    lines = some.select_seq(sl.KEY).join(frame, on=sl.KEY, how="left", maintain_order="left")
    lines = lines.filter(pl.col("line").str.contains(TWO_ROWS))
    if lines.is_empty():
        return records, rest
    records = records.join(lines.select_seq(sl.KEY), on=sl.KEY, how="anti", maintain_order="left")
    return records, pl.concat([rest, lines.select_seq(rest.columns)]).sort(sl.KEY)


def _rejoin(pieces: list[traces.Piece], text: Text) -> tuple[list[traces.Piece], list[traces.Piece]]:
    """Rejoin records torn by a message of strace or by the traced program's output; return them and the other lines.

    A line that holds several records is split as well.
    """
    joined: list[traces.Piece] = []
    others: list[traces.Piece] = []
    i = 0
    while i < len(pieces):
        piece = pieces[i]
        i += 1
        several = traces.split([piece], GRAMMAR) if len(piece.text) > 20 and BEHIND.search(piece.text) else []
        if len(several) > 1 and all(COMPLETE.search(p.text) for p in several):
            text.notes.append((piece.line_no, piece.line_end, "repaired", "several records on one line"))
            joined.extend(several)
            continue
        if not OPENED.match(piece.text) or COMPLETE.search(piece.text):
            others.append(piece)
            continue
        words = [found] if (found := ATTACHED.match(piece.text)) else []
        # The key that ends strace (^C) is shown after the call that is open.
        whole, end, k = INTERRUPTS.sub("", found[1]) if found else piece.text, piece.line_end, i
        done = False
        while k < len(pieces) and k < i + MOST_LINES and pieces[k].line_no == end + 1 and not done:
            line = pieces[k].text
            if found := ATTACHED.match(line):
                words.append(found)
                line = found[1]
            if START.match(line) and not line.startswith(" <"):
                break
            whole, end, k = whole + line, pieces[k].line_end, k + 1
            done = bool(COMPLETE.search(whole))
        if not done:
            others.append(piece)
            continue
        for found in words:
            text.tools.append({"line_no": piece.line_no, "line_end": end, "pid": _pid(found[3]), "text": found[2]})
            if "attached" in found[2] and (born := _pid(found[3])):
                text.born.append(born)
        text.notes.append((piece.line_no, end, "repaired", "a record torn by another writer's text was put together"))
        joined.append(traces.Piece(piece.line_no, end, whole, piece.pos))
        i = k
    return joined, others


def _uninjected(records: pl.DataFrame, text: Text) -> pl.DataFrame:
    """Remove the program's output from the arguments of the write that printed it, where it equals the buffer's text."""
    odd = (pl.col("name") == "write") & pl.col("args").str.contains(r'", [0-9]+[^0-9]')
    rows = records.select_seq(odd.fill_null(False).alias("odd"))["odd"]
    if not rows.any():
        return records
    clean = {}
    for args in records.filter(rows)["args"].unique():
        found = _INJECTED.match(args)
        shown = (
            found[2].replace("\\n", "").replace('\\"', '"').replace("\\\\", "\\").replace("\\t", "\t")
            if found
            else None
        )
        if found and shown is not None and found[3].strip() == shown.strip():
            clean[args] = found[1]
    for first, last, args in records.filter(rows).select_seq("line_no", "line_end", "args").iter_rows():
        if args in clean:
            text.notes.append((first, last, "repaired", "the program's own output taken out of the call that wrote it"))
    return records.with_columns_seq(pl.when(rows).then(pl.col("args").replace(clean)).otherwise("args").alias("args"))


def _pid(digits: str | None) -> int | None:
    """Convert a printed process number; None if it cannot be one."""
    return int(digits) or None if digits and len(digits) <= PID_DIGITS else None


def _judge(text: Text, counts: Counts, piece: traces.Piece, *, final: bool) -> None:
    """Classify a line that is not a record."""
    line, line_no = piece.text, piece.line_no
    if not line.strip():
        return
    if found := ATTACHED.match(line):
        pid = _pid(found[3])
        if not INTERRUPTS.sub("", found[1]).strip():
            text.tools.append({"line_no": line_no, "line_end": line_no, "pid": pid, "text": found[2]})
            text.born.extend([pid] if pid is not None and "attached" in found[2] else [])
            return
    if re.match(ELISION, line):
        text.gaps.append(line_no)
    elif TOOL.match(line):
        text.tools.append({"line_no": line_no, "line_end": line_no, "pid": None, "text": line})
    elif counts.take(line_no, line) or re.match(DUMP, line):
        text.read.append(line_no)
    elif (found := COMMAND.search(line)) and not OPENED.match(line):
        text.read.append(line_no)
        text.options.extend(re.findall(r"(?<=\s)--?[A-Za-z][A-Za-z-]*", " " + found[1]))
    elif INTERRUPTS.match(line):
        text.read.append(line_no)
    elif final and OPENED.match(line):
        text.interrupted |= bool(INTERRUPTS.search(line))
        line = INTERRUPTS.sub("", line).rstrip()
        text.cut_call = {"line_no": line_no, "line_end": piece.line_end, "pos": piece.pos, "line": line}
    else:
        text.unread.append(line_no)
