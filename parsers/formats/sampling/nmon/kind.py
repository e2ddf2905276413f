"""What is known about nmon beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("nmon",),
    next={
        "linux": (
            "ps -eLo pid,tid,stat,wchan:32,pcpu,rss,args --sort=-pcpu; pidstat -u -r -d -w 5 12",
            "perf record -a -g sleep 10; perf report --stdio",
            "cat /proc/meminfo /proc/pressure/*",
        ),
        "solaris": (
            "prstat -mL 5 12; ps -eo pid,s,wchan,pcpu,rss,args",
            "kstat -p, twice, 60 s apart",
            "vmstat -p 5 12",
        ),
        "aix": ("ps -emo THREAD; topas -P", "svmon -G; lsps -s", "tprof -skex sleep 30"),
        "hpux": ("glance; top", "sar -A 5 12"),
        "freebsd": ("top -SHb 40; ps -axHo pid,state,mwchan,pcpu,rss,args", "vmstat -z; vmstat -i"),
    },
)
