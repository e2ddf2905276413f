r"""Open descriptors of processes: pfiles, procfiles, lsof, ls -l /proc/PID/fd.

Tools: pfiles(1) of Solaris and illumos, procfiles(1) -n and -nc of AIX, lsof(8) of any system (with or without -n -P, TID and TASKCMD columns),
`ls -l /proc/PID/fd` of Linux. Capture: `pfiles PID`, `lsof -nP -p PID`, `ls -l /proc/PID/fd`.

Samples::

    2767:   ora_smon_QPROD
      13: S_IFSOCK mode:0666 dev:543,0 ino:29174 uid:0 gid:0 size:0
            sockname: AF_INET 10.1.1.2  port: 1521
            peername: AF_INET 10.1.1.1  port: 40000
    tnslsnr 4711 oracle   13u  IPv4  29174      0t0  TCP 10.1.1.2:1521->10.1.1.1:40000 (ESTABLISHED)
    lrwx------ 1 oracle dba 64 Jun 10 09:00 13 -> socket:[29174]

Tables: fdmap, sockets (lsof: TCP with its state). `type`: file, directory, socket, pipe, door, device, port, anon. Clock: none; wall-local under marks.
Traps: a descriptor of pfiles has several lines, of which only the first always exists; the row ends with the last of them. lsof's rows
without a descriptor number (cwd, txt, mem) have `fd` NULL. lsof's SIZE/OFF is a size (`size_b`, of files), or with `0t` an
offset. Sockets of /proc/PID/fd show only an inode; `ss -e` shows its address. The process of `ls -l /proc/PID/fd` is known
only from the path above it. Names that ls quotes, and listings that lost their indent, are read. Known gaps: fstat (BSD), lsof -F, Linux fdinfo.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import grid
from parsers.columns.endpoints import address, port
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

PROCESS = r"^[ \t]{0,12}(?:core '[^']*' of )?([0-9]{1,10})[ \t]*:[ \t]+([^ \t].*)$"
PFILE = r"^[ \t]*([0-9]{1,7}): (S_IF[A-Z]+)[ \t]*(.*)$"
PFILE_MORE = (
    r"^[ \t]*(?:O_|SO_|SOCK_|sockname:|peername:|peer:|door |offset:|/|FD_CLOEXEC|advisory|mandatory|congestion control|name:|AF_|"
    r"Current rlimit|Current soft|[a-z]{4,9} lock set by)"
)
COLUMNS_HEAD = r"^[ \t]*FD[ \t]+TYPE[ \t]+MODE[ \t]+DEV/RDEV[ \t]"
COLUMNS = (
    r"^[ \t]*([0-9]{1,7})[ \t]+([-bcdlps])[ \t]+[rwxsStT-]{9}[ \t]+[0-9]+, ?[0-9]+(?:\([0-9]+, ?[0-9]+\))?[ \t]+[^ \t]+[ \t]+[^ \t]+[ \t]+"
    r"[A-Z][A-Z|-]*(?:[ \t]+(/.*))?$"
)
LIMIT = r"^[ \t]*Current (?:rlimit|soft limit)[: ]"
LSOF_HEAD = r"^[ \t]*COMMAND[ \t]+PID[ \t].*\bFD[ \t]+TYPE\b"
LSOF = (
    r"^([^ \t]+)[ \t]+([0-9]+)[ \t]+(?:([0-9]+)[ \t]+(?:([^ \t]+)[ \t]+)?)?([^ \t]+)[ \t]+"
    r"((?:[0-9]+[a-zA-Z]?[a-zA-Z]?)|cwd|txt|rtd|mem|DEL|NOFD|err|jld|ltx|"
    r"pd|ctty|mmap|L[0-9]+|m[0-9]+|tr)[ \t]+([A-Za-z0-9]{3,9})[ \t]+(.*)$"
)
LSOF_ELSE = r"^lsof: WARNING|^[ \t]+Output information may be incomplete|[ \t]NOFD[ \t]+[^ \t]+ \(opendir: "
STATE = r"TCP[ \t]+[^ \t(]+[ \t]+\(([A-Z][A-Z0-9_]+)\)"
"""State behind the ends of a connection."""
SIZE = r"^[0-9a-fx]+,[0-9a-fx]+[ \t]+([0-9]+)[ \t]"
"""Size behind the device of a file."""
PROC_FD = r"^[lc-][rwxst-]{9}[.+@]?[ \t]+[0-9]+[ \t]+([^ \t]+)[ \t]+[^ \t]+[ \t]+[0-9]+[ \t]+[^/>]*?[ \t]([0-9]+) -> ([^ \t].*)$"
PROC_ELSE = r"^(?:total [0-9]+|d[rwxst-]{9}[.+@]?[ \t].*[ \t]\.\.?)$"
PROC_DIR = r"^/proc/([0-9]+)/fd/?:$"

_TYPES = {
    "S_IFREG": "file",
    "S_IFDIR": "directory",
    "S_IFSOCK": "socket",
    "S_IFIFO": "pipe",
    "S_IFDOOR": "door",
    "S_IFCHR": "device",
    "S_IFBLK": "device",
    "S_IFPORT": "port",
    "REG": "file",
    "VREG": "file",
    "DIR": "directory",
    "VDIR": "directory",
    "IPv4": "socket",
    "IPv6": "socket",
    "inet": "socket",
    "unix": "socket",
    "sock": "socket",
    "systm": "socket",
    "FIFO": "pipe",
    "PIPE": "pipe",
    "DOOR": "door",
    "CHR": "device",
    "VCHR": "device",
    "BLK": "device",
    "a_inode": "anon",
    "KQUEUE": "anon",
    "-": "file",
    "b": "device",
    "c": "device",
    "d": "directory",
    "p": "pipe",
    "s": "socket",
    "netlink": "socket",
    "raw": "socket",
    "pack": "socket",
}

_SYSTEMS = {
    "pfiles": (("solaris", "illumos", "aix"), "pfiles(1), procfiles(1)", "pfiles PID",
               (PFILE, r"^[ \t]*(?:O_RDWR|O_RDONLY|O_WRONLY|sockname:|peername:)", COLUMNS_HEAD, COLUMNS)),
    "lsof": (("linux", "solaris", "aix", "freebsd", "macos", "hpux"), "lsof(8)", "lsof -nP -p PID", (LSOF_HEAD, LSOF)),
    "proc": (("linux",), "proc(5)", "ls -l /proc/PID/fd", (PROC_FD, PROC_DIR)),
}  # fmt: skip
FORMATS = tuple(
    Format(
        "fdmap",
        variant,
        "2",
        systems,
        ("fdmap", "sockets") if variant == "lsof" else ("fdmap",),
        man,
        example,
        clocks=("none", "wall-local"),
        own="(?:" + "|".join(own) + ")",
    )
    for variant, (systems, man, example, own) in _SYSTEMS.items()
)


def claim(head: Head) -> Claim | None:
    """Claim by descriptors of pfiles, the header or rows of lsof, or links of a descriptor directory."""
    text = head.text
    if "S_IF" in text:
        rows = sum(1 for x in head.lines if re.match(PFILE, x))
        more = sum(1 for x in head.lines if re.match(PFILE_MORE, x) or re.match(PROCESS, x))
        if rows and (rows + more) * 2 > len([x for x in head.lines if x]):
            return Claim(0.97, f"{rows} descriptors of pfiles", "pfiles")
    filled = [x for x in head.lines[:300] if x]
    for number, line in enumerate(filled[:50], start=1):
        if re.match(COLUMNS_HEAD, line):
            return Claim(0.97, f"header of procfiles -c in line {number}", "pfiles")
        if re.match(LSOF_HEAD, line):
            return Claim(0.97, f"header of lsof in line {number}", "lsof")
    if " -> " in text:
        rows = sum(1 for x in filled if re.match(PROC_FD, x))
        if rows and rows * 2 > len(filled) and re.search(r" -> '?(?:socket:\[|pipe:\[|anon_inode:|/dev/)", text):
            return Claim(0.95, f"{rows} links of a descriptor directory", "proc")
    if not any(re.match(LSOF, x[:200]) for x in filled[:4]):
        return None
    rows = sum(1 for x in filled if (m := re.match(LSOF, x)) and m[7] in _TYPES)
    if rows > 1 and rows * 3 > len(filled) * 2:
        return Claim(0.85, f"{rows} rows of lsof", "lsof")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the process and the open descriptor."""
    reader = {"pfiles": _pfiles, "lsof": _lsof, "proc": _proc}[state["variant"]]
    for frame in grid.frames(source):
        frame = marked(frame, out, state).filter(~pl.col("is_mark"))
        rows = reader(frame, source, out, state)
        if rows is not None and len(rows):
            out.add("fdmap", rows)
    if source.last and state.get("open"):
        out.add("fdmap", _finished(_loaded(state.pop("open"))))
    return state


_LINES = {"line_no": pl.Int64, "t_local": pl.Float64, "line": pl.String}


def _loaded(rows: list[list[object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={**_LINES, "pid": pl.Int64, "comm": pl.String}, orient="row")


def _pfiles(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame | None:
    """Join the lines of a descriptor into one row; those at the end of a block wait in the state for their continuation."""
    line = pl.col("line")
    is_row = line.str.contains(PFILE)
    is_process = line.str.contains(PROCESS) & ~is_row
    frame = frame.with_columns(
        pid=pl.when(is_process).then(line.str.extract(PROCESS, 1).cast(pl.Int64, strict=False)),
        comm=pl.when(is_process).then(line.str.extract(PROCESS, 2).str.extract(r"^([^ ]+)").str.extract(r"([^/]+)$")),
    )
    frame = frame.with_columns(
        pl.col("pid").forward_fill().fill_null(pl.lit(state.get("pid"), pl.Int64)),
        pl.col("comm").forward_fill().fill_null(pl.lit(state.get("comm"), pl.String)),
    )
    known = line.str.contains(LIMIT) | line.str.contains(COLUMNS_HEAD) | line.str.contains(r"^[ \t]*-{20,}$")
    out.read(frame.filter(is_process | known)["line_no"])
    if len(frame):
        state |= {"pid": frame["pid"][-1], "comm": frame["comm"][-1]}
    short = _columns(frame)
    mine = frame.filter(is_row | (line.str.contains(PFILE_MORE) & ~line.str.contains(LIMIT)))
    mine = mine.select(*_LINES, "pid", "comm")
    # Account for lines of a descriptor where they stand, in whichever run their row is written.
    before = _loaded(state.get("open", []))
    both = pl.concat([before, mine])
    if both.is_empty():
        return short
    groups = both.with_columns(group=line.str.contains(PFILE).cum_sum())
    out.read(groups.filter(pl.col("group") > 0)["line_no"])
    groups = groups.filter(pl.col("group") > 0)
    if groups.is_empty():
        return short
    last = groups["group"][-1]
    tail = groups.filter(pl.col("group") == last).head(40)
    state["open"] = [list(r) for r in tail.drop("group").iter_rows()]
    long = _finished(groups.filter(pl.col("group") < last).drop("group"))
    return pl.concat([long, short], how="diagonal").sort("line_no")


def _columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows of procfiles -c, where a descriptor is one line."""
    line = pl.col("line")
    return frame.filter(line.str.contains(COLUMNS)).select(
        "line_no",
        "t_local",
        "pid",
        "comm",
        line_end="line_no",
        sample=pl.lit(1, pl.Int64),
        fd=line.str.extract(COLUMNS, 1).cast(pl.Int64, strict=False),
        type=line.str.extract(COLUMNS, 2).replace(_TYPES),
        path=line.str.extract(COLUMNS, 3),
    )


def _finished(lines: pl.DataFrame) -> pl.DataFrame:
    """Join the lines of descriptors into rows."""
    line = pl.col("line")
    named = lines.with_columns(group=line.str.contains(PFILE).cum_sum())
    path = line.str.extract(r"^[ \t]*(/.*)$")
    sock = line.str.extract(r"^[ \t]*sockname: AF_INET6? (.*)$")
    peer = line.str.extract(r"^[ \t]*peername: AF_INET6? (.*)$")
    unix = line.str.extract(r"^[ \t]*sockname: AF_UNIX (.*)$")
    where, at = r"^(?:::ffff:)?([^ ]+)", r"port: ([0-9]+)"
    return (
        named.group_by("group", maintain_order=True)
        .agg(
            pl.col("line_no").first(),
            line_end=pl.col("line_no").last(),
            t_local=pl.col("t_local").first(),
            pid=pl.col("pid").first(),
            comm=pl.col("comm").first(),
            fd=line.first().str.extract(PFILE, 1).cast(pl.Int64, strict=False),
            type=line.first().str.extract(PFILE, 2).replace(_TYPES),
            path=pl.coalesce(
                path.drop_nulls().first(),
                unix.drop_nulls().first(),
                line.str.extract(r"[ \t]name:(/.*)$").drop_nulls().first(),
            ),
            local_ip=sock.drop_nulls().first().str.extract(where),
            local_port=sock.drop_nulls().first().str.extract(at).cast(pl.Int64, strict=False),
            peer_ip=peer.drop_nulls().first().str.extract(where),
            peer_port=peer.drop_nulls().first().str.extract(at).cast(pl.Int64, strict=False),
            offset=line.str.extract(r"^[ \t]*offset: ?([0-9]+)").drop_nulls().first().cast(pl.Int64, strict=False),
        )
        .drop("group")
        .with_columns(sample=pl.lit(1, pl.Int64))
    )


def _lsof(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    head = line.str.contains(LSOF_HEAD)
    frame = frame.with_columns(sample=grid.counted(head, state))
    grid.carry(frame, state)
    out.read(frame.filter(head | line.str.contains(LSOF_ELSE))["line_no"])
    names = ["comm", "pid", "tid", "task", "user", "fd_text", "kind", "rest"]
    rows = (
        frame.filter(line.str.contains(LSOF) & ~head)
        .with_columns(line.str.extract_groups(LSOF).struct.rename_fields(names).alias("g"))
        .unnest("g")
    )
    rest = pl.col("rest")
    # DEVICE SIZE/OFF NODE NAME, each of which may be blank: the name is recognised by how it begins.
    name = rest.str.extract(
        r"((?:/|\[|\*:|(?:[0-9]{1,3}\.){3}[0-9]{1,3}:|[a-z0-9_.-]+\.[a-z0-9_.-]+:|localhost:|pipe|type=|socket|->|protocol:|anon_inode|eventpoll|can't|inotify|eventfd).*)$"
    )
    # Remove a remark of lsof that is not part of the path: `/lib/libc.so (path dev=0,80)`.
    name = name.str.replace(r" \(path (?:dev|inode)=[^()]*\)$", "")
    inet = pl.col("kind").is_in(["IPv4", "IPv6", "inet"])
    pair = rest.str.extract(r"(?:TCP|UDP|SCTP)[ \t]+([^ \t(]+)")
    local, peer = pair.str.extract(r"^(.*?)(?:->|$)"), pair.str.extract(r"->(.*)$")
    rows = rows.with_columns(sample=pl.max_horizontal("sample", pl.lit(1, pl.Int64)))
    standing = rows.select(
        "line_no",
        "t_local",
        "comm",
        "sample",
        pid=pl.col("pid").cast(pl.Int64, strict=False),
        proto=pl.lit("tcp"),
        state=rest.str.extract(STATE),
        local_ip=address(local),
        local_port=port(local),
        peer_ip=address(peer),
        peer_port=port(peer),
    ).drop_nulls("state")
    if len(standing):
        out.add("sockets", standing)
    return rows.select(
        "line_no",
        "t_local",
        "comm",
        "sample",
        pid=pl.col("pid").cast(pl.Int64, strict=False),
        fd=pl.col("fd_text").str.extract(r"^([0-9]+)").cast(pl.Int64, strict=False),
        type=pl.col("kind").replace(_TYPES),
        path=pl.when(~inet).then(name),
        local_ip=address(local),
        local_port=port(local),
        peer_ip=address(peer),
        peer_port=port(peer),
        offset=rest.str.extract(r"(?:^|[ \t])0t([0-9]+)[ \t]").cast(pl.Int64, strict=False),
        size_b=pl.when(pl.col("kind").is_in(["REG", "VREG"]))
        .then(rest.str.extract(SIZE))
        .cast(pl.Float64, strict=False),
    )


def _proc(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    path = re.search(r"/proc/([0-9]+)/fd", source.hints.command or "")
    first = state.get("pid", int(path[1]) if path else None)
    frame = frame.with_columns(
        pid=line.str.extract(PROC_DIR).cast(pl.Int64, strict=False).forward_fill().fill_null(pl.lit(first, pl.Int64))
    )
    if len(frame):
        state["pid"] = frame["pid"][-1]
    out.read(frame.filter(line.str.contains(PROC_DIR) | line.str.contains(PROC_ELSE))["line_no"])
    to = line.str.extract(PROC_FD, 3).str.replace(r"^'(.*)'$", "${1}")  # on a terminal ls quotes names with brackets
    kind = (
        pl.when(to.str.starts_with("socket:"))
        .then(pl.lit("socket"))
        .when(to.str.starts_with("pipe:"))
        .then(pl.lit("pipe"))
        .when(to.str.starts_with("anon_inode:"))
        .then(pl.lit("anon"))
        .when(to.str.starts_with("/dev/"))
        .then(pl.lit("device"))
        .when(to.str.starts_with("/"))
        .then(pl.lit("file"))
    )
    return frame.filter(line.str.contains(PROC_FD)).select(
        "line_no",
        "t_local",
        "pid",
        sample=pl.lit(1, pl.Int64),
        fd=line.str.extract(PROC_FD, 2).cast(pl.Int64, strict=False),
        type=kind,
        path=to,
    )
