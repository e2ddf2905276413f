r"""Collapsed stacks and flame graphs: FlameGraph tools, async-profiler, inferno, bcc `profile -f`.

Tools: stackcollapse-*.pl, flamegraph.pl (SVG), inferno, py-spy raw, `perf script report stackcollapse`. Capture: `stackcollapse-perf.pl
out.perf > out.folded`, `flamegraph.pl out.folded > out.svg`.

Samples::

    java;start_thread;JavaThread::run;[libc.so.6] 42
    mysqld-1234/1240;do_command;my_read;__libc_recv 7
    <title>vfs_read (1,234 samples, 12.34%)</title><rect x="10.0" y="309" width="145.6" height="15.0"/>

Tables: profile_stacks (collapsed: one row for each line, the weight is the number; SVG: one row for each box without a box above it, or for
the share of a box that the boxes above it leave, weight in samples), profile_meta (SVG). Clock: none.
Traps: collapsed stacks are printed root first and stored leaf first; the first word may be the program (`comm-pid/tid`), which
stays a stack frame too. A suffix `_[k]`, `_[j]`, `_[i]` marks kernel, compiled and inlined frames and is left out. Two numbers at the end
are a differential: the second is stored. An SVG is read by patterns for its own elements, line by line, never as XML: entities
of HTML are resolved in names, declared entities stay text, and nothing external is ever loaded. Names are
complete, but boxes narrower than the tool's limit are missing. Known gaps: icicle and JS-only (HTML) graphs, speedscope.
"""

from __future__ import annotations

import html
import re
from typing import Any

import polars as pl

from parsers.columns.stack_rows import KERNEL_MODULE
from parsers.declarations import Claim, Format
from parsers.repair.rewrap import PASTE
from parsers.tables.rows import State, Tables, line_span
from parsers.text.notes import ELISION
from parsers.text.source import Head, Source

FOLDED = r"^(?:\^C)?[ \t]*(\S.*?)[ \t]+([0-9]+(?:\.[0-9]+)?)(?:[ \t]+([0-9]+(?:\.[0-9]+)?))?$"
BOX = re.compile(
    r"<title>([^<]*?) \(([0-9][0-9, ]*(?:\.[0-9]+)?) (samples|counts?|[a-z]+), ([0-9]+(?:\.[0-9]+)?)%[^<]*\)</title>[^<]*"
    r'<rect x="([0-9]+(?:\.[0-9]+)?)%?" y="([0-9]+(?:\.[0-9]+)?)" width="([0-9]+(?:\.[0-9]+)?)%?" height="([0-9.]+)"'
)
BOXES = 200_000
"""Maximum number of boxes of a graph; a larger graph is cut there, with a note."""

_SAMPLES = r"\([0-9][0-9,. ]* (?:samples|counts?|[a-z]+), [0-9.]+%"
_TAG_PARTS = r"(?:[\"']|<[a-z]+)\n[a-z]"
_TITLE_PARTS = r",\n|\n\(|[0-9]\n[a-z]"
_ALL = 99.5
"""Minimum share in percent of the lowest box, which is printed as 100 or 100.00."""

_COMPARED = 200
"""Number of lines that the first one is compared with; the number is from practice."""

AROUND = r"^(?:#|Sampling at [0-9]+ Hertz of |Tracing off-CPU time |(?:\^[CZ])+$)"
"""Lines around the stacks: comments, the first line of bcc tools, the key that ended them (^C)."""

KERNEL_SUFFIX = r"_\[k\]$"
SUFFIX = r"_\[[kjiw]\]$"

FORMATS = (
    Format(
        kind="flamegraph",
        variant="collapsed",
        version="1",
        systems=("linux", "solaris", "macos", "freebsd"),
        tables=("profile_stacks",),
        man="stackcollapse-perf.pl",
        example="stackcollapse-perf.pl out.perf",
        own=r"^[^ \t;][^;]{0,200}(?:;[^;]{1,400}){2,} [0-9]+(?: [0-9]+)?$",
    ),
    Format(
        kind="flamegraph",
        variant="svg",
        version="1",
        systems=("linux", "solaris", "macos", "freebsd"),
        tables=("profile_stacks", "profile_meta"),
        man="flamegraph.pl",
        example="flamegraph.pl out.folded",
        own=r"^<(?:svg|rect|title|g|/g|text)\b",
    ),
)


def claim(head: Head) -> Claim | None:
    """Claim by lines of stack frames between semicolons and a number, or by boxes of an SVG."""
    text = head.text
    if "<svg" in text[:4000]:
        boxes = len(re.findall(r"<title>[^<]* \([0-9][0-9,. ]* (?:samples|counts?|[a-z]+), [0-9.]+%", text))
        if boxes:
            return Claim(0.95, f"{boxes} boxes of a flame graph", "svg")
        return None
    if ";" not in text:
        return None
    filled = [x for x in head.lines[:400] if x and not re.match(ELISION, x) and not re.match(AROUND, x)]
    rows = sum(
        1
        for x in filled
        if ";" in x and re.search(r"[^;,] [0-9]+(?: [0-9]+)?$", x) and re.match(r"^[^ \t;=,\"'][^;=\"]*;", x)
    )
    deep = sum(1 for x in filled if x.count(";") >= 2)
    if rows and rows * 10 >= len(filled) * 9 and deep * 3 >= rows and "; " not in text[:2000]:
        return Claim(0.85, f"{rows} stacks with a number", "collapsed")
    if rows >= 2 and all(";" in x for x in filled) and deep * 2 >= len(filled) and "; " not in text and "=" not in text:
        return Claim(0.7, f"{rows} stacks with a number, {len(filled) - rows} without", "collapsed")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; an SVG is one picture, whose boxes are collected in the state until the end."""
    if state["variant"] == "svg":
        return _svg(source, out, state)
    for block in source.blocks():
        out.read(block.frame.filter(pl.col("line").str.contains(AROUND))["line_no"])
        _begun(block.frame, out)
        _collapsed(block.frame, out)
    return state


def _begun(lines: pl.DataFrame, out: Tables) -> None:
    """Note that the first line may be cut, if its first frame is only the end of a frame in the next lines."""
    texts = lines.head(_COMPARED)["line"].to_list()
    if not texts or lines["line_no"][0] != 1 or ";" not in texts[0]:
        return
    root = texts[0].split(";")[0].strip()
    frames = {frame for text in texts[1:] for frame in text.rsplit(" ", 1)[0].split(";")}
    longer = sorted(frame for frame in frames if frame.endswith(root) and frame != root)
    if longer and root not in frames:
        out.note(
            1, 1, "damaged", f"may begin within a line: {root!r} is the end of {longer[0]!r} and stands nowhere else"
        )


def _collapsed(lines: pl.DataFrame, out: Tables) -> None:
    fields = pl.col("line").str.extract_groups(FOLDED).struct.rename_fields(["stack", "one", "two"])
    rows = lines.with_columns(fields.alias("g")).unnest("g").drop_nulls("one")
    rows = rows.filter(pl.col("stack").str.contains(";", literal=True) | pl.col("stack").str.contains(r"^[^ ]+$"))
    printed = pl.col("stack").str.split(";").list.reverse()
    who = pl.col("stack").str.extract(r"^([^;]*)-[0-9?]+(?:/[0-9?]+)?(?:;|$)", 1)
    frames = printed.list.eval(pl.element().str.replace(SUFFIX, ""))
    leaf = printed.list.first()
    kernel = leaf.str.contains(KERNEL_SUFFIX) | leaf.str.contains(KERNEL_MODULE)
    out.add(
        "profile_stacks",
        rows.select(
            "line_no",
            weight=pl.coalesce("two", "one").cast(pl.Float64),
            unit=pl.lit("samples"),
            comm=who,
            pid=pl.col("stack").str.extract(r"^[^;]*-([0-9]+)(?:/[0-9?]+)?(?:;|$)", 1).cast(pl.Int64, strict=False),
            lwp=pl.col("stack").str.extract(r"^[^;]*-[0-9?]+/([0-9]+)(?:;|$)", 1).cast(pl.Int64, strict=False),
            frames=frames,
            leaf=frames.list.first(),
            # Without any marks it is unknown which frames are of the kernel.
            kernel=pl.when(kernel).then(True),
            complete=pl.lit(True),
        ),
    )


def _svg(source: Source, out: Tables, state: State) -> State:
    boxes: list[list[Any]] = state.setdefault("boxes", [])
    for frame in source.frames(PASTE):
        out.read(frame.filter(pl.col("line") != "")["line_no"])
        if len(boxes) >= BOXES:
            continue
        lines = _mended(frame, out) if source.is_small(PASTE) else frame
        # Each picture has its own coordinates. The rectangle stands on the line of its title or on the next one.
        begun = pl.col("line").str.contains("<svg\\b").cum_sum() + state.get("picture", 0)
        lines = lines.with_columns(following=pl.col("line").shift(-1).fill_null(""), picture=begun)
        state["picture"] = int(lines["picture"][-1])
        hits = lines.filter(pl.col("line").str.contains("<title>", literal=True)).rows()
        if "cut" in state:
            number, title, picture = state.pop("cut")
            hits.insert(0, (number, title, str(frame["line"].item(0)), picture))
        for number, title, following, picture in hits:
            match = BOX.search(f"{title} {following}")
            if match is not None:
                count = float(re.sub(r"[, ]", "", match[2]))
                place = [float(match[i]) for i in (5, 6, 7)]
                boxes.append([number, html.unescape(match[1]), count, match[3], float(match[4]), *place, picture])
            elif number == frame["line_no"].item(-1) and not source.last:
                state["cut"] = [number, title, picture]
            elif re.search(_SAMPLES, title):
                out.note(number, number, "damaged", "a box without its rectangle: what stands on it ends below it")
        if len(boxes) >= BOXES:
            last = int(frame["line_no"].item(-1))
            out.note(last, last, "damaged", f"more than {BOXES} boxes: the rest of the graph is not read")
    if source.last:
        for number in dict.fromkeys(box[-1] for box in boxes):
            _picture([box[:-1] for box in boxes if box[-1] == number], out)
        state["boxes"] = []
    return state


def _mended(lines: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Join lines that were broken within a tag or a title, with a blank where one must have stood."""
    rows: list[tuple[int, str]] = []
    for number, text in lines.iter_rows():
        above = rows[-1][1] if rows else ""
        within_tag = above.rfind("<") > above.rfind(">")
        if not (within_tag or above.rfind("<title>") > above.rfind("</title>")) or "<" in text[:1]:
            rows.append((number, text))
            continue
        parted = re.search(_TAG_PARTS if within_tag else _TITLE_PARTS, f"{above}\n{text}")
        rows[-1] = (rows[-1][0], f"{above} {text.lstrip()}" if parted else above + text)
        out.note(rows[-1][0], number, "repaired", "broken within an element of the picture, joined")
    return pl.DataFrame(rows, schema={"line_no": pl.Int64, "line": pl.String}, orient="row")


def _picture(boxes: list[list[Any]], out: Tables) -> None:
    """Turn boxes into stacks: the parent of a box is the box of the next row below that contains its width.

    A stack that does not reach a box of 100 % is not complete: the boxes below it are missing here.
    """
    if not boxes:
        return
    names = ["line_no", "name", "count", "unit", "pct", "x", "y", "width"]
    rows = pl.DataFrame(boxes, schema=names, orient="row")
    widest = rows.sort("width", descending=True).row(0, named=True)
    levels = sorted(rows["y"].unique().to_list(), reverse=True)
    if widest["y"] == levels[-1] and len(levels) > 1:
        levels.reverse()  # An icicle: the root is on top.
    parent: dict[int, int | None] = {}
    above: dict[int, float] = {}
    by_level = {y: [i for i, b in enumerate(boxes) if b[6] == y] for y in levels}
    for low, high in zip([None, *levels], levels, strict=False):
        under = sorted(by_level[low], key=lambda i: float(boxes[i][5])) if low is not None else []
        at = 0
        for i in sorted(by_level[high], key=lambda i: float(boxes[i][5])):
            middle = boxes[i][5] + boxes[i][7] / 2
            while at < len(under) and boxes[under[at]][5] + boxes[under[at]][7] < middle:
                at += 1
            found = under[at] if at < len(under) and boxes[under[at]][5] <= middle else None
            parent[i] = found
            if found is not None:
                above[found] = above.get(found, 0.0) + boxes[i][2]
    stacks = []
    rootless: list[int] = []
    for i, (line, name, count, unit, _, _, _, _) in enumerate(boxes):
        uncovered = count - above.get(i, 0.0)
        if uncovered <= 0:
            continue
        frames: list[str] = [name]
        bottom, at_ = i, parent[i]
        while at_ is not None:
            frames.append(boxes[at_][1])
            bottom, at_ = at_, parent[at_]
        whole = boxes[bottom][4] >= _ALL
        if not whole:
            rootless.append(line)
        leaf = re.sub(SUFFIX, "", frames[0])
        kernel = True if re.search(KERNEL_SUFFIX, frames[0]) else None
        stacks.append(
            (
                line,
                uncovered,
                "samples" if unit == "samples" else "count",
                [re.sub(SUFFIX, "", f) for f in frames],
                leaf,
                kernel,
                whole,
            )
        )
    schema = pl.Schema(
        {
            "line_no": pl.Int64(),
            "weight": pl.Float64(),
            "unit": pl.String(),
            "frames": pl.List(pl.String()),
            "leaf": pl.String(),
            "kernel": pl.Boolean(),
            "complete": pl.Boolean(),
        }
    )
    out.add("profile_stacks", pl.DataFrame(stacks, schema=schema, orient="row"))
    for line in rootless:
        out.note(line, line, "damaged", "no box of 100 % below: what this stack stands on is not here")
    total = rows.filter((pl.col("width") == widest["width"]) & (pl.col("pct") >= 100))["count"]
    first, last = line_span(rows)
    whole = {"line_no": [first], "line_end": [last], "variant": ["svg"], "total_samples": [total.max()]}
    out.add("profile_meta", pl.DataFrame(whole), span="ends")
