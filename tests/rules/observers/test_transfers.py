"""Tests of transfers of files: slow and stalled ones, and those whose other end may be a disk."""

from __future__ import annotations

import pytest

from rules.observers import long_waits, transfers
from tests.rules.observers.of_text import told

RSYNC = "    91,204,881  12%  {rate}    {left} (xfr#1, to-chk=0/1)\n"
WGET = "{name}     31%[====>     ]  91.20M  {rate}    eta {left}\n"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("disk.vmdk       91% 9122MB   0.0KB/s - stalled -\n", [({"event": "transfer-stalls"},)]),
        ("disk.vmdk       91% 9122MB  91.2MB/s   00:09 ETA\n", []),
        ("disk.vmdk       91% 9122MB  91.2KB/s 01:09:12 ETA\n", [({"event": "transfer-creeps"},)]),
        (WGET.format(name="a.iso", rate="912KB/s", left="2m 9s"), [({"event": "transfer-creeps"},)]),
        (WGET.format(name="a.iso", rate="912KB/s", left="9s"), []),
        (WGET.format(name="a.iso", rate="1.10MB/s", left="9m 2s"), []),
        (RSYNC.format(rate="91.20kB/s", left="1:09:12"), [()]),
    ],
)
def test_a_transfer(text: str, seen: list[object]) -> None:
    assert [s.seen for s in told(transfers, text)] == seen


def test_a_log_of_iis_that_is_indented() -> None:
    head = "    #Fields: date time cs-method cs-uri-stem sc-status sc-win32-status time-taken\n"
    rows = "".join(f"    2031-02-03 04:05:0{n} POST /pay.aspx 200 0 910{n}\n" for n in range(3))
    assert [s.subject for s in told(long_waits, head + rows) if s.kind == "wait"] == ["POST /pay.aspx"]
