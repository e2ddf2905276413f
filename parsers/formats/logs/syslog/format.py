r"""System logs: messages files, journal, dmesg.

Files and tools: /var/adm/messages (Solaris), /var/log/messages and /var/log/syslog (RFC 3164 lines), journalctl (short, short-iso,
short-precise, short-full, with-unit, short-unix, --no-hostname), RFC 5424 lines, vmkernel.log of ESXi,
logread of OpenWrt, dmesg(1) of Linux (seconds since boot; -T, -d, -e and -H,
--time-format iso, each with -x), dmesg of Solaris.
Capture: `journalctl -o short-iso --since ...`, `dmesg -T`, `cat /var/adm/messages`.

Samples::

    Apr 14 05:58:39 db1 unix: [ID 836849 kern.notice] NOTICE: vmem_xalloc failed
    2016-04-14T05:58:39.123456+02:00 db1 sshd[4711]: Accepted publickey for oracle
    [12345.678901] Out of memory: Killed process 2767 (oracle)
    [Thu Apr 14 05:58:39 2016] Out of memory: Killed process 2767 (oracle)

Table: logs, source syslog: program, pid, severity (kern.notice of Solaris, the number of <13>), code (ORA-, TNS-), text.
Clocks: wall-local (no year: a question), wall-utc where the stamp has an offset, boot-relative for dmesg. Stamps are
starts. Traps: dmesg -T computes the time from the uptime and drifts; dmesg -e prints a minute, then steps; AIX prints facility and level
before the program (busybox and OpenWrt too); names of zones other than UTC are ambiguous (short-full: wall-local); `last message repeated
n times` stands for n lines; messages may continue on indented lines, which are read but not stored. Known gaps: the journal's
binary export, -o cat, host and program of -o short-monotonic (they stay in the text); dmesg -t and `--time-format delta`, which print no
time. The journal's JSON is read by the kind json_lines.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import yearless
from parsers.columns.server_log_lines import THROUGH_SYSLOG
from parsers.columns.small_texts import share
from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import MONTHS, WALL_BASE, span_s

_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2}(?:[.,][0-9]{1,9})?)"
_MONTH = (
    r"(?:(?:[Jj]an|[Ff][eé][bv]|[Mm]a[ryi]|[Mm]är|[Mm]rz|[Aa][pv]r|[Mm]ai|[Jj]u[nil]|[Aa]u[gt]|[Aa]o[uû]t?|[Ss]ep|[Oo][ck]t"
    r"|[Nn]ov|[Dd][eé][czi])[a-zé]{0,7}\.?"
    # Months that journalctl prints in Spanish, Italian, Turkish, Polish, Finnish, Czech, Russian.
    r"|(?i:ene|ago|dic|gen|giu|lug|set|ott|oca|şub|nis|haz|tem|ağu|eyl|eki|kas|ara|sty|lut|kwi|cze|lip|sie|wrz|paź|lis|gru"
    r"|tammi|helmi|maalis|huhti|touko|kesä|heinä|elo|syys|loka|marras|joulu"
    r"|led|bře|dub|kvě|čvn|čvc|srp|zář|říj|(?:янв|фев|мар|апр|ма[йя]|ию[нл]|авг|сен|окт|ноя|дек)[а-я]{0,5})\.?)"
)
_FACILITY = r"(?:<([0-9]{1,3})>|([a-z0-9]{2,8}) *:([a-z]{2,6}) *: )?"
"""Facility and level that dmesg -r and -x print in front."""
_TAG = r"([^\s:\[\]=]{1,64})(?:\[([0-9]{1,10})\])?(?: \([^()]{1,120}\))?(?: <([A-Z][a-z]{2,8})>)?: ?(.*)"
"""Program, process and text; macOS adds a job in parentheses, and the level."""

# logread of OpenWrt prints day of the week and year; busybox prints facility and level after the host.
BSD = (
    rf"^(?:<([0-9]{{1,3}})>)?(?:[A-Z][a-z]{{2}} )?({_MONTH}) +([0-9]{{1,2}}) (?:([0-9]{{4}}) )?{_CLOCK} (?:((?:19|20)[0-9]{{2}}) )?"
    r"(?:([^\s:\[\]]{1,255}) )?(.*)$"
)
ISO = (
    rf"^(?:<([0-9]{{1,3}})>)?(?:1 |[^\W\d_]{{2,4}}\.? )?([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})[T ]{_CLOCK}(Z"
    rf"|[+-][0-9]{{2}}:?[0-9]{{2}}| [A-Z]{{2,5}}| [+-][0-9]{{2,4}})? (?:[EACWNID][a-z]\(([0-9]{{1,3}})\) |([A-Za-z0-9._-]{{1,255}}) )?(.*)$"
)
WORLD = r"^cpu[0-9]{1,4}:([0-9]{1,10})(?: opID=[0-9A-Za-z-]{1,40})?\)"
EPOCH = r"^([0-9]{10}\.[0-9]{6}) ([A-Za-z0-9._-]{1,255}) (.*)$"
# At most nine digits of seconds since boot: ten would be an epoch (ping -D), or 31 years.
BOOT = rf"^{_FACILITY}\[ *([0-9]{{1,9}}\.[0-9]{{1,9}})(?:@[0-9]{{1,3}})?(?: < *[0-9.]+>)?\](?:\[ *[TC][0-9]+\])? ?(.*)$"
WALL = rf"^{_FACILITY}\[[A-Za-z]{{3}} ([A-Z][a-z]{{2}}) +([0-9]{{1,2}}) {_CLOCK} ([0-9]{{4}})(?: < *[0-9.]+>)?\] ?(.*)$"
KERNEL_ISO = rf"^{_FACILITY}([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})T([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}},[0-9]{{6}})([+-][0-9]{{2}}:[0-9]{{2}}) (.*)$"
# dmesg -e and -H print a minute, then the seconds since the previous line.
MINUTE = rf"^{_FACILITY}\[(?:([A-Z][a-z]{{2}}) ?([0-9]{{1,2}}) ([0-9]{{2}}):([0-9]{{2}})| *\+([0-9]{{1,9}}\.[0-9]{{6}}))\] ?(.*)$"
MARK = r"^-- (?:Logs begin at|Journal begins at|Reboot|Boot [0-9a-f]{32}|No entries).*$"
REPEATED = r"^--- last message repeated [0-9]{1,9} times? ---$"
"""Line of macOS for repeated messages; some versions print it without a stamp."""

DATE = r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +[0-9]{1,2} [0-9:]{8} (?:[A-Z]{2,5} )?([0-9]{4})$"
_FACILITY_SHOWN = r"(?:<[0-9]{1,3}>|[a-z0-9]{2,8} *:[a-z]{2,6} *: )?"
_OWNS = {
    "bsd": (r"^[A-Z][a-z]{2} [A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} (?:19|20)[0-9]{2} [a-z0-9]{2,10}\.[a-z]{3,7} "
        rf"|^(?:<[0-9]{{1,3}}>)?{_MONTH} +[0-9]{{1,2}} (?:[0-9]{{4}} )?[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}[0-9.,]* (?:[^\s:\[\]]+ )?"
        rf"(?:[^\s:]+(?: <[A-Z][a-z]{{2,8}}>)?: ?|last message repeated|[a-z|0-9]+[:.][a-z]+ )|{MARK}",
            ("solaris", "linux", "aix", "hpux", "freebsd"), "syslog(3)", "cat /var/adm/messages", ("wall-local",)),
    "dmesg_iso": (rf"^{_FACILITY_SHOWN}[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}},[0-9]{{6}}[+-][0-9]{{2}}:[0-9]{{2}} ",
            ("linux",), "dmesg(1)", "dmesg --time-format iso", ("wall-utc",)),
    "iso": (r"^(?:(?:<[0-9]{1,3}>)?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.,]*(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
            r" (?:[A-Za-z0-9._-]+ [^\s:]+:(?: |$)|cpu[0-9]{1,4}:[0-9]{1,10}[^()]{0,48}\)|[EACWNID][a-z]\([0-9]{1,3}\) [^\s:]+: )"
            r"|<[0-9]{1,3}>1 [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}(?:Z|[+-][0-9:]{5})(?: \S+){4} "
            r"|[^\W\d_]{2,4}\.? [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.]* (?:[A-Z]{2,5}|[+-][0-9]{2,4}) [A-Za-z0-9._-]+ [^\s:]+:(?: |$))"
            rf"|{MARK}",
            ("linux", "solaris"), "journalctl(1)", "journalctl -o short-iso", ("wall-utc", "wall-local")),
    "epoch": (r"^[0-9]{10}\.[0-9]{6} [A-Za-z0-9._-]+ [^\s:]+:(?: |$)", ("linux",), "journalctl(1)", "journalctl -o short-unix", ("wall-utc",)),
    "dmesg": (rf"^{_FACILITY_SHOWN}\[ *[0-9]{{1,9}}\.[0-9]{{6}}(?:@[0-9]{{1,3}})?(?: < *[0-9.]+>)?\](?:\[ *[TC][0-9]+\])? ", ("linux",), "dmesg(1)", "dmesg",
              ("boot-relative",)),
    "dmesg_T": (rf"^{_FACILITY_SHOWN}\[[A-Za-z]{{3}} [A-Z][a-z]{{2}} +[0-9]{{1,2}} [0-9:]{{8}} [0-9]{{4}}(?: < *[0-9.]+>)?\] ?",
            ("linux",), "dmesg(1)", "dmesg -T", ("wall-local",)),
    "dmesg_e": (rf"^{_FACILITY_SHOWN}\[(?:[A-Z][a-z]{{2}} ?[0-9]{{1,2}} [0-9]{{2}}:[0-9]{{2}}| *\+[0-9]{{1,9}}\.[0-9]{{6}})\] ",
            ("linux",), "dmesg(1)", "dmesg -e", ("wall-local",)),
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
"""Minimum share of lines with PostgreSQL's numbering by which a file is its log, not a system log (from practice)."""

_LEVEL = r"(?:emerg|alert|crit|err|error|warn|warning|notice|info|debug)"
LEVEL = rf"^([a-z0-9]{{2,10}}\.{_LEVEL})$"
AIX_FACILITY = rf"^([a-z0-9|]{{2,40}})[:.]({_LEVEL}) (.*)$"
ID = r"^\[ID ([0-9]+) ([a-z0-9]+\.[a-z]+)\] (.*)$"
CODE = r"\b((?:ORA|TNS)-)0*([0-9]{1,5})\b"
RFC5424 = r"^(\S+) (\S+) (\S+) (?:-|\[.*\])(?: (.*))?$"
_LOOK = re.compile(
    r"(?m)^(?:<[0-9]{1,3}>)?(?:(?:[A-Z][a-z]{2} )?[^\W\d_]{3,9}\.? +[0-9]{1,2} |1 |[0-9]{4}-[0-9]{2}-|\[ *\+?[0-9]+\.|\[[A-Z]|[a-z0-9]+ *:[a-z]+ *: |-- "
    r"|[^\W\d_]{2,4}\.? [0-9]{4}-|[0-9]{10}\.[0-9]{6} )"
)


def claim(head: Head) -> Claim | None:
    """Claim by stamps, a host and a program in the lines of the head."""
    lines = [x for x in head.lines[:30] if x.strip()]
    if not any(_LOOK.match(x) for x in lines):
        return None
    best: Claim | None = None
    for variant, pattern in _PATTERNS.items():
        if not any(pattern.match(x) for x in lines):
            continue
        count, fraction = share(head, pattern)
        strength = min(0.95, (0.55 if count > 1 else 0.4) + 0.4 * fraction)
        if fraction >= 0.4 and (best is None or strength > best.strength):
            best = Claim(strength, f"{count} lines of a system log", variant)
    if best is not None and share(head, _SERVER)[1] >= ONE_SERVER:
        return Claim(best.strength - 0.2, f"{best.reason}, all of one server", best.variant)
    return best


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the year, the last stamp, and the notes that were written once."""
    read = {
        "bsd": _bsd,
        "iso": _iso,
        "epoch": _epoch,
        "dmesg": _boot,
        "dmesg_T": _wall,
        "dmesg_e": _minutes,
        "dmesg_iso": _kernel_iso,
    }[state["variant"]]
    for block in source.blocks():
        frame = block.frame
        line = pl.col("line")
        marks = frame.filter(line.str.contains(MARK) | line.str.contains(DATE) | line.str.contains(REPEATED))
        out.read(marks["line_no"])
        rows = read(frame, source, out, state)
        # Indented lines below a message belong to it.
        out.read(frame.filter(line.str.contains(r"^[ \t]+\S"))["line_no"])
        if not rows.is_empty():
            _falls(rows, out, state)
            out.add("logs", _log_rows(rows))
    return state


def _split(frame: pl.DataFrame, pattern: str, names: list[str]) -> pl.DataFrame:
    rows = frame.with_columns(g=pl.col("line").str.extract_groups(pattern).struct.rename_fields(names)).unnest("g")
    return rows.filter(pl.col("rest").is_not_null()).with_columns(line_end=pl.col("line_no"))


def _bsd(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    rows = _split(frame, BSD, ["pri", "mon", "day", "year", "h", "m", "s", "late", "host", "rest"])
    if rows.is_empty():
        return rows
    level_after_host = pl.col("host").str.extract(LEVEL)
    rows = rows.with_columns(year=pl.coalesce("year", "late"), pri=pl.coalesce("pri", level_after_host))
    rows = rows.with_columns(pl.col("s").str.replace(",", ".", literal=True))
    # The first line decides whether stamps have a year, for all blocks.
    if state.setdefault("dated", rows["year"][0] is not None):
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
    rows = _split(frame, ISO, ["pri", "year", "mon", "day", "h", "m", "s", "zone", "number", "host", "rest"])
    if rows.is_empty():
        return rows
    # VMware ESXi 8.0 prints level and number; its kernel prints processor and world.
    rows = rows.with_columns(
        pri=pl.coalesce("pri", "number"),
        world=pl.col("rest").str.extract(WORLD),
        rest=pl.col("rest").str.replace(WORLD, ""),
    )
    rows = rows.with_columns(
        pl.col("s").str.replace(",", ".", literal=True), version=pl.col("line").str.contains(r"^<[0-9]+>1 ")
    )
    rows = rows.with_columns(t_local=_date(pl.col("mon").cast(pl.Int64, strict=False)))
    # journalctl -o short-full prints names of zones: only UTC is unambiguous.
    zone = pl.col("zone").str.strip_chars(" ").replace({"UTC": "Z", "GMT": "Z"})
    rows = rows.with_columns(zone=pl.when(~zone.str.contains("^[A-Z]{2}")).then(zone))
    offset = _offset()
    known = rows["zone"].null_count() == 0 if "utc" not in state else bool(state["utc"])
    state["utc"] = known
    if known:
        rows = rows.with_columns(t_local=pl.col("t_local") - offset.fill_null(0.0))
    _wall_domain(rows, "wall-utc" if known else "wall-local", source, out)
    rows = _tagged(rows)
    # In RFC 5424 program, process and message id stand before the text.
    new = pl.col("rest").str.extract_groups(RFC5424).struct.rename_fields(["p", "q", "r", "t"])
    rows = rows.with_columns(n=pl.when("version").then(new)).unnest("n")
    version = pl.col("version")
    return rows.with_columns(
        program=pl.when(version).then(pl.col("p").replace("-", None)).otherwise("program"),
        pid=pl.when(version).then(pl.col("q")).otherwise(pl.coalesce("pid", "world")),
        text=pl.when(version).then(pl.coalesce("t", "rest")).otherwise("text"),
    )


def _offset() -> pl.Expr:
    """Return the seconds east of UTC of column `zone`: +0200, +02:00, +02, Z."""
    sign = pl.when(pl.col("zone").str.starts_with("-")).then(-1.0).otherwise(1.0)
    digits = pl.col("zone").str.replace(":", "").str.slice(1)
    hours = digits.str.slice(0, 2).cast(pl.Float64, strict=False) * 3600
    return sign * (hours + digits.str.slice(2, 2).cast(pl.Float64, strict=False).fill_null(0.0) * 60)


def _epoch(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    rows = _split(frame, EPOCH, ["at", "host", "rest"])
    if rows.is_empty():
        return rows
    rows = rows.with_columns(pri=pl.lit(None, pl.String), t_local=pl.col("at").cast(pl.Float64))
    _wall_domain(rows, "wall-utc", source, out)
    return _tagged(rows)


def _boot(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    rows = _split(frame, BOOT, ["pri", "facility", "level", "at", "rest"]).with_columns(
        t_local=pl.col("at").cast(pl.Float64, strict=False), program=pl.lit("kernel")
    )
    if not rows.is_empty():
        out.domain(Domain(1, "boot-relative", None, None, *span_s(rows["t_local"]), [_ends(rows)]))
    return _of_kernel(rows)


def _wall(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    rows = _split(frame, WALL, ["pri", "facility", "level", "mon", "day", "h", "m", "s", "year", "rest"])
    if rows.is_empty():
        return rows
    rows = rows.with_columns(
        t_local=_date(pl.col("mon").str.to_lowercase().replace_strict(MONTHS, default=None, return_dtype=pl.Int64)),
        program=pl.lit("kernel"),
    )
    _wall_domain(rows, "wall-local", source, out)
    remark = "dmesg -T computes times from the uptime: after a suspend or a changed clock they are off"
    _remark_once("drift", remark, rows, out, state)
    return _of_kernel(rows)


def _minutes(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Read dmesg -e: a line with a minute, then lines with the seconds since the line before, until the next minute."""
    rows = _split(frame, MINUTE, ["pri", "facility", "level", "mon", "day", "h", "m", "later", "rest"])
    if rows.is_empty():
        return rows
    rows = rows.with_columns(s=pl.lit("0"), program=pl.lit("kernel"), own=pl.col("mon").is_not_null())
    if rows["own"].any():
        at = yearless.seconds(rows.filter("own"), source.hints, state)
        rows = rows.join(rows.filter("own").select("line_no", at=at), on="line_no", how="left", maintain_order="left")
    else:
        rows = rows.with_columns(at=pl.lit(None, pl.Float64))
    later = pl.col("later").cast(pl.Float64).fill_null(0.0).cum_sum().over(pl.col("own").cum_sum())
    rows = rows.with_columns(
        t_local=(pl.col("at").forward_fill().fill_null(pl.lit(state.get("last"), pl.Float64)) + later).round(6)
    )
    yearless.report(rows, source.hints, out, state)
    remark = "dmesg -e prints whole minutes, then what passed since: times are up to a minute early"
    _remark_once("minute", remark, rows, out, state)
    return _of_kernel(rows)


def _remark_once(key: str, remark: str, rows: pl.DataFrame, out: Tables, state: State) -> None:
    """Write a remark about all stamps of a form once, at the first of them."""
    if not state.get(key):
        state[key] = True
        first = int(rows["line_no"][0])
        out.note(first, first, "remark", remark)


def _kernel_iso(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    names = ["pri", "facility", "level", "year", "mon", "day", "h", "m", "s", "zone", "rest"]
    rows = _split(frame, KERNEL_ISO, names)
    if rows.is_empty():
        return rows
    rows = rows.with_columns(pl.col("s").str.replace(",", ".", literal=True), program=pl.lit("kernel"))
    rows = rows.with_columns(t_local=_date(pl.col("mon").cast(pl.Int64, strict=False)) - _offset())
    _wall_domain(rows, "wall-utc", source, out)
    return _of_kernel(rows)


def _of_kernel(rows: pl.DataFrame) -> pl.DataFrame:
    """Complete the columns of kernel lines: `-x` prints facility and level, `-r` their number."""
    facility_level = pl.concat_str("facility", "level", separator=".")
    return rows.with_columns(pid=pl.lit(None, pl.String), text=pl.col("rest"), pri=pl.coalesce("pri", facility_level))


def _date(month: pl.Expr) -> pl.Expr:
    number = {n: pl.col(n).cast(pl.Int32, strict=False) for n in ("year", "day")}
    return yearless.day_seconds(number["year"], month, number["day"]) + yearless.clock_seconds()


def _tagged(rows: pl.DataFrame) -> pl.DataFrame:
    """Split `program[pid]: text`; a line without a program stays text. AIX prints facility and level before the program."""
    aix = pl.col("rest").str.extract_groups(AIX_FACILITY).struct.rename_fields(["facility", "level", "behind"])
    rows = rows.with_columns(aix.alias("a")).unnest("a")
    rows = rows.with_columns(
        rest=pl.coalesce("behind", "rest"),
        pri=pl.coalesce("pri", pl.concat_str("facility", "level", separator=".")),
    ).drop("facility", "level", "behind")
    parts = pl.col("rest").str.extract_groups(rf"^{_TAG}$").struct.rename_fields(["program", "pid", "level", "text"])
    rows = rows.with_columns(g=parts).unnest("g").with_columns(text=pl.coalesce("text", "rest"))
    return rows.with_columns(pri=pl.coalesce("pri", "level"))


def _log_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `logs`; severity and code where the text has them."""
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
    """Note once where stamps go back: a changed clock, the end of summer time or several writers."""
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
