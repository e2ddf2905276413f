"""Where the requests of a proxy or load balancer wait: in its own queue, for the connection, or for the server's answer.

Standing out: the part that holds at least half of the middle request to one server, where that request takes `FELT_S` or
longer, told with the middle half of it; requests that stood a second or longer in a queue, and whether all of them stood there
equally long, as a time limit makes it; requests that stand in a queue now. Normal: quicker requests, empty queues.
A log has the parts of each request: HAProxy its timers (TR/Tw/Tc/Tr/Ta of `option httplog`, Tw/Tc/Tt of `tcplog`), the
load balancers of AWS their three times, Envoy the whole and the server's part, nginx both as fields of the log's own form.
What HAProxy counts (qcur, qmax) is of one instant.
Worked example: `front api/web2 0/900/1/99/1000 200`: 0.900 s of 1.000 s in the queue of server web2.
Cost: one filter by shape and one aggregation by server over the logs, and a filter by name over the counters. Source: HAProxy
Configuration Manual, 8.2.2, 8.2.3, 8.4; HAProxy Management Guide, 9.1; Elastic Load Balancing, Access logs; Envoy, Access
logging, default format; nginx, ngx_http_upstream_module ($request_time, $upstream_response_time).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, MOST, Lines, Observer, Sighting, figure, place
from rules.observers.split import HALF, percent

OBSERVER = Observer(
    "proxy-queues",
    "Where in a proxy do requests wait?",
    ("logs", "counters"),
    {
        "*": "the proxy's own counters twice, 10 s apart, and its limits: show stat; show servers conn; maxconn of each server"
    },
)

LEAST = 5
"""Minimum number of requests of a server for a middle one."""

LEAST_LONG = 2
"""The same of requests that the server answered late, each of them after `LONG_S`: people paste the slow lines of a log."""

SURELY_S = 5.0
"""Minimum length in seconds of a single request that a server answered late: a hiccup is shorter."""

CITED = 5
"""Number of requests near the middle one that are cited."""

LONG_S = 1.0
"""Minimum time in seconds in a queue that is told of single requests."""

ALIKE = 3
"""Minimum number of requests that waited equally long before this is no chance."""

EQUAL = 0.99
"""Minimum ratio of the shortest of these waits to the longest: work that ends differs by more."""

OFTEN = 0.01
"""Minimum part of all requests that waited so long before they name a reason: a peak makes a few wait anywhere."""

CONNECTIONS = r" [0-9]+/[0-9]+/[0-9]+/([0-9]+)/\+?[0-9]+ [0-9]+/[0-9]+(?: |$)"
"""Connections of HAProxy when the request ended: the fourth is how many others the server had (srv_conn, manual 8.2.3)."""

QUEUED, CONNECTING, ANSWERING = "in the proxy's queue", "connecting to the server", "waiting for the server's answer"

BEHIND = "the server behind the proxy"
"""Name of a server that a log does not name."""

LONGEST_S = 86_400.0


@dataclass(frozen=True)
class Shape:
    """Log lines of one tool: a pattern with groups for server and times, the names of the times, their unit in seconds.

    The groups are `server` (some logs do not name it), `p0`, `p1` ... for the times, and `whole` for the whole request; if
    there is no `whole`, the request takes the sum of the times.
    """

    pattern: str
    parts: tuple[str | None, ...]
    unit_s: float

    @property
    def whole(self) -> bool:
        return "<whole>" in self.pattern

    @property
    def names_server(self) -> bool:
        return "<server>" in self.pattern


_TIME, _SIGNED = "[0-9]+(?:[.][0-9]+)?", "-?[0-9]+(?:[.][0-9]+)?"
_RT, _URT = (
    rf"(?:^|[ ,{{\t])[\"']?(?:{name})[\"']?[=:] ?[\"']?" for name in ("rt|request_time", "urt|upstream_response_time")
)

SHAPES = (
    Shape(
        r" (?P<server>[A-Za-z0-9_.:-]+/[A-Za-z0-9_.<>:-]+) (?P<p0>-?[0-9]+)/(?P<p1>-?[0-9]+)/(?P<p2>-?[0-9]+)/(?P<p3>-?[0-9]+)"
        r"/\+?(?P<whole>[0-9]+) (?:-1|[0-9]{3}) \+?[0-9]+ ",
        (None, QUEUED, CONNECTING, ANSWERING),
        1e-3,
    ),
    Shape(
        r" (?P<server>[A-Za-z0-9_.:-]+/[A-Za-z0-9_.<>:-]+) (?P<p0>-?[0-9]+)/(?P<p1>-?[0-9]+)/\+?(?P<whole>[0-9]+) \+?[0-9]+"
        r" [A-Za-z-]{2} ",
        (QUEUED, CONNECTING),
        1e-3,
    ),
    Shape(
        rf" [0-9.a-f:\[\]]+:[0-9]+ (?P<server>[0-9.a-f:\[\]]+:[0-9]+) (?P<p0>{_SIGNED}) (?P<p1>{_SIGNED}) (?P<p2>{_SIGNED}) [0-9]{{3}} ",
        ("in the load balancer", ANSWERING, "sending the answer on"),
        1.0,
    ),
    Shape(
        r"\" [0-9]{3} \S+ (?:\S+ )?[0-9]+ [0-9]+ (?P<whole>[0-9]+) (?P<p0>[0-9]+) \"[^\"]*\" \"[^\"]*\" \"[^\"]*\" \"[^\"]*\" \"(?P<server>[^\"]+)\"",
        (ANSWERING,),
        1e-3,
    ),
    Shape(rf"{_RT}(?P<whole>{_TIME}).*{_URT}(?P<p0>{_TIME})", (ANSWERING,), 1.0),
    Shape(rf"{_URT}(?P<p0>{_TIME}).*{_RT}(?P<whole>{_TIME})", (ANSWERING,), 1.0),
)
"""ASCII and without upper bounds: a thousand states of Unicode's letters take 0.1 s to compile in each new process."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield where requests wait by server, then the queues of this instant, the longest first."""
    times = [made for shape in SHAPES for made in _requests(case, shape)]
    yield from sorted(times, key=lambda s: -(s.seconds or 0.0))[:MOST]
    told = {s.lines[0].artifact for s in times if f"of it {QUEUED}" in s.headline}
    yield from _long(case, told)
    yield from _queues(case)


def _requests(case: CaseTables, shape: Shape) -> Iterator[Sighting]:
    found = pl.col("text").str.extract_groups(shape.pattern).struct
    times = [
        found.field(f"p{n}").cast(pl.Float64, strict=False).clip(0) * shape.unit_s for n in range(len(shape.parts))
    ]
    total = found.field("whole").cast(pl.Float64, strict=False) * shape.unit_s if shape.whole else None
    names = [f"part_{n}" for n in range(len(times))]
    rows = (
        case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], pl.col("text").str.contains(shape.pattern))
        .with_columns(
            (found.field("server") if shape.names_server else pl.lit(BEHIND)).alias("server"), *(t.alias(name) for t, name in zip(times, names, strict=True)),
            (pl.sum_horizontal(*times) if total is None else total).alias("whole"),
        )
        .drop("text")
        .filter(pl.col("whole").is_between(0, LONGEST_S))
    )  # fmt: skip
    groups = (
        rows.group_by(*PLACE_COLUMNS, "server")
        .agg(pl.len().alias("n"), pl.col("whole").min().alias("least"), pl.col("whole", *names).median())
        .filter(
            (pl.col("n") >= LEAST)
            | ((pl.col("n") >= LEAST_LONG) & (pl.col("least") >= LONG_S))
            | (pl.col("least") >= SURELY_S)
        )
        .filter(pl.col("whole") >= FELT_S)
        .top_k(MOST, by="whole")
        .collect(engine="streaming")
    )
    for row in groups.sort("whole", "server", descending=[True, False]).iter_rows(named=True):
        best = max(names, key=lambda name: row[name])
        words = shape.parts[names.index(best)]
        few = row["n"] < LEAST and words != ANSWERING  # of requests in a queue `_long` tells fewer
        if words is not None and row[best] >= HALF * row["whole"] and not few:
            yield _sighting(row, words, row[best], _near(rows, row, best))


def _near(rows: pl.LazyFrame, row: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """Return both quartiles of one part of the requests to one server, and the lines nearest to its median."""
    of = (pl.col("artifact_id") == row["artifact_id"]) & (pl.col("server") == row["server"])
    distance = (pl.col(part) - row[part]).abs()
    made = rows.filter(of).select(
        pl.col(part).quantile(0.25, "nearest").alias("low"),
        pl.col(part).quantile(0.75, "nearest").alias("high"),
        pl.col("line_no").sort_by(distance, "line_no").head(CITED).implode().alias("lines"),
    )
    return made.collect(engine="streaming").row(0, named=True)


def _headline(row: Mapping[str, Any], words: str, seconds: float, near: Mapping[str, Any]) -> str:
    """Return what the requests to one server took, and what of it is the part in `words`."""
    of = f"{figure(seconds, 's')} ({percent(seconds, row['whole'])}) of it {words}"
    if row["n"] == 1:
        return f"A request to {row['server']} took {figure(row['whole'], 's')}, {of}"
    half = f"half of them {figure(near['low'], 's')} to {figure(near['high'], 's')} there"
    return f"{row['n']:,} requests to {row['server']} took {figure(row['whole'], 's')} (median), {of}; {half}"


def _sighting(row: Mapping[str, Any], words: str, seconds: float, near: Mapping[str, Any]) -> Sighting:
    whole = row["whole"]
    return Sighting(
        "split",
        str(row["server"]),
        _headline(row, words, seconds, near),
        "part_s",
        seconds,
        "s",
        tuple(Lines(row["artifact_id"], n, n, f"a usual request: {words}") for n in sorted(near["lines"])),
        **place(row),
        against="the whole request",
        against_value=whole,
        seconds=seconds,
        share=min(1.0, seconds / whole),
        of_s=whole,
        n=row["n"],
        seen=({"event": "proxy-queue"},)
        if words == QUEUED
        else ({"event": "server-answers-late"},)
        if words == ANSWERING and seconds >= LONG_S
        else (),
    )


def _long(case: CaseTables, told: Collection[int]) -> Iterator[Sighting]:
    """Yield requests that waited long in HAProxy's queue: those with equal waits, else those of logs not in `told`."""
    shape = SHAPES[0]
    found = pl.col("text").str.extract_groups(shape.pattern).struct
    queue, whole = (found.field(n).cast(pl.Float64, strict=False) * shape.unit_s for n in ("p1", "whole"))
    held = (pl.col("queue") >= LONG_S) & (pl.col("queue") >= HALF * pl.col("whole"))
    one = pl.struct("queue", "whole", "line_no")
    rows = (
        case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], pl.col("text").str.contains(shape.pattern))
        .select(
            *PLACE_COLUMNS, "line_no", queue.alias("queue"), whole.alias("whole"), found.field("server").alias("server"),
            (pl.col("text").str.extract(CONNECTIONS) == "0").alias("alone"),
        )
        .filter(pl.col("whole").is_between(0, LONGEST_S))
        .group_by(PLACE_COLUMNS)
        .agg(
            pl.len().alias("all"),
            held.sum().alias("n"),
            pl.col("queue").filter(held).min().alias("least"),
            pl.col("server").filter(held).n_unique().alias("servers"),
            (pl.col("alone") & held).sum().alias("alone"),
            one.filter(held).top_k_by(pl.col("queue").filter(held), CITED).alias("worst"),
        )
        .filter(pl.col("n") > 0)
        .collect(engine="streaming")
    )  # fmt: skip
    for row in rows.sort("artifact_id").iter_rows(named=True):
        n, top = row["n"], max(row["worst"], key=lambda w: (w["queue"], -w["line_no"]))
        equal = n >= ALIKE and row["least"] >= EQUAL * top["queue"]
        if not equal and row["artifact_id"] in told:
            continue
        to = f" to {row['servers']} servers" if row["servers"] > 1 else ""
        waits = f"{figure(row['least'], 's')} to {figure(top['queue'], 's')}" if n > 1 else figure(top["queue"], "s")
        alike = ": equally long, as by a time limit" if equal else ""
        alone = f"; {row['alone']:,} of them went to a server with no other connection at their end (srv_conn 0)"
        yield Sighting(
            "wait",
            QUEUED,
            f"{n:,} of {row['all']:,} requests{to} stood {waits} {QUEUED}{alike}{alone if row['alone'] else ''}",
            "queue_s",
            top["queue"],
            "s",
            tuple(Lines(row["artifact_id"], no, no, QUEUED) for no in sorted(w["line_no"] for w in row["worst"])),
            **place(row),
            against="the whole request",
            against_value=top["whole"],
            seconds=top["queue"],
            share=min(1.0, top["queue"] / top["whole"]),
            of_s=top["whole"],
            n=n,
            seen=({"event": "proxy-queue-limit"},)
            if equal
            else ({"event": "proxy-queue"},)
            if n >= OFTEN * row["all"]
            else (),
        )


def _queues(case: CaseTables) -> Iterator[Sighting]:
    """Yield the longest queue of each listing of a proxy's counters."""
    columns = [*PLACE_COLUMNS, "line_no", "item", "name", "value"]
    named = pl.col("name").is_in(["qcur", "qmax"]) & pl.col("value").is_between(1, 1e15)
    rows = case.scan("counters", columns, named).collect(engine="streaming").sort("line_no")
    for _, held in rows.group_by("artifact_id", maintain_order=True):
        last = held.unique(["item", "name"], keep="last", maintain_order=True)
        now = last.filter(pl.col("name") == "qcur").sort("value", "line_no", descending=[True, False])
        if now.is_empty():
            continue
        row = now.row(0, named=True)
        most = last.filter((pl.col("name") == "qmax") & pl.col("item").eq_missing(pl.lit(row["item"])))
        peak = f", at most {most['value'][0]:,.0f} so far" if most.height else ""
        yield Sighting(
            "queue",
            str(row["item"] or "a server"),
            f"{row['value']:,.0f} requests stand in the queue of {row['item'] or 'a server'} (qcur){peak}",
            "qcur_count",
            row["value"],
            "count",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "queue"),),
            **place(row),
            against="an empty queue",
            against_value=0.0,
            share=0.4,
        )
