r"""Maps of bpftrace and histograms of bcc on Linux.

Tools: bpftrace 0.9 to 0.21, bcc tools (biolatency, runqlat, funclatency, offcputime, profile ...), perf-tools histograms. Manuals: bpftrace(8),
biolatency(8). Capture: `bpftrace -e 'PROBE { @[KEY] = FUNCTION(); }'`, `runqlat 10 1`.

Samples::

    @us[tnslsnr]:
    [256K, 512K)           1 |@@                                                  |
    @start[oracle, 1234]: 17
         usecs               : count     distribution
             0 -> 1          : 12       |****                                    |

Tables: hist (agg = name of the map or the heading, after what the tool says that it traces; keys),
counters (grp bpftrace; name count, average, total, min, max where printed),
profile_stacks. Clock: none (times such as `09:12:01` before a bcc histogram only number the samples, their day is not printed).
Traps: a bucket is half open, `[256K, 512K)`, K = 1024; `[5]` holds the one value 5; bcc prints the last value of a bucket, so
`4 -> 7` is 4 to below 8. The count stands before the bar. Known gaps: tuples within keys, bcc tables of
events (`dtrace/bcc.py` reads the stacks of profile and offcputime).
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.stack_rows import nested, records
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

SIZE = r"-?[0-9]+[kKMGTP]?"
BUCKET = rf"^[ \t]*(?:[\[(](?:({SIZE})|\.\.\.)(?:, *(?:({SIZE})|\.\.\.)[\])]|\]))[ \t]+([0-9]+)[ \t]+\|@*[ ]*\|?$"
BCC_BUCKET = r"^[ \t]*([0-9]+)[ \t]*->[ \t]*([0-9]+)[ \t]*:[ \t]*([0-9]+)[ \t]*\|[*#@]*[ ]*\|?$"
BCC_HEAD = r"^[ \t]*(\S.*?)[ \t]*:[ \t]*[Cc]ount[ \t]+[Dd]istribution$"
BCC_KEY = r"^[ \t]*[A-Za-z_ ]{2,20}[ \t]*=[ \t]*(\S.*)$"
MAP_HEAD = r"^(@[A-Za-z0-9_]*)(?:\[(.*)\])?:$"
MAP_VALUE = r"^(@[A-Za-z0-9_]*)(?:\[(.*)\])?:[ \t]+(-?[0-9]+)$"
MAP_STATS = r"^(@[A-Za-z0-9_]*)(?:\[(.*)\])?:[ \t]+count (-?[0-9]+), average (-?[0-9]+), total (-?[0-9]+)$"
STACK_HEAD = r"^(?:Attaching [0-9]+ probes?\.\.\.)?(?:\^C)?(@[A-Za-z0-9_]*)\[(.*)$"
COMMAND = r"^@[A-Za-z0-9_]*(?:\[.*\])? = .*\);"
"""The second line of a command that was typed in several lines."""

STACK_END = r"^[ \t]*(?:,[ \t]*(.*?))?\]:[ \t]+(-?[0-9]+)$"
FRAME = r"^(?:[ \t]+(?:\S+\+0?x?[0-9a-f]+(?:[ \t].*)?|0x[0-9a-f]+.*|[A-Za-z_][\w:.<>~@$]*(?:\(.*\))?)|[A-Za-z_]\S*\+[0-9]+)$"
TRACED = r"^[ \t]*Tracing (\S.*?)\.\.\."
LABEL = r"^([A-Za-z][A-Za-z0-9 _-]{2,40}):$"
"""Line of its own above a histogram that says of what it is, as modules of the kernel print it."""

"""Line in which a tool of bcc states what it measures."""
FURNITURE = (
    rf"{COMMAND}|^Attaching [0-9]+ probes?\.\.\.|^\^C$|^Tracing .*(?:Hit |Ctrl-C).*$|^[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}$"
)

FORMATS = (
    Format(
        kind="dtrace",
        variant="bpftrace",
        version="2",
        systems=("linux",),
        tables=("hist", "counters", "profile_stacks"),
        man="bpftrace(8)",
        example="bpftrace -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'",
        own=rf"{MAP_HEAD}|{MAP_VALUE}|{MAP_STATS}|{BUCKET}|^Attaching [0-9]+ probes?\.\.\.|^@[A-Za-z0-9_]*\[$|{STACK_END}",
    ),
    Format(
        kind="dtrace",
        variant="bcc",
        version="2",
        systems=("linux",),
        tables=("hist",),
        man="biolatency(8)",
        example="runqlat 10 1",
        own=rf"{BCC_HEAD}|{BCC_BUCKET}|^Tracing .*\.\.\. Hit Ctrl-C to end\.$",
    ),
)


def claim(head: Head) -> Claim | None:
    """Claim by maps, or by histograms with their count before the bar."""
    text = head.text
    if "->" in text and head.shows(r"(?m)^[ \t]*[0-9]+[ \t]*->[ \t]*[0-9]+[ \t]*:[ \t]*[0-9]+[ \t]*\|"):
        found = len(re.findall(rf"(?m){BCC_BUCKET}", text))
        if found:
            return Claim(0.93, f"{found} buckets of a bcc histogram", "bcc")
    if "@" not in text:
        return None
    if re.search(r"(?m)^Attaching [0-9]+ probes?\.\.\.", text):
        return Claim(0.95, "banner of bpftrace", "bpftrace")
    maps = sum(
        1
        for x in head.lines
        if x[:1] == "@" and (re.match(MAP_HEAD, x) or re.match(MAP_VALUE, x) or re.match(MAP_STATS, x))
    )
    buckets = sum(1 for x in head.lines if x[:1] in "[(" and re.match(BUCKET, x))
    stacks = sum(1 for x in head.lines if x[:1] == "@" and re.match(r"^@[A-Za-z0-9_]*\[$", x))
    ended = stacks == 1 and any(re.match(STACK_END, x) for x in head.lines)
    if maps + buckets + stacks >= 2 or ended or (maps and len(head.lines) < 4):
        return Claim(0.93, f"{maps + stacks} maps and {buckets} buckets of bpftrace", "bpftrace")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` holds the open stack, the map or heading that buckets stand under, and the sample."""
    text = pl.col("line")
    begins = (
        text.str.contains(r"^@")
        | text.str.contains(BUCKET)
        | text.str.contains(BCC_BUCKET)
        | text.str.contains(FURNITURE)
    )
    open_stack = text.str.contains(rf"{BCC_HEAD}|{BCC_KEY}|{LABEL}") if state["variant"] == "bcc" else pl.lit(False)
    open_stack = open_stack | text.str.contains(STACK_HEAD) | text.str.contains(FRAME) | text.str.contains(STACK_END)
    for lines, _ in records(source, out, state, begins, open_stack | begins):
        out.read(lines.filter(text.str.contains(FURNITURE))["line_no"])
        if state["variant"] == "bcc":
            _bcc(lines, out, state)
            continue
        _maps(lines, out, state)
        _stacks(lines, out)
    return state


def _maps(lines: pl.DataFrame, out: Tables, state: State) -> None:
    text = pl.col("line")
    heads = text.str.contains(MAP_HEAD)
    # What a script says that it traces belongs to its map: `@usecs` alone does not tell of what.
    what = text.str.extract(TRACED, 1).forward_fill().fill_null(pl.lit(state.get("what"), pl.String))
    lines = lines.with_columns(what=what)
    if len(lines):
        state["what"] = lines["what"].item(-1)
    named = pl.concat_str(["what", text.str.extract(MAP_HEAD, 1)], separator=" ", ignore_nulls=True)
    shaped = lines.with_columns(
        agg=pl.when(heads).then(named).forward_fill().fill_null(pl.lit(state.get("agg"), pl.String)),
        key=pl.when(heads)
        .then(text.str.extract(MAP_HEAD, 2).fill_null(""))
        .forward_fill()
        .fill_null(pl.lit(state.get("key"), pl.String)),
        head=heads,
    )
    out.read(shaped.filter("head")["line_no"])
    if len(shaped):
        state["agg"], state["key"] = shaped["agg"].item(-1), shaped["key"].item(-1)
    cells = (
        shaped.filter(text.str.contains(BUCKET))
        .with_columns(text.str.extract_groups(BUCKET).struct.rename_fields(["low", "high", "n"]).alias("g"))
        .unnest("g")
    )
    low, high = _number("low"), _number("high")
    # `[5]`, and `[0, 1]` of the first versions, include their last value; all others are half open.
    closed = pl.col("line").str.contains(r"^[ \t]*\[[^\])]*\]")
    _hist(cells.with_columns(lo=low, hi=pl.when(closed).then(pl.coalesce(high, low) + 1).otherwise(high)), out)
    values = lines.with_columns(
        text.str.extract_groups(MAP_VALUE).struct.rename_fields(["agg", "item", "value"]).alias("g")
    ).unnest("g")
    stats = lines.with_columns(
        text.str.extract_groups(MAP_STATS).struct.rename_fields(["agg", "item", "count", "average", "total"]).alias("g")
    ).unnest("g")
    long = stats.drop_nulls("agg").unpivot(
        ["count", "average", "total"], index=["line_no", "agg", "item"], variable_name="name", value_name="value"
    )
    single_values = values.drop_nulls("agg").select("line_no", "agg", "item", pl.lit("unknown").alias("name"), "value")
    found = pl.concat([single_values, long]).sort("line_no", maintain_order=True)
    out.add(
        "counters",
        found.select(
            "line_no",
            "item",
            "name",
            grp=pl.concat_str([pl.lit("bpftrace "), "agg"]),
            value=pl.col("value").cast(pl.Float64),
            mode=pl.lit("total"),
        ),
    )


def _number(column: str) -> pl.Expr:
    """Convert `256K` to 262144: suffixes are powers of 1024."""
    factor = (
        pl.col(column)
        .str.extract(r"([kKMGTP])$", 1)
        .str.to_uppercase()
        .replace_strict({k: 1024.0 ** (i + 1) for i, k in enumerate("KMGTP")}, default=None)
    )
    return pl.col(column).str.extract(r"^(-?[0-9]+)", 1).cast(pl.Float64) * factor.fill_null(1.0)


def _hist(cells: pl.DataFrame, out: Tables) -> None:
    key = pl.col("key").replace("", None)
    unit = pl.col("agg").str.extract(r"(?:^|[@_ (])(ns|us|ms|nsecs|usecs|msecs|bytes|kbytes)\)?$", 1)
    out.add(
        "hist",
        cells.select(
            "line_no",
            "agg",
            "lo",
            "hi",
            key1=pl.coalesce(key.str.extract(r"^(.*?), ", 1), key),
            key2=key.str.extract(r"^.*?, (.*)$", 1),
            unit=unit.replace({"nsecs": "ns", "usecs": "us", "msecs": "ms"}).fill_null("unknown"),
            n=pl.col("n").cast(pl.Float64),
        ),
    )


def _bcc(lines: pl.DataFrame, out: Tables, state: State) -> None:
    text = pl.col("line")
    heading = text.str.extract(BCC_HEAD, 1)
    key = text.str.extract(BCC_KEY, 1)
    label = text.str.extract(LABEL, 1)
    known = pl.coalesce(key, pl.when(text.str.contains(FURNITURE)).then(pl.lit("")))
    what = pl.coalesce(text.str.extract(TRACED, 1), label).forward_fill()
    what = what.fill_null(pl.lit(state.get("what"), pl.String))
    shaped = lines.with_columns(
        what=what,
        agg=pl.concat_str([what, heading], separator=" ", ignore_nulls=True).replace("", None),
        # A key stands before its heading and applies until the histogram ends.
        key=known.forward_fill().fill_null(pl.lit(state.get("key"), pl.String)),
        head=heading.is_not_null() | key.is_not_null() | label.is_not_null(),
    ).with_columns(
        agg=pl.when(heading.is_not_null()).then("agg").forward_fill().fill_null(pl.lit(state.get("agg"), pl.String))
    )
    out.read(shaped.filter("head")["line_no"])
    if len(shaped):
        state["what"] = shaped["what"].item(-1)
        state["agg"], state["key"] = shaped["agg"].item(-1), shaped["key"].item(-1)
    cells = (
        shaped.with_columns(text.str.extract_groups(BCC_BUCKET).struct.rename_fields(["low", "high", "n"]).alias("g"))
        .unnest("g")
        .drop_nulls("n")
    )
    _hist(cells.with_columns(lo=pl.col("low").cast(pl.Float64), hi=pl.col("high").cast(pl.Float64) + 1), out)


def _stacks(lines: pl.DataFrame, out: Tables) -> None:
    """Write stacks that are keys: `@[`, stack frames innermost first, `, comm]: 5`."""
    text = pl.col("line")
    is_head = (
        text.str.contains(STACK_HEAD)
        & ~text.str.contains(COMMAND)
        & ~text.str.contains(r"\]: ?")
        & ~text.str.contains(MAP_HEAD)
    )
    marked = lines.with_columns(head=is_head, end=text.str.contains(STACK_END) & ~text.str.contains("^@")).with_columns(
        group=pl.col("head").cum_sum()
    )
    heads = marked.filter("head")
    if heads.is_empty():
        return
    ended = marked.filter("end").group_by("group", maintain_order=True).first()
    ended = ended.with_columns(
        text.str.extract_groups(STACK_END).struct.rename_fields(["key", "value"]).alias("g")
    ).unnest("g")
    rows = heads.select("line_no", "group", agg=text.str.extract(STACK_HEAD, 1)).join(
        ended.select("group", "key", "value", line_end="line_no"), on="group", how="left", maintain_order="left"
    )
    inside = marked.filter(~pl.col("head") & ~pl.col("end") & (pl.col("group") > 0) & (text != ""))
    inside = inside.join(rows.select("group", "line_end"), on="group", how="left", maintain_order="left")
    inside = inside.filter(pl.col("line_end").is_null() | (pl.col("line_no") < pl.col("line_end"))).filter(
        text.str.contains(FRAME)
    )
    owner = rows["group"].search_sorted(inside["group"])
    last = inside.group_by("group", maintain_order=True).agg(pl.col("line_no").last().alias("last"))
    rows = rows.with_columns(frames=nested(inside["line"].str.strip_chars(), owner, len(rows)))
    rows = rows.join(last, on="group", how="left", maintain_order="left")
    leaf = pl.col("frames").list.first()
    out.add(
        "profile_stacks",
        rows.select(
            "line_no",
            "frames",
            line_end=pl.coalesce("line_end", "last", "line_no"),
            event="agg",
            weight=pl.col("value").cast(pl.Float64),
            unit=pl.lit("count"),
            comm=pl.col("key").str.extract(r"^([^,]*[^,0-9 ][^,]*)", 1),
            pid=pl.col("key").str.extract(r"(?:^|, )([0-9]+)$", 1).cast(pl.Int64, strict=False),
            leaf=leaf,
            complete=pl.col("value").is_not_null(),
        ),
    )
