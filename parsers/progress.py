"""How far a reading has come. Imports nothing, so that a process without Polars can use it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Progress of a reading; `lines` and `bytes` count from the start of the file, also when a reading was resumed."""

    lines: int
    bytes: int
    bytes_total: int
