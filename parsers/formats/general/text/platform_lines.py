"""Lines without a stamp in which servers of storage, databases, batch and clouds say that something waits, is refused or lost.

Such a line has neither a severity nor a word of failure: a waiter of GPFS (`Waiting 412.3 sec since 11:15:09 ...`), an event of SAN Volume
Controller, a dead path of PowerPath, the reason why a job of LSF or PBS does not run, a row of a list of sessions that waits for a lock
(Db2, Sybase, Informix), a backup that wants a tape, a message of Storage Protect (`ANR8302E`), an answer that tells of throttling, the
counters of a Fibre Channel port, a slow mount of NFS, a processor of a Cisco device that is busy for minutes.
Source: IBM Storage Scale, mmdiag(8); IBM Spectrum Virtualize, lseventlog; Dell EMC PowerPath CLI guide; IBM Spectrum LSF, bjobs -p; PBS
Professional Administrator's Guide; IBM Db2, db2pd -wlocks; SAP ASE, sp_who; IBM Informix, onstat -u; Bacula Console manual; IBM Storage
Protect, ANR messages; Azure Cosmos DB, status 429; Cisco, show processes cpu; Brocade Fabric OS, portstatsshow; Cisco MDS, show interface; mountstats(8).

    >>> severity_of_platform("Waiting 88.1201 sec since 09:15:09, monitored, thread 812 NSDThread: for I/O completion on disk dm-7")
    'warning'
    >>> severity_of_platform(" Job slot limit reached: 7 hosts;"), severity_of_platform("Waiting for a friend since 9 o'clock")
    ('warning', None)
    >>> severity_of_platform("   2 fscsi1   hdisk9   FA  8fA  active   alive    0   0"), severity_of_platform("   2 fscsi1  hdisk9  FA 8fA  active dead 0 7")
    (None, 'error')
"""

from __future__ import annotations

import re

LONGEST = 1000
"""Maximum number of characters of a line that is looked at."""

_ERROR = re.compile(
    r"[0-9]{1,3}[ \t]+\S{3,20}[ \t]+\S{3,20}[ \t]+\S{1,6}[ \t]+\S{2,12}[ \t]+(?:active|standby)[ \t]+(?:dead|degraded)\b.*"
    r"|[0-9]{1,9}[ \t]+[0-9]{12}[ \t]+\w{3,20}[ \t]+.{0,80}\b[0-9]{6}\b.{1,80}\b(?:[Ff]ault|degraded|offline|[Ff]ailed|failure)\b.*"
    r"|(?:[0-9/.-]{8,10}[ \t]+[0-9:]{5,8}[ \t]+)?AN[RSE][0-9]{4}(?:[ES] .{3,900}|W .{3,300}\b(?:failed|no space|full)\b.{0,300})"
    r"|(?:.{0,80}Cannot find any appendable volumes\.?|.{0,40}JobId [0-9]{1,9}: Please mount (?:append|read) Volume .*)"
    r"|(?:.{0,200}[\s(:])?(?:TooManyRequests ?\(429\)|ThrottlingException|SlowDown|RequestLimitExceeded|TooManyRequestsException)(?!\w).*"
)
_WARNING = re.compile(
    r"(?:0x[0-9A-Fa-f]+[ \t]\([ \t]*[0-9]+\)[ \t])?[Ww]ait(?:ing|ed) [0-9]{1,9}(?:\.[0-9]{1,9})? (?:sec(?:onds)?) since [0-9:]{5,8}, .*"
    r"|[0-9]{1,9}[ \t]+[0-9]{12}[ \t]+\w{3,20}[ \t]+.{0,80}\b[0-9]{6}\b.{1,80}\b(?:latency|performance|congest\w+)\b.*"
    r"|(?:Job slot limit(?:s)? reached|Not enough (?:memory|slots|processors|job slot\(s\))|Job's requirements? .{0,60}not satisfied"
    r"|User has reached the (?:per-user )?job slot limit.{0,40}|Load information unavailable|The queue has reached its job slot limit"
    r"|Not enough hosts to meet .{0,60}|Resource \(\S{1,40}\) limit .{0,60}reached)(?:: [0-9]{1,6} hosts?)?[;.]?"
    r"|comment = (?:Not Running|Can Never Run|Job held).*"
    r"|[0-9]{1,7}[ \t]+\[[0-9-]{5,12}\][ \t]+[0-9]{1,7}[ \t]+[0-9A-F]{16,40}[ \t]+\w{3,12}[ \t]+[.XSUINZW]{1,3}[ \t]+W[ \t].*"
    r"|[0-9]{1,5}[ \t]+[0-9]{1,7}[ \t]+lock sleep[ \t].*"
    r"|[0-9a-f]{6,16}[ \t]+[LBCGX][A-Z-]{6}[ \t]+[0-9]{1,9}[ \t]+\S{1,32}[ \t].*"
    r"|(?:tim_txcrd_z|er_tx_c3_timeout|er_rx_c3_timeout|er_c3_timeout)[ \t]+[1-9][0-9]{3,19}\b.*"
    r"|[0-9]{1,12} timeout discards, [1-9][0-9]{0,11} credit loss"
    r"|backlog wait: [0-9.]{1,20}[ \t]+RTT: [1-9][0-9]{1,9}\.[0-9]{1,9}[ \t]+total execute time: .*"
    r"|CPU utilization for five seconds: [0-9]{1,3}%/[0-9]{1,3}%; one minute: (?:9[0-9]|100)%; five minutes: (?:9[0-9]|100)%"
    r"|[0-9]{1,4}[ \t]+(?:DIA|BTC|UPD|UP2|SPO)[ \t]+[0-9]{1,9}[ \t]+(?:Running|On Hold)[ \t].*"
)
MAYBE = re.compile(
    r"^[0-9a-f]{1,16}[ \t]|^[Ww]ait|^0x|hosts?;|[;.]$|^Not enough|^comment = |AN[RSE][0-9]{4}[ESW]|ppendable|Please mount|\(429\)|Throttl|SlowDown"
    r"|TooMany|RequestLimit|^tim_|^er_|timeout discards|^backlog|^CPU util|^[0-9/.-]{8}"
)


def severity_of_platform(line: str) -> str | None:
    """Return the severity of a line that has one of these forms, None for any other line."""
    text = line.strip()
    if len(text) > LONGEST or not MAYBE.search(text):
        return None
    return "error" if _ERROR.fullmatch(text) else "warning" if _WARNING.fullmatch(text) else None
