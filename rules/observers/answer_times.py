"""How long things of storage take to answer, and how full or busy they are, in listings of any tool.

Arrays, volume managers, file systems, databases and clouds list this under names of their own: `latency`, `svct`, `us/op (read)`, `vdisk_ms`,
`avg_read_stall_ms`, `AVG TIME(ms) READ`, `Avg-latency`, `RTT`. A figure counts if its name or cell says that it is a time with a unit, and
if the name, its title or the name of its thing says that it is about storage. Standing out: `SLOW_MS` or more on average. A part of
a capacity that is used up (a tablespace, a limit of a cloud's disk, the memory a service may have), a processor of an array
that is always busy, an account of credits that is empty stand out too. Maxima, totals and settings are no answers. Normal: less.
Worked example: `mdisk_ms 79 118`: "mdisk_ms is 79.0 ms".
Cost: at most `MOST_ROWS` rows of each table. Source: NetApp, qos statistics volume latency show; IBM Spectrum Virtualize, lssystemstats; HPE 3PAR
CLI reference, statport; Pure Storage, purevol monitor; vxstat(1M); Gluster, volume profile; Microsoft Learn, sys.dm_io_virtual_file_stats and
Disk metrics (Consumed Percentage); nfsstat(8), mountstats(8); Amazon EBS, BurstBalance; Amazon EC2, CPUCreditBalance; SAP HANA,
M_SERVICE_MEMORY; Oracle Database Reference, DBA_TABLESPACE_USAGE_METRICS. 20 ms: bound of devices as of `saturation`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.observers.tool_tables import LISTINGS
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "answer-times",
    "How long does storage take to answer, and what of it is used up?",
    ("rows", "params", "counters"),
    {"*": "the same listing once more, 60 s later, and iostat -x (sar -d) on the host of the same minute"},
)

MOST_ROWS = 20_000

SLOW_MS, LATEST_MS = 20.0, 600_000.0
"""Bound of an answer, and the time from which a figure is no mean of answers but a sum."""

FULL_PCT, BUSY_PCT = 98.0, 95.0
"""Percentages from which a store is full, and from which a processor is always busy."""

TOLD = 3
"""Number of figures of a kind that are told of each listing, the largest first."""

TIME = re.compile(
    r"(?i)(?:^|[^a-z])(?:latency|lat|resp(?:onse)?(?:[ _]?time)?|svc?[_ ]?t(?:ime)?|service[ _]time|await|rtt|stall"
    r"|avg[ _-]?(?:time|serv)|(?:read|write)[ _]time|"
    r"(?:[vm]?disk|drive)(?:_[rw])?_ms|execute time)(?:[^a-z]|$)|(?:us|ms)/op\b"
)
"""Names of a time in which something answers."""

NOT_MEAN = re.compile(
    r"(?i)(?:^|[^a-z])(?:max|maximum|peak|min|minimum|total|sum|limit|threshold|timeout|interval|expected|qos|slo|target|99|p9\d|io_stall_(?:read|write)_ms|"
    r"io_stall)(?:[^a-z]|$)"
)
"""Names of a time that is no mean, or that somebody set. `total execute time` of mountstats is a mean by its name alone."""

STORAGE = re.compile(
    r"(?i)(?:^|[^a-z])(?:vol(?:ume)?s?\d*|lun\d*s?|[vm]?disks?|drives?|array|aggr(?:egate)?\d*|datastore|brick|fsync|fop|osd|r/w i/o|b/s"
    r"|io_stall\w*|num_of_reads|nvram|mounted|storage)(?:[^a-z]|$)"
)
"""Words by which a listing is about storage."""

OF_OTHERS = re.compile(
    r"(?i)(?:^|[^a-z])(?:quer(?:y|ies)|statements?|sql|digest|urls?|endpoint|uri|method|rpc|hop|calls_per_sec|table)(?:[^a-z]|$)"
)
"""Words by which the times of a listing are those of statements or requests, which do more than to read."""

STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\S*|[0-9]{1,2}:[0-9]{2}\S*")

FACTORS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "usec": 1e-3, "ms": 1.0, "msec": 1.0, "s": 1e3, "sec": 1e3}
UNIT = re.compile(r"(?:[^a-zA-Z]|_|^)(ns|us|µs|usec|ms|msec)(?:[^a-zA-Z]|$)|\((s|sec)(?:onds)?\)")
NAMED_UNIT = {"milliseconds": 1.0, "microseconds": 1e-3}
CELL = re.compile(
    r"([0-9]{1,12}(?:,[0-9]{3})*(?:\.[0-9]{1,9})?) ?(ns|us|µs|usec|ms|msec|s|sec|milliseconds|microseconds)?"
)

NAME, LETTERS = re.compile(r"[A-Za-z]"), re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kmg]?)")
POWERS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}

PERCENT = re.compile(r"(?i)%|pct|percent|(?:^|_)pc$")
KNOWN_WHOLES: tuple[tuple[str, str, str, float], ...] = (
    (r"tablespace", r"used|usage|full", "tablespace-full-pct", FULL_PCT),
    (r"allocation_?limit", r"used", "memory-of-service-full", FULL_PCT),
    (r"iops consumed|bandwidth consumed|iops utili[sz]ation", r"", "io-allowance-used", FULL_PCT),
    (r"disk[._]?percent|disk\.used", r"percent|pct", "store-full", BUSY_PCT),
    (r"\bSP [A-D]\b|\bcpu_pc\b|storage processor", r"cpu", "array-cpu-busy", BUSY_PCT),
    (r"write[ _]?cache", r"dirty", "array-cache-dirty", BUSY_PCT),
)
"""Pattern of the names of a listing, pattern of the name of the percentage, event, and bound."""

BUSY_DISK = re.compile(r"(?:9[5-9]|100)%")
CREDITS = re.compile(r"BurstBalance|CPUCreditBalance|EBS(?:IO|Byte)Balance%|BurstCreditBalance")
EMPTY = 0.5
"""Accounts of credits of Amazon's disks and machines, and the balance below which they are empty."""

LOST = re.compile(r"crc err|crc g_eof|disc c3|c3timeout tx")
MANY_LOST = 100.0
"""Columns of porterrshow that count frames which were damaged or thrown away, and the number of them that tells something since a reset."""

MEAN_OF_MOUNT = re.compile(r"(?i)total execute time|backlog wait|\bRTT\b")


@dataclass(frozen=True)
class Told:
    """A figure that stands out: its name and thing, its value, its line, and the row that it comes from."""

    name: str
    thing: str
    value: float
    row: dict[str, Any]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what answers late, then what is used up, the largest first."""
    found: list[Sighting] = []
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    rows = (
        case.scan("rows", columns, (pl.col("heading").list.len() > 1) & pl.col("cells").is_not_null())
        .head(MOST_ROWS)
        .collect(engine="streaming")
    )
    for _, table in groupby(
        rows.sort("artifact_id", "part", "line_no").to_dicts(), lambda r: (r["artifact_id"], r["part"], r["heading"])
    ):
        found += _of_table(list(table))
    for _, part in _values(case).group_by("artifact_id", "part", maintain_order=True):
        found += _of_values(part.to_dicts())
    found += _credits(case, rows)
    yield from sorted(found, key=lambda s: (-(s.share or 0.0), s.lines[0].line_from))


def _credits(case: CaseTables, rows: pl.DataFrame) -> Iterator[Sighting]:
    """Yield accounts of credits of a cloud (data points below their Label) that are empty at the end."""
    for label in _values(case).filter(pl.col("name") == "Label").to_dicts():
        found = CREDITS.fullmatch(str(label["value"]).strip())
        points = [
            r
            for r in rows.filter(pl.col("part") == label["part"]).to_dicts()
            if found and r["artifact_id"] == label["artifact_id"]
        ]
        left = [(float(m[1]), r) for r in points for n, c in zip(r["heading"], r["cells"], strict=False)
                if n in ("Average", "Minimum") and (m := LETTERS.fullmatch(str(c or "")))]  # fmt: skip
        if left and left[-1][0] <= EMPTY:
            event = "cpu-credits-empty" if label["value"].startswith("CPU") else "io-credits-empty"
            told = Told(str(label["value"]), "", left[-1][0], left[-1][1])
            yield _made(told, "limit", "credits", "", EMPTY, {"event": event}, len(left))


def _values(case: CaseTables) -> pl.DataFrame:
    """Return names and values of the general reader, in the order of their lines."""
    made = []
    for table, scope, title in (("params", "scope", "entity"), ("counters", "grp", "item")):
        columns = [*PLACE_COLUMNS, "part", "line_no", title, "name", "value"]
        rows = case.scan(table, columns, pl.col(scope) == "text").head(MOST_ROWS).collect(engine="streaming")
        made.append(rows.rename({title: "title"}).with_columns(pl.col("value").cast(pl.String)))
    return pl.concat(made, how="diagonal").sort("artifact_id", "part", "line_no")


def milliseconds(name: str, cell: str) -> float | None:
    """Return a cell in ms, by the unit in the cell or else in the name of its column; None without either.

    >>> milliseconds("Latency", "91.22ms"), milliseconds("us/op (read)", "41223"), milliseconds("Latency", "12")
    (91.22, 41.223, None)
    >>> milliseconds("RTT", "9,122.5 (milliseconds)"), milliseconds("latency", "high")
    (9122.5, None)
    """
    found = CELL.fullmatch(cell.strip().replace("(", "").replace(")", ""))
    if found is None:
        return None
    value = float(found[1].replace(",", ""))
    if found[2]:
        return value * (FACTORS.get(found[2]) or NAMED_UNIT[found[2]])
    unit = UNIT.search(name)
    return value * FACTORS[unit[1] or unit[2]] if unit else None


def _of_table(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    heading = [str(name or "") for name in rows[0]["heading"]]
    words = {word for name in heading for word in name.replace("|", " ").split()}
    if any(set(listing.words) <= words for listing in LISTINGS):
        return  # the manual of a known tool says more than its names do
    about = " ".join(heading)
    late: list[Told] = []
    used: dict[str, list[Told]] = {}
    for row in rows:
        cells = [str(cell or "").strip() for cell in row["cells"]]
        if len(cells) != len(heading):
            continue
        thing = next(
            (cell for cell in cells if NAME.search(cell) and not CELL.fullmatch(cell) and not STAMP.match(cell)), ""
        )
        of_table = (STORAGE.search(about) or STORAGE.search(thing)) and not OF_OTHERS.search(about)
        for name, cell in zip(heading, cells, strict=True):
            late += _late(name, thing, cell, row) if of_table else ()
            if NOT_MEAN.search(name):
                continue
            for event, one in _used(
                about + " " + thing, name if PERCENT.search(name) or "%" in cell else thing, thing, cell, row
            ):
                used.setdefault(event, []).append(one)
        late += _late(thing, thing, cells[1], row) if of_table and len(cells) > 1 and cells[0] == thing else ()
    yield from _told_late(late)
    yield from _told_used(used)
    if "c3timeout tx" in heading:
        yield from _lost(heading, rows)
    if any(name.startswith("CP ") for name in heading):
        yield from _back_to_back(rows)


def _back_to_back(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield how often consistency points of ONTAP came back to back (B, b) while a disk was always busy."""
    held = []
    for row in rows:
        cells = [str(cell or "") for cell in row["cells"]]
        if any(kind in ("B", "b") and BUSY_DISK.fullmatch(util) for kind, util in pairwise(cells)):
            held.append(Told("CP ty B", "disk util", 100.0, row))
    if 2 * len(held) >= len(rows):
        made = _made(
            held[0], "wait", "disk_busy_pct", "%", BUSY_PCT, {"event": "consistency-points-back-to-back"}, len(held)
        )
        words = f"{len(held):,} of {len(rows):,} samples have consistency points back to back (CP ty B) and a disk that is always busy"
        yield replace(made, headline=words)


def _lost(heading: list[str], rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the ports of a Fibre Channel switch that lost or spoilt most frames."""
    held: list[Told] = []
    for row in rows:
        cells = [str(cell or "") for cell in row["cells"]]
        for name, cell in zip(heading, cells, strict=False):
            found = LETTERS.fullmatch(cell) if LOST.fullmatch(name) else None
            if found and (count := float(found[1]) * POWERS[found[2]]) >= MANY_LOST:
                held.append(Told(name, f"port {cells[0].rstrip(':')}", count, row))
    for one in sorted(held, key=lambda t: -t.value)[:TOLD]:
        yield _made(one, "counter", "frames_count", "count", 0.0, {"event": "fc-frames-lost"}, len(held))


def _of_values(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    late: list[Told] = []
    used: dict[str, list[Told]] = {}
    for row in rows:
        name, title, cell = str(row["name"]), str(row["title"] or ""), str(row["value"] or "")
        if STORAGE.search(f"{title} {name}"):
            late += _late(name, title, cell, row)
        for event, one in _used(f"{title} {name}", name, title, cell, row):
            used.setdefault(event, []).append(one)
    yield from _told_late(late)
    yield from _told_used(used)


def _late(name: str, thing: str, cell: str, row: dict[str, Any]) -> Iterator[Told]:
    if not TIME.search(name) or (NOT_MEAN.search(name) and not MEAN_OF_MOUNT.search(name)):
        return
    value = milliseconds(name, cell)
    if value is not None and SLOW_MS <= value < LATEST_MS:
        yield Told(name, thing if thing != name else "", value, row)


def _used(about: str, name: str, thing: str, cell: str, row: dict[str, Any]) -> Iterator[tuple[str, Told]]:
    found = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%?", cell.strip())
    if found is None or not (PERCENT.search(name) or "%" in cell):
        return
    value = float(found[1])
    for listing, column, event, bound in KNOWN_WHOLES:
        if (
            bound <= value <= 100
            and re.search(listing, about, re.IGNORECASE)
            and re.search(column, name, re.IGNORECASE)
        ):
            yield event, Told(name, thing if thing != name else "", value, row)
            return


def _told_late(late: list[Told]) -> Iterator[Sighting]:
    for one in sorted(late, key=lambda t: -t.value)[:TOLD]:
        yield _made(one, "wait", "response_ms", "ms", SLOW_MS, {"event": "storage-answers-late"}, len(late))


def _told_used(used: dict[str, list[Told]]) -> Iterator[Sighting]:
    for event, held in used.items():
        for one in sorted(held, key=lambda t: -t.value)[:TOLD]:
            yield _made(one, "limit", "used_pct", "%", 100.0, {"event": event}, len(held))


def _made(one: Told, kind: str, name: str, unit: str, bound: float, seen: Seen, n: int) -> Sighting:
    of = f" of {one.thing}" if one.thing else ""
    return Sighting(
        kind,
        one.thing or one.name,
        f"{one.name}{of} is {figure(one.value, unit)}",
        name,
        one.value,
        unit,
        (Lines(one.row["artifact_id"], one.row["line_no"], one.row["line_no"], one.name),),
        **place(one.row),
        against="its bound",
        against_value=bound,
        share=0.7,
        n=n,
        seen=(seen,),
    )
