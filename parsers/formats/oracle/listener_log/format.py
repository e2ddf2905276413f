r"""Listener log: connections and commands logged by the listener, text and log.xml of ADR; 9i to 23ai, all systems.
Source: Net Services Administrator's Guide, "Analyzing Listener Log Files"; `lsnrctl show log_directory` prints its directory.

    TIMESTAMP * CONNECT DATA [* PROTOCOL INFO] * EVENT [* SID] * RETURN CODE
    06-FEB-2025 10:56:39 * (CONNECT_DATA=(SERVICE_NAME=hr)(CID=(PROGRAM=sqlplus)(HOST=app1)(USER=u)))
     * (ADDRESS=(PROTOCOL=tcp)(HOST=192.0.2.4)(PORT=61809)) * establish * hr * 0
    06-FEB-2025 10:56:42 * service_update * hr * 0
    29-FEB-2008 15:36:46 * 12502
    TNS-12502: TNS:listener received no CONNECT_DATA from client

Tables: logs, one row for each entry with the error stack below it (`secondary`: its codes in order, then the system's error as
printed), and one for each message of the start: op `start` (t_local: the banner's), `started` (pid), `listen`, `message`.
Clock: wall-local; wall-utc in log.xml with a zone.
Traps: the stamp is the time of logging, after the hand-over, so the rate is that of completed connections; code 0 does not mean that the
client got its session; `service` comes from CONNECT_DATA, else from the entry; months are in the listener's language; in log.xml the time
of the element counts (it has a zone, so the clock of that part is UTC), the text repeats it without a zone; an ISO clock line gives the
zone of the entries. Two entries written into each other are reported as damaged; entries that a paste joined on one line are separated if
each is complete. Known gaps: lines of an alert log merged into the same file (`alertlog: `) stay unknown.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import polars as pl

from parsers.clocks import oracle_stamps
from parsers.declarations import Claim, Format
from parsers.formats.oracle.listener_log.wrapped_entries import BEGINS, ENDS, mend
from parsers.formats.oracle.shared import log_xml as oracle_xml
from parsers.secrets import connect_descriptors
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, zone_name

_MAN = "Oracle Net Services Administrator's Guide, listener log files"
_OWN = (
    r"^(?:listener: ?|[A-Za-z0-9_.-]+ +\| ?|-- )?(?:[0-9]{1,2}-\S{2,12} ?-[0-9]{2,4} [0-9:]{8} \* |TIMESTAMP \* CONNECT DATA|TNSLSNR for | *TNS-[0-9]{5}: "
    r"|(?:No longer l|L|Error l)istening on: |Started with pid=|Listener completed notification| *<msg time='| *</?(?:txt|msg)>"
    r"|Dynamic address is already listened on| *(?:[A-Za-z0-9/-]+ )?(?:Windows|Linux|Solaris|SVR4|HPUX) Error: [0-9]+)"
)
FORMATS = (
    Format(
        kind="listener_log", variant="text", version="1", systems=("solaris", "linux", "aix", "hpux", "windows"), tables=("logs",),
        man=_MAN, example="cat $ORACLE_HOME/network/log/listener.log", split="lines", clocks=("wall-local", "none"), own=_OWN,
    ),
    Format(
        kind="listener_log", variant="xml", version="2", systems=("solaris", "linux", "aix", "hpux", "windows"), tables=("logs",),
        man=_MAN, example="cat $ORACLE_BASE/diag/tnslsnr/HOST/listener/alert/log.xml", split="lines",
        clocks=("wall-utc", "wall-local", "none"), own=_OWN,
    ),
)  # fmt: skip

_PREFIX = r"^(?:listener: ?|[A-Za-z0-9_.-]+ +\|(?: |$)|-- )"
_STACK = r"^\s*(?:TNS|ORA|NL|NNL|NNO|NZE)-[0-9]{5}: ?|^\s*(?:(?:32|64)-bit Windows|Linux|Solaris|SVR4|HPUX|HP-UX|IBM/AIX[^:]*|Unix) Error: [0-9]+"
_CODE = r"^\s*([A-Z]{2,3}-)0*([0-9]+): ?"
_SYSTEM_ERROR = r"^\s*([^:]* Error: [0-9]+)"
_START = r"^TNSLSNR for ([^:]+): Version ([0-9.]+)"
_STARTED_AT = r" on ([0-9]{1,2}-\S{2,12} ?-[0-9]{2,4} [0-9]{2}:[0-9]{2}:[0-9]{2})$"
_PID = r"^(?:Started with )?pid=([0-9]+)"
_LISTEN = r"^(?:Listening on|Error listening on|[^\x00-\x7f].*): *\(DESCRIPTION=\(ADDRESS="
_MESSAGE = r"^(?:No longer listening|Dynamic address|Listener completed|WARNING:|Subscription for|Error listening)"
_HEADER = (
    r"^(?:TIMESTAMP \* CONNECT DATA|Copyright \(c\)|System parameter file is|Log messages written to|Trace information written to"
    r"|Trace level is currently|Create Relation|Welcome to)"
)
_USUAL = r"^[0-9]{2}-[A-Za-z]{3}-[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} \* "
_CLIENT = r"(?i)\(HOST *= *([^()]*[^() ])"
_PROGRAM = r"(?i)\(PROGRAM *= *([^()]*?) *\) *\("
_OPS = {"pid": "started", "start": "start", "listen": "listen", "message": "message"}
_PEER = r"(?i)\(HOST *= *([0-9a-fA-F.:]+) *\)"
_ADDRESS = r"^\(ADDRESS=\(PROTOCOL=[A-Za-z]{3,4}\)\(HOST=([0-9a-fA-F.:]+)\)\(PORT=([0-9]+)\)\)"
_PORT = r"(?i)\(PORT *= *([0-9]+) *\)"
_OPENERS = ("entry", "start", "pid", "listen", "message")
_OS = {"linux": "linux", "solaris": "solaris", "aix": "aix", "hpux": "hpux", "hp-ux": "hpux", "windows": "windows"}
HELD_ROWS = 5_000
"""Maximum number of lines of an entry with its stack that are held for the next block."""


def claim(head: Head) -> Claim | None:
    """Claim by elements of the listener's log.xml, or by entries: a stamp and a return code between asterisks."""
    text = head.text
    if "comp_id='tnslsnr'" in text:
        return Claim(0.97, "messages of the listener in log.xml", "xml")
    if " * " not in text:
        return None
    seen = [line for line in head.lines if " * " in line]
    if not any(re.search(rf"(?:^|[ >]){BEGINS[1:]}", line) for line in seen[:50]):
        return None
    entries = [line for line in seen if re.search(rf"(?:^|[ >]){BEGINS[1:]}", line)]
    if any("<txt>" in line for line in entries):
        return Claim(0.95, f"{len(entries)} entries of a listener in <txt>", "xml")
    if head.lines[0].lstrip().startswith(("{", "[")):
        return None
    filled = sum(1 for line in head.lines if line)
    return Claim(min(0.97, 0.6 + 2 * len(entries) / filled), f"{len(entries)} entries of a listener's log", "text")


@dataclass
class _Carry:
    """State carried from block to block and from run to run."""

    clock: float | None = None
    """Time of the clock line above; None once an entry stands between."""
    last: float | None = None
    offset: int | None = None
    domain: int = 1
    clock_text: str = ""
    held: list[list[int | str]] = field(default_factory=list)


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the fields of `_Carry`."""
    carry = _Carry(**{f.name: state[f.name] for f in fields(_Carry) if f.name in state})
    held = pl.DataFrame(carry.held, schema={"line_no": pl.Int64, "line": pl.String}, orient="row")
    xml = state["variant"] == "xml"
    out.fact("role", "listener")
    for block in source.blocks():
        lines = pl.concat([held, block.frame.select("line_no", "line")])
        lines, torn = oracle_xml.joined_texts(lines, out) if xml else (lines, [])
        lines, places = connect_descriptors.mask_lines(lines)
        out.secrets(places.filter((pl.col("line_no") >= block.first) & ~pl.col("line_no").is_in(torn)))
        held = _take(lines, out, carry, source.first_line, xml=xml, final=False)
    if source.last:
        held = _take(held, out, carry, source.first_line, xml=xml, final=True)
    else:
        filled = pl.col("line").str.replace(_PREFIX, "") != ""
        out.read(held.filter(filled & (pl.col("line_no") >= source.first_line))["line_no"])
    carry.held = [list(row) for row in held.rows()]
    return state | asdict(carry)


def _take(lines: pl.DataFrame, out: Tables, carry: _Carry, first: int, *, xml: bool, final: bool) -> pl.DataFrame:
    """Write the entries that are complete; return the lines of one that may continue in the next block."""
    if lines.is_empty():
        return lines
    line = pl.col("line")
    cut: int | None = None
    if xml:
        rows, cut = oracle_xml.unfold(lines, complete=final)
        tags = line.str.contains(oracle_xml.TAG) | line.str.contains(oracle_xml.STACK)
        out.read(lines.filter(tags & (pl.col("line_no") >= first))["line_no"])
        # Texts that a paste broke are joined; the errors below a message become separate lines.
        rows = rows.with_columns(line=oracle_xml.lines_of(line)).explode("line", empty_as_null=True, keep_nulls=True)
    else:
        rows, cut = mend(lines.with_columns(line=line.str.replace(_PREFIX, "")), out, final=final)
        rows = rows.with_columns(time=pl.lit(None, pl.String), pid=pl.lit(None, pl.Int64))
    rows = _shaped(rows)
    out.account("blank", rows.filter((pl.col("shape") == "blank") & (pl.col("line_no") >= first))["line_no"])
    solid = rows.filter(pl.col("shape").ne_missing("blank"))
    # A stack belongs to the line right above it; a stack without such a line is a separate row.
    above = pl.col("shape").is_in(["stack", *_OPENERS]).fill_null(False).shift(fill_value=False)
    opens = pl.col("shape").is_in(_OPENERS) | ((pl.col("shape") == "stack") & ~above)
    solid = solid.with_columns(opens=opens.fill_null(False))
    records = solid.filter(pl.col("opens") | (pl.col("shape") == "stack"))
    if not final and len(records) and len(solid):
        start = int(records.filter("opens")["line_no"][-1])
        rest = solid.filter(pl.col("line_no") >= start)
        if rest["shape"].is_in(["stack", *_OPENERS]).fill_null(False).all() and len(rest) < HELD_ROWS:
            cut = min(start, cut) if cut is not None else start
    if cut is not None:
        solid = solid.filter(pl.col("line_no") < cut)
    out.read(
        solid.filter(pl.col("shape").is_in(["clock", "header", "stack"]) & (pl.col("line_no") >= first))["line_no"]
    )
    solid = _timed(solid, out, carry, xml=xml)
    _emit(solid, out)
    last = int(lines["line_no"][-1]) if cut is None else cut - 1
    _domains(solid, out, carry, int(lines["line_no"][0]), last, xml=xml)
    return lines.clear() if cut is None else lines.filter(pl.col("line_no") >= cut)


def _shaped(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the shape of each row; NULL is unknown."""
    line = pl.col("line")
    # Test the two ends of ENTRY separately: as one pattern it reads the whole line.
    entry = rows.select((line.str.contains(BEGINS) & line.str.contains(ENDS)).fill_null(False)).to_series()
    others = (~entry).arg_true()
    other = (
        pl.when((line == "") | line.is_null()).then(pl.lit("blank"))
        .when(line.str.contains(_STACK)).then(pl.lit("stack"))
        .when(line.str.contains(oracle_stamps.CLOCK)).then(pl.lit("clock"))
        .when(line.str.contains(_START)).then(pl.lit("start"))
        .when(line.str.contains(_PID)).then(pl.lit("pid"))
        .when(line.str.contains(_LISTEN)).then(pl.lit("listen"))
        .when(line.str.contains(_MESSAGE)).then(pl.lit("message"))
        .when(line.str.contains(_HEADER)).then(pl.lit("header"))
    )  # fmt: skip
    shape = pl.select(pl.when(entry).then(pl.lit("entry"))).to_series()
    if len(others):
        shape = shape.scatter(others, rows[others].select(other.alias("shape"))["shape"])
    return rows.with_columns(shape.alias("shape"))


def _emit(rows: pl.DataFrame, out: Tables) -> None:
    of_records = rows.filter(pl.col("opens") | (pl.col("shape") == "stack")).with_columns(
        record=pl.col("opens").cum_sum()
    )
    if of_records.is_empty():
        return
    records = of_records.filter("opens")
    stack = of_records.filter(pl.col("shape") == "stack")
    line = pl.col("line")
    code = pl.coalesce(
        line.str.extract(_CODE, 1) + line.str.extract(_CODE, 2), line.str.extract(_SYSTEM_ERROR).str.strip_chars()
    )
    deeper = stack.group_by("record", maintain_order=True).agg(
        secondary=code.drop_nulls(), below=line.str.join("\n"), last=pl.col("line_end").max(), own=pl.col("opens").any()
    )
    records = _fields(records.join(deeper, on="record", how="left", maintain_order="left"))
    out.add("logs", records, span="ends")
    started = rows.filter(pl.col("shape") == "start")
    for name in started["line"].str.extract(_START)[-1:]:
        system = next((os for word, os in _OS.items() if word in name.lower()), None)
        if system:
            out.fact("os", system)


def _fields(records: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of `logs` from entries, messages and stacks without a message."""
    line, shape = pl.col("line"), pl.col("shape")
    entry, orphan = shape == "entry", shape == "stack"
    word = [pl.col(f"field_{i}") for i in range(7)]
    records = records.with_columns(pl.when(entry).then(line).str.splitn(" * ", 7).alias("g")).unnest("g")
    records = records.with_columns(
        count=pl.sum_horizontal(w.is_not_null() for w in word),
        d1=(word[1].str.starts_with("(") | word[1].str.starts_with("<unknown connect")).fill_null(False),
        d2=(word[2].str.starts_with("(") | word[2].str.starts_with("<unknown connect")).fill_null(False),
        stacked=pl.col("secondary").list.len().fill_null(0) > 0,
    )
    n, d1, d2, stacked = (pl.col(c) for c in ("count", "d1", "d2", "stacked"))
    records = records.with_columns(
        failed=pl.when(n < 7).then(pl.coalesce(word[5], word[4], word[3], word[2], word[1])).cast(pl.Int64, strict=False),
        # Words that are not a descriptor: the event, then its subject.
        op=pl.when(n == 6).then(word[3])
        .when(n == 5).then(pl.when(d2).then(word[3]).when(d1).then(word[2]).otherwise(word[1]))
        .when(n == 4).then(pl.when(~d1).then(word[1]).when(~d2).then(word[2]))
        .when(n == 3).then(pl.when(~d1).then(word[1])),
        named=pl.when(n == 6).then(word[4]).when((n == 5) & ~d2).then(word[3]).when((n == 4) & ~d1).then(word[2]),
        data=pl.when(word[1].str.starts_with("(")).then(word[1]),
        address=pl.when(word[2].str.starts_with("(")).then(word[2]).when(word[1].str.starts_with("(ADDRESS")).then(word[1]),
    )  # fmt: skip
    failed = pl.col("failed")
    message = shape.replace_strict(_OPS, default=None, return_dtype=pl.String)
    records = records.join(_callers(records["data"]), on="data", how="left", maintain_order="left")
    records = records.with_columns(_peers(records["address"]), text=pl.when(orphan).then("below").otherwise(line))
    below = pl.col("below").is_not_null() & ~orphan
    return records.select(
        "line_no", line_end=pl.max_horizontal("line_end", "last"), t_local=pl.col("t").cast(pl.Float64), source=pl.lit("listener"),
        code=pl.when(entry & (failed > 0)).then(pl.format("TNS-{}", failed)).when(~entry & stacked).then(pl.col("secondary").list.first()),
        secondary=pl.col("secondary"),
        severity=pl.when(line.str.starts_with("WARNING")).then(pl.lit("WARNING")),
        pid=pl.when(shape == "pid").then(line).str.extract(_PID).cast(pl.Int64, strict=False),
        peer_ip=pl.col("peer_ip"), peer_port=pl.col("peer_port"),
        service=pl.coalesce("service", pl.when(~pl.col("named").str.starts_with("<")).then("named")),
        program=pl.when(pl.col("program") != "").then("program"), client_host=pl.col("client_host"),
        op=pl.coalesce("op", message),
        ok=pl.when(entry).then(failed == 0).when(stacked).then(pl.lit(False)).when(shape == "listen").then(pl.lit(True)),
        text=pl.when(below).then(pl.concat_str("text", pl.lit("\n"), "below")).otherwise("text"),
    )  # fmt: skip


def _callers(data: pl.Series) -> pl.DataFrame:
    """Return data, program, client_host and service of callers, a row for each different text of CONNECT_DATA.

    A pool of connections has the same text in each entry, so the patterns see few texts.
    """
    callers = data.drop_nulls().unique().to_frame()
    text = pl.col("data")
    callers = callers.with_columns(
        program=text.str.extract(_PROGRAM),
        client_host=text.str.extract(_CLIENT),
        service=connect_descriptors.service(text),
    )
    odd = pl.col("program").is_null() & text.str.contains(r"(?i)\(PROGRAM *= *[^ )]")
    if callers.select(odd.any()).item():
        # This pattern handles blanks and brackets of a Windows path; it is too slow for every entry.
        callers = callers.with_columns(
            program=pl.when(odd).then(connect_descriptors.program(text)).otherwise("program")
        )
    return callers


def _peers(address: pl.Series) -> list[pl.Series]:
    """Return peer_ip and peer_port of addresses: first those in the listener's usual form, then the others."""
    usual = address.str.extract_groups(_ADDRESS).struct.unnest()
    ip, port = usual.get_columns()
    others = (ip.is_null() & address.is_not_null()).arg_true()
    if len(others):
        ip = ip.scatter(others, address[others].str.extract(_PEER))
        port = port.scatter(others, address[others].str.extract(_PORT))
    return [ip.alias("peer_ip"), port.cast(pl.Int64, strict=False).alias("peer_port")]


def _timed(rows: pl.DataFrame, out: Tables, carry: _Carry, *, xml: bool) -> pl.DataFrame:
    """Add `t`: the stamp of the entry, of the banner, or of the clock line right above; in log.xml that of the element, in UTC."""
    line = pl.col("line")
    entry = pl.col("shape") == "entry"
    usual = entry & line.str.contains(_USUAL)
    stamped = rows.select(
        d=pl.when(usual).then(line.str.slice(0, 11)),
        t=pl.when(usual).then(line.str.slice(12, 8)),
        other=(entry & ~usual) | (pl.col("shape") == "start"),
    )
    date, time = stamped["d"], stamped["t"]
    others = stamped["other"].arg_true()
    if len(others):
        parts = rows[others].select(
            when=pl.when(pl.col("shape") == "start")
            .then(line.str.extract(_STARTED_AT))
            .otherwise(line.str.splitn(" * ", 2).struct[0])
        )
        # The time follows the date: `10:56:39`, in some versions `10:56:39:123`.
        width = pl.when(pl.col("when").str.contains(r":[0-9]{2}[:.][0-9]{3}$")).then(12).otherwise(8)
        parts = parts.select(
            d=pl.col("when").str.slice(0, pl.col("when").str.len_chars() - width - 1),
            t=pl.col("when").str.slice(-width),
        )
        date, time = date.scatter(others, parts["d"]), time.scatter(others, parts["t"])
    rows = rows.with_columns(own=oracle_stamps.entry_seconds(date, time))
    if xml:
        rows = rows.with_columns(
            stamp=oracle_stamps.iso_seconds(pl.col("time")), east=oracle_stamps.offset(pl.col("time")).cast(pl.Float64)
        )
        east = pl.col("east").forward_fill().fill_null(pl.lit(carry.offset, pl.Float64)).backward_fill()
        rows = rows.with_columns(t=pl.coalesce(pl.col("stamp") - east, pl.col("own") - east, "stamp", "own"), east=east)
        lost = rows.filter(entry & pl.col("stamp").is_null() & pl.col("t").is_not_null())
        if len(lost) < len(rows.filter(entry)):
            text = "the element's own time is not here: that of the text, whole seconds, in the zone of the elements around"
            out.notes(lost.select("line_no", "line_end", kind=pl.lit("damaged"), text=pl.lit(text)))
        offsets = rows["east"].drop_nulls()
        if len(offsets):
            carry.offset = int(offsets[-1])
    else:
        at = (rows["shape"] == "clock").arg_true()
        clocks = rows[at].select(stamp=oracle_stamps.clock_seconds(line), east=oracle_stamps.offset(line))
        empty = pl.DataFrame(schema=clocks.schema).clear(len(rows))
        rows = rows.with_columns(empty[c].scatter(at, clocks[c]) for c in clocks.columns)
        # The clock line applies until an entry stands below it.
        current = (
            pl.when(pl.col("shape") == "clock")
            .then("stamp")
            .when(pl.col("shape") == "entry")
            .then(pl.lit(float("nan")))
        )
        holding = current.forward_fill().fill_null(pl.lit(carry.clock, pl.Float64)).fill_nan(None)
        rows = rows.with_columns(t=pl.coalesce("own", holding), current=holding)
        carry.clock = rows["current"][-1] if len(rows) else carry.clock
        _doubled(rows, out, carry)
    _steps_back(rows, out, carry)
    return rows


def _doubled(rows: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Note repeated clock lines: the listener writes one only for a new time, so a repetition is a doubled paste."""
    clocks = rows.filter(pl.col("shape") == "clock").select("line_no", "line")
    again = clocks.filter(pl.col("line") == pl.col("line").shift().fill_null(pl.lit(carry.clock_text)))
    if len(clocks):
        carry.clock_text = clocks["line"][-1]
    if len(again):
        text = "the same clock line stands above already: the entries are written twice here"
        out.notes(again.select("line_no", kind=pl.lit("remark"), text=pl.lit(text)))


def _steps_back(rows: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    timed = rows.filter(pl.col("t").is_not_null()).select("line_no", "t")
    if timed.is_empty():
        return
    past = pl.col("t").shift().fill_null(pl.lit(carry.last, pl.Float64))
    back = timed.with_columns(past=past).filter(pl.col("t").floor() < pl.col("past").floor())
    if len(back):
        text = pl.format(
            "the clock steps back by {} s; rows keep the file's order", (pl.col("past") - pl.col("t")).round(6)
        )
        out.notes(back.select("line_no", kind=pl.lit("remark"), text=text))
    carry.last = timed["t"][-1]


def _domains(rows: pl.DataFrame, out: Tables, carry: _Carry, first: int, last: int, *, xml: bool) -> None:
    """Report the clock of these lines: UTC where elements have a zone, else local time, a separate domain for each offset."""
    if last < first:
        return
    changes = []
    if not xml and len(rows):
        east = rows.filter(pl.col("east").is_not_null())
        changes = east.filter(pl.col("east").ne_missing(pl.col("east").shift())).select("line_no", "east").rows()
    pieces: list[tuple[int, int | None, int, int]] = []
    begin = first
    for line_no, east in changes:
        if carry.offset not in (None, east):
            pieces.append((carry.domain, carry.offset, begin, line_no - 1))
            carry.domain, begin = carry.domain + 1, line_no
        carry.offset = int(east)
    pieces.append((carry.domain, carry.offset, begin, last))
    for number, offset, lo, hi in pieces:
        if hi < lo:
            continue
        inside = (
            rows.filter(pl.col("line_no").is_between(lo, hi))["t"] if len(rows) else pl.Series([], dtype=pl.Float64)
        )
        ends: tuple[Any, Any] = (inside.min(), inside.max())
        if offset is not None:
            out.fact("tz", oracle_stamps.offset_text(offset))
        if carry.last is None:
            out.domain(Domain(number, "none", lines=[(lo, hi)]))
        elif xml and offset is not None:
            out.domain(Domain(number, "wall-utc", WALL_BASE, "UTC", *ends, [(lo, hi)], stamps="end"))
        else:
            zone = None if offset is None else zone_name(offset)
            out.domain(Domain(number, "wall-local", WALL_BASE, zone, *ends, [(lo, hi)], stamps="end"))
