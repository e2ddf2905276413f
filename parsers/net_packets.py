"""Packet dumps of Oracle Net traces: rows of eight bytes in hex and as text, joined into packets, secrets found and masked.

A dump of a data packet (type 6) holds the login, every SQL statement and every value fetched, and the names of the login's keys
are split over rows, so a search row by row finds nothing. Only the first ten bytes (length, type, flags) of such a packet are kept.
Connect, accept, refuse and redirect packets keep their descriptor without account and password. A dump without its head line may be
the middle of anything and is masked as a whole. The text column prints a blank as a point, so descriptors are read from the hex.
Length is the first two bytes, or the first four where those two are zero (large packets of version 315 on).
"""

from __future__ import annotations

import re

import polars as pl

from parsers.net_descriptors import masked, places, secret_spans

PACKET_TYPES = {
    1: "connect", 2: "accept", 3: "ack", 4: "refuse", 5: "redirect", 6: "data", 7: "null", 9: "abort", 11: "resend", 12: "marker",
    13: "attention", 14: "control",
}  # fmt: skip
_BYTES = r"[0-9A-Fa-f*]{2}(?:[ *][0-9A-Fa-f*]{2}){0,7}"
"""Asterisks: what an earlier reading masked."""
DUMP_ROW = rf"^{_BYTES} +\|.{{0,8}}\|$"

_ROW = rf"^({_BYTES}) +\|(.{{0,8}})\|$"
_WITH_DESCRIPTOR = (1, 2, 4, 5)
_PUBLIC = (3, 7, 9, 11, 12, 13, 14)
_KEPT = 10
"""Bytes of a data packet that are no payload: eight of the packet header, two of data flags."""

_KEYS = re.compile(r"AUTH_[A-Z][A-Z_]*|A(?:U(?:T(?:H_?)?)?)?$")

_CLIENT_CALLS = ("01", "02", "03", "11")
"""First payload byte of what a client sends: protocol, data types, function call, piggyback."""
_SERVER_ANSWERS = ("04", "06", "07", "08", "09", "0b", "10", "0e")
"""First payload byte of what a server sends: error, row header, row, parameters, status, I/O vector, description."""


def is_dump_row(text: pl.Expr) -> pl.Expr:
    """Tell rows of a dump. The cheap test of the last character comes first: most records of a trace fail it."""
    return pl.when(text.str.ends_with("|")).then(text).str.contains(DUMP_ROW).fill_null(False)


def join_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Join dump rows into packets.

    `rows`: packet (any key), text, headed (the dump began with its head line), in file order. Gives per packet, in order of first
    appearance: shown (bytes dumped), bytes (announced), type_no, hex (without blanks), auth (keys of a login), speaker
    (client or server, from the first payload byte and `direction`, else NULL).
    """
    # Full rows stand in fixed columns; cutting them there is ten times faster than the pattern, which the others get.
    text = pl.col("text")
    full = (text.str.len_bytes() == 35) & (text.str.slice(25, 1) == "|")
    parts = pl.when(~full).then(text).str.extract_groups(_ROW).struct
    packets = (
        rows.select(
            "packet",
            "headed",
            "direction",
            hex=pl.when(full).then(text.str.slice(0, 23).str.strip_chars_end()).otherwise(parts.field("1")),
            ascii=pl.when(full).then(text.str.slice(26, 8)).otherwise(parts.field("2")),
        )
        .group_by("packet", maintain_order=True)
        .agg(pl.col("headed", "direction").first(), pl.col("hex").str.join(" "), pl.col("ascii").str.join(""))
        .with_columns(shown=(pl.col("hex").str.len_bytes() + 1) // 3, hex=_without_blanks(pl.col("hex")))
    )
    headed = pl.col("headed") & (pl.col("shown") >= 5)
    short, long = (pl.col("hex").str.slice(0, n).str.to_integer(base=16, dtype=pl.Int64, strict=False) for n in (4, 8))
    type_no = pl.col("hex").str.slice(8, 2).str.to_integer(base=16, dtype=pl.Int64, strict=False)
    call = pl.when(headed & (type_no == 6)).then(pl.col("hex").str.slice(2 * _KEPT, 2).str.to_lowercase())
    asks, answers = call.is_in(_CLIENT_CALLS), call.is_in(_SERVER_ANSWERS)
    out = pl.col("direction") == "out"
    return packets.with_columns(
        bytes=pl.when(headed).then(pl.when(short > 0).then(short).otherwise(long)),
        type_no=pl.when(headed & type_no.is_in(list(PACKET_TYPES))).then(type_no),
        auth=pl.col("ascii").str.extract_all("AUTH_[A-Z][A-Z_]*[A-Z]").list.unique(maintain_order=True),
        speaker=pl.when((asks & out) | (answers & ~out))
        .then(pl.lit("client"))
        .when((answers & out) | (asks & ~out))
        .then(pl.lit("server")),
    ).drop("ascii")


def _without_blanks(bytes_: pl.Expr) -> pl.Expr:
    plain = bytes_.str.replace_all(" ", "", literal=True)
    masked_too = bytes_.str.replace_all("***", "2A ", literal=True).str.replace_all("**", "2A", literal=True)
    return (
        pl.when(bytes_.str.contains("*", literal=True))
        .then(masked_too.str.replace_all(" ", "", literal=True))
        .otherwise(plain)
    )


def say(packets: pl.DataFrame) -> pl.DataFrame:
    """Add `said` (descriptor of the packet, secrets masked, NULL for other packets) and `text` (what the trace's row shows)."""
    said = [_descriptor(*row) for row in packets.select("type_no", "hex").iter_rows()] if len(packets) else []
    kind = pl.col("type_no").replace_strict(PACKET_TYPES, default="", return_dtype=pl.String)
    shown = pl.format("{} of {} bytes", "shown", pl.col("bytes").cast(pl.String).fill_null("?"))
    keys = (
        pl.when(pl.col("auth").list.len() > 0)
        .then(pl.format("; keys {}", pl.col("auth").list.join(", ")))
        .otherwise(pl.lit(""))
    )
    secret = pl.when(_is_secret()).then(pl.lit(", payload masked")).otherwise(pl.lit(""))
    return packets.with_columns(said=pl.Series(said, dtype=pl.String)).with_columns(
        text=pl.concat_str(
            pl.lit("packet dump ["), kind, pl.when(kind != "").then(pl.lit(", ")).otherwise(pl.lit("")), shown, secret, keys, pl.lit("]"),
            pl.concat_str(pl.lit(" "), "said").fill_null(""),
        )
    )  # fmt: skip


def _is_secret() -> pl.Expr:
    return ~pl.col("type_no").is_in([*_WITH_DESCRIPTOR, *_PUBLIC]).fill_null(False)


def _descriptor(type_no: int | None, hexed: str) -> str | None:
    if type_no not in _WITH_DESCRIPTOR:
        return None
    body = bytes.fromhex(hexed)[8:]
    start = body.find(b"(")
    if start < 0:
        return None
    # Bytes that are no text belong to the packet, not to its descriptor; an account may still be split off by them.
    return masked("".join(c if c.isprintable() else "." for c in body[start:].decode("latin-1")))


def secret_columns(rows: pl.DataFrame, packets: pl.DataFrame) -> pl.DataFrame:
    """Give what must be masked in the lines of the dumps: line_no, from, to (0-based characters, half-open), kind.

    `rows`: as for `join_rows` and line_no, line (the whole line as it stands in the file); `packets`: from `join_rows`.
    """
    placed = _placed(rows, packets)
    hidden = placed.filter(_is_secret())
    first = (pl.col("nth") * 8 < _KEPT) & pl.col("type_no").is_not_null() & (pl.col("start") > 0)
    whole = hidden.filter(~first).select("line_no", pl.col("start").alias("from"), pl.col("end").alias("to"))
    partly = [
        (line_no, a, b, "payload")
        for line_no, start_at, text, nth in hidden.filter(first).select("line_no", "start", "text", "nth").iter_rows()
        for a, b in _cells(text, start_at, _KEPT - 8 * nth, 8)
    ]
    frames = [whole.with_columns(kind=pl.lit("payload")), places(partly), _named(placed, packets)]
    return pl.concat(frames)


def _placed(rows: pl.DataFrame, packets: pl.DataFrame) -> pl.DataFrame:
    """Add to dump rows where their text begins and where its last bar stands in the line, and their number in the packet."""
    size, length = (pl.col(c).str.len_chars().cast(pl.Int64) for c in ("line", "text"))
    # Around the text of a repaired line stand the tags that were taken off; a text that is not there at all is masked from 0.
    inside = pl.col("line").str.find(pl.col("text"), literal=True).cast(pl.Int64)
    start = pl.when(pl.col("line").str.ends_with(pl.col("text"))).then(size - length).otherwise(inside)
    end = pl.coalesce(start + length - 1, size)
    return rows.join(packets.select("packet", "type_no"), on="packet", how="left", maintain_order="left").select(
        "packet", "line_no", "text", "type_no", start=start.fill_null(0), end=end, nth=_nth(rows["packet"])
    )


def key_places(rows: pl.DataFrame, packets: pl.DataFrame) -> list[tuple[int, int, int]]:
    """Give the places (line_no, from, to) of the names of a login's keys, which are no secret; the last may be cut at the end."""
    found: list[tuple[int, int, int]] = []
    for _, dump in _placed(rows, packets).group_by("packet", maintain_order=True):
        lines = dump.select("line_no", "start", "text").rows()
        shown = "".join(text.split("|", 1)[1][:-1].ljust(8)[:8] for _, _, text in lines)
        for key in _KEYS.finditer(shown.rstrip()):
            for nth, (line_no, start, text) in enumerate(lines):
                cells = _cells(text, start, key.start() - 8 * nth, key.end() - 8 * nth)
                found += [(line_no, begin, end) for begin, end in cells]
    return found


def mask_row(line: str, spans: list[tuple[int, int]]) -> str:
    """Put asterisks over half-open places of a dump's line, leaving what makes it a row of a dump: blanks of the hex column, the bar.

    >>> mask_row("nspsend: 02 EA 00  |...|", [(12, 24)])
    'nspsend: 02 ** **  |****'
    """
    bar = line.find("  |") + 2
    for begin, end in spans:
        inside = "".join(c if i <= bar and c in " |" else "*" for i, c in enumerate(line[begin:end], begin))
        line = line[:begin] + inside + line[end:]
    return line


def _nth(packet: pl.Series) -> pl.Series:
    """Number the rows of each packet from 0."""
    numbers = pl.int_range(len(packet), eager=True)
    change = packet != packet.shift(1)
    if packet.is_sorted():
        return numbers - pl.select(pl.when(change.fill_null(True)).then(numbers).forward_fill()).to_series()
    return packet.to_frame("packet").select(pl.int_range(pl.len()).over("packet")).to_series()


def _cells(text: str, start: int, first: int, last: int) -> list[tuple[int, int]]:
    """Give the places of bytes [first, last) of one dump row: in hex and in the text column."""
    count = len(text.split("|", 1)[0].split())
    first, last = max(first, 0), min(last, count)
    if first >= last:
        return []
    bar = start + text.index("|") + 1
    return [(start + 3 * first, start + 3 * last - 1), (bar + first, bar + last)]


def _named(placed: pl.DataFrame, packets: pl.DataFrame) -> pl.DataFrame:
    """Accounts and passwords inside the dumps of descriptors: packets of a handshake, so a loop over them is cheap."""
    talks = packets.filter(pl.col("type_no").is_in(list(_WITH_DESCRIPTOR))).select("packet", "hex").rows()
    found = {
        packet: spans for packet, hexed in talks if (spans := secret_spans(bytes.fromhex(hexed).decode("latin-1")))
    }
    rows = placed.filter(pl.col("packet").is_in(list(found))).select("packet", "nth", "line_no", "start", "text")
    return places(
        [
            (line_no, a, b, kind)
            for packet, nth, line_no, start, text in rows.iter_rows()
            for begin, end, kind in found[packet]
            for a, b in _cells(text, start, begin - 8 * nth, end - 8 * nth)
        ]
    )
