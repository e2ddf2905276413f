"""Lines of vmstat that are not plain rows (titles, configuration, state changes), and the repair of damaged rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from parsers.columns import grid
from parsers.formats.sampling.vmstat.columns import CLOCK, Columns, adds_up, heading_length
from parsers.tables.rows import State, Tables
from parsers.text.source import Source

ROW = rf"^[ \t]*(?:(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[ T])?{CLOCK}[ \t]+)?[0-9]+(?:[ \t]+-?[0-9][0-9.,]*[KMGT]?){{6,}}"
"""The beginning of a row of any system: seven numbers or more."""

GROUP = (
    r"^[ \t]*(?:--time--[ \t]+)?(?:-*procs-*|kthr|wpar|memory|disk-)[ \t]+-*(?:kthr|memory|page|[a-z]+)\b[- \ta-zA-Z]*(?:cpu[0-9]+[ \t]*)*$"
    r"|^[ \t]*-*procs-+memory-[- \ta-z]*$"
    r"|^[ \t]*-{3,}[- \t]*$|^#{3,}$|^# (?:Starting Time|Sample Interval|Archive Count|Collection (?:Module|Command)|Misc Info|zzz)\b"
    r"|^[ \t]*(?:VM|CPU)$"
)
GROUP_REST = r"^[ \t]*-*(?:swap|io|system|cpu)-*(?:[ \t]+-*(?:swap|io|system|cpu)-*)*$"
"""The end of a group line that a mail program wrapped to a separate line."""

STATE_CHANGE = r"^[ \t]*(?:<<(?:processors?|device|pset|State|CPU).*>>|State change)$"
TRU64 = r"^[ \t]*Virtual Memory Statistics: \(pagesize = ?([0-9]+)\)"

_DATE_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9]{1,2}:[0-9]{2}:[0-9]{2})")
_NUMBERS = r"^[ \t]*(?:[A-Za-z][A-Za-z0-9_.-]*[ \t]+)?-?[0-9][0-9.,]*(?:[ \t]+(?:-?[0-9][0-9.,:]*|-))*$"
WPAR = r"^[ \t]*([A-Za-z][A-Za-z0-9_.-]*)[ \t]+"
_LINES = 2000
"""Maximum number of damaged rows of a block that are examined one by one."""


def mended(frame: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Repair a small paste whose rows were flattened or wrapped; return any other data frame unchanged.

    Only rows whose shares of CPU add up to 100 are taken out of a stream of words.
    """
    texts = [(n, re.sub(r"\bhr[ \t]+mi[ \t]+se\b", "hr:mi:se", x)) for n, x in frame.iter_rows()]
    widths = {heading_length(x.split()) for _, x in texts}
    whole = any(heading_length(w) >= len(w) - 1 for _, x in texts if len(w := x.split()) >= 5)
    rows = [len(x.split()) for _, x in texts if re.match(r"[ \t]*[0-9]", x) and len(x.split()) > 2]
    good = sum(1 for n in rows if any(w and w <= n <= w + 3 for w in widths) or (not any(widths) and n > 15))
    named = re.search(r"\bus\s+sy\s+(?:wa\s+)?id\b", "\n".join(x for _, x in texts))
    if (whole or not named) and good * 2 >= len(rows):
        return frame
    joined = [(n, _DATE_TIME.sub(r"\1_\2", x)) for n, x in texts]
    found = grid.restore(joined, _begins, _fits)
    if not found.repaired:
        return frame
    parted = replace(found, lines=found.lines.with_columns(pl.col("line").str.replace("_", " ", literal=True)))
    return parted.put_back(frame, out, "their shares of CPU make 100")


def _begins(words: Sequence[str]) -> int:
    size = heading_length(words)
    return size + 1 if size and size < len(words) and re.fullmatch(r"[A-Z]{2,5}", words[size]) else size


def _fits(names: Sequence[str], words: Sequence[str]) -> bool:
    if re.fullmatch(r"[A-Z]{2,5}", names[-1]):
        return bool(re.fullmatch(r"[0-9-]{10}_[0-9:]{7,8}", words[-1])) and adds_up(names[:-1], words[:-1])
    return adds_up(names, words)


def sizes(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Convert FreeBSD's `524M` and `1.3G` of memory to kB and its `4.7K` of other columns to counts; other values stay."""
    factor = {"K": 1.0, "M": 1024.0, "G": 1048576.0, "T": 1073741824.0, "P": 1099511627776.0}
    scaled = {}
    for n in names:
        size = pl.col(n).str.extract(r"([KMGTP])$").replace_strict(factor, default=None, return_dtype=pl.Float64)
        unit = 1.0 if n in ("avm", "fre") else 1024.0
        whole = (pl.col(n).str.strip_chars_end("KMGTP").cast(pl.Float64, strict=False) * size * unit).cast(pl.String)
        scaled[n] = pl.when(size.is_not_null()).then(whole).otherwise(pl.col(n))
    if not rows["line"].str.contains(r"[0-9][KMGTP]\b").any():
        return rows
    return rows.with_columns(**scaled)


def misfits(rows: pl.DataFrame, columns: Columns, out: Tables) -> pl.DataFrame:
    """Judge lines of numbers whose width differs from the header's; return those that can be read.

    Solaris and BSD: a blank inside a number makes a word too many. The columns left of the disks, and the shares of CPU if they add up
    to 100, are anchored at both ends; the middle is NULL. AIX -@: a name in front is a partition.
    """
    names = list(columns.cells)
    lines = rows.filter(pl.col("line").str.contains(_NUMBERS))
    partitions = rows.clear()
    if columns.system == "aix":
        named = lines.with_columns(wpar=pl.col("line").str.extract(WPAR), line=pl.col("line").str.replace(WPAR, " "))
        named = grid.cut(named.filter(pl.col("wpar").is_not_null()).drop(names), columns.cells)
        partitions = named.filter(pl.col(names[0]).is_not_null())
        lines = lines.filter(~pl.col("row").is_in(partitions["row"].implode()))
    anchor = names.index("sr") + 1 if columns.system in ("solaris", "bsd") and "sr" in names else 0
    found = []
    damaged = []
    for row in lines.head(_LINES).iter_rows(named=True):
        words = row["line"].split()
        shares = words[-len(columns.percents) :]
        middle = len(names) - len(columns.percents) - anchor
        if (
            anchor
            and columns.percents
            and middle > 0
            and len(names) < len(words) <= len(names) + 2
            and all(re.fullmatch(r"[0-9]{1,3}", w) for w in shares)
            and 98 <= sum(map(int, shares)) <= 102
        ):
            cells = [*words[:anchor], *[None] * middle, *shares]
            found.append(row | dict(zip(names, cells, strict=True)))
            remark = f"{len(words)} words under {len(names)} names: pages and shares of CPU are read, what stands between is not"
            out.note(row["line_no"], row["line_no"], "repaired", remark)
        elif len(words) > 2:
            damaged.append(row["line_no"])
            remark = "row is cut" if len(words) < len(names) else "row has words too many"
            out.note(
                row["line_no"],
                row["line_no"],
                "damaged",
                f"{remark}: {len(words)} words under {len(names)} names: {row['line']}",
            )
    out.account("damaged", damaged)
    if len(lines) > _LINES:
        rest = lines[_LINES:]["line_no"]
        out.account("damaged", rest)
    return pl.concat([partitions, pl.DataFrame(found, schema=rows.schema, orient="row")], how="diagonal_relaxed")


def refuse(source: Source, out: Tables, state: State) -> State:
    """Refuse vmstat of Tru64: only its page size is certain."""
    text = "vmstat of Tru64 is not read: it mixes pages with K and M of unknown size, so its figures would be guesses"
    for block in source.blocks():
        page = pl.col("line").str.extract(TRU64)
        titles = block.frame.filter(page.is_not_null())
        size = (page.cast(pl.Int64, strict=False) // 1024).alias("page_kb")
        out.add("hosts", titles.select("line_no", pl.lit("tru64").alias("os"), size))
        lines = block.frame.filter(page.is_null() & (pl.col("line") != ""))
        out.notes(lines.select("line_no", pl.lit("unknown").alias("kind"), pl.lit(text).alias("text")))
    return state
