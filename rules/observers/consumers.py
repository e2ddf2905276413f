"""Who uses most: of the processors, of memory, of a process's own time and space, and how many are alike.

Standing out: a process with half a processor or more, one that holds a third of the memory that the listed ones hold
together (without threads of the kernel and those that made the listing) or of the host's, many processes of one
program, zombies, and time that a thread spends waiting for a processor, a lock or a page (microstates). Normal: less;
the largest is kept as a measure, so that a listing is never silent.
Worked example: top with mysqld at 780 % and the next process at 12 %: value 780, share 0.98 of what was listed.
Cost: one aggregation over the rows of the listings. Source: ps(1), top(1), prstat(1M) -m; Gregg, Systems Performance,
ch. 6: who is on the processors is the first question after how busy they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.memory_parts import groups, huge_pages, mapped_by, no_swap, pieces, swap_devices, unlisted, wired
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.observers.samples import Beside, Measure, sampled, sightings
from rules.signatures.signatures import Seen, recognise
from rules.writing.process_words import process_named, process_words

OBSERVER = Observer(
    "consumers",
    "Who uses most?",
    ("ps", "microstates", "pmap", "ipcs_shm", "meminfo", "counters"),
    {
        "linux": "perf top -g -p PID; strace -c -f -p PID; cat /proc/PID/stack",
        "solaris": "prstat -mL -p PID 5 6; pstack PID",
        "aix": "tprof -skex sleep 30; procstack PID",
        "hpux": "glance -p PID",
        "freebsd": "procstat -kk PID; truss -c -p PID",
    },
    alone=True,
    wordless=True,
)

BUSY_PCT = 50.0
"""Minimum use of a processor, in percent of one, that is worth a word: half of it is not available to others."""

FILLS_PCT = 90.0
"""Minimum use, in percent of one processor, from which a process computes all the time with at least one thread."""

HOLDS = 1 / 3
"""Minimum part of the memory that one process holds to be worth a word."""

OF_MACHINE = 0.1
"""Minimum part of the machine's memory that a process holds to be worth a word, where that is known: less leaves nearly
all of it to others, however little the others of the listing hold."""

ALIKE = 50
"""Minimum number of processes of one program that is worth a word: pools are usually smaller."""

ZOMBIES = 5
"""Minimum number of zombies: a few are there between the end of a child and its parent's wait."""

WAITS_PCT = 20.0
"""Minimum part of a thread's time that it waits for a processor, a lock or a page."""

NUMBERED = r"#[0-9]+$"
"""Number behind the name of a thread of which there are several alike (`GC Thread#3`)."""

HALF = 0.5
"""Minimum part of the largest of its program that a process uses to be called one like it."""

MANY = 3
"""Minimum number of processes of one program that are told together."""

TOP = 3
"""Number of processes of a listing that are told, the largest first."""

TOTALS = ("MemTotal", "Total")
"""Figures that tell the memory of a host."""

HOLDERS = {
    "SUnreclaim": 0.1, "PageTables": 0.05, "KernelStack": 0.02, "VmallocUsed": 0.1, "Percpu": 0.05, "Slab": 1.0, "AnonPages": 1.0,
    "Shmem": 1.0, "Cached": 1.0, "BuffCache": 1.0, "Anon": 1.0, "User/Anon": 1.0, "Kernel": 1.0, "ZFS": 1.0, "ZFS File Data": 1.0, "Page cache": 1.0,
    "Page Cache": 1.0, "Free": 1.0, "Free (freelist)": 1.0, "Free (cachelist)": 1.0, "Hugetlb": 1.0,
}  # fmt: skip
"""What holds memory, with the part from which it stands out: the kernel's own needs little, programs and caches may have
all of it and are only told."""

NO_UNIT = " (no unit is printed)"

PRINTED = {"BuffCache": "buff/cache"}
"""How tools print what /proc/meminfo has no name for."""

RECLAIMS = r"^\[?(?:kswapd\d+|arc_(?:reclaim|evict|prune)|lrud|pageout|pagedaemon|vmdaemon|vhand)\]?$"
"""Threads of the kernel that look for memory to free: Linux, ZFS, AIX, Solaris, BSD, HP-UX."""

RECLAIM_PCT, RECLAIM_FULL_PCT = 20.0, 80.0
"""Use of a processor by such threads together that is felt, and from which they hardly stop."""

KERNEL = r"^\[|^(kworker|ksoftirqd|migration|rcu_|watchdog|cpuhp|kdevtmpfs|idle_inject|irq/)"
"""Names of threads of the kernel, of which every host has hundreds."""

LISTERS = ("grep", "egrep", "fgrep", "ps", "awk", "sort", "head", "less", "more", "watch")
"""Programs that list and filter processes: they stand in their own listing."""

PAGE = [*PLACE_COLUMNS, "sample", "line_no", "t_local"]

STATES = (
    ("lat", "latency", "waited for a processor"),
    ("lck", "user locks", "waited for locks of the program"),
    ("dfl", "data faults", "waited for pages of data"),
    ("tfl", "text faults", "waited for pages of programs"),
)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the largest consumers, those that stand out first."""
    sources = (
        _processes,
        _states,
        _maps,
        _segments,
        _memory,
        unlisted,
        huge_pages,
        groups,
        no_swap,
        pieces,
        swap_devices,
        wired,
    )
    found = [sighting for source in sources for sighting in source(case)]
    return sorted(found, key=lambda s: (s.normal, -(s.share or 0.0)))


def _processes(case: CaseTables) -> Iterator[Sighting]:
    columns = [
        *PAGE,
        "pid",
        "ppid",
        "lwp",
        "comm",
        "args",
        "state",
        "ending",
        "cpu_pct",
        "cpu_all",
        "cpu_no",
        "rss_kb",
        "vsz_kb",
        "mem_pct",
        "nlwp",
    ]
    rows = case.scan("ps", columns).filter(pl.col("lwp").is_null())
    # A listing does not name all processors: there are at least as many as the highest number.
    fewest = pl.max_horizontal(pl.col("cpu_no").max().over("artifact_id") + 1, "ncpu")
    rows = rows.join(_processors(case), on="artifact_id", how="left").with_columns(
        pl.when("cpu_all").then(pl.when(fewest > 1).then(fewest)).alias("of_cpus")
    )
    named = rows.with_columns(
        pl.coalesce("comm", pl.col("args").str.extract(r"^\S*?([^/\s]+)(?:\s|$)"), pl.lit("a process"))
        .str.replace(NUMBERED, "")
        .alias("who")
    )
    yield from _largest(named, "cpu_pct", "of a processor", "%", BUSY_PCT, None)
    yield from _largest(
        named.join(_totals(case), on="artifact_id", how="left"), "rss_kb", "of memory", "kB", None, HOLDS
    )
    yield from _reclaiming(named)
    dead = (pl.col("ending") == "defunct").fill_null(value=False) | pl.col("state").fill_null("").str.starts_with("Z")
    yield from _counted(named.filter(dead), [], ZOMBIES, "zombies", "{n} processes have ended and are not waited for")
    alive = named.filter(~dead & ~pl.col("who").str.contains(KERNEL))
    yield from _counted(alive, ["who"], ALIKE, "processes", "{n} processes of {who} are listed")


def _reclaiming(rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield the threads of the kernel that look for memory to free, if they use much of a processor together."""
    found = (
        rows.filter(pl.col("who").str.contains(RECLAIMS) & pl.col("cpu_pct").is_between(0, 1e5))
        .group_by(*PLACE_COLUMNS, "who")
        .agg(pl.col("cpu_pct").median().alias("v"), pl.col("line_no").sort_by("cpu_pct").last())
        .sort("v", descending=True)
        .collect(engine="streaming")
    )
    for _, each in found.group_by("artifact_id", maintain_order=True):
        whole, first = float(each["v"].sum()), each.row(0, named=True)
        if whole < RECLAIM_PCT:
            continue
        named = ", ".join(f"{r['who']} {figure(r['v'], '%')}" for r in each.head(TOP).iter_rows(named=True))
        yield Sighting(
            "consumer",
            "threads that free memory",
            f"Threads of the kernel that look for memory to free took {figure(whole, '%')} of a processor: {named}",
            "reclaim_cpu_pct",
            whole,
            "%",
            tuple(
                Lines(r["artifact_id"], r["line_no"], r["line_no"], r["who"])
                for r in each.head(TOP).iter_rows(named=True)
            ),
            **place(first),
            against="threads that rest while memory is free",
            against_value=0.0,
            share=min(1.0, whole / 100.0),
            n=each.height,
            seen=(
                {"event": "reclaim-threads-fill-processor" if whole >= RECLAIM_FULL_PCT else "reclaim-threads-work"},
            ),
        )


def _processors(case: CaseTables) -> pl.LazyFrame:
    """Return how many processors the host of each artifact has, where a listing of the machine says so."""
    known = case.scan("hosts", ["host", "ncpu"]).filter(pl.col("ncpu") > 0).group_by("host").agg(pl.col("ncpu").max())
    return case.scan("ps", ["artifact_id", "host"]).unique().join(known, on="host").select("artifact_id", "ncpu")


def _totals(case: CaseTables) -> pl.LazyFrame:
    """Return the memory of the machine of each artifact that prints it, in kB."""
    whole = (pl.col("name") == "MemTotal") & (pl.col("value") > 0) & (pl.col("unit").fill_null("kb") == "kb")
    rows = case.scan("meminfo", ["artifact_id", "name", "value", "unit"]).filter(whole)
    return rows.group_by("artifact_id").agg(pl.col("value").max().alias("machine_kb"))


def _largest(
    rows: pl.LazyFrame, column: str, of: str, unit: str, least: float | None, part: float | None
) -> Iterator[Sighting]:
    """Yield the process with the largest median of each artifact; `share` is its part of the sum of all listed."""
    key = [*PLACE_COLUMNS, "pid", "who"]
    # A program of its own has pages; ps puts the names of those that have none in brackets.
    kernels = pl.col("who").str.contains(KERNEL) | ((pl.col("rss_kb") == 0) & (pl.col("vsz_kb") == 0))
    kernels = (kernels & ~pl.col("state").fill_null("").str.starts_with("Z")).fill_null(value=False).alias("kernels")
    value = pl.col(column)
    of_machine = 100.0 * pl.col("rss_kb") / pl.col("machine_kb") if part else pl.lit(None, pl.Float64)
    if unit != "%":  # the listing may be filtered, so the part of the listing program itself proves nothing
        lister = pl.col("who").is_in(LISTERS).fill_null(value=False) & (pl.col("mem_pct").fill_null(0.0) < 100 * HOLDS)
        rows = rows.filter(~kernels & ~lister)
    each = (
        rows.filter(value.is_not_null() & value.is_finite() & (value >= 0))
        .group_by(key)
        .agg(
            value.median().alias("v"),
            value.max().alias("worst"),
            pl.len().alias("n"),
            pl.coalesce("mem_pct", of_machine).median().alias("mem_pct"),
            pl.col("ppid").first(),
            pl.col("cpu_all").fill_null(value=False).any(),
            pl.col("of_cpus").max(),
            kernels.all(),
            pl.col("line_no").get(value.arg_max()),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .sort("artifact_id", "line_no", "pid", "who", nulls_last=True)  # of equal ones the same is told in every run
        .with_columns(pl.col("v").sum().over("artifact_id").alias("all"), pl.len().over("artifact_id").alias("listed"))
        .with_columns((pl.col("v") >= HALF * pl.col("v").max().over("artifact_id", "who")).alias("as_much"))
        .with_columns(
            pl.col("as_much").sum().over("artifact_id", "who").alias("alike"),
            pl.col("v").filter("as_much").sum().over("artifact_id", "who").alias("together"),
            pl.col("ppid")
            .filter("as_much")
            .drop_nulls()
            .unique()
            .implode()
            .over("artifact_id", "who")
            .alias("parents"),
        )
        .filter(pl.col("v").rank("ordinal", descending=True).over("artifact_id") <= TOP)
        .sort("artifact_id", "v", "line_no", descending=[False, True, False])
        .collect(engine="streaming")
    )
    seen: set[int] = set()
    many: set[tuple[int, str]] = set()
    for row in each.iter_rows(named=True):
        if row["v"] <= 0 or (row["artifact_id"], row["who"]) in many:
            continue
        if row["alike"] >= MANY:
            many.add((row["artifact_id"], row["who"]))
        own_share = row["v"] / row["all"]
        share = row["together"] / row["all"] if row["alike"] >= MANY and unit == "%" else own_share
        first = row["artifact_id"] not in seen
        seen.add(row["artifact_id"])
        of_host = (row["mem_pct"] or 0.0) / 100.0
        stands = (
            row["v"] * (row["of_cpus"] or 1) >= least
            if least is not None
            else max(own_share, of_host) >= (part or 1.0) and row["listed"] > 1
        )
        # Whether it holds much of the machine, or more and more, one listing without that figure does not tell.
        much = part is None or of_host >= part
        if part is not None and row["mem_pct"] is not None:
            stands = stands and of_host >= OF_MACHINE
        if not stands and not first:
            continue
        who = process_words(row["who"], row["pid"])
        took = "took" if unit == "%" else "holds"
        worst = f", {figure(row['worst'], unit)} at most in {row['n']} samples" if row["n"] > 1 else ""
        whole = f", {figure(100 * own_share, '%')} of what the {row['listed']:,} listed {took.replace('holds', 'hold')}"
        process: Seen = {"process": str(row["who"])}
        whose, one = (of, None) if unit != "%" or not row["cpu_all"] else ("of all processors", row["of_cpus"])
        if one:
            worst += f", at least {figure(row['v'] * one, '%')} of one (there are {one} processors or more)"
        # What a process works at is known by its time on processors; its memory says nothing about that.
        works = unit == "%" or not any(known.mechanism for known in recognise(**process))
        own: tuple[Seen, ...] = (process,) if works else ()
        counter: Seen = {**process, "counter": f"ps.{column}"} if works else {"counter": f"ps.{column}"}
        named: tuple[Seen, ...] = (counter, *own) if much else own
        yield Sighting(
            "consumer",
            who,
            f"{who} {took} {figure(row['v'], unit)} {whose}{worst}{whole if row['listed'] > 1 else ''}",
            column,
            row["v"],
            unit,
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], row["who"]),),
            **place(row),
            t_from=row["t_from"],
            t_to=row["t_to"],
            against="all that are listed",
            against_value=row["all"],
            share=min(1.0, share) if unit == "%" else min(1.0, max(own_share / 2, of_host)),
            n=row["n"],
            seen=(*named, *_busy(row)) if unit == "%" and stands else named,
            normal=not stands,
            beside=_alike(row, took, unit) if row["alike"] >= MANY else None,
        )


def _busy(row: Mapping[str, Any]) -> Iterator[Seen]:
    """Yield the event for a busy kernel thread, or for a process that fills a processor and is otherwise unknown."""
    process: Seen = {"process": str(row["who"])}
    if row["kernels"]:
        yield {"event": "kernel-thread-busy"}
    elif row["v"] * (row["of_cpus"] or 1) >= FILLS_PCT and all(s.strength == "remark" for s in recognise(**process)):
        yield {**process, "event": "process-fills-processor"}


def _alike(row: Mapping[str, Any], took: str, unit: str) -> str:
    """Return a sentence on several processes of one program that use about the same amount."""
    children = f", all children of process {row['parents'][0]}" if len(row["parents"]) == 1 else ""
    return f"{row['alike']:,} processes of {row['who']} {took.replace('holds', 'hold')} {figure(row['together'], unit)} together{children}"


def _counted(rows: pl.LazyFrame, by: list[str], least: int, subject: str, says: str) -> Iterator[Sighting]:
    """Yield the largest number of processes of one kind in any sample, if it is at least `least`."""
    keys = [*PLACE_COLUMNS, *by]
    found = (
        rows.group_by(*keys, "sample")
        .agg(
            pl.len().alias("n"), pl.col("line_no").min(), pl.col("line_no").max().alias("last"), pl.col("t_local").min()
        )
        .filter(pl.col("n") >= least)
        .sort("n", descending=True)
        .unique(keys, keep="first", maintain_order=True)
        .collect(engine="streaming")
    )
    for row in found.head(TOP).iter_rows(named=True):
        artifact, who = row["artifact_id"], str(row["who"]) if by else subject
        yield Sighting(
            "count",
            who,
            says.format(n=f"{row['n']:,}", who=who),
            "processes_count",
            float(row["n"]),
            "count",
            (
                Lines(artifact, row["line_no"], row["line_no"], "first"),
                Lines(artifact, row["last"], row["last"], "last"),
            ),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="the usual number",
            against_value=float(least),
            n=row["n"],
            seen=({"process": who} if by else {"process": "<defunct>"},),
        )


def _states(case: CaseTables) -> Iterator[Sighting]:
    """Yield threads that spend their time waiting for a processor, a lock or a page."""
    rows = sampled(case, "microstates", ["usr", "sys", *(name for name, _, _ in STATES)], ["pid", "lwp", "comm"])
    # Of a process that is listed by its threads, the median of all of them tells nothing of the one that waited.
    whole = pl.col("lwp").is_null().all().over("artifact_id", "pid")
    ran = pl.when(whole).then(pl.col("usr") + pl.col("sys").fill_null(0.0))
    named = rows.with_columns(process_named().alias("who"), ran.alias("ran"))
    for column, subject, did in STATES:
        m = Measure(
            f"{column}_pct",
            pl.col(column),
            "%",
            WAITS_PCT,
            f"{{who}} {did} {{value}} of its time ({{worst}} at worst)",
            subject,
            100.0,
            kind="consumer",
            seen=({"counter": f"microstate.{column}"},),
            beside=(Beside("ran", "%", "it ran {value}"),),
        )
        found = list(sightings(named, [m], ["who"]))
        # Threads that wait for the same thing are one observation: the longest of them is told, with how many there are.
        many = sum(not one.normal for one in found) >= MANY
        for one in found:
            who = one.subject.removesuffix(f" {subject}")
            short = f"{who} {figure(one.value, '%')}"
            yield replace(one, joins=column, short=short) if many and not one.normal else one


def _memory(case: CaseTables) -> Iterator[Sighting]:
    """Yield the uses of a host's memory, from /proc/meminfo and similar listings."""
    columns = [*PLACE_COLUMNS, "part", "sample", "line_no", "t_local", "name", "value"]
    # What is counted in pages is never told as kB, nor what a tool such as free prints without a unit.
    unit = pl.col("unit").fill_null("").replace("kb", "kB")
    rows = case.scan("meminfo", [*columns, "unit"], pl.col("value") >= 0).with_columns(unit)
    key = ["artifact_id", "part", "sample", "unit"]
    whole = rows.filter(pl.col("name").is_in(TOTALS)).group_by(key).agg(pl.col("value").max().alias("all"))
    held = (
        rows.filter(pl.col("name").is_in(list(HOLDERS)))
        .join(whole, on=key, nulls_equal=True)
        .filter((pl.col("value") <= pl.col("all")) & (pl.col("value") > 0))
        .sort("value", descending=True)
        .unique(["artifact_id", "name"], keep="first", maintain_order=True)
        .collect(engine="streaming")
    )
    for row in held.iter_rows(named=True):
        share = row["value"] / row["all"]
        least = HOLDERS[row["name"]]
        beside, also = mapped_by(row, rows) if row["name"] == "PageTables" else (None, ())
        who = PRINTED.get(row["name"], row["name"])
        holds = "is" if row["name"].startswith("Free") else "holds"
        yield Sighting(
            "consumer",
            who,
            f"{who} {holds} {figure(row['value'], row['unit'])}{NO_UNIT if not row['unit'] else ''}, {figure(100 * share, '%')} of the memory",
            row["name"],
            row["value"],
            row["unit"],
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], row["name"]), *also),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="the memory of the host",
            against_value=row["all"],
            beside=beside,
            # A kernel that holds ten times what it usually does holds what programs would need.
            share=min(1.0, share / least / 2) if least < 1 else share,
            seen=({"counter": row["name"]},) if share >= least else (),
            normal=share < least,
        )


def _maps(case: CaseTables) -> Iterator[Sighting]:
    """Yield the largest mapping of an address space."""
    rows = case.scan("pmap", [*PLACE_COLUMNS, "line_no", "pid", "kbytes", "rss_kb", "pgsz_kb", "mapping", "region"])
    whole = pl.col("kbytes").cast(pl.Float64).sum().over("artifact_id", "pid").alias("all")
    found = (
        rows.filter(pl.col("kbytes").is_between(1, 1e15)).with_columns(whole).collect(engine="streaming")
        .sort("kbytes", descending=True).unique(["artifact_id", "pid"], keep="first", maintain_order=True).head(TOP)
    )  # fmt: skip
    for row in found.iter_rows(named=True):
        what = row["mapping"] or row["region"] or "a mapping"
        pages = f" in pages of {figure(row['pgsz_kb'], 'kB')}" if row["pgsz_kb"] else ""
        yield _largest_of(row, what, f"{what} takes {figure(row['kbytes'], 'kB')}{pages}", "kbytes", "kB")


def _segments(case: CaseTables) -> Iterator[Sighting]:
    """Yield the largest shared memory segment of a listing."""
    rows = case.scan("ipcs_shm", [*PLACE_COLUMNS, "line_no", "shmid", "bytes", "nattch", "owner"])
    listed = pl.len().over("artifact_id").alias("listed")
    found = (
        rows.filter(pl.col("bytes").is_between(1, 2**53))
        .with_columns(listed, pl.col("bytes").sum().over("artifact_id").alias("all"))
        .collect(engine="streaming")
        .sort("bytes", descending=True).unique("artifact_id", keep="first", maintain_order=True)
    )  # fmt: skip
    for row in found.iter_rows(named=True):
        held = f", {row['nattch']:,} attachments hold it" if row["nattch"] is not None else ""
        text = (
            f"The largest of {row['listed']:,} shared memory segments, {row['shmid']}, has {row['bytes']:,} bytes{held}"
        )
        yield _largest_of(row, str(row["shmid"]), text, "bytes", "bytes")


def _largest_of(row: Mapping[str, Any], subject: str, text: str, name: str, unit: str) -> Sighting:
    return Sighting(
        "consumer",
        subject,
        text,
        name,
        float(row[name]),
        unit,
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], subject),),
        **place(row),
        against="all that are listed",
        against_value=float(row["all"]),
        share=float(row[name]) / float(row["all"]),
        normal=True,
    )
