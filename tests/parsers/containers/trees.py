"""Small trees in the layout of collecting tools, with invented hosts and a file of each sort that a real tree holds."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping

VMSTAT = """procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 2  0      0 812340  20480 400123    0    0     1     2  110  220  3  1 96  0  0
 3  1      0 812100  20480 400125    0    0     0     8  130  260  5  1 93  1  0
"""
FREE_M = """              total        used        free      shared  buff/cache   available
Mem:           7821        1410        4123          88        2287        6010
Swap:          2047           0        2047
"""
MEMINFO = """MemTotal:        8008900 kB
MemFree:         4222400 kB
MemAvailable:    6154200 kB
Buffers:           20480 kB
Cached:          2100300 kB
SwapTotal:       2097148 kB
SwapFree:        2097148 kB
Dirty:               112 kB
Writeback:             0 kB
"""
PS = """USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root         1  0.0  0.1 171820 11200 ?        Ss   Mar04   0:09 /usr/lib/systemd/systemd --system
oracle    4711 12.5  3.0 912000 240100 ?       Ds   10:02   0:41 ora_dbw0_ORCL
oracle    4712  0.5  2.0 911000 160100 ?       Ss   10:02   0:02 ora_lgwr_ORCL
"""
NETSTAT_S = """Ip:
    812340 total packets received
    3 with invalid addresses
    812100 incoming packets delivered
    700120 requests sent out
Tcp:
    4120 active connection openings
    8800 passive connection openings
    12 failed connection attempts
    640100 segments received
    650200 segments sent out
    3120 segments retransmitted
"""
IOSTAT = """Linux 4.18.0-513.el8.x86_64 (db1) \t03/05/2024 \t_x86_64_\t(4 CPU)

Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util
sda              1.20   14.00     40.10    210.00     0.00     3.10   0.00  18.10    0.80   22.10   0.31    33.40    15.00   0.90   1.40
"""
UNAME = "Linux db1 4.18.0-513.el8.x86_64 #1 SMP Thu Dec 7 03:06:13 EST 2023 x86_64 x86_64 x86_64 GNU/Linux\n"
SYSLOG = "".join(
    f"Mar  5 10:0{n}:1{n} db1 kernel: INFO: task ora_dbw0:4711 blocked for more than 120 seconds.\n" for n in range(8)
)
SYSCTL = "kernel.sem = 250\t32000\t100\t128\nvm.swappiness = 10\nvm.dirty_ratio = 20\nfs.file-max = 6815744\n"

SOS = "sosreport-db1-12345-2024-03-05-abcdefg"
SOSREPORT: dict[str, str] = {
    f"{SOS}/version.txt": "sosreport: 4.5.6\n",
    f"{SOS}/date": "Tue Mar  5 10:15:01 CET 2024\n",
    f"{SOS}/proc/meminfo": MEMINFO,
    f"{SOS}/sos_commands/memory/free_-m": FREE_M,
    f"{SOS}/sos_commands/process/ps_auxwww": PS,
    f"{SOS}/sos_commands/networking/netstat_-s": NETSTAT_S,
    f"{SOS}/sos_commands/block/iostat_-x_1_1": IOSTAT,
    f"{SOS}/sos_commands/kernel/uname_-a": UNAME,
    f"{SOS}/sos_commands/kernel/sysctl_-a": SYSCTL,
    f"{SOS}/sos_commands/systemd/timedatectl": (
        "               Local time: Tue 2024-03-05 10:15:01 CET\n           Universal time: Tue 2024-03-05 09:15:01 UTC\n"
        "                Time zone: Europe/Warsaw (CET, +0100)\n"
    ),
    f"{SOS}/var/log/messages": SYSLOG,
    f"{SOS}/sos_reports/sos.txt": "sosreport\n",
}

SCC = "scc_db1_240305_1015"
_BANNER = f"""{"=" * 77}
                     Supportutils - Supportconfig
                          Script Version: 3.1-1
              Description: made up for a test
{"=" * 77}

"""


def _scc(*sections: tuple[str, str, str]) -> str:
    marked = (f"#==[ {kind} ]{'=' * (46 - len(kind))}#\n# {name}\n{text}\n" for kind, name, text in sections)
    return _BANNER + "".join(marked)


SUPPORTCONFIG: dict[str, str] = {
    f"{SCC}/basic-environment.txt": _scc(
        ("Command", "/bin/date", "Tue Mar  5 10:15:01 CET 2024\n"),
        ("Command", "/bin/uname -a", UNAME),
        ("Command", "/usr/bin/free -m", FREE_M),
        ("Configuration File", "/etc/os-release", 'NAME="SLES"\nVERSION="15-SP5"\n'),
        ("Command", "/usr/bin/vmstat 1 2", VMSTAT),
    ),
    f"{SCC}/memory.txt": _scc(
        ("Configuration File", "/proc/meminfo", MEMINFO),
        ("Command", "/usr/bin/numactl --hardware", "ERROR: Command not found\n"),
    ),
    f"{SCC}/network.txt": _scc(
        ("Command", "/bin/netstat -s", NETSTAT_S), ("Command", "/sbin/ip route", "default via 10.0.0.1\n")
    ),
    f"{SCC}/messages.txt": _scc(("Log File", "/var/log/messages - Last 500 Lines", SYSLOG)),
    f"{SCC}/basic-health-check.txt": _scc(
        ("Command", "/bin/ps axwwo user,pid,ppid,%cpu,%mem,vsz,rss,stat,time,cmd", PS)
    ),
    f"{SCC}/env.txt": _scc(("Command", "/sbin/sysctl -a", SYSCTL)),
}

OSWATCHER: dict[str, str] = {
    "oswbb/archive/oswvmstat/db1_vmstat_24.03.05.1000.dat": "".join(
        f"zzz ***Tue Mar 5 10:00:{s} CET 2024\n{VMSTAT}" for s in ("01", "31")
    ),
    "oswbb/archive/oswmeminfo/db1_meminfo_24.03.05.1000.dat": f"zzz ***Tue Mar 5 10:00:01 CET 2024\n{MEMINFO}",
    "oswbb/archive/oswps/db1_ps_24.03.05.1000.dat": f"zzz ***Tue Mar 5 10:00:01 CET 2024\n{PS}",
    "oswbb/archive/oswnetstat/db1_netstat_24.03.05.1000.dat": f"zzz ***Tue Mar 5 10:00:01 CET 2024\n{NETSTAT_S}",
    "oswbb/archive/oswiostat/db1_iostat_24.03.05.1000.dat": f"zzz ***Tue Mar 5 10:00:01 CET 2024\n{IOSTAT}",
    "oswbb/archive/oswprvtnet/db1_prvtnet_24.03.05.1000.dat": "zzz ***Tue Mar 5 10:00:01 CET 2024\n",
    "oswbb/analysis/readme.txt": "nothing\n",
}


EXA_VMSTAT = """--time-- procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
          r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
10:00:01  2  0      0 812340  20480 400123    0    0     1     2  110  220  3  1 96  0  0
10:00:06  3  1      0 812100  20480 400125    0    0     0     8  130  260  5  1 93  1  0
"""


def _exa(module: str, command: str, text: str) -> str:
    rule = "#" * 60
    head = (
        f"{rule}\n# Starting Time:\t03/05/2024 10:00:01\n# Sample Interval(s):\t5\n# Archive Count:\t720\n"
        f"# Collection Module:\t{module}ExaWatcher\n# Collection Command:\t{command}\n{rule}\n"
    )
    if module == "Vmstat":  # runs by itself and has a column of times
        return head + text
    return f"{head}zzz <03/05/2024 10:00:01> subcount: 1\n{text}zzz <03/05/2024 10:00:06> subcount: 2\n{text}"


EXAWATCHER: dict[str, str] = {
    f"ExaWatcher/{module}.ExaWatcher/2024_03_05_10_00_01_{module}ExaWatcher_cel01.example.org.dat": _exa(
        module, command, text
    )
    for module, command, text in (
        ("Vmstat", "vmstat 5 2", EXA_VMSTAT),
        ("Meminfo", "cat /proc/meminfo", MEMINFO),
        ("Ps", "ps -elf", PS),
        ("Netstat", "netstat -s", NETSTAT_S),
    )
}

EXP = "explorer.84f1c2a0.sun1-2024.03.05.10.15"
SOLARIS_VMSTAT = """ kthr      memory            page            disk          faults      cpu
 r b w   swap  free  re  mf pi po fr de sr s0 s1 -- --   in   sy   cs us sy id
 0 0 0 8123400 2041200 3 20 0  0  0  0  0  1  0  0  0  410  820  300  2  1 97
 1 0 0 8120000 2040000 5 31 0  0  0  0  0  2  0  0  0  430  910  320  4  2 94
"""
SOLARIS_MESSAGES = "".join(
    f"Mar  5 10:0{n}:01 sun1 scsi: [ID 107833 kern.warning] WARNING: /pci@0/disk@{n} (sd{n}): disk not responding\n"
    for n in range(8)
)
SOLARIS_PS = """     UID   PID  PPID   C    STIME TTY         TIME CMD
    root     0     0   0   Mar 04 ?           0:12 sched
    root     1     0   0   Mar 04 ?           0:03 /sbin/init
  oracle  4711     1   2 10:02:11 ?           1:41 ora_dbw0_ORCL
"""
EXPLORER: dict[str, str] = {
    f"{EXP}/README": "explorer\n",
    f"{EXP}/etc/default/init": "TZ=Europe/Warsaw\nCMASK=022\n",
    f"{EXP}/sysconfig/uname-a.out": "SunOS sun1 5.10 Generic_150400-65 sun4v sparc sun4v\n",
    f"{EXP}/sysconfig/psrinfo-pv.out": "The physical processor has 8 virtual processors (0-7)\n  SPARC-T5 (chipid 0, clock 3600 MHz)\n",
    f"{EXP}/sysconfig/vmstat.out": SOLARIS_VMSTAT,
    f"{EXP}/sysconfig/ps-ef.out": SOLARIS_PS,
    f"{EXP}/messages/messages": SOLARIS_MESSAGES,
    f"{EXP}/patch+pkg/pkginfo-l.out": "   PKGINST:  SUNWcar\n",
}

AIX_VMSTAT_V = """              2097152 memory pages
              2031616 lruable pages
               512340 free pages
                    2 memory pools
               410120 pinned pages
                 90.0 maxpin percentage
                  3.0 minperm percentage
                 90.0 maxperm percentage
                 41.2 numperm percentage
                12345 pending disk I/Os blocked with no pbuf
                    0 paging space I/Os blocked with no psbuf
                 2228 filesystem I/Os blocked with no fsbuf
"""
AIX_LSPS = """Page Space      Physical Volume   Volume Group    Size %Used Active  Auto  Type Chksum
hd6             hdisk0            rootvg        8192MB    12   yes   yes    lv     0
"""
AIX_ERRPT = """IDENTIFIER TIMESTAMP  T C RESOURCE_NAME  DESCRIPTION
DE3B8540   0305100124 P H hdisk4         PATH HAS FAILED
DE3B8540   0305100224 P H hdisk4         PATH HAS FAILED
A6DF45AA   0305090124 I O RMCdaemon      The daemon is started.
"""
AIX_NETSTAT = """tcp:
        640100 packets sent
                500200 data packets (91823400 bytes)
                3120 data packets (812300 bytes) retransmitted
        650200 packets received
        12 bad connection attempts
        8 listen queue overflows
udp:
        1200 datagrams received
        3 socket buffer overflows
"""


def _snap(*sections: tuple[str, str]) -> str:
    return "Tue Mar  5 10:15:01 CET 2024\n" + "".join(
        f"\n.....\n.....    {name}\n.....\n\n{text}" for name, text in sections
    )


SNAP: dict[str, str] = {
    "./general/general.snap": _snap(
        ("lsps -a", AIX_LSPS), ("vmstat -v", AIX_VMSTAT_V), ("lsattr -El sys0", "maxuproc 2048 x True\n")
    ),
    "./general/errpt.out": AIX_ERRPT,
    "./general/oslevel.info": "7200-05-03-2148\n",
    "./tcpip/tcpip.snap": _snap(("netstat -s", AIX_NETSTAT), ("ifconfig -a", "en0: flags=5e080863<UP>\n")),
    "./kernel/kernel.snap": _snap(("vmstat -v", AIX_VMSTAT_V)),
}

NMON = """AAA,progname,nmon
AAA,command,nmon -f -s 5 -c 2
AAA,version,16m
AAA,interval,5
AAA,snapshots,2
AAA,host,{host}
AAA,time,10:00.01
AAA,date,05-MAR-2024
CPU_ALL,CPU Total {host},User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs
MEM,Memory MB {host},memtotal,hightotal,lowtotal,swaptotal,memfree,highfree,lowfree,swapfree
ZZZZ,T0001,10:00:01,05-MAR-2024
CPU_ALL,T0001,3.1,1.2,0.4,95.3,0.0,,4
MEM,T0001,7821.0,-0.0,-0.0,2047.0,4123.0,-0.0,-0.0,2047.0
ZZZZ,T0002,10:00:06,05-MAR-2024
CPU_ALL,T0002,5.1,1.2,0.4,93.3,0.0,,4
MEM,T0002,7821.0,-0.0,-0.0,2047.0,4120.0,-0.0,-0.0,2047.0
"""
NMON_FOLDER: dict[str, str] = {
    f"nmon/{host}_240305_{hhmm}.nmon": NMON.format(host=host).replace("05-MAR", f"0{day}-MAR")
    for host, hhmm, day in (("db1", "1000", 5), ("db2", "1000", 5), ("db1", "1100", 6))
}

POD_LOG = "".join(
    f'2024-03-05T09:0{n}:01.123456Z stdout F level=error msg="upstream timed out" route=/orders took=3.2s\n'
    for n in range(6)
)
EVENTS = """{
    "kind": "EventList",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "91823"},
    "items": [
        {
            "metadata": {"name": "orders-7d9.17b", "namespace": "shop"},
            "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "orders-7d9"},
            "reason": "BackOff",
            "message": "Back-off restarting failed container orders",
            "source": {"component": "kubelet", "host": "node-3"},
            "firstTimestamp": "2024-03-05T09:01:00Z",
            "lastTimestamp": "2024-03-05T09:09:00Z",
            "count": 41,
            "type": "Warning"
        },
        {
            "metadata": {"name": "orders-7d9.17c", "namespace": "shop"},
            "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "orders-7d9"},
            "reason": "OOMKilling",
            "message": "Memory cgroup out of memory: Killed process 4711 (orders)",
            "source": {"component": "kernel-monitor", "host": "node-3"},
            "firstTimestamp": "2024-03-05T09:00:30Z",
            "lastTimestamp": "2024-03-05T09:08:30Z",
            "count": 7,
            "type": "Warning"
        }
    ]
}
"""
NODES = """{
    "kind": "NodeList",
    "apiVersion": "v1",
    "items": [
        {"metadata": {"name": "node-3"}, "status": {"capacity": {"cpu": "4", "memory": "8008900Ki"}}}
    ]
}
"""
CLUSTER_DUMP: dict[str, str] = {
    "cluster-state/nodes.json": NODES,
    "cluster-state/shop/events.json": EVENTS,
    "cluster-state/shop/pods.json": '{\n    "kind": "PodList",\n    "items": []\n}\n',
    "cluster-state/shop/orders-7d9/logs.txt": (
        "==== START logs for container orders of pod shop/orders-7d9 ====\n"
        f"{POD_LOG}==== END logs for container orders of pod shop/orders-7d9 ====\n"
    ),
}


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(files: Mapping[str, str], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]  # the mode is any of the module's
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content.encode()), 1709629200
            archive.addfile(info, io.BytesIO(content.encode()))
    return out.getvalue()


AHF_INNER: dict[str, str] = {
    "rac2/alert_ORCL2.log": (
        "2024-03-05T10:00:01.123456+01:00\nThread 1 advanced to log sequence 812 (LGWR switch)\n"
        "2024-03-05T10:01:11.223456+01:00\nORA-00060: deadlock resolved; details in file /u01/trace/orcl2_ora_4711.trc\n"
    ),
    "rac2/oswvmstat/rac2_vmstat_24.03.05.1000.dat": OSWATCHER["oswbb/archive/oswvmstat/db1_vmstat_24.03.05.1000.dat"],
}
AHF: dict[str, str | bytes] = {
    "rac2.tfa_srdc_dbperf_Tue_Mar_5_10_15_00_CET_2024.zip": zipped(AHF_INNER),
}

TREES: dict[str, tuple[str, bytes]] = {
    "sosreport": (f"{SOS}.tar.xz", tarred(SOSREPORT, "w:xz")),
    "supportconfig": (f"{SCC}.txz", tarred(SUPPORTCONFIG, "w:xz")),
    "OSWatcher": ("osw_archive.tar.gz", tarred(OSWATCHER)),
    "ExaWatcher": ("ExaWatcher_cel01.tar.bz2", tarred(EXAWATCHER, "w:bz2")),
    "explorer": (f"{EXP}.tar.gz", tarred(EXPLORER)),
    "snap": ("snap.pax.gz", tarred(SNAP)),
    "nmon": ("nmon.tar.gz", tarred(NMON_FOLDER)),
    "AHF": ("tfa_collection.zip", zipped(AHF)),
    "cluster-info dump": ("cluster-state.tar.gz", tarred(CLUSTER_DUMP)),
}
"""Name of the tool -> name and bytes of an archive of its tree."""
