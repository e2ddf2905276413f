"""Listings of tracers: what happens again and again stands out; few or mixed events do not."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.tracer_lists import observe
from tests.parsers.formats.evidence import read_bytes


def seen(text: str) -> list[Sighting]:
    return list(observe(Case.of_tables({k: v.to_dicts() for k, v in read_bytes(text.encode()).tables.items()})))


def started(*commands: str) -> str:
    return "PCOMM            PID    PPID   RET ARGS\n" + "".join(
        f"{c.split('/')[-1].split()[0]:<16} {700 + n:<6} 41     0   {c}\n" for n, c in enumerate(commands)
    )


@pytest.mark.parametrize(("n", "others", "stands"), [(5, 20, True), (4, 0, False), (5, 21, False)])
def test_a_program_that_is_started_again_and_again(n: int, others: int, stands: bool) -> None:
    made = seen(started(*["/usr/bin/id -u app"] * n, *(f"/bin/tool{x} --part {x}" for x in range(others))))
    assert [one.seen for one in made] == [({"event": "same-program-again"},)] * stands
    if stands:
        assert made[0].headline == f"{n} of {n + others} started programs are `/usr/bin/id -u app`"


@pytest.mark.parametrize(("failed", "found", "stands"), [(5, 5, True), (5, 6, False), (4, 0, False)])
def test_opens_that_fail(failed: int, found: int, stands: bool) -> None:
    lines = [f"88     rubyd    -1 2   /opt/gems/{n}/lib/x.rb" for n in range(failed)]
    lines += [f"88     rubyd    7  0   /opt/app/{n}.rb" for n in range(found)]
    made = seen("PID    COMM     FD ERR PATH\n" + "\n".join(lines) + "\n")
    assert [one.seen for one in made] == [({"event": "opens-fail"},)] * stands


@pytest.mark.parametrize(("n", "others", "stands"), [(3, 3, True), (2, 0, False), (3, 4, False)])
def test_segments_that_were_sent_again(n: int, others: int, stands: bool) -> None:
    ends = ["192.0.2.9:8443"] * n + [f"192.0.2.{20 + x}:443" for x in range(others)]
    lines = [f"0{x % 10}:11:02 0      4  198.51.100.1:5{x:04} R> {end}  SYN_SENT" for x, end in enumerate(ends)]
    made = seen("TIME     PID    IP LADDR:LPORT        T> RADDR:RPORT     STATE\n" + "\n".join(lines) + "\n")
    assert [one.subject for one in made] == ["192.0.2.9:8443"] * stands
    if stands:
        assert made[0].headline.endswith("went to 192.0.2.9:8443, 3 of them to open a connection")


@pytest.mark.parametrize(("drops", "stands"), [(100, True), (99, False)])
def test_packets_that_the_kernel_drops(drops: int, stands: bool) -> None:
    made = seen(
        "Issue Ctrl-C to stop monitoring\n"
        f"{drops} drops at tcp_conn_request+2c1 (0xffffffff81723a10)\n3 drops at icmp_rcv+18f (0xffffffff8176c1ff)\n"
    )
    assert [one.seen for one in made] == [({"event": "dropped in tcp_conn_request"},)] * stands


@pytest.mark.parametrize(
    ("hits", "misses", "n", "stands"),
    [(400, 600, 3, True), (600, 400, 3, False), (400, 600, 2, False), (40, 60, 3, False)],
)
def test_a_cache_that_holds_little(hits: int, misses: int, n: int, stands: bool) -> None:
    row = f"{hits:8} {misses:8} {7:8} {hits / (hits + misses):9.2%} {31:12} {912:10}\n"
    made = seen("    HITS   MISSES  DIRTIES  HITRATIO   BUFFERS_MB  CACHED_MB\n" + row * n)
    assert [one.seen for one in made] == [({"event": "files-not-cached"},)] * stands
