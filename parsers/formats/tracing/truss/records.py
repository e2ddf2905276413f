"""Classify truss lines: records, their details, marks, remarks, summary tables, damage."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from parsers.formats.tracing.truss import patterns as tl
from parsers.formats.tracing.truss.counts import Counts
from parsers.formats.tracing.truss.rows import details
from parsers.repair import traces
from parsers.text.inline_polars import where
from parsers.text.notes import ELISION

_PREFIXED = r"[\t ]*(?:[0-9]+(?:(?:/|: )[0-9]+)?|/[0-9]+)(?:@[0-9]+)?:"
_CALL = rf"(?:{tl.STAMP}[\t ]+)*{tl.NAME}\("
_WORD = r"(?:AF_[A-Z]|fd=|siginfo:|(?:new|old): hand|semnum=|Received signal|Stopped by|Continued with|Incurred fault)"
_NEXT = rf"(?:{_PREFIXED}[\t ]+(?:{_CALL}|{_WORD})|(?:{tl.STAMP}[\t ]+)+(?:(?:{tl.NAME})?\(|{tl.NAME}$))"
_BEHIND_RESULT = re.compile(rf"(?:\)[\t ]*{tl.RESULT}[\t ]+(?={_NEXT}|{tl.NAME}\()|\)[\t ]+(?={_NEXT}))")
_SAME_PREFIX = re.compile(rf"[\t ]+(?=({_PREFIXED})[\t ]+(?:{_CALL}|{_WORD}))")
_BEHIND_BASE = re.compile(rf"{tl.BASE}[\t ]+(?={_NEXT}|{tl.NAME}\()")
_BEFORE_BASE = re.compile(r"(?<=\S)[\t ]+(?=Base time stamp:[\t ]+[0-9]{9,})")
_GLUED = re.compile(rf"(?<=[^0-9/])(?=(?:[0-9]+(?:/[0-9]+)?|/[0-9]+):\t(?:[ ]*{tl.STAMP}\t)*{tl.NAME}\()")
_MAYBE_SEVERAL = r"[A-Za-z_0-9]\(.*[)\]\w][\t ]*.*\(|[^0-9/][0-9/]+:\t"
_MARK = re.compile(r"[\t ]*(?:\[\.{3}\]|\.{3,}|…)[\t ]+(?=[0-9/]+:)")
_MARK_BEHIND = re.compile(r"[\t ]+(?=\[\.{3}\](?:[\t ]|$))")
_OWN_PREFIX = re.compile(_PREFIXED)
_TRUNCATED = re.compile(rf"{tl.FRONT}({tl.NAME})?(\(.*)?$")


def record_starts(text: str) -> list[int]:
    """Return the places within a line where a further record begins: after a result, at a repeated prefix, at a glued prefix."""
    at = {found.end() for found in _BEHIND_RESULT.finditer(text)}
    # A paste on one line may begin with a mark of elision that its author wrote.
    mark = _MARK.match(text)
    at |= {mark.end()} if mark else set()
    at |= {found.end() for found in _MARK_BEHIND.finditer(text)}
    if "Base time stamp:" in text:
        at |= {found.end() for found in _BEHIND_BASE.finditer(text)}
        at |= {found.end() for found in _BEFORE_BASE.finditer(text)}
    if prefix := _OWN_PREFIX.match(text, mark.end() if mark else 0):
        token = prefix.group().strip()
        at |= {f.end() for f in _SAME_PREFIX.finditer(text, prefix.end()) if f.group(1).strip() == token}
    at |= {found.start() for found in _GLUED.finditer(text)}
    return sorted(at - {0})


GRAMMAR = traces.Grammar(
    start=re.compile(rf"{_PREFIXED}(?:[\t ]|$)|[\t ]*{tl.STAMP}(?:[\t ]|$)|[\t ]*{tl.NAME}\("),
    opened=re.compile(rf"(?:{_PREFIXED})?[\t ]*(?:{tl.STAMP}[\t ]+)*{tl.NAME}\(|(?:{_PREFIXED})[\t ]*$"),
    complete=re.compile(
        rf"{tl.TAIL}|(?:^|[\t ])(?:(?:{'|'.join(tl.NO_RETURN)})\([^()]*\)|(?:{'|'.join(tl.NO_VALUE)})\([^()]*\)[\t ]*=)$"
    ),
    splits=record_starts,
    more=(
        (
            re.compile(rf"^(?:{_PREFIXED})?(?:[\t ]*{tl.STAMP}){{0,3}}[\t ]*$"),
            re.compile(rf"{tl.STAMP}$|{tl.STAMP}[\t ]|{tl.NAME}\("),
        ),
        (re.compile(r"\)[\t ]*Err#[0-9]+$"), re.compile(r"E[A-Z0-9]+(?: \[[a-zA-Z_]+\])?$")),
        (re.compile(r"\)[\t ]*= \S+$"), re.compile(r"\[\w+\]$")),
        (re.compile(rf"^{_PREFIXED}[\t ]+fd=\S+(?: ev=\S+)?$"), re.compile(r"(?:ev|rev)=\S+")),
    ),
    apart=re.compile(rf"{ELISION}|{tl.COMMENT}|Base time stamp:"),
)


@dataclass
class Text:
    """The classified lines of a data frame. Lists hold line numbers unless stated otherwise.

    `gaps`: marks that lines were left out; `breaks`: blank lines, prose and lines not understood; `bases`: line, place within it and epoch
    of base lines; `unread`: lines not understood; `read`: headers, tables, command lines; `notes`: arguments of `Tables.note`;
    `cut_call`: the last line, if it is an incomplete call.
    """

    lines: tl.Lines
    details: pl.DataFrame
    gaps: list[int] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    bases: list[tuple[int, int, float]] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    prose: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    notes: list[tuple[int, int, str, str]] = field(default_factory=list)
    tool_notes: list[dict[str, Any]] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    cut_call: dict[str, Any] | None = None


def classify(cut: tl.Lines, shape: tl.Shape | None, counts: Counts, *, last: bool) -> Text:
    """Classify each line of `cut`. `counts` takes lines of summary tables; `last`: the part ends here."""
    lines, notes = _resplit(cut, shape)
    found = details(lines)
    text = Text(lines, found, notes=notes)
    others = lines.rest
    if len(found):
        others = others.join(
            found.select_seq("line_no", "pos"), on=["line_no", "pos"], how="anti", maintain_order="left"
        )
    blank = where(others, pl.col("line") == "")
    short = where(others, pl.col("line").str.len_bytes() <= 40)
    elided = where(short, pl.col("line").str.contains(ELISION))
    text.gaps, text.breaks = elided["line_no"].to_list(), blank["line_no"].to_list()
    taken = pl.concat([blank, elided]).select_seq("line_no", "pos")
    if len(taken):
        others = others.join(taken, on=["line_no", "pos"], how="anti", maintain_order="left")
    ends = [int(f["line_no"][-1]) for f in (lines.calls, lines.signals, lines.functions, found, others) if len(f)]
    end = max(ends, default=0) if last else 0
    fronted = shape is not None and (shape.pid or shape.lwp or shape.stamps > 0)
    first = (pl.col("line_no") == 1) & pl.col("pid").is_null() & pl.col("lwp").is_null()
    begun = where(lines.calls.head(1), first)
    if len(begun) and shape is not None and (shape.pid or shape.lwp):
        remark = "begins within a line: no process stands before the call, whose name may be the end of a longer one"
        text.notes.append((1, int(begun["line_end"][0]), "damaged", remark))
    for other in others.select_seq("line_no", "line_end", "pos", "line", "body", "pid", "lwp").iter_rows(named=True):
        _judge(text, counts, other, final=other["line_no"] == end, fronted=fronted)
    text.breaks = sorted({*text.breaks, *text.unread, *text.prose, *text.damaged})
    return text


def _resplit(lines: tl.Lines, shape: tl.Shape | None) -> tuple[tl.Lines, list[tuple[int, int, str, str]]]:
    """Split lines of the rest that hold several records, and classify these."""
    if lines.rest.is_empty():
        return lines, []
    candidates = where(lines.rest, pl.col("line").str.contains(_MAYBE_SEVERAL))
    pieces: list[traces.Piece] = []
    for line_no, line in candidates.select_seq("line_no", "line").iter_rows():
        several = traces.split([traces.Piece(line_no, line_no, line)], GRAMMAR)
        if len(several) > 1:
            pieces.extend(several)
    if not pieces:
        return lines, []
    schema = {"line_no": pl.Int64, "line_end": pl.Int64, "pos": pl.Int64, "line": pl.String}
    again = tl.cut(
        pl.DataFrame([(p.line_no, p.line_end, p.pos, p.text) for p in pieces], schema=schema, orient="row"), shape
    )
    rest = lines.rest.filter(~pl.col("line_no").is_in([p.line_no for p in pieces]))
    both = (
        (lines.calls, again.calls),
        (lines.signals, again.signals),
        (lines.functions, again.functions),
        (rest, again.rest),
    )
    notes = [(n, n, "repaired", "several records on one line") for n in dict.fromkeys(p.line_no for p in pieces)]
    return tl.Lines(*(pl.concat(pair).sort("line_no", "pos") for pair in both)), notes


def _judge(text: Text, counts: Counts, other: dict[str, Any], *, final: bool, fronted: bool) -> None:
    """Classify a line that is neither record nor detail. `fronted`: records of this trace begin with a prefix or a stamp."""
    line, line_no, body = other["line"], other["line_no"], other["body"].strip()
    if found := re.search(tl.BASE, line):
        text.bases.append((line_no, other["pos"], float(found[1].replace(",", "."))))
        text.read.append(line_no)
    elif re.match(tl.TOOL_NOTE, body):
        text.tool_notes.append({"line_no": line_no, "pid": other["pid"], "text": body})
    elif counts.take(line_no, line):
        text.read.append(line_no)
    elif re.match(tl.AIX_BASE, line):
        text.read.append(line_no)
        text.notes.append((line_no, other["line_end"], "remark", "begin of the trace as printed; its zone is unknown"))
    elif found := re.search(tl.COMMAND, line):
        text.read.append(line_no)
        text.options.extend(re.findall(r"(?<=\s)-[A-Za-z]+", " " + found[1]))
    elif re.match(tl.COMMENT, line):
        text.prose.append(line_no)
        text.notes.append((line_no, other["line_end"], "remark", line.strip()))
    elif re.match(tl.PROSE, line):
        text.prose.append(line_no)
    else:
        _judge_damage(text, other, final=final, fronted=fronted)


def _judge_damage(text: Text, other: dict[str, Any], *, final: bool, fronted: bool) -> None:
    """Classify a line that may be a part of a call: cut by the end of the file, damaged, or unknown."""
    cut = _TRUNCATED.match(other["line"])
    front = cut is not None and any(cut[i] for i in (1, 3, 4))
    if cut and final and (cut[8] or (front and cut[7])) and (front or not fronted):
        place = {key: other[key] for key in ("line_no", "line_end", "pid", "lwp")}
        text.cut_call = {
            **place,
            "name": cut[7] if cut[8] else None,
            "args": cut[8][1:] if cut[8] else None,
            "state": "truncated",
        }
    elif cut and cut[8] and (front or not fronted):
        text.damaged.append(other["line_no"])
        text.unread.append(other["line_no"])
    else:
        text.unread.append(other["line_no"])
