"""Test that mount options become settings of their mount point, and dd's last line the time of a copy, not a stack."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parsers.formats.evidence import read_bytes


def rows(text: str, table: str) -> list[dict[str, Any]]:
    reading = read_bytes(text.encode())
    assert reading.account.kind == "text"
    return reading.tables[table].to_dicts()


@pytest.mark.parametrize(
    "line",
    [
        "fs1:/srv /mnt/a nfs rw,vers=3,timeo=7,hard 0 0",
        "fs1:/srv on /mnt/a type nfs (rw,vers=3,timeo=7,hard)",
    ],
)
def test_a_mount_of_another_host(line: str) -> None:
    made = {(r["entity"], r["name"]): r["value"] for r in rows(f"{line}\n", "params")}
    assert made == {("/mnt/a", "nfs vers"): "3", ("/mnt/a", "nfs timeo"): "7", ("/mnt/a", "nfs hard"): "set"}


def test_a_local_file_system_tells_only_what_makes_programs_wait() -> None:
    made = rows("/dev/sda1 / ext4 rw,sync,data=ordered,stripe=8 0 0\n", "params")
    assert [(r["name"], r["value"]) for r in made] == [("ext4 sync", "set")]


def test_seconds_of_dd_and_no_frames_of_a_stack() -> None:
    text = (
        "507510784 bytes (508 MB, 484 MiB) copied, 186 s, 2,7 MB/s\n"
        "511705088 bytes (512 MB, 488 MiB) copied, 232,651 s, 2,2 MB/s\n"
        "1048576 bytes transferred in 0.5 secs (2097152 bytes/sec)\n"
    )
    made = rows(text, "logs")
    assert [(r["op"], r["elapsed_s"]) for r in made] == [
        ("a copy of 507,510,784 bytes", 186.0),
        ("a copy of 511,705,088 bytes", 232.651),
        ("a copy of 1,048,576 bytes", 0.5),
    ]
