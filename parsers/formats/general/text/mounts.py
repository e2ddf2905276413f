"""Read options of mounted file systems from a line of /proc/mounts, /etc/fstab, `mount` or `nfsstat -m`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsers.formats.general.text.single_lines import LONGEST, Pair, figure_of

_OPTIONS = r"(?:rw|ro|defaults)(?:,[^\s,()]{1,200}){0,80}"
_TABLE = re.compile(
    rf"[ \t]*(\S{{1,300}})[ \t]+(/\S{{0,300}})[ \t]+([a-z][a-z0-9._]{{1,20}})[ \t]+({_OPTIONS})[ \t]+[0-9][ \t]+[0-9][ \t]*"
)
_MOUNT = re.compile(rf"[ \t]*(\S{{1,300}}) on (/\S{{0,300}}) type ([a-z][a-z0-9._]{{1,20}}) \(({_OPTIONS})\)[ \t]*")
_REMOTE = re.compile(r"nfs[34]?|cifs|smb3?|smbfs|glusterfs|ceph|fuse[.]\w+|afs|lustre|gfs2?|ocfs2|9p|virtiofs")
_TOLD = re.compile(
    r"(?:a?sync|dirsync|soft|hard|intr|noac|nolock|nocto|discard|barrier|nobarrier|noatime|atime|relatime|strictatime)"
)
"""Options without a value that change how long a program waits."""


def options_of(line: str) -> tuple[str, list[Pair]] | None:
    """Return the mount point and the options that change how long programs wait; None for any other line.

    These are the options in `_TOLD` and, for network file systems, every option with a value.

    >>> line = "fs1:/srv /mnt nfs rw,relatime,vers=3,timeo=7,hard,proto=tcp 0 0"
    >>> [(p.name, p.value) for p in options_of(line)[1]]
    [('nfs relatime', 'set'), ('nfs vers', '3'), ('nfs timeo', '7'), ('nfs hard', 'set'), ('nfs proto', 'tcp')]
    >>> options_of("/dev/sda1 on / type ext4 (rw,nobarrier,data=ordered)")[0]
    '/'
    """
    if len(line) > LONGEST * 3 or "," not in line or not ("rw" in line or "ro" in line or "defaults" in line):
        return None
    found = _TABLE.fullmatch(line) or _MOUNT.fullmatch(line)
    return (found[2], list(_pairs(found[3], found[4]))) if found else None


def _pairs(kind: str, options: str) -> Iterator[Pair]:
    remote = _REMOTE.fullmatch(kind) is not None
    for option in options.split(",")[1:]:
        name, equals, value = option.partition("=")
        if equals and remote:
            yield Pair(f"{kind} {name}", value, figure_of(value)[0], None, True)
        elif not equals and _TOLD.fullmatch(name):
            yield Pair(f"{kind} {name}", "set", None, None, True)
