"""Sizes of TCP segments: what both ends say they take, what passes, and what never arrives.

Stands out: a segment that was sent at least three times and not acknowledged by the end of the list, while the same hosts
acknowledged only smaller ones; bytes of `MISSING_B` and more that the list never shows and the receiver never acknowledges, while
the smaller segment behind them arrived, `WAITED_S` or longer. Normal: the sizes that both ends announce when they connect, and the largest segment that
passed; both are measures. A smaller segment without acknowledgement speaks against a matter of size, and nothing is told.
Worked example: mss 8960 on both sides, 1,200 bytes acknowledged at once, 8,948 bytes sent 5 times in 6.2 s.
Cost: one pass over the segments of TCP, and one for each of at most `MOST_PAIRS` pairs of hosts.
Source: RFC 9293 3.7.1 (maximum segment size); RFC 2923 2.1 (path MTU black holes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "segment-sizes",
    "Which sizes of segments pass?",
    ("packets",),
    {"windows": "ping -f -l 1372 ADDRESS", "*": "tracepath ADDRESS; ping -M do -s 1372 ADDRESS; the MTU of each interface on the way"},
)  # fmt: skip

SENT = 3
"""Minimum number of times that a segment was sent until it counts as one that does not arrive."""

MISSING_B, WAITED_S = 1_000, 3.0
"""Minimum bytes that are missing, and seconds for which they stay so: a lost segment comes again within one or two."""

MOST_PAIRS = 6
"""Maximum number of pairs of hosts that are told per list: those that sent most."""

COLUMNS = ["part", "line_no", "t_local", "src", "sport", "dst", "dport", "flags", "seq", "ack", "len", "mss"]
PAIR = [*PLACE_COLUMNS, "src", "dst"]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield segments that never arrive, then what both ends announced and what passed."""
    tcp = (pl.col("proto") == "tcp") & pl.all_horizontal(pl.col("src", "sport", "dst", "dport").is_not_null())
    rows = case.scan("packets", [*PLACE_COLUMNS, *COLUMNS], tcp)
    passed = _passed(rows)
    yield from _stuck(rows, passed)
    yield from _missing(rows)
    yield from _announced(rows, passed)


def _passed(rows: pl.LazyFrame) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return (artifact, source, destination) -> the largest acknowledged segment, and its acknowledgement."""
    sent = _segments(rows).filter(pl.col("acked"))
    largest = pl.struct("line_no", "len", "sport", "dport", "end", "t_local", "part").get(pl.col("len").arg_max())
    made = (
        sent.group_by(PAIR)
        .agg(pl.len().alias("n"), largest.alias("largest"))
        .sort("n", descending=True)
        .head(MOST_PAIRS)
        .collect(engine="streaming")
    )
    return {
        (r["artifact_id"], r["src"], r["dst"]): {**r["largest"], **_answer(rows, r)} for r in made.iter_rows(named=True)
    }


def _segments(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return segments with payload, with their end and whether the other side acknowledged it within the list."""
    flags = pl.col("flags").fill_null("")
    ways = [*PLACE_COLUMNS, "part"]
    acks = (
        rows.filter(~flags.str.contains("[SR]") & pl.col("ack").is_not_null())
        .group_by(*ways, src="dst", sport="dport", dst="src", dport="sport")
        .agg(pl.col("ack").max().alias("highest"))
    )
    return (
        rows.filter((pl.col("len") > 0) & pl.col("seq").is_not_null() & ~flags.str.contains("S"))
        .with_columns((pl.col("seq") + pl.col("len")).alias("end"))
        .join(acks, on=[*ways, "src", "sport", "dst", "dport"], how="left", nulls_equal=True)
        .with_columns((pl.col("highest") >= pl.col("end")).fill_null(value=False).alias("acked"))
    )


def _answer(rows: pl.LazyFrame, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the packet that acknowledged the largest segment: its line, number and delay."""
    sent = row["largest"]
    back = (
        rows.filter(
            (pl.col("artifact_id") == row["artifact_id"])
            & pl.col("part").eq_missing(pl.lit(sent["part"]))
            & (pl.col("src") == row["dst"])
            & (pl.col("dst") == row["src"])
            & (pl.col("sport") == sent["dport"])
            & (pl.col("dport") == sent["sport"])
            & (pl.col("line_no") > sent["line_no"])
            & (pl.col("ack") >= sent["end"])
        )
        .select("line_no", "ack", "t_local")
        .head(1)
        .collect(engine="streaming")
    )
    if back.is_empty():
        return {"back": None, "ack": None, "after_s": None}
    line, ack, t = back.row(0)
    known = t is not None and sent["t_local"] is not None and t >= sent["t_local"]
    return {"back": line, "ack": ack, "after_s": t - sent["t_local"] if known else None}


def _stuck(rows: pl.LazyFrame, passed: Mapping[tuple[Any, ...], dict[str, Any]]) -> Iterator[Sighting]:
    again = (
        _segments(rows)
        .with_columns(pl.col("t_local").min().over(*PAIR, "part", "sport", "dport").alias("begun"))
        .filter(~pl.col("acked"))
        .group_by(*PAIR, "part", "sport", "dport", "seq")
        .agg(
            pl.len().alias("n"),
            pl.col("len").max(),
            pl.col("len").min().alias("least"),
            pl.col("line_no").head(1).alias("first"),
            pl.col("line_no").tail(3).alias("last"),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
            pl.col("begun").first(),
        )
        .filter(pl.col("n") >= SENT)
        .sort("n", descending=True)
        .collect(engine="streaming")
    )
    for _, part in again.group_by(PAIR, maintain_order=True):
        row = part.row(0, named=True)
        small = passed.get((row["artifact_id"], row["src"], row["dst"]))
        if small is None or part["least"].min() <= small["len"]:
            continue
        end = f"{row['dst']}:{row['dport']}"
        took = f" in {figure(row['t_to'] - row['t_from'], 's')}" if row["t_from"] is not None else ""
        lines = [
            *(Lines(row["artifact_id"], n, n, f"sent first, {row['len']:,} bytes") for n in row["first"]),
            *(Lines(row["artifact_id"], n, n, "sent again") for n in row["last"] if n not in row["first"]),
        ]
        yield Sighting(
            "loss",
            end,
            f"{row['src']}:{row['sport']} sent a segment of {row['len']:,} bytes to {end} {row['n']:,} times{took} and no"
            f" acknowledgement came; the largest that {row['dst']} acknowledged to it has {small['len']:,} bytes",
            "segments_count",
            float(row["n"]),
            "count",
            (*lines, *_passing(row["artifact_id"], small)),
            **place(row),
            t_from=row["t_from"],
            t_to=row["t_to"],
            against="times that a segment is sent",
            against_value=1.0,
            seconds=None if row["t_from"] is None else row["t_to"] - row["t_from"],
            of_s=None if row["t_from"] is None else row["t_to"] - row["begun"],
            n=row["n"],
            seen=({"event": "only-small-packets-pass"},),
        )


def _missing(rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield bytes that are missing in the list of packets although bytes sent after them are in it."""
    ways = [*PLACE_COLUMNS, "part", "src", "sport", "dst", "dport"]
    flags = pl.col("flags").fill_null("")
    acks = (
        rows.filter(~flags.str.contains("[SR]") & pl.col("ack").is_not_null())
        .group_by(*ways[: len(PLACE_COLUMNS) + 1], src="dst", sport="dport", dst="src", dport="sport")
        .agg(
            pl.col("ack").max().alias("highest"),
            pl.col("t_local").max().alias("t_to"),
            pl.col("line_no").max().alias("back"),
        )
    )
    sent = rows.filter(pl.col("seq").is_not_null() & (pl.col("len") > 0) & ~flags.str.contains("S"))
    # Without the packet that opens a connection its first bytes may just not have been captured.
    opened = rows.filter(flags.str.contains("S") & flags.str.contains(".", literal=True)).select(ways).unique()
    reached = (pl.col("seq") + pl.col("len")).cum_max().shift(1, fill_value=1).over(ways)
    holes = (
        sent.join(opened, on=ways, how="semi", nulls_equal=True)
        .with_columns(
            reached.alias("reached"),
            pl.col("len").max().over(ways).alias("largest"),
            pl.col("t_local").min().over(ways).alias("begun"),
        )
        .filter(pl.col("seq") - pl.col("reached") >= MISSING_B)
        .group_by(ways)
        .agg(pl.col("reached", "seq", "len", "largest", "line_no", "t_local", "begun").first())
        .join(acks, on=ways, how="inner", nulls_equal=True)
        .filter(
            (pl.col("highest") <= pl.col("reached"))
            & (pl.col("largest") < pl.col("seq") - pl.col("reached"))
            & (pl.col("t_to") - pl.col("t_local") >= WAITED_S)
        )
        .sort("artifact_id", "line_no")
        .head(MOST_PAIRS)
        .collect(engine="streaming")
    )
    for row in holes.iter_rows(named=True):
        gone, waited = row["seq"] - row["reached"], row["t_to"] - row["t_local"]
        sender, end = f"{row['src']}:{row['sport']}", f"{row['dst']}:{row['dport']}"
        yield Sighting(
            "loss",
            sender,
            f"{gone:,} bytes of {sender} (from {row['reached']:,} on) did not arrive at {end} in {figure(waited, 's')}, and"
            f" {row['len']:,} bytes sent behind them did; the largest segment that came has {row['largest']:,} bytes",
            "missing_bytes",
            float(gone),
            "bytes",
            (
                Lines(row["artifact_id"], row["line_no"], row["line_no"], f"came: seq {row['seq']}"),
                Lines(row["artifact_id"], row["back"], row["back"], f"still acknowledges {row['highest']}"),
            ),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_to"],
            against="a segment that was lost and comes again",
            against_value=0.0,
            seconds=waited,
            of_s=row["t_to"] - row["begun"],
            n=1,
            seen=({"event": "only-small-packets-pass"},),
        )


def _takes(row: Mapping[str, Any]) -> str:
    end, own, other = f"{row['dst']}:{row['port']}", row["asked"]["mss"], row["answered"]["mss"]
    if own == other:
        return f"{row['src']} and {end} both take segments of up to {own:,} bytes, as they say when they connect"
    return (
        f"{row['src']} takes segments of up to {own:,} bytes, {end} of up to {other:,}, as they say when they connect"
    )


def _passing(artifact: int, small: Mapping[str, Any]) -> Iterator[Lines]:
    yield Lines(artifact, small["line_no"], small["line_no"], f"passed: {small['len']:,} bytes")
    if small["back"] is not None:
        yield Lines(artifact, small["back"], small["back"], f"acknowledged: ack {small['ack']}")


def _announced(rows: pl.LazyFrame, passed: Mapping[tuple[Any, ...], dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the segment sizes that both ends of the first connection between two hosts announce."""
    flags = pl.col("flags").fill_null("")
    answers = flags.str.contains(".", literal=True)
    opener = {
        "src": pl.when(answers).then("dst").otherwise("src"),
        "dst": pl.when(answers).then("src").otherwise("dst"),
    }
    port = pl.when(answers).then("sport").otherwise("dport")
    own = pl.struct("line_no", "mss")
    made = (
        rows.filter(flags.str.contains("S") & (pl.col("mss") > 0))
        .with_columns(answers.alias("answers"), port.alias("port"), **opener)
        .group_by(*PAIR, "port", maintain_order=True)
        .agg(own.filter(~pl.col("answers")).first().alias("asked"), own.filter(pl.col("answers")).first().alias("answered"))
        .filter(pl.col("asked").is_not_null() & pl.col("answered").is_not_null())
        .head(MOST_PAIRS)
        .collect(engine="streaming")
    )  # fmt: skip
    for row in made.iter_rows(named=True):
        artifact, asked, answered = row["artifact_id"], row["asked"], row["answered"]
        largest = passed.get((artifact, row["src"], row["dst"]))
        after = f", after {figure(largest['after_s'], 's')}," if largest and largest["after_s"] is not None else ""
        yield Sighting(
            "size",
            f"{row['src']} to {row['dst']}:{row['port']}",
            _takes(row),
            "mss_bytes",
            float(asked["mss"]),
            "bytes",
            (
                Lines(artifact, asked["line_no"], asked["line_no"], f"announces mss {asked['mss']}"),
                Lines(artifact, answered["line_no"], answered["line_no"], f"announces mss {answered['mss']}"),
                *(_passing(artifact, largest) if largest else ()),
            ),
            **place(row),
            against="what the other end takes",
            against_value=float(answered["mss"]),
            normal=True,
            beside=f"the largest segment that {row['dst']} acknowledged{after} has {largest['len']:,} bytes"
            if largest
            else None,
        )
