"""What is known about meminfo beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("free", "swap", "lsps", "swapinfo"),
    next={
        "linux": (
            "ps -eo pid,rss,vsz,args --sort=-rss; cat /proc/meminfo",
            "slabtop -o -s c; cat /proc/slabinfo",
            "vmstat -t 5 12",
        ),
        "solaris": ("echo ::memstat | mdb -k; prstat -s rss -n 30 5 2", "kstat -n arcstats; swap -s", "vmstat -p 5 12"),
        "aix": ("svmon -G -O unit=MB; svmon -P -t 20", "lsps -a; vmo -L"),
        "hpux": ("swapinfo -tam; kmeminfo",),
        "freebsd": ("top -o res -b 30; vmstat -z; vmstat -m",),
    },
)
