"""Tests of failing ports and disks: their commands, the meaning of the error bits and the speed of the link."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.device_reports import observe
from rules.observers.observer import MOST_LINES, Sighting


def seen(*texts: str) -> list[Sighting]:
    return list(observe(Case.of_tables({"logs": [{"line_no": n, "text": t} for n, t in enumerate(texts, 1)]})))


def test_a_port_is_told_with_its_bits_and_the_speed_afterwards() -> None:
    (made,) = seen(
        "ata7: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        "ata7: SError: { RecovComm 10B8B }",
        "ata7.00: failed command: READ DMA",
        "ata7.00: error: { ICRC ABRT XYZ }",
        "ata7: SATA link up 3.0 Gbps (SStatus 123 SControl 320)",
        "ata7.00: configured for UDMA/100",
        "ata7.00: failed command: READ DMA",
    )
    assert made.headline == (
        "2 commands failed on ata7 (READ DMA): ICRC (checksum wrong between disk and controller), ABRT (given up by the disk), XYZ,"
        " on the link RecovComm 10B8B"
    )
    assert made.beside == "afterwards the link is up 3.0 Gbps, the disk is set to UDMA/100"
    assert [c.line_from for c in made.lines] == [3, 4, 2, 5, 6]


def test_a_disk_is_told_with_its_sense_and_first_sector() -> None:
    (made,) = seen(
        "sd 6:0:0:0: [sdq] tag#3 Sense Key : Medium Error [current] ",
        "sd 6:0:0:0: [sdq] tag#3 Add. Sense: Unrecovered read error",
        "blk_update_request: critical medium error, dev sdq, sector 814 op 0x0:(READ) flags 0x0",
        "I/O error, dev sdq, sector 999",
    )
    assert made.headline == (
        "2 commands failed on sdq (critical medium error, the first at sector 814): Medium Error, Unrecovered read error"
    )


def test_a_link_that_comes_up_is_normal() -> None:
    assert seen("ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)", "ata1.00: configured for UDMA/133") == []
    assert seen("sd 0:0:0:0: [sda] Attached SCSI disk", "data7: failed command: READ DMA") == []


def test_many_errors_of_a_disk_are_few_lines() -> None:
    (made,) = seen(*(f"ata7: SError: {{ E{n} }}" for n in range(60)))
    assert (made.headline[:21], len(made.lines)) == ("ata7 reports errors: ", MOST_LINES)
