r"""Columns of process listings (ps, prstat, top): their headings, and rows whose cells are partly blank.

The heading determines unit and type. Rows are split at blanks (a wide value pushes later columns to the right). Where a row then has too
few words because cells are blank (AIX and HP-UX zombies), each word goes to the column whose type it fits and under whose heading it
stands, if there is exactly one best way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import polars as pl

from parsers.columns import grid

_START = (
    r"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}|[^ \t0-9:]{3,6}[ \t]+[0-9]{1,2}"
    r"|[0-9]{1,4}|[0-9]*[^ \t0-9][^ \t]*)"
)
_KINDS = {
    "int": r"(?:-?[0-9]+|-|\?|rt|RT)",
    "pct": r"(?:[0-9]+(?:[.,][0-9]+)?%?|-|\*+)",
    "kb": r"(?:[0-9]+(?:[.,][0-9]+)?[KMGTPkmgtpB]?[+-]?|-|N/A)",
    "time": r"(?:(?:[0-9]+-)?[0-9]+(?::[0-9]{2}){1,2}(?:[.,][0-9]+)?|[0-9]+[.,][0-9]+[hHdD]?|[0-9]+[hHdD]?|-)",
    "spent": r"(?:(?:[0-9]+-)?[0-9]+(?:h[0-9]{2})?(?::[0-9]{2}){1,2}(?:[.,][0-9]+)?|[0-9]+[.,][0-9]+[hHdD]?|[0-9]+[hHdD]|-)",
    "num": r"(?:[0-9]+(?:[.,][0-9]+)?[KMGkmg]?|-)",
    "start": _START,
    "state": r"[^ \t0-9][^ \t]*",
    "word": grid.WORD,
    "name": "[^ \t]+(?: [^ \t]+)*?",
    "rest": grid.REST,
}
"""Patterns of cells by type; `num` is a share or count of prstat -m, `name` a program's name, which may contain blanks."""

_HEADS = {
    "PID": ("pid", "int"),
    "PPID": ("ppid", "int"),
    "LWP": ("lwp", "int"),
    "SPID": ("lwp", "int"),
    "TID": ("lwp", "int"),
    "LWPID": ("lwp", "int"),
    "LID": ("lwp", "int"),
    "UID": ("owner", "word"),
    "USER": ("owner", "word"),
    "USERNAME": ("owner", "word"),
    "EUSER": ("owner", "word"),
    "Owner": ("owner", "word"),
    "ZONE": ("zone", "word"),
    "S": ("state", "state"),
    "ST": ("state", "state"),
    "STAT": ("state", "state"),
    "STATE": ("state", "state"),
    "PRI": ("pri", "int"),
    "PR": ("pri", "int"),
    "NI": ("nice", "int"),
    "NICE": ("nice", "int"),
    "PSR": ("cpu_no", "int"),
    "CPUID": ("cpu_no", "int"),
    "P": ("cpu_no", "int"),
    "RSS": ("rss_kb", "kb"),
    "RSZ": ("rss_kb", "kb"),
    "RES": ("rss_kb", "kb"),
    "VSZ": ("vsz_kb", "kb"),
    "VSIZE": ("vsz_kb", "kb"),
    "VIRT": ("vsz_kb", "kb"),
    "RSIZE": ("rss_kb", "kb"),
    "SIZE": ("vsz_kb", "kb"),
    "%CPU": ("cpu_pct", "pct"),
    "CPU%": ("cpu_pct", "pct"),
    "WCPU": ("cpu_pct", "pct"),
    "PCPU": ("cpu_pct", "pct"),
    "%MEM": ("mem_pct", "pct"),
    "PMEM": ("mem_pct", "pct"),
    "MEM%": ("mem_pct", "pct"),
    "TIME": ("cpu_time_s", "spent"),
    "TIME+": ("cpu_time_s", "spent"),
    "LTIME": ("cpu_time_s", "spent"),
    "STIME": ("start_text", "start"),
    "START": ("start_text", "start"),
    "STARTED": ("start_text", "start"),
    "ELAPSED": ("etime_s", "time"),
    "ETIME": ("etime_s", "time"),
    "NLWP": ("nlwp", "int"),
    "THCNT": ("nlwp", "int"),
    "THR": ("nlwp", "int"),
    "#TH": ("nlwp", "word"),
    "WCHAN": ("wchan", "word"),
    "MWCHAN": ("wchan", "word"),
    "CMD": ("args", "rest"),
    "COMMAND": ("args", "rest"),
    "Command": ("args", "rest"),
    "ARGS": ("args", "rest"),
    "COMM": ("args", "rest"),
    "PROCESS/NLWP": ("process", "rest"),
    "PROCESS/LWPID": ("process", "rest"),
    "PROCESS/LWP": ("process", "rest"),
    **{name: (name.lower(), "num") for name in "USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG".split()},
}
"""Headings that fill a column: the column's name, and the type of the cell."""

_OTHERS = (
    "F A C CP ADDR SZ TT TTY PGID PGRP SID SESS CLS CLASS TASKID PROJECT PROJID ZONEID CTID LABEL RTPRIO "
    "RUSER GROUP RGROUP GID EUID RUID MAJFLT MINFLT TRS DRS BND LIM TSIZ TRSIZE SHR SHARE CODE DATA SWAP nFLT nMaj "
    "nMin nDRT nDrt UTIME WPAR JOBNAME XSIZE SUPGRP FLAGS TGID PGSP PgSp LGRP CPU THREADS MEM PORTS CMPRS PURG "
    "#WQ #PORT #MREG SYSBSD SYSMACH SUID SUPGRPS vMj vMn VMJ VMN OOMA OOMS UNIT MACHINE OWNER SLICE TIME64 JID "
    "VFORK USED SC %VSZ RSan RSfd RSlk RSsh CGROUPS SUSER nTH TPGID TTY_NR PGREQ %WCPU EXE SUPGIDS ENVIRON OOMa OOMs "
    "nsIPC nsMNT nsNET nsPID nsUSER nsUTS Flags INPRI OUTPRI BLOCKED IGNORED CAUGHT CATCHED PENDING EIP ESP "
    "TMOUT ALARM SECURITY "
    "BOOSTS %CPU_ME %CPU_OTHRS FAULTS COW MSGSENT MSGRECV CSW PAGEINS IDLEW POWER INSTRS CYCLES #MREGS #PORTS RPRVT RSHRD "
    "VPRVT KPRVT KSHRD"
).split()
_TYPED = {
    "C": "int",
    "ADDR": "word",
    "SZ": "kb",
    "TTY": "word",
    "TT": "word",
    "SHR": "kb",
    "SHARE": "kb",
    "F": "word",
}
_STRICT = {
    "start": r"(?:[0-9]{2}:[0-9]{2}(?::[0-9]{2})?|[0-9]{1,2}[:.][0-9]{2}[AP]M|[^ \t0-9:]{3,4}[_-]?[0-9]{1,2}|[0-9]{4}|-)",
    "word": r"(?:[?-]|[^ \t]*[A-Za-z?][^ \t]*)",
}
"""Stricter patterns where words must be distinguished by type."""
KNOWN = frozenset((*_HEADS, *_OTHERS))
_OF_MAC = {"#TH", "#WQ", "#PORT", "#PORTS", "MEM", "CMPRS", "RSIZE", "RPRVT", "#MREG", "#MREGS", "FAULTS", "CSW"}
"""Fields of top on macOS, whose COMMAND is only the program's name and stands in front."""

MANY = 24
"""Number of headings above which a header lists all fields of a tool."""

LEFT = 4000
"""Maximum number of rows of a block with blank cells that are examined one by one."""

BLANKS = r"^((?:(?:Par)?GC (?:Thread|Slave|task thread)|G1 |VM (?:Thread|Periodic)|C[12] Compiler|Gang worker|Concurrent (?:Mark|GC)).*)$"
"""Names of JVM threads (OpenJDK), which top prints as commands; their first word alone does not identify them."""

SLEEPS_AT = r"[G-Zg-z_]"
"""Characters of a wait channel's name that no address (AIX, Solaris), `-`, `0` or `?` contains."""

ENDING = r"<(defunct|exiting|idle)>$"
SECRET = re.compile(
    r"(?i)(?:(?:passw(?:or)?d|passwd|pwd|secret|token|api[_-]?key)[=: ]+['\"]?([^ '\",;]{2,}))|"
    r"(?:\b(?:sqlplus|exp|imp|expdp|impdp|sqlldr|rman|tnsping)\b.{0,60}? [\w$#]{1,30}/([^ @/\"]{1,60}))|(?:\bmysql\b.{0,80}? -p([^ ]{2,60}))"
)
"""Passwords in a command line; one of the groups contains the secret."""


SUM_CELLS = {
    "ZONEID": "[0-9]+",
    "PROJID": "[0-9]+",
    "TASKID": "[0-9]+",
    "NPROC": "[0-9]+",
    "USERNAME": grid.WORD,
    "ZONE": grid.WORD,
    "PROJECT": grid.WORD,
    "SWAP": r"[0-9.,]+[KMGT]?",
    "SIZE": r"[0-9.,]+[KMGT]?",
    "RSS": r"[0-9.,]+[KMGT]?",
    "MEMORY": r"[0-9.,]+%",
    "TIME": r"[0-9]+:[0-9]{2}[:.][0-9]{2}",
    "CPU": r"[0-9.,]+%",
}
"""Cells of the tables that prstat -a -t -J -T -Z prints below its processes."""


@cache
def columns(heading: str) -> tuple[tuple[str, str], ...]:
    """Return the column name (or the heading itself in brackets) and the type for each word of a header.

    Only the last command takes the rest of a line. `CPU` is a share in prstat and together with `TIME`, the processor's number in
    top of BusyBox, and another number elsewhere.
    """
    words = heading.split()
    command = next((i for i, w in enumerate(words) if _HEADS.get(w, ("", ""))[1] == "rest"), len(words))
    named_first = words[1:3].count("COMMAND") and command < len(words) - 1 and _OF_MAC & set(words)
    if len(words) > MANY > command and not named_first:
        # All fields of top: after the command stand texts with blanks and cells of any form.
        words = [*words[: command + 1], "(more)"]
    named: list[tuple[str, str]] = []
    for place, word in enumerate(words):
        name, kind = _HEADS.get(word, (f"({word})", _TYPED.get(word, "word")))
        if word == words[-1] == "COMMAND" and place < len(words) - 1:
            # `-o comm,args` has one heading twice: the last is the whole command.
            name = f"({word} {place})"
        if word == "CPU" and "TIME" in words and place > 0:
            name, kind = "cpu_pct", "pct"
        if word == "CPU" and "%VSZ" in words:
            name, kind = "cpu_no", "int"
        if kind == "rest" and place < len(words) - 1:
            name, kind = ("command", "name") if named_first else (name, "word")
        if name in (n for n, _ in named):
            name = f"({word} {place})"
        named.append((name, "rest" if word == "(more)" else kind))
    return tuple(named)


def heading_of(words: Sequence[str]) -> bool:
    """Decide whether words are a header of processes: PID is among them, and all of them are known."""
    return "PID" in words and len(words) >= 2 and all(w in KNOWN for w in words)


_WORDS = "|".join(re.escape(w) for w in sorted(KNOWN, key=len, reverse=True))
HEADING = rf"^[ \t]*(?:(?:{_WORDS})[ \t]+)*PID(?:[ \t]+(?:{_WORDS}))+$"
"""A header line of ps, prstat or top; valid in Rust's and Python's syntax."""


_TYPED_WORDS = {
    **{
        word: heading
        for heading, words in {
            "PID": "pid tgid", "PPID": "ppid", "LWP": "lwp tid spid", "USER": "user euser uname", "RUSER": "ruser", "UID": "uid euid",
            "GROUP": "group egroup", "S": "s state", "STAT": "stat", "WCHAN": "wchan nwchan", "CMD": "cmd args command",
            "COMM": "comm ucmd ucomm fname", "%CPU": "pcpu %cpu c", "%MEM": "pmem %mem", "RSS": "rss rssize rsz", "VSZ": "vsz vsize",
            "TIME": "time cputime", "ELAPSED": "etime", "START": "start stime start_time lstart bsdstart", "NLWP": "nlwp thcount",
            "PRI": "pri priority opri", "NI": "ni nice", "PSR": "psr", "CLS": "cls class policy", "RTPRIO": "rtprio", "TTY": "tty tt tname",
            "F": "f flag flags", "SZ": "sz", "ADDR": "addr", "PGID": "pgid pgrp", "SID": "sid sess session",
        }.items()
        for word in words.split()
    },
}  # fmt: skip
"""Headings of the columns that `ps -o` is asked for by their names."""

_ASKED = re.compile(r"(?:^|[\s|;(/#$])ps\s(?P<options>[^|;>]*)")
_LIST = re.compile(r"(?:^|\s)(?:-?[A-Za-z]*o|--format[= ]|-?-o)\s?(?P<names>[a-z%][\w%:=,]*)")


def typed_heading(line: str) -> str | None:
    """Return the header that ps prints for the columns that a command requests; None for any other line.

    It replaces a header that a filter after the command (grep) has removed.

    >>> typed_heading("# ps -eopid,state,wchan:32,cmd | awk '$2 ~ /D/'"), typed_heading("$ ps axo stat,pid,comm | grep ^D")
    ('PID S WCHAN CMD', 'STAT PID COMM')
    >>> typed_heading("# ps -ef | grep D")
    """
    asked = _ASKED.search(line)
    if asked is None:
        return None
    names = [n for m in _LIST.finditer(asked["options"]) for n in m["names"].split(",") if n]
    words = [_TYPED_WORDS.get(re.split("[:=]", n)[0]) for n in names]
    known = [w for w in words if w is not None]
    return " ".join(known) if len(known) == len(words) and heading_of(known) else None


def rows(lines: pl.DataFrame, heading: str, raw: str | None) -> tuple[pl.DataFrame, list[int]]:
    """Read the rows under a header; return them with one text column for each name, and the lines placed by position.

    `raw` is the header as printed (None where there is none). Rows that do not fit are left out.
    """
    named = columns(heading)
    names = [n for n, _ in named]
    cells = {n: _KINDS[k] for n, k in named}
    cut = grid.cut(lines, cells)
    fit = cut.filter(pl.col(names[0]).is_not_null())
    left = cut.filter(pl.col(names[0]).is_null()).select(lines.columns).head(LEFT)
    places = _places(raw) if raw else None
    found, placed = [], []
    for number, line in left.select("line_no", "line").iter_rows():
        put = place(line, named, places)
        if put is not None:
            found.append({"line_no": number, **put})
            placed.append(number)
    if found:
        schema = {"line_no": pl.Int64} | dict.fromkeys(names, pl.String)
        more = left.join(pl.DataFrame(found, schema=schema), on="line_no")
        fit = pl.concat([fit, more.select(fit.columns)]).sort("line_no")
    return fit, placed


def _places(raw: str) -> list[tuple[int, int]]:
    return [m.span() for m in re.finditer(r"[^ \t]+", raw)]


def place(
    line: str, named: Sequence[tuple[str, str]], places: Sequence[tuple[int, int]] | None
) -> dict[str, str | None] | None:
    """Put the words of a row with blank cells under their headings; None unless there is one best way.

    >>> place("root 295 270 0  0:00 <defunct>", columns("UID PID PPID C STIME TTY TIME CMD"), None)["(TTY)"] is None
    True
    """
    words = [(m.group(), *m.span()) for m in re.finditer(r"[^ \t]+", line)]
    total = len(named)
    if len(words) < 2 or (len(words) > total and named[-1][1] != "rest"):
        return None
    if re.search(ENDING, line) is None and (places is None or len(words) < total - 3):
        return None
    memo: dict[tuple[int, int], tuple[float, int, tuple[int, ...]]] = {}

    def best(column: int, word: int) -> tuple[float, int, tuple[int, ...]]:
        """Return the least distance, the number of ways with it, and the word of each column (-1: blank)."""
        if column == total:
            return (0.0, 1, ()) if word == len(words) else (float("inf"), 0, ())
        key = (column, word)
        if key in memo:
            return memo[key]
        name, kind = named[column]
        ways: list[tuple[float, int, tuple[int, ...]]] = []
        # By type alone only a start or a word can be missing: numbers look like each other.
        if kind in ("start", "state", "word") or (
            places is not None and kind in ("pct", "kb", "int") and name != "pid"
        ):
            cost, count, rest = best(column + 1, word)
            ways.append((cost, count, (-1, *rest)))
        if word < len(words):
            text, begin, end = words[word]
            apart = 0.0
            if places is not None:
                apart = float(max(places[column][0] - end + 1, begin - places[column][1] + 1, 0))
            if kind == "rest":
                ways.append((apart, 1, (word,)))
            elif re.fullmatch(_STRICT.get(kind, _KINDS[kind]), text):
                cost, count, rest = best(column + 1, word + 1)
                ways.append((cost + apart, count, (word, *rest)))
        least = min((w[0] for w in ways), default=float("inf"))
        good = [w for w in ways if w[0] == least]
        memo[key] = (
            (least, sum(w[1] for w in good), good[0][2]) if good and least < float("inf") else (float("inf"), 0, ())
        )
        return memo[key]

    cost, count, chosen = best(0, 0)
    if count != 1 or cost > 12:
        return None
    taken: dict[str, str | None] = {}
    for (name, kind), word in zip(named, chosen, strict=True):
        taken[name] = None if word < 0 else line[words[word][1] :] if kind == "rest" else words[word][0]
    return taken


def facts(cells: pl.DataFrame) -> pl.DataFrame:
    """Convert text columns to those of `ps`; missing ones are left out. Keeps line_no."""
    has = set(cells.columns)
    out: dict[str, pl.Expr] = {}
    for name in ("pid", "ppid", "lwp", "pri", "nice", "cpu_no", "nlwp"):
        if name in has:
            out[name] = pl.col(name).cast(pl.Int64, strict=False)
    for name in ("cpu_pct", "mem_pct"):
        if name in has:
            text = pl.col(name).str.replace("%", "", literal=True).str.replace(",", ".", literal=True)
            out[name] = text.cast(pl.Float64, strict=False)
    for name in ("rss_kb", "vsz_kb"):
        if name in has:
            out[name] = kilobytes(pl.col(name))
    for name in ("cpu_time_s", "etime_s"):
        if name in has:
            # htop prints hours as `2h11:09`.
            out[name] = seconds(pl.col(name).str.replace("([0-9])h([0-9][0-9]:)", "$1:$2"))
    for name in ("zone", "start_text"):
        if name in has:
            out[name] = pl.col(name).replace("-", None)
    if "owner" in has:
        number = pl.col("owner").str.contains(r"^[0-9]+$")
        out["uid"] = pl.when(number).then(pl.col("owner")).cast(pl.Int64, strict=False)
        out["login"] = pl.when(~number).then(pl.col("owner")).replace("-", None)
    if "wchan" in has:
        out["wchan"] = pl.when(pl.col("wchan").str.contains(SLEEPS_AT)).then("wchan")
    if "state" in has:
        on_cpu = pl.col("state").str.extract(r"^(?i:cpu)[/]?([0-9]+)$").cast(pl.Int64, strict=False)
        out["state"] = pl.when(on_cpu.is_not_null()).then(pl.lit("cpu")).otherwise(pl.col("state")).replace("-", None)
        if "cpu_no" not in has:
            out["cpu_no"] = on_cpu
    if "args" in has:
        args = pl.col("args").str.replace(r"^[ |`]*\\_ ", "").replace("-", None)
        out["args"] = args
        out["ending"] = args.str.extract(ENDING)
        out["comm"] = program(args)
    if "command" in has:
        out["comm"] = pl.col("command")
    if "process" in has:
        out["comm"] = pl.col("process").str.extract(r"^(.*)/[^/]*$")
    return cells.select("line_no", *(e.alias(n) for n, e in out.items()))


def program(args: pl.Expr) -> pl.Expr:
    """Return the program of a command line: the last part of its first word, the text in brackets, or a name with blanks."""
    bracket = args.str.extract(r"^\[(.+?)\](?: |$)")
    word = args.str.extract(r"^([^ ]+)")
    # `ksoftirqd/0` is a name, `/usr/sbin/sshd` and `sv:/opt/smbd` are paths.
    path = word.str.contains(r"^(?:[a-z]+:|\.{1,2}|~)?/")
    word = pl.when(path).then(word.str.extract(r"([^/]+)/*$")).otherwise(word).str.strip_suffix(":")
    return (
        pl.when(args.str.contains(r"^<(?:defunct|exiting|idle)>$"))
        .then(None)
        .otherwise(pl.coalesce(bracket, args.str.extract(BLANKS), word))
    )


def kilobytes(text: pl.Expr) -> pl.Expr:
    """Convert `15M`, `4800K`, `161888`, `158.1m` to kB; a number without suffix is kB in all these tools."""
    # Without a suffix it is a whole number: a sign in it separates thousands.
    plain = text.str.replace(r"^([0-9]{1,3})[.,]([0-9]{3})$", "$1$2")
    number = plain.str.extract(r"^([0-9]+(?:[.,][0-9]+)?)").str.replace(",", ".", literal=True).cast(pl.Float64)
    suffix = text.str.extract(r"([A-Za-z]?)[+-]?$").str.to_lowercase()
    factors = {"": 1.0, "k": 1.0, "m": 1024.0, "g": 1024.0**2, "t": 1024.0**3, "p": 1024.0**4, "b": 1 / 1024}
    return number * suffix.replace_strict(factors, default=None)


def seconds(text: pl.Expr) -> pl.Expr:
    """Convert `1-02:03:04`, `0:18:51`, `196:29` (minutes), `1:08.04`, `12.3h` to seconds; a number without suffix is seconds."""
    plain = text.str.replace(",", ".", literal=True)
    days = plain.str.extract(r"^([0-9]+)-").cast(pl.Float64).fill_null(0.0)
    parts = plain.str.replace(r"^[0-9]+-", "").str.replace(r"[a-zA-Z]$", "").str.split(":")
    # From the right: seconds, minutes, hours.
    total = days * 86400
    for place, factor in enumerate((1.0, 60.0, 3600.0), start=1):
        total = total + parts.list.get(-place, null_on_oob=True).cast(pl.Float64, strict=False).fill_null(0.0) * factor
    suffix = plain.str.extract(r"([a-zA-Z])$").str.to_lowercase()
    scale = suffix.replace_strict({"h": 3600.0, "d": 86400.0}, default=1.0).fill_null(1.0)
    return pl.when(text.str.contains("[0-9]")).then(total * scale)


def secrets(frame: pl.DataFrame) -> list[tuple[int, int, int]]:
    """Find passwords in command lines: line, from, to. A cheap test of the block comes first: most blocks have none."""
    likely = frame.filter(
        pl.col("line").str.contains(
            r"(?i)passw|pwd|secret|token|api[_-]?key|sqlplus|\b(?:exp|imp|expdp|impdp|rman|sqlldr|mysql)\b"
        )
    )
    found = []
    for number, line in likely.select("line_no", "line").iter_rows():
        for match in SECRET.finditer(line):
            group = next(i for i in (1, 2, 3) if match[i] is not None)
            found.append((number, *match.span(group)))
    return found
