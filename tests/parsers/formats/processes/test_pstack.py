"""Tests of thread stacks beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

NAME = st.from_regex(r"[a-z_][a-z0-9_.:]{0,14}", fullmatch=True)
FRAME = st.tuples(st.integers(0, 2**32 - 1), NAME, st.one_of(st.none(), st.integers(0, 4095)))
THREAD = st.tuples(st.integers(1, 900), st.lists(FRAME, min_size=1, max_size=6))


def written(thread: tuple) -> str:
    lwp, frames = thread
    lines = [f"-----------------  lwp# {lwp} / thread# {lwp}  --------------------"]
    lines += [f" {a:08x} {n:<8} ({a:x}, 0, 1)" + (f" + {o:x}" if o is not None else "") for a, n, o in frames]
    return "\n".join(lines) + "\n"


@settings(max_examples=examples(50), deadline=None, database=None)
@given(threads=st.lists(THREAD, min_size=1, max_size=5), size=st.integers(60, 500))
def test_a_thread_comes_back_from_its_columns_wherever_the_file_is_cut(threads, size):
    content = ("711:\t/usr/sbin/nscd -f\n" + "".join(map(written, threads))).encode()
    hints = Hints(kind="pstack")
    reading = read_bytes(content, hints)
    rows = reading.table("profile_stacks")
    assert rows["lwp"].to_list() == [lwp for lwp, _ in threads]
    assert rows["frames"].to_list() == [[n for _, n, _ in frames] for _, frames in threads]
    assert rows["pid"].unique().to_list() == [711]
    assert reading.account.account.unknown == 0
    assert read_bytes(content, hints, Limits(run_bytes=size)).table("profile_stacks").equals(rows)


def test_frames_of_aix_name_their_function():
    text = "1234: ./server\n---------- tid# 45678 (pthread ID: 1) ----------\n0x0900000000026a1c  nsleep(??, ??) + 0xfc\n0x0000000100000544  main() + 0x44\n"
    rows = read_bytes(text.encode()).table("profile_stacks")
    assert rows.select("pid", "lwp", "frames").rows() == [(1234, 45678, ["nsleep", "main"])]


def test_a_process_without_lines_of_threads_is_one_stack():
    text = "12:  ksh\n feef1fa9 read     (0, 8047e5c, 1)\n 08065c8d main     (1, 8047e5c, 8047e64) + 8e1\n13:  ksh\n feef1fa9 waitid   (0)\n"
    rows = read_bytes(text.encode()).table("profile_stacks")
    assert rows.select("pid", "leaf").rows() == [(12, "read"), (13, "waitid")]


def test_a_process_of_aix_with_one_thread_has_no_line_of_it():
    text = "7405838: /usr/sbin/ledgerd -D\n0xd0115b38  __fd_poll(??, ??, ??) + 0xb0\n0x10021b40  ask(??, ??) + 0x88\n"
    (row,) = read_bytes(text.encode()).table("profile_stacks").to_dicts()
    assert (row["pid"], row["frames"]) == (7405838, ["__fd_poll", "ask"])


def test_a_list_of_threads_may_name_them_by_number_and_their_functions_without_an_address():
    text = (
        "(gdb) info threads\n"
        "  3 Thread 4713  __lll_lock_wait () at ../lowlevellock.S:136\n"
        "  2 Thread 4712  0x00007f1c2b in nanosleep () at ../syscall-template.S:82\n"
        "* 1 process 4711 thread 0x1403  0x9001f2 in mach_msg_trap ()\n"
    )
    rows = read_bytes(text.encode()).table("profile_stacks")
    assert rows["lwp"].to_list() == [4713, 4712, 4711]
    assert rows["leaf"].to_list() == ["__lll_lock_wait", "nanosleep", "mach_msg_trap"]
