"""Read summary tables of truss -c: call, seconds, calls, errors.

Seconds of truss are CPU time in the kernel, not elapsed: one long sleep shows only in `elapsed`. Values may be printed without a leading
0 (`.00`), the errors column is empty when 0, and pages collapse the blanks: cells are recognised by their order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

HEADERS = {
    "call": re.compile(r"^\s*syscall\s+seconds\s+calls\s+errors\s*$"),
    "signal": re.compile(r"^\s*signals?\s+-{3,}\s*$"),
    "fault": re.compile(r"^\s*faults?\s+-{3,}\s*$"),
    "library": re.compile(r"^\s*Library:\s+Function\s+calls\s*$"),
}
_CALL = re.compile(r"^\s*([A-Za-z_]\w*)\s+(\d*\.\d+)\s+(\d{1,18})(?:\s+(\d{1,18}))?\s*$")
_COUNT = re.compile(r"^\s*([A-Za-z_][\w+]*)\s+(\d{1,18})\s*$")
_FUNCTION = re.compile(r"^\s*(\S+?):?\s+(\S+)\s+(\d{1,18})\s*$")
_RULE = re.compile(r"^\s*-[-\s]*$")
_SYS = re.compile(r"^\s*sys totals:\s+(\d*\.\d+)\s+(\d+)(?:\s+(\d+))?\s*$")
_END = re.compile(r"^\s*(usr time|elapsed|total):\s+(\d*\.?\d+)\s*$")


@dataclass
class Counts:
    """A table being read: its section, rows so far, totals; `as_json` makes it JSON-able so that it can cross a block border."""

    section: str | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"section": self.section, "rows": self.rows, "facts": self.facts}

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> Counts:
        return cls(**value) if value else cls()

    def take(self, line_no: int, text: str) -> bool:
        """Take a line if it belongs to a table; return whether it did."""
        for section, header in HEADERS.items():
            if header.match(text):
                self.section = section
                return True
        if self.section is None:
            return False
        if found := _SYS.match(text):
            self._totals(float(found[1]), int(found[2]), int(found[3] or 0))
            return True
        if found := _END.match(text):
            name = {"usr time": "usr_s", "elapsed": "elapsed_s"}.get(found[1])
            if name:
                self.facts[name] = float(found[2])
            else:
                self._close(self.section)
            if found[1] == "elapsed":
                self.section = None
            return True
        return bool(_RULE.match(text)) or self._row(line_no, text)

    def _row(self, line_no: int, text: str) -> bool:
        row: dict[str, Any] = {"line_no": line_no, "section": self.section, "total_kind": "unknown", "complete": False}
        if self.section == "call" and (found := _CALL.match(text)):
            row |= {
                "name": found[1],
                "total_s": float(found[2]),
                "n": int(found[3]),
                "errors": int(found[4] or 0),
                "total_kind": "cpu",
            }
        elif self.section == "library" and (found := _FUNCTION.match(text)):
            row |= {"name": f"{found[1]}:{found[2]}", "n": int(found[3])}
        elif self.section in ("signal", "fault") and (found := _COUNT.match(text)):
            row |= {"name": found[1], "n": int(found[2])}
        else:
            return False
        self.rows.append(row)
        return True

    def _totals(self, seconds: float, calls: int, errors: int) -> None:
        """Store the totals of the table of calls, and mark it complete if its rows add up to them."""
        self.facts |= {"sys_s": seconds, "calls": calls, "errors": errors}
        if sum(r["n"] for r in self.rows if r["section"] == "call") == calls:
            self._close("call")

    def _close(self, section: str) -> None:
        for row in self.rows:
            if row["section"] == section:
                row["complete"] = True
