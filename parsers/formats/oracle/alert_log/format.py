r"""Alert logs of the database (text and log.xml of ADR) and of the clusterware; 9i to 23ai, all systems.
Source: Database Administrator's Guide, "Monitoring Errors with Trace Files and the Alert Log"; `show parameter background_dump_dest`.

    Mon Oct 12 10:03:39 2009
    Errors in file /u01/app/oracle/diag/rdbms/prod/PROD1/trace/PROD1_ora_7464.trc:
    ORA-00609: could not attach to incoming connection
    ORA-609 : opiodr aborting process unknown ospid (21631120_1)
    2023-04-15 05:37:59.078 [ORAROOTAGENT(3654)]CRS-5818: Aborted command 'check' for resource 'ora.drivers.acfs'.

Tables: logs, one row for each message: a line with its error stack, its indented lines, or a whole `Fatal NI connect error` block (code =
headline; secondary = ns secondary, nt main, nt secondary, nt OS); params (scope oracle) from the start-up list.
Clock: wall-local; wall-utc where stamps have an offset.
Traps: a stamp applies to all lines up to the next stamp; lines before the first stamp have no time; a block uses its `Time:` line.
`ORA-609` and `ORA-00609` are one code. pid is the ospid before `_` (a thread follows it). One event may give two messages, so
count by pid. Several processes write at once: a block interrupted by others is stored as fragments, with a note. Clusterware lines are
written late and out of order. Known gaps: a plain line that another process wrote under the same stamp cannot be distinguished from a
message's further lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields

import polars as pl

from parsers.clocks import oracle_stamps
from parsers.declarations import Claim, Format
from parsers.formats.oracle.shared import log_xml as oracle_xml
from parsers.formats.oracle.shared import values as oracle_values
from parsers.repair.rewrap import PASTE, rejoin
from parsers.secrets import connect_descriptors
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, span_s

_MAN = "Oracle Database Administrator's Guide, alert log"
_SYSTEMS = ("solaris", "linux", "aix", "hpux", "windows")
_WORDS = (
    r"^(?:Errors in file |Starting ORACLE instance|Thread [0-9]+ (?:advanced|opened|cannot)|opi[a-z]+ aborting process|LICENSE_MAX_"
    r"|Fatal NI connect error|WARNING: inbound connection|Completed: |Archived Log entry|[A-Z0-9]{4} started with pid="
    r"|Shutting down instance|Incident details in|Instance terminated|Current log# |System parameters with non-default|alter database "
    r"|ORA-[0-9]+ ?: opi|ORA-[0-9]+ caused by SQL statement below"
    r"|Dumping diagnostic data|Starting background process|ALTER DATABASE |Process startup failed|PMON \(ospid"
    r"|  Current log# |Checkpoint not complete|ALTER SYSTEM |Time drifts can result in|Warning: VKTM |(?:Closing|Clearing|Setting) Resource Manager plan"
    r"|Closing scheduler window|(?:Begin|End) automatic SQL Tuning|Beginning log switch checkpoint|Completed checkpoint up to|Private strand flush"
    r"|db_recovery_file_dest_size of |Deleted Oracle managed file |ARC[0-9a-z]: |SMON: |Reconfiguration (?:started|complete))"
)
_OWN = (
    rf"^(?:alertlog: ?|[A-Za-z0-9_.-]+ +\| ?)?(?:{_WORDS[4:-1]}|ORA-[0-9]{{3,5}} ?: |TNS-[0-9]{{5}}: |{oracle_stamps.WEEKDAY[1:]}|{oracle_stamps.ISO[1:]}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]{12} ?:? ?\[[^\]]*\]|  [a-z_]{4,30} *= |Oracle Database [0-9]+| *(?:ns|nt) .*err code:"
    r"| *<msg time='| *</?(?:txt|msg)>| *(?:Time:|Tracing |Tns error struct|VERSION INFORMATION)"
    r"|Non critical error ORA-|Error message: |Writing to the above trace file)"
)
FORMATS = tuple(
    Format(
        kind="alert_log", variant=variant, version="2", systems=_SYSTEMS, tables=tables, man=_MAN, example=example, clocks=clocks, own=_OWN
    )
    for variant, tables, example, clocks in (
        ("text", ("logs", "params"), "cat $ORACLE_BASE/diag/rdbms/DB/SID/trace/alert_SID.log", ("wall-local", "wall-utc", "none")),
        ("xml", ("logs", "params"), "cat $ORACLE_BASE/diag/rdbms/DB/SID/alert/log.xml", ("wall-utc", "wall-local", "none")),
        ("crs", ("logs",), "cat $ORACLE_BASE/diag/crs/HOST/crs/trace/alert.log", ("wall-local", "none")),
    )
)  # fmt: skip

_KEYS = ("Errors in file", "ORACLE instance", "Thread ", "aborting process", "LICENSE_", "Fatal NI", "WARNING: inb", "Completed: ", "Archived Log",
         "started with pid", "Shutting down", "Incident", "Instance term", "Current log#", "System parameters", "atabase ", "ATABASE ", "ORA-", "Dumping ",
         "background process", "Process startup", "PMON")  # fmt: skip
_PREFIX = r"^(?:alertlog: ?|[A-Za-z0-9_.-]+ +\|(?: |$)|-- )"
_CRS = r"^([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3,6}) ?:? *(\[.*|[A-Z][A-Za-z0-9_ ]*:.*|$)"
_CRS_WHO = r"^\[ *([A-Za-z0-9_:. -]+?) *(?:\(([0-9]+)\) *)?\]|^([A-Z][A-Za-z0-9_]*) *:"
_CRS_BEGINS = rf"{_CRS}|^\[[A-Za-z]+\([0-9]+\)\]"
_LINES = {"line_no": pl.Int64, "line": pl.String, "line_end": pl.Int64}
ALIKE = 0.8
"""Minimum share of lines with the same beginning at which lines of the block without it are not separate messages (from practice)."""
_VERSION = r"^Version [0-9]+(?:\.[0-9]+)+$"
_HEADLINE = r"^Fatal NI connect error ([0-9]+)"
_NI = (
    r"^\s*(?:VERSION INFORMATION|Time: |Tracing (?:to|not)|Tns error struct|ns (?:main|secondary|\(2\))|nt (?:main|secondary|OS|\(2\))"
    r"|Client address|TNS-[0-9]{5}: |\(DESCRIPTION|\(LOCAL=)|NT Protocol Adapter|^\s*TNS for "
)
_RULE = r"^\s*\*{20,}$"
_STACK = (
    r"^(?:ORA|TNS|OSD|O/S-Error|Linux-[a-z0-9_]+ Error|SVR4 Error|IBM AIX|Additional information)[-: ]"
    r"|^(?:Process|Session|\?+|进程|会话|プロセス|セッション) ?ID: ?"
)
"""A line of an error stack; the names of the ids below ORA-3113 are question marks if the character set lacks the words."""
_PLAIN_ORA = r"^ORA-[0-9]+ :|^ORA-[0-9]+ (?:signalled|encountered)"
_PARAMS = r"^System parameters with (?:non-default|specified) values:"
_PARAM = r"^\s*([A-Za-z_][A-Za-z0-9_$#]*) *= *(.*)$"
_CODE = r"\b(?:ORA|TNS|CRS|CLS[A-Z]|PRC[A-Z]|OSD|RMAN|LRM|KUP|PLS|DIA|AFD|ACFS|ASMCMD)-[0-9]{1,5}\b"
_PIDS = (
    r"ospid:? ?\(?([0-9]+)",
    r"OS id=([0-9]+)",
    r"ospid: ([0-9]+)",
    r"(?:^Errors in| More info in) file /\S*_([0-9]+)(?:_[A-Za-z0-9_]*)?\.trc",
)
_NI_CODES = (r"ns (?:secondary|\(2\)) +err code: ([0-9]+)", r"nt main err code: ([0-9]+)", r"nt (?:secondary|\(2\)) +err code: ([0-9]+)",
             r"nt OS +err code: ([0-9]+)")  # fmt: skip
_NI_TIME = r"Time: ([0-9]{1,2}-[^ ]{1,12} ?-[0-9]{4}) ([0-9]{2}:[0-9]{2}:[0-9]{2})"
_OPS = (("^Starting ORACLE instance", "startup"), ("^Shutting down instance", "shutdown"), ("^Instance terminated", "terminated"),
        (_HEADLINE, "connect"), ("opi[a-z]+ aborting process", "abort"))  # fmt: skip
HELD_ROWS = 20_000
"""Maximum number of lines of an open message that are held for the next block; a longer message ends there."""


def claim(head: Head) -> Claim | None:
    """Claim by elements of log.xml, lines of the clusterware, or stamps and messages of a database."""
    text = head.text
    if "comp_id='rdbms'" in text or "comp_id='asm'" in text:
        return Claim(0.97, "messages of a database in log.xml", "xml")
    if "CRS-" in text or "[    CSSD]" in text or " CSSD:" in text:
        crs = [line for line in head.lines if re.match(_CRS, line) or re.match(r"\[[A-Za-z]+\([0-9]+\)\] ?CRS-", line)]
        if len(crs) * 3 > sum(1 for line in head.lines if line):
            return Claim(0.95, f"{len(crs)} lines of a clusterware log", "crs")
    if not head.any_of(_KEYS):
        return None
    if not re.search(rf"(?m){_WORDS[:1]}(?:alertlog: |\S+ +\| )?{_WORDS[1:]}", text):
        errors = _errors_below_stamps(head.lines)
        return Claim(0.6, f"{errors} stamps with errors below them", "text") if errors else None
    bare = [re.sub(_PREFIX, "", line) for line in head.lines]
    clocks = sum(1 for line in bare if re.match(oracle_stamps.CLOCK, line))
    words = sum(1 for line in bare if re.match(_WORDS, line))
    if clocks and re.search(r"(?m)^listener: .* \* [0-9]+$", text):
        return Claim(0.6, "an alert log merged into a listener's", "text")
    if clocks:
        return Claim(0.92, f"{clocks} stamps and {words} messages of an alert log", "text")
    only_blocks = all(re.match(_HEADLINE, line) for line in bare if re.match(_WORDS, line))
    strength = 0.6 if not only_blocks else 0.9 if oracle_stamps.is_alert_block(text) else 0.3
    return Claim(strength, f"{words} messages of an alert log, no stamps", "text")


def _errors_below_stamps(lines: Sequence[str]) -> int:
    """Count stamps with an error on one of the two lines below; 0 unless the first line is a stamp.

    Many mails quote no more of an alert log than that.
    """
    if not re.match(oracle_stamps.CLOCK, next(filter(None, lines), "")):
        return 0
    stamps = [i for i, line in enumerate(lines) if re.match(oracle_stamps.CLOCK, line)]
    return sum(any(re.match(r"ORA-[0-9]{5}: ", line) for line in lines[i + 1 : i + 3]) for i in stamps)


@dataclass
class _Carry:
    """State carried from block to block and from run to run."""

    clock: float | None = None
    east: int | None = None
    last: float | None = None
    kind: str | None = None
    listing: bool = False
    held: list[list[int | str]] = field(default_factory=list)


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the fields of `_Carry`."""
    carry = _Carry(**{f.name: state[f.name] for f in fields(_Carry) if f.name in state})
    held = pl.DataFrame(carry.held, schema=_LINES, orient="row")
    variant = state["variant"]
    for frame in source.frames(PASTE):
        lines, places = connect_descriptors.mask_lines(frame.select("line_no", "line"))
        out.secrets(places)
        lines = _whole(lines, source, out, variant).select(*_LINES)
        held = _take(pl.concat([held, lines]), out, carry, source.first_line, variant, final=False)
    if source.last:
        held = _take(held, out, carry, source.first_line, variant, final=True)
    else:
        filled = pl.col("line").str.replace(_PREFIX, "") != ""
        out.read(held.filter(filled & (pl.col("line_no") >= source.first_line))["line_no"])
    carry.held = [list(row) for row in held.rows()]
    return state | asdict(carry)


def _whole(lines: pl.DataFrame, source: Source, out: Tables, variant: str) -> pl.DataFrame:
    """Join lines that a paste broke, if most lines have the same beginning; lines without a collector's prefix are unknown."""
    beginning = {"crs": _CRS_BEGINS, "text": _PREFIX}.get(variant)
    filled = lines.filter(pl.col("line") != "")
    marked = beginning is not None and int(filled["line"].str.contains(beginning).sum()) >= ALIKE * max(len(filled), 1)
    if beginning is None or (variant == "text" and not marked):
        return lines.with_columns(line_end="line_no")
    lines = rejoin(lines, source, out, beginning)
    odd = lines.filter((pl.col("line") != "") & ~pl.col("line").str.contains(beginning))["line_no"]
    if variant == "text":
        out.account("unknown", odd)
        return lines.filter(~pl.col("line_no").is_in(odd.implode()))
    if 2 * len(odd) < len(filled):
        text = "no stamp among lines that have one: the rest of a message above, or another writer's"
        out.notes(pl.DataFrame({"line_no": odd}).with_columns(kind=pl.lit("damaged"), text=pl.lit(text)))
    return lines


def _take(lines: pl.DataFrame, out: Tables, carry: _Carry, first: int, variant: str, *, final: bool) -> pl.DataFrame:
    """Write the messages that are complete; return the lines of the last one, which may continue."""
    if lines.is_empty():
        return lines
    line = pl.col("line")
    cut: int | None = None
    if variant == "xml":
        rows, cut = oracle_xml.unfold(lines, complete=final)
        inside = rows.select(n=pl.int_ranges("line_no", pl.col("line_end") + 1)).explode(
            "n", empty_as_null=True, keep_nulls=True
        )["n"]
        begin = int(rows["line_no"][0]) if len(rows) else first
        tags = line.str.contains(oracle_xml.TAG) & (pl.col("line_no") < begin)
        of_messages = (line != "") & (pl.col("line_no").is_in(inside.implode()) | tags) & (pl.col("line_no") >= first)
        out.read(lines.filter(of_messages)["line_no"])
        rows = rows.with_columns(line=line.str.split("\n")).explode("line", empty_as_null=True, keep_nulls=True).with_columns(
            begins=pl.col("line_no").ne_missing(pl.col("line_no").shift())
        )  # fmt: skip
    else:
        rows = lines.select("line_no", line.str.replace(_PREFIX, ""), "line_end", begins=pl.lit(False))
        out.account("blank", rows.filter((line == "") & (pl.col("line_no") >= first))["line_no"])
    out.read(rows.filter(line.str.contains(_RULE) & (pl.col("line_no") >= first))["line_no"])
    rows = rows.filter((line != "") & ~line.str.contains(_RULE))
    rows = _crs(rows) if variant == "crs" else _stamped(rows, carry, variant)
    rows = _messages(rows, carry)
    if not final and len(rows):
        opened = rows.filter("opens")["line_no"]
        start = int(opened[-1]) if len(opened) else int(rows["line_no"][0])
        if len(rows.filter(pl.col("line_no") >= start)) < HELD_ROWS:
            cut = min(start, cut) if cut is not None else start
    if cut is not None:
        rows = rows.filter(pl.col("line_no") < cut)
    out.read(rows.filter(pl.col("line_no") >= first)["line_no"])
    _emit(rows, out, carry, variant)
    last = int(lines["line_no"][-1]) if cut is None else cut - 1
    _domain(rows, out, carry, int(lines["line_no"][0]), last)
    return lines.clear() if cut is None else lines.filter(pl.col("line_no") >= cut)


def _stamped(rows: pl.DataFrame, carry: _Carry, variant: str) -> pl.DataFrame:
    """Add `clock` (whether the line is a stamp), `stamp` (its time), and `east` (its offset)."""
    line = pl.col("line")
    if variant == "xml":
        stamp, east = oracle_stamps.iso_seconds(pl.col("time")), oracle_stamps.offset(pl.col("time"))
        rows = rows.with_columns(clock=pl.lit(False), stamp=stamp, east=east)
    else:
        mark = pl.when(line.str.contains(oracle_stamps.CLOCK)).then(line)
        rows = rows.with_columns(
            clock=mark.is_not_null(), stamp=oracle_stamps.clock_seconds(mark), east=oracle_stamps.offset(mark)
        )
        rows = rows.with_columns(
            pid=pl.lit(None, pl.Int64), level=pl.lit(None, pl.String), type=pl.lit(None, pl.String)
        )
    return rows.with_columns(program=pl.lit(None, pl.String))


def _crs(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of `_stamped` to clusterware lines, which begin with their stamp; older ones have it on a separate line."""
    line = pl.col("line")
    stamp, rest = line.str.extract(_CRS, 1), line.str.extract(_CRS, 2)
    rows = rows.with_columns(stamp=oracle_stamps.iso_seconds(stamp), rest=rest)
    rows = rows.with_columns(clock=(pl.col("rest") == "").fill_null(False), said=pl.coalesce("rest", line))
    who = pl.col("said")
    return rows.with_columns(
        begins=pl.col("rest").is_not_null() & ~pl.col("clock") | pl.col("said").str.contains(r"^\["),
        program=pl.coalesce(who.str.extract(_CRS_WHO, 1), who.str.extract(_CRS_WHO, 3)),
        pid=who.str.extract(_CRS_WHO, 2).cast(pl.Int64, strict=False), east=pl.lit(None, pl.Int64),
        level=pl.lit(None, pl.String), type=pl.lit(None, pl.String),
    )  # fmt: skip


def _messages(rows: pl.DataFrame, carry: _Carry) -> pl.DataFrame:
    """Add the shape of each line and whether it opens a message."""
    line = pl.col("line")
    shape = (
        pl.when("clock").then(pl.lit("clock"))
        .when(line.str.contains(_HEADLINE)).then(pl.lit("headline"))
        .when(line.str.contains(_PARAMS)).then(pl.lit("listing"))
        .when(line.str.contains(_PLAIN_ORA)).then(pl.lit("plain"))
        .when(line.str.contains(_NI)).then(pl.lit("ni"))
        .when(line.str.contains(_STACK)).then(pl.lit("stack"))
        .when(line.str.contains(r"^\s")).then(pl.lit("indented"))
        .otherwise(pl.lit("plain"))
    )  # fmt: skip
    rows = rows.with_columns(shape=shape)
    # A version line in a block that lost its indents belongs to the block; elsewhere it is part of the start's banner.
    below = pl.col("shape").shift().is_in(["ni", "headline"])
    within = (pl.col("shape") == "plain") & below & line.str.contains(_VERSION)
    rows = rows.with_columns(shape=pl.when(within).then(pl.lit("ni")).otherwise("shape"))
    above = pl.col("shape").shift()
    alone = above.is_null() | above.is_in(["clock"])
    opens = (
        pl.when(pl.col("shape") == "clock").then(False)
        .when(pl.col("begins")).then(pl.col("shape") != "stack")
        .when(pl.col("shape").is_in(["plain", "headline", "listing"])).then(True)
        .when(pl.col("shape") == "ni").then(alone | above.is_in(["plain", "listing"]))
        .otherwise(alone)
    )  # fmt: skip
    return rows.with_columns(opens=opens)


def _emit(rows: pl.DataFrame, out: Tables, carry: _Carry, variant: str) -> None:
    if rows.is_empty():
        return
    rows = rows.with_columns(
        t=pl.col("stamp").forward_fill().fill_null(pl.lit(carry.clock, pl.Float64)),
        east=pl.col("east").forward_fill().fill_null(pl.lit(carry.east, pl.Int64)),
    )
    carry.clock, carry.east = rows["t"][-1], rows["east"][-1]
    if carry.kind is None and rows["t"].null_count() < len(rows):
        carry.kind = "wall-local" if rows["east"].null_count() == len(rows) else "wall-utc"
    if carry.kind == "wall-utc":
        rows = rows.with_columns(t=pl.col("t") - pl.col("east").fill_null(0))
    listed = _params(rows, out, carry)
    rows = rows.filter((pl.col("shape") != "clock") & ~listed)
    if rows.is_empty():
        return
    rows = rows.with_columns(message=pl.col("opens").cum_sum())
    messages = rows.group_by("message", maintain_order=True).agg(
        pl.col("line_no").min(), pl.col("line_end").max(), pl.col("t", "pid", "program", "level", "type", "shape").first(),
        text=pl.col("line").str.join("\n"),
    )  # fmt: skip
    text = pl.col("text")
    codes = (
        text.str.extract_all(_CODE)
        .list.eval(pl.element().str.replace(r"-0+([0-9])", "-$1"))
        .list.unique(maintain_order=True)
    )
    messages = messages.with_columns(
        codes=codes, pid=pl.coalesce(*(text.str.extract(p).cast(pl.Int64, strict=False) for p in _PIDS), "pid")
    )
    op = pl.coalesce(*(pl.when(text.str.contains(pattern)).then(pl.lit(name)) for pattern, name in _OPS))
    # Type UNKNOWN is not a severity.
    severity = pl.coalesce(
        text.str.extract(r"^(WARNING|ERROR|Warning|Error)\b"), pl.when(pl.col("type") != "UNKNOWN").then("type")
    )
    messages = messages.with_columns(
        source=pl.lit("alert"), code=pl.col("codes").list.first(), secondary=pl.col("codes").list.slice(1), op=op, severity=severity,
        peer_ip=pl.lit(None, pl.String), peer_port=pl.lit(None, pl.Int64), service=pl.lit(None, pl.String),
        client_host=pl.lit(None, pl.String), ok=pl.when(pl.col("codes").list.len() > 0).then(pl.lit(False)),
    ).with_columns(secondary=pl.when(pl.col("secondary").list.len() > 0).then("secondary"))  # fmt: skip
    net = messages.filter(pl.col("shape").is_in(["headline", "ni"]))
    if len(net):
        messages = pl.concat(
            [messages.filter(~pl.col("shape").is_in(["headline", "ni"])), _blocks(net, out, carry)]
        ).sort("message")
    _steps_back(messages, out, carry)
    out.add("logs", messages.select(
        "line_no", "line_end", "source", "code", "secondary", "severity", "pid", "peer_ip", "peer_port", "service", "program", "client_host",
        "op", "ok", "text", t_local="t",
    ), span="ends")  # fmt: skip


def _blocks(net: pl.DataFrame, out: Tables, carry: _Carry) -> pl.DataFrame:
    """Add codes, time and peer of `Fatal NI connect error` blocks; a block without its headline is a fragment."""
    text = pl.col("text")
    flat = text.str.replace_all("\n", "", literal=True)
    client = pl.coalesce(
        flat.str.extract(r"Client address: *(\(.*)"), flat.str.extract(r"connecting to: *(\(DESCRIPTION.*)")
    )
    main = pl.coalesce(
        text.str.extract(_HEADLINE).cast(pl.Int64, strict=False),
        text.str.extract(r"ns main err code: ([0-9]+)").cast(pl.Int64, strict=False),
    )
    time_of_block = oracle_stamps.entry_seconds(
        net.select(text.str.extract(_NI_TIME, 1)).to_series(), net.select(text.str.extract(_NI_TIME, 2)).to_series()
    )
    numbers = pl.concat_list(text.str.extract(p) for p in _NI_CODES)
    lost = net.filter(pl.col("shape") == "ni")
    if len(lost):
        remark = "a fragment of a Fatal NI connect error block: its headline is missing or stands under another stamp"
        out.notes(lost.select("line_no", "line_end", kind=pl.lit("remark"), text=pl.lit(remark)))
    local = time_of_block if carry.kind != "wall-utc" else time_of_block - (carry.east or 0)
    return net.with_columns(own=local).with_columns(
        t=pl.coalesce("own", "t"), code=pl.coalesce(pl.format("TNS-{}", main), pl.col("codes").list.first()),
        secondary=pl.when(text.str.contains(_NI_CODES[0])).then(numbers).otherwise("secondary"),
        peer_ip=connect_descriptors.peer_ip(client), peer_port=connect_descriptors.peer_port(client),
        service=connect_descriptors.service(client), program=connect_descriptors.program(client), ok=pl.lit(False),
    ).drop("own")  # fmt: skip


def _params(rows: pl.DataFrame, out: Tables, carry: _Carry) -> pl.Series:
    """Write the start-up list to `params`; return which rows belong to it."""
    line = pl.col("line")
    fits = line.str.contains(_PARAM) & ~pl.col("shape").is_in(["clock", "listing", "ni", "headline"])
    # The list extends from its heading to the first line that is not `name = value`; its stamp, repeated, does not end it.
    again = (pl.col("shape") == "clock") & (pl.col("t") == pl.col("t").shift())
    mark = pl.when(pl.col("shape") == "listing").then(True).when(~fits & ~again.fill_null(False)).then(False)
    rows = rows.with_columns(inside=mark.forward_fill().fill_null(carry.listing), fits=fits)
    inside = rows["inside"] & rows["fits"]
    carry.listing = bool(rows["inside"][-1])
    listed = rows.filter(inside)
    if len(listed):
        value = line.str.extract(_PARAM, 2).str.strip_chars()
        named = listed.select(
            "line_no", "line_end", name=line.str.extract(_PARAM, 1).str.to_lowercase(), value=value, t_local="t"
        )
        secret = oracle_values.is_secret(pl.col("name"))
        named = named.with_columns(
            value=pl.when(secret).then(pl.col("value").str.replace_all(".", "*")).otherwise("value")
        )
        out.add("params", named.select(
            "line_no", "line_end", "t_local", "name", value=oracle_values.unquoted(pl.col("value")), num=oracle_values.number(pl.col("value")),
            list=oracle_values.items(pl.col("value")), scope=pl.lit("oracle"), active=pl.lit(True),
        ))  # fmt: skip
    return inside


def _steps_back(rows: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    timed = rows.filter(pl.col("t").is_not_null()).select("line_no", "t")
    if timed.is_empty():
        return
    back = timed.with_columns(past=pl.col("t").shift().fill_null(pl.lit(carry.last, pl.Float64))).filter(
        pl.col("t").floor() < pl.col("past").floor()
    )
    if len(back):
        text = pl.format(
            "written late: {} s before the line above; rows keep the file's order",
            (pl.col("past") - pl.col("t")).round(6),
        )
        out.notes(back.select("line_no", kind=pl.lit("remark"), text=text))
    carry.last = timed["t"][-1]


def _domain(rows: pl.DataFrame, out: Tables, carry: _Carry, first: int, last: int) -> None:
    """Report the clock: UTC where stamps have an offset, else local time of unknown zone."""
    if last < first:
        return
    if carry.kind is None:
        out.domain(Domain(1, "none", lines=[(first, last)]))
        return
    if carry.east is not None:
        out.fact("tz", oracle_stamps.offset_text(carry.east))
    stamps = rows["stamp"] if carry.kind == "wall-local" else rows.select(pl.col("stamp") - pl.col("east"))["stamp"]
    zone = "UTC" if carry.kind == "wall-utc" else None
    out.domain(Domain(1, carry.kind, WALL_BASE, zone, *span_s(stamps), [(first, last)]))
