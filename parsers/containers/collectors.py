"""Recognise the directory trees of collecting tools: sosreport, supportconfig, OSWatcher, ExaWatcher, explorer, AHF (TFA),
snap, folders of nmon, `kubectl cluster-info dump`.

Their paths name the host and the first day of a file, and often the command that printed it; some small files in them
name the zone. These facts are guesses: what a person entered has precedence.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace

HOST = r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,80}?)"


def _day(between: str) -> str:
    return between.join((r"(?P<y>[0-9]{4})", r"(?P<m>[0-9]{2})", r"(?P<d>[0-9]{2})"))


_DAY2 = r"(?P<y2>[0-9]{2})(?P<m>[0-9]{2})(?P<d>[0-9]{2})"

SMALL = 64 * 1024
"""Maximum bytes of a file that is searched for a zone."""


@dataclass(frozen=True)
class Collector:
    """One tool's tree: `path` is a pattern for a member's path, with groups host, y (or y2), m (or mon), d where the path
    has them. `name` is None for a path that names the host but fits trees of several tools.
    """

    name: str | None
    system: str | None
    path: str


COLLECTORS = (
    Collector(
        "sosreport", "linux", r"(?:^|[/!])sosreport-" + HOST + r"(?:-[0-9]{5,})?-" + _day("-") + r"-[a-z0-9]{7}/"
    ),
    Collector(
        "sosreport", "linux", r"(?:^|[/!])sosreport-" + HOST + r"(?:\.[0-9]+)?-" + _day("") + r"[0-9]{4,6}[^/]*/"
    ),
    Collector(
        "OSWatcher",
        None,
        r"(?:^|[/!])osw(?P<tool>[a-z]+)/"
        + HOST
        + r"_[a-z]+_(?P<y2>[0-9]{2})\.(?P<m>[0-9]{2})\.(?P<d>[0-9]{2})\.[0-9]{4}\.dat$",
    ),
    Collector(
        "ExaWatcher",
        "linux",
        r"(?:^|[/!])" + _day("_") + r"(?:_[0-9]{2}){3}_[A-Za-z]+ExaWatcher_" + HOST + r"\.dat$",
    ),
    Collector("supportconfig", "linux", r"(?:^|[/!])(?:scc|nts)_" + HOST + r"_" + _DAY2 + r"_[0-9]{4}/"),
    Collector("explorer", "solaris", r"(?:^|[/!])explorer\.[0-9a-f]{8}\." + HOST + "-" + _day(r"\.") + r"\.[0-9.]+/"),
    Collector(
        "AHF",
        None,
        r"(?:^|[/!])"
        + HOST
        + r"\.tfa_[^/!]*_(?P<mon>[A-Z][a-z]{2})_(?P<d>[0-9]{1,2})_[0-9_]{8}_[A-Z]{2,5}_(?P<y>[0-9]{4})(?:\.zip!|/)",
    ),
    Collector(
        "snap",
        "aix",
        r"(?:^|[/!])(?:(?:async|dump|filesys|general|kernel|lang|lvm|nfs|printer|tcpip|wpars)/[a-z_]{2,20}\.snap"
        r"|general/(?:errpt\.out|lparstat\.out|oslevel\.info))$",
    ),
    Collector("nmon", None, r"(?:^|[/!])" + HOST + r"_" + _DAY2 + r"_[0-9]{4,6}\.nmon$"),
    Collector(
        "kubectl cluster-info dump",
        None,
        r"(?:^|[/!])(?:[a-z0-9-]{1,63}/(?:events|pods|services|deployments|replicasets|daemonsets|replication-controllers)"
        r"|nodes)\.json$",
    ),
    Collector(None, None, r"(?:^|[/!])[a-z0-9-]{1,63}/(?P<host>[a-z0-9][a-z0-9.-]{0,252})/logs\.txt$"),
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

ZONE_FILES = (
    (r"(?:^|[/!])etc/timezone$", r"^\s*([A-Za-z_+-]+(?:/[A-Za-z0-9_+-]+)*)\s*$"),
    (r"(?:^|[/!])timedatectl[^/]*$", r"Time ?zone: ([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)*)"),
    (
        r"(?:^|[/!])etc/(?:TIMEZONE|default/init|environment)$",
        r"(?m)^\s*TZ=\"?([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+)\"?\s*$",
    ),
    (r"(?:^|[/!])etc/sysconfig/clock$", r"(?m)^ZONE=\"?([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+)\"?"),
)
_LINK = r"zoneinfo/([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)*)$"


@dataclass(frozen=True)
class MemberFacts:
    """Facts about a member from the tree, None where unknown: `date` is YYYY-MM-DD, `tz` the name of a zone, `command`
    the command that printed the file.
    """

    collector: str | None = None
    host: str | None = None
    os: str | None = None
    date: str | None = None
    tz: str | None = None
    command: str | None = None

    def as_json(self) -> dict[str, str]:
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass
class Tree:
    """Zones found while reading an archive, by the root of a host's tree; they stand in members of their own.

    `archive` is the name of the archive itself, which may be the only one that names the host.
    """

    archive: str = ""
    zones: dict[str, str] = field(default_factory=dict)

    def learn(self, path: str, text: str) -> None:
        """Store the zone in the text of a small member, if its path is that of a file with a zone."""
        path = self._whole(path)
        for pattern, zone in ZONE_FILES:
            if re.search(pattern, path) and (match := re.search(zone, text)) and _is_zone(match[1]):
                self.zones.setdefault(_root(path), match[1])

    def learn_link(self, path: str, target: str) -> None:
        """Store the zone in the target of the link `etc/localtime`; links are not unpacked."""
        path = self._whole(path)
        if path.endswith("etc/localtime") and (match := re.search(_LINK, target)) and _is_zone(match[1]):
            self.zones.setdefault(_root(path), match[1])

    def facts_of(self, path: str) -> MemberFacts:
        """Return the facts about a member from its path and the zones stored so far."""
        path = self._whole(path)
        found = _place(path)
        zone = next(
            (z for root, z in sorted(self.zones.items(), key=lambda x: -len(x[0])) if path.startswith(root)), None
        )
        return replace(found, tz=zone)

    def _whole(self, path: str) -> str:
        return f"{self.archive}!{path}" if self.archive else path


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
            host = (parts.get("host") or "").lower() or None
            return MemberFacts(collector.name, host, collector.system, _day_of(parts), command=_command(path))
    return MemberFacts()


def _day_of(parts: Mapping[str, str | None]) -> str | None:
    day = parts.get("d")
    if day is None:
        return None
    year = parts.get("y") or f"20{parts.get('y2')}"
    month = parts.get("m") or f"{_MONTHS.index(parts['mon'] or '') + 1:02}"
    return f"{year}-{month}-{int(day):02}"


def _command(path: str) -> str | None:
    """Return the command that printed a member, from its name as sosreport and explorer write it.

    >>> _command("sosreport-a-2021-11-20-abcdefg/sos_commands/memory/free_-m"), _command("explorer.0.a/netinfo/netstat-an.out")
    ('free -m', 'netstat -an')
    >>> _command("sosreport-a-2021-11-20-abcdefg/proc/meminfo"), _command("oswvmstat/a_vmstat_12.02.29.1100.dat")
    ('cat /proc/meminfo', None)
    """
    if match := re.search(r"/sos_commands/[^/]+/([A-Za-z][^/]{0,200})$", path):
        return match[1].replace("_", " ")
    if match := re.search(r"(?:^|[/!])explorer\.[^/]+/(?:.*/)?([a-z][a-z0-9]{1,20})-([A-Za-z][^/]{0,40})\.out$", path):
        return f"{match[1]} -{match[2].replace('_', ' ')}"
    if match := re.search(r"^[^/]*(?:sosreport-|explorer\.)[^/]*(/(?:proc|sys|etc|var)/[^/].*)$", path):
        return f"cat {match[1]}"
    return None


def _root(path: str) -> str:
    """Return the folder that holds the tree of one host: what stands before `etc/` or `sos_commands/`."""
    match = re.search(r"^(.*?)(?:etc|sos_commands|sysconfig)/", path)
    return match[1] if match else ""


def _is_zone(name: str) -> bool:
    return name in zoneinfo.available_timezones()
