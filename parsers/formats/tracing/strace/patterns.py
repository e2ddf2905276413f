"""Patterns for lines of strace, and the splitting of lines into the columns of records.

A line is an optional `[pid N<comm>]` or `N<comm>`, a time of day or epoch (-t -tt -ttt), a difference (-r; `(+ 0.1)` beside a time), an
instruction pointer (-i), a call's number (-n), and a body: a call, a half of one, a signal, an exit. Calls are matched by a head pattern
from the left (up to the opening parenthesis) and a tail pattern from the right. `Shape.head` is a strict part of `ANY_HEAD`: the shape
makes reading faster, never different. The tail contains no quote, so text inside a string that looks like a result does not match.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from parsers.formats.tracing.shared.c_results import groups, results
from parsers.text.inline_polars import in_order, spread, where

LINE, FRONT, REST, TAIL = pl.col("line"), pl.col("front"), pl.col("rest"), pl.col("tail")
KEY = ["line_no", "pos"]
_KEYS = ["line_no", "line_end", "pos"]

NAME = r"(?:[A-Za-z_][A-Za-z0-9_]*|\?{4})"
WHO = r"(?:\[pid +([0-9]+)(?:<([^>]*)>)?\][\t ]*|([0-9]{1,7})(?:<([^>]*)>)?[\t ]+)?"
CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"
EPOCH = r"[0-9]{9,11}(?:[.,][0-9]+)?"
SINCE = r"(?:\(\+ *([0-9]{1,8}[.,][0-9]{3,9})\)|([0-9]{1,8}[.,][0-9]{3,9}))"
POINTER = r"\[(?:[0-9a-f]{8,16}|\?{8,16}| *[0-9]{1,4}|0x[0-9a-f]+)\]"
PREFIX = rf"[\t ]*{WHO}(?:({CLOCK})[\t ]+|({EPOCH})[\t ]+)?(?:{SINCE}[\t ]+)?(?:{POINTER}[\t ]+)*"
"""Everything before a body; its eight groups are `PREFIX_FIELDS`."""
PREFIX_FIELDS = ["pid_a", "comm_a", "pid_b", "comm_b", "clock", "epoch", "since_a", "since_b"]

ANY_HEAD = rf"^{PREFIX}({NAME})$"

COMMON_TAIL = r"\)[\t ]*= (?:\?|-?[0-9]+|0x[0-9a-f]+)(?: E[A-Z0-9]+ \([^()\"]*\))?(?: <[0-9]+\.[0-9]+>)?$"
"""The common tails, without groups: a match without captures takes a quarter of the time."""
UNFINISHED, DETACHED = " <unfinished ...>", " <detached ...>"

RESUMED = rf"^{PREFIX}<\.\.\. ({NAME}) resumed>"
SIGNAL = rf"^{PREFIX}(---|\+\+\+) (.*?) (?:---|\+\+\+)$"

SHAPE_LINES = 400
"""Number of first lines that vote on the shape."""


@dataclass(frozen=True)
class Shape:
    """The shape of the first calls: who ("", bracket, bare), time ("", clock, epoch), a difference, a pointer; parts of a second."""

    who: str
    time: str
    since: bool
    pointer: bool
    fine: bool = True

    def head(self) -> str:
        """Return the head pattern of this shape: it has no optional part, so that the one-pass matcher takes it."""
        who = {"": "()", "bracket": r"\[pid +([0-9]+)\][\t ]+", "bare": r"([0-9]{1,7})[\t ]+"}[self.who]
        time = {
            "": "()",
            "clock": r"([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)[\t ]+",
            "epoch": r"([0-9]{9,11}(?:\.[0-9]+)?)[\t ]+",
        }
        since = r"([0-9]{1,8}\.[0-9]{3,9})[\t ]+" if self.since else "()"
        pointer = r"\[[0-9a-f]{8,16}\][\t ]+" if self.pointer else ""
        return rf"^[\t ]*{who}{time[self.time]}{since}{pointer}([a-z_][a-z0-9_]*)$"


_PARTS = LINE.str.splitn("(", 2).struct.rename_fields(["front", "rest"]).alias("parts")
"""A line split at its first parenthesis; `rest` is NULL if there is none."""


def _bared(frame: pl.DataFrame) -> pl.DataFrame:
    """Remove the parentheses of a difference beside a time of day (-r): they would be taken for the call's."""
    if not frame["line"].str.contains("(+", literal=True).any():
        return frame
    return frame.with_columns_seq(LINE.str.replace(r"^([^(]*)\(\+ *([0-9]+[.,][0-9]+)\)", "${1}${2}"))


def shape_of(lines: pl.Series) -> Shape | None:
    """Return the commonest shape among the calls of the first lines; None if there are no calls."""
    parts = _bared(lines.head(SHAPE_LINES).to_frame("line")).select_seq(_PARTS).unnest("parts")
    found = parts.with_columns_seq(groups(FRONT, ANY_HEAD, [*PREFIX_FIELDS, "name"])).unnest("groups")
    found = found.filter(pl.col("name").is_not_null() & REST.is_not_null())
    if found.is_empty():
        return None
    there = pl.when(pl.col("pid_a").is_not_null())
    shapes = found.select_seq(
        there.then(pl.lit("bracket")).when(pl.col("pid_b").is_not_null()).then(pl.lit("bare")).otherwise(pl.lit("")),
        pl.when(pl.col("clock").is_not_null())
        .then(pl.lit("clock"))
        .when(pl.col("epoch").is_not_null())
        .then(pl.lit("epoch"))
        .otherwise(pl.lit(""))
        .alias("time"),
        pl.col("since_b").is_not_null().alias("since"),
        FRONT.str.contains(rf"(?:^|[\t ]){POINTER}[\t ]+{NAME}$").alias("pointer"),
        pl.col("clock").str.contains("[.,]").fill_null(True).alias("fine"),
    )
    most = shapes.group_by(pl.all(), maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    who, time, since, pointer, fine, _ = most.row(0)
    return Shape(who, time, since, pointer, fine)


RECORD = {
    "line_no": pl.Int64,
    "line_end": pl.Int64,
    "pos": pl.Int64,
    "kind": pl.String,
    "tid": pl.Int64,
    "comm": pl.String,
    "clock": pl.String,
    "epoch": pl.String,
    "since": pl.Float64,
    "name": pl.String,
    "args": pl.String,
    "ret_text": pl.String,
    "val": pl.String,
    "err": pl.String,
    "elapsed": pl.Float64,
}
"""Columns of records. `kind`: full, open (a call's first half), resumed (its second half), detached, signal, exit.

A signal or exit has its text in `args`.
"""

_RECORDS = list(RECORD)


def cut(frame: pl.DataFrame, shape: Shape | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split a data frame (line_no, line_end, pos, line) into records and other lines; both in file order."""
    frame = _bared(frame.select_seq(*_KEYS, "line"))
    done = pl.DataFrame(schema=RECORD)
    if shape is not None:
        done, frame = _calls(frame, shape)
    rest, found = frame, [done]
    for some in (_resumed, _any_calls, _signals):
        rows, rest = some(rest) if len(rest) else (done.clear(), rest)
        found.append(rows)
    filled = [f for f in found if len(f)]
    if len(filled) > 1:
        return in_order(pl.concat(filled), *KEY), rest
    return (filled[0] if filled else done), rest


def _calls(frame: pl.DataFrame, shape: Shape) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off whole calls and first halves of the commonest shape; return them and the other lines."""
    fields = ["pid", "stamp", "since", "name"]
    parts = frame.select_seq(*_KEYS, _PARTS).unnest("parts")
    parts = parts.with_columns_seq(
        groups(FRONT, shape.head(), fields),
        REST.str.extract(COMMON_TAIL, 0).alias("tail"),
        REST.str.ends_with(UNFINISHED).fill_null(False).alias("open"),
    ).unnest("groups")
    mask = parts.select_seq(pl.col("name").is_not_null() & (TAIL.is_not_null() | pl.col("open"))).to_series()
    good = where(parts, mask)
    text = TAIL.str.strip_chars_start(")\t =").str.splitn(" <", 2).struct
    good = good.with_columns_seq(
        text.field("field_0").alias("ret_text"), text.field("field_1").str.strip_suffix(">").alias("took")
    )
    failed = pl.col("ret_text").str.contains(" E", literal=True).fill_null(False)
    parted = pl.col("ret_text").str.splitn(" ", 3).struct
    none = pl.lit(None, pl.String)
    stamp = {k: (pl.col("stamp") if shape.time == k else none).alias(k) for k in ("clock", "epoch")}
    val, err = pl.col("ret_text"), none
    if good.select_seq(failed.any()).item():
        val = parted.field("field_0")
        err = pl.when(failed).then(parted.field("field_1"))
    rows = good.select_seq(
        *_KEYS,
        pl.when("open").then(pl.lit("open")).otherwise(pl.lit("full")).alias("kind"),
        (pl.col("pid").str.to_integer(base=10, strict=False) if shape.who else pl.lit(None, pl.Int64)).alias("tid"),
        none.alias("comm"), stamp["clock"], stamp["epoch"],
        (pl.col("since").cast(pl.Float64) if shape.since else pl.lit(None, pl.Float64)).alias("since"),
        "name",
        pl.when("open").then(REST.str.strip_suffix(UNFINISHED)).otherwise(REST.str.strip_suffix(TAIL).str.strip_suffix(UNFINISHED)).alias("args"),
        "ret_text", val.alias("val"), err.alias("err"), pl.col("took").cast(pl.Float64).alias("elapsed"),
    )  # fmt: skip
    return rows.select_seq(_RECORDS), where(frame, ~mask)


def _prefix() -> list[pl.Expr]:
    """Return expressions that turn the texts of a prefix into columns of a record."""
    return [
        pl.coalesce("pid_a", "pid_b").str.to_integer(base=10, strict=False).alias("tid"),
        pl.coalesce("comm_a", "comm_b").alias("comm"),
        pl.col("clock").str.replace(",", ".", literal=True),
        pl.col("epoch").str.replace(",", ".", literal=True),
        pl.coalesce("since_a", "since_b").str.replace(",", ".", literal=True).cast(pl.Float64).alias("since"),
    ]


def _any_calls(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off calls and first halves of any shape; return them and the other lines."""
    parts = frame.select_seq(*_KEYS, _PARTS).unnest("parts")
    parts = parts.with_columns_seq(groups(FRONT, ANY_HEAD, [*PREFIX_FIELDS, "name"])).unnest("groups")
    parts = results(parts)
    opened = REST.str.ends_with(UNFINISHED.strip()).fill_null(False)
    left = REST.str.ends_with(DETACHED.strip()).fill_null(False)
    mask = parts.select_seq(
        pl.col("name").is_not_null() & (TAIL.is_not_null() | opened | left).fill_null(False)
    ).to_series()
    kind = pl.when(opened).then(pl.lit("open")).when(left).then(pl.lit("detached")).otherwise(pl.lit("full"))
    half = REST.str.replace(r" ?<(?:unfinished|detached) \.\.\.>$", "")
    rows = where(parts, mask).with_columns_seq(
        kind.alias("kind"),
        pl.when(opened | left)
        .then(half)
        .otherwise(REST.str.strip_suffix(TAIL).str.replace(" <unfinished ...>", "", literal=True))
        .alias("args"),
        *_prefix(),
    )
    return rows.select_seq(_RECORDS), where(frame, ~mask)


def _resumed(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off second halves, whose `args` is what they add to the arguments; return them and the other lines."""
    there = frame["line"].str.contains(" resumed>", literal=True)
    some = where(frame, there)
    if some.is_empty():
        return pl.DataFrame(schema=RECORD), frame
    some = some.with_columns_seq(groups(LINE, RESUMED, [*PREFIX_FIELDS, "name"])).unnest("groups")
    some = some.with_columns_seq(LINE.str.splitn(" resumed>", 2).struct.field("field_1").alias("rest"))
    some = results(some)
    mask = some.select_seq(pl.col("name").is_not_null() & TAIL.is_not_null()).to_series()
    # A thread that dies in a call prints `<... read resumed> <unfinished ...>) = ?`.
    text = REST.str.strip_suffix(TAIL).str.replace(" ?<unfinished \\.\\.\\.>$", "")
    rows = where(some, mask).with_columns_seq(pl.lit("resumed").alias("kind"), text.alias("args"), *_prefix())
    return rows.select_seq(_RECORDS), where(frame, ~spread(mask, there).fill_null(False))


def _signals(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off signals, stops and exits; return them and the other lines."""
    there = frame["line"].str.contains("(?:---|\\+\\+\\+)$")
    if not there.any():
        return pl.DataFrame(schema=RECORD), frame
    some = frame.with_columns_seq(
        groups(pl.when(pl.lit(there)).then(LINE), SIGNAL, [*PREFIX_FIELDS, "mark", "args"])
    ).unnest("groups")
    known = pl.col("args").str.contains(r"^(?:SIG[A-Z0-9_+]+\b|stopped by|exited with|killed by|superseded by)")
    mask = some.select_seq((pl.col("mark").is_not_null() & known).fill_null(False)).to_series()
    nothing = {c: pl.lit(None, RECORD[c]) for c in ("ret_text", "val", "err", "elapsed")}
    kind = pl.when(pl.col("mark") == "---").then(pl.lit("signal")).otherwise(pl.lit("exit")).alias("kind")
    name = pl.col("args").str.extract(r"(SIG[A-Z0-9_+]+)", 1).alias("name")
    rows = where(some, mask).with_columns_seq(kind, name, *_prefix(), **nothing)
    return rows.select_seq(_RECORDS), where(frame, ~mask)
