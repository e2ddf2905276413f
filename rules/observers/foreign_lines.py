"""What programs complain of between the lines of another tool's output: the error of the command that was timed, of the client that was
captured.

Standing out: a line that no format took (a note of kind unknown) and that complains or that a signature knows. Below it may stand how
long its command took: then the wait is the command's, less its own computing. Normal: other strange lines. The general reader has such
lines of text of no kind, so that its parts are left out; so are parts with more than `MOST_STRANGE` stretches, which were misread.
Worked example: `app: Temporary failure in name resolution` above `real 0m10.2s`: "the command that took 10.200 s ended with ...".
Cost: the notes of an artifact, which are few, and the times of its commands. Source: house convention; time(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.log_complaints import NOT_WORDS, WORDS, with_end
from rules.observers.observer import FELT_S, MOST, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen, recognise

OBSERVER = Observer(
    "foreign-lines",
    "What do programs complain of between the lines of another tool?",
    ("notes",),
    like="log-complaints",
)

GENERAL_KIND = "text"

MOST_STRANGE = 100
"""Maximum number of stretches of strange lines in a part: with more the part is not of its kind."""

MOST_LINES_READ = 2_000

CUT = 290
"""Number of characters of a note from which its last line may be cut."""

WITHIN = 40
"""Maximum number of lines between a complaint and the time of its command."""

SHARE = 0.3
"""Share of a complaint of which nobody knows the time."""

GAVE_UP_S = 1.0
"""Minimum seconds of a command that ended with a failed look-up for the look-up to have waited: an answer takes milliseconds."""

GIVES_UP = re.compile(r"Temporary failure in name resolution|\bEAI_AGAIN\b")
"""Errors of getaddrinfo(3) that come when no server answered (EAI_AGAIN)."""

COLUMNS = re.compile(r"[^\d]*\S {2,}\S[^\d]* {2,}[^\d]*")
"""A line without a figure whose words stand in three columns or more: a heading, which complains of nothing."""

TOOK = re.compile(r"\b(?:after|in) (\d{1,9}) (?:milliseconds|ms)\b")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield complaints of other programs, those whose time is known first."""
    kinds = case.table("artifacts", ["artifact_id", "part", "kind"])
    columns = [*PLACE_COLUMNS, "part", "line_no", "line_end", "kind", "text"]
    notes = case.scan("notes", columns, pl.col("kind") == "unknown").drop("kind")
    others = kinds.filter(pl.col("kind") != GENERAL_KIND).select("artifact_id", "part").unique()
    stretches = (
        notes.filter(pl.len().over("artifact_id", "part") <= MOST_STRANGE)
        .join(others.lazy(), on=["artifact_id", "part"], how="semi")
        .collect(engine="streaming")
    )
    rows = list(_lines(stretches))[:MOST_LINES_READ]
    if not rows:
        return
    said = pl.col("text")
    told = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        (said.str.contains(WORDS) & ~said.str.contains(NOT_WORDS)).alias("complains")
    )
    times = _times(case) if case.may_have("conn_times") else {}
    found = [made for row in told.iter_rows(named=True) if (made := _sighting(row, times))]
    yield from sorted(found, key=lambda s: (not s.failure, -(s.seconds or 0.0), s.lines[0].line_from))[:MOST]


def _lines(stretches: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the single lines of notes, without the last line of a note whose text was cut off."""
    for row in stretches.sort("artifact_id", "line_no").iter_rows(named=True):
        texts = str(row["text"]).split("\n")
        whole = len(texts) == row["line_end"] - row["line_no"] + 1 and len(str(row["text"])) < CUT
        for n, text in enumerate(texts if whole else texts[:-1]):
            if text.strip() and not COLUMNS.fullmatch(text.strip()):
                yield {**row, "line_no": row["line_no"] + n, "text": text.strip()}


def _times(case: CaseTables) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the commands with their real time and their own, by artifact and part, in order."""
    columns = [*PLACE_COLUMNS, "part", "series", "line_no", "line_end", "elapsed_s", "cpu_s"]
    rows = case.scan("conn_times", columns, pl.col("cpu_s").is_not_null() & pl.col("elapsed_s").is_finite())
    made: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows.sort("line_no").head(MOST_LINES_READ).collect(engine="streaming").iter_rows(named=True):
        made.setdefault((row["artifact_id"], row["part"]), []).append(row)
    return made


def _sighting(row: dict[str, Any], times: dict[tuple[int, int], list[dict[str, Any]]]) -> Sighting | None:
    text = row["text"]
    known = [s for s in recognise(log=text) if s.strength in ("mechanism", "shape")]
    if not known and not row["complains"]:
        return None
    command = next(
        (
            t
            for t in times.get((row["artifact_id"], row["part"]), ())
            if row["line_no"] <= t["line_end"] <= row["line_no"] + WITHIN
        ),
        None,
    )
    wait = max(0.0, command["elapsed_s"] - command["cpu_s"]) if command else 0.0
    seen: tuple[Seen, ...] = ({"log": text},)
    lines = [Lines(row["artifact_id"], row["line_no"], row["line_no"], "what the program says")]
    if command and wait >= FELT_S and known:
        lines.append(Lines(row["artifact_id"], command["line_end"] - 2, command["line_end"], "how long it took"))
        if wait >= GAVE_UP_S and GIVES_UP.search(text):
            seen = ({"event": "look-up-gave-up"}, *seen)
        head = f'the command that took {figure(command["elapsed_s"], "s")} ended with "{with_end(text)}"'
        value, name, unit = wait, "waiting_s", "s"
    else:
        wait = 0.0
        took = TOOK.search(text)
        value, name, unit = (int(took[1]) / 1e3, "duration_s", "s") if took else (1.0, "lines_count", "count")
        head = f'between the lines of another tool stands "{with_end(text)}"'
    return Sighting(
        "error",
        with_end(text),
        head,
        name,
        value,
        unit,
        tuple(lines),
        **place(row),
        seconds=wait or None,
        share=None if wait else SHARE,
        of_s=command["elapsed_s"] if command and wait else None,
        failure=any(s.strength == "mechanism" for s in known) or bool(wait),
        seen=seen,
    )
