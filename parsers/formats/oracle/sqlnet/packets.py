"""Join the rows of packet dumps in Oracle Net traces (eight bytes in hex and as text) into packets, and mask their secrets.

A dump of a data packet (type 6) contains the login, every SQL statement and every fetched value, and the names of the login's keys
are split over rows, so a search row by row finds nothing. Only the first ten bytes (length, type, flags) of such a packet are stored.
Connect, accept, refuse and redirect packets keep their descriptor without account and password. A dump without its head line may be
the middle of any packet and is masked as a whole. The text column prints a blank as a point, so descriptors are read from the hex.
The length is the first two bytes, or the first four where those two are zero (large packets since version 315).
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from parsers.formats.oracle.sqlnet.threads import Longs, by_thread, last_above
from parsers.secrets.connect_descriptors import masked, places, secret_spans

PACKET_TYPES = {
    1: "connect", 2: "accept", 3: "ack", 4: "refuse", 5: "redirect", 6: "data", 7: "null", 9: "abort", 11: "resend", 12: "marker",
    13: "attention", 14: "control",
}  # fmt: skip
_BYTES = r"[0-9A-Fa-f*]{2}(?:[ *][0-9A-Fa-f*]{2}){0,7}"
"""Bytes of a row; asterisks were masked by an earlier reading."""
DUMP_ROW = rf"^{_BYTES} +\|.{{0,8}}\|$"

_ROW = rf"^({_BYTES}) +\|(.{{0,8}})\|$"
_WITH_DESCRIPTOR = (1, 2, 4, 5)
_PUBLIC = (3, 7, 9, 11, 12, 13, 14)
_KEPT = 10
"""Number of bytes of a data packet before its payload: eight of the packet header, two of data flags."""

IN = ("nsprecv", "nsbasic_brc", "nsrdr")
OUT = ("nspsend", "nsbasic_bsd", "nsdofls")
"""Functions whose dumps are of received packets (IN) or of sent packets (OUT)."""
DUMP_REACH = 200
"""Maximum distance in lines between two rows of one dump (other threads write between them)."""

_KEYS = re.compile(r"AUTH_[A-Z][A-Z_]*|A(?:U(?:T(?:H_?)?)?)?$")

_CLIENT_CALLS = ("01", "02", "03", "11")
"""First payload bytes of packets that a client sends: protocol, data types, function call, piggyback."""
_SERVER_ANSWERS = ("04", "06", "07", "08", "09", "0b", "10", "0e")
"""First payload bytes of packets that a server sends: error, row header, row, parameters, status, I/O vector, description."""


def is_dump_row(text: pl.Expr) -> pl.Expr:
    """Return an expression for rows of a dump. The cheap test of the last character comes first: most records fail it."""
    return pl.when(text.str.ends_with("|")).then(text).str.contains(DUMP_ROW).fill_null(False)


def numbered(records: pl.DataFrame, epoch: Longs) -> pl.DataFrame:
    """Add `head` (whether a dump begins here) and `packet` (number, from 0, of the record to whose row each record belongs).

    A row of a dump belongs to the record above it with the same thread and function, unless lines are missing between (`epoch`).
    """
    head = (records["text"] == "packet dump") & records["func"].is_not_null()
    dump = np.flatnonzero(records["dump"].to_numpy())
    packet = np.arange(len(records))
    if len(dump):
        order, before = by_thread(records["thread"])
        dump = dump[before[dump] >= 0]
        above = before[dump]
        line_no, func = records["line_no"].to_numpy(), records["func"]
        joins = (records["dump"] | head).to_numpy()[above] & (line_no[dump] - line_no[above] <= DUMP_REACH)
        joins &= (epoch[dump] == epoch[above]) & (func.gather(dump) == func.gather(above)).fill_null(False).to_numpy()
        begins = np.ones(len(records), np.bool_)
        begins[dump[joins]] = False
        packet = last_above(order, begins)
    return records.with_columns_seq(head=head, packet=pl.Series(packet))


def dumps(records: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of packet dumps with headed (whether the dump's first line is here) and direction, by the function."""
    func = pl.col("func")
    direction = pl.when(func.is_in(OUT)).then(pl.lit("out")).when(func.is_in(IN)).then(pl.lit("in"))
    heads = records.filter("head")["packet"]
    return (
        records.select_seq("packet", "line_no", "line", "text", "func", "dump")
        .filter("dump")
        .with_columns_seq(direction=direction, headed=pl.col("packet").is_in(heads.implode()))
    )


def join_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Join dump rows into packets.

    `rows` has packet (any key), text, headed (the dump began with its head line), in file order. The result has for each packet, in
    order of first appearance: shown (number of bytes dumped), bytes (announced), type_no, hex (without blanks; NULL if it has no
    descriptor), auth (keys of a login), speaker (client or server, from the first payload byte and `direction`, else NULL).
    """
    cells = _cut(rows)
    order, begin, end = _stretches(rows["packet"])
    size = cells["hex"].str.len_bytes().to_numpy().astype(np.int64)[order] + 1
    short = size != 3 * 8
    # For most packets only the head matters, which takes two rows if they are full.
    odd = np.add.reduceat(short, begin) - short[end - 1] > 0 if len(begin) else np.zeros(0, np.bool_)
    second = pl.Series(np.where(end - begin > 1, order[np.minimum(begin + 1, end - 1)], -1))
    lead = pl.select(
        pl.concat_str(
            cells["hex"].gather(order[begin]),
            cells["hex"].gather(second.set(second < 0, None)),
            separator=" ",
            ignore_nulls=True,
        )
    ).to_series()
    packets = rows.select_seq("packet", "headed", "direction")[order[begin]].with_columns_seq(
        shown=pl.Series(np.add.reduceat(size, begin) // 3 if len(begin) else begin), odd=pl.Series(odd),
        lead=lead, named=pl.lit(False), first=pl.Series(order[begin]),
    )  # fmt: skip
    sign = cells["ascii"].str.contains_any(["AUT", "TH_"]).to_numpy()
    if sign.any():
        packets = packets.with_columns_seq(named=pl.Series(np.logical_or.reduceat(sign[order], begin)))
    packets = packets.with_columns_seq(hex=_without_blanks(pl.col("lead")))
    type_no = _number(pl.col("hex").str.slice(8, 2))
    wanted = packets.filter(pl.col("odd") | pl.col("named") | type_no.is_in(_WITH_DESCRIPTOR))["packet"]
    packets = (
        packets.with_columns_seq(whole=pl.lit(None, pl.String), ascii=pl.lit(""))
        if not len(wanted)
        else packets.join(_joined(rows.select_seq("packet"), cells, wanted), on="packet", how="left")
    )
    packets = packets if packets["first"].is_sorted() else packets.sort("first")
    hexed = pl.coalesce("whole", "hex")
    headed = pl.col("headed") & (pl.col("shown") >= 5)
    length, long = _number(hexed.str.slice(0, 4)), _number(hexed.str.slice(0, 8))
    type_no = _number(hexed.str.slice(8, 2))
    call = pl.when(headed & (type_no == 6)).then(hexed.str.slice(2 * _KEPT, 2).str.to_lowercase())
    asks, answers = call.is_in(_CLIENT_CALLS), call.is_in(_SERVER_ANSWERS)
    out = pl.col("direction") == "out"
    return packets.select_seq(
        "packet", "headed", "direction", "shown",
        bytes=pl.when(headed).then(pl.when(length > 0).then(length).otherwise(long)),
        type_no=pl.when(headed & type_no.is_in(list(PACKET_TYPES))).then(type_no),
        hex=pl.when(type_no.is_in(_WITH_DESCRIPTOR)).then("whole"),
auth=_keys(pl.col("ascii")) if len(wanted) else pl.lit([], pl.List(pl.String)),
        speaker=pl.when((asks & out) | (answers & ~out))
        .then(pl.lit("client"))
        .when((answers & out) | (asks & ~out))
        .then(pl.lit("server")),
    )  # fmt: skip


def _keys(ascii_: pl.Expr) -> pl.Expr:
    return ascii_.fill_null("").str.extract_all("AUTH_[A-Z][A-Z_]*[A-Z]").list.unique(maintain_order=True)


def _joined(packet: pl.DataFrame, cells: pl.DataFrame, wanted: pl.Series) -> pl.DataFrame:
    """Join the rows of the wanted packets: packet, whole (hex without blanks), ascii."""
    rows = pl.concat([packet, cells], how="horizontal").filter(pl.col("packet").is_in(wanted.implode()))
    joined = rows.group_by("packet").agg(whole=pl.col("hex").str.join(" "), ascii=pl.col("ascii").str.join(""))
    return joined.with_columns_seq(whole=_without_blanks(pl.col("whole")))


def _cut(rows: pl.DataFrame) -> pl.DataFrame:
    """Split rows of dumps into hex (at most eight bytes, blanks between) and ascii.

    Full rows have fixed columns; splitting them by position is ten times faster than by the pattern, which the others need.
    """
    text = pl.col("text")
    full = (text.str.len_bytes() == 35) & (text.str.slice(25, 1) == "|")
    cells = rows.select_seq(
        full=full, hex=text.str.slice(0, 23).str.strip_chars_end(" "), ascii=text.str.slice(26, 8), text="text"
    )
    if cells["full"].all():
        return cells.select_seq("hex", "ascii")
    parts = pl.when(~pl.col("full")).then("text").str.extract_groups(_ROW).struct.rename_fields(["a", "b"])
    cells = cells.with_columns_seq(parts.alias("parts")).unnest("parts")
    whole = pl.when("full")
    return cells.select_seq(hex=whole.then("hex").otherwise("a"), ascii=whole.then("ascii").otherwise("b"))


def _stretches(packet: pl.Series) -> tuple[Longs, Longs, Longs]:
    """Return the order of the rows packet by packet, and where in that order each packet begins and ends."""
    numbers = packet.to_numpy()
    order = np.arange(len(numbers)) if packet.is_sorted() else np.argsort(numbers, kind="stable")
    begin = np.flatnonzero(np.diff(numbers[order], prepend=numbers[order][:1] - 1))
    return order, begin, np.append(begin[1:], len(order))[: len(begin)]


def _number(hexed: pl.Expr) -> pl.Expr:
    return hexed.str.to_integer(base=16, dtype=pl.Int64, strict=False)


def _without_blanks(bytes_: pl.Expr) -> pl.Expr:
    plain = bytes_.str.replace_all(" ", "", literal=True)
    masked_too = bytes_.str.replace_all("***", "2A ", literal=True).str.replace_all("**", "2A", literal=True)
    return (
        pl.when(bytes_.str.contains("*", literal=True))
        .then(masked_too.str.replace_all(" ", "", literal=True))
        .otherwise(plain)
    )


def describe(packets: pl.DataFrame) -> pl.DataFrame:
    """Add `descriptor` (secrets masked, NULL for packets without one) and `text` (for the row of the trace)."""
    talks = (
        packets.with_row_index("nth").filter(pl.col("type_no").is_in(_WITH_DESCRIPTOR)).select_seq("nth", "hex").rows()
    )
    descriptors: list[str | None] = [None] * len(packets)
    for nth, hexed in talks:
        descriptors[nth] = _descriptor(hexed)
    kind = pl.col("type_no").replace_strict(PACKET_TYPES, default="", return_dtype=pl.String)
    shown = pl.format("{} of {} bytes", "shown", pl.col("bytes").cast(pl.String).fill_null("?"))
    keys = (
        pl.when(pl.col("auth").list.len() > 0)
        .then(pl.format("; keys {}", pl.col("auth").list.join(", ")))
        .otherwise(pl.lit(""))
    )
    secret = pl.when(_is_secret()).then(pl.lit(", payload masked")).otherwise(pl.lit(""))
    return packets.with_columns_seq(descriptor=pl.Series(descriptors, dtype=pl.String)).with_columns_seq(
        text=pl.concat_str(
            pl.lit("packet dump ["), kind, pl.when(kind != "").then(pl.lit(", ")).otherwise(pl.lit("")), shown, secret, keys, pl.lit("]"),
            pl.concat_str(pl.lit(" "), "descriptor").fill_null(""),
        )
    )  # fmt: skip


def _is_secret() -> pl.Expr:
    return ~pl.col("type_no").is_in([*_WITH_DESCRIPTOR, *_PUBLIC]).fill_null(False)


def _descriptor(hexed: str) -> str | None:
    body = bytes.fromhex(hexed)[8:]
    start = body.find(b"(")
    if start < 0:
        return None
    # Bytes that are not text belong to the packet, not to its descriptor; they may still separate an account from its name.
    return masked("".join(c if c.isprintable() else "." for c in body[start:].decode("latin-1")))


def secret_columns(rows: pl.DataFrame, packets: pl.DataFrame) -> pl.DataFrame:
    """Return the places to mask in the lines of the dumps: line_no, from, to (0-based characters, half-open), kind.

    `rows` is as for `join_rows`, with line_no and line (the whole line of the file); `packets` is the result of `join_rows`.
    """
    placed = _placed(rows, packets)
    hidden = placed.filter(_is_secret())
    skip = _KEPT - 8 * pl.col("nth")
    first = (skip > 0) & pl.col("type_no").is_not_null() & (pl.col("start") > 0)
    at = {"from": pl.col("start"), "to": pl.col("end")}
    frames = [hidden.filter(~first).select_seq("line_no", **at, kind=pl.lit("payload")), _named(placed, packets)]
    # In rows with the packet's head, mask only the bytes after it, in hex and in the text column.
    count = (pl.col("text").str.find("|", literal=True).cast(pl.Int64, strict=False)).alias("bar")
    partly = (
        hidden.filter(first).with_columns_seq(count, bytes=_bytes_of(pl.col("text"))).filter(skip < pl.col("bytes"))
    )
    bar = pl.col("start") + pl.col("bar") + 1
    for begin, end in (
        (pl.col("start") + 3 * skip, pl.col("start") + 3 * pl.col("bytes") - 1),
        (bar + skip, bar + pl.col("bytes")),
    ):
        frames.append(partly.select_seq("line_no", begin.alias("from"), end.alias("to"), kind=pl.lit("payload")))
    return pl.concat(frames)


def _bytes_of(text: pl.Expr) -> pl.Expr:
    """Return the number of bytes in a row of a dump."""
    return text.str.splitn("|", 2).struct.field("field_0").str.count_matches("[^ ]+").cast(pl.Int64, strict=False)


def _placed(rows: pl.DataFrame, packets: pl.DataFrame) -> pl.DataFrame:
    """Return dump rows with the place of their text (start) and of its last bar (end) in the line, and their number in the packet."""
    size, length = (pl.col(c).str.len_chars().cast(pl.Int64, strict=False) for c in ("line", "text"))
    # A repaired line has tags around its text; if the text is not in the line at all, the line is masked from 0.
    inside = pl.col("line").str.find(pl.col("text"), literal=True).cast(pl.Int64, strict=False)
    at_end = rows.select_seq(pl.col("line").str.ends_with(pl.col("text"))).to_series().all()
    start = (
        size - length
        if at_end
        else pl.when(pl.col("line").str.ends_with(pl.col("text"))).then(size - length).otherwise(inside)
    )
    end = pl.coalesce(start + length - 1, size)
    order, begin, until = _stretches(rows["packet"])
    nth, place = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    nth[order] = np.arange(len(order)) - np.repeat(begin, until - begin)
    # `packets` is in order of first appearance, the stretches are in order of their keys.
    appeared = np.argsort(np.argsort(order[begin]))
    place[order] = np.repeat(appeared, until - begin)
    return rows.select_seq(
        "packet",
        "line_no",
        "text",
        type_no=packets["type_no"].gather(place),
        start=start.fill_null(0),
        end=end,
        nth=pl.Series(nth),
    )


def key_places(rows: pl.DataFrame, packets: pl.DataFrame) -> list[tuple[int, int, int]]:
    """Return the places (line_no, from, to) of the names of a login's keys, which are not secret; the last may be cut at the end."""
    places_of_keys: list[tuple[int, int, int]] = []
    for _, dump in _placed(rows, packets).group_by("packet", maintain_order=True):
        lines = dump.select_seq("line_no", "start", "text").rows()
        shown = "".join(text.split("|", 1)[1][:-1].ljust(8)[:8] for _, _, text in lines)
        for key in _KEYS.finditer(shown.rstrip()):
            for nth, (line_no, start, text) in enumerate(lines):
                cells = _cells(text, start, key.start() - 8 * nth, key.end() - 8 * nth)
                places_of_keys += [(line_no, begin, end) for begin, end in cells]
    return places_of_keys


def mask_row(line: str, spans: list[tuple[int, int]]) -> str:
    """Mask half-open places of a dump's line, but keep it a row of a dump: blanks of the hex column and the bar stay.

    >>> mask_row("nspsend: 02 EA 00  |...|", [(12, 24)])
    'nspsend: 02 ** **  |****'
    """
    bar = line.find("  |") + 2
    for begin, end in spans:
        inside = "".join(c if i <= bar and c in " |" else "*" for i, c in enumerate(line[begin:end], begin))
        line = line[:begin] + inside + line[end:]
    return line


def _cells(text: str, start: int, first: int, last: int) -> list[tuple[int, int]]:
    """Return the places of bytes [first, last) of one dump row: in hex and in the text column."""
    count = len(text.split("|", 1)[0].split())
    first, last = max(first, 0), min(last, count)
    if first >= last:
        return []
    bar = start + text.index("|") + 1
    return [(start + 3 * first, start + 3 * last - 1), (bar + first, bar + last)]


def _named(placed: pl.DataFrame, packets: pl.DataFrame) -> pl.DataFrame:
    """Return the places of accounts and passwords inside dumped descriptors; these are few packets of a handshake, so a loop is cheap."""
    talks = packets.filter(pl.col("type_no").is_in(_WITH_DESCRIPTOR)).select_seq("packet", "hex").rows()
    secrets = {
        packet: spans for packet, hexed in talks if (spans := secret_spans(bytes.fromhex(hexed).decode("latin-1")))
    }
    rows = placed.filter(pl.col("packet").is_in(list(secrets))).select_seq("packet", "nth", "line_no", "start", "text")
    return places(
        [
            (line_no, a, b, kind)
            for packet, nth, line_no, start, text in rows.iter_rows()
            for begin, end, kind in secrets[packet]
            for a, b in _cells(text, start, begin - 8 * nth, end - 8 * nth)
        ]
    )
