"""Steps and requests whose time a line without a stamp names."""

from __future__ import annotations

import pytest

from parsers.formats.general.text.lasting_lines import lasted
from tests.parsers.formats.evidence import read_bytes


def test_steps_and_requests_are_rows_with_their_time() -> None:
    text = (
        "Printer Settings Extension took 91200 milliseconds to complete.\n"
        "POST /api/baskets 201 7012.250 ms - 512\n"
        "pkg http fetch GET 200 https://one.example/react 9100ms (cache miss)\n"
    )
    made = read_bytes(text.encode()).table("logs")
    assert made.select("op", "elapsed_s").rows() == [
        ("Printer Settings Extension", 91.2),
        ("POST /api/baskets", 7.01225),
        ("GET https://one.example/react", 9.1),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "It took 500 ms on my machine.",
        "I think that took 500 ms.",
        "The export took 20 minutes.",
        "GET /api/baskets 200 512",
        "retry after 500",
        "system usage: CPU: user: 0.21 s, system: 0.02 s, elapsed: 0.25 s",
        "set timeout to 500 ms",
    ],
)
def test_what_a_person_says_and_what_has_no_time_is_none(line: str) -> None:
    assert lasted(line) is None
