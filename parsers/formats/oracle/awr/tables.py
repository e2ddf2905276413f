"""Read rows of workload reports by their headings: tables with known columns, and all others in a general way.

A table with a name in the first cell and figures in the others is read without knowledge of its section: `grp` is the title,
`item` the first cell, `name` the heading of the figure.

    Wait Class                  Waits       Time (sec)       Time   time Sessions
    ---------------- ---------------- ---------------- ---------- ------ --------
    Application                    15               53  3524.27ms   98.9      0.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from parsers.formats.oracle.shared.figures import figure, seconds

Row = tuple[str, dict[str, Any]]
"""Name of an evidence table, and the cells of a row."""
NO_DATA = "No data exists for this section of the report."
_LABELLED = re.compile(
    r"([A-Za-z%][^:]{2,60}?) *: +(-?[0-9][0-9.,]*[KMG%]?|\.[0-9]+)(?: +(-?[0-9][0-9.,]*[KMG%]?|\.[0-9]+))?(?= {2,}\S|$)"
)
_OS = (("linux", "linux"), ("solaris", "solaris"), ("aix", "aix"), ("hp-ux", "hpux"), ("windows", "windows"))
WITH_KNOWN_COLUMNS = (
    *(
        "top 5",
        "top 10",
        "init.ora",
        "wait event",
        "foreground wait events",
        "background wait events",
        "time model",
        "load profile",
    ),
    *("host cpu", "operating system", "instance activity", "segments by"),
)
"""Sections whose tables have known columns: if their headings are lost, their rows are not read in the general way."""
_ABOUT = ("db name", "instance", "container db id", "db id", "id", "i#")
"""First headings of tables about the database and its instances, which have names and no figures."""


def rows(section: str, heads: list[str], cells: list[str]) -> list[Row] | None:
    """Read a row of a table with known columns (except events and statements); None if its headings and cells do not fit."""
    first, others = heads[0], " ".join(heads[1:])
    if "per second" in " ".join(heads[1:3]) and not first.startswith("statistic"):
        return _load_profile(heads, cells)
    if first.startswith("parameter") and "value" in others:
        return [("params", _parameter(cells))]
    if first.startswith("resource name"):
        return [("resource_use", _resource(heads, cells))]
    if first.startswith("statistic") and figure(cells[1]) is not None:
        return _statistic(section, heads, cells)
    if any(h.endswith("%user") for h in heads):
        return _host_cpu(heads, cells)
    return None


def named(section: str, heads: list[str], cells: list[str]) -> list[Row] | None:
    """Read a row of any other table: a name, then figures; return None if another cell contains a word.

    >>> [(r["item"], r["name"], r["value"], r["unit"]) for _, r in named("wait classes", ["wait class", "waits", "avg time"], ["Commit", "2", "19.72ms"])]
    [('Commit', 'waits', 2.0, None), ('Commit', 'avg time', 0.01972, 's')]
    >>> named("services", ["name", "waits"], ["a text", "of words"]) is None
    True
    """
    item = cells[0].rstrip(": ")
    if not section or not item or heads[0] in _ABOUT[:-1] or not (any(cells[1:]) or cells[0].endswith(":")):
        return None
    rows_found: list[Row] = []
    for name, cell in zip(_names(heads[1:]), cells[1:], strict=True):
        value = figure(cell)
        if value is None and cell not in ("", "N/A"):
            return None
        if value is not None:
            timed = seconds(cell)
            unit = "%" if "%" in name else "s" if timed is not None or "(s)" in name or "(sec)" in name else None
            unit = "/s" if unit is None and name.endswith(("/s", "/second", "per sec")) else unit
            is_level = timed is not None or "%" in name or "avg" in name
            mode = "level" if is_level else "rate" if "per " in name or "/s" in name else "total"
            value = value if timed is None else timed
            rows_found.append(("counters", _counter(section, item, name, value, unit, mode)))
    return rows_found


def labelled(section: str, text: str) -> list[Row] | None:
    """Read a line of one or more `Label: figure`, perhaps with two figures: at the beginning and at the end; None if it is not one.

    >>> [(r["name"], r["item"], r["value"]) for _, r in labelled("cache sizes", "Buffer Cache:       424M       512M  Std Block Size:         8K")]
    [('Buffer Cache', 'begin', 424000000.0), ('Buffer Cache', 'end', 512000000.0), ('Std Block Size', None, 8000.0)]
    """
    pairs = list(_LABELLED.finditer(text))
    if not section or not pairs or re.sub(r"\s", "", text) != re.sub(r"\s", "", "".join(m[0] for m in pairs)):
        return None
    rows_found: list[Row] = []
    for pair in pairs:
        name, items = pair[1].strip(), ("begin", "end") if pair[3] else (None,)
        unit = "%" if "%" in name else None
        for item, cell in zip(items, (pair[2], pair[3]), strict=False):
            rows_found.append(("counters", _counter(section, item, name, figure(cell), unit, "level")))
    return rows_found


def host(of: dict[str, str]) -> dict[str, Any] | None:
    """Read the row of the host, its cells by heading; return None if it has neither a number of processors nor a system."""
    platform = of.get("platform", "").lower()
    os = next((name for word, name in _OS if word in platform), None)
    memory = next((figure(c) for h, c in of.items() if h.startswith("memory")), None)
    ncpu, cores = figure(of.get("cpus")), figure(of.get("cores"))
    if ncpu is None and os is None:
        return None
    return {
        "os": os, "model": of.get("platform") or None, "role": "db", "ncpu": None if ncpu is None else int(ncpu),
        "cores": None if cores is None else int(cores), "mem_kb": None if memory is None else round(memory * 1048576),
    }  # fmt: skip


def ash_head(name: str, text: str) -> dict[str, Any] | None:
    """Read a figure in the head of an ASH report; return None if it is not a number.

    >>> ash_head("elapsed time", "60.0 (mins)")["value"]
    3600.0
    """
    value = figure(text.split()[0])
    if value is None:
        return None
    if name == "elapsed time" and "min" in text:
        return _counter("snapshot", None, "elapsed", round(value * 60, 6), "s", "total")
    name = "elapsed" if name == "elapsed time" else name.replace(" ", "_").replace(".", "")
    return _counter("snapshot", None, name, value, None, "level" if name.startswith("a") else "total")


def is_about(heads: list[str]) -> bool:
    """Return whether a table is about the database and its instances."""
    return heads[0] in _ABOUT


def _counter(grp: str, item: str | None, name: str, value: float | None, unit: str | None, mode: str) -> dict[str, Any]:
    return {"grp": grp, "item": item, "name": name, "value": value, "unit": unit, "mode": mode}


def _names(heads: list[str]) -> Iterator[str]:
    """Yield the headings; a repeated one gets the group in front that an earlier heading names (`Reads:  Reqs`)."""
    group = ""
    for head in heads:
        begins = re.match(r"([a-z]+): ", head)
        group = begins[1] if begins else group
        yield head if begins or heads.count(head) == 1 or not group else f"{group}: {head}"


def _load_profile(heads: list[str], cells: list[str]) -> list[Row] | None:
    if figure(cells[1]) is None:
        return None
    name = cells[0].rstrip(":").strip()
    return [
        ("counters", _counter("load_profile", head, name, value, "/s" if "second" in head else None, "rate"))
        for head, cell in zip(heads[1:], cells[1:], strict=True)
        if (value := figure(cell)) is not None
    ]


def _parameter(cells: list[str]) -> dict[str, Any]:
    setting = cells[2] if len(cells) > 2 and cells[2] else cells[1]
    return {
        "scope": "oracle",
        "active": True,
        "name": cells[0].lower(),
        "value": setting or None,
        "num": figure(setting),
    }


def _resource(heads: list[str], cells: list[str]) -> dict[str, Any]:
    values = [figure(c) for c in cells[1:]]
    limit = next((v for h, v in zip(heads[1:], values, strict=True) if h.startswith("limit")), values[-1])
    return {"scope": "oracle", "name": cells[0].lower(), "used": values[0], "peak": values[1], "limit_num": limit}


def _statistic(section: str, heads: list[str], cells: list[str]) -> list[Row]:
    timed = "time (s)" in heads[1]
    os = section.startswith(("operating", "os stat"))
    group = "time_model" if timed else "os_stats" if os else "instance_activity"
    rows_found: list[Row] = []
    for head, cell in zip(heads[1:], cells[1:], strict=True):
        if (value := figure(cell)) is not None and "%" not in head:
            unit = "s" if "time (s)" in head else "/s" if "per second" in head else None
            mode = "rate" if "per " in head else "level" if head in ("begin value", "end value") and not os else "total"
            rows_found.append(
                ("counters", _counter(group, None if head == heads[1] else head, cells[0], value, unit, mode))
            )
    return rows_found


def _host_cpu(heads: list[str], cells: list[str]) -> list[Row]:
    names = [h.replace("load average ", "load_").replace("~", "").strip() for h in heads]
    return [
        ("counters", _counter("host_cpu", None, name, value, "%" if "%" in name else None, "level"))
        for name, cell in zip(names, cells, strict=True)
        if (value := figure(cell)) is not None
    ]
