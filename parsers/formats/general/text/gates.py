"""Groups of recognisers that are tried only on lines that have what every one of their lines must have, as bits."""

from __future__ import annotations

MACHINE, STATUS, PLATFORM, PROGRAM, DATABASE, STUCK, DRIVER = (1 << n for n in range(7))

ALL = (1 << 7) - 1
"""Bits of a line about which nothing is known yet: each group is tried."""
