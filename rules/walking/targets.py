"""What a system call was about: a file, a peer, the name service, a lock, a child. From the call itself, else from its
descriptor.

A descriptor is followed, per process, from the call that made it (open, accept, connect, pipe, dup) to the next call
that makes it again; for descriptors older than a child process, its parent's are used. What no line shows stays
unknown: a target is never guessed.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables, nanoseconds
from rules.walking.threads import DONE_S, EXEC_NAMES, EXIT_NAMES, FORK_NAME, SUCCEEDED

KINDS: Final = (
    "name service", "socket", "connect", "accept", "pipe", "file", "sync", "child", "lock", "sleep", "poll", "process", "memory", "ipc",
    "other",
)  # fmt: skip
"""Every value of `kind`.

`poll` is a wait on several or unknown descriptors; a poll on a single known descriptor gets the kind of that
descriptor.
"""

NAME_SERVICE_PATH = (
    r"(?i)(^|/)(nscd|sssd?|nslcd|lwresd|winbindd|unscd|avahi-daemon|systemd/resolve|name_service_door)(/|$|\W)"
    r"|io\.systemd\.(Resolve|DynamicUser|Multiplexer)"
)
"""Paths of sockets and doors behind which a local daemon answers for users, groups and hosts."""

NAME_SERVICE_PORTS = (53, 389, 636, 111, 5353)

POLLS = [
    "poll",
    "ppoll",
    "select",
    "pselect",
    "pselect6",
    "_newselect",
    "pollsys",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "port_getn",
    "port_get",
    "kevent",
]
ACCEPTS = ["accept", "accept4", "naccept"]
LOCKS = [
    "futex",
    "futex_time64",
    "lwp_park",
    "lwp_mutex_timedlock",
    "lwp_mutex_lock",
    "lwp_cond_wait",
    "umtx_op",
    "_umtx_op",
    "thread_wait",
    "ulock_wait",
]
FILE_LOCKS = (pl.col("name") == "flock") | (
    pl.col("name").str.starts_with("fcntl") & pl.col("args").str.contains("F_(OFD_)?SETLKW")
)
SLEEPS = [
    "nanosleep",
    "clock_nanosleep",
    "clock_nanosleep_time64",
    "lwp_sema_timedwait",
    "nsleep",
    "_nsleep",
    "sleep",
    "pause",
    "sigtimedwait",
    "rt_sigtimedwait",
    "sigsuspend",
    "rt_sigsuspend",
]
CHILDREN = ["wait4", "waitid", "waitpid", "waitsys", "kwaitpid", "kwaitid", "wait"]
SYNCS = ["fsync", "fdatasync", "fdsync", "sync", "syncfs", "sync_file_range", "msync", "fsync_range"]
MEMORY = [
    "brk",
    "mmap",
    "mmap64",
    "mmap2",
    "munmap",
    "mprotect",
    "madvise",
    "mremap",
    "memcntl",
    "mlock",
    "mlockall",
    "shmat",
    "shmdt",
    "shmget",
    "shmctl",
]
IPC = [
    "semop",
    "semtimedop",
    "semsys",
    "semctl",
    "semget",
    "msgrcv",
    "msgsnd",
    "msgsys",
    "msgget",
    "mq_timedreceive",
    "mq_timedsend",
]
DOORS = ["door_call", "door", "doorfs"]

UNKNOWN_LOCK = "lock at an unknown address"
"""Target of a call for a lock whose address the trace does not tell."""

CPU_TIME = "processor time"
"""Target of a clock that counts the processor time of a thread or process."""

READS_CPU_TIME = pl.col("name").str.starts_with("clock_gettime") & pl.col("args").str.contains(
    r"^(CLOCK_(THREAD|PROCESS)_CPUTIME_ID|make_(thread|process)_cpuclock|-[0-9]|0xf{8})"
)
"""Reads of such a clock: by its name, or by a number below 0, which holds a process or thread (clock_getcpuclockid(3))."""

OPENS = ["open", "openat", "openat2", "open64", "openat64", "creat", "creat64", "kopen"]
COPIES = ["dup", "dup2", "dup3"]
MAKERS = [
    *OPENS,
    *ACCEPTS,
    *COPIES,
    "connect",
    "socket",
    "so_socket",
    "socketpair",
    "pipe",
    "pipe2",
    "epoll_create",
    "epoll_create1",
    "eventfd",
    "eventfd2",
    "timerfd_create",
    "inotify_init",
    "inotify_init1",
    "signalfd4",
    "memfd_create",
    "port_create",
]

ONE_FD = r"^\s*\[?\{fd=(\d+)[^{}]*\}\]|^\s*\d+, \[(\d+)\]"
"""Matches a poll or select over one descriptor, as strace prints it."""

ANNOTATED = r"^\s*\d+<"
"""Matches the beginning of arguments whose descriptor strace -y or -yy says what it is."""

CALL = [*PLACE_COLUMNS, "pid", "lwp", "line_no", "t_local", "stamp", "dur_hi_s", "name", "fd", "fd2", "path", "peer_ip", "peer_port", "ret", "err",
        "args", "arg_id", "arg_addr", "state"]  # fmt: skip
"""Columns that `with_targets` needs."""

ONLY = -1
"""Stands for the process of a trace that names none: it has only one."""

OWNER = ["artifact_id", "domain", "pid"]

WHAT, SIDE = pl.Enum(["file", "pipe", "socket", "other"]), pl.Enum(["server", "client"])
DOMAIN = pl.col("clock").fill_null("").alias("domain")


def _address() -> pl.Expr:
    return pl.when(pl.col("peer_ip").is_not_null()).then(
        pl.concat_str(
            "peer_ip",
            pl.when(pl.col("peer_port").is_not_null()).then(pl.format(":{}", "peer_port")).otherwise(pl.lit("")),
        )
    )


UNIX_PATH = pl.col("args").str.extract(r'sun_path=@?"([^"]*)"|AF_UNIX\s+name = (\S+)')


def makers(case: CaseTables) -> pl.DataFrame:
    """Return what each descriptor was made for: one row per maker, sorted by time; `what` and `of` as in
    `with_targets`. In a trace without any stamp the lines stand for the time.
    """
    names = pl.col("name").is_in(MAKERS) & (SUCCEEDED | (pl.col("name") == "connect"))
    stamped = pl.col("t_local").is_not_null()
    timed = case.scan("syscalls", ["artifact_id"], stamped).unique().collect(engine="streaming")["artifact_id"]
    untimed = ~pl.col("artifact_id").is_in(timed.implode())
    rows = case.scan("syscalls", CALL, names & (stamped | untimed)).with_columns(
        pl.when(stamped).then(nanoseconds(DONE_S)).otherwise("line_no").alias("done_ns"), DOMAIN
    )
    plain = rows.filter(~pl.col("name").is_in(COPIES)).select(
        *OWNER, "done_ns",
        pl.when(pl.col("name").is_in(["connect", "pipe", "pipe2", "socketpair"])).then("fd").otherwise("ret").alias("made"),
        pl.when(pl.col("name").is_in(OPENS)).then(pl.lit("file")).when(pl.col("name").str.starts_with("pipe")).then(pl.lit("pipe"))
        .when(pl.col("name").is_in([*ACCEPTS, "connect", "socket", "so_socket", "socketpair"])).then(pl.lit("socket")).otherwise(pl.lit("other"))
        .cast(WHAT).alias("what"),
        pl.coalesce(_address(), UNIX_PATH, "path").alias("of"),
        pl.when(pl.col("name").is_in(ACCEPTS)).then(pl.lit("server")).when(pl.col("name") == "connect").then(pl.lit("client")).cast(SIDE).alias("side"),
        "line_no",
        pl.when(pl.col("name").is_in(["pipe", "pipe2", "socketpair"])).then("fd2").alias("second"),
    ).collect(engine="streaming")  # fmt: skip
    second = plain.filter(pl.col("second").is_not_null()).with_columns(pl.col("second").alias("made"))
    made = pl.concat([plain, second]).filter(pl.col("made") >= 0).drop("second").sort("done_ns", "line_no")
    del plain, second
    copies = (
        rows.filter(pl.col("name").is_in(COPIES))
        .select(*OWNER, "done_ns", "line_no", pl.col("ret").alias("made"), pl.col("fd").alias("from"))
        .collect(engine="streaming")
        .sort("done_ns", "line_no")
    )
    if copies.height and made.height:
        copied = copies.join_asof(
            made.rename({"made": "from"}).drop("line_no"), on="done_ns", by=[*OWNER, "from"], strategy="backward", check_sortedness=False
        ).filter(pl.col("what").is_not_null()).select(made.columns)  # fmt: skip
        made = pl.concat([made, copied]).sort("done_ns", "line_no")
    return made


def with_targets(rows: pl.DataFrame, made: pl.DataFrame, births: pl.DataFrame) -> pl.DataFrame:
    """Add `kind`, `target`, `side` and `conv` to rows that have CALL and `done_ns`.

    `kind` is one of KINDS; `target` is a path, address, pid, lock or `CPU_TIME` (NULL if unknown); `side` is server or client;
    `conv` is the line of the descriptor's own maker (NULL if not seen). `births` is a data frame of `proc_tree`.
    """
    one = pl.col("args").str.extract_groups(ONE_FD)
    polled = pl.when(pl.col("name").is_in(POLLS)).then(
        pl.coalesce(one.struct.field("1"), one.struct.field("2")).cast(pl.Int64, strict=False)
    )
    rows = rows.with_columns(pl.coalesce("fd", polled).alias("on_fd"), DOMAIN).with_row_index("_row")
    near = made.join(_family(rows, births), on=["artifact_id", "pid"], how="semi", nulls_equal=True)
    known = _known(rows, near, births)
    rows = _annotated(rows.join(known, on="_row", how="left", maintain_order="left"))
    # The next step uses each of these several times, so they become columns first.
    rows = rows.with_columns(
        pl.coalesce("path", pl.when(pl.col("what") != "socket").then("of")).alias("_path"),
        pl.coalesce(_address(), UNIX_PATH, pl.when(pl.col("what") == "socket").then("of")).alias("_address"),
        FILE_LOCKS.fill_null(value=False).alias("_locks_file"),
    )
    name, path, address, locks_file = pl.col("name"), pl.col("_path"), pl.col("_address"), pl.col("_locks_file")
    looked = (
        address.str.contains(NAME_SERVICE_PATH) | path.str.contains(NAME_SERVICE_PATH) | pl.col("peer_port").is_in(NAME_SERVICE_PORTS)
        | pl.col("of").str.contains(rf":({'|'.join(map(str, NAME_SERVICE_PORTS))})$")
    ).fill_null(value=False)  # fmt: skip
    several = name.is_in(POLLS) & pl.col("on_fd").is_null()
    address_lock = (
        pl.when(pl.col("arg_addr").is_not_null())
        .then(pl.format("lock at {}", "arg_addr"))
        .otherwise(pl.lit(UNKNOWN_LOCK))
    )
    kind = (
        pl.when(looked | name.is_in(DOORS)).then(pl.lit("name service"))
        .when(name == "connect").then(pl.lit("connect"))
        .when(name.is_in(ACCEPTS)).then(pl.lit("accept"))
        .when(name.is_in(CHILDREN)).then(pl.lit("child"))
        .when(name.is_in(LOCKS) | locks_file).then(pl.lit("lock"))
        .when(name.is_in(SLEEPS) | (several & pl.col("args").str.contains(r"^(NULL|0x0+|0), (0|NULL)\b"))).then(pl.lit("sleep"))
        .when(several).then(pl.lit("poll"))
        .when(name.is_in(SYNCS)).then(pl.lit("sync"))
        .when(name.is_in(IPC)).then(pl.lit("ipc"))
        .when(name.is_in(MEMORY)).then(pl.lit("memory"))
        .when(name.is_in([*EXEC_NAMES, *EXIT_NAMES]) | name.str.contains(FORK_NAME)).then(pl.lit("process"))
        .when(pl.col("what").is_in(["socket", "pipe"])).then("what")
        .when(pl.col("peer_ip").is_not_null() | name.str.contains(r"^(so_)?(recv|send)")).then(pl.lit("socket"))
        .when(path.is_not_null() | (pl.col("what") == "file")).then(pl.lit("file"))
        .when(name.is_in(POLLS)).then(pl.lit("poll"))
        .otherwise(pl.lit("other"))
    )  # fmt: skip
    rows = rows.with_columns(kind.alias("kind"))
    kind = pl.col("kind")
    child = pl.coalesce(*(pl.when(pl.col(c) > 0).then(c) for c in ("arg_id", "ret")))
    on_file = pl.format("lock on {}", pl.coalesce(path, pl.lit("a file")))
    held = pl.when(locks_file).then(on_file).otherwise(address_lock)
    target = (
        pl.when(kind == "child").then(pl.format("pid {}", child)).when(kind == "lock").then(held)
        .when(kind.is_in(["name service", "socket", "connect", "accept"])).then(pl.coalesce(address, path))
        .when(kind.is_in(["file", "sync", "process"])).then(path)
        .when(READS_CPU_TIME).then(pl.lit(CPU_TIME))
    )  # fmt: skip
    return rows.with_columns(target.alias("target"), child.alias("waited_pid")).drop(
        "_row", "what", "of", "domain", "_path", "_address", "_locks_file"
    )


def _annotated(rows: pl.DataFrame) -> pl.DataFrame:
    """Fill `what` and `of` of descriptors without a known maker from the annotation of strace -y: `3</dev/sda>`."""
    args = pl.col("args")
    if rows["args"].dtype != pl.String or not rows["args"].str.contains(ANNOTATED).any():
        return rows
    path, peer = (
        args.str.extract(rf"{ANNOTATED}(/[^<>]*)"),
        args.str.extract(rf"{ANNOTATED}(?:TCP|UDP)(?:v6)?:\[[^<>]*->([^<>]+)\]>"),
    )
    what = (
        pl.when(path.is_not_null()).then(pl.lit("file"))
        .when(args.str.contains(rf"{ANNOTATED}pipe:\[")).then(pl.lit("pipe"))
        .when(args.str.contains(rf"{ANNOTATED}(?:TCP|UDP|UNIX|socket|NETLINK)\w*[-:]")).then(pl.lit("socket"))
    )  # fmt: skip
    unknown = pl.col("what").is_null()
    return rows.with_columns(
        pl.when(unknown).then(what.cast(WHAT)).otherwise("what").alias("what"),
        pl.when(unknown).then(pl.coalesce(path, peer)).otherwise("of").alias("of"),
    )


def _family(rows: pl.DataFrame, births: pl.DataFrame) -> pl.DataFrame:
    """Return the processes of some rows and the processes whose descriptors they inherit: parents and their parents."""
    parents = births.select("artifact_id", "pid", "ppid")
    level = rows.select("artifact_id", "pid").unique()
    found = [level]
    for _ in range(2):
        level = (
            level.join(parents, on=["artifact_id", "pid"]).select("artifact_id", pl.col("ppid").alias("pid")).unique()
        )
        found.append(level)
    return pl.concat(found).unique()


def _known(rows: pl.DataFrame, made: pl.DataFrame, births: pl.DataFrame) -> pl.DataFrame:
    """Return, per row with a descriptor, what it was made for by its own process, else by the parent before the birth.

    Goes up two generations.
    """
    pid = pl.col("pid").fill_null(ONLY)
    asked = rows.filter(pl.col("on_fd").is_not_null()).select("_row", *OWNER, "on_fd", "done_ns").sort("done_ns")
    asked = asked.with_columns(pid)
    maker = made.rename({"made": "on_fd", "line_no": "conv"}).with_columns(pid)
    family = (
        births.filter(pl.col("t_fork").is_not_null())
        .with_columns(DOMAIN)
        .select(*OWNER, "ppid", nanoseconds(pl.col("t_fork")).alias("born_ns"))
    )
    family = family.unique(OWNER, keep="last", maintain_order=True)
    found: list[pl.DataFrame] = []
    for _ in range(3):
        if asked.is_empty():
            break
        hit = asked.join_asof(maker, on="done_ns", by=[*OWNER, "on_fd"], strategy="backward", check_sortedness=False)
        found.append(hit.filter(pl.col("what").is_not_null()).select("_row", "what", "of", "side", "conv"))
        asked = (
            hit.filter(pl.col("what").is_null()).select("_row", *OWNER, "on_fd", "done_ns").join(family, on=OWNER)
            .with_columns(pl.col("ppid").alias("pid"), pl.min_horizontal("done_ns", "born_ns").alias("done_ns"))
            .select("_row", *OWNER, "on_fd", "done_ns").sort("done_ns")
        )  # fmt: skip
    empty = {"_row": pl.UInt32, "what": pl.String, "of": pl.String, "side": pl.String, "conv": pl.Int64}
    return pl.concat(found) if found else pl.DataFrame(schema=empty)
