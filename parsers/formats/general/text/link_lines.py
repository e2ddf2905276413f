r"""Lines on a link that is slower than both of its ends could be (ethtool), or that works at half duplex (ethtool, ifconfig, entstat, switches).

A row as those of `stated_lines` stands on the line of the speed: what the ends agreed on, and the most that both can. The partner's modes count
where they are printed: a slower switch is no fault. Source: ethtool(8), Linux net/ethtool/ioctl.c (link modes); ifconfig(8) of
BSD and macOS (media); entstat, AIX (Media Speed Running); Cisco IOS, show interfaces.
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

SLOWER = "speed of a link in Mbit/s"
HALF = "half duplex of a link"

_MODES = re.compile(r"[ \t]*(?P<whose>Supported|Advertised|Link partner advertised) link modes:[ \t]*(?P<modes>.*)")
_MORE = re.compile(r"[ \t]+[0-9]{1,6}base[\w/-]{1,24}(?:[ \t]+[0-9]{1,6}base[\w/-]{1,24}){0,6}[ \t]*")
_MODE = re.compile(r"([0-9]{1,6})base[\w-]{1,12}/(?:Full|Half)")
_SPEED = re.compile(r"[ \t]*Speed: (?P<mbit>[0-9]{1,6})Mb/s[ \t]*")
_SAID = re.compile(
    r"[ \t]*media: [\w ]{1,30}\((?P<bsd>[0-9]{2,6})base\w{1,6} <(?:[\w-]{1,20},)?half-duplex[>,].*"
    r"|[ \t]*Media Speed Running: (?P<aix>[0-9]{2,6}) Mbps Half Duplex[ \t]*|[ \t]*Half-duplex, (?P<ios>[0-9]{2,6})Mb/s,.*",
    re.I,
)
"""A link that is said to work at half duplex, with its speed."""

_DUPLEX = re.compile(r"[ \t]*Duplex: (?P<duplex>Half|Full)[ \t]*")


def stated(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the speed of a link below what its ends can, and half duplex; None for any other line.

    >>> state = {}
    >>> [stated(x, state) for x in ("Supported link modes:   10baseT/Full", "       1000baseT/Full", "Speed: 100Mb/s", "Duplex: Half")]
    [[], [], [('speed of a link in Mbit/s', 'a link', 100.0, 1000.0)], [('half duplex of a link', 'a link', 100.0, None)]]
    >>> stated("\tmedia: autoselect (100baseTX <half-duplex>)", {}), stated("Media Speed Running: 1000 Mbps Full Duplex", {})
    ([('half duplex of a link', 'a link', 100.0, None)], None)
    >>> stated("Speed: 1000Mb/s", {}), stated("Duplex: Half", {}), stated("Duplex: Full", {"link_speed": 100.0})
    (None, None, None)
    """
    if "link_modes" in state and "base" in line and _MORE.fullmatch(line):
        state["link_modes"][state["link_whose"]] = max(state["link_modes"][state["link_whose"]], _most(line))
        return []
    if " link modes:" in line and (found := _MODES.fullmatch(line)):
        whose = found["whose"]
        modes = {} if whose == "Supported" else state.get("link_modes", {})
        state["link_modes"], state["link_whose"] = {**modes, whose: _most(found["modes"])}, whose
        return []
    if "Speed: " in line and (found := _SPEED.fullmatch(line)):
        modes = state.pop("link_modes", {})
        speed = state["link_speed"] = float(found["mbit"])
        can = [modes[w] for w in ("Supported", "Link partner advertised") if modes.get(w)]
        return [(SLOWER, "a link", speed, min(can))] if can and min(can) > speed else None
    if "alf" in line and (found := _SAID.fullmatch(line)):
        return [(HALF, "a link", float(found["bsd"] or found["aix"] or found["ios"]), None)]
    if "Duplex: " in line and (found := _DUPLEX.fullmatch(line)):
        speed = state.pop("link_speed", None)
        return [(HALF, "a link", speed, None)] if speed and found["duplex"] == "Half" else None
    return None


def _most(text: str) -> float:
    return max((float(n) for n in _MODE.findall(text)), default=0.0)
