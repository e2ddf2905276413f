"""Tests of known values of a server's status: they stand out from the bound of their manual on."""

from __future__ import annotations

import pytest

from rules.observers import status_values
from tests.rules.observers.of_text import told


@pytest.mark.parametrize(
    ("text", "bad", "good", "status"),
    [
        ("Server thread count:  {}\nJobs pending:  9\n", "240", "9", "server thread count"),
        (
            "Lock waits = 90\nTime database waited on locks (ms) = {}\n",
            "912233",
            "912",
            "time database waited on locks ms / lock waits",
        ),
        ("pending tasks: {}\n- shop9.orders9: 9\n", "912", "9", "pending tasks"),
        (
            "| wsrep_flow_control_paused | {} |\n| wsrep_cluster_size | 3 |\n",
            "0.91",
            "0.01",
            "wsrep flow control paused",
        ),
        (
            "cluster.pay9.upstream_rq_timeout: {}\ncluster.pay9.upstream_rq_total: 9000\n",
            "700",
            "7",
            "upstream rq timeout / upstream rq total",
        ),
        ("CurrConns: {}\nUptime_sec: 900\nMaxconn: 900\n", "900", "90", "currconns / maxconn"),
        ("TCP high-water: 9\nrecursive clients: {}/800/900\n", "900", "9", "recursive clients of"),
        ("NAME   TARGETS    REPLICAS\nshop9  {}/70%  3\npay9   9%/70%    3\n", "310%", "31%", "targets of"),
        (
            "ip        heap.percent cpu name\n10.9.0.9 {}           9   node9\n10.9.0.8 40           9   node8\n",
            "97",
            "41",
            "heap percent",
        ),
        (
            "Tcp:\n    90000 segments received\n    900000 segments sent out\n    {} segments retransmitted\n",
            "27000",
            "2700",
            "segments retransmitted / segments sent out",
        ),
        (
            "/sys/class/net/net7/statistics/rx_packets:900000\n/sys/class/net/net7/statistics/rx_fifo_errors:{}\n",
            "27000",
            "270",
            "rx fifo errors / rx packets",
        ),
        (
            "%Cpu(s):  8.1 us,  2.0 sy,  0.0 ni, 31.2 id,  0.3 wa,  0.0 hi,  0.2 si, {} st\n",
            "58.2",
            "0.2",
            "st @ hi",
        ),
        (
            "ReceivedUnicastPackets : 900000\nReceivedDiscardedPackets : {}\n",
            "27000",
            "270",
            "receiveddiscardedpackets / receivedunicastpackets",
        ),
        ("IO delay {}%\nSWAP usage 0.00%\n", "71.4", "1.4", "io delay"),
        ("$ cat /proc/sys/kernel/random/entropy_avail\n{}\n", "11", "911", "entropy avail"),
        ("$ cat /proc/91/schedstat\n9000 {} 70\n", "81000", "810", "time waiting / time running"),
        (
            "        {} paging space I/Os blocked with no psbuf\n",
            "812033",
            "812",
            "paging space i os blocked with no psbuf",
        ),
    ],
)
def test_a_value_at_its_bound(text: str, bad: str, good: str, status: str) -> None:
    assert [made.seen[0].get("status") for made in told(status_values, text.format(bad))] == [status]
    assert told(status_values, text.format(good)) == []


def test_a_mean_of_a_few_tells_nothing() -> None:
    text = "Lock waits = 3\nTime database waited on locks (ms) = 9000\n"
    assert told(status_values, text) == []


def test_percents_of_little_traffic_tell_nothing() -> None:
    text = "Tcp:\n    90 segments received\n    900 segments sent out\n    27 segments retransmitted\n"
    assert told(status_values, text) == []


def test_several_values_of_one_name_are_told_once_with_the_worst() -> None:
    text = "name   qcur  scur  slim\nweb9   30    5     50\nweb8   90    5     50\nweb7   0     5     50\n"
    [made] = told(status_values, text)
    assert (made.value, made.n) == (90.0, 2)
    assert "web8" in made.headline


def test_a_name_of_an_exporter_is_known_by_its_last_words() -> None:
    text = "envoy_cluster_upstream_rq_timeout 900\nenvoy_cluster_upstream_rq_total 9000\n"
    assert [made.seen[0]["status"] for made in told(status_values, text)] == ["upstream rq timeout / upstream rq total"]


def test_a_value_may_need_another_one_beside_it() -> None:
    assert told(status_values, "NAME   CPU%  RSS9\nweb9   99%   812\nweb8   98%   811\n") == []
    text = "NAME   CPU(cores)  CPU%  MEMORY%\nnode9  3990m       99%   40%\nnode8  3980m       98%   41%\n"
    assert [made.value for made in told(status_values, text)] == [99.0]
