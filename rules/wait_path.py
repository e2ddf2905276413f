"""The waits that lead to a finding: who waits for whom, from the outermost waiter down to the process whose seconds are blamed.

Edges are those of `wait_edges` and the starts of server processes of `pipe_pairs`. An edge belongs to the path only if it waits for the
process of the lines that the finding cites, on the same clock, in the same seconds: nobody becomes a waiter because he stands nearby.
A client's wait for the host is another request unless one trace shows both, so it is told apart and its share is never multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.case import Case
from rules.model import Finding

DEPTH = 8
"""A path is followed so far up, as requests are followed down."""

CALL = ["artifact_id", "clock", "line_no", "t_local", "dur_hi_s", "stamp", "pid", "lwp"]


@dataclass(frozen=True)
class Wait:
    """`waiter` waits for `author`: at most `seconds` of the `whole` request, if that is known; `seen` by the client, else in the trace."""

    waiter: str
    author: str
    seconds: float
    whole: float | None
    seen: bool = False

    def __str__(self) -> str:
        of = f"{self.seconds:.3f} of {self.whole:.3f} s" if self.whole is not None else f"{self.seconds:.3f} s"
        return f"{self.waiter} waits {'' if self.seen else 'at most '}{of} for {self.author}"


@dataclass(frozen=True)
class _Edge:
    """One process waits for another, in the seconds of one clock."""

    waiter: int
    author: int
    author_lwp: int | None
    begin: float
    end: float
    seconds: float
    whole: float | None

    def shared(self, begin: float, end: float) -> float:
        return min(self.end, end) - max(self.begin, begin)


def waits_for(case: Case, finding: Finding | None) -> tuple[Wait, ...]:
    """Return the waits that lead to a finding, outermost first; none where no line says who waits for its process."""
    leaf = _leaf(case, finding) if finding is not None else None
    if finding is None or leaf is None:
        return ()
    edges = list(_edges(case, leaf["artifact_id"], leaf["clock"]))
    pid, lwp = leaf["pid"], leaf["lwp"]
    begin, end = _span(leaf, leaf["dur_hi_s"] or 0.0)
    if finding.t_from is not None and finding.t_to is not None and finding.clock == leaf["clock"]:
        begin, end = finding.t_from, finding.t_to
    path: list[Wait] = []
    seen = {pid}
    while len(path) < DEPTH:
        held = [
            e
            for e in edges
            if e.author == pid and e.waiter not in seen and (lwp is None or e.author_lwp in (None, lwp)) and e.shared(begin, end) > 0
        ]  # fmt: skip
        if not held:
            break
        edge = max(held, key=lambda e: (round(e.shared(begin, end), 4), e.whole is not None, e.seconds))
        path.insert(0, Wait(f"pid {edge.waiter}", f"pid {pid}", edge.seconds, edge.whole))
        pid, lwp, begin, end = edge.waiter, None, edge.begin, edge.end
        seen.add(pid)
    return (*_clients(case, finding), *path) if path else ()


def told(path: tuple[Wait, ...], host: str | None) -> str:
    """Say a path in words, to be followed by its reason; empty for no path."""
    traced = [w for w in path if not w.seen]
    if not traced:
        return ""
    words = ", which ".join([str(traced[0]), *(str(w).removeprefix(f"{w.waiter} ") for w in traced[1:])])
    seen = "; ".join(str(w) for w in path if w.seen)
    return f"as the client sees it, {seen}; as traced on {host}, {words}" if seen else words


def _span(call: Mapping[str, Any], seconds: float) -> tuple[float, float]:
    """Begin and end of a wait that a line shows, whichever of the two it is stamped with."""
    at: float = call["t_local"]
    return (at, at + seconds) if call["stamp"] == "start" else (at - seconds, at)


def _leaf(case: Case, finding: Finding) -> dict[str, Any] | None:
    """The call at which the finding's first citation ends, if that lies in a trace of calls."""
    if not finding.citations:
        return None
    cited = finding.citations[0]
    inside = (pl.col("artifact_id") == cited.artifact) & pl.col("line_no").is_between(cited.line_from, cited.line_to)
    rows = case.table("syscalls", CALL, inside & pl.col("t_local").is_not_null() & pl.col("pid").is_not_null())
    return rows.sort("line_no").tail(1).to_dicts()[0] if rows.height else None


def _edges(case: Case, artifact: int, clock: str | None) -> Iterator[_Edge]:
    here = (pl.col("artifact_id") == artifact) & pl.col("clock").eq_missing(pl.lit(clock, pl.String))
    edges = case.derived("wait_edges").filter(here & pl.col("from_pid").is_not_null() & pl.col("to_pid").is_not_null())
    asked = here & pl.col("request").is_in(edges["request"].unique().to_list())
    walls = dict(case.scan("requests", ["request", "wall_s"], asked).collect(engine="streaming").iter_rows())
    lines = edges["line_to"].unique().to_list()
    calls = case.table("syscalls", CALL, here & pl.col("line_no").is_in(lines)) if lines else pl.DataFrame()
    at = {r["line_no"]: r for r in calls.iter_rows(named=True) if r["t_local"] is not None}
    for e in edges.iter_rows(named=True):
        if (call := at.get(e["line_to"])) is not None:
            span = _span(call, e["wait_s"])
            yield _Edge(e["from_pid"], e["to_pid"], e["to_lwp"], *span, e["wait_s"], walls.get(e["request"]))
    starts = case.derived("pipe_pairs").filter(here & pl.col("spawn_s").is_not_null())
    for s in starts.iter_rows(named=True):
        yield _Edge(s["reader_pid"], s["writer_pid"], None, s["t_read"] - s["spawn_s"], s["t_read"], s["spawn_s"], None)


def _clients(case: Case, finding: Finding) -> Iterator[Wait]:
    """The longest wait of a client for the finding's host, in the same phase."""
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
