"""One row per pair of clocks that evidence ties, or whose tie was refused: the offset as an interval.

Inputs: `wait_cover`, `anchors`, `pipe_pairs`, `sqlnet_waits`, clock domains, stated offsets; computed by
`rules.clocks.clock_map`.
Columns: clock, ref_clock; `off_lo`, `off_hi` (s, reading of clock minus reading of ref_clock; for a refused row the
offset that the tie would have given, or NULL); `drift_lo`, `drift_hi` (s per s, NULL if one pair cannot determine it);
n_pairs; method; accepted; reason.
Worked example: listener over client from one pair, [0.157, 0.237], accepted; truss over listener refused: 3.3326 s
against 1.792 s.
Cost: linear programs in the number of pairs. Source: see `rules.clocks.bounds`.
"""

from __future__ import annotations

from typing import cast

import polars as pl

from rules.case.case import Case
from rules.clocks import clock_map as clocks
from rules.derived.derived_table import CaseTables, DerivedTable, Scope

TABLE = DerivedTable("clock_map", clocks.CLOCK_MAP)
NEEDS = ("wait_cover", "anchors", "pipe_pairs", "sqlnet_waits", "sqlnet", "artifacts")
SCOPE: Scope = "room"
VERSION = "2"


def build(case: CaseTables) -> pl.DataFrame:
    """Return `clock_map`."""
    return clocks.align(cast(Case, case)).rows()
