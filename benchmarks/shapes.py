"""Generate large files in the shapes of tests/corpus: the same bytes everywhere, no randomness.

Each function writes about `size` bytes and returns the number of lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

CALLS = (
    ("read(14, 0x{a:08X}, 8208)", "= 240"),
    ("write(13, \" N T P 0   3 7 3 1\\n\", {b})", "= {b}"),
    ("pollsys(0x{a:08X}, 6, 0x00000000, 0x00000000)", "= 1"),
    ("lseek(21, 0, SEEK_END)", "= {c}"),
    ("stat(\"/u01/app/oracle/{b}\", 0xFFFFFFFF7FFF{b:04X})", "Err#2 ENOENT"),
    ("fcntl(13, F_SETFD, 0x00000001)", "= 0"),
    ("shmat({c}, 0x{a:08X}, IPC_CREAT)", "= 0x{a:08X}"),
)  # fmt: skip
LINUX_CALLS = (
    ("read(14, \"\\1\\0\\0\\6 v1.0\"..., 8208)", "{b}"),
    ("write(13<socket:[5{b:04}]>, \"\\0\\0\\0\\25\", 21)", "21"),
    ("openat(AT_FDCWD, \"/u01/app/oracle/{b}\", O_RDONLY|O_CLOEXEC)", "-1 ENOENT (No such file or directory)"),
    ("lseek(21, {c}, SEEK_SET)", "{c}"),
    ("mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)", "0x7fbf{a:08x}"),
    ("semtimedop(9, [{{sem_num={b}, sem_op=-1, sem_flg=0}}], 1, {{tv_sec=3, tv_nsec=0}})", "0"),
)  # fmt: skip
WAITS = (("epoll_wait(39, ", "[], 1024, 5)", "0"), ("futex(0x{a:012x}, FUTEX_WAIT_PRIVATE, 1, NULL", ")", "0"))
NET = (
    "nsprecv: reading from transport...", "nttrd: entry", "nttrd: socket 9 had bytes read={b}", "nttrd: exit",
    "nsprecv: {b} bytes from transport", "nsprecv: tlen={b}, plen={b}, type=6", "nsprecv: packet dump",
    "nsprecv: 00 F0 00 00 06 00 00 00  |........|", "nsprecv: normal exit", "nioqrc: exit",
)  # fmt: skip
LISTENER = (
    "(CONNECT_DATA=(SERVICE_NAME=shop{s})(CID=(PROGRAM=JDBC Thin Client)(HOST=__jdbc__)(USER=webapp)))"
    " * (ADDRESS=(PROTOCOL=tcp)(HOST=192.0.2.{h})(PORT={p})) * establish * shop{s} * {code}"
)
STACK = "TNS-12518: TNS:listener could not hand off client connection\n TNS-12560: TNS:protocol adapter error\n"
VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
)
MPSTAT = "CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl\n"
FRAMES = (
    "\tffffffff81b9764c iowrite16+0xc ([kernel.kallsyms])\n",
    "\t          177e1e PyUnicode_AsWideCharString+0x{b:x} (/usr/bin/python3.11)\n",
    "\t    7fce2ab94370 [unknown] ([unknown])\n",
    "\t           f82ad read+0xd (/usr/lib/x86_64-linux-gnu/libc.so.6)\n",
    "\tffffffff821ef666 do_syscall_64+0x46 ([kernel.kallsyms])\n",
    "\t          24c6dc OBJ_obj2txt+0x11c (/usr/lib/x86_64-linux-gnu/libcrypto.so.3)\n",
)


def truss() -> Iterator[str]:
    """Yield `truss -f -l -d -D -E`: eight processes of two LWPs."""
    stamp, number = 0.0, 0
    while True:
        number += 1
        delta = (number * 7919 % 997) / 10_000
        stamp += delta
        call, result = CALLS[number % len(CALLS)]
        fields = {"a": 0x3C0000000 + number * 4096 % (1 << 32), "b": 10 + number % 1000, "c": number % 100_000}
        head = f"{22626 + number % 8}/{1 + number % 2}:\t{stamp:10.4f}\t{delta:7.4f}\t{delta / 3:7.4f}\t"
        yield f"{head}{call.format(**fields)}\t{result.format(**fields)}\n"


def strace(threads: int = 12) -> Iterator[str]:
    """Yield `strace -f -ttt -T -o FILE` of some threads; a quarter of the lines are halves of calls that others
    interrupt.
    """
    stamp, number = 1795205980.0, 0
    waiting: dict[int, tuple[str, str, str]] = {}
    while True:
        number += 1
        stamp += (number * 7919 % 997) / 1_000_000
        pid = 22068 + number * 31 % threads
        fields = {"a": number * 4096 % (1 << 31), "b": 10 + number % 1000, "c": number % 100_000}
        head = f"{pid} {stamp:.6f} "
        if pid in waiting:
            name, rest, ret = waiting.pop(pid)
            yield f"{head}<... {name} resumed>{rest} = {ret} <{number % 99 / 1000:.6f}>\n"
        elif number % 7 == 0:
            begin, rest, ret = WAITS[number % len(WAITS)]
            waiting[pid] = (begin.partition("(")[0], rest, ret)
            yield f"{head}{begin.format(**fields)} <unfinished ...>\n"
        else:
            call, ret = LINUX_CALLS[number % len(LINUX_CALLS)]
            yield f"{head}{call.format(**fields)} = {ret.format(**fields)} <{number % 99 / 100_000:.6f}>\n"


def sqlnet() -> Iterator[str]:
    """Yield a client trace of level 16 with thread numbers."""
    number = 0
    while True:
        number += 1
        second = number // 900
        stamp = f"{1 + second // 86400 % 28:02}-JUL-2026 {second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}:{number % 900:03}"
        yield f"({1 + number % 3}) [{stamp}] {NET[number % len(NET)].format(b=10 + number % 2000)}\n"


def listener_log() -> Iterator[str]:
    """Yield entries of connections with a clock line before each tenth, and one refused entry in a hundred."""
    number = 0
    while True:
        number += 1
        second = number // 10
        day, at = 1 + second // 86400 % 28, f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
        if number % 10 == 0:
            yield f"2024-07-{day:02}T{at}.{number % 1_000_000:06}+08:00\n"
        code = 12518 if number % 100 == 7 else 0
        entry = LISTENER.format(s=number % 5, h=number % 250, p=20_000 + number % 40_000, code=code)
        yield f"{day:02}-JUL-2024 {at} * {entry}\n"
        if code:
            yield STACK


def vmstat() -> Iterator[str]:
    """Yield vmstat of Linux, with the header repeated after each 50 samples."""
    number = 0
    while True:
        if number % 50 == 0:
            yield VMSTAT
        number += 1
        us, sy = number % 60, number % 30
        a, b = number * 7919 % 99_991, number * 104_729 % 9973
        yield (
            f"{number % 9:2} {number % 3:2} {524:6} {763388 + a:6} {147216 + b:6} {819640 - a:6} {0:4} {0:4} {b % 999:5} {b % 777:5} "
            f"{b:4} {a % 5000:4} {us:2} {sy:2} {100 - us - sy:2}  0  0\n"
        )


def mpstat() -> Iterator[str]:
    """Yield mpstat of Solaris with 32 CPUs."""
    number = 0
    while True:
        yield MPSTAT
        for cpu in range(32):
            number += 1
            usr, sys = number % 60, number % 30
            a, b = number * 7919 % 9973, number * 104_729 % 997
            yield (
                f"{cpu:3} {b:4} {number % 3:3} {b % 50:4} {a:5} {a // 2:4} {b * 3:4} {b % 70:4} {b % 40:4} {b % 30:4} {0:4} {a:5} "
                f"{usr:4} {sys:3}   0 {100 - usr - sys:3}\n"
            )


def perf() -> Iterator[str]:
    """Yield `perf script` with four stack frames per sample."""
    number = 0
    while True:
        number += 1
        stamp = 1155.9 + number * 0.005
        yield f"python3  {2048 + number % 8} [{number % 4:03}] {stamp:12.6f}:    5025125 cpu-clock:pppH: \n"
        for frame in range(4):
            yield FRAMES[(number * 7 + frame) % len(FRAMES)].format(b=number % 4096)
        yield "\n"


def text() -> Iterator[str]:
    """Yield the log of an application in a form that no format knows."""
    number = 0
    while True:
        number += 1
        second = number // 7
        stamp = (
            f"2026-07-{1 + second // 86400 % 28:02} {second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
        )
        level = ("INFO", "DEBUG", "INFO", "WARN")[number % 4]
        what = ("Processed order", "Loaded basket", "Sent message to queue", "Saved customer")[number * 7919 % 13 % 4]
        yield (
            f"{stamp},{number * 37 % 1000:03} {level} [worker-{number % 17}] shop.{what.split()[-1].title()}Service - "
            f"{what} {number * 104_729 % 999_983} in {2 + number * 31 % 397} ms\n"
        )


SHAPES: dict[str, Callable[[], Iterator[str]]] = {
    "truss": truss,
    "strace": strace,
    "sqlnet": sqlnet,
    "listener_log": listener_log,
    "vmstat": vmstat,
    "mpstat": mpstat,
    "perf": perf,
    "text": text,
}


def write(kind: str, path: Path, size: int) -> int:
    """Write about `size` bytes of a kind; return the number of lines."""
    lines, written = 0, 0
    texts = SHAPES[kind]()
    with path.open("w", encoding="ascii") as stream:
        while written < size:
            block = "".join(next(texts) for _ in range(5000))
            lines += block.count("\n")
            written += stream.write(block)
    return lines
