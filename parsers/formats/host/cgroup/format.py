r"""Control groups: limits, usage, throttling, events and pressure of cgroup v1 and v2; pressure of the whole host.

Files: cpu.stat, cpu.max, cpu.weight, io.stat, io.max, memory.max, .high, .low, .min, .current, .peak, .stat, .events, swap files, pids.max,
.current, *.pressure (v2); /proc/pressure/*; cpu.stat, cpu.cfs_quota_us, cpu.cfs_period_us, cpu.shares, memory.limit_in_bytes,
.usage_in_bytes, .failcnt, blkio.throttle.* (v1); cpuset.cpus and .mems. Capture: `grep . /sys/fs/cgroup/PATH/*` (prints the file's name on each line),
`tail -n +1 FILES`, or `cat FILE` with its prompt.

Samples::

    /sys/fs/cgroup/system.slice/db.service/cpu.stat:nr_throttled 4711
    ==> /sys/fs/cgroup/db/cpu.max <==
    200000 100000
    8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0
    8:16 rbps=2097152 wbps=max riops=max wiops=120
    /sys/fs/cgroup/blkio/db/blkio.throttle.io_service_bytes:8:16 Write 314773504
    /sys/fs/cgroup/blkio/db/blkio.throttle.write_bps_device:8:16 4194304
    some avg10=0.12 avg60=0.05 avg300=0.01 total=123456
    /proc/pressure/cpu:some avg10=0.12 avg60=0.05 avg300=0.01 total=123456
    $ cat /proc/pressure/{cpu,irq,memory}

Tables: counters (grp cgroup, item = path of the group, for io.stat with the device after it; names of memory.events and of pressure
begin with their file; pressure of /proc/pressure has the names of a group's files, without an item), params (scope cgroup, entity = path
of the group; `num` of cpuset.cpus is how many processors the list names). Clock: none; wall-local under marks.
Traps: `max` means that there is no limit: `num` is NULL. `num` of cpu.max is cores (quota / period). throttled_usec (v2) is microseconds,
throttled_time (v1) nanoseconds: see `unit`. memory.stat of v1 also has totals that include the children (`total_...`). A value alone
(`max`, `200000 100000`) means nothing without the file's name: it is read only below a name, a mark or a prompt with `cat FILE` (one value
under one prompt is not recognised); any other prompt ends what the file's name covers. One prompt may name several pressure files, by
braces, a glob or one after another: the next file begins at `some`, or at a second `full` (pressure of interrupts has no `some`). Pressure
without a file's name has no total that could grow: the next line may be of another file. The group is the file's directory, else the
directory of pwd or cd. v1 prints 2^63 less a page for no limit, also in memory.stat: a row of params without a number.
Known gaps: hugetlb, other files of cpuset, rdma, memory.numa_stat (lines are recognised, figures are not stored).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import counter_rows, grid
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_FILE = (
    r"(?:cpu|memory|io|pids|blkio|cpuacct)\.(?:stat(?:\.local)?|max(?:\.burst)?|weight|pressure|high|low|min|current|peak|events(?:\.local)?|"
    r"swap\.(?:max|current|high|events|peak)|cfs_quota_us|cfs_period_us|shares|limit_in_bytes|usage_in_bytes|max_usage_in_bytes|failcnt|"
    r"soft_limit_in_bytes|memsw\.[a-z_]+|kmem\.(?:tcp\.)?(?:max_usage_in_bytes|usage_in_bytes|limit_in_bytes|failcnt)|oom_control|usage|idle|throttle\.(?:io_service_bytes|io_serviced|(?:read|write)_(?:bps|iops)_device))"
    r"|cpuset\.(?:cpus|mems)(?:\.effective)?|cpuset\.effective_(?:cpus|mems)"
    r"|irq\.pressure|pressure/(?:cpu|memory|io|irq)"
)
HOST = r"^pressure/(.*)$"
"""A file of /proc/pressure, which has for the whole host the figures that cpu.pressure has for a group."""
PREFIXED = rf"^((?:[^ \t:]*/)?)({_FILE}):(.*)$"
OTHER = (
    r"^(?:[^ \t:]*/)?(?:cgroup\.[a-z_.]+|memory\.(?:numa_stat|move_charge_at_immigrate|swappiness|use_hierarchy|pressure_level|force_empty|"
    r"kmem\.slabinfo|oom\.group|reclaim)|cpu\.(?:rt_[a-z_]+|uclamp\.(?:min|max))|(?:cpuset|hugetlb|rdma|misc|freezer|pids|cpuacct)\.[A-Za-z0-9_.]+|"
    r"notify_on_release|release_agent|tasks):"
    r"|^(?:grep|cat): [^ \t:]*(?:memory|cgroup|cpu|cpuset|io|blkio|pids)\.[a-z_.]+: [A-Z]"
)
"""Lines of other files of a group, and errors of grep and cat: recognised, but their figures are not stored."""
MARKED = rf"^(?:==> |[^\t]*[$#%>] ?(?:sudo )?cat )((?:[^ \t]*/)?)({_FILE})(?: <==)?[ \t]*$"
"""Line that names the file of the lines below: printed by head and tail for several files, or a prompt with `cat FILE`."""
PROMPT = r"^==> .* <==[ \t]*$|[$#%>] ?(?:sudo )?[A-Za-z./]"
"""Any prompt with a command, or mark of a file: the lines of a file named above end here."""
SEVERAL = r"^[^\t]*[$#%>] ?(?:sudo )?cat ([^|;&<>]*pressure[^|;&<>]*)$"
"""Prompt whose command prints several pressure files one after another."""
UNLIMITED = r"^(hierarchical_[a-z_]+_limit) (92233720368547[0-9]{5})$"
"""memory.stat (v1) of a group without a limit."""
PLACE = r"^(?:[^\t]*[$#%>] ?cd )?(/sys/fs/cgroup/[^ \t:]*)$"
"""Output of pwd, or a cd: the directory of the files below."""
CUT_FILE = r"/(?:cpu|memory|io|pids|blkio|cpuacct|cpuset|cgroup)\.[a-z_.]*$"
KEYED = r"^([a-z][a-z0-9_]*) ([0-9]+)$"
DEVICE = r"^([0-9]+:[0-9]+|[a-z][a-z0-9]*) ((?:[a-z_]+=(?:[0-9.]+|max)[ \t]*)+)$"
SERVED = r"^([0-9]+:[0-9]+) (Read|Write) ([0-9]+)$"
SPLIT = r"^(?:[0-9]+:[0-9]+ (?:Sync|Async|Discard|Total) [0-9]+|Total [0-9]+)$"
DEVICE_LIMIT = r"^([0-9]+:[0-9]+) ([0-9]+)$"
PRESSURE = r"^(some|full) avg10=([0-9.]+) avg60=([0-9.]+) avg300=([0-9.]+) total=([0-9]+)$"
CPUS = r"^[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*$"
"""List of processors or memory nodes, such as `0-3,7`."""
CPUSET = r"^cpuset\."
PRESSURES = ("cpu", "io", "irq", "memory")
"""Files of pressure in the order of a glob; kernels without CONFIG_IRQ_TIME_ACCOUNTING have no `irq`."""
VALUE = r"^(-?[0-9]+|max)(?: ([0-9]+))?$"

_MEMORY = frozenset(
    "active_anon active_file anon_thp cache file_dirty file_mapped file_writeback hierarchical_memory_limit hierarchical_memsw_limit inactive_anon "
    "inactive_file kernel_stack mapped_file percpu rss rss_huge slab_reclaimable slab_unreclaimable total_cache total_rss total_mapped_file".split()
)
"""Keys of memory.stat (v1 and v2) that /proc/vmstat and the other files do not have."""
_CPU = "usage_usec user_usec system_usec nr_periods nr_throttled throttled_usec throttled_time nr_bursts burst_usec core_sched.force_idle_usec nice_usec"
_EVENTS = "low high max oom oom_kill oom_group_kill"
_UNITS = {"usec": "us", "time": "ns", "bytes": "B"}
_USES = r"(?:current|peak|usage_in_bytes|max_usage_in_bytes|failcnt|usage)$"

FORMAT = Format(
    kind="cgroup",
    variant="linux",
    version="6",
    systems=("linux",),
    tables=("counters", "params"),
    man="cgroups(7), kernel cgroup-v2",
    example="grep . /sys/fs/cgroup/system.slice/NAME/{cpu,memory,io}.*",
    clocks=("none", "wall-local"),
    own="(?:"
    + "|".join(
        (
            PREFIXED,
            OTHER,
            MARKED,
            r"^(?:nr_periods|nr_throttled|throttled_usec|throttled_time|usage_usec) [0-9]+$",
            PRESSURE,
            r"^[0-9]+:[0-9]+ r(?:bytes|bps)=",
            r"^[ \t]*(?:hierarchical_mem(?:ory|sw)_limit|slab_(?:un)?reclaimable|(?:in)?active_(?:anon|file)|total_(?:rss|cache)|"
            r"file_mapped|mapped_file) [0-9]+$",
        )
    )
    + ")",
)


def claim(head: Head) -> Claim | None:
    """Claim by names of cgroup files on the lines or above them, else by keys that only files of cgroups have."""
    lines = [x.strip() for x in head.lines[:200] if x]
    if not any(re.match(p, x) for x in lines[:6] for p in (PREFIXED, MARKED, KEYED, DEVICE, PRESSURE)):
        return None
    if any(x.startswith("nr_free_pages ") for x in lines):
        return None  # /proc/vmstat has the same keys for the whole host
    named = sum(1 for x in lines if re.match(PREFIXED, x) or re.match(MARKED, x) or re.match(OTHER, x))
    if named and (named * 2 > len(lines) or any(re.match(MARKED, x) for x in lines[:3])):
        return Claim(0.95, f"{named} lines that name files of a control group")
    sure = sum(
        1
        for x in lines
        if re.match(r"^(?:nr_throttled|throttled_usec|throttled_time|oom_kill|usage_usec) [0-9]+$", x)
        or re.match(PRESSURE, x)
    )
    io = sum(1 for x in lines if (m := re.match(DEVICE, x)) and re.search(r"\b(?:rbytes|rbps|rios|riops)=", m[2]))
    keyed = sum(1 for x in lines if re.match(KEYED, x))
    if io + sure and (io + keyed + sure) * 2 > len(lines):
        return Claim(0.9, f"{io + sure} lines of cpu.stat, io.stat, io.max or pressure")
    keys = {x.split()[0] for x in lines}
    if keyed * 10 > len(lines) * 9 and ({"anon", "file", "kernel_stack"} <= keys or len(_MEMORY & keys) >= 3):
        return Claim(0.9, f"{keyed} lines of memory.stat")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the file and group that a mark named, and the last values."""
    for frame in grid.frames(source):
        frame = marked(frame, out, state).filter(~pl.col("is_mark"))
        line = pl.col("line")
        named_file = re.search(rf"(?:cat|more|head|tail) (?:-[^ ]+ )*([^ ]*/)?({_FILE})", source.hints.command or "")
        named_file = named_file or re.search(rf"^(.*/)?({_FILE})$", source.text.name)
        if named_file and "file" not in state:
            state |= {"group": named_file[1] or "", "file": named_file[2]}
        several = re.match(r"(?:sudo )?cat ([^|;&<>]*pressure[^|;&<>]*)$", source.hints.command or "")
        if several and not named_file and "several" not in state:
            state["several"] = {"files": _files(several[1]), "at": -1, "last": ""}
        is_other = line.str.contains(OTHER) & ~line.str.contains(PREFIXED)
        is_mark = line.str.contains(MARKED)
        is_prompt = line.str.contains(PROMPT)
        is_place = line.str.contains(PLACE) & ~line.str.contains(CUT_FILE)
        out.read(frame.filter(is_mark | is_other | is_place)["line_no"])
        frame = _several(frame, out, state)
        none = pl.when(is_prompt).then(pl.lit(""))
        frame = frame.with_columns(
            above=pl.coalesce(line.str.extract(MARKED, 2), none)
            .forward_fill()
            .fill_null(pl.lit(state.get("file"), pl.String))
            .replace("", None),
            within=pl.coalesce(line.str.extract(MARKED, 1), none)
            .forward_fill()
            .fill_null(pl.lit(state.get("group"), pl.String)),
            place=pl.when(is_place)
            .then(line.str.extract(PLACE, 1))
            .forward_fill()
            .fill_null(pl.lit(state.get("place"), pl.String)),
        )
        if len(frame):
            state |= {"file": frame["above"][-1], "group": frame["within"][-1], "place": frame["place"][-1]}
        bare = pl.coalesce(line.str.extract(PREFIXED, 1), "several_group", "within")
        body = line.str.extract(PREFIXED, 3)
        frame = frame.filter(~is_mark & ~is_other).with_columns(
            file=pl.coalesce(line.str.extract(PREFIXED, 2), "several_file", "above").str.replace(HOST, "${1}.pressure"),
            group=_group(pl.when(bare == "").then(pl.coalesce("place", pl.lit(""))).otherwise(bare)),
            body=pl.coalesce(body, line).str.strip_chars(),
        )
        throttled = pl.col("file").str.starts_with("blkio.throttle.io_service").fill_null(False)
        same = pl.col("body").str.contains(SPLIT) & throttled  # the same bytes, split in another way
        out.read(frame.filter(same)["line_no"])
        rows = [_keyed(frame), _devices(frame), _device_io(frame), _pressure(frame), _values(frame)]
        counter_rows.add(pl.concat(rows, how="diagonal_relaxed").with_columns(grp=pl.lit("cgroup")), out, state)
        _params(frame, out)
    return state


def _files(words: str) -> list[tuple[str, str]]:
    """Return directory and file of each pressure file in a command's words, in order; none if a word is anything else.

    >>> _files("/proc/pressure/{cpu,io}")
    [('/proc/', 'pressure/cpu'), ('/proc/', 'pressure/io')]
    """
    found: list[tuple[str, str]] = []
    for word in words.split():
        tail = next((t for t in ("/*", "*.pressure") if word.endswith(t)), "")
        stem = word.removesuffix(tail)
        if tail:
            names = [f"{stem}{f'/{p}' if tail == '/*' else f'{p}.pressure'}" for p in PRESSURES]
        elif braces := re.match(r"^([^{}]*)\{([a-z,]+)\}([^{}]*)$", word):
            names = [f"{braces[1]}{one}{braces[3]}" for one in braces[2].split(",")]
        else:
            names = [word]
        named = [re.match(rf"^((?:[^ \t]*/)?)({_FILE})$", name) for name in names]
        found += [(m[1], m[2]) for m in named if m and "pressure" in m[2]]
        if not all(m and "pressure" in m[2] for m in named):
            return []
    return found


def _several(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Name the file of each pressure line below a prompt that names several (columns several_group, several_file).

    `state["several"]` holds the files, the index of the one that is being printed, and the word of its last line.
    """
    line = pl.col("line")
    wanted = line.str.contains(PRESSURE) | line.str.contains(PROMPT)
    found: dict[str, list[Any]] = {"line_no": [], "several_group": [], "several_file": []}
    held = state.get("several")
    if held or frame.select(line.str.contains(SEVERAL).any()).item():
        for line_no, text in frame.filter(wanted).select("line_no", "line").iter_rows():
            record = re.match(PRESSURE, text)
            if record is None:
                named = re.match(SEVERAL, text)
                files = _files(named[1]) if named else []
                held = {"files": files, "at": -1, "last": ""} if len(files) > 1 else None
                if held:
                    out.read([line_no])
            elif held:
                file = _printed(held, record[1])
                if file:
                    for key, value in zip(found, (line_no, *file), strict=True):
                        found[key].append(value)
    state["several"] = held
    names = pl.DataFrame(found, schema={"line_no": pl.Int64, "several_group": pl.String, "several_file": pl.String})
    names = names.with_columns(pl.col("line_no").cast(frame.schema["line_no"]))
    return frame.join(names, on="line_no", how="left", maintain_order="left")


def _printed(held: dict[str, Any], word: str) -> tuple[str, str] | None:
    """Return the file of a line that begins with `word` (some, full); update `held` if the next file begins there."""
    files: Sequence[Sequence[str]] = held["files"]
    if word == "some" or held["last"] != "some":
        held["at"] = next(
            (n for n in range(held["at"] + 1, len(files)) if ("irq" in files[n][1]) == (word == "full")), len(files)
        )
    held["last"] = word
    return (files[held["at"]][0], files[held["at"]][1]) if held["at"] < len(files) else None


def _group(path: pl.Expr) -> pl.Expr:
    """Return the group's path below the mount, `/` for the root; NULL if no path was printed."""
    short = path.str.replace(
        r"^.*/sys/fs/cgroup(?:/(?:cpu,cpuacct|cpuacct,cpu|cpuset|cpu|memory|io|blkio|pids|unified))?/", "/"
    ).str.strip_chars_end("/")
    return pl.when(path.is_not_null() & (path != "") & ~path.str.ends_with("proc/")).then(
        pl.when(short == "").then(pl.lit("/")).otherwise(short)
    )


def _keyed(frame: pl.DataFrame) -> pl.DataFrame:
    """Read lines like `nr_throttled 4711`; where nothing names the file, its keys decide."""
    body = pl.col("body")
    key = body.str.extract(KEYED, 1)
    guessed = (
        pl.when(key.is_in(_CPU.split()))
        .then(pl.lit("cpu.stat"))
        .when(key.is_in(_EVENTS.split()))
        .then(pl.lit("memory.events"))
        .otherwise(pl.lit("memory.stat"))
    )
    file = pl.coalesce("file", guessed)
    rows = frame.filter(body.str.contains(KEYED) & ~body.str.contains(UNLIMITED)).with_columns(key=key, of=file)
    unit = pl.col("key").str.extract(r"(usec|time|bytes)$").replace_strict(_UNITS, default=None, return_dtype=pl.String)
    sized = pl.col("of").eq("memory.stat") & ~pl.col("key").str.contains(
        r"^(?:total_)?(?:pg|workingset_|thp_|zswp|numa_|swpin|swpout)"
    )
    is_level = sized | pl.col("key").is_in(["oom_kill_disable", "under_oom"])
    return rows.select(
        "line_no",
        "t_local",
        item="group",
        name=pl.when(pl.col("of").str.contains("events"))
        .then(pl.col("of") + "." + pl.col("key"))
        .otherwise(pl.col("key")),
        value=body.str.extract(KEYED, 2).cast(pl.Float64),
        unit=pl.coalesce(unit, pl.when(sized).then(pl.lit("B"))),
        mode=pl.when(is_level).then(pl.lit("level")).otherwise(pl.lit("total")),
    )


def _devices(frame: pl.DataFrame) -> pl.DataFrame:
    """Read io.stat: one counter for each device and key."""
    body = pl.col("body")
    rows = frame.filter(body.str.contains(DEVICE) & ~body.str.contains(r"[a-z]+(?:bps|iops)="))
    rows = rows.with_columns(cell=body.str.extract_all(r"[a-z_]+=[0-9.]+")).explode("cell").drop_nulls("cell")
    item = pl.concat_str([pl.col("group"), body.str.extract(DEVICE, 1)], separator=" ", ignore_nulls=True)
    return rows.select(
        "line_no",
        "t_local",
        item=item,
        name=pl.col("cell").str.extract(r"^([a-z_]+)"),
        value=pl.col("cell").str.extract(r"=([0-9.]+)$").cast(pl.Float64, strict=False),
        unit=pl.when(pl.col("cell").str.contains("^.bytes=")).then(pl.lit("B")),
        mode=pl.lit("total"),
    )


def _device_io(frame: pl.DataFrame) -> pl.DataFrame:
    """Read the I/O of a throttled group (v1), under the names of io.stat."""
    body, file = pl.col("body"), pl.col("file")
    rows = frame.filter(
        body.str.contains(SERVED) & file.str.contains(r"^blkio\.throttle\.io_service(?:_bytes|d)$").fill_null(False)
    )
    sized = file.str.ends_with("_bytes")
    name = pl.concat_str(
        body.str.extract(SERVED, 2).replace({"Read": "r", "Write": "w"}),
        pl.when(sized).then(pl.lit("bytes")).otherwise(pl.lit("ios")),
    )
    return rows.select(
        "line_no",
        "t_local",
        item=pl.concat_str([pl.col("group"), body.str.extract(SERVED, 1)], separator=" ", ignore_nulls=True),
        name=name,
        value=body.str.extract(SERVED, 3).cast(pl.Float64),
        unit=pl.when(sized).then(pl.lit("B")),
        mode=pl.lit("total"),
    )


def _device_limits(frame: pl.DataFrame) -> pl.DataFrame:
    """Read limits of a group on a device (v1), under the names of io.max."""
    body, file = pl.col("body"), pl.col("file")
    limit_file = r"^blkio\.throttle\.(read|write)_(bps|iops)_device$"
    rows = frame.filter(body.str.contains(DEVICE_LIMIT) & file.str.contains(limit_file).fill_null(False))
    key = pl.concat_str(file.str.extract(limit_file, 1).str.head(1), file.str.extract(limit_file, 2))
    value = body.str.extract(DEVICE_LIMIT, 2)
    return rows.select(
        "line_no",
        "t_local",
        entity="group",
        name=pl.concat_str(pl.lit("io.max"), body.str.extract(DEVICE_LIMIT, 1), key, separator=" "),
        value=value,
        num=value.cast(pl.Float64),
    )


def _pressure(frame: pl.DataFrame) -> pl.DataFrame:
    """Read PSI (pressure stall information): shares of time in percent, and the total in microseconds."""
    body = pl.col("body")
    rows = frame.filter(body.str.contains(PRESSURE))
    parts = []
    for place, (what, unit, mode) in enumerate(
        (("avg10", "%", "level"), ("avg60", "%", "level"), ("avg300", "%", "level"), ("total", "us", "total")), start=2
    ):
        name = pl.concat_str(
            [pl.col("file"), body.str.extract(PRESSURE, 1), pl.lit(what)], separator=".", ignore_nulls=True
        )
        # Lines of several files without a name look like samples of one: the total of such a line is no counter.
        parts.append(
            rows.select(
                "line_no",
                "t_local",
                item="group",
                name=name,
                value=body.str.extract(PRESSURE, place).cast(pl.Float64, strict=False),
                unit=pl.lit(unit),
                mode=pl.when(pl.col("file").is_null()).then(pl.lit("level")).otherwise(pl.lit(mode)),
            )
        )
    return pl.concat(parts)


def _values(frame: pl.DataFrame) -> pl.DataFrame:
    """Read a single number of a file that reports usage."""
    body, file = pl.col("body"), pl.col("file")
    rows = frame.filter(body.str.contains(r"^[0-9]+$") & file.str.contains(_USES).fill_null(False))
    bytes_ = file.str.contains(r"^memory\.") & ~file.str.contains("failcnt")
    counting = file.str.contains(r"failcnt|^cpuacct\.usage")
    return rows.select(
        "line_no",
        "t_local",
        item="group",
        name=file,
        value=body.cast(pl.Float64, strict=False),
        unit=pl.when(bytes_).then(pl.lit("B")).when(file == "cpuacct.usage").then(pl.lit("ns")),
        mode=pl.when(counting).then(pl.lit("total")).otherwise(pl.lit("level")),
    )


def _listed(text: str) -> float:
    """Return how many numbers a list of processors names.

    >>> _listed("0-3,7")
    5.0
    """
    pairs = [(int(a), int(b or a)) for a, _, b in (one.partition("-") for one in text.split(","))]
    return float(sum(max(0, b - a + 1) for a, b in pairs))


def _params(frame: pl.DataFrame, out: Tables) -> None:
    """Write limits: a single value, quota and period of cpu.max, each key of io.max, and "no limit" in memory.stat."""
    body, file = pl.col("body"), pl.col("file")
    # `max 12` in memory.events is a count, not a limit.
    other = file.str.contains(_USES) | file.str.contains(r"\.(?:stat|events|pressure)")
    of_set = file.str.contains(CPUSET).fill_null(False)
    listed = frame.filter(of_set & body.str.contains(CPUS)).select(
        "line_no",
        "t_local",
        entity="group",
        name=file,
        value=body,
        num=pl.when(file.str.contains(r"[._]cpus")).then(body.map_elements(_listed, return_dtype=pl.Float64)),
    )
    alone = frame.filter(body.str.contains(VALUE) & (~other).fill_null(False) & ~of_set)
    one, two = body.str.extract(VALUE, 1).cast(pl.Float64, strict=False), body.str.extract(VALUE, 2).cast(pl.Float64)
    limits = alone.select(
        "line_no",
        "t_local",
        entity="group",
        name=file,
        value=body,
        # A quota of -1 (v1) means no limit, as `max` does; so does the largest number of pages (v1: 2^63 less a page).
        num=pl.when(file == "cpu.max").then(one / two).when((one >= 0) & (one < 9.2e18)).then(one),
    )
    pairs = frame.filter(body.str.contains(DEVICE) & body.str.contains(r"[a-z]+(?:bps|iops)="))
    pairs = pairs.with_columns(cell=body.str.extract_all(r"[a-z_]+=(?:[0-9]+|max)")).explode("cell").drop_nulls("cell")
    value = pl.col("cell").str.extract(r"=(.*)$")
    name = pl.concat_str(
        pl.lit("io.max"), body.str.extract(DEVICE, 1), pl.col("cell").str.extract(r"^([a-z_]+)"), separator=" "
    )
    devices = pairs.select(
        "line_no", "t_local", entity="group", name=name, value=value, num=value.cast(pl.Float64, strict=False)
    )
    none = frame.filter(body.str.contains(UNLIMITED)).select(
        "line_no",
        "t_local",
        entity="group",
        name=body.str.extract(UNLIMITED, 1),
        value=body.str.extract(UNLIMITED, 2),
        num=pl.lit(None, pl.Float64),
    )
    rows = pl.concat([limits, listed, devices, _device_limits(frame), none]).sort("line_no", maintain_order=True)
    out.add("params", rows.with_columns(scope=pl.lit("cgroup"), active=pl.lit(True)))
