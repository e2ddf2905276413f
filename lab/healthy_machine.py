"""Healthy recordings of a machine: counters, processes, settings and tables of the system, idle and with some work."""

from __future__ import annotations

import time

from lab.incident import ELSEWHERE, Healthy
from lab.scene import Scene, needs
from lab.servers import as_user, run

BURN = """
    import sys, time
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        sum(range(20000)); time.sleep(float(sys.argv[2]))
"""


def _watched(stage: Scene, *tools: str, seconds: int = 6) -> None:
    """Run several tools in parallel and store their output."""
    commands = {
        "vmstat": ["vmstat", "-w", "1", str(seconds + 1)],
        "mpstat": ["mpstat", "-P", "ALL", "1", str(seconds)],
        "iostat": ["iostat", "-x", "1", str(seconds)],
        "sar": ["sar", "-u", "-q", "-w", "-B", "-S", "-r", "1", str(seconds)],
        "pidstat": ["pidstat", "-u", "-r", "-d", "-w", "1", str(min(seconds, 3))],
    }
    for tool in tools:
        needs(tool)
        stage.watch(f"{tool}.txt", commands[tool])


def vmstat_idle(stage: Scene) -> None:
    stage.print("lscpu.txt", ["lscpu"])
    _watched(stage, "vmstat", seconds=8)
    stage.finish()


def mpstat_idle(stage: Scene) -> None:
    _watched(stage, "mpstat", seconds=8)
    stage.finish()


def iostat_idle(stage: Scene) -> None:
    _watched(stage, "iostat", seconds=6)
    stage.finish()


def sar_idle(stage: Scene) -> None:
    stage.print("lscpu.txt", ["lscpu"])
    _watched(stage, "sar")
    stage.finish()


def one_busy(stage: Scene) -> None:
    stage.print("lscpu.txt", ["lscpu"])
    stage.start([*stage.script("burn.py", BURN), "12", "0.001"])
    time.sleep(0.5)
    _watched(stage, "vmstat", "mpstat", "pidstat")
    stage.print("ps.txt", ["ps", "-eo", "pid,ppid,user,stat,pcpu,pmem,etimes,nlwp,comm"])
    stage.finish()


def writer(stage: Scene) -> None:
    stage.start(
        [
            "sh",
            "-c",
            f"for i in 1 2 3 4 5 6 7; do dd if=/dev/zero of={stage.work}/f bs=1M count=24 conv=fsync; sleep 0.5; done",
        ]
    )
    time.sleep(0.5)
    _watched(stage, "iostat", "vmstat")
    stage.finish()


def memory(stage: Scene) -> None:
    needs("numastat", "slabtop", "numactl")
    stage.print("free.txt", ["free", "-k"])
    stage.keep("meminfo.txt", "/proc/meminfo")
    stage.print("numastat.txt", ["numastat"])
    stage.print("numactl.txt", ["numactl", "-H"])
    stage.print("slabtop.txt", ["slabtop", "-o", "-s", "c"])
    stage.keep("thp.txt", "/sys/kernel/mm/transparent_hugepage/enabled")


def page_cache(stage: Scene) -> None:
    data = stage.work / "big.dat"
    data.write_bytes(b"x" * (200 << 20))
    stage.print("free-before.txt", ["free", "-k"])
    for _ in range(3):
        run(["cat", str(data)])
    stage.print("free-after.txt", ["free", "-k"])
    stage.keep("meminfo.txt", "/proc/meminfo")


def network_idle(stage: Scene) -> None:
    needs("ss", "nstat", "netstat", "ip")
    stage.print("nstat.txt", ["nstat", "-az"])
    time.sleep(2)
    stage.print("nstat.txt", ["nstat", "-az"])
    stage.print("netstat.txt", ["netstat", "-s"])
    stage.print("ip.txt", ["ip", "-s", "link"])
    stage.keep("netdev.txt", "/proc/net/dev")


def loopback(stage: Scene) -> None:
    needs("ping")
    stage.print("ping.txt", ["ping", "-c", "20", "-i", "0.05", "127.0.0.1"])


def settings(stage: Scene) -> None:
    needs("sysctl")
    stage.print("sysctl.txt", ["sysctl", "kernel.sem", "kernel.shmmax", "kernel.shmall", "kernel.shmmni", "kernel.msgmni",
                               "vm.swappiness", "vm.dirty_ratio", "vm.dirty_background_ratio", "vm.nr_hugepages", "vm.overcommit_memory",
                               "fs.file-max", "fs.file-nr", "fs.aio-max-nr", "net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog",
                               "net.ipv4.ip_local_port_range", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "kernel.pid_max"])  # fmt: skip
    stage.keep("nsswitch.txt", "/etc/nsswitch.conf")
    stage.keep("thp.txt", "/sys/kernel/mm/transparent_hugepage/enabled")
    stage.print("ipcs-l.txt", ["ipcs", "-l"])
    stage.print("ipcs-u.txt", ["ipcs", "-u"])


def processes(stage: Scene) -> None:
    needs("top", "ps")
    stage.work.chmod(0o755)
    for name in ("batch", "cron", "agent"):
        stage.start([*as_user("nobody"), *stage.script(f"{name}.py", BURN), "20", "0.2"])
    time.sleep(1)
    stage.print("top.txt", ["top", "-b", "-n", "2", "-d", "2"])
    stage.print("ps.txt", ["ps", "-eo", "pid,ppid,user,stat,rss,vsz,pcpu,pmem,etimes,nlwp,comm"])


def growing_a_little(stage: Scene) -> None:
    """Run a program that fills its cache and then stays at that size; seven samples."""
    program = stage.script(
        "cache.py",
        """
        import time
        held = []
        for n in range(40):
            if n < 8:
                held.append(bytearray(b"x") * (1 << 20))
            time.sleep(0.25)
    """,
    )
    started = stage.start(program)
    time.sleep(2.2)
    for _ in range(7):
        stage.print("ps.txt", ["ps", "-o", "pid,ppid,user,stat,rss,vsz,pcpu,etimes,nlwp,comm", "-p", str(started.pid)])
        time.sleep(0.8)


def forks_now_and_then(stage: Scene) -> None:
    stage.print("lscpu.txt", ["lscpu"])
    stage.start(["sh", "-c", "for i in $(seq 60); do /bin/true; sleep 0.1; done"])
    stage.print("vmstat-s.txt", ["vmstat", "-s"])
    _watched(stage, "vmstat", seconds=5)
    stage.finish()
    stage.print("vmstat-s.txt", ["vmstat", "-s"])


def semaphores(stage: Scene) -> None:
    needs("ipcmk", "ipcs", "ipcrm")
    stage.start(["sh", "-c", "ipcmk -S 32; ipcmk -S 17; ipcmk -M 8388608; ipcmk -Q"]).wait(timeout=10)
    stage.print("ipcs.txt", ["ipcs", "-a"])
    stage.print("sysctl.txt", ["sysctl", "kernel.sem"])
    run(["sh", "-c", "ipcrm --all"])


def sockets_of_everybody(stage: Scene) -> None:
    """Make many connections in TIME-WAIT and some open; nobody waits."""
    needs("ss", "netstat")
    stage.start(
        stage.script(
            "many.py",
            """
            import socket, threading, time
            s = socket.socket(); s.bind(("127.0.0.1", 9000)); s.listen(128)
            kept = []
            def serve():
                while True:
                    c, _ = s.accept()
                    kept.append(c)
            threading.Thread(target=serve, daemon=True).start()
            for n in range(60):
                c = socket.create_connection(("127.0.0.1", 9000))
                if n % 4:
                    c.close(); kept.pop().close() if kept else None
                else:
                    kept.append(c)
            time.sleep(20)
        """,
        )
    )
    time.sleep(1.5)
    stage.print("ss.txt", ["ss", "-tan"])
    stage.print("ss-listen.txt", ["ss", "-ltn"])
    stage.print("netstat.txt", ["netstat", "-an"])


HEALTHY = (
    Healthy("machine-vmstat-idle", "A machine with little to do, by vmstat, with the line since boot.", vmstat_idle, calm=True),
    Healthy("machine-mpstat-idle", "A machine with little to do, processor by processor.", mpstat_idle, calm=True),
    Healthy("machine-iostat-idle", "A disk with little to do.", iostat_idle, calm=True),
    Healthy("machine-sar-idle", "A machine with little to do, by sar.", sar_idle, calm=True),
    Healthy("machine-one-busy", "One program computes on one of two processors.", one_busy, calm=True),
    Healthy("machine-disk-writer", "A program writes 24 MB and flushes it, twice a second.", writer, calm=True),
    Healthy("machine-memory", "Memory tables of a machine with plenty of it.", memory),
    Healthy("machine-page-cache", "Reading a file has filled the page cache: less is free, nothing is short.", page_cache),
    Healthy("machine-network-idle", "Counters of a network nobody uses, twice.", network_idle, said=ELSEWHERE),
    Healthy("machine-ping", "Twenty echoes on the loopback.", loopback),
    Healthy("machine-settings", "Settings as the distribution made them.", settings),
    Healthy("machine-processes", "A list of processes that mostly sleep.", processes, calm=True),
    Healthy("machine-cache-warm", "A program has filled its cache and does not grow any more.", growing_a_little),
    Healthy("machine-few-forks", "A shell starts a small program ten times a second.", forks_now_and_then, calm=True),
    Healthy("machine-ipc", "Some semaphores, a shared segment and a queue that nobody fights over.", semaphores),
    Healthy("machine-sockets", "Many closed connections still known, an empty accept queue.", sockets_of_everybody),
)  # fmt: skip
