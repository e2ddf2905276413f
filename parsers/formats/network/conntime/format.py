r"""Lists of measured connection times, and tnsping.

Tools: home-made loops around a connect, SQL*Plus `set timing on`, `curl -w`, Oracle tnsping (8.1 to 19 seen; English,
Korean), PING of SQL*Plus 23. Capture: `while :; do curl -so /dev/null -w 'connect: %{time_connect}\n' URL; done`, or `tnsping ALIAS 20`.

Samples::

    time elapsed : 0,31
    time elapsed : 3,94
    ...........
    Elapsed: 00:00:03.94
    connect: 30 ms
     time_namelookup:  0.005352s
    dns: 0.002 | connect: 0.021 | total: 0.260
    Thu Oct 13 18:09:12 UTC 2016: Long measurement (#21): 0m6.205s
    OK (30 msec)
    Ok (1.588 msec)
    TNS-12541: TNS:no listener

Tables: conn_times. `series` is the label (without a running number) or the target of tnsping, `seq` counts within it.
Clock: none; tnsping has the stamp of its banner (wall-local), which all its answers share. In a list a stamp may stand in front of the
label (ISO, or in the form of date(1)).
Traps: the decimal sign is decided once from all lines: `1,234` alone is 1.234 or 1234, so a list of only such values gives
no number. `00:00:03.94` begins with hours. A shell's `echo` without -e prints the two characters `\n` instead of ending the
line: then all values stand on one line and share its number. Dots are an author's mark of elision: the next value is
`contiguous` broken. Without a clock only the position is known, not the spacing of the values. The figures that `curl -w` prints for one
HTTP request (name looked up, connected, total) all count from its beginning; each is a series. An answer of PING belongs to the address
right above it, because PING alone prints no address. Known gaps: tables with several numbers on a line.
"""

from __future__ import annotations

import re
from collections import Counter

import polars as pl

from parsers.clocks import oracle_stamps, stamp_falls
from parsers.declarations import Claim, Format
from parsers.repair.rewrap import rejoin
from parsers.tables.rows import Domain, State, Tables
from parsers.text.notes import ELISION
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, decimal, decimal_sign, month, span_s, wall_seconds

OWN = (
    r"(?i)^[ \t]*[^:=0-9][^:=]{0,79}?[ \t]*[:=][ \t]*(?:[0-9]{1,3}:[0-9]{2}:|[0-9]{1,3}m ?)?[0-9]+(?:[.,][0-9]+)?[ \t]*(?:[mµu]?s|m?secs?|m?sec|seconds?)?\.?$"
    r"|^(?:[^:=0-9\\][^:=\\]{0,79}?[ \t]*[:=][ \t]*[0-9]+(?:[.,][0-9]+)?[ \t]*(?:[mµu]?s|m?secs?|m?sec|seconds?)?\\n){2,}"
    r"|TNS Ping Utility for |^Used parameter files:|^Used (?:TNSNAMES|EZCONNECT|HOSTNAME|LDAP) adapter|^Attempting to contact "
    r"|^OK \([0-9.]+ ?[^()0-9 ]{1,12}\)$|^[^\x00-\x7f][^\x00-\x7f ]{3,30}:$|^(?:/|[A-Za-z]:\\).*[/\\]sqlnet\.ora$|^TNS-(?:03505|12[0-9]{3}): "
    r"|^[^()]{0,40}(?:TNSNAMES|EZCONNECT|HOSTNAME|LDAP)[ -]?(?i:adap\S+|适配器|適配器|アダプタ|어댑터|адаптер)"
    r"|^[^\x00-\x7f][^()]{1,20}\(DESCRIPTION|^\(DESCRIPTION.*\)[^\x00-\x7f() ]{2,20}$"
    r"|^Network service name mapping file: |^Local Net Naming configuration file: |^SP2-[0-9]+: Ping failed "
)

FORMATS = (
    Format(
        kind="conntime",
        variant="list",
        version="2",
        systems=("solaris", "linux", "aix", "hpux", "macos", "windows"),
        tables=("conn_times",),
        man="sqlplus SET TIMING, curl(1) -w",
        example="curl -so /dev/null -w 'connect: %{time_connect}\\n' URL",
        clocks=("none", "wall-local", "wall-utc"),
        own=OWN,
    ),
    Format(
        kind="conntime",
        variant="tnsping",
        version="1",
        systems=("solaris", "linux", "aix", "hpux", "windows"),
        tables=("conn_times",),
        man="tnsping",
        example="tnsping ALIAS 20",
        clocks=("wall-local", "none"),
        own=OWN,
    ),
)

_UNITS = {
    1.0: "s sec secs second seconds sek sekunde sekunden seconde secondes segundos 초",
    1e-3: "ms msec msecs millis millisecond milliseconds millisekunden 밀리초 毫秒 ミリ秒 мс мсек mseg",
    1e-6: "us µs usec usecs microsecond microseconds",
}
UNITS = {name: factor for factor, names in _UNITS.items() for name in names.split()}
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))

LINE = (
    r"(?i)^[ \t]*(?:([^:=0-9$](?:[^:=]{0,78}[^:= \t])?)[ \t]*[:=][ \t]*)?"
    r"(?:([0-9]{1,3}):([0-9]{2}):)?(?:([0-9]{1,3})m ?)?([0-9][0-9.,]*)[ \t]*(" + _UNIT + r")?[ \t]*\.?$"
)
"""A value: label, hours and minutes, minutes of a shell, number, unit. A label does not begin with a digit: `10:15:00` alone is a time of day."""
_LINE = re.compile(LINE)
_ELISION = re.compile(ELISION)
MANY = 16
"""Minimum number of labels, taken from all over a head, by which a claim is rejected if no label is common among them."""
_BEGUN = re.compile(r"[ \t]*(?:[^:=0-9$][^:=]*[:=][ \t]*)?[0-9]")
"""Pattern for the beginning of every value; a quick test before LINE."""

STAMPED = r"^[ \t]*\[?(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-3]?[0-9] )[0-9]{2}:"
STAMP = (
    r"^[ \t]*\[?([A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-3]?[0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}(?: [A-Z]{2,5})? [0-9]{4}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)\]?[ \t]*[:,;|-]?[ \t]+"
)
"""A stamp in front of a label, and the separator between them."""

_CURL = re.compile(
    r"(?i)^(?:time[_ ]?)?(?:name ?lookup|(?:app|ssl)? ?connect|pre ?transfer|post ?transfer|start ?transfer|redirect|total)$"
)
"""Names of curl's write-out variables, as format files of curl -w print them."""

RULE = r"^[ \t]*-{3,}$"
NUMBERED = r"[ \t]*(?:#?[0-9]*|\(#?[0-9]{1,9}\))[ \t]*$"
"""A running number after a label."""

_STAMPED, _STAMP, _RULE, _NUMBERED = (re.compile(x) for x in (STAMPED, STAMP, RULE, NUMBERED))

WRITTEN = "\\n"
"""A line end that was printed as two characters."""

_PIECE = r"[ \t]*[A-Za-z_][A-Za-z0-9_ .-]*[:=][ \t]*[0-9][0-9.,]*[ \t]*(?:s|ms|us|sec|msec)?[ \t]*"
BARRED = rf"^{_PIECE}(?:\|{_PIECE})+$"
"""Several labels with their values on one line, between bars: a format of curl -w that prints no line ends."""

_BARRED = re.compile(BARRED)

TIME_WORDS = r"(?i)elapsed|connect|time|login|logon|dauer|zeit|temps|durée|tiempo|response|latency|duration|abgelaufen"
NO_TIME = r"(?i)time[-_ ]?out|\bcreation\b|\bcount\b|\((?:%|[\u00b5\u03bcu]s)\)|\((?:in )?m(?:illi|icro)s|\\|%|^[a-z_]+(?:\.[a-z_]+)+$|_(?:sum|max|runtime)$"
"""Words of settings, counts and shares; figures whose name tells another unit, or is that of a counter (`\\\\host\\object\\counter`, `se.name`)."""
BANNER = (
    r"TNS Ping Utility for ([^:]*): Version ([0-9.]*)"
    r"(?:.*?([0-9]{1,2})-([^- ]+) *-([0-9]{4}) +([0-9]{2}):([0-9]{2}):([0-9]{2}))?"
)
ANSWER = r"(?:^|\)\) ?)[^()]{1,30}\(([0-9]+(?:\.[0-9]+)?)[^()0-9]*\)$"
"""An answer of tnsping, on a separate line or after the address."""

PLUS_ANSWER = r"^Ok \([0-9.]+ msec\)$|^SP2-[0-9]+: Ping failed with error "
PLUS_BEGINS = r"^(?:Network service name mapping file|Local Net Naming configuration file): "
DETAIL_LINES = 15
"""Maximum distance in lines from the banner of a ping at which a line counts as its detail, in any language."""

FAILURE = r"^[ \t]*(?:SP2-[0-9]+: Ping failed with error )?(TNS|ORA)-0*([0-9]+)\b"

BEGINS = (
    r"^[ \t]*(?:TNS Ping|Copyright|Used |Attempting|O[Kk] |SP2-|Network |Local |(?:TNS|ORA)-[0-9]|\(DESCRIPTION|/|[A-Za-z]:\\|[^\x00-\x7f])"
    rf"|^[^()]{{1,30}}\([0-9.]+[^()0-9]*\)$|{ELISION[4:]}"
)
"""Beginnings of tnsping's lines in any language, by which lines broken in two are joined."""

_SOURCE = re.compile(r"(?:at|in|from) \S*[/\\.]\S*$")
"""A place in a program's source, whose number is that of a line."""

_PEER = re.compile(
    r"(?i).{0,200}[ \t/@(](?:(?:[\w-]{1,63}\.){1,10}[\w-]{1,63}|localhost):[0-9]{2,5}\.?"
    r"|.{0,200}\b(?:refused|fail(?:ed|ure)?|unreachable|reset|timed out|cannot|could not|unable to)\b.{0,100}[A-Za-z]:[0-9]{2,5}\.?"
)
"""A line that ends in the address and port of a peer, whose number is no time: ports stand right behind the colon."""


def claim(head: Head) -> Claim | None:
    """Claim tnsping by its banner, and a list if most lines are a number after the same label."""
    for number, line in enumerate(head.lines if "TNS Ping" in head.text else (), start=1):
        if re.search(BANNER, line):
            return Claim(0.97, f"banner of tnsping in line {number}", "tnsping")
    if "Ok (" in head.text or "Ping failed" in head.text:
        answers = sum(1 for x in head.lines if re.match(PLUS_ANSWER, x))
        if answers * 6 >= len(head.lines):
            return Claim(0.9, f"{answers} answers to PING of SQL*Plus", "tnsping")
    if ";; Query time:" in head.text:  # dig: the size of its answer is no time
        return None
    spread = _apart(head.spread)
    some = [m for m in (_LINE.match(x) for x in spread if _BEGUN.match(x)) if m]
    if len(some) * 4 < len(spread):
        return None
    few = [_label(m[1]) for m in some if m[1]]
    curled = sum(1 for x in few if _CURL.match(x)) * 2 >= len(few) > 0
    if len(few) >= MANY and not curled and Counter(few).most_common(1)[0][1] * 4 < len(few):
        return None
    lines = [x for x in _apart(head.lines) if x and not _ELISION.match(x) and not _RULE.match(x)]
    begun = [x for x in lines if _BEGUN.match(x)]
    if len(begun) * 2 < len(lines):
        return None
    values = [m for m in (_LINE.match(x) for x in begun) if m and not (m[2] and not m[1])]
    if not values or len(values) * 2 < len(lines):
        return None
    labels = [_label(m[1]) for m in values if m[1]]
    common, same = Counter(labels).most_common(1)[0] if labels else (None, 0)
    share = len(values) / len(lines)
    if common is not None and _SOURCE.match(common):
        return None
    if 2 * sum(_PEER.fullmatch(m[0].rstrip()) is not None for m in values) > len(values):
        return None
    if common is None:
        return (
            Claim(0.4 * share, f"{len(values)} bare numbers in {len(lines)} lines", "list")
            if len(values) >= 3
            else None
        )
    if curled and len(values) >= 3:
        return Claim(0.95 * share, f"{len(values)} lines of figures of `curl -w`", "list")
    if same * 2 < len(values):
        return None
    # A time-out is a setting and no measurement, and neither is a count. Figures in percent or microseconds are from a
    # report, which states each of them once. Bare figures after a name that is not of a time are of something else.
    measured = sum(1 for m in values if m[4]) * 2 > len(values)
    if not measured and (re.search(TIME_WORDS, common) is None or re.search(NO_TIME, common) is not None):
        return None
    timely = re.search(NO_TIME, common) is None
    strength = (0.95 if timely else 0.5) * share * (1 if same >= 3 else 0.7 if timely else 0.5)
    return Claim(strength, f"{same} lines `{common} : number`", "list")


def _apart(lines: list[str]) -> list[str]:
    """Split lines whose line ends were printed as `\\n`, and remove stamps in front of labels."""
    if any(_STAMPED.match(x) for x in lines[:5]):
        lines = [_STAMP.sub("", x) for x in lines]
    return [piece for line in lines for piece in _pieces(line) if piece or not line]


def _pieces(line: str) -> list[str]:
    """Return the parts of a line that each hold a label and its value.

    >>> _pieces("dns: 0.01 | connect: 0.02"), _pieces("a | b")
    (['dns: 0.01 ', ' connect: 0.02'], ['a | b'])
    """
    if WRITTEN in line:
        return line.split(WRITTEN)
    return line.split("|") if "|" in line and _BARRED.match(line) else [line]


def _label(text: str) -> str:
    return _NUMBERED.sub("", text)


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the decimal sign, the last position of each series, whether an elision was last."""
    frame = pl.concat(
        [pl.DataFrame(schema={"line_no": pl.Int64, "line": pl.String}), *(b.frame for b in source.blocks())]
    )
    return _tnsping(frame, source, out, state) if state["variant"] == "tnsping" else _list(frame, source, out, state)


def _list(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> State:
    names = ["label", "hours", "minutes", "m", "number", "unit"]
    groups = pl.col("line").str.extract_groups(LINE).struct.rename_fields(names)
    written = pl.col("line").str.contains(WRITTEN, literal=True)
    if frame.select(written.any()).item():
        whole = frame.with_columns(
            pl.when(written).then(pl.col("line").str.strip_suffix(WRITTEN)).otherwise("line").alias("line")
        )
        frame = whole.with_columns(pl.col("line").str.split(WRITTEN)).explode("line")
    barred = pl.col("line").str.contains("|", literal=True) & pl.col("line").str.contains(BARRED)
    if frame.select(barred.any()).item():
        pieces = pl.when(barred).then(pl.col("line").str.split("|")).otherwise(pl.concat_list("line"))
        frame = frame.with_columns(pieces.alias("line")).explode("line")
    stamped = pl.col("line").str.contains(STAMPED)
    stamp = pl.when(stamped).then(pl.col("line").str.extract(STAMP))
    plain = pl.when(stamped).then(pl.col("line").str.replace(STAMP, "")).otherwise("line")
    frame = frame.with_columns(stamp=stamp, line=plain)
    lines = frame.with_columns(elided=pl.col("line").str.contains(ELISION), g=groups).unnest("g")
    lines = lines.with_columns(marks=pl.col("elided").cum_sum())
    values = lines.filter(pl.col("number").is_not_null() & (pl.col("hours").is_null() | pl.col("label").is_not_null()))
    sign = state.get("sign") or decimal_sign(values["number"])
    factor = pl.col("unit").str.to_lowercase().replace_strict(UNITS, default=1.0, return_dtype=pl.Float64)
    in_label = pl.when(pl.col("label").str.contains(r"(?i)[(\[ ]ms(?:ec)?\b")).then(1e-3).otherwise(1.0)
    minutes = pl.coalesce(pl.col("m", "minutes").cast(pl.Float64)).fill_null(0)
    hours = pl.col("hours").cast(pl.Float64).fill_null(0) * 3600 + minutes * 60
    rows = values.with_columns(
        series=pl.col("label").str.replace(NUMBERED, ""),
        elapsed_s=hours + decimal("number", sign) * pl.when(pl.col("unit").is_null()).then(in_label).otherwise(factor),
    )
    if "counts" not in state:
        rows = _begun(rows, out)
    undecided = rows.filter(pl.col("elapsed_s").is_null())
    if sign is None and not undecided.is_empty():
        out.notes(
            undecided.select(
                "line_no", kind=pl.lit("unknown"), text="decimal sign cannot be decided: " + pl.col("line")
            )
        )
    rows = _clock(_numbered(rows.filter(pl.col("elapsed_s").is_not_null()), state), lines, source, out, state)
    columns = ["line_no", "t_local", "series", "seq", "elapsed_s", "contiguous"]
    out.add("conn_times", rows.select(*columns, ok=pl.lit(True)))
    out.read(lines.filter(pl.col("line").str.contains(RULE))["line_no"])
    left = lines["marks"].max()
    open_mark = bool(lines["elided"].any()) and (rows.is_empty() or left != rows["marks"].max())
    return state | {"sign": sign, "open_mark": open_mark or (rows.is_empty() and bool(state.get("open_mark")))}


def _clock(rows: pl.DataFrame, lines: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add `t_local` from the stamps in front; the first stamp decides whether they are UTC (`state["utc"]`)."""
    text = pl.col("stamp")
    wall = (
        pl.when(text.str.contains(r"^[0-9]"))
        .then(oracle_stamps.iso_seconds(text))
        .otherwise(oracle_stamps.clock_seconds(text))
    )
    east = pl.when(text.str.contains(r" (?:UTC|GMT) [0-9]")).then(0).otherwise(oracle_stamps.offset(text))
    rows = rows.with_columns(wall=wall, east=east)
    if "utc" not in state and rows["wall"].null_count() < len(rows):
        state["utc"] = rows.drop_nulls("wall")["east"][0] is not None
    utc = bool(state.get("utc"))
    rows = rows.with_columns(t_local=pl.col("wall") - pl.col("east").fill_null(0) if utc else pl.col("wall"))
    begin, end = span_s(rows["t_local"])
    if begin is not None:
        kind, zone = ("wall-utc", "UTC") if utc else ("wall-local", source.hints.tz)
        out.domain(Domain(1, kind, WALL_BASE, zone, begin, end, [(source.first_line, source.next_line - 1)]))
        falls: State = state.setdefault("stamp_falls", {})
        stamp_falls.remark(rows.select("line_no", "t_local"), out, falls)
    return rows


def _begun(rows: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Drop a first value whose label is only the end of the next value's label: the paste begins within that line."""
    labels = rows["series"].head(2).to_list()
    if len(labels) < 2 or not labels[0] or labels[0] == labels[1] or not str(labels[1]).endswith(labels[0]):
        return rows
    line_no = int(rows["line_no"][0])
    out.account("damaged", [line_no])
    out.note(line_no, line_no, "damaged", f"begins within a line: {labels[0]!r} is the end of {labels[1]!r}")
    return rows[1:]


def _numbered(rows: pl.DataFrame, state: State) -> pl.DataFrame:
    """Number the values of each series, mark those after an elision as broken, and update `state`."""
    before = 1 if state.get("open_mark") else 0
    counts: dict[str, int] = state.setdefault("counts", {})
    key = pl.col("series").fill_null("")
    past = key.replace_strict(counts, default=0, return_dtype=pl.Int64) if counts else pl.lit(0, pl.Int64)
    rows = rows.with_columns(
        seq=pl.int_range(pl.len()).over("series") + 1 + past,
        contiguous=pl.when(pl.col("marks") > pl.col("marks").shift(fill_value=-before))
        .then(pl.lit("broken"))
        .otherwise(pl.lit("assumed")),
    )
    for series, seq in rows.group_by(key.alias("series")).agg(pl.col("seq").max()).iter_rows():
        counts[series] = seq
    return rows


def _tnsping(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> State:
    """Read tnsping: a ping is its banner, its address, and one answer or the first TNS code; all lines between belong to it."""
    names = ["system", "release", "day", "month", "year", "hour", "minute", "second"]
    frame = rejoin(frame, source, out, BEGINS)
    lines = frame.with_columns(pl.col("line").str.extract_groups(BANNER).struct.rename_fields(names).alias("b")).unnest(
        "b"
    )
    banners = lines.filter(pl.col("release").is_not_null())
    stamps = []
    for row in banners.iter_rows(named=True):
        number = month(row["month"]) if row["month"] else None
        parts = [int(row[k]) for k in ("hour", "minute", "second")] if number else []
        stamps.append(wall_seconds(int(row["year"]), number, int(row["day"]), *parts) if number else None)
    lines = lines.join(
        pl.DataFrame(
            {"line_no": banners["line_no"], "stamp": stamps}, schema={"line_no": pl.Int64, "stamp": pl.Float64}
        ),
        on="line_no",
        how="left",
        maintain_order="left",
    )
    host = pl.col("line").str.extract(r"(?i)\(HOST *= *([^)]+?) *\)")
    port = pl.col("line").str.extract(r"(?i)\(PORT *= *([0-9]+) *\)")
    asked = pl.col("line").str.extract(r"(?i)\bcontact +([^( ][^ ]*)$")
    banner = pl.col("release").is_not_null()
    named = pl.coalesce(pl.concat_str(host, pl.lit(":"), port), host, asked)
    answered = pl.col("line").str.contains(PLUS_ANSWER).shift(fill_value=bool(state.get("answered")))
    begins = banner | pl.col("line").str.contains(PLUS_BEGINS) | answered
    lines = lines.with_columns(
        # A banner ends the target of the previous ping; so does an answer of SQL*Plus, which pings once.
        target=pl.when(named.is_null() & begins).then(pl.lit("")).otherwise(named).forward_fill(),
        # A banner without a readable stamp ends the stamp of the previous banner.
        t_local=pl.when(banner).then(pl.col("stamp").fill_null(float("nan"))).forward_fill(),
        banner_line=pl.when(banner).then("line_no").forward_fill().fill_null(state.get("banner_line", -DETAIL_LINES)),
        ping=begins.cum_sum() + state.get("pings", 0),
        millis=pl.col("line").str.extract(ANSWER).cast(pl.Float64),
        err=pl.concat_str(pl.col("line").str.extract(FAILURE, 1), pl.lit("-"), pl.col("line").str.extract(FAILURE, 2)),
        elided=pl.col("line").str.contains(ELISION),
    )
    lines = lines.with_columns(
        target=pl.col("target").fill_null(pl.lit(state.get("target"), pl.String)).replace("", None),
        t_local=pl.col("t_local").fill_null(pl.lit(state.get("t_local"), pl.Float64)).fill_nan(None),
        marks=pl.col("elided").cum_sum(),
    )
    same_ping = pl.col("ping") == state.get("pings", 0)
    answer = pl.col("millis").is_not_null() | pl.col("err").is_not_null()
    lines = lines.with_columns(
        answers=answer.cum_sum().over("ping") + pl.when(same_ping).then(state.get("answers", 0)).otherwise(0),
        codes=pl.col("err").is_not_null().cum_sum().over("ping")
        + pl.when(same_ping).then(state.get("codes", 0)).otherwise(0),
    )
    first_code = pl.col("err").is_not_null() & (pl.col("codes") == 1)
    rows = lines.filter(pl.col("millis").is_not_null() | first_code).with_columns(series=pl.col("target"))
    rows = _numbered(rows, state)
    out.add(
        "conn_times",
        rows.select(
            "line_no",
            "line_end",
            "t_local",
            "series",
            "seq",
            "err",
            "contiguous",
            elapsed_s=(pl.col("millis") / 1000).round(9),
            ok=pl.col("err").is_null(),
        ),
    )
    falls: State = state.get("falls", {})
    stamp_falls.remark(banners.select("line_no", t_local=pl.Series(stamps, dtype=pl.Float64)), out, falls)
    nameless = rows.filter(pl.col("series").is_null() & pl.col("millis").is_not_null())
    out.notes(nameless.select("line_no", kind=pl.lit("remark"), text=pl.lit("no address above says who answered")))
    near = pl.col("line_no") - pl.col("banner_line") <= DETAIL_LINES
    details = near & (pl.col("answers") == 0) & ~pl.col("elided") & (pl.col("line") != "")
    details = details | pl.col("line").str.contains(PLUS_BEGINS + "|^Attempting to contact: ")
    out.read(lines.filter(banner | details | pl.col("err").is_not_null())["line_no"])
    begin, end = span_s(rows["t_local"])
    if begin is not None:
        spans = [(source.first_line, source.next_line - 1)]
        out.domain(Domain(1, "wall-local", WALL_BASE, source.hints.tz, begin, end, spans, stamps="start"))
    if not banners.is_empty():
        if banners["release"][0]:
            out.fact("tool_version", banners["release"][0])
        system = re.search(r"(?i)solaris|linux|aix|hp-?ux|windows", banners["system"][0])
        if system:
            out.fact("os", system[0].lower().replace("-", ""))
    if lines.is_empty():
        return state
    open_mark = bool(lines["elided"].any()) and (rows.is_empty() or lines["marks"].max() != rows["marks"].max())
    return state | {
        "falls": falls,
        "target": lines["target"][-1] or "",
        "t_local": lines["t_local"][-1],
        "pings": int(lines["ping"][-1]),
        "answers": int(lines["answers"][-1]),
        "codes": int(lines["codes"][-1]),
        "banner_line": int(lines["banner_line"][-1]),
        "answered": bool(re.match(PLUS_ANSWER, lines["line"][-1])),
        "open_mark": open_mark or (rows.is_empty() and bool(state.get("open_mark"))),
    }
