"""Tests of requests in access logs: their time has a unit or is the last figure with a fraction."""

from __future__ import annotations

import pytest

from parsers.formats.general.text.request_lines import Request, requested
from tests.parsers.formats.evidence import read_bytes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('192.0.2.4 - - "POST /basket HTTP/1.1" 201 12 "-" "-" 7.250113', ("POST /basket", 7.250113, True)),
        ('"GET /a?b=1 HTTP/2.0" 500 12 "-" "-" 3 "web@file" "http://192.0.2.9:80" 812ms', ("GET /a", 0.812, False)),
        ('"GET /a HTTP/1.1" 200 - via_upstream - "-" 0 135 9021 9019 "-" "curl"', ("GET /a", 9.021, True)),
        ("| 503 | 1m12.5s | 192.0.2.9 | POST     \"/basket\"", ("POST /basket", 72.5, False)),
        ("[pid: 3|app: 0] 192.0.2.4 () GET /x => generated 2 bytes in 812 micros (HTTP/1.1 200)", ("GET /x", 0.000812, True)),
        ('"GET /a HTTP/1.1" 200 12 request_time=2.500', ("GET /a", 2.5, True)),
        ('"GET /a HTTP/1.1" 200 12 rt=2.500 urt="2.499"', None),
        ('"GET /a HTTP/1.1" 200 81231 "-" "agent/2.28"', None),
        ('"GET /a HTTP/1.1" 200 12 "-" "-" 2500113', None),
        ("I asked for /a and it took 3 s", None),
    ],
)  # fmt: skip
def test_a_request_and_its_time(text: str, found: Request | None) -> None:
    assert requested(text) == found


@pytest.mark.parametrize("indent", ["", "    "])
def test_entries_of_the_logger_of_dotnet_on_one_line_each(indent: str) -> None:
    text = f"{indent}warn: Acme.Shop[17] the pool is nearly empty\n{indent}fail: Acme.Shop[18] the pool is empty\n"
    made = read_bytes(text.encode()).table("logs")
    assert made["severity"].to_list() == ["WARN", "ERROR"]
