"""Healthy recordings of PostgreSQL and Redis, idle and at work."""

from __future__ import annotations

import subprocess
import time

from lab.incident import ELSEWHERE, Healthy
from lab.scene import Scene, needs, plain
from lab.servers import ASKER, REDIS_PORT, named, postgres, redis, run

CALLS = (
    "-e",
    "trace=%network,read,write,pread64,pwrite64,fsync,fdatasync,epoll_wait,futex,openat,clone,clone3,wait4,kill",
)


def _backend(stage: Scene, server_sql: str, seconds: float) -> int:
    """Open a session that runs a statement and stays open; return its server process."""
    server = postgres(stage)
    talk = f"( echo 'select 1;'; sleep 2; echo \"{server_sql}\"; sleep {seconds} ) | {' '.join(server.client('psql', '-q'))}"
    stage.start(["sh", "-c", talk])
    time.sleep(1.0)
    return named("postgres: postgres postgres 127.0.0.1")


def pg_idle_backend(stage: Scene) -> None:
    stage.attach("strace.txt", _backend(stage, "select count(*) from pg_class;", 8), 4)


def pg_background(stage: Scene) -> None:
    server = postgres(stage)
    server.sql("create table t as select generate_series(1, 2000) as id")
    for name in ("checkpointer", "background writer", "walwriter"):
        stage.attach(f"strace-{name.split(' ', maxsplit=1)[0]}.txt", named(f"postgres: {name}"), 3)


def pg_query_client(stage: Scene) -> None:
    server = postgres(stage)
    server.sql("create table t as select generate_series(1, 20000) as id")
    stage.traced("strace.txt", server.client("psql", "-c", "select count(*) from t", "-c", "select sum(id) from t"))


def pg_scan_cached(stage: Scene) -> None:
    pid = _backend(stage, "select sum(length(md5(i::text))) from generate_series(1, 60000) i;", 4)
    stage.attach("strace.txt", pid, 3)


def pg_commits(stage: Scene) -> None:
    server = postgres(stage, "synchronous_commit=on")
    server.bench("-i", "-q", "-s", "1", "postgres")
    stage.start(server.client("pgbench", "-c", "1", "-R", "15", "-T", "9", "-n", "postgres"))
    time.sleep(1.5)
    stage.attach("strace.txt", named("postgres: postgres postgres 127.0.0.1"), 2, CALLS)


def pg_bench_counters(stage: Scene) -> None:
    needs("iostat", "pidstat", "mpstat")
    server = postgres(stage)
    server.bench("-i", "-q", "-s", "2", "postgres")
    time.sleep(1)
    stage.print("lscpu.txt", ["lscpu"])
    stage.start(server.client("pgbench", "-c", "4", "-R", "80", "-T", "12", "-n", "postgres"))
    time.sleep(1)
    stage.watch("vmstat.txt", ["vmstat", "-w", "1", "8"])
    stage.watch("mpstat.txt", ["mpstat", "-P", "ALL", "1", "6"])
    stage.watch("iostat.txt", ["iostat", "-x", "1", "6"])
    stage.watch("pidstat.txt", ["pidstat", "-u", "-d", "1", "3"])
    stage.finish()


def pg_tables(stage: Scene) -> None:
    needs("lsof", "ss", "pmap", "ipcs")
    pid = _backend(stage, "select 1;", 8)
    stage.print("ps.txt", ["ps", "-u", "postgres", "-o", "pid,ppid,user,stat,rss,vsz,pcpu,etimes,nlwp,comm"])
    stage.print("pmap.txt", ["pmap", "-x", str(pid)])
    stage.print("ipcs.txt", ["ipcs", "-m"])
    stage.print("lsof.txt", ["lsof", "-nP", "-p", str(pid)])
    stage.print("ss.txt", ["ss", "-tan"])


def pg_connects(stage: Scene) -> None:
    """Run thirty timed connects one after the other: a few milliseconds each, without an outlier at a timeout step."""
    postgres(stage)
    times = stage.work / "connects.txt"
    program = stage.script(
        "connects.py",
        f"""
        import socket, struct, time
        lines = []
        for _ in range(40):
            began = time.monotonic()
            c = socket.create_connection(("127.0.0.1", 5432))
            told = b"user\\0postgres\\0database\\0postgres\\0\\0"
            c.sendall(struct.pack("!ii", 8 + len(told), 196608) + told)
            got = b""
            while not got.endswith(b"I") or b"Z" not in got[-6:]:
                got += c.recv(4096)
            lines.append(time.monotonic() - began)
            c.close(); time.sleep(0.05)
        open({str(times)!r}, "w").write("".join(f"time elapsed : {{s:.4f}}\\n" for s in lines))
    """,
    )
    stage.start(program).wait(timeout=40)
    stage.keep("connects.txt", str(times))


def pg_parallel(stage: Scene) -> None:
    """Run a parallel query: leader and workers wait for each other by design."""
    server = postgres(stage, "min_parallel_table_scan_size=0", "parallel_setup_cost=0", "parallel_tuple_cost=0")
    server.sql("create table t as select i, md5(i::text) as s from generate_series(1, 60000) i")
    talk = f"( sleep 2; echo 'set max_parallel_workers_per_gather = 2; select count(distinct s) from t;'; sleep 3 ) | {' '.join(server.client('psql', '-q'))}"
    stage.start(["sh", "-c", talk])
    time.sleep(1.0)
    stage.attach("strace.txt", server.pid, 3.5, CALLS)


def pg_postmaster(stage: Scene) -> None:
    """Let the postmaster accept connections and fork for each, as designed."""
    server = postgres(stage)
    stage.start(
        [
            "sh",
            "-c",
            f"sleep 1; for i in 1 2 3 4; do {' '.join(server.client('psql', '-q', '-c', 'select'))}; sleep 0.3; done",
        ]
    )
    stage.attach("strace.txt", server.pid, 4, ("-e", "trace=%process,%network,epoll_wait,wait4,rt_sigreturn,close"))


def pg_profile(stage: Scene) -> None:
    needs("perf")
    server = postgres(stage, "max_parallel_workers_per_gather=0")
    stage.start(
        [
            "sh",
            "-c",
            f"{' '.join(server.client('psql'))} -c 'select sum(length(md5(i::text))) from generate_series(1, 9000000) i'",
        ]
    )
    time.sleep(2)
    data, pid = str(stage.work / "perf.data"), named("postgres: postgres postgres 127.0.0.1")
    run(["perf", "record", "-e", "cpu-clock", "-F", "99", "-g", "-o", data, "-p", str(pid), "--", "sleep", "3"])
    stage.print(
        "perf.txt", ["perf", "report", "--stdio", "-g", "caller,0.5,callee", "--percent-limit", "2", "-i", data]
    )


def pg_totals(stage: Scene) -> None:
    server = postgres(stage)
    stage.traced("totals.txt", server.client("psql", "-c", "select count(*) from pg_class"), ("-c",))


def _client(stage: Scene, n: int, pause: float) -> subprocess.Popen[bytes]:
    return stage.start([*stage.script("asker.py", ASKER), str(n), str(pause)])


def redis_idle(stage: Scene) -> None:
    stage.attach("strace.txt", redis(stage), 4)


def redis_asked(stage: Scene) -> None:
    pid = redis(stage)
    _client(stage, 200, 0.02)
    time.sleep(0.5)
    stage.attach("strace.txt", pid, 2)


def redis_saves(stage: Scene) -> None:
    """Run a background save: a fork of a parent that holds 30 MB."""
    needs("redis-cli")
    pid = redis(stage)
    ask = ["redis-cli", "-p", str(REDIS_PORT)]
    run([*ask, "debug", "populate", "100000", "key", "200"])
    run([*ask, "config", "set", "save", ""])
    stage.start(["sh", "-c", f"sleep 1; {' '.join(ask)} bgsave"])
    stage.attach(
        "strace.txt", pid, 3, ("-e", "trace=%process,%signal,%network,read,epoll_wait,fsync,fdatasync,rename,wait4")
    )


def redis_log(stage: Scene) -> None:
    """Run with an append-only file that is flushed once a second."""
    pid = redis(stage, "--appendonly", "yes", "--appendfsync", "everysec")
    _client(stage, 120, 0.04)
    stage.attach("strace.txt", pid, 4)


def redis_counters(stage: Scene) -> None:
    needs("vmstat", "mpstat", "pidstat")
    redis(stage)
    stage.print("lscpu.txt", ["lscpu"])
    _client(stage, 20000, 0.0008)
    time.sleep(0.5)
    stage.watch("vmstat.txt", ["vmstat", "-w", "1", "8"])
    stage.watch("mpstat.txt", ["mpstat", "-P", "ALL", "1", "6"])
    stage.watch("pidstat.txt", ["pidstat", "-u", "-w", "1", "3"])
    stage.finish()


def redis_network(stage: Scene) -> None:
    needs("ss", "nstat", "lsof", "pmap")
    pid = redis(stage)
    stage.print("nstat.txt", ["nstat", "-az"])
    _client(stage, 2000, 0.001)
    time.sleep(3)
    stage.print("nstat.txt", ["nstat", "-az"])
    stage.print("ss.txt", ["ss", "-tn"])
    stage.print("pmap.txt", ["pmap", "-x", str(pid)])
    stage.print("lsof.txt", ["lsof", "-nP", "-p", str(pid)])


def redis_client(stage: Scene) -> None:
    redis(stage)
    stage.traced(
        "strace.txt", [*stage.script("asker.py", ASKER), "100", "0.002"], ("-e", "trace=%network,clock_nanosleep")
    )


def sqlite_commits(stage: Scene) -> None:
    """Run a program that commits a dozen times; the disk takes a millisecond or a few for each."""
    program = stage.script(
        "ledger.py",
        """
        import sqlite3, sys
        c = sqlite3.connect(sys.argv[1]); c.execute("create table t (a)")
        for n in range(12):
            c.execute("insert into t values (?)", (n,)); c.commit()
    """,
    )
    argv = [*program, str(stage.work / "ledger.db")]
    subprocess.run([*argv[:-1], str(stage.work / "warm.db")], check=False, capture_output=True, env=plain(), timeout=30)
    stage.traced("strace.txt", argv, ("-e", "trace=openat,read,pread64,pwrite64,fsync,fdatasync,unlink,fcntl"))


HEALTHY = (
    Healthy("postgres-idle-session", "A session that waits for its client, asks once and waits again.", pg_idle_backend, said=ELSEWHERE),
    Healthy("postgres-background", "Checkpointer and writers of an idle PostgreSQL.", pg_background, said=ELSEWHERE),
    Healthy("postgres-psql", "psql asks two quick questions.", pg_query_client),
    Healthy("postgres-computes", "A session computes a sum of hashes.", pg_scan_cached),
    Healthy("postgres-commits", "Fifteen commits a second, each flushed to the disk.", pg_commits, said=ELSEWHERE),
    Healthy("postgres-at-work", "Eighty small transactions a second.", pg_bench_counters, calm=True),
    Healthy("postgres-tables", "Processes, memory, files and sockets of an idle PostgreSQL.", pg_tables),
    Healthy("postgres-connects", "Forty connects in a row.", pg_connects, said=ELSEWHERE),
    Healthy("postgres-parallel", "A parallel query with two workers.", pg_parallel, said=ELSEWHERE),
    Healthy("postgres-postmaster", "The postmaster forks a process for each of four connections.", pg_postmaster, said=ELSEWHERE),
    Healthy("postgres-profile", "A profile of a session that computes hashes.", pg_profile),
    Healthy("postgres-totals", "Totals of psql's system calls.", pg_totals),
    Healthy("redis-idle", "Redis without clients looks around ten times a second.", redis_idle, said=ELSEWHERE),
    Healthy("redis-asked", "Redis answers fifty questions a second.", redis_asked, said=ELSEWHERE),
    Healthy("redis-saves", "Redis forks to save what it holds.", redis_saves, said=ELSEWHERE),
    Healthy("redis-appends", "Redis flushes its log once a second.", redis_log, said=ELSEWHERE),
    Healthy("redis-at-work", "Redis answers a thousand questions a second.", redis_counters, calm=True),
    Healthy("redis-network", "Network counters, sockets, memory and files of a busy Redis.", redis_network),
    Healthy("redis-client", "A client asks a hundred times and pauses in between.", redis_client),
    Healthy("sqlite-commits", "Twelve commits of SQLite.", sqlite_commits),
)  # fmt: skip
