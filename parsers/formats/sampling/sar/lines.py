"""Recognise lines of sar and pidstat: banners, headers, rows, averages, restarts and comments."""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.sample_stamps import DAY, day_number, of_day
from parsers.columns import grid
from parsers.declarations import Claim
from parsers.formats.sampling.shared.banner_dates import banner_day, read_banner_day
from parsers.formats.sampling.shared.banners import BANNER, UNIX_BANNER, to_float
from parsers.formats.sampling.shared.section_columns import section
from parsers.formats.sampling.shared.section_rows import Found, fill, words
from parsers.tables.rows import State, Tables
from parsers.text.notes import ELISION
from parsers.text.source import Head, Source

CONFIG = r"^[ \t]*System [Cc]onfiguration:[ \t]*lcpu="
_TIME = r"(?:([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[ \t]?([AaPp])\.?[Mm]\.?(?:[ \t]|$))?|([0-9]{9,10})(?:[ \t]|$))"
TIME = rf"^[ \t]*{_TIME}[ \t]*"
SIGNED_TIME = r"^[ \t]*([0-9]{1,2})[时時]([0-9]{2})分([0-9]{2})秒"
"""A time of Chinese and Japanese locales; read as the same time with colons."""

AVERAGE = (
    r"^[ \t]*(?:Average|Durchschn\.|Moyenne|Media|M[ée]dia|Gemiddeld|Genomsnitt|Gjennomsnitt|Gennemsnit|Średnia|Průměr|Priemer"
    r"|Среднее|Середнє|平均値|평균|平均时间|平均時間|Keskiarvo|Mitjana)[ \t]?[:：]?[ \t]+|^[ \t]*[^ \t0-9:：;{}\"=/]{3,14}[ \t]?[:：][ \t]+"
)
_NO_AVERAGE = r"^[ \t]*(?:Device|Disks?|avg-cpu|Time|Filesystem|tty|zzz|System)"
SADF = r"^([^;# \t][^;]*);(-?[0-9]+);(?:([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})(?: ([A-Z]{1,5}|[+-][0-9]{4}))?|([0-9]{9,10}));(.*)$"
SADF_HEADER = r"^# hostname;interval;timestamp;(.*)$"
_NAME = r"[%A-Za-z][^ \t;,\"{}=]*"
_KNOWN = (
    r"runq-sz|swpq-sz|plist-sz|proc-sz|file-sz|inod-sz|lock-sz|text-sz|kbmemfree|freemem|freeswap|dentunusd|totsck|tcpsck|tcp6sck"
    r"|udpsck|MHz|wghMHz|sml_mem|degC|inV|rpm|kbhugfree|MBfsfree|idvendor|kbswpfree|CPU[0-9]+|ldavg-1|physc|threads|StkSize|fd-nr"
)
_SECTION_WORD = rf"(?:%[A-Za-z][^ \t]*|[A-Za-z][A-Za-z0-9+_.-]*/(?:s|i)|{_KNOWN})"
HEADER = rf"^(?:{_NAME}[ \t]+)*?{_SECTION_WORD}(?:[ \t]+{_NAME})*$"
"""A header: column names only, one of them a percentage, a rate or another known one."""

UNTIMED_ROW = r"^[ \t]*[^ \t]+(?:[ \t]+-?[0-9][0-9.,]*){3,}$"
RESTART = r"^(?:LINUX[ -]RESTART|(?:unix|Unix|UNIX|AIX|HP-UX) [Rr]estarts?)\b.*$"
COMMENT = r"^COM[ \t]"
TASK_ROW = r"[ \t](?:[0-9]+[ \t]+-|-[ \t]+[0-9]+)[ \t]+[0-9].*[ \t](?:\|__)?[^ \t]+$"
LOOKS = (
    rf"{BANNER}|{UNIX_BANNER}|^# hostname;interval;timestamp;|^(?:#[ \t]+Time|[ \t]*{_TIME}[ \t]+{_NAME})[ \t].*{_SECTION_WORD}"
    r"|^[ \t]*[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[ \t][AP]M)?(?:[ \t]+[^ \t]{1,40})?(?:[ \t]+-?[0-9][0-9.,]*[kMG%]?){2,}"
    rf"|{AVERAGE}(?:[^ \t]+[ \t]+)?[0-9.,-]+(?:[ \t]|$)|{SADF}|{SIGNED_TIME}[ \t]"
)


BEGINS = rf"{LOOKS}|{CONFIG}|{AVERAGE}|^[ \t]*\*+(?:[ \t]\*+)*$|^[ \t]*[0-9]{{1,2}}:[0-9]{{2}}:[0-9]{{2}}|^[ \t]+[^ \t]+(?:[ \t]+-?[0-9][0-9.,]*){{3,}}"
"""The beginning of a line, whole or broken; a device's row has no time in front."""

_PAGES = {"sun4u": 8.0, "sun4v": 8.0, "i86pc": 4.0, "x86_64": 4.0, "i686": 4.0, "i386": 4.0}
"""Page size in kB by the machine that the banner names."""


_QUICK = (
    "/s ",
    "/s\n",
    "%idle",
    "%util",
    "%CPU",
    "%busy",
    "RESTART",
    " COM ",
    "|__",
    "runq-sz",
    "freemem",
    "kbmemfree",
)


_BANNERED, _UNIX_BANNERED, _TIMED, _AVERAGED = (re.compile(p).match for p in (BANNER, UNIX_BANNER, TIME, AVERAGE))
_TITLED = re.compile(r"#[ \t]+Time[ \t]+").match


def sections_claim(head: Head) -> Claim | None:
    """Claim by the header of a section after a time."""
    if not any(word in head.text for word in _QUICK):
        return None
    banner = system = None
    tasks = sections = averages = events = 0
    signs = "秒" in head.text
    for line in head.lines[:400]:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", line) if "\x1b" in line else line
        plain = re.sub(SIGNED_TIME, r"\1:\2:\3", plain) if signs else plain
        match = _BANNERED(plain)
        if match or _UNIX_BANNERED(plain):
            banner = plain
            system = "linux" if match else {"S": "solaris", "H": "hpux", "A": "aix"}[plain.strip()[0]]
            continue
        timed = _TIMED(plain) or _TITLED(plain) or _AVERAGED(plain)
        if timed is None or re.match(_NO_AVERAGE, plain):
            continue
        body = plain[timed.end() :].strip()
        if re.match(HEADER, body):
            names = body.split()
            tasks += bool({"PID", "TGID"} & set(names))
            sections += not _of_mpstat(names)
        elif re.match(RESTART, body) or re.match(COMMENT, body):
            events += 1
        elif re.match(AVERAGE, plain) and re.search(TASK_ROW, plain):
            averages += 1
        if tasks + sections > 3:
            break
    if tasks:
        return Claim(0.95, "header of pidstat", "pidstat")
    if sections:
        return Claim(0.95 if banner else 0.85, f"{sections} headers of sar behind times", system or _system(head))
    if banner and events:
        return Claim(0.9, "banner, restarts and comments of sar", system)
    if averages >= 2:
        return Claim(0.8, f"{averages} averages of pidstat -t", "pidstat")
    return None


def _of_mpstat(names: list[str]) -> bool:
    """Decide whether a table is of mpstat: it prints %irq before %steal where sar prints it after, and tables of interrupts by CPU."""
    if names[0] not in ("CPU", "NODE"):
        return False
    if {"%usr", "%user"} & set(names):
        unsplit = "%steal" not in names or names.index("%irq") < names.index("%steal") if "%irq" in names else False
        return unsplit or "intr/s" in names
    return not {"total/s", "MHz", "wghMHz"} & set(names)


def _system(head: Head) -> str:
    """Return the system of a text without a banner: device rows without times and integer shares are Unix, kB names are Linux."""
    if re.search(r"lcpu=|[ \t]physc\b|Kbs/s", head.text):
        return "aix"
    if re.search(r"runq-sz[ \t]+%runocc|blks/s|%wio", head.text):
        return "solaris"
    return "linux"


def classed(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add to each line its shape, the header, banner and date it stands under, its time and its words.

    A time alone has the shape `idle`: no device had work.
    """
    line = pl.col("line")
    if frame["line"].str.contains("\x1b", literal=True).any():
        frame = frame.with_columns(line=line.str.replace_all("\x1b\\[[0-9;]*m", ""))
    if frame["line"].str.contains("秒", literal=True).any():
        frame = frame.with_columns(line=line.str.replace(SIGNED_TIME, "${1}:$2:$3"))
    fields = ["host", "printed", "y", "mo", "d", "sh", "sm", "ss", "zone", "sec", "rest"]
    if frame["line"].str.contains(";", literal=True).any():
        frame = frame.with_columns(line.str.extract_groups(SADF).struct.rename_fields(fields).alias("g")).unnest("g")
    else:
        frame = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in fields)
    times = line.str.extract_groups(TIME).struct.rename_fields(["h", "m", "s", "ap", "epoch"])
    frame = frame.with_columns(times.alias("g")).unnest("g")
    is_sadf = pl.col("rest").is_not_null()
    average = (
        line.str.contains(AVERAGE)
        & pl.col("h").is_null()
        & pl.col("epoch").is_null()
        & ~is_sadf
        & ~line.str.contains(_NO_AVERAGE)
    )
    stripped = pl.when(average).then(line.str.replace(AVERAGE, "")).otherwise(line.str.replace(TIME, ""))
    frame = frame.with_columns(
        average=average,
        body=pl.when(is_sadf).then(pl.col("rest")).otherwise(stripped).str.strip_chars(" \t"),
        timed=pl.col("h").is_not_null() | pl.col("epoch").is_not_null() | average,
    )
    body = pl.col("body")
    names = pl.coalesce(
        line.str.extract(SADF_HEADER).str.replace_all(";", " "),
        line.str.extract(r"^#[ \t]+(?:Time[ \t]+)?((?:[A-Z]{3,4}|PID)[ \t].*)$"),
        pl.when(pl.col("timed") & ~is_sadf & body.str.contains(HEADER) & ~body.str.contains(RESTART)).then(body),
    )
    lines = grid.under(frame, names, state)
    banner = line.str.contains(BANNER) | line.str.contains(UNIX_BANNER)
    lines = lines.with_columns(
        shape=pl.when(pl.col("is_heading"))
        .then(pl.lit("heading"))
        .when(banner)
        .then(pl.lit("banner"))
        .when(line.str.contains(CONFIG))
        .then(pl.lit("config"))
        .when(body.str.contains(RESTART) & pl.col("timed") | is_sadf & body.str.contains(RESTART))
        .then(pl.lit("restart"))
        .when(body.str.contains(COMMENT))
        .then(pl.lit("comment"))
        .when(pl.col("average"))
        .then(pl.lit("average"))
        .when((body == "") & pl.col("timed") & ~pl.col("average"))
        .then(pl.lit("idle"))
        .when((body == "") | line.str.contains(ELISION))
        .then(pl.lit("blank"))
        .otherwise(pl.lit("row")),
        banner=banner.cum_sum().cast(pl.Int64, strict=False) + int(state.get("banner", 0)),
    )
    return _dated(_averaged(lines, state), source, out, state)


def _averaged(lines: pl.DataFrame, state: State) -> pl.DataFrame:
    """Mark rows with a blank time below an `Average` line as averages too: they are the other devices and CPUs."""
    last = pl.when("timed").then("average").forward_fill().fill_null(pl.lit(bool(state.get("averaged"))))
    lines = lines.with_columns(below=last)
    state["averaged"] = bool(lines["below"][-1]) if len(lines) else bool(state.get("averaged"))
    untimed = (pl.col("shape") == "row") & ~pl.col("timed") & pl.col("below")
    row = grid.sparse(lines, untimed, pl.col("line").str.contains(UNTIMED_ROW)).fill_null(False)
    return lines.with_columns(shape=pl.when(row).then(pl.lit("average")).otherwise("shape")).drop("below")


def _dated(lines: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add to each line its day, its time in seconds and its words."""
    midnight, days = state.get("midnight"), []
    page = state.get("page_kb")
    if midnight is None and source.hints.date and not state.get("banner"):
        midnight = banner_day(source.hints.date, None, month_first=False)[0]
    for line_no, banner, text in (
        lines.filter(pl.col("shape") == "banner").select("line_no", "banner", "line").iter_rows()
    ):
        linux, unix = re.match(BANNER, text), re.match(UNIX_BANNER, text)
        assert linux or unix
        date = linux[3] if linux else unix[4] if unix else ""
        day = read_banner_day(date, line_no, source.hints, out, month_first=linux is None)
        machine = linux[4] or "" if linux else unix[3].split()[-1] if unix else ""
        days.append((banner, day, _PAGES.get(machine)))
    known = pl.DataFrame(
        [(int(state.get("banner", 0)), midnight, page), *days],
        schema={"banner": pl.Int64, "midnight": pl.Float64, "page_kb": pl.Float64},
        orient="row",
    )
    lines = lines.join(known, on="banner", how="left", maintain_order="left")
    state["banner"], state["midnight"], state["page_kb"] = known.row(-1)
    sadf = lines["rest"].is_not_null().any()
    date = day_number(*(pl.col(c).cast(pl.Int64, strict=False) for c in ("y", "mo", "d")))
    clock = (pl.col("sh").cast(pl.Float64) * 60 + pl.col("sm").cast(pl.Float64)) * 60 + pl.col("ss").cast(pl.Float64)
    epoch = pl.coalesce("epoch", "sec").cast(pl.Float64, strict=False)
    full = date * DAY + clock if sadf else pl.lit(None, pl.Float64)
    listed = words(pl.col("body"))
    if sadf:
        listed = pl.when(pl.col("rest").is_not_null()).then(words(pl.col("body"), ";")).otherwise(listed)
    utc = epoch.is_not_null() | (pl.col("zone") == "UTC").fill_null(False)
    lines = lines.with_columns(
        at=pl.coalesce(full, epoch, of_day()),
        utc=utc,
        midnight=pl.when(full.is_not_null()).then(0.0).otherwise(pl.col("midnight")),
        printed_s=pl.when(pl.col("printed").cast(pl.Float64, strict=False) > 0).then(
            pl.col("printed").cast(pl.Float64, strict=False)
        ),
        words=listed,
        line_end=pl.col("line_end"),
    )
    # sadf prints one row with all CPUs for each interrupt.
    star = pl.col("heading").str.ends_with("CPU*").fill_null(False)
    lines = lines.with_columns(width=pl.when(star).then(pl.col("words").list.len().max().over("table")))
    for width in lines["width"].drop_nulls().unique(maintain_order=True):
        wide = " ".join(["all", *(f"CPU{i}" for i in range(width - 2))])
        mine = pl.when(pl.col("width") == width).then(pl.col("heading").str.replace("CPU*", wide, literal=True))
        lines = lines.with_columns(heading=mine.otherwise(pl.col("heading")))
    return lines


_TASKS = {
    9: "UID TGID TID %usr %system %guest %CPU CPU Command",
    10: "UID TGID TID %usr %system %guest %wait %CPU CPU Command",
}


def averages_only(lines: pl.DataFrame, found: Found, out: Tables, state: State) -> None:
    """Store averages as rows if no other row stands above them in the part.

    Without a header only pidstat -t is certain: its columns are verified by a process whose shares add up to %CPU.
    """
    if state.get("timed_row"):
        return
    timed = lines.filter((pl.col("shape") == "row") & pl.col("heading").is_not_null())["line_no"]
    averages = lines.filter((pl.col("shape") == "average") & ~pl.col("is_heading"))
    if len(timed):
        state["timed_row"] = True
        averages = averages.filter(pl.col("line_no") < timed[0])
    if averages.is_empty():
        return
    none = {"sample": pl.lit(1, pl.Int64), "first": pl.lit(False), "interval_s": pl.lit(None, pl.Float64)}
    averages = averages.with_columns(**none, t_local=pl.lit(None, pl.Float64))
    known = averages.filter(pl.col("heading").is_not_null())
    bare = averages.filter(pl.col("heading").is_null())
    heading = _proved(bare, state)
    if heading:
        known = pl.concat([known, bare.with_columns(heading=pl.lit(heading))])
        text = pl.lit(f"no header: columns {heading}, proved by their sum")
        out.notes(bare.select("line_no", kind=pl.lit("repaired"), text=text))
    else:
        out.account("unknown", bare["line_no"])
    for (name,), mine in known.group_by("heading", maintain_order=True):
        fill(mine, section(str(name)), found, state)
    if not known.is_empty() and not state.get("said_average"):
        state["said_average"] = True
        line = int(known["line_no"][0])
        out.note(line, line, "remark", "averages without the samples they are made of")


def _proved(rows: pl.DataFrame, state: State) -> str | None:
    """Return the column names of pidstat -t by their number and a process whose usr + system + guest is its %CPU."""
    if state.get("proved"):
        return str(state["proved"])
    for cells in rows["words"].to_list():
        heading = _TASKS.get(len(cells))
        numbers = [to_float(c.replace(",", ".")) for c in cells[3:-2]]
        if heading and cells[2] == "-" and all(n is not None for n in numbers):
            *shares, total = [n or 0.0 for n in numbers]
            if total > 0 and abs(sum(shares[:3]) - total) < 0.02:
                state["proved"] = heading
                return heading
    return None
