"""Who waits for reads and writes by iotop: a journal names its mechanism, a program only fits, little is normal."""

from __future__ import annotations

import polars as pl
import pytest

from rules.case.case import Case
from rules.observers.io_waiters import SWAPS_PCT, WAITS_PCT, observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

HEAD = "    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND\n"
JOURNAL = "   7031 be/3 root        0.00 B/s   24.10 K/s  0.00 % 88.20 % [jbd2/dm-4-8]\n"
PROGRAM = "   7102 be/4 mongod      1.50 M/s    3.00 M/s  0.00 % 61.00 % mongod --config /etc/mongod.conf\n"


def seen(text: str) -> list[Sighting]:
    tables = {k: v.to_dicts() for k, v in read_bytes(text.encode()).tables.items()}
    return list(observe(Case.of_tables({"rows": tables.get("rows", [])})))


def mechanism(sighting: Sighting) -> tuple[str | None, str]:
    known = recognise(**sighting.seen[0])[0]
    return known.mechanism, known.strength


def test_a_journal_that_waits_names_the_journal() -> None:
    made = seen(HEAD + JOURNAL + PROGRAM)
    assert [s.headline for s in made] == [
        "[jbd2/dm-4-8] waited for reads and writes 88.2 % of the time (IO>), while it read 0 kB per s and wrote 24.1 kB per s",
        "mongod --config /etc/mongod.conf waited for reads and writes 61 % of the time (IO>), while it read 1,536 kB per s and"
        " wrote 3,072 kB per s",
    ]
    assert [mechanism(s) for s in made] == [("journal-wait", "mechanism"), ("disk-latency", "shape")]
    assert made[0].lines[0].line_from == 2


def test_of_several_samples_the_median_counts() -> None:
    head = "10:00:0{n}   PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND\n"
    row = "10:00:0{n}  7102 be/4 mongod    0.00 B/s    1.00 M/s  0.00 % {io:.2f} % mongod\n"
    made = seen("\n".join(head.format(n=n) + row.format(n=n, io=io) for n, io in enumerate((90, 50, 10))))
    assert [(s.value, s.n) for s in made] == [(50.0, 3)]


@pytest.mark.parametrize("command", ["[txg_sync]", "[xfsaild/sdc2]", "[kjournald]", "jbd2/md3-8"])
def test_journals_of_other_file_systems_are_known(command: str) -> None:
    (made,) = seen(HEAD + JOURNAL.replace("[jbd2/dm-4-8]", command))
    assert mechanism(made)[0] == "journal-wait"


def test_waiting_for_swap_is_told_apart() -> None:
    (made,) = seen(HEAD + PROGRAM.replace("0.00 %", "44.00 %").replace("61.00", "3.00"))
    assert mechanism(made) == ("paging", "mechanism")
    assert "from swap 44 % of the time" in made.headline


@pytest.mark.parametrize(("io", "n"), [(WAITS_PCT, 1), (WAITS_PCT - 0.01, 0)])
def test_the_bound_of_waiting(io: float, n: int) -> None:
    assert len(seen(HEAD + PROGRAM.replace("61.00", f"{io:.2f}"))) == n


@pytest.mark.parametrize(("swap", "n"), [(SWAPS_PCT, 1), (SWAPS_PCT - 0.01, 0)])
def test_the_bound_of_swapping(swap: float, n: int) -> None:
    assert len(seen(HEAD + PROGRAM.replace("61.00", "3.00").replace("0.00 %", f"{swap:.2f} %"))) == n


PIDSTAT = """07:00:01 AM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
07:00:03 AM  1000       712      0.00   9000.00      0.00     {ticks}  store
07:00:03 AM     0        41      0.00   1000.00      0.00       2  kworker/0:1
"""


@pytest.mark.parametrize(("ticks", "told"), [(160, True), (30, False)])
def test_who_waits_and_who_writes_by_pidstat(ticks: int, told: bool) -> None:
    """The ticks of an interval of 2 s are at most 200."""
    rows = (
        read_bytes(PIDSTAT.format(ticks=ticks).encode())
        .table("counters")
        .with_columns(interval_s=pl.lit(2.0))
        .to_dicts()
    )
    made = {s.headline: s.normal for s in observe(Case.of_tables({"counters": rows}))}
    waits = "process 712 waited for block devices 80 % of the time (iodelay)"
    assert (waits in made) is told
    assert made["process 712 wrote 9,000 kB per s, 90 % of what the listed wrote"]


def test_several_programs_that_wait_at_once() -> None:
    text = PIDSTAT.format(ticks=180).replace("       2  kworker", "     190  kworker")
    rows = read_bytes(text.encode()).table("counters").with_columns(interval_s=pl.lit(2.0)).to_dicts()
    made = [s.seen for s in observe(Case.of_tables({"counters": rows})) if not s.normal]
    assert made == [({"event": "io-wait-several"},)] * 2
