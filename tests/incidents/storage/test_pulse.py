from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import psycopg
import pytest

from incidents.storage import pulse


async def an_answer_after(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "1"


@pytest.fixture
def quick(monkeypatch):
    """Shorten the time-out of the database, so that these tests are quick."""
    monkeypatch.setattr(pulse, "SILENT_S", 0.2)
    monkeypatch.setattr(pulse, "EVERY_S", 0.02)
    monkeypatch.setattr(pulse, "_SLICE_S", 0.05)


def test_an_answer_that_comes_is_no_silence(quick):
    async def ask() -> bool:
        silence = asyncio.Event()
        await pulse.heard(an_answer_after(0), silence)
        return silence.is_set()

    assert asyncio.run(ask()) is False


def test_silence_is_told_before_the_answer_comes_at_last(quick):
    async def ask() -> list[bool]:
        silence, answer = asyncio.Event(), asyncio.Event()
        asking = asyncio.create_task(pulse.heard(answer.wait(), silence))
        await silence.wait()
        told = [asking.done()]
        answer.set()
        await asking
        return told

    assert asyncio.run(ask()) == [False]


def test_time_in_which_this_process_was_held_up_is_no_silence(quick):
    async def ask() -> bool:
        silence, answer = asyncio.Event(), asyncio.Event()
        asking = asyncio.create_task(pulse.heard(answer.wait(), silence))
        for _ in range(3):
            await asyncio.sleep(0)
            time.sleep(0.3)  # nobody runs, as on a loaded machine
        answer.set()
        await asking
        return silence.is_set()

    assert asyncio.run(ask()) is False


def test_an_error_is_silence_at_once_and_the_next_answer_ends_it(quick, monkeypatch):
    class Held:
        async def execute(self, query: str) -> None:
            if breaks:
                raise breaks.pop()

        async def close(self) -> None:
            closed.append(self)

    async def connect(**_: object) -> Held:
        if refusals:
            raise refusals.pop()
        return Held()

    breaks, refusals = [psycopg.OperationalError("cut")], []
    closed: list[Held] = []
    monkeypatch.setattr(psycopg.AsyncConnection, "connect", connect)

    async def follow() -> list[object]:
        assert pulse.away() is False, "nobody watches"
        watching = asyncio.create_task(pulse.watch())
        refusals.extend([OSError("no such host"), psycopg.OperationalError("refused")])
        await asyncio.wait_for(_until(pulse.away), 10)
        await asyncio.wait_for(_until(lambda: closed and not pulse.away()), 10)
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        return [pulse.away(), breaks, refusals]

    assert asyncio.run(follow()) == [False, [], []]


async def _until(condition) -> None:
    while not condition():
        await asyncio.sleep(0.005)
