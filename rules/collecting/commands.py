"""How to collect what a rule lacks: for each table the exact command by system, and who usually may run it.

Names in capitals are placeholders. Every command ends by itself; `rules.collecting.costs` tells its time, amount of
output and effect on a production host. A system may have a variant by its version (`variant_of`): if none is listed,
the system's own command applies, then that of every system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from parsers.kinds import kinds
from rules.model import Request
from rules.writing.rule import Need

T = TypeVar("T")

SYSADMIN, DBA, NETWORK, TEAM = "system administrator", "DBA", "network engineer", "the team that reported it"

_TRACE = {
    "solaris": "truss -f -d -D -E -o FILE -p PID & sleep 60; kill -INT $!",
    "linux": "timeout -s INT 60 strace -f -ttt -T -o FILE -p PID",
    "linux-old": "strace -f -ttt -T -o FILE -p PID & sleep 60; kill -INT $!",
    "aix": "truss -f -d -D -o FILE -p PID & sleep 60; kill -INT $!",
    "hpux": "tusc -f -T '' -o FILE -p PID & sleep 60; kill -INT $!",
    "freebsd": "truss -f -d -D -o FILE -p PID & sleep 60; kill -INT $!",
    "macos": "sample PID 10 -file FILE; fs_usage -w -t 60 PID",
    "windows": "Process Monitor, filtered by the process, for 60 s, its events saved as CSV",
}
_PMAP = {
    "solaris": "pmap -xs PID",
    "linux": "pmap -x PID",
    "aix": "procmap -X PID",
    "hpux": "pmap -x PID",
    "freebsd": "procstat -v PID",
    "macos": "vmmap -summary PID",
}
_CAPTURE = {
    "solaris": "snoop -s 128 -c 500000 -o FILE host ADDRESS and port PORT & sleep 60; kill -INT $!",
    "linux": "timeout -s INT 60 tcpdump -i any -s 128 -c 500000 -w FILE host ADDRESS and port PORT",
    "linux-old": "tcpdump -i any -s 128 -c 500000 -w FILE host ADDRESS and port PORT & sleep 60; kill -INT $!",
    "aix": "tcpdump -i en0 -s 128 -c 500000 -w FILE host ADDRESS and port PORT & sleep 60; kill -INT $!",
    "freebsd": "tcpdump -i INTERFACE -s 128 -c 500000 -w FILE host ADDRESS and port PORT & sleep 60; kill -INT $!",
    "macos": "tcpdump -i INTERFACE -s 128 -c 500000 -w FILE host ADDRESS and port PORT & sleep 60; kill -INT $!",
}
_CAPTURED = "a packet capture on both hosts, for 60 s, the first 128 bytes of each packet"
_NET_TRACE = (
    "trace_level_client = 16 in the client's sqlnet.ora; trace_level_LISTENER = 16 in listener.ora;"
    " both back to 0 after a few connects, within 10 minutes"
)
_EVERY = "*"
_LINKS = {
    "linux": "ip -s link, twice, 60 s apart",
    "linux-old": "netstat -i, twice, 60 s apart",
    _EVERY: "netstat -i, twice, 60 s apart",
}

_VMSTAT = {
    _EVERY: "vmstat 5 12",
    "linux": "vmstat -t 5 12",
    "linux-old": "vmstat 5 12",
    "solaris": "vmstat -T d 5 12",
    "solaris-10": "vmstat 5 12",
    "aix": "vmstat -t 5 12",
    "freebsd": "vmstat -w 5 -c 12",
    "macos": "vm_stat -c 12 5",
    "windows": r"typeperf '\Memory\*' '\Processor(_Total)\*' '\System\*' -si 5 -sc 12",
}
# Only this listing has separate columns for anonymous pages.
_BY_PAGES = {"solaris": "vmstat -p 5 12", "solaris-10": "vmstat -p 5 12", "illumos": "vmstat -p 5 12"}

COMMANDS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "syscalls": (_TRACE, SYSADMIN),
    "open_calls": (_TRACE, SYSADMIN),
    "listener_cycles": (_TRACE, SYSADMIN),
    "listener_load": (_TRACE, SYSADMIN),
    "name_calls": (_TRACE, SYSADMIN),
    "pipe_pairs": (_TRACE, SYSADMIN),
    "proc_tree": (_TRACE, SYSADMIN),
    "call_profile": (_TRACE, SYSADMIN),
    "pmap": (_PMAP, SYSADMIN),
    "seg_groups": (_PMAP, SYSADMIN),
    "ipcs_shm": ({_EVERY: "ipcs -mob", "linux": "ipcs -m; ipcs -mp"}, SYSADMIN),
    "ipcs_sem": ({_EVERY: "ipcs -sb", "linux": "ipcs -s; ipcs -sl"}, SYSADMIN),
    "vmstat": (_VMSTAT, SYSADMIN),
    "mpstat": (
        {
            _EVERY: "mpstat 5 12",
            "linux": "mpstat -P ALL 5 12",
            "solaris": "mpstat -T d 5 12",
            "solaris-10": "mpstat 5 12",
            "hpux": "sar -Mu 5 12",
            "freebsd": "vmstat -P -w 5 -c 12",
            "macos": "top -l 12 -s 5 -n 20",
            "windows": r"typeperf '\Processor(*)\*' -si 5 -sc 12",
        },
        SYSADMIN,
    ),
    "iostat": (
        {
            _EVERY: "iostat -x 5 12",
            "linux": "iostat -xt 5 12",
            "solaris": "iostat -xn -T d 5 12",
            "solaris-10": "iostat -xn 5 12",
            "aix": "iostat -DlT 5 12",
            "hpux": "iostat 5 12",
            "illumos": "iostat -xn 5 12",
            "freebsd": "iostat -x -w 5 -c 12",
            "macos": "iostat -w 5 -c 12",
            "windows": r"typeperf '\PhysicalDisk(*)\*' -si 5 -sc 12",
        },
        SYSADMIN,
    ),
    "counters": ({_EVERY: "netstat -s, twice, 60 s apart"}, NETWORK),
    "counter_growth": (
        {
            _EVERY: "date; netstat -s, twice, 60 s apart",
            "linux": "date; nstat -asz, twice, 60 s apart",
            "linux-old": "date; netstat -s, twice, 60 s apart",
        },
        NETWORK,
    ),
    "ps": (
        {_EVERY: "ps -eo pid,ppid,pcpu,rss,vsz,time,args", "aix": "ps -eo pid,ppid,pcpu,rssize,vsz,time,args"}
        | {"hpux": "ps -ef"}
        | dict.fromkeys(("freebsd", "macos"), "ps -axo pid,ppid,pcpu,rss,vsz,time,args")
        | {"windows": "Get-Process | Sort-Object WorkingSet64 -Descending | Select-Object -First 40"},
        SYSADMIN,
    ),
    "params": ({_EVERY: "show parameter in SQL*Plus; the system's settings file"}, DBA),
    "sqlnet": (
        {_EVERY: _NET_TRACE},
        DBA,
    ),
    "sqlnet_waits": (
        {_EVERY: _NET_TRACE},
        DBA,
    ),
    "wait_cover": (
        {**_CAPTURE, _EVERY: f"{_CAPTURED}, while a connect is traced on both sides"},
        NETWORK,
    ),
    "answered_by": (
        {
            _EVERY: "traces of client and server at once, and the descriptors of both processes (pfiles, lsof)",
            "linux": "timeout -s INT 60 strace -f -yy -ttt -T -o FILE -p PID, of client and server at once",
        },
        SYSADMIN,
    ),
    "packets": ({**_CAPTURE, _EVERY: _CAPTURED}, NETWORK),
    "tcp_flows": ({**_CAPTURE, _EVERY: _CAPTURED}, NETWORK),
    "logs": (
        {
            "linux": "journalctl --since '1 hour ago' --no-pager",
            "solaris": "tail -5000 /var/adm/messages",
            "aix": "errpt -a | head -2000",
            "hpux": "tail -5000 /var/adm/syslog/syslog.log",
            _EVERY: "the log of the program and that of the system, of the hour",
        },
        SYSADMIN,
    ),
    "conn_times": ({_EVERY: "time 30 connects, one a second, and keep every value"}, TEAM),
    "changes": ({_EVERY: "time 30 connects before and 30 after the change"}, TEAM),
    "markers": ({_EVERY: "say in the room what was changed, between which phases"}, TEAM),
    "statements": ({_EVERY: "say it in the room"}, TEAM),
    "sockets": ({_EVERY: "netstat -an", "linux": "ss -lnt; ss -tan", "linux-old": "netstat -an"}, NETWORK),
    "clock_map": (
        {_EVERY: "the first line of the trace (its base time), and the date of both hosts at one moment"},
        SYSADMIN,
    ),
    "locks": ({"solaris": "lockstat -A sleep 10", "linux": "perf lock contention -a -b sleep 10"}, SYSADMIN),
    "hosts": (
        {
            "solaris": "psrinfo -pv; prtconf | head -3",
            "linux": "lscpu; free -k",
            "aix": "lparstat -i; prtconf | head -20",
            _EVERY: "say in the room how many processors the host has, and its system",
        },
        SYSADMIN,
    ),
    "artifacts": ({_EVERY: "uname -a; say in the room which system the host runs"}, SYSADMIN),
    "trends": ({_EVERY: "ps -eo pid,rss,vsz,args every 10 minutes for 4 hours, each with its date"}, SYSADMIN),
    "predictions": ({_EVERY: "say how many items are finished per minute in each phase"}, TEAM),
    "sessions": ({_EVERY: "select sid, serial#, program, machine, spid, status from v$session and v$process"}, DBA),
    "meminfo": (
        {
            "linux": "cat /proc/meminfo",
            "aix": "svmon -G; lsps -a",
            "solaris": "echo ::memstat | mdb -k; swap -s",
            "hpux": "swapinfo -tam",
            "freebsd": "top -b 20; vmstat -s; vmstat -z; vmstat -m",
            "macos": "vm_stat; top -l 1 -n 20 -o mem",
            "windows": r"typeperf '\Memory\*' -si 1 -sc 3; poolmon -b -n FILE, or the pool tags by bytes",
        },
        SYSADMIN,
    ),
    "numa": ({"linux": "numactl -H; numastat, twice, 60 s apart", "solaris": "lgrpinfo -a"}, SYSADMIN),
    "resource_use": (
        {_EVERY: "select * from v$resource_limit", "linux": "ipcs -u; ipcs -l; cat /proc/sys/fs/file-nr"},
        DBA,
    ),
    "fdmap": (
        {
            "solaris": "pfiles PID",
            "linux": "lsof -p PID",
            "aix": "procfiles -n PID",
            "freebsd": "procstat -f PID",
            "macos": "lsof -p PID",
        },
        SYSADMIN,
    ),
    "profile_symbols": (
        {
            "linux": "perf record -a -g sleep 10; perf report --stdio",
            "solaris": "lockstat -kIW -D 20 sleep 10",
            "aix": "tprof -skex sleep 10",
            "macos": "sample PID 10 -file FILE",
            "windows": "wpr -start CPU -filemode; timeout 10; wpr -stop FILE",
        },
        SYSADMIN,
    ),
    "profile_meta": ({"linux": "timeout 10 perf top -a --stdio"}, SYSADMIN),
    "profile_stacks": (
        {
            "solaris": "dtrace -n 'profile-997 { @[stack()] = count(); } tick-10s { exit(0); }'",
            "linux": "perf record -a -g sleep 10",
            "freebsd": "dtrace -n 'profile-997 { @[stack()] = count(); } tick-10s { exit(0); }'",
            "macos": "sample PID 10 -file FILE",
            "windows": "wpr -start CPU -filemode; timeout 10; wpr -stop FILE",
        },
        SYSADMIN,
    ),
    "hist": (
        {_EVERY: "dtrace or bpftrace with quantize, one tick apart, aggregations cleared at each, for at most 60 s"},
        SYSADMIN,
    ),
    "hist_modes": ({_EVERY: "say what one unit of the printed values is, in seconds (hist_unit_s)"}, TEAM),
    "identities": (
        {"solaris": "pmap -xs PID; ipcs -mosb, of the same minute", _EVERY: "ipcs -a; ps -ef, of the same minute"},
        SYSADMIN,
    ),
    "clock_checks": ({_EVERY: "logs or traces of both hosts that name the same pids, ports or connections"}, SYSADMIN),
    "signals": (_TRACE, SYSADMIN),
    "microstates": ({"solaris": "prstat -mL -p PID 5 12"}, SYSADMIN),
    "stop_waits": (_TRACE, SYSADMIN),
    "requests": (_TRACE, SYSADMIN),
    "db_waits": (
        {_EVERY: "an AWR or Statspack report of the bad hour, or event 10046 level 8 of one session"},
        DBA,
    ),
    "notes": ({_EVERY: "the whole file instead of an excerpt"}, TEAM),
}
"""Table -> (system or * -> command, who runs it). A derived table is requested through the tables it is made from."""

ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(
        (table for table, (held, _) in COMMANDS.items() if held is _TRACE),
        "a trace of the process's system calls, with the time of each, for 60 s",
    ),
    **dict.fromkeys(("pmap", "seg_groups"), "the address space of the process, with what of it is in memory"),
    "meminfo": "the memory of the host and what holds it",
    "locks": "the locks of the kernel on which threads wait, for 10 s",
    "fdmap": "the open files and sockets of the process",
    "numa": "the memory of each node of the host, free and used",
    "profile_symbols": "the functions in which the processors are, for 10 s",
    "profile_meta": "the functions in which the processors are, for 10 s",
    "profile_stacks": "the functions in which the processors are, with their callers, for 10 s",
    "microstates": "what each thread of the process waits for, for 60 s",
}
"""Table -> what to ask for on a system that has no command of its own there: the tool of another system is not to be had."""

OF_DATABASES: Mapping[str, Mapping[str, str]] = {
    "db_waits": {
        "postgres": "psql -c 'select pid, state, wait_event_type, wait_event, query from pg_stat_activity', 20 times, 3 s apart",
        "mysql": "mysql -e 'SELECT event_name, count_star, sum_timer_wait FROM"
        " performance_schema.events_waits_summary_global_by_event_name ORDER BY 3 DESC LIMIT 20', twice, 60 s apart",
    },
    "sessions": {
        "postgres": "psql -c 'select pid, pg_blocking_pids(pid), state, xact_start, query from pg_stat_activity'",
        "mysql": "mysql -e 'SHOW FULL PROCESSLIST'",
    },
    "params": {
        "postgres": "psql -c 'select name, setting, unit, source from pg_settings'",
        "mysql": "mysql -e 'SHOW GLOBAL VARIABLES'",
    },
}
"""Table -> (database -> command of a DBA) where another database than Oracle has its own."""


@dataclass(frozen=True)
class StatementPrompt:
    """What a person may state that no file shows: the unit of the number (None: a count, a word or nothing), and how to
    ask for it.
    """

    unit: str | None
    ask: str


STATEMENTS: Mapping[str, StatementPrompt] = {
    "work_rate": StatementPrompt("per minute", "say how many items are finished per minute"),
    "workers": StatementPrompt(None, "say how many workers do the work"),
    "connects_per_item": StatementPrompt(None, "say how many connections one item opens"),
    "same_connection": StatementPrompt(None, "say whether both traces show the same connection, and how you know"),
    "client_start": StatementPrompt("s", "say when the client started, in the clock of the trace"),
    "rss_kb": StatementPrompt("kB", "say how large (RSS) the process is, with its pid as subject"),
    "same_host": StatementPrompt(None, "say whether the client ran on the database host"),
    "sessions": StatementPrompt(None, "say how many sessions end together"),
    "oradism_mode": StatementPrompt(None, "ls -l $ORACLE_HOME/bin/oradism, and say its first line"),
    "defunct": StatementPrompt(None, "say how many defunct processes ps shows at one time"),
    "exiting": StatementPrompt(None, "say how many exiting processes ps shows at one time"),
    "hist_unit_s": StatementPrompt("s", "say what one unit of the printed values is, in seconds"),
    "sga_kb": StatementPrompt("kB", "say how large the instance's shared memory is, in kB"),
}
"""Every statement that rules read, by name; the room's form lists them."""

SYMPTOM: Mapping[str, str] = {
    "symptom_bad": "say in the case how long it takes when it is slow",
    "symptom_normal": "say in the case how long it usually takes",
}
"""How to ask for what the case's symptom gives to the rules as a statement (`rules.case.case`)."""

NARROWER: Mapping[tuple[str, str], tuple[Mapping[str, str], str]] = {
    ("pmap", "%dism%"): ({_EVERY: "pmap -xs of the process ora_dism_SID"}, SYSADMIN),
    ("vmstat", "apo_kbps"): ({**_VMSTAT, **_BY_PAGES}, SYSADMIN),
    ("params", "kernel.sem"): ({_EVERY: "sysctl kernel.sem"}, SYSADMIN),
    ("params", "thp"): ({_EVERY: "grep . /sys/kernel/mm/transparent_hugepage/{enabled,defrag}"}, SYSADMIN),
    ("params", "oracle"): ({_EVERY: "show parameter in SQL*Plus"}, DBA),
    ("counters", "fork"): (
        {"linux": "sar -w 5 12", "solaris": "sar -c 5 12", _EVERY: "vmstat -s, twice, 60 s apart"},
        SYSADMIN,
    ),
    ("counters", "%fork%"): (
        {"linux": "sar -w 5 12", "solaris": "sar -c 5 12", _EVERY: "vmstat -s, twice, 60 s apart"},
        SYSADMIN,
    ),
    ("counters", "irq"): ({"linux": "mpstat -I ALL 5 12", "solaris": "intrstat 5 12"}, SYSADMIN),
    ("counters", "nr_throttled"): ({_EVERY: "grep . /sys/fs/cgroup/PATH/cpu.*, twice, 60 s apart"}, SYSADMIN),
    ("counters", "load_profile"): ({_EVERY: "an AWR or Statspack report of the bad hour"}, DBA),
    ("counters", "memory.failcnt"): ({_EVERY: "grep . /sys/fs/cgroup/PATH/memory.*, twice, 60 s apart"}, SYSADMIN),
    ("counters", "workingset_refault_file"): (
        {_EVERY: "grep . /sys/fs/cgroup/PATH/memory.stat, twice, 60 s apart"},
        SYSADMIN,
    ),
    ("counters", "rbytes"): ({_EVERY: "grep . /sys/fs/cgroup/PATH/io.*, twice, 60 s apart"}, SYSADMIN),
    ("counters", "iface"): (
        _LINKS,
        NETWORK,
    ),
    ("counter_growth", "iface"): (
        _LINKS,
        NETWORK,
    ),
    ("params", "io.max%"): ({_EVERY: "grep . /sys/fs/cgroup/PATH/io.max"}, SYSADMIN),
    ("params", "cpu.%"): ({_EVERY: "grep . /sys/fs/cgroup/PATH/cpu.*"}, SYSADMIN),
    ("hosts", "client"): (
        {_EVERY: "say in the room which host the client runs on, and how many processors it has"},
        TEAM,
    ),
    ("counters", "%blocked with no %buf"): ({_EVERY: "vmstat -v, twice, 60 s apart"}, SYSADMIN),
    ("meminfo", "ZFS%"): ({_EVERY: "echo ::memstat | mdb -k"}, SYSADMIN),
    ("meminfo", "paging space%used"): ({_EVERY: "lsps -a"}, SYSADMIN),
    ("meminfo", "pg space inuse"): ({_EVERY: "svmon -G"}, SYSADMIN),
    ("meminfo", "Writeback"): (
        {_EVERY: "for n in 1 2 3 4 5 6; do date; cat /proc/meminfo; sleep 1; done, while the writer waits"},
        SYSADMIN,
    ),
    ("logs", "postgres"): (
        {_EVERY: "the log of PostgreSQL of the hour; log_connections and log_lock_waits make it say more, by a reload"},
        DBA,
    ),
    ("logs", "mysql"): ({_EVERY: "the error log of MySQL of the hour"}, DBA),
    ("counters", "arcstats"): ({_EVERY: "kstat -p zfs:0:arcstats unix:0:system_pages"}, SYSADMIN),
    ("counters", "system_pages"): ({_EVERY: "kstat -p zfs:0:arcstats unix:0:system_pages"}, SYSADMIN),
    ("logs", "listener"): ({_EVERY: "listener.log of the hour"}, DBA),
    ("logs", "alert"): ({_EVERY: "the alert log of the hour, and that of the cluster"}, DBA),
    ("counters", "%pressure.some.avg%"): ({_EVERY: "grep . /proc/pressure/*"}, SYSADMIN),
    ("counters", "io.pressure%"): ({_EVERY: "grep . /sys/fs/cgroup/PATH/io.pressure"}, SYSADMIN),
    ("counters", "numperm percentage"): ({_EVERY: "vmstat -v"}, SYSADMIN),
    ("counters", "%conntrack_count"): (
        {_EVERY: "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max"},
        SYSADMIN,
    ),
    ("counters", "compact_stall"): ({_EVERY: "grep compact_ /proc/vmstat, twice, 60 s apart"}, SYSADMIN),
}
"""(table, value in a condition) -> (system or * -> command, who runs it); takes precedence over the table's own
command.
"""


def command(need: Need, os: str | None) -> tuple[str, str]:
    """Return the command that provides what is needed on a system, and who runs it."""
    if need.statement:
        known = STATEMENTS.get(need.statement)
        asked = known.ask if known else SYMPTOM.get(need.statement)
        return asked or f"say in the room: {need.statement}", TEAM
    commands, who = COMMANDS.get(need.table) or (_of_kinds(need.table), SYSADMIN)
    if need.table == "sqlnet" and any(value == "listener" for _, _, value in need.where):
        return "trace_level_LISTENER = 16 in listener.ora, then reload the listener; back to 0 within 10 minutes", DBA
    if need.table == "sqlnet" and any(value == "client" for _, _, value in need.where):
        return "trace_level_client = 16 in the client's sqlnet.ora, then one connect, then 0 again", TEAM
    for value in (need.column, *(value for _, _, value in need.where)):
        for one in value if isinstance(value, (list, tuple)) else [value]:
            commands, who = NARROWER.get((need.table, str(one)), (commands, who))
    if os and not of_system(commands, os) and need.table in ELSEWHERE:
        return ELSEWHERE[need.table], who
    # Where nobody knows the system, most hosts run Linux.
    usual = commands.get("linux") or next(iter(commands.values()), f"anything that fills the table {need.table}")
    return of_system(commands, os) or usual, who


def _of_kinds(table: str) -> Mapping[str, str]:
    """Return the commands that a kind itself names for a table that is listed nowhere here."""
    return next((kind.collect[table] for kind in kinds().values() if table in kind.collect), {})


KIN: Mapping[str, str] = {"illumos": "solaris", "openbsd": "freebsd", "netbsd": "freebsd", "dragonfly": "freebsd"}
"""Systems that have the tools of another, as far as these commands go."""


def of_system(commands: Mapping[str, T], system: str | None) -> T | None:
    """Return the command (or commands) for a system or a variant of one (`variant_of`), else that of every system."""
    name = system or ""
    kin = KIN.get(name, name.split("-")[0])
    return commands.get(name) or commands.get(kin) or commands.get(_EVERY)


def variant_of(os: str | None, release: str | None) -> str | None:
    """Return the variant of a system by its version, for systems whose tools differ; an unknown version has none.

    >>> variant_of("solaris", "5.10"), variant_of("solaris", "11.4"), variant_of("linux", "2.6.18-398.el5")
    ('solaris-10', 'solaris-11', 'linux-old')
    >>> variant_of("linux", "5.14"), variant_of("linux", None), variant_of(None, "5.10")
    ('linux', 'linux', None)
    """
    text = (release or "").strip().lower()
    if os == "solaris" and (found := re.match(r"(?:(?:oracle )?solaris |sunos )?(?:5\.)?(1[01])\b", text)):
        return f"solaris-{found[1]}"
    if os == "linux" and re.search(r"^2\.[0-6]|\.el[3-6]\b|(?:release|rhel|centos|oel|ol|sles) ?[3-6]\b", text):
        return "linux-old"
    return os


def for_version(text: str, os: str | None, release: str | None) -> str:
    """Replace, in an evidence request's text, the commands of a host's system by those of its version.

    >>> for_version("vmstat -t 5 12; pmap -x PID", "linux", "2.6.18-398.el5")
    'vmstat 5 12; pmap -x PID'
    """
    variant = variant_of(os, release)
    if os is None or variant in (None, os):
        return text
    for commands, _ in (*COMMANDS.values(), *NARROWER.values()):
        general, own = of_system(commands, os), of_system(commands, variant)
        if general and own and general != own:
            text = text.replace(general, own)
    return text


def request(needs: Iterable[Need], os: str | None, worth: int) -> Request:
    """Return one evidence request for several needs; repeated commands are named once, the first need decides who runs
    them.
    """
    listed = tuple(needs)
    commands = [command(n, os) for n in listed]
    return Request(
        tuple(n.text for n in listed), "; ".join(dict.fromkeys(c for c, _ in commands)), os, commands[0][1], worth
    )
