"""Test the validity dates of certificates in the output of several tools, and other dates, which give no row."""

from __future__ import annotations

import pytest

from parsers.formats.general.text.certificate_lines import validity
from parsers.formats.general.text.single_lines import COMPLAINT

FIRST, LAST = 1735689600.0, 1743465600.0
"""1 January and 1 April 2025, 00:00 UTC."""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("notBefore=Jan  1 00:00:00 2025 GMT", [("NotBefore", FIRST)]),
        ("            Not After : Apr  1 00:00:00 2025 GMT", [("NotAfter", LAST)]),
        ("   v:NotBefore: Jan  1 00:00:00 2025 GMT; NotAfter: Apr  1 00:00:00 2025 GMT", [("NotBefore", FIRST), ("NotAfter", LAST)]),
        ("*  expire date: Apr  1 00:00:00 2025 GMT", [("NotAfter", LAST)]),
        ("Valid from: Wed Jan 01 00:00:00 UTC 2025 until: Tue Apr 01 00:00:00 UTC 2025", [("NotBefore", FIRST), ("NotAfter", LAST)]),
        ("Valid from: Wed Jan 01 00:00:00 CET 2025 until: Tue Apr 01 00:00:00 CEST 2025", [("NotBefore", None), ("NotAfter", None)]),
        ("|_Not valid after:  2025-04-01T00:00:00", [("NotAfter", LAST)]),
        ("activated `2025-01-01 00:00:00 UTC', expires `2025-04-01 00:00:00 UTC'", [("NotBefore", FIRST), ("NotAfter", LAST)]),
        ("notAfter=Feb 30 00:00:00 2025 GMT", [("NotAfter", None)]),
        ("notAfter=Xyz 12 00:00:00 2025 GMT", [("NotAfter", None)]),
        ("not after: lunch", []),
        ("session expires 2025-04-01 00:00:00 if nobody asks", []),
        ("start: Jan  1 00:00:00 2025 GMT", []),
    ],
)  # fmt: skip
def test_from_when_to_when(line, expected):
    assert [(p.name, p.num) for p in validity(line)] == expected


@pytest.mark.parametrize(
    ("line", "complains"),
    [
        ("    Verify return code: 21 (unable to verify the first certificate)", True),
        ("    Verify return code: 0 (ok)", False),
        ("Verification: OK", False),
        ("Verification error: self-signed certificate", True),
        ("* TLSv1.2 (IN), TLS alert, handshake failure (552):", True),
        ("* TLSv1.2 (OUT), TLS alert, close notify (256):", False),
        ("* TLSv1.2 (OUT), TLS handshake, Client hello (1):", False),
        ("curl: (35) OpenSSL SSL_connect: SSL_ERROR_SYSCALL", True),
        ("curl: a tool", False),
    ],
)
def test_how_a_handshake_ended(line, complains):
    assert bool(COMPLAINT.match(line)) is complains
