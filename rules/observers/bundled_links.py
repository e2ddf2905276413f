"""Links of a bundle (bonding of Linux): which are down, and which are not in the same aggregate as the others.

Stands out: a link whose MII status is not up while its bundle has another one, with how often it failed; links that are up, of a bundle
of IEEE 802.3ad, in different aggregates: only one aggregate carries. Normal: all links up, in one aggregate. A link that is down and
failed `OFTEN` times or more is named as one that fails; one that is only down may have been taken out.
Worked example: two slave interfaces, one `MII Status: down` with `Link Failure Count: 14`: "eth1, 1 of 2 links of a bundle, is down".
Cost: a filter by name. Source: Linux Documentation/networking/bonding.rst, drivers/net/bonding/bond_procfs.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, place

OBSERVER = Observer(
    "bundled-links",
    "Do all links of a bundle carry?",
    ("params",),
    {"linux": "cat /proc/net/bonding/*; ethtool INTERFACE; dmesg -T | grep -i bond"},
)

LINK, STATUS, FAILURES, AGGREGATE, MODE = (
    "Slave Interface",
    "MII Status",
    "Link Failure Count",
    "Aggregator ID",
    "Bonding Mode",
)
OFTEN = 2
"""Minimum number of failures of a link that is down now: once is when it was taken out."""

HALF, SOME = 0.5, 0.3
"""Shares of a link that fails, and of one that does not carry for a reason that nobody knows."""


@dataclass
class Link:
    """A link: name, its line, and its other figures by name with their lines."""

    name: str
    line: int
    values: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def up(self) -> bool:
        """Return whether the link is up."""
        return self.values.get(STATUS, ("up", 0))[0] == "up"

    @property
    def lines(self) -> list[int]:
        """Return the lines that a reader should see."""
        return [
            self.line,
            *(n for name in (STATUS, FAILURES, AGGREGATE) if name in self.values for n in (self.values[name][1],)),
        ]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the links of each listing that are down, then aggregates that are apart."""
    names = [LINK, STATUS, FAILURES, AGGREGATE, MODE]
    columns = [*PLACE_COLUMNS, "part", "line_no", "name", "value"]
    told = case.scan("params", [*columns, "scope"], (pl.col("scope") == "text") & pl.col("name").is_in(names))
    counted = case.scan("counters", [*columns, "grp"], (pl.col("grp") == "text") & pl.col("name").is_in(names))
    numbers = counted.drop("grp").with_columns(pl.col("value").cast(pl.Int64).cast(pl.String))
    rows = pl.concat([told.drop("scope"), numbers], how="diagonal_relaxed").head(5_000).collect(engine="streaming")
    for _, part in rows.sort("artifact_id", "part", "line_no").group_by("artifact_id", "part", maintain_order=True):
        yield from _bundles(part.to_dicts())


def _bundles(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield what stands out in each bundle; a row with a mode begins the next bundle."""
    links: list[Link] = []
    mode = ""
    for row in rows:
        if row["name"] == MODE:
            yield from _bundle(rows[0], links, mode)
            links, mode = [], str(row["value"])
        elif row["name"] == LINK:
            links.append(Link(str(row["value"]), row["line_no"]))
        elif links:
            links[-1].values.setdefault(row["name"], (str(row["value"]), row["line_no"]))
    yield from _bundle(rows[0], links, mode)


def _bundle(row: dict[str, Any], links: list[Link], mode: str) -> Iterator[Sighting]:
    up = [link for link in links if link.up]
    for link in links if len(links) > 1 else []:
        if link.up:
            continue
        failures = int(link.values.get(FAILURES, ("0", 0))[0] or 0)
        often = f" and failed {failures:,} times" if failures > 1 else ""
        yield Sighting(
            "link",
            link.name,
            f"{link.name}, one of {len(links):,} links of a bundle, is {link.values[STATUS][0]}{often}; {len(up):,} of {len(links):,} are up",
            "link_failures",
            float(failures),
            "count",
            tuple(Lines(row["artifact_id"], n, n, "a link of the bundle") for n in link.lines),
            **place(row),
            against="links of the bundle",
            against_value=float(len(links)),
            share=HALF if failures >= OFTEN else SOME,
            seen=({"event": "link-of-bundle-fails"},) if failures >= OFTEN else (),
        )
    aggregates = {link.values[AGGREGATE][0] for link in up if AGGREGATE in link.values}
    if "802.3ad" in mode and len(aggregates) > 1:
        yield Sighting(
            "link",
            ", ".join(link.name for link in up),
            f"{len(up):,} links of a bundle are up and in {len(aggregates):,} aggregates, of which one carries: "
            + ", ".join(f"{link.name} in {link.values[AGGREGATE][0]}" for link in up if AGGREGATE in link.values),
            "aggregates_count",
            float(len(aggregates)),
            "count",
            tuple(Lines(row["artifact_id"], n, n, "a link of the bundle") for link in up[:4] for n in link.lines),
            **place(row),
            against="one aggregate",
            against_value=1.0,
            share=SOME,
        )
