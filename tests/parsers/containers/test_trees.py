"""Test whole trees of collecting tools: each file's kind is recognised, and its host, day, zone and time are known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parsers.containers.archives import LeftOut, open_members
from parsers.containers.collectors import SMALL, Tree, collector_of, names_a_zone
from parsers.errors import UnknownFormat
from parsers.provenance.members import with_member_facts
from parsers.reading import read
from parsers.tables.parquet import scan
from parsers.text.source import Hints
from tests.parsers.containers import trees


def members(tool: str, folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, facts and account of each file of a tree."""
    name, packed = trees.TREES[tool]
    archive = folder / name
    archive.write_bytes(packed)
    tree, files = Tree(name), []
    for number, member in enumerate(open_members(archive, name)):
        assert not isinstance(member, LeftOut), member
        file = folder / str(number)
        file.write_bytes(member.stream.read())
        files.append((member.path, file))
        if names_a_zone(member.path) and file.stat().st_size <= SMALL:
            tree.learn(member.path, file.read_text())
    for path, file in files:
        facts = tree.facts_of(path)
        try:
            yield path, facts, read(file, with_member_facts(Hints(), facts), None)
        except UnknownFormat as error:
            yield path, facts, error.account


KINDS: dict[str, dict[str, list[str]]] = {
    "sosreport": {
        "proc/meminfo": ["meminfo"],
        "memory/free_-m": ["meminfo"],
        "process/ps_auxwww": ["ps"],
        "networking/netstat_-s": ["netstat"],
        "block/iostat_-x_1_1": ["iostat"],
        "kernel/uname_-a": ["hostinfo"],
        "kernel/sysctl_-a": ["sysctl"],
        "var/log/messages": ["syslog"],
    },
    "supportconfig": {
        "basic-environment.txt": ["hostinfo", "meminfo", "vmstat"],
        "memory.txt": ["meminfo"],
        "network.txt": ["netstat"],
        "messages.txt": ["syslog"],
        "basic-health-check.txt": ["ps"],
        "env.txt": ["sysctl"],
    },
    "OSWatcher": {
        "db1_vmstat_24.03.05.1000.dat": ["vmstat"],
        "db1_meminfo_24.03.05.1000.dat": ["meminfo"],
        "db1_ps_24.03.05.1000.dat": ["ps"],
        "db1_netstat_24.03.05.1000.dat": ["netstat"],
        "db1_iostat_24.03.05.1000.dat": ["iostat"],
    },
    "ExaWatcher": {
        "VmstatExaWatcher_cel01.example.org.dat": ["vmstat"],
        "MeminfoExaWatcher_cel01.example.org.dat": ["meminfo"],
        "PsExaWatcher_cel01.example.org.dat": ["ps"],
        "NetstatExaWatcher_cel01.example.org.dat": ["netstat"],
    },
    "explorer": {
        "uname-a.out": ["hostinfo"],
        "psrinfo-pv.out": ["hostinfo"],
        "vmstat.out": ["vmstat"],
        "ps-ef.out": ["ps"],
        "messages/messages": ["syslog"],
    },
    "snap": {
        "general.snap": ["meminfo", "vmstat"],
        "errpt.out": ["errpt"],
        "tcpip.snap": ["netstat"],
        "kernel.snap": ["vmstat"],
        "oslevel.info": ["hostinfo"],
    },
    "nmon": {"db1_240305_1000.nmon": ["nmon"], "db2_240305_1000.nmon": ["nmon"], "db1_240305_1100.nmon": ["nmon"]},
    "AHF": {"alert_ORCL2.log": ["alert_log"], "rac2_vmstat_24.03.05.1000.dat": ["vmstat"]},
    "cluster-info dump": {"orders-7d9/logs.txt": ["text"], "shop/events.json": ["text"]},
}
HOSTS = {
    "OSWatcher": "db1",
    "ExaWatcher": "cel01.example.org",
    "explorer": "sun1",
    "sosreport": "db1",
    "supportconfig": "db1",
    "AHF": "rac2",
}
TIMED = {
    "OSWatcher": "",
    "ExaWatcher": "",
    "nmon": "",
    "AHF": "",
    "cluster-info dump": "logs.txt",
    "sosreport": "messages",
    "supportconfig": "messages.txt",
    "explorer": "messages/messages",
    "snap": "errpt.out",
}
"""Tool -> ending of the paths of files with times; empty: all files whose kind is recognised."""


@pytest.mark.parametrize("tool", trees.TREES)
def test_each_file_is_of_its_kind_with_host_day_and_zone(tool: str, tmp_path: Path) -> None:
    found = {path: (facts, account) for path, facts, account in members(tool, tmp_path)}
    name = trees.TREES[tool][0]
    assert collector_of(f"{name}!{path}" for path in found) in (tool, f"kubectl {tool}", "OSWatcher")
    for end, kinds in KINDS[tool].items():
        (path,) = [path for path in found if path.endswith(end)]
        facts, account = found[path]
        assert [part.kind for part in account.parts] == kinds, path
        assert account.error is None
        assert account.account.unknown == 0, path
        if tool in HOSTS:
            assert facts.host == HOSTS[tool]
            assert facts.date == "2024-03-05"
        if path.endswith(TIMED[tool]):
            bases = [domain.base for part in account.parts for domain in part.domains if domain.kind.startswith("wall")]
            assert bases, path
        if tool in ("sosreport", "explorer") and path.endswith("messages"):
            assert account.parts[0].domains[0].zone == "Europe/Warsaw"


def test_the_command_in_a_name_says_the_unit_of_figures(tmp_path: Path) -> None:
    file = tmp_path / "free"
    file.write_text(trees.FREE_M)
    path = f"{trees.SOS}/sos_commands/memory/free_-m"
    account = read(file, with_member_facts(Hints(), Tree().facts_of(path)), tmp_path / "reading")
    values = dict(scan(tmp_path / "reading", "meminfo").select("name", "value").collect().rows())
    assert values["MemTotal"] == 7821 * 1024
    assert [note for note in account.notes if "does not print its unit" in note.text] == []


def test_a_tree_of_two_hosts_keeps_their_files_apart(tmp_path: Path) -> None:
    hosts = {path: facts.host for path, facts, _ in members("nmon", tmp_path)}
    assert hosts == {path: path.split("/")[1].split("_")[0] for path in trees.NMON_FOLDER}
