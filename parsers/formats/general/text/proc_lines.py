"""Read lines of Linux's /proc that stand without a heading: interrupts (often the output of grep), stat, sockets of
net/udp and net/tcp, and the number of lines of a file (`wc -l`).

The item of a processor's counter is `CPU1`, so that processors can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address

_NAMED = "NMI|LOC|SPU|PMI|IWI|RTR|RES|CAL|TLB|TRM|THR|DFR|MC[EP]|HYP|HRE|HVS|PI[NW]|NPI|IPI[0-9]"
"""Interrupts of the processors themselves: /proc/interrupts names them by letters instead of a number."""

_INTERRUPT = re.compile(
    rf"[ \t]*(?P<irq>[0-9]{{1,5}}|{_NAMED}):(?P<counts>(?:[ \t]+[0-9]{{1,20}}){{1,1024}})"
    r"[ \t]{2,}(?P<what>[A-Za-z]\S*(?:[ \t]+\S+){0,9})[ \t]*"
)
_STAT = re.compile(r"cpu(?P<cpu>[0-9]{0,4})(?P<ticks>(?:[ \t]+[0-9]{1,20}){4,10})[ \t]*")
_LINES = re.compile(
    r"[ \t]*(?P<n>[0-9]{1,12}) /proc/(?P<pid>[0-9]{1,10})/(?P<file>maps|smaps|fdinfo|mounts|mountinfo)[ \t]*"
)
"""Output of `wc -l` for a file of a process that has one line per mapping, descriptor or mount."""

_SOCKET = re.compile(
    r"[ \t]*[0-9]{1,9}: (?P<own>(?:[0-9A-F]{8}){1,4}:[0-9A-F]{4}) (?P<peer>(?:[0-9A-F]{8}){1,4}:[0-9A-F]{4}) [0-9A-F]{2}"
    r" (?P<sent>[0-9A-F]{8}):(?P<received>[0-9A-F]{8}) [0-9A-F]{2}:[0-9A-F]{8} [0-9A-F]{8}[ \t]+[0-9]+[ \t]+[0-9]+ [0-9]+ [0-9]+"
    r" [0-9a-f]+(?:(?P<tcp>(?: -?[0-9]+){5})|(?: (?P<drops>[0-9]{1,20}))?)[ \t]*"
)
"""A socket of /proc/net/udp (its drops come last) or /proc/net/tcp. Addresses are read as little-endian words."""

SOCKETS, QUEUES = "udp sockets", "socket queues"
"""Groups of two counters of such sockets: their drops (total), and the bytes in their queues (level)."""

LINES = "lines of /proc/PID"
"""Group of the counters of `wc -l`: the number of lines is a level, the process is the item."""

TICKS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
"""Columns of a line cpu of /proc/stat (proc_stat(5)), in ticks."""

DOTNET = "counters of .NET"
"""Group of the lines that dotnet-counters collect writes: each is a level or what came since the line before."""

_DOTNET = re.compile(
    r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}[ T][0-9:.]{7,15}(?: [AP]M)?,(?P<of>[A-Za-z][\w.-]{1,80}),(?P<name>[^,]{1,120}),(?:Metric|Rate),"
    r"(?P<n>[0-9]{1,15}(?:\.[0-9]{1,15})?)[ \t]*"
)

_METRIC = re.compile(
    r"[ \t]*(?P<name>[a-z][a-z0-9_]{1,30}(?:\.[a-z0-9_]{1,30}){1,8} \(\{?[\w/%]{1,20}\}?\))[ \t]{2,200}"
    r"(?P<n>[0-9]{1,3}(?:,[0-9]{3}){0,6}|[0-9]{1,18})(?P<f>\.[0-9]{1,9})?[ \t]*"
)
"""A metric with its unit as dotnet-counters monitor prints it since .NET 9."""

Counted = tuple[str, str | None, str, float]
"""Group, item, name and value of a counter."""


def counted(line: str) -> list[Counted]:
    """Return the counters in a line of /proc/interrupts, /proc/stat, /proc/net or `wc -l`; empty for any other line.

    >>> counted(" 87:    1282535          0  armada_370_xp_irq  59  mwlwifi")
    [('interrupts', 'CPU0', '87 mwlwifi', 1282535.0), ('interrupts', 'CPU1', '87 mwlwifi', 0.0)]
    >>> counted("cpu1 4 1 0 9 0 7")[-1], counted("cpu MHz : 2400"), counted("12: 30 left")
    (('proc stat', 'CPU1', 'irq', 7.0), [], [])
    >>> counted(" 7: 0100007F:0202 00000000:0000 07 00000000:00000A00 00:00000000 00000000  0  0 9 2 00ab 17")[0]
    ('udp sockets', '127.0.0.1:514', 'drops', 17.0)
    >>> counted("65519 /proc/21626/maps")
    [('lines of /proc/PID', '21626', 'maps', 65519.0)]
    >>> counted("2020/11/13 4:25:31,System.Runtime,ThreadPool Queue Length,Metric,238")
    [('counters of .NET', 'System.Runtime', 'ThreadPool Queue Length', 238.0)]
    """
    if len(line) > 40_000 or not line[:24].strip():
        return []
    if line[-400:].count(",") >= 4 and (",Metric," in line or ",Rate," in line) and (found := _DOTNET.fullmatch(line)):
        return [(DOTNET, found["of"], found["name"], float(found["n"]))]
    if len(line) <= 400 and "(" in line and (found := _METRIC.fullmatch(line)):
        return [(DOTNET, None, found["name"], float(found["n"].replace(",", "") + (found["f"] or "")))]
    if "/proc/" in line[:24] and (found := _LINES.fullmatch(line)):
        return [(LINES, found["pid"], found["file"], float(found["n"]))]
    if line.startswith("cpu") and (found := _STAT.fullmatch(line)):
        return list(_ticks(found))
    if ":" in line[:12] and (found := _SOCKET.fullmatch(line)):
        return list(_socket(found))
    if ":" in line[:12] and (found := _INTERRUPT.fullmatch(line)):
        name = f"{found['irq']} {found['what'].split()[-1]}"
        return [("interrupts", f"CPU{n}", name, float(x)) for n, x in enumerate(found["counts"].split())]
    return []


def _socket(found: re.Match[str]) -> Iterator[Counted]:
    own, peer = _end(found["own"]), _end(found["peer"])
    item = own if peer is None else f"{own} > {peer}"
    if found["drops"]:
        yield SOCKETS, item, "drops", float(found["drops"])
    for way in ("received", "sent"):
        yield QUEUES, item, f"{way} bytes waiting", float(int(found[way], 16))


def _end(text: str) -> str | None:
    """Convert a hexadecimal address of /proc/net to address and port; None for the zero address with port 0.

    >>> _end("0100007F:0202"), _end("00000000000000000000000001000000:0035"), _end("00000000:0000")
    ('127.0.0.1:514', '[::1]:53', None)
    """
    words, port = text.split(":")
    packed = b"".join(bytes.fromhex(words[n : n + 8])[::-1] for n in range(0, len(words), 8))
    number = int(port, 16)
    if len(packed) == 4:
        return f"{ip_address(packed)}:{number}" if number or any(packed) else None
    if len(packed) == 16:
        return f"[{ip_address(packed)}]:{number}" if number or any(packed) else None
    return None


def _ticks(found: re.Match[str]) -> Iterator[Counted]:
    item = f"CPU{found['cpu']}" if found["cpu"] else None
    for name, ticks in zip(TICKS, found["ticks"].split(), strict=False):
        yield "proc stat", item, name, float(ticks)
