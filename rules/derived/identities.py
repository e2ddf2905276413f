"""One row per name or address that two parts of one moment (same host and phase) show with contradicting identities.

Inputs: `syscalls` (attaches, semaphore calls), `pmap`, `ipcs_sem`, `ps`. Another identity under the same name means
that the parts come from different starts of an instance, or that somebody edited a figure by hand: joins by id would be
wrong.
Columns: `kind` segment (one base address, two shmids), semaphore (a set that a trace uses and no listing of the same
moment holds), listing (an id that breaks the steps of its own listing), program (a program that runs once per instance,
under two pids); `name` (the address as 0x..., the set, the program); `id_a`, `id_b` as printed (for a listing: the
expected and the printed one); artifact_a, line_a, artifact_b, line_b; `cut` (true: a listing has omitted lines, so that
an absent id proves nothing); n (rows behind it: attaches, calls, ids).
Worked example: a trace attaches shmid 16777280 at 0x380000000, a map of the same host and phase has shmid 16777246
there: kind segment. Ids 12941057, 12973826, 12006595 of consecutive keys step by 32769, then 13006595 was expected and
one digit differs: kind listing.
Cost: n log n in attaches, sets and processes; of a trace only those calls are read. Source: shmat(2), semctl(2);
Linux numbers sets by sequence times 32768 plus index.
"""

from __future__ import annotations

import itertools
from typing import Any

import polars as pl

from rules.derived.derived_table import CaseTables, DerivedTable, Scope

TABLE = DerivedTable(
    "identities",
    {
        "host": pl.String(),
        "phase": pl.String(),
        "kind": pl.String(),
        "name": pl.String(),
        "id_a": pl.String(),
        "id_b": pl.String(),
        "artifact_a": pl.Int64(),
        "line_a": pl.Int64(),
        "artifact_b": pl.Int64(),
        "line_b": pl.Int64(),
        "cut": pl.Boolean(),
        "n": pl.Int64(),
    },
)
NEEDS = ("syscalls", "pmap", "ipcs_sem", "ps", "notes")
SCOPE: Scope = "room"
VERSION = "1"

MOMENT = ["host", "phase"]
SEM_CALLS = ["semctl", "semop", "semtimedop", "semsys", "ipc"]
SINGLETON = r"^(ora_[a-z0-9]{4}_\S+|asm_[a-z0-9]{4}_\S+|mdb_[a-z0-9]{4}_\S+|apx_[a-z0-9]{4}_\S+)$"
"""Names of background processes of an Oracle instance, of which each start has one."""
STEPS = 2
"""Minimum number of equal steps that make a step the rule of a listing; a single exception from it is worth a question.
"""
DIGITS = 6
"""Minimum number of digits of an id; shorter ones differ in one digit by chance."""


def segments(attaches: pl.DataFrame, maps: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the attaches whose shmid differs from that of the map's segment at the same base address."""
    base = (
        maps.filter(pl.col("shmid").is_not_null() & pl.col("host").is_not_null())
        .sort("artifact_id", "line_no")
        .group_by("artifact_id", *MOMENT, "pid", "shmid", maintain_order=True)
        .agg(pl.col("addr").min(), pl.col("line_no").first())
    )
    seen = attaches.filter(
        pl.col("arg_addr").is_not_null() & pl.col("arg_id").is_not_null() & pl.col("host").is_not_null()
    )
    joined = seen.join(
        base, left_on=[*MOMENT, "arg_addr"], right_on=[*MOMENT, "addr"], nulls_equal=True, suffix="_b"
    ).sort("artifact_id", "line_no", "artifact_id_b", "line_no_b")
    found = []
    for (host, phase, address), rows in joined.group_by(*MOMENT, "arg_addr", maintain_order=True):
        if rows.filter(pl.col("arg_id") == pl.col("shmid")).height:
            continue
        one = rows.row(0, named=True)
        found.append(
            {
                "host": host, "phase": phase, "kind": "segment", "name": f"0x{address:X}", "id_a": str(one["arg_id"]), "id_b": str(one["shmid"]),
                "artifact_a": one["artifact_id"], "line_a": one["line_no"], "artifact_b": one["artifact_id_b"], "line_b": one["line_no_b"],
                "cut": False, "n": rows["line_no"].n_unique(),
            }
        )  # fmt: skip
    return found


def absent_sets(calls: pl.DataFrame, sets: pl.DataFrame, cut: set[tuple[int, int]]) -> list[dict[str, Any]]:
    """Return the sets that a trace uses and no listing of the same moment holds.

    `cut` holds the (artifact, part) whose listings have omitted lines.
    """
    found = []
    used = calls.filter(pl.col("arg_id").is_not_null() & pl.col("host").is_not_null() & pl.col("name").is_in(SEM_CALLS))
    used = used.sort("artifact_id", "line_no")
    for (host, phase, semid), rows in used.group_by(*MOMENT, "arg_id", maintain_order=True):
        listed = sets.filter((pl.col("host") == host) & pl.col("phase").eq_missing(pl.lit(phase)))
        if listed.is_empty() or listed.filter(pl.col("semid") == semid).height:
            continue
        first, one = listed.row(0, named=True), rows.row(0, named=True)
        places = set(listed.select("artifact_id", "part").iter_rows())
        found.append(
            {
                "host": host, "phase": phase, "kind": "semaphore", "name": f"set {semid}", "id_a": str(semid), "id_b": None,
                "artifact_a": one["artifact_id"], "line_a": one["line_no"], "artifact_b": first["artifact_id"], "line_b": first["line_no"],
                "cut": bool(places & cut), "n": rows.height,
            }
        )  # fmt: skip
    return found


def broken_steps(sets: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the ids that break the constant step of their listing and differ from the expected id in a single digit.

    A listing of three has two steps, of which only one can be right. The expected step is 32769 (consecutive sets:
    sequence and index both one higher) if it occurs, else the commonest one that occurs twice.
    """
    found = []
    for (artifact, _, host, phase), rows in sets.group_by("artifact_id", "part", "host", "phase", maintain_order=True):
        ids = rows["semid"].to_list()
        steps = [b - a for a, b in itertools.pairwise(ids)]
        counts = {s: steps.count(s) for s in steps}
        usual = max(counts, key=lambda s: (counts[s], s == 32769), default=None)
        if usual is None or not usual or (counts[usual] < STEPS and usual != 32769):
            continue
        for at, (before, here) in enumerate(itertools.pairwise(ids), start=1):
            expected = before + usual
            if here == expected or not _one_digit(expected, here):
                continue
            found.append(
                {
                    "host": host, "phase": phase, "kind": "listing", "name": f"set {here}", "id_a": str(expected), "id_b": str(here),
                    "artifact_a": artifact, "line_a": rows["line_no"][at - 1], "artifact_b": artifact, "line_b": rows["line_no"][at],
                    "cut": False, "n": len(ids),
                }
            )  # fmt: skip
    return found


def _one_digit(a: int, b: int) -> bool:
    return len(str(a)) == len(str(b)) >= DIGITS and sum(x != y for x, y in zip(str(a), str(b), strict=True)) == 1


def moved_programs(ps: pl.DataFrame, maps: pl.DataFrame) -> list[dict[str, Any]]:
    """Return programs that run once per instance and have different pids in different parts of the same moment."""
    name = pl.coalesce("args", "comm").str.split(" ").list.first()
    listed = ps.filter(pl.col("lwp").is_null()).select(
        "artifact_id", "part", *MOMENT, "line_no", "pid", name.alias("name")
    )
    mapped = maps.select(
        "artifact_id", "part", *MOMENT, "line_no", "pid", pl.col("command").str.split(" ").list.first().alias("name")
    ).unique(["artifact_id", "part", "pid", "name"], keep="first", maintain_order=True)
    both = pl.concat([listed, mapped]).filter(
        pl.col("name").str.contains(SINGLETON) & pl.col("pid").is_not_null() & pl.col("host").is_not_null()
    )
    found = []
    for (host, phase, program), rows in both.sort("artifact_id", "part", "line_no").group_by(
        *MOMENT, "name", maintain_order=True
    ):
        parts = [set(g["pid"]) for _, g in rows.group_by("artifact_id", "part", maintain_order=True)]
        if len(parts) < 2 or set.intersection(*parts):
            continue
        one = rows.row(0, named=True)
        other = rows.filter(pl.col("pid") != one["pid"]).row(0, named=True)
        found.append(
            {
                "host": host, "phase": phase, "kind": "program", "name": program, "id_a": str(one["pid"]), "id_b": str(other["pid"]),
                "artifact_a": one["artifact_id"], "line_a": one["line_no"], "artifact_b": other["artifact_id"], "line_b": other["line_no"],
                "cut": False, "n": rows.height,
            }
        )  # fmt: skip
    return found


def build(case: CaseTables) -> pl.DataFrame:
    """Return `identities` of the whole case."""
    maps = case.table("pmap")
    sets = case.table("ipcs_sem").filter(pl.col("semid").is_not_null())
    # Traces are large: they are searched only if a listing could contradict them.
    names = [*(["shmat"] if maps.height else []), *(SEM_CALLS if sets.height else [])]
    asked = ["artifact_id", "part", *MOMENT, "line_no", "name", "arg_id", "arg_addr"]
    using = pl.col("name").is_in(names) & pl.col("arg_id").is_not_null()
    calls = case.table("syscalls", asked, using) if names else None
    elided = case.table("notes").filter(pl.col("kind") == "elided").select("artifact_id", "part").iter_rows()
    return TABLE.rows(
        [
            *(segments(calls.filter(pl.col("name") == "shmat"), maps) if calls is not None else []),
            *(absent_sets(calls, sets, set(elided)) if calls is not None else []),
            *broken_steps(sets),
            *moved_programs(case.table("ps"), maps),
        ]
    )
