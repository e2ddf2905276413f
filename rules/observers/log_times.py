"""Times in logs: what a line says that something took, gaps between lines, and the time between two lines of one id.

A line tells of a time if it names one behind a word such as took, elapsed, duration, waited or after, in a field such as
duration_ms, as a pause of a garbage collector, or as the timers of HAProxy. A time that is planned or set ("expires in",
"timeout=30 s") is none. Lines of the same template are told together, the longest first.
Two lines with the same id, the first of which begins something (received, sent, start) and the second ends it (answered,
done, failed), are as far apart as the step took; a session at rest is none.
Worked example: "slow query (duration=15021 ms)" is 15.021 s; "id=4711 received" and 15.130 s later "id=4711 answered".
Cost: one streaming pass each; what is kept is one row per template, and the lines with an id that are a second apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.log_templates import template
from rules.observers.observer import FELT_S, MOST, Lines, Sighting, figure, place
from rules.signatures.signatures import Seen, recognise

TIMES = 10.0
"""Minimum ratio of a gap in a log to the middle gap of the same process: below that, gaps spread like this anyway."""

GAP_S = 1.0
"""Minimum gap in seconds between two lines of a log: most logs have stamps of whole seconds."""

REGULAR = 3
"""Minimum number of gaps of a process before one of them can be called unlike the others."""

LONGEST_S = 30 * 86400.0
"""Maximum believable time in seconds; anything longer is a broken stamp."""

QUOTED = 150
"""Maximum number of characters of a line in a headline."""

_WORDS = (
    r"(?i)\b(?:elapsed|took|taken|duration|after|waited|waiting|wait|spent|latency|response[ _]time|(?:total|query|execution|exec|request|run)[ _]time"
    r"|time|copied|in|for|delayed|lag(?:ged)?|blocked|stuck|actual|late(?:ness)?|behind|stalled|paused?)"
    r"[\"']?[ :=,(\[]{1,3}[\"']?(?:of |for |about |more than |too long \[)?"
)
IN_TEXT = (
    _WORDS
    + r"(\d{1,12}(?:\.\d+)?) ?(ms|msecs?|millis|milliseconds?|us|usecs?|µs|microseconds|s|secs?|seconds?|mins?|minutes?)\b"
)
IN_GO = _WORDS + r"(?:(\d{1,4})h)?(\d{1,4})m(\d{1,2}(?:\.\d+)?)s\b"
IN_AGE = (
    r"(?i)\b(?:last seen (?:active|alive)|last (?:heartbeat|response|reply|contact)(?: was)?(?: received)?) (?:(\d{1,4})h)?(?:(\d{1,4})m)?"
    r"(\d{1,6}(?:\.\d+)?) ?(?:s|secs?|seconds?) ago\b"
)
"""How long nothing was heard of somebody, as Go prints spans and as prose does."""

IN_OLD = (
    r"(?i)\bslow request (\d{1,9}(?:\.\d+)?) seconds? old\b"
    r"|\b(?:oldest (?:one )?blocked for >?|(?:ops|requests|IOs) are blocked >) ?(\d{1,9}(?:\.\d+)?) (?:secs?|seconds?)\b"
)
"""How long a request of Ceph waits already."""

IN_NAME = (
    r"(?i)(?:duration|elapsed|took|latency|waited|spent|(?:response|query|exec|execution|total|request|process|processing|run|wall)_?time)"
    r"(?:_?in)?_?(ms|msec|millis|milliseconds|us|micros|s|sec|secs|seconds)[\"']?[=:] ?[\"']?(\d{1,12}(?:\.\d+)?)(?:[^\w.]|$)"
)
IN_SECONDS = r"(?i)\b(?:query_time|request_time|upstream_response_time|rt|urt|etime)[\"']?[=:] ?[\"']?(\d{1,9}\.\d+)"
IN_MS = r"\bQTime=(\d{1,12})\b"
PAUSE = r"(?i)\b(?:pause|full gc|gc\b.{0,3}|stopped)\b.*?[ ,:=(](\d{1,9}(?:\.\d+)?) ?(ms|secs?|s|seconds)\b"
TIMERS = r" (-?\d{1,9})/(-?\d{1,9})/(-?\d{1,9})/(-?\d{1,9})/\+?(\d{1,9}) (?:-1|\d{3}) \+?\d+ "
"""Tq/Tw/Tc/Tr/Tt of HAProxy in ms: request, queue, connect, answer, all (configuration manual 8.2.3)."""

PARTS = ("the request", "the queue", "the connect", "the server's answer")

PLANNED = (
    r"(?i)\b(?:will|next (?:run|check|try|attempt)|expir\w+|every|interval|schedule\w*|scheduling|valid (?:for|until)|ttl|max[_ ]?age|lifetime"
    r"|time-?out (?:set|is|of|to)|timeout[=:]|configured|up ?time|running for|up for|default|sleep for|keep-?alive|lease\w*|renew\w*)\b"
)
"""Words of times that are set or still to come."""

SPENT = r"(?i)\b(?:took|elapsed|duration|timed? out|slow|waited|spent|stuck|blocked)\b"
"""Words of times that have passed, whatever else a line says."""

ID = (
    r"(?i)\b(?:(?:request|req|trace|correlation|transaction|txn|query|call|job|task|message|msg|conn|connection)[ _-]?(?:id|no)?|id|xid)"
    r"[\"']?[ =:#\[(]{1,2}[\"']?([a-z_-]{0,12}[0-9][A-Za-z0-9_-]*)\b"
)
"""An id of a piece of work: it has a digit."""

BEGINS = (
    r"(?i)\b(?:receive\w*|receiving|recv|start\w*|begin\w*|began|sent|sending|request\w*|ask\w*|query|calling|connecting|opening|accepted"
    r"|submitt\w+|enter\w*)\b|->|>>|==>"
)
WAITS = (
    BEGINS
    + r"|(?i:\bwait(?:s|ing)?\b|\bnext [a-z]{3,20} (?:method|step|server)\b|\.\.\.$)|^(?:\S+: )?[A-Z]?[a-z]{2,}ing\b"
)
"""Words behind which a log may be silent because of what they say."""

OVER = (
    r"(?i)\bslow[ _-]?(?:query|queries|statement|sql|command)\b"
    r"|\b(?:took|elapsed|duration|finished in|completed in|executed in)[ :=(]*[0-9]"
    r"|[0-9][KMGT]B?->[0-9]|[0-9]->[0-9]+->[0-9]|[0-9]\) -> [0-9]"
)
"""Entries that are written when something has ended: what follows them later was not begun by them.

The sizes before and after a collection are one: the program runs until the next.
"""

ENDS = (
    r"(?i)\b(?:answer\w*|respon\w+|repl(?:y|ied)|complete\w*|completing|completion|finish\w*|done|end(?:ed)?"
    r"|return\w*|got|succe\w+|fail\w*|timed? ?out|timeout|gave up|error|abort\w*|connected|opened|closed|exit\w*|status|cancel\w*|expired)\b|<-|<<|<=="
)

UNITS = {"us": 1e-6, "usec": 1e-6, "usecs": 1e-6, "µs": 1e-6, "microseconds": 1e-6, "micros": 1e-6}
UNITS |= dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), 1e-3)
UNITS |= dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0)


STEP_S = 1.0
"""Minimum seconds of a step for its words to say what waits: a look-up or a commit may take a tenth."""

BEFORE, BEHIND = 120, 60
"""Number of characters before and behind a time that may say what took it."""

LONGEST_TEXT, LONGEST_STEP = 4_000, 240
"""Maximum number of characters that are searched for the words of a time, and of a line whose field tells it."""

_SAID = re.compile(IN_TEXT)
_BEGUN = re.compile(
    r"(?i)\b(?:[a-z]{2,}ing|starting|begins?|started|waits?|query|connect|look ?up"
    r"|next [a-z]{3,20} (?:method|step|server))\b|\.\.\.$"
)
"""Words of a line that begins something."""

_OVER = re.compile(OVER)
_AT_REST = re.compile(
    r"(?i)\b(?:waiting|listening|polling|idle|sleeping)\b.{0,30}\b(?:messages?|work|jobs?|tasks?|requests?|connections?|clients?|events?|input|data|next)\b"
    r"|\bpoll(?:ing|s)? (?:the )?queue\b|\bsleep(?:s|ing)?\b"
)
"""Words of a line behind which a program has nothing to do."""

_CLAUSE = re.compile(r"; | - | \| |\]: ")
"""What separates the words around a time from others: class and thread of a logger, another clause."""


KERNEL_REPORT = (
    r"(?i)blocked (?:on .+ )?for more than \d+ sec|soft lockup|hard LOCKUP|rcu.*stall|task:\S+\s+state:[DR]\b"
    r"|\S\s+(?-i:[DR])\s+(?:[0-9a-f]{8,16}\s+|running task\s+)?\d+\s+\d+\s+\d+\s+0x[0-9a-f]{8}\b"
)
"""First lines of the kernel's reports of what stands still; `standing-still` tells their seconds with what is below."""


STAMP = re.compile(
    r"^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\]?[:,]?\s+|^\[\s*\d+\.\d+\]\s*"
)
"""A stamp at the beginning of a line: it takes the place of words, and the cited line shows it."""


def quoted(text: Any, most: int = QUOTED) -> str:
    """Return a line as a headline quotes it: without its stamp, blanks put together, cut.

    >>> quoted("2020-06-16 04:59:02.003: [ CSSD][42]clssnmKillNode:  node 2", 40)
    '[ CSSD][42]clssnmKillNode: node 2'
    """
    made = " ".join(str(text or "").split())
    made = STAMP.sub("", made) or made
    return made if len(made) <= most else f"{made[: most - 3]}..."


def between(seconds: float, *stamps: float | None) -> str:
    """Return the time between stamps as they resolve it: whole seconds between whole seconds.

    >>> between(11.0, 100.0, 111.0), between(11.0, 100.25, 111.25)
    ('11 s', '11.000 s')
    """
    whole = seconds < 60 and all(t is not None and float(t).is_integer() for t in stamps)
    return f"{seconds:.0f} s" if whole else figure(seconds, "s")


def _numbers(text: pl.Expr, pattern: str, *groups: int) -> list[pl.Expr]:
    """Return groups of a pattern as numbers, NULL where it does not match."""
    found = text.str.extract_groups(pattern)
    return [found.struct[n - 1].cast(pl.Float64, strict=False) for n in groups]


def _scaled(text: pl.Expr, pattern: str, number: int, unit: int) -> pl.Expr:
    found = text.str.extract_groups(pattern)
    named = found.struct[unit - 1].str.to_lowercase()
    return found.struct[number - 1].cast(pl.Float64, strict=False) * named.replace_strict(
        UNITS, default=1.0, return_dtype=pl.Float64
    )


def times_told(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add `took`, the seconds that a line states (NULL if none); the first form of line that matches counts."""
    text = pl.col("text")
    hours, minutes, left = _numbers(text, IN_GO, 1, 2, 3)
    made = rows.with_columns((hours.fill_null(0.0) * 3600 + minutes * 60 + left).alias("took"))
    hours, minutes, left = _numbers(text, IN_AGE, 1, 2, 3)
    ago = hours.fill_null(0.0) * 3600 + minutes.fill_null(0.0) * 60 + left
    made = made.with_columns(pl.coalesce("took", ago, *_numbers(text, IN_OLD, 1, 2)).alias("took"))
    rest = pl.when(pl.col("took").is_null()).then(text)
    for form in (
        _scaled(rest, IN_TEXT, 1, 2),
        _scaled(rest, IN_NAME, 2, 1),
        _numbers(rest, IN_SECONDS, 1)[0],
        _numbers(rest, IN_MS, 1)[0] * 1e-3,
        _scaled(rest, PAUSE, 1, 2),
        _numbers(rest, TIMERS, 5)[0] * 1e-3,
    ):
        made = made.with_columns(pl.coalesce("took", form).alias("took"))
    made = made.filter(pl.col("took").is_between(0, LONGEST_S))
    return made.filter(~text.str.contains(PLANNED) | text.str.contains(SPENT))


def texts(case: CaseTables) -> Iterator[Sighting]:
    """Yield the times that lines state, by template, the longest first.

    Where the words around the time name what the step did (`step` of the signatures), its part of all the seconds that the
    log tells is known too.
    """
    said = pl.col("elapsed_s").is_null() & pl.col("text").str.contains(r"\d")
    said &= ~pl.col("text").str.contains(KERNEL_REPORT)
    lines = case.scan("logs", [*PLACE_COLUMNS, "line_no", "line_end", "text"], said)
    rows = times_told(lines).with_columns(template(pl.col("text")).alias("template"))
    made = (
        rows.group_by(*PLACE_COLUMNS, "template")
        .agg(
            pl.len().alias("n"),
            pl.col("took").median().alias("middle"),
            (pl.col("took") >= FELT_S).sum().alias("felt"),
            pl.col("took").sum().alias("sum"),
            pl.col("took").filter(pl.col("took") >= STEP_S).sum().alias("late"),
            pl.struct("line_no", "line_end", "took", "text").top_k_by("took", 3).alias("worst"),
        )
        .filter(pl.col("felt") > 0)
        .with_columns(pl.col("sum").sum().over("artifact_id").alias("all"))
        .sort(pl.col("worst").list.first().struct.field("took"), descending=True)
        .head(MOST)
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        top = row["worst"][0]
        took, text = top["took"], str(top["text"])
        step = step_of(text, took)
        named = bool(step and recognise(**step_seen(step, took)))
        more = f"; {row['n']:,} such lines, {figure(row['middle'], 's')} (median)" if row["n"] > 1 else ""
        yield Sighting(
            "wait",
            quoted(text, 80),
            f'A line tells of {figure(took, "s")}: "{_around(text, took)}"{_part(text)}{more}',
            "duration_s",
            took,
            "s",
            tuple(
                Lines(row["artifact_id"], w["line_no"], w["line_no"], "longest time in the text")
                for w in row["worst"]
                if w["took"] >= FELT_S
            ),
            **place(row),
            against="the middle one" if row["n"] > 1 else None,
            against_value=row["middle"] if row["n"] > 1 else None,
            seconds=row["late"] if named else took,
            of_s=row["all"] if named else None,
            n=row["n"],
            seen=({"log": text, "seconds": round(took, 6)}, {"log": text}, *((step_seen(step, took),) if step else ())),
        )


def step_of(text: str, took: float) -> str | None:
    """Return the words around the time that a line tells, by which one knows the step; None for a time that nobody feels.

    >>> step_of("12 shop.Jobs - loaded 3 items; DNS lookup for db.example took 5012 ms; 4 rows", 5.012)
    'DNS lookup for db.example took 5012 ms'
    """
    if took < STEP_S:
        return None
    said = (m for m in _SAID.finditer(text[:LONGEST_TEXT]) if math.isclose(_seconds(m), took, rel_tol=1e-6))
    found = next(said, None)
    if found is None:
        return text if len(text) <= LONGEST_STEP else None
    before = _CLAUSE.split(text[max(0, found.start() - BEFORE) : found.start()])[-1]
    behind = _CLAUSE.split(text[found.end() : found.end() + BEHIND])[0]
    return f"{before}{found[0]}{behind}".strip()


def _seconds(found: re.Match[str]) -> float:
    return float(found[1]) * UNITS.get(found[2].lower(), 1.0)


def _around(text: str, took: float) -> str:
    """Shorten a line for a headline so that its figure stays in it."""
    whole = " ".join(text.split())
    if len(whole) <= QUOTED:
        return whole
    for scale in (1.0, 1e3, 1e6):
        at = whole.find(f"{took * scale:g}")
        if at >= QUOTED - 20:
            return f"{whole[: QUOTED // 2]} ... {whole[max(QUOTED // 2, at - 40) : at + 30]}"
    return quoted(whole)


def _part(text: str) -> str:
    """Describe the timer of HAProxy that holds at least half of a request; return "" for any other line."""
    found = pl.select(pl.lit(text).str.extract_groups(TIMERS)).item()
    if not found or found["1"] is None:
        return ""
    times = [int(found[str(n)]) for n in range(1, 5)]
    most = max(range(4), key=lambda n: times[n])
    if times[most] * 2 >= int(found["5"]) > 0:
        return f", {figure(times[most] / 1e3, 's')} of it in {PARTS[most]}"
    return ", and it never got an answer" if times[3] < 0 else ""


def oldest_first(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Sort the rows of a log by time if its newest line comes first; otherwise keep their order."""
    step = pl.col("t_local").diff()
    turned = (
        rows.group_by("artifact_id", "part", maintain_order=True)
        .agg(((step < 0).sum() > (step > 0).sum()).alias("turned"))
        .filter("turned")
        .collect(engine="streaming")
    )
    return (
        rows
        if turned.is_empty()
        else rows.sort("artifact_id", "part", "t_local", "line_no", descending=[False, False, False, True])
    )


MOST_GAPS = 1000
"""Maximum number of gaps of a few seconds whose lines are held against signatures, the longest ones."""


def brief(case: CaseTables) -> Iterator[Sighting]:
    """Yield gaps in logs with too few lines for a usual gap: after a line that begins or awaits something."""
    key = [*PLACE_COLUMNS, "part"]
    rows = oldest_first(case.scan("logs", [*key, "line_no", "t_local", "text"], pl.col("t_local").is_finite()))
    before = {c: pl.col(c).shift(1).over(key) for c in ("t_local", "line_no", "text")}
    told = rows.with_columns(
        (pl.col("t_local") - before["t_local"]).alias("gap"),
        before["line_no"].alias("before"),
        before["text"].alias("said"),
        pl.len().over(key).alias("n"),
        (pl.col("t_local").max() - pl.col("t_local").min()).over(key).alias("whole"),
    )
    begun = pl.col("said").str.contains(WAITS) & ~pl.col("said").str.contains(OVER)
    told = told.filter((pl.col("n") <= REGULAR) & pl.col("gap").is_between(GAP_S, LONGEST_S)).with_columns(
        begun.fill_null(value=False).alias("begun")
    )
    found = told.top_k(MOST_GAPS, by="gap").collect(engine="streaming").sort("gap", descending=True)
    for row in islice((r for r in found.iter_rows(named=True) if r["begun"] or _known_after(r["text"])), MOST):
        a, took = row["artifact_id"], float(row["gap"])
        step = begun_by(row["said"], took) or _known_after(row["text"])
        yield Sighting(
            "gap",
            quoted(row["said"], 80),
            f'{figure(took, "s")} went by between "{quoted(row["said"], 90)}" and "{quoted(row["text"], 90)}"',
            "gap_s",
            took,
            "s",
            (
                Lines(a, row["before"], row["before"], "before the gap"),
                Lines(a, row["line_no"], row["line_no"], "after the gap"),
            ),
            **place(row),
            t_from=row["t_local"] - took,
            t_to=row["t_local"],
            seconds=took,
            of_s=row["whole"] if step else None,
            seen=(*_after(row["text"]), {"log": str(row["said"])}, *step, {"seconds": round(took, 6)}),
        )


def _after(text: str | None) -> tuple[Seen, ...]:
    """Return the name of a line that came only after a gap: what it prints had to be found out before."""
    return ({"event": "after-gap", "log": text},) if text else ()


def _known_after(text: str | None) -> tuple[Seen, ...]:
    """Return the name of a line of which signatures say outright what a log was silent for before it."""
    seen = _after(text)
    return seen if seen and any(k.strength == "mechanism" for k in recognise(**seen[0])) else ()


def step_seen(step: str, took: float) -> Seen:
    """Return a step with its seconds as `value`: to fetch an image may take some seconds, and no hour."""
    return {"step": step, "value": f"{took:.3f}"}


def begun_by(text: str | None, took: float) -> tuple[Seen, ...]:
    """Return the step of `took` seconds that a line begins, if signatures know it: whatever comes after a gap had to wait for it.

    >>> begun_by("Resolving host queue.acme.example ...", 7.0), begun_by("resolved host queue.acme.example in 7.0 s", 7.0)
    (({'step': 'Resolving host queue.acme.example ...', 'value': '7.000'},), ())
    """
    if not text or not _BEGUN.search(text) or any(over.search(text) for over in (_OVER, _SAID, _AT_REST)):
        return ()
    step = _CLAUSE.split(STAMP.sub("", text, count=1)[:LONGEST_STEP])[-1].strip()
    seen = step_seen(step, took)
    return (seen,) if recognise(**seen) else ()


def gaps(case: CaseTables) -> Iterator[Sighting]:
    """Yield gaps between two stamps of one process in a log that are far longer than its usual gaps."""
    key = [*PLACE_COLUMNS, "part", "pid"]
    gap = (pl.col("t_local") - pl.col("t_local").shift(1).over(key)).alias("gap")
    stamped = oldest_first(case.scan("logs", [*key, "line_no", "t_local", "text"], pl.col("t_local").is_not_null()))
    rows = stamped.with_columns(
        gap, pl.col("line_no").shift(1).over(key).alias("before"), pl.col("text").shift(1).over(key).alias("said")
    )
    known = rows.filter(pl.col("gap").is_between(0, LONGEST_S))
    middle = known.group_by(key).agg(
        pl.col("gap").median().alias("middle"), pl.len().alias("n"), pl.col("gap").sum().alias("whole")
    )
    stamp, apart = pl.col("t_local"), pl.col("gap")
    # Whole seconds one apart may be a millisecond apart.
    whole = (stamp == stamp.floor()) & (apart == apart.floor())
    far = known.filter((apart > GAP_S) | ((apart == GAP_S) & ~whole)).join(middle, on=key, nulls_equal=True)
    far = far.filter((pl.col("n") >= REGULAR) & (pl.col("gap") >= TIMES * pl.col("middle"))).top_k(MOST, by="gap")
    far = far.with_columns(template(pl.col("said")).alias("from"), template(pl.col("text")).alias("to"))
    for row in far.collect().sort("gap", descending=True).iter_rows(named=True):
        a = row["artifact_id"]
        who = f"process {row['pid']}" if row["pid"] is not None else "the log"
        lines = f' between "{quoted(row["said"], 80)}" and "{quoted(row["text"], 80)}"'
        took = between(row["gap"], row["t_local"], row["t_local"] - row["gap"])
        begun = begun_by(row["said"], row["gap"]) or _known_after(row["text"])
        usual = (
            f"between other lines {between(row['middle'], row['middle'])} (median)"
            if row["middle"]
            else "most other lines have the stamp of the line before"
        )
        yield Sighting(
            "gap",
            who,
            f"{who} wrote nothing for {took}{lines if row['said'] or row['text'] else ''}; {usual}",
            "gap_s",
            row["gap"],
            "s",
            (
                Lines(a, row["before"], row["before"], "before the gap"),
                Lines(a, row["line_no"], row["line_no"], "after the gap"),
            ),
            **place(row),
            t_from=row["t_local"] - row["gap"],
            t_to=row["t_local"],
            against="the middle gap",
            against_value=row["middle"],
            seconds=row["gap"] if begun else None,
            of_s=row["whole"] if begun else None,
            seen=(*_after(row["text"]), *begun, {"seconds": round(row["gap"], 6)}),
            joins=f"{row['from']} to {row['to']}",
            short=f"{took} before line {row['line_no']:,}",
        )


def steps(case: CaseTables) -> Iterator[Sighting]:
    """Yield the longest steps between two lines of one id, the first of which begins and the second ends something."""
    key = [*PLACE_COLUMNS, "part", "id"]
    text = pl.col("text")
    rows = (
        case.scan("logs", [*PLACE_COLUMNS, "part", "line_no", "t_local", "text"], text.str.contains(ID))
        .filter(pl.col("t_local").is_finite())
        .with_columns(text.str.extract(ID, 1).alias("id"))
        .with_columns(
            (pl.col("t_local") - pl.col("t_local").shift(1).over(key)).alias("gap"),
            pl.col("line_no").shift(1).over(key).alias("before"),
            text.shift(1).over(key).alias("said"),
        )
        .filter(pl.col("gap").is_between(0, LONGEST_S) & pl.col("said").str.contains(BEGINS) & text.str.contains(ENDS))
        .filter(~pl.col("said").str.contains(OVER))
    )
    kinds = [*PLACE_COLUMNS, "from", "to"]
    made = (
        rows.with_columns(template(pl.col("said")).alias("from"), template(text).alias("to"))
        .group_by(kinds)
        .agg(
            pl.len().alias("n"),
            pl.col("gap").median().alias("middle"),
            pl.col("gap").sum().alias("sum"),
            pl.col("gap").filter(pl.col("gap") >= GAP_S).sum().alias("late"),
            pl.struct("line_no", "before", "gap", "t_local", "text", "said", "id").top_k_by("gap", 3).alias("worst"),
        )
        .with_columns(pl.col("sum").sum().over("artifact_id").alias("whole"))
        .filter(pl.col("worst").list.first().struct.field("gap") >= GAP_S)
        .sort(pl.col("worst").list.first().struct.field("gap"), descending=True)
        .head(MOST)
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        top, a = row["worst"][0], row["artifact_id"]
        begun = begun_by(top["said"], top["gap"])
        others = f"; {row['n']:,} such steps, {figure(row['middle'], 's')} (median)" if row["n"] > 1 else ""
        took = float(top["gap"])
        yield Sighting(
            "wait",
            str(top["id"]),
            f'{figure(took, "s")} went by between "{quoted(top["said"], 90)}" and "{quoted(top["text"], 90)}"{others}',
            "duration_s",
            took,
            "s",
            tuple(
                Lines(a, line, line, role)
                for w in row["worst"]
                if w["gap"] >= GAP_S
                for line, role in ((w["before"], "begins"), (w["line_no"], "ends"))
            ),
            **place(row),
            t_from=top["t_local"] - took,
            t_to=top["t_local"],
            against="the middle one" if row["n"] > 1 else None,
            against_value=row["middle"] if row["n"] > 1 else None,
            seconds=row["late"] if begun else took,
            of_s=row["whole"] if begun else None,
            n=row["n"],
            seen=(
                {"log": str(top["text"]), "seconds": round(took, 6)},
                *begun,
                {"seconds": round(took, 6)},
            ),
        )
