r"""Identity and size of a machine: uname, prtconf, psrinfo, lscpu, lparstat -i, uptime, /etc/release, os-release.

Tools: uname(1) -a (all systems), prtconf(1M) (Solaris) and prtconf (AIX), psrinfo(1M) plain, -p, -v, -pv, lscpu(1), lparstat -i (AIX),
uptime(1), /etc/release, /etc/os-release, /etc/redhat-release, lsb_release(1), `oslevel -s`. Capture: `uname -a; psrinfo -pv; prtconf | head`.

Samples::

    SunOS db1 5.10 Generic_150400-40 sun4v sparc SUNW,Sun-Fire-T200
    System Configuration:  Oracle Corporation  sun4v
    Memory size: 65536 Megabytes
    0       on-line   since 04/12/2016 10:01:02
    CPU(s):                24
    Entitled Capacity                          : 4.00
    10:01am  up 12 days,  3:04,  5 users,  load average: 1.23, 0.98, 0.77

Tables: hosts, one row for the output of one tool; vmstat (load1 of uptime). Clock: none; uptime is wall-local where the day is
known from a date line above it. Traps: lscpu prints sockets and cores per socket, in the language of the session; `cores` is their
product (newer versions indent the lines of a group, and a terminal wraps the flags). psrinfo prints one line for each CPU;
off-line CPUs do not count. `Megabytes` and `MB` are of 1024 kB; entitlement is in cores. Known gaps: prtdiag,
the device tree of prtconf (read but not stored), caches and flags of lscpu, smtctl, showrev.
"""

from __future__ import annotations

import re
from typing import Any

from parsers.columns.small_texts import Rows, kilobytes, number, share, whole
from parsers.declarations import Claim, Format
from parsers.formats.host.hostinfo import lscpu_translated
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, wall_seconds

UNAME = r"^(?:SunOS|Linux|AIX|HP-UX|Darwin|FreeBSD|NetBSD|OpenBSD) [A-Za-z0-9._-]+ [A-Za-z]?\.?[0-9][A-Za-z0-9._+-]* "
LSCPU = (
    r"^ {0,4}(?:Architecture|CPU op-mode\(s\)|Byte Order|Address sizes|CPU\(s\)|On-line CPU\(s\) list|Off-line CPU\(s\) list"
    r"|Thread\(s\) per core|Core\(s\) per (?:socket|cluster)"
    r"|Socket\(s\)|Cluster\(s\)|NUMA node\(s\)|NUMA node[0-9]+ CPU\(s\)|Vendor ID|CPU family|Model|Model name|Stepping"
    r"|CPU (?:max|min) MHz|CPU MHz|BogoMIPS|Virtualization(?: type)?"
    r"|Hypervisor vendor|L[123][di]? cache|Flags|Vulnerability .*|CPU\(s\) scaling MHz|Frequency boost"
    r"|BIOS (?:Vendor ID|Model name|CPU family)|CPU dynamic MHz|Physical (?:sockets|chips|cores/chip)|Book\(s\)|Drawer\(s\)):[ \t]+\S"
)
LSCPU_MORE = (
    r"^(?:(?:Virtualization features|Caches \(sum of all\)|NUMA|Vulnerabilities):[ \t]*$| {1,4}L[1234][di]?: +[0-9]"
    r"| {1,4}[A-Z][A-Za-z0-9 ]{1,40}: +(?:Not affected$|Mitigation[;: ]|Vulnerable|KVM: |Unknown: )"
    r"| {16,}[a-z0-9_].* (?:sse[234a-z0-9_]*|avx[0-9a-z_]*|fsgsbase|arch_capabilities|constant_tsc|xsave[a-z]*|bmi[12]|aes|syscall|hypervisor)(?: |$))"
)
"""Groups of newer lscpu with their indented lines, and flags that a terminal wrapped."""
LPARSTAT = (
    r"^(?:Node Name|Partition (?:Name|Number|Group-ID)|Type|Mode|Entitled Capacity(?: of Pool)?|Online Virtual CPUs"
    r"|(?:Maximum|Minimum) (?:Virtual CPUs|Memory|Capacity)|Online Memory"
    r"|Variable (?:Memory )?Capacity Weight|Capacity Increment|(?:Maximum|Active) Physical CPUs in system|Active CPUs in Pool"
    r"|Shared Physical CPUs in system|Maximum Capacity of Pool"
    r"|Unallocated [A-Za-z ]+|Physical CPU Percentage|Shared Pool ID|Memory (?:Mode|Pool ID|Group ID of LPAR)"
    r"|.*I/O Memory Entitlement|Power Saving Mode|Target Memory .*|Physical Memory in the Pool"
    r"|Hypervisor Page Size|Desired [A-Za-z ]+|Sub Processor Mode|Total I/O Memory Entitlement)[ \t]+:"
    r"|^Unallocated Variable Memory Capacity Weight:"
)
SOLARIS = (
    r"^[ \t]*(?:System Configuration: |Memory size: [0-9]+ Megabytes|System Peripherals \(|[0-9]+[ \t]+(?:on-line|off-line"
    r"|no-intr|spare|faulted|powered-off)[ \t]+since "
    r"|Status of (?:virtual )?processor [0-9]+ as of|[ \t]+(?:Processor has been )?(?:on-line|off-line|no-intr|faulted) since "
    r"|[ \t]+The \S+ processor operates at [0-9]+ MHz|[ \t]+and has an? \S.{0,40} floating point processor\."
    r"|The (?:[A-Za-z0-9+-]+ )?physical processor has |[ \t]+(?:Oracle |(?:Open)?)Solaris [0-9]+ .*|[ \t]+The core has |[ \t]+(?:SPARC|UltraSPARC|x86)\S* \()"
)
AIX = (
    r"^(?:System Model|Machine Serial Number|Processor Type|Number Of Processors|Processor Clock Speed|CPU Type"
    r"|Kernel Type|LPAR Info|Memory Size|Good Memory Size|Platform Firmware level|Firmware Version"
    r"|Processor Implementation Mode|Processor Version): "
)
_NODE = r" {4,}[#.a-zA-Z0-9_,-]{1,60}:(?:  ?'.*'?|  ?[0-9a-f]{1,8}(?:\.[0-9a-f]{1,8})*)"
DEVICES = rf"^(?: *\S.*(?: \(driver not attached\)|, instance #[0-9]+)| *Node 0x[0-9a-f]+|{_NODE})$"
"""Lines of the device tree of prtconf on Solaris, plain and with -pv."""

AIX_LIST = (
    r"^(?:INSTALLED RESOURCE LIST|The following resources are installed on the machine|\+/- = Added or deleted|\*   = Diagnostic support"
    r"|[ \t]+Model (?:Architecture|Implementation): \S|[+*-] [A-Za-z]+[0-9]+ {2,}\S.* {2,}\S)"
)
AIX_MORE = re.compile(
    r"(?:Console Login|Auto Restart|Full Core|NX Crypto Acceleration|In-Core Crypto Acceleration): "
    r"|[ \t]+(?:Host Name|IP Address|Sub Netmask|Gateway|Name Server|Domain Name|Total Paging Space|Percent Used|Model (?:Architecture|Implementation)): ?"
    r"|(?:Network|Paging Space|Volume Groups) Information$|={20,}$|INSTALLED RESOURCE LIST|The following resources are installed"
    r"|\+/- = Added|\*   = Diag|[+*-] [a-zA-Z0-9/._-]+ "
    r"|(?:Active|Inactive|Concurrent) VGs$|[a-zA-Z0-9_.-]{1,32}:$|PV_NAME +PV STATE|[a-zA-Z0-9_.-]+ +(?:active|missing|removed) +[0-9]+ +[0-9]+ "
)
"""Lines of prtconf on AIX after the settings that are stored: networks, paging space, volume groups, devices."""

OS_RELEASE = (
    r"^(?:/etc/[a-z-]*release:)?(?:NAME|VERSION|ID|ID_LIKE|VERSION_ID|PRETTY_NAME|ANSI_COLOR|CPE_NAME|HOME_URL|BUG_REPORT_URL|VERSION_CODENAME"
    r"|PLATFORM_ID|LOGO|REDHAT_\w+|DOCUMENTATION_URL|SUPPORT_URL|SUPPORT_END|PRIVACY_POLICY_URL|UBUNTU_CODENAME|DISTRIB_[A-Z]+|VARIANT(?:_ID)?)"
    r'="?[^"]*"?$'
)
"""Lines of /etc/os-release and lsb-release; grep over several files puts the file's name in front."""

LSB = (
    r"^(?:Distributor ID:[ \t]+\S|Codename:[ \t]+[a-z]+$|No LSB modules are available\.$|(?:Description|Release):\t\S)"
)
UPTIME = r"^[ \t]*[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?[ap]?m?[ \t]+up[ \t].*load averages?: *[0-9.,]+"
RELEASE = (
    r"^(?:Red Hat Enterprise Linux|Oracle Linux|CentOS|Oracle VM|SUSE Linux) .*release [0-9]"
    r"|^[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{4}$|^[4-7][1-9]00-[0-9]{2}$|^System [Mm]odel: "
)
OWN = "|".join(
    (
        UNAME,
        LSCPU,
        f"^{lscpu_translated.SURE.pattern}",
        LSCPU_MORE,
        LPARSTAT,
        SOLARIS,
        AIX,
        AIX_LIST,
        DEVICES,
        OS_RELEASE,
        LSB,
        UPTIME,
        RELEASE,
    )
)
FORMAT = Format(
    kind="hostinfo",
    variant="hostinfo",
    version="2",
    systems=("solaris", "linux", "aix", "hpux", "bsd", "macos"),
    tables=("hosts", "vmstat"),
    man="uname(1)",
    example="uname -a; psrinfo -pv; uptime",
    clocks=("none", "wall-local"),
    own=OWN,
)

_OWN = re.compile(OWN)
_MACHINE = "|".join(("Architecture", *lscpu_translated.WORDS["Architecture"]))
_LOOK = re.compile(
    rf"(?m)^[ \t]*(?:SunOS |Linux |AIX |HP-UX |Darwin |FreeBSD |(?:{_MACHINE})[ \xa0]?[:：]|CPU\(s\):|Node Name|System |Memory size"
    r"|[0-9]+[ \t]+on-line|Status of |The \S+ ?physical|The physical|Processor Type:|Number Of Processors:"
    r"|(?:/etc/[a-z-]+:)?(?:NAME=|PRETTY_NAME=|DISTRIB_ID=)|Distributor ID:"
    r"|Oracle Solaris|Solaris|Red Hat|Oracle Linux|[0-9]{1,2}:[0-9:apm]+ +up|[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{4}$)"
)
_SYSTEMS = {"SunOS": "solaris", "Linux": "linux", "AIX": "aix", "HP-UX": "hpux", "Darwin": "macos"}
PAIR = re.compile(r"([A-Za-z][A-Za-z0-9()/ _-]*?)[ \t]*:[ \t]+(.*)")
_STATES = "on-line|no-intr|off-line|spare|faulted|powered-off"
PSRINFO = re.compile(rf"([0-9]+)[ \t]+({_STATES})[ \t]+since .*")
STATUS = re.compile(r"Status of (?:virtual )?processor ([0-9]+) as of.*")
SINCE = re.compile(rf"(?:Processor has been )?({_STATES}) since .*")
CHIP = re.compile(r"The (?:\S+ )?physical processor has (?:([0-9]+) cores? and )?([0-9]+) virtual processors? \(.*")
BANNER_END = re.compile(r"[ \t][0-9]{2}/[0-9]{2}/(?:[0-9]{4}|[0-9]{2})$")
LOAD = re.compile(
    r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?([ap]m)?[ \t]+up[ \t].*load averages?: *([0-9]+[.,][0-9]+).*"
)
SOLARIS_RELEASE = re.compile(r"(?:Oracle |Open)?Solaris ([0-9]+(?:\.[0-9.]+)?(?: [0-9]+/[0-9]+)?).*")


_TELLING = re.compile(
    rf"{UNAME}|{SOLARIS}|{UPTIME}|{RELEASE}|(?:/etc/[a-z-]+:)?(?:PRETTY_NAME|DISTRIB_ID)=|Distributor ID:"
    rf"|(?:{_MACHINE})[ \xa0]?[:：]|CPU\(s\):|Entitled Capacity|Online Virtual|Number Of Proc"
).match


def claim(head: Head) -> Claim | None:
    """Claim by the share of lines of these tools, of which at least one must be unmistakable."""
    if not _LOOK.search(head.text[:8192]):
        return None
    if any(BANNER_END.search(x) for x in head.lines[:8]):
        # `HP-UX db1 B.11.31 U ia64    05/12/26` is the banner of sar, not the output of uname -a.
        head = Head([x for x in head.lines if not (BANNER_END.search(x) and re.match(UNAME, x))])
    if "Linux man-pages " in head.text:
        head = Head([x for x in head.lines if not x.startswith("Linux man-pages ")])
    count, fraction = share(head, _OWN)
    # `Model:` or `Type :` may stand in any text; require one line that only these tools print.
    if not count or fraction < 0.3 or not any(_TELLING(x) for x in head.lines[:400]):
        return None
    return Claim(0.4 + 0.5 * fraction, f"{count} lines about the machine")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open row and its tool."""
    reader = _Reader(source, out, state)
    for block in source.blocks():
        for line_no, line in zip(block.frame["line_no"].to_list(), block.frame["line"].to_list(), strict=True):
            if line.strip():
                reader.line(line_no, line)
        reader.rows.give(out)
    if source.last:
        reader.close()
        reader.rows.give(out)
    reader.clock()
    return state


class _Reader:
    """Reader of lines; it closes a row where the output of another tool, or of the same tool again, begins."""

    def __init__(self, source: Source, out: Tables, state: State) -> None:
        self.source, self.out, self.state = source, out, state
        self.rows = Rows()
        self.times: list[tuple[int, float]] = []
        self.base: str | None = None

    @property
    def is_translated(self) -> bool:
        """Return whether the open output is of lscpu in a language other than English."""
        return self.state.get("tool") == "lscpu" and "abroad" in self.state

    def clock(self) -> None:
        """Report the clock once for each run: reported line by line it would cost the square of the number of lines."""
        if self.times:
            lines, times = zip(*self.times, strict=True)
            spans = [(n, n) for n in lines]
            self.out.domain(Domain(1, "wall-local", self.base, self.source.hints.tz, min(times), max(times), spans))

    def line(self, line_no: int, line: str) -> None:
        text = line.strip()
        if re.match(UNAME, text):
            self.uname(line_no, text)
        elif match := LOAD.fullmatch(text):
            self.uptime(line_no, match)
        elif re.match(LSCPU, text) and (match := PAIR.fullmatch(text)):
            self.lscpu(line_no, match[1], match[2])
        elif (match := lscpu_translated.LINE.fullmatch(text)) and (
            lscpu_translated.SURE.match(text) or (self.is_translated and match[1] in lscpu_translated.NAMES)
        ):
            self.state["abroad"] = True
            self.lscpu(line_no, lscpu_translated.english(match[1]), match[2])
        elif re.match(LPARSTAT, text) and (match := PAIR.fullmatch(text)):
            self.lparstat(line_no, match[1], match[2])
        elif re.match(AIX, text) and (match := PAIR.fullmatch(text)):
            self.prtconf_aix(line_no, match[1], match[2])
        elif match := PSRINFO.fullmatch(text):
            self.processor(line_no, "psrinfo", match[1])
            self.count("ncpu", 1 if match[2] in ("on-line", "no-intr") else 0)
        elif match := STATUS.fullmatch(text):
            self.processor(line_no, "psrinfo -v", match[1])
        elif self.state.get("tool") == "psrinfo -v" and (match := SINCE.fullmatch(text)):
            self.put(line_no, "psrinfo -v", {})
            self.count("ncpu", 1 if match[1] in ("on-line", "no-intr") else 0)
        elif match := CHIP.fullmatch(text):
            self.put(line_no, "psrinfo -pv", {})
            self.count("ncpu", whole(match[2]) or 0)
            self.count("cores", whole(match[1]) or 0)
        elif match := re.fullmatch(r"System Configuration: +(\S.*)", text):
            self.put(line_no, "prtconf", {"os": "solaris", "model": match[1]}, new=True)
        elif match := re.fullmatch(r"Memory size: ([0-9]{1,12}) Megabytes", text):
            self.put(line_no, "prtconf", {"os": "solaris", "mem_kb": int(match[1]) * 1024})
        elif match := SOLARIS_RELEASE.fullmatch(text):
            self.put(line_no, "release", {"os": "solaris", "os_release": match[1]}, new=True)
        elif re.match(OS_RELEASE, text):
            self.os_release(line_no, text)
        elif re.match(LSB, line):
            release = {"os_release": text.partition(":")[2].strip()} if text.startswith("Description:") else {}
            self.put(line_no, "lsb_release", {"os": "linux", **release})
        elif match := re.fullmatch(r"(?:Red Hat Enterprise Linux|Oracle Linux|CentOS|Oracle VM|SUSE Linux) .*", text):
            self.put(line_no, "release", {"os": "linux", "os_release": text}, new=True)
        elif re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{4}|[4-7][1-9]00-[0-9]{2}", text):
            self.put(line_no, "oslevel", {"os": "aix", "os_release": text}, new=True)
        elif re.match(
            r"Copyright \(c\) |Assembled |Use is subject to license|System Peripherals|The core has ", text
        ) or self.detail(line):
            self.out.read([line_no])

    def detail(self, line: str) -> bool:
        """Return whether a line belongs to the open tool but fills no column."""
        tool = self.state.get("tool") or ""
        if tool in ("psrinfo -pv", "psrinfo -v"):
            return line[0] in " \t"
        if tool == "prtconf":
            return (
                re.match(DEVICES, line) is not None
                or re.fullmatch(r"SUNW,[A-Za-z0-9_+-]+|i86pc", line.strip()) is not None
            )
        if tool == "lscpu":
            known = self.is_translated and lscpu_translated.LINE.fullmatch(line.strip())
            return bool(known) or re.match(LSCPU_MORE, line) is not None or line.startswith(" " * 16)
        return tool == "prtconf aix" and AIX_MORE.match(line) is not None

    def processor(self, line_no: int, tool: str, number: str) -> None:
        """Read the number of a processor; one that is not above the previous number begins another output of the tool."""
        before, self.state["cpu"] = self.state.get("cpu", -1), int(number[:9])
        self.put(line_no, tool, {}, new=self.state.get("tool") == tool and self.state["cpu"] <= before)

    def put(self, line_no: int, tool: str, values: dict[str, Any], new: bool = False) -> None:
        """Fill the open row; another tool, or another value of a column that is filled already, begins a new row."""
        state, known = self.state, {k: v for k, v in values.items() if v is not None}
        row = state.get("row")
        if row is None or state.get("tool") != tool or new or any(row.get(k, v) != v for k, v in known.items()):
            self.close()
            row = state["row"] = {"line_no": line_no}
            state["tool"] = tool
        row |= known
        row["line_end"] = line_no
        self.out.read([line_no])

    def count(self, name: str, more: int) -> None:
        row = self.state["row"]
        row[name] = (row.get(name) or 0) + more or None

    def close(self) -> None:
        """Write the open row if it has any value."""
        row = self.state.pop("row", None)
        if row is None:
            return
        per_socket, sockets = row.pop("per_socket", None), row.pop("sockets", None)
        if per_socket and sockets:
            row["cores"] = per_socket * sockets
        if len(row) > 2:
            self.rows.add("hosts", **row)

    def uname(self, line_no: int, text: str) -> None:
        words = text.split()
        system = _SYSTEMS.get(words[0], "bsd")
        # AIX prints release before version: `AIX db1 1 7 00C8...`.
        release = f"{words[3]}.{words[2]}" if system == "aix" and len(words) > 3 else words[2]
        model = words[-1] if system == "solaris" and len(words) >= 7 else None
        self.put(line_no, "uname", {"os": system, "os_release": release, "model": model}, new=True)
        self.out.fact("os", system)
        self.out.fact("os_release", release)

    def uptime(self, line_no: int, match: re.Match[str]) -> None:
        self.state["uptimes"] = self.state.get("uptimes", 0) + 1
        hour, half, date = int(match[1]), match[4], self.source.hints.date
        if half:
            hour = hour % 12 + (12 if half == "pm" else 0)
        t: float | None = hour * 3600.0 + int(match[2]) * 60 + int(match[3] or 0)
        base = None
        if day := re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", date or ""):
            t = wall_seconds(int(day[1]), int(day[2]), int(day[3]), hour, int(match[2]), int(match[3] or 0))
            base = WALL_BASE
        if t is not None:
            self.times.append((line_no, t))
            self.base = base
        load = number(match[5].replace(",", "."))
        self.rows.add("vmstat", line_no, sample=self.state["uptimes"], load1=load, t_local=t)

    def lscpu(self, line_no: int, name: str, value: str) -> None:
        row: dict[str, Any] = {"os": "linux"}
        if name == "CPU(s)":
            row["ncpu"] = whole(value)
        elif name == "Model name":
            row["model"] = value
        elif name.startswith("Core(s) per"):
            row["per_socket"] = whole(value)
        elif name in ("Socket(s)", "Cluster(s)") and value != "-":
            row["sockets"] = whole(value)
        self.put(line_no, "lscpu", row, new=name == "Architecture")

    def lparstat(self, line_no: int, name: str, value: str) -> None:
        row: dict[str, Any] = {"os": "aix"}
        if name == "Entitled Capacity":
            row["ent"] = number(value)
        elif name == "Mode":
            row["capped"] = {"capped": True, "uncapped": False}.get(value.lower())
        elif name == "Online Virtual CPUs":
            row["cores"] = whole(value)
        elif name == "Online Memory":
            row["mem_kb"] = kilobytes(value)
        elif name == "Type" and (smt := re.search(r"SMT(?:-([0-9]+))?", value)):
            self.state["smt"] = int(smt[1] or 2)
        if name == "Online Virtual CPUs" and row["cores"] and "smt" in self.state:
            row["ncpu"] = row["cores"] * self.state["smt"]
        self.put(line_no, "lparstat", row, new=name == "Node Name")

    def prtconf_aix(self, line_no: int, name: str, value: str) -> None:
        row: dict[str, Any] = {"os": "aix"}
        if name == "System Model":
            row["model"] = value
        elif name == "Number Of Processors":
            row["cores"] = whole(value)
        elif name == "Memory Size":
            row["mem_kb"] = kilobytes(value)
        self.put(line_no, "prtconf aix", row, new=name == "System Model")

    def os_release(self, line_no: int, text: str) -> None:
        name, _, value = re.sub("^/etc/[a-z-]+:", "", text).partition("=")
        row = {"os_release": value.strip('"')} if name in ("PRETTY_NAME", "DISTRIB_DESCRIPTION") else {}
        self.put(line_no, "os-release", {"os": "linux", **row})
