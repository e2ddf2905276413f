"""How the last run of a container ended, as Kubernetes or Docker describe it: why, after how long, at which limit, how often.

Standing out: a last state that is terminated with a reason such as OOMKilled or Error, told with how long that run lasted, how often
the container was started again, and its memory limit. Normal: a container without a last state, or whose last run completed.
Worked example: `Reason: OOMKilled`, `Started: ... 10:00:05`, `Finished: ... 10:00:47`, `Restart Count: 6`, below `Limits:` `memory: 64Mi`:
killed at its memory limit of 64 MiB, 42 s after its start; 6 restarts.
The State of `docker inspect` says the same in names and values: `"OOMKilled": true`, `"ExitCode": 137`.
Cost: filters by name over params, counters and logs of text. Source: kubectl describe (pkg/describe: describeContainers); Kubernetes
documentation, Resource Management for Pods and Containers; Docker Engine API, ContainerInspect (State).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "container-ends",
    "How did the last run of a container end?",
    ("params", "counters", "logs"),
    {"linux": "kubectl logs --previous POD -c CONTAINER; kubectl top pod POD --containers"},
)

BLOCK = 24
"""Maximum number of lines below the last state that describe the same container."""

LEADS, ENDED = 0.6, 0.4
"""Share of what is described: a run that ended at its limit says why by itself, any other one only that it ended."""

SIGNALLED = 128
"""What the exit code of a process that a signal ended is more than its number."""

STATE = 8
"""Maximum number of lines below `OOMKilled` in the state of one container of Docker."""

MOST_ROWS = 2_000
LONGEST_S = 10 * 365 * 86_400.0
REASON = re.compile(r"[ \t]*Reason: +(\w+)[ \t]*")
EXIT = re.compile(r"[ \t]*Exit Code: +([0-9]+)[ \t]*")
MIB = {"Ki": 2.0**-10, "Mi": 1.0, "Gi": 2.0**10, "Ti": 2.0**20, "k": 1e3 / 2**20, "M": 1e6 / 2**20, "G": 1e9 / 2**20}
"""Units of quantities of Kubernetes in MiB."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the last runs that ended with an error, in the order of their lines."""
    yield from _inspected(case)
    yield from _described(case)


def _inspected(case: CaseTables) -> Iterable[Sighting]:
    """Yield the states of Docker's containers that were killed for want of memory, or that ended with a code.

    A code above 128 is the number of the signal that ended it, plus 128 (`docker run`, exit status).
    """
    columns = [*PLACE_COLUMNS, "part", "line_no", "name", "value"]
    name = pl.col("name")
    named = case.scan("params", columns, name.is_in(["OOMKilled", "StartedAt", "FinishedAt"])).head(MOST_ROWS).collect()
    rows = named.sort("artifact_id", "line_no").to_dicts()
    if not any(r["name"] == "OOMKilled" for r in rows):
        return
    codes = case.scan("counters", columns, name == "ExitCode").head(MOST_ROWS).collect().to_dicts()
    for row in rows:
        if row["name"] != "OOMKilled" or row["value"] not in ("true", "false"):
            continue
        near = [r for r in (*rows, *codes) if _same(r, row) and 0 < r["line_no"] - row["line_no"] <= STATE]
        code = next((r for r in near if r["name"] == "ExitCode"), None)
        dates = [next((r for r in near if r["name"] == n), None) for n in ("StartedAt", "FinishedAt")]
        lived = _between(*dates)
        if row["value"] == "false" and (code is None or code["value"] == 0):
            continue
        text = "A container was ended for want of memory (OOMKilled"
        text += f", exit code {figure(code['value'], 'count')})" if code else ")"
        if row["value"] == "false" and code is not None:
            signal = int(code["value"]) - SIGNALLED
            by = f", that is by signal {signal}" if signal > 0 else ""
            text = (
                f"A container ended with exit code {int(code['value'])}{by}, and not marked as ended for want of memory"
            )
        text += f", {figure(lived, 's')} after its start" if lived is not None else ""
        cited = [row, code, *(dates if lived is not None else ())]
        yield Sighting(
            "failure",
            "the last run of a container",
            text,
            "exit_code",
            code["value"] if code else 1.0,
            "",
            tuple(
                Lines(row["artifact_id"], r["line_no"], r["line_no"], "how it ended") for r in cited if r is not None
            ),
            **place(row),
            share=LEADS if row["value"] == "true" else ENDED,
            seen=({"event": "container-at-memory-limit"},) if row["value"] == "true" else (),
        )


def _between(started: Mapping[str, Any] | None, finished: Mapping[str, Any] | None) -> float | None:
    """Return the seconds between two dates of Docker; None if one is missing, malformed, or of year 1 (not ended)."""
    if started is None or finished is None:
        return None
    try:
        begin, end = (datetime.fromisoformat(r["value"][:19]) for r in (started, finished))
    except ValueError:
        return None
    took = (end - begin).total_seconds()
    return took if 0 <= took <= LONGEST_S else None


def _described(case: CaseTables) -> Iterable[Sighting]:
    """Yield the last states of containers in the output of `kubectl describe`."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "name"]
    name = pl.col("name")
    params = case.scan("params", [*columns, "value"], name.is_in(["Last State", "State", "Started", "Finished"]))
    ends = params.head(MOST_ROWS).collect().sort("artifact_id", "line_no").to_dicts()
    if not any(r["name"] == "Last State" and r["value"] == "Terminated" for r in ends):
        return
    wanted = (name == "Restart Count") | ((name == "memory") & (pl.col("item") == "Limits"))
    counts = case.scan("counters", [*columns, "item", "value", "unit"], wanted).head(MOST_ROWS).collect().to_dicts()
    said = pl.col("text").str.contains(r"^[ \t]*(?:Reason|Exit Code): ")
    logs = case.scan("logs", ["artifact_id", "part", "line_no", "text"], said).head(MOST_ROWS).collect().to_dicts()
    states = [r for r in ends if r["name"] in ("State", "Last State")]
    for row in states:
        if row["name"] != "Last State" or row["value"] != "Terminated":
            continue
        after = [
            r["line_no"] for r in states if r["name"] == "State" and _same(r, row) and r["line_no"] > row["line_no"]
        ]
        until = min([row["line_no"] + BLOCK, *(no - 1 for no in after)])

        def below(
            rows: Sequence[Mapping[str, Any]], row: Mapping[str, Any] = row, until: int = until
        ) -> list[Mapping[str, Any]]:
            return [r for r in rows if _same(r, row) and row["line_no"] < r["line_no"] <= until]

        yield from _end(row, below(ends), below(counts), below(logs))


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one["artifact_id"] == other["artifact_id"] and one["part"] == other["part"])


def _end(
    row: Mapping[str, Any],
    ends: Sequence[Mapping[str, Any]],
    counts: Sequence[Mapping[str, Any]],
    logs: Sequence[Mapping[str, Any]],
) -> Iterable[Sighting]:
    reason = next(((m[1], r) for r in logs if (m := REASON.fullmatch(r["text"]))), None)
    if reason is None:
        return
    code = next(((m[1], r) for r in logs if (m := EXIT.fullmatch(r["text"]))), None)
    started = next((r for r in ends if r["name"] == "Started"), None)
    finished = next((r for r in ends if r["name"] == "Finished"), None)
    restarts = next((r for r in counts if r["name"] == "Restart Count"), None)
    limit = next((r for r in counts if r["name"] == "memory" and r["unit"] in MIB), None)
    lived = _seconds(started, finished)
    at_limit = reason[0] == "OOMKilled" and limit is not None
    mib = limit["value"] * MIB[limit["unit"]] if limit is not None else 0.0
    text = f"The last run of a container was ended ({reason[0]}"
    text += f", exit code {code[0]})" if code else ")"
    text += f" at its memory limit of {figure(mib, 'MiB')}" if at_limit else ""
    text += f", {figure(lived, 's')} after its start" if lived is not None else ""
    if restarts and restarts["value"]:
        often = "once" if restarts["value"] == 1 else f"{figure(restarts['value'], 'count')} times"
        text += f"; it was started again {often}"
    cited = [reason[1], code[1] if code else None, started if lived is not None else None]
    cited += [finished if lived is not None else None, restarts, limit if at_limit else None]
    yield Sighting(
        "failure",
        "the last run of a container",
        text,
        "memory_limit" if at_limit else "restarts",
        mib if at_limit else (restarts["value"] if restarts else 1.0),
        "MiB" if at_limit else "count",
        tuple(Lines(row["artifact_id"], r["line_no"], r["line_no"], "how it ended") for r in cited if r is not None),
        **place(row),
        share=LEADS if at_limit else ENDED,
        seen=({"event": "container-at-memory-limit" if at_limit else "container-ended"},),
    )


def _seconds(started: Mapping[str, Any] | None, finished: Mapping[str, Any] | None) -> float | None:
    """Return the seconds between two dates (`Mon, 02 Jan 2006 15:04:05 -0700`); None if one is missing or malformed."""
    if started is None or finished is None:
        return None
    try:
        took = (parsedate_to_datetime(finished["value"]) - parsedate_to_datetime(started["value"])).total_seconds()
    except (ValueError, TypeError):
        return None
    return took if 0 <= took <= LONGEST_S else None
