"""Oracle Net (SQL*Net) traces: client, listener and server, 10g to 19c, all systems; `trace_level_client=16` in sqlnet.ora,
`trace_level_listener=16` in listener.ora, or `oradebug unit ... ` / event 10079 for a running server.
Source: Net Services Administrator's Guide, chapter "Troubleshooting Oracle Net Services"; record forms in `parsers/net_records.py`.

    [14-APR-2016 05:58:39:329] nttrd: entry
    [14-APR-2016 05:58:41:201] nttrd: socket 516 had bytes read=8
    2014-11-15 16:13:28.320729 : nsevfnt:cxd: 0xf1b9c8 stage 0: NT events set:
            READ
    2014-11-15 16:13:28.320742 : nsevfnt:cxd: 0xf1b9c8 stage 0: NS events set:
    2014-11-15 16:13:28.320771 : sntpcall:result string is NTP0 4165

Fills `sqlnet` (one row per record; a packet dump is one row), `params` (header), kind of clock wall-local, no zone.
Traps: the stamp is when the line was written, so a gap was spent *after* what the record before it says; `nsbeqaddr:error exit`
stands in every good dedicated connection; the events of `nsevfnt` stand on the lines below, and a list without lines is printed and
empty (a child's answer), which is not the same as no list (NULL); dumps and the environment written before each fork hold secrets;
`bytes read=-1` is no number of bytes (NULL). Steps of the clock backwards leave the gap NULL and are noted, rows keep the file's order.
Known gaps: a record that lost its stamp in a stamped file is text of the record above when it is indented, else unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields

import polars as pl

from parsers import net_descriptors, net_packets, net_records
from parsers.masks import mask_text
from parsers.notes import ELISION
from parsers.registry import Claim, Format
from parsers.source import Head, Source
from parsers.tables import Domain, State, Tables
from parsers.times import WALL_BASE

FORMAT = Format(
    kind="sqlnet",
    variant="trace",
    version="1",
    systems=("solaris", "linux", "aix", "hpux", "windows"),
    tables=("sqlnet", "params"),
    man="Oracle Net Services Administrator's Guide, tracing",
    example="sqlnet.ora: trace_level_client=16 trace_directory_client=DIR diag_adr_enabled=off",
    split="none",
    clocks=("wall-local", "none"),
)

DECIDE_LINES = 2000
"""Prefix and side are decided on so many lines (or the whole file), so that the size of blocks changes nothing."""
DUMP_REACH = 200
"""Rows of one dump stand at most so many lines apart (other threads write between them)."""
HELD_LINES = 100_000
"""A record that is still open after so many lines is closed there: the memory of a damaged file stays bounded."""
MAX_THREADS = 10_000

_VERSION = r"^TNS[A-Z]* for ([^:]+): Version ([0-9.]+)"
_HEADER = rf"^Trace file |{_VERSION}|^Copyright \(c\)|^---? .* INFORMATION (?:FOLLOWS|ENDS)"
_OS = {"linux": "linux", "solaris": "solaris", "sunos": "solaris", "aix": "aix", "hp": "hpux", "windows": "windows"}
_CUT_STAMP = r"^[\t ]*(?:\([0-9]*\)? ?)?(?:\[[0-9A-Z: .-]*|[0-9]{4}-[0-9: .-]*)$"
_LOST_START = rf"^[^\[(]{{0,24}}\] ?{net_records.FUNCTION}:"
_IN = ("nsprecv", "nsbasic_brc", "nsrdr")
_OUT = ("nspsend", "nsbasic_bsd", "nsdofls")
_NSPT = {
    "CN": "connect", "AC": "accept", "AK": "ack", "RF": "refuse", "RD": "redirect", "DA": "data", "NL": "null", "AB": "abort",
    "RS": "resend", "MK": "marker", "AT": "attention", "CNL": "control",
}  # fmt: skip


def claim(head: Head) -> Claim | None:
    lines = pl.DataFrame(
        {"line_no": range(1, len(head.lines) + 1), "line": head.lines}, schema={"line_no": pl.Int64, "line": pl.String}
    )
    lines = lines.filter(pl.col("line") != "")
    if not len(lines):
        return None
    shape = net_records.shape_of(lines["line"])
    records = net_records.split(lines, shape)
    layered = pl.col("func").str.contains(rf"^{net_records.LAYERED}$")
    known = records.filter(layered.fill_null(False))["line_no"].n_unique()
    fits = records.filter((pl.col("stamped") & pl.col("func").is_null()) | layered)["line_no"].n_unique()
    if not known:
        return None
    share = fits / len(lines)
    if shape == net_records.BARE:
        # Any text may hold a word and a colon: without stamps most lines must be functions of the layers, three of them different.
        if share < 0.5 or (
            records["func"].drop_nulls().n_unique() < 3
            and not records.filter(net_packets.is_dump_row(pl.col("text"))).height
        ):
            return None
        return Claim(
            min(0.55 + 0.4 * share, 0.95),
            f"{known} of {len(lines)} lines name functions of Oracle Net's layers, no stamps",
            "trace",
        )
    # Lines without a stamp (environment, events) may be many; a stamped line that names a function of the layers is never chance.
    strength = min(0.6 + 0.4 * share, 0.99) if share >= 0.2 or known >= 5 else 0.3 + share
    return Claim(strength, f"{known} of {len(lines)} lines are records of Oracle Net functions ({shape})", "trace")


@dataclass
class _Carry:
    """What goes from block to block and from run to run."""

    first_line: int = 1
    shape: str | None = None
    side: str | None = None
    speakers: list[str] = field(default_factory=list)
    header: bool = False
    scope: str = "sqlnet"
    seq: int = 0
    epoch: int = 0
    t_begin: float | None = None
    t_end: float | None = None
    facts: list[str] = field(default_factory=list)
    threads: list[tuple[str | None, int, int | None, int]] = field(default_factory=list)
    held: list[tuple[int, str]] = field(default_factory=list)


def parse(source: Source, out: Tables, state: State) -> State:
    carry = _Carry(**{f.name: state[f.name] for f in fields(_Carry) if f.name in state})
    carry.first_line = source.first_line
    held = _lines(carry.held)
    for block in source.blocks():
        held = pl.concat([held, block.frame.select("line_no", "line")])
        if carry.shape is None and len(held) < DECIDE_LINES:
            continue
        held = _take(held, out, carry, final=False)
    held = _take(held, out, carry, final=True) if source.last else _kept(held, out, carry)
    carry.held = held.rows()
    kind = "none" if carry.t_begin is None else "wall-local"
    if source.next_line > source.first_line:
        out.domain(
            Domain(
                1,
                kind,
                WALL_BASE if carry.t_begin is not None else None,
                t_begin=carry.t_begin,
                t_end=carry.t_end,
                lines=[(source.first_line, source.next_line - 1)],
            )
        )
    return state | asdict(carry)


def _lines(rows: list[tuple[int, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"line_no": pl.Int64, "line": pl.String}, orient="row")


def _take(lines: pl.DataFrame, out: Tables, carry: _Carry, *, final: bool) -> pl.DataFrame:
    """Read all records of `lines` that are complete; give back the lines of those that the next block may continue."""
    if not len(lines):
        return lines
    if carry.shape is None:
        first = lines.head(DECIDE_LINES)
        carry.shape = net_records.shape_of(first["line"])
        carry.side = _side(_prefixed(first, carry), carry.speakers)
    split = _prefixed(lines, carry)
    others = _others(split, last_line=int(lines["line_no"][-1]) if final else None)
    records = _grouped(split, others)
    cut = None if final else _open_from(records, lines)
    if cut is not None:
        # What is cut off here is looked at again with the next block: only whole records leave a trace in the tables.
        split, records, others = (f.filter(pl.col("line_no") < cut) for f in (split, records, others))
    _account(others.filter(pl.col("line_no") >= carry.first_line), out)
    _emit(records, others, out, carry)
    carry.epoch += int(others["breaks"].sum())
    return lines.clear() if cut is None else lines.filter(pl.col("line_no") >= cut)


def _kept(held: pl.DataFrame, out: Tables, carry: _Carry) -> pl.DataFrame:
    """Account for the lines that the next run goes on with, and take their secrets out: the state is stored."""
    if not len(held):
        return held
    fresh = pl.col("line_no") >= carry.first_line
    split = _prefixed(held, carry)
    others = _others(split, last_line=None)
    records = _grouped(split, others)
    if carry.shape is None:
        # Who speaks stands in bytes that are masked below.
        carry.speakers += _speakers(records.filter(fresh))
    _account(others.filter(fresh), out)
    out.read(records.filter(fresh)["line_no"])
    dumps = _dumps(records)
    frames = [
        _hidden_below(others)[1],
        _environment(records),
        net_descriptors.secret_columns(split.filter(~pl.col("dump"))),
    ]
    keys: list[tuple[int, int, int]] = []
    if len(dumps):
        packets = net_packets.join_rows(dumps)
        frames.append(net_packets.secret_columns(dumps, packets))
        keys = net_packets.key_places(dumps, packets)
    places = pl.concat(frames)
    _hide(places, out, carry)
    spans: dict[int, list[tuple[int, int]]] = {}
    for line_no, begin, end in places.select("line_no", "from", "to").iter_rows():
        spans.setdefault(line_no, []).append((begin, end))
    rows = set(dumps["line_no"])
    whole = dict(held.iter_rows())
    lines = {n: (net_packets.mask_row if n in rows else mask_text)(line, spans.get(n, [])) for n, line in whole.items()}
    for n, begin, end in keys:
        lines[n] = lines[n][:begin] + whole[n][begin:end] + lines[n][end:]
    return _lines(list(lines.items()))


def _prefixed(lines: pl.DataFrame, carry: _Carry) -> pl.DataFrame:
    split = net_records.with_dumps(net_records.split(lines, carry.shape or net_records.shape_of(lines["line"])))
    thread = pl.col("thread").cast(pl.String)
    split = split.with_columns(record=pl.col("stamped") | pl.col("func").is_not_null(), thread=thread)
    return split.with_columns(phys=pl.col("record").cum_sum())


def _open_from(records: pl.DataFrame, lines: pl.DataFrame) -> int | None:
    """Find the first line of the records that may go on in the next block; None if there is none."""
    if not len(records) or len(lines) > HELD_LINES:
        return None
    near = pl.col("line_no") > lines["line_no"][-1] - DUMP_REACH
    open_dump = near & (pl.col("dump") | pl.col("head"))
    groups = records.filter(open_dump | (pl.int_range(pl.len()) == pl.len() - 1))["packet"]
    return int(records.filter(pl.col("packet").is_in(groups.implode()))["line_no"].min())  # type: ignore[arg-type]


# What is no record ----------------------------------------------------------------------------------------------------


def _others(split: pl.DataFrame, last_line: int | None) -> pl.DataFrame:
    """Judge the lines without a prefix: `what` is blank, elided, header, damaged, prose, unknown, or how they continue the record above
    (event, env, joined, wrapped); `breaks` where records may be missing."""
    owner = split.filter(pl.col("record")).select(
        "phys",
        of=pl.col("func"),
        said=pl.col("text"),
        inner=pl.col("dump"),
        depth=_indent(pl.col("line")),
        owner=pl.int_range(pl.len()),
    )
    got = split.filter(~pl.col("record")).join(owner, on="phys", how="left", maintain_order="left")
    text = pl.col("text")
    deeper = _indent(text) > pl.col("depth")
    opened = pl.col("said").str.count_matches(r"\(").cast(pl.Int64) - pl.col("said").str.count_matches(r"\)").cast(
        pl.Int64
    )
    net = text.str.count_matches(r"\(").cast(pl.Int64) - text.str.count_matches(r"\)").cast(pl.Int64)
    before = opened + net.cum_sum().over("phys") - net
    descriptor = pl.col("said").str.contains(r"\([A-Z_]+ *=") & ~pl.col("inner")
    elided = text.str.contains(_elision())
    got = got.with_columns(
        what=pl.when(text.str.strip_chars() == "").then(pl.lit("blank"))
        .when(elided).then(pl.lit("elided"))
        .when((pl.col("of") == "nlpcaini") & pl.col("said").str.starts_with("env[")).then(pl.lit("env"))
        .when(pl.col("said").str.contains(net_records.EVENTS) & text.str.contains(r"^[\t ]*[A-Z][A-Z ]*[A-Z]$")).then(pl.lit("event"))
        .when(pl.col("said").str.ends_with("follow:") & (deeper | text.str.contains('^"(?:and|or)"'))).then(pl.lit("joined"))
        .when(descriptor & (before > 0)).then(pl.lit("wrapped"))
        .when(text.str.contains(_HEADER)).then(pl.lit("header"))
        .when((pl.col("line_no") == (last_line or 0)) & text.str.contains(_CUT_STAMP)).then(pl.lit("damaged"))
        .when((pl.col("line_no") == 1) & text.str.contains(_LOST_START)).then(pl.lit("damaged"))
        .when(deeper & ~pl.col("inner")).then(pl.lit("joined"))
        .when(text.str.contains(r"^[\t ]+[A-Z][A-Z ]*[A-Z]$")).then(pl.lit("damaged"))
        .when(text.str.contains(r"[A-Za-z]{2,}[ ,]+[A-Za-z]+[ ,]+[A-Za-z]")).then(pl.lit("prose"))
        .otherwise(pl.lit("unknown"))
    )  # fmt: skip
    # Behind a mark or an author's words nothing continues the record above any more.
    gone = pl.col("what").is_in(["elided", "prose", "unknown", "damaged"]).cast(pl.Int32)
    orphan = pl.col("what").is_in(["event", "env", "joined", "wrapped"]) & ((gone.cum_sum() - gone).over("phys") > 0)
    got = got.with_columns(what=pl.when(orphan).then(pl.lit("damaged")).otherwise("what"))
    return got.with_columns(breaks=pl.col("what").is_in(["elided", "prose", "unknown", "damaged"]))


def _elision() -> str:
    return rf"{ELISION}|^[^A-Za-z0-9]*(?:(?:some |many |[0-9]+ )?(?:more )?(?:lines|rows) (?:removed|deleted|omitted|skipped|cut))[^A-Za-z0-9]*$"


def _indent(text: pl.Expr) -> pl.Expr:
    return text.str.len_bytes().cast(pl.Int64) - text.str.strip_chars_start("\t ").str.len_bytes().cast(pl.Int64)


def _account(others: pl.DataFrame, out: Tables) -> None:
    if not len(others):
        return
    for what, kind in (
        ("blank", "blank"),
        ("elided", "elided"),
        ("damaged", "damaged"),
        ("prose", "prose"),
        ("unknown", "unknown"),
    ):
        out.account(kind, others.filter(pl.col("what") == what)["line_no"])
    out.read(others.filter(pl.col("what").is_in(["header", "event", "env", "joined", "wrapped"]))["line_no"])
    said = {"elided": "lines left out by the author", "damaged": "piece of a record whose rest is not here"}
    noted = others.filter(pl.col("what").is_in(["elided", "damaged"]))
    out.notes(noted.select("line_no", kind="what", text=pl.col("what").replace_strict(said, return_dtype=pl.String)))
    # An author's words may quote what must not be seen: the note shows them masked.
    words = others.filter(pl.col("what").is_in(["prose", "unknown"])).select("line_no", "what", "text").rows()
    for line_no, what, text in words:
        out.note(line_no, line_no, "remark" if what == "prose" else "unknown", net_descriptors.masked(text.strip()))


# Records --------------------------------------------------------------------------------------------------------------


def _grouped(split: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Give the records with `packet` (number of the row that they belong to), `head` (a dump begins here) and `epoch`.

    A row of a dump belongs to the record of the same thread and function above it. `epoch` counts the breaks since the first line here.
    """
    records = split.filter(pl.col("record")).with_row_index("nth").with_columns(pl.col("nth").cast(pl.Int64))
    head = (pl.col("text") == "packet dump") & pl.col("func").is_not_null()
    breaks = others.filter(pl.col("breaks")).select("line_no", "sub", epoch=pl.lit(1, pl.Int64))
    if len(breaks):
        marks = pl.concat([records.select("line_no", "sub", epoch=pl.lit(0, pl.Int64)), breaks]).sort(
            "line_no", "sub", maintain_order=True
        )
        epochs = marks.with_columns(count=pl.col("epoch").cum_sum()).filter(pl.col("epoch") == 0)["count"]
    else:
        epochs = pl.repeat(0, len(records), dtype=pl.Int64, eager=True)
    records = records.with_columns(epoch=epochs, head=head)
    same = [pl.col(c).shift(1) for c in ("dump", "head", "func", "line_no", "epoch")]
    number = pl.col("nth")
    threaded = bool(records["thread"].is_not_null().any())
    if threaded:
        same = [e.over("thread") for e in same]
    dump, headed, func, line_no, epoch = same
    joins = (
        pl.col("dump")
        & (dump | headed)
        & (func == pl.col("func"))
        & (pl.col("line_no") - line_no <= DUMP_REACH)
        & (epoch == pl.col("epoch"))
    )
    packet = pl.when(~joins.fill_null(False)).then(number).forward_fill()
    return records.with_columns(packet=packet.over("thread") if threaded else packet)


def _emit(records: pl.DataFrame, others: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Hide the secrets, then write the rows."""
    _header(others, out, carry)
    others, hidden = _hidden_below(others)
    _hide(hidden, out, carry)
    if not len(records):
        return
    starts = pl.col("packet") == pl.col("nth")
    dumps = _dumps(records)
    rows = records.filter(starts)
    rows = rows.join(_below(others, records), left_on="nth", right_on="packet", how="left", maintain_order="left")
    last = records.filter(~starts).group_by("packet").agg(last=pl.col("line_no").max())
    rows = rows.join(last, left_on="nth", right_on="packet", how="left", maintain_order="left")
    rows = rows.with_columns(line_end=pl.max_horizontal("line_no", "last", "below"))
    if len(dumps):
        packets = net_packets.say(net_packets.join_rows(dumps))
        _hide(net_packets.secret_columns(dumps, packets), out, carry)
        rows = rows.join(
            packets.select("packet", "bytes", "type_no", "said", "speaker", shown=pl.col("text")),
            left_on="nth",
            right_on="packet",
            how="left",
            maintain_order="left",
        )
    else:
        rows = rows.with_columns(
            bytes=pl.lit(None, pl.Int64),
            type_no=pl.lit(None, pl.Int64),
            said=pl.lit(None, pl.String),
            speaker=pl.lit(None, pl.String),
            shown=pl.lit(None, pl.String),
        )
    rows = _masked(rows, out, carry)
    rows = _sided(rows, carry)
    rows = _chained(rows, out, carry)
    rows = _facts(rows)
    _settings(rows, out, carry)
    out.notes(
        rows.filter("repaired").select(
            "line_no", "line_end", kind=pl.lit("repaired"), text=pl.lit("tags or quoting of a page taken off")
        )
    )
    out.add("sqlnet", rows.select(_COLUMNS))
    carry.seq += len(rows)
    carry.t_begin = _least(carry.t_begin, rows["t_local"].min(), min)
    carry.t_end = _least(carry.t_end, rows["t_local"].max(), max)


def _dumps(records: pl.DataFrame) -> pl.DataFrame:
    """Give the rows of packet dumps: headed (their dump's first line is here) and direction, as the functions name it."""
    return records.filter(pl.col("dump")).with_columns(
        headed=pl.col("packet").is_in(records.filter("head")["nth"].implode()),
        direction=pl.when(pl.col("func").is_in(_OUT))
        .then(pl.lit("out"))
        .when(pl.col("func").is_in(_IN))
        .then(pl.lit("in")),
    )


def _environment(records: pl.DataFrame) -> pl.DataFrame:
    """Give the places of the values in `env[0] = NAME=VALUE`."""
    env = records.filter((pl.col("func") == "nlpcaini") & pl.col("text").str.starts_with("env["))
    value = pl.col("text").str.extract(_VARIABLE).fill_null("").str.len_chars().cast(pl.Int64)
    end = pl.col("line").str.len_chars().cast(pl.Int64)
    return env.select("line_no", (end - value).alias("from"), end.alias("to"), kind=pl.lit("environment"))


def _least(old: float | None, new: object, pick: Callable[[float, float], float]) -> float | None:
    if not isinstance(new, float):
        return old
    return new if old is None else pick(old, new)


def _hidden_below(others: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Mask the environment's lines as a whole and whatever else names an account; gives the lines masked and the places."""
    if not len(others):
        return others, net_descriptors.places([])
    env = others.filter(pl.col("what") == "env").select(
        "line_no",
        pl.lit(0, pl.Int64).alias("from"),
        pl.col("line").str.len_chars().cast(pl.Int64).alias("to"),
        kind=pl.lit("environment"),
    )
    hidden = pl.concat([env, net_descriptors.secret_columns(others.filter(pl.col("what") != "env"))])
    return others.with_columns(text=pl.when(pl.col("what") == "env").then(pl.lit("")).otherwise("text")), hidden


def _below(others: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """Collect what stands below each record: its last line, its events, its further text."""
    parts = others.join(
        records.group_by("phys").agg(pl.col("packet").last()), on="phys", how="inner", maintain_order="left"
    )
    text = pl.col("text").str.strip_chars()
    event = pl.col("what") == "event"
    kept = pl.col("what").is_in(["event", "env", "joined", "wrapped"])
    return parts.group_by("packet").agg(
        below=pl.col("line_no").filter(kept).max(),
        events=text.filter(event),
        cut=(pl.col("what").is_in(["elided", "damaged"]) & (event.cum_sum() == 0)).any(),
        wrapped=text.filter(pl.col("what") == "wrapped"),
        wrapped_lines=pl.struct("line_no", "line").filter(pl.col("what") == "wrapped"),
        joined=text.filter(pl.col("what") == "joined").str.join("\n"),
    )


def _masked(rows: pl.DataFrame, out: Tables, carry: _Carry) -> pl.DataFrame:
    """Put continuations behind the text, and asterisks over accounts and the environment of a new process."""
    if rows["below"].is_not_null().any():
        tail = pl.col("wrapped").list.join("").fill_null("")
        joined = (
            pl.when(pl.col("joined").fill_null("") != "")
            .then(pl.concat_str(pl.lit("\n"), "joined"))
            .otherwise(pl.lit(""))
        )
        rows = rows.with_columns(
            text=pl.when(pl.col("below").is_not_null()).then(pl.concat_str("text", tail, joined)).otherwise("text")
        )
    text = pl.col("text")
    variable = (pl.col("func") == "nlpcaini") & text.str.starts_with("env[")
    places = [_environment(rows)]
    if len(places[0]):
        value = text.str.extract(_VARIABLE).fill_null("")
        hidden = pl.concat_str(text.str.strip_suffix(value), value.str.replace_all(".", "*"))
        rows = rows.with_columns(text=pl.when(variable).then(hidden).otherwise(text))
    seen = rows.filter(~variable.fill_null(False) & pl.col("shown").is_null() & net_descriptors.looks_secret(text))
    spans: list[tuple[int, int, int, str]] = []
    texts: dict[int, str] = {}
    for nth, line_no, line, whole, more in seen.select("nth", "line_no", "line", "text", "wrapped_lines").iter_rows():
        texts[nth] = net_descriptors.masked(whole)
        spans += net_descriptors.wrapped_spans([(line_no, line), *((m["line_no"], m["line"]) for m in more or ())])
    _hide(pl.concat([*places, net_descriptors.places(spans)]), out, carry)
    return (
        rows.with_columns(
            text=pl.coalesce(pl.col("nth").replace_strict(texts, default=None, return_dtype=pl.String), text)
        )
        if texts
        else rows
    )


def _hide(places: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Mask places; those of lines before this run were named when they were held."""
    out.secrets(places.filter(pl.col("line_no") >= carry.first_line))


# Columns --------------------------------------------------------------------------------------------------------------

_COLUMNS = (
    "line_no", "line_end", "t_local", "side", "seq", "thread", "func", "event", "text", "bytes", "direction", "socket", "conn_key",
    "ptype", "nt_events", "ns_events", "service", "program", "peer_ip", "peer_port", "child_pid", "err", "secondary", "prev_line",
    "gap_s", "contiguous",
)  # fmt: skip

_VARIABLE = r"^env\[[0-9]+\] = [^=]*=(.*)$"
_IO = r"(?:bytes (read|written)=|Wrote on ([0-9]+) (bytes )|Read (bytes ))(-?[0-9]+)"
_SOCKET = r"(?:socket|soc|EOF ERROR on|NODELAY on|Wrote on) ([0-9]+)"
_PEER = r"(?:connected on ipaddr|on incoming node|using host IP address:) ([0-9a-fA-F.:]+)"
_NSRES = r"ns=([0-9]+), ns2=([0-9]+); nt\[0\]=([0-9]+), nt\[1\]=([0-9]+), nt\[2\]=([0-9]+)"


def _hints(records: pl.DataFrame) -> pl.Expr:
    """Say who wrote a record where it tells: functions that only one side calls, packets that only one side sends."""
    func, text = pl.col("func"), pl.col("text")
    con = pl.when(func == "nscon").then(text)
    io = pl.when(func.is_in(["nttrd", "nttfprd", "nttmrd"])).then(text)
    sends = (
        pl.when(pl.col("speaker").is_not_null()).then(pl.col("speaker"))
        if "speaker" in records.columns
        else pl.lit(None, pl.String)
    )
    return (
        pl.when(func.str.starts_with("nsgl")).then(pl.lit("listener"))
        .when(func.is_in(["nsinh_hoff", "nsinherit"])).then(pl.lit("server"))
        .when(con.str.contains(r"sending NSPTCN|got NSPT(?:AC|RS|RD|RF)")).then(pl.lit("client"))
        .when((func == "niotns") & text.str.contains("(?i)calling address")).then(pl.lit("client"))
        .when((func == "nsc2addr") & text.str.contains("(?i)\\(CONNECT_DATA *=")).then(pl.lit("client"))
        .when(sends.is_not_null()).then(sends)
        .when(func == "nsevfnt").then(pl.lit("listener"))
        # Eight bytes are a whole packet only if it is a resend, and only who connects is asked to send again.
        .when(io.str.ends_with("had bytes read=8")).then(pl.lit("client"))
    )  # fmt: skip


_STRENGTH = ("listener", "server", "client")


def _side(first: pl.DataFrame, speakers: list[str]) -> str | None:
    """Decide whose trace it is by its first lines: header, then what only a listener, a server, a client does, then who
    says what only one side says."""
    header = first.filter(~pl.col("stamped"))["text"].head(50)
    if header.str.contains("^TNSLSNR for ").any():
        return "listener"
    hints = set(first.select(hint=_hints(first))["hint"].drop_nulls())
    if hints:
        return next(side for side in _STRENGTH if side in hints)
    # The second packet of a long answer begins with any byte: the most votes count, then the first.
    votes = Counter([*speakers, *_speakers(_grouped(first, _NO_BREAKS))])
    return votes.most_common(1)[0][0] if votes else None


def _speakers(records: pl.DataFrame) -> list[str]:
    dumps = _dumps(records)
    return net_packets.join_rows(dumps)["speaker"].drop_nulls().to_list() if len(dumps) else []


_NO_BREAKS = pl.DataFrame(schema={"line_no": pl.Int64, "sub": pl.Int32, "breaks": pl.Boolean})


def _sided(rows: pl.DataFrame, carry: _Carry) -> pl.DataFrame:
    if carry.side is not None:
        return rows.with_columns(side=pl.lit(carry.side))
    rows = rows.with_columns(side=_hints(rows).forward_fill())
    carry.side = rows["side"][-1]
    return rows


def _chained(rows: pl.DataFrame, out: Tables, carry: _Carry) -> pl.DataFrame:
    """Add seq, t_local, and prev_line, gap_s and contiguous from the record before on the same thread."""
    micro = pl.col("day") * 86_400_000_000 + pl.col("micro")
    rows = rows.with_columns(t=micro, epoch=pl.col("epoch") + carry.epoch)
    schema = {"thread": pl.String, "line_no": pl.Int64, "t": pl.Int64, "epoch": pl.Int64}
    before = pl.DataFrame(carry.threads, schema=schema, orient="row")
    chain = pl.concat([before, rows.select(*schema)])
    last = [
        pl.col(c).shift(1).over("thread") if chain["thread"].is_not_null().any() else pl.col(c).shift(1)
        for c in ("line_no", "t", "epoch")
    ]
    past = chain.select(*(e.alias(f"past_{n}") for e, n in zip(last, ("line", "t", "epoch"), strict=True))).tail(
        len(rows)
    )
    newest = chain.group_by("thread", maintain_order=True).last()
    carry.threads = newest.sort("line_no").tail(MAX_THREADS).select(*schema).rows()
    rows = pl.concat([rows, past], how="horizontal")
    gap = pl.col("t") - pl.col("past_t")
    back = rows.filter(gap < 0)
    step = (-gap / 1e6).round(6)
    out.notes(
        back.select(
            line_no="past_line",
            line_end="line_no",
            kind=pl.lit("remark"),
            text=pl.format("the clock steps back by {} s; the time between these lines is unknown", step),
        )
    )
    unbroken = pl.lit("proven" if carry.header else "assumed")
    torn = pl.col("past_line").is_null() | (pl.col("past_epoch") != pl.col("epoch")) | (gap < 0)
    return rows.with_columns(
        seq=pl.int_range(carry.seq + 1, carry.seq + 1 + len(rows), dtype=pl.Int64),
        t_local=(pl.col("t") / 1e6).round(6),
        prev_line=pl.col("past_line"),
        # Polars multiplies long columns by the inverse: without rounding the last bit depends on the size of the block.
        gap_s=pl.when(gap >= 0).then((gap / 1e6).round(6)),
        # Once lines were taken out, other places may have been shortened without a mark.
        contiguous=pl.when(torn)
        .then(pl.lit("broken"))
        .when(pl.col("epoch") > 0)
        .then(pl.lit("assumed"))
        .otherwise(unbroken),
    )


def _facts(rows: pl.DataFrame) -> pl.DataFrame:
    """Add what the text says: the phase to all records, the rest to the few that name a socket, a packet, a descriptor, a code."""
    text = pl.col("text")
    rows = rows.with_columns(
        event=pl.when((text == "entry") | text.str.starts_with("entry:")).then(pl.lit("entry"))
        .when(text.str.starts_with("error exit") | text.str.starts_with("exit (-")).then(pl.lit("error_exit"))
        .when(text.str.starts_with("exit:") & text.str.contains("rc=-", literal=True)).then(pl.lit("error_exit"))
        .when(text.is_in(["exit", "normal exit"]) | text.str.starts_with("exit (") | text.str.starts_with("exit:")).then(pl.lit("exit"))
        .otherwise(pl.lit("info"))
    )  # fmt: skip
    told = rows.filter(
        (pl.col("event") == "info") & (pl.col("shown").is_not_null() | text.str.contains_any(list(_TELLING)))
    )
    facts = told.select("nth", **_said())
    rows = rows.drop("bytes").join(facts, on="nth", how="left", maintain_order="left")
    return rows.with_columns(text=pl.coalesce("shown", "text"))


_TELLING = (
    "cxd", " bytes ", "socket", "soc ", "ERROR on", "NODELAY on", "plen=", "NSPT", "NTP0", "nsres:", "events set:", "=(", "ipaddr",
    "incoming node", "host IP address",
)  # fmt: skip
"""A record with none of these has no fact beside its text: one search spares all patterns on most lines."""


def _said() -> dict[str, pl.Expr]:
    """Columns of a record that tells something. Each pattern sees only the functions that can match it: NULL costs nothing."""
    func, text = pl.col("func"), pl.col("text")
    info = pl.when(pl.col("shown").is_null()).then(text)
    nt = pl.when(func.str.starts_with("nt")).then(info)
    io = nt.str.extract_groups(_IO).struct
    packet = pl.when(func.is_in([*_IN, *_OUT, "nscon", "nsdo"])).then(info)
    announced = packet.str.extract(r"plen=([0-9]+)").cast(pl.Int64, strict=False)
    numbered = packet.str.extract(r"\btype=([0-9]+)").cast(pl.Int64, strict=False)
    named = packet.str.extract(r"(?:sending|got) NSPT([A-Z]+) packet")
    cxd = pl.when(func.str.contains("^ns(?:ev|gl)")).then(info)
    failed = pl.when(func == "nserror").then(info).str.extract_groups(_NSRES).struct
    listed = pl.when(func == "nsevfnt").then(text)
    # Descriptors stand in the text itself or in the packet.
    talk = pl.coalesce("said", pl.when(info.str.contains("=(", literal=True)).then(info))
    outward = (pl.col("side") != "listener").fill_null(True)
    calls = pl.when(func.is_in(["nsc2addr", "niotns", "nscall"]) & outward).then(talk)
    refused = pl.when(pl.col("type_no") == 4).then(pl.col("said"))
    moved = io.field("5").cast(pl.Int64, strict=False)
    unsaid = pl.when(~pl.col("cut").fill_null(False)).then(pl.lit([], pl.List(pl.String)))
    events = pl.when(pl.col("events").list.len() > 0).then(pl.col("events")).otherwise(unsaid)
    nsres = failed.field("1").cast(pl.Int64, strict=False)
    code = pl.coalesce(pl.when(nsres > 0).then(nsres), net_descriptors.error(refused))
    packed = announced.is_not_null() | pl.col("shown").is_not_null()
    return {
        "bytes": pl.coalesce(pl.when(moved >= 0).then(moved), announced, "bytes"),
        "direction": pl.when((io.field("1") == "read") | (io.field("4") != "")).then(pl.lit("in"))
        .when((io.field("1") == "written") | (io.field("3") != "")).then(pl.lit("out"))
        .when(packed & func.is_in(_OUT)).then(pl.lit("out"))
        .when(packed & func.is_in(_IN)).then(pl.lit("in"))
        .when(packet.str.starts_with("sending NSPT")).then(pl.lit("out"))
        .when(packet.str.contains("^got NSPT")).then(pl.lit("in")),
        "socket": nt.str.extract(_SOCKET).cast(pl.Int64, strict=False),
        "conn_key": cxd.str.extract(r"cxd:? (0x[0-9A-Fa-f]+)"),
        "ptype": pl.coalesce(
            pl.coalesce(numbered, "type_no").replace_strict(net_packets.PACKET_TYPES, default=None, return_dtype=pl.String),
            named.replace_strict(_NSPT, default=None, return_dtype=pl.String),
        ),
        "nt_events": pl.when(listed.str.ends_with("NT events set:")).then(events),
        "ns_events": pl.when(listed.str.ends_with("NS events set:")).then(events),
        "service": net_descriptors.service(talk),
        "program": net_descriptors.program(talk),
        "peer_ip": pl.coalesce(
            net_descriptors.peer_ip(calls), pl.when(outward | ~func.str.starts_with("nttbnd")).then(nt.str.extract(_PEER))
        ),
        "peer_port": net_descriptors.peer_port(calls),
        "child_pid": pl.when(func == "sntpcall").then(info).str.extract(r"NTP0 ([0-9]+)").cast(pl.Int64, strict=False),
        "err": pl.format("TNS-{}", code),
        "secondary": pl.when(nsres > 0).then(pl.concat_list([failed.field(str(n)) for n in (2, 3, 4, 5)])),
    }  # fmt: skip


# The header -----------------------------------------------------------------------------------------------------------


def _header(others: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Take version and system from the head of the file; a file that begins with its head is the whole file up to the first break."""
    lines = others.filter(pl.col("what") == "header").select("line_no", "text").rows()
    for line_no, text in lines:
        carry.header = carry.header or line_no <= 2
        found = re.match(_VERSION, text)
        if found:
            carry.facts = [*carry.facts, f"version={found[2]}"]
            carry.scope = "listener" if text.startswith("TNSLSNR") else carry.scope
            system = next((name for word, name in _OS.items() if word in found[1].lower()), None)
            if system:
                out.fact("os", system)
    if lines and carry.facts:
        out.fact("tool_opts", carry.facts)


def _settings(rows: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Write the parameter table of the header and the values that the listener resolved."""
    rows = rows.filter(
        pl.col("func").is_null() | pl.col("func").str.starts_with("nlst") | (pl.col("func") == "nsglldprm")
    )
    if not len(rows):
        return
    text = pl.col("text")
    config = pl.when(pl.col("func").is_null() | pl.col("func").str.starts_with("nlst")).then(text)
    resolved = pl.when(pl.col("func") == "nsglldprm").then(text)
    level = rows.select(level=config.str.extract(r"^New trace level is ([0-9]+)"))["level"].drop_nulls()
    if len(level):
        carry.facts = [*carry.facts, f"level={level[-1]}"]
        out.fact("tool_opts", carry.facts)
    found = rows.select(
        "line_no",
        "line_end",
        pair=pl.coalesce(
            config.str.extract(r"^([A-Za-z][A-Za-z0-9_.]*) = "), resolved.str.extract(r'^Resolved "([^"]+)" to: ')
        ),
        value=pl.coalesce(
            config.str.extract(r"(?s)^[A-Za-z][A-Za-z0-9_.]* = (.*)$"),
            resolved.str.extract(r'^Resolved "[^"]+" to: (.*)$'),
        ),
    ).filter(pl.col("pair").is_not_null())
    if len(found):
        listener = (pl.col("pair").str.to_uppercase().str.ends_with("_LISTENER")) | pl.lit(
            carry.scope == "listener" or carry.side == "listener"
        )
        out.add(
            "params",
            found.select(
                "line_no",
                "line_end",
                scope=pl.when(listener).then(pl.lit("listener")).otherwise(pl.lit("sqlnet")),
                name="pair",
                value=pl.when(pl.col("pair").str.contains("(?i)password"))
                .then(pl.col("value").str.replace_all(".", "*"))
                .otherwise("value"),
                num=pl.col("value").str.extract(r"^(-?[0-9]+(?:\.[0-9]+)?)$").cast(pl.Float64),
                active=pl.lit(True),
            ),
        )
