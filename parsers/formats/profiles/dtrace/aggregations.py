r"""Aggregations of DTrace (counts, histograms, stacks) on Solaris, illumos, macOS, FreeBSD.

Tool: dtrace(1M) of all systems, and scripts that print aggregations. Capture: `dtrace -n 'PROBE { @[KEY] = FUNCTION(); }'`,
`dtrace -s SCRIPT -o FILE`; functions count, sum, avg, min, max, quantize, lquantize, llquantize with keys, stack(), ustack().

Samples::

    CPU     ID                    FUNCTION:NAME
     18  92927                         :tick-5s
      oracle                                                        20495
              value  ------------- Distribution ------------- count
                 10 |@@@@@@                                   67
                  libc.so.1`_cladm+0x4
                   64

Tables: counters (grp `aggregation N` or the heading, item = the key, name from the heading or `unknown`), hist (one
row for each bucket; tick_s from a firing `:tick-5s` above), profile_stacks (weight = the value), logs (messages of dtrace
itself: matches, drops, errors). Clock: wall-local where lines of `%Y` stand (their zone is not printed), else none.
Traps: the output does not name the function or the unit of a value; they are taken from headings (`TIME (ns)`) only. A probe that
matches entry and return counts twice. Bars are rounded, counts are not. `TOTAL:` is a key like others. A new aggregation among those
printed one after the other is recognised only when a key repeats. `hi` of a bucket is the label of the next one. `complete` of a
stack is NULL at the very start of a file (it may begin in the middle). Rows of flattened histograms cite the line of the whole histogram.
Known gaps: output of printf in people's scripts, several values in a row (printa of several aggregations).
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import stamp_falls
from parsers.columns.stack_rows import records
from parsers.declarations import Claim, Format
from parsers.formats.profiles.dtrace.rows import BUCKET, HIST_HEAD, histograms, stacks, without_strangers
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import MONTHS, WALL_BASE, span_s, wall_seconds

FRAME = (
    r"^[ \t]*(?:[^ \t`|]+`\S+(?: \S+)*|0x[0-9a-f]{3,16})$|^[ \t]{8,}[A-Za-z_$][A-Za-z0-9_$/]*\.[A-Za-z0-9_$<>]+\(\S*$"
)
WINDBG = re.compile(r"^(?:[0-9a-f]{2} )?[0-9a-f]{8}`[0-9a-f]{8} |\bRetAddr\b")
"""Stacks of WinDbg, whose 64-bit addresses have a backtick in the middle."""
STAMP = r"^[ \t]*([0-9]{4}) ([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})[,:]?$"
BANNER = r"^dtrace: "
TROUBLE = r"^dtrace: (?:[0-9]+ |error on |processing aborted|failed |aggregation|dynamic)"
CPU_HEAD = r"^[ \t]*CPU[ \t]+ID[ \t]+FUNCTION:NAME"
FIRING = r"^[ \t]*[0-9]{1,4}[ \t]+[0-9]{1,8}[ \t]+\S*:[a-zA-Z][^ \t:]*$"
TICK = r":tick-([0-9]+[a-z]*)[ \t]*$"
PROGRAM = r"(?:^|[#$%>][ \t]*|sudo[ \t]+)dtrace[ \t][^']*-[A-Za-z]*n\b"
"""A command line with a program in quotes."""
NUMBER = r"^[ \t]*-?[0-9]+$"
SCALAR = r"^[ \t]*(\S(?:.*?\S)?)[ \t]+(-?[0-9]+)$"
HEADING = r"^[ \t]*([A-Z][A-Z0-9/_]*(?:[ \t]+[A-Z][A-Z0-9/_]*)*)[ \t]+([A-Z][A-Z0-9_/]*)(?:[ \t]*\(([a-zA-Z/%]+)\))?$"
TITLE = r"^[ \t]*([A-Z][A-Za-z0-9 ()._/-]{3,80})[,:]$"
PROSE = r"[.;?!,][ \t]|(?:[ \t]+[A-Za-z']+){8}"

FORMAT = Format(
    kind="dtrace",
    variant="aggregation",
    version="1",
    systems=("solaris", "illumos", "macos", "freebsd"),
    tables=("counters", "hist", "profile_stacks", "logs"),
    man="dtrace(1M)",
    example="dtrace -n 'syscall:::entry { @[execname] = count(); }'",
    clocks=("none", "wall-local"),
    own=rf"{HIST_HEAD}|^[ \t]*(?:<|>=)?[ \t]*-?[0-9]+ +\|@* *[0-9]+$|"
    rf"^[ \t]*[^ \t`|]+`[A-Za-z0-9_.:~<>(),&* ]+(?:\+0x[0-9a-f]+)?$|^dtrace: (?:description|script) |{CPU_HEAD}|{FIRING}"
    rf"|^[ \t]+[^ \t]+[ \t]{{2,}}-?[0-9]+$|^[ \t]{{10,}}-?[0-9]+$|{STAMP}",
)


def claim(head: Head) -> Claim | None:
    """Claim by histograms, stacks with values, banners, or a heading over keys with one value each."""
    text = head.text
    if "Distribution ---" in text:
        found = len(re.findall(r"(?m)value +-+ Distribution -+ +count", text))
        if found:
            return Claim(0.95, f"{found} histograms of DTrace", "aggregation")
    first = head.lines[:400]
    banner = any(x.startswith(("dtrace: description '", "dtrace: script '")) for x in first)
    if banner or ("FUNCTION:NAME" in text and any(re.match(CPU_HEAD, x) for x in first)):
        return Claim(0.92, "banner of dtrace", "aggregation")
    filled = [x for x in first if x]
    if "`" in text:
        frames = sum(1 for x in filled if re.match(FRAME, x))
        foreign = any("lwp#" in x or WINDBG.search(x) is not None for x in filled[:200])
        if frames >= 2 and frames * 2 > len(filled) and not foreign:
            return Claim(0.85, f"{frames} frames of module`function", "aggregation")
    if "dtrace" in text or "dtrace" in head.command:
        asked = next((n for n, x in enumerate(filled[:20]) if re.search(PROGRAM, x)), None)
        if asked is not None or re.search(PROGRAM, head.command):
            below = filled if asked is None else filled[asked + 1 :]
            scalars = sum(1 for x in below if re.match(SCALAR, x) and len(x.split()) <= 4)
            if scalars >= 2 and scalars * 2 > len(below):
                return Claim(0.8, f"{scalars} keys with a value under a program of dtrace", "aggregation")
    heads = [x for x in filled[:60] if "TIME (" in x or x.endswith(("COUNT", "BYTES"))]
    if heads or any(x.startswith("^C") for x in filled[:60]):
        scalars = sum(1 for x in filled if x[-1].isdigit() and re.match(SCALAR, x) and len(x.split()) <= 4)
        if not scalars:
            return None
        heading = any(re.match(r"[ \t]*[A-Z/]+[ \t]+(?:TIME \((?:ns|us|ms)\)|COUNT|BYTES)$", x) for x in heads)
        others = sum(1 for x in filled if re.match(STAMP, x) or re.match(HEADING, x) or re.match(TITLE, x))
        if (scalars + others) * 2 > len(filled) and (heading or any(x.startswith("^C") for x in filled)):
            return Claim(0.75, f"{scalars} keys with a value", "aggregation")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` holds the open stack or histogram, sample, time and headings."""
    text = pl.col("line")
    blank = text == ""
    scalar = text.str.contains(SCALAR) & ~text.str.contains(BUCKET)
    begins = ~blank & (
        blank.shift(1).fill_null(False)
        | text.str.contains(FIRING)
        | text.str.contains(STAMP)
        | text.str.contains(NUMBER).shift(1).fill_null(False)
        | (scalar & scalar.shift(1).fill_null(False))
    )
    patterns = (FRAME, BUCKET, HIST_HEAD, NUMBER, STAMP, BANNER, CPU_HEAD, FIRING, TITLE, HEADING)
    # A run may end between a key and its histogram: a short line after a blank one counts as a key there.
    short = text.str.contains(r"^[ \t]*\S{1,80}$") & (blank | text.str.contains(PROGRAM)).shift(1).fill_null(True)
    key = text.shift(-1).str.contains(HIST_HEAD).fill_null(short)
    known = pl.any_horizontal(key, scalar, text == "^C", *[text.str.contains(p) for p in patterns])
    frames = (_unquoted(block.frame, out, state) for block in source.blocks())
    for lines, _ in records(source, out, state, begins, known, frames):
        shaped = without_strangers(_shaped(_unfolded(lines, out), out, state))
        if shaped.is_empty():
            continue
        taken = histograms(shaped, out, state)
        taken |= stacks(shaped, out, state)
        _scalars(shaped.filter(~pl.col("at").is_in(list(taken))), out)
        stamp_falls.remark(shaped.filter(pl.col("shape") == "stamp"), out, state.setdefault("falls", {}))
        last = shaped.row(-1, named=True)
        state |= {k: last[k] for k in ("sample", "t_local", "heading", "title", "tick", "marks")}
    return state


def _unquoted(lines: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Remove the program of a command line that continues over further lines, up to the quote that closes it."""
    if not state.get("quoted") and not lines["line"].str.contains(PROGRAM).any():
        return lines
    quoted, taken = int(state.get("quoted", 0)), []
    for number, line in lines.select("line_no", "line").iter_rows():
        if quoted == 0:
            # 1: a program may begin on the next line; 2: within its quotes.
            quoted = (2 if line.count("'") % 2 else 0 if "'" in line else 1) if re.search(PROGRAM, line) else 0
            continue
        if quoted == 1 and not line.lstrip().startswith("'"):
            quoted = 0
            continue
        taken.append(number)
        quoted = 2 if (line.count("'") % 2 == 1) != (quoted == 2) else 0
    state["quoted"] = quoted
    out.read(taken)
    return lines.filter(~pl.col("line_no").is_in(taken))


def _unfolded(lines: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Split a histogram that lost its line ends into one line for each bucket; remove a `^C` before a text."""
    text = pl.col("line")
    lines = lines.with_columns(line=text.str.replace(r"^[ \t]*\^C([ \t]*\S)", "${1}"))
    flat = lines.filter(text.str.contains(r"Distribution -+ count[ \t]+\S"))
    if flat.is_empty():
        return lines
    rows: list[tuple[int, str]] = []
    cut = re.compile(
        r"(?=\bvalue +-+ Distribution -+ count)|(?<=Distribution ------------- count) |(?<=[0-9]) (?=(?:< |>= )?-?[0-9]+ \|)"
    )
    for number, line in flat.select("line_no", "line").iter_rows():
        for piece in cut.split(line):
            key = re.match(r"^((?:< |>= )?-?[0-9]+ \|@* ?[0-9]+) +([^|]*\S.*)$", piece.strip())
            rows += [(number, x.strip()) for x in (key.groups() if key else (piece,)) if x.strip()]
        out.note(
            number,
            number,
            "repaired",
            "line ends were lost: cut before each bucket, which is a label, a bar and a count",
        )
    new = pl.DataFrame(rows, schema=lines.schema, orient="row")
    others = lines.filter(~pl.col("line_no").is_in(flat["line_no"].implode()))
    return pl.concat([others, new]).sort("line_no", maintain_order=True)


def _shaped(lines: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Add the shape of each line that is not blank, and the sample, time and headings it stands under."""
    text = pl.col("line")
    tests = {
        "hist": text.str.contains(HIST_HEAD),
        "bucket": text.str.contains(BUCKET),
        "frame": text.str.contains(FRAME),
        "stamp": text.str.contains(STAMP),
        "banner": text.str.contains(BANNER),
        "cpu": text.str.contains(CPU_HEAD),
        "firing": text.str.contains(FIRING),
        "number": text.str.contains(NUMBER),
        "scalar": text.str.contains(SCALAR) & ~text.str.contains(PROSE),
        "title": text.str.contains(TITLE),
        "heading": text.str.contains(HEADING),
    }
    shape = pl.coalesce(*[pl.when(test).then(pl.lit(name)) for name, test in tests.items()], pl.lit("text"))
    named = (
        lines.with_columns(after_blank=(text == "").shift(1))
        .filter((text != "") & (text != "^C"))
        .with_columns(shape=shape)
    )
    if named.is_empty():
        return named
    is_ = pl.col("shape")
    stamps = {x: _wall(x) for x in named.filter(is_ == "stamp")["line"].unique()}
    mark = (is_ == "firing") | (is_ == "stamp")
    # Lines before the first mark belong to sample 1; the first mark opens sample 1 too.
    marks = mark.cum_sum().cast(pl.Int64, strict=False) + state.get("marks", 0)

    def under(values: pl.Expr, name: str) -> pl.Expr:
        return values.forward_fill().fill_null(pl.lit(state.get(name), pl.String)).alias(name)

    shaped = named.with_row_index("at").with_columns(
        marks=marks,
        sample=pl.max_horizontal(marks, 1),
        t_local=pl.when(is_ == "stamp")
        .then(text.replace_strict(stamps, default=None, return_dtype=pl.Float64))
        .forward_fill()
        .fill_null(pl.lit(state.get("t_local"), pl.Float64)),
    )
    shaped = shaped.with_columns(
        under(pl.when(is_ == "heading").then(text.str.strip_chars()).when(is_ == "title").then(pl.lit("")), "heading"),
        under(pl.when(is_ == "title").then(text.str.extract(TITLE, 1)), "title"),
        under(pl.when(is_ == "firing").then(text.str.extract(TICK, 1).fill_null("")), "tick"),
    )
    out.read(lines.filter(text == "^C")["line_no"])
    out.read(shaped.filter(is_.is_in(["stamp", "cpu", "firing", "title", "heading"]))["line_no"])
    banners = shaped.filter(is_ == "banner")
    out.add("logs", banners.select("line_no", "t_local", source=pl.lit("tool"), text=text))
    lost = banners.filter(text.str.contains(TROUBLE))
    out.notes(lost.select("line_no", kind=pl.lit("remark"), text=pl.format("data lost: {}", text)))
    both = banners.filter(text.str.contains(r"'syscall:[^:']*:[^:']+:[ ]*' matched [0-9]*[2468] probes"))
    out.notes(
        both.select(
            "line_no", kind=pl.lit("remark"), text=pl.lit("entry and return are probed: counts are twice the calls")
        )
    )
    begin, end = span_s(shaped.filter(is_ == "stamp")["t_local"])
    if begin is not None:
        span = (int(shaped["line_no"].item(0)), int(shaped["line_no"].item(-1)))
        out.domain(Domain(1, "wall-local", WALL_BASE, None, begin, end, [span], stamps="end"))
    return shaped


def _wall(line: str) -> float | None:
    match = re.match(STAMP, line)
    month = MONTHS.get(match[2].lower()) if match else None
    if match is None or month is None:
        return None
    return wall_seconds(int(match[1]), month, int(match[3]), int(match[4]), int(match[5]), int(match[6]))


def _scalars(rows: pl.DataFrame, out: Tables) -> None:
    """Write keys with one value each to `counters`."""
    text = pl.col("line")
    found = rows.filter(pl.col("shape").is_in(["scalar", "number"]))
    value = pl.coalesce(text.str.extract(SCALAR, 2), text.str.strip_chars())
    name = pl.col("heading").str.extract(HEADING, 2).str.to_lowercase()
    title = pl.coalesce("title", pl.col("heading").replace("", None), pl.lit("aggregation"))
    out.add(
        "counters",
        found.select(
            "line_no",
            "t_local",
            "sample",
            grp=title,
            item=text.str.extract(SCALAR, 1),
            name=name.fill_null("unknown"),
            value=value.cast(pl.Float64),
            unit=pl.col("heading").str.extract(HEADING, 3),
            mode=pl.lit("total"),
        ),
    )
