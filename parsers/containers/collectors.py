"""Recognise the directory trees of collecting tools: sosreport, OSWatcher, ExaWatcher, explorer, AHF (TFA).

Their paths name the host and the first day of a file; some small files in them name the zone. Only what the structure
itself says is used; it is a guess like any other and yields to what a person says.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

HOST = r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,80}?)"


def _day(between: str) -> str:
    return between.join((r"(?P<y>[0-9]{4})", r"(?P<m>[0-9]{2})", r"(?P<d>[0-9]{2})"))


SMALL = 64 * 1024
"""Maximum bytes of a file that is searched for a zone."""


@dataclass(frozen=True)
class Collector:
    """One tool's tree: `path` is a pattern for a member's path, with groups host, y, m, d where the path has them."""

    name: str
    system: str | None
    path: str


COLLECTORS = (
    Collector("sosreport", "linux", r"(?:^|/)sosreport-" + HOST + r"(?:-[0-9]{5,})?-" + _day("-") + r"-[a-z0-9]{7}/"),
    Collector("sosreport", "linux", r"(?:^|/)sosreport-" + HOST + r"(?:\.[0-9]+)?-" + _day("") + r"[0-9]{4,6}[^/]*/"),
    Collector(
        "OSWatcher",
        None,
        r"(?:^|/)osw(?P<tool>[a-z]+)/"
        + HOST
        + r"_[a-z]+_(?P<y2>[0-9]{2})\.(?P<m>[0-9]{2})\.(?P<d>[0-9]{2})\.[0-9]{4}\.dat$",
    ),
    Collector(
        "ExaWatcher",
        "linux",
        r"(?:^|/)" + _day("_") + r"(?:_[0-9]{2}){3}_[A-Za-z]+ExaWatcher_" + HOST + r"\.dat$",
    ),
    Collector("explorer", "solaris", r"(?:^|/)explorer\.[0-9a-f]{8}\." + HOST + "-" + _day(r"\.") + r"\.[0-9.]+/"),
    Collector(
        "AHF",
        None,
        r"(?:^|[/!])"
        + HOST
        + r"\.tfa_[^/!]*_(?P<mon>[A-Z][a-z]{2})_(?P<d>[0-9]{1,2})_[0-9_]{8}_[A-Z]{2,5}_(?P<y>[0-9]{4})(?:\.zip!|/)",
    ),
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

ZONE_FILES = (
    (r"(?:^|/)etc/timezone$", r"^\s*([A-Za-z_+-]+(?:/[A-Za-z0-9_+-]+)*)\s*$"),
    (r"(?:^|/)timedatectl[^/]*$", r"Time ?zone: ([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)*)"),
    (r"(?:^|/)etc/(?:TIMEZONE|default/init|environment)$", r"(?m)^\s*TZ=\"?([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+)\"?\s*$"),
    (r"(?:^|/)etc/sysconfig/clock$", r"(?m)^ZONE=\"?([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+)\"?"),
)
_LINK = r"zoneinfo/([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)*)$"


@dataclass(frozen=True)
class MemberFacts:
    """What the tree says about a member; None if it says nothing. `date` is YYYY-MM-DD, `tz` a zone's name."""

    collector: str | None = None
    host: str | None = None
    os: str | None = None
    date: str | None = None
    tz: str | None = None

    def as_json(self) -> dict[str, str]:
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass
class Tree:
    """Zones learnt while walking through an archive, by the root of a host's tree: separate members hold them."""

    zones: dict[str, str] = field(default_factory=dict)

    def learn(self, path: str, text: str) -> None:
        """Learn the zone from a small member whose name says that it holds one."""
        for pattern, zone in ZONE_FILES:
            if re.search(pattern, path) and (match := re.search(zone, text)) and _is_zone(match[1]):
                self.zones.setdefault(_root(path), match[1])

    def learn_link(self, path: str, target: str) -> None:
        """Learn the zone from the target of the link `etc/localtime`, which is not unpacked."""
        if path.endswith("etc/localtime") and (match := re.search(_LINK, target)) and _is_zone(match[1]):
            self.zones.setdefault(_root(path), match[1])

    def facts_of(self, path: str) -> MemberFacts:
        """Return what the tree says about a member."""
        found = _place(path)
        zone = next(
            (z for root, z in sorted(self.zones.items(), key=lambda x: -len(x[0])) if path.startswith(root)), None
        )
        return MemberFacts(found.collector, found.host, found.os, found.date, zone)


def names_a_zone(path: str) -> bool:
    return any(re.search(pattern, path) for pattern, _ in ZONE_FILES)


def collector_of(paths: Iterable[str]) -> str | None:
    """Return the name of the tool whose tree this is: the one that matches most paths."""
    counts: dict[str, int] = {}
    for path in paths:
        if name := _place(path).collector:
            counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: counts[name]) if counts else None


def _place(path: str) -> MemberFacts:
    """Return host, system and day from a path.

    >>> _place("archive/oswvmstat/db1_vmstat_12.02.29.1100.dat").as_json()
    {'collector': 'OSWatcher', 'host': 'db1', 'date': '2012-02-29'}
    """
    for collector in COLLECTORS:
        if match := re.search(collector.path, path):
            parts: Mapping[str, str | None] = match.groupdict()
            year = parts.get("y") or ("20" + (parts.get("y2") or ""))
            month = parts.get("m") or f"{_MONTHS.index(parts['mon'] or '') + 1:02}"
            day = f"{year}-{month}-{int(parts['d'] or 0):02}"
            return MemberFacts(collector.name, (parts["host"] or "").lower(), collector.system, day)
    return MemberFacts()


def _root(path: str) -> str:
    """Return the folder that holds the tree of one host: what stands before `etc/` or `sos_commands/`."""
    match = re.search(r"^(.*?)(?:etc|sos_commands|sysconfig)/", path)
    return match[1] if match else ""


def _is_zone(name: str) -> bool:
    return name in zoneinfo.available_timezones()
