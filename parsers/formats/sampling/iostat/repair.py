"""Repair pastes of iostat that lost or gained line ends: take rows out of a stream of words.

A row is verified by its shape: a device's name and a number for each other column. Rows of CPU shares have no name, and the first
word of their header is not a column: they are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from parsers.columns import grid
from parsers.formats.sampling.iostat.lines import heading, kind_of
from parsers.formats.sampling.shared.section_columns import CPU, DISK
from parsers.tables.rows import Tables

_MORE = """
rrqm/s wrqm/s drqm/s %rrqm %wrqm %drqm avgrq-sz svctm rareq-sz wareq-sz dareq-sz areq-sz d/s dkB/s d_await f/s f_await
kB_read kB_wrtn kB_dscd Blk_read Blk_wrtn MB_read MB_wrtn kB_dscd/s s/w h/w trn tot Kbps Kb_read Kb_wrtn
"""
_NAMES = {*CPU, *DISK, *_MORE.split()}
_STARTS = ("Device:", "Device", "device", "Disks:", "avg-cpu:", "r/s")
_LAST = ("device", "Device")
_REMARKED = r"^([A-Za-z/][^ \t]*(?:[ \t]+[0-9]+(?:[.,][0-9]+)?){3,})[ \t]+(\([A-Za-z][^()]*\))$"
_NUMBER = re.compile(r"^-?[0-9]+(?:[.,][0-9]+)?[kMG]?$")


def mended(frame: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Repair a small paste whose rows were flattened or wrapped; return any other data frame unchanged.

    A repaired data frame has the column `line_end`, and a note reports the repair.
    """
    names = frame.select(names=heading())["names"]
    widths = {len(h.split(" ")) for h in names.drop_nulls() if kind_of(h) in ("cpu", "device")}
    texts = list(frame.select("line_no", "line").iter_rows())
    begun = any(w in _STARTS for _, text in texts for w in text.split())
    rows = [len(text.split()) for _, text in texts if re.search(r"[0-9][.,][0-9]", text)]
    if not begun or not rows or sum(n in widths for n in rows) * 2 >= len(rows):
        return frame
    found = grid.restore(texts, begins, _fits)
    if not found.repaired:
        return frame
    text = "rows taken out of a stream of words: a device's name and a number for each other column"
    for first, last in found.repaired:
        out.note(first, last, "repaired", text)
    taken = {n for a, b, _ in found.lines.iter_rows() for n in range(a, b + 1)}
    for line_no, words in found.left.items():
        if line_no in taken and re.search(r"[0-9]", words):
            out.note(line_no, line_no, "damaged", f"words that fit no row: {words}")
    rest = frame.filter(~pl.col("line_no").is_in(sorted(taken))).with_columns(line_end=pl.col("line_no"))
    lines = found.lines.select("line_no", "line", "line_end")
    return pl.concat([lines, rest.select("line_no", "line", "line_end")]).sort("line_no", maintain_order=True)


def without_remarks(frame: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Remove remarks in brackets that an author wrote after a device's row."""
    line = pl.col("line")
    remarked = frame.filter(line.str.contains(_REMARKED))
    if remarked.is_empty():
        return frame
    remark = line.str.extract(_REMARKED, 2)
    out.notes(remarked.select("line_no", pl.lit("remark").alias("kind"), remark.alias("text")))
    return frame.with_columns(line=line.str.replace(_REMARKED, "$1"))


def begins(words: Sequence[str]) -> int:
    """Count the words of a header: from the first word on, while they are column names."""
    if words[0] not in _STARTS:
        return 0
    count = 1
    while count < len(words) and words[count] in _NAMES:
        count += 1
    if words[0] == "r/s":
        return count + 1 if count < len(words) and words[count] in _LAST else 0
    return count if count >= 5 else 0


def _fits(names: Sequence[str], row: Sequence[str]) -> bool:
    if names[0] == "avg-cpu:":
        return False
    name, numbers = (row[-1], row[:-1]) if names[-1] in _LAST else (row[0], row[1:])
    return bool(re.match(r"[A-Za-z/]", name)) and name not in _STARTS and all(map(_NUMBER.match, numbers))
