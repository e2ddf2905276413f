"""Name a process in sentences, whatever of it the evidence prints: its program, its pid, both or neither."""

from __future__ import annotations

import polars as pl


def process_words(comm: str | None, pid: int | None) -> str:
    """Name a process by program and pid.

    >>> process_words("java", 12), process_words("java", None), process_words(None, 12), process_words(None, None)
    ('java (pid 12)', 'java', 'process (pid 12)', 'a process')
    """
    if pid is None:
        return comm or "a process"
    return f"{comm or 'process'} (pid {pid})"


def pid_words(pid: int | None) -> str:
    """Name a process by its pid alone.

    >>> pid_words(12), pid_words(None)
    ('pid 12', 'one process')
    """
    return "one process" if pid is None else f"pid {pid}"


def number_words(pid: int | None, kind: str = "process") -> str:
    """Name a process or thread by its number, for sentences.

    >>> number_words(12), number_words(None), number_words(7, "thread")
    ('process 12', 'a process', 'thread 7')
    """
    return f"a {kind}" if pid is None else f"{kind} {pid}"


def process_named(comm: str = "comm", pid: str = "pid") -> pl.Expr:
    """Name processes like `process_words`, as an expression over two columns."""
    program = pl.when(pl.col(comm) != "").then(pl.col(comm))
    both = pl.format("{} (pid {})", program.fill_null("process"), pl.col(pid))
    return pl.coalesce(both, program, pl.lit("a process"))
