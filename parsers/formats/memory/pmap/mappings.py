"""Classify the mappings of an address map: region, kind of shared memory, segment."""

from __future__ import annotations

import polars as pl


def named() -> list[pl.Expr]:
    """Return expressions for region, shm_kind, shmid of rows with `mapping` (as printed) and `inode` (text, NULL if not printed)."""
    mapping = pl.col("mapping")
    shared = mapping.str.contains(r"shmid=|^/?SYSV[0-9a-f]{8}")
    shm_kind = pl.coalesce(mapping.str.extract(r"^\[ *([a-z]+) shmid="), pl.when(shared).then(pl.lit("sysv")))
    region = (
        pl.when(shared)
        .then(pl.lit("shm"))
        .when(mapping.str.contains(r"^\[ *heap"))
        .then(pl.lit("heap"))
        .when(mapping.str.contains(r"^\[ *(?:alt)?stack"))
        .then(pl.lit("stack"))
        .when(mapping.str.contains(r"^\[ *anon") | (mapping.is_null() & pl.col("inode").eq("0").fill_null(False)))
        .then(pl.lit("anon"))
        .when(mapping.is_null() | mapping.str.starts_with("["))
        .then(pl.lit("other"))
        .otherwise(pl.lit("file"))
    )
    hex_id = mapping.str.extract(r"shmid=0x([0-9a-fA-F]{1,15})\b").str.to_integer(base=16, strict=False)
    # In -X and maps a System V segment has its shmid in the inode column; the name contains the key.
    by_inode = pl.when(mapping.str.contains(r"^/?SYSV")).then(pl.col("inode").cast(pl.Int64, strict=False))
    return [
        region.alias("region"),
        shm_kind.alias("shm_kind"),
        pl.coalesce(hex_id, by_inode).alias("shmid"),
    ]
