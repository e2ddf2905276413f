"""Recognise lines of iostat: headers of all systems reduced to plain names, titles, stamps, vertical blocks of AIX."""

from __future__ import annotations

import re

import polars as pl

TITLE = (
    r"^[ \t]*(?:extended (?:device|disk) statistics.*|(?:tty|device)?[ \t]*extended device statistics.*|cpu|-{10,}"
    r"|-{4,}(?:[ \t]+-{4,})+|Disks:[ \t]+xfers[ \t]+read[ \t].*|act(?:[ \t]+(?:serv|outs|time|wqsz|sqsz|qfull))+"
    r"|extended disk input/output statistics|device extended statistics.*|System: [A-Za-z0-9][A-Za-z0-9_.-]*)$"
)
GROUP = (
    r"^[ \t]*(?:tty[ \t]+)?(?:[A-Za-z][^ \t:]*[ \t]+)*(?:cpu|tty)$|^[ \t]*tty(?:[ \t]+[A-Za-z][^ \t:]*)+$"
    r"|^[ \t]+[a-z]{1,9}[0-9]{1,5}(?:[ \t]+[a-z]{1,9}[0-9]{1,5})*$"
)
"""The line above the columns of Solaris and BSD: `tty sd0 sd1 cpu`; with -D disks alone."""

NO_WORD = r"^[^A-Za-z0-9]+$"
"""A line without a letter or digit: a ruler, the prompt after the last row."""

CONFIG = r"^[ \t]*System configuration:[ \t]"
LINUX = r"^[ \t]*(?:avg-cpu:[ \t]+(%user.*)|((?:Device|Filesystem):?[ \t]+[^ \t].*/s.*)|[ \t]*((?:r/s|tps|rrqm/s)[ \t].*/s.*[ \t]Device))$"
SOLARIS = (
    r"^[ \t]*((?:device|disk)[ \t]+(?:r/s|r/i|rps|Mr/s)[ \t].*|(?:r/s|r/i|Mr/s)[ \t].*[ \t]device|device,(?:r/s|r/i).*"
    r"|(?:r/s|r/i),.*,device,?|us[ \t]+sy[ \t]+(?:wt|st)[ \t]+id|(?:device|disk)[ \t]+bps[ \t]+sps[ \t]+msps)$"
)
TTY = r"^[ \t]*(tin[ \t]+tout(?:[ \t].*)?)$"
WIDE = r"^[ \t]*((?:(?:kps|rps|KB/t)[ \t]+(?:tps|wps)[ \t]+(?:serv|util|MB/s)[ \t]*)+(?:us[ \t].*)?)$"
AIX_CPU = r"^[ \t]*tty:[ \t]+tin[ \t]+tout[ \t]+avg-cpu:[ \t]+(% ?user.*)$"
AIX_DISK = r"^[ \t]*(Disks?(?: +history)?:[ \t]+%? ?[^ \t0-9x].*|(?:Vadapter|Adapter|Paths?/Disks?):[ \t].*)$"
AIX_SYSTEM = r"^[ \t]*(Kbps[ \t]+tps[ \t]+Kb_read[ \t]+Kb_wrtn)$"
"""Header of the sums of all disks on AIX (-s)."""
AIX_BLOCK = r"^(?:([^ \t:]+)?[ \t]+)?(xfer|read|write|queue):[ \t]+([%A-Za-z].*)$"
AIX_LONG = r"^[ \t]*(%tm[ \t]+bps[ \t]+tps[ \t]+bread[ \t]+bwrtn[ \t]+rps[ \t].*[ \t]wps[ \t].*)$"
"""The middle one of three title lines of AIX -l; it has no titles for the device's name and the time (-T)."""

ANY = (LINUX, SOLARIS, TTY, WIDE, AIX_CPU, AIX_SYSTEM, AIX_DISK, AIX_LONG)
_OF_LONG = {
    "xfer": {"%tm": "%tm_act"},
    "read": {"avg": "avgserv", "min": "minserv", "max": "maxserv", "time": "timeouts", "fail": "fails"},
    "queue": {"avg": "avgtime", "min": "mintime", "max": "maxtime", "serv": "sqfull"},
}


def heading() -> pl.Expr:
    """Return the names of a header line separated by single blanks, NULL for other lines."""
    line = pl.col("line")
    names = pl.coalesce(
        line.str.extract(LINUX, 1),
        line.str.extract(LINUX, 2),
        line.str.extract(LINUX, 3),
        line.str.extract(SOLARIS).str.replace_all(",", " "),
        pl.concat_str(pl.lit("tin tout "), line.str.extract(AIX_CPU)),
        line.str.extract(TTY),
        line.str.extract(WIDE),
        line.str.extract(AIX_SYSTEM),
        line.str.extract(AIX_DISK),
        line.str.extract(AIX_LONG),
        pl.concat_str(line.str.extract(AIX_BLOCK, 2), pl.lit(": "), line.str.extract(AIX_BLOCK, 3)),
    )
    return names.str.replace_all(r"% +([a-z])", "%$1").str.strip_chars()


def kind_of(names: str) -> str:
    """Return the kind of report that a header begins.

    >>> [kind_of(x) for x in ("%user %nice", "Device r/s", "tin tout kps tps serv us sy wt id", "xfer: %tm_act bps", "Adapter: Kbps tps")]
    ['cpu', 'device', 'wide', 'block', 'sums']
    """
    words = names.split(" ")
    if re.match(r"(?:xfer|read|write|queue):", names):
        return "block"
    if names.startswith("%tm bps"):
        return "device"
    if re.search(r"(?:^| )(?:kps tps serv|rps wps util|KB/t tps MB/s)(?: |$)", names) and words[0] not in (
        "device",
        "disk",
    ):
        return "wide"
    if re.search(r"(?i)(?:^| )(?:device|disks?|filesystem|drive|paths?/disks?):?(?: |$)", names):
        return "device"
    if re.match(r"(?:Kbps tps Kb_read|(?:Vadapter|Adapter):)", names):
        return "sums"
    return "cpu"


def of_long(names: str) -> str:
    """Rename the columns of AIX -l to those of its blocks (-D).

    >>> of_long("%tm bps tps bread bwrtn rps avg max time fail wps avg max time fail avg min max avg avg serv").split()[-8:]
    ['write_timeouts', 'write_fails', 'queue_avgtime', 'queue_mintime', 'queue_maxtime', 'queue_avgwqsz', 'queue_avgsqsz', 'queue_sqfull']
    """
    part, found = "xfer", []
    for word in names.split(" "):
        part = {"rps": "read", "wps": "write"}.get(
            word, "queue" if part == "write" and "write_fails" in found else part
        )
        name = f"{part}_{_OF_LONG['read' if part == 'write' else part].get(word, word)}"
        again = [n for n in ("queue_avgtime", "queue_avgwqsz", "queue_avgsqsz") if n not in found]
        found.append(again[0] if name == "queue_avgtime" and again else name)
    return " ".join(found)
