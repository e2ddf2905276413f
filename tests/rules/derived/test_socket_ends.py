"""Tests of ends of connections as traces show them.

strace -yy  sendto(4<TCP:[192.0.2.1:48740->192.0.2.2:15210]>, ...)    both addresses
truss       accept ... peer 192.0.2.1:48740 in a detail line          the peer only
"""

from __future__ import annotations

from typing import Any

from rules.case.case import Case
from tests.rules.clocks.two_sides import CLIENT, SERVER, call, client, server, talk


def ends(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return Case.of_tables({"syscalls": rows}).derived("socket_ends").to_dicts()


def fields_of(end: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(end[c] for c in ("pid", "fd", "net", "local", "peer", "side", "made"))


def test_both_ends_of_one_connection() -> None:
    mine, theirs = ends([*client([0.1]), *server([0.1], [0.05])])
    assert fields_of(mine) == (7, 4, "tcp", CLIENT, SERVER, "client", True)
    assert (mine["line_no"], mine["line_end"], mine["n"]) == (3, 4, 2)
    assert fields_of(theirs) == (9, 4, "tcp", SERVER, CLIENT, "server", True)


def test_who_began_is_unknown_where_the_trace_begins_later() -> None:
    mine, theirs = ends([*client([0.1], made=False), *server([0.1], [0.05], made=False)])
    assert fields_of(mine)[-2:] == (None, False)
    assert fields_of(theirs)[-2:] == (None, False)


def test_a_descriptor_of_an_older_connection_says_nothing_of_this_one() -> None:
    """Check descriptor 4, which was accepted from another client; how it got this connection is not in the trace."""
    rows = [r for r in server([0.1], [0.05]) if r["name"] != "accept4"]
    rows.append(call(2, 2, 9, 500.0, 0.01, "accept4", fd=5, ret=4, peer_ip="192.0.2.7", peer_port=4000))
    (end,) = ends(rows)
    assert fields_of(end)[-2:] == (None, False)


def test_sockets_of_one_host_have_inodes() -> None:
    args = "6<UNIX-STREAM:[3072423->3072424]>, "
    (end,) = ends([call(1, 1, 7, 0.0, 0.001, "sendto", fd=6, bytes=2, ret=2, args=args)])
    assert fields_of(end) == (7, 6, "unix", "inode 3072423", "inode 3072424", None, False)


def test_ipv4_in_ipv6_notation_is_ipv4() -> None:
    shown = "5<TCPv6:[[::ffff:192.0.2.2]:15210->[::ffff:192.0.2.1]:48740]>"
    row = call(
        1, 1, 7, 0.0, 0.001, "recvfrom", fd=5, bytes=2, ret=2, args=shown, peer_ip="::ffff:192.0.2.1", peer_port=48740
    )
    assert fields_of(ends([row])[0])[3:5] == (SERVER, CLIENT)
    row["args"], row["peer_ip"] = "5<TCPv6:[[::1]:15210->[2001:db8::1]:48740]>", "2001:db8::1"
    assert fields_of(ends([row])[0])[3:5] == ("::1:15210", "2001:db8::1:48740")


def unshown(line: int, at: float, n: int = 5) -> dict[str, Any]:
    return talk(1, line, 7, at, 0.001, "read", n, (CLIENT, SERVER)) | {"args": "4, ..."}


def test_without_own_addresses_the_peer_alone_is_known() -> None:
    made = [r for r in client([]) if r["name"] == "connect"]
    (end,) = ends([*made, unshown(3, 0.1)])
    assert fields_of(end) == (7, 4, "tcp", None, SERVER, "client", True)


def test_a_descriptor_that_was_made_twice_for_one_peer_is_left_out() -> None:
    made = next(r for r in client([]) if r["name"] == "connect")
    again = {**made, "line_no": 5, "t_local": 0.5}
    assert ends([made, unshown(3, 0.1), again, unshown(6, 0.6)]) == []
    shown = [talk(1, n, 7, n / 10, 0.001, "read", 5, (CLIENT, SERVER)) for n in (3, 6)]
    assert len(ends([made, shown[0], again, shown[1]])) == 1, "its own address tells them apart"


def test_what_moves_nothing_or_names_nobody_is_no_end() -> None:
    empty = talk(1, 3, 7, 0.1, 0.001, "recvfrom", 0, (CLIENT, SERVER))
    nameless = call(1, 4, 7, 0.2, 0.001, "read", fd=4, bytes=9, ret=9, args="4, ...")
    assert ends([empty, nameless]) == []
