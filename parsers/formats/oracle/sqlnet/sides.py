"""Decide which side wrote an Oracle Net trace: the listener, a server process or a client.

The header of a listener decides; else functions that only one side calls, packets that only one side sends (`nscon: sending NSPTCN`),
and the first payload byte of dumped packets.
"""

from __future__ import annotations

from collections import Counter

import polars as pl

from parsers.formats.oracle.sqlnet import packets as net_packets
from parsers.formats.oracle.sqlnet.facts import spread

_STRENGTH = ("listener", "server", "client")
"""Sides in the order in which they win if a trace has hints for several."""


def hints(records: pl.DataFrame) -> pl.Series:
    """Return the side that wrote each record, NULL if unknown: by functions that only one side calls, or packets (`speaker`)."""
    func, text = pl.col("func"), pl.col("text")
    speaks = pl.col("speaker").is_not_null() if "speaker" in records.columns else pl.lit(False)
    names = records["func"].unique().drop_nulls()
    hinting = names.filter(names.str.starts_with("nsgl") | names.is_in(_HINTING))
    # Eight bytes are a whole packet only if it is a resend, and only the connecting side is asked to send again.
    resend = func.is_in(_READING) & text.str.ends_with("had bytes read=8")
    is_hint = func.is_in(hinting.implode()) | speaks
    if names.is_in(_READING).any():
        is_hint |= resend
    needed = [c for c in ("func", "text", "speaker") if c in records.columns]
    some = records.select_seq(pl.int_range(pl.len()).alias("at"), *needed).filter(is_hint)
    con = pl.when(func == "nscon").then(text)
    speaker = pl.col("speaker") if "speaker" in records.columns else pl.lit(None, pl.String)
    hint = (
        pl.when(func.str.starts_with("nsgl")).then(pl.lit("listener"))
        .when(func.is_in(["nsinh_hoff", "nsinherit"])).then(pl.lit("server"))
        .when(con.str.contains(r"sending NSPTCN|got NSPT(?:AC|RS|RD|RF)")).then(pl.lit("client"))
        .when((func == "niotns") & text.str.contains("(?i)calling address")).then(pl.lit("client"))
        .when((func == "nsc2addr") & text.str.contains("(?i)\\(CONNECT_DATA *=")).then(pl.lit("client"))
        .when(speaker.is_not_null()).then(speaker)
        .when(func == "nsevfnt").then(pl.lit("listener"))
        .when(resend).then(pl.lit("client"))
    )  # fmt: skip
    hints_found = some.select_seq("at", hint=hint).drop_nulls()
    if not len(hints_found):
        return pl.repeat(None, len(records), dtype=pl.String, eager=True)
    return spread(hints_found.select_seq("hint"), hints_found["at"], len(records)).to_series()


_HINTING = ("nsinh_hoff", "nsinherit", "nscon", "niotns", "nsc2addr", "nsevfnt")
_READING = ("nttrd", "nttfprd", "nttmrd")


def decide(first: pl.DataFrame, records: pl.DataFrame, speakers: list[str]) -> str | None:
    """Return the side that wrote a trace, by its first lines (result of `net_records.split`); None if unknown.

    The header decides, then functions and packets of only one side, then the most frequent speaker of the packets in `records` and
    `speakers`.
    """
    header = first.filter(~pl.col("stamped"))["text"].head(50)
    if header.str.contains("^TNSLSNR for ").any():
        return "listener"
    sides = set(hints(first).drop_nulls())
    if sides:
        return next(side for side in _STRENGTH if side in sides)
    # The second packet of a long answer may begin with any byte, so the majority decides, then the first vote.
    votes = Counter([*speakers, *speaking(records)])
    return votes.most_common(1)[0][0] if votes else None


def speaking(records: pl.DataFrame) -> list[str]:
    """Return the speaker of each packet whose speaker is known."""
    dumps = net_packets.dumps(records)
    return net_packets.join_rows(dumps)["speaker"].drop_nulls().to_list() if len(dumps) else []
