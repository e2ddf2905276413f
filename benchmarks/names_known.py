"""Measure the share of names on cited lines that a signature recognises.

    python -m benchmarks.names_known [--whole] [FOLDER]

Each case under FOLDER (default tests/cases) whose truth.yaml has facts is read, and the names are taken from the rows
that the formats made of the cited lines: functions, calls, errors, paths, ports, events, counters, settings, codes and
messages. A name counts once per case, and as known if any signature matches, even one without a cause. Names that exist
on one site only (`OWN`: folders made for a test, ports that the system assigned, functions of a program with its own
module path) are counted separately, because no list can have them. `--whole` takes all lines of the files instead of
the cited ones, which shows the coverage for lines that nobody selected.
"""

from __future__ import annotations

import argparse
import io
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.machine import keep
from rules.case.reading import open_paths
from rules.judging.truth import CASE, TRUTH, load_truth
from rules.observers.frames import bare, named, names_of
from rules.signatures.signatures import Seen, recognise

CASES = Path(__file__).resolve().parent.parent / "tests" / "cases"
TARGET = 0.8
MOST_ROWS = 5_000
"""Maximum number of rows of one table of one file that are examined."""

FRAME = re.compile(
    r"\s*(?:\? |RIP: [0-9a-f]+:|epc : |ra : )?\s*([A-Za-z_]\w+(?:\.\w+)*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[\w+\])?\s*"
)
"""A line of a log that is one frame of the kernel."""

LOCAL_PORTS_FROM = 32_768
"""First port that Linux assigns to outgoing connections (ip-sysctl, ip_local_port_range)."""

OWN = {
    "paths": re.compile(r"/tmp/incident-"),
    "functions": re.compile(r"(?:github|gitlab)\.com/|^\w+\.\w+/|.*::.*::"),
    "messages": re.compile(r"(?i)^(?:select|insert|update|delete) "),
}  # fmt: skip
"""Patterns of names that exist on one site only: in a test, a program or a statement."""

Row = Mapping[str, Any]
Name = tuple[str, str, tuple[Seen, ...]]
"""Area, name, and the forms of the name by which a signature may recognise it."""


def names(table: str, row: Row, cited: Sequence[tuple[int, int]] | None) -> Iterator[Name]:
    """Yield the names of one row of a table; of a stack only the frames on cited lines (None: all)."""
    if table == "profile_stacks":
        frames = row.get("frames") or []
        lines = row.get("frame_lines") or [None] * len(frames)
        for frame, line in zip(frames, lines, strict=False):
            if frame and named(frame) and (line is None or cited is None or any(a <= line <= b for a, b in cited)):
                yield "functions", bare(frame), names_of(frame)
        if row.get("event"):
            yield "events", row["event"], ({"event": row["event"]},)
    elif table == "profile_symbols" and row.get("symbol") and named(row["symbol"]):
        yield "functions", bare(row["symbol"]), names_of(row["symbol"], row.get("kernel"))
    elif table in ("syscalls", "open_calls"):
        yield "calls", row["name"], ({"call": row["name"]},)
        if row.get("err"):
            yield "errors", f"{row['err']} {row['name']}", ({"errno": row["err"], "call": row["name"]},)
        if row.get("path"):
            yield "paths", row["path"], ({"path": row["path"]},)
        if row.get("peer_port"):
            yield "ports", str(row["peer_port"]), ({"port": row["peer_port"]},)
    elif table == "syscall_totals" and row.get("name"):
        yield "calls", row["name"], ({"call": row["name"]}, {"symbol": row["name"]})
    elif table in ("libcalls", "sqlnet") and row.get("func"):
        yield "functions", row["func"], ({"symbol": row["func"]},)
    elif table == "signals" and row.get("signal"):
        yield "errors", row["signal"], ({"code": row["signal"]},)
    elif table in ("counters", "params", "resource_use", "meminfo"):
        yield _figure(table, row)
    elif table == "logs":
        yield from _message(row)
    elif table in ("db_waits", "sessions") and row.get("event"):
        yield "events", row["event"], ({"event": row["event"]},)
    elif table == "conn_times" and row.get("err"):
        yield "codes", row["err"], ({"code": row["err"]},)
    elif table in ("sockets", "fdmap", "packets"):
        ports = [row[c] for c in ("local_port", "peer_port", "sport", "dport") if row.get(c)]
        if ports:
            yield "ports", str(min(ports)), ({"port": min(ports)},)
        if row.get("path"):
            yield "paths", row["path"], ({"path": row["path"]},)


def _figure(table: str, row: Row) -> Name:
    group = row.get("grp") or row.get("scope")
    counter: Seen = {"counter": row["name"]}
    setting: Seen = {"parameter": row["name"]}
    if group:
        counter["group"] = setting["group"] = group
    if table == "params" and row.get("value") is not None:
        setting["value"] = str(row["value"]).strip()
    limit: Seen = {**counter, "observer": "near-limit"}
    area = "settings" if table == "params" else "counters"
    return area, f"{group or ''}:{row['name']}", (counter, setting, limit)


def _message(row: Row) -> Iterator[Name]:
    for code in [row.get("code"), *(row.get("secondary") or [])]:
        if code:
            yield "codes", code, ({"code": code},)
    text = row.get("text")
    if not text or row.get("source") == "text":
        return  # a line that only the general reader read is no message of a known program
    if frame := FRAME.fullmatch(text):
        yield "functions", frame[1], names_of(frame[1], True)
        return
    seen: list[Seen] = [{"log": text}]
    if row.get("program"):
        seen.append({"log": text, "process": row["program"]})
    if row.get("code"):
        seen.append({"code": row["code"]})
    yield "messages", text, tuple(seen)


def own(area: str, name: str) -> bool:
    """Return whether a name exists on one site only."""
    if area == "ports":
        return int(name) >= LOCAL_PORTS_FROM
    return bool(area in OWN and OWN[area].match(name))


def names_of_case(home: Path, whole: bool) -> Iterator[Name]:
    """Yield the names on the cited lines of a case, or on all its lines."""
    truth = load_truth((home / TRUTH).read_text("utf-8"), home.name)
    case = home / CASE
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        spec, _ = open_paths([home], case if case.is_file() else None, Path(folder))
        for artifact in spec.artifacts:
            cited = [fact.range for fact in truth.facts if fact.file == artifact.file]
            if artifact.reading and (whole or cited):
                for table, rows in _tables(Path(artifact.reading), None if whole else cited):
                    for row in rows:
                        yield from names(table, row, None if whole else cited)


def _tables(reading: Path, cited: Sequence[tuple[int, int]] | None) -> Iterator[tuple[str, Iterable[Row]]]:
    for folder in sorted(p for p in reading.iterdir() if p.is_dir()):
        files = sorted(folder.glob("*.parquet"))
        if not files or folder.name in ("line_index", "artifacts", "notes"):
            continue
        rows = pl.concat([pl.read_parquet(file) for file in files], how="diagonal_relaxed")
        if "line_no" not in rows.columns:
            continue
        if cited is not None:
            last = pl.coalesce("line_end", "line_no") if "line_end" in rows.columns else pl.col("line_no")
            rows = rows.filter(pl.any_horizontal((pl.col("line_no") <= b) & (last >= a) for a, b in cited))
        yield folder.name, rows.head(MOST_ROWS).iter_rows(named=True)


def measure(cases: Path, whole: bool) -> dict[str, Any]:
    """Return the share of known names by area and in all, and the unknown ones."""
    known: dict[str, dict[tuple[str, str], bool]] = {}
    apart: dict[str, set[str]] = {}
    for path in sorted(cases.rglob(TRUTH)):
        home = path.parent
        if "\nfacts:" not in path.read_text("utf-8"):
            continue
        for area, name, seen in names_of_case(home, whole):
            fits = any(recognise(**one) for one in seen)
            if not fits and own(area, name):
                apart.setdefault(area, set()).add(name[:120])
                continue
            key = home.relative_to(cases).as_posix(), name
            known.setdefault(area, {})[key] = fits or known.get(area, {}).get(key, False)
    areas = {
        a: {"names": len(k), "known": sum(k.values()), "share": round(sum(k.values()) / len(k), 3)}
        for a, k in sorted(known.items())
    }
    number, fit = sum(a["names"] for a in areas.values()), sum(a["known"] for a in areas.values())
    return {
        "target": TARGET,
        "lines": "all" if whole else "cited",
        "names": number,
        "known": fit,
        "share": round(fit / number, 3) if number else None,
        "areas": areas,
        "of_one_site": {a: len(n) for a, n in sorted(apart.items())},
        "unknown": {} if whole else {a: sorted({n[:120] for (_, n), fits in k.items() if not fits}) for a, k in sorted(known.items())},
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--whole", action="store_true", help="all lines, not only the cited ones")
    parser.add_argument("folder", nargs="?", type=Path, default=CASES)
    options = parser.parse_args()
    keep("names_known_whole" if options.whole else "names_known", measure(options.folder, options.whole))
