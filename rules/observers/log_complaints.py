"""What a log complains of: its lines by template, how often, from when to when, and whether they came in a burst.

Standing out: templates of lines of severity error or worse (of a failed operation, an error code that says so, or, where
a line has no severity, words that say so); then warnings and what a signature knows. Normal: all other lines, and those
that only continue another (DETAIL, STATEMENT, HINT ...).
A line may say itself how often it came ("x44 over 2d1h"). What the next try repairs (a name server's time-out) and what
has at most `RARE` of a long log is told by its part of the log: the other lines show that it did.
Worked example: 12 lines FATAL of a PostgreSQL log, 8 of them "remaining connection slots are reserved ...", all within
2 s: n 8, share 0.67, "8 of them within one minute" if the log covers an hour.
Cost: one streaming pass; memory for one row per template and minute. Source: RFC 5424 6.2.1 (severities); syslog(3);
PostgreSQL manual 20.8 (message severity levels); AIX errpt (types P, T, I, U); He et al., Drain (ICWS 2017) for
grouping by what stays constant, see `log_templates`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.log_templates import template
from rules.observers.log_times import between, quoted
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.mechanisms import mechanisms
from rules.signatures.signatures import Seen, recognise

OBSERVER = Observer(
    "log-complaints",
    "What does the log complain of?",
    ("logs",),
    {
        "linux": "journalctl --since TIME --until TIME --no-pager; dmesg -T",
        "solaris": "/var/adm/messages of the same minutes; fmdump -eV",
        "aix": "errpt -a",
        "*": "the log of the other side of the same minutes",
    },
)

ERROR = r"(?i)^(?:[\w-]+[./:])?\[?(?:emerg(?:ency)?|panic|alert|crit(?:ical)?|err(?:or)?|fatal|severe|major|fail(?:ure|ed)?|incident_error|f|e)\]?$"
"""Severities of an error or worse."""

WARNING = r"(?i)^(?:[\w-]+[./:])?\[?(?:warn(?:ing)?|w)\]?$"
"""Severities of a warning."""

ENDED = r"(?i)^(?:[\w-]+[./:])?\[?(?:emerg(?:ency)?|panic|fatal)\]?$"
"""Severities of lines after which the one that wrote them is gone."""

CONTINUED = r"(?i)^(?:detail|hint|context|statement|query|location)$"
"""Severities of lines that belong to the one before."""

PERMANENT = ("P", "PERM", "PERF", "PEND")
"""Types of an entry of AIX's errpt that is an error which was not recovered from, or is about to be one."""

WORDS = (
    r"(?i)\b(?:error|fatal|panic|fail(?:ed|ure|s)?|cannot|can't|could not|couldn't|unable to|refused|denied|rejected|timed? ?out"
    r"|not respond\w*|unreachable|out of (?:memory|space)|no space left|no such device|killed process|corrupt\w*|abort\w*|terminated"
    r"|exceeded|too many|deadlock|not complete|blocked for more|lockup|stall(?:s|ed)?|overflow|dropp(?:ed|ing)|dropped|lost|reset by"
    r"|exhausted|reserved for|insufficient|throttl\w+|degraded|offline|retrying|retries|hung|unresponsive|exception|traceback"
    r"|segfault|segmentation fault|evict\w*|expired|closed by (?:remote|peer|foreign)|temporarily unavailable|not permitted|no route to host"
    r"|unhealthy|back-?off|crash\w*|servfail|status=[1-9]\w*|code=killed|exited? (?:with )?(?:code|status)[ =:]+[1-9]\d*|bus error"
    r"|bad (?:udp|tcp) cksum)\b|Exited \([1-9]\d*\)"
)
"""Words with which a line without a severity complains."""

NOT_WORDS = (
    r"(?i)\b(?:no|0|zero|without(?: any)?) (?:\w+ )?(?:errors?|failures?|drops|retries|timeouts?)\b"
    r"|\b(?:errors?|failed|failures?|dropped|retries|lost)[\"']?[=: ]+\"?0\b|\b(?:error|fail)\w*[-_ ]?log\b"
    r"|\btime-?out(?:[\"']?[=:]| (?:set|is|was|of|to|value|default))|\b(?:err|error)=\"?(?:<nil>|nil|null|none|\"|$)"
    r"|\bsucceeded (?:after|on|at) |\bretry succeeded|\b(?:recovered|reconnected) (?:from|after|to)\b"
)
"""Words that tell of no error: "0 errors", "no failures", "errors=0", a time-out that is set, a retry that succeeded."""

HARMLESS = r"(?i)\bdeprecat\w+|\bwill be removed in\b|\bis obsolete\b|\bexperimental\b|\b(?:retry |re-?connect\w* )?succeeded\b"
"""Words of warnings that tell of nothing that went wrong."""

ANNOUNCES = r"(?:Error: [0-9]{1,6}, Severity: [0-9]{1,2}, State: [0-9]{1,3}\.?|Msg [0-9]{1,6}, Level [0-9]{1,2}, State [0-9]{1,3}.{0,200})\s*$"
"""The number of a message of SQL Server, whose words are the next line: both are one complaint."""

NO_ERROR = r"^0+$"
"""Codes that say that all is well, such as the SQLSTATE 00000; any other is worth a line where nothing else judges it."""

ADDRESS = r"\b(\d{1,3}(?:\.\d{1,3}){3})\b"
"""An address in a line: lines of one form may be about several."""

Place = tuple[int, int]
"""An artifact and a line of it."""

Known = tuple[dict[str, Any], str, bool, bool]
"""A template, its kind, whether a signature names its mechanism outright, and whether none names any."""

UNKNOWN_SHARE = 0.3
"""Factor for what is no error: warnings, and lines that only a signature knows."""

TEMPLATES = 2_000
"""Maximum number of templates of a log that are looked at, those that complain and by count."""

BURST_S = 60.0
"""Length of a window in which lines of a burst come."""

BURST_TIMES = 5.0
"""Minimum number of times that a burst exceeds the mean of the windows of the log."""

BURST_LINES = 10
"""Minimum number of lines of a burst: fewer come together by chance."""

LEFT_OUT = r"^(?:\[ *[0-9.]+\] )?[A-Za-z0-9_]+: ([0-9]+) callbacks suppressed"
"""Line with which the kernel of Linux says how many messages it left out before the next one (lib/ratelimit.c)."""

QUOTED, QUOTED_END = 160, 45
"""Maximum number of characters of a line in a headline, and how many of them are its end: there stands the reason."""

SAID = r"\(x([0-9]{1,7})(?: over [0-9dhms.]{1,16})?\)\s*$|\bmessage repeated ([0-9]{1,7}) times?: \["
"""How often a line says that it came: events of Kubernetes ("x44 over 2d1h"), rsyslog and syslog-ng."""

SPAN = re.compile(r"\(x[0-9]+ over ([0-9dhms.]+)\)\s*$")
"""In what time it came so often."""

RARE = 0.02
"""Maximum part of the lines of a log that a failure which the next try repairs has, where the others show that it did."""

RARE_OF = 50
"""Minimum number of lines of a log before a few of them are rare."""

CONTINUING = 3
"""Maximum number of lines behind a complaint that are told with it."""

MOST_QUOTED = 4_000
"""Maximum number of characters of a line that are looked at for its end."""

MOST_CONTINUING = 20_000
"""Maximum number of lines that continue others, of which some are told."""

QUOTED_TOO = 80
"""Maximum number of characters of a line that is told with another."""

STAMPED_S = 1000.0
"""Seconds from the start up to which a time is told as its stamp has it."""

FEW = 20
"""Up to so many lines the part of them is said as a count: a percentage of three lines says no more."""

APART_LINES = 20
"""Maximum number of lines between two single complaints without a stamp that are told together."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the complaints of a log by template: errors first, the most frequent first."""
    group = [*PLACE_COLUMNS, "code", "template"]
    columns = [*PLACE_COLUMNS, "line_no", "line_end", "t_local", "source", "code", "severity", "ok", "text"]
    rows = case.scan("logs", columns, pl.col("text").is_not_null() | pl.col("code").is_not_null())
    text = pl.col("text").fill_null(pl.col("code"))
    stamp = pl.when(pl.col("t_local").is_finite()).then("t_local")
    counted = (
        rows.with_columns(_rank().alias("rank"), stamp.alias("t_local"), template(text).alias("template"))
        .with_columns((pl.col("t_local") / BURST_S).floor().alias("window"))
        .group_by([*group, "window"])
        .agg(
            pl.len().alias("n"),
            _said(text).sum().alias("said"),
            pl.col("rank").max(),
            pl.col("severity").str.contains(ENDED).fill_null(False).any().alias("ended"),
            pl.col("severity").first(),
            text.first().alias("text"),
            text.str.extract(ADDRESS, 1).min().alias("address_from"),
            text.str.extract(ADDRESS, 1).max().alias("address_to"),
            pl.col("line_no").min().alias("first"),
            pl.col("line_no").max().alias("last"),
            pl.col("line_end").get(pl.col("line_no").arg_min()),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
    )
    most = pl.when(pl.col("window").is_not_null()).then("n").fill_null(0)
    made = (
        counted.group_by(group)
        .agg(
            pl.col("n", "said").sum(),
            pl.col("rank").max(),
            pl.col("ended").any(),
            *(pl.col(c).get(pl.col("first").arg_min()) for c in ("severity", "text", "line_end")),
            pl.col("first").min(),
            pl.col("last").max(),
            pl.col("address_from").min(),
            pl.col("address_to").max(),
            pl.col("t_from").min(),
            pl.col("t_to").max(),
            most.max().alias("peak"),
            pl.col("first").get(most.arg_max()).alias("peak_line"),
        )
        .with_columns(
            pl.col("n").sum().over("artifact_id").alias("lines"),
            pl.col("t_from").min().over("artifact_id").alias("begins"),
            pl.col("t_to").max().over("artifact_id").alias("ends"),
        )
        .sort("rank", "n", "first", descending=[True, True, False])
        .head(TEMPLATES)
        .collect(engine="streaming")
    )
    since_start = case.table("artifacts", ["artifact_id", "clock_kind"]).filter(pl.col("clock_kind") == "boot-relative")
    made = made.with_columns(pl.col("artifact_id").is_in(since_start["artifact_id"].implode()).alias("since_start"))
    return sorted(
        _sightings(made, _continuing(case), _left_out(case)),
        key=lambda s: (s.kind != "error", -(s.share or 0.0), s.lines[0].line_from),
    )


def _said(text: pl.Expr) -> pl.Expr:
    """Return the number of occurrences that a line states for itself; 1 if it states none."""
    found = text.str.extract_groups(SAID)
    times = pl.coalesce(found.struct[0], found.struct[1]).cast(pl.Int64, strict=False)
    return times.fill_null(1).clip(1)


def _rank() -> pl.Expr:
    """Return 2 for an error or worse, 1 for a warning, 0 for all others."""
    severity = pl.col("severity").str.strip_chars()
    number = severity.str.extract(r"^<?(\d{1,3})>?$", 1).cast(pl.Int64) % 8
    text = pl.col("text").fill_null("")
    says = text.str.contains(WORDS) & ~text.str.contains(NOT_WORDS)
    continued = severity.str.contains(CONTINUED).fill_null(False)
    error = severity.str.contains(ERROR).fill_null(False) | (number <= 3).fill_null(False)
    error |= (pl.col("source") == "errpt").fill_null(False) & severity.is_in(PERMANENT).fill_null(False)
    error |= ~pl.col("ok").fill_null(True)
    warning = severity.str.contains(WARNING).fill_null(False) | (number == 4).fill_null(False)
    unsaid = severity.is_null() & pl.col("ok").is_null()
    coded = (unsaid & ~pl.col("code").str.contains(NO_ERROR)).fill_null(False)
    return (
        pl.when(continued | text.str.contains(ANNOUNCES))
        .then(0)
        .when(error | (unsaid & says))
        .then(2)
        .when((warning & ~text.str.contains(HARMLESS)) | coded | (says & ~(number > 4).fill_null(False)))
        .then(1)
        .otherwise(0)
    )


def _sightings(
    made: pl.DataFrame, continuing: Mapping[Place, tuple[str, str]], left_out: Mapping[Place, int]
) -> Iterator[Sighting]:
    known: list[Known] = []
    complaints: dict[int, int] = {}
    for row in made.iter_rows(named=True):
        strengths = {found.strength for one in _names(row) for found in recognise(**one)}
        if row["rank"] == 0 and not strengths & {"mechanism", "shape"}:
            continue
        # What a signature names outright is a complaint too, whatever severity the program gave it.
        kind = "error" if row["rank"] == 2 or "mechanism" in strengths else ("known", "warning")[row["rank"]]
        known.append((row, kind, "mechanism" in strengths, not strengths & {"mechanism", "shape"}))
        if kind == "error":
            complaints[row["artifact_id"]] = complaints.get(row["artifact_id"], 0) + row["n"]
    joins = _together([row for row, *_ in known if row["n"] == 1])
    reports = {**_reports(known, joins), **_followed(known)}
    for row, kind, *_ in known:
        key = (row["artifact_id"], row["first"])
        whole = {
            **row,
            "errors": complaints.get(row["artifact_id"], 0),
            "joins": joins.get(key),
            "of_event": reports.get(key, row["n"]),
            "behind": _behind(row, continuing),
            "left_out": left_out.get((row["artifact_id"], row["first"] - 1)),
            "repaired": any(
                mechanisms()[found.mechanism].retried
                for one in _names(row)
                for found in recognise(**one)
                if found.mechanism
            ),
        }
        yield _sighting(whole, kind, _names(row))


def _followed(known: Sequence[Known]) -> dict[Place, int]:
    """Return place of a log's first complaint -> number of later ones, if only the first names its mechanism.

    A program that cannot start a process says why first, and then repeatedly that nothing was started.
    """
    events: dict[int, list[tuple[Mapping[str, Any], bool, bool]]] = {}
    for row, kind, named, plain in known:
        if kind == "error":
            events.setdefault(row["artifact_id"], []).append((row, named, plain))
    made = {}
    for artifact, lines in events.items():
        first = min((row for row, _, _ in lines), key=lambda r: r["first"])
        after = [row for row, _, plain in lines if plain and row is not first and _near(first, row)]
        named_ = [row for row, named, _ in lines if named]
        if named_ == [first] and after and len(after) == len(lines) - 1:
            made[artifact, first["first"]] = first["n"] + sum(row["n"] for row in after)
    return made


def _reports(known: Sequence[Known], joins: Mapping[tuple[int, int], str]) -> dict[Place, int]:
    """Return place of a line that names its mechanism -> number of complaints of its event.

    Single unnamed lines near it belong to its report (registers, counters, a dump), if no other line near it names a
    mechanism.
    """
    events: dict[tuple[int, str], list[tuple[Place, bool, bool]]] = {}
    for row, kind, named, plain in known:
        key = (row["artifact_id"], row["first"])
        if key in joins and kind == "error":
            events.setdefault((key[0], joins[key]), []).append((key, named, plain))
    made = {}
    for lines in events.values():
        names = [key for key, named, _ in lines if named]
        if len(names) == 1:
            made[names[0]] = 1 + sum(plain for _, _, plain in lines)
    return made


def _together(single: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int], str]:
    """Return complaint -> name of its event; complaints that occurred once, within one minute, are one event."""
    made: dict[tuple[int, int], str] = {}
    last: Mapping[str, Any] | None = None
    for row in sorted(single, key=lambda r: (r["artifact_id"], r["first"])):
        key = (row["artifact_id"], row["first"])
        near = last is not None and last["artifact_id"] == row["artifact_id"] and _near(last, row)
        made[key] = (
            made[last["artifact_id"], last["first"]] if last is not None and near else f"since line {row['first']}"
        )
        last = row
    return made


def _near(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if one["t_from"] is None or other["t_from"] is None:
        return bool(other["first"] - one["first"] <= APART_LINES)
    return bool(abs(other["t_from"] - one["t_from"]) <= BURST_S)


def _names(row: Mapping[str, Any]) -> tuple[Seen, ...]:
    text = str(row["text"])
    named: list[Seen] = [{"code": row["code"]}] if row["code"] else []
    return (*named, {"log": text})


def _burst(row: Mapping[str, Any]) -> bool:
    if row["peak"] < BURST_LINES or row["begins"] is None or row["ends"] is None:
        return False
    windows = max(1.0, (row["ends"] - row["begins"]) / BURST_S)
    return bool(row["peak"] >= BURST_TIMES * row["n"] / windows)


def with_end(text: str) -> str:
    """Return a line as a headline quotes it; a long one loses its middle, because the reason is often at the end.

    >>> with_end("x" * 300 + " starting the worker: no such file")[-38:]
    'x... starting the worker: no such file'
    """
    whole = quoted(text, MOST_QUOTED)
    if len(whole) <= QUOTED:
        return whole
    end = whole[-QUOTED_END:]
    return f"{whole[: QUOTED - QUOTED_END - 4]}... {end.split(' ', 1)[-1] if ' ' in end else end}"


def _continuing(case: CaseTables) -> dict[Place, tuple[str, str]]:
    """Return place -> (severity, text) of lines that only continue another line, such as DETAIL of PostgreSQL."""
    goes_on = pl.col("severity").str.strip_chars().str.contains(CONTINUED)
    columns = ["artifact_id", "line_no", "severity", "text"]
    rows = case.scan("logs", columns, goes_on.fill_null(False) & pl.col("text").is_not_null()).head(MOST_CONTINUING)
    return {(a, line): (severity, text) for a, line, severity, text in rows.collect(engine="streaming").iter_rows()}


def _left_out(case: CaseTables) -> dict[Place, int]:
    """Return place of a remark -> number of messages that the kernel says it suppressed before the next line."""
    rows = case.scan("logs", ["artifact_id", "line_no", "text"], pl.col("text").str.contains(LEFT_OUT).fill_null(False))
    n = pl.col("text").str.extract(LEFT_OUT).cast(pl.Int64, strict=False)
    held = rows.select("artifact_id", "line_no", n).drop_nulls().head(MOST_CONTINUING).collect(engine="streaming")
    return {(a, line): n for a, line, n in held.iter_rows()}


def _behind(row: Mapping[str, Any], lines: Mapping[Place, tuple[str, str]]) -> list[tuple[int, str, str]]:
    """Return number, severity and text of the lines that continue a complaint's first line; statements come last."""
    found: list[tuple[int, str, str]] = []
    at = max(row["first"], row["line_end"] or 0)
    while len(found) < CONTINUING and (more := lines.get((row["artifact_id"], at + 1))):
        at += 1
        found.append((at, more[0].strip().upper(), quoted(more[1], QUOTED_TOO)))
    return sorted(found, key=lambda x: x[1] in ("STATEMENT", "QUERY"))


def _part(n: int, of: int) -> str:
    return f"{n} of {of}" if of <= FEW else f"{figure(100 * n / of, '%')} of the {of:,}"


def _sighting(row: Mapping[str, Any], kind: str, seen: tuple[Seen, ...]) -> Sighting:
    said = with_end(row["text"])
    code = f"{row['code']}: " if row["code"] and row["code"] not in said else ""
    n, burst = row["n"], _burst(row)
    times = "Once" if row["said"] == 1 else f"{row['said']:,} times"
    if row["said"] > n:
        times += (
            f" over {span[1]}" if n == 1 and (span := SPAN.search(str(row["text"]))) else f" by {n:,} lines" * (n > 1)
        )
    if n > 1 and row["t_from"] is not None and row["t_to"] > row["t_from"]:
        times += f" in {between(row['t_to'] - row['t_from'], row['t_from'], row['t_to'])}"
    if row["said"] == 1 and row["since_start"] and row["t_from"] is not None:
        # A kernel's log has its stamps in seconds: up to here they are still found by eye.
        at = f"{row['t_from']:,.3f} s" if row["t_from"] < STAMPED_S else figure(row["t_from"], "s")
        times += f", {at} after the start"
    if row["left_out"]:
        times += f", {row['left_out']:,} more left out by the log before it"
    if burst:
        times += f", {row['peak']:,} of them within one minute"
    errors, lines = row["errors"], row["lines"]
    of: str | None
    if kind == "error" and row["repaired"] and lines >= RARE_OF and n <= RARE * lines:
        share, of = n / lines, f"{_part(n, lines)} lines"
    elif kind == "error":
        share = row["of_event"] / errors
        of = f"{_part(n, errors)} lines that complain" if errors > n else None
    else:
        share = UNKNOWN_SHARE * n / lines
        of = f"{_part(n, lines)} lines" if lines > n else None
    if row["of_event"] > n:
        more = row["of_event"] - n
        of = f"{of}; {more:,} more {'lines around it name' if more > 1 else 'line around it names'} no other reason"
    other = next((a for a in (row["address_from"], row["address_to"]) if a and a not in str(row["text"])), None)
    of = "; ".join(
        filter(None, (of, f"some of them name another address, such as {other}" if other and n > 1 else None))
    )
    cited = [(row["first"], "first" if n > 1 else said)]
    if burst and row["peak_line"] not in (row["first"], row["last"]):
        cited.append((row["peak_line"], "most within one minute"))
    if row["last"] != row["first"]:
        cited.append((row["last"], "last"))
    ends, text = row["line_end"] or row["first"], str(row["text"])
    if ends > row["first"] and text.count("\n") == ends - row["first"]:
        cited.append((ends, quoted(text.rsplit("\n", 1)[1], QUOTED_TOO)))
    cited += [(row["first"] - 1, "left out before")] if row["left_out"] else []
    cited += [(line, f"{name}: {said_too}") for line, name, said_too in row["behind"]]
    return Sighting(
        kind=kind,
        subject=f"{code}{said}",
        headline=f'{times}: "{code}{said}"' + (f", {of}" if of else ""),
        name="lines_count" if row["said"] == n else "times_count",
        value=float(row["said"]),
        unit="count",
        lines=tuple(Lines(row["artifact_id"], line, line, role) for line, role in cited),
        **place(row),
        t_from=row["t_from"],
        t_to=row["t_to"],
        against="all lines that complain" if kind == "error" else "all lines",
        against_value=float(errors if kind == "error" else lines),
        share=min(1.0, share),
        n=n,
        seen=seen,
        failure=bool(row["ended"]) and kind == "error",
        joins=row["joins"],
        short=f'"{quoted(code + said, QUOTED_TOO)}"',
        beside=f'{row["behind"][0][1]}: "{row["behind"][0][2]}"' if row["behind"] else None,
    )
