"""Build the seven artifacts of seed 001, unchanged or changed: other processes, addresses, hosts, times, or without the
stall.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rules.model import Report

CASE = Path(__file__).parents[2] / "cases" / "001"
Change = Callable[[str, str], str]
STAMP = re.compile(r"\[(\d{2}-[A-Z]{3}-\d{4} \d{2}:\d{2}:\d{2}):(\d{3})\]")
TRUSS = re.compile(r"(?m)^(\d+/\d+: )(\d+\.\d{4})")
ELAPSED = re.compile(r"(?<=: )(\d+),(\d+)")


def write(folder: Path, *changes: Change) -> Path:
    """Copy the case into a folder, passing each text through the changes."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(CASE.iterdir()):
        text = file.read_text(encoding="utf-8")
        for change in changes if file.name != "truth.yaml" else ():
            text = change(file.name, text)
        (folder / file.name).write_text(text, encoding="utf-8")
    return folder


def other_names(name: str, text: str) -> str:
    """Replace process numbers, addresses, segment ids and hosts, also by names of other lengths."""
    for old, new in (
        ("22626", "812"),
        ("3728", "19077"),
        ("3731", "19081"),
        ("2767", "441"),
        ("db1", "ora-7"),
        ("gateway", "mq3"),
    ):
        text = text.replace(old, new)
    text = text.replace("N T P 0 3 7 3 1", "N T P 0 1 9 0 8 1")
    for old, new in (("380000000", "780000000"), ("382C00000", "782C00000"), ("384C00000", "784C00000"), ("3C0000000", "7C0000000"),
                     ("610000000", "A10000000"), ("840000000", "C40000000")):  # fmt: skip
        text = text.replace(old, new)
    return text.replace("16777281", "50331713").replace("0x222b28", "0x9f00")


def scaled(factor: float) -> Change:
    """Multiply all times and intervals; stamps keep their first instant."""

    def change(name: str, text: str) -> str:
        zero = datetime(2016, 4, 14, 5, 58, 39)

        def stamp(match: re.Match[str]) -> str:
            at = datetime.strptime(match[1], "%d-%b-%Y %H:%M:%S") + timedelta(milliseconds=int(match[2]))
            moved = zero + (at - zero) * factor
            return f"[{moved:%d-%b-%Y %H:%M:%S}:{moved.microsecond // 1000:03d}]".replace(
                f"{moved:%b}", f"{moved:%b}".upper()
            )

        text = STAMP.sub(stamp, text)
        if name.startswith("truss"):
            text = TRUSS.sub(lambda m: f"{m[1]}{float(m[2]) * factor:.4f}", text)
        return ELAPSED.sub(lambda m: f"{float(f'{m[1]}.{m[2]}') * factor:.3f}".replace(".", ","), text)

    return change


def without_stall(name: str, text: str) -> str:
    """Shorten the attach of the large segment to 3.4 ms and move everything after it 2.47 s earlier, the answers too."""
    if name.startswith("truss"):
        for old, new in (("11.7921", "9.3221"), ("11.7931", "9.3231"), ("12.0249", "9.5549"), ("12.0252", "9.5552")):
            text = text.replace(old, new)
        lines = [line for line in text.splitlines() if not line.startswith("22626/2:")]
        return "\n".join(lines) + "\n"
    return text


def findings(report: Report, rule: str) -> list[dict[str, Any]]:
    """Return the findings of a rule as JSON."""
    return [f for f in report.as_json()["findings"] if f["rule"] == rule]
