"""Describe the request in the first bytes of a payload in a few safe words.

Only names of requests are returned, never their arguments: no query string, no user, no password, no row. Anything
quoted from a payload is printable ASCII and short.
"""

from __future__ import annotations

import re

import dpkt

TNS_TYPES = {
    1: "CONNECT",
    2: "ACCEPT",
    3: "ACK",
    4: "REFUSE",
    5: "REDIRECT",
    6: "DATA",
    7: "NULL",
    9: "ABORT",
    11: "RESEND",
    12: "MARKER",
    13: "ATTENTION",
    14: "CONTROL",
    15: "DATADESCRIPTOR",
}
_TNS_NAMES = re.compile(rb"(?i)\((SERVICE_NAME|SID|PROGRAM|ERR|CODE|PORT)=([A-Za-z0-9_.$#@/\\ :-]{1,60})\)")
_TNS_WORDS = {
    b"SERVICE_NAME": "service",
    b"SID": "sid",
    b"PROGRAM": "program",
    b"ERR": "err",
    b"CODE": "code",
    b"PORT": "port",
}
_HTTP = re.compile(rb"(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|CONNECT) ([!-~]{1,120})|HTTP/1\.[01] ([0-9]{3})")
_TLS = {1: "ClientHello", 2: "ServerHello", 11: "Certificate", 14: "ServerHelloDone", 16: "ClientKeyExchange"}
_SAFE_NAME = re.compile(r"[A-Za-z0-9_.*/-]{1,120}")
_DNS_TYPES = {1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV", 65: "HTTPS"}
_DNS_CODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 5: "REFUSED"}


def payload_words(data: bytes, sport: int, dport: int, *, udp: bool = False) -> str:
    """Return ` | words` for a payload that names a request, or an empty text.

    >>> payload_words(bytes.fromhex("000a00000b000000ffff"), 1521, 40000)
    ' | TNS RESEND'
    >>> payload_words(b"GET /login?token=abc HTTP/1.1\\r\\n", 40000, 80)
    ' | HTTP GET /login'
    """
    if not data:
        return ""
    words = _dns(data) if udp and 53 in (sport, dport) else None
    if not udp:
        words = _tns(data) or _http(data) or _tls(data)
    return f" | {words}" if words else ""


def _tns(data: bytes) -> str | None:
    """Describe a TNS header: length (2 bytes, or 4 since version 315), type, header checksum zero.

    The packet may continue in the next segment.
    """
    if len(data) < 8 or data[4] not in TNS_TYPES or data[6:8] != b"\0\0":
        return None
    short, long = int.from_bytes(data[:2], "big"), int.from_bytes(data[:4], "big")
    size = long if short == 0 else short
    # With a packet checksum, or with another length than the segment, it is another protocol or several packets in one.
    if size < 8 or (short and data[2:4] != b"\0\0") or size > 2 * 1024 * 1024:
        return None
    if data[4] not in (1, 2, 4, 5, 11, 12) and size != len(data):
        return None
    names = (
        {_TNS_WORDS[k.upper()]: v.decode("ascii") for k, v in _TNS_NAMES.findall(data)} if data[4] in (1, 4, 5) else {}
    )
    return " ".join([f"TNS {TNS_TYPES[data[4]]}", *(f"{k}={v}" for k, v in names.items())])


def _http(data: bytes) -> str | None:
    match = _HTTP.match(data)
    if match is None:
        return None
    if match[3]:
        return f"HTTP {match[3].decode()}"
    return f"HTTP {match[1].decode()} {match[2].decode().split('?')[0]}"


def _tls(data: bytes) -> str | None:
    if len(data) < 6 or data[1] != 3 or data[2] > 4 or data[0] not in (20, 21, 22, 23):
        return None
    if data[0] == 22:
        return f"TLS {_TLS.get(data[5], 'handshake')}"
    return {20: "TLS ChangeCipherSpec", 21: "TLS alert", 23: "TLS data"}[data[0]]


def _dns(data: bytes) -> str | None:
    try:
        message = dpkt.dns.DNS(data)
        name = message.qd[0].name
        kind = _DNS_TYPES.get(message.qd[0].type, f"type{message.qd[0].type}")
    except (dpkt.UnpackError, IndexError, ValueError):
        return None
    if not isinstance(name, str) or not _SAFE_NAME.fullmatch(name):
        name = "?"
    if message.qr:
        return f"DNS {kind} {name} {_DNS_CODES.get(message.rcode, f'rcode{message.rcode}')} {len(message.an)} answers"
    return f"DNS {kind}? {name}"
