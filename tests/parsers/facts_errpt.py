"""What the facts beside reports of faults mean."""

from __future__ import annotations

from tests.parsers.evidence import Reading
from tests.parsers.told_rows import notes, rows_of


def asks(reading: Reading, value: list[str]) -> None:
    questions = reading.account.parts[0].facts.get("questions", [])
    # The zone is asked for wherever none is printed: `test_clocks_of_kinds.py` says for which kinds.
    assert [q["ask"] for q in questions if q["ask"] != "tz"] == value


def clock(reading: Reading, value: str) -> None:
    assert {d.kind for d in reading.account.parts[0].domains} == {value}


CHECKERS = {
    "rows": rows_of("logs", "line_no", "t_local", "code", "severity", "op", "program", "text"),
    "asks": asks,
    "clock": clock,
    "notes": notes,
}
WAIVED: dict[str, str] = {}
