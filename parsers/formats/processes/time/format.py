r"""Durations of commands: time of bash, ksh, zsh, csh, mksh; /usr/bin/time of Solaris, Linux (-p, -v), busybox, BSD and macOS (-l).

Manual: time(1), bash(1) TIMEFORMAT, zshmisc(1). Capture: `time sqlplus -S user@db @one.sql`, `/usr/bin/time -v COMMAND`.

    real	0m2.471s
    user	0m0.010s
    sys	0m0.020s
    0.45user 0.04system 0:00.50elapsed 98%CPU (0avgtext+0avgdata 1500maxresident)k
    sqlplus -S @one.sql  0.01s user 0.02s system 1% cpu 2.471 total
        Elapsed (wall clock) time (h:mm:ss or m:ss): 0:02.47

Fills conn_times: `elapsed_s` is real, `cpu_s` user plus sys, `series` the command where one is printed. No clock.

Traps. Solaris prints whole tenths and `1:02.3` for a minute; `0m2,471s` has a locale's decimal comma (seconds after minutes are below 60, so
it cannot separate thousands), while `real 1,234` alone is ambiguous and gives no number. A failed command's time is the time until it
failed: `ok` is false where the tool reports that. Memory and I/O of -v and of the short form are accounted as read but not stored, because
no table has them for one command; the same holds for the output of -l on macOS and FreeBSD.
Known gaps: custom formats (TIMEFORMAT, TIMEFMT, -f), the builtin `times`.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.notes import ELISION
from parsers.text.source import Head, Source
from parsers.text.times import decimal, decimal_sign

_N = r"(?:[0-9]{1,9}h ?)?(?:[0-9]{1,9}m ?)?(?:[0-9]{1,12}(?:[.,][0-9]{1,12})?|[.,][0-9]{1,12})s?|(?:[0-9]{1,9}:)?[0-9]{1,9}:[0-9]{2}(?:[.,][0-9]{1,12})?"
SHELL = rf"^[\t ]*(real|user|sys|system)[\t ]+({_N})$"
GNU = rf"^[\t ]*([0-9]*[.,]?[0-9]+)user[\t ]+([0-9]*[.,]?[0-9]+)system[\t ]+({_N})elapsed\b"
GNU_REST = r"^[\t ]*(?:\([0-9]+(?:avgtext|text)\+.*\)k.*|[0-9]+inputs\+[0-9]+outputs .*swaps)$"
BSD_REST = (
    r"^[\t ]*[0-9][0-9,]*[\t ]+(?:maximum resident set size|average (?:shared memory|unshared (?:data|stack)|[a-z ]{4,30}) size|page (?:reclaims|faults)|swaps"
    r"|block (?:input|output) operations|messages (?:sent|received)|signals received|(?:in)?voluntary context switches|instructions retired"
    r"|cycles elapsed|peak memory footprint)$"
)
ZSH = rf"^(.*?)[\t ]*({_N})s? user[\t ]+({_N})s? system[\t ]+[0-9]+% cpu[\t ]+({_N}) total$"
MKSH = rf"^[\t ]*({_N})[\t ]+real[\t ]+({_N})[\t ]+user[\t ]+({_N})[\t ]+sys(?:tem)?$"
CSH = r"^[\t ]*([0-9]+\.[0-9]+)u ([0-9]+\.[0-9]+)s ([0-9:.]+) [0-9.]+%[\t ].*$"
LABEL = r'^[\t ]*Command being timed: "(.*)"$'
VERBOSE = rf"^[\t ]*(User time \(seconds\)|System time \(seconds\)|Elapsed \(wall clock\) time \(h:mm:ss or m:ss\)|Exit status): ({_N})$"
VERBOSE_REST = (
    r"^[\t ]*(?:Percent of CPU this job got|(?:Average|Maximum) [a-z ]+ size \(kbytes\)|(?:Major|Minor) \([a-zA-Z /]+\) page faults"
    r"|(?:Voluntary|Involuntary) context switches|Swaps|File system (?:inputs|outputs)|Socket messages (?:sent|received)|Signals delivered"
    r"|Page size \(bytes\)): [0-9]+%?$"
)
FAILED = r"^Command (?:exited with non-zero status ([0-9]+)|terminated by signal ([0-9]+))$"
RAN = r"^(?:[^\s]*?[$#%>][\t ]*(?:/usr/bin/|/bin/)?p?time(?:x)?|(?:/usr/bin/)?time)[\t ]+(?:-[a-z]+[\t ]+)*([A-Za-z0-9_./~\"'$(-].*[^.:?!])$"
"""A timed command, at a prompt or alone on its line; a sentence that begins with `time` does not match."""
COMPLAINS = r"(?i)\b(?:error|fail(?:ed|ure)|timed out|refused|denied|unreachable|cannot|can't|unable to|not (?:known|found)|no such)\b"
"""Words with which a command reports that it failed."""
_TELLING = re.compile(
    r"elapsed| total$|[\t ]real[\t ]|[0-9]u [0-9]|^[\t ]*(?:real|user|sys)|inputs\+|^[\t ]*(?:Command |User time|System time|[A-Z][a-z ()]{5,60}: )"
)
"""Cheap test that every line of a timing passes, so that the full patterns see few other lines."""
_OF_VERBOSE = re.compile(f"{LABEL}|{VERBOSE}|{VERBOSE_REST}|{FAILED}").match
_OF_LINE = re.compile(f"{GNU}|{ZSH}|{MKSH}|{CSH}").match
_LONG = 1000
_OF_SHELL = re.compile(SHELL).match
_KEYS = {
    "real": "real", "user": "user", "sys": "sys", "system": "sys", "User time (seconds)": "user", "System time (seconds)": "sys",
    "Elapsed (wall clock) time (h:mm:ss or m:ss)": "real", "Exit status": "status",
}  # fmt: skip

_COMMON: Any = {"kind": "time", "version": "1", "tables": ("conn_times",), "split": "none"}
FORMATS = (
    Format(
        variant="shell", systems=("solaris", "linux", "aix", "hpux", "macos", "freebsd"), man="time(1), bash(1), ksh(1)",
        example="time COMMAND", own=SHELL, **_COMMON,
    ),
    Format(
        variant="line", systems=("linux", "macos", "freebsd", "solaris"), man="time(1), zshmisc(1), csh(1)",
        example="/usr/bin/time COMMAND", own=f"{GNU}|{GNU_REST}|{BSD_REST}|{ZSH}|{MKSH}|{CSH}", **_COMMON,
    ),
    Format(
        variant="verbose", systems=("linux",), man="time(1)", example="/usr/bin/time -v COMMAND",
        own=f"{LABEL}|{VERBOSE}|{VERBOSE_REST}|{FAILED}", **_COMMON,
    ),
)  # fmt: skip


def claim(head: Head) -> Claim | None:
    """Claim by the number of timings; where they are few among other lines, the claim is weaker than that of the other lines' kind."""
    text = head.text
    # Plain words first: a pattern of them is slow over 64 KiB.
    if not any(word in text for word in ("real", "total", "wall clock", "elapsed")) and not head.shows("[0-9]u [0-9]"):
        return None
    if not any(_TELLING.search(line) for line in head.spread):
        return None
    filled = [line for line in head.lines if line.strip()]
    if "Elapsed (wall clock) time" in text and re.search(rf"{LABEL}|^[\t ]*User time \(seconds\): ", text, re.M):
        lines_of_verbose = sum(1 for x in filled if _OF_VERBOSE(x))
        return Claim(
            round(0.97 * min(1.0, 1.5 * lines_of_verbose / len(filled)), 2),
            f"{lines_of_verbose} lines of time -v",
            "verbose",
        )
    likely = [x for x in filled if ("user" in x or "u " in x) and len(x) < _LONG and _TELLING.search(x)]
    lines = sum(1 for x in likely if _OF_LINE(x))
    if lines:
        rests = sum(1 for x in filled if re.match(GNU_REST, x) or re.match(BSD_REST, x))
        return Claim(
            round(0.95 * min(1.0, 1.5 * (lines + rests) / len(filled)), 2), f"{lines} timings of one line", "line"
        )
    words = [m[1] for m in map(_OF_SHELL, filled) if m]
    groups = sum(
        1 for a, b, c in zip(words, words[1:], words[2:], strict=False) if (a, b, c[:3]) == ("real", "user", "sys")
    )
    if not groups:
        return None
    return Claim(round(0.95 * min(1.0, 4.5 * groups / len(filled)), 2), f"{groups} times real, user and sys", "shell")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read one run of blocks; state: lines of an unfinished timing, the last number of each series, whether a mark of elision was last."""
    held = pl.DataFrame(state.get("held", []), schema={"line_no": pl.Int64, "line": pl.String}, orient="row")
    frame = pl.concat([held, *(b.frame for b in source.blocks())])
    marks = frame.filter((pl.col("line").str.len_bytes() <= 40) & pl.col("line").str.contains(ELISION))["line_no"]
    out.account("elided", marks)
    frame, rest = _without_open(frame, last=source.last)
    out.read(rest["line_no"])
    cells = _cells(frame)
    out.read(cells["line_no"])
    out.read(frame.filter(pl.col("line").str.contains(f"{GNU_REST}|{BSD_REST}|{VERBOSE_REST}"))["line_no"])
    seqs: dict[str, int] = dict(state.get("seqs", {}))
    broken = bool(state.get("broken"))
    rows = _rows(cells) if len(cells) else cells
    if len(rows):
        # A series is named by its label, else by the command at the prompt above; elided lines break it.
        # time -v prints its command: where that line is missing, it was cut away.
        bare = None if state["variant"] == "verbose" else "time"
        series = [s or source.hints.command or bare for s in rows["series"].to_list()]
        numbers = []
        for name in map(str, series):
            seqs[name] = seqs.get(name, 0) + 1
            numbers.append(seqs[name])
        before = marks.to_numpy()
        at = rows["line_no"].to_numpy()
        last = state.get("last")
        states = []
        for n, line in enumerate(at):
            previous = int(at[n - 1]) if n else last
            cut = bool(((before < line) & (before > (previous or 0))).any()) or (broken and n == 0)
            states.append("broken" if cut else None if previous is None else "assumed")
        rows = rows.with_columns(
            pl.Series("series", series, pl.String),
            pl.Series("seq", numbers),
            pl.Series("contiguous", states, pl.String),
        )
        _ambiguous(rows, out)
        # The command's output stands between its name and its times. Its complaints stay unread, as notes.
        out.add("conn_times", rows.drop("unread"), span="ends")
        spans = pl.int_ranges(pl.col("line_no"), pl.col("line_end") + 1).alias("line_no")
        inside = rows.select(spans).explode("line_no").join(frame, on="line_no").join(cells, on="line_no", how="anti")
        out.printed(inside.filter(~pl.col("line").str.contains(COMPLAINS))["line_no"])
        state["last"], broken = int(at[-1]), bool((before > at[-1]).any())
    elif len(marks):
        broken = True
    return {
        **state,
        "held": [list(r) for r in rest.iter_rows()],
        "seqs": dict(list(seqs.items())[-2000:]),
        "broken": broken,
    }


def _without_open(frame: pl.DataFrame, *, last: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off a timing at the end that the next run may continue: from its first line, unless its last line is there."""
    if last or frame.is_empty():
        return frame, frame.clear()
    tail = frame.tail(40)
    begins = tail["line"].str.contains(f"{LABEL}|{FAILED}|{RAN}|^[\\t ]*(?:real[\\t ]|User time \\()")
    ends = tail["line"].str.contains(r"^[\t ]*sys(?:tem)?[\t ]|^[\t ]*Exit status:")
    at = [i for i, there in enumerate(begins.to_list()) if there]
    if not at or ends[at[-1] :].any():
        return frame, frame.clear()
    first = at[-1]
    while first - 1 in at:
        first -= 1
    behind = len(tail) - first
    return frame.head(len(frame) - behind), frame.tail(behind)


def _cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each line with values: line_no, real, user, sys, status, killed, label, verbose, number of its timing."""
    line = pl.col("line")
    known = frame.filter(line.str.contains(f"{SHELL}|{GNU}|{ZSH}|{MKSH}|{CSH}|{LABEL}|{VERBOSE}|{FAILED}|{RAN}"))
    shell = line.str.extract_groups(SHELL).struct
    verbose = line.str.extract_groups(VERBOSE).struct
    words = {
        key: pl.coalesce(*texts)
        for key, texts in {
            "real": [
                pl.when(shell.field("1") == "real").then(shell.field("2")),
                line.str.extract(GNU, 3), line.str.extract(ZSH, 4), line.str.extract(MKSH, 1), line.str.extract(CSH, 3),
                pl.when(verbose.field("1").str.starts_with("Elapsed")).then(verbose.field("2")),
            ],
            "user": [
                pl.when(shell.field("1") == "user").then(shell.field("2")),
                line.str.extract(GNU, 1), line.str.extract(ZSH, 2), line.str.extract(MKSH, 2), line.str.extract(CSH, 1),
                pl.when(verbose.field("1").str.starts_with("User")).then(verbose.field("2")),
            ],
            "sys": [
                pl.when(shell.field("1").str.starts_with("sys")).then(shell.field("2")),
                line.str.extract(GNU, 2), line.str.extract(ZSH, 3), line.str.extract(MKSH, 3), line.str.extract(CSH, 2),
                pl.when(verbose.field("1").str.starts_with("System")).then(verbose.field("2")),
            ],
            "status": [pl.when(verbose.field("1") == "Exit status").then(verbose.field("2")), line.str.extract(FAILED, 1)],
            "killed": [line.str.extract(FAILED, 2)],
            "label": [line.str.extract(LABEL, 1), line.str.extract(ZSH, 1).replace("", None), line.str.extract(RAN, 1)],
        }.items()
    }  # fmt: skip
    cells = known.select("line_no", **words, verbose=line.str.contains(f"{LABEL}|{VERBOSE}"))
    # A timing begins with the line that names its command or reports that it failed, else with its elapsed time.
    names = (pl.col("label").is_not_null() & pl.col("real").is_null()) | (
        (pl.col("status").is_not_null() | pl.col("killed").is_not_null()) & ~pl.col("verbose")
    )
    again = names & ~names.shift(1, fill_value=False)
    first = pl.col("real").is_not_null() & ~pl.col("verbose") & ~names.shift(1, fill_value=False)
    # time -v whose first line, the command, was cut away.
    bare = pl.col("user").is_not_null() & pl.col("verbose") & ~names.shift(1, fill_value=False)
    return cells.with_columns((again | first | bare).cum_sum().alias("timing"))


def _seconds(column: str, sign: str | None) -> pl.Expr:
    """Convert `0m2.471s`, `1:02.3`, `2.47` to seconds; NULL for an ambiguous sign."""
    text = pl.col(column).str.strip_suffix("s")
    parted = text.str.extract(r"^([0-9]+)h", 1).cast(pl.Float64).fill_null(0) * 3600
    parted += text.str.extract(r"([0-9]+)m", 1).cast(pl.Float64).fill_null(0) * 60
    # After minutes there are less than sixty seconds: a comma is a decimal sign.
    rest = text.str.extract(r"m ?([0-9]*[.,]?[0-9]+)$", 1).str.replace(",", ".", literal=True).cast(pl.Float64)
    hours = text.str.extract(r"^([0-9]+):[0-9]+:", 1).cast(pl.Float64).fill_null(0) * 3600
    minutes = text.str.extract(r"(?:^|:)([0-9]+):[0-9.,]+$", 1).cast(pl.Float64) * 60
    behind = text.str.extract(r":([0-9]{2}(?:[.,][0-9]+)?)$", 1).str.replace(",", ".", literal=True).cast(pl.Float64)
    value = (
        pl.when(text.str.contains("m", literal=True)).then(parted + rest)
        .when(text.str.contains(":", literal=True)).then(hours + minutes + behind)
        .otherwise(decimal("plain", sign))
    )  # fmt: skip
    return value.round(6)


def _rows(cells: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each timing; `unread`: it has a number whose sign is ambiguous."""
    plain = pl.concat([cells[c].drop_nulls() for c in ("real", "user", "sys")]).str.strip_suffix("s")
    plain = plain.filter(~plain.str.contains("[m:]"))
    sign = decimal_sign(plain)
    for c in ("real", "user", "sys"):
        bare = pl.col(c).str.strip_suffix("s")
        cells = cells.with_columns(plain=pl.when(~bare.str.contains("[m:]")).then(bare))
        cells = cells.with_columns(_seconds(c, sign).alias(f"{c}_s"))
    firsts = [
        pl.col(c).first(ignore_nulls=True) for c in ("label", "status", "killed", "real", "real_s", "user_s", "sys_s")
    ]
    rows = cells.group_by("timing", maintain_order=True).agg(
        pl.col("line_no").first(), pl.col("line_no").last().alias("line_end"), *firsts
    )
    rows = rows.filter(pl.col("real").is_not_null())
    err = (
        pl.when(pl.col("killed").is_not_null())
        .then(pl.format("signal {}", "killed"))
        .when(pl.col("status") != "0")
        .then(pl.format("exit {}", "status"))
    )
    has_status = pl.col("status").is_not_null() | pl.col("killed").is_not_null()
    return rows.select(
        "line_no", "line_end", pl.col("label").alias("series"), pl.col("real_s").alias("elapsed_s"),
        (pl.col("user_s") + pl.col("sys_s")).round(6).alias("cpu_s"), "sys_s", err.alias("err"),
        pl.when(has_status).then(err.is_null()).alias("ok"), pl.col("real_s").is_null().alias("unread"),
    )  # fmt: skip


def _ambiguous(rows: pl.DataFrame, out: Tables) -> None:
    for first, last in rows.filter("unread").head(100).select("line_no", "line_end").iter_rows():
        out.note(
            first, last, "remark", "a comma with three digits behind it: decimal or thousands is not decided, no number"
        )
