"""Pieces of a traced request: its parts in words, with the lines that show them, in this trace or another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import polars as pl

from rules.case.case import Case
from rules.model import Citation, Finding, Piece
from rules.walking.request_walk import ASKED

Cite = Callable[[int, int, int, str], tuple[Citation, ...]]


LEFT: Final = pl.col("kind").is_in(ASKED) & pl.col("to_artifact").is_not_null()
"""Matches the rest of followed waits for answers: upper bounds for the network and others, blamed on nobody."""

Lines = tuple[int, str | None, int, int]
"""Artifact, clock, first and last line."""


def lines_of(answers: pl.DataFrame, requests: pl.DataFrame) -> list[Lines]:
    """Return the lines of other traces on which a request was answered (`answer_parts`), extended to the whole requests
    of the server.
    """
    own = (pl.col("in_artifact") == pl.col("artifact_id")) & pl.col("in_clock").eq_missing(pl.col("clock"))
    made = answers.filter(~own).group_by("in_artifact", "in_clock", "pid", maintain_order=True).agg(
        pl.col("line_no").min(), pl.col("line_end").max()
    )  # fmt: skip
    found = []
    for artifact, clock, pid, first, last in made.iter_rows():
        served = requests.filter(
            (pl.col("artifact_id") == artifact)
            & pl.col("clock").eq_missing(pl.lit(clock, pl.String))
            & pl.col("pid").eq_missing(pl.lit(pid, pl.Int64))
            & (pl.col("line_from") <= last)
            & (pl.col("line_to") >= first)
        )
        found.append((artifact, clock, min([first, *served["line_from"]]), max([last, *served["line_to"]])))
    return found


def reaches(finding: Finding, served: Sequence[Lines]) -> bool:
    """Return whether a finding cites lines on which another trace answered."""
    return finding.unit == "s" and any(
        (c.artifact, finding.clock) == (artifact, clock) and first <= c.line_from and c.line_to <= last
        for c in finding.citations
        for artifact, clock, first, last in served
    )


def merged(parts: pl.DataFrame) -> pl.DataFrame:
    """Sum up parts that are alike: many short answers of one server are one piece. Parts of `request_parts` are already
    summed.
    """
    if "in_artifact" not in parts.columns:
        return parts.with_columns(
            pl.col("artifact_id").alias("in_artifact"), pl.col("clock").alias("in_clock"), pl.col("host").alias("in_host"),
            pl.lit(None, pl.Int64).alias("to_artifact"), pl.lit(None, pl.String).alias("to_host"),
        )  # fmt: skip
    alike = [
        "in_artifact",
        "in_clock",
        "in_host",
        "level",
        "pid",
        "lwp",
        "kind",
        "target",
        "to_artifact",
        "to_clock",
        "to_host",
        "to_pid",
    ]
    longest = pl.col("dur_s").arg_max()
    return parts.group_by([*alike, pl.when(pl.col("target").is_null()).then("name").alias("_name")], maintain_order=True).agg(
        pl.col("name").get(longest), pl.col("n").sum(), pl.col("dur_s").map_batches(_added, return_dtype=pl.Float64, returns_scalar=True),
        pl.col("line_no").min(), pl.col("line_end").max(), pl.col("line_max").get(longest),
    )  # fmt: skip


def _added(seconds: pl.Series) -> float:
    return float(round(sum(round(s * 1e9) for s in seconds) / 1e9, 9))


def piece_of(case: Case, part: dict[str, Any], request: dict[str, Any], blamed: Sequence[Finding], cite: Cite) -> Piece:
    """Return one part as a piece.

    The label names the host if another trace shows the part, and the reason if a wait could not be followed.
    """
    line = part["line_max"] or part["line_no"]
    finding = next(
        (
            f for f in blamed
            if f.unit == "s" and f.clock == part["in_clock"]
            and any(c.artifact == part["in_artifact"] and c.line_from <= line <= c.line_to for c in f.citations)
        ),
        None,
    )  # fmt: skip
    label = _label(part)
    far = (part["in_artifact"], part["in_clock"]) != (request["artifact_id"], request["clock"])
    if far:
        label += f", on {part['in_host'] or 'an unknown host'}"
    if part["pid"] is not None and (far or part["pid"] != request["pid"]):
        label += f", in pid {part['pid']}"
    label += _not_followed(case, part)
    lines = dict.fromkeys((line, part["line_no"], part["line_end"]))
    citations = tuple(c for n in lines for c in cite(part["in_artifact"], n, n, "piece"))
    kind: Literal["traced", "untraced", "wait", "culprit", "rest"] = "traced"
    if finding is not None and part["kind"] != "not traced" and not _everything_else(part):
        kind = "culprit"
    elif part["kind"] == "not traced":
        kind = "untraced"
    elif _everything_else(part):
        kind = "rest"
    elif part["kind"] in ("child", "pipe", "socket", "connect", "poll", "lock", "name service", "idle", "sleep"):
        kind = "wait"
    return Piece(label, part["dur_s"], True, kind, finding.layer if finding and kind == "culprit" else None, citations)


ABOUT = {
    "name service": "name service", "socket": "connection", "connect": "connecting", "accept": "waiting for a connection", "pipe": "pipe",
    "file": "file", "sync": "writing through to the disk", "child": "waiting for a child", "lock": "waiting for", "sleep": "sleeping",
    "poll": "waiting on several descriptors", "idle": "waiting for new work",
}  # fmt: skip
"""Names of the kinds of parts; kinds not listed are named by their calls."""


def _everything_else(part: dict[str, Any]) -> bool:
    """Return whether a row meets the condition LEFT."""
    return part["kind"] in ASKED and part["to_artifact"] is not None


def _not_followed(case: Case, part: dict[str, Any]) -> str:
    """Return why waits for answers from another trace were not followed; "" if the part has none."""
    if part["kind"] not in ASKED or part["to_artifact"] is not None:
        return ""
    waits = case.derived("answered_by").filter(
        (pl.col("state") != "followed")
        & (pl.col("artifact_id") == part["in_artifact"])
        & pl.col("pid").eq_missing(pl.lit(part["pid"], pl.Int64))
        & pl.col("clock").eq_missing(pl.lit(part["in_clock"], pl.String))
        & pl.col("line_no").is_between(part["line_no"], part["line_end"])
    )
    reasons = []
    fits: list[int] = waits.filter(pl.col("state") == "undecided")["fits"].fill_null(0).to_list()
    if fits:
        reasons.append("; who answered is undecidable" + (f", {max(fits)} answers fit" if max(fits) else ""))
    passed = (
        waits.filter(pl.col("state") == "threads")
        .group_by("to_host", maintain_order=True)
        .agg(pl.col("server_s").sum())
    )
    for host, seconds in passed.iter_rows():
        reasons.append(
            f"; {host or 'an unknown host'} had the questions for {seconds:.4f} s of it, in more than one thread"
        )
    return "".join(reasons)


def _label(part: dict[str, Any]) -> str:
    if _everything_else(part):
        by = (part["to_host"] or "an unknown host") + (f", pid {part['to_pid']}" if part["to_pid"] is not None else "")
        return f"everything else of {part['n']} wait{'' if part['n'] == 1 else 's'} for {by}: network both ways, unread questions, client"
    if part["kind"] in ("own code", "not traced"):
        return str(part["kind"])
    calls = f"{part['n']} calls, mostly {part['name']}" if part["n"] > 1 else str(part["name"])
    if part["kind"] not in ABOUT:
        return f"{part['target']}: {calls}" if part["target"] else calls
    return " ".join(filter(None, (ABOUT[part["kind"]], part["target"]))) + f": {calls}"
