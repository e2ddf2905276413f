r"""Kernel locks: lockstat of Solaris, illumos and FreeBSD, /proc/lock_stat of Linux.

Tools: lockstat(1M) of Solaris 8 to 11.4 and illumos, lockstat(1) of FreeBSD, /proc/lock_stat versions 0.3 and 0.4. Capture: `lockstat -C
sleep 5`, `lockstat -H -s 10 -D 20 sleep 5`, `lockstat -kIW sleep 5`, `lockstat -h`; `cat /proc/lock_stat`.

Grammar (blanks between cells are free; pages collapse them)::

    section  = EVENT ": " N " events in " SECONDS " seconds (" RATE " events/sec)"
    heading  = "Count" ("indv"|"genr") "cuml" "rcnt" ["nsec"|"spin"] ("Lock"|"Hottest CPU+PIL"|"CPU+PIL") ["Caller"]
    row      = COUNT PERCENT PERCENT FLOAT [NSEC] LOCK [CALLER]
    spread   = "nsec ------ Time Distribution ------ count" ["Stack"]        (-h, -s; below its row)
    bucket   = LABEL "|" BAR COUNT [FRAME]         a further frame stands alone under the column Stack
    rule     = dashes

    class    = NAME ":" CON-BOUNCES CONTENTIONS MIN MAX TOTAL [AVG] ACQ-BOUNCES ACQUISITIONS MIN MAX TOTAL [AVG]     (microseconds)
    point    = NAME COUNT "[<" ADDRESS ">]" FUNCTION     after the first rule the waiters, after the second the holders

Samples::

    Adaptive mutex spin: 1042 events in 5.014 seconds (208 events/sec)
      209  20%  20% 0.00     3432 0x3000a7f2fa8          page_create_va+0x2a4
          2048 |@@@@@@@@@@@@@                  14        ip_input+0xc8

Tables: locks (one row for each printed row; Linux: events wait, hold, wait point, hold point), hist (-h, -s: key1 lock, key2 caller, ns),
profile_stacks (-s: the caller first). Clock: none.
Traps: the label of a bucket is its upper edge: the mean of 32 events in buckets 1024 to 8192 is 1631 ns, too little for lower edges.
Percentages are of the section's events (of their time with -P). With -I, lock is the CPU and its interrupt level, and the
caller is the place where the CPU was. Means of Linux are computed from totals, in ns. `complete` of a bucket is true when the buckets
add up to the row. A section that lost its heading line has no event and no rate.
Known gaps: -p (parsable output), -t without -h of Solaris 2.6, lockstat of NetBSD.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.stack_rows import nested, records
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

SECTION = r"^[ \t]*([A-Z][A-Za-z/ +-]*[a-z]): ([0-9]+) events in ([0-9]+\.[0-9]+) seconds \([0-9]+ events/sec\)$"
CUT_SECTION = r"events in [0-9]+\.[0-9]+ seconds \([0-9]+ events/sec\)$"
HEADING = r"^[ \t]*Count[ \t]+(?:indv|genr)[ \t]+cuml[ \t]+rcnt[ \t]"
ROW = (
    r"^[ \t]*([0-9]+)[ \t]+([0-9]+)%[ \t]+[0-9]+%[ \t]+[0-9]+\.[0-9]+(?:[ \t]+([0-9]+))?[ \t]+"
    r"(?:([^ \t|]*[^ \t|0-9][^ \t|]*)(?:[ \t]+(\S+))?|([A-Za-z_][^ \t|]*(?: [A-Za-z_(][^ \t|]*)+)[ \t]{2,}(\S+))$"
)
"""A row: count, share, ns, lock, caller. FreeBSD's names of locks may contain blanks: then two blanks separate them from the caller."""
SPREAD = r"^[ \t]*nsec[ \t]+-+ Time Distribution -+[ \t]+count"
BUCKET = r"^[ \t]*([0-9]+)[ \t]*\|@*[ \t]*([0-9]+)(?:[ \t]+(\S.*))?$"
FRAME = r"^[ \t]{20,}([^ \t|]+)$"
RULE = r"^[ \t]*-{5,}$"
CALLER = r"^[ \t]*([A-Za-z_][A-Za-z0-9_.:`]*(?:\+0x[0-9a-f]+)?)$"

LINUX_HEADING = r"^[ \t]*class name[ \t]+con-bounces[ \t]+contentions"
NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
CLASS = rf"^[ \t]*(\S.*?):[ \t]+([0-9]+)[ \t]+([0-9]+)[ \t]+((?:{NUMBER}[ \t]+){{3,4}})([0-9]+)[ \t]+([0-9]+)[ \t]+({NUMBER}(?:[ \t]+{NUMBER}){{2,3}})$"
POINT = r"^[ \t]*(\S.*?)[ \t]+([0-9]+)[ \t]+\[<[0-9a-f]+>\][ \t]+(\S+)$"
VERSION = r"^lock_stat version [0-9.]+|^[ \t]*\.{20,}$|^\*WARNING\*"

FORMATS = (
    Format(
        kind="lockstat",
        variant="solaris",
        version="1",
        systems=("solaris", "illumos", "freebsd"),
        tables=("locks", "hist", "profile_stacks"),
        man="lockstat(1M)",
        example="lockstat -s 10 sleep 5",
        own=rf"{SECTION}|{HEADING}|^[ \t]*[0-9]+[ \t]+[0-9]+%[ \t]+[0-9]+%[ \t]+[0-9]+\.[0-9]+[ \t]|{SPREAD}"
        r"|^[ \t]*[0-9]+ \|@*[ \t]+[0-9]+(?:[ \t]+[a-z_]\S*)?$",
    ),
    Format(
        kind="lockstat",
        variant="linux",
        version="1",
        systems=("linux",),
        tables=("locks",),
        man="lockstat (kernel documentation)",
        example="cat /proc/lock_stat",
        own=rf"{LINUX_HEADING}|{POINT}|^lock_stat version",
    ),
)


def claim(head: Head) -> Claim | None:
    """Claim by sections, headings or rows with two shares; on Linux by the heading or its points."""
    text = head.text
    if "class name" in text and re.search(rf"(?m){LINUX_HEADING}", text):
        return Claim(0.97, "heading of /proc/lock_stat", "linux")
    if "events/sec)" in text and re.search(rf"(?m){CUT_SECTION}", text):
        return Claim(0.95, "section of lockstat", "solaris")
    if "rcnt" in text and re.search(rf"(?m){HEADING}", text):
        return Claim(0.95, "heading of lockstat", "solaris")
    filled = sum(1 for x in head.lines if x)
    rows = sum(1 for x in head.lines if "%" in x and re.match(ROW, x)) if "%" in text else 0
    if rows >= 2 and rows * 2 > filled:
        return Claim(0.8, f"{rows} rows of lockstat", "solaris")
    points = sum(1 for x in head.lines if re.match(POINT, x)) if "[<" in text else 0
    return Claim(0.8, f"{points} points of /proc/lock_stat", "linux") if points * 2 > filled and points else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` holds the open row with its buckets and the section."""
    text = pl.col("line")
    if state["variant"] == "linux":
        for block in source.blocks():
            _linux(block.frame, out, state)
        return state
    begins = text.str.contains(SECTION) | text.str.contains(HEADING) | text.str.contains(ROW) | text.str.contains(RULE)
    below = text.str.contains(SPREAD) | text.str.contains(BUCKET) | text.str.contains(FRAME)
    for lines, _ in records(source, out, state, begins, begins | below):
        _sections(lines, out, state)
    return state


def _sections(lines: pl.DataFrame, out: Tables, state: State) -> None:
    text = pl.col("line")
    section = text.str.contains(CUT_SECTION)
    event = pl.when(section).then(text.str.extract(SECTION, 1).str.to_lowercase().fill_null(""))
    seconds = pl.when(section).then(text.str.extract(r"events in ([0-9.]+) seconds", 1).cast(pl.Float64))
    is_row = text.str.contains(ROW)
    # A caller alone on the line below a row without one was wrapped there by a page.
    lone = is_row.shift(1).fill_null(False) & text.str.contains(CALLER) & text.shift(1).str.extract(ROW, 5).is_null()
    lone = lone & text.shift(1).str.extract(ROW, 7).is_null()
    shaped = lines.with_columns(
        event=event.forward_fill().fill_null(pl.lit(state.get("event"), pl.String)),
        seconds=seconds.forward_fill().fill_null(pl.lit(state.get("seconds"), pl.Float64)),
        row=is_row,
        lone=lone,
        group=is_row.cum_sum(),
    )
    if shaped.is_empty():
        return
    state["event"], state["seconds"] = shaped["event"].item(-1), shaped["seconds"].item(-1)
    known = section | text.str.contains(HEADING) | text.str.contains(RULE) | text.str.contains(SPREAD)
    out.read(shaped.filter(known)["line_no"])
    for line in shaped.filter(section & text.str.extract(SECTION, 1).is_null())["line_no"]:
        out.note(line, line, "remark", "the line lost its beginning: what kind of event is not known")
    names = ["n", "pct", "mean_ns", "lock", "caller", "words", "caller_of_words"]
    rows = (
        shaped.filter("row")
        .with_columns(text.str.extract_groups(ROW).struct.rename_fields(names).alias("g"))
        .unnest("g")
        .with_columns(lock=pl.coalesce("lock", "words"), caller=pl.coalesce("caller", "caller_of_words"))
    )
    wrapped = shaped.filter("lone").select("group", wrapped=text.str.strip_chars(), wrapped_at="line_no")
    for line in wrapped["wrapped_at"]:
        out.note(line - 1, line, "repaired", "the caller was wrapped to the next line")
    rows = rows.join(wrapped, on="group", how="left", maintain_order="left").with_columns(
        caller=pl.coalesce("caller", "wrapped"),
        n=pl.col("n").cast(pl.Int64, strict=False),
        event=pl.col("event").replace("", None),
    )
    out.add(
        "locks",
        rows.select(
            "line_no",
            "event",
            "n",
            "lock",
            "caller",
            line_end=pl.coalesce("wrapped_at", "line_no"),
            rate_ps=pl.col("n") / pl.col("seconds"),
            mean_ns=pl.col("mean_ns").cast(pl.Float64),
            pct=pl.col("pct").cast(pl.Float64),
        ),
    )
    _spreads(shaped, rows, out)


def _spreads(shaped: pl.DataFrame, rows: pl.DataFrame, out: Tables) -> None:
    """Write the buckets below rows, and the stack beside them."""
    text = pl.col("line")
    fields = text.str.extract_groups(BUCKET).struct.rename_fields(["label", "count", "frame"])
    cells = shaped.filter(~pl.col("row")).with_columns(fields.alias("g")).unnest("g")
    buckets = cells.drop_nulls("label").with_columns(
        pl.col("count").cast(pl.Float64), label=pl.col("label").cast(pl.Float64)
    )
    # Stack frames beyond the last bucket stand alone; accept them only directly below a bucket or another frame.
    beside = cells.with_columns(frame=pl.coalesce("frame", text.str.extract(FRAME, 1)))
    beside = beside.filter(pl.col("frame").is_not_null() & pl.col("group").is_in(buckets["group"].unique().implode()))
    owners = rows.select("group", "lock", "caller", "n", "event")
    total = pl.col("count").sum().over("group")
    found = buckets.drop("event").join(owners, on="group", how="left", maintain_order="left")
    out.add(
        "hist",
        found.select(
            "line_no",
            agg=pl.col("event").fill_null("lockstat"),
            key1="lock",
            key2="caller",
            lo=pl.col("label") / 2,
            hi="label",
            unit=pl.lit("ns"),
            n="count",
            complete=total == pl.col("n"),
        ),
    )
    if beside.is_empty():
        return
    out.read(beside["line_no"])
    places = beside.group_by("group", maintain_order=True).agg(
        pl.col("line_no").first().alias("from"), pl.col("line_no").last().alias("line_end")
    )
    stacks = rows.join(places, on="group", maintain_order="left")
    lists = nested(beside["frame"], stacks["group"].search_sorted(beside["group"]), len(stacks))
    whole = pl.concat_list(pl.concat_list(pl.col("caller")).list.drop_nulls(), lists)
    out.add(
        "profile_stacks",
        stacks.with_columns(frames=whole).select(
            "line_no",
            "line_end",
            "event",
            "frames",
            weight=pl.col("n").cast(pl.Float64),
            unit=pl.lit("count"),
            leaf=pl.col("frames").list.first(),
            kernel=pl.lit(True),
            complete=pl.lit(True),
        ),
        span="ends",
    )


def _linux(lines: pl.DataFrame, out: Tables, state: State) -> None:
    text = pl.col("line")
    names = ["lock", "con", "contentions", "wait", "acq", "acquisitions", "hold"]
    rows = lines.with_columns(text.str.extract_groups(CLASS).struct.rename_fields(names).alias("g")).unnest("g")
    is_class, is_rule = rows["lock"].is_not_null(), lines["line"].str.contains(RULE)
    shaped = rows.with_columns(rule=is_rule, cls=is_class)
    # Rules since the last class: points after the first rule are waiters, points after the second held the lock.
    rules = pl.col("rule").cum_sum()
    base = pl.when("cls").then(rules).forward_fill().fill_null(-state.get("rules", 0))
    shaped = shaped.with_columns(since=(rules - base).cast(pl.Int64, strict=False))
    if len(shaped):
        state["rules"] = shaped["since"].item(-1)
    out.read(
        lines.filter(text.str.contains(LINUX_HEADING) | text.str.contains(RULE) | text.str.contains(VERSION))["line_no"]
    )
    found = shaped.filter("cls")
    parts = []
    for event, count in (("wait", "contentions"), ("hold", "acquisitions")):
        n = pl.col(count).cast(pl.Int64, strict=False)
        total = (
            pl.col(event).str.extract_all(NUMBER).list.get(2).str.replace(",", ".", literal=True).cast(pl.Float64)
            * 1000
        )
        mean = pl.when(n > 0).then(total / n)
        parts.append(found.select("line_no", "lock", n=n, event=pl.lit(event), mean_ns=mean))
    fields = text.str.extract_groups(POINT).struct.rename_fields(["lock", "n", "caller"])
    points = shaped.drop("lock").with_columns(fields.alias("g")).unnest("g").drop_nulls("caller")
    kind = pl.when(pl.col("since") <= 1).then(pl.lit("wait point")).otherwise(pl.lit("hold point"))
    parts.append(points.select("line_no", "lock", "caller", n=pl.col("n").cast(pl.Int64, strict=False), event=kind))
    out.add("locks", pl.concat(parts, how="diagonal").sort("line_no", maintain_order=True))
