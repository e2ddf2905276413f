"""One row per doubt about a clock: its offset to another clock steps, or looks like a zone shift. Doubts are proposals
and are never applied.

Inputs: as `clock_map`, and `anchors`; computed by `rules.clocks.clock_map`.
Columns: clock, ref_clock; `test` step or zone; `t_at` (s, reading of ref_clock at the step, NULL for a zone);
`size_s`; n_anchors (pairs or anchors behind it).
Worked example: three anchors that differ by 7200.4 s give a zone row of 7200 s.
Cost: as `clock_map`. Source: see `rules.clocks.bounds`.
"""

from __future__ import annotations

from typing import cast

import polars as pl

from rules.case.case import Case
from rules.clocks import clock_map as clocks
from rules.derived.derived_table import CaseTables, DerivedTable, Scope

TABLE = DerivedTable("clock_checks", clocks.CLOCK_CHECKS)
NEEDS = ("wait_cover", "anchors", "pipe_pairs", "sqlnet_waits", "sqlnet", "artifacts")
SCOPE: Scope = "room"
VERSION = "1"


def build(case: CaseTables) -> pl.DataFrame:
    """Return `clock_checks`."""
    return clocks.align(cast(Case, case)).check_rows()
