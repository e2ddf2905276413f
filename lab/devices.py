"""Incidents with a slow device, and with a kernel that makes writers wait for it.

The device is a loop device over a file on another loop device; a limit on the lower one (root control group, version 1)
makes the upper one behave like a bad disk, with its own growing queue and times. No other device is affected.
"""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.incident import Incident
from lab.scene import PYTHON, Missing, Scene, control_group, needs

MARK = "date '+zzz ***%a %b %e %H:%M:%S %Z %Y'"
LIMITS = Path("/sys/fs/cgroup/blkio")


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout.strip()


@dataclass(frozen=True)
class Device:
    """A block device, with the numbers of the device below it that can be limited."""

    path: str
    below: str

    def limit(self, requests_ps: int = 0, bytes_ps: int = 0) -> None:
        """Limit the device below to this many requests and bytes written per second; 0 removes the limit."""
        for name, value in (("write_iops", requests_ps), ("read_iops", requests_ps), ("write_bps", bytes_ps)):
            (LIMITS / f"blkio.throttle.{name}_device").write_text(f"{self.below} {value}", encoding="ascii")


def _own_mounts() -> None:
    """Move this process to a mount namespace of its own, because another namespace created meanwhile would copy our
    mounts and keep their devices in use.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(0x00020000):
        raise Missing("no mount namespace of its own")
    _run("mount", "--make-rprivate", "/")


def _insist(line: Sequence[str]) -> None:
    """Repeat a command that releases a device until it succeeds: written pages must reach the device first."""
    for _ in range(40):
        if not subprocess.run(line, check=False, capture_output=True, timeout=30).returncode:
            return
        time.sleep(0.5)


@contextlib.contextmanager
def device(stage: Scene) -> Iterator[Device]:
    """Create a device of 160 MB that can be slowed down."""
    needs("losetup", "mkfs.ext4", "mount")
    if not (LIMITS / "blkio.throttle.write_iops_device").exists():
        raise Missing("no writable blkio controller")
    _own_mounts()
    lower, upper, below = stage.work / "lower.img", stage.work / "below" / "upper.img", stage.work / "below"
    _run("truncate", "-s", "256M", str(lower))
    _run("mkfs.ext4", "-q", "-F", str(lower))
    first = _run("losetup", "-f", "--show", str(lower))
    below.mkdir()
    undo: list[tuple[str, ...]] = [("losetup", "-d", first)]
    numbers = Path(f"/sys/block/{Path(first).name}/dev").read_text(encoding="ascii").strip()
    made = Device("", numbers)
    try:
        _run("mount", first, str(below))
        undo.insert(0, ("umount", str(below)))
        _run("dd", "if=/dev/zero", f"of={upper}", "bs=1M", "count=160", "status=none", "conv=fsync")
        second = _run("losetup", "-f", "--show", "--direct-io=on", str(upper))
        undo.insert(0, ("losetup", "-d", second))
        made = Device(second, numbers)
        yield made
    finally:
        if made.path:
            made.limit()
        stage.end()
        for line in undo:
            _insist(line)


WRITERS = """
    import mmap, os, sys, threading, time
    fd = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
    end = time.monotonic() + float(sys.argv[2])
    def write(n):
        page = mmap.mmap(-1, 16384); page.write(b"x" * 16384); at = n * 16384
        while time.monotonic() < end:
            os.pwrite(fd, page, at % (128 << 20)); at += 16384 * 977
            time.sleep(0.02)
    for n in range(6):
        threading.Thread(target=write, args=(n,)).start()
"""


def slow_disk(stage: Scene) -> None:
    needs("iostat")
    writers = stage.script("writers.py", WRITERS)
    with device(stage) as disk:
        for phase in ("normal", "later"):
            disk.limit(80 if stage.bad and phase == "later" else 0)
            running = stage.start([*writers, disk.path, "12"])
            time.sleep(1.0)
            stage.watch(f"iostat-{phase}.txt", ["iostat", "-xdy", disk.path, "2", "4"])
            stage.finish()
            if phase == "later":
                stage.attach("strace.txt", running.pid, 1.5, ["-y"])
            running.wait(timeout=20)
    stage.said["phases"] = [
        {"file": file, "lines": "1-9999", "phase": phase}
        for file, phase in (("iostat-normal.txt", "normal"), ("iostat-later.txt", "later"), ("strace.txt", "later"))
    ]


LOADER = """
    import os, sys, time
    with open("pid", "w") as own:
        own.write(str(os.getpid()))
    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
    began = time.monotonic()
    for n in range(int(sys.argv[2])):
        os.write(fd, b"row" * 87381)
        if time.monotonic() - began > 20:
            break
"""


def dirty_pages(stage: Scene) -> None:
    """Let a loader write to a file system on a slow device; the kernel limits the amount of dirty pages."""
    needs("ps")
    with device(stage) as disk:
        _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk.path)
        at = stage.work / "data"
        at.mkdir()
        _run("mount", disk.path, str(at))
        try:
            share = Path(f"/sys/class/bdi/{Path(f'/sys/block/{Path(disk.path).name}/dev').read_text().strip()}")
            (share / "strict_limit").write_text("1", encoding="ascii")
            (share / "max_bytes").write_text(str(8 << 20), encoding="ascii")
            disk.limit(bytes_ps=(4 << 20) if stage.bad else 0)
            stage.watch("meminfo.txt", _looks("cat /proc/meminfo"))
            stage.watch("ps.txt", _looks(f"ps -o pid,ppid,s,rss,vsz,args -p $(cat {stage.work}/pid || echo 1)"))
            loader = [PYTHON, *stage.script("loader.py", LOADER)[1:], str(at / "table.dat"), "120"]
            stage.traced("strace.txt", loader, ["-y", "-e", "trace=openat,write,fsync"])
            disk.limit()
            stage.finish()
        finally:
            disk.limit()
            _insist(["umount", str(at)])


def io_limit(stage: Scene) -> None:
    """Run a writer in a control group with a write limit on its device; the twin has no limit."""
    program = stage.script("writer.py", WRITERS)
    with device(stage) as disk:
        numbers = Path(f"/sys/block/{Path(disk.path).name}/dev").read_text(encoding="ascii").strip()
        most = 1 << 20 if stage.bad else 0
        use, limit = "blkio.throttle.io_service_bytes", "blkio.throttle.write_bps_device"
        with control_group("blkio", limit, f"{numbers} {most}") as group:
            stage.start(["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec {' '.join(program)} {disk.path} 30"])
            time.sleep(1.0)
            for _ in range(2):
                stage.print("cgroup.txt", ["sh", "-c", f"{MARK}; grep . {group}/{use} {group}/{limit}"])
                time.sleep(10)
            stage.end()


def _looks(command: str) -> list[str]:
    look = f"{MARK}; {command}"
    return ["sh", "-c", f"for n in 1 2 3 4 5 6; do {look}; sleep 1; done"]


INCIDENTS = (
    Incident("slow-disk", "The same writes as before meet a device that takes ten times as long.", slow_disk,
             {"layer": "storage", "hypothesis": "H-STORAGE", "rules": {"STO-001": {}, "IO-002": {}}},
             {"symptom": {"text": "saving takes long"}}, {}),
    Incident("dirty-pages", "A loader waits in plain writes while the kernel empties its dirty pages to a slow device.", dirty_pages,
             {"layer": "storage", "hypothesis": "H-STORAGE", "rules": {"IO-005": {}}, "also": ["os_kernel"]},
             {"symptom": {"text": "loading", "unit": "s", "bad": 7.0, "normal": 0.5}}, {}),
    Incident("io-limit", "A program writes as much as its control group may.", io_limit,
             {"layer": "storage", "hypothesis": "H-STORAGE", "rules": {"STO-002": {}}, "also": ["configuration"]},
             {"symptom": {"text": "writing is slow"}}, {}),
)  # fmt: skip
