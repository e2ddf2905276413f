"""Tests of the share of known names: names on cited lines count once per case, names of a single site separately."""

from __future__ import annotations

from pathlib import Path

from benchmarks.names_known import measure, names, own

STACK = """[<0>] jbd2_log_wait_commit+0xa5/0x110 [jbd2]
[<0>] no_such_function_anywhere+0x1/0x2
[<0>] do_fsync+0x38/0x60
"""


def case(folder: Path, lines: str) -> Path:
    """Write a case with one stack and a fact that cites some of its lines."""
    home = folder / "one"
    home.mkdir()
    (home / "stack.txt").write_text(STACK)
    (home / "truth.yaml").write_text(
        f"layer: storage\nfacts:\n- {{file: stack.txt, lines: {lines!r}, says: it waits, subject: fsync}}\n"
    )
    return folder


def test_it_counts_the_names_on_the_cited_lines_only(tmp_path: Path) -> None:
    found = measure(case(tmp_path, "1-2"), whole=False)
    assert (found["names"], found["known"], found["share"]) == (2, 1, 0.5)
    assert found["unknown"] == {"functions": ["no_such_function_anywhere"]}


def test_it_counts_all_lines_if_asked(tmp_path: Path) -> None:
    found = measure(case(tmp_path, "1"), whole=True)
    assert (found["names"], found["known"], found["lines"]) == (3, 2, "all")


def test_a_frame_in_a_log_is_a_function_and_a_line_of_no_format_is_no_message() -> None:
    frame = {"text": " ? native_queued_spin_lock_slowpath+0x185/0x1b0", "source": "syslog"}
    assert [(area, name) for area, name, _ in names("logs", frame, None)] == [
        ("functions", "native_queued_spin_lock_slowpath")
    ]
    assert list(names("logs", {"text": "50% 12012", "source": "text"}, None)) == []


def test_an_error_is_known_by_its_call_and_a_setting_by_its_value() -> None:
    call = {"name": "connect", "err": "ECONNREFUSED", "peer_port": 5432}
    assert {area for area, _, _ in names("syscalls", call, None)} == {"calls", "errors", "ports"}
    setting = {"scope": "sysctl", "name": "vm.swappiness", "value": "90"}
    ((area, name, seen),) = names("params", setting, None)
    assert (area, name) == ("settings", "sysctl:vm.swappiness")
    assert {"parameter": "vm.swappiness", "group": "sysctl", "value": "90"} in seen


def test_names_of_one_site_are_set_apart() -> None:
    assert own("ports", "45408")
    assert not own("ports", "5432")
    assert own("functions", "github.com/example/shop/orders.(*Queue).Push")
    assert not own("functions", "do_fsync")
    assert not own("counters", "sysctl:anything")
