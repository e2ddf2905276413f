"""Classify the lines between the records of an Oracle Net trace, which have no stamp and name no function.

    2014-11-15 16:13:28.320729 : nsevfnt:cxd: 0xf1b9c8 stage 0: NT events set:
            READ
    [14-APR-2016 05:58:39:329] nsc2addr: (DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=prod)(CID=(PROGRAM=sqlplus)(HOST=app1)(US
    ER=scott)))(ADDRESS=...

Events, the environment of a new process and wrapped descriptors continue the record above; header lines, marks of elision and an
author's prose do not. After a mark or prose no line continues the record above.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.formats.oracle.sqlnet import records as net_records
from parsers.secrets import connect_descriptors
from parsers.text.notes import ELISION

VERSION = r"^TNS[A-Z]* for ([^:]+): Version ([0-9.]+)"
_HEADER = rf"^Trace file |{VERSION}|^Copyright \(c\)|^---? .* INFORMATION (?:FOLLOWS|ENDS)"
_ELISION = (
    rf"{ELISION}|^[^A-Za-z0-9]*(?:(?:some |many |[0-9]+ )?(?:more )?(?:lines|rows) "
    r"(?:removed|deleted|omitted|skipped|cut))[^A-Za-z0-9]*$"
)
_CUT_STAMP = r"^[\t ]*(?:\([0-9]*\)? ?)?(?:\[[0-9A-Z: .-]*|[0-9]{4}-[0-9: .-]*)$"
_LOST_START = rf"^[^\[(]{{0,24}}\] ?{net_records.FUNCTION}:"
_TABLE = r"^[\t ]*(?:(?:[a-z]{1,6}|[0-9.]+)[\t ]+){7,}(?:[a-z]{1,6}|[0-9.]+)$"
"""Eight numbers or short names and nothing else: row or heading of a table, so of another program (from practice)."""
_PHASES = ("entry", "exit", "normal exit", "error exit")
_UNFINISHED = re.compile(r"^soc(?:ket)? [0-9]+ h[^=]*=?$|\b[pt]len=$|\btype=$|events (?:s|se|set)?$|^exit [(:][^)]*=$")
_HALF_ROW = re.compile(r"(?:[0-9A-Fa-f*]{2} ){0,7}[0-9A-Fa-f*]{0,2} *(?:\|.{0,8})?")
CONTINUES = ("event", "env", "joined", "wrapped")
BREAKS = ("elided", "prose", "unknown", "damaged")

_NONE = pl.DataFrame(
    schema={"line_no": pl.Int64(), "sub": pl.Int32(), "line": pl.String(), "text": pl.String(), "owner": pl.Int64(),
            "what": pl.String(), "breaks": pl.Boolean()}
)  # fmt: skip


def classify(split: pl.DataFrame, last_line: int | None) -> pl.DataFrame:
    """Return the lines that are not records, with their class.

    Columns: `owner` (number of the record above, -1 if none), `what` and `breaks` (records may be missing here).
    `what` is blank, elided, header, damaged, prose, unknown, or the way in which the line continues the record above (one of CONTINUES).
    `last_line` is the number of the file's last line if `split` contains it.
    """
    if split["record"].all():
        return _NONE
    others = split.select_seq(
        "line_no", "sub", "line", "text", "record", owner=pl.col("record").cum_sum().cast(pl.Int64, strict=False) - 1
    )
    others = others.filter(~pl.col("record")).drop("record")
    place = others.select_seq(pl.when(pl.col("owner") >= 0).then("owner")).to_series()
    above = split.filter(pl.col("record")).select_seq(
        pl.col("func").gather(place).alias("of"), pl.col("text").gather(place).alias("text_above"),
        pl.col("dump").gather(place).alias("inner"), pl.col("line").gather(place).alias("above"),
    )  # fmt: skip
    others = pl.concat([others, above], how="horizontal")
    text, text_above = pl.col("text"), pl.col("text_above")
    deeper = _indent(text) > _indent(pl.col("above"))
    net = _brackets(text)
    before = _brackets(text_above) + net.cum_sum().over("owner") - net
    descriptor = text_above.str.contains(r"\([A-Z_]+ *=") & ~pl.col("inner")
    others = others.with_columns_seq(
        what=pl.when(text.str.strip_chars() == "").then(pl.lit("blank"))
        .when(text.str.contains(_ELISION)).then(pl.lit("elided"))
        .when((pl.col("of") == "nlpcaini") & text_above.str.starts_with("env[")).then(pl.lit("env"))
        .when(text_above.str.contains(net_records.EVENTS) & text.str.contains(r"^[\t ]*[A-Z][A-Z ]*[A-Z]$")).then(pl.lit("event"))
        .when(text_above.str.ends_with("follow:") & (deeper | text.str.contains('^"(?:and|or)"'))).then(pl.lit("joined"))
        .when(descriptor & (before > 0)).then(pl.lit("wrapped"))
        .when(text.str.contains(_HEADER)).then(pl.lit("header"))
        .when((pl.col("line_no") == (last_line or 0)) & text.str.contains(_CUT_STAMP)).then(pl.lit("damaged"))
        .when((pl.col("line_no") == 1) & text.str.contains(_LOST_START)).then(pl.lit("damaged"))
        .when(text.str.contains(_TABLE)).then(pl.lit("unknown"))
        .when(deeper & ~pl.col("inner")).then(pl.lit("joined"))
        .when(text.str.contains(r"^[\t ]+[A-Z][A-Z ]*[A-Z]$")).then(pl.lit("damaged"))
        .when(text.str.contains(r"[A-Za-z]{2,}[ ,]+[A-Za-z]+[ ,]+[A-Za-z]")).then(pl.lit("prose"))
        .otherwise(pl.lit("unknown"))
    )  # fmt: skip
    gone = pl.col("what").is_in(BREAKS).cast(pl.Int32, strict=False)
    orphan = pl.col("what").is_in(CONTINUES) & ((gone.cum_sum() - gone).over("owner") > 0)
    others = others.with_columns_seq(what=pl.when(orphan).then(pl.lit("damaged")).otherwise("what"))
    return others.drop("of", "text_above", "inner", "above").with_columns_seq(breaks=pl.col("what").is_in(BREAKS))


def _indent(text: pl.Expr) -> pl.Expr:
    return text.str.len_bytes().cast(pl.Int64, strict=False) - text.str.strip_chars_start("\t ").str.len_bytes().cast(
        pl.Int64, strict=False
    )


def _brackets(text: pl.Expr) -> pl.Expr:
    """Return the number of brackets that a text leaves open."""
    opened, closed = (text.str.count_matches(sign, literal=True).cast(pl.Int64, strict=False) for sign in "()")
    return opened - closed


def is_cut(records: pl.DataFrame, others: pl.DataFrame, last_line: int) -> bool:
    """Return whether the last line, which has no line end, was certainly cut within its text.

    It was if a bracket is open, a row of a dump has no end, or half a word of the phases or the words before a number stand alone.
    A text that may be complete does not count as cut.
    """
    if not len(records):
        return False
    end = records.row(-1, named=True)
    below = others.filter((pl.col("owner") == len(records) - 1) & pl.col("what").is_in(CONTINUES))
    if last_line not in (end["line_no"], *below["line_no"]) or end["dump"]:
        return False
    text = "".join([end["text"], *below["text"]])
    if any(text.count(opens) > text.count(closes) for opens, closes in ("()", "[]")) or _UNFINISHED.search(text):
        return True
    half_word = text != "" and any(text != word and word.startswith(text) for word in _PHASES)
    return half_word or last_line in half_rows(records.tail(2))["line_no"]


def half_rows(records: pl.DataFrame) -> pl.DataFrame:
    """Return the records (line_no, line, text, at) that begin like a row of the dump above them but have no end.

    Their bytes may be a secret, because nothing identifies them any more.
    """
    follows = (pl.col("dump") | pl.col("head")).shift(1, fill_value=False) & (pl.col("func") == pl.col("func").shift(1))
    candidates = records.select_seq("line_no", "line", "text", "dump", at=pl.int_range(pl.len()), follows=follows)
    return candidates.filter(pl.col("follows") & ~pl.col("dump") & (pl.col("text") != "packet dump")).filter(
        pl.col("text").str.contains(f"^(?:{_HALF_ROW.pattern})$")
    )


def hidden(others: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Mask lines of the environment as a whole, and accounts in all others; return the masked lines and the places."""
    if not len(others):
        return others, connect_descriptors.places([])
    env = pl.col("what") == "env"
    places = others.filter(env).select_seq(
        "line_no",
        pl.lit(0, pl.Int64).alias("from"),
        pl.col("line").str.len_chars().cast(pl.Int64, strict=False).alias("to"),
        kind=pl.lit("environment"),
    )
    named = connect_descriptors.secret_columns(others.filter(~env))
    return others.with_columns_seq(text=pl.when(env).then(pl.lit("")).otherwise("text")), pl.concat([places, named])


def below(others: pl.DataFrame, packet: pl.Series) -> pl.DataFrame:
    """Collect the lines below each record.

    Returns packet, below (last line), events, cut (events may be missing), tail (further text or NULL), wrapped_lines (line_no and
    line of the pieces of the record's text). `packet` is the number of each record's row.
    """
    parts = others.filter(pl.col("owner") >= 0)
    parts = parts.with_columns_seq(packet=packet.gather(parts["owner"]), text=pl.col("text").str.strip_chars())
    kind = pl.col("what")
    event, wrapped = kind == "event", kind == "wrapped"
    collected = parts.group_by("packet", maintain_order=True).agg(
        below=pl.col("line_no").filter(kind.is_in(CONTINUES)).max(),
        events=pl.col("text").filter(event),
        cut=(kind.is_in(["elided", "damaged"]) & (event.cum_sum() == 0)).any(),
        wrapped=pl.col("text").filter(wrapped).str.join(""),
        wrapped_lines=pl.struct("line_no", "line").filter(wrapped),
        joined=pl.col("text").filter(kind == "joined").str.join("\n"),
    )
    joined = pl.when(pl.col("joined") != "").then(pl.concat_str(pl.lit("\n"), "joined")).otherwise(pl.lit(""))
    tail = pl.concat_str(pl.col("wrapped").fill_null(""), joined)
    return collected.select_seq(
        "packet", "below", "events", "cut", "wrapped_lines", tail=pl.when(tail != "").then(tail)
    )
