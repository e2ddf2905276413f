"""Files of tools that are no text: what each is, and the command that makes lines of it."""

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
"""Signatures by file(1), sysstat's sa.h (SYSSTAT_MAGIC and format 0x2170 to 0x2175), perf's header.h, Wireshark's iptrace reader."""


def told(head: bytes) -> str | None:
    """Name a binary file by its first bytes, with what to do about it; None for all others.

    >>> told(b"iptrace 2.0")[:47]
    "not text but a packet trace of AIX's iptrace: s"
    >>> told(b"iptrace started") is None
    True
    """
    for signature, what, command in _KNOWN:
        if re.match(signature, head):
            return f"not text but {what}: send what {command} writes"
    return None
