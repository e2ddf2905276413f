"""Test that the output of a collect block is split at its marks: kind, host, system and zone are known without
questions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parsers.provenance.collect_marks import sections
from parsers.reading import read
from parsers.text.source import Hints, open_text

VMSTAT = """procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----  -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 1  0      0 812340  20480 400123    0    0     1     2  110  220  3  1 96  0  0 2016-04-14 07:12:03
 2  0      0 812100  20480 400125    0    0     0     8  130  260  5  1 94  0  0 2016-04-14 07:12:08
"""


def mark(command: str, **said: str) -> str:
    words = {"tz": "UTC", "os": "linux", "release": "3.10.0", "host": "db1"} | said
    told = " ".join(f"{name}={value}" for name, value in words.items())
    return f"#-- exhibit begin 2016-04-14T07:12:03Z {told} run: {command}\n"


END = "#-- exhibit end 2016-04-14T07:12:13Z status=0\n"


def found(tmp_path: Path, text: str, **hints: Any) -> Any:
    file = tmp_path / "block.txt"
    file.write_text(text, encoding="utf-8", newline="")
    return read(file, Hints(**hints), None)


def test_each_section_is_a_part_of_its_kind_with_what_its_mark_says(tmp_path: Path) -> None:
    text = "collect block\n" + mark("vmstat -t 5 2") + VMSTAT + END + "\n"
    text += mark("uname -a") + "Linux db1 3.10.0 #1 SMP x86_64 GNU/Linux\n" + END + "not here: mpstat\n"
    account = found(tmp_path, text)
    assert [(part.kind, part.line_from, part.line_to) for part in account.parts] == [
        ("vmstat", 3, 6),
        ("hostinfo", 10, 10),
    ]
    first = account.parts[0]
    assert first.facts["host"] == "db1"
    assert first.facts["os_release"] == "3.10.0"
    assert (first.facts["began"], first.facts["ended"]) == ("2016-04-14T07:12:03Z", "2016-04-14T07:12:13Z")
    assert first.system == "linux"
    assert [(domain.kind, domain.zone) for domain in first.domains] == [("wall-local", "UTC")]
    assert [part.facts.get("questions") for part in account.parts] == [None, None]
    assert account.error is None
    assert account.account.unknown == 0


def test_what_a_person_said_goes_before_a_mark(tmp_path: Path) -> None:
    account = found(tmp_path, mark("vmstat 5 2") + VMSTAT + END, os="aix", tz="Europe/Warsaw")
    assert account.parts[0].system == "aix"


def test_words_instead_of_a_table_are_prose_and_no_question(tmp_path: Path) -> None:
    denied = mark("pmap -x 4711") + "pmap: cannot examine 4711: permission denied\n" + END
    account = found(tmp_path, denied + mark("vmstat 5 2") + VMSTAT + END)
    assert [part.kind for part in account.parts] == ["vmstat"]
    assert account.error is None


def test_a_block_that_was_stopped_ends_with_the_file(tmp_path: Path) -> None:
    account = found(tmp_path, mark("vmstat 5 2") + VMSTAT)
    assert [(part.kind, part.line_from, part.line_to) for part in account.parts] == [("vmstat", 2, 5)]
    assert "ended" not in account.parts[0].facts


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_of_any_system_will_do(tmp_path: Path, end: str) -> None:
    text = (mark("vmstat 5 2") + VMSTAT + END).replace("\n", end)
    assert [part.kind for part in found(tmp_path, text).parts] == ["vmstat"]


@pytest.mark.parametrize(
    "text",
    [
        VMSTAT,
        "#-- exhibit begin yesterday\n" + VMSTAT,
        mark("vmstat 5 2").replace("host=db1", "host=../../x") + VMSTAT,
        mark("vmstat 5 2") + END,  # nothing between
    ],
)
def test_other_files_have_no_sections(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.txt"
    file.write_text(text, encoding="utf-8")
    with open_text(file) as opened:
        assert sections(opened) == []


def test_more_marks_than_any_block_has_are_no_borders(tmp_path: Path) -> None:
    file = tmp_path / "many.txt"
    file.write_text((mark("vmstat 5 2") + "x\n" + END) * 2002, encoding="utf-8")
    with open_text(file) as opened:
        assert sections(opened) == []


def test_a_document_of_marks_alone_that_nobody_can_read_is_unknown_prose(tmp_path: Path) -> None:
    account = found(tmp_path, mark("frobnicate") + "what is this about\n" + END)
    assert account.parts == []


def test_a_log_whose_zone_the_host_does_not_name_is_asked_about(tmp_path: Path) -> None:
    log = "".join(
        f"Apr 14 09:1{n}:03 db1 sshd[{700 + n}]: [ID 800047 auth.info] Accepted publickey for ops\n" for n in range(9)
    )
    for tz, asked in (("unknown", True), ("Europe/Warsaw", False)):
        account = found(tmp_path, mark("tail -5000 /var/adm/messages", tz=tz, os="solaris") + log + END)
        (part,) = account.parts
        assert any(question["ask"] == "tz" for question in part.facts.get("questions", ())) is asked


def reading(before: str, behind: str, server: str, by: str = "room.example.org") -> str:
    day = "2016-04-14T07"
    return f"#-- exhibit clock {day}:{before}Z {day}:{behind}Z server={day}:{server}Z by={by}\n"


@pytest.mark.parametrize(
    ("clock", "ahead"),
    [
        # The host shows 12:01 to 12:02, so it has 12:01.0 to 12:03.0 at most, when the server has 14:31.25.
        (reading("12:01", "12:02", "14:31.250000"), "room.example.org -150.250000 -148.250000"),
        (
            reading("12:01", "12:01", "12:01.5") + reading("12:59", "12:59", "12:59.2"),
            "room.example.org -0.200000 0.500000",
        ),
        (reading("12:01", "12:01", "12:01.5") + reading("12:59", "12:59", "11:59.5"), None),
        (reading("12:01", "12:01", "12:01.5") + reading("12:59", "12:59", "12:59.5", "other.example.org"), None),
        (reading("12:02", "12:01", "12:01.5"), None),
        (reading("12:01", "12:02", "14:61.25"), None),
        ("#-- exhibit clock soon\n", None),
    ],
)
def test_readings_of_the_servers_clock_bound_the_hosts(tmp_path: Path, clock: str, ahead: str | None) -> None:
    account = found(tmp_path, "collected by Exhibit\n" + clock + mark("vmstat 5 2") + VMSTAT + END)
    (part,) = account.parts
    assert part.kind == "vmstat"
    assert part.facts.get("server_clock") == ahead
    assert account.error is None
    assert account.account.unknown == 0
