"""What the kernel of Linux reports of a disk and of the way to it: which commands failed, why, and at which speed the link is.

Standing out: a port of libata with a failed command, an error or a link error (SError), told with what its bits mean and with the
speed of the link afterwards; a SCSI disk with a sense key or an input/output error, with its first sector. Normal: links that
come up where nothing failed.
Worked example: `ata3.00: failed command: WRITE DMA EXT`, `error: { ICRC ABRT }`, `SError: { RecovComm BadCRC }`,
`SATA link up 1.5 Gbps`: "1 command failed on ata3 (WRITE DMA EXT): ICRC (checksum wrong between disk and controller), ABRT (given up)".
Cost: one pass over the lines that match, at most `MOST_ROWS` of each artifact. Source: Linux drivers/ata/libata-eh.c
(ata_eh_link_report), Documentation/driver-api/libata.rst; ATA/ATAPI-7, error register; Serial ATA 2.6, SError register; SPC-4,
sense keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.log_times import quoted
from rules.observers.observer import MOST_LINES, Lines, Observer, Sighting, place

OBSERVER = Observer(
    "device-reports",
    "What does the kernel report of disks?",
    ("logs",),
    {"linux": "smartctl -x /dev/DISK; dmesg -T | grep -E 'ata[0-9]|sd[a-z]|nvme'"},
)

MOST_ROWS = 20_000
FAILED_SHARE = 0.4
"""Share of a disk that fails commands: how long each took, the report does not say."""

LINE = r"\bata\d+(?:\.\d+)?: |\[sd[a-z]+\]|\bdev sd[a-z]+, sector "
PORT = re.compile(r"\b(?P<port>ata\d+)(?:\.\d+)?: (?P<said>.*)")
COMMAND = re.compile(r"failed command: (?P<command>[A-Z][A-Z0-9 /]+)")
ERROR = re.compile(r"^error: \{ (?P<bits>[A-Z0-9 ]+?) \}")
SERROR = re.compile(r"^SError: \{ (?P<bits>\w[\w ]*?) \}")
LINK = re.compile(
    r"^(?:SATA link (?P<link>up [\d.]+ Gbps|down)|configured for (?P<mode>\S+)|limiting (?:SATA link )?speed to (?P<least>.+))"
)
DISK = re.compile(
    r"\[(?P<disk>sd[a-z]+)\].*?(?:Sense Key : (?P<key>[A-Z][a-z A-Z]+?)(?= \[|$)|Add\. Sense: (?P<more>.+))"
    r"|(?P<what>[\w/]+(?: \w+)?) error, dev (?P<dev>sd[a-z]+), sector (?P<sector>\d+)"
)

BITS = {
    "UNC": "data that cannot be read, a media error",
    "ICRC": "checksum wrong between disk and controller",
    "IDNF": "sector not found",
    "AMNF": "address mark not found",
    "ABRT": "given up by the disk",
}
"""Bits of the error register of ATA."""


@dataclass
class Device:
    """The facts about one port or disk, each with the row that shows it."""

    name: str
    failed: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    errors: dict[str, dict[str, Any]] = field(default_factory=dict)
    link_errors: dict[str, dict[str, Any]] = field(default_factory=dict)
    speeds: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)
    sense: dict[str, dict[str, Any]] = field(default_factory=dict)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield ports and disks that fail, those with the most failed commands first."""
    rows = case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], pl.col("text").str.contains(LINE)).head(MOST_ROWS)
    found: list[Sighting] = []
    for _, part in rows.collect(engine="streaming").sort("line_no").group_by("artifact_id", maintain_order=True):
        devices: dict[str, Device] = {}
        for row in part.iter_rows(named=True):
            _take(devices, row, str(row["text"]))
        found += [made for one in devices.values() if (made := _sighting(one))]
    return sorted(found, key=lambda s: (-s.value, s.lines[0].line_from))


def _take(devices: dict[str, Device], row: dict[str, Any], text: str) -> None:
    if at := PORT.search(text):
        device, said = devices.setdefault(at["port"], Device(at["port"])), at["said"]
        if found := COMMAND.search(said):
            device.failed.append((row, found["command"].strip()))
        elif found := ERROR.search(said):
            for bit in found["bits"].split():
                device.errors.setdefault(bit, row)
        elif found := SERROR.search(said):
            device.link_errors.setdefault(found["bits"], row)
        elif (device.failed or device.errors or device.link_errors) and (found := LINK.search(said)):
            kind = str(found.lastgroup)
            device.speeds[kind] = (
                row,
                {"link": "the link is ", "mode": "the disk is set to ", "least": "limited to "}[kind] + found[kind],
            )
    elif found := DISK.search(text):
        name = found["disk"] or found["dev"]
        device = devices.setdefault(name, Device(name))
        if found["dev"]:
            device.failed.append((row, f"{found['what']} error, the first at sector {int(found['sector'])}"))
        else:
            device.sense.setdefault((found["key"] or found["more"]).strip(), row)


def _sighting(one: Device) -> Sighting | None:
    rows = [row for row, _ in one.failed[:1]]
    rows += [*one.errors.values(), *one.link_errors.values(), *one.sense.values()]
    if not rows:
        return None
    n = len(one.failed)
    why = [f"{bit} ({BITS[bit]})" if bit in BITS else bit for bit in one.errors]
    why += list(one.sense)
    why += [f"on the link {bits}" for bits in one.link_errors]
    what = f" ({one.failed[0][1]})" if n else ""
    failed = f"{n:,} command{'s' if n > 1 else ''} failed on {one.name}{what}" if n else f"{one.name} reports errors"
    speeds = list(one.speeds.values())
    cited = {
        (row["artifact_id"], row["line_no"]): quoted(row["text"], 80) for row in (*rows, *(row for row, _ in speeds))
    }
    return Sighting(
        "device",
        one.name,
        failed + (f": {', '.join(why)}" if why else ""),
        "failed_count",
        float(n),
        "count",
        tuple(Lines(artifact, line, line, text) for (artifact, line), text in list(cited.items())[:MOST_LINES]),
        **place(rows[0]),
        share=FAILED_SHARE,
        n=max(1, n),
        beside=f"afterwards {', '.join(words for _, words in speeds)}" if speeds else None,
    )
