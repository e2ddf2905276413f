"""Banners of sysstat and of the sar of Solaris, AIX and HP-UX: host, release, date, machine, CPUs."""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.small_texts import whole
from parsers.tables.rows import State, Tables

BANNER = (
    r"^[ \t]*Linux ([^ \t]+) \(([^)]*)\)[ \t]+([0-9][^ \t]*[0-9日])(?:[ \t]+_([^ \t]+)_)?(?:[ \t]+\(([0-9]+) CPU\))?"
)
"""A banner of sysstat: release, host, date, machine, CPUs."""

UNIX_BANNER = r"^[ \t]*(SunOS|HP-UX|AIX) ([^ \t]+) ([^ \t].*?)[ \t]+([0-9]{2}/[0-9]{2}/(?:[0-9]{4}|[0-9]{2}))$"


def banner_rows(lines: pl.DataFrame, out: Tables, state: State) -> None:
    """Write a row of hosts for each banner and configuration line that differs from the previous one."""
    rows = []
    for line_no, shape, text in (
        lines.filter(pl.col("shape").is_in(["banner", "config"])).select("line_no", "shape", "line").iter_rows()
    ):
        linux, unix = re.match(BANNER, text), re.match(UNIX_BANNER, text)
        row: dict[str, object]
        if linux:
            row = {
                "os": "linux",
                "os_release": linux[1],
                "model": linux[4],
                "ncpu": whole(linux[5]),
            }
        elif unix:
            rest = unix[3].split()
            system = {"SunOS": "solaris", "HP-UX": "hpux", "AIX": "aix"}[unix[1]]
            release = f"{rest[1]}.{rest[0]}" if system == "aix" and len(rest) > 2 else rest[0]
            row = {"os": system, "os_release": release, "model": rest[-1] if system != "aix" else None, "ncpu": None}
        else:
            said = dict(re.findall(r"(\w+)=([^ \t]+)", text))
            row = {
                "os": "aix",
                "os_release": None,
                "model": None,
                "ncpu": whole(said.get("lcpu")),
            }
            row |= {
                "ent": to_float(said.get("ent")),
                "capped": said.get("mode", "").startswith("Capped") if "mode" in said else None,
            }
        if shape == "banner":
            banner = linux or unix
            out.fact("host", banner[2] if banner else None)
            out.fact("os", str(row["os"]))
            out.fact("os_release", str(row["os_release"]))
        if row != state.get("said_host") and [row] != [state.get("said_config")]:
            state["said_host" if shape == "banner" else "said_config"] = row
            rows.append({"line_no": line_no, **row})
    if rows:
        columns = {"line_no": pl.Int64, "os": pl.String, "os_release": pl.String, "model": pl.String, "ncpu": pl.Int64}
        out.add("hosts", pl.DataFrame(rows, schema=columns | {"ent": pl.Float64, "capped": pl.Boolean}))


def to_float(text: str | None) -> float | None:
    """Return the number that a text spells, or None."""
    try:
        return float(text) if text else None
    except ValueError:
        return None
