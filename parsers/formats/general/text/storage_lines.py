"""Recognise lines of storage and hardware listings that show a failure or a rebuild.

These lines have neither a stamp nor a word such as `error`. Tools: multipath -ll, storcli, MegaCli, ssacli, mdadm
--detail, /proc/mdstat, smartctl (error and self-test logs, attributes without their heading), `ceph health` and
`ipmitool sel list`.
Source: multipath(8), "path groups"; Broadcom StorCLI manual (states of virtual and physical drives); HPE Smart Storage Administrator CLI guide;
md(4), mdadm(8); Ceph documentation, Health checks; smartctl(8), -l error, -l selftest;
ipmitool(1), sel; IPMI 2.0, table 42-3 (events of sensors).
"""

from __future__ import annotations

import re

LONGEST = 300

_PATH = r"(?:[0-9]{1,5}:[0-9]{1,5}:[0-9]{1,5}:[0-9]{1,20}|#:#:#:#)[ \t]+\S+[ \t]+\S+[ \t]+"
FAILS = re.compile(
    rf"[|`+\\_ \t-]*{_PATH}(?:\[?failed\]?[ \t]*\[?\w.*|(?:\[?active\]?|\[?undef\]?)[ \t]*\[?(?:faulty|shaky|i/o timeout)\b.*|\S+[ \t]+\S+[ \t]+offline)"
    r"|[0-9]+/[0-9]+[ \t]+RAID[0-9]+[ \t]+(?:Dgrd|Pdgd|OfLn)[ \t].*"
    r"|[0-9 ]+:[0-9]+[ \t]+[0-9]+[ \t]+(?:Offln|UBad|Failed|Msng|UBUnsp)[ \t].*"
    r"|State[ \t]*:[ \t]*(?:Degraded|Partially Degraded|Offline|Failed)"
    r"|State[ \t]*:[ \t]*(?:clean|active|active-idle|write-pending|broken), (?:degraded|FAILED)\b.*"
    r"|Firmware state: (?:Failed|Offline|Unconfigured\(bad\)).*"
    r"|(?:Media Error|Predictive Failure) Count: [1-9][0-9]*"
    r"|logicaldrive [0-9]+ \(.*, (?:Interim Recovery Mode|Failed|Ready for Rebuild)[,)].*"
    r"|physicaldrive \S+ \(.*, (?:Failed|Predictive Failure)[,)].*"
    r"|(?:Battery/Capacitor Status|Cache Status|Capacitor Status): (?:Failed|Temporarily Disabled|Permanently Disabled|Not Configured).*"
    r"|[0-9]+ blocks (?:super \S+ )?.*\[[0-9]+/[0-9]+\] \[U{0,200}_[U_]{0,200}\].*"
    r"|[0-9]{1,5}: cs:(?:StandAlone|WFConnection|NetworkFailure|BrokenPipe|Timeout|Unconnected)\b.*|[0-9]{1,5}: cs:.* ds:(?:Diskless|Failed)/.*"
    r"|Status: Transport endpoint is not connected"
    r"|.*[ \t](?:Lost Communication|Predictive Failure|IO Error|Failed Media|Transient Error|No Redundancy|Degraded|Incomplete|Detached)"
    r"[ \t]+(?:Warning|Unhealthy|Unknown)\b.*"
    r"|(?:Memory|Disk|PID)Pressure[ \t]+True[ \t].*"
    r"|(?:/\S+[ \t]+)?[0-9]{1,15}\*[ \t]+[0-9]{1,15}[ \t]+[0-9]{1,15}\b.*"
    r"|Battery State[ \t]*: (?:Degraded|Failed|Missing|Non ?Operational)\b.*"
    r"|(?:Battery Replacement required|Battery Pack Missing|Pack is about to fail & should be replaced)[ \t]*: Yes"
    r"|[0-9a-f]{2}(?: (?:--|[0-9a-f]{2})){4,18}[ \t]+Error: [A-Z].*"
    r"|Error [1-9][0-9]*(?: \[[0-9]+\])? occurred at disk power-on lifetime: .*|(?:ATA|Device) Error Count: [1-9][0-9]* .*"
    r"|# ?[0-9]+[ \t]+(?:Short|Extended|Conveyance|Selective|Background)\b.*[ \t](?:Completed: \w+ failure|Failed in segment).*"
    r"|Elements in grown defect list: [1-9][0-9]*|SMART overall-health self-assessment test result: FAILED!.*"
    r"|[ 0-9]{1,3}[ \t]+(?:Reallocated_Sector_Ct|Current_Pending_Sector|Offline_Uncorrectable|Reported_Uncorrect)[ \t]+0x[0-9a-f]{4}"
    r"(?:[ \t]+[0-9]{3}){3}[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+[1-9][0-9]*"
    r"|[0-9]+ (?:nearfull|backfillfull|full) osd\(s\)|[0-9]+ osds? down|[0-9]+ hosts? \([0-9]+ osds\) down"
    r"|(?:Degraded data redundancy|Reduced data availability): .*"
    r"|(?:[0-9a-f]{1,8} \| +)?[0-9/]{8,10} \| [0-9:]{8}(?: [A-Z]{2,5})? \| [^|]{3,60} \| (?:(?:Unc|C)orrectable ECC[^|]*|Throttled|IERR|Thermal Trip"
    r"|Bus (?:Fatal|Correctable|Uncorrectable|Degraded)[^|]*|(?:Upper|Lower) (?:Critical|Non-recoverable) going (?:high|low)"
    r"|[^|]*(?:lost|Lost|Predictive [Ff]ailure|Drive Fault|Failure detected))[^|]*\| Asserted.*"
)
"""Lines about a path, disk, array or cache that does not work, or about a store that has lost one."""

REBUILDS = re.compile(
    r"[0-9 ]+:[0-9]+[ \t]+[0-9]+[ \t]+(?:Rbld|Cpybck)[ \t].*|[0-9]{1,5}: cs:(?:SyncTarget|SyncSource|PausedSync[ST])\b.*"
    r"|Firmware state: (?:Rebuild|Copyback).*|Rebuild Progress on .*"
    r"|logicaldrive [0-9]+ \(.*, Recovering, .*|physicaldrive \S+ \(.*, Rebuilding[,)].*"
    r"|\[[=>.]{3,100}\][ \t]+(?:recovery|resync|reshape|check|repair)[ \t]*=[ \t]*[0-9.]+% .*|(?:Rebuild|Resync|Reshape) Status : [0-9]+% complete"
)
"""Lines about an array that is being rebuilt."""


def state_of(line: str) -> str | None:
    """Return ERROR for a line that shows a failure, WARNING for a rebuild, None for any other line.

    >>> state_of("|- 3:0:0:2 sdk 8:160 failed faulty running"), state_of("|- 3:0:0:2 sdk 8:160 active ready running")
    ('ERROR', None)
    >>> state_of("[=>....]  recovery = 4.2% (800/20000) finish=90.1min speed=120K/sec"), state_of("100 blocks super 1.2 [2/2] [UU]")
    ('WARNING', None)
    >>> state_of("2/3   RAID5 Dgrd  RW     Yes     RWBD  -   ON  5.0 TB vol"), state_of("2/3   RAID5 Optl  RW     Yes")
    ('ERROR', None)
    """
    text = line.strip()
    if len(text) > LONGEST:
        return None
    return "ERROR" if FAILS.fullmatch(text) else "WARNING" if REBUILDS.fullmatch(text) else None
