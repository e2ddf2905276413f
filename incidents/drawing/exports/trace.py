"""Write rows in the trace event format that Perfetto and Chromium read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from incidents.drawing.frames import Frame


def events(frame: Frame, rows: Iterable[Mapping[str, Any]], about: Mapping[str, Any]) -> Iterator[str]:
    """Write rows of `table` as trace event JSON in pieces: spans become complete events, moments instants.

    Samples become counter events. Times are microseconds on the frame's axis, with the offsets between its clocks
    applied; `about` names these offsets.
    """
    epoch = frame.epoch or 0.0
    pids: dict[tuple[str, str], int] = {}
    tids: dict[tuple[int, str], int] = {}
    yield '{"displayTimeUnit": "ms", "otherData": ' + json.dumps(about) + ', "traceEvents": ['
    comma = ""
    for row in rows:
        if row["value"] is not None and not math.isfinite(row["value"]):
            continue  # JSON has no word for it
        head = row["strip"].split(" ")[0] if row["lane"] == "syscalls" else row["lane"]
        group = (row["host"] or "unknown host", head)
        if group not in pids:
            pids[group] = len(pids) + 1
            yield comma + json.dumps(
                {"ph": "M", "name": "process_name", "pid": pids[group], "args": {"name": " ".join(group).strip()}}
            )
            comma = ",\n"
        pid = pids[group]
        thread = (pid, row["strip"])
        if thread not in tids:
            tids[thread] = len(tids) + 1
            named = {"name": row["strip"] or row["lane"]}
            yield comma + json.dumps({"ph": "M", "name": "thread_name", "pid": pid, "tid": tids[thread], "args": named})
        yield comma + json.dumps(_event(row, pid, tids[thread], epoch))
    yield "]}\n"


def _event(row: Mapping[str, Any], pid: int, tid: int, epoch: float) -> dict[str, Any]:
    begin, end = (row["begin_s"] + epoch) * 1e6, (row["end_s"] + epoch) * 1e6
    args = {
        "artifact": row["artifact"],
        "line_from": row["line_from"],
        "line_to": row["line_to"],
        "clock": row["clock"],
    }
    event = {
        "name": row["label"] or row["lane"],
        "cat": row["lane"],
        "pid": pid,
        "tid": tid,
        "ts": round(begin, 3),
        "args": args,
    }
    if row["value"] is not None:
        name = " ".join(filter(None, [row["lane"], row["strip"]]))
        return event | {"ph": "C", "name": name, "ts": round(end, 3), "args": {row["unit"] or "value": row["value"]}}
    if end > begin:
        return event | {"ph": "X", "dur": round(end - begin, 3), "args": args | {"at_most": bool(row["at_most"])}}
    return event | {"ph": "i", "s": "t"}
