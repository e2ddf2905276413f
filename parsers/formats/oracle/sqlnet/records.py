"""Split the lines of Oracle Net traces into records (`PREFIX FUNCTION: TEXT`) and lines without stamp below them.

    [14-APR-2016 05:58:39:329] nttrd: entry                            milliseconds after a colon (10g to 12c)
    (5304) [12-FEB-2019 17:25:10:647] nttrd: entry                     with the thread (Windows, HP-UX, threaded clients)
    [000001 12-OCT-2009 10:03:39:116] nttrd: entry                     with six digits that are not part of the date
    2014-11-15 16:12:24.300524 : nlstdipi:entry                        ADR, six or three digits after a point, no blank
    nttbnd2addr: using ::1                                             time stamps switched off

Functions without a blank after their colon, pasted indentation, tags of a page and quoting of Markdown are understood. Two records
may stand on one physical line (`nsglcrstrc` writes without a line end): they become two rows with the same number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from parsers.formats.oracle.sqlnet import stamps as net_stamps
from parsers.formats.oracle.sqlnet.packets import is_dump_row
from parsers.text.times import month, wall_seconds

FUNCTION = r"[a-z][a-z0-9_]{2}[A-Za-z0-9_]{0,37}"
"""Name of a function; capitals only after the third letter, so that `Attempted load of ...:` and `LISTENER = (...` do not fit."""
LAYERED = r"(?:ni[a-z]|n[ns][a-z]|na[cemgsui_]|nt[a-z]|nr[a-z]|nl[a-z]|nz[a-z]|sn[lsit])[A-Za-z0-9_]{1,37}"
"""Function of one of the layers; required in records without a stamp, because any prose has a word before a colon."""

_NAMED_DATE = r"[0-9]{1,2}-[^-\] ]{1,12} ?-[0-9]{4}"
_ISO_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DAY = rf"({_NAMED_DATE}) ([0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}[:.][0-9]{{3,6}})"
_ISO = rf"({_ISO_DATE}) ([0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}\.[0-9]{{3,6}})"
_THREAD = r"\(?(-?[0-9]+)\) "
_NO_THREAD = "()"


@dataclass(frozen=True)
class Shape:
    """One form of the prefix: whether it begins with the number of the thread, pattern of the stamp (groups date, time) and of its date."""

    name: str
    threaded: bool
    stamp: str
    date: str

    @property
    def pattern(self) -> str:
        """Return the pattern of the whole prefix, with groups thread, date, time."""
        return (_THREAD if self.threaded else _NO_THREAD) + self.stamp


SHAPES = (
    Shape("bracket", False, rf"\[{_DAY}\] ?", _NAMED_DATE),
    Shape("thread", True, rf"\[{_DAY}\] ?", _NAMED_DATE),
    Shape("numbered", False, rf"\[[0-9]{{6}} {_DAY}\] ?", _NAMED_DATE),
    Shape("thread_numbered", True, rf"\[[0-9]{{6}} {_DAY}\] ?", _NAMED_DATE),
    Shape("adr", False, rf"{_ISO} ?: ?", _ISO_DATE),
    Shape("adr_thread", True, rf"{_ISO} ?: ?", _ISO_DATE),
)
BARE = "bare"

_STAMPED = r"^[\t ]*(?:\(?-?[0-9]+\) )?(?:\[[0-9]{1,6}[- ]|[0-9]{4}-[0-9]{2}-[0-9]{2} )"
"""A line that may begin with a stamp; a cheap test before all forms are tried."""
_TAG = r"(?i)</?(?:span|strong|em|b|i|u|code|pre|font|mark|tt|p|div|br|a|li)(?: [^<>]*)?/?>"
_QUOTED = r"^(?:> ?)+"
_ESCAPED = r"\\([\[\]_*(){}#.|>-])"
_GLUED = {
    "[": r"^(.+?)((?:\([0-9]+\) )?\[(?:[0-9]{6} )?[0-9]{1,2}-[^-\] ]{1,12}-[0-9]{4} [0-9:.]{12,15}\] ?[a-z].*)$",
    "-": r"^(.+?)([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{3,6} ?: ?[a-z].*)$",
}
_STAMP_INSIDE = r"[0-9]{4} [0-9:.]{12,15}\] ?[a-z]|-[0-9]{2} [0-9:]{8}\.[0-9]{3,6} ?: ?[a-z]"
EVENTS = r"N[TS] events set:$"
_FIELDS = ("head", "thread", "date", "time", "func")


def shape_of(lines: pl.Series) -> str:
    """Return the name of the prefix that most of the lines have; `bare` if no line has a stamp."""
    lines = clean(lines.to_frame("line"))["text"]
    hits = {shape.name: int(lines.str.contains(rf"^[\t ]*{shape.pattern}").sum()) for shape in SHAPES}
    best = max(hits, key=lambda name: hits[name])
    return best if hits[best] else BARE


def clean(lines: pl.DataFrame) -> pl.DataFrame:
    """Remove tags of a page and quoting of Markdown; add `text` (the cleaned line) and `repaired`.

    Rows of a dump stay as they are: their right column may contain a piece of a page that was sent over the network.
    """
    line = pl.col("line")
    signs = line.str.contains_any(["<", "\\"]) | line.str.starts_with(">")
    may = lines.select_seq(signs & ~line.str.ends_with("|")).to_series()
    if not may.any():
        return lines.with_columns_seq(text=line, repaired=pl.lit(False))
    suspect = pl.when(may).then(line)
    dirty = (suspect.str.contains(_TAG) | suspect.str.contains(r"\\[\[\]_(]|^>")).fill_null(False)
    cleaned = (
        suspect.str.replace_all(_TAG, "").str.replace(_QUOTED, "").str.replace_all(_ESCAPED, "$1").str.strip_chars_end()
    )
    return lines.with_columns_seq(repaired=dirty).with_columns_seq(
        text=pl.when("repaired").then(cleaned).otherwise(line)
    )


def split(lines: pl.DataFrame, shape: str) -> pl.DataFrame:
    """Split lines into records and others, in file order.

    `lines` has line_no and line. The result has line_no, sub (0, or 1 ... for further records on the line), line, repaired, stamped,
    thread, day (days since 1970), micro (microseconds of the day), func, text, dump (a row of a packet dump), record. Lines that are
    not records have stamped False and func NULL; their text is the unchanged line with its indentation.
    """
    whole = clean(lines).with_columns_seq(sub=pl.lit(0, pl.Int32))
    if shape == BARE:
        return _judged(_bare(whole))
    straight, rest = _straight(whole, next(s for s in SHAPES if s.name == shape))
    if not len(rest):
        return _judged(straight)
    rest = rest.select_seq("line_no", "line", "text", "repaired", "sub")
    order = sorted(SHAPES, key=lambda s: s.name != shape)
    done = [_empty(whole)]
    while len(rest):
        stamped, rest = _stamped(rest, order)
        stamped, glued = _unglue(stamped)
        rest, more = _unglue(rest)
        done += [stamped, rest]
        rest = pl.concat([glued, more])
    records = pl.concat([straight, _timed(pl.concat(done, how="diagonal"))], how="diagonal")
    records = records.with_columns_seq(pl.col("stamped").fill_null(False))
    return _judged(records.sort("line_no", "sub", maintain_order=True))


_LEFT_OUT = "|(...)"


def _judged(records: pl.DataFrame) -> pl.DataFrame:
    named = pl.col("func").is_not_null()
    left_out = records.select_seq(pl.col("text").str.ends_with(_LEFT_OUT)).to_series()
    if left_out.any():
        # An author's mark after a row of a dump is not part of it.
        records = records.with_columns_seq(text=pl.col("text").str.replace(_LEFT_OUT, "|", literal=True))
    return records.with_columns_seq(dump=named & is_dump_row(pl.col("text")), record=named | pl.col("stamped"))


def _straight(lines: pl.DataFrame, shape: Shape) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the lines whose prefix has the same columns as the first record; return them and the rest."""
    like = net_stamps.template(lines["text"].head(200), f"{shape.pattern}({FUNCTION}):", shape.threaded)
    if like is None:
        return _timed(_empty(lines)), lines
    stamps = net_stamps.read(lines["text"], like, lambda date: _days(date) if re.fullmatch(shape.date, date) else None)
    rest = lines["text"].str.slice(pl.Series(stamps.length))
    # Lines with a blank more or less than the first record are left to the pattern.
    fits = pl.Series(stamps.fits) & ~rest.str.starts_with(" ")
    cut = rest.str.splitn(":", 2).struct.rename_fields(["func", "message"]).struct.unnest()
    names = cut["func"].unique()
    names = names.filter(names.str.contains(f"^{FUNCTION}$"))
    named = cut["func"].is_in(names.implode()) & cut["message"].is_not_null()
    if not named.all():
        named_one = pl.when(named)
        cut = cut.select_seq(
            named_one.then("func").alias("func"), named_one.then("message").otherwise(rest).alias("message")
        )
    thread = pl.lit(pl.Series(stamps.thread)) if shape.threaded else pl.lit(None, pl.Int64)
    records = lines.with_columns_seq(
        cut["message"].str.strip_chars().alias("text"), cut["func"], stamped=pl.lit(True), thread=thread,
        day=pl.Series(stamps.day), micro=pl.Series(stamps.micro),
    )  # fmt: skip
    fits &= ~_glued(records["text"])
    return (records, lines.clear()) if fits.all() else (records.filter(fits), lines.filter(~fits))


def _stamped(lines: pl.DataFrame, order: list[Shape]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split `lines` into records with a stamp and the rest.

    The prefixes are tried in `order`, each first with the name of a function behind it, then without.
    """
    parts: list[pl.DataFrame] = []
    may = lines["text"].str.contains(_STAMPED)
    rest = lines.filter(may)
    for shape in order:
        for tail in (rf"(?:({FUNCTION}):)", "()"):
            if not len(rest):
                break
            tried = rest.with_columns_seq(
                pl.col("text")
                .str.extract_groups(rf"^([\t ]*{shape.pattern}{tail})")
                .struct.rename_fields(list(_FIELDS))
                .alias("g")
            ).unnest("g")
            hit = pl.col("head").is_not_null()
            parts.append(tried.filter(hit))
            rest = tried.filter(~hit).drop(_FIELDS)
    rest = pl.concat([lines.filter(~may), rest])
    if not parts:
        return _empty(lines), rest
    text = pl.col("text").str.strip_prefix(pl.col("head")).str.strip_chars()
    records = pl.concat(parts).with_columns_seq(
        text=text, func=_filled("func"), thread=_filled("thread").cast(pl.Int64, strict=False), stamped=pl.lit(True)
    )
    return records.drop("head"), rest


def _filled(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(pl.col(name))


def _empty(like: pl.DataFrame) -> pl.DataFrame:
    return like.clear().with_columns_seq(
        thread=pl.lit(None, pl.Int64), date=pl.lit(None, pl.String), time=pl.lit(None, pl.String), func=pl.lit(None, pl.String),
        stamped=pl.lit(None, pl.Boolean),
    )  # fmt: skip


def _glued(text: pl.Series) -> pl.Series:
    """Return which texts contain a further stamp: long enough for one, not a row of a dump, and with the end of a stamp inside."""
    size = text.str.len_bytes()
    glued = ((size >= 25) & ~((size == 35) & text.str.ends_with("|"))).to_numpy().copy()
    long = text.filter(pl.Series(glued)).str
    glued[glued] = long.contains(" : ", literal=True) | long.contains("] ", literal=True)
    glued[glued] = text.filter(pl.Series(glued)).str.contains(_STAMP_INSIDE)
    return pl.Series(glued)


def _unglue(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split lines in which a further record begins: return the lines up to it, and the further records as separate lines."""
    text = pl.col("text")
    may = _glued(lines["text"])
    none = lines.clear().select_seq("line_no", "line", "text", "repaired", "sub")
    if not may.any():
        return lines, none
    parts = (text.str.extract_groups(p).struct.rename_fields(["a", "b"]).struct.field("b") for p in _GLUED.values())
    glued = lines.filter(may).with_columns_seq(pl.coalesce(parts).alias("b")).filter(pl.col("b").is_not_null())
    if not len(glued):
        return lines, none
    further = glued.select_seq("line_no", "line", pl.col("b").alias("text"), "repaired", pl.col("sub") + 1)
    cut = lines.join(glued.select_seq("line_no", "sub", "b"), on=["line_no", "sub"], how="left", maintain_order="left")
    cut = cut.with_columns_seq(text=text.str.strip_suffix(pl.col("b").fill_null("")).str.strip_chars_end())
    return cut.drop("b"), further


def _bare(lines: pl.DataFrame) -> pl.DataFrame:
    pattern = rf"^([\t ]*({LAYERED}):)"
    records = lines.with_columns_seq(
        pl.col("text").str.extract_groups(pattern).struct.rename_fields(["head", "func"]).alias("g")
    ).unnest("g")
    text = pl.when(pl.col("head").is_not_null()).then(pl.col("text").str.strip_prefix(pl.col("head")).str.strip_chars())
    none = _empty(lines)
    records = records.with_columns_seq(text=text.otherwise(pl.col("text")), stamped=pl.lit(False)).drop("head")
    return _timed(pl.concat([none, records], how="diagonal"))


def _timed(records: pl.DataFrame) -> pl.DataFrame:
    """Replace date and time by day and micro."""
    dates = {text: _days(text) for text in records["date"].unique() if text is not None}
    clock = pl.col("time")
    hour, minute, second, fraction = (
        clock.str.slice(start, length).cast(pl.Int64, strict=False)
        for start, length in ((0, 2), (3, 2), (6, 2), (9, 6))
    )
    scale = pl.when(clock.str.len_bytes() == 12).then(1000).otherwise(1)
    day = pl.col("date").replace_strict(dates, default=None, return_dtype=pl.Int64) if dates else pl.lit(None, pl.Int64)
    micro = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction * scale
    return records.with_columns_seq(day=day, micro=micro).drop("date", "time")


def _days(text: str) -> int | None:
    """Return the days since 1970 of `14-APR-2016` (month in any language of `parsers.text.times`) or `2014-11-15`; None if invalid."""
    first, middle, last = text.split("-")
    number = month(middle)
    if number is None:
        return None
    year, day = (last, first) if len(last) == 4 else (first, last)
    seconds = wall_seconds(int(year), number, int(day))
    return None if seconds is None else int(seconds) // 86_400
