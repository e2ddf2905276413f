"""A name that is looked for in many folders stands out, and a table of calls that is full of look-ups."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.path_searches import FOLDERS, MANY, STORM, observe


def trace(*paths: tuple[str, str | None]) -> list[Sighting]:
    rows = [
        {"pid": 7, "lwp": 7, "line_no": n, "seq": n, "name": "access", "path": path, "err": err}
        for n, (path, err) in enumerate(paths, 1)
    ]
    return list(observe(Case.of_tables({"syscalls": rows})))


def table(**calls: tuple[int, float]) -> list[Sighting]:
    rows = [
        {"line_no": n, "part": 1, "section": "call", "name": name, "n": many, "total_s": took}
        for n, (name, (many, took)) in enumerate(calls.items(), 3)
    ]
    return list(observe(Case.of_tables({"syscall_totals": rows})))


@pytest.mark.parametrize(("folders", "stands"), [(FOLDERS, True), (FOLDERS - 1, False)])
def test_a_name_in_many_folders(folders: int, stands: bool) -> None:
    made = trace(*((f"/srv/till/{n}/Stock.php", "ENOENT") for n in range(folders)), ("/srv/till/Stock.php", None))
    assert len(made) == stands
    if stands:
        assert made[0].headline == "Stock.php was looked for in vain in 6 folders (access, ENOENT)"
        assert [c.line_from for c in made[0].lines] == [1, 6]
        assert made[0].share == pytest.approx(6 / 7)


def test_several_names_are_one_search() -> None:
    made = trace(*((f"/srv/{n}/{name}", "ENOENT") for name in ("a.rb", "b.rb") for n in range(7)))
    assert [s.headline for s in made] == [
        "a.rb was looked for in vain in 7 folders (access, ENOENT); 1 more names likewise, 14 calls together"
    ]


def test_libraries_and_other_errors_are_left_out() -> None:
    assert trace(*((f"/lib/{n}/libz.so.1", "ENOENT") for n in range(9))) == []
    assert trace(*((f"/srv/{n}/a.rb", "EACCES") for n in range(9))) == []


@pytest.mark.parametrize(("n", "took", "stands"), [(MANY, 2.0, True), (MANY - 1, 2.0, False), (MANY, 0.9, False)])
def test_a_table_full_of_look_ups(n: int, took: float, stands: bool) -> None:
    assert bool(table(stat=(n, took), read=(10, 1.0))) is stands


def test_look_ups_of_several_names_add_up() -> None:
    (made,) = table(stat=(STORM // 2, 1.5), lstat=(STORM // 2, 1.5), read=(10, 0.5))
    assert made.headline == "50,000 look-ups of paths (stat, lstat) have 85.7 % of the time of all calls: 3.000 s"
    assert made.seen == ({"event": "path-lookups-only"},)
    assert [c.line_from for c in made.lines] == [3, 4]
