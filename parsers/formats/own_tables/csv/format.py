r"""Tables that people made themselves: CSV, TSV, semicolons, or lines of `stamp value`.

Tools: exports of monitoring systems, spreadsheets, home-made loops. Capture: any.

Samples::

    time,connect_ms,host
    2021-11-20T10:15:00Z,31,db1
    10:15:00;0,31
    1598877345 0.042

Tables: conn_times if a column is a duration, else counters; both for a listing without stamps that has three
or more columns of figures (grp `csv`, one row for each cell, `item` the label: the
only column of words, or in a listing without stamps the first one whose words all differ). In a wide table connects and responses
without a unit are counts. A listing with a column of states (`state`, `status`, `wait_event` ...) and no stamps is a list of
sessions, jobs or tasks: its lines are rows too, and a column of seconds there is no measured time. Only the uploader
knows the meaning of the columns: it is guessed (stamps by their form, durations by the header's word), the table is read that way,
and a question is asked; the answer (`time=1 elapsed=3:ms label=host`) comes back as a hint. Clock: wall-utc for epochs and stamps
with a zone, wall-local for others, none without stamps. Traps: `07/04/07` needs a separate question (day or month first);
decimal commas where the separator is not a comma; quoted cells that contain the separator; a repeated header; a time of
day without a date that is earlier than the one above belongs to the next day. Known gaps: cells with line breaks in quotes.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from parsers.columns.column_roles import (
    LOOKED_AT,
    NUMBER,
    SLASHED,
    STAMPS,
    Columns,
    gathered,
    kind_of,
    parse_columns,
    suggested,
    wall,
)
from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables
from parsers.text.notes import ELISION
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, decimal_sign, span_s

_SECONDS = r"(?::[0-9]{2}(?:[.,][0-9]+)?)"
STAMP = (
    r"(?:[0-9]{10}(?:\.[0-9]+)?|[0-9]{13}|[0-9]{2}:[0-9]{2}"
    + _SECONDS
    + "|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}"
    + _SECONDS
    + r"?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)"
)
PAIR = rf"^[ \t]*({STAMP})[ \t]+([+-]?[0-9][0-9.,]*)$"
FRACTION = r"^.{0,60}?[0-9]{2}:[0-9]{2}:[0-9]{2},[0-9]{3}(?:[0-9]{3})?[^0-9,;]"
"""A stamp with its fraction behind a comma, and text after it."""

NAMED = r"^[^=]*\b[A-Za-z_][\w.-]*=[^=]"
SEPARATORS = ("\t", ";", ",", "|")
MOST_COLUMNS = 200

LISTED = 3
"""Minimum number of columns of figures of a listing without stamps, all of which are kept, also beside one that sounds like a time taken."""

STATES = (
    r"(?i)(?:\w{1,20}[_ .])?(?:state|status|stat|wait[_ ]?(?:event|type|class|reason)|blocked[_ ]?by|last[_ ]?wait\w*)"
)
"""Column of words that makes a listing one of sessions, jobs or tasks."""

OPERATION, TARGET = (
    r"(?i)(?:operation|system ?call|call|function|method)",
    r"(?i)(?:path|file ?name|file|target|object|url)",
)
"""Columns of a list of calls that together name what a row took its time for (Process Monitor: Operation, Path)."""

NAMES_VALUES = r"(?i)(?:(?:counter|metric|measure)[ _.]?(?:name|type)|metric|counter|__name__)"
"""Column that names what the only column of values holds, row by row (`dotnet-counters collect`, exports of monitors)."""

FORMATS = tuple(
    Format(
        kind="csv",
        variant=variant,
        version="1",
        systems=("solaris", "linux", "aix", "hpux", "windows", "macos"),
        tables=("counters", "conn_times", "rows"),
        man="",
        example=example,
        clocks=("wall-local", "wall-utc", "none"),
        own=own,
    )
    for variant, example, own in (
        ("delimited", "export of a monitoring system", ""),
        ("pairs", "while :; do echo $(date +%s) $(...); done", PAIR),
    )
)


def claim(head: Head) -> Claim | None:
    """Claim a table of cells, or pairs of stamp and value; weakly, so that the format of a tool wins."""
    lines = [x for x in head.lines[:LOOKED_AT] if x]
    if len(lines) < 3:
        return None
    pairs = sum(re.match(PAIR, x) is not None for x in lines)
    if pairs * 5 >= len(lines) * 4:
        return Claim(0.5 * pairs / len(lines), f"{pairs} of {len(lines)} lines are a stamp and a value", "pairs")
    shape = shape_of(lines)
    if shape is None:
        return None
    separator, width, header = shape
    if separator == "|" and any(_ruled(x.lstrip("> \t")) for x in lines[:4]):
        return None  # aligned columns of a database client (psql)
    if separator == "|" and 2 * sum("| Asserted" in x or "| Deasserted" in x for x in lines) > len(lines):
        return None  # the event log of a board (ipmitool sel list)
    if separator == "," and 2 * sum(re.match(FRACTION, x) is not None for x in lines) > len(lines):
        return None  # a log whose stamps have a comma before their fraction
    rows = [cells for cells in (split(x, separator) for x in lines[1 if header else 0 :]) if len(cells) == width]
    if 2 * sum(_named(cells) for cells in rows) > len(rows):
        return None  # a log whose cells are pairs of name and figure
    kinds = [kind_of([cells[n] for cells in rows]) for n in range(width)]
    if len(rows) < 2 or not (set(kinds) & {"number", *STAMPS}):
        return None
    if not header and "number" not in kinds and _says([cells[-1] for cells in rows]):
        return None  # a log that separates stamp, severity and message like cells
    strength = 0.55 if header and set(kinds) & {"number"} else 0.45 if any(k in STAMPS for k in kinds) else 0.0
    if strength == 0:
        return None
    name = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar"}[separator]
    return Claim(
        strength * len(rows) / len(lines), f"{len(rows)} rows of {width} cells parted by a {name}", "delimited"
    )


def _ruled(line: str) -> bool:
    """Return whether a line is a rule that shows the widths of columns.

    >>> _ruled("----+------"), _ruled("+----+----+"), _ruled("a | --"), _ruled("----")
    (True, True, False, False)
    """
    return not line.strip("-+| ") and "--" in line and ("+" in line or "|" in line)


def _named(cells: Sequence[str]) -> bool:
    """Return whether most cells are a name with a value (`active=9`)."""
    return 2 * sum(re.search(NAMED, cell) is not None for cell in cells) > len(cells)


def _says(cells: Sequence[str]) -> bool:
    """Return whether most cells have four words or more, like sentences."""
    return 2 * sum(cell.count(" ") >= 3 for cell in cells) > len(cells)


def shape_of(lines: Sequence[str]) -> tuple[str, int, bool] | None:
    """Return separator, number of cells and whether the first line is a header; None if the lines are not a table."""
    best: tuple[int, str, int] | None = None
    for separator in SEPARATORS:
        widths = Counter(len(split(x, separator)) for x in lines if separator in x)
        if not widths:
            continue
        width, n = widths.most_common(1)[0]
        if 2 <= width <= MOST_COLUMNS and n * 5 >= len(lines) * 4 and (best is None or n > best[0]):
            best = (n, separator, width)
    if best is None:
        return None
    _, separator, width = best
    first = split(lines[0], separator)
    words = [c for c in first if c and not re.match(NUMBER, c) and not any(re.match(p, c) for p in STAMPS.values())]
    later = [split(x, separator) for x in lines[1:]]
    numeric = any(re.match(NUMBER, c) or any(re.match(p, c) for p in STAMPS.values()) for cells in later for c in cells)
    return separator, width, len(first) == width and len(words) == len([c for c in first if c]) and numeric


def split(line: str, separator: str) -> list[str]:
    """Split a line into cells; a separator within quotes does not count."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
    except (csv.Error, StopIteration):
        return [line]


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps separator, names, the meaning of the columns, and the position."""
    return gathered(source, state, lambda frame, state: _table(frame, source, out, state))


def _table(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> State:
    begun = state if "names" in state else _begin(frame, source, out, state)
    return state if begun is None else _rows(frame, out, begun)


def _begin(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> State | None:
    """Decide the table's shape and the meaning of its columns by the first lines; ask what only a person knows."""
    filled = frame.filter(pl.col("line") != "").head(LOOKED_AT)
    lines = filled["line"].to_list()
    if not lines:
        return None
    pairs = state["variant"] == "pairs"
    shape = (" ", 2, False) if pairs else shape_of(lines)
    if shape is None:  # prompts stand around a short table
        lines = [x for x in lines if any(separator in x for separator in SEPARATORS)]
        shape = shape_of(lines) if lines else None
    if shape is None:
        return None
    if not pairs and len(split(lines[0], shape[0])) != shape[1]:  # a prompt or a title stands above the header
        lines = lines[next(n for n, x in enumerate(lines) if len(split(x, shape[0])) == shape[1]) :]
        shape = shape_of(lines) or shape
    separator, width, header = shape
    first = split(lines[0], separator)
    names = first if header else ["time", "value"] if pairs else [f"column {n + 1}" for n in range(width)]
    lines_cut = (
        [list(m.groups()) for m in (re.match(PAIR, x) for x in lines) if m]
        if pairs
        else [split(x, separator) for x in lines[int(header) :]]
    )
    cells = [row for row in lines_cut if len(row) == width and not (header and row == first)]
    kinds = [kind_of([row[n] for row in cells]) for n in range(width)]
    columns, reason = suggested(kinds, names)
    if columns.label is None and columns.time is None and columns.elapsed is None:
        columns = replace(columns, label=_names_of_things(cells, kinds))
    questions = []
    answer = source.hints.columns
    if answer:
        try:
            columns = parse_columns(answer, names)
        except ValueError as error:
            out.note(
                int(filled["line_no"][0]),
                int(filled["line_no"][0]),
                "remark",
                f"columns as said make no sense: {error}",
            )
    numbers = tuple(n for n, k in enumerate(kinds) if k == "number" and n != columns.time)
    if columns.values == () and columns.elapsed is None:
        columns = Columns(columns.time, None, 1.0, columns.label, values=numbers)
    if not answer and header and stamp_of_listing(kinds) is None and len(numbers) >= LISTED:
        columns = replace(columns, values=numbers, label=columns.label or _names_of_things(cells, kinds))
    line = int(filled["line_no"][0])
    listing = not answer and header and stamp_of_listing(kinds) is None and _has_states(names, kinds)
    if listing:
        columns = replace(columns, elapsed=None, values=numbers)
    if not answer:
        questions.append(
            {
                "ask": "columns",
                "text": "Which column is what?",
                "default": columns.words(names),
                "reason": reason,
                "choices": names,
                "line": line,
            }
        )
    stamp = kinds[columns.time] if columns.time is not None else None
    order = source.hints.date_order
    if stamp == "slashed" and columns.time is not None:
        matches = [m for m in (re.match(SLASHED, row[columns.time]) for row in cells) if m]
        first_over, second_over = (any(int(m[g]) > 12 for m in matches) for g in (1, 2))
        # Performance Monitor of Windows writes the month first in every country.
        order = order or ("mdy" if "(PDH-CSV" in names[columns.time] else None)
        order = order or ("dmy" if first_over else "mdy" if second_over else None)
        if order is None:
            order = "dmy"
            questions.append(
                {
                    "ask": "date_order",
                    "text": f"Is {matches[0][0]} the {int(matches[0][1])}. of month {int(matches[0][2])}, or the other way round?",
                    "default": "dmy",
                    "reason": "no stamp has a number over 12; outside the United States the day comes first",
                    "choices": ["dmy", "mdy"],
                    "line": line,
                }
            )
    if stamp == "clock" and not source.hints.date:
        questions.append(
            {
                "ask": "date",
                "text": "Which day does it begin on?",
                "default": "",
                "reason": "the stamps have no date: they are kept as times of a day",
                "choices": [],
                "line": line,
            }
        )
    if questions:
        out.fact("questions", questions)
    numbers_text = pl.Series([row[n] for row in cells for n in range(width) if kinds[n] == "number"], dtype=pl.String)
    sign = None if separator == "," and not any('"' in x for x in lines) else decimal_sign(numbers_text)
    has_zone = stamp == "epoch" or (
        stamp == "iso"
        and columns.time is not None
        and all(re.search(r"(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})$", r[columns.time]) for r in cells)
    )
    return state | {
        "separator": separator,
        "names": names,
        "header": split(lines[0], separator) if header else None,
        "columns": {k: getattr(columns, k) for k in ("time", "elapsed", "unit_s", "label", "ok", "values")},
        "stamp": stamp,
        "order": order,
        "date": source.hints.date,
        "sign": sign or ".",
        "clock": "wall-utc" if has_zone else "wall-local" if stamp else None,
        "zone": "UTC" if has_zone else source.hints.tz,
        "sample": 0,
        "days": 0,
        "nameless": not (header or pairs or answer),
        "listing": listing,
    }


def stamp_of_listing(kinds: Sequence[str]) -> str | None:
    """Return the kind of stamp that a table has, None for a listing without any."""
    return next((kind for kind in kinds if kind in STAMPS), None)


def _has_states(names: Sequence[str], kinds: Sequence[str]) -> bool:
    """Return whether a column of words has the name of a state.

    >>> _has_states(["pid", "wait_event"], ["number", "text"]), _has_states(["status", "ms"], ["number", "number"])
    (True, False)
    """
    return any(kind == "text" and re.fullmatch(STATES, name) for name, kind in zip(names, kinds, strict=True))


def _names_of_things(cells: Sequence[Sequence[str]], kinds: Sequence[str]) -> int | None:
    """Return the first column of words whose values are all different: it names the objects of a listing."""
    for n, kind in enumerate(kinds):
        words = [row[n] for row in cells]
        if kind == "text" and len(words) > 1 and all(words) and len(set(words)) == len(words):
            return n
    return None


def _rows(frame: pl.DataFrame, out: Tables, state: State) -> State:
    columns = Columns(**(state["columns"] | {"values": tuple(state["columns"]["values"])}))
    names: list[str] = state["names"]
    cut = _cells(frame, state, len(names))
    if state["header"] is not None:
        heading = pl.concat_str(
            [pl.col(f"c{n}").fill_null("") for n in range(len(names))], separator="\0"
        ) == "\0".join(state["header"])
        out.read(cut.filter(heading)["line_no"])
        cut = cut.filter(~heading)
    bad = cut.filter(~pl.col("fits") & (pl.col("line") != "") & ~pl.col("line").str.contains(ELISION))
    text = f"another number of cells than {len(names)}: "
    out.notes(bad.select("line_no", kind=pl.lit("unknown"), text=text + pl.col("line")))
    rows = cut.filter(pl.col("fits"))
    if columns.time is not None and state["stamp"]:
        rows = rows.with_columns(
            t_local=wall(state["stamp"], pl.col(f"c{columns.time}"), state["date"], state["order"])
        )
        if state["stamp"] == "clock":
            rows, state = _leaps(rows, state)
        unread = rows.filter(pl.col("t_local").is_null())
        rows = rows.filter(pl.col("t_local").is_not_null())
        out.notes(unread.select("line_no", kind=pl.lit("unknown"), text="the stamp cannot be read: " + pl.col("line")))
    else:
        rows = rows.with_columns(t_local=pl.lit(None, pl.Float64))
    if rows.is_empty():
        return state
    rows = rows.with_columns(sample=pl.int_range(pl.len()) + 1 + state["sample"])
    label = pl.col(f"c{columns.label}").replace("", None) if columns.label is not None else pl.lit(None, pl.String)
    if columns.elapsed is not None:
        rows = rows.with_columns(elapsed_s=_number(f"c{columns.elapsed}", state) * columns.unit_s)
        ok = pl.col("elapsed_s").is_not_null()
        wrong = rows.filter(~ok)
        series = label.fill_null(_call(names)).fill_null(names[columns.elapsed])
        out.notes(wrong.select("line_no", kind=pl.lit("remark"), text="no time taken: a failure: " + pl.col("line")))
        out.add(
            "conn_times",
            rows.select(
                "line_no",
                "t_local",
                "elapsed_s",
                seq=pl.col("sample"),
                series=series,
                ok=ok,
                contiguous=pl.lit("assumed"),
            ),
        )
    if state.get("listing"):
        listed = rows.select(
            "line_no",
            "t_local",
            line_end=pl.col("line_no"),
            table_no=pl.lit(1),
            row_no=pl.col("sample"),
            heading=pl.lit(names),
            cells=pl.concat_list(pl.col(f"c{n}").fill_null("") for n in range(len(names))),
        )
        out.add("rows", listed)
    by_name = next((n for n, name in enumerate(names) if re.fullmatch(NAMES_VALUES, name)), None)
    for n in columns.values:
        named = by_name is not None and by_name != n and len(columns.values) == 1
        value = rows.select(
            "line_no",
            "t_local",
            "sample",
            item=pl.lit(None, pl.String) if named and columns.label == by_name else label,
            grp=pl.lit("csv"),
            name=pl.col(f"c{by_name}") if named else pl.lit(names[n]),
            value=_number(f"c{n}", state),
        )
        out.add("counters", value.filter(pl.col("value").is_not_null()))
    out.read(rows["line_no"])
    if state.get("nameless"):
        text = "no line of names: what the columns are is asked, until then they are numbered"
        out.note(int(rows["line_no"][0]), int(rows["line_no"][-1]), "damaged", text)
    if state["clock"]:
        begin, end = span_s(rows["t_local"])
        lines = [(int(rows["line_no"][0]), int(rows["line_no"][-1]))]
        base = WALL_BASE if state["stamp"] != "clock" or state["date"] else None
        out.domain(Domain(1, state["clock"], base=base, zone=state["zone"], t_begin=begin, t_end=end, lines=lines))
    return state | {"sample": state["sample"] + len(rows)}


def _call(names: Sequence[str]) -> pl.Expr:
    """Return what a row of a list of calls is about: operation and target; null for any other table."""
    operation = next((n for n, name in enumerate(names) if re.fullmatch(OPERATION, name)), None)
    target = next((n for n, name in enumerate(names) if re.fullmatch(TARGET, name)), None)
    if operation is None or target is None:
        return pl.lit(None, pl.String)
    both = (pl.col(f"c{operation}"), pl.col(f"c{target}"))
    said = pl.concat_str(both, separator=" ", ignore_nulls=True).str.strip_chars()
    return said.replace("", None)


def _number(column: str, state: State) -> pl.Expr:
    text = pl.col(column).str.strip_chars_end("% ")
    exponent = text.cast(pl.Float64, strict=False)
    return pl.when(text.str.contains(r"[eE]")).then(exponent).otherwise(_decimal(text, state["sign"]))


def _decimal(text: pl.Expr, sign: str) -> pl.Expr:
    """Convert a number by the table's decimal sign; the other sign separates thousands."""
    other = "," if sign == "." else "."
    return (
        text.str.replace_all(other, "", literal=True)
        .str.replace(sign, ".", literal=True)
        .cast(pl.Float64, strict=False)
    )


def _cells(frame: pl.DataFrame, state: State, width: int) -> pl.DataFrame:
    """Split the lines of a block into columns c0, c1 ...; `fits` is true for rows of the right width."""
    line = pl.col("line")
    if state["variant"] == "pairs":
        groups = line.str.extract_groups(PAIR).struct.rename_fields(["c0", "c1"])
        return (
            frame.with_columns(groups.alias("g"))
            .unnest("g")
            .with_columns(fits=pl.col("c0").is_not_null() & pl.col("c1").is_not_null())
        )
    separator = state["separator"]
    plain = line.str.split(separator).list.eval(pl.element().str.strip_chars())
    cut = frame.with_columns(cells=plain)
    quoted = frame.filter(line.str.contains('"', literal=True))
    if len(quoted):
        again = {"line_no": quoted["line_no"], "again": [split(x, separator) for x in quoted["line"]]}
        redone = pl.DataFrame(again, schema={"line_no": pl.Int64, "again": pl.List(pl.String)})
        cut = (
            cut.join(redone, on="line_no", how="left", maintain_order="left")
            .with_columns(cells=pl.coalesce("again", "cells"))
            .drop("again")
        )
    cut = cut.with_columns(fits=(pl.col("cells").list.len() == width) & (line != ""))
    return cut.with_columns(pl.col("cells").list.get(n, null_on_oob=True).alias(f"c{n}") for n in range(width)).drop(
        "cells"
    )


def _leaps(rows: pl.DataFrame, state: State) -> tuple[pl.DataFrame, State]:
    """Add days to times of day: a fall by more than half a day means that midnight has passed."""
    before = pl.col("t_local").shift(1).fill_null(pl.lit(state.get("last"), pl.Float64))
    leap = (pl.col("t_local") < before - 43200).fill_null(value=False).cum_sum() + state["days"]
    last = rows["t_local"].drop_nulls()
    rows = rows.with_columns(t_local=pl.col("t_local") + leap * 86400.0, leap=leap)
    if len(last):
        state = state | {"last": float(last[-1]), "days": int(rows["leap"][-1])}
    return rows.drop("leap"), state
