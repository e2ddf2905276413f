"""Describe a selected range of time: calls, counters compared with the rest, findings, errors, lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from incidents.drawing import windows
from incidents.drawing.frames import Frame
from incidents.drawing.lane import Lane, Window
from incidents.drawing.lanes import sqlnet, syscalls
from incidents.drawing.registry import lanes
from incidents.drawing.shares import Share, shares
from rules import registry
from rules.engine.read import ReadOnly

Json = Mapping[str, Any]

#: Lanes whose rows are calls of threads.
CALLS = ("syscalls", "sqlnet")
MOST_EVENTS = 20
#: Maximum number of columns shown as different, and the minimum number of samples on each side for a judgement.
MOST_DIFFERENCES = 10
FEW = 8
#: Maximum number of samples compared; of a longer series every k-th sample is taken.
MOST_SAMPLES = 20_000
#: Maximum number of shares of calls shown, the p below which they count, and the number of calls up to which the test
#: is exact.
MOST_MIXES = 8
SURE = 0.05
MOST_EXACT = 20_000
#: Maximum number of pieces in the bar before the others are joined into one.
MOST_PIECES = 6
#: Event lanes whose rows are listed one by one.
TOLD = ("logs", "net_errors", "signals", "failed")
#: Lanes that show only some rows of a table.
PICKED = ("net_errors", "failed", "exchanges")


@dataclass(frozen=True)
class Difference:
    """A column whose values inside the range differ from the rest: medians, Cliff's delta, Holm-corrected p."""

    label: str
    unit: str
    inside: float
    rest: float
    n_inside: int
    n_rest: int
    delta: float
    p: float | None

    @property
    def few(self) -> bool:
        return min(self.n_inside, self.n_rest) < FEW

    @property
    def grey(self) -> bool:
        """Return whether the difference proves nothing: too few samples, or likely by chance."""
        return self.few or self.p is None or self.p >= SURE


@dataclass(frozen=True)
class Mix:
    """The share (%) of calls with one name, error or process, inside the range and in the rest."""

    label: str
    inside: float
    rest: float
    n_inside: int
    n_rest: int
    p: float


@dataclass(frozen=True)
class Told:
    """An event in the range, with its line."""

    at: float
    lane: str
    text: str
    artifact: int
    line: int


@dataclass(frozen=True)
class Lines:
    """The lines of one artifact's rows in the range."""

    artifact: int
    first: int
    last: int
    rows: int


@dataclass(frozen=True)
class Seconds:
    """Where the seconds of the range went, for the thread with most known time: pieces that add up to its length."""

    thread: str
    host: str | None
    total: float
    pieces: list[tuple[Share, str, bool]]


@dataclass(frozen=True)
class Range:
    """What is known of a range of one frame."""

    frame: Frame
    start: float
    end: float
    seconds: Seconds | None = None
    differences: list[Difference] = field(default_factory=list)
    compared: int = 0
    mixes: list[Mix] = field(default_factory=list)
    findings: list[Json] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    lines: list[Lines] = field(default_factory=list)
    rows: int = 0

    @property
    def length(self) -> float:
        return self.end - self.start


def look(frame: Frame, start: float, end: float, source: ReadOnly, report: Json, cache: Path | None) -> Range:
    """Gather what the selection panel shows; `start` and `end` lie on the frame's axis."""
    window = Window(start, end, 1)
    differences, compared = different(frame, window, source)
    lines = lines_in(frame, window, source, cache)
    return Range(
        frame,
        start,
        end,
        seconds=seconds_of(frame, window, source, cache),
        differences=differences,
        compared=compared,
        mixes=mixed(frame, window, source, cache),
        findings=findings_in(frame, start, end, report.get("findings", ())),
        told=told_in(frame, window, source, cache),
        lines=lines,
        rows=sum(one.rows for one in lines),
    )


def _chosen(name: str) -> windows.Choice:
    return windows.Choice(name, lanes()[name][0])


def _inside(window: Window) -> str:
    return f"greatest(least(t1, {window.end!r}) - greatest(t0, {window.start!r}), 0)"


_CALLS = {
    "syscalls": """
      select host, pid::varchar as process, lwp, artifact_id, top.name as name, top.target as target, top.line_from as line_from,
             top.line_to as line, top.dur_kind = 'gap' as at_most,
             coalesce(top.contiguous, 'broken') = 'broken' as missing, total_s, {inside} as s from e""",
    # The gap before a record was spent in the function of the previous record.
    "sqlnet": """
      select e.host, coalesce(e.side, 'trace') as process, e.thread as lwp, e.artifact_id, coalesce(w.func, e.top.ended_by) as name,
             null::varchar as target, e.top.line_from as line_from, e.top.line_to as line, false as at_most,
             e.top.contiguous = 'broken' as missing, e.total_s, {inside} as s
      from e left join sqlnet w on w.artifact_id = e.artifact_id and w.line_no = e.top.line_from""",
}
_SUMS = """
  select host, process, lwp, missing, name, sum(s) as seconds, bool_or(at_most) as at_most from r group by all"""


#: What the table of a selection groups calls by, and the columns that make a group. A band of durations is half a decade.
GROUPS = {
    "call": ("name", "target"),
    "target": ("target",),
    "thread": ("host", "process", "lwp"),
    "host": ("host",),
    "duration": ("band",),
}
#: Bands of durations, two a decade from LEAST_S up; the first holds all shorter calls, the last all longer ones.
BANDS, LEAST_S = 12, 1e-5
BAND = f"least(greatest(floor(2 * log10(greatest(total_s, 1e-9) / {LEAST_S!r})), 0), {BANDS - 1})::integer"
#: Number of rows on a page of the table.
A_PAGE = 20


def band_s(band: int) -> tuple[float, float]:
    """Return the durations (s) at which a band begins and ends; the first begins at 0, the last has no end.

    >>> [tuple(f"{s:.3g}" for s in band_s(n)) for n in (0, 1, 2, 11)]
    [('0', '3.16e-05'), ('3.16e-05', '0.0001'), ('0.0001', '0.000316'), ('3.16', 'inf')]
    """
    edges = [LEAST_S * 10 ** (n / 2) for n in range(BANDS + 1)]
    return (edges[band] if band else 0.0, edges[band + 1] if band < BANDS - 1 else math.inf)


@dataclass(frozen=True)
class Group:
    """Calls of one group in a range: `seconds` is the time inside the range, `worst_s` the longest in full."""

    keys: Mapping[str, Any]
    n: int
    seconds: float
    worst_s: float
    at_most: bool
    artifact: int
    line_from: int
    line: int
    share: float

    @property
    def mean_s(self) -> float:
        return self.seconds / self.n


@dataclass(frozen=True)
class Table:
    """One page of the calls in a range, by groups sorted by total, and what all of them are together."""

    by: str
    groups: list[Group]
    in_all: int
    calls: int
    threads: int
    seconds: float
    untraced_s: float
    at_most: bool


def table(
    frame: Frame,
    window: Window,
    source: ReadOnly,
    cache: Path | None,
    by: str = "call",
    bands: tuple[int, int] | None = None,
    page: int = 1,
) -> Table:
    """Group the calls of a range, sorted by their seconds inside it; `bands`: only durations from one band to another.

    Stretches that were not traced are not calls; only their sum is given.
    """
    parts = []
    for name in CALLS if not frame.ordered else ():
        if source.has(name):
            relation = windows.relation(_chosen(name), frame.laid, window, source, cache, single=True)
            parts.append(f"select r.* from (with e as ({relation}) {_CALLS[name].format(inside=_inside(window))}) r")
    if not parts:
        return Table(by, [], 0, 0, 0, 0.0, 0.0, False)
    within = f"band between {int(bands[0])} and {int(bands[1])}" if bands else "true"
    calls = f"select *, {BAND} as band from ({' union all by name '.join(parts)})"
    keys = ", ".join(GROUPS[by])
    first = (page - 1) * A_PAGE
    sums = source.query(
        f"select count(*) filter (where not missing) as n, count(distinct (host, process, lwp)) filter (where not missing) as threads,"
        f" coalesce(sum(s) filter (where not missing), 0) as seconds, coalesce(sum(s) filter (where missing), 0) as untraced_s,"
        f" coalesce(bool_or(at_most) filter (where not missing), false) as at_most from ({calls}) where missing or {within}"
    )[0]
    rows = source.query(
        f"select {keys}, count(*) as n, sum(s) as seconds, max(total_s) as worst_s, bool_or(at_most) as at_most,"
        f" arg_max(artifact_id, total_s) as artifact, arg_max(line_from, total_s) as line_from, arg_max(line, total_s) as line,"
        f" count(*) over () as in_all from ({calls}) where not missing and {within} group by {keys}"
        f" order by seconds desc, n desc, {keys} limit {A_PAGE} offset {int(first)}"
    )
    length = window.end - window.start
    groups = [
        Group(
            {key: row[key] for key in GROUPS[by]},
            row["n"],
            row["seconds"],
            row["worst_s"],
            row["at_most"],
            row["artifact"],
            row["line_from"],
            row["line"],
            100 * row["seconds"] / length,
        )
        for row in rows
    ]
    in_all = rows[0]["in_all"] if rows else 0
    return Table(by, groups, in_all, sums["n"], sums["threads"], sums["seconds"], sums["untraced_s"], sums["at_most"])


def seconds_of(frame: Frame, window: Window, source: ReadOnly, cache: Path | None) -> Seconds | None:
    """Return how the seconds of the range divide, for the thread with the most known time; None without calls."""
    rows: list[dict[str, Any]] = []
    for name in CALLS if not frame.ordered else ():
        if source.has(name):
            relation = windows.relation(_chosen(name), frame.laid, window, source, cache, single=True)
            rows += source.query(
                f"with e as ({relation}), r as ({_CALLS[name].format(inside=_inside(window))}) {_SUMS}"
            )
    return _bar(rows, window)


def _bar(rows: Sequence[Json], window: Window) -> Seconds | None:
    """Divide the range for the thread with the most known time; time without a call is marked as such."""
    threads: dict[tuple[Any, ...], list[Json]] = {}
    for row in rows:
        threads.setdefault((row["host"], row["process"], row["lwp"]), []).append(row)
    if not threads:
        return None
    (host, process, lwp), own = max(
        threads.items(), key=lambda item: (_known(item[1]), sum(row["seconds"] for row in item[1]))
    )
    waits = _waits()
    traced = sorted((row for row in own if not row["missing"] and row["seconds"] > 0), key=lambda row: -row["seconds"])
    pieces = [
        (
            row["name"] or "call",
            float(row["seconds"]),
            "wait" if row["name"] in waits else "traced",
            bool(row["at_most"]),
        )
        for row in traced[:MOST_PIECES]
    ]
    if rest := sum(row["seconds"] for row in traced[MOST_PIECES:]):
        pieces.append(("other calls", rest, "rest", any(row["at_most"] for row in traced[MOST_PIECES:])))
    if missing := sum(row["seconds"] for row in own if row["missing"]):
        pieces.append(("not traced", missing, "untraced", False))
    length = window.end - window.start
    if (left := length - sum(piece[1] for piece in pieces)) > length * 1e-6:
        pieces.append(("no call seen", left, "untraced", False))
    laid = shares([(piece[0], piece[1]) for piece in pieces])
    thread = "/".join(str(part) for part in (process, lwp) if part is not None) or "the process"
    return Seconds(
        thread, host, length, [(share, kind, bound) for share, (*_, kind, bound) in zip(laid, pieces, strict=True)]
    )


def _known(rows: Sequence[Json]) -> float:
    return float(sum(row["seconds"] for row in rows if not row["missing"]))


def _waits() -> frozenset[str]:
    return syscalls.WAITS | sqlnet.WAITS


def different(frame: Frame, window: Window, source: ReadOnly) -> tuple[list[Difference], int]:
    """Compare every counter inside the window with itself outside; return the ten largest differences and a count."""
    found: list[Difference] = []
    by_table: dict[str, list[tuple[str, Lane]]] = {}
    for name, (lane, _) in lanes().items():
        has_place = lane.order if frame.ordered else lane.timed
        if lane.kind == "counter" and has_place and not lane.stack and source.has(lane.table):
            by_table.setdefault(lane.table, []).append((name, lane))
    for offers in by_table.values():
        for name, lane in _with_values(frame, offers, source):
            found += _compared(name, lane, frame, window, source)
    ordered = sorted((one for one in found if one.delta), key=lambda one: (one.few, -abs(one.delta), one.p or 0))
    return ordered[:MOST_DIFFERENCES], len(found)


def _with_values(frame: Frame, offers: list[tuple[str, Lane]], source: ReadOnly) -> Iterable[tuple[str, Lane]]:
    """Leave out columns without any value."""
    columns = [name.partition(".")[2] for name, _ in offers if "." in name]
    if not columns:
        return offers
    counts = ", ".join(f"count(s.{column}) as c{n}" for n, column in enumerate(columns))
    row = source.query(f"select {counts} from {offers[0][1].table} s where {frame.laid.clocks()}")[0]
    filled = {column for n, column in enumerate(columns) if row[f"c{n}"]}
    return [offer for offer in offers if offer[0].partition(".")[2] in filled or "." not in offer[0]]


def _compared(name: str, lane: Lane, frame: Frame, window: Window, source: ReadOnly) -> list[Difference]:
    import numpy as np

    from rules.statistics import robust as statistics

    whole = Window(frame.t0 - 1e9, frame.t1 + 1e9, 1)
    relation = windows.relation(windows.Choice(name, lane), frame.laid, whole, source, None)
    keys = ", ".join(("host", *lane.keys))
    rows = source.query(
        f"""
        with r as (select {keys}, total_s / n as value, t1 > {window.start!r} and t1 - least(t1 - t0, {window.end - window.start!r}) / 2 <= {window.end!r}
                          as inside, row_number() over (partition by {keys} order by t1) as nth, count(*) over (partition by {keys}) as many from ({relation}))
        select {keys}, list(value) filter (where inside) as own, list(value) filter (where not inside) as rest
        from r where nth % (1 + many // {MOST_SAMPLES}) = 0 group by {keys} limit 400"""
    )
    found = []
    for row in rows:
        own, rest = np.array(row["own"] or [], dtype=float), np.array(row["rest"] or [], dtype=float)
        if not own.size or not rest.size:
            continue
        named = [str(row[key]) for key in lane.keys if row[key] is not None]
        label = " ".join(filter(None, [row["host"], *(named if lane.args else [name, *named])]))
        found.append(
            Difference(
                label,
                lane.unit,
                float(np.median(own)),
                float(np.median(rest)),
                int(own.size),
                int(rest.size),
                statistics.cliff(rest, own),
                statistics.u_test(rest, own) if min(own.size, rest.size) >= FEW else None,
            )
        )
    return found


def holm(differences: Sequence[Difference], compared: int) -> list[Difference]:
    """Correct the p values for the number of comparisons (Holm 1979): no corrected value falls below an earlier one.

    >>> rows = [Difference("a", "", 2, 1, 9, 9, 1.0, 0.01), Difference("b", "", 2, 1, 9, 9, 0.5, 0.04)]
    >>> [one.p for one in holm(rows, 2)]
    [0.02, 0.04]
    """
    by_p = sorted((one for one in differences if one.p is not None), key=lambda one: one.p or 0.0)
    corrected: dict[int, float] = {}
    worst = 0.0
    for place, one in enumerate(by_p):
        worst = max(worst, min(1.0, (one.p or 0.0) * (compared - place)))
        corrected[id(one)] = worst
    return [
        Difference(d.label, d.unit, d.inside, d.rest, d.n_inside, d.n_rest, d.delta, corrected.get(id(d))) for d in differences
    ]  # fmt: skip


def mixed(frame: Frame, window: Window, source: ReadOnly, cache: Path | None) -> list[Mix]:
    """Return the names, errors and processes of calls whose share differs from the rest, Holm-corrected."""
    if frame.ordered or not source.has("syscalls"):
        return []
    relation = windows.relation(_chosen("syscalls"), frame.laid, window, source, cache, single=True)
    sets = "grouping sets ((name), (err), (pid))"
    here = _counts(source, f"select top.name as name, top.err as err, pid from ({relation})", sets)
    everywhere = _counts(source, f"select name, err, pid from syscalls s where {frame.laid.clocks()}", sets)
    found: list[Mix] = []
    tested = 0
    for word in ("call", "error", "process"):
        inside, whole = here[word], everywhere[word]
        own, rest = sum(inside.values()), sum(whole.values()) - sum(inside.values())
        if min(own, rest) < FEW:
            continue
        for value, n in inside.items() | {(v, 0) for v in whole if v not in inside}:
            if value is None:
                continue
            others = max(whole.get(value, 0) - n, 0)
            tested += 1
            found.append(
                Mix(
                    f"{word} {value}",
                    100 * n / own,
                    100 * others / rest,
                    n,
                    others,
                    _p(n, own - n, others, rest - others),
                )
            )
    found.sort(key=lambda one: one.p)
    kept: list[Mix] = []
    for place, one in enumerate(found):
        p = min(1.0, one.p * (tested - place))
        if p >= SURE:
            break
        kept.append(replace(one, p=p))
    return sorted(kept, key=lambda one: (-abs(one.inside - one.rest), -one.inside))[:MOST_MIXES]


def _counts(source: ReadOnly, rows: str, sets: str) -> dict[str, dict[str | None, int]]:
    """Count the calls of each name, error and process in one pass."""
    found: dict[str, dict[str | None, int]] = {"call": {}, "error": {}, "process": {}}
    counted = f"select name, err, pid, grouping(name) as no_name, grouping(err) as no_err, count(*) as n from ({rows})"
    for row in source.query(f"{counted} group by {sets}"):
        if not row["no_name"]:
            word, value = "call", row["name"]
        else:
            word, value = ("process", row["pid"]) if row["no_err"] else ("error", row["err"])
        found[word][None if value is None else str(value)] = row["n"]
    return found


def _p(a: int, b: int, c: int, d: int) -> float:
    """Return the two-sided p for equal shares: Fisher's exact test, or its normal limit for many calls."""
    from scipy import stats  # takes most of a second to import, so only where it is needed

    if a + b + c + d <= MOST_EXACT:
        return float(stats.fisher_exact([[a, b], [c, d]]).pvalue)
    share = (a + c) / (a + b + c + d)
    spread = math.sqrt(share * (1 - share) * (1 / (a + b) + 1 / (c + d)))
    return float(2 * stats.norm.sf(abs(a / (a + b) - c / (c + d)) / spread)) if spread else 1.0


def findings_in(frame: Frame, start: float, end: float, findings: Iterable[Json]) -> list[Json]:
    """Return the findings whose seconds touch the range, on a clock of this frame."""
    found = []
    for finding in findings:
        add = frame.add(finding.get("clock"))
        if frame.ordered or add is None or finding.get("t_from") is None or finding.get("t_to") is None:
            continue
        if finding["t_from"] + add <= end and finding["t_to"] + add >= start:
            found.append(finding)
    return found


def told_in(frame: Frame, window: Window, source: ReadOnly, cache: Path | None) -> list[Told]:
    """Return the first errors, signals and log lines in the range."""
    found: list[Told] = []
    for name in TOLD if not frame.ordered else ():
        lane = lanes()[name][0]
        if not source.has(lane.table):
            continue
        relation = windows.relation(_chosen(name), frame.laid, window, source, cache, single=True)
        found += [
            Told(row["t1"], lane.title, row["label"], row["artifact_id"], row["line"])
            for row in source.query(
                f"select t1, artifact_id, top.label as label, top.line_from as line from ({relation})"
                f" order by top.cls <> 'error', t1 limit {MOST_EVENTS}"
            )
        ]
    return sorted(found, key=lambda one: one.at)[:MOST_EVENTS]


def lines_in(frame: Frame, window: Window, source: ReadOnly, cache: Path | None) -> list[Lines]:
    """Return the lines of the rows in the range, for each artifact."""
    found: dict[int, list[Json]] = {}
    seen: set[str] = set()
    for name, (lane, _) in lanes().items():
        has_place = lane.order if frame.ordered else lane.timed
        if lane.table in seen or not has_place or lane.table in registry.derived() or not source.has(lane.table):
            continue
        if lane.args or name in PICKED or (lane.kind == "counter" and not lane.shown):
            continue
        seen.add(lane.table)
        relation = windows.relation(_chosen(name), frame.laid, window, source, cache, single=True)
        for row in source.query(
            f"select artifact_id, min(top.line_from) as first, max(top.line_to) as last, count(*) as n from ({relation}) group by 1"
        ):
            found.setdefault(row["artifact_id"], []).append(row)
    return [
        Lines(artifact, min(r["first"] for r in rows), max(r["last"] for r in rows), sum(r["n"] for r in rows))
        for artifact, rows in sorted(found.items())
    ]
