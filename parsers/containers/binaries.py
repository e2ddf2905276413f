"""Recognise files of tools that are binary or a drawing, and name the command that turns each into lines."""

from __future__ import annotations

import re

_KNOWN = (
    (
        rb"iptrace [12]\.0",
        "a packet trace of AIX's iptrace",
        "`editcap -F pcap FILE new.pcap` or `tshark -r FILE` (both of Wireshark; or `ipreport -ns FILE` on AIX)",
    ),
    (
        rb"PERFILE2|2ELIFREP",
        "samples of perf record",
        "`perf script --header -i FILE` or `perf report --stdio -i FILE`",
    ),
    (
        rb"\x96\xd5[\x70-\x75]\x21|\xd5\x96\x21[\x70-\x75]",
        "a data file of sar (sysstat)",
        "`sadf -d FILE -- -A` or `sar -A -f FILE`, with the sysstat that wrote it",
    ),
    (rb"LPKSHHRH", "a file of systemd's journal", "`journalctl --file FILE -o short-iso-precise`"),
    (
        rb"\x7fELF",
        "a core or a program (ELF)",
        "`gdb -batch -ex 'thread apply all bt' PROGRAM FILE` or, on Solaris, `pstack FILE` and `pmap FILE`",
    ),
)
"""Signatures of binary files.

Sources: file(1), sysstat's sa.h (SYSSTAT_MAGIC and format 0x2170 to 0x2175), perf's header.h, Wireshark's iptrace
reader.
"""


_DRAWN = (
    (
        rb"<\?xml [^>]{0,200}\?>\s{0,8}<!DOCTYPE svg [^>]{0,400}>\s{0,8}<svg [^>]{0,400}>\s{0,8}<text [^>]{0,200}>[A-Za-z]+ \S{1,100} \([^)]{1,255}\)[ \t]",
        "a picture of sadf -g (SVG)",
        "`sadf -d FILE -- -A` or `sar -A -f FILE`, of the same data file,",
    ),
    (
        rb"(?:#[^\n]{0,400}\n|\n){0,20}(?: {1,8}\*?(?:[A-Z][0-9A-Z]|[.-])){1,1024} {1,999}[0-9]{1,12}\.[0-9]{6} secs\b",
        "the map of perf sched map",
        "`perf sched timehist` or `perf sched latency`, of the same perf.data,",
    ),
)
"""Texts that show data as a picture; a command prints the same data as lines.

Sources: sysstat's svg_stats.c and perf's builtin-sched.c.
"""


def describe(head: bytes) -> str | None:
    """Describe a binary file by its first bytes, with what to do about it; return None for all others.

    >>> describe(b"iptrace 2.0")[:47]
    "not text but a packet trace of AIX's iptrace: s"
    >>> describe(b"iptrace started") is None
    True
    >>> describe(b"  *A0           11779.233000 secs A0 => sleep:23490\\n")[:40]
    'no listing but the map of perf sched map'
    """
    for signature, what, command in _KNOWN:
        if re.match(signature, head):
            return f"not text but {what}: send what {command} writes"
    for signature, what, command in _DRAWN:
        if re.match(signature, head):
            return f"no listing but {what}: send what {command} writes"
    return None
