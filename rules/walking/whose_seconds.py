"""Whose seconds were they: divide one traced request into pieces that add up to the whole.

For the start of a server process (fork in the listener to the read of the child's answer) each interval between
completions is a piece: traced, not traced (lines are missing), or the culprit (a finding's own gap, an upper bound).
Without such a start any request of a trace (`requests`) is divided by what its calls were about, largest first
(`request_parts`, with waits followed into other processes; `answer_parts`, followed into the answering process's trace,
whose lines such a piece then cites). Without any trace the client's wait is divided into the part on the server and the
rest. Sums are made in whole nanoseconds, so the pieces add up exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.case.case import Case
from rules.model import Finding, Piece, WhoseSeconds
from rules.walking.request_pieces import LEFT, Cite, lines_of, merged, piece_of, reaches
from rules.writing.process_words import pid_words

SMALL = 0.01
"""Minimum share of the whole; smaller pieces are merged with the next piece of the same process."""

SLACK_S = 0.001
"""Distance in seconds outside a start within which calls are still read; whole nanoseconds decide which belong to it.
"""

CALL = ["artifact_id", "line_no", "t_local", "seq", "pid", "name", "state", "prev_line", "contiguous"]


@dataclass(frozen=True)
class _Cut:
    """A piece being built: nanoseconds, process, names of its calls in order, whether lines are missing in it, its
    lines.
    """

    ns: int
    pid: int
    names: tuple[str, ...]
    untraced: bool
    lines: tuple[tuple[int, int], ...]
    finding: Finding | None
    last: bool = False


def whose_seconds(case: Case, findings: Sequence[Finding], cite: Cite) -> WhoseSeconds | None:
    """Return the pieces of the traced request that contains the strongest finding, else of the longest one; None
    without any trace.
    """
    starts = _starts(case)
    blamed = [f for f in findings if f.group == "cause"]
    for finding in blamed:
        near = starts.filter(pl.col("clock").eq_missing(pl.lit(finding.clock, pl.String)))
        ends = _ends(case, finding) if near.height else []
        for start in near.iter_rows(named=True):
            if not _holds(start, ends):
                continue
            made = _of_start(case, start, blamed, cite)
            if made and any(p.kind == "culprit" for p in made.pieces):
                return made
    for start in starts.iter_rows(named=True):
        made = _of_start(case, start, blamed, cite)
        if made:
            return made
    return _of_request(case, blamed, cite) or _of_cover(case, cite)


def _starts(case: Case) -> pl.DataFrame:
    """Return the starts of server processes, longest first, without those inside a complete cycle, which are part of
    that request.
    """
    domain = pl.col("clock").fill_null("").alias("domain")
    cycles = (
        case.scan("listener_cycles", where=pl.col("complete") & pl.col("pid").is_not_null())
        .select(
            "artifact_id",
            domain,
            pl.col("pid").alias("reader_pid"),
            pl.col("line_accept").alias("line_read"),
            "line_end",
        )
        .sort("line_read")
        .with_columns(pl.col("line_end").cum_max().over("artifact_id", "domain", "reader_pid"))
    )
    starts = case.scan("pipe_pairs", where=pl.col("spawn_s").is_not_null()).with_columns(domain).sort("line_read")
    among = starts.join_asof(
        cycles, on="line_read", by=["artifact_id", "domain", "reader_pid"], strategy="backward", check_sortedness=False
    )
    alone = among.filter((pl.col("line_end") < pl.col("line_read")).fill_null(value=True)).drop("domain", "line_end")
    return alone.sort("spawn_s", "line_read", descending=[True, False]).collect()


def _ends(case: Case, blamed: Finding) -> list[tuple[int, str | None, int]]:
    """Return artifact, clock and time (ns) of the last call of each citation of a cause: its own gap may end there."""
    lines = {(c.artifact, c.line_to) for c in blamed.citations}
    if not lines:
        return []
    cited = pl.col("line_no").is_in([line for _, line in lines]) & pl.col("t_local").is_not_null()
    theirs = case.only({artifact for artifact, _ in lines})  # opens no other traces of the room
    rows = theirs.table("syscalls", ["artifact_id", "clock", "t_local", "line_no"], cited)
    return [(artifact, clock, _ns(at)) for artifact, clock, at, line in rows.iter_rows() if (artifact, line) in lines]


def _holds(start: dict[str, Any], ends: Sequence[tuple[int, str | None, int]]) -> bool:
    end = _ns(start["t_read"])
    begin = end - _ns(start["spawn_s"])
    return any((a, c) == (start["artifact_id"], start["clock"]) and begin < at <= end for a, c, at in ends)


def _ns(seconds: float) -> int:
    return round(seconds * 1_000_000_000)


def _of_start(case: Case, start: dict[str, Any], blamed: Sequence[Finding], cite: Cite) -> WhoseSeconds | None:
    artifact, clock = start["artifact_id"], start["clock"]
    end = _ns(start["t_read"])
    begin = end - _ns(start["spawn_s"])
    case = case.only([artifact])
    tree = case.derived("proc_tree").filter(pl.col("clock").eq_missing(pl.lit(clock, pl.String)))
    births = {
        r["pid"]: r
        for r in tree.sort("t_fork").iter_rows(named=True)
        if r["t_fork"] is not None and begin <= _ns(r["t_fork"]) <= end
    }
    line: list[int] = []
    pid = start["writer_pid"]
    while pid in births and pid != start["reader_pid"] and pid not in line:
        line.insert(0, pid)
        pid = births[pid]["ppid"]
    if not line:
        return None
    own = pl.col("pid").is_in(line) & pl.col("t_local").is_between(begin / 1e9 - SLACK_S, end / 1e9 + SLACK_S)
    answer = (pl.col("pid") == start["reader_pid"]) & (pl.col("line_no") == start["line_read"])
    on_it = pl.col("clock").eq_missing(pl.lit(clock, pl.String))
    calls = case.table("syscalls", CALL, on_it & (own | answer) & pl.col("t_local").is_not_null())
    cuts: list[_Cut] = []
    at = begin
    for here, after in zip(line, [*line[1:], None], strict=True):
        until = _ns(births[after]["t_fork"]) if after is not None else _ns(start["t_write"])
        rows = calls.filter((pl.col("pid") == here) & (pl.col("state").fill_null("done") == "done")).sort(
            "t_local", "seq", "line_no", nulls_last=True
        )
        for row in rows.iter_rows(named=True):
            done = _ns(row["t_local"])
            if at < done <= until:
                cuts.append(_cut(row, done - at, blamed))
                at = done
        if at < until:
            cuts.append(_Cut(until - at, here, ("not traced",), True, (), None))
            at = until
    read = calls.filter(answer)
    if end > at:
        names = tuple(read["name"].to_list()[:1]) or ("read",)
        cuts.append(
            _Cut(
                end - at,
                start["reader_pid"],
                names,
                False,
                ((start["line_read"], start["line_read"]),),
                None,
                last=True,
            )
        )
    pieces = tuple(_piece(c, artifact, begin, end, cite) for c in _joined(cuts, (end - begin) * SMALL))
    first = births[line[0]]["line_fork"]
    cited = f"lines {first} to {start['line_read']}"
    return WhoseSeconds(
        f"One server start: {start['token']}, {cited}",
        start["spawn_s"],
        start["host"],
        pid_words(start["writer_pid"]),
        pieces,
    )


def _cut(row: dict[str, Any], ns: int, blamed: Sequence[Finding]) -> _Cut:
    line, before = row["line_no"], row["prev_line"]
    untraced = (row["contiguous"] or "broken") == "broken"
    finding = next(
        (
            f
            for f in blamed
            if not untraced and f.unit == "s" and abs(_ns(f.magnitude) - ns) <= 100_000
            and any(c.artifact == row["artifact_id"] and c.line_to == line for c in f.citations)
        ),
        None,
    )  # fmt: skip
    lines = ((before, line),) if before is not None and before <= line and not untraced else ((line, line),)
    return _Cut(ns, row["pid"], (row["name"],), untraced, lines, finding)


def _joined(cuts: Sequence[_Cut], small: float) -> list[_Cut]:
    made: list[_Cut] = []
    for cut in cuts:
        before = made[-1] if made else None
        if (
            before
            and before.pid == cut.pid
            and not before.finding
            and not cut.finding
            and not (before.last or cut.last)
            and (before.ns < small or cut.ns < small)
        ):
            larger = before if before.ns >= cut.ns else cut
            made[-1] = _Cut(
                before.ns + cut.ns, cut.pid, before.names + cut.names, larger.untraced, before.lines + cut.lines, None
            )
        else:
            made.append(cut)
    return made


def _piece(cut: _Cut, artifact: int, begin: int, end: int, cite: Cite) -> Piece:
    names = cut.names[0] if len(cut.names) == 1 else f"{cut.names[0]} to {cut.names[-1]}"
    citations = tuple(c for first, last in cut.lines for c in cite(artifact, first, last, "piece"))
    seconds = round(cut.ns / 1e9, 9)
    if cut.finding is not None:
        return Piece(f"{names} in {pid_words(cut.pid)}", seconds, True, "culprit", cut.finding.layer, citations)
    if cut.last:
        return Piece(f"{names} by {pid_words(cut.pid)} ends", seconds, False, "rest", None, citations)
    if cut.untraced:
        first = len(cut.names) == 1 and cut.lines
        label = (
            f"not traced, before {names} of {pid_words(cut.pid)}"
            if first
            else f"{names} of {pid_words(cut.pid)}, mostly not traced"
        )
        return Piece(label, seconds, False, "untraced", None, citations)
    return Piece(f"{names} of {pid_words(cut.pid)}", seconds, True, "traced", None, citations)


REQUESTS = {
    "command": "One run of a command",
    "service": "One answer",
    "exchange": "One question to a peer",
    "cycle": "One connection, from accept on",
}


def _of_request(case: Case, blamed: Sequence[Finding], cite: Cite) -> WhoseSeconds | None:
    """Return the pieces of the request that contains the lines of the strongest cause, else is closest to the symptom,
    else is longest.
    """
    parts = case.derived("request_parts").filter(~pl.col("followed"))
    known = parts.lazy().select("artifact_id", "request").unique()
    requests = case.scan("requests", where=~pl.col("idle")).join(known, on=["artifact_id", "request"], how="semi")
    cut = requests.collect(engine="streaming").sort("artifact_id", "request")
    if cut.is_empty():
        return None
    bad = case.spec.symptom.bad if case.spec.symptom and case.spec.symptom.unit == "s" else None

    answers = case.derived("answer_parts").filter(~pl.col("followed"))

    def parts_of(row: dict[str, Any]) -> pl.DataFrame:
        own = (pl.col("artifact_id") == row["artifact_id"]) & (pl.col("request") == row["request"])
        far = answers.filter(own)
        return parts.filter(own) if far.is_empty() else far

    def order(row: dict[str, Any]) -> tuple[int, float]:
        own_answers = answers.filter(
            (pl.col("artifact_id") == row["artifact_id"]) & (pl.col("request") == row["request"])
        )
        served = lines_of(own_answers, cut)
        held = next((n for n, f in enumerate(blamed) if _inside(f, row) or reaches(f, served)), len(blamed))
        return held, abs(math.log(row["wall_s"] / bad)) if bad and row["wall_s"] > 0 else -row["wall_s"]

    best = min(cut.iter_rows(named=True), key=order)
    rows = merged(parts_of(best)).sort("dur_s", "line_no", descending=[True, False])
    small = best["wall_s"] * SMALL
    # The rest of a followed wait bounds the network, so it is shown however small it is.
    shown = (pl.col("dur_s") >= small) | LEFT
    pieces = [piece_of(case, r, best, blamed, cite) for r in rows.filter(shown).iter_rows(named=True)]
    rest = rows.filter(~shown)
    if rest.height:
        seconds = round(sum(_ns(d) for d in rest["dur_s"]) / 1e9, 9)
        pieces.append(
            Piece(f"{rest['n'].sum()} other calls and gaps, each part under 1 %", seconds, True, "rest", None, ())
        )
    peer = f" with {best['peer']}" if best["peer"] else ""
    title = f"{REQUESTS.get(best['kind'], 'One request')}{peer}: lines {best['line_from']} to {best['line_to']}"
    return WhoseSeconds(title, best["wall_s"], best["host"], pid_words(best["pid"]), tuple(pieces))


def _inside(finding: Finding, request: dict[str, Any]) -> bool:
    return finding.unit == "s" and finding.clock == request["clock"] and any(
        c.artifact == request["artifact_id"] and request["line_from"] <= c.line_from and c.line_to <= request["line_to"] for c in finding.citations
    )  # fmt: skip


def _of_cover(case: Case, cite: Cite) -> WhoseSeconds | None:
    rows = case.derived("wait_cover").filter(pl.col("residence") != "none").sort("client_s", descending=True).to_dicts()
    if not rows:
        return None
    best = rows[0]
    server, client = _ns(best["server_s"]), _ns(best["client_s"])
    waited = cite(best["server_artifact"], best["server_from"], best["server_to"], "server wait")
    read = cite(best["client_artifact"], best["client_from"], best["client_to"], "client wait")
    rest = "everything else: network both ways, client, listener outside its wait"
    pieces = (
        Piece("passed in the wait on the server", server / 1e9, False, "wait", None, waited),
        Piece(rest, (client - server) / 1e9, True, "rest", None, read),
    )
    return WhoseSeconds("One client wait", client / 1e9, best["client_host"], "client read", pieces)
