"""Names of disks: which are a partition or a stacked device, whose traffic is counted by another row as well."""

from __future__ import annotations

import polars as pl

_LINUX = (
    r"(?:sd|vd|xvd)[a-z]{1,3}[0-9]+|hd[a-d][0-9]+|(?:nvme[0-9]+n[0-9]+|mmcblk[0-9]+)p[0-9]+|cciss[/!]c[0-9]+d[0-9]+p[0-9]+"
    r"|(?:md|dm-|drbd|bcache)[0-9]+(?:p[0-9]+)?|mapper/.*"
)
_SOLARIS = r"c[0-9]+(?:t[0-9A-Za-z]+)?d[0-9]+[sp][0-9]+|(?:s?sd|cmdk|dad|vdc|blkdev)[0-9]+,[a-z]{1,2}|md[0-9/]+"
PART_OF = rf"^(?:/dev/)?(?:{_LINUX}|{_SOLARIS})$"
"""Partitions (`sda1`, `c0t0d0s0`, `sd4,a`) and devices made of others (`md0`, `dm-2`)."""


def part_of(device: pl.Expr) -> pl.Expr:
    """Say whether a device must not be summed with the others, by its name."""
    return device.str.contains(PART_OF)
