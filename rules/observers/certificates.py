"""From when to when the certificates are valid that tools print: a reader compares that with the time of the failure.

Nothing stands out by itself, since a listing seldom says when it was taken: the validity is told where little else is, and
what a tool says of its check is a complaint (`log-complaints`).
Worked example: `notBefore=Jan  1 00:00:00 2025 GMT` and `notAfter=Apr  1 00:00:00 2025 GMT`: valid for 90 days.
Cost: a filter by name over the settings. Source: RFC 5280, 4.1.2.5; openssl-x509(1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import CONTEXT, Lines, Observer, Sighting, place

OBSERVER = Observer(
    "certificates",
    "How long are certificates valid?",
    ("params",),
    {"*": "openssl s_client -connect HOST:PORT -servername HOST -showcerts </dev/null; date -u"},
)

NOT_BEFORE, NOT_AFTER = "NotBefore", "NotAfter"
"""Names that the general reader gives to the two ends of a validity."""

NEAR = 10
"""Maximum number of lines between the two ends of one validity."""

MOST = 200
DAY_S = 86_400.0


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the validity of the certificate that ends first, of each artifact."""
    columns = [*PLACE_COLUMNS, "line_no", "name", "value", "num"]
    rows = case.scan("params", columns, pl.col("name").is_in([NOT_BEFORE, NOT_AFTER])).head(MOST)
    for _, held in rows.sort("line_no").collect(engine="streaming").group_by("artifact_id", maintain_order=True):
        found = {(b["num"], e["num"]): (b, e) for b, e in _validities(held.to_dicts())}
        if found:
            yield _sighting(*found[min(found, key=lambda ends: ends[1])], len(found))


def _validities(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield begin and end of each validity. An end without a begin near it is left out: another line may repeat it."""
    begins = [r for r in rows if r["name"] == NOT_BEFORE and r["num"] is not None]
    for end in rows:
        if end["name"] != NOT_AFTER or end["num"] is None:
            continue
        near = [b for b in begins if abs(b["line_no"] - end["line_no"]) <= NEAR and b["num"] < end["num"]]
        if near:
            yield min(near, key=lambda b: abs(b["line_no"] - end["line_no"])), end


def _sighting(begin: dict[str, Any], end: dict[str, Any], n: int) -> Sighting:
    days = (end["num"] - begin["num"]) / DAY_S
    first = f", the first to end of {n:,}" if n > 1 else ""
    return Sighting(
        CONTEXT,
        "validity of a certificate",
        f"A certificate is valid from {begin['value']} to {end['value']}{first}: {days:,.0f} days",
        "validity_days",
        days,
        "days",
        tuple(
            Lines(r["artifact_id"], r["line_no"], r["line_no"], r["name"])
            for r in ((begin, end) if begin["line_no"] != end["line_no"] else (end,))
        ),
        **place(end),
        normal=True,
    )
