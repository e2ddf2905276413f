"""Stamps of FreeBSD's truss, by texts from outside: fewer than three stamps leave their meaning open.

The texts are here and not in the corpus, because a cut after the second line changes the meaning of the first.
"""

from __future__ import annotations

import pytest

from tests.parsers.formats.evidence import read_bytes

SINCE_BEGIN = b"""\
33324 100296: 1.389680761 connect(100,{ AF_UNIX "/tmp/CoreFxPipe_xzlvd23f.e50" },31) = 0 (0x0)
....
33324 101022: 1.491534421 sendmsg(0x64,0x7fffde7af760,0x0) = 512 (0x200)
33324 101022: 1.491692207 sendmsg(0x64,0x7fffde7af760,0x0) = 512 (0x200)
33324 101022: 1.492027215 sendmsg(0x64,0x7fffde7af760,0x0) ERR#35 'Resource temporarily unavailable'
33324 100288: 1.492083817 kevent(97,0x0,0,{ 103,EVFILT_READ,EV_CLEAR|EV_RECEIPT,0x0,0x2000,0x1 },32,0x0) = 1 (0x1)
"""
"""GitHub issue thread dotnet/runtime#26633: truss -f -d -H, lines selected with grep."""
OF_THE_CALL = b"""\
55358: 0.000127204 clock_gettime(0,{1432019612.288175998 }) = 0 (0x0)
55358: 0.000018343 clock_gettime(4,{3516268.934160619 }) = 0 (0x0)
55358: 0.000017616 clock_gettime(0,{1432019612.288512090 }) = 0 (0x0)
55358: 0.024664604 _umtx_op(0xc20809e0d8,UMTX_OP_WAIT_UINT_PRIVATE,0x0,0x0,0x0) = 0 (0x0)
"""
"""GitHub issue thread hashicorp/consul#956: truss -f -D."""


def test_d_and_H_give_the_end_of_a_call_and_its_thread() -> None:
    rows = read_bytes(SINCE_BEGIN).table("syscalls").sort("line_no")
    assert rows["t_local"].to_list() == [1.389680761, 1.491534421, 1.491692207, 1.492027215, 1.492083817]
    assert rows["lwp"].to_list() == [100296, 101022, 101022, 101022, 100288]
    assert rows["pid"].unique().to_list() == [33324]
    assert rows["err"].to_list() == [None, None, None, "EAGAIN", None]


def test_D_gives_the_time_in_the_call() -> None:
    rows = read_bytes(OF_THE_CALL).table("syscalls").sort("line_no")
    assert rows["elapsed_s"].to_list() == pytest.approx([0.000127204, 0.000018343, 0.000017616, 0.024664604])
    assert rows["t_local"].null_count() == 4
