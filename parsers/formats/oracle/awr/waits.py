"""Read tables of wait events in workload reports: totals by event, and histograms of single waits."""

from __future__ import annotations

import re
from typing import Any

from parsers.formats.oracle.shared.figures import figure, seconds


def event(heads: list[str], cells: list[str]) -> dict[str, Any] | None:
    """Convert a row of events to cells of `db_waits`; return None if it has neither time nor waits nor share.

    An average that is printed as 0 or not at all is computed from time and waits.

    >>> event(["event", "waits", "time(s)", "avg wait (ms)", "% db time"], ["log file sync", "10", "2", "0", "7.5"])["avg_ms"]
    200.0
    """
    of = dict(zip(heads, cells, strict=True))

    def find(*words: str) -> str | None:
        return next((c for h, c in of.items() if any(w in h for w in words) and h != heads[0]), None)

    waits = next((c for h, c in of.items() if h == "waits" or h.endswith(" waits")), None)
    share = next(
        (c for h, c in of.items() if "%" in h and ("time" in h or "event" in h or "activity" in h) and "out" not in h),
        None,
    )
    time, average = (
        find("time(s)", "time (s)", "total wait time", "total time"),
        find("avg wait", "(ms)", "wait avg", "avg wt"),
    )
    total, n = seconds(time, "s"), figure(waits)
    if total is None and n is None and figure(share) is None:
        return None
    avg = seconds(average, "ms")
    avg_ms = None if avg is None else avg * 1000
    if not avg_ms and total and n:
        avg_ms = total / n * 1000
    return {
        "event": cells[0],
        "wait_class": find("class") or None,
        "n": None if n is None else int(n),
        "total_s": total,
        "avg_ms": None if avg_ms is None else round(avg_ms, 6),
        "pct": figure(share),
    }


_FLAT = re.compile(
    r"Event Waits Time ?\(s\)((?: Avg wait)? \(ms\))?((?: %[A-Za-z% ]*?)?(?: (?:Ela|Call|DB))? [Tt]ime)?( Wait Class)?"
)
_FLAT_ROW = re.compile(
    r"([A-Za-z][^,]*?)((?: +(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)){1,4})(?: +([A-Z][A-Za-z/ ]{2,14}))?"
)


def flat_heads(above: list[str]) -> list[str] | None:
    """Return the headings of a top list whose blanks were collapsed, so that the dashes are useless; None if it is not such a list.

    >>> flat_heads(["% Total", "Event Waits Time (s) Ela Time"])
    ['event', 'waits', 'time (s)', '% time']
    >>> flat_heads(["Event                 Waits    Time (s)"]) is None
    True
    """
    match = _FLAT.fullmatch(above[-1].strip()) if above else None
    if match is None:
        return None
    heads = [
        "event",
        "waits",
        "time (s)",
        *["avg wait (ms)"] * bool(match[1]),
        *["% time"] * bool(match[2] or match[3]),
    ]
    return heads + ["wait class"] * bool(match[3])


def flat_cells(heads: list[str], line: str) -> list[str] | None:
    """Split a row below collapsed headings; CPU time has neither waits nor an average. Return None if it is not a row.

    >>> flat_cells(["event", "waits", "time (s)", "% time"], "CPU time 37,297 52.27")
    ['CPU time', '', '37,297', '52.27']
    >>> flat_cells(["event", "waits", "time (s)", "% time"], "log file sync 7,053 50 .75")
    ['log file sync', '7,053', '50', '.75']
    """
    match = _FLAT_ROW.fullmatch(line.strip())
    if match is None or (match[3] and "wait class" not in heads):
        return None
    figures, wanted = match[2].split(), [h for h in heads[1:] if h != "wait class"]
    if len(figures) == len(wanted):
        cells = figures
    elif len(figures) == 2 and len(wanted) in (3, 4):
        cells = ["", figures[0], *[""] * (len(wanted) - 3), figures[1]]
    else:
        return None
    return [match[1], *cells, *[match[3] or ""] * (len(heads) - 1 - len(wanted))]


def copied_heads(line: str) -> list[str] | None:
    """Return the headings of a table of events that was copied from a page; None for any other line.

    >>> copied_heads("Event\\tWaits\\tTotal Wait Time (sec)\\tWait Avg(ms)\\t% DB time\\tWait Class")[2:5]
    ['total wait time (sec)', 'wait avg(ms)', '% db time']
    >>> copied_heads("Event                 Waits") is None
    True
    """
    if not line.startswith("Event") or "Waits" not in line:
        return None
    heads = [
        x.strip().lower() for x in (line.strip().split("\t") if "\t" in line else re.split(r" {2,}", line.strip()))
    ]
    timed = [h for h in heads if "time" in h]
    return heads if heads[0] == "event" and "waits" in heads and len(heads) >= 5 and len(timed) >= 2 else None


def copied_cells(heads: list[str], line: str) -> list[str] | None:
    """Split a row below such headings; CPU time has neither waits nor an average. Return None if it is not a row.

    >>> heads = ["event", "waits", "total wait time (sec)", "wait avg(ms)", "% db time", "wait class"]
    >>> copied_cells(heads, "DB CPU\\t\\t35.6\\t\\t.4")
    ['DB CPU', '', '35.6', '', '.4', '']
    >>> copied_cells(heads, "DB CPU      35.6      .4")
    ['DB CPU', '', '35.6', '', '.4', '']
    """
    cells = [x.strip() for x in (line.rstrip("\n").split("\t") if "\t" in line else re.split(r" {2,}", line.strip()))]
    if len(cells) == 3 and len(heads) >= 5 and all(figure(x) is not None for x in cells[1:]):
        time, share = (
            next((n for n, h in enumerate(heads) if n > 1 and test(h)), None) for test in (_is_time, _is_share)
        )
        if time is None or share is None:
            return None
        placed = {0: cells[0], time: cells[1], share: cells[2]}
        return [placed.get(n, "") for n in range(len(heads))]
    cells += [""] * (len(heads) - len(cells))
    named = cells[0] and not cells[0][0].isdigit() and not cells[0].endswith(":")
    return cells if len(cells) == len(heads) and named and any(cells[1:]) else None


def _is_time(head: str) -> bool:
    return "time" in head and "%" not in head and "avg" not in head


def _is_share(head: str) -> bool:
    return "%" in head and "time" in head


_EDGE = re.compile(r"(<=?|>=?) ?([0-9]+)(?:/([0-9]+))?(us|ms|s|m)$")


def histogram(heads: list[str], cells: list[str]) -> list[dict[str, Any]] | None:
    """Read a row of a wait histogram: waits, then the percentage in each bucket; return None if it has no number of waits.

    A detail (`Waits 64ms to 2s`) counts the waits between its first and its last bucket, but its percentages are of all waits of the event.

    >>> heads = ["event", "waits 64ms to 2s", "<32ms", "<64ms", "<1/8s", ">=2s"]
    >>> [(r["lo"], r["hi"], r["n"]) for r in histogram(heads, ["log file sync", "60", "25.0", "50.0", "25.0", ""])]
    [(0.0, 32.0, 20.0), (32.0, 64.0, 40.0), (64.0, 125.0, 20.0)]
    """
    total = figure(cells[1])
    if total is None:
        return None
    buckets: list[tuple[float, float | None, float | None]] = []
    lo = 0.0
    for head, cell in list(zip(heads, cells, strict=True))[2:]:
        edge = _EDGE.search(head)
        if edge is None:
            continue
        at = (seconds(edge[2] + edge[4]) or 0.0) * 1000 / float(edge[3] or 1)
        open_end = not edge[1].startswith("<")
        lo = at if open_end else lo
        buckets.append((lo, None if open_end else at, figure(cell)))
        lo = at
    if " to " in heads[1]:
        inner = sum(share or 0.0 for _, hi, share in buckets[1:] if hi is not None)
        total = total * 100 / inner if inner else total
    return [
        {
            "agg": "wait_event", "key1": cells[0], "lo": lo, "hi": hi, "unit": "ms", "n": round(total * share / 100, 3),
            "cumulative": False, "complete": True,
        }
        for lo, hi, share in buckets
        if share is not None
    ]  # fmt: skip
