"""Tests that a tool's figure for the system stands out if it exceeds its bound, and a healthy report gives nothing."""

from __future__ import annotations

import pytest

from parsers.text.source import Hints
from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.system_reports import observe
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

LATENCY = """Highest DPC routine execution time (µs):              {us}
Driver with highest DPC routine execution time:       radio5.sys - Radio driver, Example Inc.
"""
PATHPING = """Hop  RTT    Lost/Sent = Pct  Lost/Sent = Pct  Address
  0                                           desk.example [192.0.2.9]
                                {lost}/ 100 =  {lost}%   |
  1    3ms     {lost}/ 100 =  {lost}%     0/ 100 =  0%  192.0.2.1
"""
STOP = """*                        Bugcheck Analysis                                    *

DRIVER_POWER_STATE_FAILURE (9f)
IMAGE_NAME:  {image}
"""
CLOCK = """Tracking dc.example [192.0.2.3:123].
07:00:01, {off}s
07:00:03, {off}s
"""
NFS = """nas:/export/home mounted on /home:

           ops/s       rpc bklog
           91.000          0.000

read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)
                  80.000        2560.000          32.000        0 (0.0%)         {ms}         {ms}
"""
DISK = """c3t5d0           Soft Errors: 0 Hard Errors: 0 Transport Errors: {lost}
Vendor: ATA      Product: EXAMPLE DISK 9  Revision: 0001 Serial No:
Media Error: {media} Device Not Ready: 0 No Device: 0 Recoverable: 0
Illegal Request: 0 Predictive Failure Analysis: 0
"""
INTERRUPTS = """interrupt                          total       rate
irq22: xhci0                    99000111      {rate}
cpu0:timer                       9000111       1110
Total                          108000222     {rate}
"""
ADAPTER = """FIBRE CHANNEL STATISTICS REPORT: fcs1
FC SCSI Adapter Driver Information
  No DMA Resource Count: 0
  No Command Resource Count: {count}
"""
CONCLUDED = (
    "Your system appears to be having trouble handling real-time audio and other tasks. You are likely to experience buffer underruns"
    " appearing as drop outs, clicks or pops. One or more ISR routines that belong to a driver running in your system appear to be"
    " executing for too long. Check for BIOS updates. \n"
)

FILEMON = """\
VOLUME: /dev/hdisk9  description: N/A
reads:                  710     (0 errs)
  read sizes (blks):    avg    16.0 min       8 max      64 sdev     3.3
  read times (msec):    avg  {ms} min   0.101 max 402.700 sdev   9.021
utilization:            {util}
"""
MOST_ACTIVE = """\
Most Active {what} Volumes
------------------------------------------------------------------------
  util  #rblk  #wblk   KB/s  volume                   description
------------------------------------------------------------------------
  {util}  40100   9200  2210.7  /dev/hdisk9              N/A
"""
SENSORS = "coretemp-isa-0001\nCore 2:        +{heat}°C  (high = +82.0°C, crit = +96.0°C)\n"
DIMMS = "Label\tCE\tUE\nDIMM_B2\t{ce}\t{bad}\nDIMM_B3\t0\t0\n"
THIN = "vg3-pool: 0 90000 thin-pool 4 {meta}/400 {data}/7000 - {mode} discard_passdown queue_if_no_space - 1024\n"
DRIVE = """Virtual Drive: 3 (Target Id: 3)
Default Cache Policy: WriteBack, ReadAdaptive, Direct, No Write Cache if Bad BBU
Current Cache Policy: {policy}, ReadAdaptive, Direct, No Write Cache if Bad BBU
"""
MOUNTSTATS = """device nas:/srv mounted on /srv with fstype nfs statvers=1.1
\tRPC iostats version: 1.0  p/v: 100003/3 (nfs)
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0
\t        READ: 4000 4000 0 500000 900000000 100 {ms}000 {ms}900
\t      LOOKUP: 900 900 0 90000 90000 10 {ms}00 {ms}90
"""
CALLS = "Client rpc stats:\ncalls      retrans    authrefrsh\n70000      {again}   70000\n"
BTRFS = "    Device unallocated:\t\t  {left}\nMetadata,DUP: Size:2.00GiB, Used:1.99GiB (99.50%)\n"
WINDOWS = "Virtual Memory: Max Size:  20,000 MB\nVirtual Memory: Available: {left} MB\n"
CPUPOWER = "  hardware limits: 900 MHz - 3.60 GHz\n  current policy: frequency should be within 900 MHz and {most}.\n"
IOPING = "--- /srv (xfs /dev/sdq1) ioping statistics ---\nmin/avg/max/mdev = 0.1 ms / {ms} ms / 99.0 ms / 3.1 ms\n"
HDPARM = "/dev/sdq:\n Timing buffered disk reads:  90 MB in  3.00 seconds =  {rate} MB/sec\n"
LIMITS = "SHMMNI   Shared memory segments   512  {used} 10.00%\n"
ESX = "VMKMEM/MB: 90100 managed:  1900 minfree, 5100 rsvd, 84000 ursvd,  {state} state\nPCPU UTIL(%):  90  91 AVG:  {busy}\n"
NGINX = "server accepts handled requests\n 90000 {kept} 410000 \n"
CARD = 'wlp7     IEEE 802.11  ESSID:"shop"\n          Link Quality=30/70  Signal level=-{dbm} dBm\n'
TUNNEL = (
    "  latest handshake: {age} ago\n  transfer: 9 B received, 1 KiB sent\n  persistent keepalive: every 25 seconds\n"
)
NETSH = (
    "    Name                   : Wi-Fi 7\n    Radio type             : 802.11ac\n    Signal                 : {pct}%\n"
)
SQUID = "\tMaximum number of file descriptors:   700\n\tNumber of file desc currently in use:  {used}\n"
UNBOUND = "total.num.queries=90000\ntotal.recursion.time.median={s}\n"
VARNISH = (
    "MAIN.sess_conn          90000   9.00 Sessions accepted\n"
    "MAIN.sess_dropped       {lost}   0.10 Sessions dropped\n"
    "MAIN.thread_queue_len     {queue}    .   Length of session queue\n"
)
OMVS = "SYSTEM WIDE LIMITS:         LIMMSG=NONE\nMAXPROCSYS            {used}        700        700\n"
HTOP = (
    "    0[||||||||{busy}%]   Tasks: 91\n    1[||||||||{busy}%]   Load average: 2.0 2.1 2.2\n"
    "  Mem[||||  1.90G/3.81G]\n  Swp[|  {swap}G/1.00G]\n"
)


def seen(text: str) -> list[Sighting]:
    tables = read_bytes(text.encode(), Hints(kind="text")).tables
    return list(observe(Case.of_tables({"rows": tables["rows"].to_dicts()}))) if "rows" in tables else []


@pytest.mark.parametrize(
    ("text", "words", "mechanism"),
    [
        (
            "0/7/9 requests for mbufs denied (mbufs/clusters/mbuf+clusters)\n",
            "16 requests for network buffers",
            "packet-buffers-out",
        ),
        (NGINX.format(kept=70000), "90,000 connections that nginx accepted, it closed 20,000", "connection-limit"),
        ("99 requests currently being processed, 0 idle workers\n", "Of 99 workers of Apache", "pool-of-threads"),
        ("BusyWorkers: 40\nIdleWorkers: 0\n", "Of 40 workers of Apache, 40 are busy", "pool-of-threads"),
        ('"sockets":[{"name":":9","queue":64,"max_queue":64}],\n', "takes 64 connections, 64 wait", "backlog-full"),
        (CARD.format(dbm=88), "The signal of wlp7 is at -88 dBm", "packet-loss"),
        ("198.51.100.7 : xmt/rcv/%loss = 40/30/25%\n", "Of 40 pings to 198.51.100.7, 10 were not", "packet-loss"),
        (NETSH.format(pct=20), "The signal of the wireless card is at -90 dBm", "packet-loss"),
        (SQUID.format(used=690), "Of 700 descriptors that Squid may have, 690", "descriptor-limit"),
        (UNBOUND.format(s="1.700000"), "asked other name servers took 1.700 s or more", "name-server-slow"),
        (
            VARNISH.format(lost=9000, queue=3),
            "Beside 90,000 sessions that it took, Varnish dropped 9,000",
            "pool-of-threads",
        ),
        (VARNISH.format(lost=0, queue=300), "300 sessions of Varnish wait for a thread", "pool-of-threads"),
        (TUNNEL.format(age="2 hours, 1 minute"), "a peer of WireGuard was 2 h 1 min ago", "packets-dropped"),
        (OMVS.format(used=700), "MAXPROCSYS is at 700, its limit is 700", "process-limit"),
        ("   9100 CLOSE_WAIT\n     70 ESTABLISHED\n", "9,100 sockets stand in CLOSE_WAIT", "descriptor-leak"),
        (HTOP.format(busy=98.0, swap=0.01), "The 2 processors were 98 % busy (htop)", "cpu-saturated"),
        (HTOP.format(busy=3.0, swap="0.99"), "bytes of swap", "swap-full"),
        ("07:00:05   N/A   N/A 500/500   6  70/400   0  90/300   0\n", "overflowed 6 times", "process-limit"),
        ("vmunix: file: table is full\n", "file: table is full", "descriptor-limit"),
        (LATENCY.format(us="7000.25"), "A deferred routine (DPC) of radio5.sys ran for 7 ms without", "driver-wait"),
        (PATHPING.format(lost=8), "On the link behind desk.example, 8 of 100 packets", "packet-loss"),
        (STOP.format(image="radio5.sys"), "names the driver radio5.sys", "driver-wait"),
        (CLOCK.format(off="+00700.5000000"), "The clock is 11 min 40 s apart", "clock-off"),
        ("CPU_Speed_Limit \t= 60\n", "60 % of their speed", "frequency-throttled"),
        ("Trusted DC Connection Status Status = 1311 0x51f ERROR_NO_LOGON_SERVERS\n", "status 1,311", "directory-wait"),
        (NFS.format(ms="90.500"), "Reads of /home were answered in 90.5 ms", "remote-file-wait"),
        (DISK.format(media=12, lost=0), "The disk c3t5d0 counts 12 media errors", "disk-error"),
        (DISK.format(media=0, lost=40), "The disk c3t5d0 counts 40 transport errors", "disk-error"),
        (INTERRUPTS.format(rate=91000), "irq22: xhci0 interrupts 91,000 times a second", "interrupt-load"),
        (ADAPTER.format(count=5200), "5,200 requests found no free command of the adapter fcs1", "disk-saturated"),
        (FILEMON.format(ms="44.102", util="0.300"), "Reads of /dev/hdisk9 took 44.1 ms on average", "disk-latency"),
        (FILEMON.format(ms="1.102", util="0.910"), "/dev/hdisk9 was busy 91 % of the time", "disk-saturated"),
        (MOST_ACTIVE.format(what="Physical", util="0.88"), "/dev/hdisk9 was busy 88 % of the time", "disk-saturated"),
        (MOST_ACTIVE.format(what="Logical", util="0.88"), "logical volume /dev/hdisk9 was busy 88 %", "disk-saturated"),
        (SENSORS.format(heat="95.0"), "Core 2 is 95 °C hot, its limit is 96 °C", "frequency-throttled"),
        ("CPU2 Temp  | 99 degrees C      | cr\n", "critical temperature: CPU2 Temp (99 °C)", "frequency-throttled"),
        ("Fan 4      | 0.000  | RPM    | nr  | 300.0 | 500.0\n", "critical state: Fan 4 (0 RPM)", "hardware-error"),
        (DIMMS.format(ce=7000, bad=0), "The memory DIMM_B2 counts 7,000 corrected errors", "hardware-error"),
        (DIMMS.format(ce=0, bad=3), "DIMM_B2 counts 3 errors that could not be corrected", "hardware-error"),
        ("MCA: MEMORY CONTROLLER RD_CHANNEL2_ERR\n", "reported: MEMORY CONTROLLER RD_CHANNEL2", "hardware-error"),
        ("Fault class : fault.io.disk.predictive-failure\n", "names the fault fault.io.disk", "disk-error"),
        ("Fault class : fault.cpu.intel.cache\n", "names the fault fault.cpu.intel.cache", "hardware-error"),
        (THIN.format(meta=9, data=7000, mode="rw"), "7,000 of its 7,000 blocks of data", "file-system-full"),
        (THIN.format(meta=9, data=70, mode="ro"), "vg3-pool (ro) takes no new blocks", "file-system-full"),
        (DRIVE.format(policy="WriteThrough"), "write cache of virtual drive 3 is off", "flush-wait"),
        ("                Write cache enabled: No\n", "The write cache of the controller is off", "flush-wait"),
        ("        Cache hit ratio:          41.0 %   900.1M\n", "41 % of the reads were", "file-cache-small"),
        (MOUNTSTATS.format(ms=400), "Reads of /srv were answered in 100 ms", "remote-file-wait"),
        (MOUNTSTATS.format(ms=400), "LOOKUP at /srv was answered in 44.4 ms", "remote-file-wait"),
        (CALLS.format(again=7000), "Of 70,000 calls to file servers, 7,000 were sent again", "remote-file-wait"),
        (LIMITS.format(used=512), "Of 512 allowed, 512 are in use: shared memory segments", "shared-memory-limit"),
        (ESX.format(state="hard", busy=40), "in the state hard: it swaps guests out", "memory-ballooning"),
        (ESX.format(state="high", busy=97), "of the hypervisor were 97 % busy", "cpu-saturated"),
        (
            "[/dev/sdq].read_io_errs    7\n[/dev/sdq].write_io_errs   0\n",
            "/dev/sdq counts 7 reads that failed",
            "disk-error",
        ),
        (BTRFS.format(left="1.00MiB"), "The metadata of Btrfs fill 2,", "file-system-full"),
        ("/swap.img file 3G 3G -3\n", "The swap /swap.img is used up", "swap-full"),
        (WINDOWS.format(left="90"), "Of 20,000 MB of virtual memory (with the page file), 19,910", "swap-full"),
        (CPUPOWER.format(most="900 MHz"), "lets processors run at 25 % of their highest clock", "frequency-throttled"),
        (IOPING.format(ms="90.5"), "Requests to /srv (xfs /dev/sdq1) took 90.5 ms on average", "disk-latency"),
        (HDPARM.format(rate="9.20"), "/dev/sdq gave 9 MB per second (hdparm -t)", "disk-latency"),
        (CONCLUDED, "routines of a driver (ISR of a driver) run for too long", "driver-wait"),
    ],
)
def test_what_is_beyond_its_bound_is_told(text: str, words: str, mechanism: str) -> None:
    told = {s.headline: s for s in seen(text)}
    found = [s for headline, s in told.items() if words in headline]
    assert found, list(told)
    assert [one.mechanism for one in recognise(**found[0].seen[0])][:1] == [mechanism]


@pytest.mark.parametrize(
    "text",
    [
        "0/0/0 requests for mbufs denied (mbufs/clusters/mbuf+clusters)\n",
        "07:00:05   N/A   N/A 200/500   0  70/400   0  90/300   0\n",
        LATENCY.format(us="212.75"),
        PATHPING.format(lost=0),
        STOP.format(image="ntkrnlmp.exe").replace("DRIVER_POWER_STATE_FAILURE (9f)", ""),
        CLOCK.format(off="+00.0021000"),
        "CPU_Speed_Limit \t= 100\n",
        "System-wide memory free percentage: 71%\n",
        "Trusted DC Connection Status Status = 0 0x0 NERR_Success\n",
        NFS.format(ms="1.400"),
        FILEMON.format(ms="4.102", util="0.300"),
        MOST_ACTIVE.format(what="Physical", util="0.40"),
        DISK.format(media=0, lost=2),
        INTERRUPTS.format(rate=4200),
        ADAPTER.format(count=12),
        SENSORS.format(heat="84.0"),
        "CPU2 Temp  | 59 degrees C      | ok\nFan 4      | 7000 RPM  | ok\n",
        DIMMS.format(ce=0, bad=0),
        THIN.format(meta=9, data=70, mode="rw"),
        DRIVE.format(policy="WriteBack"),
        DRIVE.format(policy="WriteThrough").replace("WriteBack", "WriteThrough"),
        "        Cache hit ratio:          97.0 %   900.1M\n",
        MOUNTSTATS.format(ms=4),
        CALLS.format(again=70),
        LIMITS.format(used=20),
        ESX.format(state="high", busy=40),
        "[/dev/sdq].read_io_errs    0\n",
        BTRFS.format(left="90.00GiB"),
        "/swap.img file 3G 1G -3\n",
        WINDOWS.format(left="9000"),
        IOPING.format(ms="0.4"),
        HDPARM.format(rate="190.20"),
        CPUPOWER.format(most="3.60 GHz"),
        NGINX.format(kept=90000),
        "7 requests currently being processed, 12 idle workers\n",
        "BusyWorkers: 4\nIdleWorkers: 9\n",
        '"sockets":[{"name":":9","queue":0,"max_queue":64}],\n',
        CARD.format(dbm=51),
        "198.51.100.7 : xmt/rcv/%loss = 40/40/0%\n198.51.100.8 : xmt/rcv/%loss = 40/0/100%\n",
        "198.51.100.7 : xmt/rcv/%loss = 3/2/33%\n",
        NETSH.format(pct=93),
        SQUID.format(used=70),
        UNBOUND.format(s="0.070000"),
        VARNISH.format(lost=0, queue=0),
        TUNNEL.format(age="1 minute, 4 seconds"),
        TUNNEL.format(age="9 days, 4 hours").partition("  persistent")[0],
        OMVS.format(used=90),
        "   12 CLOSE_WAIT\n   70 ESTABLISHED\n",
        HTOP.format(busy=3.0, swap=0.01),
    ],
)
def test_a_healthy_report_is_silent(text: str) -> None:
    assert seen(text) == []


def test_late_collisions_are_told_with_the_duplex_mode() -> None:
    text = "Description = lan7 HP PCI Core [100BASE-TX,HD,AUTO,TT=1500]\nLate Collisions       = 31\n"
    assert "lan7 works at half duplex and counts 31 late collisions" in [s.headline for s in seen(text)]


SECTION = """CritSec till!g_stock+0 at 77fa5340
LockCount          {n}
OwningThread       1e84
*** Locked
"""
POOL = """Worker Thread: Total: 40 Running: {busy} Idle: 0 MaxLimit: 40 MinLimit: 8
Work Request in Queue: {queued}
"""


def told(text: str) -> list[Sighting]:
    case = Case.of_tables({"rows": read_bytes(text.encode()).tables["rows"].to_dicts()}).with_text()
    return list(observe(case))


def test_a_lock_is_told_with_its_holder_if_several_wait() -> None:
    """One may wait in passing."""
    (one,) = told(SECTION.format(n=3))
    assert one.headline == "Threads waiting for till!g_stock+0, which thread 1e84 holds: 3"
    assert recognise(**one.seen[0])[0].mechanism == "lock-contention"
    assert told(SECTION.format(n=1)) == []


def test_a_pool_is_full_if_all_its_workers_are_busy() -> None:
    full = told(POOL.format(busy=40, queued=512))
    assert sorted(s.headline for s in full) == [
        "512 pieces of work wait in the queue of the thread pool of .NET",
        "All 40 workers of the thread pool of .NET are busy",
    ]
    assert told(POOL.format(busy=12, queued=0)) == []
