"""What fio measured: slow flushes and single requests stand out, quick ones and deep queues do not."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.disk_tests import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

JOB = """wal: (groupid=0, jobs={jobs}): err= 0: pid=771: Mon Feb  2 10:00:00 2026
  write: IOPS={iops}, BW=412KiB/s (422kB/s)(24.0MiB/59652msec); 0 zone resets
    clat (usec): min=6, max=900, avg={clat}, stdev=10.00
    clat percentiles (usec):
     | 99.00th=[   90], 99.50th=[  100], 99.90th=[  200], 99.95th=[  300],
  fsync/fdatasync/sync_file_range:
    sync (usec): min=1000, max=90000, avg=9000.50, stdev=2000.00
    sync percentiles (usec):
     | 95.00th=[ 9000], 99.00th=[{flush}], 99.50th=[50000], 99.90th=[60000]
"""


def seen(iops: str = "103", clat: str = "22.00", flush: str = "33000", jobs: int = 1) -> list[Sighting]:
    text = JOB.format(iops=iops, clat=clat, flush=flush, jobs=jobs)
    return list(observe(Case.of_tables({"rows": read_bytes(text.encode()).table("rows").to_dicts()})))


def test_flushes_that_take_long_and_the_rate_beside_them() -> None:
    flush, rate = seen()
    assert flush.headline == "1 of 100 flushes (fsync) of wal took 33 ms or longer, 9.00 ms on average"
    assert recognise(**flush.seen[0])[0].mechanism == "flush-wait"
    assert (rate.headline, rate.normal) == ("wal made 103 writes per second, 412KiB/s", True)


def test_quick_flushes_are_normal() -> None:
    assert all(s.normal for s in seen(flush=" 2000"))


def test_single_requests_that_take_long_are_told_and_those_of_a_deep_queue_are_not() -> None:
    assert [s.name for s in seen(clat="45000.00", flush=" 2000") if not s.normal] == ["disk_response_ms"]
    assert all(s.normal for s in seen(clat="45000.00", flush=" 2000", jobs=32))
    assert seen(iops="12.5k")[1].value == 12_500.0


def test_requests_of_which_none_waited_behind_another_name_the_disk() -> None:
    (slow, *_) = seen(iops="20", clat="45000.00", flush=" 2000")
    assert [x.strength for x in recognise(**slow.seen[0])] == ["mechanism"]
    (deep, *_) = seen(iops="90", clat="45000.00", flush=" 2000")
    assert [x.strength for x in recognise(**deep.seen[0])] == ["shape"]
