"""A wireless card that receives slowly under a strong signal, and one that repeats much."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.wireless import BASIC_MBITS, LEAST, RETRIED, STRONG_DBM, observe
from tests.parsers.formats.evidence import read_bytes

DUMP = """Station 02:00:00:00:00:01 (on wlan0)
	inactive time:	16 ms
	rx packets:	4001
	tx packets:	{sent}
	tx retries:	{again}
	tx failed:	1
	signal:  	{signal} dBm
	signal avg:	{signal} dBm
	tx bitrate:	144.4 MBit/s MCS 15 short GI
	rx bitrate:	{rx} MBit/s
	authorized:	yes
"""


def seen(*stations: tuple[float, float, int, int]) -> list[Sighting]:
    text = "".join(DUMP.format(signal=s, rx=rx, sent=sent, again=again) for s, rx, sent, again in stations)
    tables = read_bytes(text.encode()).tables
    return list(
        observe(Case.of_tables({k: tables[k].to_dicts() for k in ("params", "counters") if k in tables}).with_text())
    )


def test_a_slow_rate_under_a_strong_signal() -> None:
    (made,) = seen((-40, 2.0, 3000, 100))
    assert made.headline == (
        "rx bitrate is 2 MBit/s with a strong signal of -40 dBm, tx 144.4 MBit/s; it is that of the last packet that came, look again"
    )
    assert [c.line_from for c in made.lines] == [10, 7, 9]
    assert made.seen == ()


@pytest.mark.parametrize(
    ("signal", "rx", "n"),
    [(STRONG_DBM, BASIC_MBITS, 1), (STRONG_DBM - 1, BASIC_MBITS, 0), (STRONG_DBM, BASIC_MBITS + 1, 0), (-40, 130, 0)],
)
def test_a_weak_signal_and_a_usual_rate_are_normal(signal: float, rx: float, n: int) -> None:
    assert len(seen((signal, rx, 3000, 100))) == n


@pytest.mark.parametrize(
    ("sent", "again", "n"),
    [(LEAST, int(LEAST * RETRIED), 1), (LEAST, int(LEAST * RETRIED) - 1, 0), (LEAST - 1, LEAST, 0)],
)
def test_many_retries(sent: int, again: int, n: int) -> None:
    made = seen((-40, 130, sent, again))
    assert [s.kind for s in made] == ["retries"] * n


def test_each_station_is_judged_by_itself() -> None:
    assert [s.lines[0].line_from for s in seen((-80, 2.0, 10, 0), (-40, 2.0, 10, 0))] == [21]
    assert list(observe(Case.of_tables({}))) == []


@pytest.mark.parametrize(("signal", "event"), [(-84, "wireless-too-weak"), (-70, "wireless-retries")])
def test_many_retries_under_a_weak_signal_have_a_reason(signal: float, event: str) -> None:
    (made,) = seen((signal, 6.5, 3000, 2400))
    assert made.seen == ({"event": event},)
    assert made.headline.endswith(", under a signal of -84 dBm") is (signal == -84)
