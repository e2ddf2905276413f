"""Tests that strace -y's annotation names a call's target if the trace does not show how its descriptor was made."""

from __future__ import annotations

import polars as pl
import pytest

from rules.case.case import Case
from rules.observers.traced import calls


def target(*rows: tuple[str, str, int | None, int | None]) -> list[tuple[str | None, str | None]]:
    listed = [
        {"line_no": n, "seq": n, "pid": 7, "lwp": 7, "t_local": float(n), "stamp": "start", "state": "done",
         "name": name, "args": args, "fd": fd, "ret": ret, **({"path": args.split('"')[1]} if '"' in args else {})}
        for n, (name, args, fd, ret) in enumerate(rows, 1)
    ]  # fmt: skip
    (found,) = calls(Case.of_tables({"syscalls": listed}), pl.col("name") != "close")
    return list(found.sort("line_no").select("kind", "target").iter_rows())


@pytest.mark.parametrize(
    ("args", "kind", "on"),
    [
        ("3</dev/loop1>, xxx, 16384, 0", "file", "/dev/loop1"),
        ("3</dev/loop1<block 7:1>>, xxx", "file", "/dev/loop1"),
        ("3<TCP:[10.0.0.1:40000->10.0.0.9:1521]>, xxx", "socket", "10.0.0.9:1521"),
        ("3<TCPv6:[[::1]:40000->[::1]:5432]>, xxx", "socket", "[::1]:5432"),
        ("3<UDP:[10.0.0.1:40000->10.0.0.53:53]>, xxx", "name service", "10.0.0.53:53"),
        ("3<pipe:[4711]>, xxx", "pipe", None),
        ("3<socket:[4711]>, xxx", "socket", None),
        ("3, xxx", "other", None),
    ],
)
def test_the_words_behind_a_descriptor(args: str, kind: str, on: str | None) -> None:
    assert target(("write", args, 3, 5)) == [(kind, on)]


def test_who_made_the_descriptor_counts_before_the_words() -> None:
    made = ("openat", 'AT_FDCWD, "/etc/hosts", O_RDONLY', None, 3)
    assert target(made, ("read", "3</etc/hosts (deleted)>, xxx", 3, 5))[1] == ("file", "/etc/hosts")
