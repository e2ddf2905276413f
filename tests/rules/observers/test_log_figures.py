"""Figures of log lines: settings that were made, zones below their marks, the killed and their size."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.log_figures import observe
from rules.observers.observer import Sighting


def seen(*texts: str) -> list[Sighting]:
    return list(observe(Case.of_tables({"logs": [{"line_no": n, "text": t} for n, t in enumerate(texts, 1)]})))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("Setting nf_conntrack_max to 786432", "nf_conntrack_max", 786432),
        ("Set sysctl 'net/netfilter/nf_conntrack_max' to 786432", "nf_conntrack_max", 786432),
        ("max open files limited to 1024", None, None),
        ("changed pool.size from 4 to 16", "pool.size", 16),
    ],
)
def test_what_a_program_set_is_told(text: str, name: str | None, value: float | None) -> None:
    found = [(s.subject, s.value) for s in seen(text)]
    assert (not found) if name is None else (name in found[0][0] and found[0][1] == value)


@pytest.mark.parametrize(("free", "says"), [(53, "below its minimum of 66 kB"), (70, "below its low mark"), (90, None)])
def test_a_zone_below_its_marks_is_told(free: int, says: str | None) -> None:
    found = seen(f"Node 0 Normal free:{free}kB min:66kB low:82kB high:99kB active_anon:0kB")
    assert [says in s.headline for s in found if says] == ([True] if says else [])
    assert bool(found) == bool(says)


def test_the_killed_are_told_with_their_memory() -> None:
    (one, _) = seen(
        "Killed process 12 (java) total-vm:71548kB, anon-rss:41156kB, file-rss:7kB",
        "Memory cgroup out of memory: Killed process 13 (sh), UID 0, total-vm:7kB, anon-rss:41kB, file-rss:7kB",
    )
    assert one.headline == (
        "The kernel killed java (pid 12), which held 41,156 kB of its own; 2 were killed, of 2 names"
    )


def test_other_lines_state_nothing() -> None:
    assert seen("started", "free: 12", "set up the cache", "") == []


ZONE = "Node 0 Normal free:{free}kB min:9kB low:9kB high:9kB active_anon:{anon}kB slab_unreclaimable:100kB present:1kB managed:8000000kB"


@pytest.mark.parametrize(
    ("free", "anon", "told"), [(1_000_000, 2_000_000, True), (1_000_000, 4_000_000, False), (7_000_000, 0, False)]
)
def test_a_zone_most_of_which_is_held_by_nobody(free: int, anon: int, told: bool) -> None:
    found = [s for s in seen(ZONE.format(free=free, anon=anon)) if s.name == "unlisted_kb"]
    assert [s.value for s in found] == [8_000_000 - free - anon - 100] * told


def test_huge_pages_set_aside_are_not_nobodys() -> None:
    aside = "Node 0 hugepages_total=2000 hugepages_free=9 hugepages_surp=0 hugepages_size=2048kB"
    assert [s for s in seen(ZONE.format(free=1_000_000, anon=2_000_000), aside) if s.name == "unlisted_kb"] == []


def test_a_setting_may_stand_before_the_verb() -> None:
    assert [(s.subject, s.value) for s in seen("local diskLimit set to 300 ms, other limit set to 300")] == [
        ("diskLimit", 300)
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Killing process 4711 (java)", "oomguard killed java (pid 4711)"),
        (
            'sending SIGTERM to process 31 uid 1000 "chrome": badness 12, VmRSS 99 MiB',
            "oomguard killed chrome (pid 31)",
        ),
        ("Kill 'com.shop.app' (812), uid 10123, oom_adj 900 to free 12345kB", "oomguard killed com.shop.app (pid 812)"),
        (
            "Killed /user.slice/app.scope due to memory pressure for /user.slice",
            "oomguard killed /user.slice/app.scope",
        ),
        ("Killing process of last resort", None),
        (
            "child pid 77 exit signal Segmentation fault (11)",
            "Process 77 was ended by signal 11 (SIGSEGV), as its parent says",
        ),
        (
            "service(imap): child 9 killed with signal 9",
            "Process 9 was ended by signal 9 (SIGKILL), as its parent says",
        ),
        (
            "server process (PID 812) was terminated by signal 6: Aborted",
            "Process 812 was ended by signal 6 (SIGABRT), as its parent says",
        ),
        (
            "[pool www] child 31 exited on signal 10 (SIGBUS) after 3 s",
            "Process 31 was ended by signal 10, as its parent says",
        ),
        (
            "Main process exited, code=killed, status=9/KILL",
            "The main process of a service was ended by signal 9 (SIGKILL), as its parent says",
        ),
        ("worker 31 exited with status 3", None),
        ("worker process 31 exited on request; got signal 17 from 9", None),
    ],
)
def test_who_was_killed_by_whom(text: str, says: str | None) -> None:
    found = observe(Case.of_tables({"logs": [{"line_no": 1, "program": "oomguard", "text": text}]}))
    assert [s.headline for s in found] == [says] * (says is not None)


def test_processes_that_one_signal_ended_are_told_together() -> None:
    (one,) = seen(*(f"child {n} killed with signal 9" for n in (1, 2, 3, 4)))
    assert (one.headline, len(one.lines)) == ("4 processes were ended by signal 9 (SIGKILL)", 3)
