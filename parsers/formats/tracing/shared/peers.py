"""The other end of each descriptor of a traced process, from the lines that print an address."""

from __future__ import annotations

from typing import Any

import polars as pl

from parsers.text.inline_polars import without

PEER = r"^AF_INET6?[\t ]+(?:name|to|from) = ([0-9A-Fa-f.:]+)[\t ]+port = ([0-9]+)"

MAX_PROCESSES = 5000
"""Maximum number of processes without an exit so far whose descriptor addresses are stored."""


def peers(calls: pl.DataFrame, known: dict[str, dict[str, list[Any]]]) -> pl.DataFrame:
    """Add `peer_ip`, `peer_port`: the address of a detail line, inherited by later calls on that descriptor of that process.

    accept sets the peer of its result, connect and getpeername that of their descriptor; getsockname prints the local address, which is no
    peer. close and a new descriptor of the same number remove the peer; a child inherits all. `known` (process -> descriptor -> address) is
    carried and changed. `calls` are in order of time.
    """
    empty = [pl.lit(None, pl.String).alias("peer_ip"), pl.lit(None, pl.Int64).alias("peer_port")]
    if not known and calls["peer"].null_count() == len(calls):
        return without(calls, "peer").with_columns_seq(empty)
    ok = pl.col("err").is_null()
    gives = (
        pl.when(ok & pl.col("name").is_in(("accept", "accept4")))
        .then("ret")
        .otherwise(pl.when(pl.col("name").is_in(("connect", "getpeername"))).then("fd"))
    )
    makes = ("so_socket", "socket", "open", "open64", "openat", "pipe", "dup", "accept", "accept4")
    forgets = pl.when(ok & (pl.col("name") == "close")).then("fd").when(ok & pl.col("name").is_in(makes)).then("ret")
    frame = calls.with_row_index("row").with_columns_seq(
        pl.col("peer").str.extract(PEER, 1).alias("ip"),
        pl.col("peer").str.extract(PEER, 2).str.to_integer(base=10, strict=False).alias("port"),
        gives.alias("gives"),
        forgets.alias("forgets"),
    )
    wanted = frame.filter(
        (pl.col("ip").is_not_null() & pl.col("gives").is_not_null()) | pl.col("forgets").is_not_null()
        | pl.col("child_pid").is_not_null() | (pl.col("state") == "child_start")
    )  # fmt: skip
    changes: list[tuple[int, int | None, int, str | None, int | None]] = [
        (-1, _number(pid), int(fd), ip, port) for pid, fds in known.items() for fd, (ip, port) in fds.items()
    ]
    columns = ("row", "name", "pid", "state", "child_pid", "ret", "gives", "ip", "port", "forgets")
    for row, name, pid, state, child, ret, fd, ip, port, lost in wanted.select_seq(columns).iter_rows():
        own = known.setdefault(str(pid), {})
        heir, parent = (pid, ret) if state == "child_start" else (child, pid)
        if heir is not None:
            if str(heir) not in known:
                inherited = dict(known.get(str(parent), {}))
                known[str(heir)] = inherited
                changes.extend((row, heir, int(f), a, b) for f, (a, b) in inherited.items())
            continue
        if lost is not None and own.pop(str(lost), []):
            # The close itself still belongs to its peer; a call that makes a new descriptor of that number does not.
            changes.append((row + 1 if name == "close" else row, pid, lost, None, None))
        if fd is not None and ip is not None:
            own[str(fd)] = [ip, port]
            changes.append((row, pid, fd, ip, port))
    for pid in frame.filter(pl.col("name") == "_exit")["pid"].to_list():
        known.pop(str(pid), None)
    for pid in [p for p, fds in known.items() if not fds]:
        del known[pid]
    for pid in list(known)[: max(0, len(known) - MAX_PROCESSES)]:  # keep the state small: drop the oldest first
        del known[pid]
    schema = {"row": pl.Int64, "pid": pl.Int64, "at": pl.Int64, "peer_ip": pl.String, "peer_port": pl.Int64}
    table = pl.DataFrame(changes, schema=schema, orient="row").with_columns_seq(pl.col("pid").fill_null(-1)).sort("row")
    at = pl.coalesce("gives", "fd").alias("at")
    left = frame.with_columns_seq(
        at, pl.col("row").cast(pl.Int64, strict=False), pl.col("pid").fill_null(-1).alias("who")
    ).drop("peer", "ip", "port")
    joined = left.join_asof(
        table.rename({"pid": "who"}),
        on="row",
        by=["who", "at"],
        strategy="backward",
        check_sortedness=False,
    )
    return joined.drop("row", "gives", "forgets", "at", "who")


def _number(text: str) -> int | None:
    return None if text == "None" else int(text)
