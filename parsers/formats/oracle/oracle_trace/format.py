r"""SQL traces of an Oracle server process: event 10046 (calls, waits, binds) and 10079 (network messages); 8i to 23ai.
Source: Database Performance Tuning Guide, "Using SQL Trace and TKPROF"; `alter session set events '10046 trace name context forever, level 8'`.

    *** 2014-10-28 13:40:20.194
    PARSE #140403126056776:c=0,e=77,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=4252345203,tim=1414518023078718
    STAT #140403126056776 id=1 cnt=2 pid=0 pos=1 obj=0 op='SORT ORDER BY (cr=0 pr=0 pw=0 time=155 us cost=1 size=34 card=1)'
    WAIT #140403126056776: nam='SQL*Net message from client' ela= 800728 driver id=1413697536 #bytes=1 p3=0 obj#=22 tim=1414518023880176
     172 bytes received via SQL*Net
    00D27C460 656C6573 63207463 646C6968 6D756E5F  [select child_num]

Tables: db_waits (one row for each WAIT, n = 1), db_calls (PARSE, EXEC, FETCH ...), counters (grp plan: the figures of each STAT line, item
is `#cursor/step operation`), sqlnet (side server: the messages of 10079 with bytes and direction; the dump below belongs to the row).
Clock: that of `tim`. Traps: stamps are ends; `ela`, `e` and `tim` are microseconds since 9i and hundredths of a second before. The unit is
decided by the version in the header, else by a tim after WAIT (10g and later), by texts that only 11g prints, by a tim too large for
hundredths; else the times are unknown, with a note. `tim` counts from boot unless a `***` line proves that it is Unix time (then the two
also give the zone). Time of rows with `dep` above 0 is part of their parent's; so are the time and blocks of a step in a STAT line part of
those of the step above it. Dumps, bind values and literals of statements are masked. Known gaps: XCTEND and the statement's text fill no
table; the time of 10079 messages is not printed.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import polars as pl

from parsers.clocks import oracle_stamps
from parsers.declarations import Claim, Format
from parsers.repair.rewrap import PASTE, rejoin
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, span_s

FORMAT = Format(
    kind="oracle_trace", variant="10046", version="3", systems=("solaris", "linux", "aix", "hpux", "windows"),
    tables=("db_waits", "db_calls", "counters", "sqlnet"), man="Oracle Database Performance Tuning Guide, SQL Trace",
    example="oradebug setospid PID; oradebug event 10046 trace name context forever, level 8", clocks=("wall-utc", "boot-relative", "none"),
    own=(
        r"^(?:WAIT #[0-9]+: nam='|(?:PARSE|EXEC|FETCH|CLOSE|LOB[A-Z]+|UNMAP) #[0-9]+:c=|PARSING IN CURSOR #|STAT #[0-9]+ id=|XCTEND |BINDS #"
        r"|END OF STMT|\*\*\* (?:SESSION ID|CLIENT ID|SERVICE NAME|MODULE NAME|ACTION NAME|[0-9]{4}-)|IFCD(?:SEND|RECV):|Dump of memory from 0x"
        r"|[0-9A-F]{6,16}(?: +[0-9A-F]{8})+ +\[| *(?:Bind#[0-9]+|oacdty=|oacflg=|kxsbbbfp=)| +value=|={15,}$)"
    ),
)  # fmt: skip

_WAIT = r"^WAIT #([0-9]+): nam='([^']*)' ela= ?([0-9]+)(?: |$)"
_CALL = r"^(PARSE|EXEC|FETCH|UNMAP|SORT UNMAP|CLOSE|LOB[A-Z]+) ?#([0-9]+):c=([0-9]+),e=([0-9]+),"
_STAT = r"^STAT #([0-9]+) id=([0-9]+) cnt=([0-9]+) pid=[0-9]+ pos=[0-9]+ obj=-?[0-9]+ op='([^(']*?(?:\((?:[^()'=]*)\)[^(']*?)*) *(?:\(([a-z]+=[^()']*)\))?'$"
"""A step of the executed plan: cursor, number, rows, operation (`X$KGLCURSOR_CHILD (ind:2)`), figures."""
_FIGURES = {
    "cr": ("consistent_reads", "blocks"), "pr": ("physical_reads", "blocks"), "pw": ("physical_writes", "blocks"),
    "r": ("physical_reads", "blocks"), "w": ("physical_writes", "blocks"), "time": ("time", "us"),
    "cost": ("cost", None), "size": ("bytes_estimated", "B"), "card": ("rows_estimated", "rows"), "str": ("starts", None),
}  # fmt: skip
_BEGINS = r"^(?:WAIT #|STAT #|(?:PARSE|EXEC|FETCH|UNMAP|SORT UNMAP|CLOSE|LOB[A-Z]+) ?#[0-9]+:)"
_TIM = r"[ ,]tim=([0-9]+)$"
_MESSAGE = r"^ *([0-9]+) bytes (sent|received) via "
_DUMP = r"^[0-9A-F]{6,16}(?: +[0-9A-F]{8})+ *(?:\[|$)"
_PAYLOAD = r"^([0-9A-F]{6,16} )(.*)$"
_CLOCK = r"^\*\*\* ([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)"
_PID = r"^(?:\*\*\* \[)?(?:Unix process pid|Windows thread id): ([0-9]+)"
_SID = r"SESSION ID:\(([0-9]+)\.[0-9]+\)"
_VERSION = r"^Oracle(?:8i|9i|[0-9]+)? (?:Database |Enterprise |Server ).*Release ([0-9]+)\.|^Oracle([789])i? "
_PARSING = r"^PARSING IN CURSOR #"
_PROSE = (
    r"^(?:Trace file |Oracle[0-9]*i? |With the |and (?:Real|Data)|ORACLE_HOME|JServer|System name:|Node name:|Release:|Version:|Machine:|VM name:"
    r"|Instance name:|Redo thread|Oracle process number:|Build label:|\*\*\* |={10,}$|END OF STMT|XCTEND |BINDS? ?#|PARSE ERROR #|ERROR #"
    r"|IFCD(?:SEND|RECV):|Dump of memory from|Received ORADEBUG|Finished processing ORADEBUG|RPC "
    r"|Repeat [0-9]+ times|Dump file |Unix process pid|Windows thread id)"
    r"|^\s+(?:No oacdef|[0-9]+ bytes )|^\s*(?:Bind#[0-9]+$|oac[a-z]+=|kxs[a-z]+=|bfp=[0-9a-f]+ bln=|value=|kkscoacd$)|^ *bind [0-9]+:"
)
_OWN = f"{_BEGINS}|{_PROSE}|{_DUMP}|{_MESSAGE}|{_PARSING}"
_ELEVEN = r",plh=[0-9]+,|^PARSING IN CURSOR #.* sqlid='"
"""Texts of calls and cursors since 11.1."""
_NO_HUNDREDTHS = 1e12
"""Minimum tim that cannot be in hundredths of a second: it would be three centuries."""
_WHOLE = r"'$"
"""End of lines of a cursor or a step, which never continue."""
_VALUE = r"^(\s*value=)(.+)$"
_LITERAL = re.compile(r"'([^']+)'|(?i:identified\s+by\s+)(\"?[^\s\";]+)")
_OS = {"linux": "linux", "sunos": "solaris", "aix": "aix", "hp-ux": "hpux", "windows": "windows"}
DECIDE_LINES = 5_000
"""Number of lines by which the unit of tim is decided, so that the size of blocks changes nothing."""


def claim(head: Head) -> Claim | None:
    """Claim by waits and calls, more strongly below the header of a trace file."""
    text = head.text
    if "WAIT #" not in text and "PARSING IN CURSOR" not in text and ":c=" not in text and "IFCD" not in text:
        return None
    count = sum(
        1
        for line in head.lines
        if re.match(_WAIT, line) or re.match(_CALL, line) or line.startswith(("PARSING IN", "IFCD"))
    )
    if not count:
        return None
    filled = sum(1 for line in head.lines if line)
    header = text.startswith(("Trace file", "Dump file", "/")) or "*** SESSION ID" in text
    return Claim(
        0.97 if header else min(0.95, 0.6 + count / filled), f"{count} waits and calls of a SQL trace", "10046"
    )


@dataclass
class _Carry:
    """State carried from block to block and from run to run."""

    decided: bool = False
    per_second: float | None = None
    base: str = "none"
    """Clock of tim: wall-utc, boot-relative, none."""
    digits: int = 0
    pid: int | None = None
    sid: int | None = None
    in_text: bool = False
    seq: int = 0
    message: dict[str, Any] | None = None
    held: list[tuple[int, str]] = field(default_factory=list)


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the fields of `_Carry`."""
    carry = _Carry(**{f.name: state[f.name] for f in fields(_Carry) if f.name in state})
    held = pl.DataFrame(carry.held, schema={"line_no": pl.Int64, "line": pl.String}, orient="row")
    for frame in source.frames(PASTE):
        held = pl.concat([held, rejoin(frame, source, out, _OWN, _WHOLE).select("line_no", "line")])
        if not carry.decided and len(held) < DECIDE_LINES:
            continue
        _take(held, out, carry, source.first_line)
        held = held.clear()
    if source.last or len(held) >= DECIDE_LINES or source.next_line - source.first_line >= DECIDE_LINES:
        _take(held, out, carry, source.first_line)
        held = held.clear()
    else:
        # Fewer lines than needed, and more follow: this happens only where runs are made small.
        shaped = _shaped(held, _Carry(in_text=carry.in_text))
        out.read(shaped.filter(pl.col("shape").is_not_null() & (pl.col("line_no") >= source.first_line))["line_no"])
    if source.last:
        _message(out, carry)
    carry.held = held.rows()
    return state | asdict(carry)


def _take(lines: pl.DataFrame, out: Tables, carry: _Carry, first: int) -> None:
    if lines.is_empty():
        return
    if not carry.decided:
        _decide(lines, out, carry)
    rows = _shaped(lines, carry)
    line = pl.col("line")
    out.read(rows.filter(pl.col("shape").is_not_null() & (pl.col("line_no") >= first))["line_no"])
    cut = rows.filter(pl.col("shape").is_null() & line.str.contains(_BEGINS))
    out.account("damaged", cut["line_no"])
    _hide(rows, out, first)
    rows = rows.with_columns(
        pid=line.str.extract(_PID).cast(pl.Int64, strict=False).forward_fill().fill_null(pl.lit(carry.pid, pl.Int64)),
        sid=line.str.extract(_SID).cast(pl.Int64, strict=False).forward_fill().fill_null(pl.lit(carry.sid, pl.Int64)),
    )
    carry.pid, carry.sid = rows["pid"][-1], rows["sid"][-1]
    timed = rows.filter(pl.col("shape").is_in(["wait", "call"])).with_columns(tim=line.str.extract(_TIM))
    ends = _timed(timed, out, carry)
    _steps(rows.filter(pl.col("shape") == "stat"), out)
    _messages(rows, out, carry)
    span = (int(lines["line_no"][0]), int(lines["line_no"][-1]))
    if carry.base == "none":
        out.domain(Domain(1, "none", lines=[span]))
    else:
        zone, base = ("UTC", WALL_BASE) if carry.base == "wall-utc" else (None, None)
        out.domain(Domain(1, carry.base, base, zone, ends[0], ends[1], [span]))


def _shaped(lines: pl.DataFrame, carry: _Carry) -> pl.DataFrame:
    """Add the shape of each line: wait, call, stat, message, dump, text (of a statement), plain; NULL is unknown."""
    line = pl.col("line")
    inside = pl.when(line.str.contains(_PARSING)).then(True).when(line == "END OF STMT").then(False)
    inside = inside.when(line.str.contains(f"{_BEGINS}|^={{10,}}$|^\\*\\*\\* ")).then(False)
    rows = lines.with_columns(inside=inside.forward_fill().fill_null(carry.in_text))
    if len(rows):
        carry.in_text = bool(rows["inside"][-1])
    shape = (
        pl.when(line.str.contains(_WAIT)).then(pl.lit("wait"))
        .when(line.str.contains(_CALL)).then(pl.lit("call"))
        .when(line.str.contains(_STAT)).then(pl.lit("stat"))
        .when(line.str.contains(_DUMP)).then(pl.lit("dump"))
        .when(line.str.contains(_MESSAGE)).then(pl.lit("message"))
        .when(line.str.contains(_PROSE) | line.str.contains(_PARSING)).then(pl.lit("plain"))
        .when(pl.col("inside") & (line != "")).then(pl.lit("text"))
    )  # fmt: skip
    return rows.with_columns(shape=shape)


def _decide(lines: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Decide the unit of tim, and whether it is Unix time.

    It is Unix time if it differs from the `***` line above by a multiple of a quarter of an hour, within five seconds.
    """
    line = pl.col("line")
    carry.decided = True
    marks = lines.select(
        "line_no", tim=line.str.extract(_TIM).cast(pl.Float64), clock=oracle_stamps.iso_seconds(line.str.extract(_CLOCK)),
        major=pl.coalesce(line.str.extract(_VERSION, 1), line.str.extract(_VERSION, 2)).cast(pl.Int64, strict=False),
        modern=(line.str.starts_with("WAIT #") & line.str.contains(_TIM)) | line.str.contains(_ELEVEN),
        system=line.str.extract(r"^System name:\s*(\S+)"), release=line.str.extract(r"^Release:\s*(\S+)"),
    )  # fmt: skip
    major = marks["major"].drop_nulls()
    for name, value in (("os_release", marks["release"].drop_nulls()), ("os", marks["system"].drop_nulls())):
        if len(value):
            out.fact(name, _OS.get(str(value[0]).lower(), str(value[0]).lower()) if name == "os" else value[0])
    if len(major):
        carry.per_second = 1e6 if major[0] >= 9 else 100.0
        out.fact("tool_opts", [f"version={major[0]}"])
    elif marks["modern"].any() or (marks["tim"] >= _NO_HUNDREDTHS).any():
        carry.per_second = 1e6
    tims = marks.filter(pl.col("tim").is_not_null())
    if tims.is_empty():
        return
    line_no, tim = tims["line_no"][0], tims["tim"][0]
    if carry.per_second is None:
        text = "no version and no tim behind a WAIT: microseconds or hundredths, so times stay unknown"
        out.note(line_no, line_no, "remark", text)
        return
    carry.base = "boot-relative"
    clocks = marks.filter(pl.col("clock").is_not_null() & (pl.col("line_no") < line_no))
    if len(clocks):
        east = clocks["clock"][-1] - tim / carry.per_second
        quarters = round(east / 900)
        if abs(east - quarters * 900) < 5 and -48 <= quarters <= 56:
            carry.base = "wall-utc"
            out.fact("tz", oracle_stamps.offset_text(quarters * 900))


def _timed(rows: pl.DataFrame, out: Tables, carry: _Carry) -> tuple[float | None, float | None]:
    """Write waits and calls; return the first and last time."""
    if rows.is_empty():
        return None, None
    line, scale = pl.col("line"), carry.per_second
    size = pl.col("tim").str.len_bytes()
    longest = rows.select(size.max()).item() or 0
    # A tim that is at least two digits shorter than those above was cut at the end of a paste; only the last line can be.
    carry.digits = max(carry.digits, longest)
    last = rows[-1]
    if last["tim"][0] is not None and len(last["tim"][0]) < carry.digits - 1:
        out.note(
            last["line_no"][0],
            last["line_no"][0],
            "damaged",
            "tim is shorter than on the lines above: the line was cut",
        )
        rows = rows.with_columns(tim=pl.when(pl.col("line_no") < last["line_no"][0]).then("tim"))
    unit = pl.lit(scale, pl.Float64)
    rows = rows.with_columns(t_local=(pl.col("tim").cast(pl.Float64) / unit).round(6))
    waits = rows.filter(pl.col("shape") == "wait").with_columns(
        line.str.extract_groups(_WAIT).struct.rename_fields(["cursor", "event", "ela"]).alias("g")
    )
    waits = waits.unnest("g").with_columns(total_s=(pl.col("ela").cast(pl.Float64) / unit).round(6))
    out.add("db_waits", waits.select(
        "line_no", "t_local", "event", "total_s", "pid", "sid", n=pl.lit(1), avg_ms=(pl.col("total_s") * 1000).round(6),
    ))  # fmt: skip
    calls = rows.filter(pl.col("shape") == "call").with_columns(
        line.str.extract_groups(_CALL).struct.rename_fields(["call", "cursor", "c", "e"]).alias("g"),
        r=line.str.extract(r",r=([0-9]+),"),
    )
    calls = calls.unnest("g")
    out.add("db_calls", calls.select(
        "line_no", "t_local", "pid", "cursor", call=pl.col("call").str.to_lowercase(), cpu_s=(pl.col("c").cast(pl.Float64) / unit).round(6),
        elapsed_s=(pl.col("e").cast(pl.Float64) / unit).round(6), rows=pl.col("r").cast(pl.Int64, strict=False),
    ))  # fmt: skip
    return span_s(rows["t_local"])


def _steps(rows: pl.DataFrame, out: Tables) -> None:
    """Write the figures of each step of a plan as counters; 9i and older print only its rows."""
    if rows.is_empty():
        return
    cells = rows.select("line_no", pl.col("line").str.extract_groups(_STAT).alias("g"))
    cells = cells.unnest("g").rename({"1": "cursor", "2": "step", "3": "cnt", "4": "op", "5": "figures"})
    item = pl.format("#{}/{} {}", "cursor", "step", pl.col("op").str.strip_chars())
    pairs = pl.concat_list(
        pl.format("rows={}", "cnt"), pl.col("figures").str.extract_all("[a-z]+=[0-9.]+").fill_null([])
    )
    figures = cells.select("line_no", item=item, pair=pairs).explode("pair")
    figures = figures.with_columns(
        key=pl.col("pair").str.extract("^([a-z]+)"), value=pl.col("pair").str.extract("=(.+)$").cast(pl.Float64)
    )
    names = {"rows": ("rows", "rows")} | _FIGURES
    known = figures.filter(pl.col("key").is_in(list(names))).select(
        "line_no", "item", "value", grp=pl.lit("plan"),
        mode=pl.when(pl.col("key").is_in(["cost", "size", "card"])).then(pl.lit("level")).otherwise(pl.lit("total")),
        name=pl.col("key").replace_strict({k: n for k, (n, _) in names.items()}),
        unit=pl.col("key").replace_strict({k: u for k, (_, u) in names.items()}, return_dtype=pl.String),
    )  # fmt: skip
    out.add("counters", known)


def _messages(rows: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Write the network messages of 10079, each with the dump below it; the last one may continue in the next block."""
    line = pl.col("line")
    some = rows.filter(pl.col("shape").is_not_null())
    starts = some.with_columns(
        opens=pl.col("shape") == "message",
        belongs=(pl.col("shape") == "dump") | line.str.starts_with("Dump of memory"),
        at=pl.col("line_no"),
    )
    starts = starts.with_columns(stops=~pl.col("opens") & ~pl.col("belongs"))
    # A message ends at the first line that is neither its dump nor the next message.
    group = starts.with_columns(message=pl.col("opens").cum_sum(), cut=pl.col("stops").cum_sum())
    first_cut = group.filter("opens").select("message", begin_cut="cut")
    of_messages = group.join(first_cut, on="message", how="left", maintain_order="left")
    carried = of_messages.filter((pl.col("message") == 0) & (pl.col("cut") == 0))
    if carry.message is not None:
        if len(carried):
            carry.message["line_end"] = carried["line_no"][-1]
        if len(of_messages) > len(carried):
            _message(out, carry)
    of_messages = of_messages.filter((pl.col("message") > 0) & (pl.col("cut") == pl.col("begin_cut")))
    messages = of_messages.group_by("message", maintain_order=True).agg(
        pl.col("line_no").min(), line_end=pl.col("line_no").max(), line=line.first(), pid=pl.col("pid").first()
    )
    if messages.is_empty():
        return
    messages = messages.select(
        "line_no", "line_end", bytes=line.str.extract(_MESSAGE, 1).cast(pl.Int64, strict=False), text=line.str.strip_chars(),
        direction=pl.when(line.str.extract(_MESSAGE, 2) == "sent").then(pl.lit("out")).otherwise(pl.lit("in")), thread=pl.col("pid").cast(pl.String),
    )  # fmt: skip
    open_one = group["cut"][-1] == first_cut["begin_cut"][-1]
    if open_one:
        carry.message = messages.row(-1, named=True)
        messages = messages.head(-1)
    _add(messages, out, carry)


def _message(out: Tables, carry: _Carry) -> None:
    if carry.message is not None:
        _add(pl.DataFrame([carry.message]), out, carry)
    carry.message = None


def _add(rows: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    if len(rows):
        seq = pl.int_range(carry.seq + 1, carry.seq + 1 + len(rows), dtype=pl.Int64)
        out.add("sqlnet", rows.with_columns(side=pl.lit("server"), event=pl.lit("info"), seq=seq), span="ends")
        carry.seq += len(rows)


def _hide(rows: pl.DataFrame, out: Tables, first: int) -> None:
    """Mask dumps after their address, bind values, and literals of statements."""
    line = pl.col("line")
    here = rows.filter(pl.col("line_no") >= first)
    for shape, pattern, kind in (("dump", _PAYLOAD, "payload"), ("plain", _VALUE, "bind")):
        front = line.str.extract(pattern, 1).str.len_chars().cast(pl.Int64, strict=False)
        out.secrets(here.filter((pl.col("shape") == shape) & line.str.contains(pattern)).select(
            "line_no", front.alias("from"), line.str.len_chars().cast(pl.Int64, strict=False).alias("to"), kind=pl.lit(kind)
        ))  # fmt: skip
    texts = here.filter(
        (pl.col("shape") == "text") & (line.str.contains("'", literal=True) | line.str.contains(r"(?i)identified\s+by"))
    )
    spots = [
        (n, m.start(g), m.end(g), "literal")
        for n, text in texts.select("line_no", "line").rows()
        for m in _LITERAL.finditer(text)
        for g in (1, 2)
        if m[g]
    ]
    out.secrets(
        pl.DataFrame(
            spots, schema={"line_no": pl.Int64, "from": pl.Int64, "to": pl.Int64, "kind": pl.String}, orient="row"
        )
    )
