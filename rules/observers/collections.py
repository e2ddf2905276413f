"""How much of the time a run-time's collector stops the program, and how full the heap is after a full collection.

Standing out: a collector that stops the program a fifth of the time that its log covers, or half of its worst minute; else one
pause of five seconds or more; a heap, or its old generation, that is nine tenths full after each of the last two full
collections; full collections for one very large object that free nothing; a Go program whose collector has had a quarter of
the processor time since the start, or ran for two fifths of the time of four collections or more. Normal: less.
Read are the lines of HotSpot (`-Xlog:gc`, `-XX:+PrintGCDetails`), of servers that log what the beans of its collectors say
(GCInspector of Cassandra), of V8 (`--trace-gc`) and of Go (`GODEBUG=gctrace=1`), and the
samples of `jstat -gcutil`: an old generation that stays nine tenths full over at least two full collections.
What is counted is the pause that a line tells: a concurrent phase stops nobody, so a time of ConcurrentMarkSweep is no pause.
A stamp of `-XX:+PrintGCDetails` is that of the begin of a collection, any other one that of its end.
Worked example: 4 full collections of 7 s each begin within 40 s: 28 of 47 s, 60 %, the program stood still.
`[100.3s][info][gc] GC(30) Pause Full (G1 Compaction Pause) 4090M->4085M(4096M) 4711.950ms`: 4,085 of 4,096 MB are still in use.
Cost: one filter by shape over the logs for each question, and one row per artifact.
Source: Java SE HotSpot Virtual Machine Garbage Collection Tuning Guide (the parallel collector gives up where 98 % of the
time go into collections that free less than 2 %); G1 section, Humongous Objects; Go package runtime, GODEBUG gctrace, and A Guide to
the Go Garbage Collector (marking takes a quarter of the processors while it runs).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "collections",
    "How much does the collector of a run-time stop the program, and how full is its heap?",
    ("logs", "rows"),
    {"*": "what fills the heap (jmap -histo PID, or a heap dump), and its limit (-Xmx of the process)"},
)

STOPPED = 0.2
"""Minimum part of the time in which the program stands still: a fifth of a resource is felt; the guide's goal is below 5 %."""

STOPPED_S = 1.0
"""Minimum seconds of all pauses together: the first moment of a program holds many short ones."""

STOPPED_MINUTE = 0.5
"""Minimum part of one minute: a start may collect much in a moment, but never half a minute."""

MINUTE_S = 60.0

LEAST = 3
"""Minimum number of pauses of which a part of the time is told."""

LONG_S = 5.0
"""Minimum seconds of one pause that is told for itself: clients, health checks and clusters give up after as much."""

FULL = 0.9
"""Minimum part of a heap in use after a full collection: a heap that may grow would have grown to keep more free."""

AGAIN = 2
"""Minimum number of full collections that leave it so: a heap that grows is full only once."""

FREED_NOTHING = 0.99
"""Minimum part of what was in use before a collection that is still in use after it."""

GO_PCT = 25.0
"""Minimum part of the processor time in percent: as much as marking takes if it never ends."""

GO_MOST_PCT = 40.0
"""Part of the time of all processors, idle ones too, from which the collector takes more than all the program: then it is most of
what is computed, whatever part of the processors rests."""

ASSISTED, ASSIST_S = 0.25, 0.5
"""Minimum part of all processors' time in a collection that the program's own threads helped with it, as much as the collector's
own workers take, and minimum seconds of that collection."""

BUSY_MU = 0.3
"""Maximum part of the time that V8 left to the program (mutator utilisation) from which its collector holds up the program."""

FAILED_S = 0.1
"""Minimum seconds of a pause in which the collector found no room to copy into."""

GO_RUNS_PCT = 40.0
"""Minimum part of the time in percent in which a collection of Go runs: one that doubles its heap before the next rests most of it."""

GO_SPAN_S = 5.0
"""Minimum seconds from the first to the last collection: a start collects its small heap again and again."""

GO_LEAST = 4
"""Minimum number of collections of which a part of the time is told."""

CITED = 4
"""Maximum number of collections that are cited."""

LONGEST_S = 86_400.0
FELT_MOST = 0.5
"""Share of what takes more than everything else that is computed."""

_LINE = r"->.*(?:secs\]|ms(?:$| ))|\[GC pause .*, [0-9.]+ secs\]"
"""Lines that tell of sizes and a pause; the first line of G1's old report tells of the pause alone."""

_BEAN = r"\bGCInspector\b.* (?:GC for [A-Za-z0-9 ]+: [0-9]+ ms\b|GC in [0-9]+ms)"
_BEAN_MS = r"(?:GC for [A-Za-z0-9 ]+: |GC in )([0-9]+) ?ms\b"
_BEAN_USED = r" (-?[0-9]+) reclaimed leaving ([0-9]+) used; max is ([0-9]+)"
_BEAN_OLD = r"(?:ConcurrentMarkSweep|G1 Old Generation|PS MarkSweep|MarkSweepCompact)"
_CONCURRENT = r"\bConcurrentMarkSweep\b"
"""A collector whose time is mostly that of phases that stop nobody."""

_SIZES = r"(?:\] |\) |GC |-- |[a-z] )([0-9]+)([KMG])->([0-9]+)([KMG])\(([0-9]+)([KMG])\)"
"""The whole heap before and after, and its size: those of a generation stand behind a colon."""

_OLD = r"\[(?:ParOldGen|PSOldGen|CMS|Tenured): [0-9]+K->([0-9]+)K\(([0-9]+)K\)"
_SECS = r".*, ([0-9]+[.][0-9]+) secs\]"
_MS = r" ([0-9]+[.][0-9]+)ms$"
_V8 = r"(?:Scavenge|Mark-[a-zA-Z]+) .*-> [0-9.]+ \([0-9.]+\) MB, ([0-9]+[.][0-9]+) / "
_FULL = rf"\[Full GC|^[^\[]*\[(?:CMS|Tenured): |Pause Full|Mark-(?:sweep|Compact)|GCInspector\b.*\b{_BEAN_OLD}\b"
_LARGE = r"(?:\[Full GC|Pause Full) \([^)]*Humongous"
_NUMBER = r"GC\(([0-9]+)\)"
_GO = r"^gc ([0-9]+) @([0-9]+[.][0-9]+)s ([0-9]+)%: "
_GO_ASSIST = r"^gc ([0-9]+) @[0-9.]+s [0-9]+%: [0-9.]+[+]([0-9.]+)[+][0-9.]+ ms clock, [0-9.]+[+]([0-9.]+)/[0-9.]+/[0-9.]+[+][0-9.]+ ms cpu, .* ([0-9]+) P\b"
_MU = r"\(average mu = ([01][.][0-9]+), current mu = [01][.][0-9]+\)"
_FAILED = r"(?i)to-space (?:exhausted|overflow)|\(promotion failed\)|concurrent mode failure|evacuation failure"
_GO_CLOCK = r"^gc [0-9]+ @[0-9]+[.][0-9]+s [0-9]+%: ([0-9.]+)[+]([0-9.]+)[+]([0-9.]+) ms clock"


def _mb(value: float) -> str:
    """Return a size in MB: without a fraction from 10 MB."""
    return figure(float(round(value)) if value >= 10 else value, "MB")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield sightings from collectors' logs: stopped time, full heaps, large objects, the share of Go's collector."""
    rows = _pauses(case)
    stopped = tuple(_stopped(rows))
    yield from stopped
    yield from _longest(rows, {line.artifact for s in stopped if not s.normal for line in s.lines})
    yield from _full(rows)
    yield from _large(case, rows)
    yield from _failed(case)
    yield from _v8(case)
    yield from _go(case)
    yield from _go_assists(case)
    yield from _go_runs(case)
    yield from _sampled(case)
    yield from _listed(case)


def _pauses(case: CaseTables) -> pl.LazyFrame:
    """Return one row per pause: `begin` (s), `pause_s`, `full`, `large`, and MB `before`, `after`, `size`, `old`, `old_size`."""
    text = pl.col("text")
    sizes = text.str.extract_groups(_SIZES).struct
    old = text.str.extract_groups(_OLD).struct

    def megabytes(n: int) -> pl.Expr:
        scale = sizes.field(str(n + 1)).replace_strict(
            {"K": 1 / 1024, "G": 1024.0}, default=1.0, return_dtype=pl.Float64
        )
        return sizes.field(str(n)).cast(pl.Float64, strict=False) * scale

    bean = text.str.contains(_BEAN)
    used = text.str.extract_groups(_BEAN_USED).struct

    def bean_mb(name: str) -> pl.Expr:
        return pl.when(bean).then(used.field(name).cast(pl.Float64, strict=False) / 2**20)

    secs = text.str.extract(_SECS).cast(pl.Float64, strict=False)
    of_bean = pl.when(bean).then(text.str.extract(_BEAN_MS))
    ms = pl.coalesce(text.str.extract(_MS), text.str.extract(_V8), of_bean).cast(pl.Float64, strict=False) / 1e3
    kind = text.str.contains(r"\[(?:Full )?GC|Pause |Mark-|Scavenge|\[(?:CMS|Tenured): [0-9]")
    columns = [*PLACE_COLUMNS, "line_no", "t_local", "text"]
    return (
        case.scan("logs", columns, (text.str.contains(_LINE) & kind) | bean)
        .with_columns(
            pl.coalesce(secs, ms).alias("pause_s"),
            secs.is_not_null().alias("begins"),
            text.str.contains(_FULL).alias("full"),
            text.str.contains(_LARGE).alias("large"),
            megabytes(1).alias("before"),
            pl.coalesce(megabytes(3), bean_mb("2")).alias("after"),
            pl.coalesce(megabytes(5), bean_mb("3")).alias("size"),
            (bean_mb("1") <= (1 - FREED_NOTHING) * bean_mb("3")).fill_null(False).alias("vain"),
            text.str.contains(_CONCURRENT).alias("concurrent"),
            (old.field("1").cast(pl.Float64, strict=False) / 1024).alias("old"),
            (old.field("2").cast(pl.Float64, strict=False) / 1024).alias("old_size"),
        )
        .drop("text")
        .filter(pl.col("pause_s").is_between(0, LONGEST_S))
        .with_columns((pl.col("t_local") - pl.when("begins").then(0.0).otherwise("pause_s")).alias("begin"))
    )


def _stopped(rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield the part of the time in which the program was stopped: of the whole log, or of its worst minute."""
    timed = rows.filter(pl.col("begin").is_finite() & ~pl.col("concurrent"))
    sums = (
        pl.len().alias("n"),
        pl.col("pause_s").sum().alias("stopped_s"),
        pl.col("full").sum().alias("fulls"),
        pl.col("begin").min().alias("t_from"),
        (pl.col("begin") + pl.col("pause_s")).max().alias("t_to"),
        pl.struct("pause_s", "line_no").top_k_by("pause_s", CITED).alias("worst"),
    )
    whole = timed.group_by(PLACE_COLUMNS).agg(*sums).filter(pl.col("n") >= LEAST).collect(engine="streaming")
    for row in whole.sort("artifact_id").iter_rows(named=True):
        span = row["t_to"] - row["t_from"]
        if span <= 0:
            continue
        share = min(1.0, row["stopped_s"] / span)
        if share < STOPPED:
            minute = (pl.col("begin") / MINUTE_S).floor().alias("minute")
            of = [pl.col(c).eq_missing(pl.lit(row[c])) for c in PLACE_COLUMNS]
            worst = timed.filter(*of).group_by(minute).agg(*sums).top_k(1, by="stopped_s").collect(engine="streaming")
            one = {**row, **worst.row(0, named=True)}
            if one["n"] >= LEAST and one["stopped_s"] >= STOPPED_MINUTE * MINUTE_S:
                yield _share(one, MINUTE_S, min(1.0, one["stopped_s"] / MINUTE_S), "of one minute")
                continue
        yield _share(row, span, share, "that the log covers")


def _share(row: dict[str, object], span: float, share: float, of: str) -> Sighting:
    stopped, fulls, n = float(str(row["stopped_s"])), int(str(row["fulls"])), int(str(row["n"]))
    kinds = f", {fulls:,} of them full collections" if fulls else ""
    worst = row["worst"]
    assert isinstance(worst, list)
    return Sighting(
        "pause",
        "the collector's pauses",
        f"The collector stopped the program for {figure(stopped, 's')} of the {figure(span, 's')} {of}"
        f" ({figure(100 * share, '%')}): {n:,} pauses{kinds}, the longest {figure(worst[0]['pause_s'], 's')}",
        "gc_stopped_pct",
        100 * share,
        "%",
        tuple(
            Lines(int(str(row["artifact_id"])), w["line_no"], w["line_no"], "a long pause")
            for w in sorted(worst, key=lambda w: w["line_no"])
        ),
        **place(row),
        against="a fifth of the time",
        against_value=100 * STOPPED,
        seconds=stopped,
        share=share,
        of_s=span,
        n=n,
        seen=({"counter": "gc_stopped_pct"},),
        normal=share < STOPPED or stopped < STOPPED_S,
    )


def _longest(rows: pl.LazyFrame, told: set[int]) -> Iterator[Sighting]:
    """Yield the longest pause of each artifact not in `told`, if it is long enough by itself."""
    long = rows.filter((pl.col("pause_s") >= LONG_S) & ~pl.col("concurrent") & ~pl.col("artifact_id").is_in(list(told)))
    worst = pl.struct("pause_s", "line_no", "begin").top_k_by("pause_s", CITED).alias("worst")
    made = long.group_by(PLACE_COLUMNS).agg(pl.len().alias("n"), pl.col("pause_s").sum().alias("sum_s"), worst)
    for row in made.collect(engine="streaming").sort("artifact_id").iter_rows(named=True):
        top, n = row["worst"][0], row["n"]
        more = f"; {n:,} pauses of {figure(LONG_S, 's')} or more, {figure(row['sum_s'], 's')} together" if n > 1 else ""
        begin = top["begin"]
        yield Sighting(
            "pause",
            "a long pause of the collector",
            f"The collector stopped the program for {figure(top['pause_s'], 's')} in one pause{more}",
            "gc_pause_s",
            top["pause_s"],
            "s",
            tuple(
                Lines(row["artifact_id"], w["line_no"], w["line_no"], "a long pause")
                for w in sorted(row["worst"], key=lambda w: w["line_no"])
            ),
            **place(row),
            t_from=begin,
            t_to=None if begin is None else begin + top["pause_s"],
            against="what clients and health checks wait",
            against_value=LONG_S,
            seconds=row["sum_s"],
            of_s=row["sum_s"],
            n=n,
            seen=({"counter": "gc_pause_s"},),
        )


def _full(rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield how full the heap, or its old generation, is after the last full collections."""
    used = rows.filter(pl.col("full") & (pl.col("size") > 0)).with_columns(
        (pl.col("after") / pl.col("size")).alias("heap_part"), (pl.col("old") / pl.col("old_size")).alias("old_part")
    )
    last = pl.struct("heap_part", "old_part", "after", "size", "old", "old_size", "vain", "line_no")
    made = (
        used.group_by(PLACE_COLUMNS)
        .agg(pl.len().alias("n"), last.top_k_by("line_no", CITED).alias("last"))
        .collect(engine="streaming")
    )
    for row in made.sort("artifact_id").iter_rows(named=True):
        held = sorted(row["last"], key=lambda r: -r["line_no"])
        parts = [max(r["heap_part"] or 0.0, r["old_part"] or 0.0) for r in held[:AGAIN]]
        top = held[0]
        # If the line prints the maximum size, one collection that frees nothing is enough: the heap cannot grow.
        full = min(parts) >= FULL and (len(parts) == AGAIN or top["vain"])
        old = (top["old_part"] or 0.0) > (top["heap_part"] or 0.0)
        what = "the old generation" if old else "the heap"
        after, size = (top["old"], top["old_size"]) if old else (top["after"], top["size"])
        share = min(1.0, after / size)
        yield Sighting(
            "level",
            f"{what} after a full collection",
            f"After the last of {row['n']:,} full collections {_mb(after)} of the {_mb(size)} of {what}"
            f" are still in use ({figure(100 * share, '%')})"
            if row["n"] > 1
            else f"After a full collection {_mb(after)} of the {_mb(size)} of {what} are in use"
            f" ({figure(100 * share, '%')})",
            "gc_heap_after_full_pct",
            100 * share,
            "%",
            tuple(Lines(row["artifact_id"], r["line_no"], r["line_no"], "a full collection") for r in reversed(held)),
            **place(row),
            against="nine tenths, twice in a row",
            against_value=100 * FULL,
            share=share,
            n=row["n"],
            seen=({"counter": "gc_heap_after_full_pct"},),
            normal=not full,
        )


def _large(case: CaseTables, rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield full collections for a very large object that freed nothing; a second one shows that it did not fit."""
    vain = rows.filter(pl.col("large") & (pl.col("before") > 0) & (pl.col("after") >= FREED_NOTHING * pl.col("before")))
    last = pl.struct("after", "size", "line_no").top_k_by("line_no", CITED).alias("last")
    made = vain.group_by(PLACE_COLUMNS).agg(pl.len().alias("n"), last).collect(engine="streaming")
    if made.is_empty():
        return
    text = pl.col("text")
    tried = (
        case.scan("logs", ["artifact_id", "line_no", "text"], text.str.contains(_LARGE))
        .group_by("artifact_id")
        .agg(text.str.extract(_NUMBER).n_unique().alias("tried"), pl.col("line_no").max().alias("latest"))
        .collect(engine="streaming")
    )
    for row in made.join(tried, on="artifact_id").sort("artifact_id").iter_rows(named=True):
        held = sorted(row["last"], key=lambda r: r["line_no"])
        top, n = held[-1], max(row["n"], row["tried"])
        lines = dict.fromkeys([*(r["line_no"] for r in held), row["latest"]])
        often = f"{n:,} full collections in turn were made" if n > 1 else "A full collection was made"
        yield Sighting(
            "level",
            "a very large object",
            f"{often} for one very large object (Humongous Allocation) and freed nothing: {_mb(top['after'])} of the"
            f" {_mb(top['size'])} of the heap stay in use",
            "gc_freed_mb",
            top["after"],
            "MB",
            tuple(Lines(row["artifact_id"], no, no, "a full collection for a large object") for no in lines),
            **place(row),
            against="the size of the heap",
            against_value=top["size"],
            share=min(1.0, top["after"] / top["size"]),
            n=n,
            seen=({"counter": "gc_large_object_again" if n > 1 else "gc_large_object"},),
        )


def _go(case: CaseTables) -> Iterator[Sighting]:
    """Yield the share of Go's collector in the processor time since the start, of the last line of each artifact."""
    text = pl.col("text")
    found = text.str.extract_groups(_GO).struct
    last = (
        case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], text.str.contains(_GO))
        .group_by(PLACE_COLUMNS)
        .agg(pl.len().alias("n"), pl.struct("line_no", *(found.field(c) for c in "123")).top_k_by("line_no", 1))
    )
    for row in last.collect(engine="streaming").sort("artifact_id").iter_rows(named=True):
        top = row["line_no"][0]
        pct = min(100.0, float(top["3"]))
        yield Sighting(
            "profile",
            "the collector of Go",
            f"The collector of Go has had {figure(pct, '%')} of the processor time in the {figure(float(top['2']), 's')} since the"
            f" start (collection {int(top['1']):,})",
            "gc_cpu_pct",
            pct,
            "%",
            (Lines(row["artifact_id"], top["line_no"], top["line_no"], "the last collection"),),
            **place(row),
            against="what marking takes if it never ends",
            against_value=GO_PCT,
            share=max(pct / 100, FELT_MOST if pct >= GO_MOST_PCT else 0.0),
            n=row["n"],
            seen=({"counter": "gc_cpu_pct"},),
            normal=pct < GO_PCT,
        )


def _failed(case: CaseTables) -> Iterator[Sighting]:
    """Yield collections that found no room to copy into (to-space exhausted, promotion failed), with their pauses.

    The newer log states it in a line of its own, with the number of the collection whose pause another line has.
    """
    text = pl.col("text")
    seconds = pl.coalesce(
        text.str.extract(_SECS).cast(pl.Float64, strict=False),
        text.str.extract(_MS).cast(pl.Float64, strict=False) / 1e3,
    )
    rows = case.scan(
        "logs", [*PLACE_COLUMNS, "line_no", "t_local", "text"], text.str.contains(rf"{_FAILED}|{_NUMBER} Pause ")
    )
    held = (
        rows.with_columns(
            seconds.fill_null(0.0).alias("pause_s"),
            text.str.extract(_NUMBER).alias("number"),
            text.str.contains(_FAILED).alias("failed"),
            text.str.extract(rf"({_FAILED.removeprefix('(?i)')})".replace("(?:", "(?i:", 1)).alias("how"),
        )
        .drop("text")
        .collect(engine="streaming")
        .sort("artifact_id", "line_no")
    )
    for _, of in held.group_by("artifact_id", maintain_order=True):
        failed = of.filter("failed")
        if failed.is_empty():
            continue
        numbers = failed["number"].drop_nulls().unique().to_list()
        paused = of.filter(pl.col("failed") | pl.col("number").is_in(numbers))
        stopped = float(paused["pause_s"].sum())
        if stopped < FAILED_S:
            continue
        top = failed.row(0, named=True)
        long = paused.sort("pause_s", descending=True).head(CITED)
        yield Sighting(
            "pause",
            "a collection without room",
            f"{failed.height:,} collections found no room to copy into, and stopped the program for {figure(stopped, 's')} together"
            if failed.height > 1
            else f"A collection found no room to copy into, and stopped the program for {figure(stopped, 's')}",
            "gc_without_room_s",
            stopped,
            "s",
            tuple(
                Lines(top["artifact_id"], no, no, "a collection without room")
                for no in sorted({*long["line_no"].to_list()[: CITED - 1], top["line_no"]})
            ),
            **place(top),
            against="a pause that a person notices",
            against_value=FAILED_S,
            seconds=stopped,
            of_s=stopped,
            n=failed.height,
            seen=({"counter": "gc_without_room_s"},),
        )


def _v8(case: CaseTables) -> Iterator[Sighting]:
    """Yield the part of the time that V8's collector took in the last full collection of each artifact, which its line states."""
    text = pl.col("text")
    last = (
        case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], text.str.contains(_MU) & text.str.contains(r"Mark-"))
        .with_columns(text.str.extract(_MU).cast(pl.Float64, strict=False).alias("mu"))
        .group_by(PLACE_COLUMNS)
        .agg(pl.len().alias("n"), pl.struct("line_no", "mu").top_k_by("line_no", 1))
        .collect(engine="streaming")
    )
    for row in last.sort("artifact_id").iter_rows(named=True):
        top = row["line_no"][0]
        taken = 1.0 - min(1.0, top["mu"])
        yield Sighting(
            "pause",
            "the collector of V8",
            f"The collector of V8 took {figure(100 * taken, '%')} of the time around its last full collection (average mu = {top['mu']:.3f})",
            "gc_stopped_pct",
            100 * taken,
            "%",
            (Lines(row["artifact_id"], top["line_no"], top["line_no"], "the last full collection"),),
            **place(row),
            against="seven tenths of the time",
            against_value=100 * (1 - BUSY_MU),
            share=taken,
            n=row["n"],
            seen=({"counter": "gc_stopped_pct"},),
            normal=top["mu"] > BUSY_MU,
        )


def _go_assists(case: CaseTables) -> Iterator[Sighting]:
    """Yield collections of Go in which the program's own threads had to help, and so waited."""
    text = pl.col("text")
    found = text.str.extract_groups(_GO_ASSIST).struct
    number = {
        name: found.field(at).cast(pl.Float64, strict=False) for name, at in (("ms", "2"), ("help", "3"), ("of", "4"))
    }
    rows = (
        case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], text.str.contains(_GO_ASSIST))
        .with_columns(**number)
        .filter((pl.col("ms") >= ASSIST_S * 1e3) & (pl.col("help") >= ASSISTED * pl.col("ms") * pl.col("of")))
        .group_by(PLACE_COLUMNS)
        .agg(
            pl.len().alias("n"),
            pl.col("ms").sum().alias("sum_ms"),
            pl.struct("line_no", "ms", "help", "of").top_k_by("ms", CITED).alias("worst"),
        )
        .collect(engine="streaming")
    )
    for row in rows.sort("artifact_id").iter_rows(named=True):
        top = row["worst"][0]
        part = min(1.0, top["help"] / (top["ms"] * top["of"]))
        yield Sighting(
            "pause",
            "threads that help the collector of Go",
            f"In a collection of Go that ran for {figure(top['ms'] / 1e3, 's')}, the program's own threads spent {figure(100 * part, '%')} of"
            f" all processors on helping it (assists)",
            "gc_assists_s",
            top["ms"] / 1e3,
            "s",
            tuple(
                Lines(row["artifact_id"], w["line_no"], w["line_no"], "a collection with assists")
                for w in sorted(row["worst"], key=lambda w: w["line_no"])
            ),
            **place(row),
            against="a quarter of the processors, as much as the collector's own workers take",
            against_value=100 * ASSISTED,
            seconds=row["sum_ms"] / 1e3,
            of_s=row["sum_ms"] / 1e3,
            n=row["n"],
            seen=({"counter": "gc_assists_s"},),
        )


def _go_runs(case: CaseTables) -> Iterator[Sighting]:
    """Yield the part of the time in which a collection of Go ran: meanwhile it takes a quarter of the processors and more."""
    text = pl.col("text")
    began = text.str.extract(_GO, 2).cast(pl.Float64, strict=False)
    clock = text.str.extract_groups(_GO_CLOCK).struct
    ran = sum((clock.field(c).cast(pl.Float64, strict=False) for c in "123"), start=pl.lit(0.0)) / 1e3
    rows = case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], text.str.contains(_GO_CLOCK)).with_columns(
        began.alias("began"), ran.alias("ran_s")
    )
    whole = pl.col("began").max() - pl.col("began").min()
    made = (
        rows.filter(pl.col("ran_s").is_between(0, LONGEST_S))
        .group_by(PLACE_COLUMNS)
        .agg(
            pl.len().alias("n"),
            whole.alias("span"),
            # The last one ends behind the span.
            (pl.col("ran_s").sum() - pl.col("ran_s").sort_by("began").last()).alias("ran"),
            pl.struct("line_no", "ran_s").top_k_by("ran_s", CITED).alias("worst"),
        )
        .filter((pl.col("n") >= GO_LEAST) & (pl.col("span") >= GO_SPAN_S))
        .collect(engine="streaming")
    )
    for row in made.sort("artifact_id").iter_rows(named=True):
        pct = min(100.0, 100 * row["ran"] / row["span"])
        yield Sighting(
            "profile",
            "collections of Go",
            f"A collection of Go ran for {figure(pct, '%')} of the {figure(row['span'], 's')} of {row['n']:,} collections, the longest"
            f" for {figure(row['worst'][0]['ran_s'], 's')}",
            "gc_running_pct",
            pct,
            "%",
            tuple(
                Lines(row["artifact_id"], w["line_no"], w["line_no"], "a long collection")
                for w in sorted(row["worst"], key=lambda w: w["line_no"])
            ),
            **place(row),
            against="a heap that doubles before the next one",
            against_value=GO_RUNS_PCT,
            share=pct / 100,
            n=row["n"],
            seen=({"counter": "gc_running_pct"},) if pct >= GO_RUNS_PCT else (),
            normal=pct < GO_RUNS_PCT,
        )


def _sampled(case: CaseTables) -> Iterator[Sighting]:
    """Yield how full the old generation is in samples of `jstat -gcutil` with full collections between them."""
    heading, cells = pl.col("heading"), pl.col("cells")
    of_jstat = heading.list.contains("FGC") & heading.list.contains("O") & (heading.list.len() == cells.list.len())

    def column(name: str) -> pl.Expr:
        at = heading.list.eval(pl.element() == name).list.arg_max()
        return cells.list.get(at).cast(pl.Float64, strict=False)

    made = (
        case.scan("rows", [*PLACE_COLUMNS, "table_no", "line_no", "heading", "cells"], of_jstat.fill_null(False))
        .with_columns(column("O").alias("old"), column("FGC").alias("fulls"), column("FGCT").alias("fulls_s"))
        .filter(pl.col("old").is_between(0, 100) & (pl.col("fulls") >= 0))
        .group_by([*PLACE_COLUMNS, "table_no"])
        .agg(
            pl.len().alias("n"),
            pl.col("old").min().alias("least"),
            (pl.col("fulls").max() - pl.col("fulls").min()).alias("fulls"),
            (pl.col("fulls_s").max() - pl.col("fulls_s").min()).alias("fulls_s"),
            pl.col("line_no").min().alias("first"),
            pl.col("line_no").max().alias("last"),
        )
        .filter(pl.col("n") >= AGAIN)
        .collect(engine="streaming")
    )
    for row in made.sort("artifact_id", "table_no").iter_rows(named=True):
        full = row["fulls"] >= AGAIN and row["least"] >= 100 * FULL
        took = f", which took {figure(row['fulls_s'], 's')}" if row["fulls"] and row["fulls_s"] is not None else ""
        often = "1 full collection" if row["fulls"] == 1 else f"{figure(row['fulls'], 'count')} full collections"
        yield Sighting(
            "level",
            "the old generation in samples",
            f"The old generation is at least {figure(row['least'], '%')} full in all {row['n']:,} samples, with {often} among"
            f" them{took}",
            "gc_heap_after_full_pct",
            row["least"],
            "%",
            tuple(
                Lines(row["artifact_id"], no, no, role) for no, role in ((row["first"], "first"), (row["last"], "last"))
            ),
            **place(row),
            against="nine tenths over two full collections",
            against_value=100 * FULL,
            share=row["least"] / 100,
            n=row["n"],
            seen=({"counter": "gc_heap_after_full_pct"},),
            normal=not full,
        )


def _listed(case: CaseTables) -> Iterator[Sighting]:
    """Yield the part of the time in collections of a table with one row for each (GC::Profiler of Ruby)."""
    heading, cells = pl.col("heading"), pl.col("cells")

    def column(name: str) -> pl.Expr:
        at = heading.list.eval(pl.element() == name).list.arg_max()
        return cells.list.get(at).cast(pl.Float64, strict=False)

    ours = heading.list.contains("GC Time(ms)") & heading.list.contains("Invoke Time(sec)")
    made = (
        case.scan(
            "rows",
            [*PLACE_COLUMNS, "table_no", "line_no", "heading", "cells"],
            (ours & (heading.list.len() == cells.list.len())).fill_null(value=False),
        )
        .with_columns(column("GC Time(ms)").alias("ms"), column("Invoke Time(sec)").alias("at"))
        .filter(pl.col("ms").is_between(0, LONGEST_S * 1e3) & pl.col("at").is_finite())
        .group_by([*PLACE_COLUMNS, "table_no"])
        .agg(
            pl.len().alias("n"),
            (pl.col("at").max() - pl.col("at").min()).alias("span"),
            # The last one ends behind the span.
            (pl.col("ms").sum() - pl.col("ms").sort_by("at").last()).alias("stopped_ms"),
            pl.struct("line_no", "ms").top_k_by("ms", CITED).alias("worst"),
        )
        .filter((pl.col("n") >= LEAST) & (pl.col("span") > 0))
        .collect(engine="streaming")
    )
    for row in made.sort("artifact_id", "table_no").iter_rows(named=True):
        stopped = row["stopped_ms"] / 1e3
        worst = [{"line_no": w["line_no"], "pause_s": w["ms"] / 1e3} for w in row["worst"]]
        whole = {**row, "stopped_s": stopped, "fulls": 0, "worst": worst, "t_from": None, "t_to": None}
        yield _share(whole, row["span"], min(1.0, stopped / row["span"]), "between the first and the last collection")
