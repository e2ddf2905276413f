r"""JSON lines: one object on each line, printed by loggers and probes.

Tools: structured loggers, metric exporters, `curl -w '{"connect": %{time_connect}}\n'`. Capture: any.

Samples::

    {"ts": "2021-11-20T10:15:00Z", "host": "db1", "connect_ms": 31}
    {"time": 1598877345.1, "level": "error", "msg": "login timed out"}

Tables: conn_times if a key is a duration, logs if there is a message (with the keys that say what a slow
statement read), else counters (grp `json`, one row for each number, nested
keys with a dot). The meaning of the keys is guessed, and a question is asked, as for columns of a CSV table (`time=ts
elapsed=connect_ms:ms`). Clock: wall-utc for epochs and stamps with a zone, wall-local for others, none without stamps. Traps: keys
that first occur after 200 lines are not columns, and at most 100 keys are (noted once); a line that is not a complete object gives a
note. Known gaps: arrays, an object over several lines (pretty-printed).
"""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl

from parsers.columns.column_roles import LOOKED_AT, STAMPS, Columns, gathered, kind_of, parse_columns, suggested, wall
from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables
from parsers.text.notes import ELISION
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, span_s

OBJECT = r"^[ \t]*\{.*\}[ \t]*,?$"
MOST_KEYS = 100
MESSAGES = ("message", "msg", "text", "event", "log")
READ = r"(?i)(?:^|[.])(?:ns|planSummary|keysExamined|docsExamined|nreturned|rows_?(?:examined|sent|returned|read))$"
"""Keys about what a slow statement read; they are stored after the message."""

SEVERITIES = ("level", "severity", "lvl", "priority")

FORMAT = Format(
    kind="json_lines",
    variant="objects",
    version="2",
    systems=("solaris", "linux", "aix", "hpux", "windows", "macos"),
    tables=("counters", "conn_times", "logs"),
    man="",
    example="curl -so /dev/null -w '{\"connect\": %{time_connect}}\\n' URL",
    clocks=("wall-local", "wall-utc", "none"),
    own=r"^[ \t]*\{[ \t]*\"[^\"]+\"[ \t]*:[ \t]*[^ \t]",
)


def claim(head: Head) -> Claim | None:
    """Claim lines of JSON objects; weakly, so that the JSON of a tool (mpstat -o JSON, sadf -j) wins."""
    lines = [x for x in head.lines[:LOOKED_AT] if x]
    if not lines or "{" not in lines[0][:40]:
        return None
    good = sum(bool(_object(x)) for x in lines)
    if len(lines) == 1 and _is_entry(_object(lines[0])):
        return Claim(0.5, "one line of a log")
    if good < 2 or good * 5 < len(lines) * 3:
        return None
    return Claim(0.6 * good / len(lines), f"{good} of {len(lines)} lines are JSON objects")


def _object(line: str) -> dict[str, Any]:
    """Return the JSON object of a line, flattened to keys with dots; empty if the line is not an object."""
    try:
        value = json.loads(line.strip().rstrip(","))
    except (ValueError, RecursionError):
        return {}
    return _flat(value) if isinstance(value, dict) else {}


def _is_entry(found: dict[str, Any]) -> bool:
    """Return whether an object is an entry of a log: it has a stamp and a message."""
    stamped = any(kind_of([_text(value)]) in STAMPS for value in found.values())
    return stamped and any(name.lower() in MESSAGES[:2] for name in found)


def _flat(value: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, dict) and depth < 4:
            flat |= _flat(inner, f"{prefix}{key}.", depth + 1)
        elif not isinstance(inner, (dict, list)):
            flat[prefix + key] = inner
    return flat


def _text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the keys, their meaning, and the position."""
    return gathered(source, state, lambda frame, state: _objects(frame, source, out, state))


def _objects(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> State:
    if "names" not in state:
        begun = _begin(frame, source, out, state)
        if begun is None:
            return state
        state = begun
    line = pl.col("line").str.strip_chars(" \t,")
    valid = frame.filter(pl.col("line").str.contains(OBJECT)).with_columns(line=line)
    # Finding the root is a cheap test that the whole line is JSON.
    valid = valid.with_columns(root=pl.col("line").str.json_path_match("$")).filter(pl.col("root").is_not_null())
    bad = frame.filter((pl.col("line") != "") & ~pl.col("line_no").is_in(valid["line_no"].implode()))
    bad = bad.filter(~pl.col("line").str.contains(ELISION))
    out.notes(bad.select("line_no", kind=pl.lit("unknown"), text="no whole JSON object: " + pl.col("line")))
    if valid.is_empty():
        return state
    names: list[str] = state["names"]
    cells = [pl.col("line").str.json_path_match(_path(name)).alias(f"c{n}") for n, name in enumerate(names)]
    rows = valid.select("line_no", *cells)
    columns = Columns(**(state["columns"] | {"values": tuple(state["columns"]["values"])}))
    stamp = state["stamp"]
    rows = rows.with_columns(
        sample=pl.int_range(pl.len()) + 1 + state["sample"],
        t_local=wall(stamp, pl.col(f"c{columns.time}"), state["date"], state["order"])
        if stamp
        else pl.lit(None, pl.Float64),
    )
    _add(rows, out, columns, names)
    out.read(rows["line_no"])
    if state["clock"]:
        begin, end = span_s(rows["t_local"])
        lines = [(int(rows["line_no"][0]), int(rows["line_no"][-1]))]
        base = WALL_BASE if stamp != "clock" or state["date"] else None
        out.domain(Domain(1, state["clock"], base=base, zone=state["zone"], t_begin=begin, t_end=end, lines=lines))
    return state | {"sample": state["sample"] + len(rows)}


def _add(rows: pl.DataFrame, out: Tables, columns: Columns, names: list[str]) -> None:
    label = pl.col(f"c{columns.label}") if columns.label is not None else pl.lit(None, pl.String)
    if columns.message is not None:
        beside = [n for n, name in enumerate(names) if re.search(READ, name)]
        if all(names[n].rpartition(".")[2] == "ns" for n in beside):
            beside = []  # a namespace alone does not belong to a slow statement
        fields = [pl.format(f" {names[n].rpartition('.')[2]}={{}}", pl.col(f"c{n}")).fill_null("") for n in beside]
        severity = pl.col(f"c{columns.severity}") if columns.severity is not None else pl.lit(None, pl.String)
        text = pl.concat_str([pl.col(f"c{columns.message}"), *fields])
        out.add(
            "logs",
            rows.select("line_no", "t_local", source=pl.lit("tool"), severity=severity, client_host=label, text=text),
        )
    if columns.elapsed is not None:
        name = names[columns.elapsed]
        taken = pl.col(f"c{columns.elapsed}").cast(pl.Float64, strict=False) * columns.unit_s
        times = rows.filter(pl.col(f"c{columns.elapsed}").is_not_null()).with_columns(elapsed_s=taken)
        times = times.select(
            "line_no",
            "t_local",
            "elapsed_s",
            seq=pl.col("sample"),
            series=label.fill_null(name),
            ok=pl.col("elapsed_s").is_not_null(),
            contiguous=pl.lit("assumed"),
        )
        out.add("conn_times", times)
    for n in columns.values:
        value = pl.col(f"c{n}").cast(pl.Float64, strict=False)
        counters = rows.select(
            "line_no", "t_local", "sample", item=label, grp=pl.lit("json"), name=pl.lit(names[n]), value=value
        )
        out.add("counters", counters.filter(pl.col("value").is_not_null()))


def _path(name: str) -> str:
    return "$" + "".join(f"['{step}']" for step in name.split("."))


def _begin(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> State | None:
    """Decide the keys and their meaning by the first lines; ask what only a person knows."""
    filled = frame.filter(pl.col("line").str.contains(OBJECT)).head(LOOKED_AT)
    objects = [found for found in map(_object, filled["line"]) if found]
    if not objects:
        return None
    # A quote in a key would end the JSON path that looks it up.
    names = [
        n for n in dict.fromkeys(key for found in objects for key in found) if "'" not in n and "." not in n.strip(".")
    ][:MOST_KEYS]
    nested = [n for n in dict.fromkeys(key for found in objects for key in found) if "." in n and "'" not in n]
    names = (names + nested)[:MOST_KEYS]
    line = int(filled["line_no"][0])
    if len(dict.fromkeys(key for found in objects for key in found)) > len(names):
        out.note(line, line, "remark", f"of the keys only {len(names)} are columns")
    kinds = [kind_of([_text(found.get(name)) for found in objects]) for name in names]
    numbers = [isinstance(next((f[n] for f in objects if f.get(n) is not None), None), bool) for n in names]
    kinds = ["text" if is_bool else kind for kind, is_bool in zip(kinds, numbers, strict=True)]
    columns, reason = suggested(kinds, names)
    lower = [name.lower().rpartition(".")[2] for name in names]
    message = next(
        (lower.index(word) for word in MESSAGES if word in lower and kinds[lower.index(word)] == "text"), None
    )
    severity = next((lower.index(word) for word in SEVERITIES if word in lower), None)
    if message is not None:
        label = next((n for n, word in enumerate(lower) if word in ("host", "hostname", "node")), None)
        columns = Columns(columns.time, columns.elapsed, columns.unit_s, label, None, message, severity, ())
        reason = f"{names[message]!r} is a message"
    elif columns.label is None:
        label = next(
            (n for n, word in enumerate(lower) if word in ("host", "hostname", "node", "name", "target")), None
        )
        columns = Columns(columns.time, columns.elapsed, columns.unit_s, label, values=columns.values)
    if source.hints.columns:
        try:
            columns = parse_columns(source.hints.columns, names)
        except ValueError as error:
            out.note(line, line, "remark", f"columns as said make no sense: {error}")
    else:
        question = {
            "ask": "columns",
            "text": "Which key is what?",
            "default": columns.words(names),
            "reason": reason,
            "choices": names,
            "line": line,
        }
        out.fact("questions", [question])
    stamp = kinds[columns.time] if columns.time is not None and kinds[columns.time] in STAMPS else None
    texts = [_text(found.get(names[columns.time])) for found in objects] if columns.time is not None else []
    zoned = stamp == "epoch" or (
        stamp == "iso" and all(re.search(r"(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})$", t) for t in texts if t)
    )
    return state | {
        "names": names,
        "columns": {k: getattr(columns, k) for k in Columns.__dataclass_fields__},
        "stamp": stamp,
        "order": source.hints.date_order,
        "date": source.hints.date,
        "clock": "wall-utc" if zoned else "wall-local" if stamp else None,
        "zone": "UTC" if zoned else source.hints.tz,
        "sample": 0,
    }
