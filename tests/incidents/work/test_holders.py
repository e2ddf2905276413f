"""Tests of holders of jobs: whether a process has ended is known for this host at once, for any other host never."""

from __future__ import annotations

import subprocess
from datetime import timedelta

import pytest
from django.utils import timezone

from incidents import tasks
from incidents.models.room.job import Job
from incidents.work import holders
from tests.incidents.conftest import make_artifact, make_room


@pytest.fixture
def ended() -> str:
    """Return the identifier of a process that has ended."""
    process = subprocess.Popen(["sleep", "60"])
    word = ":".join([*holders.me().split(":")[:2], str(process.pid), holders._start(process.pid)])
    assert not holders.surely_gone(word)
    process.kill()
    process.wait()
    return word


def test_a_process_of_this_host_is_known_to_have_ended(ended: str) -> None:
    assert holders.surely_gone(ended)
    assert not holders.surely_gone(holders.me())
    host, kernel, pid, start = holders.me().split(":")
    assert holders.surely_gone(f"{host}:{kernel}:{pid}:{int(start) - 1}"), "its pid was given again"


@pytest.mark.parametrize("place", [0, 1])
def test_nothing_is_known_of_another_host_or_container(ended: str, place: int) -> None:
    words = ended.split(":")
    words[place] = "elsewhere"
    assert not holders.surely_gone(":".join(words))


@pytest.mark.parametrize("word", [None, "", "host:4711", "host::1:2", "a:b:c:d"])
def test_a_word_of_an_older_release_says_nothing(word: str | None) -> None:
    assert not holders.surely_gone(word)


@pytest.mark.django_db
def test_the_sweep_ends_the_lease_of_a_worker_that_was_killed(ended: str) -> None:
    room = make_room()
    make_artifact(room)
    until = timezone.now() + timedelta(seconds=100)
    Job.objects.update(state="running", worker=ended, lease_until=until, attempt=1)
    make_artifact(room, b"of a worker elsewhere\n", "b.txt")
    Job.objects.filter(state="queued").update(state="running", worker="other:1:2:3", lease_until=until, attempt=1)
    tasks.sweep()
    assert dict(Job.objects.values_list("worker", "state")) == {ended: "queued", "other:1:2:3": "running"}
