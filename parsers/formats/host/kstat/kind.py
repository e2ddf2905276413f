"""What is known about kstat beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("kstat", "arcstat"),
    intervals={"kstat": (), "arcstat": ()},
    next={
        "*": ("kstat -p of the module, twice, 60 s apart", "prstat -mL 5 12"),
    },
)
