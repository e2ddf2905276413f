"""Tests that single long events stand out, with a bound that depends on the kind of listing."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.event_latencies import FEW, observe
from rules.observers.observer import Sighting

FILES = ("TIME", "COMM", "PID", "T", "BYTES", "LAT(ms)", "FILENAME")
ENDS = ("PID", "COMM", "DADDR", "DPORT", "LAT(ms)")


def seen(heading: tuple[str, ...], *cells: tuple[str, ...]) -> list[Sighting]:
    rows: list[dict[str, Any]] = [
        {"line_no": n, "part": 1, "table_no": 1, "heading": list(heading), "cells": list(c)}
        for n, c in enumerate(cells, 4)
    ]
    return list(observe(Case.of_tables({"rows": rows})))


@pytest.mark.parametrize(("ms", "n", "stands"), [("16.0", FEW, True), ("15.9", FEW, False), ("16.0", FEW - 1, False)])
def test_a_disk_stands_out_if_half_of_its_reads_and_writes_are_late(ms: str, n: int, stands: bool) -> None:
    (one,) = seen(("COMM", "DISK", "T", "LAT(ms)"), *[("ledgerd", "sdq", "R", ms)] * n)
    assert (not one.normal, one.seen == ({"event": "block-io-slow"},)) == (stands, stands)


def test_the_longest_are_cited_first() -> None:
    rows = [("ledgerd", "sdq", "R", ms) for ms in ("2.1", "812.4", "640", "1310.6", "901", "833")]
    (one,) = seen(("COMM", "DISK", "T", "LAT(ms)"), *rows)
    assert one.headline == (
        "5 of 6 reads and writes of sdq took 16 ms and more, the middle one 0.823 s, the longest 1.311 s"
    )
    assert [c.line_from for c in one.lines] == [7, 8, 9, 5, 6, 4]
    assert one.share == pytest.approx(0.9995, abs=1e-4)


def test_late_syncs_and_other_operations_of_files() -> None:
    rows = [
        ("03:12", "ledgerd", "41", "S", "0", "900.0", "a.log"),
        ("03:12", "rsync", "42", "R", "9", "300.0", "b.img"),
    ]
    sync, read = seen(FILES, *rows)
    assert sync.headline == "1 syncs of files are listed, the longest of a.log by ledgerd 0.900 s"
    assert (sync.share, sync.seen, read.seen) == (
        0.75,
        ({"event": "file-sync-late"},),
        ({"event": "file-operation-late"},),
    )
    (short,) = seen(FILES, ("03:12", "ledgerd", "41", "S", "0", "99.9", "a.log"))
    assert short.normal


@pytest.mark.parametrize(
    ("ms", "names"),
    [("3031.1", ({"event": "connect-after-a-second"},)), ("899", ({"call": "connect"},)), ("99.9", None)],
)
def test_late_connects_by_their_end(ms: str, names: Any) -> None:
    made = seen(ENDS, ("8", "relayd", "10.2.0.41", "6379", ms), ("8", "relayd", "10.2.0.41", "6379", "0.4"))
    assert [s.seen for s in made] == ([] if names is None else [names])


def test_cells_that_are_no_number_and_other_tables_are_left_out() -> None:
    assert seen(ENDS, ("8", "relayd", "10.2.0.41", "6379", "n/a")) == []
    assert seen(("NAME", "LAT(ms)"), ("relayd", "9000")) == []
    assert seen(("NAME", "AGE"), ("relayd", "9000")) == []


@pytest.mark.parametrize(
    ("heading", "cell", "longest"),
    [("LATms", "2104.0", "2.104 s"), ("LATENCY(us)", "310000", "0.310 s"), ("DELTA(ms)", "120", "0.120 s")],
)
def test_headings_of_latencies_in_other_spellings(heading: str, cell: str, longest: str) -> None:
    (one,) = seen(("PID", "COMM", heading, "HOST"), ("91", "fetchd", cell, "mirror.example"))
    assert one.headline == (
        f"1 of 1 look-ups of names took 0.100 s and more, 1 different names, the longest of mirror.example by fetchd {longest}"
    )
    assert (one.seen, one.share) == (({"event": "lookup-took-long"},), 1.0)


def test_two_columns_under_one_heading_are_parted() -> None:
    (one,) = seen(("PID", "LATms HOST"), ("91", "0.2 a.example"), ("92", "4000.1 b.example"))
    assert one.headline.startswith("1 of 2 look-ups of names took 0.100 s and more")
    assert seen(("PID", "LATms HOST"), ("91", "0.2 a.example")) == []


def test_a_device_is_a_disk() -> None:
    (one,) = seen(("DEVICE", "CMD", "LATENCY(us)"), *[("sdq", "ledgerd", "812000")] * FEW)
    assert one.seen == ({"event": "block-io-slow"},)
