"""Tests of cumulative counters, within one file and from one file to the next.

file 1   [s1] [s2]          file 2   [s1]
          +-delta-+ within       +---+ across: file 1's last sample to file 2's first
"""

from __future__ import annotations

from typing import Any

from rules.case.case import Case
from rules.derived.counter_growth import TABLE


def rows(artifact: int, *samples: dict[str, float], mode: str | None = "total", host: str | None = "db", **more: Any) -> list[dict[str, Any]]:  # fmt: skip
    """Return samples of one file, with a line for each counter."""
    found: list[dict[str, Any]] = []
    for n, sample in enumerate(samples, start=1):
        before = samples[n - 2] if n > 1 else {}
        for name, value in sample.items():
            grown = value - before[name] if name in before and mode == "total" and value >= before[name] else None
            found.append({"artifact_id": artifact, "host": host, "part": 1, "line_no": len(found) + 1, "sample": n, "grp": "tcp", "name": name,
                          "mode": mode, "value": value, "delta": grown, **more})  # fmt: skip
    return found


def growth(*files: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    made = Case.of_tables({"counters": [r for f in files for r in f]}).derived(TABLE.name)
    return made.select("artifact_id", "name", "delta", "before_artifact", "before_line", "across").rows()


def test_two_files_of_one_host() -> None:
    first, second = rows(1, {"drop": 11, "errs": 5}), rows(2, {"drop": 14, "errs": 5})
    assert growth(first, second) == [(2, "drop", 3, 1, 1, True), (2, "errs", 0, 1, 2, True)]


def test_samples_of_one_file_and_the_next_file() -> None:
    first, second = rows(1, {"drop": 1}, {"drop": 4}), rows(2, {"drop": 9}, {"drop": 9})
    assert growth(first, second) == [
        (1, "drop", 3, 1, 1, False),
        (2, "drop", 5, 1, 2, True),
        (2, "drop", 0, 2, 1, False),
    ]


def test_a_counter_that_fell_says_nothing_of_its_whole_pair() -> None:
    """Check a restart, a wrapped counter or a wrong order: a third file is compared with the second alone."""
    files = [rows(1, {"drop": 11, "errs": 5}), rows(2, {"drop": 14, "errs": 2}), rows(3, {"drop": 15, "errs": 3})]
    assert growth(*files) == [(3, "drop", 1, 2, 1, True), (3, "errs", 1, 2, 2, True)]


def test_other_hosts_unknown_hosts_and_other_phases_are_not_compared() -> None:
    first = rows(1, {"drop": 11})
    assert growth(first, rows(2, {"drop": 14}, host="app")) == []
    assert growth(rows(1, {"drop": 11}, host=None), rows(2, {"drop": 14}, host=None)) == []
    assert growth(rows(1, {"drop": 11}, phase="before"), rows(2, {"drop": 14}, phase="after-1")) == []


def test_levels_and_rows_since_boot_do_not_count() -> None:
    assert growth(rows(1, {"conns": 11}, mode="level"), rows(2, {"conns": 14}, mode="level")) == []
    assert growth(rows(1, {"drop": 11}, first=True), rows(2, {"drop": 14})) == []


def test_nstat_that_does_not_say_what_it_prints() -> None:
    """Check numbers of unknown mode: if one that is not zero stays equal, they are totals; else perhaps growth since
    the first list.
    """
    still = [rows(1, {"InSegs": 100, "Resets": 223}, mode=None), rows(2, {"InSegs": 140, "Resets": 223}, mode=None)]
    assert growth(*still) == [(2, "InSegs", 40, 1, 1, True), (2, "Resets", 0, 1, 2, True)]
    moved = [rows(1, {"InSegs": 100, "Resets": 2}, mode=None), rows(2, {"InSegs": 140, "Resets": 3}, mode=None)]
    assert growth(*moved) == []
    within = rows(1, {"InSegs": 100, "Resets": 2}, {"InSegs": 140, "Resets": 1}, mode=None)
    assert growth(within) == [(1, "InSegs", 40, 1, 1, False)]


def test_clocks_say_which_file_is_earlier(tmp_path: Any) -> None:
    """Check a later file that comes first in the case: its date takes precedence over the order in the case."""
    from rules.case.reading import open_paths

    def listing(drops: int, clock: str) -> str:
        head = "TCP     tcpRtoAlgorithm     =     4     tcpRtoMin           =   400\n"
        return f"{clock}\n{head}        tcpListenDrop       = {drops:5d}     tcpListenDropQ0     =     0\n"

    (tmp_path / "one.txt").write_text(listing(14, "Fri Nov  7 10:16:00 UTC 2008"), encoding="utf-8")
    (tmp_path / "two.txt").write_text(listing(11, "Fri Nov  7 10:15:00 UTC 2008"), encoding="utf-8")
    entries = "".join(f"  - {{file: {name}, kind: netstat, host: db}}\n" for name in ("one.txt", "two.txt"))
    (tmp_path / "case.yaml").write_text(
        f"hosts: {{db: {{os: solaris, tz: UTC}}}}\nartifacts:\n{entries}", encoding="utf-8"
    )
    spec, status = open_paths([tmp_path], None, tmp_path / ".out")
    assert status == 0
    made = Case(spec).derived(TABLE.name).filter(name="tcpListenDrop")
    assert made.select("artifact_id", "delta", "span_s", "before_artifact").rows() == [(1, 3.0, 60.0, 2)]


def test_nothing_to_compare() -> None:
    assert growth([]) == []
    assert growth(rows(1, {"drop": 11})) == []
