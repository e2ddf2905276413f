r"""Lines in which tools state the health of a machine, its limits and its caches: `sensors`, `ipmitool sdr` and `sensor`, `ras-mc-ctl`,
`edac-util`, `mcelog`, `fmadm faulty`, `lsipc`, `dmsetup status` of a thin pool, MegaCli and cciss_vol_status of a cache, `arc_summary`,
`/proc/self/mountstats`, `nfsstat -c` and the head of `esxtop`.

Each becomes a row as those of `stated_lines` do: what is counted, of whom, how much, of how much. `state` keeps what the lines above
said. Source: sensors(1); ipmitool(1), sdr and sensor (states nc, cr, nr of IPMI 2.0, 35.14); ras-mc-ctl(8); edac-util(1); mcelog(8);
fmadm(1M); lsipc(1); Linux Documentation/admin-guide/device-mapper/thin-provisioning.rst; cciss_vol_status(8); arc_summary(1);
nfsiostat(8) and Linux net/sunrpc/stats.c (per-op statistics); nfsstat(8), nfsstat(1M); VMware, vSphere Monitoring and Performance.
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

LEAST_CALLS = 100
"""Minimum number of calls whose mean says what a server needs."""

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
MAYBE = re.compile(
    r"°C|\bC +\(|\| (?:nc|cr|nr)\b|DIMM|\b(?:CE|UE)$|(?:un)?corrected errors|^MCA: |^MCE [0-9]|^[ \t]*(?:Fault|Problem) (?:class|in)|\bthin-pool "
    r"|^[ \t]*(?:MSG|SHM|SEM)[A-Z]{3} |(?i:hit rati?o)|^device \S+ mounted|^[ \t]+[A-Z][A-Z0-9_]{2,30}: [0-9]|[ \t](?:retrans|timeouts)\b"
    r"|_(?:errs|io_errs)[ \t]+[0-9]|Device unallocated:|^Metadata,|[ \t](?:partition|file)[ \t]+[0-9]|(?:Total|Available) Physical Memory:"
    r"|^Virtual Memory: |^min/avg/max/mdev = |ioping statistics|Timing buffered disk reads|^/dev/\S+:$|hardware limits:|frequency should be within"
    r"|Cache Policy:|^Virtual D(?:rive|isk): |[Ww]rite cache |^Client rpc|PCPU UTIL|MEM overcommit|[a-z]+ state *$|^SWAP *\/MB"
)
"""What one of these lines has, to try no other one."""

_HEAT = re.compile(
    rf"(?P<who>[A-Za-z][\w .+/-]{{0,40}}):[ \t]+\+(?P<value>{_NUMBER}) ?°?C[ \t]+\((?P<limits>[^)]{{3,120}})\)?.*"
)
_LIMIT = re.compile(rf"\b(?P<name>high|crit)[ \t]*=[ \t]*\+(?P<value>{_NUMBER})")
_SENSOR = re.compile(
    rf"(?P<who>[A-Za-z0-9][^|]{{0,40}}?)[ \t]*\|[ \t]*(?P<value>{_NUMBER})[ \t]*(?:\|[ \t]*)?(?P<unit>degrees C|RPM|Volts|Watts|Amps|percent)"
    r"[ \t]*\|[ \t]*(?P<state>nc|cr|nr|lcr|ucr|lnr|unr)\b[ \t]*(?:\|.*)?"
)
_DIMM = re.compile(
    r"[ \t]*(?P<how>Corrected|Uncorrected|Fatal|Deferred) on DIMM Label\(s\): '(?P<who>[^']{1,120})'.*errors: (?P<value>[0-9]{1,12})[ \t]*"
)
_LABELS = re.compile(r"Label[ \t]+CE[ \t]+UE[ \t]*")
_LABEL = re.compile(r"(?P<who>\S[\S ]{0,80}?)[ \t]+(?P<ce>[0-9]{1,12})[ \t]+(?P<ue>[0-9]{1,12})[ \t]*")
_EDAC = re.compile(
    r"mc[0-9]{1,3}: (?P<who>.{1,100}): (?P<value>[0-9]{1,12}) (?P<how>Corrected|Uncorrected) Errors[ \t]*"
)
_CHECK = re.compile(r"MCA: (?P<who>[A-Z].{3,120})")
_FAULT = re.compile(r"[ \t]*(?:Fault|Problem) class[ \t]*: (?P<who>(?:fault|defect)\.[\w.-]{3,100})[ \t]*")
_LIMITED = re.compile(
    r"[ \t]*(?P<what>MSG|SHM|SEM)(?:MNI|MNS|ALL)[ \t]+(?P<who>[A-Z][a-z ]{5,60}?)[ \t]+(?P<most>[0-9]{1,20})[ \t]+(?P<used>[0-9]{1,20})[ \t]+[0-9.]{1,6}%[ \t]*"
)
_THIN = re.compile(
    r"(?:(?P<who>\S{1,120}): )?0 [0-9]{1,18} thin-pool [0-9]{1,12} (?P<meta>[0-9]{1,18})/(?P<metas>[0-9]{1,18})"
    r" (?P<data>[0-9]{1,18})/(?P<data_all>[0-9]{1,18}) (?P<rest>.*)"
)
_REFUSES = re.compile(r"\b(out_of_data_space|out_of_metadata_space|ro|needs_check|Fail)\b")
_POLICY = re.compile(r"[ \t]*(?P<which>Default|Current) Cache Policy: (?P<how>WriteBack|WriteThrough)\b.*")
_DRIVE = re.compile(r"(?:Virtual Drive|Virtual Disk): (?P<who>[0-9]{1,4})\b.*")
_NO_CACHE = re.compile(
    r"[ \t]*Write cache (?:enabled: No|(?:temporarily|permanently) disabled)[ \t]*|.*\bposted write cache has been[ \t]*(?:disabled.*)?"
)
_HITS = re.compile(
    rf"[ \t]*Cache [Hh]it [Rr]atio:[ \t]+(?P<value>{_NUMBER})[ \t]?%(?:[ \t].*)?|[ \t]*ARC hit rate:[ \t]+(?P<rate>{_NUMBER})[ \t]?%.*"
)
_MOUNT = re.compile(r"device (?P<from>\S{1,200}) mounted on (?P<who>\S{1,200}) with fstype nfs\S*.*")
_PER_OP = re.compile(
    r"[ \t]+(?P<op>[A-Z][A-Z0-9_]{2,30}): (?P<ops>[0-9]{1,15}) (?P<sent>[0-9]{1,15}) (?P<late>[0-9]{1,15}) [0-9]{1,18} [0-9]{1,18}"
    r" (?P<queue>[0-9]{1,18}) (?P<rtt>[0-9]{1,18}) (?P<exe>[0-9]{1,18})(?: [0-9]{1,15})?[ \t]*"
)
_CALLS = re.compile(r"calls[ \t]+(?:retrans|badcalls)\b.*")
_COUNTS = re.compile(r"[0-9]{1,18}(?:[ \t]+[0-9]{1,18}){1,12}[ \t]*")
_ESX_STATE = re.compile(r"VMKMEM[ \t]*/MB:.*\b(?P<who>high|clear|soft|hard|low) state[ \t]*")
_ESX_SWAP = re.compile(rf"SWAP[ \t]*/MB:.*[ \t](?P<read>{_NUMBER}) r/s,[ \t]+(?P<written>{_NUMBER}) w/s[ \t]*")
_ESX_BUSY = re.compile(rf"PCPU UTIL\(%\):.*\bAVG:[ \t]*(?P<value>{_NUMBER})[ \t]*")


def _size(name: str) -> str:
    """Return the pattern of a size with its unit, as groups `name` and `name_unit`."""
    return rf"(?P<{name}>{_NUMBER})[ ]?(?P<{name}_unit>[KMGTP]?i?B?)"


_BTRFS_ERRORS = re.compile(r"\[(?P<who>\S{1,120})\]\.(?P<name>\w{1,20}_errs)[ \t]+(?P<value>[0-9]{1,15})[ \t]*")
_UNALLOCATED = re.compile(r"[ \t]+Device unallocated:[ \t]+" + _size("left") + r"[ \t]*")
_METADATA = re.compile(r"Metadata, ?\w{1,12}: Size:" + _size("most") + r", Used:" + _size("used") + r"(?: .*)?[ \t]*")
_SWAP_DEVICE = re.compile(
    r"(?P<who>/\S{1,120})[ \t]+(?:partition|file)[ \t]+"
    + _size("most")
    + r"[ \t]+"
    + _size("used")
    + r"[ \t]+-?[0-9]{1,5}[ \t]*"
)
_WINDOWS = re.compile(
    r"(?P<which>Total Physical Memory|Available Physical Memory|Virtual Memory: Max Size|Virtual Memory: Available):"
    r"[ \t]+(?P<value>[0-9]{1,3}(?:[,.\u00a0][0-9]{3}){0,4}) MB[ \t]*"
)
_CLOCKS = re.compile(
    rf"[ \t]*(?P<which>hardware limits:|current policy: frequency should be within) {_NUMBER} [kMG]Hz (?:-|and)"
    rf" (?P<most>{_NUMBER}) (?P<unit>[kMG])Hz\.?[ \t]*"
)
_IOPING = re.compile(r"--- (?P<who>.{1,160}) ioping statistics ---")
_SPREAD = re.compile(rf"min/avg/max/mdev = {_NUMBER} \w{{1,2}} / (?P<avg>{_NUMBER}) (?P<unit>us|ms|s) / .*")
_HDPARM = re.compile(r"(?P<who>/dev/[\w/-]{1,60}):[ \t]*")
_BUFFERED = re.compile(rf"[ \t]*Timing buffered disk reads:.*=[ \t]*(?P<value>{_NUMBER}) (?P<unit>[kM])B/sec[ \t]*")
_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_HERTZ = {"k": 1e3, "M": 1e6, "G": 1e9}
_SIZES = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}

ROOM = 2.0**30
"""Bytes that a file system may still give to metadata from which a full area of it is no matter."""


def stated(line: str, state: dict[str, Any], maybe: bool = True) -> list[Stated] | None:
    """Return what a line states, an empty list for one that only belongs to a report, None for any other.

    `maybe` is False if the line is known not to have what `MAYBE` looks for.

    >>> state = {}
    >>> stated("Core 5:        +91.0°C  (high = +90.0°C, crit = +92.0°C)", state)
    [('temperature', 'Core 5', 91.0, 92.0)]
    >>> stated("PSU2 Fan   | 0 RPM  | cr", state), stated("PSU2 Fan   | 9000 RPM  | ok", state)
    ([('board sensor critical', 'PSU2 Fan (0 RPM)', 0.0, None)], None)
    >>> stated("vg9-pool: 0 900 thin-pool 1 10/20 77/77 - out_of_data_space discard_passdown queue_if_no_space - 1024", state)[1:]
    [('thin pool data', 'vg9-pool', 77.0, 77.0), ('thin pool refuses', 'vg9-pool (out_of_data_space)', 1.0, None)]
    >>> [stated(x, state) for x in ("device nas:/x mounted on /x with fstype nfs4 statvers=1.1", "    READ: 200 200 0 1 1 9 8000 9000")]
    [[], [('nfs read', '/x', 40.0, 200.0)]]
    >>> [stated(x, state) for x in ("calls      retrans    authrefrsh", "9000   900   9000")]
    [[], [('rpc calls sent again', 'the client', 900.0, 9000.0)]]
    """
    if "calls" in state and _COUNTS.fullmatch(line):
        return _of_calls(line, str(state.pop("calls")).split())
    if "labels" in state and (found := _LABEL.fullmatch(line)):
        corrected, not_ = float(found["ce"]), float(found["ue"])
        return _of_memory(found["who"], corrected) + (_of_memory(found["who"], not_, bad=True) if not_ else [])
    if not maybe or MAYBE.search(line) is None:
        return None
    for read in (
        _of_board,
        _of_faults,
        _of_pools,
        _of_caches,
        _of_servers,
        _of_hypervisor,
        _of_sizes,
        _of_clocks,
        _of_tests,
    ):
        made = read(line, state)
        if made is not None:
            return made
    return None


def _of_calls(line: str, names: list[str]) -> list[Stated]:
    values = dict(zip(names, map(float, line.split()), strict=False))
    again = (("retrans", "rpc calls sent again"), ("timeouts", "rpc calls that timed out"))
    return [(what, "the client", values[n], values["calls"]) for n, what in again if n in values]


def _of_memory(who: str, errors: float, *, bad: bool = False) -> list[Stated]:
    return [(f"memory errors {'not ' if bad else ''}corrected", who.strip(), errors, None)]


def _of_board(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _HEAT.fullmatch(line):
        limits = {m["name"]: float(m["value"]) for m in _LIMIT.finditer(found["limits"])}
        most = limits.get("crit") or limits.get("high")
        return [("temperature", found["who"].strip(), float(found["value"]), most)] if most else None
    if (found := _SENSOR.fullmatch(line)) and found["state"] not in ("nc",):
        hot = found["unit"] == "degrees C"
        said = f"{found['who']} ({float(found['value']):g} {'°C' if hot else found['unit']})"
        return [(f"board {'temperature' if hot else 'sensor'} critical", said, float(found["value"]), None)]
    return None


def _of_faults(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _DIMM.fullmatch(line) or _EDAC.fullmatch(line):
        return _of_memory(found["who"], float(found["value"]), bad=found["how"] != "Corrected")
    if _LABELS.fullmatch(line):
        state["labels"] = True
        return []
    if found := _CHECK.fullmatch(line):
        return [("machine check", found["who"].strip(), 1.0, None)]
    if found := _FAULT.fullmatch(line):
        return [("fault", found["who"], 1.0, None)]
    if found := _LIMITED.fullmatch(line):
        return [(f"ipc limit {found['what']}", found["who"].lower(), float(found["used"]), float(found["most"]))]
    return None


def _of_pools(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if (found := _THIN.fullmatch(line)) is None:
        return None
    who = found["who"] or "the thin pool"
    made: list[Stated] = [
        ("thin pool metadata", who, float(found["meta"]), float(found["metas"])),
        ("thin pool data", who, float(found["data"]), float(found["data_all"])),
    ]
    if refuses := _REFUSES.search(found["rest"]):
        made.append(("thin pool refuses", f"{who} ({refuses[1]})", 1.0, None))
    return made


def _of_caches(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _DRIVE.fullmatch(line):
        state["drive"] = f"virtual drive {found['who']}"
        return None
    if found := _POLICY.fullmatch(line):
        if found["which"] == "Default":
            state["wanted"] = found["how"]
            return []
        off = found["how"] == "WriteThrough" and state.pop("wanted", "") == "WriteBack"
        return [("write cache off", str(state.get("drive", "a virtual drive")), 1.0, None)] if off else []
    if _NO_CACHE.fullmatch(line):
        return [("write cache off", "the controller", 1.0, None)]
    if found := _HITS.fullmatch(line):
        return [("hits of the cache of ZFS", "ARC", float(found["value"] or found["rate"]), None)]
    return None


def _of_servers(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _MOUNT.fullmatch(line):
        state["nfs at"] = found["who"]
        return []
    if _CALLS.fullmatch(line):
        state["calls"] = line
        return []
    if line.startswith("Client rpc"):
        return []
    if "nfs at" not in state or (found := _PER_OP.fullmatch(line)) is None:
        return None
    ops = float(found["ops"])
    if ops < LEAST_CALLS:
        return []
    at, mean = str(state["nfs at"]), float(found["rtt"]) / ops
    if found["op"] in ("READ", "WRITE"):
        return [(f"nfs {found['op'].lower()}", at, mean, ops)]
    return [("nfs operation", f"{found['op']} at {at}", mean, ops)]


def _of_hypervisor(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _ESX_STATE.fullmatch(line):
        return [(f"hypervisor memory {found['who']}", found["who"], 1.0, None)]
    if found := _ESX_SWAP.fullmatch(line):
        return [("hypervisor swaps in", "the host", float(found["read"]), None)]
    if found := _ESX_BUSY.fullmatch(line):
        return [("hypervisor busy", "the host", float(found["value"]), None)]
    return None


def _bytes(found: re.Match[str], name: str) -> float:
    unit = found[f"{name}_unit"].upper().rstrip("B").rstrip("I")
    return float(found[name]) * 1024.0 ** _SIZES[unit]


def _of_sizes(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _BTRFS_ERRORS.fullmatch(line):
        return [(f"btrfs {found['name']}", found["who"], float(found["value"]), None)]
    if found := _UNALLOCATED.fullmatch(line):
        state["room"] = _bytes(found, "left")
        return []
    if found := _METADATA.fullmatch(line):
        if float(state.get("room", ROOM)) >= ROOM:
            return []
        return [("metadata of btrfs", "metadata", _bytes(found, "used"), _bytes(found, "most"))]
    if found := _SWAP_DEVICE.fullmatch(line):
        used, most = _bytes(found, "used"), _bytes(found, "most")
        return [("swap device", found["who"], used, most)] if most else []
    if found := _WINDOWS.fullmatch(line):
        value, which = float(re.sub(r"\D", "", found["value"])), found["which"]
        if which.endswith(("Total Physical Memory", "Max Size")):
            state["whole"] = value
            return []
        most = float(state.pop("whole", 0.0))
        name = "virtual memory of Windows" if which.startswith("Virtual") else "physical memory of Windows"
        return [(name, "memory", most - value, most)] if most >= value else []
    return None


def _of_clocks(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if (found := _CLOCKS.fullmatch(line)) is None:
        return None
    most = float(found["most"]) * _HERTZ[found["unit"]]
    if found["which"].startswith("hardware"):
        state["clock"] = most
        return []
    whole = float(state.get("clock", 0.0))
    return [("clock that is allowed", "processors", 100.0 * most / whole, None)] if whole else []


def _of_tests(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return what ioping and hdparm measured of a disk."""
    if found := _IOPING.fullmatch(line):
        state["tested"] = found["who"]
        return []
    if "tested" in state and (found := _SPREAD.fullmatch(line)):
        return [("test of a disk", str(state.pop("tested")), float(found["avg"]) * _MS[found["unit"]], None)]
    if found := _HDPARM.fullmatch(line):
        state["timed"] = found["who"]
        return None
    if found := _BUFFERED.fullmatch(line):
        rate = float(found["value"]) / (1024.0 if found["unit"] == "k" else 1.0)
        return [("buffered disk reads", str(state.get("timed", "the disk")), rate, None)]
    return None
