"""Questions and answers on one connection as its two ends show them, and which of them are the same.

Clocks are not compared. Two exchanges are tied by their order on the connection, the bytes sent each way, and
residence: the server cannot have held the question longer than the client was without the answer. Each pair bounds the
offset between the clocks, server minus client, to [server's answer - client's, server's question - client's]
(Cristian); all pairs of one connection must have an offset in common. All times are whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

DRIFT: Final = 500e-6
"""Maximum drift between two clocks (s per s): the limit to which NTP corrects a clock (RFC 5905)."""

MOST_TRIED: Final = 1_000_000
"""Maximum number of exchange pairs compared for one pair of ends; above it the alignment stays undecided."""

Thread = tuple[int | None, int | None]
"""pid and lwp."""

Bounds = tuple[int, int]
"""Lowest and highest possible offset in nanoseconds."""


@dataclass(frozen=True)
class Exchange:
    """One question and its answer at one end.

    For each of the two: line and end of its last call, and the earliest possible begin of that call (None if the trace
    does not show it); the bytes of all its calls (None if one does not print them); the thread of the last call.
    """

    asked_line: int
    asked_begin: int | None
    asked_end: int
    asked_bytes: int | None
    asker: Thread
    answer_line: int
    answer_begin: int | None
    answer_end: int
    answer_bytes: int | None
    answerer: Thread


def exchanges(rows: pl.DataFrame, *, client: bool) -> list[Exchange]:
    """Return the exchanges of one end, in order.

    `rows` are its calls with data, by time: pid, lwp, line_no, done_ns, own_ns, bytes, `out`. A run of writes and the
    run of reads after it are one exchange for the client, reads and then writes for the server. What comes before the
    first question (a greeting, the rest of an answer) and a question without an answer do not count.
    """
    turn = (pl.col("out") != pl.col("out").shift(1)).fill_null(value=True).cum_sum()
    turns = rows.group_by(turn.alias("turn"), maintain_order=True).agg(
        pl.col("out").first(),
        pl.col("line_no", "done_ns", "own_ns", "pid", "lwp").last(),
        pl.when(pl.col("bytes").null_count() == 0).then(pl.col("bytes").sum()).alias("bytes"),
    )
    found: list[Exchange] = []
    asked: tuple[int, int | None, int, int | None, Thread] | None = None
    for row in turns.iter_rows(named=True):
        begin = None if row["own_ns"] is None else row["done_ns"] - row["own_ns"]
        end = row["line_no"], begin, row["done_ns"], row["bytes"], (row["pid"], row["lwp"])
        if row["out"] == client:
            asked = end
        elif asked is not None:
            found.append(Exchange(*asked, *end))
            asked = None
    return found


def away(client: Exchange) -> int | None:
    """Return how long the client was without the answer: from the earliest begin of its question's last write to the
    answer's last read.
    """
    return None if client.asked_begin is None else client.answer_end - client.asked_begin


def held(server: Exchange) -> int | None:
    """Return how long the server held the question: from its last read to the earliest begin of the answer's last
    write.
    """
    return None if server.answer_begin is None else server.answer_begin - server.asked_end


def offset(client: Exchange, server: Exchange) -> Bounds | None:
    """Return the bounds of the server's clock minus the client's, if the two are one exchange; None if a begin is
    unknown.
    """
    if client.asked_begin is None or server.answer_begin is None:
        return None
    return server.answer_begin - client.answer_end, server.asked_end - client.asked_begin


def shifts(
    client: Sequence[Exchange], server: Sequence[Exchange], slack: int, known: Bounds | None, *, from_start: bool
) -> list[int] | None:
    """Return all d for which the client's exchange k can be the server's k + d; None if there are too many to try.

    `from_start`: both traces show how the connection was made, so d can only be 0. `known` is the known offset between
    the clocks. `slack` is the combined rounding of the stamps of both.
    """
    if from_start:
        return [0] if client and server and _agree(client, server, 0, slack, known) else []
    if len(client) * len(server) > MOST_TRIED:
        return None
    return [d for d in range(1 - len(client), len(server)) if _agree(client, server, d, slack, known)]


def _agree(
    client: Sequence[Exchange], server: Sequence[Exchange], shift: int, slack: int, known: Bounds | None
) -> bool:
    """Return whether all exchanges that both saw agree in bytes, residence and one offset of the clocks."""
    low, high = known or (None, None)
    since: int | None = None
    for k in range(max(0, -shift), min(len(client), len(server) - shift)):
        mine, theirs = client[k], server[k + shift]
        for a, b in ((mine.asked_bytes, theirs.asked_bytes), (mine.answer_bytes, theirs.answer_bytes)):
            if a is not None and b is not None and a != b:
                return False
        bounds = offset(mine, theirs)
        if bounds is None:
            continue
        if bounds[0] > bounds[1] + slack:
            return False
        since = mine.answer_end if since is None else since
        apart = round(DRIFT * (mine.answer_end - since))
        low = bounds[0] - apart if low is None else max(low, bounds[0] - apart)
        high = bounds[1] + apart if high is None else min(high, bounds[1] + apart)
        if low > high + slack:
            return False
    return True
