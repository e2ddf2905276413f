"""What is done again and again: calls of the same kind to the same target, and totals of tracers.

Stands out: at least `MANY` calls of one process (or of all processes, for forks and execs) with the same name and target
that take `PART` of the trace or `FELT_S` together, or files opened `OPENED` times, or reads and writes of at most
`SMALL` bytes (median), or an excerpt without times of nothing but one call. Normal: what one unit of work needs once.
Calls that wait for work (accept, polls, a server's reads) and waits for children are left out: they are many because the work is.
Worked example: 4,096 reads of 1 byte from /etc/app.conf that took 0.8 s of 1.0 s: n 4,096, seconds 0.8.
Cost: one pass over the calls in batches, grouped. Source: Millsap and Holt: time = calls x time of one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, gathered, lines_of, place
from rules.observers.traced import calls, on, seen
from rules.walking.targets import ACCEPTS, CHILDREN, OPENS, POLLS
from rules.walking.threads import FORK_NAME, READ_NAMES, WRITE_NAMES

OBSERVER = Observer(
    "repetition",
    "What is done again and again?",
    ("syscalls", "syscall_totals", "logs", "db_calls", "conn_times"),
    {
        "linux": "strace -f -T -tt -p PID; perf record -g -p PID -- sleep 10",
        "solaris": "truss -fdDE -p PID",
        "*": "the source or settings that decide how often it is done",
    },
    wordless=True,
)

MANY = 20
"""Minimum number of like calls: a program start alone makes up to a dozen of most kinds."""

PART = 0.1
"""Minimum part of the time of the trace that like calls take together."""

OPENED = 10
"""Minimum number of times that one file is opened to stand out whatever its time."""

SMALL = 16
"""Maximum bytes of the middle read or write to be called byte-wise: no buffered reader moves so few."""

BYTEWISE = 500
"""Minimum number of small reads or writes: fewer are counters and wake-up pipes."""

FIRST_LINES = 6
"""Number of first calls of a group that are cited, so that a reader sees the rhythm."""

FEW = 5
"""Minimum number of like calls that take `LARGE` of the trace: few, but the time is theirs."""

LARGE = 0.2

MOST_CALLS = 0.5
"""Minimum part of all calls of a trace that like calls, if they move no data, are to stand out whatever their time."""

EXCERPT, LEAST_EXCERPT, NOTHING_ELSE = 60, 8, 0.9
"""Maximum number of calls of an excerpt without times, and minimum number and part of it that one call makes up: who pastes so
few lines of a loop shows what it does all the time."""

MADE_UP = r"^(?:[^/]|/(?:dev|proc|sys)/)"
"""Targets that are no stored files: pipes, sockets, devices and what the kernel makes up."""

YIELDS = ("sched_yield", "yield", "lwp_yield", "thr_yield", "thread_yield", "swtch_pri")
"""Calls that give the processor up and take it again."""

READ_LATE_S, READ_BYTES = 0.02, 1 << 20
"""Minimum seconds of the middle read from a stored file, and its maximum number of bytes, from which the device, or the server of
the file system, answers late: a disk that turns takes 5 to 15 ms."""

SEVERAL = r"^\d+ targets"
"""Target of a group of one call over all its targets."""

TARGETS = 3
"""Minimum number of targets of one call that are also told together."""

MOST_GROUPS = 50_000
"""Maximum number of groups that are kept of a batch of calls, so that a trace with millions of files fits into memory."""

LONGEST_S = 30 * 86400.0
"""Maximum believable time of a call in seconds."""

GROUP = [*PLACE_COLUMNS, "name", "kind", "target"]
FILES = pl.col("kind") == "file"


MERGED = (
    pl.col("n", "sum").sum(),
    pl.col("timed").any(),
    pl.col("bytes").median(),
    pl.col("first").min(),
    pl.col("last").max(),
    pl.col("worst", "worst_end").sort_by("most", "first").last(),
    pl.col("firsts").explode().sort().head(FIRST_LINES),
    pl.col("most").max(),
    pl.col("least").min(),
    pl.col("each").median(),
)
"""How groups of calls become one."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield repeated calls, the largest time first."""
    all_ = gathered(case, (_calls, _totals, _lines, _database, _series))
    yield from sorted(all_.found, key=lambda s: (-(s.seconds or 0.0), -s.n))
    if all_.late:
        raise all_.late


def _calls(case: CaseTables) -> Iterator[Sighting]:
    served = (pl.col("side") == "server").fill_null(value=False)
    idle = pl.col("name").is_in([*ACCEPTS, *POLLS, *CHILDREN]) | served
    parts, spans = [], []
    for rows in calls(case, pl.col("name").is_not_null()):
        spans.append(
            rows.group_by("artifact_id").agg(
                (pl.col("done_s") - pl.col("own_s").fill_null(0)).min().alias("a"),
                pl.col("done_s").max().alias("b"),
                pl.len().alias("all"),
                pl.col("own_s").filter(pl.col("name").is_in(ACCEPTS)).sum().alias("accepts"),
                pl.struct("pid", "lwp").n_unique().alias("threads_of"),
            )
        )
        # Half of the time of the groups: the time of a call as a column that each figure uses, and lines in order, so
        # that the first ones need no sort of their own.
        own = pl.col("believed_s")
        rows = rows.filter(~idle).with_columns(
            pl.when(pl.col("own_s").is_between(0, LONGEST_S)).then("own_s").alias("believed_s")
        )
        rows = rows if rows["line_no"].is_sorted() else rows.sort("line_no", maintain_order=True)
        # An open's target is its path; the thread with the most time stands for the wall time of a group.
        threads = rows.group_by([*GROUP, "pid", "lwp"]).agg(
            pl.len().alias("n"),
            own.sum().alias("sum"),
            own.is_not_null().any().alias("timed"),
            pl.col("bytes").median().alias("bytes"),
            pl.col("line_no").min().alias("first"),
            pl.col("line_no").max().alias("last"),
            pl.col("line_no").sort_by(own, nulls_last=False).last().alias("worst"),
            pl.col("line_end").sort_by(own, nulls_last=False).last().alias("worst_end"),
            pl.col("line_no").head(FIRST_LINES).alias("firsts"),
            own.max().alias("most"),
            own.min().alias("least"),
            own.median().alias("each"),
        )
        parts.append(bounded(threads.sort("first")))  # groups come in no order
    if not parts:
        return
    # One thread alone that waits for the next caller does nothing else meanwhile.
    unasked = pl.when(pl.col("threads_of").max() == 1).then(pl.col("accepts").sum()).otherwise(0.0)
    covers = (
        pl.concat(spans)
        .group_by("artifact_id")
        .agg((pl.col("b").max() - pl.col("a").min() - unasked).alias("of"), pl.col("all").sum())
    )
    threads = pl.concat(parts) if len(parts) == 1 else _of_threads(pl.concat(parts))
    groups = pl.concat([_grouped(threads, GROUP), _together(threads)], how="diagonal").join(
        covers, on="artifact_id", how="left"
    )
    forks = pl.col("name").str.contains(FORK_NAME)
    # Each of many short-lived processes takes its turn, so times of a group are added up, at most to the whole; threads
    # that wait for a lock or sleep do so side by side.
    aside = pl.col("kind").is_in(["lock", "sleep"])
    wall = (
        pl.when((pl.col("threads") > 1) & ~aside).then(pl.min_horizontal("sum", "of")).otherwise("wall").alias("wall")
    )
    groups = groups.with_columns(wall)
    takes = pl.col("timed") & ((pl.col("wall") >= FELT_S) | (pl.col("wall") >= PART * pl.col("of")))
    large = (pl.col("n") >= FEW) & pl.col("timed") & (pl.col("wall") >= LARGE * pl.col("of"))
    opened = (
        pl.col("name").is_in(OPENS)
        & (pl.col("n") >= OPENED)
        & pl.col("target").is_not_null()
        & ~pl.col("target").str.contains(SEVERAL)
    )
    moves = pl.col("name").is_in([*READ_NAMES, *WRITE_NAMES])
    small = moves & (pl.col("bytes") <= SMALL) & (pl.col("n") >= BYTEWISE)
    untimed = ~pl.col("timed") & (pl.col("n") >= BYTEWISE)
    often = ~moves & (pl.col("n") >= BYTEWISE) & (pl.col("n") >= MOST_CALLS * pl.col("all"))
    chosen = (
        ~pl.col("timed")
        & (pl.col("all") <= EXCERPT)
        & (pl.col("n") >= LEAST_EXCERPT)
        & (pl.col("n") >= NOTHING_ELSE * pl.col("all"))
    )
    out = ((pl.col("n") >= MANY) & takes) | large | opened | small | untimed | often | (forks & (pl.col("n") >= MANY))
    stored = FILES & ~pl.col("target").str.contains(MADE_UP)
    late = pl.col("name").is_in(READ_NAMES) & stored & (pl.col("bytes") <= READ_BYTES) & (pl.col("each") >= READ_LATE_S)
    few = moves & (pl.col("bytes") <= SMALL) & (chosen | (small & stored))
    groups = groups.with_columns(
        (out | chosen).fill_null(value=False).alias("out"),
        chosen.fill_null(value=False).alias("chosen"),
        few.fill_null(value=False).alias("few_bytes"),
        late.fill_null(value=False).alias("late"),
    ).sort("out", "wall", "n", "first", descending=[True, True, True, False])
    # The call with the most time and the one that is made most are told even if they are as usual.
    usual = pl.concat(
        [groups.filter(pl.col("target").is_null()).sort(by, descending=True).unique("artifact_id", keep="first") for by in ("wall", "n")]
    ).filter(~pl.col("out") & (pl.col("n") > 1)).unique(["artifact_id", "name"], keep="first", maintain_order=True)  # fmt: skip
    for row in pl.concat([groups.filter("out").head(40), usual]).iter_rows(named=True):
        each = ""
        if row["bytes"] is not None and row["name"] in (*READ_NAMES, *WRITE_NAMES):
            each = f" of {row['bytes']:,.0f} bytes (median)"
        took = f", {figure(row['wall'], 's')} together" if row["timed"] else ""
        if row["threads"] > 1 and row["timed"]:
            took = f", {figure(row['sum'], 's')} together in {row['threads']:,} threads"
        whole = f" of {figure(row['of'], 's')}" if took and row["of"] else ""
        if row["each"] is not None:
            whole += (
                f"; {figure(row['each'], 's')} each (median), {figure(row['least'], 's')} to {figure(row['most'], 's')}"
            )
        times = f", {row['times']:,} on each" if row["times"] else ""
        if row["chosen"]:
            each += f", {row['n']:,} of the {row['all']:,} in the excerpt"
        known = (
            "moves-few-bytes"
            if row["few_bytes"]
            else "file-read-late"
            if row["late"]
            else "only-yields"
            if row["chosen"] and row["name"] in YIELDS
            else None
        )
        lines = tuple(
            Lines(row["artifact_id"], n, n, role)
            for n, role in {
                row["worst"]: "longest",
                **({row["worst_end"]: "longest ends"} if row["worst_end"] != row["worst"] else {}),
                row["last"]: "last",
                row["again"]: "the second time begins",
                **dict.fromkeys(row["firsts"], "first"),
            }.items()
            if n is not None
        )
        yield Sighting(
            "repetition",
            on(row),
            f"{on(row)}: {row['n']:,} calls{times}{each}{took}{whole}",
            "calls_count",
            float(row["n"]),
            "count",
            lines,
            **place(row),
            against="once per unit of work",
            against_value=1.0,
            seconds=row["wall"] if row["timed"] else None,
            of_s=row["of"] if row["timed"] else None,
            share=row["n"] / row["all"] if row["chosen"] else None,
            n=row["n"],
            seen=(*(({"event": known},) if known else ()), *seen(row)),
            normal=not row["out"],
        )


def bounded(threads: pl.DataFrame, most: int = MOST_GROUPS) -> pl.DataFrame:
    """Limit the groups of a batch: keep the largest by time and by number, and join the rest per call and thread."""
    if threads.height <= most:
        return threads
    largest = pl.col("sum").rank("ordinal", descending=True) <= most // 2
    often = pl.col("n").rank("ordinal", descending=True) <= most // 2
    marked = threads.with_columns((largest | often).fill_null(value=False).alias("kept"))
    keys = [*(c for c in GROUP if c != "target"), "pid", "lwp"]
    rest = (
        marked.filter(~pl.col("kept"))
        .group_by(keys)
        .agg(
            *MERGED,
            pl.lit("further ones").alias("target"),
        )
    )
    alike = rest.select(pl.col(name).cast(kind) for name, kind in threads.schema.items())
    return pl.concat([threads.filter(marked["kept"]), alike])


def _of_threads(parts: pl.DataFrame) -> pl.DataFrame:
    """Join the groups of several batches into one row per group and thread."""
    made = parts.group_by([*GROUP, "pid", "lwp"], maintain_order=True).agg(MERGED)
    return made.select(parts.columns).sort("first")


def _grouped(threads: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    threads_ = pl.struct("pid", "lwp").n_unique().alias("threads")
    return threads.group_by(keys, maintain_order=True).agg(*MERGED, pl.col("sum").max().alias("wall"), threads_)


def _together(threads: pl.DataFrame) -> pl.DataFrame:
    """Return the groups of one call on all files of one folder, for folders with at least `TARGETS` files.

    `times` is the number of calls per file, if it is the same for all and more than one; `again` is the first line on
    which a file is called a second time: where a list of files is processed again.
    """
    keys = [*PLACE_COLUMNS, "name", "kind", "folder"]
    folder = pl.col("target").str.extract(r"^(/.*)/[^/]*$").alias("folder")
    rows = threads.with_columns(folder).filter(pl.col("target").n_unique().over(keys) >= TARGETS)
    each = rows.group_by([*keys, "target"]).agg(
        pl.col("n").sum(), pl.col("firsts").explode().sort().slice(1, 1).first().alias("again")
    )
    times = pl.when((pl.col("n").min() == pl.col("n").max()) & (pl.col("n").min() > 1)).then(pl.col("n").min())
    named = each.group_by(keys, maintain_order=True).agg(
        pl.col("target").drop_nulls().n_unique().alias("targets"),
        times.alias("times"),
        pl.when(times.is_not_null()).then(pl.col("again").min()).alias("again"),
    )
    place = pl.when(pl.col("folder").is_not_null()).then(pl.format(" in {}", "folder")).otherwise(pl.lit(""))
    whole = pl.format("{} targets{}", "targets", place)
    of_threads = _grouped(rows, [*keys, "pid", "lwp"]).with_columns(pl.lit(None, pl.String).alias("target"))
    joined = _grouped(of_threads, keys).join(named, on=keys, nulls_equal=True).with_columns(whole.alias("target"))
    return joined.select(*_grouped(rows.head(0), GROUP).columns, "times", "again")


def _totals(case: CaseTables) -> Iterator[Sighting]:
    """Yield calls that have a large part of the time, or of the calls, in a tracer's summary table."""
    rows = case.table(
        "syscall_totals",
        [*PLACE_COLUMNS, "part", "line_no", "line_end", "section", "pid", "name", "n", "total_s", "total_kind"],
    )
    total = pl.col("total_s")
    rows = rows.with_columns(pl.when(total.is_between(0, 1e12)).then(total).alias("total_s")).filter(
        pl.col("section").fill_null("call").is_in(["call", "library"])
        & ~pl.col("name").fill_null("").is_in([*ACCEPTS, *POLLS, *CHILDREN])
    )
    whole = pl.col("total_s").sum().over("artifact_id", "part", "pid", "section").alias("of")
    rows = rows.with_columns(
        whole, (pl.col("n") / pl.col("n").sum().over("artifact_id", "part", "pid", "section")).alias("share")
    )
    heavy = (pl.col("total_s") >= PART * pl.col("of")) & (pl.col("total_s") > 0)
    often = (pl.col("share") >= PART) & (pl.col("n") >= BYTEWISE)
    for row in (
        rows.filter((pl.col("n") >= MANY) & (heavy | often))
        .sort("total_s", descending=True)
        .head(10)
        .iter_rows(named=True)
    ):
        took = f", {figure(row['total_s'], 's')} of {figure(row['of'], 's')} in the table" if row["total_s"] else ""
        yield Sighting(
            "repetition",
            row["name"],
            f"{row['name']}: {row['n']:,} calls{took}",
            "calls_count",
            float(row["n"]),
            "count",
            lines_of(row, "total"),
            **place(row),
            against="once per unit of work",
            against_value=1.0,
            seconds=row["total_s"] if row["total_kind"] == "wall" else None,
            of_s=row["of"] if row["total_kind"] == "wall" else None,
            share=row["total_s"] / row["of"] if row["of"] and row["total_s"] else row["share"],
            n=row["n"],
            seen=({"call": row["name"]},),
        )


def _lines(case: CaseTables) -> Iterator[Sighting]:
    """Yield the most frequent line of a log, compared without its figures."""
    shape = pl.col("text").str.replace_all(r"0x[0-9a-fA-F]+|\d+", "#").str.slice(0, 120).alias("shape")
    key = [*PLACE_COLUMNS, "shape"]
    rows = case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], pl.col("text").is_not_null()).with_columns(shape)
    found = rows.group_by(key).agg(
        pl.len().alias("n"),
        pl.col("line_no").min().alias("first"),
        pl.col("line_no").max().alias("last"),
        pl.col("text").first(),
    )
    # Lines without a word are figures, no messages.
    common = found.with_columns((pl.col("n") / pl.col("n").sum().over("artifact_id")).alias("share"))
    worded = (pl.col("n") >= MANY) & pl.col("shape").str.contains("[A-Za-z]{3}") & (pl.col("share") >= PART)
    for row in common.filter(worded).top_k(5, by="n").collect(engine="streaming").iter_rows(named=True):
        text = row["text"][:90]
        yield Sighting(
            "repetition",
            text,
            f"{row['n']:,} lines, {100 * row['share']:.0f} % of the log, are like: {text}",
            "lines_count",
            float(row["n"]),
            "count",
            tuple(Lines(row["artifact_id"], n, n, r) for n, r in ((row["first"], "first"), (row["last"], "last"))),
            **place(row),
            share=row["share"] / 2,
            n=row["n"],
            seen=({"log": row["text"]},),
        )


def _database(case: CaseTables) -> Iterator[Sighting]:
    """Yield calls of one cursor that are made again and again."""
    key = [*PLACE_COLUMNS, "cursor", "call"]
    rows = (
        case.scan("db_calls", [*key, "line_no", "elapsed_s"])
        .group_by(key)
        .agg(
            pl.len().alias("n"),
            pl.col("elapsed_s").sum().alias("sum"),
            pl.col("line_no").min().alias("first"),
            pl.col("line_no").sort_by("elapsed_s", nulls_last=False).last().alias("worst"),
        )
        .filter((pl.col("n") >= MANY) & (pl.col("sum") >= FELT_S))
    )
    for row in rows.top_k(10, by="sum").collect(engine="streaming").iter_rows(named=True):
        subject = f"{row['call']} of cursor {row['cursor']}"
        yield Sighting(
            "repetition",
            subject,
            f"{subject}: {row['n']:,} calls, {figure(row['sum'], 's')} together",
            "calls_count",
            float(row["n"]),
            "count",
            tuple(Lines(row["artifact_id"], n, n, r) for n, r in ((row["first"], "first"), (row["worst"], "longest"))),
            **place(row),
            against="once per unit of work",
            against_value=1.0,
            seconds=row["sum"],
            n=row["n"],
            seen=({"call": str(row["call"])},),
        )


def _series(case: CaseTables) -> Iterator[Sighting]:
    """Yield series of timed connects or commands that take long together, however short each is."""
    key = [*PLACE_COLUMNS, "series"]
    taken = pl.col("elapsed_s")
    rows = (
        case.scan("conn_times", [*key, "line_no", "elapsed_s"], taken.is_between(0, LONGEST_S))
        .group_by(key)
        .agg(
            pl.len().alias("n"),
            taken.sum().alias("sum"),
            taken.median().alias("each"),
            taken.max().alias("most"),
            taken.min().alias("least"),
            pl.col("line_no").get(taken.arg_max()).alias("worst"),
            pl.col("line_no").get(taken.arg_min()).alias("best"),
            pl.col("line_no").min().alias("first"),
        )
        .filter(pl.col("n") > 1)
    )
    for row in rows.top_k(5, by="sum").collect(engine="streaming").iter_rows(named=True):
        subject = row["series"] or "a command"
        lines = {row["worst"]: "longest", row["best"]: "shortest", row["first"]: "first"}
        yield Sighting(
            "repetition",
            subject,
            f"{subject}: {row['n']:,} times, {figure(row['sum'], 's')} together; {figure(row['each'], 's')} each (median),"
            f" {figure(row['most'], 's')} at most, {figure(row['least'], 's')} at least",
            "calls_count",
            float(row["n"]),
            "count",
            tuple(Lines(row["artifact_id"], n, n, role) for n, role in lines.items()),
            **place(row),
            against="once per unit of work",
            against_value=1.0,
            n=row["n"],
            normal=row["n"] < MANY or row["sum"] < FELT_S,
        )
