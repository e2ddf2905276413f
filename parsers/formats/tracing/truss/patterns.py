"""Patterns for truss lines of Solaris, illumos and AIX, and the splitting of lines into columns.

A line is a prefix (`pid:`, `/lwp:`, `pid/lwp:`, with `@thread` under -u), up to three stamps of four decimals, and a body. Calls are
matched by a head pattern from the left (up to the opening parenthesis) and a tail pattern from the right (from the closing one): the text
between, with nested parentheses and unescaped quotes, needs no pattern. `Shape.head` is a strict part of `ANY_HEAD`: the shape makes
reading faster, never different.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

import polars as pl

from parsers.text.inline_polars import where

LINE, REST = pl.col("line"), pl.col("rest")
_KEYS = ["line_no", "line_end", "pos"]
_SCHEMA = {"line_no": pl.Int64, "line_end": pl.Int64, "pos": pl.Int64, "line": pl.String}

STAMP = r"[0-9]+[.,][0-9]{4}"
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
PREFIX = r"(?:(?:([0-9]+)(?:(?:/|: )([0-9]+))?|/([0-9]+))(?:@[0-9]+)?:)?"
"""`pid:`, `pid/lwp:`, `/lwp:`; AIX prints its kernel thread as `pid: tid:`."""
STAMPS = rf"(?:({STAMP}):?[\t ]+)?(?:({STAMP}):?[\t ]+)?(?:({STAMP})[\t ]+)?"
FRONT = rf"^[\t ]*{PREFIX}[\t ]*{STAMPS}"
OF_DAY = r"^([\t ]*(?:(?:[0-9]+(?:/[0-9]+)?|/[0-9]+)(?:@[0-9]+)?:[\t ]+)?)(([0-9]{2}):([0-9]{2}):([0-9]{2})[.,][0-9]{4,9})([\t ]+\S.*)$"
"""A time of day in the place of a stamp: -A of Solaris 11.4. No sample shows its layout; it is recognised by its form."""
_FRONT_FIELDS = ["pid", "lwp", "lwp_only", "s1", "s2", "s3"]

NAMELESS_HEAD = rf"^[\t ]*{PREFIX}[\t ]*{STAMPS}()$"
"""The front of a call whose name a page has lost, after a prefix or a stamp."""
ANY_HEAD = rf"^[\t ]*{PREFIX}[\t ]*{STAMPS}({NAME})$"
"""Everything before the first parenthesis of a call."""

_VALUE = r"= ?(([^\t ()\"\[\]=,]+)(?: \[([^\]\t ]*)\])?)|(Err#[0-9]+(?: {1,2}([A-Z][A-Z0-9]*))?(?: \[[A-Za-z_, ]+\])?)"
_ERROR = r"^Err#[0-9]+ {1,2}([A-Z][A-Z0-9]*)"
_RARE = (
    r"(\(sleeping\.\.\.\)|\(waiting for child to [a-z]+\(\)(?:/[a-z]+\(\))?\.\.\.\))"
    r"|\(returning as (child|new lwp) \.\.\.\)[\t ]*(?:= ([^\t ]+)(?: \[[^\]]*\])?)?"
    r"|(argc(?: =|:) [0-9]+)"
)
COMMON_TAIL = (
    r"\)[\t ]*(?:= ?[^\t ()\"\[\]=,]+(?: \[[^\]\t ]*\])?|Err#[0-9]+(?: {1,2}[A-Z][A-Z0-9]*)?(?: \[[A-Za-z_, ]+\])?)$"
)
"""The tail with `_VALUE`, without groups: a match without captures takes a quarter of the time."""
TAIL = rf"(\)[\t ]*(?:{_VALUE}|{_RARE}))$"
_TAIL_FIELDS = ["tail", "result", "val", "val2", "failed", "err", "waits", "returning", "parent", "argc"]

NO_RETURN = ("_exit", "exit", "lwp_exit", "setcontext", "getcontext", "setustack", "context")
"""Calls that print no result: they are complete without one."""
NO_VALUE = ("thread_init",)
"""Calls of AIX that print nothing after the `=`."""

_VOID = r"\)[\t ]*=$"

SIGNAL = (
    rf"{FRONT}(Received signal|Stopped by signal|Continued with signal|Incurred fault) #[0-9]+, ([A-Z][A-Z0-9+]*)"
    rf"(?:, in ({NAME})\(\))?(?:[\t ]+\[(default|caught|ignored)\])?(?:[\t ]+%pc = 0x[0-9A-F]+)?(?:[\t ]+addr = (0x[0-9A-F]+))?$"
)
_SIGNAL_FIELDS = [*_FRONT_FIELDS, "what", "signal", "in_call", "action", "addr"]
SIGNAL_EVENTS = {
    "Received signal": "received",
    "Stopped by signal": "stopped",
    "Continued with signal": "continued",
    "Incurred fault": "fault",
}

FUNCTION = rf"^[\t ]*{PREFIX}[\t ]*{STAMPS}(->|<-) ([^\t :()]+):([^\t ()]+)\((.*?)\)(?:[\t ]*= (.+))?$"
_FUNCTION_FIELDS = [*_FRONT_FIELDS, "arrow", "lib", "func", "args", "ret_text"]

KNOWN_DETAIL = (
    r"^(?:siginfo: |AF_[A-Z0-9]+[\t ]|fd=-?[0-9]|semnum=|timeout[:=]|bootflags=|nodeid=|argv:|envp:|(?:new|old): hand|rev=|0x[0-9A-Fa-f]+: "
    r"|name = |(?:at|mt|ct) = |d=0x)"
)
"""Structures of -v, siginfo, arguments of -a and -x: they follow a call or signal after the same prefix and belong to it."""
ANY_DETAIL = r"^(?:[a-z][A-Za-z_0-9]*(?:=| = |: ).*[=:0-9A-Z]|(?: [ -~]|\\[0abfnrtv]|[0-9A-F]{2}){1,32}$)"
"""Details in general: `name=value`, buffers of -r and -w. Accepted only after a prefix or an indent."""

POLLED = r"^fd=(-?[0-9]+) ev=\S* rev=(\S+)"
SEMNUM = r"^semnum=([0-9]+)"
SIGINFO = r"^siginfo: (SIG[A-Z0-9+]+)(?: ([A-Z]+_[A-Z]+))?(?:.*? pid=([0-9]+))?(?:.*? addr=(0x[0-9A-Fa-f]+))?(?:.*? status=(\S+))?"
TOOL_NOTE = r"^(?:\*\*\* .*\*\*\*|\*\*\* .*|\(Warning: .*|psargs:.*)$"
BASE = r"Base time stamp:[\t ]+([0-9]+[.,][0-9]{4})[\t ]+\[ ?(.*?) ?\]"
AIX_BASE = (
    r"^(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat) [A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} (?:[A-Z]{3,5} )?[0-9]{4}$"
)
COMMAND = r"(?:^|[#$%>][\t ]*|[\t ])truss[\t ]+(-[A-Za-z].*)$"
COMMENT = r"^[\t ]*\[[^\]]*[a-z]{2,}[^\]]*\]$"
PROSE = r"^[\t ]*(?:\S+[\t ]+)*?(?:[A-Za-z][a-z']+[,;:]?[\t ]+){3}[A-Za-z(]"
RESULT = (
    r"(?:= [^\t ()\"]+(?: \[[^\]\t ]*\])?|Err#[0-9]+(?: {1,2}[A-Z][A-Z0-9]*)?|\(sleeping\.\.\.\)|argc(?: =|:) [0-9]+)"
)
ROW_START = (
    rf"(?:(?:[0-9]+(?:(?:/|: )[0-9]+)?|/[0-9]+):[\t ]+(?:{STAMP}[\t ]+){{0,3}}|(?:{STAMP}[\t ]+){{1,3}}|){NAME}\("
)
TWO_ROWS = rf"\)[\t ]*{RESULT}[\t ]+{ROW_START}"
"""A result followed by the beginning of another call: several records on one line."""

SHAPE_LINES = 400
"""Number of first lines that vote on shape and options."""


@dataclass(frozen=True)
class Shape:
    """The shape of the first calls of a part: fields of the prefix, number of stamps, whether tabs are kept."""

    pid: bool
    lwp: bool
    stamps: int
    tabs: bool
    comma: bool = False

    def head(self) -> str:
        """Return the head pattern of this shape: it has no optional part, so that the one-pass matcher takes it."""
        prefix = ("([0-9]+)" if self.pid else "()") + ("(?:/|: )([0-9]+)" if self.lwp else "()") + "()"
        colon = r":[\t ]+" if self.pid or self.lwp else ""
        stamp = r"([0-9]+,[0-9]{4})[\t ]+" if self.comma else r"([0-9]+\.[0-9]{4})[\t ]+"
        stamps = "".join(stamp if i < self.stamps else "()" for i in range(3))
        return rf"^[\t ]*{prefix}{colon}{stamps}({NAME})$"


def _extract(frame: pl.DataFrame, column: pl.Expr, pattern: str, fields: list[str]) -> pl.DataFrame:
    groups = column.str.extract_groups(pattern).struct.rename_fields(fields).alias("groups")
    return frame.with_columns_seq(groups).unnest("groups")


_HEAD_FIELDS = [*_FRONT_FIELDS, "name"]


_PARTS = LINE.str.splitn("(", 2).struct.rename_fields(["front", "rest"]).alias("parts")
"""A line split at its first parenthesis; `rest` is NULL if there is none."""


def shape_of(lines: pl.Series) -> Shape | None:
    """Return the commonest shape among the calls of the first lines; None if there are no calls."""
    parts = lines.head(SHAPE_LINES).to_frame("line").select_seq(_PARTS).unnest("parts")
    calls = _extract(parts, pl.col("front"), ANY_HEAD, _HEAD_FIELDS)
    calls = calls.filter(pl.col("name").is_not_null() & REST.is_not_null()).select_seq(
        pl.col("pid").is_not_null().alias("pid"),
        pl.coalesce("lwp", "lwp_only").is_not_null().alias("lwp"),
        pl.sum_horizontal(pl.col(s).is_not_null() for s in ("s1", "s2", "s3"))
        .cast(pl.Int64, strict=False)
        .alias("stamps"),
        pl.col("front").str.contains("\t", literal=True).alias("tabs"),
        pl.col("s1").str.contains(",", literal=True).fill_null(False).alias("comma"),
    )
    if calls.is_empty():
        return None
    shapes = calls.group_by("pid", "lwp", "stamps", "comma", maintain_order=True).len().sort("len", descending=True)
    pid, lwp, stamps, comma, _ = shapes.row(0)
    return Shape(pid, lwp, stamps, cast("float", calls["tabs"].mean()) >= 0.9, comma)


def _numbers(shape: Shape | None = None) -> list[pl.Expr]:
    """Return expressions that turn the texts of prefix and stamps into numbers; the patterns ensure that they are numbers.

    With a shape, every text that the shape has is non-empty.
    """
    if shape is not None:
        none, number = (
            pl.lit(None, pl.Int64),
            {c: pl.col(c).cast(pl.Int64, strict=False) for c in ("pid", "lwp")},
        )
        point = [
            pl.col(f"s{i}").str.replace(",", ".", literal=True) if shape.comma else pl.col(f"s{i}") for i in (1, 2, 3)
        ]
        return [
            (number["pid"] if shape.pid else none).alias("pid"),
            (number["lwp"] if shape.lwp else none).alias("lwp"),
            *(
                (point[i].cast(pl.Float64) if i < shape.stamps else pl.lit(None, pl.Float64)).alias(f"s{i + 1}")
                for i in range(3)
            ),
            pl.lit(shape.stamps, pl.Int8).alias("n"),
        ]
    stamps = [
        pl.col(s).replace("", None).str.replace(",", ".", literal=True).cast(pl.Float64) for s in ("s1", "s2", "s3")
    ]
    pid = pl.col("pid").replace("", None).str.to_integer(base=10, strict=False)
    lwp = pl.coalesce(pl.col("lwp").replace("", None), pl.col("lwp_only").replace("", None))
    count = pl.sum_horizontal(pl.col(s).replace("", None).is_not_null() for s in ("s1", "s2", "s3"))
    return [
        pid.alias("pid"),
        lwp.str.to_integer(base=10, strict=False).alias("lwp"),
        *stamps,
        count.cast(pl.Int8, strict=False).alias("n"),
    ]


@dataclass
class Lines:
    """The classified lines of a data frame, each with line_no, line_end (physical), `pos` (place within a line of several), pid, lwp.

    `calls`: complete and sleeping calls with name, args, tail fields, stamps s1 to s3 and their number n; `signals` and `functions`
    likewise; `rest`: all other lines, with `body` (the line after its prefix).
    """

    calls: pl.DataFrame
    signals: pl.DataFrame
    functions: pl.DataFrame
    rest: pl.DataFrame


def cut(frame: pl.DataFrame, shape: Shape | None) -> Lines:
    """Split the lines of a data frame (line_no, line_end, pos, line) into calls, signals, function lines and the rest."""
    if shape is None:
        calls, other = _no_calls(), frame
    else:
        calls, other = _calls(frame, shape.head(), shape)
    opened = LINE.str.contains("(", literal=True)
    nameless = opened & LINE.str.contains(r"^[\t 0-9./,@:]*[0-9:][\t ]+\(")
    for pattern, some in ((ANY_HEAD, opened), (NAMELESS_HEAD, nameless)):
        candidates = where(other, some)
        found = _calls(candidates, pattern)[0] if len(candidates) else candidates
        if len(found):
            calls = pl.concat([calls, found]).sort("line_no", "pos")
            other = other.join(
                found.select_seq("line_no", "pos"), on=["line_no", "pos"], how="anti", maintain_order="left"
            )
    return Lines(calls, *(_others(other) if len(other) else _no_others()))


def _others(other: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Split lines that are not calls into signals, function lines and the rest."""
    signals = _extract(other.filter(LINE.str.contains("signal #|Incurred fault")), LINE, SIGNAL, _SIGNAL_FIELDS)
    signals = signals.filter(pl.col("what").is_not_null())
    functions = other.filter(LINE.str.contains("->|<-"))
    functions = _extract(functions, LINE, FUNCTION, _FUNCTION_FIELDS).filter(pl.col("arrow").is_not_null())
    taken = pl.concat([signals.select_seq("line_no", "pos"), functions.select_seq("line_no", "pos")])
    rest = other.join(taken, on=["line_no", "pos"], how="anti", maintain_order="left") if len(taken) else other
    rest = _extract(rest, LINE, rf"^([\t ]*{PREFIX}[\t ]?)", ["front", *_FRONT_FIELDS[:3]])
    rest = rest.with_columns_seq(LINE.str.strip_prefix(pl.col("front")).alias("body"))
    pid = pl.col("pid").str.to_integer(base=10, strict=False)
    lwp = pl.coalesce("lwp", "lwp_only").str.to_integer(base=10, strict=False)
    return (
        signals.with_columns_seq(_numbers()).drop("lwp_only", "line"),
        functions.with_columns_seq(_numbers()).drop("lwp_only"),
        rest.with_columns_seq(pid.alias("pid"), lwp.alias("lwp")).drop("lwp_only", "front"),
    )


@cache
def _no_calls() -> pl.DataFrame:
    return _calls(pl.DataFrame(schema=_SCHEMA), ANY_HEAD)[0]


@cache
def _no_others() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    return _others(pl.DataFrame(schema=_SCHEMA))


def _calls(frame: pl.DataFrame, head: str, shape: Shape | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Match head and tail; return the calls that fit both (or that print no result), and the other lines unchanged.

    With a shape only the common results are tried: lines with rare results are tried again without it.
    """
    front = pl.col("front").str.extract_groups(head).struct.rename_fields(_HEAD_FIELDS).alias("groups")
    calls = frame.select_seq(*_KEYS, _PARTS).unnest("parts")
    if shape is not None:
        calls = calls.with_columns_seq(front, REST.str.extract(COMMON_TAIL, 0).alias("tail")).unnest("groups")
    else:
        calls = _extract(calls.with_columns_seq(front).unnest("groups"), REST, TAIL, _TAIL_FIELDS)
    silent, args = pl.lit(False), REST.str.strip_suffix(pl.col("tail"))
    if calls["tail"].null_count() and (calls["tail"].is_null() & calls["name"].is_in(NO_RETURN)).any():
        silent = pl.col("name").is_in(NO_RETURN) & pl.col("tail").is_null() & REST.str.ends_with(")")
        # `_exit()` alone on a line was written by an author: truss prints an argument, or at least a prefix.
        silent &= (REST != ")") | (pl.col("front").str.len_bytes() > pl.col("name").str.len_bytes())
        args = pl.when(silent).then(REST.str.head(-1)).otherwise(args)
    void = pl.lit(False)
    if calls["tail"].null_count() and calls["name"].is_in(NO_VALUE).any():
        void = pl.col("name").is_in(NO_VALUE) & REST.str.contains(_VOID)
        args = pl.when(void).then(REST.str.replace(_VOID, "")).otherwise(args)
    calls = calls.with_columns_seq(silent.fill_null(False).alias("silent"), args.alias("args"))
    # The cheap literals first: hardly any line contains them.
    two = pl.col("args").str.contains_any([") = ", ") Err#", "\t= ", "\tErr#", "  = ", "(sleeping"]).fill_null(False)
    done = calls.select_seq(
        (pl.col("name").is_not_null() & (pl.col("tail").is_not_null() | pl.col("silent") | void)).alias("done"),
        two.alias("two"),
        pl.col("args").str.ends_with("...").fill_null(False).alias("dots"),
    )
    mask = done["done"]
    if shape is not None:
        mask &= ~done["dots"]  # `(returning as child ...) = 7`: a rare result
    if done["two"].any():
        mask &= ~(done["two"] & frame["line"].str.contains(TWO_ROWS))
    name = pl.lit(None, pl.String).alias("name") if head == NAMELESS_HEAD else pl.col("name")
    good = where(calls, mask)
    if shape is not None:
        good = _common_results(good)
    return good.select_seq(*_KEYS, *_numbers(shape), name, "args", "silent", *_RESULTS), where(frame, ~mask)


_RESULTS: list[str | pl.Expr] = [
    pl.coalesce("result", "failed", "parent", "argc").alias("ret_text"),
    pl.coalesce("val", "parent").alias("val"),
    "val2", "err", "waits", "returning",
]  # fmt: skip


def _common_results(calls: pl.DataFrame) -> pl.DataFrame:
    """Split a tail that `COMMON_TAIL` has matched: `)`, blanks, `= value [second]` or `Err#n NAME`."""
    text, worked = pl.col("text"), pl.col("worked")
    calls = calls.with_columns_seq(
        pl.col("tail").str.strip_chars_start(")\t =").alias("text"),
        pl.col("tail").str.contains("=", literal=True).alias("worked"),
    )
    val, val2 = text, pl.lit(None, pl.String)
    if calls["text"].str.contains(" [", literal=True).any():
        values = text.str.splitn(" [", 2).struct
        val, val2 = values.field("field_0"), pl.when(worked).then(values.field("field_1").str.strip_suffix("]"))
    none = {c: pl.lit(None, pl.String) for c in ("failed", "parent", "argc", "waits", "returning")}
    return calls.with_columns_seq(
        text.alias("result"),
        pl.when(worked).then(val).alias("val"),
        val2.alias("val2"),
        pl.when(~worked).then(text.str.extract(_ERROR, 1)).alias("err"),
        **none,
    )


def guess_flags(events: pl.DataFrame, *, based: bool) -> dict[int, str]:
    """Decide for each number of stamps which of d, D, E they are; truss always prints them in that order.

    Judged on the first events of each number. Two stamps: the second is D if it is the difference of the first within each LWP, else E.
    One stamp: d if it hardly ever falls within an LWP. `based`: a base line was seen, and only -d prints one.
    """
    flags = {3: "dDE"} if (events["n"] == 3).any() else {}
    for (n,), some in events.filter(pl.col("n").is_between(1, 2)).group_by("n", maintain_order=True):
        steps = some.head(SHAPE_LINES).with_columns_seq(
            (pl.col("s1") - pl.col("s1").shift(1).over("pid", "lwp")).alias("step")
        )
        paired = steps.filter(pl.col("step").is_not_null() & ~pl.col("fresh"))
        rising = paired.is_empty() or cast("float", (paired["step"] > -0.00015).mean() or 0.0) >= 0.8
        # Short excerpts with rising stamps below one second: eight in a row do not rise by chance.
        high = cast("float", some["s1"].median() or 0.0) >= 1
        share = cast("float", (paired["step"] > -0.00015).mean() or 0.0) if len(paired) else 1.0
        first = based or (rising and len(paired) >= 8) or (high and share >= 0.5)
        if n == 1:
            flags[1] = "d" if first else "D"
        elif paired.is_empty():
            flags[2] = "dD"
        else:
            agree = ((paired["s2"] - paired["step"]).abs() < 0.00015).mean()
            flags[2] = "dD" if cast("float", agree or 0.0) >= 0.9 else "dE" if rising else "DE"
    return flags
