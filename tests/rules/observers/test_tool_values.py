"""Values of chronyc, timedatectl, vmstat -z, virsh and pveperf that say what is wrong; healthy ones say nothing."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.tool_values import observe
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

TRACKING = """$ chronyc tracking
Reference ID    : C6336401 (time1.net.test)
Stratum         : 3
System time     : {away} seconds slow of NTP time
Last offset     : -0.000020000 seconds
Leap status     : {leap}
"""
TIMEDATE = """               Local time: Mon 2026-02-02 10:00:00 UTC
           Universal time: Mon 2026-02-02 10:00:00 UTC
                Time zone: Etc/UTC (UTC, +0000)
System clock synchronized: {synchronised}
              NTP service: active
"""
ZONES = """ITEM                   SIZE  LIMIT     USED     FREE      REQ     FAIL SLEEP
mbuf_packet:            256, 1600000,     900,     124,  700000,      0,   0
mbuf_cluster:          2048,  90000,  {used},       0,  800000, {failed},   0
"""
GUEST = """$ virsh dominfo shop
Max memory:     8388608 KiB
Used memory:    {actual} KiB
$ virsh dommemstat shop
actual {actual}
swap_in 9000
unused {unused}
available 1000000
"""
PVEPERF = """# pveperf /pool
CPU BOGOMIPS:      40000.00
HD SIZE:           900.00 GB (pool)
FSYNCS/SECOND:     {rate}
"""
DOMSTATS = """Domain: 'shop'
  vcpu.current=2
  vcpu.0.time=900000000000
  vcpu.0.delay={delay}
  vcpu.1.time=900000000000
  vcpu.1.delay={delay}
  block.0.name=vdb
  block.0.wr.reqs=5000
  block.0.wr.times={times}
"""


def seen(text: str) -> list[Sighting]:
    tables = {k: v.to_dicts() for k, v in read_bytes(text.encode()).tables.items()}
    held = {k: v for k, v in tables.items() if k in ("params", "counters", "rows")}
    return list(observe(Case.of_tables(held).with_text()))


@pytest.mark.parametrize(
    ("text", "headline", "mechanism"),
    [
        (
            DOMSTATS.format(delay=600000000000, times=5000000000),
            "the virtual processors of the guest waited 20 min 0 s for real ones (delay) and ran 30 min 0 s",
            "cpu-stolen",
        ),
        (
            DOMSTATS.format(delay=6000, times=400000000000),
            "writes of the guest on vdb took 80 ms on average (block.0.wr.times by reqs)",
            "disk-latency",
        ),
        (
            TRACKING.format(away="77.500000000", leap="Normal"),
            "the clock is 1 min 18 s slow of its servers of time",
            "clock-off",
        ),
        (
            "Reference ID    : C6336401 (time1.net.test)\nFrequency       : 2500.125 ppm slow\nSkew            : 1.5 ppm\n",
            "the clock runs 2,500 ppm slow by itself: more than ntpd corrects (500 ppm)",
            "clock-off",
        ),
        (
            TRACKING.format(away="0.000000000", leap="Not synchronised"),
            "the clock follows no server of time (Leap status: Not synchronised)",
            "clock-off",
        ),
        (
            TIMEDATE.format(synchronised="no"),
            "the clock follows no server of time (System clock synchronized: no)",
            "clock-off",
        ),
        (
            ZONES.format(used=" 90000", failed="  4100"),
            "the zone mbuf_cluster is at its limit of 90,000 (90,000 in use) and refused 4,100 requests",
            "socket-buffer-full",
        ),
        (
            GUEST.format(actual=1048576, unused=40000),
            "the hypervisor leaves the guest 1,048,576 kB of 8,388,608 kB, 12.5 %, and 40,000 kB of that are unused",
            "memory-ballooning",
        ),
        (
            PVEPERF.format(rate="25.00"),
            "25 flushes per second (fsync) were made, Proxmox expects more than 200",
            "flush-wait",
        ),
    ],
)
def test_a_value_that_says_what_is_wrong(text: str, headline: str, mechanism: str) -> None:
    (made,) = (s for s in seen(text) if not s.normal)
    assert made.headline == headline
    assert recognise(**made.seen[0])[0].mechanism == mechanism


@pytest.mark.parametrize(
    "text",
    [
        TRACKING.format(away="0.000012000", leap="Normal"),
        TIMEDATE.format(synchronised="yes"),
        ZONES.format(used=" 30000", failed="     0"),
        ZONES.format(used=" 30000", failed="     9"),  # once at its limit, not now
        GUEST.format(actual=1048576, unused=600000),  # small, and with memory to spare
        GUEST.format(actual=8388608, unused=40000),
        PVEPERF.format(rate="2900.00"),
    ],
)
def test_a_healthy_value_says_nothing(text: str) -> None:
    assert [s for s in seen(text) if not s.normal] == []


def test_a_clock_that_is_right_is_a_measure() -> None:
    (made,) = seen(TRACKING.format(away="0.000310000", leap="Normal"))
    assert (made.normal, made.value) == (True, 0.31)
