"""Build captures: packets by dpkt, files in the three framings."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable

import dpkt

CLIENT, SERVER = "10.1.1.1", "10.1.1.2"
FLAGS = {letter: 1 << bit for bit, letter in enumerate("FSRP.UEW")}
Stamped = tuple[int, bytes]
"""A packet: nanoseconds since 1970 UTC and its bytes."""


def tcp(
    src: str = CLIENT,
    sport: int = 40000,
    dst: str = SERVER,
    dport: int = 1521,
    *,
    flags: str = ".",
    seq: int = 0,
    ack: int = 0,
    win: int = 500,
    payload: bytes = b"",
    opts: bytes = b"",
    vlan: int | None = None,
) -> bytes:
    segment = dpkt.tcp.TCP(
        sport=sport, dport=dport, seq=seq, ack=ack, win=win, flags=sum(FLAGS[f] for f in flags), opts=opts, data=payload
    )
    segment.off = 5 + len(opts) // 4
    return ethernet(src, dst, 6, segment, vlan)


def udp(src: str, sport: int, dst: str, dport: int, payload: bytes) -> bytes:
    return ethernet(src, dst, 17, dpkt.udp.UDP(sport=sport, dport=dport, ulen=8 + len(payload), data=payload), None)


def ethernet(src: str, dst: str, protocol: int, inner: dpkt.Packet, vlan: int | None) -> bytes:
    if ":" in src:
        ip: dpkt.Packet = dpkt.ip6.IP6(
            src=socket.inet_pton(socket.AF_INET6, src),
            dst=socket.inet_pton(socket.AF_INET6, dst),
            nxt=protocol,
            plen=len(inner),
            hlim=64,
            data=inner,
        )
        kind = 0x86DD
    else:
        ip = dpkt.ip.IP(src=socket.inet_aton(src), dst=socket.inet_aton(dst), p=protocol, data=inner)
        ip.len = 20 + len(inner)
        kind = 0x0800
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    return bytes(12) + tag + struct.pack(">H", kind) + bytes(ip)


def pcap(
    frames: Iterable[Stamped], *, order: str = "<", nano: bool = False, link: int = 1, snap: int = 262144
) -> bytes:
    out = struct.pack(order + "IHHIIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snap, link)
    for at, frame in frames:
        seconds, nanos = divmod(at, 10**9)
        kept = frame[:snap]
        out += struct.pack(order + "4I", seconds, nanos if nano else nanos // 1000, len(kept), len(frame)) + kept
    return out


def pcapng(frames: Iterable[Stamped], *, order: str = "<", resolution: int = 9, link: int = 1) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack(order + "I", 12 + len(body))
        return struct.pack(order + "I", kind) + size + body + size

    out = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack(order + "HHIHHBxxxHH", link, 0, 262144, 9, 1, resolution, 0, 0))
    out += block(0x0000000B, b"keys nobody reads here")
    for at, frame in frames:
        units = at * 10**resolution // 10**9
        head = struct.pack(order + "5I", 0, units >> 32, units & 0xFFFFFFFF, len(frame), len(frame))
        out += block(6, head + frame)
    return out


def snoop(frames: Iterable[Stamped]) -> bytes:
    out = b"snoop\0\0\0" + struct.pack(">2I", 2, 4)
    for at, frame in frames:
        seconds, nanos = divmod(at, 10**9)
        kept = frame + bytes(-len(frame) % 4)
        out += struct.pack(">6I", len(frame), len(frame), 24 + len(kept), 0, seconds, nanos // 1000) + kept
    return out


def tns(kind: int, body: bytes = b"") -> bytes:
    return struct.pack(">HHBBH", 8 + len(body), 0, kind, 0, 0) + body
