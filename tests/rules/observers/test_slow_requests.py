"""Tests of single entries of the slow log of PHP-FPM: each was written because its request took a second or longer."""

from __future__ import annotations

import pytest

from rules.observers import standing_still
from rules.signatures.signatures import recognise
from tests.rules.observers.of_text import told

ENTRY = """[02-Mar-2031 04:05:06]  [pool shop] pid 912
script_filename = /srv/shop/pay.php
[0x00007fae10a121d0] {call}() /srv/shop/rates.php:9
[0x00007fae10a12130] main() /srv/shop/pay.php:2
"""


@pytest.mark.parametrize(
    ("call", "mechanism"), [("curl_exec", "server-wait"), ("curl_multi_select", "server-wait"), ("gethostbyname", "name-server-slow")]
)  # fmt: skip
def test_what_the_only_slow_request_waits_for(call: str, mechanism: str) -> None:
    for indent in ("", "    "):
        (made,) = told(standing_still, "".join(indent + line for line in ENTRY.format(call=call).splitlines(True)))
        assert (made.kind, made.share, made.seconds) == ("slow-request", 1.0, None)
        assert [s.mechanism for s in recognise(**made.seen[0])][:1] == [mechanism]
