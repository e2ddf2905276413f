"""Tests of LSN-002 from raw text: the client's stamps and the server's trace on one host's clock give the corroborated
tier.

server   accept one [======== reads 3.5 s ========] accept two
client         starts two [------- 3.11 s --------]
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from rules.model import Report
from rules.registry import LIBRARY
from rules.writing.loader import load_file

BEGAN = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
SERVER = """\
100 {0:.6f} epoll_wait(4, [{{EPOLLIN, {{u32=3, u64=3}}}}], 16, -1) = 1 <0.000010>
100 {1:.6f} accept4(3, {{sa_family=AF_INET, sin_port=htons(40000), sin_addr=inet_addr("127.0.0.1")}}, [128 => 16], SOCK_CLOEXEC) = 6 <0.000020>
100 {2:.6f} pread64(9, "data", 4096, 0) = 4096 <3.500000>
100 {3:.6f} close(6) = 0 <0.000020>
100 {4:.6f} accept4(3, {{sa_family=AF_INET, sin_port=htons(40001), sin_addr=inet_addr("127.0.0.1")}}, [128 => 16], SOCK_CLOEXEC) = 7 <0.000020>
100 {5:.6f} close(7) = 0 <0.000020>
100 {6:.6f} epoll_wait(4, [], 16, 5000) = 0 <5.000010>
"""
STAMPS = (0.0, 0.0001, 0.0003, 3.5010, 3.5016, 3.5020, 3.5024)
CASE = """\
hosts: {{box: {{os: linux, role: db, tz: UTC}}, other: {{os: linux, role: client, tz: UTC}}}}
artifacts:
  - {{file: server.txt, host: box, role: listener}}
  - {{file: clients.csv, host: {client}}}
"""


def judged(folder: Path, client: str = "box", began: float = 0.4, seconds: float = 3.11) -> Report:
    folder.mkdir()
    zero = BEGAN.timestamp()
    (folder / "server.txt").write_text(SERVER.format(*(zero + s for s in STAMPS)), encoding="utf-8")
    rows = [(began, seconds), *((12.0 + n, 0.001) for n in range(3))]
    stamped = [f"{BEGAN + timedelta(seconds=at):%Y-%m-%d %H:%M:%S.%f},{took}" for at, took in rows]
    (folder / "clients.csv").write_text("\n".join(["time,connect_s", *stamped, ""]), encoding="utf-8")
    (folder / "case.yaml").write_text(CASE.format(client=client), encoding="utf-8")
    spec, status = open_paths([folder], None, folder.with_name("read"))
    assert status == 0
    return evaluate(spec, rules=[load_file(LIBRARY / "listener" / "wait-before-accept.yaml")])


def test_stamps_of_one_host_s_clock_corroborate(tmp_path: Path) -> None:
    (wait,) = judged(tmp_path / "case").findings
    assert (wait.tier, wait.decibans, wait.severity, wait.by_statement) == ("corroborated", 15, "critical", False)
    assert wait.facts["wait_s"] == pytest.approx(3.5016 - 0.4, abs=2e-3)
    assert {c.file for c in wait.citations} == {"server.txt", "clients.csv"}
    assert [(c.layer, c.seconds) for c in wait.clears] == [("network", wait.facts["wait_s"])]
    assert not any("Another trace" in text for text in wait.against), "the idle end of the same trace is no other trace"


def test_clocks_of_two_hosts_are_not_set_against_each_other(tmp_path: Path) -> None:
    made = judged(tmp_path / "case", client="other")
    assert not made.findings
    assert [n.rule for n in made.not_evaluable] == ["LSN-002"]
    assert any("conn_times.t" in need for need in made.not_evaluable[0].needs)


def test_a_client_that_came_when_the_listener_was_free_waited_for_nobody(tmp_path: Path) -> None:
    made = judged(tmp_path / "case", began=3.4999, seconds=0.003)
    assert not made.findings
    assert made.quiet == ("LSN-002",)
