"""How times and sizes are spread: where most values lie, and how many lie far beyond them.

Standing out: values ten times beyond the bucket of the middle one that hold half of the sum, or that a person feels (0.1 s);
reads and writes of block devices of which half take 16 ms and more, waits for a processor of which half take 1 ms and more, and both
if a fifth take ten times as long.
Normal: all other distributions; they are told as a measure, so that a histogram is never silent.
Worked example: biolatency with 934 of 1,204 values at 128 to 255 us and 12 at 512 to 1,023 ms: "12 of 1,204 values lie ten
times beyond the middle one, 128 to 255 us, the slowest at 512 to 1,023 ms; they make 91 % of the sum".
Cost: one pass over the buckets. Source: Gregg, Systems Performance 2.8 (latency outliers and modes); the sum takes the
middle of each bucket, as `hist_modes`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.derived.hist_modes import UNITS
from rules.observers.frames import names_of
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "distributions",
    "Which values lie far beyond the others?",
    ("hist",),
    {
        "linux": "iostat -x 1 30; biolatency -D 10 3",
        "solaris": "iostat -xnz 5 6; prstat -mL 5 6",
        "*": "the same distribution while nobody complains",
    },
    wordless=True,
)

TIMES = 10.0
"""Minimum ratio of a bucket to that of the middle value to be called far beyond it."""

ROUNDING_S = 1e-9
"""What an edge in seconds may be off by its conversion."""

LATE: Mapping[str, tuple[float, str, str]] = {
    "block device I/O": (0.016, "reads and writes took", "block-io-slow"),
    "run queue latency": (0.001, "waits of a ready thread for a processor took", "ready-threads-wait"),
    "CPU scheduler": (0.001, "waits of a ready thread for a processor took", "ready-threads-wait"),
    **dict.fromkeys(
        ("hardirq-off", "irq-off", "irqs-off", "irqsoff", "hard IRQs off", "softirq-off", "preempt-off"),
        (0.01, "times with interrupts off lasted", "interrupts-off"),
    ),
}
"""What tools measure by what they say that they trace: the time in seconds from which the middle value stands out.

A turn of a disk with 7,200 turns a minute takes 8.3 ms; a thread that is alone on its processor waits for some microseconds; a
handler of an interrupt should take 100 us, and a tick of the kernel lasts 1 to 10 ms.
"""

DISK = re.compile(
    r"(?:/dev/(?:r?dsk/)?)?(?:s?sd\d+|[svx]d[a-z]{1,2}\d*|nvme\d+n\d+(?:p\d+)?|c\d+t\w+d\d+(?:s\d)?|hdisk\d+|a?da\d+|dm-\d+|blkdev\d+|cmdk\d+)"
)
"""Names of disks of Linux, Solaris, AIX and BSD, by which scripts key what they measure."""

NS_OF_DISK = 16e6
"""Minimum of the middle value of a disk's distribution without a unit that is a time in nanoseconds: no request has 16 MB."""

LONG = {"ready-threads-wait": "-long", "interrupts-off": "-long"}
"""What is put behind the event where a fifth of the values is that late."""

MANY_LATE = 0.2
"""Minimum part of the values that is far later than `LATE`: a usual value below it does not help those."""

OF_FUNCTION = re.compile(r'^\d+ functions? for "(?:[\w./-]+:)?(?P<name>[A-Za-z_]\w*)"')
"""What funclatency of bcc says that it times, where that is one function."""

HALF = 0.5
"""Minimum part of the sum that far values hold to stand out: they, not the usual ones, take the time."""

TOP = 10
"""Maximum number of distributions that are told per artifact."""

KEYS = [*PLACE_COLUMNS, "part", "agg", "key1", "key2", "unit"]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the distributions, those with the largest part of their sum in far values first."""
    columns = ["line_no", "t_local", "lo", "hi", "n"]
    rows = case.scan("hist", [*KEYS, *columns, "cumulative"], pl.col("n") > 0)
    single = ~pl.col("cumulative").fill_null(value=False) & pl.col("lo").is_finite()
    # The buckets of several ticks are one distribution; the line of a bucket is that of the tick with most values.
    buckets = (
        rows.filter(single)
        .group_by(*KEYS, "lo", "hi")
        .agg(
            pl.col("n").sum(),
            pl.col("line_no").get(pl.col("n").arg_max()),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .sort(*KEYS, "lo", nulls_last=True)
        .collect(engine="streaming")
    )
    found = [made for _, held in buckets.group_by(KEYS, maintain_order=True) if (made := _sighting(held))]
    return sorted(found, key=lambda s: (s.normal, -(s.share or 0.0), -s.n))[:TOP]


def _sighting(held: pl.DataFrame) -> Sighting | None:
    """Return the sighting of one distribution, its buckets in order; None if it has a single bucket."""
    total = float(held["n"].sum())
    if held.height < 2 or held["lo"][0] < 0:
        return None
    made = held.with_columns((pl.col("n") * (pl.col("lo") + pl.coalesce("hi", "lo")) / 2).alias("sum"))
    middle = made.filter(pl.col("n").cum_sum() * 2 >= total).row(0, named=True)
    most, last = made.row(int(made["n"].arg_max() or 0), named=True), made.row(-1, named=True)
    far = made.filter(pl.col("lo") >= TIMES * max(middle["hi"] or middle["lo"], 1.0))
    n_far, share = float(far["n"].sum()), float(far["sum"].sum()) / max(float(made["sum"].sum()), 1e-12)
    unit_s = UNITS.get(last["unit"] or "")
    felt = unit_s is not None and last["lo"] * unit_s >= FELT_S - ROUNDING_S
    stands = n_far > 0 and (share >= HALF or felt)
    who = " ".join(str(last[k]) for k in ("agg", "key1", "key2") if last[k] is not None)
    if stands:
        text = (
            f"{who}: {n_far:,.0f} of {total:,.0f} values lie ten times and more beyond the middle one, {_bucket(middle)},"
            f" the slowest at {_bucket(last)}; they make {figure(100 * share, '%')} of the sum"
        )
    else:
        text = f"{who}: {most['n']:,.0f} of {total:,.0f} values lie at {_bucket(most)}, the largest at {_bucket(last)}"
    least, took, event = next((v for k, v in LATE.items() if str(last["agg"]).startswith(k)), (math.inf, "", ""))
    if (
        unit_s is None
        and middle["lo"] >= NS_OF_DISK
        and any(DISK.fullmatch(str(last[k] or "")) for k in ("key1", "key2"))
    ):
        unit_s, (least, took, event) = UNITS["ns"], LATE["block device I/O"]
        made = made.with_columns(unit=pl.lit("ns"))
        middle, last = made.filter(pl.col("n").cum_sum() * 2 >= total).row(0, named=True), made.row(-1, named=True)
    slow = unit_s is not None and middle["lo"] * unit_s >= least
    tail = made.filter(pl.col("lo") * (unit_s or 0.0) >= TIMES * least - ROUNDING_S)
    if float(tail["n"].sum()) >= MANY_LATE * total:
        slow, event, middle = True, f"{event}{LONG.get(event, '')}", middle if slow else tail.row(0, named=True)
    if slow:
        late = made.filter(pl.col("lo") >= middle["lo"])
        n_far, share, stands = float(late["n"].sum()), float(late["sum"].sum()) / float(made["sum"].sum()), True
        text = f"{who}: {n_far:,.0f} of {total:,.0f} {took} {_bucket(middle)} and more, the slowest {_bucket(last)}"
    of = OF_FUNCTION.match(str(last["agg"])) if unit_s is not None else None
    if of and not stands and unit_s is not None and most["lo"] * unit_s >= FELT_S / 10:
        # Somebody chose this function, and the usual call of it takes as long as a disk does.
        late = made.filter(pl.col("lo") >= most["lo"])
        n_far, share, stands = float(late["n"].sum()), float(late["sum"].sum()) / float(made["sum"].sum()), True
    lines = {most["line_no"]: "most values", last["line_no"]: "largest values"}
    return Sighting(
        "distribution",
        who,
        text,
        "values_count",
        n_far if stands else float(most["n"]),
        "count",
        tuple(Lines(last["artifact_id"], line, line, role) for line, role in lines.items()),
        **place(last),
        t_from=min(made["t_from"].drop_nulls().to_list(), default=None),
        t_to=max(made["t_to"].drop_nulls().to_list(), default=None),
        against="all values",
        against_value=total,
        share=min(1.0, share) if stands else None,
        n=int(n_far if stands else total),
        seen=({"event": event},) if slow else names_of(of["name"]) if of and stands else (),
        normal=not stands,
    )


def _bucket(row: dict[str, Any]) -> str:
    """Return the edges of a bucket as they are printed."""
    unit = f" {row['unit']}" if row["unit"] not in (None, "unknown") else ""
    return (
        f"{row['lo']:,.12g} to {row['hi']:,.12g}{unit}"
        if row["hi"] is not None
        else f"{row['lo']:,.12g}{unit} and more"
    )
