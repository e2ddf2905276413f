"""Healthy recordings of nginx, Java, Python and the system's tools: waits by design, harmless errors, intended forks."""

from __future__ import annotations

import time

from lab.incident import ELSEWHERE, Healthy
from lab.scene import Scene, needs
from lab.servers import BROWSER, children, java, nginx, run


def _visits(stage: Scene, n: int, pause: float, how: str = "close") -> None:
    stage.start([*stage.script("browser.py", BROWSER), str(n), str(pause), how])


def web_idle(stage: Scene) -> None:
    stage.attach("strace.txt", nginx(stage), 3)


def web_worker(stage: Scene) -> None:
    master = nginx(stage)
    _visits(stage, 60, 0.05)
    time.sleep(0.3)
    stage.attach("strace.txt", children(master)[-1], 2.5)


def web_counters(stage: Scene) -> None:
    needs("sar", "mpstat", "iostat")
    nginx(stage)
    stage.print("lscpu.txt", ["lscpu"])
    _visits(stage, 4000, 0.004)
    time.sleep(0.5)
    stage.watch("vmstat.txt", ["vmstat", "-w", "1", "8"])
    stage.watch("mpstat.txt", ["mpstat", "-P", "ALL", "1", "6"])
    stage.watch("iostat.txt", ["iostat", "-x", "1", "5"])
    stage.watch("sar.txt", ["sar", "-u", "-q", "-w", "1", "6"])
    stage.finish()


def web_sockets(stage: Scene) -> None:
    """Use a new connection for each visit: many are in TIME-WAIT, none is refused."""
    needs("ss", "nstat", "netstat", "lsof")
    master = nginx(stage)
    stage.print("nstat.txt", ["nstat", "-az"])
    _visits(stage, 150, 0.01)
    time.sleep(4)
    stage.print("nstat.txt", ["nstat", "-az"])
    stage.print("ss.txt", ["ss", "-ltn"])
    stage.print("ss-all.txt", ["ss", "-tan"])
    stage.print("lsof.txt", ["lsof", "-nP", "-p", str(children(master)[0])])


def web_packets(stage: Scene) -> None:
    needs("tcpdump")
    nginx(stage)
    stage.watch(
        "tcpdump.txt", ["timeout", "4", "tcpdump", "-i", "lo", "-nn", "-tttt", "-c", "200", "tcp", "port", "8080"]
    )
    time.sleep(1)
    _visits(stage, 12, 0.05)
    stage.finish()


def web_client(stage: Scene) -> None:
    nginx(stage)
    stage.traced(
        "strace.txt",
        [*stage.script("browser.py", BROWSER), "6", "0.02", "keep"],
        ("-e", "trace=%network,close,clock_nanosleep"),
    )


POOL = """
import java.util.concurrent.*;
public class Pool {
    public static void main(String[] a) throws Exception {
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(4);
        for (int i = 0; i < 4; i++)
            pool.scheduleAtFixedRate(() -> { double x = 0; for (int k = 0; k < 20000; k++) x += Math.sqrt(k); if (x < 0) System.out.println(x); },
                                     100L * i, 500, TimeUnit.MILLISECONDS);
        Thread.sleep(Long.parseLong(a[0]));
        pool.shutdownNow();
    }
}
"""


def java_pool(stage: Scene) -> None:
    argv = java(stage, "Pool", POOL)
    process = stage.start([*argv, "15000"])
    time.sleep(3)
    stage.attach(
        "strace.txt", process.pid, 2, ("-e", "trace=futex,restart_syscall,clock_nanosleep,clone3,madvise,mmap,munmap")
    )


def java_tables(stage: Scene) -> None:
    needs("jstack", "pmap", "top")
    process = stage.start([*java(stage, "Pool", POOL), "25000"])
    time.sleep(3)
    stage.print("jstack.txt", ["jstack", str(process.pid)])
    stage.print("pmap.txt", ["pmap", "-x", str(process.pid)])
    stage.print("top.txt", ["top", "-H", "-b", "-n", "1", "-p", str(process.pid)])
    stage.print("pidstat.txt", ["pidstat", "-t", "-u", "-p", str(process.pid), "1", "2"])


def java_starts(stage: Scene) -> None:
    stage.traced("totals.txt", [*java(stage, "Pool", POOL), "300"], ("-c",))


def python_starts(stage: Scene) -> None:
    """Start Python, whose imports look for modules in many places where they are not."""
    program = stage.script("starts.py", "import json, socket, subprocess, email\n")
    stage.traced("strace.txt", program, ("-e", "trace=execve,openat,read,newfstatat,mmap,brk"))


def python_pool(stage: Scene) -> None:
    """Run three idle workers that wait for the fourth to finish its work."""
    program = stage.script(
        "pool.py",
        """
        import queue, threading, time
        q, done = queue.Queue(), queue.Queue()
        def work():
            while (n := q.get()) is not None:
                done.put(sum(range(n)))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for n in range(10):
            q.put(200000); time.sleep(0.05)
        for _ in threads:
            q.put(None)
        for t in threads:
            t.join()
    """,
    )
    stage.traced("strace.txt", program, ("-e", "trace=futex,clone,clone3,clock_nanosleep,exit,exit_group"))


def pipeline(stage: Scene) -> None:
    """Run a pipeline, in which each program waits for the previous one."""
    stage.traced(
        "strace.txt",
        ["sh", "-c", "seq 20000 | sort -n | tail -3"],
        ("-e", "trace=%process,read,write,pipe2,dup2,close"),
    )


def heartbeat(stage: Scene) -> None:
    """Run a daemon that works once a second and sleeps in between."""
    program = stage.script(
        "beats.py",
        """
        import os, time
        for n in range(5):
            fd = os.open("/tmp/beat", os.O_WRONLY | os.O_CREAT | os.O_TRUNC); os.write(fd, b"alive"); os.close(fd)
            time.sleep(1.0)
        os.unlink("/tmp/beat")
    """,
    )
    stage.traced("strace.txt", program)


def quiet_server(stage: Scene) -> None:
    """Run a server whose clients come every two seconds; it waits for them in poll."""
    program = stage.script(
        "server.py",
        """
        import selectors, socket, threading, time
        s = socket.socket(); s.bind(("127.0.0.1", 9100)); s.listen(16)
        def visit():
            for _ in range(3):
                time.sleep(2.0)
                c = socket.create_connection(("127.0.0.1", 9100)); c.sendall(b"ping"); c.recv(16); c.close()
        threading.Thread(target=visit).start()
        sel = selectors.PollSelector(); sel.register(s, selectors.EVENT_READ)
        for _ in range(3):
            sel.select()
            c, _ = s.accept(); c.sendall(c.recv(16)); c.close()
    """,
    )
    stage.traced("strace.txt", program, ("-e", "trace=%network,poll,clone,clone3,clock_nanosleep,exit_group"))


def both_families(stage: Scene) -> None:
    """Connect to an IPv6 address that is refused at once, then to a second one that answers."""
    nginx(stage)
    program = stage.script(
        "families.py",
        """
        import socket
        for family, host in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1")):
            c = socket.socket(family)
            try:
                c.connect((host, 8080))
            except OSError:
                continue
            c.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n"); c.recv(9000)
    """,
    )
    stage.traced("strace.txt", program)


def workers(stage: Scene) -> None:
    """Run a parent that starts four workers once and waits for them while they compute."""
    program = stage.script(
        "workers.py",
        """
        import os
        pids = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                sum(range(3000000)); os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)
    """,
    )
    stage.traced("strace.txt", program, ("-e", "trace=%process,%signal"))


def shared_memory(stage: Scene) -> None:
    program = stage.script(
        "segment.py",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.shmat.restype = ctypes.c_void_p; libc.shmdt.argtypes = [ctypes.c_void_p]
        for size in (1 << 20, 8 << 20):
            i = libc.shmget(0, size, 0o600); a = libc.shmat(i, None, 0); ctypes.memset(a, 1, size); libc.shmdt(a); libc.shmctl(i, 0, None)
    """,
    )
    stage.traced("strace.txt", program)


def takes_turns(stage: Scene) -> None:
    """Run two processes that pass a semaphore to each other; neither waits long."""
    program = stage.script(
        "turns.py",
        """
        import ctypes, os
        libc = ctypes.CDLL(None)
        class Op(ctypes.Structure):
            _fields_ = [("num", ctypes.c_ushort), ("op", ctypes.c_short), ("flg", ctypes.c_short)]
        s = libc.semget(0, 2, 0o600)
        def op(n, v):
            o = Op(n, v, 0); libc.semop(s, ctypes.byref(o), 1)
        child = os.fork()
        for _ in range(30):
            if child:
                op(0, 1); op(1, -1)
            else:
                op(0, -1); op(1, 1)
        if child:
            os.waitpid(child, 0); libc.semctl(s, 0, 0)
        else:
            os._exit(0)
    """,
    )
    stage.traced("strace.txt", program, ("-e", "trace=semget,semop,semtimedop,semctl,fork,clone,wait4,exit_group"))


def looks_up(stage: Scene) -> None:
    """Look up names that the machine knows itself: files are read and give the answer."""
    stage.traced("strace.txt", ["sh", "-c", "getent ahosts localhost; getent passwd nobody; getent services http"])


def searches(stage: Scene) -> None:
    stage.traced(
        "strace.txt",
        ["grep", "-rl", "Copyright", "/usr/share/doc/tzdata", "/usr/share/doc/sysstat", "/usr/share/doc/strace"],
    )


def packs(stage: Scene) -> None:
    command = ["tar", "czf", str(stage.work / "doc.tgz"), "-C", "/usr/share/doc", "sysstat", "strace"]
    stage.traced("strace.txt", command, ("-e", "trace=%process,openat,read,write,close,pipe2"))


def builds(stage: Scene) -> None:
    needs("gcc")
    source = stage.work / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n', encoding="ascii")
    stage.traced("totals.txt", ["gcc", "-O1", "-o", str(stage.work / "hello"), str(source)], ("-c",))
    stage.traced(
        "strace.txt", ["gcc", "-O1", "-o", str(stage.work / "hello"), str(source)], ("-e", "trace=%process,pipe2")
    )


def computes(stage: Scene) -> None:
    """Run a program that computes: all its samples are its own work."""
    needs("perf")
    data = str(stage.work / "perf.data")
    program = stage.script(
        "primes.py", "print(sum(all(n % d for d in range(2, int(n ** .5) + 1)) for n in range(60000)))\n"
    )
    run(["perf", "record", "-e", "cpu-clock", "-F", "99", "-g", "-o", data, *program])
    stage.print(
        "perf.txt", ["perf", "report", "--stdio", "--no-children", "--percent-limit", "3", "-g", "none", "-i", data]
    )
    stage.print(
        "stat.txt", ["sh", "-c", f"perf stat -e task-clock,context-switches,page-faults {' '.join(program)} 2>&1"]
    )


def timed(stage: Scene) -> None:
    stage.print("time.txt", ["sh", "-c", "( time -p sleep 0.3 ) 2>&1; ( time -p seq 200000 >/dev/null ) 2>&1"])


def alarms(stage: Scene) -> None:
    """Run a program that uses a timer of twenty ticks per second."""
    program = stage.script(
        "ticks.py",
        """
        import signal
        signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        for _ in range(40):
            signal.pause()
    """,
    )
    stage.traced("strace.txt", program)


HEALTHY = (
    Healthy("nginx-idle", "nginx without visitors.", web_idle, said=ELSEWHERE),
    Healthy("nginx-asked", "A worker of nginx serves a page now and then.", web_worker, said=ELSEWHERE),
    Healthy("nginx-at-work", "nginx serves some two hundred pages a second.", web_counters, calm=True),
    Healthy("nginx-sockets", "A connection for each page: many in TIME-WAIT, none refused.", web_sockets),
    Healthy("nginx-packets", "A dozen visits on the wire.", web_packets, said=ELSEWHERE),
    Healthy("nginx-client", "A client fetches six pages over one connection.", web_client),
    Healthy("java-pool", "Four threads of a Java program work twice a second and wait in between.", java_pool, said=ELSEWHERE),
    Healthy("java-tables", "Stacks, memory and threads of a Java program that mostly waits.", java_tables),
    Healthy("java-starts", "Totals of a short Java program.", java_starts),
    Healthy("python-starts", "Python looks for its modules.", python_starts),
    Healthy("python-pool", "Four threads take work from a queue.", python_pool),
    Healthy("shell-pipeline", "Three programs in a pipe.", pipeline),
    Healthy("python-heartbeat", "A daemon that has something to do every second.", heartbeat),
    Healthy("python-quiet-server", "A server whose clients come every two seconds.", quiet_server, said=ELSEWHERE),
    Healthy("python-both-families", "IPv6 refused at once, IPv4 answers.", both_families),
    Healthy("python-workers", "A parent waits for four workers that compute.", workers),
    Healthy("python-segments", "Two shared segments are attached and detached.", shared_memory),
    Healthy("python-semaphores", "Two processes pass a semaphore to each other.", takes_turns),
    Healthy("python-names", "Names, users and services that the machine knows itself.", looks_up),
    Healthy("grep-files", "grep reads some files.", searches),
    Healthy("tar-packs", "tar packs two folders through gzip.", packs),
    Healthy("gcc-builds", "A compiler starts its parts one after the other.", builds),
    Healthy("python-computes", "A profile of a program that computes.", computes),
    Healthy("shell-timed", "Two commands timed.", timed),
    Healthy("python-ticks", "Twenty ticks a second that a program wants.", alarms),
)  # fmt: skip
