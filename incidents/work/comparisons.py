"""Compare two sides of a room: one series, all calls, all counters. Results are cached under a hash of their inputs.

`rules.statistics.contrast` computes the numbers and words them; this module fetches the values, in bounded memory, and
says what else differs between the sides: hours, tracing, several changes at once.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from incidents.content.figures import extremes_kept
from incidents.drawing import series
from incidents.drawing.overviews import count
from incidents.drawing.series import Side
from incidents.work import analysis
from parsers.kinds import kind_of
from rules.case import phases
from rules.case.case import Case
from rules.clocks.readings import WALL
from rules.engine.read import ReadOnly
from rules.model import CaseSpec
from rules.statistics import contrast, profile_change
from rules.statistics.queue_step import Step, mechanism_words, step

Json = dict[str, Any]

VERSION = 1  # of the cached results: a higher one makes old ones invalid
#: Maximum number of cached results of a room; the oldest is deleted first.
MOST_KEPT = 300
#: Rows above which a comparison is fetched by a separate HTTP request, so that the page does not wait for it.
AT_ONCE = 300_000
#: Derived tables of a profile. No rule needs all of them, so the first comparison builds them, or for large traces the
#: worker.
PROFILED = ("call_profile", "listener_cycles", "proc_tree")
MOST_PROFILED = 1_500_000  # rows of `syscalls` above which only the worker profiles
#: Maximum number of dots of one side in the figure.
MOST_DOTS = 1_500
#: Maximum number of calls listed; the others are summed in one row.
MOST_CALLS = 25
MOST_COUNTERS = 120  # counters compared
MOST_SHOWN = 40  # counters listed


def tables() -> list[str]:
    """Return the tables that a comparison reads: those of all series, and tables derived by the last judgement."""
    return sorted({*series.tables(), *PROFILED, "changes", "predictions"})


# --- cached results -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kept:
    """Cached results on disk for one state of a room: `stamp` is a hash of its case and its readings."""

    folder: Path
    stamp: str

    def path(self, *named: object) -> Path:
        return self.folder / f"{analysis.digest([VERSION, self.stamp, *map(str, named)])[:40]}.json"

    def get(self, *named: object) -> Any:
        """Return the result cached under these words, None if there is none."""
        try:
            return json.loads(self.path(*named).read_text("utf-8"))
        except (FileNotFoundError, ValueError):  # half a file counts as none
            return None

    def ask(self, make: Callable[[], Any], *named: object) -> Any:
        """Return the cached result; call `make` and cache its result if there is none."""
        if (known := self.get(*named)) is not None:
            return known
        self.folder.mkdir(parents=True, exist_ok=True)
        # A page and its figure need the same result at once: the second waits. The kernel releases the lock in any case.
        with self.path(*named).with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (known := self.get(*named)) is None:
                known = json.loads(json.dumps(make()))
                self._write(self.path(*named), known)
        return known

    def _write(self, path: Path, value: Any) -> None:
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".new")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file)
        Path(name).replace(path)
        if len(old := sorted(self.folder.glob("*.json"), key=_written)) > MOST_KEPT:
            for file_ in old[: len(old) - MOST_KEPT]:
                file_.unlink(missing_ok=True)
                file_.with_suffix(".lock").unlink(missing_ok=True)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process deleted it
        return 0.0


def kept(cache: Path, spec: CaseSpec, report: Mapping[str, Any] | None) -> Kept:
    """Return the cache for this state of a room. Clocks can move without a new reading, so its hash covers them too."""
    places = [[c.get("clock"), c.get("frame"), c.get("add")] for c in (report or {}).get("clocks", ())]
    return Kept(cache / "compare", analysis.digest([analysis.inputs_hash(spec), places]))


def heavy(source: ReadOnly, name: str) -> bool:
    """Tell whether a series has so many rows that the page must not wait for them (`AT_ONCE`)."""
    table = series.table_of(name)
    base = {"listener_cycles": None, "requests": None, "sqlnet_waits": "sqlnet"}.get(table, table)
    return base is not None and sum(count(source.case, number, base) for number in source.case.manifests) > AT_ONCE


def heavy_profile(source: ReadOnly, sides: Sequence[Side]) -> bool:
    """Tell whether a profile takes more than a moment: it is neither small nor made from tables built before."""
    if sum(count(source.case, number, "syscalls") for number in source.case.manifests) <= AT_ONCE:
        return False
    return any(side.frame is not None for side in sides) or any(source.case.kept(name) is None for name in PROFILED)


def unmade(source: ReadOnly, sides: Sequence[Side]) -> bool:
    """Tell whether a profile must wait for the worker: a trace this large is not profiled in a page's process."""
    if any(side.frame is not None for side in sides) or source.case.cache is None:
        return source.case.cache is None
    largest = max((count(source.case, number, "syscalls") for number in source.case.manifests), default=0)
    return largest > MOST_PROFILED and any(source.case.kept(name) is None for name in PROFILED)


# --- one series ---------------------------------------------------------------------------------------------------


def measured(found: series.Series, first: Side, second: Side, source: ReadOnly, host: str | None = None) -> Json:
    """Compare a series on two sides: numbers, words, and dots that link to their lines."""
    sides = [series.values(found.name, side, source, host) for side in (first, second)]
    made = contrast.contrast(sides[0].values, sides[1].values, found.unit, (first.title, second.title))
    return {
        **asdict(made),
        "title": contrast.title(made.verdict, found.unit),
        "two": made.two_populations,
        "of": [side.n for side in sides],
        "thinned": [side.thinned for side in sides],
        "whole": [{"quantiles": side.quantiles, "mean": side.mean} for side in sides],
        "dots": [_dots(side) for side in sides],
    }


def _dots(side: series.Values) -> list[list[float]]:
    """Return index, value, artifact and line of the dots to draw; of too many values the extremes of each stretch."""
    shown = extremes_kept(side.values, MOST_DOTS)
    return [[place, side.values[place], side.artifacts[place], side.lines[place]] for place in shown]


def reversed_here(
    found: series.Series, spec: CaseSpec, ordered: Sequence[str], first: Side, second: Side, source: ReadOnly
) -> bool:
    """Tell whether this series returned when the next change undid the change between the two phases."""
    if first.phase not in ordered or second.phase not in ordered or first.phase is None or second.phase is None:
        return False
    place = ordered.index(second.phase) + 1
    if place >= len(ordered) or phases.between(spec, ordered, first.phase, second.phase).taken_back_by is None:
        return False
    third = Side(f"phase:{ordered[place]}", ordered[place], phase=ordered[place])
    values = {
        phase: series.values(found.name, side, source).values
        for phase, side in ((first.phase, first), (second.phase, second), (ordered[place], third))
    }
    return phases.reversal(spec, ordered, first.phase, second.phase, values)


# --- what else differs --------------------------------------------------------------------------------------------


def caveats(first: Side, second: Side, report: Mapping[str, Any], result: Mapping[str, Any]) -> list[str]:
    """Return sentences on other reasons for a difference: other hours, tracing on one side, values left out."""
    told = []
    spans = [_hours(side, report) for side in (first, second)]
    if spans[0] and spans[1]:
        if _apart(spans[0], spans[1]):
            told.append(
                f"Different hours: {first.title} is {_span(spans[0])}, {second.title} {_span(spans[1])}. Load and caches differ by the hour."
            )
    elif first.frame is None and second.frame is None:
        told.append(
            "Nothing says at what hour the two sides were taken: load, warm caches and the day are not excluded."
        )
    traced = [_traced(side, report) for side in (first, second)]
    for side, own, other, beside in ((first, traced[0], traced[1], second), (second, traced[1], traced[0], first)):
        if own and not other:
            told.append(
                f"Tracing was on in {side.title} ({', '.join(sorted(own))}) and not in {beside.title}: it slows what it traces."
            )
    for side, n, of, thin in zip((first, second), (result["n1"], result["n2"]), result["of"], result["thinned"], strict=True):  # fmt: skip
        if thin:
            told.append(
                f"Of {contrast.number(of)} values of {side.title} {contrast.number(n)} are compared, taken by a fixed rule; rare slow ones "
                "may be left out, the quantiles of all stand in the table."
            )
    return told


def _artifacts(side: Side, report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = list(report.get("artifacts") or [])
    if side.artifact is not None:
        return [row for row in rows if row.get("id") == side.artifact]
    if side.phase is not None:
        return [row for row in rows if row.get("phase") == side.phase]
    held = {clock["artifact"] for clock in side.frame.clocks} if side.frame else set()
    return [row for row in rows if row.get("id") in held]


def _traced(side: Side, report: Mapping[str, Any]) -> set[str]:
    return {tracer for row in _artifacts(side, report) if (tracer := kind_of(row.get("kind")).tracer)}


def _hours(side: Side, report: Mapping[str, Any]) -> tuple[datetime, datetime] | None:
    """Return begin and end of a side by wall clocks, None if none of its artifacts has a wall clock with a date."""
    if side.frame is not None:
        clock = side.frame.clocks[0]
        base = _base(clock) if clock["kind"] in WALL else None
        shift = float(clock.get("add") or 0.0)
        return (base + timedelta(seconds=side.start - shift), base + timedelta(seconds=side.end - shift)) if base else None  # fmt: skip
    own = {row.get("id") for row in _artifacts(side, report)}
    spans = [
        (base + timedelta(seconds=clock["t_begin"]), base + timedelta(seconds=clock["t_end"]))
        for clock in report.get("clocks") or []
        if clock["artifact"] in own and clock["kind"] in WALL and clock["t_begin"] is not None and (base := _base(clock))
    ]  # fmt: skip
    return (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else None


def _base(clock: Mapping[str, Any]) -> datetime | None:
    return datetime.fromisoformat(clock["base"]).replace(tzinfo=None) if clock.get("base") else None


def _apart(one: tuple[datetime, datetime], other: tuple[datetime, datetime]) -> bool:
    """Tell whether two time spans have no hour of the day in common."""

    def hours(span: tuple[datetime, datetime]) -> set[int]:
        length = min(24, int((span[1] - span[0]).total_seconds() // 3600) + 2)
        return {(span[0] + timedelta(hours=k)).hour for k in range(length - 1)} | {span[1].hour}

    return not hours(one) & hours(other)


def _span(span: tuple[datetime, datetime]) -> str:
    begin, end = span
    if begin.date() == end.date():
        return f"{begin:%Y-%m-%d %H:%M} to {end:%H:%M}"
    return f"{begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}"


# --- profiles and counters ----------------------------------------------------------------------------------------

_PROCESS = """
  case when l.pid is not null then 'listener'
       when t.pid is not null then 'child' || coalesce(': ' || parse_filename(t.path), '')
       else 'process' end"""


def _labels(source: ReadOnly) -> str:
    """Return the SQL joins that classify processes: those serving connections, and those started by another."""
    nobody = "(select null::bigint as artifact_id, null::bigint as pid, null::varchar as path)"
    serving = "(select distinct artifact_id, pid from listener_cycles)" if source.has("listener_cycles") else nobody
    born = "(select artifact_id, pid, any_value(path) as path from proc_tree group by all)" if source.has("proc_tree") else nobody  # fmt: skip
    same = "on {0}.artifact_id = s.artifact_id and {0}.pid = s.pid"
    return f"left join {serving} l {same.format('l')} left join {born} t {same.format('t')}"


def profile(first: Side, second: Side, source: ReadOnly) -> Json | None:
    """Compare where the seconds went, call by call; None if a side has no calls.

    Uses complete listener cycles if both sides have some, else whole threads; for a time range, the calls in it.
    """
    if not source.has("syscalls"):
        return None
    if first.frame is not None or second.frame is not None:
        sides = [_calls_of(side, source) for side in (first, second)]
        return _told(sides[0], sides[1], None) if all(sides) else None
    case = source.case
    for name in PROFILED:
        if case.kept(name) is None:
            case.files(name)
    with ReadOnly(case.spec, PROFILED, case.cache) as made:
        cycles = [_profile_of(side, made, "s.cycle is not null") for side in (first, second)]
        if all(cycles):
            n = [len({(row["artifact_id"], row["pid"], row["lwp"], row["cycle"]) for row in rows}) for rows in cycles]
            served = [_served(side, made) for side in (first, second)]
            return _told(cycles[0], cycles[1], (n[0], n[1])) | {"served": served}
        whole = [_profile_of(side, made, "s.cycle is null") for side in (first, second)]
    return _told(whole[0], whole[1], None) if all(whole) else None


def _profile_of(side: Side, source: ReadOnly, which: str) -> list[Json]:
    return source.query(
        f"select {_PROCESS} as process, s.pid, s.lwp, s.cycle, s.name, s.n, s.dur_s, s.cpu_s, s.artifact_id, s.line_no, s.line_end"
        f" from call_profile s {_labels(source)}"
        f" where {side.here('null', None)} and {which} order by s.artifact_id, s.line_no"
    )


def _calls_of(side: Side, source: ReadOnly) -> list[Json]:
    """Sum the calls of a side from their rows: upper bounds where a tool records only gaps."""
    if not source.has("syscalls") or (here := side.here("s.t_local", None)) is None:
        return []
    return source.query(
        f"select {_PROCESS} as process, s.pid, s.name, count(*) as n, sum(s.dur_hi_s) as dur_s, sum(s.cpu_s) as cpu_s, s.artifact_id,"
        f" min(s.line_no) as line_no, max(s.line_no) as line_end from syscalls s {_labels(source)}"
        f" where {here} and s.dur_hi_s is not null and coalesce(s.contiguous, 'assumed') <> 'broken' group by all order by dur_s desc"
    )


def _told(before: list[Json], after: list[Json], cycles: tuple[int, int] | None) -> Json:
    made = profile_change.compare(before, after, cycles)
    shown, others = made.changes[:MOST_CALLS], made.changes[MOST_CALLS:]
    rest = [[sum(getattr(one, side).n for one in others), sum(getattr(one, side).seconds for one in others)] for side in ("first", "second")]  # fmt: skip
    return {
        "changes": [asdict(one) | {"difference": one.difference} for one in shown],
        "others": {"calls": len(others), "sides": rest} if others else None,
        "first_s": made.first_s,
        "second_s": made.second_s,
        "difference": made.difference,
        "cycles": cycles,
        "processes": made.processes,
    }


def _served(side: Side, source: ReadOnly) -> Json:
    """Return count, median duration and median wait for a child of a side's complete cycles, and their rate."""
    row = source.query(
        "select count(*) as n, median(s.cycle_s) as cycle_s, median(s.wait_child_s) as child_s from listener_cycles s"
        f" where s.complete and s.cycle_s is not null and {side.here('null', None)}"
    )[0]
    return row | {"capacity_ps": 1 / row["cycle_s"] if row["cycle_s"] else None}


def counters(first: Side, second: Side, offered: Iterable[series.Series], source: ReadOnly) -> list[Json]:
    """Return quantiles of every counter that both sides have, the counter whose median moved most first."""
    both = [
        one
        for one in offered
        if one.name.partition(":")[0] not in series.KINDS
        and all(side.phase is None or side.phase in one.phases for side in (first, second))
    ][:MOST_COUNTERS]
    rows = series.quantiles([one.name for one in both], (first, second), source)
    found: list[Json] = []
    for one, pair in zip(both, rows, strict=True):
        if pair[0]["n"] and pair[1]["n"]:
            found.append({"name": one.name, "title": one.title, "unit": one.unit, "sides": pair, "moved": _moved(pair)})
    return sorted(found, key=lambda row: (-row["moved"], row["name"]))[:MOST_SHOWN]


def _moved(pair: Sequence[Mapping[str, Any]]) -> float:
    """Return how far the median moved, relative to the largest median or spread (p90 - p50) of both sides."""
    a, b = pair[0]["p50"], pair[1]["p50"]
    size = max(abs(a), abs(b), pair[0]["p90"] - a, pair[1]["p90"] - b)
    return float(abs(b - a) / size) if size > 0 else 0.0


# --- mechanism and queue ------------------------------------------------------------------------------------------


def mechanism(source: ReadOnly) -> list[str]:
    """Return sentences on what shorter connects alone should have gained, beside the rates that people reported."""
    if not source.has("predictions"):
        return []
    return [mechanism_words(row) for row in source.query("select * from predictions s order by s.to_phase, s.host")]


@dataclass(frozen=True)
class Queue:
    """A wait before a server, with the prediction of both queueing models and the evidence against it."""

    step: Step
    where: str
    key: str
    against: tuple[str, ...]


def queues(first: Side, second: Side, source: ReadOnly, report: Mapping[str, Any]) -> list[Queue]:
    """Compare the waits before an accept that the rules found with the service time of both sides."""
    waited = [
        f for f in report.get("findings") or [] if f["rule"] == "LSN-002" and (f.get("facts") or {}).get("wait_s")
    ]
    if not waited or not source.has("listener_cycles"):
        return []
    services = [_served(side, source)["cycle_s"] for side in (first, second)]
    if None in services:
        return []
    found = []
    for finding in waited:
        made = step(float(finding["facts"]["wait_s"]), float(services[0]), float(services[1]))
        if made is not None:
            where = " ".join(str(finding[name]) for name in ("host", "subject") if finding.get(name))
            found.append(Queue(made, where, str(finding["key"]), tuple(finding.get("against") or ())))
    return found


# --- proposals ----------------------------------------------------------------------------------------------------


def proposed(source: ReadOnly) -> list[Json]:
    """Return the borders that the last judgement proposes, each with its first line; also those at existing borders."""
    if not source.has("changes"):
        return []
    return source.query(
        "select c.artifact_id, c.part, c.line_no, c.phase, c.host, c.metric, c.series, c.at_seq, c.at_t from changes c"
        " where c.proposed and c.line_no is not null order by c.metric <> 'conn_times.elapsed_s', c.artifact_id, c.line_no, c.metric"
    )


def second_opinion(
    found: series.Series, ordered: Sequence[str], source: ReadOnly, host: str | None = None
) -> list[Json]:
    """Find the changes of a series by E-divisive, over all its values ordered by phase, artifact and line."""
    from rules.statistics.e_divisive import splits

    held = series.everything(found.name, source, host)
    place = {phase: k for k, phase in enumerate(ordered)}
    rows = sorted(held, key=lambda row: (place.get(row["phase"], len(place)), row["artifact_id"], row["line"]))
    answers = splits([row["value"] for row in rows])
    return [
        {"at": one.at, "p": one.p, "taken": one.taken, "artifact": rows[one.at]["artifact_id"], "line": rows[one.at]["line"], "phase": rows[one.at]["phase"],
         "before": rows[one.at - 1]["phase"], "of": len(rows)}
        for one in answers
    ]  # fmt: skip


# --- borders ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """Lines on one side of a possible new border, with their present phase."""

    artifact: int
    line_from: int
    line_to: int
    phase: str | None
    second: bool


@dataclass(frozen=True)
class Cut:
    """The effect of a border before a line: the lines before it and from it on, with suggested names of the phases."""

    pieces: tuple[Piece, ...]
    first: str
    second: str

    @property
    def there_already(self) -> bool:
        known = {piece.second: piece.phase for piece in self.pieces}
        return len(known) == 2 and None not in known.values() and known[False] != known[True]


def cut_at(case: Case, number: int, line: int) -> Cut | None:
    """Return the lines on both sides of a border before a line: of its stretch, or at its begin of the one before."""
    own = case.at(number, line)
    if own is None:
        return None
    if line > own.line_from:
        pieces = (
            Piece(number, own.line_from, line - 1, own.phase, False),
            Piece(number, line, own.line_to, own.phase, True),
        )
    else:
        kinds = {a: [p.get("kind") for p in m.get("parts", [])] for a, m in case.manifests.items()}
        before = [
            s
            for s in case.stretches
            if (s.artifact, s.line_from) < (number, line) and s.host == own.host and kinds.get(s.artifact) == kinds.get(number)
        ]  # fmt: skip
        if not before:
            return None
        last = before[-1]
        pieces = (
            Piece(last.artifact, last.line_from, last.line_to, last.phase, False),
            Piece(number, line, own.line_to, own.phase, True),
        )
    first = pieces[0].phase or "before"
    known = {s.phase for s in case.stretches}
    free = next(name for k in range(1, 1000) if (name := f"after-{k}") not in known)
    own_phase = pieces[1].phase
    return Cut(pieces, first, own_phase if own_phase is not None and own_phase != first else free)
