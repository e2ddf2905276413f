"""Whose trace an Oracle Net trace is: the listener's, a server process's or a client's.

The header of a listener says so; else functions that only one side calls, packets that only one side sends (`nscon: sending NSPTCN`),
and in a dump the first byte of what a session says.
"""

from __future__ import annotations

from collections import Counter

import polars as pl

from parsers.formats.oracle.sqlnet import packets as net_packets
from parsers.formats.oracle.sqlnet.facts import spread

_STRENGTH = ("listener", "server", "client")
"""Whose trace it is where several hints stand in it, the strongest first."""


def hints(records: pl.DataFrame) -> pl.Series:
    """Say who wrote a record where it tells: functions that only one side calls, packets that only one side sends (`speaker`)."""
    func, text = pl.col("func"), pl.col("text")
    speaks = pl.col("speaker").is_not_null() if "speaker" in records.columns else pl.lit(False)
    names = records["func"].unique().drop_nulls()
    hinting = names.filter(names.str.starts_with("nsgl") | names.is_in(_HINTING))
    # Eight bytes are a whole packet only if it is a resend, and only who connects is asked to send again.
    resend = func.is_in(_READING) & text.str.ends_with("had bytes read=8")
    tells = func.is_in(hinting.implode()) | speaks
    if names.is_in(_READING).any():
        tells |= resend
    needed = [c for c in ("func", "text", "speaker") if c in records.columns]
    some = records.select_seq(pl.int_range(pl.len()).alias("at"), *needed).filter(tells)
    con = pl.when(func == "nscon").then(text)
    said = pl.col("speaker") if "speaker" in records.columns else pl.lit(None, pl.String)
    hint = (
        pl.when(func.str.starts_with("nsgl")).then(pl.lit("listener"))
        .when(func.is_in(["nsinh_hoff", "nsinherit"])).then(pl.lit("server"))
        .when(con.str.contains(r"sending NSPTCN|got NSPT(?:AC|RS|RD|RF)")).then(pl.lit("client"))
        .when((func == "niotns") & text.str.contains("(?i)calling address")).then(pl.lit("client"))
        .when((func == "nsc2addr") & text.str.contains("(?i)\\(CONNECT_DATA *=")).then(pl.lit("client"))
        .when(said.is_not_null()).then(said)
        .when(func == "nsevfnt").then(pl.lit("listener"))
        .when(resend).then(pl.lit("client"))
    )  # fmt: skip
    found = some.select_seq("at", hint=hint).drop_nulls()
    if not len(found):
        return pl.repeat(None, len(records), dtype=pl.String, eager=True)
    return spread(found.select_seq("hint"), found["at"], len(records)).to_series()


_HINTING = ("nsinh_hoff", "nsinherit", "nscon", "niotns", "nsc2addr", "nsevfnt")
_READING = ("nttrd", "nttfprd", "nttmrd")


def decide(first: pl.DataFrame, records: pl.DataFrame, speakers: list[str]) -> str | None:
    """Decide whose trace it is by its first lines, as `net_records.split` gives them: the header, then what only a listener, a server,
    a client does, then who says in `records` (with their packets) and `speakers` what only one side says."""
    header = first.filter(~pl.col("stamped"))["text"].head(50)
    if header.str.contains("^TNSLSNR for ").any():
        return "listener"
    said = set(hints(first).drop_nulls())
    if said:
        return next(side for side in _STRENGTH if side in said)
    # The second packet of a long answer begins with any byte: the most votes count, then the first.
    votes = Counter([*speakers, *speaking(records)])
    return votes.most_common(1)[0][0] if votes else None


def speaking(records: pl.DataFrame) -> list[str]:
    """Name the speaker of each packet that tells."""
    dumps = net_packets.dumps(records)
    return net_packets.join_rows(dumps)["speaker"].drop_nulls().to_list() if len(dumps) else []
