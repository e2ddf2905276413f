"""Test lines about arrays, paths and caches of disks: failures and rebuilds have a severity, working ones have none."""

from __future__ import annotations

import pytest

from parsers.formats.general.text.storage_lines import state_of
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

FAILS = (
    ("| `- 7:0:0:3 sdm 8:192 failed faulty running", "path-failover"),
    (" \\_ 7:0:0:3 sdm 8:192 [failed][faulty]", "path-failover"),
    ("  |- 7:0:1:3 sdn 8:208 active shaky running", "path-failover"),
    ("3/3   RAID6 Pdgd  RW     Yes     RWBD  -   ON   9.094 TB vm", "disk-error"),
    ("252:7     9 UBad   -   1.818 TB SATA HDD N   N  512B DISK        U  -", "disk-error"),
    ("State               : Degraded", "disk-error"),
    ("             State : clean, degraded, recovering", "disk-error"),
    ("Firmware state: Unconfigured(bad)", "disk-error"),
    ("Predictive Failure Count: 4", "disk-error"),
    ("      logicaldrive 2 (5.4 TB, RAID 5, Interim Recovery Mode)", "disk-error"),
    ("      physicaldrive 1I:1:4 (port 1I:box 1:bay 4, SAS HDD, 2 TB, Predictive Failure)", "disk-error"),
    ("   Battery/Capacitor Status: Failed (Replace Batteries/Capacitors)", "flush-wait"),
    ("      976630464 blocks super 1.2 [2/1] [_U]", "disk-error"),
    ("Battery State: Failed", "flush-wait"),
    ("  Battery Pack Missing                    : Yes", "flush-wait"),
    ("  40 51 08 a0 71 3c 00  Error: UNC 8 sectors at LBA = 0x003c71a0 = 3961248", "disk-error"),
    ("  40 -- 51 00 08 00 00 00 3c 71 a0 00 00  Error: IDNF at LBA = 0x003c71a0 = 3961248", "disk-error"),
    ("Error 71 [2] occurred at disk power-on lifetime: 30211 hours (1258 days + 19 hours)", "disk-error"),
    ("# 2  Extended offline    Completed: read failure       60%     30102         3961248", "disk-error"),
    ("ATA Error Count: 71 (device log contains only the most recent five errors)", "disk-error"),
    ("197 Current_Pending_Sector  0x0032   100   100   000    Old_age   Always       -       24", "disk-error"),
    ("Elements in grown defect list: 31", "disk-error"),
    (" 3: cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----", "path-failover"),
    (" 3: cs:Connected ro:Primary/Secondary ds:Diskless/UpToDate C r-----", "disk-error"),
    ("Status: Transport endpoint is not connected", "path-failover"),
    ("EX DISK900   ZZ9   HDD   False   Predictive Failure Warning   Auto-Select   3 TB", "disk-error"),
    ("Archive   Parity   No Redundancy   Unhealthy   False   9 TB", "disk-error"),
    ("  MemoryPressure   True    Mon, 09 Feb 2026 08:00:01 +0000   KubeletHasInsufficientMemory", "memory-reclaim"),
    ("  DiskPressure     True    Mon, 09 Feb 2026 08:00:01 +0000   KubeletHasDiskPressure", "file-system-full"),
    ("      /dev/sdq1 700000* 600000 700000   none    90       0       0", "quota-reached"),
    ("  3 | 02/09/2026 | 08:00:01 | Memory #0x41 | Correctable ECC | Asserted", "hardware-error"),
    ("  4 | 02/09/2026 | 08:00:09 | Processor #0x61 | Throttled | Asserted", "frequency-throttled"),
    ("02/09/2026 | 08:00:11 | Temperature #0x31 | Upper Critical going high | Asserted", "frequency-throttled"),
)
REBUILT = (
    "252:7     9 Rbld   3   1.818 TB SATA HDD N   N  512B DISK        U  -",
    "Firmware state: Rebuild",
    "      logicaldrive 2 (5.4 TB, RAID 5, Recovering, 31% complete)",
    "      [====>................]  resync = 21.0% (205000000/976630464) finish=99.1min speed=129000K/sec",
    "    Rebuild Status : 12% complete",
    " 3: cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent C r-----",
)
WORKS = (
    "| `- 7:0:0:3 sdm 8:192 active ready running",
    " \\_ 7:0:0:3 sdm 8:192 [active][ready]",
    "3/3   RAID6 Optl  RW     Yes     RWBD  -   ON   9.094 TB vm",
    "252:7     9 Onln   3   1.818 TB SATA HDD N   N  512B DISK        U  -",
    "State               : Optimal",
    "Battery State: Optimal",
    "  Battery Replacement required            : No",
    "# 1  Short offline       Completed without error       00%     30102         -",
    "197 Current_Pending_Sector  0x0032   100   100   000    Old_age   Always       -       0",
    "  60 00 08 a0 71 3c 40 00  12d+01:02:03.004  READ FPDMA QUEUED",
    "Elements in grown defect list: 0",
    " 3: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----",
    "Status: Connected",
    "EX DISK900   ZZ9   HDD   False   OK   Healthy   Auto-Select   3 TB",
    "  MemoryPressure   False   Mon, 09 Feb 2026 08:00:01 +0000   KubeletHasSufficientMemory",
    "      /dev/sdq1 500000 600000 700000   90       0       0",
    "             State : clean",
    "Predictive Failure Count: 0",
    "      logicaldrive 2 (5.4 TB, RAID 5, OK)",
    "   Battery/Capacitor Status: OK",
    "      976630464 blocks super 1.2 [2/2] [UU]",
    "  5 | 02/09/2026 | 08:01:00 | Power Supply #0x71 | Presence detected | Asserted",
    "State of the art: degraded service is better than none",
)


@pytest.mark.parametrize(("line", "mechanism"), FAILS)
def test_what_fails_is_told_and_known(line: str, mechanism: str) -> None:
    assert state_of(line) == "ERROR"
    assert recognise(log=line.strip())[0].mechanism == mechanism


@pytest.mark.parametrize("line", REBUILT)
def test_what_is_rebuilt_is_a_warning(line: str) -> None:
    assert state_of(line) == "WARNING"
    assert recognise(log=line.strip())[0].mechanism == "volume-rebuild"


@pytest.mark.parametrize("line", WORKS)
def test_what_works_is_not_told(line: str) -> None:
    assert state_of(line) is None


def test_the_general_reader_makes_them_lines_of_a_log() -> None:
    text = "# mdadm --detail /dev/md4\n/dev/md4:\n        Raid Level : raid1\n             State : clean, degraded\n"
    logs = read_bytes(text.encode()).table("logs")
    assert logs["text"].to_list() == ["State : clean, degraded"]
    assert logs["severity"].to_list() == ["ERROR"]


def test_rows_of_df_have_the_columns_of_its_heading() -> None:
    text = (
        "$ df -i /srv\nFilesystem     Inodes  IUsed IFree IUse% Mounted on\n"
        "/dev/sdq2      640000 640000     0  100% /srv/my files\n"
    )
    (row,) = read_bytes(text.encode()).table("rows").to_dicts()
    assert (row["heading"][-2:], row["cells"][-2:]) == (["IUse%", "Mounted on"], ["100%", "/srv/my files"])
