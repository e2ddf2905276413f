r"""Text of no known tool: facts that need no knowledge of the tool.

Tools: any that no other format recognises, and texts written by people. Capture: any.

Samples::

    2024-01-02 03:04:05,678 ERROR pool: connection refused
    max_connections = 100
    Free buffers       1024
    NAME      CPU(cores)   MEMORY(bytes)
    "worker-1" #12 prio=5 os_prio=0 tid=0x00007f nid=0x1a03 waiting on condition [0x00007f]

Tables: logs (source text) of lines that begin with a stamp or in which a program complains; params (scope text) of
settings and words, counters (grp text, mode level) of figures, both with the title above them as entity or item; rows
(a heading and its cells; a record of psql or MySQL, one cell per line; a function of a list of pprof, cProfile or node
--prof; a line of InnoDB's monitor, of an executed query plan or of the status of a unit, under the report's name);
profile_stacks (source text, weight 1) of threads of Java (jstack, jcmd, management beans, javacore), Go, Python,
py-spy, gdb, lldb, mdb, crash, .NET, Windows, Ruby, PHP, of the kernel, and of glog and abseil below a line about a
stuck thread (addresses and names), and the call trees of sample (macOS, event sample).
Clock: that of the first stamp, wall-utc for epochs and stamps with an offset, else wall-local.
Traps: the meaning of the lines is unknown, so rules and derived tables do not see these rows (`rules/case/case.py`).
Sentences, quotations (`> `), a mail's header and signature, and lines below words of advice give no rows. Prompts end a
paragraph. A date alone on its line is the time of the lines below it.
Stamps without a year (klog, syslog) count from 1 January. An uptime counts from the start, and so do the stamps of the
garbage collectors of Go (gctrace), V8 (trace-gc) and Java (PrintGCTimeStamps); logfmt has its stamp in a field. Before
a stamp may stand a severity with a thread (logback), the number of a process (Redis, NATS, Sybase) or the container
(docker compose).
Rows of a table of events, and of objects in a bad state (Exited (137)), give rows of logs too. A step that nslookup,
dig, resolvectl or traceroute prints is a row of logs with its elapsed time; so are the units of systemd-analyze and the
percentiles of load tests.
An answer of dig, nslookup, host or resolvectl about a name is a row under "name look-up".
A number alone below a command (`lsof -p 4711 | wc -l`) is a counter of grp command under its name. Lines of
/proc/interrupts and /proc/stat are counters of mode total, with the processor as item; `wc -l /proc/PID/maps` is one of
mode level, with the process.
Sockets of /proc/net/udp and /proc/net/tcp give their drops (total) and the bytes that wait (level). Rules of packet
filters (iptables -vnL, iptables-save -c, nft list ruleset, ipfw show) are counters of grp filter: packets and bytes by
chain, number, action and match.
The dates of a certificate are params NotBefore and NotAfter with their seconds. The totals of commands that Redis
prints (cmdstat_get:calls=900,usec=4500) are counters with the command as item; an entry of its slow log (SLOWLOG GET)
or of LATENCY LATEST is a line of a log with its elapsed time.
A figure that a tool of Windows, macOS, BSD or HP-UX prints in one line (netstat -m, vmstat -z, lanadmin, LatencyMon,
pathping, w32tm, pmset -g therm), or a tool of file servers, disks and adapters (nfsiostat, iostat -En, fcstat, vmstat
-i, filemon), is a row under "system report"; a row of a list of Windows' events is a row of logs without a time.
An entry of a JSON log (with `msg` or `message`) is a row of logs, also behind a container's name or where its end is cut
off. Figures with labels in the format of Prometheus are counters of grp metrics, or metrics since the start, with the
labels as item.
Known gaps: tables without a heading; records of several lines other than stacks.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from parsers.declarations import Claim, Format
from parsers.formats.general.text import reports
from parsers.formats.general.text.gated import gates_of
from parsers.formats.general.text.paragraphs import Paragraphs, Row
from parsers.formats.general.text.reports import SERVICE_LINES
from parsers.kinds import kind_of
from parsers.tables.rows import Domain, State, Tables
from parsers.text.prose import sentences
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, wall_seconds

_SYSTEMS = ("solaris", "linux", "aix", "hpux", "windows", "macos")
_TABLES = ("logs", "params", "counters", "rows", "profile_stacks")
_CLOCKS = ("wall-local", "wall-utc", "boot-relative", "none")
FORMATS = (
    Format(
        kind="text",
        variant="plain",
        version="1",
        systems=_SYSTEMS,
        tables=_TABLES,
        man="",
        example="docker stats --no-stream",
        clocks=_CLOCKS,
    ),
    Format(
        kind="text",
        variant="service",
        version="1",
        systems=("linux",),
        tables=("rows", "logs", "params", "counters", "profile_stacks"),
        man="systemctl(1)",
        example="systemctl status --no-pager docker.service",
        clocks=_CLOCKS,
        own=SERVICE_LINES,
    ),
)

LEAST_LINES = 2
"""Minimum number of lines about a unit: its name and its state."""

PIECE = 4_000
"""Number of rows after which they are written: a row as a Python object takes 1 kB, and a block may hold 100,000."""

GENERAL = True
"""This format reads what no format claims."""

STRANGE = 2_000
"""Maximum number of lines of another format's part that are read as text."""

ALONE = "a line of another program stands here: read as plain text"

_NEVER_WRITTEN = r"^[ \t]*$|^[\[(<]?[0-9]{2,4}[-/.:][0-9]|^[ \t]+at |^[ \t]*[\w.-]+[=:]|[ \t]{3,}\S"
"""Lines that are certainly no sentences, so that they are not tested."""

_TYPES: dict[str, dict[str, pl.DataType]] = {
    "logs": {
        "t_local": pl.Float64(),
        "line_end": pl.Int64(),
        "severity": pl.String(),
        "code": pl.String(),
        "program": pl.String(),
        "op": pl.String(),
        "elapsed_s": pl.Float64(),
        "ok": pl.Boolean(),
    },
    "params": {"t_local": pl.Float64(), "entity": pl.String(), "num": pl.Float64()},
    "counters": {"t_local": pl.Float64(), "item": pl.String(), "unit": pl.String(), "sample": pl.Int64()},
    "rows": {"t_local": pl.Float64(), "line_end": pl.Int64()},
    "profile_stacks": {
        **{name: pl.Int64() for name in ("pid", "lwp")},
        **{name: pl.String() for name in ("event", "comm", "leaf", "state", "waits_for", "held_by")},
        **{name: pl.Float64() for name in ("waited_s", "cpu_s", "age_s")},
        "frames": pl.List(pl.String()),
        "frame_lines": pl.List(pl.Int64()),
        "holds": pl.List(pl.String()),
    },
}
"""Types of columns that may be empty in a whole block."""


def claim(head: Head) -> Claim | None:
    """Claim the status of a systemd unit with its journal lines; text that no format claims is read here as well."""
    units = head.fitting(SERVICE_LINES)
    if not any(reports.is_unit(line) for line in units) or len(units) < LEAST_LINES:
        return None
    return Claim(0.9, f"{len(units)} lines about units of systemd", "service")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` is that of `Paragraphs`."""
    reader = Paragraphs(state)
    for block in source.blocks():
        lines = block.frame["line"]
        numbers = block.frame["line_no"].to_list()
        for no, line, written, groups in zip(numbers, lines.to_list(), _written(lines), gates_of(lines), strict=True):
            reader.take(no, line, written, groups)
            if sum(map(len, reader.rows.values())) >= PIECE:
                _give(reader, source, out)
        _give(reader, source, out)
    reader.end_run(source.last)
    _give(reader, source, out)
    return reader.state


def take_strange(source: Source, out: Tables) -> None:
    """Read the lines that a run's own format did not understand as plain text: another program may have printed them.

    The line account stays as it is, because the format does not know these lines. At most STRANGE lines are tried. Rows
    get no time, because the lines belong to another clock. Only tables, stacks and durations give rows: `name: value`
    may be half of a cut record, unless the format's tool runs a program.
    """
    texts = dict(source.texts(out.strange()[:STRANGE]))
    reader = Paragraphs({})
    lines = pl.Series(texts.values(), dtype=pl.String)
    for (no, line), written, groups in zip(texts.items(), _written(lines), gates_of(lines), strict=True):
        if no - 1 not in texts:
            reader.end_paragraph()
        reader.take(no, line, written, groups)
    reader.end_run(True)
    of_program = kind_of(source.hints.kind).runs_program
    taken: set[int] = set()
    for table, found in reader.rows.items():
        if table in ("params", "counters") and not of_program:
            continue
        frame = pl.DataFrame(found, schema_overrides=_TYPES[table], infer_schema_length=None)
        if table == "logs":  # other complaints of a program are found in the notes by an observer
            frame = frame.filter(pl.col("elapsed_s").is_not_null())
        out.add(table, frame.drop("t_local", strict=False), span="none")
        taken.update(frame["line_no"])
    if taken:
        words = f"lines of another program stand here and below ({len(taken):,}): read as plain text"
        out.note(min(taken), min(taken), "remark", words if len(taken) > 1 else ALONE)


def _written(lines: pl.Series) -> list[bool]:
    """Return which lines are sentences."""
    made = np.zeros(len(lines), np.bool_)
    index = np.flatnonzero(~lines.str.contains(_NEVER_WRITTEN).to_numpy())
    if len(index):
        made[index] = sentences(lines.gather(index))["prose"].to_numpy()
    written: list[bool] = made.tolist()
    return written


def _give(reader: Paragraphs, source: Source, out: Tables) -> None:
    """Move the rows, lines and remarks that `reader` has collected so far to `out`, and report the clock."""
    rows, reader.rows = reader.rows, {}
    clock = reader.state.get("clock")
    of_day = clock in ("time-of-day", "no-year", "uptime")
    base = None
    if source.hints.date and clock != "uptime":
        year, *rest = map(int, source.hints.date.split("-"))
        base = wall_seconds(year, 1, 1) if clock == "no-year" else wall_seconds(year, *rest)
    for table, found in rows.items():
        frame = pl.DataFrame(found, schema_overrides=_TYPES[table], infer_schema_length=None)
        if of_day and base is not None and "t_local" in frame.columns:
            frame = frame.with_columns(pl.col("t_local") + base)
            rows[table] = frame.select("line_no", "t_local").to_dicts()
        out.add(table, frame, span="ends" if table == "profile_stacks" else "all")
    out.read(reader.read)
    out.account("prose", reader.prose)
    for no, text in reader.remarks:
        out.note(no, no, "remark", text)
    reader.read, reader.prose, reader.remarks = [], [], []
    _report_clock(rows, reader.state, source, out, dated=not of_day or base is not None)


def _report_clock(rows: dict[str, list[Row]], state: State, source: Source, out: Tables, *, dated: bool) -> None:
    timed = [(row["line_no"], t) for found in rows.values() for row in found if (t := row.get("t_local")) is not None]
    if not timed:
        return
    lines, times = [no for no, _ in timed], [t for _, t in timed]
    utc = state["clock"] == "wall-utc"
    zone = "UTC" if utc else source.hints.tz
    kind = "wall-utc" if utc else "boot-relative" if state["clock"] == "uptime" else "wall-local"
    ends = [(min(lines), max(lines))]
    out.domain(Domain(1, kind, WALL_BASE if dated else None, zone, min(times), max(times), ends))
