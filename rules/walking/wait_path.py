"""The waits that lead to a finding: who waits for whom, from the outermost waiter down to the process whose seconds are
blamed.

Edges are those of `wait_edges` and the starts of server processes of `pipe_pairs`. An edge belongs to the path only if
it waits for the process of the lines that the finding cites, in the same seconds of its clock: mere closeness makes
nobody a waiter. Only a wait for an answer whose other end was found by its addresses leads from one trace to another.
A client's wait for the host is another request unless one trace shows both, so it is described separately and its share
is never multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rules.case.case import Case
from rules.model import Finding

DEPTH = 8
"""Maximum length of a path upwards, the same depth to which requests are followed downwards."""

CALL = ["artifact_id", "clock", "line_no", "t_local", "dur_hi_s", "stamp", "pid", "lwp"]


@dataclass(frozen=True)
class Wait:
    """`waiter` waits `seconds` for `author`, out of the `whole` request if its length is known.

    `seen`: the seconds are those that a client measured; otherwise they are an upper bound from a trace.
    """

    waiter: str
    author: str
    seconds: float
    whole: float | None
    seen: bool = False

    def __str__(self) -> str:
        of = f"{self.seconds:.3f} of {self.whole:.3f} s" if self.whole is not None else f"{self.seconds:.3f} s"
        return f"{self.waiter} waits {'' if self.seen else 'at most '}{of} for {self.author}"


Trace = tuple[int, str | None]
"""Artifact and clock."""


@dataclass(frozen=True)
class _Edge:
    """One process waits for another: `begin` to `end` on the waiter's clock, `to_begin` to `to_end` on the author's."""

    trace: Trace
    host: str | None
    waiter: int
    author_host: str | None
    author: int
    author_lwp: int | None
    begin: float
    end: float
    to_begin: float
    to_end: float
    seconds: float
    whole: float | None

    def shared(self, begin: float, end: float) -> float:
        return min(self.to_end, end) - max(self.to_begin, begin)


def waits_for(case: Case, finding: Finding | None) -> tuple[Wait, ...]:
    """Return the waits that lead to a finding, outermost first; none if no line shows who waits for its process."""
    case.derived("wait_edges")  # the timeline draws the table that a judgement leaves, whatever the judgement found
    leaf = _leaf(case, finding) if finding is not None else None
    if finding is None or leaf is None:
        return ()
    trace: Trace = leaf["artifact_id"], leaf["clock"]
    pid, lwp = leaf["pid"], leaf["lwp"]
    begin, end = _span(leaf, leaf["dur_hi_s"] or 0.0)
    if finding.t_from is not None and finding.t_to is not None and finding.clock == leaf["clock"]:
        begin, end = finding.t_from, finding.t_to
    path: list[_Edge] = []
    seen = {(trace, pid)}
    while len(path) < DEPTH:
        held = [
            e
            for e in _edges(case, *trace)
            if e.author == pid and (e.trace, e.waiter) not in seen and (lwp is None or e.author_lwp in (None, lwp)) and e.shared(begin, end) > 0
        ]  # fmt: skip
        if not held:
            break
        edge = max(
            _together(held, trace), key=lambda e: (round(e.shared(begin, end), 4), e.whole is not None, e.seconds)
        )
        path.insert(0, edge)
        trace, pid, lwp, begin, end = edge.trace, edge.waiter, None, edge.begin, edge.end
        seen.add((trace, pid))
    far = len({host for e in path for host in (e.host, e.author_host)}) > 1
    waits = [
        Wait(_named(e.waiter, e.host, far), _named(e.author, e.author_host, far), e.seconds, e.whole) for e in path
    ]
    return (*_clients(case, finding), *waits) if path else ()


def _named(pid: int, host: str | None, far: bool) -> str:
    return f"pid {pid} on {host or 'an unknown host'}" if far else f"pid {pid}"


def _together(held: list[_Edge], trace: Trace) -> list[_Edge]:
    """Return waits inside one trace unchanged, and waits of one process of another trace in one request added up to
    one.
    """
    found = [e for e in held if e.trace == trace]
    others: dict[tuple[Trace, int, float | None], list[_Edge]] = {}
    for e in held:
        if e.trace != trace:
            others.setdefault((e.trace, e.waiter, e.whole), []).append(e)
    for same in others.values():
        found.append(
            replace(
                same[0], begin=min(e.begin for e in same), end=max(e.end for e in same), to_begin=min(e.to_begin for e in same),
                to_end=max(e.to_end for e in same), seconds=round(sum(e.seconds for e in same), 9),
            )
        )  # fmt: skip
    return found


def described(path: tuple[Wait, ...], host: str | None) -> str:
    """Describe a path in words, to be followed by its reason; empty for an empty path."""
    traced = [w for w in path if not w.seen]
    if not traced:
        return ""
    words = ", which ".join([str(traced[0]), *(str(w).removeprefix(f"{w.waiter} ") for w in traced[1:])])
    seen = "; ".join(str(w) for w in path if w.seen)
    return f"as the client sees it, {seen}; as traced on {host}, {words}" if seen else words


def _span(call: Mapping[str, Any], seconds: float) -> tuple[float, float]:
    """Return begin and end of a wait that a line shows, whichever of the two it is stamped with."""
    at: float = call["t_local"]
    return (at, at + seconds) if call["stamp"] == "start" else (at - seconds, at)


def _leaf(case: Case, finding: Finding) -> dict[str, Any] | None:
    """Return the call at which the finding's first citation ends, if that is in a trace of calls."""
    if not finding.citations:
        return None
    cited = finding.citations[0]
    inside = (pl.col("artifact_id") == cited.artifact) & pl.col("line_no").is_between(cited.line_from, cited.line_to)
    stamped = pl.col("t_local").is_not_null() & pl.col("pid").is_not_null()
    rows = case.only([cited.artifact]).table("syscalls", CALL, inside & stamped)
    return rows.sort("line_no").tail(1).to_dicts()[0] if rows.height else None


def _edges(case: Case, artifact: int, clock: str | None) -> Iterator[_Edge]:
    """Yield the waits for processes of one trace, wherever the waiter was traced."""
    there = (pl.col("to_artifact") == artifact) & pl.col("to_clock").eq_missing(pl.lit(clock, pl.String))
    edges = case.derived("wait_edges").filter(there & pl.col("from_pid").is_not_null() & pl.col("to_pid").is_not_null())
    for (waiting, own), some in edges.group_by("artifact_id", "clock", maintain_order=True):
        here = (pl.col("artifact_id") == waiting) & pl.col("clock").eq_missing(pl.lit(own, pl.String))
        asked = here & pl.col("request").is_in(some["request"].drop_nulls().unique().to_list())
        walls = dict(case.scan("requests", ["request", "wall_s"], asked).collect(engine="streaming").iter_rows())
        calls = case.only([waiting]).table(
            "syscalls", CALL, here & pl.col("line_no").is_in(some["line_to"].unique().to_list())
        )
        at = {r["line_no"]: r for r in calls.iter_rows(named=True) if r["t_local"] is not None}
        for e in some.iter_rows(named=True):
            if (call := at.get(e["line_to"])) is not None:
                begin, end = _span(call, e["wait_s"])
                to_begin, to_end = (begin, end) if e["to_t0"] is None else (e["to_t0"], e["to_t1"])
                yield _Edge((waiting, own), e["from_host"], e["from_pid"], e["to_host"], e["to_pid"], e["to_lwp"],
                            begin, end, to_begin, to_end, e["wait_s"], walls.get(e["request"]))  # fmt: skip
    within = (pl.col("artifact_id") == artifact) & pl.col("clock").eq_missing(pl.lit(clock, pl.String))
    starts = case.derived("pipe_pairs").filter(within & pl.col("spawn_s").is_not_null())
    for s in starts.iter_rows(named=True):
        span = s["t_read"] - s["spawn_s"], s["t_read"]
        yield _Edge(
            (artifact, clock),
            s["host"],
            s["reader_pid"],
            s["host"],
            s["writer_pid"],
            None,
            *span,
            *span,
            s["spawn_s"],
            None,
        )


def _clients(case: Case, finding: Finding) -> Iterator[Wait]:
    """Yield the longest wait of a client for the finding's host, in the same phase."""
    if finding.host is None:
        return
    phase = _phase(case, finding.citations[0].artifact, finding.citations[0].line_from)
    edges = case.derived("wait_edges").filter(
        pl.col("from_pid").is_null() & pl.col("from_host").is_not_null() & (pl.col("to_host") == finding.host)
    )
    for e in edges.sort("wait_s", descending=True).iter_rows(named=True):
        if e["share"] and _phase(case, e["artifact_id"], e["line_from"]) == phase:
            yield Wait(e["from_host"], e["to_host"], e["wait_s"], e["wait_s"] / e["share"], seen=True)
            return


def _phase(case: Case, artifact: int, line: int) -> str | None:
    place = case.at(artifact, line)
    return place.phase if place else None
