r"""Read the progress and summaries of file transfers: rsync, scp and sftp, wget.

Each is a row under the heading `TRANSFER`: tool, name, bytes per second, seconds that are left or were taken, `stalled` if the
tool says so. Source: rsync(1), --progress and the last lines; OpenSSH progressmeter.c; GNU Wget, progress.c.
"""

from __future__ import annotations

import re

TRANSFER = "transfer"
LONGEST = 300

_RATE = r"(?P<rate>[0-9]{1,6}(?:[.,][0-9]{1,3})?)[ ]?(?P<unit>[KMGkmg]?i?B)/s"
_SCP = re.compile(
    rf"(?P<name>\S.{{0,200}}?)[ \t]+(?P<pct>[0-9]{{1,3}})%[ \t]+[0-9]{{1,9}}(?:\.[0-9])?[KMG]?B[ \t]+{_RATE}[ \t]+"
    r"(?:(?P<left>(?:[0-9]{1,3}:)?[0-9]{1,2}:[0-9]{2})(?P<eta> ETA)?|(?P<stalled>- stalled -))[ \t]*"
)
_RSYNC = re.compile(
    rf"[ \t]*[0-9][0-9.,]{{0,20}}[KMG]?[ \t]+(?P<pct>[0-9]{{1,3}})%[ \t]+{_RATE}[ \t]+(?P<left>[0-9]{{1,4}}:[0-9]{{2}}:[0-9]{{2}})\b.*"
)
_SENT = re.compile(
    r"sent [0-9.,]{1,25}[KMGT]? bytes[ \t]+received [0-9.,]{1,25}[KMGT]? bytes[ \t]+(?P<rate>[0-9.,]{1,25}[KMG]?) bytes/sec[ \t]*"
)
_WGET = re.compile(
    rf"(?P<name>\S{{1,200}})[ \t]+(?P<pct>[0-9]{{1,3}})%\[[=> ]{{1,120}}\][ \t]+[0-9.,]{{1,12}}[KMG]?[ \t]+(?:{_RATE}|--\.-KB/s)[ \t]*"
    r"(?:(?P<eta>eta|in) (?P<span>(?:[0-9]{1,4}(?:\.[0-9])?[dhms] ?){1,4}))?[ \t]*"
)
_POWERS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}


def transferred(line: str) -> list[str] | None:
    """Return tool, name, bytes per second, seconds and whether it stalls, as cells; None for any other line.

    >>> transferred("dump.tgz           37% 1422MB   0.0KB/s - stalled -")
    ['scp', 'dump.tgz', '0', '', 'stalled']
    >>> transferred("image.iso     12%[==>       ]  91.21M  48.2KB/s    eta 3h 52m")
    ['wget', 'image.iso', '48200', '13920', '']
    >>> transferred("  1,073,741,824 100%  211.33kB/s    1:22:42 (xfr#1, to-chk=0/1)")
    ['rsync', 'a file', '211330', '4962', '']
    >>> transferred("sent 1,074,004,081 bytes  received 35 bytes  216,402.20 bytes/sec"), transferred("37% of 91 MB/s")
    (['rsync', 'all files', '216402', '', ''], None)
    """
    if len(line) > LONGEST:
        return None
    if line.startswith("sent ") and (found := _SENT.fullmatch(line)):
        power = _POWERS.get(found["rate"][-1], 1.0)
        return ["rsync", "all files", f"{float(found['rate'].rstrip('KMG').replace(',', '')) * power:.0f}", "", ""]
    if "B/s" not in line or "%" not in line:
        return None
    for tool, shape in (("scp", _SCP), ("rsync", _RSYNC), ("wget", _WGET)):
        if (found := shape.fullmatch(line)) is not None:
            held = found.groupdict()
            seconds = _clock(held["left"]) if held.get("left") else _span(held.get("span") or "")
            rate = _bytes(held["rate"], held["unit"]) if held["rate"] else 0.0
            left = "" if seconds is None else f"{seconds:.0f}"
            return [
                tool,
                (held.get("name") or "a file").strip(),
                f"{rate:.0f}",
                left,
                "stalled" if held.get("stalled") else "",
            ]
    return None


def _bytes(rate: str, unit: str) -> float:
    return float(rate.replace(",", ".")) * _POWERS[unit.upper().removesuffix("B").removesuffix("I")]


def _clock(text: str) -> float:
    return sum(float(part) * 60.0**n for n, part in enumerate(reversed(text.split(":"))))


def _span(text: str) -> float | None:
    found = re.findall(r"([0-9.]+)([dhms])", text)
    return sum(float(n) * _UNITS[unit] for n, unit in found) if found else None
