"""Questions to name servers in lists of packets: no such name, failures, and those without an answer.

Stands out: an answer that says no such name or a failure, and a question on a connection on which its server never
answered. Normal: questions that are answered.
A question counts once per asking address and port, however often a capture on all interfaces shows its packet.
Worked example: 4 of 6 answers of 10.0.0.53 say NXDomain, first for db1.default.svc.cluster.local.: 67 %.
Cost: one pass over packets from or to port 53. Source: RFC 1035 4.1.1 (response codes), resolv.conf(5) (search, ndots).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "name-queries",
    "Which names are asked for, and what is answered?",
    ("packets",),
    {
        "windows": "ipconfig /all; nslookup -debug NAME; Get-DnsClientServerAddress",
        "*": "cat /etc/resolv.conf; dig NAME @SERVER of each server; tcpdump -ni any port 53",
    },
    alone=True,
)

PORT = 53
ENDS_S = 1.0
"""Minimum time in seconds from a question to the end of the list for it to count as unanswered."""

SUFFIX = r"\.(?:svc\.cluster\.local|cluster\.local|local|localdomain|internal|lan|home|corp|intra|intranet|ad)\.?$"
"""Endings of names that only a search list of the site can have added."""


MISSING, MISSING_SHARE = "NXDomain", 0.3
"""Answer to a question for a name that there is not, and the factor of its share: it is an answer, and most come at once."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield questions without an answer, failures and names that do not exist, the most frequent first."""
    columns = ["part", "line_no", "t_local", "src", "sport", "dst", "dport", "payload"]
    port = (pl.col("sport") == PORT) | (pl.col("dport") == PORT)
    asks = (pl.col("dport") == PORT).fill_null(value=False)
    server = pl.when(asks).then("dst").otherwise("src").alias("server")
    client = pl.when(asks).then("src").otherwise("dst").alias("client")
    door = pl.when(asks).then("sport").otherwise("dport").alias("door")
    rows = case.scan("packets", [*PLACE_COLUMNS, *columns], port).with_columns(asks.alias("asks"), server, client, door)
    ends = [*PLACE_COLUMNS, "part", "client", "door", "server"]
    text = pl.col("payload").fill_null("")
    talks = (
        rows.group_by(ends)
        .agg(
            text.filter(pl.col("asks") & text.str.starts_with("DNS "))
            .unique(maintain_order=True)
            .head(6)
            .alias("names"),
            (~pl.col("asks")).sum().alias("answers"),
            text.filter(~pl.col("asks")).str.extract(r"DNS answer (\w+)").drop_nulls().alias("codes"),
            pl.col("line_no").filter(pl.col("asks")).min().alias("first"),
            pl.col("line_no").filter(pl.col("asks")).max().alias("last"),
            pl.col("line_no").filter(text.str.contains(r"^DNS answer")).min().alias("refused"),
            pl.col("line_no").filter(text.str.contains(r"^DNS answer")).max().alias("refused_last"),
            pl.col("t_local").filter(pl.col("asks")).min().alias("t_from"),
            pl.col("t_local").filter(~pl.col("asks")).min().alias("t_to"),
        )
        .filter(pl.col("names").list.len() > 0)
        .collect(engine="streaming")
    )
    end = rows.select(pl.col("t_local").max()).collect(engine="streaming").item()
    return sorted([*_unanswered(talks, end), *_refused(talks)], key=lambda s: -(s.share or 0.0))[:MOST]


def _unanswered(talks: pl.DataFrame, end: float | None) -> Iterator[Sighting]:
    silent = talks.filter((pl.col("answers") == 0) & pl.col("first").is_not_null())
    if end is not None:
        silent = silent.filter(pl.col("t_from").is_null() | (pl.col("t_from") <= end - ENDS_S))
    for key, part in silent.sort("first").group_by("artifact_id", "server", maintain_order=True):
        row = part.row(0, named=True)
        every = talks.filter((pl.col("artifact_id") == key[0]) & pl.col("server").eq_missing(pl.lit(key[1])))
        name = str(row["names"][0]).removeprefix("DNS ")
        n, whole = part.height, every.height
        answered = "never answered" if n == whole else f"did not answer {n:,} of {whole:,} questions"
        yield Sighting(
            "failure",
            f"{row['server']}:{PORT}",
            f"{row['server']}:{PORT} {answered}; the first: {name}",
            "unanswered_count",
            float(n),
            "count",
            tuple(
                Lines(r["artifact_id"], line, line, role)
                for r in part.head(5).iter_rows(named=True)
                for line, role in ((r["first"], "asked, no answer"), (r["last"], "asked again"))
                if role == "asked, no answer" or r["last"] != r["first"]
            ),
            **place(row),
            against="all questions to that server",
            against_value=float(whole),
            share=n / whole,
            n=n,
            seen=({"log": f"name server {'never answered' if n == whole else 'did not answer'}"},),
        )


def _refused(talks: pl.DataFrame) -> Iterator[Sighting]:
    told = talks.filter(pl.col("codes").list.len() > 0).explode("codes")
    whole = talks.filter(pl.col("answers") > 0).height
    asked_for = _asked(talks)
    times = talks.select((pl.col("t_to") - pl.col("t_from")).median()).item()
    for _, part in (
        told.unique(["artifact_id", "client", "door", "server", "codes"], keep="first", maintain_order=True)
        .sort("refused")
        .group_by("artifact_id", "server", "codes", maintain_order=True)
    ):
        row = part.row(0, named=True)
        code = str(row["codes"])
        names = [str(name).removeprefix("DNS ") for name in row["names"]]
        asked = ", ".join(dict.fromkeys(names))
        n = part.height
        searched = code == "NXDomain" and any(pl.select(pl.lit(x).str.contains(SUFFIX)).item() for x in names)
        bare = {_bare(name) for name in names}
        shorter = any(name.startswith(f"{x}.") for name in bare for x in asked_for[row["artifact_id"]] - bare)
        after = f", after {figure(times, 's')} (median)" if times is not None and times >= 0 else ""
        seen: tuple[Seen, ...] = (
            {"log": f"name server answered {code}{' to a suffix of a search list' if searched else ''}"},
        )
        yield Sighting(
            "failure",
            code,
            f"{row['server']}:{PORT} answered {code} to {n:,} of {whole:,} sockets that asked{after}; asked for: {asked}",
            "refused_count",
            float(n),
            "count",
            tuple(
                Lines(r["artifact_id"], line, line, role)
                for r in part.head(5).iter_rows(named=True)
                for line, role in _cited(r, code)
            ),
            **place(row),
            against="all that were answered",
            against_value=float(whole),
            share=min(1.0, n / max(1, whole)) * (MISSING_SHARE if code == MISSING and not searched else 1.0),
            n=n,
            seen=seen,
            beside="the name without its suffix is not asked for in the list" if searched and not shorter else None,
        )


def _asked(talks: pl.DataFrame) -> dict[int, set[str]]:
    """Return the names that are asked for in each artifact, without their types."""
    made: dict[int, set[str]] = {}
    for artifact, names in talks.select("artifact_id", "names").iter_rows():
        made.setdefault(artifact, set()).update(map(_bare, names))
    return made


def _bare(question: str) -> str:
    return question.rsplit(" ", 1)[-1].rstrip(".")


def _cited(row: dict[str, Any], code: str) -> Iterator[tuple[int, str]]:
    yield row["first"], f"asked for {str(row['names'][0]).removeprefix('DNS ')}"
    if row["refused"] is not None:
        yield row["refused"], f"answered {code}"
        if row["refused_last"] != row["refused"]:
            yield row["refused_last"], f"answered {code}, last of this socket"
