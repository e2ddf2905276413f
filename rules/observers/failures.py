"""What fails, and what the caller did next: errors of system calls by call, target and error, and of connects.

Stands out: an error whose caller exited or repeated it `AGAIN` times, refusals and time-outs of connections, and
processes that a signal killed or that ended with a code other than 0. What a log reports is told by log-complaints.
Normal: errors that programs expect (`HARMLESS`, and ENOENT or EACCES of a path whose file name is found elsewhere in the
trace); they are left out, but of an excerpt of at most `EXCERPT` calls they and its signals are a measure: who pasted so few
lines chose them.
`failure` is set where the process exits within `NEXT` of its own calls without another success on that call and target,
repeats the failing call `AGAIN` times, or reports an error within `NEXT` lines each time that it failed, twice or more.
Worked example: connect to 10.0.0.9:1521 ECONNREFUSED, then write to stderr and exit_group(1): one failure, gave up.
Cost: the failed calls, and the last calls of each process that has one. Source: intro(2), errno(3), connect(2).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, gathered, lines_of, place
from rules.observers.traced import calls, on, seen, union
from rules.signatures.signatures import Seen
from rules.walking.targets import NAME_SERVICE_PATH
from rules.walking.threads import EXIT_NAMES, among
from rules.writing.process_words import number_words

OBSERVER = Observer(
    "failures",
    "What fails, and what did the caller do next?",
    ("syscalls", "syscall_totals", "conn_times", "sqlnet", "signals"),
    {
        "linux": "cat /proc/PID/limits; ulimit -a; ls /proc/PID/fd | wc -l",
        "solaris": "plimit PID; pfiles PID | wc -l",
        "aix": "ulimit -a; procfiles PID | wc -l",
    },
)

AGAIN = 10
"""Minimum number of like errors that are called a repetition of the failing step."""

EXITS = ("exit_group", "exit", "_exit", "rexit")
"""Calls by which a process ends on its own."""

NEXT = 12
"""Maximum number of lines from an error to the exit for which the exit is what the caller did next."""

REPORTED = 2
"""Minimum number of like errors, each of which the caller reported: one may be a remark in passing."""

REPORT = (
    r"(?i)\b(?:error|fatal|panic|severe|exception|traceback|fail(?:ed|ure)"
    r"|cannot|can't|could not|unable to|abort(?:ed|ing))\b"
)
"""Words with which programs report an error in what they write; a tracer shows the first characters of it."""

MANY = 0.05
"""Minimum part of failed calls of one name in a table of totals."""

LOOK_UPS = frozenset(
    {
        *("stat", "lstat", "stat64", "lstat64", "fstatat", "fstatat64", "newfstatat", "statx", "access", "faccessat"),
        *("faccessat2", "open", "openat", "open64", "openat64", "readlink", "readlinkat"),
    }
)
"""Calls that look for a file by its name."""

IN_VAIN, IN_VAIN_SHARE = 1000, 0.8
"""Minimum number of such calls that failed, and part of all of them: who starts, compiles or lists finds more than it misses."""

HARMLESS = (
    "EAGAIN",
    "EWOULDBLOCK",
    "EINPROGRESS",
    "EINTR",
    "ERESTARTSYS",
    "ERESTARTNOINTR",
    "ERESTARTNOHAND",
    "ERESTART_RESTARTBLOCK",
    "ERESTART",
    "ECHILD",
    "ENOTTY",
    "EEXIST",
    "EISCONN",
    "EALREADY",
    "ENODATA",
    "ENOATTR",
    "ERANGE",
    "ESRCH",
    "ESPIPE",
    "ENOSYS",
)
"""Errors that a program expects: it asks again, polls, or learns that something is absent."""

EXCERPT = 40
"""Maximum number of calls of an excerpt, about a screen."""

EXCERPT_ERRORS = 8
"""Maximum number of expected errors and signals of an excerpt that are named."""

OPTIONAL = ("ENOENT", "EACCES", "ENOTDIR", "EINVAL", "EPERM", "EOPNOTSUPP", "ENOTSUP", "ENOTSOCK", "ENOTCONN")
"""Errors of things that are often optional: they count only if the caller then gave up."""

GROUP = [*PLACE_COLUMNS, "name", "kind", "target", "err"]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield failures: those that ended a step first, then by time and number."""
    all_ = gathered(case, (_calls, _totals, _connects, _sqlnet, _ends, _of_excerpts))
    yield from sorted(all_.found, key=lambda s: (not s.failure, -(s.seconds or 0.0), -s.n))
    if all_.late:
        raise all_.late


def _calls(case: CaseTables) -> Iterator[Sighting]:
    failed = pl.col("err").is_not_null() & ~pl.col("err").is_in(HARMLESS)
    # A time-out is how polls and locks end when nothing comes: no failure of theirs.
    failed &= ~((pl.col("err") == "ETIMEDOUT") & pl.col("name").str.contains("futex|lwp_|cond|sem|umtx"))
    # Without a local daemon for names, every look-up asks for its socket first and goes on.
    about_names = pl.coalesce("path", "args").fill_null("").str.contains(NAME_SERVICE_PATH)
    failed &= ~((pl.col("err") == "ENOENT") & (pl.col("name") == "connect") & about_names)
    parts = list(calls(case, failed))
    if not parts:
        return
    rows = pl.concat(parts)
    pids = among("pid", rows["pid"])
    ends = case.scan("syscalls", ["artifact_id", "pid", "line_no", "args"], pids & pl.col("name").is_in(EXIT_NAMES))
    bad = ends.filter(~pl.col("args").fill_null("0").str.contains(r"^\s*(0x)?0*\s*$")).collect(engine="streaming")
    exits = bad.group_by("artifact_id", "pid").agg(pl.col("line_no").max().alias("exit"))
    rows = rows.join(exits, on=["artifact_id", "pid"], how="left", nulls_equal=True)
    found = pl.col("exit").is_between(pl.col("line_no"), pl.col("line_no") + NEXT)
    rows = rows.with_columns(found.fill_null(value=False).alias("gave_up"))
    # Of several errors before an exit, only the last one of its process can be what ended it.
    last = pl.col("line_no") == pl.col("line_no").max().over("artifact_id", "pid")
    rows = rows.with_columns((pl.col("gave_up") & last).alias("gave_up"))
    rows = _with_reports(case, rows)
    groups = (
        rows.group_by(GROUP)
        .agg(pl.len().alias("n"), pl.col("gave_up").any(), pl.col("report").is_not_null().all().alias("reported"))
        .with_columns(pl.col("err").is_in(OPTIONAL).alias("optional"))
    )
    groups = groups.with_columns(pl.col("reported") & (pl.col("n") >= REPORTED))
    groups = groups.filter(pl.col("gave_up") | ~pl.col("optional") | (pl.col("n") >= AGAIN) | pl.col("reported"))
    for group in groups.sort("gave_up", "optional", "n", descending=[True, False, True]).head(30).iter_rows(named=True):
        same = rows.filter(*(pl.col(c).eq_missing(pl.lit(group[c], rows.schema[c])) for c in GROUP)).sort("line_no")
        first = same.filter("gave_up").row(0, named=True) if group["gave_up"] else same.row(0, named=True)
        again = group["n"] >= AGAIN and not group["optional"]
        what = (
            ", then the process exited with an error"
            if group["gave_up"]
            else ", and the caller reported an error each time"
            if group["reported"]
            else ", tried again"
            if group["n"] > 1
            else ""
        )
        times = f"{group['n']:,} times " if group["n"] > 1 else ""
        lines = list(_line(first["artifact_id"], first["line_no"], "error"))
        if group["gave_up"]:
            lines += _line(first["artifact_id"], first["exit"], "exit")
        elif group["reported"]:
            lines += _line(first["artifact_id"], first["report"], "report")
            lines += _line(first["artifact_id"], same["line_no"][-1], "last error")
        elif group["n"] > 1:
            lines += _line(first["artifact_id"], same["line_no"][-1], "last error")
        timed = same.filter(pl.col("own_s") >= 0)
        seconds = union(timed) if timed.height else None
        took = f", {figure(seconds, 's')} together" if seconds and seconds >= 0.1 else ""
        yield Sighting(
            "failure",
            on(first),
            f"{on(first)} failed {times}with {first['err']}{what}{took}",
            "errors_count",
            float(group["n"]),
            "count",
            tuple(lines),
            **place(first),
            against="no error",
            against_value=0.0,
            seconds=seconds or None,
            n=group["n"],
            seen=seen(first, errno=first["err"]),
            failure=bool(group["gave_up"] or again or group["reported"]),
        )


def _with_reports(case: CaseTables, rows: pl.DataFrame) -> pl.DataFrame:
    """Add `report`: the line soon after an error in which its process writes an error message; NULL if none."""
    # A trace of a single process prints no pid.
    whose = pl.col("pid").fill_null(-1)
    pids = whose.is_in(rows["pid"].fill_null(-1).unique().implode())
    writes = pl.col("name").str.contains("^(?:p?write(?:64|v)?|send(?:to|msg)?)$")
    says = pids & writes & pl.col("args").fill_null("").str.contains(REPORT)
    said = case.scan("syscalls", ["artifact_id", "pid", "line_no", "args"], says).select(
        "artifact_id", whose.alias("whose"), pl.col("line_no").alias("report")
    )
    reports = said.sort("report").collect(engine="streaming")
    joined = (
        rows.with_columns(whose.alias("whose"))
        .sort("line_no")
        .join_asof(
            reports,
            left_on="line_no",
            right_on="report",
            by=["artifact_id", "whose"],
            strategy="forward",
            coalesce=False,
            check_sortedness=False,
        )
        .drop("whose")
    )
    near = pl.col("report") - pl.col("line_no") <= NEXT
    return joined.with_columns(pl.when(near).then("report").alias("report"))


def _of_excerpts(case: CaseTables) -> Iterator[Sighting]:
    """Yield the expected errors and the signals of short traces, as a measure."""
    key = [*PLACE_COLUMNS]
    rows = case.scan("syscalls", [*key, "line_no", "name", "err"], pl.col("name").is_not_null())
    short = rows.group_by(key).agg(pl.len().alias("all")).filter(pl.col("all") <= EXCERPT).collect(engine="streaming")
    if short.is_empty():
        return
    mine = pl.col("artifact_id").is_in(short["artifact_id"].unique().implode())
    errors = (
        rows.filter(mine & pl.col("err").is_in(HARMLESS))
        .select(*key, "line_no", pl.format("{} {}", "name", "err").alias("what"))
        .collect(engine="streaming")
    )
    signals = case.scan("signals", [*key, "line_no", "signal"], mine & pl.col("signal").is_not_null())
    signals = signals.select(*key, "line_no", pl.col("signal").alias("what")).head(EXCERPT * len(short))
    both = pl.concat([errors, signals.collect(engine="streaming")]).sort("line_no")
    for row in short.sort(key, nulls_last=True).iter_rows(named=True):
        here = pl.all_horizontal(pl.col(c).eq_missing(pl.lit(row[c], both.schema[c])) for c in key)
        held = both.filter(here).unique(["line_no", "what"], keep="first", maintain_order=True)
        if not held.filter(pl.col("what").str.contains(" ")).height:
            continue
        named = list(dict.fromkeys(held["what"].to_list()))[:EXCERPT_ERRORS]
        yield Sighting(
            "expected-errors",
            named[0],
            f"Of {row['all']:,} calls, the errors and signals in their order: {', '.join(named)}",
            "expected_errors_count",
            float(held.height),
            "count",
            tuple(
                Lines(row["artifact_id"], no, no, what)
                for no, what in held.select("line_no", "what").head(EXCERPT_ERRORS).iter_rows()
            ),
            **place(row),
            against="all calls of the excerpt",
            against_value=float(row["all"]),
            n=held.height,
            normal=True,
        )


def _ends(case: CaseTables) -> Iterator[Sighting]:
    """Yield how processes ended: by a signal, or with a code that says that something failed."""
    columns = [*PLACE_COLUMNS, "line_no", "t_local", "pid", "event", "signal", "status"]
    ended = pl.col("event").is_in(["exited", "killed"])
    rows = case.scan("signals", columns, ended).with_columns(
        pl.when(pl.col("event") == "killed")
        .then(pl.format("was killed by {}", pl.col("signal").fill_null("a signal")))
        .when(pl.col("status") > 0)
        .then(pl.format("ended with code {}", "status"))
        .alias("how")
    )
    key = [*PLACE_COLUMNS, "event", "signal", "how"]
    groups = (
        rows.filter(pl.col("how").is_not_null())
        .group_by(key)
        .agg(
            pl.len().alias("n"),
            pl.col("pid").first(),
            pl.col("line_no").min(),
            pl.col("line_no").max().alias("last"),
            pl.col("t_local").max(),
        )
        .sort("n", "line_no", descending=[True, False])
        .head(5)
        .collect(engine="streaming")
    )
    own = _exit_calls(case, groups)
    for row in groups.iter_rows(named=True):
        who = number_words(row["pid"]) if row["n"] == 1 else f"{row['n']:,} processes"
        how = row["how"].replace("was killed", "were killed") if row["n"] > 1 else row["how"]
        lines = own.get((row["artifact_id"], row["pid"]), ()) + _line(row["artifact_id"], row["line_no"], "end")
        if row["last"] != row["line_no"]:
            lines += _line(row["artifact_id"], row["last"], "last end")
        yield Sighting(
            "end",
            who,
            f"{who} {how}",
            "processes_count",
            float(row["n"]),
            "count",
            lines,
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="an end with code 0",
            against_value=0.0,
            n=row["n"],
            seen=({"code": str(row["signal"])},) if row["signal"] else (),
        )


def _exit_calls(case: CaseTables, ends: pl.DataFrame) -> dict[tuple[int, int], tuple[Lines, ...]]:
    """Return (artifact, pid) -> line of the exit call, for those processes that exited by themselves."""
    pids = ends.filter(pl.col("event") == "exited")["pid"].drop_nulls().unique().to_list()
    if not pids:
        return {}
    calls = pl.col("name").is_in(EXITS) & pl.col("pid").is_in(pids)
    rows = case.scan("syscalls", ["artifact_id", "pid", "line_no", "name"], calls).collect(engine="streaming")
    made: dict[tuple[int, int], tuple[Lines, ...]] = {}
    for artifact, pid, line, name in rows.sort("line_no").iter_rows():
        made[artifact, pid] = _line(artifact, line, f"{name}: the process ends on its own")
    return made


def _line(artifact: int, line: int, role: str) -> tuple[Lines, ...]:
    return (Lines(artifact, line, line, role),)


def _totals(case: CaseTables) -> Iterator[Sighting]:
    """Yield calls that often fail according to a table of totals, which does not name the errors."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "line_end", "name", "n", "errors", "total_s"]
    rows = case.table("syscall_totals", columns)
    whole = pl.col("total_s").sum().over("artifact_id", "part")
    rows = rows.with_columns(pl.when(whole > 0).then(pl.col("total_s") / whole).alias("share"))
    often = (pl.col("errors") >= AGAIN) & (pl.col("n") > 0) & (pl.col("errors") >= MANY * pl.col("n"))
    for row in rows.filter(often).sort("errors", descending=True).head(5).iter_rows(named=True):
        looked_up = row["name"] in LOOK_UPS and row["errors"] >= IN_VAIN
        in_vain = looked_up and row["errors"] >= IN_VAIN_SHARE * row["n"]
        yield Sighting(
            "failure",
            row["name"],
            f"{row['name']} failed {row['errors']:,} times in {row['n']:,} calls",
            "errors_count",
            float(row["errors"]),
            "count",
            lines_of(row, "total"),
            **place(row),
            against="no error",
            against_value=0.0,
            share=row["share"] if in_vain else None,
            n=row["errors"],
            seen=(*(({"event": "look-ups-in-vain"},) if in_vain else ()), {"call": row["name"]}),
        )


def _connects(case: CaseTables) -> Iterator[Sighting]:
    """Yield failed connects, pings or commands of a series."""
    rows = (
        case.scan("conn_times", [*PLACE_COLUMNS, "line_no", "series", "ok", "err"])
        .group_by(*PLACE_COLUMNS, "series")
        .agg(
            pl.len().alias("all"),
            (~pl.col("ok")).sum().alias("n"),
            pl.col("err").drop_nulls().first(),
            pl.col("line_no").filter(~pl.col("ok")).head(3).alias("lines"),
        )
    )
    for row in rows.filter(pl.col("n") > 0).top_k(5, by="n").collect(engine="streaming").iter_rows(named=True):
        subject = row["series"] or "a command"
        error = f" with {row['err']}" if row["err"] else ""
        yield Sighting(
            "failure",
            subject,
            f"{subject} failed {row['n']:,} times of {row['all']:,}{error}",
            "errors_count",
            float(row["n"]),
            "count",
            tuple(c for n in row["lines"] for c in _line(row["artifact_id"], n, "failed")),
            **place(row),
            against="no error",
            against_value=0.0,
            share=row["n"] / row["all"],
            n=row["n"],
            seen=_known_by(subject, row["err"]),
            failure=True,
        )


def _known_by(subject: str, err: str | None) -> tuple[Seen, ...]:
    """Return what names the failure of a series: its subject is a call of the system only if the error is one of a call.

    >>> _known_by("time", "exit 7"), _known_by("connect", "ECONNREFUSED")[0]
    (({'code': 'exit 7'},), {'call': 'connect', 'errno': 'ECONNREFUSED'})
    """
    if not err:
        return ()
    called: tuple[Seen, ...] = ({"call": subject, "errno": err},) if re.fullmatch(r"E[A-Z0-9]{2,15}", err) else ()
    return (*called, {"code": err})


def _sqlnet(case: CaseTables) -> Iterator[Sighting]:
    """Yield error codes of Oracle Net traces."""
    rows = case.scan("sqlnet", [*PLACE_COLUMNS, "line_no", "func", "err"], pl.col("err").is_not_null())
    groups = rows.group_by(*PLACE_COLUMNS, "err").agg(
        pl.len().alias("n"), pl.col("line_no").min(), pl.col("func").sort_by("line_no").first()
    )
    for row in groups.top_k(5, by="n").collect(engine="streaming").iter_rows(named=True):
        where = f" in {row['func']}" if row["func"] else ""
        text = f"{row['err']}{where}, {row['n']:,} time{'s' if row['n'] > 1 else ''}"
        lines = _line(row["artifact_id"], row["line_no"], "first")
        yield Sighting(
            "failure",
            row["err"],
            text,
            "errors_count",
            float(row["n"]),
            "count",
            lines,
            **place(row),
            against="no error",
            against_value=0.0,
            n=row["n"],
            seen=({"code": row["err"]},),
        )
