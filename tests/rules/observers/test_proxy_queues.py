"""Where requests wait in a proxy: by the timers of its log, and by the queues that it counts."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.proxy_queues import observe
from rules.signatures.signatures import recognise


def logged(*texts: str) -> list[Sighting]:
    return list(observe(Case.of_tables({"logs": [{"line_no": n, "text": text} for n, text in enumerate(texts, 1)]})))


def http(queue: int, connect: int, answer: int, whole: int, server: str = "api/node3") -> str:
    return f'web~ {server} 1/{queue}/{connect}/{answer}/{whole} 200 512 - - ---- 9/9/4/1/0 0/3 "GET / HTTP/1.1"'


def test_the_queue_holds_the_middle_request() -> None:
    (made,) = logged(*(http(n, 2, 40, n + 43) for n in (100, 200, 300, 400, 500)), http(0, 1, 3, 5, "static/cdn"))
    assert made.headline == (
        "5 requests to api/node3 took 0.343 s (median), 0.300 s (87.5 %) of it in the proxy's queue;"
        " half of them 0.200 s to 0.400 s there"
    )
    assert (made.subject, made.seconds, made.of_s, made.normal) == ("api/node3", 0.3, 0.343, False)
    assert [line.line_from for line in made.lines] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([http(0, 5, 200, 206)] * 5, "waiting for the server's answer"),
        ([http(0, 300, 20, 321)] * 5, "connecting to the server"),
        ([http(0, 300, 20, 321)] * 4, None),
        ([http(0, 2, 2000, 2002)] * 2, "waiting for the server's answer"),
        ([http(0, 2, 2000, 2002)], None),
        (
            ["h2 2025-07-01T10:00:00.1Z app/lb/1f 192.0.2.8:4711 198.51.100.2:443 0.000 30.001 -1 504 - 34 366"] * 2,
            "waiting for the server's answer",
        ),
        ([http(60, 5, 30, 99)] * 5, None),
        ([http(-1, -1, -1, 300)] * 5, None),
        (["web pool/s1 900/4/1000 5120 -- 3/3/2/1/0 0/7"] * 5, "in the proxy's queue"),
        (
            ["h2 2025-07-01T10:00:00.1Z app/lb/1f 192.0.2.8:4711 198.51.100.2:443 0.001 0.950 0.000 200 200 34 366"]
            * 5,
            "waiting for the server's answer",
        ),
        (["copied 1/2/3/4/5 of 200 files"] * 5, None),
        (['"GET /a HTTP/2.0" 200 99 rt=2.250 uct=0.001 uht=2.100 urt=2.240'] * 2, "waiting for the server's answer"),
        (['{"upstream_response_time": "2.240", "request_time": "2.250"}'] * 2, "waiting for the server's answer"),
        (['"GET /a HTTP/2.0" 200 99 rt=2.250 uct=0.001 uht=0.100 urt=0.120'] * 2, None),
        (
            ['[2025-07-01T10:00:00.1Z] "GET /a HTTP/1.1" 200 - 0 9 2250 2241 "-" "curl" "1f" "shop" "198.51.100.2:80"']
            * 2,
            "waiting for the server's answer",
        ),
    ],
)
def test_which_part_holds_requests(texts: list[str], words: str | None) -> None:
    made = logged(*texts)
    assert len(made) == (words is not None)
    assert not made or f" of it {words};" in made[0].headline


def counted(*rows: tuple[str, str, float]) -> list[Sighting]:
    counters: list[dict[str, Any]] = [
        {"line_no": n, "item": item, "name": name, "value": value} for n, (item, name, value) in enumerate(rows, 1)
    ]
    return list(observe(Case.of_tables({"counters": counters})))


def test_a_queue_of_now() -> None:
    (made,) = counted(("s1", "qcur", 3.0), ("BACKEND", "qcur", 5.0), ("BACKEND", "qmax", 11.0), ("s1", "qmax", 4.0))
    assert made.headline == "5 requests stand in the queue of BACKEND (qcur), at most 11 so far"
    assert made.lines[0].line_from == 2


def test_an_empty_queue_says_nothing() -> None:
    assert counted(("BACKEND", "qcur", 0.0), ("BACKEND", "qmax", 11.0), ("BACKEND", "scur", 9.0)) == []


def short(queue: int, answer: int, server: str = "api/node3", used: int = 0) -> str:
    return f"in {server} 1/{queue}/0/{answer}/{queue + answer + 1} 200 512 2/2/1/{used}/0 0/3"


def test_few_requests_that_waited_equally_long_are_told_as_such() -> None:
    made = logged(short(7003, 40), short(7001, 90, "api/node4"), short(7002, 12, used=3), short(0, 9))
    (one,) = made
    assert one.headline == (
        "3 of 4 requests to 2 servers stood 7.001 s to 7.003 s in the proxy's queue: equally long, as by a time limit;"
        " 2 of them went to a server with no other connection at their end (srv_conn 0)"
    )
    assert [line.line_from for line in one.lines] == [1, 2, 3]
    assert recognise(**one.seen[0])[0].mechanism == "proxy-queue"


def test_few_requests_that_waited_differently_are_told_where_no_server_is() -> None:
    (one,) = logged(short(7003, 40, used=2), short(1900, 90, used=2))
    assert one.headline == "2 of 2 requests stood 1.900 s to 7.003 s in the proxy's queue"
    assert one.seen == ({"event": "proxy-queue"},)
    assert [s.subject for s in logged(*(http(n, 2, 40, n + 43) for n in (1100, 1200, 1300, 1400, 1500)))] == [
        "api/node3"
    ]


def test_a_peak_of_few_among_many_names_no_reason() -> None:
    (one,) = logged(short(2000, 30, used=5), *[short(0, 30)] * 200)
    assert one.headline == "1 of 201 requests stood 2.000 s in the proxy's queue"
    assert one.seen == ()


@pytest.mark.parametrize("text", [short(999, 10), short(1200, 2400)])
def test_short_waits_and_slow_servers_are_no_queue(text: str) -> None:
    assert logged(text) == []


def test_a_single_request_is_late_from_five_seconds_on() -> None:
    (made,) = logged(http(0, 2, 5000, 5002))
    assert (
        made.headline == "A request to api/node3 took 5.002 s, 5.000 s (100.0 %) of it waiting for the server's answer"
    )
    assert made.seen == ({"event": "server-answers-late"},)
    assert logged(http(0, 2, 4990, 4992)) == []
    assert logged(http(0, 2, 5000, 5002), http(0, 2, 3, 5)) == []


@pytest.mark.parametrize(
    ("flags", "mechanism"),
    [("sQ", "proxy-queue"), ("sC", "service-timeout"), ("SC", "connection-refused"), ("sH", "proxy-wait")],
)
def test_the_flags_of_haproxy_name_where_a_request_ended(flags: str, mechanism: str) -> None:
    text = f'web pool/s1 0/0/-1/-1/9001 503 212 - - {flags}-- 20/20/1/1/3 0/0 "GET / HTTP/1.1"'
    assert {s.mechanism for s in recognise(log=text)} == {mechanism}


def test_a_load_balancer_without_an_answer_of_the_server() -> None:
    text = (
        'app/lb/1f 192.0.2.8:4711 198.51.100.2:443 0.001 -1 -1 504 - 34 366 "GET https://one.example:443/ HTTP/1.1" "-"'
    )
    assert {s.mechanism for s in recognise(log=text)} == {"service-timeout"}
