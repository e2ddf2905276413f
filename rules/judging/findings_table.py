"""The table `findings`: findings of stage-1 rules on this case, for rules of stage 2. No rule of stage 1 may read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import DerivedTable

FACTS = pl.List(pl.Struct({"key": pl.String(), "value": pl.Float64()}))
"""Type of `facts` in the files; in SQL it is MAP(VARCHAR, DOUBLE), so `facts['cycle_s']`."""

EVIDENCE = pl.List(
    pl.Struct({"artifact_id": pl.Int64(), "line_from": pl.Int64(), "line_to": pl.Int64(), "role": pl.String()})
)
"""Type of the citations of a finding, as `ev` makes them; a stage-2 rule may cite them again."""

TABLE = DerivedTable(
    "findings",
    {
        "artifact_id": pl.Int64(),
        "host": pl.String(),
        "phase": pl.String(),
        "clock": pl.String(),
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
        "rule": pl.String(),
        "kind": pl.String(),
        "subject": pl.String(),
        "tier": pl.String(),
        "severity": pl.String(),
        "decibans": pl.Int64(),
        "layer": pl.String(),
        "evidence_group": pl.String(),
        "magnitude": pl.Float64(),
        "facts": FACTS,
        "t_from": pl.Float64(),
        "t_to": pl.Float64(),
        "contiguous": pl.String(),
        "by_statement": pl.Boolean(),
        "evidence": EVIDENCE,
    },
)
"""Place and lines are those of the first citation; `host` is the finding's own. Times are in seconds of the row's
clock.
"""


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table `findings` in the form that the files have.

    `facts` may be a mapping; without `evidence` the row cites its own line.
    """
    made = dict(row)
    facts = made.get("facts") or {}
    if isinstance(facts, Mapping):
        made["facts"] = [
            {"key": k, "value": float(v)} for k, v in facts.items() if isinstance(v, (int, float)) and v is not None
        ]
    if made.get("evidence") is None and made.get("line_no") is not None:
        first = made["line_no"]
        made["evidence"] = [
            {
                "artifact_id": made.get("artifact_id"),
                "line_from": first,
                "line_to": made.get("line_end") or first,
                "role": "rows",
            }
        ]
    return made
