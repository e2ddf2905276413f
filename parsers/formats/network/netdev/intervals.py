"""Read `netstat -i INTERVAL` and `-I name INTERVAL` of Solaris, AIX, HP-UX, BSD: a row for each interval, interfaces side by side.

        input   e1000g0   output       input  (Total)    output
    packets errs  packets errs  colls  packets errs  packets errs  colls
    10532465 0     4121343 0     0      17521512 0     11110390 0     0
    6       0     4       0     0      8       0     6       0     0

The row right below a heading counts since boot (the heading is repeated with every screen), all others count the interval before them.
FreeBSD, whose heading has bytes, prints no row since boot; with -h it rounds, by thousands (387k).
"""

from __future__ import annotations

import re
from itertools import pairwise

import polars as pl

from parsers.clocks.sample_stamps import unstamped
from parsers.tables.rows import State, Tables
from parsers.text.source import Source

FACES = r"^[ \t]*input[ \t]+\(?([A-Za-z][A-Za-z0-9_.:]*)\)?[ \t]+output(?:[ \t]+input[ \t]+\((Total)\)[ \t]+output)?$"
WORDS = r"^[ \t]*packets[ \t]+errs(?:[ \t]+(?:packets|errs|idrops|drops|bytes|colls))*$"
ROW = r"^[ \t]*[0-9]+(?:[ \t]+[0-9]+){4,13}$"
ROUNDED = (
    r"^[ \t]*(?:[0-9]+(?:\.[0-9])?[ \t]+){0,5}[0-9]+(?:\.[0-9])?[kKMGTPE](?:[ \t]+[0-9]+(?:\.[0-9])?[kKMGTPE]?){1,13}$"
)
"""A row of -h, rounded by thousands; at least one figure has a suffix."""

OWN = (FACES, WORDS, ROW, ROUNDED)
_THOUSANDS = {"": 1.0, "K": 1000.0} | {letter: 1000.0 ** (n + 1) for n, letter in enumerate("kMGTPE")}


def names(faces: tuple[str, ...], words: list[str]) -> list[tuple[str, str]]:
    """Return interface and counter name of each column; the heading repeats `errs` without side and interface.

    >>> names(("en0",), ["packets", "errs", "packets", "errs", "colls"])
    [('en0', 'input packets'), ('en0', 'input errs'), ('en0', 'output packets'), ('en0', 'output errs'), ('en0', 'colls')]
    """
    columns, blocks = [], 0
    for word in words:
        blocks += word == "packets"
        face = faces[min((blocks - 1) // 2, len(faces) - 1)]
        side = "output" if blocks % 2 == 0 else "input"
        columns.append((face, word if word == "colls" else f"{side} {word}"))
    return columns


def _figure(text: str) -> float:
    """Convert `826K`, `7.0M` or `490` to a number.

    >>> _figure("1.5k"), _figure("490")
    (1500.0, 490.0)
    """
    figure = text.rstrip("kKMGTPE")
    return round(float(figure) * _THOUSANDS[text[len(figure) :]], 1)


def seconds_of(source: Source) -> float | None:
    """Return the interval that a person entered, else the number after `netstat -i` or `-I name`; None if unknown."""
    if source.hints.interval_s:
        return source.hints.interval_s
    option = re.search(
        r"netstat .*?-[a-z]*[iI](?: *[a-z]+[0-9]+)?(?: -[a-z]+)* +([0-9]+)(?: +[0-9]+)?$", source.hints.command or ""
    )
    return float(option[1]) if option else None


def read(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    """Write the rows of a data frame (line_no, line, t_local of marks); `state["faces"]` keeps the open heading."""
    step = seconds_of(source)
    heading = state.setdefault("faces", {"names": [], "fresh": False, "sample": 0, "of": []})
    rows, plain = [], []
    for line_no, line in frame.filter(pl.col("line").str.contains("[0-9a-z]")).select("line_no", "line").iter_rows():
        if faces := re.match(FACES, line):
            heading["of"] = [f for f in faces.groups() if f]
            plain.append(line_no)
        elif re.match(WORDS, line) and heading["of"]:
            words = line.split()
            heading |= {
                "names": names(tuple(heading["of"]), words),
                "fresh": "bytes" not in words,
            }
            plain.append(line_no)
        elif (re.match(ROW, line) or re.match(ROUNDED, line)) and len(values := line.split()) == len(heading["names"]):
            heading["sample"] += 1
            first, heading["fresh"] = heading["fresh"], False
            rows += [
                {
                    "line_no": line_no,
                    "sample": heading["sample"],
                    "first": first,
                    "item": face,
                    "name": name,
                    "value": _figure(value),
                }
                for (face, name), value in zip(heading["names"], values, strict=True)
            ]
    out.read(plain)
    if not rows:
        return
    counters = pl.DataFrame(rows)
    samples = counters.select("line_no", "sample").unique(maintain_order=True)
    stamped = frame["t_local"].is_not_null().any()
    marks = frame.select("line_no", "t_local")
    samples = (
        samples.join(marks, on="line_no", how="left", maintain_order="left")
        if stamped
        else unstamped(samples, step, out)
    )
    counters = counters.join(samples.drop("sample"), on="line_no", how="left", maintain_order="left")
    rate = ~pl.col("first") & pl.lit(step is not None)
    growth = pl.when(~pl.col("first")).then(pl.col("value"))
    out.add("counters", counters.with_columns(
        grp=pl.lit("iface"), delta=growth, interval_s=pl.when(~pl.col("first")).then(pl.lit(step, pl.Float64)),
        value=pl.when(rate).then((pl.col("value") / pl.lit(step, pl.Float64)).round(6)).otherwise(pl.col("value")),
        mode=pl.when("first").then(pl.lit("total")).when(rate).then(pl.lit("rate")),
        unit=pl.when(rate).then(pl.lit("/s")),
    ))  # fmt: skip


def looks(lines: list[str]) -> int | None:
    """Return the number of the line with a heading of interfaces above its heading of words; None if there is none."""
    for number, (line, below) in enumerate(pairwise(lines), start=1):
        if "input" in line and re.match(FACES, line) and re.match(WORDS, below):
            return number
    return None
