"""What stands out between artifacts: rows of the observers that look across them, in the columns of `observations`.

Inputs: every table that such an observer reads. artifact_id, line_no, line_end are those of the first citation;
`evidence` may cite several artifacts.
Worked example: vmstat of phase good and vmstat of phase bad in two files: "usr: 90 % in the median of phase bad, 10 % in
phase good". Two listings of `nstat -az` of one host: a counter's growth between them.
Cost: that of the observers. Source: as `observations`.
"""

from __future__ import annotations

import polars as pl

from rules.derived import observations
from rules.derived.derived_table import CaseTables, DerivedTable, Scope
from rules.observers.observer import observers

TABLE = DerivedTable("comparisons", observations.TABLE.columns)
NEEDS = tuple(
    sorted(
        {
            "artifacts",
            "counter_growth",
            *(t for o in observers().values() if o.OBSERVER.across for t in o.OBSERVER.tables),
        }
    )
)
SCOPE: Scope = "room"
VERSION = observations.VERSION


def build(case: CaseTables) -> pl.DataFrame:
    """Return the rows of the observers that look across artifacts."""
    return TABLE.rows(observations.watched(case, across=True))
