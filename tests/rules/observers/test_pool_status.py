"""A pool of ZFS: a rebuild that runs is told with its pace, a slow disk beside its neighbour; a finished scan is normal."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.pool_status import observe
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

STATUS = """  pool: store
 state: ONLINE
status: One or more devices is currently being resilvered.  The pool will
{tab}continue to function, possibly in a degraded state.
action: Wait for the resilver to complete.
  scan: {scan}
config:

{tab}NAME         STATE     READ WRITE CKSUM
{tab}store        ONLINE       0     0     {errors}
{tab}  mirror-0   ONLINE       0     0     0
{tab}    disk-a   ONLINE       0     0     0
{tab}    disk-b   ONLINE       0     0     0  (resilvering)

errors: No known data errors
"""

RUNS = """resilver in progress since Tue Mar  3 08:00:00 2026
{tab}800G scanned at 12,5M/s, 200G issued at 10,0M/s, 800G total
{tab}201G resilvered, 25,00% done, no estimated completion time""".replace("{tab}", "\t")


def seen(text: str) -> list[Sighting]:
    tables = read_bytes(text.encode()).tables
    return list(observe(Case.of_tables({"rows": tables["rows"].to_dicts()}))) if "rows" in tables else []


def test_a_rebuild_is_told_with_its_pace_and_what_is_left_at_it() -> None:
    (made,) = seen(STATUS.format(tab="\t", scan=RUNS, errors=0))
    assert made.headline == (
        "store is being rebuilt (resilver) since Tue Mar  3 08:00:00 2026: 25 % done, 200G of 800G copied at 10.0M/s,"
        " no estimated completion time, at that pace the rest takes 17 h 4 min"
    )
    assert made.beside == "no row of it counts an error"
    assert [c.line_from for c in made.lines] == [6, 7, 8, 12, 13, 14, 15]
    assert recognise(**made.seen[0])[0].mechanism == "volume-rebuild"


def test_errors_of_a_device_are_not_called_none() -> None:
    (made,) = seen(STATUS.format(tab="\t", scan=RUNS, errors=7))
    assert made.beside is None


@pytest.mark.parametrize(
    ("scan", "normal", "headline"),
    [
        (
            "scrub repaired 0B in 03:04:05 with 0 errors on Sun Mar  1 03:04:06 2026",
            True,
            "the last scrub of store took 03:04:05 and ended with 0 errors on Sun Mar  1 03:04:06 2026",
        ),
        (
            "resilvered 12G in 00:04:05 with 3 errors on Sun Mar  1 03:04:06 2026",
            False,
            "the last resilver of store took 00:04:05 and ended with 3 errors on Sun Mar  1 03:04:06 2026",
        ),
        (
            "scrub in progress since Sun Mar  1 00:24:01 2026\n\t1.00T scanned out of 4.00T at 100M/s, 8h44m to go\n\t0 repaired, 25.00% done",
            False,
            "store is being checked (scrub) since Sun Mar  1 00:24:01 2026: 25 % done, 1.00T of 4.00T read at 100M/s, 8h44m to go",
        ),
    ],
)
def test_a_finished_scan_is_normal_unless_it_found_errors(scan: str, normal: bool, headline: str) -> None:
    (made,) = seen(STATUS.format(tab="\t", scan=scan, errors=0))
    assert (made.normal, made.headline) == (normal, headline)


def iostat(*waits: str) -> str:
    rule = "----------  -----  -----" + "  -----" * 12 + "\n"
    disks = "".join(
        f"    disk-{n}      -      -      6    155   490K  6.05M    8ms  {wait:>5}    7ms  {wait:>5}    1us    2us    1ms    1ms\n"
        for n, wait in enumerate(waits, 1)
    )
    return (
        "              capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait\n"
        "pool        alloc   free   read  write   read  write   read  write   read  write   read  write   read  write\n"
        f"{rule}store       2.10T  1.20T     12    310   980K  12.1M   12ms   90ms    9ms   80ms    1us    2us    2ms   30ms\n"
        f"{disks}{rule}"
    )


@pytest.mark.parametrize(
    ("waits", "headline"),
    [
        (("4ms", "400ms"), "disk-2 took 0.400 s for each of its writes (disk_wait), the other disk 4 ms"),
        (("4ms", "2ms", "400ms"), "disk-3 took 0.400 s for each of its writes (disk_wait), the 2 others 3 ms (median)"),
        (("300ms", "400ms"), None),
        (("4ms", "60ms"), None),
        (("400ms",), None),
        (("-", "400ms"), None),
    ],
)
def test_a_disk_slower_than_its_neighbours(waits: tuple[str, ...], headline: str | None) -> None:
    made = [s for s in seen(iostat(*waits)) if s.kind == "disk"]
    assert [s.headline for s in made] == ([headline] if headline else [])
