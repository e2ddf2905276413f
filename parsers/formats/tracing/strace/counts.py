"""Read summary tables of strace -c: assign each cell to its column.

-U changes the set of columns and their order, errors stay empty when 0, old versions leave usecs/call of the total empty. So cells are
assigned by the positions of the dash row, and by their order only where a page has collapsed the blanks. Seconds are CPU time in the
kernel unless -w was used; nothing in the table shows which. Calls that never return are not counted.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any

COLUMNS = {
    "% time": "pct", "seconds": "total_s", "usecs/call": "", "shortest": "", "longest": "max_s", "calls": "n", "errors": "errors",
    "syscall": "name",
}  # fmt: skip
_TITLE = re.compile("|".join(re.escape(title) for title in COLUMNS))
_KEY = re.compile(r"^\^C")
"""Text that a terminal shows for the key that ended strace, right before the table."""
_RULE = re.compile(r"^\s*-{2,}(?:\s+-{2,})+\s*$")
_NUMBER = re.compile(r"^\d+(?:[.,]\d+)?$")


def is_header(text: str) -> bool:
    """Decide whether a line is the header of such a table.

    >>> is_header("% time     seconds  usecs/call     calls    errors syscall"), is_header("syscall seconds calls errors")
    (True, False)
    >>> is_header("^C% time     seconds  usecs/call     calls    errors syscall")
    True
    """
    if "calls" not in text or "syscall" not in text:
        return False
    text = _KEY.sub("", text)
    titles = _TITLE.findall(text)
    return (
        {"calls", "syscall"} <= set(titles)
        and bool({"% time", "usecs/call", "longest", "shortest"} & set(titles))
        and not _TITLE.sub("", text).strip()
    )


_CUT_TITLES = ("% time", "seconds", "usecs/call", "calls", "errors", "syscall")
_CUT = re.compile(
    r"[ \t]*[0-9]{1,3}[.,][0-9]{2}[ \t]+[0-9]{1,9}[.,][0-9]{6}[ \t]+[0-9]{1,12}[ \t]+[0-9]{1,15}(?:[ \t]+[0-9]{1,15})?[ \t]+"
    r"(?:futex|p?read(?:64|v)?|p?write(?:64|v)?|f(?:data)?sync|(?:new)?f?statx?(?:at)?|open(?:at)?|close|poll|ppoll|p?select6?|epoll_p?wait"
    r"|connect|accept4?|recv(?:from|m?msg)|send(?:to|m?msg)|ioctl|mmap|munmap|brk|mprotect|madvise|wait4|nanosleep|clock_nanosleep|lseek|fcntl|getdents(?:64)?"
    r"|sched_yield|restart_syscall|io_getevents|rt_sigprocmask)[ \t]*"
)
"""A row whose name is that of a usual call: ltrace prints rows of this form too, of functions."""


def is_cut_row(text: str) -> bool:
    """Return whether a line is a row of an excerpt without the header.

    >>> is_cut_row(" 91.22   14.882011       18602       800           fsync"), is_cut_row(" 91.22   14.882011     18602      800  strlen")
    (True, False)
    """
    return ("." in text[:12] or "," in text[:12]) and _CUT.fullmatch(text) is not None


@dataclass
class Counts:
    """A table being read; `as_json` makes it JSON-able so that it can cross a block border. `totals`: of the last complete table."""

    titles: list[str] = field(default_factory=list)
    spans: list[list[int]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    totals: dict[str, float] = field(default_factory=dict)
    done: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> Counts:
        return cls(**value) if value else cls()

    def take(self, line_no: int, text: str) -> bool:
        """Take a line if it belongs to a table; return whether it did."""
        if is_header(text):
            self.titles = _TITLE.findall(text)
            self.spans = []
            return True
        if not self.titles:
            if self.done or not is_cut_row(text):
                return False
            self.titles = list(_CUT_TITLES)
        if _RULE.match(text):
            self.spans = self.spans or [list(found.span()) for found in re.finditer("-+", text)]
            return True
        cells = self._cells(text)
        if cells is None:
            return False
        values = {COLUMNS[t]: v for t, v in cells.items() if COLUMNS[t]}
        if any(len(values.get(count, "")) > 18 for count in ("n", "errors")):
            return False
        name = values.pop("name")
        row: dict[str, Any] = {k: float(v.replace(",", ".")) for k, v in values.items()}
        row |= {k: int(row[k]) for k in ("n", "errors") if k in row}
        row.setdefault("errors", 0)
        # The column `longest` is in seconds, like the sum.
        if name == "total":
            self.totals = {"calls": row.get("n", 0), "errors": row["errors"], "s": row.get("total_s", 0.0)}
            complete = sum(r["n"] for r in self.rows if r["complete"] is None) == row.get("n")
            for r in self.rows:
                r["complete"] = complete if r["complete"] is None else r["complete"]
            self.titles, self.done = [], True
        else:
            self.rows.append({"line_no": line_no, "section": "call", "name": name, **row, "complete": None})
        return True

    def _cells(self, text: str) -> dict[str, str] | None:
        """Return the cells by title; None if the line is not a row of this table."""
        tokens = [(found.group(), found.span()) for found in re.finditer(r"\S+", text)]
        if len(self.spans) == len(self.titles):
            placed: dict[str, str] = {}
            for token, (begin, end) in tokens:
                # A number ends where its column ends, the name begins where its column begins.
                over = [
                    t
                    for t, (a, b) in zip(self.titles, self.spans, strict=True)
                    if (begin == a if t == "syscall" else end == b and begin >= a)
                ]
                if len(over) != 1 or over[0] in placed:
                    break
                placed[over[0]] = token
            else:
                if _fits(placed):
                    return placed
        # Blanks are collapsed: only an empty errors cell, or an empty usecs/call in a total of an old version, can be missing.
        words = [token for token, _ in tokens]
        left_out: tuple[tuple[str, ...], ...] = ((), ("errors",), ("usecs/call",), ("errors", "usecs/call"))
        found = [
            placed
            for out in left_out
            if len(titles := [t for t in self.titles if t not in out]) == len(words)
            and len(titles) + len(out) == len(self.titles)
            and _fits(placed := dict(zip(titles, words, strict=True)))
            and (placed["syscall"] == "total" or "usecs/call" not in out)
        ]
        # A total that lacks one cell: take the reading that agrees with the rows.
        calls = str(sum(r["n"] for r in self.rows if r["complete"] is None))
        return next((p for p in found if p["syscall"] != "total" or p["calls"] == calls), found[0] if found else None)


def _fits(cells: dict[str, str]) -> bool:
    """Decide whether cells fit their columns: numbers, whole numbers for counts, and a name."""
    name = cells.get("syscall", "")
    whole = all(cells[t].isdigit() for t in ("calls", "errors") if t in cells)
    numbers = all(_NUMBER.match(v) for t, v in cells.items() if t != "syscall")
    return bool(re.match(r"^[A-Za-z_?][\w?]*$", name)) and "calls" in cells and whole and numbers
