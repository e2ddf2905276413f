"""Tests of levels of one sample: each stands out from its bound on and is a measure below it."""

from __future__ import annotations

import pytest

from rules.observers import levels_of_one_sample
from tests.rules.observers.of_text import told

SWAP = "     9000000 K total memory\n     8000000 K used memory\n       90000 K free memory\n     4000000 K total swap\n     {} K used swap\n"
IFUTIL = (
    "09:00:01     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil\n"
    "09:10:01      eth9   9000.00    900.00   9000.00    900.00      0.00      0.00      0.00     {0}\n"
    "09:20:01      eth9   9000.00    900.00   9000.00    900.00      0.00      0.00      0.00     {0}\n"
)
SWITCHES = (
    "09:00:01      UID       PID   cswch/s nvcswch/s  Command\n09:00:02     1000      9001 {}.00     10.00  tilld\n"
    "09:00:02        0         9      9.00      0.00  kthreadd\n"
)
ENGINES = (
    "  Engine Busy Utilization        CPU Busy   I/O Busy       Idle\n"
    "  ------------------------       --------   --------   --------\n"
    "    Engine 0                        {0} %      0.5 %      0.5 %\n"
    "    Engine 1                        {0} %      0.5 %      0.5 %\n"
    "  ------------------------       --------   --------   --------\n"
    "  Average                           {0} %      0.5 %      0.5 %\n"
)


@pytest.mark.parametrize(
    ("text", "bad", "good", "event"),
    [
        (SWAP, "3990000", "900000", "swap-used-up"),
        (IFUTIL, "98.00", "38.00", "interface-at-its-speed"),
        (SWITCHES, "90000", "900", "program-switches-always"),
        (ENGINES, "99.0", "19.0", "engines-never-rest"),
    ],
)
def test_a_level_at_its_bound(text: str, bad: str, good: str, event: str) -> None:
    assert [made.seen for made in told(levels_of_one_sample, text.format(bad))] == [({"event": event},)]
    assert [made.normal for made in told(levels_of_one_sample, text.format(good))] == [True]


NICSTAT = (
    "    Time      Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs %Util    Sat\n"
    "09:00:01     net9  9000.0   900.0  9000.0   900.0  1000.0   900.0  {}   0.00\n"
)
DLADM = (
    "LINK         MEDIA                STATE      SPEED  DUPLEX    DEVICE\n"
    "net9         Ethernet             up         100    {}      e1000g9\n"
    "net8         Ethernet             unknown    0      half      e1000g8\n"
)
ADAPTER = (
    "Name      InterfaceDescription            Status LinkSpeed\n"
    "----      --------------------            ------ ---------\n"
    "LAN9      Intel(R) Gigabit CT Desktop     Up     {}\n"
)
SWAP_L = "swapfile             dev  swaplo blocks   free\n/dev/dsk/c9t0d0s1   32,1      16 9000000   {}\n"
TYPEPERF = (
    '"(PDH-CSV 4.0)","\\\\S9\\Network Interface(LAN9)\\Bytes Total/sec","\\\\S9\\Network Interface(LAN9)\\Current Bandwidth"\n'
    '"02/11/2031 09:00:01.000","{0}","100000000.0"\n"02/11/2031 09:00:02.000","{0}","100000000.0"\n'
)


@pytest.mark.parametrize(
    ("text", "bad", "good", "event"),
    [
        (NICSTAT, "97.0", "17.0", "interface-at-its-speed"),
        (DLADM, "half", "full", "link-at-half-duplex"),
        (ADAPTER, "100 Mbps", "1 Gbps", "link-below-its-speed"),
        (SWAP_L, "900", "9000000", "swap-used-up"),
        (TYPEPERF, "12300000.0", "1230000.0", "interface-at-its-speed"),
    ],
)
def test_the_same_in_other_listings(text: str, bad: str, good: str, event: str) -> None:
    assert [made.seen for made in told(levels_of_one_sample, text.format(bad))] == [({"event": event},)]
    assert [made for made in told(levels_of_one_sample, text.format(good)) if not made.normal] == []
