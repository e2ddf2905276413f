r"""System logs: messages files, journal, dmesg.

Files and tools: /var/adm/messages (Solaris), /var/log/messages and /var/log/syslog (RFC 3164 lines), journalctl (short, short-iso,
short-precise), RFC 5424 lines, dmesg(1) of Linux (seconds since boot), dmesg -T, dmesg of Solaris.
Capture: `journalctl -o short-iso --since ...`, `dmesg -T`, `cat /var/adm/messages`.

Samples::

    Apr 14 05:58:39 db1 unix: [ID 836849 kern.notice] NOTICE: vmem_xalloc failed
    2016-04-14T05:58:39.123456+02:00 db1 sshd[4711]: Accepted publickey for oracle
    [12345.678901] Out of memory: Killed process 2767 (oracle)
    [Thu Apr 14 05:58:39 2016] Out of memory: Killed process 2767 (oracle)

Table: logs, source syslog: program, pid, severity (kern.notice of Solaris, the number of <13>), code (ORA-, TNS-), text.
Clocks: wall-local (no year: see the question), wall-utc where the stamp has an offset, boot-relative for dmesg. Stamps are
starts. Traps: dmesg -T computes the time from the uptime and drifts; `last message repeated n times` stands for n lines;
messages may go on in indented lines, which are read but not kept. Known gaps: the journal's binary and JSON exports.
"""

from __future__ import annotations

import re

import polars as pl

from parsers import yearless
from parsers.postgres_lines import THROUGH_SYSLOG
from parsers.registry import Claim, Format
from parsers.small_texts import share
from parsers.source import Head, Source
from parsers.tables import Domain, State, Tables
from parsers.times import MONTHS, WALL_BASE, span_s

_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2}(?:[.,][0-9]{1,9})?)"
_MONTH = (
    r"(?:(?:[Jj]an|[Ff][eé][bv]|[Mm]a[ryi]|[Mm]är|[Mm]rz|[Aa][pv]r|[Mm]ai|[Jj]u[nil]|[Aa]u[gt]|[Aa]o[uû]t?|[Ss]ep|[Oo][ck]t"
    r"|[Nn]ov|[Dd][eé][czi])[a-zé]{0,7}\.?"
    # What journalctl prints in Spanish, Italian, Turkish, Polish, Czech, Russian.
    r"|(?i:ene|ago|dic|gen|giu|lug|set|ott|oca|şub|nis|haz|tem|ağu|eyl|eki|kas|ara|sty|lut|kwi|cze|lip|sie|wrz|paź|lis|gru"
    r"|led|bře|dub|kvě|čvn|čvc|srp|zář|říj|(?:янв|фев|мар|апр|ма[йя]|ию[нл]|авг|сен|окт|ноя|дек)[а-я]{0,5})\.?)"
)
_TAG = r"([^\s:\[\]=]{1,64})(?:\[([0-9]{1,10})\])?: ?(.*)"
BSD = rf"^(?:<([0-9]{{1,3}})>)?({_MONTH}) +([0-9]{{1,2}}) (?:([0-9]{{4}}) )?{_CLOCK} ([^\s:]{{1,255}}) (.*)$"
ISO = (
    rf"^(?:<([0-9]{{1,3}})>)?(?:1 )?([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})T{_CLOCK}(Z"
    rf"|[+-][0-9]{{2}}:?[0-9]{{2}})? ([A-Za-z0-9._-]{{1,255}}) (.*)$"
)
# Seconds since boot: ten digits would be an epoch (ping -D), or 31 years.
BOOT = r"^(?:<([0-9]{1,3})>|[a-z]+ +:[a-z]+ *: )?\[ *([0-9]{1,9}\.[0-9]{1,9})\](?:\[ *[TC][0-9]+\])? ?(.*)$"
WALL = rf"^(?:<([0-9]{{1,3}})>)?\[[A-Za-z]{{3}} ([A-Z][a-z]{{2}}) +([0-9]{{1,2}}) {_CLOCK} ([0-9]{{4}})\] ?(.*)$"
MARK = r"^-- (?:Logs begin at|Journal begins at|Reboot|Boot [0-9a-f]{32}|No entries).*$"
DATE = r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +[0-9]{1,2} [0-9:]{8} (?:[A-Z]{2,5} )?([0-9]{4})$"
_OWNS = {
    "bsd": (rf"^(?:<[0-9]{{1,3}}>)?{_MONTH} +[0-9]{{1,2}} (?:[0-9]{{4}} )?[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}[0-9.,]* [^\s:]+ (?:\S+: "
        rf"|last message repeated)|{MARK}",
            ("solaris", "linux", "aix", "hpux", "bsd"), "syslog(3)", "cat /var/adm/messages", ("wall-local",)),
    "iso": (r"^(?:(?:<[0-9]{1,3}>)?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.,]*(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
            r" [A-Za-z0-9._-]+ [^\s:]+:(?: |$)|<[0-9]{1,3}>1 [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}(?:Z|[+-][0-9:]{5})(?: \S+){4} )"
            rf"|{MARK}",
            ("linux",), "journalctl(1)", "journalctl -o short-iso", ("wall-utc", "wall-local")),
    "dmesg": (r"^(?:<[0-9]{1,3}>"
        r"|[a-z]+ +:[a-z]+ *: )?\[ *[0-9]{1,9}\.[0-9]{6}\](?:\[ *[TC][0-9]+\])? ", ("linux",), "dmesg(1)", "dmesg", ("boot-relative",)),
    "dmesg_T": (r"^(?:<[0-9]{1,3}>)?\[[A-Za-z]{3} [A-Z][a-z]{2} +[0-9]{1,2} [0-9:]{8} [0-9]{4}\] ?",
            ("linux",), "dmesg(1)", "dmesg -T", ("wall-local",)),
}  # fmt: skip
FORMATS = tuple(
    Format(
        kind="syslog",
        variant=variant,
        version="1",
        systems=systems,
        tables=("logs",),
        man=man,
        example=example,
        clocks=clocks,
        own=own,
    )
    for variant, (own, systems, man, example, clocks) in _OWNS.items()
)

_PATTERNS = {name: re.compile(own) for name, (own, *_) in _OWNS.items()}
_SERVER = re.compile(THROUGH_SYSLOG)
ONE_SERVER = 0.9
"""So many lines of PostgreSQL's own numbering are its log, not the system's (practice)."""

ID = r"^\[ID ([0-9]+) ([a-z0-9]+\.[a-z]+)\] (.*)$"
CODE = r"\b((?:ORA|TNS)-)0*([0-9]{1,5})\b"
RFC5424 = r"^(\S+) (\S+) (\S+) (?:-|\[.*\])(?: (.*))?$"
_LOOK = re.compile(
    r"(?m)^(?:<[0-9]{1,3}>)?(?:[A-Z][a-zé]{2,8}\.? +[0-9]{1,2} |1 |[0-9]{4}-[0-9]{2}-|\[ *[0-9]+\.|\[[A-Z]|[a-z]+ +:|-- )"
)


def claim(head: Head) -> Claim | None:
    """By stamps, a host and a program in most of the first lines."""
    lines = [x for x in head.lines[:30] if x.strip()]
    if not any(_LOOK.match(x) for x in lines):
        return None
    best: Claim | None = None
    for variant, pattern in _PATTERNS.items():
        if not any(pattern.match(x) for x in lines):
            continue
        found, part = share(head, pattern)
        strength = min(0.95, (0.55 if found > 1 else 0.4) + 0.4 * part)
        if part >= 0.4 and (best is None or strength > best.strength):
            best = Claim(strength, f"{found} lines of a system log", variant)
    if best is not None and share(head, _SERVER)[1] >= ONE_SERVER:
        return Claim(best.strength - 0.2, f"{best.reason}, all of one server", best.variant)
    return best


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run; `state` carries the year and the last stamp, and whether a message may go on."""
    read = {"bsd": _bsd, "iso": _iso, "dmesg": _boot, "dmesg_T": _wall}[state["variant"]]
    for block in source.blocks():
        frame = block.frame
        line = pl.col("line")
        marks = frame.filter(line.str.contains(MARK) | line.str.contains(DATE))
        out.read(marks["line_no"])
        rows = read(frame, source, out, state)
        # What is indented below a message belongs to it.
        out.read(frame.filter(line.str.contains(r"^[ \t]+\S"))["line_no"])
        if not rows.is_empty():
            _falls(rows, out, state)
            out.add("logs", _said(rows))
    return state


def _split(frame: pl.DataFrame, pattern: str, names: list[str]) -> pl.DataFrame:
    rows = frame.with_columns(g=pl.col("line").str.extract_groups(pattern).struct.rename_fields(names)).unnest("g")
    return rows.filter(pl.col("rest").is_not_null()).with_columns(line_end=pl.col("line_no"))


def _bsd(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    rows = _split(frame, BSD, ["pri", "mon", "day", "year", "h", "m", "s", "host", "rest"])
    if rows.is_empty():
        return rows
    rows = rows.with_columns(pl.col("s").str.replace(",", ".", literal=True))
    if rows["year"].null_count() < len(rows):
        rows = rows.with_columns(
            t_local=_date(
                pl.col("mon")
                .str.to_lowercase()
                .str.strip_chars(".")
                .replace_strict(MONTHS, default=None, return_dtype=pl.Int64)
            )
        )
        _wall_domain(rows, "wall-local", source, out)
    else:
        rows = rows.with_columns(yearless.seconds(rows, source.hints, state))
        yearless.report(rows, source.hints, out, state)
    return _tagged(rows)


def _iso(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    rows = _split(frame, ISO, ["pri", "year", "mon", "day", "h", "m", "s", "zone", "host", "rest"])
    if rows.is_empty():
        return rows
    rows = rows.with_columns(
        pl.col("s").str.replace(",", ".", literal=True), version=pl.col("line").str.contains(r"^<[0-9]+>1 ")
    )
    rows = rows.with_columns(t_local=_date(pl.col("mon").cast(pl.Int64, strict=False)))
    sign = pl.when(pl.col("zone").str.starts_with("-")).then(-1.0).otherwise(1.0)
    digits = pl.col("zone").str.replace(":", "").str.slice(1)
    offset = sign * (
        digits.str.slice(0, 2).cast(pl.Float64, strict=False) * 3600
        + digits.str.slice(2, 2).cast(pl.Float64, strict=False) * 60
    )
    known = rows["zone"].null_count() == 0 if "utc" not in state else bool(state["utc"])
    state["utc"] = known
    if known:
        rows = rows.with_columns(t_local=pl.col("t_local") - offset.fill_null(0.0))
    _wall_domain(rows, "wall-utc" if known else "wall-local", source, out)
    rows = _tagged(rows)
    # RFC 5424: program, process and message id stand before the text.
    new = pl.col("rest").str.extract_groups(RFC5424).struct.rename_fields(["p", "q", "r", "t"])
    rows = rows.with_columns(n=pl.when("version").then(new)).unnest("n")
    told = pl.col("version")
    return rows.with_columns(
        program=pl.when(told).then(pl.col("p").replace("-", None)).otherwise("program"),
        pid=pl.when(told).then(pl.col("q")).otherwise("pid"),
        text=pl.when(told).then(pl.coalesce("t", "rest")).otherwise("text"),
    )


def _boot(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    rows = _split(frame, BOOT, ["pri", "at", "rest"]).with_columns(
        t_local=pl.col("at").cast(pl.Float64, strict=False), program=pl.lit("kernel")
    )
    if not rows.is_empty():
        out.domain(Domain(1, "boot-relative", None, None, *span_s(rows["t_local"]), [_ends(rows)]))
    return rows.with_columns(pid=pl.lit(None, pl.String), text=pl.col("rest"))


def _wall(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    rows = _split(frame, WALL, ["pri", "mon", "day", "h", "m", "s", "year", "rest"])
    if rows.is_empty():
        return rows
    rows = rows.with_columns(
        t_local=_date(pl.col("mon").str.to_lowercase().replace_strict(MONTHS, default=None, return_dtype=pl.Int64)),
        program=pl.lit("kernel"),
    )
    _wall_domain(rows, "wall-local", source, out)
    if not state.get("drift"):
        state["drift"] = True
        first = int(rows["line_no"][0])
        out.note(
            first,
            first,
            "remark",
            "dmesg -T computes times from the uptime: after a suspend or a changed clock they are off",
        )
    return rows.with_columns(pid=pl.lit(None, pl.String), text=pl.col("rest"))


def _date(month: pl.Expr) -> pl.Expr:
    number = {n: pl.col(n).cast(pl.Int32, strict=False) for n in ("year", "day")}
    return yearless.day_seconds(number["year"], month, number["day"]) + yearless.clock_seconds()


def _tagged(rows: pl.DataFrame) -> pl.DataFrame:
    """Split `program[pid]: text`; what has no program stays text."""
    parts = pl.col("rest").str.extract_groups(rf"^{_TAG}$").struct.rename_fields(["program", "pid", "text"])
    return rows.with_columns(g=parts).unnest("g").with_columns(text=pl.coalesce("text", "rest"))


def _said(rows: pl.DataFrame) -> pl.DataFrame:
    """Columns of the table; severity and code as far as the text says them."""
    text = pl.col("text")
    return rows.select(
        "line_no",
        "t_local",
        "program",
        source=pl.lit("syslog"),
        pid=pl.col("pid").cast(pl.Int64, strict=False),
        severity=pl.coalesce(text.str.extract(ID, 2), pl.col("pri")),
        code=pl.when(text.str.contains(CODE)).then(text.str.extract(CODE, 1) + text.str.extract(CODE, 2)),
        text=text,
    )


def _falls(rows: pl.DataFrame, out: Tables, state: State) -> None:
    """Say once where stamps go back: a changed clock, the end of summer time or several writers."""
    before = pl.col("t_local").shift().fill_null(pl.lit(state.get("last"), pl.Float64))
    fell = rows.filter(pl.col("t_local") < before)
    if len(fell) and not state.get("fell"):
        state["fell"] = True
        line = int(fell["line_no"][0])
        out.note(
            line, line, "remark", "stamps go back here: a changed clock, the end of summer time, or several writers"
        )
    known = rows["t_local"].drop_nulls()
    if len(known):
        state["last"] = float(known[-1])


def _ends(rows: pl.DataFrame) -> tuple[int, int]:
    return int(rows["line_no"][0]), int(rows["line_end"][-1])


def _wall_domain(rows: pl.DataFrame, kind: str, source: Source, out: Tables) -> None:
    begin, end = span_s(rows["t_local"])
    if begin is not None:
        zone = "UTC" if kind == "wall-utc" else source.hints.tz
        out.domain(Domain(1, kind, WALL_BASE, zone, begin, end, [_ends(rows)]))
