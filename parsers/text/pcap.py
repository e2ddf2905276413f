r"""Convert packet captures (pcap, pcapng, snoop) to text, one line a packet, so that rows and citations have lines.

Line n is packet n, complete in itself; an unreadable or cut record ends the transcript with a line that begins with `#
damaged:`. Times are UTC, in the capture's own resolution (microseconds or nanoseconds).

Samples::

    2015-06-10T09:00:00.000001Z tcp 10.1.1.1:40000 > 10.1.1.2:1521 [S] seq=17 ack=0 win=64240 len=0 opts=mss:1460,ws:7
    2015-06-10T09:00:00.000420Z tcp 10.1.1.1:40000 > 10.1.1.2:1521 [P.] seq=18 ack=9 win=229 len=240 vlan=5 | TNS CONNECT service=orcl
    2015-06-10T09:00:00.100000Z udp [fe80::1]:40000 > [fe80::2]:53 len=30 | DNS A? db1.example
    2015-06-10T09:00:00.200000Z arp 10.1.1.1 > 10.1.1.2 len=28 | who-has 10.1.1.2 tell 10.1.1.1

`len` is the payload as sent, even if the capture holds less of it. This module reads the file framing itself, because
dpkt's readers give times as floats (no nanoseconds), know only one interface a file and believe any length that a
damaged file claims; dpkt decodes the packets. Formats: libpcap savefile(5), pcapng (IETF opsawg), snoop (RFC 1761).
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, BinaryIO

import dpkt

from parsers.text.pcap_payload import payload_words

RECORD_CAP = 4 * 1024 * 1024
"""Maximum bytes of a record: tools keep at most 256 KiB of a packet, so a larger claim is damage."""

_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 6, 16),
    b"\xa1\xb2\xc3\xd4": (">", 6, 16),
    b"\x4d\x3c\xb2\xa1": ("<", 9, 16),
    b"\xa1\xb2\x3c\x4d": (">", 9, 16),
    b"\x34\xcd\xb2\xa1": ("<", 6, 24),
    b"\xa1\xb2\xcd\x34": (">", 6, 24),
}
"""By magic bytes: byte order, digits of the fraction, size of a packet's header."""

_PCAPNG = b"\x0a\x0d\x0d\x0a"
_SNOOP = b"snoop\0\0\0"
SIGNATURE: tuple[bytes, ...] = (*_PCAP, _PCAPNG, _SNOOP)

_SNOOP_LINKS = {0: 1, 4: 1, 2: 6, 8: 10, 26: 12}
"""Link types of RFC 1761 and illumos (26: IP) as libpcap numbers them."""

_SECTION, _INTERFACE, _OLD, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_FLAGS = "FSRP.UEW"


@dataclass(frozen=True)
class Captured:
    """A captured packet.

    `at` is in nanoseconds since 1970 UTC (None: the file has no time), `digits` counts those of its fraction that mean
    something, `length` is the size as sent.
    """

    at: int | None
    digits: int
    link: int
    length: int
    data: bytes


class Damage(Exception):
    """A record that cannot be read; nothing behind it can be located."""


def transcribe(stream: BinaryIO) -> Iterator[str]:
    """Yield a capture as lines, one a packet, with one packet at a time in memory.

    Raises ValueError for any other file.
    """
    magic = stream.read(8)
    if magic[:4] in _PCAP:
        packets = _pcap(stream, magic)
    elif magic[:4] == _PCAPNG:
        packets = _pcapng(stream, magic)
    elif magic == _SNOOP:
        packets = _snoop(stream)
    else:
        raise ValueError(f"no capture: it begins with {magic!r}")
    try:
        for captured in packets:
            yield _line(captured)
    except Damage as damage:
        yield f"# damaged: {damage}; the packets before it are complete"


def _take(stream: BinaryIO, size: int, what: str) -> bytes:
    """Read exactly `size` bytes, or none at a clean end of the file."""
    data = stream.read(size)
    if data and len(data) < size:
        raise Damage(f"the capture ends inside a {what} ({len(data)} of {size} bytes)")
    return data


def _body(stream: BinaryIO, size: int, what: str) -> bytes:
    if size > RECORD_CAP:
        raise Damage(f"a {what} claims {size} bytes")
    data = _take(stream, size, what)
    if len(data) < size:
        raise Damage(f"the capture ends before a {what} (0 of {size} bytes)")
    return data


def _pcap(stream: BinaryIO, magic: bytes) -> Iterator[Captured]:
    order, digits, size = _PCAP[magic[:4]]
    head = _body(stream, 16, "file header")
    link = int(struct.unpack(order + "4I", head)[3]) & 0xFFFF
    scale = 10 ** (9 - digits)
    while header := _take(stream, size, "packet header"):
        seconds, fraction, kept, length = struct.unpack(order + "4I", header[:16])
        if fraction >= 10**digits:
            raise Damage(f"a packet header has {fraction} as fraction of a second")
        data = _body(stream, kept, "packet")
        yield Captured(seconds * 10**9 + fraction * scale, digits, link, length, data)


def _snoop(stream: BinaryIO) -> Iterator[Captured]:
    _, number = struct.unpack(">2I", _body(stream, 8, "file header"))
    link = _SNOOP_LINKS.get(number, 0x8000 + number)
    while header := _take(stream, 24, "packet header"):
        length, kept, record, _, seconds, micros = struct.unpack(">6I", header)
        if record < 24 + kept or micros >= 10**6:
            raise Damage("a packet header contradicts itself")
        data = _body(stream, record - 24, "packet")[:kept]
        yield Captured(seconds * 10**9 + micros * 1000, 6, link, length, data)


def _pcapng(stream: BinaryIO, magic: bytes) -> Iterator[Captured]:
    """Read sections and blocks. Each section has its own byte order and its own interfaces."""
    order, interfaces = "<", list[tuple[int, int, int]]()
    pending = magic
    while head := pending or _take(stream, 8, "block header"):
        pending = b""
        if head[:4] == _PCAPNG:
            mark = _body(stream, 4, "section header")
            order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(mark, "")
            if not order:
                raise Damage("a section header has no byte order")
            size = struct.unpack(order + "I", head[4:])[0]
            _block(stream, order, size, 12)
            interfaces = []
            continue
        kind, size = struct.unpack(order + "2I", head)
        body = _block(stream, order, size, 8)
        try:
            if kind == _INTERFACE:
                interfaces.append(_interface(body, order))
            elif kind in (_ENHANCED, _OLD):
                yield _packet(body, order, kind, interfaces)
            elif kind == _SIMPLE:
                length = struct.unpack(order + "I", body[:4])[0]
                yield Captured(None, 0, interfaces[0][0], length, body[4 : 4 + length])
        except (struct.error, IndexError) as error:
            raise Damage(f"a block of type {kind} contradicts itself") from error


def _block(stream: BinaryIO, order: str, size: int, before: int) -> bytes:
    """Read the rest of a block of `size` bytes, of which `before` are read; the size stands at both ends of the block."""
    if size < before + 4 or size % 4:
        raise Damage(f"a block claims {size} bytes")
    body = _body(stream, size - before, "block")
    if struct.unpack(order + "I", body[-4:])[0] != size:
        raise Damage("a block has two different sizes")
    return body[:-4]


def _interface(body: bytes, order: str) -> tuple[int, int, int]:
    """Return the link type, the units per second and the seconds to add (options if_tsresol and if_tsoffset)."""
    link, _, _ = struct.unpack(order + "HHI", body[:8])
    units, offset, at = 10**6, 0, 8
    while at + 4 <= len(body):
        code, size = struct.unpack(order + "HH", body[at : at + 4])
        value = body[at + 4 : at + 4 + size]
        if code == 9 and value:
            units = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == 14 and len(value) == 8:
            offset = struct.unpack(order + "q", value)[0]
        at += 4 + (size + 3) // 4 * 4
        if code == 0:
            break
    return link, units, offset


def _packet(body: bytes, order: str, kind: int, interfaces: list[tuple[int, int, int]]) -> Captured:
    number, high, low, kept, length = struct.unpack(order + ("5I" if kind == _ENHANCED else "Hxx4I"), body[:20])
    link, units, offset = interfaces[number]
    if 20 + kept > len(body):
        raise Damage("a packet is larger than its block")
    at = ((high << 32) | low) * 10**9 // units + offset * 10**9
    return Captured(at, 9 if units > 10**6 else 6, link, length, body[20 : 20 + kept])


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    try:
        return (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()
    except OverflowError as error:
        raise Damage(f"a packet has the time {seconds}") from error


def _stamp(captured: Captured) -> str:
    if captured.at is None:
        return "-"
    seconds, nanos = divmod(captured.at, 10**9)
    fraction = f"{nanos:09d}"[: captured.digits]
    return f"{_second(seconds)}.{fraction}Z"


def _line(captured: Captured) -> str:
    try:
        words = _words(captured)
    except (dpkt.UnpackError, struct.error, IndexError, ValueError, AttributeError, TypeError, KeyError):
        # dpkt's decoders raise all of these on damaged packets; the packet still gets its line.
        words = f"link{captured.link} - > - len={captured.length} | not decoded"
    return f"{_stamp(captured)} {words}"


def _raw(data: bytes) -> Any:
    return dpkt.ip6.IP6(data) if data[0] >> 4 == 6 else dpkt.ip.IP(data)


_LINKS: dict[int, Callable[[bytes], Any]] = {
    0: dpkt.loopback.Loopback,
    1: dpkt.ethernet.Ethernet,
    12: _raw,
    14: _raw,
    101: _raw,
    108: dpkt.loopback.Loopback,
    113: dpkt.sll.SLL,
    228: _raw,
    229: _raw,
    276: dpkt.sll2.SLL2,
}


def _words(captured: Captured) -> str:
    decode = _LINKS.get(captured.link)
    if decode is None:
        return f"link{captured.link} - > - len={captured.length} | not decoded"
    packet: Any = decode(captured.data)
    tags = getattr(packet, "vlan_tags", None)
    vlan = f" vlan={tags[0].id}" if tags else ""
    inner = packet if isinstance(packet, dpkt.ip.IP | dpkt.ip6.IP6) else packet.data
    if isinstance(inner, dpkt.arp.ARP):
        src, dst = socket.inet_ntoa(inner.spa), socket.inet_ntoa(inner.tpa)
        text = f"who-has {dst} tell {src}" if inner.op == 1 else f"{src} is-at {inner.sha.hex(':')}"
        return f"arp {src} > {dst} len={len(inner)}{vlan} | {text}"
    if isinstance(inner, dpkt.ip.IP):
        return _ip(inner, socket.inet_ntoa(inner.src), socket.inet_ntoa(inner.dst), vlan, captured)
    if isinstance(inner, dpkt.ip6.IP6):
        return _ip(inner, _six(inner.src), _six(inner.dst), vlan, captured)
    return f"ether{getattr(packet, 'type', 0):04x} - > - len={captured.length}{vlan}"


def _six(address: bytes) -> str:
    return f"[{socket.inet_ntop(socket.AF_INET6, address)}]"


def _ip(ip: Any, src: str, dst: str, vlan: str, captured: Captured) -> str:
    inner = ip.data
    if isinstance(ip, dpkt.ip.IP):
        # With segmentation offload the length is 0 and the card fills it in: then the length of the frame on the wire
        # is used.
        total, fragment = ip.len or captured.length - 14, ip.offset * 8
        size = total - ip.hl * 4
    else:
        size = ip.plen - sum(len(h) for h in ip.extension_hdrs.values() if h is not None)
        fragment = 0
    if fragment:
        return f"{_PROTOCOLS.get(ip.p, f'ip{ip.p}')} {src} > {dst} len={size}{vlan} | fragment at {fragment}"
    if isinstance(inner, dpkt.tcp.TCP):
        flags = "".join(letter for bit, letter in enumerate(_FLAGS) if inner.flags >> bit & 1)
        options = f" opts={opts}" if inner.opts and (opts := _options(inner.opts)) else ""
        words = payload_words(inner.data, inner.sport, inner.dport)
        return (
            f"tcp {src}:{inner.sport} > {dst}:{inner.dport} [{flags}] seq={inner.seq} ack={inner.ack} "
            f"win={inner.win} len={max(size - inner.off * 4, 0)}{vlan}{options}{words}"
        )
    if isinstance(inner, dpkt.udp.UDP):
        words = payload_words(inner.data, inner.sport, inner.dport, udp=True)
        return f"udp {src}:{inner.sport} > {dst}:{inner.dport} len={max(inner.ulen - 8, 0)}{vlan}{words}"
    if isinstance(inner, dpkt.icmp.ICMP | dpkt.icmp6.ICMP6):
        name = "icmp" if isinstance(inner, dpkt.icmp.ICMP) else "icmp6"
        return f"{name} {src} > {dst} len={size}{vlan} | {_icmp(name, inner)}"
    return f"{_PROTOCOLS.get(ip.p, f'ip{ip.p}')} {src} > {dst} len={size}{vlan}"


_PROTOCOLS = {
    1: "icmp",
    2: "igmp",
    6: "tcp",
    17: "udp",
    47: "gre",
    50: "esp",
    58: "icmp6",
    89: "ospf",
    112: "vrrp",
    132: "sctp",
}
_ICMP = {
    ("icmp", 0): "echo reply",
    ("icmp", 3): "unreachable",
    ("icmp", 5): "redirect",
    ("icmp", 8): "echo request",
    ("icmp", 11): "time exceeded",
    ("icmp6", 1): "unreachable",
    ("icmp6", 2): "packet too big",
    ("icmp6", 3): "time exceeded",
    ("icmp6", 128): "echo request",
    ("icmp6", 129): "echo reply",
    ("icmp6", 135): "neighbor solicitation",
    ("icmp6", 136): "neighbor advertisement",
}


def _icmp(name: str, packet: Any) -> str:
    text = _ICMP.get((name, packet.type), f"type {packet.type}")
    if text.startswith("echo") and hasattr(packet.data, "id"):
        return f"{text} id {packet.data.id} seq {packet.data.seq}"
    return f"{text} code {packet.code}"


def _options(data: bytes) -> str:
    """Return the TCP options that matter for throughput and loss; an option that is cut ends the list."""
    found, at = [], 0
    while at < len(data) and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        size = data[at + 1] if at + 1 < len(data) else 0
        value = data[at + 2 : at + size]
        if size < 2 or at + size > len(data):
            break
        if data[at] == 2 and len(value) == 2:
            found.append(f"mss:{int.from_bytes(value, 'big')}")
        elif data[at] == 3 and value:
            found.append(f"ws:{value[0]}")
        elif data[at] == 4:
            found.append("sackok")
        elif data[at] == 5:
            edges = re.findall(".{8}", value.hex())
            found.append("sack:" + ";".join(str(int(e, 16)) for e in edges))
        at += size
    return ",".join(found)
