"""Parse the lines above an output that show how it was made: prompts with a command, dates, collectors' marks.

Such lines belong to the part below them and count as read. A command makes a format's claim stronger but is no claim by
itself, and a person's choice overrides it.

    [oracle@db1 ~]$ vmstat 5 12            root@db1:/var/tmp# truss -c -p 4711          # mpstat 1
    bash-3.2$ iostat -xn 5                 SQL> show parameter sga                     C:\\> tnsping ORCL
    Wed Jun 10 09:00:01 CEST 2015          zzz ***Wed Jun 10 09:00:01 CEST 2015        Script started on ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from parsers.kinds import kinds
from parsers.secrets.scan import masked
from parsers.text.source import Hints
from parsers.text.times import month, wall_seconds

LEAD_LINES = 12
"""Maximum number of lines above an output that are examined."""

_PROGRAMS = (
    "arcstat asmcmd awk bash btrfs camcontrol cat cd ceph cfgadm chronyc coreadm cpupower crsctl ctop curl cut"
    " date dbx dd df diskutil dladm dmidecode dmsetup docker drbdadm dstat du dumpe2fs echo edac-util"
    " efibootmgr egrep esxcli esxtop ethtool export fcinfo fcstat fdisk fgrep find findmnt fio fmadm fmdump for"
    " gdb glance gluster grep gstat gunzip gzcat gzip hdparm head hostname intrstat ioscan iotop ipcrm iperf"
    " iperf3 ipmitool isainfo iscsiadm journalctl kctune kill kmtune ksh kstat kubectl lanadmin lanscan less"
    " locale lparstat ls lsattr lsblk lscfg lscpu lsdev lslpp lspath lspci lsps lspv ltrace luxadm lvdisplay"
    " lvs mdadm mdb megacli metastat mkfs more mount mountstats mpathadm multipath ndd nfsiostat nfsstat nice"
    " nicstat nl nm no nohup nslookup ntpq ntpstat numactl numastat nvidia-smi nvme opatch oradebug oslevel"
    " pargs perccli pflags pgrep pldd pmset podman poolstat powermetrics powertop preap projects prtconf"
    " prtdiag psig psrset pvdisplay pvs pwdx rabbitmqctl rados rbd redis-cli rocm-smi route sar script scsimgr"
    " sed sensors sh slabtop sleep smartctl sort sqlplus srvctl ssh storcli storcli64 strings stty su sudo svcs"
    " svmon swapinfo swapon sysbench sysctl sysdef sysdiagnose systat systemctl systemd-analyze systemd-cgtop"
    " tail taskset tc tee thin_dump timedatectl timeout topas tprof traceroute tune2fs turbostat uptime"
    " vdostats vgdisplay vgs vi vim virsh vmkfstools vmo w watch wc which while who xargs xentop xfs_info xl xm"
    " zfs zoneadm zpool"
)
"""Programs that people run at prompts and that are not a tool of any kind."""

_TOOLS = sorted({*_PROGRAMS.split(), *(tool for kind in kinds().values() for tool in kind.tools)})
_PATH_WORD = rf"(?:(?:/[\w.+-]+)+/|\./)?(?:{'|'.join(_TOOLS)})"
_COMMAND = r"(?P<command>[^\s|].*)"

_STATEMENT = r"(?i:\\|(?:select|with|explain|analyze|vacuum|show|table|insert|update|delete|begin|commit|alter|create|drop|copy|lock|set|reindex)\b)"
"""Beginnings of input at the prompt of psql; the prompt is any word (the database) and a sign."""

# A prompt with a user, host or path may be followed by any command; a bare `#` or `$` only by a known one.
_NAMED = re.compile(
    r"^(?:[0-9:]{5,8} +|\[[0-9:]{5,8}\] ?)?(?:\([\w./-]+\) ?)?(?:"
    r"\[(?P<user1>[\w.-]+)@(?P<host1>[\w.-]+)(?:[ :][^\]]{0,80})?\](?:[/~][^\s#$%>]{0,80})? ?[#$%>]"
    r"|\[[a-z_][\w.-]* [/~][^\]]{0,80}\] ?[#$%>]"
    r"|\[?\[email[ \u00a0]protected\](?:[ :][^\]#$%>]{0,80})?\]? ?[#$%>]"
    r"|➜ +[^\s]{1,80}(?: git:\([^)]{1,80}\))?(?: ✗)?(?= )|❯(?= )"
    r"|(?P<user2>[a-z_][\w.-]*)@(?P<host2>[A-Za-z0-9][\w.-]*)(?:[:\[{ ] ?[^\s#$%>]{0,80})? ?[#$%>]"
    r"|<(?P<user3>[\w.-]+)@(?P<host3>[\w.-]+)[^>]{0,40}>"
    r"|(?P<host4>[A-Za-z][\w.-]{1,40}):(?:[/~][^\s#$%>]{0,80}(?: [a-z_][\w-]{0,31})?)? ?[#$%]"
    r"|(?P<host6>[A-Za-z][\w.-]{1,40}):[a-z_][\w-]{0,31}\[[/~][^\s\]]{0,80}\] ?[#$]"
    r"|-?(?:ba|k|z|c|tc|da|a)?sh-[0-9.]{1,6}[a-z]?[#$%]"
    r"|(?P<host5>[a-z][a-z0-9-]{1,30})[#$%](?= )"
    r"|[/~][\w./~-]{0,80} ?[#$%>](?= )"
    r"|(?:PS )?[A-Z]:\\[^>]{0,100}>"
    r"|(?:SQL|ASMCMD|LSNRCTL|adrci|mysql|psql|crash|RMAN|DGMGRL)(?: \[[^\]]*\])?>"
    rf"|[A-Za-z_][\w.-]{{0,62}}=[#>] +(?={_STATEMENT})"
    r") ?(?:" + _COMMAND + r")?$"
)
_BARE = re.compile(rf"^[#$] {{0,2}}(?P<command>(?:(?:sudo|pfexec|time|nohup|nice|ptime) )*{_PATH_WORD}(?:[ \t].*)?)$")
_PERCENT = re.compile(rf"^% (?P<command>(?!time\b){_PATH_WORD}(?:[ \t].*)?)$")
_DOLLAR = re.compile(r"^\$ (?P<command>(?:[a-z]|\./|/[a-z])[\w./-]*(?: +-.*)?)$")
_LOCAL = re.compile(r"^[#$%] ?(?P<command>\./[\w./-]+(?: .*)?)$")
_EMPTY = re.compile(r"^[$%]$")
_SIGN = re.compile(r"[#$%>➜❯]")
"""Every prompt has one of these characters, except the one in brackets."""

_SIGNLESS = re.compile(
    rf"^\[[\w.-]{{1,40}}@(?P<host>[\w.-]{{1,80}})(?: \([\w.-]{{1,40}}\))?[ :][^\]\s]{{1,80}}\] ?(?P<command>{_PATH_WORD}(?:[ \t].*)?)$"
)

# After the `#` of a comment, a text that reads like a sentence is not a command.
_SENTENCE = re.compile(
    r"(?i)^[#$%] ?\w+ *[:=]| (?:is|are|was|the|this|that|for the|of the|to the|will|should|must|can) "
)

_WEEKDAY = r"(?:[^\W\d_]{2,12}\.?,? +)?"
_CLOCK = r"(?P<clock>[0-9]{1,2}[:.][0-9]{2}(?:[:.][0-9]{2}(?:[.,][0-9]{1,9})?)?)(?: ?(?P<half>[AaPp]\.?[Mm]\.?))?"
_ZONE = r"(?: +\(?(?:[A-Z]{2,6}(?:[+-][0-9]{1,4})?|[+-][0-9]{2}:?[0-9]{2})\)?)?"
_DATES = tuple(
    re.compile(rf"^{shape}$")
    for shape in (
        rf"{_WEEKDAY}(?P<month>[^\W\d_]{{3,10}}\.?) +(?P<day>[0-9]{{1,2}}),? +(?:{_CLOCK}{_ZONE},? +)?(?P<year>[0-9]{{4}})"
        rf"(?:,? +{_CLOCK.replace('clock', 'clock2').replace('half', 'half2')}{_ZONE})?",
        rf"{_WEEKDAY}(?P<day>[0-9]{{1,2}})\.?[ -](?:de )?(?P<month>[^\W\d_]{{3,10}}\.?),?[ -](?:de )?(?P<year>[0-9]{{4}})"
        rf"(?:,? +{_CLOCK}{_ZONE})?",
        rf"(?P<year>[0-9]{{4}})[-/.](?P<month>[0-9]{{2}})[-/.](?P<day>[0-9]{{2}})(?:[ T]{_CLOCK}(?:Z|{_ZONE}))?",
        r"(?P<year>[0-9]{4})[年년][ .]*(?P<month>[0-9]{1,2})[月월][ .]*(?P<day>[0-9]{1,2})[日일].*",
    )
)
_MARKS = re.compile(r"^(?:zzz \*{3}|Script (?:started|done) on |Linux OSW[\w ]* )(?P<date>.*)$")
_SYNTHETIC = re.compile(
    r"^Script (?:started|done), (?:file|output log file) is .*$|"
    r"^(?:Linux|SunOS|AIX|HP-UX) (?:OSWbb|OSW|ExaWatcher)\b.*|^# *(?:Starting|Collection) [Tt]ime:? .*|^SNAP_INTERVAL +[0-9]+$"
    r"|^# (?:Starting Time|Sample Interval\(s\)|Archive Count|Collection (?:Module|Command)|Misc Info):.*$|^#{60}$|^zzz <[0-9/]{10} [0-9:]{8}>.*$"
)

_INTERVALS: dict[str, tuple[str, ...]] = {
    "nicstat": (),
    "zpool": (),
    **{tool: valued for kind in kinds().values() for tool, valued in kind.intervals.items()},
}
"""Tools whose command line ends in an interval -> options whose next word is not an interval."""


@dataclass(frozen=True)
class Prompt:
    """A prompt: its host if it names one, and its command ("" if there is none)."""

    host: str | None
    command: str


@dataclass(frozen=True)
class Lead:
    """The lines above an output: their number and what they show."""

    lines: int = 0
    host: str | None = None
    command: str | None = None
    date: str | None = None

    @property
    def tool(self) -> str | None:
        return tool_of(self.command) if self.command else None

    def fill(self, hints: Hints) -> Hints:
        """Return hints with values from these lines where the hints have none."""
        command = hints.command or self.command
        return replace(
            hints,
            host=hints.host or self.host,
            command=command,
            date=hints.date or self.date,
            interval_s=hints.interval_s or (interval_of(command) if command else None),
        )


def prompt_of(line: str) -> Prompt | None:
    """Parse a line as a prompt; None if it is not one.

    >>> prompt_of("[oracle@db1 ~]$ vmstat 5 12")
    Prompt(host='db1', command='vmstat 5 12')
    >>> prompt_of("erp1:root[/]# sar -d 1 3").host, prompt_of("$  lparstat 5 2").command
    ('erp1', 'lparstat 5 2')
    >>> prompt_of("[root@gw1]~# top -nCHS").host, prompt_of("mac7:~ anna$ top").host
    ('gw1', 'mac7')
    >>> prompt_of("[root@headnode (mydc) ~] iostat -xzn 1"), prompt_of("[root@db1 ~] some words")
    (Prompt(host='headnode', command='iostat -xzn 1'), None)
    >>> prompt_of("root@3a1bf12161c9:/# ipcs -m").host
    '3a1bf12161c9'
    >>> prompt_of("# grep ^hosts /etc/nsswitch.conf").command
    'grep ^hosts /etc/nsswitch.conf'
    >>> prompt_of("# Overhead  Command"), prompt_of("% time     seconds"), prompt_of("# ps is what we use")
    (None, None, None)
    """
    line = line.strip()
    if not line or len(line) > 1000:
        return None
    if line[0] == "[" and "@" in line and (signless := _SIGNLESS.match(line)):
        return Prompt(signless["host"], signless["command"].strip())
    if not _SIGN.search(line):
        return None
    bare = _BARE.match(line) or _PERCENT.match(line) or _DOLLAR.match(line) or _LOCAL.match(line)
    if bare:
        return None if _SENTENCE.search(line) else Prompt(None, bare["command"].strip())
    if _EMPTY.match(line):
        return Prompt(None, "")
    named = _NAMED.match(line)
    if named is None:
        return None
    host = next((named[f"host{n}"] for n in range(1, 7) if named[f"host{n}"]), None)
    return Prompt(host, (named["command"] or "").strip())


def date_of(line: str) -> str | None:
    """Return the date of a line that is only a date (with or without a time) or a collector's mark: YYYY-MM-DD.

    >>> date_of("Wed Jun 10 09:00:01 CEST 2015"), date_of("zzz ***Wed Jun 10 09:00:01 CEST 2015")
    ('2015-06-10', '2015-06-10')
    >>> date_of("mer. 10 juin 2015 09:00:01 CEST"), date_of("2015-06-10 09:00"), date_of("10 rows 2015")
    ('2015-06-10', '2015-06-10', None)
    """
    line = line.strip()
    mark = _MARKS.match(line)
    line = mark["date"].split(" [")[0].strip() if mark else line
    if not 8 <= len(line) <= 60:
        return None
    for shape in _DATES:
        found = shape.match(line)
        if found is None:
            continue
        number = month(found["month"])
        day = int(found["day"])
        if number and wall_seconds(int(found["year"]), number, day) is not None:
            return f"{found['year']}-{number:02}-{day:02}"
    return None


def is_lead(line: str) -> bool:
    """Decide whether a line is a prompt, a bare date or a collector's mark."""
    return (
        prompt_of(line) is not None or date_of(line) is not None or bool(_MARKS.match(line) or _SYNTHETIC.match(line))
    )


def lead_of(lines: Sequence[str]) -> Lead:
    """Parse the prompts, dates and marks among the first lines, up to the first other line; blank lines count.

    Of several prompts the first one has the command that made the output (`truss -o FILE`, then `grep PID FILE`).
    """
    count, host, command, date = 0, None, None, None
    for number, line in enumerate(lines[:LEAD_LINES], start=1):
        if not line.strip():
            continue
        prompt = prompt_of(line)
        day = date_of(line)
        if prompt is None and day is None and not (_MARKS.match(line) or _SYNTHETIC.match(line)):
            break
        count = number
        if prompt is not None:
            host = host or prompt.host
            command = command or (_shown(line) if prompt.command else None)
        date = date or day
    return Lead(count, host, command, date)


def _shown(line: str) -> str | None:
    """Return the command of a prompt without secrets, since it goes into the part's account and facts."""
    prompt = prompt_of(masked(line))
    return prompt.command or None if prompt else None


def tool_of(command: str) -> str | None:
    """Return the tool of a command line, without its path and the words before it.

    >>> tool_of("sudo /usr/bin/truss -c -p 1"), tool_of("LANG=C sar -u 5 2 | tail"), tool_of("ssh db1 'vmstat 5'")
    ('truss', 'sar', 'vmstat')
    """
    for word in re.split(r"[\s'\"]+", command.strip()):
        name = word.rpartition("/")[2]
        if (
            not name
            or "=" in name
            or name.startswith("-")
            or name in ("sudo", "time", "nohup", "nice", "ptime", "exec")
        ):
            continue
        if name == "ssh":
            rest = command.split(None, 2)
            return tool_of(rest[2]) if len(rest) > 2 else "ssh"
        return name
    return None


def interval_of(command: str) -> float | None:
    """Return the sampling interval in seconds that a command line asks for.

    >>> interval_of("vmstat 5 12"), interval_of("iostat -xn -p sd0 10"), interval_of("vmstat"), interval_of("grep 5 x")
    (5.0, 10.0, None, None)
    """
    tool = tool_of(command)
    if tool not in _INTERVALS:
        return None
    words = re.split(r"[|;>&]", command)[0].split()
    begin = next(i for i, w in enumerate(words) if w.strip("'\"").rpartition("/")[2] == tool)
    valued, skip = _INTERVALS.get(tool, ()), False
    for word in words[begin + 1 :]:
        number = word.strip("'\"")
        if skip:
            skip = False
        elif word in valued:
            skip = True
        elif re.fullmatch(r"[0-9]{1,5}(?:\.[0-9]{1,3})?", number) and float(number) > 0:
            return float(number)
    return None


def named_by(command: str, names: Iterable[str]) -> bool:
    """Decide whether a command's tool or one of its files has one of these names.

    >>> named_by("grep ^hosts /etc/nsswitch.conf", ["nsswitch"]), named_by("vmstat 5", ["mpstat"])
    (True, False)
    """
    wanted = {_plain(name) for name in names}
    words = [w.strip("'\"").rpartition("/")[2] for w in command.split()]
    known = {_plain(word) for word in words} | {_plain(word.split(".")[0]) for word in words if "." in word}
    return bool(wanted & known)


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_")
