"""Tests of excerpts of traces: calls that fail again and again, signals, threads at one lock; ordinary loops are none."""

from __future__ import annotations

import pytest

from rules.observers import excerpts
from rules.signatures.signatures import recognise
from tests.rules.observers.of_text import told

SPIN = "".join(
    " 9711 tilld    CALL  read({fd},0x7edbae17,0x400)\n 9711 tilld    RET   read -1 errno {no} {says}\n"
    for _ in range(9)
)
TERMINAL = "SYSCALL(args) \t\t = return\n" + (
    "ioctl(0x9, 0x4004667F, 0x7FFF536F)\t\t = -1 Err#25\nreadv(0x9, 0x7FFF536F, 0x1)\t\t = -1 Err#5\n" * 4
    + "select(0x30, 0x7FDD73F0, 0x7FDD73F1, 0x0, 0x7FFF536F)\t\t = 1 0\n" * 3
)
SEARCH = "".join(
    f'openat(AT_FDCWD, "/opt/till/lib{n}/libtill.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)\n'
    for n in range(12)
)
ALARMS = (
    "--- {signal} {{si_signo={signal}, si_code=SI_KERNEL}} ---\nrt_sigreturn({{mask=[]}})                 = 0\n" * 5
)
CONVOY = "".join(
    f"[pid  77{n}] futex(0x7f11a0c2e0, FUTEX_WAIT_PRIVATE, {{value}}, NULL <unfinished ...>\n" for n in range(10, 14)
)


@pytest.mark.parametrize(
    ("text", "mechanism"),
    [
        (SPIN.format(fd=0, no=5, says="Input/output error"), "busy-loop"),
        (SPIN.format(fd=0, no=35, says="Resource temporarily unavailable"), None),
        (TERMINAL, "busy-loop"),
        (SEARCH, None),
        (ALARMS.format(signal="SIGVTALRM"), "signal-storm"),
        (ALARMS.format(signal="SIGCHLD"), None),
        (CONVOY.format(value=2), "lock-contention"),
        # A worker that waits for work does so at a value that is no state of a lock.
        (CONVOY.format(value=9127), None),
        # Times say how long the lock is waited for.
        (CONVOY.format(value=2) + '[pid  7710] write(1, "x", 1) = 1 <0.000021>\n', None),
        # A long trace is no excerpt, whatever few calls in it are open.
        (CONVOY.format(value=2) + '[pid  7710] write(1, "x", 1) = 1\n' * 401, None),
    ],
)
def test_what_an_excerpt_does_over_and_over(text: str, mechanism: str | None) -> None:
    found = [recognise(**s.seen[0])[0].mechanism for s in told(excerpts, text)]
    assert found == ([mechanism] if mechanism else [])
