"""Tests of listings that no format knows: cells unlike the others, near their limit, or counting errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from rules.case.case import Case
from rules.observers.listed_values import NEAR_PCT, ROWS, TIMES, observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import Seen
from tests.parsers.formats.evidence import read_bytes


def listing(text: str, table: int = 1) -> list[Sighting]:
    heading, *rows = (line.split() for line in text.strip().splitlines())
    made = [
        {"line_no": n, "table_no": table, "row_no": n - 1, "heading": heading, "cells": cells}
        for n, cells in enumerate(rows, 2)
    ]
    return list(observe(Case.of_tables({"rows": made})))


def heads(text: str) -> list[str]:
    return [s.headline for s in listing(text)]


PODS = """
NAME   CPU(cores)  MEMORY(bytes)
web-1  12m         210Mi
web-2  11m         212Mi
web-3  985m        220Mi
web-4  13m         208Mi
"""


def test_a_cell_unlike_the_others_of_its_column() -> None:
    (made,) = listing(PODS)
    assert made.headline == "CPU(cores) of web-3 is 985m, the others 12m (middle of 3)"
    assert [(c.line_from, c.role) for c in made.lines] == [(4, "CPU(cores) 985m"), (2, "a usual one")]


@pytest.mark.parametrize(("largest", "n"), [(TIMES, 1), (TIMES - 0.1, 0)])
def test_five_times_the_middle_and_most_of_the_sum(largest: float, n: int) -> None:
    rows = "\n".join(f"t{k} {'1.0' if k else largest}" for k in range(ROWS + 1))
    assert len(heads(f"TABLE reads\n{rows}")) == n


def test_numbers_that_are_names_and_short_listings_say_nothing() -> None:
    assert heads("COMMAND PID\na 1\nb 2\nc 3\nd 30000\n") == []
    assert heads("NAME reads\na 1\nb 2\nc 3000\n") == []
    assert heads("NAME reads\na 5\nb 6\nc 5\nd 6\n") == []
    assert list(observe(Case.of_tables({}))) == []


@pytest.mark.parametrize(("used", "n"), [(NEAR_PCT, 1), (NEAR_PCT - 1, 0), (101, 0)])
def test_use_near_all_of_it(used: float, n: int) -> None:
    assert len(heads(f"Filesystem Size Use% Mounted\n/dev/sda1 20G {used:.0f}% /\n/dev/sdb1 20G 3% /data\n")) == n


def test_what_is_used_beside_its_limit() -> None:
    assert heads("NAME used limit\nfiles 1000 1024\nlocks 5 1024\n") == ["used of files is 1000, limit is 1024"]
    assert heads("NAME used limit\nfiles 100 1024\nlocks 5 0\n") == []


def test_columns_of_errors_that_are_not_zero() -> None:
    text = "NAME READY RESTARTS\nweb-1 1/1 0\nweb-2 1/1 37\nweb-3 1/1 2\n"
    assert heads(text) == ["RESTARTS of web-2 is 37; 2 of 3 rows have some"]
    assert heads("NAME errors\neth0 0\neth1 0\n") == []


def test_a_paste_from_end_to_end(tmp_path: Path) -> None:
    from rules.case.reading import open_paths

    (tmp_path / "top.txt").write_text("$ kubectl top pods\n" + PODS.lstrip(), encoding="utf-8")
    case = Case(open_paths([tmp_path / "top.txt"], None, tmp_path)[0]).with_text()
    assert [s.subject for s in observe(case)] == ["CPU(cores) of web-3"]


def stats(*cells: tuple[str, str], name: str = "MEM USAGE / LIMIT") -> list[Sighting]:
    made = [
        {"line_no": n, "table_no": 1, "row_no": n - 1, "heading": ["NAME", name], "cells": list(row)}
        for n, row in enumerate(cells, 2)
    ]
    return list(observe(Case.of_tables({"rows": made})))


def test_a_cell_with_its_limit_is_told_where_it_is_near_else_the_fullest_is_a_measure() -> None:
    (made,) = stats(("web", "1.5GiB / 2GiB"), ("db", "512MiB / 2GiB"))
    assert made.headline == "MEM USAGE of web is 1.5GiB, 75.0 % of its limit of 2GiB"
    assert (made.normal, made.lines[0].line_from) == (True, 2)
    near = stats(("web", "1.5GiB / 2GiB"), ("db", "1.6GiB / 2GiB"))
    assert [(s.normal, s.lines[0].line_from) for s in near] == [(False, 3)]


def test_a_cell_without_a_limit_or_of_another_kind_says_nothing() -> None:
    assert stats(("web", "0B / 0B"), ("db", "--")) == []
    assert stats(("web", "1.5GiB / 2GiB"), name="BLOCK I/O") == []


@pytest.mark.parametrize(
    ("device", "use", "seen"),
    [
        ("/dev/vdb1", "100%", [({"event": "file-system-full"},)]),
        ("/dev/vdb1", "97%", [()]),
        ("/dev/loop3", "100%", []),
    ],
)
def test_a_full_file_system_is_one_and_an_image_is_none(device: str, use: str, seen: list[tuple[Seen, ...]]) -> None:
    row = {
        "line_no": 2,
        "table_no": 1,
        "row_no": 1,
        "heading": ["Filesystem", "Size", "Used", "Avail", "Use%", "Mounted on"],
        "cells": [device, "90G", "90G", "0", use, "/data"],
    }
    made = list(observe(Case.of_tables({"rows": [row]})))
    assert [s.seen for s in made] == seen


DF = """
Filesystem            kbytes    used   avail capacity  Mounted on
/dev/md/dsk/d10     41302108 41302108       0   100%    /
/dev/md/dsk/d20     82601216 12001100 70600116    15%    /data
/dev/md/dsk/d30     82601216  9001100 73600116    11%    /export
/dev/md/dsk/d40     82601216  9901100 72700116    12%    /opt
devfs                    190      190       0   100%    /dev
"""


def of_text(text: str) -> list[Sighting]:

    return list(observe(Case.of_tables({"rows": read_bytes(text.encode()).tables["rows"].to_dicts()})))


def test_a_full_file_system_is_told_as_full_and_not_as_unlike_the_others() -> None:
    full = [s for s in of_text(DF) if s.seen == ({"event": "file-system-full"},)]
    assert [s.headline for s in full] == ["capacity of /dev/md/dsk/d10 / is 100%"]
    assert len([s for s in of_text(DF) if s.subject == full[0].subject]) == 1


def test_df_of_aix_has_a_column_of_two_words() -> None:
    made = of_text(
        "Filesystem    MB blocks      Free %Used    Iused %Iused Mounted on\n"
        "/dev/fslv03     4096.00      0.00  100%     9001    31% /u01\n"
    )
    assert [s.headline for s in made] == ["%Used of /dev/fslv03 /u01 is 100%"]


@pytest.mark.parametrize(
    ("row", "share", "normal"),
    [
        ("pool7 vg7 twi-aotz-- 90.00g 99.20 11.00", 0.5, False),
        ("pool7 vg7 twi-aotz-- 90.00g 11.00 98.40", 0.5, False),
        ("pool7 vg7 twi-aotz-- 90.00g 92.00 11.00", 0.4, False),
        ("pool7 vg7 twi-aotz-- 90.00g 61.00 11.00", 0.4, True),
    ],
)
def test_a_thin_pool_is_full_and_a_volume_in_it_is_not(row: str, share: float, normal: bool) -> None:
    """A volume that is written to its end tells nothing: only its pool may refuse blocks."""
    heading = ["LV", "VG", "Attr", "LSize", "Data%", "Meta%"]
    volume = ["disk1", "vg7", "Vwi-aotz--", "40.00g", "100.00", ""]
    rows = [
        {"line_no": n, "table_no": 1, "row_no": n - 1, "heading": heading, "cells": cells}
        for n, cells in enumerate((row.split(), volume), 2)
    ]
    made, *more = observe(Case.of_tables({"rows": rows}))
    assert (made.share, made.normal, more) == (share, normal, [])
    assert bool(made.seen) == (share == 0.5)


@pytest.mark.parametrize(
    ("row", "full"),
    [
        ("night9 vg7 swi-a-s--- 9.00g  data9 97.20", True),
        ("night9 vg7 swi-I-s--- 9.00g  data9 100.00", True),
        ("night9 vg7 swi-a-s--- 9.00g  data9 31.20", False),
        ("night9 vg7 Vwi-a-tz-- 9.00g pool7 data9 97.20", False),
    ],
)
def test_a_snapshot_is_nearly_full_if_its_room_is_its_own(row: str, full: bool) -> None:
    heading = ["LV", "VG", "Attr", "LSize", "Pool", "Origin", "Data%"]
    origin = ["data9", "vg7", "owi-aos---", "90.00g", "", "", ""]
    rows = [
        {"line_no": n, "table_no": 1, "row_no": n - 1, "heading": heading, "cells": cells}
        for n, cells in enumerate((origin, row.split(" ")), 2)
    ]
    made = [s for s in observe(Case.of_tables({"rows": rows})) if s.seen == ({"event": "snapshot-nearly-full"},)]
    assert bool(made) == full


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("Caption FreeSpace Size\nE: 900000 90000000000\nF: 80000000000 90000000000", True),
        ("Caption FreeSpace Size\nE: 9000000000 90000000000", False),
        ("NAME SIZE ALLOC FREE FRAG CAP HEALTH\nvault 9T 8.8T 210G 60% 97% ONLINE", True),
        ("NAME SIZE ALLOC FREE FRAG CAP HEALTH\nvault 9T 8.3T 710G 60% 92% ONLINE", False),
        ("NAME CAP STATE\nvault 97% ONLINE", False),
    ],
)
def test_drives_and_pools_are_full_by_their_own_bound(text: str, full: bool) -> None:
    assert any({"event": "file-system-full"} in s.seen for s in listing(text)) is full


def test_inodes_of_bsd_are_used_up_and_devfs_is_always_full() -> None:
    heading = ["Filesystem", "1K-blocks", "Used", "Avail", "Capacity", "iused", "ifree", "%iused", "Mounted on"]
    cells = [
        ["/dev/da7p2", "90000", "40000", "50000", "44%", "70000", "0", "100%", "/srv"],
        ["devfs", "1", "1", "0", "100%", "0", "0", "100%", "/dev"],
    ]
    rows = [
        {"line_no": n, "table_no": 1, "row_no": n - 1, "heading": heading, "cells": row}
        for n, row in enumerate(cells, 2)
    ]
    made = list(observe(Case.of_tables({"rows": rows})))
    assert [(s.headline, s.seen) for s in made] == [
        ("%iused of /dev/da7p2 /srv is 100%", ({"event": "file-system-full"},))
    ]
