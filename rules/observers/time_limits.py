"""Calls that ended by the time limit that the program gave them, in traces that do not say how long calls took.

For `long-waits`. A poll of 5,000 ms that returned 0 waited 5 s for an answer that did not come, also where no call has a
stamp or a duration. Source: poll(2), select(2): a result of 0 says that the time limit ended before any descriptor was
ready.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, Lines, Sighting, figure, place
from rules.observers.talk import NO_ANSWER, RESOLVER_POLL, Talk, around, in_vain, owed, peer, resolver_waits
from rules.observers.traced import calls, on, seen
from rules.walking.targets import ACCEPTS
from rules.walking.threads import OWN_S

IN_MS = ("poll", "_poll", "pollsys", "epoll_wait", "epoll_pwait")
IN_PARTS = ("select", "pselect", "pselect6", "_newselect", "ppoll", "ppoll_time64", "pselect6_time64")
_MS = r",\s*(\d+)(?:,\s*(?:NULL|\[[^\]]*\]),\s*\d+)?\s*$"
_PARTS = r"\{(?:tv_sec=)?(\d+),\s*(?:tv_(?:usec|nsec)=)?(\d+)\}"
MOST_CITED = 10
LONGEST_S = 86_400.0


def _limit_s() -> pl.Expr:
    """Return the time limit of a call in seconds; NULL if its arguments set none."""
    args, name = pl.col("args"), pl.col("name")
    ms = args.str.extract(_MS, 1).cast(pl.Float64, strict=False) / 1e3
    parts = args.str.extract_groups(_PARTS)
    second, part = (parts.struct.field(n).cast(pl.Float64, strict=False) for n in ("1", "2"))
    fine = pl.when(name.str.contains("^p|nsec")).then(1e9).otherwise(1e6)
    return pl.when(name.is_in(IN_MS)).then(ms).otherwise(second + part / fine)


def time_limits(case: CaseTables) -> Iterator[Sighting]:
    """Yield for each call and target how often its time limit ended it, those with the longest total first."""
    ended = pl.col("name").is_in([*IN_MS, *IN_PARTS]) & (pl.col("ret") == 0) & OWN_S.is_null()
    limit = _limit_s()
    serving = case.scan("syscalls", ["artifact_id", "pid"], pl.col("name").is_in([*ACCEPTS, "listen"])).unique()
    kept = [
        rows.with_columns(limit.alias("limit_s")).filter(pl.col("limit_s").is_between(FELT_S, LONGEST_S))
        for rows in calls(case, ended)
    ]
    if not kept:
        return
    rows = pl.concat(kept).join(serving.collect(), on=["artifact_id", "pid"], how="anti", nulls_equal=True)
    # A time-out of a loop in which nobody owes an answer proves nothing.
    of_resolver = pl.col("args").fill_null("").str.contains(rf"^{RESOLVER_POLL.pattern}")
    rows = rows.filter((pl.col("target").is_not_null() | of_resolver) & ~pl.col("kind").is_in(["sleep", "lock"]))
    if rows.is_empty():
        return
    whole = dict(rows.group_by("artifact_id").agg(pl.col("limit_s").sum()).iter_rows())
    groups = [
        part.sort("limit_s", "line_no", descending=[True, False])
        for _, part in rows.group_by([*PLACE_COLUMNS, "name", "target"], maintain_order=True)
    ]
    groups.sort(key=lambda part: -float(part["limit_s"].sum()))
    firsts = [part.row(0, named=True) for part in groups]
    said, vain, resolver = around(case, firsts), in_vain(case, firsts), resolver_waits(case, firsts)
    for part in groups:
        first = part.row(0, named=True)
        seconds = float(part["limit_s"].sum())
        at = (first["artifact_id"], first["line_no"])
        talk = said.get(at, Talk())
        owes = (NO_ANSWER,) if at in resolver else peer(talk, first, first["limit_s"])
        if first["target"] is None and not owes:
            continue  # what a loop waits for on its own
        more = f", {part.height:,} times, {figure(seconds, 's')} together" if part.height > 1 else ""
        asked = (
            ()
            if talk.asked is None
            else (Lines(first["artifact_id"], talk.asked.line, talk.asked.line, f"asked: {talk.asked.text}"),)
        )
        names = (*owes, *seen(first, seconds=round(first["limit_s"], 6)))
        yield Sighting(
            "wait",
            on(first),
            f"{on(first)} ended by its time limit of {figure(first['limit_s'], 's')}, without an answer{more}{talk.words}",
            "duration_s",
            first["limit_s"],
            "s",
            (
                *(
                    Lines(r["artifact_id"], r["line_no"], r["line_end"] or r["line_no"], "ended by its time limit")
                    for r in part.head(MOST_CITED).iter_rows(named=True)
                ),
                *asked,
            ),
            **place(first),
            seconds=seconds,
            of_s=whole[first["artifact_id"]],
            n=part.height,
            seen=owed(names) if at in vain else names,
        )
