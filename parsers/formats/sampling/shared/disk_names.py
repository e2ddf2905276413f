"""Recognise disk names of partitions and stacked devices, whose traffic another row counts as well."""

from __future__ import annotations

import polars as pl

_LINUX = (
    r"(?:sd|vd|xvd)[a-z]{1,3}[0-9]+|hd[a-d][0-9]+|(?:nvme[0-9]+n[0-9]+|mmcblk[0-9]+)p[0-9]+|cciss[/!]c[0-9]+d[0-9]+p[0-9]+"
    r"|(?:md|dm-|drbd|bcache)[0-9]+(?:p[0-9]+)?|mapper/.*"
)
_SOLARIS = r"c[0-9]+(?:t[0-9A-Za-z]+)?d[0-9]+[sp][0-9]+|(?:s?sd|cmdk|dad|vdc|blkdev)[0-9]+,[a-z]{1,2}|md[0-9/]+"
PART_OF = rf"^(?:/dev/)?(?:{_LINUX}|{_SOLARIS})$"
"""Names of partitions (`sda1`, `c0t0d0s0`, `sd4,a`) and of devices made of others (`md0`, `dm-2`)."""


def part_of(device: pl.Expr) -> pl.Expr:
    """Return by its name whether a device must not be summed with the others."""
    return device.str.contains(PART_OF)
