"""What is known about iostat beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="run of iostat",
    titles="runs of iostat",
    tools=("iostat",),
    intervals={"iostat": ("-g", "-o", "-j", "-p")},
    sampled=True,
    next={
        "linux": ("pidstat -d 5 12; cat /proc/PID/io", "dmesg -T; smartctl -a DEVICE", "lsblk -t; findmnt"),
        "solaris": ("iostat -En; fmdump -eV", "zpool status -v; zpool iostat -v 5 12", "prstat -mL 5 12"),
        "aix": ("filemon -O all sleep 30", "errpt -a; lspath"),
        "hpux": ("sar -d 5 12; ioscan -fnC disk",),
        "freebsd": ("gstat -b -I 5s; zpool status",),
    },
)
