"""Long silences on connections in lists of packets: who did not speak, and what was sent again.

A packet speaks if it has payload or a SYN (every UDP packet does). Between two packets that speak on one connection one
side was silent: the server before its answer (a wait of the client), the client before its next request (idle), either
within what it sends (a pause), or a sender that sends the same again because nothing came back: 1, 2, 4 s apart for a SYN.
The client is who sent the SYN, else the side with the higher port.
Many answers that nobody would feel one by one are told together (`turns`) where they hold half of their connections' time.
Worked example: 80 answers of 40.2 ms on a connection of 3.25 s: one question after the other, 3.22 s of waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, MOST, Lines, Sighting, figure, place
from rules.observers.traced import union
from rules.signatures.signatures import Seen

LONGEST_S = 30 * 86400.0
"""Maximum believable silence in seconds."""

GAPS = 5_000
"""Maximum number of silences that are looked at: the longest."""

TURNS = 10
"""Minimum number of answers that are told together: fewer are no conversation."""

NEAR = 0.1
"""Maximum relative difference of an answer's time from the median, to be shown as a typical one."""

HALF = 0.5
"""Minimum part of the time of its connections that a server's short answers take to stand out."""

DISTANT_S, TRIP = 0.005, 1.25
"""Minimum seconds of a trip there and back over a path that is far, and how many of them an answer may take at most that the
server gives at once."""

TUNNELS = (4789, 8472, 6081)
"""Ports of VXLAN (registered, and as Linux began with) and GENEVE, which carry other packets."""

ALIKE, SPREAD = 5, 0.2
"""Minimum number of silences, and their largest relative spread, by which they are told as of one length."""

ASKED = 2
"""Minimum number of times that a client repeated its SYN to an end from which nothing came: one may be lost."""

SYN_S = 0.9
"""Seconds after which a SYN is sent again at the earliest (RFC 6298, 2.1: one second).

What comes sooner is another program's try.
"""

KINDS = ("syn", "again", "answer", "pause", "rest")
CONNECTION = [*PLACE_COLUMNS, "part", "conn"]


def silences(case: CaseTables) -> Iterator[Sighting]:
    """Yield silences of `FELT_S` or more by kind and server, and those of clients at rest as one idle sighting."""
    spoken = _spoken(case)
    gap, kind = pl.col("gap"), pl.col("kind")
    server = ["artifact_id", "host", "kind", "server", "server_port"]
    # Collected together, the packets are put in order once.
    long, usual, spans = pl.collect_all(
        [
            spoken.filter(gap.is_between(FELT_S, LONGEST_S) & kind.is_not_null()).top_k(GAPS, by="gap"),
            spoken.filter(gap.is_between(0, FELT_S, closed="left") & (kind == "answer"))
            .group_by(*server[:2], *server[3:])
            .agg(pl.len().alias("n"), gap.median().alias("middle")),
            spoken.group_by("artifact_id", "conn").agg(
                (pl.col("t_local").max() - pl.col("t_local").min()).alias("span")
            ),
        ],
        engine="streaming",
    )
    if long.is_empty():
        return
    long = long.sort("gap", "line_no", descending=[True, False])
    spans = spans.join(long, on=["artifact_id", "conn"], how="semi")
    rests = long.filter(kind == "rest")
    rest_of = {key: float(rows["gap"].sum()) for key, rows in rests.group_by("artifact_id", "conn")}
    of = {(a, c): max(0.0, span - rest_of.get((a, c), 0.0)) for a, c, span in spans.iter_rows()}
    normal = {(a, h, s, p): (n, middle) for a, h, s, p, n, middle in usual.iter_rows()}
    silent = _silent(case, long)
    for _, rows in long.filter(kind != "rest").group_by(server, maintain_order=True):
        whole = sum(of.get(key, 0.0) for key in rows.select("artifact_id", "conn").unique().iter_rows())
        first = rows.row(0, named=True)
        yield _sighting(
            rows, normal, whole, never=(first["artifact_id"], first["server"], first["server_port"]) in silent
        )
    for _, rows in rests.group_by("artifact_id", maintain_order=True):
        first = rows.row(0, named=True)
        n = rows["conn"].n_unique()
        yield Sighting(
            "idle",
            f"{first['client']} to {_end(first)}",
            f"{n:,} connection{'s' if n != 1 else ''} rested until the next request in {rows.height:,} gaps,"
            f" the longest {figure(first['gap'], 's')}",
            "gap_s",
            first["gap"],
            "s",
            _lines(first),
            **place(first),
            n=rows.height,
            idle="waits until the client asks again",
        )


def _silent(case: CaseTables, long: pl.DataFrame) -> set[tuple[Any, ...]]:
    """Return (artifact, address, port) of servers that sent no packet although they were asked again `ASKED` times.

    That is a SYN or the same datagram; a listing that cuts off every answer has none of any server.
    """
    end = ["artifact_id", "server", "server_port"]
    asked = long.filter(
        ((pl.col("kind") == "syn") | ((pl.col("kind") == "again") & pl.col("udp"))) & pl.col("by_client")
    )
    often = asked.group_by(end).agg(pl.len().alias("n")).filter(pl.col("n") >= ASKED).drop("n")
    if often.is_empty():
        return set()
    sent = case.scan("packets", ["artifact_id", "src", "sport"]).rename({"src": "server", "sport": "server_port"})
    spoke = sent.join(often.lazy(), on=end, how="semi").select(end).unique().collect(engine="streaming")
    return set(often.join(spoke, on=end, how="anti").iter_rows())


def turns(case: CaseTables) -> Iterator[Sighting]:
    """Yield servers whose answers, each shorter than `FELT_S`, hold half of the time of their connections together."""
    spoken = _spoken(case)
    gap, kind = pl.col("gap"), pl.col("kind")
    server = [*PLACE_COLUMNS, "server", "server_port"]
    ends = pl.struct("gap", "line_no", "line_before")
    answers = pl.when((kind == "answer") & ~pl.col("syn")).then(gap)
    middle = answers.median()
    typical = ((answers - middle).abs() <= NEAR * middle).fill_null(value=False)
    made = (
        spoken.filter(gap.is_between(0, FELT_S, closed="left"))
        .group_by(server)
        .agg(
            answers.drop_nulls().len().alias("n"),
            answers.drop_nulls().sum().alias("sum"),
            middle.alias("middle"),
            pl.when(kind == "rest").then(gap).drop_nulls().median().alias("thinks"),
            pl.when((kind == "answer") & pl.col("syn")).then(gap).min().alias("trip"),
            gap.sum().alias("whole"),
            ends.filter(answers.is_not_null()).get(answers.drop_nulls().arg_max()).alias("longest"),
            ends.filter(typical).head(2).alias("typical"),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
            pl.col("client").first(),
        )
        .filter((pl.col("n") >= TURNS) & (pl.col("sum") >= HALF * pl.col("whole")) & (pl.col("sum") >= FELT_S))
        .sort("sum", descending=True)
        .head(MOST)
        .collect(engine="streaming")
    )
    acknowledged = _after_acknowledgement(case) if made.height else {}
    for row in made.iter_rows(named=True):
        worst = row["longest"]
        first = acknowledged.get((row["artifact_id"], row["server"], row["server_port"]))
        thinks = (
            f"; the next question left {figure(row['thinks'], 's')} after an answer (median)" if row["thinks"] else ""
        )
        trip = row["trip"] or 0.0
        at_once = trip >= DISTANT_S and row["middle"] <= TRIP * trip
        said = []
        if at_once:
            said.append(f"a connection request was answered after {figure(trip, 's')}, as long as the path takes")
        if first:
            said.append(
                f"where its bare acknowledgement came first, {_times(first[0])}, the answer followed"
                f" {figure(first[1], 's')} later{' (median)' if first[0] > 1 else ''}"
            )
        lines = [(one, "typical answer") for one in row["typical"] if one != worst] + [(worst, "longest answer")]
        yield Sighting(
            "turns",
            _end(row),
            f"{_end(row)} answered {row['n']:,} times after {figure(row['middle'], 's')} (median; {figure(worst['gap'], 's')} at most),"
            f" {figure(row['sum'], 's')} together of {figure(row['whole'], 's')}{thinks}",
            "duration_s",
            row["middle"],
            "s",
            tuple(
                Lines(row["artifact_id"], one[c], one[c], part)
                for one, role in lines
                for c, part in (("line_before", f"asks, {role}"), ("line_no", role))
            ),
            **place(row),
            t_from=row["t_from"],
            t_to=row["t_to"],
            against="the time of the connections",
            against_value=row["whole"],
            seconds=row["sum"],
            of_s=row["whole"],
            n=row["n"],
            seen=(*(({"event": "answers-take-one-trip"},) if at_once else ()), {"port": row["server_port"]}),
            beside="; ".join(said) or None,
        )


def _after_acknowledgement(case: CaseTables) -> dict[tuple[Any, ...], tuple[int, float]]:
    """Return server -> number of its answers that followed a bare acknowledgement, and their median delay after it.

    The operating system acknowledges by itself, at once or (delayed) after about 40 ms; the time after that is the
    program's.
    """
    columns = ["part", "t_local", "proto", "src", "sport", "dst", "dport", "flags", "len"]
    rows = case.scan("packets", [*PLACE_COLUMNS, *columns], (pl.col("proto") == "tcp") & pl.col("t_local").is_finite())
    source, target = pl.struct("src", "sport").hash(), pl.struct(src="dst", sport="dport").hash()
    rows = rows.with_columns(source.alias("from"), (source ^ target).alias("conn"))
    back = {c: [pl.col(c).shift(n).over(CONNECTION) for n in (1, 2)] for c in ("from", "len", "flags", "t_local")}
    answers = (
        (pl.col("len") > 0)
        & (back["from"][0] == pl.col("from")) & (back["len"][0] == 0) & (back["flags"][0] == ".")
        & (back["from"][1] != pl.col("from")) & (back["len"][1] > 0)
    )  # fmt: skip
    made = (
        rows.with_columns(answers.alias("answers"), (pl.col("t_local") - back["t_local"][0]).alias("gap"))
        .filter(pl.col("answers") & (pl.col("gap") >= 0))
        .group_by("artifact_id", "src", "sport")
        .agg(pl.len().alias("n"), pl.col("gap").median())
        .collect(engine="streaming")
    )
    return {(a, src, port): (n, gap) for a, src, port, n, gap in made.iter_rows()}


def _spoken(case: CaseTables) -> pl.LazyFrame:
    """Return packets with payload or SYN, each with the gap since the one before on its connection, and its kind."""
    columns = ["part", "line_no", "line_end", "t_local", "proto", "src", "sport", "dst", "dport", "flags", "seq", "len"]
    syn = pl.col("flags").str.contains("S", literal=True).fill_null(value=False)
    udp = pl.col("proto").str.to_lowercase().str.starts_with("udp").fill_null(value=False)
    ends = pl.all_horizontal(pl.col("src", "sport", "dst", "dport").is_not_null())
    rows = _unwrapped(case.scan("packets", [*PLACE_COLUMNS, *columns], ends)).filter(pl.col("t_local").is_finite())
    source, target = pl.struct("src", "sport").hash(), pl.struct(src="dst", sport="dport").hash()
    rows = rows.filter((pl.col("len") > 0).fill_null(value=False) | syn | udp).with_columns(
        source.alias("from"), (source ^ target).alias("conn"), syn.alias("syn"), udp.alias("udp")
    )
    opener = pl.col("from").filter(pl.col("syn") & ~pl.col("flags").str.contains(".", literal=True))
    by_client = pl.coalesce(pl.col("from") == opener.first().over(CONNECTION), pl.col("sport") > pl.col("dport"))
    before = {
        c: pl.col(c).shift(1).over(CONNECTION) for c in ("t_local", "line_no", "line_end", "from", "seq", "len", "syn")
    }
    rows = rows.with_columns(
        by_client.alias("by_client"),
        (pl.col("t_local") - before["t_local"]).alias("gap"),
        before["line_no"].alias("line_before"),
        pl.coalesce(before["line_end"], before["line_no"]).alias("end_before"),
        (pl.col("from") == before["from"]).alias("same"),
        before["syn"].alias("syn_before"),
        ((pl.col("seq") <= before["seq"]) & (pl.col("len") > 0) & (before["len"] > 0)).alias("seq_again"),
    )
    same, syn_again = pl.col("same"), pl.col("syn") & pl.col("syn_before")
    repeated = pl.col("seq_again").fill_null(value=False) | (pl.col("udp") & pl.col("by_client"))
    kind = (
        pl.when(same & syn_again).then(pl.lit("syn"))
        .when(syn_again & pl.col("by_client")).then(None)  # its side's silence was told with the answers sent again
        .when(same & repeated).then(pl.lit("again"))
        .when(~pl.col("by_client") & (~same | pl.col("syn_before"))).then(pl.lit("answer"))
        .when(same | pl.col("syn_before")).then(pl.lit("pause"))
        .when(~same).then(pl.lit("rest"))
    )  # fmt: skip
    client, to = (
        pl.col("by_client"),
        {"server": ("dst", "src"), "server_port": ("dport", "sport"), "client": ("src", "dst")},
    )
    return rows.with_columns(
        kind.alias("kind"), *(pl.when(client).then(a).otherwise(pl.col(b)).alias(name) for name, (a, b) in to.items())
    )


def handshakes(case: CaseTables) -> Iterator[Sighting]:
    """Yield the time from SYN to answer per server, as a measure of its distance, if none took `FELT_S` or longer."""
    spoken = _spoken(case)
    answer = (pl.col("kind") == "answer") & pl.col("syn") & pl.col("syn_before")
    made = (
        spoken.filter(answer.fill_null(value=False) & pl.col("gap").is_between(0, LONGEST_S))
        .group_by(*PLACE_COLUMNS, "server", "server_port")
        .agg(
            pl.len().alias("n"),
            pl.col("gap").min().alias("least"),
            pl.col("gap").max().alias("most"),
            pl.struct("line_before", "line_no").head(2).alias("lines"),
        )
        .filter(pl.col("most") < FELT_S)
        .sort("n", descending=True)
        .head(MOST)
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        least, most = figure(row["least"], "s"), figure(row["most"], "s")
        took = least if row["n"] == 1 else f"{least} to {most}"
        yield Sighting(
            "handshake",
            _end(row),
            f"{_end(row)} answered {row['n']:,} connection request{'s' if row['n'] > 1 else ''} after {took}",
            f"handshake_s of {_end(row)}",
            row["most"],
            "s",
            tuple(Lines(row["artifact_id"], r[c], r[c], role) for r in row["lines"] for c, role in (("line_before", "SYN"), ("line_no", "SYN/ACK"))),
            **place(row),
            against="an answer that somebody waits for",
            against_value=FELT_S,
            n=row["n"],
            normal=True,
        )  # fmt: skip


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


def _unwrapped(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Replace packets of a tunnel by the packets inside them, with the time of the outer packet."""
    tunnel = (pl.col("proto") == "udp") & pl.col("dport").is_in(TUNNELS)
    above = {name: e.shift(1).over(*PLACE_COLUMNS, "part") for name, e in (("in", tunnel), ("t", pl.col("t_local")))}
    inside = pl.col("t_local").is_null() & above["in"].fill_null(value=False)
    return rows.with_columns(
        pl.when(inside).then(above["t"]).otherwise("t_local").alias("t_local"),
        (tunnel & inside.shift(-1, fill_value=False).over(*PLACE_COLUMNS, "part"))
        .fill_null(value=False)
        .alias("carries"),
    ).filter(~pl.col("carries"))


def _end(row: Mapping[str, Any]) -> str:
    return f"{row['server']}:{row['server_port']}"


def _lines(row: Mapping[str, Any]) -> tuple[Lines, ...]:
    before, line, artifact = row["line_before"], row["line_no"], row["artifact_id"]
    first, then = "before the silence", "after the silence"
    if row["kind"] in ("syn", "again") and row["seq"] is not None:
        first, then = (f"{said} the silence, seq {row['seq']}" for said in ("before", "after"))
    end_before, end = min(row["end_before"], before + 3), min(row["line_end"] or line, line + 3)
    return (Lines(artifact, before, end_before, first), Lines(artifact, line, end, then))


def _shown(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the silences that are cited: the longest, then the first and the last of them."""
    in_order = rows.sort("line_no")
    chosen = pl.concat([rows.head(3), in_order.head(1), in_order.tail(1)])
    return list(chosen.unique("line_no", maintain_order=True).iter_rows(named=True))


def _sighting(
    rows: pl.DataFrame, normal: Mapping[tuple[Any, ...], tuple[int, float]], whole: float, *, never: bool = False
) -> Sighting:
    """Return the sighting of the silences of one kind at one server, the longest first.

    `never`: no packet at all came from that server.
    """
    first = rows.row(0, named=True)
    took, end, client = figure(first["gap"], "s"), _end(first), first["client"]
    sender, receiver = (client, end) if first["by_client"] else (end, client)
    text = {
        "syn": f"{sender} sent its {'SYN' if first['by_client'] else 'SYN/ACK'} to {receiver} again after {took}",
        "again": f"{sender} sent the same to {receiver} again after {took}",
        "answer": f"{end} answered {client} after {took}",
        "pause": f"{sender} paused {took} within what it sent to {receiver}",
    }[first["kind"]]
    intervals = rows.select(pl.col("t_local").alias("done_s"), pl.col("gap").alias("own_s"))
    seconds = union(intervals)
    if rows.height > 1:
        least = float(rows["gap"][-1])
        alike = rows.height >= ALIKE and first["gap"] <= least * (1 + SPREAD)
        of = f" of {figure(least, 's')} to {took}," if alike else ""
        text += f", {rows.height:,} such silences{of} {figure(seconds, 's')} together"
    key = (first["artifact_id"], first["host"], first["server"], first["server_port"])
    n, middle = normal.get(key, (0, None)) if first["kind"] == "answer" else (0, None)
    if middle is not None:
        others = f"{n:,} answers" if n > 1 else "answer"
        text += f", the other {others} came after {figure(middle, 's')} (median)"
    if never and first["kind"] in ("syn", "again"):
        text += ", and no packet came back"
    # A pause within what one side sends is reported, but not as time that the other side lost.
    lost = first["kind"] != "pause"
    port: Seen = {"port": first["server_port"]}
    forms: dict[str, tuple[Seen, ...]] = {
        "syn": (
            ({"event": "syn-unanswered"},) if never
            else ({"event": "syn-sent-again"},) if first["gap"] >= SYN_S
            else ({"counter": "TCPSynRetrans"},)
        ),
        "again": (
            ({"port": 53, "seconds": round(first["gap"], 6)},) if first["server_port"] == 53
            else ({"event": "datagram-unanswered" if never else "datagram-repeated"},) if first["udp"]
            else ({"counter": "RetransSegs"},)
        ),
        "answer": ({**port, "seconds": round(first["gap"], 6)}, port),
    }  # fmt: skip
    return Sighting(
        "wait" if lost else "pause",
        end,
        text,
        "gap_s",
        first["gap"],
        "s",
        tuple(c for r in _shown(rows) for c in _lines(r)),
        **place(first),
        t_from=first["t_local"] - first["gap"],
        t_to=first["t_local"],
        against="the other answers of the same server" if middle is not None else None,
        against_value=middle,
        seconds=seconds if lost else None,
        of_s=max(whole, seconds) if lost and whole > 0 else None,
        n=rows.height,
        seen=forms.get(first["kind"], ()),
    )
