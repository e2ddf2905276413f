"""Put the rows under a header into the tables that `section_columns` assigns their columns to."""

from __future__ import annotations

import polars as pl

from parsers.columns import grid
from parsers.formats.sampling.shared.disk_names import part_of
from parsers.formats.sampling.shared.section_columns import ITEMS, Section
from parsers.tables.rows import State, Tables
from parsers.tables.schema import schema

NUMERIC = r"^[-+]?[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?[skBKMGTP%]?$|^-?nan$|^-?inf$|^-$|^$"
SUFFIX = r"[0-9]([skBKMGTP])$"
_KB = {
    "s": 0.5,
    "B": 1 / 1024,
    "k": 1.0,
    "K": 1.0,
    "M": 1024.0,
    "G": 1048576.0,
    "T": 1073741824.0,
    "P": 1099511627776.0,
}
ALL = ("all", "-1", "-", "ALL")
"""Labels of a row of all CPUs: sar, sadf, AIX."""

Found = dict[str, list[pl.DataFrame]]


def add(found: Found, out: Tables) -> None:
    """Write the rows of `found` to the tables, in the order of their lines and cells."""
    for notes in found.pop("notes", []):
        out.notes(notes)
    for table, frames in found.items():
        rows = pl.concat([f for f in frames if not f.is_empty()] or frames[:1], how="diagonal_relaxed")
        mine = [c for c in rows.columns if c in schema(table)]
        out.add(table, rows.sort("row", "at", maintain_order=True).select(mine))


def words(line: pl.Expr, separator: str = " ") -> pl.Expr:
    """Split a line without leading blanks into its words."""
    if separator != " ":
        return line.str.split(separator)
    return line.str.strip_chars(" \t").str.replace_all(r"[ \t]+", " ").str.split(" ")


def fill(rows: pl.DataFrame, what: Section, found: Found, state: State) -> pl.DataFrame:
    """Add rows to `found` by table; return those that do not fit.

    `rows`: row, line_no, line_end, line, words, and `sample`, `first`, `interval_s`, `t_local`. A row fits if it has as many words as
    the header (a last column of text takes the rest of the line) and a number, `-` or `nan` in each numeric column. A size with
    a unit (`1.5G`) is converted to kB. The data frames in `found` keep `row` and `at` (position of the column) for the order.
    """
    n = len(what.names)
    if what.long_end:
        rest = pl.col("words").list.slice(n - 1).list.join(" ")
        head = pl.col("words").list.head(n - 1)
        listed = pl.when(pl.col("words").list.len() >= n).then(pl.concat_list(head, rest)).otherwise(pl.col("words"))
        rows = rows.with_columns(words=listed)
    whole = pl.col("words").list.len() == n
    if what.long_end:  # a last text of numbers alone belongs to another tool's row
        whole &= ~pl.col("words").list.last().str.contains(r"^[0-9.,]+(?: [0-9.,]+)+$").fill_null(False)
    bad = rows.filter(~whole)
    wide = rows.filter(whole).with_columns(pl.col("words").list.get(i).alias(_cell(i)) for i in range(n))
    cells = [_cell(i) for i in what.numbers]
    if cells and not wide.is_empty():
        fits = pl.all_horizontal(pl.col(c).str.contains(NUMERIC) for c in cells)
        odd = wide.filter(~fits)
        if not odd.is_empty():
            bad = pl.concat([bad, odd.select(bad.columns)])
            wide = wide.filter(fits)
        wide = _numbers(wide, cells, found, state)
    if wide.is_empty():
        return bad
    keys = ["row", "line_no", "line_end", "sample", "first", "interval_s", "t_local"]
    wide = wide.select(*keys, *[_cell(i) for i in range(n)])
    for table in dict.fromkeys(table for table, _, _ in what.direct.values()):
        _direct(wide, what, table, keys, found, state)
    if what.counters:
        item = _item(what)
        long = wide.with_columns(item=item).unpivot(
            [_cell(i) for i in what.counters], index=[*keys, "item"], variable_name="cell"
        )
        counters = {_cell(i): (i, *c) for i, c in what.counters.items()}
        names = pl.DataFrame(
            [(cell, *rest) for cell, rest in counters.items()],
            schema={"cell": pl.String, "at": pl.Int64, "name": pl.String, "unit": pl.String, "mode": pl.String},
            orient="row",
        )
        long = long.drop_nulls("value").join(names, on="cell", how="left", maintain_order="left").drop("cell")
        found.setdefault("counters", []).append(long.with_columns(grp=pl.lit(what.grp)))
    return bad


def _cell(at: int) -> str:
    return f"cell {at}"


def _numbers(wide: pl.DataFrame, cells: list[str], found: Found, state: State) -> pl.DataFrame:
    """Convert cells to numbers: remove units and % signs, then apply the file's decimal sign; a lone minus sign is NULL.

    A number below zero, and one that can be read in two ways, is NULL too; a note in `found` states it.
    """
    some = wide["line"].str.contains(r"[0-9][skBKMGTP%](?:[ \t;]|$)").any()
    if some:
        factors = {
            f"{c} kB": pl.col(c).str.extract(SUFFIX).replace_strict(_KB, default=1.0, return_dtype=pl.Float64)
            for c in cells
        }
        wide = wide.with_columns(**factors, **{c: pl.col(c).str.strip_chars_end("skBKMGTP%") for c in cells})
    plain = wide.with_columns(pl.col(cells).replace(["-", ""], None))
    numbers = grid.numbers(plain, cells, state)
    if some:
        numbers = numbers.with_columns(pl.col(c) * pl.col(f"{c} kB") for c in cells)
    below = pl.any_horizontal(pl.col(c) < 0 for c in cells)
    _note(numbers.filter(below), "a value below zero, left out", found)
    if plain["line"].str.contains(",", literal=True).any():
        open_ones = pl.any_horizontal(
            pl.col(f"{c} text").str.contains(r"^[0-9]+(?:[.,][0-9]+)+$") & pl.col(c).is_null() for c in cells
        )
        texts = numbers.with_columns(plain.select(pl.col(c).alias(f"{c} text") for c in cells))
        _note(texts.filter(open_ones), "a comma that may part decimals or thousands: left out", found)
    finite = [pl.when(pl.col(c).is_finite() & (pl.col(c) >= 0)).then(pl.col(c)).alias(c) for c in cells]
    return numbers.with_columns(finite)


def _note(rows: pl.DataFrame, text: str, found: Found) -> None:
    if not rows.is_empty():
        notes = rows.select("line_no", "line_end", kind=pl.lit("damaged"), text=pl.lit(text))
        found.setdefault("notes", []).append(notes)


def _item(what: Section) -> pl.Expr:
    """Return the item of a counter: the device, interface, CPU or process of the row."""
    place = {name: i for i, name in what.words.items()}
    if what.subject == "task":
        ids = [pl.col(_cell(place[n])).replace("-", None) for n in ("TID", "TGID", "PID") if n in place]
        return pl.coalesce(ids)
    at = next((place[n] for n in ITEMS if n in place), next(iter(what.words), None))
    return pl.lit(None, pl.String) if at is None else pl.col(_cell(at)).replace("", None)


def _direct(wide: pl.DataFrame, what: Section, table: str, keys: list[str], found: Found, state: State) -> None:
    """Add the columns that `table` has to `found`."""
    facts = {
        column: pl.col(_cell(i)) * factor if factor != 1 else pl.col(_cell(i))
        for i, (of, column, factor) in what.direct.items()
        if of == table
    }
    place = {name: i for i, name in what.words.items()}
    at = pl.lit(0, pl.Int64).alias("at")
    if table == "cpu":
        key = pl.col(_cell(0))
        host = wide.filter(key.is_in(ALL)).select(*keys, at, **facts)
        each = wide.filter(key.str.contains("^[0-9]+$")).select(
            *keys, at, cpu=key.cast(pl.Int64, strict=False), **facts
        )
        unused = wide.filter(~key.is_in(ALL) & ~key.str.contains("^[0-9]+$"))
        found.setdefault("vmstat", []).append(host)
        found.setdefault("mpstat", []).append(each)
        if not unused.is_empty():
            named = {what.names[i]: pl.col(_cell(i)) for i in what.direct}
            long = unused.select(*keys, item=key, **named).unpivot(
                list(named), index=[*keys, "item"], variable_name="name"
            )
            long = long.drop_nulls("value").with_columns(
                at, grp=pl.lit("CPU"), unit=pl.lit(None, pl.String), mode=pl.lit("level")
            )
            found.setdefault("counters", []).append(long)
        return
    if what.subject == "device":
        device = pl.col(_cell(next(iter(what.words)))).str.strip_suffix(":")
        facts |= {"device": device, "part_of": part_of(device)}
        if {"wait", "actv"} <= facts.keys() and "queue" not in facts:
            facts["queue"] = facts["wait"] + facts["actv"]
        if {"wsvc_ms", "asvc_ms"} <= facts.keys() and "resp_ms" not in facts:
            facts["resp_ms"] = facts["wsvc_ms"] + facts["asvc_ms"]
    elif what.subject == "task":
        wide, task = _task(wide, place, table, state)
        facts |= task
        if table == "ps":
            facts["first"] = pl.col("first")
    if table in ("microstates", "ps"):
        keys = [k for k in keys if k != "interval_s"]
    facts = {n: e for n, e in facts.items() if n not in keys}
    found.setdefault(table, []).append(wide.select(*keys, at, **facts))


def _task(
    wide: pl.DataFrame, place: dict[str, int], table: str, state: State
) -> tuple[pl.DataFrame, dict[str, pl.Expr]]:
    """Add process and thread. A thread's row prints `-` for its process, which is the process printed above it."""
    number = {
        n: pl.col(_cell(place[n])).cast(pl.Int64, strict=False)
        for n in ("PID", "TGID", "TID", "UID", "CPU")
        if n in place
    }
    pid = number.get("TGID", number.get("PID", pl.lit(None, pl.Int64)))
    wide = wide.with_columns(pid=pid.forward_fill().fill_null(pl.lit(state.get("tgid"), pl.Int64)))
    if "TGID" in place and not wide.is_empty():
        state["tgid"] = wide["pid"][-1]
    task: dict[str, pl.Expr] = {"pid": pl.col("pid")}
    if "TID" in number:
        task["lwp"] = number["TID"]
    if "Command" in place:
        task["comm"] = pl.col(_cell(place["Command"])).str.strip_prefix("|__")
    if table == "ps":
        if "UID" in number:
            task["uid"] = number["UID"]
        if "USER" in place:
            task["login"] = pl.col(_cell(place["USER"]))
        if "CPU" in number:
            task["cpu_no"] = number["CPU"]
    return wide, task
