"""Drops and full receive buffers of sockets stand out; drops of a TCP connection and old totals do not, or only a little."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.socket_memory import observe


def seen(*samples: dict[str, float], **socket: Any) -> list[Sighting]:
    """Return what is seen of one socket in several samples; the figures stand on the line below it."""
    of = {"state": "UNCONN", "local_ip": "10.0.0.1", "local_port": 514, "recvq": 0, "pid": 77, "comm": "logd", **socket}
    sockets = [{"line_no": 10 * n, "part": 1, "sample": n, **of} for n in range(1, len(samples) + 1)]
    ss = {"part": 1, "grp": "ss_tcp", "item": "10.0.0.1:514 > 0.0.0.0:*", "mode": "level"}
    counters = [
        {"line_no": 10 * n + 1, "sample": n, "name": f"skmem_{name}", "value": value, **ss}
        for n, figures in enumerate(samples, 1)
        for name, value in figures.items()
    ]
    return list(observe(Case.of_tables({"sockets": sockets, "counters": counters})))


def test_drops_that_go_on_at_a_full_buffer() -> None:
    (made,) = seen({"r": 0, "rb": 8192, "d": 0}, {"r": 8000, "rb": 8192, "d": 1203}, recvq=7000)
    assert made.headline == (
        "1,203 packets were dropped at the socket 10.0.0.1:514 of logd (77), 1,203 of them between the first sample and the last"
    )
    assert made.beside == "its receive buffer is full: 8,000 of 8,192 bytes, and 7,000 bytes wait to be read"
    assert [(c.line_from, c.line_to) for c in made.lines] == [(20, 21)]
    assert made.seen


def test_an_old_total_says_little_and_is_recognised_as_nothing() -> None:
    (once,) = seen({"r": 0, "rb": 8192, "d": 1}, comm=None, pid=None)
    assert once.headline == "1 packet was dropped at the socket 10.0.0.1:514"
    (twice,) = seen({"r": 0, "rb": 8192, "d": 1203}, {"r": 0, "rb": 8192, "d": 1203})
    assert all((one.share, one.seen, one.beside) == (0.1, (), None) for one in (once, twice))


@pytest.mark.parametrize(("used", "full"), [(7373, True), (7372, False)])
def test_a_buffer_is_full_when_nine_tenths_are_used(used: int, full: bool) -> None:
    made = seen({"r": used, "rb": 8192, "d": 0})
    assert [s.headline for s in made] == [
        f"The receive buffer of 10.0.0.1:514 of logd (77) is full: {used:,} of 8,192 bytes"
    ] * full


def test_a_small_limit_is_no_full_buffer() -> None:
    assert seen({"r": 2304, "rb": 2304, "d": 0}) == []


def test_a_connection_of_tcp_counts_duplicates() -> None:
    assert seen({"r": 8192, "rb": 8192, "d": 40}, state="ESTAB", proto="tcp") == []
    (made,) = seen({"r": 0, "rb": 8192, "d": 40}, state="LISTEN", proto="tcp")
    assert (made.value, made.seen) == (40.0, ())
