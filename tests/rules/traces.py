"""Excerpts of the published incidents as data frames, parsed independently of the real formats for comparison.

Line numbers are those of the whole seed text. Only the columns that the derived tables use are filled.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

SEEDS = Path(os.environ.get("EXHIBIT_SEEDS", Path(__file__).parents[3] / "shared" / "seeds"))

CALL = re.compile(
    r"^(\d+)(?:/(\d+))?:\s+((?:\d+\.\d{4}\s+)*)(\w+)\((.*)\)\s*(?:= (\S+)(?: \[(\w+)\])?|Err#\d+ (\w+)|argc = \d+)?\s*$"
)
DETAIL = re.compile(r"name = (\S+) port = (\d+)")
POLLED = re.compile(r"fd=(\d+)")


def seed(number: str) -> list[str]:
    """Return the lines of a seed text; FileNotFoundError if the seeds are not there."""
    return next(SEEDS.glob(f"{number}_*.txt")).read_text("utf-8").splitlines()


def payload(args: str) -> str | None:
    """Decode truss's buffer, which prints two characters per byte."""
    found = re.search(r'"(.*)"', args)
    if not found:
        return None
    text = found[1]
    pairs = [text[i : i + 2] for i in range(0, len(text), 2)]
    escapes = {r"\n": "\n", r"\0": "\0", r"\t": "\t"}
    return "".join(p[1] if p[0] == " " and len(p) == 2 else escapes.get(p, p) for p in pairs)


def truss(
    number: str, *ranges: tuple[int, int], artifact_id: int = 1, clock: str = "1.1:1", host: str | None = "db"
) -> list[dict[str, Any]]:
    """Return the completed calls of the ranges as rows of `syscalls`, sorted by stamp per thread.

    Reads stamps of -d, or of -d -D -E.
    """
    text = seed(number)
    rows: list[dict[str, Any]] = []
    for block, (first, last) in enumerate(ranges):
        cut = False
        for line_no in range(first, last + 1):
            line = text[line_no - 1]
            if line.startswith("["):
                cut = True
            detail = DETAIL.search(line)
            if detail and rows and "name = " in line:
                rows[-1].update(peer_ip=detail[1], peer_port=int(detail[2]), line_end=line_no)
            found = CALL.match(line)
            if not found or not found[3]:
                continue
            pid, lwp, stamps, name, args, ret, ret2, err = found.groups()
            numbers = [float(s) for s in stamps.split()]
            child = "returning as child" in line
            fork = "fork" in name and not child
            fd = re.match(r"(\d+)\b", args)
            whole = int(ret, 0) if ret and re.fullmatch(r"\d+|0x[0-9A-Fa-f]+", ret) else None
            path = re.match(r'"([^"]*)"', args)
            rows.append(
                {
                    "artifact_id": artifact_id,
                    "clock": clock,
                    "host": host,
                    "phase": None,
                    "line_no": line_no,
                    "line_end": line_no,
                    "t_local": numbers[0],
                    "pid": int(pid),
                    "lwp": int(lwp) if lwp else None,
                    "name": name,
                    "args": args,
                    "state": "child_start" if child else "no_return" if name == "_exit" else "done",
                    "fd": whole if name == "pipe" else int(fd[1]) if fd and name not in ("_exit", "shmat") else None,
                    "fd2": int(ret2) if ret2 and name == "pipe" else None,
                    "ret": whole,
                    "err": err,
                    "child_pid": whole if fork else None,
                    "delta_s": numbers[1] if len(numbers) > 1 else None,
                    "cpu_s": numbers[2] if len(numbers) > 2 else None,
                    "path": path[1] if path and name in ("access", "execve", "open") else None,
                    "bytes": whole if name in ("read", "write") else None,
                    "data": payload(args) if name in ("read", "write") else None,
                    "stamp": "end",
                    "block": block,
                    "cut": cut,
                }
            )
            cut = False
    rows.sort(key=lambda r: r["t_local"])
    last_of: dict[Any, dict[str, Any]] = {}
    for seq, row in enumerate(rows):
        row["seq"] = seq
        before = last_of.get((row["pid"], row["lwp"]))
        gap = None if before is None or row["state"] == "child_start" else round(row["t_local"] - before["t_local"], 4)
        row["gap_s"] = row["dur_hi_s"] = gap
        row["dur_kind"] = "none" if gap is None else "gap"
        agrees = gap is not None and row["delta_s"] is not None and abs(gap - row["delta_s"]) < 1.5e-4
        seam = before is not None and before["block"] != row["block"]
        row["contiguous"] = (
            "proven" if agrees else "broken" if seam or row["cut"] or row["delta_s"] is not None else "assumed"
        )
        if before is not None:
            row["prev_line"], row["prev_name"] = before["line_no"], before["name"]
        last_of[(row["pid"], row["lwp"])] = row
    for row in rows:
        del row["block"], row["cut"]
    return rows


BEFORE_000 = ((48, 98), (109, 116), (122, 220))
AFTER_000 = ((267, 308),)
TRUSS_001 = ((78, 83), (91, 108))
