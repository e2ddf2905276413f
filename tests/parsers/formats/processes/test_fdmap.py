"""Tests of open descriptors: rows rebuilt from the columns, and the effect of damage."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

PATH = st.sampled_from(["/dev/null", "/opt/oracle/a file.log", "socket:[29174]", "pipe:[7]", "anon_inode:[eventpoll]"])
KIND = {"/dev/null": "device", "/opt/oracle/a file.log": "file", "socket:[29174]": "socket", "pipe:[7]": "pipe"}


@settings(max_examples=examples(40), deadline=None, database=None)
@given(st.lists(st.tuples(st.integers(0, 65535), PATH), min_size=1, max_size=8))
def test_links_come_out_of_the_columns_again(links):
    text = "".join(f"lrwx------ 1 oracle dba 64 Jun 10 09:00 {fd} -> {path}\n" for fd, path in links)
    rows = parse_bytes(text.encode(), "fdmap", "proc").tables["fdmap"]
    assert rows.select("fd", "type", "path").rows() == [(fd, KIND.get(path, "anon"), path) for fd, path in links]


@settings(max_examples=examples(40), deadline=None, database=None)
@given(st.lists(st.tuples(st.integers(0, 99999), st.integers(1, 65535), st.integers(0, 65535)), min_size=1, max_size=6))
def test_sockets_of_pfiles_come_out_of_the_columns_again(sockets):
    text = "77:\t/usr/bin/x y\n"
    for fd, own, peer in sockets:
        text += f" {fd:3d}: S_IFSOCK mode:0666 dev:1,0 ino:2 uid:0 gid:0 size:0\n      O_RDWR\n        sockname: AF_INET 10.0.0.1  port: {own}\n"
        text += f"        peername: AF_INET 10.0.0.2  port: {peer}\n" if peer else ""
    run = parse_bytes(text.encode(), "fdmap", "pfiles")
    got = run.tables["fdmap"].select("pid", "comm", "fd", "local_port", "peer_ip", "peer_port").rows()
    assert got == [(77, "x", fd, own, "10.0.0.2" if peer else None, peer or None) for fd, own, peer in sockets]
    assert run.batch.account.unknown == 0


def test_a_descriptor_over_the_border_of_runs_is_one_row():
    text = "77:\t/usr/bin/x\n" + "".join(
        f"  {fd}: S_IFREG mode:0640 dev:32,6 ino:12345 uid:101 gid:101 size:4096\n      O_WRONLY\n      /opt/f{fd}\n      offset:{fd}\n"
        for fd in range(40)
    )
    one, many = read_bytes(text.encode()), read_bytes(text.encode(), Hints(), Limits(run_bytes=150))
    assert one.table("fdmap").equals(many.table("fdmap"))
    assert one.table("fdmap")["offset"].to_list() == list(range(40))
    assert many.account.account.unknown == 0


def test_the_process_of_a_directory_comes_from_its_command():
    text = b"lrwx------ 1 oracle dba 64 Jun 10 09:00 13 -> socket:[29174]\n" * 2
    assert read_bytes(text, Hints(command="ls -l /proc/4711/fd")).table("fdmap")["pid"].to_list() == [4711] * 2
    assert read_bytes(text).table("fdmap")["pid"].to_list() == [None] * 2


def test_lsof_with_threads_and_without_a_header():
    text = b"java 4711 4712 GC oracle 13u IPv4 29174 0t0 TCP 10.1.1.2:1521 (LISTEN)\njava 4711 oracle 3r REG 253,0 0t512 99 /tmp/a b\n"
    rows = read_bytes(text).table("fdmap")
    assert rows.select("pid", "fd", "type", "local_port", "path", "offset").rows() == [
        (4711, 13, "socket", 1521, None, 0),
        (4711, 3, "file", None, "/tmp/a b", 512),
    ]


def test_an_ordinary_listing_is_no_descriptor_directory():
    text = (
        b"lrwxrwxrwx 1 root root 7 Jun 10 09:00 lib -> usr/lib\nlrwxrwxrwx 1 root root 8 Jun 10 09:00 5 -> usr/sbin\n"
    )
    assert read_bytes(text).account.kind == "text"


def test_lsof_tells_states_of_connections_and_sizes_of_files():
    text = "COMMAND  PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n"
    text += "ledgerd   41 app     7u  IPv4   9911      0t0  TCP 10.2.0.4:40100->10.2.0.9:8443 (CLOSE_WAIT)\n"
    text += "ledgerd   41 app     8u  IPv4   9912      0t0  TCP *:9000 (LISTEN)\n"
    text += "ledgerd   41 app     9w   REG  252,3 91201443 1311 /var/log/a.log (deleted)\n"
    reading = read_bytes(text.encode())
    found = reading.table("sockets").select("line_no", "state", "local_port", "peer_port", "pid")
    assert found.rows() == [(2, "CLOSE_WAIT", 40100, 8443, 41), (3, "LISTEN", 9000, None, 41)]
    assert reading.table("fdmap").select("fd", "size_b").rows() == [(7, None), (8, None), (9, 91201443.0)]
