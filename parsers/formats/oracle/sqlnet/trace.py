"""Oracle Net (SQL*Net) traces of client, listener and server, 10g to 19c, all systems.
Capture: `trace_level_client=16` in sqlnet.ora, `trace_level_listener=16` in listener.ora, or `oradebug unit ... ` / event 10079 for a
running server.
Source: Net Services Administrator's Guide, chapter "Troubleshooting Oracle Net Services"; `records.py` has the forms of records.

    [14-APR-2016 05:58:39:329] nttrd: entry
    [14-APR-2016 05:58:41:201] nttrd: socket 516 had bytes read=8
    2014-11-15 16:13:28.320729 : nsevfnt:cxd: 0xf1b9c8 stage 0: NT events set:
            READ
    2014-11-15 16:13:28.320742 : nsevfnt:cxd: 0xf1b9c8 stage 0: NS events set:
    2014-11-15 16:13:28.320771 : sntpcall:result string is NTP0 4165

Tables: sqlnet (one row for each record; a packet dump is one row), params (header). Clock: wall-local, no zone.
Traps: the stamp is the time when the line was written, so a gap was spent *after* the event of the record before it. `nsbeqaddr:error exit`
stands in every good dedicated connection. The events of `nsevfnt` stand on the lines below; a list without lines is an empty list (a
child's answer), which is not the same as no list (NULL). Dumps and the environment written before each fork contain secrets.
`bytes read=-1` is not a number of bytes (NULL). Where the clock steps back, the gap is NULL, with a note; rows keep the file's order.
Known gaps: a record that lost its stamp in a stamped file is text of the record above if it is indented, else unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache

import numpy as np
import polars as pl

from parsers.declarations import Claim, Counter, Format
from parsers.formats.oracle.sqlnet import (
    between as net_between,
)
from parsers.formats.oracle.sqlnet import (
    facts as net_facts,
)
from parsers.formats.oracle.sqlnet import (
    packets as net_packets,
)
from parsers.formats.oracle.sqlnet import (
    records as net_records,
)
from parsers.formats.oracle.sqlnet import (
    settings as net_settings,
)
from parsers.formats.oracle.sqlnet import (
    sides as net_sides,
)
from parsers.formats.oracle.sqlnet import (
    threads as net_threads,
)
from parsers.secrets import connect_descriptors
from parsers.secrets.masks import mask_text
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE

_OWN = (
    r"^[ \t]*(?:\(?-?[0-9]+\) )?(?:\[(?:[0-9]{6} )?[0-9]{1,2}-[^-\] ]{1,12} ?-[0-9]{4} [0-9:]{8}[:.][0-9]{3,6}\]"
    r"|\[?[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{3,6}\]? ?:? ?[a-z])"
    r"|^[ \t]*(?:ni[a-z]|n[ns][a-z]|na[cemgsui_]|nt[a-z]|nr[a-z]|nl[a-z]|nz[a-z]|sn[lsit])[A-Za-z0-9_]{1,37}: |^--- (?:TRACE|LOG|PARAMETER|SOURCE) .* ---$"
    r"|^[ \t]+(?:READ|WRITE|CONNECT|ACCEPT)(?:/[A-Z]+)*$|^(?:New|Old) trace (?:stream|level)|^TNS for .*: Version [0-9.]+"
)

FORMAT = Format(
    kind="sqlnet",
    variant="trace",
    version="1",
    systems=("solaris", "linux", "aix", "hpux", "windows"),
    tables=("sqlnet", "params"),
    man="Oracle Net Services Administrator's Guide, tracing",
    example="sqlnet.ora: trace_level_client=16 trace_directory_client=DIR diag_adr_enabled=off",
    split="lines",
    counters=(Counter(("seq",), ("seq",)), Counter(("first_line",))),
    clocks=("wall-local", "none"),
    own=_OWN,
)

DECIDE_LINES = 2000
"""Number of lines (or the whole file) by which prefix and side are decided, so that the size of blocks changes nothing."""
HELD_LINES = 100_000
"""Maximum number of lines held for an open record; it is closed there, so that a damaged file needs bounded memory."""
MAX_THREADS = 10_000

_OS = {"linux": "linux", "solaris": "solaris", "sunos": "solaris", "aix": "aix", "hp": "hpux", "windows": "windows"}
_NAMED = rf"(?:^|[^A-Za-z0-9_]){net_records.LAYERED}:"
_VARIABLE = r"^env\[[0-9]+\] = [^=]*=(.*)$"


def claim(head: Head) -> Claim | None:
    """Claim by the share of lines that are records of functions of Oracle Net's layers."""
    # Most heads name no function of these layers: test this before building a data frame.
    return _claim(tuple(filter(None, head.lines))) if head.shows(_NAMED) else None


@lru_cache(maxsize=8)
def _claim(filled: tuple[str, ...]) -> Claim | None:
    """Return the claim on a head's lines that are not blank; cached, because a mail's splitter asks three or four times in a row."""
    lines = pl.DataFrame(
        {"line_no": range(1, len(filled) + 1), "line": filled}, schema={"line_no": pl.Int64, "line": pl.String}
    )
    shape = net_records.shape_of(lines["line"])
    records = net_records.split(lines, shape)
    layered = pl.col("func").str.contains(rf"^{net_records.LAYERED}$")
    known = records.filter(layered.fill_null(False))["line_no"].n_unique()
    fits = records.filter((pl.col("stamped") & pl.col("func").is_null()) | layered)["line_no"].n_unique()
    if not known:
        return None
    share = fits / len(lines)
    if shape == net_records.BARE:
        # Any text may contain a word and a colon: without stamps at least half of the lines must name functions, three different ones.
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
    # Many lines may have no stamp (environment, events), but a stamped line with a function of the layers is never accidental.
    strength = min(0.6 + 0.4 * share, 0.99) if share >= 0.2 or known >= 5 else 0.3 + share
    return Claim(strength, f"{known} of {len(lines)} lines are records of Oracle Net functions ({shape})", "trace")


@dataclass
class _Carry:
    """State carried from block to block and from run to run."""

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
    """Read a run of blocks; `state` keeps the fields of `_Carry`."""
    carry = _Carry(**{f.name: state[f.name] for f in fields(_Carry) if f.name in state})
    carry.first_line = source.first_line
    held = _lines(carry.held)
    for block in source.blocks():
        held = pl.concat([held, block.frame.select_seq("line_no", "line")])
        if carry.shape is None and len(held) < DECIDE_LINES:
            continue
        held = _take(held, out, carry, final=False)
    torn = source.last and _ends_inside_line(source)
    held = _take(held, out, carry, final=True, torn=torn) if source.last else _held_masked(held, out, carry)
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


def _ends_inside_line(source: Source) -> bool:
    text = source.text
    return source.end == text.size and text.read(text.size - text.width, text.size) != text.eol.encode(text.encoding)


def _lines(rows: list[tuple[int, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"line_no": pl.Int64, "line": pl.String}, orient="row")


def _take(lines: pl.DataFrame, out: Tables, carry: _Carry, *, final: bool, torn: bool = False) -> pl.DataFrame:
    """Write the records of `lines` that are complete; return the lines of those that the next block may continue.

    `final` is true at the end of the file, `torn` if the file ends without a line end.
    """
    if not len(lines):
        return lines
    if carry.shape is None:
        first = lines.head(DECIDE_LINES)
        carry.shape = net_records.shape_of(first["line"])
        begin = net_records.split(first, carry.shape)
        carry.side = net_sides.decide(begin, _grouped(begin, net_between.classify(begin, None).clear()), carry.speakers)
    split = net_records.split(lines, carry.shape)
    others = net_between.classify(split, last_line=int(lines["line_no"][-1]) if final else None)
    records = _grouped(split, others)
    cut = None if final else _open_from(records, lines)
    if cut is not None:
        # Lines from `cut` on are read again with the next block: only complete records reach the tables.
        records, others = (f.head(f["line_no"].search_sorted(cut)) for f in (records, others))
    last = int(lines["line_no"][-1])
    if torn and net_between.is_cut(records, others, last):
        out.note(last, last, "remark", "the file ends inside this line: its text is not complete")
    records = _without_payload(records, out, carry)
    _account(others.filter(pl.col("line_no") >= carry.first_line), out)
    _emit(records, others, out, carry)
    carry.epoch += int(others["breaks"].sum())
    return lines.clear() if cut is None else lines[int(lines["line_no"].search_sorted(cut)) :]


def _without_payload(records: pl.DataFrame, out: Tables, carry: _Carry) -> pl.DataFrame:
    """Mask the rest of dump rows that lost their end."""
    halves = net_between.half_rows(records)
    if not len(halves):
        return records
    rows = halves.select_seq("line_no", "line", "text").rows()
    _hide(
        connect_descriptors.places([(n, len(line) - len(text), len(line), "payload") for n, line, text in rows]),
        out,
        carry,
    )
    here = pl.int_range(pl.len()).is_in(halves["at"].implode())
    return records.with_columns_seq(
        text=pl.when(here).then(pl.col("text").str.replace_all(r"[^ ]", "*")).otherwise("text")
    )


def _held_masked(held: pl.DataFrame, out: Tables, carry: _Carry) -> pl.DataFrame:
    """Account for the lines with which the next run continues, and return them with secrets masked, because the state is stored."""
    if not len(held):
        return held
    fresh = pl.col("line_no") >= carry.first_line
    split = net_records.split(held, carry.shape or net_records.shape_of(held["line"]))
    others = net_between.classify(split, last_line=None)
    records = _grouped(split, others)
    if carry.shape is None:
        # The speaker is in bytes that are masked below, so it is read here.
        carry.speakers += net_sides.speaking(records.filter(fresh))
    _account(others.filter(fresh), out)
    out.read(records.filter(fresh)["line_no"])
    dumps = net_packets.dumps(records)
    frames = [
        net_between.hidden(others)[1],
        _environment(records),
        connect_descriptors.secret_columns(split.filter(~pl.col("dump"))),
    ]
    keys: list[tuple[int, int, int]] = []
    if len(dumps):
        packets = net_packets.join_rows(dumps)
        frames.append(net_packets.secret_columns(dumps, packets))
        keys = net_packets.key_places(dumps, packets)
    places = pl.concat(frames)
    _hide(places, out, carry)
    spans: dict[int, list[tuple[int, int]]] = {}
    for line_no, begin, end in places.select_seq("line_no", "from", "to").iter_rows():
        spans.setdefault(line_no, []).append((begin, end))
    rows = set(dumps["line_no"])
    whole = dict(held.iter_rows())
    lines = {n: (net_packets.mask_row if n in rows else mask_text)(line, spans.get(n, [])) for n, line in whole.items()}
    for n, begin, end in keys:
        lines[n] = lines[n][:begin] + whole[n][begin:end] + lines[n][end:]
    return _lines(list(lines.items()))


def _grouped(split: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Return the records with `epoch` (number of breaks since the first line here), `head` and `packet` (see `net_packets.numbered`)."""
    records = split if split["record"].all() else split.filter("record")
    breaks = others.filter("breaks")["owner"].to_numpy()
    # A break after record n counts from record n + 1 on.
    epoch = np.searchsorted(breaks, np.arange(len(records)) - 1, side="right")
    return net_packets.numbered(records, epoch).with_columns_seq(epoch=pl.Series(epoch, dtype=pl.Int64))


def _open_from(records: pl.DataFrame, lines: pl.DataFrame) -> int | None:
    """Return the first line of the records that may continue in the next block; None if there is none."""
    if not len(records) or len(lines) > HELD_LINES:
        return None
    near = int(records["line_no"].search_sorted(lines["line_no"][-1] - net_packets.DUMP_REACH, side="right"))
    tail = records[min(near, len(records) - 1) :]
    packets = [records["packet"][-1], tail.filter(pl.col("dump") | pl.col("head"))["packet"].min()]
    return int(records["line_no"][min(p for p in packets if p is not None)])


# Rows -----------------------------------------------------------------------------------------------------------------

_COLUMNS = (
    "line_no", "line_end", "t_local", "side", "seq", "thread", "func", "event", "text", "prev_line", "gap_s", "contiguous",
)  # fmt: skip


def _account(others: pl.DataFrame, out: Tables) -> None:
    """Account for the lines between the records, and note those that are not read."""
    if not len(others):
        return
    what = pl.col("what")
    for kind in ("blank", *net_between.BREAKS):
        out.account(kind, others.filter(what == kind)["line_no"])
    out.read(others.filter(what.is_in(["header", *net_between.CONTINUES]))["line_no"])
    texts = {"elided": "lines left out by the author", "damaged": "piece of a record whose rest is not here"}
    noted = others.filter(what.is_in(list(texts)))
    out.notes(noted.select_seq("line_no", kind="what", text=what.replace_strict(texts, return_dtype=pl.String)))
    # An author's words may quote secrets: the note has them masked.
    words = others.filter(what.is_in(["prose", "unknown"])).select_seq("line_no", "what", "text").rows()
    for line_no, kind, text in words:
        out.note(line_no, line_no, "remark" if kind == "prose" else "unknown", connect_descriptors.masked(text.strip()))


def _emit(records: pl.DataFrame, others: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Mask the secrets, then write the rows."""
    _header(others, out, carry)
    others, hidden = net_between.hidden(others)
    _hide(hidden, out, carry)
    if not len(records):
        return
    rows, place = _rows(records)
    if len(others):
        rows = _with(rows, net_between.below(others, records["packet"]), place)
    dumps = net_packets.dumps(records)
    if len(dumps):
        packets = net_packets.describe(net_packets.join_rows(dumps))
        _hide(net_packets.secret_columns(dumps, packets), out, carry)
        packets = packets.select_seq("packet", "bytes", "type_no", "descriptor", "speaker", shown="text")
        rows = _with(rows, packets, place)
    rows = _masked(rows, out, carry)
    rows = _sided(rows, carry)
    rows = _chained(rows, out, carry).with_columns_seq(event=net_facts.phase())
    facts = net_facts.facts_of(rows)
    if len(dumps):
        rows = rows.with_columns_seq(text=pl.coalesce("shown", "text"))
    _settings(rows, out, carry)
    repaired = rows.filter("repaired").select_seq("line_no", "line_end")
    if len(repaired):
        out.notes(
            repaired.with_columns_seq(kind=pl.lit("repaired"), text=pl.lit("tags or quoting of a page taken off"))
        )
    rows = rows.select_seq(_COLUMNS).with_columns_seq(pl.col("thread").cast(pl.String))
    out.add("sqlnet", pl.concat([rows, facts], how="horizontal"))
    carry.seq += len(rows)
    carry.t_begin = _least(carry.t_begin, rows["t_local"].min(), min)
    carry.t_end = _least(carry.t_end, rows["t_local"].max(), max)


def _rows(records: pl.DataFrame) -> tuple[pl.DataFrame, net_threads.Longs]:
    """Return the records that begin a row, with the row's last line, and the place of each record's row."""
    packet, line_no = records["packet"].to_numpy(), records["line_no"].to_numpy()
    begins = packet == np.arange(len(packet))
    place = (np.cumsum(begins) - 1)[packet]
    line_end = np.empty(int(begins.sum()), np.int64)
    line_end[place] = line_no
    rows = records.drop("sub", "stamped", "dump", "record", "head", "packet").filter(pl.Series(begins))
    return rows.with_columns_seq(line_end=pl.Series(line_end)), place


def _with(rows: pl.DataFrame, more: pl.DataFrame, place: net_threads.Longs) -> pl.DataFrame:
    """Add the columns of `more` to the rows that its `packet` names, NULL elsewhere."""
    if not len(more):
        return rows
    at = pl.Series(place[more["packet"].to_numpy()])
    return pl.concat([rows, net_facts.spread(more.drop("packet"), at, len(rows))], how="horizontal")


def _environment(records: pl.DataFrame) -> pl.DataFrame:
    """Return the places of the values in `env[0] = NAME=VALUE`."""
    env = records.filter(pl.col("func") == "nlpcaini").filter(pl.col("text").str.starts_with("env["))
    value = pl.col("text").str.extract(_VARIABLE).fill_null("").str.len_chars().cast(pl.Int64, strict=False)
    end = pl.col("line").str.len_chars().cast(pl.Int64, strict=False)
    return env.select_seq("line_no", (end - value).alias("from"), end.alias("to"), kind=pl.lit("environment"))


def _least(old: float | None, new: object, pick: Callable[[float, float], float]) -> float | None:
    if not isinstance(new, float):
        return old
    return new if old is None else pick(old, new)


def _masked(rows: pl.DataFrame, out: Tables, carry: _Carry) -> pl.DataFrame:
    """Append continuations to the text, and mask accounts and the environment of a new process."""
    text = pl.col("text")
    if "tail" in rows.columns:
        rows = rows.with_columns_seq(
            text=pl.when(pl.col("tail").is_not_null()).then(pl.concat_str("text", "tail")).otherwise("text")
        )
    if "below" in rows.columns:
        rows = rows.with_columns_seq(line_end=pl.max_horizontal("line_end", "below"))
    if "wrapped_lines" not in rows.columns:
        rows = rows.with_columns_seq(wrapped_lines=pl.lit(None))
    variable = ((pl.col("func") == "nlpcaini") & text.str.starts_with("env[")).fill_null(False)
    places = [_environment(rows)]
    shown = [c for c in ("shown",) if c in rows.columns]
    may_name_account = ~variable & pl.col("shown").is_null() if shown else ~variable
    seen = rows.select_seq(
        pl.int_range(pl.len()).alias("at"), "func", "line_no", "line", "text", "wrapped_lines", *shown
    ).filter(may_name_account & connect_descriptors.looks_secret(text))
    if len(places[0]):
        value = text.str.extract(_VARIABLE).fill_null("")
        hidden = pl.concat_str(text.str.strip_suffix(value), value.str.replace_all(".", "*"))
        rows = rows.with_columns_seq(text=pl.when(variable).then(hidden).otherwise(text))
    spans: list[tuple[int, int, int, str]] = []
    texts: list[str] = []
    for line_no, line, whole_text, more in seen.select_seq("line_no", "line", "text", "wrapped_lines").iter_rows():
        texts.append(connect_descriptors.masked(whole_text))
        spans += connect_descriptors.wrapped_spans([(line_no, line), *((m["line_no"], m["line"]) for m in more or ())])
    _hide(pl.concat([*places, connect_descriptors.places(spans)]), out, carry)
    if not texts:
        return rows
    masked = net_facts.spread(pl.DataFrame({"masked": texts}), seen["at"], len(rows))
    return rows.with_columns_seq(text=pl.coalesce(masked["masked"], text))


def _hide(places: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Report places to mask; those of lines before this run were reported when the lines were held."""
    if len(places):
        out.secrets(places.filter(pl.col("line_no") >= carry.first_line))


def _sided(rows: pl.DataFrame, carry: _Carry) -> pl.DataFrame:
    if carry.side is not None:
        return rows.with_columns_seq(side=pl.lit(carry.side))
    side = net_sides.hints(rows).forward_fill()
    carry.side = side[-1]
    return rows.with_columns_seq(side=side)


def _chained(rows: pl.DataFrame, out: Tables, carry: _Carry) -> pl.DataFrame:
    """Add seq, t_local, and prev_line, gap_s and contiguous from the previous record of the same thread."""
    rows = rows.with_columns_seq(
        t=pl.col("day") * 86_400_000_000 + pl.col("micro"), epoch=pl.col("epoch") + carry.epoch
    )
    earlier = [(None if thread is None else int(thread), *link) for thread, *link in carry.threads]
    past, newest = net_threads.chain(rows, pl.DataFrame(earlier, schema=net_threads.LINKS, orient="row"), MAX_THREADS)
    carry.threads = newest.with_columns_seq(pl.col("thread").cast(pl.String)).rows()
    rows = pl.concat([rows, past], how="horizontal")
    gap = pl.col("t") - pl.col("past_t")
    back = rows.select_seq(line_no="past_line", line_end="line_no", gap=gap).filter(pl.col("gap") < 0)
    if len(back):
        text = pl.format(
            "the clock steps back by {} s; the time between these lines is unknown", (-pl.col("gap") / 1e6).round(6)
        )
        out.notes(back.select_seq("line_no", "line_end", kind=pl.lit("remark"), text=text))
    torn = pl.col("past_line").is_null() | (pl.col("past_epoch") != pl.col("epoch")) | (gap < 0)
    unbroken = pl.lit("proven" if carry.header else "assumed")
    return rows.with_columns_seq(
        seq=pl.int_range(carry.seq + 1, carry.seq + 1 + len(rows), dtype=pl.Int64),
        t_local=(pl.col("t") / 1e6).round(6),
        prev_line=pl.col("past_line"),
        # Polars multiplies long columns by the inverse: without rounding the last bit depends on the size of the block.
        gap_s=pl.when(gap >= 0).then((gap / 1e6).round(6)),
        # Once lines are missing, other places may have been shortened without a mark.
        contiguous=pl.when(torn)
        .then(pl.lit("broken"))
        .when(pl.col("epoch") > 0)
        .then(pl.lit("assumed"))
        .otherwise(unbroken),
    )


def _header(others: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Read version and system from the file's head; a file that begins with its head is complete up to the first break."""
    lines = others.filter(pl.col("what") == "header").select_seq("line_no", "text").rows()
    for line_no, text in lines:
        carry.header = carry.header or line_no <= 2
        version = re.match(net_between.VERSION, text)
        if version:
            carry.facts = [*carry.facts, f"version={version[2]}"]
            carry.scope = "listener" if text.startswith("TNSLSNR") else carry.scope
            system = next((name for word, name in _OS.items() if word in version[1].lower()), None)
            if system:
                out.fact("os", system)
    if lines and carry.facts:
        out.fact("tool_opts", carry.facts)


def _settings(rows: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    """Write the parameter table of the header and the values that the listener resolved."""
    rows = net_settings.printing(rows)
    if not len(rows):
        return
    level = net_settings.level(rows)
    if level:
        carry.facts = [*carry.facts, f"level={level}"]
        out.fact("tool_opts", carry.facts)
    out.add("params", net_settings.params(rows, "listener" if "listener" in (carry.scope, carry.side) else "sqlnet"))
